"""Two outcomes of one result, such as two models: what each says, and who is treated otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from fairaudit.compare.rates import judge_direction
from fairaudit.compare.records import Change, Direction, PairedHits, RateChange, Scale
from fairaudit.estimate import Estimate
from fairaudit.metrics import Eligibility, GroupMetric, find_metric
from fairaudit.result import AuditResult, ModelChange
from fairaudit.stats import proportions
from fairaudit.verdict import AnyCheck, Check, Finding

_PAIRED = "Newcombe, paired"


def list_models(result: AuditResult) -> list[str]:
    """The outcomes that a result tells of, its models among them, in their order."""
    names = [name for one in result.model_changes for name in (one.first, one.second)]
    names += [row.of for row in result.rates] + [one.check.of for one in result.findings]
    return [*dict.fromkeys(names)]


def select_outcome(result: AuditResult, name: str, called: str) -> AuditResult:
    """The result as far as it is of one outcome, which is then called otherwise.

    What sets an outcome against another (`against`) is of neither alone.
    """
    return replace(
        result,
        groups=tuple(replace(row, of=called) for row in result.groups if row.of == name),
        rates=tuple(replace(row, of=called) for row in result.rates if row.of == name),
        comparisons=tuple(
            replace(row, of=called)
            for row in result.comparisons
            if row.of == name and "against" not in row.parameters
        ),
        findings=tuple(rename_check(one, called) for one in result.findings if _is_of(one, name)),
        reversals=tuple(replace(one, of=called) for one in result.reversals if one.of == name),
        burdens=tuple(called for one in result.burdens if one == name),
    )


def _is_of(one: Finding, name: str) -> bool:
    alone = not isinstance(one.check, Check) or one.check.against is None
    return one.check.of == name and alone


def rename_check(finding: Finding, name: str) -> Finding:
    """The finding on an outcome by another name."""
    return replace(finding, check=_called(finding.check, name))


def _called(check: AnyCheck, name: str) -> AnyCheck:
    """The check of an outcome by another name, in its id too."""
    parts = [name if part == check.of else part for part in check.id.split("/")]
    return replace(check, of=name, id="/".join(parts))


def compare_paired_rates(result: AuditResult, first: str, second: str) -> Iterator[RateChange]:
    """How each rate of the same people is by `second` where it was by `first`."""
    for row in result.model_changes:
        one = row if (row.first, row.second) == (first, second) else row.swapped()
        if (one.first, one.second) == (first, second):
            yield _rate_change(one, favourable=second not in result.burdens, alpha=_alpha(result))


def _alpha(result: AuditResult) -> float:
    return result.provenance.inference.alpha


def _rate_change(one: ModelChange, *, favourable: bool, alpha: float) -> RateChange:
    record = find_metric(one.metric)
    compared = one.standing is Eligibility.ELIGIBLE
    why = "" if compared else f"not compared: {one.standing.replace('_', ' ')}"
    change = Change(
        before=_side(one, one.first_value, alpha, one.first_only),
        after=_side(one, one.second_value, alpha, one.second_only),
        scale=Scale.DIFFERENCE,
        value=one.difference,
        way=Direction.SAME if one.difference == 0 else Direction.UNKNOWN,
        low=one.low if compared else None,
        high=one.high if compared else None,
        method=_PAIRED if compared else "",
        significance=one.significance if compared else None,
        why=why,
        cells=None
        if one.both is None
        or one.first_only is None
        or one.second_only is None
        or one.neither is None
        else PairedHits(one.both, one.first_only, one.second_only, one.neither),
    )
    quantity = record if isinstance(record, GroupMetric) else None
    return RateChange(
        metric=one.metric,
        of=one.second,
        by=one.by,
        stratum=one.stratum,
        group=one.group,
        standing_before=one.standing,
        standing_after=one.standing,
        change=judge_direction(change, quantity, favourable=favourable),
    )


def _side(one: ModelChange, value: float, alpha: float, alone: int | None) -> Estimate:
    """The rate by one of both models; with Wilson's interval where people are counted."""
    if one.both is None or alone is None:
        return Estimate(value, n=one.n)
    hits = one.both + alone
    low, high = proportions.wilson(np.array(value), np.array(float(one.n)), alpha)
    return Estimate(value, one.n, hits, one.n, low=float(low), high=float(high), method="Wilson")

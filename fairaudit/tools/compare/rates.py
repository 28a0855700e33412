"""Changes of rates, sizes of groups, reversals and notices; differences between the settings."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from fairaudit.base.frozen import replace
from fairaudit.cube import Grouping
from fairaudit.evidence.joint_tests import MOST_PERMUTED
from fairaudit.judge import Check
from fairaudit.judge.simpson import Reversal
from fairaudit.metrics import Eligibility, GroupMetric, Rate, find_metric
from fairaudit.metrics.estimate import Estimate, Significance
from fairaudit.metrics.reasons import describe_rule
from fairaudit.result import AuditResult
from fairaudit.result.rows import GroupKey, GroupRow, ModelChange, RateRow, group_key
from fairaudit.stats import contingency, proportions
from fairaudit.stats.contingency import LEAST_EXPECTED, MOST_DEALT
from fairaudit.tools.compare.measuring import ChangeTerms, judge_by_metric, measure_change
from fairaudit.tools.compare.records import (
    Change,
    CheckChange,
    Direction,
    PairedHits,
    PeopleChange,
    RateChange,
    ReversalChange,
    Scale,
    ShareChange,
)

RateKey: TypeAlias = tuple[str, str, GroupKey, str, int]
"""The identity of a row: metric, outcome, group and stratum, parameters, number of columns."""

_RowsByGroup: TypeAlias = dict[frozenset[tuple[str, str]], GroupRow]
_TOO_FEW = "not tested: too many groups of too few people"


def compare_rates(
    before: Mapping[RateKey, RateRow],
    after: Mapping[RateKey, RateRow],
    burdens: frozenset[str],
    terms: ChangeTerms,
) -> Iterator[RateChange]:
    """A change for each rate of a group in both results, in the order of the later result.

    `burdens` are the outcomes whose positive value is a burden.
    """
    for key, now in after.items():
        if (then := before.get(key)) is None:
            continue
        metric = find_metric(now.metric)
        metric = metric if isinstance(metric, GroupMetric) else None
        own = find_change_terms(metric, then.estimate, now.estimate, terms)
        if reasons := {then.standing, now.standing} - {Eligibility.ELIGIBLE}:
            barred = ", ".join(sorted(reason.replace("_", " ") for reason in reasons))
            own = replace(own, barred=f"not compared: {barred}", same_people=False)
        change = measure_change(then.estimate, now.estimate, own)
        way = judge_by_metric(change, metric, favourable=now.is_favourable(burdens))
        row = _describe_change(now, now.of, then.standing, replace(change, way=way))
        yield replace(row, parameters=now.parameters, averaged=now.averaged)


def rate_key(row: RateRow | RateChange) -> RateKey:
    """The identity of a row, independent of the order of its columns."""
    parameters = repr((sorted(row.parameters.items(), key=str), sorted(row.averaged)))
    group = group_key(row.group, row.stratum)
    return row.metric, row.of, group, parameters, len(row.group)


def _describe_change(
    row: RateRow | ModelChange, of: str, before: Eligibility, change: Change
) -> RateChange:
    """The change of the rate of a row; `before` is the earlier eligibility of its group."""
    whose = (row.by, row.stratum, row.group)
    return RateChange(row.metric, of, *whose, before, row.standing, change)


def find_change_terms(
    metric: GroupMetric | None, before: Estimate, after: Estimate, terms: ChangeTerms
) -> ChangeTerms:
    """The terms for measuring and testing the change of a metric of one group."""
    is_ratio = isinstance(metric, Rate) and metric.bounds[1] is None
    is_share = metric is not None and metric.is_proportion
    return replace(
        terms,
        scale=Scale.RATIO if is_ratio else Scale.DIFFERENCE,
        share=is_share and _counts_people(before) and _counts_people(after),
    )


def _counts_people(estimate: Estimate) -> bool:
    """Whether a share is a quotient of whole counts of people, without survey weights."""
    counted = estimate.numerator is not None and estimate.denominator == estimate.n
    return counted and not estimate.weighted and estimate.scale == 1


def compare_paired_rates(result: AuditResult, first: str, second: str) -> Iterator[RateChange]:
    """The change of each rate if the model `second` replaces `first`, for the same people."""
    alpha, favourable = result.provenance.inference.alpha, second not in result.burdens
    for row in result.model_changes:
        models = row if (row.first, row.second) == (first, second) else row.swapped()
        if (models.first, models.second) != (first, second):
            continue
        metric = find_metric(models.metric)
        counts = (models.both, models.first_only, models.second_only, models.neither)
        known = [count for count in counts if count is not None]
        cells = PairedHits(*known) if len(known) == len(counts) else None
        is_tested = models.standing is Eligibility.ELIGIBLE
        change = Change(
            before=_estimate_rate(models, models.first_value, alpha, models.first_only),
            after=_estimate_rate(models, models.second_value, alpha, models.second_only),
            scale=Scale.DIFFERENCE,
            value=models.difference,
            way=Direction.SAME if models.difference == 0 else Direction.UNKNOWN,
            low=models.low if is_tested else None,
            high=models.high if is_tested else None,
            method="Newcombe, paired" if is_tested else "",
            significance=models.significance if is_tested else None,
            why="" if is_tested else f"not compared: {models.standing.replace('_', ' ')}",
            cells=cells,
        )
        metric = metric if isinstance(metric, GroupMetric) else None
        change = replace(change, way=judge_by_metric(change, metric, favourable=favourable))
        yield _describe_change(models, models.second, models.standing, change)


def _estimate_rate(models: ModelChange, value: float, alpha: float, alone: int | None) -> Estimate:
    """The rate of one of the models. It has Wilson's interval if whole people are counted."""
    n = models.n
    if models.both is None or alone is None:
        return Estimate(value, n=n)
    low, high = proportions.share_interval(np.array(value), np.array(float(n)), alpha)
    hits = models.both + alone
    return Estimate(
        value, n, hits, n, low=float(low), high=float(high), method=proportions.SHARE_INTERVAL
    )


def compare_people(
    before: AuditResult, after: AuditResult, *, barred: str
) -> Iterator[PeopleChange]:
    """A change for each grouping in both results, without strata."""
    earlier = _index_groupings(before.groups)
    for columns, (by, now) in _index_groupings(after.groups).items():
        if columns not in earlier:
            continue
        _, then = earlier[columns]
        shares, known = [], []
        for key in (*now, *(key for key in then if key not in now)):
            rows = [side[key] for side in (then, now) if key in side]
            # A group that one result lacks has no people there: share 0, unless shares are hidden.
            share = 0.0 if all(row.share is not None for row in rows) else None
            (n_before, share_before), (n_after, share_after) = (
                (side[key].n, side[key].share) if key in side else (0, share)
                for side in (then, now)
            )
            group = rows[-1].group
            shares.append(ShareChange(group, n_before, n_after, share_before, share_after))
            if Eligibility.UNKNOWN not in {row.standing for row in rows}:
                known.append(shares[-1])
        significance, why = (None, barred) if barred else _test_spread(known)
        yield PeopleChange(
            by=by,
            groups=tuple(shares),
            new=tuple(row.group for key, row in now.items() if key not in then),
            gone=tuple(row.group for key, row in then.items() if key not in now),
            significance=significance,
            why=why,
        )


def _index_groupings(
    rows: Iterable[GroupRow],
) -> dict[frozenset[str], tuple[Grouping, _RowsByGroup]]:
    """The groups of each grouping, with the counts of the first outcome that is listed."""
    groupings: dict[frozenset[str], tuple[str, Grouping, _RowsByGroup]] = {}
    for row in rows:
        if row.by and not row.stratum:
            of, _, groups = groupings.setdefault(frozenset(row.by), (row.of, row.by, {}))
            if row.of == of:
                groups[frozenset(row.group)] = row
    return {key: (by, groups) for key, (_, by, groups) in groupings.items()}


def _test_spread(shares: list[ShareChange]) -> tuple[Significance | None, str]:
    """A test whether shares changed (χ², or permutations for small counts); None with a reason."""
    if any(share.n_before is None or share.n_after is None for share in shares):
        return None, "not tested: suppressed"
    counts = np.array([[share.n_before, share.n_after] for share in shares], dtype=np.int64).T
    counts = counts.reshape(2, len(shares))
    if len(shares) < 2 or not counts.sum(axis=1).all():
        return None, "not tested: fewer than two groups"
    table = counts.astype(np.float64)
    name, p = "χ²", float(contingency.chi_square(table)[2])
    if contingency.expected_counts(table).min() < LEAST_EXPECTED:
        if table.sum() >= MOST_DEALT:
            return None, _TOO_FEW
        if len(shares) > MOST_PERMUTED:
            name, p = "χ² by exact moments", contingency.moment_test(counts)
        else:
            name = "permutations"
            p = contingency.permutation_test(
                counts, lambda tables: contingency.chi_square(tables)[0]
            )
    if math.isnan(p):
        return None, _TOO_FEW
    return Significance(name, p, p, 1, "none"), ""


_NUMBER = re.compile(r"\d[\d.,]*")


def list_conditions(
    before: AuditResult,
    after: AuditResult,
    checks: Sequence[CheckChange],
    rates: Sequence[RateChange],
) -> Iterator[str]:
    """The differences between the settings of the two audits, one sentence each.

    Results do not contain specs. So only columns that `checks` use are known to be defined equally.
    """
    settings = _list_settings(after)
    for name, was in _list_settings(before).items():
        if was != settings[name]:
            yield f"{name}: {was or 'none'} before, {settings[name] or 'none'} after"
    texts = {(side.provenance.spec_sha256, side.provenance.settings) for side in (before, after)}
    # Checks of both results with equal fingerprints use the same definitions of their columns.
    defined = [
        (change.check.of, {*change.check.by, *change.check.given})
        for change in checks
        if change.before.definition == change.after.definition and isinstance(change.check, Check)
    ]
    columns_of = ((rate.of, {*rate.by, *(name for name, _ in rate.stratum)}) for rate in rates)
    if len(texts) > 1 and not all(
        any(of == known_of and columns <= known for known_of, known in defined)
        for of, columns in columns_of
    ):
        yield (
            "spec: the text differs, and no check shows whether the rates use the same definitions "
            "of columns"
        )
    then, now = _list_rates(before), _list_rates(after)
    for names, others, when in ((then, now, "before"), (now, then, "after")):
        alone = [name for name in names if name not in others]
        if alone:
            yield f"rates only {when}: {', '.join(alone)}"


def _list_settings(result: AuditResult) -> dict[str, object]:
    provenance = result.provenance
    rule, inference = provenance.exclude_below, provenance.inference
    return {
        "set on the command line": ", ".join(provenance.settings),
        "a burden": ", ".join(result.burdens),
        "filter": provenance.filter,
        "people per row": provenance.count,
        "survey weight": provenance.weight,
        "clusters": provenance.cluster,
        "strata of the sample": provenance.sample_strata,
        "smallest group": provenance.minimum.size,
        "fewest events": provenance.minimum.events,
        "excluded groups": rule and describe_rule(rule),
        "confidence": inference.percent,
        "correction": inference.correction.words,
        "suppressed below": provenance.suppress_below,
        "version of fairaudit": provenance.version,
    }


def _list_rates(result: AuditResult) -> list[str]:
    """The rates that a result lists, with their outcomes and groups."""
    return [
        *dict.fromkeys(
            f"{row.metric} of the {row.of}" + (f" by {' × '.join(row.by)}" if row.by else "")
            for row in result.rates
        )
    ]


def compare_reversals(before: AuditResult, after: AuditResult) -> list[ReversalChange]:
    """The reversals that are new, gone, or of another kind; significant and strong ones first.

    If the other result did not search for a reversal, it is listed as unknown.
    """
    then, now = ({_identify(row): row for row in side.reversals} for side in (before, after))
    changes = []
    for key in (*now, *(key for key in then if key not in now)):
        was, reversal = then.get(key), now.get(key)
        if was is not None and reversal is not None and was.kind is reversal.kind:
            continue
        known, side, other = (was, before, after) if reversal is None else (reversal, after, before)
        assert known is not None
        unknown = "" if was and reversal else explain_unseen(known, side, other)
        changes.append(
            ReversalChange(
                *(known.rate, known.of, known.attribute, known.pair, known.given),
                before=None if was is None else was.kind,
                after=None if reversal is None else reversal.kind,
                significant=known.is_significant(side.provenance.inference.alpha),
                unknown=unknown,
            )
        )
    return sorted(changes, key=lambda change: change.strength, reverse=True)


def explain_unseen(reversal: Reversal, side: AuditResult, other: AuditResult) -> str:
    """Why it is unknown whether another result has a reversal of `side`; empty if it is known."""
    key = (reversal.rate, reversal.attribute, reversal.pair, reversal.given)
    if other.scanned is None:
        if other.reversals_off:
            return "no scan was made"
        return "a scan may have looked for it: the report does not describe its scan"
    if other.scanned.of != reversal.of or not other.scanned.have(*key):
        return "no scan compared these groups given these columns"
    if any(
        _identify(found)[:4] == _identify(reversal)[:4] and {*found.given} < {*reversal.given}
        for found in other.reversals
    ):
        return "the same reversal is listed with fewer columns held fixed"
    if side.scanned is None or _list_thresholds(side) != _list_thresholds(other):
        return "it is unknown: the scans differ in minimum gap, odds ratio or significance level"
    return ""


def _list_thresholds(result: AuditResult) -> tuple[float, ...]:
    """The thresholds of a scan: the gap, the odds ratio and the level of evidence."""
    assert result.scanned is not None
    scope = result.scanned.scope
    return scope.min_gap, scope.min_odds_ratio, result.provenance.inference.alpha


def _identify(reversal: Reversal) -> tuple[object, ...]:
    """The identity of a reversal, independent of the order of groups and columns."""
    groups, columns = frozenset(reversal.pair), frozenset(reversal.given)
    return reversal.rate, reversal.of, reversal.attribute, groups, columns


def compare_notices(
    before: Sequence[str], after: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The new notices, and the notices that are gone. Numbers in notices are not compared."""
    then, now = ({_NUMBER.sub("#", text) for text in texts} for texts in (before, after))
    return (
        tuple(text for text in after if _NUMBER.sub("#", text) not in then),
        tuple(text for text in before if _NUMBER.sub("#", text) not in now),
    )

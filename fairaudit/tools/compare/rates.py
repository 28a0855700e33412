"""Changes of rates of groups, results or models; groups new or gone; χ² of people over groups."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

import numpy as np

from fairaudit.base.frozen import replace
from fairaudit.cube import Group, Grouping
from fairaudit.evidence.joint_tests import MOST_PERMUTED
from fairaudit.metrics import Eligibility, GroupMetric, Rate, find_metric
from fairaudit.metrics.estimate import Estimate, Significance
from fairaudit.result import AuditResult, GroupRow, ModelChange, RateRow
from fairaudit.stats import contingency, proportions
from fairaudit.stats.contingency import LEAST_EXPECTED, MOST_DEALT
from fairaudit.tools.compare.groups import GroupKey, group_key
from fairaudit.tools.compare.measuring import ChangeTerms, judge_by_metric, measure_change
from fairaudit.tools.compare.records import (
    Change,
    Direction,
    PairedHits,
    PeopleChange,
    RateChange,
    Scale,
    ShareChange,
)

RateKey: TypeAlias = tuple[str, str, GroupKey, str, int]
"""What makes two rows one: metric, outcome, group and stratum, parameters, how many columns."""

_RowsByGroup: TypeAlias = dict[frozenset[tuple[str, str]], GroupRow]
_TOO_FEW = "not tested: too many groups of too few people"


def compare_rates(
    before: Mapping[RateKey, RateRow],
    after: Mapping[RateKey, RateRow],
    burdens: frozenset[str],
    terms: ChangeTerms,
) -> Iterator[RateChange]:
    """A change for each rate of a group that is in both, in the order of the later result.

    `burdens` are outcomes whose positive is one.
    """
    for key, now in after.items():
        then = before.get(key)
        if then is not None:
            yield _compare_rate(then, now, burdens, terms)


def rate_key(row: RateRow | RateChange) -> RateKey:
    """What a row is about, whatever the order of its columns."""
    parameters = repr((sorted(row.parameters.items(), key=str), sorted(row.averaged)))
    group = group_key(row.group, row.stratum)
    return row.metric, row.of, group, parameters, len(row.group)


def _compare_rate(
    then: RateRow, now: RateRow, burdens: frozenset[str], terms: ChangeTerms
) -> RateChange:
    metric = find_metric(now.metric)
    metric = metric if isinstance(metric, GroupMetric) else None
    reasons = {then.standing, now.standing} - {Eligibility.ELIGIBLE}
    if reasons:
        barred = ", ".join(sorted(reason.replace("_", " ") for reason in reasons))
        terms = replace(terms, barred=f"not compared: {barred}", same_people=False)
    terms = find_change_terms(metric, then.estimate, now.estimate, terms)
    favourable = now.is_favourable(burdens)
    change = measure_change(then.estimate, now.estimate, terms)
    change = replace(change, way=judge_by_metric(change, metric, favourable=favourable))
    told = _tell_rate(now, now.of, then.standing, change)
    return replace(told, parameters=now.parameters, averaged=now.averaged)


def _tell_rate(
    row: RateRow | ModelChange, of: str, before: Eligibility, change: Change
) -> RateChange:
    """The change of the rate that a row is about, where its group had another standing before."""
    whose = (row.by, row.stratum, row.group)
    return RateChange(row.metric, of, *whose, before, row.standing, change)


def find_change_terms(
    metric: GroupMetric | None, before: Estimate, after: Estimate, terms: ChangeTerms
) -> ChangeTerms:
    """How the change of a metric of one group is measured and tested."""
    is_ratio = isinstance(metric, Rate) and metric.bounds[1] is None
    is_share = metric is not None and metric.is_proportion
    return replace(
        terms,
        scale=Scale.RATIO if is_ratio else Scale.DIFFERENCE,
        share=is_share and _counts_people(before) and _counts_people(after),
    )


def _counts_people(estimate: Estimate) -> bool:
    """Whether whole people stand behind a share: no survey weights, each counted once."""
    counted = estimate.numerator is not None and estimate.denominator == estimate.n
    return estimate.scale == 1 and counted


def compare_paired_rates(result: AuditResult, first: str, second: str) -> Iterator[RateChange]:
    """How each rate of the same people is by `second` where it was by `first`."""
    alpha, favourable = result.provenance.inference.alpha, second not in result.burdens
    for row in result.model_changes:
        models = row if (row.first, row.second) == (first, second) else row.swapped()
        if (models.first, models.second) == (first, second):
            yield _compare_paired_rate(models, favourable=favourable, alpha=alpha)


def _compare_paired_rate(models: ModelChange, *, favourable: bool, alpha: float) -> RateChange:
    metric = find_metric(models.metric)
    counts = (models.both, models.first_only, models.second_only, models.neither)
    known = [count for count in counts if count is not None]
    cells = PairedHits(*known) if len(known) == len(counts) else None
    change = Change(
        before=_estimate_rate(models, models.first_value, alpha, models.first_only),
        after=_estimate_rate(models, models.second_value, alpha, models.second_only),
        scale=Scale.DIFFERENCE,
        value=models.difference,
        way=Direction.SAME if models.difference == 0 else Direction.UNKNOWN,
        cells=cells,
    )
    if models.standing is Eligibility.ELIGIBLE:
        change = replace(
            change,
            low=models.low,
            high=models.high,
            method="Newcombe, paired",
            significance=models.significance,
        )
    else:
        change = replace(change, why=f"not compared: {models.standing.replace('_', ' ')}")
    metric = metric if isinstance(metric, GroupMetric) else None
    change = replace(change, way=judge_by_metric(change, metric, favourable=favourable))
    return _tell_rate(models, models.second, models.standing, change)


def _estimate_rate(models: ModelChange, value: float, alpha: float, alone: int | None) -> Estimate:
    """The rate by one of both models; with Wilson's interval where people are counted."""
    n = models.n
    if models.both is None or alone is None:
        return Estimate(value, n=n)
    low, high = proportions.share_interval(np.array(value), np.array(float(n)), alpha)
    hits = models.both + alone
    return Estimate(
        value, n, hits, n, low=float(low), high=float(high), method=proportions.SHARE_INTERVAL
    )


def compare_people(
    before: AuditResult, after: AuditResult, *, barred: str = ""
) -> Iterator[PeopleChange]:
    """A change for each grouping in both; strata are not told."""
    then, now = _index_groupings(before.groups), _index_groupings(after.groups)
    for key, (by, rows) in now.items():
        if key in then:
            yield _compare_grouping(by, then[key][1], rows, barred)


def _index_groupings(
    rows: Iterable[GroupRow],
) -> dict[frozenset[str], tuple[Grouping, _RowsByGroup]]:
    """The groups of each grouping, as the first outcome that is listed counts them."""
    groupings: dict[frozenset[str], tuple[str, Grouping, _RowsByGroup]] = {}
    for row in rows:
        if row.by and not row.stratum:
            of, _, groups = groupings.setdefault(frozenset(row.by), (row.of, row.by, {}))
            if row.of == of:
                groups[frozenset(row.group)] = row
    return {key: (by, groups) for key, (_, by, groups) in groupings.items()}


def _compare_grouping(
    by: Grouping, then: _RowsByGroup, now: _RowsByGroup, barred: str
) -> PeopleChange:
    shares, known = [], []
    for key in (*now, *(key for key in then if key not in now)):
        share = _compare_share(then.get(key), now.get(key))
        shares.append(share)
        if all(
            side[key].standing is not Eligibility.UNKNOWN for side in (then, now) if key in side
        ):
            known.append(share)
    significance, why = (None, barred) if barred else _test_spread(known)
    return PeopleChange(
        by=by,
        groups=tuple(shares),
        new=_list_missing(now, then),
        gone=_list_missing(then, now),
        significance=significance,
        why=why,
    )


def _list_missing(rows: _RowsByGroup, others: _RowsByGroup) -> tuple[Group, ...]:
    """The groups that the others do not have."""
    return tuple(row.group for key, row in rows.items() if key not in others)


def _compare_share(then: GroupRow | None, now: GroupRow | None) -> ShareChange:
    """The group both times; one that does not occur has nobody, and a share of 0."""
    row = now or then
    assert row is not None
    is_known = (then or row).share is not None and (now or row).share is not None
    nobody = 0.0 if is_known else None
    return ShareChange(
        row.group,
        0 if then is None else then.n,
        0 if now is None else now.n,
        nobody if then is None else then.share,
        nobody if now is None else now.share,
    )


def _test_spread(shares: list[ShareChange]) -> tuple[Significance | None, str]:
    """Whether both results are spread alike: χ², or permutations where few are expected."""
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

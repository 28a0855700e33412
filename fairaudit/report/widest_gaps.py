"""The widest disparities where a spec sets no limit, those with evidence first."""

from __future__ import annotations

import math

from fairaudit.base.frozen import Frozen
from fairaudit.metrics import Eligibility
from fairaudit.report import metric_titles, numbers
from fairaudit.result import AuditResult, RateRow

_MOST = 6


WIDEST = "the widest gaps to a reference group"
"""What they are called: to the highest group the gap of a rate may be wider."""


class WidestGap(Frozen):
    """A group and its reference by one rate, in a sentence, and how sure it is.

    `is_significant` is None where there is no test, or none that is published.
    """

    headline: str
    sure: str
    is_significant: bool | None


def widest(result: AuditResult) -> list[WidestGap]:
    """Of each rate and grouping the group farthest from its reference, significant ones first."""
    compared = [
        row
        for row in result.rates
        if row.by and row.standing is Eligibility.ELIGIBLE and row.group != row.reference
        if row.difference is not None and math.isfinite(row.difference)
    ]
    best: dict[tuple[object, ...], RateRow] = {}
    for row in sorted(compared, key=_rank):
        best.setdefault(_table_of(row), row)
    rows = {(_table_of(row), row.group): row for row in reversed(result.rates)}
    return [
        _gap(row, rows.get((_table_of(row), row.reference))) for row in [*best.values()][:_MOST]
    ]


def _table_of(row: RateRow) -> tuple[object, ...]:
    """What the rows of a table of rates have in common."""
    return row.metric, row.of, row.by, row.stratum, str(row.parameters), row.averaged


def _rank(row: RateRow) -> tuple[bool, float, float]:
    """Significant ones first, shares before other numbers of their size, then the widest."""
    test = row.estimate.significance
    adjusted = 1.0 if test is None else test.adjusted
    assert row.difference is not None
    return adjusted >= row.alpha, not metric_titles.is_share(row.metric), -abs(row.difference)


def _gap(row: RateRow, other: RateRow | None) -> WidestGap:
    """The gap of a group to the row of its reference."""
    difference = row.difference
    assert difference is not None
    group, reference = numbers.people(row.group), numbers.people(row.reference)
    where = numbers.in_stratum(row.stratum) + metric_titles.options(row.parameters, row.averaged)
    size, often = metric_titles.gap(row.metric, difference, [0])
    participle = metric_titles.participle(row.metric, row.of)
    title = f"{metric_titles.title(row.metric, row.of)} of {group}"
    text = f"{title} is {f'{size} ' if difference else ''}that of {reference}"
    if difference and participle and often:
        text = f"{group} is {participle} {often} {reference}"
    rates = [rate.estimate for rate in (row, other) if rate is not None]
    digits = metric_titles.digits_of_rates(row.metric, [rates])
    counts = " against ".join(metric_titles.rate(row.metric, rate, digits) for rate in rates)
    test = row.estimate.significance
    p = "not tested" if test is None else f"p {numbers.probability(test.adjusted, row.alpha)}"
    if test is not None and test.family > 1:
        p += f" ({test.correction}, {numbers.counted(test.family, 'test')})"
    by = f"by {numbers.subset(row.by)}: " if len(row.by) > 1 else ""
    is_significant = None if test is None else test.adjusted < row.alpha
    return WidestGap(text + where, f"{by}{counts}; {p}", is_significant)

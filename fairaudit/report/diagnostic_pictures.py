"""The picture of a diagnostic: the rates that a check compares, beside its limits."""

from __future__ import annotations

import math
from dataclasses import replace

from fairaudit.metrics import Eligibility
from fairaudit.metrics.rates import SELECTION_RATE
from fairaudit.report import checks, metric_titles, numbers
from fairaudit.report.pictures import Interval, Intervals, Mark
from fairaudit.report.rate_figures import limit_rules, rate_interval
from fairaudit.result import AuditResult, RateRow
from fairaudit.verdict import Check, Finding


def picture(result: AuditResult, finding: Finding) -> Intervals | None:
    """The rates that a check compares, the lowest first, beside its limit; None without them."""
    check, parts = finding.check, checks.deciding_parts(finding)
    if not isinstance(check, Check) or len(parts) != 1 or check.against is not None:
        return None
    sides = {side.group: side for side in (parts[0].first, parts[0].second) if side is not None}
    metric = parts[0].metric if parts[0].outcome is None else SELECTION_RATE.id
    rows = [
        row
        for row in result.rates
        if (row.metric, row.of, row.by, row.stratum)
        == (metric, check.of, check.by, finding.stratum)
        and not (row.parameters or row.averaged)
    ]
    values = {row.group: row.estimate.value for row in rows}
    if not rows or any(
        values.get(group) != side.estimate.value
        for group, side in sides.items()
        if side.crowd is None
    ):
        return None
    return Intervals(
        metric_titles.title(metric, check.of),
        [_drawn(row, strong=row.group in sides) for row in sorted(rows, key=_by_value)],
        [*limit_rules(finding, metric)] if parts[0].outcome is None else [],
        percent=metric_titles.is_share(metric),
    )


def _by_value(row: RateRow) -> tuple[bool, bool, float]:
    value = row.estimate.value
    return row.standing is not Eligibility.ELIGIBLE, not math.isfinite(value), value


def _drawn(row: RateRow, *, strong: bool) -> Interval:
    drawn = rate_interval(row)
    return replace(
        drawn,
        label=numbers.people(row.group),
        panel="",
        mark=Mark.GROUP if row.standing is Eligibility.ELIGIBLE else Mark.ASIDE,
        text=drawn.text.removesuffix(" reference"),
        strong=strong,
    )

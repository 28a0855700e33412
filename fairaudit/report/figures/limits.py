"""Where a limit on a comparison lies on the axis of the rate that it compares."""

from __future__ import annotations

import math
from collections.abc import Iterator

from fairaudit.cube import Grouping
from fairaudit.metrics import Disparity, GroupMetric
from fairaudit.report import numbers, sentences
from fairaudit.report.pictures import Rule
from fairaudit.result import AuditResult
from fairaudit.verdict import Check, Finding, Limit


def limits(result: AuditResult, metric: str, of: str, by: Grouping) -> Iterator[Rule]:
    """A line for each bound of each limit whose place is one value for all groups.

    A limit on a rate lies at itself; one on a ratio, a difference or a gap lies beside the value of
    the group that all others are compared with. Against the rest or everybody that value is
    another for every group: there is no line.
    """
    share = sentences.is_share(metric)
    for finding in result.findings:
        check = finding.check
        if isinstance(check, Check) and (check.of, check.by) == (of, by) and _is_plain(check):
            for name, limit in (("warn", check.warn), ("fail", check.fail)):
                for value in () if limit is None else _places(finding, check, metric, limit):
                    text = numbers.percent(value) if share else numbers.number(value, 3)
                    yield Rule(value, numbers.subset(by), f"{name} {text}", is_limit=True)


def _is_plain(check: Check) -> bool:
    """Whether the rates it compares are those of the plain table."""
    return not (
        check.strata
        or check.terms.average
        or check.terms.of_class
        or check.terms.at is not None
        or check.against
    )


def _places(finding: Finding, check: Check, metric: str, limit: Limit) -> Iterator[float]:
    bounds = [float(one) for one in (limit.below, limit.above) if one is not None]
    if isinstance(check.asked, GroupMetric):
        yield from bounds if check.asked.id == metric else ()
        return
    base = _base(finding, check, metric)
    if base is None or not isinstance(check.asked, Disparity):
        return
    for bound in bounds:
        match check.asked.comparison.id:
            case "ratio" | "min_ratio":
                yield base * bound
            case "difference":
                yield base + bound
            case "gap":
                yield base - bound


def _base(finding: Finding, check: Check, metric: str) -> float | None:
    """The value that all groups are compared with; None where there is none, or several."""
    asked = check.asked
    if not isinstance(asked, Disparity) or len(asked.parts) != 1 or len(finding.parts) != 1:
        return None
    part = finding.parts[0]
    if asked.parts[0][0].id != metric or part.metric != metric:
        return None
    sides = [side for side in (part.first, part.second) if side is not None]
    if len(sides) != 2 or any(side.crowd is not None for side in sides):
        return None
    values = [side.estimate.value for side in sides]
    base = max(values) if finding.spread else values[-1]
    return base if math.isfinite(base) else None

"""Pictures of rates with intervals, references and limits; why a group is not compared."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from fairaudit.base import names
from fairaudit.base.frozen import replace
from fairaudit.cube import Grouping
from fairaudit.judge import Check, Finding, Limit
from fairaudit.metrics import Disparity, Eligibility, GroupMetric, find_metric
from fairaudit.metrics.estimate import Estimate
from fairaudit.metrics.pair_intervals import Scale
from fairaudit.metrics.rates import SELECTION_RATE
from fairaudit.metrics.reasons import explain_unknown
from fairaudit.report import asked_comparisons, metric_titles, numbers, pictures
from fairaudit.report.blocks import Block, Figure, Paragraph, Tone
from fairaudit.report.pictures import Interval, Intervals, Line, Lines, Mark, Point, Rule
from fairaudit.result import AuditResult
from fairaudit.result.rows import RateRow

_Tables = Mapping[Grouping, Sequence[RateRow]]
_LITTLE = 0.05
_Write: TypeAlias = Callable[[float, int | None], str]
_NUDGE = 1e-6
"""The distance beyond a bound of the value that shows on which side of its line values cross it."""


def local_rates(result: AuditResult) -> Iterator[Block]:
    """The selection rate along each numeric attribute, in words and as a picture."""
    for curve in result.local_rates:
        if not curve.points:
            continue
        attribute = names.name(curve.attribute)
        title = f"Selection rate{metric_titles.whose(curve.of)} along {attribute}"
        lowest, highest = (f(curve.points, key=lambda point: point.rate) for f in (min, max))
        ends = [
            f"{numbers.percent(point.rate)} [{numbers.percent(point.low)}, "
            f"{numbers.percent(point.high)}] near {numbers.number(point.at, 3)}"
            for point in (lowest, highest)
        ]
        level, width = result.provenance.inference.percent, numbers.number(curve.bandwidth, 2)
        note = f"Smoothed with a Gaussian kernel of width {width}; the band: {level} at each point."
        yield Paragraph(f"{title}: from {' to '.join(ends)}. {note}", Tone.MUTED)
        points = [Point(point.at, point.rate, point.low, point.high) for point in curve.points]
        line = Line(names.name(curve.of), points)
        picture = Lines(attribute, "selection rate", [line], percent=True)
        yield Figure(title, picture, note=note)


def rates(result: AuditResult) -> Iterator[Figure]:
    """For each rate, pictures of attributes, of each judged subset, and of the largest subset."""
    by_rate: dict[tuple[str, str, str], dict[Grouping, list[RateRow]]] = {}
    compared = asked_comparisons.compared_groups(result)
    for row in result.rates:
        if row.by and not row.stratum:
            key = (row.metric, row.of, metric_titles.options(row.parameters, row.averaged))
            # The reference of the comparisons in the spec, if they have a single one.
            asked_of = asked_comparisons.comparisons_of(row, compared)
            seconds = {one.second for one in asked_of if one.second}
            own = replace(row, reference=seconds.pop()) if len(seconds) == 1 else row
            by_rate.setdefault(key, {}).setdefault(row.by, []).append(own)
    figures = [
        figure for key, tables in by_rate.items() for figure in _of_rate(result, key, tables)
    ]
    shown = figures[: pictures.MOST_RATE_PICTURES]
    if omitted := len(figures) - len(shown):
        more = pictures.not_shown(omitted, "pictures of rates", "the tables below have them")
        shown[-1] = replace(shown[-1], note=shown[-1].note + more)
    yield from shown


def _of_rate(result: AuditResult, key: tuple[str, str, str], tables: _Tables) -> Iterator[Figure]:
    metric, of, options = key
    title = metric_titles.defined_heading(result, metric, of)
    named = f"{title}{metric_titles.of_outcome(metric, of)}{options}"
    if metric == SELECTION_RATE.id and of in result.positives:
        named += f" ({result.positives[of]})"
    rules = [] if options else _limits(result, metric, of, tables)
    digits = max(digits_of(rows, rules) for rows in tables.values())
    rules = rules and _limits(result, metric, of, tables, digits)
    judged = {rule.panel for rule in rules}
    alone = [by for by in tables if len(by) == 1]
    fullest = max(tables, key=len)
    others = [
        by for by in tables if len(by) > 1 and (by == fullest or numbers.subset(by) in judged)
    ]
    for bys in ([alone] if alone else []) + [[by] for by in others]:
        names = ", ".join(numbers.subset(by) for by in bys)
        rows = [
            row
            for by in bys
            for row in pictures.without_middle(
                [rate_interval(row, digits) for row in tables[by]],
                max(pictures.MOST_ROWS // len(bys), 2),
            )
        ]
        references = [
            Rule(row.estimate.value, numbers.subset(by))
            for by in bys
            for row in tables[by]
            if row.group == row.reference and math.isfinite(row.estimate.value)
        ]
        limits = [rule for rule in rules if rule.panel in map(numbers.subset, bys)]
        picture = Intervals(
            title, rows, [*references, *limits], percent=metric_titles.is_share(metric)
        )
        estimates = [row.estimate for by in bys for row in tables[by]]
        yield Figure(f"{named} by {names}", picture, explain_marks(result, picture, estimates))


def explain_marks(result: AuditResult, picture: Intervals, estimates: Iterable[Estimate]) -> str:
    """How to read the marks of a picture of rates."""
    level = f"{result.provenance.inference.percent} interval"
    return pictures.explain(picture, numbers.interval_heading(level, estimates))


def digits_of(rows: Sequence[RateRow], rules: Sequence[Rule] = ()) -> int:
    """How many decimals make rates differ from the reference, interval ends and limits.

    A difference from the reference is ignored if it is small compared with the interval.
    """
    rate_of, apart = {row.group: row.estimate for row in rows}, list[list[Estimate]]()
    for row in rows:
        pair = [row.estimate, rate_of.get(row.reference, row.estimate)]
        widths = [
            rate.high - rate.low for rate in pair if rate.low is not None and rate.high is not None
        ]
        is_apart = abs(pair[0].value - pair[1].value) > _LITTLE * max(widths, default=0.0)
        apart.append(pair if is_apart else pair[:1])
    digits = metric_titles.digits_of_rates(rows[0].metric, apart, 3)
    scale = 100 if metric_titles.is_share(rows[0].metric) else 1
    to_limits = ([row.estimate.value, rule.value] for row in rows for rule in rules)
    return numbers.digits_apart(to_limits, digits, scale=scale)


def rate_interval(row: RateRow, digits: int) -> Interval:
    """A rate of one group as a row of a picture."""
    mark = Mark.REFERENCE if row.group == row.reference else Mark.GROUP
    if row.standing is not Eligibility.ELIGIBLE:
        mark = Mark.ASIDE
    estimate = row.estimate
    value = metric_titles.rate_alone(row.metric, estimate, digits)
    return Interval(
        label=numbers.group(row.group),
        value=math.nan if estimate.suppressed else estimate.value,
        low=estimate.low,
        high=estimate.high,
        panel=numbers.subset(row.by),
        mark=mark,
        text=f"{value} {standing(row, 'group unknown')}".rstrip(),
    )


def standing(row: RateRow, unknown: str) -> str:
    """Why a group is not compared, or `reference`; `unknown` if the reason is not known."""
    if row.standing is Eligibility.ELIGIBLE:
        return "reference" if row.group == row.reference else ""
    if row.standing is Eligibility.UNKNOWN:
        return explain_unknown(row.group) or unknown
    return asked_comparisons.STANDINGS.get(row.standing, "")


def _limits(
    result: AuditResult, metric: str, of: str, bys: Iterable[Grouping], digits: int | None = None
) -> list[Rule]:
    """A line for each bound of each limit, if its place is the same for all groups.

    The line of a limit on a rate is at the limit. The line of a limit on a ratio or difference
    depends on the rate of the reference group. If groups are compared with all other people or with
    everybody, this rate differs by group, so no line is drawn.
    """
    return [
        replace(rule, panel=numbers.subset(by))
        for by in bys
        for finding in result.findings
        if isinstance(finding.check, Check) and (finding.check.of, finding.check.by) == (of, by)
        for rule in limit_rules(finding, metric, digits)
    ]


def limit_rules(finding: Finding, metric: str, digits: int | None = None) -> Iterator[Rule]:
    """A line for each bound of both limits of one check."""
    check = finding.check
    if not isinstance(check, Check):
        return
    terms = check.terms
    if check.strata or terms.average or terms.of_class or terms.at is not None or check.against:
        return  # the compared rates differ from the rates in the plain table
    write = numbers.percent if metric_titles.is_share(metric) else numbers.number
    low, high = (None, None) if (rate := find_metric(metric)) is None else rate.bounds
    for name, limit in (("warn", check.warn), ("fail", check.fail)):
        if limit is None:
            continue
        for value, side, base in _places(finding, check, metric, limit):
            end, sign = (high, 1) if side == "above" else (low, -1)
            if end is not None and sign * (value - float(end)) > -_NUDGE:
                continue  # no rate can be there
            label, bounds = f"{name} {side} {write(value, digits)}", ""
            if isinstance(check.metric, Disparity):
                derived = _derive(value, base, check.metric.comparison.scale, write, digits)
                alone = replace(limit, significant=False, conclusive=False)
                bounds = f"{side} {derived}" if derived else str(alone)
            yield Rule(value, label=label, limit=name, bounds=bounds)


def _derive(
    value: float, base: float, scale: Scale | None, write: _Write, digits: int | None
) -> str:
    """The limit as a formula with another rate, `0.8 × 60.4 %`; empty for other scales.

    The printed numbers have enough digits to give the printed limit.
    """
    is_share, text = write is numbers.percent, ""
    for more in range((digits or 1) + (scale is Scale.RATIO), (digits or 1) + 5):
        places = more + 2 * is_share
        shown, by = round(base, places), round(abs(value - base), places)
        if scale is Scale.RATIO and base:
            at, text = shown * value / base, f"{value / base:.4g} × {write(base, more)}"
        elif scale is Scale.DIFFERENCE and is_share:
            at = shown + math.copysign(by, value - base)
            apart = numbers.percent(by, more).removesuffix(" %")
            text = f"{write(base, more)} {'-+'[value > base]} {apart} points"
        else:
            break
        if write(at, digits) == write(value, digits):
            break
    return text


def _places(
    finding: Finding, check: Check, metric: str, limit: Limit
) -> Iterator[tuple[float, str, float]]:
    """The rate at each bound of a limit, the side beyond it, and the rate of the reference."""
    sides = {"below": limit.below, "above": limit.above}
    bounds = {side: float(bound) for side, bound in sides.items() if bound is not None}
    if isinstance(check.metric, GroupMetric):
        if check.metric.id == metric:
            yield from ((bound, side, math.nan) for side, bound in bounds.items())
        return
    compared = check.metric
    if not isinstance(compared, Disparity) or len(compared.parts) != 1 or len(finding.parts) != 1:
        return
    part, comparison = finding.parts[0], compared.comparison
    if {compared.parts[0][0].id, part.metric} != {metric} or len(part.sides) != 2:
        return
    # The rate of the reference; if it is a pool of people, there are several.
    rates = [side.estimate.value for side in part.sides]
    base = max(rates) if finding.spread else rates[-1]
    if not math.isfinite(base) or any(side.crowd is not None for side in part.sides):
        return
    low, high = sorted(part.sides, key=lambda side: side.estimate.value)
    is_known = finding.spread and finding.worse_off and high.group == finding.worse_off
    for declared, bound in bounds.items():
        # If the bound is parity, its line is at the base; a slightly worse value shows the side.
        worse = bound + (_NUDGE if declared == "above" else -_NUDGE)
        value, beyond = (base + float(comparison.gap_at(at, base)) for at in (bound, worse))
        side = "below" if beyond < value else "above"
        if is_known and comparison.scale in {Scale.DIFFERENCE, Scale.RATIO}:
            # If the group with the highest rate is worse off, the line is above the lowest rate.
            lowest, apart = low.estimate.value, float(comparison.unscale(bound))
            if comparison.scale is Scale.DIFFERENCE:
                value, side, base = lowest + apart, "above", lowest
            elif apart > 0:
                value, side, base = lowest / apart, "above", lowest
        if math.isfinite(value):
            yield value, side, base

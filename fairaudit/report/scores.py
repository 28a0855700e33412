"""The section on the score: its distribution and its curves in each group."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from fairaudit import names
from fairaudit.report import numbers, pictures
from fairaudit.report.blocks import Block, Cell, Figure, Heading, Paragraph, Table, Tone
from fairaudit.report.pictures import Line, Lines, Point
from fairaudit.result import AuditResult, Curve, ScoreRow, Threshold

_HEADER = ("people", "mean", "s. d.", "lowest", "median", "highest", "AUC")


def section(result: AuditResult, most: int | None) -> Iterator[Block]:
    """A table for everybody and for each attribute."""
    for column, run in groupby(result.scores, key=lambda row: row.column):
        name = names.name(column)
        yield Heading("Score" if name.lower() == "score" else f"Score: {name}")
        yield from _curves(result, column)
        yield from _of_column(list(run), most)


def _of_column(scores: list[ScoreRow], most: int | None) -> Iterator[Block]:
    for by, run in groupby(scores, key=lambda row: row.by):
        rows = list(run)
        shown = rows if most is None else rows[:most]
        caption = f"By {numbers.subset(by)}" if by else "Everybody who has one"
        more = len(rows) - len(shown)
        yield Table(
            caption,
            ("", *_HEADER),
            [_cells(row) for row in shown],
            (False, *(True for _ in _HEADER)),
            more=f"{more} more rows: --verbose shows them" if more else "",
        )
    yield Paragraph(
        "AUC: how often a positive label has the higher score of the two, ties counting one half, "
        "within the group; ± says by how much the bins may have moved it. A median of two numbers "
        "lies between them.",
        Tone.MUTED,
    )


def _cells(row: ScoreRow) -> list[Cell]:
    name = numbers.named_group(row.group) if row.by else "everybody"
    if row.suppressed:
        blank = ["" for _ in _HEADER[1:]]
        return [Cell(name, Tone.MUTED), Cell(numbers.SUPPRESSED), *map(Cell, blank)]
    texts = [numbers.whole(row.n), *(_number(one) for one in (row.mean, row.deviation))]
    lowest, highest = (_extreme(one) for one in (row.lowest, row.highest))
    texts += [lowest, _range(row.median), highest, _auc(row)]
    return [Cell(name, Tone.PLAIN if row.known else Tone.MUTED), *map(Cell, texts)]


def _number(value: float | None) -> str:
    return "" if value is None else numbers.number(value)


def _extreme(value: float | None) -> str:
    return numbers.SUPPRESSED if value is None else numbers.number(value)


def _range(ends: tuple[float, float] | None) -> str:
    if ends is None:
        return ""
    low, high = map(numbers.number, ends)
    return low if low == high else f"{low} to {high}"


def _auc(row: ScoreRow) -> str:
    if row.auc is None:
        return "undefined"
    error = f" ± {row.auc_error:.1g}" if row.auc_error else ""
    return f"{numbers.number(row.auc)}{error}"


def _curves(result: AuditResult, column: str) -> Iterator[Figure]:
    """Four pictures for each attribute, a line for each group."""
    mine = [one for one in result.curves if one.column == column]
    for by, run in groupby(mine, key=lambda one: one.by):
        known = [one for one in run if one.known and not one.suppressed]
        if not by or not known:
            continue
        largest = sorted(known, key=_people, reverse=True)[: pictures.MOST_LINES]
        shown = [one for one in known if one in largest]
        left = pictures.not_shown(len(known) - len(shown), "groups", "the smaller ones")
        yield from _of_attribute(result, column, numbers.subset(by), shown, left)


def _people(one: Curve) -> int:
    return sum(each.n for each in one.calibration)


def _of_attribute(
    result: AuditResult, column: str, by: str, shown: Sequence[Curve], left: str
) -> Iterator[Figure]:
    level = f"{float(100 * result.provenance.inference.confidence):g} %"
    calibration = [Line(numbers.group(one.group), _calibration(one)) for one in shown]
    if any(line.points for line in calibration):
        yield Figure(
            f"Calibration of {column} by {by}",
            f"{_farthest(calibration)}{left}",
            Lines(f"mean {column}", "share of positives", calibration, diagonal=True, percent=True),
            note=f"On the grey line a score is the share of positives. {level} intervals.{left}",
        )
    roc = [Line(numbers.group(one.group), _roc(one)) for one in shown]
    if any(line.points for line in roc):
        areas = {row.group: row.auc for row in result.scores if row.column == column}
        told = [
            f"{numbers.group(one.group)}: AUC "
            + ("undefined" if (area := areas.get(one.group)) is None else numbers.number(area))
            for one in shown
        ]
        yield Figure(
            f"ROC of {column} by {by}",
            f"{'; '.join(told)}.{left}",
            Lines(
                "false positive rate",
                "true positive rate",
                roc,
                diagonal=True,
                percent=True,
                percent_across=True,
            ),
            note=f"On the grey line a score does not rank at all.{left}",
        )
    sides: list[tuple[str, Callable[[Threshold], float | None]]] = [
        ("False positive rate", lambda one: one.false_positive_rate),
        ("False negative rate", _false_negative_rate),
    ]
    for name, side in sides:
        lines = [Line(numbers.group(one.group), list(_errors(one, side))) for one in shown]
        if any(line.points for line in lines):
            yield Figure(
                f"{name} by threshold on {column}, by {by}",
                f"{_spread(lines)}{left}",
                Lines(f"threshold on {column}", name, lines, percent=True, domain=(-0.02, 1.02)),
                note=f"What selecting all scores from the threshold on would do.{left}",
            )


def _calibration(one: Curve) -> list[Point]:
    return [Point(each.mean_score, each.share, each.low, each.high) for each in one.calibration]


def _roc(one: Curve) -> list[Point]:
    points = [
        Point(each.false_positive_rate, each.true_positive_rate)
        for each in reversed(one.thresholds)
        if each.false_positive_rate is not None and each.true_positive_rate is not None
    ]
    return [Point(0.0, 0.0), *points] if points else []


def _false_negative_rate(one: Threshold) -> float | None:
    rate = one.true_positive_rate
    return None if rate is None else 1 - rate


def _errors(one: Curve, side: Callable[[Threshold], float | None]) -> Iterator[Point]:
    for each in one.thresholds:
        rate = side(each)
        if rate is not None:
            yield Point(each.at, rate)


def _farthest(lines: Sequence[Line]) -> str:
    """Where each group lies farthest from what its scores say."""
    words = []
    for line in lines:
        pairs = [(float(one.x), one.y) for one in line.points]
        if pairs:
            x, y = max(pairs, key=lambda pair: abs(pair[0] - pair[1]))
            words.append(
                f"{line.label}: farthest where the mean score is {numbers.number(x, 3)} and "
                f"{numbers.percent(y)} are positive."
            )
    return " ".join(words)


def _spread(lines: Sequence[Line]) -> str:
    """At which threshold the groups differ most."""
    by_place: dict[float, list[tuple[float, str]]] = {}
    for line in lines:
        for one in line.points:
            by_place.setdefault(float(one.x), []).append((one.y, line.label))
    several = {at: rows for at, rows in by_place.items() if len(rows) > 1}
    if not several:
        return "One group alone."
    at = max(several, key=lambda one: max(several[one])[0] - min(several[one])[0])
    (low, least), (high, highest) = min(several[at]), max(several[at])
    return (
        f"The groups differ most at {numbers.number(at, 3)}: {numbers.percent(low)} ({least}) "
        f"against {numbers.percent(high)} ({highest})."
    )

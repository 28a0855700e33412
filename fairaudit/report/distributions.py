"""Prose report: sections on scores (distribution, curves) and on features."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from fairaudit.base import names
from fairaudit.report import numbers, pictures
from fairaudit.report.blocks import Block, Cell, Figure, Heading, Paragraph, Table, Tone
from fairaudit.report.pictures import Line, Lines, Point
from fairaudit.result import AuditResult, Curve, FeatureRow, ScoreRow, Threshold

_HEADER = ("people", "mean", "s. d.", "lowest", "median", "highest", "AUC")
_OF_NUMBERS = ("people", "missing", "mean", "median", "s. d.", "lowest", "highest")
_OF_LEVELS = ("people", "missing", "levels", "commonest", "entropy")


def scores(result: AuditResult, most: int | None) -> Iterator[Block]:
    """A table for everybody and for each attribute."""
    for column, run in groupby(result.scores, key=lambda row: row.column):
        name = names.name(column)
        yield Heading("Score" if name.lower() == "score" else f"Score: {name}")
        yield from _curves(result, column)
        yield from _of_column(list(run), most)


def _of_column(rows_of_column: Sequence[ScoreRow], most: int | None) -> Iterator[Block]:
    for by, run in groupby(rows_of_column, key=lambda row: row.by):
        rows = list(run)
        shown = rows[:most]
        caption = f"By {numbers.subset(by)}" if by else "Everybody with a score"
        more = len(rows) - len(shown)
        yield Table(
            caption,
            ("", *_HEADER),
            [_cells(row) for row in shown],
            (False, *(True for _ in _HEADER)),
            more=f"{more} more rows: --verbose shows them" if more else "",
        )
    yield Paragraph(
        "AUC: how often, within the group, a person with a positive label has a higher score than "
        "one with a negative label, ties counting one half; ±: the largest error by binning. A "
        "median given as two numbers lies between them.",
        Tone.MUTED,
    )


def _cells(row: ScoreRow) -> list[Cell]:
    name = names.describe_group(row.group)
    if row.suppressed:
        blank = ["" for _ in _HEADER[1:]]
        return [Cell(name, Tone.MUTED), Cell(numbers.SUPPRESSED), *map(Cell, blank)]
    texts = [numbers.whole(row.n), *(_number(value) for value in (row.mean, row.deviation))]
    lowest, highest = (_extreme(value) for value in (row.lowest, row.highest))
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
    error = f" {numbers.doubt(row.auc_error)}" if row.auc_error else ""
    return f"{numbers.number(row.auc)}{error}"


def _curves(result: AuditResult, column: str) -> Iterator[Figure]:
    """Four pictures for each attribute, a line for each group."""
    curves = [curve for curve in result.curves if curve.column == column]
    for by, run in groupby(curves, key=lambda curve: curve.by):
        known = [curve for curve in run if curve.known and not curve.suppressed]
        if not by or not known:
            continue
        largest = sorted(known, key=_people, reverse=True)[: pictures.MOST_LINES]
        shown = [curve for curve in known if curve in largest]
        omitted = pictures.not_shown(len(known) - len(shown), "groups", "the smaller ones")
        yield from _of_attribute(result, column, numbers.subset(by), shown, omitted)


def _people(curve: Curve) -> int:
    return sum(bucket.n for bucket in curve.calibration)


def _of_attribute(
    result: AuditResult, column: str, by: str, shown: Sequence[Curve], omitted: str
) -> Iterator[Figure]:
    level = numbers.confidence(result.provenance.inference)
    names_of = [numbers.group(curve.group) for curve in shown]
    calibration = [*map(Line, names_of, map(_calibration, shown))]
    if any(line.points for line in calibration):
        yield Figure(
            f"Calibration of {column} by {by}",
            f"{_farthest(calibration)}{omitted}",
            Lines(f"mean {column}", "share of positives", calibration, diagonal=True, percent=True),
            note=f"On the grey line a score is the share of positives. {level} intervals.{omitted}",
        )
    roc = [*map(Line, names_of, map(_roc, shown))]
    if any(line.points for line in roc):
        areas = {row.group: row.auc for row in result.scores if row.column == column}
        areas_of_shown = (areas.get(curve.group) for curve in shown)
        texts = [
            f"{name}: AUC {'undefined' if area is None else numbers.number(area)}"
            for name, area in zip(names_of, areas_of_shown, strict=True)
        ]
        yield Figure(
            f"ROC of {column} by {by}",
            f"{'; '.join(texts)}.{omitted}",
            Lines(
                "false positive rate",
                "true positive rate",
                roc,
                diagonal=True,
                percent=True,
                percent_across=True,
            ),
            note=f"On the grey line a score does not rank at all.{omitted}",
        )
    for name, side in _ERRORS.items():
        lines = [*map(Line, names_of, (_errors(curve, side) for curve in shown))]
        if any(line.points for line in lines):
            yield Figure(
                f"{name} by threshold on {column}, by {by}",
                f"{_spread(lines)}{omitted}",
                Lines(f"threshold on {column}", name, lines, percent=True, domain=(-0.02, 1.02)),
                note=f"What selecting all scores from the threshold on would do.{omitted}",
            )


def _calibration(curve: Curve) -> list[Point]:
    return [
        Point(bucket.mean_score, bucket.share, bucket.low, bucket.high)
        for bucket in curve.calibration
    ]


def _roc(curve: Curve) -> list[Point]:
    points = [
        Point(threshold.false_positive_rate, threshold.true_positive_rate)
        for threshold in reversed(curve.thresholds)
        if threshold.false_positive_rate is not None and threshold.true_positive_rate is not None
    ]
    return [Point(0.0, 0.0), *points] if points else []


def _false_negative_rate(threshold: Threshold) -> float | None:
    rate = threshold.true_positive_rate
    return None if rate is None else 1 - rate


_ERRORS: dict[str, Callable[[Threshold], float | None]] = {
    "False positive rate": lambda threshold: threshold.false_positive_rate,
    "False negative rate": _false_negative_rate,
}


def _errors(curve: Curve, side: Callable[[Threshold], float | None]) -> list[Point]:
    rates = [(threshold.at, side(threshold)) for threshold in curve.thresholds]
    return [Point(at, rate) for at, rate in rates if rate is not None]


def _farthest(lines: Sequence[Line]) -> str:
    """Where each group lies farthest from what its scores say."""
    words = []
    for line in lines:
        pairs = [(float(point.x), point.y) for point in line.points]
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
        for point in line.points:
            by_place.setdefault(float(point.x), []).append((point.y, line.label))
    several = {place: rows for place, rows in by_place.items() if len(rows) > 1}
    if not several:
        return "One group alone."
    widest = max(several, key=lambda item: max(several[item])[0] - min(several[item])[0])
    (low, least), (high, highest) = min(several[widest]), max(several[widest])
    return (
        f"The groups differ most at {numbers.number(widest, 3)}: {numbers.percent(low)} ({least}) "
        f"against {numbers.percent(high)} ({highest})."
    )


def features(result: AuditResult, most: int | None) -> Iterator[Block]:
    """A table for each feature: everybody, and each group of each attribute."""
    if not result.features:
        return
    yield Heading("Features by group")
    for feature, run in groupby(result.features, key=lambda row: row.feature):
        yield _feature_table(feature, list(run), most)
    yield Paragraph(
        "missing: people without the feature, and their share; a median given as two numbers lies "
        "between them; entropy: in bits, 0 where all have one level. Who leaves the audit for "
        "another column is counted here.",
        Tone.MUTED,
    )


def _feature_table(feature: str, rows: Sequence[FeatureRow], most: int | None) -> Table:
    is_number = all(row.levels is None for row in rows)
    heads = _OF_NUMBERS if is_number else _OF_LEVELS
    shown = rows[:most]
    return Table(
        names.name(feature),
        ("", *heads),
        [_feature_cells(row, is_number=is_number) for row in shown],
        (False, *(head != "commonest" for head in heads)),
        more=numbers.more_groups(len(rows) - len(shown)),
    )


def _feature_cells(row: FeatureRow, *, is_number: bool) -> list[Cell]:
    share = numbers.percent(row.missing / (row.n + row.missing))
    missing = f"{numbers.whole(row.missing)} ({share})" if row.missing else "0"
    if is_number:
        others = map(_number, (row.deviation, row.lowest, row.highest))
        texts = [_number(row.mean), _range(row.median), *others]
    else:
        commonest = "" if row.commonest is None else names.name(row.commonest)
        texts = [numbers.whole(row.levels), commonest, _number(row.entropy)]
    tone = Tone.PLAIN if row.known else Tone.MUTED
    return [
        Cell(names.describe_group(row.group), tone),
        *map(Cell, (numbers.whole(row.n), missing, *texts)),
    ]

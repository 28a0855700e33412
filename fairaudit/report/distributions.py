"""Prose report: sections on scores (distribution, curves) and on features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from fairaudit.base import names
from fairaudit.cube import Group
from fairaudit.report import numbers, pictures
from fairaudit.report.blocks import (
    Block,
    Cell,
    Column,
    Figure,
    Heading,
    Paragraph,
    Tone,
    tabulate,
    text_column,
)
from fairaudit.report.pictures import Line, Lines, Point
from fairaudit.result import AuditResult, Curve, FeatureRow, ScoreRow


def scores(result: AuditResult, most: int | None) -> Iterator[Block]:
    """A table for everybody and for each attribute."""
    for column, run in groupby(result.scores, key=lambda row: row.column):
        name = names.name(column)
        yield Heading("Score" if name.lower() == "score" else f"Score: {name}")
        curves = [curve for curve in result.curves if curve.column == column]
        # Four pictures for each attribute, a line for each group.
        for by, of_grouping in groupby(curves, key=lambda curve: curve.by):
            known = [curve for curve in of_grouping if curve.known and not curve.suppressed]
            if not by or not known:
                continue
            largest = sorted(
                known, key=lambda curve: sum(bucket.n for bucket in curve.calibration), reverse=True
            )[: pictures.MOST_LINES]
            shown = [curve for curve in known if curve in largest]
            omitted = pictures.not_shown(len(known) - len(shown), "groups", "the smaller ones")
            yield from _of_attribute(result, column, numbers.subset(by), shown, omitted)
        for by, rows_of_grouping in groupby(run, key=lambda row: row.by):
            caption = f"By {numbers.subset(by)}" if by else "Everybody with a score"
            yield tabulate(
                caption,
                _SCORES,
                [*rows_of_grouping],
                most=most,
                more=lambda n: f"{n} more rows: --verbose shows them" if n else "",
            )
        yield Paragraph(
            "AUC: the probability that a person of the group with a positive label has a higher "
            "score than one with a negative label, ties counting one half; ±: the largest error "
            "from binning. A median printed as two numbers is between them.",
            Tone.MUTED,
        )


def _name(group: Group, *, known: bool) -> Cell:
    return Cell(names.describe_group(group), Tone.PLAIN if known else Tone.MUTED)


def _number(value: float | None) -> str:
    return "" if value is None else numbers.number(value)


def _extreme(row: ScoreRow, value: float | None) -> str:
    return numbers.SUPPRESSED if value is None and not row.suppressed else _number(value)


def _range(ends: tuple[float, float] | None) -> str:
    if ends is None:
        return ""
    low, high = map(numbers.number, ends)
    return low if low == high else f"{low} to {high}"


def _auc(row: ScoreRow) -> str:
    if row.auc is None:
        return "" if row.suppressed else "undefined"
    error = f" {numbers.doubt(row.auc_error)}" if row.auc_error else ""
    return f"{numbers.number(row.auc)}{error}"


_SCORES: tuple[Column[ScoreRow], ...] = (
    text_column("", lambda row: _name(row.group, known=row.known and not row.suppressed)),
    Column("people", lambda row: numbers.whole(row.n)),
    Column("mean", lambda row: _number(row.mean)),
    Column("s. d.", lambda row: _number(row.deviation)),
    Column("lowest", lambda row: _extreme(row, row.lowest)),
    Column("median", lambda row: _range(row.median)),
    Column("highest", lambda row: _extreme(row, row.highest)),
    Column("AUC", _auc),
)


def _of_attribute(
    result: AuditResult, column: str, by: str, shown: Sequence[Curve], omitted: str
) -> Iterator[Figure]:
    names_of = [numbers.group(curve.group) for curve in shown]

    def figure(title: str, picture: Lines, note: str) -> Figure:
        return Figure(f"{title} by {by}", picture, f"{note}{omitted}")

    calibration = [
        Line(name, [Point(b.mean_score, b.share, b.low, b.high) for b in curve.calibration])
        for name, curve in zip(names_of, shown, strict=True)
    ]
    if any(line.points for line in calibration):
        # Only a probability can equal the share: other scores have no grey line.
        is_share = all(0 <= float(p.x) <= 1 for line in calibration for p in line.points)
        line_note = "On the grey line, the score equals the share of positives. " * is_share
        across = f"mean {column}"
        yield figure(
            f"Calibration of {column}",
            Lines(across, "share of positives", calibration, diagonal=is_share, percent=True),
            f"{line_note}{result.provenance.inference.percent} intervals.",
        )
        totals = [sum(bucket.n for bucket in curve.calibration) for curve in shown]
        spread = [
            Line(name, [Point(b.mean_score, b.n / total) for b in curve.calibration if total])
            for name, curve, total in zip(names_of, shown, totals, strict=True)
        ]
        yield figure(
            f"Distribution of {column}",
            Lines(across, "share of the group", spread, percent=True),
            "People with a known label, in equal parts of the score.",
        )
    areas = {row.group: row.auc for row in result.scores if row.column == column}
    roc = [
        Line(name, _roc(curve), "" if area is None else f"AUC {numbers.number(area)}")
        for name, curve in zip(names_of, shown, strict=True)
        for area in [areas.get(curve.group)]
    ]
    if any(line.points for line in roc):
        ends = ("false positive rate", "true positive rate")
        yield figure(
            f"ROC of {column}",
            Lines(*ends, roc, diagonal=True, percent=True, percent_across=True),
            "On the grey line, the score has no skill.",
        )
    for name in ("False positive rate", "False negative rate"):
        lines = [*map(Line, names_of, (_errors(name, curve) for curve in shown))]
        if any(line.points for line in lines):
            yield figure(
                f"{name} by threshold on {column},",
                Lines(f"threshold on {column}", name, lines, percent=True, domain=(-0.02, 1.02)),
                "The rate if all people with a score at or above the threshold are selected.",
            )


def _roc(curve: Curve) -> list[Point]:
    points = [
        Point(threshold.false_positive_rate, threshold.true_positive_rate)
        for threshold in reversed(curve.thresholds)
        if threshold.false_positive_rate is not None and threshold.true_positive_rate is not None
    ]
    return [Point(0.0, 0.0), *points] if points else []


def _errors(name: str, curve: Curve) -> list[Point]:
    """A rate of errors at each threshold."""
    if name == "False positive rate":
        rates = [(row.at, row.false_positive_rate) for row in curve.thresholds]
        return [Point(at, rate) for at, rate in rates if rate is not None]
    rates = [(row.at, row.true_positive_rate) for row in curve.thresholds]
    return [Point(at, 1 - rate) for at, rate in rates if rate is not None]


def features(result: AuditResult, most: int | None) -> Iterator[Block]:
    """A table for each feature: everybody, and each group of each attribute."""
    if not result.features:
        return
    yield Heading("Features by group")
    for feature, run in groupby(result.features, key=lambda row: row.feature):
        rows = list(run)
        own = _OF_NUMBERS if all(row.levels is None for row in rows) else _OF_LEVELS
        yield tabulate(names.name(feature), (*_FEATURES, *own), rows, most=most)
    yield Paragraph(
        "missing: people without a value, and their share; a median printed as two numbers is "
        "between them; entropy: in bits, 0 if all people have the same level. The table "
        "includes people who are left out because of another column.",
        Tone.MUTED,
    )


def _missing(row: FeatureRow) -> str:
    share = numbers.percent(row.missing / (row.n + row.missing))
    return f"{numbers.whole(row.missing)} ({share})" if row.missing else "0"


_FEATURES: tuple[Column[FeatureRow], ...] = (
    text_column("", lambda row: _name(row.group, known=row.known)),
    Column("people", lambda row: numbers.whole(row.n)),
    Column("missing", _missing),
)
_OF_NUMBERS: tuple[Column[FeatureRow], ...] = (
    Column("mean", lambda row: _number(row.mean)),
    Column("median", lambda row: _range(row.median)),
    Column("s. d.", lambda row: _number(row.deviation)),
    Column("lowest", lambda row: _number(row.lowest)),
    Column("highest", lambda row: _number(row.highest)),
)
_OF_LEVELS: tuple[Column[FeatureRow], ...] = (
    Column("levels", lambda row: numbers.whole(row.levels)),
    text_column(
        "commonest", lambda row: "" if row.commonest is None else names.name(row.commonest)
    ),
    Column("entropy", lambda row: _number(row.entropy)),
)

"""Scores in each group, and their curves."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fairaudit.estimate import State
from fairaudit.report.json.reading import Member
from fairaudit.report.json.values import read_group, write_group
from fairaudit.result import Calibration, Curve, ScoreRow, Threshold


def write_score_row(row: ScoreRow) -> dict[str, Any]:
    """A score in one group; every score is a finite number."""
    return {
        "score": row.column,
        "by": list(row.by),
        "group": write_group(row.group),
        "known": row.known,
        "n": row.n,
        "mean": row.mean,
        "deviation": row.deviation,
        "lowest": row.lowest,
        "highest": row.highest,
        "median": None if row.median is None else list(row.median),
        "auc": row.auc,
        "auc_error": row.auc_error,
        **_state(suppressed=row.suppressed),
    }


def read_score_row(row: Member) -> ScoreRow:
    """The score in one group."""
    return ScoreRow(
        column=row["score"].text(),
        by=row["by"].texts(),
        group=read_group(row["group"]),
        known=row["known"].flag(),
        n=row["n"].or_none(Member.count),
        mean=row["mean"].or_none(Member.number),
        deviation=row["deviation"].or_none(Member.number),
        lowest=row["lowest"].or_none(Member.number),
        highest=row["highest"].or_none(Member.number),
        median=row["median"].or_none(_read_median),
        auc=row["auc"].or_none(Member.number),
        auc_error=row["auc_error"].or_none(Member.number),
        suppressed=_is_suppressed(row),
    )


def _read_median(row: Member) -> tuple[float, float]:
    ends = row.each(Member.number)
    return (ends[0], ends[1]) if len(ends) == 2 else row.refuse("is no pair")


def write_curve(one: Curve) -> dict[str, Any]:
    """The curves of a score in one group."""
    return {
        "score": one.column,
        "by": list(one.by),
        "group": write_group(one.group),
        "known": one.known,
        "calibration": [asdict(point) for point in one.calibration],
        "thresholds": [asdict(point) for point in one.thresholds],
        **_state(suppressed=one.suppressed),
    }


def read_curve(row: Member) -> Curve:
    """The curves of a score in one group."""
    return Curve(
        column=row["score"].text(),
        by=row["by"].texts(),
        group=read_group(row["group"]),
        known=row["known"].flag(),
        calibration=row["calibration"].each(_read_calibration),
        thresholds=row["thresholds"].each(_read_threshold),
        suppressed=_is_suppressed(row),
    )


def _read_calibration(row: Member) -> Calibration:
    return Calibration(
        lowest=row["lowest"].number(),
        highest=row["highest"].number(),
        n=row["n"].count(),
        mean_score=row["mean_score"].number(),
        share=row["share"].number(),
        low=row["low"].number(),
        high=row["high"].number(),
    )


def _read_threshold(row: Member) -> Threshold:
    return Threshold(
        at=row["at"].number(),
        selected=row["selected"].number(),
        true_positive_rate=row["true_positive_rate"].or_none(Member.number),
        false_positive_rate=row["false_positive_rate"].or_none(Member.number),
    )


def _state(*, suppressed: bool) -> dict[str, Any]:
    return {"state": State.SUPPRESSED.value} if suppressed else {}


def _is_suppressed(row: Member) -> bool:
    if "state" not in row:
        return False
    if row["state"].value != State.SUPPRESSED.value:
        row["state"].refuse("is no state of a score")
    return True

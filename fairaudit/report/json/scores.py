"""Scores in each group, and their curves."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fairaudit.estimate import State
from fairaudit.report.json.values import finite, write_group
from fairaudit.result import (
    Curve,
    ScoreRow,
)


def write_score_row(row: ScoreRow) -> dict[str, Any]:
    """A score in one group."""
    return {
        "score": row.column,
        "by": list(row.by),
        "group": write_group(row.group),
        "known": row.known,
        "n": row.n,
        "mean": row.mean,
        "deviation": row.deviation,
        "lowest": finite(row.lowest),
        "highest": finite(row.highest),
        "median": None if row.median is None else [finite(one) for one in row.median],
        "auc": row.auc,
        "auc_error": row.auc_error,
        **({"state": State.SUPPRESSED.value} if row.suppressed else {}),
    }


def write_curve(one: Curve) -> dict[str, Any]:
    """The curves of a score in one group."""
    return {
        "score": one.column,
        "by": list(one.by),
        "group": write_group(one.group),
        "known": one.known,
        "calibration": [asdict(point) for point in one.calibration],
        "thresholds": [{**asdict(point), "at": finite(point.at)} for point in one.thresholds],
        **({"state": State.SUPPRESSED.value} if one.suppressed else {}),
    }

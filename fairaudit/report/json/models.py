"""Whom two models of one result treat unlike."""

from __future__ import annotations

from typing import Any

from fairaudit.metrics import Eligibility
from fairaudit.report.json.estimates import read_significance, write_significance
from fairaudit.report.json.reading import Member
from fairaudit.report.json.values import read_group, write_group
from fairaudit.result import ModelChange

_CELLS = ("both", "first_only", "second_only", "neither")


def write_model_change(one: ModelChange) -> dict[str, Any]:
    """A rate of the same people by two models; the counts are null under survey weights."""
    return {
        "metric": one.metric,
        "first": one.first,
        "second": one.second,
        "by": list(one.by),
        "given": write_group(one.stratum),
        "group": write_group(one.group),
        "standing": str(one.standing),
        "n": one.n,
        **{name: getattr(one, name) for name in _CELLS},
        "first_value": one.first_value,
        "second_value": one.second_value,
        "difference": one.difference,
        "low": one.low,
        "high": one.high,
        "significance": write_significance(one.significance),
    }


def read_model_change(row: Member) -> ModelChange:
    """The rate by both models."""
    cells = {name: row[name].or_none(Member.count) for name in _CELLS}
    return ModelChange(
        metric=row["metric"].text(),
        first=row["first"].text(),
        second=row["second"].text(),
        by=row["by"].texts(),
        stratum=read_group(row["given"]),
        group=read_group(row["group"]),
        standing=row["standing"].one_of(Eligibility),
        n=row["n"].count(),
        **cells,
        first_value=row["first_value"].number(),
        second_value=row["second_value"].number(),
        difference=row["difference"].number(),
        low=row["low"].or_none(Member.number),
        high=row["high"].or_none(Member.number),
        significance=row["significance"].or_none(read_significance),
    )

"""Short ways to ask the whole tool for evidence: people of groups, a spec, the JSON document."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

import fairaudit
from fairaudit.report import json as report_json

Rate = tuple[int, int]
Cells = tuple[int, int, int, int]
"""tp, fp, fn, tn."""
YES: dict[str, Any] = {"positive": 1, "negative": 0}
_OUTCOMES = ((1, 1), (0, 1), (1, 0), (0, 0))


def people(rates: Mapping[str, Rate]) -> pl.DataFrame:
    """A row for each group and decision: so many of so many are selected."""
    rows = [(g, p, n) for g, (x, m) in rates.items() for p, n in ((1, x), (0, m - x))]
    return pl.DataFrame(rows, ["g", "p", "n"], orient="row")


def confused(groups: Mapping[str, Cells]) -> pl.DataFrame:
    """A row for each group, label and decision."""
    rows = [
        (g, y, p, n)
        for g, cells in groups.items()
        for (y, p), n in zip(_OUTCOMES, cells, strict=True)
    ]
    return pl.DataFrame(rows, ["g", "y", "p", "n"], orient="row")


def named(rates: Sequence[Any]) -> dict[str, Any]:
    """The same by groups g000, g001 and so on."""
    return {f"g{number:03}": rate for number, rate in enumerate(rates)}


def spec(*metrics: Any, labels: bool = False, **more: Any) -> dict[str, Any]:
    """A spec on the columns above; `columns` adds to them."""
    columns: dict[str, Any] = {
        "protected": ["g"],
        "prediction": {"column": "p", **YES},
        "count": "n",
    }
    if labels:
        columns["label"] = {"column": "y", **YES}
    return {"columns": {**columns, **more.pop("columns", {})}, "metrics": list(metrics), **more}


def document(asked: Mapping[str, Any], rows: pl.DataFrame) -> dict[str, Any]:
    """The JSON document of an audit."""
    tree: dict[str, Any] = json.loads(report_json.render(fairaudit.audit(asked, rows)))
    return tree


def ends(row: Mapping[str, Any]) -> tuple[float, float]:
    """The interval of a row; infinite ends as they are meant."""
    infinite = {"infinite": float("inf"), "negative_infinite": float("-inf")}
    low, high = (infinite.get(row.get(f"{name}_state", ""), row[name]) for name in ("low", "high"))
    return low, high


def of_rates(rates: Mapping[str, Rate], *metrics: Any, **more: Any) -> list[dict[str, Any]]:
    """The checks on such rates."""
    checks: list[dict[str, Any]] = document(spec(*metrics, **more), people(rates))["checks"]
    return checks


def of_cells(groups: Mapping[str, Cells], *metrics: Any, **more: Any) -> list[dict[str, Any]]:
    """The checks on such confusion tables."""
    asked = spec(*metrics, labels=True, **more)
    checks: list[dict[str, Any]] = document(asked, confused(groups))["checks"]
    return checks

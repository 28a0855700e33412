"""A mean of two rates, each with its own groups, does not name those of one rate."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import fairaudit

_RATES = {"a": (90, 20), "b": (60, 70), "c": (50, 40)}
"""Per cent of true and of false positives: a and b are the highest, c and a the lowest."""


def _audit(entry: dict[str, Any], rates: dict[str, tuple[int, int]]) -> fairaudit.AuditResult:
    rows = [
        (g, label, int(n < rate))
        for g, both in rates.items()
        for label, rate in zip((1, 0), both, strict=True)
        for n in range(100)
    ]
    columns = {
        "protected": ["g"],
        "label": {"column": "y", "positive": 1}, "prediction": {"column": "p", "positive": 1},
    }  # fmt: skip
    data = pl.DataFrame(rows, ["g", "y", "p"], orient="row")
    return fairaudit.audit({"columns": columns, "metrics": [entry]}, data)


_TO_HIGHEST = {"metric": "average_odds_difference", "reference": "highest"}
_BEYOND = {"fail": {"outside": [-0.1, 0.1]}}


@pytest.mark.parametrize(
    ("entry", "value", "ending"),
    [
        # c: 40 - 70 and 50 - 90 points.
        ({**_TO_HIGHEST, **_BEYOND}, -0.35, "below -10 points (g=c)"),
        # b: 70 - 20 and 60 - 50 points.
        ({**_TO_HIGHEST, **_BEYOND, "reference": "lowest"}, 0.3, "above 10 points (g=b)"),
        # 90 - 50 points between a and c, and 70 - 20 between b and a.
        ({"metric": "equalized_odds_mean", "fail": {"above": 0.1}}, 0.45, "above 10 points"),
        # c: 40 - 20 and 50 - 90 points.
        ({**_TO_HIGHEST, "reference": {"g": "a"}, "fail": {"outside": [-0.05, 0.2]}}, -0.1,
         "below -5 points (g=c against g=a)"),
    ],
)  # fmt: skip
def test_a_mean_of_rates_does_not_name_the_reference_of_one(
    entry: dict[str, Any], value: float, ending: str
) -> None:
    (finding,) = (result := _audit(entry, _RATES)).findings
    assert finding.value == pytest.approx(value)
    assert finding.headline.endswith(ending)
    (row,) = (row for row in result.checks().rows(named=True) if row["status"] == "fail")
    groups = [row[name] for name in ("group", "other") if row[name]]
    assert " against ".join(groups) == ending.partition("(")[2].rstrip(")")


def test_a_mean_of_rates_names_a_reference_that_is_that_of_all() -> None:
    """A is selected most often, whatever the label: c 40 - 75 and 50 - 90 points."""
    (finding,) = _audit({**_TO_HIGHEST, **_BEYOND}, {**_RATES, "a": (90, 75)}).findings
    assert finding.value == pytest.approx(-0.375)
    assert finding.headline.endswith("(g=c against g=a)")

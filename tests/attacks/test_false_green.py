"""No gate is green by a rule of judging where the counts show a disparity."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import fairaudit
from fairaudit.judge import Finding
from fairaudit.judge.left_out import LeftOutReason
from fairaudit.result import AuditResult

_DECIDED = {"protected": ["g"], "decision": {"column": "y", "positive": "yes"}}


def _frame(*cells: tuple[str | None, str | None, str, int]) -> pl.DataFrame:
    """People by group, stratum and decision, as many of each as the last number says."""
    rows = [cell[:3] for cell in cells for _ in range(cell[3])]
    return pl.DataFrame(rows, {"g": pl.String, "d": pl.String, "y": pl.String}, orient="row")


def _audited(data: pl.DataFrame, entry: dict[str, Any], **keys: Any) -> AuditResult:
    columns = _DECIDED | keys.pop("columns", {})
    return fairaudit.audit({"version": 1, "columns": columns, "metrics": [entry], **keys}, data)


_LIMITS: dict[str, dict[str, Any]] = {
    "demographic_parity_difference": {"fail": {"above": 0.1}},
    "differential_fairness": {"fail": {"above": 0.5}},
    "total_variation": {"fail": {"above": 0.1}},
    "mutual_information": {"fail": {"above": 0.001}},
    "normalized_mutual_information": {"fail": {"above": 0.001}},
    "cramers_v": {"fail": {"above": 0.01}},
    "eta_neutrality": {"fail": {"above": 0.001}},
    "kl_divergence": {"reference": "A", "fail": {"outside": [-0.1, 0.1]}},
}


@pytest.mark.long
@pytest.mark.parametrize("metric", _LIMITS)
@pytest.mark.parametrize("rule", [{"min_size": 30}, {"min_events": 5}])
def test_a_group_of_many_people_is_large_whatever_they_weigh(
    metric: str, rule: dict[str, int]
) -> None:
    data = _frame(
        ("A", "", "yes", 700),
        ("A", "", "no", 300),
        ("B", "", "yes", 100),
        ("B", "", "no", 900),
        ("C", "", "yes", 350),
        ("C", "", "no", 150),
    )
    for weight in (0.0, 0.01):
        weighted = data.with_columns(w=pl.when(pl.col("g") == "B").then(weight).otherwise(1.0))
        entry = {"metric": metric, **_LIMITS[metric]}
        result = _audited(weighted, entry, columns={"weight": "w"}, groups=rule)
        assert result.exit_code, (metric, rule, weight)
        assert not result.findings[0].not_evaluated or not weight


_UNEQUAL = (
    ("A", "1", "yes", 450),
    ("A", "1", "no", 50),
    ("B", "2", "yes", 50),
    ("B", "2", "no", 450),
)
_EQUAL = tuple((group, "3", decision, 10) for group in "AB" for decision in ("yes", "no"))
_GIVEN: list[dict[str, Any]] = [
    {"metric": "demographic_parity_difference", "given": "d", "fail": {"above": 0.1}},
    {"metric": "impact_ratio", "given": "d", "fail": {"below": 0.8}},
    {"metric": "differential_fairness", "given": "d", "fail": {"above": 0.5}},
    {"metric": "total_variation", "given": "d", "fail": {"above": 0.1}},
]
_ADJUSTED: list[dict[str, Any]] = [
    {"metric": "impact_ratio", "given": "d", "average": "pooled", "fail": {"below": 0.8}},
    {
        "metric": "regression_slope",
        "reference": "A",
        "controls": ["d"],
        "fail": {"outside": [-0.1, 0.1]},
    },
]


def _share_in_strata(finding: Finding) -> float:
    """The share of the people who stand in strata that nothing is judged in."""
    assert finding.left_out is not None
    (part,) = finding.left_out.reasons
    assert part.reason in {LeftOutReason.STRATUM, LeftOutReason.UNKNOWN_STRATUM}
    return float(finding.left_out.find_share())


@pytest.mark.parametrize("entry", [*_GIVEN, *_ADJUSTED])
def test_a_few_people_in_one_stratum_do_not_pass_for_all(entry: dict[str, Any]) -> None:
    data = _frame(*_UNEQUAL, *_EQUAL)
    result = _audited(data, entry, columns={"strata": ["d"]})
    assert result.exit_code == 3
    assert _share_in_strata(result.findings[0]) > 0.5


@pytest.mark.parametrize("entry", [*_GIVEN, *_ADJUSTED])
def test_a_few_people_of_a_known_stratum_do_not_pass_for_all(entry: dict[str, Any]) -> None:
    data = _frame(*((group, None, decision, n) for group, _, decision, n in _UNEQUAL), *_EQUAL)
    result = _audited(data, entry, columns={"strata": ["d"]})
    assert result.exit_code == 3
    assert _share_in_strata(result.findings[0]) == pytest.approx(1000 / 1040)


@pytest.mark.parametrize("entry", [*_GIVEN, *_ADJUSTED])
def test_most_people_are_enough_to_pass(entry: dict[str, Any]) -> None:
    few = ((*cell[:3], cell[3] // 50) for cell in _UNEQUAL)
    unknown = ((cell[0], None, cell[2], 9) for cell in (_EQUAL[0], _EQUAL[-1]))
    data = _frame(*few, *_EQUAL, *unknown)
    assert _audited(data, entry, columns={"strata": ["d"]}).verdict == "pass"


def test_controls_that_determine_the_decision_leave_no_gap_to_find() -> None:
    data = _frame(
        ("A", "high", "yes", 450),
        ("A", "low", "no", 50),
        ("B", "high", "yes", 50),
        ("B", "low", "no", 450),
    )
    result = _audited(data, _ADJUSTED[1], columns={"strata": ["d"]})
    assert result.exit_code == 3
    assert "the strata determine the decision" in result.findings[0].why


@pytest.mark.parametrize("undefined", ["fail", "warn", "skip"])
def test_what_is_in_doubt_is_not_undefined(undefined: str) -> None:
    gap = {"metric": "demographic_parity_difference", "fail": {"above": 0.1}}
    both = [(group, "", decision, 500) for group in "AB" for decision in ("yes", "no")]
    dropped = {"decision": {"column": "y", "positive": "yes", "negative": "no", "others": "drop"}}
    denied = _frame(*both, ("B", "", "denied", 800))
    results = [
        _audited(denied, gap, columns=dropped, undefined=undefined),
        _audited(
            _frame(*_UNEQUAL, *_EQUAL), _GIVEN[0], columns={"strata": ["d"]}, undefined=undefined
        ),
    ]
    assert [one.findings[0].status for one in results] == ["inconclusive"] * 2
    assert all(one.exit_code for one in results)


@pytest.mark.parametrize("form", ["frame", "csv", "parquet"])
@pytest.mark.parametrize("route", ["", "lazy"])
@pytest.mark.parametrize("name", ["*", "^fair$"])
def test_a_column_is_not_read_in_place_of_one_whose_name_is_a_pattern(
    name: str, route: str, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Polars read `fair` as `^fair$`: nobody of B is selected, and the check passed."""
    monkeypatch.setenv("FAIRAUDIT_ROUTE", route)
    columns = {"g": ["A", "B"] * 100, name: ["1", "0"] * 100, "fair": ["1", "1", "0", "0"] * 50}
    data: Any = pl.DataFrame(columns)
    if form != "frame":
        path = tmp_path / f"d.{form}"
        data.write_csv(path) if form == "csv" else data.write_parquet(path)
        data = path
    spec = {
        "columns": {"protected": ["g"], "decision": {"column": name, "positive": "1"}},
        "metrics": [{"metric": "demographic_parity_difference", "fail": {"above": 0.1}}],
    }
    with pytest.raises(fairaudit.FairauditError, match="stand for other columns"):
        fairaudit.audit(spec, data)

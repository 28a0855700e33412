"""Presets write out their measures, and fair ranges mark values without judging them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import polars as pl
import pytest

import fairaudit
from fairaudit.base.errors import SpecError
from fairaudit.cli import run_line
from fairaudit.metrics import find_metric
from fairaudit.metrics.other_names import FAIR_RANGES, PRESETS
from fairaudit.report import content, terminal
from fairaudit.result import AuditResult

LABEL = {"label": {"column": "y", "positive": "1"}}
MODELS = {
    "models": {
        "old": {"prediction": {"column": "p", "positive": "1"}, "score": "s"},
        "new": {"prediction": {"column": "q", "positive": "1"}},
    }
}


def people(cells: dict[str, tuple[int, int]]) -> pl.DataFrame:
    """Groups of so many selected and not; the model q selects everybody's other half."""
    rows = [
        (group, at % 2, at < selected, at % 2, at / 10, "xy"[at % 2])
        for group, (selected, rejected) in cells.items()
        for at in range(selected + rejected)
    ]
    frame = pl.DataFrame(rows, ["g", "y", "p", "q", "s", "z"], orient="row")
    return frame.with_columns(pl.col("p").cast(pl.Int64))


PEOPLE = people({"a": (6, 4), "b": (3, 7)})


def audit(
    metrics: Any, columns: dict[str, Any], data: pl.DataFrame = PEOPLE, **more: Any
) -> AuditResult:
    protected = {"protected": {"g": {"reference": "a"}}}
    return fairaudit.audit({"columns": {**protected, **columns}, "metrics": metrics, **more}, data)


def found(result: AuditResult) -> list[tuple[str, str]]:
    return list(dict.fromkeys((row.metric, row.of) for row in result.comparisons))


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_a_preset_names_measures_that_are_here_and_no_measure_itself(preset: Any) -> None:
    assert find_metric(preset.name) is None
    assert all(find_metric(name) is not None for name in preset.metrics)
    assert len(set(preset.metrics)) == len(preset.metrics)


def test_a_preset_is_of_every_model_and_tells_what_the_data_lack() -> None:
    result = audit("survey", MODELS)
    assert found(result) == [
        ("normalized_difference", "old"),
        ("normalized_difference", "new"),
        ("mean_difference", "old"),
        ("mean_difference", "new"),
        ("between_group_auc_score", "old"),
    ]
    (told,) = (text for text in result.notices if text.startswith("the preset survey"))
    assert "the data has no columns for 'unexplained_difference'. From " in told
    page = terminal.render(content.document(result))
    assert "adds 3 measures without a limit, such as 'normalized_difference'" in " ".join(
        page.split()
    )


def test_without_a_declared_reference_groups_are_compared_with_the_largest() -> None:
    data = people({"a": (6, 4), "b": (3, 17)})
    decision = {"column": "p", "positive": "1"}
    spec = {"columns": {"protected": ["g"], "decision": decision}, "metrics": "survey"}
    rows = fairaudit.audit(spec, data).comparisons
    (row,) = (row for row in rows if row.metric == "mean_difference")
    assert (dict(row.group or ()), row.reference) == ({"g": "a"}, "largest")
    assert row.estimate.value == pytest.approx(3 / 20 - 6 / 10)


def test_within_declared_segments_the_survey_tells_what_they_do_not_explain() -> None:
    columns = {"strata": ["z"], "decision": {"column": "p", "positive": "1"}}
    names = {row.metric for row in audit("survey", columns).comparisons}
    assert names == {"normalized_difference", "mean_difference", "unexplained_difference"}


def test_numbers_have_the_measures_of_numbers() -> None:
    numbers = {
        "label": {"column": "y", "number": True},
        "prediction": {"column": "s", "number": True},
    }
    result = audit(["fairmlhealth", "survey"], numbers)
    assert {metric for metric, _ in found(result)} == {
        "mean_prediction_ratio",
        "mean_prediction_difference",
        "mae_ratio",
        "mae_difference",
        "mean_difference_of_numbers",
    }


def test_a_limit_of_a_preset_is_on_its_first_measure() -> None:
    entry = {"metric": "survey", "of": "old", "fail": {"outside": ["-0.1", "0.1"]}}
    (finding,) = audit(entry, MODELS).findings
    assert finding.check.id.startswith("normalized_difference/g")
    assert finding.status == "fail"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            {"metric": "survey", "smoothing": "1"},
            "a preset cannot have `smoothing`: replace survey",
        ),
        ({"metric": "survey", "of": "odl"}, "unknown outcome: 'odl'; did you mean 'old'?"),
        ({"metric": "survy"}, "unknown metric 'survy'"),
        ({"metric": "fairmlhealth", "fail": {"below": "2"}}, "perfect equality (1) would cross"),
    ],
)
def test_what_a_preset_does_not_take_is_a_fault(entry: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError) as error:
        audit([entry], {**LABEL, **MODELS})
    assert message in str(error.value)


def test_a_limit_on_what_the_data_lack_is_a_fault_and_no_pass() -> None:
    entry = {"metric": "survey", "fail": {"above": "0.1"}}
    with pytest.raises(
        SpecError, match="applies to normalized_difference, but the spec lacks its columns"
    ):
        audit([entry], {"prediction": {"column": "s", "number": True}})


def flags(result: AuditResult) -> dict[tuple[str, str], str | None]:
    return {(row.metric, row.of): row.flag for row in result.comparisons}


def by_hand(metric: str, value: Fraction) -> str | None:
    low, high = (Fraction(8, 10), Fraction(12, 10)) if "ratio" in metric else (
        Fraction(-1, 10), Fraction(1, 10)
    )  # fmt: skip
    return "below" if value < low else "above" if value > high else None


@pytest.mark.parametrize("selected", range(0, 61, 4))
def test_flags_are_exact_at_the_ends_of_the_range(selected: int) -> None:
    """48 of 60 beside 60 of 60 is a ratio of 0.8, and no float is asked."""
    data = people({"a": (50, 10), "b": (selected, 60 - selected)})
    metrics = ["disparate_impact_ratio", "statistical_parity_difference"]
    columns = {"decision": {"column": "p", "positive": "1"}}
    result = audit(metrics, columns, data, flags="fairmlhealth")
    theirs, ours = Fraction(50, 60), Fraction(selected, 60)
    values = {metrics[0]: ours / theirs, metrics[1]: ours - theirs}
    for (metric, _), flag in flags(result).items():
        assert (flag or "").partition(" ")[0] == (by_hand(metric, values[metric]) or ""), metric


def test_flags_change_no_verdict_and_no_number() -> None:
    metrics = [{"metric": "disparate_impact_ratio", "fail": {"below": "0.4"}}]
    columns = {"decision": {"column": "p", "positive": "1"}}
    plain = audit(metrics, columns)
    marked = audit(metrics, columns, flags="fairmlhealth")
    assert set(flags(plain).values()) == {None}
    assert set(flags(marked).values()) == {"below 0.8"}
    assert (plain.verdict, plain.findings) == (marked.verdict, marked.findings)
    assert [row.estimate for row in plain.comparisons] == [
        row.estimate for row in marked.comparisons
    ]


def test_what_is_undefined_or_without_bounds_has_no_flag() -> None:
    nobody = people({"a": (0, 10), "b": (0, 10)})
    columns = {"decision": {"column": "p", "positive": "1", "negative": "0"}}
    ranges = "fairmlhealth"
    (row,) = audit("disparate_impact_ratio", columns, nobody, flags=ranges).comparisons
    assert (str(row.estimate.state), row.flag) == ("undefined", None)
    numbers = {"prediction": {"column": "s", "number": True}}
    result = audit("mean_prediction_difference", numbers, flags=ranges)
    assert set(flags(result).values()) == {None}
    infinite = people({"a": (0, 10), "b": (4, 6)})
    (row,) = audit("disparate_impact_ratio", columns, infinite, flags=ranges).comparisons
    assert row.flag == "above 1.2"


def test_a_hidden_value_has_no_flag() -> None:
    columns = {"decision": {"column": "p", "positive": "1"}}
    data = people({"a": (400, 100), "b": (30, 470), "c": (3, 200)})
    metric, ranges = "demographic_parity_ratio", "fairmlhealth"
    (row,) = audit(metric, columns, data, flags=ranges).comparisons
    assert row.flag == "below 0.8"
    (row,) = audit(metric, columns, data, flags=ranges, suppress_below="11").comparisons
    assert (str(row.estimate.state), row.flag) == ("suppressed", None)


def test_the_page_marks_and_says_what_a_mark_is() -> None:
    result = audit("fairmlhealth", {**LABEL, **MODELS}, flags="fairmlhealth")
    text = terminal.render(content.document(result))
    assert "Groups and fair ranges" in text
    assert "0.5000 !" in text
    assert "mark is not a limit and" in " ".join(text.split())
    assert FAIR_RANGES[0].name == "fairmlhealth"


def test_one_group_alone_is_compared_with_nobody_and_no_table_is_empty() -> None:
    columns = {"decision": {"column": "p", "positive": "1"}}
    alone = people({"a": (6, 4)})
    entry = {"metric": "survey", "fail": {"above": "0.1"}}
    result = audit([entry, "fairmlhealth"], columns, alone, flags="fairmlhealth")
    assert result.verdict == "inconclusive"
    assert not any(row.flag for row in result.comparisons)


def test_a_label_is_no_model_beside_a_decision() -> None:
    columns = {**LABEL, "decision": {"column": "p", "positive": "1"}}
    both = [{"metric": "demographic_parity_ratio", "of": of} for of in ("decision", "label")]
    assert "Comparison of the models" not in terminal.render(content.document(audit(both, columns)))
    models = [{"metric": "demographic_parity_ratio", "of": of} for of in ("old", "new", "label")]
    text = terminal.render(content.document(audit(models, {**LABEL, **MODELS})))
    (head,) = (line for line in text.splitlines() if line.startswith("measure "))
    assert head.split() == ["measure", "old", "new"]


def test_explain_tells_a_preset(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_line(["explain", "survey"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "normalized_difference, mean_difference" in told
    assert "Žliobaitė" in told

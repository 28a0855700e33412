"""Several models in one pass: each answers as if it were the only prediction."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import comparison_of

import fairaudit
from fairaudit import spec as specs
from fairaudit.base.errors import DataError, SpecError
from fairaudit.report.asked_comparisons import models
from fairaudit.report.blocks import Table
from fairaudit.report.check_page import steps
from fairaudit.report.diagnostics import by_label, diagnose
from fairaudit.result import AuditResult
from fairaudit.spec import OutcomeKind

Audit = Callable[..., AuditResult]

METRICS: list[Any] = [
    "selection_rate",
    {"metric": "equalized_odds_difference", "fail": {"above": 0.1}},
    "differential_fairness",
]


def people(rows: int = 400) -> pl.DataFrame:
    """Rows with two predictions, of which some are missing, and two scores."""
    rng = np.random.default_rng(5)
    frame = pl.DataFrame(
        {
            "race": rng.choice(["a", "b", "c"], rows),
            "sex": rng.choice(["f", "m"], rows),
            "y": rng.integers(0, 2, rows),
            "old": rng.choice(["yes", "no"], rows, p=[0.3, 0.7]),
            "s1": rng.random(rows),
            "s2": rng.random(rows),
        }
    )
    some = pl.Series(rng.random(rows) < 0.1)
    return frame.with_columns(
        old=pl.when(~some).then("old"), s2=pl.when(~some.reverse()).then("s2")
    )


OLD = {"prediction": {"column": "old", "positive": "yes"}, "score": "s1"}
NEW = {"prediction": {"column": "s2", "positive": {"at_least": "0.4"}}, "score": "s2"}


def spec(**columns: Any) -> dict[str, Any]:
    """A spec with these predictions."""
    return {
        "columns": {
            "protected": ["race", "sex"],
            "label": {"column": "y", "positive": 1},
            **columns,
        },
        "missing": {"prediction": "aside", "score": "aside"},
        "metrics": METRICS,
    }


def both(metrics: list[Any]) -> list[Any]:
    """The metrics, asked of each model."""
    named = [one if isinstance(one, dict) else {"metric": one} for one in metrics]
    return [{**one, "of": of} for of in ("old", "new") for one in named]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["csv", "parquet", "frame"])
def test_each_model_answers_as_if_it_were_the_only_one(tmp_path: Path, kind: str) -> None:
    frame = people()
    data: Any = frame if kind == "frame" else tmp_path / f"rows.{kind}"
    if kind == "csv":
        frame.write_csv(data)
    elif kind == "parquet":
        frame.write_parquet(data)
    models = spec(models={"old": OLD, "new": NEW})
    together = fairaudit.audit({**models, "metrics": both(METRICS)}, data)
    for name, one in (("old", OLD), ("new", NEW)):
        alone = fairaudit.audit(spec(**one), data)
        mine = [row for row in together.rates if row.of == name]
        assert [(row.group, row.estimate) for row in mine] == [
            (row.group, row.estimate) for row in alone.rates
        ]
        values = [row.estimate for row in together.comparisons if row.of == name]
        assert values == [row.estimate for row in alone.comparisons]
        scores = [row for row in together.scores if row.column == one["score"]]
        assert [(row.group, row.n, row.mean, row.auc) for row in scores] == [
            (row.group, row.n, row.mean, row.auc) for row in alone.scores
        ]
    findings = [(one.check.of, one.status) for one in together.findings if hasattr(one.check, "of")]
    assert {of for of, _ in findings} == {"old", "new"}


def test_the_first_model_is_the_default_outcome(audit_csv: Audit) -> None:
    text = people().write_csv()
    result = audit_csv(text, spec(models={"new": NEW, "old": OLD}))
    assert {row.of for row in result.rates} == {"new"}
    assert comparison_of(result, "equalized_odds_difference", "race").of == "new"


@pytest.mark.long
def test_missing_predictions_of_every_model_are_told(audit_csv: Audit) -> None:
    text = people().write_csv()
    models = spec(models={"old": OLD, "new": NEW})
    missing = people().null_count().row(0, named=True)
    aside = {line.column: line.rows for line in audit_csv(text, models).ledger.set_aside}
    assert aside == {"old": missing["old"], "s2": missing["s2"]}
    dropped = audit_csv(text, {**models, "missing": {"prediction": "drop", "score": "aside"}})
    assert {line.column for line in dropped.ledger.dropped} == {"old", "s2"}
    with pytest.raises(DataError, match="no value in the prediction 'old'"):
        audit_csv(text, {**models, "missing": {"score": "aside"}})
    with pytest.raises(DataError, match="no value in the score 's2'"):
        audit_csv(text, {**models, "missing": {"prediction": "aside"}})


@pytest.mark.long
def test_specs_with_models_share_a_pass(tmp_path: Path) -> None:
    people().write_csv(tmp_path / "rows.csv")
    each = [spec(models={"old": OLD, "new": NEW}), spec(**OLD), spec(models={"new": NEW})]
    together = fairaudit.audit_together(each, tmp_path / "rows.csv")
    for one, found in zip(each, together, strict=True):
        assert isinstance(found, AuditResult)
        assert found.comparisons == fairaudit.audit(one, tmp_path / "rows.csv").comparisons


def test_a_score_alone_is_an_outcome_without_classes() -> None:
    (only,) = specs.of_mapping({**spec(score="s1"), "metrics": ["base_rate"]}).predictions
    assert (only.name, only.kind, only.has_classes) == ("score", OutcomeKind.SCORE, False)
    asked = specs.of_mapping({**spec(score="s1"), "metrics": ["selection_rate"]}).requests
    assert [one.of for one in asked] == ["label"]
    with pytest.raises(SpecError, match="selection_rate needs classes, and score has only a sc"):
        specs.of_mapping({**spec(score="s1"), "metrics": [{"metric": METRICS[0], "of": "score"}]})


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"models": {"old": OLD}, "score": "s1"}, "`models` replaces `score`"),
        ({"models": {"old": OLD}, **OLD}, "`models` replaces `prediction`"),
        ({"models": {"race": OLD}}, "'race' is already the name of a protected column"),
        ({"models": {"label": OLD}}, "'label' is a reserved word"),
        ({"models": {"old": {}}}, "a model needs a prediction, a score, or both"),
        ({"models": {"old": OLD}, "numbers": {"old": "s2"}}, "'old' is the name of"),
        ({"models": {"old": {"predictoin": "x"}}}, "did you mean 'prediction'"),
    ],
)
def test_models_that_cannot_be_are_faults(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        specs.of_mapping(spec(**columns))


@pytest.mark.long
def test_a_model_that_no_limit_looks_at_is_named() -> None:
    def noticed(*metrics: dict[str, Any]) -> list[str]:
        asked = spec(models={"current": OLD, "candidate": NEW})
        result = fairaudit.audit({**asked, "metrics": list(metrics)}, people())
        return [one for one in result.notices if one.startswith("no limit judges the decisions of")]

    gate = {"metric": "demographic_parity_difference", "fail": {"above": 0.5}}
    beside = {"metric": "differential_fairness", "of": "candidate", "against": "current"}
    word = "no limit judges the decisions of candidate alone: add a limit on decisions with"
    for metrics in ([gate], [gate, {**beside, "fail": {"above": 2}}]):
        (one,) = noticed(*metrics)
        assert one.startswith(word)
    assert noticed(gate, {**gate, "of": "candidate"}) == []
    assert noticed({"metric": "selection_rate"}) == []


def two_models(*entries: dict[str, Any], label: str = "1") -> AuditResult:
    """Of 20 people each with the label: women 10 by a and 16 by b, men 15 by both."""
    sizes = {
        "F": {("1", "1"): 10, ("0", "1"): 6, ("0", "0"): 4},
        "M": {("1", "1"): 15, ("0", "0"): 5},
    }
    rows = [(sex, "1", *said, n) for sex, of_sex in sizes.items() for said, n in of_sex.items()]
    rows += [(sex, "0", "0", "0", 10) for sex in sizes] + [("F", label, "1", "0", 2)]
    frame = pl.DataFrame(rows, ["sex", "y", "a", "b", "n"], orient="row")
    yes = {"positive": "1", "negative": "0"}
    columns = {
        "protected": {"sex": {"reference": "M"}}, "count": "n", "label": {"column": "y", **yes},
        "models": {name: {"prediction": {"column": name, **yes}} for name in "ab"},
    }  # fmt: skip
    spec = {"columns": columns, "missing": {"label": "aside"}, "metrics": [*entries]}
    return fairaudit.audit(spec, frame)


def test_each_side_of_two_models_says_which_it_is_of() -> None:
    entry = {"metric": "equal_opportunity_difference", "of": "a", "against": "b"}
    result = two_models({**entry, "fail": {"above": 0.02}})
    ((row,), (finding,)) = result.comparisons, result.findings
    assert [part.of for part in row.parts] == ["a", "b"]
    (text,) = [text for label, text in by_label(diagnose(result)[0].lines) if label == "who"]
    titles = [line.rpartition("  ")[2] for line in text.splitlines()]
    assert titles == [f"true positive rate of {model}" for model in "aabb"]
    assert any("of b, sex=F" in line for line in steps(result, finding))


def test_people_without_a_label_are_not_called_of_unknown_group() -> None:
    entry = {"metric": "equal_opportunity_difference", "of": "a", "fail": {"above": 0.02}}
    (told,) = diagnose(two_models(entry, label=""))
    assert told.finding.missing is not None
    assert (told.finding.missing.missing_outcome, told.finding.missing.missing_group) == (2, 0)
    assert "unknown group" not in told.sentence


def test_the_lowest_amplification_is_marked_as_the_best() -> None:
    """A repeats the label, Δε = 0; b halves its gap, Δε < 0; c widens it."""
    rows = {"y": (0.9, 0.3), "a": (0.9, 0.3), "b": (0.6, 0.5), "c": (0.95, 0.3)}
    people = [(sex, *(int(i < 100 * rows[name][at]) for name in "yabc"))
              for at, sex in enumerate("MF") for i in range(100)]  # fmt: skip
    frame = pl.DataFrame(people, ["sex", *"yabc"], orient="row")
    yes = {"positive": 1, "negative": 0}
    columns = {
        "protected": ["sex"], "label": {"column": "y", **yes},
        "models": {name: {"prediction": {"column": name, **yes}} for name in "abc"},
    }  # fmt: skip
    entries = [{"metric": "bias_amplification", "of": model} for model in "abc"]
    result = fairaudit.audit({"columns": columns, "metrics": entries}, frame)
    (table,) = [block for block in models(result, None) if isinstance(block, Table)]
    cells = dict(zip(table.header, (cell.text for cell in table.rows[0]), strict=True))
    assert [name for name, text in cells.items() if "‹" in text] == ["b"]
    assert cells["b"].startswith("-")

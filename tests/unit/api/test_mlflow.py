"""An audit in MLflow: tried against a local tracking store, a database and files beside it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from servers import need_package

import fairaudit
from fairaudit.api.mlflow import log_to_mlflow, name_keys
from fairaudit.base.errors import UsageError

# Selected are 30 of 50 women and 45 of 50 men: the ratio is 2/3. Nobody is of a third race.
ROWS = {
    "sex": ["f"] * 50 + ["m"] * 50,
    "race": ["x", "y"] * 50,
    "d": [1] * 30 + [0] * 20 + [1] * 45 + [0] * 5,
}
SPEC: dict[str, Any] = {
    "columns": {"protected": ["sex", "race"], "decision": {"column": "d", "positive": 1}},
    "groups": {"min_size": 5},
    "metrics": [
        {"metric": "impact_ratio", "by": ["sex"], "fail": "< 0.8"},
        {"metric": "impact_ratio", "by": [["sex", "race"]], "fail": "< 0.1"},
        {"metric": "selection_rate", "by": ["sex"], "fail": {"below": 0.1}},
    ],
}
TOO_FEW = {**SPEC, "groups": {"min_size": 51}}


@pytest.fixture
def mlflow(tmp_path: Path) -> Iterator[Any]:
    """MLflow, which keeps its runs in this folder."""
    for package in ("mlflow", "sqlalchemy", "alembic"):  # the last two keep local runs
        need_package(package)
    module = import_module("mlflow")
    module.set_tracking_uri(f"sqlite:///{tmp_path / 'runs.db'}")
    module.create_experiment("audits", artifact_location=str(tmp_path / "artifacts"))
    module.set_experiment("audits")
    yield module
    module.end_run()


def logged(mlflow: Any, run: Any) -> tuple[dict[str, float], dict[str, str]]:
    """The metrics of a run, and its tags but for MLflow's own."""
    data = mlflow.get_run(run.info.run_id).data
    tags = {key: text for key, text in data.tags.items() if not key.startswith("mlflow.")}
    return data.metrics, tags


@pytest.mark.filterwarnings("default")  # of MLflow and what it loads
def test_a_run_has_the_reports_values_and_statuses(mlflow: Any) -> None:
    result = fairaudit.audit(SPEC, ROWS)
    with mlflow.start_run() as run:
        fairaudit.log_to_mlflow(result)
    metrics, tags = logged(mlflow, run)
    # The least of the intersections is 15 of 25 over 23 of 25 (men of race x: 23 of 25).
    assert metrics == {
        "fairaudit/impact_ratio/sex/decision": pytest.approx(30 / 45),
        "fairaudit/impact_ratio/sex_race/decision": pytest.approx(15 / 23),
        "fairaudit/selection_rate/sex/decision": pytest.approx(30 / 50),
    }
    statuses = {key: text for key, text in tags.items() if key.startswith("fairaudit/")}
    assert statuses == {
        "fairaudit/impact_ratio/sex/decision": "fail",
        "fairaudit/impact_ratio/sex_race/decision": "pass",
        "fairaudit/selection_rate/sex/decision": "pass",
    }
    assert tags["fairaudit.verdict"] == "fail"
    assert tags["fairaudit.version"] == fairaudit.__version__
    uri = f"runs:/{run.info.run_id}/fairaudit"
    report = mlflow.artifacts.load_text(f"{uri}/report.json")
    assert fairaudit.load(report).to_dict() == result.to_dict()
    assert mlflow.artifacts.load_text(f"{uri}/report.html").startswith("<!DOCTYPE html>")


@pytest.mark.filterwarnings("default")  # the same
def test_two_audits_of_a_run_and_checks_without_a_value(mlflow: Any) -> None:
    with mlflow.start_run() as run:
        log_to_mlflow(fairaudit.audit(SPEC, ROWS), "current")
        log_to_mlflow(fairaudit.audit(TOO_FEW, ROWS), "candidate")
    metrics, tags = logged(mlflow, run)
    assert {key.split("/")[0] for key in metrics} == {"current"}
    assert tags["candidate/impact_ratio/sex/decision"] == "inconclusive"
    assert (tags["current.verdict"], tags["candidate.verdict"]) == ("fail", "inconclusive")


@pytest.mark.filterwarnings("default")  # the same
def test_more_checks_than_mlflow_takes_at_a_time(mlflow: Any) -> None:
    many = [
        {"metric": "impact_ratio", "by": ["sex"], "fail": "< 0.1", "id": f"n{number}"}
        for number in range(205)
    ]
    with mlflow.start_run() as run:
        log_to_mlflow(fairaudit.audit({**SPEC, "metrics": many}, ROWS))
    metrics, tags = logged(mlflow, run)
    assert len(metrics) == 205
    assert sum(text == "pass" for text in tags.values()) == 206  # and the verdict


def test_no_two_checks_have_one_key() -> None:
    ids = ["r/a+b/d", "r/a_b/d", "r/a=b/d", "x" * 300, "x" * 301, "r/../d", "r//d", "é/ü", "a\nb"]
    keys = [*name_keys(ids, "ours").values()]
    assert keys[0] == "ours/r/a_b/d"
    assert keys[5:] == ["ours/r/_/d", keys[6], "ours/é/ü", "ours/a_b"]
    assert len({*keys}) == len(ids)
    assert max(map(len, keys)) == 250


def test_without_mlflow_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(UsageError, match="MLflow is not installed") as caught:
        log_to_mlflow(fairaudit.audit(SPEC, ROWS))
    assert caught.value.hint == "pip install 'fairaudit-cli[mlflow]'"
    with pytest.raises(UsageError, match="the logged object must be a result, not a dict"):
        log_to_mlflow({})  # type: ignore[arg-type]  # what a caller may try

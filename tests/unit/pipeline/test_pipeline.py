"""The seams of the journey: any engine may count, and counts alone give the result."""

from __future__ import annotations

import pickle
import shutil
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import SAMPLES, SPECS
from plain_engine import PlainEngine

from fairaudit import audit, audit_each, audit_together
from fairaudit.base import memory
from fairaudit.base.errors import DataError, OutOfMemory, UsageError
from fairaudit.pipeline import batch
from fairaudit.pipeline.audit_task import AuditTask
from fairaudit.pipeline.stages import answer, audit_counts, count
from fairaudit.report import json as report_json
from fairaudit.result import AuditResult

LOANS = SAMPLES / "loans.csv"
CUT: dict[str, Any] = {
    "columns": {
        "protected": {"gender": {}, "age": {"quantiles": 3}},
        "label": {"column": "repaid", "positive": "yes"},
        "prediction": {"column": "score", "positive": {"top": "25%"}},
    },
    "groups": {"by": "each"},
    "metrics": [
        {
            "metric": "selection_rate",
            "compare": "difference",
            "reference": "rest",
            "fail": {"above": 0.1},
        }
    ],
}


def document(result: AuditResult | Exception, **changed: Any) -> dict[str, Any]:
    """What a result says, but for the engine's way to its counts."""
    assert isinstance(result, AuditResult), result
    tree = report_json.document(result)
    return {**tree, "provenance": {**tree["provenance"], **changed}}


def alike(result: AuditResult | Exception) -> dict[str, Any]:
    return document(result, route=None)


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    ["berkeley_admissions", "kidney_admissions", "titanic", "florida_1987", "fairlearn_page"],
)
def test_another_engine_gives_the_same_report(name: str) -> None:
    spec = SPECS / f"{name}.yaml"
    result = audit(spec, engine=PlainEngine())
    assert result.provenance.route == "plain Python"
    assert alike(result) == alike(audit(spec))


@pytest.mark.long
def test_another_engine_serves_every_call_and_finds_quantiles(tmp_path: Path) -> None:
    engine = PlainEngine()
    rows = tmp_path / "rows.csv"
    rows.write_text("".join(LOANS.read_text().splitlines(keepends=True)[:2_000]))
    files = tmp_path / "files"
    files.mkdir()
    for name in ("a", "b"):
        shutil.copy(rows, files / f"{name}.csv")
    plain = audit_each(CUT, files, engine=engine)
    real = audit_each(CUT, files)
    assert [*plain] == [*real]
    assert [alike(plain[name]) for name in plain] == [alike(real[name]) for name in real]
    together = audit_together([CUT, SPECS / "loans.yaml"], rows, engine=engine)
    assert alike(together[0]) == alike(audit(CUT, rows))
    with pytest.raises(UsageError, match="reads files"):
        audit(CUT, pl.read_csv(rows), engine=engine)


@pytest.mark.long
@pytest.mark.parametrize(
    ("spec", "data"),
    [
        (SPECS / "adult_counts.yaml", SAMPLES / "adult_counts.csv"),
        (SPECS / "loans_score.yaml", LOANS),
        (SPECS / "loans_subgroups.yaml", LOANS),
        (CUT, LOANS),
    ],
    ids=["cells", "scores", "subgroups", "quantiles"],
)
def test_stored_counts_give_the_report_without_the_data(
    spec: Any, data: Path, tmp_path: Path
) -> None:
    path = tmp_path / "data.csv"
    shutil.copy(data, path)
    expected = document(audit(spec, path))
    stored = pickle.dumps(count(AuditTask.read(spec), path))
    path.unlink()
    task = AuditTask.read(spec)
    assert document(audit_counts(task, pickle.loads(stored))) == expected  # noqa: S301  # our own


@pytest.mark.long
def test_stored_counts_of_two_months_are_those_of_both(tmp_path: Path) -> None:
    spec = SPECS / "loans.yaml"
    rows = pl.read_csv(LOANS, infer_schema=False)
    rows[:500].write_csv(tmp_path / "1.csv")
    rows[500:].write_csv(tmp_path / "2.csv")
    expected = document(audit(spec, tmp_path))
    task = AuditTask.read(spec)
    months = [count(task, tmp_path / f"{month}.csv") for month in (1, 2)]
    shutil.rmtree(tmp_path)
    assert document(audit_counts(task, months[0] + months[1])) == expected


def test_counts_for_another_spec_are_refused() -> None:
    counts = count(AuditTask.read(SPECS / "loans.yaml"), LOANS)
    audit_counts(AuditTask.read(SPECS / "loans.yaml"), counts)
    for other in (CUT, SPECS / "loans_score.yaml", SPECS / "titanic.yaml"):
        with pytest.raises(
            UsageError, match=("the counts file does not contain what the spec needs")
        ):
            audit_counts(AuditTask.read(other), counts)


def test_a_frame_is_counted_like_a_file() -> None:
    task = AuditTask.read(CUT)
    result = document(audit_counts(task, count(task, pl.read_csv(LOANS))))
    expected = document(audit(CUT, LOANS))
    assert {name for name in result if result[name] != expected[name]} == {"provenance"}


@pytest.mark.long
def test_stored_counts_are_answered_by_a_result_or_an_error_and_raise_nothing() -> None:
    task = AuditTask.read(SPECS / "loans.yaml")
    counts = count(task, LOANS)
    assert document(answer(task, counts)) == document(audit_counts(task, counts))
    assert isinstance(answer(AuditTask.read(SPECS / "titanic.yaml"), counts), UsageError)
    error = DataError("no rows are left to audit")
    assert answer(task, error) is error
    assert answer(task, error, lambda error: DataError(f"row 3: {error}")) is not error


@pytest.mark.long
@pytest.mark.parametrize("specs", [["loans"], ["loans", "titanic"]])
def test_a_batch_is_counted_by_the_engine_that_is_chosen(specs: list[str]) -> None:
    paths = [SPECS / f"{name}.yaml" for name in specs]
    for one in batch.answer(paths, None, engine=PlainEngine()):
        assert isinstance(one.result, AuditResult)
        assert one.result.provenance.route == "plain Python"


def test_no_stage_after_the_counts_opens_a_file(tmp_path: Path) -> None:
    """The data and the draws of a posterior are gone by then."""
    for folder, name in (
        (SPECS, "loans_theta.yaml"),
        (SAMPLES, "loans.csv"),
        (SAMPLES, "loans_theta.csv"),
    ):
        (tmp_path / folder.name).mkdir(exist_ok=True)
        shutil.copy(folder / name, tmp_path / folder.name / name)
    task = AuditTask.read(tmp_path / "audit_specs" / "loans_theta.yaml")
    counts = count(task)
    whole = audit_counts(task, counts)
    shutil.rmtree(tmp_path / "audit_specs")
    shutil.rmtree(tmp_path / "sample_data")
    assert audit_counts(task, counts).findings == whole.findings
    assert len(whole.findings) == 2


def test_what_only_counts_needs_no_draws(tmp_path: Path) -> None:
    spec = (SPECS / "loans_theta.yaml").read_text("utf-8").replace("../", f"{SPECS.parent}/")
    path = tmp_path / "spec.yaml"
    path.write_text(spec.replace("loans_theta.csv", "nowhere.csv"), "utf-8")
    with pytest.raises(UsageError, match=r"nowhere\.csv"):
        AuditTask.read(path)
    assert count(AuditTask.read(path, reads_draws=False)).read == 20_000


def test_room_for_files_is_asked_for_although_polars_is_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert "polars" in sys.modules
    monkeypatch.setattr(memory, "has_room", lambda size, _written=0: size < 1_000)
    assert memory.has_room_for_engine()
    assert memory.has_room_for_engine(999)
    assert not memory.has_room_for_engine(1_000)


def test_room_is_asked_for_before_draws_load_polars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "is_limited", lambda: True)
    monkeypatch.setattr(memory, "has_room_for_engine", lambda _mapped=0: False)
    with pytest.raises(OutOfMemory, match="address space"):
        AuditTask.read(SPECS / "loans_theta.yaml")

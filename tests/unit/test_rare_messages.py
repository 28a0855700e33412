"""Errors that need a full disk, a lost library or data without end: each is worded all the same."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import run
from conftest import SPECS

import fairaudit
from fairaudit.base.errors import FairauditError, NothingToAudit, Unwritten
from fairaudit.cli import files, output, streams
from fairaudit.counting import counts_file, load_kernel, polars_engine
from fairaudit.counting import filter as filters
from fairaudit.counting.routes import rows
from fairaudit.counting.sources import csv_reader, frames
from fairaudit.pipeline import audit_task, batch
from fairaudit.pipeline import stages as pipeline
from fairaudit.pipeline.audit_task import NO_OPTIONS, AuditTask
from fairaudit.pipeline.recode import groups
from fairaudit.report import format_of

COLUMNS = {"protected": ["sex"], "decision": {"column": "d", "positive": 1}}
SPEC: dict[str, Any] = {"columns": COLUMNS, "metrics": ["selection_rate"]}
ROWS: dict[str, list[Any]] = {
    "sex": ["f", "m"] * 50,
    "d": [1, 0, 0, 1] * 25,
    "job": ["a", "b", "c", "d", "e"] * 20,
    "n": [*range(100)],
}


def message(ask: Callable[[], object]) -> str:
    """What is said where something cannot be, with the hint."""
    with pytest.raises(FairauditError) as caught:
        ask()
    return str(caught.value)


def told(spec: Mapping[str, Any], data: Any = None) -> str:
    """What is said of an audit with these keys beside the usual ones."""
    return message(lambda: fairaudit.audit({**SPEC, **spec}, ROWS if data is None else data))


def refuse(*_: object, **__: object) -> None:
    """Refuses as a full disk does."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_an_old_report_that_cannot_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = tmp_path / "r.html"
    report.write_text("old")
    monkeypatch.setattr(Path, "unlink", refuse)
    monkeypatch.setattr(os, "truncate", refuse)
    assert message(lambda: files.clear(report)) == (
        f"-o {report}: No space left on device\n  hint: check the folder"
    )


def test_bytes_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    parquet = format_of("parquet")
    assert parquet is not None
    terminal = SimpleNamespace(isatty=lambda: True)
    monkeypatch.setattr(output, "sys", SimpleNamespace(stdout=terminal))
    assert message(lambda: output.print_text(b"PAR1", parquet)) == (
        "parquet is a binary format and cannot be printed to a terminal\n  hint: write it to a "
        "file with -o"
    )


def test_a_report_that_nobody_takes() -> None:
    class Full(io.FileIO):
        write = refuse  # type: ignore[assignment]  # as a full disk does

    with Full(os.devnull, "w") as file, pytest.raises(Unwritten) as caught:
        streams.Watched(file, is_report=True).write(b"x")
    text = "the report could not be written to stdout: No space left on device"
    assert str(caught.value) == text


def test_commands_on_what_they_do_not_take(tmp_path: Path) -> None:
    two = tmp_path / "two.json"
    run("run", SPECS / "titanic.yaml", SPECS / "kidney_admissions.yaml", "-o", two)
    assert f"{two} holds 2 results" in run("compare", two, two).stderr
    endless = run("init", "sample_data/loans.csv", "--protected", "x" * 200_000)
    assert "cannot split the list of names: field larger than field limit" in endless.stderr
    bare = tmp_path / "bare.csv"
    bare.write_text("sex,age\n" + "f,31.5\nm,40.25\n" * 9)
    outcome = run("init", bare, "--protected", "sex")
    assert (
        "no column looks like an outcome: use --label, --prediction, --decision or --score; for "
    ) in outcome.stderr
    latin = tmp_path / "latin.csv"
    latin.write_bytes("größe,n,selected\na,3,1\n".encode("latin-1"))
    assert f"{latin}: not UTF-8" in run("verify", latin).stderr
    spec = tmp_path / "latin.yaml"
    spec.write_bytes("version: 1\ntitle: Größe\n".encode("latin-1"))
    assert f"{spec}:2: the spec is not UTF-8" in run("run", spec).stderr


def test_counts_that_cannot_be_kept(tmp_path: Path) -> None:
    kept = tmp_path / "all.counts"
    strata = {"same": {"propensity": {"of": "sex", "features": ["job"]}}}
    columns = {**COLUMNS, "features": {"categorical": ["job"]}, "strata": strata}
    task = AuditTask.read({**SPEC, "columns": columns})
    modelled = message(lambda: counts_file.write(pipeline.count(task, ROWS)))
    assert modelled.startswith("the spec has strata that a model makes; this model")
    assert run("count", SPECS / "titanic.yaml", "-o", kept).returncode == 0
    table = pq.read_table(pa.BufferReader(kept.read_bytes()))
    other = {**(table.schema.metadata or {}), counts_file._HEADER: b'{"version": "9"}'}
    pq.write_table(table.replace_schema_metadata(other), kept)
    text = message(lambda: counts_file.read(kept))
    assert text.startswith(
        f"{kept} has version 9 of the counts format, and this program reads version "
    )


def test_no_room_for_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "latin.csv"
    file.write_bytes("sex,d\nmännlich,1\nweiblich,0\n".encode("latin-1"))
    monkeypatch.setattr(csv_reader, "open_bytes", refuse)
    text = told({"format": {"encoding": "latin-1"}}, str(file))
    assert text.startswith(f"{file}: no disk space for a temporary copy of this file\n  hint: No ")


def test_columns_of_another_kind() -> None:
    age = {"from": "n", "at": "2024-01-01", "bins": [40]}
    dated = {**COLUMNS, "protected": {"age": age}}
    assert "the column 'n' holds Int64, not dates" in told({"columns": dated})
    assert "'a\\x00b' is not a path: it contains a NUL" in told({}, "a\0b")
    nobody = {**ROWS, "n": [0] * 100}
    with pytest.raises(NothingToAudit, match="no rows are left to audit: 100 rows were read"):
        fairaudit.audit({**SPEC, "columns": {**COLUMNS, "count": "n"}}, nobody)


def test_a_filter_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def descend(*_: object) -> None:
        raise RecursionError

    monkeypatch.setattr(filters, "_convert", descend)
    assert (
        message(lambda: filters.parse("n > 1"))
        == "too many conditions or brackets: use `column in (…)`"
    )


def test_columns_of_one_name_in_a_frame_of_an_unknown_library(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    twice = pa.table([ROWS["sex"], ROWS["d"], ROWS["n"], ROWS["n"]], names=["sex", "d", "n", "n"])
    assert fairaudit.audit(SPEC, twice).provenance.rows == 100
    monkeypatch.setattr(frames, "_of_repeated", lambda *_: None)
    assert told({}, twice).startswith("the data frame has two columns with the same name")


def test_without_the_kernel_or_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    result = fairaudit.audit(SPEC, ROWS)
    monkeypatch.setenv("FAIRAUDIT_ROUTE", "native")
    monkeypatch.setitem(sys.modules, "fairaudit._kernel", None)
    monkeypatch.setitem(sys.modules, "pandas", None)
    text = message(load_kernel)
    assert "FAIRAUDIT_ROUTE is set to native, but this installation has no" in text
    assert message(lambda: result.checks(to="pandas")).startswith("pandas is not installed")


def test_more_than_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polars_engine, "MOST_PEOPLE", 1000)
    weighted = told({"columns": {**COLUMNS, "weight": "n"}})
    assert "the sum of the weights does not fit into 64 bits" in weighted
    monkeypatch.undo()
    monkeypatch.setattr(polars_engine, "MOST_CELLS", 3)
    clustered = told({"columns": {**COLUMNS, "cluster": "n"}})
    assert "combinations of levels and clusters, at most 3 are allowed" in clustered
    monkeypatch.undo()
    monkeypatch.setattr(groups, "MOST_LEVELS", 3)
    many = told({"columns": {**COLUMNS, "protected": ["job"]}})
    assert "'job' has 5 levels, and at most 3 can be audited: if it is an id" in many


def test_a_hundred_faults_are_enough() -> None:
    many = told({f"key{n}": 1 for n in range(200)})
    assert "the first 100 faults are listed" in many
    assert "key99" in many
    assert "key100" not in many


def test_people_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {**COLUMNS, "features": {"categorical": ["job"]}}
    alike = {"columns": columns, "metrics": [{"metric": "consistency", "k": 2}]}
    monkeypatch.setattr(rows, "MOST_LEVELS", 3)
    assert "'job' has over 3 levels, which is too many to match: is it an id?" in told(alike)
    monkeypatch.undo()
    monkeypatch.setattr(rows, "_read_batch", lambda *_: 0)
    assert "0 people were read, but 100 were counted" in told(alike)
    monkeypatch.undo()
    monkeypatch.setattr(audit_task, "recode", lambda *_: SimpleNamespace(rows=None))
    strata = {"same": {"propensity": {"of": "sex", "features": ["job"]}}}
    text = told({"columns": {**columns, "strata": strata}})
    assert "a model makes strata from rows, and this source has no rows to read" in text


def test_draws_without_rows_and_without_outcomes(tmp_path: Path) -> None:
    draws = tmp_path / "theta.parquet"
    asked = {"metrics": ["differential_fairness_draws"], "draws": str(draws)}
    frame = pl.DataFrame({"draw": [1, 1], "sex": ["f", "m"], "probability": [0.5, 0.4]})
    frame.clear().write_parquet(draws)
    assert f"{draws}: the file has no draws" in told(asked)
    frame.write_parquet(draws)
    three = {**ROWS, "d": ["yes", "no", "later", "yes"] * 25}
    decision = {"column": "d", "positive": "yes", "negative": ["no"], "others": "drop"}
    classes = {"column": "d"}
    for outcome in (decision, classes):
        columns = {"protected": ["sex"], "decision": outcome}
        if outcome is classes:
            text = told({**asked, "columns": columns}, three)
            assert (
                f"{draws}: the draws have no outcome column, and decision does not have two levels"
                in text
            )


def test_mappings_have_no_lines() -> None:
    entry = {"metric": "selection_rate", "fail": {"below": 0.1}}
    assert "metrics: the check selection_rate/sex/decision is defined twice" in told(
        {"metrics": [entry, entry]}
    )
    assert "title: this text contains half of a character" in told({"title": "\ud83d"})


def test_waivers_that_are_no_text(tmp_path: Path) -> None:
    waivers = tmp_path / "waivers.yaml"
    waivers.write_bytes("- {check: größe}".encode("latin-1"))
    assert f"the file {waivers} is not UTF-8: save it as UTF-8" in told({"waivers": str(waivers)})
    assert "cannot be read: this is not a path: it contains a NUL" in told({"waivers": "a\0b"})


def test_a_spec_that_changes_while_processes_judge(tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text("columns: {protected: [sex], decision: d}\nmetrics: [selection_rate]\n")
    sha256 = hashlib.sha256(b"as it was").hexdigest()
    counted = ("data.csv", NothingToAudit("no rows are left to audit", ""))
    error = batch._judge_elsewhere(spec, sha256, NO_OPTIONS, counted)
    assert str(error) == f"{spec} was changed during the run\n  hint: run again"


def test_an_error_of_another_version(tmp_path: Path) -> None:
    report = tmp_path / "r.json"
    assert run("run", tmp_path / "none.yaml", "-o", report).returncode == 2
    document = json.loads(report.read_text("utf-8"))
    document["error"]["kind"] = "TooLate"
    report.write_text(json.dumps(document), "utf-8")
    text = "error.kind is not an error of this version: TooLate"
    assert text in run("render", report, "-o", tmp_path / "r.html").stderr

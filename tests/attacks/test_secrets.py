"""A password in an address is printed nowhere: no stream, no report, whatever names it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from commands import run
from conftest import long

import fairaudit
from fairaudit.report import FORMATS

ADDRESSES = (
    "postgresql+psycopg2://ana:hush@db.example.org:1/x?table=t",
    "mariadb://ana:a/hush@h/db?table=t",
    "mssql+pyodbc://sa:hush@h/db?driver=x",
    "oracle://ana:hush@h",
    "s3a://AKIAHUSHHUSHHUSHHUSH:hush@bucket/x.parquet",
    "adl://hush@a.azuredatalakestore.net/x.csv",
    "jdbc:oracle:thin:scott/hush@//h:1521/s",
    "jdbc:sqlserver://h:1433;user=sa;password=hush;x=1",
    "https://h/x.csv?sig=hush&se=1",
    "Server=h;Uid=sa;Pwd=hush;Database=x",
    "ana:hush@db.example.org:5432/x",
    "oracle://ana:12 hush@h:1521/s",
    "scott/hush@db.example.org:1521/s",
    "mssql+pyodbc:///?odbc_connect=Driver%3DX%3BPWD%3Dhush",
    "Driver={X};PWD={hu}}hush};Database=x",
    "host=h password = hush dbname=x",
)
SPEC: dict[str, Any] = {
    "version": 1,
    "data": "d.csv",
    "columns": {"protected": ["g"], "decision": {"column": "y", "positive": 1}},
    "metrics": [{"metric": "demographic_parity_ratio", "fail": {"below": 0.8}}],
}
PLACES: dict[str, Callable[[str], dict[str, Any]]] = {
    "data": lambda address: {"data": address},
    "one of data": lambda address: {"data": ["d.csv", address]},
    "waivers": lambda address: {"waivers": address},
    "draws": lambda address: {
        "draws": address,
        "metrics": [{"metric": "differential_fairness", "model": "draws"}],
    },
    "profile": lambda address: {"profile": f"{address}.yaml"},
    "title": lambda address: {"title": f"rows of {address}"},
    "context": lambda address: {"context": {"source": address, address: "x"}},
    "a key": lambda address: {address: 1},
    "a metric": lambda address: {"metrics": [address]},
    "a column": lambda address: {"columns": {**SPEC["columns"], "strata": [address]}},
    "filter": lambda address: {"filter": f"g != '{address}'"},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "d.csv").write_text("g,y\n" + "a,1\na,0\nb,1\nb,0\n" * 50)
    return tmp_path


def everything(folder: Path, *line: str) -> str:
    """All that a command writes: both streams, and the files with their names."""
    done = run(*line, folder=folder)
    texts = [done.stdout, done.stderr]
    for path in folder.rglob("*"):
        texts.append(path.name)
        if path.suffix == ".parquet":
            texts.append(pl.read_parquet(path).write_csv())
        elif path.is_file() and path.name not in {"s.yaml", "d.csv"}:
            texts.append(path.read_text("utf-8"))
    return "\n".join(texts)


@pytest.mark.long
@pytest.mark.parametrize(
    ("place", "address"),
    [
        *((place, ADDRESSES[0]) for place in PLACES),
        *(long(place, ADDRESSES[1]) for place in PLACES),
        *(long("data", address) for address in ADDRESSES[2:]),
        *(long("title", address) for address in ADDRESSES[2:]),
    ],
)
def test_a_spec_with_an_address_prints_no_secret(folder: Path, place: str, address: str) -> None:
    (folder / "s.yaml").write_text(json.dumps({**SPEC, **PLACES[place](address)}, indent=1))
    outputs = [f"r{form.suffixes[0]}" for form in FORMATS if form.suffixes]
    written = [word for name in (*outputs, "all/") for word in ("-o", name)]
    said = everything(folder, "run", "s.yaml", "-v", "--debug", *written)
    said += everything(folder, "run", "s.yaml", "--format", "github")
    said += everything(folder, "check", "s.yaml", "--no-data", "-v", "--format", "json")
    said += everything(folder, "check", "s.yaml", "-v")
    assert "hush" not in said.lower()
    assert "***" in said


LINES = (
    ("run", "s.yaml", "--data"),
    ("run", "s.yaml", "--baseline"),
    ("run", "s.yaml", "--draws"),
    ("run", "s.yaml", "-o"),
    ("run", "s.yaml", "--only"),
    ("run",),
    ("check", "s.yaml", "--data"),
    ("count", "s.yaml", "-o", "x.counts", "--data"),
    ("init", "--protected", "g"),
    ("render",),
    ("compare", "s.yaml"),
    ("show", "s.yaml"),
)


@pytest.mark.parametrize(
    ("line", "address"),
    [
        # In the quick run each address and each line, but not each with each.
        (line, address) if at % len(LINES) == number else long(line, address)
        for number, line in enumerate(LINES)
        for at, address in enumerate(ADDRESSES)
    ],
)
def test_a_command_line_with_an_address_prints_no_secret(
    folder: Path, line: tuple[str, ...], address: str
) -> None:
    (folder / "s.yaml").write_text(json.dumps(SPEC))
    assert "hush" not in everything(folder, *line, address).lower()


@pytest.mark.parametrize("address", ADDRESSES)
def test_python_raises_and_returns_no_secret(address: str) -> None:
    data = {"g": ["a", "b"] * 50, "y": ["1", "0"] * 50}
    context = {"from": address, f"as {address}": "", "//ana:hush@h": "//ben:hush@h"}
    result = fairaudit.audit({**SPEC, "title": address, "context": context}, data)
    assert "hush" not in repr(result).lower() + result.to_json().lower() + result._repr_html_()
    with pytest.raises(fairaudit.FairauditError) as caught:
        fairaudit.audit(SPEC, address)
    assert "hush" not in f"{caught.value} {caught.value.args} {vars(caught.value)}".lower()


def test_an_earlier_report_that_holds_a_secret_is_shown_without(folder: Path) -> None:
    result = fairaudit.audit({**SPEC, "title": "PLACEHOLDER"}, folder / "d.csv")
    stored = result.to_json().replace("PLACEHOLDER", "oracle://ana:hush@h")
    (folder / "old.json").write_text(stored)
    said = ""
    for form in FORMATS:
        if form.name != "parquet":
            done = run("render", "old.json", "--format", form.name, folder=folder)
            assert done.returncode == 0, done.stderr
            said += done.stdout + done.stderr
    assert "oracle://***@h" in said
    assert "hush" not in said


@pytest.mark.parametrize(
    "line",
    [
        r'data: ["postgresql:\/\/ana:hush@h\/x", 1]',
        r'data: ["xx://h/x?a=1\u0026token=hush", 1]',
        "data: {url: x, password : hush, pwd: 'hush'}",
        "data: [x] # pwd=hush",
    ],
)
def test_a_line_that_an_error_quotes_prints_no_secret(line: str, folder: Path) -> None:
    (folder / "s.yaml").write_text(f"{line}\nversion: 1\n")
    said = everything(folder, "run", "s.yaml", "-o", "r.json") + everything(
        folder, "check", "s.yaml"
    )
    assert "s.yaml:1" in said
    assert "hush" not in said


@pytest.mark.long
def test_names_that_look_like_secrets_are_names(tmp_path: Path) -> None:
    """Two columns became one, and nobody could read the report."""
    names = ["w:1@a.b", "w:2@a.b", "pwd=yes", "xx://u:hush@h/1", "xx://v:hush@h/1"]
    data: dict[str, list[Any]] = {
        name: ["pwd=1", "pwd=2"] * 20 if n % 2 else ["pwd=1", "pwd=1", "pwd=2", "pwd=2"] * 10
        for n, name in enumerate(names)
    }
    columns = {**SPEC["columns"], "protected": names}
    spec = {"columns": columns, "metrics": SPEC["metrics"], "title": "Loans (contact:ana@x.org)"}
    result = fairaudit.audit(spec, {**data, "y": [1, 0, 0, 1] * 10})
    assert fairaudit.load(result.to_json()) == result
    assert len({finding.check.id for finding in result.findings}) == len(names)
    assert result.provenance.title == spec["title"]
    assert [finding.check.by for finding in result.findings[:3]] == [(name,) for name in names[:3]]
    assert {row.group for row in result.groups if row.by == ("w:1@a.b",)} == {
        (("w:1@a.b", level),) for level in ("pwd=1", "pwd=2")
    }
    result.save(tmp_path / "r.html")
    assert "hush" not in (tmp_path / "r.html").read_text() + result.to_json()


@pytest.mark.parametrize(
    "path",
    [
        "u:hush@host/x.csv",
        "//u:hush@host/x.csv",
        "u:a/hush@host/x.csv",
        "duckdb:///u:hush@h/x.db?table=t",
    ],
)
def test_the_folder_of_a_missing_file_shows_no_secret(path: str, folder: Path) -> None:
    spec = folder / "spec.json"
    spec.write_text(json.dumps({**SPEC, "data": path}))
    done = run("run", spec)
    assert done.returncode == 2
    assert "looked in" in done.stderr
    assert "hush" not in done.stdout + done.stderr


def test_folders_that_a_glob_finds_show_no_secret(folder: Path) -> None:
    (folder / "u:hush@host").mkdir()
    (folder / "u:d.csv").write_text("g,y\na,1\nb,1\na,0\nb,0\n")
    spec = folder / "spec.json"
    spec.write_text(json.dumps({**SPEC, "data": "u:*"}))
    done = run("run", spec)
    assert "also finds folders" in " ".join((done.stdout + done.stderr).split())
    assert "hush" not in done.stdout + done.stderr

"""A password in an address is printed nowhere: no stream, no report, whatever names it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from commands import run

import fairaudit
from fairaudit.report import FORMATS

ADDRESSES = (
    "postgresql+psycopg2://ana:hush@db.example.org:1/x?table=t",
    "mariadb://ana:a/hush@h/db?table=t",
    "mssql+pyodbc://sa:hush@h/db?driver=x",
    "oracle://ana:hush@h",
    "s3a://AKIAHUSHHUSHHUSHHUSH:hush@bucket/x.parquet",
    "abfss://hush@a.dfs.core.windows.net/x.csv",
    "jdbc:oracle:thin:scott/hush@//h:1521/s",
    "jdbc:sqlserver://h:1433;user=sa;password=hush;x=1",
    "https://h/x.csv?sig=hush&se=1",
    "Server=h;Uid=sa;Pwd=hush;Database=x",
    "ana:hush@db.example.org:5432/x",
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


@pytest.mark.parametrize(
    ("place", "address"),
    [
        *((place, address) for place in PLACES for address in ADDRESSES[:2]),
        *(("data", address) for address in ADDRESSES[2:]),
        *(("title", address) for address in ADDRESSES[2:]),
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


@pytest.mark.parametrize(
    "line",
    [
        ("run", "s.yaml", "--data"),
        ("run", "s.yaml", "--baseline"),
        ("run", "s.yaml", "--draws"),
        ("run", "s.yaml", "-o"),
        ("run", "s.yaml", "--only"),
        ("run",),
        ("check", "s.yaml", "--data"),
        ("count", "s.yaml", "-o", "x.counts", "--cuts"),
        ("count", "s.yaml", "-o", "x.counts", "--data"),
        ("init", "--protected", "g"),
        ("render",),
        ("compare", "s.yaml"),
        ("show", "s.yaml"),
    ],
)
@pytest.mark.parametrize("address", ADDRESSES)
def test_a_command_line_with_an_address_prints_no_secret(
    folder: Path, line: tuple[str, ...], address: str
) -> None:
    (folder / "s.yaml").write_text(json.dumps(SPEC))
    assert "hush" not in everything(folder, *line, address).lower()


@pytest.mark.parametrize("address", ADDRESSES)
def test_python_raises_and_returns_no_secret(address: str) -> None:
    data = {"g": ["a", "b"] * 50, "y": ["1", "0"] * 50}
    result = fairaudit.audit({**SPEC, "title": address, "context": {"from": address}}, data)
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

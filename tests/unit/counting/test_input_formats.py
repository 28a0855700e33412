"""A format is a record and a reader: one of JSON lines, made here, is read wherever CSV is."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest

import fairaudit
from fairaudit.base import inputs
from fairaudit.base.errors import DataError, SpecError, UsageError
from fairaudit.base.frozen import replace
from fairaudit.base.inputs import COMPRESSIONS, FORMATS, InputFormat, suffix_of
from fairaudit.base.processes import Progress
from fairaudit.counting.columns import CsvFormat
from fairaudit.counting.plan import Plan
from fairaudit.counting.sources import (
    Copies,
    Reader,
    SourceFile,
    csv_reader,
    excel,
    parquet_files,
    reader_of,
)
from fairaudit.counting.sources.posterior_files import read_draws
from fairaudit.spec import load

READERS: tuple[Reader, ...] = (csv_reader, parquet_files)
"""The type checker sees here that they are readers."""

DRAWS = {
    "draw": ["1", "1", "2", "2"],
    "race": ["a", "b", "a", "b"],
    "probability": ["0.5", "0.25", "0.125", "0.75"],
}
ROWS = {
    "race": ["a", "b"] * 40,
    "part": ["x", "x", "y", "y"] * 20,
    "y": ["1", "0", "1", "0", "1"] * 16,
}
SPEC: dict[str, Any] = {
    "columns": {
        "protected": ["race"],
        "decision": {"column": "y", "positive": 1, "negative": 0},
    },
    "metrics": ["selection_rate"],
    "subgroups": {"over": "all", "rates": ["selection_rate"]},
}


class JsonLines(ModuleType):
    """The reader of the format that is made here."""

    @staticmethod
    def read_columns(file: SourceFile, _form: CsvFormat, _copies: Copies) -> SourceFile:
        first = file.path.read_text("utf-8").partition("\n")[0]
        names = [name for name, _ in json.loads(first, object_pairs_hook=list)]
        return replace(file, header=tuple(names))

    @staticmethod
    def check_file(
        file: SourceFile, _plans: Sequence[Plan], _copies: Copies, _progress: Progress
    ) -> SourceFile:
        return replace(file, records=file.path.read_text("utf-8").count("\n"))

    @staticmethod
    def read_schema(file: SourceFile) -> Mapping[str, pl.DataType]:
        return dict.fromkeys(file.header, pl.String())

    @staticmethod
    def scan_files(paths: Sequence[Path], _separator: str) -> pl.LazyFrame:
        return pl.scan_ndjson([*paths])

    @staticmethod
    def find_line(_file: SourceFile, _form: CsvFormat, row: int) -> int | None:
        return row


@pytest.fixture(autouse=True)
def json_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """The format, for the time of a test."""
    form = InputFormat("jsonl", "JSON lines", (".jsonl",), "json_lines")
    monkeypatch.setattr(inputs, "FORMATS", (*FORMATS, form))
    monkeypatch.setitem(
        sys.modules, "fairaudit.counting.sources.json_lines", JsonLines("json_lines")
    )


def audit(data: Path) -> dict[str, Any]:
    """What an audit says of the groups, and of those that it looked for."""
    report = json.loads(fairaudit.audit(SPEC, str(data)).to_json())
    return {key: report[key] for key in ("rates", "subgroups", "groups")}


def write(folder: Path, columns: Mapping[str, Sequence[str]] = ROWS) -> tuple[Path, Path]:
    """The same rows as CSV, and in the format that is made here."""
    folder.mkdir()
    frame = pl.DataFrame(columns)
    csv, lines = folder / "rows.csv", folder / "rows.jsonl"
    frame.write_csv(csv)
    frame.write_ndjson(lines)
    return csv, lines


def test_every_reader_is_one() -> None:
    # A workbook is CSV after `read_columns`, so its module has no other functions.
    assert [reader_of(form) for form in FORMATS] == [*READERS, excel]


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_the_first_bytes_tell_a_format(form: InputFormat) -> None:
    assert suffix_of(form.magic + b"more") == form.suffixes[0]


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_the_first_bytes_tell_packed_csv(suffix: str) -> None:
    assert suffix_of(COMPRESSIONS[suffix].magic + b"more") == f".csv{suffix}"


def test_a_new_format_is_counted_and_searched_as_csv_is(tmp_path: Path) -> None:
    csv, lines = write(tmp_path / "both")
    expected = audit(csv)
    assert audit(lines) == expected
    csv.unlink()
    assert audit(lines.parent) == expected


def test_its_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"race": "a", "y": "1", "race": "b"}\n', "utf-8")
    with pytest.raises(SpecError, match="2 columns are named 'race'"):
        audit(path)


def test_draws_are_read_of_it(tmp_path: Path) -> None:
    csv, lines = write(tmp_path / "draws", DRAWS)
    expected, draws = (read_draws(path, ["race"]) for path in (csv, lines))
    assert draws.groups == expected.groups
    assert draws.probability.tolist() == expected.probability.tolist() == [
        [[0.5, 0.25]],
        [[0.125, 0.75]],
    ]  # fmt: skip


def test_it_is_no_spec(tmp_path: Path) -> None:
    _, lines = write(tmp_path / "data")
    with pytest.raises(UsageError, match="is a data file, not a spec"):
        load(lines)


def test_it_is_listed_where_a_format_is_not_known(tmp_path: Path) -> None:
    path = tmp_path / "rows.xyz"
    path.write_text("race,y\n", "utf-8")
    with pytest.raises(DataError, match=r"JSON lines \(\.jsonl\)"):
        audit(path)

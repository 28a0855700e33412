"""What stands in a log is data: no line of any format is a command to a build server."""

from __future__ import annotations

import csv as stdlib_csv
import io
import json
import random
import re
from pathlib import Path
from unicodedata import category

import polars as pl
import pytest
from conftest import ATTACKS

import fairaudit
from fairaudit import cli
from fairaudit.base import names
from fairaudit.report import FORMATS, export
from fairaudit.report import json as report_json

TRIES = int(2_000 * ATTACKS)
_SEED = 16_17

COMMANDS = (
    "\n::error file=x::forged",
    "::stop-commands::x",
    "\r::set-output name=a::b",
    "  ::add-mask::0",
    "##vso[task.complete result=Succeeded;]",
    "##[error]forged",
    "###[group]x",
    "\n##teamcity[buildStatus status='SUCCESS']",
    "\x1b[0Ksection_start:0:x\r\x1b[0K",
    "\u2028::warning::x",
    "\\n::error::x",
)
_FORMATS = [one.name for one in FORMATS if one.name != "parquet"]
_COMMAND = re.compile(r"^\s*::|##\w*\[|\r|\x1b|[\x80-\x9f\u2028\u2029]", re.MULTILINE)
"""As their agents look for it: at the beginning of a line, or anywhere in it."""
_OURS = re.compile(r"^::(?:error|warning|notice) [^\n]*::", re.MULTILINE)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A spec in which whatever has a name is called like a command."""
    monkeypatch.chdir(tmp_path)
    rows = [
        {"g": level, COMMANDS[0]: second, "y": COMMANDS[4] if at % 3 else "no"}
        for level in COMMANDS
        for second in COMMANDS[:2]
        for at in range(20)
    ]
    pl.DataFrame(rows).write_parquet("data.parquet")
    spec = {
        "title": COMMANDS[4],
        "data": "data.parquet",
        "context": {one: one for one in COMMANDS},
        "columns": {
            "protected": {"g": {"trim": False}, COMMANDS[0]: {}},
            "decision": {"column": "y", "positive": COMMANDS[4]},
        },
        "metrics": [
            "selection_rate",
            {"metric": "demographic_parity_ratio", "fail": {"below": 0.99}},
        ],
    }
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    bad = {**spec, "columns": {"protected": [*COMMANDS], "decision": COMMANDS[4]}}
    (tmp_path / "bad.json").write_text(json.dumps(bad))
    return tmp_path


@pytest.mark.long
@pytest.mark.parametrize("form", _FORMATS)
def test_no_format_prints_a_command(
    place: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "##vso[x].json").write_bytes((place / "spec.json").read_bytes())
    for line in (["spec.json"], ["bad.json"], ["spec.json", "##vso[x].json"], ["##[gone].json"]):
        cli.run_line(["run", *line, "--format", form, "-v"])
        found = capsys.readouterr()
        told = _OURS.sub("", found.out) if form == "github" else found.out
        for text in (told, found.err):
            assert not _COMMAND.search(text), text[_COMMAND.search(text).start() - 80 :][:200]  # type: ignore[union-attr]


@pytest.mark.long
def test_nor_does_a_command_on_a_stored_result(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run_line(["run", "spec.json", "-q", "-o", "r.json", "-o", "reports/"]) in {0, 1}
    for form in ("terminal", "html", "markdown", "json"):
        lines = [["show", "r.json"], ["show", "r.json", "1"], ["compare", "r.json", "r.json"]]
        lines += [["render", "r.json"], ["show", "r.json", COMMANDS[4]], ["explain", COMMANDS[4]]]
        for line in lines:
            cli.run_line([*line, *(["--format", form] if line[0] != "explain" else [])])
            found = capsys.readouterr()
            assert not _COMMAND.search(found.out + found.err), line
    for path in (place / "reports").iterdir():
        assert not _COMMAND.search(path.read_text("utf-8")), path.name


def _texts() -> list[str]:
    chance = random.Random(_SEED)
    signs = "ab\\\\nrtxuU'\"`;=+-@1.,:#[] \n\r\t\x00\x1b\x85\u200b\u2028\ufeffé×日\u0301＝\xa0"
    texts = ["".join(chance.choices(signs, k=chance.randrange(9))) for _ in range(TRIES)]
    return [*COMMANDS, *texts, *map(names.escaped, texts), *map(export.safe, texts)]


def _had_back(cell: str) -> str:
    """What a cell of CSV stands for, by the rule that README gives."""
    plain = re.sub(r"""(^|(?<=;))'(?=[\s"']*(?:[=+\-@＝＋－＠]|\\uff(?:1d|0b|0d|20)))""", "", cell)
    ours = r"\\(?:\\|[nrt]|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})"

    def sign(found: re.Match[str]) -> str:
        escape = found[0][1:]
        known = {"\\": "\\", "n": "\n", "r": "\r", "t": "\t"}
        return known[escape] if escape in known else chr(int(escape[1:], 16))

    return re.sub(ours, sign, plain)


def test_a_cell_of_csv_is_one_line_and_can_be_had_back() -> None:
    for text in _texts():
        cell = export.safe(text)
        assert _had_back(cell) == text
        assert _had_back(export.encode_csv_for(cell, "ascii")) == text
        assert cell.isprintable() or any(category(one) == "Cf" for one in cell)
        out = io.StringIO()
        stdlib_csv.writer(out, lineterminator="\n").writerow([cell])
        assert not _COMMAND.search(out.getvalue())


def test_json_is_the_same_document(capsys: pytest.CaptureFixture[str]) -> None:
    document = {"rows": [*_texts(), "##\udcff"], "text": "".join(_texts())}
    written = report_json.written(document)
    for text in (written, report_json.encode_for(written, "ascii")):
        assert json.loads(text) == document
        assert not _COMMAND.search(text)
    assert capsys.readouterr().out == ""


def test_levels_come_back_from_both(place: Path) -> None:
    result = fairaudit.audit("spec.json")
    levels = {dict(row.group).get("g") for row in result.groups} - {None}
    assert levels == set(COMMANDS)
    assert (place / "spec.json").exists()

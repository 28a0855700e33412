"""Every row of the table of what a reader does silently, with a bad file of its own.

A bad file is refused with exit code 2, its file and line, and never what a row holds; or it is
counted right, by hand. Its sound sibling is counted without a word.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ROOT

import fairaudit
from fairaudit import cli
from fairaudit.base.errors import DataError, FairauditError
from fairaudit.counting import polars_engine
from fairaudit.counting.sources import files
from fairaudit.result import AuditResult

HEADER = "race,note,y\n"
FIRST = HEADER + "a,secret,1\na,secret,0\nb,secret,1\n"
LAST = "b,secret,1\n"
TEXT = FIRST + LAST
"""Four rows in four lines below the header; `FIRST` leaves line 5 to the bad row."""

REVERSED = "".join([TEXT.splitlines(keepends=True)[0], *TEXT.splitlines(keepends=True)[:0:-1]])
"""The same rows in another order: a copy would be refused."""

EXPECTED = {"a": (1, 2), "b": (2, 2)}
NOBODY = 65534

Sizes = dict[str, tuple[int, int]]


class Told(NamedTuple):
    """What the command said."""

    code: int
    out: str
    err: str


Command = Callable[..., Told]


def spec(data: object = "data.csv", **more: Any) -> dict[str, Any]:
    """A spec of the text above."""
    return {
        "data": str(data),
        "columns": {
            "protected": ["race"],
            "decision": {"column": "y", "positive": 1, "negative": 0},
        },
        "metrics": ["selection_rate"],
        **more,
    }


def columns(**more: Any) -> dict[str, Any]:
    """The columns of the spec above, and more of them."""
    return {"columns": {**spec()["columns"], **more}}


def cut(**more: Any) -> dict[str, Any]:
    """The columns of the spec above, the decision a cut on a number."""
    return columns(decision={"column": "y", "positive": {"at_least": 0.5}}, **more)


def as_bytes(content: str | bytes) -> bytes:
    """A text as UTF-8."""
    return content.encode() if isinstance(content, str) else content


def as_zst(content: str | bytes) -> bytes:
    """A text packed with zstd."""
    packed = pa.BufferOutputStream()
    with pa.CompressedOutputStream(packed, "zstd") as stream:
        stream.write(as_bytes(content))
    found: bytes = packed.getvalue().to_pybytes()
    return found


def as_gz(content: str | bytes) -> bytes:
    """A text packed with gzip."""
    return gzip.compress(as_bytes(content), mtime=0)


def as_parquet(table: pa.Table, **options: Any) -> bytes:
    """A table as a Parquet file."""
    stream = io.BytesIO()
    pq.write_table(table, stream, **options)
    return stream.getvalue()


def table(race: object = ("a", "a", "b", "b"), y: object = (1, 0, 1, 1)) -> pa.Table:
    """The rows of the text, with other columns on request."""
    made = [one if isinstance(one, pa.Array) else pa.array(one) for one in (race, y)]
    notes = pa.array(["secret"] * len(made[0]))
    return pa.Table.from_arrays([made[0], notes, made[1]], names=["race", "note", "y"])


def write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """The folder, holding the files."""
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(as_bytes(content))
    return folder


def sizes(result: AuditResult) -> Sizes:
    """Selected and people by group."""
    return {
        row.group[0][1]: (row.estimate.numerator or 0, row.estimate.denominator or 0)
        for row in result.rates
        if row.by
    }


def counted(folder: Path, name: str = "data.csv", **more: Any) -> Sizes:
    """The groups of a file that is counted whole and without a word."""
    result = fairaudit.audit(spec(folder / name, **more))
    known = ("the filter removes no row", "holds no row")
    assert not [one for one in result.notices if not any(some in one for some in known)]
    assert result.ledger.read == result.ledger.counted
    return sizes(result)


@pytest.fixture
def command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs the command on a spec beside the data."""

    def run(data: str = "data.csv", *arguments: str, **more: Any) -> Told:
        path = tmp_path / "spec.yaml"
        path.write_text(json.dumps(spec(data, **more)), encoding="utf-8")
        capsys.readouterr()
        code = cli.run_line(["run", str(path), *arguments])
        return Told(code, *capsys.readouterr())

    return run


def assert_refused(told: Told, says: str, code: int = 2) -> None:
    """No verdict, no report, no traceback, no row; and `says`."""
    assert told.code == code, told
    assert told.out == ""
    assert "Traceback" not in told.err
    assert "internal error in fairaudit" not in told.err
    assert "secret" not in told.err
    assert says in told.err
    assert re.search(r"^(ERROR|NOTHING)  no verdict  spec=spec\.yaml$", told.err, re.MULTILINE)


class Case(NamedTuple):
    """A bad file, what is said of it, and its sound sibling, which counts as the text above."""

    name: str
    bad: str | bytes
    says: str
    sound: str | bytes = TEXT
    form: Mapping[str, Any] = {}
    file: str = "data.csv"


MULTILINE = {"multiline": True}
NOT_CLOSED = "data.csv:5: a quote is not closed"
MARKED = b"race,note,y\na,\x80,1\na,\x93\x94,0\nb,\xe4,1\n"
PARQUET = as_parquet(table())

CASES = [
    Case("a row with too many fields, columns projected", FIRST + "b,secret, John,1\n",
         "data.csv:5: 4 fields where the header has 3", FIRST + 'b,"secret, John",1\n'),
    Case("a row with too many fields, the last of them empty", FIRST + "b,secret,1,\n",
         "data.csv:5: 4 fields where the header has 3",
         FIRST.replace("\n", ",\n") + "b,secret,1,\n"),
    Case("a row with too many fields, in gz", as_gz(FIRST + "b,secret, John,1\n"),
         "data.csv.gz:5: 4 fields where the header has 3", as_gz(TEXT), file="data.csv.gz"),
    Case("a row with too many fields, in zst", as_zst(FIRST + "b,secret, John,1\n"),
         "data.csv.zst:5: 4 fields where the header has 3", as_zst(TEXT), file="data.csv.zst"),
    Case("a row with too many fields, among multi-line records",
         FIRST.replace(",secret", ',"sec\nret"') + "b,secret, John,1\n",
         "data.csv:8: 4 fields where the header has 3",
         FIRST.replace(",secret", ',"sec\nret"') + LAST, MULTILINE),
    Case("a row with too few fields", FIRST + "b,1\n",
         "data.csv:5: 2 fields where the header has 3", FIRST + "b,,1\n"),
    Case("a row with too few fields, the last in the file and without an end", FIRST + "b,secret",
         "data.csv:5: 2 fields where the header has 3", FIRST + "b,secret,1"),
    Case("a row with too many and one with too few fields, which add up",
         HEADER + "a,secret,secret,1\na,0\n" + LAST * 2,
         "data.csv:2: 4 fields where the header has 3", TEXT),
    Case("a line of blanks", FIRST + "   \n" + LAST, "data.csv:5: 1 field", FIRST + LAST),
    Case("a stray quote", FIRST + 'b,5" secret,1\n', NOT_CLOSED, FIRST + 'b,"5"" secret",1\n'),
    Case("two stray quotes in a line", FIRST + 'b,5" secret 6",1\n',
         "data.csv:5: quotes inside a field", FIRST + 'b,"5"" secret 6""",1\n'),
    Case("text after a closed quote", FIRST + 'b,"secret" ,1\n',
         "data.csv:5: quotes inside a field", FIRST + 'b,"secret ",1\n'),
    Case("a record over two lines, not asked for", FIRST + 'b,"secret\nsecret",1\n', NOT_CLOSED,
         FIRST + 'b,"secret secret",1\n'),
    Case("a quote open to the end", FIRST + 'b,"secret,1\n', NOT_CLOSED, FIRST + 'b,"secret",1\n'),
    Case("a quote open to the end, among multi-line records", FIRST + 'b,"secret,1\n' + LAST * 9,
         "data.csv:5: ", FIRST + 'b,"secret,1\n,",1\n', MULTILINE),
    Case("a stray quote, among multi-line records", FIRST + 'b,5" secret,1\n', "data.csv:5: ",
         FIRST + 'b,"5"" secret\n",1\n', MULTILINE),
    Case("stray quotes that even out, among multi-line records",
         'race,y,note\nb,1,secret"r\nb,1,"secret\na,1,""y"', "data.csv:2: ",
         'race,y,note\na,1,"secret\na,1,""y"\na,0,\nb,1,"x"\nb,1,"""\n"', MULTILINE),
    Case("stray quotes that crash the search for a fault, among multi-line records",
         'race,y,note\na,1,secret\nb,0,#"\nb,0,"\n"""""', "data.csv:3: ",
         'race,y,note\na,1,secret\na,0,#\nb,1,"\n"\nb,1,""""', MULTILINE),
    Case("a blank line among multi-line records", FIRST + "\n" + LAST, "data.csv:5: a blank line",
         FIRST + 'b,"secret\n\n",1\n', MULTILINE),
    Case("columns of one name that differ", TEXT.replace("note", "race"),
         "data.csv:2: several columns are named 'race', and differ in this row first"),
    Case("a header with blanks", TEXT.replace("race,", " race,"),
         "no column 'race'; did you mean ' race'?", TEXT.replace("note", " note")),
    Case("a stray quote in the header", TEXT.replace("note", 'no"te'), "data.csv:1: ",
         TEXT.replace("note", '"no""te"')),
    Case("a quote open from the header on", TEXT.replace("note", '"note'), "data.csv:1: ",
         TEXT.replace("note", '"no,te"')),
    Case("an empty header", "\n" + TEXT, "data.csv:1: the line is blank"),
    Case("another separator", TEXT.replace(",", ";"), "data.csv:1: the header has no ','",
         TEXT.replace("secret", '";;;"')),
    Case("UTF-16", TEXT.encode("utf-16"), "data.csv: UTF-16", b"\xef\xbb\xbf" + TEXT.encode()),
    Case("UTF-16 the other way round", b"\xfe\xff" + TEXT.encode("utf-16-be"), "data.csv: UTF-16",
         b'\xef\xbb\xbf"race",note,y' + TEXT.encode().removeprefix(b"race,note,y")),
    Case("UTF-16 without a mark", TEXT.encode("utf-16-le"), "data.csv: "),
    Case("lines that end in CR alone", TEXT.replace("\n", "\r"),
         "data.csv: line 1: lines end in CR alone", TEXT.replace("\n", "\r\n")),
    Case("one line that ends in CR alone", FIRST + "b,secret,1\r" + LAST,
         "data.csv:5: a carriage return inside the line",
         TEXT.replace("\n", "\r\n", 2).removesuffix("\n") + "\r"),
    Case("one line that ends in CR alone, among multi-line records", FIRST + "b,secret,1\r" + LAST,
         "data.csv:5: ", FIRST + 'b,"\r",1\n', MULTILINE),
    Case("lines that end in CR CR LF", FIRST + "b,secret,1\r\r\n",
         "data.csv:5: a carriage return inside the line", FIRST + "b,secret,1\r\n"),
    Case("a byte that is not UTF-8", FIRST.encode() + b"b,secret\xff,1\n", "data.csv:5: not UTF-8",
         FIRST + "b,secret é,1\n"),
    Case("a byte that is not UTF-8, in gz", as_gz(FIRST.encode() + b"b,secret\xff,1\n"),
         "data.csv.gz:5: not UTF-8", as_gz(FIRST + "b,secret é,1\n"), file="data.csv.gz"),
    Case("a byte that is not UTF-8, in zst", as_zst(FIRST.encode() + b"b,secret\xff,1\n"),
         "data.csv.zst:5: not UTF-8", as_zst(FIRST + "b,secret é,1\n"), file="data.csv.zst"),
    Case("a byte that is not UTF-8, among multi-line records", FIRST.encode() + b"b,secret\xff,1\n",
         "data.csv:5: not UTF-8", FIRST + "b,secret é,1\n", MULTILINE),
    Case("a header that is not UTF-8", TEXT.replace("note", "nöte").encode("latin-1"),
         "data.csv:1: the header is not UTF-8", TEXT.replace("note", "nöte")),
    Case("a legacy file whose encoding is not declared", MARKED + LAST.encode(),
         "data.csv:2: not UTF-8", (MARKED + LAST.encode()).decode("cp1252")),
    Case("a byte that cp1252 does not have", MARKED + b"b,secret\x81,1\n", "data.csv:5: not cp1252",
         MARKED + LAST.encode(), {"encoding": "cp1252"}),
    Case("a byte that ASCII does not have", FIRST.encode() + b"b,secret\x81,1\n",
         "data.csv:5: not ascii", TEXT, {"encoding": "ascii"}),
    Case("a short row in a legacy file", MARKED.replace(b",", b";") + b"b;secret\n",
         "data.csv:5: 2 fields where the header has 3",
         MARKED.replace(b",", b";") + b"b;secret;1\n", {"encoding": "cp1252", "separator": ";"}),
    Case("an empty file", "", "data.csv: the file is empty"),
    Case("an empty file in gz", as_gz(""), "data.csv.gz:", as_gz(TEXT), file="data.csv.gz"),
    Case("no text at all", b"\x00\x01\x02\n" * 9, "data.csv: "),
    Case("gz in name alone", TEXT, "data.csv.gz: damaged", as_gz(TEXT), file="data.csv.gz"),
    Case("gz but by its name", as_gz(TEXT), "data.csv: ", TEXT),
    Case("gz that is called zst", as_gz(TEXT), "data.csv.zst: ", as_zst(TEXT), file="data.csv.zst"),
    Case("gz with something after its end", as_gz(TEXT) + b"secret", "data.csv.gz: damaged",
         as_gz(FIRST) + as_gz(LAST), file="data.csv.gz"),
    Case("gz with zeros after its end", as_gz(TEXT) + bytes(5), "data.csv.gz: damaged",
         as_gz("") + as_gz(TEXT), file="data.csv.gz"),
    Case("gz with a flag that it does not have", as_gz(TEXT)[:3] + b"\x20" + as_gz(TEXT)[4:],
         "data.csv.gz: damaged", as_gz(TEXT), file="data.csv.gz"),
    Case("zst with something after its end", as_zst(TEXT) + b"secret", "data.csv.zst: damaged",
         as_zst(FIRST) + as_zst(LAST), file="data.csv.zst"),
    Case("Parquet that is called CSV", PARQUET, "data.csv: ", TEXT),
    Case("CSV that is called Parquet", TEXT, "data.parquet: not a Parquet file", PARQUET,
         file="data.parquet"),
    Case("an empty Parquet file", "", "data.parquet: the file is empty", PARQUET,
         file="data.parquet"),
    Case("a Parquet file without its end", PARQUET[:-30], "data.parquet: not a Parquet file",
         PARQUET, file="data.parquet"),
    Case("a Parquet file without its second half", PARQUET[: len(PARQUET) // 2],
         "data.parquet: not a Parquet file", PARQUET, file="data.parquet"),
    Case("a Parquet file without its beginning", PARQUET[60:], "data.parquet: damaged",
         PARQUET, file="data.parquet"),
    Case("a Parquet file without a column that is needed",
         as_parquet(table().rename_columns(["rac", "note", "y"])),
         "no column 'race'; did you mean 'rac'?", as_parquet(table().select(["y", "note", "race"])),
         file="data.parquet"),
    Case("a Parquet file with a column that is needed twice",
         as_parquet(table().rename_columns(["race", "race", "y"])), "2 columns are named 'race'",
         as_parquet(table()), file="data.parquet"),
    Case("a nested column in Parquet", as_parquet(table([{"is": one} for one in "aabb"])),
         "data.parquet: the column 'race' holds Struct",
         as_parquet(table().append_column("more", pa.array([{"is": 1}] * 4))), file="data.parquet"),
    Case("a list in Parquet", as_parquet(table([[one] for one in "aabb"])),
         "data.parquet: the column 'race' holds List",
         as_parquet(table().append_column("more", pa.array([[1]] * 4))), file="data.parquet"),
    Case("a column of a nested column in Parquet",
         as_parquet(pa.table({"s": [{"race": one} for one in "aabb"], "y": [1, 0, 1, 1]})),
         "no column 'race'", as_parquet(table().append_column("s", pa.array([{"race": "z"}] * 4))),
         file="data.parquet"),
    Case("a text in Parquet that is not UTF-8",
         as_parquet(table(pa.array([b"a", b"a", b"\xff", b"b"]).view(pa.string()))),
         "data.parquet: damaged", PARQUET, file="data.parquet"),
]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_bad_file_is_refused_with_its_line(tmp_path: Path, command: Command, case: Case) -> None:
    write(tmp_path, {case.file: case.bad})
    assert_refused(command(case.file, format=dict(case.form)), case.says)


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_its_sound_sibling_is_counted_without_a_word(tmp_path: Path, case: Case) -> None:
    write(tmp_path, {case.file: case.sound})
    assert counted(tmp_path, case.file, format=dict(case.form)) == EXPECTED


def test_two_stray_quotes_300_000_rows_apart_swallow_nothing(
    tmp_path: Path, command: Command
) -> None:
    lines = [f"{'ab'[at % 2]},{at},{int(at % 4 < 2)}" for at in range(600_000)]
    swallow = [*lines]
    swallow[150_000] = 'a,"150000,1'
    swallow[450_000] = 'a,450000",1'
    write(tmp_path, {"data.csv": HEADER + "\n".join(swallow) + "\n"})
    assert_refused(command(), "data.csv:150002: a quote is not closed in its line")

    lines[150_000] = 'a,"15""0, 0""000",1'
    lines[450_000] = 'a,"450000",1'
    write(tmp_path, {"data.csv": HEADER + "\n".join(lines) + "\n"})
    assert counted(tmp_path) == {"a": (150_000, 300_000), "b": (150_000, 300_000)}


@pytest.mark.long
@pytest.mark.parametrize("pack", [as_gz, as_zst], ids=["gz", "zst"])
@pytest.mark.parametrize("damage", ["without its end", "without its half", "one bit"])
@pytest.mark.parametrize(
    "form", [{}, MULTILINE, {"encoding": "cp1252"}], ids=["plain", "multi-line", "cp1252"]
)
def test_a_packed_file_that_is_damaged(
    tmp_path: Path,
    command: Command,
    pack: Callable[[str], bytes],
    damage: str,
    form: dict[str, Any],
) -> None:
    times = 40_000
    name = f"data.csv.{pack.__name__.removeprefix('as_')}"
    packed = pack(TEXT + "".join(f"c,{at * 7919 % 65537},1\n" for at in range(times)))
    flipped = bytearray(packed)
    flipped[len(packed) // 2] ^= 4
    damaged = {
        "without its end": packed[:-6],
        "without its half": packed[: len(packed) // 2],
        "one bit": bytes(flipped),
    }
    write(tmp_path, {name: damaged[damage]})
    told = command(name, format=form)
    assert_refused(told, name)
    # Among multi-line records the bits that follow the flipped one may be told as a bad record.
    may_be = "|fields where" if (damage, form) == ("one bit", MULTILINE) else ""
    assert re.search(f"damaged|truncated{may_be}", told.err)
    write(tmp_path, {name: packed})
    assert counted(tmp_path, name, format=form) == {**EXPECTED, "c": (times, times)}


class Right(NamedTuple):
    """A file with a trap in it, its groups by hand, what is told of it; and a sound sibling."""

    name: str
    text: str | bytes
    groups: Sizes
    told: tuple[str, ...] = ()
    sound: str = TEXT
    form: Mapping[str, Any] = {}
    file: str = "data.csv"


UNKNOWN = "(unknown)"
TOKENS = {"missing": {"tokens": ["NA", "null", "?"]}}
RIGHT = [
    Right("a separator after every row", TEXT.replace("\n", ",\n"), EXPECTED),
    Right("blank lines", FIRST + "\n\n" + LAST + "\n", EXPECTED, ("3 blank lines are skipped",)),
    Right("blank lines that end in CRLF", (FIRST + "\n" + LAST + "\n").replace("\n", "\r\n"),
          EXPECTED, ("2 blank lines are skipped",), TEXT.replace("\n", "\r\n")),
    Right("blank lines in gz", as_gz(FIRST + "\n\n" + LAST), EXPECTED,
          ("2 blank lines are skipped",), file="data.csv.gz"),
    Right("separators alone are a record of nothing", HEADER + "a,,1\n,,0\n,,1\n",
          {"a": (1, 1), UNKNOWN: (1, 2)}),
    Right("01, 1 and 001 are three groups", HEADER + "01,,1\n1,,0\n001,,1\n1,,1\n",
          {"01": (1, 1), "1": (1, 2), "001": (1, 1)},
          ("race: the levels '001', '01', '1' are counted apart",), HEADER + "1,,1\n2,,0\n3,,1\n"),
    Right("1.0 and 1 are two groups", HEADER + "1.0,,1\n1,,0\n1,,1\n", {"1.0": (1, 1), "1": (1, 2)},
          ("race: the levels '1', '1.0' are counted apart",), HEADER + "1.0,,1\n2.0,,0\n"),
    Right("an empty field and an empty text are one missing", HEADER + 'a,,1\n,,1\n"",,0\n',
          {"a": (1, 1), UNKNOWN: (1, 2)}),
    Right("words that mean missing, declared",
          HEADER + 'a,,1\nNA,,1\nnull,,0\n?,,1\n,,0\n"",,1\n"NA",,0\n',
          {"a": (1, 1), UNKNOWN: (3, 6)}, form=TOKENS),
    Right("words that mean missing, not declared", HEADER + "a,,1\nNA,,1\nnull,,0\n?,,1\n",
          {"a": (1, 1), "NA": (1, 1), "null": (0, 1), "?": (1, 1)},
          ("race: '?', 'NA', 'null' counts as a level like any other",)),
    Right("blanks around a level", HEADER + "x,,1\n x,,0\nx ,,1\n",
          {"x": (1, 1), " x": (0, 1), "x ": (1, 1)},
          ("race: the levels ' x', 'x', 'x ' are counted apart",), HEADER + "x,,1\ny,,0\nz,,1\n"),
    Right("the case of a level", HEADER + "Black,,1\nblack,,0\nBLACK,,1\nWhite,,1\n",
          {"Black": (1, 1), "black": (0, 1), "BLACK": (1, 1), "White": (1, 1)},
          ("race: the levels 'BLACK', 'Black', 'black' are counted apart",),
          HEADER + "Black,,1\nWhite,,0\n"),
    Right("a level of blanks", HEADER + "a,,1\n  ,,0\n", {"a": (1, 1), "  ": (0, 1)},
          ("race: '  '",), HEADER + "a,,1\n,,0\n"),
    Right("a byte order mark", b"\xef\xbb\xbf" + TEXT.encode(), EXPECTED),
    Right("a byte order mark before a quote",
          b'\xef\xbb\xbf"race"' + TEXT.encode().removeprefix(b"race"), EXPECTED),
    Right("a column that nobody needs stands twice",
          TEXT.replace("note,", "note,note,").replace("secret,", "secret,1,"), EXPECTED,
          ("repeats column names that are not audited: 'note'",)),
    Right("line ends of other alphabets are no line ends",
          HEADER + "a\u2028,\x0b\x0c,1\na\u2028,\x85\x1c,0\n", {"a\u2028": (1, 2)}),
    Right("UTF-16 as declared", TEXT.encode("utf-16"), EXPECTED,
          form={"format": {"encoding": "utf-16"}}),
    Right("cp1252 and a decimal comma",
          "race;y\nM€nch;0,75\n“B”;0,25\nM€nch;1,5\n".encode("cp1252"),
          {"M€nch": (2, 2), "“B”": (0, 1)},
          form={"format": {"separator": ";", "decimal": ",", "encoding": "cp1252"}, **cut()}),
    Right("latin-1 and a decimal comma", "race;y\nä;0,75\nß;0,25\nä;1,5\n".encode("latin-1"),
          {"ä": (2, 2), "ß": (0, 1)},
          form={"format": {"separator": ";", "decimal": ",", "encoding": "latin-1"}, **cut()}),
    Right("every byte is a sign of its own in latin-1", b"race,y\n\x80,1\n\x81,0\n\x93,1\n\xe4,1\n",
          {"\x80": (1, 1), "\x81": (0, 1), "\x93": (1, 1), "ä": (1, 1)},
          form={"format": {"encoding": "latin-1"}}),
]  # fmt: skip


@pytest.mark.parametrize("case", RIGHT, ids=lambda case: case.name)
def test_a_trap_is_counted_right_and_told(tmp_path: Path, case: Right) -> None:
    write(tmp_path, {case.file: case.text})
    result = fairaudit.audit(spec(tmp_path / case.file, **case.form))
    people = sum(size for _, size in case.groups.values())
    assert sizes(result) == case.groups
    assert result.ledger.read == result.ledger.counted == people
    for told in case.told:
        assert any(told in notice for notice in result.notices), result.notices
    assert len(result.notices) == len(case.told)


@pytest.mark.parametrize(
    "case", [one for one in RIGHT if one.told], ids=lambda case: f"not {case.name}"
)
def test_without_a_trap_nothing_is_told(tmp_path: Path, case: Right) -> None:
    write(tmp_path, {"data.csv": case.sound})
    counted(tmp_path, **case.form)


@pytest.mark.parametrize("other", ["Yes", " yes", "yes ", "NA", "None", "?", "null"])
def test_a_lone_other_value_that_is_likely_no_negative_is_told(tmp_path: Path, other: str) -> None:
    """Two values and no `negative`: the other one is taken for it, which here is likely wrong."""
    decision = {"column": "y", "positive": "yes"}
    write(tmp_path, {"data.csv": f"race,y\na,yes\na,{other}\nb,yes\n"})
    notices: tuple[str, ...]
    try:
        notices = fairaudit.audit(spec(tmp_path / "data.csv", **columns(decision=decision))).notices
    except FairauditError as error:
        notices = (str(error),)
    assert any(repr(other) in notice for notice in notices)
    write(tmp_path, {"data.csv": "race,y\na,yes\na,no\nb,yes\n"})
    assert counted(tmp_path, **columns(decision=decision)) == {"a": (1, 2), "b": (1, 1)}


def test_levels_of_csv_are_texts_in_every_file(tmp_path: Path) -> None:
    write(tmp_path, {"1.csv": "race,y\n1,1\n2,0\n", "2.csv": "race,y\n01,1\nx,0\n1,1\n"})
    result = fairaudit.audit(spec(tmp_path))
    assert sizes(result) == {"1": (2, 2), "2": (0, 1), "01": (1, 1), "x": (0, 1)}
    write(tmp_path, {"2.csv": "race,y\n2,0\n1,1\n"})
    result = fairaudit.audit(spec(tmp_path))
    assert (sizes(result), result.notices) == ({"1": (2, 2), "2": (0, 2)}, ())


def test_parquet_files_whose_columns_differ_in_type_are_told(tmp_path: Path) -> None:
    files = {"1.parquet": as_parquet(table([1, 1, 2, 2]))}
    write(tmp_path, {**files, "2.parquet": as_parquet(table(["2", "x", "x", "x"]))})
    result = fairaudit.audit(spec(tmp_path))
    assert sizes(result) == {"1": (1, 2), "2": (3, 3), "x": (2, 3)}
    assert any("race" in notice for notice in result.notices)
    write(tmp_path, {**files, "2.parquet": as_parquet(table([2, 3, 3, 3]))})
    result = fairaudit.audit(spec(tmp_path))
    assert (sizes(result), result.notices) == ({"1": (1, 2), "2": (3, 3), "3": (2, 3)}, ())


def test_a_parquet_type_mismatch_is_refused_with_file_and_row(
    tmp_path: Path, command: Command
) -> None:
    exports = tmp_path / "exports"
    texts = as_parquet(table(y=["0.9", "0.1", "secret", "1"]))
    write(exports, {"1.parquet": as_parquet(table(y=[0.9, 0.1, 0.7, 1.0])), "2.parquet": texts})
    told = command("exports", **cut())
    assert_refused(told, "1 row holds no number in the column 'y'; first: ")
    assert "2.parquet, row 3" in told.err
    write(exports, {"2.parquet": as_parquet(table(y=["0.9", "0.1", "0.7", "1"]))})
    assert counted(exports, "", **cut())["a"] == (2, 4)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files_with_different_headers(tmp_path: Path, command: Command, kind: str) -> None:
    def as_kind(names: list[str]) -> bytes:
        found = table().select(names)
        return as_parquet(found) if kind == "parquet" else as_bytes(pl.DataFrame(found).write_csv())

    exports = write(
        tmp_path / "exports",
        {f"1.{kind}": as_kind(["race", "note", "y"]), f"2.{kind}": as_kind(["y", "race"])},
    )
    assert counted(exports, "") == {"a": (2, 4), "b": (4, 4)}
    write(exports, {f"3.{kind}": as_kind(["note", "y"])})
    told = command("exports")
    assert_refused(told, "no column 'race' in ")
    assert f"3.{kind}" in told.err


@pytest.mark.parametrize(
    "content",
    [
        {"data.csv": HEADER},
        {"data.csv": HEADER.strip()},
        {"data.csv.gz": as_gz(HEADER)},
        {"data.parquet": as_parquet(table().slice(0, 0))},
    ],
    ids=["CSV", "CSV without an end", "gz", "Parquet"],
)
def test_no_row_at_all_is_no_verdict(
    tmp_path: Path, command: Command, content: dict[str, str | bytes]
) -> None:
    (name,) = content
    write(tmp_path, content)
    assert_refused(command(name), "no rows are left to audit: 0 read", code=3)
    exports = write(tmp_path / "exports", {**content, "more.csv": TEXT})
    assert counted(exports, "") == EXPECTED


NAN = float("nan")


@pytest.mark.parametrize("word", ["NaN", "nan", "-nan", " NaN "])
def test_a_score_that_is_no_number_is_never_selected(
    tmp_path: Path, command: Command, word: str
) -> None:
    write(tmp_path, {"data.csv": f"race,y\na,0.7\na,{word}\nb,0.1\nb,0.9\n"})
    told = command(**cut())
    assert_refused(told, "1 row has no value in the decision 'y'")
    assert "data.csv:3" in told.err
    dropped = fairaudit.audit(spec(tmp_path / "data.csv", **cut(), missing={"prediction": "drop"}))
    assert sizes(dropped) == {"a": (1, 1), "b": (1, 2)}
    assert [(line.rows, line.column) for line in dropped.ledger.dropped] == [(1, "y")]
    write(tmp_path, {"data.csv": "race,y\na,0.7\na,0.2\nb,0.1\nb,0.9\n"})
    assert counted(tmp_path, **cut()) == {"a": (1, 2), "b": (1, 2)}


def test_a_score_that_is_no_number_is_never_selected_in_parquet(
    tmp_path: Path, command: Command
) -> None:
    scores = table(y=[0.7, NAN, 0.1, None])
    write(tmp_path, {"data.parquet": as_parquet(scores)})
    told = command("data.parquet", **cut())
    assert_refused(told, "2 rows have no value in the decision 'y'")
    assert "data.parquet, row 2" in told.err
    aside = spec(tmp_path / "data.parquet", **cut(), missing={"prediction": "aside"})
    result = fairaudit.audit(aside)
    assert sizes(result) == {"a": (1, 1), "b": (0, 1)}
    assert [(line.rows, line.column) for line in result.ledger.set_aside] == [(2, "y")]


BEFORE = {
    "nothing": "",
    "blank lines": "\n\n",
    "a blank line in CRLF": "\r\n",
    "a record of nothing": ",,\n",
    "quoted separators": 'b,",,",1\n',
}


@pytest.mark.parametrize("before", list(BEFORE.values()), ids=list(BEFORE))
def test_a_fault_of_a_row_is_told_with_its_physical_line(
    tmp_path: Path, command: Command, before: str
) -> None:
    missing = {"missing": {"tokens": ["?"]}}
    line = 3 if before == ",,\n" else 3 + before.count("\n")
    write(tmp_path, {"data.csv": f"{HEADER}a,secret,1\n{before}a,secret,?\na,,0\n"})
    told = command(**missing)
    assert_refused(told, "no value in the decision 'y'")
    assert f"data.csv:{line}\n" in told.err


def test_a_fault_of_a_row_is_told_with_its_line_among_multi_line_records(
    tmp_path: Path, command: Command
) -> None:
    write(tmp_path, {"data.csv": HEADER + 'a,"secret\n\nsecret",1\na,secret,\n'})
    told = command(format=MULTILINE)
    assert_refused(told, "1 row has no value in the decision 'y'")
    assert "data.csv:5\n" in told.err


BAD_WEIGHTS = ["-0.5", "nan", "inf", "-inf", "1e300", "much", "", "1,5", "0x10", "1_000"]


@pytest.mark.parametrize("weight", BAD_WEIGHTS)
def test_a_weight_that_is_none_is_refused_with_its_line(
    tmp_path: Path, command: Command, weight: str
) -> None:
    rows = 'race,y,w\na,1,0.5\n\na,0,1.5\n"b",0,"{}"\nb,1,1\n'
    write(tmp_path, {"data.csv": rows.format(weight)})
    told = command(**columns(weight="w"))
    assert_refused(told, "1 row holds no weight (a number from 0 to 1e9) in the column 'w'; first:")
    assert "data.csv:5\n" in told.err


@pytest.mark.parametrize("weight", [-0.5, NAN, float("inf"), 1e300, None, "much", "-1", "inf"])
def test_a_weight_that_is_none_is_refused_with_its_row(
    tmp_path: Path, command: Command, weight: object
) -> None:
    weights = [0.5, 1.5, weight, 1.0]
    if isinstance(weight, str):
        weights = [str(one) for one in weights]
    write(tmp_path, {"data.parquet": as_parquet(table().append_column("w", pa.array(weights)))})
    told = command("data.parquet", **columns(weight="w"))
    assert_refused(told, "1 row holds no weight (a number from 0 to 1e9) in the column 'w'; first:")
    assert "data.parquet, row 3\n" in told.err


@pytest.mark.parametrize("weight", ["0", "1e3", " 2 ", "0.000000001", "1e9"])
def test_sound_weights_are_told_nothing_of(tmp_path: Path, weight: str) -> None:
    write(tmp_path, {"data.csv": f"race,y,w\na,1,0.5\na,0,1.5\nb,1,{weight}\nb,0,1\n"})
    result = fairaudit.audit(spec(tmp_path / "data.csv", **columns(weight="w")))
    assert result.notices == ()
    (share,) = [row.estimate.value for row in result.rates if row.group == (("race", "a"),)]
    assert share == 0.25


def test_a_prediction_with_three_values_where_two_are_meant(
    tmp_path: Path, command: Command
) -> None:
    decision = {"column": "y", "positive": 1}
    write(tmp_path, {"data.csv": TEXT + "a,secret,2\n"})
    three = "'y' has more than two values: in addition to '1' there are '0', '2'"
    assert_refused(command(**columns(decision=decision)), three)
    others = "'y' holds values that are neither positive nor negative: '2'"
    assert_refused(command(), others)
    dropped = fairaudit.audit(
        spec(
            tmp_path / "data.csv",
            **columns(decision={**spec()["columns"]["decision"], "others": "drop"}),
        )
    )
    assert sizes(dropped) == EXPECTED
    assert [(line.rows, line.column) for line in dropped.ledger.dropped] == [(1, "y")]
    write(tmp_path, {"data.csv": TEXT})
    assert counted(tmp_path, **columns(decision=decision)) == EXPECTED


def test_an_id_is_refused_with_its_column_and_its_levels(tmp_path: Path, command: Command) -> None:
    rows = [f"p{at},secret,{at % 2}\n" for at in range(12_345)]
    write(tmp_path, {"data.csv": HEADER + "".join(rows)})
    assert_refused(command(), "'race' has 12,345 levels")
    write(tmp_path, {"data.csv": HEADER + "".join(rows[:100])})
    assert len(counted(tmp_path)) == 100


# Parquet: every type of a key, by both routes.

NOON = datetime(2020, 1, 1, 12, tzinfo=UTC)
ENUM = pl.Enum(["a", "b", "c"])
KEYS: dict[str, tuple[object, tuple[str, str] | None]] = {
    "texts": (["a", "a", "b", None], ("a", "b")),
    "large texts": (pa.array(["a", "a", "b", None], pa.large_string()), ("a", "b")),
    "texts as views": (pa.array(["a", "a", "b", None], pa.string_view()), ("a", "b")),
    "dictionaries": (pa.array(["a", "a", "b", None]).dictionary_encode(), ("a", "b")),
    "categoricals": (pl.Series(["a", "a", "b", None], dtype=pl.Categorical).to_arrow(), ("a", "b")),
    "enums": (pl.Series(["a", "a", "b", None], dtype=ENUM).to_arrow(), ("a", "b")),
    "booleans": (pa.array([True, True, False, None]), ("true", "false")),
    "small integers": (pa.array([7, 7, 200, None], pa.uint8()), ("7", "200")),
    "integers": (pa.array([7, 7, -2, None]), ("7", "-2")),
    "integers far apart": (
        pa.array([2**63 - 1] * 2 + [-(2**63), None]),
        (str(2**63 - 1), str(-(2**63))),
    ),
    "integers beyond 64 bits with a sign": (
        pa.array([2**63 + 1] * 2 + [2**63 + 2, None], pa.uint64()),
        (str(2**63 + 1), str(2**63 + 2)),
    ),
    "numbers": (pa.array([1.5, 1.5, 2.0, NAN]), ("1.5", "2.0")),
    "decimals": (pa.array([Decimal("1.50")] * 2 + [Decimal("2.00"), None]), ("1.50", "2.00")),
    "dates": ([date(2020, 1, 1)] * 2 + [date(2021, 1, 1), None], ("2020-01-01", "2021-01-01")),
    "moments": ([NOON, NOON, NOON + timedelta(microseconds=1), None], None),
    "times of the day": ([time(9)] * 2 + [time(9, 0, 0, 1000), None], None),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("route", [{}, {"filter": "note = 'secret'"}], ids=["codes", "filter"])
@pytest.mark.parametrize("kind", KEYS)
def test_parquet_types_of_a_key(tmp_path: Path, kind: str, route: dict[str, str]) -> None:
    values, names = KEYS[kind]
    write(tmp_path, {"data.parquet": as_parquet(table(values))})
    found = counted(tmp_path, "data.parquet", **route)
    if names is not None:
        assert set(found) == {*names, UNKNOWN}
        assert (found[names[0]], found[names[1]]) == ((1, 2), (1, 1))
    assert found.pop(UNKNOWN) == (1, 1)
    assert sorted(found.values()) == [(1, 1), (1, 2)]


ENCODINGS: dict[str, dict[str, Any]] = {
    "dictionary": {"use_dictionary": True},
    "plain": {"use_dictionary": False},
    "dictionary, then plain": {"dictionary_pagesize_limit": 20, "data_page_size": 20},
    "delta": {
        "use_dictionary": False,
        "column_encoding": {"race": "DELTA_BYTE_ARRAY", "y": "DELTA_BINARY_PACKED"},
    },
    "delta lengths": {
        "use_dictionary": False,
        "column_encoding": {"race": "DELTA_LENGTH_BYTE_ARRAY"},
    },
    "pages of the second version": {"data_page_version": "2.0", "compression": "zstd"},
    "many row groups": {"row_group_size": 3},
}  # fmt: skip


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_parquet_encodings(tmp_path: Path, encoding: str) -> None:
    levels = [f"level {at % 5}" if at % 7 else None for at in range(210)]
    content = as_parquet(table(levels, [at % 2 for at in range(210)]), **ENCODINGS[encoding])
    write(tmp_path, {"data.parquet": content})
    expected = {f"level {at}": (18, 36) for at in range(5)}
    assert counted(tmp_path, "data.parquet") == {**expected, UNKNOWN: (15, 30)}


def test_a_parquet_file_with_an_empty_row_group(tmp_path: Path) -> None:
    with pq.ParquetWriter(tmp_path / "data.parquet", table().schema) as writer:
        for part in (table(), table().slice(0, 0), table()):
            writer.write_table(part)
    assert counted(tmp_path, "data.parquet") == {"a": (2, 4), "b": (4, 4)}


# Files that go, or may not be read, or do not fit.


def test_a_file_that_is_named_but_gone(tmp_path: Path, command: Command) -> None:
    assert_refused(command("gone.csv"), "the file gone.csv does not exist")
    for name in ("loans.csv", "titanic.csv", "loans.txt.bak"):
        (tmp_path / name).touch()
    assert_refused(
        command("loanz.csv"), "the file loanz.csv does not exist; did you mean 'loans.csv'?"
    )
    assert_refused(command("data.csv", "--data", str(tmp_path / "gone.csv")), "does not exist")
    (tmp_path / "data.csv").symlink_to(tmp_path / "gone.csv")
    assert_refused(command("data.csv"), "the file data.csv does not exist")
    write(tmp_path, {"gone.csv": TEXT})
    assert counted(tmp_path) == EXPECTED


@pytest.mark.parametrize("found_as", ["exports", "exports/*.csv"])
def test_a_link_that_leads_nowhere_is_not_left_out_silently(
    tmp_path: Path, command: Command, found_as: str
) -> None:
    exports = write(tmp_path / "exports", {"1.csv": TEXT})
    (exports / "2.csv").symlink_to(tmp_path / "gone.csv")
    assert_refused(command(found_as), "2.csv")
    write(tmp_path, {"gone.csv": REVERSED})
    assert command(found_as).code == 0


def test_a_folder_that_a_link_leads_to_is_not_left_out_silently(tmp_path: Path) -> None:
    exports = write(tmp_path / "exports", {"1.csv": TEXT})
    (exports / "more").symlink_to(write(tmp_path / "elsewhere", {"2.csv": REVERSED}))
    result = fairaudit.audit(spec(exports))
    assert result.ledger.read == 8 or any("more" in notice for notice in result.notices)


def test_links_from_folder_to_folder_cost_no_more_than_the_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nine folders with links to each other have a million ways through them."""
    exports, names = tmp_path / "exports", "abcdefghi"
    for place, name in enumerate(names):
        row = TEXT.splitlines(keepends=True)[-1]
        (exports / name).mkdir(parents=True)
        write(exports / name, {"1.csv": TEXT + row * place})
        for other in names.replace(name, ""):
            (exports / name / other).symlink_to(f"../{other}")
    looked: list[Path] = []
    entries = files._entries

    def look(path: Path, *, hidden: bool) -> list[os.DirEntry[str]]:
        looked.append(path)
        return entries(path, hidden=hidden)

    monkeypatch.setattr(files, "_entries", look)
    for found_as in (exports, exports / "**" / "*.csv"):
        looked.clear()
        result = fairaudit.audit(spec(found_as))
        assert len(result.provenance.files) == len(names)
        assert len(looked) < 100


def test_folders_that_a_glob_finds_are_not_left_out_silently(tmp_path: Path) -> None:
    exports = write(tmp_path / "exports", {"1.csv": TEXT})
    write(exports / "more", {"2.csv": TEXT})
    result = fairaudit.audit(spec(exports / "*"))
    assert result.ledger.read == 8 or any("more" in notice for notice in result.notices)


@pytest.mark.parametrize("what", ["data.csv", "*.csv"])
def test_a_file_that_goes_between_two_looks(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    write(tmp_path, {"data.csv": TEXT})
    count = polars_engine.count

    def too_late(*arguments: Any) -> Any:
        (tmp_path / "data.csv").unlink()
        return count(*arguments)

    monkeypatch.setattr("fairaudit.counting.polars_engine.count", too_late)
    told = command("data.csv", "--data", str(tmp_path / what))
    assert_refused(told, what, code=3 if "*" in what else 2)


def test_a_file_that_goes_after_it_was_found(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "exports", {"1.csv": TEXT, "2.csv": TEXT})
    find = files.find_files

    def and_one_goes(*arguments: Any) -> Any:
        found = find(*arguments)
        (tmp_path / "exports" / "2.csv").unlink()
        return found

    monkeypatch.setattr("fairaudit.counting.polars_engine.find_files", and_one_goes)
    assert_refused(command("exports/*.csv"), "2.csv: No such file")


@pytest.mark.parametrize("what", ["data.csv", "*.csv"])
def test_a_file_that_goes_before_its_fault_is_located(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    write(tmp_path, {"data.csv": FIRST + "b,secret,\n"})
    told = command(what)
    assert_refused(told, "1 row has no value in the decision 'y'")
    assert "data.csv:5" in told.err
    locate = polars_engine.locate_error

    def too_late(*arguments: Any) -> DataError:
        (tmp_path / "data.csv").unlink()
        return locate(*arguments)

    monkeypatch.setattr("fairaudit.counting.polars_engine.locate_error", too_late)
    assert_refused(command(what), "1 row has no value in the decision 'y'")


@pytest.fixture
def bound(tmp_path: Path) -> Iterator[Path]:
    """A folder of somebody whom permissions bind: root is nobody while the test runs."""
    if os.name != "posix":
        pytest.skip("permissions are those of POSIX")
    # What is imported late is imported now, while it can be read.
    fairaudit.audit(spec(write(tmp_path, {"first.csv": TEXT}) / "first.csv"))
    user = os.geteuid()
    if not user:
        os.seteuid(NOBODY)
    try:
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder)
    finally:
        os.seteuid(user)


@pytest.mark.parametrize(
    ("mode", "data"),
    [(0o000, ""), (0o000, "*.csv"), (0o000, "1.csv"), (0o300, ""), (0o300, "*.csv")],
    ids=["closed", "closed, a glob", "closed, a file", "not listed", "not listed, a glob"],
)
def test_a_folder_that_may_not_be_read(bound: Path, mode: int, data: str) -> None:
    exports = write(bound / "exports", {"1.csv": TEXT})
    assert sizes(fairaudit.audit(spec(exports / data))) == EXPECTED
    exports.chmod(mode)
    try:
        with pytest.raises(DataError, match=r"exports.*Permission denied"):
            fairaudit.audit(spec(exports / data))
    finally:
        exports.chmod(0o700)


@pytest.mark.parametrize("data", ["", "**/*.csv", "*/*.csv"])
def test_a_folder_in_a_folder_that_may_not_be_read_is_not_left_out(bound: Path, data: str) -> None:
    exports = write(bound / "exports", {})
    write(exports / "1", {"1.csv": TEXT})
    inner = write(exports / "2", {"2.csv": REVERSED})
    assert sizes(fairaudit.audit(spec(exports / data)))["a"] == (2, 4)
    inner.chmod(0)
    try:
        with pytest.raises(DataError, match="Permission denied"):
            fairaudit.audit(spec(exports / data))
    finally:
        inner.chmod(0o700)


@pytest.mark.parametrize("name", ["1.csv", "1.parquet"])
def test_a_file_that_may_not_be_read(bound: Path, name: str) -> None:
    exports = write(bound / "exports", {name: PARQUET if "parquet" in name else TEXT})
    assert counted(exports, "") == EXPECTED
    (exports / name).chmod(0)
    with pytest.raises(DataError, match=rf"{re.escape(name)}: Permission denied"):
        fairaudit.audit(spec(exports))


def on_a_full_disk(folder: Path, *arguments: str, **more: Any) -> Told:
    """What the command says where no file may grow beyond 512 or 1024 bytes."""
    (folder / "spec.yaml").write_text(json.dumps(spec(**more)), encoding="utf-8")
    script = 'ulimit -f 1; exec "$@"'
    line = [sys.executable, "-B", "-m", "fairaudit", "run", str(folder / "spec.yaml"), *arguments]
    done = subprocess.run(
        ["/bin/sh", "-c", script, "sh", *line],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    return Told(done.returncode, done.stdout, done.stderr)


def test_a_report_on_a_full_disk_is_no_verdict(tmp_path: Path) -> None:
    write(tmp_path, {"data.csv": TEXT})
    output = str(tmp_path / "report.json")
    told = on_a_full_disk(tmp_path, "-q", "-o", output)
    assert_refused(told, f"-o {output}: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv", "spec.yaml"]


def test_a_full_device_is_no_verdict(tmp_path: Path, command: Command) -> None:
    if not Path("/dev/full").is_char_device():
        pytest.skip("this system has no /dev/full")
    write(tmp_path, {"data.csv": TEXT})
    assert_refused(command("data.csv", "-o", "/dev/full"), "-o /dev/full: ")
    assert Path("/dev/full").is_char_device()


@pytest.mark.long
@pytest.mark.parametrize("form", [{}, {"encoding": "latin-1"}], ids=["blank lines", "latin-1"])
def test_a_copy_that_does_not_fit_is_not_blamed_on_the_data(
    tmp_path: Path, form: dict[str, str]
) -> None:
    write(tmp_path, {"data.csv": TEXT + "\n" + LAST * 500})
    told = on_a_full_disk(tmp_path, format=form)
    assert_refused(told, "data.csv")
    assert "damaged" not in told.err
    assert re.search("too large|space|disk", told.err)


# The control total.


def totals(document: dict[str, Any]) -> set[int]:
    """Every whole number that the report tells of its one file and in its ledger."""
    (file,) = document["provenance"]["files"]
    parts = (document["provenance"], file, document["ledger"])
    return {one for part in parts for one in part.values() if isinstance(one, int)}


def test_a_record_that_swallows_others_on_request_shows_in_the_control_total(
    tmp_path: Path, command: Command
) -> None:
    rows = [f"a,{at},1\n" for at in range(400)]
    rows[100], rows[300] = 'a,"100,1\n', 'a,300",1\n'
    write(tmp_path, {"data.csv": HEADER + "".join(rows)})
    told = command("data.csv", "--format", "json", format=MULTILINE)
    assert {401, 200} <= totals(json.loads(told.out))


def test_every_report_carries_the_control_total(tmp_path: Path, command: Command) -> None:
    """Bytes, physical lines, records, rows in the cube, and what was dropped."""
    dropped = "".join(f"b,{at},2\n" for at in range(3))
    text = HEADER + "a,1,1\na,2,0\n\n" * 17 + "b,3,1\n" * 13 + "z,4,1\n" * 7 + dropped
    write(tmp_path, {"data.csv": text})
    decision = {**spec()["columns"]["decision"], "others": "drop"}
    more = {**columns(decision=decision), "filter": "race <> 'z'"}
    told = command("data.csv", "--format", "json", **more)
    document = json.loads(told.out)
    ledger, (file,) = document["ledger"], document["provenance"]["files"]
    assert (ledger["read"], ledger["counted"], ledger["filtered"]) == (57, 47, 7)
    assert [(line["rows"], line["column"]) for line in ledger["dropped"]] == [(3, "y")]
    out = ledger["filtered"] + ledger["undecided"] + sum(line["rows"] for line in ledger["dropped"])
    assert ledger["read"] == ledger["counted"] + out
    in_the_cube = sum(row["n"] for row in document["groups"] if row["by"] == ["race"])
    assert in_the_cube == ledger["counted"]
    assert file["bytes"] == len(text)
    assert text.count("\n") == 75
    assert {75, 57} <= totals(document)
    printed = command("data.csv", "--full", **more).out
    assert re.search(r"\b75\s+lines", printed)


def test_nothing_that_loses_rows_is_ever_asked_of_the_reader(tmp_path: Path) -> None:
    for path in (ROOT / "fairaudit").rglob("*.py"):
        forbidden = r"ignore_errors|truncate_ragged_lines|utf8-lossy|errors=.(replace|ignore)"
        assert not re.search(forbidden, path.read_text("utf-8")), path
    write(tmp_path, {"data.csv": TEXT})
    with pytest.raises(FairauditError, match="unknown encoding: 'utf8-lossy'"):
        fairaudit.audit(spec(tmp_path / "data.csv", format={"encoding": "utf8-lossy"}))


def test_a_name_that_no_text_can_hold_is_told(tmp_path: Path, command: Command) -> None:
    name = os.fsdecode(b"\xff.csv")
    try:
        write(tmp_path / "exports", {name: FIRST + "b,secret\n"})
    except (OSError, UnicodeError):
        pytest.skip("this file system has no such names")
    assert_refused(command("exports"), "xff.csv: the file name is not valid text")

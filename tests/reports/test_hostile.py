"""What comes from outside is inert and legible: in names, in every format, on stderr."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from unicodedata import bidirectional, category

import hostile
import polars as pl
import pytest

import fairaudit
from fairaudit.base import names
from fairaudit.base.errors import DataError, Fault, Place, SpecError
from fairaudit.base.names import describe_group
from fairaudit.cli.output import error_text
from fairaudit.report import FORMATS, Format, numbers
from fairaudit.result import Answer, AuditResult

_MACHINES = {"json", "csv", "parquet"}
"""Formats that keep every name as it is; what is a string there cannot steer anything."""


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> AuditResult:
    return hostile.audited(tmp_path_factory.mktemp("hostile <b>"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Black", "Black"),
        ("40 and over", "40 and over"),
        ("<=50K", "<=50K"),
        ("<script>", "<script>"),
        ("Côte d'Ivoire", "Côte d'Ivoire"),
        ("עברית", "עברית"),
        ("👩\u200d👩\u200d👧", "👩\u200d👩\u200d👧"),
        ("❤\ufe0f", "❤\ufe0f"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("", "''"),
        ("  ", "'  '"),
        ("line\nbreak", r"'line\nbreak'"),
        (r"line\nbreak", r"line\nbreak"),
        ("a\\b\n", r"'a\\b\n'"),
        ("\x1b[31mred", r"'\x1b[31mred'"),
        ("\u202eevil", r"'\u202eevil'"),
        ("zero\u200bwidth", r"'zero\u200bwidth'"),
        ("a\ufe0f", r"'a\ufe0f'"),
        ("a\u200d", r"'a\u200d'"),
        ("\u3164", r"'\u3164'"),
        ("no\u00a0break", r"'no\xa0break'"),
        ("\u0301", r"'\u0301'"),
        ("e\u0301", "e\u0301"),
        ("\udc80", r"'\udc80'"),
        ("\U000e0041", r"'\U000e0041'"),
        ("a, b", "'a, b'"),
        ("a × b", "'a × b'"),
        ("x=1", "'x=1'"),
        ("everybody", "'everybody'"),
        ("Not known", "'Not known'"),
        ("it's, well", '"it\'s, well"'),
        ("'quoted'", "\"'quoted'\""),
    ],
)
def test_a_name_is_one_line_that_prints(text: str, told: str) -> None:
    assert names.name(text) == told


def test_a_long_name_keeps_its_ends_and_is_told_from_others() -> None:
    texts = [f"first {'x' * 500}{end} last" for end in ("", "y", "z" * 9_000)]
    told = [names.name(text) for text in texts]
    assert len(set(told)) == len(texts)
    for one in told:
        assert one.startswith("first xx")
        assert " last#" in one
        assert names.width(one) <= names.MOST
    assert names.width(names.name("日本" * 100)) <= names.MOST
    assert names.name("x" * names.MOST) == "x" * names.MOST


def test_no_two_of_many_names_read_alike() -> None:
    signs = ["a", "\n", "\\", "n", "'", '"', " ", "=", "\u200b", ","]
    texts = ["".join(some) for size in range(5) for some in itertools.product(signs, repeat=size)]
    assert len({names.name(text) for text in texts}) == len(texts)


def test_a_group_cannot_pose_as_another() -> None:
    assert describe_group((("a", "1, b=2"),)) != describe_group((("a", "1"), ("b", "2")))
    assert describe_group((("a=b", "c"),)) != describe_group((("a", "b=c"),))
    assert numbers.group((("a", "1 × 2"),)) != numbers.group((("a", "1"), ("b", "2")))
    assert numbers.group((("a", "everybody"),)) != numbers.group(())


def rendered(one: Format, answers: list[Answer], *, all_rows: bool = False) -> str | bytes:
    return one.render(answers, all_rows=all_rows)


def _controls(text: str) -> set[str]:
    """The signs in a text that steer, but for line ends and tabs; those of emoji are allowed."""
    text = text.replace("👩\u200d👩\u200d👧", "")
    found = {sign for sign in text if category(sign) in {"Cc", "Cf", "Cs", "Zl", "Zp"}}
    return found - {"\n", "\t"}


_OWN = {"markdown": {"\u2060", "\u2068", "\u2069"}}
"""Signs that a format sets itself: around names of both directions, and where a link would start.

What isolates must be closed again.
"""


@pytest.mark.long
@pytest.mark.parametrize("one", FORMATS, ids=[one.name for one in FORMATS])
def test_every_format_renders_hostile_names_without_a_sign_that_steers(
    one: Format, result: AuditResult
) -> None:
    answers = [Answer("spec\x1b[31m.yaml", None, result)]
    for all_rows in (False, True):
        found = rendered(one, answers, all_rows=all_rows)
        if isinstance(found, str) and one.name not in _MACHINES:
            assert not _controls(found) - _OWN.get(one.name, set())
            assert found.count("\u2068") == found.count("\u2069")
            assert "x" * 1_000 not in found, "a name of 10,000 letters is shortened"


@pytest.mark.parametrize("one", FORMATS, ids=[one.name for one in FORMATS])
def test_every_format_tells_hostile_errors_without_a_sign_that_steers(one: Format) -> None:
    place = Place("spec\u202e.yaml", 1, 1)
    faults = SpecError([Fault("no level '\x1b[31m'", "metrics[0]", place, "source: \x1b]0;x\x07")])
    errors = [Answer("a\nb.yaml", "da\u202eta.csv", faults)]
    errors.append(Answer("b.yaml", None, DataError("a file \x1b[2J\udc80")))
    for answers in (errors[:1], errors[1:], errors):
        found = rendered(one, answers)
        if isinstance(found, str) and one.name not in _MACHINES:
            assert not _controls(found) - _OWN.get(one.name, set())
            found.encode("utf-8")


@pytest.mark.long
@pytest.mark.parametrize("one", FORMATS, ids=[one.name for one in FORMATS])
def test_every_format_names_every_level_or_folds_it(one: Format, result: AuditResult) -> None:
    """Plain names are found as they are, in text; what a format escapes is for its own tests."""
    found = rendered(one, [Answer("spec.yaml", None, result)], all_rows=True)
    if isinstance(found, str) and one.name in {"terminal", "json"}:
        for plain in ("עברית", "日本語の名前", "=cmd()", "a|b", "@SUM(A1)"):
            assert plain in found


def test_json_keeps_the_names_as_they_are(result: AuditResult) -> None:
    (one,) = [one for one in FORMATS if one.name == "json"]
    text = rendered(one, [Answer("spec.yaml", None, result)], all_rows=True)
    document = json.loads(text)
    told = {row["group"].get(hostile.ATTRIBUTE) for row in document["groups"]}
    assert told >= set(hostile.LEVELS)
    assert document["provenance"]["title"] == hostile.TITLE
    assert document["waivers"][0]["reason"] == hostile.REASON


def test_levels_of_blanks_are_seen() -> None:
    rows = {"group": ["", " ", "a"] * 2, "y": [1, 1, 1, 0, 0, 0], "n": [40, 50, 60] * 2}
    spec = {
        "columns": {
            "protected": ["group"],
            "decision": {"column": "y", "positive": 1},
            "count": "n",
        },
        "missing": {"tokens": []},
        "metrics": ["selection_rate"],
    }
    found = fairaudit.audit(spec, pl.DataFrame(rows))
    (terminal,) = [one for one in FORMATS if one.name == "terminal"]
    text = str(rendered(terminal, [Answer("spec", None, found)], all_rows=True))
    levels = {row.group[0][1] for row in found.groups if row.group}
    for level in levels - {"a", "(unknown)"}:
        assert f" {level!r} " in text


def _command(*arguments: str | bytes, folder: Path) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "fairaudit", *arguments]
    path = os.environ.get("PYTHONPATH", "")
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONUTF8": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)


@pytest.mark.long
def test_the_command_steers_no_terminal(tmp_path: Path) -> None:
    spec = hostile.write(tmp_path)
    steering = spec.with_name("spec\x1b[31m\u202e.yaml")
    steering.write_bytes(spec.read_bytes())
    found = _command("run", steering.name, folder=tmp_path)
    assert found.returncode == 1
    assert not _controls(found.stdout.decode() + found.stderr.decode())
    assert r"spec=spec\x1b[31m\u202e.yaml" in found.stderr.decode().splitlines()[-1]


def test_errors_steer_no_terminal_and_have_an_end(tmp_path: Path) -> None:
    spec = tmp_path / "bad\udce9\x1b[31m.yaml"
    levels = ["\x1b[31m", "\u202e", "x" * 10_000]
    tree = hostile.spec("data.csv", "")
    tree["columns"]["protected"] = {level: {"reference": level} for level in levels}
    del tree["waivers"]
    spec.write_text(json.dumps(tree), encoding="utf-8")
    (tmp_path / "data.csv").write_text("sex,decided,n\nman,no,1\n", encoding="utf-8")
    found = _command("run", os.fsencode(spec.name), folder=tmp_path)
    told = found.stderr.decode()
    assert found.returncode == 2
    assert not _controls(told + found.stdout.decode())
    assert max(map(len, told.splitlines())) < 3_000


def test_an_ordinary_sign_shows_whatever_stands_beside_it() -> None:
    signs = [sign for sign in map(chr, range(sys.maxunicode)) if names._ORDINARY.fullmatch(sign)]
    assert {*"azAZ09 ,–—…é×·ε∞≥→"} < {*signs}
    for sign in signs:
        assert sign.isprintable()
        assert category(sign)[0] != "M"
        assert bidirectional(sign) not in {"R", "AL", "LRO", "RLO"}


@pytest.mark.parametrize(
    "text",
    [
        "::stop-commands::x",
        "a ::warning::x",
        "##[add-mask]0",
        "a##[error]x",
        "##vso[task.complete result=Succeeded;]",
    ],
)
def test_a_name_gives_a_build_server_no_command(text: str) -> None:
    """As their agents find commands: `::` where a line begins, `##` and a bracket anywhere."""
    rows = {"g": [text, "a"] * 60, "y": [1, 0, 1, 0, 0, 0] * 20}
    spec = {
        "title": text,
        "context": {text: text},
        "columns": {"protected": ["g"], "decision": {"column": "y", "positive": 1}},
        "metrics": [{"metric": "demographic_parity_ratio", "fail": {"below": 0.8}}],
    }
    found = fairaudit.audit(spec, pl.DataFrame(rows))
    error = DataError(f"no level {text}", text)
    (terminal,) = [one for one in FORMATS if one.name == "terminal"]
    lines = [error_text(error)]
    lines += [
        str(rendered(terminal, [Answer(text, text, one)], all_rows=True)) for one in (found, error)
    ]
    told = "\n".join(lines)
    assert told.count(names.printable(text)) > 5
    # A terminal may break the line at any blank.
    assert not re.search(r"(?:^|\s)::|##\w*\[", told)


def test_what_is_no_command_stays_as_it_is() -> None:
    for text in ("std::vector", "# 1", "## x", "#[a]", "a: b", "10:30::1"):
        assert names.printable(text) == text

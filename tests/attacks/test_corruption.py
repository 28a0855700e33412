"""Random damage to valid files: refused, or counted as a strict reader counts; no crash."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import ATTACKS, long, seeds

import fairaudit
from fairaudit.base.errors import FairauditError
from fairaudit.base.ledger import Ledger
from fairaudit.result import AuditResult

SPEC: dict[str, Any] = {
    "columns": {
        "protected": ["race"],
        "decision": {"column": "y", "positive": "yes", "negative": "no", "others": "drop"},
        "count": "n",
    },
    "metrics": ["selection_rate"],
}
FIELDS = 4
ROUNDS = 250
INSERTED = [b'"', b",", b"\n", b"\r", b"\x00", b"\xff", b"a", b'""', b",,", b"\n\n", b" "]


NOTES = {
    "plain": ["x", "", "zz", "é"],
    "quoted": ["x", '"q, r"', "", "zz", '"a ""b"" c"'],
    "multiline": ["x", '"q\nr"', "", '"a ""b""\n\n c"'],
}


def sound(random: random.Random, kind: str) -> bytes:
    """A valid CSV file of sixty records: without quotes, with some, or over several lines."""
    lines = ["race,note,y,n"]
    for _ in range(60):
        outcome = random.choice(["yes", "no"])
        note = random.choice(NOTES[kind])
        lines.append(f"{random.choice('abc')},{note},{outcome},{random.randint(0, 9)}")
    return ("\n".join(lines) + "\n").encode()


def damaged(content: bytes, random: random.Random) -> bytes:
    """The content with one to three flips, cuts, insertions or replacements."""
    found = bytearray(content)
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(found))
        match random.randrange(5):
            case 0:
                found[at] ^= 1 << random.randrange(8)
            case 1:
                del found[at : at + random.randint(1, 12)]
            case 2:
                found[at:at] = random.choice(INSERTED)
            case 3:
                del found[max(1, at) :]
            case _:
                found[at] = random.randrange(256)
        found = found or bytearray(b"x")
    return bytes(found)


def strictly_read(content: bytes, *, multiline: bool) -> list[list[str]] | None:
    """The records of a CSV file by RFC 4180, sign by sign; None where it is no such file.

    A field is quoted as a whole or not at all; a line ends in LF or CRLF. Without `multiline` a
    record is one line and blank lines are none; with it there are no blank lines.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    rows: list[list[str]] = []
    at, size = 0, len(text)
    while at < size:
        if text.startswith(("\n", "\r\n"), at):
            if multiline or not rows:
                return None
            at = text.index("\n", at) + 1
            continue
        row: list[str] = []
        while True:
            field, at = _field(text, at, multiline=multiline)
            if field is None:
                return None
            row.append(field)
            if not text.startswith(",", at):
                break
            at += 1
        for end in ("\r\n", "\n", "\r"):
            # A carriage return may also stand where the file ends.
            if text.startswith(end, at) and (end != "\r" or at + 1 == size):
                at += len(end)
                break
        else:
            if at < size:
                return None
        rows.append(row)
    return rows if rows and all(len(row) == FIELDS for row in rows) else None


def _field(text: str, at: int, *, multiline: bool) -> tuple[str | None, int]:
    """The field that begins there and where it ends; None where it is none."""
    if not text.startswith('"', at):
        end = at
        while end < len(text) and text[end] not in ',\n\r"':
            end += 1
        # A quote may not stand in a field that does not begin with one.
        return (None, end) if text.startswith('"', end) else (text[at:end], end)
    value, at = "", at + 1
    while at < len(text):
        if text.startswith('""', at):
            value, at = value + '"', at + 2
        elif text[at] == '"':
            return value, at + 1
        elif text[at] in "\n\r" and not multiline:
            return None, at
        else:
            value, at = value + text[at], at + 1
    return None, at


def counted(rows: list[list[str]]) -> dict[str, tuple[int, int]]:
    """Selected and people by race, row by row."""
    header, *body = rows
    race, y, n = (header.index(name) for name in ("race", "y", "n"))
    people: Counter[str] = Counter()
    selected: Counter[str] = Counter()
    for row in body:
        if row[y] in {"yes", "no"}:
            group = row[race] or "(unknown)"
            people[group] += int(float(row[n]))
            selected[group] += int(float(row[n])) * (row[y] == "yes")
    return {group: (selected[group], count) for group, count in people.items() if count}


def audited(path: Path, spec: dict[str, Any] = SPEC) -> AuditResult | None:
    """The result, or None where the file is refused."""
    try:
        return fairaudit.audit(spec, path)
    except FairauditError:
        return None


@pytest.mark.long
@pytest.mark.parametrize("kind", [long("plain"), long("quoted"), "multiline"])
@pytest.mark.parametrize("seed", seeds(round(4 * ATTACKS), quick=1))
def test_damaged_csv_is_refused_or_counted_right(tmp_path: Path, kind: str, seed: int) -> None:
    chance = random.Random(seed)
    multiline = kind == "multiline"
    spec = {**SPEC, "format": {"multiline": multiline}}
    content = sound(chance, kind)
    path = tmp_path / "data.csv"
    accepted = 0
    for _ in range(ROUNDS):
        broken = damaged(content, chance)
        path.write_bytes(broken)
        result = audited(path, spec)
        if result is None:
            continue
        accepted += 1
        rows = strictly_read(broken, multiline=multiline)
        assert rows is not None, f"accepted: {broken!r}"
        assert result.ledger.read == len(rows) - 1
        found = {
            row.group[0][1]: (row.estimate.numerator, row.estimate.denominator)
            for row in result.rates
            if row.by
        }
        assert found == counted(rows)
    assert accepted > 5, "most damage is refused, but some leaves a valid file"


@pytest.mark.parametrize("kind", NOTES)
def test_sound_csv_is_counted(tmp_path: Path, kind: str) -> None:
    content = sound(random.Random(kind), kind)
    (tmp_path / "data.csv").write_bytes(content)
    result = audited(tmp_path / "data.csv", {**SPEC, "format": {"multiline": kind == "multiline"}})
    assert result is not None
    assert result.ledger.read == 60


@pytest.mark.long
@pytest.mark.parametrize("seed", seeds(round(4 * ATTACKS), quick=1))
def test_damaged_parquet_is_refused_or_reconciles(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    (tmp_path / "sound.csv").write_bytes(sound(chance, "quoted"))
    pl.read_csv(tmp_path / "sound.csv").write_parquet(tmp_path / "sound.parquet")
    content = (tmp_path / "sound.parquet").read_bytes()
    columns = {name: body for name, body in SPEC["columns"].items() if name != "count"}
    refused = 0
    for at in range(ROUNDS):
        # A file of its own each time: a reader may still map the last one into memory.
        broken = tmp_path / f"{at}.parquet"
        broken.write_bytes(damaged(content, chance))
        result = audited(broken, {**SPEC, "columns": columns})
        if result is None:
            refused += 1
        else:
            assert isinstance(result.ledger, Ledger)
            dropped = sum(line.rows for line in result.ledger.dropped)
            assert result.ledger.read == result.ledger.counted + dropped
    assert 0 < refused < ROUNDS

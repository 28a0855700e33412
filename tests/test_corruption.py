"""Random damage to valid files: refused, or counted as a strict reader counts; no crash."""

from __future__ import annotations

import csv
import random
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import fairaudit
from fairaudit.errors import FairauditError
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
INSERTED = [b'"', b",", b"\n", b"\r", b"\x00", b"\xff", b"a", b'""', b",,", b"\n\n", b" "]


def sound(random: random.Random) -> bytes:
    """A valid CSV file of sixty records, some quoted."""
    notes = ["x", '"q, r"', "", "zz", '"a ""b"" c"']
    lines = ["race,note,y,n"]
    for _ in range(60):
        outcome = random.choice(["yes", "no"])
        lines.append(
            f"{random.choice('abc')},{random.choice(notes)},{outcome},{random.randint(0, 9)}"
        )
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


def strictly_read(content: bytes) -> list[list[str]] | None:
    """The records of a CSV file, one a line, all of the same length; None where it has others."""
    try:
        lines = content.decode("utf-8-sig").split("\n")
        rows = [
            row
            for line in lines
            if (bare := line.removesuffix("\r"))
            for row in csv.reader([bare], strict=True)
        ]
    except (UnicodeDecodeError, csv.Error):
        return None
    return rows if all(len(row) == FIELDS for row in rows) else None


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


@pytest.mark.parametrize("seed", range(4))
def test_damaged_csv_is_refused_or_counted_right(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    content = sound(chance)
    path = tmp_path / "data.csv"
    accepted = 0
    for _ in range(250):
        broken = damaged(content, chance)
        path.write_bytes(broken)
        result = audited(path)
        if result is None:
            continue
        accepted += 1
        rows = strictly_read(broken)
        assert rows is not None, f"accepted: {broken!r}"
        assert result.ledger.read == len(rows) - 1
        found = {
            row.group[0][1]: (row.estimate.numerator, row.estimate.denominator)
            for row in result.rates
            if row.by
        }
        assert found == counted(rows)
    assert accepted > 5, "most damage is refused, but some leaves a valid file"


@pytest.mark.parametrize("seed", range(2))
def test_damaged_parquet_is_refused_or_reconciles(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    (tmp_path / "sound.csv").write_bytes(sound(chance))
    pl.read_csv(tmp_path / "sound.csv").write_parquet(tmp_path / "sound.parquet")
    content = (tmp_path / "sound.parquet").read_bytes()
    columns = {name: body for name, body in SPEC["columns"].items() if name != "count"}
    refused = 0
    for at in range(200):
        # A file of its own each time: a reader may still map the last one into memory.
        broken = tmp_path / f"{at}.parquet"
        broken.write_bytes(damaged(content, chance))
        result = audited(broken, {**SPEC, "columns": columns})
        if result is None:
            refused += 1
        else:
            dropped = sum(line.rows for line in result.ledger.dropped)
            assert result.ledger.read == result.ledger.counted + dropped
    assert 0 < refused < 200

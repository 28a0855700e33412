"""The same rows twice: files with the same content in one audit are refused, or reported."""

from __future__ import annotations

import codecs
import gzip
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from commands import run

import fairaudit
from fairaudit.base.errors import DataError
from fairaudit.counting.sources import SourceFile, equal_files
from fairaudit.counting.sources.equal_files import hash_rows

SPEC: dict[str, Any] = {
    "columns": {"protected": ["g"], "decision": {"column": "d", "positive": "1"}},
    "metrics": ["selection_rate", {"metric": "demographic_parity_ratio", "fail": "< 0.5"}],
}
ROWS = [("a", 1)] * 30 + [("a", 0)] * 30 + [("b", 1)] * 20 + [("b", 0)] * 40
"""Selected: 30 of 60, and 20 of 60."""


def text(rows: list[tuple[str, int]]) -> bytes:
    return b"g,d\n" + b"".join(b"%s,%d\n" % (g.encode(), d) for g, d in rows)


def write_in_members(path: Path) -> None:
    """Gzip in two members: its last bytes tell the size of the second alone."""
    content = text(ROWS)
    path.write_bytes(gzip.compress(content[:100]) + gzip.compress(content[100:]))


def write_zstd(path: Path) -> None:
    with pa.output_stream(str(path), compression="zstd") as out:
        out.write(text(ROWS))


COPIES: dict[str, Callable[[Path, Path], object]] = {
    "copy.csv": shutil.copy,
    "hard_link.csv": os.link,
    "d.csv.gz": lambda _, path: path.write_bytes(gzip.compress(text(ROWS))),
    "slow.csv.gz": lambda _, path: path.write_bytes(gzip.compress(text(ROWS), 1)),
    "members.csv.gz": lambda _, path: write_in_members(path),
    "crlf.csv": lambda _, path: path.write_bytes(text(ROWS).replace(b"\n", b"\r\n")),
    "mark.csv": lambda _, path: path.write_bytes(codecs.BOM_UTF8 + text(ROWS)),
    "no_end.csv": lambda _, path: path.write_bytes(text(ROWS)[:-1]),
    "dos.csv.gz": lambda _, path: path.write_bytes(
        gzip.compress(codecs.BOM_UTF8 + text(ROWS).replace(b"\n", b"\r\n"))
    ),
    "d.csv.zst": lambda _, path: write_zstd(path),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "data"
    found.mkdir()
    (found / "d.csv").write_bytes(text(ROWS))
    (found / "other.csv").write_bytes(text(ROWS[::-1]))  # of the same size
    return found


def counts(result: fairaudit.AuditResult) -> dict[str, tuple[int, int]]:
    table = result.group_rates(by=["g"]).filter(pl.col("metric") == "selection_rate")
    return {row["group.g"]: (row["numerator"], row["denominator"]) for row in table.to_dicts()}


def test_files_of_the_same_size_and_other_content_add_up(folder: Path) -> None:
    assert counts(fairaudit.audit(SPEC, folder)) == {"a": (60, 120), "b": (40, 120)}


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_is_refused_by_the_names_of_both(folder: Path, name: str) -> None:
    COPIES[name](folder / "d.csv", folder / name)
    data = [str(folder / "d.csv"), str(folder / name)]
    for named in (folder, f"{folder}/*", None):
        with pytest.raises(DataError, match="have the same content: their rows would") as raised:
            fairaudit.audit(SPEC if named is not None else {**SPEC, "data": data}, named)
        assert "d.csv" in raised.value.message
        assert name in raised.value.message
        assert "repeated_files: allow" in str(raised.value.hint)
        assert raised.value.exit_code == 2


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_that_the_spec_allows_is_counted_and_reported(folder: Path, name: str) -> None:
    COPIES[name](folder / "d.csv", folder / name)
    result = fairaudit.audit({**SPEC, "repeated_files": "allow"}, folder)
    assert counts(result) == {"a": (90, 180), "b": (60, 180)}
    notices = [str(n) for n in result.notices if "the same content" in str(n)]
    assert len(notices) == 1
    assert name in notices[0]


def test_more_copies_are_counted_in_the_message(folder: Path) -> None:
    for name in ("copy.csv", "d.csv.gz", "members.csv.gz"):
        COPIES[name](folder / "d.csv", folder / name)
    with pytest.raises(DataError, match="and there are 2 more copies"):
        fairaudit.audit(SPEC, folder)


def test_parquet_files_are_compared_as_well(tmp_path: Path) -> None:
    frame = pl.DataFrame(ROWS, schema=["g", "d"], orient="row").cast(pl.String)
    frame.write_parquet(tmp_path / "a.parquet")
    frame.reverse().write_parquet(tmp_path / "b.parquet")
    assert counts(fairaudit.audit(SPEC, tmp_path)) == {"a": (60, 120), "b": (40, 120)}
    shutil.copy(tmp_path / "a.parquet", tmp_path / "c.parquet")
    with pytest.raises(DataError, match=r"a\.parquet and .*c\.parquet have the same content"):
        fairaudit.audit(SPEC, tmp_path)


@pytest.mark.parametrize("size", [2**16 - 1, 2**16, 2**16 + 1, 2**16 + 2, 2**16 + 3])
def test_line_ends_at_the_ends_of_blocks_are_seen(size: int, tmp_path: Path) -> None:
    r"""A file whose blocks end within `\r\n`, and one that differs in its last row."""
    rows = [("a" * (size - 8), 1), *ROWS]
    (tmp_path / "a.csv").write_bytes(text(rows))
    (tmp_path / "b.csv").write_bytes(text([*rows[:-1], ("b", 1)]).replace(b"\n", b"\r\n"))
    fairaudit.audit(SPEC, tmp_path)
    (tmp_path / "c.csv").write_bytes(text(rows).replace(b"\n", b"\r\n"))
    with pytest.raises(DataError, match=r"a\.csv and .*c\.csv have the same content"):
        fairaudit.audit(SPEC, tmp_path)


def test_as_many_rows_in_two_formats_are_told_on_the_first_screen(folder: Path) -> None:
    """Values that a CSV file writes in another way: the rows may be the same, and may not."""
    frame = pl.DataFrame(ROWS, schema=["g", "d"], orient="row").cast({"d": pl.Float64})
    frame[1:].write_parquet(folder / "less.parquet")
    assert not any("two formats" in notice for notice in fairaudit.audit(SPEC, folder).notices)
    frame.write_parquet(folder / "d.parquet")
    (folder / "spec.yaml").write_text(json.dumps({**SPEC, "data": ["d.csv", "d.parquet"]}))
    done = run("run", folder / "spec.yaml", folder=folder)
    assert "d.csv and d.parquet have as many rows: if these are the same" in " ".join(
        done.stdout.split()
    )


def write_in_other_types(path: Path) -> None:
    frame = pl.DataFrame(ROWS, schema=["g", "d"], orient="row").select("d", "g")
    frame.cast({"g": pl.Categorical}).write_parquet(path, compression="uncompressed")


ENCODINGS: dict[str, Callable[[Path], object]] = {
    "quoted.csv": lambda path: path.write_bytes(
        b'"g","d"\n' + b"".join(b'"%s","%d"\n' % (g.encode(), d) for g, d in ROWS)
    ),
    "turned.csv": lambda path: path.write_bytes(
        b"d,g\n" + b"".join(b"%d,%s\n" % (d, g.encode()) for g, d in ROWS)
    ),
    "typed.parquet": write_in_other_types,
}


@pytest.mark.parametrize("name", ENCODINGS)
def test_the_same_rows_in_another_encoding_are_a_copy(folder: Path, name: str) -> None:
    ENCODINGS[name](folder / name)
    with pytest.raises(DataError, match="have the same content: their rows would") as raised:
        fairaudit.audit(SPEC, folder)
    assert name in raised.value.message


def test_one_other_row_makes_other_files(tmp_path: Path) -> None:
    """The first rows are equal, and one of the last is not."""
    rows = ROWS * 20
    (tmp_path / "a.csv").write_bytes(text(rows))
    (tmp_path / "b.csv").write_bytes(text([*rows[:-1], ("b", 1)]).replace(b"b,0", b'"b",0'))
    assert counts(fairaudit.audit(SPEC, tmp_path)) == {"a": (1200, 2400), "b": (801, 2400)}


def test_folders_that_spell_columns_make_other_rows(tmp_path: Path) -> None:
    frame = pl.DataFrame({"d": ["1", "0"] * 20})
    for level in "ab":
        (tmp_path / f"g={level}").mkdir()
        frame.write_parquet(tmp_path / f"g={level}" / "part.parquet")
    assert counts(fairaudit.audit(SPEC, tmp_path)) == {"a": (20, 40), "b": (20, 40)}
    shutil.copy(tmp_path / "g=a" / "part.parquet", tmp_path / "g=a" / "again.parquet")
    with pytest.raises(DataError, match="have the same content"):
        fairaudit.audit(SPEC, tmp_path)


def test_files_without_rows_repeat_nothing(folder: Path) -> None:
    for name in ("empty.csv", "hollow.csv"):
        (folder / name).write_bytes(b"g,d\n")
    assert counts(fairaudit.audit(SPEC, folder)) == {"a": (60, 120), "b": (40, 120)}


def test_other_columns_make_other_files(tmp_path: Path) -> None:
    """What is not audited counts: two people may be alike in all that is."""
    frame = pl.DataFrame(ROWS, schema=["g", "d"], orient="row").cast(pl.String)
    for number, name in enumerate(["a.parquet", "b.parquet"]):
        ids = range(number * 1000, number * 1000 + len(ROWS))
        frame.with_columns(id=pl.Series(ids)).write_parquet(tmp_path / name)
    assert counts(fairaudit.audit(SPEC, tmp_path)) == {"a": (60, 120), "b": (40, 120)}


def test_each_file_of_a_batch_is_an_audit_of_its_own(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "d.csv", folder / "copy.csv")
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        "columns: {protected: [g], decision: {column: d, positive: '1'}}\n"
        "metrics: [selection_rate]\n"
    )
    ran = run("run", spec, "--data", f"{folder}/*", "-o", f"{tmp_path}/out/")
    assert (tmp_path / "out" / "index.json").exists(), ran.stderr


def test_only_files_of_as_many_rows_are_opened(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def hear(file: SourceFile, separator: str, most: int | None = None) -> str:
        opened.append(file.path.name)
        return hash_rows(file, separator, most)

    monkeypatch.setattr(equal_files, "hash_rows", hear)
    (folder / "longer.csv").write_bytes(text([*ROWS, ("a", 1)]))
    fairaudit.audit(SPEC, folder)
    assert sorted(opened) == ["d.csv", "other.csv"]
    opened.clear()
    (folder / "longer.csv").unlink()
    (folder / "packed.csv.gz").write_bytes(gzip.compress(text([*ROWS, ("a", 1)])))
    fairaudit.audit(SPEC, folder)
    assert sorted(opened) == ["d.csv", "other.csv"]


def test_counts_refuse_copies(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "d.csv", folder / "copy.csv")
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        f"data: {folder}\n"
        "columns:\n"
        "  protected: {g: {}, x: {column: d, quantiles: 2}}\n"
        "  decision: {column: d, positive: '1'}\n"
        "metrics: [selection_rate]\n"
    )
    ran = run("count", spec, "-o", tmp_path / "part.counts")
    assert ran.returncode == 2
    assert "have the same content" in ran.stderr
    assert not (tmp_path / "part.counts").exists()


def test_counts_of_a_file_and_of_the_same_file_packed_do_not_add_up(tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    body = (
        "columns: {protected: [g], decision: {column: d, positive: '1'}}\n"
        "metrics: [selection_rate]\n"
    )
    spec.write_text(body)
    (tmp_path / "d.csv").write_bytes(text(ROWS))
    (tmp_path / "d.csv.gz").write_bytes(gzip.compress(text(ROWS)))
    for name in ("d.csv", "d.csv.gz"):
        run("count", spec, "--data", tmp_path / name, "-o", tmp_path / f"{name}.counts")
    parts = [tmp_path / "d.csv.counts", tmp_path / "d.csv.gz.counts"]
    merged = run("merge", *parts, "-o", tmp_path / "all.counts")
    assert merged.returncode == 2
    assert "the same content" in merged.stderr
    with pytest.raises(DataError, match="is already counted"):
        fairaudit.audit(body, str(tmp_path / "*.counts"))
    allowed = fairaudit.audit(f"repeated_files: allow\n{body}", str(tmp_path / "*.counts"))
    assert counts(allowed) == {"a": (60, 120), "b": (40, 120)}

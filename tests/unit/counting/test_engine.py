"""Reading: every file format gives the same counts, and what a reader does silently is refused."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import fairaudit
from fairaudit.base.errors import DataError, NothingToAudit, SpecError, UsageError
from fairaudit.counting.sources import SourceFile, csv_reader
from fairaudit.counting.sources.files import find_files
from fairaudit.result import AuditResult

TEXT = "race,note,y\na,x,1\na,x,0\nb,x,1\nb,x,1\n"
SPEC: dict[str, Any] = {
    "columns": {"protected": ["race"], "decision": {"column": "y", "positive": 1, "negative": 0}},
    "metrics": ["selection_rate"],
}


def sizes(result: AuditResult) -> dict[str, tuple[int, int]]:
    """Selected and people by group."""
    return {
        row.group[0][1]: (row.estimate.numerator or 0, row.estimate.denominator or 0)
        for row in result.rates
        if row.by
    }


def audit(data: object, **more: Any) -> AuditResult:
    """Audits a path or a frame by the spec above."""
    return fairaudit.audit({**SPEC, **more}, str(data) if isinstance(data, Path) else data)


def write(path: Path, text: str | bytes) -> Path:
    """The path, holding the text."""
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def frame() -> pl.DataFrame:
    """The rows of the text."""
    return pl.DataFrame({"race": ["a", "a", "b", "b"], "note": ["x"] * 4, "y": [1, 0, 1, 1]})


EXPECTED = {"a": (1, 2), "b": (2, 2)}


def as_zst(path: Path, text: bytes) -> None:
    """Writes a text packed with zstd."""
    with pa.output_stream(str(path), compression="zstd") as stream:
        stream.write(text)


def test_every_way_to_write_the_same_rows(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", TEXT)
    write(tmp_path / "bom.csv", b"\xef\xbb\xbf" + TEXT.encode())
    write(tmp_path / "crlf.csv", TEXT.replace("\n", "\r\n"))
    write(tmp_path / "no_end.csv", TEXT.rstrip("\n"))
    write(tmp_path / "quoted.csv", TEXT.replace("x", '"x, ""y"""'))
    write(tmp_path / "blank.csv", TEXT.replace("b,x,1\n", "b,x,1\n\n", 1) + "\n")
    write(tmp_path / "a.csv.gz", gzip.compress(TEXT.encode()))
    as_zst(tmp_path / "a.csv.zst", TEXT.encode())
    frame().write_parquet(tmp_path / "a.parquet")
    for path in sorted(tmp_path.iterdir()):
        result = audit(path)
        assert sizes(result) == EXPECTED, path.name
        assert result.ledger.read == result.ledger.counted == 4, path.name


def test_blank_lines_are_no_records_and_are_told(tmp_path: Path) -> None:
    result = audit(write(tmp_path / "a.csv", TEXT + "\n\n"))
    assert any("2 blank lines" in text for text in result.notices)


def test_other_separators_decimals_and_encodings(tmp_path: Path) -> None:
    text = "gruppe;wert\nä;0,75\nä;0,25\nö;1,5\n"
    path = write(tmp_path / "a.csv", text.encode("latin-1"))
    spec = {
        "columns": {
            "protected": {"race": {"column": "gruppe"}},
            "decision": {"column": "wert", "positive": {"at_least": 0.5}},
        },
        "format": {"separator": ";", "decimal": ",", "encoding": "latin-1"},
    }
    assert sizes(audit(path, **spec)) == {"ä": (1, 2), "ö": (1, 1)}
    utf16 = write(tmp_path / "b.csv", text.encode("utf-16"))
    spec["format"] = {"separator": ";", "decimal": ",", "encoding": "utf-16"}
    assert sizes(audit(utf16, **spec)) == {"ä": (1, 2), "ö": (1, 1)}


def test_multi_line_records_on_request(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", TEXT.replace("a,x", 'a,"x\ny"', 1))
    with pytest.raises(DataError, match=r"a\.csv:2: a quote is not closed in its line"):
        audit(path)
    result = audit(path, format={"multiline": True})
    assert sizes(result) == EXPECTED
    assert result.ledger.read == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TEXT + "a,x,1,9\n", r"csv:6: 4 fields where the header has 3"),
        (TEXT + "a,x\n", r"csv:6: 2 fields where the header has 3"),
        (TEXT.replace("x", '5" x'), r"csv:2: a quote is not closed"),
        (TEXT.replace("x", '5" x 6" y'), r"csv:2: quotes inside a field"),
        (TEXT.encode() + b"a,\xff,1\n", r"csv:6: not UTF-8"),
        (TEXT.encode("utf-16"), "UTF-16"),
        (TEXT.replace("\n", "\r"), "CR alone"),
        (b"", "the file is empty"),
        (b"\n\n", "the header is empty"),
        (b"\x00\x01\x02", "NUL bytes"),
        (TEXT + ",".join("x" * 3) + "\n" + '"a,x,1\n', r"csv:7: a quote is not closed"),
    ],
)
def test_bad_text_is_refused_with_its_line(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        audit(write(tmp_path / "data.csv", text))


def test_two_stray_quotes_far_apart_swallow_nothing(tmp_path: Path) -> None:
    lines = ["race,note,y"] + [f"a,{n},1" for n in range(2000)]
    lines[100] = 'a,"100,1'
    lines[1900] = 'a,1900",1'
    with pytest.raises(DataError, match=r"csv:101: a quote is not closed"):
        audit(write(tmp_path / "data.csv", "\n".join(lines) + "\n"))


def test_a_header_alone_leaves_nothing_to_audit(tmp_path: Path) -> None:
    with pytest.raises(NothingToAudit, match="no rows are left to audit"):
        audit(write(tmp_path / "data.csv", "race,note,y\n"))


def test_truncated_and_foreign_files(tmp_path: Path) -> None:
    packed = gzip.compress(TEXT.encode() * 5000)
    frame().write_parquet(tmp_path / "whole.parquet")
    bad = {
        "cut.csv.gz": packed[:-20],
        "no.csv.gz": TEXT.encode(),
        "cut.parquet": (tmp_path / "whole.parquet").read_bytes()[:-30],
        "text.parquet": TEXT.encode(),
    }
    for name, content in bad.items():
        with pytest.raises(DataError, match=name.replace(".", r"\.")):
            audit(write(tmp_path / name, content))


@pytest.mark.parametrize("blank", ["", "\n"])
def test_columns_of_one_name_are_one_where_they_are_equal(tmp_path: Path, blank: str) -> None:
    header = "race,note,note,y\n"
    path = write(tmp_path / "a.csv", f"{header}a,1,2,1\n{blank}a,1,2,0\n")
    assert "'note'" in audit(path).notices[0]
    equal = audit(write(tmp_path / "b.csv", f'race,y,race\na,1,a\n{blank}"b",0,b\n,1,\n'))
    assert [row.n for row in equal.groups if row.by] == [1, 1, 1]
    assert "2 columns are named 'race' in" in equal.notices[0]
    unequal = f"race,y,race\na,1,a\n{blank}a,1,b\n"
    with pytest.raises(
        DataError, match=f"c.csv:{4 if blank else 3}: several .* 'race', and differ"
    ):
        audit(write(tmp_path / "c.csv", unequal))


def test_compas_repeats_columns_whose_rows_are_equal(shared: Path) -> None:
    path = shared / "compas-scores-two-years.csv"
    spec = {
        "version": 1, "title": "COMPAS", "data": str(path), "filter": "priors_count > 2",
        "columns": {"protected": ["sex"], "decision": {"column": "decile_score",
                    "positive": {"at_least": 5}}}, "metrics": ["selection_rate"],
    }  # fmt: skip
    with path.open(newline="") as text:
        header, *rows = csv.reader(text)
    first, second = (number for number, name in enumerate(header) if name == "priors_count")
    assert all(row[first] == row[second] for row in rows)
    expected = sum(int(row[first]) > 2 for row in rows)
    result = fairaudit.audit(spec)
    assert next(row.n for row in result.groups if not row.by) == expected
    assert sum("columns are named" in notice for notice in result.notices) == 2


def test_files_are_counted_as_one_whatever_their_columns_and_types(tmp_path: Path) -> None:
    write(tmp_path / "1.csv", TEXT)
    write(tmp_path / "2.csv", "y,race\n1,a\n0,c\n")
    frame().with_columns(pl.col("y").cast(pl.Boolean)).write_parquet(tmp_path / "3.parquet")
    frame().with_columns(pl.col("y").cast(pl.Float64)).write_parquet(tmp_path / "4.parquet")
    expected = {"a": (4, 7), "b": (6, 6), "c": (0, 1)}
    assert sizes(audit(tmp_path)) == expected
    listed = [str(tmp_path / name) for name in ("1.csv", "2.csv", "3.parquet", "4.parquet")]
    assert sizes(fairaudit.audit({**SPEC, "data": listed})) == expected
    assert sizes(fairaudit.audit({**SPEC, "data": str(tmp_path / "[1-4].*")})) == expected
    write(tmp_path / "5.csv", "y\n1\n")
    with pytest.raises(SpecError, match=r"no column 'race' in .*5\.csv"):
        audit(tmp_path)


def test_paths_that_lead_nowhere(tmp_path: Path) -> None:
    with pytest.raises(NothingToAudit, match="matches no file"):
        audit(tmp_path / "*.csv")
    with pytest.raises(NothingToAudit, match="holds no file"):
        audit(tmp_path)
    with pytest.raises(DataError, match=r"x.csv does not exist\n  hint: check the path; looked "):
        audit(tmp_path / "x.csv")
    with pytest.raises(DataError, match="unknown file format"):
        audit(write(tmp_path / "x.docx", "?"))
    write(tmp_path / "x.counts", "?")
    with pytest.raises(DataError, match="a counts file cannot be read as rows"):
        audit(tmp_path / "x.c*")
    with pytest.raises(UsageError, match="no such kind of address: https://"):
        fairaudit.audit({**SPEC, "data": "https://host/x.parquet"})
    (tmp_path / "a b.csv").write_text("g,y\na,1\n")
    named = find_files([f"FILE://localhost{tmp_path}/a%20b.csv"], Path())[0]
    assert named == [tmp_path / "a b.csv"]


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([1, 0, 1, 1], pl.Int8),
        ([1.0, 0.0, 1.0, 1.0], pl.Float32),
        ([True, False, True, True], pl.Boolean),
        (["1", "0", "1", "1"], pl.Categorical),
        (["1", "0", "1", "1"], pl.String),
    ],
)
def test_parquet_types_of_an_outcome(tmp_path: Path, values: list[object], dtype: Any) -> None:
    table = frame().with_columns(pl.Series("y", values, dtype=dtype))
    table.write_parquet(tmp_path / "a.parquet")
    assert sizes(audit(tmp_path / "a.parquet")) == EXPECTED


def test_parquet_types_of_an_attribute(tmp_path: Path) -> None:
    days = [date(2020, 1, 1), date(2020, 1, 1), date(2021, 1, 1), None]
    frame().with_columns(pl.Series("race", days)).write_parquet(tmp_path / "a.parquet")
    assert sizes(audit(tmp_path / "a.parquet")) == {
        "2020-01-01": (1, 2),
        "2021-01-01": (1, 1),
        "(unknown)": (1, 1),
    }
    nested = frame().with_columns(pl.Series("race", [[1], [2], [3], [4]]))
    nested.write_parquet(tmp_path / "b.parquet")
    with pytest.raises(DataError, match="cannot be used as levels"):
        audit(tmp_path / "b.parquet")


def test_float32_is_cut_where_its_own_edge_lies(tmp_path: Path) -> None:
    scores = pl.Series("s", [0.7, 0.7, 0.69, 0.71], dtype=pl.Float32)
    frame().with_columns(scores).write_parquet(tmp_path / "a.parquet")
    columns = {
        "protected": ["race"],
        "decision": {"column": "s", "positive": {"at_least": 0.7}},
    }
    assert sizes(audit(tmp_path / "a.parquet", columns=columns)) == {"a": (2, 2), "b": (1, 2)}


@pytest.mark.parametrize("wrap", [lambda f: f, lambda f: f.lazy(), lambda f: f.to_arrow()])
def test_frames_are_read_like_files(wrap: Callable[[pl.DataFrame], object]) -> None:
    assert sizes(audit(wrap(frame()))) == EXPECTED


def test_what_is_no_frame_is_refused() -> None:
    with pytest.raises(DataError, match="the data is a int, which is not a table"):
        audit(3)


@pytest.mark.parametrize(
    ("count", "message"),
    [
        ("-1", "no count"),
        ("1.5", "no count"),
        ("", "no count"),
        ("many", "no count"),
        (str(2**53 + 1), "no count"),
    ],
)
def test_counts_are_whole_and_not_negative(tmp_path: Path, count: str, message: str) -> None:
    path = write(tmp_path / "a.csv", f"race,y,n\na,1,3\na,0,{count}\n")
    columns = {**SPEC["columns"], "count": "n"}
    with pytest.raises(DataError, match=rf"{message}.*a\.csv:3"):
        audit(path, columns=columns)


@pytest.mark.parametrize("weight", ["-0.5", "nan", "inf", "1e12", "", "x"])
def test_weights_are_numbers_from_zero(tmp_path: Path, weight: str) -> None:
    path = write(tmp_path / "a.csv", f"race,y,w\na,1,0.5\na,0,{weight}\n")
    columns = {**SPEC["columns"], "weight": "w"}
    with pytest.raises(DataError, match=r"no weight.*a\.csv:3"):
        audit(path, columns=columns)


def test_a_score_must_be_there(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "race,y,s\na,1,0.5\na,0,\n")
    columns = {**SPEC["columns"], "score": "s"}
    with pytest.raises(DataError, match=r"no value in the score 's'.*a\.csv:3"):
        audit(path, columns=columns)
    dropped = audit(path, columns=columns, missing={"score": "drop"})
    assert (dropped.ledger.counted, dropped.ledger.dropped[0].column) == (1, "s")
    assert audit(path, columns=columns, missing={"score": "aside"}).ledger.counted == 2


def test_large_counts_do_not_wrap(tmp_path: Path) -> None:
    big = 3_000_000_000
    path = write(tmp_path / "a.csv", f"race,y,n\na,1,{big}\na,1,{big}\na,0,{big}\nb,1,1\n")
    columns = {**SPEC["columns"], "count": "n"}
    assert sizes(audit(path, columns=columns))["a"] == (2 * big, 3 * big)


def test_an_unsplit_count_beyond_64_bits_is_refused(tmp_path: Path) -> None:
    rows = "".join(f"a,1,{2**53 - 1}\n" for _ in range(600))
    path = write(tmp_path / "a.csv", f"race,y,n\n{rows}b,0,1\n")
    with pytest.raises(DataError, match="64 bits"):
        audit(path, columns={**SPEC["columns"], "count": "n"})


def test_a_file_named_twice_is_read_once(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", TEXT)
    (tmp_path / "link.csv").symlink_to(path)
    result = audit(tmp_path / "*.csv")
    assert sizes(result) == EXPECTED
    assert any("named twice" in text for text in result.notices)


def test_an_empty_path_is_no_folder() -> None:
    for data in ("", "  "):
        with pytest.raises(DataError, match="an empty path"):
            audit(data)


def test_a_folder_says_what_it_leaves_out(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", TEXT)
    write(tmp_path / ".hidden.csv", TEXT)
    write(tmp_path / "b.docx", "?")
    result = audit(tmp_path)
    assert result.ledger.read == 4
    left_out = f"2 other files in {tmp_path} are not read: 'b.docx', '.hidden.csv'"
    assert left_out in result.notices
    (tmp_path / ".old").mkdir()
    write(tmp_path / ".old" / "a.csv", TEXT)
    told = f"3 other files or folders in {tmp_path} are not read: 'b.docx', '.hidden.csv', '.old/'"
    assert told in audit(tmp_path).notices


def test_a_glob_below_a_folder_with_brackets(tmp_path: Path) -> None:
    folder = tmp_path / "run[1]"
    folder.mkdir()
    write(folder / "a.csv", TEXT)
    spec = write(
        folder / "spec.yaml",
        "data: '*.csv'\ncolumns: {protected: [race], decision: {column: y, positive: 1}}\n"
        "metrics: [selection_rate]\n",
    )
    assert sizes(fairaudit.audit(spec)) == EXPECTED


def test_many_columns_are_guarded_too(tmp_path: Path) -> None:
    names = [f"c{n}" for n in range(3000)]
    rows = [["race", "y", *names], ["a", "1", *names], ["b", "0", *['"x,y"'] * 3000]]
    text = "\n".join(",".join(row) for row in rows) + "\n"
    assert sizes(audit(write(tmp_path / "a.csv", text))) == {"a": (1, 1), "b": (0, 1)}
    with pytest.raises(DataError, match=r"csv:4: 3001 fields where the header has 3002"):
        audit(write(tmp_path / "a.csv", text + ",".join(["a"] * 3001) + "\n"))


@pytest.mark.parametrize("count", ["inf", "1e400", "nan"])
def test_a_count_without_end_is_told_with_its_line(tmp_path: Path, count: str) -> None:
    path = write(tmp_path / "a.csv", f"race,y,n\na,1,3\na,0,{count}\n")
    with pytest.raises(DataError, match=r"no count.*a\.csv:3"):
        audit(path, columns={**SPEC["columns"], "count": "n"})


@pytest.mark.parametrize("form", [{"encoding": "latin-1"}, {"multiline": True}])
def test_a_truncated_file_is_told_on_every_route(tmp_path: Path, form: dict[str, Any]) -> None:
    packed = gzip.compress(b"".join(b"%d,x,1\n" % n for n in range(200_000)))
    path = write(
        tmp_path / "a.csv.gz", gzip.compress(b"race,note,y\n") + packed[: len(packed) // 2]
    )
    with pytest.raises(DataError, match=r"damaged|truncated"):
        audit(path, format=form)


def test_an_id_is_no_protected_attribute() -> None:
    many = pl.DataFrame({"race": [f"p{n}" for n in range(10_001)], "y": [0, 1] * 5000 + [1]})
    with pytest.raises(SpecError, match=r"'race' has 10,001 levels.*if it is an id"):
        audit(many)


def test_very_many_groups_are_told_not_to_be_compared_pair_by_pair() -> None:
    names = [f"p{n % 600}" for n in range(2400)]
    sites = ["x" if n % 5 else "z" for n in range(2400)]
    many = pl.DataFrame({"race": names, "site": sites, "y": [n % 2 for n in range(2400)]})
    columns = {**SPEC["columns"], "strata": ["site"]}
    result = audit(many, columns=columns, simpson={"fail": "every_stratum"})
    assert any("race has 600 groups" in text for text in result.notices)
    assert result.exit_code == 3


def test_a_file_that_changes_while_it_is_read_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.csv", TEXT)
    guard = csv_reader.check_lines

    def and_then_grows(*arguments: Any) -> SourceFile:
        found = guard(*arguments)
        write(path, TEXT + "a,x,1\n")
        return found

    monkeypatch.setenv("FAIRAUDIT_ROUTE", "lazy")  # the kernel reads it once
    monkeypatch.setattr("fairaudit.counting.sources.csv_reader.check_lines", and_then_grows)
    with pytest.raises(DataError, match="counted 5 rows, the control total is 4"):
        audit(path)

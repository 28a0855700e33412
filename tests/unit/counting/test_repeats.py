"""People with several rows: the oracle chooses one row of each in plain Python."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import fairaudit
from fairaudit import cli
from fairaudit.base.errors import DataError, SpecError, UsageError
from fairaudit.counting.routes import repeats

COLUMNS: dict[str, Any] = {
    "id": "who",
    "protected": ["g"],
    "decision": {"column": "d", "positive": 1, "negative": 0},
    "score": "s",
}
METRICS = ["selection_rate", "mean_score"]
Row = dict[str, str]


def draw(seed: int, size: int = 80) -> list[Row]:
    made = random.Random(seed)
    return [
        {
            "who": f"p{made.randrange(size // 2)}",
            "g": made.choice("ab"),
            "d": made.choice("01"),
            "s": str(made.randrange(100) / 10),
            "on": f"2024-{made.randrange(1, 13):02}-01",
            "nr": str(made.randrange(1000)),
            "year": made.choice(["2023", "2024"]),
        }
        for _ in range(size)
    ]


def choose(rows: Sequence[Row], repeats: object) -> list[Row]:
    """The row of each person that counts, among those of 2024."""
    of_person: dict[str, list[Row]] = {}
    for row in rows:
        if row["year"] == "2024":
            of_person.setdefault(row["who"], []).append(row)
    if repeats == "first":
        return [several[0] for several in of_person.values()]
    if repeats == "last":
        return [several[-1] for several in of_person.values()]
    assert isinstance(repeats, dict)
    by = [repeats["latest"]] if isinstance(repeats["latest"], str) else repeats["latest"]

    def rank(row: Row) -> tuple[Any, ...]:
        return tuple(row[column] if column == "on" else int(row[column]) for column in by)

    return [max(reversed(several), key=rank) for several in of_person.values()]


def text_of(rows: Sequence[Row]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def answers(result: fairaudit.AuditResult) -> dict[tuple[str, str], object]:
    return {
        (row.metric, dict(row.group).get("g", "")): row.estimate.value
        for row in result.rates
        if len(row.group) <= 1
    }


def audit(data: object, repeats: object, **more: object) -> fairaudit.AuditResult:
    spec: dict[str, Any] = {"columns": COLUMNS, "metrics": METRICS, "filter": "year = 2024"}
    if repeats is not None:
        spec["repeats"] = repeats
    if isinstance(data, pl.DataFrame | pl.LazyFrame):
        return fairaudit.audit({**spec, **more}, data)
    return fairaudit.audit({"data": data, **spec, **more})


def save(rows: Sequence[Row], folder: Path, form: str) -> Any:
    """The rows in two files, or in a frame."""
    if form == "frame":
        return pl.DataFrame(rows)
    if form == "lazy":
        return pl.LazyFrame(rows)
    paths = []
    for number, part in enumerate((rows[:30], rows[30:])):
        path = folder / f"{number}.{form}"
        if form == "csv":
            path.write_text(text_of(part).replace("\n", "\n\n", 1))  # with a blank line
        else:
            pl.DataFrame(part).with_columns(pl.col("on").str.to_date()).write_parquet(path)
        paths.append(str(path))
    return paths


@pytest.mark.long
@pytest.mark.parametrize("form", ["csv", "parquet", "frame", "lazy"])
@pytest.mark.parametrize(
    "repeats",
    ["first", "last", {"latest": "on"}, {"latest": ["on", "nr"]}, {"latest": ["nr", "on"]}],
    ids=str,
)
@pytest.mark.parametrize("seed", range(3))
def test_one_row_of_each_person_counts(
    tmp_path: Path, seed: int, repeats: object, form: str
) -> None:
    rows = draw(seed)
    kept = choose(rows, repeats)
    (tmp_path / "kept").mkdir()
    alone = audit(save(kept, tmp_path / "kept", "frame"), None)
    result = audit(save(rows, tmp_path, form), repeats)
    assert answers(result) == answers(alone)
    for group in "ab":
        selected = [row["d"] == "1" for row in kept if row["g"] == group]
        value = answers(result)["selection_rate", group]
        assert value == pytest.approx(sum(selected) / len(selected), rel=1e-12)
    ledger = result.ledger
    of_2024 = sum(row["year"] == "2024" for row in rows)
    assert (ledger.read, ledger.counted) == (80, len(kept))
    assert [(line.rows, line.column) for line in ledger.dropped] == [(of_2024 - len(kept), "who")]


@pytest.mark.long
@pytest.mark.parametrize("form", ["csv", "parquet", "frame"])
def test_further_passes_leave_the_same_rows_out(tmp_path: Path, form: str) -> None:
    rows = draw(7, 200)
    kept = choose(rows, "last")
    columns = {
        **COLUMNS,
        "decision": {"column": "s", "positive": {"top": "30%"}},
        "features": {"numeric": ["s"]},
    }
    more = {"columns": columns, "metrics": [*METRICS, "scoring_rate", "consistency"]}
    result = audit(save(rows, tmp_path, form), "last", **more)
    alone = audit(pl.DataFrame(kept), None, **more)
    assert answers(result) == answers(alone)


def test_a_repeat_is_an_error_unless_the_spec_says_which_row_counts(tmp_path: Path) -> None:
    rows = [dict(row, who=str(number), year="2024") for number, row in enumerate(draw(1, 40))]
    assert audit(pl.DataFrame(rows), None).ledger.counted == 40
    assert audit(pl.DataFrame(rows), "error").ledger.dropped == ()
    rows[33]["who"] = "12"
    rows[35]["who"] = "12"
    (tmp_path / "rows.csv").write_text(text_of(rows))
    with pytest.raises(DataError, match=r"2 rows repeat a person by the id 'who'; first: .*:14\n"):
        audit(str(tmp_path / "rows.csv"), None)
    with pytest.raises(DataError, match=r"2 rows repeat a person by the id 'who'; first: row 13\n"):
        audit(pl.DataFrame(rows), None)
    # Of rows that the filter leaves out nobody asks.
    rows[33]["year"] = rows[35]["year"] = "2023"
    assert audit(pl.DataFrame(rows), None).ledger.counted == 38


@pytest.mark.parametrize("same", ["12 ", " 12", "12.0"])
def test_ids_of_one_person_from_two_programs_are_the_same(same: str, tmp_path: Path) -> None:
    rows = [dict(row, who=str(number), year="2024") for number, row in enumerate(draw(1, 40))]
    rows[33]["who"] = same
    rows[34]["who"] = "12.5"
    (tmp_path / "rows.csv").write_text(text_of(rows))
    for data in (str(tmp_path / "rows.csv"), pl.DataFrame(rows)):
        with pytest.raises(DataError, match="1 row repeats a person by the id 'who'"):
            audit(data, "error")
        assert audit(data, "last").ledger.counted == 39


def test_the_latest_row_of_a_person_has_a_notice_if_its_date_means_no_date() -> None:
    rows = [dict(row, who=str(number % 20), year="2024") for number, row in enumerate(draw(1, 40))]
    for number, row in enumerate(rows):
        row["on"] = "9999-12-31" if number < 3 else "2024-01-01"
    told = [str(one) for one in audit(pl.DataFrame(rows), {"latest": "on"}).notices]
    assert any(one.startswith("on: 3 rows have a date before 1901 or after 2099") for one in told)


@pytest.mark.parametrize("blank", ["", "NA"])
def test_a_row_without_an_id_is_an_error(tmp_path: Path, blank: str) -> None:
    rows = [dict(row, who=str(number), year="2024") for number, row in enumerate(draw(1, 40))]
    rows[5]["who"] = blank
    (tmp_path / "rows.csv").write_text(text_of(rows))
    with pytest.raises(
        DataError, match=r"1 row has no value in the id column 'who'; first: .*rows.csv:7"
    ):
        audit(str(tmp_path / "rows.csv"), "first", missing={"tokens": ["NA"]})


@pytest.mark.long
@pytest.mark.parametrize("form", ["csv", "parquet", "frame", "lazy"])
@pytest.mark.parametrize(
    ("write", "told"),
    [
        (str.upper, "1 id differs"),
        (lambda who: f"{who[0]} {who[1:]}", "1 id differs"),
        (lambda who: f"{who[0]}00{who[1:]}", "1 id differs"),
        (lambda who: f" {who} ", ""),
        (lambda who: f"{who}0", ""),
    ],
)
@pytest.mark.parametrize("repeats", [None, "last"])
def test_ids_that_differ_only_in_their_spelling_have_a_notice(
    tmp_path: Path, form: str, write: Callable[[str], str], told: str, repeats: object
) -> None:
    rows = [dict(row, who=f"p{number}") for number, row in enumerate(draw(1, 40))]
    rows[7]["who"] = write(rows[8]["who"])
    if not told:
        rows[7]["who"] = write("p77")
    notices = [str(one) for one in audit(save(rows, tmp_path, form), repeats).notices]
    found = [one for one in notices if "counts as another person" in one]
    assert [one.startswith(f"'who': {told} from another") for one in found] == [True] * bool(told)


def test_the_latest_is_by_dates_or_numbers_never_by_letters() -> None:
    rows = [
        {"who": "p", "g": "a", "d": "0", "s": "1", "on": "10", "year": "2024"},
        {"who": "p", "g": "a", "d": "1", "s": "1", "on": "9", "year": "2024"},
        {"who": "q", "g": "b", "d": "1", "s": "1", "on": "1", "year": "2024"},
    ]
    by_number = audit(pl.DataFrame(rows), {"latest": "on"})
    assert answers(by_number)["selection_rate", "a"] == 0
    for row, day in zip(rows, ["02/01/2024", "01/15/2024", "01/01/2024"], strict=True):
        row["on"] = day
    with pytest.raises(DataError, match="2 rows of people with several rows hold neither a date"):
        audit(pl.DataFrame(rows), {"latest": "on"})
    with pytest.raises(DataError, match="so it is unclear which is latest") as raised:
        audit(pl.DataFrame(rows), {"latest": "on"}, dates={"on": "%d/%m/%Y"})
    assert (
        raised.value.hint
        == "`dates` says that they are written as %d/%m/%Y: correct it, or the data"
    )
    dated = audit(pl.DataFrame(rows), {"latest": "on"}, dates={"on": "%m/%d/%Y"})
    assert answers(dated)["selection_rate", "a"] == 0


def test_a_tie_is_decided_by_the_next_column_and_then_by_the_order_of_the_data() -> None:
    rows = [
        {"who": "p", "g": "a", "d": d, "s": "1", "on": on, "nr": nr, "year": "2024"}
        for d, on, nr in (
            ("0", "2024-05-01", "10"),
            ("1", "2024-05-01", "9"),
            ("1", "2023-01-01", "99"),
        )
    ]
    rows += [dict(row, who="q", g="b", nr="7") for row in rows]
    by_both = answers(audit(pl.DataFrame(rows), {"latest": ["on", "nr"]}))
    assert (by_both["selection_rate", "a"], by_both["selection_rate", "b"]) == (0, 1)
    result = audit(pl.DataFrame(rows), {"latest": "on"})
    assert answers(result)["selection_rate", "a"] == 1
    assert result.ledger.dropped[0].reason.endswith("of whom the row latest by on counts")
    rows[0]["nr"] = "ten"
    with pytest.raises(DataError, match="neither a date nor a number in 'nr'"):
        audit(pl.DataFrame(rows), {"latest": ["on", "nr"]})


def test_each_file_of_a_folder_has_its_own_people(tmp_path: Path) -> None:
    rows = [dict(row, who=str(number), year="2024") for number, row in enumerate(draw(1, 40))]
    for month in ("01", "02"):
        rows[0]["s"] = month
        (tmp_path / f"{month}.csv").write_text(text_of([*rows, rows[3]]))
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        "filter: year = 2024\nrepeats: first\n"
        "columns: {id: who, protected: [g], decision: {column: d, positive: 1}}\n"
        "metrics: [selection_rate]\n"
    )
    out = tmp_path / "out"
    assert cli.run_line(["run", str(spec), "--data", str(tmp_path / "*.csv"), "-o", f"{out}/"]) == 0
    index = (out / "index.html").read_text()
    assert index.count("40") >= 2
    both = audit([str(tmp_path / "01.csv"), str(tmp_path / "02.csv")], "first")
    assert (both.ledger.counted, both.ledger.read) == (40, 82)


def test_a_file_of_counts_remembers_how_many_rows_were_left_out(tmp_path: Path) -> None:
    rows = draw(4)
    (tmp_path / "rows.csv").write_text(text_of(rows))
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        "data: rows.csv\nrepeats: {latest: on}\n"
        "columns: {id: who, protected: [g], decision: {column: d, positive: 1}}\n"
        "metrics: [selection_rate]\n"
    )
    path = tmp_path / "rows.counts"
    assert cli.run_line(["count", str(spec), "-o", str(path)]) == 0
    direct = fairaudit.audit(spec)
    stored = fairaudit.audit(spec, data=path)
    assert answers(stored) == answers(direct)
    assert stored.ledger == direct.ledger


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"repeats": "first"}, "`repeats` needs the column that identifies people"),
        (
            {"columns": {"id": "who", "count": "s"}},
            "a row that represents several people has no id",
        ),
    ],
)
def test_a_spec_that_cannot_know_people_is_refused(spec: Mapping[str, Any], words: str) -> None:
    columns = {name: value for name, value in COLUMNS.items() if name not in {"id", "score"}}
    columns |= spec.get("columns", {})
    with pytest.raises(SpecError, match=words):
        fairaudit.audit(
            {**spec, "columns": columns, "metrics": "selection_rate"}, pl.DataFrame(draw(1))
        )


def test_a_database_is_refused_by_name(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(tmp_path / "lake.duckdb") as lake:
        lake.execute(
            "CREATE TABLE t AS SELECT 'p' AS who, 'a' AS g, 1 AS d, 1.0 AS s, 2024 AS year"
        )
    with pytest.raises(UsageError, match="fairaudit cannot leave out repeated rows of a person"):
        audit(f"duckdb:///{tmp_path}/lake.duckdb?table=t", "first")


def notices_of(text: str, tmp_path: Path, **more: Any) -> list[str]:
    (tmp_path / "people.csv").write_text(text)
    columns = {"protected": ["g"], "decision": {"column": "d", "positive": 1, "negative": 0}}
    spec = {"columns": columns | more, "metrics": ["selection_rate"]}
    return [str(notice) for notice in fairaudit.audit(spec, tmp_path / "people.csv").notices]


@pytest.mark.parametrize("seed", range(3))
def test_an_undeclared_id_that_repeats_has_a_notice(tmp_path: Path, seed: int) -> None:
    rows = draw(seed, size=60)
    rows = [{**row, "candidate_id": row["who"]} for row in rows]
    distinct = len({row["candidate_id"] for row in rows})
    assert distinct <= len(rows) / 2
    assert not [n for n in notices_of(text_of(rows), tmp_path) if "repeat" in n]
    # Mostly different values name people: each of the first rows once, and three again.
    several = [{**row, "candidate_id": f"c{n}"} for n, row in enumerate(rows)]
    several += [several[0], several[1], {**several[2], "s": "77"}]
    (said,) = [n for n in notices_of(text_of(several), tmp_path) if "repeat" in n]
    assert said.startswith("3 of 63 rows repeat a value of 'candidate_id', 2 of them in all")
    frame = pl.DataFrame(several)
    columns = {"protected": ["g"], "decision": {"column": "d", "positive": 1, "negative": 0}}
    told = fairaudit.audit({"columns": columns, "metrics": ["selection_rate"]}, frame).notices
    assert said in map(str, told)


def test_the_first_rows_of_a_large_file_are_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeats, "FIRST_ROWS", 50)
    ids = [f"c{n}" for n in range(47)] + ["c0", "c1", "c0"] + ["c2"] * 20
    rows = [
        {"g": "ab"[n % 2], "d": str(n % 3 % 2), "candidate_id": one} for n, one in enumerate(ids)
    ]
    (said,) = [n for n in notices_of(text_of(rows), tmp_path) if "repeat" in n]
    # 47 ids in 50 rows.
    assert said.startswith("3 of the first 50 rows repeat a value of 'candidate_id'")


def test_ids_that_the_spec_uses_have_no_notice(tmp_path: Path) -> None:
    rows = [{**row, "ad_id": f"a{n // 2 * 2 - n % 7 // 6}"} for n, row in enumerate(draw(1))]
    rows += rows[:1]
    for more in ({"cluster": "ad_id"}, {"count": "s"}):
        if "count" in more:
            rows = [{**row, "s": "1"} for row in rows]
        assert not [n for n in notices_of(text_of(rows), tmp_path, **more) if "repeat" in n]

"""People read one by one: the same people as the cube counts, whatever the file, and samples."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import fairaudit
from fairaudit.base.errors import DataError, SpecError
from fairaudit.counting import raw_rows
from fairaudit.counting.routes import rows
from fairaudit.cube import Rows
from fairaudit.pipeline.audit_task import AuditTask
from fairaudit.pipeline.recode import Cubes, recode
from fairaudit.pipeline.stages import count

N = 3_000


def people() -> pl.DataFrame:
    """People with everything that may leave an audit: a filter, missing values, other outcomes."""
    draw = random.Random(3)
    return pl.DataFrame(
        {
            "g": draw.choices(["a", "A ", "b", "c", None], k=N),
            "age": draw.choices([*map(str, range(18, 70)), "n/a"], k=N),
            "z": draw.choices(["x", "y", ""], k=N),
            "p": draw.choices(["yes", "no", "later"], k=N),
            "x": draw.choices(["1.5", "2", "3.25", "n/a"], k=N),
            "c": draw.choices(["u", "v", "", None], k=N),
            "keep": draw.choices(["1", "0"], k=N),
        }
    )


SPEC: dict[str, Any] = {
    "columns": {
        "protected": {
            "g": {"trim": True, "merge": {"a": ["a", "A"]}},
            "age": {"bins": [30, 50]},
        },
        "strata": ["z"],
        "prediction": {"column": "p", "positive": "yes", "negative": "no", "others": "drop"},
        "features": {"numeric": ["x"], "categorical": ["c"]},
    },
    "missing": {"tokens": ["", "n/a"], "protected": "aside", "strata": "drop"},
    "filter": "keep = 1",
    "metrics": ["consistency"],
}


def cubes_of(data: Any, spec: dict[str, Any] = SPEC) -> Cubes:
    """The cube of an audit, with people one by one."""
    task = AuditTask.read(spec)
    return recode(count(task, data), task.spec)


def rows_of(data: Any, spec: dict[str, Any] = SPEC) -> Rows:
    """The people one by one."""
    rows = cubes_of(data, spec).rows
    assert rows is not None
    return rows


def described(data: Any) -> Counter[tuple[Any, ...]]:
    """How many people have which audited levels and features, by the number of their row."""
    cubes = cubes_of(data)
    rows = cubes.rows
    assert rows is not None
    return Counter(
        (
            *cubes.cube.codes[cell].tolist(),
            *rows.features.numbers[at].tolist(),
            rows.features.levels[0][rows.features.codes[at, 0]],
            int(rows.numbers[at]),
        )
        for at, cell in enumerate(rows.cells.tolist())
    )


def test_they_are_the_people_of_the_cube() -> None:
    """By hand: who is filtered, dropped or lacks a feature; and the cell of everybody else."""
    cubes, frame = cubes_of(people()), people()
    rows = cubes.rows
    assert rows is not None
    audited = [
        (at, one)
        for at, one in enumerate(frame.rows(named=True), start=1)
        if one["keep"] == "1" and one["p"] != "later" and one["z"]
    ]
    assert rows.audited == len(audited) == int(cubes.cube.people.sum())
    whole = [(at, one) for at, one in audited if one["x"] != "n/a" and one["c"]]
    assert rows.complete == len(whole) == int(rows.n.sum()) == len(rows.people.entries)
    assert rows.missing["x"] == sum(one["x"] == "n/a" for _, one in audited)
    assert rows.missing["c"] == sum(not one["c"] for _, one in audited)
    entries = rows.people.entries
    of_people = Counter(one["x"] for _, one in whole)
    numbers = rows.people.features.numbers[:, 0]
    assert Counter(numbers.tolist()) == {float(x): n for x, n in of_people.items()}
    keys, row_of = cubes.cube.keys, dict(whole)
    for number, cell, first in zip(
        numbers, rows.cells[entries], rows.numbers[entries], strict=True
    ):
        one = row_of[int(first)]
        codes = cubes.cube.codes[cell].tolist()
        pairs = zip(keys, codes, strict=True)
        level = {key.name: key.levels[code] if code >= 0 else None for key, code in pairs}
        assert level["g"] == (None if one["g"] is None else one["g"].strip().lower())
        assert level["z"] == one["z"]
        assert level["prediction"] == one["p"]
        years = None if one["age"] == "n/a" else int(one["age"])
        bins = ("under 30", "30 to 50", "50 and over")
        assert level["age"] == (None if years is None else bins[(years >= 30) + (years >= 50)])
        assert number == float(one["x"])


def test_csv_parquet_several_files_and_frames_hold_the_same_people(tmp_path: Path) -> None:
    frame = people()
    frame.write_csv(tmp_path / "all.csv")
    frame.write_parquet(tmp_path / "all.parquet")
    (tmp_path / "parts").mkdir()
    frame[:1000].write_csv(tmp_path / "parts" / "1.csv")
    frame[1000:].write_csv(tmp_path / "parts" / "2.csv")
    expected = described(frame)
    for name in ("all.csv", "all.parquet", "parts"):
        assert described(tmp_path / name) == expected, name


def test_a_spec_that_needs_no_rows_reads_none() -> None:
    assert cubes_of(people(), {**SPEC, "metrics": ["selection_rate"]}).rows is None


def hold(monkeypatch: pytest.MonkeyPatch, entries: int) -> None:
    """Lets the memory hold so many entries, and groups them often."""
    monkeypatch.setattr(raw_rows, "most_people", lambda *_: entries)
    monkeypatch.setattr(rows, "_LEAST_HELD", 50)


def spread() -> pl.DataFrame:
    """The same people with a number that few have in common."""
    draw = random.Random(4)
    return people().with_columns(x=pl.Series([str(draw.randrange(700) / 8) for _ in range(N)]))


def test_beyond_the_memory_a_sample_is_kept_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    every = rows_of(spread())
    hold(monkeypatch, 200)
    some = rows_of(spread())
    kept = len(some.people.entries)
    assert 0 < kept <= 200
    assert some.complete == every.complete > kept
    result = fairaudit.audit(SPEC, spread())
    (told,) = [text for text in result.notices if "neighbours are farther apart" in text]
    assert f"{kept} of these" in told
    (read,) = [text for text in result.notices if "were read one by one" in text]
    assert f"{every.complete:,} of {every.audited:,} people" in read
    everybody = [row for row in result.rates if row.metric == "consistency" and not row.group]
    assert everybody[0].estimate.n == kept


@pytest.mark.long
@pytest.mark.parametrize("entries", [10**6, 200, 40])
def test_whatever_the_order_the_same_people_are_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, entries: int
) -> None:
    """Permuted, in several files, from Parquet: the same entries, to the bit."""
    hold(monkeypatch, entries)
    frame = spread()
    frame.write_parquet(tmp_path / "all.parquet")
    whole = rows_of(frame)
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=1)
    (tmp_path / "parts").mkdir()
    for at in range(3):
        frame[1000 * at : 1000 * at + 1000].write_csv(tmp_path / "parts" / f"{at}.csv")
    stored = [rows_of(tmp_path / name) for name in ("all.parquet", "parts")]
    for other in (rows_of(shuffled), *stored):
        assert other.share == whole.share
        assert other.n.tolist() == whole.n.tolist()
        assert other.cells.tolist() == whole.cells.tolist()
        assert other.features.numbers.tolist() == whole.features.numbers.tolist()
        assert other.features.codes.tolist() == whole.features.codes.tolist()
        assert other.people.entries.tolist() == whole.people.entries.tolist()
        assert other.missing == whole.missing


def test_the_budget_is_of_the_whole_process() -> None:
    """More features, fewer people; beside them Python, the libraries and the engine fit in."""
    assert raw_rows.BUDGET == 2**30
    few, many = (raw_rows.most_people(features) for features in (2, 200))
    assert 1_500_000 < few < 2_000_000
    assert 90_000 < many < 100_000
    assert many * (300 + 32 * 200) + raw_rows.PROCESS <= raw_rows.BUDGET


@pytest.mark.parametrize("word", ["oops", "inf", "-Infinity", "1e999"])
def test_a_number_that_is_none_is_refused_and_found(tmp_path: Path, word: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(f"g,p,x,z\na,1,1,u\nb,0,{word},u\n", encoding="utf-8")
    spec = {
        "columns": {
            "protected": ["g"],
            "prediction": {"column": "p", "positive": 1},
            "features": {"numeric": ["x"]},
        },
        "metrics": ["consistency"],
    }
    with pytest.raises(DataError, match=r"some of its cells are not numbers; first: .*bad.csv:3"):
        fairaudit.audit(spec, path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"columns": {"weight": "x"}}, "does not support survey weights: remove `weight`"),
        ({"columns": {"count": "x"}}, "counts several people: remove `count`"),
        ({"suppress_below": 11}, "computed from individuals"),
        (
            {"metrics": [{"metric": "consistency", "k": 0}]},
            ("the number of neighbours, must be at least 1"),
        ),
        ({"metrics": [{"metric": "situation_testing", "t": 2, "reference": "rest"}]}, "at most 1"),
        (
            {"metrics": [{"metric": "consistency", "compare": "gap"}]},
            ("is a measure of individuals and cannot have"),
        ),
        (
            {"metrics": [{"metric": "selection_rate", "k": 3}]},
            "selection_rate has no parameter `k`",
        ),
        (
            {"metrics": [{"metric": "twin_test", "reference": "overall"}]},
            "compares with one group or with the `rest`",
        ),
        (
            {"columns": {"features": {"numeric": ["x"], "categorical": ["x"]}}},
            "the feature 'x' is listed twice",
        ),
        ({"columns": {"features": {"numerical": ["x"]}}}, "under `numeric` or `categorical`"),
        ({"columns": {"features": {"numeric": ["w"]}}}, "no column 'w'"),
    ],
)
def test_what_cannot_be_asked_is_refused(change: dict[str, Any], message: str) -> None:
    changed = {**SPEC, **change, "columns": {**SPEC["columns"], **change.get("columns", {})}}
    with pytest.raises(SpecError, match=message):
        fairaudit.audit(changed, people())


def test_a_protected_feature_is_told() -> None:
    spec = {**SPEC, "columns": {**SPEC["columns"], "features": {"categorical": ["g", "c"]}}}
    result = fairaudit.audit(spec, people())
    assert any("g is protected and among the features" in text for text in result.notices)

"""People read one by one: the same people as the cube counts, whatever the file, and samples."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import fairaudit
from fairaudit.cube import Rows
from fairaudit.engine import rows as row_reader
from fairaudit.errors import DataError, SpecError
from fairaudit.pipeline import Question, count
from fairaudit.recode import Cubes, recode

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
    question = Question.read(spec)
    return recode(count(question, data), question.spec)


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
    assert rows.complete == len(whole) == len(rows.cells)
    assert rows.missing["x"] == sum(one["x"] == "n/a" for _, one in audited)
    assert rows.missing["c"] == sum(not one["c"] for _, one in audited)
    assert rows.numbers.tolist() == [at for at, _ in whole]
    keys = cubes.cube.keys
    for (_, one), cell, number in zip(whole, rows.cells, rows.features.numbers, strict=True):
        codes = cubes.cube.codes[cell].tolist()
        pairs = zip(keys, codes, strict=True)
        level = {key.name: key.levels[code] if code >= 0 else None for key, code in pairs}
        assert level["g"] == (None if one["g"] is None else one["g"].strip().lower())
        assert level["z"] == one["z"]
        assert level["prediction"] == one["p"]
        years = None if one["age"] == "n/a" else int(one["age"])
        bins = ("under 30", "30 to 50", "50 and over")
        assert level["age"] == (None if years is None else bins[(years >= 30) + (years >= 50)])
        assert number[0] == float(one["x"])


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


def test_beyond_the_memory_a_sample_is_kept_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the rows that the filter keeps so many, always the same; those audited are told."""
    every = rows_of(people())
    monkeypatch.setattr(row_reader, "most_people", lambda *_: 200)
    some, again = rows_of(people()), rows_of(people())
    kept = len(some.cells)
    assert 50 < kept < 200, "of 200 rows some leave the audit for what they have as an outcome"
    assert some.complete == every.complete
    assert some.numbers.tolist() == again.numbers.tolist()
    assert set(some.numbers.tolist()) < set(every.numbers.tolist())
    low, high = every.numbers[[0, -1]].tolist()
    assert abs(some.numbers.mean() - (low + high) / 2) < 4 * (high - low) / np.sqrt(12 * kept)
    result = fairaudit.audit(SPEC, people())
    (told,) = [text for text in result.notices if "fit into the memory" in text]
    assert f"{every.complete:,} of {every.audited:,} people" in told
    assert f"{kept} of these" in told
    everybody = [row for row in result.rates if row.metric == "consistency" and not row.group]
    assert everybody[0].estimate.n == kept


def test_categories_of_many_levels_take_more_of_the_memory() -> None:
    """Each level is a coordinate of a search; by the budget fewer people fit."""
    few, many = (row_reader.most_people(2, levels) for levels in (10, 1000))
    assert few > 3_000_000
    assert 60_000 < many < 70_000
    assert many * (100 + 32 * 2 + 16 * 1000) <= row_reader.BUDGET


def test_a_number_that_is_none_is_refused_and_found(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("g,p,x,z\na,1,1,u\nb,0,oops,u\n", encoding="utf-8")
    spec = {
        "columns": {
            "protected": ["g"],
            "prediction": {"column": "p", "positive": 1},
            "features": {"numeric": ["x"]},
        },
        "metrics": ["consistency"],
    }
    with pytest.raises(DataError, match=r"rows hold no number in it; first: .*bad.csv:3"):
        fairaudit.audit(spec, path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"columns": {"weight": "x"}}, "has no survey weights: leave out `weight`"),
        ({"columns": {"count": "x"}}, "has no counted rows: leave out `count`"),
        ({"suppress_below": 11}, "made of single people"),
        ({"metrics": [{"metric": "consistency", "k": 0}]}, "at least 1 neighbour"),
        ({"metrics": [{"metric": "situation_testing", "t": 2, "reference": "rest"}]}, "up to 1"),
        ({"metrics": [{"metric": "consistency", "compare": "gap"}]}, "takes no such key"),
        ({"metrics": [{"metric": "selection_rate", "k": 3}]}, "selection_rate takes no k"),
        (
            {"metrics": [{"metric": "twin_test", "reference": "overall"}]},
            "compares with one group, or with the `rest`",
        ),
        (
            {"columns": {"features": {"numeric": ["x"], "categorical": ["x"]}}},
            "the feature 'x' stands twice",
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

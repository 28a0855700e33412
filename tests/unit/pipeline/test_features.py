"""The data table of features, held against the rows in plain Python."""

from __future__ import annotations

import json
import math
import statistics
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st

import fairaudit
from fairaudit.base.errors import DataError, SpecError
from fairaudit.codec import read_result
from fairaudit.report import content, terminal
from fairaudit.report import json as report_json
from fairaudit.result import AuditResult
from fairaudit.result.rows import FeatureRow

Row = tuple[str | None, str | None, str, float | None, str | None, int]
NAMES = ("g", "h", "p", "age", "job", "n")
SPEC: dict[str, Any] = {
    "columns": {
        "protected": ["g", "h"],
        "decision": {"column": "p", "positive": "1", "negative": "0"},
        "count": "n",
        "features": {"numeric": ["age"], "categorical": ["job"]},
    },
    "missing": {"tokens": ["", "NA"]},
    "groups": {"by": "each"},
    "metrics": "selection_rate",
    "describe": "true",
}
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", None]),
        st.sampled_from(["x", "y"]),
        st.sampled_from(["0", "1"]),
        st.one_of(
            st.none(), st.integers(-5, 5).map(float), st.floats(0, 100).map(lambda x: round(x, 3))
        ),
        st.sampled_from(["cook", "nurse", "NA", None]),
        st.integers(1, 4),
    ),
    min_size=1,
    max_size=30,
).map(lambda rows: [("a", "x", "1", 1.0, "cook", 1), ("b", "y", "0", 2.0, "cook", 1), *rows])


def frame(rows: Sequence[Row]) -> pl.DataFrame:
    types = dict(zip(NAMES, [pl.String] * 3 + [pl.Float64, pl.String, pl.Int64], strict=True))
    return pl.DataFrame(rows, types, orient="row")


def found(result: AuditResult) -> dict[tuple[str, str, str], FeatureRow]:
    rows = {}
    for row in result.features:
        ((name, level),) = row.group or (("", ""),)
        rows[row.feature, name, level] = row
    return rows


def check_number(row: FeatureRow, values: Sequence[float | None]) -> None:
    known = sorted(value for value in values if value is not None)
    assert (row.n, row.missing) == (len(known), len(values) - len(known))
    if not known:
        assert (row.mean, row.median, row.lowest, row.deviation) == (None, None, None, None)
        return
    assert row.mean == pytest.approx(statistics.fmean(known))
    assert (row.lowest, row.highest) == (known[0], known[-1])
    assert row.median is not None
    assert row.median[0] <= known[(len(known) - 1) // 2] <= row.median[1]
    if len(known) > 1:
        assert row.deviation == pytest.approx(statistics.stdev(known), abs=1e-6)


def check_levels(row: FeatureRow, values: Sequence[str | None]) -> None:
    known = Counter(value for value in values if value not in {None, "NA"})
    n = sum(known.values())
    assert (row.n, row.missing, row.levels) == (n, len(values) - n, len(known))
    if n:
        entropy = -math.fsum(k / n * math.log2(k / n) for k in known.values())
        assert row.entropy == pytest.approx(entropy, abs=1e-12)
        assert known[row.commonest or ""] == max(known.values())
    else:
        assert (row.entropy, row.commonest) == (None, None)


def check(result: AuditResult, rows: Sequence[Row]) -> None:
    people = [row for row in rows for _ in range(row[-1])]
    told = found(result)
    groups = {("", ""): people}
    for row in people:
        for name, level in zip(("g", "h"), row[:2], strict=True):
            groups.setdefault((name, level or "(unknown)"), []).append(row)
    assert {key[1:] for key in told} == set(groups)
    for (name, level), members in groups.items():
        check_number(told["age", name, level], [row[3] for row in members])
        check_levels(told["job", name, level], [row[4] for row in members])


@given(rows=ROWS)
@examples(40)
def test_features_are_those_of_the_rows(rows: list[Row]) -> None:
    check(fairaudit.audit(SPEC, frame(rows)), rows)


@given(rows=ROWS)
@examples(20)
def test_a_label_and_a_score_that_stand_beside_change_nothing(rows: list[Row]) -> None:
    """Whether or not a metric reads them; the feature may be the score itself."""
    label = {"column": "p", "positive": "1", "negative": "0"}
    for columns in ({"label": label}, {"label": label, "score": "age"}):
        spec = {**SPEC, "columns": {**SPEC["columns"], **columns}, "missing": ASIDE}
        result = fairaudit.audit(spec, frame(rows))
        check(result, rows)
        assert bool(result.scores) is ("score" in columns)


ASIDE = {**SPEC["missing"], "score": "aside"}
ROWS_OF_FILES: list[Row] = [
    ("a", "x", "1", 30.5, "cook", 2),
    ("a", "y", "0", None, "nurse", 1),
    ("b", "x", "1", 41.0, "NA", 3),
    ("b", "y", "0", 41.0, None, 1),
    (None, "y", "1", 20.0, "cook", 1),
]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files_tell_the_same(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"people.{kind}"
    data = frame(ROWS_OF_FILES)
    data.write_csv(path) if kind == "csv" else data.write_parquet(path)
    check(fairaudit.audit(SPEC, path), ROWS_OF_FILES)


def test_only_who_the_filter_keeps_is_described() -> None:
    result = fairaudit.audit({**SPEC, "filter": "h = 'x'"}, frame(ROWS_OF_FILES))
    check(result, [row for row in ROWS_OF_FILES if row[1] == "x"])


def test_a_feature_may_be_protected_or_binned_too() -> None:
    columns = SPEC["columns"]
    features = {"numeric": ["age"], "categorical": ["job", "h"]}
    protected = {"g": {}, "h": {}, "decade": {"column": "age", "bins": [35]}}
    spec = {**SPEC, "columns": {**columns, "protected": protected, "features": features}}
    told = found(fairaudit.audit(spec, frame(ROWS_OF_FILES)))
    assert told["h", "h", "x"].entropy == 0
    assert told["h", "", ""].levels == 2
    assert told["age", "decade", "35 and over"].mean == 41
    assert told["age", "decade", "(unknown)"].missing == 1


def test_nothing_is_described_unless_it_is_asked() -> None:
    silent = fairaudit.audit({**SPEC, "describe": "false"}, frame(ROWS_OF_FILES))
    assert silent.features == ()
    assert "features" not in report_json.document(silent)
    asked = fairaudit.audit(SPEC, frame(ROWS_OF_FILES))
    assert asked.scores == silent.scores == ()
    documents = [report_json.document(result) for result in (asked, silent)]
    for document in documents:
        for member in ("features", "provenance"):
            document.pop(member, None)
    assert documents[0] == documents[1]


def test_the_page_and_json_tell_them() -> None:
    result = fairaudit.audit(SPEC, frame(ROWS_OF_FILES))
    text = terminal.render(content.document(result))
    assert "Features by group" in text
    assert "1 (12.5 %)" in text
    tree = json.loads(json.dumps(report_json.document(result)))
    assert read_result(tree).features == result.features


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"suppress_below": "11"},
            "`describe` lists levels with few people, which `suppress_below` must hide",
        ),
        ({"columns": {"features": {}}}, "`describe` needs `columns: "),
        (
            {"columns": {"weight": "n"}},
            (
                "`describe` does not support survey weights for numeric columns: remove `describe` "
                "or the weights"
            ),
        ),
    ],
)
def test_what_cannot_be_described_is_a_fault(change: dict[str, Any], message: str) -> None:
    columns = {**SPEC["columns"], **change.get("columns", {})}
    if "weight" in columns:
        del columns["count"]
    with pytest.raises(SpecError) as error:
        fairaudit.audit({**SPEC, **change, "columns": columns}, frame(ROWS_OF_FILES))
    assert message in str(error.value)


def test_one_person_has_no_deviation_and_nobody_has_nothing() -> None:
    rows: list[Row] = [("a", "x", "1", 30.0, "cook", 1), ("b", "x", "0", None, None, 1)]
    told = found(fairaudit.audit(SPEC, frame(rows)))
    alone, nobody = told["age", "g", "a"], told["age", "g", "b"]
    assert (alone.n, alone.mean, alone.deviation) == (1, 30.0, None)
    assert (nobody.n, nobody.missing, nobody.mean) == (0, 1, None)
    assert (told["job", "g", "b"].n, told["job", "g", "b"].entropy) == (0, None)


def test_a_number_that_is_none_is_told() -> None:
    data = frame(ROWS_OF_FILES).with_columns(age=pl.lit("old"))
    with pytest.raises(DataError, match="age"):
        fairaudit.audit(SPEC, data)

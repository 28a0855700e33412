"""Scores in the same pass: held against plain Python over the rows, and against scikit-learn."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from conftest import count_data, examples
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

import fairaudit
from fairaudit import spec as specs
from fairaudit.base.errors import DataError, SpecError
from fairaudit.base.frozen import field_names, replace
from fairaudit.counting.routes import chunk_counters
from fairaudit.cube import Cube, Grouping
from fairaudit.cube.histogram import Bins, bins_of, quantile, rank_error, ranked
from fairaudit.judge import Finding
from fairaudit.metrics import Rate, Requirement
from fairaudit.metrics.rates import SELECTION_RATE
from fairaudit.pipeline.audit_task import AuditTask
from fairaudit.pipeline.plan_builder import plan
from fairaudit.pipeline.recode import recode
from fairaudit.pipeline.recode.scores import Distribution, with_histogram
from fairaudit.pipeline.tables import tabulate
from fairaudit.pipeline.tables.audit import Audit
from fairaudit.pipeline.tables.lattice import scores
from fairaudit.result import AuditResult
from fairaudit.result.rows import ScoreRow
from fairaudit.spec import Spec

SPEC: dict[str, Any] = {
    "columns": {
        "protected": {"race": {}, "age": {"bins": [30]}},
        "label": {"column": "y", "positive": 1, "negative": 0},
        "score": "s",
    },
    "missing": {"label": "aside", "score": "aside"},
    "metrics": ["base_rate"],
}
Row = tuple[str | None, int, int | None, float | None, int]
SCORES = st.one_of(
    st.none(),
    st.sampled_from([0.0, 0.25, 0.5, 1.0, 1, 7, -3]),
    st.floats(0, 1),
    st.floats(-2000, 2000),
)
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", None]),
        st.integers(20, 40),
        st.sampled_from([0, 1, None]),
        SCORES,
        st.integers(1, 5),
    ),
    min_size=1,
    max_size=40,
)


def write(path: Path, rows: Sequence[Row], **options: Any) -> Path:
    """The rows as a file of the kind that its name says."""
    schema = {
        "race": pl.String, "age": pl.Int64, "y": pl.Int64, "s": pl.Float64, "n": pl.Int64
    }  # fmt: skip
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    if path.suffix == ".csv":
        frame.write_csv(path)
    else:
        pq.write_table(frame.to_arrow(), path, **options)
    return path


def group_of(result: AuditResult, name: str, level: str) -> ScoreRow:
    """The row of a group."""
    return next(row for row in result.scores if row.group == ((name, level),))


def plain_auc(rows: Sequence[Row]) -> Fraction | None:
    """P(positive above negative) + ½ P(equal), over all pairs."""
    pairs = [
        (one[3], two[3], one[4] * two[4])
        for one in rows
        for two in rows
        if one[2] == 1 and two[2] == 0 and one[3] is not None and two[3] is not None
    ]
    if not pairs:
        return None
    wins = sum((Fraction(n, 2) * ((s >= t) + (s > t)) for s, t, n in pairs), Fraction(0))
    return wins / sum(n for _, _, n in pairs)


def check_row(row: ScoreRow, rows: Sequence[Row]) -> None:
    """The row says of these rows what plain Python says."""
    people = sorted(s for _, _, _, s, n in rows if s is not None for _ in range(n))
    assert row.n == len(people)
    if max(abs(s) for s in people) < 1e-3:
        assert row.mean is None or row.mean == pytest.approx(statistics.fmean(people), abs=1e-8)
        return
    assert row.mean is not None
    assert row.mean == pytest.approx(statistics.fmean(people), abs=1e-8)
    if len(people) > 1:
        assert row.deviation == pytest.approx(statistics.stdev(people), abs=1e-6, rel=1e-9)
    assert (row.lowest, row.highest) == (people[0], people[-1])
    assert row.median is not None
    shown = (row.lowest, row.highest, *row.median)
    assert all(one != 0 or math.copysign(1, one) == 1 for one in shown), "no zero is negative"
    low, high = row.median
    assert low <= people[(len(people) - 1) // 2] <= high
    exact = plain_auc(rows)
    if exact is None:
        assert row.auc is None
    else:
        assert row.auc is not None
        assert row.auc_error is not None
        assert abs(row.auc - float(exact)) <= row.auc_error + 1e-12


def count_scores(spec: dict[str, Any], path: Path) -> list[ScoreRow]:
    """The rows of scores alone: all else that an audit lists takes most of its time."""
    task = AuditTask.read(spec)
    counts = count_data(task.plan, path)
    (score,) = Audit.of(task, counts).cubes.scores.values()
    return [*scores("s", score.summaries(), counts.medians)]


@pytest.mark.long
@given(rows=ROWS, kind=st.sampled_from(["csv", "parquet"]), group=st.integers(1, 25))
@examples(60)
def test_scores_equal_those_of_the_rows(
    rows: list[Row], kind: str, group: int, tmp_path: Path
) -> None:
    if all(row[3] is None for row in rows) or all(row[2] != 1 for row in rows):
        rows = [*rows, ("a", 30, 1, 0.5, 1)]
    path = write(tmp_path / f"rows.{kind}", rows, row_group_size=group)
    counted = {**SPEC, "columns": {**SPEC["columns"], "count": "n"}}
    for spec, people in ((SPEC, [(*row[:4], 1) for row in rows]), (counted, rows)):
        everybody, *rows_of_groups = count_scores(spec, path)
        check_row(everybody, people)
        assert everybody.median is not None
        assert everybody.median[0] == everybody.median[1]
        for row in rows_of_groups:
            ((name, level),) = row.group
            if name == "race":
                mine = [one for one in people if (one[0] or "(unknown)") == level]
            else:
                mine = [one for one in people if (one[1] < 30) is (level == "under 30")]
            check_row(row, mine)


def generated(size: int, seed: int = 0) -> list[Row]:
    """Rows with continuous scores, higher for positives."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, size)
    s = 1 / (1 + np.exp(-rng.normal(y * 0.8 - 0.4, 1.0)))
    race = rng.choice(["a", "b"], size, p=[0.7, 0.3])
    age = rng.integers(20, 40, size)
    return [
        (str(r), int(a), int(label), float(x), 1)
        for r, a, label, x in zip(race, age, y, s, strict=True)
    ]


def test_the_certificate_holds_on_many_continuous_scores(tmp_path: Path) -> None:
    rows = generated(60_000)
    result = fairaudit.audit(SPEC, write(tmp_path / "rows.parquet", rows, row_group_size=9000))
    for level in ("a", "b"):
        mine = [row for row in rows if row[0] == level]
        row = group_of(result, "race", level)
        expected = roc_auc_score([one[2] for one in mine], [one[3] for one in mine])
        assert row.auc is not None
        assert row.auc_error is not None
        assert abs(row.auc - expected) <= row.auc_error
        assert 0 < row.auc_error < 1e-4
    everybody = sorted(row[3] or 0.0 for row in rows)
    assert result.scores[0].median == (everybody[29_999], everybody[29_999])


def test_few_distinct_scores_are_exact(tmp_path: Path) -> None:
    rows = [(r, a, y, round(s or 0, 2) * 10, n) for r, a, y, s, n in generated(20_000)]
    result = fairaudit.audit(SPEC, write(tmp_path / "rows.csv", rows))
    row = group_of(result, "race", "a")
    mine = [one for one in rows if one[0] == "a"]
    assert row.auc_error == 0.0
    expected = roc_auc_score([one[2] for one in mine], [one[3] for one in mine])
    assert row.auc == pytest.approx(expected, abs=1e-12)


def test_coarser_bins_have_a_larger_error_that_still_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = generated(5_000)
    path = write(tmp_path / "rows.parquet", rows, row_group_size=700)
    fine = fairaudit.audit(SPEC, path).scores[0]
    for most in (4000, 400, 60):
        monkeypatch.setattr(chunk_counters, "_MOST_HERE", 4 * most)
        monkeypatch.setattr("fairaudit.counting.counts.MOST_ENTRIES", most)
        coarse = fairaudit.audit(SPEC, path).scores[0]
        assert coarse.auc_error is not None
        assert fine.auc_error is not None
        assert coarse.auc_error > fine.auc_error
        exact = roc_auc_score([one[2] for one in rows], [one[3] for one in rows])
        assert coarse.auc is not None
        assert abs(coarse.auc - exact) <= coarse.auc_error
        assert (coarse.mean, coarse.deviation) == (fine.mean, fine.deviation)
        assert coarse.median == fine.median


def test_the_median_is_exact_by_finer_and_finer_bins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    close = 0.5 + rng.random(3001) * 1e-9
    rows: list[Row] = [("a", 30, int(at % 2), float(s), 1) for at, s in enumerate(close)]
    monkeypatch.setattr("fairaudit.counting.routes.quantiles._BINS", 4)
    path = write(tmp_path / "rows.parquet", rows, row_group_size=100)
    found = fairaudit.audit(SPEC, path).scores[0].median
    assert found == (sorted(close)[1500],) * 2


@pytest.mark.long
@pytest.mark.parametrize("filtered", [{}, {"filter": "age >= 25"}])
def test_scores_do_not_depend_on_threads_splits_order_or_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, filtered: dict[str, str]
) -> None:
    rows = [*generated(3_000), ("c", 22, None, None, 1), (None, 33, 1, 17.5, 1)]
    whole = fairaudit.audit({**SPEC, **filtered}, write(tmp_path / "rows.parquet", rows)).scores
    as_csv = fairaudit.audit({**SPEC, **filtered}, write(tmp_path / "rows.csv", rows)).scores
    folder = tmp_path / "parts"
    folder.mkdir()
    for at in range(7):
        write(folder / f"{at}.parquet", rows[::-1][at::7], row_group_size=50)
    monkeypatch.setenv("POLARS_MAX_THREADS", "1")
    split = fairaudit.audit({**SPEC, **filtered}, folder).scores
    assert whole == as_csv == split
    assert [row.n for row in whole if row.group == (("race", "c"),)] == []
    assert len(whole) == 1 + 3 + 2


def test_scores_outside_where_most_are_get_a_notice(tmp_path: Path) -> None:
    rows = generated(100)
    path = write(tmp_path / "rows.csv", [*rows[1:], ("a", 30, 1, 57.0, 1)])
    notices = fairaudit.audit(SPEC, path).notices
    assert any("s: 1 score lies outside [0, 1]" in one for one in notices)
    assert fairaudit.audit(SPEC, write(path, rows)).notices == ()
    deciles = [(r, a, y, math.ceil((s or 0) * 10), n) for r, a, y, s, n in rows]
    assert fairaudit.audit(SPEC, write(path, deciles)).notices == ()


def test_sums_that_fill_up_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Row groups whose dictionaries stand in different orders, and tables closed in between."""
    rows = [(r, a, y, 1 + (s or 0), n) for r, a, y, s, n in generated(2_000)]
    halves = [sorted(rows[:1000]), sorted(rows[1000:], reverse=True)]
    path = write(tmp_path / "rows.parquet", [*halves[0], *halves[1]], row_group_size=100)
    assert pq.read_metadata(path).num_row_groups == 20
    expected = fairaudit.audit(SPEC, path).scores
    assert expected[0].mean is not None
    monkeypatch.setattr(chunk_counters, "_MOST", 250 * 2**31)
    assert fairaudit.audit(SPEC, path).scores == expected


def test_scores_too_large_for_sums_have_bins_all_the_same(tmp_path: Path) -> None:
    rows: list[Row] = [("a", 30, at % 2, 1e6 * at, 1) for at in range(50)]
    row = fairaudit.audit(SPEC, write(tmp_path / "rows.parquet", rows)).scores[0]
    assert (row.mean, row.deviation) == (None, None)
    notices = fairaudit.audit(SPEC, tmp_path / "rows.parquet").notices
    assert any("s: no mean and no deviation" in one for one in notices)
    tiny = [(r, a, y, (s or 0) * 1e-13, n) for r, a, y, s, n in rows]
    found = fairaudit.audit(SPEC, write(tmp_path / "tiny.csv", tiny))
    assert found.scores[0].mean is None
    assert any("s: no mean and no deviation" in one for one in found.notices)
    assert (row.lowest, row.highest, row.median) == (0.0, 49e6, (24e6, 24e6))
    assert row.auc == pytest.approx(roc_auc_score([r[2] for r in rows], [r[3] for r in rows]))


def test_a_weighted_sample_is_told_that_its_score_is_not_summarised(tmp_path: Path) -> None:
    weighted = {**SPEC, "columns": {**SPEC["columns"], "weight": "n"}}
    result = fairaudit.audit(weighted, write(tmp_path / "rows.csv", generated(50)))
    assert result.scores == ()
    assert any("s: the score of a weighted sample" in one for one in result.notices)


@given(st.lists(st.floats(allow_nan=False), min_size=2, max_size=50))
def test_bins_keep_the_order_of_scores(values: list[float]) -> None:
    ordered = np.array(sorted(values))
    bins = bins_of(ordered)
    assert np.all(np.diff(bins) >= 0)
    assert np.all(np.diff(bins_of(np.array([0.0, 1e-4, 0.5, 1.0, 1.02, 2.0, np.inf]))) > 0)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.booleans()), min_size=1),
    st.sampled_from([1, 10**9]),
)
def test_auc_is_that_of_all_pairs(bins: list[tuple[int, int, bool]], times: int) -> None:
    """Also where the products of counts pass 64 bits."""
    pos, neg, single = (np.array(column) for column in zip(*bins, strict=True))
    upper, lower = ((side * times)[None, :, None] for side in (pos, neg))
    with np.errstate(invalid="ignore"):
        area, error = (
            float(ranked(upper, lower)[0, 0]),
            float(rank_error(upper, lower, single)[0, 0]),
        )
    if not pos.sum() or not neg.sum():
        assert math.isnan(area)
        return
    places = range(len(bins))
    wins = sum(
        int(pos[i]) * int(neg[j]) * Fraction((i >= j) + (i > j), 2) for i in places for j in places
    )
    pairs = int(pos.sum()) * int(neg.sum())
    doubt = sum(int(pos[i]) * int(neg[i]) for i in places if not single[i])
    assert (area, error) == pytest.approx((float(wins / pairs), doubt / (2 * pairs)), rel=1e-13)


def test_a_quantile_says_nothing_of_nobody() -> None:
    one = Bins(np.array([1]), np.array([0.5]), np.array([0.5]))
    assert quantile(np.array([0]), one, Fraction(1, 2)) is None
    assert quantile(np.array([3]), one, Fraction(1, 2)) == (0.5, 0.5)


class Shaped(Rate):
    """A rate that asks for the histogram of the score."""

    @property
    def requirements(self) -> frozenset[Requirement]:
        return frozenset({Requirement.SCORE, Requirement.DISTRIBUTION})


def shaped(mapping: dict[str, Any]) -> Spec:
    """The spec, its one metric asking for histograms."""
    read = specs.of_mapping(mapping)
    words = {name: getattr(SELECTION_RATE, name) for name in field_names(Rate)}
    (shown,) = read.requests
    return replace(read, requests=(replace(shown, metric=Shaped(**words)),), checks=())


MODELS: dict[str, Any] = {
    **SPEC,
    "columns": {
        "protected": {"race": {}, "age": {"bins": [30]}},
        "label": {"column": "y", "positive": 1, "negative": 0},
        "models": {
            "one": {"prediction": {"column": "s", "positive": {"above": 0}}, "score": "s"},
            "two": {"score": "age"},
        },
        "strata": {"site": {"column": "y"}},
        "count": "n",
    },
    "missing": {"label": "aside", "prediction": "aside", "score": "aside"},
    "metrics": [{"metric": "selection_rate", "given": [["site"]]}],
}


def plain_counts(rows: Sequence[Row], of: str) -> dict[tuple[str, str, str, int, float], int]:
    """People by race, age, site, label (0, 1, or 2: not known) and score, by a plain loop."""
    found: dict[tuple[str, str, str, int, float], int] = {}
    for race, age, y, s, n in rows:
        score = s if of == "one" else float(age)
        if score is not None and n:
            old = "under 30" if age < 30 else "30 and over"
            site = "(unknown)" if y is None else str(y)
            key = (race or "(unknown)", old, site, 2 if y is None else y, score)
            found[key] = found.get(key, 0) + n
    return found


def check_histogram(
    cube: Cube, scores: Distribution, by: Grouping, given: Grouping, rows: Sequence[Row], of: str
) -> None:
    """The histogram of a table holds, in every bin, the people whose score lies there."""
    table = with_histogram(cube.table(by, given, of), scores)
    found = table.histogram
    assert found is not None
    assert (found.groups, found.strata) == (table.groups, table.strata)
    assert found.known.tolist() == table.known.tolist()
    expected = np.zeros_like(found.people)
    names = ("race", "age", "site")
    for key, n in plain_counts(rows, of).items():
        level = dict(zip(names, key[:3], strict=True))
        g = found.groups.index(tuple((name, level[name]) for name in by))
        z = found.strata.index(tuple((name, level[name]) for name in given))
        (b,) = np.flatnonzero((found.bins.low <= key[4]) & (key[4] <= found.bins.high))
        expected[z, key[3], g, b] += n
        assert found.low[z, g] <= key[4] <= found.high[z, g]
    assert np.array_equal(found.people, expected)
    if found.moments is not None:
        people = [[one.n for one in stratum] for stratum in found.moments]
        assert people == found.people.sum(axis=(1, 3)).tolist()


@given(rows=ROWS, kind=st.sampled_from(["csv", "parquet", "frame"]))
@examples(40)
def test_histograms_of_every_grouping_equal_those_of_the_rows(
    rows: list[Row], kind: str, tmp_path: Path
) -> None:
    rows = [*rows, ("a", 30, 1, 0.5, 1), ("b", 20, 0, 0.25, 1)]
    read = shaped(MODELS)
    two = replace(read.requests[0], of="two")
    read = replace(read, requests=(*read.requests, two))
    asked = plan(read)
    assert set(asked.scores) == {"s", "age"}
    path = write(tmp_path / f"rows.{'csv' if kind == 'frame' else kind}", rows)
    raw = count_data(asked, pl.read_csv(path)) if kind == "frame" else count_data(asked, path)
    recoded = recode(raw, read)
    for of, column in (("one", "s"), ("two", "age")):
        for by in ((), ("race",), ("age",), ("race", "age")):
            for strata in ((), ("site",)):
                score = recoded.scores[column]
                check_histogram(recoded.cube, score, by, strata, rows, of)


def test_a_histogram_tells_another_row(tmp_path: Path) -> None:
    rows: list[Row] = [("a", 30, 1, 0.5, 1), ("b", 20, 0, 0.25, 1), ("b", 20, 0, None, 1)]
    read = shaped(MODELS)
    asked = plan(read)
    path = write(tmp_path / "rows.csv", rows)
    recoded = recode(count_data(asked, path), read)
    check_histogram(recoded.cube, recoded.scores["s"], ("race",), ("site",), rows, "one")
    changed = [*rows[:2], ("b", 20, 0, 0.25, 1)]
    with pytest.raises(AssertionError):
        check_histogram(recoded.cube, recoded.scores["s"], ("race",), ("site",), changed, "one")


def test_a_grouping_within_another_is_rolled_up() -> None:
    groupings = plan(shaped(MODELS)).scores["s"]
    assert [[key.column for key in keys] for keys in groupings] == [["race", "age", "y"]]
    alone = plan(specs.of_mapping(SPEC)).scores["s"]
    assert [[key.column for key in keys] for keys in alone] == [["race", "y"], ["age", "y"]]


@pytest.mark.long
def test_tables_come_with_the_histogram_that_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of every subset of the attributes, alone and in the strata; but of no other strata."""
    tables: dict[str, Any] = {}

    def look_and_tabulate(audit: Audit, findings: tuple[Finding, ...]) -> AuditResult:
        for strata in ((), ("site",), ("age",)):
            tables[str(strata)] = audit.tables.table(("race",), strata, "one").histogram
        tables["label"] = audit.tables.table(("race",), (), "label").histogram
        return tabulate(audit, findings)

    monkeypatch.setattr("fairaudit.pipeline.stages.tabulate", look_and_tabulate)
    rows = [(r, a, y, s, 1 + y) for r, a, y, s, _ in generated(200) if y is not None]
    models = {**MODELS, "columns": {**MODELS["columns"], "strata": {"site": {"column": "n"}}}}
    del models["columns"]["count"]
    fairaudit.audit(shaped(models), write(tmp_path / "rows.csv", rows))
    assert tables["('site',)"].people.shape[:3] == (2, 3, 2)
    assert tables["()"].people.sum() == tables["('age',)"].people.sum() == 200
    assert tables["label"] is None
    alone = {**models, "metrics": ["selection_rate"], "groups": {"by": "race"}}
    fairaudit.audit(shaped(alone), tmp_path / "rows.csv")
    assert tables["()"].people.shape[:3] == (1, 3, 2)
    assert tables["('site',)"] is None
    fairaudit.audit(alone, tmp_path / "rows.csv")
    assert tables["()"] is None


def test_too_many_combinations_for_a_histogram_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "rows.parquet", generated(200))
    monkeypatch.setattr(chunk_counters, "_MOST_HERE", 4)
    with pytest.raises(DataError, match="the histograms of a score by these columns would have"):
        fairaudit.audit(SPEC, path)


def test_a_score_that_nobody_has_is_no_crash(tmp_path: Path) -> None:
    rows = [(r, a, y, None, n) for r, a, y, _, n in generated(40)]
    path = write(tmp_path / "rows.parquet", rows)
    result = fairaudit.audit({**SPEC, "metrics": ["mean_score", "auc"]}, path)
    assert result.scores == ()
    assert {row.estimate.n for row in result.rates} == {0}
    assert not [one for one in result.notices if "no mean" in one]


def test_a_measure_of_a_weighted_score_is_refused() -> None:
    weighted = {**SPEC["columns"], "weight": "w"}
    with pytest.raises(
        SpecError, match="auc adds up numbers, which is not supported with survey weights"
    ):
        specs.of_mapping({**SPEC, "columns": weighted, "metrics": ["auc"]})


@pytest.mark.parametrize(
    ("more", "entry", "message"),
    [
        ({"weight": "w"}, {}, "at a threshold does not support"),
        ({}, {"class": "1"}, "a score with a threshold has no classes"),
        ({}, {"class": "macro"}, "a score with a threshold has no classes"),
    ],
)
def test_what_a_threshold_cannot_do_is_refused(
    more: dict[str, str], entry: dict[str, str], message: str
) -> None:
    asked = {"metric": "true_positive_rate", "at": ["0.5"], **entry}
    columns = {**SPEC["columns"], "prediction": {"column": "y", "positive": 1}, **more}
    with pytest.raises(SpecError, match=message):
        specs.of_mapping({**SPEC, "columns": columns, "metrics": [asked]})


def test_a_frame_has_the_exact_median_of_a_file() -> None:
    """Bins hold several of so many scores; a filter and a column of people change the median."""
    chance = random.Random(5)
    rows = [(chance.choice("xy"), chance.random(), chance.randrange(1, 4)) for _ in range(60_000)]
    frame = pl.DataFrame(rows, ["a", "s", "n"], orient="row")
    spec = {
        "columns": {"protected": ["a"], "score": "s", "count": "n"},
        "filter": "s > 0.1",
        "metrics": ["mean_score"],
    }
    (row,) = (one for one in fairaudit.audit(spec, frame).scores if not one.by)
    truth = statistics.median_low(s for _, s, n in rows if s > 0.1 for _ in range(n))
    assert row.median == (truth, truth)

"""What a pass brings is one value: it adds up, and a file brings what a frame brings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from conftest import count_data, tally_cube

import fairaudit
from fairaudit import spec as specs
from fairaudit.base.frozen import replace
from fairaudit.counting.counts import Counts, Median
from fairaudit.pipeline.plan_builder import plan
from fairaudit.pipeline.recode import recode
from fairaudit.spec import Spec

ROOT = Path(__file__).parents[3]


def counts_of(spec: Spec, path: Path) -> Counts:
    return count_data(plan(spec), path)


@pytest.fixture
def halves(tmp_path: Path) -> tuple[Path, Path, Path]:
    """All rows, and two parts of them with levels that the other has not."""
    rows = pl.read_csv(ROOT / "sample_data" / "loans.csv", infer_schema=False)
    first = pl.struct("race", "gender").rank("dense") == 1
    parts = {"all": rows, "first": rows.filter(first), "second": rows.filter(~first)}
    paths = {name: tmp_path / f"{name}.csv" for name in parts}
    for name, part in parts.items():
        part.write_csv(paths[name])
    return paths["all"], paths["first"], paths["second"]


@pytest.mark.long
@pytest.mark.parametrize("name", ["loans", "loans_score"])
def test_counts_of_two_files_add_up_to_those_of_both(
    name: str, halves: tuple[Path, Path, Path]
) -> None:
    spec = specs.load(ROOT / "audit_specs" / f"{name}.yaml")
    whole, first, second = (counts_of(spec, path) for path in halves)
    total = first + second
    assert total.read == whole.read
    assert len(total.files) == 2
    assert not total.medians
    cubes, expected = recode(total, spec), recode(whole, spec)
    assert tally_cube(cubes.cube) == tally_cube(expected.cube)
    for column, score in expected.scores.items():
        pairs = zip(cubes.scores[column].summaries(), score.summaries(), strict=True)
        for own, other in pairs:
            assert own.groups == other.groups
            assert own.moments == other.moments
            for part in ("people", "everybody", "low", "high"):
                assert np.array_equal(getattr(own, part), getattr(other, part))


def test_tiny_weights_and_others_add_up_as_in_one_pass(tmp_path: Path) -> None:
    mapping = {
        "columns": {
            "protected": ["g"],
            "decision": {"column": "y", "positive": 1},
            "weight": "w",
        },
        "metrics": ["selection_rate"],
    }
    spec = specs.of_mapping(mapping)
    (tmp_path / "tiny.csv").write_text("g,y,w\na,1,0.0000000001\nb,0,0.0000000002\n")
    (tmp_path / "large.csv").write_text("g,y,w\na,1,2.5\nb,1,1\n")
    total = counts_of(spec, tmp_path / "tiny.csv") + counts_of(spec, tmp_path / "large.csv")
    whole = count_data(plan(spec), [tmp_path / "tiny.csv", tmp_path / "large.csv"])
    for counts in (total, whole):
        assert counts.weights is not None
        assert counts.weights.total.scale == 10**9
        assert sum(counts.weights.total.values.tolist()) == 3_500_000_000
        assert counts.weights.error == 2e-10
    weights = counts_of(spec, tmp_path / "tiny.csv").weights
    assert weights is not None
    assert (sum(weights.total.values.tolist()), weights.total.scale) == (300_000_000, 10**18)


def test_counts_of_other_plans_are_refused(halves: tuple[Path, Path, Path]) -> None:
    loans, score = (
        counts_of(specs.load(ROOT / "audit_specs" / f"{name}.yaml"), halves[0])
        for name in ("loans", "loans_score")
    )
    with pytest.raises(ValueError, match="different plans"):
        _ = loans + score


SCORED = {
    "columns": {"protected": ["g"], "label": {"column": "y", "positive": 1}, "score": "s"},
    "missing": {"label": "drop"},
    "metrics": ["auc"],
}


def scored(path: Path, *, labelled: int) -> list[float]:
    """Writes 4,001 rows with a score, of which every so many has no label; the scores of others."""
    lines = [
        f"{'ab'[n % 2]},{n % 3 % 2 if (n + 1) % labelled else ''},{0.25 + n / 1e9}"
        for n in range(4001)
    ]
    path.write_text("\n".join(["g,y,s", *lines]) + "\n")
    return [0.25 + n / 1e9 for n in range(4001) if (n + 1) % labelled]


def test_the_exact_median_comes_with_the_counts_of_a_file_as_of_a_frame(tmp_path: Path) -> None:
    spec, path = specs.of_mapping(SCORED), tmp_path / "rows.csv"
    scores = scored(path, labelled=5000)
    by_frame = count_data(plan(spec), pl.read_csv(path))
    for counts in (counts_of(spec, path), by_frame):
        assert counts.medians == {"s": Median(scores[2000], 4001)}
    for data in (path, pl.read_csv(path)):
        (row,) = (row for row in fairaudit.audit(spec, data).scores if not row.by)
        assert row.median == (scores[2000], scores[2000])


def test_a_median_of_other_people_is_not_printed(tmp_path: Path) -> None:
    """Rows without a label leave the audit, and its histograms, but not the column of scores."""
    path = tmp_path / "rows.csv"
    scores = scored(path, labelled=5)
    (row,) = (row for row in fairaudit.audit(SCORED, path).scores if not row.by)
    assert row.n == len(scores) < 4001
    assert row.median is not None
    low, high = row.median
    assert low <= scores[(len(scores) - 1) // 2] <= high
    assert low < high


def test_without_suppression_alone_is_a_median_asked_for() -> None:
    spec = specs.load(ROOT / "audit_specs" / "loans_score.yaml")
    assert plan(spec).medians == ("score",)
    assert plan(replace(spec, suppress_below=10)).medians == ()


def test_the_score_of_a_row_that_counts_nobody_is_nobodys() -> None:
    spec = {
        "columns": {
            "protected": ["sex"],
            "label": {"column": "y", "positive": "1"},
            "score": "s",
            "count": "n",
        },
        "metrics": ["auc"],
    }
    rows = [("f", "1", 0.9, 0), ("f", "0", 0.1, 0), ("f", "1", 0.6, 5), ("f", "0", 0.4, 5)]
    frame = pl.DataFrame(rows, schema=["sex", "y", "s", "n"], orient="row")
    found = fairaudit.audit(spec, frame)
    assert {(row.n, row.lowest, row.highest) for row in found.scores} == {(10, 0.4, 0.6)}

"""ε over Θ from given draws: against plain loops, raw ε, Theorem 3.2, and every fault of a file."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from evidence_specs import YES

import fairaudit
from fairaudit.base.errors import FairauditError, SpecError
from fairaudit.codec import read_result
from fairaudit.judge import Status
from fairaudit.report.json import render
from fairaudit.report.provenance import provenance as describe_origin

CELLS = {
    ("x", "m"): (26, 162), ("x", "n"): (5, 18), ("y", "m"): (71, 96), ("y", "n"): (88, 177),
}  # fmt: skip
METRICS = [
    {"metric": "differential_fairness", "model": "draws"},
    "differential_fairness_posterior_mean",
    "differential_fairness",
]


def frame() -> pl.DataFrame:
    rows = [(*g, p, n) for g, (k, m) in CELLS.items() for p, n in ((1, k), (0, m - k))]
    return pl.DataFrame(rows, ["a", "b", "p", "n"], orient="row")


def spec(*metrics: Any, **more: Any) -> dict[str, Any]:
    columns = {"protected": ["a", "b"], "prediction": {"column": "p", **YES}, "count": "n"}
    return {"columns": columns, "metrics": [*metrics], **more}


def posterior(count: int, seed: int = 1) -> list[dict[str, Any]]:
    """Draws of Beta posteriors as a long table."""
    draw = np.random.default_rng(seed)
    return [
        {"draw": d, "a": a, "b": b, "outcome": y, "probability": p if y == "1" else 1 - p}
        for d in range(count)
        for (a, b), (k, m) in CELLS.items()
        for p in [float(draw.beta(k + 1, m - k + 1))]
        for y in ("1", "0")
    ]


def saved(rows: list[dict[str, Any]], folder: Path, name: str = "theta.parquet") -> Path:
    table = pl.DataFrame(rows)
    path = folder / name
    if path.suffix == ".parquet":
        table.write_parquet(path)
    else:
        table.write_csv(path)
    return path


def epsilon(shares: dict[Any, float]) -> float:
    return max(
        max(abs(math.log(p / q)), abs(math.log((1 - p) / (1 - q))))
        for p, q in combinations(shares.values(), 2)
    )


def by_draw(rows: list[dict[str, Any]], keys: tuple[str, ...]) -> list[float]:
    """ε of each draw in a subset: shares are means over the parts, by their people."""
    found = []
    for d in sorted({row["draw"] for row in rows}):
        hits: dict[Any, float] = {}
        people: dict[Any, int] = {}
        for row in rows:
            if row["draw"] == d and row["outcome"] == "1":
                group, n = tuple(row[key] for key in keys), CELLS[row["a"], row["b"]][1]
                hits[group] = hits.get(group, 0.0) + n * row["probability"]
                people[group] = people.get(group, 0) + n
        found.append(epsilon({group: hits[group] / n for group, n in people.items()}))
    return found


@pytest.mark.parametrize("name", ["theta.parquet", "theta.csv"])
def test_epsilon_of_the_draws_is_that_of_plain_loops_for_every_subset(
    tmp_path: Path, name: str
) -> None:
    rows = posterior(60)
    result = fairaudit.audit(spec(*METRICS), frame(), draws=saved(rows, tmp_path, name))
    found = {(row.metric, row.by): row.estimate for row in result.comparisons}
    for by in (("a",), ("b",), ("a", "b")):
        epsilons = by_draw(rows, by)
        assert found["differential_fairness_draws", by].value == pytest.approx(max(epsilons))
        mean = found["differential_fairness_posterior_mean", by]
        assert mean.value == pytest.approx(np.mean(epsilons))
        ends = np.quantile(epsilons, [0.025, 0.975])
        assert (mean.low, mean.high) == pytest.approx(tuple(ends))
    whole = found["differential_fairness_draws", ("a", "b")].value
    for by in (("a",), ("b",)):
        # Theorem 3.2 bounds each subset by 2ε; of means by people it is at most ε.
        assert found["differential_fairness_draws", by].value <= whole + 1e-12 <= 2 * whole


def test_the_observed_shares_as_the_only_draw_give_the_raw_epsilon(tmp_path: Path) -> None:
    rows = [{"draw": 0, "a": a, "b": b, "probability": k / m} for (a, b), (k, m) in CELLS.items()]
    path = saved([*rows, {"draw": 0, "a": "never", "b": "m", "probability": 0.5}], tmp_path)
    result = fairaudit.audit(spec(*METRICS), frame(), draws=path)
    found = {(row.metric, row.by): row.estimate.value for row in result.comparisons}
    for by in (("a",), ("b",), ("a", "b")):
        raw = found["differential_fairness", by]
        assert found["differential_fairness_draws", by] == pytest.approx(raw)


def test_a_limit_is_held_against_all_draws_and_the_interval_is_no_test(tmp_path: Path) -> None:
    rows = posterior(60)
    path = saved(rows, tmp_path)
    metric = {**METRICS[0], "fail": {"above": max(by_draw(rows, ("a", "b"))) - 0.01}}  # type: ignore[dict-item]
    (finding,) = fairaudit.audit(spec(metric, draws=str(path)), frame()).findings
    assert finding.status is Status.FAIL
    limit = {"above": 0.1, "significant": True}
    mean = {"metric": "differential_fairness_posterior_mean", "fail": limit}
    with pytest.raises(SpecError, match="ε of a draw is never 0"):
        fairaudit.audit(spec(mean, draws=str(path)), frame())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: [{**rows[0], "probability": 1.2}, *rows[1:]], "does not lie from 0 to 1"),
        (lambda rows: [{**rows[0], "probability": None}, *rows[1:]], "does not lie from 0 to 1"),
        (lambda rows: [{**rows[0], "probability": 0.999}, *rows[1:]], "do not add up to 1"),
        (lambda rows: [*rows, rows[0]], "a draw of this group twice"),
        (lambda rows: rows[2:], "draw '0' has no row for x × m"),
        (lambda rows: [row for row in rows if row["a"] != "y"], "no values for a=y, b=m"),
        (lambda rows: [{**row, "a": row["a"].upper()} for row in rows], "no values for a=x, b=m"),
        (lambda rows: [{**row, "outcome": "y" + row["outcome"]} for row in rows], "the outcome"),
        (lambda rows: [{**row, "a": None} for row in rows], "a missing value"),
        (lambda rows: [{k: v for k, v in row.items() if k != "draw"} for row in rows], "'draw'"),
        (lambda rows: rows[:0], "no column"),
    ],
)
def test_a_fault_of_the_draws_says_where_and_what_to_do(
    tmp_path: Path, change: Any, message: str
) -> None:
    path = saved(change(posterior(3)), tmp_path)
    with pytest.raises(FairauditError, match=message) as error:
        fairaudit.audit(spec(*METRICS), frame(), draws=path)
    assert "theta.parquet" in str(error.value)
    assert error.value.hint


def test_draws_by_one_attribute_serve_that_one_alone(tmp_path: Path) -> None:
    rows = [{"draw": 0, "a": a, "probability": p} for a, p in (("x", 0.2), ("y", 0.5))]
    path = saved(rows, tmp_path)
    asked = spec({**METRICS[0], "by": ["a"]}, groups={"by": "each"})  # type: ignore[dict-item]
    (row,) = fairaudit.audit(asked, frame(), draws=path).comparisons
    assert row.estimate.value == pytest.approx(math.log(0.5 / 0.2))


def test_a_spec_without_draws_is_refused() -> None:
    with pytest.raises(FairauditError, match="no `draws`"):
        fairaudit.audit(spec(METRICS[0]), frame())


def test_the_provenance_names_the_draws_and_their_hash(tmp_path: Path) -> None:
    path = saved(posterior(5), tmp_path)
    result = fairaudit.audit(spec(*METRICS, draws=str(path)), frame())
    origin = result.provenance
    assert origin.draws == str(path)
    assert origin.draws_sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert f"sha256 {origin.draws_sha256[:12]}" in str([*describe_origin(result)])
    document = json.loads(render(result))
    assert document["provenance"]["draws"] == str(path)
    assert document["provenance"]["draws_sha256"] == origin.draws_sha256
    assert read_result(document).provenance == origin


def test_without_draws_the_provenance_names_none() -> None:
    result = fairaudit.audit(spec("differential_fairness"), frame())
    assert result.provenance.draws is None
    assert not {"draws", "draws_sha256"} & {*json.loads(render(result))["provenance"]}


def test_the_shipped_draws_are_those_of_their_seed(tmp_path: Path) -> None:
    samples = Path(__file__).parents[3] / "sample_data"
    for name in ("make_theta.py", "loans.csv"):
        shutil.copy(samples / name, tmp_path)
    subprocess.run([sys.executable, "make_theta.py"], cwd=tmp_path, check=True)
    theta = "loans_theta.csv"
    assert (tmp_path / theta).read_bytes() == (samples / theta).read_bytes()

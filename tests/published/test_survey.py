"""Žliobaitė's survey (2017): the limits in Table 4, and a small version of Figure 2.

A tiny set of people is selected in three ways: everybody but the protected, half of either group,
nobody but the protected.
"""

from __future__ import annotations

import importlib.util
import math
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import ROOT, long

import fairaudit

BENCHMARKS = ROOT / "benchmarks"
SIZES = [(4, 4), (2, 6), (6, 2)]
"""Protected people and others."""
COLUMNS: Mapping[str, Any] = {
    "protected": {"person": {"reference": "other"}},
    "decision": {"column": "decision", "positive": 1},
}


def entropy(share: float) -> float:
    """Of a yes or no, in bits."""
    return -sum(p * math.log2(p) for p in (share, 1 - share))


LIMITS: dict[str, tuple[float, float, float] | Callable[[float], tuple[float, float, float]]] = {
    "mean_difference": (1, 0, -1),
    "normalized_difference": (1, 0, -1),
    "normalized_mutual_information": (1, 0, 1),
    "disparate_impact_ratio": (0, 1, math.inf),
    "selection_odds_ratio": (0, 1, math.inf),
    "between_group_auc": (1, 0.5, 0),
    # Not in the table, or not as it has them: a limit that depends on the share of the protected.
    "elift": lambda share: (0, 1, 1 / share),
    "mutual_information": lambda share: (entropy(share), 0, entropy(share)),
    "eta_neutrality": lambda share: (
        1 / min(share, 1 - share) - 1,
        0,
        1 / min(share, 1 - share) - 1,
    ),
    "correlation": (-1, 0, 1),
    "predictability": (1, 0.5, 1),
    "majority_baseline": lambda share: (max(share, 1 - share), 0.5, max(share, 1 - share)),
    "goodman_kruskal_lambda": (1, 0, 1),
    "cramers_v": (1, 0, 1),
}
"""At full discrimination, at none, and at reverse discrimination."""


def people(sizes: tuple[int, int], kind: int) -> pl.DataFrame:
    """The people of one of the three ways; all of them qualify."""
    selected = [(0, 1), (0.5, 0.5), (1, 0)][kind]
    groups = zip(("protected", "other"), sizes, selected, strict=True)
    rows = [
        (group, int(at < share * size), 1) for group, size, share in groups for at in range(size)
    ]
    return pl.DataFrame(rows, ["person", "decision", "label"], orient="row")


def of_protected(metric: object, data: pl.DataFrame, columns: Mapping[str, Any] = COLUMNS) -> float:
    """The value of the protected group, or of all groups together."""
    rows = fairaudit.audit({"columns": columns, "metrics": [metric]}, data).comparisons
    (found,) = [one for one in rows if one.group in {None, (("person", "protected"),)}]
    return found.estimate.value


@pytest.mark.parametrize("sizes", [SIZES[0], *map(long, SIZES[1:])])
@pytest.mark.parametrize("metric", list(LIMITS))
def test_limits_of_table_4(metric: str, sizes: tuple[int, int]) -> None:
    limits = LIMITS[metric]
    expected = limits(sizes[0] / sum(sizes)) if callable(limits) else limits
    found = [of_protected(metric, people(sizes, kind)) for kind in range(3)]
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("sizes", SIZES)
def test_cohens_h_ends_at_pi(sizes: tuple[int, int]) -> None:
    metric = {"metric": "selection_rate", "compare": "cohens_h"}
    found = [of_protected(metric, people(sizes, kind)) for kind in range(3)]
    assert found == pytest.approx((-math.pi, 0, math.pi), abs=1e-12)


@pytest.mark.parametrize("sizes", SIZES)
def test_balanced_residuals_end_at_one(sizes: tuple[int, int]) -> None:
    """Everybody qualifies: whoever is not selected is predicted too low by 1."""
    columns = {
        "protected": COLUMNS["protected"],
        "label": {"column": "label", "positive": 1, "negative": 0},
        "prediction": COLUMNS["decision"],
    }
    data = [people(sizes, kind) for kind in range(3)]
    metric = {"metric": "balanced_residuals", "of": "prediction"}
    found = [of_protected(metric, one, columns) for one in data]
    assert found == pytest.approx((1, 0, -1), abs=1e-12)


@pytest.mark.parametrize("sizes", SIZES)
def test_a_score_has_the_limits_of_the_area(sizes: tuple[int, int]) -> None:
    columns = {**COLUMNS, "score": "decision"}
    data = [people(sizes, kind) for kind in range(3)]
    found = [of_protected("between_group_auc_score", one, columns) for one in data]
    assert found == pytest.approx((1, 0.5, 0), abs=1e-12)


@pytest.fixture(scope="module")
def ranking() -> ModuleType:
    """The generator of the benchmark."""
    path = BENCHMARKS / "ranking.py"
    if not path.is_file():
        pytest.skip("the benchmarks are not beside the tests")
    named = importlib.util.spec_from_file_location("ranking", path)
    assert named is not None
    assert named.loader is not None
    module = importlib.util.module_from_spec(named)
    sys.modules["ranking"] = module
    named.loader.exec_module(module)
    return module


def drawn(
    ranking: ModuleType, shares: tuple[float, float], level: float, **more: Any
) -> pl.DataFrame:
    """A large data set with a known level of discrimination."""
    random = np.random.default_rng(2017)
    protected, selected = ranking.draw(random, 100_000, ranking.Setting(*shares), level, **more)
    person = np.where(protected, "protected", "other")
    return pl.DataFrame({"person": person, "decision": selected.astype(int)})


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("level", [-0.6, 0.3])
@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.9, 0.9), (0.3, 0.1)])
def test_normalized_difference_finds_what_was_injected(
    ranking: ModuleType, shares: tuple[float, float], level: float, exact: bool
) -> None:
    data = drawn(ranking, shares, level, exact=exact)
    assert of_protected("normalized_difference", data) == pytest.approx(level, abs=0.04)


@pytest.mark.parametrize("shares", [(0.9, 0.9), (0.3, 0.1)])
def test_mean_difference_finds_less_where_the_shares_allow_less(
    ranking: ModuleType, shares: tuple[float, float]
) -> None:
    largest = ranking.Setting(*shares).largest(0.6)
    assert largest < 0.5
    found = of_protected("mean_difference", drawn(ranking, shares, 0.6))
    assert found == pytest.approx(0.6 * largest, abs=0.02)
    assert found < 0.6 / 2


@pytest.mark.parametrize("level", [-1, 1])
def test_full_discrimination_is_the_largest_that_the_shares_allow(
    ranking: ModuleType, level: int
) -> None:
    shares = (0.7, 0.2)
    data = drawn(ranking, shares, level, exact=True)
    largest = ranking.Setting(*shares).largest(level)
    assert of_protected("mean_difference", data) == pytest.approx(level * largest)
    assert of_protected("normalized_difference", data) == pytest.approx(level)


@pytest.mark.long
def test_the_benchmark_runs(ranking: ModuleType, tmp_path: Path) -> None:
    assert ranking.__file__ is not None
    script = Path(ranking.__file__).with_name("survey.py")
    options = ["--rows", "300", "--repetitions", "2", "--svg", str(tmp_path)]
    ran = subprocess.run(
        [sys.executable, str(script), *options], capture_output=True, text=True, check=True
    )
    assert "| 90% | 90% | normalized difference | -1.000 |" in ran.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figure-2.svg", "figure-3.svg"]

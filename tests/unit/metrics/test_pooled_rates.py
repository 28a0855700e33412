"""Rates and ε by partial pooling, through the whole tool."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from evidence_specs import YES

import fairaudit
from fairaudit.base.errors import SpecError
from fairaudit.judge import Status
from fairaudit.stats.pooling import pool_shares

CELLS = {
    ("x", "m"): (26, 162), ("x", "n"): (5, 18), ("x", "o"): (32, 124),
    ("y", "m"): (71, 96), ("y", "n"): (88, 177), ("y", "o"): (38, 103),
    ("z", "m"): (132, 187), ("z", "n"): (0, 1), ("z", "o"): (0, 3),
}  # fmt: skip
POOLED = {"metric": "differential_fairness", "model": "pooled"}


def frame(cells: Any) -> pl.DataFrame:
    rows = [(*g, p, n) for g, (k, m) in cells.items() for p, n in ((1, k), (0, m - k))]
    return pl.DataFrame(rows, ["a", "b", "p", "n"], orient="row")


def spec(*metrics: Any, **more: Any) -> dict[str, Any]:
    prediction = {"column": "p", **YES}
    columns = {"protected": ["a", "b"], "prediction": prediction, "count": "n"}
    return {"columns": columns, "metrics": [*metrics], **more}


def test_each_group_has_its_pooled_rate_beside_the_raw_one() -> None:
    asked = spec("selection_rate", {"metric": "selection_rate", "model": "pooled"})
    rows = [row for row in fairaudit.audit(asked, frame(CELLS)).rates if len(row.group) == 2]
    found = {
        tuple(level for _, level in row.group): row.estimate
        for row in rows
        if row.metric == "pooled_selection_rate"
    }
    groups = sorted(CELLS)
    hits, trials = (np.array([CELLS[g][i] for g in groups], np.float64) for i in (0, 1))
    levels = np.array([["xyz".index(a) for a, _ in groups], ["mno".index(b) for _, b in groups]])
    shares = pool_shares(hits, trials, levels)
    low, high = shares.ends(0.05)
    for at, group in enumerate(groups):
        value = found[group]
        assert value.value == pytest.approx(shares.mean[at], abs=1e-9)
        assert (value.low, value.high) == pytest.approx((low[at], high[at]), abs=1e-9)
        assert value.method == "credible, partial pooling"


def test_epsilon_is_that_of_the_pooled_means_and_finite_where_raw_is_not() -> None:
    asked = spec("differential_fairness", {**POOLED, "fail": {"above": 0.3, "significant": True}})
    result = fairaudit.audit(asked, frame(CELLS))
    (finding,) = result.findings
    groups = sorted(CELLS)
    hits, trials = (np.array([CELLS[g][i] for g in groups], np.float64) for i in (0, 1))
    levels = np.array([["xyz".index(a) for a, _ in groups], ["mno".index(b) for _, b in groups]])
    mean = pool_shares(hits, trials, levels).mean
    expected = max(math.log(side.max() / side.min()) for side in (mean, 1 - mean))
    assert finding.estimate is not None
    assert finding.estimate.value == pytest.approx(expected, abs=1e-9)
    assert finding.estimate.low is not None
    assert finding.estimate.high is not None
    assert finding.estimate.low < expected < finding.estimate.high
    assert finding.status is Status.FAIL
    (raw,) = (
        row
        for row in result.comparisons
        if row.metric == "differential_fairness" and row.by == ("a", "b")
    )
    assert math.isinf(raw.estimate.value)


def test_equal_groups_are_not_significantly_apart() -> None:
    cells = dict.fromkeys(CELLS, (20, 40))
    asked = spec({**POOLED, "fail": {"above": 0, "significant": True}})
    (finding,) = fairaudit.audit(asked, frame(cells)).findings
    assert finding.status is Status.PASS
    assert finding.estimate is not None
    assert finding.estimate.value < 0.02
    assert finding.estimate.low == 0


@pytest.mark.parametrize("cells", [{("x", "m"): (3, 9)}, dict.fromkeys(CELLS, (7, 7))])
def test_one_group_or_an_outcome_that_never_varies_is_no_pass(cells: Any) -> None:
    asked = spec({**POOLED, "fail": {"above": 5}})
    (finding,) = fairaudit.audit(asked, frame(cells)).findings
    assert finding.status is Status.INCONCLUSIVE


def test_three_outcomes_have_an_epsilon() -> None:
    rows = [
        (a, b, y, n)
        for (a, b), (k, m) in CELLS.items()
        for y, n in (("grant", k), ("wait", m // 5), ("refuse", m - k))
    ]
    data = pl.DataFrame(rows, ["a", "b", "p", "n"], orient="row")
    columns = {"protected": ["a", "b"], "prediction": {"column": "p"}, "count": "n"}
    result = fairaudit.audit({"columns": columns, "metrics": [POOLED]}, data)
    for row in result.comparisons:
        assert math.isfinite(row.estimate.value)
        assert row.estimate.low is not None
        assert row.estimate.high is not None
        assert row.estimate.low <= row.estimate.value <= row.estimate.high


def test_a_model_that_a_metric_does_not_have_is_refused() -> None:
    with pytest.raises(SpecError, match="cramers_v has no pooled model"):
        fairaudit.audit(spec({"metric": "cramers_v", "model": "pooled"}), frame(CELLS))

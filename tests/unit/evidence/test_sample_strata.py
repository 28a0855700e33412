"""Clusters in declared strata: published numbers of R, a plain oracle, refused designs."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import fairaudit
from fairaudit.base.errors import DataError, SpecError
from fairaudit.metrics.estimate import Estimate
from fairaudit.report import markdown
from fairaudit.result import Answer, AuditResult

APISTRAT = {"E": (44.2099990844727, 73, 27), "H": (15.1, 16, 34), "M": (20.3600006103516, 24, 26)}
"""Schools of California by type: their weight, and how many have an award, or none."""
APICLUS1 = [(10, 13), (34, 34), (2, 4), (10, 13), (13, 16), (2, 2), (1, 1), (2, 4), (9, 12),
            (16, 21), (4, 9), (8, 11), (30, 37), (1, 2), (2, 4)]  # fmt: skip
"""Elementary schools and all schools of 15 districts."""
SPEC: dict[str, Any] = {
    "version": 1,
    "data": "x.csv",
    "columns": {
        "protected": ["g"],
        "decision": {"column": "d", "positive": 1, "negative": 0},
        "weight": "w",
    },
    "design": {"strata": "s", "cluster": "c"},
    "metrics": ["selection_rate"],
}
DIFFERENCE = {"metric": "selection_rate", "compare": "difference", "reference": "b"}
Row = tuple[str, str, str, int, float]
"""Group, stratum, cluster, decision, weight."""


def audit(rows: list[Row], **more: Any) -> AuditResult:
    names = ("g", "s", "c", "d", "w")
    data = pl.DataFrame(dict(zip(names, zip(*rows, strict=True), strict=True)))
    return fairaudit.audit({**SPEC, **more}, data=data)


def interval(value: float, error: float, df: float, largest: float, units: int) -> list[float]:
    """Wilson's at the effective size of a standard error, by Student's t."""
    error = error * math.sqrt((1 - 1 / units) / (1 - largest))
    z, t = stats.norm.ppf(0.975), stats.t.ppf(0.975, df)
    n = value * (1 - value) / error**2 * (z / t) ** 2
    middle = (value + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(value * (1 - value) / n + z**2 / (4 * n**2))
    return [middle - half, middle + half]


def freedom(sizes: dict[str, list[float]]) -> float:
    """Satterthwaite's degrees of freedom where residuals are as large as clusters, by matrices."""
    blocks = [np.eye(len(one)) - 1 / len(one) for one in sizes.values()]
    parts = [
        len(one) / (len(one) - 1) * block @ np.diag(np.square(one))
        for one, block in zip(sizes.values(), blocks, strict=True)
    ]
    return float(sum(np.trace(part) for part in parts) ** 2 / sum(np.trace(p @ p) for p in parts))


def ends_of(estimate: Estimate | None) -> list[float]:
    assert estimate is not None
    assert estimate.low is not None
    assert estimate.high is not None
    return [estimate.low, estimate.high]


def rates(result: AuditResult) -> dict[str, tuple[float, list[float]]]:
    return {
        str(row.group[0][1]): (row.estimate.value, ends_of(row.estimate))
        for row in result.rates
        if row.by
    }


def test_a_stratified_sample_has_the_standard_error_of_r() -> None:
    rows: list[Row] = []
    sizes = {}
    for stratum, (weight, *counts) in APISTRAT.items():
        for decision, n in zip((1, 0), counts, strict=True):
            rows += [
                ("a", stratum, f"{stratum}{len(rows) + i}", decision, weight) for i in range(n)
            ]
        sizes[stratum] = [weight] * sum(counts)
    value, ends = rates(audit(rows))["a"]
    # R: the mean of awards, of svydesign with id 1, strata stype and weights pw, without fpc.
    assert value == pytest.approx(0.638936064050579, abs=1e-6)
    total = sum(map(sum, sizes.values()))
    largest = APISTRAT["E"][0] / total
    wanted = interval(0.638936064050579, 0.0348975177769063, freedom(sizes), largest, 200)
    assert ends == pytest.approx(wanted, abs=2e-6)


def test_a_cluster_sample_in_one_stratum_has_the_standard_error_of_r() -> None:
    rows: list[Row] = []
    for district, (hits, n) in enumerate(APICLUS1):
        rows += [("a", "all", f"{district}", int(at < hits), 33.847) for at in range(n)]
    names = [str(at) for at in range(15)]
    # Two more strata of the same districts leave enough effective clusters; the rate is theirs.
    rows = [(g, f"{s}", c, d, w) for s in range(3) for g, _, c, d, w in rows]
    value, ends = rates(audit(rows))["a"]
    # R: the share of elementary schools, of svydesign with id dnum and weights pw, without fpc.
    assert value == pytest.approx(0.78688524590164, abs=1e-12)
    sizes = {str(s): [float(n) for _, n in APICLUS1] for s in range(3)}
    error = 0.0468025716133837 / math.sqrt(3)
    wanted = interval(value, error, freedom(sizes), 37 / 549, 3 * len(names))
    assert ends == pytest.approx(wanted, abs=1e-9)


def drawn(seed: int) -> list[Row]:
    """Twenty strata of two to four clusters, with people of both groups in most of them."""
    random = np.random.default_rng(seed)
    rows: list[Row] = []
    for s in range(20):
        for c in range(random.integers(2, 5)):
            chance = random.beta(2 + s / 5, 4)
            for g in ("a", "b"):
                n = random.integers(0, 9)
                weight = float(random.integers(1, 5))
                rows += [(g, f"s{s}", f"{c}", int(random.random() < chance), weight)
                         for _ in range(n)]  # fmt: skip
    return rows


def covariance(rows: list[Row]) -> tuple[dict[str, float], dict[tuple[str, str], float]]:
    """Both rates, and their variances and covariance between clusters within strata."""
    mass = {g: sum(w for group, *_, w in rows if group == g) for g in "ab"}
    value = {g: sum(d * w for group, _, _, d, w in rows if group == g) / mass[g] for g in "ab"}
    totals: dict[str, Counter[tuple[str, str]]] = {"a": Counter(), "b": Counter()}
    units = defaultdict(set)
    for g, s, c, d, w in rows:
        totals[g][s, c] += w * (d - value[g]) / mass[g]  # type: ignore[assignment]  # floats
        units[s].add(c)
    found = {}
    for pair in (("a", "a"), ("b", "b"), ("a", "b")):
        parts = []
        for s, clusters in units.items():
            m = len(clusters)
            first, second = ([totals[g][s, c] for c in clusters] for g in pair)
            spread = [
                (x - sum(first) / m) * (y - sum(second) / m)
                for x, y in zip(first, second, strict=True)
            ]
            parts.append(m / (m - 1) * sum(spread))
        found[pair] = sum(parts)
    return value, found


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_rates_and_differences_vary_between_clusters_within_strata(seed: int) -> None:
    rows = drawn(seed)
    value, found = covariance(rows)
    units = len({(s, c) for _, s, c, *_ in rows})
    result = audit(rows, metrics=["selection_rate", {**DIFFERENCE, "fail": "> 0.9"}])
    scaled = {}
    for g, (rate, ends) in rates(result).items():
        sizes: dict[str, dict[str, float]] = {s: {c: 0.0 for _, t, c, *_ in rows if t == s}
                                              for _, s, *_ in rows}  # fmt: skip
        for group, s, c, _, w in rows:
            sizes[s][c] += w * (group == g)
        lists = {s: list(one.values()) for s, one in sizes.items()}
        mass = sum(map(sum, lists.values()))
        df, largest = freedom(lists), max(map(max, lists.values())) / mass
        error = math.sqrt(found[g, g])
        assert rate == pytest.approx(value[g])
        assert ends == pytest.approx(interval(rate, error, df, largest, units), abs=1e-9)
        scaled[g] = interval(rate, error, df, largest, units)
    r = found["a", "b"] / math.sqrt(found["a", "a"] * found["b", "b"])
    (p, (low, high)), (q, (bottom, top)) = ((value[g], scaled[g]) for g in "ab")
    ends = [
        p - q - math.sqrt((p - low) ** 2 + (top - q) ** 2 - 2 * r * (p - low) * (top - q)),
        p - q + math.sqrt((high - p) ** 2 + (q - bottom) ** 2 - 2 * r * (high - p) * (q - bottom)),
    ]
    assert ends_of(result.findings[0].estimate) == pytest.approx(ends, abs=1e-9)


def test_the_clusters_may_be_those_of_the_columns() -> None:
    columns = {**SPEC["columns"], "cluster": "c"}
    assert rates(audit(drawn(0), columns=columns, design={"strata": "s"})) == rates(audit(drawn(0)))


def test_a_part_of_the_sample_keeps_the_clusters_of_the_whole() -> None:
    rows = drawn(4)
    alone = [row for row in rows if row[0] == "a"]
    (_, marked), (_, whole), (_, cut) = (
        rates(audit(those, **more))["a"]
        for those, more in ((rows, {"filter": "g = 'a'"}), (rows, {}), (alone, {}))
    )
    assert marked == pytest.approx(whole, abs=1e-12)
    assert marked != pytest.approx(cut, abs=1e-4)


def test_an_average_over_strata_of_the_audit_has_the_design_of_the_sample() -> None:
    rows = drawn(1)
    more = [{**DIFFERENCE, "given": "k", "average": "uniform", "fail": "> 0.9"},
            {**DIFFERENCE, "fail": "> 0.9"}]  # fmt: skip
    data = pl.DataFrame(rows, schema=["g", "s", "c", "d", "w"], orient="row")
    columns = {**SPEC["columns"], "strata": ["k"]}
    spec = {**SPEC, "columns": columns, "metrics": more, "simpson": False}
    result = fairaudit.audit(spec, data=data.with_columns(k=pl.lit("one")))
    average, plain = (ends_of(finding.estimate) for finding in result.findings)
    # An average takes no variance below that of independent rows.
    assert average == pytest.approx(plain, abs=0.01)


def test_a_stratum_of_one_cluster_varies_about_the_mean_of_all() -> None:
    rows: list[Row] = [("a", f"s{at}", "1", int(i < at % 3), 1.0) for at in range(30)
                       for i in range(4)]  # fmt: skip
    one_each = audit(rows)
    joined = audit([(g, "one", s, d, w) for g, s, _, d, w in rows])
    (_, ends), (_, others) = rates(one_each)["a"], rates(joined)["a"]
    # One stratum has a degree of freedom less than clusters.
    assert ends == pytest.approx(others, abs=0.002)
    assert ends != others


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"design": {"strata": "s"}},
            "`design` needs the clusters that were drawn in each stratum",
        ),
        ({"design": {"strata": "s", "replicates": ["r1"]}}, "replicate weights are not supported"),
        ({"columns": {**SPEC["columns"], "cluster": "c"}}, "the clusters are named twice"),
        (
            {"columns": {**SPEC["columns"], "weight": "PWGTP12"}},
            "'PWGTP12': replicate weights are not supported: name the full-sample weight",
        ),
    ],
)
def test_other_designs_are_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        fairaudit.audit({**SPEC, **changed}, data=pl.DataFrame({"g": ["a"]}))


@pytest.mark.long
@pytest.mark.parametrize("name", ["w", "weight", "WTMEC2YR", "PWGTP", "weight2", "pw"])
def test_weights_of_the_whole_sample_are_read(name: str) -> None:
    columns = {**SPEC["columns"], "weight": name}
    rows = drawn(0)
    data = pl.DataFrame(rows, schema=["g", "s", "c", "d", name], orient="row")
    assert rates(fairaudit.audit({**SPEC, "columns": columns}, data=data)) == rates(audit(rows))


def test_a_row_without_a_stratum_is_an_error() -> None:
    rows = [*drawn(0), ("a", "", "1", 1, 1.0)]
    with pytest.raises(DataError, match="1 row has no value in the stratum of the sample 's'"):
        audit(rows)


def test_the_report_names_the_strata_of_the_sample() -> None:
    result = audit(drawn(0))
    assert result.provenance.sample_strata == "s"
    text = markdown.render([Answer("spec.yaml", None, result)])
    assert "drawn in the strata of the column s" in text
    assert "the sampling design is not modelled" not in text

"""Rows that belong together: variances by statsmodels' sandwich, McNemar, and copies of people."""

from __future__ import annotations

import itertools
import json
import math
import re
import statistics
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
from schemas import validate
from scipy import stats
from stats_oracle import fisher, share_bounds

import fairaudit
from fairaudit import codec
from fairaudit.base.errors import DataError, SpecError
from fairaudit.judge import Finding
from fairaudit.report import json as report_json
from fairaudit.report import markdown
from fairaudit.result import Answer, AuditResult, Verdict
from fairaudit.tools.compare import compare

Row = tuple[str, str, int]
"""Group, cluster, and whether the person is selected."""

DIFFERENCE = {
    "metric": "selection_rate",
    "compare": "difference",
    "reference": "b",
    "fail": {"outside": [-0.01, 0.01], "significant": True},
}
GAP = {"metric": "demographic_parity_difference", "fail": {"above": 0.01, "significant": True}}


def spec(*metrics: Any, **columns: Any) -> dict[str, Any]:
    named = {
        "protected": ["g"],
        "decision": {"column": "d", "positive": 1, "negative": 0},
        "cluster": "c",
        **columns,
    }
    named = {name: column for name, column in named.items() if column is not None}
    return {"version": 1, "data": "x.csv", "columns": named, "metrics": list(metrics)}


def frame(rows: list[Row]) -> pl.DataFrame:
    g, c, d = zip(*rows, strict=True)
    return pl.DataFrame({"g": g, "c": c, "d": d})


def audit(rows: list[Row], *metrics: Any, **columns: Any) -> AuditResult:
    return fairaudit.audit(spec(*metrics, **columns), data=frame(rows))


def finding_of(result: AuditResult, at: int = 0) -> Finding:
    return result.findings[at]


def drawn(seed: int, *, shared: bool, clusters: int = 40) -> list[Row]:
    """Decisions about people who differ: each of two groups has its own, or both have all."""
    random = np.random.default_rng(seed)
    rows: list[Row] = []
    for at in range(clusters):
        chance = random.beta(1, 2)
        for g in ("a", "b"):
            share = chance if shared else random.beta(1, 2 if g == "a" else 1)
            name = f"c{at}" if shared else f"{g}{at}"
            rows += [(g, name, int(random.random() < share)) for _ in range(random.integers(2, 9))]
    return rows


def sandwich(rows: list[Row]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Both rates and their covariance by clusters, from least squares on two dummies."""
    y = np.array([d for *_, d in rows], dtype=float)
    x = np.array([[g == "a", g == "b"] for g, *_ in rows], dtype=float)
    names = {name: at for at, name in enumerate(dict.fromkeys(c for _, c, _ in rows))}
    groups = np.array([names[c] for _, c, _ in rows])
    fit = sm.OLS(y, x).fit(cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False})
    return np.asarray(fit.params), np.asarray(fit.cov_params())


def effective_clusters(names: Iterable[str], weights: Iterable[float] | None = None) -> float:
    """n² / Σ n_c² of people, by the name of each one's cluster; or of weights of people."""
    total: Counter[str] = Counter()
    for name, weight in zip(names, weights or itertools.repeat(1.0)):  # noqa: B905  # repeats
        total[name] += weight  # type: ignore[assignment]
    return sum(total.values()) ** 2 / sum(n**2 for n in total.values())


def exchangeable_size(rows: list[tuple[str, int]]) -> float:
    """The size of a rate at the correlation that pairs within clusters show, at least 0."""
    members: dict[str, list[int]] = {}
    for name, hit in rows:
        members.setdefault(name, []).append(hit)
    several = [hits for hits in members.values() if len(hits) > 1]
    p = sum(hit for _, hit in rows) / len(rows)
    apart = sum(statistics.variance(hits) * len(hits) for hits in several)
    alike = max(1 - apart / (p * (1 - p) * sum(map(len, several))), 0.0) if several else 0.0
    return len(rows) / (
        1 + alike * sum(len(hits) * (len(hits) - 1) for hits in several) / len(rows)
    )


def sizes(rows: list[Row]) -> tuple[list[float], float]:
    """The effective sizes of a and b, and the correlation of their rates."""
    rates, covariance = sandwich(rows)
    found, raised = [], 1.0
    for at, g in enumerate(("a", "b")):
        n = sum(one == g for one, *_ in rows)
        m = effective_clusters(c for one, c, _ in rows if one == g)
        largest = max(Counter(c for one, c, _ in rows if one == g).values()) / n
        raw = rates[at] * (1 - rates[at]) / (covariance[at, at] / (1 - largest))
        of_both = (
            effective_clusters(c for one, c, hit in rows if one == g and hit == wanted)
            for wanted in (0, 1)
        )
        if min(of_both) < 8:
            raw = min(raw, m)
        few = (stats.norm.ppf(0.975) / stats.t.ppf(0.975, m - 1)) ** 2
        most = exchangeable_size([(c, hit) for one, c, hit in rows if one == g])
        found.append(min(most, raw) * few)
        raised *= math.sqrt(min(1.0, most / raw))
    r = covariance[0, 1] / math.sqrt(covariance[0, 0] * covariance[1, 1])
    return found, r * raised if r > 0 else r


def newcombe(rows: list[Row]) -> tuple[float, float]:
    """Newcombe's interval of a - b, method 8 for pairs with any correlation."""
    (p, q), _ = sandwich(rows)
    (n, m), r = sizes(rows)
    (l1, u1), (l2, u2) = (share_bounds(rate * size, size, 0.05) for rate, size in ((p, n), (q, m)))
    low = (p - l1) ** 2 + (u2 - q) ** 2 - 2 * r * (p - l1) * (u2 - q)
    high = (u1 - p) ** 2 + (q - l2) ** 2 - 2 * r * (u1 - p) * (q - l2)
    return p - q - math.sqrt(low), p - q + math.sqrt(high)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shared", [False, True])
def test_rates_and_differences_vary_as_the_sandwich_says(seed: int, shared: bool) -> None:
    rows = drawn(seed, shared=shared)
    (n, m), r = sizes(rows)
    assert shared or abs(r) < 1e-12
    result = audit(rows, DIFFERENCE)
    for row in result.rates:
        if row.group:
            rate, size = row.estimate.value, n if row.group[0][1] == "a" else m
            ends = share_bounds(rate * size, size, 0.05)
            assert (row.estimate.low, row.estimate.high) == pytest.approx(ends, abs=1e-9)
            assert row.estimate.method == "Wilson, exact if counts are small, cluster-robust"
    estimate = finding_of(result).estimate
    assert estimate is not None
    assert (estimate.low, estimate.high) == pytest.approx(newcombe(rows), abs=1e-9)
    assert estimate.significance is not None
    (p, q), _ = sandwich(rows)
    pooled = (p * n + q * m) / (n + m)
    v, w = (pooled * (1 - pooled) / size for size in (n, m))
    z = (p - q) / math.sqrt(v + w - 2 * r * math.sqrt(v * w))
    assert estimate.significance.p == pytest.approx(2 * stats.norm.sf(abs(z)), rel=1e-6)
    assert estimate.significance.test == "z, cluster-robust"


def pairs(both: int, neither: int, first: int, second: int) -> list[Row]:
    """Matched pairs of a and b: both selected, neither, the first alone, the second alone."""
    kinds = ((both, (1, 1)), (neither, (0, 0)), (first, (1, 0)), (second, (0, 1)))
    rows: list[Row] = []
    for times, (x, y) in kinds:
        for _ in range(times):
            name = f"pair {len(rows) // 2}"
            rows += [("a", name, x), ("b", name, y)]
    return rows


def test_matched_pairs_are_tested_by_mcnemar_but_for_small_terms() -> None:
    first, second = 230, 185
    rows = pairs(400, 500, first, second)
    for at, metric in enumerate((DIFFERENCE, GAP)):
        result = audit(rows, DIFFERENCE, GAP)
        estimate = finding_of(result, at).estimate
        assert estimate is not None, metric
        assert estimate.significance is not None
        mcnemar = stats.chi2.sf((first - second) ** 2 / (first + second), 1)
        assert estimate.significance.p == pytest.approx(mcnemar, rel=0.02)
        n = len(rows) / 2
        error = math.sqrt(first + second - (first - second) ** 2 / n) / n
        assert estimate.low == pytest.approx((first - second) / n - 1.96 * error, abs=3e-4)
    as_rows = fairaudit.audit(spec(DIFFERENCE, cluster=None), data=frame(rows))
    assert as_rows.verdict is not Verdict.FAIL, "independent rows do not show it"
    assert audit(rows, DIFFERENCE).verdict is Verdict.FAIL


def test_copies_of_people_tell_nothing_more() -> None:
    """Each person seven times in a cluster: the interval is that of the people, but for m - 1."""
    people = [("a" if at % 2 else "b", f"p{at}", int(at % 5 < 2)) for at in range(200)]
    once = audit(people, DIFFERENCE)
    copies = audit([one for one in people for _ in range(7)], DIFFERENCE)
    for one, many in zip(once.rates, copies.rates, strict=True):
        assert one.estimate.value == many.estimate.value
        assert one.estimate.low == pytest.approx(many.estimate.low, abs=1e-12)
    before, after = (finding_of(result).estimate for result in (once, copies))
    assert before is not None
    assert after is not None
    assert (before.low, before.high) == pytest.approx((after.low, after.high))
    rows = fairaudit.audit(spec(DIFFERENCE, cluster=None), data=frame(people * 7))
    naive = finding_of(rows).estimate
    assert naive is not None
    assert before.low is not None
    assert naive.low is not None
    assert naive.value - naive.low < 0.5 * (before.value - before.low)


def test_clusters_are_never_surer_than_rows() -> None:
    """Negative agreement within clusters, as of quotas, is no evidence about a single rate."""
    rows = [(g, f"{g}{at // 2}", at % 2) for g in ("a", "b") for at in range(120)]
    clustered = audit(rows, DIFFERENCE)
    plain = fairaudit.audit(spec(DIFFERENCE, cluster=None), data=frame(rows))
    for one, other in zip(clustered.rates, plain.rates, strict=True):
        assert one.estimate.low is not None
        assert other.estimate.low is not None
        assert one.estimate.low <= other.estimate.low + 1e-12


@pytest.mark.parametrize(
    ("clusters", "known"),
    [([4] * 9, False), ([4] * 10, True), ([50, *[4] * 30], False), ([50, *[4] * 60], True)],
)
def test_few_effective_clusters_have_no_interval(clusters: list[int], known: bool) -> None:
    """Ten of equal size have one; a large one beside thirty small ones counts as nine."""
    rows = drawn(3, shared=False)
    hits = itertools.cycle([1, 0, 1, 1, 0])
    rows = [one for one in rows if one[0] == "a"]
    rows += [("b", f"b{at}", next(hits)) for at, n in enumerate(clusters) for _ in range(n)]
    assert (effective_clusters(c for g, c, _ in rows if g == "b") >= 10) is known
    result = audit(rows, DIFFERENCE, GAP)
    for at in (0, 1):
        estimate = finding_of(result, at).estimate
        assert estimate is not None
        assert (estimate.low is not None) is known
        assert (estimate.significance is not None) is known
        assert known or "fewer than 10 effective clusters" in estimate.no_interval
    assert result.verdict is not Verdict.FAIL or known


def test_a_rate_of_0_takes_all_members_of_a_cluster_for_alike() -> None:
    rows = [(g, f"{g}{at // 4}", 0 if g == "a" else at % 2) for g in ("a", "b") for at in range(80)]
    (row,) = [one for one in audit(rows, DIFFERENCE).rates if dict(one.group) == {"g": "a"}]
    size = 20 * (stats.norm.ppf(0.975) / stats.t.ppf(0.975, 19)) ** 2
    assert row.estimate.high == pytest.approx(share_bounds(0, size, 0.05)[1])


def test_competitors_for_one_job_vary_together() -> None:
    """One of each pair is selected: the difference varies four times as one rate does."""
    rows = pairs(0, 0, 60, 40)
    estimate = finding_of(audit(rows, DIFFERENCE)).estimate
    assert estimate is not None
    assert estimate.low is not None
    error = 2 * math.sqrt(0.6 * 0.4 / 100)
    assert estimate.value - estimate.low == pytest.approx(1.96 * error, rel=0.06)
    gap = finding_of(audit(rows, GAP)).estimate
    assert gap is not None
    assert gap.low == pytest.approx(estimate.low, abs=1e-9)


def test_three_groups_are_no_surer_than_their_worst_pair() -> None:
    """Of c, who competes with nobody, a and b keep their negative correlation."""
    rows = [*pairs(0, 0, 60, 40), *[("c", f"x{at}", at % 2) for at in range(100)]]
    two, three = (finding_of(audit(some, GAP)).estimate for some in (rows[:200], rows))
    assert two is not None
    assert three is not None
    assert two.low is not None
    assert three.low is not None
    assert three.low <= two.low


def test_few_expected_in_clusters_are_tested_exactly_at_their_effective_sizes() -> None:
    many = [(g, f"{g}{n}", int(n % 20 < k)) for g, k in (("a", 2), ("b", 1)) for n in range(200)]
    few = [("few", f"few{n // 2}", int(n < 1)) for n in range(40)]
    result = audit([*many, *few], {"metric": "impact_ratio", "fail": {"below": 0.8}})
    tests = {row.group[0][1]: row.estimate.significance for row in result.comparisons if row.group}
    few_test, other = tests["few"], tests["b"]
    assert few_test is not None
    assert other is not None
    assert few_test.test == "Fisher, mid-p, effective counts, cluster-robust over pairs"
    assert other.test == "z, cluster-robust over pairs"
    few_row = next(row for row in result.comparisons if row.group and row.group[0][1] == "few")
    assert (
        few_row.estimate.method
        == "Koopman, exact if counts are small, simultaneous over pairs, cluster-robust"
    )
    # Effective people are never more than those there are, so that no test of people is less sure.
    assert few_test.p > fisher(1, 40, 20, 200)[1]


def test_everybody_else_is_compared_by_their_clusters() -> None:
    """Of two groups the rest is the other one."""
    rows = drawn(5, shared=True)
    rest, level = (
        finding_of(audit(rows, {**DIFFERENCE, "reference": how}), 0).estimate
        for how in ("rest", "b")
    )
    assert rest is not None
    assert level is not None
    assert (rest.low, rest.high) == pytest.approx((level.low, level.high))


@pytest.mark.long
@pytest.mark.parametrize("how", ["ratio", "odds_ratio", "log_ratio", "cohens_h"])
def test_every_comparison_holds_parity_where_the_difference_does(how: str) -> None:
    ideal = 1.0 if how in {"ratio", "odds_ratio"} else 0.0
    for seed in range(6):
        rows = drawn(seed, shared=bool(seed % 2))
        metric = {"metric": "selection_rate", "compare": how, "reference": "b"}
        result = audit(rows, {**metric, "fail": {"outside": ["-3", "3"]}}, DIFFERENCE)
        one, difference = (finding_of(result, at).estimate for at in (0, 1))
        assert one is not None
        assert difference is not None
        assert one.low is not None
        assert one.high is not None
        assert one.low <= one.value <= one.high
        assert one.method.endswith("cluster-robust")
        assert difference.significance is not None
        if difference.significance.p < 0.01:
            assert not one.low <= ideal <= one.high
        if difference.significance.p > 0.2:
            assert one.low <= ideal <= one.high


def test_equal_weights_and_counts_change_nothing() -> None:
    rows = drawn(1, shared=True)
    plain = finding_of(audit(rows, DIFFERENCE)).estimate
    data = frame(rows).with_columns(w=pl.lit(2.5))
    weighted = finding_of(fairaudit.audit(spec(DIFFERENCE, weight="w"), data=data)).estimate
    table = frame(rows).group_by("g", "c", "d").len("n")
    counted = finding_of(fairaudit.audit(spec(DIFFERENCE, count="n"), data=table)).estimate
    assert plain is not None
    for other in (weighted, counted):
        assert other is not None
        assert (other.low, other.high) == pytest.approx((plain.low, plain.high))


def test_what_has_no_variance_by_clusters_has_no_interval_and_no_test() -> None:
    rows = drawn(2, shared=False)
    metrics = [
        {"metric": "cramers_v", "fail": {"above": 0.9}},
        {"metric": "normalized_difference", "reference": "b", "fail": {"outside": [-0.9, 0.9]}},
        {
            "metric": "mantel_haenszel_odds_ratio",
            "given": "z",
            "reference": "b",
            "fail": {"above": 99},
        },
    ]
    data = frame(rows).with_columns(z=pl.int_range(pl.len()) % 2)
    result = fairaudit.audit(spec(*metrics, strata=["z"]), data=data)
    for finding in result.findings:
        assert finding.estimate is not None
        assert finding.estimate.low is None
        assert finding.estimate.significance is None
        assert "between clusters" in finding.estimate.no_interval


def test_rates_without_a_variance_by_clusters_have_no_interval() -> None:
    rows = drawn(2, shared=False)
    data = frame(rows).with_columns(z=pl.int_range(pl.len()) % 2, y=pl.int_range(pl.len()) % 3 % 2)
    label = {"column": "y", "positive": 1, "negative": 0}
    metrics = ["expected_utility", "generalized_entropy", "selected_share", "balanced_accuracy"]
    average = {"metric": "selection_rate", "given": "z", "average": "uniform"}
    entries: list[Any] = [{"metric": name} for name in metrics]
    entries[0]["utilities"] = {"tp": 1, "fp": -1, "fn": 0, "tn": 0}
    result = fairaudit.audit(spec(*entries, average, label=label, strata=["z"]), data=data)
    for row in result.rates:
        if row.metric == "balanced_accuracy":
            assert row.estimate.low is not None
            continue
        if row.metric == "selection_rate" and row.stratum:
            continue
        assert row.estimate.low is None, row
        assert "cluster" in row.estimate.no_interval, row


def test_balanced_accuracy_is_no_surer_than_both_its_rates() -> None:
    """Both rates' intervals at half of α, which hold together whatever they have in common."""
    rows = drawn(2, shared=True)
    data = frame(rows).with_columns(y=pl.int_range(pl.len()) % 2)
    label = {"column": "y", "positive": 1, "negative": 0}
    rates = ["true_positive_rate", "true_negative_rate"]
    both = fairaudit.audit(
        {**spec(*rates, label=label), "inference": {"confidence": 0.975}}, data=data
    )
    mean = fairaudit.audit(spec("balanced_accuracy", label=label), data=data)
    for row in mean.rates:
        parts = [one.estimate for one in both.rates if one.group == row.group]
        lows = [one.low for one in parts if one.low is not None]
        assert row.estimate.low == pytest.approx(sum(lows) / 2)


def test_a_pass_on_few_clusters_says_nothing_of_what_it_missed() -> None:
    rows = [one for one in drawn(3, shared=False) if int(one[1][1:]) < 8]
    wide = {**DIFFERENCE, "fail": {"outside": [-0.99, 0.99]}}
    result = audit(rows, wide)
    assert result.verdict is Verdict.PASS
    assert finding_of(result).detectable is None


def test_the_gap_in_people_is_as_many_standard_errors_wide_as_its_test_says() -> None:
    finding = finding_of(audit(drawn(2, shared=False), DIFFERENCE))
    assert finding.estimate is not None
    assert finding.estimate.significance is not None
    assert finding.practice is not None
    z = stats.norm.isf(finding.estimate.significance.p / 2)
    assert finding.practice.deviations == pytest.approx(z)


def test_reversals_take_rows_for_independent_and_say_so() -> None:
    rows = drawn(2, shared=True)
    data = frame(rows).with_columns(z=pl.int_range(pl.len()) % 2)
    read = {**spec(DIFFERENCE, strata=["z"]), "simpson": {"warn": True}}
    result = fairaudit.audit(read, data=data)
    plain = {**spec(DIFFERENCE, strata=["z"], cluster=None), "simpson": {"warn": True}}
    other = fairaudit.audit(plain, data=data)
    assert result.compared == other.compared
    assert len(result.reversals) == len(other.reversals)
    assert any("treat rows as independent" in one for one in result.notices)


def test_the_number_of_clusters_is_told() -> None:
    result = audit(drawn(1, shared=True), DIFFERENCE)
    assert (result.provenance.cluster, result.provenance.clusters) == ("c", 40)
    assert "40, by the column c" in markdown.render([Answer("spec.yaml", None, result)])
    text = report_json.render(result)
    validate(json.loads(text))
    again = codec.read_result(codec.parse(text))
    assert (again.provenance.cluster, again.provenance.clusters) == ("c", 40)
    assert report_json.render(again) == text


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files_and_frames_count_alike(tmp_path: Path, kind: str) -> None:
    data = frame(drawn(4, shared=True))
    path = tmp_path / f"data.{kind}"
    if kind == "csv":
        data.write_csv(path)
    else:
        data.write_parquet(path)
    one = fairaudit.audit(spec(DIFFERENCE), data=data)
    other = fairaudit.audit(spec(DIFFERENCE), data=path)
    assert finding_of(one).estimate == finding_of(other).estimate
    assert one.provenance.cube_sha256 == other.provenance.cube_sha256


def test_a_row_without_a_cluster_is_an_error() -> None:
    data = frame(drawn(1, shared=True))
    data = data.with_columns(
        c=pl.when(pl.int_range(pl.len()) < 2).then(None).otherwise(pl.col("c"))
    )
    with pytest.raises(DataError, match="2 rows have no value in the cluster 'c'"):
        fairaudit.audit(spec(DIFFERENCE), data=data)
    kept = {**spec(DIFFERENCE), "filter": "c is not null"}
    assert fairaudit.audit(kept, data=data).provenance.clusters == 40


def test_clusters_cannot_be_combined_with_suppression() -> None:
    with pytest.raises(SpecError, match=r"small counts: remove `cluster` or `suppress_below`"):
        fairaudit.audit(
            {**spec(DIFFERENCE), "suppress_below": 11}, data=frame(drawn(1, shared=True))
        )


def test_the_notice_of_matched_sets_is_silent_where_they_are_declared() -> None:
    rows = pairs(20, 20, 20, 20)
    metric = {**DIFFERENCE, "given": "c", "average": "pooled"}
    for cluster, told in ((None, True), ("c", False)):
        result = fairaudit.audit(spec(metric, strata=["c"], cluster=cluster), data=frame(rows))
        assert any("not independent" in one for one in result.notices) is told


def three(seed: int) -> list[Row]:
    """Decisions in three groups that all have the same clusters."""
    random = np.random.default_rng(seed)
    rows: list[Row] = []
    for at in range(30):
        chance = random.beta(1, 2)
        for g in ("a", "b", "c"):
            people = random.integers(0, 5)
            rows += [(g, f"c{at}", int(random.random() < chance)) for _ in range(people)]
    return rows


@pytest.mark.parametrize("seed", range(3))
def test_the_rest_of_three_groups_varies_as_one_group_of_them(seed: int) -> None:
    rows = three(seed)
    joined = [(g if g == "a" else "b", c, d) for g, c, d in rows]
    rest = audit(rows, {**DIFFERENCE, "reference": "rest"})
    expected = newcombe(joined)
    for row in rest.comparisons:
        if dict(row.group or ()) == {"g": "a"}:
            assert (row.estimate.low, row.estimate.high) == pytest.approx(expected, abs=1e-9)


def test_each_stratum_is_an_audit_of_its_own() -> None:
    rows = drawn(7, shared=True)
    data = frame(rows).with_columns(z=pl.int_range(pl.len()) % 2)
    given = fairaudit.audit(spec({**DIFFERENCE, "given": "z"}, strata=["z"]), data=data)
    for z in (0, 1):
        alone = fairaudit.audit(spec(DIFFERENCE), data=data.filter(pl.col("z") == z))
        (one,) = [row for row in given.comparisons if dict(row.stratum) == {"z": str(z)}]
        (other,) = alone.comparisons
        assert (one.estimate.low, one.estimate.high) == pytest.approx(
            (other.estimate.low, other.estimate.high)
        )


def test_two_reports_of_clusters_are_compared_without_a_test() -> None:
    before, after = (audit(drawn(seed, shared=True), DIFFERENCE) for seed in (1, 2))
    changes = compare(before, after, same_people=False)
    assert changes.rates
    for row in changes.rates:
        assert row.change.significance is None
        assert "clusters" in row.change.why


def test_epsilon_of_two_groups_has_the_test_of_its_rates() -> None:
    epsilon = {"metric": "differential_fairness", "fail": {"above": 0.01, "significant": True}}
    one, two = (finding.estimate for finding in audit(pairs(60, 60, 60, 30), epsilon, GAP).findings)
    assert one is not None
    assert two is not None
    assert one.significance is not None
    assert two.significance is not None
    assert one.significance.p == pytest.approx(two.significance.p)
    assert one.method == "MOVER, cluster-robust"
    assert one.low is not None
    assert one.high is not None
    assert one.low <= one.value <= one.high


def averaged(rows: list[tuple[str, str, int, str]], weights: dict[str, float]) -> tuple[float, ...]:
    """Both weighted averages and their covariance, by a loop over clusters in plain Python."""
    rates = {}
    for g in ("a", "b"):
        for z in weights:
            own = [d for group, _, d, stratum in rows if (group, stratum) == (g, z)]
            rates[g, z] = sum(own) / len(own), len(own)
    residuals: dict[str, dict[str, float]] = {"a": {}, "b": {}}
    for g in ("a", "b"):
        for z, weight in weights.items():
            p, n = rates[g, z]
            members = [(c, d) for group, c, d, stratum in rows if (group, stratum) == (g, z)]
            m = effective_clusters(c for c, _ in members)
            for c, d in members:
                step = weight / n * math.sqrt(m / (m - 1)) * (d - p)
                residuals[g][c] = residuals[g].get(c, 0.0) + step
    a, b = (sum(weight * rates[g, z][0] for z, weight in weights.items()) for g in ("a", "b"))
    names = residuals["a"].keys() | residuals["b"].keys()
    of_a, of_b = ([residuals[g].get(c, 0.0) for c in sorted(names)] for g in ("a", "b"))
    products = ((of_a, of_a), (of_b, of_b), (of_a, of_b))
    sums = (sum(x * y for x, y in zip(*pair, strict=True)) for pair in products)
    return (a, b, *sums)


@pytest.mark.parametrize("seed", range(4))
def test_averages_over_strata_vary_with_clusters_that_span_them(seed: int) -> None:
    random = np.random.default_rng(seed)
    rows: list[tuple[str, str, int, str]] = []
    for at in range(60):
        chance = random.beta(0.5, 0.8)
        for _ in range(random.integers(3, 9)):
            g, z = random.choice(["a", "b"]), random.choice(["x", "y"])
            rows.append((str(g), f"c{at}", int(random.random() < chance), str(z)))
    data = pl.DataFrame(rows, schema=["g", "c", "d", "z"], orient="row")
    entry = {**DIFFERENCE, "given": "z", "average": "uniform"}
    (row,) = fairaudit.audit(spec(entry, strata=["z"]), data=data).comparisons
    a, b, v, w, both = averaged(rows, {"x": 0.5, "y": 0.5})
    assert row.estimate.value == pytest.approx(a - b)
    sizes = []
    # The clusters are alike enough that no variance is raised to that of rows.
    for g, rate, variance in (("a", a, v), ("b", b, w)):
        own = [(c, z) for group, c, _, z in rows if group == g]
        n = Counter(z for _, z in own)
        m = effective_clusters((c for c, _ in own), (0.5 / n[z] for _, z in own))
        few = (stats.norm.ppf(0.975) / stats.t.ppf(0.975, m - 1)) ** 2
        sizes.append(rate * (1 - rate) / variance * few)
    (l1, u1), (l2, u2) = (
        share_bounds(rate * size, size, 0.05) for rate, size in zip((a, b), sizes, strict=True)
    )
    r = both / math.sqrt(v * w)
    low = (a - l1) ** 2 + (u2 - b) ** 2 - 2 * r * (a - l1) * (u2 - b)
    high = (u1 - a) ** 2 + (b - l2) ** 2 - 2 * r * (u1 - a) * (b - l2)
    expected = (a - b - math.sqrt(low), a - b + math.sqrt(high))
    assert (row.estimate.low, row.estimate.high) == pytest.approx(expected, abs=1e-9)


def test_an_average_over_one_stratum_is_that_stratum() -> None:
    rows = drawn(6, shared=True)
    data = frame(rows).with_columns(z=pl.lit("x"))
    averages = fairaudit.audit(
        spec({**DIFFERENCE, "given": "z", "average": "pooled"}, strata=["z"]), data=data
    )
    one, other = (finding_of(result).estimate for result in (averages, audit(rows, DIFFERENCE)))
    assert one is not None
    assert other is not None
    assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=1e-3)
    assert one.significance is not None
    assert other.significance is not None
    assert one.significance.p == pytest.approx(other.significance.p, rel=0.05)


def test_strata_of_one_cluster_each_have_no_variance() -> None:
    """Matched pairs given the pair: nothing varies within a stratum, so nothing is known."""
    entry = {**DIFFERENCE, "given": "c", "average": "pooled"}
    result = fairaudit.audit(spec(entry, strata=["c"]), data=frame(pairs(20, 20, 20, 9)))
    estimate = finding_of(result).estimate
    assert estimate is not None
    assert estimate.low is None
    assert estimate.significance is None
    assert result.verdict is not Verdict.FAIL


def competing(seed: int) -> list[Row]:
    """Jobs with three applicants, one of each group; one of them is selected."""
    random = np.random.default_rng(seed)
    rows: list[Row] = []
    for at in range(70):
        chosen = int(random.choice(3, p=[0.5, 0.3, 0.2]))
        rows += [(g, f"job{at}", int(chosen == k)) for k, g in enumerate("abc")]
    return rows


@pytest.mark.parametrize("seed", range(3))
def test_three_groups_are_tested_with_the_lowest_correlation_of_two(seed: int) -> None:
    rows = competing(seed)
    y = np.array([d for *_, d in rows], dtype=float)
    x = np.array([[g == one for one in "abc"] for g, *_ in rows], dtype=float)
    groups = np.array([int(c[3:]) for _, c, _ in rows])
    fit = sm.OLS(y, x).fit(cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False})
    covariance, rates = np.asarray(fit.cov_params()), np.asarray(fit.params)
    deviations = np.sqrt(np.diag(covariance))
    lowest = min((covariance / np.outer(deviations, deviations)).min(), 0.0)
    raw = rates * (1 - rates) / (np.diag(covariance) * 70 / 69)
    few = (stats.norm.ppf(0.975) / stats.t.ppf(0.975, 69)) ** 2
    size = np.minimum(raw, 70) * few / (1 - lowest)
    table = np.stack([rates * size, (1 - rates) * size])
    expected = stats.chi2_contingency(table, correction=False).pvalue
    estimate = finding_of(audit(rows, GAP)).estimate
    assert estimate is not None
    assert estimate.significance is not None
    assert estimate.significance.p == pytest.approx(expected, rel=1e-6)
    assert estimate.method.endswith("cluster-robust")


@pytest.mark.long
@pytest.mark.parametrize("compare", [{}, {"compare": "ratio"}, {"compare": "odds_ratio"}])
def test_clusters_of_one_person_have_the_evidence_of_people(compare: dict[str, str]) -> None:
    """Of 4,000 clusters the degrees of freedom hardly matter, whatever a measure is made of.

    The ratio of error types had Koopman's interval of two shares, which odds are not: of clusters
    that do not differ it was refuted in .125 of samples.
    """
    draw = np.random.default_rng(1)
    group = draw.choice(["a", "a", "b"], 4000)
    label = (draw.random(4000) < np.where(group == "a", 0.5, 0.4)).astype(int)
    chosen = (draw.random(4000) < 0.2 + 0.4 * label + 0.1 * (group == "a")).astype(int)
    people = pl.DataFrame({"g": group, "y": label, "d": chosen, "id": np.arange(4000)})
    columns = {"protected": {"g": {"reference": "a"}}, "label": {"column": "y", "positive": 1},
               "prediction": {"column": "d", "positive": 1}}  # fmt: skip
    names = {
        "": ("statistical_parity_difference", "disparate_impact_ratio", "treatment_equality",
             "selection_odds_ratio", "correlation", "elift", "normalized_difference",
             "demographic_parity_difference", "equalized_odds_difference", "differential_fairness"),
        "ratio": ("selection_rate", "f1", "error_type_ratio", "positive_predictive_value"),
        "odds_ratio": ("selection_rate", "accuracy"),
    }[compare.get("compare", "")]  # fmt: skip
    differences = re.compile("difference|correlation|differential")
    metrics = [
        {"metric": name, **compare, "fail": {"above": 0.9 if differences.search(name) else 100}}
        for name in names
    ]
    found = [
        fairaudit.audit({"columns": {**columns, **more}, "metrics": metrics}, people).findings
        for more in ({}, {"cluster": "id"})
    ]
    for plain, clustered in zip(*found, strict=True):
        first, second = plain.estimate, clustered.estimate
        if first is None or second is None or second.low is None:
            assert plain.check.metric.id in {"correlation", "normalized_difference", "elift"}
            continue
        assert first.low is not None
        assert first.high is not None
        assert (second.low, second.high) == pytest.approx(
            (first.low, first.high), abs=0.06 * (first.high - first.low)
        ), plain.check.metric.id

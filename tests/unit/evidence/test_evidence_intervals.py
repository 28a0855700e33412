"""The intervals that the whole tool prints, against an oracle that asks every ordered pair.

The oracle (evidence_oracle.py) was written from the definitions before the code was read. Numbers
in `VECTORS` were computed elsewhere, and stand at the end of the project's list of measures.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import evidence_oracle as oracle
import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from conftest import about, examples, seeds
from evidence_specs import YES, Cells, Rate, confused, document, ends, named, people, spec
from hypothesis import given
from hypothesis import strategies as st
from stats_oracle import is_few, limit_of, printed, ratio_bounds, share_bounds, wilson

from fairaudit.metrics import CATALOGUE, Disparity, Metric, Requirement
from fairaudit.stats import multiplicity, proportions

Floats = npt.NDArray[np.float64]
APPLICANTS = {"a": (24, 80), "b": (96, 160)}
ADMITTED = {"A1": (81, 87), "A2": (234, 270), "B1": (55, 80), "B2": (192, 263)}
"""The kidney stones of Charig et al. (1986), told as admissions: 1.511 is their ε."""
FOUR = {"a": (250, 1000), "b": (270, 1000), "c": (240, 1000), "d": (260, 1000)}
LEVEL: dict[str, Any] = {"reference": "b"}


def comparisons(rates: dict[str, Rate], *metrics: Any, **more: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = document(spec(*metrics, **more), people(rates))["comparisons"]
    return found


def of_group(rows: Sequence[dict[str, Any]], group: str) -> dict[str, Any]:
    """The row of one group; of a spread the only one."""
    (row,) = [one for one in rows if one["group"] is None or one["group"] == {"g": group}]
    return row


VECTORS: list[tuple[dict[str, Rate], dict[str, Any], str]] = [
    (APPLICANTS, {"metric": "disparate_impact_ratio", **LEVEL}, ".5 .344206 .699805"),
    (APPLICANTS, {"metric": "disparate_impact_ratio", "reference": "rest"}, ".5 .344206 .699805"),
    (APPLICANTS, {"metric": "disparate_impact_ratio", "reference": "largest"},
     ".5 .344206 .699805"),
    (APPLICANTS, {"metric": "disparate_impact_ratio", "reference": "highest"},
     ".5 .344206 .699805"),
    (APPLICANTS, {"metric": "impact_ratio"}, ".5 .344206 .699805"),
    (APPLICANTS, {"metric": "demographic_parity_ratio"}, ".5 .344206 .699805"),
    (APPLICANTS, {"metric": "selection_rate", "compare": "ratio", **LEVEL}, ".5 .344206 .699805"),
    (APPLICANTS, {"metric": "selection_rate", "compare": "log_ratio", **LEVEL},
     "-.69315 -1.06652 -.35695"),
    (APPLICANTS, {"metric": "selection_odds_ratio", **LEVEL}, ".285714 .162259 .506246"),
    (APPLICANTS, {"metric": "statistical_parity_difference", **LEVEL}, "-.3 -.415197 -.167390"),
    (APPLICANTS, {"metric": "statistical_parity_difference", "reference": "rest"},
     "-.3 -.415197 -.167390"),
    (APPLICANTS, {"metric": "statistical_parity_difference", "reference": "highest"},
     "-.3 -.415197 -.167390"),
    (APPLICANTS, {"metric": "mean_difference", **LEVEL}, ".3 .167390 .415197"),
    (APPLICANTS, {"metric": "demographic_parity_difference"}, ".3 .167390 .415197"),
    (APPLICANTS, {"metric": "statistical_parity_difference", "reference": "overall"},
     "-.2 -.276798 -.111594"),
    (APPLICANTS, {"metric": "disparate_impact_ratio", "reference": "overall"},
     ".6 .440498 .777618"),
    (APPLICANTS, {"metric": "elift"}, ".6 .440498 .777618"),
    (FOUR, {"metric": "demographic_parity_ratio"}, ".888889 .726578 1"),
    (FOUR, {"metric": "demographic_parity_difference"}, ".03 0 .081089"),
    (ADMITTED, {"metric": "demographic_parity_difference"}, ".243534 .087408 .398915"),
    (ADMITTED, {"metric": "demographic_parity_ratio"}, ".738426 .577766 .898858"),
    (ADMITTED, {"metric": "differential_fairness"}, "1.511 .394951 3.062337"),
]  # fmt: skip


@pytest.mark.parametrize(("rates", "metric", "expected"), VECTORS)
def test_published_vectors(rates: dict[str, Rate], metric: dict[str, Any], expected: str) -> None:
    row = of_group(comparisons(rates, metric), next(iter(rates)))
    for value, text in zip((row["value"], *ends(row)), expected.split(), strict=True):
        assert printed(value, text), (value, text)


def test_the_vector_of_one_rate_and_of_logarithms() -> None:
    found = document(spec("selection_rate"), people(APPLICANTS))
    (row,) = [one for one in found["rates"] if one["group"] == {"g": "a"}]
    assert ends(row) == pytest.approx((0.210646, 0.407682), abs=6e-7)
    assert row["method"] == "Wilson, exact if counts are small"
    metric = {"metric": "disparate_impact_ratio", **LEVEL}
    row = of_group(comparisons(APPLICANTS, metric, inference={"ratio": "katz"}), "a")
    assert ends(row) == pytest.approx((0.3496, 0.7151), abs=6e-5)
    assert row["method"] == "Katz"


def test_confidence_is_that_of_the_spec() -> None:
    metric = {"metric": "disparate_impact_ratio", **LEVEL}
    for confidence in ("0.5", "0.9", "0.999"):
        row = of_group(comparisons(APPLICANTS, metric, inference={"confidence": confidence}), "a")
        expected = ratio_bounds(24, 80, 96, 160, 1 - float(confidence))
        assert ends(row) == pytest.approx(expected, rel=1e-7)


def test_the_interval_of_f1_is_that_of_the_share_it_is_made_of() -> None:
    """F1 is 2s/(1 + s) of s = tp/(tp + fp + fn), which is a share of people."""
    found = document(spec("f1", labels=True), confused({"a": (30, 7, 13, 9), "b": (5, 5, 5, 5)}))
    (row,) = [one for one in found["rates"] if one["group"] == {"g": "a"}]
    expected = [2 * s / (1 + s) for s in wilson(30, 50, 0.05)]
    assert ends(row) == pytest.approx(expected, rel=1e-9)


def test_balanced_accuracy_adds_the_errors_of_both_rates() -> None:
    """MOVER: the distances of a mean of independent rates add up as squares."""
    asked = spec("balanced_accuracy", labels=True)
    found = document(asked, confused({"a": (30, 7, 13, 9), "b": (5, 5, 5, 5)}))
    (row,) = [one for one in found["rates"] if one["group"] == {"g": "a"}]
    value = (30 / 43 + 9 / 16) / 2
    (l1, u1), (l2, u2) = wilson(30, 43, 0.05), share_bounds(9, 16, 0.05)
    low = value - math.hypot(30 / 43 - l1, 9 / 16 - l2) / 2
    high = value + math.hypot(u1 - 30 / 43, u2 - 9 / 16) / 2
    assert ends(row) == pytest.approx((low, high), rel=1e-9)


def test_the_odds_of_what_is_no_share_recover_their_ratio_from_both() -> None:
    """F1 has odds and no counts of its own: MOVER of the log odds of its ends, and Gart's ½."""
    groups = {"a": (30, 7, 13, 9), "b": (15, 15, 15, 5)}
    asked = spec({"metric": "f1", "compare": "odds_ratio", "reference": "a"}, labels=True)
    found = document(asked, confused(groups))
    rows = {one["group"].get("g"): one for one in found["rates"] if one["metric"] == "f1"}
    (l2, q, u2), (l1, p, u1) = (
        [
            math.log((x * n + half) / ((1 - x) * n + half))
            for x, half in ((rows[g]["low"], 0), (rows[g]["value"], 0.5), (rows[g]["high"], 0))
        ]
        for g, n in (("a", 50), ("b", 45))
    )
    low = math.exp(p - q - math.hypot(p - l1, u2 - q))
    high = math.exp(p - q + math.hypot(u1 - p, q - l2))
    (row,) = [one for one in found["comparisons"] if one["group"] == {"g": "b"}]
    of_a, of_b = (rows[g]["value"] for g in "ab")
    assert row["value"] == pytest.approx(of_b * (1 - of_a) / (of_a * (1 - of_b)))
    assert ends(row) == pytest.approx((low, high), rel=1e-6)


def test_odds_that_may_be_infinite_leave_their_ratio_open() -> None:
    groups = {"a": (30, 0, 0, 9), "b": (5, 5, 5, 5), "c": (20, 3, 0, 0)}
    metric = {"metric": "f1", "compare": "odds_ratio", "reference": "b"}
    found = document(spec(metric, labels=True), confused(groups))["comparisons"]
    above, below = of_group(found, "a"), of_group(found, "c")
    assert (above["state"], above["high_state"]) == ("infinite", "infinite")
    assert below["low"] > 0
    asked = spec({**metric, "reference": "a"}, labels=True)
    turned = of_group(document(asked, confused(groups))["comparisons"], "b")
    assert (turned["value"], turned["low"]) == (0, 0)


# No record is forgotten ----------------------------------------------------------------------

UTILITIES = {"tp": 2, "fp": 1, "fn": -1, "tn": "0.5"}
NUMBERS = {Requirement.NUMBER, Requirement.NUMERIC_LABEL}


def everybody() -> pl.DataFrame:
    """People of three groups and two strata with everything that a measure can ask for."""
    draw = np.random.default_rng(11)
    rows = []
    for at in range(360):
        score = round(float(draw.uniform(0.02, 0.98)), 2)
        label = int(draw.random() < score)
        rows.append({
            "g": "aabc"[at % 4], "z": "xy"[int(draw.integers(2))], "y": label,
            "p": int(draw.random() < 0.2 + 0.5 * label), "s": score, "age": 20 + at % 40,
            "u": round(3 + 2 * score + float(draw.normal(0, 0.5)), 3), "v": round(3 + 2 * score, 3),
        })  # fmt: skip
    return pl.DataFrame(rows)


PEOPLE = everybody()


PROPENSITY = "propensity_stratified_difference"
"""Its strata are made by a model of the features."""


def entry(record: Metric, compare: str | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"metric": record.id}
    if compare:
        found["compare"] = compare
    if compare in {"difference", "ratio"} or (
        isinstance(record, Disparity) and record.to_reference and record.reference is None
    ):
        found["reference"] = "a"
    if record.conditional if hasattr(record, "conditional") else False:
        found["given"] = "z"
    if record.id == PROPENSITY:
        found["given"] = {"propensity": {"bins": 2, "group": "b"}}
    if record.id == "expected_utility":
        found["utilities"] = UTILITIES
    return found


WITHOUT_DRAWS = [one for one in CATALOGUE if Requirement.DRAWS not in one.requirements]
"""What asks for no draws beside the data: those are of test_draws.py."""


def asked_of(record: Metric, compare: str | None = None) -> dict[str, Any]:
    """A spec with the columns that a record needs, and the record."""
    numeric = bool(record.requirements & NUMBERS) or record.id in {
        "mean_residual",
        "balanced_residuals",
    }
    columns: dict[str, Any] = {"protected": ["g"], "strata": ["z"], "score": "s"}
    if Requirement.NUMERIC_ATTRIBUTE in record.requirements:
        columns["protected"] = {"age": {"bins": [30, 40]}}
    if Requirement.FEATURES in record.requirements or record.id == PROPENSITY:
        columns["features"] = {"numeric": ["y"], "categorical": ["z"]}
    columns["label"] = {"column": "y", **YES}
    columns["prediction"] = {"column": "p", **YES}
    if Requirement.ORDER in record.requirements:
        columns["prediction"]["order"] = [0, 1]
    if numeric:
        columns = {"protected": ["g"], "label": {"column": "u", "number": True}}
        columns["prediction"] = {"column": "v", "number": True}
    return {"columns": columns, "metrics": [entry(record, compare)]}


def ask_together(
    asked: Mapping[str, dict[str, Any]],
) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """One spec for all records that are asked of the same columns, and which records those are."""
    ids = defaultdict[str, list[str]](list)
    for name, one in asked.items():
        ids[json.dumps(one["columns"])].append(name)
    for columns, names in ids.items():
        metrics = [entry for name in names for entry in asked[name]["metrics"]]
        yield {"columns": json.loads(columns), "metrics": metrics}, names


def values(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every value that was asked for, and both sides of every comparison of rates."""
    yield from found["rates"]
    for row in found["comparisons"]:
        yield row
        for part in row["parts"]:
            if part["outcome"]:
                continue
            for side in (part["first"], part["second"]):
                if side is not None:
                    yield {**side, "metric": part["metric"]}


WITHOUT = {
    "group_size", "true_positives", "false_positives", "false_negatives", "true_negatives",
    "situation_testing", "situation_testing_reversed",
    "brier", "rmse", "r2", "well_calibration", "explained_difference",
    "kl_divergence", "differential_fairness_credible", "mutual_information",
    "normalized_mutual_information", "score_mutual_information",
    "normalized_score_mutual_information", "eta_neutrality", "predictability", "majority_baseline",
    "goodman_kruskal_lambda", "cramers_v", "score_parity", "score_parity_gap",
    "between_group_generalized_entropy", "trend", "hosmer_lemeshow", "slope",
    "numeric_correlation", "correlation", "correlation_negatives",
}  # fmt: skip
"""What has no interval: counts, calibration, information, maxima, third and fourth powers."""

AT_THE_END = {"atkinson"}
"""Without one on these people: somebody has no benefit, which makes it 1 whatever the others do."""


@pytest.mark.long
def test_every_value_has_an_interval_or_says_why_not() -> None:
    records = {one.id: one for one in WITHOUT_DRAWS}
    told = dict[str, set[bool]]()
    for asked, _ in ask_together({name: asked_of(one) for name, one in records.items()}):
        found = document(asked, PEOPLE)
        own = [id(row) for row in (*found["rates"], *found["comparisons"])]
        for row in values(found):
            if row["state"] == "defined":
                with about(row["metric"]):
                    check_interval(row, records.get(row["metric"]))
                if id(row) in own:
                    told.setdefault(row["metric"], set()).add(row["low"] is None)
    assert told == {name: {name in WITHOUT | AT_THE_END} for name in records}


def check_interval(row: dict[str, Any], record: Metric | None) -> None:
    if row["low"] is None:
        assert row["no_interval"].removeprefix("none: "), row
        assert "method" not in row
        return
    assert row["method"]
    low, high = ends(row)
    assert low <= row["value"] <= high
    assert low < high
    least, most = record.bounds if record else (None, None)
    assert least is None or low >= float(least) - 1e-12
    assert most is None or high <= float(most) + 1e-12


def test_a_score_in_standard_deviations_has_a_test_and_no_interval() -> None:
    """The spread of a deviation takes fourth powers: of skewed scores an interval covers .84."""
    rows = pl.DataFrame({"g": ["a"] * 40 + ["b"] * 40, "s": [2.0**-at for at in range(40)] * 2})
    rows = rows.with_columns(s=pl.col("s") + (pl.col("g") == "b") * 0.5, p=pl.lit(1), n=pl.lit(3))
    columns = {"protected": ["g"], "prediction": {"column": "p", **YES}, "score": "s", "count": "n"}
    apart = {"metric": "mean_score", "compare": "standardized_difference", "reference": "a"}
    for metric in (apart, {"metric": "correlation"}):
        asked = {"columns": columns, "metrics": [{**metric, "fail": {"above": 0.1}}]}
        (check, *_) = document(asked, rows)["checks"]
        assert check["low"] is None
        assert "its variance needs sums of higher powers" in check["no_interval"]
        asked["metrics"] = [{**metric, "fail": {"above": 0.1, "significant": True}}]
        (check, *_) = document(asked, rows)["checks"]
        assert (check["status"], check["significance"]["test"]) == ("fail", "Welch")


def test_one_value_without_an_interval_says_so_beside_others_that_have_one() -> None:
    """Of one person's score nobody knows how it varies."""
    rows = pl.DataFrame({"g": list("aaabbbc"), "s": [1.0, 2, 4, 2, 3, 7, 5], "p": [0, 1] * 3 + [1]})
    columns = {"protected": ["g"], "prediction": {"column": "p", **YES}, "score": "s"}
    metric = {"metric": "mean_score", "compare": "difference", "reference": "a"}
    limit = {"outside": [-9, 9], "conclusive": True}
    found = document({"columns": columns, "metrics": [{**metric, "fail": limit}]}, rows)
    by_group = {row["group"]["g"]: row for row in found["comparisons"]}
    assert by_group["b"]["method"] == "Welch"
    assert "too little" in by_group["c"]["no_interval"]
    (alone,) = [row for row in found["rates"] if row["group"] == {"g": "c"}]
    assert "too little" in alone["no_interval"]
    (check,) = found["checks"]
    assert check["group"] == {"g": "c"}, "the value that no interval holds within"
    assert (check["status"], check["backing"]) == ("inconclusive", "untested")


# Over all pairs ------------------------------------------------------------------------------


@st.composite
def rates(draw: st.DrawFn, most: int = 8) -> list[Rate]:
    """Unequal groups; none and all selected are as likely as anything between."""
    sizes = draw(st.lists(st.sampled_from([1, 2, 3, 7, 20, 90, 400, 2500]), min_size=2,
                          max_size=most))  # fmt: skip
    found = [(draw(st.sampled_from([0, n]) | st.integers(0, n)), n) for n in sizes]
    x, n = found[0]
    if not 0 < sum(one for one, _ in found) < sum(sizes):
        found[0] = (1 if x == 0 else n - 1, max(n, 2))
    return found


SPREADS: list[Any] = ["demographic_parity_difference", "demographic_parity_ratio",
           "differential_fairness", "impact_ratio",
           {"metric": "statistical_parity_difference", "reference": "highest"},
           {"metric": "statistical_parity_difference", "reference": "lowest"},
           {"metric": "disparate_impact_ratio", "reference": "lowest"}]  # fmt: skip


def close(row: dict[str, Any], expected: tuple[float, float]) -> bool:
    """Whether the ends agree; where there is no value there is no interval."""
    if row["state"] == "undefined":
        return row["low"] is None
    low, high = expected
    value = {"infinite": math.inf, "negative_infinite": -math.inf}.get(row["state"], row["value"])
    return ends(row) == pytest.approx((min(low, value), max(high, value)), rel=2e-7, abs=1e-9)


@given(found=rates())
@examples(60)
def test_intervals_of_maxima_are_those_over_all_ordered_pairs(found: list[Rate]) -> None:
    rows = comparisons(named(found), *SPREADS)
    by: dict[tuple[str, str | None], list[dict[str, Any]]] = {}
    for row in rows:
        by.setdefault((row["metric"], row["reference"]), []).append(row)
    spreads: dict[str, Any] = {
        "demographic_parity_difference": oracle.gap(found, 0.05),
        "demographic_parity_ratio": oracle.min_ratio(found, 0.05),
        "differential_fairness": oracle.epsilon([[x, n - x] for x, n in found], 0.05),
    }
    for name, expected in spreads.items():
        (row,) = by[name, None]
        assert close(row, expected), (name, row, expected)
    for key, expect in {
        ("impact_ratio", "highest"): oracle.to_highest_ratio,
        ("statistical_parity_difference", "highest"): oracle.to_highest_difference,
        ("statistical_parity_difference", "lowest"): oracle.to_lowest_difference,
        ("disparate_impact_ratio", "lowest"): oracle.to_lowest_ratio,
    }.items():
        assert by[key]
        for row in by[key]:
            g = int(row["group"]["g"][1:])
            assert close(row, expect(found, g, 0.05)), (key, row, expect(found, g, 0.05))


@given(
    groups=st.lists(st.tuples(*[st.one_of(st.just(0), st.integers(0, 60))] * 4), min_size=2,
                    max_size=6).filter(lambda cells: all(tp + fn and fp + tn
                                                         for tp, fp, fn, tn in cells))
)  # fmt: skip
@examples(40)
def test_equalized_odds_bounds_both_rates_together(groups: list[Cells]) -> None:
    asked = ("equalized_odds_difference", "equalized_odds_ratio")
    everything = sum(sum(cells) for cells in groups)
    if not 0 < sum(tp + fp for tp, fp, _, _ in groups) < everything:
        return
    found = document(spec(*asked, labels=True), confused(named(groups)))["comparisons"]
    true = [(tp, tp + fn) for tp, _, fn, _ in groups]
    false = [(fp, fp + tn) for _, fp, _, tn in groups]
    both = (oracle.both_gaps(true, false, 0.05), oracle.both_ratios(true, false, 0.05))
    for row, expected in zip(found, both, strict=True):
        assert close(row, expected), (row, expected)


@pytest.mark.long
@pytest.mark.parametrize("seed", seeds(2, quick=1))
def test_many_groups(seed: int) -> None:
    """All 3,540 ordered pairs, of which the tool asks only those that can be extreme."""
    draw = np.random.default_rng(seed)
    sizes = np.exp(draw.uniform(0, 9, 60)).astype(int) + 1
    shares = draw.choice([0.0, 0.02, 0.3, 0.5, 1.0], 60) if seed else draw.uniform(0, 1, 60)
    found = list(zip(draw.binomial(sizes, shares).tolist(), sizes.tolist(), strict=True))
    rows = comparisons(named(found), *SPREADS[:3])
    expected = (oracle.gap(found, 0.05), oracle.min_ratio(found, 0.05),
                oracle.epsilon([[x, n - x] for x, n in found], 0.05))  # fmt: skip
    for row, both in zip(rows, expected, strict=True):
        assert close(row, both), (row, both)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(40))
def test_no_pair_that_is_left_out_has_the_extreme_ratio(seed: int) -> None:
    """Half a million pairs, with sizes that survey weights make no whole numbers."""
    draw = np.random.default_rng(seed)
    k = int(draw.integers(3, 120))
    size = np.exp(draw.uniform(0, draw.choice([2, 6, 14]), k))
    few = draw.choice([0.0, 1e-6, 0.01, 0.3, 0.300001, 0.5, 0.99, 0.999999, 1.0], k)
    share = [draw.uniform(0, 1, k), draw.beta(0.2, 0.2, k), few][seed % 3]
    alpha = float(draw.choice([0.5, 0.05, 1e-3, 1e-6, 1e-10]))
    i, j = (grid.ravel() for grid in np.meshgrid(range(k), range(k), indexing="ij"))
    i, j = i[i != j], j[i != j]
    bounds = mine, tops = proportions.share_interval(share, size, alpha, over_pairs=True)
    low, high = proportions.koopman(share[i], size[i], share[j], size[j], alpha)
    if any(is_few(x, n, alpha, over_pairs=True) for x, n in zip(share * size, size, strict=True)):
        sides = (share[i], (mine[i], tops[i]), share[j], (mine[j], tops[j]))
        low, high = proportions.mover_ratio(*sides)
    among = np.ones(k, dtype=np.bool_)
    found = multiplicity.smallest_ratio(share, size, among, alpha)
    assert found == pytest.approx((low.min(), high.min()), rel=1e-7)
    ratio = multiplicity.ratio_to_extreme(share, size, among, alpha, lowest=False)
    for g in range(k):
        expected = (low[i == g].min(), high[i == g].min())
        assert (ratio[0][g], ratio[1][g]) == pytest.approx(expected, rel=1e-7)
    low, high = proportions.mover_ratio(share[i], (mine[i], tops[i]), share[j], (mine[j], tops[j]))
    found = multiplicity.smallest_mover_ratio(share, bounds)
    assert found == pytest.approx((low.min(), high.min()), rel=1e-7)
    for way, lowest in ((1, False), (-1, True)):
        ratio = multiplicity.ratio_to_extreme(share, size, among, alpha, bounds, lowest=lowest)
        for g in range(k):
            expected = ((way * low)[i == g].min(), (way * high)[i == g].min())
            assert (way * ratio[0][g], way * ratio[1][g]) == pytest.approx(expected, rel=1e-7)
    down, up = proportions.mover_difference(
        share[i], (mine[i], tops[i]), share[j], (mine[j], tops[j])
    )
    lowest, above = down.max(), up  # near -1 it is of no pair that matters
    # The farthest split of the tail, if misses of the higher or hits of the lower group are few.
    limit = limit_of(alpha, over_pairs=True)[1]
    for step in range(1, 6):
        tails = [min(2 * (alpha / 2) ** (power / 6), 1.0) for power in (step, 6 - step)]
        ends = [proportions.share_interval(share, size, tail) for tail in tails]
        for top, bottom in ((i, j), (j, i)):
            is_far = np.minimum((1 - share[top]) * size[top], share[bottom] * size[bottom]) < limit
            reach = np.where(is_far, ends[0][1][top] - ends[1][0][bottom], -np.inf)
            if top is i:
                up = np.fmax(up, reach)
            else:
                down = np.fmin(down, -reach)
    gap = multiplicity.largest_difference(share, bounds, among, size, alpha)
    assert gap == pytest.approx((lowest, up.max()), abs=1e-12)
    difference = multiplicity.difference_to_highest(share, bounds, among, size, alpha)
    for g in range(k):
        expected = (down[i == g].min(), np.where(i == g, above, np.inf).min())
        assert (difference[0][g], difference[1][g]) == pytest.approx(expected, abs=1e-12)


@pytest.mark.long
def test_bounds_of_a_ratio_draw_in_where_there_are_more_people() -> None:
    """What the choice of pairs rests on: more people at the same rates never widen an interval.

    And a higher rate at the same size moves both ends up, a higher one beside it both down.
    """
    draw = np.random.default_rng(5)
    many = 60_000
    for alpha, flat in ((0.05, True), (1e-3, False), (1e-7, True), (0.4, False)):
        n, m = (np.exp(draw.uniform(0, 13, many)) for _ in range(2))
        p, q = (draw.uniform(0, 1, many) if flat else draw.beta(0.2, 0.2, many) for _ in range(2))
        more = np.exp(draw.uniform(0, 2, many))
        up = [one + draw.uniform(0, 1, many) * (1 - one) for one in (p, q)]
        low, high = _logs(p, n, q, m, alpha)
        for larger in ((p, n * more, q, m), (p, n, q, m * more)):
            narrow = _logs(*larger, alpha)
            assert (narrow[0] >= low - 1e-7).all()
            assert (narrow[1] <= high + 1e-7).all()
        for ours, theirs, way in ((up[0], q, 1), (p, up[1], -1)):
            moved = _logs(ours, n, theirs, m, alpha)
            assert (way * (moved[0] - low) >= -1e-7).all()
            assert (way * (moved[1] - high) >= -1e-7).all()


def _logs(p: Floats, n: Floats, q: Floats, m: Floats, alpha: float) -> tuple[Floats, Floats]:
    low, high = (np.log(end) for end in proportions.koopman(p, n, q, m, alpha))
    return low, high


@given(found=rates(5), level=st.integers(0, 4))
@examples(40)
def test_against_everybody_is_against_the_rest_mapped(found: list[Rate], level: int) -> None:
    at = level % len(found)
    metrics = [{"metric": name, "reference": "overall"} for name in (
        "statistical_parity_difference", "disparate_impact_ratio")]  # fmt: skip
    rows = [one for one in comparisons(named(found), *metrics) if one["group"]["g"] == f"g{at:03}"]
    for row, expected in zip(rows, oracle.to_overall(found, at, 0.05), strict=True):
        assert close(row, expected), (row, expected)


@pytest.mark.parametrize(
    ("metric", "keys"),
    [
        ("mean_score", {}),
        ("f1", {}),
        ("balanced_accuracy", {}),
        ("roc_auc_score", {}),
        ("selection_rate", {"given": "m", "average": "pooled"}),
        ("selection_rate", {"given": "m", "average": "uniform"}),
    ],
)
def test_two_groups_have_one_interval_by_ratio_and_by_lowest_ratio(
    audit_csv: Any, metric: str, keys: Mapping[str, Any]
) -> None:
    """The bounds of each group at half of alpha made the interval of two groups too wide."""
    rows = ["g,m,t,y,s"]
    for at in range(240):
        g, m, t = "ab"[at % 2], "xy"[at // 2 % 2], at // 4 % 2
        s = (at * 7 % 50 + 20 * t + 10 * (g == "a")) / 100
        rows.append(f"{g},{m},{t},{int(s > 0.4)},{s}")
    columns = {
        "protected": {"g": {"reference": "a"}},
        "label": {"column": "t", "positive": 1},
        "prediction": {"column": "y", "positive": 1},
        "score": "s",
        "strata": ["m"],
    }
    found = []
    for compare in ("ratio", "min_ratio"):
        entry = {"metric": metric, "compare": compare, "fail": {"below": 0.99}, **keys}
        result = audit_csv("\n".join(rows) + "\n", {
            "version": 1, "columns": columns, "metrics": [entry],
        })  # fmt: skip
        found.append(result.findings[0].estimate)
    ratio, lowest = found
    assert ratio.value == lowest.value < 1
    assert (lowest.low, lowest.high) == pytest.approx((ratio.low, min(ratio.high, 1.0)), rel=1e-9)

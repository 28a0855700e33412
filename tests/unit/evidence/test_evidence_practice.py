"""A gap told in people, what a pass may have missed, and how many people survey weights leave."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import evidence_oracle as oracle
import polars as pl
import pytest
from conftest import examples
from evidence_specs import YES, Rate, document, of_cells, of_rates
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from stats_oracle import fisher, gap_bounds, odds_ratio_bounds, printed, ratio_bounds, share_bounds
from weights_oracle import effective_size

RATIO: dict[str, Any] = {"metric": "disparate_impact_ratio", "reference": "b"}


def in_people(rates: dict[str, Rate], limit: str = "0.8") -> dict[str, Any]:
    (one,) = of_rates(rates, {**RATIO, "fail": {"below": limit}})
    found: dict[str, Any] = one["practice"]
    return found


def test_the_vector_of_shortfall() -> None:
    """40 people at the pooled rate of one half would be 20 selected, of whom 8 are missing."""
    found = in_people({"a": (12, 40), "b": (48, 80)})
    assert found["shortfall"] == 8
    assert found["people_to_parity"] == 12, "48 of 80 are 24 of 40"
    assert found["people_to_limit"] == 8, "20 of 40 is a ratio of .83, 19 of 40 one of .79"
    assert found["flip_flop"] is False
    assert (found["below"], found["large"]) == (True, True)


@pytest.mark.parametrize("order", ["abc", "cab", "bca"])
@pytest.mark.parametrize("metric", ["demographic_parity_ratio", "demographic_parity_difference"])
def test_a_pass_over_pairs_tells_the_thinnest_group_beside_the_highest(
    metric: str, order: str
) -> None:
    """Wherever the highest group stands among its fellows: by χ² of three groups."""
    rates = {"a": (30, 60), "b": (33, 70), "c": (8, 18)}
    limit = {"above": "0.2"} if metric.endswith("difference") else {"below": "0.8"}
    named = dict(zip(order, rates.values(), strict=True))
    (one,) = of_rates(named, {"metric": metric, "fail": limit})
    assert one["status"] == "pass"
    found = one["detectable"]
    assert found["group"] == {"g": order[2]}
    assert (found["n"], found["reference_n"]) == (18, 60)
    down, up = oracle.detectable(18, 60, 0.5, 0.05, freedom=2)
    assert (found["down"], found["up"]) == pytest.approx((down, up))


@given(
    n=st.integers(1, 60), m=st.integers(1, 60), data=st.data(),
    percent=st.integers(1, 100),
)  # fmt: skip
@examples(120)
def test_people_are_counted_by_selecting_one_after_another(
    n: int, m: int, data: st.DataObject, percent: int
) -> None:
    rates = {"a": (data.draw(st.integers(0, n)), n), "b": (data.draw(st.integers(0, m)), m)}
    (x, _), (y, _) = rates.values()
    if not 0 < x + y < n + m or y == 0:
        return
    limit = Fraction(percent, 100)
    found = in_people(rates, str(percent / 100))
    lower, higher = sorted(rates.values(), key=lambda one: Fraction(*one))
    # Of a ratio to b: where a has the higher rate, the limit is kept.
    beyond = lower == rates["a"] and Fraction(*lower) < limit * Fraction(*higher)
    more = oracle.people_to_limit(lower, higher, limit) if beyond else 0
    assert found["people_to_limit"] == (more or None)
    assert found["below"] == beyond
    pooled = Fraction(x + y, n + m)
    assert found["shortfall"] == pytest.approx(float(lower[1] * pooled - lower[0]))
    parity = math.ceil(lower[1] * Fraction(*higher)) - lower[0]
    assert found["people_to_parity"] == parity >= more, "no limit asks for more than parity"
    apart = Fraction(*lower) < Fraction(*higher)
    assert found["flip_flop"] == (apart and oracle.turns_round(lower, higher))
    assert found["large"] == (oracle.least_expected(list(rates.values())) >= 5)
    assert found["ratio"] == pytest.approx(float(Fraction(*lower) / Fraction(*higher)))


@pytest.mark.parametrize(("selected", "turns"), [(2, True), (3, False), (4, False)])
def test_a_gap_that_one_selection_turns_round_is_unstable(selected: int, turns: bool) -> None:
    """Of 1/10 against 2/10 it makes 2/10 against 1/10; of 1/10 against 3/10 equal rates."""
    assert in_people({"a": (1, 10), "b": (selected, 10)})["flip_flop"] is turns
    assert in_people({"a": (selected, 10), "b": (1, 10)})["flip_flop"] is turns


def test_people_are_told_by_the_limit_of_the_check_and_by_no_other() -> None:
    """12/40 against 48/80, .3 against .6: a gap of .1 takes 20/40, one of .35 none.

    A ratio above 1.25 is one of 0.8 the other way; nobody asked for four fifths.
    """
    rates = {"a": (12, 40), "b": (48, 80), "c": (20, 40)}
    gap = "demographic_parity_difference"
    (one,) = of_rates(rates, {"metric": gap, "fail": {"above": 0.1}})
    found = one["practice"]
    assert (found["people_to_limit"], found["limit"], found["limit_of"]) == (
        8,
        "1/10",
        "difference",
    )
    assert found["below"] is True
    (kept,) = of_rates(rates, {"metric": gap, "fail": {"above": 0.35}})
    assert kept["practice"]["people_to_limit"] is None
    assert (kept["practice"]["limit"], kept["practice"]["below"]) == (None, False)
    (rest,) = of_rates(rates, {**RATIO, "reference": "rest", "fail": {"below": 0.6}})
    assert (rest["practice"]["limit"], rest["practice"]["limit_of"]) == ("3/5", "ratio")
    more = {**RATIO, "reference": "a", "fail": {"above": 1.25}}
    (high,) = of_rates({"a": (12, 40), "b": (48, 80)}, more)
    assert (high["practice"]["people_to_limit"], high["practice"]["limit"]) == (8, "4/5")
    metric = {"metric": "disparate_impact_ratio", "reference": "overall", "fail": {"below": 0.8}}
    (overall,) = of_rates(rates, metric)
    assert overall["practice"] is None, "selecting more of a group moves everybody's rate"


def test_of_a_burden_the_limit_is_on_those_who_bear_it() -> None:
    """False alarms of 30/60 against 10/40: 1.25 times a quarter allows 18 of 60, so 12 too many."""
    cells = {"a": (20, 30, 20, 30), "b": (20, 10, 20, 30)}
    fpr = {"metric": "false_positive_rate", "compare": "ratio", "reference": "b"}
    burden = {"prediction": {"column": "p", **YES, "favourable": False}}
    (one,) = of_cells(cells, {**fpr, "fail": {"above": 1.25}}, columns=burden)
    assert one["practice"]["people_to_limit"] == 30 - 18
    assert one["practice"]["people_to_parity"] == 30 - 15
    difference = {**fpr, "compare": "difference", "fail": {"above": 0.1}}
    (gap,) = of_cells(cells, difference, columns=burden)
    assert gap["practice"]["people_to_limit"] == 30 - 21, ".35 of 60 are 21"


# What a pass may have missed -----------------------------------------------------------------


def test_the_vector_of_the_smallest_gap() -> None:
    (one,) = of_rates({"a": (24, 40), "b": (48, 80)}, {**RATIO, "fail": {"below": 0.8}})
    assert one["status"] == "pass"
    found = one["detectable"]
    assert printed(found["down"], "-.2673")
    assert printed(found["up"], ".2386")
    assert (found["group"], found["n"], found["reference_n"]) == ({"g": "a"}, 40, 80)


@pytest.mark.parametrize("compare", ["difference", "ratio"])
def test_a_group_without_people_to_count_is_not_the_smallest_sample(compare: str) -> None:
    """Nobody of c is qualified, so the sample is that of a and b, and not 1 against 80 people."""
    cells = {"a": (24, 0, 16, 40), "b": (48, 0, 32, 40), "c": (0, 30, 0, 70)}
    limit = {"outside": [0.8, 1.25]} if compare == "ratio" else {"outside": [-0.2, 0.2]}
    entry = {"metric": "true_positive_rate", "compare": compare, "reference": "b", "fail": limit}
    (one,) = of_cells(cells, {**entry, "undefined": "skip"})
    assert one["status"] == "pass"
    found = one["detectable"]
    assert (found["group"], found["n"], found["reference_n"]) == ({"g": "a"}, 40, 80)


@pytest.mark.parametrize(("limit", "told"), [("0.8", True), ("0.5", False), ("0.2", False)])
def test_only_a_gap_wider_than_the_limit_allows_is_told(limit: str, told: bool) -> None:
    """A gap of 27 points is found: as wide as a ratio of .55 to a rate of .6."""
    (one,) = of_rates({"a": (24, 40), "b": (48, 80)}, {**RATIO, "fail": {"below": limit}})
    assert (one["detectable"] is not None) == told


@given(
    sizes=st.lists(st.integers(5, 900), min_size=2, max_size=4), share=st.integers(20, 80),
    confidence=st.sampled_from(["0.9", "0.95", "0.99"]),
)  # fmt: skip
@examples(40)
def test_the_smallest_gap_is_that_of_cohens_h(
    sizes: list[int], share: int, confidence: str
) -> None:
    rates = {f"g{at}": (share * n, 100 * n) for at, n in enumerate(sizes)}
    metric = {"metric": "statistical_parity_difference", "reference": "g0"}
    limit = {"outside": ["-0.001", "0.001"]}
    inference = {"confidence": confidence}
    (one,) = of_rates(rates, {**metric, "fail": limit}, inference=inference)
    found = one["detectable"]
    if found is None:
        assert all(
            max(-down, up) <= 0.001
            for n in sizes[1:]
            for down, up in [_seen(n, sizes[0], share, confidence, len(sizes))]
        )
        return
    assert found["n"] == 100 * min(sizes[1:])
    expected = _seen(min(sizes[1:]), sizes[0], share, confidence, len(sizes))
    assert (found["down"], found["up"]) == pytest.approx(expected, rel=1e-7)


def _seen(n: int, m: int, share: int, confidence: str, groups: int) -> tuple[float, float]:
    alpha = 1 - float(confidence)
    return oracle.detectable(100 * n, 100 * m, share / 100, alpha / (groups - 1))


def test_the_smallest_gap_is_that_of_the_corrected_level_and_of_the_test_in_use() -> None:
    """One gate, then five of the same groups by other labels: at a fifth of the level."""
    cells = {"a": (50, 50, 50, 50), "b": (100, 100, 100, 100)}
    limit = {"fail": {"above": 0.02}}
    gates = [
        {"metric": name, **limit}
        for name in (
            "demographic_parity_difference",
            "equal_opportunity_difference",
            "predictive_equality",
        )
    ]
    gates += [{"metric": rate, "compare": "gap", **limit} for rate in ("accuracy", "base_rate")]
    alone, together = of_cells(cells, gates[0])[0], of_cells(cells, *gates)[0]
    for one, family in ((alone, 1), (together, 5)):
        assert one["significance"]["family"] == family
        down, up = oracle.detectable(200, 400, 0.5, 0.05 / family)
        found = one["detectable"]
        assert (found["down"], found["up"]) == pytest.approx((down, up))
        assert found["level"] == pytest.approx(0.05 / family)


def test_next_to_a_group_of_few_a_tenth_of_the_level_is_for_its_pairs() -> None:
    """Three pairs share a tenth of 5 %; of the two large groups nine tenths are for their own."""
    rates = {"a": (500, 1000), "b": (500, 1000), "c": (4, 8)}
    (one,) = of_rates(rates, {"metric": "demographic_parity_difference", "fail": {"above": 0.2}})
    found = one["detectable"]
    assert (found["group"], found["level"]) == ({"g": "c"}, pytest.approx(0.005 / 3))
    (large,) = of_rates(rates, {"metric": "demographic_parity_difference", "fail": {"above": 0.2}},
                        groups={"min_size": 10})  # fmt: skip
    assert large["detectable"] is None


def test_next_to_the_highest_group_every_pair_has_its_part_of_the_level() -> None:
    rates = {"a": (55, 100), "b": (50, 100), "c": (50, 100)}
    (one,) = of_rates(rates, {"metric": "impact_ratio", "fail": {"below": 0.8}})
    down, _ = oracle.detectable(100, 100, 0.55, 0.05 / 3)
    assert one["detectable"]["down"] == pytest.approx(down)
    assert one["detectable"]["level"] == pytest.approx(0.05 / 3)


# Survey weights ------------------------------------------------------------------------------

Weighted = list[tuple[str, int, int, float, int]]
"""Group, label, decision, weight, and how many such people."""
PEOPLE: Weighted = [
    ("a", 1, 1, 2.0, 4), ("a", 1, 0, 0.5, 12), ("a", 0, 1, 1.5, 3), ("a", 0, 0, 1.0, 9),
    ("b", 1, 1, 1.0, 21), ("b", 1, 0, 3.0, 5), ("b", 0, 1, 0.25, 8), ("b", 0, 0, 2.5, 10),
    ("c", 1, 1, 0.75, 6), ("c", 1, 0, 1.25, 5), ("c", 0, 1, 2.0, 7), ("c", 0, 0, 1.0, 4),
]  # fmt: skip


def effective(rows: Weighted, positive: int | None = None) -> dict[str, tuple[float, float]]:
    """Of each group the weighted share selected and its effective size, of all or of one label."""
    found = {}
    for g in sorted({row[0] for row in rows}):
        own = [row for row in rows if row[0] == g and positive in {None, row[1]}]
        total = sum(c * w for *_, w, c in own)
        share = sum(c * w * p for _, _, p, w, c in own) / total
        people = [(bool(p), w) for _, _, p, w, c in own for _ in range(c)]
        found[g] = (share, effective_size(people))
    return found


def weighted(*metrics: Any, rows: Weighted = PEOPLE, counted: bool) -> dict[str, Any]:
    """The document of these people, each row counted or repeated."""
    lines = rows if counted else [(*row[:4], 1) for row in rows for _ in range(row[4])]
    frame = pl.DataFrame(lines, ["g", "y", "p", "w", "n"], orient="row")
    columns: dict[str, Any] = {"protected": ["g"], "label": {"column": "y", **YES},
                               "prediction": {"column": "p", **YES}, "weight": "w"}  # fmt: skip
    if counted:
        columns["count"] = "n"
    return document({"columns": columns, "metrics": list(metrics)}, frame)


@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize("positive", [None, 1])
def test_weights_leave_so_many_effective_people(counted: bool, positive: int | None) -> None:
    """Per group and denominator: of the true positive rate among those with the label."""
    rate = "selection_rate" if positive is None else "true_positive_rate"
    to_b = {"metric": rate, "reference": "b"}
    found = weighted(
        rate, {**to_b, "compare": "difference"}, {**to_b, "compare": "ratio"},
        {**to_b, "compare": "odds_ratio"}, counted=counted,
    )  # fmt: skip
    known = effective(PEOPLE, positive)
    people = {
        g: sum(c for h, y, *_, c in PEOPLE if h == g and positive in {None, y}) for g in known
    }
    for row in found["rates"]:
        if not row["group"]:
            continue
        share, size = known[row["group"]["g"]]
        assert row["value"] == pytest.approx(share)
        assert row["n"] == people[row["group"]["g"]]
        assert (row["low"], row["high"]) == pytest.approx(share_bounds(share * size, size, 0.05))
    by_compare = {
        "difference": gap_bounds,
        "ratio": ratio_bounds,
        "odds_ratio": odds_ratio_bounds,
    }
    other, m = known["b"]
    for row in found["comparisons"]:
        share, n = known[row["group"]["g"]]
        expected = by_compare[row["compare"]](share * n, n, other * m, m, 0.05)
        assert (row["low"], row["high"]) == pytest.approx(expected, rel=1e-6)


def z_of(one: tuple[float, float], two: tuple[float, float]) -> float:
    """The two-sided p of the pooled z of shares in effective people."""
    (p, n), (q, m) = one, two
    pooled = (p * n + q * m) / (n + m)
    return oracle.two_sided((p - q) / math.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m)))


@pytest.mark.parametrize("few", [False, True])
def test_weighted_people_are_tested_by_effective_people(few: bool) -> None:
    """By z and χ²; by Fisher's test of as many people as say as much where few are expected."""
    rows = [(*row[:4], 1) for row in PEOPLE] if few else PEOPLE
    metric = {"metric": "statistical_parity_difference", "reference": "b"}
    limits = {"fail": {"outside": [-0.01, 0.01], "significant": True}}
    spread = {"metric": "demographic_parity_difference", "fail": {"above": 0.01}}
    signed, gap = weighted({**metric, **limits}, spread, rows=rows, counted=True)["checks"]
    known = effective(rows)
    test = signed["significance"]
    pair = known[signed["group"]["g"]], known["b"]
    assert signed["practice"] is None, "weights are no people"
    if few:
        (a, n), (c, m) = ((round(p * n), max(round(n), 1)) for p, n in pair)
        assert test["test"] == "Fisher, mid-p, effective counts"
        assert test["p"] == pytest.approx(fisher(a, n, c, m)[1], rel=1e-9)
        assert gap["significance"]["test"] == "pairs"
        return
    assert test["test"] == "z"
    assert test["p"] == pytest.approx(z_of(*pair), rel=1e-9)
    assert gap["significance"]["test"] == "χ²"
    table = [[p * n, (1 - p) * n] for p, n in known.values()]
    expected = stats.chi2_contingency(table, correction=False).pvalue
    assert gap["significance"]["p"] == pytest.approx(expected, rel=1e-9)


def test_equal_weights_are_none() -> None:
    """Weights that are all alike leave everybody, whatever they are."""
    rows: Weighted = [(*row[:3], 2.5, row[4]) for row in PEOPLE]
    metric = {"metric": "demographic_parity_ratio", "fail": {"below": 0.8}}
    (found,) = weighted(metric, rows=rows, counted=True)["checks"]
    rates: Sequence[Rate] = [
        (sum(c for h, _, p, _, c in rows if h == g and p), sum(c for h, *_, c in rows if h == g))
        for g in "abc"
    ]
    assert (found["low"], found["high"]) == pytest.approx(oracle.min_ratio(rates, 0.05), rel=1e-6)


def test_people_of_one_weight_are_counted_whole() -> None:
    """The effective size of 20 people of weight .1 is 19.9999 and so on."""
    rows = pl.DataFrame({
        "g": ["a"] * 100 + ["b"] * 20, "p": [1, 0] * 60, "w": [1.0] * 100 + [0.1] * 20,
    })  # fmt: skip
    columns = {"protected": ["g"], "prediction": {"column": "p", **YES}, "weight": "w"}
    metric = {"metric": "demographic_parity_difference",
              "fail": {"above": 0.1, "significant": True}}  # fmt: skip
    (check,) = document({"columns": columns, "metrics": [metric]}, rows)["checks"]
    gap = check["detectable"]
    assert sorted((gap["n"], gap["reference_n"])) == [20, 100]

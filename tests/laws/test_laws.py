"""Laws that every metric obeys, over the whole catalogue; no record is forgotten."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from conftest import about, examples
from hypothesis import assume, given
from hypothesis import strategies as st

from fairaudit.cube import GroupTable
from fairaudit.metrics import (
    CATALOGUE,
    DISPARITIES,
    GROUP_METRICS,
    Disparity,
    GroupMetric,
    Metric,
    Rate,
    Requirement,
    TableMetric,
    build_disparity,
    evaluate,
    find_comparison,
    find_metric,
)
from fairaudit.metrics.comparisons import COMPARISONS
from fairaudit.metrics.confusion_counts import ConfusionCounts, count_groups
from fairaudit.metrics.differential_fairness import epsilon
from fairaudit.metrics.formulas import Formula
from fairaudit.metrics.rates import PEOPLE_COUNTS, PeopleCount
from fairaudit.metrics.reasons import explain_undefined
from fairaudit.metrics.terms import MetricOptions, Parameters, Reference, ReferencePolicy

Four = tuple[int, int, int, int]
CELLS = st.tuples(*[st.integers(0, 40)] * 4)
FULL_CELLS = st.tuples(*[st.integers(1, 40)] * 4)
FROM_COUNTS = {Requirement.LABEL, Requirement.PREDICTION, Requirement.CLASSES}
COUNTED: list[Metric] = [one for one in CATALOGUE if one.requirements <= FROM_COUNTS]
RATES = [one for one in GROUP_METRICS if one in COUNTED and one.family != "conditional"]
CRITERIA = [one for one in DISPARITIES if one in COUNTED and not one.conditional]
WHOLES = [one for one in COUNTED if isinstance(one, TableMetric)]
BINARY: list[GroupMetric | Disparity] = [*RATES, *CRITERIA]
UTILITIES = tuple(
    (cell, Decimal(value))
    for cell, value in zip(("tp", "fp", "fn", "tn"), (2, 1, -1, 0), strict=True)
)
CELL_RATES = [one for one in RATES if isinstance(one, Rate)]
SHARES = [one for one in CELL_RATES if one.is_proportion and one.id != "selected_share"]


def table_of(groups: Sequence[Four], *, favourable: bool = True) -> GroupTable:
    """A table of groups g0, g1, … with the cells tp fp fn tn, everything known."""
    joint = np.zeros((1, 3, 3, len(groups)), dtype=np.int64)
    for g, (tp, fp, fn, tn) in enumerate(groups):
        joint[0, :2, :2, g] = [[tn, fp], [fn, tp]]
    return GroupTable(
        by=("group",),
        given=(),
        of="prediction",
        groups=tuple((("group", f"g{g}"),) for g in range(len(groups))),
        strata=((),),
        labels=("0", "1"),
        classes=("no", "yes"),
        positive_label=np.array([False, True, False]),
        positive=np.array([False, True, False]),
        favourable=favourable,
        people=joint,
        mass=joint,
        scale=1,
        squares=None,
        known=np.ones(len(groups), dtype=np.bool_),
        known_strata=np.ones(1, dtype=np.bool_),
    )


def terms_of(record: Metric, reference: str = "g0") -> MetricOptions:
    """The terms that a record can be asked on: a level as the reference where it takes one."""
    parameters = Parameters(utilities=UTILITIES)
    if isinstance(record, Disparity) and record.to_reference:
        return MetricOptions(
            Reference(ReferencePolicy.LEVEL, (("group", reference),)), parameters=parameters
        )
    return MetricOptions(parameters=parameters)


def values_of(record: Metric, groups: Sequence[Four]) -> list[float]:
    """The values that answer: of each group, or the one of a spread."""
    found = evaluate(record, table_of(groups), terms_of(record))
    return [float(value) for value in found.value[0][found.judged[0]]]


def test_ids_and_aliases_are_unique() -> None:
    names = Counter(name for one in (*CATALOGUE, *COMPARISONS) for name in (one.id, *one.aliases))
    assert [name for name, times in names.items() if times > 1] == []


def test_every_record_has_its_words() -> None:
    for record in (*CATALOGUE, *COMPARISONS):
        with about(record.id):
            for text in (record.title, record.description, record.caution, record.family):
                assert text.strip()
            assert record.description.endswith(".")
            assert record.caution.endswith(".")
            assert 1900 < record.source.year < 2100
            for name in (record.id, *record.aliases):
                assert name == name.lower().replace(" ", "_")
                assert (find_metric(name) or find_comparison(name)) is record


OF_CELLS = {
    "base_rate": Fraction(50, 100),
    "selection_rate": Fraction(40, 100),
    "true_positive_rate": Fraction(30, 50),
    "false_negative_rate": Fraction(20, 50),
    "false_positive_rate": Fraction(10, 50),
    "true_negative_rate": Fraction(40, 50),
    "positive_predictive_value": Fraction(30, 40),
    "false_discovery_rate": Fraction(10, 40),
    "negative_predictive_value": Fraction(40, 60),
    "false_omission_rate": Fraction(20, 60),
    "accuracy": Fraction(70, 100),
    "error_rate": Fraction(30, 100),
    "f1": Fraction(60, 90),
    "error_type_ratio": Fraction(20, 10),
    "selected_share": Fraction(40, 40),
}
"""What 30 true and 10 false positives, 20 false and 40 true negatives give."""


def test_the_example_of_a_rate_comes_out() -> None:
    for rate in CELL_RATES:
        with about(rate.id):
            assert (
                rate.of(ConfusionCounts.of_cells(tp=30, fp=10, fn=20, tn=40)) == OF_CELLS[rate.id]
            )


@examples(40)
@given(groups=st.lists(CELLS, min_size=2, max_size=5))
def test_values_lie_within_their_bounds(groups: list[Four]) -> None:
    for record in BINARY:
        with about(record.id):
            low, high = record.bounds
            for value in values_of(record, groups):
                if not math.isnan(value):
                    assert low is None or value >= float(low) - 1e-12
                    assert high is None or value <= float(high) + 1e-12


@examples(40)
@given(cells=FULL_CELLS, groups=st.integers(2, 5))
def test_equal_groups_give_the_ideal(cells: Four, groups: int) -> None:
    for record in CRITERIA:
        with about(record.id):
            for value in values_of(record, [cells] * groups):
                assert value == pytest.approx(record.ideal)


NEARER_WITH_MORE_PEOPLE = {
    "differential_fairness_credible",  # its region is narrower the more people there are
    "differential_fairness_pooled",  # groups are drawn to each other less: test_stats_pooling.py
    "pooled_selection_rate",
}


@examples(40)
@given(groups=st.lists(CELLS, min_size=2, max_size=4), times=st.integers(2, 9))
def test_more_of_the_same_people_changes_nothing(groups: list[Four], times: int) -> None:
    more = [tuple(times * cell for cell in cells) for cells in groups]
    for record in [
        one
        for one in (*BINARY, *WHOLES)
        if one.id not in NEARER_WITH_MORE_PEOPLE and not isinstance(one, PeopleCount)
    ]:
        with about(record.id):
            before, after = values_of(record, groups), values_of(record, more)  # type: ignore[arg-type]
            assert before == pytest.approx(after, nan_ok=True)


@examples(40)
@given(groups=st.lists(CELLS, min_size=2, max_size=4), times=st.integers(2, 9))
def test_counts_grow_with_the_people(groups: list[Four], times: int) -> None:
    more = [tuple(times * cell for cell in cells) for cells in groups]
    for record in PEOPLE_COUNTS:
        with about(record.id):
            before, after = values_of(record, groups), values_of(record, more)  # type: ignore[arg-type]
            assert [times * count for count in before] == after


@examples(40)
@given(groups=st.lists(FULL_CELLS, min_size=2, max_size=5), data=st.data())
def test_the_order_of_groups_changes_nothing(groups: list[Four], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(1, len(groups))))
    turned = [groups[0], *(groups[at] for at in order)]
    for record in (*BINARY, *WHOLES):
        with about(record.id):
            before, after = values_of(record, groups), values_of(record, turned)
            assert sorted(before) == pytest.approx(sorted(after))


@examples(40)
@given(one=FULL_CELLS, two=FULL_CELLS)
def test_difference_is_antisymmetric_and_ratio_reciprocal(one: Four, two: Four) -> None:
    for quantity in [one for one in RATES if one.bounds[0] == 0]:
        with about(quantity.id):
            difference, ratio = find_comparison("difference"), find_comparison("ratio")
            assert difference is not None
            assert ratio is not None
            there, back = ([one, two], [two, one])
            minus = [
                values_of(build_disparity(quantity, difference), groups) for groups in (there, back)
            ]
            assert minus[0] == pytest.approx([-minus[1][0]])
            over = [values_of(build_disparity(quantity, ratio), groups) for groups in (there, back)]
            if 0 not in values_of(quantity, there):
                assert over[0][0] * over[1][0] == pytest.approx(1)


@examples(40)
@given(one=FULL_CELLS, two=FULL_CELLS)
def test_a_ratio_of_signed_values_is_undefined_unless_both_are_positive(
    one: Four, two: Four
) -> None:
    for quantity in [one for one in RATES if one.bounds[0] != 0]:
        with about(quantity.id):
            ratio = find_comparison("ratio")
            assert ratio is not None
            # The reference comes first.
            below, above = values_of(quantity, [one, two])
            (found,) = values_of(build_disparity(quantity, ratio), [one, two])
            assert math.isnan(found) == (below <= 0 or above <= 0)
            if below > 0 and above > 0:
                assert found == pytest.approx(above / below)


@examples(40)
@given(one=FULL_CELLS, two=FULL_CELLS)
def test_a_union_lies_between_its_parts(one: Four, two: Four) -> None:
    for rate in [
        one
        for one in RATES
        if isinstance(one, Rate) and one.is_proportion and one.id != "selected_share"
    ]:
        with about(rate.id):
            counts = [
                ConfusionCounts.of_cells(tp=tp, fp=fp, fn=fn, tn=tn)
                for tp, fp, fn, tn in (
                    one,
                    two,
                    tuple(a + b for a, b in zip(one, two, strict=True)),
                )
            ]
            first, second, union = (rate.of(cells) for cells in counts)
            assert first is not None
            assert second is not None
            assert union is not None
            assert min(first, second) <= union <= max(first, second)


@examples(40)
@given(groups=st.lists(CELLS, min_size=1, max_size=4))
def test_a_rate_is_undefined_exactly_when_its_denominator_is_empty(groups: list[Four]) -> None:
    for rate in CELL_RATES:
        with about(rate.id):
            reading = rate.compute(count_groups(table_of(groups)))
            assert reading.over is not None
            assert reading.under is not None
            for value, over, under in zip(
                reading.value[0], reading.over[0], reading.under[0], strict=True
            ):
                assert math.isnan(value) == (under == 0 and over == 0)
                assert math.isinf(value) == (under == 0 and over > 0)


def is_rational(record: GroupMetric | Disparity) -> bool:
    """Whether a record says that its values are fractions."""
    if isinstance(record, Disparity):
        return all(how.rational and is_rational(one) for one, how in record.parts)
    return not isinstance(record, Formula) or record.exact_of is not None


def test_what_is_rational_is_judged_exactly() -> None:
    floats = {one.id for one in BINARY if not is_rational(one)}
    assert floats == {
        "pooled_selection_rate",
        "theil",
        "coefficient_of_variation",
        "atkinson",
        "correlation",
        "correlation_negatives",
        "kl_divergence",
    }


@examples(40)
@given(groups=st.lists(CELLS, min_size=2, max_size=4))
def test_floats_and_fractions_agree(groups: list[Four]) -> None:
    for record in [one for one in BINARY if is_rational(one)]:
        with about(record.id):
            found = evaluate(record, table_of(groups), terms_of(record))
            for w in np.flatnonzero(found.judged[0]).tolist():
                value, exact = float(found.value[0, w]), found.exact(0, w)
                if math.isfinite(value):
                    assert isinstance(exact, Fraction)
                    assert float(exact) == pytest.approx(value, rel=1e-12, abs=1e-12)
                else:
                    assert exact is None


@examples(40)
@given(cells=FULL_CELLS)
def test_one_group_alone_is_undefined_never_a_pass(cells: Four) -> None:
    for record in CRITERIA:
        with about(record.id):
            found = evaluate(record, table_of([cells]), terms_of(record))
            assert np.isnan(found.value).all()
            assert explain_undefined(found, 0, 0)


@pytest.mark.parametrize(
    "record", [one for one in CRITERIA if not one.to_reference], ids=lambda one: one.id
)
@examples(40)
@given(cells=FULL_CELLS, other=FULL_CELLS)
def test_a_criterion_sees_a_group_that_has_none_of_its_rate(
    record: Disparity, cells: Four, other: Four
) -> None:
    """The failing direction: where one group's cells are turned round, no criterion is at ideal."""
    tp, fp, fn, tn = cells
    turned = (fn, tn, tp, fp)
    assume((tp, fp) != (fn, tn))
    found = values_of(record, [cells, turned, other])
    for quantity, _ in record.parts:
        one, two = values_of(quantity, [cells, turned])
        assume(one != two)
    assert any(abs(value - record.ideal) > 1e-9 for value in found)


@examples(40)
@given(table=st.lists(st.lists(st.integers(1, 50), min_size=3, max_size=3), min_size=2, max_size=6))
def test_epsilon_is_the_largest_log_ratio_over_all_pairs_and_outcomes(
    table: list[list[int]],
) -> None:
    shares = [[Fraction(count, sum(row)) for count in row] for row in table]
    ratios = [p[y] / q[y] for p in shares for q in shares for y in range(3)]
    assert epsilon(table) == pytest.approx(math.log(max(ratios)), abs=1e-12)


def test_epsilon_edges() -> None:
    assert math.isinf(epsilon([[0, 5], [5, 5]]))
    assert epsilon([[5, 0], [3, 0]]) == 0, "an outcome nobody has is not in the range"
    assert math.isnan(epsilon([[5, 5]])), "one group"
    assert math.isnan(epsilon([[5, 5], [0, 0]])), "an empty group does not exist"
    assert epsilon([[0, 5], [5, 5]], smoothing=1) == pytest.approx(math.log((6 / 12) / (1 / 7)))
    with pytest.raises(
        ValueError,
        match=(
            "epsilon needs a table with a row for each group and a column for each outcome, "
            "without negative numbers, and a `smoothing` of 0 or more"
        ),
    ):
        epsilon([[1, -1], [1, 1]])


OUTCOMES_OF_GROUPS = st.lists(
    st.lists(st.integers(1, 50), min_size=3, max_size=3), min_size=8, max_size=8
)
"""People by group of three attributes of two levels each, and by outcome."""


@examples(40)
@given(table=OUTCOMES_OF_GROUPS)
def test_every_subset_of_three_attributes_is_within_twice_epsilon(table: list[list[int]]) -> None:
    """Theorem 3.2 and its corollaries; of one distribution the sharper bound ε holds too."""
    whole = epsilon(table)
    for kept in ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2)):
        merged: dict[tuple[int, ...], list[int]] = {}
        for group, counts in enumerate(table):
            key = tuple(group >> at & 1 for at in kept)
            old = merged.get(key, [0, 0, 0])
            merged[key] = [a + b for a, b in zip(old, counts, strict=True)]
        assert epsilon(list(merged.values())) <= whole + 1e-12 <= 2 * whole + 1e-12


@examples(40)
@given(table=OUTCOMES_OF_GROUPS, outcome=st.integers(0, 2))
def test_an_outcome_moves_the_odds_of_two_groups_by_epsilon_at_most(
    table: list[list[int]], outcome: int
) -> None:
    """Equation 4, for the prior of the data, which is in Θ."""
    bound = math.exp(epsilon(table)) * (1 + 1e-12)
    for one in table:
        for two in table:
            prior = Fraction(sum(one), sum(two))
            posterior = Fraction(one[outcome], two[outcome])
            assert float(prior) / bound <= float(posterior) <= float(prior) * bound


@examples(40)
@given(
    table=OUTCOMES_OF_GROUPS,
    utilities=st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(any),
)
def test_expected_utilities_differ_by_a_factor_of_epsilon_at_most(
    table: list[list[int]], utilities: list[int]
) -> None:
    """Equation 5, for any utility that is not negative; a negative one is not bounded."""
    expected = [
        Fraction(sum(u * n for u, n in zip(utilities, counts, strict=True)), sum(counts))
        for counts in table
    ]
    assert float(max(expected) / min(expected)) <= math.exp(epsilon(table)) * (1 + 1e-12)


def test_a_negative_utility_is_not_bounded() -> None:
    """The condition of equation 5: these expected utilities differ by more than e^ε."""
    table, utilities = [[6, 4], [5, 5]], [1.0, -0.99]
    first, second = (
        sum(u * n for u, n in zip(utilities, counts, strict=True)) / 10 for counts in table
    )
    assert first / second > 10 * math.exp(epsilon(table))


@examples(40)
@given(groups=st.lists(FULL_CELLS, min_size=2, max_size=4))
def test_bias_amplification_is_a_difference_of_epsilons(groups: list[Four]) -> None:
    (amplification,) = values_of(find_metric("bias_amplification"), groups)  # type: ignore[arg-type]
    predicted = epsilon([[tp + fp, fn + tn] for tp, fp, fn, tn in groups])
    labelled = epsilon([[tp + fn, fp + tn] for tp, fp, fn, tn in groups])
    assert amplification == pytest.approx(predicted - labelled, abs=1e-12)


@examples(40)
@given(groups=st.lists(FULL_CELLS, min_size=2, max_size=4))
def test_a_burden_turns_the_four_fifths_rule_to_the_complement(groups: list[Four]) -> None:
    record = find_metric("impact_ratio")
    assert record is not None
    found = evaluate(record, table_of(groups, favourable=False), MetricOptions())
    spared = [Fraction(fn + tn, tp + fp + fn + tn) for tp, fp, fn, tn in groups]
    expected = [float(one / max(spared)) for one in spared]
    judged = found.value[0][found.judged[0]]
    assert sorted([1.0, *judged]) == pytest.approx(sorted(expected))


def test_an_attribute_drawn_by_lot_is_near_the_ideal() -> None:
    """The other direction of the laws: where nothing is wrong, nothing is found."""
    records: list[Disparity | TableMetric] = [*CRITERIA, *WHOLES]
    random = np.random.default_rng(7)
    drawn = random.multinomial(100_000, [0.3, 0.15, 0.2, 0.35], size=3).tolist()
    for record in records:
        with about(record.id):
            values = values_of(record, [(a, b, c, d) for a, b, c, d in drawn])
            ideal = {"predictability": 0.55, "majority_baseline": 0.55}.get(record.id, record.ideal)
            assert values
            for value in values:
                assert value == pytest.approx(float(ideal), abs=0.03)


@examples(40)
@given(one=CELLS, two=CELLS)
def test_a_log_ratio_is_infinite_exactly_when_one_side_is_zero(one: Four, two: Four) -> None:
    rate, how = find_metric("selection_rate"), find_comparison("log_ratio")
    assert isinstance(rate, Rate)
    assert how is not None
    reference, group = (
        rate.of(ConfusionCounts.of_cells(**dict(zip(("tp", "fp", "fn", "tn"), cells, strict=True))))
        for cells in (one, two)
    )
    found = evaluate(
        build_disparity(rate, how), table_of([one, two]), terms_of(build_disparity(rate, how))
    )
    values = found.value[0][found.judged[0]].tolist()
    if not sum(one) or not sum(two):
        assert all(map(math.isnan, values))
        return
    (value,) = values
    assert reference is not None
    assert group is not None
    assert math.isinf(value) == ((not reference) is not (not group))
    assert math.isnan(value) == (not reference and not group)
    if math.isinf(value):
        assert (value > 0) == bool(group)


NO_ASSOCIATION = {"predictability", "majority_baseline", "differential_fairness_credible"}
"""Measures of whole tables that are none."""


@examples(40)
@given(cells=FULL_CELLS, groups=st.integers(2, 5))
def test_equal_groups_have_no_association(cells: Four, groups: int) -> None:
    for record in [one for one in WHOLES if one.id not in NO_ASSOCIATION]:
        with about(record.id):
            if record.id == "bias_amplification":
                cells = (cells[0], cells[1], cells[1], cells[3])
            for value in values_of(record, [cells] * groups):
                assert math.isnan(value) or value == pytest.approx(0, abs=1e-7)

"""Every measure of the catalogue, through the whole tool, against an oracle over rows.

The oracle (the modules catalogue_*) was written from the sources alone; what it shares with the
tool is the names. Known answers from outside (papers, scipy, scikit-learn, R) stand in it, too.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

import catalogue_comparisons
import catalogue_groups
import catalogue_people
import catalogue_published
import catalogue_tables
import polars as pl
import test_rows
from catalogue_people import Person
from catalogue_published import DATA, PUBLISHED, Published
from conftest import about, examples, sampled
from hypothesis import given
from hypothesis import strategies as st

import fairaudit
from fairaudit.metrics import CATALOGUE, Disparity, GroupMetric, Requirement, TableMetric
from fairaudit.result import AuditResult

GROUPS = ["a", "b", "c"]
UTILITIES = {"tp": 2, "fp": 1, "fn": -1, "tn": "0.5"}
FROM_COUNTS = {Requirement.LABEL, Requirement.PREDICTION, Requirement.CLASSES}
RENAMED = {
    "pearson": "numeric_correlation",
    "correlation_score": "correlation",
    "correlation_score_negatives": "correlation_negatives",
}
"""What the oracle calls otherwise."""

COMPARED: dict[str, tuple[str, str]] = {
    "selection_log_ratio": ("selection_rate", "log_ratio"),
    "cohens_h": ("selection_rate", "cohens_h"),
    "standardized_difference_selection": ("selection_rate", "standardized_difference"),
    "standardized_difference_score": ("mean_score", "standardized_difference"),
}
"""What is asked by `compare:`."""


def people(
    *, scored: bool = True, distinct: int = 8, size: int = 40
) -> st.SearchStrategy[list[Person]]:
    """People of three groups and three strata; some of their values are not known."""
    scores = st.integers(0, distinct).map(lambda k: Fraction(k, distinct))
    one = st.builds(
        Person,
        group=st.sampled_from(GROUPS),
        label=st.sampled_from([True, False, True, False, None]),
        prediction=st.sampled_from([True, False, True, False, None]),
        stratum=st.sampled_from(["x", "y", "z", None]),
        score=scores if scored else st.none(),
        people=st.integers(1, 6),
    )
    return st.lists(one, min_size=2, max_size=size).filter(
        lambda rows: (
            {row.group for row in rows} >= {"a", "b"}
            and {True, False} <= {row.prediction for row in rows}
            and {True, False} <= {row.label for row in rows}
        )
    )


def binary(value: bool | None) -> str | None:  # an outcome
    return None if value is None else "yes" if value else "no"


def decimal(value: Fraction | None) -> float | None:
    return None if value is None else float(value)


def frame(rows: Sequence[Person]) -> pl.DataFrame:
    """The people as a typed frame."""
    columns: dict[str, list[Any]] = {
        "group": [row.group for row in rows],
        "label": [binary(row.label) for row in rows],
        "prediction": [binary(row.prediction) for row in rows],
        "stratum": [row.stratum for row in rows],
        "score": [decimal(row.score) for row in rows],
        "y": [decimal(row.y) for row in rows],
        "predicted": [decimal(row.predicted) for row in rows],
        "label_class": [row.label_class for row in rows],
        "predicted_class": [row.predicted_class for row in rows],
        "number": [decimal(row.number) for row in rows],
        "n": [row.people for row in rows],
    }
    texts = ["group", "label", "prediction", "stratum", "label_class", "predicted_class"]
    types: dict[str, Any] = dict.fromkeys(texts, pl.String)
    numbers = dict.fromkeys(["score", "y", "predicted", "number"], pl.Float64)
    return pl.DataFrame(columns, schema_overrides={**types, **numbers})


def audit(rows: Sequence[Person], metrics: Sequence[Any], **columns: Any) -> AuditResult:
    """The metrics of people by group; `columns` in place of label and prediction."""
    outcomes = columns or {
        "label": {"column": "label", "positive": "yes", "negative": "no"},
        "prediction": {"column": "prediction", "positive": "yes", "negative": "no"},
    }
    spec = {
        "columns": {"protected": ["group"], "count": "n", "strata": ["stratum"], **outcomes},
        "missing": {"prediction": "aside", "score": "aside"},
        "metrics": list(metrics),
    }
    return fairaudit.audit(spec, frame(rows))


SCORED = {
    "label": {"column": "label", "positive": "yes", "negative": "no"},
    "prediction": {"column": "prediction", "positive": "yes", "negative": "no"},
    "score": "score",
}
NUMBERS = {
    "label": {"column": "y", "number": True},
    "prediction": {"column": "predicted", "number": True},
}
CLASSES = {"label": {"column": "label_class"}, "prediction": {"column": "predicted_class"}}


def asked(name: str, **more: Any) -> dict[str, Any]:
    """An entry of `metrics` for what the oracle calls so."""
    if name == "expected_utility":
        more["utilities"] = UTILITIES
    metric, compare = COMPARED.get(name, (RENAMED.get(name, name), ""))
    return {"metric": metric, **({"compare": compare} if compare else {}), **more}


def same(value: float, expected: Fraction | float | None) -> bool:
    """Equal, infinite alike, or undefined alike."""
    if expected is None:
        return math.isnan(value)
    if math.isinf(float(expected)):
        return value == float(expected)
    return math.isclose(value, float(expected), rel_tol=1e-9, abs_tol=1e-9)


def level_of(group: Sequence[tuple[str, str]] | None) -> str:
    return ", ".join(level for _, level in group or ())


def check_groups(result: AuditResult, rows: Sequence[Person], names: Mapping[str, str]) -> None:
    """The value of each group, and of everybody, by the oracle's own names for the metrics."""
    groups = catalogue_people.by_group(rows)
    found = {(row.metric, level_of(row.group)): row.estimate.value for row in result.rates}
    for metric, name in names.items():
        for group in ("", *groups):
            own = groups[group] if group else list(rows)
            expected = of_group(name, own, rows)
            assert same(found[metric, group], expected), (name, group, expected)


def of_group(name: str, own: Sequence[Person], rows: Sequence[Person]) -> Any:
    if name == "expected_utility":
        utilities = {cell: Fraction(str(value)) for cell, value in UTILITIES.items()}
        return catalogue_groups.expected_utility(own, rows, **utilities)
    return catalogue_groups.GROUP[name](own, rows)


def check_reference(result: AuditResult, rows: Sequence[Person], names: Sequence[str]) -> None:
    """Each group against group a, entry by entry."""
    groups = catalogue_people.by_group(rows)
    entries = _entries(result, [asked(name)["metric"] for name in names])
    for name, found in zip(names, entries, strict=True):
        assert set(found) == set(groups) - {"a"}
        for group, value in found.items():
            expected = catalogue_comparisons.TO_REFERENCE[name](groups[group], groups["a"], rows)
            assert same(value, expected), (name, group, value, expected)


def _entries(result: AuditResult, metrics: Sequence[str]) -> Iterator[dict[str, float]]:
    """The values by group of one entry of `metrics` after the other."""
    rows = iter(result.comparisons)
    row = next(rows, None)
    for metric in metrics:
        found: dict[str, float] = {}
        while row is not None and row.metric == metric and level_of(row.group) not in found:
            found[level_of(row.group)] = row.estimate.value
            row = next(rows, None)
        yield found
    assert row is None


COUNTED_GROUPS = [
    "group_size",
    "true_positives",
    "false_positives",
    "false_negatives",
    "true_negatives",
    "demographic_disparity",
    "generalized_entropy",
    "theil",
    "coefficient_of_variation",
    "atkinson",
    "expected_utility",
]
SCORED_GROUPS = [
    "mean_score",
    "mean_score_positives",
    "mean_score_negatives",
    "scoring_rate",
    "auc",
    "average_precision",
    "brier",
    "calibration_error",
    "calibration_in_the_large",
    "calibration_slope",
    "calibration_intercept",
    "hosmer_lemeshow",
]
NUMBERED_GROUPS = ["mean_prediction", "mean_label", "mean_residual", "mae", "rmse", "r2"]
COUNTED_REFERENCES = [
    "mean_difference",
    "normalized_difference",
    "selection_odds_ratio",
    "selection_log_ratio",
    "cohens_h",
    "standardized_difference_selection",
    "between_group_auc",
    "balanced_residuals",
]
SCORED_REFERENCES = [
    "standardized_difference_score",
    "between_group_auc_score",
    "balanced_residuals",
]
COUNTED_TABLES = [
    "eta_neutrality",
    "mutual_information",
    "normalized_mutual_information",
    "predictability",
    "goodman_kruskal_lambda",
    "cramers_v",
    "total_variation",
    "between_group_generalized_entropy",
    "differential_equalized_odds",
    "differential_equal_opportunity",
    "differential_fairness_credible",
]
SCORED_TABLES = [
    "score_parity",
    "score_parity_gap",
    "test_fairness",
    "balance_positive_class",
    "balance_negative_class",
    "well_calibration",
    "multicalibration",
    "score_mutual_information",
    "normalized_score_mutual_information",
]
CONDITIONAL = [
    "conditional_equal_opportunity_gap",
    "conditional_equal_opportunity_ratio",
    "unexplained_difference",
    "explained_difference",
    "mantel_haenszel_odds_ratio",
]


@given(rows=people(scored=False))
@examples(40)
def test_numbers_of_groups_by_counts(rows: list[Person]) -> None:
    result = audit(rows, [asked(name) for name in COUNTED_GROUPS])
    check_groups(result, rows, {name: name for name in COUNTED_GROUPS})


@given(rows=people(scored=False), alpha=st.sampled_from(["-1", "0", "0.5", "1", "2", "3"]))
@examples(40)
def test_generalized_entropy_of_any_order(rows: list[Person], alpha: str) -> None:
    burden = {**SCORED, "prediction": {**SCORED["prediction"], "favourable": False}}  # type: ignore[dict-item]
    del burden["score"]
    asking = [{"metric": "generalized_entropy", "alpha": alpha}]
    for columns, is_burden in (({}, False), (burden, True)):
        result = audit(rows, asking, **columns)
        for row in result.rates:
            own = catalogue_people.by_group(rows)[level_of(row.group)] if row.group else rows
            expected = catalogue_groups.generalized_entropy(
                own, alpha=Fraction(alpha), burden=is_burden
            )
            assert same(row.estimate.value, expected), (row.group, alpha, expected)


@given(rows=people(distinct=8))
@examples(40)
def test_numbers_of_groups_by_scores(rows: list[Person]) -> None:
    result = audit(rows, [asked(name) for name in SCORED_GROUPS], **SCORED)
    check_groups(result, rows, {name: name for name in SCORED_GROUPS})


@given(rows=people(distinct=8, size=400), seed=st.integers(0, 1000))
@examples(20)
def test_calibration_of_many_people(rows: list[Person], seed: int) -> None:
    draw = Random(seed)
    inner = [replace(row, score=Fraction(draw.randint(1, 63), 64), people=9) for row in rows]
    names = ["calibration_slope", "calibration_intercept", "hosmer_lemeshow"]
    check_groups(audit(inner, names, **SCORED), inner, {name: name for name in names})


@given(rows=people(distinct=64, size=60))
@examples(30)
def test_scores_of_many_values_are_binned_in_ten(rows: list[Person]) -> None:
    names = ["calibration_error", "auc", "average_precision", "brier", "scoring_rate"]
    result = audit(rows, [*names, *SCORED_TABLES], **SCORED)
    check_groups(result, rows, {name: name for name in names})
    for row in result.comparisons:
        assert same(row.estimate.value, catalogue_tables.TABLE[row.metric](rows)), row


@given(rows=people(scored=False))
@examples(40)
def test_comparisons_with_a_reference_by_counts(rows: list[Person]) -> None:
    entries = [asked(name, reference="a") for name in COUNTED_REFERENCES]
    check_reference(audit(rows, entries), rows, COUNTED_REFERENCES)


@given(rows=people())
@examples(40)
def test_comparisons_with_a_reference_by_scores(rows: list[Person]) -> None:
    entries = [asked(name, reference="a") for name in SCORED_REFERENCES]
    check_reference(audit(rows, entries, **SCORED), rows, SCORED_REFERENCES)


@given(rows=people(), scored=st.booleans())
@examples(40)
def test_comparisons_with_the_rest(rows: list[Person], scored: bool) -> None:
    names = ["elift", "correlation", "correlation_negatives"]
    result = audit(rows, names, **(SCORED if scored else {}))
    groups = catalogue_people.by_group(rows)
    for row in result.comparisons:
        group = level_of(row.group)
        rest = [one for one in rows if one.group != group]
        name = row.metric
        if scored and name == "correlation":
            name = "correlation_score"
        elif scored and name == "correlation_negatives":
            name = "correlation_score_negatives"
        expected = catalogue_comparisons.TO_REST[name](groups[group], rest)
        assert same(row.estimate.value, expected), (name, group, row.estimate.value, expected)
    assert len(result.comparisons) == len(names) * len(groups)


@given(rows=people(scored=False))
@examples(40)
def test_numbers_of_the_whole_table_by_counts(rows: list[Person]) -> None:
    result = audit(rows, COUNTED_TABLES)
    assert [row.metric for row in result.comparisons] == COUNTED_TABLES
    for row in result.comparisons:
        expected = catalogue_tables.TABLE[row.metric](rows)
        assert same(row.estimate.value, expected), (row.metric, row.estimate.value, expected)


@given(rows=people())
@examples(40)
def test_numbers_of_the_whole_table_by_scores(rows: list[Person]) -> None:
    result = audit(rows, SCORED_TABLES, **SCORED)
    assert [row.metric for row in result.comparisons] == SCORED_TABLES
    for row in result.comparisons:
        expected = catalogue_tables.TABLE[row.metric](rows)
        assert same(row.estimate.value, expected), (row.metric, row.estimate.value, expected)


@given(rows=people(scored=False))
@examples(40)
def test_measures_averaged_over_strata(rows: list[Person]) -> None:
    result = audit(rows, [asked(name, given="stratum", reference="a") for name in CONDITIONAL])
    groups = catalogue_people.by_group(rows)
    for row in result.comparisons:
        group = level_of(row.group)
        expected = catalogue_comparisons.CONDITIONAL[row.metric](groups[group], groups["a"], rows)
        assert same(row.estimate.value, expected), (row.metric, group, row.estimate.value, expected)
    assert len(result.comparisons) == len(CONDITIONAL) * (len(groups) - 1)


@given(
    rows=people(scored=False),
    weights=st.sampled_from(
        ["pooled", "uniform", "reference", "group", "reference_people", "group_people", "overlap"]
    ),
    rate=st.sampled_from(["selection_rate", "true_positive_rate", "accuracy"]),
    compare=st.sampled_from(["difference", "ratio"]),
)
@examples(50)
def test_any_rate_averaged_by_any_weights(
    rows: list[Person], weights: str, rate: str, compare: str
) -> None:
    entry = {"metric": rate, "compare": compare, "reference": "a", "given": "stratum"}
    result = audit(rows, [{**entry, "average": weights}])
    groups = catalogue_people.by_group(rows)
    assert len(result.comparisons) == len(groups) - 1
    for row in result.comparisons:
        own = groups[level_of(row.group)]
        found = catalogue_comparisons.standardized_rate(rate, own, groups["a"], weights)
        assert same(row.estimate.value, getattr(found, compare)), (row, found)


@given(rows=people(scored=False), x=st.integers(0, 5), y=st.integers(0, 5), z=st.integers(1, 5))
@examples(40)
def test_rates_averaged_by_given_weights(rows: list[Person], x: int, y: int, z: int) -> None:
    weights = {"x": Fraction(x), "y": Fraction(y), "z": Fraction(z)}
    entry = {"metric": "selection_rate", "compare": "difference", "reference": "a"}
    average = {name: int(weight) for name, weight in weights.items()}
    result = audit(rows, [{**entry, "given": "stratum", "average": average}])
    groups = catalogue_people.by_group(rows)
    for row in result.comparisons:
        own = groups[level_of(row.group)]
        found = catalogue_comparisons.standardized_rate("selection_rate", own, groups["a"], weights)
        assert same(row.estimate.value, found.difference), (row, found)


@given(rows=people(scored=False))
@examples(40)
def test_demographic_disparity_and_lift_within_strata(rows: list[Person]) -> None:
    names = ["conditional_demographic_disparity", "belift", "belift_overall"]
    shares = {
        "stratum_share": "selection_rate",
        "stratum_share_of_positives": "true_positive_rate",
        "stratum_share_of_negatives": "false_positive_rate",
    }
    result = audit(rows, [asked(name, given="stratum") for name in (*names, *shares)])
    groups = catalogue_people.by_group(rows)
    for row in result.comparisons:
        group = level_of(row.group)
        expected: Any
        if row.metric == "conditional_demographic_disparity":
            expected = catalogue_comparisons.conditional_demographic_disparity(groups[group], rows)
        else:
            measure = (
                catalogue_comparisons.belift
                if row.metric == "belift"
                else catalogue_comparisons.belift_overall
            )
            expected = measure(rows, group, level_of(row.stratum))
        if not _alone(rows, level_of(row.stratum)):
            assert same(row.estimate.value, expected), (row.metric, group, row.stratum, expected)
    for rate in result.rates:
        stratum = level_of(rate.stratum)
        if rate.metric in shares and rate.group:
            share = catalogue_comparisons.stratum_share(
                shares[rate.metric], groups[level_of(rate.group)], stratum
            )
            expected = None if stratum == "(unknown)" else share
            assert same(rate.estimate.value, expected), (rate.metric, rate.group, stratum, share)


def _alone(rows: Sequence[Person], stratum: str) -> bool:
    """Whether a stratum has one group only: there is no group to compare with."""
    return bool(stratum) and len({row.group for row in rows if row.stratum == stratum}) < 2


@st.composite
def numbered(draw: st.DrawFn) -> list[Person]:
    """People with numeric labels and predictions, two decimals, some not known."""
    value = st.one_of(st.none(), st.integers(-500, 500).map(lambda k: Fraction(k, 100)))
    one = st.builds(
        Person, st.sampled_from(GROUPS), y=value, predicted=value, people=st.integers(1, 4)
    )
    rows = draw(st.lists(one, min_size=3, max_size=30))
    return [Person("a", y=Fraction(1), predicted=Fraction(2)), *rows]


@given(rows=numbered())
@examples(40)
def test_numbers_of_groups_by_sums(rows: list[Person]) -> None:
    names = {name: name for name in NUMBERED_GROUPS}
    result = audit(rows, [*NUMBERED_GROUPS], **NUMBERS)
    check_groups(result, rows, names)


@st.composite
def classed(draw: st.DrawFn) -> list[Person]:
    """People with labels and predictions of three classes."""
    value = st.sampled_from(["p", "q", "r", "p", "q", None])
    one = st.builds(
        Person,
        st.sampled_from(GROUPS),
        label_class=value,
        predicted_class=value,
        people=st.integers(1, 4),
    )
    rows = draw(st.lists(one, min_size=3, max_size=30))
    return [Person("a", label_class="p", predicted_class="q"), *rows]


@given(rows=classed(), order=st.permutations("pqr"))
@examples(40)
def test_ordered_classes(rows: list[Person], order: list[str]) -> None:
    """Whatever the order: the oracle's letters are those that the order says."""
    prediction = {"column": "predicted_class", "order": order}
    entries = [asked("between_group_auc_ordinal", reference="a")]
    letters = dict(zip(order, "pqr", strict=True))
    renamed = [
        replace(row, predicted_class=row.predicted_class and letters[row.predicted_class])
        for row in rows
    ]
    result = audit(rows, entries, prediction=prediction)
    check_reference(result, renamed, ["between_group_auc_ordinal"])


@given(rows=classed())
@examples(40)
def test_outcomes_of_several_classes(rows: list[Person]) -> None:
    rates = ["selection_rate", "true_positive_rate", "false_positive_rate", "f1"]
    rates.append("positive_predictive_value")
    classes = sorted({row.predicted_class for row in rows if row.predicted_class})
    entries = [{"metric": name, "class": one} for name in rates for one in classes]
    tables = ["total_variation", "mutual_information", "cramers_v", "predictability"]
    result = audit(rows, [*tables, *entries], **CLASSES)
    groups = catalogue_people.by_group(rows)
    for row in result.comparisons:
        expected = catalogue_tables.TABLE[row.metric](rows)
        assert same(row.estimate.value, expected), (row.metric, expected)
    for one in classes:
        alone = audit(rows, [{"metric": name, "class": one} for name in rates], **CLASSES)
        for rate in alone.rates:
            own = groups[level_of(rate.group)] if rate.group else rows
            assert same(rate.estimate.value, catalogue_groups.class_rate(rate.metric, own, one)), (
                rate
            )


@given(rows=classed())
@examples(40)
def test_the_macro_mean_over_classes(rows: list[Person]) -> None:
    names = list(catalogue_groups.CLASS_RATES)
    entries = [{"metric": name, "class": "macro"} for name in names]
    result = audit(rows, entries, **CLASSES)
    groups = catalogue_people.by_group(rows)
    for row in result.rates:
        own = groups[level_of(row.group)] if row.group else rows
        expected = catalogue_groups.MACRO[row.metric](own, rows)
        assert same(row.estimate.value, expected), (row.metric, row.group, expected)


@given(rows=classed())
@examples(40)
def test_divergence_from_a_reference(rows: list[Person]) -> None:
    result = audit(rows, [{"metric": "kl_divergence", "reference": "a"}], **CLASSES)
    groups = catalogue_people.by_group(rows)
    for row in result.comparisons:
        expected = catalogue_comparisons.kl_divergence(groups[level_of(row.group)], groups["a"])
        assert same(row.estimate.value, expected), (row, expected)


@st.composite
def aged(draw: st.DrawFn) -> list[Person]:
    """People with a whole number as the attribute."""
    one = st.builds(
        Person,
        st.just("a"),
        prediction=st.sampled_from([True, False, True, False, None]),
        number=st.one_of(st.none(), st.integers(18, 60).map(Fraction)),
        people=st.integers(1, 5),
    )
    rows = draw(st.lists(one, min_size=2, max_size=25))
    return [
        Person("a", prediction=True, number=Fraction(30)),
        Person("a", prediction=False, number=Fraction(50)),
        *rows,
    ]


@given(rows=aged())
@examples(40)
def test_a_numeric_attribute_beside_its_bins(rows: list[Person]) -> None:
    names = ["slope", "pearson", "trend"]
    prediction = {"column": "prediction", "positive": "yes", "negative": "no"}
    columns = {"protected": {"number": {"bins": [25, 40]}}, "prediction": prediction, "strata": {}}
    result = audit(rows, [RENAMED.get(name, name) for name in names], **columns)
    known = [row for row in rows if row.number is not None]
    assert len(result.comparisons) == len(names)
    for name, row in zip(names, result.comparisons, strict=True):
        assert same(row.estimate.value, catalogue_tables.TABLE[name](known)), (name, row)


@cache
def columns_of(data: str) -> dict[str, Any]:
    """How the known answers' people are described to the tool."""
    rows = DATA[data]
    found: dict[str, Any] = {}
    if any(row.y is not None for row in rows):
        return dict(NUMBERS)
    if any(row.predicted_class is not None for row in rows):
        return dict(CLASSES)
    binary_outcome = {"positive": "yes", "negative": "no"}
    if any(row.label is not None for row in rows):
        found["label"] = {"column": "label", **binary_outcome}
    if any(row.prediction is not None for row in rows):
        found["prediction"] = {"column": "prediction", **binary_outcome}
    if any(row.score is not None for row in rows):
        found["score"] = "score"
    if any(row.number is not None for row in rows):
        found["protected"] = {"number": {"bins": [1, 2, 3]}}
    return found


@cache
def audit_known(data: str, entry: str, columns: str) -> AuditResult:
    """An audit of one measure, for the known answers of all its groups."""
    return audit(DATA[data], [json.loads(entry)], **json.loads(columns))


def known_value(check: Published) -> float:
    """What the tool gives for the measure and the data of a known answer."""
    rows, columns = DATA[check.data], columns_of(check.data)
    if check.name == "total_variation" and check.reference:
        # The tool's is over all pairs: of two groups alone it is theirs.
        pair = [row for row in rows if row.group in {check.group, check.reference}]
        return audit(pair, ["total_variation"], **columns).comparisons[0].estimate.value
    scored = "score" in columns
    if check.name in {"correlation", "correlation_negatives"} and scored:
        columns = {name: value for name, value in columns.items() if name != "score"}
    entry = asked(check.name)
    metric = check.name.removeprefix("macro_")
    if metric != check.name:
        entry = {"metric": metric, "class": "macro"}
    if check.name in catalogue_comparisons.CONDITIONAL:
        entry["given"] = "stratum"
    if check.name == "standardized_selection_rate":
        entry = {"metric": "selection_rate", "compare": "difference", "given": "stratum"}
        entry["average"] = "pooled"
    if check.reference:
        entry["reference"] = check.reference
    result = audit_known(check.data, json.dumps(entry), json.dumps(columns))
    if check.name in catalogue_groups.GROUP or metric != check.name:
        found = {level_of(row.group): row.estimate.value for row in result.rates}
        return found[check.group]
    if check.name == "standardized_selection_rate":
        (row,) = (one for one in result.comparisons if level_of(one.group) == check.group)
        assert row.parts[0].first is not None
        return row.parts[0].first.estimate.value
    values = {level_of(row.group): row.estimate.value for row in result.comparisons}
    return values[check.group if check.name not in catalogue_tables.TABLE else ""]


def test_known_answers_from_outside() -> None:
    for check in sampled(PUBLISHED, 8):
        with about(f"{check.name} of {check.data}, {check.group}"):
            assert check.agrees(catalogue_published.published_value(check))
            assert check.agrees(known_value(check)), known_value(check)


def test_no_record_of_the_catalogue_is_left_out() -> None:
    here = {asked(name)["metric"] for name in (
        *COUNTED_GROUPS, *SCORED_GROUPS, *NUMBERED_GROUPS, *COUNTED_REFERENCES, *SCORED_REFERENCES,
        *COUNTED_TABLES, *SCORED_TABLES, *CONDITIONAL, "elift", "correlation",
        "correlation_negatives", "kl_divergence", "slope", "pearson", "trend",
        "conditional_demographic_disparity", "belift", "belift_overall", "stratum_share",
        "stratum_share_of_positives", "stratum_share_of_negatives",
    )}  # fmt: skip
    import oracle as first  # noqa: PLC0415  # the oracle of rates and criteria

    there = {*first.RATES, *first.CRITERIA, "differential_fairness", "bias_amplification"}
    by_rows = {one.id for one in CATALOGUE if Requirement.FEATURES in one.requirements}
    assert by_rows == {*test_rows.ALL, "balanced_error_rate"}  # test_modelled_strata.py
    left = {one.id for one in CATALOGUE} - here - there - by_rows
    compared = {"mean_prediction", "mae"}
    signed = {f"{name}_{how}" for name in compared for how in ("difference", "ratio")}
    assert left - signed == {
        "conditional_statistical_parity",  # test_oracle.py, in each stratum
        "majority_baseline",
        "between_group_auc_ordinal",
        "mean_difference_of_numbers",
        "regression_slope",  # test_regression.py
        "pooled_selection_rate",  # test_pooled_rates.py
        "differential_fairness_pooled",
        "differential_fairness_draws",  # test_draws.py
        "differential_fairness_posterior_mean",
        "propensity_stratified_difference",  # test_modelled_strata.py
        "scoring_impact_ratio",
    }
    assert all(isinstance(one, GroupMetric | Disparity | TableMetric) for one in CATALOGUE)


@given(rows=people(scored=True))
@examples(30)
def test_what_is_left(rows: list[Person]) -> None:
    result = audit(rows, ["majority_baseline", "scoring_impact_ratio"], **SCORED)
    groups = catalogue_people.by_group(rows)
    rates = {name: catalogue_groups.scoring_rate(own, rows) for name, own in groups.items()}
    highest = max(rate for rate in rates.values() if rate is not None)
    for row in result.comparisons:
        if row.metric == "majority_baseline":
            if not math.isnan(row.estimate.value):
                assert same(row.estimate.value, catalogue_tables.majority_baseline(rows))
            continue
        own = rates[level_of(row.group)]
        expected = None if own is None or not highest else own / highest
        assert same(row.estimate.value, expected)


@given(rows=numbered())
@examples(40)
def test_numbers_against_a_reference(rows: list[Person]) -> None:
    names = ("mean_prediction", "mae")
    signed = [f"{name}_{how}" for name in names for how in ("difference", "ratio")]
    asking = [*signed, "mean_difference"]
    result = audit(rows, [{"metric": name, "reference": "a"} for name in asking], **NUMBERS)
    groups = catalogue_people.by_group(rows)
    assert len(groups) == 1 or result.comparisons[-1].metric == "mean_difference_of_numbers"
    for row in result.comparisons:
        name, _, how = row.metric.rpartition("_")
        name = "mean_prediction" if row.metric == "mean_difference_of_numbers" else name
        one, two = (
            catalogue_groups.GROUP[name](groups[g], rows) for g in (level_of(row.group), "a")
        )
        if one is None or two is None:
            expected: Any = None
        elif row.metric == "mean_difference_of_numbers":
            expected = two - one
        elif how == "difference":
            expected = one - two
        elif name == "mean_prediction" and (one <= 0 or two <= 0):
            expected = None
        else:
            expected = one / two if two else (math.inf if one else None)
        assert same(row.estimate.value, expected), (row.metric, one, two)

"""In words: how a measure gets its interval and its test, whatever the data."""

from __future__ import annotations

from fairaudit.evidence.intervals import explain_no_interval
from fairaudit.evidence.significance import explain_no_test, has_direct_test
from fairaudit.evidence.simultaneous import SIMULTANEOUS
from fairaudit.metrics import (
    Disparity,
    FirstOf,
    GroupMetric,
    Mean,
    Metric,
    Rate,
    ReferencePolicy,
    TableMetric,
)
from fairaudit.metrics.comparisons import RANKED
from fairaudit.metrics.disparities import MAX, MEAN, MIN, ComparisonShape
from fairaudit.metrics.formulas import Formula
from fairaudit.metrics.numbers import NumberMean
from fairaudit.metrics.scores import Distribution
from fairaudit.metrics.terms import EXTREME_REFERENCES
from fairaudit.stats.contingency import EXPECTED

_FEW = f"where a count below {EXPECTED} is expected"
_FEW_GROUPS = (
    "beside groups in which fewer than 5 are expected, that of the others and of every pair "
    "(z or Fisher), corrected for both"
)
_SMALL_GROUPS = (
    "beside groups of fewer than 10 people, that of the others and of every pair (Welch), "
    "corrected for both"
)
_COMPARED = {
    "difference": "Newcombe",
    "shortfall": "Newcombe",
    "ratio": "Koopman (Katz on request)",
    "gap": "Newcombe",
    "min_ratio": "Koopman",
    "log_ratio": "Koopman, in logarithms",
    "odds_ratio": "Woolf, with Gart's ½",
    "standardized_difference": "Bonett",
    "cohens_h": "MOVER on the arcsine scale",
    "normalized": "Koopman of both ratios it is made of, mapped",
    "correlation": "Bonett, mapped; of shares MOVER by gradients",
    RANKED.id: "Newcombe, mapped",
    "ranked_scores": "DeLong",
}
"""The interval by the comparison, of two shares where it matters."""


def name_interval(asked: Metric) -> str:
    """The way to a measure's interval, or why it has none."""
    lacking = explain_no_interval(asked)
    if lacking is not None:
        return lacking
    if isinstance(asked, TableMetric):
        return asked.method
    if isinstance(asked, GroupMetric):
        return _of_quantity(asked)
    how, quantity = asked.comparison, asked.parts[0][0]
    if how.exact_in_strata is not None:
        return "Robins–Breslow–Greenland"
    if how.id == "itself" or asked.averages:
        return "MOVER over strata"
    if asked.reference is ReferencePolicy.HIGHEST:
        return f"Koopman, {SIMULTANEOUS}"
    if quantity.is_proportion or how.contrast is not None or how.id == "odds_ratio":
        found = _COMPARED[how.id]
    elif isinstance(quantity, Rate) and quantity.bounds[1] is None:
        found = _COMPARED["odds_ratio"]
    else:
        is_mean = (
            _is_mean(quantity) and how.shape is not ComparisonShape.SPREAD and not how.quotient
        )
        found = "Welch" if is_mean else "MOVER"
    if how.shape is ComparisonShape.SPREAD:
        found = f"{found}, {SIMULTANEOUS}"
    if len(asked.parts) > 1:
        if asked.fold is MEAN and asked.to_reference:
            return f"{found}, MOVER over both"
        found += ", both rates together" if asked.fold in {MAX, MIN, MEAN} else ", either rate's"
    return found


def name_test(asked: Metric) -> str:
    """The test of no disparity, or why there is none."""
    lacking = explain_no_test(asked)
    if isinstance(asked, GroupMetric):
        return "none: it compares nobody"
    if lacking is not None:
        return lacking if lacking.startswith("none") else f"none: {lacking}"
    if isinstance(asked, TableMetric):
        if asked.standard_normal:
            return "it is the test itself"
        if asked.independence is None:
            return "its interval"
        return f"{'G' if asked.information else 'χ²'}; {_FEW_GROUPS}"
    return _of_measure(asked)


def _of_measure(asked: Disparity) -> str:
    quantity = asked.parts[0][0]
    spread = asked.comparison.shape is ComparisonShape.SPREAD
    if not all(has_direct_test(part) for part, _ in asked.parts):
        return "its interval"
    if asked.conditional and asked.averages:
        beside = "; Cochran–Mantel–Haenszel stands beside it" if quantity.is_proportion else ""
        return f"its interval{beside}"
    if len(asked.parts) > 1 and asked.fold is MEAN and asked.to_reference:
        return "its interval; that of both rates, Šidák over both, stands beside it"
    test = "Welch (Student on request)"
    if quantity.is_proportion:
        test = f"χ²; {_FEW_GROUPS}" if spread else f"z, or Fisher {_FEW}"
    elif isinstance(quantity, Distribution):
        test = "Mann–Whitney"
    elif quantity.id == "outcome_distribution":
        test = "G"
    elif spread:
        test = f"Welch's F; {_SMALL_GROUPS}"
    if asked.reference in EXTREME_REFERENCES:
        return f"{test}, of every group that lies farther out, over pairs (Tukey–Kramer)"
    return test + (", Šidák over both rates" if len(asked.parts) > 1 else "")


def _of_quantity(quantity: GroupMetric) -> str:
    if isinstance(quantity, FirstOf):
        return ", or ".join(dict.fromkeys(map(_of_quantity, quantity.options)))
    if quantity.is_proportion:
        return "Wilson"
    if isinstance(quantity, Rate):
        return "Wilson of the share it is made of, mapped"
    if isinstance(quantity, Mean):
        return "MOVER of Wilson's"
    if isinstance(quantity, Formula) and quantity.deviation_of is None:
        return quantity.method
    return "Student"


def _is_mean(quantity: GroupMetric) -> bool:
    if isinstance(quantity, FirstOf):
        return all(map(_is_mean, quantity.options))
    by_deviation = isinstance(quantity, Formula) and quantity.deviation_of is not None
    return isinstance(quantity, NumberMean) or by_deviation

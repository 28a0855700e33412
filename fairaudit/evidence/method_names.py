"""In words: how a measure gets its interval and its test, whatever the data."""

from __future__ import annotations

from fairaudit.evidence.simultaneous import SIMULTANEOUS
from fairaudit.evidence.value_intervals import explain_no_interval
from fairaudit.evidence.value_tests import explain_no_test, has_direct_test
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
from fairaudit.metrics.comparisons import ODDS_RATIO
from fairaudit.metrics.disparities import MAX, MEAN, MIN
from fairaudit.metrics.effect_sizes import Shares
from fairaudit.metrics.formulas import Formula
from fairaudit.metrics.pair_intervals import Scale
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


def name_interval(metric: Metric) -> str:
    """The name of the interval of a metric, or why it has none."""
    why = explain_no_interval(metric)
    if why is not None:
        return why
    if isinstance(metric, TableMetric):
        return metric.method
    if isinstance(metric, GroupMetric):
        return _name_rate_interval(metric)
    comparison, part = metric.comparison, metric.parts[0][0]
    if comparison.exact_in_strata is not None:
        return comparison.interval_name
    if comparison.one_sided or metric.averages:
        return "MOVER over strata"
    if metric.reference is ReferencePolicy.HIGHEST:
        return f"Koopman, {SIMULTANEOUS}"
    if part.is_proportion or comparison.contrast is not None or comparison.scale is Scale.ODDS:
        name = comparison.interval_name
    elif isinstance(part, Rate) and part.bounds[1] is None:
        name = ODDS_RATIO.interval_name
    else:
        is_mean = (
            _is_number_mean(part)
            and not comparison.is_spread
            and comparison.scale is not Scale.RATIO
        )
        name = "Welch" if is_mean else "MOVER"
    if comparison.is_spread:
        name = f"{name}, {SIMULTANEOUS}"
    if len(metric.parts) > 1:
        if metric.fold is MEAN and metric.to_reference:
            return f"{name}, MOVER over both"
        name += ", both rates together" if metric.fold in {MAX, MIN, MEAN} else ", either rate's"
    return name


def name_test(metric: Metric) -> str:
    """The name of the test of no disparity, or why there is none."""
    why = explain_no_test(metric)
    if isinstance(metric, GroupMetric):
        return "it is the test itself" if metric.is_test else "none: it compares nobody"
    if why is not None:
        return why if why.startswith("none") else f"none: {why}"
    if isinstance(metric, TableMetric):
        if metric.standard_normal:
            return "it is the test itself"
        if metric.independence is None:
            return "its interval"
        return f"{'G' if metric.information else 'χ²'}; {_FEW_GROUPS}"
    return _name_disparity_test(metric)


def _name_disparity_test(metric: Disparity) -> str:
    quantity = metric.parts[0][0]
    is_spread = metric.comparison.is_spread
    if not all(has_direct_test(part) for part, _ in metric.parts):
        return "its interval"
    if metric.conditional and metric.averages:
        side_test = "; Cochran–Mantel–Haenszel stands beside it" if quantity.is_proportion else ""
        return f"its interval{side_test}"
    if len(metric.parts) > 1 and metric.fold is MEAN and metric.to_reference:
        return "its interval; that of both rates, Šidák over both, stands beside it"
    test = "Welch (Student on request)"
    if quantity.is_proportion:
        test = f"χ²; {_FEW_GROUPS}" if is_spread else f"z, or Fisher {_FEW}"
    elif isinstance(quantity, Distribution):
        test = "Mann–Whitney"
    elif isinstance(quantity, Shares):
        test = "G"
    elif is_spread:
        test = f"Welch's F; {_SMALL_GROUPS}"
    if metric.reference in EXTREME_REFERENCES:
        return f"{test}, of every group that lies farther out, over pairs (Tukey–Kramer)"
    return test + (", Šidák over both rates" if len(metric.parts) > 1 else "")


def _name_rate_interval(metric: GroupMetric) -> str:
    if isinstance(metric, FirstOf):
        return ", or ".join(dict.fromkeys(map(_name_rate_interval, metric.options)))
    if metric.is_proportion:
        return "Wilson"
    if isinstance(metric, Rate):
        return "Wilson of the share it is made of, mapped"
    if isinstance(metric, Mean):
        return "MOVER of Wilson's"
    if isinstance(metric, Formula) and metric.deviation_of is None:
        return metric.method
    return "Student"


def _is_number_mean(metric: GroupMetric) -> bool:
    if isinstance(metric, FirstOf):
        return all(map(_is_number_mean, metric.options))
    return isinstance(metric, Formula) and metric.deviation_of is not None

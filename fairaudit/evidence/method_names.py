"""`explain`: names of the interval and test of a metric, whatever the data; why it has none."""

from __future__ import annotations

from fairaudit.evidence.joint_tests import LARGE_GROUP
from fairaudit.evidence.no_interval import (
    MEAN_IS_BIASED,
    ONE_GROUP,
    STRATA_ARE_ESTIMATED,
    explain_one_group,
)
from fairaudit.evidence.simultaneous import SIMULTANEOUS, has_extreme_interval
from fairaudit.metrics import Disparity, GroupMetric, Metric, ReferencePolicy, TableMetric
from fairaudit.metrics.comparisons import ODDS_RATIO
from fairaudit.metrics.folds import MAX, MEAN, MIN, REMAINDER
from fairaudit.metrics.group_metrics import ValueKind
from fairaudit.metrics.pair_intervals import Scale
from fairaudit.metrics.terms import EXTREME_REFERENCES
from fairaudit.stats.contingency import LEAST_EXPECTED

FEW_EXPECTED = f"where a count below {LEAST_EXPECTED} is expected"
_FEW_GROUPS = (
    f"beside groups in which fewer than {LEAST_EXPECTED} are expected, that of the others and of "
    "every pair (z or Fisher), corrected for both"
)
_SMALL_GROUPS = (
    f"beside groups of fewer than {LARGE_GROUP} people, that of the others and of every pair "
    "(Welch), corrected for both"
)

_INTERVALS = {
    ValueKind.SHARE: "Wilson",
    ValueKind.OF_SHARE: "Wilson of the share it is made of, mapped",
    ValueKind.MEAN_OF_SHARES: "MOVER of Wilson's",
    ValueKind.MEAN: "Student",
}
"""Of a value by itself, by its kind; a formula names its own."""

_TESTS = {
    ValueKind.SHARE: (f"z, or Fisher {FEW_EXPECTED}", f"χ²; {_FEW_GROUPS}"),
    ValueKind.MEAN: ("Welch (Student on request)", f"Welch's F; {_SMALL_GROUPS}"),
    ValueKind.RANKS: ("Mann–Whitney", "Mann–Whitney"),
    ValueKind.CLASSES: ("G", "G"),
}
"""Of two sides, and of all groups; what is of another kind is tested by its interval."""


def has_direct_test(disparity: Disparity) -> bool:
    """Whether its values can be tested without their intervals."""
    return all(_TESTS.keys() >= {*part.kinds} for part, _ in disparity.parts)


def _name_group_interval(metric: GroupMetric) -> str:
    """The interval of each kind that a metric can be; empty where it has none."""
    names = dict.fromkeys(_INTERVALS.get(kind, metric.method) for kind in metric.kinds)
    return ", or ".join(names) if all(names) else ""


def explain_no_interval(metric: Metric) -> str | None:
    """Why a metric has no interval, whatever the data; None where it has one."""
    if isinstance(metric, GroupMetric):
        return None if _name_group_interval(metric) else f"none: {metric.no_interval}"
    if isinstance(metric, TableMetric):
        return f"none: {metric.no_interval}" if metric.interval is None else None
    if metric.over_groups is not None:
        return f"none: {MEAN_IS_BIASED}"
    if metric.per_class is not None:
        return explain_no_interval(metric.per_class)
    if metric.fold is REMAINDER:
        return f"none: {STRATA_ARE_ESTIMATED}"
    if not metric.comparison.has_interval:
        return f"none: {metric.comparison.no_interval}"
    if metric.comparison.contrast is not None:
        return None
    return next(filter(None, (explain_no_interval(part) for part, _ in metric.parts)), None)


def explain_no_test(metric: Metric, policy: str | None = None) -> str | None:
    """Why a metric has no test of no disparity, whatever the data; None where it has one.

    The policy is that of its reference: to which group it is compared.
    """
    if isinstance(metric, GroupMetric):
        if metric.is_test:
            return None
        why = explain_one_group(metric)
        return f"{why}: `conclusive` holds its interval against the limit"
    if isinstance(metric, TableMetric):
        has_test = metric.independence is not None or metric.standard_normal
        return None if has_test else metric.no_test or explain_no_interval(metric)
    if metric.over_groups is not None and metric.fitted:
        return explain_no_interval(metric)
    if metric.per_class is not None:
        return explain_no_test(metric.per_class, policy)
    if metric.fold is not REMAINDER and has_direct_test(metric):
        return None
    if policy in EXTREME_REFERENCES and not has_extreme_interval(metric):
        return f"the {policy} group is chosen from the same data: `conclusive` allows for that"
    return explain_no_interval(metric)


def name_interval(metric: Metric) -> str:
    """The name of the interval of a metric, or why it has none."""
    why = explain_no_interval(metric)
    if why is not None:
        return why
    if isinstance(metric, TableMetric):
        return metric.method
    if isinstance(metric, GroupMetric):
        return _name_group_interval(metric)
    if metric.per_class is not None:
        return f"{name_interval(metric.per_class)}, all classes together"
    return _name_disparity_interval(metric)


def _name_disparity_interval(metric: Disparity) -> str:
    comparison, part = metric.comparison, metric.parts[0][0]
    if comparison.exact_in_strata is not None:
        return comparison.interval_name
    if comparison.one_sided or metric.averages:
        return "MOVER over strata"
    if metric.reference is ReferencePolicy.HIGHEST:
        return f"Koopman, {SIMULTANEOUS}"
    if part.is_proportion or comparison.contrast is not None or comparison.scale is Scale.ODDS:
        name = comparison.interval_name
    elif part.is_odds:
        name = ODDS_RATIO.interval_name
    else:
        plain = not comparison.is_spread and comparison.scale is not Scale.RATIO
        name = "Welch" if plain and {*part.kinds} == {ValueKind.MEAN} else "MOVER"
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
        return "it is the test itself" if metric.is_test else f"none: {ONE_GROUP}"
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
    if metric.per_class is not None:
        return f"{_name_disparity_test(metric.per_class)}, Šidák over the classes"
    part, comparison = metric.parts[0]
    if not has_direct_test(metric):
        return "its interval"
    if metric.conditional and metric.averages:
        side_test = "; Cochran–Mantel–Haenszel stands beside it" if part.is_proportion else ""
        return f"its interval{side_test}"
    if len(metric.parts) > 1 and metric.fold is MEAN and metric.to_reference:
        return "its interval; that of both rates, Šidák over both, stands beside it"
    test = _TESTS[part.kinds[0]][comparison.is_spread]
    if metric.reference in EXTREME_REFERENCES:
        return f"{test}, of every group that lies farther out, over pairs (Tukey–Kramer)"
    return test + (", Šidák over both rates" if len(metric.parts) > 1 else "")

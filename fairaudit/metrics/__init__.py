"""Catalogue of metrics: lookup by id or alias, names in JSON, suggestions for unknown names."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Annotated

from fairaudit.base.errors import did_you_mean
from fairaudit.base.frozen import RARE, Frozen, Unreadable, replace
from fairaudit.base.names import quoted
from fairaudit.metrics import (
    association,
    conditional,
    criteria,
    differential_fairness,
    individual,
    inequality,
    score_parity,
    share_models,
    situation,
)
from fairaudit.metrics.comparisons import COMPARISONS
from fairaudit.metrics.criteria import CRITERIA
from fairaudit.metrics.definitions import Better, Requirement
from fairaudit.metrics.disparities import (
    MEAN_MAGNITUDE,
    MEAN_RATIO,
    Comparison,
    Disparity,
    OverGroups,
)
from fairaudit.metrics.eligibility import Eligibility
from fairaudit.metrics.evaluate import evaluate
from fairaudit.metrics.evaluation_record import Evaluation, Metric
from fairaudit.metrics.formulas import Macro, Mean, Rate, macro_average
from fairaudit.metrics.group_metrics import GroupMetric, GroupValues, TableMetric
from fairaudit.metrics.means_and_errors import FirstOf
from fairaudit.metrics.other_names import UnsupportedMetric, find_notion, normalize_name
from fairaudit.metrics.rates import PEOPLE_COUNTS, RATES, PeopleCount
from fairaudit.metrics.scores import SCORES

GROUP_METRICS: tuple[GroupMetric, ...] = (
    *PEOPLE_COUNTS,
    *RATES,
    *SCORES,
    *score_parity.CALIBRATION,
    share_models.POOLED_SELECTION_RATE,
    *conditional.GROUP_METRICS,
    *inequality.INEQUALITY,
    *individual.GROUP_METRICS,
    individual.BALANCED_ERROR_RATE,
)
"""The metrics with a number for each group."""

DISPARITIES: tuple[Disparity, ...] = (
    *CRITERIA,
    *criteria.DISPARITIES,
    *conditional.DISPARITIES,
    criteria.KL_DIVERGENCE,
    *situation.DISPARITIES,
)
"""The metrics that compare groups."""

TABLE_METRICS: tuple[TableMetric, ...] = (
    differential_fairness.DIFFERENTIAL_FAIRNESS,
    share_models.DIFFERENTIAL_FAIRNESS_CREDIBLE,
    differential_fairness.DIFFERENTIAL_EQUALIZED_ODDS,
    differential_fairness.DIFFERENTIAL_EQUAL_OPPORTUNITY,
    differential_fairness.BIAS_AMPLIFICATION,
    share_models.DIFFERENTIAL_FAIRNESS_POOLED,
    share_models.DIFFERENTIAL_FAIRNESS_DRAWS,
    share_models.DIFFERENTIAL_FAIRNESS_POSTERIOR_MEAN,
    association.TOTAL_VARIATION,
    *association.TABLE_METRICS,
    *score_parity.TABLE_METRICS,
    inequality.BETWEEN_GROUPS,
    *association.NUMBER_METRICS,
    individual.CAUSAL_DISCRIMINATION,
)
"""The metrics with one number for a whole table."""

CATALOGUE: tuple[Metric, ...] = (*GROUP_METRICS, *DISPARITIES, *TABLE_METRICS)
"""All metrics that a spec can name under `metric`, in display order."""

_BY_NAME = {name: record for record in CATALOGUE for name in (record.id, *record.aliases)}
_COMPARISONS = {record.id: record for record in COMPARISONS}


def find_metric(name: str) -> Metric | None:
    """The record with this id or alias; None for an unknown name."""
    return _BY_NAME.get(name)


def find_comparison(name: str) -> Comparison | None:
    """The comparison with this id; None for an unknown name."""
    return _COMPARISONS.get(name)


def list_requirements(requested: Metric) -> frozenset[Requirement]:
    """The requirements of all parts of a metric: the columns that a spec must declare for it."""
    parts = (
        [metric for metric, _ in requested.parts]
        if isinstance(requested, Disparity)
        else [requested]
    )
    options = [
        option
        for part in parts
        for option in (part.options if isinstance(part, FirstOf) else (part,))
    ]
    return frozenset().union(*(option.requirements for option in options))


def find_unsupported(name: str) -> UnsupportedMetric | None:
    """The well-known notion with this name, if fairaudit has no metric for it; else None."""
    return find_notion(name, (*_BY_NAME, *_COMPARISONS))


def suggest(name: str) -> str:
    """The end of a message about an unknown metric: why it is not supported, or suggestions.

    If several measures have this name as a prefix, the text suggests all these measures. If the
    name combines a rate and a comparison, the text shows both keys of the spec. Names that share
    only a word such as `fairness` are not suggested.
    """
    if find_metric(normalize_name(name)) is not None:
        return f"; did you mean {quoted(normalize_name(name))}?"
    known = find_unsupported(name)
    if known is not None:
        return f": not a metric here, because {known.advice}"
    for comparison in _COMPARISONS:
        rate = find_metric(name.removesuffix(f"_{comparison}"))
        if name.endswith(f"_{comparison}") and isinstance(rate, GroupMetric):
            return f": write `metric: {rate.id}, compare: {comparison}`"
    family = [record.id for record in CATALOGUE if record.id.startswith(f"{name}_")]
    if family:
        listed = " or ".join(quoted(record) for record in family)
        return f"; choose one: {listed}" if len(family) > 1 else f"; did you mean {listed}?"

    def specific(text: str) -> str:
        """The name without the words that many names share; the whole name if no word remains."""
        return "_".join(word for word in text.casefold().split("_") if word not in _GENERIC) or text

    akin = [
        other
        for other in (*_BY_NAME, *_COMPARISONS)
        if SequenceMatcher(None, specific(name), specific(other)).ratio() >= _AKIN
    ]
    return did_you_mean(name, akin)


_GENERIC = frozenset(
    {"fairness", "parity", "equality", "difference", "ratio", "rate", "gap", "score", "index"}
)
"""Words that the names of many metrics share."""
_AKIN = 0.6


def find_comparison_id(metric: Metric) -> str | None:
    """The id of the comparison, if the spec compares a rate by `compare:`; else None."""
    if isinstance(metric, Disparity) and metric.id == metric.parts[0][0].id:
        return metric.comparison.id
    return None


def average_classes(metric: Metric) -> Metric | None:
    """The record of the mean of a metric over classes.

    The value of a group metric is averaged. For a disparity, the departures from parity in each
    class are averaged. None if the metric already uses all classes, or if a departure from parity
    is not defined for the metric.
    """
    if isinstance(metric, GroupMetric):
        return macro_average(metric)
    if not isinstance(metric, Disparity) or metric.ideal not in {0, 1}:
        return None
    return replace(
        metric,
        fold=MEAN_RATIO if metric.ideal else MEAN_MAGNITUDE,
        per_class=replace(metric, over_groups=None),
    )


def is_over_classes(metric: Metric) -> bool:
    """Whether a metric is a mean over classes."""
    return isinstance(metric, Macro) or (
        isinstance(metric, Disparity) and metric.per_class is not None
    )


def list_quantities(metric: Metric) -> tuple[GroupMetric | TableMetric, ...]:
    """The group metrics that a disparity compares; means over classes for a mean over classes.

    Any other metric is returned unchanged, as the only quantity.
    """
    if not isinstance(metric, Disparity):
        return (metric,)
    parts = tuple(part for part, _ in metric.parts)
    return tuple(map(macro_average, parts)) if is_over_classes(metric) else parts


def build_disparity(metric: GroupMetric, comparison: Comparison) -> Disparity:
    """The disparity that compares the values of a metric, as `compare:` in a spec requests."""
    return Disparity(
        id=metric.id,
        title=f"{metric.title}, {comparison.title[0].lower()}{comparison.title[1:]}",
        short=f"{metric.short} {comparison.id}",
        family=metric.family,
        description=comparison.description,
        caution=comparison.caution,
        source=metric.source,
        other_tools=comparison.other_tools,
        parts=((metric, comparison),),
    )


__all__ = [
    "CATALOGUE",
    "DISPARITIES",
    "GROUP_METRICS",
    "Better",
    "Comparison",
    "Disparity",
    "Eligibility",
    "Evaluation",
    "GroupMetric",
    "GroupValues",
    "Mean",
    "Metric",
    "PeopleCount",
    "Rate",
    "Requirement",
    "TableMetric",
    "average_classes",
    "build_disparity",
    "evaluate",
    "find_comparison",
    "find_comparison_id",
    "find_metric",
    "find_unsupported",
    "is_over_classes",
    "list_quantities",
    "list_requirements",
    "suggest",
]


class MetricName(Frozen):
    """The name of a metric in JSON: the id of a record of the catalogue, and changes of the record.

    `compare` is the id of the comparison of a rate, or null if the metric itself is a comparison or
    is not compared. `macro` is true for a mean over classes. `mean` is true for a mean over groups.
    `aggregate` names another way to combine all groups.
    """

    metric: str
    compare: str | None
    macro: bool
    mean: bool
    aggregate: Annotated[OverGroups | None, RARE] = None

    def contradictions(self) -> Iterator[Unreadable]:
        """Yields a fault if this version of fairaudit has no metric with this name."""
        try:
            find_record(self)
        except Unreadable as fault:
            yield fault


def name_record(record: Metric) -> MetricName:
    """The name from which `find_record` builds the record again."""
    compare, rate, over_groups = find_comparison_id(record), record, None
    over_classes = isinstance(record, Macro)
    if isinstance(record, Disparity):
        rate, over_classes = record.parts[0][0], record.per_class is not None
        known = None if compare else find_metric(record.id)
        is_defined_so = isinstance(known, Disparity) and known.over_groups is not None
        over_groups = None if is_defined_so else record.over_groups
    base = rate.base if isinstance(rate, Macro) else rate
    is_criterion = isinstance(record, Disparity) and compare is None
    metric = record.id if is_criterion else base.id
    is_mean = over_groups is OverGroups.MEAN
    aggregate = None if is_mean else over_groups
    return MetricName(metric, compare, macro=over_classes, mean=is_mean, aggregate=aggregate)


def find_record(name: MetricName) -> Metric:
    """The record with this name; raises `Unreadable` if this version has no such record."""
    record = find_metric(name.metric)
    if record is None:
        why = f"is not a metric of this version{suggest(name.metric)}"
        raise Unreadable(why, "metric")
    if name.compare is not None:
        comparison = find_comparison(name.compare)
        if comparison is None or not isinstance(record, GroupMetric):
            raise Unreadable(f"is not a comparison of {name.metric}", "compare")
        record = build_disparity(record, comparison)
    if name.macro:
        record = average_classes(record)
        if record is None:
            raise Unreadable(f"cannot be said of {name.metric}", "macro")
    over_groups = OverGroups.MEAN if name.mean else name.aggregate
    if over_groups is not None:
        if not isinstance(record, Disparity) or (name.mean and name.aggregate is not None):
            member = "mean" if name.mean else "aggregate"
            raise Unreadable(f"cannot be said of {name.metric}", member)
        record = replace(record, over_groups=over_groups)
    return record

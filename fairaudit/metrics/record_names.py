"""The names of catalogue records in JSON reports, written and looked up again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from fairaudit.base.frozen import RARE, Frozen, Unreadable, replace
from fairaudit.metrics import (
    Disparity,
    GroupMetric,
    Metric,
    OverGroups,
    average_classes,
    build_disparity,
    find_comparison,
    find_comparison_id,
    find_metric,
    suggest,
)
from fairaudit.metrics.formulas import Macro


class MetricName(Frozen):
    """The metric of a spec: the id of a record of the catalogue, and how it is compared.

    `compare` is the comparison of a rate, or null; `macro` says whether it is the mean over
    classes; `mean` whether it is the mean over groups, `aggregate` another number over groups.
    """

    metric: str
    compare: str | None
    macro: bool
    mean: bool
    aggregate: Annotated[OverGroups | None, RARE] = None

    def contradictions(self) -> Iterator[Unreadable]:
        """Yields a fault if this version has no such record."""
        try:
            find_record(self)
        except Unreadable as fault:
            yield fault


def name_record(record: Metric) -> MetricName:
    """The names that a record is found by."""
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
    """The record that the names mean; raises `Unreadable` if this version does not have it."""
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

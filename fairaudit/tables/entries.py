"""The entries of a spec's `metrics` as a report lists them: groupings, quantities, evaluations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Protocol

import numpy as np

from fairaudit.cube import Group, Grouping, GroupTable
from fairaudit.estimate import Estimate, Significance
from fairaudit.evidence import TOO_LITTLE, Band
from fairaudit.metrics import (
    Disparity,
    Evaluation,
    GroupMetric,
    Metric,
    evaluate_against,
    explain_undefined,
)
from fairaudit.spec import MetricRequest


class TableOf(Protocol):
    """Gives the table of a grouping, its strata and an outcome."""

    def __call__(
        self, by: Grouping, given: Grouping, of: str, beside: str | None = None
    ) -> GroupTable:
        """The table; with an outcome `beside`, of those who have both."""


def asked_of(
    shown: Iterable[MetricRequest], *, everybody: bool = False
) -> Iterator[tuple[MetricRequest, Grouping, Grouping]]:
    """Every grouping and conditioning of every entry; a column never conditions on itself.

    With `everybody` the grouping without a column comes first: everybody is one group.
    """
    for one in shown:
        for given in one.given:
            for by in ((), *one.by) if everybody else one.by:
                if not set(by) & set(given):
                    yield one, by, given


def quantities(asked: Metric) -> list[GroupMetric]:
    """The rates behind what is asked, those that are listed."""
    if isinstance(asked, GroupMetric):
        return [asked]
    parts = asked.parts if isinstance(asked, Disparity) else ()
    return [quantity for quantity, _ in parts if quantity.listed]


def evaluated(
    one: MetricRequest, by: Grouping, given: Grouping, table: TableOf
) -> Evaluation | None:
    """The measure on a table; None where a control is in the grouping, or a reference it lacks."""
    controls = one.terms.parameters.controls
    if one.terms.reference is not None and one.references.get(by) is None:
        return None
    if set(by) & set(controls):
        return None
    strata = (*given, *controls)
    cut = table(by, strata, one.of, one.against)
    against = one.against and table(by, strata, one.against, one.of)
    return evaluate_against(one.metric, cut, one.terms_for(by), against or None)


def estimate_of(
    evaluation: Evaluation, z: int, w: int, of_all: Band, significance: Significance | None = None
) -> Estimate:
    """A value as it is listed, with a reason where there is none; only checks need it exact.

    `of_all` holds the intervals of the whole evaluation.
    """
    value = float(evaluation.value[z, w])
    error = (
        0.0
        if evaluation.error is None
        else float(np.nan_to_num(evaluation.error[z, w], posinf=np.inf))
    )
    reason = explain_undefined(evaluation, z, w) if math.isnan(value) else None
    ends = of_all.at(z, w)
    low, high = (None, None) if ends is None else ends
    why = "" if ends is not None or math.isnan(value) else of_all.why or TOO_LITTLE
    return Estimate(
        value,
        low=low,
        high=high,
        method="" if ends is None else of_all.method,
        no_interval=why,
        significance=significance,
        reason=reason,
        error=error,
    )


def compare_of(asked: Metric) -> str | None:
    """The comparison's id, where a spec asked for a rate with `compare:`."""
    if isinstance(asked, Disparity) and asked.id == asked.parts[0][0].id:
        return asked.comparison.id
    return None


def group_at(table: GroupTable, index: int) -> Group:
    """The group of an index; () for nobody."""
    return table.groups[int(index)] if index >= 0 else ()

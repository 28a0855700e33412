"""Departures: all groups over the limit of a check; only the farthest group decides its status.

A baseline and `compare` use departures to find groups that are newly or farther over the limit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from fairaudit.cube import Floats
from fairaudit.judge.checks import Limit
from fairaudit.judge.findings import Departure, Finding
from fairaudit.metrics import Disparity, Evaluation
from fairaudit.metrics.definitions import Better
from fairaudit.metrics.disparities import MEAN_MAGNITUDE, MEAN_RATIO
from fairaudit.metrics.evaluation_record import compare_values
from fairaudit.metrics.group_metrics import TableValue

Levels: TypeAlias = frozenset[tuple[str, str]]
_Key: TypeAlias = tuple[str, Levels, Levels, bool]
"""The part, the group, the stratum, and whether the group is compared with the lowest group."""
_Values: TypeAlias = dict[tuple[str, bool], Floats]
"""The key is a part and whether groups are compared with the lowest; the values are [Z, G]."""

_ENDS = {Better.HIGHER: (False,), Better.LOWER: (True,), Better.NEITHER: (False, True)}
_ROUNDING = 1e-12


def list_departures(evaluation: Evaluation, limit: Limit) -> tuple[Departure, ...] | None:
    """The groups over a limit in each part of a metric; None if the metric has no value per group.

    A part is a rate or a class of the metric. In a spread each group is compared with the best
    group, or with both the highest and the lowest group if neither direction is better.
    """
    with np.errstate(all="ignore"):
        values = _measure(evaluation)
    if values is None:
        return None
    table, judged = evaluation.table, evaluation.takes_part & evaluation.table.known_strata[:, None]
    # A spread has one judged value for all groups of a stratum.
    judged = judged & evaluation.judged
    return tuple(
        Departure(part, table.groups[g], table.strata[z], float(of_part[z, g]), ahead=is_ahead)
        for (part, is_ahead), of_part in values.items()
        for z, g in np.argwhere(judged & (limit.find_excess(of_part) > _ROUNDING)).tolist()
    )


def _list_signed(side: Evaluation) -> _Values | None:
    """The signed values of one outcome out of two. A mean of rates has values for each rate."""
    metric = side.metric
    if side.by_group is None or not isinstance(metric, Disparity):
        return _measure(side)
    if metric.fold in {MEAN_MAGNITUDE, MEAN_RATIO}:
        rates = (rate.id for rate, _ in metric.parts)
        return {
            (rate, False): part.value for rate, part in zip(rates, side.by_group.parts, strict=True)
        }
    return {("", False): side.by_group.value}


def _list_ends(value: TableValue) -> _Values:
    return {(name, end): pair[end] for name, pair in value.apart.items() for end in (False, True)}


def _measure(evaluation: Evaluation) -> _Values | None:
    """The values of groups for each part of a metric; in a spread, for each end in `_ENDS`."""
    metric, whole, values = evaluation.metric, evaluation.table_value, evaluation.group_values
    if evaluation.by_group is not None:
        assert isinstance(metric, Disparity)
        return {("", False): metric.size_of(evaluation.by_group.value)}
    if evaluation.subtracts:
        sides = [*map(_list_signed, evaluation.parts)]
    else:
        sides = [_list_ends(value) for _, value in whole.parts] if whole is not None else []
    if sides:
        first, second = (side or {} for side in sides)
        change: Callable[[Floats, Floats], Floats] = np.subtract
        if isinstance(metric, Disparity) and metric.is_unsigned:
            change = metric.grow
        return {key: change(first[key], second[key]) for key in first if key in second} or None
    if whole is not None:
        return _list_ends(whole) or None
    if evaluation.parts:
        found = {}  # by each class, or by each rate
        for name, part in zip(evaluation.names, evaluation.parts, strict=True):
            for (inner, end), of_part in (_measure(part) or {}).items():
                found[name if name == inner else f"{name} {inner}", end] = of_part
        return found
    if values is None or not isinstance(metric, Disparity):
        return None
    (rate, comparison), own = metric.parts[0], values.value
    if metric.to_reference or comparison.one_sided:
        return {(rate.id, False): evaluation.value if metric.to_reference else own}
    measured = {}
    for is_lowest in _ENDS[rate.better.given(favourable=evaluation.favourable)]:
        sign = -1 if is_lowest else 1
        end = sign * np.where(evaluation.takes_part, sign * own, -np.inf).max(axis=1, keepdims=True)
        high, low = (own, end) if is_lowest else (end, own)
        pair = (high, low) if comparison.highest_first else (low, high)
        measured[rate.id, is_lowest] = compare_values(rate, comparison, *np.broadcast_arrays(*pair))
    return measured


def index_departures(finding: Finding) -> dict[_Key, Departure]:
    """The departures by key, except departures of groups that a waiver covers."""
    waived = [frozenset(waiver.group) for waiver in finding.waived if waiver.group]
    return {
        (row.part, frozenset(row.group), frozenset(row.stratum), row.ahead): row
        for row in finding.departures or ()
        if not any(levels <= {*row.group} for levels in waived)
    }


def find_fallen(
    before: Finding, now: Finding, tolerance: float
) -> dict[Departure, float | None] | None:
    """Groups that are newly or farther over the limit, with the earlier value (None if it is new).

    Returns None if a finding has no departures. A group that a waiver covered before is new.
    """
    limit = now.check.fail
    if before.departures is None or now.departures is None or not isinstance(limit, Limit):
        return None

    known, fallen = index_departures(before), dict[Departure, float | None]()
    for key, row in index_departures(now).items():
        was = known.get(key)
        if was is None:
            fallen[row] = None
        elif limit.excess(row.value) - limit.excess(was.value) > tolerance + _ROUNDING:
            fallen[row] = was.value
    return fallen

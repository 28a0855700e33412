"""Spreads of two results: which groups are farther from the best one than they were."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from itertools import product
from typing import TypeAlias

import numpy as np

from fairaudit.judge import Check, Finding, Limit
from fairaudit.metrics import Disparity, Eligibility
from fairaudit.metrics.definitions import Better
from fairaudit.metrics.evaluation_record import compare_values
from fairaudit.metrics.terms import MetricOptions
from fairaudit.result import ComparisonRow, RateRow

Rows: TypeAlias = Mapping[tuple[str, str], list[RateRow | ComparisonRow]]
"""Comparisons, and the rates of judged groups, by metric and outcome."""
Levels: TypeAlias = frozenset[tuple[str, str]]
Departures: TypeAlias = Mapping[tuple[str, bool, Levels, Levels], float]
"""Values beyond a limit: of a rate, from its highest value or not, in a stratum, of a group."""

_ROUNDING = 1e-12
"""Differences below this are rounding."""


def index_rows(rates: Iterable[RateRow], comparisons: Iterable[ComparisonRow] = ()) -> Rows:
    """The rows of a result by metric and outcome, without rates of groups that are not judged."""
    rows: dict[tuple[str, str], list[RateRow | ComparisonRow]] = {}
    listed: Iterable[RateRow | ComparisonRow] = (*comparisons, *rates)
    for row in listed:
        if not isinstance(row, RateRow) or row.standing is Eligibility.ELIGIBLE:
            rows.setdefault((row.metric, row.of), []).append(row)
    return rows


def compares_each_group(finding: Finding) -> bool:
    """Whether a finding is a spread of the rates of groups, without averages and other terms."""
    check = finding.check
    if not (finding.spread and isinstance(check, Check) and isinstance(check.metric, Disparity)):
        return False
    return check.terms == MetricOptions(minimum=check.terms.minimum, inference=check.inference)


def list_departures(finding: Finding, rows: Rows, burdens: Collection[str]) -> Departures | None:
    """The groups of a spread that are beyond its limit; None if the rows do not show them.

    By each rate of the spread, each group is compared with the best one, or with both ends if no
    direction is better. Groups that a waiver covers are not listed.
    """
    check = finding.check
    if not compares_each_group(finding) or check.fail is None:
        return None
    assert isinstance(check, Check)
    assert isinstance(check.metric, Disparity)
    waived = [frozenset(waiver.group) for waiver in finding.waived if waiver.group]
    departures = {}
    for rate, comparison in check.metric.parts:
        better = rate.better.given(favourable=check.of not in burdens)
        values: dict[Levels, dict[Levels, float]] = {}
        for row in rows.get((rate.id, check.of), ()):
            is_own = isinstance(row, RateRow) and {*row.by} == {*check.by} and not row.parameters
            is_own = is_own and {name for name, _ in row.stratum} == {*check.given}
            if isinstance(row, RateRow) and is_own:
                stratum = values.setdefault(frozenset(row.stratum), {})
                stratum[frozenset(row.group or ())] = row.estimate.value
        if not values:
            return None
        ends = {Better.HIGHER: (True,), Better.LOWER: (False,), Better.NEITHER: (True, False)}
        for (where, of_groups), is_highest in product(values.items(), ends[better]):
            best = (max if is_highest else min)(of_groups.values())
            for group, own in of_groups.items():
                first, second = sorted((best, own), reverse=comparison.highest_first)
                with np.errstate(all="ignore"):  # 0 of 0 crosses no limit
                    value = float(
                        compare_values(rate, comparison, np.asarray(first), np.asarray(second))
                    )
                is_waived = any(levels <= group for levels in waived)
                if own != best and not is_waived and check.fail.is_crossed(value, None):
                    departures[rate.id, is_highest, where, group] = value
    return departures


def find_fallen(
    before: Departures | None, now: Departures | None, limit: object, tolerance: float
) -> set[tuple[Levels, Levels]] | None:
    """The groups, with their strata, newly or farther beyond the limit; None if unknown."""
    if before is None or now is None or not isinstance(limit, Limit):
        return None
    fallen = set()
    for key, value in now.items():
        was, (_, _, stratum, group) = before.get(key), key
        if was is None:
            fallen.add((group, stratum))
        elif math.isinf(value) or math.isinf(was):
            if math.isinf(value) and not math.isinf(was):
                fallen.add((group, stratum))
        elif limit.excess(value) - limit.excess(was) > tolerance + _ROUNDING:
            fallen.add((group, stratum))
    return fallen

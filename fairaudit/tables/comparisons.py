"""The comparisons of every grouping: spreads, and each group against its reference."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairaudit.evidence import find_intervals, find_parts, find_significances
from fairaudit.metrics import Disparity, Evaluation, GroupMetric
from fairaudit.result import ComparisonRow
from fairaudit.spec import MetricRequest
from fairaudit.tables.evaluations import (
    Tables,
    find_comparison_id,
    group_at,
    list_places,
    write_estimate,
)


def comparisons(tables: Tables, requests: tuple[MetricRequest, ...]) -> Iterator[ComparisonRow]:
    """A row for each spread, and for each group that is compared with a reference."""
    for one, by, given in list_places(requests):
        if isinstance(one.metric, GroupMetric):
            continue
        evaluation = tables.evaluate_request(one, by, given)
        if evaluation is None:
            continue
        yield from _comparison_rows(one, evaluation)


def _comparison_rows(one: MetricRequest, evaluation: Evaluation) -> Iterator[ComparisonRow]:
    """The rows of one evaluation: whatever is judged in a known stratum."""
    table, policy, spread = evaluation.table, evaluation.terms.reference, evaluation.spread
    compare, parameters = find_comparison_id(one.metric), one.options
    alone = spread or (isinstance(one.metric, Disparity) and not one.metric.has_other_side)
    over = None if evaluation.averaged is None else evaluation.strata
    averaged = () if over is None else over.given
    of_all, of_each = find_intervals(evaluation), find_significances(evaluation)
    firsts, seconds = evaluation.first.tolist(), evaluation.second.tolist()
    for z, stratum in enumerate(table.strata):
        if not table.known_strata[z]:
            continue
        takes_part = int(evaluation.takes_part[z].sum())
        for w in np.flatnonzero(evaluation.judged[z]).tolist():
            yield ComparisonRow(
                metric=evaluation.metric.id,
                title=one.metric.title,
                compare=compare,
                of=table.of,
                by=table.by,
                stratum=stratum,
                group=None if spread else table.groups[w],
                reference=str(policy.policy) if policy and not alone else None,
                parameters=parameters,
                estimate=write_estimate(evaluation, z, w, of_all, of_each.get((z, w))),
                parts=find_parts(evaluation, z, w),
                decided_by=evaluation.decided_by(z, w),
                first=group_at(table, firsts[z][w]),
                second=group_at(table, seconds[z][w]),
                takes_part=takes_part,
                averaged=averaged,
            )

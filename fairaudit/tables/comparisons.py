"""The comparisons of every grouping: spreads, and each group against its reference."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairaudit.cube import Group
from fairaudit.evidence import parts_of
from fairaudit.metrics import Evaluation, Quantity
from fairaudit.result import ComparisonRow
from fairaudit.spec import Shown
from fairaudit.tables.entries import (
    TableOf,
    asked_of,
    compare_of,
    estimate_of,
    evaluated,
    group_at,
)


def comparisons(table: TableOf, shown: tuple[Shown, ...]) -> Iterator[ComparisonRow]:
    """A row for each spread, and for each group that is compared with a reference."""
    for one, by, given in asked_of(shown):
        if isinstance(one.asked, Quantity):
            continue
        evaluation = evaluated(one, by, table(by, given, one.of))
        if evaluation is None:
            continue
        for z, stratum in enumerate(evaluation.table.strata):
            if not evaluation.table.known_strata[z]:
                continue
            for w in np.flatnonzero(evaluation.judged[z]).tolist():
                yield _comparison_row(one, evaluation, stratum, (z, w))


def _comparison_row(
    one: Shown, evaluation: Evaluation, stratum: Group, at: tuple[int, int]
) -> ComparisonRow:
    z, w = at
    table = evaluation.table
    estimate = estimate_of(evaluation, z, w)
    first, second = (group_at(table, side[z, w]) for side in (evaluation.first, evaluation.second))
    policy = evaluation.terms.reference
    return ComparisonRow(
        metric=evaluation.asked.id,
        title=one.asked.title,
        compare=compare_of(one.asked),
        of=table.of,
        by=table.by,
        stratum=stratum,
        group=None if evaluation.spread else table.groups[w],
        reference=str(policy.policy) if policy and not evaluation.spread else None,
        parameters=_parameters(one),
        estimate=estimate,
        parts=parts_of(evaluation, z, w),
        decided_by=evaluation.decided_by(z, w),
        first=first,
        second=second,
        takes_part=int(evaluation.takes_part[z].sum()),
    )


def _parameters(one: Shown) -> dict[str, float]:
    named = {"smoothing": one.parameters.smoothing, "concentration": one.parameters.concentration}
    return {name: float(value) for name, value in named.items() if value is not None}

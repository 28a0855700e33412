"""Where a disparity first appears in the lattice: which rates are looked at, and what is found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fairaudit.cube import Grouping, GroupTable
from fairaudit.evidence.appearances import (
    Appearance,
    RateInSubsets,
    find_appearances,
    rank_appearances,
)
from fairaudit.metrics import Disparity, Metric, Rate, TableMetric
from fairaudit.metrics.rates import SELECTION_RATE
from fairaudit.spec import MetricRequest
from fairaudit.tables.evaluations import Tables


@dataclass(frozen=True, slots=True)
class First:
    """What first appears in each subset, and for each outcome how many groups were tested."""

    found: Mapping[Grouping, tuple[Appearance, ...]]
    tested: Mapping[Grouping, Mapping[str, int]]


def first_appearances(
    subsets: Sequence[Grouping], tables: Tables, requests: Iterable[MetricRequest]
) -> First:
    """The groups where a gap first appears, by the rates that the lattice compares.

    Of what is no rate (ε, mutual information) the selection rate is looked at. The tests of one
    outcome are one family; rates of the same cells, such as those of true positives and of false
    negatives, are one rate. What conditions on strata, subtracts outcomes or cuts a score is left
    to its own tables.
    """
    by_outcome: dict[str, list[RateInSubsets]] = {}
    for rate, one in _rates(requests):
        by_subset = {by: tables.table(by, (), one.of) for by in subsets}
        terms = replace(one.terms_for(()), reference=None)
        if one.terms.of_class or rate is not SELECTION_RATE or _has_positive(by_subset.values()):
            by_outcome.setdefault(one.of, []).append(RateInSubsets(rate, by_subset, terms))
    each = {of: find_appearances(family) for of, family in by_outcome.items()}
    return First(
        {
            by: rank_appearances(found for one in each.values() for found in one.found.get(by, ()))
            for by in subsets
        },
        {by: {of: one.tested[by] for of, one in each.items() if one.tested[by]} for by in subsets},
    )


def _rates(requests: Iterable[MetricRequest]) -> Iterator[tuple[Rate, MetricRequest]]:
    """Each rate of an outcome once, with the first entry that asks for it."""
    seen = set()
    for one in requests:
        if (
            one.given != ((),)
            or one.terms.at is not None
            or one.against is not None
            or one.terms.average
        ):
            continue
        of_class = one.terms.of_class
        for rate in _rates_of(one.metric):
            key = (one.of, of_class, rate.cells)
            if key not in seen:
                seen.add(key)
                yield rate, one


def _rates_of(asked: Metric) -> list[Rate]:
    """The shares of a group's own people behind what is asked; for a whole the selection rate."""
    if isinstance(asked, TableMetric):
        return [SELECTION_RATE]
    parts = [quantity for quantity, _ in asked.parts] if isinstance(asked, Disparity) else [asked]
    return [one for one in parts if isinstance(one, Rate) and one.of_group and not one.conditional]


def _has_positive(tables: Iterable[GroupTable]) -> bool:
    """Whether the outcome has a positive class, and so a selection rate."""
    return all(one.positive is not None for one in tables)

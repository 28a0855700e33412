"""Metrics of people one by one: whether those who are alike fare alike.

They read rows, not counts; `k`, `t` and `lipschitz` are their parameters.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairaudit.arrays import Alpha, Ends
from fairaudit.cube import Floats, Ints, RowTable
from fairaudit.memoize import memoize
from fairaudit.metrics import works
from fairaudit.metrics.counts import GroupCounts
from fairaudit.metrics.definitions import Better, Requirement
from fairaudit.metrics.formulas import Formula
from fairaudit.metrics.row_sides import RowSides
from fairaudit.metrics.terms import Parameters
from fairaudit.rows.consistency import NOTHING, Mean, consistency
from fairaudit.rows.neighbours import find_neighbours, locate
from fairaudit.rows.pairs import differing_pairs
from fairaudit.rows.sampling import ASKED_SEED, hash_rows
from fairaudit.stats import proportions

NEIGHBOURS = 5
"""So many neighbours a person is compared with where the spec says nothing."""

MOST_ASKED = 100_000
"""Of more people than that the neighbours of a sample are looked up, among all people."""

LEAST_ASKED = 1_000
"""So many of a group are in that sample at least, where it has so many."""

_FEATURES = frozenset({Requirement.FEATURES, Requirement.PREDICTION})
_BY_PEOPLE = "infinitesimal jackknife over people"
_TWO_MOST = "Of two outcomes only. "

Measure = Callable[[RowSides, int, int, Parameters], Mean]
"""The number of one group in one stratum."""


@memoize
def _measured(sides: RowSides) -> dict[tuple[Measure, Parameters], tuple[Floats, Floats, Ints]]:  # noqa: ARG001  # what it remembers for
    return {}


def _measure(
    counts: GroupCounts, parameters: Parameters, measure: Measure
) -> tuple[Floats, Floats, Ints]:
    """Value, variance and people of every stratum and group, [Z, G]; NaN without rows."""
    shape = counts.answered.shape
    if counts.rows is None:
        nothing = np.full(shape, np.nan)
        return nothing, nothing, np.zeros(shape, dtype=np.int64)
    known, key = _measured(counts.rows), (measure, parameters)
    if key not in known:
        means = [
            [measure(counts.rows, z, g, parameters) for g in range(shape[1])]
            for z in range(shape[0])
        ]
        table = np.array(means, dtype=np.float64).reshape(*shape, 3)
        known[key] = table[..., 0], table[..., 1], table[..., 2].astype(np.int64)
    return known[key]


def _value_of(measure: Measure) -> Callable[[GroupCounts, Parameters], tuple[Floats, Ints]]:
    def value_of(counts: GroupCounts, parameters: Parameters) -> tuple[Floats, Ints]:
        value, _, n = _measure(counts, parameters, measure)
        return value, n

    return value_of


def _ends_of(measure: Measure) -> Callable[[GroupCounts, Parameters, Alpha], Ends]:
    """Wilson's interval of the effective size that a variance over people tells."""

    def ends_of(counts: GroupCounts, parameters: Parameters, alpha: Alpha) -> Ends:
        value, variance, _ = _measure(counts, parameters, measure)
        with np.errstate(divide="ignore", invalid="ignore"):
            size = np.where(variance > 0, value * (1 - value) / variance, np.nan)
        return proportions.wilson(value, size, alpha)

    return ends_of


@memoize
def _ranks(table: RowTable) -> Ints:
    """The people in the order in which they are asked: by a hash of the numbers of their rows."""
    return np.argsort(hash_rows(table.numbers, ASKED_SEED), kind="stable")


def choose_asked(table: RowTable, z: int, members: Ints) -> Ints:
    """The members whose neighbours are looked up: all, or the first of them in a fixed order."""
    people = len(table.in_stratum(z))
    if people <= MOST_ASKED:
        return members
    place = np.empty(len(table.numbers), dtype=np.int64)
    place[_ranks(table)] = np.arange(len(place))
    order = members[np.argsort(place[members])]
    share = round(len(members) * MOST_ASKED / people)
    return order[: max(share, min(len(order), LEAST_ASKED))]


def _consistency(sides: RowSides, z: int, g: int, parameters: Parameters) -> Mean:
    table, k = sides.table, parameters.k or NEIGHBOURS
    neighbours = find_neighbours(table.features, table.in_stratum(z), k, without_self=True)
    if not neighbours.is_enough:
        return NOTHING
    asked = neighbours.ask(choose_asked(table, z, sides.members(z, g)))
    return consistency(table.outcome, neighbours, asked)


def _unawareness(sides: RowSides, z: int, g: int, _: Parameters) -> Mean:
    members = sides.members(z, g)
    return differing_pairs(
        locate(sides.table.features).profile[members], sides.table.outcome[members]
    )


CONSISTENCY = Formula(
    id="consistency",
    title="Consistency",
    aliases=("consistency_score", "ynn"),
    family="individual",
    means="One minus the mean distance of people's outcomes (1 or 0) from the mean outcome of "
    f"their `k` ({NEIGHBOURS}) nearest neighbours.",
    caution="What is near is what the features say, each standard deviation as much as any other. "
    "High where neighbours are of one group: outcomes may then differ by group and not by person.",
    source=works.ZEMEL,
    elsewhere="AIF360 counts each person among the own neighbours, and takes numbers as they are, "
    "not standardised; its categories are numbers. fairMLHealth prints AIF360's.",
    better=Better.HIGHER,
    formula="1 - mean |ŷ - mean ŷ of the k nearest others|, all who tie at the k-th distance",
    takes=("k",),
    requirements=_FEATURES,
    undefined="fewer than k others who have every feature",
    value_of=_value_of(_consistency),
    ends_of=_ends_of(_consistency),
    method=_BY_PEOPLE,
)
UNAWARENESS_VIOLATIONS = Formula(
    id="unawareness_violations",
    title="Unawareness violations",
    short="unaware. viol.",
    family="individual",
    means="Of the pairs of people who are equal in every feature, the share whose outcomes differ: "
    "no rule of the features alone explains them.",
    caution="0 where a model reads the features alone, whatever it reads them for. Where nobody "
    "equals anybody it is undefined: bin the features beforehand.",
    source=works.GAJANE,
    better=Better.LOWER,
    formula="pairs with xᵢ = xⱼ and ŷᵢ ≠ ŷⱼ / pairs with xᵢ = xⱼ",
    requirements=_FEATURES,
    undefined="no two people are equal in every feature",
    value_of=_value_of(_unawareness),
    ends_of=_ends_of(_unawareness),
    method=_BY_PEOPLE,
)
GROUP_METRICS = (CONSISTENCY, UNAWARENESS_VIOLATIONS)
"""The metrics of people one by one that give each group a number."""

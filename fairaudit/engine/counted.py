"""What every route gives back, and the fixed point in which all of them add up weights.

A weight becomes an integer before it is added, so sums are equal for any order, split or route.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fairaudit.cube import Ints
from fairaudit.engine.scores import ScoreParts
from fairaudit.engine.tables import Tables
from fairaudit.errors import DataError
from fairaudit.plan import RawAmounts, RawKey

WEIGHT_SCALES = (10**9, 10**18)
"""The fixed point of weights: as a rule, and where all weights are tiny."""

SQUARE_ROOTS = (10**6, 10**15)
SQUARE_SCALES = (10**12, 10**30)
"""Weights are squared at a coarser fixed point; the squares have its square."""

TINY = 1e-3
LARGE = 1e6
"""From here on a double has no nine decimals left: weights are taken at six."""

LARGEST_WEIGHT = 1e9
LARGEST_NUMBER = 1e9
LARGEST_COUNT = 2.0**53 - 1
MOST_PEOPLE = 2**62


def check_people(people: int) -> None:
    """Raises `DataError` where counts add up to more than 64 bits hold."""
    if people >= MOST_PEOPLE:
        raise DataError("the counts add up to more than 64 bits hold", "check the count column")


@dataclass(frozen=True, slots=True)
class Measures:
    """What the cells of some files add up to, [C]; weights as exact integers at both scales."""

    rows: Ints
    people: Ints
    weights: tuple[Sequence[int], Sequence[int]] = ((), ())
    squares: tuple[Sequence[int], Sequence[int]] = ((), ())
    largest_weight: float = 0.0
    weight_errors: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Counted:
    """The counts of some files: a cell for each combination of raw levels that occurs.

    `beside` holds those of the table of each candidate of a search; None where it has too many
    levels.
    """

    keys: tuple[RawKey, ...]
    kept: Ints
    measures: Measures
    scores: Mapping[str, ScoreParts] = field(default_factory=dict)
    amounts: RawAmounts | None = None
    tables: Tables | None = None
    beside: Mapping[str, Sequence[Counted] | None] = field(default_factory=dict)

"""The types of the catalogue's records: rates, comparisons, criteria, whole-table measures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any, TypeAlias

import numpy as np

from fairaudit.cube import Floats, GroupTable, Ints, Marks
from fairaudit.metrics.counts import Cell, Counts, Tally
from fairaudit.metrics.reference import Policy

Bounds: TypeAlias = tuple[int | None, int | None]
"""The least and greatest value a measure can take; None where there is no bound."""


class Better(StrEnum):
    """Which way is better for the people counted; `polarity`: as the spec's `favourable` says."""

    HIGHER = "higher"
    LOWER = "lower"
    POLARITY = "polarity"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a definition comes from."""

    authors: str
    year: int
    url: str = ""

    def __str__(self) -> str:
        return f"{self.authors} ({self.year})" + (f", {self.url}" if self.url else "")


@dataclass(frozen=True, slots=True)
class Example:
    """A worked example: the cells of one group and the value that comes out."""

    counts: Counts
    value: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """The words of a record: what `explain` prints and every report cites.

    `elsewhere` says what others call it and where their number differs.
    """

    id: str
    title: str
    means: str
    caution: str
    source: Source
    family: str
    aliases: tuple[str, ...] = ()
    short: str = ""
    elsewhere: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity(Named, ABC):
    """A number of one group; `bounds` are the values it can take."""

    better: Better
    bounds: Bounds = (0, 1)

    @property
    @abstractmethod
    def cells(self) -> frozenset[str]:
        """The cells it is made of."""

    @property
    @abstractmethod
    def formula(self) -> str:
        """The formula in cells."""

    @abstractmethod
    def read(self, tally: Tally) -> Reading:
        """Its value in every stratum and group."""

    @abstractmethod
    def exact(self, counts: Counts) -> Fraction | None:
        """Its value in one group as a fraction; None where it is undefined or infinite."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Reading:
    """A quantity in every stratum and group: arrays [Z, G].

    `value` is NaN where the denominator is empty and infinite at positive/0. `n` counts people in
    the denominator; `size` is n, or the effective n under survey weights. `over / under` are the
    integers behind a rate (times `scale` under weights), None for a formula of several rates.
    """

    quantity: Quantity
    value: Floats
    n: Ints
    size: Floats
    over: Ints | None = None
    under: Ints | None = None
    scale: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate(Quantity):
    """A ratio of sums of cells; `proportion` where it is a share of people (so: binomial)."""

    over: tuple[str, ...]
    under: tuple[str, ...]
    example: Example
    proportion: bool = True

    @property
    def cells(self) -> frozenset[str]:
        """Numerator and denominator cells."""
        return frozenset(self.over) | frozenset(self.under)

    @property
    def formula(self) -> str:
        """The formula in cells, such as `tp / (tp + fn)`."""
        over, under = _sum_text(self.over), _sum_text(self.under)
        return f"{over} / {under}"

    def read(self, tally: Tally) -> Reading:
        """Its value in every stratum and group."""
        over, under = _total(tally.mass, self.over), _total(tally.mass, self.under)
        # A cell may stand twice in a formula (f1), but its people are counted once.
        n = _total(tally.people, sorted(self.under if self.proportion else self.cells))
        size = n.astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            if tally.squares is not None:
                squares = _total(tally.squares, sorted(set(self.under)))
                # Never more than n (Cauchy-Schwarz), whatever fixed point rounds away.
                size = np.fmin((under / tally.scale) ** 2 / squares, size)
            return Reading(self, over / under, n, size, over, under, tally.scale)

    def exact(self, counts: Counts) -> Fraction | None:
        """Its value in one group as a fraction; None where the denominator is empty."""
        under = _total(counts, self.under)
        return Fraction(_total(counts, self.over), under) if under else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean(Quantity):
    """The plain mean of several rates of one group: a formula of parts, not a share of people."""

    parts: tuple[Rate, ...]

    @property
    def cells(self) -> frozenset[str]:
        """The cells of all its parts."""
        return frozenset().union(*(part.cells for part in self.parts))

    @property
    def formula(self) -> str:
        """The mean, in the ids of its parts."""
        return f"({' + '.join(part.id for part in self.parts)}) / {len(self.parts)}"

    def read(self, tally: Tally) -> Reading:
        """Its value in every stratum and group; n is that of the smallest part."""
        parts = [part.read(tally) for part in self.parts]
        value = np.mean([part.value for part in parts], axis=0)
        size = np.min([part.size for part in parts], axis=0)
        return Reading(self, value, np.min([part.n for part in parts], axis=0), size)

    def exact(self, counts: Counts) -> Fraction | None:
        """Its value in one group as a fraction; None where a part is undefined."""
        parts = [part.exact(counts) for part in self.parts]
        known = [part for part in parts if part is not None]
        return sum(known, Fraction(0)) / len(parts) if len(known) == len(parts) else None


class Shape(StrEnum):
    """What a comparison gives: one number a grouping (spread), or one a group (to a reference)."""

    SPREAD = "spread"
    TO_REFERENCE = "to_reference"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Named):
    """How two groups' values are set against each other.

    `apply(first, second)` takes arrays or fractions. To a reference: group, reference. In a
    spread: the highest and the lowest, in the order that `highest_first` says.
    """

    shape: Shape
    ideal: int
    apply: Callable[[Any, Any], Any]
    quotient: bool
    highest_first: bool = True

    def bounds(self, quantity: Quantity) -> Bounds:
        """The values it can take when it compares that quantity."""
        _, top = quantity.bounds
        if self.quotient:
            return (0, 1) if self.shape is Shape.SPREAD else (0, None)
        if self.shape is Shape.SPREAD:
            return (0, top)
        return (None if top is None else -top, top)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """How the parts of a criterion become one number, on arrays and on fractions alike.

    With `rank` the value is that of one part, the one that ranks highest (the first of equals),
    and the witness names it; with `combine` it is made of all.
    """

    id: str
    rank: Callable[[Any], Any] | None = None
    combine: Callable[[Sequence[Any]], Any] | None = None

    def exact(self, parts: Sequence[Fraction]) -> Fraction:
        """The folded value of exact parts."""
        value: Fraction
        if self.rank is not None:
            value = max(parts, key=self.rank)
        elif self.combine is not None:
            value = self.combine(parts)
        return value


MAX = Fold(id="max", rank=lambda v: v)
MIN = Fold(id="min", rank=lambda v: -v)
MEAN = Fold(id="mean", combine=lambda parts: sum(parts) / len(parts))
MEAN_MAGNITUDE = Fold(
    id="mean magnitude", combine=lambda parts: sum(abs(part) for part in parts) / len(parts)
)
LARGEST_MAGNITUDE = Fold(id="largest magnitude", rank=abs)
FARTHEST_FROM_1 = Fold(id="farthest from 1", rank=lambda v: abs(v - 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure(Named):
    """A criterion: one or more quantities, each compared, folded to one number.

    `reference` is set where the definition fixes it. `four_fifths`: where the positive is a burden
    the rule applies to the complement rate. `conditional`: it only has a meaning given strata.
    """

    parts: tuple[tuple[Quantity, Comparison], ...]
    fold: Fold = MAX
    reference: Policy | None = None
    four_fifths: bool = False
    conditional: bool = False

    @property
    def comparison(self) -> Comparison:
        """The comparison its parts share."""
        return self.parts[0][1]

    @property
    def to_reference(self) -> bool:
        """Whether it gives one number a group, compared with a reference."""
        return self.comparison.shape is Shape.TO_REFERENCE

    @property
    def signed(self) -> bool:
        """Whether it can depart from its ideal on either side."""
        one_sided = self.reference is Policy.HIGHEST or self.fold is MEAN_MAGNITUDE
        return self.to_reference and not one_sided

    @property
    def ideal(self) -> int:
        """The value at parity."""
        return self.comparison.ideal

    @property
    def bounds(self) -> Bounds:
        """The values it can take, whatever the reference."""
        return self.bounds_to(self.reference)

    def bounds_to(self, policy: Policy | None) -> Bounds:
        """The values it can take against a reference: nobody is above the highest group."""
        low, high = self.comparison.bounds(self.parts[0][0])
        if self.fold is MEAN_MAGNITUDE:
            return 0, high
        match policy:
            case Policy.HIGHEST:
                return low, self.ideal
            case Policy.LOWEST:
                return self.ideal, high
            case _:
                return low, high

    @property
    def formula(self) -> str:
        """The formula in the ids of its parts."""
        terms = [f"{compare.id}({quantity.id})" for quantity, compare in self.parts]
        return terms[0] if len(terms) == 1 else f"{self.fold.id}[{', '.join(terms)}]"


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of differential fairness: pseudo-counts per outcome, or over all outcomes."""

    smoothing: Decimal | None = None
    concentration: Decimal | None = None

    def per_outcome(self, outcomes: int) -> float:
        """The pseudo-count that Eq. 7 adds to each outcome."""
        if self.concentration is not None:
            return float(self.concentration) / max(outcomes, 1)
        return float(self.smoothing or 0)


NO_PARAMETERS = Parameters()


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole(Named):
    """A measure of a whole table that is no comparison of rates: differential fairness."""

    read: Callable[[GroupTable, int | None, Parameters], WholeReading]
    formula: str
    ideal: int = 0
    bounds: Bounds = (0, None)
    needs_label: bool = False
    needs_prediction: bool = False


@dataclass(frozen=True, slots=True)
class WholeReading:
    """A spread over groups and outcomes, [Z]: value, and the pair and outcome that attain it.

    Indices are -1 where no pair does. `takes_part` and `n` (people in the denominator) are [Z, G];
    `counts` [Z, Y, G] are the outcomes before smoothing.
    """

    value: Floats
    outcome: Ints
    high: Ints
    low: Ints
    takes_part: Marks
    n: Ints
    counts: Floats
    outcomes: tuple[str, ...]
    parts: tuple[tuple[str, WholeReading], ...] = ()


def _total(counts: Counts, names: Sequence[str]) -> Cell:
    return reduce(add, (getattr(counts, name) for name in names))


def _sum_text(names: tuple[str, ...]) -> str:
    terms = [
        name if names.count(name) == 1 else f"{names.count(name)}·{name}"
        for name in dict.fromkeys(names)
    ]
    return terms[0] if len(terms) == 1 else f"({' + '.join(terms)})"

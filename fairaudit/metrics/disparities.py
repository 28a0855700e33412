"""The types of disparities: how group metrics are compared, and several folded to one number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from fairaudit.arrays import Alpha, Ends
from fairaudit.cube import Floats, GroupTable, Ints, Marks
from fairaudit.metrics.definitions import Bounds, CatalogueEntry, Requirement
from fairaudit.metrics.group_metrics import GroupMetric, GroupValues
from fairaudit.metrics.intervals import Interval
from fairaudit.metrics.terms import Average, Minimum, Parameters, ReferencePolicy

Pair: TypeAlias = tuple[tuple[int, int], tuple[int, int]]
"""Numerator and denominator of a group, and of its reference."""


class ComparisonShape(StrEnum):
    """What a comparison gives: one number a grouping (spread), or one a group (to a reference)."""

    SPREAD = "spread"
    TO_REFERENCE = "to_reference"


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """The values that a comparison takes, aligned [Z, G]."""

    group: GroupValues
    reference: GroupValues
    everybody: GroupValues


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(CatalogueEntry):
    """How two groups' values are set against each other.

    `apply(first, second)` takes arrays or fractions. To a reference: group, reference. In a
    spread: the highest and the lowest, in the order that `highest_first` says. Where values alone
    do not do, `contrast` takes both sides, and `exact_of` the fractions over / under of both
    sides, and `error_of` tells what bins hide. `exact_in_strata` takes those fractions of every
    stratum: such a comparison has one value for all strata, and its `contrast` reads the `strata`
    of the sides. `of_positives`: numbers with a sign must both be positive. `range` are the
    values it can take where they do not follow from the metric's. `interval` is that of two
    sides, called `interval_name` where two shares are compared; it `derives_from_rest` where that
    against everybody follows from that against the rest. `worked` is the formula of both sides `a`
    and `b`, to be filled in. `rises_with_rate`: the higher the rate of a group, the higher its
    value. `varies_by_cluster`: its variance is known where rows come in clusters.
    """

    apply: Callable[[Any, Any], Any]
    formula: str
    family: str = "comparison"
    shape: ComparisonShape = ComparisonShape.TO_REFERENCE
    ideal: int | Fraction = 0
    quotient: bool = False
    highest_first: bool = True
    rational: bool = True
    contrast: Callable[[Sides], Floats] | None = None
    exact_of: Callable[[tuple[int, int], tuple[int, int]], Fraction | None] | None = None
    exact_in_strata: Callable[[Sequence[Pair]], Fraction | None] | None = None
    error_of: Callable[[Sides], Floats] | None = None
    of_positives: bool = False
    range: Bounds | None = None
    interval: Callable[[GroupValues, GroupValues, Alpha], Interval | None] | None = None
    interval_name: str = ""
    derives_from_rest: bool = False
    worked: str = ""
    rises_with_rate: bool = True
    varies_by_cluster: bool = False

    def bounds(self, metric: GroupMetric) -> Bounds:
        """The values it can take when it compares that metric."""
        if self.range is not None:
            return self.range
        bottom, top = metric.bounds
        if self.quotient:
            return (0, 1) if self.shape is ComparisonShape.SPREAD else (0, None)
        width = None if top is None or bottom is None else top - bottom
        if self.shape is ComparisonShape.SPREAD:
            return (0, width)
        return (None if width is None else -width, width)


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
REMAINDER = Fold(id="remainder", combine=lambda parts: parts[0] - parts[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Disparity(CatalogueEntry):
    """A criterion: one or more group metrics, each compared, folded to one number.

    `reference` is set where the definition fixes it. `four_fifths`: where the positive is a burden
    the rule applies to the complement rate. `conditional`: it only has a meaning given strata;
    `averages`: how each part is averaged over them, if the definition says so. `mean`: of all
    groups' departures from parity the mean, weighed by people, in place of each. `fitted`: by least
    squares against one group, with the controls that its parameters declare. `of_numbers` is the
    id of the same measure of an outcome that is a number.
    """

    parts: tuple[tuple[GroupMetric, Comparison], ...]
    fold: Fold = MAX
    reference: ReferencePolicy | None = None
    four_fifths: bool = False
    conditional: bool = False
    averages: tuple[Average, ...] = ()
    mean: bool = False
    fitted: bool = False
    of_numbers: str = ""

    @property
    def requirements(self) -> frozenset[Requirement]:
        """What a spec must name for it."""
        return frozenset().union(*(metric.requirements for metric, _ in self.parts))

    @property
    def takes(self) -> tuple[str, ...]:
        """Its parameters, and those of its metrics."""
        of_parts = dict.fromkeys(name for metric, _ in self.parts for name in metric.takes)
        return (*of_parts, "controls") if self.fitted else tuple(of_parts)

    @property
    def comparison(self) -> Comparison:
        """The comparison its parts share."""
        return self.parts[0][1]

    @property
    def to_reference(self) -> bool:
        """Whether it gives one number a group, compared with a reference."""
        return self.comparison.shape is ComparisonShape.TO_REFERENCE

    @property
    def signed(self) -> bool:
        """Whether it can depart from its ideal on either side."""
        one_sided = (
            self.reference is ReferencePolicy.HIGHEST or self.fold is MEAN_MAGNITUDE or self.mean
        )
        return self.to_reference and not one_sided

    @property
    def has_other_side(self) -> bool:
        """Whether the value compares a group with others; one of `itself` compares already."""
        return self.comparison.id != "itself"

    @property
    def aggregate(self) -> str:
        """How the values of all groups become one, in words; empty where each has its own."""
        if not self.mean:
            return ""
        ideal = self.comparison.ideal
        what = "mean absolute value" if not ideal else f"mean distance from {ideal}"
        what = "exp of the mean |ln ratio|" if self.comparison.quotient else what
        return f"{what} over groups, weighted by people"

    @property
    def ideal(self) -> int | Fraction:
        """The value at parity; a remainder of two equal values is 0."""
        return 0 if self.fold is REMAINDER else self.comparison.ideal

    @property
    def bounds(self) -> Bounds:
        """The values it can take, whatever the reference."""
        return self.bounds_to(self.reference)

    def bounds_to(self, policy: ReferencePolicy | None) -> Bounds:
        """The values it can take against a reference: nobody is above the highest group."""
        low, high = self.comparison.bounds(self.parts[0][0])
        if self.mean:
            return (1, None) if self.comparison.quotient else (0, high)
        if self.fold is REMAINDER:
            return (
                None if low is None or high is None else low - high,
                None if low is None or high is None else high - low,
            )
        if self.fold is MEAN_MAGNITUDE:
            return 0, high
        match policy:
            case ReferencePolicy.HIGHEST if self.comparison.rises_with_rate:
                return low, int(self.ideal)
            case ReferencePolicy.LOWEST if self.comparison.rises_with_rate:
                return int(self.ideal), high
            case _:
                return low, high

    @property
    def formula(self) -> str:
        """The formula in the ids of its parts."""
        weighs_strata = self.comparison.exact_in_strata is not None
        averages_shown = () if weighs_strata else self.averages
        averages = [f" averaged ({one})" for one in averages_shown] or [""] * len(self.parts)
        terms = [
            f"{compare.id}({metric.id}{average})"
            for (metric, compare), average in zip(self.parts, averages, strict=True)
        ]
        to = f" to {self.reference}" if self.reference and self.has_other_side else ""
        return (terms[0] if len(terms) == 1 else f"{self.fold.id}[{', '.join(terms)}]") + to


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMetric(CatalogueEntry):
    """A metric of a whole table that is no comparison of rates, such as differential fairness.

    `interval` gives the ends [Z] of its interval, found by the way that `method` names;
    `independence` the tables [Z, classes, G] in which classes do not depend on groups where there
    is no disparity, which `information` tests by the likelihood ratio; of two classes they are
    those of a rate with the `cells`. A limit on one that is `of_log_ratios` is held against each
    pair's. One that is a test statistic itself is `standard_normal` where there is none. `value_at`
    reads a number that depends on how sure the audit asks to be: it takes α too. `parity` says
    what the value is where groups are equal, where that is no number for all data; `ideal` is
    none then.
    """

    value_of: Callable[[GroupTable, Minimum, Parameters], TableValue]
    formula: str
    requirements: frozenset[Requirement] = frozenset({Requirement.CLASSES})
    ideal: int = 0
    parity: str = ""
    bounds: Bounds = (0, None)
    takes: tuple[str, ...] = ()
    conditional: bool = False
    undefined: str = "an outcome that never varies, or a group without a known one"
    interval: Callable[[GroupTable, Minimum, Parameters, Alpha], Ends] | None = None
    method: str = ""
    independence: Callable[[GroupTable, Minimum, Parameters], Sequence[Floats]] | None = None
    cells: frozenset[str] = frozenset({"selected", "rejected"})
    information: bool = False
    of_log_ratios: bool = False
    standard_normal: bool = False
    value_at: Callable[[GroupTable, Minimum, Parameters, float], TableValue] | None = None

    def compute(
        self, table: GroupTable, minimum: Minimum, parameters: Parameters, alpha: float
    ) -> TableValue:
        """Its number on a table, at that α where it depends on it."""
        if self.value_at is not None:
            return self.value_at(table, minimum, parameters, alpha)
        return self.value_of(table, minimum, parameters)


@dataclass(frozen=True, slots=True)
class TableValue:
    """A number of a whole table, [Z]: value, and the pair and outcome that attain it.

    Indices are -1 where no pair does. `takes_part` and `n` (people in the denominator) are [Z, G];
    `counts` [Z, Y, G] are the outcomes before smoothing, where the value is made of them, and
    `everybody` [Z, Y, 1] those of all known groups together.
    """

    value: Floats
    outcome: Ints
    high: Ints
    low: Ints
    takes_part: Marks
    n: Ints
    counts: Floats
    outcomes: tuple[str, ...]
    parts: tuple[tuple[str, TableValue], ...] = ()
    error: Floats | None = None
    everybody: Ints | None = None

    @classmethod
    def of(
        cls,
        value: Floats,
        takes_part: Marks,
        n: Ints,
        *,
        high: Ints | None = None,
        low: Ints | None = None,
        error: Floats | None = None,
    ) -> TableValue:
        """A number that is not attained by one outcome."""
        nobody = np.full(len(value), -1, dtype=np.int64)
        high, low = (nobody if index is None else index for index in (high, low))
        return cls(
            value, nobody, high, low, takes_part, n, n[:, None].astype(np.float64), (), (), error
        )

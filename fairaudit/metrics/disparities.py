"""The types `Comparison` and `Disparity`, and the combinations of several rates to one number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from fairaudit.base.arrays import Alpha
from fairaudit.base.frozen import Frozen, force_setattr
from fairaudit.cube import Floats
from fairaudit.metrics.definitions import Bounds, CatalogueEntry, Requirement
from fairaudit.metrics.estimate import Estimate
from fairaudit.metrics.group_metrics import GroupMetric, GroupValues
from fairaudit.metrics.pair_intervals import Interval, Scale, of_scale
from fairaudit.metrics.terms import DEFAULT_INFERENCE, Average, Inference, ReferencePolicy


class PartCombination(Frozen, kw_only=True):
    """How the parts of a criterion become one number, for arrays and for fractions.

    With `rank` the value is that of the highest-ranked part (the first of equals), which the
    witness names; with `combine` it is made of all parts. `size` is the departure of a part.
    """

    id: str
    rank: Callable[[Any], Any] | None = None
    combine: Callable[[Sequence[Any]], Any] | None = None
    size: Callable[[Any], Any] = lambda v: v

    def exact(self, parts: Sequence[Fraction]) -> Fraction:
        """The folded value of exact parts."""
        if self.rank is not None:
            return max(parts, key=self.rank)
        assert self.combine is not None
        return Fraction(self.combine(parts))


def find_ratio_up_to_1(ratio: Any) -> Any:  # noqa: ANN401  # an array, or a fraction
    """The smaller of a ratio and its inverse."""
    if isinstance(ratio, Fraction):
        return min(ratio, 1 / ratio) if ratio else ratio
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.minimum(ratio, 1 / ratio)


MAX = PartCombination(id="max", rank=lambda v: v)
MIN = PartCombination(id="min", rank=lambda v: -v)
MEAN = PartCombination(id="mean", combine=lambda parts: sum(parts) / len(parts))
MEAN_MAGNITUDE = PartCombination(
    id="mean magnitude",
    combine=lambda parts: sum(abs(part) for part in parts) / len(parts),
    size=abs,
)
MEAN_RATIO = PartCombination(
    id="mean ratio",
    combine=lambda parts: sum(map(find_ratio_up_to_1, parts)) / len(parts),
    size=find_ratio_up_to_1,
)
"""The mean of ratios, each with the smaller side on top: opposite ratios do not cancel."""
LARGEST_MAGNITUDE = PartCombination(id="largest magnitude", rank=abs)
FARTHEST_FROM_1 = PartCombination(id="farthest from 1", rank=lambda v: abs(v - 1))
REMAINDER = PartCombination(id="remainder", combine=lambda parts: parts[0] - parts[1])


class OverGroups(StrEnum):
    """How the departures from parity of all groups become one number.

    Ratios are combined as logarithms, and the value is a ratio again: 1 at parity. `SUM` and
    `MAX` are of the absolute departures, `MEAN` weighs them by people. `MIN` is the least
    departure; for ratios it is the least of the ratios and their inverses, the farthest from
    parity.
    """

    MEAN = "mean"
    SUM = "sum"
    MAX = "max"
    MIN = "min"

    def describe(self, *, ideal: int | Fraction, is_ratio: bool) -> str:
        """The number in words."""
        word = {"sum": "sum of the", "max": "largest", "min": "least"}.get(self, "mean")
        if is_ratio and self is OverGroups.MIN:
            return "least of the ratios and their inverses over groups"
        what = f"distance from {ideal}" if ideal else "absolute value"
        what = f"exp of the {word} |ln ratio|" if is_ratio else f"{word} {what}"
        return f"{what} over groups{', weighted by people' if self is OverGroups.MEAN else ''}"


Pair: TypeAlias = tuple[tuple[int, int], tuple[int, int]]
"""Numerator and denominator of a group, and of its reference."""


SideEstimates: TypeAlias = tuple[Estimate, Estimate | None]
"""The numbers behind a comparison: that of the group, and that of its reference."""


class Sides(Frozen, eq=False):
    """The values that a comparison takes, aligned [Z, G]."""

    group: GroupValues
    reference: GroupValues
    everybody: GroupValues


class Rescaling(Frozen):
    """A monotone function of a difference or a ratio, and its inverse."""

    apply: Callable[[Any], Any]
    invert: Callable[[Any], Any]

    @property
    def increases(self) -> bool:
        """Whether it rises with what it is applied to."""
        return bool(self.apply(0.5) > self.apply(0.25))


UNCHANGED = Rescaling(lambda value: value, lambda value: value)


class Comparison(CatalogueEntry, kw_only=True):
    """How the values of two groups are compared; all properties of the comparison are here.

    - `apply(first, second)` takes arrays or fractions: group and reference. With `is_max_min` it is
      a spread, one number a stratum: the highest and the lowest group, in the order of
      `highest_first`. With `one_sided` the first is the value. `range` are the possible values if
      they do not follow from the metric. With `of_positives` both numbers must be positive. With
      `rises_with_rate` a group with a higher rate has a higher value. `adverse` is 1 if a value
      above parity always means that the group is worse off, for a benefit and for a burden, and -1
      if it is always better off.
    - `scale` and `rescaling` say which function it is of group - reference, group / reference and
      so on, or in a spread of highest - lowest, lowest / highest. They determine its interval
      (also against everybody, over all pairs and with clusters), the people short of a limit, and
      the line of a limit in a picture.
    - A comparison without a scale may have an `interval` of two sides. `worked` is the formula to
      be filled in with `a` and `b`, `sentence` the meaning of a metric that is compared so.
    - If two values are not enough, `contrast` takes both sides, and `exact_of` the fractions over /
      under of both. `error_of` bounds the error from the bins of a score; `undefined` says why a
      contrast may be undefined. `exact_in_strata` takes the fractions of every stratum: such a
      comparison has one value for all strata, and its `contrast` reads the `strata` of the sides.
    - For contrasts of people one by one `sides_of` returns the numbers of the group and of its
      reference at a place of the table; None for a missing side.
    """

    apply: Callable[[Any, Any], Any]
    formula: str
    sentence: str = ""
    family: str = "comparison"
    is_max_min: bool = False
    ideal: int | Fraction = 0
    highest_first: bool = True
    one_sided: bool = False
    rational: bool = True
    of_positives: bool = False
    rises_with_rate: bool = True
    adverse: int = 0
    range: Bounds | None = None
    scale: Scale | None = None
    rescaling: Rescaling = UNCHANGED
    interval: Callable[[GroupValues, GroupValues, Alpha], Interval | None] | None = None
    worked: str = ""
    contrast: Callable[[Sides], Floats] | None = None
    exact_of: Callable[[tuple[int, int], tuple[int, int]], Fraction | None] | None = None
    exact_in_strata: Callable[[Sequence[Pair]], Fraction | None] | None = None
    error_of: Callable[[Sides], Floats] | None = None
    sides_of: Callable[[GroupValues, GroupValues, int, int], SideEstimates] | None = None
    undefined: str = ""

    @property
    def quotient(self) -> bool:
        """Whether groups that are equal have the value 1."""
        return self.ideal == 1

    @property
    def is_plain(self) -> bool:
        """Whether its id says what is computed."""
        return self.one_sided or (
            self.scale in {Scale.DIFFERENCE, Scale.RATIO} and self.rescaling is UNCHANGED
        )

    @property
    def has_interval(self) -> bool:
        """Whether two sides have an interval."""
        return self.interval is not None or self.scale is not None

    @np.errstate(all="ignore")  # undefined is NaN
    def find_interval(
        self, first: GroupValues, second: GroupValues, alpha: Alpha, inference: Inference
    ) -> Interval | None:
        """The interval of two sides; None where they have none."""
        if self.scale is None:
            return self.interval and self.interval(first, second, alpha)
        # A method on request is one for the plain difference or ratio.
        inference = inference if self.rescaling is UNCHANGED else DEFAULT_INFERENCE
        interval = of_scale(self.scale, first, second, alpha, inference)
        return interval and self.rescale(interval)

    def rescale(self, interval: Interval) -> Interval:
        """The interval of the value, from that on its scale."""
        return self._map_ends(interval, self.rescaling.apply)

    def unscale_interval(self, interval: Interval) -> Interval:
        """The interval on its scale, from that of the value."""
        return self._map_ends(interval, self.unscale)

    def _map_ends(self, interval: Interval, change: Callable[[Any], Any]) -> Interval:
        if self.rescaling is UNCHANGED:
            return interval
        low, high = (np.asarray(change(end)) for end in interval[:2])
        ends = (low, high) if self.rescaling.increases else (high, low)
        return Interval(*ends, interval.method)

    def unscale(self, value: Any) -> Any:  # noqa: ANN401  # a number, or a fraction
        """A value on its scale: the difference or the ratio that it is made of."""
        return self.rescaling.invert(value)

    @np.errstate(all="ignore")  # undefined is NaN
    def gap_at(self, bound: float, base: Floats | float) -> Floats:
        """How far above `base` a share lies where the value is `bound`; NaN where that is unknown.

        `base` is the reference's, or in a spread the highest.
        """
        apart = self.unscale(np.float64(bound))
        match self.scale:
            case Scale.DIFFERENCE:
                gap = np.full_like(base, -apart if self.is_max_min else apart)
            case Scale.RATIO:
                gap = (apart - 1) * base
            case Scale.ODDS:
                gap = apart * base / (1 - base + apart * base) - base
            case Scale.ARCSINE:
                angle = np.arcsin(np.sqrt(base)) + apart / 2
                gap = np.sin(np.clip(angle, 0, np.pi / 2)) ** 2 - base
            case _:
                gap = np.full_like(base, np.nan)
        return np.asarray(gap)

    def bounds(self, metric: GroupMetric) -> Bounds:
        """The values it can take when it compares that metric."""
        if self.range is not None:
            return self.range
        bottom, top = metric.bounds
        if self.quotient:
            return (0, 1) if self.is_max_min else (0, None)
        width = None if top is None or bottom is None else top - bottom
        if self.is_max_min:
            return (0, width)
        return (None if width is None else -width, width)


class Disparity(CatalogueEntry, kw_only=True):
    """A criterion: one or more group metrics, each compared, folded to one number.

    Family, caution and meaning are those of its first part, unless it says so itself.
    `reference` is set where the definition fixes it. `four_fifths`: where the positive is a burden
    the rule applies to the complement rate. `conditional`: it only has a meaning given strata;
    `averages`: how each part is averaged over them, if the definition says so. `over_groups`: one
    number of all groups' departures from parity, in place of each. `fitted`: by least
    squares against one group, with the controls that its parameters declare. `of_numbers` is the
    id of the same measure of an outcome that is a number. `per_class` compares one class against
    the rest, where the disparity is the mean of that over all classes.
    """

    parts: tuple[tuple[GroupMetric, Comparison], ...]
    fold: PartCombination = MAX
    reference: ReferencePolicy | None = None
    four_fifths: bool = False
    conditional: bool = False
    averages: tuple[Average, ...] = ()
    over_groups: OverGroups | None = None
    fitted: bool = False
    of_numbers: str = ""
    per_class: Disparity | None = None

    def __post_init__(self) -> None:
        """Takes the words that the definition leaves out from its first part."""
        metric, comparison = self.parts[0]
        defaults = {
            "family": "conditional" if self.conditional else metric.family,
            "caution": metric.caution,
            "description": comparison.sentence.format(metric.title.lower()),
        }
        for name, text in defaults.items():
            if not getattr(self, name):
                force_setattr(self, name, text)
        CatalogueEntry.__post_init__(self)

    @property
    def requirements(self) -> frozenset[Requirement]:
        """The columns that a spec must name for the disparity."""
        return frozenset().union(*(metric.requirements for metric, _ in self.parts))

    @property
    def parameters(self) -> tuple[str, ...]:
        """Its parameters, and those of its metrics."""
        of_parts = dict.fromkeys(name for metric, _ in self.parts for name in metric.parameters)
        return (*of_parts, "controls") if self.fitted else tuple(of_parts)

    @property
    def comparison(self) -> Comparison:
        """The comparison its parts share."""
        return self.parts[0][1]

    @property
    def to_reference(self) -> bool:
        """Whether it gives one number a group, compared with a reference."""
        return not self.comparison.is_max_min

    @property
    def is_two_sided(self) -> bool:
        """Whether it can depart from its ideal on either side."""
        one_sided = (
            self.reference is ReferencePolicy.HIGHEST
            or self.fold in {MEAN_MAGNITUDE, MEAN_RATIO}
            or self.over_groups is not None
        )
        is_share = self.comparison.range == (0, 1) and self.comparison.ideal == 0
        return self.to_reference and not one_sided and not is_share

    @property
    def looks_at_nearest(self) -> bool:
        """Whether only the group nearest to parity counts: such a limit hardly ever fails."""
        return self.over_groups is OverGroups.MIN and not self.comparison.quotient

    @property
    def has_other_side(self) -> bool:
        """Whether the value compares a group with others; one of `itself` compares already."""
        return not self.comparison.one_sided

    @property
    def aggregate(self) -> str:
        """How the values of all groups become one, in words; empty where each has its own."""
        if self.over_groups is None:
            return ""
        comparison = self.comparison
        return self.over_groups.describe(ideal=comparison.ideal, is_ratio=comparison.quotient)

    @property
    def ideal(self) -> int | Fraction:
        """The value at parity; a remainder of two equal values is 0."""
        return 0 if self.fold is REMAINDER else self.comparison.ideal

    @property
    def bounds(self) -> Bounds:
        """The values it can take with any reference."""
        return self.bounds_to(self.reference)

    def bounds_to(self, policy: ReferencePolicy | None) -> Bounds:
        """The values it can take against a reference: no group is above the highest."""
        low, high = self.comparison.bounds(self.parts[0][0])
        if self.over_groups is not None:
            is_least = self.over_groups is OverGroups.MIN
            if self.comparison.quotient:
                return (0, 1) if is_least else (1, None)
            return 0, None if self.over_groups is OverGroups.SUM else high
        if self.fold is REMAINDER:
            return (
                None if low is None or high is None else low - high,
                None if low is None or high is None else high - low,
            )
        if self.fold is MEAN_MAGNITUDE:
            return 0, high
        if self.fold is MEAN_RATIO:
            return 0, 1
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
        if self.per_class is not None:
            return f"{self.fold.id} over classes of {self.per_class.formula}"
        if self.comparison.sides_of is not None:
            return self.comparison.formula
        weighs_strata = self.comparison.exact_in_strata is not None
        averages_shown = () if weighs_strata else self.averages
        averages = [f" averaged ({average})" for average in averages_shown] or [""] * len(
            self.parts
        )
        terms = [
            f"{compare.id}({metric.id}{average})"
            for (metric, compare), average in zip(self.parts, averages, strict=True)
        ]
        to = f" to {self.reference}" if self.reference and self.has_other_side else ""
        return (terms[0] if len(terms) == 1 else f"{self.fold.id}[{', '.join(terms)}]") + to

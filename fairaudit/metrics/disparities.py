"""`Comparison` of two values, and `Disparity`: one or more comparisons, combined to one number."""

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

    If `rank` is not None, the number is the value of the part with the highest rank (the first
    part, if ranks are equal). Otherwise, `combine` computes the number from all parts. `size`
    returns the departure of a part from parity.
    """

    id: str
    rank: Callable[[Any], Any] | None = None
    combine: Callable[[Sequence[Any]], Any] | None = None
    size: Callable[[Any], Any] = lambda v: v

    def exact(self, parts: Sequence[Fraction]) -> Fraction:
        """The combined value of parts that are fractions."""
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
"""The mean of min(ratio, 1 / ratio): ratios above and below 1 do not cancel each other."""
LARGEST_MAGNITUDE = PartCombination(id="largest magnitude", rank=abs)
FARTHEST_FROM_1 = PartCombination(id="farthest from 1", rank=lambda v: abs(v - 1))
REMAINDER = PartCombination(id="remainder", combine=lambda parts: parts[0] - parts[1])


class OverGroups(StrEnum):
    """How the departures from parity of all groups become one number.

    Ratios are combined as logarithms, and the result is a ratio again: 1 at parity. `SUM` and `MAX`
    are the sum and the maximum of the absolute departures. `MEAN` is the mean of the absolute
    departures, weighted by people. `MIN` is the smallest absolute departure. For ratios, `MIN` is
    the smallest of all ratios and their inverses, so it is the farthest from parity.
    """

    MEAN = "mean"
    SUM = "sum"
    MAX = "max"
    MIN = "min"

    def describe(self, *, ideal: int | Fraction, is_ratio: bool) -> str:
        """How the number is computed, in words."""
        word = {"sum": "sum of the", "max": "largest", "min": "least"}.get(self, "mean")
        if is_ratio and self is OverGroups.MIN:
            return "least of the ratios and their inverses over groups"
        what = f"distance from {ideal}" if ideal else "absolute value"
        what = f"exp of the {word} |ln ratio|" if is_ratio else f"{word} {what}"
        return f"{what} over groups{', weighted by people' if self is OverGroups.MEAN else ''}"


Pair: TypeAlias = tuple[tuple[int, int], tuple[int, int]]
"""(numerator, denominator) of a group, and (numerator, denominator) of its reference."""

SideEstimates: TypeAlias = tuple[Estimate, Estimate | None]
"""The estimate of a group, and the estimate of its reference; None for a missing reference."""


class Sides(Frozen, eq=False):
    """The values of each group, of its reference, and of all people, [Z, G], for a contrast."""

    group: GroupValues
    reference: GroupValues
    everybody: GroupValues


class Rescaling(Frozen):
    """A monotone function of a difference or a ratio, and its inverse."""

    apply: Callable[[Any], Any]
    invert: Callable[[Any], Any]

    @property
    def is_increasing(self) -> bool:
        """Whether the function increases with its argument."""
        return bool(self.apply(0.5) > self.apply(0.25))


UNCHANGED = Rescaling(lambda value: value, lambda value: value)


class Comparison(CatalogueEntry, kw_only=True):
    """How the values of two groups are compared.

    - `apply(first, second)` compares the value of a group with the value of its reference (arrays
      or fractions). With `is_max_min`, the comparison is a spread (one number for each stratum): it
      compares the highest and the lowest group, in this order if `highest_first`. With `one_sided`,
      the result is the first value. `range` contains the smallest and the largest possible result
      if they do not follow from the metric. With `of_positives`, both values must be positive. With
      `rises_with_rate`, a group with a higher rate has a higher result. `adverse` is 1 if a result
      above parity means that the group is worse off (for a benefit and for a burden), -1 if it
      means that the group is better off, and otherwise 0.
    - `scale` is the difference or ratio from which the result is computed: group - reference, group
      / reference and so on; in a spread, highest - lowest or lowest / highest. `rescaling` is the
      function that computes the result from this difference or ratio. `scale` and `rescaling`
      determine the interval (also against all people, over all pairs, and with clusters), the
      number of people by which a limit is missed, and the line of a limit in a picture.
    - A comparison without a scale may have an `interval` of two sides. `worked` is a formula with
      `a` and `b` in place of the values. `sentence` is the description of a metric that is
      compared.
    - If two values are not enough, `contrast` computes the result from both sides, and `exact_of`
      computes it from the numerators and denominators of both sides. `error_of` returns a bound of
      the error from the bins of a score. `undefined` is the reason why a contrast may be undefined.
      `exact_in_strata` computes one result for all strata from the numerators and denominators in
      every stratum; `contrast` then uses the `strata` of both sides.
    - For metrics of individuals, `sides_of` returns the estimates of the group and of its reference
      at a place of the table; None for a missing side.
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
    def is_ratio(self) -> bool:
        """Whether equal groups have the value 1."""
        return self.ideal == 1

    @property
    def is_plain(self) -> bool:
        """Whether the id of the comparison alone says how it is computed, without a formula."""
        return self.one_sided or (
            self.scale in {Scale.DIFFERENCE, Scale.RATIO} and self.rescaling is UNCHANGED
        )

    @property
    def has_interval(self) -> bool:
        """Whether the comparison of two sides has an interval."""
        return self.interval is not None or self.scale is not None

    @np.errstate(all="ignore")  # undefined is NaN
    def find_interval(
        self, first: GroupValues, second: GroupValues, alpha: Alpha, inference: Inference
    ) -> Interval | None:
        """The interval of the comparison of two sides; None if no method computes an interval."""
        if self.scale is None:
            return self.interval and self.interval(first, second, alpha)
        # Interval methods that a spec can request are for the plain difference or ratio.
        inference = inference if self.rescaling is UNCHANGED else DEFAULT_INFERENCE
        interval = of_scale(self.scale, first, second, alpha, inference)
        return interval and self.rescale(interval)

    def rescale(self, interval: Interval) -> Interval:
        """The interval of the value, from the interval on the scale."""
        return self._map_ends(interval, self.rescaling.apply)

    def unscale_interval(self, interval: Interval) -> Interval:
        """The interval on the scale, from the interval of the value."""
        return self._map_ends(interval, self.unscale)

    def _map_ends(self, interval: Interval, change: Callable[[Any], Any]) -> Interval:
        if self.rescaling is UNCHANGED:
            return interval
        low, high = (np.asarray(change(end)) for end in interval[:2])
        ends = (low, high) if self.rescaling.is_increasing else (high, low)
        return Interval(*ends, interval.method)

    def unscale(self, value: Any) -> Any:  # noqa: ANN401  # a number, or a fraction
        """The difference or ratio (the scale) from which a value is computed."""
        return self.rescaling.invert(value)

    @np.errstate(all="ignore")  # undefined is NaN
    def gap_at(self, bound: float, base: Floats | float) -> Floats:
        """How far a share must be above `base` for the result to be `bound`; NaN if unknown.

        `base` is the share of the reference; in a spread, the highest share.
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
        """The lowest and the highest possible result of the comparison of a metric."""
        if self.range is not None:
            return self.range
        bottom, top = metric.bounds
        if self.is_ratio:
            return (0, 1) if self.is_max_min else (0, None)
        width = None if top is None or bottom is None else top - bottom
        if self.is_max_min:
            return (0, width)
        return (None if width is None else -width, width)


class Disparity(CatalogueEntry, kw_only=True):
    """A criterion: one or more group metrics, each compared between groups, combined to one number.

    - If the family, caution or description is not set, it is copied from the first part.
    - `reference` is set if the definition requires a kind of reference. `four_fifths` marks the
      four-fifths rule; for a burden, this rule uses the rate of people who are not selected.
    - `conditional` disparities need strata. `averages` contains, for each part, the average over
      strata that the definition requires.
    - With `over_groups`, the departures from parity of all groups become one number.
    - `fitted` disparities come from a least-squares fit with the controls in the parameters.
    - `of_numbers` is the id of the same measure for numeric outcomes.
    - For a mean over all classes, `per_class` is the disparity of one class against the rest.
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
        """Sets the texts that the definition leaves out, from the first part."""
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
        """The columns that a spec must declare for the disparity."""
        return frozenset().union(*(metric.requirements for metric, _ in self.parts))

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters of all parts, and `controls` for a `fitted` disparity."""
        of_parts = dict.fromkeys(name for metric, _ in self.parts for name in metric.parameters)
        return (*of_parts, "controls") if self.fitted else tuple(of_parts)

    @property
    def comparison(self) -> Comparison:
        """The comparison of the first part."""
        return self.parts[0][1]

    @property
    def to_reference(self) -> bool:
        """Whether each group has its own number, because it is compared with a reference."""
        return not self.comparison.is_max_min

    @property
    def is_two_sided(self) -> bool:
        """Whether values above and below parity are possible."""
        one_sided = (
            self.reference is ReferencePolicy.HIGHEST
            or self.fold in {MEAN_MAGNITUDE, MEAN_RATIO}
            or self.over_groups is not None
        )
        starts_at_parity = self.comparison.bounds(self.parts[0][0])[0] == self.comparison.ideal
        return self.to_reference and not one_sided and not starts_at_parity

    @property
    def looks_at_nearest(self) -> bool:
        """Whether only the group nearest to parity counts, so that a limit rarely fails."""
        return self.over_groups is OverGroups.MIN and not self.comparison.is_ratio

    @property
    def is_unsigned(self) -> bool:
        """Whether the value consists of absolute departures and does not show their directions."""
        return self.over_groups is not None or self.fold in {MEAN_MAGNITUDE, MEAN_RATIO}

    def size_of(self, value: Any) -> Any:  # noqa: ANN401  # a number, or an array
        """The absolute departures that an unsigned value consists of."""
        if self.over_groups is None:
            return self.fold.size(value)
        if not self.comparison.is_ratio:
            return np.abs(value - float(self.ideal))
        apart = np.abs(np.log(value))
        return np.exp(-apart if self.over_groups is OverGroups.MIN else apart)

    def grow(self, first: Floats, second: Floats) -> Floats:
        """How much farther from parity `first` is than `second`.

        If the two values are on different sides of parity, the result is the sum of both distances
        from parity: from -0.3 to 0.3, the value grows by 0.6, although both values are 0.3 from
        parity.
        """
        parity = float(self.ideal)
        now, before = self.size_of(first), self.size_of(second)
        turned = (first - parity) * (second - parity) < 0
        both = now + before - 2 * self.size_of(parity)
        return np.asarray(np.where(turned, both, now - before))

    @property
    def aggregate(self) -> str:
        """How the values of all groups become one number, in words; empty without `over_groups`."""
        if self.over_groups is None:
            return ""
        comparison = self.comparison
        return self.over_groups.describe(ideal=comparison.ideal, is_ratio=comparison.is_ratio)

    @property
    def ideal(self) -> int | Fraction:
        """The value at parity; 0 for a remainder, because two equal parts leave 0."""
        return 0 if self.fold is REMAINDER else self.comparison.ideal

    @property
    def bounds(self) -> Bounds:
        """The lowest and the highest possible value, with any reference that is allowed."""
        return self.bounds_to(self.reference)

    def bounds_to(self, policy: ReferencePolicy | None) -> Bounds:
        """The lowest and the highest possible value with this kind of reference."""
        low, high = self.comparison.bounds(self.parts[0][0])
        if self.over_groups is not None:
            is_least = self.over_groups is OverGroups.MIN
            if self.comparison.is_ratio:
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
        """The formula of the disparity, with the ids of the parts."""
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
            # The comparison `itself` is not shown.
            f"{compare.id}({metric.id}{average})"
            if compare.formula != "group"
            else f"{metric.id}{average}"
            for (metric, compare), average in zip(self.parts, averages, strict=True)
        ]
        to = f" to {self.reference}" if self.reference and not self.comparison.one_sided else ""
        if self.fold is REMAINDER:
            return " - ".join(terms) + to
        return (terms[0] if len(terms) == 1 else f"{self.fold.id}[{', '.join(terms)}]") + to

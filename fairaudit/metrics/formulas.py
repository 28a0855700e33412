"""The types of group metrics (`Rate`, `Mean`, `Formula`, `Macro`): their values and intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from fairaudit.base.arrays import Alpha, Ends
from fairaudit.base.frozen import replace
from fairaudit.cube import Floats, Ints
from fairaudit.metrics.clustered_variance import ClusteredShare
from fairaudit.metrics.confusion_counts import ConfusionCounts, GroupCounts
from fairaudit.metrics.definitions import Requirement
from fairaudit.metrics.group_metrics import (
    CLUSTER_ROBUST,
    GroupMetric,
    GroupValues,
    ValueKind,
    count_effective,
    count_effective_of_share,
    sum_cells,
)
from fairaudit.metrics.terms import NO_PARAMETERS, Parameters
from fairaudit.stats import means, proportions, sample_sizes, strata

_OF_LABEL = frozenset({"positives", "negatives"})


class Rate(GroupMetric, kw_only=True):
    """A ratio of two sums of cells. If the `kind` is `SHARE`, it is a binomial share of people.

    Any other rate is the function `of_share` of a binomial share: the share of `hits` among all
    cells of the rate. The interval of this share determines the interval of the rate.
    """

    over: tuple[str, ...]
    under: tuple[str, ...]
    kind: ValueKind = ValueKind.SHARE
    hits: tuple[str, ...] = ()
    of_share: Callable[[Floats], Floats] | None = None

    @property
    def of_group(self) -> bool:
        """Whether the rate is a share of the group's own people, not of all people."""
        return self.is_proportion and not any(cell.startswith("all_") for cell in self.under)

    @property
    def is_odds(self) -> bool:
        """Whether the rate is the odds of a share: hits divided by misses."""
        return bool(self.hits) and self.bounds[1] is None

    @property
    def cells(self) -> frozenset[str]:
        """The cells in numerator and denominator."""
        return frozenset(self.over) | frozenset(self.under)

    @property
    def requirements(self) -> frozenset[Requirement]:
        """A label, a prediction, or both, as the cells of the rate require."""
        if self.cells <= _OF_LABEL:
            return frozenset({Requirement.LABEL})
        joint = self.cells & ({"tp", "fp", "fn", "tn"} | _OF_LABEL)
        return frozenset({Requirement.PREDICTION, *({Requirement.LABEL} if joint else ())})

    @property
    def formula(self) -> str:
        """The formula in cells, such as `tp / (tp + fn)`."""
        return f"{_sum_text(self.over)} / {_sum_text(self.under)}"

    @np.errstate(all="ignore")  # undefined is NaN
    def compute(self, counts: GroupCounts, parameters: Parameters = NO_PARAMETERS) -> GroupValues:  # noqa: ARG002  # has no parameters
        """The value in every stratum and group."""
        over, under = sum_cells(counts.weighted, self.over), sum_cells(counts.weighted, self.under)
        # Each cell counts once in the share, even if a formula such as f1 contains it twice.
        counted = sorted(set(self.under) if self.is_proportion else self.cells)
        n = sum_cells(counts.people, counted)
        size = count_effective_of_share(counts, self._hits, counted)
        if counts.squares is not None and len(counted) > 2 and {*self._hits} < {*counted}:
            # The cells of one outcome can have different weights, such as false positives and
            # negatives.
            of_cells = count_effective(counts, counted, dict.fromkeys(self._hits, 1.0))
            size = np.fmin(size, of_cells)
        value = over / under
        share = value if self.is_proportion else (
            sum_cells(counts.weighted, self._hits) / sum_cells(counts.weighted, counted)
        )  # fmt: skip
        clustered = None
        by_clusters = counts.clusters is not None or counts.unknown_clusters
        if by_clusters:
            of_all = any(cell.startswith("all_") for cell in counted)
            if counts.clusters is None or of_all:
                # For people of several strata or of all groups, clusters and variance are unknown.
                size = np.full_like(size, np.nan)
            else:
                cells = counts.clusters.slots(self._hits), counts.clusters.slots(counted)
                clustered, size = ClusteredShare.of(counts.clusters, *cells, share, size)
        deviation = size * value * (1 - value) if self.is_proportion else None
        weight = None if counts.squares is None else sum_cells(counts.weighted, counted)
        of_share, name = self.of_share, proportions.SHARE_INTERVAL

        def ends(alpha: Alpha) -> Ends:
            share_ends = proportions.share_interval(share, size, alpha)
            if of_share is None:
                return share_ends
            return of_share(share_ends[0]), of_share(share_ends[1])

        def average_ends(weights: Floats, alpha: Alpha) -> Ends:
            assert of_share is not None
            return strata.average_curve_interval(of_share, share, size, weights, alpha)

        return GroupValues(
            self,
            value,
            n,
            size,
            over,
            under,
            counts.scale,
            weight,
            deviation=deviation,
            clustered=clustered,
            ends=ends,
            average_ends=None if of_share is None or self.bias else average_ends,
            method=f"{name}, {CLUSTER_ROBUST}" if by_clusters else name,
        )

    @property
    def _hits(self) -> tuple[str, ...]:
        """The cells in the numerator of the binomial share."""
        return self.over if self.is_proportion else self.hits

    def exact(self, counts: GroupCounts, z: int, g: int, parameters: Parameters) -> Fraction | None:  # noqa: ARG002  # has no parameters
        """The value of one group as a fraction; None if the denominator is 0."""
        return self.of(counts.weighted.at(z, g))

    def of(self, counts: ConfusionCounts) -> Fraction | None:
        """The value from integer counts; None if the denominator is 0."""
        under = sum_cells(counts, self.under)
        return Fraction(sum_cells(counts, self.over), under) if under else None


class Mean(GroupMetric, kw_only=True):
    """The plain mean of two rates of one group, which is not a share of people."""

    parts: tuple[Rate, Rate]
    kind: ValueKind = ValueKind.MEAN_OF_SHARES

    @property
    def requirements(self) -> frozenset[Requirement]:
        """The requirements of both parts."""
        return frozenset().union(*(part.requirements for part in self.parts))

    @property
    def formula(self) -> str:
        """The formula of the mean, with the ids of both parts."""
        return f"({' + '.join(part.id for part in self.parts)}) / {len(self.parts)}"

    def compute(self, counts: GroupCounts, parameters: Parameters = NO_PARAMETERS) -> GroupValues:
        """The value in every stratum and group; `n` is the number of people in the smaller part."""
        parts = [part.compute(counts, parameters) for part in self.parts]
        value = np.mean([part.value for part in parts], axis=0)
        size = np.min([part.effective_n for part in parts], axis=0)

        def ends(alpha: Alpha) -> Ends:
            if counts.clusters is not None:
                # Rates of the same clusters are correlated; intervals at α/2 each are simultaneous.
                low, high = np.mean([part.ends(alpha / 2) for part in parts if part.ends], axis=0)
                return low, high
            # The mean is (1 + gap) / 2, where the gap is (first share) - (1 - second share).
            low, high = proportions.gap_interval(
                *parts[0].sample, 1 - parts[1].value, parts[1].effective_n, alpha
            )
            return (1 + low) / 2, (1 + high) / 2

        n, weight = np.min([(part.n, part.scaled_n) for part in parts], axis=0)
        return GroupValues(
            self,
            value,
            n,
            size,
            scale=counts.scale,
            weight_sum=None if counts.squares is None else weight,
            mean_of=() if counts.clusters is not None else [part.sample for part in parts],
            ends=ends,
            method="MOVER",
        )

    def exact(self, counts: GroupCounts, z: int, g: int, parameters: Parameters) -> Fraction | None:
        """The value of one group as a fraction; None if a part is undefined."""
        return _mean_exactly([part.exact(counts, z, g, parameters) for part in self.parts])


def _mean_exactly(values: Sequence[Fraction | None]) -> Fraction | None:
    """The mean of fractions; None without fractions, or if a fraction is undefined."""
    known = [value for value in values if value is not None]
    is_known = values and len(known) == len(values)
    return sum(known, Fraction(0)) / len(values) if is_known else None


class Formula(GroupMetric, kw_only=True):
    """Any other number of a group.

    - `value_of` returns the values and the numbers of people, both [Z, G]. `weighted_n_of` returns
      the weights of the values in an average under survey weights. `exact_of` returns the value of
      one group as a fraction if the value is rational. `undefined` is the reason why a value may be
      undefined.
    - For a mean over people, `deviation_of` returns the sum of squared deviations, for Student's
      interval. `ends_of` returns any other interval. `average_of` returns the interval of an
      average over strata with these weights [Z, G]; None means that it follows from the intervals
      of the strata. `size_of` returns the effective size under survey weights; None means Kish's.
    - `uses_everybody` is true if the value also depends on all people in the stratum. `sums` names
      the sums that the value uses. `compares` is true if the value already compares the group
      with all others, so that a gap between the values of two groups has no meaning.
    - For metrics that are only used in comparisons, `arrays_of` returns the fields of `GroupValues`
      that the comparison reads.
    """

    formula: str
    requirements: frozenset[Requirement]
    value_of: Callable[[GroupCounts, Parameters], tuple[Floats, Ints]]
    weighted_n_of: Callable[[ConfusionCounts], Ints] | None = None
    undefined: str = "no people to count"
    exact_of: Callable[[GroupCounts, Parameters], Fraction | None] | None = None
    deviation_of: Callable[[GroupCounts, Parameters], Floats] | None = None
    size_of: Callable[[GroupCounts, Parameters], Floats] | None = None
    ends_of: Callable[[GroupCounts, Parameters, Alpha], Ends] | None = None
    average_of: Callable[[GroupCounts, Parameters, Alpha, Floats], Ends] | None = None
    uses_everybody: bool = False
    compares: bool = False
    sums: str = ""
    arrays_of: Callable[[GroupCounts, Parameters], Mapping[str, Any]] | None = None

    @np.errstate(all="ignore")  # undefined is NaN
    def compute(self, counts: GroupCounts, parameters: Parameters = NO_PARAMETERS) -> GroupValues:
        """The value in every stratum and group."""
        value, n = self.value_of(counts, parameters)
        arrays = self.arrays_of and self.arrays_of(counts, parameters)
        size, weight, ends_of, average_of = n.astype(float), None, self.ends_of, self.average_of
        if self.size_of is not None:
            size = self.size_of(counts, parameters)
        if arrays is not None:
            return GroupValues(self, value, n, size, **arrays)
        if self.weighted_n_of is not None and counts.squares is not None:
            weight = self.weighted_n_of(counts.weighted)
            if self.size_of is None:
                squares = np.asarray(self.weighted_n_of(counts.squares), dtype=np.float64)
                size = sample_sizes.kish(weight / counts.scale, squares, size)
        values = GroupValues(
            self,
            value,
            n,
            size,
            scale=counts.scale,
            weight_sum=weight,
            ends=None if ends_of is None else lambda alpha: ends_of(counts, parameters, alpha),
            average_ends=average_of and (lambda w, alpha: average_of(counts, parameters, alpha, w)),
            method=self.method,
        )
        if self.deviation_of is None:
            return values
        deviation = self.deviation_of(counts, parameters)
        if ends_of is not None:
            return replace(values, deviation=deviation)
        return replace(
            values,
            deviation=deviation,
            pools_variance=means.takes_pooled_variance(deviation, size),
            ends=lambda alpha: self.within(means.moderated_interval(value, deviation, size, alpha)),
            method=self.method or "Student",
        )

    def exact(self, counts: GroupCounts, z: int, g: int, parameters: Parameters) -> Fraction | None:
        """The value of one group as a fraction; None if it is not rational."""
        return None if self.exact_of is None else self.exact_of(counts.of_group(z, g), parameters)


def _sum_text(names: tuple[str, ...]) -> str:
    terms = [
        name if names.count(name) == 1 else f"{names.count(name)}·{name}"
        for name in dict.fromkeys(names)
    ]
    return terms[0] if len(terms) == 1 else f"({' + '.join(terms)})"


class Macro(GroupMetric, kw_only=True):
    """The plain mean over classes of a group metric, with each class against the rest."""

    base: GroupMetric

    @property
    def requirements(self) -> frozenset[Requirement]:
        """The requirements of the base metric; a positive class is not needed."""
        return self.base.requirements

    @property
    def formula(self) -> str:
        """The formula of the mean, with the id of the base metric."""
        return f"mean over classes of {self.base.id}"

    def compute(self, counts: GroupCounts, parameters: Parameters = NO_PARAMETERS) -> GroupValues:
        """The value in every stratum and group; NaN if the base metric is NaN for a class."""
        classes = [self.base.compute(cells, parameters) for cells in counts.by_class]
        value = np.mean([of_class.value for of_class in classes], axis=0)
        n = np.min([of_class.n for of_class in classes], axis=0)
        return GroupValues(self, value, n, n.astype(np.float64))

    def exact(self, counts: GroupCounts, z: int, g: int, parameters: Parameters) -> Fraction | None:
        """The value of one group as a fraction."""
        values = [self.base.exact(cells, z, g, parameters) for cells in counts.by_class]
        return _mean_exactly(values)


def macro_average(base: GroupMetric) -> Macro:
    """The record of the mean of a group metric over classes."""
    words = {
        name: getattr(base, name)
        for name in ("caution", "source", "family", "other_tools", "bounds", "parameters")
    }
    return Macro(
        id=f"macro_{base.id}",
        title=f"{base.title}, macro mean",
        short=f"macro {base.short}",
        description=f"{base.description} Each class against the rest, and the plain mean over "
        "classes.",
        base=base,
        better=base.better.of_classes,
        no_interval="its classes are of the same people, and not independent",
        **words,
    )

"""The types of numbers of one group: rates, means of rates, formulas."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from operator import add

import numpy as np

from fairaudit.arrays import Alpha, Ends
from fairaudit.cube import Floats, Ints, Marks
from fairaudit.estimate import Estimate
from fairaudit.metrics.clusters import AveragedShare, ClusteredShare
from fairaudit.metrics.counts import Cell, ConfusionCounts, GroupCounts
from fairaudit.metrics.direction import Better
from fairaudit.metrics.records import (
    NO_PARAMETERS,
    Bounds,
    CatalogueEntry,
    Example,
    Parameters,
    Requirement,
)
from fairaudit.stats import means, mover, proportions

_OF_LABEL = frozenset({"positives", "negatives"})

CLUSTER_ROBUST = "cluster-robust"
"""What is added to the name of an interval or a test whose variance is that of clusters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMetric(CatalogueEntry, ABC):
    """A number of one group; `bounds` are the values it can take, `takes` its parameters.

    One that is not `listed` is only there to be compared; one that is `conditional` only has a
    meaning given strata.
    """

    better: Better
    bounds: Bounds = (0, 1)
    takes: tuple[str, ...] = ()
    listed: bool = True
    conditional: bool = False

    @property
    def best_at_zero(self) -> bool:
        """Whether it is an error with a sign: 0 is the best, and either side departs from it."""
        signed = self.better is Better.NEITHER and self.bounds[0] != 0
        return signed and self.family in {"accuracy", "sufficiency"}

    @property
    @abstractmethod
    def requirements(self) -> frozenset[Requirement]:
        """What a spec must name for it."""

    @property
    @abstractmethod
    def formula(self) -> str:
        """The formula in cells."""

    @property
    def is_proportion(self) -> bool:
        """Whether it is a share of people."""
        return False

    def within(self, ends: Ends) -> Ends:
        """The ends of an interval, none of them where the quantity cannot be."""
        low, high = self.bounds
        least, most = (-np.inf if low is None else low, np.inf if high is None else high)
        return np.maximum(ends[0], least), np.minimum(ends[1], most)

    @abstractmethod
    def compute(self, tally: GroupCounts, parameters: Parameters = NO_PARAMETERS) -> GroupValues:
        """Its value in every stratum and group."""

    @abstractmethod
    def exact(
        self, tally: GroupCounts, z: int, g: int, parameters: Parameters = NO_PARAMETERS
    ) -> Fraction | None:
        """Its value in one group as a fraction; None where it is undefined, infinite or none."""


@dataclass(frozen=True, slots=True, eq=False)
class RegressionFit:
    """Coefficients of a least-squares fit against one group, [1, G]: value and standard error.

    `df` are its degrees of freedom; `why` says of some groups why they have no value.
    """

    value: Floats
    error: Floats
    df: float
    why: Mapping[int, str]

    @classmethod
    def nothing(cls, shape: tuple[int, ...]) -> RegressionFit:
        """A fit that gives nobody a value."""
        return cls(np.full(shape, np.nan), np.full(shape, np.nan), float("nan"), {})


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class GroupValues:
    """A group metric in every stratum and group: arrays [Z, G].

    `value` is NaN where the denominator is empty and infinite at positive/0. `n` counts people in
    the denominator, `effective_n` is Kish's under survey weights. `over / under` are the integers
    behind a rate (times `scale` under weights), None for a formula of several rates; `weight_sum`
    is the sum of weights at that scale, None without weights. `deviation` is the sum of squared
    deviations from the value; `error` bounds what bins hide; `shares` [Z, classes, G] are the
    probabilities of all classes, `scores` [Z, bins, G] the people by ascending bin of a score,
    with `single` [bins] where a bin holds one value; `fit` compares it with a reference by least
    squares; `strata` are the values that an average was made of, where both sides have people;
    `clustered` tells how a share varies with the clusters that rows come in, `by_clusters` how an
    average over strata does. `ends` gives the interval of every value by the method that `method`
    names, None where there is none; `pools_variance` marks intervals that take a part of other
    groups' variance. `estimates` and `intervals` cache what was made of it.
    """

    metric: GroupMetric
    value: Floats
    n: Ints
    effective_n: Floats
    over: Ints | None = None
    under: Ints | None = None
    scale: int = 1
    weight_sum: Ints | None = None
    deviation: Floats | None = None
    pools_variance: Marks | None = None
    error: Floats | None = None
    shares: Floats | None = None
    scores: Ints | None = None
    single: Marks | None = None
    fit: RegressionFit | None = None
    strata: GroupValues | None = None
    clustered: ClusteredShare | None = None
    by_clusters: AveragedShare | None = None
    ends: Callable[[Alpha], Ends] | None = None
    method: str = ""
    estimates: dict[tuple[int, int, float], Estimate] = field(default_factory=dict, repr=False)
    intervals: dict[float, Ends] = field(default_factory=dict, repr=False)

    def interval(self, alpha: float) -> Ends:
        """The ends of every value, found once; NaN where there are none."""
        if alpha not in self.intervals:
            nothing = np.full_like(self.value, np.nan)
            with np.errstate(divide="ignore", invalid="ignore"):
                low, high = (nothing, nothing) if self.ends is None else self.ends(alpha)
            open_ = np.isnan(self.value)
            self.intervals[alpha] = np.where(open_, np.nan, low), np.where(open_, np.nan, high)
        return self.intervals[alpha]

    @property
    def binomial(self) -> bool:
        """Whether it is a share of people, so that it varies as hits among trials do."""
        return self.metric.is_proportion and self.under is not None

    @property
    def trials(self) -> tuple[Floats, Floats]:
        """Hits and trials of a share of people, of the effective size under survey weights."""
        size = np.where(np.isnan(self.value), 0.0, self.effective_n)
        return np.nan_to_num(self.value) * size, size

    @property
    def weighted_trials(self) -> tuple[Floats, Floats]:
        """The same as people, or as their weights."""
        if self.over is None or self.under is None or self.weight_sum is None:
            return self.trials
        known = ~np.isnan(self.value)
        return np.where(known, self.over, 0) / self.scale, np.where(
            known, self.under, 0
        ) / self.scale

    @property
    def odds(self) -> Floats | None:
        """The share of hits, where the value is their odds: hits for each of the others."""
        quantity = self.metric
        if not (isinstance(quantity, Rate) and quantity.hits and quantity.bounds[1] is None):
            return None
        if self.under is None:
            return None
        with np.errstate(invalid="ignore"):
            return np.where(np.isinf(self.value), 1.0, self.value / (1 + self.value))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate(GroupMetric):
    """A ratio of sums of cells; `proportion` where it is a share of people (so: binomial).

    Any other is made, by `of_share`, of the share of `hits` among its cells: given how many people
    are in them that share is binomial, and so gives the ratio its interval.
    """

    over: tuple[str, ...]
    under: tuple[str, ...]
    example: Example
    proportion: bool = True
    hits: tuple[str, ...] = ()
    of_share: Callable[[Floats], Floats] | None = None

    @property
    def of_group(self) -> bool:
        """Whether it is a share of the group's own people, not of everybody's."""
        return self.proportion and not any(cell.startswith("all_") for cell in self.under)

    @property
    def is_proportion(self) -> bool:
        """Whether it is a share of people."""
        return self.proportion

    @property
    def cells(self) -> frozenset[str]:
        """Numerator and denominator cells."""
        return frozenset(self.over) | frozenset(self.under)

    @property
    def requirements(self) -> frozenset[Requirement]:
        """A label or a prediction or both, by its cells."""
        return _needs_of(self.cells)

    @property
    def formula(self) -> str:
        """The formula in cells, such as `tp / (tp + fn)`."""
        return f"{_sum_text(self.over)} / {_sum_text(self.under)}"

    def compute(self, tally: GroupCounts, parameters: Parameters = NO_PARAMETERS) -> GroupValues:  # noqa: ARG002  # takes none
        """Its value in every stratum and group."""
        over, under = _total(tally.weighted, self.over), _total(tally.weighted, self.under)
        counted = self._counted
        n = _total(tally.people, counted)
        size = count_effective(tally, counted)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = over / under
            share = value if self.proportion else (
                _total(tally.weighted, self.hits) / _total(tally.weighted, counted)
            )  # fmt: skip
        clustered = None
        by_clusters = tally.clusters is not None or tally.unknown_clusters
        if by_clusters:
            clustered, size = self._clustered(tally, share, size)
        with np.errstate(invalid="ignore"):
            deviation = size * value * (1 - value) if self.proportion else None
        weight = None if tally.squares is None else under
        of_share = self.of_share

        def ends(alpha: Alpha) -> Ends:
            found = proportions.wilson(share, size, alpha)
            if of_share is None:
                return found
            with np.errstate(divide="ignore"):
                return of_share(found[0]), of_share(found[1])

        return GroupValues(
            self,
            value,
            n,
            size,
            over,
            under,
            tally.scale,
            weight,
            deviation=deviation,
            clustered=clustered,
            ends=ends,
            method=f"Wilson, {CLUSTER_ROBUST}" if by_clusters else "Wilson",
        )

    def _clustered(
        self, tally: GroupCounts, share: Floats, size: Floats
    ) -> tuple[ClusteredShare | None, Floats]:
        """How the share varies with clusters, and how many rows would tell as much by themselves.

        A share of everybody's people, or of people of several strata, has no variance here.
        """
        under = self._counted
        of_all = any(cell.startswith("all_") for cell in under)
        if tally.clusters is None or of_all:
            return None, np.full_like(size, np.nan)
        over = self.over if self.proportion else self.hits
        mass = np.asarray(_total(tally.weighted, under), dtype=np.float64) / tally.scale
        return ClusteredShare.of(tally.clusters.totals(over, under), share, mass, size)

    @property
    def _counted(self) -> list[str]:
        """The cells of the share, each once: one may stand twice in a formula (f1)."""
        return sorted(set(self.under) if self.proportion else self.cells)

    def exact(
        self,
        tally: GroupCounts,
        z: int,
        g: int,
        parameters: Parameters = NO_PARAMETERS,  # noqa: ARG002  # takes none
    ) -> Fraction | None:
        """Its value in one group as a fraction; None where the denominator is empty."""
        return self.of(tally.weighted.at(z, g))

    def of(self, counts: ConfusionCounts) -> Fraction | None:
        """Its value by whole counts."""
        under = _total(counts, self.under)
        return Fraction(_total(counts, self.over), under) if under else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean(GroupMetric):
    """The plain mean of several rates of one group: a formula of parts, not a share of people."""

    parts: tuple[Rate, ...]

    @property
    def requirements(self) -> frozenset[Requirement]:
        """What its parts need."""
        return frozenset().union(*(part.requirements for part in self.parts))

    @property
    def formula(self) -> str:
        """The mean, in the ids of its parts."""
        return f"({' + '.join(part.id for part in self.parts)}) / {len(self.parts)}"

    def compute(self, tally: GroupCounts, parameters: Parameters = NO_PARAMETERS) -> GroupValues:
        """Its value in every stratum and group; n is that of the smallest part."""
        parts = [part.compute(tally, parameters) for part in self.parts]
        value = np.mean([part.value for part in parts], axis=0)
        size = np.min([part.effective_n for part in parts], axis=0)

        def ends(alpha: Alpha) -> Ends:
            if tally.clusters is not None:
                # Rates of the same clusters go together: both intervals hold, however they do.
                both = [part.ends(alpha / len(parts)) for part in parts if part.ends is not None]
                low, high = (np.mean([one[side] for one in both], axis=0) for side in (0, 1))
                return low, high
            each = [part.ends(alpha) for part in parts if part.ends is not None]
            sides = (np.stack([one[side] for one in each]) for side in (0, 1))
            weights = np.full((len(parts), 1, 1), 1 / len(parts))
            values = np.stack([part.value for part in parts])
            return mover.total(values, (next(sides), next(sides)), weights)[1:]

        n = np.min([part.n for part in parts], axis=0)
        return GroupValues(self, value, n, size, ends=ends, method="MOVER")

    def exact(
        self, tally: GroupCounts, z: int, g: int, parameters: Parameters = NO_PARAMETERS
    ) -> Fraction | None:
        """Its value in one group as a fraction; None where a part is undefined."""
        parts = [part.exact(tally, z, g, parameters) for part in self.parts]
        known = [part for part in parts if part is not None]
        return sum(known, Fraction(0)) / len(parts) if len(known) == len(parts) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Formula(GroupMetric):
    """Any other number of a group.

    `value_of` gives value and people, [Z, G], `weighted_n_of` their weight in an average under
    survey weights; `exact_of` the value of one group as a fraction, where it is rational.
    `undefined` says why there may be no value. A mean over people has the sum of squared deviations
    from it by `deviation_of`, and by that Student's interval; any other has one by `ends_of` and
    its `method`.
    `uses_everybody`: it is also made of everybody in the stratum.
    """

    formula: str
    requirements: frozenset[Requirement]
    value_of: Callable[[GroupCounts, Parameters], tuple[Floats, Ints]]
    weighted_n_of: Callable[[ConfusionCounts], Ints] | None = None
    undefined: str = "nobody to count"
    exact_of: Callable[[GroupCounts, Parameters], Fraction | None] | None = None
    deviation_of: Callable[[GroupCounts, Parameters], Floats] | None = None
    ends_of: Callable[[GroupCounts, Parameters, Alpha], Ends] | None = None
    method: str = ""
    uses_everybody: bool = False

    def compute(self, tally: GroupCounts, parameters: Parameters = NO_PARAMETERS) -> GroupValues:
        """Its value in every stratum and group."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            value, n = self.value_of(tally, parameters)
        weighted = self.weighted_n_of is not None and tally.squares is not None
        weight = self.weighted_n_of(tally.weighted) if self.weighted_n_of and weighted else None
        size = n.astype(np.float64)
        if weight is not None and self.weighted_n_of and tally.squares is not None:
            squares = np.asarray(self.weighted_n_of(tally.squares), dtype=np.float64)
            size = effective_n(weight / tally.scale, squares, size)
        deviation = None
        if self.deviation_of is not None:
            with np.errstate(invalid="ignore"):
                deviation = self.deviation_of(tally, parameters)
        return GroupValues(
            self,
            value,
            n,
            size,
            scale=tally.scale,
            weight_sum=weight,
            deviation=deviation,
            pools_variance=None
            if deviation is None
            else means.takes_pooled_variance(deviation, size),
            ends=self.ends(tally, parameters, value, size, deviation),
            method=self.method or ("Student" if deviation is not None else ""),
        )

    def ends(
        self,
        tally: GroupCounts,
        parameters: Parameters,
        value: Floats,
        size: Floats,
        deviation: Floats | None,
    ) -> Callable[[Alpha], Ends] | None:
        """What gives its interval; None where it has none."""
        ends_of = self.ends_of
        if deviation is not None:
            return lambda alpha: self.within(
                means.moderated_interval(value, deviation, size, alpha)
            )
        return None if ends_of is None else lambda alpha: ends_of(tally, parameters, alpha)

    def exact(
        self, tally: GroupCounts, z: int, g: int, parameters: Parameters = NO_PARAMETERS
    ) -> Fraction | None:
        """Its value in one group as a fraction; None where it is none."""
        return None if self.exact_of is None else self.exact_of(tally.of_group(z, g), parameters)


def count_effective(tally: GroupCounts, cells: Sequence[str]) -> Floats:
    """How many people in those cells a sample without weights would need to say as much, [Z, G]."""
    n = np.asarray(_total(tally.people, cells), dtype=np.float64)
    if tally.squares is None:
        return n
    return effective_n(_total(tally.weighted, cells) / tally.scale, _total(tally.squares, cells), n)


def effective_n(mass: Floats, squares: Floats, n: Floats | Ints) -> Floats:
    """Kish's (Σ w)² / Σ w²; never more than n (Cauchy-Schwarz), whatever is rounded away."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.fmin(mass**2 / squares, n)


def _needs_of(cells: frozenset[str]) -> frozenset[Requirement]:
    if cells <= _OF_LABEL:
        return frozenset({Requirement.LABEL})
    joint = {Requirement.LABEL} if cells & {"tp", "fp", "fn", "tn"} or cells & _OF_LABEL else set()
    return frozenset({Requirement.PREDICTION, *joint})


def _total(counts: ConfusionCounts, names: Sequence[str]) -> Cell:
    return reduce(add, (getattr(counts, name) for name in names))


def _sum_text(names: tuple[str, ...]) -> str:
    terms = [
        name if names.count(name) == 1 else f"{names.count(name)}·{name}"
        for name in dict.fromkeys(names)
    ]
    return terms[0] if len(terms) == 1 else f"({' + '.join(terms)})"

"""`GroupMetric` (a value for each group), `TableMetric` (one value for a table), `GroupValues`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from functools import reduce
from operator import add

import numpy as np

from fairaudit.base.arrays import Alpha, Ends
from fairaudit.base.frozen import Frozen, field, memoize, replace
from fairaudit.cube import Floats, GroupTable, Ints, Marks
from fairaudit.metrics.clustered_variance import AveragedShare, ClusteredShare
from fairaudit.metrics.confusion_counts import Cell, ConfusionCounts, GroupCounts, RowSides
from fairaudit.metrics.definitions import Better, Bounds, CatalogueEntry, Requirement
from fairaudit.metrics.terms import NO_PARAMETERS, MetricOptions, Parameters
from fairaudit.stats import sample_sizes
from fairaudit.stats.means import Summary

CLUSTER_ROBUST = "cluster-robust"
"""The last part of the name of an interval or test that uses the variance between clusters."""


CURVED = 1.5
"""The `bias` of a function of n people that is not linear, and so off by about 1 / n."""


class ValueKind(StrEnum):
    """The kind of number of a metric, which determines its interval and its test."""

    SHARE = "share of people"
    OF_SHARE = "made of one share of people"
    MEAN_OF_SHARES = "mean of several shares"
    MEAN = "mean over people"
    RANKS = "ranks of a score"
    CLASSES = "shares of all classes"
    FORMULA = "any other number"


class GroupMetric(CatalogueEntry, kw_only=True):
    """A metric with a number for each group.

    `bounds` are the lowest and the highest possible number. `parameters` are the names of the
    parameters that a spec can set. `kind` determines how the number is estimated and compared.
    `method` is the name of the interval of a formula. `best` is the best value of a number that can
    be too low or too high. Metrics that are not `shown` are only used in comparisons. `conditional`
    metrics are meaningful only with strata. `bias` limits the distance of the expected value of n
    people from the true value: it is at most `bias` / √n times the distance of the value from the
    ends of its interval. `participle` describes the people in the numerator.
    """

    better: Better = Better.NEITHER
    kind: ValueKind = ValueKind.FORMULA
    method: str = ""
    bounds: Bounds = (0, 1)
    parameters: tuple[str, ...] = ()
    best: int | None = None
    shown: bool = True
    conditional: bool = False
    bias: float = 0.0
    participle: str = ""

    @property
    def best_inside(self) -> int | None:
        """The best value: `best`, or 0 for a signed error; None if higher or lower is better."""
        signed = self.better is Better.NEITHER and self.bounds[0] != 0
        is_error = signed and self.family in {"accuracy", "sufficiency"}
        return 0 if is_error and self.best is None else self.best

    @property
    @abstractmethod
    def requirements(self) -> frozenset[Requirement]:
        """The columns that a spec must declare for the metric."""

    @property
    @abstractmethod
    def formula(self) -> str:
        """The formula, with names of cells such as `tp`."""

    @property
    def kinds(self) -> tuple[ValueKind, ...]:
        """The possible kinds of the number; if there are several, the data determines the kind."""
        return (self.kind,)

    @property
    def is_proportion(self) -> bool:
        """Whether the number is a share of people."""
        return self.kind is ValueKind.SHARE

    def within(self, ends: Ends) -> Ends:
        """The ends of an interval, limited to the possible values of the metric."""
        low, high = self.bounds
        least = -np.inf if low is None else float(low)
        most = np.inf if high is None else float(high)
        return np.maximum(ends[0], least), np.minimum(ends[1], most)

    @abstractmethod
    def compute(self, counts: GroupCounts, parameters: Parameters = NO_PARAMETERS) -> GroupValues:
        """The value in every stratum and group."""

    @abstractmethod
    def exact(self, counts: GroupCounts, z: int, g: int, parameters: Parameters) -> Fraction | None:
        """The value of one group as a fraction; None if undefined, infinite or not rational."""


class RegressionFit(Frozen, eq=False):
    """The coefficients of groups in a least-squares fit against one group: arrays [1, G].

    `value` is the coefficient, `error` its standard error, and `df` its degrees of freedom. `why`
    maps the index of each group without a value to the reason.
    """

    value: Floats
    error: Floats
    df: Floats
    why: Mapping[int, str]

    @classmethod
    def nothing(cls, shape: tuple[int, ...]) -> RegressionFit:
        """A fit without values."""
        nothing = np.full(shape, np.nan)
        return cls(nothing, nothing, nothing, {})


class OwnTest(Frozen, eq=False):
    """A separate test of every group, [Z, G]: p-values, and the statistic with its letter."""

    p: Floats
    letter: str = ""
    statistic: Floats | None = None
    freedom: tuple[Floats, ...] = ()


class GroupValues(Frozen, eq=False):
    """The values of a group metric in every stratum and group: arrays [Z, G].

    - `value` is NaN if the denominator is 0, and infinite for positive/0. `n` is the number of
      people in the denominator, and `effective_n` is the effective size.
    - A rate is `over` / `under`, which are integers (weights are multiplied by `scale`); both are
      None for a formula of several rates. `weight_sum` is the sum of weights times `scale`; None
      without weights.
    - `deviation` is the sum of squared deviations from the value. `error` is a bound of the error
      from bins.
    - `shares` [Z, classes, G] are the probabilities of all classes. `scores` [Z, bins, G] is the
      number of people in each bin of a score, in ascending order; `single` [bins] marks bins with
      one value. `fit` is the least-squares fit.
    - For an average over strata, `strata` are the values in the strata where both sides have
      people. For a plain mean of shares, `mean_of` contains a pair (share, effective size) per
      share.
    - `clustered` is the variance of a share between clusters, and `by_clusters` is the variance of
      an average over strata between clusters. `rows` are individual people.
    - `ends` returns the interval of each value by `method`; it is None without an interval.
      `average_ends` returns that of an average over strata with these weights [Z, G].
      `own_test` is the separate test of each group, if any. `pools_variance` marks intervals that
      use part of the variance of other groups.
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
    mean_of: Sequence[tuple[Floats, Floats]] = ()
    clustered: ClusteredShare | None = None
    by_clusters: AveragedShare | None = None
    rows: RowSides | None = None
    ends: Callable[[Alpha], Ends] | None = None
    average_ends: Callable[[Floats, Alpha], Ends] | None = None
    method: str = ""
    own_test: Callable[[], OwnTest] | None = None

    @memoize
    @np.errstate(all="ignore")  # undefined is NaN
    def interval(self, alpha: float) -> Ends:
        """The ends of the interval of every value; NaN without an interval."""
        nothing = np.full_like(self.value, np.nan)
        low, high = (nothing, nothing) if self.ends is None else self.ends(alpha)
        open_ = np.isnan(self.value)
        return np.where(open_, np.nan, low), np.where(open_, np.nan, high)

    def map_ends(self, change: Callable[[Floats, Floats], Ends]) -> Callable[[Alpha], Ends] | None:
        """A function that returns the interval with both ends changed; None without an interval."""
        ends = self.ends
        return None if ends is None else lambda alpha: change(*ends(alpha))

    def ratio_at(self, z: int, g: int) -> tuple[int, int] | None:
        """Numerator and denominator of one value; None for a formula of several rates."""
        if self.over is None or self.under is None:
            return None
        return int(self.over[z, g]), int(self.under[z, g])

    @property
    def scaled_n(self) -> Ints:
        """The weights in an average over strata as integers: people, or scaled survey weights."""
        return self.n if self.weight_sum is None else self.weight_sum

    @property
    def weighted_n(self) -> Floats:
        """The weights in an average over strata: people, or their survey weights."""
        return np.asarray(self.scaled_n / (1 if self.weight_sum is None else self.scale))

    @property
    def binomial(self) -> bool:
        """Whether the value is a share of people, which has a binomial variance."""
        return self.metric.is_proportion and self.under is not None

    def mark_one_outcome(self) -> Marks:
        """Marks strata, [Z, 1], in which all people of a weighted share have the same outcome.

        The weight of people with the other outcome is then unknown: one hit may weigh as much as 20
        people. An average has one outcome if all its strata have this outcome.
        """
        values = self if self.strata is None else self.strata
        is_share = values.binomial or self.metric.kind is ValueKind.OF_SHARE
        if not is_share or values.weight_sum is None:
            return np.zeros((len(self.value), 1), dtype=np.bool_)
        least, most = (
            pick.reduce(self.value, axis=1, keepdims=True) for pick in (np.fmin, np.fmax)
        )
        highest = np.inf if self.metric.bounds[1] is None else 1
        return np.asarray((least == highest) | (most == 0))

    @property
    def summary(self) -> Summary | None:
        """Mean, deviation and size of a mean over people with a t test; None for other values."""
        if self.deviation is None or self.metric.kind is ValueKind.MEAN_OF_SHARES:
            return None
        return Summary(self.value, self.deviation, self.effective_n)

    @property
    def variance(self) -> Floats:
        """The mean squared deviation from the value; NaN if it is unknown."""
        if self.binomial:
            return np.asarray(self.value * (1 - self.value))
        nothing = np.full_like(self.value, np.nan)
        return nothing if self.deviation is None else np.asarray(self.deviation / self.effective_n)

    @property
    def sample(self) -> tuple[Floats, Floats]:
        """The values and their effective sizes."""
        return self.value, self.effective_n

    @property
    def means(self) -> Sequence[tuple[Floats, Floats]]:
        """The shares whose plain mean is the value, with their sizes; a share is its own mean."""
        return [self.sample] if self.binomial else self.mean_of

    @property
    def trials(self) -> tuple[Floats, Floats]:
        """Hits and trials of a share of people; under survey weights, as effective sizes."""
        size = np.where(np.isnan(self.value), 0.0, self.effective_n)
        return np.nan_to_num(self.value) * size, size

    @property
    def weighted_trials(self) -> tuple[Floats, Floats]:
        """Hits and trials of a share of people, in people or in survey weights."""
        if self.over is None or self.under is None:
            return self.trials
        known = ~np.isnan(self.value)
        over, under = np.where(known, self.over, 0), np.where(known, self.under, 0)
        return over / self.scale, under / self.scale


def count_effective(
    counts: GroupCounts, cells: Sequence[str], values: Mapping[str, Floats | float] | None = None
) -> Floats:
    """The effective number of people in some cells, [Z, G].

    If `values` is not None, it maps cells to values (0 for a missing cell), and the result is the
    effective size for the mean of these values. Otherwise, the result is Kish's size, which assumes
    that the estimate is unrelated to the weights.
    """
    n = np.asarray(sum_cells(counts.people, cells), dtype=np.float64)
    if counts.squares is None:
        return n
    if values is None:
        total = np.asarray(sum_cells(counts.weighted, cells) / counts.scale)
        return sample_sizes.kish(total, np.asarray(sum_cells(counts.squares, cells)), n)
    mass, squares, people, of_cells = (
        np.stack(parts)
        for parts in (
            [getattr(counts.weighted, cell) / counts.scale for cell in cells],
            [getattr(counts.squares, cell) for cell in cells],
            [getattr(counts.people, cell) for cell in cells],
            [np.broadcast_to(values.get(cell, 0.0), n.shape) for cell in cells],
        )
    )
    return sample_sizes.linearised(mass, squares, of_cells, people, counts.heaviest)


def count_effective_of_share(
    counts: GroupCounts, hits: Sequence[str], cells: Sequence[str]
) -> Floats:
    """The effective size [Z, G] of the share of people in `hits` among the people in `cells`."""
    n = np.asarray(sum_cells(counts.people, cells), dtype=np.float64)
    if counts.squares is None:
        return n
    shares, people = (
        (
            np.asarray(sum_cells(counts.weighted, part) / counts.scale),
            np.asarray(sum_cells(counts.squares, part)),
            np.asarray(sum_cells(counts.people, part)),
        )
        for part in (hits, cells)
    )
    return sample_sizes.linearised_share(shares, people, counts.heaviest)


def sum_cells(counts: ConfusionCounts, names: Sequence[str]) -> Cell:
    """The sum of the named cells; a cell that is named twice counts twice."""
    return reduce(add, (getattr(counts, name) for name in names))


class TableMetric(CatalogueEntry, kw_only=True):
    """A metric of a whole table that is not a comparison of rates, such as differential fairness.

    - `interval` returns the ends [Z] of its interval by `method`.
    - `independence` returns tables [Z, classes, G] in which classes and groups are independent if
      there is no disparity. The tables are tested by χ² or, with `information`, by the likelihood
      ratio (G). A table of two classes has the same test as a rate whose denominator contains
      `cells`.
    - `of_log_ratios` are the rates whose log-ratios determine the value if there are two outcomes.
      A limit then applies to the log-ratio of each pair.
    - `p_of` returns the p-values [Z] of the `test`. `no_test` is the reason why the interval cannot
      be used as a test of no disparity.
    - `varies_by_cluster` is true if the variance between clusters is known. `subtracts_label` is
      true if the value is the number for decisions minus the number for labels, among people with
      both.
    - `parity` describes the value of equal groups if it depends on the data; `ideal` then does not
      apply. With `judges_all_attributes`, an entry without a grouping checks all attributes
      together.
    """

    value_of: Callable[[GroupTable, MetricOptions], TableValue]
    formula: str
    requirements: frozenset[Requirement] = frozenset({Requirement.CLASSES})
    ideal: int = 0
    parity: str = ""
    bounds: Bounds = (0, None)
    parameters: tuple[str, ...] = ()
    conditional: bool = False
    undefined: str = "an outcome that never varies, or a group without a known one"
    interval: Callable[[GroupTable, MetricOptions, Alpha], Ends] | None = None
    method: str = ""
    independence: Callable[[GroupTable, MetricOptions], Sequence[Floats]] | None = None
    cells: frozenset[str] = frozenset({"selected", "rejected"})
    information: bool = False
    of_log_ratios: tuple[GroupMetric, ...] = ()
    p_of: Callable[[GroupTable, MetricOptions], Floats] | None = None
    varies_by_cluster: bool = False
    subtracts_label: bool = False
    judges_all_attributes: bool = False
    no_test: str = ""

    @property
    def is_two_sided(self) -> bool:
        """Whether values below and above `ideal` are both possible, and both are disparities."""
        low = self.bounds[0]
        return (low is None or low < self.ideal) and not self.subtracts_label

    def compute(self, table: GroupTable, terms: MetricOptions) -> TableValue:
        """The value for a table; with pseudo-counts, also the value without them."""
        value = self.value_of(table, terms)
        if "towards" in self.parameters and terms.parameters.per_outcome(1):
            raw = self.value_of(table, replace(terms, parameters=NO_PARAMETERS))
            value = replace(value, unsmoothed=raw.value)
        return value


class TableValue(Frozen):
    """A number of a whole table, [Z], with the pair of groups and the outcome that attain it.

    The index is -1 if no pair, or no outcome, attains the number. `takes_part` and `n` (people in
    the denominator) are [Z, G]. `counts` [Z, Y, G] is the number of people with each outcome before
    smoothing, if the value uses it. `everybody` [Z, Y, 1] is the number of people with each outcome
    in all known groups, and `overall` [Z, Y, 1] the share of each outcome in all groups that take
    part. `unsmoothed` is the value without pseudo-counts, or None if the value has no
    pseudo-counts. `apart` contains two arrays [Z, G] for each outcome: the distance of each group
    below the highest group and above the lowest group. `apart` is empty if these distances are
    unknown.
    """

    value: Floats
    outcome: Ints
    highest_group: Ints
    lowest_group: Ints
    takes_part: Marks
    n: Ints
    counts: Floats
    outcomes: tuple[str, ...]
    parts: tuple[tuple[str, TableValue], ...] = ()
    error: Floats | None = None
    everybody: Ints | None = None
    overall: Floats | None = None
    unsmoothed: Floats | None = None
    apart: Mapping[str, tuple[Floats, Floats]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        value: Floats,
        takes_part: Marks,
        n: Ints,
        *,
        defined: Marks | None = None,
        high: Ints | None = None,
        low: Ints | None = None,
        error: Floats | None = None,
        apart: tuple[Floats, Floats] | None = None,
    ) -> TableValue:
        """A number that does not belong to one outcome; NaN in strata that are not `defined`."""
        is_defined = np.ones(len(value), np.bool_) if defined is None else defined
        nobody = np.full(len(value), -1, dtype=np.int64)
        highest, lowest = (
            nobody if index is None else np.where(is_defined, index, -1) for index in (high, low)
        )
        counts = n[:, None].astype(np.float64)
        return cls(
            np.where(is_defined, value, np.nan),
            nobody,
            highest,
            lowest,
            takes_part,
            n,
            counts,
            (),
            error=None if error is None else np.where(is_defined, error, 0.0),
            apart={} if apart is None else {"": apart},
        )

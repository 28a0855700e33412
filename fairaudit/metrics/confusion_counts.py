"""Confusion counts per stratum and group; tables without strata, per class, and cut at a score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np

from fairaudit.base.frozen import Frozen, field, field_names, memoize, replace
from fairaudit.cube import NOWHERE, Amount, Floats, GroupTable, Ints, Marks, RowTable, Sum
from fairaudit.metrics.clustered_variance import PooledClusters
from fairaudit.metrics.terms import NO_PARAMETERS, Parameters, ReferencePolicy
from fairaudit.stats.pooling import PooledShares

Cell: TypeAlias = Any
"""An integer, or an array of integers (for squared weights: of floats) with the axes [..., Z, G].
"""


class ConfusionCounts(Frozen):
    """The counts of one group, or of all groups in all strata.

    `selected` and `rejected` also include people with an unknown label, so `selected` may be larger
    than `tp + fp`. `positives` and `negatives` also include people with an unknown prediction.
    `all_selected` and `all_rejected` are sums over all groups.
    """

    tp: Cell
    fp: Cell
    fn: Cell
    tn: Cell
    selected: Cell
    rejected: Cell
    positives: Cell
    negatives: Cell
    all_selected: Cell
    all_rejected: Cell

    @classmethod
    def of_cells(cls, *, tp: int, fp: int, fn: int, tn: int) -> ConfusionCounts:
        """The counts of one group in which all labels and predictions are known."""
        selected, rejected = tp + fp, fn + tn
        return cls(tp, fp, fn, tn, selected, rejected, tp + fn, fp + tn, selected, rejected)

    @classmethod
    def of_joint(cls, table: GroupTable, joint: Cell) -> ConfusionCounts:
        """The counts from an array [Z, Y, P, G] of a table, with the cells of `mark_cells`."""
        cells = {
            name: joint[:, y][:, :, p].sum(axis=(1, 2))
            for name, (y, p) in mark_cells(table).items()
        }
        all_selected, all_rejected = (
            np.broadcast_to(cells[name].sum(axis=-1, keepdims=True), cells[name].shape)
            for name in ("selected", "rejected")
        )
        return cls(**cells, all_selected=all_selected, all_rejected=all_rejected)

    @property
    def labelled(self) -> Cell:
        """The people with a known label and a known prediction."""
        return self.tp + self.fp + self.fn + self.tn

    def map(self, change: Callable[[Cell], Cell]) -> ConfusionCounts:
        """The counts with `change` applied to every cell, except to the sums over all groups."""
        *cells, all_selected, all_rejected = _cells(self)
        return ConfusionCounts(*[*map(change, cells), all_selected, all_rejected])

    def minus(self, part: ConfusionCounts) -> ConfusionCounts:
        """Each cell minus the cell of `part`; the sums over all groups stay the same."""
        *cells, all_selected, all_rejected = _cells(self)
        less = map(np.subtract, cells, _cells(part))
        return ConfusionCounts(*[*less, all_selected, all_rejected])

    def at(self, z: int, g: int) -> ConfusionCounts:
        """The cells of one stratum and group, as Python integers."""
        return ConfusionCounts(*(int(cell[z, g]) for cell in _cells(self)))


_cells = attrgetter(*field_names(ConfusionCounts))


def mark_cells(table: GroupTable) -> dict[str, tuple[Marks, Marks]]:
    """For each cell, marks of the labels [Y] and of the classes [P] that the cell counts.

    If no class is positive, all known classes count as negative. The same rule applies to labels.
    """
    _, labels, classes, _ = table.people.shape
    known_label = np.arange(labels) < len(table.labels)
    known_class = np.arange(classes) < len(table.classes)
    any_label, any_class = np.ones_like(known_label), np.ones_like(known_class)
    label = ~any_label if table.positive_label is None else table.positive_label
    plus = ~any_class if table.positive is None else table.positive
    no_label, minus = known_label & ~label, known_class & ~plus
    return {
        "tp": (label, plus),
        "fp": (no_label, plus),
        "fn": (label, minus),
        "tn": (no_label, minus),
        "selected": (any_label, plus),
        "rejected": (any_label, minus),
        "positives": (label, any_class),
        "negatives": (no_label, any_class),
    }


class Sums(Frozen):
    """Exact sums of a number over people: arrays [Z, G], or the sums of one group.

    The sum is `total / scale`. The sum of squares is `squares / square_scale`. The sum of absolute
    values is `magnitude / magnitude_scale`.
    """

    n: Cell
    total: Cell
    squares: Cell
    magnitude: Cell
    scale: int = 1
    square_scale: int = 1
    magnitude_scale: int = 1

    def map(self, change: Callable[[Cell], Cell]) -> Sums:
        """The sums with `change` applied to `n` and to every sum."""
        return replace(
            self,
            n=change(self.n),
            total=change(self.total),
            squares=change(self.squares),
            magnitude=change(self.magnitude),
        )

    @property
    def of_magnitudes(self) -> Sums:
        """The sums of absolute values in place of the sums."""
        return replace(self, total=self.magnitude, scale=self.magnitude_scale)

    @property
    def mean(self) -> Floats:
        """The mean; NaN without people."""
        return self._per_head(self.total, self.scale)

    @property
    def mean_square(self) -> Floats:
        """The mean of the squares; NaN without people."""
        return self._per_head(self.squares, self.square_scale)

    def _per_head(self, sums: Cell, scale: int) -> Floats:
        # Sums above 64 bits are Python integers, and NumPy would divide them as objects.
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.asarray(sums, dtype=np.float64) / float(scale) / self.n)

    @property
    def exact_mean(self) -> Fraction | None:
        """The mean of one group as a fraction; None without people."""
        return Fraction(int(self.total), self.scale * int(self.n)) if self.n else None

    @property
    def deviation(self) -> Floats:
        """The sum of squared deviations from the mean, from exact integers; NaN without people."""
        n, total, squares = (
            np.asarray(amount).astype(object) for amount in (self.n, self.total, self.squares)
        )
        over = n * squares * self.scale**2 - total**2 * self.square_scale
        under = np.where(np.asarray(self.n) > 0, n, 1) * (self.square_scale * self.scale**2)
        result = np.maximum((over / under).astype(np.float64), 0.0)
        return np.asarray(np.where(np.asarray(self.n) > 0, result, np.nan))


class ScoreCounts(Frozen, eq=False, dict=True):
    """People by label and ascending bin of a score: [Z, 3 (negative, positive, unknown), B, G].

    `low` and `high` [B] are the lowest and the highest score in each bin. `everybody` [B] is the
    number of all people in the bin. `change` is applied to `counted` only when `people` is used:
    the scores of a reference are many numbers, and most metrics never use them.
    """

    counted: Ints
    low: Floats
    high: Floats
    everybody: Ints
    change: Callable[[Cell], Cell] | None = None

    @cached_property
    def people(self) -> Ints:
        """The people, with `change` applied."""
        return self.counted if self.change is None else np.asarray(self.change(self.counted))

    @property
    def single(self) -> Marks:
        """Marks the bins with a single value."""
        return np.asarray(self.low == self.high)

    def map(self, change: Callable[[Cell], Cell]) -> ScoreCounts:
        """The people with `change` applied; the bins stay the same."""
        return ScoreCounts(self.people, self.low, self.high, self.everybody, change)


class RowSides(Frozen, eq=False):
    """The people of a table, and the people who belong to each place [Z, G] (stratum, group).

    By default, the people at a place are the members of the group. If `role` is `REST`, they are
    the members of all other `known` [G] groups; if it is `OVERALL`, the members of all `known`
    groups. If `group` [Z, 1] is not None, they are the members of that group at every place.
    `favourable` says whether the positive outcome is a benefit. `parameters` are the options for
    comparing individual people.
    """

    table: RowTable
    known: Marks
    role: ReferencePolicy | None = None
    group: Ints | None = None
    favourable: bool = True
    parameters: Parameters = NO_PARAMETERS

    def to(self, other: ReferencePolicy | Ints) -> RowSides:
        """The people with whom each group is compared: one group per stratum [Z, 1], or a role."""
        if isinstance(other, ReferencePolicy):
            return replace(self, role=other, group=None)
        return replace(self, role=None, group=other)

    @property
    def one_by_one(self) -> RowSides:
        """The table with one row for each person, for as many people as fit into memory."""
        people = self.table.people
        return self if people is self.table else replace(self, table=people)

    def members(self, z: int, g: int) -> Ints:
        """The indices of the people at a place, in the order of the table."""
        if self.group is not None:
            g = int(self.group[z, 0])
        if self.role is None:
            return self.table.members(z, g)
        there = self.table.usable & (self.table.stratum == z) & (self.table.group != NOWHERE)
        there &= self.known[self.table.group]
        if self.role is ReferencePolicy.REST:
            there &= self.table.group != g
        return np.flatnonzero(there)


class GroupCounts(Frozen, eq=False):
    """The counts of one table, for rates and other metrics of groups.

    - `people` counts people. `weighted` is the mass of people: their number, or the sum of their
      weights times `scale`. `squares` are sums of squared weights.
    - `classes` [Z, P, G] is the mass of each class of the outcome. `class_people` is the number of
      people in each class, and `class_squares` is the sum of their squared weights. `everyone`
      [Z, G] is the mass of all people, and `headcount` [Z, G] is the number of all people.
    - `sums` contains the sums of numbers. `scores` is the histogram of the score. `by_class`
      contains the counts of each class against the rest, for means over classes.
    - `clusters` are the clusters of each group, or of its reference. `unknown_clusters` is true for
      people of several strata, whose clusters are unknown.
    - `rows` are individual people. `pooled` contains, for each stratum, the shares of selected
      people after partial pooling. It is empty for several groups together.
    - `heaviest` is the mean weight of people with the outcome for which this mean is largest.
      `_find_heaviest` describes the strata that are used.
    """

    people: ConfusionCounts
    weighted: ConfusionCounts
    squares: ConfusionCounts | None
    scale: int
    favourable: bool
    classes: Ints
    class_people: Ints
    class_squares: Floats | None
    everyone: Ints
    headcount: Ints
    known_strata: Marks
    known_groups: Marks
    sums: Mapping[str, Sums] = field(default_factory=dict)
    scores: ScoreCounts | None = None
    by_class: tuple[GroupCounts, ...] = ()
    clusters: PooledClusters | None = None
    unknown_clusters: bool = False
    pooled: tuple[PooledShares | None, ...] = ()
    rows: RowSides | None = None
    heaviest: Floats | float = 0.0

    @property
    def answered(self) -> Ints:
        """The number of people whose class is known, [Z, G]."""
        return np.asarray(self.class_people.sum(axis=1))

    @memoize
    def together(self, *, everywhere: bool, others: bool) -> GroupCounts:
        """For each group, the counts of all people of known groups in the stratum.

        With `everywhere`, the counts include all known strata. With `others`, the people of the
        group in the stratum are left out.
        """
        known_groups, known_strata = self.known_groups, self.known_strata

        def total(cell: Cell) -> Cell:
            # People with unknown group are in no comparison.
            known = np.where(known_groups, cell, 0)
            if everywhere:
                known = np.where(known_strata.reshape(-1, *[1] * (cell.ndim - 1)), known, 0)
            whole = known.sum(axis=(0, -1) if everywhere else -1, keepdims=True)
            return whole - known if others else np.broadcast_to(whole, cell.shape)

        if everywhere:
            return replace(self.changed(total), unknown_clusters=self.clusters is not None)
        role = ReferencePolicy.REST if others else ReferencePolicy.OVERALL
        clusters = self.clusters and self.clusters.together(others=others)
        return self.changed(total, clusters, self.rows and self.rows.to(role))

    @memoize
    def of_reference(self, by_stratum: tuple[int, ...]) -> GroupCounts:
        """The counts of the group `by_stratum[z]` in each stratum z, repeated for each group."""
        index = np.array(by_stratum, dtype=np.int64)[:, None]

        def take(cell: Cell) -> Cell:
            places = index.reshape(len(index), *([1] * (cell.ndim - 1)))
            return np.broadcast_to(np.take_along_axis(cell, places, axis=-1), cell.shape)

        rows = self.rows and self.rows.to(index)
        pooled = tuple(
            shares and shares.of_group(g)
            for shares, g in zip(self.pooled, by_stratum, strict=True)
        ) if self.pooled else ()  # fmt: skip
        changed = self.changed(take, self.clusters and self.clusters.at(index), rows)
        return replace(changed, pooled=pooled)

    def of_group(self, z: int, g: int) -> GroupCounts:
        """The counts of one group, as Python integers."""
        return replace(
            self,
            people=self.people.at(z, g),
            weighted=self.weighted.at(z, g),
            sums={name: sums.map(lambda cell: int(cell[z, g])) for name, sums in self.sums.items()},
            scores=None,
            by_class=(),
        )

    def changed(
        self,
        change: Callable[[Cell], Cell],
        clusters: PooledClusters | None = None,
        rows: RowSides | None = None,
    ) -> GroupCounts:
        """All counts with `change` applied, and with `clusters` and `rows` of the new groups."""
        people = self.people.map(change)
        return replace(
            self,
            people=people,
            weighted=people if self.weighted is self.people else self.weighted.map(change),
            squares=None if self.squares is None else self.squares.map(change),
            classes=change(self.classes),
            class_people=change(self.class_people),
            class_squares=None if self.class_squares is None else change(self.class_squares),
            everyone=change(self.everyone),
            headcount=change(self.headcount),
            sums={name: sums.map(change) for name, sums in self.sums.items()},
            scores=None if self.scores is None else self.scores.map(change),
            by_class=tuple(class_counts.changed(change) for class_counts in self.by_class),
            clusters=clusters,
            pooled=(),
            rows=rows,
        )


@memoize
def count_groups(table: GroupTable, *, for_average: bool = False) -> GroupCounts:
    """The counts of a table.

    With `for_average`, the largest mean weight is also searched over all strata together.
    """
    people, histogram, scores = ConfusionCounts.of_joint(table, table.people), table.histogram, None
    if histogram is not None:
        by_bin, bins = np.moveaxis(histogram.people, 2, 3), histogram.bins
        scores = ScoreCounts(by_bin, bins.low, bins.high, histogram.everybody)
    # The sums [Z, G] of every number. The sums of a score are also computed for each binary label.
    everybody = np.ones(table.people.shape[1], dtype=np.bool_)
    sums = {name: _sums(amount, everybody) for name, amount in table.amounts.items()}
    if "score" in table.amounts and table.positive_label is not None:
        known = np.arange(len(everybody)) < len(table.labels)
        score = table.amounts["score"]
        sums["score of positives"] = _sums(score, table.positive_label)
        sums["score of negatives"] = _sums(score, known & ~table.positive_label)
    return GroupCounts(
        people,
        people if table.mass is table.people else ConfusionCounts.of_joint(table, table.mass),
        None if table.squares is None else ConfusionCounts.of_joint(table, table.squares),
        table.scale,
        table.favourable,
        table.mass.sum(axis=1)[:, : len(table.classes)],
        table.people.sum(axis=1)[:, : len(table.classes)],
        None if table.squares is None else table.squares.sum(axis=1)[:, : len(table.classes)],
        np.asarray(table.mass.sum(axis=(1, 2))),
        table.n,
        table.known_strata,
        table.known,
        sums,
        scores,
        clusters=None
        if table.clusters is None
        else PooledClusters(table.clusters, mark_cells(table), table.known),
        rows=None
        if table.rows is None
        else RowSides(table.rows, table.known, favourable=table.favourable),
        heaviest=_find_heaviest(table, for_average=for_average),
    )


@np.errstate(all="ignore")  # an outcome without people is NaN
def _find_heaviest(table: GroupTable, *, for_average: bool) -> Floats | float:
    """The mean weight of the outcome with the largest weights, [Z, 1]; 0 without weights.

    For an average, the result is at least the largest mean weight over all known strata together,
    multiplied by the level of the weights in the stratum. This level is the mass of the stratum
    divided by the mass that people with the same outcomes have in all strata.
    """
    if table.squares is None:
        return 0.0
    mass, squares = table.mass.sum(axis=-1) / table.scale, table.squares.sum(axis=-1)
    heaviest = np.nan_to_num(squares / mass).max(axis=(1, 2))
    if for_average:
        n, known = table.people.sum(axis=-1), table.known_strata
        everywhere = mass[known].sum(axis=0)
        usual = np.nan_to_num(everywhere / n[known].sum(axis=0))
        level = mass.sum(axis=(1, 2)) / (n * usual).sum(axis=(1, 2))
        largest = np.nan_to_num(squares[known].sum(axis=0) / everywhere).max()
        heaviest = np.fmax(heaviest, level * largest)
    return np.asarray(heaviest)[:, None]


def _sums(amount: Amount, labels: Marks) -> Sums:
    def joined(values: Ints) -> Ints:
        return np.asarray(values[:, labels].sum(axis=(1, 2)))

    magnitude = amount.magnitude or Sum(np.zeros_like(amount.n))
    return Sums(
        joined(amount.n),
        joined(amount.total.values),
        joined(amount.squares.values),
        joined(magnitude.values),
        amount.total.scale,
        amount.squares.scale,
        magnitude.scale,
    )


@memoize
def one_against_rest(table: GroupTable) -> dict[str, GroupTable]:
    """A table for each class of the outcome or label, with only that class positive."""
    labels, size = table.people.shape[1:3]
    return {
        name: replace(
            table,
            positive=_marked(table.classes, name, size),
            positive_label=_marked(table.labels, name, labels) if table.labels else None,
        )
        for name in dict.fromkeys([*table.classes, *table.labels])
    }


def _marked(names: Sequence[str], name: str, size: int) -> Marks:
    # The slots after the names are for unknown values.
    marks = [entry == name for entry in names] + [False] * (size - len(names))
    return np.array(marks, dtype=np.bool_)


@memoize
def collapse_strata(table: GroupTable) -> GroupTable:
    """The same people without strata; people whose stratum is unknown are left out."""

    def joined(cells: Cell) -> Cell:
        return cells[table.known_strata].sum(axis=0, keepdims=True)

    people, clusters = joined(table.people), table.clusters
    if clusters is not None:
        size = max(int(np.prod(clusters.shape[1:])), 1)
        stratum = np.maximum(clusters.place, 0) // size
        is_kept = (clusters.place >= 0) & table.known_strata[stratum]
        place = np.where(is_kept, clusters.place % size, -1)
        clusters = replace(clusters, place=place, shape=(1, *clusters.shape[1:]))
    return replace(
        table,
        given=(),
        strata=((),),
        people=people,
        mass=people if table.mass is table.people else joined(table.mass),
        squares=None if table.squares is None else joined(table.squares),
        weightless=None if table.weightless is None else joined(table.weightless),
        known_strata=np.ones(1, dtype=np.bool_),
        amounts={
            name: amount.transform(joined, lambda sums: Sum(joined(sums.values), sums.scale))
            for name, amount in table.amounts.items()
        },
        histogram=table.histogram
        and replace(table.histogram, strata=((),), people=joined(table.histogram.people)),
        clusters=clusters,
    )


def cut_at(table: GroupTable, threshold: Decimal) -> tuple[GroupTable, GroupTable]:
    """The table in which people with a score of at least the threshold are positive.

    People without a score have an unknown outcome. A bin with values on both sides of the threshold
    counts as above the threshold in the first table, and as below it in the second. Without such a
    bin, both tables are the same.
    """
    histogram = table.histogram
    if histogram is None:
        raise ValueError("a threshold needs a histogram")
    above, below = histogram.bins.high >= float(threshold), histogram.bins.low >= float(threshold)
    first = _cut(table, above)
    return first, first if np.array_equal(above, below) else _cut(table, below)


def _cut(table: GroupTable, is_above: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> GroupTable:
    assert table.histogram is not None
    counts = table.histogram.people
    people = np.zeros((len(counts), 3, 3, counts.shape[2]), dtype=np.int64)
    people[:, :, 0] = counts[..., ~is_above].sum(axis=-1)
    people[:, :, 1] = counts[..., is_above].sum(axis=-1)
    # All people by label. People without a score have an unknown outcome.
    kinds = np.full(table.people.shape[1], 2)
    if table.positive_label is not None:
        kinds[:-1] = table.positive_label[:-1]
    for label, kind in enumerate(kinds.tolist()):
        people[:, kind, 2] += table.people[:, label].sum(axis=1)
    people[:, :, 2] = np.maximum(people[:, :, 2] - counts.sum(axis=-1), 0)
    yes, ungrouped = np.array([False, True, False]), table.ungrouped
    if ungrouped is not None:
        # Labels and scores of people without a group are not used, so their outcome is unknown.
        either = np.zeros((len(ungrouped.people), 3, 3, len(ungrouped.groups)), dtype=np.int64)
        either[:, 2, 2] = ungrouped.people.sum(axis=(1, 2))
        ungrouped = replace(ungrouped, people=either, mass=either)
    return replace(
        table,
        labels=("negative", "positive"),
        classes=("below", "at or above"),
        positive_label=None if table.positive_label is None else yes,
        positive=yes,
        people=people,
        mass=people,
        scale=1,
        squares=None,
        weightless=None,
        clusters=None,
        amounts={},
        histogram=None,
        ungrouped=ungrouped,
    )

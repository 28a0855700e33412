"""`GroupTable`, the counts that every metric reads: sums, clusters, pairs, people of no group."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from fairaudit.base.arrays import Floats, Group, Grouping, Ints, Marks
from fairaudit.base.frozen import Frozen, field, replace
from fairaudit.cube.histogram import Histogram
from fairaudit.cube.keys import ExcludedGroups
from fairaudit.cube.rows import RowTable

AmountName: TypeAlias = tuple[str, str]
"""An outcome, and what is added up for it: `score`, `value`, `label`, `predicted`, `residual`."""

MOST_COUNTS = 20_000_000
"""The largest number of counts of groups by strata, labels and classes.

A count takes about 70 bytes of memory, or 200 if metrics are evaluated at thresholds of the score.
"""

_SAFE = 2**62


def add_up(values: Ints, index: Ints, size: int) -> Ints:
    """Sums by index in 64-bit integers (`bincount` would go through floats)."""
    total = np.zeros(size, dtype=values.dtype)
    np.add.at(total, index, values)
    return total


class Sum(Frozen):
    """A sum per cell in fixed point: the number meant is `values / scale`."""

    values: Ints
    scale: int = 1

    @classmethod
    def exact(cls, values: Sequence[int], scale: int) -> Sum:
        """The sums as Python integers, for cells that will be joined later."""
        return cls(np.array(values, dtype=object), scale)

    @classmethod
    def reduced(cls, exact: Sequence[int], scale: int) -> Sum:
        """The sums in 64 bits, at the smallest power of ten that keeps them exact.

        If the total needs more than 62 bits, the last decimal digits are rounded. If whole numbers
        still need more (such as squares of large weights), the values stay Python's integers.
        """
        common, power = math.gcd(*exact), 1
        while scale > 1 and common % (10 * power) == 0:
            power, scale = 10 * power, scale // 10
        values = [value // power for value in exact]
        while scale > 1 and sum(values) >= _SAFE:
            values, scale = [(value + 5) // 10 for value in values], scale // 10
        fits = sum(values) < _SAFE
        return cls(np.array(values, dtype=np.int64 if fits else object), scale)

    @classmethod
    def lowest(cls, exact: Sequence[int], scale: int) -> Sum:
        """The sums in lowest terms: in 64 bits if they fit, otherwise as Python integers.

        Equal sums then have the same `values` and `scale`. Nothing is rounded.
        """
        common = math.gcd(scale, *exact)
        values = [value // common for value in exact]
        fits = sum(map(abs, values)) < _SAFE
        return cls(np.array(values, dtype=np.int64 if fits else object), scale // common)

    def plain(self) -> Ints | Floats:
        """The values as they are, or as floats where 64 bits do not hold them."""
        return self.values.astype(np.float64) if self.values.dtype == object else self.values

    def gather(self, index: Ints, size: int) -> Sum:
        """The sums of joined cells in 64 bits; `index` is the new cell of each."""
        return Sum.reduced(add_up(self.values, index, size).tolist(), self.scale)

    def gather_lowest(self, index: Ints, size: int) -> Sum:
        """The sums of joined cells in lowest terms; `index` is the new cell of each."""
        return Sum.lowest(add_up(self.values.astype(object), index, size).tolist(), self.scale)


class Amount(Frozen, eq=False):
    """A number of each cell: the people who have it, its exact sum and the exact sum of its square.

    `magnitude` is the sum of its absolute value, where a metric needs that. A product of two
    numbers has no squares: they are 0.
    """

    n: Ints
    total: Sum
    squares: Sum
    magnitude: Sum | None = None

    def transform(self, counts: Callable[[Ints], Ints], sums: Callable[[Sum], Sum]) -> Amount:
        """The amount for other cells: applies `counts` to `n`, and `sums` to each sum."""
        magnitude = self.magnitude and sums(self.magnitude)
        return Amount(counts(self.n), sums(self.total), sums(self.squares), magnitude)

    def sums(self) -> tuple[Sum, ...]:
        """All sums there are."""
        sums = (self.total, self.squares, self.magnitude)
        return tuple(total for total in sums if total is not None)


class SampleStrata(Frozen, eq=False):
    """The declared strata of a sample: the stratum of each cluster, and the `units` [H].

    `units` is the number of clusters that were drawn in each stratum, with clusters that have no
    people in the audit.
    """

    of_cluster: Ints
    units: Ints


class Clusters(Frozen, eq=False):
    """The rows that belong together: an entry [E] for each cluster that occurs in a cell.

    `cell` is the place of the cell in the cube, `code` the number of the cluster below `count`,
    `mass` the people of the cluster in that cell, or their survey weight.
    """

    count: int
    cell: Ints
    code: Ints
    mass: Floats
    strata: SampleStrata | None = None

    @classmethod
    def gather(
        cls, cell: Ints, code: Ints, mass: Floats, strata: SampleStrata | None = None
    ) -> Clusters:
        """Entries in canonical form: each cluster once in a cell, in ascending order."""
        known, code = np.unique(code, return_inverse=True)
        count = max(len(known), 1)
        entries, index = np.unique(cell * count + code, return_inverse=True)
        sums = np.bincount(index, mass, minlength=len(entries)).astype(np.float64)
        strata = strata and SampleStrata(strata.of_cluster[known], strata.units)
        return cls(len(known), entries // count, entries % count, sums, strata)


class Ungrouped(Frozen, eq=False):
    """People whose group is not known and who are set aside.

    They count in no group, and not among the other people (`rest`) that a group is compared with.
    `groups` [U] say what is known of them; `people` and `mass` are [Z, Y, P, U], as in the table.
    """

    groups: tuple[Group, ...]
    people: Ints
    mass: Ints


class ClusteredTable(Frozen, eq=False):
    """The clusters of a table: `place` [C] is the place of each cell of the cube in it, or -1.

    The table has the shape [Z, Y, P, G]; `kept` [Y] marks the label classes that count.
    """

    clusters: Clusters
    place: Ints
    shape: tuple[int, int, int, int]
    kept: Marks | None = None


class Pairs(Frozen, eq=False):
    """The same people by two outcomes: `mass` is [Z, Y, P, Q, G], Q the classes of the other.

    `positive` [Q] marks the positive classes of the other outcome. Both outcomes of all people are
    known.
    """

    mass: Ints
    positive: Marks


class GroupTable(Frozen, eq=False, dict=True):
    """The counts of one grouping, stratified, which every metric reads.

    `people` and `mass` have the axes [Z strata, Y label classes, P audited classes, G groups]; the
    last class of Y and of P is "not known". Rates are shares of `mass`: people, or survey
    weights in fixed point; `squares` (Σ count · weight², same axes, as floats) gives the effective
    size of a weighted sample, `None` without weights. If `of` has no classes, P is "not
    known" only. `amounts` (same axes) are sums for `of`; `histogram` is the histogram of its
    score, by the same strata and groups, if a metric needs it. `excluded` groups are counted
    among everybody, and never compared. `ungrouped` are the people whom
    `missing: {protected: aside}` leaves out of this grouping, `possible` those who may exist by a
    masked count. `pairs` also counts the same people by a second outcome. `clusters` are the
    clusters of the rows, if the spec names them. `rows` are the people one by one, if a metric
    needs them, `draws` [D, P, G] given probabilities of classes. `masked`: masked counts hide
    outcomes of people, or whether people exist. `weightless` are the people of almost no weight, in
    the axes of `people`; None without weights. `moving` is the number of people who lack a number,
    if these numbers could move the quantiles that cut its columns.
    """

    by: Grouping
    given: Grouping
    of: str
    groups: tuple[Group, ...]
    strata: tuple[Group, ...]
    labels: tuple[str, ...]
    classes: tuple[str, ...]
    positive_label: Marks | None
    positive: Marks | None
    favourable: bool
    people: Ints
    mass: Ints
    scale: int
    squares: Floats | None
    known: Marks
    known_strata: Marks
    amounts: Mapping[str, Amount] = field(default_factory=dict)
    histogram: Histogram | None = None
    excluded: ExcludedGroups | None = None
    ungrouped: Ungrouped | None = None
    possible: Ungrouped | None = None
    pairs: Pairs | None = None
    clusters: ClusteredTable | None = None
    rows: RowTable | None = None
    draws: Floats | None = None
    masked: bool = False
    weightless: Ints | None = None
    moving: int = 0

    @cached_property
    def eligible(self) -> Marks:
        """Which groups may be compared at all, [G]: those that are known and not excluded."""
        if self.excluded is None:
            return self.known
        kept = [group not in self.excluded.people for group in self.groups]
        return self.known & np.array(kept, dtype=np.bool_)

    def admit(self, groups: Marks) -> GroupTable:
        """The table in which the marked groups are not excluded."""
        if self.excluded is None:
            return self
        admitted = {self.groups[g] for g in np.flatnonzero(groups).tolist()}
        people = {one: n for one, n in self.excluded.people.items() if one not in admitted}
        return replace(self, excluded=replace(self.excluded, people=people))

    @property
    def outsiders(self) -> tuple[Ungrouped, ...]:
        """The people who may belong to its groups: of unknown group, and those who may exist."""
        return tuple(people for people in (self.ungrouped, self.possible) if people is not None)

    @cached_property
    def n(self) -> Ints:
        """People per stratum and group, [Z, G]."""
        return np.asarray(self.people.sum(axis=(1, 2)))

    def with_empty(self, groups: tuple[Group, ...]) -> GroupTable:
        """The counts with further groups without people, for functions that count people only."""
        if not groups:
            return self

        def padded(cells: Any) -> Any:  # noqa: ANN401  # integers or floats
            return np.pad(cells, [(0, 0)] * (cells.ndim - 1) + [(0, len(groups))])

        people = padded(self.people)
        return replace(
            self,
            groups=(*self.groups, *groups),
            people=people,
            mass=people if self.mass is self.people else padded(self.mass),
            squares=None if self.squares is None else padded(self.squares),
            weightless=None if self.weightless is None else padded(self.weightless),
            known=np.append(self.known, np.ones(len(groups), dtype=np.bool_)),
            amounts={},
            histogram=None,
            pairs=None,
            clusters=None,
            rows=None,
        )

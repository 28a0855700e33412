"""`GroupTable`, the counts that metrics read: sums, clusters, pairs, people of unknown group."""

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
"""An outcome, and the number that is added up: `score`, `value`, `label`, `predicted`, `residual`.
"""

MOST_COUNTS = 20_000_000
"""Maximum number of counts in a table: strata × label classes × outcome classes × groups.

A count takes about 70 bytes of memory, or 200 if metrics are evaluated at thresholds of the score.
"""

_SAFE = 2**62


def add_up(values: Ints, index: Ints, size: int) -> Ints:
    """The sum [size] of the values for each index; `np.bincount` would round the sums to floats."""
    total = np.zeros(size, dtype=values.dtype)
    np.add.at(total, index, values)
    return total


class Sum(Frozen):
    """A sum for each cell, stored as integers: the sum of cell c is `values[c] / scale`."""

    values: Ints
    scale: int = 1

    @classmethod
    def exact(cls, values: Sequence[int], scale: int) -> Sum:
        """The sums as Python integers, which are added up later without overflow."""
        return cls(np.array(values, dtype=object), scale)

    @classmethod
    def reduced(cls, exact: Sequence[int], scale: int) -> Sum:
        """The sums as 64-bit integers, at the smallest power of ten that keeps them exact.

        If the total of all cells needs more than 62 bits, the values are rounded to fewer decimals.
        If whole numbers still need more than 62 bits (squares of large weights), the values stay
        Python integers.
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
        """The sums as reduced fractions: 64-bit integers if they fit, otherwise Python integers.

        Equal sums then have the same `values` and `scale`. The sums are exact.
        """
        common = math.gcd(scale, *exact)
        values = [value // common for value in exact]
        fits = sum(map(abs, values)) < _SAFE
        return cls(np.array(values, dtype=np.int64 if fits else object), scale // common)

    def gather(self, index: Ints, size: int) -> Sum:
        """Adds up cells that become one cell (`reduced`); `index` is the new cell of each cell."""
        return Sum.reduced(add_up(self.values, index, size).tolist(), self.scale)

    def gather_lowest(self, index: Ints, size: int) -> Sum:
        """Adds up cells that become one cell (`lowest`); `index` is the new cell of each cell."""
        return Sum.lowest(add_up(self.values.astype(object), index, size).tolist(), self.scale)


class Amount(Frozen, eq=False):
    """The sums, in each cell, of a number that people have (such as a score).

    `n` counts the people who have the number. `total` is the sum of the number, `squares` the sum
    of its square, and `magnitude` the sum of its absolute value (None if no metric needs it). All
    sums are exact. The squares of a product of two numbers are not computed: they are 0.
    """

    n: Ints
    total: Sum
    squares: Sum
    magnitude: Sum | None = None

    def transform(self, counts: Callable[[Ints], Ints], sums: Callable[[Sum], Sum]) -> Amount:
        """The amount for other cells: `counts` converts `n`, and `sums` converts each sum."""
        magnitude = self.magnitude and sums(self.magnitude)
        return Amount(counts(self.n), sums(self.total), sums(self.squares), magnitude)

    def sums(self) -> tuple[Sum, ...]:
        """The total, the squares, and the magnitude if it was computed."""
        sums = (self.total, self.squares, self.magnitude)
        return tuple(total for total in sums if total is not None)


class SampleStrata(Frozen, eq=False):
    """The declared strata of a sample of clusters.

    `of_cluster` is the stratum of each cluster. `units` [H] is the number of clusters that were
    drawn in each stratum, including clusters without people in the audit.
    """

    of_cluster: Ints
    units: Ints


class Clusters(Frozen, eq=False):
    """Clusters of rows that belong together, such as all rows of a household.

    The arrays have an entry [E] for each pair of a cell and a cluster with people in it. `cell` is
    the index of the cell in the cube, `code` the number of the cluster (from 0, below `count`), and
    `mass` the number of people of the cluster in that cell, or the sum of their survey weights.
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
        """The clusters with one entry for each pair of cell and cluster, in ascending order."""
        known, code = np.unique(code, return_inverse=True)
        count = max(len(known), 1)
        entries, index = np.unique(cell * count + code, return_inverse=True)
        sums = np.bincount(index, mass, minlength=len(entries)).astype(np.float64)
        strata = strata and SampleStrata(strata.of_cluster[known], strata.units)
        return cls(len(known), entries // count, entries % count, sums, strata)


class Ungrouped(Frozen, eq=False):
    """People whose group is not completely known, and who are left out of all groups.

    If a group is compared with all other people (`rest`), these people are left out as well.
    `groups` [U] are the combinations of their known and unknown levels. `people` and `mass` are
    arrays [Z, Y, P, U], as in `GroupTable`.
    """

    groups: tuple[Group, ...]
    people: Ints
    mass: Ints


class ClusteredTable(Frozen, eq=False):
    """The clusters of a table with the shape [Z, Y, P, G].

    `place` [C] is the flat index of each cube cell in the table; -1 if the table does not count the
    cell. `kept` [Y] marks the label classes that are counted; None for all classes.
    """

    clusters: Clusters
    place: Ints
    shape: tuple[int, int, int, int]
    kept: Marks | None = None


class Pairs(Frozen, eq=False):
    """The people of a table by two outcomes: `mass` is an array [Z, Y, P, Q, G].

    P are the classes of the outcome of the table, and Q the classes of the second outcome.
    `positive` [Q] marks the positive classes of the second outcome.
    """

    mass: Ints
    positive: Marks


class GroupTable(Frozen, eq=False, dict=True):
    """The counts of groups (columns `by`) in strata (columns `given`), which every metric reads.

    `people` and `mass` have the axes [Z strata, Y label classes, P classes of the outcome `of`, G
    groups]. The last class of Y and of P is "not known"; it is the only class of P if `of` has no
    classes. Rates are shares of `mass`, which is the people, or their survey weights times `scale`.
    `squares` (Σ count · weight², same axes, as floats) gives the effective size of a weighted
    sample; None without weights. `weightless` (same axes) is the number of people with almost no
    weight; None without weights. `amounts` (same axes) are the sums of numbers of the outcome `of`,
    by name. `histogram` is the histogram of its score by strata and groups, if a metric needs it.

    People of `excluded` groups count among all people, but these groups are never compared.
    `ungrouped` are the people whom `missing: {protected: aside}` leaves out of all groups.
    `possible` are the people who may exist behind a masked count. `masked` says whether masked
    counts hide people or their outcomes. `pairs` counts the people of the table by a second outcome
    as well. `clusters` are the clusters of the rows, if the spec names a column of clusters. `rows`
    are the people one by one, if a metric needs single people. `draws` [D, P, G] are random draws
    of the probabilities of classes. `moving` is the number of people with a missing number, if the
    missing numbers could change the quantiles that cut the columns; otherwise 0.
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
        """Marks the groups that may be compared (known and not excluded), as an array [G]."""
        if self.excluded is None:
            return self.known
        kept = [group not in self.excluded.people for group in self.groups]
        return self.known & np.array(kept, dtype=np.bool_)

    def admit(self, groups: Marks) -> GroupTable:
        """The table in which the marked groups are included again."""
        if self.excluded is None:
            return self
        admitted = {self.groups[g] for g in np.flatnonzero(groups).tolist()}
        people = {one: n for one, n in self.excluded.people.items() if one not in admitted}
        return replace(self, excluded=replace(self.excluded, people=people))

    @property
    def outsiders(self) -> tuple[Ungrouped, ...]:
        """The people who may belong to groups of the table: `ungrouped` and `possible`, if any."""
        return tuple(people for people in (self.ungrouped, self.possible) if people is not None)

    @cached_property
    def n(self) -> Ints:
        """The number of people per stratum and group, as an array [Z, G]."""
        return np.asarray(self.people.sum(axis=(1, 2)))

    def with_empty(self, groups: tuple[Group, ...]) -> GroupTable:
        """The table with additional groups without people, for functions that only count people."""
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

"""Enumerates subgroups up to `depth` columns (`MOST_DEEP`), and counts each rate in them.

Combinations of columns are taken level by level. A subgroup is never larger than any group that
contains it, so what is too small is not looked at any deeper.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise

import numpy as np

from fairaudit.base.frozen import Frozen
from fairaudit.cube import NO_LEVEL, Cube, Group, Grouping, Ints, add_up
from fairaudit.metrics import Rate, Requirement
from fairaudit.metrics.confusion_counts import mark_cells
from fairaudit.metrics.inference import DEFAULT_INFERENCE, Inference

MOST_DEEP = 4
"""Most conditions of a subgroup: more are hard to distinguish from chance, and to understand."""


class SearchScope(Frozen):
    """The scope of a search: columns, conditions, people in the denominator."""

    over: Grouping
    depth: int
    min_size: int


class SubgroupSearch(Frozen):
    """Rates of one outcome, and the columns whose levels make the subgroups.

    A subgroup has at most `depth` conditions and at least `min_size` people in the denominator of
    its rate; at most `top` are listed for each rate.
    """

    rates: tuple[Rate, ...]
    of: str
    over: Grouping
    depth: int
    min_size: int
    top: int
    inference: Inference = DEFAULT_INFERENCE

    @property
    def combinations(self) -> tuple[Grouping, ...]:
        """Every combination of columns in the search, those of few columns first."""
        deepest = min(self.depth, len(self.over))
        return tuple(
            names for size in range(1, deepest + 1) for names in combinations(self.over, size)
        )

    @property
    def widest(self) -> tuple[Grouping, ...]:
        """The combinations of most columns: all others are roll-ups of them."""
        return tuple(combinations(self.over, min(self.depth, len(self.over))))


class Everybody(Frozen):
    """All people of a rate, including those of unknown groups.

    `over / under` is their rate, `n` the people with all columns of the rate, on which Kearns'
    shares are based.
    """

    over: int
    under: int
    n: int

    @property
    def rate(self) -> float:
        """Their rate; NaN where the denominator is empty."""
        return self.over / self.under if self.under else float("nan")


class CountedSubgroups(Frozen, eq=False):
    """The subgroups of one rate: [S] entries, by combination of columns and then by `keys`.

    `keys` are the mixed radix of a subgroup's levels within its combination; `slices` has the
    places of the entries of each combination. `too_small` is the number of further subgroups of
    these combinations. `unsearched` is the number of people in the denominator who are not in any
    entry; over several cubes an upper bound.
    """

    rate: Rate
    everybody: Everybody
    slices: Mapping[Grouping, slice]
    keys: Ints
    over: Ints
    under: Ints
    levels: Mapping[str, tuple[str, ...]]
    too_small: int
    unsearched: int

    def count_searched(self, size: int) -> int:
        """The number of entries with `size` conditions."""
        places = (part for names, part in self.slices.items() if len(names) == size)
        return sum(part.stop - part.start for part in places)

    def codes(self, names: Grouping, keys: Ints) -> tuple[Ints, ...]:
        """The level of each column, for subgroups of a combination."""
        sizes = tuple(len(self.levels[name]) for name in names)
        return tuple(map(np.asarray, np.unravel_index(keys, sizes)))

    def combination(self, entry: int) -> Grouping:
        """The columns of an entry."""
        return next(
            names for names, place in self.slices.items() if place.start <= entry < place.stop
        )

    def group(self, entry: int) -> Group:
        """The conditions of an entry."""
        names = self.combination(entry)
        codes = self.codes(names, self.keys[entry : entry + 1])
        return tuple(
            (name, self.levels[name][int(code[0])]) for name, code in zip(names, codes, strict=True)
        )

    def find(self, names: Grouping, keys: Ints) -> Ints:
        """The places of subgroups of a combination, by their keys; -1: not among the entries."""
        entries = self.slices.get(names, slice(0, 0))
        known = self.keys[entries]
        if not len(known):
            return np.full(len(keys), -1)
        place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        return np.where(known[place] == keys, entries.start + place, -1)


def count_subgroups(cubes: Sequence[Cube], search: SubgroupSearch) -> tuple[CountedSubgroups, ...]:
    """The subgroups of every rate, from cubes that have each combination of columns in one."""
    columns = [_Columns(cube, search) for cube in cubes]
    everybody = [columns[0].everybody(rate) for rate in search.rates]
    rows_of: list[list[tuple[Grouping, Ints, Ints, Ints, int]]] = [[] for _ in search.rates]
    alive: set[Grouping] = {()}
    for names in search.combinations:
        if not all(fewer in alive for fewer in combinations(names, len(names) - 1)):
            continue
        cells = next(cells for cells in columns if cells.has(names))
        integers = cells.subgroups(names, search.rates)
        for (keys, over, under), whole, rows in zip(integers, everybody, rows_of, strict=True):
            large = under >= max(search.min_size, 1)
            too_small = int((~large).sum())
            if large.any():
                alive.add(names)
            # A subgroup of all people cannot be compared.
            large &= under < whole.under
            rows.append((names, keys[large], over[large], under[large], too_small))
    levels = {key.name: key.levels for cells in columns for key in cells.keys}
    counted, empty = [], np.zeros(0, dtype=np.int64)
    for rate, whole, rows in zip(search.rates, everybody, rows_of, strict=True):
        ends = np.cumsum([0, *(len(row[1]) for row in rows)]).tolist()
        slices = {row[0]: slice(*place) for row, place in zip(rows, pairwise(ends), strict=True)}
        keys, over, under = (
            np.concatenate([empty, *(row[column] for row in rows)]) for column in (1, 2, 3)
        )
        too_small = sum(row[4] for row in rows)
        alone = {row[0][0]: row[1] for row in rows if len(row[0]) == 1}
        unsearched = min(cells.count_unsearched(rate, alone) for cells in columns)
        counted.append(
            CountedSubgroups(rate, whole, slices, keys, over, under, levels, too_small, unsearched)
        )
    return tuple(counted)


class _Columns:
    """The cells of a cube as the columns of a search, and the classes of its outcome."""

    def __init__(self, cube: Cube, search: SubgroupSearch) -> None:
        self._cube = cube
        self._of = search.of
        self._columns = {
            key.name: column for column, key in enumerate(cube.keys) if key.name in search.over
        }
        self.keys = [cube.keys[column] for column in self._columns.values()]
        self._counts: dict[str, tuple[Ints, Ints]] = {}

    def has(self, names: Grouping) -> bool:
        """Whether it has all these columns."""
        return all(name in self._columns for name in names)

    def everybody(self, rate: Rate) -> Everybody:
        """All people of the cube by a rate."""
        over, under = self._count_rate(rate)
        known = np.ones(len(self._cube.people), dtype=np.bool_)
        for requirement in rate.requirements:
            name = "label" if requirement is Requirement.LABEL else self._of
            if (key := self._cube.outcome(name)) is not None:
                known &= self._find_class(name) < len(key.levels)
        n = int(self._cube.people[known].sum())
        return Everybody(int(over.sum()), int(under.sum()), n)

    def count_unsearched(self, rate: Rate, searched: Mapping[str, Ints]) -> int:
        """The people in a denominator who have no searched level of any column.

        Each member of a subgroup is in the larger group of each of its conditions.
        """
        covered = np.zeros(len(self._cube.people), dtype=np.bool_)
        for name, column in self._columns.items():
            covered |= np.isin(self._cube.codes[:, column], searched[name])
        return int(self._count_rate(rate)[1][~covered].sum())

    def subgroups(
        self, names: Grouping, rates: Sequence[Rate]
    ) -> Iterator[tuple[Ints, Ints, Ints]]:
        """The subgroups by some columns, in ascending order: keys, numerators, denominators."""
        keys = [self._cube.key(name) for name in names]
        flat = np.zeros(len(self._cube.people), dtype=np.int64)
        known = np.ones(len(flat), dtype=np.bool_)
        for name, key in zip(names, keys, strict=True):
            codes = self._cube.codes[:, self._columns[name]]
            known &= codes != NO_LEVEL
            if key.unknown:
                known &= ~np.isin(codes, list(key.unknown))
            flat = flat * max(len(key.levels), 1) + codes
        subgroups, index = np.unique(flat[known], return_inverse=True)
        for rate in rates:
            over, under = (
                add_up(counts[known], index, len(subgroups)) for counts in self._count_rate(rate)
            )
            yield subgroups, over, under

    def _count_rate(self, rate: Rate) -> tuple[Ints, Ints]:
        """The people of each cell in the numerator and in the denominator of a rate."""
        if rate.id not in self._counts:
            marks = mark_cells(self._cube.table((), (), self._of))
            joint = self._find_class("label"), self._find_class(self._of)
            of_rate = (
                np.any([np.outer(*marks[name]) for name in names], axis=0)[joint]
                for names in (rate.over, rate.under)
            )
            over, under = (np.where(counts, self._cube.people, 0) for counts in of_rate)
            self._counts[rate.id] = over, under
        return self._counts[rate.id]

    def _find_class(self, outcome: str) -> Ints:
        """The class of each cell; the one after the last: not known."""
        key = self._cube.outcome(outcome)
        if key is None:
            return np.zeros(len(self._cube.people), dtype=np.int64)
        (column,) = self._cube.places([outcome])
        return key.slots(self._cube.codes[:, column])

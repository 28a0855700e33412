"""The subgroups that are large enough, with the integers of every rate: all of them, no estimate.

Combinations of columns are taken level by level. A subgroup is never larger than any group that
contains it, so what is too small is not looked at any deeper.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from fairaudit.cube import NO_LEVEL, Cube, Group, Grouping, Ints, Marks
from fairaudit.metrics import Rate, Requirement
from fairaudit.metrics.counts import count_groups
from fairaudit.subgroups.asked import SubgroupSearch

_EXACT = 2**53
"""Up to here floats add up people exactly, which is how `bincount` takes weights."""


@dataclass(frozen=True, slots=True)
class Everybody:
    """All people that a rate is about, those of unknown groups included.

    `over / under` is their rate, `n` those of whom everything is known that the rate asks: the
    people that Kearns' shares are of.
    """

    over: int
    under: int
    n: int

    @property
    def rate(self) -> float:
        """Their rate; NaN where the denominator is empty."""
        return self.over / self.under if self.under else float("nan")


@dataclass(frozen=True, slots=True, eq=False)
class CountedSubgroups:
    """The subgroups of one rate: [S] entries, by combination of columns and then by `keys`.

    `keys` are the mixed radix of a subgroup's levels within its combination, whose sizes are
    `sizes`; `slices` say where the entries of each combination stand.
    """

    rate: Rate
    everybody: Everybody
    slices: Mapping[Grouping, slice]
    keys: Ints
    over: Ints
    under: Ints
    levels: Mapping[str, tuple[str, ...]]

    def codes(self, names: Grouping, keys: Ints) -> tuple[Ints, ...]:
        """The level of each column, for subgroups of a combination."""
        sizes = tuple(len(self.levels[name]) for name in names)
        return tuple(np.asarray(one) for one in np.unravel_index(keys, sizes))

    def combination(self, at: int) -> Grouping:
        """The columns of an entry."""
        return next(names for names, one in self.slices.items() if one.start <= at < one.stop)

    def group(self, at: int) -> Group:
        """The conditions of an entry."""
        names = self.combination(at)
        codes = self.codes(names, self.keys[at : at + 1])
        return tuple(
            (name, self.levels[name][int(code[0])]) for name, code in zip(names, codes, strict=True)
        )

    def find(self, names: Grouping, keys: Ints) -> Ints:
        """Where subgroups of a combination stand, by their keys; -1: not among the entries."""
        where = self.slices.get(names, slice(0, 0))
        mine = self.keys[where]
        if not len(mine):
            return np.full(len(keys), -1)
        place = np.minimum(np.searchsorted(mine, keys), len(mine) - 1)
        return np.where(mine[place] == keys, where.start + place, -1)


def count_subgroups(cubes: Sequence[Cube], asked: SubgroupSearch) -> tuple[CountedSubgroups, ...]:
    """The subgroups of every rate, from cubes that have each combination of columns in one."""
    columns = [_Columns(cube, asked) for cube in cubes]
    everybody = [columns[0].everybody(rate) for rate in asked.rates]
    found: list[list[tuple[Grouping, Ints, Ints, Ints]]] = [[] for _ in asked.rates]
    alive: set[Grouping] = {()}
    for names in asked.combinations:
        if not all(part in alive for part in combinations(names, len(names) - 1)):
            continue
        mine = next(one for one in columns if one.has(names))
        for at, (keys, over, under) in enumerate(mine.subgroups(names, asked.rates)):
            large = under >= max(asked.min_size, 1)
            if large.any():
                alive.add(names)
            # Who is everybody has nobody to be compared with.
            large &= under < everybody[at].under
            found[at].append((names, keys[large], over[large], under[large]))
    levels = {key.name: key.levels for one in columns for key in one.keys}
    return tuple(
        _joined(rate, whole, some, levels)
        for rate, whole, some in zip(asked.rates, everybody, found, strict=True)
    )


def _joined(
    rate: Rate,
    everybody: Everybody,
    some: Sequence[tuple[Grouping, Ints, Ints, Ints]],
    levels: Mapping[str, tuple[str, ...]],
) -> CountedSubgroups:
    ends = np.cumsum([len(keys) for _, keys, _, _ in some]).tolist()
    slices = {
        names: slice(end - len(keys), end)
        for (names, keys, _, _), end in zip(some, ends, strict=True)
    }
    empty = np.zeros(0, dtype=np.int64)
    keys, over, under = (np.concatenate([empty, *(one[at] for one in some)]) for at in (1, 2, 3))
    return CountedSubgroups(rate, everybody, slices, keys, over, under, levels)


class _Columns:
    """The cells of a cube as the columns of a search, and the classes of its outcome."""

    def __init__(self, cube: Cube, asked: SubgroupSearch) -> None:
        self._cube = cube
        self._of = asked.of
        self._at = {key.name: at for at, key in enumerate(cube.keys) if key.name in asked.over}
        self.keys = [cube.keys[at] for at in self._at.values()]
        self._counts: dict[str, tuple[Ints, Ints]] = {}

    def has(self, names: Grouping) -> bool:
        """Whether it has all these columns."""
        return all(name in self._at for name in names)

    def everybody(self, rate: Rate) -> Everybody:
        """All people of the cube by a rate."""
        (over, under), known = self._of_rate(rate), self._known(rate)
        n = int(self._cube.people[known].sum())
        return Everybody(int(over.sum()), int(under.sum()), n)

    def subgroups(
        self, names: Grouping, rates: Sequence[Rate]
    ) -> Iterator[tuple[Ints, Ints, Ints]]:
        """The subgroups by some columns, in ascending order: keys, numerators, denominators."""
        keys = [self._cube.key(name) for name in names]
        flat = np.zeros(len(self._cube.people), dtype=np.int64)
        known = np.ones(len(flat), dtype=np.bool_)
        for name, key in zip(names, keys, strict=True):
            codes = self._cube.codes[:, self._at[name]]
            known &= codes != NO_LEVEL
            if key.unknown:
                known &= ~np.isin(codes, list(key.unknown))
            flat = flat * max(len(key.levels), 1) + codes
        found, index = np.unique(flat[known], return_inverse=True)
        for rate in rates:
            over, under = (_added(one[known], index, len(found)) for one in self._of_rate(rate))
            yield found, over, under

    def _of_rate(self, rate: Rate) -> tuple[Ints, Ints]:
        """What each cell adds to the numerator and to the denominator of a rate."""
        if rate.id not in self._counts:
            over, under = self._classes(rate)
            people = self._cube.people
            self._counts[rate.id] = np.where(over, people, 0), np.where(under, people, 0)
        return self._counts[rate.id]

    def _classes(self, rate: Rate) -> tuple[Marks, Marks]:
        """Which cells count in the numerator and in the denominator, by label and outcome.

        Read off a table in which each pair of classes is a group of one person.
        """
        table = self._cube.table((), (), self._of)
        shape = table.people.shape[1:3]
        one_each = np.eye(shape[0] * shape[1], dtype=np.int64).reshape(1, *shape, -1)
        groups = tuple((("class", str(at)),) for at in range(one_each.shape[-1]))
        marks = np.ones(len(groups), dtype=np.bool_)
        singles = replace(
            table, groups=groups, people=one_each, mass=one_each, known=marks, amounts={},
            ungrouped=None, squares=None, scale=1,
        )  # fmt: skip
        reading = rate.compute(count_groups(singles))
        if reading.over is None or reading.under is None:
            raise ValueError(f"{rate.id} is no rate")
        at = self._class("label") * shape[1] + self._class(self._of)
        return reading.over[0][at] > 0, reading.under[0][at] > 0

    def _class(self, outcome: str) -> Ints:
        """The class of each cell; the one after the last: not known."""
        key = self._cube.outcome(outcome)
        if key is None:
            return np.zeros(len(self._cube.people), dtype=np.int64)
        codes = self._cube.codes[:, [one.name for one in self._cube.keys].index(outcome)]
        return np.where(codes == NO_LEVEL, len(key.levels), codes).astype(np.int64)

    def _known(self, rate: Rate) -> Marks:
        """The cells of which everything is known that a rate asks."""
        known = np.ones(len(self._cube.people), dtype=np.bool_)
        for name in {
            "label" if need is Requirement.LABEL else self._of for need in rate.requirements
        }:
            key = self._cube.outcome(name)
            if key is not None:
                known &= self._class(name) < len(key.levels)
        return known


def _added(values: Ints, index: Ints, size: int) -> Ints:
    """Sums by index in 64-bit integers."""
    if int(values.sum()) < _EXACT:
        return np.bincount(index, values, size).astype(np.int64)
    total = np.zeros(size, dtype=np.int64)
    np.add.at(total, index, values)
    return total

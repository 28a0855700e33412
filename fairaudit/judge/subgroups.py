"""Subgroup discovery: combinations of levels whose rate diverges from the rate of everybody.

A search counts all subgroups, tests each subgroup against all other people, and ranks them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import combinations, pairwise
from typing import Annotated

import numpy as np

from fairaudit.base.arrays import Floats
from fairaudit.base.disclosure_marks import declare_subjects
from fairaudit.base.frozen import POSITIVE, RARE, Frozen, field
from fairaudit.cube import NO_LEVEL, Cube, Group, Grouping, Ints, Marks, add_up
from fairaudit.evidence.pair_tests import Sample, compare_shares, name_share_test
from fairaudit.metrics import Rate, Requirement
from fairaudit.metrics.confusion_counts import mark_cells
from fairaudit.metrics.terms import DEFAULT_INFERENCE, Inference
from fairaudit.stats.proportions import gap_interval

MOST_DEEP = 4
"""Maximum number of conditions of a subgroup. With more conditions, results are hard to read."""


class SearchScope(Frozen):
    """The scope of a search, with the same fields as in `SubgroupSearch`."""

    over: Grouping
    depth: int
    min_size: int


class SubgroupSearch(Frozen):
    """A request to search subgroups by rates of one outcome.

    The levels of the columns `over` define subgroups of at most `depth` conditions, with at least
    `min_size` people in the denominator. At most `top` subgroups are listed for each rate.
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
        """Every combination of columns in the search, combinations of few columns first."""
        deepest = min(self.depth, len(self.over))
        return tuple(
            names for size in range(1, deepest + 1) for names in combinations(self.over, size)
        )

    @property
    def widest(self) -> tuple[Grouping, ...]:
        """The combinations with the most columns. All others are sums over the cells of these."""
        return tuple(combinations(self.over, min(self.depth, len(self.over))))


class Everybody(Frozen):
    """The counts of all people for a rate, including people of unknown groups.

    `over / under` is the rate of all people. `n` is the number of people whose label and prediction
    are known (if the rate uses them). The size P(g) of Kearns et al. is a share of `n`.
    """

    over: int
    under: int
    n: int

    @property
    def rate(self) -> float:
        """The rate of all people; NaN if the denominator is empty."""
        return self.over / self.under if self.under else float("nan")


class CountedSubgroups(Frozen, eq=False):
    """The subgroups of one rate as arrays [S], sorted by combination of columns, then by `keys`.

    One place in the arrays is an entry. `slices` maps each combination of columns to a range of
    entries. A key is the number of a subgroup among all combinations of levels of its columns.
    `too_small` is the number of subgroups in these combinations that are not entries because they
    are too small. `unsearched` is the number of people in the denominator who are not in any entry;
    for several cubes, it is an upper bound.
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
        """For each column of `names`, the level numbers of the subgroups with these keys."""
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
        """The entries of the subgroups with these keys by columns `names`; -1 for other keys."""
        entries = self.slices.get(names, slice(0, 0))
        known = self.keys[entries]
        if not len(known):
            return np.full(len(keys), -1)
        place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        return np.where(known[place] == keys, entries.start + place, -1)


def count_subgroups(cubes: Sequence[Cube], search: SubgroupSearch) -> tuple[CountedSubgroups, ...]:
    """The subgroups of each rate. Each combination needs a cube that has all of its columns."""
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
            # A subgroup of all people is left out, because no other people exist.
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
    """The cells of a cube by the columns of a search, with numerators and denominators."""

    def __init__(self, cube: Cube, search: SubgroupSearch) -> None:
        self._cube = cube
        self._of = search.of
        self._columns = {
            key.name: column for column, key in enumerate(cube.keys) if key.name in search.over
        }
        self.keys = [cube.keys[column] for column in self._columns.values()]
        self._counts: dict[str, tuple[Ints, Ints]] = {}

    def has(self, names: Grouping) -> bool:
        return all(name in self._columns for name in names)

    def everybody(self, rate: Rate) -> Everybody:
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

        Single columns are enough, because they contain all members of their combinations.
        """
        covered = np.zeros(len(self._cube.people), dtype=np.bool_)
        for name, column in self._columns.items():
            covered |= np.isin(self._cube.codes[:, column], searched[name])
        return int(self._count_rate(rate)[1][~covered].sum())

    def subgroups(
        self, names: Grouping, rates: Sequence[Rate]
    ) -> Iterator[tuple[Ints, Ints, Ints]]:
        """Yields the keys in ascending order, the numerators and the denominators [S] per rate."""
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
        """The number of the class of each cell; an unknown class has the number after the last."""
        key = self._cube.outcome(outcome)
        if key is None:
            return np.zeros(len(self._cube.people), dtype=np.int64)
        (column,) = self._cube.places([outcome])
        return key.slots(self._cube.codes[:, column])


_SAFE = 2**62
"""Products below this number cannot overflow 64-bit integers."""


@declare_subjects(never="group over under divergence")
class ParentGroup(Frozen):
    """A group that contains a subgroup, has one condition less, and has its own rate."""

    group: Group
    over: int = field(name="numerator")
    under: Annotated[int, POSITIVE] = field(name="denominator")
    divergence: float = field(name="value")

    @property
    def value(self) -> float:
        """The rate of the group."""
        return self.over / self.under


@declare_subjects(
    never="group over under everybody share divergence exact low high p adjusted test unfairness "
    "significant parts",
)
class Subgroup(Frozen):
    """People who meet some conditions, and the divergence of their rate.

    `divergence` is the rate of the subgroup minus `everybody`, the rate of all people, and [`low`,
    `high`] its interval. `p` is the p-value of the test against all other people, and `adjusted` is
    `p` corrected for all subgroups of the search. `share` is the share of all people in the
    denominator who are in the subgroup. `unfairness` is P(g)·|divergence| of Kearns et al.
    """

    group: Group
    over: int = field(name="numerator")
    under: Annotated[int, POSITIVE] = field(name="denominator")
    everybody: float
    share: float
    divergence: float = field(name="value")
    exact: Fraction
    low: float
    high: float
    p: float
    adjusted: float
    test: str
    unfairness: float
    significant: bool
    parts: tuple[ParentGroup, ...] = ()

    @property
    def value(self) -> Annotated[float, "rate"]:
        """The rate of the subgroup."""
        return self.over / self.under

    @property
    def ends(self) -> tuple[float, float]:
        """The interval of the divergence; if it is negative, the interval with opposite signs."""
        return (self.low, self.high) if self.divergence >= 0 else (-self.high, -self.low)


@declare_subjects(
    never="rate of over under n looked_at significant explained listed widest unfairest too_small"
)
class SearchedRate(Frozen):
    """The results of a search by one rate.

    `over / under` is the rate of everybody, and `n` is the number of people that the unfairness
    refers to. `looked_at` is the number of subgroups that were tested, `significant` the number of
    significant subgroups, and `explained` the number of those that a larger group explains.
    `listed` are the first significant subgroups that are not explained. `widest` is the subgroup
    that diverges most and `unfairest` the one with the largest unfairness; both may not be
    significant. At least `too_small` subgroups were not tested because they are too small.
    """

    rate: str = field(name="metric")
    of: str
    over: int = field(name="numerator")
    under: int = field(name="denominator")
    n: int = field(name="people")
    looked_at: int
    significant: int
    explained: int
    listed: tuple[Subgroup, ...]
    widest: Subgroup | None
    unfairest: Subgroup | None
    too_small: Annotated[int, RARE] = 0

    @property
    def value(self) -> float:
        """The rate of everybody."""
        return self.over / self.under if self.under else float("nan")


@declare_subjects(never="over depth min_size top looked_at rates")
class Subgroups(Frozen):
    """A search as reports show it: its settings, the number of tested subgroups, and its rates."""

    over: Grouping
    depth: int
    min_size: int
    top: int
    looked_at: int = field(name="family")
    rates: tuple[SearchedRate, ...]


class Discovery(Frozen, eq=False):
    """A search: the part that reports show, and all subgroups of each rate for the checks."""

    reported: Subgroups
    tested: tuple[TestedSubgroups, ...]

    def of(self, rate: str) -> TestedSubgroups:
        """The subgroups of one rate."""
        return next(tested for tested in self.tested if tested.entries.rate.id == rate)


def search_subgroups(cubes: Sequence[Cube], search: SubgroupSearch) -> Discovery:
    """The results of a search. Each combination needs a cube that has all of its columns."""
    rates, inference = count_subgroups(cubes, search), search.inference
    tests: list[tuple[Floats, Marks]] = []
    for counted in rates:
        # Subgroups with equal counts are tested once. Fisher's test is slow, and thousands of small
        # subgroups have the same counts.
        integers = np.stack([counted.over, counted.under], axis=1)
        _, first, place = np.unique(integers, axis=0, return_index=True, return_inverse=True)
        p, is_exact = compare_shares(*_sample_with_others(counted, first), inference)
        tests.append((p[place.reshape(-1)], is_exact[place.reshape(-1)]))
    ends = np.cumsum([len(p) for p, _ in tests])[:-1]
    # All subgroups of all rates are one family of tests, even if they are not listed.
    adjusted = inference.correction.adjust(np.concatenate([p for p, _ in tests]))
    all_tested, searched = [], []
    for counted, (p, is_exact), levels in zip(rates, tests, np.split(adjusted, ends), strict=True):
        tested = TestedSubgroups(counted, inference, p, is_exact, levels)
        everybody, entries = counted.everybody, np.arange(len(p))
        significant = entries[levels < inference.alpha]
        explained = tested.find_explained(significant)
        ranked = tested.rank(significant[~explained])
        # Among subgroups that diverge equally, the larger one comes first. The unfairness is
        # compared in whole numbers: |over·U − O·under| for everybody's rate O/U is proportional.
        widest = np.lexsort((-counted.under, -np.abs(tested.divergence)))
        kind = np.int64 if everybody.under * everybody.under < _SAFE else object
        over, under = (counts.astype(kind) for counts in (counted.over, counted.under))
        unfair = np.abs(over * everybody.under - under * everybody.over)
        of_rate = SearchedRate(
            rate=counted.rate.id,
            of=search.of,
            over=everybody.over,
            under=everybody.under,
            n=everybody.n,
            looked_at=len(entries),
            significant=len(significant),
            explained=int(explained.sum()),
            listed=tuple(map(tested.describe, ranked[: search.top].tolist())),
            widest=tested.describe(int(widest[0])) if len(entries) else None,
            unfairest=tested.describe(int(np.argmax(unfair))) if len(entries) else None,
            too_small=counted.too_small,
        )
        all_tested.append(tested)
        searched.append(of_rate)
    scope = search.over, search.depth, search.min_size, search.top
    reported = Subgroups(*scope, len(adjusted), tuple(searched))
    return Discovery(reported, tuple(all_tested))


class TestedSubgroups(Frozen, eq=False, dict=True):
    """All subgroups [S] of one rate; `adjusted` is `p` corrected for the whole search."""

    entries: CountedSubgroups
    inference: Inference
    p: Floats
    is_exact: Marks
    adjusted: Floats

    @cached_property
    def divergence(self) -> Floats:
        """The rate of each subgroup minus the rate of everybody."""
        return np.asarray(self.entries.over / self.entries.under - self.entries.everybody.rate)

    def exact_divergence(self, entry: int) -> Fraction:
        """The divergence of an entry as a fraction."""
        everybody = self.entries.everybody
        own = Fraction(int(self.entries.over[entry]), int(self.entries.under[entry]))
        return own - Fraction(everybody.over, everybody.under)

    def find_intervals(self, entries: Ints) -> tuple[Floats, Floats]:
        """Intervals of divergences: Newcombe's against all others, times the share of others."""
        sample, others = _sample_with_others(self.entries, entries)
        low, high = gap_interval(*sample[:2], *others[:2], self.inference.alpha)
        rest, value = others.size / (sample.size + others.size), self.divergence[entries]
        # Because of rounding, the value could be outside its interval.
        return np.minimum(rest * low, value), np.maximum(rest * high, value)

    def rank(self, entries: Ints) -> Ints:
        """The entries in descending order of the distance of their interval from 0."""
        low, high = self.find_intervals(entries)
        nearest = np.where(self.divergence[entries] >= 0, low, -high)
        return entries[np.lexsort((entries, -self.entries.under[entries], -nearest))]

    def find_explained(self, entries: Ints) -> Marks:
        """Marks the significant entries that a larger group explains.

        The larger group contains the entry and diverges significantly in the same direction. Either
        the group diverges at least as much as the entry, or the entry does not differ significantly
        from the rest of the group. All tests against a rest are one family.
        """
        explained = np.zeros(len(entries), dtype=np.bool_)
        pairs = [*_find_parents(self.entries, entries)]
        if not pairs:
            return explained
        place, parent = np.concatenate(pairs, axis=1)
        alpha, divergence = self.inference.alpha, self.divergence
        same_way = divergence[entries[place]] * divergence[parent] > 0
        kept = same_way & (self.adjusted[parent] < alpha)
        place, parent = place[kept], parent[kept]
        as_much = np.abs(divergence[entries[place]]) <= np.abs(divergence[parent])
        explained[place[as_much]] = True
        place, parent = place[~as_much], parent[~as_much]
        over, under = self.entries.over, self.entries.under
        child = entries[place]
        rest = Sample.of_counts(over[parent] - over[child], under[parent] - under[child])
        p, _ = compare_shares(Sample.of_counts(over[child], under[child]), rest, self.inference)
        # The p-value is NaN if both groups have the same people.
        explained[place[~(self.inference.correction.adjust(p) < alpha)]] = True
        return explained

    def describe(self, entry: int) -> Subgroup:
        """The record of an entry for reports."""
        entries, everybody = self.entries, self.entries.everybody
        low, high = self.find_intervals(np.array([entry]))
        over, under = int(entries.over[entry]), int(entries.under[entry])
        unfairness = abs(over * everybody.under - under * everybody.over)
        # The larger groups with one condition less; groups of all people are not entries.
        names = entries.combination(entry)
        fewer = [*combinations(names, len(names) - 1)]
        larger = _find_parents(entries, np.array([entry]), fewer)
        parents = [parent for _, found in larger for parent in found.tolist()]
        return Subgroup(
            group=entries.group(entry),
            over=over,
            under=under,
            everybody=everybody.rate,
            share=under / everybody.under,
            divergence=float(self.divergence[entry]),
            exact=self.exact_divergence(entry),
            low=float(low[0]),
            high=float(high[0]),
            p=float(self.p[entry]),
            adjusted=float(self.adjusted[entry]),
            test=name_share_test(exact=bool(self.is_exact[entry]), inference=self.inference),
            unfairness=unfairness / (everybody.n * everybody.under),
            significant=bool(self.adjusted[entry] < self.inference.alpha),
            parts=tuple(
                ParentGroup(
                    entries.group(parent),
                    int(entries.over[parent]),
                    int(entries.under[parent]),
                    float(self.divergence[parent]),
                )
                for parent in parents
            ),
        )


def _sample_with_others(entries: CountedSubgroups, chosen: Ints) -> tuple[Sample, Sample]:
    """The samples of the `chosen` subgroups, and of all other people for each of them."""
    everybody, over, under = entries.everybody, entries.over[chosen], entries.under[chosen]
    others = Sample.of_counts(everybody.over - over, everybody.under - under)
    return Sample.of_counts(over, under), others


def _find_parents(
    entries: CountedSubgroups, children: Ints, only: Sequence[Grouping] | None = None
) -> Iterator[tuple[Ints, Ints]]:
    """Yields indices in `children` and the entries of larger groups that contain these children."""
    for names, place in entries.slices.items():
        places = np.flatnonzero((children >= place.start) & (children < place.stop))
        if not len(places) or len(names) == 1:
            continue
        codes = dict(zip(names, entries.codes(names, entries.keys[children[places]]), strict=True))
        smaller = (fewer for size in range(1, len(names)) for fewer in combinations(names, size))
        for fewer in smaller if only is None else only:
            sizes = tuple(len(entries.levels[name]) for name in fewer)
            keys = np.ravel_multi_index(tuple(codes[name] for name in fewer), sizes)
            parents = entries.find(fewer, np.asarray(keys))
            known = parents >= 0
            yield places[known], parents[known]

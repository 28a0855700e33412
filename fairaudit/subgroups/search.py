"""The search itself: every subgroup tested, those that a larger group explains left out.

Divergence: a subgroup's rate less everybody's. Redundant subgroups are left out as in Pastor, de
Alfaro & Baralis (2021), Looking for Trouble: Analyzing Classifier Behavior via Pattern Divergence,
SIGMOD, but by a test in place of a floor. Unfairness: Kearns, Neel, Roth & Wu (2018), Preventing
Fairness Gerrymandering, ICML, Definitions 2.1 and 2.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations

import numpy as np

from fairaudit.arrays import Floats
from fairaudit.cube import Cube, Grouping, Ints, Marks
from fairaudit.evidence import Sample, compare_shares, name_share_test
from fairaudit.metrics.terms import Inference
from fairaudit.stats import proportions
from fairaudit.subgroups.asked import SubgroupSearch
from fairaudit.subgroups.counting import CountedSubgroups, count_subgroups
from fairaudit.subgroups.records import ParentGroup, SearchedRate, Subgroup, Subgroups

_SAFE = 2**62


@dataclass(frozen=True, slots=True, eq=False)
class Discovery:
    """A whole search: what is told of it, and every subgroup of each rate for a limit."""

    told: Subgroups
    tested: tuple[TestedSubgroups, ...]

    def of(self, rate: str) -> TestedSubgroups:
        """The subgroups of one rate."""
        return next(one for one in self.tested if one.entries.rate.id == rate)


def search_subgroups(cubes: Sequence[Cube], asked: SubgroupSearch) -> Discovery:
    """The subgroups of cubes that have each combination of columns in one of them."""
    found = count_subgroups(cubes, asked)
    ps = [_p_values(one, asked.inference) for one in found]
    ends = np.cumsum([len(p) for p, _ in ps])[:-1]
    # One family: every subgroup of every rate, listed or not.
    family = asked.inference.correction.adjust(np.concatenate([p for p, _ in ps]))
    adjusted = np.split(family, ends)
    tested = tuple(
        TestedSubgroups(one, asked.inference, p, exact, mine)
        for one, (p, exact), mine in zip(found, ps, adjusted, strict=True)
    )
    told = Subgroups(
        asked.over,
        asked.depth,
        asked.min_size,
        asked.top,
        sum(len(p) for p, _ in ps),
        tuple(_searched(one, asked) for one in tested),
    )
    return Discovery(told, tested)


def _searched(tested: TestedSubgroups, asked: SubgroupSearch) -> SearchedRate:
    whole, entries = tested.entries.everybody, np.arange(len(tested.p))
    significant = entries[tested.adjusted < asked.inference.alpha]
    explained = tested.explained(significant)
    ranked = tested.ranked(significant[~explained])
    return SearchedRate(
        rate=tested.entries.rate.id,
        of=asked.of,
        over=whole.over,
        under=whole.under,
        n=whole.n,
        looked_at=len(entries),
        significant=len(significant),
        explained=int(explained.sum()),
        listed=tuple(map(tested.subgroup, ranked[: asked.top].tolist())),
        widest=tested.subgroup(tested.widest()) if len(entries) else None,
        unfairest=tested.subgroup(tested.unfairest()) if len(entries) else None,
    )


@dataclass(frozen=True, eq=False)
class TestedSubgroups:
    """Every subgroup of one rate with its p-value, alone and among all; arrays are [S]."""

    entries: CountedSubgroups
    inference: Inference
    p: Floats
    exactly: Marks
    adjusted: Floats

    @cached_property
    def divergence(self) -> Floats:
        """Each subgroup's rate less everybody's."""
        return np.asarray(self.entries.over / self.entries.under - self.entries.everybody.rate)

    def exact(self, at: int) -> Fraction:
        """The divergence of an entry as a fraction."""
        whole = self.entries.everybody
        mine = Fraction(int(self.entries.over[at]), int(self.entries.under[at]))
        return mine - Fraction(whole.over, whole.under)

    def intervals(self, which: Ints) -> tuple[Floats, Floats]:
        """The intervals of divergences: Newcombe's against all others, mapped to everybody."""
        (p, n, *_), (q, m, *_) = _sides(self.entries, which)
        low, high = proportions.newcombe(p, n, q, m, self.inference.alpha)
        rest, value = m / (n + m), self.divergence[which]
        # The last digit of a product could leave the value outside.
        return np.minimum(rest * low, value), np.maximum(rest * high, value)

    def ranked(self, which: Ints) -> Ints:
        """Entries by the end of their interval that is nearest to none, the farthest first."""
        low, high = self.intervals(which)
        nearest = np.where(self.divergence[which] >= 0, low, -high)
        return which[np.lexsort((which, -self.entries.under[which], -nearest))]

    def widest(self) -> int:
        """The entry that diverges most; ties: the larger one."""
        order = np.lexsort((-self.entries.under, -np.abs(self.divergence)))
        return int(order[0])

    def unfairest(self) -> int:
        """The entry of the largest unfairness, by integers."""
        return int(np.argmax(self._unfairness()))

    def _unfairness(self) -> Ints:
        """|over·U − O·under|: the unfairness but for a factor that all have in common."""
        whole = self.entries.everybody
        kind = np.int64 if whole.under * whole.under < _SAFE else object
        over, under = (one.astype(kind) for one in (self.entries.over, self.entries.under))
        return np.asarray(np.abs(over * whole.under - under * whole.over))

    def explained(self, which: Ints) -> Marks:
        """Which of some significant entries a group that contains them explains.

        That group diverges significantly itself and the same way, and either by as much or more,
        or the entry does not differ significantly from the rest of it (one family of such pairs).
        """
        found = np.zeros(len(which), dtype=np.bool_)
        pairs = [*_parents(self.entries, which)]
        if not pairs:
            return found
        child, parent = np.concatenate(pairs, axis=1)
        mine, theirs = which[child], parent
        alpha, size = self.inference.alpha, np.abs(self.divergence)
        same = self.divergence[mine] * self.divergence[theirs] > 0
        apt = same & (self.adjusted[theirs] < alpha)
        child, mine, theirs = child[apt], mine[apt], theirs[apt]
        as_much = size[mine] <= size[theirs]
        found[child[as_much]] = True
        child, mine, theirs = child[~as_much], mine[~as_much], theirs[~as_much]
        p, _ = _against_rest(self.entries, mine, theirs, self.inference)
        # NaN: nobody else is in it, so it is the same people.
        found[child[~(self.inference.correction.adjust(p) < alpha)]] = True
        return found

    def subgroup(self, at: int) -> Subgroup:
        """An entry in full."""
        entries, whole = self.entries, self.entries.everybody
        low, high = self.intervals(np.array([at]))
        over, under = int(entries.over[at]), int(entries.under[at])
        scale = whole.n * whole.under
        return Subgroup(
            group=entries.group(at),
            over=over,
            under=under,
            everybody=whole.rate,
            share=under / whole.under,
            divergence=float(self.divergence[at]),
            exact=self.exact(at),
            low=float(low[0]),
            high=float(high[0]),
            p=float(self.p[at]),
            adjusted=float(self.adjusted[at]),
            test=name_share_test(exact=bool(self.exactly[at]), inference=self.inference),
            unfairness=abs(over * whole.under - under * whole.over) / scale,
            significant=bool(self.adjusted[at] < self.inference.alpha),
            parts=tuple(self._parts(at)),
        )

    def _parts(self, at: int) -> Iterator[ParentGroup]:
        """The groups of one condition less, where they are less than everybody."""
        names = self.entries.combination(at)
        fewer = [*combinations(names, len(names) - 1)]
        for _, found in _parents(self.entries, np.array([at]), fewer):
            for one in found.tolist():
                over, under = int(self.entries.over[one]), int(self.entries.under[one])
                yield ParentGroup(self.entries.group(one), over, under, float(self.divergence[one]))


def _p_values(entries: CountedSubgroups, inference: Inference) -> tuple[Floats, Marks]:
    """The test of every subgroup against all others; equal integers are tested once.

    Where Fisher's test counts tables, thousands of subgroups have the same few.
    """
    if not len(entries.keys):
        return np.zeros(0), np.zeros(0, dtype=np.bool_)
    integers = np.stack([entries.over, entries.under], axis=1)
    _, first, place = np.unique(integers, axis=0, return_index=True, return_inverse=True)
    p, exactly = compare_shares(*_sides(entries, first), inference)
    place = place.reshape(-1)
    return p[place], exactly[place]


def _sides(entries: CountedSubgroups, which: Ints) -> tuple[Sample, Sample]:
    """Some subgroups, and for each all others."""
    whole = entries.everybody
    over, under = entries.over[which], entries.under[which]
    return _sample(over, under), _sample(whole.over - over, whole.under - under)


def _against_rest(
    entries: CountedSubgroups, mine: Ints, theirs: Ints, inference: Inference
) -> tuple[Floats, Marks]:
    """The tests of subgroups against the rest of groups that contain them."""
    over, under = entries.over, entries.under
    rest = _sample(over[theirs] - over[mine], under[theirs] - under[mine])
    return compare_shares(_sample(over[mine], under[mine]), rest, inference)


def _sample(over: Ints, under: Ints) -> Sample:
    with np.errstate(divide="ignore", invalid="ignore"):
        return Sample(over / under, under.astype(np.float64), over, under)


def _parents(
    entries: CountedSubgroups, which: Ints, only: Sequence[Grouping] | None = None
) -> Iterator[tuple[Ints, Ints]]:
    """Places in `which` of subgroups, and entries of groups that contain them, pair by pair."""
    for names, where in entries.slices.items():
        places = np.flatnonzero((which >= where.start) & (which < where.stop))
        if not len(places) or len(names) == 1:
            continue
        codes = dict(zip(names, entries.codes(names, entries.keys[which[places]]), strict=True))
        smaller = (some for size in range(1, len(names)) for some in combinations(names, size))
        for some in smaller if only is None else only:
            sizes = tuple(len(entries.levels[name]) for name in some)
            keys = np.ravel_multi_index(tuple(codes[name] for name in some), sizes)
            parents = entries.find(some, np.asarray(keys))
            known = parents >= 0
            yield places[known], parents[known]

"""Which counts must stay hidden so that none below the threshold can be worked out.

A report is taken to print integers, each the number of people in a set of the finest cells. What
an attacker knows is then a system of equations over whole numbers, and in which cells there is
anybody: where zeros are printed, what is hidden is at least 1. A small cell is protected where some
other table with the same printed counts, and somebody in the same cells, has at least the threshold
in it; such a table is looked for by linear programming and kept as the proof. All tables here are
of the people beyond the first of each cell, so that none is below 0. Where there is no such table,
the dual solution names the printed counts that give the cell away, and the smallest of them is
hidden as well (Fischetti & Salazar 2001; Hundepool et al. 2012 §4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from fairaudit.arrays import Floats, Ints, Marks

MOST_ENTRIES = 100_000
"""So many entries the equations of a report may have; beyond, its widest tables are hidden."""

MOST_WORK = 4_000_000
"""So many entries may be read over all linear programs before its widest tables are hidden."""

MOST_TO_RESTORE = 1_500
"""For larger systems nothing is looked for that could be shown again."""

_NEAR = 1e-7
_TOLD = 1e-6
_AT_ONCE = 40
"""Of so many cells that are open together, one count is hidden before they are looked at singly."""

_NODES = 2_000

Matrix: TypeAlias = Any
"""A sparse matrix of scipy, which ships no types."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that a report prints: the counts it is made of, and how many columns it crosses."""

    counts: frozenset[int]
    width: int


@dataclass(frozen=True, slots=True)
class Protection:
    """What may be printed, item by item; `widest` is how many columns a table may cross at most.

    `widest` is None where nothing had to be hidden for the size of the problem alone.
    """

    shown: tuple[bool, ...]
    hidden: frozenset[int]
    widest: int | None = None


def protect(
    people: Ints,
    sets: Sequence[Ints],
    items: Sequence[Item],
    threshold: int,
    *,
    complementary: bool = True,
) -> Protection:
    """Which items may be printed, so that every cell of fewer than `threshold` people is protected.

    `people` [C] are the finest cells, `sets` the cells that each count adds up. Without
    `complementary` only the small counts themselves are hidden: that is for tests, it protects
    nobody.
    """
    values = [int(people[cells].sum()) for cells in sets]
    state = _State(people, sets, values, items, threshold)
    state.hidden |= {at for at, value in enumerate(values) if 0 < value < threshold}
    if complementary:
        while state.step():
            pass
        state.restore()
    return Protection(tuple(map(state.shows, items)), frozenset(state.hidden), state.widest)


@dataclass(frozen=True, slots=True, eq=False)
class _System:
    """What is printed, as equations: cells that no equation tells apart are one unknown.

    `matrix` is [counts, unknowns], `sums` its right side, the people beyond the first of each cell,
    `of_cell` the unknown of each cell.
    """

    counts: tuple[int, ...]
    matrix: Matrix
    sums: Floats
    of_cell: Ints

    @property
    def unknowns(self) -> int:
        """How many unknowns there are."""
        return int(self.matrix.shape[1])


class _State:
    """The counts hidden so far, and the small cells that are proven to be safe.

    What protects a cell once goes on protecting it: hiding more leaves more tables possible.
    """

    def __init__(
        self,
        people: Ints,
        sets: Sequence[Ints],
        values: Sequence[int],
        items: Sequence[Item],
        threshold: int,
    ) -> None:
        self.beyond = people - 1
        self.sets = sets
        self.values = values
        self.items = items
        self.enough = threshold - 1
        self.hidden: set[int] = set()
        self.widest: int | None = None
        self.safe: Marks = self.beyond >= self.enough
        self.work = 0

    def shows(self, item: Item) -> bool:
        """Whether an item is printed as things stand."""
        narrow = self.widest is None or item.width <= self.widest
        return narrow and not (item.counts & self.hidden)

    def step(self) -> bool:
        """Proves cells safe until one is not, and hides a count for it; False once all are safe."""
        printed = self._printed()
        if self.safe.all() or not printed:
            return False
        entries = sum(len(self.sets[at]) for at in printed)
        if self.work > MOST_WORK or entries > MOST_ENTRIES:
            return self._narrow()
        system = self._system(printed)
        totals = np.zeros(system.unknowns, dtype=np.int64)
        np.add.at(totals, system.of_cell, self.beyond)
        # As nothing tells the cells of one unknown apart, all its people may be in any of them.
        self._prove(system, totals)
        while not self.safe.all():
            before = int(self.safe.sum())
            guilty_together = self._prove_together(system)
            if int(self.safe.sum()) > before:
                continue
            if guilty_together:
                self.hidden |= guilty_together
                return True
            at = int(system.of_cell[np.flatnonzero(~self.safe)[0]])
            guilty = self._refute(system, at)
            if guilty is not None:
                self.hidden |= guilty
                return True
        return False

    def restore(self) -> None:
        """Shows again what the printed counts tell anyhow: hiding it protects nobody."""
        printed = self._printed()
        also = sorted({at for item in self.items for at in item.counts} - {*printed})
        if not printed or not also or len(printed) > MOST_TO_RESTORE:
            return
        system = self._system(printed)
        if system.unknowns > MOST_TO_RESTORE:
            return
        sizes = np.bincount(system.of_cell, minlength=system.unknowns)
        sets = np.zeros((system.unknowns, len(also)))
        for column, at in enumerate(also):
            np.add.at(sets[:, column], system.of_cell[self.sets[at]], 1)
        # A set that holds half of an unknown is told by nothing.
        split = ((sets > 0) & (sets < sizes[:, None])).any(axis=0)
        marks = (sets > 0).astype(np.float64)
        squares = (system.matrix @ system.matrix.T).toarray()
        factors = np.linalg.pinv(squares, rcond=_NEAR**1.5, hermitian=True) @ (
            system.matrix @ marks
        )
        rest = np.abs(marks - system.matrix.T @ factors).max(axis=0, initial=0.0)
        told = {also[at] for at in np.flatnonzero((rest < _TOLD) & ~split).tolist()}
        evident = told | {*printed}
        self.hidden -= told
        # Whoever has a count that is neither printed nor told would tell something new.
        self.hidden |= {at for item in self.items for at in item.counts - evident}

    def _printed(self) -> list[int]:
        """The counts behind all that is printed as things stand."""
        return sorted({at for item in self.items if self.shows(item) for at in item.counts})

    def _narrow(self) -> bool:
        """Hides the widest tables, every item of them."""
        self.widest = max(item.width for item in self.items if self.shows(item)) - 1
        self.work = 0
        return self.widest >= 0

    def _system(self, printed: Sequence[int]) -> _System:
        from scipy.sparse import csc_matrix

        rows = np.concatenate([np.full(len(self.sets[n]), at) for at, n in enumerate(printed)])
        columns = np.concatenate([self.sets[n] for n in printed])
        ones = np.ones(len(rows))
        whole = csc_matrix((ones, (rows, columns)), shape=(len(printed), len(self.beyond)))
        whole.sort_indices()
        numbers: dict[bytes, int] = {}
        of_cell = np.zeros(len(self.beyond), dtype=np.int64)
        first: list[int] = []
        for cell in range(len(self.beyond)):
            signature = whole.indices[whole.indptr[cell] : whole.indptr[cell + 1]].tobytes()
            if signature not in numbers:
                numbers[signature] = len(first)
                first.append(cell)
            of_cell[cell] = numbers[signature]
        # Cells that no count contains are bound by nothing.
        self.safe |= np.diff(whole.indptr) == 0
        sums = np.array([self.beyond[self.sets[n]].sum() for n in printed], dtype=np.float64)
        return _System(tuple(printed), whole[:, first], sums, of_cell)

    def _prove(self, system: _System, table: Ints) -> None:
        """Marks the cells that hold enough people in a table with the same printed counts."""
        self.safe |= table[system.of_cell] >= self.enough

    def _whole(self, system: _System, found: Floats | None) -> Ints | None:
        """A solution as whole numbers; None unless it is one, exactly."""
        if found is None:
            return None
        table = np.rint(found).astype(np.int64)
        fits = (table >= 0).all() and (system.matrix @ table == system.sums).all()
        return table if fits else None

    def _prove_together(self, system: _System) -> set[int]:
        """Looks for one table that has enough people in as many open cells as it can.

        Where many cells stay open, the counts to hide for some of them.
        """
        from scipy.sparse import csc_matrix, hstack, identity

        wanted = np.unique(system.of_cell[~self.safe])
        size = len(wanted)
        # Each wanted unknown x has a z of at most x and what is enough; their sum is raised.
        pick = identity(system.unknowns, format="csr")[wanted]
        equal = hstack([system.matrix, csc_matrix((len(system.sums), size))], format="csc")
        below = hstack([-pick, identity(size)])
        cost = np.concatenate([np.zeros(system.unknowns), -np.ones(size)])
        most = [(0, None)] * system.unknowns + [(0, self.enough)] * size
        found = self._solve(cost, equal, system.sums, most, (below, size))
        table = self._whole(system, None if found is None else found.x[: system.unknowns])
        if table is not None:
            self._prove(system, table)
        if found is None:
            return set()
        short = int((found.x[system.unknowns :] < self.enough - _NEAR).sum())
        binding = np.flatnonzero(np.abs(found.eqlin.marginals) > _NEAR).tolist()
        return self._smallest([system.counts[row] for row in binding], short // _AT_ONCE)

    def _refute(self, system: _System, at: int) -> set[int] | None:
        """The counts to hide for an unknown; None where a table proves it safe after all."""
        cost = np.zeros(system.unknowns)
        cost[at] = -1
        most: list[tuple[int, int | None]] = [(0, None)] * system.unknowns
        found = self._solve(cost, system.matrix, system.sums, most)
        bound = np.inf if found is None else -float(found.fun)
        if bound >= self.enough - _NEAR:
            table = self._whole(system, None if found is None else found.x)
            if table is None or table[at] < self.enough:
                table = self._whole(system, self._at_least(system, at))
            if table is not None:
                self._prove(system, table)
                return None
        touching: set[int] = set(system.matrix[:, [at]].nonzero()[0].tolist())
        if bound < self.enough - _NEAR and found is not None:
            binding = np.flatnonzero(np.abs(found.eqlin.marginals) > _NEAR).tolist()
            touching = set(binding) or touching
        return self._smallest([system.counts[row] for row in touching], 1)

    def _smallest(self, guilty: Sequence[int], most: int) -> set[int]:
        """The smallest of some counts, which tell least, with all that are as small as the last.

        Who knows the method would learn from which of them is hidden, were it by their order.
        """
        ends = sorted(self.values[count] for count in guilty)[:most][-1:]
        return {count for count in guilty if ends and self.values[count] <= ends[0]}

    def _at_least(self, system: _System, at: int) -> Floats | None:
        """A table of whole numbers with enough people in one unknown."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        self.work += int(system.matrix.nnz)
        low = np.zeros(system.unknowns)
        low[at] = self.enough
        found = milp(
            np.zeros(system.unknowns),
            constraints=LinearConstraint(system.matrix, system.sums, system.sums),
            integrality=np.ones(system.unknowns),
            bounds=Bounds(low, np.inf),
            options={"node_limit": _NODES},
        )
        return None if found.x is None else np.asarray(found.x)

    def _solve(
        self,
        cost: Floats,
        matrix: Matrix,
        sums: Floats,
        bounds: Sequence[tuple[int, int | None]],
        below: tuple[Matrix, int] | None = None,
    ) -> Any:  # noqa: ANN401  # scipy ships no types
        """The solution of a linear program; None where the solver finds none."""
        from scipy.optimize import linprog

        self.work += int(matrix.nnz)
        most = {} if below is None else {"A_ub": below[0], "b_ub": np.zeros(below[1])}
        found = linprog(cost, A_eq=matrix, b_eq=sums, bounds=bounds, method="highs", **most)
        return found if found.status == 0 else None

"""Suppression: the choice of counts to hide, with a proof by linear programs.

A report prints whole numbers. Each is the number of people in a set of cells, which are the finest
combinations of levels. So an attacker knows a system of equations. The attacker also knows the
empty cells, because zeros are printed, so a hidden cell has at least 1 person. A small cell is
protected if another table has the same printed counts and the same empty cells, but at least
`threshold` people in this cell. Linear programming finds such a table, and the table is the proof.
All tables here count the people after the first person of each cell, so no entry is below 0. If
there is no such table, the dual solution names the printed counts that determine the cell, and the
smallest of them is hidden as well (Fischetti & Salazar 2001; Hundepool et al. 2012 §4).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np

from fairaudit.base.arrays import Floats, Ints, Marks, is_small
from fairaudit.base.frozen import Frozen

MOST_ENTRIES = 100_000
"""If the equations of a report have more entries than this, its widest tables are hidden."""

MOST_WORK = 4_000_000
"""If all linear programs together read more entries than this, the widest tables are hidden."""

MOST_TO_RESTORE = 1_500
"""In systems with more equations or unknowns than this, no hidden count is shown again."""

_NEAR = 1e-7
_DETERMINED = 1e-6
_AT_ONCE = 40
"""One count is hidden at once for every 40 open cells, before single cells are examined."""

_NODES = 2_000

Pieces: TypeAlias = frozenset[tuple[int, int]]
"""Counts by pieces of scores: the number of the `ScorePieces`, and the number of the set in it."""

Matrix: TypeAlias = Any
"""A sparse matrix of scipy, which ships no types."""


class PrintedItem(Frozen):
    """An item that a report prints: the counts it depends on, and the columns of its table."""

    counts: frozenset[int]
    width: int
    pieces: Pieces = frozenset()


class Protection(Frozen):
    """Whether each item may be printed (`shown`).

    If the problem is too large, tables by more than `widest` columns are hidden. `widest` is None
    if no table is hidden for this reason.
    """

    shown: tuple[bool, ...]
    widest: int | None = None


def protect(
    people: Ints,
    sets: Sequence[Ints],
    items: Sequence[PrintedItem],
    threshold: int,
    known: frozenset[int] | None = None,
    bounds: Iterable[tuple[Ints, int]] = (),
) -> Protection:
    """The items that may be printed if each cell of fewer than `threshold` people is protected.

    `people` [C] is the number of people in each of the finest cells. `sets` are the cells that each
    count adds up. `known` are counts that are printed in any case; if they are given, cells may be
    empty. `bounds` are sets of cells, each with the maximum number of people that readers know.
    """
    values = [int(people[cells].sum()) for cells in sets]
    protector = _Protector(people, sets, values, items, threshold, known, [*bounds])
    protector.hidden |= {
        number for number, value in enumerate(values) if is_small(value, threshold)
    } - protector.known
    while protector.hide_more():
        pass
    if known is None:
        protector.show_determined()
    return Protection(tuple(map(protector.shows, items)), protector.widest)


class _System(Frozen, eq=False):
    """The printed counts as equations; cells that no equation distinguishes are one unknown.

    The equations are `matrix` [counts, unknowns] × people = `sums` [counts]; the first person of a
    cell is not counted. The bounds are `bounded` [bounds, unknowns] × people ≤ `most` [bounds].
    `of_cell` [C] is the unknown of each cell.
    """

    counts: tuple[int, ...]
    matrix: Matrix
    sums: Floats
    of_cell: Ints
    bounded: Matrix
    most: Floats

    @property
    def unknowns(self) -> int:
        return int(self.matrix.shape[1])


class _Protector:
    """The hidden counts, and the cells that are proven to be safe.

    `rows` are the sets of cells as a matrix, [counts, cells]. A safe cell stays safe, because
    hiding more counts allows more tables.
    """

    def __init__(
        self,
        people: Ints,
        sets: Sequence[Ints],
        values: Sequence[int],
        items: Sequence[PrintedItem],
        threshold: int,
        known: frozenset[int] | None,
        bounds: Sequence[tuple[Ints, int]],
    ) -> None:
        least = 1 if known is None else 0
        self.beyond = people - least
        self.sets = sets
        self.rows = _matrix(sets, len(people))
        self.values = values
        self.items = items
        self.bounds = _matrix([cells for cells, _ in bounds], len(people))
        self.most = np.array([most - least * len(cells) for cells, most in bounds], np.float64)
        self.enough = threshold - least
        self.known = known or frozenset()
        self.hidden: set[int] = set()
        self.widest: int | None = None
        self.safe: Marks = self.beyond >= self.enough
        self.work = 0

    def shows(self, item: PrintedItem) -> bool:
        """Whether an item is printed with the counts that are hidden now."""
        narrow = self.widest is None or item.width <= self.widest
        return narrow and not (item.counts & self.hidden)

    def hide_more(self) -> bool:
        """Proves that cells are safe, or hides counts; returns False if nothing is left to hide."""
        printed = self._printed()
        if self.safe.all() or not any(map(self.shows, self.items)):
            return False
        entries = sum(len(self.sets[number]) for number in printed)
        if self.work > MOST_WORK or entries > MOST_ENTRIES:
            # Hide all items of the widest tables.
            self.widest = max(item.width for item in self.items if self.shows(item)) - 1
            self.work = 0
            return self.widest >= 0
        system = self._build_system(printed)
        totals = np.zeros(system.unknowns, dtype=np.int64)
        np.add.at(totals, system.of_cell, self.beyond)
        # No equation distinguishes the cells of an unknown, so any of them may have all people.
        self._prove(system, totals)
        while not self.safe.all():
            before = int(self.safe.sum())
            revealing = self._prove_together(system)
            if int(self.safe.sum()) > before:
                continue
            if revealing:
                self.hidden |= revealing
                return True
            unknown = int(system.of_cell[np.flatnonzero(~self.safe)[0]])
            counts = self._refute(system, unknown)
            if counts:
                self.hidden |= counts
                return True
            if counts is not None:  # only counts that are printed in any case reveal the cell
                self.safe |= system.of_cell == unknown
        return False

    def show_determined(self) -> None:
        """Shows hidden counts that printed counts determine, because hiding them has no effect."""
        printed = self._printed()
        also = sorted({count for item in self.items for count in item.counts} - {*printed})
        if not printed or not also or len(printed) > MOST_TO_RESTORE:
            return
        system = self._build_system(printed)
        if system.unknowns > MOST_TO_RESTORE:
            return
        sizes = np.bincount(system.of_cell, minlength=system.unknowns)
        sets = np.zeros((system.unknowns, len(also)))
        for column, count in enumerate(also):
            np.add.at(sets[:, column], system.of_cell[self.sets[count]], 1)
        # No equation determines a set that contains only some cells of an unknown.
        split = ((sets > 0) & (sets < sizes[:, None])).any(axis=0)
        marks = (sets > 0).astype(np.float64)
        squares = (system.matrix @ system.matrix.T).toarray()
        factors = np.linalg.pinv(squares, rcond=_NEAR**1.5, hermitian=True) @ (
            system.matrix @ marks
        )
        rest = np.abs(marks - system.matrix.T @ factors).max(axis=0, initial=0.0)
        determined = {
            also[place] for place in np.flatnonzero((rest < _DETERMINED) & ~split).tolist()
        }
        known = determined | {*printed}
        self.hidden -= determined
        # Hide all other counts, because they could reveal something new.
        self.hidden |= {count for item in self.items for count in item.counts - known}

    def _printed(self) -> list[int]:
        """The counts of all printed items, and the counts that are known anyway."""
        shown = {count for item in self.items if self.shows(item) for count in item.counts}
        return sorted(shown | self.known)

    def _build_system(self, printed: Sequence[int]) -> _System:
        from scipy.sparse import vstack

        of_printed = self.rows[printed]
        whole = vstack([of_printed, self.bounds], format="csc")
        numbers: dict[bytes, int] = {}
        of_cell = np.zeros(len(self.beyond), dtype=np.int64)
        first: list[int] = []
        for cell in range(len(self.beyond)):
            signature = whole.indices[whole.indptr[cell] : whole.indptr[cell + 1]].tobytes()
            if signature not in numbers:
                numbers[signature] = len(first)
                first.append(cell)
            of_cell[cell] = numbers[signature]
        # Cells that no count contains may have any number of people.
        self.safe |= np.diff(whole.indptr) == 0
        rows, sums = whole[:, first].tocsr(), of_printed @ self.beyond
        size = len(printed)
        return _System(tuple(printed), rows[:size], sums, of_cell, rows[size:], self.most)

    def _prove(self, system: _System, table: Ints) -> None:
        """Marks cells as safe if they have enough people in a `table` with equal printed counts."""
        self.safe |= table[system.of_cell] >= self.enough

    def _as_whole_numbers(self, system: _System, solution: Floats) -> Ints | None:
        """A solution rounded to whole numbers; None if it does not solve the system exactly."""
        table = np.rint(solution).astype(np.int64)
        fits = (table >= 0).all() and (system.matrix @ table == system.sums).all()
        fits = fits and (system.bounded @ table <= system.most).all()
        return table if fits else None

    def _prove_together(self, system: _System) -> set[int]:
        """Searches for a table in which as many open cells as possible have enough people.

        If many cells stay open, returns counts to hide for some of these cells; otherwise no count.
        """
        from scipy.sparse import csc_matrix, hstack, identity, vstack

        open_unknowns = np.unique(system.of_cell[~self.safe])
        size = len(open_unknowns)
        # Each open unknown x has a variable z of at most x and at most `enough`. The program
        # maximises the sum of all z.
        pick = identity(system.unknowns, format="csr")[open_unknowns]
        equal = hstack([system.matrix, csc_matrix((len(system.sums), size))], format="csc")
        empty = csc_matrix((len(system.most), size))
        below = vstack([hstack([-pick, identity(size)]), hstack([system.bounded, empty])])
        least = np.concatenate([np.zeros(size), system.most])
        cost = np.concatenate([np.zeros(system.unknowns), -np.ones(size)])
        most = [(0, None)] * system.unknowns + [(0, self.enough)] * size
        solution = self._solve(cost, equal, system.sums, most, (below, least))
        if solution is None:
            return set()
        short = int((solution.x[system.unknowns :] < self.enough - _NEAR).sum())
        table = self._as_whole_numbers(system, solution.x[: system.unknowns])
        if table is None and not short:
            # With fractions, all cells are large enough. Often whole numbers exist as well.
            table = self._find_whole_table(system, open_unknowns)
        if table is not None:
            self._prove(system, table)
        binding = np.flatnonzero(np.abs(solution.eqlin.marginals) > _NEAR).tolist()
        return self._choose_smallest([system.counts[row] for row in binding], short // _AT_ONCE)

    def _refute(self, system: _System, unknown: int) -> set[int] | None:
        """The counts to hide for an unknown; None if a table proves that the unknown is safe."""
        cost = np.zeros(system.unknowns)
        cost[unknown] = -1
        most: list[tuple[int, int | None]] = [(0, None)] * system.unknowns
        below = (system.bounded, system.most) if len(system.most) else None
        solution = self._solve(cost, system.matrix, system.sums, most, below)
        bound = np.inf if solution is None else -float(solution.fun)
        if bound >= self.enough - _NEAR:
            table = None if solution is None else self._as_whole_numbers(system, solution.x)
            if table is None or table[unknown] < self.enough:
                table = self._find_whole_table(system, unknown)
            if table is not None:
                self._prove(system, table)
                return None
        touching: set[int] = set(system.matrix[:, [unknown]].nonzero()[0].tolist())
        if bound < self.enough - _NEAR and solution is not None:
            binding = np.flatnonzero(np.abs(solution.eqlin.marginals) > _NEAR).tolist()
            touching = set(binding) or touching
        return self._choose_smallest([system.counts[row] for row in touching], 1)

    def _choose_smallest(self, counts: Sequence[int], most: int) -> set[int]:
        """The `most` smallest counts, which reveal least, and all counts equal to the largest one.

        If the order decided between equal counts, readers who know the method could use the order.
        """
        counts = [count for count in counts if count not in self.known]
        ends = sorted(self.values[count] for count in counts)[:most][-1:]
        return {count for count in counts if ends and self.values[count] <= ends[0]}

    def _find_whole_table(self, system: _System, unknowns: int | Ints) -> Ints | None:
        """A table of whole numbers with enough people in these unknowns; None if none is found."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        self.work += int(system.matrix.nnz)
        low = np.zeros(system.unknowns)
        low[unknowns] = self.enough
        limits = [LinearConstraint(system.matrix, system.sums, system.sums)]
        if len(system.most):
            limits.append(LinearConstraint(system.bounded, ub=system.most))
        with _mute_stdout():
            solution = milp(
                np.zeros(system.unknowns),
                constraints=limits,
                integrality=np.ones(system.unknowns),
                bounds=Bounds(low, np.inf),
                options={"node_limit": _NODES},
            )
        return None if solution.x is None else self._as_whole_numbers(system, solution.x)

    def _solve(
        self,
        cost: Floats,
        matrix: Matrix,
        sums: Floats,
        bounds: Sequence[tuple[int, int | None]],
        below: tuple[Matrix, Floats] | None = None,
    ) -> Any:  # noqa: ANN401  # scipy ships no types
        """The solution of a linear program; None if the solver does not find one."""
        from scipy.optimize import linprog

        self.work += int(matrix.nnz)
        most = {} if below is None else {"A_ub": below[0], "b_ub": below[1]}
        with _mute_stdout():
            solution = linprog(cost, A_eq=matrix, b_eq=sums, bounds=bounds, method="highs", **most)
        return solution if solution.status == 0 else None


def _matrix(sets: Sequence[Ints], size: int) -> Matrix:
    """A matrix [sets, size] with a 1 for each cell of a set."""
    from scipy.sparse import csr_matrix

    ends = np.cumsum([0, *map(len, sets)])
    cells = np.concatenate([*sets, np.zeros(0, np.int64)]).astype(np.int64)
    return csr_matrix((np.ones(len(cells)), cells, ends), (len(sets), size))


@contextmanager
def _mute_stdout() -> Iterator[None]:
    """Discards the output of the solver HiGHS, which would be mixed with a report on stdout."""
    try:
        stdout = os.dup(1)
    except OSError:  # stdout is already closed
        yield
        return
    sink = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(sink, 1)
        yield
    finally:
        os.dup2(stdout, 1)
        os.close(stdout)
        os.close(sink)

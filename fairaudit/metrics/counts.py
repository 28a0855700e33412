"""The cells every rate is made of: tp fp fn tn and the margins, per stratum and group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np

from fairaudit.cube import GroupTable, Ints, Marks
from fairaudit.once import once

Cell: TypeAlias = Any
"""One integer, or an array of integers (of squared weights: floats) with the axes [..., Z, G]."""


@dataclass(frozen=True, slots=True)
class Counts:
    """The cells of one group, or of all groups in all strata.

    The margins exist on their own: a row whose label is not known is `selected` or `rejected` all
    the same, so `selected` may exceed `tp + fp`. `all_selected` is the sum over all groups.
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

    @classmethod
    def of_cells(cls, *, tp: int, fp: int, fn: int, tn: int) -> Counts:
        """Whole numbers for one group, every row with a known label and prediction."""
        return cls(tp, fp, fn, tn, tp + fp, fn + tn, tp + fn, fp + tn, all_selected=tp + fp)

    @classmethod
    def of_joint(cls, table: GroupTable, joint: Cell) -> Counts:
        """The cells of a table's array [Z, Y, P, G]; zeros where the spec names no positive."""
        known_p = np.arange(joint.shape[2]) < len(table.classes)
        known_y = np.arange(joint.shape[1]) < len(table.labels)
        plus = _or_none(table.positive, known_p)
        label = _or_none(table.positive_label, known_y)
        anybody = np.ones_like(known_y)
        anything = np.ones_like(known_p)

        def cell(y: Marks, p: Marks) -> Cell:
            return joint[:, y][:, :, p].sum(axis=(1, 2))

        minus, unlabelled = known_p & ~plus, known_y & ~label
        selected = cell(anybody, plus)
        return cls(
            tp=cell(label, plus),
            fp=cell(unlabelled, plus),
            fn=cell(label, minus),
            tn=cell(unlabelled, minus),
            selected=selected,
            rejected=cell(anybody, minus),
            positives=cell(label, anything),
            negatives=cell(unlabelled, anything),
            all_selected=np.broadcast_to(selected.sum(axis=-1, keepdims=True), selected.shape),
        )

    def map(self, change: Callable[[Cell], Cell]) -> Counts:
        """Every cell changed in the same way, but for `all_selected`: it is everybody's already."""
        *cells, everybody = _cells(self)
        return Counts(*[*map(change, cells), everybody])

    def at(self, z: int, g: int) -> Counts:
        """The cells of one stratum and group, as Python integers."""
        return Counts(*(int(cell[z, g]) for cell in _cells(self)))


_cells = attrgetter(*(one.name for one in fields(Counts)))


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Tally:
    """What one table counts: people, and the mass that rates are made of (people, or weights)."""

    people: Counts
    mass: Counts
    squares: Counts | None
    scale: int

    def overall(self) -> Tally:
        """Everybody in the stratum, the group included, beside each group."""
        return self._changed(
            lambda cell: np.broadcast_to(cell.sum(axis=-1, keepdims=True), cell.shape)
        )

    def rest(self) -> Tally:
        """Everybody else in the stratum, beside each group."""
        return self._changed(lambda cell: cell.sum(axis=-1, keepdims=True) - cell)

    def taken(self, index: Ints) -> Tally:
        """The cells of the group that `index` [Z, 1] names, beside each group."""
        return self._changed(
            lambda cell: np.broadcast_to(np.take_along_axis(cell, index, axis=1), cell.shape)
        )

    def _changed(self, change: Callable[[Cell], Cell]) -> Tally:
        people = self.people.map(change)
        return Tally(
            people,
            people if self.mass is self.people else self.mass.map(change),
            None if self.squares is None else self.squares.map(change),
            self.scale,
        )


@once
def tally_of(table: GroupTable) -> Tally:
    """The cells of a table."""
    people = Counts.of_joint(table, table.people)
    return Tally(
        people,
        people if table.mass is table.people else Counts.of_joint(table, table.mass),
        None if table.squares is None else Counts.of_joint(table, table.squares),
        table.scale,
    )


def _or_none(marks: Marks | None, like: Marks) -> Marks:
    return np.zeros_like(like) if marks is None else marks

"""The sets of people that a report counts, as sets of the finest cells of its cube."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import or_

import numpy as np

from fairaudit.cube import (
    NO_LEVEL,
    UNKNOWN,
    Cube,
    Group,
    Grouping,
    Ints,
    Marks,
    Role,
    distinct_rows,
)
from fairaudit.metrics import FirstOf, Formula, GroupMetric, Mean, Rate, Requirement, TableMetric
from fairaudit.metrics.formulas import Macro

_NUMERIC = {
    Requirement.NUMBER,
    Requirement.NUMERIC_LABEL,
    Requirement.NUMERIC_ATTRIBUTE,
    Requirement.SCORE,
}

_OF_BOTH_MARGINS = "bias_amplification"
"""It subtracts what the labels say from what the decisions say, and never crosses the two.

Of those in whom both are known.
"""


@dataclass(frozen=True, slots=True)
class Crowds:
    """The groups of some columns: the number of its group for each cell, -1 where there is none."""

    groups: tuple[Group, ...]
    of_cell: Ints
    known: Marks

    def within(self, group: Group) -> Marks:
        """The cells of a group; none where it does not occur."""
        wanted = dict(group)
        at = next((n for n, one in enumerate(self.groups) if dict(one) == wanted), None)
        return np.zeros(len(self.of_cell), dtype=np.bool_) if at is None else self.of_cell == at


@dataclass(frozen=True, slots=True)
class Regions:
    """What a number of a group is made of, as marks of cells: of the group's, and of everybody's.

    `small` says whom `min_size` counts.
    """

    own: tuple[Marks, ...]
    everybody: tuple[Marks, ...] = ()
    small: Marks | None = None


class Cells:
    """The finest cells of a cube that anybody is in, and a number for each set of them."""

    def __init__(self, cube: Cube) -> None:
        occupied = cube.people > 0
        self.cube = cube
        self.people = cube.people[occupied]
        self.sets: list[Ints] = []
        self._codes = cube.codes[occupied]
        self._names = {key.name: at for at, key in enumerate(cube.keys)}
        self._numbers: dict[bytes, int] = {}
        self._crowds: dict[Grouping, Crowds] = {}
        self._regions: dict[tuple[str, str, str | None], Regions] = {}
        self.everything: Marks = np.ones(len(self.people), dtype=np.bool_)
        self.lacking = [
            (of, cube.people[occupied] - amount.n[occupied])
            for (of, _), amount in cube.amounts.items()
            if not np.array_equal(amount.n, cube.people)
        ]

    def count(self, marks: Marks) -> int | None:
        """The number of a set of cells; None where it is empty, which is no secret."""
        cells = np.flatnonzero(marks)
        if not len(cells):
            return None
        key = cells.tobytes()
        if key not in self._numbers:
            self._numbers[key] = len(self.sets)
            self.sets.append(cells)
        return self._numbers[key]

    def total(self, marks: Marks) -> int:
        """The people in a set of cells."""
        return int(self.people[marks].sum())

    def crowds(self, names: Grouping) -> Crowds:
        """The groups of some columns."""
        if names not in self._crowds:
            codes = self._codes[:, [self._names[name] for name in names]]
            inside = (codes != NO_LEVEL).all(axis=1)
            rows, numbers = distinct_rows(codes[inside])
            rows = rows if inside.any() else rows[:0]
            of_cell = np.full(len(codes), -1, dtype=np.int64)
            of_cell[inside] = numbers
            keys = [self.cube.key(name) for name in names]
            named = [
                tuple((key.name, key.levels[code]) for key, code in zip(keys, row, strict=True))
                for row in rows.tolist()
            ]
            known = [
                not any(code in key.unknown for key, code in zip(keys, row, strict=True))
                for row in rows.tolist()
            ]
            self._crowds[names] = Crowds(tuple(named), of_cell, np.array(known, dtype=np.bool_))
        return self._crowds[names]

    def inside(self, *groupings: Grouping) -> Marks:
        """The cells that take part where these columns are used."""
        found = self.everything
        for names in groupings:
            found = found & (self.crowds(names).of_cell >= 0)
        return found

    def known_outcome(self, of: str) -> Marks:
        """The cells whose outcome is known; all of them where it has no classes."""
        return self.everything if self.cube.outcome(of) is None else self._column(of) != NO_LEVEL

    def missing(self, name: str) -> Marks:
        """The cells of those who are not known in a column, be they a group of their own."""
        key, codes = self.cube.key(name), self._column(name)
        is_crowd = key.role in {Role.PROTECTED, Role.STRATUM}
        named = [key.levels.index(UNKNOWN)] if is_crowd and UNKNOWN in key.levels else []
        return np.isin(codes, [NO_LEVEL, *named])

    def has(self, name: str) -> bool:
        """Whether a column is an axis of the cube."""
        return name in self._names

    def classes(self, of: str) -> list[Marks]:
        """The known classes of an outcome; everybody where it has none."""
        if self.cube.outcome(of) is None:
            return [self.everything]
        codes = self._column(of)
        return [codes == code for code in np.unique(codes).tolist() if code != NO_LEVEL]

    def of_class(self, of: str, name: str) -> Marks:
        """The cells of one class of an outcome."""
        key = self.cube.outcome(of)
        if key is None or name not in key.levels:
            return ~self.everything
        return np.asarray(self._column(of) == key.levels.index(name))

    def regions(self, asked: GroupMetric | TableMetric, of: str, of_class: str | None) -> Regions:
        """What a number of one group is made of: of the group's cells, and of everybody's."""
        key = asked.id, of, of_class
        if key not in self._regions:
            self._regions[key] = self._made_of(asked, of, of_class)
        return self._regions[key]

    def numeric(self, asked: Iterable[GroupMetric | TableMetric]) -> bool:
        """Whether numbers are made of sums, not of counts alone."""
        options = [
            one for each in asked for one in (each.options if isinstance(each, FirstOf) else [each])
        ]
        return any(one.requirements & _NUMERIC for one in options)

    def sides(self, of: str, of_class: str | None) -> tuple[Marks, Marks]:
        """Who is positive and who is not, among those who are known."""
        key = self.cube.outcome(of)
        if key is None:
            return ~self.everything, ~self.everything
        codes, named = self._column(of), key.positive or frozenset()
        if of_class is not None:
            named = frozenset(at for at, level in enumerate(key.levels) if level == of_class)
        plus = np.isin(codes, list(named))
        return plus, ~plus & (codes != NO_LEVEL)

    def _column(self, name: str) -> Ints:
        return np.asarray(self._codes[:, self._names[name]])

    def _made_of(self, asked: GroupMetric | TableMetric, of: str, of_class: str | None) -> Regions:
        if isinstance(asked, Rate):
            return self._of_rate(asked, of, of_class)
        if isinstance(asked, Mean):
            return _joined(self._of_rate(one, of, of_class) for one in asked.parts)
        if isinstance(asked, FirstOf):
            return _joined(self._made_of(one, of, of_class) for one in asked.options)
        if isinstance(asked, Macro):
            classes = {**dict.fromkeys(self._levels(of)), **dict.fromkeys(self._levels("label"))}
            return _joined(self._made_of(asked.base, of, name) for name in classes)
        block = tuple(self._block(asked, of))
        return Regions(block, block if isinstance(asked, Formula) and asked.uses_everybody else ())

    def _levels(self, of: str) -> tuple[str, ...]:
        key = self.cube.outcome(of)
        return () if key is None else key.levels

    def _block(self, asked: GroupMetric | TableMetric, of: str) -> Iterator[Marks]:
        """All that a formula may be made of: people, and the classes it needs, or both at once."""
        by_label = bool(asked.requirements & {Requirement.LABEL, Requirement.NUMERIC_LABEL})
        by_class = bool(asked.requirements & {Requirement.PREDICTION, Requirement.CLASSES})
        both = by_label == by_class or asked.id == _OF_BOTH_MARGINS
        labels = self.classes("label") if both or by_label else []
        classes = self.classes(of) if both or by_class else []
        if asked.id == _OF_BOTH_MARGINS:
            both_known = self.known_outcome(of) & self.known_outcome("label")
            yield from (both_known & one for one in (self.everything, *labels, *classes))
            return
        yield self.everything
        yield from (*labels, *classes)
        yield from (label & one for label in labels for one in classes)

    def _of_rate(self, rate: Rate, of: str, of_class: str | None) -> Regions:
        """The numerator and the denominator; every cell alone where some stand there twice."""
        cell = self._cells_of_rates(of, of_class)
        everybody = [name for name in (*rate.over, *rate.under) if name.startswith("all_")]
        sides = (rate.over, rate.under)
        twice = any(len(set(side)) < len(side) for side in sides)
        apart = twice or not rate.proportion
        own = [name for name in (*rate.over, *rate.under) if name not in everybody]
        parts = [tuple(n for n in side if n not in everybody) for side in sides]
        marks = [cell(name) for name in dict.fromkeys(own)] if apart else [
            reduce(or_, map(cell, side)) for side in parts if side
        ]  # fmt: skip
        under = parts[1] if rate.proportion else tuple(own)
        return Regions(
            tuple(marks),
            tuple(cell(name.removeprefix("all_")) for name in dict.fromkeys(everybody)),
            reduce(or_, map(cell, under)) if under else None,
        )

    def _cells_of_rates(self, of: str, of_class: str | None) -> Callable[[str], Marks]:
        """The cells that `tp`, `selected` and so on add up."""
        plus, minus = self.sides(of, of_class)
        positive, negative = self.sides("label", of_class)
        found = {
            "tp": positive & plus,
            "fp": negative & plus,
            "fn": positive & minus,
            "tn": negative & minus,
            "selected": plus,
            "rejected": minus,
            "positives": positive,
            "negatives": negative,
        }
        return lambda name: found[name.removeprefix("all_")]


def has_few(counts: Ints, threshold: int) -> bool:
    """Whether any count is of some people, and of fewer than the threshold."""
    return bool(((counts > 0) & (counts < threshold)).any())


def _joined(several: Iterable[Regions]) -> Regions:
    each = list(several)
    return Regions(
        tuple(one for part in each for one in part.own),
        tuple(one for part in each for one in part.everybody),
    )

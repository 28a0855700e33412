"""`Counts`: what a pass gives by raw levels; adding two up; notices on blank lines, empty files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import numpy as np

from fairaudit.base.arrays import SQUARE_SCALES, TINY, WEIGHT_SCALES, Ints
from fairaudit.base.disclosure_marks import Notice, Subjects
from fairaudit.base.frozen import Frozen, field, replace
from fairaudit.base.ledger import DataFile
from fairaudit.counting.columns import COUNTED_LEVEL
from fairaudit.counting.plan import Key, Plan, SumName
from fairaudit.counting.raw_counts import (
    MOST_ENTRIES,
    RawKey,
    RawScores,
    RawTable,
    add_scores,
    add_tables,
    gather,
    unite_keys,
    unite_levels,
)
from fairaudit.counting.raw_rows import RawRows
from fairaudit.cube import Sum, add_up, distinct_rows


class CountedFile(Frozen):
    """A file that was counted: its records, and its blank lines, which are not records.

    Stored counts have a `sha256`, so that no file is counted twice. `records` is `None` if a site
    hides it.
    """

    file: DataFile
    records: int | None
    blank: int = 0
    sha256: str | None = None


class HiddenCells(Frozen):
    """How many rows and people sites took out of counts: in cells of fewer than `below`, mostly."""

    below: int
    rows: int
    people: int


class RawWeights(Frozen, eq=False):
    """The weights of [C] cells and their squares, exactly, each at both fixed points: four `sums`.

    The finer ones are of the tiny weights alone, and are used where the `largest` weight is one.
    `errors` are the most that rounding a weight to a fixed point took away.
    """

    sums: tuple[Sequence[int], ...]
    largest: float
    errors: tuple[float, float]

    @property
    def _fine(self) -> int:
        return int(0 < self.largest < TINY)

    @property
    def weight(self) -> Sum:
        """The weights of each cell."""
        return Sum.exact(self.sums[self._fine], WEIGHT_SCALES[self._fine])

    @property
    def square(self) -> Sum:
        """The squares of the weights of each cell."""
        return Sum.exact(self.sums[2 + self._fine], SQUARE_SCALES[self._fine])

    @property
    def error(self) -> float:
        """The most that rounding took away from a weight."""
        return self.errors[self._fine]

    def gather(self, index: Ints, size: int) -> RawWeights:
        """Those of joined cells; `index` is the new cell of each."""
        return replace(self, sums=tuple(gather(values, index, size) for values in self.sums))

    @classmethod
    def join(cls, parts: Sequence[RawWeights]) -> RawWeights:
        """Those of several files or threads, one after the other."""
        return cls(
            tuple([*chain(*values)] for values in zip(*(part.sums for part in parts), strict=True)),
            max(part.largest for part in parts),
            (max(part.errors[0] for part in parts), max(part.errors[1] for part in parts)),
        )


class Median(Frozen):
    """The exact median of a score, and the people it is the median of."""

    value: float
    people: int


class Counts(Frozen, eq=False):
    """The result of all passes for a plan: counts by raw levels, in one entry or several.

    No later stage reads the data again. `kept` is 1 if the filter keeps the rows, 0 if not, -1 if
    it cannot decide, and `MASKED` for people who may exist by a masked count. `read` is the control
    total: the records of the files, counted separately from the pass. `medians` are the medians of
    scores that their bins do not determine. `rows_read` are people one by one, if the plan asks for
    them. `amounts` are the sums of the plan in each cell, as Python's integers; missing values add
    nothing. Numbers and distances are at the fixed point `ADDED_SCALE`, products at its square.
    `hidden` people are in no cell, and neither are `repeated` rows, which repeat a person.
    """

    plan: Plan
    keys: tuple[RawKey, ...]
    kept: Ints
    rows: Ints
    people: Ints
    read: int
    sources: tuple[CountedFile, ...]
    route: str
    weights: RawWeights | None = None
    scores: Mapping[str, RawScores] = field(default_factory=dict)
    medians: Mapping[str, Median] = field(default_factory=dict)
    amounts: Mapping[SumName, Sequence[int]] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()
    tables: tuple[RawTable, ...] = ()
    table_levels: Mapping[Key, tuple[str | None, ...]] = field(default_factory=dict)
    rows_read: RawRows | None = None
    hidden: tuple[HiddenCells, ...] = ()
    repeated: int = 0

    @property
    def files(self) -> tuple[DataFile, ...]:
        """The files that were counted."""
        return tuple(source.file for source in self.sources)

    @property
    def file_rows(self) -> Ints:
        """The rows of the data in each cell; a row with several counts is where its first is."""
        if self.plan.counts is None:
            return self.rows
        key, first = self.text_key(COUNTED_LEVEL), self.plan.counts.names[0]
        is_first = np.array([*(level == first for level in key.levels), False])
        return np.where(is_first[key.codes], self.rows, 0)

    @property
    def weight(self) -> Sum | None:
        """The weights of each cell, where the plan has any."""
        return None if self.weights is None else self.weights.weight

    @property
    def squares(self) -> Sum | None:
        """The squares of the weights of each cell."""
        return None if self.weights is None else self.weights.square

    @property
    def weight_error(self) -> float:
        """The most that rounding took away from a weight."""
        return 0.0 if self.weights is None else self.weights.error

    def describe_files(self) -> Iterator[Notice]:
        """Notices on blank lines, and on files without a row."""
        blank = sum(source.blank for source in self.sources)
        if blank:
            lines = "1 blank line is" if blank == 1 else f"{blank:,} blank lines are"
            yield Notice(f"{lines} skipped and not counted", Subjects.NOBODY)
        for source in self.sources:
            if source.records == 0 and len(self.sources) > 1:
                yield Notice(f"{source.file.path} holds no row", Subjects.NEVER)

    def text_key(self, column: str) -> RawKey:
        """The levels of a column that is counted as text."""
        return self.keys[self.plan.find_key(column, is_cut=False)]

    def cut_key(self, column: str) -> RawKey:
        """The intervals of a column that is counted as a number."""
        return self.keys[self.plan.find_key(column, is_cut=True)]

    def compact(self) -> Counts:
        """The same counts, an entry for each combination of levels that occurs."""
        codes = np.stack([*(key.codes for key in self.keys), self.kept], axis=1)
        cells, index = distinct_rows(codes)
        size = len(cells)
        return replace(
            self,
            keys=tuple(
                replace(key, codes=cells[:, number]) for number, key in enumerate(self.keys)
            ),
            kept=cells[:, -1],
            rows=add_up(self.rows, index, size),
            people=add_up(self.people, index, size),
            weights=self.weights and self.weights.gather(index, size),
            scores={column: scores.compact() for column, scores in self.scores.items()},
            amounts={name: gather(sums, index, size) for name, sums in self.amounts.items()},
            tables=tuple(table.compact() for table in self.tables),
        )

    def __add__(self, other: Counts) -> Counts:
        """The counts of both; the plan must be the same.

        Medians do not add up: only those stay that are of everybody, and that both know.
        """
        if self.plan.counted() != other.plan.counted():
            raise ValueError("counts of different plans do not add up")
        keys = tuple(map(unite_keys, zip(self.keys, other.keys, strict=True)))
        levels = {
            key: unite_levels((texts, other.table_levels[key]))
            for key, texts in self.table_levels.items()
        }
        routes = (*self.route.split("; "), *other.route.split("; "))
        rows = self.rows_read and self.rows_read.placed(0, len(other.rows), 0)
        others = other.rows_read and other.rows_read.placed(len(self.rows), 0, self.read)
        return replace(
            self,
            keys=keys,
            kept=np.concatenate([self.kept, other.kept]),
            rows=np.concatenate([self.rows, other.rows]),
            people=np.concatenate([self.people, other.people]),
            read=self.read + other.read,
            sources=(*self.sources, *other.sources),
            route="; ".join(dict.fromkeys(routes)),
            weights=self.weights
            and other.weights
            and RawWeights.join([self.weights, other.weights]),
            scores={
                column: add_scores(
                    (scores, other.scores[column]),
                    (self.keys, other.keys),
                    keys,
                    MOST_ENTRIES // len(self.scores),
                )
                for column, scores in self.scores.items()
            },
            medians={
                column: median
                for column, median in self.medians.items()
                if other.medians.get(column) == median
            },
            amounts={name: [*sums, *other.amounts[name]] for name, sums in self.amounts.items()},
            rows_read=rows + others if rows and others else rows or others,
            hidden=_add_hidden(self.hidden, other.hidden),
            repeated=self.repeated + other.repeated,
            notices=tuple(dict.fromkeys((*self.notices, *other.notices))),
            tables=tuple(
                add_tables(pair, (self.table_levels, other.table_levels), levels)
                for pair in zip(self.tables, other.tables, strict=True)
            ),
            table_levels=levels,
        )


def _add_hidden(
    first: Sequence[HiddenCells], second: Sequence[HiddenCells]
) -> tuple[HiddenCells, ...]:
    """Those of one threshold together, in ascending order."""
    total: dict[int, HiddenCells] = {}
    for cells in (*first, *second):
        own = total.get(cells.below, HiddenCells(cells.below, 0, 0))
        total[cells.below] = HiddenCells(
            cells.below, own.rows + cells.rows, own.people + cells.people
        )
    return tuple(total[below] for below in sorted(total))

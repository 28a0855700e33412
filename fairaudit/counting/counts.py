"""`PartialCounts` of some files and `Counts` of all data, by the original levels of the data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np

from fairaudit.base.arrays import MOST_PEOPLE, SQUARE_SCALES, TINY, WEIGHT_SCALES, Ints
from fairaudit.base.disclosure_marks import Notice, Subjects
from fairaudit.base.errors import DataError, FairauditError
from fairaudit.base.frozen import Frozen, field, replace
from fairaudit.base.ledger import DataFile
from fairaudit.counting.columns import COUNTED_LEVEL
from fairaudit.counting.plan import Key, Plan, SumName
from fairaudit.counting.raw_counts import (
    MOST_ENTRIES,
    RawKey,
    RawScores,
    RawTable,
    gather,
    unite_keys,
    unite_levels,
)
from fairaudit.counting.raw_rows import RawRows
from fairaudit.cube import Sum, add_up, distinct_rows


class CountedFile(Frozen):
    """A file that was counted, with the number of its records and blank lines.

    Blank lines are not records. Counts files also have the `sha256` of each data file, so that no
    file is counted twice. `records` is None if `--suppress` hides the number.
    """

    file: DataFile
    records: int | None
    blank: int = 0
    sha256: str | None = None


class HiddenCells(Frozen):
    """The numbers of rows and people in the cells that `--suppress` hid.

    Most of these cells have fewer than `below` people.
    """

    below: int
    rows: int
    people: int


class RawWeights(Frozen, eq=False):
    """The sums of weights and of squared weights in C cells, in a coarse and a fine scale.

    `sums` are four lists [C] of integers: sums of weights (coarse, fine), and sums of squared
    weights (coarse, fine). The fine sums contain only tiny weights; they are used if all weights
    are tiny. `largest` is the largest weight. `errors` are the largest rounding errors of a weight
    (coarse, fine).
    """

    sums: tuple[Sequence[int], ...]
    largest: float
    errors: tuple[float, float]

    @property
    def _fine(self) -> int:
        return int(0 < self.largest < TINY)

    @property
    def total(self) -> Sum:
        """The sum of weights in each cell."""
        return Sum.exact(self.sums[self._fine], WEIGHT_SCALES[self._fine])

    @property
    def squares(self) -> Sum:
        """The sum of squared weights in each cell."""
        return Sum.exact(self.sums[2 + self._fine], SQUARE_SCALES[self._fine])

    @property
    def error(self) -> float:
        """The largest rounding error of a weight."""
        return self.errors[self._fine]

    def gather(self, index: Ints, size: int) -> RawWeights:
        """Adds up cells that become one cell; `index` is the new cell of each cell."""
        return replace(self, sums=tuple(gather(values, index, size) for values in self.sums))

    @classmethod
    def join(cls, parts: Sequence[RawWeights]) -> RawWeights:
        """The weights of the cells of all parts, one part after the other."""
        return cls(
            tuple([*chain(*values)] for values in zip(*(part.sums for part in parts), strict=True)),
            max(part.largest for part in parts),
            (max(part.errors[0] for part in parts), max(part.errors[1] for part in parts)),
        )


class Median(Frozen):
    """The exact median of a score, and the number of all people who have the score."""

    value: float
    people: int


class PartialCounts(Frozen, eq=False):
    """The counts of some files, as entries that each have a combination of raw levels (raw cell).

    Raw levels are the original levels of the data. A raw cell may have several entries. `kept` is 1
    if the filter keeps the rows of an entry, 0 if the filter drops them, and -1 if the filter
    cannot decide; it is `MASKED` for people who may exist behind a masked count. `amounts` are the
    sums that the plan asks for, as Python integers; missing values add 0. Numbers and distances are
    multiplied by `ADDED_SCALE`, and products by the square of `ADDED_SCALE`.
    """

    keys: tuple[RawKey, ...]
    kept: Ints
    rows: Ints
    people: Ints
    weights: RawWeights | None = None
    scores: Mapping[str, RawScores] = field(default_factory=dict)
    amounts: Mapping[SumName, Sequence[int]] = field(default_factory=dict)
    tables: tuple[RawTable, ...] = ()

    @property
    def table_levels(self) -> dict[Key, tuple[str | None, ...]]:
        """The levels of each key of an extra table, except cut numbers."""
        keys = (key for table in self.tables for key in table.keys)
        return {key.key: key.levels for key in keys if not key.key.is_cut}

    @classmethod
    def join(cls, plan: Plan, parts: Sequence[PartialCounts]) -> dict[str, Any]:
        """The fields of the joint counts of all parts; equal texts in two parts are one level."""
        keys = tuple(map(unite_keys, zip(*(part.keys for part in parts), strict=True)))
        levels = {key.key: key.levels for key in keys}
        tabled = [key for part in parts for table in part.tables for key in table.keys]
        for key in plan.table_keys:
            if key not in levels:
                levels[key] = unite_levels(own.levels for own in tabled if own.key == key)
        weights = [part.weights for part in parts if part.weights is not None]
        measures = {
            name: [getattr(one, name) for one in parts] for name in ("kept", "rows", "people")
        }
        return {
            "keys": keys,
            **{name: np.concatenate(values) for name, values in measures.items()},
            "weights": RawWeights.join(weights) if weights else None,
            "scores": {
                column: RawScores.join(
                    [part.scores[column] for part in parts],
                    [part.keys for part in parts],
                    keys,
                    MOST_ENTRIES // len(plan.scores),
                )
                for column in plan.scores
            },
            "amounts": {
                name: [n for part in parts for n in part.amounts[name]] for name in plan.adding.sums
            },
            "tables": tuple(
                RawTable(
                    tuple(
                        unite_keys(several, levels[several[0].key])
                        for several in zip(*(table.keys for table in tables), strict=True)
                    ),
                    np.concatenate([table.people for table in tables]),
                )
                for tables in zip(*(part.tables for part in parts), strict=True)
            ),
        }


def check_people(people: int) -> None:
    """Raises `DataError` if a number of people is too large for 64-bit sums."""
    if people >= MOST_PEOPLE:
        raise DataError("the sum of the counts does not fit into 64 bits", "check the count column")


class Counts(PartialCounts, eq=False, kw_only=True):
    """The counts of all data for a plan; no later stage reads the data again.

    `read` is the number of records in the files, counted separately to check the counts. `route`
    says in words how the data was counted. `medians` are the exact medians of scores whose bins are
    too wide to show the median. `rows_read` are the people one by one, if the plan asks for single
    people. `hidden` describes the cells that `--suppress` removed. `repeated` is the number of rows
    that were not counted because they repeat a person.
    """

    plan: Plan
    read: int
    sources: tuple[CountedFile, ...]
    route: str
    medians: Mapping[str, Median] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()
    rows_read: RawRows | None = None
    hidden: tuple[HiddenCells, ...] = ()
    repeated: int = 0

    @property
    def files(self) -> tuple[DataFile, ...]:
        """The files that were counted."""
        return tuple(source.file for source in self.sources)

    @property
    def file_rows(self) -> Ints:
        """The number of data rows in each cell; a row of several counts is only in one cell."""
        if self.plan.counts is None:
            return self.rows
        key, first = self.text_key(COUNTED_LEVEL), self.plan.counts.names[0]
        is_first = np.array([*(level == first for level in key.levels), False])
        return np.where(is_first[key.codes], self.rows, 0)

    def describe_files(self) -> Iterator[Notice]:
        """Notices on blank lines and on files without rows."""
        blank = sum(source.blank for source in self.sources)
        if blank:
            lines = "1 blank line is" if blank == 1 else f"{blank:,} blank lines are"
            yield Notice(f"{lines} skipped and not counted", Subjects.NOBODY)
        for source in self.sources:
            if source.records == 0 and len(self.sources) > 1:
                yield Notice(f"{source.file.path} holds no row", Subjects.NEVER)

    def text_key(self, column: str) -> RawKey:
        """The key of a column that is counted as text."""
        return self.keys[self.plan.find_key(column, is_cut=False)]

    def cut_key(self, column: str) -> RawKey:
        """The key of a column of numbers that are cut into intervals."""
        return self.keys[self.plan.find_key(column, is_cut=True)]

    def compact(self) -> Counts:
        """The same counts, with one entry for each combination of levels."""
        # People behind masked counts have no rows: they stay separate from people who have rows.
        hidden = (self.rows == 0) & bool(self.plan.masked)
        codes = np.stack([*(key.codes for key in self.keys), hidden, self.kept], axis=1)
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
        """The sum of two counts, which must have the same plan.

        Medians cannot be added: a median is kept only if both counts have the same median.
        """
        if self.plan.counted() != other.plan.counted() or self.plan.rows is not None:
            raise ValueError("counts of different plans, and people one by one, do not add up")
        routes = (*self.route.split("; "), *other.route.split("; "))
        # Add up the hidden cells with the same threshold, in ascending order.
        hidden: dict[int, HiddenCells] = {}
        for cells in sorted((*self.hidden, *other.hidden), key=attrgetter("below")):
            own = hidden.get(cells.below, HiddenCells(cells.below, 0, 0))
            hidden[cells.below] = HiddenCells(
                cells.below, own.rows + cells.rows, own.people + cells.people
            )
        return replace(
            self,
            **PartialCounts.join(self.plan, (self, other)),
            read=self.read + other.read,
            sources=(*self.sources, *other.sources),
            route="; ".join(dict.fromkeys(routes)),
            medians={
                column: median
                for column, median in self.medians.items()
                if other.medians.get(column) == median
            },
            hidden=tuple(hidden.values()),
            repeated=self.repeated + other.repeated,
            notices=tuple(dict.fromkeys((*self.notices, *other.notices))),
        )


def add_notices(
    counts: Counts | FairauditError, notices: Sequence[Notice]
) -> Counts | FairauditError:
    """The counts with these notices before their own; an error is returned unchanged."""
    if isinstance(counts, FairauditError):
        return counts
    return replace(counts, notices=(*notices, *counts.notices))

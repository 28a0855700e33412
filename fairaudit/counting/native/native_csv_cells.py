"""Native route of CSV: what the kernel counted, as the counts of a plan.

The filter looks at cells, not at rows: each has one text of every column that it names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fairaudit.base.arrays import Ints
from fairaudit.base.errors import FairauditError
from fairaudit.base.fixed_point import TINY
from fairaudit.base.frozen import replace
from fairaudit.counting.native.native_cells import CellTable
from fairaudit.counting.partial_counts import PartialCounts
from fairaudit.counting.plan import Key, Plan
from fairaudit.counting.raw_keys import RawKey, unite_keys
from fairaudit.counting.routes.candidates import MOST_LEVELS
from fairaudit.cube import distinct_rows

if TYPE_CHECKING:
    from fairaudit.counting.filter import Filter

_TEXTS = Key("")
"""What stands for the key of a column while its texts are united."""

_ANY = 2**16
"""More texts than the kernel takes of a column."""


class CountedColumns(NamedTuple):
    """The columns that a plan counts by; the last may be one that is searched.

    What means missing is no level of that, and with too many levels its table is given up.
    """

    plan: Plan
    columns: Sequence[str]
    is_searched: bool = False

    @classmethod
    def of(cls, plan: Plan, rule: Filter | None) -> CountedColumns:
        """Those of a filter, and then those of the keys."""
        names = [*(sorted(rule.columns) if rule else ()), *(key.column for key in plan.keys)]
        return cls(plan, [*dict.fromkeys(names)])

    def beside(self, candidate: str) -> CountedColumns:
        """The same columns, and one that is searched."""
        return CountedColumns(
            self.plan.beside(candidate), [*self.columns, candidate], is_searched=True
        )

    @property
    def most(self) -> int:
        """How many texts the last column may have: the kernel has a limit for all."""
        return MOST_LEVELS + len(self.plan.tokens) + 1 if self.is_searched else _ANY


class Table(NamedTuple):
    """What a thread counted by some columns: the texts of each, and its cells.

    Those have codes, rows, and four words of sums each; `largest` and `error` are of all weights.
    """

    texts: Sequence[Sequence[bytes | None]]
    codes: bytes
    rows: bytes
    sums: bytes
    largest: float
    error: float


def whole(tables: Sequence[Table | None]) -> Iterator[Table | None]:
    """The tables of a thread by all their columns: the kernel counts those behind by its cells."""
    first = tables[0]
    yield first
    for table in tables[1:]:
        if table is None or first is None:
            yield None
            continue
        codes = np.frombuffer(table.codes, np.uint16).reshape(-1, 3)
        cells = codes[:, 0].astype(np.int64) | codes[:, 1].astype(np.int64) << 16
        shared = np.frombuffer(first.codes, np.uint16).reshape(-1, len(first.texts))[cells]
        every = np.hstack([shared, codes[:, 2:]])
        yield table._replace(texts=[*first.texts, table.texts[-1]], codes=every.tobytes())


def count_groups(
    plan: Plan, name: str, grouping: CountedColumns, tables: Sequence[Table]
) -> PartialCounts | None:
    """The counts of whatever a plan asks of its rows, each group of equal ones looked at once.

    `grouping` has all columns that the plan reads. None where something is at fault: by the rows
    that is told as it always is.
    """
    import polars as pl

    from fairaudit.counting.routes import scan
    from fairaudit.counting.sources.batches import Batch, own

    texts = {
        name: _column(tables, place, len(grouping.columns))
        for place, name in enumerate(grouping.columns)
    }
    columns = {
        name: pl.Series(text.levels, dtype=pl.String)[text.codes] for name, text in texts.items()
    }
    rows = np.concatenate([np.frombuffer(table.rows, np.int64) for table in tables])
    frame = pl.DataFrame({**columns, own("times"): rows})
    batch = Batch(frame.lazy(), frame.schema, (name,), times=own("times"))
    try:
        (counts,) = scan.count_batch(batch, plan).values()
    except FairauditError:
        return None
    return counts if isinstance(counts, PartialCounts) else None


def join(
    rule: Filter | None, grouping: CountedColumns, given: Sequence[Table | None]
) -> PartialCounts | None:
    """The cells of all threads as one; None where a thread gave up, or they are for another route.

    That is so where a text is no number, and has to be one, and where the filter is at fault.
    """
    plan, columns = grouping.plan, grouping.columns
    tables = [table for table in given if table is not None]
    if len(tables) < len(given):
        return None
    largest = max(table.largest for table in tables)
    if plan.weight and largest < TINY:  # they are added up in a finer fixed point
        return None
    texts = {name: _column(tables, place, len(columns)) for place, name in enumerate(columns)}
    if grouping.is_searched:
        searched, missing = texts[columns[-1]], {"", *plan.tokens}
        levels = tuple(None if level in missing else level for level in searched.levels)
        texts[columns[-1]] = unite_keys([replace(searched, levels=levels)])
    keys = []
    for key in plan.keys:
        column = texts[key.column]
        raw = _cut(key, column, plan) if key.is_cut else RawKey(key, column.codes, column.levels)
        if raw is None:
            return None
        keys.append(raw)
    kept = _apply_filter(plan, rule, texts)
    if kept is None:
        return None
    codes = np.stack([*(key.codes for key in keys), kept], axis=1).astype(np.int32)
    cells, cell_of = distinct_rows(codes)
    has_sums = bool(plan.weight or plan.count)
    joined = CellTable(len(cells), has_sums=has_sums)
    joined.largest, joined.error = largest, max(table.error for table in tables)
    rows = np.concatenate([np.frombuffer(table.rows, np.int64) for table in tables])
    sums = [np.frombuffer(table.sums if has_sums else b"", np.uint64) for table in tables]
    joined.add_cells(cell_of, rows, np.concatenate(sums).reshape(-1, 2, 2))
    *of_keys, kept = cells.T.astype(np.int64)
    raw_keys = (
        RawKey(key.key, column, key.levels) for key, column in zip(keys, of_keys, strict=True)
    )
    return PartialCounts((*raw_keys,), kept, joined.measures(plan, np.arange(len(cells))))


def _column(tables: Sequence[Table], place: int, column_count: int) -> RawKey:
    """The texts of a column in the cells of all threads, those alone that some row has."""
    parts = []
    for table in tables:
        codes = np.frombuffer(table.codes, dtype=np.uint16).reshape(-1, column_count)[:, place]
        used, places = np.unique(codes, return_inverse=True)
        known = [table.texts[place][code] for code in used.tolist()]
        texts = tuple(None if text is None else text.decode() for text in known)
        parts.append(RawKey(_TEXTS, places, texts))
    return unite_keys(parts)


def _cut(key: Key, texts: RawKey, plan: Plan) -> RawKey | None:
    """A column as the intervals of its numbers; None where a text is none."""
    from fairaudit.counting.routes.polars_route import intervals_of_texts

    intervals = intervals_of_texts(key, texts.levels, plan)
    return None if intervals is None else RawKey(key, intervals[texts.codes])


def _apply_filter(plan: Plan, rule: Filter | None, texts: Mapping[str, RawKey]) -> Ints | None:
    """Which cells the filter keeps: 1, 0, or -1 where it cannot tell; None where it is at fault."""
    if rule is None:
        return np.ones(len(next(iter(texts.values())).codes), np.int64)
    from fairaudit.counting.routes.filter_rows import kept_by

    levels = {name: texts[name].levels for name in rule.columns}
    return kept_by(rule, levels, {name: texts[name].codes for name in rule.columns}, plan)

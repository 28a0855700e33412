"""A second engine: plain Python over the rows of CSV files, for what cells alone can tell."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np

from fairaudit.base.errors import DataError, UsageError
from fairaudit.base.ledger import DataFile
from fairaudit.base.processes import Progress
from fairaudit.counting.columns import Cut, Quantile
from fairaudit.counting.contract import CountsOrError, Data
from fairaudit.counting.counts import CountedFile, Counts
from fairaudit.counting.plan import MISSING, Key, Plan, is_finite_number
from fairaudit.counting.raw_counts import RawKey
from fairaudit.counting.sources.dialects import Database
from fairaudit.counting.sources.files import Files, find_files, name_file

Row = Mapping[str, str]


class PlainEngine:
    """Counts rows one by one; no weights, no scores, no filter."""

    def open(self, data: Database) -> AbstractContextManager[Database]:
        return nullcontext(data)

    def find_cuts(
        self, plan: Plan, quantiles: Sequence[Quantile], data: Data, _progress: Progress
    ) -> dict[Quantile, Cut]:
        cuts = {}
        for column, share in quantiles:
            people = _values(plan, column, data)
            value = people[-(-len(people) * share.numerator // share.denominator) - 1]
            above, at = (sum(map(ask, people)) for ask in (value.__lt__, value.__eq__))
            cuts[column, share] = Cut(float(value), above, at, len(people) - above - at)
        return cuts

    def count(self, plans: Sequence[Plan], data: Data, _progress: Progress) -> list[CountsOrError]:
        return [_count(plan, _paths(data)) for plan in plans]

    def locate_error(self, error: DataError, _plan: Plan, _data: Data) -> DataError:
        return error


def _paths(data: Data) -> list[Path]:
    if not isinstance(data, Files):
        raise UsageError("the plain engine reads files")
    return find_files(data.entries, data.base)[0]


def _rows(path: Path) -> Iterator[Row]:
    with path.open(newline="", encoding="utf-8") as file:
        yield from csv.DictReader(file)


def _values(plan: Plan, column: str, data: Data) -> list[Decimal]:
    """The number of each person who has one, in ascending order."""
    return sorted(
        number
        for path in _paths(data)
        for row in _rows(path)
        if (number := _number(row[column], plan)) is not None
        for _ in range(_people(row, plan))
    )


def _count(plan: Plan, paths: Sequence[Path]) -> CountsOrError:
    if (
        plan.weight
        or plan.scores
        or plan.filter
        or plan.adding.columns
        or plan.tables
        or plan.models
    ):
        return UsageError("the plain engine counts cells alone")
    rows = [row for path in paths for row in _rows(path)]
    cells: dict[tuple[str | int | None, ...], list[int]] = defaultdict(lambda: [0, 0])
    for row in rows:
        cell = cells[tuple(_level(row[key.column], key, plan) for key in plan.keys)]
        cell[0] += 1
        cell[1] += _people(row, plan)
    return Counts(
        plan=plan,
        keys=tuple(
            _key(key, levels)
            for key, levels in zip(plan.keys, zip(*cells, strict=True), strict=True)
        ),
        kept=np.ones(len(cells), dtype=np.int64),
        rows=np.array([rows for rows, _ in cells.values()], dtype=np.int64),
        people=np.array([people for _, people in cells.values()], dtype=np.int64),
        read=len(rows),
        sources=tuple(map(_describe, paths)),
        route="plain Python",
    )


def _key(key: Key, cells: Sequence[str | int | None]) -> RawKey:
    if key.edges is not None:
        return RawKey(key, np.array(cells, dtype=np.int64))
    levels = tuple(dict.fromkeys(level for level in cells if not isinstance(level, int)))
    return RawKey(key, np.array([levels.index(level) for level in cells]), levels)


def _level(text: str, key: Key, plan: Plan) -> str | int | None:
    """The text of a level, or how many edges a number has passed."""
    if key.edges is None:
        return text or None
    number = _number(text, plan)
    if number is None:
        return MISSING
    passed = [
        number > edge.value or (number == edge.value and not edge.beyond) for edge in key.edges
    ]
    return sum(passed)


def _number(text: str, plan: Plan) -> Decimal | None:
    if text in {"", *plan.tokens}:
        return None
    codes = {Decimal(word) for word in plan.tokens if is_finite_number(word)}
    return None if Decimal(text) in codes else Decimal(text)


def _people(row: Row, plan: Plan) -> int:
    return 1 if plan.count is None else int(row[plan.count])


def _describe(path: Path) -> CountedFile:
    stat = path.stat()
    modified = datetime.fromtimestamp(stat.st_mtime, UTC).isoformat(timespec="seconds")
    lines = path.read_bytes().count(b"\n")
    file = DataFile(name_file(path), stat.st_size, modified, lines)
    return CountedFile(file, sum(1 for _ in _rows(path)))

"""The CSV route of a search: plain records are counted by the codes of their fields.

A reader makes a text of each field, which for forty columns takes three times as long as all else.
Here fields are told apart as they lie in the file. It serves plain files without quotes whose keys
have few different texts, where each row is one person; any other is left to the Polars route, with
equal counts.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fairaudit.engine.arrow_codes import NotServed
from fairaudit.engine.candidate_tables import CandidateTables, Column, KeyCombinations
from fairaudit.engine.partial_counts import Level, Measures, PartialCounts
from fairaudit.engine.plain_csv import THREADS, line_blocks, parts
from fairaudit.engine.polars_route import intervals_of_texts
from fairaudit.engine.sources import SourceFile
from fairaudit.engine.text_codes import BITS, FACTORS, NOBODY, SECOND, SHIFT, Words
from fairaudit.errors import DataError
from fairaudit.plan import MISSING, Key, Plan, Search
from fairaudit.progress import Progress

_BLOCK = 2**18
"""Bytes at a time: what is worked out of them stays in the cache of a core."""

_BATCH = 2**17
"""Rows that are counted at a time."""

_PADDING = 72
"""So many bytes a buffer must have behind what is read of it."""

_Fixed = NDArray[np.int64]

_WIDEST = 8
_MOST = 128
_MASKS = np.array([2 ** (8 * size) - 1 for size in range(9)], dtype=np.uint64)
_LF, _CR, _QUOTE, _NUL = b"\n", b"\r", b'"', b"\0"


def count(file: SourceFile, plan: Plan, progress: Progress) -> list[PartialCounts] | None:
    """The counts of a file whose lines are proven to be plain; None where it is not served."""
    if plan.search is None or not plan.search.candidates or not _is_served(plan):
        return None
    ranges = parts(file.path, file.unpacked_size or 0, THREADS)
    if ranges is None:
        return None
    work = _Work(file, plan, plan.search, progress)
    with ThreadPoolExecutor(len(ranges)) as pool:
        try:
            counted = pool.map(lambda ends: work.count(*ends), ranges)
            # A part, or the whole file, may have no row.
            return [part for part in counted if part is not None] or None
        except NotServed:
            return None
        except OSError as error:
            why = "damaged, truncated or gone"
            raise DataError.unreadable(file.file.path, why) from error
        finally:
            # After an interruption, or a fault, nobody waits for the blocks that are left.
            work.stopped.set()


def _is_served(plan: Plan) -> bool:
    more = (plan.filter, plan.count, plan.weight, plan.scores, plan.adding.columns, plan.tables)
    return not any(more)


class _Work:
    """A file that several threads share, and what each needs to know of it."""

    def __init__(self, file: SourceFile, plan: Plan, search: Search, progress: Progress) -> None:
        self.stopped = threading.Event()
        self._path = file.path
        self._plan = plan
        self._search = search
        self._progress = progress
        self._fields = len(file.header)
        places = {name: number for number, name in enumerate(file.header)}
        self._keys = [places[key.column] for key in plan.keys]
        self._columns = [*self._keys, *(places[name] for name in search.candidates)]

    def count(self, start: int, stop: int) -> PartialCounts | None:
        """The counts of a part of the file that begins with a line; None where it has no row."""
        separator = self._plan.format.separator
        fields = FieldCoder(separator, self._fields, self._columns, self._keys)
        counter = _Counter(self._plan, self._search)
        waiting: list[NDArray[np.int16]] = []
        buffer = bytearray(_BLOCK + _PADDING)
        for end in line_blocks(self._path, start, stop, buffer, _BLOCK):
            if self.stopped.is_set() or not end:
                raise NotServed
            waiting.append(fields.codes(buffer, end))
            if sum(codes.shape[1] for codes in waiting) >= _BATCH:
                counter.add(np.concatenate(waiting, axis=1), fields)
                self._progress.advance(sum(codes.shape[1] for codes in waiting), "rows")
                waiting = []
        if waiting:
            counter.add(np.concatenate(waiting, axis=1), fields)
        return counter.counted()


class _Counter:
    """Counts batches of codes: the cube's keys, and the tables beside it."""

    def __init__(self, plan: Plan, search: Search) -> None:
        self._plan = plan
        self._crossing = CandidateTables(plan, search, 2 * _BATCH)
        self._shared = [plan.keys.index(key) for key in search.keys]
        self._places = {
            name: number for number, name in enumerate(search.candidates, start=len(plan.keys))
        }
        self._cuts = {
            number: CutCoder(key, plan)
            for number, key in enumerate(plan.keys)
            if key.edges is not None
        }
        self._groups = KeyCombinations()
        self._rows = np.zeros(0, dtype=np.int64)

    def add(self, codes: NDArray[np.int16], fields: FieldCoder) -> None:
        """Counts the rows of a batch, [columns, rows]."""

        def column(number: int) -> Column | None:
            levels = fields.levels[number]
            if levels is None:
                return None
            cut = self._cuts.get(number)
            return (codes[number], levels) if cut is None else cut.column(codes[number], levels)

        kept = np.zeros(codes.shape[1], dtype=np.int16), (1,)
        keys = [
            key for number in range(len(self._plan.keys)) if (key := column(number)) is not None
        ]
        numbers = self._groups.numbers([kept, *keys])
        rows = np.bincount(numbers, minlength=len(self._rows))
        rows[: len(self._rows)] += self._rows
        self._rows = rows
        shared = [kept, *(keys[number] for number in self._shared)]
        measured: Mapping[str, pa.Array] = {"": codes[0]}
        self._crossing.add(shared, lambda name: column(self._places[name]), measured)

    def counted(self) -> PartialCounts | None:
        """What was counted; None where nothing was."""
        if not len(self._rows):
            return None
        numbers = np.flatnonzero(self._rows)
        kept, keys = self._groups.keys(self._plan.keys)(numbers)
        rows = self._rows[numbers]
        beside: Mapping[str, Sequence[PartialCounts] | None] = self._crossing.counted()
        return PartialCounts(tuple(keys), kept, Measures(rows, rows), candidate_tables=beside)


class CutCoder:
    """The intervals of one key, by the texts of its column as they are seen."""

    def __init__(self, key: Key, plan: Plan) -> None:
        self._key = key
        self._plan = plan
        self._of: Sequence[Level] = ()
        self._codes = np.empty(0, dtype=np.int16)
        self._last = len(key.edges or ()) + 1

    def column(self, codes: NDArray[np.int16], levels: tuple[Level, ...]) -> Column:
        """The intervals of rows that hold these texts; raises `NotServed` for what is no number."""
        if levels is not self._of:
            self._parse(levels)
        return np.take(self._codes, codes), (*range(self._last), MISSING)

    def _parse(self, levels: tuple[Level, ...]) -> None:
        codes = intervals_of_texts(self._key, levels, self._plan)
        if codes is None:
            raise NotServed  # the other route tells which row it is
        self._codes = np.where(codes == MISSING, self._last, codes).astype(np.int16)
        self._of = levels


class FieldCoder:
    """The codes of some columns, by their places in a record, while a file is read; none is parsed.

    Where a separator or a line end stands, a field ends. Its bytes are read as machine words of
    eight, and told apart by a multiplication that sends the levels that a column has had so far to
    different places (as in `text_codes`); each is held against the level found there, so a new one
    is never taken for another. What is done, is done to all fields of a block by one operation.

    `levels` may grow, and a code is a place in them; those of a column that has too many are None.
    `needed` columns have no such limit: a file in which they have more is not served.
    """

    def __init__(
        self, separator: str, fields: int, columns: Sequence[int], needed: Sequence[int]
    ) -> None:
        self.levels: list[tuple[Level, ...] | None] = [(None,) for _ in columns]
        self._separator = separator.encode()[0]
        self._fields = fields
        self._columns = np.array(columns)
        self._needed = {number for number, column in enumerate(columns) if column in set(needed)}
        size = len(columns)
        self._texts: list[dict[bytes, int]] = [{} for _ in columns]
        self._widths = np.ones(size, dtype=np.int64)
        self._factors = np.full(size, FACTORS[0])
        self._places = np.zeros(size << BITS, dtype=np.int16)
        self._known = np.full((_WIDEST, size * _MOST), 0, dtype=np.uint64)
        self._known[0, ::_MOST] = NOBODY

    def codes(self, buffer: bytearray, end: int) -> NDArray[np.int16]:
        """The codes of the records up to `end`, which is just behind a line end, [columns, rows].

        Raises `NotServed` where a field is quoted, or long.
        """
        if buffer.find(_QUOTE, 0, end) >= 0 or buffer.find(_NUL, 0, end) >= 0:
            raise NotServed
        starts, lengths = self._bounds(buffer, end)
        words = np.ndarray((len(buffer) - 7,), dtype="<u8", buffer=buffer, strides=(1,))
        self._widths = np.maximum(self._widths, -(-lengths.max(axis=1) // 8))
        codes = np.empty(starts.shape, dtype=np.int16)
        for width in np.unique(self._widths).tolist():
            own = np.flatnonzero(self._widths == width)
            if width > _WIDEST:
                self._give_up(own)
            else:
                codes[own] = self._coded(own, width, starts[own], lengths[own], words, buffer)
        return codes

    def _bounds(self, buffer: bytearray, end: int) -> tuple[_Fixed, _Fixed]:
        """Where the fields of the columns begin, and how long they are, [columns, rows]."""
        block: NDArray[np.uint8] = np.frombuffer(buffer, dtype=np.uint8, count=end)
        marks = block == self._separator
        marks |= block == _LF[0]
        ends = np.flatnonzero(marks)
        starts = np.empty_like(ends)
        starts[0] = 0
        np.add(ends[:-1], 1, out=starts[1:])
        if buffer.find(_CR, 0, end) >= 0:
            last = ends[self._fields - 1 :: self._fields]
            last -= block[last - 1] == _CR[0]
        lengths = (ends - starts).reshape(-1, self._fields).T
        return starts.reshape(-1, self._fields).T[self._columns], lengths[self._columns]

    def _coded(  # where the fields are, and what they are read from
        self,
        own: _Fixed,
        width: int,
        starts: _Fixed,
        lengths: _Fixed,
        words: Words,
        buffer: bytearray,
    ) -> NDArray[np.int16]:
        """The codes of columns of one width; new levels are learnt, and all is looked up again."""
        parts = [words[starts] & np.take(_MASKS, lengths, mode="clip")]
        for more in range(1, width):
            remaining = lengths - 8 * more
            parts.append(words[np.where(remaining > 0, starts + 8 * more, 0)]
                         & np.take(_MASKS, remaining, mode="clip"))  # fmt: skip
        mixed = parts[0]
        for number, part in enumerate(parts[1:]):
            mixed = mixed ^ part * SECOND[number]
        columns = own[:, None]
        while True:
            place = ((mixed * self._factors[columns]) >> SHIFT).view(np.int64)
            place += columns << BITS
            codes = np.take(self._places, place, mode="clip")
            known = codes + columns * _MOST
            same = np.take(self._known[0], known, mode="clip") == parts[0]
            for number, part in enumerate(parts[1:], 1):
                same &= np.take(self._known[number], known, mode="clip") == part
            if same.all() or not self._learn(own, mixed, same, (starts, lengths), buffer):
                return codes

    def _learn(
        self, own: _Fixed, mixed: Words, same: NDArray[np.bool_], bounds: tuple[_Fixed, _Fixed],
        buffer: bytearray,
    ) -> bool:  # fmt: skip
        """Takes up the levels that are new; whether there were any in columns that still count."""
        learnt = False
        starts, lengths = bounds
        for row in np.flatnonzero(~same.all(axis=1)).tolist():
            column = int(own[row])
            if self.levels[column] is None:
                continue
            learnt = True
            new = np.flatnonzero(~same[row])
            _, first = np.unique(mixed[row][new], return_index=True)
            texts = self._texts[column]
            for place in new[first][:_MOST].tolist():
                start = int(starts[row, place])
                text = bytes(buffer[start : start + int(lengths[row, place])])
                texts.setdefault(text, len(texts) + 1)
            if len(texts) >= _MOST or not self._arrange(column):
                self._give_up([column])
            else:
                named = (text.decode() or None for text in texts)
                self.levels[column] = (None, *named)
        return learnt

    def _arrange(self, column: int) -> bool:
        """Whether there is a multiplier that sends the column's texts to places of their own."""
        width = int(self._widths[column])
        texts = [text.ljust(8 * _WIDEST, b"\0") for text in self._texts[column]]
        parts = np.array([np.frombuffer(text, dtype="<u8") for text in texts]).T
        mixed = parts[0].copy()
        for number in range(1, width):
            mixed ^= parts[number] * SECOND[number - 1]
        for factor in FACTORS:
            places = ((mixed * factor) >> SHIFT).view(np.int64)
            if len(np.unique(places)) == len(places):
                begin = column << BITS
                self._places[begin : begin + 2**BITS] = 0
                self._places[begin + places] = np.arange(1, len(places) + 1)
                self._factors[column] = factor
                known = column * _MOST + 1
                self._known[:, known : known + len(places)] = parts
                return True
        return False

    def _give_up(self, columns: Sequence[int] | _Fixed) -> None:
        """Columns that have too many levels, or too long ones, are not looked at any more."""
        for column in map(int, columns):
            if column in self._needed:
                raise NotServed
            self.levels[column] = None

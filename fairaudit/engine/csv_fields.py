"""The fields of plain CSV records as small codes, many columns at once, none of them parsed.

Where a separator or a line end stands, a field ends. Its bytes are read as machine words of eight,
and told apart by a multiplication that sends the levels that a column has had so far to different
places (as in `words`); each is held against the level found there, so a new one is never taken for
another. What is done, is done to all fields of a block by one operation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fairaudit.engine.arrow_codes import NotServed
from fairaudit.engine.partial_counts import Level
from fairaudit.engine.text_codes import BITS, FACTORS, NOBODY, SECOND, SHIFT, Words

PADDING = 72
"""So many bytes a buffer must have behind what is read of it."""

Fixed = NDArray[np.int64]

_WIDEST = 8
_MOST = 128
_MASKS = np.array([2 ** (8 * size) - 1 for size in range(9)], dtype=np.uint64)
_LF, _CR, _QUOTE, _NUL = b"\n", b"\r", b'"', b"\0"


class FieldCoder:
    """The codes of some columns, by their places in a record, while a file is read.

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

    def _bounds(self, buffer: bytearray, end: int) -> tuple[Fixed, Fixed]:
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
        own: Fixed,
        width: int,
        starts: Fixed,
        lengths: Fixed,
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
        self, own: Fixed, mixed: Words, same: NDArray[np.bool_], bounds: tuple[Fixed, Fixed],
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

    def _give_up(self, columns: Sequence[int] | Fixed) -> None:
        """Columns that have too many levels, or too long ones, are not looked at any more."""
        for column in map(int, columns):
            if column in self._needed:
                raise NotServed
            self.levels[column] = None

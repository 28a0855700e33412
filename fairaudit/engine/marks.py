"""Whether a block of bytes is whole records of RFC 4180, by the bits of its marks.

Each mark (line end, separator, quote) becomes a bit set, one bit a byte and 64 a word, so that a
step of the grammar is one operation on a sixty-fourth of the block. What lies between quotes is the
running parity of theirs, as in Langdale & Lemire (2019), Parsing Gigabytes of JSON per Second,
VLDB Journal 28:941.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Bits: TypeAlias = NDArray[np.uint64]
"""One bit for each byte, from the lowest of the first word on."""

_WORD = np.dtype("<u8")
_ONE, _LAST, _ZERO = np.uint64(1), np.uint64(63), np.uint64(0)
_STEPS = [np.uint64(step) for step in (1, 2, 4, 8, 16, 32)]
_LF, _CR, _QUOTE = b"\n", b"\r", b'"'


class Marks:
    """Looks at blocks of up to `size` bytes, one after the other, in the same memory."""

    def __init__(self, separator: str, fields: int, size: int) -> None:
        self._separator = separator.encode()
        self._separators = fields - 1
        self._same = np.empty(size + 64, dtype=np.bool_)

    def records(self, buffer: bytearray, end: int) -> int | None:
        """How many records the lines up to `end` are, each a line of its own with all fields.

        `end` is just behind a line end. None where a line is blank, ill-formed or no UTF-8.
        """
        block: NDArray[np.uint8] = np.frombuffer(buffer, dtype=np.uint8, count=end)
        if not _is_utf8(buffer, block):
            return None
        ends, separators = self._bits(block, _LF), self._bits(block, self._separator)
        starts = _shifted_up(ends)
        starts[0] |= _ONE
        if np.any(ends & starts):
            return None
        returns = None
        if buffer.find(_CR, 0, end) >= 0:
            returns = self._bits(block, _CR)
            if np.any(returns & (starts | ~_shifted_down(ends))):
                return None
        if buffer.find(_QUOTE, 0, end) >= 0:
            quotes = self._bits(block, _QUOTE)
            inside = _inside(quotes)
            separators &= ~inside
            bounds = ends | separators if returns is None else ends | separators | returns
            if np.any(ends & inside) or not _well_quoted(quotes, inside, starts, bounds):
                return None
        return _lines(ends, separators, self._separators)

    def _bits(self, block: NDArray[np.uint8], mark: bytes) -> Bits:
        size = len(block)
        same = self._same[: -(-size // 64) * 64]
        np.equal(block, mark[0], out=same[:size])
        same[size:] = False
        return np.packbits(same, bitorder="little").view(_WORD)


def _is_utf8(buffer: bytearray, block: NDArray[np.uint8]) -> bool:
    if int(block.max()) < 128:  # ASCII
        return True
    try:
        str(memoryview(buffer)[: len(block)], "utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _shifted_up(bits: Bits) -> Bits:
    """What stands just behind."""
    shifted = bits << _ONE
    shifted[1:] |= bits[:-1] >> _LAST
    return shifted


def _shifted_down(bits: Bits) -> Bits:
    """What stands just before."""
    shifted = bits >> _ONE
    shifted[:-1] |= bits[1:] << _LAST
    return shifted


def _inside(quotes: Bits) -> Bits:
    """From each opening quote to just before its closing one; an open quote reaches the end."""
    inside = quotes.copy()
    for step in _STEPS:
        inside ^= inside << step
    odd = np.bitwise_xor.accumulate(inside >> _LAST)
    inside[1:] ^= _ZERO - odd[:-1]
    return inside


def _well_quoted(quotes: Bits, inside: Bits, starts: Bits, bounds: Bits) -> bool:
    """Whether a quote opens where a field begins and closes where it ends, or is doubled.

    The first of two quotes that stand for one is read as closing, the second as opening again.
    """
    opening, closing = quotes & inside, quotes & ~inside
    begins = starts | _shifted_up(bounds | closing)
    stops = _shifted_down(bounds | opening)
    return not np.any(opening & ~begins) and not np.any(closing & ~stops)


def _lines(ends: Bits, separators: Bits, of_each: int) -> int | None:
    """How many lines there are; None where one has more or fewer separators than `of_each`.

    That is so if as many lines as have ended have all their separators, wherever one ends.
    """
    in_word, lines_in_word = np.bitwise_count(separators), np.bitwise_count(ends)
    seen = np.cumsum(in_word, dtype=np.int64) - in_word
    ended = np.cumsum(lines_in_word, dtype=np.int64) - lines_in_word
    total = int(ended[-1]) + int(lines_in_word[-1])
    at = np.flatnonzero(ends)
    while len(at):  # the first end of each word, then the second, and so on
        ends, separators, seen, ended = ends[at], separators[at], seen[at], ended[at] + 1
        below = (ends & (_ZERO - ends)) - _ONE
        if np.any(seen + np.bitwise_count(separators & below) != of_each * ended):
            return None
        ends &= ends - _ONE
        at = np.flatnonzero(ends)
    return total

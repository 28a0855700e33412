"""CSV check 2, without a kernel: NumPy on bytes; passes clean files, leaves others to check 3.

Each line end, separator and quote becomes a bit set, one bit a byte and 64 a word, so that a step
of the grammar of RFC 4180 is one operation on a sixty-fourth of the block. What lies between quotes
is the running parity of theirs, as in Langdale & Lemire (2019), Parsing Gigabytes of JSON per
Second, VLDB Journal 28:941. A file with a blank line or a fault is left to `csv_line_checks`, which
names the line.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairaudit.base.errors import DataError
from fairaudit.base.progress import Progress
from fairaudit.counting.columns import CsvFormat
from fairaudit.counting.sources.sources import SourceFile

_BLOCK = 2**21
THREADS = 2
_LF, _CR, _QUOTE = b"\n", b"\r", b'"'

Bits: TypeAlias = NDArray[np.uint64]
"""One bit for each byte, from the lowest of the first word on."""

_WORD = np.dtype("<u8")
_ONE, _LAST, _ZERO = np.uint64(1), np.uint64(63), np.uint64(0)
_STEPS = [np.uint64(step) for step in (1, 2, 4, 8, 16, 32)]


def plain_lines(file: SourceFile, form: CsvFormat, progress: Progress) -> int | None:
    """How many lines below the header a plain file has; None where a closer look is needed.

    All of them are then records of RFC 4180 with the header's fields, in UTF-8, and none is blank.
    """
    path, fields, size = file.path, len(file.header), file.unpacked_size
    if form.multiline or size is None or not form.separator.isascii():
        return None
    progress.start(f"checking {file.file.path}", size, "bytes")
    try:
        return _count_in_threads(path, form.separator, fields, size, progress)
    except OSError as error:
        raise DataError.unreadable(file.file.path, "damaged, truncated or gone") from error


def _count_in_threads(
    path: Path, separator: str, fields: int, size: int, progress: Progress
) -> int | None:
    from concurrent.futures import ThreadPoolExecutor

    ranges = parts(path, size, THREADS)
    if ranges is None:
        return None
    work = _Check(path, separator, fields, progress)
    with ThreadPoolExecutor(THREADS) as pool:
        # A thread takes longer to begin than a block to be read.
        apply = map if size < _BLOCK else pool.map
        try:
            counts = list(apply(lambda ends: work.lines(*ends), ranges))
        except BaseException:
            # After an interruption nobody waits for the blocks that are left.
            work.failed = True
            raise
    return None if None in counts else sum(count for count in counts if count is not None)


def parts(path: Path, size: int, count: int) -> list[tuple[int, int]] | None:
    """Where so many parts of a file below its header begin and end; some may be empty.

    None where a line is longer than a block.
    """
    bounds = [_line_start(path, size * number // count, size) for number in range(count)]
    starts = [start for start in bounds if start is not None]
    if len(starts) < len(bounds):
        return None
    return list(zip(starts, [*starts[1:], size], strict=True))


def _line_start(path: Path, start: int, size: int) -> int | None:
    """Where the next line begins, if only at the end of all; None where none does for a block."""
    with path.open("rb", buffering=0) as stream:
        stream.seek(start)
        read = stream.read(_BLOCK)
    end = read.find(_LF)
    if end < 0:
        return size if start + len(read) >= size else None
    return start + end + 1


class _Check:
    """What a line must be, and how far all threads are."""

    def __init__(self, path: Path, separator: str, fields: int, progress: Progress) -> None:
        self.path = path
        self.separator = separator
        self.fields = fields
        self.progress = progress
        self.failed = False

    def lines(self, start: int, stop: int) -> int | None:
        """The lines of a part of the file that begins with a line; None where one is not plain."""
        buffer = bytearray(_BLOCK + 1)
        marks = RecordCounter(self.separator, self.fields, len(buffer))
        total = 0
        for end in line_blocks(self.path, start, stop, buffer, _BLOCK):
            lines = marks.records(buffer, end) if end and not self.failed else None
            if lines is None:
                self.failed = True
                return None
            total += lines
            self.progress.advance(end, "bytes")
        return None if self.failed else total


def line_blocks(path: Path, start: int, stop: int, buffer: bytearray, size: int) -> Iterator[int]:
    """Reads a part of a file into the buffer, whole lines of up to `size` bytes at a time.

    Each time it gives where the last line ends: 0 where one is longer, or the file has shrunk.
    """
    with path.open("rb", buffering=0) as stream:
        while start < stop:
            stream.seek(start)
            read = stream.readinto(memoryview(buffer)[: min(size, stop - start)]) or 0
            end = buffer.rfind(_LF, 0, read) + 1
            if read and start + read == stop and end < read:
                # The last line need not have an end.
                buffer[read : read + 1] = _LF
                end = read + 1
            yield end
            if not end:
                return
            start += end


class RecordCounter:
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
        return _count_lines(ends, separators, self._separators)

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


def _count_lines(ends: Bits, separators: Bits, of_each: int) -> int | None:
    """How many lines there are; None where one has more or fewer separators than `of_each`.

    That is so if as many lines as have ended have all their separators, wherever one ends.
    """
    in_word, lines_in_word = np.bitwise_count(separators), np.bitwise_count(ends)
    seen = np.cumsum(in_word, dtype=np.int64) - in_word
    ended = np.cumsum(lines_in_word, dtype=np.int64) - lines_in_word
    total = int(ended[-1]) + int(lines_in_word[-1])
    words = np.flatnonzero(ends)
    while len(words):  # the first end of each word, then the second, and so on
        ends, separators, seen, ended = (
            ends[words],
            separators[words],
            seen[words],
            ended[words] + 1,
        )
        below = (ends & (_ZERO - ends)) - _ONE
        if np.any(seen + np.bitwise_count(separators & below) != of_each * ended):
            return None
        ends &= ends - _ONE
        words = np.flatnonzero(ends)
    return total

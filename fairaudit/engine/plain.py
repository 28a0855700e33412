"""CSV without quotes, checked at the speed of memory: a line is as many fields as it has marks.

Where there are no quotes, a line is a record, and it has the header's fields if it has their number
of separators. That is counted on the bytes themselves, in blocks of whole lines, in two threads.
Whatever is not that plain is left to the grammar.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fairaudit.engine.sources import Source
from fairaudit.errors import DataError
from fairaudit.progress import Progress
from fairaudit.spec import Format

_BLOCK = 2**20
_MOST_FIELDS = 256
_THREADS = 2
_LF, _CR = b"\n", b"\r"
_PLACE = np.array([7 - max(bits.bit_length() - 1, 0) for bits in range(256)])
"""Where the one bit of a byte stands, from the left."""


def plain_lines(one: Source, form: Format, progress: Progress) -> int | None:
    """How many lines below the header a plain file has; None where a closer look is needed.

    All of them are then records of as many fields, in UTF-8, without a quote or a blank line.
    """
    path, fields, size = one.path, len(one.header), one.unpacked_size
    if form.multiline or size is None or fields > _MOST_FIELDS or not form.separator.isascii():
        return None
    progress.start(f"checking {one.file.path}", size, "bytes")
    try:
        return _lines(path, form.separator, fields, size, progress)
    except OSError as error:
        raise DataError.unreadable(one.file.path, "damaged, truncated or gone") from error


def _lines(path: Path, separator: str, fields: int, size: int, progress: Progress) -> int | None:
    bounds = [_line_start(path, at) for at in (0, size // _THREADS)]
    if None in bounds:
        return None
    ranges = list(zip(bounds, [*bounds[1:], size], strict=True))
    work = _Check(path, ord(separator), fields, progress)
    with ThreadPoolExecutor(_THREADS) as pool:
        try:
            found = list(pool.map(lambda ends: work.lines(*ends), ranges))
        except BaseException:
            # After an interruption nobody waits for the blocks that are left.
            work.failed = True
            raise
    return None if None in found else sum(one for one in found if one is not None)


def _line_start(path: Path, at: int) -> int | None:
    """Where the next line begins; None where none does for a whole block."""
    with path.open("rb", buffering=0) as stream:
        stream.seek(at)
        end = stream.read(_BLOCK).find(_LF)
    return None if end < 0 else at + end + 1


class _Check:
    """What a line must be, and how far all threads are."""

    def __init__(self, path: Path, mark: int, fields: int, progress: Progress) -> None:
        self.path = path
        self.mark = mark
        self.marks = fields - 1
        self.progress = progress
        self.failed = False

    def lines(self, start: int, stop: int) -> int | None:
        """The lines of a part of the file that begins with a line; None where one is not plain."""
        buffer = bytearray(_BLOCK + 1)
        found = 0
        with self.path.open("rb", buffering=0) as stream:
            while start < stop and not self.failed:
                stream.seek(start)
                size = stream.readinto(memoryview(buffer)[: min(_BLOCK, stop - start)]) or 0
                end = buffer.rfind(_LF, 0, size) + 1
                if size and start + size == stop and end < size:
                    # The last line need not have an end.
                    buffer[size : size + 1] = _LF
                    size = end = size + 1
                lines = self._whole_lines(buffer, end) if end else None
                if lines is None:
                    self.failed = True
                    return None
                found += lines
                start += end
                self.progress.advance(end, "bytes")
        return None if self.failed else found

    def _whole_lines(self, buffer: bytearray, end: int) -> int | None:
        """How many lines a block has; None where one of them is not plain."""
        block: NDArray[np.uint8] = np.frombuffer(buffer, dtype=np.uint8, count=end)
        if buffer.find(b'"', 0, end) >= 0 or not _is_utf8(buffer, block):
            return None
        ends = _ends(block)
        starts = np.concatenate([[0], ends[:-1] + 1])
        marks = (block == self.mark).view(np.uint8)
        # Sums of bytes wrap at 256: that no line has so many more is seen by the sum of all.
        of_each = np.add.reduceat(marks, starts, dtype=np.uint8)
        if np.any(of_each != self.marks) or np.count_nonzero(marks) != self.marks * len(ends):
            return None
        lengths = ends - starts
        if buffer.find(_CR, 0, end) >= 0:
            returns = block[np.maximum(ends - 1, 0)] == _CR[0]
            if np.count_nonzero(block == _CR[0]) != np.count_nonzero(returns):
                return None
            lengths -= returns
        return len(ends) if lengths.min() > 0 else None


def _ends(block: NDArray[np.uint8]) -> NDArray[np.intp]:
    """Where the lines end: a byte of eight signs with one end at a time, as most lines are long."""
    is_end = block == _LF[0]
    packed = np.packbits(is_end)
    at = np.flatnonzero(packed)
    bits = packed[at]
    if np.any(bits & (bits - 1)):  # two ends in one byte
        return np.flatnonzero(is_end)
    ends: NDArray[np.intp] = at * 8 + _PLACE[bits]
    return ends


def _is_utf8(buffer: bytearray, block: NDArray[np.uint8]) -> bool:
    if int(block.max()) < 128:  # ASCII
        return True
    try:
        str(memoryview(buffer)[: len(block)], "utf-8")
    except UnicodeDecodeError:
        return False
    return True

"""CSV checked at the speed of memory, on its bytes: in blocks of whole lines, in two threads.

Whatever is not plain (a blank line, a fault) is left to the grammar, which tells it with its line.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fairaudit.engine.marks import Marks
from fairaudit.engine.sources import Source
from fairaudit.errors import DataError
from fairaudit.progress import Progress
from fairaudit.spec import Format

_BLOCK = 2**21
_THREADS = 2
_LF = b"\n"


def plain_lines(one: Source, form: Format, progress: Progress) -> int | None:
    """How many lines below the header a plain file has; None where a closer look is needed.

    All of them are then records of RFC 4180 with the header's fields, in UTF-8, and none is blank.
    """
    path, fields, size = one.path, len(one.header), one.unpacked_size
    if form.multiline or size is None or not form.separator.isascii():
        return None
    progress.start(f"checking {one.file.path}", size, "bytes")
    try:
        return _lines(path, form.separator, fields, size, progress)
    except OSError as error:
        raise DataError.unreadable(one.file.path, "damaged, truncated or gone") from error


def _lines(path: Path, separator: str, fields: int, size: int, progress: Progress) -> int | None:
    ranges = parts(path, size)
    if ranges is None:
        return None
    work = _Check(path, separator, fields, progress)
    with ThreadPoolExecutor(_THREADS) as pool:
        try:
            found = list(pool.map(lambda ends: work.lines(*ends), ranges))
        except BaseException:
            # After an interruption nobody waits for the blocks that are left.
            work.failed = True
            raise
    return None if None in found else sum(one for one in found if one is not None)


def parts(path: Path, size: int) -> list[tuple[int, int]] | None:
    """Where the parts of a file below its header begin and end, a part for each thread.

    None where a line is longer than a block.
    """
    bounds = [_line_start(path, at) for at in (0, size // _THREADS)]
    starts = [at for at in bounds if at is not None]
    if len(starts) < len(bounds):
        return None
    return list(zip(starts, [*starts[1:], size], strict=True))


def _line_start(path: Path, at: int) -> int | None:
    """Where the next line begins; None where none does for a whole block."""
    with path.open("rb", buffering=0) as stream:
        stream.seek(at)
        end = stream.read(_BLOCK).find(_LF)
    return None if end < 0 else at + end + 1


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
        marks = Marks(self.separator, self.fields, len(buffer))
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
                lines = marks.records(buffer, end) if end else None
                if lines is None:
                    self.failed = True
                    return None
                found += lines
                start += end
                self.progress.advance(end, "bytes")
        return None if self.failed else found

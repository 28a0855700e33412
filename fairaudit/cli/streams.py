"""stdin, stdout and stderr: broken pipes, closed streams, `--color`.

stdout carries the report and thereby the verdict. A loss on stderr changes nothing.
"""

from __future__ import annotations

import contextlib
import io
import os
import select
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, TextIO, TypeAlias

from fairaudit.base.errors import Unwritten
from fairaudit.base.masking import mask

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

Color: TypeAlias = Literal["auto", "always", "never"]
"""What `--color` may be."""

_STDERR = 2
_STREAMS = ((0, "stdin", os.O_WRONLY), (1, "stdout", os.O_RDONLY), (2, "stderr", os.O_RDONLY))
"""Numbers, names, and modes to replace closed streams: reading, or writing, then fails."""


def is_colored(color: Color) -> bool | None:
    """Whether to print in colours; None if the stream decides.

    `NO_COLOR`, `FORCE_COLOR`, `CLICOLOR_FORCE` and `CLICOLOR` are as no-color.org, force-color.org
    and bixense.com/clicolors have them, in this order.
    """
    if color != "auto":
        return color == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR") or os.environ.get("CLICOLOR_FORCE", "0") not in {"", "0"}:
        return True
    return False if os.environ.get("CLICOLOR") == "0" else None


def open_all() -> None:
    """Opens the streams that are closed, and watches over what is written.

    The next file that is opened takes the number of a closed stream: what a library writes to
    stderr would end up in somebody's report.
    """
    for number, name, mode in _STREAMS:
        try:
            os.fstat(number)
        except OSError:
            # The new file gets the lowest free number: this one, as all lower ones are open.
            os.open(os.devnull, mode)
        if getattr(sys, name) is None:
            stream = open(number, "w" if number else "r", closefd=False)  # noqa: SIM115  # open as long as the process lives
            setattr(sys, name, stream)
            # A stream without a reference would be closed.
            setattr(sys, f"__{name}__", stream)
    sys.stdout = watched(sys.stdout, is_report=True)
    sys.stderr = watched(sys.stderr, is_report=False)


def write_line(line: str) -> None:
    """Writes a line to stderr."""
    sys.stderr.write(f"{mask(line)}\n")
    sys.stderr.flush()


def report_is_lost() -> bool:
    """Whether something that was written to stdout did not arrive."""
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return isinstance(raw, Watched) and raw.lost


class Watched(io.RawIOBase):
    """Passes bytes on to a file until that takes no more; from then on they are dropped.

    The first loss of a report ends the command; the verdict does not depend on other messages.
    """

    def __init__(self, file: io.FileIO, *, is_report: bool) -> None:
        super().__init__()
        self.file = file
        self.is_report = is_report
        self.lost = False

    def writable(self) -> bool:
        """Yes: `BufferedWriter` asks."""
        return True

    def fileno(self) -> int:
        """The descriptor of the file."""
        return self.file.fileno()

    def isatty(self) -> bool:
        """Whether the file is a terminal."""
        return self.file.isatty()

    def write(self, data: WriteableBuffer, /) -> int | None:
        """Writes what the stream takes; after an error the rest is dropped, and `lost` says so.

        Raises `Unwritten` for a report, which libraries do not mistake for an error of their files.
        """
        if self.lost:
            return memoryview(data).nbytes
        try:
            while (written := self.file.write(data)) is None:
                # The stream is non-blocking, but we wait.
                select.select([], [self.file], [])
        except OSError as error:
            self.lost = True
            if self.is_report:
                why = error.strerror or str(error)
                raise Unwritten(f"the report could not be written to stdout: {why}") from error
            return memoryview(data).nbytes
        return written


def watched(stream: TextIO, *, is_report: bool) -> TextIO:
    """The same stream, its bytes watched over; every sign can be written, if need be as escape."""
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    # With `python -u`, `stream.buffer` is the raw file itself.
    raw: Any = getattr(stream.buffer, "raw", stream.buffer)
    return io.TextIOWrapper(
        io.BufferedWriter(Watched(raw, is_report=is_report)),
        encoding=stream.encoding,
        errors="backslashreplace",
        line_buffering=stream.line_buffering,
    )


@contextlib.contextmanager
def silenced(*, debug: bool) -> Iterator[None]:
    """Drops output of libraries on stderr below Python's level; `debug` shows it.

    Such output refers to the source of the library; our own error explains the problem.
    `sys.stderr` still works.
    """
    try:
        own = os.dup(_STDERR)
    except OSError:  # it is closed
        debug = True
    if debug or sys.stderr is None:
        yield
        return
    encoding = sys.stderr.encoding
    with open(own, "w", encoding=encoding, errors="backslashreplace", buffering=1) as plain:  # noqa: PTH123  # a descriptor has no path
        sys.stderr.flush()
        nobody = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nobody, _STDERR)
        os.close(nobody)
        try:
            with contextlib.redirect_stderr(watched(plain, is_report=False)):
                yield
        finally:
            os.dup2(own, _STDERR)

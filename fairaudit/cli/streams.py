"""stdin, stdout and stderr: broken pipes, closed streams, `--color`.

If a report cannot be written to stdout, the command ends with an error. If a message cannot be
written to stderr, the command continues.
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
"""The possible values of `--color`."""

_STDERR = 2
_STREAMS = ((0, "stdin", os.O_WRONLY), (1, "stdout", os.O_RDONLY), (2, "stderr", os.O_RDONLY))
"""The number and name of each stream, and the mode of the file that replaces a closed stream.

In this mode, reading from stdin and writing to the other streams fails.
"""


def is_colored(color: Color) -> bool | None:
    """Whether to print in colours; None if the stream decides.

    The variables `NO_COLOR`, `FORCE_COLOR`, `CLICOLOR_FORCE` and `CLICOLOR` are checked in this
    order. no-color.org, force-color.org and bixense.com/clicolors define them.
    """
    if color != "auto":
        return color == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR") or os.environ.get("CLICOLOR_FORCE", "0") not in {"", "0"}:
        return True
    return False if os.environ.get("CLICOLOR") == "0" else None


def open_all() -> None:
    """Replaces closed streams, and makes stdout and stderr notice lost output.

    The next file that is opened would get the number of a closed stream. Then a library that writes
    to stderr would write into a report.
    """
    for number, name, mode in _STREAMS:
        try:
            os.fstat(number)
        except OSError:
            # The new file gets the lowest free number, which is the number of the closed stream.
            os.open(os.devnull, mode)
        if getattr(sys, name) is None:
            stream = open(number, "w" if number else "r", closefd=False)  # noqa: SIM115  # open as long as the process lives
            setattr(sys, name, stream)
            # A stream without a reference would be closed.
            setattr(sys, f"__{name}__", stream)
    sys.stdout = watched(sys.stdout, is_report=True)
    sys.stderr = watched(sys.stderr, is_report=False)


def write_line(line: str) -> None:
    """Writes a line to stderr; credentials are masked."""
    sys.stderr.write(f"{mask(line)}\n")
    sys.stderr.flush()


def report_is_lost() -> bool:
    """Whether some output to stdout was lost."""
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return isinstance(raw, Watched) and raw.lost


class Watched(io.RawIOBase):
    """Writes bytes to a file; after the first error, further bytes are dropped.

    If the bytes are a report, the error ends the command. Lost messages do not end it.
    """

    def __init__(self, file: io.FileIO, *, is_report: bool) -> None:
        super().__init__()
        self.file = file
        self.is_report = is_report
        self.lost = False

    def writable(self) -> bool:
        """True, as `BufferedWriter` requires."""
        return True

    def fileno(self) -> int:
        """The descriptor of the file."""
        return self.file.fileno()

    def isatty(self) -> bool:
        """Whether the file is a terminal."""
        return self.file.isatty()

    def write(self, data: WriteableBuffer, /) -> int | None:
        """Writes the data, or a part of it; after an error `lost` is True and data is dropped.

        For a report, raises `Unwritten`, because libraries could take an `OSError` for an error of
        the files that they read.
        """
        if self.lost:
            return memoryview(data).nbytes
        try:
            while (written := self.file.write(data)) is None:
                # The stream is non-blocking and not ready: wait until it is ready.
                select.select([], [self.file], [])
        except OSError as error:
            self.lost = True
            if self.is_report:
                why = error.strerror or str(error)
                raise Unwritten(f"the report could not be written to stdout: {why}") from error
            return memoryview(data).nbytes
        return written


def watched(stream: TextIO, *, is_report: bool) -> TextIO:
    """The stream with a `Watched` file; characters outside its encoding are written as escapes."""
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
    """Hides output that libraries write directly to the file of stderr, unless `debug` is set.

    Such output is about the source code of the library; the error of fairaudit explains the
    problem. `sys.stderr` still works.
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

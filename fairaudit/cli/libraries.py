"""What libraries write to stderr behind Python's back: where in their own source they gave up.

An error is told in our own words, so theirs are dropped while an audit runs; `--debug` shows them.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

from fairaudit.cli import streams

_STDERR = 2


@contextlib.contextmanager
def silenced(*, debug: bool) -> Iterator[None]:
    """Leaves `sys.stderr` where it is, and its file descriptor to nobody."""
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
            with contextlib.redirect_stderr(streams.watched(plain, streams.Messages)):
                yield
        finally:
            os.dup2(own, _STDERR)

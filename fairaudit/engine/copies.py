"""Copies of data for as long as a pass lasts, in files that have no name where the system has such.

Whatever ends the process, a signal or an abort, such a file goes with it. Elsewhere the files have
names, and are removed when the pass is over.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import IO

_MOST_OPEN = 100
"""So many copies are made before more files than usual may be open at once."""


class Copies(contextlib.ExitStack):
    """Where copies of data are made; they last until it is closed."""

    def __init__(self) -> None:
        super().__init__()
        self._count = 0

    def new(self) -> tuple[IO[bytes], Path]:
        """A new file to write to, and the path by which others read it."""
        self._count += 1
        if self._count == _MOST_OPEN:
            _raise_limit()
        nameless = tempfile.TemporaryFile()  # noqa: SIM115  # kept open until the pass is over
        self.callback(_close, nameless)
        # Opened by this path it is read from its beginning, by any process of ours.
        path = Path(f"/proc/{os.getpid()}/fd/{nameless.fileno()}")
        if path.exists():
            return nameless, path
        number, name = tempfile.mkstemp(prefix="fairaudit-", suffix=".csv")
        named = os.fdopen(number, "wb")
        self.callback(Path(name).unlink, missing_ok=True)
        self.callback(_close, named)
        return named, Path(name)


def _close(file: IO[bytes]) -> None:
    """Closes a file; what did not fit was told when it was written, and is tried once more."""
    with contextlib.suppress(OSError):
        file.close()


def _raise_limit() -> None:
    """As many files may be open at once as the system allows: each copy is one."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

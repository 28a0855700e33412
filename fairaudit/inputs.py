"""Reads whole files: regular ones only, and none that is larger than such a file can be.

A pipe may never end, and a device never does.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

SPEC = 2_000_000
"""So many bytes a spec may have, or a file of waivers: some 40,000 lines."""

REPORT = 500_000_000
"""So many bytes a stored report may have."""

_NOT_REGULAR = "not a regular file"


NO_PATH = "it holds a NUL, or half of a character"


def can_be_named(path: str) -> bool:
    """Whether a text can be a path at all."""
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


def refuse_special(path: Path) -> None:
    """Raises `OSError` where a path is no regular file: opening a pipe may wait for ever."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, _NOT_REGULAR)


def read(path: Path, most: int) -> bytes:
    """The bytes of a regular file; raises `OSError`, also where there are more than `most`."""
    try:
        refuse_special(path)
    except ValueError as error:  # a NUL in the path
        raise OSError(errno.EINVAL, f"this is no path: {NO_PATH}") from error
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        # Some say that they are empty, such as those of /proc.
        content = b"" if size > most else file.read(most + 1)
    if size > most or len(content) > most:
        size = max(size, len(content))
        raise OSError(errno.EFBIG, f"{size:,} bytes, and at most {most:,} are read")
    return content

"""Writes and removes single files atomically; refuses an output that is an input of the run.

Files of an earlier run with the same names are removed before anything is read. If a signal ends
the run, nothing can be mistaken for its report.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Mapping
from pathlib import Path

from fairaudit.base import names, trust
from fairaudit.base.errors import UsageError
from fairaudit.base.frozen import Frozen, field

_ONLY_IN_PLACE = {
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EXDEV, errno.ENAMETOOLONG)
}
"""Errors for which a file is overwritten in place, because it cannot be replaced."""


class Identity(Frozen):
    """The identity of a file, the same for each path and each link that leads to it."""

    device: int
    number: int

    @classmethod
    def of(cls, path: Path) -> Identity | None:
        """The file at a path; None if it does not exist."""
        try:
            status = path.stat()
        except (OSError, ValueError):
            return None
        return cls(status.st_dev, status.st_ino)


class Outputs(Frozen):
    """Where a command writes, what it reads, and the reports that a folder listed before.

    `unwritten` are the paths that nothing was written to yet: an error that ends the command is.
    """

    paths: tuple[Path, ...] = ()
    inputs: Mapping[Identity, str] = field(default_factory=dict)
    earlier: Mapping[Path, frozenset[str]] = field(default_factory=dict)
    unwritten: set[Path] = field(default_factory=set)

    def refuse(self, path: Path) -> None:
        """Raises `UsageError` where a file that is read would be written over."""
        known = Identity.of(path)
        if known is not None and known in self.inputs:
            read = names.copied(self.inputs[known])
            what = f"-o {names.copied(str(path))}: the command reads {read} from there"
            raise UsageError(what, "name another place")

    def write(self, path: Path, content: str | bytes) -> None:
        """Writes a complete file or nothing; a link is followed, not replaced.

        If the file cannot be replaced, it is overwritten in place: it may be mounted into a folder
        without write permission.
        """
        self.unwritten.discard(path)
        self.refuse(path)
        # Unlike `resolve`, this takes a link that leads to itself.
        target = Path(os.path.realpath(path))
        data = content if isinstance(content, bytes) else content.encode(errors="backslashreplace")
        try:
            trust.refuse_output(path)
            if target.exists() and not target.is_file():
                # A pipe or a device is written to, never replaced.
                target.write_bytes(data)
            else:
                _replace(target, data)
        except OSError as error:
            why = error.strerror or str(error)
            raise UsageError(f"-o {names.copied(str(path))}: {why}", "check the folder") from error


def clear(path: Path) -> None:
    """Removes a report of an earlier run; where that cannot be, it is left empty."""
    target = Path(os.path.realpath(path))
    if not target.is_file():
        return
    try:
        trust.refuse_output(path)
    except OSError as error:
        what = f"-o {names.copied(str(path))}: {error.strerror}"
        raise UsageError(what, "remove the link, or name another place") from error
    try:
        target.unlink()
    except OSError as error:
        try:
            os.truncate(target, 0)
        except OSError:
            why = error.strerror or str(error)
            raise UsageError(f"-o {names.copied(str(path))}: {why}", "check the folder") from error


def _replace(target: Path, data: bytes) -> None:
    """Writes to a temporary file, then replaces the target; removes partial files."""
    half = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        half.write_bytes(data)
        half.replace(target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            half.unlink(missing_ok=True)
        if target.is_file():
            if isinstance(error, OSError) and error.errno in _ONLY_IN_PLACE:
                try:
                    target.write_bytes(data)
                except BaseException:
                    with contextlib.suppress(OSError):
                        os.truncate(target, 0)
                    raise
                return
            # The existing file is a report of another run.
            clear(target)
        raise

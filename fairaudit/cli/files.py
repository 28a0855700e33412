"""Writes and removes single files atomically; refuses an output that is an input of the run.

What an earlier run left under the same names goes before anything is read: whatever ends this run,
a signal or an abort, nobody takes the old report for its own.
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
"""Why nothing can be put beside a file, or in its place, that may yet be written to itself."""


class Identity(Frozen):
    """The identity of a file, the same for each path and each link that leads to it."""

    device: int
    number: int

    @classmethod
    def of(cls, path: Path) -> Identity | None:
        """The file at a path; None where there is none."""
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
        """Writes a file whole or not at all; a link is followed, not replaced.

        Where nothing can be put in its place it is written to as it lies there: a single file may
        be mounted into a folder that cannot be written to.
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
    """Writes beside a file, then in its place; what lies half written is removed."""
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
            # What is there is of another run.
            clear(target)
        raise

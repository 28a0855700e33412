"""The files that a command writes: none over what it reads, each whole or not at all.

What an earlier run left under the same names goes before anything is read: whatever ends this run,
a signal or an abort, nobody takes the old report for its own.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fairaudit import names
from fairaudit.errors import UsageError

_ONLY_IN_PLACE = {
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EXDEV, errno.ENAMETOOLONG)
}
"""Why nothing can be put beside a file, or in its place, that may yet be written to itself."""


@dataclass(frozen=True, slots=True)
class Identity:
    """A file whatever it is called: two paths, a link or another spelling may lead to it."""

    device: int
    number: int

    @classmethod
    def of(cls, path: Path) -> Identity | None:
        """The file at a path; None where there is none."""
        try:
            found = path.stat()
        except (OSError, ValueError):
            return None
        return cls(found.st_dev, found.st_ino)


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where a command writes, what it reads, and the reports that a folder listed before."""

    paths: tuple[Path, ...]
    inputs: Mapping[Identity, str] = field(default_factory=dict)
    earlier: Mapping[Path, frozenset[str]] = field(default_factory=dict)

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
        self.refuse(path)
        # Unlike `resolve`, this takes a link that leads to itself.
        target = Path(os.path.realpath(path))
        data = content if isinstance(content, bytes) else content.encode(errors="backslashreplace")
        try:
            if target.exists() and not target.is_file():
                # A pipe or a device is written to, never replaced.
                target.write_bytes(data)
            else:
                _replace(target, data)
        except OSError as error:
            why = error.strerror or str(error)
            raise UsageError(f"-o {names.copied(str(path))}: {why}", "check the folder") from error


def begin(
    paths: Sequence[Path], inputs: Callable[[], Iterable[Path]], asked: Sequence[Path] = ()
) -> Outputs:
    """The outputs of a command, cleared of what an earlier one left; refuses what would be lost.

    Where one output is refused the others are cleared all the same: there will be no new report.
    `inputs` are asked for only where something lies that could be one of them. `asked` are the
    files that will be written into folders, as far as that is known.
    """
    from fairaudit.cli import folder

    folders = [path for path in paths if path.is_dir()]
    written = [path for path in paths if path not in folders]
    written += [path / name for path in folders for name in folder.FIXED]
    known: dict[Identity, str] = {}
    if any(path.exists() for path in written) or any(any(path.iterdir()) for path in folders):
        known = {of: str(path) for path in inputs() if (of := Identity.of(path)) is not None}
    outputs = Outputs(tuple(paths), known, {path: folder.listed_in(path) for path in folders})
    refused = None
    for path in (*written, *asked):
        try:
            outputs.refuse(path)
        except UsageError as error:
            refused = refused or error
        else:
            _clear(path)
    if refused is not None:
        raise refused
    return outputs


def _clear(path: Path) -> None:
    """Removes a report of an earlier run; where that cannot be, it is left empty."""
    target = Path(os.path.realpath(path))
    if not target.is_file():
        return
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
                _write_in_place(target, data)
                return
            # What is there is of another run.
            _clear(target)
        raise


def _write_in_place(target: Path, data: bytes) -> None:
    try:
        target.write_bytes(data)
    except BaseException:
        with contextlib.suppress(OSError):
            os.truncate(target, 0)
        raise

"""Finds the data files that paths, folders and globs name, and names them in reports."""

from __future__ import annotations

import contextlib
import difflib
import fnmatch
import glob
import itertools
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

from fairaudit.base.disclosure_marks import Notice, Subjects
from fairaudit.base.errors import DataError, NothingToAudit, UsageError, did_you_mean
from fairaudit.base.frozen import Frozen
from fairaudit.base.inputs import (
    COUNTS_SUFFIX,
    NO_PATH,
    STDIN,
    can_be_named,
    find_origin,
    format_of,
    is_spooled,
    list_formats,
    spool_stdin,
)
from fairaudit.base.masking import mask
from fairaudit.base.names import quoted
from fairaudit.base.trust import refuse_path
from fairaudit.counting.sources.dialects import DIALECTS
from fairaudit.counting.sources.lakehouse_tables import Place, fetch_table, find_table, marks_table
from fairaudit.counting.sources.objects import SCHEMES, fetch_objects, is_object, note_unread

_ADDRESS = re.compile(r"jdbc:|([^/\s]+)://", re.IGNORECASE)


class Files(Frozen):
    """The `entries` of `data`: paths, folders and globs; relative paths start at `base`.

    `may_repeat` allows files with the same content.
    """

    entries: tuple[str, ...]
    base: Path = Path()
    may_repeat: bool = False

    @property
    def are_counts(self) -> bool:
        """Whether the entries are counts files; raises `UsageError` if only some of them are."""
        stored = [entry.lower().endswith(COUNTS_SUFFIX) for entry in self.entries]
        if any(stored) and not all(stored):
            what = "the data mixes files of rows and files of counts"
            raise UsageError(what, "count the rows as well: fairaudit count SPEC -o part.counts")
        return any(stored)


def find_files(entries: Sequence[str], base: Path) -> tuple[list[Path], list[Notice]]:
    """The files that entries of `data` name, each once, and notices on files that are not read.

    Relative paths start at `base`. Raises `NothingToAudit` if a glob or folder has no data file,
    and `DataError` if a named file is missing.
    """
    files: list[Path] = []
    notices: list[Notice] = []
    for entry in entries:
        try:
            named = _find_named(entry, base, notices)
            for path in named:
                if not is_spooled(path):
                    refuse_path(path)
            files += named
        except OSError as error:
            raise DataError(
                f"{mask(entry)[:200]}: {error.strerror or error}", "check the path"
            ) from error
    once = {os.path.realpath(path): path for path in reversed(files)}
    if len(once) < len(files):
        what = f"{len(files) - len(once)} files are named twice and read once"
        notices.append(Notice(what, Subjects.NOBODY))
    return list(reversed(once.values())), notices


def name_file(path: Path) -> str:
    """The name of a file in reports: printable, and relative if it is in the current folder."""
    if is_spooled(path):
        return STDIN
    if (origin := find_origin(path)) is not None:
        return origin
    plain = Path(os.path.normpath(path))
    with contextlib.suppress(ValueError):
        plain = plain.absolute().relative_to(Path.cwd())
    return os.fsencode(plain).decode(errors="backslashreplace")


def _find_named(entry: str, base: Path, notices: list[Notice]) -> list[Path]:
    """The files that one entry of `data` names; `-` is stdin."""
    if entry == STDIN:
        return [spool_stdin()]
    if not entry.strip():
        raise DataError("an empty path names no data", "name a file, a folder or a glob")
    if not can_be_named(entry):
        raise DataError(f"{quoted(entry)} is not a path: {NO_PATH}", "check the path")
    if is_object(entry):
        return fetch_objects(entry, notices)
    if entry.lower().startswith("file://"):
        entry = unquote(re.sub("^file://(localhost)?", "", entry, flags=re.IGNORECASE))
    if address := _ADDRESS.match(entry):
        known = [*SCHEMES, *DIALECTS, "file"]
        what = f"{mask(entry)[:200]}: no such kind of address: {address[0]}"
        near = did_you_mean(address[1] or "", known)
        raise UsageError(
            f"{what}{near}", f"fairaudit reads these kinds: {', '.join(known)}; and paths of files"
        )
    path = base / entry
    refuse_path(path)
    if path.is_file():
        return [path]
    if path.is_dir():
        return _in_folder(path, entry, notices)
    if glob.has_magic(entry):
        pattern = Path(entry)
        start = Path(pattern.anchor) if pattern.is_absolute() else base
        parts = pattern.parts[1:] if pattern.is_absolute() else pattern.parts
        matches = list(_matches(start, parts))
        folders = [entry for entry in matches if entry.is_dir()]
        if folders and "**" not in parts:
            names = ", ".join(repr(Path(mask(f"{entry}/")).name) for entry in folders[:3])
            what = f"the glob {entry} also finds folders, which are not read: {names}"
            notices.append(Notice(what, Subjects.NOBODY))
        files = [entry for entry in matches if entry not in folders]
        _refuse_table_files(f"the glob {entry} finds files of", files)
        return _require_files(files, f"the glob {entry} matches no file", "check the pattern")
    try:
        path.stat()
    except FileNotFoundError as error:
        # Suggest data files of the folder whose names are similar up to the first dot.
        there = list[str]()
        with contextlib.suppress(OSError):
            found = (entry.name for entry in os.scandir(path.parent))
            there = [name for name in found if format_of(Path(name))]
        stems = {name.partition(".")[0] for name in there}
        like = difflib.get_close_matches(path.name.partition(".")[0], stems)
        near = did_you_mean(path.name, [n for n in there if n.partition(".")[0] in like])
        raise DataError(
            f"the file {entry} does not exist{near}",
            f"check the path; looked in {Path(mask(str(path))).parent}",
        ) from error
    return [path]  # a pipe or a device, which the readers refuse


def _in_folder(path: Path, entry: str, notices: list[Notice]) -> list[Path]:
    """The data files below a folder; for a Delta or Iceberg table, a file of its current rows."""
    table = find_table(path)
    if table is not None:
        return [fetch_table(Place.here(path), entry, table)]
    everything = [found for name in ("*", ".*") for found in _matches(path, ("**", name))]
    _refuse_table_files(f"the folder {entry} holds", everything)
    known, others = [], []
    for found in everything:
        name = str(found.relative_to(path))
        is_hidden = found.name.startswith((".", "~"))
        if found.is_dir():
            # The files of a hidden folder are not listed.
            others += [f"{name}/"] if found.name.startswith(".") else []
        elif format_of(found) and not is_hidden:
            known.append(found)
        else:
            others.append(name)
    notices += note_unread(entry, others)
    return _require_files(known, f"the folder {entry} holds no file to audit", list_formats())


def _refuse_table_files(what: str, files: Sequence[Path]) -> None:
    """Raises `DataError` for files of a Delta or Iceberg table, because they may be out of date."""
    above = {folder for file in files for folder in Path(os.path.realpath(file)).parents}
    is_of_table = any(map(marks_table, files))
    for folder in above:
        with contextlib.suppress(PermissionError):
            is_of_table = is_of_table or find_table(folder) is not None
    if is_of_table:
        what = f"{what} a table of Delta or Iceberg: its files also hold deleted rows"
        raise DataError(what, "name the folder of the table itself")


def _matches(folder: Path, parts: Sequence[str]) -> Iterator[Path]:
    """The matches of a pattern below a folder, sorted; `*` does not match a dot at the start.

    This function raises `OSError` for a folder without permission, which `glob` would skip.
    """
    refuse_path(folder)
    if not parts:
        yield folder
    elif parts[0] == "**":
        rest = list(itertools.dropwhile("**".__eq__, parts))  # `**/**` is the same as `**`
        for inner in _folders(folder):
            yield from _matches(inner, rest)
    elif glob.has_magic(parts[0]):
        for entry in _entries(folder, hidden=parts[0].startswith(".")):
            if fnmatch.fnmatch(entry.name, parts[0]) and (len(parts) == 1 or entry.is_dir()):
                yield from _matches(folder / entry.name, parts[1:])
    elif os.path.lexists(folder / parts[0]):
        yield from _matches(folder / parts[0], parts[1:])


def _folders(folder: Path, seen: set[str] | None = None) -> Iterator[Path]:
    """A folder and all folders below it, each once, even if several links lead to it."""
    seen = set() if seen is None else seen
    real = os.path.realpath(folder)
    if real not in seen:
        seen.add(real)
        yield folder
        for entry in _entries(folder, hidden=False):
            if entry.is_dir():
                yield from _folders(folder / entry.name, seen)


def _entries(folder: Path, *, hidden: bool) -> list[os.DirEntry[str]]:
    """The sorted entries of a folder: `hidden` entries (with a dot first), or all other entries."""
    refuse_path(folder)
    with os.scandir(folder) as entries:
        shown = [entry for entry in entries if entry.name.startswith(".") is hidden]
    return sorted(shown, key=lambda entry: entry.name)


def _require_files(files: list[Path], message: str, hint: str) -> list[Path]:
    if not files:
        raise NothingToAudit(message, hint)
    return files

"""Input files: formats, compressions (add them here), maximum sizes, stdin, downloaded files.

Only regular files are read, because a pipe or a device may never end. Standard input, named by `-`,
is read once: into memory, or into a temporary folder, which also holds downloaded files.

To add a format, add a record to `FORMATS`. Also add the module in `counting/sources/` that the
record names, with the functions of `Reader` in `counting/sources/__init__.py`. If Polars cannot
read a compression, `read_columns` of `counting/sources/csv_reader.py` must copy the file; if Arrow
cannot, `open_bytes` of `counting/sources/__init__.py` needs a case.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from fairaudit.base.frozen import Frozen
from fairaudit.base.trust import refuse_path

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory


STDIN = "-"
"""The name of standard input on the command line and in reports."""

OPTION = "--set"
"""The `file` of a `Place` in a setting of the command line."""

SPEC = 2_000_000
"""The maximum size of a spec or a file of waivers in bytes, about 40,000 lines."""

REPORT = 500_000_000
"""The maximum size of a stored report in bytes."""

COUNTS_SUFFIX = ".counts"
"""The last suffix of a counts file."""

_fetched: dict[str, Path] = {}
_origins: dict[str, str] = {}

NO_PATH = "it contains a NUL character, or half of a character"


def can_be_named(path: str) -> bool:
    """Whether a text is a possible path."""
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


def is_file(name: str) -> bool:
    """Whether the `file` of a `Place` names a file, and not stdin or an option."""
    return name not in {STDIN, OPTION}


def refuse_special(path: Path) -> None:
    """Raises `OSError` if a path is not a regular file, or if `--untrusted` refuses it."""
    if not is_spooled(path):
        refuse_path(path)
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "not a regular file")


def read(path: Path, most: int) -> bytes:
    """The bytes of a regular file; raises `OSError` also if the file has more than `most` bytes."""
    try:
        refuse_special(path)
    except ValueError as error:  # a NUL in the path
        raise OSError(errno.EINVAL, f"this is not a path: {NO_PATH}") from error
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        # Some files, such as those of /proc, report a size of 0.
        content = b"" if size > most else file.read(most + 1)
    if size > most or len(content) > most:
        size = max(size, len(content))
        raise OSError(errno.EFBIG, f"it has {size:,} bytes, and the maximum is {most:,}")
    return content


def read_named(name: str, most: int) -> bytes:
    """The bytes of a file or of stdin; raises `OSError` also if there are more than `most`."""
    content = read_stdin(most) if name == STDIN else read(Path(name), most)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it has more than the maximum of {most:,} bytes")
    return content


@cache
def read_stdin(most: int) -> bytes:
    """Up to `most` + 1 bytes of stdin (cached)."""
    return sys.stdin.buffer.read(most + 1)


@cache
def spool_stdin() -> Path:
    """The path of a file with all of stdin; raises `OSError`. `forget_stdin` removes the file."""
    import shutil

    start = sys.stdin.buffer.read(FIRST_BYTES)
    path = Path(_spool_folder().name, f"stdin{suffix_of(start)}")
    with path.open("wb") as file:
        file.write(start)
        shutil.copyfileobj(sys.stdin.buffer, file)
    return path


@cache
def _spool_folder() -> TemporaryDirectory[str]:
    from tempfile import TemporaryDirectory

    return TemporaryDirectory(prefix="fairaudit-")


def find_origin(path: Path) -> str | None:
    """The address that a file was downloaded from; None for other files."""
    return _origins.get(str(path))


def keep_fetched(origin: str, state: str, name: str, write: Callable[[Path], None]) -> Path:
    """The path of a downloaded file; `write` creates it once for each `origin` and `state`.

    The suffix of `name` determines the format. Raises `OSError`. `forget_stdin` removes the file.
    """
    key = f"{origin}\n{state}"
    if key not in _fetched:
        folder = Path(_spool_folder().name, str(len(_fetched)))
        folder.mkdir()
        path = folder / name
        try:
            write(path)
        except BaseException:
            path.unlink(missing_ok=True)
            folder.rmdir()
            raise
        _fetched[key] = path
        _origins[str(path)] = origin
    return _fetched[key]


def is_spooled(path: Path) -> bool:
    """Whether a file is the temporary copy of stdin."""
    is_there = _spool_folder.cache_info().currsize > 0
    return is_there and str(path.parent) == _spool_folder().name


def forget_stdin() -> None:
    """Removes the temporary copies of stdin and of downloaded files."""
    if _spool_folder.cache_info().currsize:
        _spool_folder().cleanup()
    _fetched.clear()
    _origins.clear()
    for function in (read_stdin, spool_stdin, _spool_folder):
        function.cache_clear()


class Compression(Frozen):
    """A compression of text files: its name, and the first bytes of each compressed file."""

    name: str
    magic: bytes


COMPRESSIONS = {
    ".gz": Compression("gzip", b"\x1f\x8b"),
    ".zst": Compression("zstd", b"\x28\xb5\x2f\xfd"),
}
"""The compressions of text files, by the last suffix."""


class InputFormat(Frozen):
    """A format of data files: its name, its title in messages, its suffixes, its reader module.

    `magic` are the first bytes of each file; empty if the format has no fixed first bytes. Only
    text formats may be compressed. If `is_mapped`, reading a file takes as much address space as
    the file has bytes.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    reader: str
    hint_if_empty: str = "write it again"
    magic: bytes = b""
    is_text: bool = False
    is_mapped: bool = True


CSV = InputFormat(
    "csv",
    "CSV",
    (".csv", ".tsv", ".txt", ".data"),
    "csv_reader",
    "a CSV file has at least a header",
    is_text=True,
)

FORMATS = (
    CSV,
    InputFormat(
        "parquet", "Parquet", (".parquet", ".pq"), "parquet_files", magic=b"PAR1", is_mapped=False
    ),
    InputFormat("excel", "Excel", (".xlsx", ".xlsm"), "excel", magic=b"PK\x03\x04"),
)

TITLES = f"{', '.join(form.title for form in FORMATS[:-1])} or {FORMATS[-1].title}"
"""The titles of all formats, for a sentence about one file."""

_SHARED = {".txt", ".data"}
"""Suffixes of data files that a spec may also have."""

_SUFFIXES = {
    **{form.magic: form.suffixes[0] for form in FORMATS if form.magic},
    **{packing.magic: f"{CSV.suffixes[0]}{end}" for end, packing in COMPRESSIONS.items()},
}
"""The suffix of a format, by the first bytes of its files."""

FIRST_BYTES = max(map(len, _SUFFIXES))
"""The number of first bytes that identify the format of a file without a name."""


def find_compression(path: Path) -> str | None:
    """The name of the compression of a file, by its suffix; None if it is not compressed."""
    compression = COMPRESSIONS.get(path.suffix.lower())
    return compression.name if compression else None


def format_of(path: Path) -> InputFormat | None:
    """The format of a file, by its suffix; None if the suffix is unknown."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    is_packed = bool(suffixes) and suffixes[-1] in COMPRESSIONS
    suffix = "".join((suffixes[:-1] if is_packed else suffixes)[-1:])
    known = (form for form in FORMATS if form.is_text or not is_packed)
    return next((form for form in known if suffix in form.suffixes), None)


def is_surely_data(path: Path) -> bool:
    """Whether a file has a suffix that only data files have."""
    suffixes = {suffix for form in FORMATS for suffix in form.suffixes} - _SHARED
    return path.suffix.lower() in suffixes | {*COMPRESSIONS}


def suffix_of(start: bytes) -> str:
    """The suffix of a file's format, found by its first bytes; `.csv` if no format fits."""
    known = (suffix for magic, suffix in _SUFFIXES.items() if start.startswith(magic))
    return next(known, CSV.suffixes[0])


def list_formats() -> str:
    """A sentence that lists the formats that can be read, for a hint."""
    packed = f", also {' '.join(COMPRESSIONS)}"
    listed = (
        f"{form.title} ({' '.join(form.suffixes)}{packed if form.is_text else ''})"
        for form in FORMATS
    )
    return f"{', '.join(listed)} can be read"

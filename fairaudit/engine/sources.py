"""Which files there are, what they are, and how they are opened for reading."""

from __future__ import annotations

import csv
import glob
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from fairaudit.errors import DataError, NothingToAudit
from fairaudit.plan import File
from fairaudit.spec import Format

_CSV = (".csv", ".tsv", ".txt")
_PACKED = {".gz": "gzip", ".zst": "zstd"}
_PARQUET = (".parquet", ".pq")
_READABLE = "CSV (.csv .tsv .txt, also .gz .zst) and Parquet (.parquet .pq) can be read"
_CLOUD = ("s3://", "gs://", "gcs://", "az://", "abfs://", "http://", "https://", "hf://")
_HEADER_BYTES = 4_000_000


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read: its name in the report, and where its bytes are read from."""

    file: File
    path: Path
    kind: str
    header: tuple[str, ...] = ()


def find_files(entries: Sequence[str], base: Path) -> tuple[list[Path], list[str]]:
    """The files that paths, folders and globs name, each once, and notices on what is left out.

    Relative paths start at `base`. Raises `NothingToAudit` where a glob or folder holds no file,
    `DataError` where a named file is missing.
    """
    found: list[Path] = []
    notices: list[str] = []
    for entry in entries:
        try:
            found += _named_by(entry, base, notices)
        except OSError as error:
            raise DataError(f"{entry[:80]}: {error.strerror or error}", "check the path") from error
    once = {path.resolve(): path for path in reversed(found)}
    if len(once) < len(found):
        notices.append(f"{len(found) - len(once)} files are named twice and read once")
    return list(reversed(once.values())), notices


def _named_by(entry: str, base: Path, notices: list[str]) -> list[Path]:
    """The files that one entry of `data` names."""
    if not entry.strip():
        raise DataError("an empty path names no data", "name a file, a folder or a glob")
    if entry.startswith(_CLOUD):
        raise DataError(f"{entry}: object stores are not yet supported", "copy the file here")
    path = base / entry
    if path.is_file():
        return [path]
    if path.is_dir():
        inside = [one for one in path.rglob("*") if one.is_file()]
        known = sorted(
            one for one in inside if kind_of(one) and not one.name.startswith((".", "~"))
        )
        if len(known) < len(inside):
            notices.append(f"{len(inside) - len(known)} other files in {entry} are not read")
        return _some(known, f"the folder {entry} holds no file to audit", _READABLE)
    if glob.has_magic(entry):
        pattern = entry if Path(entry).is_absolute() else str(Path(glob.escape(str(base))) / entry)
        files = sorted(Path(one) for one in glob.glob(pattern, recursive=True))  # noqa: PTH207  # absolute patterns
        files = [one for one in files if one.is_file()]
        return _some(files, f"the glob {entry} matches no file", "check the pattern")
    raise DataError(f"there is no file {entry}", f"looked in {path.parent}")


def kind_of(path: Path) -> str | None:
    """`csv` or `parquet` by the file's name, None where it is neither."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _PARQUET:
        return "parquet"
    if suffixes and suffixes[-1] in _PACKED:
        suffixes.pop()
    return "csv" if suffixes and suffixes[-1] in _CSV else None


def source(path: Path, name: str) -> Source:
    """The source that a file is; raises `DataError` where its kind is not known."""
    kind = kind_of(path)
    if kind is None:
        raise DataError(f"{name}: not known what kind of file this is", _READABLE)
    try:
        stat = path.stat()
        with path.open("rb"):
            pass
    except OSError as error:
        raise DataError(f"{name}: {error.strerror or error}", "check the path") from error
    if not stat.st_size:
        raise DataError(f"{name}: the file is empty", "a CSV file has at least a header")
    return Source(File(name, stat.st_size, stat.st_mtime), path, kind)


def open_bytes(path: Path) -> IO[bytes]:
    """The bytes of a file, unpacked."""
    packing = _PACKED.get(path.suffix.lower())
    return io.BufferedReader(pa.input_stream(str(path), compression=packing))


def read_header(one: Source, form: Format) -> tuple[str, ...]:
    """The column names of a CSV file, as written; refuses what no CSV reader reads right."""
    name = one.file.path
    try:
        with open_bytes(one.path) as stream:
            head = stream.readline(_HEADER_BYTES)
    except (OSError, pa.ArrowException) as error:
        raise DataError.unreadable(name, f"damaged or truncated ({_packing(one)})") from error
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) and is_utf8(form):
        raise DataError.unreadable(name, "UTF-16, not UTF-8: say `format: {encoding: utf-16}`")
    if b"\x00" in head and is_utf8(form):
        raise DataError.unreadable(name, "NUL bytes in the first line: not a text file")
    try:
        text = head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        hint = "say `format: {encoding: latin-1}` or the like"
        raise DataError(f"{name}:1: the header is not UTF-8", hint) from error
    text = text.rstrip("\n").removesuffix("\r")
    if "\r" in text:
        raise DataError.unreadable(name, "line 1: lines end in CR alone; end them in LF")
    try:
        row = next(csv.reader([text], delimiter=form.separator, strict=True), [])
    except csv.Error as error:
        raise DataError(
            f"{name}:1: the header is not well-formed CSV", "check its quotes"
        ) from error
    if not any(row):
        raise DataError(f"{name}:1: the header is empty", "the first line names the columns")
    others = [sign for sign in ";\t|," if sign in row[0]]
    if len(row) == 1 and others:
        hint = f"is it {others[0]!r}? say `format: {{separator: {others[0]!r}}}`"
        raise DataError(f"{name}:1: no {form.separator!r} separates the columns", hint)
    return tuple(row)


@dataclass(frozen=True, slots=True)
class Footer:
    """What the footer of a Parquet file says: its columns, and its rows, the control total."""

    names: tuple[str, ...]
    rows: int


def parquet_footer(one: Source) -> Footer:
    """The footer of a Parquet file; refuses a damaged one."""
    try:
        with pq.ParquetFile(one.path) as file:
            return Footer(tuple(file.schema_arrow.names), int(file.metadata.num_rows))
    except (pa.ArrowException, OSError, ValueError) as error:
        why = "not a Parquet file, or damaged or truncated"
        raise DataError.unreadable(one.file.path, why) from error


def is_utf8(form: Format) -> bool:
    """Whether the declared encoding is UTF-8."""
    return form.encoding.lower().replace("_", "-") in {"utf-8", "utf8", "utf-8-sig"}


def spooled(one: Source, form: Format, folder: Path, *, drop_blank: bool) -> Source:
    """A plain UTF-8 copy of a CSV file in `folder`, without its blank lines if asked."""
    copy = folder / f"{len(list(folder.iterdir()))}.csv"
    encoding = "utf-8-sig" if is_utf8(form) else form.encoding
    try:
        with open_bytes(one.path) as stream, copy.open("w", encoding="utf-8", newline="") as out:
            text = io.TextIOWrapper(stream, encoding=encoding, newline="")
            out.writelines(line for line in text if not drop_blank or line.strip("\r\n"))
    except UnicodeError as error:
        raise DataError.unreadable(one.file.path, f"not {form.encoding}") from error
    except OSError as error:
        raise DataError.unreadable(one.file.path, "damaged, truncated or gone") from error
    return Source(one.file, copy, one.kind, one.header)


def records(one: Source, form: Format) -> Iterator[tuple[int, list[str]]]:
    """The records of a CSV file by the standard library's reader, each with its first line."""
    with open_bytes(one.path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        reader = csv.reader(text, delimiter=form.separator, strict=True)
        line = 1
        try:
            for row in reader:
                yield line, row
                line = reader.line_num + 1
        except csv.Error as error:
            raise DataError(
                f"{one.file.path}:{line}: not well-formed CSV", "check the quotes"
            ) from error


def _some(files: list[Path], message: str, hint: str) -> list[Path]:
    if not files:
        raise NothingToAudit(message, hint)
    return files


def _packing(one: Source) -> str:
    return _PACKED.get(one.path.suffix.lower(), "plain file")

"""Input formats: suffixes, first bytes, readers; compressions. Add a format or compression here.

To add a format, add a record to `FORMATS` and the module in `counting/sources/` that it names, with
the functions of `Reader` in `counting/sources/readers.py`. If Polars cannot read a compression,
`read_columns` of `counting/sources/csv_reader.py` must copy the file; if Arrow cannot,
`open_bytes` of `counting/sources/sources.py` needs a case.
"""

from __future__ import annotations

from pathlib import Path

from fairaudit.base.frozen import Frozen


class Compression(Frozen):
    """A compression of text files: its name, and the bytes that such a file begins with."""

    name: str
    magic: bytes


COMPRESSIONS = {
    ".gz": Compression("gzip", b"\x1f\x8b"),
    ".zst": Compression("zstd", b"\x28\xb5\x2f\xfd"),
}
"""The compressions of text files, by the last suffix."""


class InputFormat(Frozen):
    """A format of data files: its name, and as a sentence has it; suffixes, the module that reads.

    Every file begins with its `magic`, where it has one. Text may be packed, and has lines. A file
    is mapped where reading it takes as much address space as it has bytes.
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
"""The formats by their titles, for a sentence about one file."""

_SHARED = {".txt", ".data"}
"""Suffixes that a spec may have, too."""

_SUFFIXES = {
    **{form.magic: form.suffixes[0] for form in FORMATS if form.magic},
    **{packing.magic: f"{CSV.suffixes[0]}{end}" for end, packing in COMPRESSIONS.items()},
}
"""The suffixes of a file by the bytes that it begins with."""

FIRST_BYTES = max(map(len, _SUFFIXES))
"""First bytes by which the format of a file without a name is found."""


def find_compression(path: Path) -> str | None:
    """The compression of a file by its suffix, None where it has none."""
    compression = COMPRESSIONS.get(path.suffix.lower())
    return compression.name if compression else None


def format_of(path: Path) -> InputFormat | None:
    """The format of a file by its name, None where it is not known."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    is_packed = bool(suffixes) and suffixes[-1] in COMPRESSIONS
    suffix = "".join((suffixes[:-1] if is_packed else suffixes)[-1:])
    known = (form for form in FORMATS if form.is_text or not is_packed)
    return next((form for form in known if suffix in form.suffixes), None)


def is_surely_data(path: Path) -> bool:
    """Whether a file has a suffix that no spec has."""
    suffixes = {suffix for form in FORMATS for suffix in form.suffixes} - _SHARED
    return path.suffix.lower() in suffixes | {*COMPRESSIONS}


def suffix_of(start: bytes) -> str:
    """The suffix of the format that a file has by its first bytes; what none begins with is CSV."""
    known = (suffix for magic, suffix in _SUFFIXES.items() if start.startswith(magic))
    return next(known, CSV.suffixes[0])


def list_formats() -> str:
    """The formats that can be read, for a hint."""
    packed = f", also {' '.join(COMPRESSIONS)}"
    listed = (
        f"{form.title} ({' '.join(form.suffixes)}{packed if form.is_text else ''})"
        for form in FORMATS
    )
    return f"{', '.join(listed)} can be read"

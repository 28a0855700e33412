"""For `fairaudit init`: guesses how a CSV file is written (separator, encoding, header or none)."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path

from fairaudit.base.errors import DataError, UsageError
from fairaudit.base.input_formats import CSV, format_of
from fairaudit.counting.columns import CsvFormat
from fairaudit.counting.plan import is_finite_number
from fairaudit.counting.sources.sources import inspect_file, open_bytes

_HEAD_BYTES = 200_000
_HEAD_LINES = 20
_SEPARATORS = (",", ";", "\t", "|", " ")
_COMMA = re.compile(r"-?\d+(,\d+)+(\.\d+)?")
_THOUSANDS = re.compile(r"-?[1-9]\d{0,2}(,\d{3})+(\.\d+)?")


def guess_format(
    path: Path,
    *,
    separator: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    encoding: str | None = None,
    header: Sequence[str] = (),
    has_header: bool | None = None,
) -> CsvFormat:
    """How a CSV file is written, where that is not given: from its first lines.

    A first line that holds a number is a row; columns without names are `column_1` and so on.
    Raises `UsageError` where a comma may stand before decimals or between thousands.
    """
    form = format_of(path)
    if form != CSV:
        return CsvFormat(",", ".", "utf-8", multiline=False)
    head = _read_head(path)
    encoding = encoding or _guess_encoding(head)
    try:
        text = head.decode(encoding, "replace")
    except LookupError as error:
        raise UsageError(f"--encoding {encoding!r} is not known", "utf-8, latin-1") from error
    lines = [line for line in text.lstrip("\ufeff").splitlines()[:_HEAD_LINES] if line]
    separator = separator or _guess_separator(lines)
    try:
        rows = [*csv.reader(lines, delimiter=separator)]
    except (csv.Error, TypeError, ValueError) as error:
        what = f"--separator {separator!r}: the first lines of {path} cannot be cut by it"
        raise UsageError(what, "it is one sign; is this a CSV file?") from error
    if decimal is None and thousands is None:
        fields = [field.strip() for row in rows[1:] for field in row]
        decimal, thousands = _guess_signs(fields, separator)
    decimal = decimal or ("," if thousands == "." else ".")
    names = tuple(header)
    if names and rows and len(names) != len(rows[0]):
        what = f"--header names {len(names)} columns, and the first line has {len(rows[0])}"
        raise UsageError(what, "name each column, or say the --separator")
    is_row = not has_header if has_header is not None else _is_row(rows)
    if not names and rows and is_row:
        names = tuple(f"column_{number}" for number in range(1, len(rows[0]) + 1))
    return CsvFormat(
        separator, decimal, encoding, multiline=False, header=names, thousands=thousands or ""
    )


def _guess_signs(fields: Sequence[str], separator: str) -> tuple[str, str]:
    """The signs before decimals and between thousands, where numbers have commas."""
    numbers = [field for field in fields if _COMMA.fullmatch(field)]
    grouped = [number for number in numbers if _THOUSANDS.fullmatch(number)]
    if len(grouped) < len(numbers):
        return ("," if separator != "," else "."), ""
    is_sure = separator == "," or any("." in text or text.count(",") > 1 for text in grouped)
    if grouped and not is_sure:
        what = f"the comma of {grouped[0]} may stand before decimals or between thousands"
        raise UsageError(what, "say which: --decimal , or --thousands ,")
    return ".", "," if grouped else ""


def _read_head(path: Path) -> bytes:
    """The first bytes of a text, up to a line end; raises `DataError` where there are none."""
    inspect_file(path, str(path))
    try:
        with open_bytes(path) as stream:
            head = stream.read(_HEAD_BYTES)
    except (OSError, ValueError) as error:
        raise DataError.unreadable(str(path), "damaged or truncated") from error
    return head if len(head) < _HEAD_BYTES else head[: head.rfind(b"\n") + 1]


def _guess_encoding(head: bytes) -> str:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    try:
        head.decode("utf-8")
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def _guess_separator(lines: Sequence[str]) -> str:
    """The sign that cuts every line into as many fields, more than one; else a comma."""
    for sign in _SEPARATORS:
        try:
            widths = {len(row) for row in csv.reader(lines, delimiter=sign)}
        except csv.Error:
            continue
        if len(widths) == 1 and widths != {1}:
            return sign
    return ","


def _is_row(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first line is one of numbers like the others."""
    return any(
        is_finite_number(field) and all(is_finite_number(row[place]) for row in rows[1:] if row)
        for place, field in enumerate(rows[0] if rows else ())
        if all(place < len(row) for row in rows[1:])
    )

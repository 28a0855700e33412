"""Tables as CSV: byte order mark, spreadsheet formulas disarmed, one line for each record.

The byte order mark: without one Excel reads UTF-8 in the code page of the machine, and no `×`
survives. Lines end with a line feed, which every program reads, whatever the system. A record is
one line: a line of somebody's data may be a command to whoever reads the log.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from fairaudit.base import names
from fairaudit.base.frozen import Frozen

Value: TypeAlias = str | int | float | None
MARK = "\ufeff"
"""The byte order mark: this text is UTF-8."""

# What a spreadsheet may take for a formula: at the beginning of a cell, or of what is one for a
# program that separates by a semicolon. See OWASP, CSV Injection.
_FORMULA = re.compile(r"""(?:^|(?<=;))(?=[\s"']*[=+\-@＝＋－＠])""")
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")


class Column(Frozen):
    """A column with its name, and a value for each row; None stands for what is not there."""

    name: str
    values: Sequence[Value]


def of_rows(names: Iterable[str], rows: Sequence[Mapping[str, Value]]) -> tuple[Column, ...]:
    """Columns of rows; what a row does not say is None."""
    return tuple(Column(name, [row.get(name) for row in rows]) for name in names)


def written_csv(columns: Sequence[Column]) -> str:
    """Columns as CSV with a header."""
    page = io.StringIO(newline="")
    # The module quotes only what may end a line of its own, so lines end otherwise here: no cell
    # holds such an end.
    writer = csv.writer(page, lineterminator="\r\n")
    writer.writerow([safe(column.name) for column in columns])
    writer.writerows(
        map(_cell, row) for row in zip(*(column.values for column in columns), strict=True)
    )
    return MARK + page.getvalue().replace("\r\n", "\n")


def spell_csv(text: str, encoding: str) -> str:
    """A page in signs that an encoding has; what is not UTF-8 carries no mark of it."""
    return text.removeprefix(MARK).encode(encoding, "backslashreplace").decode(encoding)


def safe(text: str) -> str:
    """A text of one line, which no spreadsheet takes for a formula, no build server for a command.

    Signs that would not be seen are spelled out (`names.escaped`); an apostrophe stands before what
    looks like a formula: a number is none, nor a negative one. The text can be had back: an
    apostrophe before such is ours, then the escapes stand for their signs.
    """
    text = names.escaped(text)
    return text if _NUMBER.fullmatch(text) else _FORMULA.sub("'", text)


def _cell(value: Value) -> Value:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return safe(value) if isinstance(value, str) else value

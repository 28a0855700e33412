"""The table of groups as CSV, for spreadsheets.

It begins with a byte order mark: without one Excel reads UTF-8 in the code page of the machine, and
no `×` survives. Lines end with a line feed, which every program reads, whatever the system. A
record is one line: a line of somebody's data may be a command to whoever reads the log.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence

from fairaudit import names
from fairaudit.report import tables
from fairaudit.report.tables import Column, Value
from fairaudit.result import Answer

MARK = "\ufeff"
"""The byte order mark: this text is UTF-8."""

# What a spreadsheet may take for a formula: at the beginning of a cell, or of what is one for a
# program that separates by a semicolon. See OWASP, CSV Injection.
_FORMULA = re.compile(r"""(?:^|(?<=;))(?=[\s"']*[=+\-@＝＋－＠])""")
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")


def render(answers: Sequence[Answer]) -> str:
    """The groups of all answers as CSV with a header; of errors alone, the header."""
    return written(tables.columns(answers))


def written(columns: Sequence[Column]) -> str:
    """Columns as CSV with a header."""
    page = _Page()
    # The module quotes only what may end a line of its own, so lines end otherwise here.
    writer = csv.writer(page, lineterminator="\r\n")
    writer.writerow([safe(one.name) for one in columns])
    writer.writerows(map(_cell, row) for row in zip(*(one.values for one in columns), strict=True))
    return MARK + "".join(page.lines)


def spelled(text: str, encoding: str) -> str:
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
    return safe(value) if isinstance(value, str) else value


class _Page:
    """Lines as they are written."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def write(self, line: str) -> None:
        self.lines.append(line.removesuffix("\r\n") + "\n")

"""What a CSV reader would do silently, found out before it does it.

Every physical line must be one record of as many fields as the header has. A line is matched
against the grammar of RFC 4180 as a whole, so short rows, long rows, stray quotes and records that
run over several lines are all seen, and told with their line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

from fairaudit.engine.sources import Source, records
from fairaudit.errors import DataError
from fairaudit.spec import Format

_QUOTED = r'"(?:[^"\r]|"")*"'
_COUNTABLE = 200
"""Up to so many fields one expression counts them too, twice as fast; more would be too large."""


@dataclass(frozen=True, slots=True)
class Lines:
    """The control total of a CSV file."""

    records: int
    blank: int


def check_lines(one: Source, form: Format) -> Lines:
    """The records and blank lines of a CSV file; raises `DataError` at the first bad line."""
    if form.multiline:
        return _check_records(one, form)
    line = pl.col("line")
    bad = (line != "") & ~_is_record(line, form.separator, len(one.header))
    lines = pl.scan_lines(one.path, glob=False).slice(1)
    one_pass = lines.select(
        total=pl.len().cast(pl.Int64), blank=(line == "").cast(pl.Int64).sum(), bad=bad.any()
    )
    try:
        total, blank, any_bad = one_pass.collect(engine="streaming").row(0)
        if any_bad:
            _raise_at(one, form, lines, bad)
    except pl.exceptions.ComputeError as error:
        raise DataError(
            f"{one.file.path}{_first_bad_byte(one)}: not UTF-8",
            "say `format: {encoding: latin-1}` or the like",
        ) from error
    except OSError as error:
        raise DataError.unreadable(one.file.path, "damaged, truncated or gone") from error
    return Lines(total - blank, blank)


def _is_record(line: pl.Expr, separator: str, fields: int) -> pl.Expr:
    """Whether a line is one record of so many fields."""
    if fields <= _COUNTABLE:
        return line.str.contains(_grammar(separator, f"{{{fields - 1}}}"))
    plain = line.str.replace_all(_QUOTED, "").str.count_matches(separator, literal=True)
    return line.str.contains(_grammar(separator, "*")) & (plain == fields - 1)


def _grammar(separator: str, more: str) -> str:
    """A regular expression for a whole line of fields, quoted or plain; `more` repeats them."""
    mark = re.escape(separator)
    field = rf'(?:{_QUOTED}|[^"\r{mark}]*)'
    return rf"^{field}(?:{mark}{field}){more}$"


def _raise_at(one: Source, form: Format, lines: pl.LazyFrame, bad: pl.Expr) -> None:
    """Tells the first bad line, and what is wrong with it, without what it holds."""
    numbered = lines.with_row_index("number").filter(bad).head(1)
    number, text = numbered.collect(engine="streaming").row(0)
    quotes = text.count('"')
    hint = None
    if "\r" in text:
        what = "a carriage return inside the line"
        hint = "end lines in LF or CRLF, all of them"
    elif quotes % 2:
        what = "a quote is not closed in its line"
        hint = "records over several lines: say `format: {multiline: true}`"
    elif quotes and not re.search(_grammar(form.separator, "*"), text):
        what = "quotes inside a field"
        hint = 'a field with quotes is written "…" with inner quotes doubled'
    else:
        found = re.sub(_QUOTED, "", text).count(form.separator) + 1
        what = f"{found} fields where the header has {len(one.header)}"
        hint = "check the line, or `format: {separator: …}`"
    raise DataError(f"{one.file.path}:{number + 2}: {what}", hint)


def _check_records(one: Source, form: Format) -> Lines:
    """The same for records that may run over several lines, by the standard library's reader."""
    total = 0
    try:
        for line, row in records(one, form):
            if line > 1 and not row:
                raise DataError(
                    f"{one.file.path}:{line}: a blank line among multi-line records", "remove it"
                )
            if len(row) != len(one.header):
                raise DataError(
                    f"{one.file.path}:{line}: {len(row)} fields where the header has "
                    f"{len(one.header)}"
                )
            total += 1
    except UnicodeDecodeError as error:
        raise DataError(f"{one.file.path}: not UTF-8") from error
    except OSError as error:
        raise DataError.unreadable(one.file.path, "damaged, truncated or gone") from error
    return Lines(total - 1, 0)


def _first_bad_byte(one: Source) -> str:
    """`:line` of the first byte that is not UTF-8, or nothing where it cannot be said."""
    try:
        with one.path.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                try:
                    line.decode()
                except UnicodeDecodeError:
                    return f":{number}"
    except OSError:
        pass
    return ""

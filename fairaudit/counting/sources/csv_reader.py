"""The reader of CSV files: header, encoding, check of all records (RFC 4180), lazy frame.

Files that Polars cannot read are copied first. All columns are read as texts.
"""

from __future__ import annotations

import contextlib
import csv
import errno
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, tee
from pathlib import Path
from typing import TYPE_CHECKING

from fairaudit.base.errors import DataError
from fairaudit.base.frozen import replace
from fairaudit.base.inputs import find_compression
from fairaudit.base.processes import Progress
from fairaudit.counting.columns import CsvFormat
from fairaudit.counting.plan import Plan
from fairaudit.counting.sources import Copies, SourceFile, no_space, open_bytes

if TYPE_CHECKING:
    import polars as pl

_HEADER_BYTES = 4_000_000
_BELOW_BYTES = 50_000
_FULL = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT}

QUOTED = r'"(?:[^"\r]|"")*"'
_QUOTED_ON_MORE_LINES = r'"(?:[^"]|"")*"'


def record(separator: str, more: str, *, multiline: bool = False) -> str:
    """A regular expression for a whole record; `more` quantifies the fields after the first."""
    mark = re.escape(separator)
    quoted = _QUOTED_ON_MORE_LINES if multiline else QUOTED
    field = rf'(?:{quoted}|[^"\r\n{mark}]*)'
    return rf"^{field}(?:{mark}{field}){more}$"


def records(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Records that may have several lines, each with the number of its first line.

    A record ends at the first line end outside quotes. The last record may have unclosed quotes.
    """
    first, parts, odd = 1, list[str](), False
    for number, line in enumerate(lines, start=1):
        if not parts:
            first = number
        parts.append(line)
        odd ^= line.count('"') % 2 == 1
        if not odd:
            yield first, "".join(parts).removesuffix("\n").removesuffix("\r")
            parts = []
    if parts:
        yield first, "".join(parts).removesuffix("\n").removesuffix("\r")


def bad_record(file: SourceFile, form: CsvFormat, number: int, text: str) -> DataError:
    """The error of a malformed record: its place and the fault, but not its content."""
    quotes, plain = text.count('"'), re.sub(_QUOTED_ON_MORE_LINES, "", text)
    if quotes % 2 and form.multiline:
        what, hint = "a quote is not closed", "inner quotes are doubled"
    elif quotes % 2:
        what = "a quote is not closed in its line"
        hint = "records over several lines: write `format: {multiline: true}`"
    elif "\r" in plain or ("\r" in text and not form.multiline):
        what, hint = "a carriage return inside the line", "end lines in LF or CRLF, all of them"
    elif quotes and not re.search(record(form.separator, "*", multiline=form.multiline), text):
        what = "quotes inside a field"
        hint = 'put the whole field in quotes, and double the quotes inside: "a ""b"" c"'
    else:
        count = plain.count(form.separator) + 1
        fields = f"{count} field{'' if count == 1 else 's'}"
        what = f"{fields} where the header has {len(file.header)}"
        hint = (
            "check the line, or `format: {separator: …}`; notes below the rows: "
            "`format: {skip_footer: …}`"
        )
    path, line = file.file.path, form.line_in_file(number)
    return DataError(f"{path}:{line}: {what}", hint, uncounted=f"{path}: {what}")


def read_header(file: SourceFile, form: CsvFormat) -> tuple[str, ...]:
    """The column names of a CSV file; raises `DataError` for headers that cannot be read."""
    name = file.file.path
    spot = f"{name}:{form.skip_rows + 1}"
    try:
        with open_bytes(file.path) as stream:
            head = stream.readline(_HEADER_BYTES)
            below = stream.read(_BELOW_BYTES)
    except (OSError, ValueError) as error:
        packing = find_compression(file.path) or "plain file"
        raise DataError.unreadable(name, f"damaged or truncated ({packing})") from error
    if head.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")) and is_utf8(form):
        raise DataError.unreadable(name, "UTF-32, not UTF-8: write `format: {encoding: utf-32}`")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) and is_utf8(form):
        raise DataError.unreadable(name, "UTF-16, not UTF-8: write `format: {encoding: utf-16}`")
    if b"\x00" in head and is_utf8(form):
        raise DataError.unreadable(name, "NUL bytes in the first line: not a text file")
    try:
        text = head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        hint = "declare the encoding, for example `format: {encoding: windows-1252}`"
        raise DataError(f"{spot}: the header is not UTF-8", hint) from error
    named = find_separator(text)
    lines = io.StringIO(text + below.decode("latin-1"))
    if titles := count_titles(lines, named or form.separator):
        keys = f"separator: {named!r}, " if named else ""
        hint = f"leave it out: `format: {{{keys}skip_rows: {form.skip_rows + titles}}}`"
        kind = "looks like a title" if text.strip() else "is blank"
        kind = "names the separator" if named else kind
        raise DataError(f"{spot}: the line {kind}, and does not name the columns", hint)
    text = text.rstrip("\n").removesuffix("\r")
    if "\r" in text:
        where = f"line {form.skip_rows + 1}"
        raise DataError.unreadable(name, f"{where}: lines end in CR alone; end them in LF")
    if not re.search(record(form.separator, "*"), text):
        hint = (
            "check its quotes; if the header has several lines, skip them with `skip_rows`, and "
            "name the columns with `format: {header: […]}`"
        )
        raise DataError(f"{spot}: the header is not well-formed CSV", hint)
    try:
        row = next(csv.reader([text], delimiter=form.separator), [])
    except csv.Error as error:
        hint = "is the first line the header, and does it end with a line break?"
        what = f"a column name of over {csv.field_size_limit():,} characters"
        raise DataError(f"{spot}: {what}", hint) from error
    if not any(row):
        raise DataError(
            f"{spot}: the header is empty", "write the names of the columns in this line"
        )
    others = [sign for sign in ";\t|," if sign in row[0] and sign != form.separator]
    if len(row) == 1 and others:
        hint = f"is it {others[0]!r}? write `format: {{separator: {others[0]!r}}}`"
        raise DataError(f"{spot}: the header has no {form.separator!r} between columns", hint)
    return tuple(row)


def find_separator(text: str) -> str | None:
    """The separator in a first line such as `sep=;`, which Excel writes; None without one."""
    named = re.match(r"\ufeff?sep=(.)\r?\n", text)
    return named[1] if named else None


def count_titles(lines: Iterable[str], separator: str) -> int:
    r"""The number of lines above the header, from the first lines of a file.

    >>> count_titles(["sep=;\n", "Report\n", "\n", "sex;hired\n", "F;1\n", "M;0\n", "F;0\n"], ";")
    3
    """
    reader, ends, rows = csv.reader(lines, delimiter=separator), [0], list[list[str]]()
    with contextlib.suppress(csv.Error):
        for row in reader:
            rows.append(row)
            ends.append(reader.line_num)
    width = find_width(rows)
    return next((end for end, row in zip(ends, rows, strict=False) if not is_title(row, width)), 0)


def find_width(rows: Iterable[Sequence[str]]) -> int:
    """The most common number of fields in a row; the first number if several are equally common."""
    return next((width for width, _ in Counter(map(len, filter(None, rows))).most_common(1)), 0)


def is_title(row: Sequence[str], width: int) -> bool:
    """Whether a line is a title, not a row of `width` fields: blank, too short, or with one text.

    A header may have one name less than the rows have fields, if the first column names the rows.
    """
    return width > 1 and (
        not any(row[1:]) or (width > 2 and sum(map(bool, row)) < 2) or len(row) < width - 1
    )


def read_first(
    file: SourceFile, names: Sequence[str], separator: str, most: int
) -> list[list[str]] | None:
    """The texts of columns in the first rows of a checked file, a list for each column.

    None if the CSV reader of Python cannot read the rows.
    """
    places = [file.header.index(name) for name in names]
    with io.TextIOWrapper(open_bytes(file.path), encoding="utf-8-sig", newline="") as text:
        try:
            rows = [*filter(None, islice(csv.reader(text, delimiter=separator), 1, most + 1))]
            return [[row[place] for row in rows] for place in places]
        except (csv.Error, IndexError):  # a very long field, or rows of one column
            return None


def is_utf8(form: CsvFormat) -> bool:
    """Whether the declared encoding is UTF-8."""
    return form.encoding.lower().replace("_", "-") in {"utf-8", "utf8", "utf-8-sig"}


def copy_as_utf8(
    file: SourceFile, form: CsvFormat, copies: Copies, *, drop_blank: bool
) -> SourceFile:
    """A UTF-8 copy of a CSV file without ignored lines, and with the header in the spec, if any.

    `drop_blank` leaves out blank lines.
    """
    encoding = "utf-8-sig" if is_utf8(form) else form.encoding
    try:
        out, path = copies.new()
    except OSError as error:
        raise no_space(file, error) from error
    try:
        if form.header:
            header = io.StringIO()
            csv.writer(header, delimiter=form.separator, lineterminator="\n").writerow(form.header)
            out.write(header.getvalue().encode())
        with io.TextIOWrapper(open_bytes(file.path), encoding=encoding, newline="\n") as text:
            lines, ahead = tee(islice(text, form.skip_rows, None))
            for line, _ in zip(lines, islice(ahead, form.skip_footer, None), strict=False):
                if not drop_blank or line.strip("\r\n"):
                    out.write(line.encode())
        out.flush()
    except UnicodeError as error:
        raise not_in_encoding(file, form.encoding) from error
    except OSError as error:
        if error.errno in _FULL:
            raise no_space(file, error) from error
        raise DataError.unreadable(file.file.path, "damaged, truncated or gone") from error
    return replace(file, path=path)


def lines_of(file: SourceFile) -> Iterator[str]:
    """The lines of a CSV file in UTF-8, with their line ends."""
    stream = open_bytes(file.path)
    # A carriage return alone does not end a line: the check reports it.
    with io.TextIOWrapper(stream, encoding="utf-8-sig", newline="\n") as text:
        yield from text


def not_in_encoding(file: SourceFile, encoding: str) -> DataError:
    """The error of a file that is not in the declared encoding, with the first faulty line."""
    where = ""
    try:
        with open_bytes(file.path) as stream:
            for number, line in enumerate(stream, start=1):
                try:
                    line.decode(encoding)
                except UnicodeError:
                    # With 2 or 4 bytes per character, lines of bytes are not lines of the text.
                    where = "" if b"\0" in line else f":{number}"
                    break
    except (OSError, ValueError):
        pass
    name = "UTF-8" if encoding.startswith("utf-8") else encoding
    hint = "declare the encoding, for example `format: {encoding: windows-1252}`"
    path = file.file.path
    return DataError(f"{path}{where}: not {name}", hint, uncounted=f"{path}: not {name}")


_COUNTABLE = 200
"""Up to this number of fields, a regular expression also counts the fields: twice as fast."""


def read_columns(file: SourceFile, form: CsvFormat, copies: Copies) -> SourceFile:
    """The file with its column names; a UTF-8 copy if its encoding or lines require one."""
    if not is_utf8(form) or form.header or form.other_lines > 1:
        file = copy_as_utf8(file, form, copies, drop_blank=False)
    return replace(file, header=read_header(file, form))


def check_file(
    file: SourceFile, plans: Sequence[Plan], copies: Copies, progress: Progress
) -> SourceFile:
    """The file after a check that each line is a record or blank; a copy without blank lines."""
    form = plans[0].format
    checked = check_lines(file, form, progress)
    if checked.blank:
        # Polars would read blank lines as rows of nulls.
        plain_form = replace(form, encoding="utf-8", header=(), skip_rows=0, skip_footer=0)
        checked = copy_as_utf8(checked, plain_form, copies, drop_blank=True)
    return checked


def check_lines(file: SourceFile, form: CsvFormat, progress: Progress) -> SourceFile:
    """The file with its numbers of records and lines; raises `DataError` for the first bad line.

    Each whole line must match the grammar of RFC 4180. This finds rows with too few or too many
    fields, single quotes, and records over several lines.
    """
    if form.multiline:
        return _check_records(file, form)
    import polars as pl

    line, fields = pl.col("line"), len(file.header)
    if fields <= _COUNTABLE:
        is_record = line.str.contains(record(form.separator, f"{{{fields - 1}}}"))
    else:
        plain = line.str.replace_all(QUOTED, "").str.count_matches(form.separator, literal=True)
        is_record = line.str.contains(record(form.separator, "*")) & (plain == fields - 1)
    bad = (line != "") & ~is_record
    lines = pl.scan_lines(file.path.absolute(), glob=False).slice(1)
    if not progress.silent:
        progress.start(f"checking {file.file.path}", file.unpacked_size, "bytes")

        def pass_on(lines: pl.DataFrame) -> pl.DataFrame:
            progress.advance(int(lines["line"].str.len_bytes().sum()) + lines.height, "bytes")
            return lines

        lines = lines.map_batches(pass_on, streamable=True)
    one_pass = lines.select(
        total=pl.len().cast(pl.Int64), blank=(line == "").cast(pl.Int64).sum(), bad=bad.any()
    )
    try:
        total, blank, any_bad = one_pass.collect(engine="streaming").row(0)
        if any_bad:
            numbered = lines.with_row_index("number").filter(bad).head(1)
            number, text = numbered.collect(engine="streaming").row(0)
            raise bad_record(file, form, number + 2, text)
    except pl.exceptions.ComputeError as error:
        raise not_in_encoding(file, "utf-8") from error
    except OSError as error:
        raise DataError.unreadable(file.file.path, "damaged, truncated or gone") from error
    return replace(file.with_lines(total + form.other_lines), records=total - blank, blank=blank)


def _check_records(file: SourceFile, form: CsvFormat) -> SourceFile:
    """`check_lines` for a file with records over several lines."""
    fields = len(file.header)
    whole = re.compile(record(form.separator, f"{{{fields - 1}}}", multiline=True))
    total = lines = 0
    try:
        for number, text in records(lines_of(file)):
            if number > 1 and not text:
                where = f"{file.file.path}:{form.line_in_file(number)}"
                raise DataError(
                    f"{where}: a blank line among multi-line records",
                    "remove it",
                    uncounted=f"{file.file.path}: a blank line among multi-line records",
                )
            if not whole.search(text):
                raise bad_record(file, form, number, text)
            total += 1
            lines = number + text.count("\n")
    except UnicodeDecodeError as error:
        raise not_in_encoding(file, "utf-8") from error
    except OSError as error:
        raise DataError.unreadable(file.file.path, "damaged, truncated or gone") from error
    return replace(file.with_lines(lines - 1 + form.other_lines), records=total - 1)


def read_schema(file: SourceFile) -> Mapping[str, pl.DataType]:
    """The columns of a file; all are texts."""
    import polars as pl

    return dict.fromkeys(file.header, pl.String())


def scan_files(paths: Sequence[Path], separator: str) -> pl.LazyFrame:
    """Files with the same header as one lazy frame of texts."""
    import polars as pl

    return pl.scan_csv(
        [*paths],
        separator=separator,
        infer_schema=False,
        glob=False,
        raise_if_empty=False,
        # Polars does not convert doubled quotes in names.
        with_column_names=lambda names: [name.replace('""', '"') for name in names],
    )


def find_line(file: SourceFile, form: CsvFormat, row: int) -> int | None:
    """The line on which a row (from 1) begins; blank lines are not rows."""
    if form.multiline:
        starts = (number for number, _ in records(lines_of(file)))
    else:
        lines = enumerate(lines_of(file), start=1)
        starts = (number for number, line in lines if line.strip("\r\n"))
    line = next(islice(starts, row, None), None)
    return None if line is None else form.line_in_file(line)

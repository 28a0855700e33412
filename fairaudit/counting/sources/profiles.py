"""For `fairaudit init`: guesses the format of a CSV file, and profiles the columns of a data file.

The memory does not depend on the number of rows: distinct values are estimated by HyperLogLog, and
texts with their counts are from the first rows only.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice, takewhile
from pathlib import Path

import polars as pl

from fairaudit.base.errors import DataError, UsageError
from fairaudit.base.frozen import Frozen, field, replace
from fairaudit.base.inputs import CSV
from fairaudit.counting.columns import CsvFormat, MaskedCount
from fairaudit.counting.plan import is_finite_number
from fairaudit.counting.sources import begin_pass, inspect_file, open_bytes, open_file
from fairaudit.counting.sources.batches import batches, collect, own, read_date, read_number
from fairaudit.counting.sources.column_checks import is_pattern
from fairaudit.counting.sources.csv_reader import count_titles, find_separator, find_width, is_title

_HEAD_BYTES = 200_000
_HEAD_LINES = 20
_SIGN_LINES = 500
_ONLY_WINDOWS = re.compile(rb"[\x80-\x9f]")
_ACCOUNTING = re.compile(r"\([^\w()]{0,3}\d[\d.,'’\s]*[^\w()]{0,3}\)")
_SYMBOL = re.compile(r"[+-]?\(?\s*([$€£¥])?\s*\d[\d.,'’\s]*(%|[$€£¥])?\)?-?")
_AROUND = "$€£¥%() "
_SEPARATORS = (",", ";", "\t", "|", " ")
_DAY_SIGNS = "/.-"
_DAY = r"^\s*(\d{{1,2}}){0}(\d{{1,2}}){0}\d{{4}}\b"
_THOUSANDS = {
    ",": re.compile(r"-?[1-9]\d{0,2}(,\d{3})+(\.\d+)?"),
    ".": re.compile(r"-?[1-9]\d{0,2}(\.\d{3})+(,\d+)?"),
}


def guess_format(
    path: Path,
    *,
    separator: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    encoding: str | None = None,
    header: Sequence[str] = (),
    has_header: bool | None = None,
    sheet: str | None = None,
) -> CsvFormat:
    """The format of a data file. Settings that are not passed are guessed from the first lines.

    If the first line contains numbers, it is a row of data, and the columns are named `column_1`
    and so on. Raises `UsageError` if a comma or point may be a decimal sign or a thousands
    separator.
    """
    file = inspect_file(path, str(path))
    if file.form != CSV:
        form = CsvFormat(",", ".", "utf-8", multiline=False, sheet=sheet)
        if file.kind == "excel":
            from fairaudit.counting.sources.excel import copy_sheet

            with begin_pass([path]) as copies:
                form = _find_other_lines(copy_sheet(file, form, copies).path, form)
        return form
    try:
        with open_bytes(path) as stream:
            head = stream.read(_HEAD_BYTES)
    except (OSError, ValueError) as error:
        raise DataError.unreadable(str(path), "damaged or truncated") from error
    head = head if len(head) < _HEAD_BYTES else head[: head.rfind(b"\n") + 1]
    encoding = encoding or _guess_encoding(head)
    try:
        text = head.decode(encoding, "replace")
    except LookupError as error:
        raise UsageError(
            f"--encoding {encoding!r} is not known", "for example utf-8 or latin-1"
        ) from error
    lines = text.lstrip("\ufeff").splitlines()[:_SIGN_LINES]
    separator = separator or find_separator(text) or _guess_separator(lines[:_HEAD_LINES])
    form = CsvFormat(separator, ".", encoding, multiline=False)
    try:
        form = _find_other_lines(path, form)
        rows = [*filter(None, csv.reader(lines[form.skip_rows :], delimiter=separator))]
    except (csv.Error, TypeError, ValueError) as error:
        what = (
            f"the first lines of {path} cannot be split into columns with the separator "
            f"{separator!r}"
        )
        raise UsageError(
            what, "check that this is a CSV file; --separator takes a single character"
        ) from error
    fields = [field.strip() for row in rows[1:] for field in row]
    marked = filter(None, map(_SYMBOL.fullmatch, fields))
    symbols = sorted({sign for match in marked for sign in match.groups() if sign})
    if decimal is None and thousands is None:
        decimal, thousands = _guess_signs([field.strip(_AROUND) for field in fields], separator)
    rows = rows[:_HEAD_LINES]
    names = tuple(header)
    if names and rows and len(names) != len(rows[0]):
        what = f"--header names {len(names)} columns, and the first line has {len(rows[0])}"
        raise UsageError(what, "name each column, or give the --separator")
    is_row = not has_header if has_header is not None else _is_row(rows)
    if not names and rows and is_row:
        names = tuple(f"column_{number}" for number in range(1, len(rows[0]) + 1))
    return replace(
        form,
        decimal=decimal or ("," if thousands == "." else "."),
        header=names,
        thousands=thousands or "",
        symbols=tuple(symbols),
        accounting=any(map(_ACCOUNTING.fullmatch, fields)),
    )


def _find_other_lines(path: Path, form: CsvFormat) -> CsvFormat:
    """The format with the numbers of lines to ignore above the header and below the rows."""
    with io.TextIOWrapper(open_bytes(path), form.encoding, "replace", newline="\n") as text:
        lines = [*islice(text, _SIGN_LINES)]
        last = [*deque(chain(lines[-_HEAD_LINES:], text), _HEAD_LINES)]
    width = find_width([*csv.reader(lines, delimiter=form.separator)])
    titles = count_titles(lines, form.separator)

    def is_note(line: str) -> bool:
        # If the number of quotes is odd, the line is the end of a row over several lines.
        row = next(csv.reader([line], delimiter=form.separator), [])
        return line.count('"') % 2 == 0 and is_title(row, width)

    notes = len([*takewhile(is_note, reversed(last[max(titles - len(lines), -_HEAD_LINES) :]))])
    return replace(form, skip_rows=titles, skip_footer=notes)


def _guess_signs(fields: Sequence[str], separator: str) -> tuple[str, str]:
    """The decimal sign and the thousands separator in these fields."""
    signs = ((",", ".", "comma"), (".", ",", "point"))
    for sign, other, name in signs if separator != "," else signs[:1]:
        grouped = [field for field in fields if _THOUSANDS[sign].fullmatch(field)]
        decimals = re.compile(rf"-?\d+{re.escape(sign)}\d+")
        pointed = filter(decimals.fullmatch, fields)
        if not all(map(_THOUSANDS[sign].fullmatch, pointed)):
            if sign == separator:
                return ".", ""
            has_thousands = any(_THOUSANDS[other].fullmatch(field) for field in fields)
            return sign, other if has_thousands else ""
        if any(other in text or text.count(sign) > 1 for text in grouped):
            return other, sign
        if grouped and separator == ",":
            return ".", ","
        if grouped:
            what = f"the {name} in {grouped[0]} can be a decimal {name} or a thousands separator"
            raise UsageError(what, f"choose one: --decimal {sign} or --thousands {sign}")
    return ".", ""


def _guess_encoding(head: bytes) -> str:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    try:
        head.decode("utf-8")
    except UnicodeDecodeError:
        # € and curly quotes are bytes that Latin-1 does not use.
        return "windows-1252" if _ONLY_WINDOWS.search(head) else "latin-1"
    return "utf-8"


def _guess_separator(lines: Sequence[str]) -> str:
    """The separator that splits most lines into the same number (at least 2) of fields."""
    lines_cut = dict.fromkeys(_SEPARATORS, 0)
    for sign in _SEPARATORS:
        with suppress(csv.Error):
            widths = Counter(len(row) for row in csv.reader(lines, delimiter=sign))
            lines_cut[sign] = max((n for width, n in widths.items() if width > 1), default=0)
    return max(_SEPARATORS, key=lines_cut.__getitem__)


def _is_row(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first line has a number in a column in which all other lines have numbers."""
    return any(
        is_finite_number(field) and all(is_finite_number(row[place]) for row in rows[1:] if row)
        for place, field in enumerate(rows[0] if rows else ())
        if all(place < len(row) for row in rows[1:])
    )


_SAMPLE = 50_000
_MOST_VALUES = 60
_MOST_DISTINCT = 5_000


class ColumnProfile(Frozen):
    """The content of a column.

    `is_unique` says whether no other column has the name. `present` is the number of values that
    are not empty, `distinct` the number of different values (approximate if large). `values` are
    the most common values of the first rows, each with its count; `is_whole` says whether the
    column has no other values. `numbers` is the number of values that are numbers, and `whole` the
    number of whole numbers. `low` and `high` are the smallest and the largest number. `days` are
    the first and the last date, if the first rows have dates. `day_signs` maps each separator of
    dates such as 3/4/2024 to the number of these dates, their largest first number, and their
    largest second number.
    """

    name: str
    is_unique: bool
    present: int
    distinct: int
    values: tuple[tuple[str, int], ...]
    is_whole: bool
    numbers: int = 0
    whole: int = 0
    low: float | None = None
    high: float | None = None
    days: tuple[str | None, str | None] | None = None
    day_signs: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


class FileProfile(Frozen):
    """The content of a file.

    If each row is a group of people, `count` is the column with the number of people in the group,
    or `counts` maps levels of an outcome to the columns that count people with the level.
    """

    rows: int
    columns: tuple[ColumnProfile, ...]
    count: str | None
    counts: Mapping[str, str] = field(default_factory=dict)


def profile_file(
    path: Path,
    form: CsvFormat,
    is_like_count: Callable[[str], bool] = lambda _: False,
    pair_counts: Callable[[Sequence[str]], Iterable[Mapping[str, str]]] = lambda _: (),
    only: Collection[str] | None = None,
) -> FileProfile:
    """The profile of all columns, or of the columns in `only`; `DataError` for unreadable files.

    `is_like_count` says whether the name of a column suggests counts. `pair_counts` returns
    possible sets of columns of counts; each maps levels, and perhaps `total`, to columns.
    """
    with begin_pass([path]) as copies:
        file = open_file(path, form, copies)
        (batch,) = batches([file], form.separator)
        schema = batch.frame.collect_schema()
        written = dict(zip(schema.names(), file.header, strict=False))
        unread = {pl.Binary, pl.Null, pl.Object}
        flat = [name for name, x in schema.items() if not x.is_nested() and x not in unread]
        names = [name for name in flat if not is_pattern(name)]
        names = [name for name in names if only is None or written[name] in only]
        texts = batch.frame.select(pl.col(name).cast(pl.String) for name in names)
        sample = collect(texts.head(_SAMPLE), batch)
        is_cut = sample.height == _SAMPLE
        facts = collect(_measure(texts, sample, form), batch).row(0, named=True)
    columns = []
    uses = Counter(file.header)
    for place, name in enumerate(names):
        counted = sample[name].drop_nulls().value_counts()
        values = sorted(counted.iter_rows(), key=lambda row: (-row[1], row[0]))
        values = [(text, n) for text, n in values if text]
        distinct = facts.get(f"{place}d", len(values)) if is_cut else len(values)
        columns.append(
            ColumnProfile(
                name=written[name],
                is_unique=uses[written[name]] == 1,
                present=facts[f"{place}p"],
                distinct=max(distinct, len(values)),
                values=tuple(
                    value
                    for place, value in enumerate(values)
                    if place < _MOST_VALUES or MaskedCount.propose(value[0])
                ),
                is_whole=len(values) <= _MOST_VALUES and distinct <= len(values) + 1,
                numbers=facts.get(f"{place}n", 0),
                whole=facts.get(f"{place}w", 0),
                low=facts.get(f"{place}l"),
                high=facts.get(f"{place}h"),
                days=(facts[f"{place}a"], facts[f"{place}z"]) if f"{place}a" in facts else None,
                day_signs={
                    sign: tuple(facts[f"{place}{sign}"].values())
                    for sign in _DAY_SIGNS
                    if f"{place}{sign}" in facts
                },
            )
        )
    count = next((name for name in names if is_like_count(name) and _is_table(sample, name)), None)
    pairs = pair_counts(names) if not is_cut else ()
    counts = next((pair for pair in pairs if _are_side_by_side(sample, form, pair)), {})
    return FileProfile(facts["rows"], tuple(columns), count, counts)


def _are_side_by_side(sample: pl.DataFrame, form: CsvFormat, counts: Mapping[str, str]) -> bool:
    """Whether the columns in `counts` have counts of people.

    Counts are whole numbers that do not add up to more than the total, in rows that differ in the
    other columns. If all numbers are 0 or 1, they are values of single people, not counts.
    """
    masks = {
        name: [text for text in sample[name].unique() if text and MaskedCount.propose(text)]
        for name in counts.values()
    }
    numbers = sample.select(
        pl.when(pl.col(name).is_in(masks[name]))
        .then(0.0 if name != counts.get("total") else math.inf)
        .otherwise(_as_number(pl.col(name), form))
        .alias(name)
        for name in counts.values()
    )
    whole = numbers.select(pl.all_horizontal(pl.all().is_not_null() & (pl.all() >= 0)).all()).item()
    if not whole or not numbers.equals(numbers.with_columns(pl.all().round())):
        return False
    total = counts.get("total")
    parts = numbers.drop(total) if total is not None else numbers
    if not any(masks.values()) and parts.max_horizontal().max() in {None, 0, 1}:
        return False
    if total is not None and (parts.sum_horizontal() > numbers[total]).any():
        return False
    others = sample.drop(counts.values())
    groups = [
        name
        for name in others.columns
        if others[name].n_unique() <= sample.height / 2 + 1
        or (sample.height <= _MOST_VALUES and not _has_numbers(others, name, form))
    ]
    return bool(groups) and bool(others.select(groups).is_unique().all())


def _is_table(sample: pl.DataFrame, count: str) -> bool:
    """Whether the other columns have few levels, and each combination of them occurs only once."""
    others = sample.drop(count)
    if not others.width:
        return False
    few = all(others[name].n_unique() <= sample.height / 2 + 1 for name in others.columns)
    return few and bool(others.is_unique().all())


def _measure(texts: pl.LazyFrame, sample: pl.DataFrame, form: CsvFormat) -> pl.LazyFrame:
    """One row of facts about all columns. A fact is named by the index of its column and a letter.

    Numbers and dates are searched only in columns that have some in the first rows. Distinct values
    are counted only in columns that have few distinct values in the first rows.
    """
    facts, numbers = [pl.len().alias("rows")], list[pl.Expr]()
    for place, name in enumerate(sample.columns):
        facts.append((pl.col(name) != "").sum().alias(f"{place}p"))
        if sample[name].n_unique() < _MOST_DISTINCT:
            facts.append(pl.col(name).approx_n_unique().alias(f"{place}d"))
        # A date such as 2024-12-31, or null.
        date = pl.col(name).str.extract(r"^\s*(\d{4}-\d{2}-\d{2})\b")
        if (notations := dict(form.dates).get(name)) is not None:
            date = read_date(pl.col(name), notations).dt.to_string("%Y-%m-%d")
        if sample[name].to_frame().select(date.is_not_null().any()).item():
            facts += [date.min().alias(f"{place}a"), date.max().alias(f"{place}z")]
        for sign in _DAY_SIGNS:
            day = pl.col(name).str.extract_groups(_DAY.format(re.escape(sign)))
            first, second = (day.struct.field(f"{part}").cast(pl.Int64) for part in (1, 2))
            if sample[name].to_frame().select(first.is_not_null().any()).item():
                of_sign = pl.struct(first.count().alias("0"), first.max().alias("1"), second.max())
                facts.append(of_sign.alias(f"{place}{sign}"))
        if _has_numbers(sample, name, form):
            number = pl.col(own(f"number{place}"))
            numbers.append(_as_number(pl.col(name), form).alias(own(f"number{place}")))
            facts += [
                number.is_not_null().sum().alias(f"{place}n"),
                (number == number.round()).sum().alias(f"{place}w"),
                number.min().alias(f"{place}l"),
                number.max().alias(f"{place}h"),
            ]
    return texts.with_columns(numbers).select(facts)


def _has_numbers(sample: pl.DataFrame, name: str, form: CsvFormat) -> bool:
    column = sample[name].to_frame()  # a query of a wide frame would read all column names
    return bool(column.select(_as_number(pl.col(name), form).is_not_null().any()).item())


def _as_number(text: pl.Expr, form: CsvFormat) -> pl.Expr:
    """A text as a finite number, or null."""
    number = read_number(text.str.strip_chars(), form)
    return pl.when(number.is_finite()).then(number)

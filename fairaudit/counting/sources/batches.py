"""`Batch`: files with the same columns, or rows of another source, as a lazy frame of Polars."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from fairaudit.base.errors import DataError
from fairaudit.base.frozen import Frozen
from fairaudit.counting.columns import CsvFormat
from fairaudit.counting.sources import SourceFile, reader_of

DATE_HINT = "correct the date; if it means that no date is known, leave it empty"


def own(name: str) -> str:
    """The name of a column that fairaudit adds; no column of a file has such a name."""
    return f"\0{name}"


ROW = own(own("row"))
"""The column with the number of a row in its file."""

OBSERVED, UNKNOWN_LEVEL, POSSIBLE = range(3)
"""Kinds of people in rows with masked counts: observed, level is hidden, existence is uncertain."""


class Batch(Frozen):
    """Files with the same columns and types, or rows of another source, as one lazy frame.

    If equal rows were grouped, the column `times` has the number of data rows that each row
    represents; otherwise `times` is None. With `is_split`, the rows were split by masked counts,
    and the column `kind` has the kind of people of each row.
    """

    frame: pl.LazyFrame
    schema: Mapping[str, pl.DataType]
    names: tuple[str, ...]
    times: str | None = None
    is_split: bool = False

    @property
    def rows(self) -> pl.Expr:
        """The number of rows of the data that each row represents."""
        return pl.lit(1, pl.Int64) if self.times is None else pl.col(self.times).cast(pl.Int64)


def batches(sources: Sequence[SourceFile], separator: str) -> list[Batch]:
    """One batch for all files with the same columns and types."""
    grouped: dict[tuple[object, ...], list[tuple[SourceFile, Mapping[str, pl.DataType]]]] = {}
    for file in sources:
        schema = reader_of(file.form).read_schema(file)
        # A file with rows to leave out is a separate batch: row numbers begin again in each file.
        alone = file.file.path if file.repeated else None
        key = (file.kind, alone, *((name, str(dtype)) for name, dtype in schema.items()))
        grouped.setdefault(key, []).append((file, schema))
    read = []
    for group in grouped.values():
        files, schema = [file for file, _ in group], group[0][1]
        # Absolute paths, because Polars would interpret a path that begins with `~/` or `file:`.
        paths = [file.path.absolute() for file in files]
        frame = reader_of(files[0].form).scan_files(paths, separator)
        if files[0].repeated:
            frame = leave_out_rows(frame, files[0].repeated)
        read.append(Batch(frame, schema, tuple(file.file.path for file in files)))
    return read


def read_number(text: pl.Expr, form: CsvFormat) -> pl.Expr:
    """A text (without spaces around it) as a number in the notation of the format, or null."""
    if form.symbols:
        symbol = "|".join(map(re.escape, form.symbols))
        text = text.str.replace(rf"^([+-]?\(?)\s*(?:{symbol})\s*", "$1")
        text = text.str.replace(rf"\s*(?:{symbol})\s*([)-]?)$", "$1")
    if form.accounting:
        text = text.str.replace(r"^\(\s*([^+()-].*?)\s*\)$", "-$1")
        text = text.str.replace(r"^([^+()-].*?)\s*-$", "-$1")
    if form.thousands:
        sign = r"\s" if form.thousands.isspace() else re.escape(form.thousands)
        is_grouped = text.str.contains(rf"^[+-]?[1-9]\d{{0,2}}(?:{sign}\d{{3}})+(?:[.,]\d*)?$")
        text = pl.when(is_grouped).then(text.str.replace_all(sign, "")).otherwise(text)
    if form.decimal == ",":
        # A text with a point is not a number: the point may separate thousands or decimals.
        text = pl.when(~text.str.contains(".", literal=True)).then(text)
        text = text.str.replace(",", ".", literal=True)
    return text.cast(pl.Float64, strict=False)


def read_date(text: pl.Expr, notations: Iterable[str]) -> pl.Expr:
    """A text as a date and time, in the first of the notations that fits, or null."""
    text = text.str.strip_chars()
    return pl.coalesce(text.str.to_datetime(notation, strict=False) for notation in notations)


def hint_dates(form: CsvFormat, column: str) -> str:
    """The remedy for texts in a column of dates that are not in the notation of the column."""
    if declared := dict(form.dates).get(column):
        written = " or ".join(declared)
        return f"`dates` says that they are written as {written}: correct it, or the data"
    return f'declare how dates are written, such as `dates: {{{column}: "%m/%d/%Y"}}`'


def leave_out_rows(frame: pl.LazyFrame, rows: Sequence[int]) -> pl.LazyFrame:
    """The frame without the rows with these numbers (from 0)."""
    left_out = pl.LazyFrame({ROW: rows}, schema={ROW: pl.get_index_type()})
    return frame.with_row_index(ROW).join(left_out, on=ROW, how="anti").drop(ROW)


def collect(query: pl.LazyFrame, batch: Batch) -> pl.DataFrame:
    """The result of a query on a batch; raises `DataError` if the data cannot be read."""
    try:
        return query.collect(engine="streaming")
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        name = batch.names[0] if len(batch.names) == 1 else f"{batch.names[0]} …"
        if "out-of-range date" in str(error):
            raise DataError(f"{name}: a date lies too far from 1970", DATE_HINT) from error
        # The text of the error may quote a row, so the message has only its class.
        raise DataError.unreadable(
            name, f"damaged, or not what its name says ({type(error).__name__})"
        ) from error
    except OSError as error:
        raise DataError.unreadable(batch.names[0], "damaged, truncated or gone") from error

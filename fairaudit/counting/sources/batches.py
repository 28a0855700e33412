"""`Batch`: files of one schema, or other rows, as one lazy frame of Polars; queries of it."""

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
    """A column of ours, under a name that no file can hold."""
    return f"\0{name}"


ROW = own(own("row"))
"""The column with the number of a row of the file."""

OBSERVED, UNKNOWN_LEVEL, POSSIBLE = range(3)
"""Kinds of people of a row with masked counts: observed, of hidden level, perhaps none at all."""


class Batch(Frozen):
    """Files of one schema as one lazy frame.

    If rows were grouped before, the column `times` says how many rows each of them represents. If
    rows `is_split` by masked counts, the column `kind` says what people a part has.
    """

    frame: pl.LazyFrame
    schema: Mapping[str, pl.DataType]
    names: tuple[str, ...]
    times: str | None = None
    is_split: bool = False

    @property
    def rows(self) -> pl.Expr:
        """How many rows of the data each row is part of."""
        return pl.lit(1, pl.Int64) if self.times is None else pl.col(self.times).cast(pl.Int64)


def batches(sources: Sequence[SourceFile], separator: str) -> list[Batch]:
    """One batch for each schema: files that differ in columns or types are scanned apart."""
    grouped: dict[tuple[object, ...], list[tuple[SourceFile, Mapping[str, pl.DataType]]]] = {}
    for file in sources:
        schema = reader_of(file.form).read_schema(file)
        # The numbers of rows that are left out are those of one file.
        alone = file.file.path if file.repeated else None
        key = (file.kind, alone, *((name, str(dtype)) for name, dtype in schema.items()))
        grouped.setdefault(key, []).append((file, schema))
    read = []
    for group in grouped.values():
        files, schema = [file for file, _ in group], group[0][1]
        # Polars takes `~/` and `file:` at the start of a path for more than a name.
        paths = [file.path.absolute() for file in files]
        frame = reader_of(files[0].form).scan_files(paths, separator)
        if files[0].repeated:
            frame = leave_out_rows(frame, files[0].repeated)
        read.append(Batch(frame, schema, tuple(file.file.path for file in files)))
    return read


def read_number(text: pl.Expr, form: CsvFormat) -> pl.Expr:
    """A text without blanks around it as the number that it is in this format; null if none."""
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
        # A point may separate thousands or decimals: such a text is not a number.
        text = pl.when(~text.str.contains(".", literal=True)).then(text)
        text = text.str.replace(",", ".", literal=True)
    return text.cast(pl.Float64, strict=False)


def read_date(text: pl.Expr, notations: Iterable[str]) -> pl.Expr:
    """A text as the date and time in the first notation that fits; null if none does."""
    text = text.str.strip_chars()
    return pl.coalesce(text.str.to_datetime(notation, strict=False) for notation in notations)


def hint_dates(form: CsvFormat, column: str) -> str:
    """The remedy for texts of a column that are not dates in its notation."""
    if declared := dict(form.dates).get(column):
        written = " or ".join(declared)
        return f"`dates` says that they are written as {written}: correct it, or the data"
    return f'declare how dates are written, such as `dates: {{{column}: "%m/%d/%Y"}}`'


def leave_out_rows(frame: pl.LazyFrame, rows: Sequence[int]) -> pl.LazyFrame:
    """The frame without the rows of these numbers, from 0."""
    left_out = pl.LazyFrame({ROW: rows}, schema={ROW: pl.get_index_type()})
    return frame.with_row_index(ROW).join(left_out, on=ROW, how="anti").drop(ROW)


def collect(query: pl.LazyFrame, batch: Batch) -> pl.DataFrame:
    """The answer to a query; an error of the reader in our own words."""
    try:
        return query.collect(engine="streaming")
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        name = batch.names[0] if len(batch.names) == 1 else f"{batch.names[0]} …"
        if "out-of-range date" in str(error):
            raise DataError(f"{name}: a date lies too far from 1970", DATE_HINT) from error
        # The text of Polars may quote a row; only the kind of error is reported.
        raise DataError.unreadable(
            name, f"damaged, or not what its name says ({type(error).__name__})"
        ) from error
    except OSError as error:
        raise DataError.unreadable(batch.names[0], "damaged, truncated or gone") from error

"""Data in memory (pandas, Polars, Arrow, other data frames, columns) as a lazy frame of Polars.

Lazy data stays lazy: Polars, DuckDB and Arrow datasets return the columns that a pass reads, chunk
by chunk. In other frames, only the columns that a pass reads are converted, one after the other.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
import pyarrow as pa

from fairaudit.base.errors import DataError, FairauditError
from fairaudit.base.names import quoted
from fairaudit.counting.plan import Plan
from fairaudit.counting.sources import FRAME_NAME, Frame
from fairaudit.counting.sources.batches import Batch
from fairaudit.counting.sources.column_checks import (
    READABLE,
    columns_read,
    describe_unread,
    find_difference,
    find_repeated,
    refuse_different,
)

_HINT = "give a path, a frame (Polars, pandas, Arrow, DuckDB), or a dict of columns"


def read_frame(data: Frame, plans: Sequence[Plan]) -> tuple[Batch, int, tuple[str, ...]]:
    """A data frame as a batch, its number of rows, and the names of all its columns.

    The batch has at least the columns that the plans read. The rows are counted separately, to
    check the counts of the passes.
    """
    try:
        native = data.frame
        if isinstance(native, pl.LazyFrame | pl.DataFrame):
            frame, header = native.lazy(), tuple(native.lazy().collect_schema())
        elif isinstance(native, Mapping):
            refuse_other_order(native)
            frame, header = _of_columns(native, native.__getitem__, plans)
        elif isinstance(native, np.ndarray) and native.dtype.names:
            frame, header = _of_columns(native.dtype.names, native.__getitem__, plans)
        elif (module := sys.modules.get("pyarrow.dataset")) and isinstance(native, module.Dataset):
            needed = native.replace_schema(_choose_fields(native.schema, plans))
            frame, header = pl.scan_pyarrow_dataset(needed), tuple(native.schema.names)
        else:
            frame, header = _of_library(data, plans)
        schema = frame.collect_schema()
        if pl.Null in schema.dtypes():
            # A column with only missing values is a column of texts, as in a CSV file.
            frame = frame.cast({pl.Null: pl.String})
            schema = frame.collect_schema()
        rows = int(frame.select(pl.len().cast(pl.Int64)).collect(engine="streaming").item())
    except FairauditError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:  # libraries raise any exception
        # The text of the error may quote a row, so the message has only its class.
        kind = f"{type(data.frame).__name__} that cannot be read ({type(error).__name__})"
        raise DataError(f"the data is a {kind}", _HINT) from error
    return Batch(frame, schema, (FRAME_NAME,)), rows, header


def _of_library(data: Frame, plans: Sequence[Plan]) -> tuple[pl.LazyFrame, tuple[str, ...]]:
    """A frame of a library that narwhals supports, or any stream of Arrow batches."""
    try:
        frame = nw.from_native(data.frame)
    except nw.exceptions.DuplicateError as error:
        repeating = _of_repeated(data, plans)
        if repeating is None:
            raise DataError(
                "the data frame has two columns with the same name", "rename one"
            ) from error
        return repeating
    except TypeError as error:
        if not hasattr(data.frame, "__arrow_c_stream__"):
            kind = type(data.frame).__name__
            raise DataError(f"the data is a {kind}, which is not a table", _HINT) from error
        reader = pa.RecordBatchReader.from_stream(data.frame)
        schema = _choose_fields(reader.schema, plans)
        rows = pa.Table.from_batches((batch.select(schema.names) for batch in reader), schema)
        # A stream can be read only once.
        data.frame = pl.DataFrame(pl.from_arrow(rows, rechunk=False))
        return data.frame.lazy(), tuple(reader.schema.names)
    if isinstance(frame, nw.DataFrame):
        return _of_columns(frame.columns, frame.get_column, plans)
    header = frame.collect_schema().names()
    if frame.implementation is nw.Implementation.DUCKDB:
        lazy: pl.LazyFrame = data.frame.pl(lazy=True)
        return lazy, tuple(header)
    read = columns_read(plans)
    columns = frame.select(*(name for name in header if name in read))
    return columns.collect("polars").to_native().lazy(), tuple(header)


def _of_repeated(data: Frame, plans: Sequence[Plan]) -> tuple[pl.LazyFrame, tuple[str, ...]] | None:
    """A pandas or Arrow frame with each repeated column once; None for other libraries."""
    frame = data.frame
    if isinstance(frame, pa.Table):
        header = tuple(frame.column_names)
        columns = [*map(pl.from_arrow, frame.columns)]
    elif hasattr(frame, "iloc"):
        header = tuple(map(str, frame.columns))
        columns = [frame.iloc[:, place] for place in range(len(header))]
    else:
        return None
    needed = columns_read(plans)
    for name, places in find_repeated(header, needed).items():
        copies = [read_column(str(place), columns[place]) for place in places]
        row = find_difference(pl.DataFrame(copies).lazy())
        if row is not None:
            raise refuse_different(name, FRAME_NAME, f", row {row}")
    by_name = {name: columns[header.index(name)] for name in header}
    return _of_columns(by_name, by_name.__getitem__, plans)[0], header


def _of_columns(
    names: Iterable[Any], column: Callable[[Any], Any], plans: Sequence[Plan]
) -> tuple[pl.LazyFrame, tuple[str, ...]]:
    """A frame of the columns that the plans read, and the names of all columns of the data."""
    by_text = {str(name): name for name in names}
    read = columns_read(plans)
    series = [read_column(text, column(by_text[text])) for text in by_text if text in read]
    sizes: dict[int, str] = {}
    for values in series:
        sizes.setdefault(len(values), values.name)
    if len(sizes) > 1:
        listed = ", ".join(f"{quoted(name)} has {size:,}" for size, name in sizes.items())
        raise DataError(
            f"the columns differ in length: {listed}", "give every column a value for each row"
        )
    return pl.DataFrame(series).lazy(), tuple(by_text)


def refuse_other_order(columns: Mapping[Any, Any]) -> None:
    """Raises `DataError` if pandas columns have indexes with the same labels in another order.

    Values are paired by position, so such columns would pair values of different people.
    """
    first: tuple[str, Any] | None = None
    for name, values in columns.items():
        native = values.to_native() if isinstance(values, nw.Series) else values
        index: Any = getattr(native, "index", None)
        if not hasattr(index, "equals"):  # lists have a method `index`, which is not an index
            continue
        if first is None:
            first = str(name), index
        elif not index.equals(first[1]) and {*index} == {*first[1]}:
            names = f"{quoted(first[0])} and {quoted(str(name))}"
            what = f"the indexes of {names} have the same labels in another order"
            raise DataError(what, "sort both by `.sort_index()`, or pass `.to_numpy()`")


def read_column(name: str, values: Any) -> pl.Series:  # noqa: ANN401  # of any library
    """A column of any library as a Polars series; raises `DataError` if it mixes types."""
    if isinstance(values, str | bytes | AbstractSet) or not isinstance(values, Iterable):
        kind = type(values).__name__
        raise DataError(f"the column {quoted(name)} is a {kind}, not a list or an array", _HINT)
    if isinstance(values, np.ndarray) and values.shape[1:] == (1,):
        values = values.ravel()  # a column of a matrix
    native = values.to_native() if isinstance(values, nw.Series) else values
    _refuse_unread(name, getattr(native, "type", getattr(native, "dtype", None)))
    try:
        column = pl.Series(name, values.to_polars() if isinstance(values, nw.Series) else values)
        is_sound = column.dtype != pl.Object
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        is_sound = False
    except pl.exceptions.PanicException as error:
        what = "values that fairaudit cannot read, such as a decimal of more than 38 digits"
        raise DataError(f"the column {quoted(name)} holds {what}", READABLE) from error
    if not is_sound:
        # Python values, with None for NaN and for the missing values of pandas.
        plain = (value.item() if isinstance(value, np.generic) else value for value in values)
        known = [
            None
            if (isinstance(value, float) and math.isnan(value))
            or type(value).__name__ in {"NAType", "NaTType"}
            else value
            for value in plain
        ]
        kinds = {type(value) for value in known if value is not None}
        if len(kinds) > 1 and kinds != {int, float}:
            listed = " and ".join(sorted(kind.__name__ for kind in kinds))
            hint = "use one type per column, for example text"
            raise DataError(f"the column {quoted(name)} mixes {listed}", hint)
        column = pl.Series(name, known, pl.Float64() if len(kinds) > 1 else None)
    return column.cast(pl.String) if column.dtype in {pl.Null, pl.Binary} else column


def _choose_fields(schema: pa.Schema, plans: Sequence[Plan]) -> pa.Schema:
    """The columns that plans read; raises `DataError` for a type that Polars cannot read."""
    read = columns_read(plans)
    chosen = [field for field in schema if field.name in read]
    for field in chosen:
        _refuse_unread(field.name, field.type)
    return pa.schema(chosen)


def _refuse_unread(name: str, kind: object) -> None:
    if (what := describe_unread(name, str(kind))) is not None:
        raise DataError(what, READABLE)


def name_columns(features: Any, base: str) -> dict[str, Any]:  # noqa: ANN401  # of any library
    """The columns of a frame, series, dict or array; unnamed columns are named `base_0`, …."""
    if isinstance(features, Mapping):
        return {str(name): values for name, values in features.items()}
    if isinstance(features, np.ndarray | list | tuple):
        table = features if isinstance(features, np.ndarray) else np.empty(0)
        columns = [*table.T] if table.ndim > 1 else [features]
        return {f"{base}_{number}": values for number, values in enumerate(columns)}
    try:
        native = nw.from_native(features, allow_series=True)
    except TypeError as error:
        kind = type(features).__name__
        hint = "give a frame, a series, a dict of columns, a list or an array"
        raise DataError(f"{base}s is a {kind}, which has no columns", hint) from error
    if isinstance(native, nw.Series):
        return {str(native.name or f"{base}_0"): native}
    frame = native.collect() if isinstance(native, nw.LazyFrame) else native
    return {str(name): frame.get_column(name) for name in frame.columns}


def list_levels(column: pl.Series) -> set[str]:
    """The known values of a column as texts; raises `DataError` for columns of lists or objects."""
    if column.dtype.is_nested() or column.dtype.is_object():
        what = (
            f"the column {quoted(column.name)} holds {column.dtype}, which cannot be used as levels"
        )
        raise DataError(what, "give a text, a number or a truth value for each row")
    known = (column.fill_nan(None) if column.dtype.is_float() else column).drop_nulls()
    return {*known.unique().cast(pl.String)}

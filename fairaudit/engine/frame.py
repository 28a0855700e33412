"""Data frames as data: Polars (lazy or not), pandas, Arrow, DuckDB and more, read by narwhals."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import polars as pl

from fairaudit.engine.numbers import Batch
from fairaudit.errors import DataError

NAME = "<data frame>"


def batch_of(data: Any) -> tuple[Batch, int]:  # noqa: ANN401  # any frame narwhals reads
    """A frame as a batch, and how many rows it has, counted apart from the pass."""
    frame = _lazy(data)
    try:
        schema = frame.collect_schema()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"the data frame cannot be read: {type(error).__name__}") from error
    rows = int(frame.select(pl.len().cast(pl.Int64)).collect(engine="streaming").item())
    return Batch(frame, schema, (NAME,)), rows


def _lazy(data: Any) -> pl.LazyFrame:  # noqa: ANN401
    if isinstance(data, pl.LazyFrame):
        return data
    try:
        native = nw.from_native(data)
        eager = native.collect() if isinstance(native, nw.LazyFrame) else native
        return eager.to_polars().lazy()
    except Exception as error:  # each library that narwhals reads fails in its own way
        message = f"the data is a {type(data).__name__} that cannot be read as a table"
        raise DataError(message, "give a path, or a frame that narwhals reads") from error

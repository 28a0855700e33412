"""Files as lazy frames: those of one schema are one batch, so that one scan reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from fairaudit.engine import filter as filters
from fairaudit.engine import polars
from fairaudit.engine.counted import Counted, Watch
from fairaudit.engine.numbers import Batch, own
from fairaudit.engine.sources import Source
from fairaudit.errors import DataError, Seek
from fairaudit.plan import Plan


def count(
    sources: Sequence[Source], plan: Plan, watch: Watch | None, *, apart: bool
) -> dict[str, Counted | DataError]:
    """The counts of sources by name; where they are not told apart, under the first of a batch."""
    counted: dict[str, Counted | DataError] = {}
    for batch in _batches(sources, plan.format.separator, apart=apart):
        counted |= count_batch(batch, plan, watch)
    return counted


def count_batch(
    batch: Batch, plan: Plan, watch: Watch | None = None
) -> dict[str, Counted | DataError]:
    """The counts of the files of a batch by name."""
    rule = filters.parse(plan.filter) if plan.filter else None
    if rule and plan.filter:
        polars.check_filter(batch, plan, rule, plan.filter)
    return polars.count(batch, plan, rule, watch)


def first_row(one: Source, plan: Plan, seek: Seek) -> int | None:
    """The number (from 1) of the first row that the filter keeps and that holds a sought value."""
    (batch,) = _batches([one], plan.format.separator, apart=False)
    rule = filters.parse(plan.filter) if plan.filter else None
    try:
        return polars.first_row(batch, plan, rule, seek)
    except pl.exceptions.PolarsError:
        return None


def _batches(sources: Sequence[Source], separator: str, *, apart: bool) -> list[Batch]:
    """One batch for each schema: files that differ in columns or types are scanned apart."""
    grouped: dict[tuple[object, ...], list[tuple[Source, Mapping[str, pl.DataType]]]] = {}
    for one in sources:
        schema = _schema(one)
        key = (one.kind, *((name, str(dtype)) for name, dtype in schema.items()))
        grouped.setdefault(key, []).append((one, schema))
    return [
        _batch([one for one, _ in group], group[0][1], separator, apart=apart)
        for group in grouped.values()
    ]


def _schema(one: Source) -> Mapping[str, pl.DataType]:
    if one.kind != "parquet":
        return dict.fromkeys(one.header, pl.String())
    try:
        return pl.read_parquet_schema(one.path)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        why = "not a Parquet file, or truncated"
        raise DataError.unreadable(one.file.path, why) from error


def _batch(
    sources: Sequence[Source], schema: Mapping[str, pl.DataType], separator: str, *, apart: bool
) -> Batch:
    paths = [one.path for one in sources]
    column = own("file") if apart else None
    if sources[0].kind == "parquet":
        frame = pl.scan_parquet(paths, glob=False, include_file_paths=column)
    else:
        frame = pl.scan_csv(
            paths,
            separator=separator,
            infer_schema=False,
            glob=False,
            raise_if_empty=False,
            include_file_paths=column,
        )
    names = tuple(one.file.path for one in sources)
    return Batch(frame, schema, names, tuple(map(str, paths)), apart)

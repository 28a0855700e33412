"""The one pass: files and a plan in, raw counts out. To add an engine, add a file beside polars.py.

Polars lives in this package and nowhere else.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from fairaudit.cube import Sum
from fairaudit.engine import dictionary, polars
from fairaudit.engine import filter as filters
from fairaudit.engine.guards import check_lines
from fairaudit.engine.sources import (
    Source,
    find_files,
    is_utf8,
    parquet_rows,
    read_header,
    source,
    spooled,
)
from fairaudit.errors import DataError, Fault, Seek, SpecError, did_you_mean
from fairaudit.plan import File, Plan, RawCells, RawKey
from fairaudit.spec import Format, Text


@dataclass(frozen=True, slots=True)
class _Opened:
    """A source with its columns; `records` is its control total, known once it is guarded."""

    source: Source
    schema: Mapping[str, pl.DataType]
    records: int = 0
    blank: int = 0


def count_files(plan: Plan, entries: Sequence[str], base: Path) -> RawCells:
    """The counts of the files that paths, folders and globs name, in one pass."""
    paths, left_out = find_files(entries, base)
    with tempfile.TemporaryDirectory(prefix="fairaudit-") as folder:
        opened = [_open(source(path, _name(path)), plan.format, Path(folder)) for path in paths]
        checked = _check_columns(plan, [(one.source, one.schema) for one in opened])
        notices = [*left_out, *checked]
        ready = [_guarded(one, plan.format, Path(folder)) for one in opened]
        blank = sum(one.blank for one in ready)
        if blank:
            notices.append(f"{blank:,} blank lines are no records and are not counted")
        counted, route = _by_route(plan, ready)
        return _joined(
            plan,
            counted,
            read=sum(one.records for one in ready),
            files=tuple(one.source.file for one in ready),
            route=route,
            notices=notices,
        )


def count_frame(plan: Plan, data: Any) -> RawCells:  # noqa: ANN401  # any frame narwhals reads
    """The counts of a data frame: Polars (lazy or not), pandas, Arrow, DuckDB and more."""
    frame = _lazy(data)
    try:
        schema = frame.collect_schema()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"the data frame cannot be read: {type(error).__name__}") from error
    file = File("<data frame>", 0, None)
    notices = _check_columns(plan, [(Source(file, Path(), "frame"), schema)])
    read = int(frame.select(pl.len().cast(pl.Int64)).collect(engine="streaming").item())
    batch = polars.Batch(frame, schema, (file.path,))
    counted = _counted(plan, batch)
    return _joined(plan, [counted], read, (file,), "Polars streaming over a frame", notices)


def locate(plan: Plan, entries: Sequence[str], base: Path, seek: Seek) -> str | None:
    """Where a sought value first stands: `file:line`, or the row where a file has no lines."""
    for path in find_files(entries, base)[0]:
        with tempfile.TemporaryDirectory(prefix="fairaudit-") as folder:
            one = _open(source(path, _name(path)), plan.format, Path(folder))
            (batch,) = _batches([one], plan.format.separator)
            rule = filters.parse(plan.filter) if plan.filter else None
            row = polars.first_row(batch, plan, rule, seek)
        if row is not None:
            by_line = one.source.kind == "csv" and not plan.format.multiline
            return f"{one.source.file.path}:{row + 1}" if by_line else f"{path.name}, row {row}"
    return None


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


def _name(path: Path) -> str:
    """A path as the report names it: from here, where it lies below."""
    plain = Path(os.path.normpath(path))
    try:
        return str(plain.absolute().relative_to(Path.cwd()))
    except ValueError:
        return str(plain)


def _open(one: Source, form: Format, folder: Path) -> _Opened:
    """A source with its columns; a CSV file in another encoding is copied to UTF-8 first."""
    if one.kind == "parquet":
        records = parquet_rows(one)
        try:
            return _Opened(one, pl.read_parquet_schema(one.path), records)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            why = "not a Parquet file, or truncated"
            raise DataError.unreadable(one.file.path, why) from error
    if not is_utf8(form):
        one = spooled(one, form, folder, drop_blank=False)
    header = read_header(one, form)
    with_header = Source(one.file, one.path, one.kind, header)
    return _Opened(with_header, dict.fromkeys(header, pl.String()))


def _check_columns(
    plan: Plan, sources: Sequence[tuple[Source, Mapping[str, pl.DataType]]]
) -> list[str]:
    """Every column that is needed but not there, or there twice; the notices of the rest."""
    faults: list[Fault] = []
    notices: list[str] = []
    rule = filters.parse(plan.filter) if plan.filter else None
    for one, schema in sources:
        texts = list(plan.texts)
        if rule and plan.filter:
            found = plan.filter
            texts += [Text(name, found.path, found.place, found.source) for name in rule.columns]
        repeated = {name: times for name, times in Counter(one.header).items() if times > 1}
        needed = {text.value for text in texts}
        for text in dict.fromkeys(texts):
            where = f" in {one.file.path}" if len(sources) > 1 else ""
            if text.value not in schema:
                hint = did_you_mean(text.value, schema) or f"; there are {_some(schema)}"
                faults.append(text.fault(f"no column {text.value!r}{where}{hint}"))
            elif text.value in repeated:
                times = repeated[text.value]
                faults.append(text.fault(f"{times} columns are named {text.value!r}{where}"))
        unneeded = sorted(set(repeated) - needed)
        if unneeded:
            names = ", ".join(repr(name) for name in unneeded)
            notices.append(f"{one.file.path} repeats column names that are not audited: {names}")
    if faults:
        raise SpecError(dict.fromkeys(faults))
    return notices


def _some(names: Mapping[str, object], most: int = 12) -> str:
    shown = ", ".join(repr(name) for name in list(names)[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def _guarded(one: _Opened, form: Format, folder: Path) -> _Opened:
    """The source with its control total, its text proven to be what the reader will see."""
    if one.source.kind == "parquet":
        return one
    lines = check_lines(one.source, form)
    ready = one.source
    if lines.blank:
        # The reader would make rows of nulls of them.
        ready = spooled(ready, Format(), folder, drop_blank=True)
    return _Opened(ready, one.schema, lines.records, lines.blank)


def _batches(opened: Sequence[_Opened], separator: str) -> list[polars.Batch]:
    """One batch for each schema: files that differ in columns or types are scanned apart."""
    grouped: dict[tuple[object, ...], list[_Opened]] = {}
    for one in opened:
        schema = tuple((name, str(dtype)) for name, dtype in one.schema.items())
        grouped.setdefault((one.source.kind, one.source.header, schema), []).append(one)
    return [_batch(group, separator) for group in grouped.values()]


def _batch(group: Sequence[_Opened], separator: str) -> polars.Batch:
    paths = [one.source.path for one in group]
    if group[0].source.kind == "parquet":
        frame = pl.scan_parquet(paths, glob=False)
    else:
        frame = pl.scan_csv(
            paths,
            separator=separator,
            infer_schema=False,
            glob=False,
            raise_if_empty=False,
        )
    return polars.Batch(frame, group[0].schema, tuple(one.source.file.path for one in group))


def _by_route(plan: Plan, ready: Sequence[_Opened]) -> tuple[list[polars.Counted], str]:
    """The counts of all files, each by the fastest route that serves it, and which routes ran."""
    counted: list[polars.Counted] = []
    rest: list[_Opened] = []
    for one in ready:
        found = None
        if one.source.kind == "parquet":
            found = dictionary.count(one.source.path, one.source.file.path, plan)
        if found is None:
            rest.append(one)
        else:
            counted += found
    kinds = sorted({one.source.kind for one in rest})
    counted += [_counted(plan, batch) for batch in _batches(rest, plan.format.separator)]
    routes = ["dictionary codes of Parquet"] if len(rest) < len(ready) else []
    routes += [f"Polars streaming over {' and '.join(kinds)}"] if rest else []
    return counted, "; ".join(routes)


def _counted(plan: Plan, batch: polars.Batch) -> polars.Counted:
    rule = filters.parse(plan.filter) if plan.filter else None
    if rule and plan.filter:
        polars.check_filter(batch, plan, rule, plan.filter)
    return polars.count(batch, plan, rule)


def _joined(  # the parts of one result
    plan: Plan,
    counted: Sequence[polars.Counted],
    read: int,
    files: tuple[File, ...],
    route: str,
    notices: Sequence[str],
) -> RawCells:
    """The counts of all batches as one; levels are united by their text."""
    rows = np.concatenate([one.rows for one in counted])
    if int(rows.sum()) != read:
        raise DataError(
            f"the pass counted {int(rows.sum()):,} rows, the control total is {read:,}",
            "the data changed while it was read, or is damaged: run again",
        )
    # Tiny weights, such as those that add up to 1, need the finer fixed point.
    fine = int(bool(plan.weight) and 0 < max(one.largest_weight for one in counted) < polars.TINY)
    weight = [number for one in counted for number in one.weights[fine]]
    squares = [number for one in counted for number in one.squares[fine]]
    return RawCells(
        keys=tuple(_united([one.keys[at] for one in counted]) for at in range(len(plan.keys))),
        kept=np.concatenate([one.kept for one in counted]),
        rows=rows,
        people=np.concatenate([one.people for one in counted]),
        read=read,
        files=files,
        route=route,
        weight=Sum.reduced(weight, polars.WEIGHT_SCALES[fine]) if plan.weight else None,
        squares=Sum.reduced(squares, polars.SQUARE_SCALES[fine]) if plan.weight else None,
        weight_error=max(one.weight_errors[fine] for one in counted),
        notices=tuple(notices),
    )


def _united(keys: Sequence[RawKey]) -> RawKey:
    if keys[0].key.edges is not None:
        return RawKey(keys[0].key, np.concatenate([one.codes for one in keys]))
    levels = sorted({level for one in keys for level in one.levels}, key=lambda x: (x is None, x))
    place = {level: at for at, level in enumerate(levels)}
    codes = [np.array([place[level] for level in one.levels], dtype=np.int64) for one in keys]
    return RawKey(
        keys[0].key,
        np.concatenate([c[one.codes] for c, one in zip(codes, keys, strict=True)]),
        tuple(levels),
    )

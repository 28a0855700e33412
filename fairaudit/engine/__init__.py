"""The one pass: files and a plan in, raw counts out. To add an engine, add a file beside polars.py.

Polars lives in this package and nowhere else; it is imported where its route runs.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fairaudit.cube import Sum
from fairaudit.engine import dictionary
from fairaudit.engine.counted import SQUARE_SCALES, TINY, WEIGHT_SCALES, Counted, Watch
from fairaudit.engine.files import find_files
from fairaudit.engine.sources import (
    Source,
    is_utf8,
    line_of,
    parquet_footer,
    read_header,
    source,
    spooled,
)
from fairaudit.errors import DataError, FairauditError, Fault, Seek, SpecError, did_you_mean
from fairaudit.plan import File, Plan, RawCells, RawKey
from fairaudit.spec import Format, Text

MOST_CELLS = 10_000_000
"""The cell budget: a pass that finds more combinations is told which column makes them."""


@dataclass(frozen=True, slots=True)
class _Guarded:
    """A source whose text is proven to be what the reader will see, with its control total."""

    source: Source
    records: int
    blank: int = 0


def count_files(
    plan: Plan, entries: Sequence[str], base: Path, watch: Watch | None = None
) -> RawCells:
    """The counts of the files that paths, folders and globs name, in one pass."""
    paths, left_out = find_files(entries, base)
    with tempfile.TemporaryDirectory(prefix="fairaudit-") as folder:
        opened = [_opened(path, plan.format, Path(folder)) for path in paths]
        notices = [*left_out, *_check_columns(plan, opened)]
        ready = [_guarded(one, plan.format, Path(folder)) for one in opened]
        counted, route = _by_route(plan, ready, watch, apart=False)
    whole = [_sound(one) for each in counted.values() for one in each]
    return _joined(plan, whole, ready, route, notices)


def count_each(
    plan: Plan, entries: Sequence[str], base: Path, watch: Watch | None = None
) -> dict[str, RawCells | FairauditError]:
    """The counts of each file by its name, from one scan; a file that fails has its error."""
    paths, left_out = find_files(entries, base)
    found: dict[str, RawCells | FairauditError] = {}
    notices: dict[str, list[str]] = {}
    ready: list[_Guarded] = []
    with tempfile.TemporaryDirectory(prefix="fairaudit-") as folder:
        for path in paths:
            try:
                one = _opened(path, plan.format, Path(folder))
                notices[_name(path)] = [*left_out, *_check_columns(plan, [one])]
                ready.append(_guarded(one, plan.format, Path(folder)))
            except FairauditError as error:
                found[_name(path)] = error
        found |= _each(plan, ready, notices, watch)
    return {_name(path): found[_name(path)] for path in paths}


def _each(
    plan: Plan,
    ready: Sequence[_Guarded],
    notices: Mapping[str, Sequence[str]],
    watch: Watch | None,
) -> dict[str, RawCells | FairauditError]:
    try:
        counted, route = _by_route(plan, ready, watch, apart=True)
    except FairauditError as error:
        if len(ready) == 1:
            return {ready[0].source.file.path: error}
        # One of them is bad: each by itself tells which.
        alone = [_each(plan, [one], notices, watch) for one in ready]
        return {name: cells for one in alone for name, cells in one.items()}
    found: dict[str, RawCells | FairauditError] = {}
    for one in ready:
        name = one.source.file.path
        try:
            whole = [_sound(part) for part in counted[name]]
            found[name] = _joined(plan, whole, [one], route, notices[name])
        except FairauditError as error:
            found[name] = error
    return found


def count_frame(plan: Plan, data: Any) -> RawCells:  # noqa: ANN401  # any frame narwhals reads
    """The counts of a data frame: Polars (lazy or not), pandas, Arrow, DuckDB and more."""
    from fairaudit.engine import frame, scan

    batch, rows = frame.batch_of(data)
    one = Source(File(frame.NAME, 0, None), Path(), "frame", tuple(batch.schema))
    notices = _check_columns(plan, [one])
    counted = [_sound(part) for part in scan.count_batch(batch, plan).values()]
    route = "Polars streaming over a frame"
    return _joined(plan, counted, [_Guarded(one, rows)], route, notices)


def locate(plan: Plan, entries: Sequence[str], base: Path, seek: Seek) -> str | None:
    """Where a sought value first stands: `file:line`, or the row where a file has no lines."""
    from fairaudit.engine import scan

    for path in find_files(entries, base)[0]:
        with tempfile.TemporaryDirectory(prefix="fairaudit-") as folder:
            one = _opened(path, plan.format, Path(folder))
            ready = _guarded(one, plan.format, Path(folder)).source
            row = scan.first_row(ready, plan, seek)
            if row is not None and one.kind == "csv":
                return f"{one.file.path}:{line_of(one, plan.format, row)}"
        if row is not None:
            return f"{one.file.path}, row {row}"
    return None


def _name(path: Path) -> str:
    """A path as the report names it: from here, where it lies below; as text that can be told."""
    plain = Path(os.path.normpath(path))
    with contextlib.suppress(ValueError):
        plain = plain.absolute().relative_to(Path.cwd())
    return os.fsencode(plain).decode(errors="backslashreplace")


def _opened(path: Path, form: Format, folder: Path) -> Source:
    """A source with its columns; a CSV file in another encoding is copied to UTF-8 first."""
    one = source(path, _name(path))
    if one.kind == "parquet":
        footer = parquet_footer(one)
        return replace(one, header=footer.names, types=footer.types)
    if not is_utf8(form):
        one = spooled(one, form, folder, drop_blank=False)
    return replace(one, header=read_header(one, form))


def _check_columns(plan: Plan, sources: Sequence[Source]) -> list[str]:
    """Every column that is needed but not there, or there twice; the notices of the rest."""
    faults: list[Fault] = []
    notices: list[str] = []
    texts = dict.fromkeys([*plan.texts, *_filter_columns(plan.filter)])
    needed = {text.value for text in texts}
    for one in sources:
        repeated = {name: times for name, times in Counter(one.header).items() if times > 1}
        where = f" in {one.file.path}" if len(sources) > 1 else ""
        for text in texts:
            if text.value not in one.header:
                hint = did_you_mean(text.value, one.header) or f"; there are {_some(one.header)}"
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
    levels = {key.column for key in plan.keys if key.edges is None}
    return [*notices, *_types_that_differ(sources, levels)]


def _types_that_differ(sources: Sequence[Source], columns: Iterable[str]) -> Iterator[str]:
    """Notices on columns that Parquet files hold in different types: levels join by their text."""
    for name in sorted(columns):
        first: dict[str, str] = {}
        for one in sources:
            if name in one.types:
                first.setdefault(one.types[name].removeprefix("large_"), one.file.path)
        if len(first) > 1:
            where = ", ".join(f"{kind} in {path}" for kind, path in first.items())
            yield f"{name!r} differs in type from file to file: {where}"


def _filter_columns(text: Text | None) -> list[Text]:
    """The columns that a filter looks at, each at the filter's place."""
    if text is None:
        return []
    from fairaudit.engine import filter as filters

    return [Text(name, text.path, text.place, text.source) for name in filters.parse(text).columns]


def _some(names: Sequence[str], most: int = 12) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def _guarded(one: Source, form: Format, folder: Path) -> _Guarded:
    if one.kind == "parquet":
        return _Guarded(one, parquet_footer(one).rows)
    from fairaudit.engine.guards import check_lines

    lines = check_lines(one, form)
    if lines.blank:
        # The reader would make rows of nulls of them.
        one = spooled(one, Format(), folder, drop_blank=True)
    told = replace(one, file=replace(one.file, lines=lines.lines))
    return _Guarded(told, lines.records, lines.blank)


def _by_route(
    plan: Plan, ready: Sequence[_Guarded], watch: Watch | None, *, apart: bool
) -> tuple[dict[str, list[Counted | DataError]], str]:
    """The counts of the files by name, each by the fastest route that serves it; which routes."""
    sources = {one.source.file.path: one.source for one in ready}
    tables = [(one.path, name) for name, one in sources.items() if one.kind == "parquet"]
    found: dict[str, list[Counted | DataError]] = {
        name: [*parts]
        for name, parts in dictionary.count(tables, plan, watch or _unwatched).items()
    }
    routes = ["dictionary codes of Parquet"] if found else []
    rest = [one for name, one in sources.items() if name not in found]
    if rest:
        from fairaudit.engine import scan

        routes.append(f"Polars streaming over {' and '.join(sorted({one.kind for one in rest}))}")
        for name, counted in scan.count(rest, plan, watch, apart=apart).items():
            found[name] = [counted]
    return found, "; ".join(routes)


def _unwatched(_: int) -> None:
    """Tells nobody."""


def _sound(counted: Counted | DataError) -> Counted:
    if isinstance(counted, DataError):
        raise counted
    return counted


def _joined(
    plan: Plan,
    counted: Sequence[Counted],
    ready: Sequence[_Guarded],
    route: str,
    notices: Iterable[str],
) -> RawCells:
    """The counts of files as one; levels are united by their text."""
    rows = np.concatenate([one.rows for one in counted])
    read = sum(one.records for one in ready)
    if int(rows.sum()) != read:
        raise DataError(
            f"the pass counted {int(rows.sum()):,} rows, the control total is {read:,}",
            "the data changed while it was read, or is damaged: run again",
        )
    keys = tuple(_united([one.keys[at] for one in counted]) for at in range(len(plan.keys)))
    if len(rows) > MOST_CELLS:
        raise _too_many(keys, len(rows))
    blank = sum(one.blank for one in ready)
    lines = "1 blank line is no record" if blank == 1 else f"{blank:,} blank lines are no records"
    skipped = [f"{lines} and not counted"] if blank else []
    # Tiny weights, such as those that add up to 1, need the finer fixed point.
    fine = int(bool(plan.weight) and 0 < max(one.largest_weight for one in counted) < TINY)
    weight = [number for one in counted for number in one.weights[fine]]
    squares = [number for one in counted for number in one.squares[fine]]
    return RawCells(
        keys=keys,
        kept=np.concatenate([one.kept for one in counted]),
        rows=rows,
        people=np.concatenate([one.people for one in counted]),
        read=read,
        files=tuple(one.source.file for one in ready),
        route=route,
        weight=Sum.reduced(weight, WEIGHT_SCALES[fine]) if plan.weight else None,
        squares=Sum.reduced(squares, SQUARE_SCALES[fine]) if plan.weight else None,
        weight_error=max(one.weight_errors[fine] for one in counted),
        notices=(*notices, *skipped),
    )


def _too_many(keys: Sequence[RawKey], cells: int) -> DataError:
    widest = max(keys, key=lambda key: len(key.levels))
    return DataError(
        f"{cells:,} combinations of levels, the budget is {MOST_CELLS:,}: the column "
        f"{widest.key.column!r} alone has {len(widest.levels):,} levels",
        "is it an id? take it out, or bin or merge its levels beforehand",
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

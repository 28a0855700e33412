"""Polars route over files: counts, the first row with a fault, columns with too many levels."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from fairaudit.base.errors import PlanError, PlanFault, Seek
from fairaudit.base.frozen import Frozen, replace
from fairaudit.base.names import quoted
from fairaudit.base.processes import SILENT, Progress
from fairaudit.counting.counts import PartialCounts
from fairaudit.counting.plan import MOST_LEVELS, Plan
from fairaudit.counting.routes import polars_route
from fairaudit.counting.routes.derived_columns import prepare
from fairaudit.counting.routes.polars_numbers import UNREAD, as_text
from fairaudit.counting.sources import SourceFile
from fairaudit.counting.sources.batches import ROW, Batch, batches, collect, own

_SAMPLE = 200_000
_FIRST = 50_000


def count(sources: Sequence[SourceFile], plan: Plan, progress: Progress) -> list[PartialCounts]:
    """The counts of files; files with the same columns and types are counted together."""
    read = batches(sources, plan.format.separator)
    return [count_batch(batch, plan, progress) for batch in read]


def count_batch(batch: Batch, plan: Plan, progress: Progress = SILENT) -> PartialCounts:
    """The counts of a batch.

    Raises `PlanError` if the first rows of a column already have too many levels.
    """
    numbers = prepare(batch, plan)
    # Without this check, counting by a column of ids would need all memory before it fails.
    names = list(dict.fromkeys(plan.capped))
    sample = numbers.batch.frame.select(names).head(_FIRST)
    counts = sample.select(pl.len().alias(own("rows")), pl.all().n_unique())
    counted = collect(counts, batch).row(0, named=True)
    where = f" in its first {_FIRST:,} rows alone" if counted[own("rows")] == _FIRST else ""
    faults = [
        PlanFault(
            f"{quoted(name)} has {counted[name]:,} levels{where}, and at most "
            f"{MOST_LEVELS:,} can be audited: if it is an id, remove it; otherwise reduce the "
            "levels with `keep` or `bins`",
            name,
        )
        for name in names
        if counted[name] > MOST_LEVELS
    ]
    if faults:
        raise PlanError(faults)
    return polars_route.count(numbers, progress)


class FoundRow(Frozen):
    """The first row with a fault: its number (from 1), the faulty texts, and a remedy."""

    number: int
    texts: tuple[str, ...] = ()
    remedy: str | None = None


def first_row(data: SourceFile | Batch, plan: Plan, seek: Seek) -> FoundRow | None:
    """The first row with the fault in `seek`, in the order of the data; None if it is not found.

    Only rows that the filter keeps are searched; if the filter cannot compare the value, all rows.
    """
    batch = data if isinstance(data, Batch) else batches([data], plan.format.separator)[0]
    # Number the rows first: `prepare` may split a row with several counts into several rows.
    frame = batch.frame.with_row_index(ROW, offset=1)
    schema = {ROW: pl.UInt32(), **batch.schema}
    numbers = prepare(replace(batch, frame=frame, schema=schema), plan)
    batch = numbers.batch
    # With columns of counts, the fault is in one of these columns.
    cells = plan.counts.columns if plan.counts is not None and seek.column == plan.count else ()
    texts = [
        as_text(pl.col(name), batch.schema[name]).alias(own(f"text{number}"))
        for number, name in enumerate((seek.column, *cells))
    ]
    kept, filtered = numbers.kept.fill_null(value=seek.numeric), [*numbers.filtered]
    if seek.in_filter:
        is_held, kept, filtered = ~numbers.comparable(seek.column), pl.lit(value=True), []
    elif seek.numeric:
        is_held = ~numbers.sound(seek.column)
        if plan.rows is not None and seek.column in plan.rows.similarity.numeric:
            # A feature must be finite, because ∞ has no distance.
            number = numbers.value(seek.column).cast(pl.Float64)
            is_held |= ~number.is_finite().fill_null(value=True)
    else:
        # A missing value may be any of the tokens, or null.
        text = as_text(pl.col(seek.column), batch.schema[seek.column])
        is_held = text.is_in([value for value in seek.values if value is not None])
        cut = {key.column for key in plan.every_key if key.edges is not None}
        if None in seek.values:
            is_held |= text.is_null()
        if None in seek.values and seek.column in cut:
            is_held |= numbers.value(seek.column).is_null()
    query = (
        batch.frame.select(ROW, *texts, is_held.alias(own("held")), *filtered)
        .filter(pl.col(own("held")) & kept)
        .select(ROW, *(own(f"text{number}") for number in range(len(texts))))
        .sort(ROW)
        .head(1)
    )
    try:
        found = query.collect(engine="streaming")
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None
    if not found.height:
        return None
    row, value, *held = found.row(0)
    if value is None or not seek.numeric:
        return FoundRow(row)
    if held and value not in held:
        remedies = [numbers.find_remedy(text, seek.column) for text in held if text is not None]
        known = () if None in held else tuple(held)
        return FoundRow(row, known, next(filter(None, remedies), None))
    value = value.removeprefix(UNREAD).strip()
    return FoundRow(row, (value,), numbers.find_remedy(value, seek.column))


def estimated_cells(file: SourceFile, plan: Plan) -> float:
    """The estimated number of cells of a plan, from the first rows of a file.

    It is the number of cells in these rows, plus an estimate of all others from the numbers of
    cells with one and two rows: Chao (1984), Nonparametric estimation of the number of classes in a
    population, Scandinavian Journal of Statistics 11:265, bias-corrected.
    """
    (batch,) = batches([file], plan.format.separator)
    sample = Batch(batch.frame.head(_SAMPLE), batch.schema, batch.names)
    rows = count_batch(sample, replace(plan, tables=())).rows
    once, twice = (int((rows == times).sum()) for times in (1, 2))
    return len(rows) + once * (once - 1) / (2 * (twice + 1))

"""Polars route: counts any data by a lazy, streaming `group_by`, and finds the rows of faults.

The same pass also counts scores and extra tables, chunk by chunk. All sums are exact integers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import truediv

import numpy as np
import polars as pl

from fairaudit.base.arrays import LARGE, SQUARE_ROOTS, TINY, WEIGHT_SCALES, Ints
from fairaudit.base.errors import DataError, PlanError, PlanFault, Seek
from fairaudit.base.frozen import Frozen, replace
from fairaudit.base.names import quoted
from fairaudit.base.processes import SILENT, Progress
from fairaudit.counting.counts import PartialCounts, RawWeights, check_people
from fairaudit.counting.plan import MASKED, MISSING, MOST_LEVELS, Key, Plan, SumName
from fairaudit.counting.raw_counts import Level, RawKey, find_starts
from fairaudit.counting.routes.chunk_counters import Column, ScoreCounter, TableCounter
from fairaudit.counting.routes.derived_columns import prepare
from fairaudit.counting.routes.polars_numbers import UNREAD, Numbers, as_text, is_text, texts_of
from fairaudit.counting.sources import SourceFile
from fairaudit.counting.sources.batches import OBSERVED, POSSIBLE, ROW, Batch, batches, collect, own

_LEVELS = (pl.Boolean, pl.Date, pl.Datetime, pl.Time)
"""Types whose values can be levels, in addition to texts and numbers."""

_HALF = 30
"""Factors below 2⁶⁰ are multiplied in halves of this many bits, so that nothing overflows."""

_SAMPLE = 200_000
_FIRST = 50_000


def count_files(
    sources: Sequence[SourceFile], plan: Plan, progress: Progress
) -> list[PartialCounts]:
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
    return _count(numbers, progress)


class FoundRow(Frozen):
    """The first row with a fault: its number (from 1), the faulty texts, and a remedy."""

    number: int
    texts: tuple[str, ...] = ()
    remedy: str | None = None


def first_row(data: SourceFile | Batch, plan: Plan, seek: Seek) -> FoundRow | None:
    """The first row with the fault in `seek`, in the order of the data; None if it is not found.

    If the filter cannot compare the value, all rows are searched; otherwise, only the rows that the
    filter keeps are searched.
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

    This is the number of cells in the first rows, plus an estimate of all other cells from the
    numbers of cells with one row and with two rows: Chao (1984), Nonparametric estimation of the
    number of classes in a population, Scandinavian Journal of Statistics 11:265, bias-corrected.
    """
    (batch,) = batches([file], plan.format.separator)
    sample = Batch(batch.frame.head(_SAMPLE), batch.schema, batch.names)
    rows = count_batch(sample, replace(plan, tables=())).rows
    once, twice = (int((rows == times).sum()) for times in (1, 2))
    return len(rows) + once * (once - 1) / (2 * (twice + 1))


def _count(numbers: Numbers, progress: Progress) -> PartialCounts:
    """The counts of a batch, with one entry for each combination of levels."""
    batch, plan = numbers.batch, numbers.plan
    frame = batch.frame.select(*_columns(numbers), *numbers.filtered)
    if not progress.silent:

        def report_rows(rows: pl.DataFrame) -> pl.DataFrame:
            progress.advance(rows.height, "rows")
            return rows

        frame = frame.map_batches(report_rows, streamable=True)
    kept = numbers.kept.cast(pl.Int8)
    if batch.is_split:
        is_possible = (kept == 1) & (pl.col(own("kind")) == POSSIBLE)
        kept = pl.when(is_possible).then(pl.lit(MASKED, pl.Int8)).otherwise(kept)
    frame = frame.with_columns(kept.alias(own("kept")))
    scores = {column: ScoreCounter(plan, column) for column in plan.scores}
    tables = TableCounter(plan) if plan.tables else None
    if scores or tables:
        frame = frame.map_batches(_counted_by(scores, tables, numbers), streamable=True)
    by = [own(f"key{number}") for number in range(len(plan.keys))]
    # Without a filter all rows are kept. Grouping by `kept` would add about 10 % to the time.
    are_kept = numbers.rule is None and bool(by) and not batch.is_split
    hidden = [pl.col(own("rows")).eq(0).alias(own("hidden"))] if batch.is_split else []
    groups = by if are_kept else [*by, own("kept"), *hidden]
    grouped = frame.group_by(groups).agg(*_measures(numbers))
    if are_kept:
        grouped = grouped.with_columns(pl.lit(1, pl.Int8).alias(own("kept")))
    cells = collect(grouped, batch)
    numbers.refuse(cells)
    counts = _counted(cells, plan)
    return replace(
        counts,
        scores={column: counter.closed(counts.keys) for column, counter in scores.items()},
        tables=() if tables is None else tables.closed(),
    )


def _columns(numbers: Numbers) -> Iterator[pl.Expr]:
    batch, plan = numbers.batch, numbers.plan
    for number, key in enumerate(plan.every_key):
        # The original level, or the code of the interval; null if the value is missing.
        dtype, level = batch.schema[key.column], pl.col(key.column)
        if not (dtype.is_numeric() or is_text(dtype) or dtype in _LEVELS):
            raise DataError(
                f"{batch.names[0]}: the column {key.column!r} holds {dtype}, which cannot be "
                "used as levels",
                "use a column of texts, numbers or dates",
            )
        if key.edges is not None:
            level = interval(key, numbers)
        elif dtype.is_float():
            level = level.fill_nan(None)
        elif is_text(dtype):
            level = level.cast(pl.String)
        yield level.alias(own(f"key{number}"))
    rows = batch.rows
    for name, (column, in_filter) in numbers.counters.items():
        is_sound = numbers.comparable(column) if in_filter else numbers.sound(column)
        yield ((~is_sound).cast(pl.Int64) * rows).alias(name)
    if batch.is_split:
        yield pl.col(own("kind"))
        rows = pl.when(pl.col(own("kind")) == OBSERVED).then(rows).otherwise(0)
    yield rows.alias(own("rows"))
    yield numbers.people.alias(own("people"))
    if plan.weight:
        yield numbers.sound_value(plan.weight).cast(pl.Float64).alias(own("weight"))
    for number, column in enumerate(plan.scores):
        yield numbers.value(column).cast(pl.Float64).alias(own(f"score{number}"))
    for name in plan.adding.columns:
        yield numbers.fixed(name).alias(own(f"fixed {name}"))


def _measures(numbers: Numbers) -> list[pl.Expr]:
    """The sums of each cell: rows, people, weights, and the sums that the plan asks for."""
    of_row = pl.col(own("people")).cast(pl.Int128)
    rows, people = pl.col(own("rows")).sum(), of_row.sum()
    if numbers.are_rows:
        rows, people = (pl.len().cast(kind) for kind in (pl.Int64, pl.Int128))
    weights: list[pl.Expr] = []
    if numbers.plan.weight:
        # Σ count·weight and Σ count·weight² as integers in both scales, and the rounding errors.
        # The fine scale has only the tiny weights; it is used if all weights are tiny.
        weight = pl.col(own("weight"))
        tiny = pl.when(weight < TINY).then(weight).otherwise(0.0)
        coarse, fine = WEIGHT_SCALES
        large = (weight * 10**6).round().cast(pl.Int128) * (coarse // 10**6)
        fixed = (weight * coarse).round().cast(pl.Int128)
        fixed = pl.when(weight < LARGE).then(fixed).otherwise(large)
        weights.append(weight.max().alias(own("largest")))
        for number, (part, whole, scale, root_scale) in enumerate((
            (weight, fixed, coarse, SQUARE_ROOTS[0]),
            (tiny, (tiny * fine).round().cast(pl.Int128), fine, SQUARE_ROOTS[1]),
        )):  # fmt: skip
            root = (part * root_scale).round().cast(pl.Int128)
            error = (part * scale - whole.cast(pl.Float64)).abs().max()
            weights += [
                (of_row * whole).sum().alias(own(f"weight{number}")),
                (of_row * root * root).sum().alias(own(f"squares{number}")),
                error.alias(own(f"error{number}")),
            ]
    # The sums that the plan asks for, as integers; a product is the sum of three parts.
    parts = {
        own(f"amount{number} {bits}"): part.cast(pl.Int128)
        for number, name in enumerate(numbers.plan.adding.sums)
        for bits, part in _parts_of(name).items()
    }
    return [
        rows.alias(own("rows")),
        people.alias(own("people")),
        *weights,
        *(pl.col(name).sum() for name in numbers.counters),
        *(
            (part if numbers.are_rows else part * of_row).sum().alias(name)
            for name, part in parts.items()
        ),
    ]


def _counted_by(
    scores: Mapping[str, ScoreCounter], tables: TableCounter | None, numbers: Numbers
) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """A function that counts the scores and extra tables of rows, and returns the rows."""
    plan = numbers.plan
    wanted = {key for groupings in plan.scores.values() for keys in groupings for key in keys}
    wanted |= {*plan.table_keys}
    names = {key: own(f"key{n}") for n, key in enumerate(plan.every_key) if key in wanted}
    known = {key: pl.Categories.random() for key in names if key.edges is None}
    with_nulls = set[Key]()
    lock = threading.Lock()

    def pass_on(rows: pl.DataFrame) -> pl.DataFrame:
        kept = rows.filter(pl.col(own("kept")) == 1)
        # Several threads may look up texts at the same time, but only one may count.
        coded = {
            key: texts_of(kept[names[key]], key.column).cast(pl.Categorical(categories))
            for key, categories in known.items()
        }
        with lock:
            # Polars drops unused categories, so the codes may differ from chunk to chunk.
            columns: dict[Key, Column] = {}
            for key, name in names.items():
                if key.edges is not None:
                    codes = kept[name].fill_null(len(key.edges) + 1).to_numpy()
                    columns[key] = codes, (*range(len(key.edges) + 1), MISSING)
                    continue
                texts = known[key].to_series().to_list()
                if coded[key].null_count():
                    with_nulls.add(key)
                codes = coded[key].to_physical().fill_null(len(texts)).to_numpy()
                columns[key] = codes, (*texts, *([None] if key in with_nulls else []))
            people = None if numbers.are_rows else kept[own("people")].to_numpy()
            for number, score_counter in enumerate(scores.values()):
                values = kept[own(f"score{number}")].fill_null(float("nan")).to_numpy()
                score_counter.add(columns, values, people)
            if tables is not None and len(kept):
                tables.add(columns, people)
        return rows

    return pass_on


def interval(key: Key, numbers: Numbers) -> pl.Expr:
    """The code of each number's interval (the number of edges that it passes); null if missing."""
    dtype, value = numbers.batch.schema[key.column], numbers.value(key.column)
    starts = find_starts(key, single=dtype == pl.Float32)

    def find_codes(numbers: pl.Series) -> pl.Series:
        passed = np.searchsorted(starts, numbers.to_numpy(), side="right")
        return pl.Series(numbers.name, passed, pl.Int32)

    code = value.cast(pl.Float64).map_batches(find_codes, pl.Int32, is_elementwise=True)
    return pl.when(value.is_not_null()).then(code)


def intervals_of_texts(key: Key, texts: Sequence[Level], plan: Plan) -> Ints | None:
    """The code of the interval of each text, or `MISSING`; None if a text is not a number."""
    frame = pl.DataFrame({key.column: texts}, schema={key.column: pl.String})
    numbers = Numbers(Batch(frame.lazy(), frame.schema, ("",)), plan)
    if not frame.select(numbers.sound(key.column)).to_series().all():
        return None
    codes = frame.select(interval(key, numbers)).to_series()
    return codes.cast(pl.Int64).fill_null(MISSING).to_numpy()


def _parts_of(name: SumName) -> dict[int, pl.Expr]:
    """The parts (of 64 bits) that are added up for a sum, by the bits to shift each part left."""
    kind, *columns = name
    fixed = [pl.col(own(f"fixed {column}")) for column in columns]
    match kind:
        case "sum":
            return {0: fixed[0]}
        case "distance":
            return {0: (fixed[0] - fixed[1]).abs()}
        case "product":
            high, other_high = (number // 2**_HALF for number in fixed)
            low, other_low = (number % 2**_HALF for number in fixed)
            middle = high * other_low + low * other_high
            return {2 * _HALF: high * other_high, _HALF: middle, 0: low * other_low}
        case _:
            raise ValueError(kind)


def _counted(counts: pl.DataFrame, plan: Plan) -> PartialCounts:
    people = counts[own("people")].to_list()
    check_people(sum(people))
    amounts: dict[SumName, list[int]] = {}
    for number, name in enumerate(plan.adding.sums):
        shifts = [*_parts_of(name)]
        parts = [counts[own(f"amount{number} {bits}")].to_list() for bits in shifts]
        amounts[name] = [
            sum(value << bits for value, bits in zip(values, shifts, strict=True))
            for values in zip(*parts, strict=True)
        ]
    weights = None
    if plan.weight:
        largest, *errors = (
            max((float(value or 0.0) for value in counts[own(name)]), default=0.0)
            for name in ("largest", "error0", "error1")
        )
        names = ("weight0", "weight1", "squares0", "squares1")
        sums = tuple(counts[own(name)].to_list() for name in names)
        coarse, fine = map(truediv, errors, WEIGHT_SCALES)
        weights = RawWeights(sums, largest, (coarse, fine))
    keys = []
    for number, key in enumerate(plan.keys):
        column = counts[own(f"key{number}")]
        if key.edges is not None:
            keys.append(RawKey(key, column.cast(pl.Int64).fill_null(MISSING).to_numpy()))
            continue
        text = texts_of(column, key.column)
        levels: list[str | None] = text.unique().sort(nulls_last=True).to_list()
        # Ranks are faster than look-ups if a column (of clusters) has millions of levels.
        codes = text.rank("dense").cast(pl.Int64).fill_null(len(levels)).to_numpy() - 1
        keys.append(RawKey(key, codes, tuple(levels)))
    return PartialCounts(
        keys=tuple(keys),
        kept=counts[own("kept")].fill_null(-1).cast(pl.Int64).to_numpy(),
        rows=counts[own("rows")].to_numpy(),
        people=np.array(people, dtype=np.int64),
        weights=weights,
        amounts=amounts,
    )

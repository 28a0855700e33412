"""Row metrics: reads people one by one, with their features and scores.

A row is found in the raw cell that the pass counted it in, so its groups, outcomes and what becomes
of missing values are those of the cube: the same people, recoded once. Those who are equal in all
that is read are one entry with a count, so what is held adds up (`counting/raw_rows.py`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import polars as pl

from fairaudit.base.errors import DataError, Seek
from fairaudit.base.progress import Progress
from fairaudit.counting.columns import SimilarityColumns
from fairaudit.counting.counts import Counts
from fairaudit.counting.plan import MISSING, RowPlan
from fairaudit.counting.raw_rows import RawRows
from fairaudit.counting.routes.derived_columns import add_columns, category
from fairaudit.counting.routes.filter_rows import checked_rule, filtered, is_kept
from fairaudit.counting.routes.polars_numbers import Numbers, as_text
from fairaudit.counting.routes.polars_route import interval
from fairaudit.counting.routes.row_profiles import RowGroups
from fairaudit.counting.sources.batches import Batch, collect, own


def read_rows(
    batches: Sequence[Batch], counts: Counts, plan: RowPlan, progress: Progress
) -> RawRows:
    """The people of the raw cells one by one, as far as the filter keeps them."""
    progress.start("reading people one by one", counts.read, "rows")
    collected = RowGroups(plan, counts)
    places = _place_levels(counts)
    first = 1
    for batch in batches:
        first += _read_batch(batch, counts, places, collected, first, progress)
    kept = int(counts.rows[counts.kept == 1].sum())
    if int(collected.rows.sum()) != kept or first - 1 != counts.read:
        raise DataError(
            f"{int(collected.rows.sum()):,} people were read one by one, and {kept:,} were counted",
            "the data changed while it was read: run again",
        )
    return collected.finish()


def _place_levels(counts: Counts) -> pl.DataFrame:
    """The raw cell of each combination of raw levels among the rows that the filter keeps."""
    columns: dict[str, pl.Series] = {}
    kept = np.flatnonzero(counts.kept == 1)
    for number, key in enumerate(counts.keys):
        codes = key.codes[kept]
        if key.key.edges is None:
            levels = pl.Series(key.levels, dtype=pl.String)
            columns[own(f"key{number}")] = levels.gather(codes)
        else:
            columns[own(f"key{number}")] = pl.Series(codes, dtype=pl.Int64)
    columns[own("cell")] = pl.Series(kept, dtype=pl.Int64)
    names = [own(f"key{number}") for number in range(len(counts.keys))]
    return pl.DataFrame(columns).unique(names or None, keep="any")


def _read_batch(
    batch: Batch,
    counts: Counts,
    places: pl.DataFrame,
    collected: RowGroups,
    first: int,
    progress: Progress,
) -> int:
    """Takes the audited people of the files of a batch; how many rows it has."""
    plan = counts.plan
    batch = add_columns(batch, plan)
    numbers = Numbers(batch, plan)
    rule = checked_rule(numbers)
    columns = [
        *_keys(numbers),
        *_features(collected.plan.similarity, numbers),
        *(
            numbers.value(name).cast(pl.Float64).alias(own(f"score {name}"))
            for name in collected.plan.scores
        ),
    ]
    frame = (
        batch.frame.with_row_index(own("row"), offset=first)
        .select(pl.col(own("row")).cast(pl.Int64), *columns, *filtered(rule, numbers))
        .with_columns(is_kept(rule).fill_null(value=False).alias(own("kept")))
    )
    keys = [own(f"key{number}") for number in range(len(plan.keys))]
    bad = [own(f"bad {name}") for name in collected.plan.similarity.numeric]
    held = [own(f"feature {name}") for name in collected.plan.similarity.columns]
    held += [own(f"score {name}") for name in collected.plan.scores]
    passed_rows = frame.select(own("row"), own("kept"), *keys, *bad, *held).map_batches(
        _passed(places, keys, held, collected, progress),
        projection_pushdown=False,
        predicate_pushdown=False,
        streamable=True,
        schema=pl.Schema({own("rows"): pl.Int64()}),
    )
    return int(collect(passed_rows.select(pl.col(own("rows")).sum()), batch).item() or 0)


def _passed(
    places: pl.DataFrame,
    keys: list[str],
    held: list[str],
    collected: RowGroups,
    progress: Progress,
) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Takes the audited rows of each chunk, and passes on how many rows it had."""
    lock = threading.Lock()

    def pass_on(rows: pl.DataFrame) -> pl.DataFrame:
        progress.advance(rows.height, "rows")
        audited = rows.filter(pl.col(own("kept")))
        if keys:
            audited = audited.join(places, on=keys, how="inner", nulls_equal=True)
        else:
            audited = audited.join(places, how="cross")
        with lock:
            _refuse_bad_numbers(audited, collected.plan.similarity.numeric)
            collected.add(audited.select(own("row"), own("cell"), *held))
        return pl.DataFrame({own("rows"): pl.Series([rows.height], dtype=pl.Int64)})

    return pass_on


def _keys(numbers: Numbers) -> Iterator[pl.Expr]:
    """The levels of each key as they were counted: texts, or numbers of intervals."""
    for number, key in enumerate(numbers.plan.keys):
        if key.edges is None:
            level = as_text(pl.col(key.column), numbers.batch.schema[key.column])
        else:
            level = interval(key, numbers).cast(pl.Int64).fill_null(MISSING)
        yield level.alias(own(f"key{number}"))


def _features(columns: SimilarityColumns, numbers: Numbers) -> Iterator[pl.Expr]:
    """The features of each row, null where one is missing, and which numbers are none."""
    for name in columns.numeric:
        value = numbers.value(name).cast(pl.Float64)
        is_sound = numbers.sound(name) & value.is_finite().fill_null(value=True)
        yield (~is_sound).alias(own(f"bad {name}"))
        yield value.alias(own(f"feature {name}"))
    for name in columns.categorical:
        yield category(name, numbers).alias(own(f"feature {name}"))


def _refuse_bad_numbers(rows: pl.DataFrame, numeric: Sequence[str]) -> None:
    """Raises `DataError` for the first numeric feature where an audited row holds no number."""
    for name in numeric:
        bad = int(rows[own(f"bad {name}")].sum())
        if bad:
            raise DataError(
                f"the feature {name!r} is numeric, and rows hold no number in it",
                "correct the data, name it under `categorical`, or name the values that mean "
                "missing in `missing.tokens`",
                seek=Seek(name, numeric=True),
            )

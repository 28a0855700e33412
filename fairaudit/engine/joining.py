"""The counts of files as one: levels united by their text, held against the control total."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairaudit.cube import Sum
from fairaudit.engine.counted import SQUARE_SCALES, TINY, WEIGHT_SCALES, Counted
from fairaudit.engine.sources import Guarded
from fairaudit.errors import DataError
from fairaudit.plan import MOST_CELLS, Plan, RawCells, RawKey


def joined(
    plan: Plan,
    counted: Sequence[Counted],
    ready: Sequence[Guarded],
    route: str,
) -> RawCells:
    """The counts of files as one; levels are united by their text."""
    measures = [one.measures for one in counted]
    rows = np.concatenate([one.rows for one in measures])
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
    fine = int(bool(plan.weight) and 0 < max(one.largest_weight for one in measures) < TINY)
    weight = [number for one in measures for number in one.weights[fine]]
    squares = [number for one in measures for number in one.squares[fine]]
    return RawCells(
        keys=keys,
        kept=np.concatenate([one.kept for one in counted]),
        rows=rows,
        people=np.concatenate([one.people for one in measures]),
        read=read,
        files=tuple(one.source.file for one in ready),
        route=route,
        weight=Sum.reduced(weight, WEIGHT_SCALES[fine]) if plan.weight else None,
        squares=Sum.reduced(squares, SQUARE_SCALES[fine]) if plan.weight else None,
        weight_error=max(one.weight_errors[fine] for one in measures),
        notices=tuple(skipped),
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

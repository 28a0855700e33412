"""Row metrics: the people as read, placed in the cells of the cube."""

from __future__ import annotations

import numpy as np

from fairaudit.base.arrays import Floats, Ints
from fairaudit.counting.counts import Counts
from fairaudit.counting.raw_rows import RawRows
from fairaudit.cube import Rows, add_up


def audited_rows(counts: Counts, read: RawRows, places: Ints) -> Rows:
    """The people of the cube; `places` are the cells of raw cells, -1 of those that leave it."""
    stays = places >= 0
    read = read.take(stays[read.cells])
    cells = places[read.cells]
    # Equal people of two raw cells may be in one cell of the cube; a missing score equals another.
    keys: list[Ints | Floats] = [cells]
    keys += [np.nan_to_num(score, nan=-np.inf) for score in read.scores.values()]
    order = read.features.canonical_order(*keys)
    is_new = np.zeros(len(order), dtype=np.bool_)
    is_new[:1] = True
    for values in (*keys, *read.features.numbers.T, *read.features.codes.T):
        column = values[order]
        is_new[1:] |= column[1:] != column[:-1]
    entry = np.cumsum(is_new) - 1
    first = order[is_new]
    numbers = np.full(len(first), np.iinfo(np.int64).max)
    np.minimum.at(numbers, entry, read.numbers[order])
    missing = {name: int(lacking[stays].sum()) for name, lacking in read.missing.items()}
    return Rows(
        cells[first],
        numbers,
        add_up(read.n[order], entry, len(first)),
        read.features.take(first),
        {name: values[first] for name, values in read.scores.items()},
        audited=int(counts.rows[stays].sum()),
        complete=int(read.complete[stays].sum()),
        capacity=read.capacity,
        share=0.5**read.halvings,
        missing={name: n for name, n in missing.items() if n},
    )

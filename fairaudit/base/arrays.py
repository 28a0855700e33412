"""Arrays: type aliases, `map_blocks`, scales of exact sums, reproducible samples, small counts.

Before values are added up, each one is multiplied by a scale and rounded to an integer. So sums do
not depend on the order of rows, on the files or on the way of counting. `kernel/sums.h` repeats the
scale and the maximum of weights. A small count is above 0 and below the threshold
(`suppress_below`, at least 2); for counts of 0, see pipeline/suppress/cell_sets.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Marks: TypeAlias = NDArray[np.bool_]

Ends: TypeAlias = tuple[Floats, Floats]
"""The lower and the upper end of the interval of each value; NaN if a value has no interval."""

Alpha: TypeAlias = float | Floats
"""The share of intervals that may miss the true value, on both sides together: 0.05 at 95 %."""

Grouping: TypeAlias = tuple[str, ...]
"""The columns whose levels define groups, in the order of the spec."""

Group: TypeAlias = tuple[tuple[str, str], ...]
"""A group: (column, level) for each column of its grouping; `()` is everybody."""

_BLOCK = 2**15
"""The number of values in a block. A few arrays of this size fit into the cache of a processor."""


def squeeze_repeats(array: NDArray[Any]) -> NDArray[Any]:
    """The array, with only one entry on its last axis if this axis is broadcast.

    Repeated values are then computed once.

    >>> squeeze_repeats(np.broadcast_to(np.arange(3)[:, None], (3, 5))).shape
    (3, 1)
    """
    return array if array.strides[-1] else array[..., :1]


def map_blocks(function: Callable[..., Any], *arrays: NDArray[Any], width: int = 1) -> Floats:
    """Applies a function to blocks of the last axis of arrays, and returns the joined results.

    An array with one entry on its last axis is broadcast. `width` is the number of values that the
    function computes from each entry. Several returned arrays are stacked on a new first axis.

    >>> map_blocks(np.add, np.arange(3), np.array([1])).tolist()
    [1, 2, 3]
    """
    length, arrays = max(array.shape[-1] for array in arrays), tuple(map(squeeze_repeats, arrays))
    width = max(width, *(array.size // max(array.shape[-1], 1) for array in arrays))
    step, stop = max(_BLOCK // max(width, 1), 1), max(array.shape[-1] for array in arrays)
    blocks = [
        function(*(
            array if array.shape[-1] == 1 else array[..., start : start + step] for array in arrays
        ))
        for start in range(0, max(stop, 1), step)
    ]  # fmt: skip
    result = np.concatenate(blocks, axis=-1)
    return np.broadcast_to(result, (*result.shape[:-1], length))


def unique_columns(*rows: Floats) -> tuple[Floats, Ints]:
    """The distinct columns of a table [rows, columns], and the index of each column among them.

    Many groups have equal counts, so their interval is computed only once.

    >>> columns, place = unique_columns(np.array([2.0, 1.0, 2.0]), np.array([9.0, 9.0, 9.0]))
    >>> columns.tolist(), place.tolist()
    ([[1.0, 2.0], [9.0, 9.0]], [1, 0, 1])
    """
    order = np.lexsort(rows)
    columns = np.stack(rows)[:, order]
    is_new = np.append(True, (columns[:, 1:] != columns[:, :-1]).any(axis=0))
    place = np.empty_like(order)
    place[order] = np.cumsum(is_new) - 1
    return columns[:, is_new], place


WEIGHT_SCALES = (10**9, 10**18)
"""The scales of weights: the usual scale, and the finer scale for weights that are all tiny."""

MOST_ROUNDING = (1e-6, 1e-18)
"""The maximum rounding error of a weight at each scale. Reports never show the actual error,
because it may be the error of a single row.
"""

SQUARE_ROOTS = (10**6, 10**15)
"""The scales of weights before the weights are squared; coarser than `WEIGHT_SCALES`."""

SQUARE_SCALES = (SQUARE_ROOTS[0] ** 2, SQUARE_ROOTS[1] ** 2)
"""The scales of squared weights."""

TINY = 1e-3
"""Weights below this number, such as weights that add up to 1, need the finer scale."""

LARGE = 1e6
"""From this number on, a double has fewer than nine exact decimals, so only six are used."""

ADDED_SCALE = 10**9
"""The scale of numbers that are added up."""

SCORE_SCALE = 10**9
SCORE_ROOT_SCALE = 10**6
"""The scale of sums of scores, and the scale of scores before they are squared."""

LARGEST_WHOLE = 2**53 - 1
"""Doubles hold each whole number up to this one exactly. Columns are read as doubles, so larger
numbers are rounded, but they stay on the correct side of every cut.
"""

LARGEST_WEIGHT = 1e9
LARGEST_NUMBER = 1e9
LARGEST_COUNT = float(LARGEST_WHOLE)
"""The largest allowed values in a row: of a weight, of a number, and of a count of people."""

MOST_PEOPLE = 2**62
"""The largest allowed sum of counts."""

SEED = 0
"""The seed of the sample of people who are kept in memory."""

ASKED_SEED = 1
"""The seed of the sample of people whose neighbours are searched."""

PAIRS_SEED = 2
"""The seed of the sample of pairs of people."""

_STEP = 0x9E3779B97F4A7C15
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def hash_rows(numbers: Ints | NDArray[np.uint64], seed: int) -> NDArray[np.uint64]:
    """The hash of each row number, by SplitMix64 (Steele, Lea & Flood 2014)."""
    with np.errstate(over="ignore"):
        mixed = (numbers.astype(np.uint64) + np.uint64(seed << 48)) * np.uint64(_STEP)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _MIX[0]
        mixed = (mixed ^ (mixed >> np.uint64(27))) * _MIX[1]
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


_CHUNK = 2**20


def choose_places(size: int, most: int) -> Ints:
    """The sorted indices of a reproducible sample of `most` rows; all rows if there are fewer.

    >>> choose_places(3, 5).tolist()
    [0, 1, 2]
    """
    if size <= most:
        return np.arange(size)
    places, hashes = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint64)
    for start in range(0, size, _CHUNK):
        chunk = np.arange(start, min(start + _CHUNK, size))
        places = np.concatenate([places, chunk])
        hashes = np.concatenate([hashes, hash_rows(chunk, SEED)])
        if len(places) > most:
            kept = np.argpartition(hashes, most)[:most]
            places, hashes = places[kept], hashes[kept]
    return np.sort(places)


LEAST_THRESHOLD = 2
"""The smallest threshold at which a count of people can be small."""


def is_small(count: int, threshold: int) -> bool:
    """Whether a count is above 0 and below the threshold."""
    return 0 < count < threshold


def are_small(counts: Ints, threshold: int) -> Marks:
    """Whether each count is small."""
    return (counts > 0) & (counts < threshold)


def raise_small(counts: Ints, threshold: int) -> Ints:
    """The counts, with `threshold - 1` in place of each small count."""
    return np.where(are_small(counts, threshold), threshold - 1, counts)


def has_small(counts: Ints, threshold: int) -> bool:
    """Whether any count is small."""
    return bool(are_small(counts, threshold).any())

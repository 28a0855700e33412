"""Arrays: type aliases, `map_blocks`, fixed points of sums, reproducible samples, small counts.

Each value that is added up becomes an integer first, so sums are equal for any order, split or
route. The kernel has its own scale and bound of weights, in `kernel/sums.h`. A small count is 1 to
below the threshold (at least 2); zeros: pipeline/suppress/cell_sets.py.
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
"""The lower and the upper end of an interval for each value; NaN if it has no interval."""

Alpha: TypeAlias = float | Floats
"""The share of intervals that may miss, both sides together: 0.05 at 95 % confidence."""

Grouping: TypeAlias = tuple[str, ...]
"""The columns that are crossed, in the order of the spec."""

Group: TypeAlias = tuple[tuple[str, str], ...]
"""Who is meant: (column, level) for each column of a grouping; `()` is everybody."""

_BLOCK = 2**15
"""Numbers in a block, which fits the cache of a processor with a few arrays made of it."""


def squeeze_repeats(array: NDArray[Any]) -> NDArray[Any]:
    """One entry of the last axis where that is broadcast: what repeats is computed once.

    >>> squeeze_repeats(np.broadcast_to(np.arange(3)[:, None], (3, 5))).shape
    (3, 1)
    """
    return array if array.strides[-1] else array[..., :1]


def map_blocks(function: Callable[..., Any], *arrays: NDArray[Any], width: int = 1) -> Floats:
    """The results of a function on blocks of the last axis of arrays; one entry is broadcast.

    `width` is the count of numbers that the function makes of each entry. If it returns several
    arrays, they are stacked on a new first axis.

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
    """The different columns of rows of numbers, [rows, columns], and the place of each in them.

    Many groups have equal counts, and equal counts have equal intervals.

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
"""The fixed point of weights: as a rule, and where all weights are tiny."""

MOST_ROUNDING = (1e-6, 1e-18)
"""No weight is rounded by more, at either scale; what any rounding was is of a single row."""

SQUARE_ROOTS = (10**6, 10**15)
"""Weights are squared at a coarser fixed point."""

SQUARE_SCALES = (SQUARE_ROOTS[0] ** 2, SQUARE_ROOTS[1] ** 2)
"""The fixed point of their squares."""

TINY = 1e-3
"""Weights such as those that add up to 1 need the finer fixed point."""

LARGE = 1e6
"""From here on a double has no nine decimals left: weights and numbers are taken at six."""

ADDED_SCALE = 10**9
"""The fixed point of numbers that are added up."""

SCORE_SCALE = 10**9
SCORE_ROOT_SCALE = 10**6
"""The fixed point of sums of scores, and of what is squared."""

LARGEST_WHOLE = 2**53 - 1
"""Columns are read as doubles, and up to here no two whole numbers are one: what is rounded lies
beyond, on the right side of every cut.
"""

LARGEST_WEIGHT = 1e9
LARGEST_NUMBER = 1e9
LARGEST_COUNT = float(LARGEST_WHOLE)
"""Largest weight, number and count of people in a row."""

MOST_PEOPLE = 2**62
"""What counts may add up to."""

SEED = 0
"""The seed of the sample of people that the memory holds."""

ASKED_SEED = 1
"""The seed of the sample of those whose neighbours are looked up."""

PAIRS_SEED = 2
"""The seed of the sample of pairs."""

_STEP = 0x9E3779B97F4A7C15
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def hash_rows(numbers: Ints | NDArray[np.uint64], seed: int) -> NDArray[np.uint64]:
    """SplitMix64 of the numbers of rows (Steele, Lea & Flood 2014)."""
    with np.errstate(over="ignore"):
        mixed = (numbers.astype(np.uint64) + np.uint64(seed << 48)) * np.uint64(_STEP)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _MIX[0]
        mixed = (mixed ^ (mixed >> np.uint64(27))) * _MIX[1]
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


_CHUNK = 2**20


def choose_places(size: int, most: int) -> Ints:
    """Places in order: all of them, or the wanted number.

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
"""Below it no count of people would be small."""


def is_small(count: int, threshold: int) -> bool:
    """Whether a count is above 0 and below the threshold."""
    return 0 < count < threshold


def are_small(counts: Ints, threshold: int) -> Marks:
    """Which of many counts are small."""
    return (counts > 0) & (counts < threshold)


def raise_small(counts: Ints, threshold: int) -> Ints:
    """The counts; each small one becomes `threshold - 1`, which hides how small it is."""
    return np.where(are_small(counts, threshold), threshold - 1, counts)


def has_small(counts: Ints, threshold: int) -> bool:
    """Whether any of many counts is small."""
    return bool(are_small(counts, threshold).any())

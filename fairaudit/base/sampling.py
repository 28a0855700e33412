"""Samples of people and pairs, reproducible by a hash; how many, in the metrics that sample."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairaudit.base.arrays import Ints

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

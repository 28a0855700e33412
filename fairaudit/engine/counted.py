"""What every route gives back, and the fixed point in which all of them add up weights.

A weight becomes an integer before it is added, so sums are equal for any order, split or route.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairaudit.cube import Ints
from fairaudit.plan import RawKey

WEIGHT_SCALES = (10**9, 10**18)
"""The fixed point of weights: as a rule, and where all weights are tiny."""

SQUARE_ROOTS = (10**6, 10**15)
SQUARE_SCALES = (10**12, 10**30)
"""Weights are squared at a coarser fixed point; the squares have its square."""

TINY = 1e-3
LARGE = 1e6
"""From here on a double has no nine decimals left: weights are taken at six."""

LARGEST_WEIGHT = 1e9
LARGEST_COUNT = 2.0**53 - 1


@dataclass(frozen=True, slots=True)
class Counted:
    """The counts of some files; weights as exact integers at both scales of this module."""

    keys: tuple[RawKey, ...]
    kept: Ints
    rows: Ints
    people: Ints
    weights: tuple[Sequence[int], Sequence[int]] = ((), ())
    squares: tuple[Sequence[int], Sequence[int]] = ((), ())
    largest_weight: float = 0.0
    weight_errors: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Fixed:
    """Weights of rows in fixed point, [N]: themselves, and what is squared; 64 bits each."""

    weights: Ints
    roots: Ints
    largest: float
    error: float


def fixed(weights: NDArray[np.float64]) -> Fixed | None:
    """Weights at the coarser scale; None where one is none, is large, or all are tiny."""
    largest = float(weights.max(initial=0.0))
    # `not` also holds for NaN.
    if not (float(weights.min(initial=0.0)) >= 0 and TINY <= largest < LARGE):
        return None
    scale = WEIGHT_SCALES[0]
    whole = np.rint(weights * scale)
    error = float(np.abs(weights * scale - whole).max()) / scale
    roots = np.rint(weights * SQUARE_ROOTS[0])
    return Fixed(whole.astype(np.int64), roots.astype(np.int64), largest, error)

"""Fixed points in which weights, numbers and scores are added up: their scales and bounds.

Each value becomes an integer first, so sums are equal for any order, split or route. The kernel
has its own scale and bound of weights, in `kernel/sums.h`.
"""

from __future__ import annotations

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

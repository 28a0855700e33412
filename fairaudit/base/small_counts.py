"""A small count: 1 to below the threshold (at least 2); zeros: pipeline/suppress/cell_sets.py."""

from __future__ import annotations

import numpy as np

from fairaudit.base.arrays import Ints, Marks

LEAST_THRESHOLD = 2
"""Below it no count of people would be small."""


def is_small(count: int, threshold: int) -> bool:
    """Whether a count is of some people, and of fewer than the threshold."""
    return 0 < count < threshold


def are_small(counts: Ints, threshold: int) -> Marks:
    """Which of many counts are small."""
    return (counts > 0) & (counts < threshold)


def raise_small(counts: Ints, threshold: int) -> Ints:
    """The counts, each small one as the largest small one: no status shows which it was.

    A `threshold` of 0 raises none.
    """
    return np.where(are_small(counts, threshold), threshold - 1, counts)


def has_small(counts: Ints, threshold: int) -> bool:
    """Whether any of many counts is small."""
    return bool(are_small(counts, threshold).any())

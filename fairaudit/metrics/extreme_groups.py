"""How a witness is picked: the highest and the lowest group, and how ties between them break."""

from __future__ import annotations

import numpy as np

from fairaudit.cube import Floats, Ints, Marks


def find_extreme(
    value: Floats, among: Marks, n: Ints | Floats, *, highest: bool, apart_from: Ints | None = None
) -> Ints:
    """The index [Z] of the group with the highest (or lowest) value among the marked ones.

    All arrays are [Z, G]. Ties: larger n, then the first label. Undefined values (NaN) are passed
    over, and the group `apart_from` [Z] too: a pair is two groups, even where all are equal. Where
    nothing is left the index is 0, which the caller must not use.
    """
    if not value.size:
        return np.zeros(len(value), dtype=np.int64)
    candidates = among & ~np.isnan(value)
    if apart_from is not None:
        candidates[np.arange(len(candidates)), apart_from] = False
    ranked = np.where(candidates, value if highest else -value, -np.inf)
    # A candidate's -inf must still beat everybody else's, so the marks decide among equals.
    best = (ranked == ranked.max(axis=1, keepdims=True)) & candidates
    return np.asarray(np.argmax(np.where(best, n, -1), axis=1))


def find_extremes(value: Floats, among: Marks, n: Ints | Floats) -> tuple[Ints, Ints]:
    """The indices [Z] of the highest and of the lowest other group."""
    high = find_extreme(value, among, n, highest=True)
    return high, find_extreme(value, among, n, highest=False, apart_from=high)

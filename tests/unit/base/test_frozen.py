"""Functions that keep their results for a value."""

from __future__ import annotations

import numpy as np

from fairaudit.base.arrays import Alpha
from fairaudit.base.frozen import Frozen, memoize


class Rows(Frozen, eq=False):
    """A value that compares by identity."""

    n: int


def test_results_are_kept_for_numbers_and_not_for_arrays() -> None:
    asked: list[Alpha] = []

    @memoize
    def level(rows: Rows, alpha: Alpha) -> Alpha | None:
        asked.append(alpha)
        return None if rows.n == 0 else alpha / rows.n

    rows, nobody = Rows(2), Rows(0)
    array = np.array([0.05, 0.1])
    assert [level(rows, 0.05), level(rows, 0.05), level(nobody, 0.05)] == [0.025, 0.025, None]
    assert level(nobody, 0.05) is None
    assert asked == [0.05, 0.05]
    for _ in range(2):
        np.testing.assert_array_equal(np.asarray(level(rows, array)), array / 2)
    assert len(asked) == 4

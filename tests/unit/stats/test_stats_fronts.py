"""Pareto fronts of many groups, against their definition, and functions of arrays in blocks."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from fairaudit.base.arrays import map_blocks
from fairaudit.stats.multiplicity import undominated

Floats = NDArray[np.float64]


@pytest.mark.parametrize("seed", range(12))
def test_two_fronts_of_many_groups_are_those_of_the_definition(seed: int) -> None:
    """Also of ties, where the earlier of two equal groups is ahead."""
    draw = np.random.default_rng(seed)
    k = int(draw.integers(1001, 1800))
    first, second = draw.random((2, k)) if seed % 2 else draw.integers(0, 40, (2, k)).astype(float)
    beats = _mark_beaten(first, second)
    ahead = ~beats.any(axis=1)
    beats[:, ahead] = False
    following = ~ahead & ~beats.any(axis=1)
    expected = np.flatnonzero(ahead), np.flatnonzero(following)
    found = undominated(first, second)
    assert len(found) == len(expected[0]) + len(expected[1])
    assert sorted(found[: len(expected[0])]) == expected[0].tolist()
    assert sorted(found[len(expected[0]) :]) == expected[1].tolist()


def _mark_beaten(first: Floats, second: Floats) -> NDArray[np.bool_]:
    """Whether each group (rows) is beaten by each other one (columns)."""
    order = np.arange(len(first))
    above, same = first > first[:, None], first == first[:, None]
    equal = same & (second == second[:, None])
    nearer = same & (second > second[:, None])
    earlier = equal & (order < order[:, None])
    return np.asarray((above & (second >= second[:, None])) | nearer | earlier)


def test_blocks_give_what_the_whole_gives() -> None:
    draw = np.random.default_rng(0)
    own, other = draw.random((2, 3, 50_001)), draw.random((2, 3, 1))

    def combine(a: Floats, b: Floats) -> tuple[Floats, Floats]:
        return (a * b).sum(axis=1), (a + b).max(axis=1)

    for second in (other, np.broadcast_to(other, own.shape)):
        blocks = map_blocks(combine, own, second)
        assert np.array_equal(blocks, np.stack(combine(own, other)))
    repeated = map_blocks(combine, *(np.broadcast_to(side, (2, 3, 7)) for side in (other, other)))
    assert repeated.shape == (2, 2, 7)

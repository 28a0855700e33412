"""Distinct combinations of codes: in ascending order, whether they fit one number or not."""

from __future__ import annotations

import numpy as np
import pytest

from fairaudit.cube import distinct_rows


@pytest.mark.parametrize("largest", [1, 50, 2**40])
@pytest.mark.parametrize("columns", [0, 1, 3])
def test_distinct_rows_are_those_of_a_sorted_set(largest: int, columns: int) -> None:
    draw = np.random.default_rng(3)
    few = draw.integers(-2, largest, (20, columns))
    codes = few[draw.integers(0, 20, 200)]
    cells, index = distinct_rows(codes)
    assert list(map(tuple, cells.tolist())) == sorted({*map(tuple, codes.tolist())})
    assert cells[index].tolist() == codes.tolist()


def test_of_nobody_nothing_is_distinct() -> None:
    cells, index = distinct_rows(np.zeros((0, 2), dtype=np.int64))
    assert (cells.shape, index.shape) == ((0, 2), (0,))


def test_without_columns_there_is_one_row() -> None:
    cells, index = distinct_rows(np.zeros((0, 0), dtype=np.int64))
    assert (cells.shape, index.shape) == ((1, 0), (0,))

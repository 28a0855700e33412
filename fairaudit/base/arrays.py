"""Type aliases of arrays and groups; `map_blocks`: computing block by block."""

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

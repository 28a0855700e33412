"""Multiplications that send a few known words to different places of a small table.

As in Dietzfelbinger et al. (1997), A reliable randomized algorithm for the closest-pair problem,
Journal of Algorithms 25:19: the upper bits of a product with an odd number.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

BITS = 12
SHIFT = np.uint64(64 - BITS)

NOBODY = np.uint64(2**64 - 1)
"""The word of no text: such bytes are no UTF-8, such a length is none."""

FACTORS = [np.uint64(pow(0x9E3779B97F4A7C15, power, 2**64) | 1) for power in range(1, 65)]
"""Multipliers to try in turn: always the same, so that equal data take an equal way."""

SECOND = [np.uint64(pow(0xC2B2AE3D27D4EB4F, power, 2**64) | 1) for power in range(1, 9)]
"""What further words of a text are multiplied with before they are joined with the first."""

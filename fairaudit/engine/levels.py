"""Levels and the codes that stand for them while a file is read."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Level = str | int | None
"""A text level (None: null), or the code of an interval of a cut number."""

Codes = NDArray[np.integer]
"""A place among levels for each row."""


def places(old: tuple[Level, ...], new: tuple[Level, ...]) -> NDArray[np.int64]:
    """Where each of the old levels stands among the new ones, which hold them all."""
    at = {level: place for place, level in enumerate(new)}
    return np.array([at[level] for level in old], dtype=np.int64)

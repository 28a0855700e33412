"""The arrays that counts are kept in, and how groups are named."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Marks: TypeAlias = NDArray[np.bool_]

Grouping: TypeAlias = tuple[str, ...]
"""The columns that are crossed, in the order of the spec."""

Group: TypeAlias = tuple[tuple[str, str], ...]
"""Who is meant: (column, level) for each column of a grouping; `()` is everybody."""

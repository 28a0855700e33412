"""Type aliases of arrays (`Ints`, `Floats`, `Marks`) and of groups and groupings."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Marks: TypeAlias = NDArray[np.bool_]

Ends: TypeAlias = tuple[Floats, Floats]
"""The lower and the upper end of an interval for each value; NaN where there is none."""

Alpha: TypeAlias = float | Floats
"""How often an interval may miss, both sides together: 0.05 for one of 95 %."""

Grouping: TypeAlias = tuple[str, ...]
"""The columns that are crossed, in the order of the spec."""

Group: TypeAlias = tuple[tuple[str, str], ...]
"""Who is meant: (column, level) for each column of a grouping; `()` is everybody."""

"""How large a group must be to take part in a comparison."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairaudit.cube import Floats, Ints, Marks


@dataclass(frozen=True, slots=True)
class Minimum:
    """What a group must reach to be compared: `size` people in the denominator."""

    size: int | None = None

    def admits(self, n: Ints | Floats) -> Marks:
        """Which of those with `n` people in the denominator are large enough; of any shape."""
        return np.ones(n.shape, np.bool_) if self.size is None else np.asarray(n >= self.size)


NO_MINIMUM = Minimum()
"""Where a spec sets nothing, everybody takes part."""

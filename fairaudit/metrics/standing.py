"""How a group stands in the comparisons: it takes part, or one rule sets it aside."""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from fairaudit.cube import GroupTable
from fairaudit.metrics.minimum import Minimum


class Standing(StrEnum):
    """How a group stands in the comparisons."""

    ELIGIBLE = "eligible"
    SMALL = "small"
    EXCLUDED = "excluded"
    UNKNOWN = "unknown"


def standing_of(table: GroupTable, g: int, n: int, minimum: Minimum) -> Standing:
    """How the group of that index stands, with `n` people in the denominator."""
    if not table.known[g]:
        return Standing.UNKNOWN
    if not table.eligible[g]:
        return Standing.EXCLUDED
    return Standing.ELIGIBLE if minimum.admits(np.array(n)) else Standing.SMALL

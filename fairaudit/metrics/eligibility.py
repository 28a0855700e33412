"""How a group stands in the comparisons: it takes part, or one rule sets it aside."""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from fairaudit.cube import GroupTable
from fairaudit.metrics.minimum import Minimum


class Eligibility(StrEnum):
    """How a group stands in the comparisons."""

    ELIGIBLE = "eligible"
    SMALL = "small"
    FEW_EVENTS = "few_events"
    EXCLUDED = "excluded"
    UNKNOWN = "unknown"
    SUPPRESSED = "suppressed"


def find_eligibility(
    table: GroupTable, g: int, n: int, minimum: Minimum, *, takes_part: bool = True
) -> Eligibility:
    """How the group of that index stands, with `n` people in the denominator.

    One that is large enough, and does not take part all the same, has too few events.
    """
    if not table.known[g]:
        return Eligibility.UNKNOWN
    if not table.eligible[g]:
        return Eligibility.EXCLUDED
    if not minimum.admits(np.array(n)):
        return Eligibility.SMALL
    return Eligibility.ELIGIBLE if takes_part or minimum.events is None else Eligibility.FEW_EVENTS

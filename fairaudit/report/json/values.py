"""What every row is made of: groups, and numbers that may not exist, be infinite or suppressed."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from fairaudit.cube import Group
from fairaudit.estimate import State, state_of

_MOST_BITS = 10_000


def write_group(group: Group) -> dict[str, str]:
    """A group as a mapping of columns to levels."""
    return dict(group)


def write_value(value: float | None) -> dict[str, Any]:
    """State and value; null where there is no finite number, or it is not told."""
    if value is None:
        return {"state": State.SUPPRESSED.value, "value": None}
    if math.isfinite(value):
        return {"state": State.DEFINED.value, "value": value}
    return {"state": state_of(value).value, "value": None}


def finite(value: float | None) -> float | None:
    """The number; None where there is none, or it is infinite."""
    return value if value is not None and math.isfinite(value) else None


def write_exact(value: Fraction | None) -> str | None:
    """A fraction as text; None where its digits would fill pages."""
    return None if value is None or value.denominator.bit_length() > _MOST_BITS else str(value)

"""How much a picture may show before nobody reads it, and how what is left out is told."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

from fairaudit.report import numbers
from fairaudit.report.pictures import Interval, Mark

ROWS = 40
"""So many rows a picture."""
LINES = 8
"""So many lines."""
STRATA = 24
"""So many places on an axis of names."""
PICTURES = 24
"""So many pictures of rates a report."""
STRATA_PICTURES = 12
"""So many of rates by stratum; the fewest attributes first."""

Item = TypeVar("Item")


def room(panels: int) -> int:
    """The rows that each of so many panels may have."""
    return max(ROWS // max(panels, 1), 2)


def cut(rows: Sequence[Interval], most: int) -> list[Interval]:
    """The first rows, and whoever the others are compared with; a last one counts those left."""
    if len(rows) <= most:
        return list(rows)
    kept = list(rows[: most - 1])
    kept += [row for row in rows[most - 1 :] if row.mark is Mark.REFERENCE]
    left = len(rows) - len(kept)
    words = f"and {numbers.whole(left)} more"
    return [*kept, Interval(words, math.nan, panel=rows[0].panel, mark=Mark.ASIDE)]


def left_out(count: int, what: str, why: str) -> str:
    """A sentence on what is not shown; empty where all is."""
    return f" Not shown: {numbers.whole(count)} {what}, {why}." if count > 0 else ""


def listed(names: Sequence[str], most: int = 5) -> str:
    """Some names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more

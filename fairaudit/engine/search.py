"""Which columns a search for reversals may condition on, once all rows are counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairaudit.cube import UNKNOWN
from fairaudit.plan import Search

MOST_LEVELS = 50
"""A column of more levels is no condition that people are alike in."""

FIRST_ROWS = 50_000
"""So many rows choose the candidates; who has more levels later is left out then."""

TOO_MANY = f"over {MOST_LEVELS} levels"


def why_dropped(search: Search, levels: Mapping[str, Iterable[str | None]]) -> dict[str, str]:
    """Why candidates are none in the end, by the levels that all rows have; None: it was given up.

    Missing values are no level.
    """
    found = {}
    for name in search.candidates:
        known = {level for level in levels.get(name, ()) if level is not None}
        if name not in levels or len(known) > MOST_LEVELS:
            found[name] = f"{TOO_MANY}, though not in the first {FIRST_ROWS:,} rows"
        elif len(known) < 2:  # one level makes no condition
            found[name] = "one level alone" if known else "no value at all"
        elif UNKNOWN in known:
            found[name] = f"a level {UNKNOWN!r}, the name of those who are not known"
    return found

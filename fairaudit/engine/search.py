"""Which columns a search for reversals may condition on, once all rows are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from fairaudit.cube import UNKNOWN
from fairaudit.plan import Plan, Search

MOST_LEVELS = 50
"""A column of more levels is no condition that people are alike in."""

FIRST_ROWS = 50_000
"""So many rows choose the candidates; who has more levels later is left out then."""

TOO_MANY = f"over {MOST_LEVELS} levels"


def fitness(
    search: Search, headers: Sequence[Sequence[str]], filtered_by: Collection[str] = ()
) -> dict[str, str | None]:
    """Why each column can be no candidate, whatever it holds; None where it may be one.

    Columns that the spec names, be it in its filter, are not there at all.
    """
    repeated = {name for one in headers for name, times in Counter(one).items() if times > 1}
    every = dict.fromkeys(name for one in headers for name in one)

    def why(name: str) -> str | None:
        if not name.strip():
            return "no name"
        if name in search.names:
            return "a name of something else here"
        if name in repeated:
            return "several columns of that name"
        return None if all(name in one for one in headers) else "not in every file"

    return {name: why(name) for name in every if name not in {*search.taken, *filtered_by}}


def with_candidates(
    plan: Plan, search: Search, fit: Mapping[str, str | None], few: Collection[str]
) -> Plan:
    """The plan with its candidates: of the columns that fit, those of few levels."""
    left_out = {name: why or TOO_MANY for name, why in fit.items() if why or name not in few}
    candidates = tuple(name for name in fit if name not in left_out)
    return replace(plan, search=replace(search, candidates=candidates, left_out=left_out))


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

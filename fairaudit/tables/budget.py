"""What a report costs, known from the counts before anything is evaluated.

Attributes explode: each one more doubles the groupings, and multiplies the groups.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache
from itertools import accumulate

from fairaudit.cube import Cube, Grouping, distinct_rows
from fairaudit.errors import SpecError
from fairaudit.names import quoted
from fairaudit.spec import MetricRequest, Spec

MOST_ROWS = 500_000
"""So many groups the entries of a spec may list together: about a minute, and 1 GB."""

MOST_UNASKED = 50_000
"""So many groups are looked at that nobody asked for, to tell which subsets no limit looks at."""


def refuse_explosion(cube: Cube, spec: Spec) -> None:
    """Raises `SpecError` where the groups that a spec asks for are too many to list."""
    asked = [
        tuple(dict.fromkeys((*by, *given)))
        for one in spec.requests for by in one.by for given in one.given
    ]  # fmt: skip
    if not _exceed(cube, asked, MOST_ROWS):
        return
    widest = max(spec.protected, key=lambda one: len(cube.key(one.name).levels))
    levels = len(cube.key(widest.name).levels)
    message = (
        f"the report would list over {MOST_ROWS:,} groups, in {len({*asked}):,} groupings of "
        f"{len(spec.protected)} attributes, of which {quoted(widest.name)} has {levels:,} levels: "
        "say `groups: {by: each}`, name fewer attributes, or make fewer levels by `keep`, `merge` "
        "or `bins`"
    )
    raise SpecError([widest.column.fault(message)])


def has_room_for_lattice(cube: Cube, shown: Iterable[MetricRequest]) -> bool:
    """Whether all subsets can be looked at, those included that the spec does not ask for."""
    entries = [one for one in shown if one.given == ((),)]
    asked = {by for one in entries for by in one.by}
    if not cube.has_few_subsets:
        return False
    others = [by for by in cube.subsets() if by not in asked]
    return not _exceed(cube, [by for by in others for _ in entries], MOST_UNASKED)


def _exceed(cube: Cube, groupings: list[Grouping], most: int) -> bool:
    """Whether these groupings have more groups than that; counted only where they may have."""
    if sum(_at_most(cube, by) for by in groupings) <= most:
        return False

    @cache
    def groups(by: Grouping) -> int:
        columns = [cube.keys.index(cube.key(name)) for name in by]
        return len(distinct_rows(cube.codes[:, columns])[0])

    # The largest first: they soon say that it is too much.
    largest = sorted(groupings, key=len, reverse=True)
    return any(total > most for total in accumulate(groups(by) for by in largest))


def _at_most(cube: Cube, by: Grouping) -> int:
    levels = math.prod(len(cube.key(name).levels) + 1 for name in by)
    return min(levels, len(cube.codes))

"""Refusals of unknown classes and strata, and of too many groups; notices on stratum weights.

Each additional attribute doubles the groupings and multiplies the groups.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator
from functools import cache
from itertools import accumulate

import numpy as np

from fairaudit.base.disclosure_marks import Notice, Subjects
from fairaudit.base.errors import SpecError, did_you_mean, suggest_known
from fairaudit.base.names import quoted
from fairaudit.cube import NO_COUNTERPART, UNKNOWN, Cube, Grouping, distinct_rows
from fairaudit.metrics.terms import name_stratum
from fairaudit.spec import MetricRequest, Spec
from fairaudit.spec.build import find_ladders

MOST_ROWS = 500_000
"""The largest number of groups that all entries list together: about a minute, and 1 GB."""

MOST_UNASKED = 50_000
"""The largest number of groups to evaluate in subsets that the spec does not ask for."""


def check_requests(spec: Spec, cube: Cube) -> None:
    """Raises `SpecError` for requests with unknown classes or strata, or with too many groups."""
    _refuse_unknown(spec.requests, cube)
    _refuse_explosion(cube, spec)
    if spec.suppress_below is not None:
        _refuse_ladders(cube, spec)


def _refuse_ladders(cube: Cube, spec: Spec) -> None:
    """Raises `SpecError` if too many verdicts depend on the same counts.

    Different columns may have the same groups: copies, or columns that follow from each other.
    """
    places = {key.name: place for place, key in enumerate(cube.keys)}
    codes = cube.codes[cube.people > 0]

    def name_counts(by: Grouping, of: str) -> tuple[Hashable, str]:
        columns = [places[name] for name in (*by, of) if name in places]
        _, index = distinct_rows(codes[:, columns])
        _, first = np.unique(index, return_index=True)
        return (first[index].tobytes(), "" if of in places else of), " × ".join((*by, of))

    faults = [*find_ladders(spec.checks, name_counts)]
    if faults:
        raise SpecError(faults)


def _refuse_explosion(cube: Cube, spec: Spec) -> None:
    """Raises `SpecError` if a spec asks for too many groups."""
    groupings = [
        tuple(dict.fromkeys((*by, *given)))
        for request in spec.requests for by in request.by for given in request.given
    ]  # fmt: skip
    if not _exceed(cube, groupings, MOST_ROWS):
        return
    widest = max(spec.protected, key=lambda attribute: len(cube.key(attribute.name).levels))
    levels = len(cube.key(widest.name).levels)
    message = (
        f"the report would list over {MOST_ROWS:,} groups, in {len({*groupings}):,} groupings of "
        f"{len(spec.protected)} attributes, of which {quoted(widest.name)} has {levels:,} levels: "
        "set `groups: {by: each}`, use fewer attributes, or reduce the levels with `keep`, `merge` "
        "or `bins`"
    )
    raise SpecError([widest.column.fault(message)])


def has_room_for_lattice(cube: Cube, shown: Iterable[MetricRequest]) -> bool:
    """Whether all subsets can be evaluated, including those that the spec does not ask for."""
    entries = [request for request in shown if request.given == ((),)]
    requested = {by for entry in entries for by in entry.by}
    if not cube.has_few_subsets:
        return False
    others = [by for by in cube.subsets() if by not in requested]
    return not _exceed(cube, [by for by in others for _ in entries], MOST_UNASKED)


def _exceed(cube: Cube, groupings: list[Grouping], most: int) -> bool:
    """Whether these groupings have more than `most` groups; counted only if they may."""
    sizes = (math.prod(len(cube.key(name).levels) + 1 for name in by) for by in groupings)
    if sum(min(size, len(cube.codes)) for size in sizes) <= most:
        return False

    @cache
    def groups(by: Grouping) -> int:
        columns = [cube.keys.index(cube.key(name)) for name in by]
        return len(distinct_rows(cube.codes[:, columns])[0])

    # The largest groupings first: they soon exceed the number.
    largest = sorted(groupings, key=len, reverse=True)
    return any(total > most for total in accumulate(groups(by) for by in largest))


def _refuse_unknown(shown: Iterable[MetricRequest], cube: Cube) -> None:
    """Raises `SpecError` for all classes and strata of entries that do not occur in the data."""
    shown = tuple(shown)
    faults = [
        text.fault(f"no stratum {quoted(text.value)} of {given}{hint}")
        for request in shown
        for given, known in _weighted_strata(request, cube)
        for text in request.stratum_texts
        if text.value not in known and (hint := did_you_mean(text.value, known))
    ]
    for request in shown:
        if request.class_text is None:
            continue
        axes = [axis for name in (request.of, "label") if (axis := cube.outcome(name)) is not None]
        known = list(dict.fromkeys(level for axis in axes for level in axis.levels))
        name = request.class_text.value
        if name not in known:
            what = f"no class {quoted(name)} in the {request.of}{suggest_known(name, known)}"
            faults.append(request.class_text.fault(what))
    if faults:
        raise SpecError(faults)


def _weighted_strata(request: MetricRequest, cube: Cube) -> Iterator[tuple[str, list[str]]]:
    """The strata columns of a weighted average as text, and the names of their strata."""
    for given in request.given if request.stratum_texts else ():
        strata = cube.table((), given, request.of).strata
        yield " × ".join(given), [name_stratum(stratum) for stratum in strata]


def write_weight_notices(shown: Iterable[MetricRequest], cube: Cube) -> Iterator[Notice]:
    """Notices on strata without a weight, and on weights without a stratum."""
    for request in shown:
        for given, strata in _weighted_strata(request, cube):
            known = {*strata} - {UNKNOWN, NO_COUNTERPART}
            weighted = {text.value for text in request.stratum_texts}
            pairs = (("has no weight", known - weighted), ("does not occur", weighted - known))
            for what, names in pairs:
                for name in map(quoted, sorted(names)):
                    text = f"{request.metric.id}: the stratum {name} of {given} {what}"
                    yield Notice(text, Subjects.NOBODY)

"""Notices of `run` in their order (add here); on levels and rows, also for `check`: recode/."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from fairaudit.base.disclosure_marks import Subjects
from fairaudit.base.names import quoted
from fairaudit.base.notice import Notice, NoticeRate
from fairaudit.cube import NO_LEVEL, Cube, GroupTable, distinct_rows
from fairaudit.cube.histogram import median_bin
from fairaudit.judge import AnyCheck, Check
from fairaudit.judge.simpson import MOST_SUSPECTS, ScanResult
from fairaudit.metrics.confusion_counts import count_groups
from fairaudit.metrics.rates import SELECTION_RATE
from fairaudit.metrics.scores import SCORING_RATE
from fairaudit.pipeline.recode.left_out import notice_undecided
from fairaudit.pipeline.tables.audit import Audit
from fairaudit.pipeline.tables.check_notices import (
    notice_few_people,
    notice_impossible_gates,
    notice_lone_strata,
    notice_turned_gaps,
)
from fairaudit.pipeline.tables.evaluation_cache import Tables, list_rates
from fairaudit.pipeline.tables.request_refusals import has_room_for_lattice, write_weight_notices
from fairaudit.pipeline.tables.row_notices import write_row_notices
from fairaudit.result import LatticeRow, Searched
from fairaudit.spec import MetricRequest, Spec

_ONE_POINT = 0.01
_MOST_LISTED = 10
"""So many columns that a search left out are told in words; JSON has them all."""

_ENOUGH_CELLS = 20
"""Fewer cells may all be multiples of 2 by chance: once in a million runs with twenty."""

_MANY_STRATA = 30
_FEW_PEOPLE = 6
"""A legitimate factor has fewer levels with more people; a job ad gets four or five letters."""

_NARROWED = Notice(
    "not every subset of the attributes is looked at, only the groupings that the spec asks for: "
    "together they have too many groups",
    Subjects.ANYBODY,
)


def write_notices(audit: Audit, lattice: Sequence[LatticeRow]) -> Iterator[Notice]:
    """All that a reader should know, in the order of the stages that it is about."""
    spec, counts, cubes, tables = audit.spec, audit.counts, audit.cubes, audit.tables
    checks = audit.question.checks
    yield from notice_undecided(cubes.left_out, counts, spec)
    yield from spec.notices
    yield from _notice_unpaired_models(spec)
    yield from counts.notices
    yield from counts.describe_files()
    yield from cubes.notices
    yield from write_weight_notices(spec.requests, cubes.cube)
    yield from write_row_notices(spec, cubes.rows, tables)
    yield from notice_unequal_rates(
        tables, [model.name for model in spec.predictions if model.binary]
    )
    yield from notice_unjudged_models(spec.checks, [model.name for model in spec.predictions])
    yield from notice_impossible_gates(checks, tables)
    yield from notice_turned_gaps(lattice)
    yield from notice_few_people(checks, tables)
    yield from notice_lone_strata(tables, spec.requests)
    yield from notice_repeated_rows(cubes.cube)
    yield from (
        notice_matched_sets(cubes.cube, spec.requests)
        if spec.cluster is None
        else notice_ignored_clusters(spec)
    )
    yield from notice_medians(tables, spec.requests)
    if not has_room_for_lattice(cubes.cube, spec.requests):
        yield _NARROWED
    yield from _notice_searched_columns(cubes.searched_columns)
    yield from _notice_unscanned_groups(audit.reversals)


def notice_unequal_rates(tables: Tables, models: Iterable[str]) -> Iterator[Notice]:
    """Predictions that select more people than others by over a point.

    Žliobaitė (2015) §4 compares classifiers only at equal rates: at unequal ones a difference of
    selection rates is partly one of how many are selected at all.
    """
    values_of = {
        name: SELECTION_RATE.compute(count_groups(tables.table((), (), name))) for name in models
    }
    known = {
        name: float(values.value[0, 0])
        for name, values in values_of.items()
        if values.value.size and not np.isnan(values.value[0, 0])
    }
    if known and max(known.values()) - min(known.values()) > _ONE_POINT:
        listed = ", ".join(f"{name} {value:.1%}" for name, value in known.items())
        yield Notice(
            f"the models do not select equally many ({listed}): compare their disparities by "
            "`normalized_difference`, which takes account of that",
            Subjects.ROW,
            (NoticeRate(SELECTION_RATE.id, name) for name in known),
        )


def notice_medians(tables: Tables, requests: Iterable[MetricRequest]) -> Iterator[Notice]:
    """Where the median lies that scoring rates are taken above, and how many share it."""
    outcomes = {request.of for request in requests if SCORING_RATE in list_rates(request.metric)}
    for of in sorted(outcomes):
        yield from _notice_median(tables.table((), (), of))


def _notice_median(table: GroupTable) -> Iterator[Notice]:
    scores = count_groups(table).scores
    if scores is None or not scores.everybody.sum():
        return
    people = scores.everybody
    middle = median_bin(people)
    low, high = float(scores.low[middle]), float(scores.high[middle])
    where = f"{low:g}" if low == high else f"between {low:g} and {high:g}"
    above, below = int(people[middle + 1 :].sum()), int(people[:middle].sum())
    yield Notice(
        f"{table.of}: the median of the score is {where}: {above:,} above, "
        f"{int(people[middle]):,} at it, {below:,} below",
        Subjects.NEVER,
    )


def notice_unjudged_models(checks: Iterable[AnyCheck], models: Iterable[str]) -> Iterator[Notice]:
    """Models that no limit looks at by themselves, where others are judged."""
    judged = {check.of for check in checks if not (isinstance(check, Check) and check.against)}
    names = [*models]
    if judged.intersection(names):
        for name in names:
            if name not in judged:
                yield Notice(
                    f"no limit looks at the model {name} by itself: `of: {name}` in a metric asks "
                    "it of that model",
                    Subjects.NOBODY,
                )


def notice_matched_sets(cube: Cube, requests: Iterable[MetricRequest]) -> Iterator[Notice]:
    """Strata that look like matched sets: very many of them, with a few people each.

    Where rows of a set are alike, a test that takes them for independent people is wrong.
    """
    for given in dict.fromkeys(given for request in requests for given in request.given if given):
        codes = cube.codes[:, [[key.name for key in cube.keys].index(name) for name in given]]
        known = np.all(codes != NO_LEVEL, axis=1) & (cube.people > 0)
        for column, name in enumerate(given):
            known &= ~np.isin(codes[:, column], list(cube.key(name).unknown))
        strata, index = distinct_rows(codes[known])
        people = np.bincount(index, cube.people[known], minlength=len(strata))
        if len(people) >= _MANY_STRATA and float(np.median(people)) <= _FEW_PEOPLE:
            yield Notice(
                f"{' × '.join(given)}: {len(people):,} strata, and the median stratum has "
                f"{float(np.median(people)):g} people. If these are matched pairs, or decisions "
                "about the same person or the same job, the rows are not independent, and the "
                "tests treat them as independent: `columns: {cluster: column}` names the column "
                "of rows that belong together",
                Subjects.ANYBODY,
            )


def notice_ignored_clusters(spec: Spec) -> Iterator[Notice]:
    """What takes rows for independent though the spec names their clusters."""
    listed = [
        *(["the tests of Simpson's reversals"] if spec.simpson else []),
        *(["the intervals of curves and of score summaries"] if _has_score(spec) else []),
        *(["the tests of one model against another"] if len(spec.predictions) > 1 else []),
    ]
    if listed:
        assert spec.cluster is not None
        yield Notice(
            f"clusters by {spec.cluster.value} are not in {' and '.join(listed)}, which treat rows "
            "as independent",
            Subjects.NOBODY,
        )


def _has_score(spec: Spec) -> bool:
    return any(outcome.score is not None for outcome in spec.predictions)


def notice_repeated_rows(cube: Cube) -> Iterator[Notice]:
    """Whether every combination occurs a multiple of times: people who may not be independent."""
    people = cube.people[cube.people > 0]
    times = int(np.gcd.reduce(people)) if len(people) >= _ENOUGH_CELLS else 1
    if times > 1:
        yield Notice(
            f"each of the {len(people):,} combinations of the audited columns occurs a multiple of "
            f"{times:,} times: are rows repeated, or people counted in units of {times:,}? Then "
            f"every interval is {math.sqrt(times):.2f} times too narrow (√{times:,})",
            Subjects.ANYBODY,
        )


def _notice_searched_columns(searched: Searched | None) -> Iterator[Notice]:
    """A notice on the columns that a search looked at, and on those that it left out."""
    if searched is None:
        return
    count = len(searched.columns)
    columns = "1 column" if count == 1 else f"{count:,} columns"
    text = f"Simpson's reversals: searched by {columns} that the spec does not name"
    listed = [f"{quoted(name)} ({why})" for name, why in searched.left_out.items()]
    if len(listed) > _MOST_LISTED:
        listed[_MOST_LISTED:] = [f"{len(listed) - _MOST_LISTED:,} more"]
    text += f"; left out: {', '.join(listed)}" if listed else ""
    yield Notice(text, Subjects.NOBODY)


def _notice_unpaired_models(read: Spec) -> Iterator[Notice]:
    """A notice where a report to publish leaves out whom two models treat unlike."""
    if read.suppress_below is not None and len(read.predictions) > 1:
        yield Notice(
            "models: whom two of them treat unlike is left out under `suppress_below`, for those "
            "are counts of few people",
            Subjects.NOBODY,
        )


def _notice_unscanned_groups(scanned: ScanResult) -> Iterator[Notice]:
    """Notices on what the scan for reversals could not compare, and what it does not list."""
    for group, ineligibility in scanned.left_out:
        if not group:
            yield Notice(f"Simpson's reversals: {ineligibility.why}", Subjects.ANYBODY)
    for why in scanned.too_many:
        yield Notice(f"Simpson's reversals: {why}", Subjects.ANYBODY)
    if count := scanned.untested:
        what = (
            f"Simpson's reversals: {count:,} pairs of groups whose gaps in strata may be opposite "
        )
        yield Notice(
            f"{what}are not tested, of more than {MOST_SUSPECTS:,} in one scan: say `pairs: "
            "reference`, or name fewer columns",
            Subjects.ANYBODY,
        )
    if count := scanned.repeated:
        verb = "is" if count == 1 else "are"
        why = "given several columns, where fewer of them show as much as surely"
        what = f"Simpson's reversals: {count:,} {verb} not listed: {why}"
        yield Notice(what, Subjects.ANYBODY)

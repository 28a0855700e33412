"""`Audit`: a task with its counts, cubes and cached `Tables`; errors for large reports.

A cube is the table of all counts. Reports grow fast, because each additional attribute doubles the
number of groupings and multiplies the number of groups.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cache, cached_property
from itertools import accumulate, islice, product
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from fairaudit.base.disclosure_marks import Notice, Subjects
from fairaudit.base.errors import DataError, SpecError, UsageError, did_you_mean, suggest_known
from fairaudit.base.frozen import Frozen, replace
from fairaudit.base.names import describe_group, quoted
from fairaudit.counting.counts import Counts
from fairaudit.cube import (
    MOST_ATTRIBUTES,
    MOST_COUNTS,
    NO_COUNTERPART,
    UNKNOWN,
    Cube,
    ExcludedGroups,
    Group,
    Grouping,
    GroupTable,
    distinct_rows,
    find_excluded,
)
from fairaudit.evidence.missing_bounds import find_possible_ends
from fairaudit.evidence.records import write_masked_range
from fairaudit.evidence.value_intervals import Intervals
from fairaudit.judge import Check
from fairaudit.judge.simpson import ScanResult
from fairaudit.judge.simpson.scanning import scan_reversals
from fairaudit.judge.subgroups import Discovery, search_subgroups
from fairaudit.judge.waivers import NO_EXCLUSION, Exclusion, exclude_groups
from fairaudit.metrics import (
    Disparity,
    Evaluation,
    GroupMetric,
    Metric,
    PeopleCount,
    Requirement,
    is_over_classes,
)
from fairaudit.metrics.estimate import Estimate, Significance
from fairaudit.metrics.evaluate import evaluate_against
from fairaudit.metrics.evaluation_record import write_unsmoothed
from fairaudit.metrics.reasons import explain_undefined
from fairaudit.metrics.terms import MetricOptions, name_stratum
from fairaudit.pipeline.audit_task import AuditTask
from fairaudit.pipeline.plan_builder import plan
from fairaudit.pipeline.recode import Cubes, recode
from fairaudit.pipeline.recode.scores import with_histogram
from fairaudit.spec import MetricRequest, Outcome, Protected, Spec, apply_cuts
from fairaudit.spec.build import find_ladders

if TYPE_CHECKING:
    from fairaudit.counting.sources.posterior_files import Draws

MOST_ROWS = 500_000
"""Maximum number of groups that all entries list together; they take a minute, and 1 GB."""

MOST_UNASKED = 50_000
"""Maximum number of groups to evaluate in subsets that the spec does not name."""


def _refuse_explosion(cube: Cube, spec: Spec) -> None:
    """Raises `SpecError` if a spec needs too many groups, or tables with too many counts."""
    groupings = [
        tuple(dict.fromkeys((*by, *given)))
        for request in spec.requests for by in request.by for given in request.given
    ]  # fmt: skip
    if _exceed(cube, [(by, (), 1) for by in groupings], MOST_ROWS):
        widest = max(spec.protected, key=lambda attribute: len(cube.key(attribute.name).levels))
        levels = len(cube.key(widest.name).levels)
        message = (
            f"the report would list over {MOST_ROWS:,} groups, in {len({*groupings}):,} "
            f"combinations of {len(spec.protected)} columns, of which {quoted(widest.name)} has "
            f"{levels:,} levels: set `groups: {{by: each}}`, use fewer columns, or reduce the "
            "levels with `keep`, `merge` or `bins`"
        )
        raise SpecError([widest.column.fault(message)])
    tables = [
        # A metric over all classes needs a table for each class.
        (by, given, request.of, request.of if is_over_classes(request.metric) else request.against)
        for request, by, given in list_places(spec.requests, everybody=True)
    ]
    if _exceed(cube, _count_outcomes(cube, tables), MOST_COUNTS):
        columns = {key.name: len(key.levels) for key in cube.keys}
        named: list[Protected | Outcome] = [*spec.groupable, *spec.outcomes]
        used = {name for by, given, *of in tables for name in (*by, *given, "label", *of)}
        largest = max(
            (column for column in named if column.name in used & {*columns}),
            key=lambda column: columns[column.name],
        )
        message = (
            f"the tables of groups by strata, labels and classes would have over {MOST_COUNTS:,} "
            f"counts, and {quoted(largest.name)} has {columns[largest.name]:,} levels: name fewer "
            "columns in `by` and `given`, or fewer classes, or reduce the levels with `keep`, "
            "`merge` or `bins`"
        )
        raise SpecError([largest.column.fault(message)])


def has_room_for_lattice(cube: Cube, shown: Iterable[MetricRequest]) -> bool:
    """Whether all subsets of attributes can be evaluated, not only those that the spec names."""
    entries = [request for request in shown if request.given == ((),)]
    requested = {by for entry in entries for by in entry.by}
    if len(cube.protected) > MOST_ATTRIBUTES:
        return False
    others = [by for by in cube.subsets() if by not in requested]
    tables = [(by, (), one.of, one.against) for by in others for one in entries]
    unasked = [(by, (), 1) for by in others for _ in entries]
    return not _exceed(cube, unasked, MOST_UNASKED) and not _exceed(
        cube, _count_outcomes(cube, tables), MOST_COUNTS
    )


_TableSize: TypeAlias = tuple[Grouping, Grouping, int]
"""The columns of the groups, the columns of the strata, and the counts per group and stratum."""


def _count_outcomes(
    cube: Cube, tables: Iterable[tuple[Grouping, Grouping, str, str | None]]
) -> list[_TableSize]:
    """The size of each table, which has a count for each label and each class of its outcomes."""
    slots = {key.name: len(key.levels) + 1 for key in cube.keys}
    return [
        (by, given, math.prod(slots.get(name or "", 1) for name in ("label", *of)))
        for by, given, *of in dict.fromkeys(tables)
    ]


def _exceed(cube: Cube, tables: Sequence[_TableSize], most: int) -> bool:
    """Whether these tables have more than `most` counts together, including zeros."""

    @cache
    def count_groups(by: Grouping) -> int:
        return len(distinct_rows(cube.codes[:, cube.places(by)])[0])

    def limit_groups(by: Grouping) -> int:
        return min(math.prod(len(cube.key(name).levels) + 1 for name in by), len(cube.codes))

    def exceeds(groups: Callable[[Grouping], int]) -> bool:
        sizes = (groups(by) * groups(given) * outcomes for by, given, outcomes in tables)
        return any(total > most for total in accumulate(sizes))

    return exceeds(limit_groups) and exceeds(count_groups)


def _refuse_unknown(shown: Iterable[MetricRequest], cube: Cube) -> None:
    """Raises `SpecError` with all classes and strata in the spec that do not occur in the data."""
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
    """The conditioning columns of a weighted average as text, and the names of their strata."""
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


def with_draws(table: GroupTable, draws: Draws, cube: Cube) -> GroupTable:
    """The table with posterior draws: means of the draws of finer groups, weighted by people.

    A table by an attribute that the draws do not have is returned unchanged. Raises `DataError` for
    draws that lack a group or an outcome.
    """
    if not set(table.by) <= set(draws.by):
        return table
    finest = cube.table(draws.by, (), table.of)
    people = finest.mass[:, :, : len(table.classes)].sum(axis=(0, 1, 2)) / table.scale
    counted = {
        group: float(n)
        for group, n, known in zip(finest.groups, people, finest.known, strict=True)
        if known and n
    }
    if lacking := [group for group in counted if group not in draws.groups]:
        what = (
            f"{draws.path}: the draws of the model have no values for {describe_group(lacking[0])}"
        )
        raise DataError(what, "include every group of the data, with the levels of the spec")
    probability = draws.roll_up(table.groups, counted)
    if not draws.outcomes:
        if table.positive is None or len(table.classes) != 2:
            what = (
                f"{draws.path}: the draws have no outcome column, and {table.of} does not "
                "have two levels"
            )
            raise DataError(what, "add a column `outcome`")
        is_positive = table.positive[: len(table.classes), None]
        probability = np.where(is_positive, probability, 1 - probability)
    elif unknown := [name for name in table.classes if name not in draws.outcomes]:
        what = (
            f"{draws.path}: the draws of the model have no values for the outcome "
            f"{quoted(unknown[0])} of {table.of}"
        )
        raise DataError(what, f"add this outcome; the draws have {', '.join(draws.outcomes)}")
    else:
        probability = probability[:, [draws.outcomes.index(name) for name in table.classes]]
    return replace(table, draws=probability)


_MOST_ABSENT = 1_000
"""Maximum number of absent groups of a grouping; codebooks may declare millions of them."""


class Tables:
    """The tables of the cubes of an audit, and the evaluations on them."""

    def __init__(
        self, cubes: Cubes, spec: Spec, cube: Cube | None = None, *, draws: Draws | None = None
    ) -> None:
        self.cube = cubes.cube if cube is None else cube
        self._cubes = cubes
        self._spec = spec
        self.draws = draws
        self._outcomes = {outcome.name: outcome for outcome in spec.outcomes}
        self._tables: dict[tuple[Grouping, Grouping, str, str | None], GroupTable] = {}
        self._excluded: dict[Grouping, ExcludedGroups | None] = {}
        self._evaluations: dict[object, Evaluation] = {}

    def of_cube(self, cube: Cube) -> Tables:
        """The `Tables` of another cube with the same columns."""
        return Tables(self._cubes, self._spec, cube, draws=self.draws)

    def table(
        self, by: Grouping, given: Grouping, of: str, against: str | None = None
    ) -> GroupTable:
        """The table by groups, strata and outcome; with `against`, of people with both outcomes."""
        key = (by, given, of, against)
        if key in self._tables:
            return self._tables[key]
        outcome, rule = self._outcomes[of], self._spec.exclude_below
        if by not in self._excluded:
            self._excluded[by] = None if rule is None else find_excluded(self.cube, by, rule)
        table = replace(
            self.cube.table(by, given, of, against),
            favourable=outcome.favourable,
            excluded=self._excluded[by],
        )
        column = outcome.score.value if outcome.score else None
        rows = self._cubes.rows
        if rows is not None and self.cube is self._cubes.cube:
            table = replace(table, rows=self.cube.place_rows(table, rows, column))
        score = self._cubes.scores.get(column) if column is not None else None
        if score is not None and self._spec.uses_for(outcome, Requirement.DISTRIBUTION):
            table = with_histogram(table, score)
        self._tables[key] = table
        return table

    def list_absent(self, by: Grouping) -> tuple[Group, ...]:
        """The groups of declared levels with at least one level that no row has."""
        keys = [self.cube.key(name) for name in by]
        absent = {(key.name, level) for key in keys for level in key.absent}
        if not absent:
            return ()
        declared = (
            [(key.name, level) for level in (*key.absent, *key.known_levels())] for key in keys
        )
        groups = (group for group in product(*declared) if not absent.isdisjoint(group))
        return tuple(islice(groups, _MOST_ABSENT))

    def list_empty(self, by: Grouping, given: Grouping, of: str) -> tuple[Group, ...]:
        """The groups without people: absent groups, and groups without people of this outcome."""
        if given:
            return ()
        table = self.table(by, given, of)
        unreached = (table.groups[g] for g in np.flatnonzero(table.n.sum(axis=0) == 0).tolist())
        return (*self.list_absent(by), *unreached)

    def evaluate(
        self,
        metric: Metric,
        place: tuple[Grouping, Grouping, str],
        terms: MetricOptions,
        against: str | None = None,
        exclusion: Exclusion = NO_EXCLUSION,
    ) -> Evaluation:
        """A metric on the table of a place, minus its value for the outcome `against` (if any)."""
        key = (metric, place, against, terms, exclusion.groups)
        known = self._evaluations.get(key)
        if known is None:
            by, strata, of = place
            other = None if against is None else self.table(by, strata, against, of)
            table = self.table(by, strata, of, against)
            if self.draws is not None and Requirement.DRAWS in metric.requirements:
                table = with_draws(table, self.draws, self.cube)
            if isinstance(metric, PeopleCount):
                absent = self.list_absent(by)
                table = table.with_empty(absent)
                other = None if other is None else other.with_empty(absent)
            needs, columns = metric.requirements, {*by}
            if not needs and not isinstance(metric, PeopleCount):  # `FirstOf` may use both
                needs = frozenset({Requirement.PREDICTION, Requirement.LABEL})
            if needs & {Requirement.PREDICTION, Requirement.CLASSES} and terms.at is None:
                columns |= {of, against or of}
            if Requirement.LABEL in needs:
                columns |= {"label"}
            moving = self._cubes.moving if self.cube is self._cubes.cube else {}
            if people := max((moving[name] for name in columns & {*moving}), default=0):
                table = replace(table, moving=people)
                other = None if other is None else replace(other, moving=people)
            table = exclude_groups(table, exclusion)
            other = None if other is None else exclude_groups(other, exclusion)
            known = self._evaluations[key] = evaluate_against(metric, table, terms, other)
        return known

    def evaluate_request(
        self, request: MetricRequest, by: Grouping, given: Grouping
    ) -> Evaluation | None:
        """The evaluation of a request; None if `by` contains a control or has no reference."""
        controls = request.terms.parameters.controls
        if request.terms.reference is not None and request.references.get(by) is None:
            return None
        if set(by) & set(controls):
            return None
        place = (by, (*given, *controls), request.of)
        return self.evaluate(request.metric, place, request.terms_for(by), request.against)


class Audit(Frozen, eq=False, dict=True):
    """A task with its counts, cubes and tables. In `spec`, cuts replace the quantiles."""

    task: AuditTask
    counts: Counts
    spec: Spec
    cubes: Cubes
    tables: Tables

    @classmethod
    def of(cls, task: AuditTask, counts: Counts) -> Audit:
        """The audit of these counts; raises `UsageError` if the task needs other counts.

        Raises `SpecError` for levels that do not occur and for too many groups; in a published
        report, also for too many checks of the same counts.
        """
        has_cuts = {*task.quantiles} <= {*counts.plan.cuts}
        spec = apply_cuts(task.spec, counts.plan.cuts) if has_cuts else task.spec
        has_models = {stratum.name for stratum in spec.modelled} <= {*counts.plan.models}
        if (
            not has_cuts
            or not has_models
            or not counts.plan.covers(plan(spec, models=counts.plan.models))
        ):
            what = "the counts file does not contain what the spec needs"
            raise UsageError(what, "count the data with this spec")
        fitted = counts.plan.models.values()
        reports = (Notice(model.report, Subjects.NEVER) for model in fitted)
        spec = replace(spec, notices=(*spec.notices, *reports))
        cubes = recode(counts, spec)
        _refuse_unknown(spec.requests, cubes.cube)
        _refuse_explosion(cubes.cube, spec)
        if spec.suppress_below is not None:
            # Different columns may make the same groups, for example a column and its copy.
            places = {key.name: place for place, key in enumerate(cubes.cube.keys)}
            codes = cubes.cube.codes[cubes.cube.people > 0]

            def name_counts(by: Grouping, of: str) -> tuple[Hashable, str]:
                columns = [places[name] for name in (*by, of) if name in places]
                _, index = distinct_rows(codes[:, columns])
                _, first = np.unique(index, return_index=True)
                return (first[index].tobytes(), "" if of in places else of), " × ".join((*by, of))

            if faults := [*find_ladders(spec.checks, name_counts)]:
                raise SpecError(faults)
        return cls(task, counts, spec, cubes, Tables(cubes, spec, draws=task.draws))

    @cached_property
    def reversals(self) -> ScanResult:
        """The reversals that the scan of the spec finds; empty without a scan."""
        if self.spec.simpson is None:
            return ScanResult()
        table = self.tables.table
        if self.spec.cluster is not None:
            # The tests of the scan treat rows as independent.
            table = cache(lambda *place: replace(self.tables.table(*place), clusters=None))
        return scan_reversals(table, self.spec.simpson)

    @cached_property
    def subgroups(self) -> Discovery | None:
        """The subgroups that the search of the spec finds; None without a search."""
        if self.spec.subgroups is None:
            return None
        cubes = self.cubes
        return search_subgroups(cubes.tables or (cubes.cube,), self.spec.subgroups)

    @property
    def hidden_people(self) -> int:
        """The number of people whom sites hid in their counts."""
        return sum(cells.people for cells in self.counts.hidden)


def list_places(
    requests: Iterable[MetricRequest], *, everybody: bool = False
) -> Iterator[tuple[MetricRequest, Grouping, Grouping]]:
    """Yields each request with its groupings and strata, if these have no column in common.

    With `everybody`, the grouping without columns comes first.
    """
    for request in requests:
        for given in request.given:
            for by in ((), *request.by) if everybody else request.by:
                if not set(by) & set(given):
                    yield request, by, given


def list_rates(metric: Metric) -> list[GroupMetric]:
    """The rates of a metric that reports list as rows."""
    if isinstance(metric, GroupMetric):
        return [metric]
    parts = metric.parts if isinstance(metric, Disparity) else ()
    return [rate for rate, _ in parts if rate.shown]


def write_estimate(
    evaluation: Evaluation,
    z: int,
    w: int,
    intervals: Intervals,
    significance: Significance | None = None,
) -> Estimate:
    """A value for a report with its interval, or the reason why it is undefined.

    It has no exact fraction, because only checks need exact fractions.
    """
    value = float(evaluation.value[z, w])
    error = 0.0
    if evaluation.error is not None:
        error = float(np.nan_to_num(evaluation.error[z, w], posinf=np.inf))
    reason = explain_undefined(evaluation, z, w) if math.isnan(value) else None
    estimate = intervals.estimate(value, z, w)
    if evaluation.table.masked:
        estimate = write_masked_range(estimate, find_possible_ends(evaluation), z, w)
    raw = write_unsmoothed(evaluation, z)
    return replace(estimate, significance=significance, reason=reason, error=error, unsmoothed=raw)


def evaluate_check(check: Check, tables: Tables, exclusion: Exclusion = NO_EXCLUSION) -> Evaluation:
    """The evaluation of a check on its table, without the excluded groups."""
    place = (check.by, check.strata, check.of)
    return tables.evaluate(check.metric, place, check.terms, check.against, exclusion)

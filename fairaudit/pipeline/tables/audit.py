"""`Audit`: a task with its counts, cubes and `Tables`, which caches tables and evaluations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from itertools import islice, product

import numpy as np

from fairaudit.base.disclosure_marks import Notice, Subjects
from fairaudit.base.errors import DataError, UsageError
from fairaudit.base.frozen import Frozen, replace
from fairaudit.base.names import quoted
from fairaudit.counting.counts import Counts
from fairaudit.counting.posterior_draws import Draws
from fairaudit.cube import Cube, ExcludedGroups, Group, Grouping, GroupTable, find_excluded
from fairaudit.evidence import Intervals
from fairaudit.judge import Check
from fairaudit.judge.simpson import ScanResult, scan_reversals
from fairaudit.judge.subgroups import Discovery, search_subgroups
from fairaudit.judge.waivers import NO_EXCLUSION, Exclusion, exclude_groups
from fairaudit.metrics import (
    Disparity,
    Evaluation,
    GroupMetric,
    Metric,
    MetricOptions,
    PeopleCount,
    Requirement,
    describe_group,
    evaluate_against,
    explain_undefined,
)
from fairaudit.metrics.estimate import Estimate, Significance
from fairaudit.metrics.evaluation_record import write_unsmoothed
from fairaudit.pipeline.audit_task import AuditTask
from fairaudit.pipeline.plan_builder import plan
from fairaudit.pipeline.recode import Cubes, recode
from fairaudit.pipeline.recode.scores import with_histogram
from fairaudit.pipeline.tables.request_refusals import check_requests
from fairaudit.spec import MetricRequest, Spec, apply_cuts


def with_draws(table: GroupTable, draws: Draws, cube: Cube) -> GroupTable:
    """The table with the posterior draws of its groups, weighted by the people of their parts.

    A table by other attributes than those of the draws stays as it is. Raises `DataError` for draws
    that lack a group or an outcome.
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
        what = f"{draws.path}: the draws lack {describe_group(lacking[0])}"
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
        what = f"{draws.path}: the draws lack the outcome {quoted(unknown[0])} of {table.of}"
        raise DataError(what, f"they have {', '.join(draws.outcomes)}")
    else:
        probability = probability[:, [draws.outcomes.index(name) for name in table.classes]]
    return replace(table, draws=probability)


_MOST_ABSENT = 1_000
"""The most absent groups of a grouping: codebooks may declare millions of combinations."""


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
        """The tables of another cube with the same columns."""
        return Tables(self._cubes, self._spec, cube, draws=self.draws)

    def table(
        self, by: Grouping, given: Grouping, of: str, against: str | None = None
    ) -> GroupTable:
        """The table of a grouping, strata and an outcome, of people who also have `against`."""
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
        if score is not None and self._spec.shows_histogram(outcome):
            table = with_histogram(table, score)
        self._tables[key] = table
        return table

    def list_absent(self, by: Grouping, given: Grouping = ()) -> tuple[Group, ...]:
        """The groups without people that have a declared level which no row has."""
        if given:
            return ()
        keys = [self.cube.key(name) for name in by]
        absent = {(key.name, level) for key in keys for level in key.absent}
        if not absent:
            return ()
        declared = (
            [(key.name, level) for level in (*key.absent, *key.known_levels())] for key in keys
        )
        groups = (group for group in product(*declared) if not absent.isdisjoint(group))
        return tuple(islice(groups, _MOST_ABSENT))

    def table_of_rows(self, by: Grouping, given: Grouping, of: str) -> GroupTable:
        """The table without clusters, for methods that treat rows as independent."""
        return replace(self.table(by, given, of), clusters=None)

    def evaluate(
        self,
        metric: Metric,
        place: tuple[Grouping, Grouping, str],
        terms: MetricOptions,
        against: str | None = None,
    ) -> Evaluation:
        """A metric on the table of a place, minus its value for the outcome `against` if given."""
        key = (metric, place, against, terms)
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
            known = self._evaluations[key] = evaluate_against(metric, table, terms, other)
        return known

    def evaluate_request(
        self, request: MetricRequest, by: Grouping, given: Grouping
    ) -> Evaluation | None:
        """The evaluation of a request; None if `by` has a control, or lacks a reference."""
        controls = request.terms.parameters.controls
        if request.terms.reference is not None and request.references.get(by) is None:
            return None
        if set(by) & set(controls):
            return None
        place = (by, (*given, *controls), request.of)
        return self.evaluate(request.metric, place, request.terms_for(by), request.against)


class Audit(Frozen, eq=False, dict=True):
    """A task with its counts, cubes and tables; `spec` has the cuts and models of the data."""

    task: AuditTask
    counts: Counts
    spec: Spec
    cubes: Cubes
    tables: Tables

    @classmethod
    def of(cls, task: AuditTask, counts: Counts) -> Audit:
        """The audit of these counts; raises `UsageError` if they lack what the task needs."""
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
        check_requests(spec, cubes.cube)
        return cls(task, counts, spec, cubes, Tables(cubes, spec, draws=task.draws))

    @cached_property
    def reversals(self) -> ScanResult:
        """The reversals that the scan of the spec finds; empty without a scan."""
        if self.spec.simpson is None:
            return ScanResult()
        tables = self.tables
        table = tables.table if self.spec.cluster is None else cache(tables.table_of_rows)
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
    """The groupings and strata of each request; a column never conditions on itself.

    With `everybody`, the grouping without columns comes first.
    """
    for request in requests:
        for given in request.given:
            for by in ((), *request.by) if everybody else request.by:
                if not set(by) & set(given):
                    yield request, by, given


def list_rates(metric: Metric) -> list[GroupMetric]:
    """The rates behind a metric that reports list."""
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
    """A value for a report, or the reason why it is undefined; `intervals` are of the evaluation.

    It has no exact fraction, which only checks need.
    """
    value = float(evaluation.value[z, w])
    error = 0.0
    if evaluation.error is not None:
        error = float(np.nan_to_num(evaluation.error[z, w], posinf=np.inf))
    reason = explain_undefined(evaluation, z, w) if math.isnan(value) else None
    estimate = intervals.estimate(value, z, w)
    raw = write_unsmoothed(evaluation, z)
    return replace(estimate, significance=significance, reason=reason, error=error, unsmoothed=raw)


def evaluate_check(check: Check, tables: Tables, exclusion: Exclusion = NO_EXCLUSION) -> Evaluation:
    """The evaluation of a check on its table, without the excluded groups."""
    if not exclusion.groups:
        place = (check.by, check.strata, check.of)
        return tables.evaluate(check.metric, place, check.terms, check.against)
    table = tables.table(check.by, check.strata, check.of, check.against)
    other = None
    if check.against is not None:
        other = tables.table(check.by, check.strata, check.against, check.of)
        other = exclude_groups(other, exclusion)
    return evaluate_against(check.metric, exclude_groups(table, exclusion), check.terms, other)

"""The pipeline from specs and data to results; `Judge`, which finds the status of each check.

Spec → Plan → Counts → Cube → Tables → Findings → AuditResult → published AuditResult. `AuditTask`
holds what to count, `count` reads the data, and `audit_counts` computes the result from the counts
alone. `answer` does the same and returns an error instead of raising it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, product
from pathlib import Path
from typing import TypeAlias, TypeVar

import numpy as np

from fairaudit.base.errors import DataError, FairauditError
from fairaudit.base.frozen import replace
from fairaudit.base.inputs import can_be_named
from fairaudit.base.masking import mask_all
from fairaudit.base.processes import SILENT, Progress
from fairaudit.counting import polars_engine
from fairaudit.counting.contract import CountsOrError, Engine
from fairaudit.counting.counts import Counts, add_notices
from fairaudit.counting.plan import Plan
from fairaudit.counting.sources import Frame
from fairaudit.counting.sources.dialects import Database
from fairaudit.counting.sources.files import Files, find_files, name_file
from fairaudit.cube import Grouping, Marks
from fairaudit.evidence import correct_families, extend_family
from fairaudit.evidence.missing_bounds import find_missing_bounds, may_take_part
from fairaudit.judge import (
    AnyCheck,
    Check,
    Finding,
    NotEvaluated,
    ReversalCheck,
    Status,
    SubgroupCheck,
    judge_reversals,
    judge_subgroups,
    leave_open,
    list_unsearched,
    list_without_outcome,
)
from fairaudit.judge import waivers as waiving
from fairaudit.judge.entries import (
    explain_unsearched,
    find_opposite_strata,
    find_passed_over,
    tell_unsearched,
)
from fairaudit.judge.judging import doubt_left_out, doubt_unknown_sizes, judge
from fairaudit.judge.left_out import MISSING, LeftOutPeople, count_left_out
from fairaudit.judge.waivers import NO_EXCLUSION, Exclusion, Waiver
from fairaudit.metrics import Evaluation, GroupMetric, Requirement
from fairaudit.metrics.terms import NO_MINIMUM, POOLED, MetricOptions
from fairaudit.pipeline import audit_task
from fairaudit.pipeline import baseline as baselines
from fairaudit.pipeline.audit_task import AuditTask, DataLike, RunOptions, SpecLike, get_or_raise
from fairaudit.pipeline.excluded_rows import (
    DROPPED_DOUBT,
    HIDDEN_DOUBT,
    MANY_LEFT_OUT_DOUBT,
    MASKED_DOUBT,
    HiddenPeople,
    LeftOutRows,
    MayCross,
    downgrade_if_worse,
    find_idle_roles,
    find_measure,
    may_cross_limit,
)
from fairaudit.pipeline.plan_builder import watch_sentinels
from fairaudit.pipeline.tables import tabulate
from fairaudit.pipeline.tables.audit import Audit, evaluate_check
from fairaudit.pipeline.tables.notices import find_missing_side
from fairaudit.result import AuditResult, ResultOrError
from fairaudit.result.rows import GroupKey
from fairaudit.spec import MissingPolicy


class Judge:
    """Finds the value, the evidence and the status of each check of a spec."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit
        self._spec = audit.spec
        self._tables = audit.tables
        self._today = audit_task.today()
        self._failing = audit.task.failing
        self._left_out = None if audit.cubes.left_out is None else LeftOutRows(audit)
        self._hidden = HiddenPeople(audit) if audit.hidden_people else None
        self._alike, self._joined = audit.cubes.alike, None
        if self._alike is not None:
            cube = self._alike.cube
            cubes = replace(audit.cubes, cube=cube, tables=())
            self._joined = replace(audit, cubes=cubes, tables=audit.tables.of_cube(cube))
        # The tests of all checks are corrected together, including the tests of checks that `only`
        # leaves out, so p-values do not depend on `only`.
        self._evidence = correct_families({
            check.id: (evaluate_check(check, audit.tables), check.fails)
            for check in audit.spec.checks
            if isinstance(check, Check)
        })  # fmt: skip

    def find_all(self) -> tuple[Finding, ...]:
        """The findings of the checks to judge, after waivers and the comparison with a baseline."""
        task, findings = self._audit.task, []
        for check in task.checks:
            finding = self._judge(check)
            assert finding is not None
            rejudge = partial(self._judge, check)
            if waivers := self._list_waivers(check):
                finding = waiving.waive(finding, waivers, rejudge)
            if task.baseline is not None:
                judged = set[GroupKey]()
                if isinstance(check, Check):
                    evaluation = evaluate_check(check, self._tables)
                    groups, strata = evaluation.table.groups, evaluation.table.strata
                    places = np.argwhere(evaluation.takes_part).tolist()
                    judged = {(frozenset(groups[g]), frozenset(strata[z])) for z, g in places}
                before, failing = task.baseline, self._failing
                if self._spec.suppress_below is not None:
                    finding = baselines.name_status_before(finding, before, judged, failing)
                else:
                    fails = finding.status is Status.FAIL
                    finding = baselines.compare(finding, before, rejudge, judged, failing)
                    if fails and finding.status is not Status.FAIL:
                        finding = self._bound_accepted(finding, task.baseline)
            findings.append(replace(finding, definition=task.definitions[check.id]))
        return tuple(findings)

    def _bound_accepted(self, finding: Finding, baseline: baselines.Baseline) -> Finding:
        """An accepted finding. It is open or in doubt if missing data could make a value fail."""
        check, bounds = finding.check, finding.missing
        exclusion = Exclusion(values=tuple(chain(*(row.crossed for row in finding.waived))))
        if finding.spread:
            exclusion = Exclusion(groups=tuple(row.group for row in finding.waived))
        list_worse = partial(baselines.list_possibly_worse, finding=finding, baseline=baseline)

        def may_cross(evaluation: Evaluation) -> bool:
            return list_worse(evaluation) != []

        doubts = self._list_outside(check, finding.status, exclusion, may_cross)
        # A failed check has no doubts about its other values, so these values are judged again.
        accepted = replace(exclusion, values=(*exclusion.values, *finding.crossed))
        rest = None if finding.spread else self._apply_limits(check, self._audit, accepted, ())
        others = [item for item in rest.not_evaluated if item.blocks] if rest else []
        doubts += [item for item in others if item not in finding.not_evaluated]
        finding = leave_open(finding, doubts, self._failing)
        whole = isinstance(check, Check) and evaluate_check(check, self._tables, exclusion)
        evaluation = whole and waiving.exclude_values(whole, exclusion)
        if not evaluation:
            return finding
        if bounds is None:  # no data are missing for this value, but perhaps for others
            table = evaluation.table
            w = 0 if finding.spread else table.groups.index(finding.first)
            bounds = find_missing_bounds(evaluation, table.strata.index(finding.stratum), w)
        worse = list_worse(evaluation)
        if bounds is None or (worse == [] and not may_take_part(evaluation)):
            return finding
        own = () if finding.spread else finding.first, finding.stratum
        apart = tuple(one for one in worse or () if (one.group, one.stratum) != own)
        return replace(finding, missing=replace(bounds, turns=True, others=apart))

    def _list_waivers(self, check: AnyCheck) -> list[Waiver]:
        """The waivers of a check that have not expired."""
        return [
            waiver
            for waiver in self._spec.waivers
            if waiver.check == check.id and waiver.holds(self._today)
        ]

    def _judge(self, check: AnyCheck, exclusion: Exclusion = NO_EXCLUSION) -> Finding | None:
        """The finding of a check without the excluded values; None if no value remains.

        A check is open if it does not judge a group of the data, or if people who are left out
        could make it worse. If joining levels with similar spelling would change the status, the
        finding names these levels. If the status would be worse, the check is inconclusive.
        """
        # People whom a waiver excludes are not counted as left out.
        people, gone = self._count_left_out(check), self._list_gone(check)
        finding = self._apply_limits(check, self._audit, exclusion, gone)
        if finding is None:
            return None
        doubts = self._list_doubts(check, finding, people, exclusion)
        gone += (idle := self._find_idle_cut(check, finding))
        if doubts or idle:
            finding = self._apply_limits(check, self._audit, exclusion, gone, doubts)
            assert finding is not None
        if MASKED_DOUBT in doubts:
            # The check would fail with some of the possible counts, and pass with others.
            finding = replace(finding, status=Status.INCONCLUSIVE)
        if self._joined is not None and self._alike is not None and exclusion == NO_EXCLUSION:
            # The columns of the check that have levels with similar spelling.
            names = [*chain(*chain(*self._list_places(check)))]
            can_join = not (isinstance(check, SubgroupCheck) and self._spec.features)
            if isinstance(check, Check):
                names += check.terms.parameters.controls
                can_join = not check.metric.requirements & {Requirement.SCORE, Requirement.FEATURES}
            names = [name for name in dict.fromkeys(names) if name in self._alike.levels]
            joined = None
            if names and can_join:
                joined = self._apply_limits(check, self._joined, exclusion, gone, doubts)
            if joined is not None and joined.status is not finding.status:
                reason = (
                    "levels with similar spelling are counted separately: "
                    f"{self._alike.describe(names)}; joined, the status would be {joined.status}, "
                    f"not {finding.status}"
                )
                is_worse = joined.status in {Status.INCONCLUSIVE, *self._failing}
                is_worse &= finding.status not in self._failing
                if is_worse:
                    reason += ": `merge` or `trim` them, or give each a name in `labels`"
                counted_apart = NotEvaluated((), (), reason, blocks=is_worse)
                finding = leave_open(finding, [counted_apart], self._failing)
        return replace(finding, left_out=people if people.reasons else None)

    def _apply_limits(
        self,
        check: AnyCheck,
        audit: Audit,
        exclusion: Exclusion,
        gone: Sequence[NotEvaluated],
        doubts: Sequence[NotEvaluated] = (),
    ) -> Finding | None:
        """The finding of a check by its limits and the given doubts; None if no value remains."""
        if isinstance(check, Check):
            evaluation = evaluate_check(check, audit.tables, exclusion)
            remaining = waiving.exclude_values(evaluation, exclusion)
            if remaining is None:
                return None
            evidence = self._evidence[check.id]
            if exclusion.groups or audit is not self._audit:
                evidence = extend_family(remaining, evidence)
            return judge(check, remaining, evidence, gone, doubts, self._failing)
        if isinstance(check, ReversalCheck):
            if exclusion != NO_EXCLUSION:
                return None
            finding = judge_reversals(check, audit.reversals, self._failing)
            return leave_open(finding, [*gone, *doubts], self._failing)
        assert audit.subgroups is not None
        waived = [breach.group for breach in exclusion.values]
        found = judge_subgroups(check, audit.subgroups, waived)
        reasons = [*list_unsearched(check, audit.subgroups), *gone, *doubts]
        return found and leave_open(found, reasons, self._failing)

    def _find_idle_cut(self, check: AnyCheck, finding: Finding) -> list[NotEvaluated]:
        """A reason to leave open a check at parity, if its cut puts all decisions on one side."""
        if not isinstance(check, Check) or isinstance(check.metric, GroupMetric):
            return []
        cut = {outcome.name for outcome in self._spec.predictions if outcome.is_cut}
        at_parity = finding.estimate is not None and finding.estimate.value == check.metric.ideal
        if not at_parity or (check.terms.at is None and check.of not in cut):
            return []
        missing = find_missing_side(self._tables, check.of, check.terms.at)
        reason = f"by the cut of {check.of} no row is {missing}, so there is nothing to compare"
        return [NotEvaluated((), (), reason, blocks=True)] if missing else []

    def _list_doubts(
        self, check: AnyCheck, finding: Finding, people: LeftOutPeople, exclusion: Exclusion
    ) -> list[NotEvaluated]:
        """The reasons to leave a whole check open: people who are left out, or who could change it.

        In a published report, bounds of missing values never remove a reason, because this would
        show that few people lack an outcome.
        """
        proof = None if self._spec.suppress_below is not None else finding.missing
        has_value = not isinstance(check, Check) or finding.estimate is not None
        doubts = doubt_left_out(check, people, proof) if has_value else []
        if isinstance(check, Check):
            doubts += doubt_unknown_sizes(check, evaluate_check(check, self._tables, exclusion))
            doubts += self._find_opposite_levels(check)
        if self._audit.cubes.cube.masked:
            is_bounded = isinstance(check, Check) and (
                self._audit.cubes.cube.possible is None
                or (self._left_out is not None and self._left_out.bound_masked(check, exclusion))
            )
            if not is_bounded or (finding.missing is not None and finding.missing.may_turn):
                doubts.append(MASKED_DOUBT)
        is_open = any(item.blocks for item in doubts)
        if is_open and self._spec.suppress_below is not None:
            doubts = [MANY_LEFT_OUT_DOUBT]  # naming a group would show how many people it loses
        if is_open and finding.status not in self._failing:
            return doubts
        may_cross = partial(may_cross_limit, check=check, status=finding.status)
        return doubts + self._list_outside(check, finding.status, exclusion, may_cross)

    def _list_outside(
        self, check: AnyCheck, status: Status, exclusion: Exclusion, may_cross: MayCross
    ) -> list[NotEvaluated]:
        """The reasons to leave a check open: rows and people outside the cube."""
        rows = self._left_out
        doubts = [] if rows is None else [*rows.list_doubts(check, status, exclusion, may_cross)]
        if self._hidden and self._hidden.could_worsen(check, status, exclusion, may_cross):
            doubts.append(HIDDEN_DOUBT)
        return doubts

    def _find_opposite_levels(self, check: Check) -> Iterator[NotEvaluated]:
        """Yields pairs of groups whose gap has opposite directions in levels audited together."""
        column, metric, limit = self._spec.pooled, check.metric, check.fail or check.warn
        if column is None or column in {*check.by, *check.strata} or limit is None:
            return
        if reason := explain_unsearched(check):
            yield tell_unsearched([*check.strata, column], reason)
            return
        terms = replace(check.terms, average=POOLED, minimum=NO_MINIMUM)
        place = (check.by, (*check.strata, column), check.of)
        evaluation = self._tables.evaluate(metric, place, terms)
        yield from find_opposite_strata(limit, evaluation, self._evidence[check.id])

    def _list_places(self, check: AnyCheck) -> list[tuple[Grouping, Grouping]]:
        """The groupings of a check with their strata. A search also takes all people together."""
        scan, search = self._spec.simpson, self._spec.subgroups
        if isinstance(check, Check):
            return [(check.by, check.given)]
        if isinstance(check, ReversalCheck):
            assert scan is not None
            pairs = product(scan.attributes, scan.given)
            return [((), ()), *(((by,), given) for by, given in pairs if by not in given)]
        assert search is not None
        groupable = {attribute.name for attribute in self._spec.groupable}
        return [(by, ()) for by in ((), *search.combinations) if groupable.issuperset(by)]

    def _list_gone(self, check: AnyCheck) -> list[NotEvaluated]:
        """The groups that occur in the data and that a check does not judge in any grouping.

        Averages and searches ignore groups that are missing only in some strata.
        """
        places, minimum = self._list_places(check), self._spec.minimum.size
        if isinstance(check, Check):
            minimum = check.terms.minimum.size
        elif isinstance(check, SubgroupCheck) and check.scope is not None:
            minimum = check.scope.min_size
        if not isinstance(check, Check) or check.terms.average:
            places = list(dict.fromkeys((by, ()) for by, _ in places))
        gone = [] if self._left_out is None else self._left_out.find_gone(places, minimum)
        if not isinstance(check, Check):
            gone = [group for group in gone if group.blocks]
            for by in (by for by, _ in places if len(by) == 1):
                place = by, (), check.of
                evaluation = self._tables.evaluate(find_measure(check), place, MetricOptions())
                gone += list_without_outcome(evaluation, minimum)
        return gone

    def _count_left_out(self, check: AnyCheck) -> LeftOutPeople:
        """The people whom a check leaves out. A search reports the table that leaves out most."""
        # Each evaluation, with marks of the groups and strata that the check does not judge.
        evaluations = list[tuple[Evaluation, Marks]]()
        if isinstance(check, Check):
            evaluation = evaluate_check(check, self._tables)
            evaluations.append((evaluation, find_passed_over(check, evaluation)))
        else:
            places = [(self._tables, *place) for place in self._list_places(check)]
            names = {one.name for one in self._spec.features}
            for cube in self._audit.cubes.tables if isinstance(check, SubgroupCheck) else ():
                features = tuple(key.name for key in cube.keys if key.name in names)
                places += [(self._tables.of_cube(cube), (), features)] if features else []
            for tables, by, given in places:
                terms, compared = MetricOptions(), None
                if by and isinstance(check, ReversalCheck):
                    terms = MetricOptions(minimum=self._spec.minimum)
                    compared = self._audit.reversals.compared.get((check.rate, by[0], given))
                    if compared is None:
                        continue  # too many groups, or cells
                evaluation = tables.evaluate(find_measure(check), (by, given, check.of), terms)
                passed_over = ~evaluation.table.known_strata[:, None]
                if compared is not None:
                    takes_part = np.broadcast_to(compared.large, evaluation.takes_part.shape)
                    evaluation = replace(evaluation, takes_part=takes_part)
                    passed_over = compared.passed_over
                evaluations.append((evaluation, passed_over))
        waived = [waiver.group for waiver in self._list_waivers(check)]
        found = []
        for evaluation, passed_over in evaluations:
            by, rows = evaluation.table.by, self._left_out
            strata = (evaluation.strata or evaluation.table).given
            found.append(
                count_left_out(
                    evaluation,
                    passed_over,
                    (self._tables.table((), (), check.of), self._tables.table(by, (), check.of)),
                    [] if rows is None else rows.list_outsiders(by, strata, check),
                    self._audit.hidden_people,
                    self._spec.suppress_below or 0,
                    excludes=self._spec.exclude_below is not None,
                    waived=waived,
                )
            )
        return max(
            found,
            key=lambda people: (
                len(doubt_left_out(check, people)),
                # Searches have no bounds, so their findings mention all missing people.
                any(part.people and part.reason in MISSING for part in people.reasons),
                people.find_share(),
                people.groups or 0,
            ),
        )


Value = TypeVar("Value")


def answer_specs(
    specs: Iterable[SpecLike],
    data: DataLike,
    options: RunOptions,
    progress: Progress,
    engine: Engine,
) -> list[ResultOrError]:
    """The result or the error of each spec; the options are the same for all specs."""
    tasks: list[AuditTask | FairauditError] = []
    for spec in specs:
        try:
            tasks.append(AuditTask.read(spec, options))
        except FairauditError as error:
            tasks.append(error)
    readable = [task for task in tasks if isinstance(task, AuditTask)]
    answers = iter(answer_all(readable, data, progress, engine))
    return [next(answers) if isinstance(item, AuditTask) else item for item in tasks]


CountedFile: TypeAlias = tuple[str, CountsOrError]
"""The name of a file as reports show it, and the counts of the file or an error."""


def count_files(
    task: AuditTask, data: str, *, progress: Progress = SILENT, engine: Engine = polars_engine
) -> Iterator[CountedFile]:
    """Yields the counts of each file that a folder or a glob names."""
    paths, left_out = find_files([data], Path())
    for path in paths:
        ((_, counts),) = _count_all([task], path, progress, engine)
        yield name_file(path), add_notices(counts, left_out)


def judge_file(
    task: AuditTask, counted: CountedFile, engine: Engine = polars_engine
) -> ResultOrError:
    """The answer for a file that `count_files` counted."""
    name, counts = counted
    return answer(task, counts, locate_in(task, name, engine))


def count(
    task: AuditTask,
    data: DataLike = None,
    *,
    progress: Progress = SILENT,
    engine: Engine = polars_engine,
) -> Counts:
    """All counts that a task needs, so that `audit_counts` does not read the data."""
    ((_, counts),) = _count_all([task], data, progress, engine)
    return get_or_raise(counts)


def _count_all(
    tasks: Sequence[AuditTask], data: DataLike, progress: Progress, engine: Engine
) -> Iterator[tuple[int, CountsOrError]]:
    """Yields the number of each task, and its counts. Tasks with the same data share a pass."""
    if data is not None and not isinstance(data, str | Path):
        data = Frame(data)  # one `Frame` for all passes, because a stream can be read only once
    passes: dict[object, dict[int, Plan]] = {}
    for number, task in enumerate(tasks):
        try:
            source = task.find_data(data)
            if isinstance(source, Files) and source.are_counts:
                from fairaudit.counting import counts_file

                paths, _ = find_files(source.entries, source.base)
                counts = counts_file.add(paths, repeated=source.may_repeat)
                yield number, replace(counts, route=f"{counts.route}; from files of counts")
                continue
            if isinstance(source, Database):
                with engine.open(source) as opened:
                    # The database stays open, so that quantiles and counts are of the same rows.
                    needed = watch_sentinels(task.find_plan(opened, progress, engine))
                    (outcome,) = engine.count([needed], opened, progress)
                yield number, task.locate(outcome)
                continue
            needed = watch_sentinels(task.find_plan(source, progress, engine))
        except FairauditError as error:
            yield number, task.locate(error)
        else:
            # Data that one pass can count together have the same identity.
            identity: object = None
            if isinstance(source, Frame):
                identity = id(source.frame)
            else:  # `find_files` reports entries that are not paths
                entries = source.entries
                paths = [source.base / entry for entry in entries if can_be_named(entry)]
                identity = (*map(os.path.realpath, paths), len(entries), source.may_repeat)
            passes.setdefault((identity, needed.format), {})[number] = needed
    for plans in passes.values():
        source = tasks[min(plans)].find_data(data)
        outcomes: Sequence[CountsOrError]
        try:
            outcomes = engine.count([*plans.values()], source, progress)
        except FairauditError as error:
            outcomes = [error for _ in plans]
        for number, outcome in zip(plans, outcomes, strict=True):
            yield number, tasks[number].locate(outcome)


def answer_all(
    tasks: Sequence[AuditTask], data: DataLike, progress: Progress, engine: Engine
) -> list[ResultOrError]:
    """The answer to each task. Tasks share a pass over the data if possible."""
    answers = {}
    for number, counts in _count_all(tasks, data, progress, engine):
        task = tasks[number]
        answers[number] = answer(task, counts, locate_in(task, data, engine))
    return [answers[number] for number in range(len(tasks))]


def answer(
    task: AuditTask,
    counts: CountsOrError,
    locate: Callable[[DataError], DataError] | None = None,
) -> ResultOrError:
    """The result of a task from its counts, or its error in a form that may be reported.

    Never raises. `locate` adds the first faulty row to an error; None for stored counts.
    """
    return catch_errors(task, lambda: mask_all(audit_counts(task, get_or_raise(counts))), locate)


def catch_errors(
    task: AuditTask,
    make: Callable[[], Value],
    locate: Callable[[DataError], DataError] | None = None,
) -> Value | FairauditError:
    """The value that `make` returns, or its error in a form that may be reported; never raises."""
    problem: FairauditError
    try:
        return make()
    except DataError as error:
        problem = error if locate is None else locate(error)
    except FairauditError as error:
        problem = error
    except Exception as error:  # noqa: BLE001  # a crash of one answer must not stop the others
        problem = FairauditError.crashed(error)
    # A published error must not contain counts of people.
    return problem if task.spec.suppress_below is None else problem.published()


def locate_in(task: AuditTask, data: DataLike, engine: Engine) -> Callable[[DataError], DataError]:
    """A function that adds the place of the first faulty row of the data to an error."""
    return lambda error: engine.locate_error(error, task.plan, task.find_data(data))


def audit_counts(
    task: AuditTask, counts: Counts, audit: Audit | None = None, *, is_preview: bool = False
) -> AuditResult:
    """Runs the stages after the counts: cubes, tables, findings, the result, and its suppression.

    No data are read. The counts may be the sum of several passes with the plan of the task. Raises
    `UsageError` if the task needs other counts. A finding is downgraded if the rows that
    `missing: drop` drops would make it worse, except in a preview.
    """
    audit = audit or Audit.of(task, counts)
    findings = Judge(audit).find_all()
    spec, left_out, failing = audit.task.spec, audit.cubes.left_out, audit.task.failing
    if left_out is not None and left_out.roles and not is_preview:
        models = [outcome.name for outcome in spec.predictions]
        idle_of = {
            finding.check.id: find_idle_roles(finding.check, left_out.roles, models)
            for finding in findings
        }
        if spec.suppress_below is not None:
            # Checks with idle roles are always open; other statuses could reveal numbers of rows.
            findings = tuple(
                leave_open(finding, [DROPPED_DOUBT], unless=failing)
                if idle_of[finding.check.id] and finding.status not in failing
                else finding
                for finding in findings
            )
        else:
            aside = dict.fromkeys(left_out.roles, MissingPolicy.ASIDE)
            counting = replace(spec, missing=replace(spec.missing, **aside))
            kept = Judge(Audit.of(replace(audit.task, spec=counting), audit.counts)).find_all()
            findings = tuple(
                downgrade_if_worse(
                    finding,
                    other,
                    [left_out.roles[role] for role in sorted(idle_of[finding.check.id])],
                    failing,
                )
                for finding, other in zip(findings, kept, strict=True)
            )
    result = tabulate(audit, findings)
    if audit.spec.suppress_below is None:
        return result
    from fairaudit.pipeline import suppress

    return suppress.suppress(result, audit, audit.spec.suppress_below)

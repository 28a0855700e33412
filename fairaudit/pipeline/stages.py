"""The pipeline: from specs and data to results, stage by stage.

Spec → Plan → Counts → Cube → Tables → Findings → AuditResult → published AuditResult. `AuditTask`
holds what to count, `count` reads the data, and `audit_counts` computes the result from the counts
alone. `answer` does the same and returns an error instead of raising it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from fairaudit.base.errors import DataError, FairauditError
from fairaudit.base.frozen import replace
from fairaudit.base.inputs import can_be_named
from fairaudit.base.masking import mask_all
from fairaudit.base.processes import SILENT, Progress
from fairaudit.counting.contract import CountsOrError, Engine
from fairaudit.counting.counts import Counts
from fairaudit.counting.engines import DEFAULT
from fairaudit.counting.plan import Plan
from fairaudit.counting.sources.dialects import Database
from fairaudit.counting.sources.files import Files, find_files, name_files
from fairaudit.counting.sources.sources import Frame
from fairaudit.judge import Finding, leave_open
from fairaudit.pipeline.audit_findings import Judge
from fairaudit.pipeline.audit_task import AuditTask, DataLike, RunOptions, SpecLike, get_or_raise
from fairaudit.pipeline.excluded_rows import (
    DROPPED_DOUBT,
    downgrade_if_worse,
    find_idle_roles,
)
from fairaudit.pipeline.plan_builder import watch_sentinels
from fairaudit.pipeline.tables import Audit, tabulate
from fairaudit.result import AuditResult, ResultOrError
from fairaudit.spec import MissingPolicy

Value = TypeVar("Value")


def answer_specs(
    specs: Iterable[SpecLike],
    data: DataLike,
    options: RunOptions,
    progress: Progress,
    engine: Engine,
) -> list[ResultOrError]:
    """The result of each spec, or its error, by the options of one run."""
    tasks: list[AuditTask | FairauditError] = []
    for spec in specs:
        try:
            tasks.append(AuditTask.read(spec, options))
        except FairauditError as error:
            tasks.append(error)
    readable = [task for task in tasks if isinstance(task, AuditTask)]
    answers = iter(answer_all(readable, data, progress, engine))
    return [next(answers) if isinstance(item, AuditTask) else item for item in tasks]


def count_each(
    task: AuditTask, data: str, *, progress: Progress = SILENT, engine: Engine = DEFAULT
) -> Mapping[str, CountsOrError | None]:
    """The counts of each file, or its error, from one scan of all files.

    None if cuts or models are fitted to each file: such a file is counted when it is judged.
    """
    if task.depends_on_data:
        return dict.fromkeys(name_files([data], Path()))
    outcomes = engine.count_each(watch_sentinels(task.plan), Files((data,)), progress)
    return {name: task.locate(outcome) for name, outcome in outcomes.items()}


def judge_file(
    task: AuditTask, name: str, counts: CountsOrError | None, engine: Engine = DEFAULT
) -> ResultOrError:
    """The answer for a file, from its entry in the result of `count_each`."""
    if counts is None:
        return answer_all([task], name, SILENT, engine)[0]
    return answer(task, counts, locate_in(task, name, engine))


def count(
    task: AuditTask,
    data: DataLike = None,
    *,
    progress: Progress = SILENT,
    engine: Engine = DEFAULT,
) -> Counts:
    """All counts that a task needs: `audit_counts` does not read the data again."""
    ((_, counts),) = _count_all([task], data, progress, engine)
    return get_or_raise(counts)


def _count_all(
    tasks: Sequence[AuditTask], data: DataLike, progress: Progress, engine: Engine
) -> Iterator[tuple[int, CountsOrError]]:
    """The counts for each task, by its number; those of the same data and format together."""
    if data is not None and not isinstance(data, str | Path):
        data = Frame(data)  # one for all passes: a stream can be read but once
    passes: dict[object, dict[int, Plan]] = {}
    for number, task in enumerate(tasks):
        try:
            source = task.find_data(data)
            if isinstance(source, Files) and source.are_counts:
                from fairaudit.counting.stored import counts_file

                paths, _ = find_files(source.entries, source.base)
                counts = counts_file.add(paths, repeated=source.may_repeat)
                yield number, replace(counts, route=f"{counts.route}; from files of counts")
                continue
            if isinstance(source, Database):
                with engine.open(source) as opened:
                    # Its quantiles are those of the rows that are counted.
                    needed = watch_sentinels(task.find_plan(opened, progress, engine))
                    (outcome,) = engine.count([needed], opened, progress)
                yield number, task.locate(outcome)
                continue
            needed = watch_sentinels(task.find_plan(source, progress, engine))
        except FairauditError as error:
            yield number, task.locate(error)
        else:
            passes.setdefault((_identify(source), needed.format), {})[number] = needed
    for plans in passes.values():
        source = tasks[min(plans)].find_data(data)
        outcomes: Sequence[CountsOrError]
        try:
            outcomes = engine.count([*plans.values()], source, progress)
        except FairauditError as error:
            outcomes = [error for _ in plans]
        for number, outcome in zip(plans, outcomes, strict=True):
            yield number, tasks[number].locate(outcome)


def _identify(data: Files | Frame) -> object:
    """Equal for data that one pass can count together."""
    if isinstance(data, Frame):
        return id(data.frame)
    # `find_files` reports entries that are not paths.
    paths = [entry for entry in data.entries if can_be_named(entry)]
    return (
        *(os.path.realpath(data.base / entry) for entry in paths),
        len(data.entries),
        data.may_repeat,
    )


def answer_all(
    tasks: Sequence[AuditTask], data: DataLike, progress: Progress, engine: Engine
) -> list[ResultOrError]:
    """The answer to each task, from passes that they share where they can."""
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
    """The answer from the counts, or the error as it may be reported: nothing is raised.

    `locate` adds the first row that an error is about; stored counts have no rows to look in.
    """
    return catch_errors(task, lambda: mask_all(audit_counts(task, get_or_raise(counts))), locate)


def catch_errors(
    task: AuditTask,
    make: Callable[[], Value],
    locate: Callable[[DataError], DataError] | None = None,
) -> Value | FairauditError:
    """The value that `make` returns, or its error as it may be reported: nothing is raised."""
    problem: FairauditError
    try:
        return make()
    except DataError as error:
        problem = error if locate is None else locate(error)
    except FairauditError as error:
        problem = error
    except Exception as error:  # noqa: BLE001  # our own crash over one answer is that answer alone
        problem = FairauditError.crashed(error)
    # A published error must not contain counts of people either.
    return problem if task.spec.suppress_below is None else problem.published()


def locate_in(task: AuditTask, data: DataLike, engine: Engine) -> Callable[[DataError], DataError]:
    """A function that adds to an error the first row of the data that it is about."""
    return lambda error: engine.locate_error(error, task.plan, task.find_data(data))


def audit_counts(
    task: AuditTask, counts: Counts, audit: Audit | None = None, *, is_preview: bool = False
) -> AuditResult:
    """The stages after the counts: cubes, tables, findings, the result, and its suppression.

    No data is read: the counts may come from any pass for the plan of the task, or from several,
    added up. Raises `UsageError` for counts that lack what the task needs. A preview does not
    compare its findings with those that count dropped rows.
    """
    audit = audit or Audit.of(task, counts)
    findings = Judge(audit).find_all()
    if not is_preview:
        findings = _compare_with_dropped(audit, findings)
    result = tabulate(audit, findings)
    if audit.spec.suppress_below is None:
        return result
    from fairaudit.pipeline.suppress import publication

    return publication.suppress(result, audit, audit.spec.suppress_below)


def _compare_with_dropped(audit: Audit, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The findings, downgraded where they would be worse if `missing: drop` counted its rows.

    In a published report, the checks that need none of the values that such rows lack are open:
    a status that depended on the rows would show how many there are.
    """
    left_out, task = audit.cubes.left_out, audit.task
    spec = task.spec
    if left_out is None or not left_out.roles:
        return findings
    models = [outcome.name for outcome in spec.predictions]
    idle_of = {
        finding.check.id: find_idle_roles(finding.check, left_out.roles, models)
        for finding in findings
    }
    if spec.suppress_below is not None:
        return tuple(
            leave_open(finding, [DROPPED_DOUBT], unless=task.failing)
            if idle_of[finding.check.id] and finding.status not in task.failing
            else finding
            for finding in findings
        )
    aside = dict.fromkeys(left_out.roles, MissingPolicy.ASIDE)
    keeping = replace(task, spec=replace(spec, missing=replace(spec.missing, **aside)))
    kept = Judge(Audit.of(keeping, audit.counts)).find_all()
    return tuple(
        downgrade_if_worse(
            finding,
            other,
            [left_out.roles[role] for role in sorted(idle_of[finding.check.id])],
            task.failing,
        )
        for finding, other in zip(findings, kept, strict=True)
    )

"""Answers to several specs and data files, in processes if asked for."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import chain
from pathlib import Path

from fairaudit import codec
from fairaudit import spec as spec_files
from fairaudit.base.errors import FairauditError, UsageError
from fairaudit.base.processes import SILENT, THIS_PROCESS, Progress, Workers
from fairaudit.codec.records import Tree
from fairaudit.counting.contract import CountsOrError, Engine
from fairaudit.counting.engines import DEFAULT
from fairaudit.counting.sources.dialects import Database, name_entry
from fairaudit.counting.sources.files import Files, find_files, name_files
from fairaudit.pipeline.audit_task import NO_OPTIONS, AuditTask, RunOptions
from fairaudit.pipeline.stages import answer_specs, count_each, judge_file
from fairaudit.result import Answer, ResultOrError


def answer(
    specs: Sequence[Path],
    data: str | None,
    options: RunOptions = NO_OPTIONS,
    *,
    progress: Progress = SILENT,
    engine: Engine = DEFAULT,
    workers: Workers = THIS_PROCESS,
) -> list[Answer]:
    """The answers to the specs, in their order; one for each file if `data` names several.

    An error in one answer does not stop the others. The `workers` judge several files, except those
    that another engine counted. Raises `UsageError` for options that need a single result.
    """
    if len(specs) > 1 and options.only:
        raise UsageError("--only works with one spec", "run one spec at a time")
    has_several_files = data is not None and _names_several(data)
    for option, path in (("--baseline", options.baseline), ("--draws", options.draws)):
        if path is not None and (len(specs) > 1 or has_several_files):
            raise UsageError(f"{option} works with one result", "use one spec and one data set")
    if data is not None and has_several_files:
        each = (_answer_each(spec, data, options, progress, engine, workers) for spec in specs)
        return list(chain.from_iterable(each))
    outcomes = answer_specs(specs, data, options, progress, engine)
    named = name_data(data)
    return [Answer(str(spec), named, result) for spec, result in zip(specs, outcomes, strict=True)]


def _answer_each(
    spec: Path,
    data: str,
    options: RunOptions,
    progress: Progress,
    engine: Engine,
    workers: Workers,
) -> list[Answer]:
    """An answer for each file of the data; a single one if the spec has faults."""
    try:
        task = AuditTask.read(spec, options)
        task.find_data(data)  # refuses data that these options cannot read
        counts = count_each(task, data, progress=progress, engine=engine)
        unread = tuple(find_files([data], Path())[1])
    except FairauditError as error:
        return [Answer(str(spec), data, error)]
    results: Iterator[ResultOrError]
    if engine is DEFAULT and workers.jobs > 1:
        judge = partial(_judge_elsewhere, spec, task.spec.sha256, options)
        results = map(codec.unpack, workers.map(judge, counts.items()))
    else:
        results = (judge_file(task, name, counts[name], engine) for name in counts)
    progress.start("judging files", len(counts), "audits")
    answers = []
    for name, result in zip(counts, results, strict=True):
        answers.append(Answer(str(spec), name, result, unread))
        progress.advance(len(answers), "audits")
    return answers


def _judge_elsewhere(
    spec: Path,
    sha256: str,
    options: RunOptions,
    counted: tuple[str, CountsOrError | None],
) -> Tree | FairauditError:
    """The packed answer for a file, in another process, which reads the spec again, once."""
    task = _read_once(spec, options)
    if task.spec.sha256 != sha256:
        return UsageError(f"{spec} was changed during the run", "run again")
    return codec.pack(judge_file(task, *counted))


_read_once = cache(AuditTask.read)


def list_audits(specs: Sequence[Path], data: str | None) -> list[tuple[str, str | None]]:
    """The spec and the data of each answer, as far as they are known before reading."""
    if data is not None and _names_several(data):
        files = name_files([data], Path())
        return [(str(spec), name) for spec in specs for name in files]
    return [(str(spec), data) for spec in specs]


def name_data(data: str | None) -> str | None:
    """The data of an answer as they were named, without the credentials of a database."""
    return None if data is None else name_entry(data)


def list_inputs(specs: Sequence[Path], data: str | None, *others: str | None) -> list[Path]:
    """The existing files that an audit reads; for a broken spec, all that it may refer to."""
    files = [*specs, *(Path(other) for other in others if other is not None)]
    entries = [] if data is None else [(data, Path())]
    for spec in specs:
        entries += [(entry, spec.parent) for entry in spec_files.files_named(spec)]
    for entry, base in entries:
        with contextlib.suppress(FairauditError, ValueError):
            database = Database.find([entry], base)
            files += find_files([entry], base)[0] if database is None else [*database.files]
    return files


def _names_several(data: str) -> bool:
    """Whether this is more than one file of rows; missing files are reported when read."""
    try:
        return not Files((data,)).are_counts and len(find_files([data], Path())[0]) > 1
    except FairauditError:
        return False

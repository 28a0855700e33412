"""Answers: the results of several specs, data files, or levels of a column, in processes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from functools import cache, partial
from pathlib import Path

from fairaudit import spec as spec_files
from fairaudit.base.disclosure_marks import Notice, Subjects
from fairaudit.base.errors import FairauditError, UsageError
from fairaudit.base.frozen import replace
from fairaudit.base.ledger import Ledger
from fairaudit.base.names import listing, quoted
from fairaudit.base.processes import SILENT, THIS_PROCESS, Progress, Workers
from fairaudit.counting import polars_engine
from fairaudit.counting.contract import Data, Engine
from fairaudit.counting.plan import Key, Plan, is_finite_number
from fairaudit.counting.sources.dialects import Database, name_entry
from fairaudit.counting.sources.files import Files, find_files, name_file
from fairaudit.pipeline.audit_task import NO_OPTIONS, AuditTask, RunOptions, get_or_raise
from fairaudit.pipeline.stages import CountedFile, answer_specs, count_files, judge_file
from fairaudit.result import Answer, AuditResult, ResultOrError
from fairaudit.spec import LocatedText, Protected

RARE = 30
"""If the spec sets no `min_size`, a group or a level with fewer people than this is small."""

_MOST_LEVELS = 200
_KEPT = "tokens format count filter derived counts masked repeats"
"""The fields of a plan that decide which rows count, and how many people a row stands for."""


def answer(
    specs: Sequence[Path],
    data: str | None,
    options: RunOptions = NO_OPTIONS,
    *,
    progress: Progress = SILENT,
    engine: Engine = polars_engine,
    workers: Workers = THIS_PROCESS,
    for_each: str | None = None,
) -> list[Answer]:
    """The answers to the specs in order. A spec has an answer for each file that `data` names.

    With `for_each`, there is an answer for each level of that column. An error in one answer does
    not stop the other answers. The `workers` judge several files if the engine is the default.
    Raises `UsageError` for options that need a single result.
    """
    if len(specs) > 1 and options.only:
        raise UsageError("--only works with one spec", "run one spec at a time")
    has_several_files = data is not None and _names_several(data)
    is_single = len(specs) == 1 and not has_several_files
    for option, path in (("--baseline", options.baseline), ("--draws", options.draws)):
        if path is not None and not (is_single and for_each is None):
            hint = "leave out --for-each" if is_single else "use one spec and one data set"
            raise UsageError(f"{option} works with one result", hint)
    if for_each is not None:
        if not is_single:
            hint = "run one spec at a time, and name several files in its `data`"
            raise UsageError("--for-each works with one spec and one data set", hint)
        return _answer_levels(specs[0], data, for_each, options, progress, engine)
    if data is None or not has_several_files:
        outcomes, named = answer_specs(specs, data, options, progress, engine), name_data(data)
        pairs = zip(specs, outcomes, strict=True)
        return [Answer(str(spec), named, result) for spec, result in pairs]
    answers = []
    for spec in specs:
        try:
            task = AuditTask.read(spec, options)
            task.find_data(data)  # refuses data that these options cannot read
            paths, unread = find_files([data], Path())
        except FairauditError as error:
            answers.append(Answer(str(spec), data, error))
            continue
        counted = count_files(task, data, progress=progress, engine=engine)
        results: Iterator[ResultOrError]
        if engine is polars_engine and workers.jobs > 1:
            judge = partial(_judge_elsewhere, spec, task.spec.sha256, options)
            results = workers.map(judge, counted)
        else:
            results = (judge_file(task, file, engine) for file in counted)
        progress.start("judging files", len(paths), "audits")
        for number, (path, result) in enumerate(zip(paths, results, strict=True), 1):
            answers.append(Answer(str(spec), name_file(path), result, tuple(unread)))
            progress.advance(number, "audits")
    return answers


def _answer_levels(
    path: Path,
    data: str | None,
    column: str,
    options: RunOptions,
    progress: Progress,
    engine: Engine,
) -> list[Answer]:
    """Answers for the levels of a column, by a filter per level. Small levels share an answer."""
    try:
        spec = spec_files.load(path, options.settings)
        options = replace(options, settings=())
        task = AuditTask.read(spec, options)
        found = task.find_data(data)
        if spec.suppress_below is not None:
            what = (
                "--for-each makes several reports; small counts could be calculated from their "
                "differences"
            )
            raise UsageError(what, "remove `suppress_below`, or audit the column as a stratum")
        if isinstance(found, Files) and found.are_counts:
            what = "--for-each filters rows, and a counts file has none"
            raise UsageError(what, "audit the rows, or count with this column in `strata`")
        least = spec.minimum.size or RARE
        parts, small, rows = _split_levels(task.plan, found, column, least, progress, engine)
    except FairauditError as error:
        return [Answer(str(path), name_data(data), error)]
    own = None if spec.filter is None else spec.filter.value
    filters = [f"({own}) and {part}" if own else part for part in parts.values()]
    each = [
        replace(
            spec,
            filter=LocatedText(text, "filter", None, None),
            title=f"{spec.title} ({name})" if spec.title else name,
            is_level=True,
        )
        for name, text in zip(parts, filters, strict=True)
    ]
    if small:
        # The levels become strata, because opposite gaps of two levels would cancel each other.
        named = {one.column.value: one.name for one in spec.groupable if one.derivation is None}
        stratum = Protected(column, LocatedText(column, "strata", None, None))
        strata = spec.strata if column in named else (*spec.strata, stratum)
        place = list(parts).index(f"{column}: {len(small)} small levels")
        each[place] = replace(each[place], strata=strata, pooled=named.get(column, column))
    results = answer_specs(each, data, options, progress, engine)
    results = [*map(_count_own_rows, results, rows)]
    listed = f"{listing(small)} have fewer than {least:,} people each, and are audited together"
    notices = (Notice(f"{column}: {listed}", Subjects.NEVER),) if small else ()
    return [
        Answer(str(path), name, result, notices)
        for name, result in zip(parts, results, strict=True)
    ]


def _count_own_rows(result: ResultOrError, rows: int) -> ResultOrError:
    """The result with a ledger that starts from the `rows` of the level instead of all rows."""
    if not (isinstance(result, AuditResult) and isinstance(ledger := result.ledger, Ledger)):
        return result
    others = min(ledger.read - rows, ledger.filtered)
    own = replace(ledger, read=ledger.read - others, filtered=ledger.filtered - others)
    return replace(result, ledger=own, provenance=replace(result.provenance, rows=own.read))


def _split_levels(
    plan: Plan, data: Data, column: str, least: int, progress: Progress, engine: Engine
) -> tuple[dict[str, str], list[str], list[int]]:
    """The filter condition of each level, by title; the small levels; the rows of each condition.

    All levels with fewer than `least` people share a condition. Levels that differ only in spaces
    around them are one level.
    """
    # The pass also reads the columns that count people, and the columns that choose rows.
    counted = [plan.count] if plan.counts is None else plan.counts.columns
    chosen = () if plan.repeats is None else (plan.repeats.id, *plan.repeats.latest)
    parts_of_derived = (name for made in plan.derived for name in made.columns)
    of_column = Plan(
        keys=(Key(column),),
        columns=tuple(dict.fromkeys(filter(None, [column, *counted, *chosen, *parts_of_derived]))),
        capped=(column,),
        **{name: getattr(plan, name) for name in _KEPT.split()},
    )
    (counts,) = (get_or_raise(outcome) for outcome in engine.count([of_column], data, progress))
    # A level is listed even if the filter cannot decide any of its rows: its audit reports this.
    key, kept = counts.text_key(column), counts.kept != 0
    people = {
        level: int(counts.people[kept & (key.codes == code)].sum())
        for code, level in enumerate(key.levels)
        if (kept & (key.codes == code)).any()
    }
    rows_of = {
        level: int(counts.rows[key.codes == code].sum()) for code, level in enumerate(key.levels)
    }
    missing = {None, "", *plan.tokens} & {*people}
    known = [level for level in people if level and level not in missing]
    spellings: dict[str, list[str]] = {}
    for level in known:
        spellings.setdefault(level.strip(), []).append(level)
    small = [
        name for name, levels in spellings.items() if sum(map(people.__getitem__, levels)) < least
    ]
    small = small if len(small) > 1 else []
    if len(spellings) - len(small) > _MOST_LEVELS:
        count = f"{len(spellings):,} levels, and at most {_MOST_LEVELS} are audited"
        what = f"{quoted(column)} has {count}"
        raise UsageError(what, "raise `groups: {min_size: …}`: smaller levels are audited together")
    # Levels are written as numbers only if no two levels are the same number, such as 01 and 1.
    are_numbers = all(map(is_finite_number, known)) and len({*map(float, known)}) == len(known)
    write = str if are_numbers else lambda level: "'" + level.replace("'", "''") + "'"
    name = f"`{column}`" if '"' in column else f'"{column}"'
    among = {f"{column}={text}": spellings[text] for text in spellings if text not in small}
    if small:
        several = [level for text in small for level in spellings[text]]
        among[f"{column}: {len(small)} small levels"] = several
    parts = {
        title: f"{name} is not null and {name} in ({', '.join(map(write, levels))})"
        for title, levels in among.items()
    }
    rows = [sum(map(rows_of.__getitem__, levels)) for levels in among.values()]
    if missing:
        parts[f"{column}: unknown"] = f"{name} is null"
        rows.append(sum(map(rows_of.__getitem__, missing)))
    return parts, small, rows


def _judge_elsewhere(
    spec: Path, sha256: str, options: RunOptions, counted: CountedFile
) -> ResultOrError:
    """The answer for a file in another process, which reads the spec once for all files."""
    task = _read_once(spec, options)
    if task.spec.sha256 != sha256:
        return UsageError(f"{spec} was changed during the run", "run again")
    return judge_file(task, counted)


_read_once = cache(AuditTask.read)


def list_audits(specs: Sequence[Path], data: str | None) -> list[tuple[str, str | None]]:
    """The names of the spec and of the data of each answer, before the data are read."""
    if data is not None and _names_several(data):
        names = dict.fromkeys(map(name_file, find_files([data], Path())[0]))
        return [(str(spec), name) for spec in specs for name in names]
    return [(str(spec), data) for spec in specs]


def name_data(data: str | None) -> str | None:
    """The name of the data of an answer, without the credentials of a database."""
    return None if data is None else name_entry(data)


def list_inputs(specs: Sequence[Path], data: str | None, *others: str | None) -> list[Path]:
    """The existing files that an audit reads; for a faulty spec, all files that it may name."""
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
    """Whether `data` names several files of rows; False if a file is missing."""
    try:
        return not Files((data,)).are_counts and len(find_files([data], Path())[0]) > 1
    except FairauditError:
        return False

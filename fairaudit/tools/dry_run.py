"""Dry run (`fairaudit check`): columns, checks that can be judged, small groups and cost.

It runs all stages of an audit, so a run accepts every spec that the dry run accepts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path

import numpy as np

from fairaudit.base import names
from fairaudit.base.disclosure_marks import Notice, Subjects
from fairaudit.base.errors import FairauditError
from fairaudit.base.frozen import replace
from fairaudit.base.inputs import CSV, format_of
from fairaudit.base.masking import mask_all
from fairaudit.base.processes import SILENT, Progress
from fairaudit.counting import polars_engine
from fairaudit.counting.columns import ABSENT, BETWEEN
from fairaudit.counting.counts import Counts
from fairaudit.counting.sources.column_checks import columns_read
from fairaudit.counting.sources.files import Files, find_files
from fairaudit.counting.sources.profiles import profile_file
from fairaudit.cube import Grouping, add_up
from fairaudit.evidence.practice import find_detectable_gap, find_gap_of_smallest
from fairaudit.judge import AnyCheck, Check, Finding, Limit, ReversalCheck
from fairaudit.judge.judging import BEYOND, UNAVAILABLE, compares_shares, judge
from fairaudit.metrics import Eligibility
from fairaudit.pipeline.audit_task import AuditTask, RunOptions
from fairaudit.pipeline.batch import RARE
from fairaudit.pipeline.recode import build_axes
from fairaudit.pipeline.recode.columns import DROP, Axis, Problems
from fairaudit.pipeline.stages import audit_counts, catch_errors, count, locate_in
from fairaudit.pipeline.tables.audit import Audit, evaluate_check
from fairaudit.result import (
    AuditResult,
    CheckPreview,
    ColumnPreview,
    ColumnReading,
    Cost,
    DryRun,
    GroupingPreview,
    LevelPreview,
    is_open,
)
from fairaudit.result.rows import GroupRow
from fairaudit.spec import Outcome, OutcomeKind, Protected, Spec

_FAR = Decimal(10**15)
"""A limit above all values of all metrics."""

_EXAMPLES = 5


def preview(
    spec: Path,
    data: str | None,
    options: RunOptions,
    *,
    reads_data: bool = True,
    progress: Progress = SILENT,
) -> DryRun | FairauditError:
    """The dry run of a spec with `data`; None means the data of the spec.

    Without `reads_data`, the dry run is only of the spec. Returns the error that would end a run.
    """
    try:
        task = AuditTask.read(spec, options, reads_draws=reads_data)
    except FairauditError as error:
        return error
    if not reads_data:
        of_spec = DryRun(
            spec=task.spec.path,
            title=task.spec.title,
            data=task.spec.data,
            columns=tuple(_list_columns(task.spec, {})),
            checks=tuple(CheckPreview(check, _limit_of(check)) for check in task.checks),
        )
        return mask_all(of_spec)

    def read() -> DryRun:
        counts = count(task, data, progress=progress)
        return mask_all(_add_readings(_preview_counts(task, counts), task, data))

    return catch_errors(task, read, locate_in(task, data, polars_engine))


def _add_readings(dry_run: DryRun, task: AuditTask, data: str | None) -> DryRun:
    """Adds the content of each column in the first file to the dry run."""
    files, form = task.find_data(data), task.spec.format
    if not isinstance(files, Files) or task.spec.suppress_below is not None:
        return dry_run
    path = find_files(files.entries, files.base)[0][0]
    kind = format_of(path)
    if kind is None:
        return dry_run
    repeats = task.plan.repeats
    # Columns whose values name people have no examples.
    personal = {task.plan.cluster, None if repeats is None else repeats.id}
    profile, readings = profile_file(path, form, only=columns_read([task.plan])), []
    for column in profile.columns:
        kinds = ["dates"] if column.days is not None else ["numbers"] if column.numbers else []
        if column.days is None and column.numbers < column.present:
            kinds.insert(0, "text")
        low, high = (
            "" if end is None else end if isinstance(end, str) else f"{end:,.10g}"
            for end in column.days or (column.low, column.high)
        )
        most = 0 if column.name in personal else _EXAMPLES
        reading = ColumnReading(
            column=column.name,
            kind=" and ".join(kinds) or "nothing",
            low=low,
            high=high,
            blank=1 - column.present / profile.rows if profile.rows else 0.0,
            distinct=column.distinct,
            examples=tuple(text for text, _ in column.values[:most]),
        )
        readings.append(reading)
    notation = form.words if kind == CSV else ""
    return replace(dry_run, readings=tuple(readings), notation=notation)


def _preview_counts(task: AuditTask, counts: Counts) -> DryRun:
    """The dry run from counts. With `suppress_below`, it has only numbers that are published."""
    # The dry run must not show on which side of a limit a value is. So each check gets a limit that
    # no value crosses, and checks of reversals only warn.
    asked = task.checks
    unlimited = (
        replace(check, warn=check.fail or check.warn, fail=None)
        if isinstance(check, ReversalCheck)
        else replace(check, warn=None, fail=Limit(above=_FAR))
        for check in asked
    )
    task = replace(task, checks=tuple(unlimited))
    audit = Audit.of(task, counts)
    result, spec = audit_counts(task, counts, audit, is_preview=True), audit.spec
    own = {*spec.notices, *counts.notices, *audit.cubes.notices}
    levels = {
        axis.key.name: tuple(_preview_levels(axis, counts, spec, result))
        for axis in build_axes(counts, spec, Problems())
    }
    groupings = tuple(_preview_groupings(result, audit))
    notices = [notice for notice in result.notices if notice in own]
    small = [row.by for row in groupings if row.n is not None and row.n < RARE]
    if small and spec.minimum.size is None:
        rare = ", ".join(" × ".join(map(names.name, by)) for by in small)
        what = f"groups of fewer than {RARE} people in {rare} are compared: "
        what += f"`groups: {{min_size: {RARE}}}` lists them without comparing them"
        notices.append(Notice(what, Subjects.ANYBODY))
    # Columns that need further passes over the data.
    passes = {
        "the quantiles of": dict.fromkeys(column for column, _ in task.quantiles),
        "the models of": [stratum.name for stratum in task.spec.modelled],
        "the exact medians of": task.plan.medians,
    }
    return DryRun(
        spec=spec.path,
        title=spec.title,
        data=tuple(file.path for file in result.provenance.files),
        columns=tuple(_list_columns(spec, levels)),
        checks=tuple(
            _preview_check(finding, check, audit)
            for finding, check in zip(result.findings, asked, strict=True)
        ),
        groupings=groupings,
        notices=tuple(notices),
        cost=Cost(
            rows=result.provenance.rows,
            bytes=sum(file.bytes or 0 for file in result.provenance.files) or None,
            cells=len(counts.rows) if spec.suppress_below is None else None,
            route=counts.route,
            further_passes=tuple(
                f"{what} {', '.join(names)}" for what, names in passes.items() if names
            ),
        ),
    )


def _list_columns(
    spec: Spec, levels: Mapping[str, tuple[LevelPreview, ...]]
) -> Iterator[ColumnPreview]:
    """The columns of a spec by role, and how they are read."""
    roles = (("protected", spec.protected), ("stratum", spec.strata), ("feature", spec.features))
    for role, attributes in roles:
        for attribute in attributes:
            columns = attribute.columns
            own = levels.get(attribute.name, ())
            reading = "strata of a model" if attribute.model is not None else "levels"
            if attribute.bins:
                reading = f"a number, cut at {', '.join(map(str, attribute.bins))}"
            elif attribute.quantiles:
                reading = f"a number, in {attribute.quantiles} quantiles"
            yield ColumnPreview(attribute.name, role, columns, reading, own)
    for outcome in spec.outcomes:
        role = "label" if outcome is spec.label else "outcome"
        counts = outcome.counts
        columns = (outcome.column.value,) if counts is None else counts.columns
        if outcome.score is not None and outcome.kind is not OutcomeKind.SCORE:
            columns = (*columns, outcome.score.value)
        own = levels.get(outcome.name, ())
        reading = "a number" if outcome.kind is OutcomeKind.NUMBER else "a score"
        if outcome.counts is not None:
            reading = "counts side by side"
        elif outcome.kind is OutcomeKind.CLASSES:
            reading = "a number, cut in two" if outcome.is_cut else "classes"
        yield ColumnPreview(outcome.name, role, columns, reading, own)
    count = spec.count if spec.counts is None else None
    levels_of = {"cluster": spec.cluster, "stratum of the sample": spec.sample_strata}
    for role, text in {"count": count, "weight": spec.weight, **levels_of}.items():
        if text is not None:
            reading = "levels" if role in levels_of else "a number"
            yield ColumnPreview(text.value, role, (text.value,), reading)


def _rows_of(result: AuditResult) -> list[GroupRow]:
    """The groups with their counts for the first outcome."""
    of = next((row.of for row in result.groups), "")
    return [row for row in result.groups if row.of == of and row.group]


def _preview_groupings(result: AuditResult, audit: Audit) -> Iterator[GroupingPreview]:
    """The groupings of attributes in the result; groups with an unknown level are not counted."""
    known_levels = {key.name: {*key.known_levels()} for key in audit.cubes.cube.keys}
    rows_of: dict[Grouping, list[GroupRow]] = {}
    for row in _rows_of(result):
        # A hidden row does not show its eligibility, so its levels are looked up.
        if not row.stratum and all(level in known_levels[name] for name, level in row.group):
            rows_of.setdefault(row.by, []).append(row)
    for by, rows in rows_of.items():
        known = [row for row in rows if row.n != 0]
        if not known:
            continue
        is_shown = all(row.n is not None for row in known)
        judged = [row for row in known if row.standing is not Eligibility.EXCLUDED]
        smallest = min(judged or known, key=lambda row: row.n or 0)
        standings = [row.standing for row in known]
        yield GroupingPreview(
            by=by,
            of=smallest.of,
            groups=len(known),
            empty=math.prod(len(known_levels[name]) for name in by) - len(known),
            compared=standings.count(Eligibility.ELIGIBLE) if is_shown else None,
            smallest=smallest.group if is_shown else (),
            n=smallest.n if is_shown else None,
        )


def _preview_check(finding: Finding, check: AnyCheck, audit: Audit) -> CheckPreview:
    """A check without its value and its status."""
    preview = CheckPreview(
        check=check,
        limit=_limit_of(check),
        is_evaluable=not is_open(finding),
        why=finding.why,
        not_judged=tuple(item for item in finding.not_evaluated if not item.blocks),
    )
    limit = check.fail or check.warn
    if not isinstance(check, Check) or not isinstance(limit, Limit):
        return preview
    evaluation = evaluate_check(check, audit.tables)
    if limit.asks and preview.is_evaluable:
        crossed = judge(replace(check, warn=None, fail=replace(limit, below=_FAR)), evaluation)
        lacking = [item.reason for item in crossed.not_evaluated if UNAVAILABLE in item.reason]
        if lacking:
            why = lacking[0].removeprefix(f"{BEYOND}, but ")
            preview = replace(preview, is_evaluable=False, why=why)
    is_shown = audit.spec.suppress_below is None and evaluation.table.clusters is None
    if not is_shown or not compares_shares(finding, evaluation):
        return preview
    test = None if finding.estimate is None else finding.estimate.significance
    family = 1 if test is None else test.family
    return replace(
        preview,
        detectable=find_gap_of_smallest(evaluation, family),
        finds_limit=find_detectable_gap(evaluation, limit.below, limit.above, family) is None,
    )


def _limit_of(check: AnyCheck) -> str:
    limits = (("warn", check.warn), ("fail", check.fail))
    return "; ".join(f"{word} {limit}" for word, limit in limits if limit is not None)


def _preview_levels(
    axis: Axis, counts: Counts, spec: Spec, result: AuditResult
) -> Iterator[LevelPreview]:
    """The levels of an audited column in order, then its missing and dropped values.

    Rows that the filter leaves out are not counted. With `suppress_below`, the counts are the
    published counts.
    """
    key = axis.key
    columns: tuple[Protected | Outcome, ...] = (*spec.groupable, *spec.outcomes)
    is_cut = any(column.is_cut for column in columns if column.name == key.name)
    is_attribute = key.name in {attribute.name for attribute in spec.groupable}
    published = {
        row.group[0][1]: row.n
        for row in reversed(_rows_of(result))
        if row.by == (key.name,) and not row.stratum
    }
    kept = (counts.kept == 1) & (counts.rows > 0)
    # Negative codes are missing values, and values that are left out of the audit.
    lowest = min(DROP, int(axis.codes.min(initial=0)))
    places = axis.codes - lowest
    people = add_up(counts.people[kept], places[kept], len(key.levels) - lowest)
    raw = None if is_cut else counts.text_key(axis.column)
    for code in (*range(len(key.levels)), *range(lowest, 0)):
        here = kept & (axis.codes == code)
        if not here.any():
            continue
        sources: tuple[str | None, ...] = ()
        if raw is not None:
            # The texts of a combined column contain separators, and marks of missing values.
            sources = tuple(
                text and ", ".join(text.replace(ABSENT, "").split(BETWEEN))
                for text in (raw.levels[own] for own in np.unique(raw.codes[here]).tolist())
            )
        level, role = key.levels[code] if code >= 0 else "", ""
        if code < 0:
            is_missing = axis.missing[axis.codes == code].all()
            rule = f"missing ({axis.written_rule}: {axis.policy.value})"
            role = rule if is_missing else "left out"
        elif code in key.unknown:
            role = "never compared"
        elif key.positive is not None:
            role = "positive" if code in key.positive else "negative"
        if spec.suppress_below is not None:
            yield LevelPreview(level, published.get(level), sources, role)
            continue
        n = int(people[code - lowest])
        is_rare = is_attribute and not role and n < (spec.minimum.size or RARE)
        yield LevelPreview(level, n, sources, role, is_rare)

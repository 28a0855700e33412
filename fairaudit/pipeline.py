"""The journey: spec → plan → counts → cube → readings → findings → result."""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from fairaudit import baseline as baselines
from fairaudit import engine
from fairaudit import spec as specs
from fairaudit import waivers as waiving
from fairaudit.baseline import Baseline, Source
from fairaudit.cube import Cube, ExcludedGroups, Grouping, GroupTable
from fairaudit.disclosure import Notice, Subjects
from fairaudit.errors import (
    DataError,
    FairauditError,
    UsageError,
    did_you_mean,
)
from fairaudit.evidence import Evidence, correct_families, extend_family
from fairaudit.histogram import median_bin
from fairaudit.inputs import can_be_named
from fairaudit.metrics import Evaluation, Requirement, evaluate_against
from fairaudit.metrics.scores import SCORING_RATE
from fairaudit.names import quoted
from fairaudit.plan import Plan, RawCells, plan
from fairaudit.progress import SILENT, Progress
from fairaudit.recode import recode
from fairaudit.recode.alike import Alike
from fairaudit.recode.left_out import LeftOut
from fairaudit.recode.scores import Distribution, with_histogram
from fairaudit.result import AuditResult, DataFile, FailOn, Provenance, ScoreRow, Searched
from fairaudit.simpson import ReversalScan, ScanResult, scan_reversals
from fairaudit.spec import Cut, Quantile, Spec, closed, quantiles_of, value_of
from fairaudit.subgroups import Discovery, search_subgroups
from fairaudit.suppress import Cuts, Data, suppress
from fairaudit.tables import tabulate
from fairaudit.tables.budget import has_room_for_lattice, refuse_explosion
from fairaudit.tables.curves import curves
from fairaudit.tables.entries import TableOf, quantities
from fairaudit.tables.names import refuse_unknown, unweighed
from fairaudit.tables.notices import (
    by_rows,
    impossible,
    matched,
    medians,
    repeated,
    too_few_to_show,
    turned_round,
    unequal_rates,
    unjudged,
)
from fairaudit.tables.scores import scores
from fairaudit.verdict import (
    COULD_TURN,
    AnyCheck,
    Check,
    Finding,
    NotEvaluated,
    ReversalCheck,
    Status,
    SubgroupCheck,
    could_cross,
    judge,
    judge_reversals,
    judge_subgroups,
    of_gone,
)
from fairaudit.version import version
from fairaudit.waivers import Exclusion

SpecLike: TypeAlias = str | Path | Mapping[str, object] | Spec
"""A path, a mapping of the same shape, or a loaded spec."""

Found = TypeVar("Found")

_NARROWED = Notice(
    "not every subset of the attributes is looked at, only the groupings that the spec asks for: "
    "together they have too many groups",
    Subjects.ANYBODY,
)

_MOST_LISTED = 10
"""So many columns that a search left out are told in words; JSON has them all."""


def audit(
    spec: SpecLike,
    data: Any = None,  # noqa: ANN401  # a path, or any frame that narwhals reads
    *,
    fail_on: FailOn | str = FailOn.FAIL,
    only: str | Iterable[str] | None = None,
    baseline: Source | None = None,
    tolerance: Decimal | float | str = 0,
    progress: Progress = SILENT,
) -> AuditResult:
    """The result of an audit of the spec's data, or of `data` in its place.

    `spec` is a path, a mapping of the same shape, or a loaded spec; `data` a path (also a glob or
    folder) or a data frame. `only` names checks to judge. With a `baseline`, an earlier JSON
    report (a path, or its document), a check fails only where it is worse by more than the
    `tolerance`. Raises the errors of `fairaudit.errors`; a failed check raises nothing: see
    `AuditResult.raise_for_failure`.
    """
    asked = _Question.of(spec, fail_on, only, baseline, tolerance)
    if data is None or isinstance(data, str | Path):
        found = _sound(_answers([asked], data, progress)[0])
    else:
        if asked.quantiles:
            cuts = engine.find_cuts_of_frame(asked.plan, asked.quantiles, data)
            asked = asked.with_cuts(cuts)
        raw = engine.count_frame(asked.plan, data)
        found = _with_median(
            asked.answer(raw, asked.plan),
            lambda column, between: engine.median_of_frame(asked.plan, column, data, between),
        )
    return found


def audit_together(
    specs: Iterable[SpecLike],
    data: str | Path | None = None,
    *,
    fail_on: FailOn | str = FailOn.FAIL,
    progress: Progress = SILENT,
) -> list[AuditResult | FairauditError]:
    """The results of several specs, in their order; those of the same files share their passes.

    A spec that cannot be audited has its error, and stops no other.
    """
    questions: list[_Question | FairauditError] = []
    for spec in specs:
        try:
            questions.append(_Question.of(spec, fail_on))
        except FairauditError as error:
            questions.append(error)
    asked = [one for one in questions if isinstance(one, _Question)]
    answers = iter(_answers(asked, data, progress))
    return [next(answers) if isinstance(one, _Question) else one for one in questions]


def audit_each(
    spec: SpecLike,
    data: str | Path,
    *,
    fail_on: FailOn | str = FailOn.FAIL,
    only: str | Iterable[str] | None = None,
    progress: Progress = SILENT,
) -> dict[str, AuditResult | FairauditError]:
    """A result for each file that `data` (a folder or a glob) names, from one scan of all.

    A file that cannot be audited has its error, and stops no other.
    """
    asked = _Question.of(spec, fail_on, only)
    if asked.quantiles:
        # Each file has cuts of its own.
        files = engine.named_files([str(data)], Path())
        return {name: _answers([asked], path, progress)[0] for name, path in files.items()}
    counted = engine.count_each(asked.plan, [str(data)], Path(), progress)
    return {
        name: _published(_answer(asked, found, asked.plan, [name], Path()), asked.spec)
        for name, found in counted.items()
    }


@dataclass(frozen=True, slots=True)
class _Question:
    """A spec that was read: the checks to judge, and what a pass must count for it.

    With `quantiles` the plan is not ready: `with_cuts` gives the one that is. `definitions` are the
    fingerprints of the checks, of the spec as it is written.
    """

    spec: Spec
    plan: Plan
    checks: tuple[AnyCheck, ...]
    fail_on: FailOn
    definitions: Mapping[str, str]
    quantiles: tuple[Quantile, ...] = ()
    baseline: Baseline | None = None

    @classmethod
    def of(
        cls,
        spec: SpecLike,
        fail_on: FailOn | str,
        only: str | Iterable[str] | None = None,
        baseline: Source | None = None,
        tolerance: Decimal | float | str = 0,
    ) -> _Question:
        now = _now()  # a date that is none is told first: NumPy itself trips over it
        read = _loaded(spec)
        if read.subgroups is not None and read.suppress_below is not None:
            # Of a spec that was read this is a fault; here is one that was changed since.
            what = "subgroups and suppression do not go together"
            raise UsageError(what, "leave out `subgroups` or `suppress_below`")
        if fail_on not in set(FailOn):
            raise UsageError(f"fail_on is fail, warn or never, not {fail_on!r}")
        checks = _chosen(read.checks, (only,) if isinstance(only, str) else tuple(only or ()))
        asked = {one.id: baselines.definition(one, read) for one in checks}
        before = None if baseline is None else baselines.load(baseline, tolerance, now)
        if before is not None:
            baselines.refuse_other(before, read, asked)
        return cls(read, plan(read), checks, FailOn(fail_on), asked, quantiles_of(read), before)

    def with_cuts(self, cuts: Mapping[Quantile, Cut]) -> _Question:
        """The same question once its quantiles are found."""
        read = closed(self.spec, cuts)
        return replace(self, spec=read, plan=plan(read), quantiles=())

    def files(self, data: str | Path | None) -> tuple[tuple[str, ...], Path]:
        """The entries that name the data, and the folder they start from."""
        if data is not None:
            return (str(data),), Path()
        if not self.spec.data:
            raise UsageError("the spec names no data", "add `data:` to it, or give --data")
        return self.spec.data, Path(self.spec.path).parent

    def answer(self, raw: RawCells, counted_by: Plan) -> AuditResult:
        """The result, from the counts of a plan that is this one's, or finer."""
        recoded = recode(raw, counted_by, self.spec)
        cube, read = recoded.cube, self.spec
        refuse_unknown(read.requests, cube)
        refuse_explosion(cube, read)
        whole = has_room_for_lattice(cube, read.requests)

        outcomes = {one.name: one for one in read.outcomes}

        def tables_of(cube: Cube) -> TableOf:
            @cache
            def excluded(by: Grouping) -> ExcludedGroups | None:
                rule = read.exclude_below
                return None if rule is None else cube.find_excluded(by, rule)

            @cache
            def table(
                by: Grouping, given: Grouping, of: str, beside: str | None = None
            ) -> GroupTable:
                one, searched = outcomes[of], recoded.searched
                source = next((searched[at] for at in given if at in searched), cube)
                found = replace(
                    source.table(by, given, of, beside),
                    favourable=one.favourable,
                    excluded=excluded(by),
                )
                score = recoded.scores.get(one.score.value) if one.score else None
                if score is None or not read.shows_histogram(one):
                    return found
                return with_histogram(found, score)

            return table

        table = tables_of(cube)
        left_out = None
        if recoded.left_out is not None:
            left_out = _LeftOut(recoded.left_out, tables_of, read)
        joined = None if read.suppress_below is not None else _Joined.of(cube, tables_of)
        summaries = {name: tuple(one.summaries()) for name, one in recoded.scores.items()}
        searched = None
        if raw.searched is not None:
            searched = Searched(tuple(recoded.searched), raw.searched.left_out)
        scanned = _scanned(read.simpson, _of_rows(table) if read.cluster else table, searched)
        discovered = None
        if read.subgroups is not None:
            discovered = search_subgroups(recoded.tables or (cube,), read.subgroups)
        alpha = read.inference.alpha
        made = _provenance(read, raw, cube)
        today = _today()
        evidence_of = _evidence_of_checks(read.checks, table)
        findings = tuple(
            self._settled(
                check,
                table,
                (left_out, joined),
                (scanned, discovered),
                evidence_of.get(check.id),
                today,
            )
            for check in self.checks
        )
        told = waiving.report_waivers(
            read.waivers, findings, [one.id for one in read.checks], today
        )
        models = [one.name for one in read.predictions]
        listing = tabulate(cube, table, read.requests, self.checks, models, whole=whole)
        result = AuditResult(
            provenance=made,
            ledger=cube.ledger,
            groups=listing.groups,
            rates=listing.rates,
            comparisons=listing.comparisons,
            lattice=listing.lattice,
            epsilons=listing.epsilons,
            findings=findings,
            reversals=scanned.found,
            subgroups=None if discovered is None else discovered.told,
            definitions=listing.definitions,
            notices=(
                *read.notices,
                *_unpaired(read),
                *raw.notices,
                *recoded.notices,
                *unweighed(read.requests, cube),
                *unequal_rates(table, [one.name for one in read.predictions if one.binary]),
                *unjudged(read.checks, [one.name for one in read.predictions]),
                *impossible(self.checks, table),
                *turned_round(listing.lattice),
                *too_few_to_show(self.checks, table),
                *repeated(cube),
                *(matched(cube, read.requests) if read.cluster is None else by_rows(read)),
                *medians(table, read.requests),
                *(() if whole else (_NARROWED,)),
                *_told_of(searched),
                *_unscanned(scanned),
                *waiving.write_notices(told),
            ),
            scores=tuple(row for name, some in summaries.items() for row in scores(name, some)),
            curves=tuple(
                one for name, some in summaries.items() for one in curves(name, some, alpha)
            ),
            fail_on=self.fail_on,
            waivers=told,
            earlier=None if self.baseline is None else self.baseline.earlier,
            searched=searched,
            compared=sum(scanned.compared.values()) if read.simpson else None,
            model_changes=listing.model_changes,
            burdens=tuple(one.name for one in read.outcomes if not one.favourable),
        )
        if read.suppress_below is None:
            return result
        columns = {one.name: one.column.value for one in read.groupable}
        columns |= {one.name: one.column.value for one in read.outcomes}
        data = Data(cube, read.requests, summaries, columns, _cuts(read, recoded.scores))
        return suppress(result, read.suppress_below, data)

    def _settled(
        self,
        check: AnyCheck,
        table: TableOf,
        beside: tuple[_LeftOut | None, _Joined | None],
        searches: tuple[ScanResult, Discovery | None],
        proven: tuple[Evaluation, Evidence] | None,
        today: date,
    ) -> Finding:
        """The finding of a check under the waivers that hold, and beside the baseline."""
        evidence = None
        left_out, joined = beside
        scanned, discovered = searches
        if isinstance(check, ReversalCheck):
            found = judge_reversals(check, scanned)
        elif isinstance(check, SubgroupCheck):
            assert discovered is not None
            judged = judge_subgroups(check, discovered)
            assert judged is not None
            found = judged
        else:
            assert proven is not None
            evaluation, evidence = proven
            found = _judged(check, evaluation, evidence, left_out, waiving.NO_EXCLUSION)
            if joined is not None:
                found = joined.named(check, found, evidence)
        holding = [one for one in self.spec.waivers if one.check == check.id and one.holds(today)]
        if holding:
            again = partial(_without, check, table, left_out, discovered, evidence)
            found = waiving.waive(found, holding, again)
        if self.baseline is not None:
            found = baselines.compare(found, self.baseline)
        return replace(found, definition=self.definitions[check.id])


def _answers(
    questions: Sequence[_Question], data: str | Path | None, progress: Progress
) -> list[AuditResult | FairauditError]:
    """The answer to each question; those of the same files and format are counted together."""
    found: dict[int, AuditResult | FairauditError] = {}
    groups: dict[object, list[int]] = {}
    questions = [*questions]
    for at, one in enumerate(questions):
        try:
            entries, base = one.files(data)
            if one.quantiles:
                cuts = engine.find_cuts(one.plan, one.quantiles, entries, base, progress)
                questions[at] = one.with_cuts(cuts)
        except FairauditError as error:
            found[at] = error
        else:
            paths = [os.path.realpath(base / entry) for entry in entries if can_be_named(entry)]
            # What is no path is told by whoever looks for it.
            key = (*paths, len(entries), one.plan.format)
            groups.setdefault(key, []).append(at)
    for members in groups.values():
        entries, base = questions[members[0]].files(data)
        plans = [questions[at].plan for at in members]
        try:
            counted = engine.count_together(plans, entries, base, progress)
        except FairauditError as error:
            counted = [(one, error) for one in plans]
        for at, (counted_by, cells) in zip(members, counted, strict=True):
            found[at] = _answer(questions[at], cells, counted_by, entries, base)
    return [_published(found[at], questions[at].spec) for at in range(len(questions))]


def _published(found: AuditResult | FairauditError, read: Spec) -> AuditResult | FairauditError:
    """The answer; of a report to publish its error tells no count of people either."""
    if isinstance(found, FairauditError) and read.suppress_below is not None:
        return found.published()
    return found


def _answer(
    question: _Question,
    counted: RawCells | FairauditError,
    counted_by: Plan,
    entries: Sequence[str],
    base: Path,
) -> AuditResult | FairauditError:
    """The answer from the counts; an error about rows is told with the first such row."""
    try:
        return _with_median(
            question.answer(_sound(counted), counted_by),
            lambda column, between: engine.median(question.plan, column, entries, base, between),
        )
    except DataError as error:
        if error.seek is None:
            return error
        spot = None
        with contextlib.suppress(FairauditError):  # the first error is the one to tell
            spot = engine.locate(question.plan, entries, base, error.seek)
        return error.found(spot) if spot else error
    except FairauditError as error:
        return error
    except Exception as error:  # noqa: BLE001  # our own crash over one answer is that answer alone
        return FairauditError.crashed(error)


def _with_median(
    result: AuditResult, median: Callable[[str, tuple[float, float]], float]
) -> AuditResult:
    """The result with everybody's exact medians, by a pass more where the bins do not tell one."""
    if result.provenance.suppress_below is not None:
        # The exact median is one person's score.
        return result

    def exact(row: ScoreRow) -> ScoreRow:
        if row.by or row.median is None or row.median[0] == row.median[1]:
            return row
        found = median(row.column, row.median)
        return replace(row, median=(found, found))

    return replace(result, scores=tuple(map(exact, result.scores)))


def _sound(found: Found | FairauditError) -> Found:
    if isinstance(found, FairauditError):
        raise found
    return found


def _loaded(spec: SpecLike) -> Spec:
    if isinstance(spec, Spec):
        return spec
    if isinstance(spec, Mapping):
        return specs.of_mapping(spec)
    try:
        return specs.load(Path(spec))
    except TypeError as error:
        kind = type(spec).__name__
        raise UsageError(f"a spec is a path or a mapping, not a {kind}", "see README.md") from error


def _chosen(checks: tuple[AnyCheck, ...], only: tuple[str, ...]) -> tuple[AnyCheck, ...]:
    """The checks of those ids; an id that names none is an error, never an empty pass."""
    known = [check.id for check in checks]
    for name in only:
        if name not in known:
            hint = did_you_mean(str(name), known) or "; there is " + (
                ", ".join(known) or "no check"
            )
            raise UsageError(f"no check {quoted(name)}{hint}")
    return tuple(check for check in checks if not only or check.id in only)


def _evidence_of_checks(
    checks: Iterable[AnyCheck], table: TableOf
) -> dict[str, tuple[Evaluation, Evidence]]:
    """What speaks for each value a spec judges: the tests of all its checks are corrected together.

    Of the checks that `only` leaves out, too: what is asked does not change with what is looked at.
    """
    asked = [one for one in checks if isinstance(one, Check)]
    evaluations = {one.id: _evaluated(one, table, waiving.NO_EXCLUSION) for one in asked}
    evidence_of = correct_families({one.id: (evaluations[one.id], one.family) for one in asked})
    return {one.id: (evaluations[one.id], evidence_of[one.id]) for one in asked}


def _without(
    check: AnyCheck,
    table: TableOf,
    left_out: _LeftOut | None,
    discovered: Discovery | None,
    evidence: Evidence | None,
    exclusion: Exclusion,
) -> Finding | None:
    """The finding of a check without what is set aside; None where nothing is left to judge."""
    if isinstance(check, SubgroupCheck):
        assert discovered is not None
        return judge_subgroups(check, discovered, [one.group for one in exclusion.values])
    if isinstance(check, ReversalCheck) or evidence is None:
        return None
    left = waiving.exclude_values(_evaluated(check, table, exclusion), exclusion)
    if left is None:
        return None
    evidence = extend_family(left, evidence) if exclusion.groups else evidence
    return _judged(check, left, evidence, left_out, exclusion)


class _LeftOut:
    """Those whom the data has and the cube does not, as checks ask for them."""

    def __init__(self, rows: LeftOut, tables_of: Callable[[Cube], TableOf], spec: Spec) -> None:
        self._rows = rows
        self._tables_of = tables_of
        self._rule = spec.exclude_below
        self._wide = cache(lambda needed: tables_of(rows.with_others(needed)))

    def gone(self, check: Check) -> list[NotEvaluated]:
        """The groups that were seen and cannot be judged; of an average in no stratum alone."""
        given = () if check.terms.average else check.given
        return of_gone(check, self._rows.gone(check.by, given), self._rule)

    def could_turn(self, check: Check, status: Status, exclusion: Exclusion) -> bool:
        """Whether rows that `others: drop` leaves out could make a check worse than it is."""
        if status not in {Status.PASS, Status.WARN} or not self._rows.others.any():
            return False
        needed = frozenset(
            {check.of, *([check.against] if check.against else [])}
            | ({"label"} if Requirement.LABEL in check.asked.requirements else set())
        )
        if (
            Requirement.SCORE in check.asked.requirements
            and "label" in needed
            and self._rows.lacks("label")
        ):
            return True  # histograms know nobody without a label, so no bounds do
        wide = _evaluated(check, self._wide(needed), exclusion)
        tried = (
            _evaluated(check, self._tables_of(cube), exclusion)
            for cube in self._rows.completions(check.by, needed)
        )
        return could_cross(check, status, wide, tried)


@dataclass(frozen=True, slots=True)
class _Joined:
    """The tables in which levels that look like one are one."""

    alike: Alike
    table: TableOf

    @classmethod
    def of(cls, cube: Cube, tables_of: Callable[[Cube], TableOf]) -> _Joined | None:
        """None where all levels look different."""
        alike = Alike.of(cube)
        return None if alike is None else cls(alike, tables_of(alike.cube))

    def named(self, check: Check, found: Finding, evidence: Evidence) -> Finding:
        """The finding, which names such levels where it would be another one with them joined."""
        names = [name for name in (*check.by, *check.strata) if name in self.alike.levels]
        if not names or Requirement.SCORE in check.asked.requirements:
            return found
        evaluation = _evaluated(check, self.table, waiving.NO_EXCLUSION)
        status = judge(check, evaluation, extend_family(evaluation, evidence)).status
        if status is found.status:
            return found
        reason = (
            f"levels that look alike are counted apart: {self.alike.listed(names)}; joined by "
            f"`merge` or `trim`, its status would be {status}, not {found.status}"
        )
        told = NotEvaluated((), (), reason, blocks=False)
        return replace(found, not_evaluated=(*found.not_evaluated, told))


def _judged(
    check: Check,
    evaluation: Evaluation,
    evidence: Evidence,
    left_out: _LeftOut | None,
    exclusion: Exclusion,
) -> Finding:
    """The finding of a check, which those who are left out may leave open."""
    if left_out is None:
        return judge(check, evaluation, evidence)
    missing = left_out.gone(check)
    found = judge(check, evaluation, evidence, missing)
    if left_out.could_turn(check, found.status, exclusion):
        return judge(check, evaluation, evidence, missing, [COULD_TURN])
    return found


def _evaluated(check: Check, table: TableOf, exclusion: Exclusion) -> Evaluation:
    cut = waiving.exclude_groups(table(check.by, check.strata, check.of, check.against), exclusion)
    against = None
    if check.against:
        against = table(check.by, check.strata, check.against, check.of)
        against = waiving.exclude_groups(against, exclusion)
    return evaluate_against(check.asked, cut, check.terms, against)


def _cuts(read: Spec, scores: Mapping[str, Distribution]) -> dict[str, Cuts]:
    """Where the numbers of a spec cut each score.

    By `at`, at the median for a scoring rate, and where a prediction is such a cut itself.
    """
    found = {}
    for column, one in scores.items():
        scored = {each.name for each in read.outcomes if each.score and each.score.value == column}
        mine = [each for each in read.requests if {each.of, each.against} & scored]
        above_median = [each for each in mine if SCORING_RATE in quantities(each.metric)]
        asked = [each for each in mine if each.terms.at is not None] + above_median
        points = {float(each.terms.at) for each in asked if each.terms.at is not None}
        for each in read.outcomes:
            if each.threshold and each.column.value == column:
                points |= {*each.threshold.edges()}
        if above_median:
            everybody = one.histogram((), ())
            middle = everybody.bins.high[median_bin(everybody.everybody)]
            points.add(math.nextafter(float(middle), math.inf))
        tables = dict.fromkeys(
            (by, given) for each in asked for by in ((), *each.by) for given in each.given
        )
        found[column] = Cuts(
            tuple(points),
            tuple(one.histogram(*table) for table in tables if one.covers(*table)),
            by_label=any(Requirement.LABEL in each.metric.requirements for each in asked),
        )
    return found


def _of_rows(table: TableOf) -> TableOf:
    """The same tables without clusters, for what takes rows for independent."""

    @cache
    def plain(by: Grouping, given: Grouping, of: str, beside: str | None = None) -> GroupTable:
        return replace(table(by, given, of, beside), clusters=None)

    return plain


def _scanned(asked: ReversalScan | None, table: TableOf, searched: Searched | None) -> ScanResult:
    """The reversals that a spec asks for, given its own columns and those that were searched."""
    if asked is None:
        return ScanResult()
    found = () if searched is None else searched.columns
    return scan_reversals(table, replace(asked, given=(*asked.given, *((name,) for name in found))))


def _told_of(searched: Searched | None) -> tuple[Notice, ...]:
    """A notice on the columns that a search looked at, and on those that it left out."""
    if searched is None:
        return ()
    count = len(searched.columns)
    columns = "1 column" if count == 1 else f"{count:,} columns"
    told = f"Simpson's reversals: searched by {columns} that the spec does not name"
    listed = [f"{quoted(name)} ({why})" for name, why in searched.left_out.items()]
    if len(listed) > _MOST_LISTED:
        listed[_MOST_LISTED:] = [f"{len(listed) - _MOST_LISTED:,} more"]
    told += f"; left out: {', '.join(listed)}" if listed else ""
    return (Notice(told, Subjects.NOBODY),)


def _unpaired(read: Spec) -> Iterator[Notice]:
    """A notice where a report to publish leaves out whom two models treat unlike."""
    if read.suppress_below is not None and len(read.predictions) > 1:
        yield Notice(
            "models: whom two of them treat unlike is left out under `suppress_below`, for those "
            "are counts of few people",
            Subjects.NOBODY,
        )


def _unscanned(scanned: ScanResult) -> Iterator[Notice]:
    """Notices on what the scan for reversals could not compare, and what it does not list."""
    for group, aside in scanned.left_out:
        if not group:
            yield Notice(f"Simpson's reversals: {aside.why}", Subjects.ANYBODY)
    for why in scanned.too_many:
        yield Notice(f"Simpson's reversals: {why}", Subjects.ANYBODY)
    if count := scanned.repeated:
        verb = "is" if count == 1 else "are"
        why = "given several columns, where fewer of them show as much as surely"
        what = f"Simpson's reversals: {count:,} {verb} not listed: {why}"
        yield Notice(what, Subjects.ANYBODY)


def _moment(seconds: float | None) -> str | None:
    """A time as it is written, to the second."""
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _provenance(read: Spec, raw: RawCells, cube: Cube) -> Provenance:
    return Provenance(
        version=version(),
        spec_path=read.path,
        spec_sha256=read.sha256,
        title=read.title,
        context=read.context,
        files=tuple(
            DataFile(file.path, file.bytes, _moment(file.modified), file.lines)
            for file in raw.files
        ),
        rows=raw.read,
        route=raw.route,
        cube_sha256=_hash(cube),
        filter=value_of(read.filter),
        count=value_of(read.count),
        weight=value_of(read.weight),
        weight_error=raw.weight_error,
        minimum=read.minimum,
        exclude_below=read.exclude_below,
        inference=read.inference,
        created=_now(),
        cluster=value_of(read.cluster),
        clusters=None if cube.clusters is None else cube.clusters.count,
    )


def _today() -> date:
    """The day in UTC by which waivers expire: SOURCE_DATE_EPOCH dates reports, and no gate."""
    return _clock().date()


def _clock() -> datetime:
    return datetime.now(UTC)


def _now() -> str:
    """The time of the run in UTC, or the one that SOURCE_DATE_EPOCH fixes."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        moment = datetime.fromtimestamp(int(fixed), UTC) if fixed else _clock()
    except (ValueError, OverflowError, OSError) as error:
        what = "SOURCE_DATE_EPOCH is no number of seconds since 1970"
        raise UsageError(what, "unset it, or set it to such a number") from error
    return moment.replace(microsecond=0).isoformat()


def _hash(cube: Cube) -> str:
    """A fingerprint of the counts: equal for equal cubes."""
    found = hashlib.sha256()
    for key in cube.keys:
        found.update(repr((key.name, str(key.role), key.levels)).encode())
    found.update(cube.codes.tobytes())
    weights = [one.values for one in (cube.weight, cube.squares) if one is not None]
    for counts in (cube.rows, cube.people, *weights):
        # What 64 bits do not hold are Python's own integers.
        is_large = counts.dtype == object
        found.update(repr(counts.tolist()).encode() if is_large else counts.tobytes())
    for name, amount in sorted(cube.amounts.items()):
        sums = [(one.values.tolist(), one.scale) for one in amount.sums()]
        found.update(repr((name, amount.n.tolist(), sums)).encode())
    if cube.clusters is not None:
        for entries in (cube.clusters.cell, cube.clusters.code, cube.clusters.mass):
            found.update(entries.tobytes())
    return found.hexdigest()

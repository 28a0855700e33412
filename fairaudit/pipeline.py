"""The journey of an audit, a value between any two stages.

Spec → Plan → Counts → Cube → Tables → Findings → AuditResult → published AuditResult. The data is
read before the counts (for quantiles that the spec names) and for them; after them only where a
metric needs people one by one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from fairaudit import baseline as baselines
from fairaudit import engine, provenance
from fairaudit import spec as specs
from fairaudit import waivers as waiving
from fairaudit.baseline import Baseline, BaselineSource
from fairaudit.counts import Counts
from fairaudit.errors import DataError, FairauditError, UsageError, did_you_mean
from fairaudit.inputs import can_be_named
from fairaudit.judgement import Judge
from fairaudit.names import quoted
from fairaudit.plan import Plan, plan
from fairaudit.progress import SILENT, Progress
from fairaudit.recode import Cubes, recode
from fairaudit.result import AuditResult, FailOn
from fairaudit.spec import Cut, Quantile, Spec, apply_cuts, needed_quantiles
from fairaudit.suppress import Data, suppress
from fairaudit.tables import Searches, Tables, check_requests, search, tabulate
from fairaudit.tables.notices import write_notices
from fairaudit.verdict import AnyCheck, Finding

SpecLike: TypeAlias = str | Path | Mapping[str, object] | Spec
"""A path, a mapping of the same shape, or a loaded spec."""

Value = TypeVar("Value")

_ResultOrError: TypeAlias = AuditResult | FairauditError
"""What comes of an audit: its result, or why there is none."""


def audit(
    spec: SpecLike,
    data: Any = None,  # noqa: ANN401  # a path, or any frame that narwhals reads
    *,
    fail_on: FailOn | str = FailOn.FAIL,
    only: str | Iterable[str] | None = None,
    baseline: BaselineSource | None = None,
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
    question = _Question.read(spec, fail_on, only, baseline, tolerance)
    if data is None or isinstance(data, str | Path):
        (answer,) = _answer_all([question], data, progress)
    else:
        if question.quantiles:
            cuts = engine.find_cuts_of_frame(question.plan, question.quantiles, data)
            question = question.with_cuts(cuts)
        answer = _answer(question, engine.count_frame(question.plan, data), (), Path(), data)
    return _get_or_raise(answer)


def audit_together(
    specs: Iterable[SpecLike],
    data: str | Path | None = None,
    *,
    fail_on: FailOn | str = FailOn.FAIL,
    progress: Progress = SILENT,
) -> list[_ResultOrError]:
    """The results of several specs, in their order; those of the same files share their passes.

    A spec that cannot be audited has its error, and stops no other.
    """
    questions: list[_Question | FairauditError] = []
    for spec in specs:
        try:
            questions.append(_Question.read(spec, fail_on))
        except FairauditError as error:
            questions.append(error)
    readable = [question for question in questions if isinstance(question, _Question)]
    answers = iter(_answer_all(readable, data, progress))
    return [next(answers) if isinstance(item, _Question) else item for item in questions]


def audit_each(
    spec: SpecLike,
    data: str | Path,
    *,
    fail_on: FailOn | str = FailOn.FAIL,
    only: str | Iterable[str] | None = None,
    progress: Progress = SILENT,
) -> dict[str, _ResultOrError]:
    """A result for each file that `data` (a folder or a glob) names, from one scan of all.

    A file that cannot be audited has its error, and stops no other.
    """
    question = _Question.read(spec, fail_on, only)
    if question.quantiles:
        # Each file has cuts of its own.
        files = engine.name_files([str(data)], Path())
        return {name: _answer_all([question], path, progress)[0] for name, path in files.items()}
    counted = engine.count_each(question.plan, [str(data)], Path(), progress)
    return {name: _answer(question, counts, [name], Path()) for name, counts in counted.items()}


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
    def read(
        cls,
        source: SpecLike,
        fail_on: FailOn | str,
        only: str | Iterable[str] | None = None,
        baseline: BaselineSource | None = None,
        tolerance: Decimal | float | str = 0,
    ) -> _Question:
        """The question that a spec and the options of a run ask; raises what is wrong with them."""
        created = provenance.time_of_run()  # NumPy itself trips over a date that is none
        spec = _load(source)
        if spec.subgroups is not None and spec.suppress_below is not None:
            # Of a spec that was read this is a fault; here is one that was changed since.
            what = "subgroups and suppression do not go together"
            raise UsageError(what, "leave out `subgroups` or `suppress_below`")
        if fail_on not in set(FailOn):
            raise UsageError(f"fail_on is fail, warn or never, not {fail_on!r}")
        checks = _choose(spec.checks, (only,) if isinstance(only, str) else tuple(only or ()))
        definitions = {check.id: baselines.compute_fingerprint(check, spec) for check in checks}
        earlier = None if baseline is None else baselines.load(baseline, tolerance, created)
        if earlier is not None:
            baselines.refuse_other(earlier, spec, definitions)
        quantiles = needed_quantiles(spec)
        return cls(spec, plan(spec), checks, FailOn(fail_on), definitions, quantiles, earlier)

    def with_cuts(self, cuts: Mapping[Quantile, Cut]) -> _Question:
        """The same question once its quantiles are found."""
        spec = apply_cuts(self.spec, cuts)
        return replace(self, spec=spec, plan=plan(spec), quantiles=())

    def find_entries(self, data: str | Path | None) -> tuple[tuple[str, ...], Path]:
        """The entries that name the data, and the folder they start from."""
        if data is not None:
            return (str(data),), Path()
        if not self.spec.data:
            raise UsageError("the spec names no data", "add `data:` to it, or give --data")
        return self.spec.data, Path(self.spec.path).parent


def _load(spec: SpecLike) -> Spec:
    if isinstance(spec, Spec):
        return spec
    if isinstance(spec, Mapping):
        return specs.of_mapping(spec)
    try:
        return specs.load(Path(spec))
    except TypeError as error:
        kind = type(spec).__name__
        raise UsageError(f"a spec is a path or a mapping, not a {kind}", "see README.md") from error


def _choose(checks: tuple[AnyCheck, ...], only: tuple[str, ...]) -> tuple[AnyCheck, ...]:
    """The checks of those ids; an id that names none is an error, never an empty pass."""
    known = [check.id for check in checks]
    for name in only:
        if name not in known:
            listed = ", ".join(known) or "no check"
            hint = did_you_mean(str(name), known) or f"; there is {listed}"
            raise UsageError(f"no check {quoted(name)}{hint}")
    return tuple(check for check in checks if not only or check.id in only)


def _answer_all(
    questions: Sequence[_Question], data: str | Path | None, progress: Progress
) -> list[_ResultOrError]:
    """The answer to each question; those of the same files and format are counted together."""
    answers: dict[int, _ResultOrError] = {}
    groups: dict[object, list[int]] = {}
    questions = [*questions]
    for number, question in enumerate(questions):
        try:
            entries, base = question.find_entries(data)
            if question.quantiles:
                cuts = engine.find_cuts(question.plan, question.quantiles, entries, base, progress)
                questions[number] = question.with_cuts(cuts)
        except FairauditError as error:
            answers[number] = _hide_counts(error, question.spec)
        else:
            # What is no path is told by whoever looks for it.
            paths = [os.path.realpath(base / entry) for entry in entries if can_be_named(entry)]
            key = (*paths, len(entries), question.plan.format)
            groups.setdefault(key, []).append(number)
    for numbers in groups.values():
        entries, base = questions[numbers[0]].find_entries(data)
        plans = [questions[number].plan for number in numbers]
        counted: Sequence[Counts | FairauditError]
        try:
            counted = engine.count_together(plans, entries, base, progress)
        except FairauditError as error:
            counted = [error for _ in plans]
        for number, counts in zip(numbers, counted, strict=True):
            answers[number] = _answer(questions[number], counts, entries, base)
    return [answers[number] for number in range(len(questions))]


def _answer(
    question: _Question,
    counts: Counts | FairauditError,
    entries: Sequence[str],
    base: Path,
    frame: Any = None,  # noqa: ANN401  # any frame that narwhals reads
) -> _ResultOrError:
    """The answer from the counts, or the error: one about rows names the first such row."""
    try:
        source = (entries, base) if frame is None else frame
        return _conclude(question, _get_or_raise(counts), source)
    except DataError as error:
        located = engine.locate_error(error, question.plan, entries, base)
        return _hide_counts(located, question.spec)
    except FairauditError as error:
        return _hide_counts(error, question.spec)
    except Exception as error:  # noqa: BLE001  # our own crash over one answer is that answer alone
        return _hide_counts(FairauditError.crashed(error), question.spec)


def _get_or_raise(value: Value | FairauditError) -> Value:
    if isinstance(value, FairauditError):
        raise value
    return value


def _hide_counts(error: FairauditError, spec: Spec) -> FairauditError:
    """The error; of a report to publish it tells no count of people either."""
    return error if spec.suppress_below is None else error.published()


def _conclude(question: _Question, counts: Counts, source: Any) -> AuditResult:  # noqa: ANN401  # as above
    """The stages after the counts: cubes, tables, findings, the result, what may be published.

    The `source` is read again where a metric needs people one by one, and only there.
    """
    spec = question.spec
    cubes = recode(counts, spec)
    check_requests(spec, cubes.cube)
    rows = None
    if cubes.of_raw is not None:
        scores = spec.scores_of_rows
        placed = (cubes.cube, cubes.of_raw)
        rows = engine.read_rows(counts, placed, spec.similarity, scores, source)
    tables = Tables(cubes, spec, rows=rows)
    searches = search(spec, cubes, tables)
    judge = Judge(spec, cubes, tables, searches, question.baseline, provenance.today())
    findings = tuple(judge.find(check, question.definitions[check.id]) for check in question.checks)
    result = _report(question, counts, cubes, tables, searches, findings)
    if spec.suppress_below is None:
        return result
    return suppress(result, spec.suppress_below, Data.of(spec, cubes))


def _report(
    question: _Question,
    counts: Counts,
    cubes: Cubes,
    tables: Tables,
    searches: Searches,
    findings: tuple[Finding, ...],
) -> AuditResult:
    """The result: what is listed of the tables, the findings, and what a reader should know."""
    spec = question.spec
    listing = tabulate(spec, question.checks, cubes, tables, counts.medians)
    ids = [check.id for check in spec.checks]
    waivers = waiving.report_waivers(spec.waivers, findings, ids, provenance.today())
    subgroups, earlier = searches.subgroups, question.baseline
    return AuditResult(
        provenance=provenance.describe_provenance(spec, counts, cubes.cube),
        ledger=cubes.cube.ledger,
        groups=listing.groups,
        rates=listing.rates,
        comparisons=listing.comparisons,
        lattice=listing.lattice,
        epsilons=listing.epsilons,
        findings=findings,
        reversals=searches.reversals.found,
        subgroups=None if subgroups is None else subgroups.reported,
        definitions=listing.definitions,
        notices=(
            *write_notices(spec, question.checks, counts, cubes, tables, listing.lattice, searches),
            *waiving.write_notices(waivers),
        ),
        scores=listing.scores,
        curves=listing.curves,
        fail_on=question.fail_on,
        waivers=waivers,
        earlier=None if earlier is None else earlier.earlier,
        searched=searches.columns,
        compared=sum(searches.reversals.compared.values()) if spec.simpson else None,
        model_changes=listing.model_changes,
        burdens=tuple(outcome.name for outcome in spec.outcomes if not outcome.favourable),
    )

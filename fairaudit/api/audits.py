"""`audit`, `audit_each` and `audit_together`: audits of a spec's data for Python users."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path

from fairaudit.api.results import AuditResult, make_public
from fairaudit.base.errors import FairauditError, NothingToAudit, check_type
from fairaudit.base.progress import SILENT, Progress
from fairaudit.base.trust import untrusted as read_as_untrusted
from fairaudit.counting.contract import Engine
from fairaudit.counting.engines import DEFAULT
from fairaudit.pipeline.baseline import NO_TOLERANCE, BaselineSource
from fairaudit.pipeline.question import DataLike, Question, RunOptions, SpecLike, get_or_raise
from fairaudit.pipeline.stages import answer_all, answer_specs, count_each, judge_file
from fairaudit.result import FailOn, ResultOrError


def audit(  # noqa: PLR0913  # the options of the command
    spec: SpecLike,
    data: DataLike = None,
    *,
    fail_on: FailOn | str = FailOn.FAIL,
    only: str | Iterable[str] | None = None,
    baseline: BaselineSource | None = None,
    tolerance: Decimal | float | str = NO_TOLERANCE,
    draws: str | Path | None = None,
    settings: Iterable[str] = (),
    timeout: float | None = None,
    untrusted: bool = False,
    progress: Progress = SILENT,
    engine: Engine = DEFAULT,
) -> AuditResult:
    """The result of an audit of the spec's data, or of `data` in its place.

    `spec` is a path, a YAML text, a mapping of the same shape, or a loaded spec; `data` a path
    (also a glob or folder), a frame of Polars, pandas, Arrow or DuckDB, or a dict of columns.
    `only` names checks to judge. With a `baseline`, an earlier result (or the path of its JSON
    report), a check fails only where it is worse by more than the `tolerance`. `draws` are those of
    `model: draws`, in place of the spec's. `settings` change the spec as `--set` does:
    `["metrics[0].fail.below=0.75"]`. A database has `timeout` seconds to answer. `untrusted` reads
    the spec as a stranger's, as `--untrusted` does. Raises `FairauditError` or a subclass of it. A
    failed check raises nothing: see `AuditResult.raise_for_failure`.
    """
    options = RunOptions(fail_on, only, baseline, tolerance, draws, settings, timeout)
    with read_as_untrusted(is_on=untrusted):
        (outcome,) = answer_specs([spec], data, options, progress, engine)
    return make_public(get_or_raise(outcome))


def audit_together(
    specs: Iterable[SpecLike],
    data: DataLike = None,
    *,
    fail_on: FailOn | str = FailOn.FAIL,
    settings: Iterable[str] = (),
    timeout: float | None = None,
    untrusted: bool = False,
    progress: Progress = SILENT,
    engine: Engine = DEFAULT,
) -> list[AuditResult | FairauditError]:
    """The results of several specs, in their order; those of the same files share their passes.

    A spec that cannot be audited has its error, and stops no other. `settings` change each of them.
    `untrusted` reads each as a stranger's.
    """
    check_type(specs, Iterable, "the specs are a list")
    if isinstance(specs, str | Path | Mapping):
        specs = [specs]
    options = RunOptions(fail_on, settings=tuple(settings), timeout=timeout)
    with read_as_untrusted(is_on=untrusted):
        outcomes = answer_specs(specs, data, options, progress, engine)
    return [_public(outcome) for outcome in outcomes]


def audit_each(
    spec: SpecLike,
    data: str | Path | Mapping[str, DataLike],
    *,
    fail_on: FailOn | str = FailOn.FAIL,
    only: str | Iterable[str] | None = None,
    settings: Iterable[str] = (),
    untrusted: bool = False,
    progress: Progress = SILENT,
    engine: Engine = DEFAULT,
) -> dict[str, AuditResult | FairauditError]:
    """A result for each file that `data` (a folder or a glob) names, from one scan of all.

    A mapping, `{"may": frame, "june": "june.csv"}`, has a result under each of its names. What
    cannot be audited has its error, and stops no other. `untrusted` reads the spec as a stranger's.
    """
    with read_as_untrusted(is_on=untrusted):
        question = Question.read(spec, RunOptions(fail_on, only, settings=settings))
        example = 'such as {"may": frame, "june": frame}'
        check_type(data, str | Path | Mapping, "the data are a path or a dict of frames", example)
        if not data:
            raise NothingToAudit("no data is named", "name a folder, or pass `{name: frame}`")
        if isinstance(data, Mapping):
            return {
                str(name): _public(answer_all([question], part, progress, engine)[0])
                for name, part in data.items()
            }
        counts = count_each(question, str(data), progress=progress, engine=engine)
        return {name: _public(judge_file(question, name, counts[name], engine)) for name in counts}


def _public(outcome: ResultOrError) -> AuditResult | FairauditError:
    return outcome if isinstance(outcome, FairauditError) else make_public(outcome)

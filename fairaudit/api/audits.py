"""Audits for Python users: of a spec, of several specs or files, of arrays, and in a test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit.api.results import AuditResult, make_public
from fairaudit.base.errors import FailOn, FairauditError, NothingToAudit, UsageError, check_type
from fairaudit.base.names import canonical, listing
from fairaudit.base.processes import SILENT, Progress
from fairaudit.base.trust import untrusted as read_as_untrusted
from fairaudit.counting import polars_engine
from fairaudit.counting.contract import Engine
from fairaudit.counting.sources import frames
from fairaudit.pipeline.audit_task import AuditTask, DataLike, RunOptions, SpecLike, get_or_raise
from fairaudit.pipeline.baseline import NO_TOLERANCE, BaselineSource
from fairaudit.pipeline.stages import answer_all, answer_specs, count_files, judge_file
from fairaudit.result import ResultOrError, Verdict

if TYPE_CHECKING:
    import polars as pl

_ROLES = {"y_true": "label", "y_pred": "prediction", "score": "score", "sample_weight": "weight"}
_OF_DECISIONS = ("selection_rate", "demographic_parity_difference", "demographic_parity_ratio")
_OF_LABELS = (
    "accuracy",
    "true_positive_rate",
    "false_positive_rate",
    "equalized_odds_difference",
    "equalized_odds_ratio",
)


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
    engine: Engine = polars_engine,
) -> AuditResult:
    """The result of an audit of the data that a spec names, or of `data`.

    `spec` is a path, a YAML text, a mapping with the same keys, or a loaded spec. `data` is a path
    (also a glob or folder), a frame of Polars, pandas, Arrow or DuckDB, or a dict of columns.
    `only` names the checks to judge. With a `baseline`, an earlier result (or the path of its JSON
    report), a check fails only if it is worse by more than the `tolerance`. `draws` is a file of
    posterior draws for `model: draws`, in place of the file in the spec. `settings` change the spec
    like `--set`: `["metrics[0].fail.below=0.75"]`. A database has `timeout` seconds to answer.
    `untrusted` limits what a spec from a stranger can read, like `--untrusted`. Raises
    `FairauditError` or a subclass. A failed check does not raise: see
    `AuditResult.raise_for_failure`.
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
    engine: Engine = polars_engine,
) -> list[AuditResult | FairauditError]:
    """The results of several specs, in their order. Specs of the same files are counted together.

    If a spec cannot be audited, its entry is the error, and the other specs are still audited.
    `settings` change each spec. `untrusted` limits what the specs can read, like `--untrusted`.
    """
    check_type(specs, Iterable, "the specs must be a list")
    if isinstance(specs, str | Path | Mapping):
        specs = [specs]
    options = RunOptions(fail_on, settings=tuple(settings), timeout=timeout)
    with read_as_untrusted(is_on=untrusted):
        outcomes = answer_specs(specs, data, options, progress, engine)
    return [_make_public(outcome) for outcome in outcomes]


def audit_each(
    spec: SpecLike,
    data: str | Path | Mapping[str, DataLike],
    *,
    fail_on: FailOn | str = FailOn.FAIL,
    only: str | Iterable[str] | None = None,
    settings: Iterable[str] = (),
    untrusted: bool = False,
    progress: Progress = SILENT,
    engine: Engine = polars_engine,
) -> dict[str, AuditResult | FairauditError]:
    """A result for each file that `data` (a folder or a glob) names.

    For a mapping, `{"may": frame, "june": "june.csv"}`, there is a result under each name. If a
    file cannot be audited, its entry is the error, and the other files are still audited.
    `untrusted` limits what the spec can read, like `--untrusted`.
    """
    with read_as_untrusted(is_on=untrusted):
        task = AuditTask.read(spec, RunOptions(fail_on, only, settings=settings))
        example = 'such as {"may": frame, "june": frame}'
        check_type(data, str | Path | Mapping, "data must be a path or a dict of frames", example)
        if not data:
            raise NothingToAudit("no data is named", "name a folder, or pass `{name: frame}`")
        if isinstance(data, Mapping):
            return {
                str(name): _make_public(answer_all([task], part, progress, engine)[0])
                for name, part in data.items()
            }
        counted = count_files(task, str(data), progress=progress, engine=engine)
        return {file[0]: _make_public(judge_file(task, file, engine)) for file in counted}


def _make_public(outcome: ResultOrError) -> AuditResult | FairauditError:
    return outcome if isinstance(outcome, FairauditError) else make_public(outcome)


def assert_audit(
    spec: SpecLike,
    data: DataLike = None,
    *,
    fail_on: FailOn | str = FailOn.FAIL,
    only: str | Iterable[str] | None = None,
    baseline: BaselineSource | None = None,
    tolerance: Decimal | float | str = NO_TOLERANCE,
    untrusted: bool = False,
) -> AuditResult:
    """The result of an audit that passes; otherwise raises `AuditFailed`.

    `AuditFailed` is an `AssertionError` with a line for each check, so pytest shows it as the
    failure of a test. A spec without limits asserts nothing and raises `UsageError`. The arguments
    are as in `audit`; with `fail_on="never"` the result of a failed audit is returned, too.
    """
    __tracebackhide__ = True  # pytest shows the line of the test, not this one
    result = audit(
        spec, data, fail_on=fail_on, only=only, baseline=baseline, tolerance=tolerance,
        untrusted=untrusted,
    )  # fmt: skip
    if result.verdict is Verdict.NONE:
        raise UsageError("the spec sets no limit, so nothing is asserted", "add `fail` to a metric")
    if result.exit_code:  # 0 with `fail_on="never"`
        result.raise_for_failure()
    return result


def audit_arrays(  # noqa: PLR0913  # the names that users of scikit-learn know
    y_true: Any = None,  # noqa: ANN401  # arrays, lists and series of any library
    y_pred: Any = None,  # noqa: ANN401  # the same
    *,
    sensitive_features: Any,  # noqa: ANN401  # the same, also frames and dicts of them
    control_features: Any = None,  # noqa: ANN401  # the same
    score: Any = None,  # noqa: ANN401  # as y_true
    sample_weight: Any = None,  # noqa: ANN401  # as y_true
    pos_label: object = None,
    metrics: Sequence[str | Mapping[str, object]] | str | None = None,
    limits: Mapping[str, object] | None = None,
    fail_on: FailOn | str = FailOn.FAIL,
    **keys: object,
) -> AuditResult:
    """The result of an audit of arrays of equal length, with the names of scikit-learn's arguments.

    `y_true` are labels and `y_pred` decisions. One of them may be left out. The value `pos_label`
    is positive. Without it, the arrays must hold 0 and 1, -1 and 1, or booleans, and 1 is positive;
    other values raise `UsageError`. Both arrays together may have at most two values.
    `sensitive_features` and `control_features` (strata) are a frame, a series, a dict of columns, a
    list, or an array of one or two dimensions. Columns without names are called
    `sensitive_feature_0` and so on. `score` is a number for each row, `sample_weight` its weight.
    `metrics` are written as in a spec, with or without limits. `limits` are limits at which a
    metric fails, `{"demographic_parity_ratio": {"below": 0.8}}`. Any other key of a spec may
    follow, such as `groups` or `inference`. Raises `DataError`, `UsageError`, and `SpecError` for
    invalid keys.

    >>> import fairaudit
    >>> result = fairaudit.audit_arrays(
    ...     [1, 1, 0, 0], [1, 0, 1, 0], sensitive_features={"sex": ["f", "f", "m", "m"]}
    ... )
    >>> result.table("sex")["selection_rate"].to_list()
    [0.5, 0.5]
    """
    given = {
        "y_true": y_true, "y_pred": y_pred, "score": score, "sample_weight": sample_weight,
    }  # fmt: skip
    columns: dict[str, Any] = {}
    for role, base, features in (
        ("protected", "sensitive_feature", sensitive_features),
        ("strata", "control_feature", control_features),
    ):
        if features is not None:
            named = frames.name_columns(features, base)
            columns[role] = {name: {"column": _column_of(base, name)} for name in named}
            given |= {_column_of(base, name): values for name, values in named.items()}
    frames.refuse_other_order(given)
    arrays = {
        name: frames.read_column(name, values)
        for name, values in given.items()
        if values is not None
    }
    outcomes = {name: arrays[name] for name in arrays if name in {"y_true", "y_pred"}}
    if not outcomes:
        raise UsageError("y_true and y_pred are both missing", "pass labels, decisions, or both")
    classes = _name_classes(pos_label, outcomes)
    columns |= {
        role: {"column": name, **classes} if name in outcomes else name
        for name, role in _ROLES.items()
        if name in arrays
    }
    if y_pred is None:
        reported: Sequence[str] = ("base_rate",)
    else:
        reported = _OF_DECISIONS if y_true is None else (*_OF_DECISIONS, *_OF_LABELS)
    metrics, limits = metrics or reported, limits or {}
    check_type(metrics, Iterable, "metrics must be a list of names, or of entries of a spec")
    example = 'such as {"demographic_parity_ratio": {"below": 0.8}}'
    check_type(limits, Mapping, "limits must be a dict of metrics", example)
    listed = [metrics] if isinstance(metrics, str) else [*metrics]
    entries = [entry for entry in listed if not isinstance(entry, str) or entry not in limits]
    entries += [{"metric": name, "fail": limit} for name, limit in limits.items()]
    return audit({"columns": columns, "metrics": entries, **keys}, arrays, fail_on=fail_on)


def _column_of(base: str, name: str) -> str:
    """The name of the column of a feature; its prefix makes it differ from other columns."""
    return f"{base}s.{name}"


def _name_classes(pos_label: Any, outcomes: Mapping[str, pl.Series]) -> dict[str, object]:  # noqa: ANN401  # any label
    """The positive value, and the negative value if it occurs."""
    codes = {
        name: {canonical(level) for level in frames.list_levels(column)}
        for name, column in outcomes.items()
    }
    known = set[str]().union(*codes.values())
    held = " and ".join(f"{name} holds {listing(sorted(found))}" for name, found in codes.items())
    if np.ndim(pos_label):
        raise UsageError("pos_label must be a single value", "pass the positive value")
    positive = pos_label.item() if hasattr(pos_label, "item") else pos_label
    if positive is None:
        if not (known <= {"0", "1"} or known <= {"-1", "1"}):
            what = f"it is not clear which value is positive: {held}"
            raise UsageError(
                what, "set pos_label=…; for probabilities, pass decisions: y_pred = p >= 0.5"
            )
        positive = 1
    text = str(positive).lower() if isinstance(positive, bool) else str(positive)
    others = known - {canonical(text)}
    if len(others) > 1:
        what = f"labels and decisions must use the same two values: {held}"
        raise UsageError(what, "use one positive and one negative value in both")
    return {"positive": positive, **({"negative": others.pop()} if others else {})}

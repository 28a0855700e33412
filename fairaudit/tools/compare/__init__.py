"""`compare`, `compare_models`: whether people are the same, corrected p-values, their order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias, TypeVar

import numpy as np

from fairaudit.base.errors import NothingToAudit, UsageError, did_you_mean, list_known
from fairaudit.base.frozen import replace
from fairaudit.judge import Check, Finding
from fairaudit.metrics import Rate, find_metric
from fairaudit.metrics.inference import Inference
from fairaudit.result import AuditResult
from fairaudit.tools.compare.checks import compare_checks
from fairaudit.tools.compare.measuring import ChangeTerms
from fairaudit.tools.compare.rates import (
    compare_notices,
    compare_paired_rates,
    compare_people,
    compare_rates,
    compare_reversals,
    list_conditions,
    rate_key,
)
from fairaudit.tools.compare.records import (
    Change,
    Changes,
    CheckChange,
    ComparedResult,
    Direction,
    GroupChange,
    GroupKey,
    PeopleChange,
    RateChange,
    Sampling,
    group_key,
)

_BARRED = {
    Sampling.SAME_PEOPLE: "not tested: the same people both times",
    Sampling.PAIRED: "not tested: the same people by both models",
    Sampling.INDEPENDENT: "",
}
_CLUSTERED = "not tested: rows come in clusters, which a report does not list"
_CONFIDENCE = "not tested: confidence levels differ"

_LABEL = "label"
_OF_LABEL = {frozenset({"tp", "fn"}), frozenset({"fp", "tn"})}
"""Whom rates count whose denominator no prediction changes: those of one label."""

_SizeKey: TypeAlias = tuple[str, frozenset[str], GroupKey]
"""Of what a size is (people, or labels), a grouping, and a group of it in a stratum."""

_Rank: TypeAlias = tuple[int, float, float]
_DIRECTIONS = [*Direction]
"""The order in which significant changes are listed."""


def compare(
    before: AuditResult,
    after: AuditResult,
    *,
    outcomes: tuple[str, str] | None = None,
    same_people: bool | None = None,
) -> Changes:
    """What changed from one result to another, each change tested as one of independent samples.

    `outcomes` name the one of each result to look at, such as a model; then these are compared
    though they are called otherwise. Whether both are of the `same_people` is found by their files
    and groups where it is not said; then a change is a change, and nothing is tested.
    Raises `NothingToAudit` where both have neither a check nor a rate in common, and `UsageError`
    for an outcome that a result does not have.
    """
    if outcomes is not None:
        before, after = (
            _select_outcome(result, name, outcomes[1])
            for result, name in zip((before, after), outcomes, strict=True)
        )
    if same_people is None:
        # Two months with as many rows, and as many people in every group and with every label, are
        # one. Files of one size are others where their groups are; but one file may be grouped in
        # two ways: the very same files were read, not written anew in between.
        then, now = before.provenance, after.provenance
        is_one_file = bool(then.files) and then.files == now.files
        is_one_file = is_one_file and all(file.modified for file in then.files)
        same_people = then.rows == now.rows and (is_one_file or _have_same_groups(before, after))
    sampling = Sampling.SAME_PEOPLE if same_people else Sampling.INDEPENDENT
    return _compare_results(before, after, sampling, outcomes=outcomes or (None, None))


def compare_models(result: AuditResult, first: str, second: str) -> Changes:
    """What changes if `second` takes the place of `first`, two outcomes of one result.

    Rates of the same people are tested by who changes (McNemar). Checks need no test: of the same
    people a value that is worse is worse. Raises as `compare` does.
    """
    before, after = (_select_outcome(result, name, second) for name in (first, second))
    if first == second:
        raise UsageError(f"{first} would be compared with itself", "name two models")
    rates = tuple(compare_paired_rates(result, first, second))
    return _compare_results(before, after, Sampling.PAIRED, rates, (first, second))


def _compare_results(
    before: AuditResult,
    after: AuditResult,
    sampling: Sampling,
    paired: Sequence[RateChange] = (),
    outcomes: tuple[str | None, str | None] = (None, None),
) -> Changes:
    terms, is_paired = _find_terms(before, after, sampling), sampling is Sampling.PAIRED
    inference = terms.inference
    checks = compare_checks(before, after, terms, renamed=outcomes[1] is not None)
    then, now = ({rate_key(row): row for row in side.rates} for side in (before, after))
    for rate in paired:
        now.pop(rate_key(rate), None)
    rates = (*paired, *compare_rates(then, now, frozenset(after.burdens), terms))
    if not (checks.both or checks.otherwise or rates):
        what = "the results have no check and no rate in common"
        raise NothingToAudit(what, "compare results from specs with the same metrics")
    people = () if is_paired else compare_people(before, after, barred=terms.barred)
    conditions = () if is_paired else list_conditions(before, after, checks.both, rates)
    new_notices, gone_notices = compare_notices(before.notices, after.notices)
    only_before = checks.only_before
    if outcomes[0] is not None:
        # Such a check has no partner to share a name with: it has its own again.
        only_before = tuple(_rename_check(finding, outcomes[0]) for finding in only_before)
    # The changes of all groups of all checks are one family.
    tested = iter(_correct([change for check in checks.both for change in check.tested], inference))
    both = [_with_changes(check, [next(tested) for _ in check.tested]) for check in checks.both]

    def rank(check: CheckChange) -> tuple[int, _Rank]:
        return 0 if check.is_worse else 1 if check.is_better else 2, min(map(_rank, check.tested))

    changes = _correct([rate.change for rate in rates], inference)
    corrected = map(lambda rate, change: replace(rate, change=change), rates, changes)
    return Changes(
        before=_describe_result(before, outcomes[0]),
        after=_describe_result(after, outcomes[1]),
        sampling=sampling,
        inference=inference,
        checks=tuple(sorted(both, key=rank)),
        otherwise=checks.otherwise,
        only_before=only_before,
        only_after=checks.only_after,
        rates=tuple(sorted(corrected, key=lambda rate: _rank(rate.change))),
        people=tuple(_correct(people, inference)),
        reversals=tuple(compare_reversals(before, after)),
        conditions=tuple(conditions),
        new_notices=new_notices,
        gone_notices=gone_notices,
    )


def _find_terms(before: AuditResult, after: AuditResult, sampling: Sampling) -> ChangeTerms:
    """How the numbers of both results are tested, or why not."""
    then, now = before.provenance, after.provenance
    barred = _BARRED[sampling]
    differ = then.inference.confidence != now.inference.confidence
    if differ:
        barred = barred or _CONFIDENCE
    if then.cluster or now.cluster:
        barred = barred or _CLUSTERED
    return ChangeTerms(
        now.inference,
        barred,
        same_people=sampling is not Sampling.INDEPENDENT,
        unpaired=sampling is not Sampling.INDEPENDENT and not differ,
        mean=not (then.weight or now.weight),
    )


def _describe_result(result: AuditResult, of: str | None) -> ComparedResult:
    return ComparedResult(result.provenance, result.verdict, result.exit_code, result.tally, of)


def _select_outcome(result: AuditResult, name: str, called: str) -> AuditResult:
    """The result as far as it is of one outcome, which is then called otherwise.

    What sets an outcome against another (`against`) is of neither alone.
    """
    models = [model for row in result.model_changes for model in (row.first, row.second)]
    rates, checks = result.rates, [finding.check for finding in result.findings]
    known = [*dict.fromkeys([*models, *(row.of for row in rates), *(check.of for check in checks)])]
    if name not in known:
        hint = did_you_mean(name, known)
        raise UsageError(f"no outcome {name!r}{hint}", list_known(known))
    scanned = result.scanned
    if scanned is not None:
        # Of another outcome than its own it looked at nothing.
        scanned = replace(scanned, of=called, pairs=scanned.pairs if scanned.of == name else ())
    return replace(
        result,
        groups=tuple(replace(row, of=called) for row in result.groups if row.of == name),
        rates=tuple(replace(row, of=called) for row in result.rates if row.of == name),
        comparisons=tuple(
            replace(row, of=called)
            for row in result.comparisons
            if row.of == name and "against" not in row.parameters
        ),
        findings=tuple(
            _rename_check(finding, called)
            for finding in result.findings
            if finding.check.of == name
            and not (isinstance(finding.check, Check) and finding.check.against is not None)
        ),
        reversals=tuple(
            replace(reversal, of=called) for reversal in result.reversals if reversal.of == name
        ),
        scanned=scanned,
        burdens=tuple(called for burden in result.burdens if burden == name),
    )


def _rename_check(finding: Finding, name: str) -> Finding:
    """The finding on an outcome by another name, in the id of its check too."""
    check = finding.check
    parts = [name if part == check.of else part for part in check.id.split("/")]
    return replace(finding, check=replace(check, of=name, id="/".join(parts)))


def _with_changes(check: CheckChange, changes: Sequence[Change]) -> CheckChange:
    """The check with the corrected changes of its groups, those that changed most surely first."""
    if not check.groups:
        return replace(check, change=changes[0])
    groups = [
        replace(group, change=change) for group, change in zip(check.groups, changes, strict=True)
    ]
    worst = next(
        (group.change for group in groups if group.decided and group.decides), check.change
    )

    def rank(group: GroupChange) -> tuple[float, float]:
        test = group.change.significance
        return 1.0 if test is None else test.adjusted, -group.change.size

    return replace(check, change=worst, groups=tuple(sorted(groups, key=rank)))


_Tested = TypeVar("_Tested", bound=Change | PeopleChange)


def _correct(changes: Iterable[_Tested], inference: Inference) -> list[_Tested]:
    """The changes of one family, each test adjusted for all that there are."""
    family, correction = [*changes], inference.correction
    tests = [change.significance for change in family]
    p = np.array([math.nan if test is None else test.p for test in tests], dtype=np.float64)
    size = int(np.count_nonzero(~np.isnan(p)))
    return [
        change
        if test is None
        else replace(
            change,
            significance=replace(test, adjusted=level, family=size, correction=correction.words),
            significant=level < inference.alpha,
        )
        for change, test, level in zip(family, tests, correction.adjust(p).tolist(), strict=True)
    ]


def _rank(change: Change) -> _Rank:
    """Significant ones first, worse before better; then by p, then by size."""
    if change.significance is None:
        return len(_DIRECTIONS) + 1, 1.0, -change.size
    place = _DIRECTIONS.index(change.way) if change.significant else len(_DIRECTIONS)
    return place, change.significance.p, -change.size


def _have_same_groups(before: AuditResult, after: AuditResult) -> bool:
    """Whether every group of every grouping in both has as many people, and of them as many labels.

    Where no size is known in both, or of how many rows, the files speak for it.
    """
    sizes = dict(_list_sizes(before)), dict(_list_sizes(after))
    common = {*map(_find_grouping, sizes[0])} & {*map(_find_grouping, sizes[1])}
    then, now = (
        {key: size for key, size in side.items() if _find_grouping(key) in common} for side in sizes
    )
    is_known = bool(then) and before.provenance.rows is not None
    # Files of the same bytes and lines are the same, whatever they are called.
    files = [
        sorted((file.bytes or 0, file.lines or 0) for file in result.provenance.files)
        for result in (before, after)
    ]
    are_same_files = files[0] == files[1] and all(size for size, _ in files[0])
    return then == now and (is_known or are_same_files)


def _find_grouping(key: _SizeKey) -> tuple[str, frozenset[str], frozenset[str]]:
    """Of what a size is, of groups by which columns, in strata by which columns."""
    of, by, (_, stratum) = key
    return of, by, frozenset(name for name, _ in stratum)


def _list_sizes(result: AuditResult) -> Iterator[tuple[_SizeKey, object]]:
    """How many people each group has, and with which labels; everybody is no group.

    Where labels are not listed, the denominators of rates that condition on them tell them.
    """
    for row in result.groups:
        if row.by and row.n is not None:
            key = frozenset(row.by), group_key(row.group, row.stratum)
            yield ("", *key), row.n
            if row.of == _LABEL and row.counts and None not in row.counts.values():
                yield (_LABEL, *key), tuple(sorted(row.counts.items()))
    for rate in result.rates:
        metric, n = find_metric(rate.metric), rate.estimate.n
        if rate.by and n is not None and isinstance(metric, Rate):
            under = frozenset(metric.under)
            if under in _OF_LABEL and not rate.parameters:
                key = frozenset(rate.by), group_key(rate.group, rate.stratum)
                yield (repr(sorted(under)), *key), n

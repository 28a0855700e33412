"""Everything that changed from one result to another."""

from __future__ import annotations

from collections.abc import Sequence

from fairaudit.compare.checks import compare_checks
from fairaudit.compare.conditions import compare_notices, compare_reversals, list_conditions
from fairaudit.compare.families import correct_checks, correct_people, correct_rates
from fairaudit.compare.models import compare_paired_rates, list_models, rename_check, select_outcome
from fairaudit.compare.people import compare_people
from fairaudit.compare.rates import compare_rates, index_rates, rate_key
from fairaudit.compare.records import Changes, ComparedResult, RateChange, Sampling
from fairaudit.compare.sampling import detect_sampling
from fairaudit.errors import NothingToAudit, UsageError, did_you_mean
from fairaudit.result import AuditResult

_SAME_PEOPLE = "not tested: the same people both times"
_UNPAIRED = "not tested: not counted person by person"
_CLUSTERED = "not tested: rows come in clusters, which a report does not list"
_CONFIDENCE = "not tested: the intervals are of unlike confidence"


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
    and groups where it is not said; then nothing is tested, for the samples are not independent.
    Raises `NothingToAudit` where both have neither a check nor a rate in common, and `UsageError`
    for an outcome that a result does not have.
    """
    if outcomes is not None:
        for result, name in zip((before, after), outcomes, strict=True):
            _refuse_unknown(result, name)
        before, after = (
            select_outcome(result, name, outcomes[1])
            for result, name in zip((before, after), outcomes, strict=True)
        )
    sampling = detect_sampling(before, after)
    if same_people is not None:
        sampling = Sampling.SAME_PEOPLE if same_people else Sampling.INDEPENDENT
    return _changes(before, after, sampling, outcomes=outcomes or (None, None))


def compare_models(result: AuditResult, first: str, second: str) -> Changes:
    """What changes if `second` takes the place of `first`, two outcomes of one result.

    Rates of the same people are tested by who changes (McNemar); checks and other rates are told
    without a test. Raises as `compare` does.
    """
    for name in (first, second):
        _refuse_unknown(result, name)
    if first == second:
        raise UsageError(f"{first} is compared with itself", "name two models")
    rates = tuple(compare_paired_rates(result, first, second))
    before, after = (select_outcome(result, name, second) for name in (first, second))
    return _changes(before, after, Sampling.PAIRED, rates, (first, second))


def _refuse_unknown(result: AuditResult, name: str) -> None:
    known = list_models(result)
    if name not in known:
        hint = did_you_mean(name, known)
        raise UsageError(f"no outcome {name!r}{hint}", f"there is {', '.join(known) or 'none'}")


def _changes(
    before: AuditResult,
    after: AuditResult,
    sampling: Sampling,
    paired: Sequence[RateChange] = (),
    outcomes: tuple[str | None, str | None] = (None, None),
) -> Changes:
    inference = after.provenance.inference
    barred = {Sampling.SAME_PEOPLE: _SAME_PEOPLE, Sampling.PAIRED: _UNPAIRED}.get(sampling, "")
    if before.provenance.inference.confidence != inference.confidence:
        barred = barred or _CONFIDENCE
    if before.provenance.cluster or after.provenance.cluster:
        barred = barred or _CLUSTERED
    weighted = bool(before.provenance.weight or after.provenance.weight)
    checks = compare_checks(
        before,
        after,
        inference,
        barred=barred,
        weighted=weighted,
        renamed=outcomes[1] is not None,
    )
    then, now = index_rates(before.rates), index_rates(after.rates)
    for one in paired:
        now.pop(rate_key(one), None)
    listed = compare_rates(
        then, now, inference, frozenset(after.burdens), barred=barred, weighted=weighted
    )
    rates = (*paired, *listed)
    if not (checks.both or checks.otherwise or rates):
        what = "there is no check and no rate in both"
        raise NothingToAudit(what, "compare results of specs that ask the same")
    people = () if sampling is Sampling.PAIRED else compare_people(before, after, barred=barred)
    new, gone = compare_notices(before.notices, after.notices)
    return Changes(
        before=_origin(before, outcomes[0]),
        after=_origin(after, outcomes[1]),
        sampling=sampling,
        inference=inference,
        checks=correct_checks(checks.both, inference),
        otherwise=checks.otherwise,
        # Such a check has no partner to share a name with: it has its own again.
        only_before=checks.only_before
        if outcomes[0] is None
        else tuple(rename_check(one, outcomes[0]) for one in checks.only_before),
        only_after=checks.only_after,
        rates=correct_rates(rates, inference),
        people=correct_people(tuple(people), inference),
        reversals=tuple(compare_reversals(before, after)),
        conditions=()
        if sampling is Sampling.PAIRED
        else tuple(list_conditions(before, after, checks.both, rates)),
        new_notices=new,
        gone_notices=gone,
    )


def _origin(result: AuditResult, of: str | None) -> ComparedResult:
    return ComparedResult(result.provenance, result.verdict, result.exit_code, result.tally, of)

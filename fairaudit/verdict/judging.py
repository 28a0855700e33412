"""Judging: the only place where a number becomes pass, warn or fail."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from fairaudit.cube import Group
from fairaudit.estimate import Estimate
from fairaudit.evidence import (
    TOO_LITTLE_VARIATION,
    Evidence,
    MissingBounds,
    build_estimate,
    correct_families,
    find_parts,
    judge_missing,
)
from fairaudit.evidence.people_affected import (
    AllowedGap,
    adjust_for_clusters,
    count_people_affected,
    find_detectable_gap,
)
from fairaudit.metrics import (
    Better,
    Disparity,
    Evaluation,
    GroupMetric,
    describe_group,
)
from fairaudit.metrics.terms import INCLUDING_GROUP
from fairaudit.simpson import Reversal, ScanResult
from fairaudit.verdict.asked import (
    AnyCheck,
    Backing,
    Check,
    Limit,
    OnUndefined,
    ReversalCheck,
    ReversalLimit,
    Status,
)
from fairaudit.verdict.collecting import Entry, collect, most_passed_over, set_apart
from fairaudit.verdict.findings import Crossing, Finding, NotEvaluated
from fairaudit.verdict.hiding import hidden_by_few
from fairaudit.verdict.weighing import Weighed, farthest, untested_of, weigh

_MOST_EXACT = 1000
"""Of more values beyond a limit, none is told as a fraction."""


def judge(
    check: Check,
    evaluation: Evaluation,
    evidence: Evidence | None = None,
    left_out: Sequence[NotEvaluated] = (),
    could_turn: Sequence[NotEvaluated] = (),
) -> Finding:
    """The finding of a check on an evaluated measure, with what speaks for each value.

    Without evidence the check stands alone: its tests are a family of their own. `left_out` are
    those whom the data has and the evaluation does not, `could_turn` says that rows of theirs could
    make the check worse. Values that are there and in doubt are not undefined: whatever
    `undefined` says, they leave a check inconclusive.
    """
    limit = check.fail or check.warn
    if limit is None:
        raise ValueError(f"{check.id} has no limit")
    evidence = (
        correct_families({check.id: (evaluation, None)})[check.id] if evidence is None else evidence
    )
    entries, missing = collect(check, evaluation)
    missing += left_out
    found = weigh(check, entries, evidence)
    missing += [untested_of(evaluation, one, found.limit, evidence) for one in found.untested]
    doubts = [*could_turn, *(most_passed_over(check, evaluation) if entries else [])]
    if found.status is not Status.FAIL:
        doubts += hidden_by_few(check, evaluation)
    open_by = Status.INCONCLUSIVE if doubts else _status_of_missing(check, entries, missing)
    status = max(found.status, open_by, key=list(Status).index)
    missing += doubts
    chosen = farthest(found.deciding or entries, found.limit or limit)
    finding = Finding(
        check=check,
        status=status,
        estimate=None,
        limit=found.limit or limit,
        why="; ".join(dict.fromkeys(_reason(one) for one in missing if one.blocks)),
        crossed=_crossings(evaluation, found),
        not_evaluated=tuple(missing),
        backing=found.backing,
        not_cleared=status is not Status.FAIL and _is_beyond_unproven(check, entries, evidence),
    )
    if chosen is None:
        return finding
    return _in_practice(_witnessed(finding, evaluation, chosen, evidence), evaluation)


_UNPROVEN = {
    Backing.NOT_SIGNIFICANT,
    Backing.NOT_CONCLUSIVE,
    Backing.UNTESTED,
    Backing.ONLY_TOGETHER,
}


def _is_beyond_unproven(check: Check, entries: Sequence[Entry], evidence: Evidence) -> bool:
    """Whether a value is beyond either limit without the evidence that this limit asks for."""
    for limit in (check.fail, check.warn):
        if limit is None or not limit.asks:
            continue
        found = weigh(replace(check, fail=limit, warn=None), entries, evidence)
        beyond = any(limit.crossed(one.value, one.exact) for one in found.deciding)
        if beyond and found.backing in _UNPROVEN:
            return True
    return False


def judge_reversals(check: ReversalCheck, scanned: ScanResult) -> Finding:
    """The finding of a gate on reversals: crossed by one of that kind, or a stronger one.

    What asks for significance and has none is in doubt: it warns where it would fail, and is told
    where it would warn.
    """
    mine = [one for one in scanned.found if one.rate == check.rate and one.of == check.of]
    left_out = [
        set_apart(group, (), aside) if group else NotEvaluated((), (), aside.why, blocks=False)
        for group, aside in scanned.left_out
    ]
    left_out += [NotEvaluated((), (), why, blocks=True) for why in scanned.too_many]
    doubt: Finding | None = None
    for status, bound in ((Status.FAIL, check.fail), (Status.WARN, check.warn)):
        found = [one for one in mine if bound and one.kind.strength >= bound.kind.strength]
        if bound is None or not found:
            continue
        told = found
        if bound.significant:
            told = [one for one in found if one.is_significant(check.inference.alpha)]
        if told:
            backing = Backing.SUPPORTED if bound.significant else Backing.UNASKED
            proven = _turned(check, status, bound, left_out, told, backing)
            return replace(proven, not_cleared=doubt is not None)
        if doubt is None:
            short = Status.WARN if status is Status.FAIL else Status.PASS
            doubt = _turned(check, short, bound, left_out, found, Backing.NOT_SIGNIFICANT)
            doubt = replace(doubt, not_cleared=True)
    limit = check.fail or check.warn
    if not scanned.compared.get(check.rate):
        why = "no two groups could be compared in two strata or more"
        left_out.append(NotEvaluated((), (), why, blocks=True))
    reasons = [one.reason for one in left_out if one.blocks]
    if reasons and (doubt is None or doubt.status is Status.PASS):
        why = "; ".join(dict.fromkeys(reasons))
        finding = _turned(check, Status.INCONCLUSIVE, limit, left_out)
        return replace(finding, why=why, not_cleared=doubt is not None)
    return doubt or _turned(check, Status.PASS, limit, left_out)


def _turned(
    check: ReversalCheck,
    status: Status,
    bound: ReversalLimit | None,
    left_out: Sequence[NotEvaluated],
    reversals: Sequence[Reversal] = (),
    backing: Backing = Backing.UNASKED,
) -> Finding:
    return Finding(
        check,
        status,
        None,
        bound,
        "",
        not_evaluated=tuple(left_out),
        reversals=tuple(reversals),
        backing=backing,
    )


def _reason(one: NotEvaluated) -> str:
    """The reason, with the stratum it holds in."""
    return f"{one.reason} in {describe_group(one.stratum)}" if one.stratum else one.reason


def _status_of_missing(
    check: Check, entries: Sequence[Entry], missing: Sequence[NotEvaluated]
) -> Status:
    if not any(one.blocks for one in missing):
        return Status.PASS
    match check.undefined:
        case OnUndefined.FAIL:
            return Status.INCONCLUSIVE
        case OnUndefined.WARN:
            return Status.WARN
        case _:
            return Status.PASS if entries else Status.SKIPPED


def _witnessed(
    finding: Finding, evaluation: Evaluation, entry: Entry, evidence: Evidence
) -> Finding:
    """The finding with the value that decides and those it is about."""
    z, w = entry.z, entry.w
    parts = find_parts(evaluation, z, w)
    first, second = (
        _group(evaluation, evaluation.first[z, w]),
        _group(evaluation, evaluation.second[z, w]),
    )
    return replace(
        finding,
        estimate=_estimate(evaluation, entry, evidence),
        stratum=evaluation.table.strata[z],
        first=first,
        second=second,
        worse_off=_worse_off(evaluation, entry, first, second),
        spread=evaluation.spread,
        decided_by=evaluation.decided_by(z, w),
        parts=parts,
        missing=_missing(finding.check, evaluation, entry),
        why=finding.why or _why_infinite(entry.value),
    )


def _missing(check: AnyCheck, evaluation: Evaluation, entry: Entry) -> MissingBounds | None:
    if not isinstance(check, Check):
        return None
    return judge_missing(evaluation, entry.z, entry.w, check.fail, check.warn)


def _why_infinite(value: float) -> str:
    return "infinite: a positive share against none at all" if math.isinf(value) else ""


def _in_practice(finding: Finding, evaluation: Evaluation) -> Finding:
    """The finding with its gap told in people, and a pass with what it may have missed."""
    asked, limit = evaluation.metric, finding.limit
    shares = isinstance(asked, Disparity) and len(asked.parts) == 1 and len(finding.parts) == 1
    crowd = finding.parts[0].second.crowd if shares and finding.parts[0].second else None
    shares = shares and crowd not in INCLUDING_GROUP
    reading = evaluation.group_values
    if not shares or reading is None or not reading.binomial or not isinstance(limit, Limit):
        return finding
    assert isinstance(asked, Disparity)
    thin = None
    if finding.status is Status.PASS and evaluation.table.clusters is None:
        thin = find_detectable_gap(evaluation, limit.below, limit.above)
    better = Better.HIGHER if asked.four_fifths else _better(evaluation)
    people = None
    if better is not Better.NEITHER:
        # Where neither way is better, nobody falls short; four fifths are of those spared already.
        assert finding.estimate is not None
        allowed = _allowed(asked, limit, finding.estimate)
        people = count_people_affected(finding.parts[0], allowed, burden=better is Better.LOWER)
        if people is not None and evaluation.table.clusters is not None:
            people = adjust_for_clusters(people, finding.estimate.significance)
    return replace(finding, practice=people, detectable=thin)


def _better(evaluation: Evaluation, part: int = 0) -> Better:
    """Which way of a part's rate is better for the people; of one class of several neither."""
    asked, table = evaluation.metric, evaluation.table
    assert isinstance(asked, Disparity)
    favourable = None if evaluation.terms.of_class is not None else table.favourable
    return asked.parts[part][0].better.given(favourable=favourable)


_GAPS = {"difference", "shortfall", "gap"}
_RATIOS = {"ratio", "min_ratio"}
"""The comparisons whose limit is one on how far two rates lie apart."""


def _allowed(asked: Disparity, limit: Limit, estimate: Estimate) -> AllowedGap | None:
    """What the bound that a value is beyond allows two rates; None where it is beyond none."""
    value, exact, how = estimate.value, estimate.exact, asked.comparison.id
    if how not in _GAPS | _RATIOS:
        return None
    sides = ((limit.below, -1), (limit.above, 1))
    for bound, side in sides:
        one = replace(limit, below=bound if side < 0 else None, above=bound if side > 0 else None)
        if bound is None or not one.crossed(value, exact):
            continue
        size = Fraction(bound)
        if how in _GAPS:
            return AllowedGap(size * side, is_ratio=False) if size * side >= 0 else None
        ratio = 1 / size if side > 0 and size else size
        return AllowedGap(ratio, is_ratio=True) if 0 <= ratio <= 1 else None
    return None


def _estimate(evaluation: Evaluation, entry: Entry, evidence: Evidence) -> Estimate:
    z, w = entry.z, entry.w
    ends = evidence.intervals.at(z, w)
    estimate = Estimate(
        entry.value,
        n=entry.n,
        exact=evaluation.exact(z, w),
        low=None if ends is None else ends[0],
        high=None if ends is None else ends[1],
        method=evidence.intervals.method if ends is not None else "",
        no_interval="" if ends is not None else evidence.intervals.why or TOO_LITTLE_VARIATION,
        significance=evidence.significance(z, w),
    )
    reading = evaluation.group_values
    if reading is None or not isinstance(evaluation.metric, GroupMetric):
        return estimate
    found = build_estimate(reading, z, w, evidence.inference.alpha)
    return replace(
        estimate,
        numerator=found.numerator,
        denominator=found.denominator,
        scale=found.scale,
        error=found.error,
        borrows=found.borrows,
    )


def _worse_off(evaluation: Evaluation, entry: Entry, first: Group, second: Group) -> Group:
    """Whom the direction of the deciding rate disadvantages; () where it says nothing.

    The rule is `PREFERENCES` in `metrics/definitions.py`.
    """
    asked = evaluation.metric
    if not isinstance(asked, Disparity):
        return ()
    at = 0 if evaluation.attained is None else int(evaluation.attained[entry.z, entry.w])
    if asked.fold.rank is None:
        return ()
    better = _better(evaluation, at)
    if better is Better.NEITHER:
        return ()
    more_is_better = better is Better.HIGHER
    if entry.value == asked.ideal or (evaluation.parts and evaluation.fraction is not None):
        return ()
    if evaluation.spread:
        return second if more_is_better else first
    less_than_parity = entry.value < asked.ideal
    spared = asked.four_fifths and not evaluation.table.favourable
    if spared or not asked.follows_the_order:
        less_than_parity = not less_than_parity
    return first if less_than_parity == more_is_better else second


def _crossings(evaluation: Evaluation, found: Weighed) -> tuple[Crossing, ...]:
    """All values beyond the limit; where they are very many, not as fractions."""
    exactly = len(found.crossed) <= _MOST_EXACT
    groups, strata, spread = evaluation.table.groups, evaluation.table.strata, evaluation.spread
    crossings = []
    for one, backing in zip(found.crossed, found.backings, strict=True):
        z, w = one.z, one.w
        group = () if spread else groups[w]
        between: tuple[Group, ...] = (group,)
        if spread:
            ends = (evaluation.first[z, w], evaluation.second[z, w])
            between = tuple(filter(None, (_group(evaluation, end) for end in ends)))
        exact = evaluation.exact(z, w) if exactly else None
        crossings.append(Crossing(group, strata[z], one.value, exact, between, backing))
    return tuple(crossings)


def _group(evaluation: Evaluation, index: int) -> Group:
    return evaluation.table.groups[int(index)] if index >= 0 else ()

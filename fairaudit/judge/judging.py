"""Judgement of one check: the limits applied to each value, the status, and the worse-off group."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from fractions import Fraction

import numpy as np

from fairaudit.base.frozen import Frozen, replace
from fairaudit.base.names import describe_group
from fairaudit.cube import Group
from fairaudit.evidence import Evidence, correct_families
from fairaudit.evidence.missing_bounds import MissingBounds, count_unknown_outcomes, judge_missing
from fairaudit.evidence.practice import (
    AllowedGap,
    adjust_for_clusters,
    count_people_affected,
    find_detectable_gap,
)
from fairaudit.evidence.records import estimate_group, find_parts, group_at
from fairaudit.judge.checks import AnyCheck, Check, EvidenceStatus, Limit, OnUndefined, Status
from fairaudit.judge.departures import list_departures
from fairaudit.judge.entries import (
    JudgedValue,
    collect_entries,
    find_cancelling_parts,
    find_contradicted_draws,
    find_hidden_by_few,
    find_hidden_by_smoothing,
    find_opposite_strata,
)
from fairaudit.judge.findings import MOST_EXACT, Breach, Finding, NotEvaluated
from fairaudit.judge.left_out import MOST_LEFT_OUT, LeftOutPeople, LeftOutReason
from fairaudit.metrics import Better, Disparity, Evaluation, GroupMetric
from fairaudit.metrics.estimate import Estimate
from fairaudit.metrics.evaluation_record import write_unsmoothed
from fairaudit.metrics.pair_intervals import Scale
from fairaudit.metrics.terms import INCLUDING_GROUP, Minimum


class LimitOutcome(Frozen):
    """The status that follows from the limits of a check, and the values that cause it.

    `limit` is the limit that decides the status; None if all values pass. `breaches` are all values
    beyond `limit`, with their evidence. `deciding` are the values that determine the status, and
    `backing` is their evidence. For `untested` values, the required evidence is unavailable.
    `unproven` is set if values are beyond a limit, but all lack the evidence that it requires.
    """

    status: Status = Status.PASS
    limit: Limit | None = None
    breaches: Sequence[tuple[JudgedValue, EvidenceStatus]] = ()
    deciding: Sequence[JudgedValue] = ()
    untested: Sequence[JudgedValue] = ()
    backing: EvidenceStatus = EvidenceStatus.UNASKED
    unproven: bool = False


def apply_limits(
    fail: Limit | None, warn: Limit | None, entries: Sequence[JudgedValue], evidence: Evidence
) -> LimitOutcome:
    """The result of the worst limit crossed with evidence, or else of the first limit in doubt."""
    found, unproven = LimitOutcome(), False
    for status, limit in ((Status.FAIL, fail), (Status.WARN, warn)):
        if limit is None:
            continue
        excess = limit.find_excess(np.array([entry.value for entry in entries])).tolist()
        beyond = [  # near the limit, values are compared as fractions
            entry
            for entry, far in zip(entries, excess, strict=True)
            if (far > 0 if entry.exact is None else limit.is_crossed(entry.value, entry.exact))
        ]
        tested = significant = np.ones(evidence.adjusted.shape, dtype=np.bool_)
        if limit.significant and beyond:
            tested = ~np.isnan(evidence.adjusted)
            significant = evidence.mark_significant_beyond(limit.mark_reached)
        proven = EvidenceStatus.SUPPORTED if limit.asks else EvidenceStatus.UNASKED
        breaches = []
        for entry in beyond:
            place, backing = (entry.z, entry.w), proven
            ends = evidence.intervals.all_at(*place) if limit.conclusive else []
            if not tested[place] or (limit.conclusive and not ends):
                backing = EvidenceStatus.UNTESTED
            elif not significant[place]:
                backing = EvidenceStatus.NOT_SIGNIFICANT
                if evidence.side_test_leaves_open(*place):
                    backing = EvidenceStatus.ONLY_TOGETHER
            elif not all(limit.excludes(*pair) for pair in ends):
                backing = EvidenceStatus.NOT_CONCLUSIVE
            breaches.append((entry, backing))
        supported = [entry for entry, backing in breaches if backing is proven]
        if supported:
            untested = [entry for entry, backing in breaches if backing is EvidenceStatus.UNTESTED]
            return LimitOutcome(status, limit, breaches, supported, untested, proven, unproven)
        unproven |= bool(breaches)
        outcome = _apply_in_doubt(status.in_doubt, limit, entries, breaches, evidence)
        if any(backing is EvidenceStatus.ONLY_TOGETHER for _, backing in breaches):
            return replace(outcome, unproven=unproven)
        if found.backing in {EvidenceStatus.UNASKED, EvidenceStatus.SUPPORTED}:
            found = outcome
    return replace(found, unproven=unproven)


def _apply_in_doubt(
    status: Status,
    limit: Limit,
    entries: Sequence[JudgedValue],
    beyond: Sequence[tuple[JudgedValue, EvidenceStatus]],
    evidence: Evidence,
) -> LimitOutcome:
    """The result of a limit if no value is beyond it with the required evidence."""
    if beyond:
        untested = [entry for entry, kind in beyond if kind is EvidenceStatus.UNTESTED]
        only = [entry for entry, kind in beyond if kind is EvidenceStatus.ONLY_TOGETHER]
        deciding = untested or only or [entry for entry, _ in beyond]
        decider = farthest(deciding, limit) or deciding[0]
        backing = next(kind for entry, kind in beyond if entry is decider)
        listed = beyond if status is Status.WARN else ()
        return LimitOutcome(status, limit, listed, deciding, [*untested, *only], backing)
    unbounded, unproven, significant = [], [], []
    for entry in entries if limit.asks else ():
        place = entry.z, entry.w
        if limit.significant and evidence.is_significant(*place):
            significant.append(entry)
        ends = evidence.intervals.all_at(*place) if limit.conclusive else []
        if limit.conclusive and not ends:
            unbounded.append(entry)
        elif not all(limit.includes(*pair) for pair in ends):
            unproven.append(entry)
    if unbounded:
        return LimitOutcome(status, limit, (), unbounded, unbounded, EvidenceStatus.UNTESTED)
    if unproven:
        return LimitOutcome(status, limit, (), unproven, (), EvidenceStatus.NOT_CONCLUSIVE)
    if significant:
        return LimitOutcome(status, limit, (), significant, (), EvidenceStatus.SIGNIFICANT_WITHIN)
    # A value within the limit passes without a test, but then no evidence supports the pass.
    tested = not any(np.isnan(evidence.adjusted[entry.z, entry.w]) for entry in entries)
    is_supported = limit.asks and entries and (tested or not limit.significant)
    return LimitOutcome(
        backing=EvidenceStatus.SUPPORTED if is_supported else EvidenceStatus.UNASKED
    )


BEYOND, UNAVAILABLE = "over the limit", "is unavailable"


def explain_untested(
    evaluation: Evaluation, entry: JudgedValue, limit: Limit | None, evidence: Evidence
) -> NotEvaluated:
    """The entry for a value that is not judged because the required evidence is unavailable."""
    group = () if evaluation.spread else evaluation.table.groups[entry.w]
    if evidence.side_test_leaves_open(entry.z, entry.w) and not math.isnan(
        evidence.adjusted[entry.z, entry.w]
    ):
        assert evidence.tests.side_test is not None
        reason = (
            f"{BEYOND}, and not significant, although groups are not "
            f"{evidence.tests.side_test.hypothesis} ({evidence.tests.side_test.name}): "
            "too few people decide the printed number"
        )
        return NotEvaluated(group, evaluation.table.strata[entry.z], reason, blocks=True)
    within = limit is not None and not limit.is_crossed(entry.value, entry.exact)
    # A missing test is the reason only for values beyond a limit that requires a test.
    is_tested = not within and (limit is None or limit.significant)
    why = (evidence.tests.why if is_tested else "") or evidence.intervals.explain(entry.z, entry.w)
    side = f"{BEYOND}, but the required evidence"
    if within:
        side = "within the limit, but the interval that a pass requires"
    reason = f"{side} {UNAVAILABLE}: {why.removeprefix('none: ')}"
    return NotEvaluated(group, evaluation.table.strata[entry.z], reason, blocks=True)


def farthest(entries: Sequence[JudgedValue], limit: Limit) -> JudgedValue | None:
    """The value farthest beyond the limit; of equal values, the one with most people."""
    if not entries:
        return None
    excess = limit.find_excess(np.array([entry.value for entry in entries]))
    most = [entries[index] for index in np.flatnonzero(excess == excess.max()).tolist()]
    return max(most, key=lambda entry: (entry.n, -entry.z, -entry.w))


_INFINITE = (
    "the value is infinite, because the formula divides by a rate of 0 or takes the logarithm of 0"
)


def judge(
    check: Check,
    evaluation: Evaluation,
    evidence: Evidence | None = None,
    left_out: Sequence[NotEvaluated] = (),
    doubts: Sequence[NotEvaluated] = (),
    failing: Collection[Status] = (Status.FAIL,),
) -> Finding:
    """The finding of a check. Without `evidence`, the tests of the check are a separate family.

    `left_out` are groups in the data but not in the evaluation. `doubts` say why the check cannot
    be evaluated. For any `undefined`, a check that does not fail is inconclusive if it has doubts
    and its status is not `failing`, or if required evidence for a value over a limit is missing.
    """
    limit = check.fail or check.warn
    assert limit is not None, f"{check.id} has no limit"
    evidence = evidence or correct_families({check.id: (evaluation, check.fails)})[check.id]
    entries, not_evaluated = collect_entries(check, evaluation)
    not_evaluated += left_out
    outcome = apply_limits(check.fail, check.warn, entries, evidence)
    status_of_gaps = _status_of_gaps(check, not_evaluated, has_values=bool(entries))
    not_evaluated += [
        explain_untested(evaluation, entry, outcome.limit, evidence) for entry in outcome.untested
    ]
    chosen = farthest(outcome.deciding or entries, outcome.limit or limit)
    if outcome.status is not Status.FAIL:
        doubts = [*doubts, *find_hidden_by_few(limit, evaluation)]
        doubts += find_hidden_by_smoothing(limit, evaluation, entries, evidence)
        doubts += find_contradicted_draws(limit, evaluation)
        doubts += find_cancelling_parts(limit, evaluation, entries)
        doubts += find_opposite_strata(limit, evaluation, evidence) if entries else ()
        if check.against is None:
            doubts += _find_on_other_side(limit, evaluation, entries, evidence)
    is_open = any(item.blocks for item in doubts) and outcome.status not in failing
    is_open |= bool(outcome.untested)
    status = worst_status(outcome.status, Status.INCONCLUSIVE if is_open else status_of_gaps)
    not_evaluated += doubts
    reasons = (
        f"{item.reason} in {describe_group(item.stratum)}" if item.stratum else item.reason
        for item in not_evaluated
        if item.blocks
    )
    finding = Finding(
        check=check,
        status=status,
        estimate=None,
        limit=outcome.limit or limit,
        why="; ".join(dict.fromkeys(reasons)),
        not_evaluated=tuple(not_evaluated),
        backing=outcome.backing,
        not_enough_evidence=status is not Status.FAIL and outcome.unproven,
    )
    if chosen is None:
        return finding
    finding = _add_values(finding, check, evaluation, chosen, outcome.breaches, evidence)
    metric = evaluation.metric
    is_maximum = isinstance(metric, Disparity) and metric.fold.rank and len(metric.parts) > 1
    if outcome.status is Status.FAIL and (evaluation.spread or is_maximum) and check.fail:
        finding = replace(finding, departures=list_departures(evaluation, check.fail))
    return _add_people_affected(finding, evaluation, evidence.family)


def _find_on_other_side(
    limit: Limit, evaluation: Evaluation, entries: Sequence[JudgedValue], evidence: Evidence
) -> list[NotEvaluated]:
    """The reason to leave a check open if a value is far off on the side that has no bound.

    For example, on a difference of selection rates, `above: 0.1` is crossed only by groups that are
    better off, and a group at -0.5 would pass. A value blocks the check if its group is worse off,
    or if neither direction is better. The caller skips changes from one outcome to another.
    """
    metric = evaluation.metric
    if len(limit.bounds) > 1 or isinstance(metric, GroupMetric) or not metric.is_two_sided:
        return []
    (bound,) = limit.bounds
    ratio = isinstance(metric, Disparity) and metric.comparison.is_ratio
    if ratio and bound <= 0:
        return []
    other = 1 / Fraction(bound) if ratio else 2 * Fraction(metric.ideal) - Fraction(bound)
    sides = (None, other) if limit.below is not None else (other, None)
    mirrored = replace(limit, below=sides[0], above=sides[1])
    outcome = apply_limits(mirrored, None, entries, evidence)
    for entry in outcome.deciding if outcome.status is Status.FAIL else ():
        worse_off = _find_worse_off(evaluation, entry)
        whole = not isinstance(metric, Disparity)
        group = () if whole else evaluation.table.groups[entry.w]
        if worse_off not in {(), group}:
            continue
        who = f"{describe_group(group)} is " if group else ""
        reason = f"{who}worse off, at" if worse_off else f"{who}at"
        reason += f" {entry.value:.3f}, on the side that the limit ({limit}) does not look at"
        reason += "" if worse_off else ", and neither direction is known to be harmless"
        reason += ": set `outside: [lowest, highest]`"
        return [NotEvaluated(group, evaluation.table.strata[entry.z], reason, blocks=True)]
    return []


def _status_of_gaps(
    check: Check, not_evaluated: Sequence[NotEvaluated], *, has_values: bool
) -> Status:
    if not any(item.blocks for item in not_evaluated):
        return Status.PASS
    match check.undefined:
        case OnUndefined.FAIL:
            return Status.INCONCLUSIVE
        case OnUndefined.WARN:
            return Status.WARN
        case _:
            return Status.PASS if has_values else Status.SKIPPED


def status_of_unevaluated(finding: Finding) -> Status:
    """The status that follows only from the values that could not be evaluated."""
    if not isinstance(finding.check, Check):
        is_open = any(item.blocks for item in finding.not_evaluated)
        return Status.INCONCLUSIVE if is_open else Status.PASS
    undecided = {EvidenceStatus.UNTESTED, EvidenceStatus.ONLY_TOGETHER}
    if any(breach.backing in undecided for breach in finding.crossed):
        return Status.INCONCLUSIVE
    return _status_of_gaps(finding.check, finding.not_evaluated, has_values=True)


def worst_status(*statuses: Status) -> Status:
    """The worst of several statuses, in the order of `Status`."""
    return max(statuses, key=list(Status).index)


def _find_pair(evaluation: Evaluation, entry: JudgedValue) -> tuple[Group, Group]:
    sides = (side[entry.z, entry.w] for side in (evaluation.first, evaluation.second))
    first, second = (group_at(evaluation.table, side) for side in sides)
    return first, second


def _add_values(
    finding: Finding,
    check: Check,
    evaluation: Evaluation,
    entry: JudgedValue,
    beyond: Sequence[tuple[JudgedValue, EvidenceStatus]],
    evidence: Evidence,
) -> Finding:
    """The finding with the deciding value, its groups, and all values beyond the limit."""
    z, w, table, spread = entry.z, entry.w, evaluation.table, evaluation.spread
    values = evaluation.group_values
    estimate = replace(
        evidence.intervals.estimate(entry.value, z, w),
        n=entry.n,
        exact=evaluation.exact(z, w),
        significance=evidence.significance_at(z, w),
        unsmoothed=write_unsmoothed(evaluation, z),
    )
    if values is not None and isinstance(evaluation.metric, GroupMetric):
        own = estimate_group(evaluation, values, z, w)
        estimate = replace(
            estimate,
            numerator=own.numerator,
            denominator=own.denominator,
            numerators=own.numerators,
            denominators=own.denominators,
            scale=own.scale,
            weighted=own.weighted,
            error=own.error,
            borrows=own.borrows,
        )
    crossed = []
    for one, backing in beyond:
        group = () if spread else table.groups[one.w]
        between = tuple(filter(None, _find_pair(evaluation, one))) if spread else (group,)
        exact = evaluation.exact(one.z, one.w) if len(beyond) <= MOST_EXACT else None
        breach = Breach(group, table.strata[one.z], one.value, exact, between, backing)
        crossed.append(breach)
    first, second = _find_pair(evaluation, entry)
    return replace(
        finding,
        estimate=estimate,
        stratum=table.strata[z],
        first=first,
        second=second,
        worse_off=_find_worse_off(evaluation, entry),
        crossed=tuple(crossed),
        spread=spread,
        decided_by=evaluation.decided_by(z, w),
        parts=find_parts(evaluation, z, w),
        why=finding.why or (_INFINITE if math.isinf(entry.value) else ""),
        missing=judge_missing(evaluation, z, w, check.fail, check.warn),
    )


def doubt_unknown_sizes(check: Check, evaluation: Evaluation) -> list[NotEvaluated]:
    """The groups that are too small only because half of their outcomes or more are unknown."""
    if check.terms.minimum == Minimum() or check.accept_left_out is not None:
        return []
    groups = dict[Group, None]()
    for leaf in evaluation.leaves:
        table, values, size = leaf.table, leaf.group_values, check.terms.minimum.size or 0
        unknown = count_unknown_outcomes(leaf).sum(axis=0)
        known = (table.n.sum(axis=0) - unknown) if values is None else values.n.sum(axis=0)
        may_join = table.known & table.eligible & ~leaf.takes_part.any(axis=0) & (unknown > 0)
        may_join = may_join & (unknown >= known) & (known + unknown >= size)
        groups |= dict.fromkeys(table.groups[g] for g in np.flatnonzero(may_join).tolist())
    reason = "too few people with a known outcome, and as many or more with an unknown one: "
    reason += "complete the outcomes, or leave these people out in the data"
    return [NotEvaluated(group, (), reason, blocks=True) for group in groups]


def doubt_left_out(
    check: AnyCheck, people: LeftOutPeople, missing: MissingBounds | None = None
) -> list[NotEvaluated]:
    """The reason why a check cannot be evaluated if it leaves out too many people or groups.

    Half of the people of a judged group, or more than half of all people, are too many, unless the
    spec accepts more. People of unknown outcome do not count if bounds prove the status.
    """
    proven = missing is not None and missing.low is not None and not missing.turns
    but, accepted = LeftOutReason.UNKNOWN_OUTCOME if proven else None, check.accept_left_out
    loser = people.find_loser(MOST_LEFT_OUT, but)
    if people.find_share(but) > (accepted or MOST_LEFT_OUT):
        who, how_many = "the people or groups", "more than half"
    elif loser is not None and loser.find_share(but) > (accepted or 0):
        who, how_many = f"the people of {describe_group(loser.group)}", "half or more"
    else:
        return []
    reason = f"{how_many} of {who} are left out: judge more of them, or accept that with "
    reason += "`accept_left_out`"
    if accepted is not None:
        reason = f"more of {who} are left out than `accept_left_out` accepts"
    return [NotEvaluated((), (), reason, blocks=True, tells_people=True)]


def _add_people_affected(finding: Finding, evaluation: Evaluation, family: int) -> Finding:
    """Adds the gap as a number of people; if the check passes, also the smallest detectable gap."""
    metric, limit = evaluation.metric, finding.limit
    if not compares_shares(finding, evaluation) or not isinstance(limit, Limit):
        return finding
    if evaluation.table.possible is not None:
        return finding  # the number of people is not known from masked counts
    assert isinstance(metric, Disparity)
    detectable = None
    if finding.status is Status.PASS and evaluation.table.clusters is None:
        detectable = find_detectable_gap(evaluation, limit.below, limit.above, family)
    better = Better.HIGHER if metric.four_fifths else _find_better(evaluation)
    people = None
    if better is not Better.NEITHER:
        # If neither direction of the rate is better, no people are disadvantaged.
        assert finding.estimate is not None
        allowed = _find_allowed_gap(metric, limit, finding.estimate)
        people = count_people_affected(finding.parts[0], allowed, burden=better is Better.LOWER)
        if people is not None and evaluation.table.clusters is not None:
            people = adjust_for_clusters(people, finding.estimate.significance)
    return replace(finding, practice=people, detectable=detectable)


def compares_shares(finding: Finding, evaluation: Evaluation) -> bool:
    """Whether the value compares the shares of two groups that have no people in common."""
    metric, values = evaluation.metric, evaluation.group_values
    is_one_pair = (
        isinstance(metric, Disparity) and len(metric.parts) == 1 and len(finding.parts) == 1
    ) and evaluation.by_group is None
    crowd = finding.parts[0].second.crowd if is_one_pair and finding.parts[0].second else None
    is_apart = is_one_pair and crowd not in INCLUDING_GROUP
    return is_apart and values is not None and bool(values.binomial)


def _find_better(evaluation: Evaluation, part: int = 0) -> Better:
    """The better direction of the rate of a part; `NEITHER` for a single class of several."""
    assert isinstance(evaluation.metric, Disparity)
    return evaluation.metric.parts[part][0].better.given(favourable=evaluation.favourable)


def _find_allowed_gap(metric: Disparity, limit: Limit, estimate: Estimate) -> AllowedGap | None:
    """The gap between two rates that the crossed bound allows; None if no such gap exists."""
    comparison = metric.comparison
    if comparison.scale not in {Scale.DIFFERENCE, Scale.RATIO} or not comparison.rational:
        return None
    for one_sided in (Limit(below=limit.below), Limit(above=limit.above)):
        if not one_sided.bounds or not one_sided.is_crossed(estimate.value, estimate.exact):
            continue
        apart = Fraction(comparison.unscale(Fraction(one_sided.bounds[0])))
        is_above = (one_sided.above is not None) == comparison.rescaling.is_increasing
        if comparison.scale is Scale.DIFFERENCE:
            gap = apart if is_above else -apart
            return AllowedGap(gap, is_ratio=False) if gap >= 0 else None
        ratio = 1 / apart if is_above and apart else apart
        return AllowedGap(ratio, is_ratio=True) if 0 <= ratio <= 1 else None
    return None


def _find_worse_off(evaluation: Evaluation, entry: JudgedValue) -> Group:
    """The group with the worse deciding rate, by `PREFERENCES` in `metrics`; () if unknown."""
    metric = evaluation.metric
    if not isinstance(metric, Disparity):
        return ()
    part = 0 if evaluation.attained is None else int(evaluation.attained[entry.z, entry.w])
    if metric.fold.rank is None:
        return ()
    better = _find_better(evaluation, part)
    if better is Better.NEITHER:
        return ()
    more_is_better, (first, second) = better is Better.HIGHER, _find_pair(evaluation, entry)
    if entry.value == metric.ideal or (evaluation.parts and evaluation.exact_at is not None):
        return ()
    if evaluation.spread:
        return second if more_is_better else first
    less_than_parity = entry.value < metric.ideal
    if metric.comparison.adverse:
        return second if less_than_parity == (metric.comparison.adverse > 0) else first
    spared = metric.four_fifths and not evaluation.table.favourable
    if spared or not metric.comparison.rises_with_rate:
        less_than_parity = not less_than_parity
    return first if less_than_parity == more_is_better else second

"""Judgement of checks on reversals and subgroups; reasons that leave a check open."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from fractions import Fraction
from math import comb
from typing import TypeVar

import numpy as np

from fairaudit.base.frozen import replace
from fairaudit.base.names import describe_group
from fairaudit.cube import Group, Ints
from fairaudit.evidence.missing_bounds import count_unknown_outcomes
from fairaudit.judge.checks import (
    NEAR,
    AnyCheck,
    Check,
    EvidenceStatus,
    Limit,
    ReversalCheck,
    ReversalLimit,
    Status,
    SubgroupCheck,
)
from fairaudit.judge.entries import exclude_group
from fairaudit.judge.findings import MOST_EXACT, Breach, Finding, NotEvaluated
from fairaudit.judge.left_out import MOST_LEFT_OUT
from fairaudit.judge.simpson import ReversalKind, ScanResult
from fairaudit.judge.subgroups import Discovery, TestedSubgroups
from fairaudit.metrics import Eligibility, Evaluation
from fairaudit.metrics.estimate import Estimate, Significance
from fairaudit.stats.proportions import GAP_INTERVAL

L = TypeVar("L", Limit, ReversalLimit)


def leave_open(
    finding: Finding, reasons: Sequence[NotEvaluated], unless: Collection[Status]
) -> Finding:
    """Adds reasons. A blocking reason makes the status inconclusive, unless it is in `unless`."""
    finding = replace(finding, not_evaluated=(*finding.not_evaluated, *reasons))
    blocking = dict.fromkeys(item.reason for item in reasons if item.blocks)
    if not blocking or finding.status in unless:
        return finding
    why = "; ".join(filter(None, (finding.why, *blocking)))
    return replace(finding, status=Status.INCONCLUSIVE, why=why)


def judge_subgroups(
    check: SubgroupCheck, discovery: Discovery, waived: Collection[Group]
) -> Finding | None:
    """The finding of a check on subgroups; None if all tested subgroups are waived.

    A subgroup crosses a limit if it diverges by more than the limit. If a limit requires
    significance and no significant subgroup crosses it, a failure becomes a warning, and a warning
    becomes a pass. `list_unsearched` returns the reasons that block the check.
    """
    tested, family = discovery.of(check.rate), discovery.reported.looked_at
    if not len(tested.p):
        return Finding(check, Status.PASS, None, check.fail or check.warn, "")

    def apply_limit(limit: Limit, status: Status) -> Finding | None:
        assert limit.above is not None
        size, bound = np.abs(tested.divergence), float(limit.above)
        is_beyond = size > bound
        # Close to the bound, only fractions are precise enough.
        for number in np.flatnonzero(np.abs(size - bound) <= NEAR).tolist():
            fraction = abs(tested.exact_divergence(number))
            is_beyond[number] = limit.is_crossed(float(size[number]), fraction)
        beyond = _exclude_waived(tested, np.flatnonzero(is_beyond), waived)
        if not len(beyond):
            return None
        is_proven = (tested.adjusted < tested.inference.alpha) | (not limit.significant)
        proven = beyond[is_proven[beyond]]
        order = beyond[np.lexsort((beyond, -size[beyond]))].tolist()  # the farthest first
        breaches = []
        for number in order:
            group = tested.entries.group(number)
            exact = abs(tested.exact_divergence(number)) if len(order) <= MOST_EXACT else None
            _, own = _weaken(status, limit, is_proven=is_proven[number])
            is_lower = bool(tested.divergence[number] < 0)
            far = float(size[number])
            breaches.append(Breach(group, (), far, exact, (group,), own, is_lower))
        status, backing = _weaken(status, limit, is_proven=len(proven) > 0)
        crossed = () if status is Status.PASS else tuple(breaches)
        finding = Finding(check, status, None, limit, "", crossed=crossed, backing=backing)
        deciding = _find_farthest(tested, proven if len(proven) else beyond)
        return _add_deciding_subgroup(finding, tested, deciding, family)

    finding = _apply_limits(check.fail, check.warn, apply_limit)
    remaining = _exclude_waived(tested, np.arange(len(tested.p)), waived)
    if finding is not None or not len(remaining):
        return finding
    limit = check.fail or check.warn
    assert limit is not None
    backing = EvidenceStatus.SUPPORTED if limit.significant else EvidenceStatus.UNASKED
    passed = Finding(check, Status.PASS, None, limit, "", backing=backing)
    return _add_deciding_subgroup(passed, tested, _find_farthest(tested, remaining), family)


def list_unsearched(check: SubgroupCheck, discovery: Discovery) -> Iterator[NotEvaluated]:
    """The reasons why a search does not cover some subgroups; some reasons block the check."""
    entries, search = discovery.of(check.rate).entries, discovery.reported
    least, total = f"min_size = {search.min_size:,}", entries.everybody.under
    if not len(entries.keys):
        why = f"no subgroup but everybody has {least} in the denominator"
        yield NotEvaluated((), (), why, blocks=True)
        return
    sizes = range(1, min(search.depth, len(search.over)) + 1)
    if entries.too_small:
        # Combinations of columns that contain no large group are not counted.
        is_all = len(entries.slices) == sum(comb(len(search.over), size) for size in sizes)
        why = f"{'' if is_all else 'at least '}{entries.too_small:,} of "
        why += f"{entries.too_small + len(entries.keys):,} possible subgroups are too small to be "
        why += f"searched ({least})"
        if entries.unsearched:
            why += f", and {entries.unsearched:,} of {total:,} people are in none that is"
        yield NotEvaluated((), (), why, blocks=False, standing=Eligibility.SMALL)
    for size in sizes:
        if not entries.count_searched(size):
            why = f"no subgroup by {size} of the columns has {least} in the denominator"
            yield NotEvaluated((), (), why, blocks=True)
    if Fraction(entries.unsearched, total) > (check.accept_left_out or MOST_LEFT_OUT):
        why = "most people are in no subgroup that is searched: lower `min_size`, or accept that "
        yield NotEvaluated((), (), f"{why}with `accept_left_out`", blocks=True)


def list_without_outcome(evaluation: Evaluation, least: int | None) -> Iterator[NotEvaluated]:
    """The groups without a known outcome, if at least `least` people have an unknown outcome."""
    table, values = evaluation.table, evaluation.group_values
    assert values is not None
    unknown = count_unknown_outcomes(evaluation).sum(axis=0)
    is_lost = table.known & table.eligible & (values.n.sum(axis=0) == 0) & (unknown > 0)
    for g in np.flatnonzero(is_lost & (unknown >= (least or 0))).tolist():
        why = f"in the data and not judged: {describe_group(table.groups[g])} (no outcome is known)"
        yield NotEvaluated(table.groups[g], (), why, blocks=True)


def _weaken(
    status: Status, limit: Limit | ReversalLimit, *, is_proven: bool
) -> tuple[Status, EvidenceStatus]:
    """The status and evidence if a limit is crossed; the status is weaker unless `is_proven`."""
    if is_proven:
        return status, EvidenceStatus.SUPPORTED if limit.significant else EvidenceStatus.UNASKED
    return status.in_doubt, EvidenceStatus.NOT_SIGNIFICANT


def _apply_limits(
    fail: L | None, warn: L | None, apply_limit: Callable[[L, Status], Finding | None]
) -> Finding | None:
    """The finding of the worst limit that is crossed; None if no limit is crossed."""
    doubtful: Finding | None = None
    for status, limit in ((Status.FAIL, fail), (Status.WARN, warn)):
        finding = None if limit is None else apply_limit(limit, status)
        if finding is None:
            continue
        if finding.backing is not EvidenceStatus.NOT_SIGNIFICANT:
            return replace(finding, not_enough_evidence=doubtful is not None)
        doubtful = doubtful or replace(finding, not_enough_evidence=True)
    return doubtful


def _exclude_waived(tested: TestedSubgroups, numbers: Ints, waived: Collection[Group]) -> Ints:
    if not waived:
        return numbers
    waived_groups = {frozenset(group) for group in waived}
    stays = [
        frozenset(tested.entries.group(number)) not in waived_groups for number in numbers.tolist()
    ]
    return numbers[np.array(stays, dtype=np.bool_)]


def _find_farthest(tested: TestedSubgroups, numbers: Ints) -> int:
    """The subgroup that diverges most; of equal ones, the largest subgroup, then the first."""
    size = np.abs(tested.divergence[numbers])
    order = np.lexsort((numbers, -tested.entries.under[numbers], -size))
    return int(numbers[order[0]])


def _add_deciding_subgroup(
    finding: Finding, tested: TestedSubgroups, number: int, family: int
) -> Finding:
    """The finding with the deciding subgroup; the value is the absolute value of its divergence."""
    chosen = tested.describe(number)
    low, high = chosen.ends
    correction = tested.inference.correction.words
    estimate = Estimate(
        abs(chosen.divergence),
        n=chosen.under,
        exact=abs(chosen.exact),
        numerator=chosen.over,
        denominator=chosen.under,
        low=low,
        high=high,
        method=f"{GAP_INTERVAL}, mapped",
        significance=Significance(chosen.test, chosen.p, chosen.adjusted, family, correction),
    )
    return replace(finding, estimate=estimate, first=chosen.group, subgroup=chosen)


def judge_reversals(
    check: ReversalCheck, scanned: ScanResult, failing: Collection[Status]
) -> Finding:
    """The finding of a check on reversals. Reversals of its kind or a stronger kind cross a limit.

    If a limit requires significance and only reversals that are not significant cross it, the
    status is a warning instead of a failure, or a pass instead of a warning. The check is blocked
    if no pair of groups was compared for some columns, or if other parts of the scope were skipped.
    """
    reversals = [
        reversal
        for reversal in scanned.found
        if reversal.rate == check.rate and reversal.of == check.of
    ]
    left_out = [
        exclude_group(group, (), reason)
        if group
        else NotEvaluated((), (), reason.why, blocks=False)
        for group, reason in scanned.left_out
    ]
    left_out += [NotEvaluated((), (), why, blocks=True) for why in scanned.too_many]
    limit, scope = check.fail or check.warn, check.scope
    if scanned.untested and limit and limit.kind.strength <= ReversalKind.OPPOSITE.strength:
        why = f"{scanned.untested:,} pairs whose gaps in strata may be opposite are not tested"
        left_out.append(NotEvaluated((), (), why, blocks=True))
    apart = [
        f"no two groups could be compared in two strata or more: {by} given {' and '.join(given)}"
        for (rate, by, given), one in scanned.compared.items()
        if rate == check.rate and not one.pairs and one.strata != 1
    ]
    if not any(one.pairs for (rate, *_), one in scanned.compared.items() if rate == check.rate):
        apart = ["no two groups could be compared in two strata or more"]
    left_out += [NotEvaluated((), (), why, blocks=True) for why in apart]

    def apply_limit(limit: ReversalLimit, status: Status) -> Finding | None:
        reaching = [
            reversal for reversal in reversals if reversal.kind.strength >= limit.kind.strength
        ]
        if not reaching:
            return None
        alpha, proven = check.inference.alpha, reaching
        if limit.significant:
            proven = [reversal for reversal in reaching if reversal.is_significant(alpha)]
        status, backing = _weaken(status, limit, is_proven=bool(proven))
        return Finding(
            check, status, None, limit, "", reversals=tuple(proven or reaching), backing=backing
        )

    finding = _apply_limits(check.fail, check.warn, apply_limit)
    finding = finding or Finding(check, Status.PASS, None, limit, "")
    finding = leave_open(finding, left_out, failing)
    compared = None if scope is None else scanned.narrow(scope, check.rate)
    return replace(finding, compared=None if compared == scope else compared)


__all__ = [
    "AnyCheck",
    "Breach",
    "Check",
    "EvidenceStatus",
    "Finding",
    "Limit",
    "NotEvaluated",
    "ReversalCheck",
    "Status",
    "SubgroupCheck",
    "leave_open",
]

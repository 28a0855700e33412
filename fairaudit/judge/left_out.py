"""People left out of a check: numbers of people and groups by reason (`LeftOutPeople`)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from fairaudit.base.arrays import Floats, are_small, raise_small
from fairaudit.base.disclosure_marks import declare_subjects
from fairaudit.base.frozen import Frozen, replace
from fairaudit.cube import Group, GroupTable, Ints, Marks
from fairaudit.evidence.metric_bounds import count_by_knowledge
from fairaudit.evidence.missing_bounds import count_unknown_outcomes, mark_in_question
from fairaudit.metrics import Evaluation
from fairaudit.metrics.confusion_counts import one_against_rest
from fairaudit.metrics.situation import find_unmatched

NOTABLE = Fraction(1, 10)
"""If a larger share than this is left out, the headline of the check says so."""
NOTABLE_OF_GROUP = Fraction(1, 4)
"""If a judged group loses this share or more, the headline of the check names the group."""
_ROUNDING = 10**9
"""Largest denominator of a share of the weight as a fraction."""
MOST_LEFT_OUT = Fraction(1, 2)
"""A check may leave out up to this share of all people, and less than this share of each group."""


class LeftOutReason(StrEnum):
    """Why people are left out of a check."""

    UNKNOWN_GROUP = "unknown_group"
    EXCLUDED = "excluded"
    UNKNOWN_STRATUM = "unknown_stratum"
    STRATUM = "stratum"
    TOO_SMALL = "too_small"
    NOT_REACHED = "not_reached"
    WEIGHTLESS = "weightless"
    UNMATCHED = "unmatched"
    UNKNOWN_OUTCOME = "unknown_outcome"
    DROPPED = "dropped"
    UNDECIDED = "undecided"
    HIDDEN = "hidden"


MISSING = frozenset({
    LeftOutReason.UNKNOWN_GROUP,
    LeftOutReason.UNKNOWN_STRATUM,
    LeftOutReason.UNKNOWN_OUTCOME,
    LeftOutReason.DROPPED,
})  # fmt: skip
"""The reasons that mean that a value is missing."""


@declare_subjects(never="reason people groups weight")
class LeftOutPart(Frozen):
    """The people left out for a reason, and their `groups`, largest number of people first.

    `weight` is the share of these people in the weight of all people of the check; in a
    `LeftOutGroup`, in the weight of the group. None without weights.
    """

    reason: LeftOutReason
    people: int
    groups: tuple[Group, ...] = ()
    weight: float | None = None


@declare_subjects(never="group of_people reasons")
class LeftOutGroup(Frozen):
    """A judged group that loses people; `of_people` is the number of all people of the group."""

    group: Group
    of_people: int
    reasons: tuple[LeftOutPart, ...]

    @property
    def people(self) -> int:
        """The number of people of the group who are left out."""
        return sum(part.people for part in self.reasons)

    def find_share(self, but: LeftOutReason | None = None) -> Fraction:
        """The share left out for reasons except `but`: of people or weight (the larger share)."""
        return _find_share(self.reasons, self.of_people, but)

    @property
    def weight(self) -> float | None:
        """The share of the weight of the group that is left out; None without weights."""
        return _add_weights(self.reasons)


@declare_subjects(
    never="people of_people groups of_groups reasons by_group",
    hidden={"reasons": (), "by_group": ()},
)
class LeftOutPeople(Frozen):
    """The people and groups that a check does not judge.

    `of_people` is the number of all people of the check. For example, for a rate among people with
    a positive label, these are the people with a positive or unknown label. `of_groups` is the
    number of all groups, and `groups` is the number of groups without judged people. Each person
    counts for the first of the `reasons` that applies. `by_group` has one or two judged groups: the
    group that loses the largest share of its people, and the group that loses the largest share if
    people of unknown outcome do not count as lost. A published report hides the numbers, and only
    says whether the headline mentions people left out.
    """

    people: int | None
    of_people: int | None
    groups: int | None
    of_groups: int | None
    reasons: tuple[LeftOutPart, ...] = ()
    by_group: tuple[LeftOutGroup, ...] = ()

    def find_share(self, but: LeftOutReason | None = None) -> Fraction:
        """The largest of three shares that are left out: of people, of weight and of groups.

        People left out for the reason `but` do not count; the share of groups includes them.
        """
        if self.of_people is None or self.of_groups is None or self.groups is None:
            return Fraction(1)
        groups = Fraction(self.groups, max(self.of_groups, 1))
        return max(_find_share(self.reasons, self.of_people, but), groups)

    def find_loser(self, share: Fraction, but: LeftOutReason | None = None) -> LeftOutGroup | None:
        """The judged group that loses the largest share; None if it loses less than `share`."""
        losers = [group for group in self.by_group if group.find_share(but) >= share]
        return max(losers, key=lambda group: group.find_share(but), default=None)

    @property
    def weight(self) -> float | None:
        """The share of the weight that is left out; None without weights."""
        return _add_weights(self.reasons)

    @property
    def largest_share(self) -> Fraction:
        """The largest share that is left out, of all people or of the people of one group."""
        return max([self.find_share(), *(group.find_share() for group in self.by_group)])

    @property
    def is_notable(self) -> bool:
        """Whether the headline of the check mentions the people left out."""
        return self.find_share() > NOTABLE or self.find_loser(NOTABLE_OF_GROUP) is not None


def _find_share(
    reasons: Iterable[LeftOutPart], of_people: int, but: LeftOutReason | None
) -> Fraction:
    parts = [part for part in reasons if part.reason is not but]
    return max(
        Fraction(sum(part.people for part in parts), max(of_people, 1)),
        Fraction(sum(part.weight or 0 for part in parts)).limit_denominator(_ROUNDING),
    )


def _add_weights(reasons: Iterable[LeftOutPart]) -> float | None:
    weights = [part.weight for part in reasons if part.weight is not None]
    return sum(weights) if weights else None


class Outsiders(NamedTuple):
    """People whom one rule removes from the audit: a table as one group, and a table by group."""

    reason: LeftOutReason
    everybody: GroupTable
    by_group: GroupTable


class _Losses:
    """For each reason, an array [2]: the people left out and their weight, in `total` and by group.

    Any number of people between 1 and `threshold` - 1 counts as `threshold` - 1.
    """

    def __init__(self, threshold: int) -> None:
        self.threshold = threshold
        self.total = {reason: np.zeros(2) for reason in LeftOutReason}
        self.of_groups: dict[LeftOutReason, dict[Group, Floats]] = {
            reason: {} for reason in LeftOutReason
        }

    def name(self, reason: LeftOutReason, groups: Sequence[Group], both: Ints) -> Floats:
        """Adds people and weights `both` [2, G] to groups; returns the sum [2] over groups."""
        raised, of_group = _raise(both, self.threshold), self.of_groups[reason]
        for g in np.flatnonzero(raised[0]).tolist():
            of_group[groups[g]] = of_group.get(groups[g], 0) + raised[:, g]
        return np.asarray(raised.sum(axis=1))

    def find_worst_groups(
        self, remaining: Mapping[Group, Ints], *, is_weighted: bool
    ) -> tuple[LeftOutGroup, ...]:
        """The groups that lose the largest share, with and without people of unknown outcome.

        `remaining` are the judged people and the weight [2] of each group. Fewer judged people than
        `threshold` count as one person. So lost people are rounded up and judged people are rounded
        down, and a status does not reveal a small count.
        """
        if not remaining:
            return ()
        judged, lost = np.array([*remaining.values()]), self.of_groups
        is_small = are_small(judged[:, 0], self.threshold)
        kept = judged / np.where(is_small, judged[:, 0], 1)[:, None]
        gone = np.array([[of.get(group, (0, 0)) for group in remaining] for of in lost.values()])
        worst = dict[int, LeftOutGroup]()
        for but in (None, LeftOutReason.UNKNOWN_OUTCOME):
            counts = gone[[reason is not but for reason in lost]].sum(axis=0)
            whole = kept + gone.sum(axis=0)
            g = int((counts / np.where(whole > 0, whole, 1)).max(axis=1).argmax())
            parts = [
                _make_part(reason, both[g], whole[g, 1] if is_weighted else None, {})
                for reason, both in zip(lost, gone, strict=True)
                if both[g, 0]
            ]
            if parts:
                worst[g] = LeftOutGroup([*remaining][g], int(whole[g, 0]), tuple(parts))
        return tuple(worst.values())


def count_left_out(
    evaluation: Evaluation,
    passed_over: Marks,
    counted: tuple[GroupTable, GroupTable],
    outsiders: Iterable[Outsiders],
    hidden: int,
    threshold: int,
    *,
    excludes: bool,
    waived: Collection[Group],
) -> LeftOutPeople:
    """The people left out of an evaluation.

    `passed_over` marks the strata [Z, 1], or the groups in strata [Z, G], without judged values.
    `counted` are two tables of all people of the audit: as one group, and by group. People who are
    in `counted` but not in the table of `evaluation` have a missing value in one of its columns.
    `hidden` is the number of people who are not in any table. `waived` groups may lose any number
    of people.

    For each group and reason, and for each rule that drops rows, a number of lost people below
    `threshold` is raised to `threshold` - 1, so that a status never reveals a small count. For the
    same purpose, a group with fewer than `threshold` people is left out if its size decides whether
    it takes part. `excludes` is set if the spec has `exclude_below`.
    """
    table = evaluation.strata or evaluation.table

    def count(other: GroupTable) -> Ints:
        return _count_about(evaluation, other, other.people, other.mass)

    whole = left = count(table)
    about = whole[0].sum(axis=0)
    losses = _Losses(threshold)
    lost, of_groups = losses.total, losses.of_groups
    removed = _list_parts(evaluation, left, passed_over, threshold, excludes=excludes)
    for reason, part in removed:
        out = np.minimum(part, left)
        lost[reason] += losses.name(reason, table.groups, out.sum(axis=1))
        left = left - out
    judged = {frozenset(table.groups[g]) for g in np.flatnonzero(left[0].sum(axis=0)).tolist()}
    compared = judged.difference(map(frozenset, waived))
    # A group may have no people to whom the outcome applies, such as a step of a process.
    not_reached = table.eligible & (table.n.sum(axis=0) == 0) & ~evaluation.takes_part.any(axis=0)
    of_groups[LeftOutReason.NOT_REACHED] = {
        table.groups[g]: np.zeros(2) for g in np.flatnonzero(not_reached & (about == 0)).tolist()
    }
    known_groups = {
        frozenset(table.groups[g]) for g in np.flatnonzero(table.known & (about > 0)).tolist()
    }.union(map(frozenset, of_groups[LeftOutReason.NOT_REACHED]))
    inside = whole.sum(axis=(1, 2)).astype(np.float64)
    if table.ungrouped is not None:
        ungrouped = table.ungrouped.people, table.ungrouped.mass
        both = _count_about(evaluation, table, *ungrouped)
        inside += both.sum(axis=(1, 2))
        reason, groups = LeftOutReason.UNKNOWN_GROUP, table.ungrouped.groups
        lost[reason] += losses.name(reason, groups, both.sum(axis=1))
    everybody, by_group = counted
    reason = LeftOutReason.UNKNOWN_STRATUM if table.given else LeftOutReason.UNKNOWN_GROUP
    absent = np.maximum(count(everybody).sum(axis=(1, 2)) - inside, 0)
    lost[reason] += _raise(absent[:, None], threshold)[:, 0]
    inside += absent
    if absent[0]:
        of_group = dict(zip(table.groups, whole.sum(axis=1).T, strict=True))
        present = np.array([of_group.get(group, [0, 0]) for group in by_group.groups]).T
        gone = np.maximum(count(by_group).sum(axis=1) - present, 0) * by_group.known
        losses.name(reason, by_group.groups, gone)
    for reason, everybody, by_group in outsiders:
        raised = _raise(count(everybody).sum(axis=1), threshold).sum(axis=1)
        lost[reason] += raised
        inside += raised
        losses.name(reason, by_group.groups, count(by_group).sum(axis=1) * by_group.known)
        known_groups |= {*map(frozenset, of_groups[reason])}
    lost[LeftOutReason.HIDDEN] += hidden * np.array([1, table.scale])
    of_people, of_weight = (inside + lost[LeftOutReason.HIDDEN]).tolist()
    is_weighted = table.squares is not None
    parts = [
        _make_part(reason, both, of_weight if is_weighted else None, of_groups[reason])
        for reason, both in lost.items()
        if both[0] or of_groups[reason]
    ]
    remaining = {
        group: left[:, :, g].sum(axis=1)
        for g, group in enumerate(table.groups)
        if group and frozenset(group) in compared
    }
    return LeftOutPeople(
        sum(part.people for part in parts),
        int(of_people),
        len(known_groups - judged),
        len(known_groups),
        tuple(parts),
        losses.find_worst_groups(remaining, is_weighted=is_weighted),
    )


def _make_part(
    reason: LeftOutReason, both: Floats, of_weight: float | None, of_groups: Mapping[Group, Floats]
) -> LeftOutPart:
    """The people left out for a reason. Their `groups` are empty if the groups are unknown."""
    is_named = reason is not LeftOutReason.UNKNOWN_GROUP
    groups = sorted(filter(None, of_groups if is_named else ()), key=lambda g: -of_groups[g][0])
    weight = None if of_weight is None else float(both[1] / (of_weight or 1))
    return LeftOutPart(reason, int(both[0]), tuple(groups), weight)


def _count_about(evaluation: Evaluation, table: GroupTable, *numbers: Ints) -> Ints:
    """The people in the denominator of the metric, and their weight, as an array [2, Z, G].

    For a metric at a threshold of the score, the denominator has all people of the table.
    """
    terms = evaluation.terms
    if terms.at is not None:
        return np.stack([one.sum(axis=(1, 2)) for one in numbers])
    if terms.of_class is not None:
        table = one_against_rest(table)[terms.of_class]
    in_question = mark_in_question(evaluation)
    knowledge = [count_by_knowledge(table, one)[:, in_question] for one in numbers]
    return np.stack([one.sum(axis=1).astype(np.int64) for one in knowledge])


def _list_parts(
    evaluation: Evaluation, left: Ints, passed_over: Marks, threshold: int, *, excludes: bool
) -> tuple[tuple[LeftOutReason, Ints], ...]:
    """The people and the weight [2, Z, G] that each reason leaves out, in the order of reasons."""
    table = evaluation.strata or evaluation.table
    tables = {name: getattr(evaluation, name) for name in ("table", "strata")}
    weighed = replace(
        evaluation, **{name: one and replace(one, people=one.mass) for name, one in tables.items()}
    )
    unknown = np.stack([count_unknown_outcomes(one) for one in (evaluation, weighed)])
    known = left[0] - np.minimum(unknown[0], left[0])
    minimum, too_small = evaluation.terms.minimum, ~evaluation.takes_part
    if excludes or minimum.events is not None or (minimum.size or threshold) < threshold:
        # A status could reveal the size of a group, because the size decides if it takes part.
        too_small = too_small | (known < threshold)
    people = np.zeros_like(table.people) if table.weightless is None else table.weightless
    weightless = _count_about(evaluation, table, people, np.zeros_like(people))
    if table.weightless is not None:  # people of unknown outcome count for that reason
        idle = {name: one and replace(one, people=one.weightless) for name, one in tables.items()}
        weightless[0] -= count_unknown_outcomes(replace(evaluation, **idle))
    share = find_unmatched(evaluation)
    unmatched = np.rint(left * (0 if share is None else share)).astype(np.int64)
    return (
        (LeftOutReason.UNKNOWN_GROUP, left * ~table.known),
        (LeftOutReason.EXCLUDED, left * ~table.eligible),
        (LeftOutReason.UNKNOWN_STRATUM, left * ~table.known_strata[:, None]),
        (LeftOutReason.STRATUM, left * passed_over),
        (LeftOutReason.TOO_SMALL, left * too_small),
        (LeftOutReason.UNKNOWN_OUTCOME, unknown),
        (LeftOutReason.WEIGHTLESS, weightless),
        (LeftOutReason.UNMATCHED, unmatched),
    )


def _raise(both: Ints, threshold: int) -> Floats:
    """People and weight [2, G]; a number of people below `threshold` is raised to `threshold` - 1.

    The weight is raised by the same factor, because it could reveal the number of people.
    """
    raised = raise_small(both[0], threshold)
    return np.stack([raised, both[1] * (raised / np.maximum(both[0], 1))])

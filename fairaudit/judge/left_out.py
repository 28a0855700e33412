"""Who is left out of a check (`LeftOutPeople`): how many people and groups of how many, and why."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from fairaudit.base.arrays import Floats
from fairaudit.base.disclosure_marks import declare_subjects
from fairaudit.base.frozen import Frozen, replace
from fairaudit.base.small_counts import raise_small
from fairaudit.cube import Group, GroupTable, Ints, Marks
from fairaudit.evidence.metric_bounds import count_by_knowledge
from fairaudit.evidence.missing_bounds import count_unknown_outcomes, mark_in_question
from fairaudit.metrics import Evaluation
from fairaudit.metrics.retabulate import one_against_rest

NOTABLE = Fraction(1, 10)
"""Where a larger share is left out, the headline of the check says so."""
_ROUNDING = 10**9
MOST_LEFT_OUT = Fraction(1, 2)
"""Where a larger share is left out, what is left is no answer for all."""


class LeftOutReason(StrEnum):
    """Why people are left out of a check."""

    UNKNOWN_GROUP = "unknown_group"
    EXCLUDED = "excluded"
    STRATUM = "stratum"
    TOO_SMALL = "too_small"
    UNKNOWN_OUTCOME = "unknown_outcome"
    DROPPED = "dropped"
    UNDECIDED = "undecided"
    HIDDEN = "hidden"


@declare_subjects(never="reason people groups weight")
class LeftOutPart(Frozen):
    """The people left out for one reason; `groups` are theirs, those with the most people first.

    `weight` is the share of the weight of all whom the check is about that is theirs; None without
    weights.
    """

    reason: LeftOutReason
    people: int
    groups: tuple[Group, ...] = ()
    weight: float | None = None


@declare_subjects(never="people of_people groups of_groups reasons", hidden={"reasons": ()})
class LeftOutPeople(Frozen):
    """The people and groups that a check is about and does not judge.

    `of_people` are all whom it is about: of a rate among people with a positive label, those whose
    label is positive or not known. `groups` are those of `of_groups` of which nobody is judged.
    Each person counts for one of the `reasons`, the first that holds. A published report has none
    of the numbers, and only says that so many may be left out that the headline says so.
    """

    people: int | None
    of_people: int | None
    groups: int | None
    of_groups: int | None
    reasons: tuple[LeftOutPart, ...] = ()

    def find_share(self, but: LeftOutReason | None = None) -> Fraction:
        """The largest of the shares of people, weight and groups; without those of a reason."""
        if self.of_people is None or self.of_groups is None or self.groups is None:
            return Fraction(1)
        parts = [part for part in self.reasons if part.reason is not but]
        return max(
            Fraction(sum(part.people for part in parts), max(self.of_people, 1)),
            Fraction(sum(part.weight or 0 for part in parts)).limit_denominator(_ROUNDING),
            Fraction(self.groups, max(self.of_groups, 1)),
        )

    @property
    def weight(self) -> float | None:
        """The share of the weight that is left out; None without weights."""
        weights = [part.weight for part in self.reasons if part.weight is not None]
        return sum(weights) if weights else None

    @property
    def is_notable(self) -> bool:
        """Whether so many are left out that the headline says so."""
        return self.find_share() > NOTABLE


class Outsiders(NamedTuple):
    """People who leave the audit by one rule: as one group, and by the groups of a check."""

    reason: LeftOutReason
    everybody: GroupTable
    by_group: GroupTable


def count_left_out(
    evaluation: Evaluation,
    passed_over: Marks,
    counted: GroupTable | None = None,
    outsiders: Iterable[Outsiders] = (),
    hidden: int = 0,
    threshold: int = 0,
    *,
    excludes: bool = False,
) -> LeftOutPeople:
    """Who is left out of an evaluation.

    `passed_over` [Z, 1] are the strata in which nothing is judged, or [Z, G] of which groups.
    `counted` are all people of the audit as one group: who is not in the table lacks one of its
    columns. `hidden` people are in no table at all. Fewer than `threshold` people are `threshold` -
    1, of a group for one reason as of a rule that drops rows: a status shows no small count. For
    the same reason so small a group is left out where its size decides whether it takes part; a
    spec that `excludes` groups is one.
    """
    table = evaluation.strata or evaluation.table

    def count(other: GroupTable) -> Ints:
        return _count_about(evaluation, other, other.people, other.mass)

    left = count(table)
    about = left[0].sum(axis=0)
    lost = {reason: np.zeros(2) for reason in LeftOutReason}
    of_groups: dict[LeftOutReason, dict[Group, int]] = {reason: {} for reason in LeftOutReason}

    def add(reason: LeftOutReason, groups: Iterable[Group], both: Ints) -> None:
        raised = _raise(both, threshold)
        lost[reason] += raised.sum(axis=1)
        for group, n in zip(groups, raised[0].astype(np.int64).tolist(), strict=True):
            if n:
                of_groups[reason][group] = of_groups[reason].get(group, 0) + n

    tables = {name: getattr(evaluation, name) for name in ("table", "strata")}
    weighed = replace(
        evaluation, **{name: one and replace(one, people=one.mass) for name, one in tables.items()}
    )
    unknown = np.stack([count_unknown_outcomes(one) for one in (evaluation, weighed)])
    known = left[0] - np.minimum(unknown[0], left[0])
    too_small = _mark_too_small(evaluation, known, threshold, excludes=excludes)
    for reason, marks in (
        (LeftOutReason.UNKNOWN_GROUP, ~table.known),
        (LeftOutReason.EXCLUDED, ~table.eligible),
        (LeftOutReason.STRATUM, passed_over),
        (LeftOutReason.TOO_SMALL, too_small),
        (LeftOutReason.UNKNOWN_OUTCOME, None),
    ):
        out = np.where(marks, left, 0) if marks is not None else np.minimum(unknown, left)
        add(reason, table.groups, out.sum(axis=1))
        left = left - out
    judged = {frozenset(table.groups[g]) for g in np.flatnonzero(left[0].sum(axis=0)).tolist()}
    known_groups = {
        frozenset(table.groups[g]) for g in np.flatnonzero(table.known & (about > 0)).tolist()
    }
    inside = count(table).sum(axis=(1, 2)).astype(np.float64)
    if table.ungrouped is not None:
        ungrouped = table.ungrouped.people, table.ungrouped.mass
        both = _count_about(evaluation, table, *ungrouped)
        inside += both.sum(axis=(1, 2))
        add(LeftOutReason.UNKNOWN_GROUP, table.ungrouped.groups, both.sum(axis=1))
    if counted is not None:
        absent = np.maximum(count(counted).sum(axis=(1, 2)) - inside, 0)
        needs_more = evaluation.subtracts or evaluation.terms.at is not None
        why = LeftOutReason.UNKNOWN_OUTCOME if needs_more else LeftOutReason.UNKNOWN_GROUP
        why = LeftOutReason.STRATUM if table.given else why
        add(why, [()], absent[:, None].astype(np.int64))
        inside += absent
    for reason, everybody, by_group in outsiders:
        raised = _raise(count(everybody).sum(axis=1), threshold).sum(axis=1)
        lost[reason] += raised
        inside += raised
        people = np.where(by_group.known, count(by_group)[0].sum(axis=0), 0)
        for group, n in zip(by_group.groups, people.tolist(), strict=True):
            of_groups[reason][group] = of_groups[reason].get(group, 0) + n
        known_groups |= {frozenset(group) for group, n in of_groups[reason].items() if n}
    lost[LeftOutReason.HIDDEN] += hidden * np.array([1, table.scale])
    of_people, of_weight = (inside + lost[LeftOutReason.HIDDEN]).tolist()
    parts = [
        LeftOutPart(
            reason,
            int(people),
            # People of unknown group have none.
            tuple(
                group
                for group, n in sorted(of_groups[reason].items(), key=lambda pair: -pair[1])
                if group and n and reason is not LeftOutReason.UNKNOWN_GROUP
            ),
            None if table.squares is None else weight / (of_weight or 1),
        )
        for reason, (people, weight) in ((reason, both.tolist()) for reason, both in lost.items())
        if people
    ]
    return LeftOutPeople(
        sum(part.people for part in parts),
        int(of_people),
        len(known_groups - judged),
        len(known_groups),
        tuple(parts),
    )


def _count_about(evaluation: Evaluation, table: GroupTable, *numbers: Ints) -> Ints:
    """The people, and their weight, [2, Z, G] whom the check is about; of a threshold everybody."""
    terms = evaluation.terms
    if terms.at is not None:
        return np.stack([one.sum(axis=(1, 2)) for one in numbers])
    if terms.of_class is not None:
        table = one_against_rest(table)[terms.of_class]
    in_question = mark_in_question(evaluation)
    knowledge = [count_by_knowledge(table, one)[:, in_question] for one in numbers]
    return np.stack([one.sum(axis=1).astype(np.int64) for one in knowledge])


def _raise(both: Ints, threshold: int) -> Floats:
    """People [2, G] with their weight: of fewer than the threshold that of one less than it.

    So a weight does not tell how few they are.
    """
    raised = raise_small(both[0], threshold)
    return np.stack([raised, both[1] * (raised / np.maximum(both[0], 1))])


def _mark_too_small(
    evaluation: Evaluation, known: Ints, threshold: int, *, excludes: bool
) -> Marks:
    """Who does not take part: of fewer known people than the threshold nobody, if size decides."""
    minimum, too_small = evaluation.terms.minimum, ~evaluation.takes_part
    if excludes or minimum.events is not None or (minimum.size or threshold) < threshold:
        return np.asarray(too_small | (known < threshold))
    return too_small

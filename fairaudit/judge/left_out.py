"""Who is left out of a check (`LeftOutPeople`): how many people and groups of how many, and why."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

import numpy as np

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

    `passed_over` [Z] are the strata in which nothing is judged. `counted` are all people of the
    audit as one group: who is not in the table lacks one of its columns. `hidden` people are in no
    table at all. Fewer than `threshold` people are `threshold` - 1, of a group for one reason as of
    a rule that drops rows: a status shows no small count. For the same reason so small a group
    is left out where its size decides whether it takes part; a spec that `excludes` groups is one.
    """
    outsiders = [*outsiders]
    people = _count(
        evaluation, passed_over, counted, outsiders, hidden, threshold, excludes=excludes
    )
    table = evaluation.strata or evaluation.table
    if table.squares is None:
        return people
    tables = {name: getattr(evaluation, name) for name in ("table", "strata")}
    weighted = _count(
        replace(evaluation, **{name: table and _weigh(table) for name, table in tables.items()}),
        passed_over,
        counted and _weigh(counted),
        [
            Outsiders(reason, _weigh(everybody), _weigh(by_group))
            for reason, everybody, by_group in outsiders
        ],
        hidden * table.scale,
    )
    weights = {part.reason: part.people / (weighted.of_people or 1) for part in weighted.reasons}
    parts = (replace(part, weight=weights.get(part.reason, 0.0)) for part in people.reasons)
    return replace(people, reasons=tuple(parts))


def _weigh(table: GroupTable) -> GroupTable:
    """The table with the weight of people in place of their number."""
    ungrouped = table.ungrouped and replace(table.ungrouped, people=table.ungrouped.mass)
    return replace(table, people=table.mass, ungrouped=ungrouped)


def _count(
    evaluation: Evaluation,
    passed_over: Marks,
    counted: GroupTable | None,
    outsiders: Iterable[Outsiders],
    hidden: int,
    threshold: int = 0,
    *,
    excludes: bool = False,
) -> LeftOutPeople:
    table, terms = evaluation.strata or evaluation.table, evaluation.terms
    in_question = mark_in_question(evaluation)

    def count(other: GroupTable, people: Ints) -> Ints:
        """The people [Z, G] that the evaluation is about; of a threshold everybody is."""
        if terms.at is not None:
            return np.asarray(people.sum(axis=(1, 2)))
        if terms.of_class is not None:
            other = one_against_rest(other)[terms.of_class]
        return np.asarray(count_by_knowledge(other, people)[:, in_question].sum(axis=1).astype(int))

    left = count(table, table.people)
    about, lost = left.sum(axis=0), dict.fromkeys(LeftOutReason, 0)
    of_groups: dict[LeftOutReason, dict[Group, int]] = {reason: {} for reason in LeftOutReason}

    def add(reason: LeftOutReason, groups: Iterable[Group], people: Ints) -> None:
        people = raise_small(people, threshold)
        lost[reason] += int(people.sum())
        for group, n in zip(groups, people.tolist(), strict=True):
            if n:
                of_groups[reason][group] = of_groups[reason].get(group, 0) + n

    unknown_outcome = np.minimum(count_unknown_outcomes(evaluation), left)
    known_outcome = left - unknown_outcome
    too_small = _mark_too_small(evaluation, known_outcome, threshold, excludes=excludes)
    for reason, marks in (
        (LeftOutReason.UNKNOWN_GROUP, ~table.known),
        (LeftOutReason.EXCLUDED, ~table.eligible),
        (LeftOutReason.STRATUM, passed_over[:, None]),
        (LeftOutReason.TOO_SMALL, too_small),
        (LeftOutReason.UNKNOWN_OUTCOME, None),
    ):
        out = np.where(marks, left, 0) if marks is not None else np.minimum(unknown_outcome, left)
        add(reason, table.groups, out.sum(axis=0))
        left = left - out
    judged = {frozenset(table.groups[g]) for g in np.flatnonzero(left.sum(axis=0)).tolist()}
    known = {frozenset(table.groups[g]) for g in np.flatnonzero(table.known & (about > 0)).tolist()}
    inside = int(about.sum())
    if table.ungrouped is not None:
        people = count(table, table.ungrouped.people)
        inside += int(people.sum())
        add(LeftOutReason.UNKNOWN_GROUP, table.ungrouped.groups, people.sum(axis=0))
    if counted is not None:
        absent = count(counted, counted.people).sum(axis=1) - inside
        add(_explain_absent(evaluation, table), [()], np.maximum(absent, 0))
        inside += max(int(absent.sum()), 0)
    for reason, everybody, by_group in outsiders:
        people = raise_small(count(everybody, everybody.people).sum(axis=0), threshold)
        lost[reason] += int(people.sum())
        inside += int(people.sum())
        people = np.where(by_group.known, count(by_group, by_group.people).sum(axis=0), 0)
        for group, n in zip(by_group.groups, people.tolist(), strict=True):
            of_groups[reason][group] = of_groups[reason].get(group, 0) + n
        known |= {frozenset(group) for group, n in of_groups[reason].items() if n}
    lost[LeftOutReason.HIDDEN] += hidden
    total = inside + hidden
    parts = [
        LeftOutPart(reason, people, _list_groups(reason, of_groups[reason]))
        for reason, people in lost.items()
        if people
    ]
    return LeftOutPeople(sum(lost.values()), total, len(known - judged), len(known), tuple(parts))


def _mark_too_small(
    evaluation: Evaluation, known: Ints, threshold: int, *, excludes: bool
) -> Marks:
    """Who does not take part: of fewer known people than the threshold nobody, if size decides."""
    minimum, too_small = evaluation.terms.minimum, ~evaluation.takes_part
    if excludes or minimum.events is not None or (minimum.size or threshold) < threshold:
        return np.asarray(too_small | (known < threshold))
    return too_small


def _explain_absent(evaluation: Evaluation, table: GroupTable) -> LeftOutReason:
    """Why people of the audit are not in the table of an evaluation."""
    if table.given:
        return LeftOutReason.STRATUM
    needs_more = evaluation.subtracts or evaluation.terms.at is not None
    return LeftOutReason.UNKNOWN_OUTCOME if needs_more else LeftOutReason.UNKNOWN_GROUP


def _list_groups(reason: LeftOutReason, people: dict[Group, int]) -> tuple[Group, ...]:
    """The groups of those left out for a reason; people of unknown group have none."""
    if reason is LeftOutReason.UNKNOWN_GROUP:
        return ()
    return tuple(
        sorted((group for group in people if group and people[group]), key=lambda g: -people[g])
    )

"""Missing values: the range of a value if no value were missing, and whether its status may change.

Each person has an outcome and a group; either may be unknown. A completion replaces all unknown
outcomes and groups by possible ones. Bounds hold for every completion. People of unknown group may
belong to any group that their known values allow, or to a group that is not compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Annotated, Protocol

import numpy as np

from fairaudit.base.arrays import Ends
from fairaudit.base.disclosure_marks import declare_subjects
from fairaudit.base.frozen import RARE, Frozen, field, replace
from fairaudit.cube import Floats, Group, Ints, Marks
from fairaudit.evidence.metric_bounds import (
    Contributions,
    NoBounds,
    Placement,
    add_visitors,
    count_by_knowledge,
    find_bounds,
    find_contributions,
)
from fairaudit.metrics import (
    Disparity,
    Evaluation,
    GroupMetric,
    Mean,
    PeopleCount,
    Requirement,
    TableMetric,
    is_over_classes,
)
from fairaudit.metrics.completions import find_possible_members, find_range
from fairaudit.metrics.evaluate import evaluate_again
from fairaudit.metrics.evaluation_record import find_policy
from fairaudit.metrics.terms import EXTREME_REFERENCES, POOLED_REFERENCES, ReferencePolicy

_NEAR = 1e-12
"""A bound at most this far beyond a limit (relative to limits above 1) counts as within it."""

_ALL = np.ones((3, 3), dtype=np.bool_)


class _Limited(Protocol):
    """The limit of a check: a value crosses it if the value is below `below` or above `above`."""

    @property
    def below(self) -> Decimal | None: ...

    @property
    def above(self) -> Decimal | None: ...


@declare_subjects(row="group stratum low high")
class UncertainValue(Frozen):
    """A value within a limit that could be beyond it, with its group, stratum and bounds."""

    group: Group
    stratum: Group = field(name="given")
    low: float
    high: float


@declare_subjects(
    row="missing_outcome missing_group low high apart_low apart_high proportional_low "
    "proportional_high turns others reason possible",
)
class MissingBounds(Frozen):
    """The possible range of a value if no value were missing.

    `low` and `high` place people of unknown group in any group. `apart_low` and `apart_high` leave
    people of unknown group out. `proportional_low` and `proportional_high` spread them in
    proportion to size. These last four are None if all completions are evaluated. If bounds are not
    calculated, all bounds are None, and `reason` says why. `missing_outcome` is the number of
    people whose outcome or label is unknown and could change the value. `missing_group` is the
    number of people of unknown group who could change the value. `possible` is the number of people
    that masked counts, such as `<5`, may hide. `turns` is set if the status could change. `others`
    are other values within a limit that could cross it.
    """

    missing_outcome: int = field(name="outcome")
    missing_group: int = field(name="group")
    low: float | None = None
    high: float | None = None
    apart_low: float | None = None
    apart_high: float | None = None
    proportional_low: float | None = None
    proportional_high: float | None = None
    turns: bool = False
    others: tuple[UncertainValue, ...] = ()
    reason: str | None = None
    possible: Annotated[int, RARE] = 0

    @property
    def may_turn(self) -> bool:
        """Whether the status could change; without bounds the answer is yes."""
        return self.turns or self.low is None or self.high is None


def find_missing_bounds(evaluation: Evaluation, z: int, w: int) -> MissingBounds | None:
    """The bounds of a value over all completions, without a status; None if no value is missing.

    They are Manski's worst cases: all missing outcomes are negative, or positive. If s of n people
    are selected and m more are unknown, the rate is between s / (n + m) and (s + m) / (n + m).
    """
    table, policy = evaluation.strata or evaluation.table, find_policy(evaluation)
    unknown_outcomes = count_unknown_outcomes(evaluation)
    has_strangers = table.outsiders or (~table.known & (table.n.sum(axis=0) > 0)).any()
    if not (has_strangers or table.moving or unknown_outcomes[:, table.known].any()):
        return None
    ranges, reason = list[Ends](), None
    try:
        ranges += [find_bounds(evaluation, placement) for placement in Placement]
    except NoBounds as error:
        reason = str(error)
    over_strata = evaluation.strata is not None or policy is ReferencePolicy.EVERYBODY
    over_strata |= reason is not None
    strata = slice(None) if over_strata else slice(z, z + 1)
    # The groups that the value compares; all known groups for pooled references or without bounds.
    if policy in POOLED_REFERENCES or reason is not None:
        columns = table.known
    elif evaluation.spread or policy in EXTREME_REFERENCES:
        columns = evaluation.takes_part[z]
    else:
        columns = np.isin(np.arange(len(table.groups)), [w, evaluation.second[z, w]])
    about = [table.groups[g] for g in np.flatnonzero(columns).tolist()]
    matters = mark_in_question(evaluation)

    def count(groups: Sequence[Group], people: Ints) -> int:
        could = find_possible_members(groups, about)
        cells = count_by_knowledge(table, people)[strata][..., could]
        return int(cells.sum(axis=(0, 3))[matters].sum())

    # The people of unknown group are columns of the table, or `ungrouped`.
    unknown = np.flatnonzero(~table.known).tolist()
    shown = count([table.groups[g] for g in unknown], np.asarray(table.people[..., unknown]))
    aside, possible = (
        0 if people is None else count(people.groups, people.people)
        for people in (table.ungrouped, table.possible)
    )
    outcomes, strangers = int(unknown_outcomes[strata][:, columns].sum()), shown + aside
    missing = max(outcomes, table.moving - strangers), strangers
    if reason is not None:
        if (ends := find_possible_ends(evaluation)) is None:
            return MissingBounds(*missing, reason=reason, possible=possible)
        low, high = (float(end[z, w]) for end in ends)
        return MissingBounds(*missing, low, high, possible=possible)
    anywhere, apart, proportional = ((float(low[z, w]), float(high[z, w])) for low, high in ranges)
    return MissingBounds(*missing, *anywhere, *apart, *proportional, possible=possible)


def judge_missing(
    evaluation: Evaluation, z: int, w: int, fail: _Limited | None, warn: _Limited | None
) -> MissingBounds | None:
    """The bounds of the deciding value, and whether its status may change; None if all is known."""
    bounds = find_missing_bounds(evaluation, z, w)
    if bounds is None:
        return None
    anybody = bool(bounds.missing_outcome or bounds.missing_group or bounds.possible)
    ends = find_possible_ends(evaluation)
    if ends is None:
        return bounds if anybody else None
    places = _find_entries(evaluation)
    value, low, high = (np.where(places, one, np.nan) for one in (evaluation.value, *ends))
    ends = low, high
    if bounds.apart_low is not None:  # no group joins in a completion if all are evaluated
        joined = _find_joined_ends(evaluation)
        ends = np.fmin(low, joined[0]), np.fmax(high, joined[1])
    now, may, must = (
        np.stack([_is_beyond(least, most, limit) for limit in (warn, fail)])
        for least, most in ((value, value), ends, (high, low))
    )
    swayed = np.asarray((may & ~now).any(axis=0))
    swayed[z, w] = False
    others = tuple(_list_uncertain(evaluation, ends, swayed))
    # The index of the most severe limit that a value crosses, or -1.
    severest = {
        max(np.flatnonzero(beyond.any(axis=(1, 2))).tolist(), default=-1)
        for beyond in (now, may, must)
    }
    turns = len(severest) > 1
    if not (turns or others or anybody):
        return None
    low_end, high_end = (float(end[z, w]) for end in ends)
    return replace(bounds, low=low_end, high=high_end, turns=turns, others=others)


def find_possible_ends(evaluation: Evaluation) -> Ends | None:
    """The smallest and the largest value over all completions; None if not calculated."""
    try:
        return find_bounds(evaluation, Placement.ANYWHERE)
    except NoBounds:
        return find_range(evaluation)


def list_possible_breaches(evaluation: Evaluation, limit: _Limited) -> list[UncertainValue] | None:
    """The values that missing outcomes or groups may put beyond a limit; None without bounds."""
    ends = find_possible_ends(evaluation)
    if ends is None:
        return None
    beyond = _find_entries(evaluation) & _is_beyond(*ends, limit)
    return [*_list_uncertain(evaluation, ends, beyond)]


def _list_uncertain(evaluation: Evaluation, ends: Ends, places: Marks) -> Iterator[UncertainValue]:
    table, (low, high) = evaluation.table, ends
    for z, w in np.argwhere(places).tolist():
        group = () if evaluation.spread else table.groups[w]
        yield UncertainValue(group, table.strata[z], float(low[z, w]), float(high[z, w]))


def may_take_part(evaluation: Evaluation) -> bool:
    """Whether people of unknown group or outcome could make a small group large enough."""
    return any(_mark_joining(leaf).any() for leaf in evaluation.leaves)


def _mark_joining(leaf: Evaluation) -> Marks:
    """Marks the small groups that missing people could make large enough, as an array [Z, G]."""
    table = leaf.strata or leaf.table
    own = count_by_knowledge(table, table.people)
    outside = [count_by_knowledge(table, people.people) for people in table.outsiders]
    visitors = add_visitors(table, own, outside).visitors.sum(axis=(1, 2))
    more, rule = visitors + count_unknown_outcomes(leaf), table.excluded
    enough = table.n + visitors >= (leaf.terms.minimum.size or 0)
    marks = enough & (more > 0) & table.eligible & ~leaf.takes_part
    if rule is not None:
        largest = (table.n + visitors).sum(axis=0)
        may_count = table.known & ~table.eligible & (largest >= rule.rule.share * rule.everybody)
        marks |= may_count & (visitors > 0)
    return np.asarray(marks)


def _find_joined_ends(evaluation: Evaluation) -> Ends:
    """The bounds [Z, W] of values if groups that missing people could enlarge also take part.

    For other groups, bounds are NaN, unless an enlarged group could be the highest or lowest group.
    """
    joining = np.any([_mark_joining(leaf) for leaf in evaluation.leaves], axis=0)
    if not joining.any():
        return (nothing := np.full(evaluation.value.shape, np.nan)), nothing
    sizes = [
        (leaf.table.n - count_unknown_outcomes(leaf) if values is None else values.n)[joining].min()
        for leaf in evaluation.leaves
        for values in (leaf.group_values,)
    ]
    wide = evaluate_again(evaluation, int(min(sizes)), admitted=joining.any(axis=0))
    among = wide.judged & evaluation.table.known_strata[:, None]
    if not evaluation.spread and find_policy(evaluation) not in EXTREME_REFERENCES:
        among = among & joining
    unknown = np.isnan(wide.value)
    low, high = find_possible_ends(wide) or (wide.value, wide.value)
    low, high = np.where(unknown, -np.inf, low), np.where(unknown, np.inf, high)
    return np.where(among, low, np.nan), np.where(among, high, np.nan)


def _is_beyond(low: Floats, high: Floats, limit: _Limited | None) -> Marks:
    """Marks values that may cross a limit; with `low` and `high` exchanged, values that must."""
    beyond = np.zeros(low.shape, dtype=np.bool_)
    if limit is not None and limit.below is not None:
        beyond |= low < float(limit.below) - _NEAR * max(1, abs(float(limit.below)))
    if limit is not None and limit.above is not None:
        beyond |= high > float(limit.above) + _NEAR * max(1, abs(float(limit.above)))
    return beyond


def _find_entries(evaluation: Evaluation) -> Marks:
    """Marks judged values [Z, W], and the extreme groups that another group may replace."""
    judged = evaluation.judged
    if not evaluation.spread and find_policy(evaluation) in EXTREME_REFERENCES:
        # A waived value is not judged, and its reference is another group.
        is_reference = evaluation.second == np.arange(judged.shape[1])
        judged = judged | (evaluation.takes_part & is_reference)
    known = evaluation.table.known_strata[:, None]
    return np.asarray(judged & known & ~np.isnan(evaluation.value))


def mark_in_question(evaluation: Evaluation) -> Marks:
    """Marks the kinds of people [3, 3] who may change a rate; all kinds without a rate."""
    kinds = _list_contributions(evaluation)
    return np.asarray(np.any([kind.matters for kind in kinds] or [_ALL], axis=0))


def count_unknown_outcomes(evaluation: Evaluation) -> Ints:
    """The number of people [Z, G] of each group whose unknown outcome may change the value."""
    table = evaluation.strata or evaluation.table
    contributions = _list_contributions(evaluation)
    if contributions:
        undecided = np.any([kind.open for kind in contributions], axis=0)
        return np.asarray(
            count_by_knowledge(table, table.people)[:, undecided].sum(axis=1), dtype=np.int64
        )
    values = evaluation.group_values
    needs = evaluation.metric.requirements | (values.metric.requirements if values else set())
    if isinstance(evaluation.metric, PeopleCount) and not needs:
        return np.zeros_like(table.n)
    if Requirement.FEATURES in needs and table.rows is not None:
        return table.n - table.rows.count_usable()
    if needs & {Requirement.NUMBER, Requirement.SCORE, Requirement.NUMERIC_LABEL}:
        # People without a number, a score or a label that is used, for any of two outcomes.
        needs_label, known = Requirement.LABEL in needs, list[Ints]()
        for part in evaluation.parts if evaluation.subtracts else (evaluation,):
            side = part.strata or part.table
            labels = slice(len(side.labels) if needs_label else None)
            known += [amounts.n[:, labels].sum(axis=(1, 2)) for amounts in side.amounts.values()]
            if side.histogram is not None:
                labels = slice(2 if needs_label else None)
                known.append(side.histogram.people[:, labels].sum(axis=(1, 3)))
        return np.asarray(table.n - np.min(known, axis=0)) if known else np.zeros_like(table.n)
    unknown = np.zeros(table.people.shape[1:3], dtype=np.bool_)
    unknown[:, -1] = bool(table.classes)
    unknown[-1] |= Requirement.LABEL in needs
    return np.asarray(table.people[:, unknown].sum(axis=1))


def mark_masked(evaluation: Evaluation) -> Marks:
    """Marks the values that people in masked counts could change, as an array [Z, W].

    Counts are masked because they are small. So people with a hidden outcome differ from other
    people, and an interval or test of the other people is not valid for the group.
    """
    ends = find_possible_ends(evaluation) if evaluation.table.masked else None
    if ends is None:
        return np.full(evaluation.value.shape, evaluation.table.masked)
    return np.asarray(ends[0] != ends[1])


def _list_contributions(evaluation: Evaluation) -> list[Contributions]:
    """The contributions of people to the rates of an evaluation; empty without rates.

    A mean over classes has no contributions, because each person counts in only one class.
    """
    metric = evaluation.metric
    if isinstance(metric, TableMetric) or is_over_classes(metric):
        return []
    if evaluation.group_values is not None and not evaluation.parts:
        metrics: Sequence[GroupMetric] = [evaluation.group_values.metric]
    elif isinstance(metric, Disparity):
        metrics = [part for part, _ in metric.parts]
    else:
        metrics = [metric]
    rates = [
        rate
        for metric in metrics
        for rate in (metric.parts if isinstance(metric, Mean) else (metric,))
    ]
    contributions = map(find_contributions, rates)
    return [kind for kind in contributions if kind is not None]

"""The records of a comparison (`Changes`, `CheckChange`), and when a check is worse or better."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import Annotated

from fairaudit.base.frozen import RARE, WRITTEN, Frozen, field, replace
from fairaudit.cube import Group, Grouping
from fairaudit.judge import AnyCheck, Breach, Check, EvidenceStatus, Finding, Status
from fairaudit.judge.simpson import ReversalKind
from fairaudit.metrics import Eligibility
from fairaudit.metrics.estimate import Estimate, Significance, State
from fairaudit.metrics.terms import Inference
from fairaudit.result import Provenance, Verdict
from fairaudit.result.rows import group_key

_MUCH_MORE = Fraction(1, 10)
"""A check leaves out more if the share of left-out people or groups grew by more than this."""


class Direction(StrEnum):
    """The direction of a change. It is only higher or lower if neither direction is better."""

    WORSE = "worse"
    BETTER = "better"
    HIGHER = "higher"
    LOWER = "lower"
    SAME = "same"
    UNKNOWN = "unknown"


class Scale(StrEnum):
    """The scale of a change: after minus before, or after divided by before."""

    DIFFERENCE = "difference"
    RATIO = "ratio"


class Sampling(StrEnum):
    """How the people of the two results are related, which determines the tests of changes.

    Results of the `same_people` cannot be tested as independent samples. `paired` results have two
    outcomes of each person.
    """

    INDEPENDENT = "independent"
    SAME_PEOPLE = "same_people"
    PAIRED = "paired"


class PairedHits(Frozen):
    """The number of people with a hit by both outcomes, by one of them, and by neither."""

    both: int
    first_only: int
    second_only: int
    neither: int


class Change(Frozen):
    """The change of a number; `low` and `high` are its interval, by `method`.

    `value` is NaN if one of the numbers is undefined. `why` is the reason for a missing interval or
    test. `turned` is set if the number moved across parity (without parity: across the middle of
    its limit), and then `value` is the change of its distance from parity or the middle.
    `significant` is set if the adjusted p-value is below the level. `certain` is set if the numbers
    are of the same people, so that no test is needed.
    """

    before: Estimate
    after: Estimate
    scale: Scale
    value: float = field(name="change")
    way: Direction
    low: float | None = None
    high: float | None = None
    method: str = ""
    significance: Significance | None = None
    why: str = field(default="", name="reason")
    turned: bool = False
    cells: PairedHits | None = field(default=None, name="pairs")
    significant: bool = False
    certain: Annotated[bool, RARE] = False

    def is_established_as(self, way: Direction) -> bool:
        """Whether the change has this direction, and is significant or certain."""
        return self.way is way and (self.significant or self.certain)

    @property
    def size(self) -> float:
        """The absolute value of the change (for a ratio, of its logarithm); -1 if unknown."""
        if math.isnan(self.value):
            return -1.0
        if self.scale is Scale.RATIO:
            return abs(math.log(self.value)) if self.value > 0 else math.inf
        return abs(self.value)


class GroupChange(Frozen):
    """The change of a check's value for a group in a stratum (for a spread: for all groups).

    `decided` is set if this value was the worst value before. `decides` is set if it is after.
    """

    group: Group
    stratum: Group = field(name="given")
    change: Change = field(name="*change")
    decided: bool = False
    decides: bool = False


class CheckChange(Frozen):
    """A check in both results. `recast` is set if the definitions of its columns or tests differ.

    `groups` are the groups that the check judges in both results; their changes are tested.
    `change` is the change of the worst value; it is not tested if another group was the worst. If
    the results do not list groups, `groups` is empty and `change` is tested. `lost` are groups that
    decided the check before and are not compared after: without them, the value may look better
    although no decision changed. `unjudged` are all groups, with their stratum, that the check
    judges only in the earlier result. `behind` are the groups, with their stratum, that are newly
    or farther over the limit, if the check fails in both results. `new` are the groups, with their
    stratum, that the check judges only in the later result and that make its value worse.
    """

    before: Finding = field(name="finding_before")
    after: Finding = field(name="finding_after")
    change: Change = field(name="*change")
    recast: bool = False
    lost: tuple[Group, ...] = ()
    unjudged: tuple[Group, ...] = ()
    groups: tuple[GroupChange, ...] = ()
    behind: tuple[Group, ...] = ()
    new: Annotated[tuple[Group, ...], RARE] = ()

    @property
    def id(self) -> Annotated[str, WRITTEN]:
        """The id of the check."""
        return self.after.check.id

    @property
    def check(self) -> AnyCheck:
        """The check of the later result."""
        return self.after.check

    @property
    def tested(self) -> tuple[Change, ...]:
        """The tested changes of the groups; without groups, the change of the value."""
        return tuple(group.change for group in self.groups) or (self.change,)

    def with_tested(self, changes: Sequence[Change]) -> CheckChange:
        """The check with other changes in place of `tested`, the smallest p-values first."""
        if not self.groups:
            return replace(self, change=changes[0])
        groups = [
            replace(group, change=change)
            for group, change in zip(self.groups, changes, strict=True)
        ]
        worst = next((group.change for group in groups if group.decided and group.decides), None)

        def rank(group: GroupChange) -> tuple[float, float]:
            test = group.change.significance
            return 1.0 if test is None else test.adjusted, -group.change.size

        groups.sort(key=rank)
        return replace(self, change=worst or self.change, groups=tuple(groups))

    @property
    def is_tested(self) -> bool:
        """Whether any of its values is tested."""
        return any(change.significance is not None for change in self.tested)

    @property
    def is_certain(self) -> bool:
        """Whether its changes need no test."""
        return any(change.certain for change in self.tested)

    @property
    def is_significant(self) -> bool:
        """Whether any of its values changed significantly."""
        return any(change.significant for change in self.tested)

    @property
    def falls(self) -> bool:
        """Whether the check newly fails, or newly cannot be evaluated."""
        closed = self.after.status in {Status.INCONCLUSIVE, Status.FAIL}
        return closed and self.after.status is not self.before.status

    @property
    def newly_beyond(self) -> Annotated[tuple[Breach, ...], WRITTEN]:
        """The groups that fail the check now but not before, if the check fails both times."""
        both_fail = self.before.status is self.after.status is Status.FAIL
        if not both_fail or not isinstance(self.check, Check):
            return ()
        then = {group_key(breach.group, breach.stratum) for breach in _list_failing(self.before)}
        return tuple(
            breach
            for breach in _list_failing(self.after)
            if group_key(breach.group, breach.stratum) not in then
        )

    @property
    def recovers(self) -> bool:
        """Whether the check failed or could not be evaluated before, and is within its limit now.

        A check with no value to judge, or accepted by a waiver or a baseline, does not recover.
        """
        after = self.after
        closed = self.before.status in {Status.INCONCLUSIVE, Status.FAIL}
        accepted = after.before is not None and self.before.before is None
        within = after.status is Status.PASS or (after.status is Status.WARN and not accepted)
        answered = after.estimate is None or after.estimate.state is not State.UNDEFINED
        return closed and within and answered and not (self.lost or after.waived)

    @property
    def is_hidden(self) -> bool:
        """Whether the check fails both times, but suppression hides if other groups fail now."""
        both_fail = self.before.status is self.after.status is Status.FAIL
        hides = not self.before.crossed or not self.after.crossed
        return both_fail and hides and isinstance(self.check, Check)

    @property
    def is_worse(self) -> bool:
        """Whether its status is worse, it fails for more groups, or a group is significantly worse.

        If both results are of the same people, no test is needed.
        """
        return (
            self.falls
            or bool(self.newly_beyond or self.behind)
            or any(change.is_established_as(Direction.WORSE) for change in self.tested)
        )

    @property
    def is_better(self) -> bool:
        """Whether its status recovered, or the group that was the worst is significantly better.

        A check is not better if its status or a group is worse.
        """
        decided = [group.change for group in self.groups if group.decided]
        worst = decided if self.groups else [self.change]
        better = any(change.is_established_as(Direction.BETTER) for change in worst)
        is_partial = self.lost or self.leaves_out_more
        return not self.is_worse and (self.recovers or (better and not is_partial))

    @property
    def shares_left_out(self) -> tuple[Fraction, Fraction]:
        """The shares of people whom the check does not judge, before and after."""
        then, now = (
            Fraction(0) if side.left_out is None else side.left_out.find_share()
            for side in (self.before, self.after)
        )
        return then, now

    @property
    def leaves_out_more(self) -> bool:
        """Whether the check leaves out notably more people than before."""
        then, now = self.shares_left_out
        return now - then > _MUCH_MORE

    @property
    def verdict(self) -> Annotated[str, WRITTEN]:
        """The change of the check as a word."""
        if self.is_worse or self.is_better:
            return "worse" if self.is_worse else "better"
        return "unsure" if self.is_tested else "untested"


def _list_failing(finding: Finding) -> tuple[Breach, ...]:
    """The values that fail a check: beyond its limit, with the required evidence, not waived."""
    waived = {breach for waiver in finding.waived for breach in waiver.crossed}
    supported = {EvidenceStatus.UNASKED, EvidenceStatus.SUPPORTED}
    return tuple(
        breach for breach in finding.crossed if breach.backing in supported and breach not in waived
    )


class DifferentCheck(Frozen):
    """A check with the same id and another definition; `why` lists the differences."""

    before: Finding
    after: Finding
    why: str = field(name="changed")
    is_stricter: Annotated[bool, RARE] = field(default=False, name="stricter")
    """Whether only its limits changed, and all values that failed before fail now."""


class RateChange(Frozen):
    """A rate of a group (of all people if `by` and `group` are empty) in both results."""

    metric: str
    of: str
    by: Grouping
    stratum: Group = field(name="given")
    group: Group
    standing_before: Eligibility
    standing_after: Eligibility
    change: Change = field(name="*change")
    parameters: Mapping[str, object] = field(default_factory=dict)
    averaged: Grouping = field(default=(), name="averaged_over")

    @property
    def is_compared(self) -> bool:
        """Whether the group takes part in comparisons both times."""
        return self.standing_before is self.standing_after is Eligibility.ELIGIBLE


class ShareChange(Frozen):
    """The people of a group, and their share of all people with a known group; None if hidden."""

    group: Group
    n_before: int | None
    n_after: int | None
    share_before: float | None
    share_after: float | None

    @property
    def moved(self) -> float | None:
        """The change of its share; None if a share is missing."""
        if self.share_before is None or self.share_after is None:
            return None
        return self.share_after - self.share_before


class PeopleChange(Frozen):
    """The groups of a grouping with their shares, and a test whether the shares changed."""

    by: Grouping
    groups: tuple[ShareChange, ...]
    new: tuple[Group, ...]
    gone: tuple[Group, ...]
    significance: Significance | None
    why: str = field(default="", name="reason")
    significant: bool = False

    @property
    def most_moved(self) -> float:
        """The largest change of a share; 0 if no share is known."""
        return max((abs(group.moved or 0.0) for group in self.groups), default=0.0)


class ReversalChange(Frozen):
    """A reversal that is new (None before), gone (None after), or of another kind.

    If it is not known whether the other result has the reversal, `unknown` is the reason, and the
    reversal is neither new nor gone. `significant` is from the later result with the reversal.
    """

    rate: str
    of: str
    attribute: str
    pair: tuple[str, str]
    given: Grouping
    before: ReversalKind | None
    after: ReversalKind | None
    significant: bool
    unknown: Annotated[str, RARE] = field(default="", name="reason")

    @property
    def strength(self) -> tuple[bool, int]:
        """A sort key by significance, then by the strength of the kind."""
        kinds = (self.before, self.after)
        return self.significant, max(kind.strength for kind in kinds if kind is not None)


class ComparedResult(Frozen):
    """One of the two results. `of` is the compared outcome; None if all outcomes are compared."""

    provenance: Provenance = field(name="*provenance")
    verdict: Verdict
    exit_code: int
    tally: Mapping[Status, int] = field(name="checks")
    of: str | None = None


class Changes(Frozen):
    """The comparison of two results, significantly worse changes first.

    The tests of `checks`, of `rates` and of `people` are three families. Each family is corrected
    by the `inference` of the later result. `conditions` are differences between the settings of the
    two audits. `otherwise` are checks whose definition changed.
    """

    before: ComparedResult
    after: ComparedResult
    sampling: Sampling
    inference: Inference
    checks: tuple[CheckChange, ...]
    otherwise: tuple[DifferentCheck, ...] = field(name="asked_otherwise")
    only_before: tuple[Finding, ...]
    only_after: tuple[Finding, ...]
    rates: tuple[RateChange, ...]
    people: tuple[PeopleChange, ...]
    reversals: tuple[ReversalChange, ...]
    conditions: tuple[str, ...]
    new_notices: tuple[str, ...]
    gone_notices: tuple[str, ...]
    assumed: Annotated[str, RARE] = ""
    """The reason to assume that both results have the same people, if no option says so."""

    @property
    def alpha(self) -> float:
        """The level of the tests."""
        return self.inference.alpha

    @property
    def worse(self) -> tuple[CheckChange, ...]:
        """The checks that are worse, by their status or significantly."""
        return tuple(check for check in self.checks if check.is_worse)

    @property
    def hidden(self) -> tuple[CheckChange, ...]:
        """The checks that fail, and that may be worse because groups are hidden."""
        return tuple(check for check in self.checks if check.is_hidden and not check.is_worse)

    @property
    def unjudged(self) -> tuple[CheckChange, ...]:
        """The checks that are not worse, but judge fewer people."""
        return tuple(
            check
            for check in self.checks
            if (check.unjudged or check.leaves_out_more) and not check.is_worse
        )

    @property
    def worse_by_new(self) -> tuple[CheckChange, ...]:
        """The checks whose value is worse only because of groups that were not judged before."""
        return tuple(check for check in self.checks if check.new and not check.is_worse)

    @property
    def dropped(self) -> tuple[Finding, ...]:
        """The earlier checks that are missing later, or changed by more than a stricter limit."""
        changed = (other.before for other in self.otherwise if not other.is_stricter)
        recast = (check.before for check in self.checks if check.recast)
        return (*self.only_before, *changed, *recast)

    @property
    def better(self) -> tuple[CheckChange, ...]:
        """The checks that are better, by their status or significantly."""
        return tuple(check for check in self.checks if check.is_better)

    @property
    def rate_counts(self) -> Mapping[str, int]:
        """The number of rates in both results, and of significant, worse and better changes."""
        ways = [rate.change.way for rate in self.rates if rate.change.significant]
        worse, better = (ways.count(way) for way in (Direction.WORSE, Direction.BETTER))
        counts = {"compared": len(self.rates), "significant": len(ways)}
        return {**counts, "worse": worse, "better": better}

"""The types of a comparison (`Changes`, `CheckChange`); when a check is worse or better."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum
from fractions import Fraction
from typing import Annotated, TypeAlias

from fairaudit.base.frozen import Frozen, field
from fairaudit.base.json_marks import FLAT, RARE, WRITTEN, Member
from fairaudit.cube import Group, Grouping
from fairaudit.judge import AnyCheck, Breach, Check, EvidenceStatus, Finding, Status
from fairaudit.judge.left_out import NOTABLE
from fairaudit.judge.simpson import ReversalKind
from fairaudit.metrics import Eligibility
from fairaudit.metrics.estimate import Estimate, Significance, State
from fairaudit.metrics.inference import Inference
from fairaudit.result import Provenance, Verdict

GroupKey: TypeAlias = tuple[frozenset[tuple[str, str]], frozenset[tuple[str, str]]]
"""A group (of a spread: none) in a stratum, whatever the order of columns."""


def group_key(group: Group, stratum: Group) -> GroupKey:
    """A group in a stratum, as a key."""
    return frozenset(group), frozenset(stratum)


class Direction(StrEnum):
    """Where a number went. Where neither way is better by itself it is only higher or lower."""

    WORSE = "worse"
    BETTER = "better"
    HIGHER = "higher"
    LOWER = "lower"
    SAME = "same"
    UNKNOWN = "unknown"


class Scale(StrEnum):
    """What a change is: after minus before, or after divided by before."""

    DIFFERENCE = "difference"
    RATIO = "ratio"


class Sampling(StrEnum):
    """Whose numbers are set beside each other, which decides what test there is.

    Of the `same_people` no test of independent samples is valid; `paired` ones have both outcomes
    of each person.
    """

    INDEPENDENT = "independent"
    SAME_PEOPLE = "same_people"
    PAIRED = "paired"


class PairedHits(Frozen):
    """The same people by two outcomes: hits of both, of one alone, of neither."""

    both: int
    first_only: int
    second_only: int
    neither: int


class Change(Frozen):
    """How one number changed; `low` and `high` bound `value`, found by the way of `method`.

    `value` is NaN where one of both numbers does not exist. Without an interval or a test `why`
    says so. With `turned` the value went from one side of parity to the other (without a parity: of
    the middle of its limit): then the change is that of its distance from there, and so is `value`.
    `significant`: chance hardly explains it, among all changes of its family; `certain`: it is
    of the same people, and needs no test.
    """

    before: Estimate
    after: Estimate
    scale: Scale
    value: Annotated[float, Member("change")]
    way: Direction
    low: float | None = None
    high: float | None = None
    method: str = ""
    significance: Significance | None = None
    why: Annotated[str, Member("reason")] = ""
    turned: bool = False
    cells: Annotated[PairedHits | None, Member("pairs")] = None
    significant: bool = False
    certain: Annotated[bool, RARE] = False

    def is_established_as(self, way: Direction) -> bool:
        """Whether it went that way, and chance hardly explains it, or has no part in it."""
        return self.way is way and (self.significant or self.certain)

    @property
    def size(self) -> float:
        """How far the number moved, a ratio by its logarithm; below any other where unknown."""
        if math.isnan(self.value):
            return -1.0
        if self.scale is Scale.RATIO:
            return abs(math.log(self.value)) if self.value > 0 else math.inf
        return abs(self.value)


class GroupChange(Frozen):
    """How the value changed that a check has for one group (in a spread: for all) in a stratum.

    `decided` where it was the worst one before, `decides` where it is now.
    """

    group: Group
    stratum: Annotated[Group, Member("given")]
    change: Annotated[Change, FLAT]
    decided: bool = False
    decides: bool = False


class CheckChange(Frozen):
    """A check that both results answer; `recast` where its columns or tests are defined otherwise.

    `groups` are all groups that it judged both times, each beside itself: they are what is tested.
    `change` is that of the worst value, which is information only where it is of other groups:
    then it has no test. Where `groups` is empty, the results do not list them, and `change` is
    tested itself. `lost` are groups that decided it before and are not compared after: without them
    a value may be nearer to its limit though nobody is treated otherwise. `unjudged` are all groups
    that it judged before and does not judge after, with their stratum.
    """

    before: Annotated[Finding, Member("finding_before", only="status group")]
    after: Annotated[Finding, Member("finding_after", only="status group")]
    change: Annotated[Change, FLAT]
    recast: bool = False
    lost: tuple[Group, ...] = ()
    unjudged: tuple[Group, ...] = ()
    groups: tuple[GroupChange, ...] = ()

    @property
    def id(self) -> Annotated[str, WRITTEN]:
        """The id of the check."""
        return self.after.check.id

    @property
    def check(self) -> AnyCheck:
        """What is asked, as the later result has it."""
        return self.after.check

    @property
    def tested(self) -> tuple[Change, ...]:
        """The changes that its tests are of: those of its groups, or of its value."""
        return tuple(group.change for group in self.groups) or (self.change,)

    @property
    def is_tested(self) -> bool:
        """Whether there is a test of any of its values."""
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
        """Whether it did not fail and does, or was evaluated and cannot be any longer."""
        closed = self.after.status in {Status.INCONCLUSIVE, Status.FAIL}
        return closed and self.after.status is not self.before.status

    @property
    def newly_beyond(self) -> Annotated[tuple[Breach, ...], WRITTEN]:
        """Who fails a check that failed before, too, but not for them: another hid them then."""
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
        """Whether it kept the audit from passing, and is within its limit now.

        Not where nothing is left to judge, or where somebody accepts what is beyond the limit.
        """
        after = self.after
        closed = self.before.status in {Status.INCONCLUSIVE, Status.FAIL}
        accepted = after.before is not None and self.before.before is None
        within = after.status is Status.PASS or (after.status is Status.WARN and not accepted)
        answered = after.estimate is None or after.estimate.state is not State.UNDEFINED
        return closed and within and answered and not (self.lost or after.waived)

    @property
    def is_hidden(self) -> bool:
        """Whether it fails both times and suppression hides for whom: it may fail for more."""
        both_fail = self.before.status is self.after.status is Status.FAIL
        hides = not self.before.crossed or not self.after.crossed
        return both_fail and hides and isinstance(self.check, Check)

    @property
    def is_worse(self) -> bool:
        """Whether its status fell, it fails for more, or a group is worse beyond chance.

        Of the same people any value that is worse is worse.
        """
        return (
            self.falls
            or bool(self.newly_beyond)
            or any(change.is_established_as(Direction.WORSE) for change in self.tested)
        )

    @property
    def is_better(self) -> bool:
        """Whether its status recovered, or who was the worst is better by itself, beyond chance.

        A value that is better does not make up for a status that fell, or for a group that is
        worse.
        """
        decided = [group.change for group in self.groups if group.decided]
        worst = decided if self.groups else [self.change]
        better = any(change.is_established_as(Direction.BETTER) for change in worst)
        is_partial = self.lost or self.leaves_out_more
        return not self.is_worse and (self.recovers or (better and not is_partial))

    @property
    def shares_left_out(self) -> tuple[Fraction, Fraction]:
        """The share of the people that it does not judge, before and after."""
        then, now = (
            Fraction(0) if side.left_out is None else side.left_out.find_share()
            for side in (self.before, self.after)
        )
        return then, now

    @property
    def leaves_out_more(self) -> bool:
        """Whether it leaves out more people than before, by a share that a headline names."""
        then, now = self.shares_left_out
        return now - then > NOTABLE

    @property
    def verdict(self) -> Annotated[str, Member("verdict")]:
        """The word for how it changed."""
        if self.is_worse or self.is_better:
            return "worse" if self.is_worse else "better"
        return "unsure" if self.is_tested else "untested"


def _list_failing(finding: Finding) -> tuple[Breach, ...]:
    """What makes a check fail: beyond its limit, with the evidence it asks for, and not waived."""
    waived = {breach for waiver in finding.waived for breach in waiver.crossed}
    supported = {EvidenceStatus.UNASKED, EvidenceStatus.SUPPORTED}
    return tuple(
        breach for breach in finding.crossed if breach.backing in supported and breach not in waived
    )


class DifferentCheck(Frozen):
    """A check of the same id that asks something else, and what of it is not the same."""

    before: Annotated[Finding, Member(only="check status")]
    after: Annotated[Finding, Member(only="check status")]
    why: Annotated[str, Member("changed")]
    is_stricter: Annotated[bool, Member("stricter", rare=True)] = False
    """Whether only its limits changed, and whatever failed before fails now."""


class RateChange(Frozen):
    """A rate of one group (or everybody: `by` and `group` are empty) in both results."""

    metric: str
    of: str
    by: Grouping
    stratum: Annotated[Group, Member("given")]
    group: Group
    standing_before: Eligibility
    standing_after: Eligibility
    change: Annotated[Change, FLAT]
    parameters: Mapping[str, object] = field(default_factory=dict)
    averaged: Annotated[Grouping, Member("averaged_over")] = ()

    @property
    def is_compared(self) -> bool:
        """Whether the group takes part in comparisons both times."""
        return self.standing_before is self.standing_after is Eligibility.ELIGIBLE


class ShareChange(Frozen):
    """A group's people, and its share of all whose group is known; None is hidden, or is none."""

    group: Group
    n_before: int | None
    n_after: int | None
    share_before: float | None
    share_after: float | None

    @property
    def moved(self) -> float | None:
        """How far its share moved, where it has one both times."""
        if self.share_before is None or self.share_after is None:
            return None
        return self.share_after - self.share_before


class PeopleChange(Frozen):
    """How people are spread over the groups of a grouping, and a test that it is as before."""

    by: Grouping
    groups: tuple[ShareChange, ...]
    new: tuple[Group, ...]
    gone: tuple[Group, ...]
    significance: Significance | None
    why: Annotated[str, Member("reason")] = ""
    significant: bool = False

    @property
    def most_moved(self) -> float:
        """By how much the share moved that moved most; 0 where no share is told."""
        return max((abs(group.moved or 0.0) for group in self.groups), default=0.0)


class ReversalChange(Frozen):
    """A reversal that is new (nothing before), gone (nothing after), or of another kind now.

    With `unknown` it is in one result, and this says why the other one does not tell whether it is
    there, too: then it is neither new nor gone. `significant` is whether chance hardly explains
    it, in the later of the results that have it.
    """

    rate: str
    of: str
    attribute: str
    pair: tuple[str, str]
    given: Grouping
    before: ReversalKind | None
    after: ReversalKind | None
    significant: bool
    unknown: Annotated[str, Member("reason", rare=True)] = ""

    @property
    def strength(self) -> tuple[bool, int]:
        """What to tell first: what chance hardly explains, then the stronger kind."""
        kinds = (self.before, self.after)
        return self.significant, max(kind.strength for kind in kinds if kind is not None)


class ComparedResult(Frozen):
    """One of the two results: where it comes from, what it said; `of` where one outcome counts."""

    provenance: Annotated[Provenance, FLAT]
    verdict: Verdict
    exit_code: int
    tally: Annotated[Mapping[Status, int], Member("checks")]
    of: str | None = None


class Changes(Frozen):
    """Everything that is reported of two results, what got worse beyond chance first.

    The tests of `checks` are one family, those of `rates` another, those of `people` a third; all
    are corrected as `inference` says, which is that of the later result. `conditions` are what the
    two audits did not do alike.
    """

    before: ComparedResult
    after: ComparedResult
    sampling: Sampling
    inference: Inference
    checks: tuple[CheckChange, ...]
    otherwise: Annotated[tuple[DifferentCheck, ...], Member("asked_otherwise")]
    only_before: Annotated[tuple[Finding, ...], Member(only="check status")]
    only_after: Annotated[tuple[Finding, ...], Member(only="check status")]
    rates: tuple[RateChange, ...]
    people: tuple[PeopleChange, ...]
    reversals: tuple[ReversalChange, ...]
    conditions: tuple[str, ...]
    new_notices: tuple[str, ...]
    gone_notices: tuple[str, ...]

    @property
    def alpha(self) -> float:
        """The error rate of a test."""
        return self.inference.alpha

    @property
    def worse(self) -> tuple[CheckChange, ...]:
        """The checks that got worse: by their status, or beyond chance."""
        return tuple(check for check in self.checks if check.is_worse)

    @property
    def hidden(self) -> tuple[CheckChange, ...]:
        """The checks that fail, and of which nobody can say that they are not worse."""
        return tuple(check for check in self.checks if check.is_hidden and not check.is_worse)

    @property
    def unjudged(self) -> tuple[CheckChange, ...]:
        """The checks that are not worse for those whom they judge, and judge fewer people."""
        return tuple(
            check
            for check in self.checks
            if (check.unjudged or check.leaves_out_more) and not check.is_worse
        )

    @property
    def dropped(self) -> tuple[Finding, ...]:
        """The earlier checks that the later result does not have, or has with a looser limit."""
        changed = (other.before for other in self.otherwise if not other.is_stricter)
        return (*self.only_before, *changed)

    @property
    def better(self) -> tuple[CheckChange, ...]:
        """The checks that got better, by their status or beyond chance."""
        return tuple(check for check in self.checks if check.is_better)

    @property
    def check_counts(self) -> Annotated[Mapping[str, int], Member("summary.checks")]:
        """How many checks are in both, and how many of them got worse or better."""
        compared, worse, better = map(len, (self.checks, self.worse, self.better))
        return {"compared": compared, "worse": worse, "better": better}

    @property
    def rate_counts(self) -> Annotated[Mapping[str, int], Member("summary.rates")]:
        """How many rates are in both, changed significantly, and got worse or better by that."""
        ways = [rate.change.way for rate in self.rates if rate.change.significant]
        worse, better = (ways.count(way) for way in (Direction.WORSE, Direction.BETTER))
        counts = {"compared": len(self.rates), "significant": len(ways)}
        return {**counts, "worse": worse, "better": better}

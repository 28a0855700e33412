"""Records of the result of a check: `Finding`, `Breach`, `NotEvaluated`, `Waived`, `Before`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Annotated

from fairaudit.base import names
from fairaudit.base.disclosure_marks import declare_subjects
from fairaudit.base.frozen import RARE, SIGNED, WRITTEN, Frozen, Unreadable, field
from fairaudit.cube import Group
from fairaudit.evidence.missing_bounds import MissingBounds
from fairaudit.evidence.practice import DetectableGap, PeopleAffected
from fairaudit.evidence.records import ComparisonPart
from fairaudit.judge.checks import (
    AnyCheck,
    Check,
    EvidenceStatus,
    Limit,
    ReversalCheck,
    ReversalLimit,
    Status,
)
from fairaudit.judge.left_out import MISSING, LeftOutPeople, LeftOutReason
from fairaudit.judge.simpson import Reversal, ScanScope
from fairaudit.judge.subgroups import Subgroup
from fairaudit.metrics import Eligibility
from fairaudit.metrics.estimate import Estimate

MOST_EXACT = 1000
"""Breaches have exact fractions only if a finding has at most this number of them."""


@declare_subjects(row="group stratum value exact between backing lower")
class Breach(Frozen):
    """A value beyond the limit, with its stratum and its group (a spread has no group).

    `backing` says whether the value has the required evidence. `between` contains the group, or
    both groups of a spread. `lower` is set if the signed value is negative.
    """

    group: Group
    stratum: Group = field(name="given")
    value: float
    exact: Fraction | None = None
    between: tuple[Group, ...] = ()
    backing: EvidenceStatus = EvidenceStatus.UNASKED
    lower: bool = False

    @property
    def signed_value(self) -> float:
        """The value with the sign of the difference."""
        return -self.value if self.lower else self.value

    def contradictions(self) -> Iterator[Unreadable]:
        """Yields a contradiction if the value is undefined."""
        if math.isnan(self.value):
            yield Unreadable("is of no value beyond a limit", "state")


@declare_subjects(row="part group stratum value ahead")
class Departure(Frozen):
    """A group over a limit in one part of the metric. It does not necessarily decide the check.

    In a spread, `ahead` groups are compared with the lowest group, others with the highest group.
    """

    part: str
    group: Group
    stratum: Group = field(name="given")
    value: float
    ahead: bool = False


@declare_subjects(
    nobody="group stratum blocks standing tells_people",
    row="reason",
    anybody="detail",
    hidden={"detail": ""},
)
class NotEvaluated(Frozen):
    """A group, stratum or value that a check could not judge, and the reason.

    If `blocks` is set, the check cannot be evaluated. `standing` is the rule that excludes the
    group; None without a rule. `detail` contains the numbers of the group. `tells_people` is set if
    the reason contains the number of people in a stratum, or the share that is not judged.
    """

    group: Group
    stratum: Group = field(name="given")
    reason: str
    blocks: bool
    detail: str = ""
    standing: Eligibility | None = None
    tells_people: bool = False


@declare_subjects(nobody="group reason approved_by expires", row="crossed", hidden={"crossed": ()})
class Waived(Frozen):
    """A waiver that was applied to a check; `group` is () if the waiver is for everybody."""

    group: Group
    reason: str
    approved_by: str
    expires: date
    crossed: tuple[Breach, ...] = ()


@declare_subjects(nobody="path created days tolerance")
class Earlier(Frozen):
    """An earlier report that a check is compared with, its age in `days`, and the tolerance."""

    path: str | None
    created: str
    days: Annotated[int, SIGNED] = field(name="age_days")
    tolerance: Decimal


@declare_subjects(
    nobody="earlier status",
    # The numbers of another report are not protected.
    never="value worse_by worse reversals between own own_worse decided_by stratum",
    hidden={
        "worse": (),
        "reversals": (),
        "between": (),
        "own_worse": (),
        "decided_by": (),
        "stratum": (),
    },
)
class Before(Frozen):
    """The result of a check in an earlier report, compared with the current finding.

    The groups `decided_by` in `stratum` had the earlier deciding `value`. `own` is the earlier
    value of the group (for a spread: of the stratum) that decides now; None if the earlier report
    does not contain it. `worse_by` says how much farther beyond the limit the value is now than
    `own`; None if it is undefined. `worse` are breaches that are new or farther beyond the limit,
    and `own_worse` are their earlier values. `reversals` are new or stronger reversals. `between`
    are the groups of the earlier spread if they are not the current ones.
    """

    earlier: Earlier
    status: str
    value: float | None
    worse_by: float | None = None
    worse: tuple[Breach, ...] = ()
    reversals: tuple[Reversal, ...] = ()
    between: tuple[Group, ...] = ()
    own: float | None = None
    own_worse: tuple[float | None, ...] = ()
    decided_by: tuple[Group, ...] = ()
    stratum: Group = ()

    def contradictions(self) -> Iterator[Unreadable]:
        """Yields a contradiction unless `own_worse` has one entry for each worse breach."""
        if len(self.own_worse) != len(self.worse):
            yield Unreadable("is not one for each", "own_worse")

    def is_decided_alike(self, finding: Finding) -> bool:
        """Whether the same groups in the same stratum decided the status in both results."""
        now = [group for group in (finding.first, finding.second) if group]
        deciders = [{frozenset(group) for group in groups} for groups in (self.decided_by, now)]
        return deciders[0] == deciders[1] and frozenset(self.stratum) == frozenset(finding.stratum)


@declare_subjects(
    nobody="check status limit backing not_enough_evidence definition spread",
    row="estimate why stratum first second worse_off decided_by parts crossed practice departures",
    anybody="detectable missing compared",
    never="subgroup",
    nested="not_evaluated reversals waived before left_out",
    hidden={
        "stratum": (),
        "first": (),
        "second": (),
        "worse_off": (),
        "parts": (),
        "crossed": (),
        "departures": None,
        "not_evaluated": (),
        "reversals": (),
        "waived": (),
        "compared": None,
    },
)
class Finding(Frozen):
    """The result of a check: the deciding value, its groups, and the status.

    `limit` is the limit that was crossed; if no limit was crossed, it is the limit that was
    applied. `first` and `second` are the compared groups. `worse_off` is the group at a
    disadvantage by the better direction of the rate. `spread` is set if the value compares the
    highest and the lowest group. `decided_by` is the rate or outcome that has the value. `backing`
    is the evidence for the value. `not_enough_evidence` is set if a value is beyond a limit but
    lacks the evidence that this limit requires. `practice` is the gap as a number of people.
    `detectable` is the smallest gap that the check could have detected with its number of people.
    `missing` is the possible effect of unknown values. `subgroup` is the deciding subgroup of a
    search. `definition` is a fingerprint of all keys of the check. `left_out` are the people who
    are not judged. `compared` is the scope of a scan for reversals without the columns that could
    not be compared; None if it is the whole scope. `departures` are all groups over the limit of a
    failing spread or maximum of rates; None if the values of single groups are not known.
    """

    check: AnyCheck = field(name="*check")
    status: Status
    estimate: Estimate | None = field(name="*estimate")
    limit: Limit | ReversalLimit | None
    why: str
    stratum: Group = ()
    first: Group = ()
    second: Group = ()
    worse_off: Group = ()
    spread: bool = False
    decided_by: str | None = None
    parts: tuple[ComparisonPart, ...] = ()
    crossed: tuple[Breach, ...] = ()
    not_evaluated: tuple[NotEvaluated, ...] = ()
    reversals: tuple[Reversal, ...] = ()
    backing: EvidenceStatus = EvidenceStatus.UNASKED
    practice: PeopleAffected | None = None
    detectable: DetectableGap | None = None
    waived: tuple[Waived, ...] = ()
    before: Before | None = field(default=None, name="baseline")
    definition: str = ""
    missing: MissingBounds | None = None
    subgroup: Subgroup | None = None
    not_enough_evidence: bool = False
    left_out: Annotated[LeftOutPeople | None, RARE] = None
    compared: Annotated[ScanScope | None, RARE] = None
    departures: Annotated[tuple[Departure, ...] | None, RARE] = None

    def __repr__(self) -> str:
        number = "" if self.value is None else f", value={self.value:.4g}"
        if self.low is not None and self.high is not None:
            number += f" [{self.low:.4g}, {self.high:.4g}]"
        pair = " and ".join(map(names.describe_group, filter(None, (self.first, self.second))))
        limit = "" if self.limit is None else f", limit={str(self.limit)!r}"
        return f"Finding({self.status}: {self.check.id}{number}{limit}{pair and ', of ' + pair})"

    def contradictions(self) -> Iterator[Unreadable]:
        """Yields contradictions in the exact value, the limit, the estimate, or `practice`."""
        check = self.check
        exact = None if self.estimate is None else self.estimate.exact
        if exact is not None and not math.isclose(exact, self.value or 0.0, abs_tol=1e-12):
            yield Unreadable("differs from the value", "exact")
        if check.warn is check.fail is None:
            yield Unreadable("and `warn` are both null, so nothing is judged", "fail")
        if self.limit not in {check.fail, check.warn} - {None}:
            yield Unreadable("is neither limit of the check", "limit")
        if self.estimate is not None and isinstance(check, ReversalCheck):
            yield Unreadable("is not a state of a check on reversals", "state")
        sides = [side for part in self.parts[:1] for side in part.sides]
        has_sides = isinstance(check, Check) and self.estimate is not None and len(sides) > 1
        if self.practice is not None and not has_sides:
            yield Unreadable("is said of a check without a value and its sides", "practice")

    @property
    def is_in_doubt(self) -> bool:
        """Whether a pass is doubtful, because evidence, values or people are missing."""
        is_notable = self.left_out is not None and self.left_out.is_notable
        return self.not_enough_evidence or self.may_turn or is_notable

    @property
    def may_turn(self) -> bool:
        """Whether missing values could change the status, or their effect has no bounds."""
        bounds = self.missing
        return self.people_without_bounds > 0 or (bounds is not None and bounds.may_turn)

    @property
    def could_change(self) -> bool:
        """Whether missing values could change the verdict of a check that does not fail."""
        return self.may_turn and self.status in {Status.PASS, Status.WARN, Status.WAIVED}

    @property
    def people_without_bounds(self) -> int:
        """The people with a missing value whose effect on the status has no bounds.

        They are people of unknown stratum; for a search, all people with a missing value. The
        number is 0 if the status cannot become worse.
        """
        could_be_worse = {Status.PASS, Status.WAIVED, *([Status.WARN] if self.check.fail else [])}
        if self.left_out is None or self.status not in could_be_worse:
            return 0
        without = {LeftOutReason.UNKNOWN_STRATUM}
        if not isinstance(self.check, Check):
            without |= MISSING
        return sum(part.people for part in self.left_out.reasons if part.reason in without)

    @property
    def group(self) -> Annotated[Group, WRITTEN]:
        """The deciding group; in a spread, the highest group."""
        return self.first

    @property
    def value(self) -> float | None:
        """The deciding value; None if the check has no value, or if the value is suppressed."""
        return None if self.estimate is None else self.estimate.known_value

    @property
    def low(self) -> float | None:
        """The lower end of the interval of the value; None without an interval."""
        return None if self.estimate is None else self.estimate.low

    @property
    def high(self) -> float | None:
        """The upper end of the interval of the value; None without an interval."""
        return None if self.estimate is None else self.estimate.high

    @property
    def p(self) -> float | None:
        """The uncorrected p-value of the test of no disparity; None without a test."""
        tested = None if self.estimate is None else self.estimate.significance
        return None if tested is None else tested.p

    @property
    def adjusted_p(self) -> float | None:
        """The p-value, corrected for all tests of the family. Limits with `significant` use it."""
        tested = None if self.estimate is None else self.estimate.significance
        return None if tested is None else tested.adjusted

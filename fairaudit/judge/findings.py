"""The types of findings (`Finding`, `Breach`). Add a field here; judging, searches set it."""

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


@declare_subjects(row="group stratum value exact between backing lower")
class Breach(Frozen):
    """A value beyond the limit, with its group (for a spread: no group) and its stratum.

    `backing` is the evidence for it, if the limit requires evidence; `between` are its groups: that
    group, or the pair of a spread. `lower` is set if the value is the size of a difference below 0.
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
        """The value, negative for the size of a difference below 0."""
        return -self.value if self.lower else self.value

    def contradictions(self) -> Iterator[Unreadable]:
        """Yields a fault if the value is undefined."""
        if math.isnan(self.value):
            yield Unreadable("is of no value beyond a limit", "state")


@declare_subjects(row="part group stratum value ahead")
class Departure(Frozen):
    """A group over the limit of a check by one rate or outcome; another group may decide the check.

    In a spread it is compared with the highest group, or with the lowest one: `ahead`.
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

    With `blocks` the check cannot be evaluated. `standing` is the rule that excludes a group, or
    None, and `detail` the group's numbers. `tells_people`: the reason has the number of people in
    a stratum, or the share of people who are not judged.
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
    """An accepted part of a check: the group (() is everybody), reason, approver and expiry."""

    group: Group
    reason: str
    approved_by: str
    expires: date
    crossed: tuple[Breach, ...] = ()


@declare_subjects(nobody="path created days tolerance")
class Earlier(Frozen):
    """An earlier result for comparison: its path, its age in days, and the tolerance."""

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
    """The result of a check in an earlier report.

    `value` was the deciding value, of the groups `decided_by` in `stratum`. `own` is the earlier
    value of the group (for a spread: the stratum) that decides now, None if the earlier result does
    not have it; `worse_by` is how much farther beyond the limit it is now, None if undefined.
    `worse` are the new or worse crossings, `own_worse` their earlier values; `reversals` likewise.
    `between` are the groups of the earlier spread, if they differ.
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
        """Yields a fault unless each worse breach has an earlier value."""
        if len(self.own_worse) != len(self.worse):
            yield Unreadable("is not one for each", "own_worse")

    def is_decided_alike(self, finding: Finding) -> bool:
        """Whether the same groups in the same stratum decided in both results."""
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
    """The answer to a check: the deciding value, its groups, and the status.

    `limit` is the limit that was crossed, or else the limit that was applied. `first` and `second`
    are the groups compared; `worse_off` is the group at a disadvantage by the direction of the
    rate. `spread` says whether the value compares the highest and the lowest group, `decided_by`
    which rate or outcome attains the value. `backing` is the evidence for it; with
    `not_enough_evidence` a value is beyond a limit but lacks the evidence that this limit requires.
    `practice` gives the gap in people, `detectable` the smallest gap that a pass on that number of
    people could show, `missing` the possible effect of unknown values. `subgroup` is the subgroup
    that decides a search. `definition` is a fingerprint of all keys of the check. `left_out` are
    the people who are not judged. `compared` is the scope of a scan for reversals without columns
    that it could not compare. `departures` are all groups over the limit of a failing spread or
    maximum of rates; None if they are not known one by one.
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
        """Yields faults: the limit must be one of the check, and `practice` needs two sides.

        The exact value must be the value.
        """
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
        """Whether a pass is doubtful: evidence, values, or people are missing."""
        is_notable = self.left_out is not None and self.left_out.is_notable
        return self.not_enough_evidence or self.may_turn or is_notable

    @property
    def may_turn(self) -> bool:
        """Whether missing values could change the status, as far as it is known."""
        bounds = self.missing
        return self.people_without_bounds > 0 or (bounds is not None and bounds.may_turn)

    @property
    def could_change(self) -> bool:
        """Whether missing values could change the verdict of a check that does not fail."""
        return self.may_turn and self.status in {Status.PASS, Status.WARN, Status.WAIVED}

    @property
    def people_without_bounds(self) -> int:
        """The missing people of a check that does not fail, whose effect no bounds show.

        They are those of unknown stratum; for a search, everybody with a missing value.
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
        """The group that decides: in a spread the highest."""
        return self.first

    @property
    def value(self) -> float | None:
        """The deciding value; None if missing or suppressed."""
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
        """The p-value of no disparity, of this test alone; None without a test."""
        tested = None if self.estimate is None else self.estimate.significance
        return None if tested is None else tested.p

    @property
    def adjusted_p(self) -> float | None:
        """The p-value corrected for all tests of its family, which `significant` limits use."""
        tested = None if self.estimate is None else self.estimate.significance
        return None if tested is None else tested.adjusted

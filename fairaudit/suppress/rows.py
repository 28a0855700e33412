"""The rows of a published report: each with its numbers, or without those that are hidden."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, TypeVar, cast

from fairaudit.disclosure import Notice, Subjects, redact
from fairaudit.estimate import HIDDEN, Estimate
from fairaudit.evidence import ComparisonPart, Side
from fairaudit.metrics import NO_MINIMUM, Eligibility
from fairaudit.result import (
    AuditResult,
    ComparisonRow,
    EpsilonReading,
    GroupRow,
    LatticeEntry,
    LatticeRow,
    RateRow,
)
from fairaudit.simpson import Reversal
from fairaudit.suppress.disclosure_support import Support, Value
from fairaudit.suppress.protect import Item
from fairaudit.verdict import Check, Finding, NotEvaluated
from fairaudit.waivers import WaiverOutcome, WaiverState

T = TypeVar("T")
R = TypeVar("R", GroupRow, RateRow)


def _behind(values: Iterable[Value], one: Estimate | None) -> list[Value]:
    """The values behind a number; where there is none, that tells who does not take part."""
    is_none = one is None or math.isnan(one.value)
    return [replace(value, groups=None, wide=True) if is_none else value for value in values]


class Rows:
    """Every kind of row of a result with its numbers, or without them.

    `items` collects what they are made of; `shows` says of each by its number whether it is told,
    and `reason` why one that is not is hidden.
    """

    def __init__(
        self,
        result: AuditResult,
        made: Support,
        items: dict[Item, int],
        shows: Callable[[int], bool],
        reason: str,
    ) -> None:
        self.result = result
        self.made = made
        self.cells = made.cells
        self.items = items
        self.shows = shows
        # How many events are expected of a group tells how large it is.
        self.tells_events = result.provenance.minimum.events is not None
        self.reason = reason
        self.nothing = replace(HIDDEN, reason=reason)

    def published(self, *also: Subjects) -> frozenset[Subjects]:
        """Whose values may be told: without a small cell those of anybody who is counted."""
        return frozenset(also if self.made.is_small else (*also, Subjects.ANYBODY))

    def may(self, counts: frozenset[int], width: int) -> bool:
        """Whether something made of these counts, crossing so many columns, may be printed."""
        item = Item(counts, width)
        return self.shows(self.items.setdefault(item, len(self.items)))

    def may_value(self, values: Iterable[Value]) -> bool:
        """Whether a number may be printed, whichever of the values it is."""
        each = list(values)
        if not each or not all(map(self.made.printable, each)):
            return False
        counts = frozenset().union(*map(self.made.of_value, each))
        return self.may(counts, max(len(one.by) + len(one.given) for one in each))

    def cleared(
        self, row: T, *, is_shown: bool, also: Iterable[Subjects] = (), **each: object
    ) -> T:
        """A row with its own numbers, or without; a number that is hidden says why."""
        if is_shown:
            return redact(row, self.published(Subjects.ROW, *also), **each)
        found = redact(row, frozenset(), **each)
        if getattr(found, "estimate", None) is HIDDEN:
            found = cast("T", replace(cast("Any", found), estimate=self.nothing))
        return found

    def listed(self, rows: Iterable[GroupRow]) -> tuple[GroupRow, ...]:
        """The rows of groups; where some are excluded for their size, none that is hidden."""
        return tuple(one for one in rows if one.n is not None or not self._are_some_left_out)

    @property
    def _are_some_left_out(self) -> bool:
        """Whether a row that is not there would tell how small its group is."""
        return self.result.provenance.exclude_below is not None

    @property
    def _may_some_be_left_out(self) -> bool:
        """Whether who takes part hangs on how many people there are."""
        made = self.result.provenance
        return made.exclude_below is not None or made.minimum != NO_MINIMUM

    def group(self, row: GroupRow) -> GroupRow:
        """A group: people, share and classes each by themselves, and none without its people."""
        mine = self.made.place(row.by, row.stratum, row.group)
        width = len(row.by) + len(row.stratum)
        excluded = self.made.excluded_of(row.by, [row.group])
        is_shown = self.may(self.made.of_marks(mine) | excluded, width)
        share = self.may(self.made.of_marks(mine, self.made.known(row)), width)
        # In a group that is hidden a class of nobody would tell what all the others have.
        counts = {
            name: count
            if self.may(self.made.of_marks(mine, mine & self.cells.of_class(row.of, name)), width)
            else None
            for name, count in row.counts.items()
        }
        also = (Subjects.COMPARED,) if share else ()
        return self._standing(self.cleared(row, is_shown=is_shown, also=also, counts=counts))

    def _standing(self, row: R) -> R:
        """A row without its standing where that tells of few events."""
        if self.tells_events and self.made.is_small:
            return replace(row, standing=Eligibility.SUPPRESSED)
        return row

    def rates(self) -> Iterator[RateRow]:
        """The rates; those that are hidden stand last, as their order would tell them."""
        places = groupby(
            self.result.rates,
            key=lambda row: (
                *(row.metric, row.of, row.by, row.stratum),
                str((row.parameters, row.averaged)),
            ),
        )
        for _, run in places:
            rows = [self.rate(row) for row in run]
            hidden = [row for row in rows if row.estimate.suppressed]
            yield from (row for row in rows if not row.estimate.suppressed)
            if not self._are_some_left_out:
                yield from sorted(hidden, key=lambda row: row.group)

    def rate(self, row: RateRow) -> RateRow:
        """A rate, and how it differs from that of the reference."""
        own = self.made.rate(row, row.group)
        is_shown = self.may_value(own)
        beside = own + (self.made.rate(row, row.reference) if row.reference else [])
        if row.reference == row.group and self._may_some_be_left_out:
            # That it is 0 tells that somebody else takes part.
            beside = [replace(one, groups=None, wide=True) for one in own]
        also = (Subjects.COMPARED,) if self.may_value(beside) and is_shown else ()
        row = replace(row, estimate=self._of_its_own(row.estimate, own))
        return self._standing(self.cleared(row, is_shown=is_shown, also=also))

    def _of_its_own(self, one: Estimate, values: Iterable[Value]) -> Estimate:
        """A value; without its interval where that is made of groups that are hidden, too."""
        whole = [replace(value, groups=None, wide=True) for value in values]
        if not one.borrows or self.may_value(whole):
            return one
        return replace(one, low=None, high=None, method="", no_interval=self.reason)

    def _parts(
        self, parts: Iterable[ComparisonPart], values: Sequence[Value]
    ) -> tuple[ComparisonPart, ...]:
        """The comparisons behind a value, each side with its own interval or none."""

        def own(side: Side | None) -> Side | None:
            return side and replace(side, estimate=self._of_its_own(side.estimate, values))

        return tuple(replace(one, first=own(one.first), second=own(one.second)) for one in parts)

    def comparison(self, row: ComparisonRow) -> ComparisonRow | None:
        """A comparison; who took part is told where all of them are.

        None where it is hidden and of one group: a row that is there would tell that its group
        reaches a minimum, and one that is missing who is the highest.
        """
        values = _behind(self.made.comparison(row), row.estimate)
        is_shown = self.may_value(values)
        if row.group is not None and not is_shown:
            return None
        whole = [replace(one, groups=None, wide=True) for one in values]
        also = (Subjects.COMPARED,) if is_shown and self.may_value(whole) else ()
        row = replace(row, parts=self._parts(row.parts, values))
        return self.cleared(row, is_shown=is_shown, also=also)

    def lattice(self, row: LatticeRow) -> LatticeRow:
        """A subset with the worst value of each measure, where all of them may be seen."""
        crowds = self.cells.crowds(row.by)
        known = [crowds.of_cell == g for g, known in enumerate(crowds.known.tolist()) if known]
        return self.cleared(
            row,
            is_shown=self.may(self.made.of_marks(*known), len(row.by)),
            entries=tuple(self._entry(row, one) for one in row.entries),
            appears=tuple(
                redact(one, self.published(Subjects.ROW))
                for one in row.appears
                if self.may_value(self.made.appearance(one))
            ),
        )

    def _entry(self, row: LatticeRow, one: LatticeEntry) -> LatticeEntry:
        values = _behind(self.made.entry(row, one), one.estimate)
        one = replace(one, parts=self._parts(one.parts, values))
        return self.cleared(one, is_shown=self.may_value(values))

    def epsilon(self, row: EpsilonReading) -> bool:
        """Whether the reading of ε may be told."""
        return self.may_value([self.made.epsilon(row)])

    def reversals(self, several: Iterable[Reversal]) -> tuple[Reversal, ...]:
        """The reversals whose numbers may be told: that there is one tells of the others'."""
        return tuple(
            redact(one, self.published(Subjects.ROW))
            for one in several
            if self.may(self.made.reversal(one), 1 + len(one.given))
        )

    def waiver(self, one: WaiverOutcome) -> WaiverOutcome:
        """A waiver with what became of it; why it was not needed is told of what is counted."""
        is_told = one.state is WaiverState.EXPIRED or not self.made.is_small
        return redact(one, self.published(), why=one.why if is_told else "")

    def notice(self, one: Notice) -> bool:
        """Whether a notice may be told."""
        if one.subjects is Subjects.ROW:
            return self.may_value(map(self.made.counted, one.rates))
        return one.subjects is Subjects.NOBODY or one.subjects in self.published()

    def finding(self, one: Finding) -> Finding:
        """A check: its word stays, its value where everybody it looked at may be seen."""
        check = one.check
        is_shown = True
        if isinstance(check, Check):
            values = _behind([self.made.check(check)], one.estimate)
            is_shown = self.may_value(values)
            one = replace(
                one,
                estimate=one.estimate and self._of_its_own(one.estimate, values),
                parts=self._parts(one.parts, values),
            )
        left_out = tuple(self._left_out(one, is_shown=is_shown))
        found = self.cleared(
            one,
            is_shown=is_shown,
            not_evaluated=left_out,
            reversals=self.reversals(one.reversals),
            waived=tuple(self.cleared(each, is_shown=is_shown) for each in one.waived),
            before=one.before and redact(one.before, self.published()),
        )
        if one.estimate is not None and found.estimate is None:
            found = replace(found, estimate=HIDDEN)
        hidden = not is_shown or len(found.reversals) < len(one.reversals)
        hidden |= {each.reason for each in left_out} < {each.reason for each in one.not_evaluated}
        return replace(found, why=self.reason) if hidden else found

    def _left_out(self, finding: Finding, *, is_shown: bool) -> Iterator[NotEvaluated]:
        """Who was not judged; a reason that tells of people who are hidden is hidden, too."""
        for one in finding.not_evaluated:
            if self._is_told(finding, one, is_shown=is_shown):
                yield redact(one, self.published(Subjects.ROW))
            elif one.blocks:
                yield replace(one, group=(), stratum=(), reason=self.reason, detail="")

    def _is_told(self, finding: Finding, one: NotEvaluated, *, is_shown: bool) -> bool:
        """Whether the one who was not judged may be told, with the reason."""
        check = finding.check
        if isinstance(check, Check) and one.group and one.standing is not None:
            mine = self.made.place(check.by, one.stratum, one.group)
            if not mine.any():
                return False  # its people are no cells, and said to be few
        if not self.made.is_small:
            return True
        if not isinstance(check, Check) or one.standing is Eligibility.FEW_EVENTS:
            return False
        if one.tells_people and not one.group and not one.stratum:
            return False  # a share of people who are in no stratum that is judged
        if one.tells_people and not check.against:
            crowd = self.made.place(check.by, one.stratum, None)
            return self.may(self.made.of_marks(crowd), len(check.by) + len(one.stratum))
        if one.group and one.standing is not None:
            whole = replace(self.made.check(check), groups=(one.group,), wide=True)
            return self.may_value([whole])
        return is_shown

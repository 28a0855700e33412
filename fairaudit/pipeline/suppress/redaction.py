"""Suppression: replaces hidden numbers of a result, with their p-values and intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, TypeVar, cast

from fairaudit.base.disclosure_marks import Notice, Subjects, redact
from fairaudit.base.frozen import replace
from fairaudit.evidence import ComparisonPart, Side
from fairaudit.judge import Check, Finding, NotEvaluated
from fairaudit.judge.simpson import Reversal, list_apart
from fairaudit.judge.waivers import WaiverOutcome, WaiverState
from fairaudit.metrics import NO_MINIMUM, Eligibility
from fairaudit.metrics.estimate import HIDDEN, Estimate
from fairaudit.pipeline.excluded_rows import PUBLISHED_DOUBTS
from fairaudit.pipeline.suppress.disclosure_support import Support, Value
from fairaudit.pipeline.suppress.protection import Pieces, PrintedItem
from fairaudit.result import (
    AuditResult,
    ComparisonRow,
    EpsilonReading,
    GroupRow,
    LatticeRow,
    RateRow,
)

T = TypeVar("T")
R = TypeVar("R", GroupRow, RateRow)


def _widen_undefined(values: Iterable[Value], estimate: Estimate | None) -> list[Value]:
    """The values behind a number; an undefined number depends on all groups."""
    is_none = estimate is None or math.isnan(estimate.value)
    return [value.widen() if is_none else value for value in values]


class Redaction:
    """The rows of a result with their numbers, or without them.

    `items` collects the items that the rows print. `shows` says for the number of an item whether
    it may be printed, and `reason` replaces a hidden number.
    """

    def __init__(
        self,
        result: AuditResult,
        support: Support,
        items: dict[PrintedItem, int],
        shows: Callable[[int], bool],
        reason: str,
    ) -> None:
        self.result = result
        self.support = support
        self.cells = support.cells
        self.items = items
        self.shows = shows
        # The number of expected events of a group shows its size.
        self.uses_events = result.provenance.minimum.events is not None
        self.reason = reason
        self.nothing = replace(HIDDEN, reason=reason)

    def published_subjects(self, *also: Subjects) -> frozenset[Subjects]:
        """The subjects whose values are published; without a small cell, also counts of anybody."""
        return frozenset(also if self.support.hides_people else (*also, Subjects.ANYBODY))

    def may_print(self, counts: frozenset[int], width: int, pieces: Pieces = frozenset()) -> bool:
        """Whether a number from these counts, crossing that many columns, may be printed."""
        return self._may_print_item(PrintedItem(counts, width, pieces))

    def _may_print_item(self, item: PrintedItem) -> bool:
        return self.shows(self.items.setdefault(item, len(self.items)))

    def may_print_value(self, values: Iterable[Value]) -> bool:
        """Whether a number may be printed, if it is one of these values."""
        item = self.support.item_of(tuple(values))
        return item is not None and self._may_print_item(item)

    def redact_row(
        self, row: T, *, is_shown: bool, also: Iterable[Subjects] = (), **nested: object
    ) -> T:
        """A row with its numbers, or without them and with the reason."""
        if is_shown:
            return redact(row, self.published_subjects(Subjects.ROW, *also), **nested)
        redacted = redact(row, frozenset(), **nested)
        if getattr(redacted, "estimate", None) is HIDDEN:
            redacted = cast("T", replace(cast("Any", redacted), estimate=self.nothing))
        return redacted

    def list_groups(self, rows: Iterable[GroupRow]) -> tuple[GroupRow, ...]:
        """The rows of groups; hidden rows are omitted if small groups are excluded."""
        return tuple(row for row in rows if row.n is not None or not self._are_groups_excluded)

    @property
    def _are_groups_excluded(self) -> bool:
        """Whether a missing row would reveal how small its group is."""
        return self.result.provenance.exclude_below is not None

    def redact_group(self, row: GroupRow) -> GroupRow:
        """A group: people, share and each class separately, but nothing without the people."""
        cells = self.support.cells_of(row.by, row.stratum, row.group)
        width = len(row.by) + len(row.stratum)
        excluded = self.support.counts_of_excluded(row.by, [row.group])
        is_shown = self.may_print(self.cells.register_all([cells]) | excluded, width)
        share = self.may_print(
            self.cells.register_all([cells, self.support.known_cells(row)]), width
        )
        # In a hidden group an empty class would reveal the class of all its people.
        counts = {
            name: count
            if self.may_print(
                self.cells.register_all([cells, cells & self.cells.of_class(row.of, name)]), width
            )
            else None
            for name, count in row.counts.items()
        }
        also = (Subjects.COMPARED,) if share else ()
        return self._redact_eligibility(
            self.redact_row(row, is_shown=is_shown, also=also, counts=counts)
        )

    def _redact_eligibility(self, row: R) -> R:
        """A row without its eligibility if that would reveal few events."""
        if self.uses_events and self.support.is_small:
            return replace(row, standing=Eligibility.SUPPRESSED)
        return row

    def redact_rates(self) -> Iterator[RateRow]:
        """The rates; hidden rates come last, because their order would reveal them."""
        places = groupby(
            self.result.rates,
            key=lambda row: (
                *(row.metric, row.of, row.by, row.stratum),
                str((row.parameters, row.averaged)),
            ),
        )
        for _, run in places:
            rows = [self.redact_rate(row) for row in run]
            hidden = [row for row in rows if row.estimate.suppressed]
            yield from (row for row in rows if not row.estimate.suppressed)
            if not self._are_groups_excluded:
                yield from sorted(hidden, key=lambda row: row.group)

    def redact_rate(self, row: RateRow) -> RateRow:
        """A rate, and its difference from the rate of the reference."""
        own = self.support.rate_values(row, row.group)
        is_shown = self.may_print_value(own)
        both = own + (self.support.rate_values(row, row.reference) if row.reference else [])
        origin = self.result.provenance
        by_size = origin.exclude_below is not None or origin.minimum != NO_MINIMUM
        if row.reference == row.group and by_size:
            # A difference of 0 reveals that another group takes part.
            both = [value.widen() for value in own]
        elif row.reference and not self.support.is_named(row.reference, row.by):
            # The name of the largest group that takes part orders the groups by size.
            both = [replace(value, groups=None) for value in own]
        also = (Subjects.COMPARED,) if self.may_print_value(both) and is_shown else ()
        row = replace(row, estimate=self._drop_borrowed_interval(row.estimate, own))
        return self._redact_eligibility(self.redact_row(row, is_shown=is_shown, also=also))

    def _drop_borrowed_interval(self, estimate: Estimate, values: Iterable[Value]) -> Estimate:
        """An estimate; without its interval if that is also computed from hidden groups."""
        whole = [value.widen() for value in values]
        if not estimate.borrows or self.may_print_value(whole):
            return estimate
        return replace(estimate, low=None, high=None, method="", no_interval=self.reason)

    def _redact_parts(
        self, parts: Iterable[ComparisonPart], values: Sequence[Value]
    ) -> tuple[ComparisonPart, ...]:
        """The comparisons behind a value, each side with its interval or without."""

        def redact_side(side: Side | None) -> Side | None:
            return side and replace(
                side, estimate=self._drop_borrowed_interval(side.estimate, values)
            )

        return tuple(
            replace(part, first=redact_side(part.first), second=redact_side(part.second))
            for part in parts
        )

    def redact_comparison(self, row: ComparisonRow) -> ComparisonRow | None:
        """A comparison; the groups that took part are shown if all of them may be.

        None for a hidden comparison of one group: a hidden row would reveal that its group reaches
        the minimum, and a missing row which group is the highest.
        """
        values = _widen_undefined(self.support.comparison_values(row), row.estimate)
        is_shown = self.may_print_value(values)
        if row.group is not None and not is_shown:
            return None
        whole = [value.widen() for value in values]
        also = (Subjects.COMPARED,) if is_shown and self.may_print_value(whole) else ()
        row = replace(row, parts=self._redact_parts(row.parts, values))
        return self.redact_row(row, is_shown=is_shown, also=also)

    def redact_lattice(self, row: LatticeRow) -> LatticeRow:
        """A subset with the worst value of each metric, if all its groups may be shown."""
        entries = []
        for entry in row.entries:
            values = _widen_undefined(self.support.entry_values(row, entry), entry.estimate)
            shown = replace(entry, parts=self._redact_parts(entry.parts, values))
            entries.append(self.redact_row(shown, is_shown=self.may_print_value(values)))
        known = self.cells.register_all(self.cells.group_cells(row.by).each())
        return self.redact_row(
            row,
            is_shown=self.may_print(known, len(row.by)),
            entries=tuple(entries),
            appears=tuple(
                redact(appearance, self.published_subjects(Subjects.ROW))
                for appearance in row.appears
                if self.may_print_value(self.support.appearance_values(appearance))
            ),
        )

    def may_print_epsilon(self, row: EpsilonReading) -> bool:
        """Whether a reading of ε may be printed."""
        return self.may_print_value([self.support.epsilon_value(row)])

    def redact_reversals(self, reversals: Iterable[Reversal]) -> tuple[Reversal, ...]:
        """The reversals whose numbers may be printed."""
        return tuple(
            reversal
            for reversal in self._list_reversals(reversals)
            if self.may_print(self.support.counts_of_reversal(reversal), 1 + len(reversal.given))
        )

    def _list_reversals(self, reversals: Iterable[Reversal]) -> list[Reversal]:
        """The reversals, redacted: no hidden p-value decides their order or whom others repeat."""
        subjects = self.published_subjects(Subjects.ROW)
        redacted = [redact(reversal, subjects) for reversal in reversals]
        return list_apart(redacted, self.result.provenance.inference.alpha)

    def redact_waiver(self, outcome: WaiverOutcome) -> WaiverOutcome:
        """A waiver with its outcome; the reason why it was not needed depends on counts."""
        is_printed = outcome.state is WaiverState.EXPIRED or not self.support.hides_people
        return redact(outcome, self.published_subjects(), why=outcome.why if is_printed else "")

    def may_print_notice(self, notice: Notice) -> bool:
        """Whether a notice may be printed."""
        if notice.subjects is Subjects.ROW:
            return self.may_print_value(map(self.support.notice_value, notice.rates))
        return notice.subjects is Subjects.NOBODY or notice.subjects in self.published_subjects()

    def redact_finding(self, finding: Finding) -> Finding:
        """A finding with its status; with its value if all groups behind it may be shown."""
        check, people = finding.check, finding.left_out
        is_shown = True
        if isinstance(check, Check):
            values = _widen_undefined([self.support.check_value(check)], finding.estimate)
            is_shown = self.may_print_value(values)
            finding = replace(
                finding,
                estimate=finding.estimate
                and self._drop_borrowed_interval(finding.estimate, values),
                parts=self._redact_parts(finding.parts, values),
            )
        left_out = tuple(self._redact_not_evaluated(finding, is_shown=is_shown))
        redacted = self.redact_row(
            finding,
            is_shown=is_shown,
            not_evaluated=left_out,
            reversals=self.redact_reversals(finding.reversals),
            waived=tuple(self.redact_row(waived, is_shown=is_shown) for waived in finding.waived),
            before=finding.before and redact(finding.before, self.published_subjects()),
            left_out=redact(people, ()) if people is not None and people.is_notable else None,
        )
        if finding.estimate is not None and redacted.estimate is None:
            redacted = replace(redacted, estimate=HIDDEN)
        hidden = not is_shown
        hidden |= len(redacted.reversals) < len(self._list_reversals(finding.reversals))
        hidden |= {part.reason for part in left_out} < {
            part.reason for part in finding.not_evaluated
        }
        if not hidden:
            return redacted
        also = [part.reason for part in left_out if part in PUBLISHED_DOUBTS]
        return replace(redacted, why="; ".join([self.reason, *also]))

    def _redact_not_evaluated(self, finding: Finding, *, is_shown: bool) -> Iterator[NotEvaluated]:
        """The groups not evaluated; reasons that reveal hidden people are hidden."""
        for part in finding.not_evaluated:
            if self._may_print_not_evaluated(finding, part, is_shown=is_shown):
                yield redact(part, self.published_subjects(Subjects.ROW))
            elif part.blocks:
                hidden = replace(part, group=(), stratum=(), reason=self.reason, detail="")
                yield replace(hidden, tells_people=False)

    def _may_print_not_evaluated(
        self, finding: Finding, part: NotEvaluated, *, is_shown: bool
    ) -> bool:
        """Whether a group that was not evaluated may be printed with its reason."""
        if part in PUBLISHED_DOUBTS:
            return True
        check = finding.check
        if isinstance(check, Check) and part.group and part.standing is not None:
            cells = self.support.cells_of(check.by, part.stratum, part.group)
            if not cells.any():
                return False  # its few people are in no cell
        if not self.support.hides_people:
            return True
        if not isinstance(check, Check) or part.standing is Eligibility.FEW_EVENTS:
            return False
        if part.tells_people and not part.group and not part.stratum:
            return False  # a share of people in strata that are not judged
        if part.tells_people and not check.against:
            everybody = self.support.cells_of(check.by, part.stratum, None)
            return self.may_print(
                self.cells.register_all([everybody]), len(check.by) + len(part.stratum)
            )
        if part.group and part.standing is not None:
            whole = replace(self.support.check_value(check), groups=(part.group,), wide=True)
            return self.may_print_value([whole])
        return is_shown

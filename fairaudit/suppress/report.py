"""A result as it may be published: what would tell a small count is suppressed, row by row."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby

from fairaudit.cube import Cube
from fairaudit.estimate import Estimate
from fairaudit.evidence import Part
from fairaudit.evidence.appearances import Appearance
from fairaudit.histogram import Histogram
from fairaudit.ledger import Ledger
from fairaudit.metrics import Minimum, Standing
from fairaudit.result import (
    AuditResult,
    ComparisonRow,
    EpsilonReading,
    GroupRow,
    LatticeEntry,
    LatticeRow,
    Provenance,
    RateRow,
)
from fairaudit.simpson import Reversal, hidden
from fairaudit.spec import Shown
from fairaudit.suppress.cells import Cells
from fairaudit.suppress.ledger import published_ledger
from fairaudit.suppress.made import Made, Value
from fairaudit.suppress.protect import Item, Protection, protect
from fairaudit.suppress.scores import Scored
from fairaudit.verdict import Before, Check, Finding, NotEvaluated

_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?\s?%?")


def _unnamed(before: Before) -> Before:
    """What a check said before, without other groups' values: nothing tells how few they were."""
    own_worse = tuple(None for _ in before.own_worse)
    told = replace(before, own=None, own_worse=own_worse, decided_by=(), stratum=())
    return told if before.own == before.value else replace(told, worse_by=None)


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """What a result was computed from: its cube, its questions, its scores by column.

    `columns` are the columns of the data by the names of the spec; `notices` those on the spec and
    its waivers, whose numbers are no people's.
    """

    cube: Cube
    shown: tuple[Shown, ...]
    histograms: Mapping[str, tuple[Histogram, ...]]
    columns: Mapping[str, str]
    notices: tuple[str, ...] = ()


def suppress(
    result: AuditResult, threshold: int, data: Data, *, complementary: bool = True
) -> AuditResult:
    """The result in which nobody can work out a count of 1 to `threshold` - 1 people.

    Small counts are hidden, then as many others as it takes that each of them might as well be
    large, and every number that is made of a hidden count. Raises nothing; what was hidden for the
    size of the problem alone is told by a notice. Without `complementary` only small counts are
    hidden, which protects nobody: that is there to show what the rest is for. See Hundepool et al.,
    Statistical Disclosure Control (2012), ch. 4.
    """
    return _Publication(result, threshold, data).published(complementary=complementary)


class _Publication:
    """Collects what each row is made of, has it decided together, and hides what must be."""

    def __init__(self, result: AuditResult, threshold: int, data: Data) -> None:
        self.result = result
        self.threshold = threshold
        self.data = data
        self.cells = Cells(data.cube)
        min_size = result.provenance.minimum.size
        self.made = Made(self.cells, min_size, threshold, data.shown)
        self.made.few_above_a_cut = self._few_above_a_cut()
        self.reason = f"suppressed: fewer than {threshold} people, or would reveal such a cell"
        self.items: dict[Item, int] = {}
        self.protection = Protection((), frozenset())

    def published(self, *, complementary: bool) -> AuditResult:
        """The result, row by row."""
        # Twice over all rows: first what each of them is made of, then what is left of it.
        self._rows(lambda _: True)
        self.protection = protect(
            self.cells.people,
            self.cells.sets,
            list(self.items),
            self.threshold,
            complementary=complementary,
        )
        return self._rows(lambda at: self.protection.shown[at])

    def _few_above_a_cut(self) -> bool:
        """Whether a number by a cut on the score is made of few people, in any row there is."""
        told = [(self.made.rate(row, row.group), [row.estimate]) for row in self.result.rates]
        told += [(self.made.comparison(row), _sides(row.parts)) for row in self.result.comparisons]
        told += [
            ([self.made.check(one.check)], [*_sides(one.parts), *filter(None, [one.estimate])])
            for one in self.result.findings
            if isinstance(one.check, Check)
        ]
        return any(
            any(value.cut for value in values)
            and any(_is_of_few(one, self.threshold) for one in estimates)
            for values, estimates in told
        )

    def _rows(self, shows: Callable[[int], bool]) -> AuditResult:
        rows = _Rows(self, shows)
        scored = Scored(self.cells, self.threshold, self.data.histograms, rows.may)
        ledger = self.result.ledger
        assert isinstance(ledger, Ledger)
        published = published_ledger(
            ledger, self.cells, self.threshold, self.data.columns, rows.may
        )
        found = replace(
            self.result,
            groups=tuple(map(rows.group, self.result.groups)),
            rates=tuple(rows.rates()),
            comparisons=tuple(filter(None, map(rows.comparison, self.result.comparisons))),
            lattice=tuple(map(rows.lattice, self.result.lattice)),
            epsilons=tuple(filter(rows.epsilon, self.result.epsilons)),
            reversals=tuple(rows.reversals(self.result.reversals)),
            findings=tuple(map(rows.finding, self.result.findings)),
            scores=tuple(map(scored.row, self.result.scores)),
            curves=tuple(scored.curves(self.result.curves)),
            ledger=published,
            model_changes=(),  # so few people change that hardly a count could stay
        )
        provenance = self._provenance(is_read=published.read is not None)
        hidden = any(row.estimate.suppressed for row in found.rates if not row.by)
        notices = tuple(self._notices(are_shares_told=not hidden))
        return replace(found, provenance=provenance, notices=notices)

    def _provenance(self, *, is_read: bool) -> Provenance:
        """Where it comes from; a hash of all counts would let anybody try the few that are open."""
        made = self.result.provenance
        files = made.files
        if not is_read:
            files = tuple(replace(one, bytes=0, lines=None) for one in files)
        return replace(
            made,
            suppress_below=self.threshold,
            files=files,
            rows=made.rows if is_read else None,
            cube_sha256=None if self.made.is_small else made.cube_sha256,
        )

    def _notices(self, *, are_shares_told: bool) -> Iterator[str]:
        """The notices without a small number in them, and one on what was too much to prove."""
        if not self.made.is_small:
            yield from self.result.notices
            return
        for text in self.result.notices:
            numbers = [one.strip() for one in _NUMBER.findall(text)]
            whole = [
                int(one.replace(",", "")) for one in numbers if one[-1].isdigit() and "." not in one
            ]
            is_told = are_shares_told or "%" not in text
            has_few = any(0 < one < self.threshold for one in whole)
            if text in self.data.notices or (is_told and not has_few):
                yield text
        if self.protection.widest is not None:
            yield (
                f"suppression: tables that cross more than {self.protection.widest} columns are "
                "hidden as a whole: there are too many to prove cell by cell; ask for fewer with "
                "`by`"
            )


def _sides(parts: Iterable[Part]) -> list[Estimate]:
    sides = (side for part in parts for side in (part.first, part.second))
    return [side.estimate for side in sides if side is not None]


def _is_of_few(one: Estimate, threshold: int) -> bool:
    """Whether fewer people than the threshold stand above or below the line of a share."""
    under = one.n if one.denominator is None else one.denominator
    if under is None or math.isnan(one.value):
        return False
    over = round(one.value * under) if one.numerator is None else one.numerator
    return any(0 < count < threshold for count in (under, over, under - over))


class _Rows:
    """Every kind of row with its numbers, or without them."""

    def __init__(self, publication: _Publication, shows: Callable[[int], bool]) -> None:
        self.result = publication.result
        self.made = publication.made
        self.cells = publication.cells
        self.items = publication.items
        self.reason = publication.reason
        self.threshold = publication.threshold
        self.shows = shows
        self.told = publication.protection.hidden.isdisjoint
        minimum = self.result.provenance.minimum
        few = minimum.size is not None and 1 < minimum.size < self.threshold
        # How many events are expected of a group tells how large it is, as `min_size` does.
        self.tells_few = few or minimum.events is not None
        self.nothing = Estimate(math.nan, reason=self.reason, suppressed=True)

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

    def group(self, row: GroupRow) -> GroupRow:
        """A group: people, share and classes each by themselves."""
        mine = self.made.place(row.by, row.stratum, row.group)
        width = len(row.by) + len(row.stratum)
        is_shown = self.may(self.made.of_marks(mine), width)
        share = self.may(self.made.of_marks(mine, self.made.known(row)), width)
        counts = {
            name: count
            if self.may(self.made.of_marks(mine & self.cells.of_class(row.of, name)), width)
            else None
            for name, count in row.counts.items()
        }
        return replace(
            row,
            n=row.n if is_shown else None,
            share=row.share if share else None,
            counts=counts,
            standing=row.standing if is_shown else Standing.SUPPRESSED,
        )

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
            yield from sorted(hidden, key=lambda row: row.group)

    def rate(self, row: RateRow) -> RateRow:
        """A rate, and how it differs from that of the reference."""
        own = self.made.rate(row, row.group)
        is_shown = self.may_value(own)
        beside = own + (self.made.rate(row, row.reference) if row.reference else [])
        compared = self.may_value(beside) and is_shown
        return replace(
            row,
            estimate=self.untested(row.estimate) if is_shown else self.nothing,
            standing=row.standing if is_shown else Standing.SUPPRESSED,
            difference=row.difference if compared else None,
            ratio=row.ratio if compared else None,
        )

    def untested(self, one: Estimate) -> Estimate:
        """An estimate without its test: a corrected p-value is made of other groups' p-values."""
        return replace(one, significance=None) if self.made.is_small else one

    def comparison(self, row: ComparisonRow) -> ComparisonRow | None:
        """A comparison; who took part is told where all of them are.

        None where its being there would tell that a group reaches a `min_size` of a few.
        """
        values = self.made.comparison(row)
        if self.may_value(values):
            whole = (self.made.of_value(replace(one, groups=None, wide=True)) for one in values)
            row = replace(row, estimate=self.untested(row.estimate))
            return row if all(map(self.told, whole)) else replace(row, takes_part=None)
        if row.group is not None and self.tells_few:
            return None
        return replace(
            row,
            estimate=self.nothing,
            parts=(),
            decided_by=None,
            first=(),
            second=(),
            takes_part=None,
        )

    def lattice(self, row: LatticeRow) -> LatticeRow:
        """A subset with the worst value of each measure, where all of them may be seen."""
        crowds = self.cells.crowds(row.by)
        known = [crowds.of_cell == g for g, known in enumerate(crowds.known.tolist()) if known]
        smallest = self.may(self.made.of_marks(*known), len(row.by))
        return replace(
            row,
            smallest=row.smallest if smallest else None,
            entries=tuple(self.entry(row, one) for one in row.entries),
            appears=tuple(filter(None, map(self.appearance, row.appears))),
            # How many were tested tells who takes part, and who is all of a larger group.
            tested=None if self.made.is_small else row.tested,
        )

    def appearance(self, one: Appearance) -> Appearance | None:
        """Where a gap first appears; nothing where a count that it is made of is hidden."""
        if not self.may_value(self.made.appearance(one)):
            return None
        return replace(one, significance=None) if self.made.is_small else one

    def entry(self, row: LatticeRow, one: LatticeEntry) -> LatticeEntry:
        """One measure of one subset."""
        if self.may_value(self.made.entry(row, one)):
            return one
        return replace(
            one,
            estimate=self.nothing,
            first=(),
            second=(),
            parts=(),
            decided_by=None,
            departure=math.nan,
        )

    def epsilon(self, row: EpsilonReading) -> bool:
        """Whether the reading of ε may be told."""
        return self.may_value([self.made.epsilon(row)])

    def reversal(self, one: Reversal) -> Reversal:
        """A reversal, with its numbers or with its kind alone."""
        if self.may(self.made.reversal(one), 1 + len(one.given)):
            return one
        return hidden(one.rate, one.of, one.attribute, one.pair, one.given, one.kind)

    def reversals(self, several: Iterable[Reversal]) -> list[Reversal]:
        """The reversals, then the notes; those hidden come last, not in the order of their size."""
        found = [self.reversal(one) for one in several]
        if self.tells_few:
            found = [one for one in found if not one.suppressed]

        def place(one: Reversal) -> tuple[bool, bool, tuple[object, ...]]:
            named = (-one.kind.strength, one.attribute, one.pair, one.given, one.rate)
            return not one.kind.reverses, one.suppressed, named if one.suppressed else ()

        return sorted(found, key=place)

    def finding(self, one: Finding) -> Finding:
        """A check: its word stays, its value where everybody it looked at may be seen."""
        if not isinstance(one.check, Check):
            return replace(
                one,
                reversals=tuple(self.reversals(one.reversals)),
                before=one.before
                and replace(one.before, reversals=tuple(self.reversals(one.before.reversals))),
                not_evaluated=tuple(self._left_out(one, one.not_evaluated, is_shown=True)),
            )
        is_shown = self.may_value([self.made.check(one.check)])
        left_out = tuple(self._left_out(one, one.not_evaluated, is_shown=is_shown))
        if is_shown:
            same = {each.reason for each in left_out} >= {each.reason for each in one.not_evaluated}
            why = one.why if same or not one.why else self.reason
            shown = replace(one, not_evaluated=left_out, why=why)
            return self.alone(replace(shown, before=shown.before and _unnamed(shown.before)))
        return replace(
            one,
            estimate=None if one.estimate is None else self.nothing,
            why=self.reason,
            stratum=(),
            first=(),
            second=(),
            worse_off=(),
            decided_by=None,
            parts=(),
            crossed=(),
            not_evaluated=left_out,
            practice=None,
            detectable=None,
            missing=None,
            waived=tuple(replace(each, crossed=()) for each in one.waived),
            before=one.before
            and replace(_unnamed(one.before), value=None, worse_by=None, worse=(), reversals=()),
        )

    def alone(self, one: Finding) -> Finding:
        """A finding without what is made of others than those it is about.

        The thinnest group may be a hidden one, and so may those who lack a value.
        """
        if not self.made.is_small:
            return one
        estimate = None if one.estimate is None else self.untested(one.estimate)
        return replace(one, estimate=estimate, detectable=None, missing=None)

    def _left_out(
        self, finding: Finding, several: Iterable[NotEvaluated], *, is_shown: bool
    ) -> Iterator[NotEvaluated]:
        """Who was not judged: a reason that says how few they are is hidden, or with them."""
        check = finding.check
        made = self.result.provenance
        minimum = check.minimum if isinstance(check, Check) else made.minimum
        for one in several:
            if self._is_told(finding, one, minimum, is_shown=is_shown):
                # The numbers of the one who is left out are not among those that are proven.
                yield replace(one, detail="") if self.made.is_small else one
            elif one.blocks:
                yield replace(one, reason=self.reason)

    def _is_told(
        self, finding: Finding, one: NotEvaluated, minimum: Minimum, *, is_shown: bool
    ) -> bool:
        if not self.made.is_small:
            return True
        if one.standing in {Standing.SMALL, Standing.ELIGIBLE}:
            # That somebody is below `min_size` says too much where that is a small number.
            return minimum.size is None or minimum.size >= self.threshold
        if one.standing is Standing.FEW_EVENTS:
            return False
        if one.tells_people and not (isinstance(finding.check, Check) and finding.check.against):
            by = finding.check.by if isinstance(finding.check, Check) else ()
            crowd = self.made.place(by, one.stratum, None)
            return self.may(self.made.of_marks(crowd), len(by) + len(one.stratum))
        return is_shown

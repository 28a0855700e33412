"""Suppression of small counts in published reports (`suppress_below`): redaction of all rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import Any, TypeVar, cast

import numpy as np

from fairaudit.base.arrays import MOST_ROUNDING, has_small, is_small
from fairaudit.base.disclosure_marks import Notice, Subjects, redact
from fairaudit.base.frozen import replace
from fairaudit.base.ledger import Ledger, LedgerLine, PublishedLedger, PublishedLine
from fairaudit.cube.histogram import median_bin
from fairaudit.evidence.records import ComparisonPart, Side
from fairaudit.judge import Check, Finding, NotEvaluated, Status, leave_open
from fairaudit.judge.simpson import Reversal
from fairaudit.judge.simpson.scanning import list_apart
from fairaudit.judge.waivers import WaiverOutcome, WaiverState
from fairaudit.metrics import Eligibility
from fairaudit.metrics.estimate import HIDDEN, Estimate
from fairaudit.metrics.terms import NO_MINIMUM
from fairaudit.pipeline.baseline import PROVEN
from fairaudit.pipeline.excluded_rows import BASELINE_DOUBT, PUBLISHED_DOUBTS
from fairaudit.pipeline.suppress.cell_sets import CellSets, ScoreSource
from fairaudit.pipeline.suppress.disclosure_support import Support, Value
from fairaudit.pipeline.suppress.protection import Pieces, PrintedItem, protect
from fairaudit.pipeline.tables.audit import Audit
from fairaudit.result import AuditResult
from fairaudit.result.rows import ComparisonRow, Curve, GroupRow, LatticeRow, RateRow, ScoreRow

T = TypeVar("T")
R = TypeVar("R", GroupRow, RateRow)


def _widen_undefined(values: Iterable[Value], estimate: Estimate | None) -> list[Value]:
    """The values that a number is computed from; an undefined number depends on all groups."""
    is_none = estimate is None or math.isnan(estimate.value)
    return [value.widen() if is_none else value for value in values]


def suppress(result: AuditResult, audit: Audit, threshold: int) -> AuditResult:
    """The result of an audit without any count of 1 to `threshold` - 1 people.

    It hides small counts, and further counts until each small count could be large. It also hides
    all numbers that depend on hidden counts. A notice names tables that are hidden as too large.
    See Hundepool et al., Statistical Disclosure Control (2012), ch. 4.
    """
    return Redaction(result, audit, threshold).publish()


class Redaction:
    """Redacts the rows of a result: removes the numbers that may not be printed.

    A first pass collects the `items` to print; `shown` is None. In a second pass, `shown` says for
    each item whether it may be printed. `reason` is the text in place of a hidden number.
    """

    def __init__(self, result: AuditResult, audit: Audit, threshold: int) -> None:
        self.result = result
        self.threshold = threshold
        self.spec = audit.spec
        self.cells = CellSets(audit.cubes.cube)
        self.scores: dict[str, ScoreSource] = {}
        for name, score in audit.cubes.scores.items():
            first = sum(len(source.pieces) for source in self.scores.values())
            self.scores[name] = ScoreSource(
                score, self.cells, audit.spec, result.curves, threshold, first
            )
        self.support = Support(self.cells, self.scores.values(), audit.spec, threshold)
        assert isinstance(result.ledger, Ledger)
        self.ledger = ledger = result.ledger
        lost = [ledger.filtered, ledger.undecided, *(line.rows for line in ledger.dropped)]
        self.support.hides_values |= any(is_small(rows, threshold) for rows in lost)
        self.support.few_above_a_cut = self._few_above_a_cut() or any(
            source.cuts_few() for source in self.scores.values()
        )
        # The number of expected events of a group shows its size.
        self.uses_events = result.provenance.minimum.events is not None
        # With `exclude_below`, a row with hidden numbers would reveal how small its group is.
        self.lists_hidden = result.provenance.exclude_below is None
        self.reason = f"suppressed: fewer than {threshold} people, or would reveal such a cell"
        self.items: dict[PrintedItem, int] = {}
        self.shown: list[bool] | None = None
        self.widest: dict[str, int | None] = {"tables": None, "numbers of scores": None}

    def publish(self) -> AuditResult:
        """The redacted result."""
        self._redact()  # collects the items
        items = list(self.items)
        cells, bounds = self.cells, self.cells.bounds.values()
        proof = protect(cells.people, cells.sets, items, self.threshold, bounds=bounds)
        self.widest["tables"] = proof.widest
        shown = list(proof.shown)
        printed = {
            n for item, is_shown in zip(items, shown, strict=True) if is_shown for n in item.counts
        }
        # No item may reveal a small piece of a score either.
        every = (source.pieces.items() for source in self.scores.values())
        for place, pieces in chain.from_iterable(every):
            made = {
                at: frozenset(number for of, number in item.pieces if of == place)
                for at, item in enumerate(items)
                if proof.shown[at]
            }
            made = {at: numbers for at, numbers in made.items() if numbers}
            images = (pieces.register_whole(cells.sets[count]) for count in printed)
            of_score = protect(
                pieces.people,
                pieces.sets,
                [PrintedItem(numbers, items[at].width) for at, numbers in made.items()],
                self.threshold,
                known=frozenset().union(*images),
            )
            if of_score.widest is not None:
                widest = self.widest["numbers of scores"] or of_score.widest
                self.widest["numbers of scores"] = min(widest, of_score.widest)
            for at, is_shown in zip(made, of_score.shown, strict=True):
                shown[at] &= is_shown
        # A corrected p-value depends on all p-values, including hidden p-values.
        self.support.hides_people = self.support.hides_values or not all(shown)
        self.shown = shown
        return self._redact()

    def published_subjects(self, *also: Subjects) -> frozenset[Subjects]:
        """The subjects whose values are published: `also`, and anybody if nothing is hidden."""
        return frozenset(also if self.support.hides_people else (*also, Subjects.ANYBODY))

    def may_print(self, counts: frozenset[int], width: int, pieces: Pieces = frozenset()) -> bool:
        """Whether a number from these counts, in a table by `width` columns, may be printed."""
        return self._may_print_item(PrintedItem(counts, width, pieces))

    def _may_print_item(self, item: PrintedItem) -> bool:
        at = self.items.setdefault(item, len(self.items))
        return self.shown is None or not self.support.hides_people or self.shown[at]

    def may_print_value(self, values: Iterable[Value]) -> bool:
        """Whether a number that is one of these values may be printed."""
        item = self.support.item_of(tuple(values))
        return item is not None and self._may_print_item(item)

    def redact_row(
        self, row: T, *, is_shown: bool, also: Iterable[Subjects] = (), **nested: object
    ) -> T:
        """The row if `is_shown`; otherwise the row without numbers, and with the reason."""
        if is_shown:
            return redact(row, self.published_subjects(Subjects.ROW, *also), **nested)
        redacted = redact(row, frozenset(), **nested)
        if getattr(redacted, "estimate", None) is HIDDEN:
            nothing = replace(HIDDEN, reason=self.reason)
            redacted = cast("T", replace(cast("Any", redacted), estimate=nothing))
        return redacted

    def redact_group(self, row: GroupRow) -> GroupRow:
        """A redacted group. Share and classes are hidden separately, or together with people."""
        cells = self.support.cells_of(row.by, row.of, row.stratum, row.group)
        width = len(row.by) + len(row.stratum)
        excluded = self.support.counts_of_excluded(row.by, [row.group])
        is_shown = self.may_print(self.cells.register_all([cells]) | excluded, width)
        everybody = self.support.cells_of(row.by, row.of, row.stratum, None)
        known = everybody & self.cells.group_cells(row.by).of_known
        share = self.may_print(self.cells.register_all([cells, known]), width)
        # In a hidden group, an empty class would reveal the class of all people of the group.
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
        """The row, without its eligibility if that could reveal a small number of events."""
        if self.uses_events and self.support.is_small:
            return replace(row, standing=Eligibility.SUPPRESSED)
        return row

    def redact_rates(self) -> Iterator[RateRow]:
        """The redacted rates. Hidden rates come last, because their places would reveal values."""
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
            if self.lists_hidden:
                yield from sorted(hidden, key=lambda row: row.group)

    def redact_rate(self, row: RateRow) -> RateRow:
        """A redacted rate. Its difference from the rate of the reference is hidden separately."""
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
        """An estimate, without its interval if the interval also depends on hidden groups."""
        whole = [value.widen() for value in values]
        if not estimate.borrows or self.may_print_value(whole):
            return estimate
        return replace(estimate, low=None, high=None, method="", no_interval=self.reason)

    def _redact_parts(
        self, parts: Iterable[ComparisonPart], values: Sequence[Value]
    ) -> tuple[ComparisonPart, ...]:
        """The parts of a value. Sides have no interval that also depends on hidden groups."""

        def redact_side(side: Side | None) -> Side | None:
            return side and replace(
                side, estimate=self._drop_borrowed_interval(side.estimate, values)
            )

        return tuple(
            replace(part, first=redact_side(part.first), second=redact_side(part.second))
            for part in parts
        )

    def redact_comparison(self, row: ComparisonRow) -> ComparisonRow | None:
        """A redacted comparison. It shows which groups took part only if all may be shown.

        Returns None for a hidden comparison of one group, because a row without numbers would
        reveal that the group reaches the minimum.
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
        """A redacted lattice row. A metric has its worst value if all groups may be shown."""
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

    def redact_reversals(self, reversals: Iterable[Reversal]) -> tuple[Reversal, ...]:
        """The reversals whose numbers may be printed."""
        return tuple(
            reversal
            for reversal in self._list_reversals(reversals)
            if self.may_print(self.support.counts_of_reversal(reversal), 1 + len(reversal.given))
        )

    def _list_reversals(self, reversals: Iterable[Reversal]) -> list[Reversal]:
        """The redacted reversals, whose order and repetitions do not depend on hidden p-values."""
        subjects = self.published_subjects(Subjects.ROW)
        redacted = [redact(reversal, subjects) for reversal in reversals]
        return list_apart(redacted, self.result.provenance.inference.alpha)

    def redact_waiver(self, outcome: WaiverOutcome) -> WaiverOutcome:
        """A waiver with its outcome. The reason is hidden if it may depend on hidden counts."""
        is_printed = outcome.state is WaiverState.EXPIRED or not self.support.hides_people
        return redact(outcome, self.published_subjects(), why=outcome.why if is_printed else "")

    def may_print_notice(self, notice: Notice) -> bool:
        """Whether a notice may be printed."""
        if notice.subjects is Subjects.ROW:
            values = (
                self.support.plain_value(rate.rate, rate.of, rate.by) for rate in notice.rates
            )
            return self.may_print_value(values)
        return notice.subjects is Subjects.NOBODY or notice.subjects in self.published_subjects()

    def redact_finding(self, finding: Finding) -> Finding:
        """A redacted finding. It has a status, and a value if all its groups may be shown."""
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
        all_reversals = self._list_reversals(finding.reversals)
        reversals = self.redact_reversals(finding.reversals)
        if not is_shown or len(reversals) < len(all_reversals):
            finding = _ignore_baseline(finding)
        left_out = []
        for part in finding.not_evaluated:
            if self._may_print_not_evaluated(finding, part, is_shown=is_shown):
                left_out.append(redact(part, self.published_subjects(Subjects.ROW)))
            elif part.blocks:
                hidden = replace(part, group=(), stratum=(), reason=self.reason, detail="")
                left_out.append(replace(hidden, tells_people=False))
        redacted = self.redact_row(
            finding,
            is_shown=is_shown,
            not_evaluated=tuple(left_out),
            reversals=reversals,
            waived=tuple(self.redact_row(waived, is_shown=is_shown) for waived in finding.waived),
            before=finding.before and redact(finding.before, self.published_subjects()),
            left_out=redact(people, ()) if people is not None and people.is_notable else None,
        )
        if finding.estimate is not None and redacted.estimate is None:
            redacted = replace(redacted, estimate=HIDDEN)
        reasons = {part.reason for part in finding.not_evaluated}
        is_whole = is_shown and not {part.reason for part in left_out} < reasons
        if is_whole and len(reversals) == len(all_reversals):
            return redacted
        also = [part.reason for part in left_out if part in PUBLISHED_DOUBTS]
        return replace(redacted, why="; ".join([self.reason, *also]))

    def _may_print_not_evaluated(
        self, finding: Finding, part: NotEvaluated, *, is_shown: bool
    ) -> bool:
        """Whether a group that was not evaluated may be printed with its reason."""
        if part in PUBLISHED_DOUBTS:
            return True
        check = finding.check
        if isinstance(check, Check) and part.group and part.standing is not None:
            cells = self.support.cells_of(check.by, check.of, part.stratum, part.group)
            if not cells.any():
                return False  # no cell has the few people of this group
        if not self.support.hides_people:
            return True
        if not isinstance(check, Check) or part.standing is Eligibility.FEW_EVENTS:
            return False
        if part.tells_people and not part.group and not part.stratum:
            return False  # the reason has a share of people in strata that are not judged
        if part.tells_people and not check.against:
            everybody = self.support.cells_of(check.by, check.of, part.stratum, None)
            return self.may_print(
                self.cells.register_all([everybody]), len(check.by) + len(part.stratum)
            )
        if part.group and part.standing is not None:
            whole = replace(self.support.check_value(check), groups=(part.group,), wide=True)
            return self.may_print_value([whole])
        return is_shown

    def redact_score(self, row: ScoreRow) -> ScoreRow:
        """The scores of a group. Extremes and median are shown only if many people have them."""
        if not self._may_print_scores(row, with_steps=False):
            return redact(row, frozenset())
        histograms = self.scores[row.column].histograms
        histogram = next(one for one in histograms if one.by == row.by)
        people = histogram.people[0, :, histogram.groups.index(row.group)].sum(axis=0)
        used = np.flatnonzero(people)
        is_many = people >= self.threshold
        shared = histogram.bins.single & is_many
        return replace(
            row,
            lowest=row.lowest if shared[used[0]] else None,
            highest=row.highest if shared[used[-1]] else None,
            median=row.median if is_many[median_bin(people)] else None,
        )

    def _may_print_scores(self, row: ScoreRow | Curve, *, with_steps: bool) -> bool:
        """Whether numbers from the scores of a group may be printed."""
        marks = self.cells.group_cells(row.by).within(row.group)
        score = self.scores[row.column]
        pieces = score.pieces_of(marks, with_steps=with_steps)
        if pieces is None or not score.is_whole:
            return False
        return self.may_print(score.counts_of(marks), len(row.by), pieces)

    def _few_above_a_cut(self) -> bool:
        """Whether a share that depends on a cut of the score counts few people.

        The numerator, the rest of the denominator, or the whole denominator may be small.
        """
        behind = [
            (self.support.rate_values(row, row.group), [row.estimate]) for row in self.result.rates
        ]
        behind += [
            (self.support.comparison_values(row), _sides(row.parts))
            for row in self.result.comparisons
        ]
        behind += [
            (
                [self.support.check_value(finding.check)],
                [*_sides(finding.parts), *filter(None, [finding.estimate])],
            )
            for finding in self.result.findings
            if isinstance(finding.check, Check)
        ]
        shares = (estimates for values, estimates in behind if any(value.cut for value in values))
        for share in chain.from_iterable(shares):
            under = share.n if share.denominator is None else share.denominator
            if under is None or math.isnan(share.value):
                continue
            over = round(share.value * under) if share.numerator is None else share.numerator
            if any(is_small(count, self.threshold) for count in (under, over, under - over)):
                return True
        return False

    def _redact(self) -> AuditResult:
        result, published_ledger = self.result, self._redact_ledger()
        findings = tuple(map(self.redact_finding, result.findings))
        # With a hash of all counts, readers could test guesses of hidden counts.
        subjects = self.published_subjects()
        provenance = replace(result.provenance, suppress_below=self.threshold)
        return redact(
            result,
            subjects,
            provenance=redact(
                provenance,
                subjects,
                files=tuple(redact(file, subjects) for file in provenance.files),
                rows=published_ledger.read,
                weight_error=MOST_ROUNDING[0] if provenance.weight else 0.0,
            ),
            ledger=published_ledger,
            groups=tuple(
                row
                for row in map(self.redact_group, result.groups)
                if row.n is not None or self.lists_hidden
            ),
            rates=tuple(self.redact_rates()),
            comparisons=tuple(filter(None, map(self.redact_comparison, result.comparisons))),
            lattice=tuple(map(self.redact_lattice, result.lattice)),
            epsilons=tuple(
                row
                for row in result.epsilons
                if self.may_print_value(
                    [self.support.plain_value("differential_fairness", row.of, row.by)]
                )
            ),
            reversals=self.redact_reversals(result.reversals),
            findings=findings,
            notices=(
                *filter(self.may_print_notice, result.notices),
                *self._describe_suppression(findings),
            ),
            scores=tuple(map(self.redact_score, result.scores)),
            curves=tuple(
                row if self._may_print_scores(row, with_steps=True) else redact(row, frozenset())
                for row in result.curves
            ),
            waivers=tuple(map(self.redact_waiver, result.waivers)),
        )

    def _redact_ledger(self) -> Ledger | PublishedLedger:
        """The ledger without small numbers; unchanged if there is nothing to hide.

        The number of rows read is the sum of the rows counted and the rows lost. So the number of
        rows read is hidden unless each hidden line of lost rows could be as large as the threshold.
        """
        ledger = self.ledger
        shows_counted = self.may_print(self.cells.register_all([self.cells.all_cells]), 0)
        lost = [(ledger.filtered, ledger.filtered), (ledger.undecided, ledger.undecided)]
        lost += [(line.rows, line.people) for line in ledger.dropped]
        hidden = {
            index
            for index, counts in enumerate(lost)
            if any(is_small(count, self.threshold) for count in counts)
        }
        # Hide the smallest other lines until each hidden line could be as large as the threshold
        # while all other hidden lines have one row each.
        shows_read = True
        while hidden and (
            len(hidden) < 2 or sum(lost[index][0] - 1 for index in hidden) < self.threshold - 1
        ):
            others = [(rows, at) for at, (rows, _) in enumerate(lost) if rows and at not in hidden]
            if not others:
                shows_read = False
                break
            hidden.add(min(others)[1])
        shows_aside = [*map(self._may_print_line, ledger.set_aside)]
        if shows_counted and shows_read and not hidden and all(shows_aside):
            return ledger

        def publish(line: LedgerLine, *, is_shown: bool) -> PublishedLine:
            rows, people = (line.rows, line.people) if is_shown else (None, None)
            return PublishedLine(rows, people, line.column, line.reason)

        return PublishedLedger(
            read=ledger.read if shows_read and shows_counted else None,
            counted=ledger.counted if shows_counted else None,
            people=ledger.people if shows_counted else None,
            filtered=None if 0 in hidden else ledger.filtered,
            undecided=None if 1 in hidden else ledger.undecided,
            dropped=tuple(
                publish(line, is_shown=index not in hidden)
                for index, line in enumerate(ledger.dropped, 2)
            ),
            set_aside=tuple(
                publish(line, is_shown=is_shown)
                for line, is_shown in zip(ledger.set_aside, shows_aside, strict=True)
            ),
        )

    def _may_print_line(self, line: LedgerLine) -> bool:
        """Whether a line of the ledger on people who were set aside may be printed."""
        columns = {attribute.name: attribute.column.value for attribute in self.spec.groupable}
        columns |= {outcome.name: outcome.column.value for outcome in self.spec.outcomes}
        keys = [
            name
            for name, column in columns.items()
            if column == line.column and self.cells.has(name)
        ]
        for missing in map(self.cells.missing, keys):
            if missing.any() and self.cells.total(missing) == line.people:
                return self.may_print(self.cells.register_all([missing]), 1)
        if keys and has_small(self.cells.people, self.threshold):
            return False  # the line counts only some of the people in these cells
        # Cells do not show who lacks a number, so all lines on this column must be large.
        return not any(
            is_small(other.rows, self.threshold) or is_small(other.people, self.threshold)
            for other in self.ledger.set_aside
            if other.column == line.column
        )

    def _describe_suppression(self, findings: Sequence[Finding]) -> Iterator[Notice]:
        """Notices on statuses that depend on hidden numbers, and on completely hidden tables."""
        hidden = sum(
            finding.estimate is not None and finding.estimate.suppressed for finding in findings
        )
        if hidden:
            checks = "1 check looks" if hidden == 1 else f"{hidden:,} checks look"
            yield Notice(
                f"suppression: {checks} at hidden numbers: a verdict reveals on which side of "
                "its limits such a number is, and how sure that is",
                Subjects.NOBODY,
            )
        # The notice does not depend on people of unknown stratum, who are always hidden.
        settled = {Status.INCONCLUSIVE, Status.FAIL}
        checks_in_doubt = [row.check for row in findings if row.status not in settled]
        if any(self.support.hides_people or getattr(one, "strata", 1) for one in checks_in_doubt):
            yield Notice(
                "suppression: whether people with missing values could change a verdict is hidden, "
                "so a check that passes here may be in doubt: read the report without "
                "`suppress_below`",
                Subjects.NOBODY,
            )
        for what, widest in self.widest.items():
            if widest is not None:
                yield Notice(
                    f"suppression: {what} that cross more than {widest} columns are hidden as a "
                    "whole: there are too many to prove cell by cell; ask for fewer with `by`",
                    Subjects.NOBODY,
                )


def _ignore_baseline(finding: Finding) -> Finding:
    """A finding with hidden numbers, not compared with the baseline: this would reveal counts.

    A check that was over its limit before and is within it now is open: a group may be missing.
    """
    before, limit = finding.before, finding.check.fail
    if before is None:
        return finding
    crosses = bool(finding.crossed or finding.reversals) and finding.status is not Status.WAIVED
    if limit is not None and crosses and finding.limit == limit and finding.backing in PROVEN:
        finding = replace(finding, status=Status.FAIL)
    elif before.status == Status.PASS:
        return finding
    return leave_open(finding, [BASELINE_DOUBT], {Status.FAIL})


def _sides(parts: Iterable[ComparisonPart]) -> list[Estimate]:
    return [side.estimate for part in parts for side in part.sides]

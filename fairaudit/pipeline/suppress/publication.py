"""Suppression of small counts in published reports (`suppress_below`): the entry point."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from fairaudit.base.arrays import MOST_ROUNDING, has_small, is_small
from fairaudit.base.disclosure_marks import Notice, Subjects, redact
from fairaudit.base.frozen import replace
from fairaudit.base.ledger import Ledger, LedgerLine, PublishedLedger, PublishedLine
from fairaudit.evidence import ComparisonPart
from fairaudit.judge import Check, Finding
from fairaudit.metrics.estimate import Estimate
from fairaudit.pipeline.suppress.cell_sets import CellSets
from fairaudit.pipeline.suppress.disclosure_support import Support
from fairaudit.pipeline.suppress.protection import MayPrint, PrintedItem, Protection, protect
from fairaudit.pipeline.suppress.redaction import Redaction
from fairaudit.pipeline.suppress.scores import ScoreRedaction, ScoreSets, ScoreSource
from fairaudit.pipeline.tables import Audit
from fairaudit.result import AuditResult


def _publish_line(line: LedgerLine, *, is_shown: bool) -> PublishedLine:
    if not is_shown:
        return PublishedLine(None, None, line.column, line.reason)
    return PublishedLine(line.rows, line.people, line.column, line.reason)


def suppress(result: AuditResult, audit: Audit, threshold: int) -> AuditResult:
    """The result of an audit without any count of 1 to `threshold` - 1 people.

    It hides small counts, then enough other counts for each small count to be possibly large, and
    all numbers that are computed from hidden counts. A notice lists tables that are hidden because
    the problem is too large. See Hundepool et al., Statistical Disclosure Control (2012), ch. 4.
    """
    return _Publication(result, audit, threshold).publish()


class _Publication:
    """Collects the counts behind all rows, decides which may be printed, and hides the others."""

    def __init__(self, result: AuditResult, audit: Audit, threshold: int) -> None:
        self.result = result
        self.threshold = threshold
        self.spec = audit.spec
        self.cells = CellSets(audit.cubes.cube)
        sources = {
            name: ScoreSource.of(score, audit.spec, result.curves)
            for name, score in audit.cubes.scores.items()
        }
        self.scores = ScoreSets(self.cells, sources, threshold)
        provenance = result.provenance
        self.support = Support(
            self.cells,
            self.scores,
            provenance.minimum.size,
            provenance.exclude_below,
            threshold,
            audit.spec.requests,
        )
        ledger = result.ledger
        assert isinstance(ledger, Ledger)
        lost = [ledger.filtered, ledger.undecided, *(line.rows for line in ledger.dropped)]
        self.support.hides_values |= any(is_small(rows, threshold) for rows in lost)
        self.support.few_above_a_cut = self._few_above_a_cut() or any(
            source.cuts.are_of_few(threshold) for source in sources.values()
        )
        self.reason = f"suppressed: fewer than {threshold} people, or would reveal such a cell"
        self.items: dict[PrintedItem, int] = {}
        self.protection = Protection((), frozenset())
        self.widest_scores: int | None = None

    def publish(self) -> AuditResult:
        """The result, row by row."""
        # The first pass over all rows collects the items, the second pass hides some of them.
        self._redact(lambda _: True)
        self.protection = protect(
            self.cells.people,
            self.cells.sets,
            list(self.items),
            self.threshold,
            bounds=self.cells.bounds.values(),
        )
        shown = self._protect_pieces(list(self.items), self.protection)
        # A corrected p-value is computed from all others, hidden ones as well.
        self.support.hides_people = self.support.hides_values or not all(shown)
        return self._redact(lambda at: not self.support.hides_people or shown[at])

    def _protect_pieces(self, items: Sequence[PrintedItem], protection: Protection) -> list[bool]:
        """Which items may be printed without revealing a small piece of a score."""
        shown = list(protection.shown)
        printed = {
            count
            for item, is_shown in zip(items, protection.shown, strict=True)
            if is_shown
            for count in item.counts
        }
        for place, pieces in enumerate(self.scores.pieces):
            made = {
                at: frozenset(number for of, number in item.pieces if of == place)
                for at, item in enumerate(items)
                if protection.shown[at]
            }
            made = {at: numbers for at, numbers in made.items() if numbers}
            images = (pieces.register_whole(self.cells.sets[count]) for count in printed)
            proof = protect(
                pieces.people,
                pieces.sets,
                [PrintedItem(numbers, items[at].width) for at, numbers in made.items()],
                self.threshold,
                known=frozenset().union(*images),
            )
            if proof.widest is not None:
                self.widest_scores = min(self.widest_scores or proof.widest, proof.widest)
            for at, is_shown in zip(made, proof.shown, strict=True):
                shown[at] &= is_shown
        return shown

    def _few_above_a_cut(self) -> bool:
        """Whether a row with a number that depends on a cut of the score has few people."""
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
        return any(
            any(value.cut for value in values)
            and any(_is_of_few(estimate, self.threshold) for estimate in estimates)
            for values, estimates in behind
        )

    def _redact(self, shows: Callable[[int], bool]) -> AuditResult:
        redaction = Redaction(self.result, self.support, self.items, shows, self.reason)
        scores = ScoreRedaction(self.scores, self.threshold, redaction.may_print)
        result, published_ledger = self.result, self._redact_ledger(redaction.may_print)
        findings = tuple(map(redaction.redact_finding, result.findings))
        # A hash of all counts would allow readers to test guesses of the hidden counts.
        subjects = redaction.published_subjects()
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
            groups=redaction.list_groups(map(redaction.redact_group, result.groups)),
            rates=tuple(redaction.redact_rates()),
            comparisons=tuple(filter(None, map(redaction.redact_comparison, result.comparisons))),
            lattice=tuple(map(redaction.redact_lattice, result.lattice)),
            epsilons=tuple(filter(redaction.may_print_epsilon, result.epsilons)),
            reversals=redaction.redact_reversals(result.reversals),
            findings=findings,
            notices=(
                *filter(redaction.may_print_notice, result.notices),
                *self._describe_suppression(findings),
            ),
            scores=tuple(map(scores.redact_row, result.scores)),
            curves=tuple(map(scores.redact_curve, result.curves)),
            waivers=tuple(map(redaction.redact_waiver, result.waivers)),
        )

    def _redact_ledger(self, may_print: MayPrint) -> Ledger | PublishedLedger:
        """The ledger without small numbers; unchanged if there is nothing to hide.

        The rows read are the rows counted and the rows lost: each hidden line of lost rows must be
        able to hold as many as the threshold, or the rows read are hidden, too.
        """
        ledger = self.result.ledger
        assert isinstance(ledger, Ledger)
        everybody = self.cells.register(self.cells.all_cells)
        shows_counted = everybody is None or may_print(frozenset([everybody]), 0)
        lost = [(ledger.filtered, ledger.filtered), (ledger.undecided, ledger.undecided)]
        lost += [(line.rows, line.people) for line in ledger.dropped]
        hidden = {
            index
            for index, counts in enumerate(lost)
            if any(is_small(count, self.threshold) for count in counts)
        }
        # The smallest other lines are hidden until each hidden line could hold as many as the
        # threshold, if the other hidden lines have one row each.
        shows_read = True
        while hidden and (
            len(hidden) < 2 or sum(lost[index][0] - 1 for index in hidden) < self.threshold - 1
        ):
            others = [(rows, at) for at, (rows, _) in enumerate(lost) if rows and at not in hidden]
            if not others:
                shows_read = False
                break
            hidden.add(min(others)[1])
        shows_aside = [self._may_print_line(line, ledger, may_print) for line in ledger.set_aside]
        if shows_counted and shows_read and not hidden and all(shows_aside):
            return ledger
        return PublishedLedger(
            read=ledger.read if shows_read and shows_counted else None,
            counted=ledger.counted if shows_counted else None,
            people=ledger.people if shows_counted else None,
            filtered=None if 0 in hidden else ledger.filtered,
            undecided=None if 1 in hidden else ledger.undecided,
            dropped=tuple(
                _publish_line(line, is_shown=index not in hidden)
                for index, line in enumerate(ledger.dropped, 2)
            ),
            set_aside=tuple(
                _publish_line(line, is_shown=is_shown)
                for line, is_shown in zip(ledger.set_aside, shows_aside, strict=True)
            ),
        )

    def _may_print_line(self, line: LedgerLine, ledger: Ledger, may_print: MayPrint) -> bool:
        """Whether a line on people set aside may be printed; for a key they are a set of cells."""
        columns = {attribute.name: attribute.column.value for attribute in self.spec.groupable}
        columns |= {outcome.name: outcome.column.value for outcome in self.spec.outcomes}
        keys = [
            name
            for name, column in columns.items()
            if column == line.column and self.cells.has(name)
        ]
        for missing in map(self.cells.missing, keys):
            count = self.cells.register(missing)
            if count is not None and self.cells.total(missing) == line.people:
                return may_print(frozenset([count]), 1)
        if keys and has_small(self.cells.people, self.threshold):
            return False  # an unknown part of the people in these cells
        # People who lack a number are not a set of cells, and neither are the other people.
        return not any(
            is_small(other.rows, self.threshold) or is_small(other.people, self.threshold)
            for other in ledger.set_aside
            if other.column == line.column
        )

    def _describe_suppression(self, findings: Sequence[Finding]) -> Iterator[Notice]:
        """Notices on verdicts that depend on hidden numbers, and on tables hidden as a whole."""
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
        hidden_whole = {"tables": self.protection.widest, "numbers of scores": self.widest_scores}
        for what, widest in hidden_whole.items():
            if widest is not None:
                yield Notice(
                    f"suppression: {what} that cross more than {widest} columns are hidden as a "
                    "whole: there are too many to prove cell by cell; ask for fewer with `by`",
                    Subjects.NOBODY,
                )


def _sides(parts: Iterable[ComparisonPart]) -> list[Estimate]:
    sides = (side for part in parts for side in (part.first, part.second))
    return [side.estimate for side in sides if side is not None]


def _is_of_few(estimate: Estimate, threshold: int) -> bool:
    """Whether a share has fewer people than the threshold in or outside its numerator."""
    under = estimate.n if estimate.denominator is None else estimate.denominator
    if under is None or math.isnan(estimate.value):
        return False
    over = round(estimate.value * under) if estimate.numerator is None else estimate.numerator
    return any(is_small(count, threshold) for count in (under, over, under - over))

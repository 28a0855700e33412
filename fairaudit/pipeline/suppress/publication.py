"""Suppression (entry point): passes over a result; its notices and reason."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from fairaudit.base.disclosure_marks import Subjects, redact
from fairaudit.base.fixed_point import MOST_ROUNDING
from fairaudit.base.frozen import Frozen, replace
from fairaudit.base.ledger import Ledger
from fairaudit.base.notice import Notice
from fairaudit.base.small_counts import is_small
from fairaudit.cube import Cube
from fairaudit.evidence import ComparisonPart
from fairaudit.judge import Check, Finding
from fairaudit.metrics.estimate import Estimate
from fairaudit.pipeline.recode import Cubes
from fairaudit.pipeline.suppress.cell_sets import CellSets
from fairaudit.pipeline.suppress.disclosure_support import Support
from fairaudit.pipeline.suppress.ledger_redaction import LedgerRedaction
from fairaudit.pipeline.suppress.protection import PrintedItem, Protection, protect
from fairaudit.pipeline.suppress.redaction import Redaction
from fairaudit.pipeline.suppress.scores import ScoreRedaction, ScoreSets, ScoreSource
from fairaudit.result import AuditResult, Curve, Provenance
from fairaudit.spec import MetricRequest, Spec


class SuppressionSource(Frozen, eq=False):
    """What a result was computed from: its cube, its requests, its scores by column.

    `columns` are the columns of the data by the names of the spec.
    """

    cube: Cube
    requests: tuple[MetricRequest, ...]
    scores: Mapping[str, ScoreSource]
    columns: Mapping[str, str]

    @classmethod
    def of(cls, spec: Spec, cubes: Cubes, curves: Sequence[Curve]) -> SuppressionSource:
        """What the result of a spec was computed from."""
        columns = {attribute.name: attribute.column.value for attribute in spec.groupable}
        columns |= {outcome.name: outcome.column.value for outcome in spec.outcomes}
        return cls(
            cube=cubes.cube,
            requests=spec.requests,
            scores={
                name: ScoreSource.of(score, spec, curves) for name, score in cubes.scores.items()
            },
            columns=columns,
        )


def suppress(result: AuditResult, threshold: int, data: SuppressionSource) -> AuditResult:
    """The result in which nobody can work out a count of 1 to `threshold` - 1 people.

    Small counts are hidden, then as many others as are needed so that each small one might as well
    be large, and every number that is computed from a hidden count. A notice says what was hidden
    for the size of the problem alone. See Hundepool et al., Statistical Disclosure Control (2012),
    ch. 4.
    """
    return _Publication(result, threshold, data).publish()


class _Publication:
    """Collects the counts behind all rows, decides which may be printed, and hides the others."""

    def __init__(self, result: AuditResult, threshold: int, data: SuppressionSource) -> None:
        self.result = result
        self.threshold = threshold
        self.data = data
        self.cells = CellSets(data.cube)
        self.scores = ScoreSets(self.cells, data.scores, threshold)
        provenance = result.provenance
        self.support = Support(
            self.cells,
            self.scores,
            provenance.minimum.size,
            provenance.exclude_below,
            threshold,
            data.requests,
        )
        self.support.few_above_a_cut = self._few_above_a_cut() or any(
            score.cuts.are_of_few(threshold) for score in data.scores.values()
        )
        self.reason = f"suppressed: fewer than {threshold} people, or would reveal such a cell"
        self.items: dict[PrintedItem, int] = {}
        self.protection = Protection((), frozenset())
        self.widest_scores: int | None = None

    def publish(self) -> AuditResult:
        """The result, row by row."""
        # Twice over all rows: first the counts behind each, then what may be printed of it.
        self._redact(lambda _: True)
        self.protection = protect(
            self.cells.people, self.cells.sets, list(self.items), self.threshold
        )
        shown = self._protect_pieces(list(self.items), self.protection)
        return self._redact(lambda number: shown[number])

    def _protect_pieces(self, items: Sequence[PrintedItem], protection: Protection) -> list[bool]:
        """Which items may be printed, for no small piece of a score to follow from them."""
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
        """Whether a number that depends on a cut of the score is of few people, in any row."""
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
        result, ledger = self.result, self.result.ledger
        assert isinstance(ledger, Ledger)
        published_ledger = LedgerRedaction(
            self.cells, self.threshold, self.data.columns, redaction.may_print
        ).redact(ledger)
        findings = tuple(map(redaction.redact_finding, result.findings))
        return redact(
            result,
            redaction.published_subjects(),
            provenance=self._provenance(redaction, published_rows=published_ledger.read),
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

    def _provenance(self, redaction: Redaction, published_rows: int | None) -> Provenance:
        """The provenance; a hash of all counts would let anybody try out the hidden ones."""
        provenance = replace(self.result.provenance, suppress_below=self.threshold)
        files = tuple(redact(file, redaction.published_subjects()) for file in provenance.files)
        return redact(
            provenance,
            redaction.published_subjects(),
            files=files,
            rows=published_rows,
            weight_error=MOST_ROUNDING[0] if provenance.weight else 0.0,
        )

    def _describe_suppression(self, findings: Sequence[Finding]) -> Iterator[Notice]:
        """Notices on the suppression itself: which verdicts depend on hidden numbers."""
        hidden = sum(
            finding.estimate is not None and finding.estimate.suppressed for finding in findings
        )
        if hidden:
            checks = "1 check looks" if hidden == 1 else f"{hidden:,} checks look"
            yield Notice(
                f"suppression: {checks} at hidden numbers: a verdict tells on which side of its "
                "limits such a number lies, and how sure that is",
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
    """Whether a share has fewer people than the threshold above or below its line."""
    under = estimate.n if estimate.denominator is None else estimate.denominator
    if under is None or math.isnan(estimate.value):
        return False
    over = round(estimate.value * under) if estimate.numerator is None else estimate.numerator
    return any(is_small(count, threshold) for count in (under, over, under - over))

"""A result as it may be published: what would tell a small count is suppressed, row by row."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from fairaudit.cube import Cube
from fairaudit.disclosure import Notice, Subjects, redact
from fairaudit.estimate import Estimate
from fairaudit.evidence import ComparisonPart
from fairaudit.histogram import Histogram
from fairaudit.ledger import Ledger
from fairaudit.recode import Cubes
from fairaudit.result import (
    AuditResult,
    Provenance,
)
from fairaudit.spec import MetricRequest, Spec
from fairaudit.suppress.cells import Cells
from fairaudit.suppress.disclosure_support import Support
from fairaudit.suppress.ledger import published_ledger
from fairaudit.suppress.protect import Item, Protection, protect
from fairaudit.suppress.rows import Rows
from fairaudit.suppress.scores import Cuts, Scored, find_cuts
from fairaudit.verdict import Check, Finding


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """What a result was computed from: its cube, its questions, its scores by column.

    `columns` are the columns of the data by the names of the spec, `cuts` where its numbers cut
    the scores.
    """

    cube: Cube
    requests: tuple[MetricRequest, ...]
    histograms: Mapping[str, tuple[Histogram, ...]]
    columns: Mapping[str, str]
    cuts: Mapping[str, Cuts] = field(default_factory=dict)

    @classmethod
    def of(cls, spec: Spec, cubes: Cubes) -> Data:
        """What the result of a spec was computed from."""
        columns = {attribute.name: attribute.column.value for attribute in spec.groupable}
        columns |= {outcome.name: outcome.column.value for outcome in spec.outcomes}
        return cls(
            cube=cubes.cube,
            requests=spec.requests,
            histograms={name: tuple(score.summaries()) for name, score in cubes.scores.items()},
            columns=columns,
            cuts={name: find_cuts(score, spec) for name, score in cubes.scores.items()},
        )


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
        made = result.provenance
        self.made = Support(
            self.cells, made.minimum.size, made.exclude_below, threshold, data.requests
        )
        self.made.few_above_a_cut = self._few_above_a_cut() or any(
            one.are_of_few(threshold) for one in data.cuts.values()
        )
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
        behind = [(self.made.rate(row, row.group), [row.estimate]) for row in self.result.rates]
        behind += [
            (self.made.comparison(row), _sides(row.parts)) for row in self.result.comparisons
        ]
        behind += [
            ([self.made.check(one.check)], [*_sides(one.parts), *filter(None, [one.estimate])])
            for one in self.result.findings
            if isinstance(one.check, Check)
        ]
        return any(
            any(value.cut for value in values)
            and any(_is_of_few(one, self.threshold) for one in estimates)
            for values, estimates in behind
        )

    def _rows(self, shows: Callable[[int], bool]) -> AuditResult:
        rows = Rows(self.result, self.made, self.items, shows, self.reason)
        scored = Scored(self.cells, self.threshold, self.data.histograms, self.data.cuts, rows.may)
        found, ledger = self.result, self.result.ledger
        assert isinstance(ledger, Ledger)
        ledger_told = published_ledger(
            ledger, self.cells, self.threshold, self.data.columns, rows.may
        )
        findings = tuple(map(rows.finding, found.findings))
        return redact(
            found,
            rows.published(),
            provenance=self._provenance(rows, rows_told=ledger_told.read),
            ledger=ledger_told,
            groups=rows.listed(map(rows.group, found.groups)),
            rates=tuple(rows.rates()),
            comparisons=tuple(filter(None, map(rows.comparison, found.comparisons))),
            lattice=tuple(map(rows.lattice, found.lattice)),
            epsilons=tuple(filter(rows.epsilon, found.epsilons)),
            reversals=rows.reversals(found.reversals),
            findings=findings,
            notices=(*filter(rows.notice, found.notices), *self._of_itself(findings)),
            scores=tuple(map(scored.row, found.scores)),
            curves=tuple(scored.curves(found.curves)),
            waivers=tuple(map(rows.waiver, found.waivers)),
        )

    def _provenance(self, rows: Rows, rows_told: int | None) -> Provenance:
        """Where it comes from; a hash of all counts would let anybody try the few that are open."""
        made = replace(self.result.provenance, suppress_below=self.threshold)
        files = tuple(redact(one, rows.published()) for one in made.files)
        return redact(made, rows.published(), files=files, rows=rows_told)

    def _of_itself(self, findings: Sequence[Finding]) -> Iterator[Notice]:
        """What a reader should know of the suppression: which verdicts tell of hidden numbers."""
        hidden = sum(one.estimate is not None and one.estimate.suppressed for one in findings)
        if hidden:
            checks = "1 check looks" if hidden == 1 else f"{hidden:,} checks look"
            yield Notice(
                f"suppression: {checks} at hidden numbers: a verdict tells on which side of its "
                "limits such a number lies, and how sure that is",
                Subjects.NOBODY,
            )
        if self.protection.widest is not None:
            yield Notice(
                f"suppression: tables that cross more than {self.protection.widest} columns are "
                "hidden as a whole: there are too many to prove cell by cell; ask for fewer with "
                "`by`",
                Subjects.NOBODY,
            )


def _sides(parts: Iterable[ComparisonPart]) -> list[Estimate]:
    sides = (side for part in parts for side in (part.first, part.second))
    return [side.estimate for side in sides if side is not None]


def _is_of_few(one: Estimate, threshold: int) -> bool:
    """Whether fewer people than the threshold stand above or below the line of a share."""
    under = one.n if one.denominator is None else one.denominator
    if under is None or math.isnan(one.value):
        return False
    over = round(one.value * under) if one.numerator is None else one.numerator
    return any(0 < count < threshold for count in (under, over, under - over))

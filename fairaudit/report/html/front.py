"""The top of a page: the verdict, what decides it with its picture, every check, the subsets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

from fairaudit.report import checks, lattice
from fairaudit.report.blocks import Cell, Figure
from fairaudit.report.diagnostics import AuditHeadline, Diagnostic, Level, audit_headline, diagnose
from fairaudit.report.html.outline import Place
from fairaudit.report.pictures import Node
from fairaudit.result import AuditResult

_SHOWN = 8
"""So many checks that did not pass are listed at once; the others are folded."""
_PICTURES = 24
"""So many findings have a picture."""


@dataclass(frozen=True, slots=True)
class CheckLine:
    """A check as a row of the list and as a finding below it."""

    id: str
    status: Cell
    diagnostic: Diagnostic
    in_full: str
    picture: Place[Figure] | None

    @property
    def line(self) -> str:
        """Its line in the spec, as a number."""
        place = self.diagnostic.finding.check.place
        return "" if place is None else str(place.line)

    @property
    def labelled(self) -> list[tuple[str, str]]:
        """What is told of it: each label once, with all its lines."""
        texts: dict[str, list[str]] = {}
        label = ""
        for name, text in self.diagnostic.lines:
            label = name or label
            texts.setdefault(label, []).append(text)
        return [(name, "\n".join(lines)) for name, lines in texts.items()]

    @property
    def subject(self) -> str:
        """The metric and the groups, as short as a row needs them."""
        return checks.title(self.diagnostic.finding)


@dataclass(frozen=True, slots=True)
class Fold:
    """Checks behind one line that says what they are."""

    title: str
    lines: Sequence[CheckLine]


@dataclass(frozen=True, slots=True)
class Front:
    """What a reader sees first.

    `lead` is the check that decides; without limits there is none. `open` checks did not pass, and
    the first of them are `shown`; `folds` are the others. `subsets` are those of `measure`.
    """

    headline: AuditHeadline
    lead: CheckLine | None
    picture: Place[Figure] | None
    shown: Sequence[CheckLine]
    folds: Sequence[Fold]
    open: Sequence[CheckLine]
    passed: Sequence[CheckLine]
    measure: str
    subsets: Sequence[Node]


def front(result: AuditResult, data: str | None, figures: Sequence[Place[Figure]]) -> Front:
    """The top of the page of a result; `figures` are the pictures below, for one without limits."""
    lines = [_line(index, one) for index, one in enumerate(diagnose(result), 1)]
    passed = [line for line in lines if line.diagnostic.level is Level.PASS]
    opened = [line for line in lines if line not in passed]
    drawn = [line for line in opened or passed if line.picture]
    lead = next(iter(opened or passed), None)
    others = (replace(place, id=f"front-{place.id}") for place in figures)
    picture = next(chain((line.picture for line in drawn), others), None)
    folds = [Fold(f"{len(opened) - _SHOWN} more that did not pass", opened[_SHOWN:])]
    folds.append(Fold(f"{len(passed)} passed", passed))
    measure, subsets = lattice.strip(result, None if lead is None else lead.diagnostic.finding)
    return Front(
        audit_headline(result, data),
        lead,
        picture,
        opened[:_SHOWN],
        [fold for fold in folds if fold.lines],
        opened,
        passed,
        measure,
        subsets,
    )


def _line(number: int, diagnostic: Diagnostic) -> CheckLine:
    finding = diagnostic.finding
    place = f", {diagnostic.place}" if diagnostic.place else ""
    in_full = (
        f"{checks.title(finding)}: {checks.sentence(finding)} ({checks.id_of(finding)}{place})"
    )
    picture = None
    if diagnostic.picture is not None and number <= _PICTURES:
        rules = [rule.label for rule in diagnostic.picture.rules if rule.label]
        values = [f"{row.label} {row.text}" for row in diagnostic.picture.rows]
        figure = Figure(diagnostic.headline, f"{', '.join([*values, *rules])}.", diagnostic.picture)
        picture = Place(figure, f"finding-{number}-picture")
    return CheckLine(f"finding-{number}", checks.status_cell(finding), diagnostic, in_full, picture)

"""Page: its top: verdict, deciding picture, checks (most unfolded, most drawn), subsets, gaps."""

from __future__ import annotations

from collections.abc import Sequence

from fairaudit.base.frozen import Frozen, replace
from fairaudit.judge import ReversalCheck, SubgroupCheck
from fairaudit.report import checks, lattice, remarks, reversals, subgroups
from fairaudit.report.blocks import Cell, Figure
from fairaudit.report.diagnostics import Diagnostic, Level, by_label, diagnose
from fairaudit.report.html.outline import Outline, Place
from fairaudit.report.pictures import Bars, Intervals, Lattice, Lines, Node
from fairaudit.report.remarks import distance
from fairaudit.report.repository import link_to_metric
from fairaudit.report.widest_gaps import WidestGap, widest
from fairaudit.result import AuditResult

_SHOWN = 8
"""So many checks that are no plain pass are listed at once; the others are folded."""
_KINDS = (Intervals, Lattice, Lines, Bars)
"""Which kind of picture tells most where no check has one."""
_SECTIONS: dict[type, str] = {
    ReversalCheck: reversals.HEADING,
    SubgroupCheck: subgroups.HEADING,
}
"""The section below with the numbers of a check that compares no two groups."""
_PICTURES = 24
"""So many findings have a picture."""


class CheckLine(Frozen):
    """A check as a row of the list and as a finding below it; `section` says more of it, if any.

    `line` is its line in the spec, `subject` the metric and the groups, as short as a row needs
    them; `labelled` is told of it first, each label once, and then the `rest`. `id_of_check` is the
    name by which commands know it, `definition` the address of what its metric measures.
    """

    id: str
    status: Cell
    diagnostic: Diagnostic
    picture: Place[Figure] | None
    section: str
    line: str
    subject: str
    labelled: Sequence[tuple[str, str]]
    rest: Sequence[tuple[str, str]]
    id_of_check: str
    definition: str


class Fold(Frozen):
    """Checks behind one line that says what they are."""

    title: str
    lines: Sequence[CheckLine]


class Front(Frozen):
    """What a reader sees first.

    `lead` is the check that decides, of passes the one closest to its limit; without limits there
    is none. `open` checks did not pass, or not without doubt, and the first of them are `shown`;
    `folds` are the others. `subsets` are those of `measure`, `gaps` the widest ones of a spec
    without limits.
    """

    headline: checks.AuditHeadline
    lead: CheckLine | None
    picture: Place[Figure] | None
    shown: Sequence[CheckLine]
    folds: Sequence[Fold]
    open: Sequence[CheckLine]
    passed: Sequence[CheckLine]
    measure: str
    subsets: Sequence[Node]
    gaps: Sequence[WidestGap]


def front(result: AuditResult, data: str | None, outline: Outline, prefix: str = "") -> Front:
    """The top of the page of a result; `outline` is what stands below it.

    `prefix` begins each id, where several of these share a page.
    """
    lines = [
        _line(f"{prefix}finding-{number}", diagnostic, outline, has_picture=number <= _PICTURES)
        for number, diagnostic in enumerate(diagnose(result), 1)
    ]
    passed = [line for line in lines if line.diagnostic.level is Level.PASS]
    passed.sort(key=lambda line: distance(line.diagnostic))
    opened = [line for line in lines if line.diagnostic.level is not Level.PASS]
    lead = next(iter([*opened, *passed]), None)
    count = remarks.count_passes([line.diagnostic for line in lines])
    folds = [Fold(f"{len(opened) - _SHOWN} more to look at", opened[_SHOWN:]), Fold(count, passed)]
    measure, subsets = lattice.strip(result, None if lead is None else lead.diagnostic.finding)
    return Front(
        checks.audit_headline(result, data),
        lead,
        _picture(lead, opened or passed, outline, prefix),
        opened[:_SHOWN],
        [fold for fold in folds if fold.lines],
        opened,
        passed,
        measure,
        subsets,
        [] if lines else widest(result),
    )


def _picture(
    lead: CheckLine | None, lines: Sequence[CheckLine], outline: Outline, prefix: str
) -> Place[Figure] | None:
    """The picture that decides: of the first check, of its section below, of any other check."""
    if lead is not None and lead.picture is not None:
        return lead.picture
    section = lead.section if lead is not None else ""
    below = [place for place in outline.figures(section) if section]
    drawn = [line.picture for line in lines if line.picture is not None]
    if not below and drawn:
        return drawn[0]
    ranked = sorted(
        below or outline.figures(), key=lambda place: _KINDS.index(type(place.block.picture))
    )
    return next((replace(place, id=f"{prefix}front-{place.id}") for place in ranked), None)


def _line(id_: str, diagnostic: Diagnostic, outline: Outline, *, has_picture: bool) -> CheckLine:
    finding, figure = diagnostic.finding, diagnostic.figure
    picture = Place(figure, f"{id_}-picture") if figure is not None and has_picture else None
    titles = {section.title: section.id for section in outline.sections}
    section = titles.get(_SECTIONS.get(type(finding.check), ""), "")
    return CheckLine(
        id_,
        checks.status_cell(finding),
        diagnostic,
        picture,
        section,
        "" if finding.check.place is None else str(finding.check.place.line),
        checks.title(finding),
        by_label(diagnostic.lines),
        by_label(fact for fact in diagnostic.facts if fact not in diagnostic.lines),
        checks.id_of(finding),
        link_to_metric(diagnostic.code),
    )

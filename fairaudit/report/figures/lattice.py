"""The lattice of subsets, coloured by the worst value of a measure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from fairaudit.metrics.differential_fairness import DIFFERENTIAL_FAIRNESS
from fairaudit.report import numbers, sentences
from fairaudit.report.blocks import Figure
from fairaudit.report.figures import most
from fairaudit.report.pictures import Bars, Interval, Lattice, Mark, Node
from fairaudit.result import AuditResult, LatticeEntry, LatticeRow
from fairaudit.verdict import Check, Status

_COLUMNS = 3
"""So many columns of boxes can be read on a small screen; more are bars."""
_MEASURES = 4


def lattice(result: AuditResult) -> Iterator[Figure]:
    """A picture for ε, for what a limit looks at, the worst check first, and else the first."""
    rows = result.lattice
    if len(rows) < 2:
        return
    entries = [entry for row in rows for entry in row.entries]
    titles = list(dict.fromkeys(one.title for one in entries))
    epsilon = [one.title for one in entries if one.metric == DIFFERENTIAL_FAIRNESS.id]
    judged = [one.title for one in sorted(entries, key=_worst(result)) if one.judged]
    for title in list(dict.fromkeys([*epsilon[:1], *judged, *titles[:1]]))[:_MEASURES]:
        found = [next((e for e in row.entries if e.title == title), None) for row in rows]
        yield _figure(title, rows, found)


def _worst(result: AuditResult) -> Callable[[LatticeEntry], int]:
    """A key that sorts measures by the worst status of a check on them, the worst first."""
    order = list(Status)
    ranks: dict[tuple[str, str], int] = {}
    for one in result.findings:
        if isinstance(one.check, Check):
            key = (one.check.asked.id, one.check.of)
            ranks[key] = max(ranks.get(key, 0), order.index(one.status))
    return lambda entry: -ranks.get((entry.metric, entry.of), 0)


def _figure(
    title: str, rows: Sequence[LatticeRow], entries: Sequence[LatticeEntry | None]
) -> Figure:
    departures = [e.departure for e in entries if e is not None and math.isfinite(e.departure)]
    most_departed = max(departures, default=0.0)
    levels = max(len(row.by) for row in rows)
    picture = (
        _boxes(rows, entries, most_departed) if levels <= _COLUMNS else _bars(title, rows, entries)
    )
    is_judged = any(entry is not None and entry.judged for entry in entries)
    is_boxes = isinstance(picture, Lattice)
    what = (
        "The stronger the colour, the farther from parity among these subsets"
        if is_boxes
        else "Longer is farther from parity"
    )
    return Figure(
        f"{title[0].upper() if title.isascii() else title[0]}{title[1:]} in every subset",
        " ".join(_words(row, e) for row, e in zip(rows, entries, strict=True))[:4000],
        picture,
        note=f"{what}; ● judged by a limit." if is_judged else f"{what}.",
    )


def _text(entry: LatticeEntry | None) -> str:
    if entry is None:
        return "not compared"
    return numbers.value_of(entry.estimate, 3) + (" ●" if entry.judged else "")


def _boxes(
    rows: Sequence[LatticeRow], entries: Sequence[LatticeEntry | None], top: float
) -> Lattice:
    nodes = [
        Node(numbers.subset(row.by), len(row.by) - 1, _text(entry), _shade(entry, top))
        for row, entry in zip(rows, entries, strict=True)
    ]
    edges = [
        (part, whole)
        for part, small in enumerate(rows)
        for whole, large in enumerate(rows)
        if len(large.by) == len(small.by) + 1 and set(small.by) < set(large.by)
    ]
    return Lattice(nodes, edges)


def _shade(entry: LatticeEntry | None, top: float) -> float | None:
    """The departure as a share of the largest finite one; an infinite one is all of it."""
    if entry is None or entry.estimate.suppressed or math.isnan(entry.departure):
        return None
    if math.isinf(entry.departure):
        return 1.0
    return entry.departure / top if top else 0.0


def _bars(title: str, rows: Sequence[LatticeRow], entries: Sequence[LatticeEntry | None]) -> Bars:
    bars = [
        Interval(
            numbers.subset(row.by),
            math.nan if entry is None or entry.estimate.suppressed else entry.departure,
            panel=f"{len(row.by)} attribute{'s' if len(row.by) > 1 else ''}",
            mark=Mark.GROUP,
            text=_text(entry),
        )
        for row, entry in zip(rows, entries, strict=True)
    ]
    order = sorted(bars, key=lambda one: one.panel)
    panels = list(dict.fromkeys(one.panel for one in order))
    shown = [
        row
        for panel in panels
        for row in most.cut(
            sorted(
                (one for one in order if one.panel == panel),
                key=lambda one: -one.value if math.isfinite(one.value) else -math.inf,
            ),
            most.ROWS // 2,
        )
    ]
    return Bars(f"departure of {title} from parity", shown)


def _words(row: LatticeRow, entry: LatticeEntry | None) -> str:
    if entry is None:
        return f"{numbers.subset(row.by)}: not compared."
    pair = sentences.witness(entry.first, entry.second, entry.decided_by)
    value = numbers.value_of(entry.estimate)
    return f"{numbers.subset(row.by)}: {value}{f' ({pair})' if pair else ''}."

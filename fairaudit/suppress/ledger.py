"""The ledger of a published report: small lines are hidden, and what would tell them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fairaudit.ledger import Ledger, LedgerLine, PublishedLedger, PublishedLine
from fairaudit.suppress.cells import Cells, has_few

May = Callable[[frozenset[int], int], bool]
"""Whether something made of these counts, crossing so many columns, may be printed."""


def published_ledger(  # the parts of one decision
    ledger: Ledger, cells: Cells, threshold: int, columns: Mapping[str, str], may: May
) -> Ledger | PublishedLedger:
    """The ledger without small numbers; the same one where there is nothing to hide.

    Rows read are rows counted and rows lost: of the lines that say how many were lost and are
    hidden any may hold as many as the threshold, or else the rows read are hidden, too.
    """
    everybody = cells.count(cells.everything)
    counted = everybody is None or may(frozenset([everybody]), 0)
    lost = [(ledger.filtered, ledger.filtered), (ledger.undecided, ledger.undecided)]
    lost += [(line.rows, line.people) for line in ledger.dropped]
    few = {at for at, pair in enumerate(lost) if _is_few(pair, threshold)}
    hidden, is_read = _complemented([rows for rows, _ in lost], few, threshold)
    aside = [_is_told(line, ledger, cells, threshold, columns, may) for line in ledger.set_aside]
    if counted and is_read and not hidden and all(aside):
        return ledger
    return PublishedLedger(
        read=ledger.read if is_read and counted else None,
        counted=ledger.counted if counted else None,
        people=ledger.people if counted else None,
        filtered=None if 0 in hidden else ledger.filtered,
        undecided=None if 1 in hidden else ledger.undecided,
        dropped=tuple(
            _line(line, is_shown=at not in hidden) for at, line in enumerate(ledger.dropped, 2)
        ),
        set_aside=tuple(
            _line(line, is_shown=told) for line, told in zip(ledger.set_aside, aside, strict=True)
        ),
    )


def _is_few(pair: tuple[int, int], threshold: int) -> bool:
    return any(0 < one < threshold for one in pair)


def _complemented(rows: list[int], hidden: set[int], threshold: int) -> tuple[set[int], bool]:
    """The lines to hide with those that are small, and whether the rows read can be told.

    Of those that are hidden any may then hold as many as the threshold, with one in each other.
    """
    hidden = {*hidden}
    while hidden and (len(hidden) < 2 or sum(rows[at] - 1 for at in hidden) < threshold - 1):
        others = [at for at, one in enumerate(rows) if one and at not in hidden]
        if not others:
            return hidden, False
        hidden.add(min(others, key=lambda at: (rows[at], at)))
    return hidden, True


def _is_told(
    line: LedgerLine,
    ledger: Ledger,
    cells: Cells,
    threshold: int,
    columns: Mapping[str, str],
    may: May,
) -> bool:
    """Whether a line on people set aside may be told: they are a set of cells, if of one axis."""
    axes = [name for name, column in columns.items() if column == line.column and cells.has(name)]
    for missing in map(cells.missing, axes):
        count = cells.count(missing)
        if count is not None and cells.total(missing) == line.people:
            return may(frozenset([count]), 1)
    if axes and has_few(cells.people, threshold):
        return False  # some set of those in these cells, and nobody can tell which
    # Who lacks a number is no set of cells; neither are the others, then.
    others = [one for one in ledger.set_aside if one.column == line.column]
    return not any(_is_few((one.rows, one.people), threshold) for one in others)


def _line(line: LedgerLine, *, is_shown: bool) -> PublishedLine:
    if not is_shown:
        return PublishedLine(None, None, line.column, line.reason)
    return PublishedLine(line.rows, line.people, line.column, line.reason)

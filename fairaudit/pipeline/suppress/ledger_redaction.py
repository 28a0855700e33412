"""Which lines of the ledger (rows read, dropped, set aside) are hidden with `suppress_below`."""

from __future__ import annotations

from collections.abc import Mapping

from fairaudit.base.ledger import Ledger, LedgerLine, PublishedLedger, PublishedLine
from fairaudit.base.small_counts import has_small, is_small
from fairaudit.pipeline.suppress.cell_sets import CellSets
from fairaudit.pipeline.suppress.protection import MayPrint


class LedgerRedaction:
    """Hides the lines of a ledger that would reveal a small number."""

    def __init__(
        self, cells: CellSets, threshold: int, columns: Mapping[str, str], may_print: MayPrint
    ) -> None:
        self.cells = cells
        self.threshold = threshold
        self.columns = columns
        self.may_print = may_print

    def redact(self, ledger: Ledger) -> Ledger | PublishedLedger:
        """The ledger without small numbers; the same one where there is nothing to hide.

        Rows read are rows counted and rows lost: any of the hidden lines of lost rows must be able
        to hold as many as the threshold, or the rows read are hidden, too.
        """
        everybody = self.cells.register(self.cells.all_cells)
        shows_counted = everybody is None or self.may_print(frozenset([everybody]), 0)
        lost = [(ledger.filtered, ledger.filtered), (ledger.undecided, ledger.undecided)]
        lost += [(line.rows, line.people) for line in ledger.dropped]
        small = {index for index, pair in enumerate(lost) if self._is_small(pair)}
        hidden, shows_read = self._hide_complements([rows for rows, _ in lost], small)
        shows_aside = [self._may_print_line(line, ledger) for line in ledger.set_aside]
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

    def _is_small(self, rows_and_people: tuple[int, int]) -> bool:
        return any(is_small(count, self.threshold) for count in rows_and_people)

    def _hide_complements(self, rows: list[int], small: set[int]) -> tuple[set[int], bool]:
        """The lines to hide with those that are small, and whether the rows read may be shown.

        Any hidden line may then hold as many as the threshold, with one in each other.
        """
        hidden = {*small}
        while hidden and (
            len(hidden) < 2 or sum(rows[index] - 1 for index in hidden) < self.threshold - 1
        ):
            others = [index for index, lost in enumerate(rows) if lost and index not in hidden]
            if not others:
                return hidden, False
            hidden.add(min(others, key=lambda index: (rows[index], index)))
        return hidden, True

    def _may_print_line(self, line: LedgerLine, ledger: Ledger) -> bool:
        """Whether a line on people set aside may be printed; of one key they are a set of cells."""
        keys = [
            name
            for name, column in self.columns.items()
            if column == line.column and self.cells.has(name)
        ]
        for missing in map(self.cells.missing, keys):
            count = self.cells.register(missing)
            if count is not None and self.cells.total(missing) == line.people:
                return self.may_print(frozenset([count]), 1)
        if keys and has_small(self.cells.people, self.threshold):
            return False  # some set of those in these cells, and it is not known which
        # Those who lack a number are no set of cells; neither are the others, then.
        same_column = [other for other in ledger.set_aside if other.column == line.column]
        return not any(self._is_small((other.rows, other.people)) for other in same_column)


def _publish_line(line: LedgerLine, *, is_shown: bool) -> PublishedLine:
    if not is_shown:
        return PublishedLine(None, None, line.column, line.reason)
    return PublishedLine(line.rows, line.people, line.column, line.reason)

"""`DataFile`, a file that was read; `Ledger`, how many rows were counted, filtered or dropped."""

from __future__ import annotations

from operator import attrgetter

from fairaudit.base.disclosure_marks import declare_subjects
from fairaudit.base.frozen import Frozen, force_setattr


@declare_subjects(nobody="path modified", never="bytes lines")
class DataFile(Frozen):
    """A file that was read.

    `lines` is the number of physical lines of a CSV file, including the header. `modified` is the
    time of the last change, to the second. `bytes` is None if this number is suppressed, and 0 for
    data without a file.
    """

    path: str
    bytes: int | None
    modified: str | None
    lines: int | None = None


@declare_subjects(nobody="column reason", nested="rows people")
class LedgerLine(Frozen):
    """How many rows and people are dropped or set aside because of a column, and the reason."""

    rows: int
    people: int
    column: str
    reason: str


@declare_subjects(nested="read counted people filtered undecided dropped set_aside")
class Ledger(Frozen, tag=True):
    """The number of rows by their treatment: read = counted + filtered + undecided + dropped.

    The filter cannot decide on `undecided` rows, because a value is missing. `set_aside` lists
    rows that are part of `counted`, but that some tables leave out.
    """

    read: int
    counted: int
    people: int
    filtered: int = 0
    undecided: int = 0
    dropped: tuple[LedgerLine, ...] = ()
    set_aside: tuple[LedgerLine, ...] = ()

    def __post_init__(self) -> None:
        # The ledger must not depend on the order of the rows.
        by_place = attrgetter("column", "reason")
        for name in ("dropped", "set_aside"):
            force_setattr(self, name, tuple(sorted(getattr(self, name), key=by_place)))
        out = self.filtered + self.undecided + sum(line.rows for line in self.dropped)
        if self.read != self.counted + out:
            raise ValueError(f"the numbers do not add up: {self.read=} {self.counted=} {out=}")


@declare_subjects(nobody="column reason", nested="rows people")
class PublishedLine(Frozen):
    """A line of a ledger with None in place of suppressed numbers."""

    rows: int | None
    people: int | None
    column: str
    reason: str


@declare_subjects(nested="read counted people filtered undecided dropped set_aside")
class PublishedLedger(Frozen, tag=True):
    """A ledger with None in place of suppressed numbers."""

    read: int | None
    counted: int | None
    people: int | None
    filtered: int | None
    undecided: int | None
    dropped: tuple[PublishedLine, ...]
    set_aside: tuple[PublishedLine, ...]

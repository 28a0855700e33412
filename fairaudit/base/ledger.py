"""Files that were read; `Ledger` of rows: read = counted + filtered + undecided + dropped."""

from __future__ import annotations

from operator import attrgetter

from fairaudit.base.disclosure_marks import declare_subjects
from fairaudit.base.frozen import Frozen, force_setattr


@declare_subjects(nobody="path modified", never="bytes lines")
class DataFile(Frozen):
    """A file that was read; `lines` is the count of physical lines of a CSV file, with the header.

    `modified` is when it was last written, to the second. `bytes` is `None` if suppressed,
    and 0 if the data is not a file.
    """

    path: str
    bytes: int | None
    modified: str | None
    lines: int | None = None


@declare_subjects(nobody="column reason", nested="rows people")
class LedgerLine(Frozen):
    """One line of the ledger: a number of rows (people), their column, and their treatment."""

    rows: int
    people: int
    column: str
    reason: str


@declare_subjects(nested="read counted people filtered undecided dropped set_aside")
class Ledger(Frozen, tag=True):
    """Where every row went: read = counted + filtered + undecided + dropped.

    `set_aside` explains rows that are counted, but not everywhere; they are part of `counted`.
    """

    read: int
    counted: int
    people: int
    filtered: int = 0
    undecided: int = 0
    dropped: tuple[LedgerLine, ...] = ()
    set_aside: tuple[LedgerLine, ...] = ()

    def __post_init__(self) -> None:
        # The order of the rows changes nothing.
        by_place = attrgetter("column", "reason")
        for name in ("dropped", "set_aside"):
            force_setattr(self, name, tuple(sorted(getattr(self, name), key=by_place)))
        out = self.filtered + self.undecided + sum(line.rows for line in self.dropped)
        if self.read != self.counted + out:
            raise ValueError(f"the ledger does not close: {self.read=} {self.counted=} {out=}")


@declare_subjects(nobody="column reason", nested="rows people")
class PublishedLine(Frozen):
    """A line of a ledger in which small numbers are suppressed: None."""

    rows: int | None
    people: int | None
    column: str
    reason: str


@declare_subjects(nested="read counted people filtered undecided dropped set_aside")
class PublishedLedger(Frozen, tag=True):
    """A ledger whose sums agree, with None for suppressed numbers."""

    read: int | None
    counted: int | None
    people: int | None
    filtered: int | None
    undecided: int | None
    dropped: tuple[PublishedLine, ...]
    set_aside: tuple[PublishedLine, ...]

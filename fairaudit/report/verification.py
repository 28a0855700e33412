"""The report of `fairaudit verify`: what of a published table cannot be true."""

from __future__ import annotations

from fairaudit.base import names
from fairaudit.report import checks, numbers
from fairaudit.report.blocks import Cell, Document, Entries, Heading, Paragraph, Tone
from fairaudit.result import Verification

_NOT_FOUND = (
    "Nothing found: the printed numbers may belong together. Whether they are those of the data, "
    "a table does not tell."
)

_FEW = 3
_MANY = 20
"""So many texts of cells without a number are told in the last line, and on the page."""


def document(verification: Verification) -> Document:
    """Each fault with its place and its group; a clean table says what that does not mean."""
    heading = Heading(f"Published tables: {', '.join(map(names.copied, verification.tables))}")
    unread = [Paragraph(_unread(verification, _MANY), Tone.MUTED)] if verification.unread else []
    if not verification.faults:
        return (heading, Paragraph(_NOT_FOUND), *unread)
    rows = [
        (
            Cell(fault.rule, Tone.BAD),
            f"{checks.place(fault.place)} {names.describe_group(fault.group)}: {fault.message}",
        )
        for fault in verification.faults
    ]
    return (heading, Entries(rows), *unread)


def line(verification: Verification) -> str:
    """How much was found, as the last line of the command."""
    faults = numbers.counted(len(verification.faults), "fault")
    unread = f"; {_unread(verification, _FEW)}" if verification.unread else ""
    return f"{faults} in {numbers.counted(verification.rows, 'row')}{unread}"


def _unread(verification: Verification, most: int) -> str:
    """How many cells were held against nothing, and the first of what stands in them."""
    texts = [*dict.fromkeys(names.quoted(cell.text) for cell in verification.unread)]
    more = ", …" if len(texts) > most else ""
    cells = numbers.counted(len(verification.unread), "cell")
    return f"{cells} without a number, not verified: {', '.join(texts[:most])}{more}"

"""The report of `fairaudit verify`: what of a published table cannot be true."""

from __future__ import annotations

from fairaudit import names
from fairaudit.report import checks, numbers
from fairaudit.report.blocks import Cell, Document, Entries, Heading, Paragraph, Tone
from fairaudit.result import Verification

_NOT_FOUND = (
    "Nothing found: the printed numbers may belong together. Whether they are those of the data, "
    "a table does not tell."
)


def document(verification: Verification) -> Document:
    """Each fault with its place and its group; a clean table says what that does not mean."""
    heading = Heading(f"Published tables: {', '.join(map(names.copied, verification.tables))}")
    if not verification.faults:
        return (heading, Paragraph(_NOT_FOUND))
    rows = [
        (
            Cell(fault.rule, Tone.BAD),
            f"{checks.place(fault.place)} {names.describe_group(fault.group)}: {fault.message}",
        )
        for fault in verification.faults
    ]
    return (heading, Entries(rows))


def line(verification: Verification) -> str:
    """How much was found, as the last line of the command."""
    faults = numbers.counted(len(verification.faults), "fault")
    return f"{faults} in {numbers.counted(verification.rows, 'row')}"

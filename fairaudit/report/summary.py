"""Several answers in one table: the worst first, an error in its place."""

from __future__ import annotations

from collections.abc import Sequence

from fairaudit.errors import WORST_FIRST, FairauditError, NothingToAudit
from fairaudit.report import numbers
from fairaudit.report.blocks import Block, Cell, Document, Entries, Heading, Table, Tone
from fairaudit.report.content import VERDICT_TONES
from fairaudit.report.sentences import tally
from fairaudit.result import AuditResult

Answer = tuple[str, AuditResult | FairauditError]
"""What was asked (a spec, a file), and what came of it."""


def document(answers: Sequence[Answer]) -> Document:
    """The summary: a row for each answer, then the errors in full."""
    ranked = sorted(answers, key=lambda answer: WORST_FIRST.index(answer[1].exit_code))
    table = Table(
        caption=f"{len(answers)} audits, worst first",
        header=("audit", "verdict", "rows", "checks"),
        rows=[_row(*answer) for answer in ranked],
        numeric=(False, False, True, False),
    )
    blocks: list[Block] = [Heading("Summary"), table]
    errors = [(name, found) for name, found in ranked if isinstance(found, FairauditError)]
    if errors:
        rows = [(Cell(_word(one).lower(), Tone.BAD), f"{name}: {one}") for name, one in errors]
        blocks.append(Entries(rows))
    return tuple(blocks)


def _word(error: FairauditError) -> str:
    return "NOTHING" if isinstance(error, NothingToAudit) else "ERROR"


def _row(name: str, found: AuditResult | FairauditError) -> list[Cell]:
    if isinstance(found, FairauditError):
        return [Cell(name), Cell(_word(found), Tone.BAD), Cell(""), Cell("no verdict")]
    verdict = Cell(found.verdict.upper(), VERDICT_TONES[found.verdict])
    return [Cell(name), verdict, Cell(numbers.whole(found.provenance.rows)), Cell(tally(found))]

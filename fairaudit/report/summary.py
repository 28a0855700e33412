"""What came of several audits in one table: the worst first, an error in its place."""

from __future__ import annotations

from collections.abc import Sequence

from fairaudit import names
from fairaudit.answers import Answer
from fairaudit.errors import WORST_FIRST, FairauditError, NothingToAudit
from fairaudit.report import content, numbers
from fairaudit.report.blocks import Block, Cell, Document, Entries, Heading, Table, Tone, inert
from fairaudit.report.sentences import tally
from fairaudit.result import AuditResult


def report(answers: Sequence[Answer], *, all_rows: bool = False) -> Document:
    """The report of one answer; of several their summary, if `all_rows` behind all reports."""
    if len(answers) > 1:
        reports = (_report(one, all_rows=True) for one in answers if all_rows and _is_result(one))
        return (*(block for each in reports for block in each), *document(answers))
    return _report(answers[0], all_rows=all_rows)


def document(answers: Sequence[Answer]) -> Document:
    """The summary: a row for each answer, then the errors in full."""
    ranked = sorted(answers, key=lambda answer: WORST_FIRST.index(answer.exit_code))
    table = Table(
        caption=f"{len(answers)} audits, worst first",
        header=("audit", "verdict", "rows", "checks"),
        rows=[_row(one) for one in ranked],
        numeric=(False, False, True, False),
    )
    blocks: list[Block] = [Heading("Summary"), table]
    errors = [
        _error(one.found, f"{_title(one)}: ")
        for one in ranked
        if isinstance(one.found, FairauditError)
    ]
    if errors:
        blocks.append(Entries(errors))
    return inert(tuple(blocks))


def _title(one: Answer) -> str:
    """What was asked, in names that print."""
    asked = (one.spec, one.data)
    return " ".join(names.copied(part) for part in asked if part is not None)


def _is_result(one: Answer) -> bool:
    return isinstance(one.found, AuditResult)


def _report(one: Answer, *, all_rows: bool) -> Document:
    if isinstance(one.found, FairauditError):
        return inert((Heading(f"Audit: {_title(one)}"), Entries([_error(one.found, "")])))
    return content.document(one.found, all_rows=all_rows)


def _error(error: FairauditError, whose: str) -> tuple[Cell, str]:
    return Cell(_word(error).lower(), Tone.BAD), f"{whose}{error}"


def _word(error: FairauditError) -> str:
    return "NOTHING" if isinstance(error, NothingToAudit) else "ERROR"


def _row(one: Answer) -> list[Cell]:
    name, found = Cell(_title(one)), one.found
    if isinstance(found, FairauditError):
        return [name, Cell(_word(found), Tone.BAD), Cell(""), Cell("no verdict")]
    verdict = Cell(found.verdict.upper(), content.VERDICT_TONES[found.verdict])
    return [name, verdict, Cell(numbers.whole(found.provenance.rows)), Cell(tally(found))]

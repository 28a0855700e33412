"""The last lines on stderr: always of the same shape."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fairaudit.errors import FairauditError, NothingToAudit

if TYPE_CHECKING:
    from fairaudit.answers import Answer
    from fairaudit.result import AuditResult


def line_of(answer: Answer, seconds: float) -> str:
    """The verdict on one of several answers; an error is told in its place."""
    asked = f"spec={Path(answer.spec).name}"
    if answer.data is not None:
        asked += f" data={answer.data}"
    if isinstance(answer.found, FairauditError):
        return f"{answer.found}\n{_word(answer.found)}  no verdict  {asked}"
    return last_line(answer.found, asked, seconds)


def last_line(result: AuditResult, asked: str, seconds: float) -> str:
    """The verdict with its checks, and what was asked."""
    from fairaudit.report.numbers import whole
    from fairaudit.report.sentences import tally

    rows = f"rows={whole(result.provenance.rows)}"
    return f"{result.verdict.upper()}  {tally(result)}  {asked} {rows} {seconds:.1f}s"


def last_words(error: FairauditError, arguments: list[str]) -> str:
    """The last line where there is no verdict."""
    specs = [Path(one).name for one in arguments if one.endswith((".yaml", ".yml"))]
    return f"{_word(error)}  no verdict{''.join(f'  spec={name}' for name in specs[:1])}"


def _word(error: FairauditError) -> str:
    return "NOTHING" if isinstance(error, NothingToAudit) else "ERROR"

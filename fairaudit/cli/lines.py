"""The last lines on stderr: always of the same shape."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairaudit import names
from fairaudit.errors import FairauditError, NothingToAudit

if TYPE_CHECKING:
    from fairaudit.result import Answer, AuditResult


_LONGEST = 2000
"""A line of an error is cut in its middle where it is longer: a line of a spec may have no end."""


def line_of(answer: Answer, seconds: float) -> str:
    """The verdict on one of several answers; an error is told in its place."""
    asked = named("spec", Path(answer.spec).name)
    if answer.data is not None:
        asked += f" {named('data', answer.data)}"
    if isinstance(answer.found, FairauditError):
        return f"{told(answer.found)}\n{_word(answer.found)}  no verdict  {asked}"
    return last_line(answer.found, asked, seconds)


def named(what: str, path: str) -> str:
    """What was asked in a word of the last line: `spec=loans.yaml`."""
    return f"{what}={names.copied(path)}"


def told(error: FairauditError) -> str:
    """An error in signs that print, a line for each of its own, none of them without end."""
    return "\n".join(map(_within_reason, names.printable(str(error), but="\n\t").split("\n")))


def _within_reason(line: str) -> str:
    half = _LONGEST // 2
    return line if len(line) <= _LONGEST else f"{line[:half]} … {line[-half:]}"


def last_line(result: AuditResult, asked: str, seconds: float) -> str:
    """The verdict with its checks, and what was asked."""
    from fairaudit.report.numbers import whole
    from fairaudit.report.sentences import tally

    rows = f"rows={whole(result.provenance.rows)}"
    return f"{result.verdict.upper()}  {tally(result)}  {asked} {rows} {seconds:.1f}s"


def line_of_all(answers: Sequence[Answer], seconds: float) -> str:
    """The worst verdict of several answers, and how many of each there are."""
    from fairaudit.report.summary import verdicts

    told = verdicts(answers)
    worst = told.split()[1].rstrip(",").upper()
    return f"{worst}  {len(answers):,} audits: {told}  {seconds:.1f}s"


def last_words(error: FairauditError, arguments: list[str]) -> str:
    """The last line where there is no verdict."""
    specs = [Path(one).name for one in arguments if one.endswith((".yaml", ".yml"))]
    return "  ".join([_word(error), "no verdict", *(named("spec", one) for one in specs[:1])])


def _word(error: FairauditError) -> str:
    return "NOTHING" if isinstance(error, NothingToAudit) else "ERROR"

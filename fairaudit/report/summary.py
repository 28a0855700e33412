"""The summary table of several audits, the worst first, and their labels."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from fairaudit.base import names
from fairaudit.base.errors import FairauditError
from fairaudit.base.frozen import Frozen
from fairaudit.judge import Status
from fairaudit.report import checks, content, diagnostics, numbers, trends
from fairaudit.report.blocks import Block, Cell, Document, Entries, Heading, Table, Tone, inert
from fairaudit.result import Answer, AuditResult, Verdict, list_notices

_MANY = 24
"""So many audits are listed where not all are asked for."""

_WORST = (
    "error",
    *map(str, (Verdict.FAIL, Verdict.INCONCLUSIVE)),
    "nothing",
    *map(str, (Verdict.NONE, Verdict.PASS)),
)
"""The verdicts in words, the worst first."""


def report(answers: Sequence[Answer], *, all_rows: bool = False) -> Document:
    """The report of one answer; of several their summary, if `all_rows` behind all reports."""
    if len(answers) > 1:
        with_result = (answer for answer in answers if isinstance(answer.result, AuditResult))
        reports = (_report(answer, all_rows=True) for answer in with_result if all_rows)
        summary = document(answers, all_rows=all_rows)
        return (*(block for report in reports for block in report), *summary)
    return _report(answers[0], all_rows=all_rows)


def document(
    answers: Sequence[Answer],
    *,
    all_rows: bool = False,
    links: Sequence[str] | None = None,
    has_headlines: bool = False,
) -> Document:
    """The summary: a row for each answer, the errors in full, then each check over the files.

    `links` are the addresses of the single reports, in the order of the answers. With
    `has_headlines` a row also says what is worst in it, where there is room for a sentence.
    """
    called = labels(answers)
    addresses: Sequence[str | None] = links or [None] * len(answers)
    ranked = sorted(map(_Audit, called, answers, addresses), key=_Audit.rank)
    shown = ranked if all_rows else ranked[:_MANY]
    verdict_counts = f"{numbers.counted(len(answers), 'audit')}: {verdicts(answers)}, worst first"
    blocks: list[Block] = [
        Heading("Summary"),
        Entries([(_verdict_cell(ranked[0].answer), verdict_counts)]),
        _table(shown, answers, more=_more(ranked[len(shown) :]), has_headlines=has_headlines),
    ]
    several = len({answer.spec for answer in answers}) > 1
    errors = [
        _error(audit.answer.result, _whose(audit.answer, several=several))
        for audit in ranked
        if isinstance(audit.answer.result, FairauditError)
    ]
    if errors:
        blocks.append(Entries(errors))
    if notices := list_notices(answers):
        blocks.append(Entries([(Cell("notice", Tone.WARN), names.line(text)) for text in notices]))
    return inert((*blocks, *trends.section(answers, called, all_rows=all_rows)))


def labels(answers: Sequence[Answer]) -> list[str]:
    """A name for each audit: what tells it from the others, without the folder they share."""
    specs, data = (
        told_apart([answer.spec for answer in answers]),
        [answer.data for answer in answers],
    )
    if len({*data}) == 1:
        return specs
    files = told_apart([name or "" for name in data])
    if len({*specs}) == 1:
        return files
    return [f"{spec} {name}".strip() for spec, name in zip(specs, files, strict=True)]


def told_apart(paths: Sequence[str]) -> list[str]:
    """The paths without the folders that all of them begin with."""
    try:
        shared = os.path.commonpath([Path(path).parent for path in paths])
    except ValueError:
        # Relative ones beside absolute ones share none.
        return [*paths]
    return [os.path.relpath(path, shared) if path else path for path in paths]


def _table(
    shown: Sequence[_Audit], answers: Sequence[Answer], *, more: str, has_headlines: bool
) -> Table:
    """A row for each audit that is shown; a column for each status that any answer has."""
    total = sum((_tally(answer) for answer in answers), Counter[Status]())
    statuses = [status for status in trends.WORDS if total[status]]
    heads = [trends.WORDS[status] for status in statuses]
    is_open = any(
        answer.result.not_cleared for answer in answers if isinstance(answer.result, AuditResult)
    )
    heads += ["not cleared"] if is_open else []
    worst_head = ["what is worst"] if has_headlines else []
    return Table(
        caption="",
        header=("audit", "verdict", *worst_head, *heads, "rows"),
        rows=[
            list(audit.cells(statuses, is_open=is_open, has_headline=has_headlines))
            for audit in shown
        ],
        numeric=(False, False, *(False for _ in worst_head), *(True for _ in heads), True),
        more=more,
    )


def _verdict_cell(answer: Answer) -> Cell:
    """The verdict on an answer; an error is as bad as a failure."""
    if isinstance(answer.result, AuditResult):
        return checks.verdict_cell(answer.result)
    return Cell(verdict_of(answer).upper(), Tone.BAD)


def verdict_of(answer: Answer) -> str:
    """The verdict on an answer in a word: also `error`, and `nothing` where there is no row."""
    return str(answer.result.verdict)


def worst_verdict(answers: Sequence[Answer]) -> str:
    """The worst verdict of several answers, in a word."""
    return min(map(verdict_of, answers), key=_WORST.index)


def verdicts(answers: Sequence[Answer]) -> str:
    """How many of each verdict: `3 error, 4 fail, 193 pass`."""
    counted = Counter(map(verdict_of, answers))
    return ", ".join(f"{numbers.whole(counted[word])} {word}" for word in _WORST if counted[word])


class _Audit(Frozen):
    """An answer by the name it has among others."""

    name: str
    answer: Answer
    link: str | None

    def rank(self) -> tuple[int, tuple[int, ...], object]:
        """A key that sorts the worst first."""
        tally = _tally(self.answer)
        counts = tuple(-tally[status] for status in checks.WORST_FIRST if status is not Status.PASS)
        verdict = _WORST.index(verdict_of(self.answer))
        return verdict, counts, (numbers.natural(self.name), self.name)

    def cells(
        self, statuses: Sequence[Status], *, is_open: bool, has_headline: bool
    ) -> Iterator[Cell]:
        """A row of the table; a column says how many checks are not cleared if any is."""
        result = self.answer.result
        yield Cell(numbers.short(self.name), href=self.link)
        yield _verdict_cell(self.answer)
        if isinstance(result, FairauditError):
            yield from [Cell(names.line(result.message))] * has_headline
            yield from [Cell("")] * (1 + len(statuses) + is_open)
            return
        yield from [Cell(headline(result))] * has_headline
        counts = [*(result.tally[status] for status in statuses), *[result.not_cleared] * is_open]
        yield from (Cell(numbers.whole(count)) for count in (*counts, result.provenance.rows))


def headline(result: AuditResult) -> str:
    """What is worst in an audit, in a sentence; empty where every check passed."""
    first = next(iter(diagnostics.diagnose(result)), None)
    return "" if first is None or first.level is diagnostics.Level.PASS else first.headline


def _tally(answer: Answer) -> Counter[Status]:
    return Counter(answer.result.tally if isinstance(answer.result, AuditResult) else ())


def _more(audits: Sequence[_Audit]) -> str:
    """How many are not listed, and what came of them."""
    if not audits:
        return ""
    counts = verdicts([audit.answer for audit in audits])
    more = f"{numbers.whole(len(audits))} more ({counts})"
    return f"and {more}: --verbose, or -o FOLDER/, lists them all"


def _report(answer: Answer, *, all_rows: bool) -> Document:
    if isinstance(answer.result, FairauditError):
        return inert((Heading(f"Audit: {_title(answer)}"), Entries([_error(answer.result, "")])))
    return content.document(answer.result, all_rows=all_rows, data=answer.data)


def _title(answer: Answer) -> str:
    """What was asked, in names that print."""
    question = (answer.spec, answer.data)
    return " ".join(names.copied(part) for part in question if part is not None)


def _whose(answer: Answer, *, several: bool) -> str:
    """Whose error it is, as far as the error does not say so itself."""
    if several or answer.data is None:
        return f"{_title(answer)}: "
    data = names.copied(answer.data)
    return "" if str(answer.result).startswith((answer.data, data)) else f"{data}: "


def _error(error: FairauditError, source: str) -> tuple[Cell, str]:
    return Cell(error.verdict, Tone.BAD), f"{source}{error}"

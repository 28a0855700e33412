"""What came of several audits in one table: the worst first, an error in its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fairaudit import names
from fairaudit.errors import FairauditError
from fairaudit.report import checks, content, numbers, trends
from fairaudit.report.blocks import Block, Cell, Document, Entries, Heading, Table, Tone, inert
from fairaudit.report.labels import labels, natural, short
from fairaudit.result import Answer, AuditResult, Verdict
from fairaudit.verdict import Status

_MANY = 40
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
        reports = (_report(one, all_rows=True) for one in answers if all_rows and _is_result(one))
        told = document(answers, all_rows=all_rows)
        return (*(block for each in reports for block in each), *told)
    return _report(answers[0], all_rows=all_rows)


def document(
    answers: Sequence[Answer], *, all_rows: bool = False, links: Sequence[str] | None = None
) -> Document:
    """The summary: a row for each answer, the errors in full, then each check over the files.

    `links` are the addresses of the single reports, in the order of the answers.
    """
    called = labels(answers)
    ranked = sorted(
        _Audit(name, one, None if links is None else links[at])
        for at, (name, one) in enumerate(zip(called, answers, strict=True))
    )
    shown = ranked if all_rows else ranked[:_MANY]
    statuses = _occurring(answers)
    heads = [trends.WORDS[status] for status in statuses]
    is_open = any(one.found.not_cleared for one in answers if isinstance(one.found, AuditResult))
    heads += ["not cleared"] if is_open else []
    table = Table(
        caption="",
        header=("audit", "verdict", "rows", *heads),
        rows=[list(one.cells(statuses, is_open=is_open)) for one in shown],
        numeric=(False, False, True, *(True for _ in heads)),
        more=_more(ranked[len(shown) :]),
    )
    told = f"{_counted(len(answers))}: {verdicts(answers)}, worst first"
    worst = verdict_of(ranked[0].answer)
    tones = {str(verdict): tone for verdict, tone in checks.VERDICT_TONES.items()}
    blocks: list[Block] = [
        Heading("Summary"),
        Entries([(Cell(worst.upper(), tones.get(worst, Tone.BAD)), told)]),
        table,
    ]
    errors = [
        _error(
            one.answer.found, _whose(one.answer, several=len({each.spec for each in answers}) > 1)
        )
        for one in ranked
        if isinstance(one.answer.found, FairauditError)
    ]
    if errors:
        blocks.append(Entries(errors))
    return inert((*blocks, *trends.section(answers, called, all_rows=all_rows)))


def verdict_of(one: Answer) -> str:
    """The verdict on an answer in a word: also `error`, and `nothing` where there is no row."""
    return str(one.found.verdict)


def worst_verdict(answers: Sequence[Answer]) -> str:
    """The worst verdict of several answers, in a word."""
    return min(map(verdict_of, answers), key=_WORST.index)


def verdicts(answers: Sequence[Answer]) -> str:
    """How many of each verdict: `3 error, 4 fail, 193 pass`."""
    counted = Counter(map(verdict_of, answers))
    return ", ".join(f"{numbers.whole(counted[word])} {word}" for word in _WORST if counted[word])


@dataclass(frozen=True, slots=True)
class _Audit:
    """An answer by the name it has among others; the worst is the least."""

    name: str
    answer: Answer
    link: str | None

    def __lt__(self, other: _Audit) -> bool:
        return self._rank() < other._rank()

    def _rank(self) -> tuple[object, ...]:
        tally = _tally(self.answer)
        counts = tuple(-tally[status] for status in trends.WORST_FIRST if status is not Status.PASS)
        verdict = _WORST.index(verdict_of(self.answer))
        return (verdict, counts, natural(self.name), self.name)

    def cells(self, statuses: Sequence[Status], *, is_open: bool) -> Iterator[Cell]:
        """A row of the table; the last column is there if any audit leaves a check uncleared."""
        found = self.answer.found
        yield Cell(short(self.name), href=self.link)
        if isinstance(found, FairauditError):
            yield Cell(verdict_of(self.answer).upper(), Tone.BAD)
            yield from (Cell("") for _ in range(1 + len(statuses) + is_open))
            return
        yield Cell(found.verdict.upper(), checks.VERDICT_TONES[found.verdict])
        yield Cell(numbers.whole(found.provenance.rows))
        yield from (Cell(numbers.whole(found.tally[status])) for status in statuses)
        if is_open:
            yield Cell(numbers.whole(found.not_cleared))


def _tally(one: Answer) -> Counter[Status]:
    return Counter() if isinstance(one.found, FairauditError) else Counter(one.found.tally)


def _occurring(answers: Sequence[Answer]) -> list[Status]:
    """The statuses that any check has, the worst first."""
    total = sum(map(_tally, answers), Counter[Status]())
    return [status for status in trends.WORDS if total[status]]


def _counted(count: int) -> str:
    return f"{numbers.whole(count)} {'audit' if count == 1 else 'audits'}"


def _more(left: Sequence[_Audit]) -> str:
    """How many are not listed, and what came of them."""
    if not left:
        return ""
    told = verdicts([one.answer for one in left])
    return f"and {numbers.whole(len(left))} more ({told}): --verbose, or -o FOLDER/, lists them all"


def _is_result(one: Answer) -> bool:
    return isinstance(one.found, AuditResult)


def _report(one: Answer, *, all_rows: bool) -> Document:
    if isinstance(one.found, FairauditError):
        return inert((Heading(f"Audit: {_title(one)}"), Entries([_error(one.found, "")])))
    return content.document(one.found, all_rows=all_rows, data=one.data)


def _title(one: Answer) -> str:
    """What was asked, in names that print."""
    asked = (one.spec, one.data)
    return " ".join(names.copied(part) for part in asked if part is not None)


def _whose(one: Answer, *, several: bool) -> str:
    """Whose error it is, as far as the error does not say so itself."""
    if several or one.data is None:
        return f"{_title(one)}: "
    data = names.copied(one.data)
    return "" if str(one.found).startswith((one.data, data)) else f"{data}: "


def _error(error: FairauditError, whose: str) -> tuple[Cell, str]:
    return Cell(error.verdict, Tone.BAD), f"{whose}{error}"

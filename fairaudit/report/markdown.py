"""Format `markdown` (entry point): a comment of limited size, with folded sections.

The top has the verdict, a row for each check that does not pass, and the lines of the worst check.
The full report is folded below the top.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import TypeAlias

from fairaudit.base import names
from fairaudit.base.errors import WORST_FIRST
from fairaudit.base.frozen import Frozen, replace
from fairaudit.metrics import find_metric
from fairaudit.report import checks, content, numbers, rates, remarks, summary, text_layout
from fairaudit.report.blocks import (
    FEW_ROWS,
    Block,
    Cell,
    Column,
    Document,
    Entries,
    Facts,
    Figure,
    Heading,
    Paragraph,
    Table,
    Tone,
    tabulate,
    text_column,
)
from fairaudit.report.diagnostics import TONES, Diagnostic, Level, diagnose
from fairaudit.report.markup import bold, cell, code, phrase, running
from fairaudit.report.markup import summary as plain_summary
from fairaudit.report.pictures import Intervals
from fairaudit.report.provenance import link_to_line, link_to_metric, name_spec
from fairaudit.result import Answer, AuditResult

MOST = 65_500
"""Maximum length in bytes. A GitHub comment has at most 65,536 characters, some of them in a
hidden line that identifies it."""
LEAST = 8_192
"""The smallest number of bytes for a page with the verdict and a list of left-out sections."""

_SIGNS = {Tone.GOOD: "✓ ", Tone.WARN: "△ ", Tone.BAD: "✗ "}
_STRONG = {Tone.STRONG, Tone.BAD, Tone.WARN, Tone.GOOD}
IN_SENTENCES = "Findings as sentences, and values without a limit"
"""The first section of a full report."""
_FOR_THE_NOTE = 3_000
_LEAST_ROW = 8
"""Minimum number of bytes of a row of a rate; a row usually has some dozens."""
_NAMED = 5
"""The number of left-out sections that are named."""
_WIDTH = 80
_LABEL = 10
_WIDEST, _MOST_DRAWN, _PICTURES = 100, 16, 4
"""The width, the maximum rows and the maximum number of pictures in a page without an audit."""
_MOST_TABLES = 6
"""Maximum number of comparison tables at the top if no limit is set; the report has all."""


class Code(Frozen):
    """Lines in a font of fixed width, so that their columns are aligned."""

    text: str


CommentBlock: TypeAlias = Block | Code

_Section: TypeAlias = tuple[str, list[CommentBlock]]
"""A heading, and the blocks below it."""


class _Fold(Frozen):
    """A section that is folded away, with sections inside it."""

    title: str
    body: str
    inside: Sequence[_Fold] = ()
    is_open: bool = False

    @property
    def size(self) -> int:
        """The number of bytes of the section, without the sections inside it."""
        return _size(self.text({id(self)}))

    def text(self, kept: set[int]) -> str:
        """The section with the kept sections inside it; empty if the section is not kept."""
        if id(self) not in kept:
            return ""
        opened = "<details open>" if self.is_open else "<details>"
        head = f"{opened}\n<summary>{plain_summary(self.title)}</summary>\n\n{self.body}\n\n"
        return f"{head}{''.join(fold.text(kept) for fold in self.inside)}</details>\n\n"


def render(answers: Sequence[Answer], *, all_rows: bool = False, most: int = MOST) -> str:
    """The report of one answer, or the summary of several followed by the report of each.

    Tables are shortened if not all sections would fit otherwise.
    """
    rows = sum(
        len(answer.result.rates) for answer in answers if isinstance(answer.result, AuditResult)
    )
    # Half a million rows take minutes to write, and would not fit.
    all_rows = all_rows and rows * _LEAST_ROW <= most
    text, left_out = _rendered(answers, all_rows=all_rows, most=most)
    if all_rows and left_out:
        text, _ = _rendered(answers, all_rows=False, most=most)
    return text


def page(document: Document) -> str:
    """A document of at most `MOST` bytes; its first section is open, and the others are folded.

    If the document would be longer, it omits the longest folded sections, and a note says so.
    """
    drawn: list[CommentBlock] = []
    for block in document:
        drawn.append(block)
        if isinstance(block, Figure) and isinstance(block.picture, Intervals):
            lines = [*_drawn(block.picture, _WIDEST, _MOST_DRAWN)]
            if lines and sum(isinstance(known, Code) for known in drawn) < _PICTURES:
                drawn.append(Code("\n".join([block.title, *lines])))
    top, *others = _sections(drawn)
    return _page(top, [*map(_fold, others)], [], MOST)[0]


def _rendered(answers: Sequence[Answer], *, all_rows: bool, most: int) -> tuple[str, int]:
    """The text of the comment, and the number of omitted sections."""
    result = answers[0].result
    if len(answers) > 1:
        # The summary, followed by the report of each answer, the worst first.
        top, *others = _sections(summary.document(answers, all_rows=all_rows))
        folds, heads = [*map(_fold, others)], []
        for single in sorted(answers, key=lambda answer: WORST_FIRST.index(answer.exit_code)):
            if isinstance(single.result, AuditResult):
                first, *others = _of_result(single.result, None, all_rows=all_rows)
                head = _fold((f"{single.title}: {first[0]}", first[1]))
                inside = [*map(_fold, others)]
                heads.append(replace(head, inside=inside, is_open=single.exit_code != 0))
        return _page(top, folds, heads, most)
    if isinstance(result, AuditResult):
        top, *others = _of_result(result, answers[0].data, all_rows=all_rows)
    else:
        top, *others = _sections(summary.report(answers, all_rows=all_rows))
    return _page(top, [*map(_fold, others)], [], most)


def _of_result(result: AuditResult, data: str | None, *, all_rows: bool) -> list[_Section]:
    """The beginning of a comment, then all sections of the full report."""
    _, *full = content.document(result, all_rows=all_rows, data=data)
    return _sections((*head(result, data), Heading(IN_SENTENCES), *full))


def head(result: AuditResult, data: str | None = None) -> tuple[CommentBlock, ...]:
    """The verdict, a row for each check that did not pass, and the numbers of the worst one."""
    headline = checks.audit_headline(result, data)
    every = diagnose(result)
    blocks: list[CommentBlock] = [Heading(headline.title), headline.block]
    if rows := [row for row in every if row.level is not Level.PASS]:
        has_owners = any(row.finding.check.about.owner for row in rows)
        blocks.append(tabulate("", _OPEN_CHECKS if has_owners else _OPEN_CHECKS[:-1], rows))
        if terms := [*remarks.explain_evidence(rows)]:
            blocks.append(Paragraph(f"{'; '.join(terms)}.".capitalize(), Tone.MUTED))
        # The first diagnostic as a terminal prints it, with the commands that show more.
        worst, spec = rows[0], name_spec(result.provenance)
        lines = [f"{worst.level}[{worst.code}]: {worst.headline}", *_labelled(worst.lines)]
        if (picture := worst.picture) is not None:
            lines += ["", *_drawn(picture)]
        more = [("more", f"fairaudit run {spec} -o r.json")]
        more.append(("", "fairaudit show r.json 1  # with its formula"))
        if find_metric(worst.code) is not None:
            about = "what it measures, and its source"
            more.append(("", f"fairaudit explain {worst.code}  # {about}"))
        blocks.append(Code("\n".join([*lines, "", *_labelled(more)])))
    if not every:
        blocks += _without_limits(result)
    elif not rows:
        closest = min(every, key=remarks.distance)
        if math.isfinite(remarks.distance(closest)):
            text = f"The closest to its limit: {closest.headline} ({closest.limit})."
            blocks.append(Paragraph(text))
    if steps := " ".join(remarks.steps(result, every)):
        blocks.append(Paragraph(f"What to do next: {steps}"))
    for text in remarks.beside_checks(result, every):
        blocks.append(Paragraph(f"{text[:1].upper()}{text[1:]}."))
    if result.notices:
        notices = remarks.first_notices(result)
        blocks.append(Entries([(Cell("notice", Tone.WARN), text) for text in notices]))
    return tuple(blocks)


def _without_limits(result: AuditResult) -> Iterator[CommentBlock]:
    """The first comparisons that a spec without limits asks for, and the widest gaps."""
    tables = [*rates.answers(result, FEW_ROWS)]
    yield from tables[:_MOST_TABLES]
    if (omitted := len(tables) - _MOST_TABLES) > 0:
        yield Paragraph(f"{numbers.counted(omitted, 'more table')} below.")
    if gaps := remarks.widest(result):
        columns: tuple[Column[remarks.WidestGap], ...] = (
            text_column(f"{remarks.WIDEST}; gaps with evidence first", lambda g: g.headline),
            text_column("how sure", lambda gap: gap.sure),
        )
        yield tabulate("", columns, gaps)


def _by(row: Diagnostic) -> str:
    check = row.finding.check
    given = f" given {numbers.subset(check.given)}" if check.given else ""
    return f"{numbers.subset(check.by)}{given}" if check.by else ""


def _place(row: Diagnostic) -> Cell:
    if row.at is None:
        return Cell("")
    line = f"{names.copied(PurePath(row.at.file).name)}:{row.at.line}"
    return Cell(line, href=link_to_line(row.at) or None)


_OPEN_CHECKS: tuple[Column[Diagnostic], ...] = (
    text_column("status", lambda row: Cell(row.finding.status.upper(), TONES[row.level])),
    text_column(
        "check",
        lambda row: Cell(
            "\n".join(filter(None, (row.code, row.headline, dict(row.lines).get("outcome")))),
            href=link_to_metric(row.code) or None,
        ),
    ),
    text_column("by", _by),
    Column(
        "value",
        lambda row: Cell(row.value + (f"\n({row.interval})" if row.interval else ""), Tone.STRONG),
    ),
    text_column("limit", lambda row: row.limit),
    text_column("spec", _place),
    text_column("owner", lambda row: names.line(row.finding.check.about.owner)),
)


def _drawn(
    picture: Intervals, width: int = _WIDTH, most: int = text_layout.MOST_ROWS
) -> Iterator[str]:
    for line in text_layout.draw(picture, width, most):
        yield "".join(cell.text for cell in line.cells).rstrip()


def _labelled(pairs: Sequence[tuple[str, str]]) -> Iterator[str]:
    for label, text in pairs:
        yield f"{f'{label}:' if label else '':{_LABEL}}{text}".rstrip()


def _sections(document: Iterable[CommentBlock]) -> list[_Section]:
    """The blocks under each heading; the blocks before the first heading have an empty heading."""
    sections: list[_Section] = []
    for block in document:
        if isinstance(block, Heading):
            sections.append((block.text, []))
        else:
            if not sections:
                sections.append(("", []))
            sections[-1][1].append(block)
    return sections or [("", [])]


def _page(
    top: _Section, folds: Sequence[_Fold], heads: Sequence[_Fold], most: int
) -> tuple[str, int]:
    """The page, and the number of left-out sections, including those inside `heads`.

    Heads are added first, in their order, then the other sections, the shortest first.
    """
    title, blocks = top
    start = f"## {phrase(title)}\n\n" if title else ""
    # Rows of tables and lists are left out first.
    units, fitting = [*_units(blocks)], set[int]()
    room = most - _FOR_THE_NOTE - _size(start)
    for index in sorted(range(len(units)), key=lambda index: not units[index].startswith("\n\n")):
        if (size := _size(units[index])) <= room:
            fitting.add(index)
            room -= size
    start += "".join(units[index] for index in sorted(fitting)).lstrip("\n")
    if omitted := len(units) - len(fitting):
        start += f"\n\n{omitted:,} more statements do not fit here: `-o report.json` has them."
    start += "\n\n"
    room = most - _FOR_THE_NOTE - _size(start)
    kept = _first_that_fit(heads, room)
    others = [*folds, *(fold for head in kept for fold in head.inside)]
    room -= sum(head.size for head in kept)
    kept += _first_that_fit(sorted(others, key=lambda fold: fold.size), room)
    ids = {*map(id, kept)}
    body = "".join(fold.text(ids) for fold in (*folds, *heads))
    every = (*heads, *folds, *(fold for head in heads for fold in head.inside))
    left_out = [fold for fold in every if id(fold) not in ids]
    note = ""
    if left_out:
        named = "; ".join(phrase(fold.title, 60) for fold in left_out[:_NAMED])
        more = f" and {len(left_out) - _NAMED} more" if len(left_out) > _NAMED else ""
        note = (
            f"Left out, as this page has room for {most:,} bytes: {named}{more}. "
            "Everything is in `-o report.json`.\n"
        )
    return f"{start}{body}{note}".rstrip("\n") + "\n", len(left_out)


def _first_that_fit(folds: Iterable[_Fold], room: int) -> list[_Fold]:
    """The sections that fit, in order: each is kept if there is still room for it."""
    kept = []
    for fold in folds:
        if fold.size <= room:
            kept.append(fold)
            room -= fold.size
    return kept


def _fold(section: _Section) -> _Fold:
    title, blocks = section
    return _Fold(title, "".join(_units(blocks)).lstrip("\n"))


def _units(blocks: Iterable[CommentBlock]) -> Iterator[str]:
    """The blocks as Markdown; each further row of a table or list is a unit, after a line break."""
    mark = "*"
    for block in blocks:
        if isinstance(block, Figure):
            continue
        # Two lists in a row would become one if they had the same bullets.
        mark = "-" if mark == "*" else "*"
        match block:
            case Heading():
                rows = [f"### {phrase(block.text)}"]
            case Paragraph():
                rows = [running(block.text)]
            case Facts():
                labels = (f"{bold(phrase(f'{name}:'))} " if name else "" for name, _ in block.pairs)
                texts = (running(text, "  ") for _, text in block.pairs)
                rows = [f"{mark} {label}{text}" for label, text in zip(labels, texts, strict=True)]
            case Entries():
                rows = [
                    f"{mark} {bold(_SIGNS.get(word.tone, '') + phrase(word.text))} "
                    f"{running(text, '  ')}"
                    for word, text in block.rows
                ]
            case Code():
                rows = [code(block.text)]
            case Table():
                caption = f"{bold(running(block.caption))}\n\n" if block.caption else ""
                header = _row([cell(name) for name in block.header])
                rule = _row(["---:" if numeric else ":---" for numeric in block.numeric])
                rows = [f"{caption}{header}\n{rule}"]
                rows += [_row([_cell(entry) for entry in row]) for row in block.rows]
        yield from (f"\n{row}" if number else f"\n\n{row}" for number, row in enumerate(rows))
        if isinstance(block, Table) and block.more:
            yield f"\n\n{running(block.more)}"


def _cell(entry: Cell) -> str:
    text = cell(entry.text)
    if entry.href is not None and entry.href.startswith("https://"):
        text = f"[{text}](<{entry.href}>)"
    return bold(text) if entry.tone in _STRONG else text


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _size(text: str) -> int:
    return len(text.encode())

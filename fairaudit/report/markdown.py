"""The report as Markdown, of a size that fits a comment: the verdict first, the rest folded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from fairaudit.errors import WORST_FIRST
from fairaudit.report import content, summary
from fairaudit.report.blocks import (
    Block,
    Cell,
    Document,
    Entries,
    Facts,
    Figure,
    Heading,
    Paragraph,
    Table,
    Tone,
)
from fairaudit.report.markup import bold, cell, phrase, running
from fairaudit.report.markup import summary as plain_summary
from fairaudit.result import Answer, AuditResult

MOST = 65_536
"""So many characters GitHub takes in a comment; bytes are counted, which are never fewer."""
LEAST = 8_192
"""So many bytes a page takes at least, to tell the verdict and what is left out."""

_SIGNS = {Tone.GOOD: "✓ ", Tone.WARN: "△ ", Tone.BAD: "✗ "}
_STRONG = {Tone.STRONG, Tone.BAD, Tone.WARN, Tone.GOOD}
_FOR_THE_NOTE = 3_000
_LEAST_ROW = 8
"""So many bytes the row of a rate takes for sure; it is some dozens."""
_NAMED = 5
"""So many sections that are left out are named."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A block as Markdown: what can only stand whole, and rows that may be cut."""

    before: str
    rows: tuple[str, ...] = ()
    after: str = ""

    def text(self, rows: Sequence[str]) -> str:
        lines = [self.before] if self.before else []
        return "\n".join([*lines, *rows]) + (f"\n\n{self.after}" if self.after else "")


@dataclass(frozen=True, slots=True)
class _Fold:
    """A section that is folded away, with sections inside it."""

    title: str
    body: str
    inside: tuple[_Fold, ...] = ()
    is_open: bool = False

    @property
    def ends(self) -> tuple[str, str]:
        opened = "<details open>" if self.is_open else "<details>"
        head = f"{opened}\n<summary>{plain_summary(self.title)}</summary>\n\n{self.body}\n\n"
        return head, "</details>\n\n"

    @property
    def size(self) -> int:
        """Its own bytes, without what is inside it."""
        return sum(map(_size, self.ends))


def render(answers: Sequence[Answer], *, all_rows: bool = False, most: int = MOST) -> str:
    """The report of one answer, or the summary of several with the report of each behind it.

    Where no tables but short ones leave room for all sections, the tables are short.
    """
    rows = sum(
        len(answer.found.rates) for answer in answers if isinstance(answer.found, AuditResult)
    )
    # Half a million rows take minutes to write, and would not fit.
    all_rows = all_rows and rows * _LEAST_ROW <= most
    text, left_out = _rendered(answers, all_rows=all_rows, most=most)
    if all_rows and left_out:
        text, _ = _rendered(answers, all_rows=False, most=most)
    return text


def page(document: Document, most: int = MOST) -> str:
    """A document in at most `most` bytes, its first section open and the others folded.

    The longest of the others are left out, with a word, where it would be longer.
    """
    top, *others = _sections(document)
    return _page(top, [], [(None, _fold(other)) for other in others], most)[0]


def _rendered(answers: Sequence[Answer], *, all_rows: bool, most: int) -> tuple[str, int]:
    """The text, and how many sections are left out of it."""
    if len(answers) == 1:
        top, *others = _sections(summary.report(answers, all_rows=all_rows))
        return _page(top, [], [(None, _fold(other)) for other in others], most)
    top, *others = _sections(summary.document(answers, all_rows=all_rows))
    heads: list[_Fold] = []
    inner: list[tuple[_Fold | None, _Fold]] = [(None, _fold(other)) for other in others]
    for single in sorted(answers, key=lambda answer: WORST_FIRST.index(answer.exit_code)):
        if isinstance(single.found, AuditResult):
            first, *others = _sections(content.document(single.found, all_rows=all_rows))
            head = _fold((f"{single.title}: {first[0]}", first[1]), is_open=single.exit_code != 0)
            heads.append(head)
            inner += [(head, _fold(other)) for other in others]
    return _page(top, heads, inner, most)


def _sections(document: Document) -> list[tuple[str, list[Block]]]:
    """The blocks under each heading; those before the first have an empty one."""
    sections: list[tuple[str, list[Block]]] = []
    for block in document:
        if isinstance(block, Heading):
            sections.append((block.text, []))
        else:
            if not sections:
                sections.append(("", []))
            sections[-1][1].append(block)
    return sections or [("", [])]


def _page(
    top: tuple[str, Sequence[Block]],
    heads: Sequence[_Fold],
    inner: Sequence[tuple[_Fold | None, _Fold]],
    most: int,
) -> tuple[str, int]:
    """The page, and how many sections are left out: inner ones stand within their head, if any.

    Heads are taken in their order, of the inner ones the shortest first.
    """
    title, blocks = top
    start = f"## {phrase(title)}\n\n" if title else ""
    start += _fitted(_parts(blocks), most - _FOR_THE_NOTE - _size(start)) + "\n\n"
    room = most - _FOR_THE_NOTE - _size(start)
    kept: set[int] = set()
    shortest = sorted(inner, key=lambda pair: pair[1].size)
    for head, fold in [*((None, head) for head in heads), *shortest]:
        if fold.size <= room and (head is None or id(head) in kept):
            kept.add(id(fold))
            room -= fold.size
    body = "".join(_told(None, inner, kept))
    for head in heads:
        if id(head) in kept:
            before, after = head.ends
            body += f"{before}{''.join(_told(head, inner, kept))}{after}"
    left_out = [
        fold
        for fold in (*heads, *(fold_inside for _, fold_inside in inner))
        if id(fold) not in kept
    ]
    return f"{start}{body}{_note(left_out, most)}".rstrip("\n") + "\n", len(left_out)


def _told(
    head: _Fold | None, inner: Iterable[tuple[_Fold | None, _Fold]], kept: set[int]
) -> Iterator[str]:
    for within, fold in inner:
        if within is head and id(fold) in kept:
            yield "".join(fold.ends)


def _note(left_out: Sequence[_Fold], most: int) -> str:
    if not left_out:
        return ""
    named = "; ".join(phrase(fold.title, 60) for fold in left_out[:_NAMED])
    more = f" and {len(left_out) - _NAMED} more" if len(left_out) > _NAMED else ""
    return (
        f"Left out, as this page has room for {most:,} bytes: {named}{more}. "
        "Everything is in `-o report.json`.\n"
    )


def _fold(section: tuple[str, Sequence[Block]], *, is_open: bool = False) -> _Fold:
    title, blocks = section
    body = "\n\n".join(part.text(part.rows) for part in _parts(blocks))
    return _Fold(title, body, is_open=is_open)


def _fitted(parts: Iterable[_Part], room: int) -> str:
    """The parts in so many bytes: what comes first stays, and what does not fit is counted."""
    texts, left_out = [], 0
    for part in parts:
        room -= _size(part.text(())) + 2
        rows = []
        for row in part.rows:
            if _size(row) < room:
                rows.append(row)
                room -= _size(row) + 1
            else:
                left_out += 1
        if rows or (part.before and room >= 0):
            texts.append(part.text(rows))
        elif not part.rows:
            left_out += 1
    if left_out:
        texts.append(f"{left_out:,} more statements are left out here, for lack of room.")
    return "\n\n".join(texts)


def _parts(blocks: Iterable[Block]) -> Iterator[_Part]:
    mark = "*"
    for block in blocks:
        if isinstance(block, Figure):
            continue
        # Lists that follow each other are told apart by their marks alone.
        mark = "-" if mark == "*" else "*"
        match block:
            case Heading():
                yield _Part(f"### {phrase(block.text)}")
            case Paragraph():
                yield _Part(running(block.text))
            case Facts():
                yield _Part("", tuple(_fact(mark, *pair) for pair in block.pairs))
            case Entries():
                yield _Part("", tuple(_entry(mark, *row) for row in block.rows))
            case Table():
                yield _table(block)


def _fact(mark: str, name: str, text: str) -> str:
    named = f"{bold(phrase(f'{name}:'))} " if name else ""
    return f"{mark} {named}{running(text, '  ')}"


def _entry(mark: str, word: Cell, text: str) -> str:
    head = bold(_SIGNS.get(word.tone, "") + phrase(word.text))
    return f"{mark} {head} {running(text, '  ')}"


def _table(block: Table) -> _Part:
    caption = f"{bold(running(block.caption))}\n\n" if block.caption else ""
    header = _row([cell(name) for name in block.header])
    rule = _row(["---:" if numeric else ":---" for numeric in block.numeric])
    rows = tuple(
        _row(
            [bold(cell(entry.text)) if entry.tone in _STRONG else cell(entry.text) for entry in row]
        )
        for row in block.rows
    )
    return _Part(f"{caption}{header}\n{rule}", rows, running(block.more) if block.more else "")


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _size(text: str) -> int:
    return len(text.encode())

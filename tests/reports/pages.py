"""Pages of the sample specs, made once, and a reader of pages that forgives nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser

import report_cases

from fairaudit.report import content, html
from fairaudit.report.blocks import Figure
from fairaudit.result import Answer, AuditResult

_INLINE = {"a", "bdi", "strong"}
"""No blank stands around these."""
_VOID = {"meta", "br", "link", "img", "input", "hr"}


@dataclass(frozen=True)
class Sample:
    """What came of a sample spec, and its page."""

    result: AuditResult
    page: str

    @property
    def figures(self) -> list[Figure]:
        """The pictures of its report."""
        document = content.document(self.result, all_rows=True)
        return [block for block in document if isinstance(block, Figure)]


@cache
def sample(name: str) -> Sample:
    """The page of a sample spec, run from the top of the checkout."""
    result = report_cases.sample(name)
    return Sample(result, html.render([Answer(name, None, result)]))


@cache
def tree_of(name: str) -> Element:
    """The page of a sample spec as a tree."""
    return read(sample(name).page)


@dataclass
class Element:
    """An element with its attributes and everything in it, in order."""

    tag: str
    attributes: dict[str, str]
    children: list[Element | str] = field(default_factory=list)

    def all(self, tag: str) -> list[Element]:
        """All elements of a kind below it."""
        found = []
        for child in self.children:
            if isinstance(child, Element):
                found += ([child] if child.tag == tag else []) + child.all(tag)
        return found

    @property
    def text(self) -> str:
        """The text in it with single blanks."""
        return " ".join(self._run().split())

    @property
    def words(self) -> str:
        """The text in it as it is."""
        return "".join(one if isinstance(one, str) else one.words for one in self.children)

    def _run(self) -> str:
        parts = []
        for one in self.children:
            if isinstance(one, str):
                parts.append(one)
            else:
                apart = "" if one.tag in _INLINE else " "
                parts.append(f"{apart}{one._run()}{apart}")
        return "".join(parts)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open = [Element("document", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = Counter(name for name, _ in attrs)
        assert max(names.values(), default=1) == 1, f"an attribute twice in <{tag}>"
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(element)
        if tag not in _VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> where <{self.open[-1].tag}> is open"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def read(page: str) -> Element:
    """The page as a tree; every element closed, in order, no attribute twice."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert len(reader.open) == 1, f"<{reader.open[-1].tag}> is never closed"
    return reader.open[0]


def elements(tree: Element) -> list[Element]:
    """All elements below one."""
    found = []
    for child in tree.children:
        if isinstance(child, Element):
            found += [child, *elements(child)]
    return found

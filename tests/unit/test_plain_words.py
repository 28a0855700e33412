"""The word check: phrases that readers stumble over, with what to write instead.

It reads messages and reports (strings and templates), docstrings, comments and the documentation,
and shows each hit as FILE:LINE.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from conftest import ROOT


class Phrase(NamedTuple):
    """A pattern, which ignores case unless it begins with a capital, and what to write instead."""

    pattern: str
    instead: str


PHRASES = (
    Phrase(r"\b(?:tells?|told|telling|untold)\b", "report, show, say, list, state"),
    Phrase(r"\bstands?\b(?! for\b)", "is, appears, is listed, is defined"),
    Phrase(r"\bbeside\b", "next to, with, in addition to, compared with"),
    Phrase(
        # "there is no", "is no longer" and Python's None are plain.
        r"(?<!there )\b(?:is|are|was|were) (?:no(?!t\b|w\b|n-| longer\b| more\b)|(?-i:none))\b",
        "is not a, there is no, is missing",
    ),
    Phrase(r"\b(?:held|holds?|holding) (?:\w+ ){0,2}against\b", "compared with, checked against"),
    Phrase(r"\b(?:who(?:m|so)?ever|whichever|whatever)\b", "name the person or thing"),
    Phrase(r"\bnobody\b", "no one; better: no group, no row, no user"),
    Phrase(r"\b(?:is|are) (?:not there|there already|not to be had)\b", "missing, absent"),
    Phrase(r"\bso (?:many|much|few)\b", "a number, at most N, that many"),
    Phrase(
        r"(?:^|[.;:!?] +)(?-i:Of|To|By|From|With) (?:a|an|the|each|all|these|those|such|several|"
        r"two|what|whom|which)\b[^.,;]{3,60}?(?:, )?\b(?:is|are|has|have|does|do|says?|needs?)\b",
        "subject, verb, object",
    ),
    Phrase(r"\b(?:alike|unlike (?!a|the|other))\b", "similar, identical, different"),
    Phrase(r"\banew\b", "again"),
    Phrase(
        r"\bsigns?\b(?= (?:of JSON|of Markdown|that|per|at|in a line|wide))|\b\d+ signs\b",
        "characters",
    ),
    Phrase(r"\b(?:turned round|the other way (?:round|about))\b", "reversed, opposite"),
    Phrase(
        r"\b(?:by (?:itself|themselves)|of its own|of their own|of one's own)\b",
        "alone, separate, separately, its own",
    ),
    Phrase(r"\ball the same\b", "anyway, still"),
    Phrase(r"\bwhere (?:it|they|there) (?:is|are) (?:none|one|any)\b", "if any, when missing"),
    Phrase(r"\bhangs? on\b", "depends on"),
    Phrase(r"\b(?:comes? of|lies? (?:in|there|with)|goes on to)\b", "results from, is in"),
    Phrase(
        r"^(?-i:What) (?:is|are|was|were|a|an|the|each|every|one|makes?|no|stands?|they|it)\b",
        "start with the noun: the rows that, the text of",
    ),
    Phrase(
        r"\b(?:for one|such a one|the one that|one that|one which|another's|none of "
        r"(?:it|them|whose))\b",
        "repeat the noun",
    ),
    Phrase(r"\b(?:save for|but for|nor is|nor are|nor does|lest)\b", "except, and ... not"),
)
_COMPILED = [(re.compile(pattern, re.IGNORECASE), instead) for pattern, instead in PHRASES]

ALLOWED = {  # the file and the text around a hit, with the reason
    ("fairaudit/metrics/estimate.py", "freedom beside"): "the name of a member of the JSON report",
}

DOCUMENTS = ("docs", "*.md", "benchmarks/*.md", "tests/*/README.md")


class Hit(NamedTuple):
    """A phrase where a person reads it."""

    file: str
    line: int
    text: str
    instead: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text!r}: write {self.instead}"


def test_messages_reports_and_code_are_plain() -> None:
    assert _list_hits({".py", ".jinja"}, [ROOT / "fairaudit", ROOT / "benchmarks"]) == ""


def test_the_documentation_is_plain() -> None:
    assert _list_hits({".md"}, [path for name in DOCUMENTS for path in ROOT.glob(name)]) == ""


def test_a_hit_names_its_place_and_what_to_write(tmp_path: Path) -> None:
    """One of each kind of place; code in Markdown and names in backticks are not prose."""
    module, page = tmp_path / "module.py", tmp_path / "page.md"
    module.write_text(
        '"""Whoever reads this."""\n\nX = "there is such a thing, whatever it is"  # so few\n'
        'Y = f"{X} is told of `beside`"\nZ = "none"\n'
    )
    page.write_text("Nobody\n```\nnobody\n```\n`nobody`: is no longer here\n")
    hits = [
        (place, line)
        for path in (module, page)
        for place, line, text in _texts(path)
        for pattern, _ in _COMPILED
        if pattern.search(text)
    ]
    assert Counter(hits) == Counter(
        {
            ("docstring", 1): 1,
            ("string", 3): 1,
            ("comment", 3): 1,
            ("string", 4): 1,
            ("document", 1): 1,
        }
    )


def test_every_exception_is_needed() -> None:
    texts = {
        (file, text)
        for file, allowed in ALLOWED
        for _, _, text in _texts(ROOT / file)
        if allowed in text
    }
    unused = [key for key in ALLOWED if not any(key[1] in text for _, text in texts)]
    assert unused == []


def _list_hits(suffixes: set[str], roots: list[Path]) -> str:
    """Every hit in files with these suffixes, one per line; empty if there is none."""
    hits = (hit for root in roots for hit in _find_hits(suffixes, root))
    return "\n".join(map(str, hits))


def _find_hits(suffixes: set[str], root: Path) -> Iterator[Hit]:
    files = [root] if root.is_file() else sorted(root.rglob("*"))
    for path in files:
        if path.suffix not in suffixes:
            continue
        file = path.relative_to(ROOT).as_posix()
        exceptions = [text for allowed, text in ALLOWED if allowed == file]
        for _, line, text in _texts(path):
            if any(allowed in text for allowed in exceptions):
                continue
            for pattern, instead in _COMPILED:
                for match in pattern.finditer(text):
                    around = text[max(0, match.start() - 40) : match.end() + 40]
                    yield Hit(file, line, around, instead)


def _texts(path: Path) -> Iterator[tuple[str, int, str]]:
    """The texts of a file that a person reads: the kind of place, the line, and the text."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        is_code = False
        for line, text in enumerate(source.splitlines(), 1):
            if text.lstrip().startswith("```"):
                is_code = not is_code
            elif not is_code:
                yield "document", line, _without_code(text)
    elif path.suffix == ".jinja":
        for line, text in enumerate(source.splitlines(), 1):
            yield "string", line, re.sub(r"\{[{%#].*?[}%#]\}|<[^>]*>", " ", text)
    else:
        yield from _texts_of_python(source)


def _texts_of_python(source: str) -> Iterator[tuple[str, int, str]]:
    nodes = [*ast.walk(ast.parse(source))]
    docstrings = {node.value for node in nodes if isinstance(node, ast.Expr)}
    inner = {part for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = _without_code(" ".join(node.value.split()))
            if node in docstrings:
                yield "docstring", node.lineno, text
            elif node not in inner and _is_prose(text):
                yield "string", node.lineno, text
        elif isinstance(node, ast.JoinedStr):
            parts = (p.value if isinstance(p, ast.Constant) else "{}" for p in node.values)
            text = _without_code(" ".join("".join(map(str, parts)).split()))
            if _is_prose(text):
                yield "string", node.lineno, text
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield "comment", token.start[0], token.string.lstrip("# ")


def _is_prose(text: str) -> bool:
    return len(text.split()) > 2


def _without_code(text: str) -> str:
    return re.sub(r"`[^`]*`", "`x`", text)

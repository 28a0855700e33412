"""Page: escapes texts, cuts overlong words, links addresses, isolates the direction of writing."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from markupsafe import Markup, escape

from fairaudit.base.names import printable

_LONGEST = 160
"""A word with more signs is shortened: nobody reads on, and it may stand in a hundred places."""
_KEPT = 60
_WORD = re.compile(rf"\S{{{_LONGEST + 1},}}")
_ADDRESS = re.compile(
    r"(https://[A-Za-z0-9][A-Za-z0-9./_~%#?=&+-]{0,150}[A-Za-z0-9/])(?![^\s.,;)])"
)
"""Nothing but ASCII that needs no quoting; the full stop of a sentence is no part of it."""


def plain(words: str) -> str:
    """The words with control characters spelled out and overlong ones shortened."""
    return _WORD.sub(_shortened, printable(words.replace("\n", " ")))


@lru_cache(maxsize=4096)  # a page says the same names again and again
def signs(words: str) -> Markup:
    """The words as markup: lines are kept, runs from right to left stand by themselves."""
    if words.isspace():
        return escape(repr(words))  # a blank level has a name, too
    lines = [_WORD.sub(_shortened, printable(line)) for line in words.split("\n")]
    return Markup("<br>").join(map(_isolated, lines))


def titled(words: str) -> Markup:
    """A statement with what it is about made strong: all before its first colon."""
    about, colon, rest = words.partition(": ")
    if not colon:
        return signs(words)
    return Markup("<strong>{}:</strong> {}").format(signs(about), signs(rest))


def linked(words: str) -> Markup:
    """The words as markup, with addresses as links that say where they lead."""
    parts = _ADDRESS.split(words)
    pieces = [
        Markup('<a href="{0}" rel="noreferrer">{0}</a>').format(part) if index % 2 else signs(part)
        for index, part in enumerate(parts)
        if part
    ]
    return Markup().join(pieces)


def _shortened(match: re.Match[str]) -> str:
    word = match[0]
    return f"{word[:_KEPT]}…{word[-_KEPT // 3 :]} ({len(word):,} signs)"


def _isolated(line: str) -> Markup:
    """The line with each run of signs that are written from right to left in a `bdi`."""
    if line.isascii():
        return escape(line)
    parts: list[Markup] = []
    run, is_right = "", False
    for sign in line:
        direction = unicodedata.bidirectional(sign)
        neutral = direction not in {"R", "AL", "L"}
        if not neutral and (direction != "L") is not is_right:
            parts.append(_part(run, is_right=is_right))
            run, is_right = "", not is_right
        run += sign
    parts.append(_part(run, is_right=is_right))
    return Markup().join(parts)


def _part(run: str, *, is_right: bool) -> Markup:
    """A run; what is neutral at its end belongs to the page."""
    if not is_right:
        return escape(run)
    kept = len(run)
    while unicodedata.bidirectional(run[kept - 1]) not in {"R", "AL"}:
        kept -= 1
    return Markup("<bdi>{}</bdi>{}").format(run[:kept], run[kept:])

"""Escapes and shortens text for Markdown, as CommonMark and GitHub read it.

The syntax of Markdown is escaped. Escapes do not stop GitHub from making mentions, issues, emoji
and links of a text, so a character of no width is inserted into these. Such characters, and the
non-breaking spaces that keep a run of spaces, are spelled out if the original text has them.
The only links are the addresses of our own sources.
"""

from __future__ import annotations

import html
import re
from functools import cache

from fairaudit.base.names import printable
from fairaudit.metrics import CATALOGUE
from fairaudit.metrics.comparisons import COMPARISONS

JOINER = "\u2060"
"""The word joiner: it is invisible, prevents a line break, and ends a name."""
KEPT_SPACE = "\u00a0"
ISOLATE, ISOLATED = "\u2068", "\u2069"
"""The signs around right-to-left text, so that numbers after it keep their place."""
LONGEST = 3_000
"""Maximum number of characters of a statement."""
LONGEST_NAME = 300
"""Maximum number of characters of a cell of a table, a heading, or the label of a statement."""

_ESCAPED = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "\\`*[]~#"},
        "<": "&lt;",
        ">": "&gt;",
        "&": "&amp;",
        "|": "&#124;",
        "$": "&#36;",
    }
)
_UNDERSCORE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
"""A character that could begin or end emphasis, except within a word."""
_REFERENCE = re.compile(r"(?i)@|#(?=\w)|gh-(?=\d)|:(?=//)|www(?=\.)|:(?=[\w+-]+:)(?!\d\d:)")
"""A character that begins a mention, issue, address or emoji; not the colon of a time of day."""
_BROKEN = rf"\g<0>{JOINER}"
_START = re.compile(r"^(?:(?=[-+=:])|\d{1,9}(?=[.)]))")
"""The beginning of a list, rule, underlined heading or table; a backslash is inserted after it."""
_SPACES = re.compile(r"^ +| +$| {2,}")
_FROM_RIGHT = "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
RIGHT_TO_LEFT = re.compile(f"({_FROM_RIGHT}(?:[^=×:;,()\\n]*{_FROM_RIGHT})?)")
"""Right-to-left text, including the characters between two of its words."""


def phrase(text: str, most: int = LONGEST_NAME) -> str:
    """A text within a line: a heading, or the label of a statement."""
    return _escaped(printable(shortened(text, most)))


def cell(text: str) -> str:
    """A text in a table; a line break is an HTML element there."""
    return "<br>".join(
        map(_escaped, printable(shortened(text, LONGEST_NAME), but="\n").split("\n"))
    )


def running(text: str, indent: str = "") -> str:
    """A text at the beginning of a line; its further lines begin with `indent`."""
    lines = printable(shortened(text, LONGEST), but="\n").split("\n")
    starts = (_START.sub(r"\g<0>\\", _escaped(line)) for line in lines)
    return f"\\\n{indent}".join(line or JOINER for line in starts)


def summary(text: str) -> str:
    """A text within an HTML element, in which Markdown is not read."""
    plain = printable(shortened(text, LONGEST_NAME))
    return html.escape(_REFERENCE.sub(_BROKEN, _isolated(plain)), quote=False).replace("$", "&#36;")


def code(text: str, most: int = LONGEST) -> str:
    """A block of code. Its fence has more backticks than any row of backticks inside."""
    plain = printable(shortened(text, most), but="\n")
    longest = max(map(len, re.findall("`+", plain)), default=0)
    fence = "`" * max(longest + 1, 3)
    return f"{fence}text\n{plain}\n{fence}"


def bold(text: str) -> str:
    """Markdown text in bold, without spaces at its ends."""
    return f"**{text}**" if text else text


def _escaped(text: str) -> str:
    text = _SPACES.sub(_keep_spaces, _isolated(text))
    if "://" not in text:
        return _inert(text)
    # Every other piece is one of the addresses.
    pieces = _addresses().split(text)
    return "".join(
        f"<{piece}>" if index % 2 else _inert(piece) for index, piece in enumerate(pieces)
    )


def _inert(text: str) -> str:
    return _UNDERSCORE.sub(r"\\_", _REFERENCE.sub(_BROKEN, text).translate(_ESCAPED))


@cache
def _addresses() -> re.Pattern[str]:
    """The addresses of the sources of the catalogue."""
    addresses = {record.source.url for record in (*CATALOGUE, *COMPARISONS) if record.source.url}
    longest_first = sorted(addresses, key=lambda url: (-len(url), url))
    return re.compile(f"({'|'.join(map(re.escape, longest_first))})")


def _isolated(text: str) -> str:
    if text.isascii():
        return text
    return RIGHT_TO_LEFT.sub(lambda match: f"{ISOLATE}{match[0]}{ISOLATED}", text)


def _keep_spaces(match: re.Match[str]) -> str:
    """Keeps spaces that Markdown would drop: all but one between words, and all at an end."""
    kept = KEPT_SPACE * len(match[0])
    before = JOINER if match.start() == 0 else ""
    after = JOINER if match.end() == len(match.string) else ""
    return f"{before}{kept}{after}" if before or after else f"{kept[1:]} "


def shortened(text: str, most: int) -> str:
    """The text in at most `most` characters; a longer text loses its middle, and says so.

    Both ends are kept, because a sentence has its names at one end and its numbers at the other.
    """
    if len(text) <= most:
        return text
    word = f" … {len(text):,} characters in all … "
    half = max((most - len(word)) // 2, 0)
    return f"{text[:half]}{word}{text[len(text) - half :]}"[:most]

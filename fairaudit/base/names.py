"""Escapes, quotes, shortens names from the data (levels, columns, files); recognises lookalikes.

A name is data: it may hold a line break, an escape of a terminal, a character that reverses the
direction of writing, ten thousand letters, or our own words. Here it becomes one printable line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import MAX_PREC, Context, Decimal, InvalidOperation
from functools import lru_cache
from itertools import pairwise
from unicodedata import bidirectional, category, combining, east_asian_width, normalize

from fairaudit.base.masking import mask_name

MOST = 60
"""Widest name in columns of a terminal; a longer name loses its middle."""
MOST_COPIED = 200
"""Widest name that users copy, such as a level into `merge`, which is cut later."""

_MOST_MARKS = 4
"""Most accents on one letter; more hide the lines above and below."""
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
"""Invisible characters that Python calls printable."""
_SELECTORS = frozenset(map(chr, range(0xFE00, 0xFE10)))
"""What chooses among pictures of a sign."""
_JOINERS = frozenset("\u200c\u200d")
_LIKE_TOTAL = re.compile(
    r"(sub|grand )?totals?|total .*|overall|all( (?!others?\b).*)?|both (sexes|genders)|persons"
    r"|everyone|everybody|insgesamt|gesamt|zusammen|ensemble|tous|toutes|todos|todas|ambos sexos"
    r"|totale|totaal|totalt"
)
_ORDINARY = re.compile("[ -~¡-¬®-ſΑ-ΡΣ-ώ–—‘-”…←-⇿∀-⋿]*")
"""Characters that are always visible: a text of these reads as it is."""
_OURS = frozenset({
    "", "everybody", "everybody else", "everyone", "nobody", "the whole check", "rest", "overall",
    "highest", "lowest", "reference", "not known", "undefined", "suppressed", "∞", "-∞",
})  # fmt: skip
"""Our own words in places where a name may be."""
_COMMAND = re.compile(r"(?:^|(?<=\s)):(?=:)|#(?=#\w*\[)")
"""Where a CI server would begin to read a command: `::error::`, `##[add-mask]`, `##vso[…]`.

GitHub reads the first at the beginning of a line, and a text may be broken there; GitHub and Azure
read the others anywhere.
"""
_SEPARATES = re.compile(r", | × |; | / |: |\w\s*=|^[\"']|^\s|\s$")
"""What we set between names, and where a quoted one begins."""


_BARE_WORDS = frozenset(
    {
        *("yes", "no", "true", "false", "none", "null", "na", "n/a", "unknown"),
        *("(unknown)", "not", "missing", "any", "all"),
    }
)
"""Levels that many columns have: they do not show which column they belong to."""

_REMAINING = {"other", "others", "rest", "remaining", "everybody else", "everyone else", "else"}
"""Levels that a reader may take for everybody outside a group."""


@lru_cache(maxsize=4096)
def name(text: str, most: int = MOST) -> str:
    r"""A name as part of a sentence: one printable line of at most `most` columns.

    It is quoted, as Python quotes a text, if it could be misread: if it is empty or blank, equals
    one of our words (`everybody`), contains a separator of names (`a, b`, `x=1`), or if a character
    had to be spelled out, so that a level `\n` differs from a line break. A long name keeps its
    beginning and end, with a hash that makes it unique: `first…last#3f2a1c`.
    """
    text = mask_name(text)
    signs = list(_spelled(text))
    plain = all(len(sign) == 1 for sign in signs)
    if plain and text.casefold() not in _OURS and not _SEPARATES.search(text):
        return _shortened(signs, text, most)
    return quoted(text, most)


def copied(text: str) -> str:
    """A check's id or a path in printable characters, quoted only if empty, to be typed again.

    If it has more than 200 columns, it keeps its beginning and end.
    """
    text = mask_name(text)
    return _shortened(list(_spelled(text)), text, MOST_COPIED) or "''"


def line(text: str) -> str:
    """Running text from outside as one line, whole: a title, a reason; breaks become blanks."""
    return printable(" ".join(text.split()))


@lru_cache(maxsize=4096)  # a report says the same names again and again
def printable(text: str, but: str = "") -> str:
    """A text with every sign spelled out that would not be seen, but those in `but`."""
    if _is_ordinary(text):
        return text
    return "".join(_spelled(text, but))


def escaped(text: str) -> str:
    r"""A text with the same signs spelled out, from which it can be had back.

    `\n`, `\r`, `\t`, `\xhh`, `\uhhhh` and `\Uhhhhhhhh` stand for a sign each; a backslash of the
    text itself is doubled where it would be read as the beginning of one.
    """
    if _is_ordinary(text) and "\\" not in text:
        return text
    signs = [*_spelled(text), ""]
    escapes = ("n", "r", "t", "x", "u", "U", "\\")
    return "".join(
        # Before these a backslash would be taken for an escape, and before signs beyond ASCII.
        "\\\\" if sign == "\\" and (after.startswith(escapes) or not after.isascii()) else sign
        for sign, after in pairwise(signs)
    )


def _is_ordinary(text: str) -> bool:
    """Whether every sign shows, and none begins a command."""
    return _ORDINARY.fullmatch(text) is not None and not _COMMAND.search(text)


def describe_group(pairs: tuple[tuple[str, str], ...]) -> str:
    """A group with the names of its columns: `gender=female, race=Black`; everybody if empty."""
    # A column whose name has the sign `=` itself is quoted.
    names = ((quoted if "=" in column else name)(column) for column, _ in pairs)
    levels = (name(level) for _, level in pairs)
    return ", ".join(map("=".join, zip(names, levels, strict=True))) or "everybody"


def people(levels: tuple[tuple[str, str], ...]) -> str:
    """A group in a headline: its levels, with the column if a level alone is unclear.

    `female × Black`, but `COW=6` and `disabled=yes`, and `race 'Other'`, which is not all others.
    """
    parts = []
    for column, level in levels:
        if level.casefold().removeprefix("all ").removeprefix("the ") in _REMAINING:
            parts.append(f"{name(column)} {quoted(level)}")
            continue
        # A number, a letter or "yes" is not understood without the name of its column.
        is_word = sum(sign.isalpha() for sign in level) > 1
        is_clear = is_word and level.casefold() not in _BARE_WORDS
        parts.append(name(level) if is_clear else describe_group(((column, level),)))
    return " × ".join(parts) or "everybody"


def width(text: str) -> int:
    """How many columns of a terminal a text takes at most; each sign counts, an accent too."""
    return sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text)


def quoted(text: str, most: int = MOST) -> str:
    """A name in quotes, even where it needs none: `'first…last'#3f2a1c`."""
    text = mask_name(text)
    mark = '"' if "'" in text else "'"
    signs = [f"\\{sign}" if sign in {"\\", mark} else sign for sign in _spelled(text)]
    return _shortened(signs, text, most - 2, mark)


def _shortened(signs: list[str], text: str, most: int, mark: str = "") -> str:
    """The signs between quotation marks, without the middle where they take too much room."""
    if sum(map(width, signs)) <= most:
        return f"{mark}{''.join(signs)}{mark}"
    import hashlib

    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    room = most - len("…#") - len(digest)
    first = _beginning(signs, room - room // 3)
    last = _beginning(signs[::-1], room // 3)[::-1]
    return f"{mark}{''.join(first)}…{''.join(last)}{mark}#{digest}"


def _beginning(signs: list[str], room: int) -> list[str]:
    """As many of the first signs as there is room for."""
    taken = 0
    for number, sign in enumerate(signs):
        taken += width(sign)
        if taken > room:
            return signs[:number]
    return signs


def _spelled(text: str, but: str = "") -> Iterator[str]:
    """Each character, or its escape if it is invisible."""
    if _is_ordinary(text):
        yield from text
        return
    commands = {match.start() for match in _COMMAND.finditer(text)}
    marks, before = 0, ""
    for index, (sign, after) in enumerate(zip(text, (*text[1:], ""), strict=True)):
        is_mark = category(sign) in {"Mn", "Me"} and sign not in _SELECTORS
        marks = marks + 1 if is_mark else 0
        crowded = is_mark and (not before or before.isspace() or marks > _MOST_MARKS)
        is_seen = _is_seen(sign, before, after) and not crowded
        if sign in but or (is_seen and index not in commands):
            yield sign
        else:
            # Python escapes no sign of a command, for these are printable.
            is_command = index in commands
            yield f"\\x{ord(sign):02x}" if is_command else sign.encode("unicode_escape").decode()
        before = sign


def _is_seen(sign: str, before: str, after: str) -> bool:
    """Whether a character is visible, or joins visible letters or parts of an emoji."""
    if sign in _SELECTORS:
        return bool(before) and (before in "0123456789#*" or category(before)[0] == "S")
    if sign in _JOINERS:
        emoji = before in _SELECTORS or (bool(before) and category(before)[0] == "S")
        joins = emoji and bool(after) and category(after)[0] == "S"
        shapes = bool(before) and (
            bidirectional(before) == "AL" or combining(before) == 9
        )  # virama
        return joins or (shapes and after.isalpha())
    return sign.isprintable() and sign not in _UNSEEN


def is_like_total(text: str) -> bool:
    """Whether a level likely stands for all others, as a row of totals does."""
    return _LIKE_TOTAL.fullmatch(text.strip().casefold()) is not None


def listing(texts: Sequence[str], most: int = 10) -> str:
    """Names in quotes to be copied, at most `most` of them."""
    shown = ", ".join(quoted(text, MOST_COPIED) for text in texts[:most])
    more = len(texts) - most
    return f"{shown} and {more} more" if more > 0 else shown


_EXACT = Context(prec=MAX_PREC)
_TRUTHS = {"true": "1", "false": "0"}
_CYRILLIC = str.maketrans(
    "\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0456\u0458\u0455",
    "abekmhopctyxijs",
)
"""The Cyrillic letters that look like Latin ones, also as capitals."""


def canonical(text: str) -> str:
    """A text by its value: `1`, `1.0`, `true`, `01` are one value; other texts are themselves."""
    folded = text.strip()
    folded = _TRUTHS.get(folded.lower(), folded)
    if not (folded[:1].isdigit() or folded.startswith(("+", "-", ".", "_"))):
        return text  # most are not numbers, and an exception takes longer than this test
    try:
        number = Decimal(folded)
    except InvalidOperation:
        return text
    if not number.is_finite():
        return text
    return str(number.normalize(_EXACT)) if number else "0"  # -0 is 0


def lookalike(text: str) -> str:
    """The form that a text shares with similar texts, which are likely meant to be the same.

    Equal values share it, and texts that differ in case, blanks, invisible characters or in how
    Unicode composes a letter, or in Cyrillic letters that look Latin.
    """
    if not (text.isascii() and text.isprintable()):
        text = "".join(
            sign
            for sign in normalize("NFKC", text)
            if category(sign) != "Cf" and (sign >= " " or sign.isspace()) and sign not in _SELECTORS
        )
        text = text.casefold().translate(_CYRILLIC)
    return " ".join(canonical(text).casefold().split())


def is_value(text: str) -> bool:
    """Whether a text is a number or a boolean."""
    if text.strip().lower() in {"true", "false"}:
        return True
    try:
        return Decimal(text.strip()).is_finite()
    except InvalidOperation:
        return False

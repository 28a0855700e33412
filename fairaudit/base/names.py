"""Escapes, quotes and shortens names from the data (levels, columns, files); finds similar names.

A name from the data may contain a line break, an escape sequence of a terminal, a character that
reverses the direction of writing, ten thousand letters, or a word that reports use. The functions
turn such a name into one printable line.
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
"""The maximum width of a name, in columns of a terminal. A longer name is cut in its middle."""
MOST_COPIED = 200
"""The maximum width of a name that users copy, for example a level for `merge`."""

_MOST_MARKS = 4
"""The maximum number of accents on one letter; more accents cover the lines above and below."""
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
"""Invisible characters that Python calls printable."""
_SELECTORS = frozenset(map(chr, range(0xFE00, 0xFE10)))
"""Variation selectors: invisible characters that choose a picture of the previous character."""
_JOINERS = frozenset("\u200c\u200d")
_LIKE_TOTAL = re.compile(
    r"(sub|grand )?totals?|total .*|overall|all( (?!others?\b).*)?|both (sexes|genders)|persons"
    r"|everyone|everybody|insgesamt|gesamt|zusammen|ensemble|tous|toutes|todos|todas|ambos sexos"
    r"|totale|totaal|totalt"
)
_ORDINARY = re.compile("[ -~¡-¬®-ſΑ-ΡΣ-ώ–—‘-”…←-⇿∀-⋿]*")
"""Texts of characters that are always visible and need no escapes."""
_OURS = frozenset({
    "", "everybody", "everybody else", "everyone", "nobody", "the whole check", "rest", "overall",
    "highest", "lowest", "reference", "not known", "undefined", "suppressed", "∞", "-∞",
})  # fmt: skip
"""Words that reports print where a name could be."""
_COMMAND = re.compile(r"(?:^|(?<=\s)):(?=:)|#(?=#\w*\[)")
"""The start of a command of a CI server: `::error::`, `##[add-mask]`, `##vso[…]`.

GitHub reads `::` only at the start of a line, but each word of a wrapped text may start a line.
GitHub and Azure read the other forms anywhere.
"""
_SEPARATES = re.compile(r", | × |; | / |: |\w\s*=|^[\"']|^\s|\s$")
"""Separators that reports put between names, and quotes or blanks at the ends of a name."""


_BARE_WORDS = frozenset(
    {
        *("yes", "no", "true", "false", "none", "null", "na", "n/a", "unknown"),
        *("(unknown)", "not", "missing", "any", "all"),
    }
)
"""Levels that many columns have: they do not show which column they belong to."""

_REMAINING = {"other", "others", "rest", "remaining", "everybody else", "everyone else", "else"}
"""Levels that a reader may confuse with everybody outside a group."""


@lru_cache(maxsize=4096)
def name(text: str, most: int = MOST) -> str:
    r"""A name as part of a sentence: one printable line of at most `most` terminal columns.

    A name that could be misread is quoted like a text in Python: if it is empty or blank, equals a
    word of reports (`everybody`), contains a separator of names (`a, b`, `x=1`), or contains an
    escaped character. So a level `\n` differs from a line break. A long name is cut in its middle
    and ends with a hash that makes it unique: `first…last#3f2a1c`.
    """
    text = mask_name(text)
    signs = list(_spelled(text))
    plain = all(len(sign) == 1 for sign in signs)
    if plain and text.casefold() not in _OURS and not _SEPARATES.search(text):
        return _shortened(signs, text, most)
    return quoted(text, most)


def copied(text: str) -> str:
    """An id or a path in printable characters, for users to copy; quoted only if it is empty.

    A text of more than 200 columns is cut in its middle.
    """
    text = mask_name(text)
    return _shortened(list(_spelled(text)), text, MOST_COPIED) or "''"


def line(text: str) -> str:
    """A text of the user (a title, a reason) as one line; line breaks become blanks."""
    return printable(" ".join(text.split()))


@lru_cache(maxsize=4096)  # a report says the same names again and again
def printable(text: str, but: str = "") -> str:
    """A text with its invisible characters escaped, except the characters in `but`."""
    if _is_ordinary(text):
        return text
    return "".join(_spelled(text, but))


def escaped(text: str) -> str:
    r"""A text with its invisible characters escaped, from which the original can be restored.

    The escapes are `\n`, `\r`, `\t`, `\xhh`, `\uhhhh` and `\Uhhhhhhhh`. A backslash of the text is
    doubled if it would look like the beginning of an escape.
    """
    if _is_ordinary(text) and "\\" not in text:
        return text
    signs = [*_spelled(text), ""]
    escapes = ("n", "r", "t", "x", "u", "U", "\\")
    return "".join(
        # A backslash before these letters or before non-ASCII characters looks like an escape.
        "\\\\" if sign == "\\" and (after.startswith(escapes) or not after.isascii()) else sign
        for sign, after in pairwise(signs)
    )


def _is_ordinary(text: str) -> bool:
    """Whether all characters are visible and the text contains no command of a CI server."""
    return _ORDINARY.fullmatch(text) is not None and not _COMMAND.search(text)


def describe_group(pairs: tuple[tuple[str, str], ...]) -> str:
    """A group as text: `gender=female, race=Black`, or `everybody` for the empty group."""
    # The name of a column is quoted if it contains `=`.
    names = ((quoted if "=" in column else name)(column) for column, _ in pairs)
    levels = (name(level) for _, level in pairs)
    return ", ".join(map("=".join, zip(names, levels, strict=True))) or "everybody"


def people(levels: tuple[tuple[str, str], ...]) -> str:
    """A group in a headline: its levels, with the column if a level alone is unclear.

    `female × Black`, `COW=6`, `disabled=yes`, `race 'Other'` (a level, not all other people). A
    level of several words is quoted, because it could be read as a part of the sentence:
    `'under 40'`.
    """
    parts = []
    for column, level in levels:
        if level.casefold().removeprefix("all ").removeprefix("the ") in _REMAINING:
            parts.append(f"{name(column)} {quoted(level)}")
            continue
        # A number, a letter or "yes" is not understood without the name of its column.
        is_word = sum(sign.isalpha() for sign in level) > 1
        is_clear = is_word and level.casefold() not in _BARE_WORDS
        spelled = quoted(level) if " " in level else name(level)
        parts.append(spelled if is_clear else describe_group(((column, level),)))
    return " × ".join(parts) or "everybody"


def width(text: str) -> int:
    """The maximum width of a text, in columns of a terminal; each accent counts as a column."""
    return sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text)


def quoted(text: str, most: int = MOST) -> str:
    """A name in quotes; a long name looks like `'first…last'#3f2a1c`."""
    text = mask_name(text)
    mark = '"' if "'" in text else "'"
    signs = [f"\\{sign}" if sign in {"\\", mark} else sign for sign in _spelled(text)]
    return _shortened(signs, text, most - 2, mark)


def _shortened(signs: list[str], text: str, most: int, mark: str = "") -> str:
    """The characters between two `mark`s, cut in the middle if they are wider than `most`."""
    if sum(map(width, signs)) <= most:
        return f"{mark}{''.join(signs)}{mark}"
    import hashlib

    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    room = most - len("…#") - len(digest)
    first = _beginning(signs, room - room // 3)
    last = _beginning(signs[::-1], room // 3)[::-1]
    return f"{mark}{''.join(first)}…{''.join(last)}{mark}#{digest}"


def _beginning(signs: list[str], room: int) -> list[str]:
    """The first characters that fit into `room` columns."""
    taken = 0
    for number, sign in enumerate(signs):
        taken += width(sign)
        if taken > room:
            return signs[:number]
    return signs


def _spelled(text: str, but: str = "") -> Iterator[str]:
    """Yields each character, or its escape if the character is invisible."""
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
            # `unicode_escape` does not escape a command, because its characters are printable.
            is_command = index in commands
            yield f"\\x{ord(sign):02x}" if is_command else sign.encode("unicode_escape").decode()
        before = sign


def _is_seen(sign: str, before: str, after: str) -> bool:
    """Whether a character is visible, or belongs to an emoji or to joined letters."""
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
    """Whether a level is probably the total of the other levels."""
    return _LIKE_TOTAL.fullmatch(text.strip().casefold()) is not None


def listing(texts: Sequence[str], most: int = 10) -> str:
    """At most `most` names in quotes, for users to copy."""
    shown = ", ".join(quoted(text, MOST_COPIED) for text in texts[:most])
    more = len(texts) - most
    return f"{shown} and {more} more" if more > 0 else shown


_EXACT = Context(prec=MAX_PREC)
_TRUTHS = {"true": "1", "false": "0"}
_CYRILLIC = str.maketrans(
    "\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0456\u0458\u0455",
    "abekmhopctyxijs",
)
"""The Cyrillic letters that look like Latin letters, also as capitals."""


def canonical(text: str) -> str:
    """One text for equal values: `1` for `1`, `1.0`, `01` and `true`. Other texts do not change."""
    folded = text.strip()
    folded = _TRUTHS.get(folded.lower(), folded)
    if not (folded[:1].isdigit() or folded.startswith(("+", "-", ".", "_"))):
        return text  # most texts are not numbers, and an exception takes longer than this test
    try:
        number = Decimal(folded)
    except InvalidOperation:
        return text
    if not number.is_finite():
        return text
    return str(number.normalize(_EXACT)) if number else "0"  # -0 is 0


def lookalike(text: str) -> str:
    """A form that is equal for similar texts, which probably mean the same.

    Texts are similar if their values are equal, or if they differ only in case, blanks, invisible
    characters, the Unicode composition of letters, or Cyrillic letters that look like Latin ones.
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


def percent(share: float) -> str:
    """A share in per cent with one decimal place, such as `46.0 %`."""
    return f"{100 * share:.1f} %"

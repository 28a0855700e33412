"""Texts of the same value (`1`, `1.0`, `true`) or similar texts: case, blanks, Unicode forms."""

from __future__ import annotations

import unicodedata
from decimal import MAX_PREC, Context, Decimal, InvalidOperation

_EXACT = Context(prec=MAX_PREC)
_TRUTHS = {"true": "1", "false": "0"}


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
    Unicode composes a letter.
    """
    if not (text.isascii() and text.isprintable()):
        signs = unicodedata.normalize("NFKC", text)
        text = "".join(sign for sign in signs if not _is_invisible(sign))
    return " ".join(canonical(text).casefold().split())


def _is_invisible(sign: str) -> bool:
    is_control = unicodedata.category(sign) == "Cf" or (sign < " " and not sign.isspace())
    return is_control or "\ufe00" <= sign <= "\ufe0f"  # which choose among pictures of a sign


def is_value(text: str) -> bool:
    """Whether a text is a number or a boolean."""
    if text.strip().lower() in {"true", "false"}:
        return True
    try:
        return Decimal(text.strip()).is_finite()
    except InvalidOperation:
        return False

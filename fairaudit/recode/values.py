"""When two texts are the same value: `1`, `1.0`, `true` and `01` by the type of their column."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation


def canonical(text: str) -> str:
    """A text by its value: `1`, `1.0`, `true`, `01` are one value; other texts are themselves."""
    words = {"true": "1", "false": "0"}
    folded = words.get(text.strip().lower(), text.strip())
    try:
        number = Decimal(folded)
    except InvalidOperation:
        return text
    return str(number.normalize()) if number.is_finite() else text


def is_value(text: str) -> bool:
    """Whether a text is a number or a boolean."""
    if text.strip().lower() in {"true", "false"}:
        return True
    try:
        return Decimal(text.strip()).is_finite()
    except InvalidOperation:
        return False


def listing(levels: Sequence[str], most: int = 10) -> str:
    """Some levels in quotes, at most ten of them."""
    shown = ", ".join(repr(level) for level in levels[:most])
    return f"{shown} and {len(levels) - most} more" if len(levels) > most else shown

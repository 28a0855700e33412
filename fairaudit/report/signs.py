"""Texts whose signs are all to be seen: control characters are spelled out."""

from __future__ import annotations

_JOINERS = "\u200c\u200d"
"""What joins letters and emoji: harmless, and part of how words are written."""


def printable(words: str) -> str:
    """The words without anything that steers: a level's name is never a command."""
    return "".join(
        sign if sign.isprintable() or sign in _JOINERS else repr(sign)[1:-1] for sign in words
    )

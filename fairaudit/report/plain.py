"""Text from outside, on its way into a page or a file that machines read: seen, and not endless."""

from __future__ import annotations


def printable(text: str, but: str = "\n") -> str:
    r"""The text with every sign spelled out that does not print, except those in `but`.

    What is left has no control character, no lone surrogate and nothing that turns the direction
    of writing: `\x1b`, `\ud800` and `\u202e` stand there as they are written here.
    """
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() or sign in but else repr(sign)[1:-1] for sign in text)


def shortened(text: str, most: int) -> str:
    """The text in at most `most` characters: of a longer one the middle is left out, with a word.

    Both ends stay, because a sentence has its names at one end and its numbers at the other.
    """
    if len(text) <= most:
        return text
    word = f" … {len(text):,} characters in all … "
    half = max((most - len(word)) // 2, 0)
    return f"{text[:half]}{word}{text[len(text) - half :]}"[:most]

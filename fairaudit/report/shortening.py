"""Running text that would go on for pages, in a size that a page or a machine takes."""

from __future__ import annotations


def shortened(text: str, most: int) -> str:
    """The text in at most `most` characters: of a longer one the middle is left out, with a word.

    Both ends stay, because a sentence has its names at one end and its numbers at the other.
    """
    if len(text) <= most:
        return text
    word = f" … {len(text):,} characters in all … "
    half = max((most - len(word)) // 2, 0)
    return f"{text[:half]}{word}{text[len(text) - half :]}"[:most]

"""The groupings that `by` and `given` name: columns, their intersections, and words for many."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fairaudit.cube import MOST_ATTRIBUTES, Grouping, every_subset
from fairaudit.errors import did_you_mean
from fairaudit.spec.fields import WORDS


@dataclass(frozen=True, slots=True)
class Groupings:
    """The columns that groupings are made of."""

    protected: tuple[str, ...]
    strata: tuple[str, ...]

    def by(
        self, words: Sequence[Sequence[str]], fault: Callable[[int, str], None]
    ) -> tuple[Grouping, ...]:
        """The groupings that a `by` asks for; a fault gets its number in the list."""
        return _expand(words, self.protected, self.protected, fault)

    def given(
        self, words: Sequence[Sequence[str]], by: Grouping, fault: Callable[[int, str], None]
    ) -> tuple[Grouping, ...]:
        """The strata that a `given` asks for beside `by`: declared ones, or other attributes."""
        others = tuple(name for name in self.protected if name not in by)
        return _expand(words, self.strata, (*self.strata, *others), fault)


def _expand(
    words: Sequence[Sequence[str]],
    words_mean: Sequence[str],
    known: Sequence[str],
    fault: Callable[[int, str], None],
) -> tuple[Grouping, ...]:
    groupings: list[Grouping] = []
    for number, written in enumerate(words):
        names = _split_intersection(written, known)
        if len(names) == 1 and names[0] in WORDS:
            if not words_mean:
                fault(number, f"{names[0]!r}: the spec declares no strata to condition on")
            if names[0] == "all" and len(words_mean) > MOST_ATTRIBUTES:
                count = len(words_mean)
                fault(
                    number,
                    f"{count} columns have {2**count - 1:,} subsets, and {MOST_ATTRIBUTES} at most "
                    "are taken in all combinations: say `each`, as in `groups: {by: each}`, or "
                    "name the groupings",
                )
                continue
            groupings += _expand_word(names[0], words_mean)
            continue
        unknown = [name for name in names if name not in known]
        for name in unknown:
            fault(number, f"no such column here: {name!r}{_hint(name, known)}")
        if len(set(names)) < len(names):
            fault(number, "a column stands twice in one grouping")
        if not unknown:
            groupings.append(tuple(name for name in known if name in names))
    return tuple(dict.fromkeys(groupings))


def _hint(name: str, known: Sequence[str]) -> str:
    """What is meant by a name that no column has: an intersection, a list, or a column."""
    parts = [part for part in re.split(r"\s*[,;&+/]\s*|\s+(?:x|by|and|or)\s+", name) if part]
    if len(parts) > 1 and {*parts} <= {*known}:
        listed = f"[{', '.join(parts)}]"
        return f"; an intersection is written `{' * '.join(parts)}`, one after the other `{listed}`"
    return did_you_mean(name, (*known, *WORDS)) or f"; there is {', '.join((*known, *WORDS))}"


def _split_intersection(names: Sequence[str], known: Sequence[str]) -> Sequence[str]:
    """The columns of an intersection that is written `gender * race`, or with the sign ×."""
    if len(names) != 1 or names[0] in known:
        return names
    return [name.strip() for name in re.split("[*×]", names[0])]


def _expand_word(word: str, names: Sequence[str]) -> list[Grouping]:
    if word == "each":
        return [(name,) for name in names]
    return every_subset(names) if word == "all" else [tuple(names)] if names else []

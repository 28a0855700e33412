"""Suspicious levels (spelling variants, words for missing, totals): finds them; notices."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from decimal import MAX_PREC, Context, Decimal, InvalidOperation

import numpy as np

from fairaudit.cube import NO_LEVEL, UNKNOWN, Cube, Role
from fairaudit.disclosure_marks import Subjects
from fairaudit.frozen import Frozen, replace
from fairaudit.names import quoted
from fairaudit.notice import Notice
from fairaudit.spec import Missing, Protected

_EXACT = Context(prec=MAX_PREC)
_LIKE_MISSING = {"", "na", "n/a", "nan", "null", "none", "missing", "unknown", "?", "-", "."}
_LIKE_UNKNOWN = re.compile(
    r"(.* )?(unknown|undisclosed|unspecified|undeclared|unanswered|refused|refusal|unavailable)"
    r"|(.* )?not (known|available|applicable|provided|stated|specified|disclosed|reported|given"
    r"|answered|recorded|collected)( .*)?"
    r"|(.* )?(prefers?|preferred|chose|choose|wish) not to .*|(i )?(do not|don t) know"
    r"|(.* )?(declined?|declines|refused?)( to .*)?|no (answer|response|data|information)( .*)?"
)


def canonical(text: str) -> str:
    """A text by its value: `1`, `1.0`, `true`, `01` are one value; other texts are themselves."""
    words = {"true": "1", "false": "0"}
    folded = words.get(text.strip().lower(), text.strip())
    try:
        number = Decimal(folded)
    except InvalidOperation:
        return text
    if not number.is_finite():
        return text
    return str(number.normalize(_EXACT)) if number else "0"  # -0 is 0


def lookalike(text: str) -> str:
    """What a text has in common with those that are likely meant to be it.

    Values that are equal, and texts that differ in case, blanks, invisible signs or in how Unicode
    composes a letter.
    """
    seen = (sign for sign in unicodedata.normalize("NFKC", text) if not _is_invisible(sign))
    return " ".join(canonical("".join(seen)).casefold().split())


def alike(levels: Sequence[str]) -> list[list[str]]:
    """The levels that are likely meant to be one, each such set by itself."""
    same_levels: dict[str, list[str]] = {}
    for level in levels:
        same_levels.setdefault(lookalike(level), []).append(level)
    return [same for same in same_levels.values() if len(same) > 1]


def _is_invisible(sign: str) -> bool:
    return unicodedata.category(sign) == "Cf"


def is_like_missing(text: str) -> bool:
    """Whether a text, declared or not, likely means that nothing is known."""
    return text.strip().casefold() in _LIKE_MISSING


def is_like_unknown(text: str) -> bool:
    """Whether a level likely says in words that it is not known, as `Prefer not to say` does."""
    words = " ".join(re.sub(r"[\W_]+", " ", text.casefold()).split())
    return _LIKE_UNKNOWN.fullmatch(words) is not None


def is_like_total(text: str) -> bool:
    """Whether a level likely stands for all others, as a row of totals does."""
    return text.strip().casefold() in {"total", "totals", "subtotal", "grand total", "overall"}


def is_value(text: str) -> bool:
    """Whether a text is a number or a boolean."""
    if text.strip().lower() in {"true", "false"}:
        return True
    try:
        return Decimal(text.strip()).is_finite()
    except InvalidOperation:
        return False


def listing(levels: Sequence[str]) -> str:
    """Some levels in quotes, at most ten of them."""
    shown = ", ".join(quoted(level) for level in levels[:10])
    return f"{shown} and {len(levels) - 10} more" if len(levels) > 10 else shown


def notice_oddities(attribute: Protected, levels: Sequence[str], missing: Missing) -> list[Notice]:
    """Notices on levels that are likely one, or likely mean missing; none is joined silently."""
    oddities = [
        Notice(
            f"{attribute.name}: the levels {listing(same)} are counted apart; `merge` or `trim` "
            "joins them",
            Subjects.NOBODY,
        )
        for same in alike(levels)
    ]
    unknown = [level for level in levels if is_like_unknown(level) and level != attribute.other]
    if unknown:
        words = json.dumps([*attribute.unknown, *unknown], ensure_ascii=False)
        what = (
            f"{attribute.name}: {listing(unknown)} counts as a group like any other; if nothing "
            f"is known of these people, say `{attribute.name}: {{unknown: {words}}}`"
        )
        oddities.append(Notice(what, Subjects.NOBODY))
    declared = {lookalike(word) for word in (*missing.tokens, *attribute.unknown)}
    blank = [
        level
        for level in levels
        if (is_like_missing(level) or lookalike(level) in declared) and level not in unknown
    ]
    if blank:
        tokens = json.dumps([*missing.tokens, *blank], ensure_ascii=False)
        what = (
            f"{attribute.name}: {listing(blank)} counts as a level like any other; if it means "
            f"missing, say `missing: {{tokens: {tokens}}}`, or name it in `unknown`"
        )
        oddities.append(Notice(what, Subjects.NOBODY))
    return oddities


def notice_totals(attribute: Protected, levels: Sequence[str]) -> list[Notice]:
    """A notice on levels that likely stand for all others: their people are counted twice."""
    totals = [level for level in levels if is_like_total(level)]
    what = (
        f"{attribute.name}: {listing(totals)} counts as a group like any other; if its rows "
        "are totals, people are counted twice: leave them out with `filter`"
    )
    return [Notice(what, Subjects.NOBODY)] if totals else []


class Alike(Frozen, eq=False):
    """Levels of attributes and strata that look like one, and the `cube` in which they are one."""

    levels: dict[str, list[list[str]]]
    cube: Cube

    @classmethod
    def of(cls, cube: Cube) -> Alike | None:
        """None where all levels look different."""
        levels: dict[str, list[list[str]]] = {}
        codes = cube.codes.copy()
        for column, key in enumerate(cube.keys):
            if key.role not in {Role.PROTECTED, Role.STRATUM}:
                continue
            same = alike([level for level in key.levels if level != UNKNOWN])
            if not same:
                continue
            levels[key.name] = same
            place = np.arange(len(key.levels) + 1, dtype=np.int32)
            for first, *others in same:
                for level in others:
                    place[key.levels.index(level)] = key.levels.index(first)
            codes[:, column] = np.where(
                codes[:, column] == NO_LEVEL, NO_LEVEL, place[codes[:, column]]
            )
        return cls(levels, replace(cube, codes=codes)) if levels else None

    def listed(self, names: Sequence[str]) -> str:
        """The levels of some columns in words."""
        return "; ".join(
            f"{listing(same)} of {quoted(name)}" for name in names for same in self.levels[name]
        )

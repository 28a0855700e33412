"""Levels with similar spelling, or that seem to mean missing or total, with notices."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

import numpy as np

from fairaudit.base.arrays import ADDED_SCALE
from fairaudit.base.disclosure_marks import Notice, Subjects
from fairaudit.base.frozen import Frozen
from fairaudit.base.names import listing, lookalike, quoted
from fairaudit.counting.columns import OddDates
from fairaudit.counting.counts import Counts
from fairaudit.cube import Cube, Marks
from fairaudit.pipeline.plan_builder import AROUND
from fairaudit.spec import Missing, Protected, Spec

_FAR = 10
"""A number this many standard deviations from the mean is far from all others; a value with this
many times the rows of all beyond it is not one of a tail."""

_LIKE_MISSING = {"", "na", "n/a", "nan", "null", "none", "missing", "unknown", "?", "-", "."}
_LIKE_UNKNOWN = re.compile(
    r"(.* )?(unknown|undisclosed|unspecified|undeclared|unanswered|refused|refusal|unavailable)"
    r"|(.* )?not (known|available|applicable|provided|stated|specified|disclosed|reported|given"
    r"|answered|recorded|collected)( .*)?"
    r"|(.* )?(prefers?|preferred|chose|choose|wish) not to .*|(i )?(do not|don t) know"
    r"|(.* )?(declined?|declines|refused?)( to .*)?|no (answer|response|data|information)( .*)?"
)


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


def join_alike(
    attribute: Protected, stored: Sequence[str | None], audited: Sequence[str | None]
) -> tuple[list[str | None], list[list[str]]]:
    """The audited level of each stored level after joining similar ones; the sets of similar ones.

    Levels are similar by their stored or their renamed spelling. The joined level is unknown if one
    of them is unknown, else preferably a level that the recoding names.
    """
    named = {*attribute.labels.values(), *(attribute.merge or {})}
    named |= {text.value for text in (*(attribute.keep or ()), attribute.reference) if text}

    def preference(level: str | None) -> tuple[bool, bool, bool, str]:
        return level is not None, level not in named, level == attribute.other, level or ""

    joined, sets = [*audited], []
    for texts in (stored, joined) if stored != audited else (stored,):
        look_of = {text: lookalike(text) for text in {*texts} if text is not None}
        if len({*look_of.values()}) == len(look_of):
            continue
        places_of: dict[str, list[int]] = {}
        for place, text in enumerate(texts):
            if text is not None:
                places_of.setdefault(look_of[text], []).append(place)
        for places in places_of.values():
            levels = {joined[place] for place in places}
            if len(levels) > 1:
                sets.append(sorted({text for place in places if (text := texts[place])}))
                joined_level = min(levels, key=preference)
                for place in places:
                    joined[place] = joined_level
    return joined, sets


def notice_oddities(
    attribute: Protected,
    levels: Sequence[str],
    alike: Iterable[Sequence[str]],
    missing: Missing,
) -> list[Notice]:
    """Notices on levels that are likely the same, or likely mean missing; none is joined."""
    words = {*missing.tokens, *attribute.unknown}
    declared = {lookalike(word) for word in words if word}
    oddities = [
        Notice(
            f"{attribute.name}: the levels {listing(same)} are counted apart; `merge` or `trim` "
            "joins them",
            Subjects.NOBODY,
        )
        for same in alike
        if lookalike(same[0]) not in declared
    ]
    unknown = [level for level in levels if is_like_unknown(level) and level != attribute.other]
    if unknown:
        line = json.dumps([*attribute.unknown, *unknown], ensure_ascii=False)
        what = (
            f"{attribute.name}: {listing(unknown)} counts as a group like any other; if nothing "
            f"is known of these people, say `{attribute.name}: {{unknown: {line}}}`"
        )
        oddities.append(Notice(what, Subjects.NOBODY))
    blank = [
        level
        for level in dict.fromkeys([*levels, *(level for same in alike for level in same)])
        if (is_like_missing(level) or (declared and lookalike(level) in declared))
        and level not in words
        and level not in unknown
    ]
    if blank:
        tokens = json.dumps([*missing.tokens, *blank], ensure_ascii=False)
        what = (
            f"{attribute.name}: {listing(blank)} counts as a level like any other; if it means "
            f"missing, say `missing: {{tokens: {tokens}}}`, or name it in `unknown`"
        )
        oddities.append(Notice(what, Subjects.NOBODY))
    return oddities


def notice_folded(attribute: Protected, folded: Mapping[str, str]) -> list[Notice]:
    """A notice on levels that likely mean unknown and become a part of another level."""
    unknown = [
        level
        for level, name in folded.items()
        if (is_like_unknown(level) or is_like_missing(level)) and not is_like_unknown(name)
    ]
    if not unknown:
        return []
    line = json.dumps([*attribute.unknown, *unknown], ensure_ascii=False)
    joined = listing([*dict.fromkeys(folded[level] for level in unknown)])
    what = (
        f"{attribute.name}: {listing(unknown)} counts as a part of {joined}; if nothing is known "
        f"of these people, say instead `{attribute.name}: {{unknown: {line}}}`"
    )
    return [Notice(what, Subjects.NOBODY)]


def notice_totals(attribute: Protected, levels: Sequence[str]) -> list[Notice]:
    """A notice on levels that likely stand for all others: their people are counted twice."""
    totals = [level for level in levels if is_like_total(level)]
    what = (
        f"{attribute.name}: {listing(totals)} counts as a group like any other; if its rows "
        "are totals, people are counted twice: leave them out with `filter`"
    )
    return [Notice(what, Subjects.NOBODY)] if totals else []


def notice_sentinels(counts: Counts, spec: Spec) -> Iterator[Notice]:
    """Numbers that likely stand for a missing value, by column: 999, or -1 as the only negative.

    Hardly a number is beyond them but other such numbers; of a numeric outcome they are far from
    the mean.
    """
    cut = {one.column.value for one in spec.groupable if one.is_cut}
    cut |= {one.column.value for one in spec.outcomes if one.is_cut}
    for raw_key in counts.keys:
        column, edges, codes = raw_key.key.column, raw_key.key.edges or (), raw_key.codes
        is_of_filter = column not in cut and column not in counts.plan.adding.columns
        seen = counts.kept != -1 if is_of_filter else counts.kept == 1
        code_of = {
            number: edges.index(around[0]) + (number > around[0].value or len(around) > 1)
            for number, around in AROUND.items()
            if {*around} <= {*edges}
        }
        others = seen & (codes >= 0)
        for code in code_of.values():
            others &= codes != code
        if not code_of or not others.any():
            continue
        texts, infinite = dict[str, str](), False
        for number, code in code_of.items():
            rows = int(counts.rows[seen & (codes == code)].sum())
            beyond = others & (codes > code if number > 0 else codes < code)
            is_most = rows > _FAR * int(counts.rows[beyond].sum())
            if not rows or not is_most or not _is_far(number, column, counts, others):
                continue
            removed = int(counts.rows[(counts.kept == 0) & (codes == code)].sum())
            by_filter = f", {removed:,} removed by the filter" if is_of_filter and removed else ""
            infinite |= number.is_infinite()
            texts[str(number)] = f"{number} ({rows:,} {'row' if rows == 1 else 'rows'}{by_filter})"
        if texts:
            tokens = json.dumps([*spec.missing.tokens, *texts], ensure_ascii=False)
            yield Notice(
                f"{column}: {' and '.join(texts.values())} may be missing values; if so, "
                + ("leave them blank" if infinite else f"say `missing: {{tokens: {tokens}}}`"),
                Subjects.NEVER,
            )


def notice_odd_dates(counts: Counts, spec: Spec) -> Iterator[Notice]:
    """Dates that likely stand for a missing value, by column: 1900-01-01 or 9999-12-31."""
    columns = {one.name: one.column for one in counts.plan.derived if isinstance(one, OddDates)}
    for raw_key in counts.keys:
        name = raw_key.key.column
        found = [code for code, level in enumerate(raw_key.levels) if level in {"early", "late"}]
        is_odd = np.isin(raw_key.codes, found)
        rows = int(counts.rows[(counts.kept != -1) & is_odd].sum())
        if name not in columns or not rows:
            continue
        removed = int(counts.rows[(counts.kept == 0) & is_odd].sum())
        by_filter = f" ({removed:,} removed by the filter)" if removed else ""
        likely = "9999-12-31" if "early" not in raw_key.levels else "1900-01-01"
        tokens = json.dumps([*spec.missing.tokens, likely], ensure_ascii=False)
        yield Notice(
            f"{columns[name]}: {rows:,} {'row has' if rows == 1 else 'rows have'} a date before "
            f"1901 or after 2099{by_filter}; if such a date means that the date is missing, say "
            f"`missing: {{tokens: {tokens}}}`",
            Subjects.NEVER,
        )


def _is_far(number: Decimal, column: str, counts: Counts, others: Marks) -> bool:
    """Whether a number is far from the mean of other rows; so it is where none is added up."""
    sums, squares = (
        counts.amounts.get(name) for name in (("sum", column), ("product", column, column))
    )
    if sums is None or squares is None:
        return True
    cells = np.flatnonzero(others).tolist()
    people = int(counts.people[others].sum())
    mean = sum(sums[cell] for cell in cells) / ADDED_SCALE / max(people, 1)
    variance = sum(squares[cell] for cell in cells) / ADDED_SCALE**2 / max(people, 1) - mean**2
    return (
        abs(float(number) - mean) > _FAR * math.sqrt(max(variance, 0)) if number > 0 else mean > 1
    )


class Alike(Frozen, eq=False):
    """Levels of attributes and strata with similar spelling, and the `cube` that joins them."""

    levels: Mapping[str, Sequence[Sequence[str]]]
    cube: Cube

    def listed(self, names: Sequence[str]) -> str:
        """The similar levels of these columns as text."""
        return "; ".join(
            f"{listing(same)} of {quoted(name)}" for name in names for same in self.levels[name]
        )

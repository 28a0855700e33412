"""First spec: words and values by which roles and positives are guessed, each with a reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum

from fairaudit.base.frozen import Frozen
from fairaudit.counting.sources.profiles import ColumnProfile, FileProfile
from fairaudit.pipeline.provenance import today
from fairaudit.pipeline.recode.suspicious_levels import canonical, is_like_missing

MOST_GROUPS = 50
"""More levels than that are hardly groups of people."""

_MANY = 12
"""From so many numbers on, a column is cut rather than taken by its values."""

_OLDEST, _ADULT = 120, 40
"""Years of birth reach back so far, and at least so far."""

_WORD = re.compile(r"[a-z]+|[0-9]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


class Role(StrEnum):
    """What a column may be to an audit."""

    PROTECTED = "protected"
    LABEL = "label"
    PREDICTION = "prediction"
    DECISION = "decision"
    SCORE = "score"
    COUNT = "count"
    WEIGHT = "weight"


def _split(words: str) -> frozenset[str]:
    return frozenset(words.split())


_WORDS = {
    Role.PROTECTED: "sex gender race ethnic ethnicity origin nationality citizen citizenship age"
    " dob birth birthdate religion disability disabled marital pregnant pregnancy veteran foreign"
    " language hispanic latino skin caste tribe orientation native group",
    Role.LABEL: "label y target truth true actual outcome recid repaid default defaulted income"
    " rearrested ytrue",
    Role.PREDICTION: "prediction predicted predict pred preds yhat ypred forecast classified"
    " flag flagged alert alarm",
    Role.DECISION: "decision decided approved approval hired selected admitted admission accepted"
    " granted offer offered invited action sentence fate outcome",
    Role.SCORE: "score scores prob proba probability risk decile",
    Role.COUNT: "n count counts freq frequency people persons number cases",
    Role.WEIGHT: "weight weights wgt wt fnlwgt pweight",
}
_LEVELS = _split(
    "male female m f w man woman men women white black asian hispanic latino latina caucasian"
    " african-american"
)
_POSITIVES = _split(
    "1 yes y true approved approve hired selected admitted accepted granted originated survived"
    " positive pass passed invited offer"
)
_ZEROS = frozenset({"0", "-1"})
"""What stands beside a 1 that is evidently the positive: 1 and 2 are codes."""
_BURDENS = _split(
    "default defaulted recid recidivism rearrested arrested convicted fraud churn churned died dead"
    " denied rejected refused dismissed"
)
"""What happens to people who hope that it does not, by a word of the name of its column."""
_COUNTED = _split(
    "selected hired admitted accepted approved granted offered invited promoted passed survived"
    " positive offers hires admissions approvals promotions"
)
_REFUSED = _split("rejected denied declined refused unselected dismissed failed died negative")
_TOTALS = _split("n total totals applicants candidates people persons number count all")
_IDS = _split("id ids identifier key uuid guid ssn")
"""What columns of counts count, by a word of their names; and words of names of ids."""


class Candidate(Frozen):
    """A column that may have a role, and why."""

    column: ColumnProfile
    reason: str


def find_candidates(profile: FileProfile, role: Role) -> list[Candidate]:
    """The columns that may have a role, in their order; none that a spec cannot name."""
    found = []
    for column in profile.columns:
        if column.is_unique and column.name and column.distinct > 1:
            reasons = [*_reasons(column, role, profile)]
            if reasons:
                found.append(Candidate(column, " and ".join(reasons)))
    return found


def _reasons(column: ColumnProfile, role: Role, profile: FileProfile) -> Iterator[str]:
    """Why a column may have a role; nothing where its shape speaks against it."""
    if not _SHAPES[role](column, profile):
        return
    if role is Role.COUNT:
        yield "its name, and each row is another group"
    elif {*_words(column.name)} & {*_WORDS[role].split()}:
        yield "its name"
    if role is Role.PROTECTED:
        values = {text.strip().casefold() for text, _ in column.values}
        if len(values & _LEVELS) > 1:
            yield "its levels"


def _words(name: str) -> list[str]:
    """The words of a name, and all of them as one."""
    words = _WORD.findall(_CAMEL.sub(" ", name).lower())
    return [*words, "".join(words)]


def is_like_count(name: str) -> bool:
    """Whether a column is called as one of counts is."""
    words = _words(name)[:-1]
    return bool(words) and words[-1 if words[0] != "n" else 0] in _WORDS[Role.COUNT].split()


def pair_counts(names: Sequence[str]) -> Iterator[dict[str, str]]:
    """Columns that by their names may count people side by side, by what each counts.

    First those of the selected and of all, then those of the selected and of the rejected.

    >>> [*pair_counts(["race", "n_applicants", "n_selected"])]
    [{'selected': 'n_selected', 'total': 'n_applicants'}]
    """
    rest = {name: {*_words(name)[:-1]} - _TOTALS for name in names}
    totals = [name for name in names if not rest[name] and _words(name) != [""]]
    counted, refused = (
        [(*words, name) for name, words in rest.items() if len(words) == 1 and words <= known]
        for known in (_COUNTED, _REFUSED)
    )
    for level, name in counted:
        yield from ({level: name, "total": total} for total in totals)
    for level, name in counted:
        yield from ({level: name, other: column} for other, column in refused)


def is_number(column: ColumnProfile) -> bool:
    """Whether all values are numbers, but for words that mean missing."""
    missing = sum(n for text, n in column.values if is_like_missing(text))
    return column.numbers > 0 and column.numbers + missing >= column.present


def is_many(column: ColumnProfile) -> bool:
    """Whether it holds so many numbers that a cut, not a value, makes groups of it."""
    return is_number(column) and column.distinct > _MANY


def is_year(column: ColumnProfile) -> bool:
    """Whether its values may be years of birth, of adults among others."""
    if not is_many(column) or column.whole < column.numbers:
        return False
    low, high = column.low or 0.0, column.high or 0.0
    year = today().year
    return year - _OLDEST <= low <= year - _ADULT and low < high <= year


def is_date(column: ColumnProfile) -> bool:
    """Whether its values are dates."""
    return bool(column.values) and all(_DATE.fullmatch(text) for text, _ in column.values)


def is_code(column: ColumnProfile) -> bool:
    """Whether its values are codes: they tell nothing without a codebook."""
    known = list_known(column)
    return bool(known) and all(re.fullmatch(r"[A-Za-z]{0,2}\d+", text) for text in known)


def list_known(column: ColumnProfile) -> list[str]:
    """The values that do not mean missing, the commonest first."""
    return [text for text, _ in column.values if not is_like_missing(text)]


def guess_positive(column: ColumnProfile) -> str | None:
    """The value of two that is likely the positive; None where both may be."""
    known = list_known(column)
    if "1" in known and not _ZEROS & {*known}:
        return None
    likely = [text for text in known if canonical(text.strip().lower()) in _POSITIVES]
    return likely[0] if len(known) == 2 and len(likely) == 1 and column.is_whole else None


def is_burden(column: ColumnProfile) -> bool:
    """Whether the positive of an outcome is a burden, by its name."""
    return bool({*_words(column.name)} & _BURDENS)


def is_id(column: ColumnProfile, rows: int) -> bool:
    """Whether values name rows or people, and no groups: of another one in nearly every row.

    Or by the name of the column, where there are more than groups are.
    """
    is_own = column.distinct > 0.9 * rows and rows > MOST_GROUPS
    is_called = column.distinct > MOST_GROUPS and bool({*_words(column.name)} & _IDS)
    is_fraction = column.whole < column.numbers
    return (is_own or is_called) and not is_fraction


def _has_classes(column: ColumnProfile, _: FileProfile) -> bool:
    return column.is_whole and len(list_known(column)) in {2, 3, 4, 5}


def is_positive_number(column: ColumnProfile) -> bool:
    """Whether all values are numbers from 0 on."""
    return column.numbers == column.present and column.low is not None and column.low >= 0


def is_whole(column: ColumnProfile) -> bool:
    """Whether all values are whole numbers from 0 on."""
    return column.whole == column.present and column.low is not None and column.low >= 0


_SHAPES: dict[Role, Callable[[ColumnProfile, FileProfile], bool]] = {
    Role.PROTECTED: lambda column, profile: (
        is_date(column)
        or ((is_many(column) or column.distinct <= MOST_GROUPS) and not is_id(column, profile.rows))
    ),
    Role.LABEL: _has_classes,
    Role.PREDICTION: _has_classes,
    Role.DECISION: _has_classes,
    Role.SCORE: lambda column, profile: (
        is_number(column) and column.distinct > 5 and not is_id(column, profile.rows)
    ),
    Role.COUNT: lambda column, profile: column.name == profile.count and is_whole(column),
    Role.WEIGHT: lambda column, _: is_positive_number(column),
}

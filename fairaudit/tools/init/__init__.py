"""First spec: the user's choices, and proposals for roles of columns by their names and values."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

from fairaudit.base import names
from fairaudit.base.errors import UsageError, did_you_mean
from fairaudit.base.frozen import Frozen, field, replace
from fairaudit.base.names import canonical
from fairaudit.counting.columns import MaskedCount
from fairaudit.counting.sources.column_checks import is_like_id, split_words
from fairaudit.counting.sources.profiles import ColumnProfile, FileProfile
from fairaudit.pipeline.audit_task import today
from fairaudit.pipeline.recode.outcomes import is_like_missing
from fairaudit.spec.checks import AFFIRMED, BURDENS, NEGATIONS, names_burden, split_set

MOST_GROUPS = 50
"""The maximum number of levels of a column that probably contains groups of people."""

_MANY = 12
"""A column with more different numbers is cut into bins; otherwise each number is a level."""

_OLDEST, _ADULT = 120, 40
"""The maximum and the minimum age of the oldest person in a column of years of birth."""

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_UNFIT = 0.1
"""A column has dates if the share of its other values is smaller than this."""
_MONTHS = 12


class Role(StrEnum):
    """The role of a column in an audit."""

    PROTECTED = "protected"
    LABEL = "label"
    PREDICTION = "prediction"
    DECISION = "decision"
    SCORE = "score"
    COUNT = "count"
    WEIGHT = "weight"


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
_LEVELS = split_set(
    "male female m f w man woman men women white black asian hispanic latino latina caucasian"
    " african-american"
)
_POSITIVES = split_set(
    "1 yes y true approved approve hired selected admitted accepted granted originated survived"
    " positive pass passed invited offer"
)
_ZEROS = frozenset({"0", "-1"})
"""If the values are 1 and one of these, 1 is positive. But 1 and 2 may be mere codes."""
_DENIED = split_set("0 -1 n f")
_COUNTED = split_set(
    "selected hired admitted accepted approved granted offered invited promoted passed survived"
    " positive offers hires admissions approvals promotions"
)
_BENEFITS = (_COUNTED - {"positive"}) | split_set(
    "approve approval grant admission offer survived pass paid repaid good"
)
_REFUSED = split_set("rejected denied declined refused unselected dismissed failed died negative")
_TOTALS = split_set("n total totals applicants candidates people persons number count all")
"""Words in the names of columns of counts."""


def find_candidates(
    profile: FileProfile, role: Role, taken: Collection[str] = ()
) -> dict[str, str]:
    """The columns that may have a role, with the reasons; `taken` columns are left out."""
    found = {}
    for column in profile.columns:
        is_free = column.name and column.name not in taken
        if column.is_unique and is_free and column.distinct > 1:
            reasons = []
            if not _SHAPES[role](column, profile):
                continue
            if role is Role.COUNT:
                reasons.append("its name, and because each row is a different group")
            elif {*_words(column.name)} & {*_WORDS[role].split()}:
                reasons.append("its name")
            values = {text.strip().casefold() for text, _ in column.values}
            if role is Role.PROTECTED and len(values & _LEVELS) > 1:
                reasons.append("its values")
            if reasons:
                found[column.name] = f"because of {' and '.join(reasons)}"
    return found


def _words(name: str) -> list[str]:
    """The words of a name, and one word of all these words joined."""
    words = split_words(name)
    return [*words, "".join(words)]


def is_like_count(name: str) -> bool:
    """Whether the name of a column suggests counts."""
    words = split_words(name)
    return bool(words) and words[-1 if words[0] != "n" else 0] in _WORDS[Role.COUNT].split()


def pair_counts(columns: Sequence[str]) -> Iterator[dict[str, str]]:
    """Pairs of columns whose names suggest counts of people, by the level that each counts.

    Pairs of selected and all people come first, then pairs of selected and rejected people.

    >>> [*pair_counts(["race", "n_applicants", "n_selected"])]
    [{'selected': 'n_selected', 'total': 'n_applicants'}]
    """
    rest = {name: {*split_words(name)} - _TOTALS for name in columns}
    totals = [name for name in columns if not rest[name] and split_words(name)]
    counted, refused = (
        [(*words, name) for name, words in rest.items() if len(words) == 1 and words <= known]
        for known in (_COUNTED, _REFUSED)
    )
    for level, name in counted:
        yield from ({level: name, "total": total} for total in totals)
    for level, name in counted:
        yield from ({level: name, other: column} for other, column in refused)


def is_number(column: ColumnProfile) -> bool:
    """Whether all values are numbers, except words that mean missing."""
    missing = sum(n for text, n in column.values if is_like_missing(text))
    return column.numbers > 0 and column.numbers + missing >= column.present


def is_many(column: ColumnProfile) -> bool:
    """Whether a column has too many numbers to use each value as a group."""
    return is_number(column) and column.distinct > _MANY


def is_year(column: ColumnProfile) -> bool:
    """Whether the values of a column may be years of birth, including years of adults."""
    if not is_many(column) or column.whole < column.numbers:
        return False
    low, high = column.low or 0.0, column.high or 0.0
    year = today().year
    return year - _OLDEST <= low <= year - _ADULT and low < high <= year


def is_date(column: ColumnProfile) -> bool:
    """Whether the values of a column are dates in known notations."""
    return find_notations(column) is not None


def find_notations(column: ColumnProfile) -> list[str] | None:
    """The notations of dates (empty for 2024-12-31); None for other values or unclear notations.

    It is unclear whether 03/04/2024 is in March, unless another date has a number above 12.
    """
    texts, notations = list_known(column), list[str]()
    if texts and all(map(_DATE.fullmatch, texts)):
        return notations
    for sign, (_, first, second) in column.day_signs.items():
        if max(first, second) > _MONTHS and min(first, second) <= _MONTHS:
            notations.append(
                sign.join(("%d", "%m", "%Y") if first > _MONTHS else ("%m", "%d", "%Y"))
            )
        elif sign == "." and first <= _MONTHS:
            notations.append("%d.%m.%Y")
        else:
            return None
    return notations if notations and count_unfit(column) < _UNFIT * column.present else None


def count_unfit(column: ColumnProfile) -> int:
    """The number of values that do not mean missing and are not dates such as 3/4/2024."""
    missing = sum(n for text, n in column.values if is_like_missing(text))
    return column.present - missing - sum(rows for rows, *_ in column.day_signs.values())


def is_code(column: ColumnProfile) -> bool:
    """Whether the values of a column are codes, whose meanings are not obvious."""
    known = list_known(column)
    return bool(known) and all(re.fullmatch(r"[A-Za-z]{0,2}\d+", text) for text in known)


def list_known(column: ColumnProfile) -> list[str]:
    """The values of a column that do not mean missing, the most frequent first."""
    return [text for text, _ in column.values if not is_like_missing(text)]


def is_id(column: ColumnProfile, rows: int) -> bool:
    """Whether the values of a column identify rows or people, as nearly every value is different.

    A column that is named like an id is an id if it has too many values for groups.
    """
    is_own = column.distinct > 0.9 * rows and rows > MOST_GROUPS
    is_called = column.distinct > MOST_GROUPS and is_like_id(column.name)
    is_fraction = column.whole < column.numbers
    return (is_own or is_called) and not is_fraction


def _has_classes(column: ColumnProfile, _: FileProfile) -> bool:
    return column.is_whole and len(list_known(column)) in {2, 3, 4, 5}


def is_positive_number(column: ColumnProfile) -> bool:
    """Whether all values are numbers of 0 or more."""
    return column.numbers == column.present and column.low is not None and column.low >= 0


def is_whole(column: ColumnProfile) -> bool:
    """Whether all values are whole numbers of 0 or more, or hidden counts (`<5`)."""
    masked = sum(n for text, n in column.values if MaskedCount.propose(text))
    return column.whole + masked == column.present and (column.low or 0) >= 0


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

OUTCOMES = (Role.LABEL, Role.PREDICTION, Role.DECISION)
_CUT = re.compile(r"\s*(>=|<=|>|<)\s*(-?\d+(?:\.\d+)?)\s*")
_BOUNDS: dict[str, tuple[str, Callable[[float, float], bool]]] = {
    ">=": ("at_least", operator.ge),
    ">": ("above", operator.gt),
    "<=": ("at_most", operator.le),
    "<": ("below", operator.lt),
}

_NUMBERS: dict[Role, tuple[Callable[[ColumnProfile], bool], str]] = {
    Role.SCORE: (is_number, "number"),
    Role.COUNT: (is_whole, "whole number of 0 or more"),
    Role.WEIGHT: (is_positive_number, "number of 0 or more"),
}


class Choices(Frozen):
    """The columns of an audit by role; `counts` are columns with numbers of people, by level.

    `positives` are values, or thresholds such as `>=0.5`; each outcome uses any that fit.
    `proposed` are the roles that the user did not name; proposed `counts` have the role DECISION.
    """

    protected: tuple[str, ...] = ()
    columns: Mapping[Role, str] = field(default_factory=dict)
    counts: Mapping[str, str] = field(default_factory=dict)
    positives: tuple[str, ...] = ()
    strata: tuple[str, ...] = ()
    proposed: frozenset[Role] = frozenset()

    @property
    def used(self) -> set[str]:
        """All columns that have a role."""
        return {*self.protected, *self.strata, *self.columns.values(), *self.counts.values()}


def find_column(profile: FileProfile, name: str) -> ColumnProfile:
    """The column of that name; raises `UsageError` if it is missing or not unique."""
    found = [column for column in profile.columns if column.name == name]
    if not found:
        known = [column.name for column in profile.columns]
        near = did_you_mean(name, known)
        what = f"no column {names.quoted(name)}{near}"
        raise UsageError(what, f"columns: {_list_columns(profile)}")
    if len(found) > 1 or not name:
        what = f"{len(found)} columns are named {names.quoted(name)}"
        raise UsageError(what if name else "a column has no name", "give each column its own name")
    return found[0]


def complete(choices: Choices, profile: FileProfile) -> Choices:
    """The choices with proposals for roles that are not named, except protected columns.

    Raises `UsageError` with candidates if a needed column is not named, or if it has no groups.
    """
    named = (*choices.protected, *choices.strata, *choices.columns.values())
    for name in (*named, *choices.counts.values()):
        find_column(profile, name)
    if not choices.protected:
        candidates = ", ".join(
            f"{names.name(name)} ({reason})"
            for name, reason in find_candidates(profile, Role.PROTECTED).items()
        )
        raise UsageError(
            "name the protected columns, for example --protected sex,race",
            f"candidates: {candidates or 'none by name'}. All columns: {_list_columns(profile)}",
        )
    for name in choices.protected:
        column = find_column(profile, name)
        if column.distinct > 10 * MOST_GROUPS and not is_number(column) and not is_date(column):
            what = f"{names.quoted(column.name)} has about {column.distinct:,} levels"
            raise UsageError(f"{what}, which is too many for groups", "name another column")
    for role, (is_fit, words) in _NUMBERS.items():
        if role in choices.columns and not is_fit(find_column(profile, choices.columns[role])):
            name = choices.columns[role]
            what = f"--{role} {name}: the column contains a value that is not a {words}"
            raise UsageError(what, "use another column, or correct the data")
    is_open = not choices.counts and not {*OUTCOMES, Role.SCORE} & {*choices.columns}
    is_free = choices.used.isdisjoint(profile.counts.values())
    if is_open and profile.counts and is_free and Role.COUNT not in choices.columns:
        return replace(choices, counts=profile.counts, proposed=frozenset({Role.DECISION}))
    proposals: dict[Role, str] = {}
    for role in (*OUTCOMES, Role.SCORE) if is_open else ():
        found = find_candidates(profile, role, {*named, *proposals.values()})
        if found and not (role is Role.DECISION and Role.PREDICTION in proposals):
            proposals[role] = next(iter(found))
    if is_open and not proposals:
        what = (
            "no column looks like an outcome: use --label, --prediction, --decision or --score; "
            "for a table of counts, use --counts selected=COLUMN --counts total=COLUMN"
        )
        raise UsageError(what, f"columns: {_list_columns(profile)}")
    if Role.COUNT not in choices.columns and not choices.counts:
        tables = find_candidates(profile, Role.COUNT, named)
        proposals.update((Role.COUNT, name) for name in tables)
    return replace(choices, columns={**proposals, **choices.columns}, proposed=frozenset(proposals))


def _list_columns(profile: FileProfile) -> str:
    return ", ".join(names.quoted(column.name) for column in profile.columns[:MOST_GROUPS])


def refuse_unused_positives(choices: Choices, profile: FileProfile) -> None:
    """Raises `UsageError` for a positive value or a threshold that does not fit any outcome."""
    named = [choices.columns[role] for role in OUTCOMES if role in choices.columns]
    columns = [find_column(profile, name) for name in named]
    levels = [level for level in choices.counts if level != "total"]
    levels += [level for column in columns for level in list_known(column)]
    known = set(map(canonical, levels))
    for text in choices.positives:
        cut = _CUT.fullmatch(text)
        if canonical(text) in known or any(_divides(cut, column) for column in columns):
            continue
        what = f"--positive {names.quoted(text)}: no outcome contains this value"
        listed = ", ".join(map(names.quoted, levels[:10]))
        numbers = filter(is_number, columns) if cut else ()
        if ranges := [f"{c.name} from {c.low:g} to {c.high:g}" for c in numbers]:
            what = f"--positive {names.quoted(text)}: the threshold does not split any outcome"
            listed = ", ".join(ranges)
        raise UsageError(what, f"available: {listed}" if listed else "name an outcome")


def _divides(cut: re.Match[str] | None, column: ColumnProfile) -> bool:
    """Whether a column has numbers on both sides of a threshold."""
    if cut is None or not is_number(column) or column.low is None or column.high is None:
        return False
    _, is_positive = _BOUNDS[cut[1]]
    low, high = (is_positive(number, float(cut[2])) for number in (column.low, column.high))
    return low is not high


def find_positive(column: ColumnProfile, positives: Iterable[str]) -> str | dict[str, str]:
    """The positive value or the threshold of an outcome; raises `UsageError` if it is unknown."""
    known = {canonical(text): text for text in list_known(column)}
    named = [text for text in positives if canonical(text) in known]
    if named and not is_many(column):
        return known[canonical(named[0])]
    cut = next(filter(None, map(_CUT.fullmatch, positives)), None)
    if cut is not None and _divides(cut, column):
        return {_BOUNDS[cut[1]][0]: cut[2]}
    texts = list_known(column)
    likely = [text for text in texts if canonical(text.strip().lower()) in _POSITIVES]
    are_codes = "1" in texts and not _ZEROS & {*texts}
    if len(texts) == 2 and len(likely) == 1 and column.is_whole and not are_codes:
        return likely[0]
    there = ", ".join(map(names.quoted, [*known.values()][:10]))
    what = f"it is not clear which value of {names.quoted(column.name)} is positive: {there}"
    hint = "--positive VALUE, or for a number --positive '>=0.5'"
    if is_many(column):
        hint += f"; if it counts people: --counts selected={column.name} --counts total=COLUMN"
    raise UsageError(what, hint)


def is_burden(role: Role, profile: FileProfile, choices: Choices) -> bool:
    """Whether the positive value of an outcome is a burden, by the words in column and value.

    It is a burden if the column is named after a burden, and the value means yes or is a burden. A
    prediction or an alarm is also a burden if the positive value of the label is a burden, unless
    its own column or value means a benefit or a denial.
    """
    column = find_column(profile, choices.columns[role])
    positive = find_positive(column, choices.positives)
    if isinstance(positive, dict):
        value = "1" if {*positive} & {"at_least", "above"} else "0"
    else:
        value = canonical(positive.strip().lower())
    words, said = {*_words(column.name)}, {*_words(value)}
    if names_burden(column.name):
        return value in AFFIRMED or said <= BURDENS
    is_alarm = role is Role.PREDICTION or bool(words & {*_WORDS[Role.PREDICTION].split()})
    if role is Role.LABEL or not is_alarm or Role.LABEL not in choices.columns:
        return False
    is_other = (words | said) & (_BENEFITS | NEGATIONS) or value in _DENIED
    return not is_other and is_burden(Role.LABEL, profile, choices)

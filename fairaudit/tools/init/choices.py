"""First spec: the columns that are named, completed by guesses; `--positive`; refusals."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping

from fairaudit.base import names
from fairaudit.base.errors import UsageError, did_you_mean
from fairaudit.base.frozen import Frozen, field, replace
from fairaudit.counting.sources.profiles import ColumnProfile, FileProfile
from fairaudit.pipeline.recode.suspicious_levels import canonical
from fairaudit.tools.init.roles import (
    MOST_GROUPS,
    Candidate,
    Role,
    find_candidates,
    guess_positive,
    is_date,
    is_many,
    is_number,
    is_positive_number,
    is_whole,
    list_known,
)

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
    Role.COUNT: (is_whole, "whole number from 0 on"),
    Role.WEIGHT: (is_positive_number, "number from 0 on"),
}


class Choices(Frozen):
    """The columns of an audit by role; `counts` are columns of people by the level they count.

    `positives` are values, or cuts such as `>=0.5`: each outcome takes those that fit it. What was
    not named is among the `proposed`; a proposal of `counts` is one of a decision.
    """

    protected: tuple[str, ...] = ()
    columns: Mapping[Role, str] = field(default_factory=dict)
    counts: Mapping[str, str] = field(default_factory=dict)
    positives: tuple[str, ...] = ()
    strata: tuple[str, ...] = ()
    proposed: frozenset[Role] = frozenset()

    @property
    def used(self) -> set[str]:
        """The columns that have a role."""
        return {*self.protected, *self.strata, *self.columns.values(), *self.counts.values()}


def find_column(profile: FileProfile, name: str) -> ColumnProfile:
    """The column of that name; raises `UsageError` where there is none, or there are several."""
    found = [column for column in profile.columns if column.name == name]
    if not found:
        known = [column.name for column in profile.columns]
        near = did_you_mean(name, known)
        what = f"no column {names.quoted(name)}{near}"
        raise UsageError(what, f"there are {_list_columns(profile)}")
    if len(found) > 1 or not name:
        what = f"{len(found)} columns are named {names.quoted(name)}"
        raise UsageError(what if name else "a column has no name", "rename it in the file")
    return found[0]


def find_numbered(profile: FileProfile, text: str) -> ColumnProfile:
    """The column of that name, or of that number, from 1 on, where none is called so."""
    names_of = {column.name for column in profile.columns}
    number = int(text) if text.isdecimal() and text.isascii() and text not in names_of else 0
    if 0 < number <= len(profile.columns):
        return find_column(profile, profile.columns[number - 1].name)
    return find_column(profile, text)


def complete(choices: Choices, profile: FileProfile) -> Choices:
    """The choices with what the file proposes where nothing is named, but for protected columns.

    Raises `UsageError` naming candidates, where there is nothing to audit, or too much.
    """
    named = (*choices.protected, *choices.strata, *choices.columns.values())
    for name in (*named, *choices.counts.values()):
        find_column(profile, name)
    if not choices.protected:
        found = find_candidates(profile, Role.PROTECTED)
        raise UsageError(
            "which columns are protected is yours to say: --protected",
            f"candidates: {describe(found) or 'none by name'}; there are {_list_columns(profile)}",
        )
    for name in choices.protected:
        refuse_ids(find_column(profile, name))
    for role, (is_fit, words) in _NUMBERS.items():
        if role in choices.columns and not is_fit(find_column(profile, choices.columns[role])):
            what = f"--{role} {choices.columns[role]}: the column holds what is no {words}"
            raise UsageError(what, "name another column, or mend the data")
    is_open = not choices.counts and not {*OUTCOMES, Role.SCORE} & {*choices.columns}
    if is_open and Role.COUNT not in choices.columns and are_free(profile.counts, named):
        return replace(choices, counts=profile.counts, proposed=frozenset({Role.DECISION}))
    proposals: dict[Role, str] = {}
    for role in (*OUTCOMES, Role.SCORE) if is_open else ():
        taken = {*named, *proposals.values()}
        found = [row for row in find_candidates(profile, role) if row.column.name not in taken]
        if found and not (role is Role.DECISION and Role.PREDICTION in proposals):
            proposals[role] = found[0].column.name
    if is_open and not proposals:
        what = (
            "no column looks like an outcome: --label, --prediction, --decision or --score, or of "
            "a table of counts --counts selected=COLUMN --counts total=COLUMN"
        )
        raise UsageError(what, f"there are {_list_columns(profile)}")
    if Role.COUNT not in choices.columns and not choices.counts:
        tables = [row.column.name for row in find_candidates(profile, Role.COUNT)]
        proposals.update((Role.COUNT, name) for name in tables if name not in named)
    return replace(choices, columns={**proposals, **choices.columns}, proposed=frozenset(proposals))


def are_free(counts: Mapping[str, str], taken: Iterable[str]) -> bool:
    """Whether there are counts side by side in columns that have no role."""
    return bool(counts) and not {*counts.values()} & {*taken}


def _list_columns(profile: FileProfile) -> str:
    return ", ".join(names.quoted(column.name) for column in profile.columns[:MOST_GROUPS])


def describe(candidates: Iterable[Candidate]) -> str:
    """Candidates with their reasons: `sex (its name and its levels), race (its name)`."""
    return ", ".join(f"{names.name(row.column.name)} ({row.reason})" for row in candidates)


def refuse_ids(column: ColumnProfile) -> None:
    """Raises `UsageError` for a column whose values are no groups of people."""
    if column.distinct > 10 * MOST_GROUPS and not is_number(column) and not is_date(column):
        what = f"{names.quoted(column.name)} has about {column.distinct:,} levels"
        raise UsageError(f"{what}: no groups of people", "name another column")


def refuse_unused_positives(choices: Choices, profile: FileProfile) -> None:
    """Raises `UsageError` for a positive value, or a cut, that no outcome takes."""
    named = [choices.columns[role] for role in OUTCOMES if role in choices.columns]
    columns = [find_column(profile, name) for name in named]
    levels = [level for level in choices.counts if level != "total"]
    levels += [level for column in columns for level in list_known(column)]
    known = set(map(canonical, levels))
    for text in choices.positives:
        cut = _CUT.fullmatch(text)
        if canonical(text) in known or any(_divides(cut, column) for column in columns):
            continue
        what = f"--positive {names.quoted(text)}: no outcome holds it"
        listed = ", ".join(map(names.quoted, levels[:10]))
        numbers = filter(is_number, columns) if cut else ()
        if ranges := [f"{c.name} from {c.low:g} to {c.high:g}" for c in numbers]:
            what = f"--positive {names.quoted(text)}: all values of every outcome are on one side"
            listed = ", ".join(ranges)
        raise UsageError(what, f"there is {listed}" if listed else "name an outcome")


def _divides(cut: re.Match[str] | None, column: ColumnProfile) -> bool:
    """Whether a column has numbers on both sides of a cut: another is meant otherwise."""
    if cut is None or not is_number(column) or column.low is None or column.high is None:
        return False
    _, is_positive = _BOUNDS[cut[1]]
    low, high = (is_positive(number, float(cut[2])) for number in (column.low, column.high))
    return low is not high


def find_positive(column: ColumnProfile, positives: Iterable[str]) -> str | dict[str, str]:
    """The positive value of an outcome, or its cut; raises `UsageError` where it is not known."""
    known = {canonical(text): text for text in list_known(column)}
    named = [text for text in positives if canonical(text) in known]
    if named and not is_many(column):
        return known[canonical(named[0])]
    cut = next(filter(None, map(_CUT.fullmatch, positives)), None)
    if cut is not None and _divides(cut, column):
        return {_BOUNDS[cut[1]][0]: cut[2]}
    likely = guess_positive(column)
    if likely is None:
        there = ", ".join(map(names.quoted, [*known.values()][:10]))
        what = f"which value of {names.quoted(column.name)} is positive? it holds {there}"
        hint = "--positive VALUE, or of a number --positive '>=0.5'"
        if is_many(column):
            hint += f"; if it counts people: --counts selected={column.name} --counts total=COLUMN"
        raise UsageError(what, hint)
    return likely

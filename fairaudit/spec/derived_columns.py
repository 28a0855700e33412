"""Reads what makes a column of others: ages, differences, combined columns, counts side by side."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date

from fairaudit.errors import did_you_mean
from fairaudit.spec import column_schema
from fairaudit.spec.derivations import Age, Combination, CountColumns, Derivation, Difference
from fairaudit.spec.text import Draft, Path, Text

_TOTAL = "total"
_LIKE_A_DAY = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*")


def read_derivation(
    draft: Draft, path: Path, name: str, shape: column_schema.LevelColumn
) -> Derivation | None:
    """What makes the column of an attribute; None where the data has it."""
    written = {"from": shape.born, "minus": shape.minus, "combine": shape.combine}
    kinds = [key for key, value in written.items() if value is not None]
    for key in kinds[1:]:
        draft.fault((*path, key), f"either `{kinds[0]}` or `{key}`, not both", key=True)
    if shape.at is not None and shape.born is None:
        draft.fault((*path, "at"), "`at` is the day of an age: say `from` too", key=True)
    if shape.rule and shape.combine is None:
        draft.fault((*path, "rule"), "`rule` is of columns that are combined: name them", key=True)
    if not kinds:
        return None
    if shape.column is not None and kinds[0] != "minus":
        draft.fault((*path, "column"), f"`{kinds[0]}` names the column already", key=True)
    is_cut = shape.bins or shape.over or shape.quantiles
    if kinds[0] != "combine" and not is_cut:
        draft.fault((*path, kinds[0]), "a number makes groups by `bins`, `over` or `quantiles`")
    if shape.born is not None:
        return _read_age(draft, path, shape.born, shape.at)
    if shape.minus is not None:
        column = draft.text((*path, "column"), shape.column or name)
        return Difference(column, draft.text((*path, "minus"), shape.minus))
    columns = draft.texts((*path, "combine"), shape.combine)
    if len({text.value for text in columns}) < max(2, len(columns)) or is_cut:
        what = "cannot be cut" if is_cut else "are two or more, each named once"
        draft.fault((*path, "combine"), f"columns that are combined {what}")
    return Combination(columns)


def _read_age(draft: Draft, path: Path, born: str, at: str | None) -> Age:
    where = (*path, "at")
    if at is None:
        draft.fault(path, "`at` is missing: the day of the age, such as 2024-12-31, or a column")
    elif _LIKE_A_DAY.fullmatch(at):
        try:
            date.fromisoformat(at)
        except ValueError:
            draft.fault(where, f"there is no day {at}")
            at = None
    return Age(draft.text((*path, "from"), born), draft.text(where, at or "0001-01-01"))


def read_rules(
    draft: Draft, path: Path, shape: column_schema.LevelColumn
) -> Mapping[str, Mapping[str, tuple[Text, ...]]]:
    """The level that combined columns have where all that a rule names fits."""
    known = shape.combine or []
    rules: dict[str, dict[str, tuple[Text, ...]]] = {}
    for level, needed in shape.rule.items():
        where = (*path, "rule", level)
        if not needed:
            draft.fault(where, "say which level of which column: `{race: White}`")
        for column in [column for column in needed if column not in known]:
            message = f"{column!r} is not combined here{did_you_mean(column, known)}"
            draft.fault((*where, column), message, key=True)
        rules[level] = {
            column: draft.texts((*where, column), levels) for column, levels in needed.items()
        }
    return rules


def read_counts(
    draft: Draft, path: Path, shape: column_schema.OutcomeColumn
) -> CountColumns | None:
    """The columns that hold counts of people, each of one level of an outcome."""
    where = (*path, "counts")
    if shape.counts is None:
        return None
    if shape.column is not None:
        draft.fault((*path, "column"), "`counts` name the columns already", key=True)
    levels = {
        level: draft.text((*where, level), column)
        for level, column in shape.counts.items()
        if level != _TOTAL
    }
    total = draft.optional((*where, _TOTAL), shape.counts.get(_TOTAL))
    if len(shape.counts) < 2 or len(set(shape.counts.values())) < len(shape.counts):
        draft.fault(where, "name a column of counts for each level, or one level and the `total`")
    rest = f"not {next(iter(levels))}" if len(levels) == 1 else "rest"
    if total is not None and rest in levels:
        draft.fault((*where, rest), f"{rest!r} is what is left of the total: rename it", key=True)
    if shape.number:
        draft.fault((*path, "number"), "`counts` are of levels: leave out `number`", key=True)
    elif shape.positive is not None and shape.positive.values is None:
        known = ", ".join([*levels, *([] if total is None else [rest])])
        draft.fault((*path, "positive"), f"`counts` are of levels: name one of {known}")
    return CountColumns(levels, total, rest)


def find_counted_positive(counts: CountColumns) -> str | None:
    """The level that is positive where the spec does not say so: the only one of a total."""
    if counts.total is not None and len(counts.levels) == 1:
        return next(iter(counts.levels))
    return "positive" if "positive" in counts.levels else None

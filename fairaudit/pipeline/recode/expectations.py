"""Refusals of data (no rows, `expect`, `missing: error`); notices on filters and hidden people."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np

from fairaudit.base.disclosure_marks import Subjects
from fairaudit.base.errors import (
    DataError,
    Fault,
    NothingToAudit,
    Seek,
    SpecError,
    did_you_mean,
    suggest_known,
)
from fairaudit.base.names import listing, quoted
from fairaudit.base.notice import Notice
from fairaudit.counting.counts import Counts
from fairaudit.pipeline.recode.axes import Axis
from fairaudit.spec import Expected, MissingPolicy, Spec

_VALUE = re.compile(r"'(?:[^']|'')*'")
_COMPARED = re.compile(
    r"""(?<![\w).])(?:(\w+)|"([^"]+)"|`([^`]+)`)\s*(?:==?|<>|!=|\b(?:not\s+)?in\s*\()"""
    rf"""\s*({_VALUE.pattern}(?:\s*,\s*{_VALUE.pattern})*)""",
    re.IGNORECASE,
)
"""A column and the texts it is compared with: `race != 'White'`, `race in ('White', 'Black')`."""

LONGEST_LEVEL = 100_000
"""The length of the longest text that can be a level: reports repeat each level many times."""


def refuse_nothing(counts: Counts) -> None:
    """Raises `NothingToAudit` for data without a row, before faults of levels are looked for."""
    if not counts.rows[counts.kept == 1].sum():
        filtered = int(counts.rows[counts.kept == 0].sum())
        undecided = int(counts.rows[counts.kept == -1].sum())
        why = f", {undecided:,} that the filter cannot decide" if undecided else ""
        filters = f", {filtered:,} filtered out{why}" if filtered or undecided else ""
        hidden = sum(cells.rows for cells in counts.hidden)
        filters += f", {hidden:,} hidden where they were counted" if hidden else ""
        raise NothingToAudit(
            f"no rows are left to audit: {counts.read:,} read{filters}",
            "check the data and the filter in the spec" if filters else "check the data",
            uncounted="no rows are left to audit",
        )


def refuse_long_levels(counts: Counts, spec: Spec) -> None:
    """Raises `SpecError` for each column that holds a text too long to be a level."""
    texts = {key.key.column: key.levels for key in counts.keys}
    texts |= {key.column: levels for key, levels in counts.table_levels.items()}
    faults = []
    for column, levels in texts.items():
        longest = max((len(level) for level in levels if level is not None), default=0)
        if longest > LONGEST_LEVEL:
            message = (
                f"{quoted(column)} holds a text of {longest:,} characters, and at most "
                f"{LONGEST_LEVEL:,} can be a level: name another column, or shorten the text"
            )
            places = spec.places.get(column, ())
            faults.append(places[0].fault(message) if places else Fault(message))
    if faults:
        raise SpecError(faults)


def find_absent_levels(
    expected: Expected, axis_of: Mapping[str, Axis], counts: Counts
) -> Iterator[Fault]:
    """Faults for expected levels that no row has."""
    there = (counts.kept == 1) & (counts.rows > 0)
    for name, texts in expected.levels.items():
        axis = axis_of[name]
        levels = [axis.key.levels[code] for code in np.unique(axis.codes[there]) if code >= 0]
        for text in texts:
            if text.value not in levels:
                hint = suggest_known(text.value, levels, listing(levels))
                yield text.fault(f"no row has the {name} {quoted(text.value)}{hint}")


def refuse_unexpected(expected: Expected, rows: int) -> None:
    """Raises `DataError` if there are fewer or more rows than the spec expects."""
    least, most = expected.rows.at_least, expected.rows.at_most
    bound = f"at least {least:,}" if least is not None and rows < least else ""
    bound = bound or (f"at most {most:,}" if most is not None and rows > most else "")
    if bound:
        counted = "1 row is counted" if rows == 1 else f"{rows:,} rows are counted"
        raise DataError(
            f"{counted}, and the spec expects {bound}",
            "check that the export is complete, or change `expect` in the spec",
            uncounted=f"the spec expects {bound} rows",
        )


def notice_odd_rows(counts: Counts, spec: Spec) -> Iterator[Notice]:
    """Notices on the filter, on counts side by side, and on people whom sites hide."""
    if spec.filter is not None and not counts.rows[counts.kept == 0].sum():
        # The filter may not say what is meant.
        but = " but those that lack a value it needs" if (counts.kept == -1).any() else ""
        yield Notice(f"the filter removes no row{but}: {spec.filter.value}", Subjects.ANYBODY)
    yield from _tell_absent_values(counts, spec)
    count = counts.plan.rows_of_each
    if count > 1:
        what = f"each row of the data holds {count} counts of people, and is {count} rows here"
        yield Notice(what, Subjects.NOBODY)
    people = sum(cells.people for cells in counts.hidden)
    if people:
        below = " or ".join(f"{cells.below:,}" for cells in counts.hidden)
        yield Notice(
            f"{people:,} people are hidden where they were counted, in cells of fewer than {below} "
            "and in cells that would reveal those: groups may be larger than here, or missing, and "
            "rates may differ; no check passes if these people could put it beyond its limit",
            Subjects.NEVER,
        )


def _tell_absent_values(counts: Counts, spec: Spec) -> Iterator[Notice]:
    """Notices on texts that the filter compares an audited column with and that no row has."""
    counted = {key.column for key in counts.plan.keys if not key.is_cut}
    for compared in _COMPARED.finditer(spec.filter.value if spec.filter is not None else ""):
        *names, values = compared.groups()
        column = next(filter(None, names))
        if column not in counted:
            continue
        levels = [level for level in counts.text_key(column).levels if level is not None]
        for value in [text[1:-1].replace("''", "'") for text in _VALUE.findall(values)]:
            if value not in levels:
                what = f"{quoted(value)} of the filter does not occur"
                what += did_you_mean(value, levels)
                # Hiding this notice would reveal which of the texts some row has.
                yield Notice(f"{column}: {what}", Subjects.ANYBODY)


def refuse_missing(axis: Axis, counts: Counts) -> None:
    """Raises `DataError` for missing values if the policy of the column is `error`."""
    if axis.policy is not MissingPolicy.ERROR:
        return
    missing = (counts.kept == 1) & axis.missing
    rows = int(counts.rows[missing].sum())
    if rows:
        rule = axis.written_rule
        role = {"strata": "stratum", "numbers": "number"}.get(rule, rule)
        what = f"no value in the {role} {quoted(axis.column)}"
        raise DataError(
            f"{rows:,} {'row has' if rows == 1 else 'rows have'} {what}",
            f"complete the data, or choose what to do with these rows: `missing: {{{rule}: …}}`",
            seek=Seek(axis.column, (None, *counts.plan.tokens, *axis.words)),
            uncounted=f"rows have {what}",
        )

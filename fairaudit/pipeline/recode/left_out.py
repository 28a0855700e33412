"""Rows that `missing`, `others: drop` or the filter leave out, by group, with notices."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from difflib import SequenceMatcher

import numpy as np
from numpy.typing import NDArray

from fairaudit.base.arrays import raise_small
from fairaudit.base.disclosure_marks import Notice, Subjects
from fairaudit.base.frozen import Frozen
from fairaudit.base.names import is_value, listing, lookalike, quoted
from fairaudit.counting.counts import Counts
from fairaudit.counting.sources.column_checks import parse_filter
from fairaudit.cube import (
    NO_LEVEL,
    UNKNOWN,
    Cube,
    ExcludeBelow,
    Group,
    Grouping,
    Ints,
    KeyColumn,
    Marks,
    add_up,
    distinct_rows,
    name_groups,
)
from fairaudit.metrics import Eligibility, describe_group
from fairaudit.spec import Outcome, Spec

Codes = NDArray[np.int32]

OTHERS_DROPPED = "neither positive nor negative (others: drop)"

_MOST_NAMED = 5
_NEAR = 0.9
"""The similarity of two texts that differ in one letter of ten."""

_NO_PEOPLE = "its rows count no people (`count` is 0 in all of them)"


class LostGroup(Frozen):
    """A group whose rows all leave the audit, in all strata or in the named stratum.

    An empty group means a stratum without any people left. `share` is the share of the group
    in the people whose group is known.
    """

    group: Group
    stratum: Group
    people: int
    share: float
    why: str

    def standing(self, least: int | None, rule: ExcludeBelow | None) -> Eligibility | None:
        """Why the spec would not compare such a group anyway; None if it would."""
        if rule is not None and self.share < rule.share:
            return Eligibility.EXCLUDED
        return Eligibility.SMALL if least is not None and self.people < least else None


class LeftOutCells(Frozen, eq=False):
    """The raw cells of a spec with their audited `codes` [C, K], including cells that leave.

    The filter keeps the `seen` cells, the cube holds the `counted` cells. `why` is the number of
    the reason (a column and a rule) for which a cell leaves. `others` leave by `others: drop`
    alone, `missing` because a value is missing in a column of one of the `roles`, each with the key
    of `missing` that drops it. `is_fitted`: bins or strata are fitted to the rows that stay.
    `gather` makes a cube of cells. Groups of fewer than `threshold` people count as the largest
    such group.
    """

    keys: tuple[KeyColumn, ...]
    codes: Codes
    people: Ints
    seen: Marks
    counted: Marks
    why: Ints
    reasons: tuple[tuple[str, str], ...]
    others: Marks
    missing: Marks
    roles: Mapping[str, str]
    is_fitted: bool
    gather: Callable[..., Cube]
    threshold: int

    def gone(self, by: Grouping, given: Grouping) -> Iterator[LostGroup]:
        """The groups that the data has and the cube does not; then those of single strata.

        An intersection without people is not gone if each of its levels has people: tables of all
        combinations contain such zeros.
        """
        whole = [*self._gone(by, ())]
        if len(by) > 1 and any(not group.people for group in whole):
            nobody = {
                level for name in by for group in self._gone((name,), ()) for level in group.group
                if not group.people
            }  # fmt: skip
            whole = [group for group in whole if group.people or nobody.intersection(group.group)]
        yield from whole
        names = {group.group for group in whole}
        if given:
            for group in self._gone(by, given):
                # The group is not gone from a stratum that never had any of its people.
                if group.people and group.group not in names:
                    yield group

    def _gone(self, by: Grouping, given: Grouping) -> Iterator[LostGroup]:
        columns = [self._place(name) for name in (*by, *given)]
        within = self.seen.copy()
        for name in (*by, *given):
            within &= ~self.is_unknown(name)
        cells, index = distinct_rows(self.codes[within][:, columns])
        people = self.people[within]
        seen = add_up(people, index, len(cells))
        is_gone = add_up(np.where(self.counted[within], people, 0), index, len(cells)) == 0
        # The reasons for which the cells with people of each group leave, by its number.
        leave, reasons = is_gone[index] & (people > 0), dict[int, list[str]]()
        numbers = zip(index[leave].tolist(), self.why[within][leave].tolist(), strict=True)
        for number, reason in sorted({*numbers}):
            reasons.setdefault(number, []).append(" ".join(self.reasons[reason]))
        groups = name_groups([self.keys[column] for column in columns], cells)
        raised = raise_small(seen, self.threshold)
        for number in np.flatnonzero(is_gone).tolist():
            everybody = int(seen.sum() - seen[number] + raised[number])
            why = f"all of its rows leave the audit: {'; '.join(reasons.get(number, ()))}"
            yield LostGroup(
                group=groups[number][: len(by)],
                stratum=groups[number][len(by) :],
                people=int(raised[number]),
                share=int(raised[number]) / max(everybody, 1),
                why=why if number in reasons else _NO_PEOPLE,
            )

    @property
    def undecided(self) -> Marks:
        """The cells of rows with people that the filter cannot decide."""
        undecided = self.why == len(self.reasons) - 2
        return np.asarray(self.seen & undecided & (self.people > 0))

    @property
    def masked(self) -> Marks:
        """The cells of people who may exist, because a text hides their number."""
        masked = self.why == len(self.reasons) - 1
        return np.asarray(self.seen & masked & (self.people > 0))

    def uncounted(self) -> Iterator[tuple[bool, Cube]]:
        """A cube for each reason to leave, and whether the reason is an undecided filter."""
        gone = self.seen & ~self.counted & ~self.masked & (self.people > 0)
        for number in sorted(set(self.why[gone].tolist())):
            is_undecided = number == len(self.reasons) - 2
            yield is_undecided, self.gather(gone & (self.why == number), self.codes)

    def by_level(self, name: str, rows: Ints, marks: Marks) -> dict[str, int]:
        """The rows of the marked cells by level of a column, the most frequent first."""
        key, codes = self.keys[self._place(name)], self.codes[marks, self._place(name)]
        return _sort_levels((*key.levels, UNKNOWN), key.slots(codes), rows[marks])

    def _place(self, name: str) -> int:
        return [key.name for key in self.keys].index(name)

    def with_optional(self, optional: Marks, by: Grouping, needed: Collection[str]) -> Cube:
        """The cube with `optional` people, who may belong to it or not.

        All other people have a group of `by` and all `needed` outcomes.
        """
        classed = [key.name for key in self.keys if key.positive and key.name in needed]
        known = [~self.is_unknown(name) for name in (*by, *classed)]
        stays = np.all([self.counted, *known], axis=0) | optional
        return self.gather(stays, self.codes, optional)

    def with_masked(self) -> Cube:
        """The cube with the people who may exist by a masked count."""
        return self.gather(self.counted | self.masked, self.codes, self.masked)

    def lack_one(self, names: Collection[str], among: Marks) -> bool:
        """Whether any of these cells lacks a level of one of the columns."""
        known = {key.name for key in self.keys}.intersection(names)
        return any((among & self.is_unknown(name)).any() for name in known)

    def is_unknown(self, name: str) -> Marks:
        """The cells in which a column is unknown, or shown as unknown."""
        place = self._place(name)
        codes = self.codes[:, place]
        return np.asarray((codes == NO_LEVEL) | np.isin(codes, list(self.keys[place].unknown)))


def notice_undecided(left_out: LeftOutCells | None, counts: Counts, spec: Spec) -> Iterator[Notice]:
    """A notice on the rows that the filter cannot decide, by group."""
    if left_out is not None and left_out.undecided.any():
        rows = int(counts.rows[left_out.undecided].sum())
        what = f"{rows:,} {'row lacks' if rows == 1 else 'rows lack'} a value that the filter needs"
        rule = parse_filter(counts.plan)
        texts = [text for texts in rule.texts.values() for text in texts] if rule else []
        if texts:
            # A text with similar spelling may mean the text of the filter or not.
            what += f", or {'has' if rows == 1 else 'have'} a value that looks like "
            what += f"{' or '.join(map(quoted, texts[:_MOST_NAMED]))} and is written differently"
        sentence = _by_group(what, left_out.undecided, left_out, counts, spec)
        yield Notice(f"{sentence}; not counted", Subjects.NEVER)


def notice_left_out(left_out: LeftOutCells | None, counts: Counts, spec: Spec) -> Iterator[Notice]:
    """Notices on the values that are left out, by group, and on groups that are gone."""
    if left_out is None:
        return
    for outcome in spec.outcomes:
        if outcome.others == "drop" and outcome.binary and outcome.threshold is None:
            yield from _dropped_values(outcome, left_out, counts, spec)
    for number, (column, reason) in enumerate(left_out.reasons):
        gone = left_out.missing & (left_out.why == number)
        if gone.any():
            rows = int(counts.rows[gone].sum())
            leave = "1 row leaves" if rows == 1 else f"{rows:,} rows leave"
            what = f"{leave} the audit, since {quoted(column)} is {reason}"
            yield Notice(_by_group(what, gone, left_out, counts, spec), Subjects.NEVER)
    for attribute in spec.protected:
        for lost in left_out.gone((attribute.name,), ()):
            what = f"{describe_group(lost.group)} is in the data and not in the audit: {lost.why}"
            # If no check is open because of it, the notice would show that the group is small.
            few = lost.standing(spec.minimum.size, spec.exclude_below)
            yield Notice(what, Subjects.NEVER if few else Subjects.NOBODY)


def _dropped_values(
    outcome: Outcome, left_out: LeftOutCells, counts: Counts, spec: Spec
) -> Iterator[Notice]:
    """Notices on the values of an outcome that `others: drop` leaves out, by group."""
    reason = (outcome.column.value, OTHERS_DROPPED)
    if reason not in left_out.reasons:
        return
    gone = left_out.why == left_out.reasons.index(reason)
    raw = counts.text_key(outcome.column.value)
    texts = [level or "" for level in raw.levels]
    values = _sort_levels(texts, raw.codes[gone], counts.rows[gone])
    listed = _listed({quoted(value): n for value, n in values.items()})
    sentence = _by_group(f"rows with {listed}", gone, left_out, counts, spec)
    yield Notice(f"{outcome.name}: `others: drop` leaves out {sentence}", Subjects.NEVER)
    looks = {value: lookalike(value) for value in values}
    for sign, declared in (("positive", outcome.positive), ("negative", outcome.negative)):
        for text in declared:
            # Similar texts differ in case, blanks or a typo; numbers have no typos.
            look = lookalike(text.value)
            alike = [
                value
                for value in values
                if looks[value] == look
                or (
                    not is_value(value)
                    and SequenceMatcher(None, looks[value], look).ratio() >= _NEAR
                )
            ]
            if alike:
                verb = "looks" if len(alike) == 1 else "look"
                yield Notice(
                    f"{outcome.name}: {listing(alike)} {verb} like the {sign} "
                    f"{quoted(text.value)}, and `others: drop` leaves them out; add to `{sign}` "
                    "what means the same",
                    Subjects.NOBODY,
                )


def _by_group(what: str, marks: Marks, left_out: LeftOutCells, counts: Counts, spec: Spec) -> str:
    """A sentence on rows that leave, with their number by level of each protected attribute."""
    by = [
        f"by {attribute.name}: {_listed(left_out.by_level(attribute.name, counts.rows, marks))}"
        for attribute in spec.protected
    ]
    return "; ".join([what, *by])


def _sort_levels(levels: Sequence[str], codes: Ints, rows: Ints) -> dict[str, int]:
    """The rows of each level that occurs, the most frequent first."""
    total = add_up(rows, codes, len(levels))
    order = np.argsort(-total, kind="stable").tolist()
    return {levels[code]: int(total[code]) for code in order if total[code]}


def _listed(counts: Mapping[str, int]) -> str:
    shown = [f"{name} ({n:,})" for name, n in [*counts.items()][:_MOST_NAMED]]
    more = len(counts) - _MOST_NAMED
    return ", ".join([*shown, f"{more:,} more"] if more > 0 else shown)

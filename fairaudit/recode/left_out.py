"""Rows that no filter removes and the cube does not hold: whose they are, what they could be."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import product

import numpy as np
from numpy.typing import NDArray

from fairaudit.counts import Counts
from fairaudit.cube import (
    NO_LEVEL,
    UNKNOWN,
    Cube,
    Grouping,
    Ints,
    KeyColumn,
    LostGroup,
    Marks,
    distinct_rows,
)
from fairaudit.disclosure import Notice, Subjects
from fairaudit.metrics import describe_group
from fairaudit.names import quoted
from fairaudit.recode.levels import is_value, listing, lookalike
from fairaudit.spec import OtherValues, Outcome, Spec

Codes = NDArray[np.int32]

OTHERS_DROPPED = "neither positive nor negative (others: drop)"

_MOST_NAMED = 5
_NEAR = 0.9
"""Texts as near as that differ by a letter of ten."""

_MOST_GROUPS = 8
"""Of so many groups, those with the most people left out, completions are tried."""

_NO_PEOPLE = "its rows count no people (`count` is 0 in all of them)"


@dataclass(frozen=True, slots=True, eq=False)
class LeftOut:
    """The raw cells of a spec with their audited `codes` [C, K], those that leave among them.

    `seen` are those that the filter does not remove, `counted` those in the cube. `why` is the
    number of the reason (a column and a rule) for which a cell leaves; `others` are those that
    leave by `others: drop` alone. `gather` makes a cube of some cells with such codes.
    """

    keys: tuple[KeyColumn, ...]
    codes: Codes
    people: Ints
    seen: Marks
    counted: Marks
    why: Ints
    reasons: tuple[tuple[str, str], ...]
    others: Marks
    gather: Callable[[Marks, Codes], Cube]

    def gone(self, by: Grouping, given: Grouping) -> Iterator[LostGroup]:
        """The groups that the data has and the cube has not; then those of single strata.

        An intersection that counts nobody is none of them where each of its levels has people: so
        are the zeros of a table of all combinations.
        """
        whole = [*self._gone(by, ())]
        if len(by) > 1 and any(not one.people for one in whole):
            nobody = {
                level for name in by for one in self._gone((name,), ()) for level in one.group
                if not one.people
            }  # fmt: skip
            whole = [one for one in whole if one.people or nobody.intersection(one.group)]
        yield from whole
        names = {one.group for one in whole}
        if given:
            for one in self._gone(by, given):
                # A stratum without people of a group is none that it leaves.
                if one.people and one.group not in names:
                    yield one

    def _gone(self, by: Grouping, given: Grouping) -> Iterator[LostGroup]:
        columns = [self._place(name) for name in (*by, *given)]
        within = self.seen.copy()
        for at in columns:
            codes = self.codes[:, at]
            within &= (codes != NO_LEVEL) & ~np.isin(codes, list(self.keys[at].unknown))
        cells, index = distinct_rows(self.codes[within][:, columns])
        people, counted = self.people[within], self.counted[within]
        seen, left = (np.zeros(len(cells), dtype=np.int64) for _ in range(2))
        np.add.at(seen, index, people)
        np.add.at(left, index, np.where(counted, people, 0))
        total = max(int(seen.sum()), 1)
        reasons = self._reasons(index, np.where((left == 0)[index], people, 0), self.why[within])
        for at in np.flatnonzero(left == 0).tolist():
            levels = zip((*by, *given), columns, cells[at].tolist(), strict=True)
            pairs = [(name, self.keys[column].levels[code]) for name, column, code in levels]
            yield LostGroup(
                group=tuple(pairs[: len(by)]),
                stratum=tuple(pairs[len(by) :]),
                people=int(seen[at]),
                share=int(seen[at]) / total,
                why=reasons.get(at, _NO_PEOPLE),
            )

    def _reasons(self, index: Ints, people: Ints, why: Ints) -> dict[int, str]:
        """Why those cells with people leave that are gone, by the number of their group."""
        pairs = np.unique(np.stack([index, why], axis=1)[people > 0], axis=0).tolist()
        found: dict[int, list[str]] = {}
        for at, reason in pairs:
            found.setdefault(at, []).append(" ".join(self.reasons[reason]))
        return {
            at: f"all of its rows leave the audit: {'; '.join(some)}" for at, some in found.items()
        }

    def by_level(self, name: str, rows: Ints, marks: Marks) -> dict[str, int]:
        """The rows of the marked cells by level of a column, the most frequent first."""
        at = self._place(name)
        codes, levels = self.codes[:, at], self.keys[at].levels
        counted = np.zeros(len(levels) + 1, dtype=np.int64)
        np.add.at(counted, np.where(codes == NO_LEVEL, len(levels), codes)[marks], rows[marks])
        order = np.argsort(-counted, kind="stable").tolist()
        return {(*levels, UNKNOWN)[one]: int(counted[one]) for one in order if counted[one]}

    def _place(self, name: str) -> int:
        return [key.name for key in self.keys].index(name)

    def with_others(self, needed: Collection[str]) -> Cube:
        """The cube with those whom `others: drop` leaves out, as people of unknown outcome.

        Of the `needed` outcomes nothing else is unknown: who lacks one of them is left out here.
        """
        return self.gather(self._decided(needed) | self.others, self.codes)

    def lacks(self, name: str) -> bool:
        """Whether somebody whom `others: drop` leaves out has no such outcome."""
        return bool((self.others & (self.codes[:, self._place(name)] == NO_LEVEL)).any())

    def _decided(self, needed: Collection[str]) -> Marks:
        known = [self.codes[:, self._place(name)] != NO_LEVEL for name in self._classed(needed)]
        return np.asarray(self.counted & np.all([self.counted, *known], axis=0))

    def _classed(self, needed: Collection[str]) -> list[str]:
        """Those of the outcomes that have a positive class, the label last."""
        with_classes = [key.name for key in self.keys if key.positive]
        return sorted(set(needed).intersection(with_classes), key=lambda name: name == "label")

    def completions(self, by: Grouping, needed: Collection[str]) -> Iterator[Cube]:
        """Cubes in which everybody left out by `others: drop` has an outcome, by extremes.

        Of one group after another all get it and of the others nobody, and the other way round; by
        the label or against it, where both are needed.
        """
        names, stays = self._classed(needed), self._decided(needed) | self.others
        groups = self._fullest(by)
        patterns: list[tuple[bool | None, ...]] = [*product((True, False), repeat=len(names))]
        if "label" in names and len(names) > 1:
            patterns += [(*[None] * (len(names) - 1), label) for label in (True, False)]
        for group, pattern in product(groups, patterns):
            codes = self.codes.copy()
            self._fill(codes, names, pattern, self.others & group)
            opposite = tuple(None if one is None else not one for one in pattern)
            self._fill(codes, names, opposite, self.others & ~group)
            yield self.gather(stays, codes)

    def _fullest(self, by: Grouping) -> list[Marks]:
        """The cells of each group of which somebody is left out, those of the most people first."""
        cells, index = distinct_rows(self.codes[:, [self._place(name) for name in by]])
        people = np.zeros(len(cells), dtype=np.int64)
        np.add.at(people, index, np.where(self.others, self.people, 0))
        order = np.argsort(-people, kind="stable")[:_MOST_GROUPS].tolist()
        return [index == at for at in order if people[at]]

    def _fill(
        self, codes: Codes, names: Sequence[str], pattern: Sequence[bool | None], among: Marks
    ) -> None:
        """Gives the marked cells the outcomes they lack: positive, negative, or (None) the label's.

        The label is the last name, and is filled first.
        """
        for name, positive in [*zip(names, pattern, strict=False)][::-1]:
            at = self._place(name)
            plus = min(self.keys[at].positive or (0,))
            minus = {*range(len(self.keys[at].levels))} - (self.keys[at].positive or set())
            lacking = among & (codes[:, at] == NO_LEVEL)
            given = np.full(len(codes), bool(positive))
            if positive is None:
                label = self._place("label")
                given = np.isin(codes[:, label], list(self.keys[label].positive or ()))
            codes[lacking & given, at] = plus
            codes[lacking & ~given, at] = min(minus, default=NO_LEVEL)


def notices(left_out: LeftOut | None, counts: Counts, spec: Spec) -> Iterator[Notice]:
    """Who leaves the audit: values that are left out, by group, and groups that are gone."""
    if left_out is None:
        return
    for outcome in spec.outcomes:
        if outcome.others is OtherValues.DROP and outcome.binary and outcome.threshold is None:
            yield from _dropped_values(outcome, left_out, counts, spec)
    for attribute in spec.protected:
        for gone in left_out.gone((attribute.name,), ()):
            what = f"{describe_group(gone.group)} is in the data and not in the audit: {gone.why}"
            # Beside a check that it does not leave open, it would tell that it is small.
            few = gone.is_too_small(spec.minimum.size, spec.exclude_below)
            yield Notice(what, Subjects.NEVER if few else Subjects.NOBODY)


def _dropped_values(
    outcome: Outcome, left_out: LeftOut, counts: Counts, spec: Spec
) -> Iterator[Notice]:
    """What `others: drop` leaves out of an outcome, of which groups, and what it is like."""
    number = [
        at for at, (column, reason) in enumerate(left_out.reasons)
        if (column, reason) == (outcome.column.value, OTHERS_DROPPED)
    ]  # fmt: skip
    gone = np.isin(left_out.why, number)
    raw = counts.text_key(outcome.column.value)
    counted = np.zeros(len(raw.levels), dtype=np.int64)
    np.add.at(counted, raw.codes[gone], counts.rows[gone])
    values = {raw.levels[at] or "": int(counted[at]) for at in np.argsort(-counted, kind="stable")}
    values = {value: n for value, n in values.items() if n}
    if not values:
        return
    listed = _listed({quoted(value): n for value, n in values.items()})
    by = [
        f"by {name}: {_listed(left_out.by_level(name, counts.rows, gone))}"
        for name in (attribute.name for attribute in spec.protected)
    ]
    told = "; ".join([f"rows with {listed}", *by])
    yield Notice(f"{outcome.name}: `others: drop` leaves out {told}", Subjects.NEVER)
    for sign, named in (("positive", outcome.positive), ("negative", outcome.negative)):
        for text in named:
            alike = [value for value in values if _is_like(value, text.value)]
            if alike:
                verb = "looks" if len(alike) == 1 else "look"
                yield Notice(
                    f"{outcome.name}: {listing(alike)} {verb} like the {sign} "
                    f"{quoted(text.value)}, and `others: drop` leaves them out; add to `{sign}` "
                    "what means the same",
                    Subjects.NOBODY,
                )


def _listed(counts: Mapping[str, int]) -> str:
    shown = [f"{name} ({n:,})" for name, n in [*counts.items()][:_MOST_NAMED]]
    more = len(counts) - _MOST_NAMED
    return ", ".join([*shown, f"{more:,} more"] if more > 0 else shown)


def _is_like(value: str, other: str) -> bool:
    """Whether two texts are likely meant to be one: alike but for case, blanks, or a typo."""
    one, two = lookalike(value), lookalike(other)
    return one == two or (
        not is_value(value) and SequenceMatcher(None, one, two).ratio() >= _NEAR
    )  # fmt: skip

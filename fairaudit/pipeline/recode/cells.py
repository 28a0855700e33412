"""From raw cells to the cube of an audit: cells that stay or leave, and the ledger of all rows.

A cell is a combination of levels with its counts. The cube is the table of all cells that stay. The
ledger has a line for each reason why rows leave the audit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import SequenceMatcher

import numpy as np
from numpy.typing import NDArray

from fairaudit.base import names
from fairaudit.base.arrays import raise_small
from fairaudit.base.disclosure_marks import Notice, Subjects
from fairaudit.base.errors import NothingToAudit
from fairaudit.base.frozen import Frozen, replace
from fairaudit.base.ledger import Ledger, LedgerLine
from fairaudit.base.names import describe_group, is_value, listing, lookalike, quoted
from fairaudit.counting.counts import Counts
from fairaudit.counting.plan import MASKED
from fairaudit.counting.sources.column_checks import parse_filter
from fairaudit.cube import (
    NO_COUNTERPART,
    NO_LEVEL,
    UNKNOWN,
    Cube,
    ExcludeBelow,
    Group,
    Grouping,
    Ints,
    Marks,
    Role,
    Rows,
    Sum,
    add_up,
    distinct_rows,
    mark_weightless,
    name_groups,
)
from fairaudit.judge.left_out import LeftOutReason
from fairaudit.metrics import Eligibility
from fairaudit.pipeline.recode.columns import DROP, Axis, amounts, audited_rows, cluster_codes
from fairaudit.pipeline.recode.outcomes import Alike
from fairaudit.spec import MissingPolicy, Outcome, Spec

OTHERS_DROPPED = "neither positive nor negative (others: drop)"

_MOST_NAMED = 5
_NEAR = 0.9
"""The similarity of two texts if one letter of ten differs."""

_NO_PEOPLE = "its rows count no people (`count` is 0 in all of them)"


class LostGroup(Frozen):
    """A group whose rows all leave the audit, in all strata or in the named stratum.

    An empty group means that a stratum has no people left. `share` is the share of the group in all
    people of known group.
    """

    group: Group
    stratum: Group
    people: int
    share: float
    why: str

    def standing(self, least: int | None, rule: ExcludeBelow | None) -> Eligibility | None:
        """The rule by which the spec would exclude the group in any case; None if no rule does."""
        if rule is not None and self.share < rule.share:
            return Eligibility.EXCLUDED
        return Eligibility.SMALL if least is not None and self.people < least else None


class Cells:
    """The raw cells with audited `codes` [C, K], and marks [C] of the cells that stay or leave.

    `seen` marks the cells that the filter does not remove, and `stays` marks the cells in the cube.
    `why` [C] is the place of the reason to leave in `reasons` (pairs of column and rule), or -1.
    `others` marks the cells that leave only by `others: drop`. `missing` marks the cells that leave
    by a missing value. `roles` maps each role whose missing values drop rows to its key in
    `missing:` of the spec. `is_fitted` is set if bins or strata are fitted to the rows that stay.
    Numbers of people in lost groups are raised if they are below `threshold` (`suppress_below`).
    """

    def __init__(self, counts: Counts, axes: Sequence[Axis], spec: Spec) -> None:
        self.counts, self.axes = counts, axes
        self.threshold = spec.suppress_below or 0
        self.added = amounts(counts, spec)
        self.clusters = cluster_codes(counts)
        kept, self.seen = counts.kept == 1, counts.kept != 0
        self.stays, self.missing = kept, np.zeros(len(kept), np.bool_)
        self._leaves, reasons = np.full(len(kept), -1), list[tuple[str, str]]()
        for axis in axes:
            as_missing = f"missing ({axis.written_rule}: {axis.policy.value})"
            for marks, reason in (
                (axis.leaves_as_missing, as_missing),
                (axis.leaves_by_value, OTHERS_DROPPED),
            ):
                gone = self.stays & marks
                if gone.any():
                    self._leaves[gone] = len(reasons)
                    self.missing = self.missing | (gone & (reason == as_missing))
                    reasons.append((axis.column, reason))
                    self.stays = self.stays & ~gone
        # Numbers have no levels, so their axes are not in the cube. Groups and strata always are.
        groupings = {Role.PROTECTED, Role.STRATUM}
        self._axes = [axis for axis in axes if axis.key.levels or axis.key.role in groupings]
        self.keys = tuple(axis.key for axis in self._axes)
        codes = np.stack([axis.codes for axis in self._axes], axis=1)
        self.codes = np.where(codes == DROP, NO_LEVEL, codes).astype(np.int32)
        self.why = np.select(
            [counts.kept == -1, counts.kept == MASKED],
            [len(reasons), len(reasons) + 1],
            self._leaves,
        )
        self.reasons = (*reasons, ("the filter", "cannot decide"), ("its counts", "are masked"))
        by_value = np.any([axis.leaves_by_value for axis in axes], axis=0)
        self.others = kept & by_value & ~np.any([axis.leaves_as_missing for axis in axes], axis=0)
        self.roles = {
            axis.rule: axis.written_rule for axis in axes if (kept & axis.leaves_as_missing).any()
        }
        self.is_fitted = bool(counts.plan.cuts or counts.plan.models)
        self.ledger = self._write_ledger()

    def cube(self) -> Cube:
        """The cube of the cells that stay; raises `NothingToAudit` if they have no people."""
        ledger = self.ledger
        if not self.stays.any() or not self.counts.people[self.stays].sum():
            dropped = sum(line.rows for line in ledger.dropped)
            raise NothingToAudit(
                f"no rows are left to audit: {ledger.read:,} rows were read, the filter removed "
                f"{ledger.filtered:,}, and {dropped:,} were dropped",
                "check the filter and `missing:` in the spec",
                uncounted="no rows are left to audit",
            )
        return self._gather(self.stays, self.codes, self.masked)

    @property
    def are_left_out(self) -> bool:
        """Whether people or rows that the filter does not remove are missing in the cube."""
        counts = self.counts
        nobody = (counts.kept == 1) & (counts.people == 0) & (counts.rows > 0)
        is_left_out = self.ledger.dropped or self.ledger.undecided or nobody.any()
        return bool(is_left_out or (counts.kept == MASKED).any())

    def joined(self) -> Alike | None:
        """Levels with similar spelling, and the cube that joins them; None without such levels."""
        levels = {axis.key.name: axis.alike for axis in self.axes if axis.joined is not None}
        if not levels:
            return None
        codes = np.stack(
            [axis.codes if axis.joined is None else axis.joined for axis in self._axes],
            axis=1,
        )
        stays = self.stays & (codes != DROP).all(axis=1)
        return Alike(levels, self._gather(stays, codes, self.masked))

    def people_one_by_one(self) -> Rows | None:
        """The single audited people, each with its cell; None if no metric needs single people."""
        if self.counts.rows_read is None:
            return None
        places = np.full(len(self.stays), -1, dtype=np.int64)
        places[self.stays] = distinct_rows(self.codes[self.stays])[1]
        return audited_rows(self.counts, self.counts.rows_read, places)

    def _gather(
        self,
        stays: Marks,
        codes: Ints | NDArray[np.int32],
        possible: Marks | None = None,
        people: Ints | None = None,
    ) -> Cube:
        """The cube of the cells in `stays`; cells in `possible` may belong to the cube or not."""
        counts = self.counts
        people = counts.people if people is None else people

        def staying(total: Sum) -> Sum:
            return Sum(total.values[stays], total.scale)

        cube = Cube.gather(
            self.keys,
            codes[stays].astype(np.int32),
            counts.rows[stays],
            people[stays],
            self.ledger,
            None if counts.weights is None else staying(counts.weights.total),
            None if counts.weights is None else staying(counts.weights.squares),
            {
                name: amount.transform(lambda n: n[stays], staying)
                for name, amount in self.added.items()
            },
            None if self.clusters is None else self.clusters[0][stays],
            None if self.clusters is None else self.clusters[1],
            bool((self.masked | ((counts.rows == 0) & self.stays & (counts.people > 0))).any()),
        )
        if possible is None or not possible.any():
            return cube
        return replace(cube, possible=self._gather(possible, codes))

    def gone(self, by: Grouping, given: Grouping) -> Iterator[LostGroup]:
        """The groups that are in the data but not in the cube, first overall and then in strata.

        An intersection without people is not gone if each of its levels has people, because tables
        of all combinations contain such zeros.
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
                # A group is not gone from a stratum that never had people of this group.
                if group.people and group.group not in names:
                    yield group

    def _gone(self, by: Grouping, given: Grouping) -> Iterator[LostGroup]:
        columns = [self._place(name) for name in (*by, *given)]
        within = self.seen.copy()
        for name in (*by, *given):
            within &= ~self.is_unknown(name)
        cells, index = distinct_rows(self.codes[within][:, columns])
        people = self.counts.people[within]
        seen = add_up(people, index, len(cells))
        is_gone = add_up(np.where(self.stays[within], people, 0), index, len(cells)) == 0
        # The reasons why the cells with people leave, by the number of the group.
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
        """Marks the cells with people whose rows the filter cannot decide."""
        undecided = self.why == len(self.reasons) - 2
        return np.asarray(self.seen & undecided & (self.counts.people > 0))

    @property
    def masked(self) -> Marks:
        """Marks the cells of people who may exist, because a text hides their number."""
        masked = self.why == len(self.reasons) - 1
        return np.asarray(self.seen & masked & (self.counts.people > 0))

    def uncounted(
        self, strata: Grouping, score: str | None
    ) -> Iterator[tuple[LeftOutReason, Cube]]:
        """Yields each reason to leave, with a cube of the people who leave for this reason.

        An unknown stratum is a separate reason. If `score` is the column of a score whose
        distribution is measured, people with a score do not leave, because histograms count them,
        unless the label drops their rows.
        """
        gone = self.seen & ~self.stays & ~self.masked & (self.counts.people > 0)
        for axis in self.axes if score is not None else ():
            if axis.column == score and axis.rule == "score":
                no_label = [one.codes == DROP for one in self.axes if one.key.role is Role.LABEL]
                gone &= np.any([self.undecided, axis.missing, *no_label], axis=0)
        lack = [self.is_unknown(key.name) for key in self.keys if key.name in strata]
        lacking = np.any([np.zeros_like(gone), *lack], axis=0) & ~self.undecided
        for number in sorted(set(self.why[gone].tolist())):
            mine, is_undecided = gone & (self.why == number), number == len(self.reasons) - 2
            reason = LeftOutReason.UNDECIDED if is_undecided else LeftOutReason.DROPPED
            parts = (reason, mine & ~lacking), (LeftOutReason.UNKNOWN_STRATUM, mine & lacking)
            yield from ((why, self._gather(one, self.codes)) for why, one in parts if one.any())

    def by_level(self, name: str, marks: Marks) -> dict[str, int]:
        """The rows in the marked cells, counted by level of a column, most frequent first."""
        rows = self.counts.file_rows
        key, codes = self.keys[self._place(name)], self.codes[marks, self._place(name)]
        return _sort_levels((*key.levels, UNKNOWN), key.slots(codes), rows[marks])

    def _place(self, name: str) -> int:
        return [key.name for key in self.keys].index(name)

    def with_optional(
        self,
        optional: Marks,
        by: Grouping,
        strata: Grouping,
        needed: Collection[str],
        *,
        jointly: bool,
    ) -> Cube:
        """The cube with `optional` people, who may belong to it or not.

        All other people have a group of `by` and all `needed` outcomes. With `jointly`, people who
        lack a group or an outcome also count, and people of masked counts are optional. If a person
        has several rows, an undecided row may be the row that counts, instead of a row in another
        cell. So each cell has as many optional people as there are such undecided rows.
        """
        used = [key for key in self.keys if key.name in needed]
        if jointly:
            names = (*by, *(key.name for key in used))
            lacking = np.any([self.is_unknown(name) for name in names], axis=0)
            stays, optional = self.stays | (self.missing & lacking), optional | self.masked
        else:
            classed = [key.name for key in used if key.positive]
            known = [~self.is_unknown(name) for name in (*by, *classed)]
            stays = np.all([self.stays, *known], axis=0)
        replacing = self.count_replacing(optional)
        if not replacing:
            return self._gather(stays, self.codes, optional)
        # Raw cells that are one cell in the table of the check share the replaced people.
        columns = [self._place(name) for name in (*by, *strata, *(key.name for key in used))]
        index = distinct_rows(self.codes[:, columns])[1]
        people, replaced = self.counts.people, np.zeros_like(self.counts.people)
        cells = np.flatnonzero(stays)
        cells = cells[np.argsort(index[cells], kind="stable")]
        before = np.cumsum(people[cells]) - people[cells]
        before = before - before[np.searchsorted(index[cells], index[cells])]
        replaced[cells] = np.clip(replacing - before, 0, people[cells])
        certain = self._gather(stays, self.codes, people=people - replaced)
        possible = np.where(optional, people, replaced)
        return replace(certain, possible=self._gather(possible > 0, self.codes, people=possible))

    def count_replacing(self, optional: Marks) -> int:
        """The number of undecided `optional` rows that can replace rows that count."""
        repeats = self.counts.plan.repeats
        if repeats is None or (repeats.keep == "error" and not repeats.latest):
            return 0
        return int(self.counts.people[optional & self.undecided].sum())

    def lack_one(self, names: Collection[str], among: Marks) -> bool:
        """Whether one of the cells `among` has an unknown level in one of the columns."""
        known = {key.name for key in self.keys}.intersection(names)
        return any((among & self.is_unknown(name)).any() for name in known)

    def is_unknown(self, name: str) -> Marks:
        """Marks the cells in which a column is unknown, or shown as unknown."""
        place = self._place(name)
        codes = self.codes[:, place]
        return np.asarray((codes == NO_LEVEL) | np.isin(codes, list(self.keys[place].unknown)))

    def _write_ledger(self) -> Ledger:
        """The ledger of all rows. A published ledger does not show which rows have weight 0."""
        counts, aside = self.counts, []
        dropped = [self._line(self._leaves == n, *r) for n, r in enumerate(self.reasons[:-2])]
        # Sites removed these people before they sent their counts.
        reason = "hidden where they were counted: cells of fewer than"
        hidden = (
            LedgerLine(cells.rows, cells.people, "all columns", f"{reason} {cells.below:,} people")
            for cells in counts.hidden
        )
        repeats, again = counts.plan.repeats, list[LedgerLine]()
        if repeats is not None and counts.repeated:
            by = ", then ".join(map(names.name, repeats.latest))
            which = f"row latest by {by}" if by else f"{repeats.keep} row"
            reason = f"repeats of a person, of whom the {which} counts"
            again.append(LedgerLine(counts.repeated, counts.repeated, repeats.id, reason))
        for axis in self.axes:
            unknown = self.stays & axis.missing
            if not unknown.any():
                continue
            match axis.policy:
                case MissingPolicy.SHOW if NO_COUNTERPART in axis.key.levels:
                    becomes = f"no counterpart: shown as {NO_COUNTERPART}, never compared"
                case MissingPolicy.SHOW:
                    becomes = f"not known: shown as {UNKNOWN}, never compared"
                case MissingPolicy.GROUP:
                    becomes = f"not known: a separate group, {UNKNOWN}"
                case _ if axis.key.role in {Role.PROTECTED, Role.STRATUM}:
                    becomes = "not known: left out wherever this column is used"
                case _:
                    becomes = "not known: counted wherever this column is not needed"
            aside.append(self._line(unknown, axis.column, becomes))
        if counts.weights is not None and not self.threshold:
            people, total = np.where(self.stays, counts.people, 0), counts.weights.total
            weight = Sum(np.where(self.stays, total.values, 0), total.scale)
            weightless = mark_weightless(people, weight) & (people > 0)
            if weightless.any():
                reason = "weight 0, or almost 0 next to others: counted as people, and not in rates"
                for key in (key for key in self.keys if key.role is Role.PROTECTED):
                    reason += f"; by {key.name}: {_listed(self.by_level(key.name, weightless))}"
                aside.append(self._line(weightless, str(counts.plan.weight), reason))
        return Ledger(
            read=counts.read // counts.plan.counts_per_row,
            counted=int(counts.file_rows[self.stays].sum()),
            people=int(counts.people[self.stays].sum()),
            filtered=int(counts.file_rows[counts.kept == 0].sum()),
            undecided=int(counts.file_rows[counts.kept == -1].sum()),
            dropped=(*dropped, *hidden, *again),
            set_aside=tuple(dict.fromkeys(aside)),  # a column may be a prediction and a score
        )

    def _line(self, marks: Marks, column: str, reason: str) -> LedgerLine:
        rows, people = self.counts.file_rows[marks], self.counts.people[marks]
        return LedgerLine(int(rows.sum()), int(people.sum()), column, reason)


def notice_undecided(left_out: Cells | None, spec: Spec) -> Iterator[Notice]:
    """A notice on the rows that the filter cannot decide, by group."""
    if left_out is not None and left_out.undecided.any():
        rows = int(left_out.counts.file_rows[left_out.undecided].sum())
        what = f"{rows:,} {'row lacks' if rows == 1 else 'rows lack'} a value that the filter needs"
        rule = parse_filter(left_out.counts.plan)
        texts = [text for texts in rule.texts.values() for text in texts] if rule else []
        if texts:
            # A text with similar spelling may mean the same as the text of the filter.
            what += f", or {'has' if rows == 1 else 'have'} a value that looks like "
            what += f"{' or '.join(map(quoted, texts[:_MOST_NAMED]))} and is written differently"
        sentence = _by_group(what, left_out.undecided, left_out, spec)
        yield Notice(f"{sentence}; not counted", Subjects.NEVER)


def notice_left_out(left_out: Cells | None, spec: Spec) -> Iterator[Notice]:
    """Notices on values that are left out, by group, and on groups that are not in the audit."""
    if left_out is None:
        return
    for outcome in spec.outcomes:
        if outcome.others == "drop" and outcome.binary and outcome.threshold is None:
            yield from _dropped_values(outcome, left_out, spec)
    for number, (column, reason) in enumerate(left_out.reasons):
        gone = left_out.missing & (left_out.why == number)
        if gone.any():
            rows = int(left_out.counts.file_rows[gone].sum())
            leave = "1 row leaves" if rows == 1 else f"{rows:,} rows leave"
            what = f"{leave} the audit, since {quoted(column)} is {reason}"
            yield Notice(_by_group(what, gone, left_out, spec), Subjects.NEVER)
    for attribute in spec.protected:
        for lost in left_out.gone((attribute.name,), ()):
            what = f"{describe_group(lost.group)} is in the data and not in the audit: {lost.why}"
            # If no check is open, the notice would reveal that the group is small.
            few = lost.standing(spec.minimum.size, spec.exclude_below)
            yield Notice(what, Subjects.NEVER if few else Subjects.NOBODY)


def _dropped_values(outcome: Outcome, left_out: Cells, spec: Spec) -> Iterator[Notice]:
    """Notices on the values of an outcome that `others: drop` leaves out, by group."""
    reason = (outcome.column.value, OTHERS_DROPPED)
    if reason not in left_out.reasons:
        return
    gone = left_out.why == left_out.reasons.index(reason)
    raw = left_out.counts.text_key(outcome.column.value)
    texts = [level or "" for level in raw.levels]
    values = _sort_levels(texts, raw.codes[gone], left_out.counts.file_rows[gone])
    listed = _listed({quoted(value): n for value, n in values.items()})
    sentence = _by_group(f"rows with {listed}", gone, left_out, spec)
    if len(spec.outcomes) > 1:
        sentence += "; the rates of all other outcomes leave them out, too"
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


def _by_group(what: str, marks: Marks, left_out: Cells, spec: Spec) -> str:
    """The text `what` with the number of marked rows by level of each protected attribute."""
    by = [
        f"by {attribute.name}: {_listed(left_out.by_level(attribute.name, marks))}"
        for attribute in spec.protected
    ]
    return "; ".join([what, *by])


def _sort_levels(levels: Sequence[str], codes: Ints, rows: Ints) -> dict[str, int]:
    """The number of rows of each level that occurs, the most frequent level first."""
    total = add_up(rows, codes, len(levels))
    order = np.argsort(-total, kind="stable").tolist()
    return {levels[code]: int(total[code]) for code in order if total[code]}


def _listed(counts: Mapping[str, int]) -> str:
    shown = [f"{name} ({n:,})" for name, n in [*counts.items()][:_MOST_NAMED]]
    more = len(counts) - _MOST_NAMED
    return ", ".join([*shown, f"{more:,} more"] if more > 0 else shown)

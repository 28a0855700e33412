"""Verification: the rules that a table must keep. Add a rule here.

A number is taken for what may have been rounded to it, and a ratio for one of the counts or of the
printed rates: what is found cannot be true, whatever else is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import islice
from math import prod
from typing import TypeAlias

from fairaudit.base import names
from fairaudit.cube import Group, Grouping
from fairaudit.result import TableFault
from fairaudit.tools.verify.tables import TableRow

Ends: TypeAlias = tuple[Fraction, Fraction]


def _list_counts(row: TableRow) -> dict[str, tuple[int, int]]:
    """The least and the most people, selected and not selected, of those that are known."""
    n, selected = row.n, row.selected_ends
    counts = {} if n is None else {"people": (n, n)}
    if selected is not None:
        counts["selected"] = selected
        if n is not None:
            counts["not selected"] = (n - selected[1], n - selected[0])
    return counts


def find_faults(
    rows: Sequence[TableRow], excluded_below: Fraction | None = None
) -> tuple[TableFault, ...]:
    """Everything that cannot be true of the rows of one or several tables, in their order."""
    faults = [
        *_check_rows(rows),
        *_check_ratios(rows),
        *_check_repeated(rows),
        *_check_margins(rows),
        *_check_totals(rows),
    ]
    if excluded_below is not None:
        faults += _check_excluded(rows, excluded_below)
    places = {row.place: number for number, row in enumerate(rows)}
    return tuple(sorted(faults, key=lambda fault: places[fault.place]))


def is_any_held(rows: Sequence[TableRow], excluded_below: Fraction | None = None) -> bool:
    """Whether any number stands beside others that could contradict it."""
    counted = [row for row in rows if row.n is not None or row.selected is not None]
    return (
        len({row.by for row in counted}) > 1
        or any(row.rate and row.n is not None for row in rows)
        or (excluded_below is not None and any(row.n and row.ratio is None for row in rows))
        or any(
            _explain_no_ratio(row, group) or _list_ratios(row, group, rows)
            for group in _list_compared(rows)
            for row in group
        )
    )


def _fault(rule: str, row: TableRow, message: str) -> TableFault:
    return TableFault(rule, row.place, row.group, message)


def _check_rows(rows: Sequence[TableRow]) -> Iterator[TableFault]:
    """Of each row: no more are selected than there are, and the rate is that of the counts."""
    for row in rows:
        ends = row.selected_ends
        if row.n is None or ends is None:
            continue
        if row.selected is not None and row.selected > row.n:
            yield _fault(
                "selected", row, f"{row.selected:,} of {row.n:,} people cannot be selected"
            )
        elif row.rate is None:
            continue
        elif not row.n:
            yield _fault("rate", row, f"a rate of {row.rate.text} of nobody: 0/0 is none")
        elif ends[0] > ends[1]:
            what = f"and no number of {row.n:,} people gives it"
            yield _fault("rate", row, f"the rate is printed as {row.rate.text}, {what}")
        elif row.share is not None and not row.rate.holds(row.share, row.share):
            counted = f"{row.selected:,}/{row.n:,} = {100 * float(row.share):.2f} %"
            yield _fault("rate", row, f"the rate is printed as {row.rate.text}, and {counted}")


def _check_ratios(rows: Sequence[TableRow]) -> Iterator[TableFault]:
    """Of each grouping: a ratio to the highest rate is at most 1, and follows from two rates."""
    for group in _list_compared(rows):
        for row in group:
            assert row.ratio is not None
            if row.ratio.low > 1:
                what = f"a ratio of {row.ratio.text} to the highest rate: none is above 1"
                yield _fault("ratio above 1", row, what)
                continue
            why = _explain_no_ratio(row, group)
            if why:
                yield _fault("ratio", row, f"a ratio of {row.ratio.text} {why}: 0/0 is none")
                continue
            ratios = _list_ratios(row, group, rows)
            if ratios and not any(row.ratio.holds(*ends) for ends in ratios):
                found = " or ".join(f"{float(low + high) / 2:.3f}" for low, high in ratios)
                what = f"the ratio is printed as {row.ratio.text}, and the rate over the highest is"
                yield _fault("ratio", row, f"{what} {found}")


def _list_compared(rows: Iterable[TableRow]) -> list[list[TableRow]]:
    """The rows with a printed ratio, of each grouping of each table."""
    return _list_groupings(row for row in rows if row.ratio and row.group and not row.is_unknown)


def _explain_no_ratio(row: TableRow, group: Sequence[TableRow]) -> str:
    """Why a row can have no ratio, whatever is printed; empty where it may."""
    if row.n == 0:
        return "of nobody"
    return "to a highest rate of 0" if all(other.selected == 0 for other in group) else ""


def _list_groupings(rows: Iterable[TableRow]) -> list[list[TableRow]]:
    """The rows of each grouping of each table."""
    groupings: dict[tuple[str, Grouping], list[TableRow]] = defaultdict(list)
    for row in rows:
        groupings[row.place.file, row.by].append(row)
    return [*groupings.values()]


def _list_ratios(row: TableRow, group: Sequence[TableRow], rows: Sequence[TableRow]) -> list[Ends]:
    """Between which ends the ratio lies: by the counts, and by the rates as they are printed."""
    ratios = []
    for find_ends in (_find_share, _find_rate):
        own = find_ends(row)
        others = [(other, ends) for other in group if (ends := find_ends(other)) is not None]
        highest = _find_highest(others, is_whole=_is_whole(group, rows))
        if own is not None and highest is not None and highest[0] > 0:
            ratios.append((own[0] / highest[1], own[1] / highest[0]))
    return ratios


def _find_share(row: TableRow) -> Ends | None:
    return None if row.share is None else (row.share, row.share)


def _find_rate(row: TableRow) -> Ends | None:
    return None if row.rate is None else (max(row.rate.low, Fraction(0)), row.rate.high)


def _is_whole(group: Sequence[TableRow], rows: Sequence[TableRow]) -> bool:
    """Whether the highest rate is listed: a ratio of 1 is, or every group is."""
    if any(row.ratio is not None and row.ratio.high >= 1 for row in group):
        return True
    first = group[0]
    listed = [row for row in rows if row.place.file == first.place.file and not row.is_unknown]
    levels = [{dict(row.group).get(name) for row in listed} - {None} for name in first.by]
    return 1 < prod(map(len, levels)) <= sum(row.by == first.by for row in listed)


def _find_highest(others: Sequence[tuple[TableRow, Ends]], *, is_whole: bool) -> Ends | None:
    """The highest rate; where it is not listed, the one that most ratios agree on."""
    if not others or (len(others) == 1 and not is_whole):
        return None
    low, high = (max(ends[side] for _, ends in others) for side in (0, 1))
    if is_whole:
        return low, high
    implied = [
        (ends[0] / row.ratio.high, ends[1] / row.ratio.low)
        for row, ends in others
        if row.ratio is not None and row.ratio.low > 0
    ]
    candidates = [low, *(least for least, _ in implied if least > low)]
    best = max(candidates, key=lambda rate: sum(least <= rate <= most for least, most in implied))
    return best, best


def _check_repeated(rows: Sequence[TableRow]) -> Iterator[TableFault]:
    """A group stands once in a table, and has the same counts in each."""
    first: dict[Group, TableRow] = {}
    for row in rows:
        other = first.setdefault(tuple(sorted(row.group)), row)
        if other is row:
            continue
        if other.place.file == row.place.file:
            yield _fault("repeated", row, f"the group stands in line {other.place.line}, too")
        elif _differ(row, other):
            what = f"{_counts(row)} here, and {_counts(other)} in {other.place.file}"
            yield _fault("repeated", row, f"the same group has {what}")


def _differ(row: TableRow, other: TableRow) -> bool:
    """Whether one group has other numbers in two tables, where both print them."""
    counts = ((row.n, other.n), (row.selected, other.selected))
    if any(one is not None and two is not None and one != two for one, two in counts):
        return True
    return bool(row.rate and other.rate and not row.rate.holds(other.rate.low, other.rate.high))


def _counts(row: TableRow) -> str:
    """What a row prints: `5 of 10`, `50% of 10`, `10 people` or `50%`."""
    what = str(row.selected) if row.selected is not None else row.rate.text if row.rate else ""
    if row.n is None:
        return what
    return f"{what} of {row.n}" if what else f"{row.n} people"


def _check_margins(rows: Sequence[TableRow]) -> Iterator[TableFault]:
    """The parts of a group are no more than the group: people, selected and not selected."""
    finer: dict[Grouping, list[TableRow]] = defaultdict(list)
    for row in rows:
        finer[tuple(sorted(row.by))].append(row)
    for margin in rows:
        faults = (
            fault
            for by, parts in finer.items()
            if {*by} > {*margin.by}
            for fault in _exceed(margin, [row for row in parts if {*row.group} >= {*margin.group}])
        )
        yield from islice(faults, 1)


def _exceed(margin: TableRow, parts: Sequence[TableRow]) -> Iterator[TableFault]:
    """What the parts of a group have more of than the group itself."""
    once = {tuple(sorted(row.group)): row for row in parts}.values()
    counts = [_list_counts(row) for row in once]
    for what, (least, most) in _list_counts(margin).items():
        ends = [count[what] for count in counts if what in count]
        total = sum(low for low, _ in ends)
        if total > most:
            by = " × ".join(map(names.name, next(iter(once)).by))
            whole = f"{most:,}" if least == most else f"at most {most:,}"
            is_exact = all(low == high for low, high in ends)
            inside = f"{total:,}" if is_exact else f"at least {total:,}"
            yield _fault("margin", margin, f"{whole} {what}, and its groups by {by} have {inside}")
            return


def _check_totals(rows: Sequence[TableRow]) -> Iterator[TableFault]:
    """A grouping that lists the unknown has everybody: its people are those of every other one."""
    totals: list[tuple[TableRow, int, str]] = []
    for group in _list_groupings(rows):
        by = group[0].by
        # A grouping has everybody if it lists who is unknown in each of its columns alone.
        unknown = frozenset[str]().union(*(row.unknown for row in group if len(row.unknown) == 1))
        if all(row.n is not None for row in group) and unknown == {*by}:
            words = f"by {' × '.join(map(names.name, by))}" if by else "in all"
            totals.append((group[-1], sum(row.n or 0 for row in group), words))
    for row, total, words in totals[1:]:
        _, first, first_words = totals[0]
        if total != first:
            what = f"{total:,} people {words}, unknown ones included, and {first:,} {first_words}"
            yield _fault("total", row, what)


def _check_excluded(rows: Sequence[TableRow], below: Fraction) -> Iterator[TableFault]:
    """A group without a ratio is less than so great a share of the people."""
    for group in _list_groupings(row for row in rows if row.group and not row.is_unknown):
        total = sum(row.n or 0 for row in group)
        for row in group:
            if row.ratio is None and row.n and Fraction(row.n, total) >= below:
                share = f"{row.n:,} of {total:,} people, {100 * row.n / total:.2f} %"
                what = f"no ratio is printed ({row.mark or 'empty'}), and it has {share}"
                yield _fault("excluded", row, f"{what}: not below {100 * float(below):g} %")

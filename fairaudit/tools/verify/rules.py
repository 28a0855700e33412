"""Verification: the rules that a table must keep. Add a rule here.

A number is taken for what may have been rounded to it, and a ratio for one of the counts or of the
printed rates: what is found cannot be true, whatever else is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import islice

from fairaudit.base import names
from fairaudit.cube import Group, Grouping
from fairaudit.result import TableFault
from fairaudit.tools.verify.tables import TableRow

_COUNTS: dict[str, Callable[[TableRow], int | None]] = {
    "people": lambda row: row.n,
    "selected": lambda row: row.selected,
    "not selected": lambda row: (
        None if row.n is None or row.selected is None else row.n - row.selected
    ),
}


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
        or any(row.rate and row.n is not None and row.selected is not None for row in rows)
        or (excluded_below is not None and any(row.n and row.ratio is None for row in rows))
        or any(
            _explain_no_ratio(row, group) or _list_ratios(row, group)
            for group in _list_compared(rows)
            for row in group
        )
    )


def _fault(rule: str, row: TableRow, message: str) -> TableFault:
    return TableFault(rule, row.place, row.group, message)


def _check_rows(rows: Sequence[TableRow]) -> Iterator[TableFault]:
    """Of each row: no more are selected than there are, and the rate is that of the counts."""
    for row in rows:
        if row.n is None or row.selected is None:
            continue
        if row.selected > row.n:
            yield _fault(
                "selected", row, f"{row.selected:,} of {row.n:,} people cannot be selected"
            )
        elif row.rate is not None and row.share is None:
            yield _fault("rate", row, f"a rate of {row.rate.text} of nobody: 0/0 is none")
        elif row.rate and row.share is not None and not row.rate.holds(row.share, row.share):
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
            ratios = _list_ratios(row, group)
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


def _list_ratios(row: TableRow, group: Sequence[TableRow]) -> list[tuple[Fraction, Fraction]]:
    """Between which ends the ratio lies: by the counts, and by the rates as they are printed."""
    ratios = []
    highest = max((other.share for other in group if other.share is not None), default=None)
    if row.share is not None and highest:
        ratios.append((row.share / highest, row.share / highest))
    rates = [other.rate for other in group if other.rate is not None]
    top = max(rates, key=lambda rate: rate.low, default=None)
    if row.rate is not None and top is not None and top.low > 0:
        ratios.append((max(row.rate.low, Fraction(0)) / top.high, row.rate.high / top.low))
    return ratios


def _check_repeated(rows: Sequence[TableRow]) -> Iterator[TableFault]:
    """A group stands once in a table, and has the same counts in each."""
    first: dict[Group, TableRow] = {}
    for row in rows:
        other = first.setdefault(tuple(sorted(row.group)), row)
        if other is row:
            continue
        if other.place.file == row.place.file:
            yield _fault("repeated", row, f"the group stands in line {other.place.line}, too")
        elif (other.n, other.selected) != (row.n, row.selected):
            what = f"{_counts(row)} here, and {_counts(other)} in {other.place.file}"
            yield _fault("repeated", row, f"the same group has {what}")


def _counts(row: TableRow) -> str:
    return f"{row.selected} of {row.n}"


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
    for what, count in _COUNTS.items():
        whole = count(margin)
        total = sum(count(row) or 0 for row in once)
        if whole is not None and total > whole:
            by = " × ".join(map(names.name, next(iter(once)).by))
            yield _fault(
                "margin", margin, f"{whole:,} {what}, and its groups by {by} have {total:,}"
            )
            return


def _check_totals(rows: Sequence[TableRow]) -> Iterator[TableFault]:
    """A grouping that lists the unknown has everybody: its people are those of every other one."""
    totals: list[tuple[TableRow, int, str]] = []
    for group in _list_groupings(rows):
        by = group[0].by
        if all(row.n is not None for row in group) and (
            not by or any(row.is_unknown for row in group)
        ):
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

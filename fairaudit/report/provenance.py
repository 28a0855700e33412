"""Where a result comes from, where every row went, and who is in the data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from fairaudit import names
from fairaudit.ledger import LedgerLine, PublishedLine
from fairaudit.metrics import Eligibility, describe_rule
from fairaudit.report import (
    numbers,
    pictures,
)
from fairaudit.report.blocks import (
    Block,
    Cell,
    Facts,
    Figure,
    Heading,
    Table,
)
from fairaudit.report.pictures import Bars, Interval, Mark
from fairaudit.result import (
    AuditResult,
    DataFile,
    GroupRow,
    Provenance,
)


def provenance(result: AuditResult) -> Iterator[Block]:
    """The section on provenance: the tool, the spec, the data, and how groups were counted."""
    made = result.provenance
    yield Heading("Provenance")
    pairs = [
        ("tool", f"fairaudit {made.version}"),
        ("spec", f"{_path(made.spec_path)} (sha256 {made.spec_sha256[:12]})"),
    ]
    pairs += [("data", _file(one)) for one in made.files[:5]]
    if len(made.files) > 5:  # the first five are named
        pairs.append(("", f"and {len(made.files) - 5} files more"))
    pairs.append(("read by", made.route))
    optional = {
        "filter": made.filter and names.line(made.filter),
        "people per row": made.count and f"the column {names.name(made.count)}",
        "survey weight": made.weight
        and f"the column {names.name(made.weight)}; the sampling design is not "
        f"modelled, intervals use the effective sample size; largest rounding of a weight "
        f"{made.weight_error:.1g}",
        "clusters": made.cluster
        and f"{numbers.whole(made.clusters or 0)}, by the column {names.name(made.cluster)}; "
        "intervals and tests named cluster-robust have the variance between clusters, the others "
        "none",
        "smallest group": "; ".join(_smallest(made)),
        "suppressed": made.suppress_below
        and f"counts of fewer than {made.suppress_below} people, and what would tell them; "
        "zeros are shown of groups that are told",
    }
    pairs += [(name, str(text)) for name, text in optional.items() if text]
    counts = numbers.SUPPRESSED if made.cube_sha256 is None else f"sha256 {made.cube_sha256[:12]}"
    pairs += [("counts", counts), ("made", made.created)]
    yield Facts(pairs)


def _smallest(made: Provenance) -> Iterator[str]:
    """What a group must reach to be compared."""
    if made.minimum.size:
        yield f"{made.minimum.size} people in the denominator"
    if made.minimum.events:
        yield f"{made.minimum.events} people of every outcome expected at everybody's rate"
    if made.exclude_below is not None:
        yield f"excluded {names.line(describe_rule(made.exclude_below))}"


def _file(one: DataFile) -> str:
    if not one.bytes:
        return _path(one.path)
    lines = "" if one.lines is None else f", {numbers.whole(one.lines)} lines"
    return f"{_path(one.path)} ({numbers.whole(one.bytes)} bytes{lines})"


def _path(text: str) -> str:
    return names.copied(text)


def ledger(result: AuditResult) -> Iterator[Block]:
    """The section on rows: how many were read, left out for what reason, and counted."""
    counts = result.ledger
    yield Heading("Where every row went")
    people = counts.people != counts.counted
    rows = [("read", counts.read, "", ""), ("filtered out", counts.filtered, "", "")]
    rows.append(("filter undecided", counts.undecided, "", "a value it needs is missing"))
    rows = [row for row in rows if row[1] != 0 or row[0] == "read"]
    rows += [("dropped", one.rows, names.name(one.column), one.reason) for one in counts.dropped]
    rows.append(("counted", counts.counted, "", _people(counts.people) if people else ""))
    rows += [
        ("  of these", one.rows, names.name(one.column), _aside(one, people))
        for one in counts.set_aside
    ]
    yield Table(
        "",
        ("", "rows", "column", "why"),
        [[Cell(a), Cell(numbers.whole(b)), Cell(c), Cell(d)] for a, b, c, d in rows],
        (False, True, False, False),
    )
    yield from _people_figures(result)


def _people(people: int | None) -> str:
    return f"{numbers.whole(people)} people"


def _aside(line: LedgerLine | PublishedLine, people: bool) -> str:  # noqa: FBT001  # whether rows are not people
    return f"{line.reason} ({_people(line.people)})" if people else line.reason


def _people_figures(result: AuditResult) -> Iterator[Figure]:
    """The groups of every attribute, and of the full intersection, by their people."""
    first: dict[tuple[str, ...], list[GroupRow]] = {}
    for row in result.groups:
        if row.by and not row.stratum:
            mine = first.setdefault(row.by, [])
            if not mine or mine[0].of == row.of:
                mine.append(row)
    alone = [rows for by, rows in first.items() if len(by) == 1]
    if alone:
        yield _figure("People by attribute", alone)
    whole = max(first, key=len, default=())
    if len(whole) > 1:
        yield _figure(f"People by {numbers.subset(whole)}", [first[whole]])


def _figure(title: str, panels: Sequence[Sequence[GroupRow]]) -> Figure:
    rows = [
        row
        for each in panels
        for row in pictures.first_rows(
            [_row(one, several=len(panels) > 1) for one in _largest_first(each)],
            pictures.rows_per_panel(len(panels)),
        )
    ]
    return Figure(
        title,
        " ".join(_words(each) for each in panels),
        Bars("people", rows),
        note="Per cent of the people whose group is known. Grey: a group that is not known, or too "
        "small to be compared.",
    )


def _largest_first(rows: Sequence[GroupRow]) -> list[GroupRow]:
    return sorted(rows, key=lambda row: (row.standing is Eligibility.UNKNOWN, -(row.n or 0)))


def _row(one: GroupRow, *, several: bool) -> Interval:
    share = "" if one.share is None else f" ({numbers.percent(one.share)})"
    return Interval(
        label=numbers.group(one.group),
        value=math.nan if one.n is None else one.n,
        panel=numbers.subset(one.by) if several else "",
        mark=Mark.GROUP if one.standing is Eligibility.ELIGIBLE else Mark.ASIDE,
        text=f"{numbers.whole(one.n)}{share}",
    )


def _words(rows: Sequence[GroupRow]) -> str:
    """The largest and the smallest group, and of how many no number is told."""
    by = numbers.subset(rows[0].by)
    known = [one for one in rows if one.n is not None and one.standing is not Eligibility.UNKNOWN]
    hidden = sum(one.n is None for one in rows)
    text = f"By {by}: {numbers.whole(len(rows))} groups"
    if known:
        largest, smallest = (f(known, key=lambda one: one.n or 0) for f in (max, min))
        text += (
            f", the largest {numbers.group(largest.group)} with {numbers.whole(largest.n)} people, "
            f"the smallest {numbers.group(smallest.group)} with {numbers.whole(smallest.n)}"
        )
    return text + (f"; {hidden} suppressed." if hidden else ".")

"""The report of `fairaudit compare`: tables of rates before and after, people."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from fairaudit.cube import Group, Grouping
from fairaudit.evidence import UNPAIRED
from fairaudit.metrics.estimate import Estimate
from fairaudit.report import metric_titles, numbers
from fairaudit.report.blocks import (
    Block,
    Cell,
    Column,
    Entries,
    Figure,
    Heading,
    Paragraph,
    Table,
    Tone,
    tabulate,
    text_column,
)
from fairaudit.report.pictures import Interval, Intervals, Mark
from fairaudit.tools.compare.records import (
    Changes,
    Direction,
    PeopleChange,
    RateChange,
    Sampling,
    Scale,
    ShareChange,
)

_FEW_UNTESTED = 6
"""The number of tables without tests that are shown, the largest changes first."""
_MOST_DRAWN = 8
"""The number of groups in a picture."""

_TONES = {Direction.WORSE: Tone.BAD, Direction.BETTER: Tone.GOOD}
_Key: TypeAlias = tuple[str, str, Grouping, Group, str]


def section(changes: Changes, most: int | None) -> Iterator[Block]:
    """A table for each rate and grouping; the tables and rows with what is worse come first."""
    if not changes.rates:
        return
    yield Heading("Rates of groups, worse first")
    tables: dict[_Key, list[RateChange]] = {}
    for row in changes.rates:
        options = metric_titles.options(row.parameters, row.averaged)
        tables.setdefault((row.metric, row.of, row.by, row.stratum, options), []).append(row)
    everybody = [row for row in changes.rates if not row.by]
    if everybody:
        name: Column[RateChange] = text_column(
            "rate",
            lambda row: (
                metric_titles.title(row.metric)
                + metric_titles.options(row.parameters, row.averaged)
                + _of(changes, row.of)
                + numbers.in_stratum(row.stratum, ", ")
            ),
        )
        yield _table("Everybody", name, everybody, changes, None)
    shown_tables, pictures, omitted = list[Table](), list[Figure](), 0
    sizes = {
        key: max(untested)
        for key, rows in tables.items()
        if key[2] and (untested := [row.change.size for row in rows if _is_untested(row)])
    }
    most_untested = sorted(sizes, key=lambda key: -sizes[key])[:_FEW_UNTESTED]
    for (metric, of, by, stratum, options), rows in tables.items():
        if not by:
            continue
        is_sure = any(row.change.significant for row in rows)
        is_large = (metric, of, by, stratum, options) in most_untested
        if most is not None and not (is_sure or is_large):
            omitted += 1
            continue
        title = f"{metric_titles.title(metric).capitalize()}{options}{_of(changes, of)} by "
        title += numbers.subset(by) + numbers.in_stratum(stratum, ", ")
        name = text_column(numbers.subset(by), lambda row: numbers.group(row.group))
        shown_tables.append(_table(title, name, rows, changes, most))
        picture = _picture(rows, metric, _sides(changes))
        if picture is not None:
            pictures.append(Figure(title, picture))
    yield from pictures
    yield from shown_tables
    if omitted:
        text = f"{numbers.counted(omitted, 'more table')} without a significant or a large change"
        yield Paragraph(f"{text}: --verbose or -o changes.json lists them.", Tone.MUTED)
    pairs = (
        "-/+: people counted in the rate by the first model only, and by the second only; "
        if changes.sampling is Sampling.PAIRED
        else ""
    )
    if changes.sampling is not Sampling.INDEPENDENT:
        pairs += f"intervals of rows without a p are {UNPAIRED}; "
    yield Paragraph(
        f"change: in points for shares; {pairs}p: * if it is below {changes.alpha:g} among all "
        "rates, and the last column then shows the direction; without * the change is not "
        "significant, without p it is not tested.",
        Tone.MUTED,
    )


def _is_untested(row: RateChange) -> bool:
    """Whether a change is a number and lacks a test; groups set aside have none."""
    change = row.change
    is_number = change.significance is None and not math.isnan(change.value)
    return row.is_compared and is_number and change.way is not Direction.SAME


def _of(changes: Changes, of: str) -> str:
    """The outcome of a rate, if the comparison as a whole has another outcome."""
    return "" if changes.after.of is not None else f" of the {of}"


def _sides(changes: Changes) -> tuple[str, str]:
    """The titles of both columns: before and after, or the two models."""
    before, after = changes.before.of, changes.after.of
    if before is None or after is None or before == after:
        return "before", "after"
    return before, after


def _more(count: int) -> str:
    return numbers.more_groups(count, "changes.json")


def _table(
    title: str,
    name: Column[RateChange],
    rows: Sequence[RateChange],
    changes: Changes,
    most: int | None,
) -> Table:
    """Rates by name; of two models with the people whom one alone counts."""
    before, after = _sides(changes)
    pairs = Column[RateChange](
        "-/+",
        lambda row: (
            f"{numbers.whole(row.change.cells.first_only)}/"
            f"{numbers.whole(row.change.cells.second_only)}"
            if row.change.cells is not None
            else ""
        ),
    )
    columns = (
        name,
        Column(before, lambda row: _value(row, row.change.before)),
        Column(after, lambda row: _value(row, row.change.after)),
        Column("change", _moved),
        *([pairs] if changes.sampling is Sampling.PAIRED else []),
        Column(changes.inference.percent, _interval),
        Column("p", lambda row: numbers.starred_p(row.change.significance, changes.alpha)),
        text_column("", _note),
    )
    return tabulate(title, columns, rows, tone=_tone, most=most, more=_more)


def _tone(row: RateChange) -> Tone:
    if not row.is_compared:
        return Tone.MUTED
    return _TONES.get(row.change.way, Tone.WARN) if row.change.significant else Tone.PLAIN


def _value(row: RateChange, estimate: Estimate) -> str:
    share = metric_titles.is_share(row.metric) and not estimate.suppressed
    return numbers.percent(estimate.value) if share else numbers.value_of(estimate, 3)


def _moved(row: RateChange) -> str:
    change = row.change
    if math.isnan(change.value):
        return ""
    if change.scale is Scale.RATIO:
        return f"x {numbers.number(change.value, 3)}"
    share = metric_titles.is_share(row.metric)
    return numbers.points(change.value) if share else f"{change.value:+.3f}"


def _interval(row: RateChange) -> str:
    change = row.change
    if change.low is None or change.high is None:
        return ""
    if metric_titles.is_share(row.metric) and change.scale is Scale.DIFFERENCE:
        return numbers.bounds(change.low, change.high, numbers.per_cent)
    return f"[{numbers.number(change.low, 3)}, {numbers.number(change.high, 3)}]"


def _note(row: RateChange) -> str:
    """The direction where it is sure; else what keeps a group from being compared."""
    standings = dict.fromkeys((row.standing_before, row.standing_after))
    if len(standings) > 1 or not row.is_compared:
        return " → ".join(str(standing).replace("_", " ") for standing in standings)
    return str(row.change.way) if row.change.significant else ""


def _picture(rows: Sequence[RateChange], metric: str, sides: tuple[str, str]) -> Intervals | None:
    """Both values of each compared group on one axis, with the change and its interval."""
    known = [
        row
        for row in rows
        if row.is_compared
        and not math.isnan(row.change.value)
        and all(math.isfinite(side.value) for side in (row.change.before, row.change.after))
    ]
    shown = [
        Interval(
            f"{numbers.group(row.group)}, {side}",
            estimate.value,
            estimate.low,
            estimate.high,
            mark=Mark.REFERENCE if estimate is row.change.before else Mark.GROUP,
            text=" ".join(filter(None, (_value(row, estimate), *words))),
        )
        for row in known[:_MOST_DRAWN]
        for side, estimate, words in zip(
            sides, (row.change.before, row.change.after), ((), (_moved(row), _interval(row))),
            strict=True,
        )
    ]  # fmt: skip
    share = metric_titles.is_share(metric)
    return Intervals(metric_titles.title(metric), shown, percent=share) if shown else None


def people(changes: Changes, most: int | None) -> Iterator[Block]:
    """How the shares of the groups moved, a table for each grouping."""
    if not changes.people:
        return
    yield Heading("Who is in the data")
    yield Entries([_entry(change, changes.alpha) for change in changes.people])
    for change in changes.people:
        if most is not None and not (change.new or change.gone or change.significant):
            continue
        ordered = sorted(change.groups, key=lambda row: -abs(row.moved or 0))
        by = numbers.subset(change.by)
        group: Column[ShareChange] = text_column(by, lambda row: numbers.group(row.group))
        caption = f"People by {by}; shares of those whose group is known"
        yield tabulate(caption, (group, *_SHARES), ordered, most=most, more=_more)


def _entry(change: PeopleChange, alpha: float) -> tuple[Cell, str]:
    """Whether people are spread as before, and who is new or gone."""
    test, word, tone = change.significance, "untested", Tone.MUTED
    largest = f"the largest change of a share is {numbers.gap(change.most_moved)}"
    text = f"by {numbers.subset(change.by)}: "
    if test is None:
        text += change.why + (f"; {largest}" if change.most_moved else "")
    else:
        is_sure = change.significant
        word, tone = ("moved", Tone.WARN) if is_sure else ("unsure", Tone.MUTED)
        text += f"{largest}, {'' if is_sure else 'not significant, '}"
        text += f"p {numbers.probability(test.p, alpha)} ({test.test})"
    for names, what in ((change.new, "new"), (change.gone, "gone")):
        if names:
            text += f"; {what}: {', '.join(map(numbers.group, names))}"
    return Cell(word, tone), text


def _written(share: float | None, write: Callable[[float], str] = numbers.percent) -> str:
    return "" if share is None else write(share)


_SHARES: tuple[Column[ShareChange], ...] = (
    Column("before", lambda row: numbers.whole(row.n_before)),
    Column("after", lambda row: numbers.whole(row.n_after)),
    Column("share before", lambda row: _written(row.share_before)),
    Column("share after", lambda row: _written(row.share_after)),
    Column("points", lambda row: _written(row.moved, numbers.points)),
)

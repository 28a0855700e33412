"""The report of `fairaudit compare`: checks, rates before and after, people, reversals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from fairaudit.base import names
from fairaudit.base.names import percent
from fairaudit.cube import Group, Grouping
from fairaudit.evidence.value_intervals import UNPAIRED
from fairaudit.judge import AnyCheck, Check
from fairaudit.metrics import TableMetric
from fairaudit.metrics.estimate import Estimate
from fairaudit.report import checks, finding_facts, metric_titles, numbers
from fairaudit.report.blocks import (
    FEW_ROWS,
    Block,
    Cell,
    Column,
    Document,
    Entries,
    Facts,
    Figure,
    Heading,
    Paragraph,
    Table,
    Tone,
    tabulate,
    text_column,
)
from fairaudit.report.pictures import Interval, Intervals, Mark
from fairaudit.report.reversals import KIND_WORDS
from fairaudit.tools.compare.measuring import find_middle, find_parity
from fairaudit.tools.compare.records import (
    Change,
    Changes,
    CheckChange,
    ComparedResult,
    Direction,
    RateChange,
    Sampling,
    Scale,
    ShareChange,
)

_FEW_REVERSALS = 5
_FEW_GROUPS = 4
_SAMPLING = {
    Sampling.INDEPENDENT: (
        "treated as different people: each change is tested as a difference of "
        "two independent samples"
    ),
    Sampling.SAME_PEOPLE: (
        "the same in both results{}, so changes are not tested: a worse value is "
        f"worse for these people. Intervals are {UNPAIRED}: a report does not record whose outcome "
        "changed. For a paired test of rates, declare both models in one spec (`columns.models`)"
    ),
    Sampling.PAIRED: (
        "the same, counted by both models: a worse check is worse for these people; "
        "a rate is tested with the people whose outcome changes (McNemar)"
    ),
}


def document(changes: Changes, *, all_rows: bool = False) -> Document:
    """The report; tables longer than a dozen rows are cut unless `all_rows`."""
    most = None if all_rows else FEW_ROWS
    notices = [(Cell("only after", Tone.WARN), text) for text in changes.new_notices]
    notices += [(Cell("only before", Tone.MUTED), text) for text in changes.gone_notices]
    blocks = [
        *_verdict(changes),
        *_rates(changes, most),
        *_people(changes, most),
        *_reversals(changes, is_short=not all_rows),
    ]
    if notices:
        blocks += [Heading("Notices"), Entries(notices)]
    if changes.sampling is Sampling.SAME_PEOPLE:
        return tuple(blocks)  # the first lines say that changes are not tested
    corrected = numbers.corrected(changes.inference)
    level = changes.inference.percent
    tests = (
        "Rates of both models are tested by McNemar's test, with Newcombe's paired interval. "
        "Checks, and rates that count different people for the two models, are not tested, and "
        f"their intervals are {UNPAIRED}: a worse value is worse for these people. For a test, "
        "use `against:` in the spec."
        if changes.sampling is Sampling.PAIRED
        else (
            "Shares are tested by z, or by Fisher's test for small expected counts, with "
            "Newcombe's interval; means by Welch; all other numbers by the variances of their "
            "intervals (MOVER). A check compares each group with itself; the worst value is tested "
            "only if the same groups determine it in both results, or if it covers all groups."
        )
    )
    text = (
        f"{tests} {level} intervals are for each change separately; p is {corrected} over all "
        "groups of all checks, over all rates, and over all groupings of people. A change that "
        "is not significant may still exist: with few people, even large changes are not "
        "significant."
    )
    return (*blocks, Heading("How changes are tested"), Paragraph(text, Tone.MUTED))


def _verdict(changes: Changes) -> Iterator[Block]:
    before, after = changes.before, changes.after
    # The names of both results: models or titles, or the data if models and titles are equal.
    called = [
        names.name(compared.of) if compared.of else _named(compared) for compared in (before, after)
    ]
    heading = " → ".join(called)
    if called[0] == called[1]:
        data = [
            names.copied(Path(compared.provenance.files[0].path).name)
            if compared.provenance.files
            else ""
            for compared in (before, after)
        ]
        heading = f"{called[0]}, {data[0]} → {data[1]}" if data[0] != data[1] else called[0]
    yield Heading(f"Comparison: {heading}")
    word = " → ".join(checks.verdict_word(compared.verdict) for compared in (before, after))
    tone = Tone.BAD if changes.worse else Tone.GOOD if changes.better else Tone.PLAIN
    yield Entries([(Cell(word, tone), summary(changes))])
    moved = [change for change in changes.checks if _is_shown_first(change)]
    if moved:
        rows = [_state_check(change, changes.alpha) for change in moved]
        yield Entries(rows, is_titled=True)
    assumed = changes.assumed and f" ({changes.assumed})"
    yield Facts(
        [
            ("before", _origin(before)),
            ("after", _origin(after)),
            ("people", _SAMPLING[changes.sampling].format(assumed)),
        ]
    )
    if changes.conditions:
        yield Entries([(Cell("differs", Tone.WARN), text) for text in changes.conditions])
    rest = [change for change in changes.checks if not _is_shown_first(change)]
    rows = [_state_check(change, changes.alpha) for change in rest]
    for other in changes.otherwise:
        statuses = f"{other.before.status.upper()} → {other.after.status.upper()}"
        text = f"{other.after.check.id}: {statuses}; {other.why} changed"
        rows.append((Cell("defined differently", Tone.MUTED), text))
    for findings, when in ((changes.only_before, "before"), (changes.only_after, "after")):
        rows += [
            (Cell(f"only {when}", Tone.MUTED), f"{finding.check.id}: {finding.status.upper()}")
            for finding in findings
        ]
    if rows:
        yield Heading("The other checks" if moved else "Checks")
        yield Entries(rows)


def summary(changes: Changes) -> str:
    """How many checks and rates got worse or better, in one sentence."""
    worse, better = len(changes.worse), len(changes.better)
    checks = numbers.counted(len(changes.checks), "check")
    text = f"{checks} in both: {worse} worse, {better} better"
    unsure = {
        "not tested": sum(not (row.is_tested or row.is_certain) for row in changes.checks),
        "failing with hidden values": len(changes.hidden),
        "with people who were judged before and are not now": len(changes.unjudged),
        "worse only by new groups": len(changes.worse_by_new),
    }
    text += "".join(f", {number} {what}" for what, number in unsure.items() if number)
    alone = len(changes.only_before) + len(changes.only_after) + len(changes.otherwise)
    text += f"; {alone} not compared" if alone else ""
    counts = changes.rate_counts
    down, up = counts["worse"], counts["better"]
    other = counts["significant"] - down - up
    rates = numbers.counted(len(changes.rates), "rate")
    text += f"; {rates} of groups: "
    if not any(row.change.significance for row in changes.rates):
        return f"{text}none tested"
    text += f"{down} significantly worse and {up} better"
    return text + (f", {other} changed without a better direction" if other else "")


def _named(compared: ComparedResult) -> str:
    """The title of an audit, or else its spec."""
    return names.line(compared.provenance.title) or names.copied(compared.provenance.spec_path)


def _origin(compared: ComparedResult) -> str:
    provenance = compared.provenance
    files = numbers.first_few([names.copied(file.path) for file in provenance.files], 2)
    of = f"{names.name(compared.of)} in " if compared.of else ""
    rows = f"{numbers.whole(provenance.rows)} rows, created {provenance.created}"
    return f"{of}{_named(compared)}: {files}, {rows}"


def _is_shown_first(check: CheckChange) -> bool:
    """Whether a check is better or worse, changed significantly, or judges fewer people."""
    is_moved = check.is_significant or check.is_worse or check.is_better
    return is_moved or bool(check.unjudged or check.new) or check.leaves_out_more


def _word(check: CheckChange) -> Cell:
    """A word for the change of a check, such as worse or better."""
    if check.is_worse or check.is_better:
        return Cell("WORSE", Tone.BAD) if check.is_worse else Cell("BETTER", Tone.GOOD)
    if check.is_significant or (check.is_certain and check.change.way is not Direction.SAME):
        return Cell("CHANGED", Tone.WARN)
    # A new group may determine the value, even if no group has changed.
    ways = {one.way for one in (check.change, *check.tested)}
    if ways == {Direction.SAME} and not check.unjudged:
        return Cell("SAME", Tone.MUTED)
    return Cell("UNSURE" if check.is_tested else "UNTESTED", Tone.MUTED)


def _state_check(check: CheckChange, alpha: float) -> tuple[Cell, str]:
    """The word for a change, and its sentence: statuses, values, and the change with its test."""
    then, now = check.before, check.after
    status = f"{then.status.upper()} → {now.status.upper()}"
    text = f"{checks.title(now)}: {status}"
    change = check.change
    pairs = [checks.worst_pair(finding) for finding in (then, now)]
    values = [numbers.value_of(estimate) for estimate in (change.before, change.after)]
    is_other = all(pairs) and pairs[0] != pairs[1]
    if is_other and not now.spread:
        # A change between different groups belongs to no group, so name both groups.
        text += f", worst {values[0]} by {pairs[0]} before, {values[1]} by {pairs[1]} now"
    else:
        if then.estimate is not None or now.estimate is not None:
            text += f", {' → '.join(values)}"
        words = changed(change, alpha, check.check)
        text += f"; {words}" if words else ""
        if is_other:
            text += f"; decided by {pairs[0]} before, by {pairs[1]} now"
    # The groups to list, each with its earlier value: worst groups, and significant changes.
    told = [
        row
        for row in check.groups
        if not (row.decided and row.decides)
        and (
            row.decided
            or row.decides
            or row.change.significant
            or row.change.is_established_as(Direction.WORSE)
        )
    ]
    told.sort(key=lambda row: not (row.decided or row.decides))
    for row in told[:_FEW_GROUPS]:
        # `sex=F 0.5000 → 0.3790: -0.1210 [...], worse: p = .0001`
        values = [numbers.value_of(one) for one in (row.change.before, row.change.after)]
        text += f"; {names.describe_group(row.group) if row.group else 'all groups'}"
        text += f"{numbers.in_stratum(row.stratum)} {' → '.join(values)}"
        words = changed(row.change, alpha, check.check)
        text += f": {words}" if words else ""
    if (omitted := len(told) - _FEW_GROUPS) > 0:
        text += f"; and {omitted} more changed significantly"
    if check.newly_beyond:
        text += f"; newly over its limit: {finding_facts.breaches(check.newly_beyond)}"
    if check.behind:
        behind = [*map(names.describe_group, check.behind)]
        text += f"; newly or farther over its limit: {numbers.first_few(behind, _FEW_GROUPS, '; ')}"
        if isinstance(check.check, Check) and isinstance(check.check.metric, TableMetric):
            text += " (tested only if both results list a rate of the group)"
    fresh = "worse by a group that was not judged before", check.new
    for what, groups in (("no longer judged", check.unjudged), fresh):
        listed = numbers.first_few([*map(names.describe_group, groups)], _FEW_GROUPS, "; ")
        text += f"; {what}: {listed}" if groups else ""
    if check.leaves_out_more:
        shares = (percent(float(share)) for share in check.shares_left_out)
        text += f"; people left out: {' → '.join(shares)}"
    if check.recast:
        text += "; its columns, people or tests are defined differently"
    return _word(check), f"{text} ({now.check.id})"


def changed(change: Change, alpha: float, check: AnyCheck) -> str:
    """A change of a check as a part of a sentence: its size, its interval and its test."""
    if math.isnan(change.value):
        return change.why
    turned = ""
    if change.turned and isinstance(check, Check):
        # How the report measures a change to the other side of parity, and why.
        place = "the middle of its limit" if find_parity(check) is None else "parity"
        middle = find_middle(check)
        why = f"it crossed {middle:g}" if middle else "its sign changed"
        turned = f" in its distance from {place}, because {why}"
    if change.way is Direction.SAME:
        return f"no change{turned}"
    is_ratio = change.scale is Scale.RATIO
    text = f"by a factor of {numbers.number(change.value)}" if is_ratio else f"{change.value:+.4f}"
    if change.low is not None and change.high is not None:
        text += f" {numbers.bounds(change.low, change.high)}"
        text += f" {UNPAIRED}" if change.method == UNPAIRED else ""
    text += f"{turned}, {change.way}"
    if (test := change.significance) is None:
        # The top of the report says once that the people are the same.
        return text + (f"; {change.why}" if change.why and not change.certain else "")
    text += "" if change.significant else ", not significant"
    text += f": p {numbers.probability(test.p, alpha)} ({test.test})"
    return text + (f"; {numbers.adjusted_p(test, alpha)}" if test.family > 1 else "")


def _reversals(changes: Changes, *, is_short: bool) -> Iterator[Block]:
    changed_reversals = changes.reversals
    if not changed_reversals:
        return
    yield Heading("Changed reversals")
    shown = changed_reversals[:_FEW_REVERSALS] if is_short else changed_reversals
    rows = []
    for change in shown:
        word, tone = "other", Tone.WARN
        if change.before is None:
            word, tone = ("only after", Tone.MUTED) if change.unknown else ("new", Tone.WARN)
        elif change.unknown or change.after is None:
            word, tone = "only before" if change.unknown else "gone", Tone.MUTED
        kinds = [KIND_WORDS[kind] for kind in (change.before, change.after) if kind is not None]
        pair = " against ".join(map(names.name, change.pair))
        text = f"{metric_titles.title(change.rate)}{metric_titles.whose(change.of)} by "
        text += f"{names.name(change.attribute)}, {pair}, given {numbers.subset(change.given)}: "
        text += f"{' → '.join(kinds)}{'' if change.significant else ', not significant'}"
        when = "before" if change.before is None else "after"
        text += f"; {when}, {change.unknown}" if change.unknown else ""
        rows.append((Cell(word, tone), text))
    yield Entries(rows)
    if omitted := changed_reversals[len(shown) :]:
        sure = sum(change.significant for change in omitted)
        yield Paragraph(
            f"and {numbers.whole(len(omitted))} more ({numbers.whole(sure) if sure else 'none'} "
            "significant): --verbose or -o changes.json lists them",
            Tone.MUTED,
        )


_FEW_UNTESTED = 6
"""The number of tables without tests that are shown, the largest changes first."""
_MOST_DRAWN = 8
"""The number of groups in a picture."""

_TONES = {Direction.WORSE: Tone.BAD, Direction.BETTER: Tone.GOOD}


def _rates(changes: Changes, most: int | None) -> Iterator[Block]:
    """A table for each rate and grouping; tables and rows with worse values come first."""
    if not changes.rates:
        return
    yield Heading("Rates of groups, worse first")
    tables: dict[tuple[str, str, Grouping, Group, str], list[RateChange]] = {}
    for row in (row for row in changes.rates if row.by):
        options = metric_titles.options(row.parameters, row.averaged)
        tables.setdefault((row.metric, row.of, row.by, row.stratum, options), []).append(row)
    if everybody := [row for row in changes.rates if not row.by]:
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
    # The largest changes of compared groups, for changes without a test.
    sizes = {}
    for key, rows in tables.items():
        untested = [
            row.change.size
            for row in rows
            if row.is_compared and row.change.significance is None
            if not math.isnan(row.change.value) and row.change.way is not Direction.SAME
        ]
        if untested:
            sizes[key] = max(untested)
    most_untested = sorted(sizes, key=lambda key: -sizes[key])[:_FEW_UNTESTED]
    for (metric, of, by, stratum, options), rows in tables.items():
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


def _of(changes: Changes, of: str) -> str:
    """The outcome of a rate, if the comparison as a whole has another outcome."""
    return "" if changes.after.of is not None else metric_titles.whose(of)


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
    """The table of a rate; for two models, it has the people whom only one model counts."""
    before, after = _sides(changes)
    digits = _digits(rows)
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
        Column(before, lambda row: _value(row, row.change.before, digits)),
        Column(after, lambda row: _value(row, row.change.after, digits)),
        Column("change", _moved),
        *([pairs] if changes.sampling is Sampling.PAIRED else []),
        Column(changes.inference.percent, _interval),
        Column("p", lambda row: numbers.starred_p(row.change.significance, changes.alpha)),
        text_column("", _note),
    )
    return tabulate(
        title,
        columns,
        rows,
        tone=lambda row: (
            (_TONES.get(row.change.way, Tone.WARN) if row.change.significant else Tone.PLAIN)
            if row.is_compared
            else Tone.MUTED
        ),
        most=most,
        more=_more,
    )


def _value(row: RateChange, estimate: Estimate, digits: int) -> str:
    share = metric_titles.is_share(row.metric) and not estimate.suppressed
    return numbers.percent(estimate.value, digits) if share else numbers.value_of(estimate, 3)


def _digits(rows: Iterable[RateChange]) -> int:
    """The number of decimals with which the printed shares give their printed changes."""
    shares = (row.change for row in rows if metric_titles.is_share(row.metric) and row.is_compared)
    return numbers.digits_of_gaps((one.before.value, one.after.value) for one in shares)


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
    """The direction if it is certain, or the reason why a group is not compared."""
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
    digits = _digits(known)
    shown = [
        Interval(
            f"{numbers.group(row.group)}, {side}",
            estimate.value,
            estimate.low,
            estimate.high,
            mark=Mark.REFERENCE if estimate is row.change.before else Mark.GROUP,
            text=" ".join(filter(None, (_value(row, estimate, digits), *words))),
        )
        for row in known[:_MOST_DRAWN]
        for side, estimate, words in zip(
            sides, (row.change.before, row.change.after), ((), (_moved(row), _interval(row))),
            strict=True,
        )
    ]  # fmt: skip
    share = metric_titles.is_share(metric)
    return Intervals(metric_titles.title(metric), shown, percent=share) if shown else None


def _people(changes: Changes, most: int | None) -> Iterator[Block]:
    """The changes of the shares of groups in all people, in a table for each grouping."""
    if not changes.people:
        return
    yield Heading("Who is in the data")
    rows = []
    for change in changes.people:
        # Whether the distribution of people has changed, and which groups are new or gone.
        test, word, tone = change.significance, "untested", Tone.MUTED
        largest = f"the largest change of a share is {numbers.gap(change.most_moved)}"
        text = f"by {numbers.subset(change.by)}: "
        if test is None:
            text += change.why + (f"; {largest}" if change.most_moved else "")
        else:
            is_sure = change.significant
            word, tone = ("moved", Tone.WARN) if is_sure else ("unsure", Tone.MUTED)
            text += f"{largest}, {'' if is_sure else 'not significant, '}"
            text += f"p {numbers.probability(test.p, changes.alpha)} ({test.test})"
        for groups, what in ((change.new, "new"), (change.gone, "gone")):
            text += f"; {what}: {', '.join(map(numbers.group, groups))}" if groups else ""
        rows.append((Cell(word, tone), text))
    yield Entries(rows)
    for change in changes.people:
        if most is not None and not (change.new or change.gone or change.significant):
            continue
        ordered = sorted(change.groups, key=lambda row: -abs(row.moved or 0))
        by = numbers.subset(change.by)
        group: Column[ShareChange] = text_column(by, lambda row: numbers.group(row.group))
        caption = f"People by {by}; shares of those whose group is known"
        yield tabulate(caption, (group, *_SHARES), ordered, most=most, more=_more)


def _written(share: float | None, write: Callable[[float], str] = numbers.percent) -> str:
    return "" if share is None else write(share)


_SHARES: tuple[Column[ShareChange], ...] = (
    Column("before", lambda row: numbers.whole(row.n_before)),
    Column("after", lambda row: numbers.whole(row.n_after)),
    Column("share before", lambda row: _written(row.share_before)),
    Column("share after", lambda row: _written(row.share_after)),
    Column("points", lambda row: _written(row.moved, numbers.points)),
)

"""What the numbers of a printed check or table must give, in plain Python: the laws themselves."""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import Any

from printed_reports import (
    CHECKS,
    EVERYTHING,
    TABLES,
    Range,
    Rows,
    Told,
    checks_of_screen,
    combine,
    gaps_of_screen,
    is_near,
    read,
    tables_of_screen,
)

from fairaudit.judge import Check, Finding
from fairaudit.metrics import CATALOGUE, Disparity, GroupMetric
from fairaudit.report import FORMATS, terminal
from fairaudit.result import Answer, AuditResult

NAMES = {*CHECKS, *TABLES, "json"}
"""The formats that are read."""

FORMULAS: dict[str, Callable[[float, float], float]] = {
    "difference": lambda a, b: a - b,
    "gap": lambda a, b: a - b,
    "ratio": lambda a, b: a / b,
    "min_ratio": lambda a, b: a / b,
    "log_ratio": lambda a, b: math.log(a / b),
    "odds_ratio": lambda a, b: a * (1 - b) / (b * (1 - a)),
    "cohens_h": lambda a, b: 2 * math.asin(math.sqrt(a)) - 2 * math.asin(math.sqrt(b)),
    "shortfall": lambda a, b: b - a,
    "ranked": lambda a, b: (1 + b - a) / 2,
}
"""What follows from two rates, by the id of the comparison."""
PLAIN = {"difference", "gap", "ratio", "min_ratio"}
"""The comparisons that a reader knows by their names."""
ONE_SIDED = {"itself", "highest", "worse_off", "better_off"}
_QUOTIENTS = {"ratio", "min_ratio", "log_ratio", "odds_ratio"}


def compared(kind: str, first: Range, second: Range) -> Range:
    """The range of a comparison of two printed rates; everything where it has no formula."""
    if kind not in FORMULAS or EVERYTHING in {first, second}:
        return EVERYTHING
    if kind in _QUOTIENTS and second[0] <= 0 <= second[1]:
        return EVERYTHING
    if kind in {"log_ratio", "odds_ratio", "cohens_h"}:
        first, second = ((max(a, 0.0), min(b, 1.0) if kind != "log_ratio" else b)
                         for a, b in (first, second))  # fmt: skip
    return combine(FORMULAS[kind], first, second)


def _size(value: Range) -> Range:
    low, high = sorted(map(abs, value))
    return (0.0 if value[0] <= 0 <= value[1] else low, high)


def _up_to_1(ratio: Range) -> Range:
    if ratio[0] <= 0:
        return (0.0, 1.0)
    ends = [min(ratio[0], 1 / ratio[0]), min(ratio[1], 1 / ratio[1])]
    return (min(ends), 1.0 if ratio[0] <= 1 <= ratio[1] else max(ends))


def folded(fold: str, parts: Sequence[Range]) -> Range:
    """The range of several values that become one."""
    if len(parts) == 1 and fold != "mean ratio":
        return _size(parts[0]) if fold == "mean magnitude" else parts[0]
    if EVERYTHING in parts:
        return EVERYTHING
    if fold == "remainder":
        return (parts[0][0] - parts[1][1], parts[0][1] - parts[1][0])
    if fold == "mean magnitude":
        parts = [*map(_size, parts)]
    elif fold == "mean ratio":
        parts = [*map(_up_to_1, parts)]
    elif fold != "mean":
        return EVERYTHING
    return (sum(low for low, _ in parts) / len(parts), sum(high for _, high in parts) / len(parts))


def expected_of(finding: Finding, rates: Sequence[Range], *, is_likely: bool) -> Range:
    """What the printed rates of a check come to; everything where they have no formula."""
    check = finding.check
    if not isinstance(check, Check) or isinstance(check.metric, GroupMetric):
        return EVERYTHING
    metric = check.metric
    if not isinstance(metric, Disparity):
        if is_likely and len(rates) == 2:
            return _size(compared("log_ratio", *rates))
        return EVERYTHING
    kinds = [comparison.id for _, comparison in metric.parts]
    halves = 2 if check.against else 1
    if kinds[0] in ONE_SIDED:
        values = [*rates]
    elif len(rates) % 2:
        return EVERYTHING
    else:
        pairs = zip(rates[::2], rates[1::2], strict=True)
        values = [compared(kinds[0], *pair) for pair in pairs]
    if halves == 2:
        size = len(values) // 2
        if size != 1:
            return EVERYTHING
        return folded("remainder", values)
    if len(values) == 1 and len(kinds) > 1 and metric.fold.rank is not None:
        return values[0]
    return folded(metric.fold.id, values)


def faults_of_check(told: Told, finding: Finding, *, has_value: bool = True) -> Iterator[str]:
    """What a printed check says of its numbers that is not so, or leaves out."""
    check, estimate, rates = finding.check, finding.estimate, told.rates
    if not isinstance(check, Check) or estimate is None or not rates:
        return
    metric, words = check.metric, " ".join(told.lines.get("value", "").split())
    if isinstance(metric, GroupMetric) and check.against is None:
        return
    of_classes = isinstance(metric, Disparity) and metric.per_class is not None
    is_likely = " = e^" in told.headline or "' occurs in " in told.headline
    is_smoothed = "the rates are not smoothed;" in words
    value = read(told.value) if has_value else (estimate.value, estimate.value)
    if has_value and not _may_be(told.value, estimate.value):
        yield f"value {told.value} is {estimate.value}"
    expected = (
        EVERYTHING
        if is_smoothed or of_classes or check.over_groups is not None
        else expected_of(finding, rates, is_likely=is_likely)
    )
    if not is_near(expected, value):
        yield f"the rates give {expected}, not {value}"
    kind = metric.parts[0][1].id if isinstance(metric, Disparity) else ""
    gives = kind in PLAIN or is_likely
    if of_classes and "over classes" not in f"{words} {told.headline}":
        yield "does not say that it is over classes"
    is_said = "computed as " in words or (check.over_groups is not None and "over groups" in words)
    if (not gives or len(rates) != 2 or check.against or of_classes) and not is_said:
        yield from [] if is_smoothed else ["does not say what the value is"]
    texts = told.texts
    for part in finding.parts:
        sides = [side.estimate.value for side in (part.first, part.second) if side is not None]
        is_pair = len(sides) == 2 and len(texts) == 2 and texts[0] == texts[1]
        if is_pair and abs(sides[0] - sides[1]) > 1e-7:
            yield f"both rates are printed {texts[0]}"
    yield from faults_of_headline(told)


def faults_of_headline(told: Told) -> Iterator[str]:
    rates = told.rates
    if len(rates) != 2:
        return
    apart = re.search(r" ([\d.]+)( points)? (above|below|more often|less often) th", told.headline)
    if apart:
        share = 0.01 if apart[2] else 1.0
        low, high = read(apart[1])
        if not is_near((low * share, high * share), _size(compared("difference", *rates))):
            yield f"headline {apart[0]!r} of {rates}"
        first, second = rates if apart[3] in {"above", "more often"} else rates[::-1]
        if first[1] < second[0]:
            yield f"headline {apart[0]!r} of {rates}: the wrong way"
    times = re.search(
        r" ([\d.]+) (?:(%) (?:of that of|as often as)|times (?:as often as|that of|as likely))",
        told.headline,
    )
    if times:
        share = 0.01 if times[2] == "%" else 1.0
        low, high = read(times[1])
        expected = compared("ratio", *rates)
        other = compared("ratio", *rates[::-1])
        if not any(is_near((low * share, high * share), one) for one in (expected, other)):
            yield f"headline {times[0]!r} of {rates}"
    same = re.search(r" is the same", told.headline)
    if same and not is_near(*rates):
        yield f"headline says the same of {rates}"


_BY_TITLE = {
    metric.title.lower(): metric.parts[0][1]
    for metric in CATALOGUE
    if isinstance(metric, Disparity) and len(metric.parts) == 1
}


def faults_of_table(table: Rows) -> Iterator[str]:  # noqa: C901, PLR0912  # a table has many forms
    """What a printed table of rates says that its own numbers deny."""
    header = [*table.header]
    if "rate" not in header:
        return
    at = header.index("rate")
    rows = [row for row in table.rows if len(row) == len(header)]
    references = [read(row[at]) for row in rows if row[-1] == "reference"]
    beside = [index for index, name in enumerate(header) if name.startswith("rate of ")]
    beside += [index for index, name in enumerate(header) if name == "rate" and index != at]
    of_caption = [title for title in _BY_TITLE if table.caption.lower().startswith(title)]
    for index, name in enumerate(header):
        if name == "value" and of_caption:
            name = max(of_caption, key=len)  # noqa: PLW2901  # the table is of one comparison
        scale = 1.0
        kind = name.replace(" ", "_")
        if name == "diff.":
            kind = "difference"
            scale = 0.01 if any("%" in row[at] for row in rows) else 1.0
        elif name in _BY_TITLE:
            comparison = _BY_TITLE[name]
            kind = comparison.id
            if comparison.one_sided:
                continue
            if kind not in PLAIN and comparison.formula not in " ".join(table.below.split()):
                yield f"does not say what {name} is"
        elif kind not in FORMULAS:
            continue
        for row in rows:
            if row[-1] == "reference" or not row[index] or row[index] == "suppressed":
                continue
            if row[index] in {"undefined", "∞", "-∞"}:
                continue
            low, high = read(row[index].removeprefix("+"))
            value = (low * scale, high * scale)
            others = [read(row[beside[0]])] if beside else references
            if len(others) != 1:
                continue
            expected = compared(kind, read(row[at]), others[0])
            if not is_near(expected, value):
                yield f"{name}: {row} beside {others}"


def faults_of_digits(table: Rows, tree: Mapping[str, Any]) -> Iterator[str]:
    """Numbers of a table of groups that differ by more than its last digit, and look the same.

    The table is one of those in the JSON report whose numbers are printed like this.
    """
    if table.header[1:2] != ["count"] and "of known" not in table.header:
        return
    at = table.header.index("rate")
    printed = {row[0]: row[at] for row in table.rows if len(row) == len(table.header)}
    tables: dict[str, dict[str, float]] = {}
    for row in tree["rates"]:
        place = [row[name] for name in ("metric", "of", "by", "given", "parameters")]
        name = " × ".join(row["group"].values())
        tables.setdefault(json.dumps([*place, row["averaged_over"]]), {})[name] = number(row)
    alike = [
        values
        for values in tables.values()
        if all(name in values and _may_be(text, values[name])
               for name, text in printed.items() if "±" not in text)
    ]  # fmt: skip
    faults = [
        [*_alike([*printed.values()], [values[name] for name in printed])] for values in alike
    ]
    if faults and all(faults):
        yield from min(faults, key=len)


def _may_be(text: str, value: float) -> bool:
    """Whether a number is printed like this."""
    return math.isnan(value) if text == "undefined" else is_near(read(text), (value, value))


def number(row: Mapping[str, Any]) -> float:
    """A value of the JSON report."""
    value = row["value"]
    return math.nan if value is None else float(str(value).replace("Infinity", "inf"))


def faults_of_intervals(table: Rows, tree: Mapping[str, Any]) -> Iterator[str]:
    """A value that looks like an end of its interval, or like no difference, and is neither."""
    if len(table.header) < 3 or not re.fullmatch(r"\d+ %", table.header[-2]):
        return
    for row in table.rows:
        if len(row) != len(table.header) or not row[-2].startswith("["):
            continue
        value, ends = row[-3], row[-2].strip("[]").split(", ")
        rows = [
            one
            for one in tree["comparisons"]
            if one["group"] and " × ".join(one["group"].values()) == row[0]
            and is_near(read(value), (number(one),) * 2)
        ]  # fmt: skip
        looks = [
            all(
                end is None or text != value or not 1e-7 < abs(float(end) - number(one)) < math.inf
                for end, text in zip((one["low"], one["high"]), ends, strict=True)
            )
            for one in rows
        ]
        if looks and not any(looks):
            yield f"an end looks like the value: {row}"


def _alike(texts: Sequence[str], values: Sequence[float]) -> Iterator[str]:
    """Numbers of one column that differ by more than its last digit, and are printed alike."""
    for (one, first), (other, second) in combinations(zip(texts, values, strict=True), 2):
        places = len(one.removesuffix(" %").partition(".")[2])
        last = 10 ** -(places + (2 if one.endswith(" %") else 0))
        if one == other and abs(first - second) > last * (1 + 1e-9):
            yield f"{one}: {first} and {second}"


def faults_of_limits(told: Told, finding: Finding) -> Iterator[str]:
    """A value, or an end of its interval, that looks like a number that it is not."""
    check, estimate = finding.check, finding.estimate
    if not isinstance(check, Check) or estimate is None or not math.isfinite(estimate.value):
        return
    text = told.value
    for limit in (check.warn, check.fail):
        for bound in getattr(limit, "bounds", ()):
            shown = round(sum(read(text)) / 2, 12)
            true = (estimate.value > float(bound)) - (estimate.value < float(bound))
            is_equal = abs(estimate.value - float(bound)) < 1e-9
            if not is_equal and (shown > float(bound)) - (shown < float(bound)) != true:
                yield f"value {text} beside {bound}: it is {estimate.value}"
    ends = re.search(
        r"interval (?:of [^\d-]*)?(?:\([^)]*\) )?(-?[\d.,∞]+) to (-?[\d.,∞]+)",
        told.lines.get("sure", ""),
    )
    for end, printed in zip(
        (estimate.low, estimate.high), ends.groups() if ends else (), strict=False
    ):
        if (
            end is not None
            and 1e-7 < abs(end - estimate.value) < math.inf
            and printed.rstrip(",") == text.removesuffix(" points")
        ):
            yield f"an end {end} looks like the value {text}"


def faults_of_reports(result: AuditResult) -> Iterator[str]:
    """What any report of a result says of its numbers that is not so, or leaves out."""
    answers = [Answer("s", None, result)]
    texts = {}
    for form in (form for form in FORMATS if form.name in NAMES):
        text = form.render(answers, all_rows=True)
        texts[form.name] = text.decode() if isinstance(text, bytes) else text
    stream = io.StringIO()
    terminal.print_answers(answers, stream)
    screen = stream.getvalue()
    findings = {finding.check.id: finding for finding in result.findings}
    for name, parse in CHECKS.items():
        for key, told in parse(texts[name]):
            if key in findings:
                faults = faults_of_check(told, findings[key]), faults_of_limits(told, findings[key])
                yield from (f"{name}: {key}: {fault}: {told}" for fault in chain(*faults))
    for metric, told in checks_of_screen(screen):
        about = [row for row in result.findings if row.check.metric_id == metric]
        if len(about) == 1:
            faults_of_one = faults_of_check(told, about[0], has_value=False)
            yield from (f"screen: {metric}: {fault}: {told}" for fault in faults_of_one)
    for told in gaps_of_screen(screen):
        yield from (f"{fault}: {told}" for fault in faults_of_headline(told))
    tree = json.loads(texts["json"])
    tables = [(name, table) for name, parse in TABLES.items() for table in parse(texts[name])]
    tables += [("screen", table) for table in tables_of_screen(screen)]
    for name, table in tables:
        of_digits = faults_of_digits(table, tree), faults_of_intervals(table, tree)
        for fault in chain(faults_of_table(table), *of_digits):
            yield f"{name}: {table.caption}: {fault}"

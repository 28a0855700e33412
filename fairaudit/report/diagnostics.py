"""`Diagnostic`: a check in words (`means`, `who`, `sure`), level, picture; `AuditFailed`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

from fairaudit.base import names
from fairaudit.base.errors import Place
from fairaudit.base.frozen import Frozen, replace
from fairaudit.evidence.clusters_and_pairs import SIMULTANEOUS
from fairaudit.evidence.records import ComparisonPart
from fairaudit.evidence.value_intervals import SIDAK, UNPAIRED
from fairaudit.evidence.value_tests import EQUAL_CHANGES
from fairaudit.judge import Check, Finding, Limit, Status
from fairaudit.metrics import Eligibility, GroupMetric, Requirement, find_metric
from fairaudit.metrics.criteria import DISTRIBUTIONS
from fairaudit.metrics.definitions import NO_DISPARITY
from fairaudit.metrics.means_and_errors import ADJUSTED_MEAN
from fairaudit.metrics.rates import SELECTION_RATE
from fairaudit.metrics.reasons import describe_people
from fairaudit.report import checks, finding_facts, headlines, metric_titles, numbers, reversals
from fairaudit.report.blocks import Figure, Tone
from fairaudit.report.finding_facts import labelled
from fairaudit.report.pictures import MOST_CHECKED, Intervals, Mark, without_middle
from fairaudit.report.rate_figures import digits_of, explain_marks, limit_rules, rate_interval
from fairaudit.report.text_layout import padded, side_by_side
from fairaudit.result import AuditResult
from fairaudit.result.rows import ComparisonRow, RateRow


class Level(StrEnum):
    """How urgent a diagnostic is, in the words of compilers; the worst first."""

    ERROR = "error"
    INCONCLUSIVE = "inconclusive"
    WARN = "warn"
    NOTE = "note"
    PASS = "pass"


_LEVELS = {
    Status.FAIL: Level.ERROR,
    Status.INCONCLUSIVE: Level.INCONCLUSIVE,
    Status.WARN: Level.WARN,
    Status.WAIVED: Level.NOTE,
    Status.SKIPPED: Level.NOTE,
    Status.PASS: Level.PASS,
}
TONES = {
    Level.ERROR: Tone.BAD,
    Level.INCONCLUSIVE: Tone.BAD,
    Level.WARN: Tone.WARN,
    Level.NOTE: Tone.MUTED,
    Level.PASS: Tone.GOOD,
}


class SourceLine(Frozen):
    """The line of a spec that sets a limit, in parts: before the limit, the limit, after it."""

    number: int
    before: str
    limit: str
    after: str


class Diagnostic(Frozen):
    """All texts about one check: a sentence, the place of its limit, and labelled lines.

    `code` is the metric. `at` and `place` are the file, line and column of the limit, and `end` is
    the column after it. `value`, `interval` and `limit` are short texts for a table row. `lines`
    are for the first screen, `facts` are all texts. A line without a label continues the one above.
    """

    result: AuditResult
    finding: Finding
    level: Level
    code: str
    headline: str
    at: Place | None
    end: int | None
    place: str
    source: SourceLine | None
    value: str
    interval: str
    limit: str
    lines: tuple[tuple[str, str], ...]
    facts: tuple[tuple[str, str], ...]

    @property
    def severity(self) -> Level | None:
        """The level in build servers, by the status for the exit code; None if they show none."""
        status = checks.gated(self.finding, self.result)
        is_silent = status is Status.SKIPPED or self.level is Level.PASS
        return Level.ERROR if status is Status.FAIL else None if is_silent else self.level

    @property
    def split_headline(self) -> tuple[str, str]:
        """Two parts of the headline: all except the words on people left out, and these words."""
        left_out = headlines.left_out(self.finding)
        headline = self.headline.removesuffix(f"; {left_out}")
        return headline, "" if headline == self.headline else left_out

    @property
    def sentence(self) -> str:
        """The headline, then each fact after its label, in one line with single blanks."""
        facts = (" ".join(text.split()) for text in self.labelled(", "))
        return "; ".join([self.headline, *facts])

    def labelled(self, separator: str = "\n  ") -> list[str]:
        """For each label, a text with the label and all its facts."""
        return [f"{label}: {text}" for label, text in by_label(self.facts, separator)]

    @property
    def picture(self) -> Intervals | None:
        """The compared rates, the lowest first, with the limit; None without rates."""
        result, finding = self.result, self.finding
        check, parts = finding.check, checks.deciding_parts(finding)
        if not isinstance(check, Check) or len(parts) != 1 or check.against is not None:
            return None
        sides = {side.group: side for side in parts[0].sides}
        metric = parts[0].metric if parts[0].outcome is None else SELECTION_RATE.id
        of_check = (metric, check.of, check.by, finding.stratum)
        rows = [
            row
            for row in result.rates
            if (row.metric, row.of, row.by, row.stratum) == of_check
            and not (row.parameters or row.averaged)
        ]
        values = {row.group: row.estimate.value for row in rows}
        is_share = parts[0].outcome is not None  # ε compares the shares of one outcome
        for group, side in sides.items():
            value, own = values.get(group, math.nan), side.estimate.value
            is_other = is_share and math.isclose(1 - value, own, abs_tol=1e-12)
            if not rows or (side.crowd is None and value != own and not is_other):
                return None
        # The picture shows the rates of the positive outcome, even if the other outcome decides ε.
        title, positive = metric_titles.title(metric, check.of), result.positives.get(check.of)
        title += "" if check.of in metric_titles.UNNAMED else metric_titles.whose(check.of)
        is_other = is_share and parts[0].outcome != "positive"
        other = f", the opposite of {names.quoted(parts[0].outcome or '')}" if is_other else ""
        title += f" ({positive}{other})" if positive and is_share else ""
        rules = [] if is_share else [*limit_rules(finding, metric)]
        digits = max(digits_of(rows, rules), _digits_of_sides(result, finding, parts[0]))
        rules = [*limit_rules(finding, metric, digits)] if rules else []

        def place(row: RateRow) -> tuple[bool, bool, float]:
            value = row.estimate.value
            return row.standing is not Eligibility.ELIGIBLE, not math.isfinite(value), value

        drawn = [(row, rate_interval(row, digits)) for row in sorted(rows, key=place)]
        return Intervals(
            title,
            [
                replace(
                    interval,
                    label=names.people(row.group),
                    panel="",
                    mark=Mark.GROUP if row.standing is Eligibility.ELIGIBLE else Mark.ASIDE,
                    text=interval.text.removesuffix(" reference"),
                    strong=row.group in sides,
                )
                for row, interval in drawn
            ],
            rules,
            percent=metric_titles.is_share(metric),
        )

    @property
    def figure(self) -> Figure | None:
        """The picture with the headline as its title; None without a picture."""
        picture = self.picture
        if picture is None:
            return None
        picture = replace(picture, rows=without_middle(picture.rows, MOST_CHECKED))
        estimates = [row.estimate for row in self.result.rates]
        return Figure(self.headline, picture, explain_marks(self.result, picture, estimates))


def diagnose(result: AuditResult) -> tuple[Diagnostic, ...]:
    """A diagnostic for each check, the most urgent first."""
    diagnostics = diagnose_by_id(result)
    ranked = [diagnostics[finding.check.id] for finding in checks.by_urgency(result.findings)]
    return tuple(sorted(ranked, key=lambda diagnostic: [*Level].index(diagnostic.level)))


def diagnose_by_id(result: AuditResult) -> dict[str, Diagnostic]:
    """The diagnostic of each check under the id of the check, in the order of the findings."""
    # A level that several attributes have is ambiguous without the name of its column.
    columns: dict[str, set[str]] = {}
    for row in result.groups:
        for column, level in row.group:
            columns.setdefault(level, set()).add(column)
    shared = {level for level, having in columns.items() if len(having) > 1}
    diagnostics = {}
    for finding in result.findings:
        check = finding.check
        headline, by = headlines.headline(finding), f"by {numbers.subset(check.by)}"
        levels = {level for group in (finding.first, finding.second) for _, level in group}
        headline += f", {by}" if levels & shared and by not in headline else ""
        level = _LEVELS[finding.status]
        at, source = check.place, None
        quote = check.source.fail or check.source.warn
        if finding.limit is not None and finding.limit == check.warn != check.fail:
            quote = check.source.warn or quote
        if quote is not None:
            at = None if at is None else Place(at.file, quote.line, quote.column)
            start, end = quote.column - 1, quote.end - 1
            parts = (quote.text[:start], quote.text[start:end], quote.text[end:])
            source = SourceLine(quote.line, *map(names.printable, parts))
        short = tuple(lines(result, finding))
        diagnostics[check.id] = Diagnostic(
            result=result,
            finding=finding,
            level=Level.NOTE if level is Level.PASS and finding.is_in_doubt else level,
            code=names.copied(check.metric_id),
            headline=headline,
            at=at,
            end=None if quote is None else quote.end,
            place="" if at is None else f"{checks.place(at)}:{at.column}",
            source=source,
            value=headlines.value(finding),
            interval=headlines.interval(finding),
            limit=headlines.limits(finding),
            lines=short,
            facts=(*finding_facts.value_lines(finding), *short, *finding_facts.facts(finding)),
        )
    return diagnostics


def by_label(lines: Iterable[tuple[str, str]], separator: str = "\n") -> list[tuple[str, str]]:
    """Each label once, with all its lines joined by the separator."""
    texts: dict[str, list[str]] = {}
    label = ""
    for name, text in lines:
        label = name or label
        texts.setdefault(label, []).append(text)
    return [(label, separator.join(several)) for label, several in texts.items()]


_DISTRIBUTIONS = frozenset(metric.id for metric in DISTRIBUTIONS)
_MOST_BREACHES = 5


def lines(result: AuditResult, finding: Finding) -> Iterator[tuple[str, str]]:
    """Short labelled lines: the groups, the evidence, the numbers of people, and notes."""
    estimate = finding.estimate
    if estimate is not None and not estimate.suppressed:
        of = finding.check.of
        if of not in metric_titles.UNNAMED:  # one of several models
            yield from labelled("outcome", [_outcome(result, of)])
        yield from labelled("means", [_meaning(result, finding)])
        yield from labelled("who", _who(result, finding))
        yield from labelled("value", [finding_facts.derivation(finding)])
        yield from labelled("sure", _sure(result, finding))
        yield from labelled("people", finding_facts.people_to_limit(finding))
        others = [
            breach
            for breach in finding.crossed
            if breach.stratum != finding.stratum or breach.group not in {(), finding.first}
        ]
        pairs = [[part for part in (breach.group, breach.stratum) if part] for breach in others]
        texts = [
            f"{' in '.join(map(names.people, pair))} {headlines.ends(finding, value)}".strip()
            for pair, value in zip(pairs, (one.signed_value for one in others), strict=True)
        ]
        is_below = any(breach.signed_value < 0 for breach in others)
        sign = " (negative: below)" * (is_below and getattr(finding.limit, "below", None) is None)
        also = f"over the limit{sign}: {numbers.first_few(texts, _MOST_BREACHES)}" if texts else ""
        yield from labelled("also", [also, _warned(result, finding)])
        notes = [finding_facts.backing(finding), finding.why, _unseen(result, finding)]
        notes += _compare_in_strata(result, finding)
        if finding.status is Status.PASS:
            notes.append(finding_facts.few_people(finding))
        yield from labelled("note", notes)
    else:
        # If nothing could be judged, the headline already gives the reason.
        is_told = finding.status is Status.INCONCLUSIVE and estimate is None
        why = "" if is_told else finding.why
        yield from labelled("note", [finding_facts.backing(finding), why])
    alpha = finding.check.inference.alpha
    for reversal in finding.reversals[:1]:
        overall, mixed = reversals.overall_and_mixed(reversal)
        columns = (_aligned(reversals.sides(reversal)), _aligned(overall), mixed)
        first, second = map("  ".join, zip(*columns, strict=True))
        mix = f"with the same mix of {reversals.name_given(reversal)}"
        yield from labelled("who", [f"{first} {mix}", f"{second} {mix}"])
        test = reversals.describe_test(
            reversal, alpha, lambda test: numbers.adjusted_p(test, alpha, "comparison")
        )
        answer = "Yes" if reversal.is_significant(alpha) else "Unclear"
        test = test.removeprefix(f"{reversals.MAY_BE_CHANCE}: ")
        test = f"Is this more than chance? {answer}: {test}" if test else ""
        yield from labelled("sure", [reversals.pattern(reversal), test])
        asks = getattr(finding.limit, "significant", True)
        if not asks and finding.status is not Status.PASS and not reversal.is_significant(alpha):
            text = f"the limit `{finding.limit}` does not ask whether this may be chance"
            yield "note", f"{text}; with `significant: true` it does"
    if finding.before is not None and (
        text := finding_facts.compare_with_baseline(finding, finding.before)
    ):
        yield "baseline", text
    waived = []
    for row in finding.waived:
        places = [
            f" ({checks.place(waiver.place)})"
            for waiver in (outcome.waiver for outcome in result.waivers)
            if waiver.place and (waiver.check, waiver.reason) == (finding.check.id, row.reason)
        ]
        waived.append(f"{finding_facts.waiver(row, finding)}{''.join(places[:1])}")
    yield from labelled("waived", waived)
    yield from labelled("why", [names.line(finding.check.about.why)])
    yield from labelled("owner", [names.line(finding.check.about.owner)])


def _warned(result: AuditResult, finding: Finding) -> str:
    """How many other groups of a failed check cross the warning limit."""
    check = finding.check
    if not isinstance(check, Check) or finding.status is not Status.FAIL or check.warn is None:
        return ""
    if result.provenance.suppress_below is not None:
        return ""  # the count includes groups whose values may be hidden
    failed = {(breach.group, breach.stratum) for breach in finding.crossed}
    rows = [row for row in _rows_of(result, check) if row.group]
    if len({(row.group, row.stratum) for row in rows}) < len(rows):
        return ""  # several entries of the spec compare these groups, with different options
    more = sum(
        check.warn.is_crossed(row.estimate.value, row.estimate.exact)
        for row in rows
        if (row.group, row.stratum) not in failed
    )
    noun = numbers.counted(more, "more group")
    return f"{noun} {'crosses' if more == 1 else 'cross'} only the warning limit" if more else ""


def _rows_of(result: AuditResult, check: Check) -> list[ComparisonRow]:
    asked = check.metric_id, check.of, check.by
    return [row for row in result.comparisons if (row.metric, row.of, row.by) == asked]


def _who(result: AuditResult, finding: Finding) -> list[str]:
    """A text for each side, with its rate and counts; the columns are aligned."""
    if finding.subgroup is not None:
        subgroup = finding.subgroup
        counts_of_subgroup = f"{numbers.whole(subgroup.over)}/{numbers.whole(subgroup.under)}"
        name, everybody = _aligned([names.people(subgroup.group), "everybody"])
        rates, size = (subgroup.value, subgroup.everybody), headlines.divergence(finding, subgroup)
        digits = numbers.digits_that_give([(*rates, size, False)], 1)
        own, of_all = (numbers.percent(rate, digits) for rate in rates)
        return [f"{name}  {own}  {counts_of_subgroup}", f"{everybody}  {of_all}"]
    metric = finding.check.metric if isinstance(finding.check, Check) else None
    rows, parts = [], checks.deciding_parts(finding)
    averages = getattr(metric, "averages", ())
    for index, part in enumerate(parts):
        title = ""
        if len(parts) > 1 or part.metric == ADJUSTED_MEAN.id:
            title = metric_titles.title(part.metric, part.of or finding.check.of)
            title += f" averaged ({averages[index % len(averages)]})" if averages else ""
            title += f" of {names.name(part.of)}" if part.of else ""
        elif isinstance(finding.check, Check) and finding.check.weighs_strata:
            title = f"averaged over {numbers.subset(finding.check.given)}, pooled weights"
        if checks.averages_classes(finding) and part.outcome is not None:
            title = f"{title} of class {names.name(part.outcome)}".lstrip()
        elif part.outcome is not None:
            is_selected = part.outcome == "positive" and finding.check.of != "label"
            title = "selected" if is_selected else names.quoted(part.outcome)
        digits = _digits_of_sides(result, finding, part)
        for side in part.sides:
            rate = metric_titles.rate(part.metric, side.estimate, digits)
            value, _, counts = rate.partition(" (")
            if part.metric in _DISTRIBUTIONS:  # a distance has no rates of the sides
                value, counts = "", numbers.counts(side.estimate)
            rows.append((headlines.side(side), value, counts.removesuffix(")"), title))
    if not rows:
        return []
    sides, values, counted, titles = zip(*rows, strict=True)
    numbers_of_sides = side_by_side([*zip(values, counted, strict=True)])
    columns = zip(_aligned(sides), numbers_of_sides, titles, strict=True)
    lines = ["  ".join(column).rstrip() for column in columns]
    if len(lines) > 1:
        lines[-1] += _reference(result, finding)
    return lines


def _digits_of_sides(result: AuditResult, finding: Finding, part: ComparisonPart) -> int:
    """The number of decimals for both rates of a check, the same for all models."""
    check, alike = finding.check, [finding]
    if check.of not in metric_titles.UNNAMED:
        asked = check.metric_id, check.by
        alike = [one for one in result.findings if (one.check.metric_id, one.check.by) == asked]
    parts = [(one, own) for one in alike for own in checks.deciding_parts(one)]
    return max(headlines.digits_of_sides(*pair) for pair in parts if pair[1].metric == part.metric)


def _meaning(result: AuditResult, finding: Finding) -> str:
    """The meaning of a rate of labels and decisions, in the words of the catalogue and the spec."""
    check, parts = finding.check, checks.attaining_parts(finding)
    if finding.status is Status.PASS and not finding.not_enough_evidence:
        return ""
    metric = parts[0].metric if parts else getattr(check, "rate", check.metric_id)
    record = find_metric(metric)
    if not isinstance(record, GroupMetric) or Requirement.LABEL not in record.requirements:
        return ""
    if not record.requirements & {Requirement.PREDICTION, Requirement.SCORE}:
        return ""
    text, _, cases = record.description.rstrip(".").partition(": ")
    case = "for a burden, " if getattr(check, "burden", False) else "for a benefit, "
    for one in cases.split("; "):
        if one.startswith(case):
            whom = one.removeprefix(case)
            text = f"The share of {whom}: {text[:1].lower()}{text[1:]}"
    if label := result.positives.get("label"):
        text = text.replace("a positive label", f"the label {label}")
        text = text.replace("a negative label", f"a label other than {label}")
    if check.of not in metric_titles.UNNAMED or Requirement.PREDICTION not in record.requirements:
        return text  # the outcome is in the line above, or it is the score
    values = _positives(result, {check.of: "selected"})
    return f"{text} ({values})" if values else text


def _outcome(result: AuditResult, of: str) -> str:
    words = {"label": "label" + " of all models" * (len(result.positives) > 2)}
    return _positives(result, words | {of: "selected"})


def _positives(result: AuditResult, words: Mapping[str, str]) -> str:
    known = result.positives
    return "; ".join(f"{words[of]}: {names.line(known[of])}" for of in words if of in known)


def _aligned(texts: Sequence[str]) -> list[str]:
    room = max(map(names.width, texts))
    return [padded(text, room) for text in texts]


def _reference(result: AuditResult, finding: Finding) -> str:
    """The second side in words, such as `highest of N groups` or `declared reference`."""
    check = finding.check
    if not isinstance(check, Check) or not finding.second:
        return ""
    number = _count_compared(result, finding)
    if finding.spread:
        rates = [side.estimate.value for side in checks.deciding_parts(finding)[-1].sides]
        extreme = "highest" if rates[-1] > rates[0] else "lowest"
        return f"  {extreme} of {number} groups" if number and number > 2 else ""
    policy = getattr(check.metric, "reference", None)
    if check.terms.reference is not None:
        policy = check.terms.reference.policy
    if policy not in {"highest", "lowest", "largest"}:
        return "  the reference"
    groups = "" if number is None else f" of {numbers.counted(number, 'group')}"
    return f"  {policy}{groups}"


def _count_compared(result: AuditResult, finding: Finding) -> int | None:
    """The number of groups that a check compares; None if the report has no single number."""
    check, group = finding.check, None if finding.spread else finding.first
    if finding.spread and result.provenance.suppress_below is not None:
        return None  # the first screen shows only published numbers
    compared = {
        row.takes_part
        for row in (_rows_of(result, check) if isinstance(check, Check) else ())
        if row.group == group and row.stratum == finding.stratum
    }
    return compared.pop() if len(compared) == 1 else None


def _sure(result: AuditResult, finding: Finding) -> list[str]:
    """The interval with the test, and the possible effect of people of unknown group or outcome."""
    estimate, inference = finding.estimate, finding.check.inference
    assert estimate is not None
    number, parts = _count_compared(result, finding), list[str]()
    several = number is not None and number > 2
    if ends := headlines.interval(finding):
        symbol = headlines.symbol(finding)
        of = f" of {symbol}" if f"({symbol} " in headlines.headline(finding) else ""
        of = f" of the smoothed {symbol}" if estimate.unsmoothed else of
        _, _, together = (estimate.method or "").partition(f", {SIDAK} ")
        notes = [f"for all {together} values"] if together else []
        is_of_pairs = several and SIMULTANEOUS in (estimate.method or "")
        notes += ["for all pairs of groups"] if is_of_pairs else []
        notes += [UNPAIRED] if UNPAIRED in (estimate.method or "") else []
        of += f" ({'; '.join(notes)})" if notes else ""
        interval = f"{inference.percent} interval{of}{':' * bool(of)} {ends}"
        parts.append(finding_facts.answer_by_interval(finding, interval))
    test = estimate.significance
    if test is not None:
        p, alone = (numbers.probability(p, inference.alpha) for p in (test.adjusted, test.p))
        # A joint test is about all groups, not only about the two whose values are shown.
        kind, *more = test.test.split(",", 1)
        is_joint = finding.spread and several and kind in {"χ²", "G"}
        method = ",".join([f"{kind} of {number} groups", *more]) if is_joint else test.test
        method += f"; {numbers.corrected_over(test)}" if test.family > 1 else ""
        method += f"; before correction p {alone}" if alone != p else ""
        null, is_sure = finding_facts.hypothesis(finding), test.adjusted < inference.alpha
        what = "gap" if null == NO_DISPARITY else f"departure from {null}"
        answer = "Yes" if is_sure else "Unclear"
        if finding_facts.is_of_others(finding):
            answer = "Yes for all groups together, not shown for these two"
        parts.insert(0, f"Is the {what} more than chance? {answer}: p {p} ({method})")
        is_open = (estimate.low or 0) <= 0 <= (estimate.high or 0)
        if test.test == EQUAL_CHANGES and test.adjusted < inference.alpha and is_open:
            parts.append(
                "the groups change by different amounts, but the interval includes 0: which "
                "model has the larger disparity is uncertain"
            )
    if not parts:
        why = (estimate.no_interval or "how sure the value is, is unknown").removeprefix("none: ")
        parts.append(f"no interval and no test: {why}")
    return [*parts, _missing(finding)]


def _missing(finding: Finding) -> str:
    """How missing values could change the number, and whether they could change the verdict."""
    bounds = finding.missing
    if bounds is None:
        return ""
    lacking = ((bounds.missing_group, "group"), (bounds.missing_outcome, "outcome"))
    missing = [f"{describe_people(n)} with unknown {what}" for n, what in lacking if n]
    if bounds.possible:
        most = describe_people(bounds.possible)
        missing.append(f"up to {most} who may not exist (masked counts)")
    who = " and ".join(missing)
    if not who:
        return "missing values of other groups could change the verdict" if bounds.turns else ""
    if bounds.low is None or bounds.high is None:
        return f"{who}: their effect on the value is not calculated; it could change the verdict"
    ends = headlines.ends(finding, bounds.low, bounds.high)
    value = f"depending on {who}, the value can be {ends}"
    if finding.status is Status.INCONCLUSIVE and not bounds.turns:
        return value  # together with other people left out, these may still change the verdict
    # People of unknown group may form another group, which can make a verdict worse.
    worst = Status.WARN if finding.check.fail is None else Status.FAIL
    is_open = bounds.missing_group and finding.status is not worst
    compared = " if all of them are in the compared groups" * bool(is_open)
    turn = "could change" if bounds.turns else f"is the same{compared}"
    return f"{value}; the verdict {turn}"


def _unseen(result: AuditResult, finding: Finding) -> str:
    """A text on the smaller subsets of a check's attributes, if no smaller subset shows the gap."""
    check = finding.check
    if not isinstance(check, Check) or len(check.by) < 2 or finding.stratum or not finding.crossed:
        return ""
    assert isinstance(finding.limit, Limit)
    value = math.nan if finding.estimate is None else finding.estimate.value
    entries = [
        (row.by, entry) for row in result.lattice for entry in row.entries if entry.of == check.of
    ]
    titles = [
        entry.title
        for by, entry in entries
        if (by, entry.metric) == (check.by, check.metric_id) and entry.estimate.value == value
    ]
    values = [
        (by, entry.estimate)
        for by, entry in entries
        if set(by) < set(check.by) and entry.title in titles[:1]
    ]
    seen = [
        (by, estimate)
        for by, estimate in values
        if estimate.suppressed
        or not math.isfinite(estimate.value)
        or finding.limit.is_crossed(estimate.value, estimate.exact)
    ]
    if not values or seen:
        return ""
    by_limits = headlines.bounds(finding)
    coarser = [
        f"{numbers.subset(by)} "
        f"{numbers.number_beside(estimate.value, by_limits, estimate.exact, digits=3)}"
        for by, estimate in values
    ]
    first = any(
        appearance.group in {finding.first, finding.second}
        for row in result.lattice
        for appearance in row.appears
    )
    text = f"by fewer columns, the value is within the limit: {', '.join(coarser)}"
    return f"{text}. The gap appears only in the combination" if first else text


def _compare_in_strata(result: AuditResult, finding: Finding) -> Iterator[str]:
    """The gap at the same mix of strata if it changes significantly; features that still differ."""
    if (reversal := reversals.find_adjusted(result, finding)) is not None:
        pair = " against ".join(reversals.sides(reversal))
        yield f"{pair}: {reversals.adjusted(reversal, result.provenance.inference.alpha)}"
    given = getattr(finding.check, "given", ())
    if rows := [row for row in result.balance if row.stratum in given]:
        worst = max(rows, key=lambda row: row.after)
        yield (
            f"residual confounding: within strata {worst.feature} differs by "
            f"{numbers.number(worst.after, 3)} standard deviations (among all people "
            f"{numbers.number(worst.before, 3)}); features outside the model are not adjusted"
        )

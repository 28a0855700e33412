"""Labelled lines on a check in long reports: interval, test, missing values, baseline, waivers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from fairaudit.base import names
from fairaudit.evidence.records import Side
from fairaudit.evidence.value_tests import EQUAL_CHANGES
from fairaudit.judge import Breach, Check, EvidenceStatus, Finding, Limit, Status
from fairaudit.judge.findings import Before, Earlier, Waived
from fairaudit.judge.waivers import Waiver
from fairaudit.metrics import Disparity, GroupMetric, find_metric
from fairaudit.metrics.definitions import NO_DISPARITY
from fairaudit.metrics.differential_fairness import BIAS_AMPLIFICATION, PSEUDO_COUNTS
from fairaudit.metrics.reasons import describe_people
from fairaudit.report import checks, headlines, metric_titles, numbers, reversals

_LARGEST_LOG = 700.0
"""For a larger change Δε, the factor e^Δε may be too large for a float."""
_SECOND_TESTS = {
    "equal in every stratum": "no stratum has a gap",
    "no difference in either rate": "neither rate differs",
}
"""The hypothesis of a second test as a clause, if its name is not a clause."""
_LACKING = {
    EvidenceStatus.NOT_SIGNIFICANT: "these numbers are compatible with {hypothesis}",
    EvidenceStatus.NOT_CONCLUSIVE: "the interval includes the limit",
    EvidenceStatus.UNTESTED: "the test or interval is unavailable",
    EvidenceStatus.ONLY_TOGETHER: "the group alone does not differ significantly",
}
"""The reason why evidence does not support a value over its limit."""


def facts(finding: Finding) -> Iterator[tuple[str, str]]:
    """Long labelled texts about a check; a text without a label continues the text above."""
    estimate = finding.estimate
    if estimate is not None and not estimate.suppressed:
        has_interval = estimate.low is not None and estimate.high is not None
        method = estimate.method if has_interval else estimate.no_interval
        yield from labelled("interval", [method or ""])
        if (test := estimate.significance) is not None:
            # The name of the test, and a second test with its p-value.
            texts = [numbers.test(test)]
            if (second := test.beside) is not None:
                hypothesis = _SECOND_TESTS.get(second.hypothesis, second.hypothesis)
                p = numbers.probability(second.p, finding.check.inference.alpha)
                texts.append(f"a second test, that {hypothesis}: p {p} ({second.test})")
            yield from labelled("test", texts)
        yield from labelled("missing", [*_missing(finding)])
        affected = finding.practice
        if affected is not None and affected.shortfall:
            # The people of the worse-off group above or below the rate of both groups together.
            worse, _ = map(headlines.side, sides_of_gap(finding))
            people = f"{affected.shortfall:,.1f} {'more' if affected.burden else 'fewer'}"
            people += f" {people_of_gap(finding, affected.shortfall)}"
            text = f"{people} than there would be at the rate of both groups together"
            yield "people", f"{worse}: there are {text}"
        if finding.status is not Status.PASS:
            yield from labelled("few", [few_people(finding)])
    others, alpha = [], finding.check.inference.alpha
    for row in finding.reversals[1:]:
        sure = reversals.describe_test(
            row, alpha, lambda test: f"adjusted p {numbers.probability(test.adjusted, alpha)}"
        )
        text = f"{reversals.pair(row)}, given {reversals.name_given(row)}, "
        text += reversals.KIND_WORDS[row.kind]
        others.append(f"{text} ({sure})" if sure else text)
    yield from labelled("others", others)
    if count := sum(bool(row.stratum and not row.group) for row in finding.not_evaluated):
        yield "strata", f"{count} {'stratum is' if count == 1 else 'strata are'} not evaluated"
    yield from labelled("left out", [*not_judged(finding)])
    if (before := finding.before) is not None:
        # If other groups decided the check in the baseline, the text adds their earlier value.
        value = "no number" if before.value is None else numbers.number(before.value)
        texts = [f"{before.status}, {value}, {created(before.earlier)}"]
        if before.decided_by and not before.is_decided_alike(finding):
            own = "no number" if before.own is None else numbers.number(before.own)
            groups = "the same groups" if finding.spread else names.describe_group(finding.first)
            texts.append(f"{groups} had {own} then; {deciding_groups(before)} decided")
        yield from labelled("before", texts)


def value_lines(finding: Finding) -> Iterator[tuple[str, str]]:
    """The value with its limits, its counts, and the difference if a ratio may mislead."""
    check, estimate = finding.check, finding.estimate
    if estimate is None or estimate.suppressed:
        return
    own = ""
    if isinstance(check, Check) and isinstance(check.metric, GroupMetric):
        # The counts behind the value of a single group.
        counts = numbers.counts(estimate)
        own = f"{names.people(finding.first)}: {counts}" if counts else ""
    value = f"{headlines.with_limit(finding)} ({headlines.limits(finding)})"
    yield from labelled("value", [value, own, _difference(finding)])


def labelled(label: str, texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The texts that are not empty; the first has the label."""
    for number, text in enumerate(filter(None, texts)):
        yield ("" if number else label), text


def derivation(finding: Finding) -> str:
    """The formula of the value; empty if it is the plain comparison of the printed rates."""
    check, parts = finding.check, checks.attaining_parts(finding)
    if not isinstance(check, Check) or finding.estimate is None:
        return ""
    if any(check.terms.parameters.as_texts().get(key) for key in PSEUDO_COUNTS):
        return "the rates are not smoothed; the interval is for the smoothed value"
    comparison = checks.comparison_of(finding)
    if isinstance(check.metric, Disparity) and check.over_groups is not None:
        return check.metric.aggregate
    is_own = isinstance(check.metric, GroupMetric) and check.against is None
    is_told = is_own or bool(headlines.compared(finding, check, finding.estimate))
    if is_told or not any(part.first for part in parts):
        return ""
    is_whole = comparison is None or len(parts) > 1 or checks.averages_classes(finding)
    formula = check.metric.formula if comparison is None or is_whole else comparison.formula
    less = "" if check.against is None else f", minus that of {names.name(check.against)}"
    return f"computed as {formula}{less}"


def _difference(finding: Finding) -> str:
    """The difference, if a ratio compares small shares, or numbers that are not shares."""
    check, parts = finding.check, checks.attaining_parts(finding)
    if not isinstance(check, Check) or isinstance(check.metric, GroupMetric) or not parts:
        return ""
    if check.metric is BIAS_AMPLIFICATION and finding.estimate is not None:
        change = finding.estimate.value
        is_known = math.isfinite(change) and change < _LARGEST_LOG
        return f"a factor e^Δε of {numbers.number(math.exp(change), 2)}" if is_known else ""
    comparison = checks.comparison_of(finding)
    first, second = parts[0].first, parts[0].second
    if comparison is None or not comparison.is_ratio or first is None or second is None:
        return ""
    if not metric_titles.is_share(parts[0].metric):
        gap = first.estimate.value - second.estimate.value
        return f"the difference is {numbers.number(gap, 2)}"
    points = headlines.gap_of_small_rates(finding, parts[0])
    return f"at rates this small, consider the difference: {points}" if points else ""


def _missing(finding: Finding) -> Iterator[str]:
    """The reason for missing bounds, or the groups that missing values could put over a limit."""
    bounds = finding.missing
    if bounds is None:
        return
    if bounds.low is None or bounds.high is None:
        yield f"the effect of missing values is not calculated, because {bounds.reason}"
        return
    others = [numbers.group_in(other.group, other.stratum) for other in bounds.others]
    groups = numbers.first_few([group for group in others if group], separator="; ")
    if groups and bounds.turns and finding.status is not Status.FAIL:
        # A failed check cannot become worse.
        yield f"missing values could put {groups} over a limit"
    if not bounds.missing_group:
        return
    spread = "spread over the groups in proportion to their sizes"
    for assumption, low, high in (
        ("left out", bounds.apart_low, bounds.apart_high),
        (spread, bounds.proportional_low, bounds.proportional_high),
    ):
        if low is not None and high is not None:
            ends = dict.fromkeys((numbers.number(low), numbers.number(high)))
            yield f"if people with unknown group are {assumption}, the value is {' to '.join(ends)}"


_ERRORS = {"fp": "false positive", "fn": "false negative", "tp": "true positive"}


def people_of_gap(finding: Finding, count: float) -> str:
    """The people of a gap: `people selected`, `people with the outcome`, `false positives`."""
    metric = finding.parts[0].metric
    noun = "person" if count == 1 else "people"
    if outcome := metric_titles.participle(metric, finding.check.of):
        is_burden = isinstance(finding.check, Check) and finding.check.burden
        return f"{noun} {'with the outcome' if is_burden else outcome}"
    word = _ERRORS.get(" ".join(getattr(find_metric(metric), "over", ())), "")
    return f"{word}{'' if count == 1 else 's'}" if word else noun


def backing(finding: Finding) -> str:
    """The reason why the evidence does not support a value over or within its limit, or ""."""
    if not finding.not_enough_evidence:
        return headlines.WITHIN.get(finding.backing, "")
    p, adjusted = finding.p, finding.adjusted_p
    is_alone = p is not None and p < finding.check.inference.alpha <= (adjusted or 0)
    if is_of_others(finding):
        why = "the groups differ, but no pair over the limit differs significantly"
    elif finding.backing is EvidenceStatus.NOT_SIGNIFICANT and is_alone:
        why = "significant alone, but not after correction for all tests of the spec"
    elif finding.backing in _LACKING:
        why = _LACKING[finding.backing].format(hypothesis=hypothesis(finding))
    else:
        # The warning limit decides, although the value is also over the failing limit.
        limit = headlines.limit_words(finding, finding.check.fail)
        return f"over the limit ({limit}), but not enough evidence"
    return f"not enough evidence: {why}"


def hypothesis(finding: Finding) -> str:
    """The hypothesis of a finding's test, in words that follow "if there were"."""
    check = finding.check
    test = None if finding.estimate is None else finding.estimate.significance
    if test is not None and test.test == EQUAL_CHANGES:
        return "equal changes in all groups"
    return check.hypothesis if isinstance(check, Check) else NO_DISPARITY


def answer_by_interval(finding: Finding, interval: str) -> str:
    """`interval` after `Yes` if it is on one side of the limit, or after `Unclear` if not."""
    estimate, limit = finding.estimate, finding.limit
    if estimate is None or not isinstance(limit, Limit):
        return interval
    low, high = estimate.low or 0.0, estimate.high or 0.0
    beyond = headlines.beyond_words(finding)
    is_shown = limit.excludes(low, high) if beyond else limit.includes(low, high)
    answer = f"{'Yes' if is_shown else 'Unclear'}: {interval}"
    answer += "" if is_shown else ", which includes the limit"
    if not (is_shown or limit.conclusive):
        by = "value and p" if limit.significant else "value"
        answer += f"; this check decides by the {by}, not by the interval"
    return f"Is the true value {beyond or 'within the limit'}? {answer}"


def is_of_others(finding: Finding) -> bool:
    """Whether the test is significant, but not for groups whose value is over the limit."""
    if not finding.not_enough_evidence or finding.backing is not EvidenceStatus.NOT_SIGNIFICANT:
        return False
    return finding.adjusted_p is not None and finding.adjusted_p < finding.check.inference.alpha


def sides_of_gap(finding: Finding) -> tuple[Side, Side]:
    """The worse-off side of a gap, to which the people of the gap belong, and the other side."""
    affected, part = finding.practice, finding.parts[0]
    assert affected is not None
    assert part.first is not None
    assert part.second is not None
    low, high = sorted((part.first, part.second), key=lambda side: side.estimate.value)
    return (high, low) if affected.burden else (low, high)


def people_to_limit(finding: Finding) -> list[str]:
    """Texts on how many people it takes to reach the limit or the rate of the other side."""
    affected = finding.practice
    if affected is None or not (finding.not_enough_evidence or finding.status is not Status.PASS):
        return []
    way = "fewer" if affected.burden else "more"
    worse, better = map(headlines.side, sides_of_gap(finding))

    def who(count: int) -> str:
        return f"{numbers.whole(count)} {way} {people_of_gap(finding, count)}"

    texts = []
    if affected.to_limit:
        texts.append(f"with {who(affected.to_limit)}, {worse} would be within the limit")
    if affected.to_parity:
        more = f"with {numbers.whole(affected.to_parity)} {way}, both rates would be equal"
        alone = f"with {who(affected.to_parity)}, {worse} would have the same rate as {better}"
        texts.append(more if texts else alone)
    if affected.flips:
        texts.append("one different decision reverses the gap")
    return ["; ".join(texts)]


def few_people(finding: Finding) -> str:
    """Which gaps a pass may have missed because of few people; empty with enough people."""
    gap = finding.detectable
    if gap is None:
        return ""
    sides = [
        f"less than {numbers.gap(distance)} {side}"
        for distance, side in ((gap.down, "below"), (gap.up, "above"))
        if not math.isnan(distance)
    ]
    groups = numbers.group_in(gap.group, gap.stratum)
    size = f"{numbers.whole(gap.n)} against {describe_people(gap.m)}"
    if any(side.estimate.weighted for side in finding.parts[0].sides):
        size += ", effective sizes"
    level = "" if gap.level is None else f" (test level {f'{gap.level:.3g}'.removeprefix('0')})"
    apart = f"a rate that is {' or '.join(sides)} the other rate"
    missed = apart if sides else "even the widest possible gap to the other rate"
    power = f"it finds such a gap in fewer than {100 * gap.power:g} % of samples of this size"
    return f"the test of {groups} ({size}) may miss {missed}: {power}{level}"


def not_judged(finding: Finding) -> Iterator[str]:
    """The groups and strata that a check left out, a line for each reason."""
    by_reason: dict[str, list[str]] = {}
    for row in finding.not_evaluated:
        if not row.blocks:
            detail = f" ({row.detail})" if row.detail else ""
            text = numbers.group_in(row.group, row.stratum) + detail
            by_reason.setdefault(row.reason, []).append(text)
    for reason, groups in by_reason.items():
        listed = numbers.first_few(groups, separator="; ")
        yield f"{reason}{f': {listed}' if listed else ''}"


_ROUNDING = 1e-12
_NO_FAILURE = {Status.PASS, Status.SKIPPED, Status.INCONCLUSIVE, Status.WAIVED}


def waiver(waived: Waived, finding: Finding) -> str:
    """A waiver in words; the waived values are left out if the headline has them."""
    groups = names.describe_group(waived.group) if waived.group else "the whole check"
    hidden = [breach for breach in waived.crossed if breach not in finding.crossed]
    is_named = [(breach.group, breach.stratum) for breach in hidden] == [(waived.group, ())]
    values = numbers.number(hidden[0].signed_value) if is_named else breaches(hidden)
    return f"{groups}{f' ({values})' if values else ''} {terms(waived)}"


def terms(waiver: Waived | Waiver) -> str:
    """The expiry of a waiver, its approver, and its reason."""
    by = names.line(waiver.approved_by)
    return f"until {waiver.expires}, approved by {by}: {names.line(waiver.reason)}"


def compare_with_baseline(finding: Finding, before: Before) -> str:
    """How a check over its limit compares with the baseline; empty if it is within its limit."""
    if before.worse or before.reversals:
        only_warned = before.status == Status.WARN and not (before.worse_by or 0) > 0
        if only_warned or before.status in _NO_FAILURE:
            return f"before: {before.status}, {created(before.earlier)}"
        unknown = (
            "a group is farther over the limit than before"
            if finding.departures is not None
            else "no value before"
        )
        earlier = [
            unknown if value is None else f"{numbers.number(value)} before"
            for value in before.own_worse
        ]
        pairs = zip(before.worse, earlier, strict=True)
        values = [f"{breach_words(breach)} ({then})" for breach, then in pairs]
        values += map(reversals.pair, before.reversals)
        worst = _earlier_worst(finding, before)
        return f"worse than before: {numbers.first_few(values)}{worst}, {_when(before)}"
    is_beyond = bool(finding.crossed or finding.reversals)
    # Only if the failing limit decided, not the warning limit.
    fails = finding.check.fail is not None and finding.limit == finding.check.fail
    if not is_beyond or finding.status is Status.WAIVED or not fails:
        return ""
    if finding.status is Status.FAIL:  # published: nothing was compared
        when = created(before.earlier)
        return f"published numbers are not compared with the baseline ({before.status}, {when})"
    groups = " against ".join(map(names.describe_group, before.between))
    moved = f"; previously between other groups: {groups}" if groups else ""
    if finding.reversals:
        return f"not worse than before: {_when(before)}{moved}"
    now = math.nan if finding.estimate is None else finding.estimate.value
    own = math.nan if before.own is None else before.own
    worst = "" if before.between else _earlier_worst(finding, before)
    both, farther = f"{numbers.number(now)} now, {numbers.number(own)}", before.worse_by or 0
    how = "not worse than before"
    if abs(farther) > _ROUNDING:
        how = f"worse than before by {numbers.number(farther)}, within the tolerance"
        how = how if farther > 0 else "better than before"
    return f"{how}: {both} {_when(before)}{worst}{moved}"


def _earlier_worst(finding: Finding, before: Before) -> str:
    """The groups that decided the check in the baseline; empty if they still decide it."""
    if before.value is None or not before.decided_by or before.is_decided_alike(finding):
        return ""
    if finding.spread and frozenset(before.stratum) == frozenset(finding.stratum):
        return f"; then {deciding_groups(before)}"  # the value printed before is of the same spread
    return f"; the worst before: {deciding_groups(before)} {numbers.number(before.value)}"


def deciding_groups(before: Before) -> str:
    """The groups that decided a check in the baseline, and their stratum."""
    groups = " against ".join(map(names.describe_group, before.decided_by))
    return f"{groups}{numbers.in_stratum(before.stratum)}"


def _when(before: Before) -> str:
    return f"{created(before.earlier)}, tolerance {before.earlier.tolerance}"


def baseline_origin(earlier: Earlier, day: str) -> str:
    """The file, age and tolerance of a baseline."""
    path = names.copied(earlier.path) if earlier.path else "a document"
    return f"{path}, created {day} ({age(earlier)}), tolerance {earlier.tolerance}"


def created(earlier: Earlier) -> str:
    """When a baseline was made: `on 2026-05-01 (12 days ago)`."""
    return f"on {earlier.created[:10]} ({age(earlier)})"


def age(earlier: Earlier) -> str:
    """How old a baseline is: `today`, `12 days ago`."""
    if not earlier.days:
        return "today"
    days = numbers.counted(abs(earlier.days), "day")
    return f"{days} ago" if earlier.days > 0 else f"{days} after this run"


def breaches(crossed: Sequence[Breach]) -> str:
    """The groups beyond a limit with their values: the first few, and the number of others."""
    return numbers.first_few([breach_words(breach) for breach in crossed])


def breach_words(breach: Breach) -> str:
    """A group beyond a limit with its value: `race=A in department=y 4.7800`."""
    value = numbers.number(breach.signed_value)
    return f"{numbers.group_in(breach.group, breach.stratum)} {value}".strip()

"""The headline of a check in one sentence: groups, their difference, the value and its limit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal

from fairaudit.base import names
from fairaudit.evidence.records import ComparisonPart, Side
from fairaudit.judge import (
    Check,
    EvidenceStatus,
    Finding,
    Limit,
    ReversalCheck,
    Status,
    SubgroupCheck,
)
from fairaudit.judge.checks import ReversalLimit
from fairaudit.judge.left_out import NOTABLE_OF_GROUP, LeftOutGroup, LeftOutPeople, LeftOutReason
from fairaudit.judge.simpson import Reversal, ReversalKind
from fairaudit.judge.subgroups import Subgroup
from fairaudit.metrics import Eligibility, GroupMetric, Requirement, TableMetric
from fairaudit.metrics.estimate import Estimate
from fairaudit.metrics.pair_intervals import Scale
from fairaudit.metrics.rates import SELECTION_RATE
from fairaudit.metrics.reasons import describe_people
from fairaudit.report import checks, metric_titles, numbers, reversals

_PASSED = {
    ReversalKind.EVERY_STRATUM: "is reversed in every stratum",
    ReversalKind.ADJUSTED: "is reversed after adjustment",
    ReversalKind.MOST_PEOPLE: "is reversed by strata",
    ReversalKind.OPPOSITE: "is reversed by strata or opposite in them",
    ReversalKind.MASKED: "is reversed by strata, opposite in them or hidden in the aggregate",
    ReversalKind.EXPLAINED: "is reversed by strata, opposite in them, hidden or explained",
}
"""The end of "no gap …" if a check finds no reversal, by the kind that its limit names."""
WITHIN = {
    EvidenceStatus.SIGNIFICANT_WITHIN: "within the limit, but significant",
    EvidenceStatus.NOT_CONCLUSIVE: "within the limit, but the interval includes the limit",
}
"""The reason for doubt about a value within its limit."""
_LEFT_OUT = {
    LeftOutReason.UNKNOWN_GROUP: "with unknown group",
    LeftOutReason.EXCLUDED: "in excluded groups",
    LeftOutReason.UNKNOWN_STRATUM: "with unknown stratum",
    LeftOutReason.STRATUM: "in strata that are not estimable or almost weightless",
    LeftOutReason.TOO_SMALL: "in groups that are too small",
    LeftOutReason.UNKNOWN_OUTCOME: "with unknown outcome",
    LeftOutReason.NOT_REACHED: "groups to which the outcome does not apply",
    LeftOutReason.WEIGHTLESS: "of almost no weight",
    LeftOutReason.UNMATCHED: "without an equal person to compare them with",
    LeftOutReason.DROPPED: "in dropped rows",
    LeftOutReason.UNDECIDED: "in rows that the filter cannot decide",
    LeftOutReason.HIDDEN: "hidden at the site that counted them",
}
MISLEADING_RATE = 0.1
"""Below this reference rate, a ratio is shown together with the difference."""
_FEW_GROUPS = 3
_NEAR = 1e-9
_MOST_LOG = 20
"""A limit on ε below this number is also shown as a ratio."""
_MANY_TIMES = 2
"""Ratios from this number on are written as `2.4 times`, smaller ones in per cent."""


def headline(finding: Finding) -> str:
    """A finding in one sentence; the name of its check, if any, is in front."""
    name = names.line(finding.check.about.name)
    standing = WITHIN.get(finding.backing, "")
    if finding.status is Status.WAIVED and finding.waived:
        standing = f"waived until {finding.waived[0].expires}"
    elif finding.not_enough_evidence:
        standing = "over the limit, but not enough evidence"
    parts = [_sentence(finding), standing]
    text = "; ".join(filter(None, [", ".join(filter(None, parts)), left_out(finding)]))
    return f"{name}: {text}" if name else text


def left_out(finding: Finding) -> str:
    """The number of people and groups that a check leaves out, and why; empty for small numbers."""
    people = finding.left_out
    if people is None or not (people.is_notable or finding.people_without_bounds):
        return ""
    if people.people is None or people.of_people is None:
        few = "more than a tenth of the people or groups, or a quarter of a group, may be left out"
        return f"{few} (numbers are suppressed)"
    texts = []
    if people.people:
        texts.append(_count_of(people.people, describe_people(people.of_people), people))
    if people.groups and people.of_groups:
        groups = numbers.counted(people.of_groups, "group")
        texts.append(f"{people.groups:,} of {groups}")
    if group := people.find_loser(NOTABLE_OF_GROUP):
        whom = f"{describe_people(group.of_people)} of {names.describe_group(group.group)}"
        texts.append(_count_of(group.people, whom, group))
    text = f"{', '.join(texts[:-1])} and {texts[-1]}" if len(texts) > 1 else texts[0]
    check, words, reasons = finding.check, {**_LEFT_OUT}, list[str]()
    if isinstance(check, Check) and Requirement.FEATURES in check.metric.requirements:
        words[LeftOutReason.UNKNOWN_OUTCOME] = "without an outcome or a feature"
    if isinstance(check, SubgroupCheck):  # it has no strata
        words[LeftOutReason.UNKNOWN_STRATUM] = "without a feature"
    for part in people.reasons:
        number = f"{part.people:,} " if part.people and len(people.reasons) > 1 else ""
        between = "; " if any(group[1:] for group in part.groups) else ", "
        named = [*map(names.describe_group, part.groups)]
        groups = numbers.first_few(named, _FEW_GROUPS, between)
        reasons.append(f"{number}{words[part.reason]}{f' ({groups})' if groups else ''}")
    accepted = check.accept_left_out
    if accepted is not None:
        reasons.append(f"accepted up to {numbers.percent(float(accepted))}")
    if finding.people_without_bounds:
        reasons[-1] += ", and the verdict could change"
    return f"{text} are left out: {', '.join(reasons)}"


def _count_of(people: int, whom: str, shares: LeftOutPeople | LeftOutGroup) -> str:
    """`25 of 50 people (50.0 %)`; if the data has weights, also their share of the weight."""
    of_people = shares.of_people or 0
    share = numbers.percent(people / of_people) if of_people else ""
    if shares.weight is not None:
        share = f"{share}, {numbers.percent(shares.weight)} of the weight"
    return f"{people:,} of {whom} ({share})"


def most_left_out(findings: Iterable[Finding]) -> str:
    """The `left_out` text of the check with the largest share, and the number of other texts."""
    notable = [
        (finding.left_out.largest_share, text)
        for finding in findings
        if finding.left_out is not None and (text := left_out(finding))
    ]
    if not notable:
        return ""
    more, text = len(notable) - 1, max(notable, key=lambda pair: pair[0])[1]
    return text + (f", and some in {numbers.counted(more, 'more check')}" if more else "")


def turning(findings: Iterable[Finding]) -> str:
    """A text on checks whose verdict missing values could change; empty without such checks."""
    turns = [finding.check.id for finding in findings if finding.could_change]
    ids = [*map(names.line, dict.fromkeys(turns))]
    what = f"missing values could change the verdict of {numbers.counted(len(ids), 'check')}"
    return f"{what}: {numbers.first_few(ids, _FEW_GROUPS)}" if ids else ""


def value(finding: Finding) -> str:
    """The deciding value, with enough digits to compare it with limits; empty without a value."""
    estimate = finding.estimate
    if estimate is None:
        return ""
    scale, unit = _unit(finding)
    by_limits = bounds(finding) + [Decimal(0)] * bool(unit)
    text = numbers.estimate_beside(estimate, by_limits, digits(finding), scale)
    return text + unit * text[-1].isdigit()


def interval(finding: Finding) -> str:
    """The ends of the interval of the value, with enough digits to compare them with its limits."""
    estimate = finding.estimate
    if estimate is None or estimate.suppressed or estimate.low is None or estimate.high is None:
        return ""
    return ends(finding, estimate.low, estimate.high)


def ends(finding: Finding, *values: float) -> str:
    """Both ends of a range, with enough digits to compare them with limits."""
    by_limits, most, (scale, unit) = bounds(finding), digits(finding), _unit(finding)
    known = (float(f"{end:.12g}") for end in values)
    texts = (numbers.number_beside(end, by_limits, digits=most, scale=scale) for end in known)
    return " to ".join(dict.fromkeys(texts)) + unit


def _unit(finding: Finding) -> tuple[int, str]:
    """The factor and the unit for the value of a check; a difference of shares is in points."""
    check, comparison = finding.check, checks.comparison_of(finding)
    if isinstance(check, SubgroupCheck):
        rates = [check.rate]
    elif comparison is None or comparison.scale is not Scale.DIFFERENCE:
        rates = []
    else:
        rates = [rate.id for rate, _ in getattr(getattr(check, "metric", None), "parts", ())]
    is_gap = rates and all(map(metric_titles.is_share, rates))
    return (100, " points") if is_gap else (1, "")


def digits(finding: Finding) -> int:
    """The number of decimals for the value of a check, its interval and its limits."""
    estimates = [] if finding.estimate is None else [finding.estimate]
    least = metric_titles.decimals_of(finding, 3)
    digits = numbers.digits_of_values(estimates, bounds(finding), least)
    return digits if _unit(finding)[0] == 1 else digits - 2  # in points


def bounds(finding: Finding) -> list[Decimal]:
    """All bounds of both limits of a check."""
    limits = (finding.check.fail, finding.check.warn)
    return [bound for limit in limits if isinstance(limit, Limit) for bound in limit.bounds]


def limits(finding: Finding, *, as_written: bool = False) -> str:
    """The limits of a check, in words: `fails below 0.8; warns below 0.9`."""
    pairs = (("fails", finding.check.fail), ("warns", finding.check.warn))
    words = {Limit: "{}", ReversalLimit: "on a reversal ({})"}
    texts = [
        (word, words[type(limit)].format(limit if as_written else limit_words(finding, limit)))
        for word, limit in pairs
        if limit is not None
    ]
    return "; ".join(f"{word} {text.replace('_', ' ')}" for word, text in texts)


def limit_words(finding: Finding, limit: Limit | ReversalLimit | None) -> str:
    """A limit with its unit: `above 10 points`, of ε `above 5: e^5 = 148 times as likely in …`."""
    text, unit = str(limit), ""
    if isinstance(limit, Limit):
        scale, unit = _unit(finding)
        text = str(limit if scale == 1 else limit.scaled(scale))
        metric = getattr(finding.check, "metric", None)
        is_epsilon = isinstance(metric, TableMetric) and "ε" in metric.short
        log = limit.above or Decimal(0)
        if is_epsilon and not getattr(metric, "subtracts_label", False) and 0 < log < _MOST_LOG:
            factor = float(f"{math.exp(log):.3g}")
            unit = f": e^{log} = {factor:,g} times as likely in one group as in another"
    bounds, evidence, asked = text.partition(", if ")
    return f"{bounds}{unit.removesuffix('s' * bounds.endswith(' 1'))}{evidence}{asked}"


def _sentence(finding: Finding) -> str:
    check, estimate = finding.check, finding.estimate
    if isinstance(check, ReversalCheck):
        return _reversals(finding, check)
    # The standard names of outcomes, such as `decision`, give no information: they are left out.
    is_named = isinstance(check, Check) and check.of not in metric_titles.UNNAMED
    of = f"{names.name(check.of)}: " if is_named else ""
    if estimate is None or not isinstance(finding.limit, Limit):
        why = checks.reasons(finding).removeprefix(f"{check.metric_id}: ")
        return f"{of}{subject(finding)}{_where(finding)}: not evaluated ({why})"
    if estimate.suppressed:
        return f"{of}{subject(finding)}{_where(finding)}: its numbers are suppressed"
    if isinstance(check, SubgroupCheck):
        subgroup = finding.subgroup
        if subgroup is None:
            return _plain(finding)
        title, size = metric_titles.title(check.rate, check.of), divergence(finding, subgroup)
        text = f"{title} of {names.people(subgroup.group)} is {size} that of all people"
        too_small = (
            item.reason
            for item in finding.not_evaluated
            if not item.group and item.standing is Eligibility.SMALL
        )
        return "; ".join([text, *too_small])
    text = compared(finding, check, estimate)
    if not text and isinstance(check.metric, GroupMetric) and check.against is None:
        title = metric_titles.title(check.metric.id, check.of)
        if finding.first:
            text = f"{title} of {names.people(finding.first)} is {with_limit(finding)}"
    where = _where(finding)
    where = f", judged with{where[1:]}" if estimate.unsmoothed else where
    return f"{of}{text}{where}" if text else f"{of}{_plain(finding)}"


def divergence(finding: Finding, subgroup: Subgroup) -> str:
    """How far the rate of a subgroup is from the rate of all people: `4.5 points above`."""
    by_limits = [*bounds(finding), Decimal(0)]
    exact = abs(subgroup.exact)
    return metric_titles.gap(SELECTION_RATE.id, subgroup.divergence, by_limits, exact)[0]


def subject(finding: Finding) -> str:
    """The measure and the attributes of a check, in few words."""
    check = finding.check
    if isinstance(check, ReversalCheck | SubgroupCheck):
        return checks.title(finding)
    title = ", ".join(filter(None, checks.heading_of(check)))
    if check.over_groups is not None:
        title += f", {check.over_groups} over groups,"
    return f"{title} by {numbers.subset(check.by)}"


def _where(finding: Finding) -> str:
    """The stratum, outcome, threshold and parameters, which distinguish checks of one metric."""
    check = finding.check
    if not isinstance(check, Check):
        return ""
    details = [*checks.details(check)]
    if finding.stratum:
        details.append(f"in {names.people(finding.stratum)}")
    elif check.given:
        details.append(check.describe_given())
    return "".join(f", {detail}" for detail in details)


def compared(finding: Finding, check: Check, estimate: Estimate) -> str:
    """A sentence on two sides, if the value is their ratio, difference or log-ratio; else empty."""
    parts = checks.deciding_parts(finding)
    if checks.averages_classes(finding) or check.over_groups is not None:
        return ""
    if len(parts) != 1 or parts[0].first is None or parts[0].second is None:
        return ""
    part, first, second = parts[0], parts[0].first, parts[0].second
    apart = _apart(finding, part, estimate)
    if part.outcome is None:
        sides = first, second
        return contrast(part.metric, check.of, sides, apart, burden=check.burden) if apart else ""
    high, low = first, second
    if estimate.unsmoothed is None:
        high, low = sorted((first, second), key=lambda rated: -rated.estimate.value)
    occurs, name = names.quoted(part.outcome), symbol(finding)
    if low.estimate.value == 0 < high.estimate.value and estimate.value == math.inf:
        return f"{occurs} occurs in {side(high)}, never in {side(low)} ({name} {value(finding)})"
    if apart is None:
        return ""
    if part.outcome == "positive" and metric_titles.participle(SELECTION_RATE.id, check.of):
        often = apart[0], f"{apart[0]} as often as"
        text = contrast(SELECTION_RATE.id, check.of, (high, low), often, burden=check.burden)
    else:
        text = f"{occurs} is {apart[1]} {side(high)} as for {side(low)}"
    number, _, raw = value(finding).removesuffix(" without smoothing)").partition(" (")
    raw = f"a rate of 0 makes it {raw}" if raw == "∞" else raw
    raw = f"; without smoothing, {raw}" if raw else ""
    return f"{text} ({name} {number}: {apart[0].split()[0]} = e^{name}{raw})"


def _apart(finding: Finding, part: ComparisonPart, estimate: Estimate) -> tuple[str, str] | None:
    """The texts `apart` of `contrast` for both rates; None if the rates do not give the value."""
    comparison = checks.comparison_of(finding)
    a, b = (side.estimate.value for side in part.sides)
    if part.outcome is not None:
        # If an outcome is N times as likely on one side as on the other, ε is the logarithm of N.
        high, low = max(a, b), min(a, b)
        if estimate.unsmoothed is not None and estimate.value < _MOST_LOG:
            high, low = math.exp(estimate.value), 1.0
        if not (low > 0 and math.isclose(math.log(high / low), estimate.value, rel_tol=_NEAR)):
            return None
        factor = numbers.number_beside(high / low, [Decimal(1)], digits=2)
        return f"{factor} times", f"{factor} times as likely for"
    is_known = all(map(math.isfinite, (a, b, estimate.value)))
    if not is_known or comparison is None or not comparison.is_plain:
        return None
    if comparison.scale is Scale.RATIO and b and math.isclose(a / b, estimate.value, rel_tol=_NEAR):
        return ("", "") if estimate.value == 1 else times(estimate, bounds(finding))
    is_gap = math.isclose(abs(a - b), abs(estimate.value), rel_tol=_NEAR, abs_tol=_NEAR)
    if comparison.scale is not Scale.DIFFERENCE or not is_gap:
        return None
    by_limits = [*map(abs, bounds(finding)), Decimal(0)]
    exact = None if estimate.exact is None else abs(estimate.exact)
    size = metric_titles.gap(part.metric, a - b, by_limits, exact)
    return ("", "") if a == b else size


def digits_of_sides(finding: Finding, part: ComparisonPart) -> int:
    """The number of decimals with which both printed rates give the printed value."""
    rates, estimate = [side.estimate for side in part.sides], finding.estimate
    least = metric_titles.digits_of_rates(part.metric, [rates])
    if estimate is None or estimate.suppressed or estimate.unsmoothed or len(rates) < 2:
        return least
    size, _ = _apart(finding, part, estimate) or ("", "")
    first, second = (rate.value for rate in rates)
    comparison, texts = checks.comparison_of(finding), [size, value(finding)] if size else []
    is_ratio = comparison is not None and comparison.is_ratio
    if part.outcome is not None and size:  # a log-ratio, whose sentence has the ratio
        is_ratio, texts, (first, second) = True, [size], sorted((first, second), reverse=True)
    results = [(first, second, text, is_ratio) for text in texts]
    results += [(first, second, gap, False) for gap in [gap_of_small_rates(finding, part)] if gap]
    return metric_titles.digits_that_give(part.metric, results, least)


def gap_of_small_rates(finding: Finding, part: ComparisonPart) -> str:
    """The difference of two shares in points, if they are so small that a ratio misleads."""
    comparison, rates = checks.comparison_of(finding), [side.estimate.value for side in part.sides]
    if comparison is None or not comparison.is_ratio or not metric_titles.is_share(part.metric):
        return ""
    base, gap = max(rates) if finding.spread else rates[-1], rates[0] - rates[-1]
    if math.isnan(base) or base >= MISLEADING_RATE or len(rates) < 2:
        return ""
    return f"{numbers.points(gap, numbers.digits_of_shares([rates, [gap]]))} points"


def contrast(
    metric: str, of: str, sides: Sequence[Side], apart: tuple[str, str], *, burden: bool
) -> str:
    """A sentence on two sides by one rate: `women are selected 62 % as often as men`.

    `apart` contains two texts about the first side: its rate (`62 % of`), and how often the rate
    counts its people (`62 % as often as`). Both are empty if the rates are the same.
    """
    title, (size, often) = metric_titles.title(metric, of), apart
    first, second = map(side, sides)
    if not size:
        return f"{title} of {first} and of {second} is the same"
    last = first.rpartition(" ")[2].strip("'\"").casefold()
    is_plural = last in {"men", "women", "people"} or (last[-1:] == "s" and last[-2:] != "ss")
    plural = len(sides[0].group) == 1 and is_plural
    happens = metric_titles.happens(metric, of, burden=burden, plural=plural)
    if often and happens:
        return f"{first} {happens} {often} {second}"
    return f"{title} of {first} is {size} that of {second}"


def times(ratio: Estimate, bounds: Sequence[Decimal] = ()) -> tuple[str, str]:
    """Two texts on a ratio, about rates and about people: `62 % of`, `62 % as often as`."""
    is_small = ratio.value < _MANY_TIMES
    digits, scale, unit = (0, 100, " %") if is_small else (2, 1, " times")
    by_one = [*bounds, Decimal(1)]
    size = numbers.number_beside(ratio.value, by_one, ratio.exact, digits=digits, scale=scale)
    return f"{size}{unit}{' of' * is_small}", f"{size}{unit} as often as"


def _plain(finding: Finding) -> str:
    """A sentence on a value of any kind, with its groups and outcome, if it has them."""
    where = _where(finding)
    text = f"{subject(finding)}{where}{',' * bool(where)} is {with_limit(finding)}"
    groups = [names.people(group) for group in checks.pair_of(finding) if group]
    parts = checks.deciding_parts(finding)
    outcome = parts[0].outcome if len(parts) == 1 else None
    which = ""
    if checks.averages_classes(finding) and finding.decided_by is not None:
        which = f"farthest in class {names.quoted(finding.decided_by)}: "
    if parts and getattr(finding.check, "over_groups", None):
        pairs = {part.of: " against ".join(map(side, part.sides)) for part in parts}
        far = (f"{pair} by {names.name(of)}" if of else pair for of, pair in pairs.items())
        size = f"{ends(finding, parts[0].value)} for " * (len(parts) == 1)
        groups, which = [", ".join(far)], f"farthest: {size}"
    if groups and outcome is not None and not which:
        return f"{text} for {names.quoted(outcome)}, {' against '.join(groups)}"
    return f"{text} ({which}{' against '.join(groups)})" if groups else text


def with_limit(finding: Finding) -> str:
    """The value and the limit that it crosses: `0.616, below 0.8`."""
    beyond = beyond_words(finding)
    return f"{value(finding)}{f', {beyond}' if beyond else ''}"


def beyond_words(finding: Finding) -> str:
    """`below 0.8` if the value is beyond its limit; empty if it is within."""
    estimate, limit = finding.estimate, finding.limit
    if estimate is None or not isinstance(limit, Limit):
        return ""
    if not finding.crossed and not limit.is_crossed(estimate.value, estimate.exact):
        return ""
    is_low = limit.below is not None and estimate.value < float(limit.below) + _NEAR
    is_low = is_low and (limit.above is None or estimate.value <= float(limit.above))
    scale, unit = _unit(finding)
    limit = limit if scale == 1 else limit.scaled(scale)
    text = f"below {limit.below}" if is_low else f"above {limit.above}"
    return text + unit.removesuffix("s" * text.endswith(" 1"))


def _reversals(finding: Finding, check: ReversalCheck) -> str:
    title = metric_titles.title(check.rate, check.of)
    if not finding.reversals:
        limit, scope = finding.limit, reversals.describe_scope(finding.compared or check.scope)
        if finding.status is Status.INCONCLUSIVE or not isinstance(limit, ReversalLimit):
            return f"reversals of {title} ({scope}): not evaluated ({finding.why})"
        if finding.status in {Status.FAIL, Status.WARN, Status.WAIVED}:
            return f"a gap in {title} is reversed by strata: its numbers are suppressed"
        among = "among people with known values " * bool(finding.people_without_bounds)
        return f"{among}no gap in {title} {_PASSED[limit.kind]} ({scope})"
    text = reversal_headline(finding.reversals[0], title)
    if not finding.reversals[0].is_significant(finding.check.inference.alpha):
        text += f"; this {reversals.MAY_BE_CHANCE}"
    others = len(finding.reversals) - 1
    return text + (f" (and {numbers.counted(others, 'similar finding')})" if others else "")


def reversal_headline(reversal: Reversal, title: str) -> str:
    """A sentence on the gap between two groups overall and within strata."""
    first, second = reversals.sides(reversal)
    within = reversals.within(reversal)
    gap = reversals.gap(reversal.crude)
    size = f"{gap} overall than" if reversal.crude else "the same overall as"
    but = "" if reversal.kind is ReversalKind.OPPOSITE else "but "
    return f"{title} of {first} is {size} that of {second}, {but}{within}"


def symbol(finding: Finding) -> str:
    """The symbol of the value of a check, such as ε; `value` if it has no symbol."""
    check = finding.check
    return (isinstance(check, Check) and check.metric.short) or "value"


def side(people: Side) -> str:
    """The name of a side: a group, everybody, or everybody else."""
    if people.crowd is not None:
        return checks.POOLED_GROUPS.get(people.crowd, people.crowd)
    return names.people(people.group)

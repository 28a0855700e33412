"""The values that a check judges, and the reasons why it cannot judge other values or groups."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np

from fairaudit.base.arrays import Floats
from fairaudit.base.frozen import Frozen, replace
from fairaudit.base.names import describe_group, percent, quoted
from fairaudit.cube import Group, GroupTable, Ints, Marks
from fairaudit.evidence import Evidence
from fairaudit.evidence.pair_tests import LARGE_GROUP
from fairaudit.evidence.records import find_parts
from fairaudit.judge.checks import NEAR, Check, Limit
from fairaudit.judge.departures import list_departures
from fairaudit.judge.findings import NotEvaluated
from fairaudit.metrics import (
    Disparity,
    Eligibility,
    Evaluation,
    GroupMetric,
    GroupValues,
    Requirement,
    TableMetric,
    build_disparity,
    evaluate,
)
from fairaudit.metrics.comparisons import DIFFERENCE, ITSELF
from fairaudit.metrics.conditional import DEMOGRAPHIC_DISPARITY, PROPENSITY_STRATIFIED_DIFFERENCE
from fairaudit.metrics.differential_fairness import class_counts
from fairaudit.metrics.disparities import REMAINDER
from fairaudit.metrics.eligibility import find_group
from fairaudit.metrics.evaluate import evaluate_again
from fairaudit.metrics.evaluation_record import write_unsmoothed
from fairaudit.metrics.reasons import (
    Ineligibility,
    describe_people,
    explain_exclusion,
    explain_ineligibility,
    explain_undefined,
    explain_unknown,
)
from fairaudit.metrics.terms import EXTREME_REFERENCES, NO_GROUP
from fairaudit.stats import distributions
from fairaudit.stats.contingency import LEAST_EXPECTED
from fairaudit.stats.strata import gail_simon, pooled_variance

_MOST_UNDERWEIGHTED = 1000
"""A stratum is not judged if its share of the people is this many times its share of the weight."""

_MOST_OFF = 0.5
"""If more than this share of the people is not compared, a value cannot be judged."""

_IMPOSSIBLE = 0.001
"""A share is impossible under draws if its probability is less than this number."""

_ONE_ERROR = float(distributions.normal_two_sided(np.ones(1))[0])
"""The α of an interval that extends by one standard error on each side."""


class JudgedValue(Frozen):
    """One value to judge, with its stratum `z` and its column `w` in the evaluation."""

    z: int
    w: int
    value: float
    exact: Fraction | None
    n: int


def collect_entries(
    check: Check, evaluation: Evaluation
) -> tuple[list[JudgedValue], list[NotEvaluated]]:
    """The values that can be judged, and the reasons why other values cannot be judged."""
    table = evaluation.table
    entries: list[JudgedValue] = []
    missing = list(_list_groups_left_out(check, evaluation))
    in_strata = evaluation.strata or table
    occurs = in_strata.people[in_strata.known_strata].sum(axis=(1, 3))[:, :-1] > 0
    decides = (occurs.sum(axis=1) <= 1).all() and occurs.any(axis=0).sum() > 1
    reading = evaluation.group_values
    of_score = reading is not None and Requirement.SCORE in reading.metric.requirements
    if decides and (check.given or (check.strata and not of_score)):
        reason = f"the strata determine the {check.of}: within them there is nothing to compare"
        return [], [*missing, NotEvaluated((), (), reason, blocks=True)]
    if evaluation.strata is not None:
        missing += _list_off_support(evaluation, evaluation.strata)
    value, people = evaluation.value, _find_people(evaluation).tolist()
    limits = [limit for limit in (check.fail, check.warn) if limit is not None]
    distance = np.min([np.abs(limit.find_excess(value)) for limit in limits], axis=0)
    off, error = np.zeros((2, *value.shape))
    if evaluation.averaged is not None:
        off[:] = evaluation.averaged.off_support[:, : off.shape[1]]
    if evaluation.error is not None:
        error[:] = evaluation.error
    is_open = (error > 0) & (distance <= error)
    settled = ~np.isnan(value) & (off <= _MOST_OFF) & ~is_open
    for z, stratum in enumerate(table.strata):
        if not table.known_strata[z]:
            reason = _explain_unknown_stratum(table, z)
            missing.append(NotEvaluated((), stratum, reason, blocks=False, tells_people=True))
            continue
        alone = _explain_alone(evaluation, z) if check.given and not check.terms.average else None
        if alone is not None:
            missing.append(alone)
            continue
        missing += _list_too_small(evaluation, z)
        for w in np.flatnonzero(evaluation.judged[z] & ~settled[z]).tolist():
            if math.isnan(value[z, w]):
                reason = explain_undefined(evaluation, z, w)
            elif off[z, w] > _MOST_OFF:
                lost = percent(off[z, w])
                reason = f"{lost} of the people are in strata where one side is missing"
            else:
                how_much = f" by {error[z, w]:.1g}" if math.isfinite(error[z, w]) else ""
                reason = f"the bins of the score leave open{how_much} what the value is"
            group = () if evaluation.spread else table.groups[w]
            missing.append(NotEvaluated(group, stratum, reason, blocks=True))
        entries += [
            JudgedValue(
                z, w, float(value[z, w]),
                # Values close to a bound are compared as fractions.
                evaluation.exact(z, w) if distance[z, w] <= NEAR else None, people[z][w],
            )
            for w in np.flatnonzero(evaluation.judged[z] & settled[z]).tolist()
        ]  # fmt: skip
    if not entries and not any(item.blocks for item in missing):
        reason = explain_undefined(evaluation, 0, 0) if table.strata and not check.given else ""
        missing.append(NotEvaluated((), (), reason or "no group could be judged", blocks=True))
    return entries, missing


def _list_groups_left_out(check: Check, evaluation: Evaluation) -> Iterator[NotEvaluated]:
    """The groups that no stratum contains: they are excluded by a rule, or have no people."""
    table, minimum = evaluation.table, check.terms.minimum.size
    for g in np.flatnonzero(table.known & ~table.eligible).tolist():
        yield exclude_group(table.groups[g], (), explain_exclusion(table, g))
    nobody = table.eligible & (table.n.sum(axis=0) == 0) & ~evaluation.takes_part.any(axis=0)
    standing = Eligibility.SMALL if minimum else None
    for g in np.flatnonzero(nobody).tolist():
        group, blocks = table.groups[g], not minimum
        why = f"no people to count in {describe_group(group)}"
        yield NotEvaluated(group, (), why, blocks=blocks, standing=standing)


def _explain_alone(evaluation: Evaluation, z: int) -> NotEvaluated | None:
    """The reason why a stratum has no comparison; None if it has a comparison.

    Either the stratum has only one group, or the named reference is missing. A missing reference
    blocks the check. If a rule excludes the reference, each value has that reason, so this is None.
    """
    table, terms = evaluation.table, evaluation.terms
    if isinstance(evaluation.metric, GroupMetric):
        return None
    present = table.eligible & (table.n[z] > 0)
    people = f"({describe_people(int(table.n[z].sum()))})"
    reference_group = terms.reference.group if terms.reference else ()
    reference = find_group(table.groups, reference_group) if reference_group else NO_GROUP
    if reference != NO_GROUP and table.known[reference] and not table.eligible[reference]:
        return None
    if present.sum() < 2:
        besides = " besides those excluded" if (table.known & ~table.eligible).any() else ""
        reason = f"fewer than two groups occur in the stratum {people}{besides}: not estimable"
        return NotEvaluated((), table.strata[z], reason, blocks=False, tells_people=True)
    if reference_group and (reference == NO_GROUP or not present[reference]):
        name = describe_group(reference_group)
        reason = f"the reference {name} does not occur in the stratum {people}"
        return NotEvaluated((), table.strata[z], reason, blocks=True, tells_people=True)
    return None


def _explain_unknown_stratum(table: GroupTable, z: int) -> str:
    why = explain_unknown(table.strata[z]) or "the stratum is not known"
    return f"{why} ({describe_people(int(table.n[z].sum()))})"


def _list_too_small(evaluation: Evaluation, z: int) -> Iterator[NotEvaluated]:
    """The groups that have people but are too small to take part; the reason names the rate."""
    table = evaluation.table
    for part in evaluation.leaves:
        rate = f"{part.group_values.metric.id}: " if part.group_values else ""
        small = table.eligible & (table.n[z] > 0) & ~part.takes_part[z]
        for g in np.flatnonzero(small).tolist():
            ineligibility = explain_ineligibility(part, z, g)
            yield exclude_group(
                table.groups[g],
                table.strata[z],
                ineligibility._replace(why=rate + ineligibility.why),
            )


def exclude_group(group: Group, stratum: Group, ineligibility: Ineligibility) -> NotEvaluated:
    """The entry for a group that a rule excludes from comparisons."""
    eligibility, why, detail = ineligibility
    return NotEvaluated(group, stratum, why, blocks=False, detail=detail, standing=eligibility)


def find_passed_over(check: Check, evaluation: Evaluation) -> Marks:
    """Marks the strata without judged values, [Z, 1].

    These are unknown strata, strata with one group, and strata with a negligible weight. In a fit
    with several controls, strata with one group count as judged, because they inform the estimates
    of other strata.
    """
    table = evaluation.strata or evaluation.table
    passed_over = ~table.known_strata
    if check.given and evaluation.strata is None:
        alone = [_explain_alone(evaluation, z) is not None for z in range(len(table.strata))]
        passed_over = passed_over | np.array(alone, dtype=np.bool_)
    elif evaluation.averaged is not None or len(check.terms.parameters.controls) == 1:
        passed_over = passed_over | ((table.n[:, table.eligible] > 0).sum(axis=1) < 2)
    return (passed_over | mark_underweighted(evaluation, table))[:, None]


def mark_underweighted(evaluation: Evaluation, table: GroupTable) -> Marks:
    """Marks the strata that have a far smaller share of the weight than of the people, [Z]."""
    if evaluation.averaged is None:
        return np.zeros(len(table.strata), dtype=np.bool_)
    weights = evaluation.averaged.first_weights + evaluation.averaged.second_weights
    weight, people = np.nan_to_num(weights).max(axis=1, initial=0), table.n.sum(axis=1)
    return np.asarray(weight * people.sum() <= people * weight.sum() / _MOST_UNDERWEIGHTED)


def _list_off_support(evaluation: Evaluation, table: GroupTable) -> Iterator[NotEvaluated]:
    """The strata that an average leaves out.

    The strata are unknown, have (almost) no weight, or have only one side of a comparison. If one
    side is missing, the reason gives the share of the weight that is left out. A fit has no weights
    of strata, so there is one reason for all people that it leaves out.
    """
    if evaluation.averaged is None and not table.known_strata.all():
        n, names = int(table.n[~table.known_strata].sum()), " or ".join(table.given)
        reason = f"{n:,} {'person is' if n == 1 else 'people are'} left out: {names} is not known"
        yield NotEvaluated((), (), reason, blocks=False)
        return
    underweighted = mark_underweighted(evaluation, table)
    for z, stratum in enumerate(table.strata):
        if not table.known_strata[z]:
            reason = _explain_unknown_stratum(table, z)
            yield NotEvaluated((), stratum, reason, blocks=False, tells_people=True)
        elif evaluation.averaged is not None:
            if underweighted[z] and evaluation.averaged.support[z].any():
                people = describe_people(int(table.n[z].sum()))
                reason = f"(almost) no weight in the average: {people} left out"
                yield NotEvaluated((), stratum, reason, blocks=False, tells_people=True)
            shares = np.broadcast_to(
                evaluation.averaged.left_out[z], evaluation.takes_part.shape[1:]
            )
            about = evaluation.takes_part[0] if evaluation.spread else evaluation.judged[0]
            judged = np.flatnonzero(about & (shares > 0)).tolist()
            sides = [(table.groups[g], shares[g]) for g in judged]
            if evaluation.spread:
                sides = [((), share) for _, share in sides[:1]]
            for group, share in sides:
                left_out = percent(share)
                reason = f"not estimable, one side is missing: {left_out} of the weight left out"
                yield NotEvaluated(group, stratum, reason, blocks=False)


def _find_people(evaluation: Evaluation) -> Ints:
    """The number of people [Z, W] in the smallest denominator; a spread adds up all groups."""
    among = evaluation.takes_part
    counts = [leaf.group_values.n for leaf in evaluation.leaves if leaf.group_values is not None]
    if evaluation.table_value is not None:
        counts = [evaluation.table_value.n]
    if evaluation.spread:
        counts = [np.where(among, n, 0).sum(axis=1, keepdims=True) for n in counts]
    return np.broadcast_to(np.min(counts, axis=0), evaluation.value.shape)


_INFINITE = "infinite for only one of both outcomes: the change is undefined"


def find_hidden_by_few(limit: Limit, evaluation: Evaluation) -> Iterator[NotEvaluated]:
    """The strata where small groups hide that a difference of two maxima is over its limit.

    A small group may have the largest gap under both outcomes by chance. Then the difference of the
    two gaps is near 0, and hides the gaps of other groups. The check cannot be evaluated if the
    value is over the limit among large groups, or if one of the two gaps is infinite.
    """
    terms, whole = evaluation.terms, evaluation.table_value
    is_difference = evaluation.subtracts or bool(whole is not None and whole.parts)
    part = evaluation.parts[0] if evaluation.parts else evaluation
    is_maximum = evaluation.spread or part.terms.policy in EXTREME_REFERENCES
    if not (is_maximum and is_difference) or terms.minimum.events:
        return
    size = max(terms.minimum.size or 0, LARGE_GROUP)
    among_large = evaluate_again(evaluation, size, LEAST_EXPECTED)
    strata, known = evaluation.table.strata, evaluation.table.known_strata
    infinite = (np.isinf(evaluation.value) & evaluation.judged).any(axis=1)
    for z in np.flatnonzero(infinite & known).tolist():
        yield NotEvaluated((), strata[z], _INFINITE, blocks=True)
    fewer = (among_large.takes_part != evaluation.takes_part).any(axis=1)
    for z in np.flatnonzero(fewer & known).tolist():
        beyond = limit.mark_reached(among_large.value[z]) & among_large.judged[z]
        for value in among_large.value[z][beyond][:1].tolist():
            reason = (
                f"{value:.4f}, over the limit, among the groups of {LARGE_GROUP} people and more "
                f"where {LEAST_EXPECTED} of every outcome are expected: smaller groups hide it"
            )
            yield NotEvaluated((), strata[z], reason, blocks=True)


def find_hidden_by_smoothing(
    limit: Limit, evaluation: Evaluation, entries: Sequence[JudgedValue], evidence: Evidence
) -> Iterator[NotEvaluated]:
    """The strata where pseudo-counts hide a value that is significantly over the limit.

    The purpose of pseudo-counts is to avoid infinite values. So a value that is infinite without
    pseudo-counts is reported only if a group has fewer people than pseudo-counts.
    """
    table = evaluation.table
    pseudo = evaluation.terms.parameters.per_outcome(len(table.classes)) * len(table.classes)
    for entry in entries:
        unsmoothed = write_unsmoothed(evaluation, entry.z)
        raw = math.nan if unsmoothed is None else unsmoothed.value
        sides = (int(side[entry.z, entry.w]) for side in (evaluation.first, evaluation.second))
        outnumbers = any(pseudo > table.n[entry.z, g] for g in sides if g != NO_GROUP)
        if math.isnan(raw) or (math.isinf(raw) and not outnumbers):
            continue
        is_smoothed_away = limit.is_crossed(raw, None) and not limit.is_crossed(entry.value, None)
        if is_smoothed_away and evidence.is_significant(entry.z, entry.w):
            reason = (
                f"{raw:.4f} without pseudo-counts, beyond the limit and significant: the "
                "pseudo-counts hide it; use fewer, or remove them"
            )
            yield NotEvaluated((), table.strata[entry.z], reason, blocks=True)


def find_contradicted_draws(limit: Limit, evaluation: Evaluation) -> Iterator[NotEvaluated]:
    """A group whose draws contradict its counted share, if the counted shares cross the limit.

    The share is outside all draws, and its binomial tail probability by the nearest draw is below
    0.001 (Bonferroni).
    """
    table, draws, metric = evaluation.table, evaluation.table.draws, evaluation.metric
    if draws is None or len(evaluation.value) != 1 or not isinstance(metric, TableMetric):
        return
    from scipy.special import betainc  # noqa: PLC0415  # SciPy is only needed here

    (hits,) = class_counts(table, evaluation.terms)[0]
    low, high, n = draws.min(axis=0), draws.max(axis=0), hits.sum(axis=0)
    with np.errstate(all="ignore"):
        share = hits / n
        above, below = betainc(hits, n - hits + 1, high), betainc(n - hits, hits + 1, 1 - low)
    p = np.select([share > high, share < low], [above, below], 1.0) * share.size
    is_impossible = evaluation.takes_part & (p < _IMPOSSIBLE)
    counted = replace(table, draws=np.where(is_impossible, share, draws))
    value = float(metric.compute(counted, evaluation.terms).value[0])
    if is_impossible.any() and limit.is_crossed(value, None):
        k, g = np.argwhere(is_impossible)[0].tolist()
        reason = (
            f"the draws contradict the data: {quoted(table.classes[k])} is {percent(share[k, g])} "
            f"of {describe_group(table.groups[g])}, and {percent(low[k, g])} to "
            f"{percent(high[k, g])} in all draws; with the counted shares of "
            f"these groups it is {value:.3f}, over the limit"
        )
        yield NotEvaluated(table.groups[g], (), reason, blocks=True)


def find_opposite_strata(
    limit: Limit, evaluation: Evaluation, evidence: Evidence
) -> Iterator[NotEvaluated]:
    """The pairs of groups whose average hides gaps over the limit in both directions.

    For example, the average over strata of +0.6 and -0.6 is 0. If the metric is a signed number of
    one group, such as an error, the number is compared with its value at parity. A pair counts only
    if Gail and Simon's test is significant, corrected for the number of pairs (Bonferroni).
    Otherwise random differences in small strata would leave checks open.
    """
    for leaf in evaluation.leaves:
        metric, table = leaf.metric, leaf.strata
        if isinstance(metric, GroupMetric) and not evaluation.subtracts:
            metric = build_disparity(metric, ITSELF)
        if (
            table is None
            or not isinstance(metric, Disparity)
            or (leaf.averaged is None and not metric.fitted)
            # The strata of this metric only adjust for propensity.
            or metric.id == PROPENSITY_STRATIFIED_DIFFERENCE.id
            or len(metric.parts) > 1
        ):
            continue
        rate, is_alone = metric.parts[0][0], metric.comparison.one_sided
        parity = 0 if rate is DEMOGRAPHIC_DISPARITY else rate.best_inside
        if is_alone and parity is None:
            continue
        if metric.fitted:  # the strata are the levels of the controls
            metric = build_disparity(rate, DIFFERENCE)
        in_stratum = rate if is_alone else replace(metric, averages=())
        # The table is already split at the threshold.
        within = evaluate(in_stratum, table, replace(leaf.terms, average=None, at=None))
        own, other = within.group_values, within.reference_values
        pairs = _list_pairs(leaf, is_alone=is_alone)
        if own is None or not pairs or (other is None and not leaf.spread and not is_alone):
            continue
        first, second = np.transpose(pairs)
        # A pooled reference has its value at the index of the compared group. The highest or lowest
        # group of the average is the reference in all strata, even if it is not extreme there.
        side, places = (other, first) if other and NO_GROUP in second else (own, second)
        r, q = own.value[:, first], side.value[:, places]
        q = np.full_like(r, parity) if is_alone else q
        support = own.n > 0 if leaf.averaged is None else leaf.averaged.support
        support = support & table.known_strata[:, None]
        gap = np.where(support[:, first] & support[:, places], r - q, np.nan)
        variance = _find_variance((own, first), *([] if is_alone else [(side, places)]))
        if variance is None or np.isnan(gap).all():
            what = "variance" if variance is None else "direction"
            reason = f"the {what} of {own.metric.id} in a stratum is not known"
            yield tell_unsearched(table.given, reason)
            continue
        _, p = gail_simon(gap, variance)
        for at in np.flatnonzero(p * len(pairs) < evidence.inference.alpha).tolist():
            is_beyond = _mark_beyond(limit, metric, r[:, at], q[:, at], within, pairs[at][0])
            turns = [np.where(is_beyond, np.fmax(turn * gap[:, at], 0), 0) for turn in (1, -1)]
            if not all(turn.any() for turn in turns):
                continue
            strata = [table.strata[int(turn.argmax())] for turn in turns]
            what = "values of" if is_alone else "gaps between"
            yield _describe_turn(table, pairs[at], strata, p[at], what)


def _describe_turn(
    table: GroupTable, pair: tuple[int, int], strata: Sequence[Group], p: float, what: str
) -> NotEvaluated:
    """The entry for groups whose gaps have opposite directions in two strata; it blocks a check."""
    names = " and ".join(
        "the others" if number == NO_GROUP else describe_group(table.groups[number])
        for number in dict.fromkeys(pair)
    )
    reason = (
        f"the {what} {names} have opposite directions in "
        f"{' and '.join(map(describe_group, strata))} (Gail–Simon's test, p = {p:.2g}), which one "
        "number for all strata does not show"
    )
    return NotEvaluated((), (), reason, blocks=True)


def explain_unsearched(check: Check) -> str:
    """Why a check is not searched within levels of other columns; "" if it is searched."""
    needs = {Requirement.SCORE, Requirement.DISTRIBUTION, Requirement.FEATURES}
    if check.against:
        return "the check is on a change between two outcomes"
    if isinstance(check.metric, TableMetric):
        return "the measure is one number for all groups"
    if check.terms.at is not None or check.metric.requirements & needs:
        return "scores and single people are not counted by this column"
    return ""


UNSEARCHED = "not searched for opposite directions"


def tell_unsearched(given: Sequence[str], reason: str) -> NotEvaluated:
    """A remark on strata that are not searched for gaps in opposite directions."""
    what = f"{UNSEARCHED} within {' × '.join(given)}: {reason}"
    return NotEvaluated((), (), what, blocks=False)


def _list_pairs(leaf: Evaluation, *, is_alone: bool) -> list[tuple[int, int]]:
    """The compared pairs by index. With `is_alone`, each group is paired with itself."""
    among = np.flatnonzero(leaf.takes_part[0]).tolist()
    if is_alone:
        return [(g, g) for g in among]
    if leaf.spread:
        return list(combinations(among, 2))
    return [(g, int(leaf.second[0, g])) for g in np.flatnonzero(leaf.judged[0]).tolist()]


def _find_variance(*sides: tuple[GroupValues, Ints]) -> Floats | None:
    """The variance of a value or of the difference of two values, per stratum; None if unknown."""
    is_of_means = all(values.binomial or values.deviation is not None for values, _ in sides)
    if is_of_means and len(sides) > 1:
        means, sizes, spreads = (
            (first[:, sides[0][1]], second[:, sides[1][1]])
            for first, second in zip(
                *((values.value, values.effective_n, values.variance) for values, _ in sides),
                strict=True,
            )
        )
        return pooled_variance(means[0], sizes[0], means[1], sizes[1], spreads)
    reach = (np.subtract(*values.interval(_ONE_ERROR))[:, places] / 2 for values, places in sides)
    variance = np.asarray(sum(np.square(side) for side in reach))
    return None if np.isnan(variance).all() else variance


def _mark_beyond(
    limit: Limit, metric: Disparity, r: Floats, q: Floats, within: Evaluation, g: int
) -> Marks:
    """Marks the strata where two rates [Z] differ by more than the limit, in any direction.

    Two rates are not enough to compute a contrast, so it is the value of group `g` in `within`.
    """
    ways = [(r, q), (2 * q - r, q) if metric.comparison.one_sided else (q, r)]
    if within.spread:
        ends = np.maximum(r, q), np.minimum(r, q)
        ways = [ends if metric.comparison.highest_first else ends[::-1]]
    with np.errstate(all="ignore"):
        values = [metric.comparison.apply(first, second) for first, second in ways]
    if metric.comparison.contrast and not metric.comparison.exact_in_strata:
        values = [within.value[:, g], 2 * float(metric.ideal) - within.value[:, g]]
    beyond = [[limit.is_crossed(one, None) for one in value.tolist()] for value in values]
    return np.asarray(np.any(beyond, axis=0))


def find_cancelling_parts(
    limit: Limit, evaluation: Evaluation, entries: Sequence[JudgedValue]
) -> Iterator[NotEvaluated]:
    """The values that are within a limit because their two parts cancel each other.

    For example, a gap of 0.5 against women minus a gap of 0.5 against men is 0, although the
    gaps differ by 1.0. The mean of the differences 0.4 and -0.4 is 0, too. If the limit
    requires evidence, these values do not block the check.
    """
    metric, whole = evaluation.metric, evaluation.table_value
    is_difference = evaluation.subtracts or bool(whole is not None and whole.parts)
    is_mean = isinstance(metric, Disparity) and len(metric.parts) == 2 and metric.is_two_sided
    if isinstance(metric, GroupMetric) or not (is_difference or is_mean):
        return
    ideal, most = float(metric.ideal), max(abs(float(bound)) for bound in limit.bounds)
    # If a value is made of several rates, each rate may have changed by more than the value.
    is_of_rates = evaluation.subtracts and bool(evaluation.parts[0].parts)
    is_of_rates = is_of_rates and isinstance(metric, Disparity) and metric.fold is not REMAINDER
    is_of_many = is_difference and (evaluation.spread or is_of_rates)
    rows = (list_departures(evaluation, limit) or ()) if is_of_many else ()
    is_unsigned = isinstance(metric, Disparity) and metric.is_unsigned
    hides = "the largest gaps" if evaluation.spread and not is_unsigned else "the two numbers"
    for entry in entries:
        parts = find_parts(evaluation, entry.z, entry.w)
        groups = [
            (part.first.group, part.second.group) for part in parts if part.first and part.second
        ]
        stratum = evaluation.table.strata[entry.z]
        own = () if evaluation.spread else evaluation.table.groups[entry.w]
        for row in rows:
            if row.stratum == stratum and own in ((), row.group):
                reason = f"the gap of {describe_group(row.group)} changes by {row.value:.3f}, over "
                reason += f"the limit, which the difference of {hides} does not show"
                yield NotEvaluated(own, stratum, reason, blocks=not limit.asks)
                break
        if len(groups) != 2 or len(parts) != 2 or parts[0].outcome != parts[1].outcome:
            continue
        first, second = (part.value - ideal for part in parts)
        named = [f"{part.of or part.metric} {part.value:.3f}" for part in parts]
        if is_difference and groups[0] == groups[1][::-1] and abs(first) + abs(second) > most:
            why = "the gap has the opposite direction in both, which their difference does not show"
        elif not is_difference and first * second < 0 and min(abs(first), abs(second)) > most:
            why = "the parts cancel each other"
        else:
            continue
        reason = f"{describe_group(groups[0][0])} against {describe_group(groups[0][1])}: {why} "
        reason += f"({', '.join(named)})"
        yield NotEvaluated((), stratum, reason, blocks=not limit.asks)

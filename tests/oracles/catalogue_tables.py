"""The oracle of all groups at once: association, scores, differential fairness, numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import combinations, permutations

from catalogue_comparisons import Points, pearson_of, sums, total_variation_between
from catalogue_groups import (
    benefits,
    bins_of,
    calibration_error,
    entropy_of,
    is_probability,
    mean_score_negatives,
    mean_score_positives,
)
from catalogue_people import (
    HALF,
    MOST_DISTINCT,
    Counts,
    Defined,
    Number,
    Rows,
    Weighted,
    alive_of,
    by_group,
    distribution,
    divide,
    gap_of,
    indicator,
    joint_of,
    judged_scores,
    label_of,
    largest,
    log,
    magnitude,
    margin_of,
    mean_of,
    outcomes,
    people_of,
    scores_of,
    signed_root,
    subtract,
)

# --- All groups at once: association (metrics.md 1 and 6) --------------------------------------


def eta_neutrality(rows: Rows) -> Number:
    """Return the largest p(y,g) / (p(y) p(g)) - 1."""
    joint = joint_of(rows)
    if joint is None:
        return None
    margin = margin_of(joint)
    people = sum(margin.values())
    lifts = [
        Fraction(counted.get(y, 0) * people, total * sum(counted.values()))
        for counted in joint.values()
        for y, total in margin.items()
    ]
    return max(lifts) - 1


def _entropy_in_bits(counted: Iterable[int]) -> float:
    """Return the entropy of counts."""
    numbers = [number for number in counted if number > 0]
    people = sum(numbers)
    return math.fsum(number / people * math.log2(people / number) for number in numbers)


def _scores_in_bins(rows: Rows) -> Counts | None:
    """Return the people by group and bin of the score: its own if there are few, else a tenth.

    The tenth of a score is that of the share of people below it.
    """
    people = sum(n for _, n in scores_of(rows))
    distinct = sorted({score for score, _ in scores_of(rows)})
    bins = {score: str(place) for place, score in enumerate(distinct)}
    if len(distinct) > MOST_DISTINCT:
        below = {
            score: sum(n for other, n in scores_of(rows) if other < score) for score in distinct
        }
        bins = {score: str(10 * n // people) for score, n in below.items()}
    joint: Counts = {}
    for group, members in by_group(rows).items():
        counted = joint.setdefault(group, {})
        for score, n in scores_of(members):
            counted[bins[score]] = counted.get(bins[score], 0) + n
    return joint if len(joint) >= 2 and all(joint.values()) else None


def score_mutual_information(rows: Rows) -> Number:
    """Return the mutual information of the binned score and group in bits."""
    return _information(_scores_in_bins(rows))


def normalized_score_mutual_information(rows: Rows) -> Number:
    """Return I / root of H(b) H(s), undefined if either does not vary."""
    return _normalized_information(_scores_in_bins(rows))


def mutual_information(rows: Rows) -> Number:
    """Return the mutual information of outcome and group in bits."""
    return _information(joint_of(rows))


def normalized_mutual_information(rows: Rows) -> Number:
    """Return I / root of H(y) H(s), undefined if either does not vary."""
    return _normalized_information(joint_of(rows))


def _information(joint: Counts | None) -> float | None:
    """Return the mutual information of a table in bits."""
    if joint is None:
        return None
    margin = margin_of(joint)
    people = sum(margin.values())
    return math.fsum(
        number / people * math.log2(number * people / (sum(counted.values()) * margin[y]))
        for counted in joint.values()
        for y, number in counted.items()
    )


def _normalized_information(joint: Counts | None) -> Number:
    """Return I / root of H(y) H(s) of a table, undefined if either does not vary."""
    information = _information(joint)
    if joint is None or information is None:
        return None
    of_outcome = _entropy_in_bits(margin_of(joint).values())
    of_group = _entropy_in_bits(sum(counted.values()) for counted in joint.values())
    product = of_outcome * of_group
    return None if product == 0 else information / math.sqrt(product)


def predictability(rows: Rows) -> Number:
    """Return how often everybody's outcome is the most frequent one of the group."""
    joint = joint_of(rows)
    if joint is None:
        return None
    right = sum(max(counted.values()) for counted in joint.values())
    return Fraction(right, sum(margin_of(joint).values()))


def majority_baseline(rows: Rows) -> Number:
    """Return how often everybody's outcome is the most frequent one of all; needs no groups."""
    counted = outcomes(rows)
    return Fraction(max(counted.values()), sum(counted.values())) if counted else None


def goodman_kruskal_lambda(rows: Rows) -> Number:
    """Return the share of the errors of the baseline that knowing the group avoids."""
    known, baseline = predictability(rows), majority_baseline(rows)
    if known is None or baseline is None or baseline == 1:
        return None
    return (known - baseline) / (1 - baseline)


def cramers_v(rows: Rows) -> Number:
    """Return the root of chi-squared / (n (min(k, |Y|) - 1)), without continuity or bias."""
    joint = joint_of(rows)
    if joint is None or len(margin_of(joint)) < 2:
        return None
    margin = margin_of(joint)
    people = sum(margin.values())
    chi_squared = Fraction(0)
    for counted in joint.values():
        for y, total in margin.items():
            expected = Fraction(sum(counted.values()) * total, people)
            chi_squared += (counted.get(y, 0) - expected) ** 2 / expected
    return math.sqrt(chi_squared / (people * (min(len(joint), len(margin)) - 1)))


def total_variation(rows: Rows) -> Number:
    """Return the largest `total_variation_between` two groups."""
    pairs = combinations(by_group(rows).values(), 2)
    return largest(total_variation_between(own, other) for own, other in pairs)


def between_group_generalized_entropy(
    rows: Rows, *, alpha: Fraction | float = 2, burden: bool = False
) -> Number:
    """Return GE(alpha) of everybody with the mean benefit of the group in place of one's own."""
    groups = [benefits(members, burden=burden) for members in by_group(rows).values()]
    means: Weighted = []
    for own in groups:
        mean = mean_of(own)
        if mean is None:
            return None
        means.append((mean, people_of(own)))
    return entropy_of(means, alpha) if len(means) >= 2 else None


# --- All groups at once: scores (metrics.md 4) -------------------------------------------------


def _share_from(threshold: Fraction, scores: Weighted) -> Fraction | None:
    """Return the share of people who score at least so much."""
    return mean_of([(indicator(score >= threshold), people) for score, people in scores])


def score_parity(rows: Rows) -> Number:
    """Return the largest |P(s>=t|g) - P(s>=t)| over groups and thresholds."""
    groups = [scores_of(members) for members in by_group(rows).values()]
    if len(groups) < 2:
        return None
    everybody = scores_of(rows)
    apart = [
        subtract(_share_from(threshold, scores), _share_from(threshold, everybody))
        for scores in groups
        for threshold, _ in everybody
    ]
    return largest(magnitude(value) for value in apart)


def score_parity_gap(rows: Rows) -> Number:
    """Return the largest gap between groups of P(s>=t|g) over thresholds."""
    groups = [scores_of(members) for members in by_group(rows).values()]
    thresholds = {threshold for threshold, _ in scores_of(rows)}
    return largest(gap_of(_share_from(t, scores) for scores in groups) for t in thresholds)


def equal_rates_at_scores(rows: Rows) -> Number:
    """Return `test_fairness`, a name pytest would collect: the largest gap of P(y=1|bin,g).

    A bin compares the groups that have someone in it, and needs two of them.
    """
    bins = bins_of(rows)
    groups = [judged_scores(members) for members in by_group(rows).values()]
    if bins is None or len(groups) < 2 or not all(groups):
        return None
    gaps = []
    for place in set(bins.values()):
        rates = [mean_of([(y, n) for s, y, n in own if bins[s] == place]) for own in groups]
        gap = gap_of(rate for rate in rates if rate is not None)
        if gap is not None:
            gaps.append(gap)
    return max(gaps) if gaps else None


def balance_positive_class(rows: Rows) -> Number:
    """Return the gap of the mean score of those labelled positive."""
    return gap_of(mean_score_positives(members) for members in by_group(rows).values())


def balance_negative_class(rows: Rows) -> Number:
    """Return the gap of the mean score of those labelled negative."""
    return gap_of(mean_score_negatives(members) for members in by_group(rows).values())


def well_calibration(rows: Rows) -> Number:
    """Return the largest calibration error of a group."""
    groups = by_group(rows).values()
    return largest(calibration_error(own, rows) for own in groups) if len(groups) >= 2 else None


def multicalibration(rows: Rows) -> Number:
    """Return the largest |mean label - mean score| over the groups and the bins of the scores."""
    bins = bins_of(rows)
    groups = [judged_scores(members) for members in by_group(rows).values()]
    if bins is None or len(groups) < 2 or not all(groups) or not is_probability(rows):
        return None
    found = [
        mean_of([(label - score, n) for score, label, n in own if bins[score] == place])
        for own in groups
        for place in set(bins.values())
    ]
    return largest(abs(value) for value in found if value is not None)


# --- All groups at once: differential fairness (metrics.md 5) ----------------------------------


def _epsilon(rows: Rows, groups: Iterable[str]) -> Number:
    """Return the largest log-ratio of P(y|g) over outcomes and pairs of the groups.

    An outcome that neither group has is 0/0, and adds nothing.
    """
    members = by_group(rows)
    shares = {group: distribution(members.get(group, ())) for group in groups}
    found = [own for own in shares.values() if own is not None]
    if len(found) < 2 or len(found) < len(shares):
        return None
    zero = Fraction(0)
    ratios: list[Defined] = [Fraction(1)]
    for own, other in permutations(found, 2):
        for y in own:
            ratio = divide(own[y], other.get(y, zero))
            if ratio is not None:
                ratios.append(ratio)
    return log(max(ratios))


def _label_classes(rows: Rows) -> set[str]:
    """Return the classes of the label, both of a boolean one even if only one occurs."""
    if any(row.label_class is not None for row in alive_of(rows)):
        return {name for row in alive_of(rows) if (name := label_of(row)) is not None}
    return {"positive", "negative"}


def _epsilon_within(rows: Rows, label: str) -> Number:
    """Return the differential fairness of the outcome among those with a label."""
    return _epsilon([row for row in rows if label_of(row) == label], by_group(rows))


def differential_equalized_odds(rows: Rows) -> Number:
    """Return the largest epsilon within a class of the label."""
    return largest(_epsilon_within(rows, label) for label in _label_classes(rows))


def differential_equal_opportunity(rows: Rows) -> Number:
    """Return epsilon among those labelled positive."""
    positives = [row for row in rows if row.label is True]
    return _epsilon(positives, by_group(rows))


def _continued_fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction of the incomplete beta function, by Lentz's method."""
    tiny = 1e-300
    value, upper, lower = 1.0, 1.0, 0.0
    for step in range(100_000):
        m = step // 2
        if step == 0:
            coefficient = 1.0
        elif step % 2 == 0:
            coefficient = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        else:
            coefficient = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        lower = 1 / ((1 + coefficient * lower) or tiny)
        upper = (1 + coefficient / upper) or tiny
        value *= upper * lower
        if step > 0 and abs(upper * lower - 1) < 1e-15:
            break
    return value - 1


def _lower_beta(x: float, a: float, b: float) -> float:
    """Return I_x(a, b) of an x in (0, 1) below the mean of the distribution, or near it."""
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    logarithm += a * math.log(x) + b * math.log1p(-x)
    return math.exp(logarithm) * _continued_fraction(x, a, b) / a


def incomplete_beta(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - _lower_beta(1 - x, b, a)
    return _lower_beta(x, a, b)


def beta_quantile(probability: float, a: float, b: float) -> float:
    """Return the x at which I_x(a, b) reaches a probability, by halving until floats end."""
    low, high = 0.0, 1.0
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return middle
        if incomplete_beta(middle, a, b) < probability:
            low = middle
        else:
            high = middle


def differential_fairness_credible(
    rows: Rows, *, confidence: float = 0.95, prior: Fraction = HALF
) -> Number:
    """Return epsilon over a credible region: the largest ln U(y,g) - ln L(y,h), g other than h.

    U and L bound P(y|g) by equal tails of Beta(n_y + prior, n - n_y + (|Y|-1) prior). The k groups'
    posteriors are independent: each may miss with 1 - confidence^(1/k). Of two outcomes one says
    it all; of more each may miss with 1/|Y| of that, for they depend on each other (Bonferroni).
    """
    joint = joint_of(rows)
    if joint is None or len(margin_of(joint)) < 2:
        return None
    classes = margin_of(joint)
    others = len(classes) - 1
    miss = 1 - confidence ** (1 / len(joint))
    tail = (miss if others == 1 else miss / len(classes)) / 2
    ratios = []
    for y in classes:
        bounds = []
        for counted in joint.values():
            mine = counted.get(y, 0)
            a = float(mine + prior)
            b = float(sum(counted.values()) - mine + others * prior)
            bounds.append((beta_quantile(tail, a, b), beta_quantile(1 - tail, a, b)))
        ratios += [
            math.log(upper) - math.log(lower) for (_, upper), (lower, _) in permutations(bounds, 2)
        ]
    return max(ratios)


# --- A numeric protected attribute (metrics.md 6) ----------------------------------------------


def _decisions_by_number(rows: Rows) -> Points:
    """Return the number, the 0/1 prediction and people, where both are known."""
    return [
        (row.number, indicator(row.prediction), row.people)
        for row in alive_of(rows)
        if row.number is not None and row.prediction is not None
    ]


def slope(rows: Rows) -> Number:
    """Return the least-squares slope of the 0/1 prediction on the number."""
    xx, _, xy = sums(_decisions_by_number(rows))
    return None if xx == 0 else xy / xx


def pearson(rows: Rows) -> Number:
    """Return Pearson's correlation of the 0/1 prediction with the number."""
    return pearson_of(_decisions_by_number(rows))


def trend(rows: Rows) -> Number:
    """Return the z of Cochran and Armitage with the numbers as scores, > 0 for a rising rate.

    The variance is p(1-p)(sum n x^2 - (sum n x)^2 / n), with no n - 1: z is root n times r.
    """
    points = _decisions_by_number(rows)
    overall = mean_of([(y, people) for _, y, people in points])
    if overall is None:
        return None
    people = sum(n for _, _, n in points)
    statistic = sum((x * n * (y - overall) for x, y, n in points), Fraction(0))
    squares = sum((n * x**2 for x, _, n in points), Fraction(0))
    linear = sum((n * x for x, _, n in points), Fraction(0))
    variance = overall * (1 - overall) * (squares - linear**2 / people)
    return None if variance == 0 else signed_root(statistic, statistic**2 / variance)


TABLE: dict[str, Callable[[Rows], Number]] = {
    "eta_neutrality": eta_neutrality,
    "mutual_information": mutual_information,
    "normalized_mutual_information": normalized_mutual_information,
    "score_mutual_information": score_mutual_information,
    "normalized_score_mutual_information": normalized_score_mutual_information,
    "predictability": predictability,
    "majority_baseline": majority_baseline,
    "goodman_kruskal_lambda": goodman_kruskal_lambda,
    "cramers_v": cramers_v,
    "total_variation": total_variation,
    "between_group_generalized_entropy": between_group_generalized_entropy,
    "score_parity": score_parity,
    "score_parity_gap": score_parity_gap,
    "test_fairness": equal_rates_at_scores,
    "balance_positive_class": balance_positive_class,
    "balance_negative_class": balance_negative_class,
    "well_calibration": well_calibration,
    "multicalibration": multicalibration,
    "differential_equalized_odds": differential_equalized_odds,
    "differential_equal_opportunity": differential_equal_opportunity,
    "differential_fairness_credible": differential_fairness_credible,
    "slope": slope,
    "pearson": pearson,
    "trend": trend,
}

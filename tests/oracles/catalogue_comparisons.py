"""The oracle of a group beside its reference or the rest, and of conditional measures."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from catalogue_groups import benefits, cells, demographic_disparity, probability_above, rate, share
from catalogue_people import (
    Number,
    Person,
    Rows,
    Weighted,
    alive_of,
    by_group,
    decisions,
    distribution,
    divide,
    judged_scores,
    log,
    mean_of,
    numbers_of,
    people_of,
    scores_of,
    signed_root,
    subtract,
    sum_of_squares,
    total_of,
)

# --- A group and its reference (metrics.md 3 and 6) --------------------------------------------


def mean_difference(rows: Rows, reference: Rows, _everybody: Rows = ()) -> Number:
    """Return p(+|reference) - p(+|group), the sign of seed 004."""
    return subtract(rate("selection_rate", reference), rate("selection_rate", rows))


def normalized_difference(rows: Rows, reference: Rows, _everybody: Rows = ()) -> Number:
    """Return d / d_max, every probability being one within the two groups together."""
    d = mean_difference(rows, reference)
    both = [*rows, *reference]
    selected = rate("selection_rate", both)
    if d is None or selected is None or selected in (0, 1):
        return None
    people = people_of(decisions(both))
    of_group = Fraction(people_of(decisions(rows)), people)
    of_reference = Fraction(people_of(decisions(reference)), people)
    if d < 0:
        of_group, of_reference = of_reference, of_group
    return d / min(selected / of_reference, (1 - selected) / of_group)


def selection_odds_ratio(rows: Rows, reference: Rows, _everybody: Rows = ()) -> Number:
    """Return the odds of selection, group over reference; seed 004 prints its inverse."""
    own, other = cells(rows), cells(reference)
    return divide(
        Fraction(own["selected"] * other["rejected"]),
        Fraction(own["rejected"] * other["selected"]),
    )


def selection_log_ratio(rows: Rows, reference: Rows, _everybody: Rows = ()) -> Number:
    """Return the logarithm of the selection rate of the group over that of the reference."""
    return log(divide(rate("selection_rate", rows), rate("selection_rate", reference)))


def cohens_h(rows: Rows, reference: Rows, _everybody: Rows = ()) -> Number:
    """Return 2 asin of the root of the group's selection rate minus that of the reference."""
    own, other = rate("selection_rate", rows), rate("selection_rate", reference)
    if own is None or other is None:
        return None
    return 2 * math.asin(math.sqrt(own)) - 2 * math.asin(math.sqrt(other))


def _standardized_difference(own: Weighted, other: Weighted) -> Number:
    """Return the difference of the means over the pooled sample standard deviation.

    (n-1)s^2 is the sum of squares about the mean, which is 0 for one person. A difference over
    no deviation at all is infinite with its sign.
    """
    mean, other_mean = mean_of(own), mean_of(other)
    freedom = people_of(own) + people_of(other) - 2
    if mean is None or other_mean is None or freedom <= 0:
        return None
    difference = mean - other_mean
    variance = (sum_of_squares(own) + sum_of_squares(other)) / freedom
    if variance == 0:
        if difference == 0:
            return None
        return math.inf if difference > 0 else -math.inf
    return signed_root(difference, difference**2 / variance)


def standardized_difference_selection(rows: Rows, reference: Rows, _everybody: Rows = ()) -> Number:
    """Return the standardised difference of the selection, group minus reference."""
    return _standardized_difference(decisions(rows), decisions(reference))


def standardized_difference_score(rows: Rows, reference: Rows, _everybody: Rows = ()) -> Number:
    """Return the standardised difference of the score, group minus reference."""
    return _standardized_difference(scores_of(rows), scores_of(reference))


def between_group_auc(rows: Rows, reference: Rows, _everybody: Rows = ()) -> Number:
    """Return how often the reference is decided above the group, ties by half."""
    return probability_above(decisions(reference), decisions(rows))


def between_group_auc_score(rows: Rows, reference: Rows, _everybody: Rows = ()) -> Number:
    """Return how often the reference scores above the group, ties by half."""
    return probability_above(scores_of(reference), scores_of(rows))


def between_group_auc_ordinal(rows: Rows, reference: Rows, _everybody: Rows = ()) -> Number:
    """Return P(class of the reference > class of the group) + P(=)/2, classes by their letters."""
    own, other = (
        [(Fraction(ord(row.predicted_class)), row.people) for row in side if row.predicted_class]
        for side in (rows, reference)
    )
    return probability_above(other, own)


def _residuals(rows: Rows, everybody: Rows) -> Weighted:
    """Return label - prediction: of numbers, else of 0/1 label and score, else of 0/1 and 0/1.

    Which of these it is follows from what anybody has, not from what a single row has.
    """
    if any(row.y is not None for row in everybody):
        return [(y - predicted, people) for y, predicted, people in numbers_of(rows)]
    if any(row.score is not None for row in everybody):
        return [(label - score, people) for score, label, people in judged_scores(rows)]
    return [(1 - benefit, people) for benefit, people in benefits(rows)]


def balanced_residuals(rows: Rows, reference: Rows, everybody: Rows) -> Number:
    """Return the mean residual of the group minus that of the reference (seed 004 3.2.8)."""
    own, other = _residuals(rows, everybody), _residuals(reference, everybody)
    return subtract(mean_of(own), mean_of(other))


def total_variation_between(rows: Rows, reference: Rows, _everybody: Rows = ()) -> Number:
    """Return half the sum over outcomes of |P(y|group) - P(y|reference)|."""
    own, other = distribution(rows), distribution(reference)
    if own is None or other is None:
        return None
    zero = Fraction(0)
    apart = (abs(own.get(y, zero) - other.get(y, zero)) for y in own.keys() | other.keys())
    return sum(apart, zero) / 2


def kl_divergence(rows: Rows, reference: Rows, _everybody: Rows = ()) -> Number:
    """Return KL(group || reference) in nats, infinite for an outcome the reference never has."""
    own, other = distribution(rows), distribution(reference)
    if own is None or other is None:
        return None
    if any(y not in other for y in own):
        return math.inf
    return math.fsum(float(p) * math.log(p / other[y]) for y, p in own.items())


TO_REFERENCE: dict[str, Callable[[Rows, Rows, Rows], Number]] = {
    "mean_difference": mean_difference,
    "normalized_difference": normalized_difference,
    "selection_odds_ratio": selection_odds_ratio,
    "selection_log_ratio": selection_log_ratio,
    "cohens_h": cohens_h,
    "standardized_difference_selection": standardized_difference_selection,
    "standardized_difference_score": standardized_difference_score,
    "between_group_auc": between_group_auc,
    "between_group_auc_score": between_group_auc_score,
    "between_group_auc_ordinal": between_group_auc_ordinal,
    "balanced_residuals": balanced_residuals,
    "total_variation": total_variation_between,
    "kl_divergence": kl_divergence,
}


# --- A group and the rest (metrics.md 6) -------------------------------------------------------

Points = list[tuple[Fraction, Fraction, int]]


def sums(points: Points) -> tuple[Fraction, Fraction, Fraction]:
    """Return the sums of squares of x and of y and that of their products, about the means."""
    mean_x = mean_of([(x, people) for x, _, people in points])
    mean_y = mean_of([(y, people) for _, y, people in points])
    if mean_x is None or mean_y is None:
        return Fraction(0), Fraction(0), Fraction(0)
    return (
        total_of([((x - mean_x) ** 2, people) for x, _, people in points]),
        total_of([((y - mean_y) ** 2, people) for _, y, people in points]),
        total_of([((x - mean_x) * (y - mean_y), people) for x, y, people in points]),
    )


def pearson_of(points: Points) -> float | None:
    """Return Pearson's correlation, undefined if either side does not vary."""
    xx, yy, xy = sums(points)
    return None if xx * yy == 0 else signed_root(xy, xy**2 / (xx * yy))


def _with_membership(own: Weighted, rest: Weighted) -> Points:
    """Return the values beside 1 for members of the group and 0 for the rest."""
    members = [(Fraction(1), value, people) for value, people in own]
    return members + [(Fraction(0), value, people) for value, people in rest]


def elift(rows: Rows, rest: Rows) -> Number:
    """Return p(+|group) / p(+), of everybody; one group alone is compared with nothing."""
    if not alive_of(rest):
        return None
    return divide(rate("selection_rate", rows), rate("selection_rate", [*rows, *rest]))


def correlation(rows: Rows, rest: Rows) -> Number:
    """Return Pearson's correlation of the 0/1 prediction with membership of the group."""
    return pearson_of(_with_membership(decisions(rows), decisions(rest)))


def correlation_score(rows: Rows, rest: Rows) -> Number:
    """Return Pearson's correlation of the score with membership of the group."""
    return pearson_of(_with_membership(scores_of(rows), scores_of(rest)))


def _negatives(rows: Rows) -> list[Person]:
    """Return those whose label is known to be negative."""
    return [row for row in rows if row.label is False]


def correlation_negatives(rows: Rows, rest: Rows) -> Number:
    """Return `correlation` among those labelled negative: Corr of seed 001."""
    return correlation(_negatives(rows), _negatives(rest))


def correlation_score_negatives(rows: Rows, rest: Rows) -> Number:
    """Return `correlation_score` among those labelled negative: Corr of a scored seed 001."""
    return correlation_score(_negatives(rows), _negatives(rest))


TO_REST: dict[str, Callable[[Rows, Rows], Number]] = {
    "elift": elift,
    "correlation": correlation,
    "correlation_score": correlation_score,
    "correlation_negatives": correlation_negatives,
    "correlation_score_negatives": correlation_score_negatives,
}


# --- Conditional measures (metrics.md 8) -------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Standardized:
    """A rate of two groups averaged over strata with the same weights."""

    group: Fraction | None
    reference: Fraction | None
    difference: Number
    ratio: Number
    weights: Mapping[str, Fraction]
    not_estimable: tuple[str, ...]


def by_stratum(rows: Rows) -> dict[str, list[Person]]:
    """Return the rows of every stratum that has people; those without one are left out."""
    strata: dict[str, list[Person]] = {}
    for row in alive_of(rows):
        if row.stratum is not None:
            strata.setdefault(row.stratum, []).append(row)
    return strata


def _denominators(name: str, rows: Rows) -> dict[str, int]:
    """Return the people in the rate's own denominator, in every stratum that has any."""
    counted = {z: share(name, members)[1] for z, members in by_stratum(rows).items()}
    return {z: people for z, people in counted.items() if people > 0}


def _raw_weights(
    weights: str | Mapping[str, Fraction],
    own: Mapping[str, int],
    other: Mapping[str, int],
    strata: Sequence[str],
) -> dict[str, Fraction]:
    """Return the weights of the strata where both have someone, before they sum to 1."""
    if not isinstance(weights, str):
        return {z: Fraction(weights[z]) for z in strata}
    if weights == "overlap":
        return {z: Fraction(own[z] * other[z], own[z] + other[z]) for z in strata}
    if weights == "uniform":
        return dict.fromkeys(strata, Fraction(1))
    if weights == "pooled":
        return {z: Fraction(own[z] + other[z]) for z in strata}
    if weights == "group":
        return {z: Fraction(own[z]) for z in strata}
    if weights == "reference":
        return {z: Fraction(other[z]) for z in strata}
    if weights == "average":
        n_own, n_other = sum(own[z] for z in strata), sum(other[z] for z in strata)
        return {z: Fraction(own[z], n_own) + Fraction(other[z], n_other) for z in strata}
    message = f"no weights are called {weights}"
    raise ValueError(message)


def standardized_rate(
    name: str, rows: Rows, reference: Rows, weights: str | Mapping[str, Fraction]
) -> Standardized:
    """Return a rate of both groups, averaged over the strata where both have a denominator.

    `weights` is `pooled`, `uniform`, `reference`, `group`, `average` (half of P(z|reference)
    and half of P(z|group)), `overlap` (n m / (n + m)), `reference_people` or
    `group_people` (all of that side, whatever their label), or a mapping with a weight for every
    such stratum.
    """
    own, other = _denominators(name, rows), _denominators(name, reference)
    strata = sorted(own.keys() & other.keys())
    aside = tuple(sorted(own.keys() ^ other.keys()))
    if isinstance(weights, str) and weights.endswith("_people"):
        everyone = by_stratum(rows if weights == "group_people" else reference)
        raw = {z: Fraction(sum(person.people for person in everyone[z])) for z in strata}
    else:
        raw = _raw_weights(weights, own, other, strata)
    total = sum(raw.values(), Fraction(0))
    if total == 0:
        return Standardized(None, None, None, None, {}, aside)
    shares = {z: weight / total for z, weight in raw.items()}
    averages = []
    for side in (rows, reference):
        members = by_stratum(side)
        rates = {z: Fraction(*share(name, members[z])) for z in strata}
        averages.append(sum((shares[z] * rates[z] for z in strata), Fraction(0)))
    group, against = averages
    difference, ratio = subtract(group, against), divide(group, against)
    return Standardized(group, against, difference, ratio, shares, aside)


def conditional_equal_opportunity_gap(
    rows: Rows,
    reference: Rows,
    _everybody: Rows = (),
    *,
    weights: str | Mapping[str, Fraction] = "uniform",
) -> Number:
    """Return the weighted differences of the false positive rate (seed 001 eq. 6)."""
    return standardized_rate("false_positive_rate", rows, reference, weights).difference


def conditional_equal_opportunity_ratio(
    rows: Rows,
    reference: Rows,
    _everybody: Rows = (),
    *,
    weights: str | Mapping[str, Fraction] = "uniform",
) -> Number:
    """Return the ratio of the weighted averages of the false positive rate (its footnote 2)."""
    return standardized_rate("false_positive_rate", rows, reference, weights).ratio


class Unexplained(NamedTuple):
    """The mean difference on common support, its explained part and what remains."""

    d: Fraction | None
    d_e: Fraction | None
    d_u: Fraction | None


def unexplained_difference(rows: Rows, reference: Rows, _everybody: Rows = ()) -> Unexplained:
    """Return d = d_e + d_u of the selection rate on the strata where both groups occur.

    The sign is that of seed 004 3.3.1: d = p(+|reference) - p(+|group), and so
    d_e = sum p*(+|z) (p(z|reference) - p(z|group)), p* the plain mean of both groups' rates.
    """
    own, other = _denominators("selection_rate", rows), _denominators("selection_rate", reference)
    strata = own.keys() & other.keys()
    if not strata:
        return Unexplained(None, None, None)
    n_own, n_other = sum(own[z] for z in strata), sum(other[z] for z in strata)
    d = explained = Fraction(0)
    for z in strata:
        rate_own = Fraction(*share("selection_rate", by_stratum(rows)[z]))
        rate_other = Fraction(*share("selection_rate", by_stratum(reference)[z]))
        p_own, p_other = Fraction(own[z], n_own), Fraction(other[z], n_other)
        d += p_other * rate_other - p_own * rate_own
        explained += (rate_own + rate_other) / 2 * (p_other - p_own)
    return Unexplained(d, explained, d - explained)


def conditional_demographic_disparity(rows: Rows, everybody: Rows) -> Number:
    """Return the mean over people of the strata's `demographic_disparity`.

    Strata where nobody is rejected or nobody is selected are not estimable, and the rest weighs up
    to 1. A stratum where the group has nobody, or is alone, has disparity 0; where all strata are
    of one group, nobody is compared.
    """
    members = by_stratum(rows)
    if not any(
        len(by_group(there)) >= 2 and {True, False} <= {row.prediction for row in there}
        for there in by_stratum(everybody).values()
    ):
        return None
    found: Weighted = []
    for z, all_of_it in by_stratum(everybody).items():
        disparity = demographic_disparity(members.get(z, ()), all_of_it)
        own, total = (cells(one) for one in (members.get(z, ()), all_of_it))
        sides = ("rejected", "selected")
        if all(own[side] == total[side] > 0 for side in sides):
            disparity = Fraction(0)
        if disparity is not None:
            found.append((Fraction(disparity), people_of(decisions(all_of_it))))
    return mean_of(found)


def mantel_haenszel_odds_ratio(rows: Rows, reference: Rows, _everybody: Rows = ()) -> Number:
    """Return the sum over strata of a d / N, divided by that of b c / N (Mantel & Haenszel 1959).

    a are the selected of the group and b its rejected, c and d those of the reference, N all four;
    strata where a side has nobody add nothing.
    """
    own, other = by_stratum(rows), by_stratum(reference)
    over = under = Fraction(0)
    for z in own.keys() & other.keys():
        a, n = share("selection_rate", own[z])
        c, m = share("selection_rate", other[z])
        if n and m:
            over += Fraction(a * (m - c), n + m)
            under += Fraction((n - a) * c, n + m)
    return divide(over, under)


def belift(everybody: Rows, group: str, stratum: str) -> Number:
    """Return p(+|g,z) / p(+|z)."""
    members = [row for row in everybody if row.stratum == stratum]
    own = [row for row in members if row.group == group]
    return divide(rate("selection_rate", own), rate("selection_rate", members))


def belift_overall(everybody: Rows, group: str, stratum: str) -> Number:
    """Return p(+|g,z) / p(+) of everybody who has a stratum (seed 004 3.3.3, simplified)."""
    known = [row for row in everybody if row.stratum is not None]
    own = [row for row in known if row.group == group and row.stratum == stratum]
    return divide(rate("selection_rate", own), rate("selection_rate", known))


def stratum_share(name: str, rows: Rows, stratum: str) -> Number:
    """Return P(z|g) among the people in the rate's own denominator who have a stratum."""
    own = _denominators(name, rows)
    people = sum(own.values())
    return None if people == 0 else Fraction(own.get(stratum, 0), people)


CONDITIONAL: dict[str, Callable[[Rows, Rows, Rows], Number]] = {
    "conditional_equal_opportunity_gap": conditional_equal_opportunity_gap,
    "conditional_equal_opportunity_ratio": conditional_equal_opportunity_ratio,
    "unexplained_difference": lambda own, other, _: unexplained_difference(own, other).d_u,
    "explained_difference": lambda own, other, _: unexplained_difference(own, other).d_e,
    "mantel_haenszel_odds_ratio": mantel_haenszel_odds_ratio,
    "conditional_demographic_disparity": lambda own, _, everybody: (
        conditional_demographic_disparity(own, everybody)
    ),
    "standardized_selection_rate": lambda own, other, _: (
        standardized_rate("selection_rate", own, other, "pooled").group
    ),
}

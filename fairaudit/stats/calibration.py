"""Formulas of calibration: Cox's recalibration, Hosmer-Lemeshow, tests of calibration errors.

D. R. Cox, Two further applications of a model for binary regression, Biometrika 45 (1958) 562-565;
D. W. Hosmer & S. Lemeshow, Goodness of fit tests for the multiple logistic regression model,
Communications in Statistics A9 (1980) 1043-1069. Scores come as bins of known range; each number
has a bound of its error from the bins.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fairaudit.base.arrays import Alpha, Floats, Ints
from fairaudit.base.frozen import Frozen
from fairaudit.stats.contingency import DRAWS, LEAST_P
from fairaudit.stats.distributions import expit, normal_critical

_STEPS = 100
_CLOSE = 1e-11
_DECILES = 10
_FEWEST_EXPECTED = 5
_ROUNDING = 1e-9


class ScoreBins(Frozen, eq=False):
    """People of one group by ascending bin of a score, with the range of each bin."""

    positive: Floats
    negative: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, positive: Ints, negative: Ints, low: Floats, high: Floats) -> ScoreBins:
        """The bins that have people with a known label."""
        there = (positive + negative) > 0
        sides = (positive[there].astype(np.float64), negative[there].astype(np.float64))
        return cls(*sides, low[there], high[there])

    @property
    def people(self) -> Floats:
        """People in each bin."""
        return self.positive + self.negative

    @property
    def has_logits(self) -> bool:
        """Whether every score lies between 0 and 1, neither of them."""
        return bool(len(self.low)) and bool(self.low[0] > 0 and self.high[-1] < 1)

    @property
    def middle(self) -> Floats:
        """The score that stands for each bin: where it holds one value, that value."""
        return (self.low + self.high) / 2


class Fitted(NamedTuple):
    """A fitted number, its spread, and a bound of its error from the bins.

    The spread of a coefficient is its standard error, that of a χ² its degrees of freedom.
    """

    value: float
    spread: float
    doubt: float


NOT_FITTED = Fitted(math.nan, math.nan, 0.0)


def recalibration_slope(bins: ScoreBins) -> Fitted:
    """B of logit P(y = 1) = a + b · logit(s), by maximum likelihood; 1 for a calibrated score.

    NaN if all labels are equal, or if a cut on the score separates them.
    """
    plus, minus = np.flatnonzero(bins.positive > 0), np.flatnonzero(bins.negative > 0)
    if not bins.has_logits or not len(plus) or not len(minus):
        return NOT_FITTED
    if plus[0] >= minus[-1] or minus[0] >= plus[-1]:
        return NOT_FITTED
    return _fit(bins, with_slope=True)


def recalibration_intercept(bins: ScoreBins) -> Fitted:
    """A of logit P(y = 1) = a + logit(s), by maximum likelihood; 0 where the mean is right."""
    if not bins.has_logits or not bins.positive.sum() or not bins.negative.sum():
        return NOT_FITTED
    return _fit(bins, with_slope=False)


def _fit(bins: ScoreBins, *, with_slope: bool) -> Fitted:
    """The last coefficient of a logistic fit to the logit of the score, by Newton's method.

    NaN if the labels of scores next to 0 and 1 leave no information.
    """
    x, n = _logit(bins.middle), bins.people
    # Centred, so that both coefficients hardly depend on each other.
    center = float((n * x).sum() / n.sum()) if with_slope else 0.0
    design = np.stack([np.ones_like(x), x - center]) if with_slope else np.ones((1, len(x)))
    offset = np.zeros_like(x) if with_slope else x
    theta = np.array([center, 1.0]) if with_slope else np.zeros(1)
    likelihood = _log_likelihood(bins, theta @ design + offset)
    try:
        for _ in range(_STEPS):
            share = expit(theta @ design + offset)
            gradient = design @ (bins.positive - n * share)
            information = (design * (n * share * (1 - share))) @ design.T
            step = np.linalg.solve(information, gradient)
            while (longer := _log_likelihood(bins, (theta + step) @ design + offset)) < likelihood:
                step = step / 2
                if np.abs(step).max() < _CLOSE:
                    break
            theta, likelihood = theta + step, longer
            if np.abs(step).max() < _CLOSE:
                break
        share = expit(theta @ design + offset)
        information = (design * (n * share * (1 - share))) @ design.T
        error = math.sqrt(float(np.linalg.inv(information)[-1, -1]))
        slope = float(theta[-1]) if with_slope else 1.0
        doubt = _bound_doubt(bins, design, share, information, slope)
    except np.linalg.LinAlgError:
        return NOT_FITTED
    return Fitted(float(theta[-1]), error, doubt)


def _bound_doubt(
    bins: ScoreBins, design: Floats, share: Floats, information: Floats, slope: float
) -> float:
    """A bound of the error of the last coefficient from the bins; infinite if none is found.

    The logistic function f has |f''| <= f', so over a distance d no slope of it changes by more
    than a factor e^d. At our estimate the gradient of the exact likelihood is at most `moved`; its
    information is at least (1 - `turned`) of ours there, and e^-(reach·r) of that at a distance r.
    """
    low, middle, high = map(_logit, (bins.low, bins.middle, bins.high))
    half = np.maximum(high - middle, middle - low)
    if not half.any():
        return 0.0
    n, sizes = bins.people, np.abs(design)
    grown = np.expm1(np.abs(slope) * half)
    weight = n * share * (1 - share)
    further = np.zeros_like(design)
    if len(design) == 2:
        further[1] = half
    moved = ((sizes + further) * weight * grown).sum(axis=1)
    moved += (further * (bins.positive * (1 - share) + bins.negative * share)).sum(axis=1)
    whiten = np.linalg.inv(np.linalg.cholesky(information))
    distance = float(np.linalg.norm(np.abs(whiten) @ moved))
    farther = sizes + further
    near, far = (sizes[:, None] * sizes[None]), (farther[:, None] * farther[None])
    changed = ((far * (1 + grown) - near) * weight).sum(axis=-1)
    turned = float(np.linalg.norm(np.abs(whiten) @ changed @ np.abs(whiten).T))
    reach = float(np.linalg.norm(np.abs(whiten) @ farther, axis=0).max())
    crossed = reach * distance / (1 - turned) if turned < 1 else 1.0
    if crossed >= 1:
        return math.inf
    radius = -math.log1p(-crossed) / reach
    return radius * float(np.linalg.norm(whiten[:, -1]))


def hosmer_lemeshow(bins: ScoreBins) -> Fitted:
    """Σ (O - E)² / (E (1 - E/n)) over tenths of the people by score, E the sum of their scores.

    People with equal scores stay together; neighbours are joined until each tenth expects five
    positives and five negatives. Of scores that were not fitted to these people it has as many
    degrees of freedom as there are tenths left. None below two.
    """
    if not len(bins.low) or bins.low[0] < 0 or bins.high[-1] > 1:
        return NOT_FITTED
    n = bins.people
    before = np.cumsum(n) - n
    tenth = np.floor(_DECILES * before / n.sum()).astype(np.int64)
    half = (bins.high - bins.low) / 2
    amounts = (n, bins.positive, n * bins.middle, n * half)
    parts = [np.bincount(tenth, amount, _DECILES) for amount in amounts]
    rows = _join_sparse(np.stack(parts, axis=1))
    if len(rows) < 2:
        return NOT_FITTED
    people, observed, expected, hidden = rows.T
    value = _pearson(people, observed, expected)
    low, high = np.maximum(expected - hidden, 0), np.minimum(expected + hidden, people)
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.stack([_pearson(people, observed, end) for end in (low, high)])
    least = np.where((low <= observed) & (observed <= high), 0.0, ends.min(axis=0))
    doubt = np.maximum(ends.max(axis=0) - value, value - least)
    doubts = float(np.where(hidden > 0, doubt, 0.0).sum())
    return Fitted(float(value.sum()), float(len(rows)), doubts)


def resample_calibration_error(people: Ints, expected: Floats, least: float) -> float:
    """The p-value of an expected calibration error of one group, [K bins], if scores are right.

    Each draw gives every bin as many positives as its mean score makes likely (consistency
    resampling: Bröcker & Smith 2007, Increasing the reliability of reliability diagrams, Weather
    and Forecasting 22:651). p is (b + 1) / (draws + 1), b the draws whose error is at least
    `least`: a valid p-value for any number of people. The seed is fixed: the same counts have the
    same p. If no draw is as large, a bound of the chance may be smaller than that.

    >>> resample_calibration_error(np.array([50, 50]), np.array([10.0, 30.0]), 0.2) < 0.001
    True
    """
    people, expected = people[people > 0], expected[people > 0]
    share = np.clip(expected / people, 0.0, 1.0)
    drawn = np.random.default_rng(0).binomial(people, share, size=(DRAWS, len(people)))
    error = np.abs(drawn - expected).sum(axis=1) / people.sum()
    reached = np.count_nonzero(error >= least - _ROUNDING)
    p = float((reached + 1) / (DRAWS + 1))
    return p if reached else min(p, _bound_error(people, share, least - _ROUNDING))


def _bound_error(people: Ints, share: Floats, least: float) -> float:
    """Chernoff's bound of the chance that Σ |positives - expected| is `least` of all people.

    E exp(s |Y|) = E exp(s Y) + E exp(-s Y) - E exp(-s |Y|), the last at least exp(-s sd of Y).
    """
    slope = np.geomspace(1e-8, 100, 500)[:, None]
    with np.errstate(divide="ignore"):
        hit, miss = np.log(share), np.log1p(-share)
    up = people * (np.logaddexp(miss, hit + slope) - slope * share)
    down = people * (np.logaddexp(miss, hit - slope) + slope * share)
    both = np.logaddexp(up, down)
    near = np.exp(-slope * np.sqrt(people * share * (1 - share)) - both)
    exponents = (both + np.log1p(-near)).sum(axis=1) - slope[:, 0] * least * people.sum()
    return max(math.exp(min(float(exponents.min()), 0.0)), LEAST_P)


def find_p_of_largest(people: Ints, expected: Floats, largest: Floats) -> Floats:
    """The p-value of the `largest` [Z] |positives - expected| / people of bins, [Z, K].

    Bins are independent, so the chance that the departure of any bin is as large is exact: one less
    the product of the binomial chances that each is smaller. Šidák (1967), JASA 62:626.

    >>> round(float(find_p_of_largest(np.array([[4]]), np.array([[2.0]]), np.array([0.5]))[0]), 3)
    0.125
    """
    from scipy.special import betainc

    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.clip(expected / people, 0.0, 1.0)
        reach = largest[:, None] * people
        least = np.ceil(expected + reach - _ROUNDING * people)
        most = np.floor(expected - reach + _ROUNDING * people)
        above = np.where(
            least > people, 0.0, betainc(np.maximum(least, 1), people - least + 1, share)
        )
        below = np.where(most < 0, 0.0, betainc(people - most, most + 1, 1 - share))
        chance = np.where(least <= most + 1, 1.0, np.minimum(above + below, 1.0))
        p = -np.expm1(np.log1p(-np.where(people > 0, chance, 0.0)).sum(axis=1))
        return np.asarray(np.maximum(p, LEAST_P))


def calibration_error_reach(people: Ints, positives: Ints, alpha: Alpha = 0.05) -> Floats:
    """How far an expected calibration error lies from the true one at most, [Z, K, G] → [Z, G].

    That is at most Σ w |p̂ - p| over bins of weight w: a convex function of independent normal
    errors, which exceeds its mean by z times √Σ(w σ)² as seldom as a normal number does (Borell
    1975, The Brunn-Minkowski inequality in Gauss space, Inventiones 30:207). Wider than needed
    where many bins count, and never too narrow for it.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (positives + 2) / (people + 4)
        weight = people / people.sum(axis=1, keepdims=True)
        spread = np.where(people > 0, weight * np.sqrt(share * (1 - share) / people), 0.0)
    z = normal_critical(np.minimum(2 * np.asarray(alpha), 1.0))
    mean = math.sqrt(2 / math.pi) * spread.sum(axis=1)
    return np.asarray(mean + z * np.sqrt(np.square(spread).sum(axis=1)))


def _join_sparse(rows: Floats) -> Floats:
    """Neighbouring tenths joined until each expects enough positives and negatives."""
    joined: list[Floats] = []
    for row in rows:
        if joined and _expects_few(joined[-1]):
            joined[-1] = joined[-1] + row
        else:
            joined.append(row)
    while len(joined) > 1 and _expects_few(joined[-1]):
        joined[-2:] = [joined[-2] + joined[-1]]
    return np.array([] if len(joined) == 1 and _expects_few(joined[0]) else joined)


def _expects_few(row: Floats) -> bool:
    people, _, expected, _ = row
    return bool(min(expected, people - expected) < _FEWEST_EXPECTED)


def _pearson(people: Floats, observed: Floats, expected: Floats) -> Floats:
    return np.asarray((observed - expected) ** 2 * people / (expected * (people - expected)))


def _logit(score: Floats) -> Floats:
    return np.log(score) - np.log1p(-score)


def _log_likelihood(bins: ScoreBins, eta: Floats) -> float:
    losses = bins.positive * np.logaddexp(0, -eta) + bins.negative * np.logaddexp(0, eta)
    return -float(losses.sum())

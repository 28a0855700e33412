"""Shares estimated with data of other people: partial pooling over attributes, kernel smoothing.

Partial pooling follows J. Foulds, R. Islam, K. Keya & S. Pan, Bayesian modeling of intersectional
fairness: the variance of bias, arXiv:1811.07255. The logit of a group's share is the sum of a
constant, an effect of each of its levels, and a deviation of the group. The deviations have the
standard deviation τ. So the share of a small group moves towards the share that the effects of its
levels predict, and the share of a large group hardly changes. The computation is deterministic: it
uses expectation propagation (T. Minka, UAI 2001; C. Rasmussen & C. Williams, Gaussian Processes for
Machine Learning, §3.6) for each τ on a grid, and averages the results, weighted by the evidence of
each τ. The likelihood of each group is exact.

Expectation propagation replaces the likelihood of each group by a Gaussian, called the site of the
group. The distribution of a logit given all other groups is called its cavity.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairaudit.base.arrays import Alpha, Floats, Ints
from fairaudit.base.frozen import Frozen
from fairaudit.stats import proportions
from fairaudit.stats.distributions import expit

CONSTANT_DEVIATION = 5.0
LEVEL_DEVIATION = 2.5
"""The prior standard deviations of the constant and of the effect of a level, on the logit scale.
"""
LARGEST_TAU = 3.0
"""The largest τ on the grid; the prior of τ is half-normal with standard deviation 1."""

_TAUS = 21
_STEPS = 60
_MODE_STEPS = 40
_MOST = 40_000
"""The maximum of the number of groups times the number of τ in one computation."""
_CLOSE = 1e-6
_DAMPING = 0.8
_COARSE, _FINE = (np.sinh(np.linspace(-4.5, 4.5, count))[:, None] for count in (101, 401))
"""Points in standard deviations from the middle: dense near the middle, and 45 at the ends."""


class PooledShares(Frozen, eq=False):
    """The posterior of each group's share: the `mean` of the share [G], and the `logit` [Q, G].

    `logit` contains Q points of the distribution of the logit of the share. `below` and `above` [Q,
    G] are the logarithms of the probability below and above each point.
    """

    mean: Floats
    logit: Floats
    below: Floats
    above: Floats

    def ends(self, alpha: Floats | float) -> tuple[Floats, Floats]:
        """The equal-tailed credible interval of each share; an end outside the grid is 0 or 1."""
        with np.errstate(divide="ignore"):
            tails = np.log(np.broadcast_to(alpha, self.mean.shape) / 2)
        low, high = np.empty_like(self.mean), np.empty_like(self.mean)
        for g, tail in enumerate(tails.tolist()):
            logit = self.logit[:, g]
            low[g] = np.interp(tail, self.below[:, g], logit, left=-np.inf)
            high[g] = np.interp(tail, self.above[::-1, g], logit[::-1], left=np.inf)
        return expit(low), expit(high)

    def of_group(self, g: int) -> PooledShares:
        """The posterior of the group `g`, repeated for every group."""
        parts = (self.mean, self.logit, self.below, self.above)
        return PooledShares(*(np.broadcast_to(part[..., g : g + 1], part.shape) for part in parts))


def pool_shares(hits: Floats, trials: Floats, levels: Ints) -> PooledShares:
    """The posterior of each group's share of `hits` among `trials` [G].

    `levels` [A, G] contains the level of each group in each attribute. With one attribute, each
    group is a level, and all groups are moved towards a common share.
    """
    columns = [np.ones((levels.shape[1], 1))]
    if len(levels) > 1:
        columns += [(codes[:, None] == np.unique(codes)).astype(np.float64) for codes in levels]
    model = _Model(hits, trials, np.concatenate(columns, axis=1))
    taus = LARGEST_TAU * np.linspace(0, 1, _TAUS) ** 2
    # Only some τ are computed at a time, to limit memory.
    pieces = np.array_split(taus, max(1, min(_TAUS, _TAUS * len(hits) // _MOST)))
    posteriors = [model.propagate(piece[:, None]) for piece in pieces]
    posterior = _Posterior(*map(np.concatenate, zip(*posteriors, strict=True)))
    # The weight of each τ: the width of its grid cell × its half-normal prior × its evidence.
    height = posterior.evidence - taus**2 / 2
    weights = np.gradient(taus) * np.exp(height - height.max())
    return model.mix(posterior, weights / weights.sum())


class _Sites(NamedTuple):
    """The likelihood of each group's logit as a Gaussian: precision, and precision times mean."""

    precision: Floats
    shift: Floats


class _Posterior(NamedTuple):
    """Mean and variance of the logits and of their cavities at each τ, as arrays [T, G].

    `evidence` [T] is log P(data | τ).
    """

    mean: Floats
    variance: Floats
    cavity: Floats
    cavity_variance: Floats
    evidence: Floats


class _Model(Frozen, eq=False):
    """The hits and trials of the groups [G], and the matrix of the effects in each logit [G, P]."""

    hits: Floats
    trials: Floats
    design: Floats

    def propagate(self, tau: Floats) -> _Posterior:
        """The posterior at each τ [T, 1], by expectation propagation."""
        # The first sites are Gaussians around the observed shares, [T, G].
        share = (self.hits + 0.5) / (self.trials + 1)
        weight = self.trials * share * (1 - share)
        shift = weight * (np.log(share) - np.log1p(-share)) + self.hits - self.trials * share
        sites = _Sites(np.tile(weight, (len(tau), 1)), np.tile(shift, (len(tau), 1)))
        for _ in range(_STEPS):
            mean, variance, _ = self._combine(tau, sites)
            cavity = self._leave_out(mean, variance, sites)
            new_mean, new_variance, _ = self._tilt(*cavity)
            precision = np.maximum(1 / new_variance - 1 / cavity[1], 0.0)
            shift = new_mean * (precision + 1 / cavity[1]) - cavity[0] / cavity[1]
            moved = np.abs(new_mean - mean) / np.sqrt(variance)
            sites = _Sites(
                sites.precision + _DAMPING * (precision - sites.precision),
                sites.shift + _DAMPING * (shift - sites.shift),
            )
            if moved.max() < _CLOSE:
                break
        mean, variance, evidence = self._combine(tau, sites)
        cavity = self._leave_out(mean, variance, sites)
        normalizer = self._tilt(*cavity)[2]
        own = np.log(variance / cavity[1]) + mean**2 / variance - cavity[0] ** 2 / cavity[1]
        return _Posterior(mean, variance, *cavity, evidence + (normalizer - own / 2).sum(axis=1))

    def _combine(self, tau: Floats, sites: _Sites) -> tuple[Floats, Floats, Floats]:
        """The mean and variance of each logit, and the logarithm of the integral of all sites."""
        design, square = self.design, tau * tau
        prior = np.full(design.shape[1], LEVEL_DEVIATION**-2)
        prior[0] = CONSTANT_DEVIATION**-2
        kept = 1 / (1 + square * sites.precision)
        weighed = design.T * (sites.precision * kept)[:, None, :]
        information = weighed @ design + np.diag(prior)
        solved = np.linalg.solve(information, np.broadcast_to(design.T, weighed.shape))
        effects = (solved @ (sites.shift * kept)[..., None])[..., 0]
        mean = kept * (square * sites.shift + effects @ design.T)
        variance = square * kept + kept**2 * np.einsum("gp,tpg->tg", design, solved)
        determinant = np.linalg.slogdet(information)[1] - np.log(prior).sum()
        determinant -= np.log(kept).sum(axis=1)
        return mean, variance, ((sites.shift * mean).sum(axis=1) - determinant) / 2

    @staticmethod
    def _leave_out(mean: Floats, variance: Floats, sites: _Sites) -> tuple[Floats, Floats]:
        """The mean and variance of the cavity of each logit, which omits the site of its group."""
        precision = np.maximum(1 / variance - sites.precision, 1e-10)
        return (mean / variance - sites.shift) / precision, 1 / precision

    def _tilt(self, cavity: Floats, cavity_variance: Floats) -> tuple[Floats, Floats, Floats]:
        """Mean, variance and log-integral of each group's likelihood times its cavity."""
        # The mode is found by Newton's method with halving. It is between `low` and `high`, because
        # the number of hits is between 0 and `trials`.
        low = cavity - cavity_variance * (self.trials - self.hits)
        high = cavity + cavity_variance * self.hits
        mode = np.clip(cavity, low, high)
        for _ in range(_MODE_STEPS):
            share = expit(mode)
            slope = self.hits - self.trials * share - (mode - cavity) / cavity_variance
            curvature = self.trials * share * (1 - share) + 1 / cavity_variance
            low, high = np.where(slope > 0, mode, low), np.where(slope > 0, high, mode)
            step = mode + slope / curvature
            inside = (step >= low) & (step <= high)
            mode = np.where(inside, step, (low + high) / 2)
            if np.abs(slope / np.sqrt(curvature)).max() < _CLOSE:
                break
        deviation = 1 / np.sqrt(curvature)
        logit = mode + deviation * _COARSE[..., None]
        log_density = self._log_likelihood(logit) - (logit - cavity) ** 2 / (2 * cavity_variance)
        top = log_density.max(axis=0)
        density = np.exp(log_density - top) * np.gradient(_COARSE, axis=0)[..., None]
        total = density.sum(axis=0)
        mean = (density * logit).sum(axis=0) / total
        variance = (density * (logit - mean) ** 2).sum(axis=0) / total
        integral = total * deviation / np.sqrt(2 * np.pi * cavity_variance)
        return mean, variance, top + np.log(integral)

    def _log_likelihood(self, logit: Floats) -> Floats:
        return np.asarray(self.hits * logit - self.trials * np.logaddexp(0, logit))

    def mix(self, posterior: _Posterior, weights: Floats) -> PooledShares:
        """The posterior over all τ: likelihoods times cavities, averaged with `weights` [T]."""
        middle = weights @ posterior.mean
        spread = weights @ (posterior.variance + (posterior.mean - middle) ** 2)
        logit = middle + np.sqrt(spread) * _FINE
        own = self._log_likelihood(logit)
        density = np.zeros_like(logit)
        parts = zip(weights.tolist(), posterior.cavity, posterior.cavity_variance, strict=True)
        for weight, cavity, variance in parts:
            log_density = own - (logit - cavity) ** 2 / (2 * variance)
            part = np.exp(log_density - log_density.max(axis=0)) * np.gradient(_FINE, axis=0)
            density += weight * part / part.sum(axis=0)
        half = density / 2
        below = np.cumsum(density, axis=0) - half
        above = np.cumsum(density[::-1], axis=0)[::-1] - half
        mean = (density * expit(logit)).sum(axis=0)
        with np.errstate(divide="ignore"):
            return PooledShares(mean, logit, np.log(below), np.log(above))


_FEWEST = 10
"""The smallest effective number of nearby people for which a local share is computed."""


class LocalShares(NamedTuple):
    """The share, its bounds and the effective number of people at each place; NaN if too few."""

    share: Floats
    low: Floats
    high: Floats
    people: Floats


def bandwidth(at: Floats, people: Floats) -> float:
    """The bandwidth by Silverman's rule; `people` is the number of people at each value `at`.

    The bandwidth is NaN if all values are equal, or with fewer than two people. Silverman (1986),
    Density Estimation for Statistics and Data Analysis, equation 3.31.

    >>> round(bandwidth(np.arange(1.0, 101), np.ones(100)), 4)
    10.3947
    """
    n = people.sum()
    order = np.argsort(at)
    values, reached = at[order], np.cumsum(people[order])
    if n < 2:
        return float("nan")
    mean = (at * people).sum() / n
    deviation = np.sqrt((people * (at - mean) ** 2).sum() / (n - 1))
    low, high = (values[np.searchsorted(reached, share * n)] for share in (0.25, 0.75))
    spread = min(deviation, (high - low) / 1.34) or deviation
    return float(0.9 * spread * n**-0.2) if spread > 0 else float("nan")


def smooth(
    places: Floats, at: Floats, hits: Floats, people: Floats, width: float, alpha: Alpha = 0.05
) -> LocalShares:
    """The share of hits near each place, with Gaussian weights of this `width`.

    `hits` and `people` are the counts at each value `at`. The estimator is from Nadaraya (1964) and
    Watson (1964). The bounds are Wilson's for the effective number of people, (Σw)² / Σw². They
    hold for the smoothed share at one place, not for the whole curve.
    """
    weights = np.exp(-0.5 * ((places[:, None] - at) / width) ** 2)
    total = (weights * people).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (weights * hits).sum(axis=1) / total
        worth = total**2 / (weights**2 * people).sum(axis=1)
    share, worth = (np.where(worth >= _FEWEST, array, np.nan) for array in (share, worth))
    low, high = proportions.wilson(share, worth, alpha)
    return LocalShares(share, np.asarray(low), np.asarray(high), worth)

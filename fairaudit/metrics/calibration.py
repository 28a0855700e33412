"""Catalogue: calibration slope and intercept (Cox), Hosmer-Lemeshow χ²."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from fairaudit.base.arrays import Alpha, Ends
from fairaudit.base.frozen import Frozen, memoize
from fairaudit.cube import Floats, Ints
from fairaudit.metrics import citations
from fairaudit.metrics.confusion_counts import GroupCounts
from fairaudit.metrics.definitions import IS_TEST
from fairaudit.metrics.group_metrics import GroupMetric, OwnTest
from fairaudit.metrics.scores import DISTRIBUTION_AND_LABEL, Ranked
from fairaudit.metrics.terms import Parameters
from fairaudit.stats import distributions, score_statistics

_EXACT = "Exact if each bin of the score has one value; otherwise with a printed error bound."


class _Fitted(Frozen, eq=False):
    """A number of every stratum and group, [Z, G]: value, its spread, what bins hide, people."""

    value: Floats
    spread: Floats
    doubt: Floats
    n: Ints


_Fit: TypeAlias = Callable[[score_statistics.ScoreBins], score_statistics.Fitted]


@memoize
def _fit_groups(counts: GroupCounts, fit: _Fit) -> _Fitted:
    assert counts.scores is not None
    scores = counts.scores
    n = scores.people[:, :2].sum(axis=(1, 2))
    fits = np.full((3, *n.shape), np.nan)
    for z, g in np.ndindex(*n.shape):
        negative, positive = scores.people[z, :2, :, g]
        fits[:, z, g] = fit(
            score_statistics.ScoreBins.of(positive, negative, scores.low, scores.high)
        )
    return _Fitted(fits[0], fits[1], fits[2], np.asarray(n))


def _read(fit: _Fit) -> Callable[..., tuple[Floats, Ints]]:
    return lambda counts, _: (_fit_groups(counts, fit).value, _fit_groups(counts, fit).n)


def _doubt(fit: _Fit) -> Callable[[GroupCounts], Floats]:
    return lambda counts: _fit_groups(counts, fit).doubt


def _of_coefficient(fit: _Fit, best: int) -> dict[str, Any]:
    """The functions of a coefficient: its value, Wald's interval, and Wald's test of the best."""

    def ends_of(counts: GroupCounts, _: Parameters, alpha: Alpha) -> Ends:
        fitted = _fit_groups(counts, fit)
        reach = distributions.normal_critical(alpha) * fitted.spread
        return fitted.value - reach, fitted.value + reach

    def tests_of(counts: GroupCounts) -> OwnTest:
        fitted = _fit_groups(counts, fit)
        apart = fitted.value - best
        z = np.sign(apart) * np.maximum(np.abs(apart) - fitted.doubt, 0.0) / fitted.spread
        return OwnTest(distributions.normal_two_sided(z), "z", z)

    return {
        "value_of": _read(fit), "errors_of": _doubt(fit), "ends_of": ends_of, "method": "Wald",
        "test": "Wald", "tests_of": tests_of,
    }  # fmt: skip


def _test_fit(counts: GroupCounts) -> OwnTest:
    """The test of Hosmer and Lemeshow: p is that of the least χ² that the bins leave open."""
    fitted = _fit_groups(counts, score_statistics.hosmer_lemeshow)
    least = np.maximum(fitted.value - fitted.doubt, 0.0)
    p = distributions.chi_square_tail(least, fitted.spread)
    return OwnTest(p, "χ²", fitted.value, (fitted.spread,))


CALIBRATION_SLOPE = Ranked(
    id="calibration_slope",
    title="Calibration slope",
    short="calib. slope",
    aliases=("cox_slope",),
    family="sufficiency",
    description="The slope of the logit of the true share of positives on the logit of the score: "
    "1 for a calibrated score, below 1 for a score that is too extreme.",
    caution="Trusts the label. Does not reflect what the people concerned experience: they meet "
    "decisions, not scores. A slope of 1 may be wrong by a constant: see the intercept, and the "
    "curve. Undefined if a score is 0 or 1, all labels are equal or a cut separates them.",
    source=citations.COX,
    other_tools="`val.prob` of R's rms, and any logistic regression of the label on the logit of "
    f"the score. {_EXACT}",
    bounds=(None, None),
    best=1,
    formula="b of logit P(y = 1 | s) = a + b · logit(s)",
    undefined="labels that are all equal or that a cut on the score separates, a score of 0 or 1, "
    "or no people",
    requirements=DISTRIBUTION_AND_LABEL,
    hypothesis="a slope of 1",
    **_of_coefficient(score_statistics.recalibration_slope, 1),
)


CALIBRATION_INTERCEPT = Ranked(
    id="calibration_intercept",
    title="Calibration intercept",
    short="calib. intercept",
    aliases=("cox_intercept",),
    family="sufficiency",
    description="How much the logit of the score is too low on average, with slope 1: 0 for a "
    "calibrated score, above 0 if there are more positives than the score predicts.",
    caution="Trusts the label. Errors of high and of low scores cancel: see the slope.",
    source=citations.COX,
    other_tools="Calibration in the large on the scale of odds: a logistic regression on a "
    "constant "
    f"with the logit of the score as offset. {_EXACT}",
    bounds=(None, None),
    formula="a of logit P(y = 1 | s) = a + logit(s)",
    undefined="labels that are all equal, a score of 0 or 1, or no people",
    requirements=DISTRIBUTION_AND_LABEL,
    hypothesis="an intercept of 0",
    **_of_coefficient(score_statistics.recalibration_intercept, 0),
)


HOSMER_LEMESHOW = Ranked(
    id="hosmer_lemeshow",
    title="Hosmer–Lemeshow test of calibration",
    short="Hosmer–L. χ²",
    aliases=("hosmer_lemeshow_test",),
    family="sufficiency",
    description="Compares the number of positives with the number that the score predicts, in "
    "tenths of the group by score: Σ (O - E)² / (E (1 - E/n)).",
    caution="Trusts the label. Grows with the people: in a large group small departures are "
    "significant, in a small one large ones are not. Limits are `fail: {above: 0, significant: "
    "true}`.",
    no_interval="it is a test statistic itself",
    hypothesis="calibration",
    source=citations.HOSMER,
    other_tools="R's `hoslem.test` takes two degrees of freedom off, for scores that were fitted "
    "to these very rows; here the scores come from elsewhere. Tenths that expect fewer than five "
    f"positives or negatives are joined with their neighbours. {_EXACT}",
    bounds=(0, None),
    best=0,
    formula="Σ over tenths b of (O_b - E_b)² / (E_b (1 - E_b / n_b)), E_b the sum of scores",
    undefined="fewer than two parts with five expected positives and negatives each, or a score "
    "outside [0, 1]",
    requirements=DISTRIBUTION_AND_LABEL,
    value_of=_read(score_statistics.hosmer_lemeshow),
    errors_of=_doubt(score_statistics.hosmer_lemeshow),
    test=IS_TEST,
    tests_of=_test_fit,
    instead="calibration_slope, calibration_intercept or calibration_error",
)


CALIBRATION: tuple[GroupMetric, ...] = (
    CALIBRATION_SLOPE,
    CALIBRATION_INTERCEPT,
    HOSMER_LEMESHOW,
)

"""Catalogue: means of scores and numbers; MAE, RMSE, R², residuals, calibration in the large."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from fairaudit.base.arrays import Alpha, Ends
from fairaudit.base.frozen import replace
from fairaudit.cube import Floats, Ints
from fairaudit.metrics import citations
from fairaudit.metrics import rates as r
from fairaudit.metrics.confusion_counts import GroupCounts, Sums
from fairaudit.metrics.definitions import HIGHER_POWERS, TRUSTS_THE_LABEL, Better, Requirement
from fairaudit.metrics.formulas import Formula
from fairaudit.metrics.group_metrics import (
    GroupMetric,
    GroupValues,
    ValueKind,
    count_effective,
    sum_cells,
)
from fairaudit.metrics.terms import NO_PARAMETERS, Parameters
from fairaudit.stats import proportions

_SCORE_AND_LABEL = frozenset({Requirement.SCORE, Requirement.LABEL})
_BOTH_NUMBERS = frozenset({Requirement.NUMBER, Requirement.NUMERIC_LABEL})


def _mean_of(sums_of: Callable[[GroupCounts], Sums], **words: Any) -> Formula:  # noqa: ANN401  # fields of the record
    """The record of a mean over people from exact sums of a number; `words` are other fields."""

    def value_of(counts: GroupCounts, _: Parameters) -> tuple[Floats, Ints]:
        sums = sums_of(counts)
        return sums.mean, np.asarray(sums.n)

    return Formula(
        value_of=value_of,
        exact_of=lambda counts, _: sums_of(counts).exact_mean,
        kind=ValueKind.MEAN,
        deviation_of=lambda counts, _: sums_of(counts).deviation,
        **words,
    )


def _number_mean(of: str, **words: Any) -> Formula:  # noqa: ANN401  # fields of the record
    """The record of the mean of a number over the people of a group who have this number."""
    defaults: dict[str, Any] = {
        "source": citations.KLEINBERG,
        "caution": "A mean does not show how the numbers are spread.",
        "family": "score",
        "bounds": (None, None),
    }
    return _mean_of(lambda counts: counts.sums[of], sums=of, **(defaults | words))


class FirstOf(GroupMetric, kw_only=True):
    """The first of several group metrics for which the data has the sums."""

    options: tuple[GroupMetric, ...]
    formula: str
    requirements: frozenset[Requirement]

    @property
    def kinds(self) -> tuple[ValueKind, ...]:
        """The kinds of all options, in the order of the options."""
        return tuple(kind for option in self.options for kind in option.kinds)

    def _chosen(self, counts: GroupCounts) -> GroupMetric:
        return next(
            option
            for option in self.options
            if not isinstance(option, Formula) or not option.sums or option.sums in counts.sums
        )

    def compute(self, counts: GroupCounts, parameters: Parameters = NO_PARAMETERS) -> GroupValues:
        """The values of the first metric for which the data has the sums."""
        return self._chosen(counts).compute(counts, parameters)

    def exact(self, counts: GroupCounts, z: int, g: int, parameters: Parameters) -> Fraction | None:
        """The value of one group as a fraction."""
        return self._chosen(counts).exact(counts, z, g, parameters)


MEAN_SCORE = _number_mean(
    "score",
    id="mean_score",
    short="mean score",
    description="The mean score of the people in the group.",
    requirements=frozenset({Requirement.SCORE}),
    formula="Σ score / people",
)
MEAN_SCORE_POSITIVES, MEAN_SCORE_NEGATIVES = (
    _number_mean(
        f"score of {label}s",
        id=f"mean_score_{label}s",
        title=f"Mean score of {label}s",
        short=f"mean score ({sign})",
        description=f"The mean score of the people in the group whose label is {label}.",
        requirements=_SCORE_AND_LABEL,
        formula=f"Σ score of {label}s / {label}s",
        caution=TRUSTS_THE_LABEL,
    )
    for label, sign in (("positive", "+"), ("negative", "-"))
)
MEAN_PREDICTION = _number_mean(
    "value",
    id="mean_prediction",
    short="mean prediction",
    description="The mean of the predicted numbers of the people in the group.",
    requirements=frozenset({Requirement.NUMBER}),
    formula="Σ prediction / people",
    source=citations.MLHEALTH,
    aliases=("mean_value",),
)
MEAN_LABEL = _number_mean(
    "value",
    id="mean_label",
    short="mean label",
    description="The mean of the numeric labels of the people in the group.",
    requirements=frozenset({Requirement.NUMERIC_LABEL}),
    formula="Σ label / people",
    source=citations.MLHEALTH,
    caution="The mean describes the label, not the prediction. History can cause a difference.",
)
_RESIDUAL = _number_mean(
    "residual",
    id="mean_residual_of_numbers",
    title="Mean residual",
    short="mean residual",
    description="The mean of the differences label minus prediction.",
    requirements=_BOTH_NUMBERS,
    formula="Σ (label - prediction) / people",
    source=citations.MLHEALTH,
    family="accuracy",
)


def _r2(counts: GroupCounts, _: Parameters) -> tuple[Floats, Ints]:
    sums = counts.sums["residual"]
    total = counts.sums["label"].deviation
    squares = np.asarray(sums.squares, dtype=np.float64) / float(sums.square_scale)
    explained = 1 - squares / total
    return np.asarray(np.where(total > 0, explained, np.nan)), np.asarray(sums.n)


MAE = _mean_of(
    lambda counts: counts.sums["residual"].of_magnitudes,
    id="mae",
    title="Mean absolute error",
    short="MAE",
    aliases=("mean_absolute_error",),
    family="accuracy",
    description="The mean distance between label and prediction, whether the prediction is too "
    "high or too low.",
    caution=TRUSTS_THE_LABEL,
    other_tools="The value has the unit of the label.",
    source=citations.MLHEALTH,
    better=Better.LOWER,
    bounds=(0, None),
    formula="Σ |label - prediction| / people",
    requirements=_BOTH_NUMBERS,
)
RMSE = Formula(
    id="rmse",
    title="Root mean squared error",
    short="RMSE",
    aliases=("root_mean_squared_error",),
    family="accuracy",
    description="The square root of the mean of the squared differences between label and "
    "prediction.",
    caution=TRUSTS_THE_LABEL + " A few large errors can decide the value.",
    no_interval=HIGHER_POWERS,
    source=citations.MLHEALTH,
    better=Better.LOWER,
    bounds=(0, None),
    formula="√(Σ (label - prediction)² / people)",
    requirements=_BOTH_NUMBERS,
    value_of=lambda counts, _: (
        np.sqrt(counts.sums["residual"].mean_square),
        np.asarray(counts.sums["residual"].n),
    ),
)

R2 = Formula(
    id="r2",
    title="Coefficient of determination",
    short="R²",
    aliases=("r2_score",),
    family="accuracy",
    description="How much of the spread of the group's labels the predictions explain: 1 if every "
    "prediction is right, 0 if the group's mean label would be as good a prediction, below 0 if it "
    "would be better.",
    caution="The errors are compared with the spread of the group's own labels. With errors of the "
    "same size, a group whose labels vary little has a lower value.",
    no_interval=HIGHER_POWERS,
    source=citations.MLHEALTH,
    other_tools="The same as scikit-learn's `r2_score` for the group alone. If the labels do not "
    "vary, scikit-learn prints 1 or 0; here the value is undefined.",
    better=Better.HIGHER,
    bounds=(None, 1),
    formula="1 - Σ (label - prediction)² / Σ (label - mean label)²",
    undefined="labels that do not vary, or no people",
    requirements=_BOTH_NUMBERS,
    value_of=_r2,
)


def sum_misses(counts: GroupCounts) -> Sums:
    """The sums of y - s over people with a label y and a score s: Σ(y - s)² = n₊ - 2Σ₊s + Σs²."""
    plus, minus = counts.sums["score of positives"], counts.sums["score of negatives"]
    scale, square_scale = plus.scale, plus.square_scale
    hits, of_plus, of_minus, squares, negative_squares = (
        np.asarray(array).astype(object)
        for array in (plus.n, plus.total, minus.total, plus.squares, minus.squares)
    )
    return replace(
        plus,
        n=np.asarray(plus.n + minus.n),
        total=hits * scale - (of_plus + of_minus),
        squares=(hits * scale - 2 * of_plus) * square_scale + (squares + negative_squares) * scale,
        square_scale=square_scale * scale,
    )


CALIBRATION_IN_THE_LARGE = _mean_of(
    sum_misses,
    id="calibration_in_the_large",
    short="calib. in large",
    family="sufficiency",
    description="The share of positives minus the mean score: above 0 if the scores of the group "
    "are too low.",
    caution=TRUSTS_THE_LABEL + " Scores that are too high and scores that are too low cancel each "
    "other.",
    source=citations.STEYERBERG,
    bounds=(None, None),
    formula="mean label - mean score",
    requirements=_SCORE_AND_LABEL,
    sums="score",
)

_CELLS = ("fn", "fp", "tn", "tp")


def mean_of_cells(
    list_values: Callable[[Parameters], Mapping[str, Decimal | int]],
    **words: Any,  # noqa: ANN401  # fields of the record
) -> Formula:
    """The record of a mean over people, where each cell has a number (0 if it is not listed)."""

    def value_of(counts: GroupCounts, parameters: Parameters) -> tuple[Floats, Ints]:
        mass = counts.weighted
        over = sum(float(v) * getattr(mass, cell) for cell, v in list_values(parameters).items())
        return np.asarray(over / mass.labelled), np.asarray(counts.people.labelled)

    def exact_of(counts: GroupCounts, parameters: Parameters) -> Fraction | None:
        mass = counts.weighted
        over = sum(Fraction(v) * getattr(mass, cell) for cell, v in list_values(parameters).items())
        return Fraction(over, mass.labelled) if mass.labelled else None

    def size_of(counts: GroupCounts, parameters: Parameters) -> Floats:
        values = {cell: float(value) for cell, value in list_values(parameters).items()}
        return count_effective(counts, _CELLS, values)

    def ends_of(
        counts: GroupCounts, parameters: Parameters, alpha: Alpha, weights: Floats | None = None
    ) -> Ends:
        mean, values = value_of(counts, parameters)[0], list_values(parameters)
        of_cells = [float(values.get(cell, 0)) for cell in _CELLS]
        down, up = _reach_from_mean(counts, of_cells, alpha, weights)
        if weights is not None:
            mean = np.where(weights > 0, weights * mean, 0.0).sum(axis=0)
        return mean - down, mean + up

    def deviation_of(counts: GroupCounts, parameters: Parameters) -> Floats:
        mass, values = counts.weighted, list_values(parameters)
        mean, _ = value_of(counts, parameters)
        squares = sum(
            (float(values.get(cell, 0)) - mean) ** 2 * getattr(mass, cell) for cell in _CELLS
        )
        return np.asarray(squares / mass.labelled * size_of(counts, parameters))

    return Formula(
        value_of=value_of,
        exact_of=exact_of,
        weighted_n_of=lambda mass: mass.labelled,
        kind=ValueKind.MEAN_OF_SHARES,
        deviation_of=deviation_of,
        size_of=size_of,
        ends_of=ends_of,
        average_of=ends_of,
        method="MOVER by each share",
        requirements=frozenset({Requirement.LABEL, Requirement.PREDICTION}),
        **words,
    )


def _reach_from_mean(
    counts: GroupCounts, values: Sequence[float], alpha: Alpha, weights: Floats | None
) -> Ends:
    """The distances of the lower and of the upper end of an interval from the mean.

    With `weights` [Z, G], the mean is the average over strata. `values` are the values of the cells
    in `_CELLS`. The mean is the lowest value plus, for each step to the next higher value, the step
    times the share of people with at least this next value. The distances of each share from the
    ends of its interval are combined by the correlations of the shares. A t interval would cover
    only .66 if one of 100 people has a utility of -5 and the others have about 0.
    """
    squares = np.stack([getattr(counts.squares or counts.people, cell) for cell in _CELLS])
    steps, shares, apart, ends = [], [], [], []
    for lower, upper in pairwise(sorted(set(values))):
        above = [cell for cell, value in zip(_CELLS, values, strict=True) if value >= upper]
        share = np.asarray(sum_cells(counts.weighted, above) / counts.weighted.labelled)
        size = count_effective(counts, _CELLS, dict.fromkeys(above, 1.0))
        steps.append(upper - lower)
        apart.append(np.stack([(cell in above) - share for cell in _CELLS]))
        if weights is None:
            ends.append(proportions.share_interval(share, size, alpha))
        else:
            low, high = proportions.average_interval(share, size, weights, alpha)
            ends.append((low.reshape(1, -1), high.reshape(1, -1)))
            share = np.where(weights > 0, weights * share, 0.0).sum(axis=0, keepdims=True)
        shares.append(share)
    if not steps:
        nothing = np.full(squares.shape[1:], np.nan)
        return nothing, nothing
    if weights is not None:
        squares = squares * np.square(weights * counts.scale / counts.weighted.labelled)
        squares, apart = np.nan_to_num(squares), [np.nan_to_num(part) for part in apart]
    both = np.einsum("icg...,jcg...,cg...->ijg...", apart, apart, squares)
    both = both if weights is None else both.sum(axis=2, keepdims=True)
    spread = np.sqrt(np.einsum("iig...->ig...", both))
    # Two shares of 0, or two shares of 1, vary together; other correlations of them are unknown.
    alike = np.isclose(shares, np.array(shares)[:, None], rtol=0, atol=1e-12)
    r = np.where(spread * spread[:, None] > 0, both / (spread * spread[:, None]), alike)
    step = np.reshape(steps, (-1, *[1] * np.ndim(shares[0])))
    down, up = (
        np.sqrt(np.maximum(np.einsum("ig...,jg...,ijg...->g...", reach, reach, r), 0.0))
        for reach in (
            step * (np.array(shares) - [low for low, _ in ends]),
            step * ([high for _, high in ends] - np.array(shares)),
        )
    )
    return down, up


_RESIDUAL_OF_COUNTS = mean_of_cells(
    lambda _: {"fn": 1, "fp": -1},
    id="mean_residual_of_classes",
    title="Mean residual",
    family="accuracy",
    description="The mean of the differences label minus prediction, both 0 or 1.",
    caution=TRUSTS_THE_LABEL,
    source=citations.ZLIOBAITE,
    bounds=(-1, 1),
    formula="(fn - fp) / n",
)
MEAN_RESIDUAL = FirstOf(
    id="mean_residual",
    short="residual",
    family="accuracy",
    description="The mean of the differences label minus prediction: above 0 if the predictions "
    "for the group are too low.",
    caution=TRUSTS_THE_LABEL + " Predictions that are too high and predictions that are too low "
    "cancel each other.",
    source=citations.ZLIOBAITE,
    bounds=(None, None),
    formula="mean of label - prediction (for two classes: label - score, or (fn - fp) / people)",
    requirements=frozenset(),
    options=(_RESIDUAL, CALIBRATION_IN_THE_LARGE, _RESIDUAL_OF_COUNTS),
)
OUTCOME_MEAN = FirstOf(
    id="outcome_mean",
    title="Mean outcome",
    short="outcome",
    family="score",
    description="The mean score, the mean number or the selection rate: the first that the spec "
    "declares.",
    caution="The spec determines which of them is used.",
    source=citations.ZLIOBAITE,
    bounds=(None, None),
    formula="mean score, or without a score mean prediction",
    requirements=frozenset(),
    shown=False,
    options=(MEAN_SCORE, MEAN_PREDICTION, r.SELECTION_RATE),
)
ADJUSTED_MEAN = replace(
    OUTCOME_MEAN,
    id="adjusted_mean",
    title="Adjusted mean",
    short="adjusted mean",
    description="The mean outcome that a group would have with the controls of the reference, by "
    "least squares. It can be outside the range of the outcome.",
)
OUTCOME_MEAN_OF_NEGATIVES = FirstOf(
    id="outcome_mean_of_negatives",
    title="Mean outcome of negatives",
    short="outcome (-)",
    family="score",
    description="The mean score of negatives, or the false positive rate without a score.",
    caution=TRUSTS_THE_LABEL,
    source=citations.ZLIOBAITE,
    formula="mean score of negatives, or without a score fp / (fp + tn)",
    requirements=frozenset(),
    shown=False,
    options=(MEAN_SCORE_NEGATIVES, r.FALSE_POSITIVE_RATE),
)

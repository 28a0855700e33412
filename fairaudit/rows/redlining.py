"""Prediction of the group from features (redlining): folds, seed, models; interval `INFLATION`.

Feldman, Friedler, Moeller, Scheidegger & Venkatasubramanian (2015), Certifying and removing
disparate impact, KDD 2015:259, doi:10.1145/2783258.2783311.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairaudit.base.arrays import Floats, Ints, Marks
from fairaudit.cube.features import Features
from fairaudit.rows.design import USUAL, design, fit_logistic, one_thread
from fairaudit.stats.distributions import expit

FOLDS = 5
"""Each fold is predicted by a model that is fitted to the others."""

SEED = 0
"""The seed that deals people into folds."""

INFLATION = 1 + FOLDS / (FOLDS - 1)
"""Folds share training data, so their errors vary more than independent errors.

Nadeau & Bengio (2003), Inference for the generalization error, Mach Learn 52:239,
doi:10.1023/A:1024068626366: 1 + folds · (people predicted / people learned from) times as much.
Without information in the features the variance is twice as large; the factor here is 2.25.
"""

_TREES = 50

_MOST_LEVELS = 255
"""Most levels for the trees; the rarest further levels are joined."""


class Errors(NamedTuple):
    """The shares of both sides' people that a predictor assigns to the other side.

    `missed` of the members, `mistaken` of the others, and the number of people of each side.
    """

    missed: float
    mistaken: float
    members: int
    others: int


def predict_errors(features: Features, member: Marks) -> Errors | None:
    """The errors of predicting who is a member, each fold from the four others.

    The predictor is the mean of a logistic regression, which fits additive effects, and
    gradient-boosted trees, which fit thresholds and interactions; both give the two sides equal
    weights. None if a side is smaller than the number of folds, no feature varies, or the logistic
    regression did not converge.
    """
    if _describe(features, ~member) < _describe(features, member):
        # The errors must not depend on which side is called the members.
        swapped = predict_errors(features, ~member)
        return swapped and Errors(swapped[1], swapped[0], swapped[3], swapped[2])
    order = features.canonical_order(member.astype(np.int64))
    features, member = features.take(order), member[order]
    sides = int(member.sum()), int((~member).sum())
    matrix = design(features).matrix
    if min(sides) < FOLDS or not matrix.size:
        return None
    # Numbers and the ranks of levels by their people.
    ranks = [np.zeros((len(features), 0))]
    for codes in features.codes.T:
        sizes = np.bincount(codes)
        place = np.argsort(np.argsort(-sizes, kind="stable"), kind="stable")
        ranks.append(np.minimum(place[codes], _MOST_LEVELS - 1)[:, None].astype(np.float64))
    table = np.hstack([features.numbers, *ranks])
    is_category = np.arange(table.shape[1]) >= features.numbers.shape[1]
    folds = deal_folds(member, SEED)
    taken = np.zeros(len(member), dtype=np.bool_)
    with one_thread():
        for fold in range(FOLDS):
            test = folds == fold
            learned = member[~test]
            mass = np.where(learned, 0.5 / learned.mean(), 0.5 / (~learned).mean())
            fit = fit_logistic(matrix[~test], learned, mass, USUAL)
            if fit is None:
                return None
            linear = expit(fit[0] + matrix[test] @ fit[1])
            trees = _predict_by_trees(table[~test], learned, table[test], is_category)
            taken[test] = (linear + trees) / 2 >= 0.5  # noqa: PLR2004  # more likely than not
    return Errors(float((~taken[member]).mean()), float(taken[~member].mean()), *sides)


def _describe(features: Features, side: Marks) -> tuple[int, bytes, bytes]:
    """The number of people of a side, and their features, in a form that can be sorted."""
    people = features.take(side)
    people = people.take(people.canonical_order())
    return len(people), people.numbers.tobytes(), people.codes.tobytes()


def deal_folds(member: Marks, seed: int) -> Ints:
    """A fold for each person: those of a side are shuffled and dealt, so sizes differ by one."""
    generator = np.random.default_rng(seed)
    folds = np.zeros(len(member), dtype=np.int64)
    for side in (member, ~member):
        places = np.flatnonzero(side)
        folds[generator.permutation(places)] = np.arange(len(places)) % FOLDS
    return folds


def _predict_by_trees(table: Floats, member: Marks, others: Floats, is_category: Marks) -> Floats:
    """The probability of membership of other people, by gradient-boosted trees."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    trees = HistGradientBoostingClassifier(
        categorical_features=is_category,
        class_weight="balanced",
        max_iter=_TREES,
        early_stopping=False,
        random_state=SEED,
    )
    trees.fit(table, member)
    return np.asarray(trees.predict_proba(others)[:, 1])

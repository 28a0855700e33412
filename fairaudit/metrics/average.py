"""Rates averaged over strata: the same weights for both sides, so that like is compared with like.

Weights count people in the rate's own denominator (negatives for a false positive rate), and only
in strata where both sides have somebody: there the comparison can be made at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction

import numpy as np

from fairaudit.cube import Floats, Group, Marks


class Weights(StrEnum):
    """How the strata are weighed: by whom, or all alike.

    `middle` weighs by the mean of both sides' shares, `own` each side by its own: that is no
    standardisation, but the crude rate on the strata where both sides occur.
    """

    POOLED = "pooled"
    UNIFORM = "uniform"
    REFERENCE = "reference"
    GROUP = "group"
    LEVELS = "levels"
    MIDDLE = "middle"
    OWN = "own"


@dataclass(frozen=True, slots=True)
class Average:
    """How rates are averaged over strata; `levels` are the weights of `Weights.LEVELS`."""

    weights: Weights
    levels: Mapping[str, Decimal] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        if self.weights is not Weights.LEVELS:
            return str(self.weights)
        return ", ".join(f"{level} {weight}" for level, weight in self.levels.items())

    def of_strata(self, strata: tuple[Group, ...]) -> Floats:
        """The weight that is given to each stratum, [Z]; 0 where none is."""
        names = [", ".join(level for _, level in stratum) for stratum in strata]
        return np.array([float(self.levels.get(name, 0)) for name in names])


POOLED, UNIFORM = Average(Weights.POOLED), Average(Weights.UNIFORM)
MIDDLE, OWN = Average(Weights.MIDDLE), Average(Weights.OWN)


@dataclass(frozen=True, slots=True, eq=False)
class StratifiedAverages:
    """Both sides' averages, [1, G], and the weight of every stratum in each, [Z, G].

    `support` [Z, G] marks the strata where both sides have somebody; `left_out` [Z, G] is the share
    of the weight that stood in the others, `off_support` [1, G] that of both sides' people.
    """

    first: Floats
    second: Floats
    first_weights: Floats
    second_weights: Floats
    left_out: Floats
    support: Marks
    off_support: Floats


def average_strata(
    how: Average,
    strata: tuple[Group, ...],
    values: tuple[Floats, Floats],
    people: tuple[Floats, Floats],
    known: Marks,
    comparable: Marks,
) -> StratifiedAverages:
    """The averages of both sides' values [Z, G] with people [Z, G].

    Of the `known` strata [Z] those are compared that are `comparable`.
    """
    (one, two), (n, m) = values, people
    first, second = _raw_weights(how, strata, n, m)
    first, second = first * known[:, None], second * known[:, None]
    support = (n > 0) & (m > 0) & ~np.isnan(one) & ~np.isnan(two) & comparable[:, None]
    both_sides = (n + m) * known[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        off = (both_sides * ~support).sum(axis=0, keepdims=True) / both_sides.sum(axis=0)
        left_out = np.where(support, 0.0, first / first.sum(axis=0))
        first, second = first * support, second * support
        if how.weights is Weights.MIDDLE:
            # Shares are taken on common support.
            both = (n * support, m * support)
            first = sum(side / side.sum(axis=0) for side in both) / 2
            second = first
        first, second = first / first.sum(axis=0), second / second.sum(axis=0)
        return StratifiedAverages(
            _weighed(first, one),
            _weighed(second, two),
            first,
            second,
            np.nan_to_num(left_out),
            support,
            np.nan_to_num(off),
        )


def average_exactly(
    how: Average,
    strata: tuple[Group, ...],
    values: Sequence[tuple[Fraction | None, Fraction | None]],
    people: Sequence[tuple[int, int]],
    known: Sequence[bool],
) -> tuple[Fraction, Fraction] | None:
    """The same averages of one pair as fractions; None where no stratum is left."""
    names = [", ".join(level for _, level in stratum) for stratum in strata]
    left = [
        (one, two, n, m, Fraction(how.levels.get(name, 0)))
        for (one, two), (n, m), name, counts in zip(values, people, names, known, strict=True)
        if counts and n and m and one is not None and two is not None
    ]
    ours, theirs = sum(n for _, _, n, _, _ in left), sum(m for _, _, _, m, _ in left)

    def weights_of(n: int, m: int, given: Fraction) -> tuple[Fraction, Fraction]:
        shares = Fraction(n, ours), Fraction(m, theirs)
        same = {
            Weights.POOLED: Fraction(n + m),
            Weights.UNIFORM: Fraction(1),
            Weights.REFERENCE: shares[1],
            Weights.GROUP: shares[0],
            Weights.LEVELS: given,
            Weights.MIDDLE: (shares[0] + shares[1]) / 2,
        }
        return shares if how.weights is Weights.OWN else (same[how.weights], same[how.weights])

    weights = [weights_of(n, m, given) for _, _, n, m, given in left]
    totals = [sum((pair[side] for pair in weights), Fraction(0)) for side in (0, 1)]
    if not all(totals):
        return None
    found = [
        sum((pair[side] * one[side] for pair, one in zip(weights, left, strict=True)), Fraction(0))
        for side in (0, 1)
    ]
    return found[0] / totals[0], found[1] / totals[1]


def _raw_weights(
    how: Average, strata: tuple[Group, ...], n: Floats, m: Floats
) -> tuple[Floats, Floats]:
    match how.weights:
        case Weights.POOLED:
            return n + m, n + m
        case Weights.UNIFORM:
            ones = np.ones_like(n)
            return ones, ones
        case Weights.REFERENCE:
            return m, m
        case Weights.GROUP:
            return n, n
        case Weights.LEVELS:
            given = np.broadcast_to(how.of_strata(strata)[:, None], n.shape)
            return given, given
        case Weights.OWN:
            return n, m
        case _:
            return n + m, n + m


def _weighed(weights: Floats, values: Floats) -> Floats:
    """Σ weight · value, [1, G]; a stratum of no weight adds nothing, whatever stands in it."""
    found = np.where(weights > 0, weights * values, 0.0).sum(axis=0, keepdims=True)
    return np.where(np.isnan(weights.sum(axis=0, keepdims=True)), np.nan, found)

"""Catalogue: inequality of benefit: entropy (default `alpha`), Theil, Atkinson; expected utility.

The benefit of a row is b = ŷ - y + 1 (Speicher et al. 2018), or y - ŷ + 1 if the positive outcome
is a burden. The benefit is 0 for people with a harmful error, 1 for people with a correct decision,
and 2 for people with an error in their favour.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from fairaudit.base.arrays import Alpha, Ends
from fairaudit.cube import Floats, GroupTable
from fairaudit.metrics import citations
from fairaudit.metrics.confusion_counts import Cell, GroupCounts, count_groups
from fairaudit.metrics.definitions import BIASED_BY_CHANCE, Better, Requirement
from fairaudit.metrics.eligibility import admit_groups, are_comparable
from fairaudit.metrics.formulas import Formula
from fairaudit.metrics.group_metrics import (
    CURVED,
    TableMetric,
    TableValue,
    count_effective_of_share,
    sum_cells,
)
from fairaudit.metrics.means_and_errors import mean_of_cells
from fairaudit.metrics.terms import MetricOptions, Parameters
from fairaudit.stats import proportions

_BOTH = frozenset({Requirement.LABEL, Requirement.PREDICTION})
_METHOD = "MOVER by each share"
_CELLS = ("fn", "fp", "tn", "tp")
_BENEFIT = "benefit b = prediction - label + 1 (label - prediction + 1 for a burden) with mean μ"
_CAUTION = (
    "The weights of false positives and false negatives are fixed. The value does not show which "
    "people gain or lose. If only one person has a benefit, the interval has no upper end."
)


def _levels(counts: GroupCounts) -> tuple[Cell, Cell, Cell]:
    """The mass of people with the benefits 0, 1 and 2."""
    wronged, favoured = counts.weighted.fn, counts.weighted.fp
    if not counts.favourable:
        wronged, favoured = favoured, wronged
    return wronged, counts.weighted.tp + counts.weighted.tn, favoured


def _entropy(levels: tuple[Cell, Cell, Cell], alpha: float) -> Floats:
    """GE(α) of the benefits, with 0 · ln 0 = 0; for α ≤ 0, any benefit of 0 makes GE infinite."""
    masses = [np.asarray(level, dtype=np.float64) for level in levels]
    n = np.asarray(sum(masses))
    mean = (masses[1] + 2 * masses[2]) / n
    total = np.zeros_like(n)
    for benefit, mass in enumerate(masses):
        total = total + np.where(mass > 0, mass * _term(benefit / mean, alpha), 0.0)
    # Σ(r^α - 1) over people, so that equal benefits give exactly 0.
    factor = alpha * (alpha - 1) if alpha not in {0.0, 1.0} else 1.0
    value = np.where((n > 0) & (mean > 0), total / n / factor, np.nan)
    return np.asarray(np.where(value < 0, 0.0, value))


def _term(ratio: Floats, alpha: float) -> Floats:
    if alpha == 1:
        return np.asarray(np.where(ratio == 0, 0.0, ratio * np.log(ratio)))
    return np.asarray(-np.log(ratio) if alpha == 0 else ratio**alpha - 1)


def _entropy_ends(counts: GroupCounts, order: float, alpha: Alpha) -> Ends:
    """The interval of GE(α), by MOVER of two shares.

    The first share is the share of people without benefit; GE rises with this share. The second
    share is the share of people with a benefit of 2 among all people with a benefit. GE rises with
    the second share up to `top`, and then falls. Only unequal weights correlate the two shares. If
    `order` is 0 or less, GE is infinite as soon as one person has no benefit; the interval then
    assumes that everybody has a benefit.
    """
    none, double = ("fn", "fp") if counts.favourable else ("fp", "fn")
    wronged, right, favoured = (np.asarray(level, dtype=np.float64) for level in _levels(counts))
    without, twice = wronged / (wronged + right + favoured), favoured / (right + favoured)

    def entropy(without: Floats, twice: Floats) -> Floats:
        return _entropy((without, (1 - without) * (1 - twice), (1 - without) * twice), order)

    size_of_twice = count_effective_of_share(counts, (double,), (double, "tp", "tn"))
    low, high = proportions.share_interval(twice, size_of_twice, alpha)
    power = 2**order - 1
    top = (
        2 * np.log(2) - 1 if order == 1
        else 1 / np.log(2) - 1 if order == 0
        else (power - order) / (power * (order - 1))
    )  # fmt: skip
    by_twice = [entropy(without, share) for share in (low, high, np.clip(top, low, high))]
    value = entropy(without, twice)
    least, most = value - np.minimum(*by_twice[:2]), np.maximum.reduce(by_twice) - value
    if order > 0:
        size = count_effective_of_share(counts, (none,), _CELLS)
        low, _ = proportions.share_interval(without, size, alpha)
        # GE of a sample without any benefit is undefined, so the upper end has the level of all
        # other samples. `chance` is the lowest probability of such a sample, computed with one
        # person fewer who has a benefit.
        others = np.maximum((1 - without) * size - 1, 0.0) / (size - 1)
        rarest = proportions.share_interval(others, size - 1, alpha)[0]
        chance = np.nan_to_num(1 - (1 - rarest) ** size)
        _, high = proportions.share_interval(without, size, alpha * chance)
        limit = np.inf if order >= 1 else 1 / (order * (1 - order))
        r = None
        if counts.squares is not None:
            squares = [np.asarray(sum_cells(counts.squares, cells)) for cells in
                       ((double,), ("tp", "tn"))]  # fmt: skip
            mass = (wronged + right + favoured) * (right + favoured) / counts.scale**2
            errors = np.sqrt(without * (1 - without) / size * twice * (1 - twice) / size_of_twice)
            both = without * (squares[0] * (1 - twice) - squares[1] * twice) / mass
            r = np.clip(np.nan_to_num(both / errors), -1, 1) * np.sign(top - twice)
        least = proportions.combine_errors(least, value - entropy(low, twice), r)
        highest = np.where(high < 1, entropy(high, twice), limit)
        most = proportions.combine_errors(most, highest - value, r)
    value = np.where(np.isfinite(value), value, np.nan)
    return np.maximum(value - least, 0.0), value + most


def _atkinson(entropy: Floats, aversion: float) -> Floats:
    """The Atkinson index from the generalized entropy of the order 1 - aversion."""
    order = 1 - aversion
    if not order:
        return np.asarray(1 - np.exp(-entropy))
    return np.asarray(1 - (1 + order * (order - 1) * entropy) ** (1 / order))


def _exact_half_square(levels: tuple[int, int, int]) -> Fraction | None:
    none, usual, double = levels
    n, total = none + usual + double, usual + 2 * double
    return (Fraction((usual + 4 * double) * n, total**2) - 1) / 2 if total else None


def _alpha(parameters: Parameters, default: int = 2) -> float:
    return float(default if parameters.alpha is None else parameters.alpha)


def _define(
    find_order: Callable[[Parameters], float],
    change: Callable[[Floats, Parameters], Floats] = lambda entropy, _: entropy,
    bias: float = CURVED,
) -> dict[str, Any]:
    """The fields of the record of `change(GE(α))`, where `find_order` returns α."""

    def value_of(counts: GroupCounts, parameters: Parameters) -> tuple[Floats, Cell]:
        entropy = _entropy(_levels(counts), find_order(parameters))
        return change(entropy, parameters), counts.people.labelled

    def ends_of(counts: GroupCounts, parameters: Parameters, alpha: Alpha) -> Ends:
        low, high = _entropy_ends(counts, find_order(parameters), alpha)
        return change(low, parameters), change(high, parameters)

    return {
        "family": "inequality",
        "better": Better.LOWER,
        "bias": bias,
        "requirements": _BOTH,
        "weighted_n_of": lambda mass: mass.labelled,
        "value_of": value_of,
        "ends_of": ends_of,
    }


GENERALIZED_ENTROPY = Formula(
    **_define(_alpha),
    id="generalized_entropy",
    short="GE",
    aliases=("generalized_entropy_index", "generalized_entropy_error"),
    description="How unequally the benefit of the decisions (what a decision is worth to a person) "
    "is distributed over the people of the group.",
    caution=_CAUTION,
    source=citations.SPEICHER,
    other_tools="AIF360's `generalized_entropy_index` always uses b = prediction - label + 1. At α "
    "= 0, AIF360 divides by μ once too often.",
    bounds=(0, None),
    parameters=("alpha",),
    formula=f"Σ[(b/μ)^α - 1] / (people · α (α - 1)), {_BENEFIT}; α = 2 by default",
    exact_of=lambda counts, p: _exact_half_square(_levels(counts)) if _alpha(p) == 2 else None,
    method=_METHOD,
)
THEIL = Formula(
    **_define(lambda _: 1.0),
    id="theil",
    title="Theil index",
    short="Theil",
    aliases=("theil_index",),
    description="Generalized entropy at α = 1: how unequally the benefit is distributed.",
    caution=_CAUTION,
    source=citations.THEIL,
    other_tools="The same as AIF360's `theil_index`.",
    bounds=(0, None),
    formula=f"mean of (b/μ) ln(b/μ), {_BENEFIT}",
    method=_METHOD,
)
COEFFICIENT_OF_VARIATION = Formula(
    **_define(lambda _: 2.0, lambda entropy, _: np.sqrt(2 * entropy), bias=np.inf),
    id="coefficient_of_variation",
    title="Coefficient of variation of benefit",
    short="CV",
    description="The standard deviation of the benefit, divided by its mean.",
    caution=_CAUTION,
    source=citations.SPEICHER,
    other_tools="fairMLHealth's documentation and AIF360 before version 0.5 print a value that is "
    "√2 times as large.",
    bounds=(0, None),
    formula=f"standard deviation of b / μ, {_BENEFIT}",
    method=f"{_METHOD}, mapped",
)
ATKINSON = Formula(
    **_define(lambda p: 1 - _alpha(p, 1), lambda entropy, p: _atkinson(entropy, _alpha(p, 1))),
    id="atkinson",
    title="Atkinson index of benefit",
    short="Atkinson",
    description="The share of the total benefit that could be given up without a loss of welfare "
    "if the rest were distributed equally.",
    caution="If α is 1 or more, the index is 1 as soon as one person has a benefit of 0 (a false "
    "negative; for a burden, a false positive).",
    source=citations.ATKINSON,
    parameters=("alpha",),
    formula=f"1 - [mean of (b/μ)^(1 - α)]^(1 / (1 - α)), {_BENEFIT}; by default α = 1: 1 - "
    "exp(-generalized entropy at α = 0)",
    method=f"{_METHOD}, mapped",
)

EXPECTED_UTILITY = mean_of_cells(
    lambda parameters: dict(parameters.utilities),
    id="expected_utility",
    short="utility",
    family="inequality",
    description="The mean utility of the decisions for the people of the group. The spec declares "
    "the utility of each of the four outcomes (tp, fp, fn, tn).",
    caution="The value is only as good as the four utilities, and these are a value judgement.",
    source=citations.HEIDARI,
    better=Better.HIGHER,
    bounds=(None, None),
    parameters=("utilities",),
    formula="(u(tp)·tp + u(fp)·fp + u(fn)·fn + u(tn)·tn) / people, with utilities u",
)


def _between(table: GroupTable, terms: MetricOptions) -> TableValue:
    counts, alpha = count_groups(table), _alpha(terms.parameters)
    people = counts.people.labelled
    takes_part = admit_groups(table, people, terms.minimum)
    none, usual, double = (np.where(takes_part, level, 0) for level in _levels(counts))
    n = none + usual + double
    total = n.sum(axis=1)
    mean = (usual + 2 * double).sum(axis=1) / total
    ratio = (usual + 2 * double) / n / mean[:, None]
    apart = np.where(n > 0, n * _term(ratio, alpha), 0.0).sum(axis=1)
    factor = alpha * (alpha - 1) if alpha not in {0.0, 1.0} else 1.0
    value = np.where(mean > 0, np.maximum(apart / total / factor, 0.0), np.nan)
    return TableValue.of(value, takes_part, people, defined=are_comparable(takes_part, n))


BETWEEN_GROUPS = TableMetric(
    id="between_group_generalized_entropy",
    title="Generalized entropy between groups",
    short="GE between",
    aliases=("between_all_groups_generalized_entropy_index",),
    family="inequality",
    description="The part of the inequality of benefit (what a decision is worth to a person) that "
    "comes from differences between groups.",
    caution="The inequality within groups is usually much larger than the inequality between "
    "groups, so a small value does not prove fairness.",
    no_interval=BIASED_BY_CHANCE,
    source=citations.SPEICHER,
    other_tools="The same as AIF360's `between_all_groups_generalized_entropy_index`. The "
    "inequality within groups is the inequality of all people minus this value.",
    formula="`generalized_entropy`, computed as if every person had the mean benefit of their "
    "group",
    requirements=_BOTH,
    parameters=("alpha",),
    value_of=_between,
)

INEQUALITY = (GENERALIZED_ENTROPY, THEIL, COEFFICIENT_OF_VARIATION, ATKINSON, EXPECTED_UTILITY)

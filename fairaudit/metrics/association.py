"""Catalogue: association of outcome and group (Cramér's V, lambda, TV), or of outcome and age."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from fairaudit.base.frozen import Frozen
from fairaudit.cube import Floats, GroupTable, Ints, Marks
from fairaudit.metrics import citations
from fairaudit.metrics.confusion_counts import count_groups
from fairaudit.metrics.definitions import (
    BIASED_BY_CHANCE,
    HIGHER_POWERS,
    IGNORES_THE_LABEL,
    IS_TEST,
    Requirement,
)
from fairaudit.metrics.differential_fairness import class_counts
from fairaudit.metrics.eligibility import admit_groups, are_comparable, pool_known_groups
from fairaudit.metrics.group_metrics import TableMetric, TableValue
from fairaudit.metrics.score_parity import read_scores
from fairaudit.metrics.scores import DISTRIBUTION
from fairaudit.metrics.terms import MetricOptions, Minimum
from fairaudit.stats import contingency, distributions
from fairaudit.stats.proportions import GAP_INTERVAL

_BIASED = (
    "Mutual information is never below 0, so chance alone makes it larger, by about (groups - "
    "1)(classes - 1) / (2 · people · ln 2) bits."
)

_Read: TypeAlias = Callable[[GroupTable, Minimum], tuple[Floats, Marks, Ints, Ints]]
"""Returns counts [Z, K, G] of groups that take part; marks, people and mass (each [Z, G])."""


def _read_classes(table: GroupTable, minimum: Minimum) -> tuple[Floats, Marks, Ints, Ints]:
    """The number of people in each class of the outcome."""
    counts = count_groups(table)
    mass, n = counts.classes, counts.answered
    takes_part = admit_groups(table, n, minimum, pool_known_groups(table, mass))
    counted = np.where(takes_part[:, None], mass, 0).astype(np.float64)
    return counted, takes_part, n, mass.sum(axis=1)


def _value_by(
    number: Callable[[Floats], Floats], read: _Read = _read_classes
) -> Callable[[GroupTable, MetricOptions], TableValue]:
    """A function that applies `number` to the counts of the groups that take part."""

    def value_of(table: GroupTable, terms: MetricOptions) -> TableValue:
        counted, takes_part, n, mass = read(table, terms.minimum)
        value = number(counted)
        return TableValue.of(value, takes_part, n, defined=are_comparable(takes_part, mass))

    return value_of


def _shares(counts: Floats) -> tuple[Floats, Floats]:
    """The share of each class and group among all people, and this share under independence."""
    joint = counts / counts.sum(axis=(1, 2), keepdims=True)
    return joint, joint.sum(axis=2)[:, :, None] * joint.sum(axis=1)[:, None, :]


def _information(counts: Floats) -> tuple[Floats, Floats, Floats]:
    """The mutual information of outcome and group, and both entropies (outcome, group), in bits."""
    joint, independent = _shares(counts)
    terms = np.where(joint > 0, joint * np.log2(joint / independent), 0.0)
    of_class, of_group = (
        np.asarray(-np.where(shares > 0, shares * np.log2(shares), 0.0).sum(axis=-1))
        for shares in (joint.sum(axis=2), joint.sum(axis=1))
    )
    return np.maximum(terms.sum(axis=(1, 2)), 0.0), of_class, of_group


def _normalized_information(counts: Floats) -> Floats:
    information, of_class, of_group = _information(counts)
    alive = (of_class > 0) & (of_group > 0)
    return np.where(alive, information / np.sqrt(of_class * of_group), np.nan)


_FEW_VALUES, _TENTHS = 20, 10


def _read_bins(table: GroupTable, minimum: Minimum) -> tuple[Floats, Marks, Ints, Ints]:
    """The number of people in each bin of the score.

    A bin is a single value if the score has at most twenty values. Otherwise, a bin is a tenth of
    the people.
    """
    scores, n, takes_part = read_scores(table, minimum)
    people, number = scores.people.sum(axis=1), np.arange(len(scores.low))
    if len(scores.low) > _FEW_VALUES or not scores.single.all():
        # Each tenth starts with a bin of the histogram, so people with equal scores stay together.
        below = np.cumsum(scores.everybody) - scores.everybody
        total = max(int(scores.everybody.sum()), 1)
        number = np.asarray(np.minimum(below * _TENTHS // total, _TENTHS - 1))
    bins = range(int(number.max(initial=0)) + 1)
    binned = np.stack([people[:, number == at].sum(axis=1) for at in bins], axis=1)
    return np.where(takes_part[:, None], binned, 0.0), takes_part, n, n


def _eta(counts: Floats) -> Floats:
    joint, independent = _shares(counts)
    return np.asarray(np.where(independent > 0, joint / independent, 0.0).max(axis=(1, 2)) - 1)


def _value_by_guesses(
    number: Callable[[Floats, Floats, Floats], Floats],
) -> Callable[[GroupTable, MetricOptions], TableValue]:
    return _value_by(
        lambda counts: number(
            counts.sum(axis=(1, 2)),
            counts.max(axis=1, initial=0).sum(axis=1),
            counts.sum(axis=2).max(axis=1, initial=0),
        )
    )


def _cramers_v(counts: Floats) -> Floats:
    n, (statistic, _, _) = counts.sum(axis=(1, 2)), contingency.chi_square(counts)
    smaller = np.min([(counts.sum(axis=axis) > 0).sum(axis=1) for axis in (1, 2)], axis=0) - 1
    return np.sqrt(np.where(smaller > 0, statistic / n / smaller, np.nan))


_OF_CLASSES: dict[str, Any] = {
    "family": "independence",
    "independence": class_counts,
    "no_interval": BIASED_BY_CHANCE,
}
_OF_SCORES = _OF_CLASSES | {
    "independence": lambda table, terms: (_read_bins(table, terms.minimum)[0],),
    "information": True,
    "source": citations.ZLIOBAITE,
    "requirements": DISTRIBUTION,
    "undefined": "a score that never varies, or a group without one",
}
TABLE_METRICS = (
    TableMetric(
        id="mutual_information",
        title="Mutual information of outcome and group",
        short="MI",
        description="How much information the outcome contains about the group, in bits.",
        caution=IGNORES_THE_LABEL + " " + _BIASED + " It has no sign and does not show which group "
        "is worse off. A disparity of middle size has a small value.",
        **_OF_CLASSES,
        information=True,
        source=citations.ZLIOBAITE,
        formula="Σ over outcomes y, groups g of p(y, g) log₂(p(y, g) / (p(y) p(g)))",
        value_of=_value_by(lambda counts: _information(counts)[0]),
    ),
    TableMetric(
        id="normalized_mutual_information",
        short="norm. MI",
        aliases=("normalized_prejudice_index",),
        description="Mutual information, divided by the geometric mean of the entropies of the "
        "outcome and of the group.",
        caution=IGNORES_THE_LABEL + " " + _BIASED + " The value is undefined if the outcome never "
        "varies.",
        **_OF_CLASSES,
        information=True,
        source=citations.ZLIOBAITE,
        formula="mutual information / √(entropy of the outcome · entropy of the group)",
        bounds=(0, 1),
        value_of=_value_by(_normalized_information),
    ),
    TableMetric(
        id="score_mutual_information",
        title="Mutual information of score and group",
        short="MI of score",
        aliases=("numeric_mutual_information",),
        description="How much information the score (in ranges, called bins) contains about the "
        "group, in bits.",
        caution=IGNORES_THE_LABEL + " " + _BIASED + " A score with more than twenty values is cut "
        "into tenths of the people: finer bins contain more information, but also more bias.",
        **_OF_SCORES,
        other_tools="With at most twenty values, the same as scikit-learn's `mutual_info_score` "
        "divided by ln 2. Žliobaitė has an integral in place of the sum, but a density cannot be "
        "estimated without bins.",
        formula="Σ over bins b, groups g of p(b, g) log₂(p(b, g) / (p(b) p(g))); a bin is a value "
        "if there are at most twenty values, otherwise a tenth of the people",
        value_of=_value_by(lambda counts: _information(counts)[0], _read_bins),
    ),
    TableMetric(
        id="normalized_score_mutual_information",
        title="Normalized mutual information of score and group",
        short="norm. MI (score)",
        description="Mutual information of score and group, divided by the geometric mean of the "
        "entropies of the score and of the group.",
        caution=IGNORES_THE_LABEL + " " + _BIASED + " The value decreases with the number of bins, "
        "because the entropy of the bins increases.",
        **_OF_SCORES,
        formula="`score_mutual_information` / √(entropy of the bins · entropy of the group)",
        bounds=(0, 1),
        value_of=_value_by(_normalized_information, _read_bins),
    ),
    TableMetric(
        id="eta_neutrality",
        title="η-neutrality",
        short="η",
        description="For a combination of an outcome and a group: its share of all people, divided "
        "by the share that it would have if outcome and group were independent, minus 1. The value "
        "is the largest of these numbers, so it shows how over-represented the most "
        "over-represented combination is.",
        caution=IGNORES_THE_LABEL + " The value can be large if an outcome or a group is rare. It "
        "does not show combinations that occur too rarely.",
        **_OF_CLASSES,
        source=citations.FUKUCHI,
        formula="max over outcomes y, groups g of p(y, g) / (p(y) p(g)) - 1",
        value_of=_value_by(_eta),
    ),
    TableMetric(
        id="predictability",
        title="Predictability of the outcome from the group",
        short="predictability",
        description="The share of people whose outcome is guessed correctly from the group alone.",
        caution="The value is high if one outcome is common, and never below `majority_baseline`: "
        "even equal groups can cross a limit. `goodman_kruskal_lambda` is 0 for equal groups.",
        **_OF_CLASSES,
        source=citations.ZLIOBAITE,
        formula="Σ over groups of people with the group's most common outcome / people",
        parity="the share of the most common outcome (`majority_baseline`), and never below it",
        bounds=(0, 1),
        value_of=_value_by_guesses(lambda n, by_group, _: by_group / n),
    ),
    TableMetric(
        id="majority_baseline",
        title="Share of the most common outcome",
        short="majority",
        family="independence",
        description="The share of people whose outcome is guessed correctly without any "
        "information.",
        caution="The value does not measure a disparity: it is the baseline for `predictability`.",
        no_interval="the most common outcome is chosen from the same data, and no interval here "
        "takes that into account",
        source=citations.ZLIOBAITE,
        formula="people with the most common outcome / people",
        parity="any value, because groups are not compared",
        bounds=(0, 1),
        value_of=_value_by_guesses(lambda n, _, by_all: by_all / n),
    ),
    TableMetric(
        id="goodman_kruskal_lambda",
        title="Goodman and Kruskal's λ",
        short="λ",
        description="The share of the wrong guesses of the outcome that is avoided if the group is "
        "known.",
        caution="The value is 0 if all groups have the same most common outcome, even if their "
        "rates are very different.",
        **_OF_CLASSES,
        source=citations.GOODMAN,
        formula="(`predictability` - `majority_baseline`) / (1 - `majority_baseline`)",
        bounds=(0, 1),
        value_of=_value_by_guesses(lambda n, by_group, by_all: (by_group - by_all) / (n - by_all)),
    ),
    TableMetric(
        id="cramers_v",
        title="Cramér's V",
        short="V",
        description="The association of outcome and group on a scale from 0 to 1.",
        caution=IGNORES_THE_LABEL + " Chance alone makes the value larger if groups are small.",
        **_OF_CLASSES,
        source=citations.CRAMER,
        other_tools="The value is not corrected for bias. For two groups and two outcomes, it is "
        "|φ|.",
        formula="√(χ² / (people · (min(groups, classes) - 1)))",
        bounds=(0, 1),
        value_of=_value_by(_cramers_v),
    ),
)

_MOST_CLASSES = 16
"""Maximum number of classes for which all sets of classes are compared."""


def _total_variation(table: GroupTable, terms: MetricOptions) -> TableValue:
    """The largest distance between the distributions of two groups, over all pairs of groups.

    ½ Σ |p - q| is the largest difference of P(set) over all sets of classes. So for each set, only
    the highest and the lowest group are needed, not all pairs of groups.
    """
    counts = count_groups(table)
    mass = counts.classes
    n = mass.sum(axis=1)
    takes_part = admit_groups(table, counts.answered, terms.minimum, pool_known_groups(table, mass))
    strata, classes, _ = mass.shape
    shares = mass / n[:, None]
    best = np.full(strata, -1.0)
    high, low = (np.full(strata, -1, dtype=np.int64) for _ in range(2))
    strata_index, behind, ahead = np.arange(strata), np.zeros(n.shape), np.zeros(n.shape)
    for chosen in list_class_sets(classes):
        held = shares[:, chosen].sum(axis=1)
        top = np.argmax(np.where(takes_part, held, -np.inf), axis=1)
        bottom = np.argmin(np.where(takes_part, held, np.inf), axis=1)
        highest, lowest = (held[strata_index, end] for end in (top, bottom))
        behind = np.fmax(behind, highest[:, None] - held)
        ahead = np.fmax(ahead, held - lowest[:, None])
        apart = highest - lowest
        better = apart > best + 1e-15
        best[better], high[better], low[better] = apart[better], top[better], bottom[better]
    defined = are_comparable(takes_part, n) & (best >= 0)
    return TableValue.of(
        best,
        takes_part,
        counts.answered,
        defined=defined,
        high=high,
        low=low,
        apart=(behind, ahead),
    )


def list_class_sets(classes: int) -> list[list[int]]:
    """All sets of classes that contain the first class; all other sets are complements of these.

    Raises `ValueError` for more than `_MOST_CLASSES` classes.
    """
    if classes > _MOST_CLASSES:
        raise ValueError(f"the total variation of {classes} classes")
    chosen = product((False, True), repeat=max(classes - 1, 0))
    return [[0, *(index + 1 for index, is_in in enumerate(marks) if is_in)] for marks in chosen]


TOTAL_VARIATION = TableMetric(
    id="total_variation",
    title="Total variation distance",
    short="TV",
    description="For two groups: the share of the outcomes of one group that would have to change "
    "to match the distribution of the other group. The value is the largest such share over all "
    "pairs of groups.",
    caution="By chance alone, the value is larger if there are more groups or more outcomes.",
    source=citations.LEVIN,
    other_tools=(
        "For two outcomes, the value equals `demographic_parity_difference`. SageMaker Clarify's "
        "TVD is the same for two groups."
    ),
    instead="demographic_parity_difference, which is the same number if there are two outcomes",
    formula="max over groups g, h of ½ Σ over classes y of |P(y|g) - P(y|h)|",
    bounds=(0, 1),
    value_of=_total_variation,
    method=f"{GAP_INTERVAL}, simultaneous over pairs",
    **_OF_CLASSES,
)

_UNDEFINED = "a number that never varies, in the protected column or the outcome"
_OF_THE_NUMBER = (
    "The measure uses the numbers themselves, not their bins, and one column at a time."
)


class _Line(Frozen):
    """The sums [Z] for a line through points (s, x).

    `n` is the number of people. `ss`, `sx` and `xx` are the sums of s², s x and x², after the means
    of s and x are subtracted.
    """

    n: Floats
    ss: Floats
    sx: Floats
    xx: Floats


def _line(table: GroupTable) -> tuple[_Line, Marks, Ints]:
    """The sums for the line of the outcome x (1 or 0, or a number) along the protected column s.

    The function also returns marks for the groups that take part, and the number of people in each
    group. It adds Python integers, so that large numbers with a small spread lose no digits.
    """
    takes_part = np.asarray(table.eligible & (table.n > 0))
    name = f"attribute:{table.by[0]}" if len(table.by) == 1 else ""
    amount = table.amounts.get(name)
    nothing = np.full(len(table.strata), np.nan)
    if amount is None:
        return _Line(nothing, nothing, nothing, nothing), takes_part, table.n

    def total(values: Ints, classes: Marks) -> Ints:
        part = values.astype(object)[:, :, classes][..., table.eligible]
        return np.asarray(part.sum(axis=(1, 2, 3)))

    known = np.arange(table.people.shape[2]) < len(table.classes)
    value, product = table.amounts.get("value"), table.amounts.get(f"{name}*value")
    if value is not None and product is not None:
        known = np.ones_like(known)
        n = total(amount.n, known)
        # The sums of the column also include people without a number as outcome.
        whole = (n == total(value.n, known)) & (n == total(product.n, known))
        x, xx, sx = value.total, value.squares, product.total
        parts = [(total(sums.values, known), sums.scale) for sums in (x, xx, sx)]
    else:
        positive = np.zeros_like(known) if table.positive is None else table.positive
        n, whole = total(amount.n, known), np.ones(len(table.strata), np.bool_)
        hits = total(amount.n, known & positive)
        parts = [
            (hits, 1),
            (hits, 1),
            (total(amount.total.values, known & positive), amount.total.scale),
        ]
    s = total(amount.total.values, known)
    ss = total(amount.squares.values, known)
    (x_sum, x_scale), (xx_sum, xx_scale), (sx_sum, sx_scale) = parts
    scale = amount.total.scale
    return (
        _Line(
            np.where(whole, n, np.nan).astype(np.float64),
            _about(n, ss, amount.squares.scale, (s, scale), (s, scale)),
            _about(n, sx_sum, sx_scale, (s, scale), (x_sum, x_scale)),
            _about(n, xx_sum, xx_scale, (x_sum, x_scale), (x_sum, x_scale)),
        ),
        takes_part,
        np.asarray(amount.n.sum(axis=(1, 2))),
    )


def _about(
    n: Ints, products: Ints, scale: int, first: tuple[Ints, int], second: tuple[Ints, int]
) -> Floats:
    """Σ(a - mean a)(b - mean b) from exact integers; NaN without people."""
    (a, a_scale), (b, b_scale) = first, second
    count = np.where(n > 0, n, 1)
    over = count * products * (a_scale * b_scale) - a * b * scale
    sums = (over / (count * (scale * a_scale * b_scale))).astype(np.float64)
    return np.where(n > 0, sums, np.nan)


def _read(
    number: Callable[[_Line], Floats],
) -> Callable[[GroupTable, MetricOptions], TableValue]:
    def read(table: GroupTable, terms: MetricOptions) -> TableValue:
        line, takes_part, n = _line(table)
        value = np.where(line.ss > 0, number(line), np.nan)
        answered = np.isfinite(value) & ~np.isnan(line.n) & terms.minimum.admits(line.n)
        value = np.where(answered, value, np.nan)
        return TableValue.of(value, takes_part, n)

    return read


def _test_trend(table: GroupTable, terms: MetricOptions) -> Floats:
    """The p-values [Z] of the hypothesis that decisions have no correlation with the column.

    NaN if the outcome is a number, because the spread of a number may change along the column.
    """
    line, r = _line(table)[0], NUMERIC_CORRELATION.value_of(table, terms).value
    p = distributions.t_two_sided(r * np.sqrt((line.n - 2) / (1 - r**2)), line.n - 2)
    return np.where("value" in table.amounts, np.nan, p)


_OF_A_LINE: dict[str, Any] = {
    "family": "independence",
    "caution": "The measure assumes a straight line, so it misses a rate that first rises and then "
    "falls. " + _OF_THE_NUMBER,
    "source": citations.ZLIOBAITE,
    "requirements": frozenset({Requirement.NUMERIC_ATTRIBUTE}),
    "undefined": _UNDEFINED,
    "no_interval": HIGHER_POWERS,
    "no_test": f"a trend of numbers is not tested: {HIGHER_POWERS}",
    "test": "for decisions, Student",
    "p_of": _test_trend,
}
SLOPE = TableMetric(
    id="slope",
    title="Slope on the protected column",
    short="slope",
    description="The change of the selection rate (or of the mean of a number) per unit of a "
    "numeric protected column.",
    other_tools="The same as the coefficient of ordinary least squares on this column alone.",
    formula="Σ (s - mean s)(y - mean y) / Σ (s - mean s)² for column s, outcome y",
    bounds=(None, None),
    value_of=_read(lambda line: line.sx / line.ss),
    hypothesis="no trend",
    **_OF_A_LINE,
)

NUMERIC_CORRELATION = TableMetric(
    id="numeric_correlation",
    title="Correlation with the protected column",
    short="r",
    description="Pearson's correlation of the outcome with a numeric protected column.",
    formula="Pearson's r of column and outcome",
    bounds=(-1, 1),
    value_of=_read(lambda line: line.sx / np.sqrt(line.ss * line.xx)),
    hypothesis="no correlation",
    **_OF_A_LINE,
)

_find_trend = _read(lambda line: line.sx / np.sqrt(line.xx / line.n * line.ss))

TREND = TableMetric(
    id="trend",
    title="Cochran–Armitage trend",
    short="trend z",
    aliases=("cochran_armitage",),
    family="independence",
    description="The trend of the selection rate along a numeric protected column, in standard "
    "errors.",
    caution="The value grows with the number of people: it measures evidence, not the size of the "
    "trend. " + _OF_THE_NUMBER,
    source=citations.ARMITAGE,
    other_tools="The value is the square root of the statistic of R's `prop.trend.test`, with a "
    "sign. statsmodels divides by people - 1.",
    formula="Σ (s - mean s)(y - r) / √(r (1 - r) Σ (s - mean s)²), column s, outcome y with rate r",
    bounds=(None, None),
    requirements=frozenset({Requirement.PREDICTION, Requirement.NUMERIC_ATTRIBUTE}),
    undefined=_UNDEFINED,
    value_of=_find_trend,
    no_interval="the value is a test statistic, not an estimate",
    hypothesis="no trend",
    test=IS_TEST,
    p_of=lambda *asked: distributions.normal_two_sided(_find_trend(*asked).value),
)

NUMBER_METRICS = (SLOPE, NUMERIC_CORRELATION, TREND)

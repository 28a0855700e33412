"""Catalogue: ε and selection rate under a `model:` (`pooled`, `credible`, `draws`).

Partial pooling moves each group towards the effects of its attributes. ε over Θ is the largest ε of
a set of distributions: a credible region at the confidence of the audit, or posterior draws.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from fairaudit.base.arrays import Alpha, Ends
from fairaudit.base.frozen import memoize, replace
from fairaudit.cube import Floats, GroupTable, Ints
from fairaudit.metrics import citations
from fairaudit.metrics.confusion_counts import GroupCounts, count_groups
from fairaudit.metrics.definitions import Better, Requirement
from fairaudit.metrics.differential_fairness import (
    DIFFERENTIAL_FAIRNESS,
    JEFFREYS,
    PSEUDO_COUNTS,
    candidate_pairs,
    compute_epsilon,
    count_classes,
    credible_ends,
    widest_log_ratios,
)
from fairaudit.metrics.disparities import Disparity
from fairaudit.metrics.eligibility import are_comparable, find_extremes
from fairaudit.metrics.formulas import Formula
from fairaudit.metrics.group_metrics import GroupMetric, TableMetric, TableValue
from fairaudit.metrics.rates import SELECTION_RATE
from fairaudit.metrics.terms import NO_MINIMUM, NO_PARAMETERS, MetricOptions, Parameters
from fairaudit.stats.pooling import PooledShares, pool_shares


def _pool(table: GroupTable, hits: Floats, trials: Floats) -> PooledShares | None:
    """The pooled shares of all eligible groups, [G]; None if the outcome never varies."""
    fitted = table.eligible & (trials > 0)
    if not 0 < hits[fitted].sum() < trials[fitted].sum():
        return None
    names = [[group[at][1] for group in table.groups] for at in range(len(table.by))]
    codes = [np.unique(column, return_inverse=True)[1] for column in names]
    levels = np.array(codes or [np.zeros(len(table.groups), dtype=np.int64)])
    shares = pool_shares(hits[fitted], trials[fitted], levels[:, fitted])

    def place(values: Floats) -> Floats:
        placed = np.full((*values.shape[:-1], len(fitted)), np.nan)
        placed[..., fitted] = values
        return placed

    of_all = (shares.mean, shares.logit, shares.below, shares.above)
    return PooledShares(*map(place, of_all))


@memoize
def _pool_classes(table: GroupTable) -> list[list[PooledShares | None]]:
    """The pooled shares of each class against the rest, as nested lists [Z][K]."""
    plain = count_classes(table, NO_MINIMUM)
    trials = plain.counts.sum(axis=1)
    return [
        [_pool(table, hits, trials[z]) for hits in counts] for z, counts in enumerate(plain.counts)
    ]


def _pooled_epsilon(table: GroupTable, terms: MetricOptions) -> TableValue:
    plain = count_classes(table, terms.minimum)
    means = np.zeros_like(plain.counts)
    pooled = _pool_classes(table)
    for z, classes in enumerate(pooled):
        for k, shares in enumerate(classes):
            means[z, k] = 0.0 if shares is None else np.nan_to_num(shares.mean)
    values = compute_epsilon(means, plain.n, plain.takes_part, 0.0, plain.outcomes)
    varies = np.array([any(shares is not None for shares in classes) for classes in pooled])
    return replace(
        values,
        value=np.where(varies, values.value, np.nan),
        counts=plain.counts,
        everybody=plain.everybody,
    )


def _interval_of_pooled(table: GroupTable, terms: MetricOptions, alpha: Alpha) -> Ends:
    """The interval of pooled ε, from simultaneous intervals for the shares of all groups."""
    plain = count_classes(table, terms.minimum)
    strata, classes, _groups = plain.counts.shape
    levels = np.broadcast_to(alpha, (strata,))
    result = np.full((2, strata), np.nan)
    for z, among in enumerate(plain.takes_part):
        known = [shares for shares in _pool_classes(table)[z] if shares is not None]
        if among.sum() < 2 or not known:
            continue
        # With two classes, the ends of one class determine the ends of the other class.
        count = max(int(among.sum()), 1) * (1 if classes == 2 else classes)
        ends = [shares.ends(float(levels[z]) / count) for shares in known]
        low, high = (np.log(np.stack(side)) for side in zip(*ends, strict=True))
        result[:, z] = widest_log_ratios(low, high, among)
    return result[0], result[1]


@memoize
def pooled_counts(table: GroupTable) -> GroupCounts:
    """The counts of a table with the pooled shares of selected people of each group."""
    counts = count_groups(table)
    selected = counts.weighted.selected / counts.scale
    trials = selected + counts.weighted.rejected / counts.scale
    if counts.squares is not None:
        squares = counts.squares.selected + counts.squares.rejected
        with np.errstate(divide="ignore", invalid="ignore"):
            kept = np.nan_to_num(np.fmin(trials / squares, 1.0))
        selected, trials = selected * kept, trials * kept
    pooled = tuple(_pool(table, *pair) for pair in zip(selected, trials, strict=True))
    return replace(counts, pooled=pooled)


def _expected_share(counts: GroupCounts, _: Parameters) -> tuple[Floats, Ints]:
    n = np.asarray(counts.people.selected + counts.people.rejected)
    value = np.full(n.shape, np.nan)
    for z, shares in enumerate(counts.pooled):
        if shares is not None:
            value[z] = np.where(n[z] > 0, shares.mean, np.nan)
    return value, n


def _ends_of_share(counts: GroupCounts, _: Parameters, alpha: Alpha) -> Ends:
    sides = np.full((2, *np.shape(counts.people.selected)), np.nan)
    levels = np.broadcast_to(alpha, sides.shape[1:])
    for z, shares in enumerate(counts.pooled):
        if shares is not None:
            sides[:, z] = shares.ends(levels[z])
    return sides[0], sides[1]


_PRIORS = (
    "Before it sees the data, the model assumes (on the logit scale) normal distributions around "
    "0. Their standard deviation is 5 for the constant, 2.5 for the effect of each level, and τ "
    "for the deviations of the groups; τ itself has a half-normal distribution with scale 1. With "
    "only one column, levels have only deviations, not effects."
)

POOLED_SELECTION_RATE = Formula(
    id="pooled_selection_rate",
    title="Selection rate by partial pooling",
    short="pooled sel. rate",
    family="independence",
    description="The expected share of selected people in the group, from a model of all groups. "
    "The model moves the rate of a small group towards the rate that its levels suggest; the "
    "rate of a large group hardly changes.",
    caution="Read it together with the selection rate: the model moves the unusual rate of a small "
    "group towards the rates of the others. The value is an estimate by a model, not a share of "
    "counted people.",
    source=citations.FOULDS_BAYES,
    other_tools=f"The model is a hierarchical logistic regression. {_PRIORS}",
    better=Better.POLARITY,
    formula="posterior mean of p: logit p = constant + effects of the levels + deviation of the "
    "group",
    undefined="an outcome that never varies, no people in the group, or several groups together",
    requirements=frozenset({Requirement.PREDICTION}),
    value_of=_expected_share,
    ends_of=_ends_of_share,
    uses_everybody=True,
    method="credible, partial pooling",
)

DIFFERENTIAL_FAIRNESS_POOLED = TableMetric(
    id="differential_fairness_pooled",
    title="Differential fairness ε by partial pooling",
    short="pooled ε",
    aliases=("epsilon_pooled",),
    family="independence",
    description="ε (the logarithm of the largest ratio of the probabilities of an outcome in two "
    "groups), estimated by a hierarchical model of all groups.",
    caution="ε is finite even if an outcome is missing in a small group. This results from the "
    "model, not from the data: compare with `differential_fairness`. Each combination of columns "
    "has its own model, so Theorem 3.2 gives no upper limit for ε of fewer columns.",
    source=citations.FOULDS_BAYES,
    other_tools="`{metric: differential_fairness, model: pooled}` is the same. There is a model "
    f"of each class against the rest. {_PRIORS}",
    value_of=_pooled_epsilon,
    formula="max over outcomes y, groups g, h of |ln m(y|g) - ln m(y|h)|, m the posterior mean of "
    "P: logit P(y|g) = constant + effects of the levels + deviation of the group",
    interval=_interval_of_pooled,
    method="credible, all groups together",
    judges_all_attributes=True,
)


def _credible(table: GroupTable, terms: MetricOptions) -> TableValue:
    """ε(Θ), in closed form, where Θ is the product of the Beta intervals of all groups."""
    plain = DIFFERENTIAL_FAIRNESS.value_of(table, replace(terms, parameters=NO_PARAMETERS))
    classes, alpha = len(table.classes), terms.inference.alpha
    prior = terms.parameters.per_outcome(classes) or JEFFREYS
    lower, upper = credible_ends(plain.counts, prior, plain.takes_part.sum(axis=1), alpha)
    strata_index = np.arange(len(lower))
    ends = [np.log(upper), np.log(lower)]
    best = np.full(len(strata_index), np.nan)
    outcome = np.full(len(strata_index), -1, dtype=np.int64)
    high, low = outcome.copy(), outcome.copy()
    # As for ε: a group without people in the denominator makes the value undefined.
    enough = are_comparable(plain.takes_part, plain.counts.sum(axis=1))
    groups, apart = np.arange(lower.shape[2]), dict[str, tuple[Floats, Floats]]()
    for y, name in enumerate(plain.outcomes):
        below = above = np.full(lower[:, y].shape, -np.inf)
        for top, bottom in candidate_pairs(ends[0][:, y], ends[1][:, y], plain.takes_part):
            spread = ends[0][strata_index, y, top] - ends[1][strata_index, y, bottom]
            better = enough & (top != bottom) & (np.isnan(best) | (spread > best))
            best[better], outcome[better] = spread[better], y
            high[better], low[better] = top[better], bottom[better]
            others = groups != top[:, None], groups != bottom[:, None]
            gap = ends[0][strata_index, y, top][:, None] - ends[1][:, y]
            below = np.where(others[0], np.fmax(below, gap), below)
            gap = ends[0][:, y] - ends[1][strata_index, y, bottom][:, None]
            above = np.where(others[1], np.fmax(above, gap), above)
        apart[name] = below, above
    plain = replace(plain, outcome=outcome, highest_group=high, lowest_group=low)
    return replace(plain, value=best, apart=apart)


DIFFERENTIAL_FAIRNESS_CREDIBLE = TableMetric(
    id="differential_fairness_credible",
    title="Differential fairness ε over a credible region",
    short="ε of Θ",
    aliases=("epsilon_credible",),
    family="independence",
    description="An upper bound of ε (the logarithm of the largest ratio of the probabilities of "
    "an outcome in two groups): the largest ε of all distributions in the credible region. This "
    "region contains the distributions that are plausible given the data, at the confidence of the "
    "audit. It is the Θ in Definition 3.1 of the source.",
    caution="The upper bound grows with the number of groups, and is large if groups are small. It "
    "is not an interval of ε, and not a test.",
    source=citations.FOULDS,
    other_tools="An interval of randomly drawn values of ε would never contain 0, even if groups "
    "are equal. So the report does not give such an interval.",
    value_of=_credible,
    formula="max over outcomes y, groups g ≠ h of ln U(y, g) - ln L(y, h). U and L are the ends of "
    "Beta intervals. The error rate of an interval is 1 - confidence^(1 / groups); with more than "
    "two classes, this error rate is divided by the number of classes. The pseudo-count is ½ by "
    "default.",
    parameters=PSEUDO_COUNTS,
    judges_all_attributes=True,
    version=2,
    no_interval="the value is itself the end of a credible region",
)


def _spreads(table: GroupTable, terms: MetricOptions) -> tuple[TableValue, Floats, Floats]:
    """Plain ε, the log-probabilities [D, K, G] of D draws, and their spreads over groups [D, K]."""
    plain = count_classes(table, terms.minimum)
    among = plain.takes_part[0]
    nothing = np.full((1, len(table.classes), len(table.groups)), np.nan)
    draws = nothing if table.draws is None else table.draws
    logs = np.log(draws)
    if among.sum() < 2 or len(plain.value) != 1:
        return plain, logs, np.full(draws.shape[:2], np.nan)
    high, low = logs[..., among].max(axis=-1), logs[..., among].min(axis=-1)
    # An outcome that no group has is ignored.
    return plain, logs, np.where(np.isneginf(high), 0.0, high - low)


def _largest_of_draws(table: GroupTable, terms: MetricOptions) -> TableValue:
    """ε of Θ: the largest ε of all draws, with the pair and the outcome that attain it."""
    plain, logs, spreads = _spreads(table, terms)
    if np.isnan(spreads).any():
        return replace(plain, value=np.full(len(plain.value), np.nan))
    d, k = np.unravel_index(int(np.argmax(spreads)), spreads.shape)
    among = plain.takes_part[0]
    first, second = find_extremes(logs[d, k][None], among[None], plain.n)
    outcome = np.array([k], dtype=np.int64)
    ends = (np.where(among, logs, end) for end in (-np.inf, np.inf))
    highest, lowest = (
        pick(end, axis=-1, keepdims=True) for pick, end in zip((np.max, np.min), ends, strict=True)
    )
    below, above = (
        np.nan_to_num(gap, posinf=np.inf).max(axis=(0, 1))[None]
        for gap in (highest - logs, logs - lowest)
    )
    plain = replace(plain, outcome=outcome, highest_group=first, lowest_group=second)
    return replace(plain, value=spreads[d, k][None], apart={"": (below, above)})


def _mean_of_draws(table: GroupTable, terms: MetricOptions) -> TableValue:
    plain, _, spreads = _spreads(table, terms)
    value = np.full(len(plain.value), spreads.max(axis=1).mean())
    return TableValue.of(value, plain.takes_part, plain.n)


def _interval_of_draws(table: GroupTable, terms: MetricOptions, alpha: Alpha) -> Ends:
    epsilons = _spreads(table, terms)[2].max(axis=1)
    level = float(np.asarray(alpha).reshape(-1)[0])
    low, high = np.quantile(epsilons, [level / 2, 1 - level / 2])
    return np.array([low]), np.array([high])


_OF_DRAWS: dict[str, Any] = {
    "undefined": "draws for other columns, or fewer than two groups",
    "judges_all_attributes": True,
    "requirements": frozenset({Requirement.CLASSES, Requirement.DRAWS}),
}
_DRAWS = (
    "For a combination s of columns, the probabilities are means over the groups e of all "
    "columns of the draws, weighted by the people in the data: P(y | s, θ) = Σ P(y | e, s, θ) "
    "P(e | s)."
)

DIFFERENTIAL_FAIRNESS_DRAWS = TableMetric(
    id="differential_fairness_draws",
    title="Differential fairness ε over given draws",
    short="ε of the draws",
    aliases=("epsilon_draws",),
    family="independence",
    description="The largest ε of all draws (ε is the logarithm of the largest ratio of the "
    "probabilities of an outcome in two groups). A draw is a random set of probabilities, one for "
    "each group, from your own model, for example in Stan or PyMC. `draws:` or `--draws` names the "
    "file.",
    caution="The value is only as good as the model that made the draws. It grows with the number "
    "of draws; `differential_fairness_posterior_mean` is the mean over draws.",
    source=citations.FOULDS,
    other_tools=f"`{{metric: differential_fairness, model: draws}}` is the same. {_DRAWS}",
    value_of=_largest_of_draws,
    formula="max over draws θ, outcomes y, groups g, h of |ln P(y|g, θ) - ln P(y|h, θ)|",
    no_interval="the value is already the largest of all draws",
    **_OF_DRAWS,
)

DIFFERENTIAL_FAIRNESS_POSTERIOR_MEAN = TableMetric(
    id="differential_fairness_posterior_mean",
    title="Differential fairness ε, mean over given draws",
    short="mean ε of draws",
    family="independence",
    description="The mean of ε over random draws from your own model (`draws:` or `--draws` names "
    "the file). A draw is a random set of probabilities, one for each group. The interval leaves "
    "out the same share of draws at both ends.",
    caution="ε of a draw is never 0, even for equal groups: the interval is not a test of "
    "equality.",
    source=citations.FOULDS_BAYES,
    other_tools=_DRAWS,
    value_of=_mean_of_draws,
    formula="mean over draws θ of `differential_fairness` in θ",
    interval=_interval_of_draws,
    method="credible, of the draws",
    no_test="ε of a draw is never 0, even for equal groups",
    **_OF_DRAWS,
)

MODELS: Mapping[str, Mapping[str, GroupMetric | TableMetric]] = MappingProxyType(
    {
        "pooled": {
            DIFFERENTIAL_FAIRNESS.id: DIFFERENTIAL_FAIRNESS_POOLED,
            SELECTION_RATE.id: POOLED_SELECTION_RATE,
        },
        "draws": {DIFFERENTIAL_FAIRNESS.id: DIFFERENTIAL_FAIRNESS_DRAWS},
        "credible": {DIFFERENTIAL_FAIRNESS.id: DIFFERENTIAL_FAIRNESS_CREDIBLE},
    }
)
"""The metric that replaces another metric under a model of the shares, by the name in `model:`."""


def is_pooled(metric: object) -> bool:
    """Whether a metric, or a part of it, is computed by partial pooling."""
    parts = [part for part, _ in metric.parts] if isinstance(metric, Disparity) else []
    pooled = (POOLED_SELECTION_RATE, DIFFERENTIAL_FAIRNESS_POOLED)
    return any(record in pooled for record in (metric, *parts))

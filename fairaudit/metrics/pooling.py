"""Rates and ε of groups by partial pooling: each group is drawn to what its attributes say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairaudit.arrays import Alpha, Ends
from fairaudit.cube import Floats, GroupTable, Ints
from fairaudit.memoize import memoize
from fairaudit.metrics import works
from fairaudit.metrics.counts import GroupCounts, count_groups
from fairaudit.metrics.definitions import Better, Requirement
from fairaudit.metrics.differential_fairness import count_classes
from fairaudit.metrics.disparities import Disparity
from fairaudit.metrics.epsilon import compute_epsilon, widest_log_ratios
from fairaudit.metrics.formulas import Formula
from fairaudit.metrics.table_metrics import TableMetric, TableValue
from fairaudit.metrics.terms import NO_MINIMUM, Minimum, Parameters
from fairaudit.stats.pooling import PooledShares, pool_shares


def _pool(table: GroupTable, hits: Floats, trials: Floats) -> PooledShares | None:
    """The shares of the groups that may be compared, [G]; None where the outcome never varies."""
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
    """The shares of each class against the rest, by stratum: [Z][K]."""
    plain = count_classes(table, NO_MINIMUM)
    trials = plain.counts.sum(axis=1)
    return [
        [_pool(table, hits, trials[z]) for hits in counts] for z, counts in enumerate(plain.counts)
    ]


def _epsilon(table: GroupTable, minimum: Minimum, _: Parameters) -> TableValue:
    """ε of the posterior means of the shares."""
    plain = count_classes(table, minimum)
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


def _interval(table: GroupTable, minimum: Minimum, _: Parameters, alpha: Alpha) -> Ends:
    """Of the shares of all groups together: of two classes each is what the other leaves."""
    plain = count_classes(table, minimum)
    strata, classes, _groups = plain.counts.shape
    levels = np.broadcast_to(alpha, (strata,))
    result = np.full((2, strata), np.nan)
    for z, among in enumerate(plain.takes_part):
        known = [shares for shares in _pool_classes(table)[z] if shares is not None]
        if among.sum() < 2 or not known:
            continue
        count = max(int(among.sum()), 1) * (1 if classes == 2 else classes)
        ends = [shares.ends(float(levels[z]) / count) for shares in known]
        with np.errstate(divide="ignore"):
            low, high = (np.log(np.stack(side)) for side in zip(*ends, strict=True))
        result[:, z] = widest_log_ratios(low, high, among)
    return result[0], result[1]


@memoize
def pooled_counts(table: GroupTable) -> GroupCounts:
    """The cells of a table with the pooled share of those selected, of the groups themselves."""
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


_MODEL = (
    "Constant, levels and deviations are normal with standard deviations 5, 2.5 and τ on the logit "
    "scale, τ half-normal with 1; of one attribute its levels are the deviations."
)


POOLED_SELECTION_RATE = Formula(
    id="pooled_selection_rate",
    title="Selection rate by partial pooling",
    short="pooled sel. rate",
    family="independence",
    means="The share selected that is expected of the group, with its own people and what its "
    "attributes say of it: a small intersection is drawn to its main effects, a large one is not.",
    caution="Beside the selection rate, never in its place: a small group that is treated unlike "
    "all others is drawn to them. Not a share of anybody who was counted.",
    source=works.FOULDS_BAYES,
    elsewhere=f"Hierarchical logistic regression. {_MODEL}",
    better=Better.POLARITY,
    formula="E[p], logit p = constant + effects of the levels + deviation of the group",
    undefined="an outcome that never varies, nobody in the group, or several groups together",
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
    means="The largest log-ratio of the probability of any outcome between any two groups, as a "
    "hierarchical model of the groups expects it.",
    caution="Finite where a small group lacks an outcome, because the model says so, not the data: "
    "read the raw ε beside it. Its ε of a subset is of a model of that subset, so that Theorem 3.2 "
    "does not bound it.",
    source=works.FOULDS_BAYES,
    elsewhere=f"`{{metric: differential_fairness, model: pooled}}` is the same. Each class is "
    f"modelled against the rest. {_MODEL}",
    value_of=_epsilon,
    formula="max over outcomes y, groups g, h of |ln E[P(y|g)] - ln E[P(y|h)]|, with "
    "logit P(y|g) = constant + effects of the levels + deviation of the group",
    interval=_interval,
    method="credible, all groups together",
    judges_all_attributes=True,
)


def is_pooled(metric: object) -> bool:
    """Whether a metric, or a part of it, is computed by partial pooling."""
    parts = [part for part, _ in metric.parts] if isinstance(metric, Disparity) else []
    pooled = (POOLED_SELECTION_RATE, DIFFERENTIAL_FAIRNESS_POOLED)
    return any(record in pooled for record in (metric, *parts))

"""ε over Θ, a set of distributions that is given: draws from somebody's posterior."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairaudit.arrays import Alpha, Ends
from fairaudit.cube import Floats, GroupTable
from fairaudit.metrics import works
from fairaudit.metrics.definitions import Requirement
from fairaudit.metrics.differential_fairness import count_classes
from fairaudit.metrics.table_metrics import TableMetric, TableValue
from fairaudit.metrics.terms import Minimum, Parameters


def _spreads(table: GroupTable, minimum: Minimum) -> tuple[TableValue, Floats, Floats]:
    """Who takes part, the log-probabilities [D, K, G], and their widest differences [D, K]."""
    plain = count_classes(table, minimum)
    among = plain.takes_part[0]
    nothing = np.full((1, len(table.classes), len(table.groups)), np.nan)
    draws = nothing if table.draws is None else table.draws
    with np.errstate(divide="ignore"):
        logs = np.log(draws)
    if among.sum() < 2 or len(plain.value) != 1:
        return plain, logs, np.full(draws.shape[:2], np.nan)
    high, low = logs[..., among].max(axis=-1), logs[..., among].min(axis=-1)
    with np.errstate(invalid="ignore"):
        # An outcome that no group has is not in the range.
        return plain, logs, np.where(np.isneginf(high), 0.0, high - low)


def _largest(table: GroupTable, minimum: Minimum, _: Parameters) -> TableValue:
    """ε of Θ: the largest over all draws, with the pair and outcome that attain it."""
    plain, logs, spreads = _spreads(table, minimum)
    if np.isnan(spreads).any():
        return replace(plain, value=np.full(len(plain.value), np.nan))
    d, k = np.unravel_index(int(np.argmax(spreads)), spreads.shape)
    among = plain.takes_part[0]
    high, low = (
        int(pick(np.where(among, logs[d, k], worst)))
        for pick, worst in ((np.argmax, -np.inf), (np.argmin, np.inf))
    )
    index = (np.array([value], dtype=np.int64) for value in (k, high, low))
    outcome, first, second = index
    return replace(
        plain, value=spreads[d, k][None], outcome=outcome, highest_group=first, lowest_group=second
    )


def _mean(table: GroupTable, minimum: Minimum, _: Parameters) -> TableValue:
    """The mean over draws of each draw's ε."""
    plain, _logs, spreads = _spreads(table, minimum)
    value = np.full(len(plain.value), spreads.max(axis=1).mean())
    return TableValue.of(value, plain.takes_part, plain.n)


def _interval_of_mean(table: GroupTable, minimum: Minimum, _: Parameters, alpha: Alpha) -> Ends:
    """The equal-tailed interval of the draws' ε."""
    epsilons = _spreads(table, minimum)[2].max(axis=1)
    level = float(np.asarray(alpha).reshape(-1)[0])
    low, high = np.quantile(epsilons, [level / 2, 1 - level / 2])
    return np.array([low]), np.array([high])


_DRAWS = (
    "Of subsets the probabilities are means over their parts, weighed by the people of the data: "
    "P(y | s, θ) = Σ P(y | e, s, θ) P(e | s)."
)


DIFFERENTIAL_FAIRNESS_DRAWS = TableMetric(
    id="differential_fairness_draws",
    title="Differential fairness ε over given draws",
    short="ε of the draws",
    aliases=("epsilon_draws",),
    family="independence",
    means="The largest log-ratio in any draw of Θ: ε of Definition 3.1, with the draws that "
    "`draws:` or `--draws` names, such as those of a Stan or PyMC model.",
    caution="No better than the model that was drawn from. The more draws, the larger: the mean "
    "over draws is `differential_fairness_posterior_mean`.",
    source=works.FOULDS,
    elsewhere=f"`{{metric: differential_fairness, model: draws}}` is the same. {_DRAWS}",
    value_of=_largest,
    formula="max over draws θ, outcomes y, groups g, h of |ln P(y|g, θ) - ln P(y|h, θ)|",
    undefined="draws that are not by these attributes, or fewer than two groups",
    no_interval="it is the largest over all draws itself",
    judges_all_attributes=True,
    requirements=frozenset({Requirement.CLASSES, Requirement.DRAWS}),
)


DIFFERENTIAL_FAIRNESS_POSTERIOR_MEAN = TableMetric(
    id="differential_fairness_posterior_mean",
    title="Differential fairness ε, mean over given draws",
    short="mean ε of draws",
    family="independence",
    means="The mean over the draws of Θ of each draw's ε, with the interval that holds the middle "
    "of them.",
    caution="No draw's ε is 0, even of groups that are alike: the interval is no test of equality.",
    source=works.FOULDS_BAYES,
    elsewhere=_DRAWS,
    value_of=_mean,
    formula="mean over draws θ of max over y, g, h of |ln P(y|g, θ) - ln P(y|h, θ)|",
    undefined="draws that are not by these attributes, or fewer than two groups",
    interval=_interval_of_mean,
    method="credible, of the draws",
    no_test="ε of a draw is never 0, even of groups that are alike",
    judges_all_attributes=True,
    requirements=frozenset({Requirement.CLASSES, Requirement.DRAWS}),
)

"""Reasons why a value has no interval, or test: few people or clusters, no variation; wording."""

from __future__ import annotations

from fairaudit.metrics import GroupMetric, GroupValues
from fairaudit.metrics.clustered_variance import FEWEST_CLUSTERS
from fairaudit.metrics.group_metrics import CLUSTER_ROBUST

FEW_CLUSTERS = f"fewer than {FEWEST_CLUSTERS} effective clusters in a group (n² / Σ n_c²)"
NO_CLUSTER_VARIANCE = "its variance between clusters is not estimated"
STRATA_ARE_ESTIMATED = "how the strata are filled is estimated too"
MEAN_IS_BIASED = "biased away from parity by chance"
TOO_LITTLE_VARIATION = "none: too little variation to test"
EXTREME_IS_CHOSEN = "the extreme group is chosen from the same data"
ONE_GROUP = "it is a number of one group, and a test needs two"


class NoInterval(Exception):
    """A value has no interval; the message says why."""


def explain_few_people(least: int) -> str:
    """Why a value has no interval of which people one by one are too few."""
    return f"none: fewer than {least} people"


def explain_one_group(metric: GroupMetric) -> str:
    """Why the number of a group alone has no test of no disparity."""
    return ONE_GROUP.replace("it", metric.title.lower(), 1)


def explain_group_without_interval(values: GroupValues, place: tuple[int, int]) -> str:
    """Why the value of a group has no interval."""
    if values.n[place] < values.metric.least:
        return explain_few_people(values.metric.least)
    by_clusters = values.method.endswith(CLUSTER_ROBUST)
    if values.ends is not None:
        return f"none: {FEW_CLUSTERS}" if by_clusters else TOO_LITTLE_VARIATION
    return f"none: {NO_CLUSTER_VARIANCE if by_clusters else values.metric.no_interval}"

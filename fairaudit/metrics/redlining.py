"""Catalogue: redlining (`balanced_error_rate`): its words and interval, the size of the sample."""

from __future__ import annotations

import numpy as np

from fairaudit.base.arrays import Alpha, Ends, hash_rows
from fairaudit.base.frozen import memoize
from fairaudit.cube import NOWHERE, Floats, Ints, RowTable
from fairaudit.metrics import citations
from fairaudit.metrics.confusion_counts import GroupCounts
from fairaudit.metrics.definitions import Requirement
from fairaudit.metrics.formulas import Formula
from fairaudit.metrics.terms import Parameters
from fairaudit.rows.fitted_models import FOLDS, INFLATION, SEED, Errors, predict_errors
from fairaudit.stats import proportions

MOST_TOLD_APART = 25_000
"""Most people of one side; a larger side is sampled."""

_NOTHING = Errors(np.nan, np.nan, 0, 0)


@memoize
def _find_errors(table: RowTable) -> Floats:
    """The errors of predicting each group against all others in its stratum, [Z, G, 4]."""
    table = table.people
    strata, groups = table.shape
    errors = np.full((strata, groups, len(_NOTHING)), np.nan)
    for z in range(strata):
        people = table.in_stratum(z)
        people = people[table.group[people] != NOWHERE]
        ranks = hash_rows(table.places[people], SEED)
        for g in range(groups):
            member = table.group[people] == g
            chosen = [
                side[np.argsort(ranks[side], kind="stable")[:MOST_TOLD_APART]]
                for side in (np.flatnonzero(member), np.flatnonzero(~member))
            ]
            rows = np.sort(np.concatenate(chosen))
            features = table.features.take(people[rows])
            errors[z, g] = predict_errors(features, member[rows]) or _NOTHING
            if groups == 2 and g == 0:
                # If there are two groups, the errors of the second are those of the first, swapped.
                errors[z, 1] = errors[z, 0, [1, 0, 3, 2]]
                break
    return errors


def _errors(counts: GroupCounts) -> Floats:
    """The errors of both sides at the place of each group; NaN for pooled groups."""
    sides, shape = counts.rows, counts.answered.shape
    if sides is None or sides.role is not None:
        return np.full((*shape, len(_NOTHING)), np.nan)
    errors = _find_errors(sides.table)
    if sides.group is not None:
        errors = np.take_along_axis(errors, sides.group[..., None], axis=1)
    return np.broadcast_to(errors, (*shape, len(_NOTHING)))


def _value_of(counts: GroupCounts, _: Parameters) -> tuple[Floats, Ints]:
    errors = _errors(counts)
    people = np.nan_to_num(errors[..., 2:].sum(axis=-1)).astype(np.int64)
    return errors[..., :2].mean(axis=-1), people


def _ends_of(counts: GroupCounts, _parameters: Parameters, alpha: Alpha) -> Ends:
    """The ends of a mean of two shares of different people: Wilson's, at a reduced size."""
    rates, sizes = np.moveaxis(_errors(counts), -1, 0).reshape(2, 2, *counts.answered.shape)
    ends = proportions.share_interval(rates, sizes / INFLATION, alpha)
    _, low, high = proportions.mover_total(rates, ends, np.array([0.5, 0.5]))
    return low, high


BALANCED_ERROR_RATE = Formula(
    id="balanced_error_rate",
    title="Balanced error rate of predicting the group",
    short="BER",
    aliases=("redlining_potential", "ber"),
    family="individual",
    has_outcome=False,
    description="How often the features predict group membership wrongly: the mean of the share of "
    "members predicted as others and of others predicted as members; 0.5 if the features carry no "
    "information, 0 if they determine the group.",
    caution="Measures the potential for redlining, not discrimination: decisions may or may not "
    "use this information. Another predictor may be better, so the features carry at least this "
    "much information.",
    source=citations.FELDMAN,
    other_tools="Žliobaitė §3.2.8 reads it so. The predictor is the mean of a logistic regression, "
    "which sees what adds up, and gradient-boosted trees, which see thresholds and what interacts; "
    f"{FOLDS} folds, seed {SEED}. The interval allows for folds that share the people they learn "
    "from (Nadeau & Bengio 2003, https://doi.org/10.1023/A:1024068626366).",
    bounds=(0, 1),
    formula=f"(missed / the group + mistaken / all others) / 2, cross-validated in {FOLDS} folds",
    requirements=frozenset({Requirement.FEATURES}),
    undefined=f"fewer than {FOLDS} people of the group, or of all others, have every feature, "
    "no feature varies, or the logistic regression did not converge",
    value_of=_value_of,
    ends_of=_ends_of,
    method="Wilson, MOVER",
    uses_everybody=True,
    compares=True,
)

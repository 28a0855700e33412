"""`Draws` of a posterior of outcome probabilities (Θ of differential fairness), as data."""

from __future__ import annotations

import numpy as np

from fairaudit.base.arrays import Floats, Group, Grouping
from fairaudit.base.frozen import Frozen


class Draws(Frozen, eq=False):
    """The probability of each outcome in each group by each draw, [D, K, G].

    Without `outcomes` it is that of the positive one alone, K = 1, of an outcome with two.
    """

    path: str
    sha256: str
    by: Grouping
    groups: tuple[Group, ...]
    outcomes: tuple[str, ...]
    probability: Floats

    def roll_up(self, groups: tuple[Group, ...], finest: dict[Group, float]) -> Floats:
        """The probabilities of coarser groups, [D, K, G]: means of their parts, by their people.

        `finest` are the people of every group by all attributes of the draws; NaN where a group
        has none.
        """
        people = np.array([finest.get(group, 0.0) for group in self.groups])
        belongs = np.array([
            [set(group) <= set(part) for part in self.groups] for group in groups
        ]).reshape(len(groups), len(self.groups))  # fmt: skip
        weights = belongs * people
        with np.errstate(invalid="ignore"):
            shares = weights / weights.sum(axis=1, keepdims=True)
        return np.asarray(self.probability @ shares.T)

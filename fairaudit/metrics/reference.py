"""The reference policies: whom a group is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from fairaudit.cube import Floats, Group, GroupTable, Ints, Marks
from fairaudit.metrics.picking import pick

NOBODY = -1
"""The index that stands for no single group: a crowd (rest, overall), or no witness."""


class Policy(StrEnum):
    """Whom a group is compared with."""

    DECLARED = "declared"
    LEVEL = "level"
    LARGEST = "largest"
    HIGHEST = "highest"
    LOWEST = "lowest"
    REST = "rest"
    OVERALL = "overall"
    EVERYBODY = "everybody in all strata"


CROWDS = frozenset({Policy.REST, Policy.OVERALL, Policy.EVERYBODY})
"""References that are many groups together."""

WITH_ITSELF = frozenset({Policy.OVERALL, Policy.EVERYBODY})
"""Crowds that the group compared is a part of."""

EXTREMES = frozenset({Policy.HIGHEST, Policy.LOWEST})
"""References that chance has a part in picking."""

ONE_GROUP = frozenset({Policy.DECLARED, Policy.LEVEL, Policy.LARGEST})
"""References that are one group, whatever its rate."""


@dataclass(frozen=True, slots=True)
class Reference:
    """Whom groups are compared with: a policy, and the group it names where it names one."""

    policy: Policy
    group: Group = ()


def reference_index(
    reference: Reference, table: GroupTable, value: Floats, n: Ints, takes_part: Marks
) -> tuple[Ints | None, Marks]:
    """The reference group [Z, 1] (None for a crowd) and where it can be used, [Z, 1].

    `value`, `n` (people in the denominator) and `takes_part` are [Z, G].
    """
    strata = len(table.strata)
    if not table.groups:
        return np.full((strata, 1), NOBODY), np.zeros((strata, 1), dtype=np.bool_)
    match reference.policy:
        case Policy.REST | Policy.OVERALL | Policy.EVERYBODY:
            return None, np.ones((strata, 1), dtype=np.bool_)
        case Policy.LARGEST:
            index = pick(table.n.astype(np.float64), takes_part, n, highest=True)
        case Policy.HIGHEST | Policy.LOWEST:
            index = pick(value, takes_part, n, highest=reference.policy is Policy.HIGHEST)
        case _:
            at = find_group(table.groups, reference.group)
            index = np.full(strata, at)
            if at == NOBODY:
                return index[:, None], np.zeros((strata, 1), dtype=np.bool_)
    usable = takes_part[np.arange(strata), index]
    if reference.policy in EXTREMES:
        # While one rate is undefined nobody can say which is the highest.
        usable = usable & ~(takes_part & np.isnan(value)).any(axis=1)
    return index[:, None], usable[:, None]


def find_group(groups: Sequence[Group], wanted: Group) -> int:
    """The index of a group, `NOBODY` where it does not exist; the order of columns is free."""
    if wanted in groups:
        return groups.index(wanted)
    return next((at for at, group in enumerate(groups) if dict(group) == dict(wanted)), NOBODY)

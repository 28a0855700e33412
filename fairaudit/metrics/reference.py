"""The reference policies: whom a group is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from fairaudit.cube import Floats, Group, GroupTable, Ints, Marks
from fairaudit.metrics.extreme_groups import find_extreme

NO_GROUP = -1
"""The index that stands for no single group: a crowd (rest, overall), or no witness."""


class ReferencePolicy(StrEnum):
    """Whom a group is compared with."""

    DECLARED = "declared"
    LEVEL = "level"
    LARGEST = "largest"
    HIGHEST = "highest"
    LOWEST = "lowest"
    REST = "rest"
    OVERALL = "overall"
    EVERYBODY = "everybody in all strata"


POOLED_REFERENCES = frozenset(
    {ReferencePolicy.REST, ReferencePolicy.OVERALL, ReferencePolicy.EVERYBODY}
)
"""References that are many groups together."""

INCLUDING_GROUP = frozenset({ReferencePolicy.OVERALL, ReferencePolicy.EVERYBODY})
"""Crowds that the group compared is a part of."""

EXTREME_REFERENCES = frozenset({ReferencePolicy.HIGHEST, ReferencePolicy.LOWEST})
"""References that chance has a part in picking."""

SINGLE_REFERENCES = frozenset(
    {ReferencePolicy.DECLARED, ReferencePolicy.LEVEL, ReferencePolicy.LARGEST}
)
"""References that are one group, whatever its rate."""


@dataclass(frozen=True, slots=True)
class Reference:
    """Whom groups are compared with: a policy, and the group it names where it names one."""

    policy: ReferencePolicy
    group: Group = ()


def reference_index(
    reference: Reference, table: GroupTable, value: Floats, n: Ints, takes_part: Marks
) -> tuple[Ints | None, Marks]:
    """The reference group [Z, 1] (None for a crowd) and where it can be used, [Z, 1].

    `value`, `n` (people in the denominator) and `takes_part` are [Z, G].
    """
    strata = len(table.strata)
    if not table.groups:
        return np.full((strata, 1), NO_GROUP), np.zeros((strata, 1), dtype=np.bool_)
    match reference.policy:
        case ReferencePolicy.REST | ReferencePolicy.OVERALL | ReferencePolicy.EVERYBODY:
            return None, np.ones((strata, 1), dtype=np.bool_)
        case ReferencePolicy.LARGEST:
            index = find_extreme(table.n.astype(np.float64), takes_part, n, highest=True)
        case ReferencePolicy.HIGHEST | ReferencePolicy.LOWEST:
            index = find_extreme(
                value, takes_part, n, highest=reference.policy is ReferencePolicy.HIGHEST
            )
        case _:
            at = find_group(table.groups, reference.group)
            index = np.full(strata, at)
            if at == NO_GROUP:
                return index[:, None], np.zeros((strata, 1), dtype=np.bool_)
    usable = takes_part[np.arange(strata), index]
    if reference.policy in EXTREME_REFERENCES:
        # While one rate is undefined nobody can say which is the highest.
        usable = usable & ~(takes_part & np.isnan(value)).any(axis=1)
    return index[:, None], usable[:, None]


def find_group(groups: Sequence[Group], wanted: Group) -> int:
    """The index of a group, `NOBODY` where it does not exist; the order of columns is free."""
    if wanted in groups:
        return groups.index(wanted)
    return next((at for at, group in enumerate(groups) if dict(group) == dict(wanted)), NO_GROUP)

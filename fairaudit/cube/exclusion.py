"""Exclusion of small groups (`exclude_below`): the least share, and of whom it is a share."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from fairaudit.arrays import Group, Grouping
from fairaudit.cube.amounts import add_up
from fairaudit.cube.keys import NO_LEVEL, distinct_rows, known_groups, name_groups
from fairaudit.frozen import Frozen

if TYPE_CHECKING:
    from fairaudit.cube.cells import Cube


class ShareOf(StrEnum):
    """The people that a group is a share of: those whose group is known, or all."""

    KNOWN = "known"
    ALL = "all"

    @property
    def words(self) -> str:
        """The people that the share is of."""
        if self is ShareOf.KNOWN:
            return "the people whose group is known"
        return "all people, those whose group is not known included"


class ExcludeBelow(Frozen):
    """The rule that excludes groups of less than a share of the people, and its reason."""

    share: Fraction
    reason: str
    of: ShareOf = ShareOf.KNOWN


class ExcludedGroups(Frozen):
    """The groups of one grouping that a rule excludes, with their people.

    `everybody` are the people that the share is of, as the rule says.
    """

    rule: ExcludeBelow
    people: Mapping[Group, int]
    everybody: int


def find_excluded(cube: Cube, by: Grouping, rule: ExcludeBelow) -> ExcludedGroups:
    """The groups that are less than a share of the people in a grouping.

    Of those with known levels, or of everybody, as the rule says; whatever their stratum and
    outcome. Survey weights do not count.
    """
    columns = cube.places(by)
    inside = np.all(cube.codes[:, columns] != NO_LEVEL, axis=1) & (cube.people > 0)
    codes, index = distinct_rows(cube.codes[inside][:, columns])
    keys = [cube.keys[column] for column in columns]
    known = known_groups(keys, codes)
    people = add_up(cube.people[inside], index, len(codes))
    of_all = rule.of is ShareOf.ALL
    everybody = int(cube.people.sum() if of_all else people[known].sum())
    groups = zip(name_groups(keys, codes), people.tolist(), known.tolist(), strict=True)
    small = {group: n for group, n, is_known in groups if is_known and n < rule.share * everybody}
    return ExcludedGroups(rule, small, everybody)

"""Exclusion of small groups (`exclude_below`): the least share, and of whom it is a share."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from fractions import Fraction

from fairaudit.base.arrays import Group
from fairaudit.base.frozen import Frozen


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

"""Key columns of a cube: roles, codes of levels, names of groups; the rule `exclude_below`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from itertools import combinations
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fairaudit.base.arrays import Group, Grouping, Ints, Marks
from fairaudit.base.frozen import Frozen

NO_LEVEL = -1
"""The code of a missing level. Tables by the column omit the row; an outcome counts as unknown."""

OUTSIDE = -2
"""The code of an outcome that does not apply to a row: tables of this outcome leave the row out."""

UNKNOWN = "(unknown)"
"""The level of people whose protected value or stratum is not known."""

NO_COUNTERPART = "(no counterpart)"
"""The level of people whose propensity score is outside the range that both sides share."""

MOST_ATTRIBUTES = 12
"""Up to this number of attributes, every subset is audited (4,095 subsets)."""

_Integer = TypeVar("_Integer", np.int32, np.int64)


class Role(StrEnum):
    """The role of a column in the audit."""

    PROTECTED = "protected"
    STRATUM = "stratum"
    LABEL = "label"
    PREDICTION = "prediction"


class KeyColumn(Frozen):
    """A column of the cube: its levels, and the levels with a special meaning.

    The code of a level is its index in `levels`. `unknown` are the codes of levels that mean "not
    known"; these levels are listed but never compared. `positive` are the codes of the positive
    classes of an outcome; None if the spec does not name them. `favourable` says whether a positive
    outcome is a benefit. `absent` are the levels that the spec declares but that no row has.
    """

    name: str
    role: Role
    levels: tuple[str, ...]
    unknown: frozenset[int] = frozenset()
    positive: frozenset[int] | None = None
    favourable: bool = True
    absent: tuple[str, ...] = ()

    def known_levels(self) -> tuple[str, ...]:
        """All levels except those for "not known"."""
        return tuple(level for code, level in enumerate(self.levels) if code not in self.unknown)

    def slots(self, codes: NDArray[np.int32]) -> Ints:
        """The codes as indexes: a code below 0 becomes the number of levels (the last index)."""
        return np.where(codes < 0, len(self.levels), codes).astype(np.int64)

    def positive_classes(self, size: int) -> Marks | None:
        """Marks the positive classes among `size` classes; None if the spec does not name them."""
        if self.positive is None:
            return None
        return np.isin(np.arange(size), list(self.positive))


def name_groups(keys: Sequence[KeyColumn], codes: NDArray[np.int32]) -> tuple[Group, ...]:
    """The group of each row of `codes`, which has a column for each key."""
    if not keys:
        return ((),) * len(codes)
    columns = []
    for column, key in enumerate(keys):
        # `NO_LEVEL` is -1, the index of the last pair.
        pairs = [(key.name, level) for level in (*key.levels, UNKNOWN)]
        columns.append([pairs[code] for code in codes[:, column].tolist()])
    return tuple(zip(*columns, strict=True))


def known_groups(keys: Sequence[KeyColumn], codes: NDArray[np.int32]) -> Marks:
    """Marks the rows of `codes` in which every level is known."""
    known = np.ones(len(codes), dtype=np.bool_)
    for column, key in enumerate(keys):
        known &= ~np.isin(codes[:, column], list(key.unknown))
    return known


def every_subset(names: Sequence[str]) -> list[Grouping]:
    """Every non-empty subset of the names, small subsets first; names keep their order."""
    sizes = range(1, len(names) + 1)
    return [subset for size in sizes for subset in combinations(names, size)]


def distinct_rows(codes: NDArray[_Integer]) -> tuple[NDArray[_Integer], Ints]:
    """The distinct rows of `codes`, ascending, and the index of each row among the distinct rows.

    Without columns there is always one distinct row, even if `codes` has no rows.
    """
    if not codes.shape[1]:
        return codes[:0].reshape(1, 0), np.zeros(len(codes), dtype=np.int64)
    if len(codes):
        # One number for each row can be sorted several times as fast as the row.
        low = codes.min(axis=0)
        spans = (codes.max(axis=0) - low + 1).tolist()
        radix = [math.prod(spans[place + 1 :]) for place in range(len(spans))]
        if math.prod(spans) < 2**63:
            numbers = (codes - low) @ np.array(radix, dtype=np.int64)
            _, first, index = np.unique(numbers, return_index=True, return_inverse=True)
            return codes[first], index
    rows, index = np.unique(codes, axis=0, return_inverse=True)
    return rows, index.reshape(-1)


class ShareOf(StrEnum):
    """The total for the share of a group: the people whose group is known, or all people."""

    KNOWN = "known"
    ALL = "all"

    @property
    def words(self) -> str:
        """The people of the total in words, for messages."""
        if self is ShareOf.KNOWN:
            return "the people whose group is known"
        return "all people, those whose group is not known included"


class ExcludeBelow(Frozen):
    """The rule that groups with less than a `share` of the people are excluded, with the reason."""

    share: Fraction
    reason: str
    of: ShareOf = ShareOf.KNOWN


class ExcludedGroups(Frozen):
    """The groups that a rule excludes, with the number of people of each group.

    `everybody` is the total number of people for the shares (see `ShareOf`).
    """

    rule: ExcludeBelow
    people: Mapping[Group, int]
    everybody: int

"""Key columns of a cube: roles, `(unknown)`, `MOST_ATTRIBUTES`; `exclude_below` of small groups."""

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
"""The code of a row that is left out where its column is used; for an outcome: not known."""

OUTSIDE = -2
"""The code of a row to which an outcome does not apply: no table of this outcome counts it."""

UNKNOWN = "(unknown)"
"""The level of people whose protected value or stratum is not known."""

NO_COUNTERPART = "(no counterpart)"
"""The level of people for whom no propensity stratum holds people of both sides."""

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
    """A key column of the cube: its levels, and which of them have a special meaning.

    `unknown` holds the codes of "not known", which is listed and never compared. `positive` holds
    the codes of an outcome's positive classes; None if the spec does not name them. `absent` are
    levels that the spec declares and no row has.
    """

    name: str
    role: Role
    levels: tuple[str, ...]
    unknown: frozenset[int] = frozenset()
    positive: frozenset[int] | None = None
    favourable: bool = True
    absent: tuple[str, ...] = ()

    def known_levels(self) -> tuple[str, ...]:
        """The levels that do not stand for "not known"."""
        return tuple(level for code, level in enumerate(self.levels) if code not in self.unknown)

    def slots(self, codes: NDArray[np.int32]) -> Ints:
        """The codes, with those that have no level last."""
        return np.where(codes < 0, len(self.levels), codes).astype(np.int64)

    def positive_classes(self, size: int) -> Marks | None:
        """The classes that are positive, as marks; None if the spec does not name them."""
        if self.positive is None:
            return None
        return np.isin(np.arange(size), list(self.positive))


def name_groups(keys: Sequence[KeyColumn], codes: NDArray[np.int32]) -> tuple[Group, ...]:
    """The groups that rows of codes stand for."""
    if not keys:
        return ((),) * len(codes)
    columns = []
    for column, key in enumerate(keys):
        # `NO_LEVEL` is the last of them.
        pairs = [(key.name, level) for level in (*key.levels, UNKNOWN)]
        columns.append([pairs[code] for code in codes[:, column].tolist()])
    return tuple(zip(*columns, strict=True))


def known_groups(keys: Sequence[KeyColumn], codes: NDArray[np.int32]) -> Marks:
    """Which rows of codes have no unknown level."""
    known = np.ones(len(codes), dtype=np.bool_)
    for column, key in enumerate(keys):
        known &= ~np.isin(codes[:, column], list(key.unknown))
    return known


def every_subset(names: Sequence[str]) -> list[Grouping]:
    """Every non-empty subset of the names, small ones first, each in the order given."""
    sizes = range(1, len(names) + 1)
    return [subset for size in sizes for subset in combinations(names, size)]


def distinct_rows(codes: NDArray[_Integer]) -> tuple[NDArray[_Integer], Ints]:
    """The distinct rows of `codes` in ascending order, and for each row its number among them.

    If there are no columns, all rows are equal; one distinct row is returned even for no rows.
    """
    if not codes.shape[1]:
        return codes[:0].reshape(1, 0), np.zeros(len(codes), dtype=np.int64)
    if len(codes):
        # Sorting one number for each row is several times as fast as sorting rows.
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

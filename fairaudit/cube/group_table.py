"""`GroupTable`, the counts that every metric reads; people of no known group, clusters, pairs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from fairaudit.base.arrays import Floats, Group, Grouping, Ints, Marks
from fairaudit.base.frozen import Frozen, field, replace
from fairaudit.cube.amounts import Amount, Clusters
from fairaudit.cube.exclusion import ExcludedGroups
from fairaudit.cube.histogram import Histogram
from fairaudit.cube.rows import RowTable


class Ungrouped(Frozen, eq=False):
    """Those whose group is not known and who are set aside: in no group, in no rest.

    `groups` [U] say what is known of them; `people` and `mass` are [Z, Y, P, U], as in the table.
    """

    groups: tuple[Group, ...]
    people: Ints
    mass: Ints


class ClusteredTable(Frozen, eq=False):
    """The clusters of a table: `place` [C] is the place of each cell of the cube in it, or -1.

    The table has the shape [Z, Y, P, G]; `kept` [Y] marks the label classes that count.
    """

    clusters: Clusters
    place: Ints
    shape: tuple[int, int, int, int]
    kept: Marks | None = None


class Pairs(Frozen, eq=False):
    """The same people by two outcomes: `mass` is [Z, Y, P, Q, G], Q the classes of the other.

    `positive` [Q] marks its positive classes; of either outcome all are known.
    """

    mass: Ints
    positive: Marks


class GroupTable(Frozen, eq=False, dict=True):
    """The counts of one grouping, stratified, which every metric reads.

    `people` and `mass` have the axes [Z strata, Y label classes, P audited classes, G groups]; the
    last class of Y and of P is "not known". Rates are shares of `mass`: people, or survey
    weights in fixed point; `squares` (Σ count · weight², same axes, as floats) gives the effective
    size of a weighted sample, `None` without weights. If `of` has no classes, P is "not
    known" only. `amounts` (same axes) are sums for `of`; `histogram` is the histogram of its
    score, by the same strata and groups, if a metric needs it. `excluded` groups are counted
    among everybody, and never compared. `ungrouped` are the people whom
    `missing: {protected: aside}` leaves out of this grouping. `pairs` also counts the same people
    by a second outcome. `clusters` are the clusters of the rows, if the spec names them. `rows` are
    the people one by one, if a metric needs them, `draws` [D, P, G] given probabilities of classes.
    """

    by: Grouping
    given: Grouping
    of: str
    groups: tuple[Group, ...]
    strata: tuple[Group, ...]
    labels: tuple[str, ...]
    classes: tuple[str, ...]
    positive_label: Marks | None
    positive: Marks | None
    favourable: bool
    people: Ints
    mass: Ints
    scale: int
    squares: Floats | None
    known: Marks
    known_strata: Marks
    amounts: Mapping[str, Amount] = field(default_factory=dict)
    histogram: Histogram | None = None
    excluded: ExcludedGroups | None = None
    ungrouped: Ungrouped | None = None
    pairs: Pairs | None = None
    clusters: ClusteredTable | None = None
    rows: RowTable | None = None
    draws: Floats | None = None

    @cached_property
    def eligible(self) -> Marks:
        """Which groups may be compared at all, [G]: those that are known and not excluded."""
        if self.excluded is None:
            return self.known
        kept = [group not in self.excluded.people for group in self.groups]
        return self.known & np.array(kept, dtype=np.bool_)

    @cached_property
    def n(self) -> Ints:
        """People per stratum and group, [Z, G]."""
        return np.asarray(self.people.sum(axis=(1, 2)))

    def with_empty(self, groups: tuple[Group, ...]) -> GroupTable:
        """The counts with further groups without people, for functions that count people only."""
        if not groups:
            return self

        def padded(cells: Any) -> Any:  # noqa: ANN401  # integers or floats
            return np.pad(cells, [(0, 0)] * (cells.ndim - 1) + [(0, len(groups))])

        people = padded(self.people)
        return replace(
            self,
            groups=(*self.groups, *groups),
            people=people,
            mass=people if self.mass is self.people else padded(self.mass),
            squares=None if self.squares is None else padded(self.squares),
            known=np.append(self.known, np.ones(len(groups), dtype=np.bool_)),
            amounts={},
            histogram=None,
            pairs=None,
            clusters=None,
            rows=None,
        )

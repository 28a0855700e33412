"""`Cube`: the people in each combination of levels, and the group tables made from it.

A `Cube` has one cell for each combination of levels that occurs in the audited columns. All counts
are integers, so the order of addition does not change a sum. The counts of a coarser grouping are
sums of cells, so the data is not read again. `Cube.table` makes a `GroupTable`, which metrics read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fairaudit.base.arrays import Floats, Group, Grouping, Ints, Marks
from fairaudit.base.frozen import Frozen, field, replace
from fairaudit.base.ledger import Ledger
from fairaudit.cube.group_table import (
    MOST_COUNTS,
    Amount,
    AmountName,
    ClusteredTable,
    Clusters,
    GroupTable,
    Pairs,
    SampleStrata,
    Sum,
    Ungrouped,
    add_up,
)
from fairaudit.cube.keys import (
    MOST_ATTRIBUTES,
    NO_COUNTERPART,
    NO_LEVEL,
    OUTSIDE,
    UNKNOWN,
    ExcludeBelow,
    ExcludedGroups,
    KeyColumn,
    Role,
    ShareOf,
    distinct_rows,
    every_subset,
    known_groups,
    name_groups,
)
from fairaudit.cube.rows import NOWHERE, Rows, RowTable

_MOST_WEIGHTED = 10_000
"""People are weightless if their mean weight, times this number, is at most the overall mean."""


def mark_weightless(people: Ints, weight: Sum) -> Marks:
    """Marks cells whose people have almost no weight, compared with the mean weight of a person."""
    mass = (weight.values / weight.scale).astype(np.float64)
    return np.asarray(mass * people.sum() <= people * (mass.sum() / _MOST_WEIGHTED))


class Cube(Frozen, eq=False, dict=True):
    """The people, rows, weights and sums of numbers in each cell.

    `codes` [C cells, K columns] are the codes of levels; `NO_LEVEL` marks a value that is left out.
    `rows` and `people` [C] are the numbers of rows and people. `weight` and `squares` are the sums
    of weights and of squared weights; None without weights. `amounts` are other sums. `possible` is
    a cube of people who may not belong to this cube, or may not exist; tables count these people
    separately. `masked` says whether masked counts (such as `<5`) hide people or their outcomes.
    `weightless` [C] is the number of people whose weight is 0 or negligible.
    """

    keys: tuple[KeyColumn, ...]
    codes: NDArray[np.int32]
    rows: Ints
    people: Ints
    ledger: Ledger
    weight: Sum | None = None
    squares: Sum | None = None
    amounts: Mapping[AmountName, Amount] = field(default_factory=dict)
    clusters: Clusters | None = None
    masked: bool = False
    possible: Cube | None = None
    weightless: Ints | None = None

    @cached_property
    def _places(self) -> dict[str, int]:
        return {key.name: place for place, key in enumerate(self.keys)}

    @classmethod
    def gather(  # noqa: PLR0913, PLR0917  # the columns of a cube
        cls,
        keys: Sequence[KeyColumn],
        codes: NDArray[np.int32],
        rows: Ints,
        people: Ints,
        ledger: Ledger,
        weight: Sum | None = None,
        squares: Sum | None = None,
        amounts: Mapping[AmountName, Amount] | None = None,
        cluster: Ints | None = None,
        strata: SampleStrata | None = None,
        masked: bool = False,  # noqa: FBT001, FBT002  # a column as the others
    ) -> Cube:
        """A cube with one cell for each distinct row of `codes`, in ascending order.

        All other arrays have an entry for each row of `codes`. `cluster` is the number of the
        cluster to which the people of the row belong. `strata` are the strata from which the
        clusters were sampled.
        """
        cells, index = distinct_rows(codes)
        size = len(cells)

        def gather_counts(counts: Ints) -> Ints:
            return add_up(counts, index, size)

        mass = (people if weight is None else weight.values / weight.scale).astype(np.float64)
        return cls(
            tuple(keys),
            cells,
            gather_counts(rows),
            gather_counts(people),
            ledger,
            weight and weight.gather(index, size),
            squares and squares.gather(index, size),
            {
                name: amount.transform(gather_counts, lambda sums: sums.gather_lowest(index, size))
                for name, amount in (amounts or {}).items()
            },
            None if cluster is None else Clusters.gather(index, cluster, mass, strata),
            masked,
            weightless=None
            if weight is None
            else gather_counts(np.where(mark_weightless(people, weight), people, 0)),
        )

    def with_unknown(self, people: int) -> Cube:
        """The cube with additional people whose levels are all unknown.

        The new cube has no weights, sums or clusters.
        """
        nobody = np.full((1, len(self.keys)), NO_LEVEL, dtype=np.int32)
        return Cube.gather(
            self.keys,
            np.concatenate([self.codes, nobody]),
            np.append(self.rows, people),
            np.append(self.people, people),
            self.ledger,
        )

    def key(self, name: str) -> KeyColumn:
        """The key column with this name."""
        return self.keys[self._places[name]]

    def places(self, names: Sequence[str]) -> list[int]:
        """The index in `keys` of each column in `names`."""
        return [self._places[name] for name in names]

    def outcome(self, name: str) -> KeyColumn | None:
        """The key column of an outcome; None if the outcome has no classes."""
        key = self.key(name) if name in self._places else None
        return key if key is not None and key.role in {Role.LABEL, Role.PREDICTION} else None

    def mark_applicable(self, outcomes: Sequence[str]) -> Marks:
        """Marks the cells of people to whom all `outcomes` apply."""
        places = self.places([name for name in outcomes if self.outcome(name) is not None])
        return np.asarray(np.all(self.codes[:, places] != OUTSIDE, axis=1))

    @property
    def protected(self) -> Grouping:
        """The names of the protected attributes."""
        return tuple(key.name for key in self.keys if key.role is Role.PROTECTED)

    def subsets(self) -> list[Grouping]:
        """Every non-empty subset of the protected attributes, small ones first."""
        return every_subset(self.protected)

    def table(
        self, by: Grouping, given: Grouping, of: str, against: str | None = None
    ) -> GroupTable:
        """The counts for the outcome `of`, by groups (columns `by`) and strata (columns `given`).

        People with `NO_LEVEL` in a column of `by` or `given` are left out, and groups without
        people are not listed. If the outcome applies to no person of a group, the counts of the
        group are 0. If `against` names a second outcome, people who lack one of the two outcomes
        count as people with an unknown outcome.
        """
        layout = _TableLayout.of_columns(self, by, given, of, against)
        label, audited = self.outcome("label"), self.outcome(of)
        inside, own, wide = layout.inside, self.codes[:, layout.columns[0]], self.possible
        people = inside.add(self.people)
        squares = self.squares and inside.add_sum(self.squares)
        clusters = None
        if self.clusters is not None:
            place = np.full(len(self.codes), -1, dtype=np.int64)
            place[inside.marks] = inside.place
            clusters = ClusteredTable(self.clusters, place, inside.shape)
        return GroupTable(
            by=by,
            given=given,
            of=of,
            groups=name_groups(layout.group_keys, layout.groups),
            strata=name_groups(layout.stratum_keys, layout.strata),
            labels=label.levels if label else (),
            classes=audited.levels if audited else (),
            positive_label=label.positive_classes(inside.shape[1]) if label else None,
            positive=audited.positive_classes(inside.shape[2]) if audited else None,
            favourable=audited.favourable if audited else True,
            people=people,
            mass=inside.add(self.weight.values) if self.weight else people,
            weightless=None if self.weightless is None else inside.add(self.weightless),
            scale=self.weight.scale if self.weight else 1,
            squares=squares.values.astype(np.float64) / squares.scale if squares else None,
            known=known_groups(layout.group_keys, layout.groups),
            known_strata=known_groups(layout.stratum_keys, layout.strata),
            amounts={
                name: amount.transform(inside.add, inside.add_sum)
                for (outcome, name), amount in self.amounts.items()
                if outcome == of
            },
            ungrouped=layout.count_outside(self, np.any(own == NO_LEVEL, axis=1)),
            possible=None if wide is None else layout.count_outside(wide, wide.people > 0),
            pairs=layout.count_pairs(against),
            clusters=clusters,
            masked=self.masked,
        )

    def count_people(self, by: Grouping) -> tuple[tuple[Group, ...], Ints, Marks]:
        """The groups by the columns `by`, the people of each group, and marks of known groups."""
        columns = self.places(by)
        inside = np.all(self.codes[:, columns] != NO_LEVEL, axis=1) & (self.people > 0)
        codes, index = distinct_rows(self.codes[inside][:, columns])
        keys = [self.keys[column] for column in columns]
        people = add_up(self.people[inside], index, len(codes))
        return name_groups(keys, codes), people, known_groups(keys, codes)

    def place_rows(self, table: GroupTable, rows: Rows, score: str | None) -> RowTable:
        """The people in `rows`, with their stratum, group and outcome in `table`, and one score."""
        layout = _TableLayout.of_columns(self, table.by, table.given, table.of, None)
        group = np.full(len(self.codes), NOWHERE, dtype=np.int64)
        group[layout.inside.marks] = layout.inside.place % max(len(layout.groups), 1)
        stratum = np.full(len(self.codes), NOWHERE, dtype=np.int64)
        if len(layout.strata):
            stratum = layout.find_strata(self.codes[:, layout.columns[1]])
        outcome, key = np.full(len(self.codes), np.nan), self.outcome(table.of)
        if key is not None and key.positive is not None:
            codes = self.codes[:, self.places([table.of])[0]]
            outcome = np.where(codes < 0, np.nan, np.isin(codes, list(key.positive)))
        return RowTable(
            rows.features,
            rows.numbers,
            rows.n,
            stratum[rows.cells],
            group[rows.cells],
            outcome[rows.cells],
            None if score is None else rows.scores.get(score),
            (len(layout.strata), len(layout.groups)),
            rows,
        )


def find_excluded(cube: Cube, by: Grouping, rule: ExcludeBelow) -> ExcludedGroups:
    """The groups by the columns `by` that a rule excludes because their share of people is small.

    The rule says whether it is the share of the people whose group is known, or of all people. The
    share includes people of all strata and outcomes, and ignores survey weights.
    """
    wide = cube.possible
    if wide is not None and not cube.masked:  # masked people may not exist: they do not count
        cube = replace(
            cube,
            codes=np.concatenate([cube.codes, wide.codes]),
            people=np.concatenate([cube.people, wide.people]),
        )
    groups, people, known = cube.count_people(by)
    of_all = rule.of is ShareOf.ALL
    everybody = int(cube.people.sum() if of_all else people[known].sum())
    sizes = zip(groups, people.tolist(), known.tolist(), strict=True)
    small = {group: n for group, n, is_known in sizes if is_known and n < rule.share * everybody}
    return ExcludedGroups(rule, small, everybody)


class _Selection(Frozen, eq=False):
    """The marked cells of a cube, and the flat index (`place`) of each cell in a table.

    `shape` is the shape [Z, Y, P, G] of the table.
    """

    marks: Marks
    place: Ints
    shape: tuple[int, int, int, int]

    @classmethod
    def of(
        cls,
        cube: Cube,
        outcomes: Sequence[str],
        marks: Marks,
        axes: tuple[Ints, Ints],
        sizes: tuple[int, int],
    ) -> _Selection:
        """Places the marked cells of a cube in a table of `outcomes`.

        `axes` are the stratum and the group of each marked cell. `sizes` are the numbers of strata
        and of groups.
        """
        codes, (z, g), (strata, groups) = cube.codes[marks], axes, sizes
        # The class of each cell for the label and each outcome; "not known" is the last class.
        keys = [cube.outcome(name) for name in ("label", *outcomes)]
        slots = [
            key.slots(codes[:, cube.places([key.name])[0]]) if key else np.zeros_like(z)
            for key in keys
        ]
        labels, classes, *others = (len(key.levels) + 1 if key else 1 for key in keys)
        y, p = slots[:2]
        for other, size in zip(slots[2:], others, strict=True):
            p = np.where((other == size - 1) & (size > 1), classes - 1, p)
        shape = (strata, labels, classes, groups)
        empty = np.zeros(0, dtype=np.int64)
        return cls(marks, np.ravel_multi_index((z, y, p, g), shape) if len(codes) else empty, shape)

    def add(self, values: Ints) -> Ints:
        return add_up(values[self.marks], self.place, int(np.prod(self.shape))).reshape(self.shape)

    def add_sum(self, total: Sum) -> Sum:
        return Sum(self.add(total.values), total.scale)


class _TableLayout(Frozen, eq=False):
    """The groups and strata of a table, and the cells that the table counts (`inside`).

    `columns` are the indexes of the group columns and of the stratum columns in `cube.keys`.
    """

    cube: Cube
    columns: tuple[list[int], list[int]]
    outcomes: list[str]
    groups: NDArray[np.int32]
    strata: NDArray[np.int32]
    inside: _Selection

    @classmethod
    def of_columns(
        cls, cube: Cube, by: Grouping, given: Grouping, of: str, against: str | None
    ) -> _TableLayout:
        """The layout of a table; cells with `NO_LEVEL` in a column of the table are left out."""
        columns, conditions = cube.places(by), cube.places(given)
        outcomes = [of] if against is None else [of, against]
        needed = cube.codes[:, [*columns, *conditions]]
        marks = np.all(needed != NO_LEVEL, axis=1) & (cube.people > 0)
        applies = cube.mark_applicable(outcomes)
        codes = cube.codes[marks]
        groups, g = distinct_rows(codes[:, columns])
        strata, z = distinct_rows(codes[:, conditions])
        # With no conditions, `distinct_rows` returns one stratum even if no cell is marked.
        strata = strata[: len(codes)]
        axes, sizes = (z[applies[marks]], g[applies[marks]]), (len(strata), len(groups))
        inside = _Selection.of(cube, outcomes, marks & applies, axes, sizes)
        places = (columns, conditions)
        return cls(cube, places, outcomes, groups, strata, inside)

    @property
    def group_keys(self) -> list[KeyColumn]:
        return [self.cube.keys[column] for column in self.columns[0]]

    @property
    def stratum_keys(self) -> list[KeyColumn]:
        return [self.cube.keys[column] for column in self.columns[1]]

    def count_outside(self, cube: Cube, marks: Marks) -> Ungrouped | None:
        """The marked people of `cube`, in no group of the table; None without such people."""
        columns, conditions = self.columns
        marks = marks & cube.mark_applicable(self.outcomes) & (cube.people > 0)
        marks &= np.all(cube.codes[:, conditions] != NO_LEVEL, axis=1)
        if not marks.any() or not len(self.strata):
            return None
        z = self.find_strata(cube.codes[marks][:, conditions])
        # A stratum without a known group is not part of this table.
        marks[marks] = z != NO_LEVEL
        groups, u = distinct_rows(cube.codes[marks][:, columns])
        if not len(groups):
            return None
        axes, sizes = (z[z != NO_LEVEL], u), (len(self.strata), len(groups))
        ungrouped = _Selection.of(cube, self.outcomes, marks, axes, sizes)
        people = ungrouped.add(cube.people)
        mass = ungrouped.add(cube.weight.values) if cube.weight else people
        return Ungrouped(name_groups(self.group_keys, groups), people, mass)

    def find_strata(self, codes: NDArray[np.int32]) -> Ints:
        """The index of the stratum of each row of `codes`; `NO_LEVEL` if it is not in the table."""
        _, index = distinct_rows(np.concatenate([self.strata, codes]))
        numbers = np.full(index.max() + 1, NO_LEVEL)
        numbers[index[: len(self.strata)]] = np.arange(len(self.strata))
        return np.asarray(numbers[index[len(self.strata) :]])

    def count_pairs(self, against: str | None) -> Pairs | None:
        """The counts by the classes of `against`; None if this outcome has no positive classes."""
        other = None if against is None else self.cube.outcome(against)
        positive = None if other is None else other.positive_classes(len(other.levels))
        marks = self.inside.marks
        if other is None or positive is None or not marks.any():
            return None
        (column,), classes = self.cube.places([other.name]), len(other.levels)
        # People without the second outcome have an unknown first outcome: this class has no effect.
        q = np.maximum(self.cube.codes[marks, column].astype(np.int64), 0)
        mass = (self.cube.weight.values if self.cube.weight else self.cube.people)[marks]
        size = int(np.prod(self.inside.shape)) * classes
        counts = add_up(mass, self.inside.place * classes + q, size)
        return Pairs(np.moveaxis(counts.reshape(*self.inside.shape, classes), -1, 3), positive)


__all__ = [
    "MOST_ATTRIBUTES",
    "MOST_COUNTS",
    "NOWHERE",
    "NO_COUNTERPART",
    "NO_LEVEL",
    "OUTSIDE",
    "UNKNOWN",
    "Amount",
    "AmountName",
    "ClusteredTable",
    "Clusters",
    "Cube",
    "ExcludeBelow",
    "ExcludedGroups",
    "Floats",
    "Group",
    "GroupTable",
    "Grouping",
    "Ints",
    "KeyColumn",
    "Marks",
    "Role",
    "RowTable",
    "Rows",
    "SampleStrata",
    "ShareOf",
    "Sum",
    "add_up",
    "distinct_rows",
    "every_subset",
    "find_excluded",
    "known_groups",
    "mark_weightless",
    "name_groups",
]

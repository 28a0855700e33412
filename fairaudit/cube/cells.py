"""`Cube`: people in every combination of levels: adding, rolling up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fairaudit.arrays import Floats, Grouping, Ints
from fairaudit.cube.amounts import Amount, AmountName, Clusters, Sum, add_up
from fairaudit.cube.cutting import cut_table, place_rows
from fairaudit.cube.group_table import GroupTable
from fairaudit.cube.keys import (
    MOST_ATTRIBUTES,
    NO_LEVEL,
    KeyColumn,
    Role,
    distinct_rows,
    every_subset,
)
from fairaudit.cube.rows import Rows, RowTable
from fairaudit.frozen import Frozen, field
from fairaudit.ledger import Ledger


class Cube(Frozen, eq=False, dict=True):
    """People (and rows, weights, amounts) in every combination of levels that occurs.

    `codes` is [C cells, K columns]; `NO_LEVEL` marks a value that takes no part. Two cubes are
    equal when they hold the same counts under the same names, whatever the order of their cells.
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

    @cached_property
    def _places(self) -> dict[str, int]:
        return {key.name: place for place, key in enumerate(self.keys)}

    @classmethod
    def gather(
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
    ) -> Cube:
        """A cube in canonical form: equal combinations joined, cells in ascending order.

        `cluster` numbers the cluster that the people of each given combination belong to.
        """
        cells, index = distinct_rows(codes)
        size = len(cells)

        def gather_counts(counts: Ints) -> Ints:
            return add_up(counts, index, size)

        def gather_sums(sums: Sum) -> Sum:
            return sums.gather_lowest(index, size)

        return cls(
            tuple(keys),
            cells,
            gather_counts(rows),
            gather_counts(people),
            ledger,
            weight and weight.gather(index, size),
            squares and squares.gather(index, size),
            {
                name: amount.transform(gather_counts, gather_sums)
                for name, amount in (amounts or {}).items()
            },
            None if cluster is None else Clusters.gather(index, cluster, _plain(people, weight)),
        )

    def with_unknown(self, people: int) -> Cube:
        """The cube with so many more people of whom no column is known; it must have no weights.

        Of what is added up they have nothing, and they are in no cluster.
        """
        nobody = np.full((1, len(self.keys)), NO_LEVEL, dtype=np.int32)
        return Cube.gather(
            self.keys,
            np.concatenate([self.codes, nobody]),
            np.append(self.rows, people),
            np.append(self.people, people),
            self.ledger,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cube) and self.tally() == other.tally()

    __hash__ = None  # type: ignore[assignment]  # arrays inside: equal cubes have no cheap hash

    def tally(self) -> dict[tuple[str | None, ...], tuple[int, ...]]:
        """Plain counts by level names: {levels: (rows, people, weight, scale, squares, …)}.

        What is added up comes last, by its name: people, and each sum with its scale.
        """
        tally = {}
        weights = [total for total in (self.weight, self.squares) if total is not None]
        amounts = [self.amounts[name] for name in sorted(self.amounts)]
        for cell, codes in enumerate(self.codes):
            levels = tuple(
                key.levels[code] if code >= 0 else None
                for key, code in zip(self.keys, codes, strict=True)
            )
            counts = [int(self.rows[cell]), int(self.people[cell])]
            for total in weights:
                counts += [int(total.values[cell]), total.scale]
            for amount in amounts:
                counts.append(int(amount.n[cell]))
                for total in amount.sums():
                    counts += [int(total.values[cell]), total.scale]
            tally[levels] = tuple(counts)
        return tally

    def key(self, name: str) -> KeyColumn:
        """The key column of that name."""
        return self.keys[self._places[name]]

    def places(self, names: Sequence[str]) -> list[int]:
        """The places of key columns among all of them."""
        return [self._places[name] for name in names]

    def outcome(self, name: str) -> KeyColumn | None:
        """The key column of an outcome, None where it has no classes."""
        key = self.key(name) if name in self._places else None
        return key if key is not None and key.role in {Role.LABEL, Role.PREDICTION} else None

    @property
    def has_few_subsets(self) -> bool:
        """Whether there are so few protected attributes that every subset can be audited."""
        return len(self.protected) <= MOST_ATTRIBUTES

    @property
    def protected(self) -> Grouping:
        """All protected attributes."""
        return tuple(key.name for key in self.keys if key.role is Role.PROTECTED)

    def subsets(self) -> list[Grouping]:
        """Every non-empty subset of the protected attributes, small ones first."""
        return every_subset(self.protected)

    def table(
        self, by: Grouping, given: Grouping, of: str, beside: str | None = None
    ) -> GroupTable:
        """The counts of one grouping in the strata of `given`, for the outcome `of`.

        Rows set aside in one of those columns are left out; groups nobody belongs to do not exist.
        With a second outcome `beside`, only those count who have both.
        """
        return cut_table(self, by, given, of, beside)

    def place_rows(self, table: GroupTable, rows: Rows, score: str | None) -> RowTable:
        """The people one by one at their places in a table of this cube."""
        return place_rows(self, table, rows, score)


def _plain(people: Ints, weight: Sum | None) -> Floats:
    """People, or what they weigh, as plain numbers."""
    if weight is None:
        return people.astype(np.float64)
    return weight.values.astype(np.float64) / weight.scale

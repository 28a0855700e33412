"""The counts: people by the intersections of the audited columns, and their roll-ups.

A `Cube` holds one row (a cell) for every combination that occurs. Everything in it is an integer,
so cubes add in any order to the same bits, and a coarser grouping is a sum of finer cells, never a
second scan. `Cube.table` cuts it down to what a metric reads: a `GroupTable`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from itertools import combinations
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairaudit.arrays import Floats, Group, Grouping, Ints, Marks
from fairaudit.histogram import Histogram
from fairaudit.ledger import Ledger
from fairaudit.memoize import memoize

AmountName: TypeAlias = tuple[str, str]
"""An outcome, and what is added up for it: `score`, `value`, `label`, `predicted`, `residual`."""

__all__ = [
    "MOST_ATTRIBUTES",
    "NO_LEVEL",
    "UNKNOWN",
    "Amount",
    "AmountName",
    "ClusteredTable",
    "Clusters",
    "Cube",
    "ExcludeBelow",
    "Excluded",
    "Floats",
    "Group",
    "GroupTable",
    "Grouping",
    "Ints",
    "KeyColumn",
    "LostGroup",
    "Marks",
    "Pairs",
    "Role",
    "ShareOf",
    "Sum",
    "Ungrouped",
    "distinct_rows",
    "every_subset",
]

NO_LEVEL = -1
"""The code of a row that takes no part where its column is used; for an outcome: not known."""

UNKNOWN = "(unknown)"
"""How the level of those whose protected value or stratum is not known is written."""

MOST_ATTRIBUTES = 12
"""Of more attributes than that not every subset is gone through: there are 4,095."""

_SAFE = 2**62


class Role(StrEnum):
    """What a column is to the audit."""

    PROTECTED = "protected"
    STRATUM = "stratum"
    LABEL = "label"
    PREDICTION = "prediction"


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """One axis of the cube: its levels, and what sets some of them apart.

    `unknown` holds the codes that stand for "not known": listed, never compared. `positive` holds
    the codes of an outcome's positive classes; None where the spec names none.
    """

    name: str
    role: Role
    levels: tuple[str, ...]
    unknown: frozenset[int] = frozenset()
    positive: frozenset[int] | None = None
    favourable: bool = True

    def united(self, other: KeyColumn) -> KeyColumn:
        """The same axis with the levels of both; ordered levels (bins) must agree already."""
        if self.levels == other.levels:
            levels = self.levels
        else:
            levels = tuple(sorted({*self.levels, *other.levels}))
        unknown = {UNKNOWN} if self.unknown or other.unknown else set()
        positive = None
        if self.positive is not None or other.positive is not None:
            named = {self.levels[code] for code in self.positive or ()}
            named |= {other.levels[code] for code in other.positive or ()}
            positive = _codes_of(named, levels)
        return replace(self, levels=levels, unknown=_codes_of(unknown, levels), positive=positive)


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum per cell in fixed point: the number meant is `values / scale`."""

    values: Ints
    scale: int = 1

    @classmethod
    def exact(cls, values: Sequence[int], scale: int) -> Sum:
        """The sums as Python's integers, for cells that are yet to be joined."""
        return cls(np.array(values, dtype=object), scale)

    @classmethod
    def reduced(cls, exact: Sequence[int], scale: int) -> Sum:
        """The sums in 64 bits, at the smallest power of ten that keeps them exact.

        Only where the total would pass 62 bits are last digits rounded away; where whole numbers
        pass them, such as squares of large weights, they stay Python's integers.
        """
        values = list(exact)
        while scale > 1 and all(value % 10 == 0 for value in values):
            values, scale = [value // 10 for value in values], scale // 10
        while scale > 1 and sum(values) >= _SAFE:
            values, scale = [(value + 5) // 10 for value in values], scale // 10
        fits = sum(values) < _SAFE
        return cls(np.array(values, dtype=np.int64 if fits else object), scale)

    @classmethod
    def lowest(cls, exact: Sequence[int], scale: int) -> Sum:
        """The sums in lowest terms: in 64 bits where they fit, else as Python's integers.

        So equal sums are equal, and nothing is ever rounded away.
        """
        common = math.gcd(scale, *exact)
        values = [value // common for value in exact]
        fits = sum(map(abs, values)) < _SAFE
        return cls(np.array(values, dtype=np.int64 if fits else object), scale // common)

    def plain(self) -> Ints | Floats:
        """The values as they are, or as floats where 64 bits do not hold them."""
        return self.values.astype(np.float64) if self.values.dtype == object else self.values

    def joined(self, other: Sum) -> Sum:
        """Both runs of cells, one after the other, at a common scale."""
        return Sum.reduced(*self._with(other))

    def followed_by(self, other: Sum) -> Sum:
        """The same, of sums in lowest terms."""
        return Sum.lowest(*self._with(other))

    def _with(self, other: Sum) -> tuple[list[int], int]:
        scale = math.lcm(self.scale, other.scale)
        values = [int(v) * (scale // self.scale) for v in self.values]
        return [*values, *(int(v) * (scale // other.scale) for v in other.values)], scale


@dataclass(frozen=True, slots=True, eq=False)
class Amount:
    """A number per cell: how many people have it, and the exact sums of it and of its square.

    `magnitude` is the sum of its absolute value, where that is asked. A product of two numbers has
    no squares: they are 0.
    """

    n: Ints
    total: Sum
    squares: Sum
    magnitude: Sum | None = None

    def changed(self, n: Callable[[Ints], Ints], sums: Callable[[Sum], Sum]) -> Amount:
        """The same of other cells: `n` changes counts, `sums` changes sums."""
        magnitude = self.magnitude and sums(self.magnitude)
        return Amount(n(self.n), sums(self.total), sums(self.squares), magnitude)

    def followed_by(self, other: Amount) -> Amount:
        """Both runs of cells, one after the other."""
        return Amount(
            np.concatenate([self.n, other.n]),
            self.total.followed_by(other.total),
            self.squares.followed_by(other.squares),
            self.magnitude and other.magnitude and self.magnitude.followed_by(other.magnitude),
        )

    def sums(self) -> tuple[Sum, ...]:
        """All sums there are."""
        found = (self.total, self.squares, self.magnitude)
        return tuple(one for one in found if one is not None)


class ShareOf(StrEnum):
    """Whose share a group is: of the people whose group is known, or of all people."""

    KNOWN = "known"
    ALL = "all"

    @property
    def words(self) -> str:
        """The people that the share is of."""
        return {"known": "the people whose group is known"}.get(
            self, "all people, those whose group is not known included"
        )


@dataclass(frozen=True, slots=True)
class ExcludeBelow:
    """Which groups are too small a share of the people to be compared, and by whose rule."""

    share: Fraction
    reason: str
    of: ShareOf = ShareOf.KNOWN


@dataclass(frozen=True, slots=True)
class Excluded:
    """The groups of one grouping that a rule excludes, with their people.

    `everybody` are the people that the share is of, as the rule says.
    """

    rule: ExcludeBelow
    people: Mapping[Group, int]
    everybody: int


@dataclass(frozen=True, slots=True, eq=False)
class Ungrouped:
    """Those whose group is not known and who are set aside: in no group, in no rest.

    `groups` [U] say what is known of them; `people` and `mass` are [Z, Y, P, U], as in the table.
    """

    groups: tuple[Group, ...]
    people: Ints
    mass: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """Which rows belong together: an entry [E] for each cluster that occurs in a cell.

    `cell` is its place in the cube, `code` the number of the cluster, of so many as `count` says,
    `mass` the people of the cluster in that cell, or their survey weight.
    """

    count: int
    cell: Ints
    code: Ints
    mass: Floats

    @classmethod
    def gather(cls, cell: Ints, code: Ints, mass: Floats) -> Clusters:
        """Entries in canonical form: each cluster once in a cell, in ascending order."""
        known, code = np.unique(code, return_inverse=True)
        size = max(len(known), 1)
        places, index = np.unique(cell * size + code, return_inverse=True)
        found = np.bincount(index, mass, minlength=len(places)).astype(np.float64)
        return cls(len(known), places // size, places % size, found)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class ClusteredTable:
    """The clusters of a table: `place` [C] is where each cell of the cube stands in it, or -1.

    The table has the shape [Z, Y, P, G]; `kept` [Y] marks the label classes that count.
    """

    clusters: Clusters
    place: Ints
    shape: tuple[int, int, int, int]
    kept: Marks | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """The same people by two outcomes: `mass` is [Z, Y, P, Q, G], Q the classes of the other.

    `positive` [Q] marks its positive classes; of either outcome all are known.
    """

    mass: Ints
    positive: Marks


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class GroupTable:
    """The counts of one grouping, stratified: what every metric reads.

    `people` and `mass` have the axes [Z strata, Y label classes, P audited classes, G groups]; the
    last class of Y and of P is "not known". `mass` is what rates are made of: people, or survey
    weights in fixed point; `squares` (Σ count · weight², same axes, as floats) gives the effective
    size of a weighted sample, and is None without weights. Where `of` has no classes, P is "not
    known" alone. `amounts` (same axes) are of what is added up for `of`; `histogram` is that of its
    score, by the same strata and groups, where a metric asks for it. `excluded` groups are counted
    among everybody, and never compared. `ungrouped` are those whom `missing: {protected: aside}`
    leaves out of this grouping. `pairs` counts the same people by the outcome beside this one, too.
    `clusters` are those that the rows belong to, where the spec names them.
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
    excluded: Excluded | None = None
    ungrouped: Ungrouped | None = None
    pairs: Pairs | None = None
    clusters: ClusteredTable | None = None

    @property
    def eligible(self) -> Marks:
        """Which groups may be compared at all, [G]: those that are known and not excluded."""
        return _eligible(self)

    @property
    def n(self) -> Ints:
        """People per stratum and group, [Z, G]."""
        return _people_of(self)


@memoize
def _people_of(table: GroupTable) -> Ints:
    return np.asarray(table.people.sum(axis=(1, 2)))


@memoize
def _eligible(table: GroupTable) -> Marks:
    if table.excluded is None:
        return table.known
    kept = [group not in table.excluded.people for group in table.groups]
    return table.known & np.array(kept, dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class LostGroup:
    """A group of the data all of whose rows leave the audit: in all strata, or in the named one.

    Without a group it is a stratum of which nobody is left. `share` is what the group had of the
    people whose group is known.
    """

    group: Group
    stratum: Group
    people: int
    share: float
    why: str

    def is_set_aside(self, least: int | None, rule: ExcludeBelow | None) -> bool:
        """Whether a spec would set such a group aside in any case, as too small."""
        is_small = least is not None and self.people < least
        return is_small or (rule is not None and self.share < rule.share)


@dataclass(frozen=True, slots=True, eq=False)
class Cube:
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
    _names: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_names", {key.name: at for at, key in enumerate(self.keys)})

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

        def joined(one: Sum | None) -> Sum | None:
            return one and Sum.reduced(_add_up(one.values, index, size).tolist(), one.scale)

        def lowest(one: Sum) -> Sum:
            values = _add_up(one.values.astype(object), index, size)
            return Sum.lowest(values.tolist(), one.scale)

        def counted(n: Ints) -> Ints:
            return _add_up(n, index, size)

        return cls(
            tuple(keys),
            cells,
            _add_up(rows, index, size),
            _add_up(people, index, size),
            ledger,
            joined(weight),
            joined(squares),
            {name: one.changed(counted, lowest) for name, one in (amounts or {}).items()},
            None if cluster is None else Clusters.gather(index, cluster, _plain(people, weight)),
        )

    def __add__(self, other: Cube) -> Cube:
        if self.clusters is not None or other.clusters is not None:
            raise ValueError("clusters are numbered by cube: count the files of both together")
        if self._terms() != other._terms():
            raise ValueError("cubes of different columns cannot be added")
        keys = [mine.united(theirs) for mine, theirs in zip(self.keys, other.keys, strict=True)]
        return Cube.gather(
            keys,
            np.concatenate([_recoded(self, keys), _recoded(other, keys)]),
            np.concatenate([self.rows, other.rows]),
            np.concatenate([self.people, other.people]),
            self.ledger + other.ledger,
            self.weight and other.weight and self.weight.joined(other.weight),
            self.squares and other.squares and self.squares.joined(other.squares),
            {name: one.followed_by(other.amounts[name]) for name, one in self.amounts.items()},
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cube) and self.tally() == other.tally()

    __hash__ = None  # type: ignore[assignment]  # arrays inside: equal cubes have no cheap hash

    def _terms(self) -> tuple[object, ...]:
        """What cubes that can be added have in common."""
        return [(key.name, key.role) for key in self.keys], self.amounts.keys()

    def tally(self) -> dict[tuple[str | None, ...], tuple[int, ...]]:
        """Plain counts by level names: {levels: (rows, people, weight, scale, squares, …)}.

        What is added up comes last, by its name: people, and each sum with its scale.
        """
        counted = {}
        amounts = [self.amounts[name] for name in sorted(self.amounts)]
        for at, codes in enumerate(self.codes):
            levels = tuple(
                key.levels[code] if code >= 0 else None
                for key, code in zip(self.keys, codes, strict=True)
            )
            weights = tuple(
                number for one in (self.weight, self.squares) if one is not None
                for number in (int(one.values[at]), one.scale)
            )  # fmt: skip
            added = tuple(
                number for amount in amounts
                for number in (
                    int(amount.n[at]),
                    *(part for one in amount.sums() for part in (int(one.values[at]), one.scale)),
                )
            )  # fmt: skip
            counted[levels] = (int(self.rows[at]), int(self.people[at]), *weights, *added)
        return counted

    def key(self, name: str) -> KeyColumn:
        """The axis of that name."""
        return self.keys[self._names[name]]

    def outcome(self, of: str) -> KeyColumn | None:
        """The axis of an outcome, None where it has no classes."""
        key = self.key(of) if of in self._names else None
        return key if key is not None and key.role in {Role.LABEL, Role.PREDICTION} else None

    @property
    def has_few_subsets(self) -> bool:
        """Whether there are so few protected attributes that every subset can be gone through."""
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
        With an outcome `beside`, only those count who have both.
        """
        both = (of, beside) if beside is not None else ()
        chosen = [self._names[name] for name in (*by, *given)]
        known = [self._names[name] for name in both if self.outcome(name) is not None]
        within = np.all(self.codes[:, [*chosen, *known]] != NO_LEVEL, axis=1) & (self.people > 0)
        codes = self.codes[within]
        groups, g = distinct_rows(codes[:, chosen[: len(by)]])
        strata, z = distinct_rows(codes[:, chosen[len(by) :]])
        # Where nobody is known in these columns there is no stratum either.
        strata = strata[: len(codes)]
        label, y = self._classes("label", codes)
        audited, p = self._classes(of, codes)
        shape = (
            len(strata),
            len(label.levels) + 1 if label else 1,
            len(audited.levels) + 1 if audited else 1,
            len(groups),
        )
        at = np.ravel_multi_index((z, y, p, g), shape) if len(codes) else g
        flat = int(np.prod(shape))

        def dense(values: Ints) -> Ints:
            return _add_up(values[within], at, flat).reshape(shape)

        def summed(one: Sum) -> Sum:
            return Sum(dense(one.values), one.scale)

        people = dense(self.people)
        mass = dense(self.weight.values) if self.weight else people
        each = (self.weight.values if self.weight else self.people)[within]
        return GroupTable(
            by=by,
            given=given,
            of=of,
            groups=self._named(by, groups),
            strata=self._named(given, strata),
            labels=label.levels if label else (),
            classes=audited.levels if audited else (),
            positive_label=_marks(label, shape[1]) if label else None,
            positive=_marks(audited, shape[2]) if audited else None,
            favourable=audited.favourable if audited else True,
            people=people,
            mass=mass,
            scale=self.weight.scale if self.weight else 1,
            squares=summed(self.squares).plain() / self.squares.scale if self.squares else None,
            known=self._known(by, groups),
            known_strata=self._known(given, strata),
            amounts={
                name: one.changed(dense, summed)
                for (outcome, name), one in self.amounts.items() if outcome == of
            },
            ungrouped=self._aside((by, given, of), known, strata, shape),
            pairs=self._pairs(beside, codes, at, shape, each),
            clusters=self._clustered(within, at, shape),
        )  # fmt: skip

    def excluded(self, by: Grouping, rule: ExcludeBelow) -> Excluded:
        """The groups that are less than a share of the people in a grouping.

        Of those with known levels, or of everybody, as the rule says; whatever their stratum and
        outcome. Survey weights do not count.
        """
        chosen = [self._names[name] for name in by]
        within = np.all(self.codes[:, chosen] != NO_LEVEL, axis=1) & (self.people > 0)
        levels, g = distinct_rows(self.codes[within][:, chosen])
        known = self._known(by, levels)
        people = _add_up(self.people[within], g, len(levels))
        of_all = rule.of is ShareOf.ALL
        everybody = int(self.people.sum() if of_all else people[known].sum())
        found = zip(self._named(by, levels), people.tolist(), known.tolist(), strict=True)
        small = {
            group: n for group, n, is_known in found if is_known and n < rule.share * everybody
        }
        return Excluded(rule, small, everybody)

    def _aside(
        self,
        asked: tuple[Grouping, Grouping, str],
        both: Sequence[int],
        strata: NDArray[np.int32],
        shape: tuple[int, ...],
    ) -> Ungrouped | None:
        """Those of the strata who lack a value of `by`; `both` are columns they must not lack."""
        by, given, of = asked
        columns, conditions = ([self._names[name] for name in names] for names in (by, given))
        lacking = np.any(self.codes[:, columns] == NO_LEVEL, axis=1) & (self.people > 0)
        lacking &= np.all(self.codes[:, [*conditions, *both]] != NO_LEVEL, axis=1)
        if not lacking.any() or not len(strata):
            return None
        _, index = distinct_rows(np.concatenate([strata, self.codes[lacking][:, conditions]]))
        place = np.full(index.max() + 1, NO_LEVEL)
        place[index[: len(strata)]] = np.arange(len(strata))
        z = place[index[len(strata) :]]
        # A stratum where no group is known is none of this table's.
        lacking[lacking] = z != NO_LEVEL
        codes = self.codes[lacking]
        groups, u = distinct_rows(codes[:, columns])
        _, y = self._classes("label", codes)
        _, p = self._classes(of, codes)
        shape = (*shape[:3], len(groups))
        at = np.ravel_multi_index((z[z != NO_LEVEL], y, p, u), shape)

        def dense(values: Ints) -> Ints:
            return _add_up(values[lacking], at, int(np.prod(shape))).reshape(shape)

        people = dense(self.people)
        mass = dense(self.weight.values) if self.weight else people
        return Ungrouped(self._named(by, groups), people, mass) if len(groups) else None

    def _pairs(
        self,
        beside: str | None,
        codes: NDArray[np.int32],
        at: Ints,
        shape: tuple[int, ...],
        mass: Ints,
    ) -> Pairs | None:
        """The cells of a table by the classes of the outcome beside it, where that has some."""
        other = None if beside is None else self.outcome(beside)
        positive = None if other is None else _marks(other, len(other.levels))
        if other is None or positive is None or beside is None or not len(codes):
            return None
        q, size = codes[:, self._names[beside]].astype(np.int64), len(other.levels)
        flat = _add_up(mass, at * size + q, int(np.prod(shape)) * size)
        return Pairs(np.moveaxis(flat.reshape(*shape, size), -1, 3), positive)

    def _clustered(
        self, within: Marks, at: Ints, shape: tuple[int, int, int, int]
    ) -> ClusteredTable | None:
        """The clusters of a table, by where the cells that are in it stand."""
        if self.clusters is None:
            return None
        place = np.full(len(self.codes), -1, dtype=np.int64)
        place[within] = at
        return ClusteredTable(self.clusters, place, shape)

    def _classes(self, of: str, codes: NDArray[np.int32]) -> tuple[KeyColumn | None, Ints]:
        key = self.outcome(of)
        if key is None:
            return None, np.zeros(len(codes), dtype=np.int64)
        return key, _slots(codes[:, self._names[of]], len(key.levels))

    def _named(self, names: Grouping, codes: NDArray[np.int32]) -> tuple[Group, ...]:
        if not names:
            return ((),) * len(codes)
        columns = []
        for at, name in enumerate(names):
            pairs = [(name, level) for level in (*self.key(name).levels, UNKNOWN)]
            # `NO_LEVEL` is the last of them.
            columns.append([pairs[code] for code in codes[:, at].tolist()])
        return tuple(zip(*columns, strict=True))

    def _known(self, names: Grouping, codes: NDArray[np.int32]) -> Marks:
        known = np.ones(len(codes), dtype=np.bool_)
        for at, name in enumerate(names):
            known &= ~np.isin(codes[:, at], list(self.key(name).unknown))
        return known


def every_subset(names: Sequence[str]) -> list[Grouping]:
    """Every non-empty subset of the names, small ones first, each in the order given."""
    sizes = range(1, len(names) + 1)
    return [subset for size in sizes for subset in combinations(names, size)]


def distinct_rows(codes: NDArray[np.int32]) -> tuple[NDArray[np.int32], Ints]:
    """The distinct rows of `codes` in ascending order, and for each row its number among them."""
    if not codes.shape[1]:
        return np.zeros((1, 0), dtype=np.int32), np.zeros(len(codes), dtype=np.int64)
    if not len(codes):
        return codes, np.zeros(0, dtype=np.int64)
    spans = codes.max(axis=0).astype(np.int64) + 2
    if float(np.prod(spans.astype(np.float64))) < _SAFE:
        radix = np.concatenate([[1], np.cumprod(spans[:0:-1])])[::-1]
        _, first, index = np.unique((codes + 1) @ radix, return_index=True, return_inverse=True)
        return codes[first], index
    cells, index = np.unique(codes, axis=0, return_inverse=True)
    return cells, index.reshape(-1)


def _add_up(values: Ints, index: Ints, size: int) -> Ints:
    """Sums by index in 64-bit integers (`bincount` would go through floats)."""
    total = np.zeros(size, dtype=values.dtype)
    np.add.at(total, index, values)
    return total


def _plain(people: Ints, weight: Sum | None) -> Floats:
    """People, or what they weigh, as plain numbers."""
    if weight is None:
        return people.astype(np.float64)
    return weight.values.astype(np.float64) / weight.scale


def _slots(codes: NDArray[np.int32], size: int) -> Ints:
    return np.where(codes == NO_LEVEL, size, codes).astype(np.int64)


def _marks(key: KeyColumn, size: int) -> Marks | None:
    if key.positive is None:
        return None
    return np.isin(np.arange(size), list(key.positive))


def _codes_of(names: set[str], levels: Sequence[str]) -> frozenset[int]:
    return frozenset(code for code, level in enumerate(levels) if level in names)


def _recoded(cube: Cube, keys: Sequence[KeyColumn]) -> NDArray[np.int32]:
    columns = []
    for at, (old, new) in enumerate(zip(cube.keys, keys, strict=True)):
        place = {level: code for code, level in enumerate(new.levels)}
        lookup = np.array([*(place[level] for level in old.levels), NO_LEVEL], dtype=np.int32)
        columns.append(lookup[cube.codes[:, at]])
    return np.stack(columns, axis=1) if columns else cube.codes

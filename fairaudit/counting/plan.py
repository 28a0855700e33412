"""`Plan`: the columns and counts that one pass over the data must produce; joint plans; limits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from operator import attrgetter
from typing import TypeAlias

from fairaudit.base.frozen import Frozen, field, replace
from fairaudit.counting.columns import (
    CountColumns,
    CsvFormat,
    Cut,
    Derivation,
    MaskedCount,
    Quantile,
    Repeats,
    SimilarityColumns,
)
from fairaudit.counting.strata_models import FittedStrata

MISSING = -1
"""The code of a missing number in a column of numbers that are cut into intervals."""

MASKED = -2
"""The code in `Counts.kept` for people who may exist, because a text such as `<5` hides a count."""

MOST_CELLS = 10_000_000
"""Maximum number of combinations of levels that a pass may count."""

MOST_TABLED = 2**24
"""Maximum total number of cells in extra tables: 128 MB of counts in each thread."""

MOST_LEVELS = 10_000
"""Maximum number of levels of a column that describes groups of people."""


class Edge(Frozen, order=True):
    """An edge between bins of numbers: x passes the edge if x ≥ value; with `beyond`, x > value."""

    value: Decimal
    beyond: bool = False


class Key(Frozen):
    """A column by which people are counted: by texts, or by intervals of numbers.

    `edges` are the ends of the intervals; None for texts. The code of an interval is the number of
    edges that its numbers pass.
    """

    column: str
    edges: tuple[Edge, ...] | None = None

    @property
    def is_cut(self) -> bool:
        """Whether the column has numbers that are cut into intervals."""
        return self.edges is not None


SumName: TypeAlias = tuple[str, ...]
"""A number to add up: `("sum", "x")`, `("product", "x", "y")` or `("distance", "x", "y")`."""


class CellSums(Frozen):
    """The sums that each cell needs, in ascending order.

    The square of a column is its product with itself. Each column with a sum also has its square.
    """

    sums: tuple[SumName, ...] = ()

    def __add__(self, other: CellSums) -> CellSums:
        return CellSums(tuple(sorted({*self.sums, *other.sums})))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of all sums."""
        return tuple(dict.fromkeys(column for _, *columns in self.sums for column in columns))


NO_SUMS = CellSums()


class RowPlan(Frozen):
    """The columns that are kept for each person: features that define similarity, and scores.

    If there are more than `most` people, a sample of the people is kept.
    """

    similarity: SimilarityColumns
    scores: tuple[str, ...] = ()
    most: int | None = None


class Plan(Frozen):
    """Everything that one pass over the data must count.

    `keys` are the columns whose combinations of levels are the cells. `columns` are all columns
    that the pass reads, except filter columns. `tokens` are texts that mean missing in every
    column; `unknown` are additional words that mean missing in a column of numbers. Each level of a
    column in `capped` is a group, so the column may have at most `MOST_LEVELS` levels. `scores` are
    the groups of keys by which each score gets a histogram. `adding` are the sums of each cell.
    `tables` are extra tables that count people by a few keys each; in `keys`, these keys would make
    too many cells. `cluster` is the column of clusters (rows that belong together), `sample_strata`
    the column of the strata from which the clusters were drawn. `medians` are the scores that need
    an exact median. `cuts` are the values of the quantiles that the spec names. `models` are the
    fitted models of strata, by the column that each model makes. `rows` are the columns that
    are kept for each person, `derived` the columns that are computed from other columns, and
    `counts` the columns of counts, one for each level of an outcome. `masked` are the texts that
    hide a count. `repeats` says which row of a person with several rows is counted. `groups` are
    the protected columns of texts, for notices on repeated rows.
    """

    keys: tuple[Key, ...]
    columns: tuple[str, ...]
    tokens: tuple[str, ...]
    format: CsvFormat
    count: str | None = None
    weight: str | None = None
    filter: str | None = None
    unknown: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    capped: tuple[str, ...] = ()
    scores: Mapping[str, tuple[tuple[Key, ...], ...]] = field(default_factory=dict)
    adding: CellSums = NO_SUMS
    tables: tuple[tuple[Key, ...], ...] = ()
    cluster: str | None = None
    sample_strata: str | None = None
    medians: tuple[str, ...] = ()
    cuts: Mapping[Quantile, Cut] = field(default_factory=dict)
    models: Mapping[str, FittedStrata] = field(default_factory=dict)
    rows: RowPlan | None = None
    derived: tuple[Derivation, ...] = ()
    counts: CountColumns | None = None
    masked: tuple[MaskedCount, ...] = ()
    repeats: Repeats | None = None
    groups: tuple[str, ...] = ()

    @property
    def is_derived(self) -> bool:
        """Whether the plan uses columns that must be computed from the columns in the files."""
        return bool(self.derived or self.masked) or self.counts is not None

    @property
    def is_table(self) -> bool:
        """Whether the data is a table of counts: a row may represent several people."""
        return self.count is not None or self.counts is not None

    @property
    def counts_per_row(self) -> int:
        """The number of counts in a row of the data."""
        return 1 if self.counts is None else len(self.counts.names)

    @property
    def table_keys(self) -> tuple[Key, ...]:
        """The keys of all extra tables, each once."""
        return tuple(dict.fromkeys(key for table in self.tables for key in table))

    @property
    def every_key(self) -> tuple[Key, ...]:
        """The keys of the cells, then the keys that are only in extra tables."""
        return tuple(dict.fromkeys((*self.keys, *self.table_keys)))

    def missing_words(self, column: str) -> tuple[str, ...]:
        """The words that mean missing in a column that is read as a number."""
        # If 99 is a token, a computed age of 99 is still an age.
        is_derived = any(column == derivation.name for derivation in self.derived)
        return "", *(() if is_derived else self.tokens), *self.unknown.get(column, ())

    def missing_numbers(self, column: str) -> list[float]:
        """The numbers that mean missing in a column, such as -999."""
        return [float(word) for word in self.missing_words(column) if is_finite_number(word)]

    @property
    def measures_may_be_missing(self) -> bool:
        """Whether a number in the column of weights or counts may mean missing, such as -999."""
        measures = (name for name in (self.weight, self.count) if name is not None)
        return any(map(self.missing_numbers, measures))

    def covers(self, other: Plan) -> bool:
        """Whether the counts for this plan contain all counts that another plan asks for."""
        own, asked = self.counted(), other.counted()

        def has_key(key: Key) -> bool:
            """Whether this plan has the key, or a key of the column with more edges."""
            if key.edges is None:
                return key in own.keys
            same_words = own.unknown.get(key.column, ()) == asked.unknown.get(key.column, ())
            edges = [known.edges for known in own.keys if known.column == key.column]
            return same_words and any(
                known is not None and {*key.edges} <= {*known} for known in edges
            )

        def has_grouping(column: str, keys: Iterable[Key]) -> bool:
            """Whether a score has a histogram by at least the columns of these keys."""
            needed = {(key.column, key.is_cut) for key in keys}
            return any(
                needed <= {(key.column, key.is_cut) for key in grouping}
                for grouping in own.scores.get(column, ())
            )

        return (
            _population(own) == _population(asked)
            and {*asked.derived} <= {*own.derived}
            and all(map(has_key, asked.keys))
            and asked.scores.keys() <= own.scores.keys()
            and all(
                has_grouping(column, keys)
                for column, groupings in asked.scores.items()
                for keys in groupings
            )
            and own.adding + asked.adding == own.adding
            and {*asked.tables} <= {*own.tables}
        )

    def counted(self) -> Plan:
        """The plan without the fields that do not change the counts, such as the file format."""
        return replace(self, columns=(), capped=(), groups=(), format=_ANY_FORMAT)

    def find_key(self, column: str, *, is_cut: bool) -> int:
        """The index in `keys` of the key that has a column as texts, or (`is_cut`) as intervals."""
        return [(key.column, key.is_cut) for key in self.keys].index((column, is_cut))


_ANY_FORMAT = CsvFormat(separator=",", decimal=".", encoding="utf-8", multiline=False)


def merge_plans(plans: Sequence[Plan]) -> Plan | None:
    """A joint plan with the counts for all plans; None if the plans cannot share a pass.

    The cells of the joint plan may be finer than a plan needs; recoding adds the cells up.
    """
    first = plans[0]
    keys: dict[str, None] = {}
    edges: dict[str, set[Edge]] = {}
    unknown: dict[str, tuple[str, ...]] = {}
    adding = NO_SUMS
    for plan in plans:
        # Derived columns, scores and extra tables are not merged: they must be the same.
        is_other = any(get(plan) != get(first) for get in (_population, _unmerged))
        is_other |= first.repeats is not None and plan.groups != first.groups  # for its notices
        if is_other or ((first.scores or first.tables) and plan.keys != first.keys):
            return None
        adding += plan.adding
        for key in plan.keys:
            if key.edges is None:
                keys.setdefault(key.column)
                continue
            words = plan.unknown.get(key.column, ())
            if unknown.setdefault(key.column, words) != words:
                return None
            edges.setdefault(key.column, set()).update(key.edges)
    return replace(
        first,
        keys=unite_keys(keys, edges),
        unknown=unknown,
        capped=tuple(dict.fromkeys(column for plan in plans for column in plan.capped)),
        adding=adding,
        medians=tuple(dict.fromkeys(column for plan in plans for column in plan.medians)),
        cuts={quantile: cut for plan in plans for quantile, cut in plan.cuts.items()},
    )


_population = attrgetter(
    "tokens", "format", "count", "weight", "filter", "cluster", "sample_strata", "rows", "models",
    "counts", "masked", "repeats",
)  # fmt: skip
"""The fields of a plan that decide which rows and people are counted, and how."""

_unmerged = attrgetter("derived", "scores", "tables")


def unite_keys(texts: Iterable[str], cuts: Mapping[str, Iterable[Edge]]) -> tuple[Key, ...]:
    """The keys of columns of texts, then the keys of columns cut into intervals at their edges."""
    return (
        *(Key(column) for column in texts),
        *(Key(column, tuple(sorted(edges))) for column, edges in cuts.items()),
    )


def is_finite_number(word: str) -> bool:
    """Whether a text is a finite number in Python's notation."""
    try:
        return math.isfinite(float(word))
    except ValueError:
        return False

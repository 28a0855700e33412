"""`Plan`: what a pass must count; joining plans of several specs; the most cells and levels."""

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
"""The code of a missing number (in `RawKey.codes` of a cut column)."""

MASKED = -2
"""Of `Counts.kept`: people who may exist, because a text such as `<5` hides a count."""

MOST_CELLS = 10_000_000
"""Most combinations of levels that a pass may count."""


MOST_TABLED = 2**24
"""Maximum total number of cells in extra tables: 128 MB of counts in each thread."""


MOST_LEVELS = 10_000
"""Most levels of a column; with more it does not describe groups of people."""


class Edge(Frozen, order=True):
    """A cut on a number: it counts for x ≥ value, or, where `beyond`, for x > value."""

    value: Decimal
    beyond: bool = False


class Key(Frozen):
    """A column to count by: as text, or cut at the union of all edges the spec declares on it.

    The code of a cut number is how many of the ascending edges it has passed.
    """

    column: str
    edges: tuple[Edge, ...] | None = None

    @property
    def is_cut(self) -> bool:
        """Whether its column is read as a number."""
        return self.edges is not None


SumName: TypeAlias = tuple[str, ...]
"""A sum: its kind, by which the engine adds, and its columns."""


class Adding(Frozen):
    """The sums of each cell, in ascending order: `("sum", "x")`, `("product", "x", "y")`.

    The square of a column is its product with itself; every column has its square.
    """

    sums: tuple[SumName, ...] = ()

    def __add__(self, other: Adding) -> Adding:
        return Adding(tuple(sorted({*self.sums, *other.sums})))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that they are made of."""
        return tuple(dict.fromkeys(column for _, *columns in self.sums for column in columns))


NOTHING_ADDED = Adding()


class RowPlan(Frozen):
    """The columns that are read of people one by one: those that make them similar, and scores.

    If there are more than `most` people, a sample is read.
    """

    similarity: SimilarityColumns
    scores: tuple[str, ...] = ()
    most: int | None = None


class Plan(Frozen):
    """Everything one pass must count.

    `columns` are all columns that it reads, except those of the filter.
    `unknown` holds the words that mean missing in a column that is read as a number, in addition to
    the `tokens`, which mean missing in every column. Each level of a column in `capped` would be a
    group, so it may have at most `MOST_LEVELS`. `scores` are the keys by which each score gets
    histograms. `tables` are extra tables that count people by a few keys each, which need not be
    among `keys`: as keys of the cells they would make too many cells. `cluster` is the key of rows
    that belong together, `sample_strata` the key of the strata that they were drawn from.
    `medians` are the scores that need an exact median. `cuts` are the quantiles that were found
    for the plan, if the spec names some, `models` the models that give rows a stratum, by its name.
    `rows` are the columns that are read of people one by one, `derived` the columns that are made
    of others, and `counts` columns of counts, a column for each level of an outcome. `masked` are
    the texts that hide a count. `repeats` chooses the row that counts of a person with several.
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
    adding: Adding = NOTHING_ADDED
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

    @property
    def is_derived(self) -> bool:
        """Whether it counts by columns that no file holds."""
        return bool(self.derived or self.masked) or self.counts is not None

    @property
    def is_table(self) -> bool:
        """Whether a row of the data stands for several people: it is a table of counts."""
        return self.count is not None or self.counts is not None

    @property
    def rows_of_each(self) -> int:
        """How many rows a row of the data stands for: one for each count in it."""
        return 1 if self.counts is None else len(self.counts.names)

    @property
    def table_keys(self) -> tuple[Key, ...]:
        """The keys of all extra tables."""
        return tuple(dict.fromkeys(key for table in self.tables for key in table))

    @property
    def every_key(self) -> tuple[Key, ...]:
        """The keys of the cells, and then the keys that only extra tables have."""
        return tuple(dict.fromkeys((*self.keys, *self.table_keys)))

    def missing_words(self, column: str) -> tuple[str, ...]:
        """The words that mean missing in a column that is read as a number."""
        # The tokens are stored values: an age of 99, made of dates, does not mean missing.
        is_derived = any(column == derivation.name for derivation in self.derived)
        return "", *(() if is_derived else self.tokens), *self.unknown.get(column, ())

    def missing_numbers(self, column: str) -> list[float]:
        """Those of them that are numbers themselves, such as -999."""
        return [float(word) for word in self.missing_words(column) if is_finite_number(word)]

    @property
    def measures_may_be_missing(self) -> bool:
        """Whether some weights, or counts of people, may be a number that means missing."""
        measures = (name for name in (self.weight, self.count) if name is not None)
        return any(map(self.missing_numbers, measures))

    def covers(self, other: Plan) -> bool:
        """Whether the counts for this plan hold all that another one asks."""
        own, asked = self.counted(), other.counted()
        scores = all(
            column in own.scores and all(_has_grouping(own, column, keys) for keys in groupings)
            for column, groupings in asked.scores.items()
        )
        adding = own.adding + asked.adding == own.adding
        return (
            _terms(own) == _terms(asked)
            and {*asked.derived} <= {*own.derived}
            and all(_has_key(own, key, asked) for key in asked.keys)
            and scores
            and adding
            and {*asked.tables} <= {*own.tables}
        )

    def counts_like(self, other: Plan) -> bool:
        """Whether another plan counts the same."""
        return self.counted() == other.counted()

    def counted(self) -> Plan:
        """The counted columns and sums, without places in the spec and the notation of the data."""
        return replace(self, columns=(), capped=(), format=_ANY_FORMAT)

    def find_key(self, column: str, *, is_cut: bool) -> int:
        """The number of the key that holds a column as text, or cut at edges."""
        return [(key.column, key.is_cut) for key in self.keys].index((column, is_cut))


_ANY_FORMAT = CsvFormat(separator=",", decimal=".", encoding="utf-8", multiline=False)


def united(plans: Sequence[Plan]) -> Plan | None:
    """One plan that counts for all of them; None where they cannot share a pass.

    Its cells are finer than each of them asks: recoding rolls them up.
    """
    first = plans[0]
    keys: dict[str, None] = {}
    edges: dict[str, set[Edge]] = {}
    unknown: dict[str, tuple[str, ...]] = {}
    adding = NOTHING_ADDED
    for single in plans:
        has_other_terms = _terms(single) != _terms(first) or single.derived != first.derived
        # Extra tables and scores are shared unchanged: their keys are not united.
        has_other_scores = (single.scores, single.tables) != (first.scores, first.tables)
        has_other_keys = (first.scores or first.tables) and single.keys != first.keys
        if has_other_terms or has_other_scores or has_other_keys:
            return None
        adding += single.adding
        for key in single.keys:
            if key.edges is None:
                keys.setdefault(key.column)
                continue
            words = single.unknown.get(key.column, ())
            if unknown.setdefault(key.column, words) != words:
                return None
            edges.setdefault(key.column, set()).update(key.edges)
    capped = dict.fromkeys(column for single in plans for column in single.capped)
    medians = tuple(dict.fromkeys(column for plan in plans for column in plan.medians))
    return replace(
        first,
        keys=unite_keys(keys, edges),
        unknown=unknown,
        capped=tuple(capped),
        adding=adding,
        medians=medians,
        cuts={quantile: cut for plan in plans for quantile, cut in plan.cuts.items()},
    )


def _has_grouping(plan: Plan, column: str, keys: Iterable[Key]) -> bool:
    """Whether one of a score's histograms is by all these columns."""
    needed = {(key.column, key.is_cut) for key in keys}
    groupings = plan.scores[column]
    return any(needed <= {(key.column, key.is_cut) for key in grouping} for grouping in groupings)


def _has_key(plan: Plan, key: Key, of: Plan) -> bool:
    """Whether a key of another plan, or a finer one, is among the keys."""
    if key.edges is None:
        return key in plan.keys
    same_words = plan.unknown.get(key.column, ()) == of.unknown.get(key.column, ())
    edges = [own.edges for own in plan.keys if own.column == key.column]
    return same_words and any(own is not None and {*key.edges} <= {*own} for own in edges)


_terms = attrgetter(
    "tokens", "format", "count", "weight", "filter", "cluster", "sample_strata", "rows", "models",
    "counts", "masked", "repeats",
)  # fmt: skip
"""What decides who is counted, and as what."""


def unite_keys(texts: Iterable[str], cuts: Mapping[str, Iterable[Edge]]) -> tuple[Key, ...]:
    """The keys of columns as texts, and of those that are cut at all of their edges."""
    return (
        *(Key(column) for column in texts),
        *(Key(column, tuple(sorted(edges))) for column, edges in cuts.items()),
    )


def is_finite_number(word: str) -> bool:
    """Whether a word, such as a word that means missing, is a number."""
    try:
        return math.isfinite(float(word))
    except ValueError:
        return False

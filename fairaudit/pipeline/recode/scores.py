"""Histograms of scores and numbers with notices; extra cubes for subgroups; described features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import getitem

import numpy as np
from numpy.typing import NDArray

from fairaudit.base.arrays import Floats
from fairaudit.base.disclosure_marks import Notice, Subjects
from fairaudit.base.errors import DataError, Seek
from fairaudit.base.frozen import Frozen, replace
from fairaudit.base.ledger import Ledger
from fairaudit.base.names import quoted
from fairaudit.counting.counts import Counts
from fairaudit.counting.plan import Key
from fairaudit.counting.raw_counts import RawHistogram, RawKey, RawScores, RawTable
from fairaudit.cube import (
    NO_LEVEL,
    Cube,
    Group,
    Grouping,
    GroupTable,
    Ints,
    KeyColumn,
    Marks,
    Role,
    distinct_rows,
)
from fairaudit.cube.histogram import TOO_LARGE, TOO_SMALL, Histogram, Moments
from fairaudit.pipeline.plan_builder import SENTINELS, described_key, feature_key
from fairaudit.pipeline.recode.columns import DROP, Axis, Problems
from fairaudit.pipeline.recode.groups import group_axis
from fairaudit.pipeline.recode.outcomes import notice_per_cent
from fairaudit.spec import MissingPolicy, Outcome, Protected, Spec

_NEGATIVE, _POSITIVE, _NOT_KNOWN = range(3)
_FEW_SCORES = 3

Codes = NDArray[np.int32]


class Recoding(Frozen, eq=False):
    """A lookup from the codes of a raw key to the codes of an audited column."""

    key: KeyColumn
    raw: int
    lookup: Ints

    @classmethod
    def of(cls, axis: Axis, raw: int, counts: Counts) -> Recoding:
        """The lookup from the raw codes of the cells to the codes of an axis."""
        codes = counts.keys[raw].codes
        lookup = np.full(len(counts.keys[raw].levels or counts.keys[raw].key.edges or ()) + 2, DROP)
        lookup[codes + 1] = axis.codes
        return cls(axis.key, raw, lookup)

    @classmethod
    def of_column(
        cls, column: Protected | Outcome, axis_of: Mapping[str, Axis], counts: Counts
    ) -> Recoding:
        """The lookup from raw codes to audited codes for a column of the spec."""
        raw = counts.plan.find_key(column.column.value, is_cut=column.is_cut)
        return cls.of(axis_of[column.name], raw, counts)

    def codes(self, histogram: RawHistogram, codes: Ints) -> Ints:
        """The audited codes of the entries of a histogram that has this column."""
        return np.asarray(self.lookup[codes[:, histogram.keys.index(self.raw)] + 1])


class Distribution(Frozen, eq=False):
    """The distribution of a score by audited columns and label.

    A row counts if it has a score and a group, even if another column drops it from the audit.
    """

    column: str
    raw: RawScores
    columns: Mapping[str, Recoding]
    label: Recoding | None

    def summaries(self) -> Iterator[Histogram]:
        """The histogram of everybody, and the histograms by each single protected attribute."""
        yield self.histogram((), ())
        for name, recoding in self.columns.items():
            if recoding.key.role is Role.PROTECTED:
                yield self.histogram((name,), ())

    def histogram(
        self,
        by: Grouping,
        given: Grouping,
        groups: Sequence[Group] | None = None,
        strata: Sequence[Group] | None = None,
    ) -> Histogram:
        """The histogram by these columns, of some groups and strata; None means all."""
        raw = self._find_histogram(by, given)
        if raw is None:
            raise ValueError(f"no histogram by {by} given {given} was counted")
        g, group_names = self._index(by, raw, raw.codes, groups)
        z, within = self._index(given, raw, raw.codes, strata)
        labels = self.labels(raw, raw.codes)
        size, bins = (len(within), len(group_names)), self.raw.bins
        stays = (g >= 0) & (z >= 0) & (labels >= 0)
        people = np.zeros((size[0], 3, size[1], len(bins.codes)), dtype=np.int64)
        place = (z[stays], labels[stays], g[stays], raw.bins[stays])
        np.add.at(people, place, raw.people[stays])
        everybody = np.zeros(len(bins.codes), dtype=np.int64)
        np.add.at(everybody, raw.bins[labels >= 0], raw.people[labels >= 0])
        g, _ = self._index(by, raw, raw.cells, group_names)
        z, _ = self._index(given, raw, raw.cells, within)
        stays = (g >= 0) & (z >= 0) & (self.labels(raw, raw.cells) >= 0)
        low, high = np.full(size, np.inf), np.full(size, -np.inf)
        np.minimum.at(low, (z[stays], g[stays]), raw.low[stays])
        np.maximum.at(high, (z[stays], g[stays]), raw.high[stays])
        reach = max(abs(bins.low[0]), abs(bins.high[-1])) if len(bins.low) else 0.0
        moments = None
        if raw.sums is not None and reach >= TOO_SMALL:
            added = [[Moments(0, 0, 0, 0)] * size[1] for _ in range(size[0])]
            places = np.where(stays, z, -1).tolist()
            for stratum, group, *more in zip(places, g.tolist(), *raw.sums, strict=True):
                if stratum >= 0:
                    added[stratum][group] = added[stratum][group] + Moments(*more)
            moments = tuple(map(tuple, added))
        keys = [self.columns[name].key for name in by]
        unknown = {(key.name, key.levels[code]) for key in keys for code in key.unknown}
        return Histogram(
            by=by,
            given=given,
            groups=group_names,
            strata=within,
            known=np.array([unknown.isdisjoint(group) for group in group_names], dtype=np.bool_),
            people=people,
            everybody=everybody,
            bins=bins,
            low=low,
            high=high,
            moments=moments,
        )

    def covers(self, by: Grouping, given: Grouping) -> bool:
        """Whether the counts contain a histogram by all these columns."""
        return self._find_histogram(by, given) is not None

    def _find_histogram(self, by: Grouping, given: Grouping) -> RawHistogram | None:
        """The first raw histogram that has all these columns; None without one."""
        needed = {self.columns[name].raw for name in (*by, *given)}
        return next(
            (histogram for histogram in self.raw.histograms if needed <= set(histogram.keys)), None
        )

    def _index(
        self,
        names: Grouping,
        raw: RawHistogram,
        codes: Ints,
        chosen: Sequence[Group] | None,
    ) -> tuple[Ints, tuple[Group, ...]]:
        """The number of the group of each entry (-1 for groups not `chosen`), and the groups."""
        columns = [self.columns[name] for name in names]
        shape = (len(codes), len(columns))
        audited = np.array([column.codes(raw, codes) for column in columns], dtype=np.int32)
        rows, index = distinct_rows(np.maximum(audited.T.reshape(shape), NO_LEVEL))
        levels = [[(one.key.name, level) for level in one.key.levels] for one in columns]
        groups_of_rows: list[Group | None] = [
            None if min(row, default=0) < 0 else tuple(map(getitem, levels, row))
            for row in rows.tolist()
        ]
        groups = (
            tuple(group for group in groups_of_rows if group is not None)
            if chosen is None
            else tuple(chosen)
        )
        place: dict[Group | None, int] = {group: number for number, group in enumerate(groups)}
        places = np.array([place.get(group, -1) for group in groups_of_rows], dtype=np.int64)
        return places[index], groups

    def labels(self, raw: RawHistogram, codes: Ints) -> Ints:
        """The label of each entry (negative, positive, unknown) as a number; -1 if dropped."""
        if self.label is None or self.label.raw not in raw.keys:
            return np.full(len(codes), _NOT_KNOWN)
        audited = self.label.codes(raw, codes)
        return np.where(audited == DROP, -1, find_labels(self.label.key, audited))


def find_labels(key: KeyColumn, codes: Ints) -> Ints:
    """The meaning of each code of a label (negative, positive or unknown) as a number."""
    positive = np.isin(codes, list(key.positive or ()))
    known = (codes >= 0) & (key.positive is not None)
    return np.where(positive, _POSITIVE, np.where(known, _NEGATIVE, _NOT_KNOWN))


def with_histogram(table: GroupTable, score: Distribution) -> GroupTable:
    """The table with the histogram of its groups and strata, if one was counted."""
    if not score.covers(table.by, table.given):
        return table
    return replace(
        table, histogram=score.histogram(table.by, table.given, table.groups, table.strata)
    )


class AttributeNumbers(Frozen, eq=False):
    """The `people` of known outcome and `hits` at the ascending values `at` of an attribute [B]."""

    attribute: str
    of: str
    at: Floats
    hits: Floats
    people: Floats


def attribute_numbers(
    counts: Counts, spec: Spec, axis_of: Mapping[str, Axis]
) -> Iterator[AttributeNumbers]:
    """The numbers of each pair of an attribute and an outcome whose slope a metric uses.

    A bin of several values counts as the value in its middle.
    """
    for outcome, attribute in spec.smoothed:
        recoding = Recoding.of_column(outcome, axis_of, counts)
        scores = counts.scores.get(attribute.column.value)
        if scores is None:
            continue
        raw = next(one for one in scores.histograms if one.keys == (recoding.raw,))
        classes = recoding.codes(raw, raw.codes)
        people, hits = np.zeros((2, len(scores.bins.codes)))
        known = classes >= 0
        np.add.at(people, raw.bins[known], raw.people[known])
        selected = np.isin(classes, list(recoding.key.positive or ()))
        np.add.at(hits, raw.bins[selected], raw.people[selected])
        there = people > 0
        middle = (scores.bins.low + scores.bins.high) / 2
        yield AttributeNumbers(
            attribute.name, outcome.name, middle[there], hits[there], people[there]
        )


def notice_odd_scores(spec: Spec, scores: Mapping[str, Distribution]) -> Iterator[Notice]:
    """Notices on scores with unlikely values, and on scores without a summary."""
    for column in dict.fromkeys(
        outcome.score.value for outcome in spec.predictions if outcome.score
    ):
        if spec.weight is not None:
            what = f"{column}: the score of a weighted sample is not summarised yet"
            yield Notice(what, Subjects.NOBODY)
        if spec.weight is not None or column not in scores:
            continue
        # These notices depend on single scores, which no cell of the cube shows.
        everybody = scores[column].histogram((), ())
        if everybody.moments is None and everybody.people.any():
            what = (
                f"{column}: no mean and no deviation: scores are added up at six and nine "
                f"decimals, for magnitudes up to {TOO_LARGE:,.0f} of which one reaches "
                f"{TOO_SMALL:g}"
            )
            yield Notice(what, Subjects.NEVER)
        people, bins = everybody.people.sum(axis=(0, 1, 2)), everybody.bins
        there = np.flatnonzero(people)
        for at, beside, sign in ((0, 1, -1), (-1, -2, 1)) if len(there) > _FEW_SCORES else ():
            least, most = float(bins.low[there[at]]), float(bins.high[there[at]])
            other = float(bins.low[there[beside]] if sign < 0 else bins.high[there[beside]])
            is_far = other >= 0 if sign < 0 else 2 * other < most
            if least == most and least in SENTINELS and sign * least > 0 and is_far:
                rows = int(people[there[at]])
                what = f"{column}: {least:g} ({rows:,} {'row' if rows == 1 else 'rows'}) may be "
                what += f"missing values; if so, write {spec.missing.declare(f'{least:g}')}"
                yield Notice(what, Subjects.NEVER)
        low, high = bins.low, bins.high
        between = ((low > 0) & (high < 1), (low > 1) & (high <= 2), (low > 2) & (high <= 100))
        per_cent = [*notice_per_cent(column, *(int(people[marks].sum()) for marks in between))]
        yield from per_cent
        if per_cent:
            continue
        outside = int(people[(bins.low < 0) | (bins.high > 1)].sum())
        if outside and 2 * outside < int(people.sum()):
            lie = "score lies" if outside == 1 else "scores lie"
            what = (
                f"{column}: {outside:,} {lie} outside [0, 1], where most are: a mistake, if it is "
                "a probability"
            )
            yield Notice(what, Subjects.NEVER)


Recodings = Mapping[str, tuple[Key, Recoding]]
"""The raw key and the recoding of each column, by name."""


def feature_recodings(
    counts: Counts, spec: Spec, problems: Problems
) -> dict[str, tuple[Key, Recoding]]:
    """The recoding of each feature.

    Raw cells do not contain features, so a feature is recoded in counts with a cell for each level.
    """
    recodings = {}
    for attribute in spec.features:
        key = feature_key(spec, attribute)
        if key not in counts.plan.table_keys:
            continue  # declared, but not searched
        levels = counts.table_levels.get(key, ())
        codes = np.arange(-1, len(key.edges) + 1) if key.edges is not None else (
            np.arange(len(levels))
        )  # fmt: skip
        people = np.ones(len(codes), dtype=np.int64)
        alone = replace(
            counts,
            plan=replace(counts.plan, keys=(key,)),
            keys=(RawKey(key, codes, levels),),
            kept=people,
            rows=people,
            people=people,
        )
        axis = group_axis(attribute, Role.STRATUM, alone, spec, problems)
        recodings[attribute.name] = key, Recoding.of(axis, 0, alone)
    return recodings


def table_cubes(
    counts: Counts,
    spec: Spec,
    axis_of: Mapping[str, Axis],
    features: Recodings,
    ledger: Ledger,
) -> tuple[Cube, ...]:
    """A cube for each combination of columns in which subgroups are searched.

    The `rows` of these cubes count people. The result is empty if no tables were counted. Raises
    `DataError` for missing features if the spec has `missing: {strata: error}`.
    """
    if not counts.tables or spec.subgroups is None:
        return ()
    columns: dict[str, tuple[Key, Recoding]] = dict(features)
    counted: list[Protected | Outcome] = [*spec.groupable, *spec.side_outcomes]
    for column in counted:
        recoding = Recoding.of_column(column, axis_of, counts)
        columns[column.name] = counts.plan.keys[recoding.raw], recoding
    refuses = spec.missing.strata is MissingPolicy.ERROR
    for attribute in spec.features if refuses else ():
        if attribute.name not in features:
            continue
        key, recoding = features[attribute.name]
        table = next(one for one in counts.tables if key in {own.key for own in one.keys})
        missing = int(table.people[_codes(table, key, recoding) < 0].sum())
        if missing:
            raise DataError(
                f"{missing:,} {'person has' if missing == 1 else 'people have'} no value in the "
                f"feature {quoted(attribute.column.value)}",
                "complete the data, or change `missing: {strata: error}`, which also holds for "
                "features",
                seek=Seek(attribute.column.value, (None, *counts.plan.tokens)),
            )
    outcomes = [outcome.name for outcome in spec.side_outcomes]
    tables = {frozenset(key.key for key in table.keys): table for table in counts.tables}
    cubes = []
    for names in spec.subgroups.widest:
        chosen = [columns[name] for name in (*names, *outcomes)]
        table = tables[frozenset(key for key, _ in chosen)]
        codes = np.stack([_codes(table, *column) for column in chosen], axis=1)
        stays = np.all(codes != DROP, axis=1)
        people = table.people[stays]
        audited = codes[stays].astype(np.int32)
        keys = [recoding.key for _, recoding in chosen]
        cubes.append(Cube.gather(keys, audited, people, people, ledger))
    return tuple(cubes)


def not_known(cubes: Sequence[Cube], features: Recodings) -> Iterator[Notice]:
    """Notices on people whose value of a feature is unknown."""
    for name in features:
        cube = next(
            (candidate for candidate in cubes if name in {key.name for key in candidate.keys}), None
        )
        if cube is None:
            continue
        (column,) = cube.places([name])
        codes, unknown = cube.codes[:, column], list(cube.keys[column].unknown)
        n = int(cube.people[(codes == NO_LEVEL) | np.isin(codes, unknown)].sum())
        if n:
            people = "person is" if n == 1 else "people are"
            what = f"{name}: of {n:,} it is not known; those {people} in no subgroup by it"
            yield Notice(f"{what}, and could change what is found", Subjects.NEVER)


def _codes(table: RawTable, key: Key, recoding: Recoding) -> Ints:
    return np.asarray(recoding.lookup[table.codes_of(key) + 1])


class Described(Frozen, eq=False):
    """The `people` [L, G] in the groups of an attribute, by the level of a feature.

    `missing` [G] are people without a value. A numeric feature has one level: people with a number.
    """

    column: str
    by: Grouping
    groups: tuple[Group, ...]
    known: Marks
    missing: Ints
    levels: tuple[str, ...]
    people: Ints


def describe(counts: Counts, spec: Spec, axis_of: Mapping[str, Axis]) -> Iterator[Described]:
    """The description of each feature by each protected attribute, if the spec has `describe`."""
    if not spec.describe:
        return
    tables = {frozenset(key.key for key in table.keys): table for table in counts.tables}
    for name in spec.similarity.columns:
        feature = described_key(spec, name)
        for attribute in spec.protected:
            recoding = Recoding.of_column(attribute, axis_of, counts)
            own = counts.plan.keys[recoding.raw]
            table = tables[frozenset({own, feature})]
            groups = _codes(table, own, recoding)
            codes = table.codes_of(feature)
            texts = ("",) if feature.is_cut else counts.table_levels[feature]
            words = {None} if feature.is_cut else {None, "", *counts.plan.tokens}
            place = np.array([-1 if text in words else code for code, text in enumerate(texts)])
            levels = np.where(codes < 0, -1, place[np.maximum(codes, 0)]) if len(place) else codes
            size = len(recoding.key.levels)
            people, missing = np.zeros((len(texts), size), np.int64), np.zeros(size, np.int64)
            has, lacks = (groups >= 0) & (levels >= 0), (groups >= 0) & (levels < 0)
            np.add.at(people, (levels[has], groups[has]), table.people[has])
            np.add.at(missing, groups[lacks], table.people[lacks])
            yield Described(
                name,
                (attribute.name,),
                tuple(((attribute.name, level),) for level in recoding.key.levels),
                ~np.isin(np.arange(size), list(recoding.key.unknown)),
                missing,
                tuple(level or "" for level in texts),
                people,
            )

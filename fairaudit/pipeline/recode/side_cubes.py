"""Extra cubes of a few columns, in which subgroups are searched; the description of features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from fairaudit.base.disclosure_marks import Notice, Subjects
from fairaudit.base.errors import DataError, Seek
from fairaudit.base.frozen import Frozen, replace
from fairaudit.base.ledger import Ledger
from fairaudit.base.names import quoted
from fairaudit.counting.counts import Counts
from fairaudit.counting.plan import Key
from fairaudit.counting.raw_keys import RawKey, RawTable
from fairaudit.cube import NO_LEVEL, Cube, Group, Grouping, Ints, Marks, Role
from fairaudit.pipeline.plan_builder import described_key, feature_key
from fairaudit.pipeline.recode.axes import DROP, Axis, Problems
from fairaudit.pipeline.recode.groups import group_axis
from fairaudit.pipeline.recode.scores import Recoding
from fairaudit.spec import MissingPolicy, Outcome, Protected, Spec

Recodings = Mapping[str, tuple[Key, Recoding]]
"""A column by its name: the raw key it is made of, and a code for each of its raw codes."""


def feature_recodings(
    counts: Counts, spec: Spec, problems: Problems
) -> dict[str, tuple[Key, Recoding]]:
    """How each feature is recoded; the cells do not have features, so each level is one cell."""
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

    The cubes count people, also as their `rows`. Empty if the cells have all columns.
    """
    if not counts.tables or spec.subgroups is None:
        return ()
    columns: dict[str, tuple[Key, Recoding]] = dict(features)
    counted: list[Protected | Outcome] = [*spec.groupable, *spec.side_outcomes]
    for column in counted:
        recoding = Recoding.of_column(column, axis_of, counts)
        columns[column.name] = counts.plan.keys[recoding.raw], recoding
    _refuse_missing(counts, spec, features)
    outcomes = [outcome.name for outcome in spec.side_outcomes]
    tables = {frozenset(table.keys): table for table in counts.tables}
    cubes = []
    for names in spec.subgroups.widest:
        chosen = [columns[name] for name in (*names, *outcomes)]
        table = tables[frozenset(key for key, _ in chosen)]
        codes = np.stack([_codes(table, *column) for column in chosen], axis=1)
        stays = np.all(codes != DROP, axis=1)
        people = table.people[stays]
        audited = np.where(codes[stays] < 0, NO_LEVEL, codes[stays]).astype(np.int32)
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
        column = [key.name for key in cube.keys].index(name)
        codes, unknown = cube.codes[:, column], list(cube.keys[column].unknown)
        n = int(cube.people[(codes == NO_LEVEL) | np.isin(codes, unknown)].sum())
        if n:
            people = "person is" if n == 1 else "people are"
            what = f"{name}: of {n:,} it is not known; those {people} in no subgroup by it"
            yield Notice(what, Subjects.NEVER)


def _codes(table: RawTable, key: Key, recoding: Recoding) -> Ints:
    return np.asarray(recoding.lookup[table.codes[:, table.keys.index(key)] + 1])


def _refuse_missing(counts: Counts, spec: Spec, features: Recodings) -> None:
    """Raises `DataError` for missing features if `missing: {strata: error}`."""
    if spec.missing.strata is not MissingPolicy.ERROR:
        return
    for attribute in spec.features:
        if attribute.name not in features:
            continue
        key, recoding = features[attribute.name]
        table = next(table for table in counts.tables if key in table.keys)
        missing = int(table.people[_codes(table, key, recoding) < 0].sum())
        if missing:
            raise DataError(
                f"{missing:,} {'person has' if missing == 1 else 'people have'} no value in the "
                f"feature {quoted(attribute.column.value)}",
                "complete the data, or choose what to do with these rows: `missing: {strata: …}`",
                seek=Seek(attribute.column.value, (None, *counts.plan.tokens)),
            )


class Described(Frozen, eq=False):
    """A feature in the groups [G] of one attribute: people without it, and by level [L, G].

    A numeric feature has a single level, of all people with a number.
    """

    column: str
    by: Grouping
    groups: tuple[Group, ...]
    known: Marks
    missing: Ints
    levels: tuple[str, ...]
    people: Ints


def describe(counts: Counts, spec: Spec, axis_of: Mapping[str, Axis]) -> Iterator[Described]:
    """Every declared feature by every attribute, if the spec asks to describe them."""
    if not spec.describe:
        return
    tables = {frozenset(table.keys): table for table in counts.tables}
    for name in spec.similarity.columns:
        feature = described_key(spec, name)
        for attribute in spec.protected:
            recoding = Recoding.of_column(attribute, axis_of, counts)
            own = counts.plan.keys[recoding.raw]
            table = tables[frozenset({own, feature})]
            groups = _codes(table, own, recoding)
            codes = table.codes[:, table.keys.index(feature)]
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

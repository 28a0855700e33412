"""Small cubes of tables beside the cells; features: missing values, `describe`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from fairaudit.base.disclosure_marks import Subjects
from fairaudit.base.errors import DataError, Seek
from fairaudit.base.frozen import Frozen, replace
from fairaudit.base.ledger import Ledger
from fairaudit.base.names import quoted
from fairaudit.base.notice import Notice
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
    """How each feature is recoded; no cell has it, so each of its levels stands for one."""
    recodings = {}
    for attribute in spec.features:
        key = feature_key(spec, attribute)
        if key not in counts.plan.table_keys:
            # Declared, and not among the columns that are looked over.
            continue
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
    """A cube for each combination of columns that subgroups are looked for in.

    They hold people, not rows: `rows` are those too. None where the cells have all columns.
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
    return tuple(
        _cube(tables, [columns[name] for name in (*names, *outcomes)], ledger)
        for names in spec.subgroups.widest
    )


def not_known(cubes: Sequence[Cube], features: Recodings) -> Iterator[Notice]:
    """Notices on the people whose value of a feature is not known."""
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


def _cube(
    tables: Mapping[frozenset[Key], RawTable],
    columns: Sequence[tuple[Key, Recoding]],
    ledger: Ledger,
) -> Cube:
    table = tables[frozenset(key for key, _ in columns)]
    codes = np.stack([_codes(table, *column) for column in columns], axis=1)
    stays = np.all(codes != DROP, axis=1)
    people = table.people[stays]
    keys = [recoding.key for _, recoding in columns]
    audited = np.where(codes[stays] < 0, NO_LEVEL, codes[stays]).astype(np.int32)
    return Cube.gather(keys, audited, people, people, ledger)


def _codes(table: RawTable, key: Key, recoding: Recoding) -> Ints:
    return np.asarray(recoding.lookup[table.codes[:, table.keys.index(key)] + 1])


def _refuse_missing(counts: Counts, spec: Spec, features: Recodings) -> None:
    """Raises `DataError` where a feature is missing, and the spec takes that for an error."""
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

    A number has one level, that of everybody who has it.
    """

    column: str
    by: Grouping
    groups: tuple[Group, ...]
    known: Marks
    missing: Ints
    levels: tuple[str, ...]
    people: Ints


def describe(counts: Counts, spec: Spec, axis_of: Mapping[str, Axis]) -> Iterator[Described]:
    """Every declared feature by every attribute, where a spec asks to describe them."""
    if not spec.describe:
        return
    tables = {frozenset(table.keys): table for table in counts.tables}
    for name in spec.similarity.columns:
        feature = described_key(spec, name)
        for attribute in spec.protected:
            recoding = Recoding.of_column(attribute, axis_of, counts)
            keys = frozenset({counts.plan.keys[recoding.raw], feature})
            yield _describe(counts, name, attribute, recoding, tables[keys])


def _describe(
    counts: Counts, name: str, attribute: Protected, recoding: Recoding, table: RawTable
) -> Described:
    own = counts.plan.keys[recoding.raw]
    groups = recoding.lookup[table.codes[:, table.keys.index(own)] + 1]
    feature = next((key for key in table.keys if key != own), own)
    codes = table.codes[:, table.keys.index(feature)]
    texts = ("",) if feature.is_cut else counts.table_levels[feature]
    words = {None} if feature.is_cut else {None, "", *counts.plan.tokens}
    place = np.array([-1 if level in words else number for number, level in enumerate(texts)])
    levels = np.where(codes < 0, -1, place[np.maximum(codes, 0)]) if len(place) else codes
    stays = groups >= 0
    size = len(recoding.key.levels)
    people, missing = np.zeros((len(texts), size), np.int64), np.zeros(size, np.int64)
    has = stays & (levels >= 0)
    np.add.at(people, (levels[has], groups[has]), table.people[has])
    lacks = stays & (levels < 0)
    np.add.at(missing, groups[lacks], table.people[lacks])
    unknown = recoding.key.unknown
    return Described(
        name,
        (attribute.name,),
        tuple(((attribute.name, level),) for level in recoding.key.levels),
        np.array([number not in unknown for number in range(size)], dtype=np.bool_),
        missing,
        tuple(level or "" for level in texts),
        people,
    )

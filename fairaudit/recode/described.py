"""Counts the levels of each feature by group, for the data table that `describe` asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from fairaudit.counts import Counts
from fairaudit.cube import Group, Grouping, Ints, Marks
from fairaudit.planning import described_key
from fairaudit.raw_keys import RawTable
from fairaudit.recode.axes import Axis
from fairaudit.recode.scores import Recoding
from fairaudit.spec import Protected, Spec, Text


@dataclass(frozen=True, slots=True, eq=False)
class Described:
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
    for text in spec.similarity.texts:
        feature = described_key(spec, text)
        for attribute in spec.protected:
            recoding = Recoding.of_column(attribute, axis_of, counts)
            keys = frozenset({counts.plan.keys[recoding.raw], feature})
            yield _describe(counts, text, attribute, recoding, tables[keys])


def _describe(
    counts: Counts, text: Text, attribute: Protected, recoding: Recoding, table: RawTable
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
        text.value,
        (attribute.name,),
        tuple(((attribute.name, level),) for level in recoding.key.levels),
        np.array([number not in unknown for number in range(size)], dtype=np.bool_),
        missing,
        tuple(level or "" for level in texts),
        people,
    )

"""Rows of a result with any values that their fields may have are read back as they were."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import jsonschema
import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st

from fairaudit.base.frozen import POSITIVE, SIGNED, field_names
from fairaudit.codec.records import read, write
from fairaudit.codec.schema import describe
from fairaudit.evidence.missing_bounds import MissingBounds
from fairaudit.evidence.practice import DetectableGap, PeopleAffected
from fairaudit.judge import NotEvaluated
from fairaudit.judge.checks import ReversalLimit
from fairaudit.judge.findings import Earlier
from fairaudit.judge.simpson import Reversal
from fairaudit.judge.subgroups import Subgroups
from fairaudit.metrics.estimate import Significance
from fairaudit.metrics.terms import MetricOptions
from fairaudit.result import Provenance
from fairaudit.result.rows import (
    Curve,
    Definition,
    EpsilonReading,
    GroupRow,
    ModelChange,
    RateRow,
    ScoreRow,
)
from fairaudit.tools.compare.records import PeopleChange, ReversalChange

ROWS = (
    Curve,
    Definition,
    DetectableGap,
    Earlier,
    EpsilonReading,
    GroupRow,
    MissingBounds,
    ModelChange,
    NotEvaluated,
    PeopleAffected,
    PeopleChange,
    Provenance,
    RateRow,
    Reversal,
    ReversalChange,
    ReversalLimit,
    ScoreRow,
    Significance,
    Subgroups,
    MetricOptions,
)
NEAR_ONE = st.decimals("0.5", "0.999", places=3)
SIMPLE: Mapping[Any, st.SearchStrategy[Any]] = {
    str: st.text(max_size=4),
    bool: st.booleans(),
    float: st.floats(),
    date: st.dates(),
    Decimal: st.decimals(allow_nan=False, allow_infinity=False),
    Fraction: st.fractions(),
    object: st.text(max_size=4) | st.integers(-9, 9),
    NoneType: st.none(),
}


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Values that a field of a type may have."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        ranges = {POSITIVE: st.integers(1, 10**6), SIGNED: st.integers(-(10**6), 10**6)}
        return next((ranges[mark] for mark in ranges if mark is arguments[1]), values(arguments[0]))
    if origin in {Union, UnionType}:
        return st.one_of(*(values(cls) for cls in arguments))
    if origin is tuple:
        return _tuples(arguments)
    if origin is not None:
        return st.dictionaries(values(arguments[0]), values(arguments[1]), max_size=2)
    if hint in SIMPLE:
        return SIMPLE[hint]
    if hint is int:
        return st.integers(0, 10**6)
    if issubclass(hint, Enum):
        return st.sampled_from(list(hint))
    return rows(hint)


def _tuples(arguments: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    item = arguments[0]
    if arguments[-1] is not Ellipsis:
        return st.tuples(*(values(each) for each in arguments))
    if get_origin(item) is tuple and get_args(item)[0] is str:
        pairs = st.dictionaries(SIMPLE[str], values(get_args(item)[1]), max_size=2)
        return pairs.map(lambda mapping: tuple(mapping.items()))
    return st.lists(values(item), max_size=2).map(tuple)


def rows(cls: Any) -> st.SearchStrategy[Any]:
    """Rows of a class; what types alone do not say is kept: a confidence, an open number."""
    hints = get_type_hints(cls, include_extras=True)
    names = field_names(cls)
    drawn = {name: values(hints[name]) for name in names}
    if "confidence" in drawn:
        drawn["confidence"] = NEAR_ONE
    if {"value", "suppressed"} <= drawn.keys():
        drawn["suppressed"] = st.just(value=False)
    return st.builds(cls, **drawn)


def test_a_number_in_a_list_that_is_not_finite_is_the_word_of_its_state() -> None:
    row = Significance("F", 0.5, 0.5, 1, "none", "F", 2.0, (1.0, math.inf))
    tree = json.loads(json.dumps(write(Significance, row), allow_nan=False))
    assert tree["freedom"] == [1.0, "infinite"]
    assert read(Significance, tree) == row
    schema, definitions = describe(Significance)
    jsonschema.Draft202012Validator({**schema, "$defs": definitions}).validate(tree)


@pytest.mark.long
@pytest.mark.parametrize("cls", ROWS, ids=lambda cls: cls.__name__)
@examples(40)
@given(data=st.data())
def test_a_drawn_row_is_read_back(cls: Any, data: st.DataObject) -> None:
    row = data.draw(rows(cls))
    tree = json.loads(json.dumps(write(cls, row), allow_nan=False))
    assert repr(read(cls, tree)) == repr(row)
    schema, definitions = describe(cls)
    schema["$defs"] = definitions
    jsonschema.Draft202012Validator(schema).validate(tree)

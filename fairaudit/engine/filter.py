"""The spec's `filter`: a restricted SQL expression over the row's own columns.

Polars parses it; its tree is read as a small one of our own, in which only what stands in the
allow-list below may occur.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import polars as pl

from fairaudit.errors import SpecError
from fairaudit.names import copied
from fairaudit.spec import Text

_ORDER = {"Lt", "LtEq", "Gt", "GtEq"}
_COMPARE = _ORDER | {"Eq", "NotEq", "EqValidity", "NotEqValidity", "IsIn", "IsBetween"}
_ARITHMETIC = {
    "Plus", "Minus", "Multiply", "Divide", "TrueDivide", "Modulus",
    "Add", "Sub", "Mul", "Div", "Rem",
}  # fmt: skip
_ALLOWED = (
    _COMPARE
    | _ARITHMETIC
    | {"And", "Or", "Not", "IsNull", "IsNotNull"}
    | {"StartsWith", "EndsWith", "Contains", "Lowercase", "Uppercase"}
)
_NAMES = {"Agg": "aggregates", "Over": "windows", "SubPlan": "subqueries"}
_WORDS = "comparisons, and, or, not, in (…), between, like, is null, lower, upper and + - * / %"


_MOST_WORDS = 1_000
"""So many words and signs a filter may have beside its values: deeper trees exhaust the stack."""
_VALUES = re.compile(r"'(?:[^']|'')*'")
_WORD = re.compile(r"[^\W\d]\w*|\"[^\"]*\"|[^\s\w,]")


class _Kind(Enum):
    COLUMN = auto()
    NUMBER = auto()
    TEXT = auto()
    VALUE = auto()
    CALL = auto()


@dataclass(frozen=True, slots=True)
class _Node:
    """A part of an expression: a column, a literal, or an operation on inner parts."""

    kind: _Kind
    name: str = ""
    inner: tuple[_Node, ...] = ()

    def walk(self) -> Iterator[_Node]:
        yield self
        for node in self.inner:
            yield from node.walk()

    def columns(self) -> set[str]:
        return {node.name for node in self.walk() if node.kind is _Kind.COLUMN}

    @property
    def numeric(self) -> bool:
        """Whether it is a number by itself: a literal or a result of arithmetic."""
        return self.kind is _Kind.NUMBER or self.name in _ARITHMETIC


@dataclass(frozen=True, slots=True)
class Filter:
    """A parsed filter: its expression, its columns, and those of them read as numbers.

    `ordered` are pairs of columns compared by order with each other, as texts or as numbers.
    """

    expression: pl.Expr
    columns: frozenset[str]
    numeric: frozenset[str]
    ordered: tuple[tuple[str, str], ...]


def parse(text: Text) -> Filter:
    """The filter that a text means; raises `SpecError` where it is none."""
    words = sum(1 for _ in _WORD.finditer(_VALUES.sub("", text.value)))
    if words > _MOST_WORDS:
        message = (
            f"the filter has {words:,} words and signs, and at most {_MOST_WORDS:,} are read: many "
            "values of a column are written `column in (1, 2, 3)`"
        )
        raise SpecError([text.fault(message)])
    try:
        expression = pl.sql_expr(text.value)
        root = _read(json.loads(expression.meta.serialize(format="json")))
        return _checked(text, expression, root)
    except (pl.exceptions.PolarsError, ValueError) as error:
        message = copied(str(error).splitlines()[0])
        raise SpecError([text.fault(f"this is no SQL expression: {message}")]) from error
    except RecursionError as error:
        raise SpecError([text.fault("the filter is too long")]) from error


def _checked(text: Text, expression: pl.Expr, root: _Node) -> Filter:
    calls = [node for node in root.walk() if node.kind is _Kind.CALL]
    refused = sorted({node.name for node in calls if node.name not in _ALLOWED})
    if refused:
        message = f"a filter may not use {', '.join(refused)}; it knows {_WORDS}"
        raise SpecError([text.fault(message)])
    if not root.columns():
        raise SpecError([text.fault("a filter must look at a column")])
    numeric: set[str] = set()
    textual: set[str] = set()
    for call in calls:
        if call.name in _ARITHMETIC or (
            call.name in _COMPARE and any(side.numeric for side in call.inner)
        ):
            numeric |= call.columns()
        if call.name in _COMPARE and any(side.kind is _Kind.TEXT for side in call.inner):
            textual |= call.columns()
    for name in sorted(numeric & textual):
        message = f"the column {name!r} is compared with a number and with a text"
        raise SpecError([text.fault(message)])
    pairs = [
        (call.inner[0].name, call.inner[1].name)
        for call in calls
        if call.name in _ORDER and all(side.kind is _Kind.COLUMN for side in call.inner)
    ]
    return Filter(expression, frozenset(root.columns()), frozenset(numeric), tuple(pairs))


def _read(tree: Any) -> _Node:  # noqa: ANN401  # Polars' own tree
    """Polars' tree as ours; what is not known becomes a call of its name, to be refused."""
    if isinstance(tree, str):
        return _Node(_Kind.CALL, tree.lower())
    ((kind, body),) = tree.items()
    match kind:
        case "Column":
            return _Node(_Kind.COLUMN, body)
        case "Literal":
            return _Node(_literal(tree))
        case "BinaryExpr":
            return _Node(_Kind.CALL, body["op"], (_read(body["left"]), _read(body["right"])))
        case "Function":
            inner = tuple(_read(one) for one in body["input"])
            return _Node(_Kind.CALL, _function(body["function"]), inner)
        case "Cast" if body["dtype"] == {"Literal": "Boolean"}:
            return _read(body["expr"])
        case _:
            # SQL's sum(x) is a case around an aggregate: the inner name tells more.
            inside = [name for part, name in _NAMES.items() if f'"{part}"' in json.dumps(body)]
            return _Node(_Kind.CALL, _NAMES.get(kind) or (inside or [kind.lower()])[0])


def _literal(tree: Any) -> _Kind:  # noqa: ANN401
    """What kind of literal it is; the list of an `in (…)` by its elements."""
    expression = pl.Expr.deserialize(io.BytesIO(json.dumps(tree).encode()), format="json")
    dtype = pl.select(expression).to_series().dtype
    if isinstance(dtype, pl.List):
        return _kind_of(dtype.inner)
    return _kind_of(dtype)


def _kind_of(dtype: Any) -> _Kind:  # noqa: ANN401  # a Polars type, or its class
    if dtype.is_numeric():
        return _Kind.NUMBER
    return _Kind.TEXT if dtype == pl.String else _Kind.VALUE


def _function(tree: Any) -> str:  # noqa: ANN401
    """The innermost name: `{"Boolean": "IsNull"}` and `{"Sql": {"Binary": "Gt"}}` alike."""
    if isinstance(tree, str):
        return tree
    ((kind, body),) = tree.items()
    return _function(body) if kind in {"Boolean", "StringExpr", "Sql", "Binary"} else str(kind)

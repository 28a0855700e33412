"""The spec's `filter`: a restricted SQL expression over the row's own columns.

Polars parses it; only what stands in the allow-list below may occur in the parsed tree.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from fairaudit.errors import SpecError
from fairaudit.spec import Text

_COMPARE = {"Eq", "NotEq", "Lt", "LtEq", "Gt", "GtEq", "EqValidity", "NotEqValidity"}
_ARITHMETIC = {"Plus", "Minus", "Multiply", "Divide", "TrueDivide", "Modulus"}
_LOGIC = {"And", "Or"}
_FUNCTIONS = {
    "IsNull", "IsNotNull", "Not", "IsIn", "IsBetween",
    "StartsWith", "EndsWith", "Contains", "Lowercase", "Uppercase",
}  # fmt: skip
_REFUSED = {"Agg": "aggregates", "Over": "windows", "SubPlan": "subqueries", "Ternary": "case"}
_WORDS = "comparisons, and, or, not, in (…), between, like, is null, + - * / and texts"


@dataclass(frozen=True, slots=True)
class Filter:
    """A parsed filter: its expression, its columns, and those of them read as numbers."""

    expression: pl.Expr
    columns: frozenset[str]
    numeric: frozenset[str]


def parse(text: Text) -> Filter:
    """The filter that a text means; raises `SpecError` where it is none."""
    try:
        expression = pl.sql_expr(text.value)
    except (pl.exceptions.PolarsError, ValueError) as error:
        message = str(error).splitlines()[0]
        raise SpecError([text.fault(f"this is no SQL expression: {message}")]) from error
    tree = json.loads(expression.meta.serialize(format="json"))
    refused = sorted(set(_refused(tree)))
    if refused:
        message = f"a filter may not use {', '.join(refused)}; it knows {_WORDS}"
        raise SpecError([text.fault(message)])
    columns = frozenset(_columns(tree))
    if not columns:
        raise SpecError([text.fault("a filter must look at a column")])
    numeric, textual = frozenset(_compared(tree, numbers=True)), set(_compared(tree, numbers=False))
    for name in sorted(numeric & textual):
        message = f"the column {name!r} is compared with a number and with a text"
        raise SpecError([text.fault(message)])
    return Filter(expression, columns, numeric)


def _refused(tree: Any) -> Iterator[str]:  # noqa: ANN401  # Polars' own tree
    """The names of what is not allowed in a parsed expression."""
    if isinstance(tree, str):
        yield tree.lower()
        return
    for kind, body in tree.items():
        match kind:
            case "Column" | "Literal":
                pass
            case "BinaryExpr":
                if body["op"] not in _COMPARE | _ARITHMETIC | _LOGIC:
                    yield body["op"]
                yield from _refused(body["left"])
                yield from _refused(body["right"])
            case "Function":
                name = _function(body["function"])
                if name not in _FUNCTIONS:
                    yield name.lower()
                for inner in body["input"]:
                    yield from _refused(inner)
            case "Cast" if body["dtype"] == {"Literal": "Boolean"}:
                yield from _refused(body["expr"])
            case _:
                # SQL's sum(x) is a ternary around an aggregate: the inner name tells more.
                known = [name for part, name in _REFUSED.items() if f'"{part}"' in json.dumps(tree)]
                yield from known or [kind.lower()]


def _function(tree: Any) -> str:  # noqa: ANN401
    """The innermost name: `{"Boolean": "IsNull"}` and `{"Sql": {"IsIn": {…}}}` alike."""
    if isinstance(tree, str):
        return tree
    kind, body = next(iter(tree.items()))
    families = {"Boolean", "StringExpr", "Sql"}
    return _function(body) if kind in families else str(kind)


def _columns(tree: Any) -> Iterator[str]:  # noqa: ANN401
    if isinstance(tree, dict):
        for kind, body in tree.items():
            if kind == "Column":
                yield body
            elif kind != "Literal":
                yield from _columns(body)
    elif isinstance(tree, list):
        for inner in tree:
            yield from _columns(inner)


def _compared(tree: Any, *, numbers: bool) -> Iterator[str]:  # noqa: ANN401
    """The columns that stand opposite a number (or, with numbers=False, a text)."""
    if isinstance(tree, list):
        for inner in tree:
            yield from _compared(inner, numbers=numbers)
    if not isinstance(tree, dict):
        return
    for kind, body in tree.items():
        if kind == "BinaryExpr":
            sides = (body["left"], body["right"])
            if body["op"] in _ARITHMETIC and numbers:
                yield from _columns(sides[0])
                yield from _columns(sides[1])
            elif body["op"] in _COMPARE:
                for one, other in (sides, sides[::-1]):
                    if (_is_number if numbers else _is_text)(other):
                        yield from _columns(one)
        if kind != "Literal":
            yield from _compared(body, numbers=numbers)


def _is_number(tree: Any) -> bool:  # noqa: ANN401
    literal = tree.get("Literal") if isinstance(tree, dict) else None
    if not isinstance(literal, dict):
        is_binary = isinstance(tree, dict) and "BinaryExpr" in tree
        return is_binary and tree["BinaryExpr"]["op"] in _ARITHMETIC
    value = literal.get("Dyn") or literal.get("Scalar")
    return isinstance(value, dict) and bool(set(value) & {"Int", "Float", "Decimal", "Int64"})


def _is_text(tree: Any) -> bool:  # noqa: ANN401
    literal = tree.get("Literal") if isinstance(tree, dict) else None
    value = literal.get("Scalar") if isinstance(literal, dict) else None
    return isinstance(value, dict) and "String" in value

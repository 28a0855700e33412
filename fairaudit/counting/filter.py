"""Parses the `filter` of a spec: a SQL expression that may use only some operations.

Polars parses the text into a tree. This module converts it to a simpler tree (`_Node`), in which
only the operations in `_ALLOWED` are accepted. `polars_numbers` applies the filter to rows.
"""

from __future__ import annotations

import io
import json
import operator
import re
from collections.abc import Callable, Container, Iterator, Mapping
from enum import Enum
from typing import Any

import polars as pl

from fairaudit.base.arrays import LARGEST_WHOLE
from fairaudit.base.errors import PlanError, PlanFault
from fairaudit.base.frozen import Frozen
from fairaudit.base.names import copied, quoted

_ORDER = {"Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}
_EQUAL = {"Eq": "=", "NotEq": "<>", "EqValidity": "is not distinct from"}
_EQUAL |= {"NotEqValidity": "is distinct from"}
_DECIDE_BLANKS = {
    "EqValidity": ("Eq", "IsNotNull", "And"),
    "NotEqValidity": ("NotEq", "IsNull", "Or"),
}
"""How to write comparisons that are true or false even for blank cells (nulls).

Each value has the usual comparison, a test of whether a cell is blank, and the operator that joins
the comparison and the test.
"""
_SIGNS = _ORDER | _EQUAL
_COMPARE = {*_SIGNS, "IsIn", "IsBetween"}
_ARITHMETIC = {
    "Plus", "Minus", "Multiply", "Divide", "TrueDivide", "Modulus",
    "Add", "Sub", "Mul", "Div", "Rem",
}  # fmt: skip
_LOGIC = {"And": "and", "Or": "or", "Not": "not"}
_JOINS: dict[str, Callable[..., pl.Expr]] = {
    "And": operator.and_,
    "Or": operator.or_,
    "Not": operator.invert,
    "Eq": operator.eq,
    "NotEq": operator.ne,
}
_IS_NULL = {"IsNull", "IsNotNull"}
_SEARCHES = {"StartsWith", "EndsWith", "Contains"}
_LETTERS = {"Lowercase", "Uppercase"}
_ALLOWED = {*_COMPARE, *_ARITHMETIC, *_LOGIC, *_IS_NULL, *_SEARCHES, *_LETTERS}
_NAMES = {"Agg": "aggregates", "Over": "windows", "SubPlan": "subqueries"}
_NAMES |= {"Alias": "new names (as …)"}
_WORDS = "comparisons, and, or, not, in (…), between, like, is null, lower, upper and + - * / %"

_QUOTED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`""")
_COMMENT = re.compile(r"--|/\*")
_BEGINS_WITH_DIGIT = re.compile(r"(?<![\w.])\.?\d(?:[eE][+-]|[\w.])*")
_NUMBER = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")

_ISO_DATE = re.compile(r"\d{4}-\d{2}(?:-\d{2}(?: \d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?)?", re.ASCII)
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_OTHER_DATE = re.compile(
    r"\d{4}-\d{2}-\d{2}[T ]\d{2}:.*"
    r"|\d{1,2}/\d{1,2}/\d{2,4}|\d{1,2}[-.]\d{1,2}[-.]\d{4}|\d{4}[-/.]\d{1,2}[-/.]\d{1,2}"
    rf"|\d{{1,2}}[/.-]\d{{4}}|\d{{1,2}}\.?[ -]{_MONTH},?[ -]\d{{2,4}}|{_MONTH} \d{{1,2}},? \d{{4}}",
    re.ASCII | re.IGNORECASE,
)
"""Dates and times in a notation in which alphabetical order is not the order of time."""

_MOST_WORDS = 1_000
"""Maximum number of words and operators of a filter: parsing more could exhaust the stack."""
_VALUES = re.compile(r"'(?:[^']|'')*'")
_WORD = re.compile(r"[^\W\d]\w*|\"[^\"]*\"|[^\s\w,]")


class _Kind(Enum):
    """The type of the value of an expression. The data decides the type of a column."""

    COLUMN = "a column"
    NUMBER = "a number"
    TEXT = "a text"
    MOMENT = "a date or time"
    BOOLEAN = "true or false"
    COMPARISON = "a comparison"
    NULL = "null"
    OTHER = "neither a number nor a text"


class _Node(Frozen):
    """A part of an expression: a column, a literal, or an operation on `inner` parts.

    `name` is the name of a column or operation. `text` is a column or literal in the notation of a
    spec. `texts` are the texts in a literal, which may be a list of values.
    """

    kind: _Kind
    name: str = ""
    inner: tuple[_Node, ...] = ()
    text: str = ""
    texts: tuple[str, ...] = ()

    @classmethod
    def of_literal(cls, tree: Any) -> _Node:  # noqa: ANN401  # plain data of Polars' own tree
        """A literal from the tree of Polars. A list in `in (…)` has the kind of its elements."""
        expression = pl.Expr.deserialize(io.BytesIO(json.dumps(tree).encode()), format="json")
        column = pl.select(expression).to_series()
        if isinstance(column.dtype, pl.List):
            texts = tuple(value for value in column[0] if isinstance(value, str))
            return cls(_find_kind(column.dtype.inner), text="a value of the list", texts=texts)
        value, texts = column[0], ()
        match value:
            case bool() | None:
                text = {True: "true", False: "false", None: "null"}[value]
            case str():
                text, texts = "'" + value.replace("'", "''") + "'", (value,)
            case bytes():
                text = f"0x{value.hex()}"
            case _:
                text = str(value)
        return cls(_find_kind(column.dtype), text=text, texts=texts)

    def walk(self) -> Iterator[_Node]:
        yield self
        for node in self.inner:
            yield from node.walk()

    def columns(self) -> set[str]:
        return {node.name for node in self.walk() if node.kind is _Kind.COLUMN}


class Filter(Frozen):
    """A parsed filter: its text, its expression, and how it uses each column.

    `numeric` columns are read as numbers. `dated` maps each column that is read as dates to the
    length of the longest date that the filter compares with the column. `ordered` are pairs of
    columns that are compared with each other by `<`, `<=`, `>` or `>=`. `logical` columns are
    operands of `and`, `or` and `not`. `tested` columns are used only in `is null` or `is not null`.
    `texts` are the texts that the filter compares with a column by `=`, `<>` or `in`. The key of
    `texts` is the column, and `Lowercase` or `Uppercase` if the filter changes the case of the
    column. `expression` compares these texts with a copy of the column, named by `name_apart`.
    """

    text: str
    expression: pl.Expr
    columns: frozenset[str]
    numeric: frozenset[str]
    dated: Mapping[str, int]
    ordered: tuple[tuple[str, str], ...]
    logical: frozenset[str]
    texts: Mapping[tuple[str, str], tuple[str, ...]]
    tested: frozenset[str]


def name_apart(column: str, letters: str) -> str:
    """The name of a copy of a column in `Filter.texts`; no file has a column with this name.

    Texts that differ from a text of the filter, but only in case or blanks, are null in the copy.
    So the filter neither keeps nor drops rows with these texts, and a notice reports the rows.
    """
    return f"\0{letters}={column}"


def parse(text: str, dates: tuple[tuple[str, tuple[str, ...]], ...] = ()) -> Filter:
    """The filter in a text; raises `PlanError` if the text is not a filter.

    `dates` are pairs of a column and the declared notations of its dates.
    """
    words = sum(1 for _ in _WORD.finditer(_VALUES.sub("", text)))
    if words > _MOST_WORDS:
        message = (
            f"the filter has {words:,} words and signs, more than the maximum of {_MOST_WORDS:,}: "
            "write many values of a column as `column in (1, 2, 3)`"
        )
        raise PlanError([PlanFault(message)])
    faults = [PlanFault(message) for message in _list_misread(text)]
    if faults:
        raise PlanError(faults)
    try:
        expression = pl.sql_expr(text)
        root = _convert(_read_tree(expression))
        return _analyse(text, expression, root, {*dict(dates)})
    except (pl.exceptions.PolarsError, ValueError) as error:
        message = copied(str(error).splitlines()[0])
        raise PlanError([PlanFault(f"this is not a SQL expression: {message}")]) from error
    except RecursionError as error:
        raise PlanError(
            [PlanFault("too many conditions or brackets: use `column in (…)`")]
        ) from error


def _read_tree(expression: pl.Expr) -> Any:  # noqa: ANN401  # Polars' own tree
    return json.loads(expression.meta.serialize(format="json"))


def _list_misread(text: str) -> Iterator[str]:
    """Messages on text that Polars would misread: comments and other notations of numbers."""
    plain = _QUOTED.sub("''", text)
    if _COMMENT.search(plain):
        yield "a filter cannot contain comments (-- or /*): the text after them would be ignored"
    for word in dict.fromkeys(_BEGINS_WITH_DIGIT.findall(plain)):
        if not _NUMBER.fullmatch(word):
            try:
                remedy = f"write {int(word, 0)}"
            except ValueError:
                column = f'a column of that name in double quotes: "{word}"'
                remedy = f"write it as 1000, 2.5 or 1e3, and {column}"
            yield f"{quoted(word)} is not a number in a filter; {remedy}"
        elif float(word) > LARGEST_WHOLE:
            yield f"the number {word} is too large: a number is at most {LARGEST_WHOLE:,}"


def _analyse(text: str, expression: pl.Expr, root: _Node, declared: set[str]) -> Filter:
    """The filter of an expression with the tree `root`; `PlanError` if a part of it cannot work."""
    calls = [node for node in root.walk() if node.name and node.kind is not _Kind.COLUMN]
    refused = sorted({node.name for node in calls if node.name not in _ALLOWED})
    if refused:
        message = f"a filter cannot use {', '.join(refused)}; it supports {_WORDS}"
        raise PlanError([PlanFault(message)])
    if not root.columns():
        raise PlanError([PlanFault("a filter must contain a column")])
    messages = [message for node in root.walk() for message in _list_mismatches(node)]
    if root.kind not in {_Kind.COLUMN, _Kind.COMPARISON}:
        messages.append(f"a filter must be true or false; this one returns {root.kind.value}")
    if messages:
        raise PlanError([PlanFault(message) for message in dict.fromkeys(messages)])

    def columns_of(names: Container[str], kind: _Kind | None = None) -> frozenset[str]:
        """The columns in calls of these operations with an operand of this kind (None: any)."""
        return frozenset(
            name
            for call in calls
            if call.name in names
            and (kind is None or any(part.kind is kind for part in call.inner))
            for name in call.columns()
        )

    numeric = columns_of(_ARITHMETIC) | columns_of(_COMPARE, _Kind.NUMBER)
    for name in sorted(numeric & columns_of(_COMPARE, _Kind.TEXT)):
        message = f"the column {name!r} is compared with a number and with a text"
        raise PlanError([PlanFault(message)])
    dated = _find_dated([call for call in calls if call.name in _COMPARE], declared)
    texts: dict[tuple[str, str], tuple[str, ...]] = {}
    return Filter(
        text=text,
        expression=_set_apart(expression, root, {*numeric, *dated}, texts),
        columns=frozenset(root.columns()),
        numeric=numeric,
        dated=dated,
        ordered=tuple(
            (call.inner[0].name, call.inner[1].name)
            for call in calls
            if call.name in _ORDER and all(part.kind is _Kind.COLUMN for part in call.inner)
        ),
        logical=frozenset(
            part.name
            for call in calls
            if call.name in _LOGIC
            for part in call.inner
            if part.kind is _Kind.COLUMN
        ),
        texts=texts,
        tested=columns_of(_IS_NULL) - columns_of(_COMPARE),
    )


def _set_apart(
    expression: pl.Expr,
    node: _Node,
    others: set[str],
    texts: dict[tuple[str, str], tuple[str, ...]],
) -> pl.Expr:
    """The expression; `name_apart` renames the columns that the expression compares with texts.

    Adds these columns and texts to `texts`. The columns in `others` keep their names. `and`, `or`
    and `not` are handled one at a time, because Polars cannot read a deep tree back.
    """
    if node.name in _JOINS and any(side.kind is _Kind.COMPARISON for side in node.inner):
        parts = expression.meta.pop()
        if node.name == "Not" and "Cast" in _read_tree(parts[0]):  # a comparison cast to Boolean
            parts = parts[0].meta.pop()
        pairs = zip(reversed(parts), node.inner, strict=True)
        return _JOINS[node.name](*(_set_apart(*pair, others, texts) for pair in pairs))
    tree = _read_tree(expression)
    own = _set_apart_in(tree, others, texts)
    if own == tree:
        return expression
    return pl.Expr.deserialize(io.BytesIO(json.dumps(own).encode()), format="json")


def _set_apart_in(
    tree: Any,  # noqa: ANN401  # Polars' own tree
    others: set[str],
    texts: dict[tuple[str, str], tuple[str, ...]],
) -> Any:  # noqa: ANN401  # the same
    """The tree of Polars, in which columns are renamed as in `_set_apart`."""
    if isinstance(tree, list):
        return [_set_apart_in(part, others, texts) for part in tree]
    if not isinstance(tree, dict):
        return tree
    comparison = tree.get("BinaryExpr", {}).get("op")
    if "Function" in tree:
        comparison = _find_function(tree["Function"]["function"])
    if comparison in {*_EQUAL, "IsIn"}:
        node, written = _convert(tree), json.dumps(tree)
        compared = [text for side in node.inner for text in side.texts]
        compared += [side.text for side in node.inner if side.kind is _Kind.BOOLEAN]
        sides = [side for side in node.inner if side.kind in {_Kind.COLUMN, _Kind.TEXT}]
        for side in sides if compared else ():
            letters = side.name if side.name in _LETTERS else ""
            for name in side.columns() - others:
                texts[name, letters] = (*texts.get((name, letters), ()), *compared)
                old, new = ({"Column": one} for one in (name, name_apart(name, letters)))
                written = written.replace(json.dumps(old), json.dumps(new))
        own = json.loads(written)
        if comparison in _DECIDE_BLANKS and compared:
            own["BinaryExpr"]["op"], test, join = _DECIDE_BLANKS[comparison]
            (name,) = node.columns()
            blank = {"Function": {"input": [{"Column": name}], "function": {"Boolean": test}}}
            own = {"BinaryExpr": {"left": blank, "op": join, "right": own}}
        if sides:
            return own
    return {key: _set_apart_in(part, others, texts) for key, part in tree.items()}


def _find_dated(comparisons: list[_Node], declared: set[str]) -> dict[str, int]:
    """The length of the longest date with which each column of dates is compared.

    `declared` are the columns with declared notations of dates. Raises `PlanError` for dates that
    would be compared in alphabetical order.
    """
    texts = [(call, value) for call in comparisons for side in call.inner for value in side.texts]
    dated: dict[str, int] = {}
    for call, value in texts:
        if _ISO_DATE.fullmatch(value):
            dated |= {name: max(len(value), dated.get(name, 0)) for name in call.columns()}
    for call, value in texts:
        for name in sorted(call.columns()):
            is_ordered = call.name in {*_ORDER, "IsBetween"}
            if _ISO_DATE.fullmatch(value) or not (
                name in {*dated, *declared} or (is_ordered and _OTHER_DATE.fullmatch(value.strip()))
            ):
                continue
            remedy = f'declare how the column writes dates, such as `dates: {{{name}: "%m/%d/%Y"}}`'
            message = (
                f"{quoted(value)} would be compared with {name!r} as text, not as a "
                f"date: {'' if name in declared else f'{remedy}, and '}"
                "write it as '2024-12-31' or '2024-12-31 23:59'"
            )
            raise PlanError([PlanFault(message)])
    return dated


def _list_mismatches(node: _Node) -> Iterator[str]:
    """Messages on operands of the wrong type, which SQL accepts without an error."""
    kinds = {side.kind for side in node.inner}
    if node.kind is _Kind.OTHER:
        yield f"{node.text} is neither a number nor a text; numbers are written 1000, 2.5 or 1e3"
    elif node.name in _COMPARE:
        yield from _list_comparison_mismatches(node, kinds)
    elif node.name in _LOGIC:
        for kind in sorted(kinds - {_Kind.COLUMN, _Kind.COMPARISON, _Kind.BOOLEAN}, key=str):
            word = _LOGIC[node.name]
            yield (
                f"`{word}` joins comparisons, and {kind.value} is not a comparison; write each "
                "one in full, such "
                "as x = 'a' or x = 'b', or x in ('a', 'b')"
            )
    elif node.name in _IS_NULL and kinds != {_Kind.COLUMN}:
        yield "`is null` asks whether a column has a value; put other comparisons in parentheses"
    elif node.name in _ARITHMETIC and kinds - {_Kind.COLUMN, _Kind.NUMBER}:
        (other, *_) = sorted(kinds - {_Kind.COLUMN, _Kind.NUMBER}, key=str)
        yield f"+ - * / % take numbers, not {other.value}"
    elif node.name in _SEARCHES | _LETTERS and kinds - {_Kind.COLUMN, _Kind.TEXT}:
        yield "like, lower and upper need texts, in single quotes"


def _list_comparison_mismatches(node: _Node, kinds: set[_Kind]) -> Iterator[str]:
    equality = node.name in _EQUAL
    if _Kind.COMPARISON in kinds and not (node.name in _JOINS and _Kind.BOOLEAN in kinds):
        meaning = "the inner one is true or false; write x > 1 and x < 5, or x between 1 and 5"
        inner = node.inner[0]
        if node.name in _SIGNS and inner.name in _SIGNS and len(inner.inner) == 2:
            # For `1 < x < 5`, show its meaning in SQL, and the comparisons to write instead.
            (low, middle), right = inner.inner, node.inner[1]
            first = f"{low.text} {_SIGNS[inner.name]} {middle.text}"
            second = f"{middle.text} {_SIGNS[node.name]} {right.text}"
            if low.text and middle.text and right.text:
                meaning = (
                    f"{first} {_SIGNS[node.name]} {right.text} would compare true or false with "
                    f"{right.text}; write {first} and {second}"
                )
        yield f"comparisons do not chain: {meaning}"
    elif _Kind.NULL in kinds and not node.name.endswith("Validity"):
        yield "no value is equal to null, less or more; write `is null` or `is not null`"
    elif any("" in side.texts for side in node.inner):
        yield "no cell is equal to '': an empty cell is null; write `x is not null`"
    elif _Kind.BOOLEAN in kinds and not equality:
        yield "true and false have no order; write `x` or `not x`"
    elif len(kinds - {_Kind.COLUMN}) > 1 and _Kind.COMPARISON not in kinds:
        first, second = sorted(kind.value for kind in kinds - {_Kind.COLUMN, _Kind.NULL})[:2]
        yield (
            f"{first} is compared with {second}: write texts in single quotes and numbers "
            "without quotes"
        )
    elif node.name in _ORDER:
        for side in node.inner:
            number = side.text[1:-1].strip()
            if side.kind is _Kind.TEXT and _NUMBER.fullmatch(number.lstrip("+-")):
                yield (
                    f"{side.text} is a text, and in the order of texts '9' comes after '10'; for a "
                    f"number write {number}, without quotes"
                )


def _convert(tree: Any) -> _Node:  # noqa: ANN401  # Polars' own tree
    """The tree of Polars as a `_Node`. An unknown operation keeps its name, for messages."""
    if isinstance(tree, str):
        return _Node(_Kind.OTHER, tree.lower())
    ((kind, body),) = tree.items()
    match kind:
        case "Column":
            return _Node(_Kind.COLUMN, body, text=body if body.isidentifier() else f'"{body}"')
        case "Literal":
            return _Node.of_literal(tree)
        case "BinaryExpr":
            return _make_call(body["op"], (_convert(body["left"]), _convert(body["right"])))
        case "Function":
            return _make_call(
                _find_function(body["function"]),
                tuple(_convert(argument) for argument in body["input"]),
            )
        case "Cast" if body["dtype"] == {"Literal": "Boolean"}:
            return _convert(body["expr"])
        case _:
            # Polars writes sum(x) as a `case` around an aggregate: show the name of the aggregate.
            inside = [name for part, name in _NAMES.items() if f'"{part}"' in json.dumps(body)]
            return _Node(_Kind.OTHER, _NAMES.get(kind) or (inside or [kind.lower()])[0])


def _make_call(name: str, inner: tuple[_Node, ...]) -> _Node:
    if name in _ARITHMETIC:
        return _Node(_Kind.NUMBER, name, inner)
    if name in _LETTERS:
        return _Node(_Kind.TEXT, name, inner)
    return _Node(_Kind.COMPARISON if name in _ALLOWED else _Kind.OTHER, name, inner)


def _find_kind(dtype: Any) -> _Kind:  # noqa: ANN401  # a Polars type, or its class
    if dtype.is_numeric():
        return _Kind.NUMBER
    if dtype in {pl.Date, pl.Time} or isinstance(dtype, pl.Datetime):
        return _Kind.MOMENT
    kinds = {pl.String: _Kind.TEXT, pl.Boolean: _Kind.BOOLEAN, pl.Null: _Kind.NULL}
    return next((kind for known, kind in kinds.items() if dtype == known), _Kind.OTHER)


def _find_function(tree: Any) -> str:  # noqa: ANN401  # plain data of Polars' own tree
    """The innermost name of a nested mapping, as in `{"Sql": {"Binary": "Gt"}}`."""
    if isinstance(tree, str):
        return tree
    ((kind, body),) = tree.items()
    return _find_function(body) if kind in {"Boolean", "StringExpr", "Sql", "Binary"} else str(kind)

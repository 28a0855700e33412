"""Reads values of a spec by the annotations of the record that declares their keys.

The type of a field determines how its value is read: scalars by `SCALARS`, words (`Literal` or an
enum) by look-up, and lists, mappings and records part by part. A `Form` first checks the value, or
expands a short form. `fairaudit schema` uses the same annotations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from enum import Enum, StrEnum
from fractions import Fraction
from functools import cache, partial
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin

from fairaudit.base.arrays import LARGEST_WHOLE
from fairaudit.base.errors import MOST_FAULTS, suggest_known
from fairaudit.base.frozen import Frozen, field, fields
from fairaudit.judge.simpson import ReversalKind
from fairaudit.metrics import CATALOGUE, find_comparison, find_metric, suggest
from fairaudit.metrics.comparisons import COMPARISONS
from fairaudit.metrics.conditional import PROPENSITY_STRATIFIED_DIFFERENCE
from fairaudit.metrics.other_names import PRESETS, find_preset
from fairaudit.spec.text import UNWRITTEN, Document, LocatedText, Path

JsonSchema: TypeAlias = Mapping[str, Any]

DIGITS = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?"
NUMBER = re.compile(DIGITS, re.ASCII)
_LONGEST = 400
"""The maximum length of a number, because exact arithmetic with a million digits is very slow."""


class Form(Frozen, eq=False):
    """The ways to write a value, in addition to the ways that its type allows.

    `expand` checks the value and expands short forms, or raises `ValueError` with a message for
    users. The reader of the type reads the result. `forms` are the JSON Schemas of short forms, in
    which `ITEM` means the schema of a list item. `described` replaces the JSON Schema of the type.
    """

    expand: Callable[[Any], object] = lambda value: value
    forms: tuple[JsonSchema, ...] = ()
    described: JsonSchema = field(default_factory=dict)


ITEM: JsonSchema = {}
_COLUMN = "a column of the data"
ColumnName: TypeAlias = Annotated[LocatedText, _COLUMN]
"""The name of a column. The document keeps the places of the name for messages."""


class Kind(StrEnum):
    """The kind of an error in a value or a key."""

    UNKNOWN_KEY = "unknown key"
    MISSING_KEY = "missing key"
    NO_MAPPING = "a mapping"
    NO_LIST = "a list"
    NO_CHOICE = "none of the words"
    REFUSED = "refused by its reader"


class SchemaError(Frozen):
    """A key or a `value` that does not fit its record; `path` begins at the root of the document.

    `words` are the allowed words. If the reader refused the value, they are its message instead.
    """

    path: Path
    kind: Kind
    value: object = None
    words: tuple[str, ...] = ()


Record = TypeVar("Record", bound=Frozen)
Errors: TypeAlias = list[SchemaError]
Read: TypeAlias = Callable[[Any, Path, Document, Errors], Any]


def forms_of(annotation: object) -> list[Form]:
    """The `Form` objects of an annotation, in the order of the annotation."""
    return [mark for mark in getattr(annotation, "__metadata__", ()) if isinstance(mark, Form)]


def read_record(
    record: type[Record], value: object, path: Path, document: Document, errors: Errors
) -> Record | None:
    """The record that a mapping describes. The record is invalid if the function adds errors."""
    if not isinstance(value, dict):
        errors.append(SchemaError(path, Kind.NO_MAPPING, value))
        return None
    keys, values = {member.encode_name: member for member in fields(record)}, {}
    for key, member in keys.items():
        if key in value:
            read = reader_of(member.type)
            step = key.removeprefix(UNWRITTEN)
            inner = (*path, step) if step else path
            values[member.name] = read(value[key], inner, document, errors)
        elif member.required:
            errors.append(SchemaError((*path, key), Kind.MISSING_KEY))
            values[member.name] = None
    unknown = [key for key in value if key not in keys]
    errors += [SchemaError((*path, key), Kind.UNKNOWN_KEY) for key in unknown]
    return record(**values)


@cache
def reader_of(annotation: Any) -> Read:  # noqa: ANN401  # any annotation
    """The function that reads a value of an annotated key."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if annotation in SCALARS:
        return partial(_read_form, SCALARS[annotation].expand, None)
    if origin is Annotated:
        read = partial(_read_located, is_column=True) if _COLUMN in parts else reader_of(parts[0])
        for form in forms_of(annotation):
            read = partial(_read_form, form.expand, read)
        return read
    if origin in {Union, UnionType}:
        (inner,) = [reader_of(part) for part in parts if part is not NoneType]
        return lambda value, *where: None if value is None else inner(value, *where)
    if origin is Literal:
        return partial(_look_up, {str(word): word for word in parts}.__getitem__, parts)
    if origin in {list, tuple, dict}:
        return partial(_read_parts, origin, reader_of(parts[1 if origin is dict else 0]))
    if issubclass(annotation, Enum):
        return partial(_look_up, annotation, (*annotation,))
    return _read_located if annotation is LocatedText else partial(read_record, annotation)


def _read_form(
    expand: Callable[[object], object],
    read: Read | None,
    value: object,
    path: Path,
    document: Document,
    errors: Errors,
) -> object:
    """The value that `read` makes of the expanded value; None after an error."""
    try:
        expanded = expand(value)
    except ValueError as error:
        errors.append(SchemaError(path, Kind.REFUSED, value, (str(error),)))
        return None
    return expanded if read is None else read(expanded, path, document, errors)


def _read_located(
    value: object, path: Path, document: Document, errors: Errors, *, is_column: bool = False
) -> LocatedText:
    text = document.text(path, str(_read_form(read_text, None, value, path, document, errors)))
    return document.column(text) if is_column else text


def _look_up(
    find: Callable[[str], object],
    known: tuple[object, ...],
    value: object,
    path: Path,
    _document: Document,
    errors: Errors,
) -> object:
    """The value that a word means; `find` may also accept earlier names of words."""
    try:
        return find(value if isinstance(value, str) else "")
    except (KeyError, ValueError):
        errors.append(SchemaError(path, Kind.NO_CHOICE, value, tuple(map(str, known))))
        return None


def _read_parts(
    kind: type, read: Read, value: object, path: Path, document: Document, errors: Errors
) -> object:
    """A list or a mapping; `read` reads each of its parts."""
    if not isinstance(value, dict if kind is dict else list):
        errors.append(SchemaError(path, Kind.NO_MAPPING if kind is dict else Kind.NO_LIST, value))
        return None
    parts = {
        step: read(part, (*path, step), document, errors)
        for step, part in (value.items() if isinstance(value, dict) else enumerate(value))
        if len(errors) < MOST_FAULTS
    }
    return parts if kind is dict else kind(parts.values())


KINDS = {dict: "a mapping", list: "a list", str: "a text", NoneType: "nothing"}
"""The kinds of values in a spec, in words."""


def read_text(value: object) -> str:
    """A text; raises `ValueError` for a list, a mapping and an empty value."""
    if value is None:
        raise ValueError("expected a text, found nothing; write '' for an empty text")
    if not isinstance(value, str):
        message = f"expected a text, found {KINDS[type(value)]}; use quotes to make it a text"
        raise ValueError(message)  # noqa: TRY004  # readers raise ValueError
    return value


def read_number(value: object) -> Decimal:
    """A number with all its digits; raises `ValueError` for other values and large numbers."""
    if not isinstance(value, str) or not NUMBER.fullmatch(value):
        is_percentage = isinstance(value, str) and value.endswith("%")
        hint = "; write 0.8 for 80 %" if is_percentage else ""
        raise ValueError(f"expected a number, such as 0.8{hint}")
    if len(value) > _LONGEST:
        raise ValueError(f"a number has at most {_LONGEST} digits")
    number = Decimal(value)
    if abs(float(number)) > LARGEST_WHOLE:
        raise ValueError(f"this number is too large: the maximum is {LARGEST_WHOLE:,}")
    return number


def read_share(value: object) -> Fraction:
    """A share of the people, as a number or a percentage; raises `ValueError` for other values."""
    text = value.strip() if isinstance(value, str) else ""
    digits = text.removesuffix("%").strip()
    if not NUMBER.fullmatch(digits):
        raise ValueError("expected a share of the people, such as 3% or 0.03")
    share = Fraction(read_number(digits)) / (100 if text.endswith("%") else 1)
    if not 0 < share < 1:
        raise ValueError("a share of the people must be between 0 and 1, or 0% and 100%")
    return share


def _match(value: object, pattern: str, expected: str) -> str:
    """A text that matches a pattern; raises `ValueError` for any other value."""
    if not isinstance(value, str) or not re.fullmatch(pattern, value):
        raise ValueError(f"expected {expected}")
    return value


def _read_day(value: object) -> date:
    day = _match(value, r"[0-9]{4}-[0-9]{2}-[0-9]{2}", "a date, such as 2026-03-31")
    try:
        return date.fromisoformat(day)
    except ValueError:
        raise ValueError(f"{day} is not a date: write a day that exists") from None


SCALARS = {
    str: Form(read_text, described={"type": ["string", "number", "boolean"]}),
    Decimal: Form(read_number, described={"type": "number"}),
    Fraction: Form(read_share, described={"type": ["string", "number"]}),
    int: Form(
        lambda value: int(_match(value, r"[0-9]{1,15}", "a whole number")),
        described={"type": "integer"},
    ),
    bool: Form(
        lambda value: _match(value, "true|false", "true or false") == "true",
        described={"type": "boolean"},
    ),
    date: Form(_read_day, described={"type": "string"}),
}
"""The readers of scalar types. A `Fraction` is a share of the people, and may be a percentage."""

SCALAR = SCALARS[str].described
NUMERIC = SCALARS[Decimal].described
WORDS = ("each", "full", "all")
"""Words for groupings: `each` column alone, the `full` set of columns, `all` their subsets."""

NO_REPLICATES = (
    "replicate weights are not supported: name the full-sample weight in `columns: {weight: …}`, "
    "and the sampling design in `design: {strata: …, cluster: …}`"
)
_LIMIT = re.compile(
    rf"(?P<side>[<>])\s*(?P<bound>{DIGITS})"
    rf"|outside\s+(?P<low>{DIGITS})\s*\.\.\s*(?P<high>{DIGITS})",
    re.ASCII,
)
_KINDS = [str(kind) for kind in ReversalKind]
_METRIC_NAMES = {
    *(name for metric in CATALOGUE for name in (metric.id, *metric.aliases)),
    *(preset.name for preset in PRESETS),
}
_COMPARISONS = [comparison.id for comparison in COMPARISONS]
_AVERAGES = (
    "pooled", "uniform", "reference", "group", "reference_people", "group_people", "overlap",
)  # fmt: skip


def as_list(value: object) -> object:
    """The value as a list; a single item becomes a list."""
    return value if isinstance(value, list) else [value]


def _check_number_or_median(value: object) -> object:
    try:
        return value if value == "median" else str(read_number(value))
    except ValueError as error:
        raise ValueError(f"{error}, or `median`") from None


def _check_filled(expected: str, value: object) -> str:
    """A text that is not blank; `expected` is the message of the error."""
    if not (text := read_text(value)).strip():
        raise ValueError(expected)
    return text


def _check_metric_name(value: object) -> str:
    name = read_text(value)
    if find_metric(name) is None and find_preset(name) is None:
        if find_comparison(name) is not None:
            raise ValueError(f"{name!r} is a comparison: use a rate with `compare: {name}`")
        raise ValueError(f"unknown metric {name!r}{suggest(name)}")
    return name


def _check_comparison(value: object) -> str:
    name = read_text(value)
    if name not in _COMPARISONS:
        raise ValueError(f"unknown comparison {name!r}{suggest_known(name, _COMPARISONS)}")
    return name


def _expand_average(value: object) -> object:
    """The weights as a mapping from strata to weights; a word for a rule maps this word to 1."""
    if isinstance(value, dict):
        if not value:
            raise ValueError("name a weight for each stratum")
        if any(str(name).startswith(UNWRITTEN) for name in value):
            raise ValueError("the name of a stratum cannot begin with a DEL character")
        return value
    name = read_text(value)
    if name not in _AVERAGES:
        hint = suggest_known(name, _AVERAGES)
        raise ValueError(
            f"unknown weights {name!r}{hint}; a weight for each stratum is also possible"
        )
    return {f"{UNWRITTEN}{name}": "1"}


def _expand_groupings(value: object) -> object:
    if value == [] or (isinstance(value, list) and [] in value):
        raise ValueError("an empty list names no column")
    return as_list(value)


def expand_reversal_limit(value: object) -> object:
    """A limit as a mapping: `true` means any reversal, `false` means no limit, a word is a kind."""
    if not isinstance(value, dict):
        name = read_text(value)
        if name == "false":
            return None
        if name != "true" and name not in _KINDS:
            raise ValueError(f"unknown kind {name!r}{suggest_known(name, (*_KINDS, 'true'))}")
        value = {} if name == "true" else {"kind": name}
    return {"kind": str(ReversalKind.MOST_PEOPLE), **value}


def expand_columns(value: object) -> object:
    """The columns as a mapping; names in a list, or a single name, become keys without options."""
    names = [value] if isinstance(value, str) else value
    if isinstance(names, list) and all(isinstance(name, str) for name in names):
        if len(set(names)) < len(names):
            raise ValueError("a name is listed twice: remove one")
        return dict.fromkeys(names)
    return value


def expand_features(value: object) -> object:
    """The features as a mapping. A list instead of options contains columns for similarity."""
    if not isinstance(value, dict):
        return expand_columns(value)
    return {
        name: {UNWRITTEN: body} if isinstance(body, list | str) else body
        for name, body in value.items()
    }


def under_key(key: str) -> Any:  # noqa: ANN401  # a function of any input
    """A function that turns a value into `{key: value}`, unless it is a mapping."""
    return lambda value: value if isinstance(value, dict) else {key: value}


def expand_metric(value: object) -> object:
    """An entry of `metrics` as a mapping. A model in `given` gets the name of a stratum."""
    entry = value if isinstance(value, dict) else {"metric": value}
    metric = find_metric(str(entry.get("metric")))
    default: object = {"propensity": {}} if metric is PROPENSITY_STRATIFIED_DIFFERENCE else None
    model = entry.get("given", default)
    if not isinstance(model, dict):
        return entry
    name = str(next(iter(model), "strata"))
    if name == "propensity":
        body, of = model[name], entry.get("by")
        if isinstance(of, list) and len(of) == 1:
            of = of[0]
        if isinstance(body, dict) and body.get("of") is not None:
            of = body["of"]
        if isinstance(of, str) and of not in WORDS:
            name = f"propensity of {of}"
    return {**entry, "given": name, f"{UNWRITTEN}given": model}


def expand_bound(value: object) -> object:
    """A limit as a mapping with `below` and `above`, from `< 0.8` or `outside: [-0.1, 0.1]`.

    `none` means no limit: an entry then ignores the limit of `defaults`.
    """
    if value == "none":
        return None
    if isinstance(value, dict) and "outside" in value:
        pair = value["outside"]
        if not isinstance(pair, list) or len(pair) != 2 or {"below", "above"} & set(value):
            raise ValueError("expected only `outside: [lowest, highest]`, without another bound")
        return {**value, "below": pair[0], "above": pair[1]}
    if not isinstance(value, str):
        return value
    text = value.strip()
    limit = _LIMIT.fullmatch(text)
    if limit is None:
        hint = ""
        if NUMBER.fullmatch(text):
            hint = f"; is it `< {text}` or `> {text}`?"
        elif text.startswith(("<=", ">=")):
            hint = "; limits are strict: a value equal to the limit passes"
        elif text.endswith("%"):
            hint = "; write 0.8 for 80 %"
        elif text.endswith(("significant", "conclusive")):
            word = text.rsplit(maxsplit=1)[-1]
            hint = f"; to require evidence, write `{{below: 0.8, {word}: true}}`"
        raise ValueError(f"expected a limit, `< 0.8`, `> 0.05` or `outside -0.05..0.05`{hint}")
    if limit["side"]:
        return {"below" if limit["side"] == "<" else "above": limit["bound"]}
    return {"below": limit["low"], "above": limit["high"]}


Words: TypeAlias = Annotated[str, Form(partial(_check_filled, "expected a text that is not empty"))]
Reason: TypeAlias = Annotated[
    str,
    Form(
        partial(_check_filled, "give a reason: every report prints it"),
        described={"type": "string", "minLength": 1},
    ),
]
METRIC_NAME = {"$ref": "#/$defs/_metric_name"}
METRIC_NAMES = {"enum": sorted(_METRIC_NAMES)}
MetricName: TypeAlias = Annotated[str, Form(_check_metric_name, described=METRIC_NAME)]
Comparison: TypeAlias = Annotated[str, Form(_check_comparison, described={"enum": _COMPARISONS})]
Above: TypeAlias = Annotated[
    str, Form(_check_number_or_median, described={"anyOf": [NUMERIC, {"const": "median"}]})
]
Texts: TypeAlias = Annotated[list[str], Form(as_list, (ITEM,))]
LocatedTexts: TypeAlias = Annotated[tuple[LocatedText, ...], Form(as_list, (ITEM,))]
Conditions: TypeAlias = Annotated[tuple[dict[str, LocatedTexts], ...], Form(as_list, (ITEM,))]
ColumnNames: TypeAlias = Annotated[tuple[ColumnName, ...], Form(as_list, (ITEM,))]
Numbers: TypeAlias = Annotated[list[Decimal], Form(as_list, (ITEM,))]
Groupings: TypeAlias = Annotated[list[Texts], Form(_expand_groupings, (SCALAR,))]
GroupingsOrNone: TypeAlias = Annotated[
    list[Texts], Form(lambda value: [] if value == [] else _expand_groupings(value), (SCALAR,))
]
Average: TypeAlias = Annotated[
    dict[str, Decimal], Form(_expand_average, ({"enum": list(_AVERAGES)},))
]
ReferenceMap: TypeAlias = Annotated[dict[str, str], Form(under_key(""), (SCALAR,))]
LIMIT_TEXT = {"type": "string", "pattern": "^\\s*([<>]|outside\\s|none$)"}
TURNED_WORDS = {"enum": [True, False, *_KINDS]}

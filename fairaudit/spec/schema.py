"""The shape of a spec: its keys and their types, and the JSON Schema that editors use.

Shorthand is normalised before a field is validated, so there are no unions and every fault is
reported once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal, TypeAlias, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ValidationError,
    WithJsonSchema,
)

from fairaudit.errors import Fault, SpecError, did_you_mean
from fairaudit.metrics import CATALOGUE, comparison, find, suggestion
from fairaudit.metrics import Policy as ReferencePolicy
from fairaudit.simpson import Kind
from fairaudit.spec.text import Document, Path, Tree
from fairaudit.verdict import OnUndefined

VERSION: Literal["1"] = "1"

_NOT_YET: dict[str, frozenset[str]] = {
    "AuditSpec": frozenset(
        {"inference", "expect", "profile", "suppress_below", "waivers", "baseline"}
    ),
    "Columns": frozenset({"models", "numbers"}),
    "ProtectedColumn": frozenset({"levels"}),
    "StratumColumn": frozenset({"quantiles"}),
    "OutcomeColumn": frozenset({"number", "counts"}),
    "Positive": frozenset({"top"}),
    "MissingRules": frozenset({"numbers"}),
    "Groups": frozenset({"exclude_below", "min_events"}),
    "Metric": frozenset({"against", "average", "id", "min_size", "min_events", "sd", "utilities"}),
    "Bound": frozenset({"significant", "conclusive"}),
    "Simpson": frozenset({"search"}),
}
"""Keys of the full language that this version refuses as not yet supported, by model."""

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?")
_STAND_IN: Tree = {"metric": "differential_fairness"}
_SCALAR = {"type": ["string", "number", "boolean"]}
_NUMERIC = {"type": "number"}


def _text(value: object) -> object:
    if value is None:
        raise ValueError("expected a text, found nothing; an empty text is written ''")
    if isinstance(value, dict | list):
        kind = "a list" if isinstance(value, list) else "a mapping"
        message = f"expected a text, found {kind}; put it in quotes if it is one"
        raise ValueError(message)  # noqa: TRY004  # pydantic collects ValueError
    return value


def _number(value: object) -> Decimal:
    if not isinstance(value, str) or not _NUMBER.fullmatch(value):
        raise ValueError("expected a number, such as 0.8")
    number = Decimal(value)
    if not math.isfinite(float(number)):
        raise ValueError("this number is too large")
    return number


def _whole(value: object) -> int:
    if not isinstance(value, str) or not re.fullmatch(r"\d{1,15}", value):
        raise ValueError("expected a whole number")
    return int(value)


def _flag(value: object) -> bool:
    if not isinstance(value, str) or value not in {"true", "false"}:
        raise ValueError("expected true or false")
    return value == "true"


def _listed(value: object) -> object:
    return value if isinstance(value, list) else [value]


def _metric_name(value: object) -> str:
    name = str(_text(value))
    if find(name) is None:
        if comparison(name) is not None:
            raise ValueError(f"{name!r} is a comparison: name a rate and say `compare: {name}`")
        raise ValueError(f"unknown metric {name!r}{suggestion(name)}")
    return name


def _nested(value: object) -> object:
    if value == [] or (isinstance(value, list) and [] in value):
        raise ValueError("an empty list names no grouping")
    return [_listed(one) for one in value] if isinstance(value, list) else [[value]]


def _some(value: object) -> object:
    if value in ([], None):
        raise ValueError("ask for at least one metric")
    return _listed(value)


def _mapped(value: object) -> object:
    """A list of names as a mapping; an entry without a body is an empty one."""
    if isinstance(value, str):
        value = [value]
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        if len(set(value)) < len(value):
            raise ValueError("a name stands twice in the list")
        return {one: {} for one in value}
    if isinstance(value, dict):
        return {name: {} if body is None else body for name, body in value.items()}
    return value


def _under(key: str) -> Any:  # noqa: ANN401  # a validator of any input
    def wrap(value: object) -> object:
        return value if isinstance(value, dict) else {key: value}

    return wrap


def _bound(value: object) -> object:
    """`outside: [lo, hi]` is both bounds."""
    if isinstance(value, dict) and "outside" in value:
        pair = value["outside"]
        if not isinstance(pair, list) or len(pair) != 2 or len(value) > 1:
            raise ValueError("expected `outside: [lowest, highest]` and no other bound")
        return {"below": pair[0], "above": pair[1], "outside": pair}
    return value


Text: TypeAlias = Annotated[str, BeforeValidator(_text), WithJsonSchema(_SCALAR)]
Number: TypeAlias = Annotated[Decimal, BeforeValidator(_number), WithJsonSchema(_NUMERIC)]
Whole: TypeAlias = Annotated[int, BeforeValidator(_whole), WithJsonSchema({"type": "integer"})]
Flag: TypeAlias = Annotated[bool, BeforeValidator(_flag), WithJsonSchema({"type": "boolean"})]
_TEXTS = {"anyOf": [_SCALAR, {"type": "array", "items": _SCALAR}]}
Texts: TypeAlias = Annotated[list[Text], BeforeValidator(_listed), WithJsonSchema(_TEXTS)]
Numbers: TypeAlias = Annotated[list[Number], BeforeValidator(_listed)]
Groupings: TypeAlias = Annotated[
    list[list[Text]],
    BeforeValidator(_nested),
    WithJsonSchema({"anyOf": [_SCALAR, {"type": "array", "items": _TEXTS}]}),
]


class _Strict(BaseModel):
    """No key that is not named here; a spec is never changed once it is read."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Positive(_Strict):
    """The positive values, or a cut on a number."""

    values: Texts | None = None
    at_least: Number | None = None
    above: Number | None = None
    at_most: Number | None = None
    below: Number | None = None


class ProtectedColumn(_Strict):
    """A protected attribute."""

    column: Text | None = None
    trim: Flag = False
    unknown: Texts = []
    merge: Annotated[dict[str, Texts], BeforeValidator(lambda value: value)] = {}
    keep: Texts | None = None
    other: Text | None = None
    bins: Numbers | None = None
    reference: Text | None = None


class StratumColumn(_Strict):
    """A legitimate factor to condition on."""

    column: Text | None = None
    bins: Numbers | None = None


class OutcomeColumn(_Strict):
    """A label, prediction or decision."""

    column: Text
    positive: (
        Annotated[
            Positive,
            BeforeValidator(_under("values")),
            WithJsonSchema(
                {
                    "anyOf": [
                        *_TEXTS["anyOf"],
                        {
                            "type": "object",
                            "additionalProperties": False,
                            "minProperties": 1,
                            "properties": dict.fromkeys(
                                ("at_least", "above", "at_most", "below"), _NUMERIC
                            ),
                        },
                    ]
                }
            ),
        ]
        | None
    ) = None
    negative: Texts | None = None
    others: Literal["error", "drop"] = "error"
    favourable: Flag = True


def _shorthand(inner: type[BaseModel], short: dict[str, Any]) -> Any:  # noqa: ANN401
    """The JSON Schema of a model that may also be written short."""
    return {"anyOf": [short, {"$ref": f"#/$defs/{inner.__name__}"}]}


_Protected: TypeAlias = Annotated[dict[str, ProtectedColumn], BeforeValidator(_mapped)]
_Strata: TypeAlias = Annotated[dict[str, StratumColumn], BeforeValidator(_mapped)]
_Outcome: TypeAlias = Annotated[OutcomeColumn, BeforeValidator(_under("column"))]


class Columns(_Strict):
    """What each column of the data is to the audit."""

    protected: _Protected
    label: _Outcome | None = None
    prediction: _Outcome | None = None
    decision: _Outcome | None = None
    score: Text | None = None
    count: Text | None = None
    weight: Text | None = None
    strata: _Strata = {}


class FileFormat(_Strict):
    """How the CSV files are written."""

    separator: Text = ","
    decimal: Text = "."
    encoding: Text = "utf-8"
    multiline: Flag = False


class MissingRules(_Strict):
    """What is missing and what becomes of it."""

    tokens: Texts = [""]
    protected: Literal["show", "group", "aside", "drop", "error"] = "show"
    strata: Literal["show", "group", "aside", "drop", "error"] = "show"
    label: Literal["aside", "drop", "error"] = "aside"
    prediction: Literal["aside", "drop", "error"] = "error"
    score: Literal["aside", "drop", "error"] = "error"


class Groups(_Strict):
    """Which groupings are reported, and how many people a group must have to take part."""

    by: Groupings = [["all"]]
    min_size: Whole | None = None


class Bound(_Strict):
    """A limit: strictly below, strictly above, or outside two bounds."""

    below: Number | None = None
    above: Number | None = None
    outside: Numbers | None = None


_Limit: TypeAlias = Annotated[Bound, BeforeValidator(_bound)]
_ReferenceMap: TypeAlias = Annotated[
    dict[str, Text],
    BeforeValidator(_under("")),
    WithJsonSchema({"anyOf": [_SCALAR, {"type": "object", "additionalProperties": _SCALAR}]}),
]
_MetricName: TypeAlias = Annotated[
    str,
    BeforeValidator(_metric_name),
    WithJsonSchema(
        {"enum": sorted({name for one in CATALOGUE for name in (one.id, *one.aliases)})}
    ),
]


class Metric(_Strict):
    """A metric to report, and with a limit a check."""

    metric: _MetricName
    compare: Literal["difference", "ratio", "gap", "min_ratio"] | None = None
    reference: _ReferenceMap | None = None
    by: Groupings | None = None
    given: Groupings | None = None
    of: Text | None = None
    warn: _Limit | None = None
    fail: _Limit | None = None
    undefined: OnUndefined | None = None
    smoothing: Number | None = None
    concentration: Number | None = None


class Simpson(_Strict):
    """The scan for Simpson's reversals."""

    rates: Texts | None = None
    by: Texts = ["each"]
    given: Texts = ["all"]
    min_gap: Number = Decimal("0.01")
    warn: Kind | None = None
    fail: Kind | None = None


class AuditSpec(_Strict):
    """An audit spec."""

    version: Literal["1"] = VERSION
    title: Text | None = None
    context: dict[str, Text] = {}
    data: Texts | None = None
    columns: Columns
    format: FileFormat = FileFormat()
    filter: Text | None = None
    missing: MissingRules = MissingRules()
    undefined: OnUndefined = OnUndefined.FAIL
    groups: Groups = Groups()
    metrics: Annotated[
        list[Annotated[Metric, BeforeValidator(_under("metric"))]], BeforeValidator(_some)
    ]
    simpson: Simpson = Simpson()


@dataclass(frozen=True, slots=True)
class Shape:
    """A validated spec; with faults, what is left of it without the faulty parts.

    `skipped` are the numbers of the entries of `metrics` that are faulty: they hold a stand-in.
    """

    spec: AuditSpec
    faults: tuple[Fault, ...] = ()
    skipped: frozenset[int] = frozenset()


def validate(document: Document) -> Shape:
    """The spec as a model, with every fault of its shape, located.

    Raises `SpecError` where too little is left to go on: where the columns are not described.
    """
    try:
        return Shape(AuditSpec.model_validate(document.tree))
    except ValidationError as error:
        found = error.errors()
    typos = [one["loc"] for one in found if one["type"] == "extra_forbidden"]
    faults = tuple(_fault(document, one) for one in found if not _explained(one, typos))
    tree, skipped = _without(document.tree, [one["loc"] for one in found])
    try:
        return Shape(AuditSpec.model_validate(tree), faults, skipped)
    except ValidationError:
        raise SpecError(faults) from None


def _without(tree: Tree, paths: Sequence[Path]) -> tuple[Tree, frozenset[int]]:
    """The tree without its faulty parts, but for `columns`, on which all else rests."""
    if not isinstance(tree, dict):
        return tree, frozenset()
    skipped = {path[1] for path in paths if path[0] == "metrics" and len(path) > 1}
    dropped = {path[0] for path in paths} - {"columns", "metrics"}
    left = {name: body for name, body in tree.items() if name not in dropped}
    entries = left.get("metrics")
    if isinstance(entries, list):
        left["metrics"] = [
            _STAND_IN if at in skipped else entry for at, entry in enumerate(entries)
        ]
    return left, frozenset(at for at in skipped if isinstance(at, int))


def _explained(error: Any, typos: Sequence[Path]) -> bool:  # noqa: ANN401  # pydantic's error dict
    """Whether a missing key is explained by a mistyped one beside it."""
    path = error["loc"]
    return error["type"] == "missing" and any(
        typo[:-1] == path[:-1] and did_you_mean(str(typo[-1]), [str(path[-1])]) for typo in typos
    )


def _fault(document: Document, error: Any) -> Fault:  # noqa: ANN401  # pydantic's error dict
    path: Path = tuple(error["loc"])
    kind, context = error["type"], error.get("ctx", {})
    if kind == "extra_forbidden":
        return document.fault(path, _unknown_key(path), key=True)
    if kind == "missing":
        return document.fault(path[:-1], f"`{path[-1]}` is missing")
    if kind in {"literal_error", "enum"}:
        known = context["expected"].replace("'", "").replace(" or ", ", ").split(", ")
        found = error["input"] if isinstance(error["input"], str) else "something else"
        message = f"{found!r} is not one of {', '.join(known)}{did_you_mean(str(found), known)}"
        return document.fault(path, message)
    if kind == "value_error":
        return document.fault(path, str(context["error"]))
    expected = {"dict_type": "a mapping", "list_type": "a list", "model_type": "a mapping"}
    what = expected.get(kind, "a text")
    return document.fault(path, f"expected {what}, found {_kind_of(error['input'])}")


def _kind_of(tree: Tree) -> str:
    match tree:
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case str():
            return "a text"
        case _:
            return "nothing"


def _unknown_key(path: Path) -> str:
    model = _model_at(path[:-1])
    key = str(path[-1])
    if key in _NOT_YET.get(model.__name__, ()):
        return "this key is not yet supported by this version"
    return f"unknown key{did_you_mean(key, model.model_fields)}"


def _model_at(path: Path) -> type[BaseModel]:
    """The model that a path of a spec leads to."""
    model: type[BaseModel] = AuditSpec
    for step in path:
        if isinstance(step, str) and step in model.model_fields:
            model = _inner_model(model.model_fields[step].annotation) or model
    return model


def _inner_model(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for one in get_args(annotation) if (found := _inner_model(one))), None)


REFERENCES = tuple(str(policy) for policy in ReferencePolicy if policy is not ReferencePolicy.LEVEL)
"""The words that name a reference policy in a spec."""


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a spec, as editors read it (version 2020-12)."""
    schema = AuditSpec.model_json_schema(mode="validation")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "fairaudit spec",
        **_with_shorthand(schema),
    }


def _with_shorthand(schema: dict[str, Any]) -> dict[str, Any]:
    """The generated schema, with the short forms that are normalised before validation."""
    names = {"type": "array", "items": _SCALAR}
    columns = schema["$defs"]["Columns"]["properties"]
    for key in ("label", "prediction", "decision"):
        columns[key] = _shorthand(OutcomeColumn, _SCALAR)
    for key, inner in (("protected", ProtectedColumn), ("strata", StratumColumn)):
        body = {"anyOf": [{"type": "null"}, {"$ref": f"#/$defs/{inner.__name__}"}]}
        columns[key] = {"anyOf": [_SCALAR, names, {"type": "object", "additionalProperties": body}]}
    bound = schema["$defs"]["Bound"]["properties"]
    bound["outside"] = {"type": "array", "items": _NUMERIC, "minItems": 2, "maxItems": 2}
    schema["$defs"]["Bound"]["minProperties"] = 1
    schema["properties"]["version"] = {"enum": [int(VERSION), VERSION]}
    metric = {"anyOf": [{"$ref": "#/$defs/_metric_name"}, {"$ref": "#/$defs/Metric"}]}
    schema["$defs"]["_metric_name"] = schema["$defs"]["Metric"]["properties"]["metric"]
    schema["properties"]["metrics"] = {
        "anyOf": [*metric["anyOf"], {"type": "array", "items": metric}]
    }
    schema.pop("title", None)
    return schema

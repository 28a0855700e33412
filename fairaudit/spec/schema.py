"""The shape of a spec: its keys and their types, and the JSON Schema that editors use.

Shorthand is normalised before a field is validated, so there are no unions and every fault is
reported once.
"""

from __future__ import annotations

import math
import re
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    WithJsonSchema,
)

from fairaudit.cube import ExcludeBelow, ShareOf
from fairaudit.errors import did_you_mean
from fairaudit.metrics import (
    CATALOGUE,
    COMPARISONS,
    Minimum,
    ReferencePolicy,
    find_comparison,
    find_metric,
    suggest,
)
from fairaudit.metrics.terms import (
    DEFAULT_INFERENCE,
    Correction,
    FisherTest,
    RatioInterval,
    TTest,
    ZTest,
)
from fairaudit.simpson import PairChoice, ReversalKind
from fairaudit.simpson.kinds import FORMER_NAMES
from fairaudit.verdict import OnUndefined

VERSION: Literal["1"] = "1"

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_LONGEST = 400
"""So many signs a number may have: exact arithmetic with a million digits would take for ever."""
_SCALAR = {"type": ["string", "number", "boolean"]}
_NUMERIC = {"type": "number"}
_KINDS = [str(kind) for kind in ReversalKind]


def _text(value: object) -> object:
    if value is None:
        raise ValueError("expected a text, found nothing; an empty text is written ''")
    if isinstance(value, dict | list):
        kind = "a list" if isinstance(value, list) else "a mapping"
        message = f"expected a text, found {kind}; put it in quotes if it is one"
        raise ValueError(message)  # noqa: TRY004  # pydantic collects ValueError
    return value


def number(value: object) -> Decimal:
    """A number as it is written; raises `ValueError` for what is none, or none to reckon with."""
    if not isinstance(value, str) or not _NUMBER.fullmatch(value):
        raise ValueError("expected a number, such as 0.8")
    if len(value) > _LONGEST:
        raise ValueError(f"a number has at most {_LONGEST} digits")
    found = Decimal(value)
    if not math.isfinite(float(found)):
        raise ValueError("this number is too large")
    return found


def _number_or_median(value: object) -> Decimal | str:
    if value == "median":
        return "median"
    try:
        return number(value)
    except ValueError as error:
        raise ValueError(f"{error}, or `median`") from None


def _share(value: object) -> Fraction:
    text = value.strip() if isinstance(value, str) else ""
    written = text.removesuffix("%").strip()
    if not _NUMBER.fullmatch(written):
        raise ValueError("expected a share of the people, such as 3% or 0.03")
    share = Fraction(number(written)) / (100 if text.endswith("%") else 1)
    if not 0 < share < 1:
        raise ValueError("a share of the people lies between 0 and 1, or 0% and 100%")
    return share


def _reason(value: object) -> object:
    if not str(_text(value)).strip():
        raise ValueError("say why: the reason stands in every report")
    return value


def _whole(value: object) -> int:
    if not isinstance(value, str) or not re.fullmatch(r"[0-9]{1,15}", value):
        raise ValueError("expected a whole number")
    return int(value)


def _flag(value: object) -> bool:
    if not isinstance(value, str) or value not in {"true", "false"}:
        raise ValueError("expected true or false")
    return value == "true"


def _words(value: object) -> object:
    text = _text(value)
    if not str(text).strip():
        raise ValueError("expected a text that is not empty")
    return text


def _day(value: object) -> date:
    if not isinstance(value, str) or not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
        raise ValueError("expected a date, such as 2026-03-31")
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise ValueError(f"there is no day {value}") from None


def _waived(value: object) -> object:
    """`all` as no group at all; else a level for each attribute."""
    if value == "all":
        return {}
    if not isinstance(value, dict) or not value:
        raise ValueError("expected a level for each attribute, such as {gender: F}, or `all`")
    return value


def _listed(value: object) -> object:
    return value if isinstance(value, list) else [value]


def _metric_name(value: object) -> str:
    name = str(_text(value))
    if find_metric(name) is None:
        if find_comparison(name) is not None:
            raise ValueError(f"{name!r} is a comparison: name a rate and say `compare: {name}`")
        raise ValueError(f"unknown metric {name!r}{suggest(name)}")
    return name


def _comparison(value: object) -> str:
    name = str(_text(value))
    known = [one.id for one in COMPARISONS]
    if name not in known:
        hint = did_you_mean(name, known) or f"; there is {', '.join(known)}"
        raise ValueError(f"unknown comparison {name!r}{hint}")
    return name


def _averaged(value: object) -> object:
    """A rule as a mapping of its word to 1; a mapping gives each stratum its weight."""
    if isinstance(value, dict):
        if not value:
            raise ValueError("name the weight of each stratum")
        return value
    name = str(_text(value))
    if name not in _AVERAGES:
        hint = did_you_mean(name, _AVERAGES) or f"; there is {', '.join(_AVERAGES)}"
        raise ValueError(f"unknown weights {name!r}{hint}, or a weight for each stratum")
    return {f"={name}": "1"}


def _nested(value: object) -> object:
    if value == [] or (isinstance(value, list) and [] in value):
        raise ValueError("an empty list names no grouping")
    return [_listed(one) for one in value] if isinstance(value, list) else [[value]]


def _nested_or_none(value: object) -> object:
    return [] if value == [] else _nested(value)


def _turned(value: object) -> object:
    """A kind by its name; `true` is any reversal, `false` none at all."""
    if isinstance(value, dict):
        return value
    name = str(_text(value))
    if name in {"true", "false"}:
        return {} if name == "true" else None
    if name in FORMER_NAMES:
        name = str(FORMER_NAMES[name])
    if name not in _KINDS:
        hint = did_you_mean(name, _KINDS) or f"; there is {', '.join(_KINDS)}"
        raise ValueError(f"unknown kind {name!r}{hint}, and `true` for any reversal")
    return {"kind": name}


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
        if not isinstance(pair, list) or len(pair) != 2 or {"below", "above"} & set(value):
            raise ValueError("expected `outside: [lowest, highest]` and no other bound")
        return {**value, "below": pair[0], "above": pair[1]}
    return value


Text: TypeAlias = Annotated[str, BeforeValidator(_text), WithJsonSchema(_SCALAR)]
Number: TypeAlias = Annotated[Decimal, BeforeValidator(number), WithJsonSchema(_NUMERIC)]
_ABOVE = {"anyOf": [_NUMERIC, {"const": "median"}]}
Above: TypeAlias = Annotated[
    Decimal | str, PlainValidator(_number_or_median), WithJsonSchema(_ABOVE)
]
_SHARE = {"type": ["string", "number"]}
Share: TypeAlias = Annotated[Fraction, PlainValidator(_share), WithJsonSchema(_SHARE)]
Whole: TypeAlias = Annotated[int, BeforeValidator(_whole), WithJsonSchema({"type": "integer"})]
Words: TypeAlias = Annotated[str, BeforeValidator(_words), WithJsonSchema(_SCALAR)]
Day: TypeAlias = Annotated[date, PlainValidator(_day), WithJsonSchema({"type": "string"})]
Flag: TypeAlias = Annotated[bool, BeforeValidator(_flag), WithJsonSchema({"type": "boolean"})]
_TEXTS = {"anyOf": [_SCALAR, {"type": "array", "items": _SCALAR}]}
Texts: TypeAlias = Annotated[list[Text], BeforeValidator(_listed), WithJsonSchema(_TEXTS)]
Numbers: TypeAlias = Annotated[list[Number], BeforeValidator(_listed)]
_GROUPINGS = {"anyOf": [_SCALAR, {"type": "array", "items": _TEXTS}]}
Groupings: TypeAlias = Annotated[
    list[list[Text]], BeforeValidator(_nested), WithJsonSchema(_GROUPINGS)
]
GroupingsOrNone: TypeAlias = Annotated[
    list[list[Text]], BeforeValidator(_nested_or_none), WithJsonSchema(_GROUPINGS)
]


_Reason: TypeAlias = Annotated[
    str, BeforeValidator(_reason), WithJsonSchema({"type": "string", "minLength": 1})
]


class _Strict(BaseModel):
    """No key that is not named here; a spec is never changed once it is read."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Positive(_Strict):
    """The positive values, or a cut on a number."""

    values: Texts | None = None
    at_least: Number | None = None
    above: Above | None = None
    at_most: Number | None = None
    below: Number | None = None
    top: Share | None = None


class ProtectedColumn(_Strict):
    """A protected attribute."""

    column: Text | None = None
    trim: Flag = False
    unknown: Texts = []
    merge: Annotated[dict[str, Texts], BeforeValidator(lambda value: value)] = {}
    keep: Texts | None = None
    other: Text | None = None
    bins: Numbers | None = None
    quantiles: Whole | None = None
    reference: Text | None = None


class StratumColumn(_Strict):
    """A declared factor to condition on, or a feature to look for subgroups in."""

    column: Text | None = None
    bins: Numbers | None = None
    quantiles: Whole | None = None


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
                            "properties": {
                                **dict.fromkeys(("at_least", "at_most", "below"), _NUMERIC),
                                "above": _ABOVE,
                                "top": _SHARE,
                            },
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
    number: Flag = False


def _shorthand(inner: type[BaseModel], short: dict[str, Any]) -> dict[str, Any]:
    """The JSON Schema of a model that may also be written short."""
    return {"anyOf": [short, {"$ref": f"#/$defs/{inner.__name__}"}]}


_Protected: TypeAlias = Annotated[dict[str, ProtectedColumn], BeforeValidator(_mapped)]
_Strata: TypeAlias = Annotated[dict[str, StratumColumn], BeforeValidator(_mapped)]
_Outcome: TypeAlias = Annotated[OutcomeColumn, BeforeValidator(_under("column"))]


class ModelColumns(_Strict):
    """One of several models: what it predicts, and its score."""

    prediction: _Outcome | None = None
    score: Text | None = None


class Columns(_Strict):
    """What each column of the data is to the audit."""

    protected: _Protected
    label: _Outcome | None = None
    prediction: _Outcome | None = None
    decision: _Outcome | None = None
    models: dict[str, ModelColumns] | None = None
    score: Text | None = None
    numbers: dict[str, Text] = {}
    count: Text | None = None
    weight: Text | None = None
    cluster: Text | None = None
    strata: _Strata = {}
    features: _Strata = {}


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
    numbers: Literal["aside", "drop", "error"] = "aside"


class Exclusion(_Strict):
    """Groups that are too small a share of the people to be compared, and by whose rule."""

    share: Share
    reason: _Reason
    of: Annotated[
        Literal["known", "all"],
        Field(
            description="What the share is of: the people whose group is known, or all people, "
            "those whose group is not known included."
        ),
    ] = "known"

    @property
    def rule(self) -> ExcludeBelow:
        """The rule as it is applied."""
        return ExcludeBelow(self.share, self.reason, ShareOf(self.of))


class Groups(_Strict):
    """Which groupings are reported, and what a group must reach to take part."""

    by: Groupings = [["all"]]
    min_size: Whole | None = None
    min_events: Whole | None = None
    exclude_below: Exclusion | None = None

    @property
    def rule(self) -> ExcludeBelow | None:
        """Which groups are too small a share of the people, where the spec says so."""
        return None if self.exclude_below is None else self.exclude_below.rule

    @property
    def minimum(self) -> Minimum:
        """What a group must reach to take part."""
        return Minimum(self.min_size, self.min_events)


class Inference(_Strict):
    """How sure intervals and tests are, and by which of several accepted ways."""

    confidence: Number = DEFAULT_INFERENCE.confidence
    correction: Correction = DEFAULT_INFERENCE.correction
    ratio: RatioInterval = DEFAULT_INFERENCE.ratio
    z: ZTest = DEFAULT_INFERENCE.z
    t: TTest = DEFAULT_INFERENCE.t
    fisher: FisherTest = DEFAULT_INFERENCE.fisher
    yates: bool = DEFAULT_INFERENCE.yates


class Bound(_Strict):
    """A limit: strictly below, strictly above, or outside two bounds; and what it takes to cross.

    `significant`: the test of no disparity rejects. `conclusive`: a whole interval beyond.
    """

    below: Number | None = None
    above: Number | None = None
    outside: Numbers | None = None
    significant: Flag = False
    conclusive: Flag = False


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


_Comparison: TypeAlias = Annotated[
    str,
    BeforeValidator(_comparison),
    WithJsonSchema({"enum": [one.id for one in COMPARISONS]}),
]
_AVERAGES = ("pooled", "uniform", "reference", "group")
_Average: TypeAlias = Annotated[
    dict[str, Number],
    BeforeValidator(_averaged),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": list(_AVERAGES)},
                {"type": "object", "additionalProperties": _NUMERIC, "minProperties": 1},
            ]
        }
    ),
]


class Metric(_Strict):
    """A metric to report, and with a limit a check."""

    metric: _MetricName
    compare: _Comparison | None = None
    reference: _ReferenceMap | None = None
    by: Groupings | None = None
    given: Groupings | None = None
    of: Text | None = None
    warn: _Limit | None = None
    fail: _Limit | None = None
    undefined: OnUndefined | None = None
    smoothing: Number | None = None
    concentration: Number | None = None
    alpha: Number | None = None
    utilities: dict[str, Number] | None = None
    controls: Texts | None = None
    average: _Average | None = None
    of_class: Annotated[Text | None, Field(alias="class")] = None
    aggregate: Literal["mean"] | None = None
    sd: Literal["pooled", "total"] | None = None
    against: Text | None = None
    at: Numbers | None = None


class Turned(_Strict):
    """A limit for reversals: the weakest kind that crosses it, and whether it must be proven."""

    kind: ReversalKind = ReversalKind.MOST_PEOPLE
    significant: Flag = False


_TURNED = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"kind": {"enum": _KINDS}, "significant": {"type": "boolean"}},
}
_TurnedLimit: TypeAlias = Annotated[
    Turned | None,
    BeforeValidator(_turned),
    WithJsonSchema({"anyOf": [{"enum": [True, False, *_KINDS]}, _TURNED]}),
]


class Simpson(_Strict):
    """The scan for Simpson's reversals.

    `given` holds columns, and lists of columns to hold fixed together; `together` is up to how many
    of the columns are taken together on top.
    """

    rates: Texts | None = None
    of: Text | None = None
    by: Texts = ["each"]
    given: GroupingsOrNone = [["all"]]
    together: Whole = 1
    search: Flag = False
    pairs: PairChoice = PairChoice.ALL
    min_gap: Number = Decimal("0.01")
    warn: _TurnedLimit = None
    fail: _TurnedLimit = None


class Subgroups(_Strict):
    """The search for subgroups that a rate treats unlike everybody."""

    of: Text | None = None
    over: Texts = ["all"]
    rates: Texts | None = None
    depth: Whole = 3
    min_size: Whole = 100
    top: Whole = 10
    warn: _Limit | None = None
    fail: _Limit | None = None


class WaiverEntry(_Strict):
    """An entry of a file of waivers."""

    check: Words
    group: Annotated[dict[str, Words], BeforeValidator(_waived)]
    reason: Words
    approved_by: Words
    expires: Day


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
    inference: Inference = Inference()
    metrics: Annotated[
        list[Annotated[Metric, BeforeValidator(_under("metric"))]], BeforeValidator(_some)
    ]
    simpson: Simpson = Simpson()
    subgroups: Subgroups | None = None
    waivers: Words | None = None
    suppress_below: Whole | None = None


REFERENCES = tuple(
    str(policy)
    for policy in ReferencePolicy
    if policy not in {ReferencePolicy.LEVEL, ReferencePolicy.EVERYBODY}
)
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
    models = schema["$defs"]["ModelColumns"]
    models["properties"]["prediction"] = _shorthand(OutcomeColumn, _SCALAR)
    models["minProperties"] = 1
    reference = {"$ref": "#/$defs/ModelColumns"}
    columns["models"] = {"type": "object", "additionalProperties": reference, "minProperties": 1}
    shapes = {"protected": ProtectedColumn, "strata": StratumColumn, "features": StratumColumn}
    for key, inner in shapes.items():
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

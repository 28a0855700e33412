"""The shape of a spec: its keys, their types and defaults, and the JSON Schema for editors.

Shorthand is normalised before a field is validated, so there are no unions and every fault is
reported once.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    WithJsonSchema,
)

from fairaudit.cube import ExcludeBelow, ShareOf
from fairaudit.metrics import (
    Minimum,
    OverGroups,
    ReferencePolicy,
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
from fairaudit.spec.column_schema import (
    SIMILARITY,
    Columns,
    FactorColumn,
    FeatureColumn,
    OutcomeColumn,
    ProtectedColumn,
    StrataModel,
    Strict,
)
from fairaudit.spec.fields import (
    GIVEN_MODEL,
    KINDS,
    LIMIT_TEXT,
    NUMERIC,
    SCALAR,
    TEXTS,
    Average,
    Comparison,
    Day,
    Flag,
    Groupings,
    GroupingsOrNone,
    MetricName,
    Number,
    Numbers,
    Reason,
    ReferenceMap,
    Share,
    Text,
    Texts,
    Whole,
    Words,
    read_bound,
    read_entries,
    read_metric,
    read_reversal_limit,
    read_scan,
    read_waived_group,
)
from fairaudit.verdict import About, OnUndefined

VERSION: Literal["1"] = "1"


def _shorthand(inner: type[BaseModel], short: dict[str, Any]) -> dict[str, Any]:
    """The JSON Schema of a model that may also be written short."""
    return {"anyOf": [short, {"$ref": f"#/$defs/{inner.__name__}"}]}


class FileFormat(Strict):
    """How the CSV files are written."""

    separator: Text = ","
    decimal: Text = "."
    encoding: Text = "utf-8"
    multiline: Flag = False
    header: Texts | None = None


class MissingRules(Strict):
    """What is missing and what becomes of it."""

    tokens: Texts = [""]
    protected: Literal["show", "group", "aside", "drop", "error"] = "show"
    strata: Literal["show", "group", "aside", "drop", "error"] = "show"
    label: Literal["aside", "drop", "error"] = "aside"
    prediction: Literal["aside", "drop", "error"] = "error"
    decision: Literal["aside", "drop", "error"] | None = None
    score: Literal["aside", "drop", "error"] = "error"
    numbers: Literal["aside", "drop", "error"] = "aside"


class ExpectedRows(Strict):
    """How many rows an audit must count."""

    at_least: Whole | None = None
    at_most: Whole | None = None


class Expected(Strict):
    """What the data must hold to be audited: rows, and levels of attributes and strata."""

    rows: ExpectedRows = ExpectedRows()
    levels: dict[str, Texts] = {}


class Exclusion(Strict):
    """Groups that are too small a share of the people to be compared, and by whose rule."""

    share: Share
    reason: Reason
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


class Groups(Strict):
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


class Inference(Strict):
    """How sure intervals and tests are, and by which of several accepted ways."""

    confidence: Number = DEFAULT_INFERENCE.confidence
    correction: Correction = DEFAULT_INFERENCE.correction
    ratio: RatioInterval = DEFAULT_INFERENCE.ratio
    z: ZTest = DEFAULT_INFERENCE.z
    t: TTest = DEFAULT_INFERENCE.t
    fisher: FisherTest = DEFAULT_INFERENCE.fisher
    yates: bool = DEFAULT_INFERENCE.yates


class Bound(Strict):
    """A limit: strictly below, strictly above, or outside two bounds; and what it takes to cross.

    `significant`: the test of no disparity rejects. `conclusive`: a whole interval beyond.
    """

    below: Number | None = None
    above: Number | None = None
    outside: Numbers | None = None
    significant: Flag = False
    conclusive: Flag = False


_Limit: TypeAlias = Annotated[Bound | None, BeforeValidator(read_bound)]


class _Described(Strict):
    """What is told of a check wherever it stands."""

    name: Words | None = None
    why: Words | None = None
    owner: Words | None = None

    @property
    def about(self) -> About:
        """The same as the check has it."""
        return About(self.name or "", self.why or "", self.owner or "")


class Metric(_Described):
    """A metric to report, and with a limit a check."""

    metric: MetricName
    id: Words | None = None
    compare: Comparison | None = None
    reference: ReferenceMap | None = None
    by: Groupings | None = None
    given: Groupings | None = None
    given_model: StrataModel | None = None
    of: Text | None = None
    warn: _Limit = None
    fail: _Limit = None
    undefined: OnUndefined | None = None
    smoothing: Number | None = None
    concentration: Number | None = None
    alpha: Number | None = None
    utilities: dict[str, Number] | None = None
    controls: Texts | None = None
    k: Whole | None = None
    t: Number | None = None
    lipschitz: Number | None = None
    average: Average | None = None
    model: Literal["pooled", "credible", "draws"] | None = None
    of_class: Annotated[Text | None, Field(alias="class")] = None
    aggregate: OverGroups | None = None
    sd: Literal["pooled", "total"] | None = None
    against: Text | None = None
    at: Numbers | None = None


class Defaults(Strict):
    """What the entries of `metrics` share, unless they say it themselves."""

    by: Groupings | None = None
    given: Groupings | None = None
    reference: ReferenceMap | None = None
    average: Average | None = None
    of: Text | None = None
    owner: Words | None = None
    warn: _Limit = None
    fail: _Limit = None
    undefined: OnUndefined | None = None


class Turned(Strict):
    """A limit for reversals: the weakest kind that crosses it, and whether it must be proven."""

    kind: ReversalKind = ReversalKind.MOST_PEOPLE
    significant: Flag = False


_TURNED = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"kind": {"enum": KINDS}, "significant": {"type": "boolean"}},
}
_TurnedLimit: TypeAlias = Annotated[
    Turned | None,
    BeforeValidator(read_reversal_limit),
    WithJsonSchema({"anyOf": [{"enum": [True, False, *KINDS]}, _TURNED]}),
]


class Simpson(_Described):
    """The scan for Simpson's reversals.

    `given` holds columns, and lists of columns to hold fixed together; `together` is up to how many
    of the columns are taken together on top. `simpson: false` is short for `scan: false`: none is
    made.
    """

    scan: Flag = True
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


class Subgroups(_Described):
    """The search for subgroups that a rate treats unlike everybody."""

    of: Text | None = None
    over: Texts = ["all"]
    rates: Texts | None = None
    depth: Whole = 3
    min_size: Whole = 100
    top: Whole = 10
    warn: _Limit = None
    fail: _Limit = None


class WaiverEntry(Strict):
    """An entry of a file of waivers."""

    check: Words
    group: Annotated[dict[str, Words], BeforeValidator(read_waived_group)]
    reason: Words
    approved_by: Words
    expires: Day


class AuditSpec(Strict):
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
    expect: Expected = Expected()
    inference: Inference = Inference()
    defaults: Defaults = Defaults()
    metrics: Annotated[
        list[Annotated[Metric, BeforeValidator(read_metric)]], BeforeValidator(read_entries)
    ]
    simpson: Annotated[Simpson, BeforeValidator(read_scan)] = Simpson()
    subgroups: Subgroups | None = None
    waivers: Words | None = None
    draws: Words | None = None
    suppress_below: Whole | None = None
    flags: Literal["fairmlhealth"] | None = None
    describe: Flag = False


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
    names = {"type": "array", "items": SCALAR}
    columns = schema["$defs"]["Columns"]["properties"]
    for key in ("label", "prediction", "decision"):
        columns[key] = _shorthand(OutcomeColumn, SCALAR)
    models = schema["$defs"]["ModelColumns"]
    models["properties"]["prediction"] = _shorthand(OutcomeColumn, SCALAR)
    models["minProperties"] = 1
    reference = {"$ref": "#/$defs/ModelColumns"}
    columns["models"] = {"type": "object", "additionalProperties": reference, "minProperties": 1}
    shapes = {"protected": ProtectedColumn, "strata": FactorColumn, "features": FeatureColumn}
    for key, inner in shapes.items():
        body = {"anyOf": [{"type": "null"}, {"$ref": f"#/$defs/{inner.__name__}"}]}
        columns[key] = {"anyOf": [SCALAR, names, {"type": "object", "additionalProperties": body}]}
    features = columns["features"]["anyOf"][2]
    features["properties"] = dict.fromkeys(SIMILARITY, TEXTS)
    del schema["$defs"]["FeatureColumn"]["properties"]["names"]
    bound = schema["$defs"]["Bound"]["properties"]
    bound["outside"] = {"type": "array", "items": NUMERIC, "minItems": 2, "maxItems": 2}
    schema["$defs"]["Bound"]["minProperties"] = 1
    for shape in ("Metric", "Subgroups", "Defaults"):
        for side in ("warn", "fail"):
            schema["$defs"][shape]["properties"][side]["anyOf"].insert(0, LIMIT_TEXT)
    schema["properties"]["simpson"] = {"anyOf": [{"const": False}, {"$ref": "#/$defs/Simpson"}]}
    entry = schema["$defs"]["Metric"]["properties"]
    del entry[GIVEN_MODEL]
    entry["given"]["anyOf"].append({"$ref": "#/$defs/StrataModel"})
    schema["properties"]["version"] = {"enum": [int(VERSION), VERSION]}
    metric = {"anyOf": [{"$ref": "#/$defs/_metric_name"}, {"$ref": "#/$defs/Metric"}]}
    schema["$defs"]["_metric_name"] = schema["$defs"]["Metric"]["properties"]["metric"]
    schema["properties"]["metrics"] = {
        "anyOf": [*metric["anyOf"], {"type": "array", "items": metric}]
    }
    schema["patternProperties"] = {"^x-": {}}
    schema.pop("title", None)
    return schema

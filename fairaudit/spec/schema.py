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
    ConfigDict,
    Field,
    WithJsonSchema,
)

from fairaudit.cube import ExcludeBelow, ShareOf
from fairaudit.metrics import (
    Minimum,
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
from fairaudit.spec.fields import (
    GIVEN_MODEL,
    KINDS,
    LIMIT_TEXT,
    NUMERIC,
    POSITIVE,
    SCALAR,
    TEXTS,
    Above,
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
    read_columns,
    read_entries,
    read_features,
    read_metric,
    read_reversal_limit,
    read_waived_group,
    under_key,
)
from fairaudit.verdict import About, OnUndefined

VERSION: Literal["1"] = "1"


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


class LevelColumn(_Strict):
    """A column of levels, or of numbers that are cut into levels, and how they are recoded."""

    column: Text | None = None
    born: Annotated[Text | None, Field(alias="from")] = None
    at: Text | None = None
    minus: Text | None = None
    combine: Texts | None = None
    rule: dict[str, dict[str, Texts]] = {}
    trim: Flag = False
    unknown: Texts = []
    labels: Annotated[dict[str, Text], BeforeValidator(lambda value: value)] = {}
    merge: Annotated[dict[str, Texts], BeforeValidator(lambda value: value)] = {}
    keep: Texts | None = None
    other: Text | None = None
    bins: Numbers | None = None
    over: Numbers | None = None
    quantiles: Whole | None = None


class StratumColumn(LevelColumn):
    """A declared factor to condition on."""

    levels: Texts | None = None


class ProtectedColumn(StratumColumn):
    """A protected attribute."""

    reference: Text | None = None


class PropensityStrata(_Strict):
    """Strata of people who are about as likely to belong to a group, by their features."""

    of: Text | None = None
    group: Text | None = None
    features: Texts | None = None
    bins: Whole = 5


class ClusterStrata(_Strict):
    """Strata of people whose features are alike."""

    features: Texts | None = None
    k: Whole = 5
    seed: Whole = 0


class StrataModel(_Strict):
    """A model that gives each row its stratum: one of these."""

    propensity: PropensityStrata | None = None
    clusters: ClusterStrata | None = None


class FactorColumn(StratumColumn, StrataModel):
    """A declared factor to condition on: a column, or strata that a model makes."""


class FeatureColumn(LevelColumn):
    """A feature to look for subgroups in; or a list of those in which people are alike."""

    names: Texts | None = None


class OutcomeColumn(_Strict):
    """A label, prediction or decision."""

    column: Text | None = None
    counts: dict[str, Text] | None = None
    positive: (
        Annotated[Positive, BeforeValidator(under_key("values")), WithJsonSchema(POSITIVE)] | None
    ) = None
    negative: Texts | None = None
    others: Literal["error", "drop"] = "error"
    favourable: Flag = True
    number: Flag = False
    order: Texts = []


def _shorthand(inner: type[BaseModel], short: dict[str, Any]) -> dict[str, Any]:
    """The JSON Schema of a model that may also be written short."""
    return {"anyOf": [short, {"$ref": f"#/$defs/{inner.__name__}"}]}


_Protected: TypeAlias = Annotated[dict[str, ProtectedColumn], BeforeValidator(read_columns)]
_Strata: TypeAlias = Annotated[dict[str, FactorColumn], BeforeValidator(read_columns)]
_Features: TypeAlias = Annotated[dict[str, FeatureColumn], BeforeValidator(read_features)]
_Outcome: TypeAlias = Annotated[OutcomeColumn, BeforeValidator(under_key("column"))]


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
    features: _Features = {}


class FileFormat(_Strict):
    """How the CSV files are written."""

    separator: Text = ","
    decimal: Text = "."
    encoding: Text = "utf-8"
    multiline: Flag = False
    header: Texts | None = None


class MissingRules(_Strict):
    """What is missing and what becomes of it."""

    tokens: Texts = [""]
    protected: Literal["show", "group", "aside", "drop", "error"] = "show"
    strata: Literal["show", "group", "aside", "drop", "error"] = "show"
    label: Literal["aside", "drop", "error"] = "aside"
    prediction: Literal["aside", "drop", "error"] = "error"
    decision: Literal["aside", "drop", "error"] | None = None
    score: Literal["aside", "drop", "error"] = "error"
    numbers: Literal["aside", "drop", "error"] = "aside"


class ExpectedRows(_Strict):
    """How many rows an audit must count."""

    at_least: Whole | None = None
    at_most: Whole | None = None


class Expected(_Strict):
    """What the data must hold to be audited: rows, and levels of attributes and strata."""

    rows: ExpectedRows = ExpectedRows()
    levels: dict[str, Texts] = {}


class Exclusion(_Strict):
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


_Limit: TypeAlias = Annotated[Bound | None, BeforeValidator(read_bound)]


class _Described(_Strict):
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
    aggregate: Literal["mean"] | None = None
    sd: Literal["pooled", "total"] | None = None
    against: Text | None = None
    at: Numbers | None = None


class Defaults(_Strict):
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


class Turned(_Strict):
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


class WaiverEntry(_Strict):
    """An entry of a file of waivers."""

    check: Words
    group: Annotated[dict[str, Words], BeforeValidator(read_waived_group)]
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
    expect: Expected = Expected()
    inference: Inference = Inference()
    defaults: Defaults = Defaults()
    metrics: Annotated[
        list[Annotated[Metric, BeforeValidator(read_metric)]], BeforeValidator(read_entries)
    ]
    simpson: Simpson = Simpson()
    subgroups: Subgroups | None = None
    waivers: Words | None = None
    draws: Words | None = None
    suppress_below: Whole | None = None
    flags: Literal["fairmlhealth"] | None = None
    describe: Flag = False


SIMILARITY = ("numeric", "categorical")
"""The kinds of features in which people are alike, each a list of columns."""


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

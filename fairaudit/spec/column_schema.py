"""The shape of the `columns` of a spec: their keys, types and defaults."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
)

from fairaudit.spec.fields import (
    POSITIVE,
    Above,
    Flag,
    Number,
    Numbers,
    Share,
    Text,
    Texts,
    Whole,
    read_columns,
    read_features,
    under_key,
)


class Strict(BaseModel):
    """No key that is not named here; a spec is never changed once it is read."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Positive(Strict):
    """The positive values, or a cut on a number."""

    values: Texts | None = None
    at_least: Number | None = None
    above: Above | None = None
    at_most: Number | None = None
    below: Number | None = None
    top: Share | None = None


class LevelColumn(Strict):
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


class PropensityStrata(Strict):
    """Strata of people who are about as likely to belong to a group, by their features."""

    of: Text | None = None
    group: Text | None = None
    features: Texts | None = None
    bins: Whole = 5


class ClusterStrata(Strict):
    """Strata of people whose features are alike."""

    features: Texts | None = None
    k: Whole = 5
    seed: Whole = 0


class StrataModel(Strict):
    """A model that gives each row its stratum: one of these."""

    propensity: PropensityStrata | None = None
    clusters: ClusterStrata | None = None


class FactorColumn(StratumColumn, StrataModel):
    """A declared factor to condition on: a column, or strata that a model makes."""


class FeatureColumn(LevelColumn):
    """A feature to look for subgroups in; or a list of those in which people are alike."""

    names: Texts | None = None


class OutcomeColumn(Strict):
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


_Protected: TypeAlias = Annotated[dict[str, ProtectedColumn], BeforeValidator(read_columns)]


_Strata: TypeAlias = Annotated[dict[str, FactorColumn], BeforeValidator(read_columns)]


_Features: TypeAlias = Annotated[dict[str, FeatureColumn], BeforeValidator(read_features)]


_Outcome: TypeAlias = Annotated[OutcomeColumn, BeforeValidator(under_key("column"))]


class ModelColumns(Strict):
    """One of several models: what it predicts, and its score."""

    prediction: _Outcome | None = None
    score: Text | None = None


class Columns(Strict):
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

    @property
    def has_counts(self) -> bool:
        """Whether a row stands for several people, by one column or by counts side by side."""
        models = [model.prediction for model in (self.models or {}).values()]
        outcomes = (self.label, self.prediction, self.decision, *models)
        return self.count is not None or any(
            outcome is not None and outcome.counts for outcome in outcomes
        )


SIMILARITY = ("numeric", "categorical")
"""The kinds of features in which people are alike, each a list of columns."""

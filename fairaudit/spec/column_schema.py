"""Keys of `columns`, `propensity` and `clusters`, with their defaults and descriptions."""

# Annotations are no texts here: they say how a value is read.

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Literal, TypeAlias

from fairaudit.base.frozen import Frozen, field
from fairaudit.spec.fields import (
    SCALAR,
    Above,
    Numbers,
    Texts,
    expand_columns,
    expand_features,
    under_key,
)
from fairaudit.spec.reading import Short
from fairaudit.spec.text import UNWRITTEN

_NAMES = {"type": "array", "items": SCALAR}


class Positive(Frozen):
    """The positive values, or a cut on a number."""

    values: Texts | None = None
    """The positive values; a value or a list needs no key. Example: `[repaid]`."""
    at_least: Decimal | None = None
    """This number and every larger one is positive. Example: `0.5`."""
    above: Above | None = None
    """Every larger number is positive; `median` is that of the column. Example: `median`."""
    at_most: Decimal | None = None
    """This number and every smaller one is positive. Example: `3`."""
    below: Decimal | None = None
    """Every smaller number is positive. Example: `3`."""
    top: Fraction | None = None
    """The share of the people with the highest numbers is positive. Example: `10%`."""


class LevelColumn(Frozen):
    """A column of levels, or of numbers that are cut into levels, and how they are recoded."""

    column: str | None = None
    """The column of the data, where it is not called like the key. Example: `sex_code`."""
    born: str | None = field(default=None, name="from")
    """The column of dates that an age, in completed years, is counted from.

    Example: `birth_date`.
    """
    at: str | None = None
    """The day on which an age is taken: a date, or a column of dates. Example: `2024-12-31`."""
    minus: str | None = None
    """A column to subtract from `column`: numbers, or dates in days. Example: `start`."""
    combine: Texts | None = None
    """Columns that make one attribute together; without `rule` each combination is a level.

    Example: `[race, ethnicity]`.
    """
    rule: dict[str, dict[str, Texts]] = {}
    """Levels of combined columns: the first whose values fit is taken, else `other`.

    Example: `{Hispanic: {ethnicity: Hispanic or Latino}}`.
    """
    trim: bool = False
    """Whether blanks around values are cut off. Example: `true`."""
    unknown: Texts = []
    """Values that mean unknown; these rows count as missing.

    Example: `[Unknown, Prefer not to say]`.
    """
    labels: dict[str, str] = {}
    """Names of codes, or of bins, as reports print them. Example: `{F: women, M: men}`."""
    merge: dict[str, Texts] = {}
    """A new level for each list of levels. Example: `{Other: [Asian, Native]}`."""
    keep: Texts | None = None
    """The levels that are kept; all others become `other`. Example: `[White, Black]`."""
    other: str | None = None
    """The name of the level of whatever is not kept, or fits no rule. Example: `Other races`."""
    bins: Numbers | None = None
    """Cuts of a number: 40 is under 40, and 40 and over. Example: `[25, 40]`."""
    over: Numbers | None = None
    """Cuts of a number: 40 is 40 and under, and over 40. Example: `40`."""
    quantiles: int | None = None
    """Cuts a number into so many parts of about as many people. Example: `4`."""


class StratumColumn(LevelColumn):
    """A declared factor to condition on."""

    levels: Texts | None = None
    """The levels that may occur; any other is an error. Example: `[White, Black, Asian]`."""


class ProtectedColumn(StratumColumn):
    """A protected attribute."""

    reference: str | None = None
    """The level that others are compared with. Example: `White`."""


class PropensityStrata(Frozen):
    """Strata of people who are about as likely to belong to a group, by their features."""

    of: str | None = None
    """The attribute whose groups are told apart; `by` of the entry without it.

    Example: `gender`.
    """
    group: str | None = None
    """The level whose members are told from all others; everybody outside the reference without it.

    Example: `women`.
    """
    features: Texts | None = None
    """The features of the logistic model; all declared ones without it.

    Example: `[income, age]`.
    """
    bins: int | None = None
    """Into how many parts of about as many people the scores are cut.

    Without it the cube root of twice the people of the smaller side, from 5 to 20. Example: `10`.
    """


class ClusterStrata(Frozen):
    """Strata of people with similar features."""

    features: Texts | None = None
    """The features in which people are alike; all declared ones without it. Example: `[income]`."""
    k: int = 5
    """How many clusters there are. Example: `4`."""
    seed: int = 0
    """Where the random starts of the clusters come from. Example: `1`."""


class StrataModel(Frozen):
    """A model that gives each row its stratum: one of these."""

    propensity: PropensityStrata | None = None
    """Strata of people who are about as likely to belong to a group. Example: `{of: gender}`."""
    clusters: ClusterStrata | None = None
    """Strata of people with similar features. Example: `{k: 4}`."""


class FactorColumn(StratumColumn):
    """A declared factor to condition on: a column, or strata that a model makes."""

    propensity: PropensityStrata | None = None
    """Strata of people who are about as likely to belong to a group. Example: `{of: gender}`."""
    clusters: ClusterStrata | None = None
    """Strata of people with similar features. Example: `{k: 4}`."""


class FeatureColumn(LevelColumn):
    """A feature to look for subgroups in; or a list of those in which people are alike."""

    names: Texts | None = field(default=None, name=UNWRITTEN)


class OutcomeColumn(Frozen):
    """A label, prediction or decision."""

    column: str | None = None
    """The column of the data. Example: `approved`."""
    counts: dict[str, str] | None = None
    """Columns of counts in place of `column`: one for each level, or one level and the `total`.

    Example: `{selected: n_selected, total: n}`.
    """
    positive: Annotated[Positive, Short(under_key("values"), (SCALAR, _NAMES))] | None = None
    """The positive value, a list of values, or a cut on a number. Of 0 and 1, or false and true, it
    need not be named.

    Examples: `"yes"`, `{at_least: 0.5}`.
    """
    negative: Texts | None = None
    """The negative values, where others may occur. Example: `"no"`."""
    others: Literal["error", "drop"] = "error"
    """What becomes of values that are neither positive nor negative. Example: `drop`."""
    favourable: bool = True
    """Whether the positive is good for people; false of a burden, such as an alarm.

    Example: `false`.
    """
    number: bool = False
    """Whether the outcome is a number, to be averaged. Example: `true`."""
    order: Texts = []
    """The classes of an ordinal outcome, the lowest first. Example: `[bronze, silver, golden]`."""


_NAMED = Short(lambda body: {} if body is None else body, ({"type": "null"},))
"""A column that is only named."""
_COLUMNS = Short(expand_columns, (SCALAR, _NAMES))
_Outcome: TypeAlias = Annotated[OutcomeColumn, Short(under_key("column"), (SCALAR,))]


class ModelColumns(Frozen):
    """One of several models: what it predicts, and its score."""

    prediction: _Outcome | None = None
    """What the model predicts: a column, or a mapping with its positive value.

    Examples: `predicted`, `{column: s1, positive: {at_least: 0.5}}`.
    """
    score: str | None = None
    """The column of the model's score. Example: `s1`."""


class Columns(Frozen, kw_only=True):
    """What each column of the data is to the audit."""

    protected: Annotated[dict[str, Annotated[ProtectedColumn, _NAMED]], _COLUMNS]
    """Protected attributes: names of columns, or a mapping from each to how it is read.

    Examples: `[gender, race]`, `{gender: {reference: men}, age: {bins: [40]}}`.
    """
    label: _Outcome | None = None
    """What was true in the end: a column, or a mapping with its positive value.

    Example: `{column: repaid, positive: "yes"}`.
    """
    prediction: _Outcome | None = None
    """What a model predicts: a column, or a mapping with its positive value or a cut.

    Example: `{column: score, positive: {top: 10%}}`.
    """
    decision: _Outcome | None = None
    """What was decided: a column, or a mapping with its positive value.

    Example: `{column: approved, positive: "yes"}`.
    """
    models: dict[str, ModelColumns] | None = None
    """Several models in place of `prediction` and `score`, by name.

    Example: `{current: {score: s1}}`.
    """
    score: str | None = None
    """The column of a score, to summarise by group. Example: `score`."""
    numbers: dict[str, str] = {}
    """Further numeric outcomes for `of`, each with its column. Example: `{spread: rate_spread}`."""
    count: str | None = None
    """The column of how many people a row stands for. Example: `n`."""
    weight: str | None = None
    """The column of survey weights. Example: `weight`."""
    cluster: str | None = None
    """The column that says which rows belong together, as those of one job ad. Example: `ad`."""
    strata: Annotated[dict[str, Annotated[FactorColumn, _NAMED]], _COLUMNS] = {}
    """Factors to condition on: names, or a mapping with the keys of an attribute but `reference`.

    Examples: `[branch]`, `{branch: {keep: [north]}}`.
    """
    features: Annotated[
        dict[str, Annotated[FeatureColumn, _NAMED]], Short(expand_features, (SCALAR, _NAMES))
    ] = {}
    """Columns for subgroups, with the keys of an attribute but `reference` and `levels`; or
    lists of those in which people are alike.

    Examples: `{income: {bins: [40, 60]}}`, `{numeric: [income, age], categorical: [job]}`.
    """

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

"""Keys of `columns`, `propensity`, `clusters`, with defaults. Add such a key here."""

# Annotations are no texts here: they say how a value is read.

from typing import Annotated, Literal, TypeAlias

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
from fairaudit.spec.shape import Key, Reader, Shape


class Positive(Shape):
    """The positive values, or a cut on a number."""

    values: Texts | None = None
    at_least: Number | None = None
    """This number and every larger one is positive. Example: `0.5`."""
    above: Above | None = None
    """Every larger number is positive; `median` is that of the column. Example: `median`."""
    at_most: Number | None = None
    """This number and every smaller one is positive. Example: `3`."""
    below: Number | None = None
    """Every smaller number is positive. Example: `3`."""
    top: Share | None = None
    """The share of the people with the highest numbers is positive. Example: `10%`."""


class LevelColumn(Shape):
    """A column of levels, or of numbers that are cut into levels, and how they are recoded."""

    column: Text | None = None
    """The column of the data, where it is not called like the key. Example: `sex_code`."""
    born: Annotated[Text | None, Key("from")] = None
    """The column of dates that an age, in completed years, is counted from.

    Example: `birth_date`.
    """
    at: Text | None = None
    """The day on which an age is taken: a date, or a column of dates. Example: `2024-12-31`."""
    minus: Text | None = None
    """A column to subtract from `column`: numbers, or dates in days. Example: `start`."""
    combine: Texts | None = None
    """Columns that make one attribute together; without `rule` each combination is a level.

    Example: `[race, ethnicity]`.
    """
    rule: dict[str, dict[str, Texts]] = {}
    """Levels of combined columns: the first whose values fit is taken, else `other`.

    Example: `{Hispanic: {ethnicity: Hispanic or Latino}}`.
    """
    trim: Flag = False
    """Whether blanks around values are cut off. Example: `true`."""
    unknown: Texts = []
    """Values that mean unknown; these rows count as missing.

    Example: `[Unknown, Prefer not to say]`.
    """
    labels: dict[str, Text] = {}
    """Names of codes, or of bins, as reports print them. Example: `{F: women, M: men}`."""
    merge: dict[str, Texts] = {}
    """A new level for each list of levels. Example: `{Other: [Asian, Native]}`."""
    keep: Texts | None = None
    """The levels that are kept; all others become `other`. Example: `[White, Black]`."""
    other: Text | None = None
    """The name of the level of whatever is not kept, or fits no rule. Example: `Other races`."""
    bins: Numbers | None = None
    """Cuts of a number: 40 is under 40, and 40 and over. Example: `[25, 40]`."""
    over: Numbers | None = None
    """Cuts of a number: 40 is 40 and under, and over 40. Example: `40`."""
    quantiles: Whole | None = None
    """Cuts a number into so many parts of about as many people. Example: `4`."""


class StratumColumn(LevelColumn):
    """A declared factor to condition on."""

    levels: Texts | None = None
    """The levels that may occur; any other is an error. Example: `[White, Black, Asian]`."""


class ProtectedColumn(StratumColumn):
    """A protected attribute."""

    reference: Text | None = None
    """The level that others are compared with. Example: `White`."""


class PropensityStrata(Shape):
    """Strata of people who are about as likely to belong to a group, by their features."""

    of: Text | None = None
    """The attribute whose groups are told apart; `by` of the entry without it.

    Example: `gender`.
    """
    group: Text | None = None
    """The level whose members are told from all others; everybody outside the reference without it.

    Example: `women`.
    """
    features: Texts | None = None
    """The features of the logistic model; all declared ones without it.

    Example: `[income, age]`.
    """
    bins: Whole | None = None
    """Into how many parts of about as many people the scores are cut.

    Without it the cube root of twice the people of the smaller side, from 5 to 20. Example: `10`.
    """


class ClusterStrata(Shape):
    """Strata of people with similar features."""

    features: Texts | None = None
    """The features in which people are alike; all declared ones without it. Example: `[income]`."""
    k: Whole = 5
    """How many clusters there are. Example: `4`."""
    seed: Whole = 0
    """Where the random starts of the clusters come from. Example: `1`."""


class StrataModel(Shape):
    """A model that gives each row its stratum: one of these."""

    propensity: PropensityStrata | None = None
    """Strata of people who are about as likely to belong to a group. Example: `{of: gender}`."""
    clusters: ClusterStrata | None = None
    """Strata of people with similar features. Example: `{k: 4}`."""


class FactorColumn(StratumColumn, StrataModel):
    """A declared factor to condition on: a column, or strata that a model makes."""


class FeatureColumn(LevelColumn):
    """A feature to look for subgroups in; or a list of those in which people are alike."""

    names: Texts | None = None


class OutcomeColumn(Shape):
    """A label, prediction or decision."""

    column: Text | None = None
    """The column of the data. Example: `approved`."""
    counts: dict[str, Text] | None = None
    """Columns of counts in place of `column`: one for each level, or one level and the `total`.

    Example: `{selected: n_selected, total: n}`.
    """
    positive: Annotated[Positive, Reader(under_key("values"), POSITIVE)] | None = None
    """The positive value, a list of values, or a cut on a number. Of 0 and 1, or false and true, it
    need not be named.

    Examples: `"yes"`, `{at_least: 0.5}`.
    """
    negative: Texts | None = None
    """The negative values, where others may occur. Example: `"no"`."""
    others: Literal["error", "drop"] = "error"
    """What becomes of values that are neither positive nor negative. Example: `drop`."""
    favourable: Flag = True
    """Whether the positive is good for people; false of a burden, such as an alarm.

    Example: `false`.
    """
    number: Flag = False
    """Whether the outcome is a number, to be averaged. Example: `true`."""
    order: Texts = []
    """The classes of an ordinal outcome, the lowest first. Example: `[bronze, silver, golden]`."""


_Protected: TypeAlias = Annotated[dict[str, ProtectedColumn], Reader(read_columns)]


_Strata: TypeAlias = Annotated[dict[str, FactorColumn], Reader(read_columns)]


_Features: TypeAlias = Annotated[dict[str, FeatureColumn], Reader(read_features)]


_Outcome: TypeAlias = Annotated[OutcomeColumn, Reader(under_key("column"))]


class ModelColumns(Shape):
    """One of several models: what it predicts, and its score."""

    prediction: _Outcome | None = None
    """What the model predicts: a column, or a mapping with its positive value.

    Examples: `predicted`, `{column: s1, positive: {at_least: 0.5}}`.
    """
    score: Text | None = None
    """The column of the model's score. Example: `s1`."""


class Columns(Shape):
    """What each column of the data is to the audit."""

    protected: _Protected
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
    score: Text | None = None
    """The column of a score, to summarise by group. Example: `score`."""
    numbers: dict[str, Text] = {}
    """Further numeric outcomes for `of`, each with its column. Example: `{spread: rate_spread}`."""
    count: Text | None = None
    """The column of how many people a row stands for. Example: `n`."""
    weight: Text | None = None
    """The column of survey weights. Example: `weight`."""
    cluster: Text | None = None
    """The column that says which rows belong together, as those of one job ad. Example: `ad`."""
    id: Text | None = None
    """The column that names a person: `repeats` says what becomes of several rows of one. Example:
    `candidate_id`.
    """
    strata: _Strata = {}
    """Factors to condition on: names, or a mapping with the keys of an attribute but `reference`.

    Examples: `[branch]`, `{branch: {keep: [north]}}`.
    """
    features: _Features = {}
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

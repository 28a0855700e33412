"""Keys of `columns`, `metrics`, `defaults`, `simpson`, `subgroups`, and of models of strata."""

# Annotations are evaluated, because they define how a value is read.

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Literal, TypeAlias

from fairaudit.base.frozen import Frozen, field
from fairaudit.judge.checks import About, OnUndefined, ReversalLimit
from fairaudit.judge.simpson import PairChoice
from fairaudit.metrics.disparities import OverGroups
from fairaudit.metrics.terms import ReferencePolicy, Towards
from fairaudit.spec.reading import (
    ITEM,
    LIMIT_TEXT,
    NUMERIC,
    SCALAR,
    TURNED_WORDS,
    Above,
    Average,
    ColumnName,
    ColumnNames,
    Comparison,
    Conditions,
    Form,
    Groupings,
    GroupingsOrNone,
    LocatedTexts,
    MetricName,
    Numbers,
    ReferenceMap,
    Texts,
    Words,
    as_list,
    expand_bound,
    expand_columns,
    expand_features,
    expand_reversal_limit,
    under_key,
)
from fairaudit.spec.text import UNWRITTEN, LocatedText

_NAMES = {"type": "array", "items": SCALAR}


class Positive(Frozen):
    """The positive values, or a cut on a number."""

    values: Texts | None = None
    """The positive values; a single value or a list needs no key. Example: `[repaid]`."""
    at_least: Decimal | None = None
    """Numbers from this one up are positive. Example: `0.5`."""
    above: Above | None = None
    """Larger numbers are positive; `median` is the median of the column. Example: `median`."""
    at_most: Decimal | None = None
    """Numbers up to this one are positive. Example: `3`."""
    below: Decimal | None = None
    """Smaller numbers are positive. Example: `3`."""
    top: Fraction | None = None
    """The share of all people who are positive: those with the highest numbers. Example: `10%`."""


class LevelColumn(Frozen):
    """A column of levels, or of numbers that are cut into levels, with recoding options."""

    column: ColumnName | None = None
    """The column of the data, if its name differs from the key. Example: `sex_code`."""
    born: ColumnName | None = field(default=None, name="from")
    """The column of birth dates from which an age in completed years is computed. Example:
    `birth_date`."""
    at: str | None = None
    """The reference day of an age: a date, or a column of dates. Example: `2024-12-31`."""
    minus: ColumnName | None = None
    """A column to subtract from `column`: numbers, or dates (in days). Example: `start`."""
    period: Literal["month", "quarter", "year"] | None = None
    """The month (2025-01), quarter (2025-Q1) or year of a date as the level. Example: `month`."""
    combine: ColumnNames | None = None
    """Columns to combine into one. Without `rule`, each combination is a level. Example:
    `[race, ethnicity]`."""
    rule: dict[str, Conditions] = {}
    """Levels of combined columns, each with a condition, or a list of conditions of which one must
    match. The first matching level applies, otherwise `other`. `""` matches an empty cell.
    Examples: `{Hispanic: {ethnicity: Hispanic or Latino}}`,
    `{Black: [{race: Black}, {ethnicity: Black}]}`."""
    split: Annotated[tuple[str, ...], Form(as_list, (ITEM,))] = ()
    """The separator of several values in a cell, or a list of separators: with `|`, `White|Asian`
    is two values. Examples: `"|"`, `["|", ","]`."""
    several: str = "two or more"
    """The level of people with several values in a cell; `combination` makes each combination a
    level. Example: `Two or more races`."""
    trim: bool = False
    """Whether to remove spaces around values. Example: `true`."""
    unknown: Texts = []
    """Values that mean unknown; their rows count as missing. Example:
    `[Unknown, Prefer not to say]`."""
    labels: dict[str, str] = {}
    """Names of codes or bins in reports. Example: `{F: women, M: men}`."""
    merge: dict[str, LocatedTexts] = {}
    """New levels, each with the list of levels that it replaces. Example:
    `{Other: [Asian, Native]}`."""
    keep: LocatedTexts | None = None
    """The levels to keep; all others become `other`. Example: `[White, Black]`."""
    other: str | None = None
    """The name of the level for values that are not kept or match no rule. Example:
    `Other races`."""
    bins: Numbers | None = None
    """Cut points of a number: 40 makes the levels "under 40" and "40 and over". Example:
    `[25, 40]`."""
    over: Numbers | None = None
    """Cut points of a number: 40 makes the levels "40 and under" and "over 40". Example: `40`."""
    quantiles: int | None = None
    """The number of bins with about the same number of people. Example: `4`."""


class StratumColumn(LevelColumn):
    """A declared factor to condition on."""

    levels: LocatedTexts | None = None
    """The allowed levels; any other level is an error. Example: `[White, Black, Asian]`."""


class ProtectedColumn(StratumColumn):
    """A protected column."""

    reference: LocatedText | None = None
    """The level that other levels are compared with. Example: `White`."""


class PropensityStrata(Frozen):
    """Strata of people whose features give them a similar probability of belonging to a group."""

    of: str | None = None
    """The protected column whose groups the model predicts; the default is `by` of the entry.
    Example: `gender`."""
    group: LocatedText | None = None
    """The level that the model predicts; by default everyone outside the reference. Example:
    `women`."""
    features: Texts | None = None
    """The features of the logistic model; by default all declared features. Example:
    `[income, age]`."""
    bins: int | None = None
    """The number of bins of the probability with about equally many people. The default is the cube
    root of 2n (5 to 20), where n is the number of people in the group, or outside it if that is
    smaller. Example: `10`."""


class ClusterStrata(Frozen):
    """Strata of people with similar features."""

    features: Texts | None = None
    """The features that define similarity; by default all declared features. Example:
    `[income]`."""
    k: int = 5
    """The number of clusters. Example: `4`."""
    seed: int = 0
    """The seed of the random starting points. Example: `1`."""


class StrataModel(Frozen):
    """A model that assigns each row to a stratum; exactly one key is required."""

    propensity: PropensityStrata | None = None
    """Strata of people with a similar probability of belonging to a group. Example:
    `{of: gender}`."""
    clusters: ClusterStrata | None = None
    """Strata of people with similar features. Example: `{k: 4}`."""


class FactorColumn(StratumColumn):
    """A declared factor to condition on: a column, or strata from a model."""

    propensity: PropensityStrata | None = None
    """Strata of people with a similar probability of belonging to a group. Example:
    `{of: gender}`."""
    clusters: ClusterStrata | None = None
    """Strata of people with similar features. Example: `{k: 4}`."""


class FeatureColumn(LevelColumn):
    """A feature for subgroups, or a list of features that define similarity."""

    names: ColumnNames | None = field(default=None, name=UNWRITTEN)


class OutcomeColumn(Frozen):
    """A label, prediction or decision."""

    column: ColumnName | None = None
    """The column of the data. Example: `approved`."""
    counts: dict[str, ColumnName] | None = None
    """Columns of counts that replace `column`: one for each level, or one level and the `total`.
    Example: `{selected: n_selected, total: n}`."""
    positive: Annotated[Positive, Form(under_key("values"), (SCALAR, _NAMES))] | None = None
    """The positive value, a list of values, or a cut on a number. Not needed for columns with only
    0 and 1, or false and true. Examples: `"yes"`, `{at_least: 0.5}`."""
    negative: LocatedTexts | None = None
    """The negative values; needed only if there are also other values. Example: `"no"`."""
    others: Literal["error", "drop"] = "error"
    """How to treat values that are neither positive nor negative. Example: `drop`."""
    favourable: bool = True
    """Whether the positive value is a benefit; false for a burden such as an alarm. Example:
    `false`."""
    number: bool = False
    """Whether the outcome is a number to average. Example: `true`."""
    order: LocatedTexts = ()
    """The classes of an ordinal outcome, from the lowest to the highest. Example:
    `[bronze, silver, golden]`."""
    outside: LocatedTexts = field(default=(), name=UNWRITTEN)


_NAMED = Form(lambda body: {} if body is None else body, ({"type": "null"},))
"""The form of a column that has a name, but no options."""
_COLUMNS = Form(expand_columns, (SCALAR, _NAMES))
_Outcome: TypeAlias = Annotated[OutcomeColumn, Form(under_key("column"), (SCALAR,))]


class ModelColumns(Frozen):
    """The prediction and the score of one of several models."""

    prediction: _Outcome | None = None
    """The prediction of the model: a column, or a mapping with its positive value. Examples:
    `predicted`, `{column: s1, positive: {at_least: 0.5}}`."""
    score: ColumnName | None = None
    """The column of the score of the model. Example: `s1`."""


class StageColumn(Frozen):
    """A column with the last stage that a person reached."""

    column: ColumnName
    """The column of the data. Example: `stage`."""
    order: LocatedTexts
    """The stages from the first to the last. Example: `[applied, interviewed, offered, hired]`."""
    others: Literal["error", "drop"] = "error"
    """How to treat people with another value, such as `Withdrawn`. Example: `drop`."""


class Columns(Frozen, kw_only=True):
    """The role of each column of the data."""

    protected: Annotated[dict[str, Annotated[ProtectedColumn, _NAMED]], _COLUMNS]
    """Protected columns: their names, or a mapping from each name to its options. Examples:
    `[gender, race]`, `{gender: {reference: men}, age: {bins: [40]}}`."""
    label: _Outcome | None = None
    """The true outcome: a column, or a mapping with its positive value. Example:
    `{column: repaid, positive: "yes"}`."""
    prediction: _Outcome | None = None
    """The prediction of a model: a column, or a mapping with its positive value or a cut. Example:
    `{column: score, positive: {top: 10%}}`."""
    decision: _Outcome | None = None
    """The decision: a column, or a mapping with its positive value. Example:
    `{column: approved, positive: "yes"}`."""
    models: dict[str, ModelColumns] | None = None
    """Several models by name, instead of `prediction` and `score`. Example:
    `{current: {score: s1}}`."""
    stages: StageColumn | None = None
    """The stages of a process, instead of `models`. Each stage after the first is an outcome:
    `hired` is a share of all people, and `hired among offered` a share of those who reached the
    stage before. Example: `{column: stage, order: [applied, offered, hired]}`."""
    score: ColumnName | None = None
    """The column of a score, which reports summarise by group. Example: `score`."""
    numbers: dict[str, ColumnName] = {}
    """Further numeric outcomes for `of`, each with its column. Example: `{spread: rate_spread}`."""
    count: ColumnName | None = None
    """The column of the number of people that a row represents. Example: `n`."""
    weight: ColumnName | None = None
    """The column of survey weights. Example: `weight`."""
    cluster: ColumnName | None = None
    """The column that identifies rows that belong together, for example rows of one job ad.
    Example: `ad`."""
    id: ColumnName | None = None
    """The column that identifies a person. If a person has several rows, `repeats` says which one
    counts. Example: `candidate_id`."""
    strata: Annotated[dict[str, Annotated[FactorColumn, _NAMED]], _COLUMNS] = {}
    """Factors to condition on: names, or a mapping with the keys of a protected column except
    `reference`. Examples: `[branch]`, `{branch: {keep: [north]}}`."""
    features: Annotated[
        dict[str, Annotated[FeatureColumn, _NAMED]], Form(expand_features, (SCALAR, _NAMES))
    ] = {}
    """Columns for subgroups, with the keys of a protected column except `reference` and `levels`;
    or lists of the columns that define similarity. Examples: `{income: {bins: [40, 60]}}`,
    `{numeric: [income, age], categorical: [job]}`."""

    @property
    def has_counts(self) -> bool:
        """Whether a row represents several people, by `count` or by `counts` of an outcome."""
        models = [model.prediction for model in (self.models or {}).values()]
        outcomes = (self.label, self.prediction, self.decision, *models)
        return self.count is not None or any(
            outcome is not None and outcome.counts for outcome in outcomes
        )


SIMILARITY = ("numeric", "categorical")
"""The kinds of features that define similarity, each a list of columns."""

_PAIR = {"type": "array", "items": NUMERIC, "minItems": 2, "maxItems": 2}


class Bound(Frozen):
    """A limit. A value crosses it by being below a bound, above a bound, or outside two bounds.

    A limit can also require evidence, by `significant` or `conclusive`.
    """

    below: Decimal | None = None
    """Smaller values cross the limit. Example: `0.8`."""
    above: Decimal | None = None
    """Larger values cross the limit. Example: `0.05`."""
    outside: Annotated[list[Decimal] | None, Form(described=_PAIR)] = None
    """Values below the first number or above the second cross the limit. Example:
    `[-0.05, 0.05]`."""
    significant: bool = False
    """Whether a value crosses the limit only if the test of no disparity is significant. The
    p-value is corrected for all tests that limits of the spec require. Example: `true`."""
    conclusive: bool = False
    """Whether a value crosses the limit only if its whole interval crosses it. Example: `true`."""


_Limit: TypeAlias = Annotated[Bound | None, Form(expand_bound, (LIMIT_TEXT,))]


class _Owned(Frozen):
    """Keys of everything that makes checks, and of `defaults`."""

    accept_left_out: Fraction | None = None
    """The maximum share of people (also by weight) and of groups that a check may leave out; with
    more, it is inconclusive. The default: up to half of all people, and less than half of each
    group. Example: `0.8`."""
    owner: Words | None = None
    """The person or team responsible for the check. Example: `people analytics`."""


class _Search(_Owned):
    """Keys that `simpson` and `subgroups` share."""

    name: Words | None = None
    """The name of the check in reports. Example: `Four-fifths rule`."""
    why: Words | None = None
    """The reason for the check; reports print it. Example: `Company policy 12`."""

    @property
    def about(self) -> About:
        return About(self.name or "", self.why or "", self.owner or "")


class Defaults(_Owned):
    """Keys that entries of `metrics` share, unless an entry sets them."""

    reference: ReferenceMap | None = None
    """The group to compare with: a level of each column, or a word such as `rest`, `highest`.
    Examples: `rest`, `{gender: men}`."""
    by: Groupings | None = None
    """The columns whose groups are compared: one, a combination, a list of them, or `each`, `full`,
    `all`. Example: `[gender, race, gender * race]`."""
    given: Groupings | None = None
    """The strata within which the metric is computed: a column, a list of columns, or a model that
    makes strata. Example: `branch`."""
    of: str | None = None
    """The outcome: label, prediction, decision, a model, score, or one of `numbers`. Example:
    `label`."""
    average: Average | None = None
    """How to average rates over the strata of `given`: a rule, or a weight for each stratum.
    Examples: `pooled`, `{north: 0.4, south: 0.6}`."""
    warn: _Limit = None
    """The limit for a warning: a text, or a mapping that can require evidence. `none` ignores the
    limit of `defaults`. Example: `"< 0.9"`."""
    fail: _Limit = None
    """The limit for a failure: a text, or a mapping that can require evidence. `none` ignores the
    limit of `defaults`. Examples: `"< 0.8"`, `{below: 0.8, significant: true}`."""
    undefined: OnUndefined | None = None
    """The effect of an undefined value on this check; the default is the top-level `undefined`.
    Example: `warn`."""


class Metric(Defaults, kw_only=True):
    """A metric to report; if it has a limit, it is also a check."""

    name: Words | None = None
    """The name of the check in reports. Example: `Four-fifths rule`."""
    why: Words | None = None
    """The reason for the check; reports print it. Example: `Company policy 12`."""
    metric: MetricName
    """The name or an alias of the metric; `fairaudit metrics` lists all metrics. Example:
    `selection_rate`."""
    id: Words | None = None
    """The id of the check in reports and waivers, which replaces the generated id. Example:
    `women_by_department`."""
    compare: Comparison | None = None
    """The comparison of rates: `gap` and `min_ratio` compare the two groups farthest apart,
    `difference` and `ratio` each group with its reference. Examples: `gap`, `ratio`."""
    given_model: StrataModel | None = field(default=None, name=f"{UNWRITTEN}given")
    smoothing: Decimal | None = None
    """The number of people added to each outcome of each group, for `differential_fairness`.
    Example: `1`."""
    concentration: Decimal | None = None
    """The number of people added to each group over all outcomes together: 1 adds 1/2 to each of
    two outcomes. Example: `1`."""
    towards: Towards | None = None
    """How to distribute the added people over the outcomes: equally (default), or by `overall`, the
    proportions of all groups together. With `overall`, groups with equal rates stay equal. Example:
    `overall`."""
    alpha: Decimal | None = None
    """The exponent of the generalized entropy or of the Atkinson index. Example: `2`."""
    utilities: dict[str, Decimal] | None = None
    """The utility of true positives, false positives, false negatives and true negatives, for the
    expected utility. Example: `{tp: 1, fp: 0, fn: -1, tn: 0}`."""
    controls: Texts | None = None
    """Columns that a regression holds fixed. Example: `[branch]`."""
    k: int | None = None
    """The number of neighbours, for measures of individuals. Example: `5`."""
    t: Decimal | None = None
    """The minimum difference that counts in situation testing, between 0 and 1. Example: `0.3`."""
    lipschitz: Decimal | None = None
    """The maximum change of outcomes per unit of distance, for `lipschitz_violations`. Example:
    `1`."""
    model: Literal["pooled", "credible", "draws"] | None = None
    """The model of the probabilities of groups: `pooled` moves them towards those of single
    columns, `credible` is a credible region, `draws` reads posterior draws. Example: `pooled`."""
    of_class: str | None = field(default=None, name="class")
    """The class that counts as positive; all other classes are negative. `macro` is the mean over
    classes. Example: `macro`."""
    aggregate: OverGroups | None = None
    """The aggregation of the comparisons of all groups into one value. Example: `mean`."""
    sd: Literal["pooled", "total"] | None = None
    """The standard deviation that divides a standardized difference. Example: `total`."""
    against: str | None = None
    """The model to compare with the model that `of` names. Example: `current`."""
    at: Numbers | None = None
    """Thresholds of the score at which the metric is computed. Example: `[0.3, 0.5, 0.7]`."""

    @property
    def limits(self) -> dict[str, Bound]:
        """The limits that are set, by their side: `warn`, `fail`."""
        sides = {"warn": self.warn, "fail": self.fail}
        return {side: bound for side, bound in sides.items() if bound is not None}


_TurnedLimit: TypeAlias = Annotated[
    ReversalLimit | None, Form(expand_reversal_limit, (TURNED_WORDS,))
]


class Simpson(_Search):
    """The scan for Simpson's reversals."""

    scan: bool = True
    """Whether to search for reversals; `simpson: false` is short for `scan: false`. Example:
    `false`."""
    rates: Texts | None = None
    """The rates to search for reversals; by default the selection rate. Example:
    `[selection_rate]`."""
    of: str | None = None
    """The outcome of the rates. Example: `decision`."""
    by: Texts = field(default_factory=lambda: ["each"])
    """The columns whose groups are compared, one column at a time, or `each`. Example:
    `[gender]`."""
    given: GroupingsOrNone = field(default_factory=lambda: [["all"]])
    """The columns to hold fixed, and lists of columns to hold fixed together; `all` means each
    column. Example: `[branch, [branch, race]]`."""
    together: int = 1
    """The maximum number of columns of `given` that are held fixed together. Example: `2`."""
    pairs: PairChoice = PairChoice.ALL
    """The pairs of groups to compare: all pairs, or each group with its reference. Example:
    `reference`."""
    min_gap: Decimal | None = None
    """The minimum difference of rates, as a share. If it is set, any odds ratio counts, unless
    `min_odds_ratio` is set as well. Example: `0.01`."""
    min_odds_ratio: Decimal | None = None
    """The minimum odds ratio of two rates; 1.05 unless `min_gap` is set. 1.05 is a difference of
    1.2 points at a rate of 50 %, and of 0.4 points at 10 %. Example: `1.1`."""
    warn: _TurnedLimit = None
    """The reversals that warn: true (any), a kind, or a kind that must be significant. Examples:
    `adjusted`, `{kind: every_stratum, significant: true}`."""
    fail: _TurnedLimit = None
    """The reversals that fail: true (any), a kind, or a kind that must be significant. Example:
    `every_stratum`."""


class Subgroups(_Search):
    """The search for subgroups whose rate differs from the overall rate."""

    of: str | None = None
    """The outcome of the rates. Example: `decision`."""
    over: Texts = field(default_factory=lambda: ["all"])
    """The columns of the conditions; by default all protected columns, strata and features.
    Example: `[gender, race]`."""
    rates: Texts | None = None
    """The rates to compare; by default the selection rate. Example: `[selection_rate]`."""
    depth: int = 3
    """The maximum number of conditions of a subgroup. Example: `2`."""
    min_size: int = 100
    """The minimum number of people in the denominator of the rate of a subgroup. Example: `50`."""
    top: int = 10
    """The number of listed subgroups for each rate. Example: `5`."""
    warn: _Limit = None
    """The limit for a warning, on the difference of a subgroup from the overall rate (which
    includes the subgroup). Example: `"> 0.05"`."""
    fail: _Limit = None
    """The limit for a failure, on the difference of a subgroup from the overall rate (which
    includes the subgroup). Example: `{above: 0.1, significant: true}`."""


REFERENCES = tuple(
    str(policy)
    for policy in ReferencePolicy
    if policy not in {ReferencePolicy.LEVEL, ReferencePolicy.EVERYBODY}
)
"""The words that name a reference policy in a spec."""

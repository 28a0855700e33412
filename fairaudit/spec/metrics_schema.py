"""Keys of `metrics`, `defaults`, `simpson` and `subgroups`, with defaults and descriptions."""

# Annotations are evaluated here: they say how a value is read.
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Literal, TypeAlias

from fairaudit.base.frozen import Frozen, field
from fairaudit.judge import About, OnUndefined, ReversalLimit
from fairaudit.judge.simpson import PairChoice
from fairaudit.metrics import OverGroups, ReferencePolicy
from fairaudit.metrics.terms import Towards
from fairaudit.spec.column_schema import StrataModel
from fairaudit.spec.reading import (
    LIMIT_TEXT,
    NUMERIC,
    TURNED_WORDS,
    Average,
    Comparison,
    Form,
    Groupings,
    GroupingsOrNone,
    MetricName,
    Numbers,
    ReferenceMap,
    Texts,
    Words,
    expand_bound,
    expand_reversal_limit,
)
from fairaudit.spec.text import UNWRITTEN

_PAIR = {"type": "array", "items": NUMERIC, "minItems": 2, "maxItems": 2}


class Bound(Frozen):
    """A limit: strictly below, strictly above, or outside two bounds; and what it takes to cross.

    `significant`: the test of no disparity rejects. `conclusive`: a whole interval beyond.
    """

    below: Decimal | None = None
    """Smaller values cross the limit. Example: `0.8`."""
    above: Decimal | None = None
    """Larger values cross the limit. Example: `0.05`."""
    outside: Annotated[list[Decimal] | None, Form(described=_PAIR)] = None
    """Values below the first number or above the second cross the limit. Example:
    `[-0.05, 0.05]`."""
    significant: bool = False
    """Whether the test of no disparity must also reject. Its p-value is corrected over all tests of
    the gates. Example: `true`."""
    conclusive: bool = False
    """Whether the whole interval must be beyond the limit. Example: `true`."""


_Limit: TypeAlias = Annotated[Bound | None, Form(expand_bound, (LIMIT_TEXT,))]


class _Owned(Frozen):
    """Keys of everything that makes checks, and of `defaults`."""

    accept_left_out: Fraction | None = None
    """The share of people (and of their weight) and of groups that a check may leave out. By
    default more than half, or half of the people of one group, makes it inconclusive. Example:
    `0.8`."""
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
        """The name, reason and owner of the checks."""
        return About(self.name or "", self.why or "", self.owner or "")


class Defaults(_Owned):
    """Keys that entries of `metrics` share, unless an entry sets them."""

    reference: ReferenceMap | None = None
    """The group to compare with: a level of each attribute, or a word such as `rest`, `highest`.
    Examples: `rest`, `{gender: men}`."""
    by: Groupings | None = None
    """The groupings to compare: a column, an intersection, a list of them, or `each`, `full`,
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
    """The effect of an undefined value on this check; by default that of the top-level key.
    Example: `warn`."""


class Metric(Defaults, kw_only=True):
    """A metric to report, and to check if it has a limit."""

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
    """How to spread the people of `smoothing` over outcomes: `overall` follows the outcomes of all
    groups and keeps equal groups equal. By default equally. Example: `overall`."""
    alpha: Decimal | None = None
    """The exponent of the generalized entropy or of the Atkinson index. Example: `2`."""
    utilities: dict[str, Decimal] | None = None
    """The utility of each of the four cells, for the expected utility. Example:
    `{tp: 1, fp: 0, fn: -1, tn: 0}`."""
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
    """The model of probabilities: pooled towards attributes, credible, or from draws. Example:
    `pooled`."""
    of_class: str | None = field(default=None, name="class")
    """The class that counts as positive, against all others; `macro` is the mean over classes.
    Example: `macro`."""
    aggregate: OverGroups | None = None
    """The aggregation of the comparisons of all groups into one value. Example: `mean`."""
    sd: Literal["pooled", "total"] | None = None
    """The standard deviation that divides a standardized difference. Example: `total`."""
    against: str | None = None
    """The model that the model of `of` is compared with. Example: `current`."""
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
    """The rates whose gaps may reverse; by default the selection rate. Example:
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
    """The columns of the conditions; by default all attributes, strata and features. Example:
    `[gender, race]`."""
    rates: Texts | None = None
    """The rates in which subgroups may differ; by default the selection rate. Example:
    `[selection_rate]`."""
    depth: int = 3
    """The maximum number of conditions of a subgroup. Example: `2`."""
    min_size: int = 100
    """The minimum number of people in the denominator of the rate of a subgroup. Example: `50`."""
    top: int = 10
    """The number of listed subgroups for each rate. Example: `5`."""
    warn: _Limit = None
    """The limit for a warning on the difference from the overall rate, which includes the subgroup.
    Example: `"> 0.05"`."""
    fail: _Limit = None
    """The limit for a failure on the difference from the overall rate, which includes the subgroup.
    Example: `{above: 0.1, significant: true}`."""


REFERENCES = tuple(
    str(policy)
    for policy in ReferencePolicy
    if policy not in {ReferencePolicy.LEVEL, ReferencePolicy.EVERYBODY}
)
"""The words that name a reference policy in a spec."""

"""Keys of `metrics`, `defaults`, `simpson` and `subgroups`, with defaults and descriptions."""

# Annotations are no texts here: they say how a value is read.
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Literal, TypeAlias

from fairaudit.base.frozen import Frozen, field
from fairaudit.judge import About, OnUndefined, ReversalLimit
from fairaudit.judge.simpson import PairChoice
from fairaudit.metrics import OverGroups, ReferencePolicy
from fairaudit.metrics.terms import Towards
from fairaudit.spec.column_schema import StrataModel
from fairaudit.spec.fields import (
    LIMIT_TEXT,
    NUMERIC,
    TURNED_WORDS,
    Average,
    Comparison,
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
from fairaudit.spec.reading import Reader, Short
from fairaudit.spec.text import UNWRITTEN

_PAIR = {"type": "array", "items": NUMERIC, "minItems": 2, "maxItems": 2}


class Bound(Frozen):
    """A limit: strictly below, strictly above, or outside two bounds; and what it takes to cross.

    `significant`: the test of no disparity rejects. `conclusive`: a whole interval beyond.
    """

    below: Decimal | None = None
    """A value strictly below it is beyond the limit. Example: `0.8`."""
    above: Decimal | None = None
    """A value strictly above it is beyond the limit. Example: `0.05`."""
    outside: Annotated[list[Decimal] | None, Reader(None, _PAIR)] = None
    """A value below the first number or above the second is beyond the limit.

    Example: `[-0.05, 0.05]`.
    """
    significant: bool = False
    """The test of no disparity must reject, too: p is corrected over all tests of the gates.

    Example: `true`.
    """
    conclusive: bool = False
    """The whole interval must lie beyond the limit. Example: `true`."""


_Limit: TypeAlias = Annotated[Bound | None, Short(expand_bound, (LIMIT_TEXT,))]


class _Owned(Frozen):
    """Keys of everything that makes checks, and of `defaults`."""

    accept_left_out: Fraction | None = None
    """The share of the people, of their weight, and of the groups, that may be left out of the
    check; more than half, or half of the people of one group, makes it inconclusive otherwise.

    Example: `0.8`.
    """
    owner: Words | None = None
    """Who answers for the check. Example: `people analytics`."""


class _Search(_Owned):
    """Keys that `simpson` and `subgroups` share."""

    name: Words | None = None
    """What the check is called in every report. Example: `Four-fifths rule`."""
    why: Words | None = None
    """The reason for the check; reports print it. Example: `Company policy 12`."""

    @property
    def about(self) -> About:
        """The name, reason and owner of the checks."""
        return About(self.name or "", self.why or "", self.owner or "")


class Defaults(_Owned):
    """What the entries of `metrics` share, unless they say it themselves."""

    reference: ReferenceMap | None = None
    """The group to compare with: a level by attribute, or a word such as `rest`, `highest`.

    Examples: `rest`, `{gender: men}`.
    """
    by: Groupings | None = None
    """Which groupings are looked at: a column, an intersection, a list of them, or `each`, `full`,
    `all`.

    Example: `[gender, race, gender * race]`.
    """
    given: Groupings | None = None
    """Strata: the metric is taken within each. A column, a list, or a model that makes strata.

    Example: `branch`.
    """
    of: str | None = None
    """The outcome it is about: label, prediction, decision, a model, score or a further number.

    Example: `label`.
    """
    average: Average | None = None
    """How rates are averaged over the strata of `given`: a word, or a weight for each stratum.

    Examples: `pooled`, `{north: 0.4, south: 0.6}`.
    """
    warn: _Limit = None
    """A value beyond this limit warns. A text, or a mapping that may ask for evidence; `none` takes
    none of `defaults`.

    Example: `"< 0.9"`.
    """
    fail: _Limit = None
    """A value beyond this limit fails. A text, or a mapping that may ask for evidence; `none` takes
    none of `defaults`.

    Examples: `"< 0.8"`, `{below: 0.8, significant: true}`.
    """
    undefined: OnUndefined | None = None
    """What a value that does not exist does to this check; else what the spec says.

    Example: `warn`.
    """


class Metric(Defaults, kw_only=True):
    """A metric to report, and with a limit a check."""

    name: Words | None = None
    """What the check is called in every report. Example: `Four-fifths rule`."""
    why: Words | None = None
    """The reason for the check; reports print it. Example: `Company policy 12`."""
    metric: MetricName
    """The metric, by its name or an alias; `fairaudit metrics` lists all.

    Example: `selection_rate`.
    """
    id: Words | None = None
    """The id of the check in reports and waivers, in place of the one it is given.

    Example: `women_by_department`.
    """
    compare: Comparison | None = None
    """How rates are compared: `gap`, `min_ratio` take the two groups farthest apart, `difference`
    and `ratio` each group and its reference.

    Examples: `gap`, `ratio`.
    """
    given_model: StrataModel | None = field(default=None, name=f"{UNWRITTEN}given")
    smoothing: Decimal | None = None
    """People added to each outcome of each group, for `differential_fairness`.

    Example: `1`.
    """
    concentration: Decimal | None = None
    """The same for all outcomes of a group together: 1 is 1/2 for each of two. Example: `1`."""
    towards: Towards | None = None
    """How the people of `smoothing` are spread: as the outcomes of all groups, so that equal groups
    stay equal; without it, equally over the outcomes. Example: `overall`.
    """
    alpha: Decimal | None = None
    """The exponent of the generalized entropy, or of the Atkinson index. Example: `2`."""
    utilities: dict[str, Decimal] | None = None
    """What each of the four cells is worth, for expected utility.

    Example: `{tp: 1, fp: 0, fn: -1, tn: 0}`.
    """
    controls: Texts | None = None
    """Columns that a regression holds fixed. Example: `[branch]`."""
    k: int | None = None
    """How many neighbours are looked up, of people one by one. Example: `5`."""
    t: Decimal | None = None
    """The difference from which situation testing counts somebody, between 0 and 1.

    Example: `0.3`.
    """
    lipschitz: Decimal | None = None
    """How fast outcomes may change with distance, for `lipschitz_violations`. Example: `1`."""
    model: Literal["pooled", "credible", "draws"] | None = None
    """How probabilities are estimated: pooled towards attributes, credible, or given by draws.

    Example: `pooled`.
    """
    of_class: str | None = field(default=None, name="class")
    """The class that counts as positive against all others; `macro` is the mean over classes.

    Example: `macro`.
    """
    aggregate: OverGroups | None = None
    """Makes one value of the comparisons of all groups. Example: `mean`."""
    sd: Literal["pooled", "total"] | None = None
    """Which standard deviation a standardized difference is divided by. Example: `total`."""
    against: str | None = None
    """The model that the one of `of` is compared with. Example: `current`."""
    at: Numbers | None = None
    """Thresholds of the score: the metric is taken at each. Example: `[0.3, 0.5, 0.7]`."""

    @property
    def limits(self) -> dict[str, Bound]:
        """The limits that are set, by their side: `warn`, `fail`."""
        sides = {"warn": self.warn, "fail": self.fail}
        return {side: bound for side, bound in sides.items() if bound is not None}


_TurnedLimit: TypeAlias = Annotated[
    ReversalLimit | None, Short(expand_reversal_limit, (TURNED_WORDS,))
]


class Simpson(_Search):
    """The scan for Simpson's reversals.

    `given` holds columns, and lists of columns to hold fixed together; `together` is up to how many
    of the columns are taken together on top. `simpson: false` is short for `scan: false`: none is
    made.
    """

    scan: bool = True
    """Whether reversals are looked for; `simpson: false` is short for `scan: false`.

    Example: `false`.
    """
    rates: Texts | None = None
    """The rates whose gaps may reverse; without it, the selection rate.

    Example: `[selection_rate]`.
    """
    of: str | None = None
    """The outcome that the rates are about. Example: `decision`."""
    by: Texts = field(default_factory=lambda: ["each"])
    """The columns whose groups are compared, one after the other, or `each`.

    Example: `[gender]`.
    """
    given: GroupingsOrNone = field(default_factory=lambda: [["all"]])
    """What to hold fixed: columns, and lists of columns that are held fixed together; `all` is
    each.

    Example: `[branch, [branch, race]]`.
    """
    together: int = 1
    """Up to how many columns of `given` are held fixed together. Example: `2`."""
    pairs: PairChoice = PairChoice.ALL
    """Which pairs of groups are compared: all, or each group with its reference.

    Example: `reference`.
    """
    min_gap: Decimal | None = None
    """A smaller difference of rates is no gap, as a share: then any odds ratio counts, unless
    `min_odds_ratio` is set, too.

    Example: `0.01`.
    """
    min_odds_ratio: Decimal | None = None
    """A smaller ratio of the odds of both rates is no gap; 1.05 unless `min_gap` is set. At a rate
    of 50 % it is a difference of 1.2 points, at 10 % of 0.4 points, at 0.034 % of 0.0017 points.

    Example: `1.1`.
    """
    warn: _TurnedLimit = None
    """The reversals that warn: true (any), a kind, or a kind that must be significant.

    Examples: `adjusted`, `{kind: every_stratum, significant: true}`.
    """
    fail: _TurnedLimit = None
    """The reversals that fail: true (any), a kind, or a kind that must be significant.

    Example: `every_stratum`.
    """


class Subgroups(_Search):
    """The search for subgroups that a rate treats unlike everybody."""

    of: str | None = None
    """The outcome that the rates are about. Example: `decision`."""
    over: Texts = field(default_factory=lambda: ["all"])
    """The columns that conditions are made of; all attributes, strata and features by default.

    Example: `[gender, race]`.
    """
    rates: Texts | None = None
    """The rates by which a subgroup may stand out; without it, the selection rate.

    Example: `[selection_rate]`.
    """
    depth: int = 3
    """How many conditions a subgroup may have. Example: `2`."""
    min_size: int = 100
    """The fewest people in the denominator of a subgroup's rate. Example: `50`."""
    top: int = 10
    """How many subgroups are listed for each rate. Example: `5`."""
    warn: _Limit = None
    """A divergence from everybody, the subgroup itself included, beyond this limit warns.

    Example: `"> 0.05"`.
    """
    fail: _Limit = None
    """A divergence from everybody, the subgroup itself included, beyond this limit fails.

    Example: `{above: 0.1, significant: true}`.
    """


REFERENCES = tuple(
    str(policy)
    for policy in ReferencePolicy
    if policy not in {ReferencePolicy.LEVEL, ReferencePolicy.EVERYBODY}
)
"""The words that name a reference policy in a spec."""

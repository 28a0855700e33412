"""The rows of a result: groups, rates, comparisons, subsets of attributes, scores, definitions."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Annotated, Any, TypeAlias

from fairaudit.base import names
from fairaudit.base.disclosure_marks import declare_subjects
from fairaudit.base.frozen import RARE, Frozen, field, replace
from fairaudit.base.names import describe_group
from fairaudit.cube import Group, Grouping
from fairaudit.evidence.appearances import Appearance
from fairaudit.evidence.methods import name_interval, name_test
from fairaudit.evidence.records import ComparisonPart
from fairaudit.judge import Check, Finding
from fairaudit.metrics import (
    Comparison,
    Disparity,
    Eligibility,
    GroupMetric,
    Metric,
    Requirement,
    TableMetric,
    find_comparison_id,
)
from fairaudit.metrics.definitions import FAMILIES, PREFERENCES, Better
from fairaudit.metrics.estimate import HIDDEN, Estimate, Significance, Unsmoothed
from fairaudit.metrics.example import describe_example
from fairaudit.metrics.terms import ReferencePolicy, Weights

GroupKey: TypeAlias = tuple[frozenset[tuple[str, str]], frozenset[tuple[str, str]]]
"""A group and a stratum, independent of the order of columns.

The group is empty for a spread: a value of all groups together.
"""


def group_key(group: Group, stratum: Group) -> GroupKey:
    """The key of a group in a stratum."""
    return frozenset(group), frozenset(stratum)


def _describe_place(group: Group, stratum: Group) -> str:
    given = f", given {describe_group(stratum)}" if stratum else ""
    return f"{describe_group(group) or 'everybody'}{given}"


@declare_subjects(
    nobody="of by stratum group",
    row="n standing",
    compared="share",
    nested="counts",
    hidden={"standing": Eligibility.SUPPRESSED},
)
class GroupRow(Frozen):
    """A group: its people `n`, their `share` of all known people, and their outcomes (`counts`)."""

    of: str
    by: Grouping
    stratum: Group = field(name="given")
    group: Group
    n: int | None
    share: float | None
    counts: Mapping[str, int | None]
    standing: Eligibility

    def __repr__(self) -> str:
        return f"GroupRow({_describe_place(self.group, self.stratum)}, n={self.n})"


@declare_subjects(
    nobody="metric of by stratum group parameters alpha averaged",
    row="estimate standing",
    compared="reference difference ratio difference_low difference_high ratio_low ratio_high",
    hidden={"estimate": HIDDEN, "standing": Eligibility.SUPPRESSED, "reference": ()},
)
class RateRow(Frozen):
    """A rate of one group, compared with the `reference` group by `difference` and `ratio`.

    If `difference` and `ratio` are suppressed, they have no value (None). `averaged` are the
    columns of the strata over which the rate was averaged. If counts are masked, `difference_low`,
    `difference_high`, `ratio_low` and `ratio_high` are the ends of the possible ranges.
    """

    metric: str
    of: str
    by: Grouping
    stratum: Group = field(name="given")
    group: Group
    estimate: Estimate = field(name="*estimate")
    standing: Eligibility
    reference: Group
    difference: float | None
    ratio: float | None
    parameters: Mapping[str, object] = field(default_factory=dict)
    alpha: Annotated[float, RARE] = 0.05
    averaged: Grouping = field(default=(), name="averaged_over")
    difference_low: Annotated[float | None, RARE] = None
    difference_high: Annotated[float | None, RARE] = None
    ratio_low: Annotated[float | None, RARE] = None
    ratio_high: Annotated[float | None, RARE] = None

    def __repr__(self) -> str:
        place = _describe_place(self.group, self.stratum)
        return f"RateRow({self.metric} of {self.of}, {place}: {self.estimate!r})"

    def is_favourable(self, burdens: Collection[str]) -> bool | None:
        """Whether the outcome is a benefit; unknown (None) for a class among several."""
        return None if "class" in self.parameters else self.of not in burdens


@declare_subjects(
    nobody="metric title compare of by stratum group reference parameters averaged",
    row="estimate parts decided_by first second flag",
    compared="takes_part",
    hidden={"estimate": HIDDEN, "parts": (), "first": (), "second": ()},
)
class ComparisonRow(Frozen):
    """A comparison of one group with its reference, or of all groups (without a `group`).

    `averaged` are the columns of the strata over which rates were averaged before the comparison.
    `takes_part` is the number of compared groups; if it is suppressed, it has no value (None). If
    the value is outside a fair range, `flag` says on which side it is.
    """

    metric: str
    title: str
    compare: str | None
    of: str
    by: Grouping
    stratum: Group = field(name="given")
    group: Group | None
    reference: str | None
    parameters: Mapping[str, object]
    estimate: Estimate = field(name="*estimate")
    parts: tuple[ComparisonPart, ...]
    decided_by: str | None
    first: Group
    second: Group
    takes_part: int | None = field(name="groups_compared")
    averaged: Grouping = field(default=(), name="averaged_over")
    flag: Annotated[str | None, RARE] = None

    def __repr__(self) -> str:
        given = f", given {describe_group(self.stratum)}" if self.stratum else ""
        by = " × ".join(map(names.name, self.by))
        place = by + given if self.group is None else _describe_place(self.group, self.stratum)
        return f"ComparisonRow({self.metric} of {self.of}, {place}: {self.estimate!r})"

    @property
    def spread(self) -> bool:
        """Whether the row compares all groups together."""
        return self.group is None


@declare_subjects(
    nobody="metric compare title of spread judged limited",
    row="estimate first second parts decided_by departure",
    anybody="set_aside",
    hidden={"estimate": HIDDEN, "first": (), "second": (), "parts": (), "departure": math.nan},
)
class LatticeEntry(Frozen):
    """The worst value of a comparison in a subset of the attributes, and its groups.

    `spread` says whether the value compares all groups together. `judged` says whether a check has
    a limit for this subset, `limited` whether a check has a limit for any subset. `set_aside` is
    the number of groups that are too small to be compared; None if it is suppressed.
    """

    metric: str
    title: str
    of: str
    estimate: Estimate = field(name="*estimate")
    first: Group
    second: Group
    parts: tuple[ComparisonPart, ...]
    spread: bool
    decided_by: str | None
    judged: bool
    limited: bool
    departure: float
    set_aside: Annotated[int | None, RARE] = 0
    compare: Annotated[str | None, RARE] = None


@declare_subjects(
    nobody="by groups",
    row="smallest",
    anybody="tested",  # shows which groups are compared
    nested="entries appears",
    hidden={"entries": (), "appears": ()},
)
class LatticeRow(Frozen):
    """One subset of the protected attributes, with the number of its groups.

    `smallest` is the number of people of the smallest group. `appears` are the groups in which a
    gap first appears. `tested` is the number of rates of groups that were tested for such a gap,
    for each outcome; None if it is suppressed.
    """

    by: Grouping
    groups: int
    smallest: int | None
    entries: tuple[LatticeEntry, ...]
    appears: tuple[Appearance, ...] = ()
    tested: Mapping[str, int] | None = field(default_factory=dict)

    def __repr__(self) -> str:
        subset = " × ".join(map(names.name, self.by))
        return f"LatticeRow({subset}: {self.groups} groups, {len(self.entries)} entries)"


@declare_subjects(
    nobody="of by parameters",
    row="epsilon factor twice bounds_subsets regime low high unbounded",
    nested="unsmoothed",
)
class EpsilonReading(Frozen):
    """The meaning of ε in the groups by all attributes (Foulds & Pan §3).

    `low` and `high` are the ends of the interval of ε, or None. `factor` is e^ε: the
    largest ratio of the expected utilities of two groups, if the utility depends only on the
    outcome and is not negative. `twice` is 2ε, the bound for every subset of the attributes by
    Theorem 3.2. The bound holds for the same rows, without excluded groups and smoothing;
    `bounds_subsets` says whether it holds, and `unbounded` why not. `unsmoothed` is ε without
    pseudo-counts.
    """

    of: str
    by: Grouping
    parameters: str
    epsilon: float
    factor: float
    twice: float
    bounds_subsets: bool
    regime: str
    low: float | None = None
    high: float | None = None
    unbounded: str = ""
    unsmoothed: Annotated[Unsmoothed | None, RARE] = None


@declare_subjects(
    nobody="column by group known",
    row="n mean deviation auc auc_error suppressed",
    nested="lowest highest median",
    hidden={"suppressed": True},
)
class ScoreRow(Frozen):
    """A score in one group, or of all people.

    The median is between the two numbers of `median`, which are equal if it is known exactly.
    `auc` has an error of at most `auc_error`, and no value without positives or negatives. `mean`
    and `deviation` have no value if they would not be exact enough. A `suppressed` row only has its
    group. In a published report, `lowest` and `highest` have no value if few people have them.
    """

    column: str = field(name="score")
    by: Grouping
    group: Group
    known: bool
    n: int | None
    mean: float | None
    deviation: float | None
    lowest: float | None
    highest: float | None
    median: tuple[float, float] | None
    auc: float | None
    auc_error: float | None
    suppressed: bool = False


@declare_subjects(
    never="feature by group known n missing mean deviation lowest highest median levels commonest "
    "entropy",
)
class FeatureRow(Frozen):
    """A feature of the people in one group, or of all people: numbers or levels.

    The median is between the two numbers in `median`. `levels` is the number of levels, `commonest`
    the most frequent level, `entropy` the entropy of the levels in bits.
    """

    feature: str
    by: Grouping
    group: Group
    known: bool
    n: int
    missing: int
    mean: float | None = None
    deviation: float | None = None
    lowest: float | None = None
    highest: float | None = None
    median: tuple[float, float] | None = None
    levels: int | None = None
    commonest: str | None = None
    entropy: float | None = None


@declare_subjects(never="at rate low high people")
class LocalRate(Frozen):
    """The selection rate near the value `at`; `people` is the weight of the people near it."""

    at: float
    rate: float
    low: float
    high: float
    people: float


@declare_subjects(never="attribute of bandwidth points")
class LocalRates(Frozen):
    """The selection rate along a numeric attribute: a smoothed curve, and its confidence band."""

    attribute: str
    of: str
    bandwidth: float
    points: tuple[LocalRate, ...]


@declare_subjects(row="lowest highest n mean_score share low high")
class Calibration(Frozen):
    """One bin of a calibration curve: its scores, its people, and the `share` of positives.

    `low` and `high` are the ends of the Wilson interval of the share.
    """

    lowest: float
    highest: float
    n: int
    mean_score: float
    share: float
    low: float
    high: float


@declare_subjects(row="at selected true_positive_rate false_positive_rate")
class Threshold(Frozen):
    """The rates if scores of at least `at` are selected; a rate without people has no value."""

    at: float
    selected: float
    true_positive_rate: float | None
    false_positive_rate: float | None


@declare_subjects(
    nobody="column by group known",
    row="calibration thresholds suppressed",
    hidden={"calibration": (), "thresholds": (), "suppressed": True},
)
class Curve(Frozen):
    """Calibration and thresholds of a score in a group, or of all people; empty if `suppressed`."""

    column: str = field(name="score")
    by: Grouping
    group: Group
    known: bool
    calibration: tuple[Calibration, ...]
    thresholds: tuple[Threshold, ...]
    suppressed: bool = False


@declare_subjects(
    # The models differ for few people, so nearly every count would be hidden.
    never="metric first second by stratum group standing n both first_only second_only neither "
    "first_value second_value difference low high significance",
)
class ModelChange(Frozen):
    """A rate of the same people by two models, `first` and `second`.

    `n` is the number of people in the denominator. Both models count `both` of them in the
    numerator, only one model counts `first_only` or `second_only`, and no model counts `neither`.
    With survey weights, these four numbers have no value (None). `difference` is the rate of
    `second` minus the rate of `first`, with its interval and McNemar's test.
    """

    metric: str
    first: str
    second: str
    by: Grouping
    stratum: Group = field(name="given")
    group: Group
    standing: Eligibility
    n: int
    both: int | None
    first_only: int | None
    second_only: int | None
    neither: int | None
    first_value: float
    second_value: float
    difference: float
    low: float | None
    high: float | None
    significance: Significance | None

    def swapped(self) -> ModelChange:
        """The same change with the two models in the other order."""
        return replace(
            self,
            first=self.second,
            second=self.first,
            first_only=self.second_only,
            second_only=self.first_only,
            first_value=self.second_value,
            second_value=self.first_value,
            difference=0.0 - self.difference,
            low=None if self.high is None else 0.0 - self.high,
            high=None if self.low is None else 0.0 - self.low,
        )


@declare_subjects(
    nobody="id title family compares use means formula values direction needs takes caution "
    "elsewhere source aliases interval test example version",
)
class Definition(Frozen):
    """A metric in words, as `explain` prints it."""

    id: str
    title: str
    family: str
    compares: str
    use: str
    means: str
    formula: str
    values: str
    direction: str
    needs: str
    takes: tuple[str, ...]
    caution: str
    elsewhere: str
    source: str
    aliases: tuple[str, ...]
    interval: str
    test: str
    example: str = ""
    version: int = 1

    def __repr__(self) -> str:
        return f"Definition({self.id}: {self.means})"


_AVERAGED = {
    Weights.POOLED: "the weight of a stratum is its number of compared people",
    Weights.UNIFORM: "all strata count the same",
    Weights.MIDDLE: "the weight of a stratum is the mean of two shares: how much of the group, and "
    "how much of the reference, is in the stratum",
    Weights.OWN: "for each group, the weight of a stratum is the share of the group that is in it",
}
"""The weights of averages over strata, in words."""


def definition(record: Metric | Comparison, *, worked: bool = False) -> Definition:
    """A metric or comparison in words; `worked` adds a worked example."""
    family = FAMILIES[record.family]
    formula = record.formula
    if isinstance(record, Disparity):
        how = record.comparison
        if not how.is_plain and formula != how.formula:
            formula += f", where {how.id} = {how.formula}"
        formula += "".join(
            f"; {average}: {words}"
            for average, words in _AVERAGED.items()
            if f"averaged ({average})" in formula
        )
    direction = f"{record.ideal} at parity" if not isinstance(record, GroupMetric) else ""
    if isinstance(record, GroupMetric):
        direction = PREFERENCES[record.better].words
        if record.better is Better.NEITHER and record.best_inside is not None:
            direction = f"{record.best_inside} is the best value"
    elif isinstance(record, TableMetric) and record.parity:
        direction = f"at parity {record.parity}"
    elif isinstance(record, Disparity) and record.is_two_sided:
        direction += "; both higher and lower values are a disparity"
    words: dict[str, Any] = dict.fromkeys(("values", "needs", "interval", "test"), "")
    if not isinstance(record, Comparison):
        low, high = record.bounds
        needs = [str(need) for need in sorted(record.requirements - {Requirement.DISTRIBUTION})]
        if record.conditional:
            needs.append("strata (the columns of `given`)")
        if isinstance(record, Disparity) and record.to_reference and record.reference is None:
            needs.append("a reference")
        words = {
            "values": f"{'-∞' if low is None else low} to {'∞' if high is None else high}",
            "needs": ", ".join(needs),
            "interval": name_interval(record),
            "test": name_test(record),
        }
    return Definition(
        id=record.id,
        title=record.title,
        family=record.family,
        compares=family.compares,
        use=family.use,
        means=record.description,
        formula=formula,
        direction=direction,
        takes=() if isinstance(record, Comparison) else record.parameters,
        caution=record.caution,
        elsewhere=record.other_tools,
        source=str(record.source),
        aliases=record.aliases,
        example=describe_example(record) if worked else "",
        version=record.version,
        **words,
    )


JudgedValues: TypeAlias = Mapping[GroupKey, tuple[Group, Group, Estimate]]
"""The group, the stratum and the value of each key."""
_RowsKey: TypeAlias = tuple[str, str, frozenset[str]]
IndexedRows: TypeAlias = Mapping[_RowsKey, Sequence[RateRow | ComparisonRow]]
"""The rows of a result by metric, outcome and columns of groups."""
_Entry: TypeAlias = tuple[object, ...]
"""The fields that are equal in all rows of the same entry of a spec."""


def index_rows(rates: Iterable[RateRow], comparisons: Iterable[ComparisonRow]) -> IndexedRows:
    """The rates of groups that may be compared, and all comparisons, indexed."""
    rows: dict[_RowsKey, list[RateRow | ComparisonRow]] = {}
    for rate in rates:
        if rate.standing is Eligibility.ELIGIBLE and rate.by:
            rows.setdefault((rate.metric, rate.of, frozenset(rate.by)), []).append(rate)
    for row in comparisons:
        rows.setdefault((row.metric, row.of, frozenset(row.by)), []).append(row)
    return rows


def deciding_key(finding: Finding) -> GroupKey:
    """The group and stratum whose value decides a check; the group of a spread is empty."""
    return group_key(() if finding.spread else finding.first, finding.stratum)


def find_entries(finding: Finding, rows: IndexedRows) -> dict[_Entry, JudgedValues]:
    """The values of each entry of the spec to which the check of a finding may belong.

    The entry has the metric, the outcome and the groups of the check, and the value of the check in
    the row of the deciding group. The result may have no such entry.
    """
    check, estimate = finding.check, finding.estimate
    if not isinstance(check, Check) or estimate is None:
        return {}
    # The difference of a rate between two outcomes is a `ComparisonRow`.
    is_rate = isinstance(check.metric, GroupMetric) and check.against is None
    compare = find_comparison_id(check.metric)
    entries: dict[_Entry, dict[GroupKey, tuple[Group, Group, Estimate]]] = {}
    for row in rows.get((check.metric.id, check.of, frozenset(check.by)), ()):
        entry: _Entry = (repr(sorted(row.parameters.items(), key=str)),)
        given, is_of_check = {name for name, _ in row.stratum}, is_rate
        if isinstance(row, ComparisonRow):
            given |= {*row.averaged}
            is_of_check = not is_rate and row.compare == compare
            # A named level distinguishes entries; under other policies, the reference may vary.
            level = frozenset(row.second if row.reference == ReferencePolicy.LEVEL else ())
            entry = (*entry, row.compare, row.reference, level, frozenset(row.averaged))
        if is_of_check and given == {*check.given}:
            key = group_key(row.group or (), row.stratum)
            entries.setdefault(entry, {})[key] = row.group or (), row.stratum, row.estimate
    decides = deciding_key(finding)
    fitting: dict[_Entry, JudgedValues] = {}
    for entry, values in entries.items():
        judged = values.get(decides)
        if judged is not None and judged[2].value == estimate.value:
            # The estimate of the check also has the exact fraction.
            fitting[entry] = {**values, decides: (judged[0], judged[1], estimate)}
    return fitting

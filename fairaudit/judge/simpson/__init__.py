"""Records of Simpson's reversals: gaps that change sign within the levels of another column.

The other column is called the conditioning column, and its levels are the strata. The kinds and
their order are a precise form of Foulds & Pan §3.1 ("for all, or most, of the third variable's
values"). They are decided on people without missing values, and on strata that have people of both
groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from fractions import Fraction
from typing import Annotated, TypeAlias

from fairaudit.base import names
from fairaudit.base.disclosure_marks import declare_subjects
from fairaudit.base.frozen import POSITIVE, RARE, WRITTEN, Frozen, field, replace
from fairaudit.cube import Group, Grouping, Marks
from fairaudit.metrics import Rate
from fairaudit.metrics.estimate import Significance
from fairaudit.metrics.reasons import Ineligibility
from fairaudit.metrics.terms import DEFAULT_INFERENCE, NO_MINIMUM, Correction, Inference, Minimum


class ReversalKind(StrEnum):
    """The change of a gap within strata, strongest first; the last three are notes."""

    EVERY_STRATUM = "every_stratum"
    ADJUSTED = "adjusted"
    MOST_PEOPLE = "most_people"
    OPPOSITE = "opposite"
    MASKED = "masked"
    EXPLAINED = "explained"

    @property
    def strength(self) -> int:
        """The strength as a number; a larger number means a stronger kind."""
        return -list(ReversalKind).index(self)

    @property
    def description(self) -> str:
        """The meaning in one sentence."""
        return _DESCRIPTIONS[self]

    @property
    def reverses(self) -> bool:
        """Whether the kind is a reversal and not a note."""
        return self.strength >= ReversalKind.MOST_PEOPLE.strength

    @property
    def has_both_directions(self) -> bool:
        """Whether the gaps have both signs: a reversal, or opposite gaps in strata."""
        return self.strength >= ReversalKind.OPPOSITE.strength


_DESCRIPTIONS = {
    ReversalKind.EVERY_STRATUM: "The gap points one way overall and the other way in every "
    "stratum.",
    ReversalKind.ADJUSTED: "The gap points the other way once both groups are given the same mix "
    "of strata, though not in every stratum.",
    ReversalKind.MOST_PEOPLE: "More than half of the people are in strata where the gap points "
    "the other way, however many strata these are, but an equal mix of strata does not turn it, or "
    "by less than counts as a gap.",
    ReversalKind.OPPOSITE: "The gap points one way in some strata and the other way in others, "
    "beyond chance (qualitative interaction, Gail & Simon 1985): overall and after adjustment the "
    "gaps cancel, in part or wholly.",
    ReversalKind.MASKED: "There is a gap at an equal mix of strata; overall it is too small to "
    "count, and at most half of it, or points the other way.",
    ReversalKind.EXPLAINED: "There is a gap overall; at an equal mix of strata at most half of it "
    "is left.",
}

NotCompared: TypeAlias = tuple[Group, Ineligibility]
"""A group that could not be compared, and the reason."""

DEFAULT_ODDS_RATIO = Fraction(21, 20)
"""The smallest odds ratio that counts as a gap, if the spec sets no minimum.

An odds ratio of 1.05 is 1.2 points at a rate of 50 %, 0.4 points at 10 % and 0.0017 points at
0.034 %. The weakest published reversal (third class and crew of the Titanic) has 1.07.
"""


@declare_subjects(row="over under n scale")
class GroupRate(Frozen):
    """A rate of one group: numerator and denominator (with weights, times `scale`), and people."""

    over: int = field(name="numerator")
    under: Annotated[int, POSITIVE] = field(name="denominator")
    n: int
    scale: Annotated[int, POSITIVE] = 1

    @property
    def value(self) -> Annotated[float, WRITTEN]:
        """The rate; NaN if the denominator is 0."""
        return self.over / self.under if self.under else float("nan")


class PairChoice(StrEnum):
    """The pairs that a scan compares: all pairs, or each group with the declared reference."""

    ALL = "all"
    REFERENCE = "reference"


@declare_subjects(row="stratum first second weight significance")
class Stratum(Frozen):
    """The rates of both groups of a pair in one stratum, its weight, and the test of its gap.

    `significance` is corrected for all strata of the pair; None if no test is possible.
    """

    stratum: Group = field(name="given")
    first: GroupRate
    second: GroupRate
    weight: float
    significance: Significance | None = None

    @property
    def difference(self) -> Annotated[float, WRITTEN]:
        """The first group's rate minus the second's."""
        return self.first.value - self.second.value


@declare_subjects(
    row="p odds_low odds_high difference difference_low difference_high homogeneity interaction "
    "opposite"
)
class CombinedStrata(Frozen):
    """The results of both groups for all strata together; a number is None if it is undefined.

    `p` is from the Cochran–Mantel–Haenszel test. The common odds ratio (Robins, Breslow &
    Greenland) is between `odds_low` and `odds_high`, the common `difference` (Sato) between
    `difference_low` and `difference_high`. `homogeneity` is Breslow & Day's p of equal odds ratios,
    `interaction` Gail & Simon's p of gaps that all have one sign, and `opposite` the one-sided p of
    gaps that all have the sign of the gap overall. The last two assume the variance of a gap of 0
    in each stratum.
    """

    p: float | None
    odds_low: float | None
    odds_high: float | None
    difference: float | None
    difference_low: float | None
    difference_high: float | None
    homogeneity: float | None
    interaction: float | None
    opposite: float | None


@declare_subjects(row="value low high")
class ExplainedShare(Frozen):
    """The share of a gap that the mix of strata explains: 1 - standardized / crude.

    Below 0, the standardized gap is wider; above 1, it has the opposite sign. The ends of an
    unbounded interval are None.
    """

    value: float = field(name="share")
    low: float | None
    high: float | None


@declare_subjects(
    nobody="rate of attribute pair given kind",
    row="crude crude_pair crude_everybody standardized standardized_pair composition within "
    "mantel_haenszel_odds_ratio joined crude_p opposite_weight reversed_strata estimable_strata "
    "adjusted strata off_support incomplete explained",
    anybody="significance",  # in the family of all comparisons
)
class Reversal(Frozen):
    """Two groups of one attribute whose gap changes within strata, and the numbers of the change.

    All differences are the first group's rate minus the second group's rate, for people without
    missing values in strata that both groups share. `crude` is the gap overall, and `crude_p` the
    p-value of its test. `composition` is the part of the gap that follows from the different mix of
    strata, and `within` the rest. `standardized` is the gap if both groups have the mix of strata
    of both together, and `adjusted` is set if this gap has the opposite sign. `significance` is the
    test of the claim of the kind, for all comparisons of the scan. `opposite_weight` is the share
    of the people in strata with a gap of the opposite sign. `off_support` are strata of only one
    group. `incomplete` people have no known stratum. `explained` is the share of the gap that the
    mix explains.
    """

    rate: str
    of: str
    attribute: str
    pair: tuple[str, str]
    given: Grouping
    kind: ReversalKind
    crude: float
    crude_pair: tuple[GroupRate, GroupRate]
    crude_everybody: float
    standardized: float
    standardized_pair: tuple[float, float]
    composition: float
    within: float
    mantel_haenszel_odds_ratio: float
    joined: CombinedStrata | None
    crude_p: float | None
    significance: Significance | None
    opposite_weight: float
    reversed_strata: int
    estimable_strata: int
    adjusted: bool
    strata: tuple[Stratum, ...]
    off_support: tuple[Group, ...]
    incomplete: int
    explained: ExplainedShare | None = None

    def __repr__(self) -> str:
        pair = " against ".join(map(names.name, self.pair))
        given = " × ".join(map(names.name, self.given))
        gaps = f"{self.crude:.4g} overall, {self.standardized:.4g} adjusted"
        who = f"{names.name(self.attribute)} {pair} given {given}"
        return f"Reversal({self.kind}: {self.rate} of {self.of}, {who}: {gaps})"

    @property
    def opposite_strata(self) -> Annotated[float, WRITTEN]:
        """The share of the strata whose gap has the opposite sign of the gap overall."""
        strata = self.estimable_strata
        return self.reversed_strata / strata if strata else float("nan")

    @property
    def swing(self) -> float:
        """The size of the difference between the crude and the standardized gap."""
        return abs(self.crude - self.standardized)

    @property
    def hangs_on_weights(self) -> bool:
        """Whether the adjusted gap has another sign with the weights of Mantel and Haenszel.

        The kind is decided with the people of both groups as weights, but the test uses the weights
        of Mantel and Haenszel. If the signs differ, the claim of the kind is not tested.
        """
        gap = None if self.joined is None else self.joined.difference
        by_people = self.kind in {ReversalKind.MASKED, ReversalKind.ADJUSTED}
        return by_people and gap is not None and gap * self.standardized <= 0

    def is_significant(self, alpha: float) -> bool:
        """Whether the reversal is significant, corrected for all comparisons of the scan."""
        return self.significance is not None and self.significance.adjusted < alpha

    def is_not_left(self, alpha: float) -> bool:
        """Whether the gap overall is significant, and no significant gap is left after adjustment.

        The p-value overall is corrected for all comparisons of the scan (Bonferroni). The adjusted
        Mantel-Haenszel difference has the opposite sign, or is not significant by its own test.
        """
        joined, crude = self.joined, self.crude_p
        if joined is None or joined.difference is None or joined.p is None or crude is None:
            return False
        if self.kind is ReversalKind.MASKED and self.hangs_on_weights:
            return False
        tests = 1
        if self.significance is not None and self.significance.correction != Correction.NONE.words:
            tests = self.significance.family
        is_gone = joined.difference * self.crude <= 0 or joined.p >= alpha
        return crude * tests < alpha and is_gone

    @property
    def directions(self) -> tuple[tuple[Stratum, ...], tuple[Stratum, ...]]:
        """The strata where the first group's rate is higher, and those where it is lower."""
        return (
            tuple(stratum for stratum in self.strata if stratum.difference > 0),
            tuple(stratum for stratum in self.strata if stratum.difference < 0),
        )

    def significant_strata(self, alpha: float) -> tuple[int, int]:
        """The numbers of strata with a significant gap of the same sign and of the opposite sign.

        The sign of the gap overall is the reference; without a gap overall, it is the positive
        sign. The tests are corrected for all strata of the pair.
        """
        significant = [
            stratum.difference * (self.crude or 1.0)
            for stratum in self.strata
            if stratum.significance is not None and stratum.significance.adjusted < alpha
        ]
        return sum(gap > 0 for gap in significant), sum(gap < 0 for gap in significant)


@declare_subjects(nobody="by given pairs min_gap min_odds_ratio")
class ScanScope(Frozen):
    """The settings of a scan: the columns `by` of groups, conditioning columns, and minimum gaps.

    A gap counts if it reaches both `min_gap`, in rates, and `min_odds_ratio`.
    """

    by: Grouping
    given: tuple[Grouping, ...]
    pairs: PairChoice
    min_gap: float
    min_odds_ratio: float


@declare_subjects(
    nobody="rate attribute given",
    anybody="groups reference apart",
    hidden={"groups": (), "apart": None},
)
class ScannedPairs(Frozen):
    """The compared pairs of groups of one attribute, for each of the conditioning columns `given`.

    These are all pairs of `groups`, or each group with the `reference`, without the pairs `apart`,
    which share fewer than two strata. None means too many `apart` pairs to list.
    """

    rate: str = field(name="metric")
    attribute: str
    given: tuple[Grouping, ...]
    groups: tuple[str, ...]
    reference: Annotated[str | None, RARE] = None
    apart: Annotated[tuple[tuple[str, ...], ...] | None, RARE] = ()

    def have(self, rate: str, attribute: str, pair: tuple[str, str], given: Grouping) -> bool:
        """Whether two groups were compared by a rate, given these columns."""
        columns = {frozenset(names) for names in self.given}
        if (self.rate, self.attribute) != (rate, attribute) or frozenset(given) not in columns:
            return False
        is_chosen = self.reference is None or self.reference in pair
        is_known = self.apart is not None and not {pair, pair[::-1]}.intersection(self.apart)
        return is_chosen and is_known and {*pair} <= {*self.groups}


@declare_subjects(nobody="of scope", anybody="pairs", hidden={"pairs": ()})
class Scanned(Frozen):
    """The pairs that a scan for reversals compared. They show what an empty result is about."""

    of: str
    scope: ScanScope = field(name="*scope")
    pairs: tuple[ScannedPairs, ...] = field(name="tables")

    def have(self, rate: str, attribute: str, pair: tuple[str, str], given: Grouping) -> bool:
        """Whether two groups were compared by a rate, given these columns."""
        return any(pairs.have(rate, attribute, pair, given) for pairs in self.pairs)


class ReversalScan(Frozen):
    """The request of a scan: rates of one outcome, attributes with groups, conditioning columns.

    A gap counts if it reaches both `floor`, in rates, and the odds ratio `odds`.
    """

    rates: tuple[Rate, ...]
    of: str
    attributes: tuple[str, ...]
    given: tuple[Grouping, ...]
    floor: Fraction
    references: dict[str, str]
    pairs: PairChoice = PairChoice.ALL
    minimum: Minimum = NO_MINIMUM
    inference: Inference = DEFAULT_INFERENCE
    odds: Fraction = Fraction(1)

    @property
    def scope(self) -> ScanScope:
        """The settings of the scan that reports show."""
        sizes = float(self.floor), float(self.odds)
        return ScanScope(self.attributes, self.given, self.pairs, *sizes)


class Compared(Frozen, eq=False):
    """The extent of a scan by one rate, between groups of one attribute, given some columns.

    `pairs` is the number of compared pairs. `strata` is the number of strata; in a single stratum
    no gap can change. `large` marks the groups [G] that are large enough. `passed_over` marks the
    groups in strata [Z, G] whose people are not compared with another group.
    """

    pairs: int
    strata: int
    large: Marks
    passed_over: Marks


class ScanResult(Frozen):
    """The reversals that a scan found, the compared pairs, and the groups that were not compared.

    The keys of `compared` are rate, attribute and conditioning columns. `too_many` are reasons why
    too large parts of the scan were skipped. `untested` is the number of pairs that were not tested
    for opposite gaps in strata. `repeated` is the number of unlisted reversals: fewer conditioning
    columns show them at least as strongly and as significantly.
    """

    found: tuple[Reversal, ...] = ()
    compared: Mapping[tuple[str, str, Grouping], Compared] = field(default_factory=dict)
    left_out: tuple[NotCompared, ...] = ()
    too_many: tuple[str, ...] = ()
    repeated: int = 0
    untested: int = 0
    pairs: tuple[ScannedPairs, ...] = ()

    def narrow(self, scope: ScanScope, rate: str | None = None) -> ScanScope:
        """The scope without attributes and columns for which no pair was compared (by a rate)."""
        known = [key for key, one in self.compared.items() if one.pairs and rate in {None, key[0]}]
        columns = {*(by for _, by, _ in known)}, {*(given for *_, given in known)}
        by = tuple(name for name in scope.by if name in columns[0])
        # Keep conditioning columns that contain all attributes: no attribute has pairs given these.
        given = (names for names in scope.given if names in columns[1] or {*scope.by} <= {*names})
        return replace(scope, by=by, given=tuple(given)) if known else scope

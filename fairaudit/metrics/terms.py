"""Options of metrics: minimum sizes (key in spec/schema.py), reference, averages, `inference:`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Annotated

import numpy as np

from fairaudit.base.frozen import RARE, Frozen, Unreadable, field
from fairaudit.cube import Floats, Group, Ints, Marks
from fairaudit.stats import multiplicity


class Correction(StrEnum):
    """The correction of p-values for the number of tests."""

    HOLM = "holm"
    BENJAMINI_HOCHBERG = "benjamini_hochberg"
    NONE = "none"

    @property
    def words(self) -> str:
        """The name as reports print it."""
        return _CORRECTIONS[self][0]

    def adjust(self, p: Floats) -> Floats:
        """The adjusted p-values of one family of tests; NaN stays NaN and does not count."""
        return np.asarray(_CORRECTIONS[self][1](p))

    def bound(self, p: Floats, family: int) -> Floats:
        """Upper bounds of the adjusted p-values in a family of this size (Bonferroni)."""
        return np.asarray(p if self is Correction.NONE else np.minimum(p * family, 1.0))


_CORRECTIONS: Mapping[Correction, tuple[str, Callable[[Floats], Floats]]] = {
    Correction.HOLM: ("Holm", multiplicity.holm),
    Correction.BENJAMINI_HOCHBERG: ("Benjamini–Hochberg", multiplicity.benjamini_hochberg),
    Correction.NONE: ("none", np.asarray),
}
"""The name and the function of each correction. Add a correction here and in `Correction`.

`Correction.bound` requires that no adjusted p-value is above Bonferroni's.
"""


class Family(StrEnum):
    """Which tests are corrected together: all tests of the spec, of an outcome, or of a check."""

    SPEC = "spec"
    OUTCOME = "outcome"
    CHECK = "check"

    @property
    def words(self) -> str:
        """The tests that are corrected together, for the legend of a table."""
        if self is Family.CHECK:
            return "the tests of this check"
        of = " of the same outcome" if self is Family.OUTCOME else ""
        return (
            f"all tests of the checks{of} that can fail (for a check that only warns: all tests of "
            f"the checks{of} that only warn); equal tests count once"
        )


class RatioInterval(StrEnum):
    """The method of the interval for a ratio of two rates."""

    KOOPMAN = "koopman"
    KATZ = "katz"


class ZTest(StrEnum):
    """The variance in a z test: of both groups together (pooled), or of each group."""

    POOLED = "pooled"
    UNPOOLED = "unpooled"


class FisherTest(StrEnum):
    """How Fisher's test counts tables that are as likely as the observed table: in full, or half.

    If they count half, the test agrees more often with the intervals of shares. If they count in
    full, the error rate is never above the level.
    """

    EXACT = "exact"
    MID_P = "mid_p"


class TTest(StrEnum):
    """Whether a t test allows different variances of the groups (Welch) or not (Student)."""

    WELCH = "welch"
    STUDENT = "student"


class Inference(Frozen):
    """The confidence of intervals and tests, the correction of p-values, and the methods.

    The texts below the fields describe the keys of `inference` in a spec. Fingerprints leave out
    values that equal a default here, in `MetricOptions`, `Check` or `Missing`: a changed default
    changes the meaning of stored baselines (`pipeline/baseline.py`).
    """

    confidence: Decimal = Decimal("0.95")
    """The confidence of intervals. Tests reject below one minus this number. Example: `0.99`."""
    correction: Correction = Correction.HOLM
    """The correction of the p-values of all tests behind limits of the spec. Example:
    `benjamini_hochberg`."""
    family: Family = Family.SPEC
    """The tests that are corrected together: of the spec, of an outcome and model, or of a check.
    Tests of `fail` and tests of `warn` are corrected separately. Example: `outcome`."""
    ratio: RatioInterval = RatioInterval.KOOPMAN
    """The method of intervals for the ratio of two rates. Example: `katz`."""
    z: ZTest = ZTest.POOLED
    """The variance in z tests: of both groups together, or of each group. Example: `unpooled`."""
    t: TTest = TTest.WELCH
    """Whether t tests allow different variances of the groups (welch) or not. Example:
    `student`."""
    fisher: FisherTest = FisherTest.MID_P
    """How Fisher's test counts tables that are as likely as the observed table: half (mid_p) or in
    full. Example: `exact`."""
    yates: bool = False
    """Whether the z test of two shares uses the continuity correction. Example: `true`."""

    @property
    def alpha(self) -> float:
        """The error rate α of every interval and test."""
        return float(1 - self.confidence)

    @property
    def percent(self) -> str:
        """The confidence of intervals with all its digits: `95 %`."""
        return f"{(100 * self.confidence).normalize():f} %"

    def contradictions(self) -> Iterator[Unreadable]:
        """Yields a fault if the confidence is out of range."""
        if not Decimal("0.5") <= self.confidence < 1:
            yield Unreadable("does not lie from 0.5 to below 1", "confidence")


DEFAULT_INFERENCE = Inference()


class Towards(StrEnum):
    """The shares of outcomes to which pseudo-counts are proportional."""

    OVERALL = "overall"


class Parameters(Frozen):
    """The parameters of metrics, as a spec writes them; None or empty if not set.

    - `smoothing` is the pseudo-count of each outcome, and `concentration` is the sum of all
      pseudo-counts. With `towards`, pseudo-counts are proportional to the shares of all groups
      together; otherwise, they are equal.
    - `alpha` is the order of a generalized entropy. `utilities` are the utilities of tp, fp, fn and
      tn.
    - `controls` are the columns that a regression holds fixed.
    - `k` is the number of neighbours of a person. `t` is the smallest gap between the rates of
      neighbours that counts. `lipschitz` is the largest allowed change of a score per unit of
      distance.
    """

    smoothing: Annotated[Decimal | None, RARE] = None
    concentration: Annotated[Decimal | None, RARE] = None
    towards: Annotated[Towards | None, RARE] = None
    alpha: Annotated[Decimal | None, RARE] = None
    utilities: Annotated[tuple[tuple[str, Decimal], ...], RARE] = ()
    controls: Annotated[tuple[str, ...], RARE] = ()
    k: Annotated[int | None, RARE] = None
    t: Annotated[Decimal | None, RARE] = None
    lipschitz: Annotated[Decimal | None, RARE] = None

    def per_outcome(self, outcomes: int) -> float:
        """The pseudo-count that Eq. 7 of Foulds & Pan adds to each outcome."""
        if self.concentration is not None:
            return float(self.concentration) / max(outcomes, 1)
        return float(self.smoothing or 0)

    def pseudo_counts(self, overall: Floats) -> Floats:
        """The pseudo-count of each outcome, [..., Y, 1].

        `overall` [..., Y, 1] is the share of each outcome in all groups together.
        """
        each = self.per_outcome(overall.shape[-2])
        shares = 1.0 if self.towards is None else overall.shape[-2] * overall
        return np.asarray(each * shares * np.ones_like(overall))

    def as_texts(self) -> dict[str, str]:
        """The parameters that are set, by name, as texts."""
        texts = {
            name: format_decimal(value) if isinstance(value, Decimal) else str(value)
            for name in _SINGLE
            if (value := getattr(self, name)) is not None
        }
        if self.utilities:
            texts["utilities"] = ", ".join(f"{cell} {value}" for cell, value in self.utilities)
        if self.controls:
            texts["controls"] = "+".join(self.controls)
        return texts

    def as_values(self) -> dict[str, object]:
        """The parameters that are set, by name, as numbers and lists."""
        values: dict[str, object] = {
            name: float(value) if isinstance(value, Decimal) else value
            for name in _SINGLE
            if (value := getattr(self, name)) is not None
        }
        if self.utilities:
            values["utilities"] = {cell: float(value) for cell, value in self.utilities}
        if self.controls:
            values["controls"] = [*self.controls]
        return values


def format_decimal(value: Decimal) -> str:
    """A decimal without superfluous zeros, so that equal numbers have equal texts."""
    plain = format(value.normalize(), "f")
    return plain if len(plain) <= _MOST_LETTERS else format(value.normalize(), "e")


_MOST_LETTERS = 20
"""Maximum number of characters of a number without an exponent."""

_SINGLE = ("smoothing", "concentration", "alpha", "t", "lipschitz", "towards", "k")
"""The parameters that are a single value."""

NO_PARAMETERS = Parameters()


class Minimum(Frozen):
    """The minimum numbers of people for a group to be compared.

    The group must have `size` people in the denominator. For shares of people, at least `events`
    people must be expected to have each outcome, and at least `events` people not to have it.
    """

    size: int | None = field(default=None, name="min_size")
    events: int | None = field(default=None, name="min_events")

    def admits(self, n: Ints | Floats, outcomes: Ints | None = None) -> Marks:
        """Marks groups that are large enough; `n` (of any shape) are the people in the denominator.

        `outcomes` [Z, K, 1] is the number of all people with each outcome; `n` is then [Z, G].
        """
        enough = np.ones(n.shape, np.bool_) if self.size is None else np.asarray(n >= self.size)
        if self.events is None or outcomes is None:
            return enough
        # Python integers, because people times survey weights in fixed point can exceed 64 bits.
        people, of = np.asarray(n).astype(object)[:, None], outcomes.astype(object)
        total = of.sum(axis=1, keepdims=True)
        expected = (total > 0) & (people * of >= self.events * total)
        return np.asarray(enough & expected.all(axis=1).astype(np.bool_))


NO_MINIMUM = Minimum()
"""Without a minimum, all groups are compared."""

NO_GROUP = -1
"""The index that means no single group: pooled groups (rest, overall), or no group at all."""


class ReferencePolicy(StrEnum):
    """The kind of reference that a group is compared with."""

    DECLARED = "declared"
    LEVEL = "level"
    LARGEST = "largest"
    HIGHEST = "highest"
    LOWEST = "lowest"
    REST = "rest"
    OVERALL = "overall"
    EVERYBODY = "everybody in all strata"


POOLED_REFERENCES = frozenset(
    {ReferencePolicy.REST, ReferencePolicy.OVERALL, ReferencePolicy.EVERYBODY}
)
"""References that are several groups together."""

INCLUDING_GROUP = frozenset({ReferencePolicy.OVERALL, ReferencePolicy.EVERYBODY})
"""Pooled references that include the compared group."""

EXTREME_REFERENCES = frozenset({ReferencePolicy.HIGHEST, ReferencePolicy.LOWEST})
"""References that are chosen by the same values that are then compared."""

SINGLE_REFERENCES = frozenset(
    {ReferencePolicy.DECLARED, ReferencePolicy.LEVEL, ReferencePolicy.LARGEST}
)
"""References that are one group, chosen independently of its rate."""


class Reference(Frozen):
    """The reference that groups are compared with: its kind, and the group that it names."""

    policy: ReferencePolicy
    group: Group = ()


class Weights(StrEnum):
    """The weights of the strata in an average.

    - `pooled`, `group` and `reference` count the people of both sides, or of one side, in the
      denominator of the rate (for a false positive rate: people with a negative label).
    - `group_people` and `reference_people` count all people of one side, with any label.
    - `overlap` is n m / (n + m) for the people of both sides; it is large in strata with equal
      sides (Li, Morgan & Zaslavsky 2018, Balancing covariates via propensity score weighting, JASA
      113:390).
    - `middle` is the mean of two shares: for each side, the share of its people who are in the
      stratum.
    - `own` weighs each side by its own people. This does not standardise: it gives the crude rate
      over the strata with both sides.
    - `uniform` weights are equal; `levels` are weights that the spec sets.
    """

    POOLED = "pooled"
    UNIFORM = "uniform"
    REFERENCE = "reference"
    GROUP = "group"
    REFERENCE_PEOPLE = "reference_people"
    GROUP_PEOPLE = "group_people"
    OVERLAP = "overlap"
    LEVELS = "levels"
    MIDDLE = "middle"
    OWN = "own"


def name_stratum(stratum: Group) -> str:
    """The name of a stratum in the weights of a spec: its levels, in the order of the columns."""
    return ", ".join(level for _, level in stratum)


class Average(Frozen):
    """How rates are averaged over strata; `levels` are the weights for `Weights.LEVELS`."""

    weights: Weights
    levels: Mapping[str, Decimal] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash(self.weights)

    def __str__(self) -> str:
        if self.weights is not Weights.LEVELS:
            return str(self.weights)
        return ", ".join(f"{level} {weight}" for level, weight in self.levels.items())

    def of_strata(self, strata: Sequence[Group]) -> list[Fraction]:
        """The weight of each stratum; 0 if the spec does not set one."""
        return [Fraction(self.levels.get(name_stratum(stratum), 0)) for stratum in strata]


OF_TWO_SIDES = frozenset(
    {Weights.REFERENCE, Weights.GROUP, Weights.REFERENCE_PEOPLE, Weights.GROUP_PEOPLE}
    | {Weights.OVERLAP}
)
"""Weights that exist only for a comparison of two sides."""

POOLED, UNIFORM = Average(Weights.POOLED), Average(Weights.UNIFORM)
MIDDLE, OWN = Average(Weights.MIDDLE), Average(Weights.OWN)


class MetricOptions(Frozen):
    """The options of a metric in a spec: the reference, the minimum sizes, the parameters.

    `average` is the average over strata that replaces rates before they are compared. `of_class` is
    the class that counts as positive; all other classes count as negative. People with a score of
    at least `at` are selected. `inference` contains the confidence and the methods.
    """

    reference: Reference | None = None
    minimum: Minimum = field(default=NO_MINIMUM, name="*minimum")
    parameters: Parameters = NO_PARAMETERS
    average: Average | None = None
    of_class: str | None = field(default=None, name="class")
    at: Decimal | None = None
    inference: Inference = DEFAULT_INFERENCE

    @property
    def policy(self) -> ReferencePolicy | None:
        """The kind of the reference; None without a reference."""
        return None if self.reference is None else self.reference.policy

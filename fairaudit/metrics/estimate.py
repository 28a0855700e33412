"""`Estimate`, `Significance`: a number with its interval and test; which people they disclose."""

from __future__ import annotations

import math
from enum import StrEnum
from fractions import Fraction
from typing import Annotated

from fairaudit.base.disclosure_marks import declare_subjects
from fairaudit.base.frozen import POSITIVE, RARE, SIGNED, WRITTEN, Frozen

MASKED_RANGE = "least and greatest value over all masked counts"
"""The method of an estimate with a range in place of its interval."""


class State(StrEnum):
    """Whether a number is defined: 0/0 is undefined, positive/0 is infinite.

    A suppressed number is defined, but not published.
    """

    DEFINED = "defined"
    UNDEFINED = "undefined"
    INFINITE = "infinite"
    NEGATIVE_INFINITE = "negative_infinite"
    SUPPRESSED = "suppressed"


def state_of(value: float) -> State:
    """The state of a number in an array: NaN is undefined, ±inf is infinite."""
    if math.isfinite(value):
        return State.DEFINED
    if math.isnan(value):
        return State.UNDEFINED
    return State.INFINITE if value > 0 else State.NEGATIVE_INFINITE


@declare_subjects(row="test hypothesis p")
class SecondTest(Frozen):
    """A second test that is printed with a number: its name, its hypothesis, and its p-value.

    For example, for an average over strata: the test that groups are equal in every stratum.
    """

    test: str
    hypothesis: str
    p: float


@declare_subjects(row="test p adjusted family correction letter statistic freedom beside")
class Significance(Frozen):
    """A test of no disparity: its name, its p-value, and the p-value corrected for its family.

    `adjusted` is the p-value after correction (by the method `correction`) for the number of tests
    in the `family`. `letter` is the kind of `statistic` (χ², t, F or G), and `freedom` are its
    degrees of freedom; a test that counts tables has no statistic (None). `beside` is a test of
    another hypothesis.
    """

    test: str
    p: float
    adjusted: float
    family: Annotated[int, POSITIVE]
    correction: str
    letter: Annotated[str, RARE] = ""
    statistic: Annotated[float | None, RARE] = None
    freedom: Annotated[tuple[float, ...], RARE] = ()
    beside: SecondTest | None = None


@declare_subjects(row="value")
class Unsmoothed(Frozen):
    """The value without pseudo-counts."""

    value: float


@declare_subjects(
    row="value n numerator denominator scale exact low high method no_interval reason error "
    "numerators denominators",
    anybody="significance",  # the p-values of other groups correct its p-value
    nobody="suppressed borrows weighted",
    nested="unsmoothed",
)
class Estimate(Frozen):
    """A value with its evidence.

    - `exact` is the value as a fraction if the measure is rational. `numerator / denominator` are
      the integers of a rate. If the estimate is `weighted`, both integers must be divided by
      `scale`. `n` is the number of people in the denominator.
    - `low` and `high` are the ends of the interval by `method`. Without an interval, `low` and
      `high` are None, and `no_interval` is the reason.
    - `significance` is the test of the disparity. `error` is a bound of the error from the bins of
      a score. `borrows` is true if the interval uses part of the variance of other groups.
      `unsmoothed` is the value without pseudo-counts.
    - With masked counts, `low` and `high` are the ends of the range of the value, and `numerators`
      and `denominators` are the ends of the ranges of its counts. A `suppressed` estimate has only
      a reason.
    """

    value: float
    n: int | None = None
    numerator: Annotated[int | None, SIGNED] = None
    denominator: Annotated[int | None, SIGNED] = None
    scale: Annotated[int, POSITIVE] = 1
    exact: Fraction | None = None
    low: float | None = None
    high: float | None = None
    method: Annotated[str, RARE] = ""
    no_interval: Annotated[str, RARE] = ""
    significance: Significance | None = None
    reason: str | None = None
    error: Annotated[float, RARE] = 0.0
    suppressed: Annotated[bool, RARE] = False
    borrows: Annotated[bool, RARE] = False
    weighted: Annotated[bool, RARE] = False
    unsmoothed: Annotated[Unsmoothed | None, RARE] = None
    numerators: Annotated[tuple[int, int] | None, RARE] = None
    denominators: Annotated[tuple[int, int] | None, RARE] = None

    @property
    def state(self) -> Annotated[State, WRITTEN]:
        """Defined, undefined, infinite, or suppressed."""
        return State.SUPPRESSED if self.suppressed else state_of(self.value)

    @property
    def known_value(self) -> float | None:
        """The value, which may be infinite; None if the value is undefined or suppressed."""
        return None if self.suppressed or math.isnan(self.value) else self.value

    def __repr__(self) -> str:
        ends = (
            "" if self.low is None or self.high is None else f" [{self.low:.4g}, {self.high:.4g}]"
        )
        size = "" if self.n is None else f", n={self.n}"
        return f"Estimate({self.state}, {self.value:.4g}{ends}{size})"


HIDDEN = Estimate(math.nan, suppressed=True)
"""The estimate of a number that a published report hides."""

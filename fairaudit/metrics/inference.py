"""`inference:` of a spec: confidence; z, t, Fisher (mid-p); defaults. Add a correction here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from enum import StrEnum
from functools import cache

import numpy as np

from fairaudit.base.frozen import Frozen, Unreadable
from fairaudit.cube import Floats
from fairaudit.stats import multiplicity


class Correction(StrEnum):
    """How p-values are adjusted for how many there are."""

    HOLM = "holm"
    BENJAMINI_HOCHBERG = "benjamini_hochberg"
    NONE = "none"

    @property
    def words(self) -> str:
        """Its name as it is printed."""
        return _CORRECTIONS[self][0]

    def adjust(self, p: Floats) -> Floats:
        """The p-values of one family, adjusted; NaN stays NaN and does not count."""
        return np.asarray(_CORRECTIONS[self][1](p))

    def bound(self, p: Floats, family: int) -> Floats:
        """The largest adjusted p-values in a family of that size (Bonferroni)."""
        return np.asarray(p if self is Correction.NONE else np.minimum(p * family, 1.0))


_CORRECTIONS: Mapping[Correction, tuple[str, Callable[[Floats], Floats]]] = {
    Correction.HOLM: ("Holm", multiplicity.holm),
    Correction.BENJAMINI_HOCHBERG: ("Benjamini–Hochberg", multiplicity.benjamini_hochberg),
    Correction.NONE: ("none", np.asarray),
}
"""To add a correction, add it to `Correction`, and its name and function here.

A correction must not exceed Bonferroni's, on which `Correction.bound` relies.
"""


class Family(StrEnum):
    """The tests that are corrected together: of the spec, of one outcome and model, or a check."""

    SPEC = "spec"
    OUTCOME = "outcome"
    CHECK = "check"


class RatioInterval(StrEnum):
    """How the interval of a ratio of two rates is found."""

    KOOPMAN = "koopman"
    KATZ = "katz"


class ZTest(StrEnum):
    """Whose variance a z test takes: that of both groups together, or each group's own."""

    POOLED = "pooled"
    UNPOOLED = "unpooled"


class FisherTest(StrEnum):
    """Whether tables as likely as the observed one count half in Fisher's test, or whole.

    Half agrees with the intervals of shares more often; whole is never above the level.
    """

    EXACT = "exact"
    MID_P = "mid_p"


class TTest(StrEnum):
    """Whether a t test lets the groups' variances differ, or takes them to be equal."""

    WELCH = "welch"
    STUDENT = "student"


class Inference(Frozen):
    """The confidence of intervals and tests, the correction of p-values, and the methods in use.

    The texts below the fields describe the keys of `inference` in a spec. Fingerprints leave out
    values that equal a default here, in `MetricOptions`, `Check` or `Missing`: a changed default
    changes the meaning of stored baselines (`pipeline/baseline/fingerprints.py`).
    """

    confidence: Decimal = Decimal("0.95")
    """The confidence of intervals. Tests reject below one minus this number. Example: `0.99`."""
    correction: Correction = Correction.HOLM
    """The correction of the p-values of all tests behind the gates of the spec. Example:
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
    """Whether Fisher's test counts tables as likely as the observed table half (mid_p) or in full.
    Example: `exact`."""
    yates: bool = False
    """Whether the z test of two shares uses the continuity correction. Example: `true`."""

    @property
    def alpha(self) -> float:
        """The error rate α of every interval and test."""
        return _find_alpha(self.confidence)

    def contradictions(self) -> Iterator[Unreadable]:
        """Yields a fault if the confidence is out of range."""
        if not Decimal("0.5") <= self.confidence < 1:
            yield Unreadable("does not lie from 0.5 to below 1", "confidence_text")


@cache
def _find_alpha(confidence: Decimal) -> float:
    return float(1 - confidence)


DEFAULT_INFERENCE = Inference()

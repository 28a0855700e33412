"""What share of a gap goes with the mix of strata: one less what is left at an equal mix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from fairaudit.arrays import Floats
from fairaudit.disclosure import declare_subjects
from fairaudit.evidence import Sample
from fairaudit.members import Member
from fairaudit.stats import distributions

_NOTHING = 1e-12
"""A gap that is no larger has no shares."""


@declare_subjects(row="value low high")
@dataclass(frozen=True, slots=True)
class ExplainedShare:
    """The share 1 - standardized / crude, with its interval; None where that is unbounded.

    Below 0 the gap is wider at an equal mix, above 1 it points the other way.
    """

    value: Annotated[float, Member("share")]
    low: float | None
    high: float | None


def explained_share(
    first: Sample, second: Sample, masses: tuple[Floats, Floats], alpha: float
) -> ExplainedShare | None:
    """The share of the gap overall that goes with the mix of strata; None where there is no gap.

    Two differences of the same rates, so Fieller's interval of their ratio, with the sizes of the
    strata as they are (E. C. Fieller, Some problems in interval estimation, J. R. Stat. Soc. B
    16:175, 1954). It has no end where the gap overall may be none. Rates are drawn towards one half
    by one hit and one miss for their variance, as a stratum of a few people has none by itself.
    """
    own = [mass / mass.sum() for mass in masses]
    both = sum(masses) / sum(mass.sum() for mass in masses)
    sides = (first, second)
    crude, left = (
        float((weights[0] * first.share).sum() - (weights[1] * second.share).sum())
        for weights in (own, (both, both))
    )
    if abs(crude) < _NOTHING:
        return None
    variances = [_variance(side.share, side.size) for side in sides]
    of_crude, of_both, of_left = (
        sum(float((a * b * v).sum()) for a, b, v in zip(one, two, variances, strict=True))
        for one, two in ((own, own), (own, (both, both)), ((both, both), (both, both)))
    )
    squared = float(distributions.normal_critical(alpha)) ** 2
    a = crude**2 - squared * of_crude
    b = left * crude - squared * of_both
    c = left**2 - squared * of_left
    value = 1 - left / crude
    if a <= 0 or b * b < a * c:
        return ExplainedShare(value, None, None)
    half = float(np.sqrt(b * b - a * c))
    return ExplainedShare(value, 1 - (b + half) / a, 1 - (b - half) / a)


def _variance(share: Floats, size: Floats) -> Floats:
    drawn = (share * size + 1) / (size + 2)
    return np.asarray(drawn * (1 - drawn) / (size + 2))

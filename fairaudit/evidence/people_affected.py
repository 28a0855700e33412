"""People affected by a gap (`shortfall`, how many it takes to parity or to the limit)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated

import numpy as np

from fairaudit.base.disclosure_marks import declare_subjects
from fairaudit.base.frozen import Frozen, replace
from fairaudit.base.json_marks import Member
from fairaudit.evidence.sides import ComparisonPart
from fairaudit.metrics.estimate import Estimate, Significance
from fairaudit.stats import contingency, distributions
from fairaudit.stats.contingency import LEAST_EXPECTED


@declare_subjects(
    row="shortfall to_limit limit ratio below flips large deviations burden limit_of to_parity"
)
class PeopleAffected(Frozen):
    """Two rates in people: `lower` and `higher` say which side is which of the part.

    `shortfall` is how many more of the group with the lower rate would be selected at the rate of
    both together. `to_parity` is how many people it takes until the rate of the other group is
    reached, which stays as it is. `limit` is what the check itself allows, a ratio or a difference
    (`limit_of`), None where it sets neither; `to_limit` is how many it takes until that is reached,
    None where it is: never more than `to_parity`. `flips` tells whether one selection moved from
    the other group to this one turns the gap round. `large` where five or more are expected in each
    cell, `below` where the limit is not reached. `deviations` is by how many standard errors the
    rates lie apart. Where the rate is a `burden`, the people are those of whom there are too many.
    """

    shortfall: float
    to_limit: Annotated[int | None, Member("people_to_limit", least=None)]
    limit: Fraction | None
    ratio: float
    below: bool
    flips: Annotated[bool, Member("flip_flop")]
    large: bool
    deviations: Annotated[float, Member("standard_deviations")]
    burden: Annotated[bool, Member("of_those_spared")] = False
    limit_of: str | None = None
    to_parity: Annotated[int | None, Member("people_to_parity", least=None)] = None


class AllowedGap(Frozen):
    """How far apart a limit lets two rates lie: the least ratio of the lower, or the widest gap."""

    size: Fraction
    is_ratio: bool

    @property
    def of(self) -> str:
        """What the size is one of."""
        return "ratio" if self.is_ratio else "difference"

    def least(self, higher: Fraction) -> Fraction:
        """The least that the lower rate may be beside a higher one."""
        return self.size * higher if self.is_ratio else higher - self.size

    def most(self, lower: Fraction) -> Fraction | None:
        """The most that the higher rate may be beside a lower one; None where anything may be."""
        if not self.is_ratio:
            return lower + self.size
        return lower / self.size if self.size else None


def count_people_affected(
    part: ComparisonPart, allowed: AllowedGap | None = None, *, burden: bool = False
) -> PeopleAffected | None:
    """Two rates told in people; None where a side has no counts of people.

    `allowed` is what the check's own limit allows, None where the value is not beyond one. Where
    the rate is a `burden`, it is told of those who are spared.
    """
    sides = [side.estimate for side in (part.first, part.second) if side is not None]
    known = [_count_people(estimate) for estimate in sides]
    if len(known) < 2 or None in known:
        return None
    counts = [(n - a if burden else a, n) for a, n in (estimate for estimate in known if estimate)]
    (a, n), (c, m) = sorted(counts, key=lambda estimate: Fraction(*estimate))
    pooled = Fraction(a + c, n + m)
    to_limit = None if allowed is None else _count_to_limit((a, n), (c, m), allowed, burden=burden)
    shares = [np.asarray(estimate) for estimate in (a / n, float(n), c / m, float(m))]
    apart, _ = contingency.z_test(*shares)
    return PeopleAffected(
        shortfall=float(n * pooled - a),
        to_limit=to_limit,
        limit=None if allowed is None else allowed.size,
        ratio=a * m / (c * n) if c else math.nan,
        below=to_limit is not None,
        flips=Fraction(a, n) < Fraction(c, m) and Fraction(a + 1, n) > Fraction(c - 1, m),
        large=bool(contingency.smallest_expected(*shares) >= LEAST_EXPECTED),
        deviations=abs(float(apart)),
        burden=burden,
        limit_of=None if allowed is None else allowed.of,
        to_parity=math.ceil(n * Fraction(c, m)) - a,
    )


def adjust_for_clusters(
    people: PeopleAffected, significance: Significance | None
) -> PeopleAffected | None:
    """Rates of clustered rows in people: as many standard errors apart as their own test says.

    None where that test is of more than the two groups, or there is none.
    """
    if significance is None or not significance.test.startswith("z"):
        return None
    return replace(people, deviations=float(distributions.normal_critical(significance.p)))


def _count_to_limit(
    lower: tuple[int, int], higher: tuple[int, int], allowed: AllowedGap, *, burden: bool
) -> int | None:
    """How many people of the worse side the limit asks for; None where it is reached.

    Of a burden both sides count those who are spared, and the limit is on those who are not.
    """
    (a, n), (c, m) = lower, higher
    if not burden:
        missing = math.ceil(n * allowed.least(Fraction(c, m))) - a
    else:
        most = allowed.most(Fraction(m - c, m))
        missing = 0 if most is None else (n - a) - math.floor(n * most)
    return missing if missing > 0 else None


def _count_people(estimate: Estimate) -> tuple[int, int] | None:
    """Hits and people of a share; None under survey weights, or where it is none."""
    if estimate.numerator is None or not estimate.denominator or estimate.scale != 1:
        return None
    is_share = estimate.numerator <= estimate.denominator
    return (estimate.numerator, estimate.denominator) if is_share else None

"""The tests of a reversal: of the gap overall, of each stratum, of the strata together.

A reversal claims two things, a gap one way overall and one the other way when the strata are held
apart, and is no surer than the less sure of the two: its p-value is the larger of theirs (an
intersection–union test: Berger & Hsu 1996, Bioequivalence trials, intersection–union tests and
equivalence confidence sets, Stat Sci 11:283). Each comparison of a scan has one such p-value, 1
where nothing turns, and all of them are one family.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairaudit.cube import Floats, Ints
from fairaudit.estimate import Significance
from fairaudit.evidence import Sample, compare_shares, name_share_test
from fairaudit.metrics import GroupValues
from fairaudit.metrics.terms import Inference
from fairaudit.simpson.comparing import integers
from fairaudit.simpson.explaining import ExplainedShare, explained_share
from fairaudit.simpson.kinds import ReversalKind
from fairaudit.simpson.records import CombinedStrata, Reversal
from fairaudit.stats import strata

_CRUDE = "the gap overall"
_JOINED = "Cochran–Mantel–Haenszel"


@dataclass(frozen=True, slots=True)
class Tested:
    """What tests say of a pair over the strata that both share."""

    crude_p: float | None
    strata: tuple[Significance | None, ...]
    joined: CombinedStrata
    explained: ExplainedShare | None


def tested(
    reading: GroupValues, support: Ints, pair: tuple[int, int], inference: Inference
) -> Tested:
    """The tests of one pair, in each of the strata and in all of them."""
    first, second = (_in_strata(reading, support, side) for side in pair)
    one, other = (_thrown_together(reading, support, side) for side in pair)
    side = float(np.sign(one.share - other.share)[0])
    crude, _ = compare_shares(one, other, inference)
    return Tested(
        None if np.isnan(crude[0]) else float(crude[0]),
        tuple(_of_strata(first, second, inference)),
        _joined(first, second, side, inference.alpha),
        explained_share(first, second, _masses(reading, support, pair), inference.alpha),
    )


def _masses(reading: GroupValues, support: Ints, pair: tuple[int, int]) -> tuple[Floats, Floats]:
    """What each stratum weighs in both groups' rates, [Z]."""
    _, under = integers(reading)
    one, other = (under[support, side].astype(np.float64) for side in pair)
    return one, other


def _in_strata(reading: GroupValues, support: Ints, side: int) -> Sample:
    """One group in each stratum, [Z]."""
    counts = [np.asarray(one[support, side]) for one in integers(reading)]
    over, under = counts if reading.weight_sum is None else (None, None)
    share, size = (
        np.asarray(reading.value[support, side]),
        np.asarray(reading.effective_n[support, side]),
    )
    return Sample(share, size, over, under)


def _thrown_together(reading: GroupValues, support: Ints, side: int) -> Sample:
    """One group with its strata as one, [1]; under survey weights by Kish's effective size."""
    over, under = (np.asarray(one[support, side]) for one in integers(reading))
    masses = under.astype(np.float64)
    squares = (masses * masses / reading.effective_n[support, side]).sum(keepdims=True)
    over, under = over.sum(keepdims=True), under.sum(keepdims=True)
    share, size = over / under, np.square(masses.sum(keepdims=True)) / squares
    if reading.weight_sum is None:
        return Sample(share, size, over, under)
    return Sample(share, size, None, None)


def _of_strata(
    first: Sample, second: Sample, inference: Inference
) -> Iterator[Significance | None]:
    """The test of each stratum, in the family of all of them."""
    p, exact = compare_shares(first, second, inference)
    adjusted = inference.correction.adjust(p)
    family, words = int((~np.isnan(p)).sum()), inference.correction.words
    for one, among, is_exact in zip(p.tolist(), adjusted.tolist(), exact.tolist(), strict=True):
        weighted = first.over is None
        test = name_share_test(exact=is_exact, inference=inference, weighted=weighted)
        yield None if math.isnan(one) else Significance(test, one, among, family, words)


def _joined(first: Sample, second: Sample, side: float, alpha: float) -> CombinedStrata:
    """The strata joined; under survey weights by the effective sizes.

    `side` is the sign of the gap overall.
    """
    p, n, q, m = first.share, first.size, second.share, second.size
    a, c = n * p, m * q
    found = strata.mantel_haenszel(a, n, c, m, alpha)
    *_, homogeneity = strata.breslow_day(a, n, c, m)
    variance = strata.pooled_variance(p, n, q, m)
    _, interaction = strata.gail_simon(p - q, variance)
    _, opposite = strata.any_negative(side * (p - q), variance)
    ends = (found.odds_low, found.odds_high)
    differences = (found.difference, found.difference_low, found.difference_high)
    numbers = (found.p, *ends, *differences, homogeneity, interaction, opposite)
    return CombinedStrata(*(None if np.isnan(one) else float(one) for one in numbers))


def judged(found: Sequence[Reversal], comparisons: int, inference: Inference) -> list[Reversal]:
    """The reversals with their significance among all comparisons of their scan."""
    claims = [_claim(one) for one in found]
    p = np.ones(max(comparisons, len(claims)))
    p[: len(claims)] = [p for _, p in claims]
    adjusted = inference.correction.adjust(p).tolist()
    return [
        replace(one, significance=Significance(name, p, among, comparisons, words))
        for one, (name, p), among in zip(found, claims, adjusted, strict=False)
        for words in [inference.correction.words]
    ]


def _claim(one: Reversal) -> tuple[str, float]:
    """What is tested of a reversal, and the p-value: 1 where there is no test of it."""
    joined = one.joined
    crude = 1.0 if one.crude_p is None else one.crude_p
    together, opposite = (
        1.0 if p is None else p
        for p in ((None, None) if joined is None else (joined.p, joined.opposite))
    )
    if one.kind is ReversalKind.EXPLAINED:
        return _CRUDE, crude
    if one.kind is ReversalKind.MASKED:
        # A gap whose sign hangs on the weights is none.
        gap = None if joined is None else joined.difference
        return _JOINED, 1.0 if gap is None or gap * one.standardized <= 0 else together
    if one.kind is ReversalKind.MOST_PEOPLE:
        return f"{_CRUDE}, and one-sided Gail–Simon", max(crude, opposite)
    gap = None if joined is None else joined.difference
    if gap is None or gap * one.crude >= 0:
        together = 1.0
    return f"{_CRUDE}, and {_JOINED}", max(crude, together)

"""Tests of a reversal: overall, in each stratum, over all strata.

A reversal claims two things, a gap one way overall and one the other way when the strata are held
apart, and is no surer than the less sure of the two: its p-value is the larger of theirs (an
intersection–union test: Berger & Hsu 1996, Bioequivalence trials, intersection–union tests and
equivalence confidence sets, Stat Sci 11:283). Each comparison of a scan has one such p-value, 1
where nothing turns, and all of them are one family.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from fairaudit.cube import Floats, Ints
from fairaudit.estimate import Significance
from fairaudit.evidence import Sample, compare_shares, name_share_test
from fairaudit.frozen import Frozen, replace
from fairaudit.metrics import GroupValues
from fairaudit.metrics.inference import Inference
from fairaudit.simpson.pairs import count_rate
from fairaudit.simpson.records import CombinedStrata, ExplainedShare, Reversal, ReversalKind
from fairaudit.stats import distributions, strata

_CRUDE = "the gap overall"
_JOINED = "Cochran–Mantel–Haenszel"
_NO_GAP = 1e-12
"""A gap that is no larger has no shares."""


class PairTests(Frozen):
    """What tests say of a pair over the strata that both share."""

    crude_p: float | None
    strata: tuple[Significance | None, ...]
    joined: CombinedStrata
    explained: ExplainedShare | None


def run_pair_tests(
    values: GroupValues, support: Ints, pair: tuple[int, int], inference: Inference
) -> PairTests:
    """The tests of one pair, in each of the strata and in all of them."""
    _, under = count_rate(values)
    first, second = (_sample_strata(values, support, group) for group in pair)
    pooled, other = (_pool_strata(values, support, group) for group in pair)
    sign = float(np.sign(pooled.share - other.share)[0])
    crude, _ = compare_shares(pooled, other, inference)
    weights = [under[support, group].astype(np.float64) for group in pair]
    return PairTests(
        None if np.isnan(crude[0]) else float(crude[0]),
        tuple(_test_strata(first, second, inference)),
        _combine_strata(first, second, sign, inference.alpha),
        find_explained_share(first, second, (weights[0], weights[1]), inference.alpha),
    )


def _sample_strata(values: GroupValues, support: Ints, group: int) -> Sample:
    """One group in each stratum, [Z]."""
    share, size = values.value[support, group], values.effective_n[support, group]
    if values.weight_sum is not None:
        return Sample(share, size, None, None)
    over, under = (counts[support, group] for counts in count_rate(values))
    return Sample(share, size, over, under)


def _pool_strata(values: GroupValues, support: Ints, group: int) -> Sample:
    """One group with its strata as one, [1]; under survey weights by Kish's effective size."""
    over, under = (counts[support, group] for counts in count_rate(values))
    weights = under.astype(np.float64)
    squares = (weights * weights / values.effective_n[support, group]).sum(keepdims=True)
    over, under = over.sum(keepdims=True), under.sum(keepdims=True)
    share, size = over / under, np.square(weights.sum(keepdims=True)) / squares
    if values.weight_sum is None:
        return Sample(share, size, over, under)
    return Sample(share, size, None, None)


def _test_strata(
    first: Sample, second: Sample, inference: Inference
) -> Iterator[Significance | None]:
    """The test of each stratum, in the family of all of them."""
    p, exact = compare_shares(first, second, inference)
    adjusted = inference.correction.adjust(p)
    family, words = int((~np.isnan(p)).sum()), inference.correction.words
    weighted = first.over is None
    for raw, level, is_exact in zip(p.tolist(), adjusted.tolist(), exact.tolist(), strict=True):
        test = name_share_test(exact=is_exact, inference=inference, weighted=weighted)
        yield None if math.isnan(raw) else Significance(test, raw, level, family, words)


def _combine_strata(first: Sample, second: Sample, sign: float, alpha: float) -> CombinedStrata:
    """What all strata say together; under survey weights by the effective sizes.

    `sign` is that of the gap overall.
    """
    p, n, q, m = first.share, first.size, second.share, second.size
    a, c = n * p, m * q
    common = strata.mantel_haenszel(a, n, c, m, alpha)
    *_, homogeneity = strata.breslow_day(a, n, c, m)
    variance = strata.pooled_variance(p, n, q, m)
    _, interaction = strata.gail_simon(p - q, variance)
    _, opposite = strata.any_negative(sign * (p - q), variance)
    ends = (common.odds_low, common.odds_high)
    differences = (common.difference, common.difference_low, common.difference_high)
    numbers = (common.p, *ends, *differences, homogeneity, interaction, opposite)
    return CombinedStrata(*(None if np.isnan(number) else float(number) for number in numbers))


def find_explained_share(
    first: Sample, second: Sample, weights: tuple[Floats, Floats], alpha: float
) -> ExplainedShare | None:
    """The share of the gap overall that goes with the mix of strata; None where there is no gap.

    Two differences of the same rates, so Fieller's interval of their ratio, with the sizes of the
    strata as they are (E. C. Fieller, Some problems in interval estimation, J. R. Stat. Soc. B
    16:175, 1954). It has no end where the gap overall may be none. Rates are drawn towards one half
    by one hit and one miss for their variance, as a stratum of a few people has none by itself.
    """
    own = [weight / weight.sum() for weight in weights]
    pooled = sum(weights) / sum(weight.sum() for weight in weights)
    shared_mix = [pooled, pooled]
    crude, adjusted = (
        float((mix[0] * first.share).sum() - (mix[1] * second.share).sum())
        for mix in (own, shared_mix)
    )
    if abs(crude) < _NO_GAP:
        return None
    variances = [_estimate_variance(sample.share, sample.size) for sample in (first, second)]
    of_crude, of_both, of_left = (
        sum(float((a * b * v).sum()) for a, b, v in zip(mix, other, variances, strict=True))
        for mix, other in ((own, own), (own, shared_mix), (shared_mix, shared_mix))
    )
    squared = float(distributions.normal_critical(alpha)) ** 2
    a = crude**2 - squared * of_crude
    b = adjusted * crude - squared * of_both
    c = adjusted**2 - squared * of_left
    value = 1 - adjusted / crude
    if a <= 0 or b * b < a * c:
        return ExplainedShare(value, None, None)
    half = float(np.sqrt(b * b - a * c))
    return ExplainedShare(value, 1 - (b + half) / a, 1 - (b - half) / a)


def _estimate_variance(share: Floats, size: Floats) -> Floats:
    drawn = (share * size + 1) / (size + 2)
    return np.asarray(drawn * (1 - drawn) / (size + 2))


def add_significances(
    reversals: Sequence[Reversal], comparisons: int, inference: Inference
) -> list[Reversal]:
    """The reversals with their significance among all comparisons of their scan."""
    claims, correction = [_find_claim(reversal) for reversal in reversals], inference.correction
    p = np.ones(max(comparisons, len(claims)))
    p[: len(claims)] = [p for _, p in claims]
    adjusted = correction.adjust(p)[: len(claims)].tolist()
    return [
        replace(reversal, significance=Significance(name, p, level, comparisons, correction.words))
        for reversal, (name, p), level in zip(reversals, claims, adjusted, strict=True)
    ]


def _find_claim(reversal: Reversal) -> tuple[str, float]:
    """What is tested of a reversal, and the p-value: 1 where there is no test of it."""
    kind, joined = reversal.kind, reversal.joined
    crude, common, opposite = (
        1.0 if p is None else p
        for p in (
            reversal.crude_p,
            None if joined is None else joined.p,
            None if joined is None else joined.opposite,
        )
    )
    gap = None if joined is None else joined.difference
    if kind is ReversalKind.EXPLAINED:
        return _CRUDE, crude
    if kind is ReversalKind.MASKED:
        # A gap whose sign hangs on the weights is none.
        return _JOINED, 1.0 if gap is None or gap * reversal.standardized <= 0 else common
    if kind is ReversalKind.MOST_PEOPLE:
        return f"{_CRUDE}, and one-sided Gail–Simon", max(crude, opposite)
    turned = gap is not None and gap * reversal.crude < 0
    return f"{_CRUDE}, and {_JOINED}", max(crude, common) if turned else 1.0

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

from fairaudit.base.frozen import Frozen, replace
from fairaudit.cube import Floats, Ints, Marks
from fairaudit.evidence import Sample, compare_shares, name_share_test
from fairaudit.judge.simpson.pairs import count_rate
from fairaudit.judge.simpson.records import CombinedStrata, ExplainedShare, Reversal, ReversalKind
from fairaudit.metrics import GroupValues
from fairaudit.metrics.estimate import Significance
from fairaudit.metrics.inference import Inference
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
    values: GroupValues, support: Marks, pairs: Ints, inference: Inference
) -> Iterator[PairTests]:
    """The tests of each of the pairs [P, 2], in its strata and in all of them.

    `support` marks the strata that both groups of a pair share, [Z, P].
    """
    sides = pairs.T
    first, second = (_sample_strata(values, support, groups) for groups in sides)
    pooled, other = (_pool_strata(values, support, groups) for groups in sides)
    crude, _ = compare_shares(pooled, other, inference)
    joined = _combine_strata(first, second, np.sign(pooled.share - other.share), inference.alpha)
    p, exact = compare_shares(first, second, inference)
    weights = [count_rate(values)[1][:, groups].astype(np.float64) for groups in sides]
    is_weighted = values.weight_sum is not None
    for index, (raw, numbers) in enumerate(zip(crude.tolist(), joined.T.tolist(), strict=True)):
        kept = np.flatnonzero(support[:, index]), index
        own = [Sample(side.share[kept], side.size[kept], None, None) for side in (first, second)]
        mixes = weights[0][kept], weights[1][kept]
        yield PairTests(
            _known(raw),
            tuple(_list_tests(p[kept], exact[kept], inference, weighted=is_weighted)),
            CombinedStrata(*map(_known, numbers)),
            find_explained_share(own[0], own[1], mixes, inference.alpha),
        )


def _known(number: float) -> float | None:
    return None if math.isnan(number) else number


def _sample_strata(values: GroupValues, support: Marks, groups: Ints) -> Sample:
    """One group of each pair in each stratum, [Z, P]; nobody where it shares none."""
    share, size = (
        np.where(support, numbers[:, groups], 0.0) for numbers in (values.value, values.effective_n)
    )
    if values.weight_sum is not None:
        return Sample(share, size, None, None)
    over, under = (np.where(support, counts[:, groups], 0) for counts in count_rate(values))
    return Sample(share, size, over, under)


def _pool_strata(values: GroupValues, support: Marks, groups: Ints) -> Sample:
    """One group of each pair with its strata as one, [P]; of weights by Kish's effective size."""
    over, under = (np.where(support, counts[:, groups], 0) for counts in count_rate(values))
    size = np.where(support, values.effective_n[:, groups], 1.0)
    squares = (np.square(under.astype(np.float64)) / size).sum(axis=0)
    over, under = over.sum(axis=0), under.sum(axis=0)
    share, size = over / under, np.square(under.astype(np.float64)) / squares
    if values.weight_sum is None:
        return Sample(share, size, over, under)
    return Sample(share, size, None, None)


def _list_tests(
    p: Floats, exact: Marks, inference: Inference, *, weighted: bool
) -> Iterator[Significance | None]:
    """The test of each stratum of a pair, in the family of all of them."""
    adjusted = inference.correction.adjust(p)
    family, words = int((~np.isnan(p)).sum()), inference.correction.words
    names = [
        name_share_test(exact=is_exact, inference=inference, weighted=weighted)
        for is_exact in (False, True)
    ]
    for raw, level, is_exact in zip(p.tolist(), adjusted.tolist(), exact.tolist(), strict=True):
        yield None if math.isnan(raw) else Significance(names[is_exact], raw, level, family, words)


def _combine_strata(first: Sample, second: Sample, sign: Floats, alpha: float) -> Floats:
    """What all strata of each pair say together, the fields of `CombinedStrata`, [., P].

    Under survey weights by the effective sizes. `sign` is that of the gap overall, [P].
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
    return np.stack([common.p, *ends, *differences, homogeneity, interaction, opposite])


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
    if kind is ReversalKind.OPPOSITE:
        interaction = None if joined is None else joined.interaction
        return "Gail–Simon", 1.0 if interaction is None else interaction
    if kind is ReversalKind.MASKED:
        # A gap whose sign hangs on the weights is none.
        return _JOINED, 1.0 if gap is None or gap * reversal.standardized <= 0 else common
    if kind is ReversalKind.MOST_PEOPLE:
        return f"{_CRUDE}, and one-sided Gail–Simon", max(crude, opposite)
    turned = gap is not None and gap * reversal.crude < 0
    return f"{_CRUDE}, and {_JOINED}", max(crude, common) if turned else 1.0

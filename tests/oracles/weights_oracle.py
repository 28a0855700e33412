"""Slow truth: the effective size of a weighted share, by the linearised variance over rows."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable

from scipy import stats


def effective_size(people: Iterable[tuple[bool, float]]) -> float:
    """How many unweighted people have a share as sure as theirs; each is (hit, weight).

    p (1 - p) / v with v = Σ w² (hit - p)² / (Σ w)², less Student's t against the normal quantile.
    The degrees of freedom are Satterthwaite's: hits and misses are two components, and one whose
    weights are all alike has no uncertainty. Of fewer than five, it is at most Kish's size.
    """
    rows = list(people)
    total, squares = sum(w for _, w in rows), sum(w * w for _, w in rows)
    kish = total**2 / squares
    share = sum(w for hit, w in rows if hit) / total
    parts: defaultdict[bool, float] = defaultdict(float)
    for hit, w in rows:
        parts[hit] += w * w * (hit - share) ** 2
    variance = sum(parts.values())
    if not 0 < share < 1:
        return kish
    size = share * (1 - share) * total**2 / variance
    n = Counter(hit for hit, _ in rows)
    own = {
        hit: sum(w for other, w in rows if other == hit) ** 2
        / sum(w * w for other, w in rows if other == hit)
        for hit in (False, True)
    }  # fmt: skip
    few = variance**2 / sum(parts[hit] ** 2 / own[hit] for hit in own) < 5
    few = few and not math.isclose(kish, len(rows))
    doubt = sum(
        parts[hit] ** 2 / own[hit] * (1.0 if few else min(1.0, 3 * (1 - own[hit] / n[hit])))
        for hit in own
    )
    if doubt > 1e-9 * variance**2:
        df = max(variance**2 / doubt, 1)
        size *= (stats.norm.ppf(0.975) / stats.t.ppf(0.975, df)) ** 2
    return min(size, kish) if few else size

"""The test of two shares, wherever two are compared: z, and Fisher's where few are expected."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairaudit.arrays import Floats
from fairaudit.cube import Ints, Marks
from fairaudit.metrics import GroupValues
from fairaudit.metrics.terms import FisherTest, Inference, ZTest
from fairaudit.stats import contingency
from fairaudit.stats.contingency import EXPECTED


class Sample(NamedTuple):
    """Shares, and how large the sample is behind each; no counts under weights or in clusters."""

    share: Floats
    size: Floats
    over: Ints | None
    under: Ints | None

    @classmethod
    def of(cls, reading: GroupValues) -> Sample:
        """Those of a reading, [Z, G]."""
        if reading.weight_sum is not None or reading.clustered is not None:
            return cls(reading.value, reading.effective_n, None, None)
        return cls(reading.value, reading.effective_n, reading.over, reading.under)

    def at(self, index: int | Ints) -> Sample:
        """The samples that an index of the first axis chooses."""
        over = None if self.over is None else self.over[index]
        under = None if self.under is None else self.under[index]
        return Sample(self.share[index], self.size[index], over, under)


def compare_shares(one: Sample, two: Sample, inference: Inference) -> tuple[Floats, Marks]:
    """The p-values of no difference, of the shape both broadcast to, and which are Fisher's.

    Where a count below 5 is expected the normal distribution fails, and tables are counted. Under
    survey weights those are of effective people, rounded: an approximation, but of one person it
    makes no certainty.
    """
    pooled = inference.z is ZTest.POOLED
    _, p = contingency.z_test(
        one.share, one.size, two.share, two.size, pooled=pooled, yates=inference.yates
    )
    sides = np.broadcast_arrays(*_counts(one, two))
    few = _few_expected(*sides) & ~np.isnan(p)
    if few.any():
        p = np.array(p)
        mid = inference.fisher is FisherTest.MID_P
        count = contingency.fisher_mid_p if mid else contingency.fisher
        p[few] = count(*(side[few] for side in sides))
    return p, few


def _counts(one: Sample, two: Sample) -> tuple[Ints, Ints, Ints, Ints]:
    """Hits and people of both sides; under survey weights as many as say as much."""
    if not (one.over is None or one.under is None or two.over is None or two.under is None):
        return one.over, one.under, two.over, two.under
    a, n, c, m = (
        np.rint(np.nan_to_num(part)).astype(np.int64)
        for side in (one, two)
        for part in (side.share * side.size, side.size)
    )
    # A group of less than half a person is still somebody.
    n, m = np.maximum(n, 1), np.maximum(m, 1)
    return np.minimum(a, n), n, np.minimum(c, m), m


def _few_expected(a: Ints, n: Ints, c: Ints, m: Ints) -> Marks:
    """Where a count below 5 is expected, by integers: shares in floats put 5 itself below 5."""
    fewer = np.minimum(a + c, n + m - a - c).astype(np.float64)
    return np.asarray(fewer * np.minimum(n, m) < EXPECTED * (n + m))


def name_share_test(*, exact: bool, inference: Inference, weighted: bool = False) -> str:
    """What a test of two shares is called."""
    mid = ", mid-p" if inference.fisher is FisherTest.MID_P else ""
    if exact:
        return f"Fisher{mid}, effective counts" if weighted else f"Fisher{mid}"
    return "z, Yates" if inference.yates else "z"

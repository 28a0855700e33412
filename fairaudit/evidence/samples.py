"""The test of two shares, wherever two are compared: z, and Fisher's where few are expected."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairaudit.arrays import Floats
from fairaudit.cube import Ints, Marks
from fairaudit.metrics import Reading
from fairaudit.metrics.inference import FisherTest, Inference, ZTest
from fairaudit.stats import proportions

EXPECTED = 5
"""Where a smaller count is expected, a test that counts tables takes the place of z or χ²."""


class Sample(NamedTuple):
    """Shares, and how large the sample is behind each; no counts under survey weights."""

    share: Floats
    size: Floats
    over: Ints | None
    under: Ints | None

    @classmethod
    def of(cls, reading: Reading) -> Sample:
        """Those of a reading, [Z, G]."""
        if reading.weight is not None:
            return cls(reading.value, reading.size, None, None)
        return cls(reading.value, reading.size, reading.over, reading.under)


def two_samples(one: Sample, two: Sample, inference: Inference) -> tuple[Floats, Marks]:
    """The p-values of no difference, of the shape both broadcast to, and which are Fisher's.

    Under survey weights no table can be counted: there the z test has the effective sizes.
    """
    pooled = inference.z is ZTest.POOLED
    _, p = proportions.z_test(one.share, one.size, two.share, two.size, pooled=pooled)
    if one.over is None or one.under is None or two.over is None or two.under is None:
        return p, np.zeros(p.shape, dtype=np.bool_)
    sides = np.broadcast_arrays(one.over, one.under, two.over, two.under)
    few = _few_expected(*sides) & ~np.isnan(p)
    if few.any():
        p = np.array(p)
        mid = inference.fisher is FisherTest.MID_P
        count = proportions.fisher_mid_p if mid else proportions.fisher
        p[few] = count(*(side[few] for side in sides))
    return p, few


def _few_expected(a: Ints, n: Ints, c: Ints, m: Ints) -> Marks:
    """Where a count below 5 is expected, by integers: shares in floats put 5 itself below 5."""
    fewer = np.minimum(a + c, n + m - a - c).astype(np.float64)
    return np.asarray(fewer * np.minimum(n, m) < EXPECTED * (n + m))


def name_of_test(*, exact: bool, inference: Inference) -> str:
    """What a test of two shares is called."""
    mid = ", mid-p" if inference.fisher is FisherTest.MID_P else ""
    return f"Fisher{mid}" if exact else "z"

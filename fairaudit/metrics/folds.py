"""Combinations of several rates of a criterion, or of the gaps of all groups, to one number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import Any

import numpy as np

from fairaudit.base.frozen import Frozen


class PartCombination(Frozen, kw_only=True):
    """How the parts of a criterion become one number, for arrays and for fractions.

    With `rank` the value is that of the highest-ranked part (the first of equals), which the
    witness names; with `combine` it is made of all parts. `size` is the departure of a part.
    """

    id: str
    rank: Callable[[Any], Any] | None = None
    combine: Callable[[Sequence[Any]], Any] | None = None
    size: Callable[[Any], Any] = lambda v: v

    def exact(self, parts: Sequence[Fraction]) -> Fraction:
        """The folded value of exact parts."""
        value: Fraction
        if self.rank is not None:
            value = max(parts, key=self.rank)
        elif self.combine is not None:
            value = self.combine(parts)
        return value


def find_ratio_up_to_1(ratio: Any) -> Any:  # noqa: ANN401  # an array, or a fraction
    """The smaller of a ratio and its inverse."""
    if isinstance(ratio, Fraction):
        return min(ratio, 1 / ratio) if ratio else ratio
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.minimum(ratio, 1 / ratio)


MAX = PartCombination(id="max", rank=lambda v: v)
MIN = PartCombination(id="min", rank=lambda v: -v)
MEAN = PartCombination(id="mean", combine=lambda parts: sum(parts) / len(parts))
MEAN_MAGNITUDE = PartCombination(
    id="mean magnitude",
    combine=lambda parts: sum(abs(part) for part in parts) / len(parts),
    size=abs,
)
MEAN_RATIO = PartCombination(
    id="mean ratio",
    combine=lambda parts: sum(map(find_ratio_up_to_1, parts)) / len(parts),
    size=find_ratio_up_to_1,
)
"""The mean of ratios, each with the smaller side on top: opposite ratios do not cancel."""
LARGEST_MAGNITUDE = PartCombination(id="largest magnitude", rank=abs)
FARTHEST_FROM_1 = PartCombination(id="farthest from 1", rank=lambda v: abs(v - 1))
REMAINDER = PartCombination(id="remainder", combine=lambda parts: parts[0] - parts[1])


class OverGroups(StrEnum):
    """How the departures from parity of all groups become one number.

    Ratios are combined as logarithms, and the value is a ratio again: 1 at parity. `SUM` and
    `MAX` are of the absolute departures, `MEAN` weighs them by people. `MIN` is the least
    departure; for ratios it is the least of the ratios and their inverses, the farthest from
    parity.
    """

    MEAN = "mean"
    SUM = "sum"
    MAX = "max"
    MIN = "min"

    def describe(self, *, ideal: int | Fraction, is_ratio: bool) -> str:
        """The number in words."""
        word = {"sum": "sum of the", "max": "largest", "min": "least"}.get(self, "mean")
        if is_ratio and self is OverGroups.MIN:
            return "least of the ratios and their inverses over groups"
        what = f"distance from {ideal}" if ideal else "absolute value"
        what = f"exp of the {word} |ln ratio|" if is_ratio else f"{word} {what}"
        return f"{what} over groups{', weighted by people' if self is OverGroups.MEAN else ''}"

"""`Limit` (`below 0.8`): when a value, exact near it, or its interval is beyond; on reversals.

A limit is the decimal as written. Floats decide far from it and fractions within 1e-9 of it, so
48/100 against 60/100 is not below 0.8.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from fairaudit.base.arrays import Floats, Marks
from fairaudit.base.errors import Quote
from fairaudit.base.frozen import Frozen
from fairaudit.base.json_marks import RARE, Unreadable
from fairaudit.judge.simpson import ReversalKind

NEAR = 1e-9
"""Closer than this to a bound, fractions decide instead of floats."""


class Limit(Frozen):
    """What a value may reach: `below` and `above` are strict, both together mean outside.

    `significant`: only a disparity whose test rejects may cross it. `conclusive`: only one
    whose whole interval lies beyond; and to pass, the whole interval must lie within.
    """

    below: Annotated[Decimal | None, RARE] = None
    above: Annotated[Decimal | None, RARE] = None
    significant: Annotated[bool, RARE] = False
    conclusive: Annotated[bool, RARE] = False

    def __str__(self) -> str:
        bounds = f"below {self.below}" if self.below is not None else f"above {self.above}"
        if self.below is not None and self.above is not None:
            bounds = f"outside [{self.below}, {self.above}]"
        evidence = {"significant": self.significant, "conclusive": self.conclusive}
        evidence_words = " and ".join(word for word, is_asked in evidence.items() if is_asked)
        return f"{bounds}, if {evidence_words}" if evidence_words else bounds

    def contradictions(self) -> Iterator[Unreadable]:
        """A limit has a bound."""
        if self.below is self.above is None:
            yield Unreadable("has neither `below` nor `above`")

    @property
    def bounds(self) -> tuple[Decimal, ...]:
        """The bounds that are set, the lower one first."""
        return tuple(bound for bound in (self.below, self.above) if bound is not None)

    def excess(self, value: float) -> float:
        """How far beyond the nearer bound a value is; negative within."""
        return float(max(self._list_excess(value)))

    def find_excess(self, values: Floats) -> Floats:
        """How far beyond the nearer bound each of many values is; negative within."""
        return np.asarray(np.maximum.reduce(self._list_excess(values)))

    def _list_excess(self, value: Any) -> list[Any]:  # noqa: ANN401  # a number, or an array
        """How far a value is beyond each bound."""
        below = [] if self.below is None else [float(self.below) - value]
        return below if self.above is None else [*below, value - float(self.above)]

    def mark_reached(self, values: Floats) -> Marks:
        """Which values are beyond a bound, or at it as nearly as floats tell."""
        least = -np.inf if self.below is None else float(self.below)
        most = np.inf if self.above is None else float(self.above)
        return np.asarray((values < least + NEAR) | (values > most - NEAR))

    def is_crossed(self, value: float, exact: Fraction | None) -> bool:
        """Whether the value is beyond a bound; `exact` decides where floats cannot."""
        excess = self.excess(value)
        if exact is None or abs(excess) > NEAR:
            return excess > 0
        too_low = self.below is not None and exact < Fraction(self.below)
        return too_low or (self.above is not None and exact > Fraction(self.above))

    @property
    def asks(self) -> bool:
        """Whether it asks for evidence."""
        return self.significant or self.conclusive

    def excludes(self, low: float, high: float) -> bool:
        """Whether a whole interval lies beyond one bound."""
        too_low = self.below is not None and high < self.below
        return too_low or (self.above is not None and low > self.above)

    def includes(self, low: float, high: float) -> bool:
        """Whether no part of an interval lies beyond a bound."""
        high_enough = self.below is None or low >= self.below
        return high_enough and (self.above is None or high <= self.above)


class ReversalLimit(Frozen):
    """The weakest kind of reversal that crosses; if `significant`, only a proven one does."""

    kind: ReversalKind
    significant: Annotated[bool, RARE] = False

    def __str__(self) -> str:
        return f"{self.kind}, if significant" if self.significant else str(self.kind)


class LimitQuotes(Frozen):
    """The lines of the spec that set the limits of a check, as they are written."""

    warn: Annotated[Quote | None, RARE] = None
    fail: Annotated[Quote | None, RARE] = None


class Backing(StrEnum):
    """What the evidence says of a value, where a limit asks for evidence."""

    UNASKED = "unasked"
    SUPPORTED = "supported"
    NOT_SIGNIFICANT = "not_significant"
    NOT_CONCLUSIVE = "not_conclusive"
    SIGNIFICANT_WITHIN = "significant_within"
    UNTESTED = "untested"
    ONLY_TOGETHER = "only_together"

"""What a search for subgroups looks at: rates, columns, how deep and how small."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from fairaudit.cube import Grouping
from fairaudit.metrics import Rate
from fairaudit.metrics.terms import DEFAULT_INFERENCE, Inference

MOST_DEEP = 4
"""Of more conditions at once no subgroup is told from chance, and none is easily understood."""


@dataclass(frozen=True, slots=True)
class SubgroupSearch:
    """Rates of one outcome, and the columns whose levels make the subgroups.

    A subgroup has at most `depth` conditions and at least `min_size` people in the denominator of
    its rate; at most `top` are listed for each rate.
    """

    rates: tuple[Rate, ...]
    of: str
    over: Grouping
    depth: int
    min_size: int
    top: int
    inference: Inference = DEFAULT_INFERENCE

    @property
    def combinations(self) -> tuple[Grouping, ...]:
        """Every combination of columns that is looked at, those of few columns first."""
        deepest = min(self.depth, len(self.over))
        return tuple(
            names for size in range(1, deepest + 1) for names in combinations(self.over, size)
        )

    @property
    def widest(self) -> tuple[Grouping, ...]:
        """The combinations of most columns: all others are roll-ups of them."""
        return tuple(combinations(self.over, min(self.depth, len(self.over))))

"""How large a group must be to take part in a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from fairaudit.cube import Floats, GroupTable, Ints, Marks
from fairaudit.members import Member


@dataclass(frozen=True, slots=True)
class Minimum:
    """What a group must reach to be compared.

    `size` people in the denominator; and where a share of people is compared, `events` people
    expected to have each outcome, and as many not to.
    """

    size: Annotated[int | None, Member("min_size")] = None
    events: Annotated[int | None, Member("min_events")] = None

    def admits(self, n: Ints | Floats, outcomes: Ints | None = None) -> Marks:
        """Which groups are large enough, with `n` people in the denominator; of any shape.

        `outcomes` [Z, K, 1] is how everybody's outcomes are spread, beside `n` [Z, G].
        """
        enough = np.ones(n.shape, np.bool_) if self.size is None else np.asarray(n >= self.size)
        if self.events is None or outcomes is None:
            return enough
        # Integers of Python: people times survey weights in fixed point pass 64 bits.
        people, of = np.asarray(n).astype(object)[:, None], outcomes.astype(object)
        total = of.sum(axis=1, keepdims=True)
        expected = (total > 0) & (people * of >= self.events * total)
        return np.asarray(enough & expected.all(axis=1).astype(np.bool_))


NO_MINIMUM = Minimum()
"""Where a spec sets nothing, everybody takes part."""


def pooled_total(table: GroupTable, masses: Ints) -> Ints:
    """What all known groups have together of `masses` [Z, K, G], the excluded too: [Z, K, 1]."""
    return np.asarray(masses[..., table.known].sum(axis=-1, keepdims=True))

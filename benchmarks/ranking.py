"""Draw decisions about people whose ranking discriminates to a known degree.

Žliobaitė, Measuring discrimination in algorithmic decision making (2017), §4.2: everybody has a
score by chance; of a share `level` of the people the best scores go to the unprotected and the
worst to the protected; the people with the highest scores are selected.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Setting:
    """The share of protected people, p(s1), and the share of positive decisions, p(y+)."""

    protected: float
    positive: float

    def largest(self, level: float) -> float:
        """The largest mean difference that the shares allow, on the side of `level`."""
        favoured = 1 - self.protected if level >= 0 else self.protected
        return min(self.positive / favoured, (1 - self.positive) / (1 - favoured))


def draw(
    random: np.random.Generator, rows: int, setting: Setting, level: float, *, exact: bool = False
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Who is protected and who is selected, at a level from -1 (reversed) over 0 (none) to 1.

    Who is protected is left to chance, unless `exact` asks for the very share of protected people,
    among everybody as among those whose order discriminates.
    """
    scores = random.random(rows)
    places = np.arange(rows)
    # The scores are in no order yet, so the first rows are as good a sample as any.
    if exact:
        many = round(setting.protected * rows)
        protected = places < many
        sampled = np.where(protected, places, places - many)
        biased = sampled < np.rint(abs(level) * np.where(protected, many, rows - many))
    else:
        protected = random.random(rows) < setting.protected
        biased = places < round(abs(level) * rows)
    queue = np.flatnonzero(biased)
    queue = queue[np.argsort(scores[queue])]
    ordered = np.sort(protected[queue])
    protected[queue] = ordered[::-1] if level > 0 else ordered
    rejections = rows - round(setting.positive * rows)
    selected = np.zeros(rows, dtype=np.bool_)
    selected[np.argpartition(scores, rejections)[rejections:]] = True
    return protected, selected

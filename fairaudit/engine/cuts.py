"""Texts of numbers as the intervals of a cut, each different text parsed once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fairaudit.engine.codes import NotServed
from fairaudit.engine.crossing import Column
from fairaudit.engine.levels import Level
from fairaudit.engine.numbers import Batch, Numbers
from fairaudit.engine.polars import interval
from fairaudit.plan import MISSING, Key, Plan


class Cuts:
    """The intervals of one key, by the texts of its column as they are seen."""

    def __init__(self, key: Key, plan: Plan) -> None:
        self._key = key
        self._plan = plan
        self._of: Sequence[Level] = ()
        self._codes = np.empty(0, dtype=np.int16)
        self._last = len(key.edges or ()) + 1

    def column(self, codes: NDArray[np.int16], levels: tuple[Level, ...]) -> Column:
        """The intervals of rows that hold these texts; raises `NotServed` for what is no number."""
        if levels is not self._of:
            self._parse(levels)
        return np.take(self._codes, codes), (*range(self._last), MISSING)

    def _parse(self, levels: tuple[Level, ...]) -> None:
        texts = pl.DataFrame({self._key.column: levels}, schema={self._key.column: pl.String})
        batch = Batch(texts.lazy(), texts.schema, ("",))
        numbers = Numbers(batch, self._plan)
        sound = texts.select(numbers.sound(self._key.column)).to_series()
        if not sound.all():
            raise NotServed  # the other route tells which row it is
        found = texts.select(interval(self._key, batch, numbers)).to_series()
        self._codes = found.fill_null(self._last).to_numpy().astype(np.int16)
        self._of = levels

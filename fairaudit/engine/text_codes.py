"""Texts as small codes, without a look at their letters: a short text is two machine words.

A text of up to twelve bytes lies in Arrow's view of it: its length and its bytes. Such views are
told apart by a multiplication that sends the levels seen so far to different places, and each is
held against the level found there, so a new one is never taken for another. The multiplication
takes the upper bits of a product with an odd number, as in Dietzfelbinger et al. (1997), A reliable
randomized algorithm for the closest-pair problem, Journal of Algorithms 25:19.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fairaudit.engine.partial_counts import Codes, Level

Words = NDArray[np.uint64]

_BITS = 12
_SHIFT = np.uint64(64 - _BITS)

_NOBODY = np.uint64(2**64 - 1)
"""The word of no text: such bytes are no UTF-8, such a length is none."""

_FACTORS = [np.uint64(pow(0x9E3779B97F4A7C15, power, 2**64) | 1) for power in range(1, 65)]
"""Multipliers to try in turn: always the same, so that equal data take an equal way."""

_SECOND = np.uint64(0xC2B2AE3D27D4EB4F)
"""What the second word of a text is multiplied with before it is joined with the first."""

_INLINE = 12
_LENGTH = np.uint64(2**32 - 1)


class TextCoder:
    """The texts of one column as codes, while it is read; 0 is null."""

    def __init__(self, most: int) -> None:
        self.levels: tuple[Level, ...] = (None,)
        self._most = most
        self._short = True
        self._known: dict[str, int] = {}
        self._first = np.full(1, _NOBODY)
        self._second = np.full(1, _NOBODY)
        self._factor = _FACTORS[0]
        self._places = np.zeros(2**_BITS, dtype=np.intp)

    def codes(self, column: pl.Series) -> Codes | None:
        """The codes of a chunk by `levels` as they are then; None where there are too many."""
        while True:
            codes, unseen = self._by_words(column) if self._short else self._by_hash(column)
            if unseen is None:
                return codes
            for text in unseen.unique().sort().to_list():
                self._known.setdefault(text, len(self._known) + 1)
            if len(self._known) > self._most:
                return None
            self.levels = (None, *self._known)
            self._short = self._short and self._learnt()

    def _by_words(self, column: pl.Series) -> tuple[Codes, pl.Series | None]:
        """The codes, or some texts that have none yet; those of a long text are had by hashing."""
        array = column.alias("").rechunk().to_arrow(compat_level=pl.CompatLevel.newest())
        first, second = _views(array)
        valid = None
        if array.null_count:
            valid = column.is_not_null().to_numpy()
            first, second = np.where(valid, first, 0), np.where(valid, second, 0)
        if int((first & _LENGTH).max()) > _INLINE:
            self._short = False
            return self._by_hash(column)
        codes = np.take(self._places, self._hashed(first, second))
        same = np.take(self._first, codes) == first
        if second.any():
            same &= np.take(self._second, codes) == second
        else:
            same &= np.take(self._second == 0, codes)
        if valid is not None:
            same |= ~valid
            codes[~valid] = 0
        return codes, None if same.all() else column.filter(pl.Series(~same))

    def _by_hash(self, column: pl.Series) -> tuple[Codes, pl.Series | None]:
        """The same for texts of any length."""
        codes = column.replace_strict(
            list(self._known), range(1, len(self._known) + 1), default=-1, return_dtype=pl.Int64
        )
        unseen = column.filter((codes == -1) & column.is_not_null())
        numbers = codes.set(column.is_null(), 0).to_numpy()
        return numbers, unseen if len(unseen) else None

    def _learnt(self) -> bool:
        """Whether there is a multiplier that sends all known texts to places of their own."""
        known = pl.Series(list(self._known), dtype=pl.String)
        if (known.str.len_bytes() > _INLINE).any():
            return False
        first, second = _views(known.rechunk().to_arrow(compat_level=pl.CompatLevel.newest()))
        for factor in _FACTORS:
            self._factor = factor
            places = self._hashed(first, second)
            if len(np.unique(places)) == len(places):
                self._places = np.zeros(2**_BITS, dtype=np.intp)
                self._places[places] = np.arange(1, len(places) + 1)
                self._first = np.concatenate([[_NOBODY], first])
                self._second = np.concatenate([[_NOBODY], second])
                return True
        return False

    def _hashed(self, first: Words, second: Words) -> NDArray[np.intp]:
        mixed = first ^ second * _SECOND
        mixed *= self._factor
        mixed >>= _SHIFT
        return mixed.view(np.intp)


def _views(array: Any) -> tuple[Words, Words]:  # noqa: ANN401  # an Arrow array of string views
    """Both words of the view of each text."""
    words = np.frombuffer(array.buffers()[1], dtype=np.uint64).reshape(-1, 2)
    views = words[array.offset : array.offset + len(array)]
    return views[:, 0], views[:, 1]

"""`Features` of people as arrays: numbers as they are, categories as codes."""

from __future__ import annotations

import numpy as np

from fairaudit.base.arrays import Floats, Ints, Marks
from fairaudit.base.frozen import Frozen, replace


class Features(Frozen, eq=False):
    """The features of [N] people: numbers [N, P], and codes [N, Q] of the levels of categories.

    A missing number is NaN, a missing category -1.
    """

    number_names: tuple[str, ...]
    numbers: Floats
    category_names: tuple[str, ...]
    codes: Ints
    levels: tuple[tuple[str, ...], ...]

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, numbers first."""
        return (*self.number_names, *self.category_names)

    @property
    def complete(self) -> Marks:
        """Who has every feature."""
        known = np.isfinite(self.numbers).all(axis=1) & (self.codes >= 0).all(axis=1)
        return np.asarray(known)

    @property
    def constant(self) -> tuple[str, ...]:
        """The features with the same value for all people."""
        columns = (*self.numbers.T, *self.codes.T)
        alike = (not len(self) or bool((values == values[0]).all()) for values in columns)
        return tuple(name for name, same in zip(self.names, alike, strict=True) if same)

    def take(self, rows: Ints | Marks) -> Features:
        """The features of some rows."""
        return replace(self, numbers=self.numbers[rows], codes=self.codes[rows])

    def canonical_order(self, *first: Ints | Floats) -> Ints:
        """An order of the rows that depends on their values alone, by `first` and the features.

        Rows that tie are equal, so a result that follows it does not depend on the file's order.
        """
        keys = [*first, *self.numbers.T, *self.codes.T]
        return np.lexsort(keys[::-1]).astype(np.int64)

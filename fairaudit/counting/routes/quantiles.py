"""Exact quantiles of a column, by passes over the data, in constant memory.

A histogram shows which bin contains the quantile. The next pass splits only this bin into finer
bins, and so on, until the bin has a single value.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import accumulate

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fairaudit.base.arrays import Floats, Ints
from fairaudit.base.errors import DataError, NothingToAudit
from fairaudit.counting.columns import Cut
from fairaudit.counting.counts import Median
from fairaudit.counting.plan import Plan
from fairaudit.counting.routes.derived_columns import prepare
from fairaudit.counting.sources import SourceFile
from fairaudit.counting.sources.batches import Batch, batches, collect, own
from fairaudit.cube.histogram import bins_of

_BINS = 2**16


def median(
    data: Sequence[SourceFile] | Batch, plan: Plan, column: str, between: tuple[float, float]
) -> Median:
    """The exact median of a score; its value is in the range `between`."""
    values = _Values(data, plan, column)
    below = values.count(pl.col("value") < between[0])
    found = values.find_quantile(Fraction(1, 2), below, values.split(*between))
    return Median(found.value, values.people)


def cuts(
    data: Sequence[SourceFile] | Batch, plan: Plan, column: str, shares: Sequence[Fraction]
) -> Iterator[Cut]:
    """The quantile for each share, over the rows that the filter keeps and that have a number."""
    values = _Values(data, plan, column)
    if not values.rows:
        raise NothingToAudit("no rows are left to audit", "check the data and the filter")
    if not values.people:
        what = f"no row has a number in the column {column!r}, so the column has no quantiles"
        raise DataError(what, "check the column and the filter in the spec")
    bins = values.group(values.frame, bins_of)
    for share in shares:
        yield values.find_quantile(share, 0, bins)


class _Values:
    """The values of a column in the rows that the filter keeps, with the people of each value."""

    def __init__(self, data: Sequence[SourceFile] | Batch, plan: Plan, column: str) -> None:
        if isinstance(data, Batch):
            read = [data]
        else:
            read = [batch for file in data for batch in batches([file], plan.format.separator)]
        self._batch = read[0]
        # Value and people of the rows that the filter keeps.
        frames = []
        for batch in read:
            numbers = prepare(batch, plan)
            people = numbers.people.alias(own("people"))
            value = numbers.value(column).cast(pl.Float64).alias(own("value"))
            rows = numbers.batch.frame.select(value, people, *numbers.filtered)
            frames.append(
                rows.filter(numbers.kept).select(value=own("value"), people=own("people"))
            )
        kept = pl.concat(frames)
        self.frame = kept.filter(pl.col("value").is_not_null())
        self.rows = int(collect(kept.select(pl.len().cast(pl.Int64)), self._batch).item())
        self.people = self.count(pl.lit(value=True))

    def find_quantile(self, share: Fraction, below: int, parts: pl.DataFrame) -> Cut:
        """The smallest value such that at least `share` of the people is at or below the value.

        `parts` are bins of values; one bin contains the result. `below` is the number of people
        below all bins.
        """
        wanted = -(-share.numerator * self.people // share.denominator)
        while True:
            reached = [*accumulate(parts["people"], initial=below)]
            number = bisect_left(reached, wanted, lo=1) - 1
            below, at = reached[number], parts["people"][number]
            low, high = (parts[end][number] + 0.0 for end in ("low", "high"))  # -0.0 is 0.0
            if low == high:
                return Cut(low, self.people - below - at, at, below)
            parts = self.split(low, high)

    def split(self, low: float, high: float) -> pl.DataFrame:
        """Bins (at most `_BINS`) of the values from `low` to `high`."""
        # A bin is a range of consecutive doubles, so four passes can separate any two values.
        first, last = (int(_rank(np.array([end]))[0]) for end in (low, high))
        shift = max((last - first).bit_length() - _BINS.bit_length() + 1, 0)
        inside = self.frame.filter(pl.col("value").is_between(low, high))

        def part_of(values: Floats) -> Ints:
            return ((_rank(values) - np.uint64(first)) >> np.uint64(shift)).astype(np.int64)

        return self.group(inside, part_of)

    def count(self, where: pl.Expr) -> int:
        """The number of people whose values fulfil a condition."""
        people = pl.col("people").filter(where).cast(pl.Int128).sum()
        return int(collect(self.frame.select(people), self._batch).item())

    def group(self, frame: pl.LazyFrame, part_of: Callable[[Floats], Ints]) -> pl.DataFrame:
        """The bins of the values in ascending order, each with its people and range of values."""
        part = pl.col("value").map_batches(
            lambda values: pl.Series(part_of(values.to_numpy())), pl.Int64, is_elementwise=True
        )
        value, people = pl.col("value"), pl.col("people").cast(pl.Int128).sum()
        grouped = frame.with_columns(part.alias("part")).group_by("part")
        groups = grouped.agg(people, value.min().alias("low"), value.max().alias("high"))
        return collect(groups, self._batch).sort("part")


def _rank(values: Floats) -> NDArray[np.uint64]:
    """The rank of each value among all doubles; -0.0 and 0.0 have the same rank."""
    bits = (values + 0.0).view(np.int64)
    lowest = np.iinfo(np.int64).min
    ordered = np.where(bits < 0, lowest - bits, bits)
    return ordered.view(np.uint64) ^ np.uint64(1 << 63)

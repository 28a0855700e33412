"""Counts of several files merged into one: the control total, and the limit of cells."""

from __future__ import annotations

from collections.abc import Sequence

from fairaudit.base.arrays import MOST_PEOPLE
from fairaudit.base.errors import DataError
from fairaudit.base.names import quoted
from fairaudit.counting.counts import CountedFile, Counts, PartialCounts, check_people
from fairaudit.counting.plan import MOST_CELLS, Plan
from fairaudit.counting.raw_counts import unite_keys
from fairaudit.counting.sources import SourceFile


def merge_counts(
    plan: Plan, parts: Sequence[PartialCounts], ready: Sequence[SourceFile], route: str
) -> Counts:
    """The counts of several files as one `Counts`; equal texts are the same level.

    Raises `DataError` if the rows differ from the control total, or if there are too many cells.
    """
    rows = sum(int(part.rows.sum()) for part in parts)
    read = sum(file.records for file in ready) * plan.counts_per_row
    repeated = sum(len(file.repeated or ()) for file in ready)
    if rows != read - repeated:
        raise DataError(
            f"the pass counted {rows:,} rows, the control total is {read - repeated:,}",
            "the data changed while it was read, or is damaged: run again",
            uncounted="the pass did not count as many rows as the control total",
        )
    check_people(sum(int(part.people.sum()) for part in parts))
    cells = sum(len(part.rows) for part in parts)
    if cells > MOST_CELLS and plan.cluster is not None:
        raise DataError(
            f"there are {cells:,} combinations of levels and clusters, at most {MOST_CELLS:,} are "
            "allowed",
            "audit fewer columns at a time, or remove `cluster`",
        )
    if cells > MOST_CELLS:
        keys = map(unite_keys, zip(*(part.keys for part in parts), strict=True))
        widest = max(keys, key=lambda key: len(key.levels))
        raise DataError(
            f"there are {cells:,} combinations of levels, at most {MOST_CELLS:,} are allowed: the "
            f"column {quoted(widest.key.column)} alone has {len(widest.levels):,} levels",
            "if the column is an id, remove it; otherwise bin or merge its levels",
        )
    counts = Counts(
        **PartialCounts.join(plan, parts),
        plan=plan,
        read=read,
        repeated=repeated,
        sources=tuple(CountedFile(one.file, one.records, one.blank) for one in ready),
        route=route,
    )
    weight = counts.weight
    if weight is not None and sum(weight.values.tolist()) // weight.scale >= MOST_PEOPLE:
        what = "the sum of the weights does not fit into 64 bits"
        hint = "check the weight column, or divide all weights by the same number"
        raise DataError(what, hint)
    return counts

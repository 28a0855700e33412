"""Counts of several files merged into one: united levels, the control total, the limit of cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from fairaudit.base.arrays import MOST_PEOPLE
from fairaudit.base.errors import DataError
from fairaudit.base.names import quoted
from fairaudit.counting.counts import CountedFile, Counts, RawWeights
from fairaudit.counting.partial_counts import (
    HistogramPart,
    PartialCounts,
    ScoreHistograms,
    check_people,
)
from fairaudit.counting.plan import MOST_CELLS, Key, Plan
from fairaudit.counting.raw_counts import (
    MOST_ENTRIES,
    RawHistogram,
    RawKey,
    RawScores,
    RawTable,
    join_bins,
    join_histograms,
    places,
    unite_keys,
    unite_levels,
)
from fairaudit.counting.sources import SourceFile
from fairaudit.cube.histogram import Bins


def merge_counts(
    plan: Plan, parts: Sequence[PartialCounts], ready: Sequence[SourceFile], route: str
) -> Counts:
    """The counts of several files as one `Counts`; equal texts are the same level.

    Raises `DataError` if the rows differ from the control total, or if there are too many cells.
    """
    rows = np.concatenate([part.rows for part in parts])
    read = sum(file.records for file in ready) * plan.counts_per_row
    repeated = sum(len(file.repeated or ()) for file in ready)
    if int(rows.sum()) != read - repeated:
        raise DataError(
            f"the pass counted {int(rows.sum()):,} rows, the control total is {read - repeated:,}",
            "the data changed while it was read, or is damaged: run again",
            uncounted="the pass did not count as many rows as the control total",
        )
    check_people(sum(int(part.people.sum()) for part in parts))
    keys = tuple(
        unite_keys([part.keys[number] for part in parts]) for number in range(len(plan.keys))
    )
    if len(rows) > MOST_CELLS:
        raise _report_too_many_cells(plan, keys, len(rows))
    levels = {key.key: key.levels for key in keys}
    tabled = [key for part in parts for table in part.tables for key in table.keys]
    for key in plan.table_keys:
        if key not in levels:
            levels[key] = unite_levels(own.levels for own in tabled if own.key == key)
    levels = {key: levels[key] for key in plan.table_keys if key.edges is None}
    weights = None
    if plan.weight:
        weights = RawWeights.join([part.weights for part in parts if part.weights is not None])
        if sum(weights.weight.values.tolist()) // weights.weight.scale >= MOST_PEOPLE:
            what = "the sum of the weights does not fit into 64 bits"
            hint = "check the weight column, or divide all weights by the same number"
            raise DataError(what, hint)
    return Counts(
        plan=plan,
        keys=keys,
        kept=np.concatenate([part.kept for part in parts]),
        rows=rows,
        people=np.concatenate([part.people for part in parts]),
        read=read,
        repeated=repeated,
        sources=tuple(CountedFile(one.file, one.records, one.blank) for one in ready),
        route=route,
        weights=weights,
        scores={
            column: _merge_score(
                plan, keys, column, [part.scores[column] for part in parts if column in part.scores]
            )
            for column in plan.scores
        },
        amounts={
            name: [n for part in parts if part.amounts for n in part.amounts[name]]
            for name in plan.adding.sums
        },
        tables=tuple(_merge_tables(plan, levels, parts)),
        table_levels=levels,
    )


def _merge_tables(
    plan: Plan, levels: Mapping[Key, tuple[str | None, ...]], counts: Sequence[PartialCounts]
) -> Iterator[RawTable]:
    """Each extra table of the plan, with the counts of all threads and files."""
    for number, keys in enumerate(plan.tables):
        tables = [part.tables[number] for part in counts if part.tables]
        codes = [np.zeros((0, len(keys)), dtype=np.int64)]
        for table in tables:
            columns = [
                places(key.levels, levels[key.key])[key.codes] if key.key in levels else key.codes
                for key in table.keys
            ]
            codes.append(np.stack(columns, axis=1))
        people = [np.zeros(0, dtype=np.int64), *(table.people for table in tables)]
        yield RawTable(keys, np.concatenate(codes), np.concatenate(people))


def _merge_score(
    plan: Plan, keys: Sequence[RawKey], column: str, parts: Sequence[ScoreHistograms]
) -> RawScores:
    """The histograms of a score, with the counts of all threads and files.

    They share bins, as narrow as `MOST_ENTRIES` allows. They are empty if no row has the score.
    """
    most = MOST_ENTRIES // len(plan.scores)
    numbers = [tuple(map(plan.keys.index, grouping)) for grouping in plan.scores[column]]
    if not any(len(part.bins.codes) for part in parts):
        empty = tuple(map(RawHistogram.empty, numbers))
        return RawScores(empty, Bins.gather(np.zeros(0, np.int64), np.zeros(0), np.zeros(0)))
    shift, bins = join_bins([(part.bins, part.shift) for part in parts], numbers, keys, most)
    pieces = [piece for part in parts for piece in part.pieces]
    return RawScores(
        tuple(
            _merge_histogram(
                grouping, keys, [p for p in pieces if p.grouping == number], bins, shift
            )
            for number, grouping in enumerate(numbers)
        ),
        bins,
        shift,
    )


def _merge_histogram(
    numbers: tuple[int, ...],
    keys: Sequence[RawKey],
    pieces: Sequence[HistogramPart],
    bins: Bins,
    shift: int,
) -> RawHistogram:
    """The parts of one histogram as one, by the united levels and bins."""
    lookups = [
        [
            np.array(levels, np.int64)
            if keys[number].key.is_cut
            else places(levels, keys[number].levels)
            for number, levels in zip(numbers, piece.levels, strict=True)
        ]
        for piece in pieces
    ]
    bins_of_pieces = [
        np.searchsorted(bins.codes, piece.histogram.bins >> (shift - piece.shift))
        for piece in pieces
    ]
    return join_histograms(numbers, [piece.histogram for piece in pieces], lookups, bins_of_pieces)


def _report_too_many_cells(plan: Plan, keys: Sequence[RawKey], cells: int) -> DataError:
    if plan.cluster is not None:
        return DataError(
            f"{cells:,} combinations of levels and clusters, the budget is {MOST_CELLS:,}",
            "audit fewer columns at a time, or remove `cluster`",
        )
    widest = max(keys, key=lambda key: len(key.levels))
    return DataError(
        f"{cells:,} combinations of levels, the budget is {MOST_CELLS:,}: the column "
        f"{quoted(widest.key.column)} alone has {len(widest.levels):,} levels",
        "if the column is an id, remove it; otherwise bin or merge its levels",
    )

"""Reads people one by one, with their features and scores, for metrics of individuals.

Each row belongs to the raw cell (combination of levels in the data) in which it was counted. So the
groups, the outcome and the missing values of a row are treated as in the counts. To save memory,
people who are equal in all values are one entry with a count (`counting/raw_rows.py`).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
import polars as pl

from fairaudit.base.arrays import SEED, Ints, hash_rows
from fairaudit.base.errors import DataError, PlanError, PlanFault, Seek
from fairaudit.base.processes import Progress
from fairaudit.counting.counts import Counts
from fairaudit.counting.plan import MISSING, MOST_LEVELS, RowPlan
from fairaudit.counting.raw_rows import Hashes, RawRows, choose_halvings, is_below, most_entries
from fairaudit.counting.routes.derived_columns import category, prepare
from fairaudit.counting.routes.polars_numbers import as_text
from fairaudit.counting.routes.polars_route import interval
from fairaudit.counting.sources.batches import Batch, collect, own
from fairaudit.cube.rows import Features

_LEAST_HELD = 200_000
"""Number of rows in memory before they are grouped for the first time."""

_SLACK = 4
"""Between two groupings, memory may have a quarter more entries than the budget."""

_PARTS = 16
"""Number of parts of the entries, split by profile; grouping copies one part at a time."""


class RowGroups:
    """Collects people, joins equal people into one entry, and counts missing values."""

    def __init__(self, plan: RowPlan, counts: Counts) -> None:
        self.plan = plan
        self.counts = counts
        self.size = len(counts.rows)
        self.rows, self.complete = np.zeros((2, self.size), dtype=np.int64)
        self.missing: dict[str, Ints] = {}
        self.levels: dict[str, dict[str, int]] = {}
        self.parts: list[list[pl.DataFrame]] = [[] for _ in range(_PARTS)]
        self.halvings = self.held = 0
        self.limit = _LEAST_HELD

    def add(self, rows: pl.DataFrame) -> None:
        """Adds people, each with a raw cell; people who lack a feature are only counted."""
        names = [own(f"feature {name}") for name in self.plan.similarity.columns]
        self.rows += self._count(rows)
        for feature, name in zip(self.plan.similarity.columns, names, strict=True):
            if rows[name].null_count():
                nobody = np.zeros(self.size, dtype=np.int64)
                lacking = self._count(rows.filter(pl.col(name).is_null()))
                self.missing[feature] = self.missing.get(feature, nobody) + lacking
        complete = rows.drop_nulls(names)
        self.complete += self._count(complete)
        # Hash the values of the features, not their codes, which depend on the order of rows.
        profiles = np.zeros(complete.height, dtype=np.uint64)
        for name in self.plan.similarity.numeric:
            numbers = complete[own(f"feature {name}")].to_numpy().astype(np.float64)
            profiles = mix(profiles, (numbers + 0.0).view(np.uint64))  # -0 is 0
        coded = []
        for name in self.plan.similarity.categorical:
            # Levels get codes in the order in which they are read.
            values = complete[own(f"feature {name}")]
            known, levels = self.levels.setdefault(name, {}), values.unique().to_list()
            places = [known.setdefault(level, len(known)) for level in levels]
            if len(known) > MOST_LEVELS:
                what = f"{name!r} has over {MOST_LEVELS:,} levels, which is too many to match"
                raise PlanError([PlanFault(f"{what}: is it an id?", name)])
            # Without rows, Polars ignores `return_dtype`; so the cast is needed.
            codes = values.replace_strict(levels, places, return_dtype=pl.Int32).cast(pl.Int32)
            # These hashes are the same on every machine.
            digests = (blake2b(level.encode(), digest_size=8).digest() for level in known)
            hashes = np.frombuffer(b"".join(digests), "<u8")
            profiles = mix(profiles, hashes[codes.to_numpy()])
            coded.append(codes)
        part = np.where(is_below(profiles, self.halvings), profiles % np.uint64(_PARTS), _PARTS)
        of_one = pl.lit(1, pl.Int64).alias(own("n"))
        hashed = complete.with_columns(*coded, of_one, pl.Series(own("profile"), profiles))
        for number, frames in enumerate(self.parts):
            frames.append(hashed.filter(pl.Series(part == number)))
            self.held += frames[-1].height
        if self.held > self.limit:
            self._group()

    def _count(self, rows: pl.DataFrame) -> Ints:
        return np.bincount(rows[own("cell")].to_numpy(), minlength=self.size)

    def _group(self) -> None:
        """Joins equal people, and halves the profiles while there are too many entries."""
        most = most_entries(self.plan.most, len(self.plan.similarity.columns))
        # Halve first if there are already more distinct profiles than allowed entries.
        self._halve(np.unique(self._list_profiles()), most)
        summed = [own("row"), own("n"), own("profile")]
        for frames in self.parts:
            rows = pl.concat(frames)
            groups = rows.group_by([name for name in rows.columns if name not in summed])
            joined = groups.agg(
                pl.col(own("row")).min(), pl.col(own("n")).sum(), pl.col(own("profile")).first()
            )
            frames[:] = [joined.select(rows.columns)]
        self._halve(self._list_profiles(), most)
        self.held = sum(frames[0].height for frames in self.parts)
        self.limit = max(min(2 * self.held, most + most // _SLACK), _LEAST_HELD)

    def _list_profiles(self) -> Hashes:
        hashes = (frame[own("profile")].to_numpy() for frames in self.parts for frame in frames)
        return np.concatenate([*hashes])

    def _halve(self, profiles: Hashes, most: int) -> None:
        """Drops half of the entries at a time, until at most `most` of `profiles` are left."""
        self.halvings = choose_halvings(profiles, most, self.halvings)
        for frames in self.parts:
            for place, frame in enumerate(frames):
                kept = is_below(frame[own("profile")].to_numpy(), self.halvings)
                frames[place] = frame if kept.all() else frame.filter(pl.Series(kept))

    def finish(self) -> RawRows:
        """All kept people, with equal people in one entry."""
        self._group()
        rows, similarity = pl.concat([frame for (frame,) in self.parts]), self.plan.similarity
        self.parts.clear()
        levels = []
        codes = np.zeros((rows.height, len(similarity.categorical)), dtype=np.int64)
        for place, name in enumerate(similarity.categorical):
            # Sort the levels, because their order so far depends on the threads.
            known = sorted(self.levels.get(name, {}))
            ranks = {level: code for code, level in enumerate(known)}
            lookup = np.array([ranks[level] for level in self.levels.get(name, {})] or [0])
            codes[:, place] = lookup[rows[own(f"feature {name}")].to_numpy()]
            levels.append(tuple(known))
        numbers = np.zeros((rows.height, len(similarity.numeric)))
        for place, name in enumerate(similarity.numeric):
            numbers[:, place] = rows[own(f"feature {name}")].to_numpy()
        features = Features(
            similarity.numeric, numbers, similarity.categorical, codes, tuple(levels)
        )
        scores = {
            name: rows[own(f"score {name}")].fill_null(float("nan")).to_numpy()
            for name in self.plan.scores
        }
        return RawRows(
            cells=rows[own("cell")].to_numpy(),
            numbers=rows[own("row")].to_numpy(),
            n=rows[own("n")].to_numpy(),
            features=features,
            scores=scores,
            complete=self.complete,
            missing=self.missing,
            halvings=self.halvings,
            most=self.plan.most,
        )


def mix(hashes: Hashes, values: Hashes) -> Hashes:
    """The hash of each pair of a hash and a value; the pairs (a, b) and (b, a) differ in hash."""
    return hash_rows(hashes ^ values, SEED)


def read_rows(
    batches: Sequence[Batch], counts: Counts, plan: RowPlan, progress: Progress
) -> RawRows:
    """The people whom the filter keeps, each with its raw cell; equal people are one entry."""
    progress.start("reading people one by one", counts.read, "rows")
    collected = RowGroups(plan, counts)
    # The raw cell of each combination of levels in the rows that the filter keeps.
    columns: dict[str, pl.Series] = {}
    places_kept = np.flatnonzero(counts.kept == 1)
    for number, key in enumerate(counts.keys):
        codes = key.codes[places_kept]
        if key.key.edges is None:
            levels = pl.Series(key.levels, dtype=pl.String)
            columns[own(f"key{number}")] = levels.gather(codes)
        else:
            columns[own(f"key{number}")] = pl.Series(codes, dtype=pl.Int64)
    names = [*columns]
    columns[own("cell")] = pl.Series(places_kept, dtype=pl.Int64)
    places = pl.DataFrame(columns).unique(names or None, keep="any")
    first = 1
    for batch in batches:
        first += _read_batch(batch, places, collected, first, progress)
    kept = int(counts.rows[counts.kept == 1].sum())
    if int(collected.rows.sum()) != kept or first - 1 != counts.read - counts.repeated:
        raise DataError(
            f"{int(collected.rows.sum()):,} people were read, but {kept:,} were counted",
            "the data changed while it was read: run again",
        )
    return collected.finish()


def _read_batch(
    batch: Batch, places: pl.DataFrame, collected: RowGroups, first: int, progress: Progress
) -> int:
    """Adds the people in a batch whom the filter keeps; returns the number of rows in the batch."""
    plan, similarity = collected.counts.plan, collected.plan.similarity
    numbers = prepare(batch, plan)
    columns: dict[str, pl.Expr] = {}
    for number, key in enumerate(plan.keys):
        # The levels as they were counted: texts, or codes of intervals.
        columns[own(f"key{number}")] = (
            as_text(pl.col(key.column), numbers.batch.schema[key.column])
            if key.edges is None
            else interval(key, numbers).cast(pl.Int64).fill_null(MISSING)
        )
    keys = [*columns]
    for name in similarity.numeric:
        value = numbers.value(name).cast(pl.Float64)
        is_sound = numbers.sound(name) & value.is_finite().fill_null(value=True)
        columns[own(f"feature {name}")] = value
        columns[own(f"bad {name}")] = ~is_sound
    for name in similarity.categorical:
        columns[own(f"feature {name}")] = category(name, numbers)
    for name in collected.plan.scores:
        columns[own(f"score {name}")] = numbers.value(name).cast(pl.Float64)
    named = [value.alias(name) for name, value in columns.items()]
    frame = numbers.batch.frame.with_row_index(own("row"), offset=first)
    frame = frame.select(pl.col(own("row")).cast(pl.Int64), *named, *numbers.filtered)
    frame = frame.with_columns(numbers.kept.fill_null(value=False).alias(own("kept")))
    held = [own(f"feature {name}") for name in similarity.columns]
    held += [own(f"score {name}") for name in collected.plan.scores]
    lock = threading.Lock()

    def pass_on(rows: pl.DataFrame) -> pl.DataFrame:
        """Adds the kept rows of a chunk, and returns the number of all rows in the chunk."""
        progress.advance(rows.height, "rows")
        audited = rows.filter(pl.col(own("kept")))
        if keys:
            audited = audited.join(places, on=keys, how="inner", nulls_equal=True)
        else:
            audited = audited.join(places, how="cross")
        with lock:
            for name in similarity.numeric:
                if audited[own(f"bad {name}")].any():
                    raise DataError(
                        f"the feature {name!r} is numeric, but some of its cells are not numbers",
                        "correct the data, name it under `categorical`, or name the values that "
                        "mean missing in `missing.tokens`",
                        seek=Seek(name, numeric=True),
                    )
            collected.add(audited.select(own("row"), own("cell"), *held))
        return pl.DataFrame({own("rows"): pl.Series([rows.height], dtype=pl.Int64)})

    passed_rows = frame.select(own("row"), own("kept"), *columns).map_batches(
        pass_on,
        projection_pushdown=False,
        predicate_pushdown=False,
        streamable=True,
        schema=pl.Schema({own("rows"): pl.Int64()}),
    )
    return int(collect(passed_rows.select(pl.col(own("rows")).sum()), batch).item() or 0)

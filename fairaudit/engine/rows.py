"""Reads people one by one, with their features, for the metrics that need more than counts.

A row is found in the raw cell that the pass counted it in, so its groups, outcomes and what becomes
of missing values are those of the cube: the same people, recoded once. Where there are more people
than the memory holds a sample is kept, chosen by a hash of the number of the row.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from fairaudit.arrays import Floats, Ints
from fairaudit.counts import Counts, RawRows
from fairaudit.engine.derived import add_columns
from fairaudit.engine.numbers import Batch, Numbers, as_text, own
from fairaudit.engine.polars_route import collect, filtered, level_of
from fairaudit.engine.scan import checked_rule
from fairaudit.engine.strata import category
from fairaudit.errors import DataError, Seek, SpecError
from fairaudit.features import Features
from fairaudit.plan import MISSING, MOST_LEVELS, RowPlan
from fairaudit.progress import Progress
from fairaudit.rows.sampling import SEED, hash_rows
from fairaudit.spec import SimilarityColumns, Text

BUDGET = 2**30
"""So many bytes the people and what is worked out of them may take: 1 GiB."""

_PER_PERSON = 100
"""The bytes of a person beside the features: cell, row, places, and what a search holds."""

_PER_FEATURE = 32
"""The bytes of a feature of a person, as it is read and kept."""

_PER_COORDINATE = 16
"""The bytes of a coordinate of a person in a search: a number has one, a category one a level."""


def most_people(features: int, coordinates: int = 0) -> int:
    """How many people with so many features, and coordinates made of them, the memory holds."""
    size = _PER_PERSON + _PER_FEATURE * features + _PER_COORDINATE * coordinates
    return BUDGET // size


def read_rows(
    batches: Sequence[Batch], counts: Counts, plan: RowPlan, progress: Progress
) -> RawRows:
    """The people of the raw cells one by one, as far as the filter keeps them."""
    progress.start("reading people one by one", counts.read, "rows")
    most = most_people(len(plan.similarity.texts))
    collected = _Collected(plan, min(most, plan.most or most), len(counts.rows))
    places = _place_levels(counts)
    first = 1
    for batch in batches:
        first += _read_batch(batch, counts, places, collected, first, progress)
    kept = int(counts.rows[counts.kept == 1].sum())
    if int(collected.rows.sum()) != kept or first - 1 != counts.read:
        raise DataError(
            f"{int(collected.rows.sum()):,} people were read one by one, and {kept:,} were counted",
            "the data changed while it was read: run again",
        )
    return collected.finish()


@dataclass(slots=True)
class _Collected:
    """The people read so far, at most twice as many as are kept, and how many lack what."""

    plan: RowPlan
    most: int
    size: int
    rows: Ints = field(init=False)
    complete: Ints = field(init=False)
    missing: dict[str, Ints] = field(default_factory=dict)
    levels: dict[str, dict[str, int]] = field(default_factory=dict)
    parts: list[pl.DataFrame] = field(default_factory=list)
    held: int = 0

    def __post_init__(self) -> None:
        self.rows, self.complete = np.zeros((2, self.size), dtype=np.int64)

    def add(self, rows: pl.DataFrame) -> None:
        """Takes people of the raw cells, and leaves out who lacks a feature."""
        names = [own(f"feature {text.value}") for text in self.plan.similarity.texts]
        self.rows += self._count(rows)
        for text, name in zip(self.plan.similarity.texts, names, strict=True):
            if rows[name].null_count():
                nobody = np.zeros(self.size, dtype=np.int64)
                lacking = self._count(rows.filter(pl.col(name).is_null()))
                self.missing[text.value] = self.missing.get(text.value, nobody) + lacking
        complete = rows.drop_nulls(names)
        self.complete += self._count(complete)
        self.held += complete.height
        self.parts.append(complete.with_columns(map(self._code, self._categories(complete))))
        if self.held > 2 * self.most:
            self._sample(self.most)

    def _count(self, rows: pl.DataFrame) -> Ints:
        return np.bincount(rows[own("cell")].to_numpy(), minlength=self.size)

    def _categories(self, rows: pl.DataFrame) -> Iterator[tuple[Text, pl.Series]]:
        for text in self.plan.similarity.categorical:
            yield text, rows[own(f"feature {text.value}")]

    def _code(self, column: tuple[Text, pl.Series]) -> pl.Series:
        """The levels of a category as codes, in the order in which they are met."""
        text, values = column
        known = self.levels.setdefault(text.value, {})
        levels = values.unique().to_list()
        codes = [known.setdefault(level, len(known)) for level in levels]
        if len(known) > MOST_LEVELS:
            what = f"{text.value!r} has over {MOST_LEVELS:,} levels, too many to be matched"
            raise SpecError([text.fault(f"{what}: is it an id?")])
        return values.replace_strict(levels, codes, return_dtype=pl.Int32)

    def _sample(self, most: int) -> None:
        """Keeps those whose rows have the smallest hashes: as good as drawn at random."""
        rows = pl.concat(self.parts)
        if rows.height > most:
            hashes = hash_rows(rows[own("row")].to_numpy(), SEED)
            kept = np.argpartition(hashes, most)[:most]
            rows = rows[kept]
        self.parts, self.held = [rows], rows.height

    def finish(self) -> RawRows:
        """All that are kept, in the order of the data."""
        similarity = self.plan.similarity
        levels_of = sum(len(levels) for levels in self.levels.values())
        most = most_people(len(similarity.texts), len(similarity.numeric) + levels_of)
        self._sample(min(self.most, most))
        rows = self.parts[0].sort(own("row"))
        self.parts = []
        codes, levels = [], []
        for text, values in self._categories(rows):
            # Levels are sorted at last: which was met first is up to the threads.
            known = sorted(self.levels.get(text.value, {}))
            place = {level: code for code, level in enumerate(known)}
            lookup = np.array([place[level] for level in self.levels.get(text.value, {})] or [0])
            codes.append(lookup[values.to_numpy().astype(np.int64)])
            levels.append(tuple(known))
        features = Features(
            tuple(text.value for text in self.plan.similarity.numeric),
            _matrix(rows, [own(f"feature {text.value}") for text in self.plan.similarity.numeric]),
            tuple(text.value for text in self.plan.similarity.categorical),
            np.stack(codes, axis=1) if codes else np.zeros((rows.height, 0), dtype=np.int64),
            tuple(levels),
        )
        return RawRows(
            cells=rows[own("cell")].to_numpy(),
            numbers=rows[own("row")].to_numpy(),
            features=features,
            scores={
                name: rows[own(f"score {name}")].fill_null(float("nan")).to_numpy()
                for name in self.plan.scores
            },
            complete=self.complete,
            missing=self.missing,
        )


def _matrix(rows: pl.DataFrame, names: list[str]) -> Floats:
    if not names:
        return np.zeros((rows.height, 0))
    return np.asarray(rows.select(names).to_numpy(), dtype=np.float64)


def _place_levels(counts: Counts) -> pl.DataFrame:
    """The raw cell of each combination of raw levels among the rows that the filter keeps."""
    columns: dict[str, pl.Series] = {}
    kept = np.flatnonzero(counts.kept == 1)
    for number, key in enumerate(counts.keys):
        codes = key.codes[kept]
        if key.key.edges is None:
            levels = pl.Series(key.levels, dtype=pl.String)
            columns[own(f"key{number}")] = levels.gather(codes)
        else:
            columns[own(f"key{number}")] = pl.Series(codes, dtype=pl.Int64)
    columns[own("cell")] = pl.Series(kept, dtype=pl.Int64)
    names = [own(f"key{number}") for number in range(len(counts.keys))]
    return pl.DataFrame(columns).unique(names or None, keep="any")


def _read_batch(
    batch: Batch,
    counts: Counts,
    places: pl.DataFrame,
    collected: _Collected,
    first: int,
    progress: Progress,
) -> int:
    """Takes the audited people of the files of a batch; how many rows it has."""
    plan = counts.plan
    batch = add_columns(batch, plan)
    rule, numbers = checked_rule(batch, plan), Numbers(batch, plan)
    columns = [
        *_keys(batch, counts, numbers),
        *_features(batch, collected.plan.similarity, numbers),
        *(
            numbers.value(name).cast(pl.Float64).alias(own(f"score {name}"))
            for name in collected.plan.scores
        ),
    ]
    kept = pl.lit(value=True) if rule is None else rule.expression
    frame = (
        batch.frame.with_row_index(own("row"), offset=first)
        .select(pl.col(own("row")).cast(pl.Int64), *columns, *filtered(rule, numbers))
        .with_columns(kept.fill_null(value=False).alias(own("kept")))
    )
    keys = [own(f"key{number}") for number in range(len(plan.keys))]
    bad = [own(f"bad {text.value}") for text in collected.plan.similarity.numeric]
    taken = [own("row"), own("kept"), *keys, *bad]
    taken += [own(f"feature {text.value}") for text in collected.plan.similarity.texts]
    taken += [own(f"score {name}") for name in collected.plan.scores]
    passed = _passed(places, keys, collected, progress)
    passed_rows = frame.select(taken).map_batches(
        passed,
        projection_pushdown=False,
        predicate_pushdown=False,
        streamable=True,
        schema=pl.Schema({own("rows"): pl.Int64()}),
    )
    return int(collect(passed_rows.select(pl.col(own("rows")).sum()), batch).item() or 0)


def _passed(
    places: pl.DataFrame, keys: list[str], collected: _Collected, progress: Progress
) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Takes the audited rows of each chunk, and passes on how many rows it had."""
    lock = threading.Lock()

    def passed(rows: pl.DataFrame) -> pl.DataFrame:
        progress.advance(rows.height, "rows")
        audited = rows.filter(pl.col(own("kept")))
        if keys:
            audited = audited.join(places, on=keys, how="inner", nulls_equal=True)
        else:
            audited = audited.join(places, how="cross")
        with lock:
            _refuse_bad_numbers(audited, collected.plan.similarity.numeric)
            held = [name for name in audited.columns if name.startswith(own("feature "))]
            held += [name for name in audited.columns if name.startswith(own("score "))]
            collected.add(audited.select(own("row"), own("cell"), *held))
        return pl.DataFrame({own("rows"): pl.Series([rows.height], dtype=pl.Int64)})

    return passed


def _keys(batch: Batch, counts: Counts, numbers: Numbers) -> Iterator[pl.Expr]:
    """The levels of each key as they were counted: texts, or numbers of intervals."""
    for number, key in enumerate(counts.plan.keys):
        level = level_of(key, batch, numbers)
        if key.edges is None:
            level = as_text(level, batch.schema[key.column])
        else:
            level = level.cast(pl.Int64).fill_null(MISSING)
        yield level.alias(own(f"key{number}"))


def _features(batch: Batch, columns: SimilarityColumns, numbers: Numbers) -> Iterator[pl.Expr]:
    """The features of each row, null where one is missing, and which numbers are none."""
    for text in columns.numeric:
        value = numbers.value(text.value).cast(pl.Float64)
        is_sound = numbers.sound(text.value) & value.is_finite().fill_null(value=True)
        yield (~is_sound).alias(own(f"bad {text.value}"))
        yield value.alias(own(f"feature {text.value}"))
    for text in columns.categorical:
        yield category(text.value, batch, numbers).alias(own(f"feature {text.value}"))


def _refuse_bad_numbers(rows: pl.DataFrame, numeric: Sequence[Text]) -> None:
    """Raises `DataError` for the first numeric feature where an audited row holds no number."""
    for text in numeric:
        bad = int(rows[own(f"bad {text.value}")].sum())
        if bad:
            raise DataError(
                f"the feature {text.value!r} is numeric, and rows hold no number in it",
                "correct the data, name it under `categorical`, or name the values that mean "
                "missing in `missing.tokens`",
                seek=Seek(text.value, numeric=True),
            )

"""Groups people by raw cell, features and scores while their rows stream by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np
import polars as pl

from fairaudit.arrays import Floats, Ints
from fairaudit.counts import Counts
from fairaudit.engine.numbers import own
from fairaudit.errors import SpecError
from fairaudit.features import Features
from fairaudit.plan import MOST_LEVELS, RowPlan
from fairaudit.raw_rows import Hashes, RawRows, choose_halvings, is_below, most_entries
from fairaudit.sampling import SEED, hash_rows
from fairaudit.spec import Text

_LEAST_HELD = 200_000
"""So many rows are held before they are grouped for the first time."""


_SLACK = 4
"""A fourth more entries than the budget may be held between two times that they are grouped."""


@dataclass(slots=True)
class RowGroups:
    """The people read so far, not all grouped yet, and how many lack what."""

    plan: RowPlan
    counts: Counts
    size: int = field(init=False)
    rows: Ints = field(init=False)
    complete: Ints = field(init=False)
    missing: dict[str, Ints] = field(default_factory=dict)
    levels: dict[str, dict[str, int]] = field(default_factory=dict)
    parts: list[pl.DataFrame] = field(default_factory=list)
    halvings: int = 0
    held: int = 0
    limit: int = _LEAST_HELD

    def __post_init__(self) -> None:
        self.size = len(self.counts.rows)
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
        complete = complete.with_columns(
            *map(self._code, self._categories(complete)), pl.lit(1, pl.Int64).alias(own("n"))
        )
        profiles = self._hash_profiles(complete)
        kept = is_below(profiles, self.halvings)
        part = complete.with_columns(pl.Series(own("profile"), profiles)).filter(pl.Series(kept))
        self.parts.append(part)
        self.held += part.height
        if self.held > self.limit:
            self._group()

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
        # Without a row Polars gives no type.
        return values.replace_strict(levels, codes, return_dtype=pl.Int32).cast(pl.Int32)

    def _hash_profiles(self, rows: pl.DataFrame) -> Hashes:
        """A hash of the features of each row: of values, not of codes."""
        profiles = np.zeros(rows.height, dtype=np.uint64)
        for text in self.plan.similarity.numeric:
            numbers = rows[own(f"feature {text.value}")].to_numpy().astype(np.float64)
            profiles = mix(profiles, (numbers + 0.0).view(np.uint64))  # -0 is 0
        for text, codes in self._categories(rows):
            known = map(hash_text, self.levels[text.value])
            hashes = np.fromiter(known, np.uint64, len(self.levels[text.value]))
            profiles = mix(profiles, hashes[codes.to_numpy()])
        return profiles

    def _group(self) -> None:
        """Joins rows that are equal, and halves the profiles while there are too many."""
        most = self._most_entries()
        self._leave_out_profiles(most)
        grouped = pl.concat(self.parts)
        order, self.parts = grouped.columns, []
        summed = [own("row"), own("n"), own("profile")]
        grouped = grouped.group_by([name for name in grouped.columns if name not in summed]).agg(
            pl.col(own("row")).min(), pl.col(own("n")).sum(), pl.col(own("profile")).first()
        )
        grouped = grouped.select(order)
        profiles = grouped[own("profile")].to_numpy()
        self.halvings = choose_halvings(profiles, most, self.halvings)
        grouped = grouped.filter(pl.Series(is_below(profiles, self.halvings)))
        self.parts, self.held = [grouped], grouped.height
        self.limit = max(min(2 * grouped.height, most + most // _SLACK), _LEAST_HELD)

    def _most_entries(self) -> int:
        """How many entries are held, of the levels that were met: at last as many as are kept."""
        similarity = self.plan.similarity
        coordinates = len(similarity.numeric) + sum(map(len, self.levels.values()))
        return most_entries(self.plan.most, len(similarity.texts), coordinates)

    def _leave_out_profiles(self, most: int) -> None:
        """Halves the profiles before they are grouped where they alone are too many."""
        profiles = np.unique(
            np.concatenate([part[own("profile")].to_numpy() for part in self.parts])
        )
        self.halvings = choose_halvings(profiles, most, self.halvings)
        for at, part in enumerate(self.parts):
            kept = is_below(part[own("profile")].to_numpy(), self.halvings)
            self.parts[at] = part if kept.all() else part.filter(pl.Series(kept))

    def finish(self) -> RawRows:
        """Everybody who is kept, by what they are alike in."""
        self._group()
        rows, similarity = self.parts.pop(), self.plan.similarity
        codes, levels = [], []
        for text, values in self._categories(rows):
            # Levels are sorted at last: which was met first is up to the threads.
            known = sorted(self.levels.get(text.value, {}))
            place = {level: code for code, level in enumerate(known)}
            lookup = np.array([place[level] for level in self.levels.get(text.value, {})] or [0])
            codes.append(lookup[values.to_numpy().astype(np.int64)])
            levels.append(tuple(known))
        features = Features(
            tuple(text.value for text in similarity.numeric),
            _matrix(rows, [own(f"feature {text.value}") for text in similarity.numeric]),
            tuple(text.value for text in similarity.categorical),
            np.stack(codes, axis=1) if codes else np.zeros((rows.height, 0), dtype=np.int64),
            tuple(levels),
        )
        cells, profiles = rows[own("cell")].to_numpy(), rows[own("profile")].to_numpy()
        scores = {
            name: rows[own(f"score {name}")].fill_null(float("nan")).to_numpy()
            for name in self.plan.scores
        }
        contents = mix(profiles, _hash_cells(self.counts)[cells])
        for score in scores.values():
            contents = mix(contents, (score + 0.0).view(np.uint64))
        return RawRows(
            cells=cells,
            numbers=rows[own("row")].to_numpy(),
            n=rows[own("n")].to_numpy(),
            profiles=profiles,
            contents=contents,
            features=features,
            scores=scores,
            complete=self.complete,
            missing=self.missing,
            halvings=self.halvings,
            most=self.plan.most,
        ).limited()


def mix(hashes: Hashes, values: Hashes) -> Hashes:
    """A hash of a hash and a value, in this order."""
    return hash_rows(hashes ^ values, SEED)


def hash_text(text: str) -> int:
    """A hash of a text that is the same on every machine."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def _hash_cells(counts: Counts) -> Hashes:
    """A hash of the raw levels of each cell."""
    hashes = np.zeros(len(counts.rows), dtype=np.uint64)
    for key in counts.keys:
        if key.key.edges is None:
            known = np.array([hash_text(repr(level)) for level in key.levels] or [0], np.uint64)
            hashes = mix(hashes, known[key.codes])
        else:
            hashes = mix(hashes, key.codes.astype(np.int64).view(np.uint64))
    return hashes


def _matrix(rows: pl.DataFrame, names: list[str]) -> Floats:
    if not names:
        return np.zeros((rows.height, 0))
    return np.asarray(rows.select(names).to_numpy(), dtype=np.float64)

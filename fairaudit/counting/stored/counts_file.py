"""Files of counts (`.counts`, Parquet): writing, reading, adding up; plans that none may hold.

`docs/counts.md` describes it. Files of parts of the data are read as one: their counts add up.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from fairaudit.base.arrays import Floats, Ints
from fairaudit.base.errors import DataError, UsageError
from fairaudit.base.frozen import replace
from fairaudit.base.names import copied
from fairaudit.base.notice import Notice
from fairaudit.counting.counts import Counts, RawSearch, RawWeights
from fairaudit.counting.plan import Key, Plan, SumName
from fairaudit.counting.raw_keys import RawKey, RawTable, unite_levels
from fairaudit.counting.raw_scores import RawHistogram, RawScores
from fairaudit.counting.stored.counts_header import (
    Header,
    SideHeader,
    describe_counts,
    hash_file,
    read_header,
    refuse_other_plans,
    refuse_twice,
    spell_stored,
    spell_without_digest,
)
from fairaudit.cube.histogram import Bins

_HEADER = b"fairaudit.counts"
_CELLS = "cells"
_WEIGHTS = ("weight", "weight_fine", "square", "square_fine")
_MOMENTS = ("n", "total", "roots", "squares")


def write(counts: Counts) -> bytes:
    """What a file of counts holds; raises `UsageError` for counts that no file may hold."""
    if counts.plan.rows is not None:
        what = "the spec has measures of individuals, which need rows"
        raise UsageError(what, "remove these measures, or audit the data itself")
    if counts.plan.models:
        what = "the spec has strata from a model, which must be fitted to all rows"
        raise UsageError(what, "remove `propensity` and `clusters`, or audit the data itself")
    counts = counts.compact()
    tables = [*_write_tables(counts)]
    header = describe_counts(counts)
    table = pa.concat_tables(tables, promote_options="default").combine_chunks()
    digest = _digest(spell_stored(header), table)
    metadata = {_HEADER: spell_stored(replace(header, digest=digest))}
    target = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata(metadata), target, compression="zstd")
    return bytes(target.getvalue())


def _write_tables(counts: Counts) -> Iterator[pa.Table]:
    yield _write_cells(_CELLS, counts)
    for column, scores in counts.scores.items():
        bins = scores.bins
        yield _table(_name("bins", column), {"bin": bins.codes, "low": bins.low, "high": bins.high})
        for number, histogram in enumerate(scores.histograms):
            keys = [counts.keys[place] for place in histogram.keys]
            entries = {"bin": bins.codes[histogram.bins], "people": histogram.people}
            coded = zip(keys, histogram.codes.T, strict=True)
            yield _table(_name("score", column, number), _write_keys(coded) | entries)
            cells: dict[str, Any] = {"low": histogram.low, "high": histogram.high}
            for name, sums in zip(_MOMENTS, histogram.sums or (), strict=False):
                cells[name] = _texts(sums)
            coded = zip(keys, histogram.cells.T, strict=True)
            yield _table(_name("score range", column, number), _write_keys(coded) | cells)
    for number, table in enumerate(counts.tables):
        keys = [RawKey(key, table.codes, counts.table_levels.get(key, ())) for key in table.keys]
        coded = zip(keys, table.codes.T, strict=True)
        yield _table(_name("table", number), _write_keys(coded) | {"people": table.people})
    if counts.searched is not None:
        for name, beside in counts.searched.tables.items():
            yield _write_cells(_name("search", name), beside)


def _write_cells(name: str, counts: Counts) -> pa.Table:
    columns = _write_keys((key, key.codes) for key in counts.keys)
    columns |= {"kept": counts.kept, "rows": counts.rows, "people": counts.people}
    if counts.weights is not None:
        sums = counts.weights.sums
        columns |= {name: _texts(part) for name, part in zip(_WEIGHTS, sums, strict=True) if part}
    columns |= {_name(*of): _texts(sums) for of, sums in counts.amounts.items()}
    return _table(name, columns)


def _name(kind: str, *of: str | int) -> str:
    """The name of a column, or of a part of the file, that is of some columns of the data."""
    return f"{kind}:{json.dumps(of, ensure_ascii=False)}"


def _title(key: Key) -> str:
    return f"{'interval' if key.is_cut else 'level'}:{key.column}"


def _write_keys(keys: Iterable[tuple[RawKey, Ints]]) -> dict[str, Any]:
    """Levels as texts, null where they are missing; of a number how many edges it has passed."""
    columns: dict[str, Any] = {}
    for key, codes in keys:
        if key.key.is_cut:
            columns[_title(key.key)] = codes
            continue
        levels = np.array([*key.levels, None], dtype=object)  # an array of objects, even of none
        columns[_title(key.key)] = pa.array(levels[codes], pa.string())
    return columns


def _texts(numbers: Sequence[int]) -> pa.Array:
    """Whole numbers of any size, as digits."""
    return pa.array(map(str, numbers), pa.string())


def _table(part: str, columns: Mapping[str, Any]) -> pa.Table:
    length = max((len(values) for values in columns.values()), default=0)
    return pa.table({"part": pa.array([part] * length, pa.string()), **columns})


def _digest(header: bytes, table: pa.Table) -> str:
    """A fingerprint of all that the file says, by its values: it tells damage."""
    fingerprint = hashlib.sha256(spell_without_digest(header))
    for name, column in zip(table.column_names, table.columns, strict=True):
        values = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        fingerprint.update(f"{name}\0{values.type}\0".encode())
        fingerprint.update(np.packbits(np.asarray(pc.is_null(values))).tobytes())
        if pa.types.is_string(values.type):
            fingerprint.update("\0".join(pc.fill_null(values, "").to_pylist()).encode())
        else:
            fingerprint.update(np.asarray(pc.fill_null(values, 0)).tobytes())
    return fingerprint.hexdigest()


def read(path: Path) -> Counts:
    """The counts in a file; raises `DataError` where it holds none, or is damaged."""
    name = copied(str(path))
    hint = "count the data again: fairaudit count SPEC -o part.counts"
    try:
        table = pq.read_table(pa.BufferReader(path.read_bytes()))
        header = (table.schema.metadata or {}).get(_HEADER)
        if header is None:
            raise DataError(f"{name} is not a counts file", hint)
        described = read_header(header, name)
        if _digest(header, table.combine_chunks()) != described.digest:
            raise DataError(f"{name} is damaged: the fingerprint does not match", hint)
        return _Reader(described, table).counts()
    except OSError as error:
        raise DataError(f"{name}: {error.strerror or error}", "check the path") from error
    except (
        pa.ArrowException, ValueError, KeyError, TypeError, AttributeError, RecursionError,
    ) as error:  # fmt: skip
        raise DataError(f"{name} is damaged or not a counts file", hint) from error


class _Reader:
    """Takes the counts from the columns of a file, which are proven to be as they were written."""

    def __init__(self, header: Header, table: pa.Table) -> None:
        self._header = header
        self._plan = replace(
            header.plan, cuts={(column, share): cut for column, share, cut in header.cuts}
        )
        parts = table["part"].combine_chunks().dictionary_encode()
        self._parts = {
            part: table.filter(pc.equal(table["part"], part)).combine_chunks()
            for part in parts.dictionary.to_pylist()
        }
        self._empty = table.slice(0, 0)

    def counts(self) -> Counts:
        """All that was written."""
        header, plan = self._header, self._plan
        counts = self._cells(_CELLS, plan, header.side)
        levels = {key: counts.keys[number].levels for number, key in enumerate(plan.keys)}
        levels |= dict(header.table_levels)
        beside = {name: plan.beside(name) for name in header.candidates}
        return replace(
            counts,
            scores={column: self._scores(column, counts.keys) for column in plan.scores},
            medians=header.medians,
            amounts=self._amounts(plan),
            searched=None
            if plan.search is None
            else RawSearch(
                {
                    name: self._cells(_name("search", name), beside[name], side)
                    for name, side in header.candidates.items()
                },
                header.left_out,
            ),
            tables=tuple(
                self._table(number, keys, levels) for number, keys in enumerate(plan.tables)
            ),
            table_levels={key: levels[key] for key in plan.table_keys if not key.is_cut},
            hidden=header.hidden,
        )

    def _cells(self, part: str, plan: Plan, side: SideHeader) -> Counts:
        table = self._part(part)
        keys = tuple(self._key(table, key) for key in plan.keys)
        return Counts(
            plan=plan,
            keys=keys,
            kept=_ints(table, "kept"),
            rows=_ints(table, "rows"),
            people=_ints(table, "people"),
            read=side.read,
            sources=side.sources,
            route=side.route,
            weights=self._weights(table, side) if plan.weight else None,
            notices=tuple(Notice(told.text, told.subjects, told.rates) for told in side.notices),
        )

    def _part(self, name: str) -> pa.Table:
        return self._parts.get(name, self._empty)

    def _weights(self, table: pa.Table, side: SideHeader) -> RawWeights:
        sums = tuple(_digits(table, name) for name in _WEIGHTS)
        return RawWeights(sums, side.largest_weight, side.weight_errors)

    def _key(self, table: pa.Table, key: Key) -> RawKey:
        if key.is_cut:
            return RawKey(key, _ints(table, _title(key)))
        texts = table[_title(key)].combine_chunks()
        levels = unite_levels([pc.unique(texts).to_pylist()])
        return RawKey(key, _codes(texts, levels), levels)

    def _coded(self, table: pa.Table, keys: Sequence[tuple[Key, Sequence[str | None]]]) -> Ints:
        """Codes [E, K] of entries by keys with these levels."""
        columns = [
            _ints(table, _title(key))
            if key.is_cut
            else _codes(table[_title(key)].combine_chunks(), levels)
            for key, levels in keys
        ]
        return np.stack(columns, axis=1) if columns else np.zeros((len(table), 0), dtype=np.int64)

    def _amounts(self, plan: Plan) -> dict[SumName, list[int]]:
        cells = self._part(_CELLS)
        return {name: _digits(cells, _name(*name)) for name in plan.adding.sums}

    def _scores(self, column: str, keys: Sequence[RawKey]) -> RawScores:
        table = self._part(_name("bins", column))
        bins = Bins(_ints(table, "bin"), _floats(table, "low"), _floats(table, "high"))
        histograms = (
            self._histogram(column, number, grouping, bins, keys)
            for number, grouping in enumerate(self._plan.scores[column])
        )
        return RawScores(tuple(histograms), bins, self._header.shifts[column])

    def _histogram(
        self,
        column: str,
        number: int,
        grouping: Sequence[Key],
        bins: Bins,
        keys: Sequence[RawKey],
    ) -> RawHistogram:
        places = tuple(self._plan.keys.index(key) for key in grouping)
        coded = [(keys[place].key, keys[place].levels) for place in places]
        entries = self._part(_name("score", column, number))
        cells = self._part(_name("score range", column, number))
        has_sums = not len(cells) or not cells[_MOMENTS[0]].null_count
        return RawHistogram(
            keys=places,
            codes=self._coded(entries, coded),
            bins=np.searchsorted(bins.codes, _ints(entries, "bin")),
            people=_ints(entries, "people"),
            cells=self._coded(cells, coded),
            low=_floats(cells, "low"),
            high=_floats(cells, "high"),
            sums=tuple(_digits(cells, name) for name in _MOMENTS) if has_sums else None,
        )

    def _table(
        self, number: int, keys: tuple[Key, ...], levels: Mapping[Key, Sequence[str | None]]
    ) -> RawTable:
        table = self._part(_name("table", number))
        codes = self._coded(table, [(key, levels.get(key, ())) for key in keys])
        return RawTable(keys, codes, _ints(table, "people"))


def _ints(table: pa.Table, name: str) -> Ints:
    return np.asarray(table[name].combine_chunks().cast(pa.int64()), dtype=np.int64)


def _floats(table: pa.Table, name: str) -> Floats:
    return np.asarray(table[name].combine_chunks(), dtype=np.float64)


def _digits(table: pa.Table, name: str) -> list[int]:
    """Whole numbers of any size; none where no part of the file has the column."""
    has_column = name in table.column_names and not table[name].null_count
    return [int(text) for text in table[name].to_pylist()] if has_column else []


def _codes(texts: pa.Array, levels: Sequence[str | None]) -> Ints:
    """The place of each text among the levels; `KeyError` where it is none of them."""
    place = {level: code for code, level in enumerate(levels)}
    encoded = texts.dictionary_encode(null_encoding="encode")
    lookup = np.array([place[text] for text in encoded.dictionary.to_pylist()], dtype=np.int64)
    return lookup[np.asarray(encoded.indices)] if len(lookup) else np.zeros(0, dtype=np.int64)


def add(paths: Sequence[Path], *, repeated: bool = False) -> Counts:
    """The counts of several files as one.

    Raises `DataError` for counts of other plans, and where a data file was counted twice, unless
    `repeated` says that this is meant.
    """
    total = read(paths[0])
    for path in paths[1:]:
        part = read(path)
        refuse_other_plans(total.plan, part.plan, path, paths[0])
        if not repeated:
            refuse_twice(total.sources, part.sources, path)
        total = (total + part).compact()
    return total


def hash_sources(counts: Counts, paths: Sequence[Path]) -> Counts:
    """The counts with the SHA-256 of each of their files, which lie at these paths.

    Of counts whose small cells are hidden it is of what is left: that of the data would tell
    whoever tries all that might have been there.
    """
    if counts.hidden:
        content = write(replace(counts, sources=(), route=""))
        hashes = [
            hashlib.sha256(b"%d\0" % number + content).hexdigest()
            for number in range(len(counts.sources))
        ]
    else:
        hashes = [*map(hash_file, paths)]
    sources = tuple(
        replace(source, sha256=sha256)
        for source, sha256 in zip(counts.sources, hashes, strict=True)
    )
    return replace(counts, sources=sources)

"""Writes, reads and adds counts files (`.counts`, in Parquet), and hides small cells in them.

`docs/counts.md` describes the format, and what `--suppress N` (hiding small cells) protects. The
counts of several files are added if they have the same plan and different data.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import compress
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from fairaudit.base import __version__
from fairaudit.base.arrays import MOST_ROUNDING, TINY, Floats, Ints, Marks, are_small, is_small
from fairaudit.base.disclosure_marks import Notice, NoticeRate, Subjects
from fairaudit.base.errors import DataError, UsageError
from fairaudit.base.frozen import Frozen, astuple, field_names, replace
from fairaudit.base.names import copied
from fairaudit.counting.columns import Cut
from fairaudit.counting.counts import CountedFile, Counts, HiddenCells, Median, RawWeights
from fairaudit.counting.plan import Key, Plan
from fairaudit.counting.raw_counts import RawHistogram, RawKey, RawScores, RawTable, unite_levels
from fairaudit.counting.sources import open_bytes
from fairaudit.cube.histogram import Bins

_HEADER = b"fairaudit.counts"
_CELLS = "cells"
_WEIGHTS = ("weight", "weight_fine", "square", "square_fine")
_MOMENTS = ("n", "total", "roots", "squares")

VERSION = 4
"""The version of the format; a file of another version cannot be read."""


class StoredNotice(Frozen):
    """A notice, with the fields that decide whether a published report may show it."""

    text: str
    subjects: Subjects
    rates: tuple[NoticeRate, ...]


class SideHeader(Frozen):
    """The fields of `Counts` that are not columns of numbers."""

    read: int
    route: str
    sources: tuple[CountedFile, ...]
    notices: tuple[StoredNotice, ...]
    largest_weight: float = 0.0
    weight_errors: tuple[float, float] = (0.0, 0.0)
    repeated: int = 0


class Header(Frozen):
    """The header of a counts file; `digest` is a hash of the header and all columns.

    `shifts` has the number of bits by which the bins of each score were widened. `table_levels` are
    pairs of a key that is only in extra tables and its levels.
    """

    version: int
    made_by: str
    plan: Plan
    cuts: tuple[tuple[str, Fraction, Cut], ...]
    side: SideHeader
    shifts: dict[str, int]
    medians: dict[str, Median]
    table_levels: tuple[tuple[Key, tuple[str | None, ...]], ...]
    hidden: tuple[HiddenCells, ...] = ()
    digest: str = ""


_SHARE = re.compile(r"\d{1,400}(/0*[1-9]\d{0,400})?", re.ASCII)


def _encode_header(header: Header) -> bytes:
    return msgspec.json.encode(header, enc_hook=str)  # fractions become texts


def _read_fraction(cls: type, value: Any) -> Any:  # noqa: ANN401  # as msgspec asks
    """A share such as 1/2; other notations are refused: `1e999999` would fill the memory."""
    if not (isinstance(value, str) and _SHARE.fullmatch(value)):
        raise ValueError("not a fraction")
    return cls(value)


def write(counts: Counts) -> bytes:
    """The content of a counts file; raises `UsageError` for a plan that needs single rows."""
    if counts.plan.rows is not None:
        what = "the spec has measures of individuals; these need rows, and a counts file has none"
        raise UsageError(what, "remove these measures, or audit the data itself")
    if counts.plan.models:
        what = "the spec has strata that a model makes; this model must be fitted to all rows"
        raise UsageError(what, "remove `propensity` and `clusters`, or audit the data itself")
    counts = counts.compact()
    tables = [*_write_tables(counts)]
    weights = counts.weights
    side = SideHeader(
        read=counts.read,
        route=counts.route,
        sources=counts.sources,
        notices=tuple(
            StoredNotice(str(notice), notice.subjects, notice.rates) for notice in counts.notices
        ),
        largest_weight=0.0 if weights is None else weights.largest,
        weight_errors=(0.0, 0.0) if weights is None else weights.errors,
        repeated=counts.repeated,
    )
    header = Header(
        version=VERSION,
        made_by=f"fairaudit {__version__}",
        plan=replace(counts.plan.counted(), cuts={}),
        cuts=tuple((*quantile, cut) for quantile, cut in counts.plan.cuts.items()),
        side=side,
        shifts={column: scores.shift for column, scores in counts.scores.items()},
        medians={**counts.medians},
        table_levels=tuple(
            (key, levels)
            for key, levels in counts.table_levels.items()
            if key not in counts.plan.keys
        ),
        hidden=counts.hidden,
    )
    table = pa.concat_tables(tables, promote_options="default").combine_chunks()
    digest = _digest(_encode_header(header), table)
    metadata = {_HEADER: _encode_header(replace(header, digest=digest))}
    target = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata(metadata), target, compression="zstd")
    return bytes(target.getvalue())


def _write_tables(counts: Counts) -> Iterator[pa.Table]:
    columns = _write_keys((key, key.codes) for key in counts.keys)
    columns |= {"kept": counts.kept, "rows": counts.rows, "people": counts.people}
    if counts.weights is not None:
        weights = zip(_WEIGHTS, counts.weights.sums, strict=True)
        columns |= {name: _texts(part) for name, part in weights if part}
    columns |= {_name(*of): _texts(sums) for of, sums in counts.amounts.items()}
    yield _table(_CELLS, columns)
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
        columns = _write_keys((key, key.codes) for key in table.keys)
        yield _table(_name("table", number), columns | {"people": table.people})


def _name(kind: str, *of: str | int) -> str:
    """The name of a column or a part of the file; `of` names the data that it describes."""
    return f"{kind}:{json.dumps(of, ensure_ascii=False)}"


def _title(key: Key) -> str:
    return f"{'interval' if key.is_cut else 'level'}:{key.column}"


def _write_keys(keys: Iterable[tuple[RawKey, Ints]]) -> dict[str, Any]:
    """A column for each key. It has levels as texts (null if missing), or codes of intervals."""
    columns: dict[str, Any] = {}
    for key, codes in keys:
        if key.key.is_cut:
            columns[_title(key.key)] = codes
            continue
        levels = np.array([*key.levels, None], dtype=object)  # an array of objects in any case
        columns[_title(key.key)] = pa.array(levels[codes], pa.string())
    return columns


def _texts(numbers: Sequence[int]) -> pa.Array:
    """Integers of any size as texts of digits."""
    return pa.array(map(str, numbers), pa.string())


def _table(part: str, columns: Mapping[str, Any]) -> pa.Table:
    length = max((len(values) for values in columns.values()), default=0)
    return pa.table({"part": pa.array([part] * length, pa.string()), **columns})


def _digest(header: bytes, table: pa.Table) -> str:
    """A hash of all values in a counts file, which shows damage; the `digest` is not included.

    `header` must be the bytes from the file: an encoded set may have another order each time.
    """
    tree = {**json.loads(header), "digest": None}
    fingerprint = hashlib.sha256(json.dumps(tree, sort_keys=True).encode())
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
    """The counts in a file; raises `DataError` if the file is damaged or not a counts file."""
    name = copied(str(path))
    hint = "count the data again: fairaudit count SPEC -o part.counts"
    try:
        table = pq.read_table(pa.BufferReader(path.read_bytes()))
        header = (table.schema.metadata or {}).get(_HEADER)
        if header is None:
            raise DataError(f"{name} is not a counts file", hint)
        version = json.loads(header).get("version")
        if version != VERSION:
            what = f"{name} has version {version} of the counts format, and this program reads "
            raise DataError(f"{what}version {VERSION}", "count and audit with the same version")
        described = msgspec.json.decode(header, type=Header, dec_hook=_read_fraction)
        if _digest(header, table.combine_chunks()) != described.digest:
            raise DataError(f"{name} is damaged: the fingerprint does not match", hint)
        return _read_counts(described, table)
    except OSError as error:
        raise DataError(f"{name}: {error.strerror or error}", "check the path") from error
    except (
        pa.ArrowException, msgspec.MsgspecError, ValueError, KeyError, TypeError, AttributeError,
        RecursionError,
    ) as error:  # fmt: skip
        raise DataError(f"{name} is damaged or not a counts file", hint) from error


def _read_counts(header: Header, table: pa.Table) -> Counts:
    """The counts from a header and columns whose digest was checked."""
    side, cuts = header.side, {(column, share): cut for column, share, cut in header.cuts}
    plan = replace(header.plan, cuts=cuts)
    parts = {
        part: table.filter(pc.equal(table["part"], part)).combine_chunks()
        for part in pc.unique(table["part"]).to_pylist()
    }

    def find(kind: str, *of: str | int) -> pa.Table:
        return parts.get(_name(kind, *of) if of else kind, table.slice(0, 0))

    cells = find(_CELLS)
    keys = tuple(_read_key(cells, key) for key in plan.keys)
    levels = {key.key: key.levels for key in keys} | dict(header.table_levels)
    sums = tuple(_digits(cells, name) for name in _WEIGHTS)
    weights = RawWeights(sums, side.largest_weight, side.weight_errors)
    tables = []
    for number, table_keys in enumerate(plan.tables):
        own = find("table", number)
        raw_keys = tuple(_read_key(own, key, levels.get(key, ())) for key in table_keys)
        tables.append(RawTable(raw_keys, _ints(own, "people")))
    scores = {}
    for column, groupings in plan.scores.items():
        of_bins = find("bins", column)
        bins = Bins(_ints(of_bins, "bin"), _floats(of_bins, "low"), _floats(of_bins, "high"))
        histograms = []
        for number, grouping in enumerate(groupings):
            entries, ranges = (find(k, column, number) for k in ("score", "score range"))
            has_sums = not len(ranges) or not ranges[_MOMENTS[0]].null_count
            histogram = RawHistogram(
                keys=tuple(map(plan.keys.index, grouping)),
                codes=_read_codes(entries, grouping, levels),
                bins=np.searchsorted(bins.codes, _ints(entries, "bin")),
                people=_ints(entries, "people"),
                cells=_read_codes(ranges, grouping, levels),
                low=_floats(ranges, "low"),
                high=_floats(ranges, "high"),
                sums=tuple(_digits(ranges, name) for name in _MOMENTS) if has_sums else None,
            )
            histograms.append(histogram)
        scores[column] = RawScores(tuple(histograms), bins, header.shifts[column])
    return Counts(
        plan=plan,
        keys=keys,
        kept=_ints(cells, "kept"),
        rows=_ints(cells, "rows"),
        people=_ints(cells, "people"),
        read=side.read,
        sources=side.sources,
        route=side.route,
        weights=weights if plan.weight else None,
        scores=scores,
        medians=header.medians,
        amounts={name: _digits(cells, _name(*name)) for name in plan.adding.sums},
        notices=tuple(Notice(told.text, told.subjects, told.rates) for told in side.notices),
        tables=tuple(tables),
        hidden=header.hidden,
        repeated=side.repeated,
    )


def _read_codes(
    table: pa.Table, keys: Sequence[Key], levels: Mapping[Key, Sequence[str | None]]
) -> Ints:
    """The codes [E, K] of E entries of a table for K keys: indexes in the `levels` of the key."""
    columns = [_read_key(table, key, levels.get(key, ())).codes for key in keys]
    return np.stack(columns, axis=1) if columns else np.zeros((len(table), 0), dtype=np.int64)


def _read_key(table: pa.Table, key: Key, known: Sequence[str | None] | None = None) -> RawKey:
    """A key with the `known` levels (None: the levels that occur); `KeyError` for other levels."""
    if key.is_cut:
        return RawKey(key, _ints(table, _title(key)))
    texts = table[_title(key)].combine_chunks().dictionary_encode(null_encoding="encode")
    found = texts.dictionary.to_pylist()
    levels = unite_levels([found]) if known is None else tuple(known)
    place = {level: code for code, level in enumerate(levels)}
    lookup = np.array([place[text] for text in found], dtype=np.int64)
    codes = lookup[np.asarray(texts.indices)] if len(lookup) else np.zeros(0, dtype=np.int64)
    return RawKey(key, codes, levels)


def _ints(table: pa.Table, name: str) -> Ints:
    return np.asarray(table[name].combine_chunks().cast(pa.int64()), dtype=np.int64)


def _floats(table: pa.Table, name: str) -> Floats:
    return np.asarray(table[name].combine_chunks(), dtype=np.float64)


def _digits(table: pa.Table, name: str) -> list[int]:
    """The integers in a column of digits; empty if the column is missing or has nulls."""
    has_column = name in table.column_names and not table[name].null_count
    return [int(text) for text in table[name].to_pylist()] if has_column else []


def add(paths: Sequence[Path], *, repeated: bool = False) -> Counts:
    """The sum of the counts in several files.

    Raises `DataError` if the files have different plans, or if a data file was counted twice and
    `repeated` is false.
    """
    total = read(paths[0])
    for path in paths[1:]:
        part = read(path)
        own, other = total.plan.counted(), part.plan.counted()
        if own != other:
            pairs = zip(field_names(Plan), astuple(own), astuple(other), strict=True)
            names = [name for name, first, second in pairs if first != second]
            what = f"{copied(str(path))} and {copied(str(paths[0]))} count differently"
            hint = "count both parts with the same spec"
            if "cuts" in names:
                hint = (
                    "each part has its own quantiles: write the edges in the spec, `bins: [30, 50]`"
                )
            raise DataError(f"{what}: {', '.join(names)}", hint)
        # If small cells are hidden, hashes are not hashes of the data: compare path and time.
        known = {source.sha256: source.file.path for source in total.sources if source.sha256}
        written = {(source.file.path, source.file.modified): source for source in total.sources}
        for source in () if repeated else part.sources:
            file = source.file
            same = written.get((file.path, file.modified))
            is_hidden = same is not None and None in {same.records, source.records}
            if source.sha256 in known or (is_hidden and file.modified is not None):
                earlier = known.get(source.sha256 or "", file.path)
                why = "the same content" if source.sha256 in known else "the same path and time"
                raise DataError(
                    f"{copied(str(path))}: {file.path} is already counted, as {earlier}: {why}",
                    "remove one; if they are equal by chance, use merge --repeated, or "
                    "`repeated_files: allow`",
                )
        total = (total + part).compact()
    return total


def hash_sources(counts: Counts, paths: Sequence[Path]) -> Counts:
    """The counts with the SHA-256 of each data file; `paths` are the paths of these files.

    If small cells are hidden, the hashes are computed from the cells that are left. With hashes of
    the data, a reader could find the hidden cells by trying all possible values.
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


def hash_file(path: Path) -> str:
    """The SHA-256 of the content of a file; a compressed text file is decompressed first."""
    with open_bytes(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def refuse_single_people(plan: Plan) -> None:
    """Raises `UsageError` if a plan asks for counts in which small cells cannot be hidden.

    A cluster, or a bin of a score, may have only one or two people. The difference between an extra
    table and the cells shows the people in hidden cells.
    """
    reasons = {
        "scores": any(plan.scores.values()) and "the score of each person",
        "clusters": plan.cluster and "each cluster by its name",
        "cuts": plan.cuts and "a quantile, which is a value of one person",
        "tables": plan.tables and "extra tables, from which the cells can be computed",
    }
    kept = [reason for reason in reasons.values() if reason]
    if kept:
        raise UsageError(
            f"the spec asks for {', '.join(kept)}; --suppress cannot hide small counts in these "
            "results",
            "remove these measures, or count without --suppress for readers who may see all counts",
        )


def hide_small_cells(counts: Counts, below: int) -> Counts:
    """The counts without the cells of 1 to `below` - 1 people, and without cells that reveal them.

    A reader may know the number of people in all hidden cells, and that each hidden cell has at
    least one person. If the reader can conclude that the largest hidden cell has fewer than `below`
    people, the smallest other cells are hidden as well (all cells of the same size). Raises
    `DataError` if the data has fewer than `below` people.
    """
    counts = counts.compact()
    refuse_single_people(counts.plan)
    gone = are_small(counts.people, below)
    while gone.any() and counts.people[gone].sum() - (gone.sum() - 1) < below:
        others = ~gone & (counts.people > 0)
        if not others.any():
            break  # every cell is hidden
        gone |= counts.people == counts.people[others].min()
    stays = np.asarray(~gone)
    people = int(counts.people[gone].sum())
    if is_small(people, below):
        raise DataError(
            f"the data has fewer than {below:,} people: their total, too, is a small count, which "
            "must be hidden",
            "do not send counts of these people",
        )
    few = counts.repeated if is_small(counts.repeated, below) else 0
    hidden = HiddenCells(below, int(counts.file_rows[gone].sum()), people)
    return replace(
        counts,
        keys=tuple(replace(key, codes=key.codes[stays]) for key in counts.keys),
        kept=counts.kept[stays],
        rows=counts.rows[stays],
        people=counts.people[stays],
        weights=counts.weights and _choose_weights(counts.weights, stays),
        amounts={name: [*compress(sums, stays.tolist())] for name, sums in counts.amounts.items()},
        # A small number of repeated rows is not reported.
        read=counts.read - few,
        repeated=counts.repeated - few,
        scores={},
        medians={},
        hidden=(hidden,) if people else (),
        notices=tuple(note for note in counts.notices if note.subjects is Subjects.NOBODY),
        # The size and the records of a file show the number of people; a hash can confirm a guess.
        sources=tuple(
            replace(
                source,
                file=replace(source.file, bytes=None, lines=None),
                records=None if source.records else 0,
                sha256=None,
            )
            for source in counts.sources
        ),
    )


def _choose_weights(weights: RawWeights, stays: Marks) -> RawWeights:
    """The weights of the cells that `stays` marks, without the largest weight.

    The largest weight may be the weight of a single person. It is replaced by a number that only
    says whether all weights are tiny. The sums of tiny weights are kept only if all weights are
    tiny. Otherwise these sums may describe few people, and no report uses them.
    """
    is_tiny = 0 < weights.largest < TINY
    largest = TINY / 2 if is_tiny else float(weights.largest > 0)
    sums = (
        [*compress(values if is_tiny or not is_fine else [0] * len(values), stays.tolist())]
        for values, is_fine in zip(weights.sums, (False, True, False, True), strict=True)
    )
    return RawWeights(tuple(sums), largest, MOST_ROUNDING)

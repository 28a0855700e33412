"""Candidate columns of the reversal search: those of few levels; why others are left out.

The first rows choose them, read by pyarrow alone where all files are Parquet: that spares the start
of Polars, a third of a small audit. Who has more levels later is left out then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from fairaudit.base.frozen import replace
from fairaudit.counting.plan import CandidateSearch, Plan
from fairaudit.counting.sources.column_checks import filter_columns
from fairaudit.counting.sources.sources import CheckedFile, SourceFile
from fairaudit.cube import UNKNOWN

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

    from fairaudit.counting.sources.batches import Batch

MOST_LEVELS = 50
"""A column of more levels is no condition that people are alike in."""

FIRST_ROWS = 50_000
"""So many rows choose the candidates; who has more levels later is left out then."""

TOO_MANY = f"over {MOST_LEVELS} levels"


def _fitness(
    plan: Plan, search: CandidateSearch, headers: Sequence[Sequence[str]]
) -> dict[str, str | None]:
    """Why each column can be no candidate, whatever it holds; None where it may be one.

    Columns that the spec names, be it in its filter, are not there at all.
    """
    repeated = {name for header in headers for name, times in Counter(header).items() if times > 1}
    every = dict.fromkeys(name for header in headers for name in header)

    named = {*search.taken, *filter_columns(plan)}

    def why(name: str) -> str | None:
        if not name.strip():
            return "no name"
        if name in search.names:
            return "a name of something else here"
        if name in repeated:
            return "several columns of that name"
        return None if all(name in header for header in headers) else "not in every file"

    return {name: why(name) for name in every if name not in named}


def _with_candidates(
    plan: Plan, search: CandidateSearch, fit: Mapping[str, str | None], few: Collection[str]
) -> Plan:
    """The plan with its candidates: of the columns that fit, those of few levels."""
    left_out = {name: why or TOO_MANY for name, why in fit.items() if why or name not in few}
    candidates = tuple(name for name in fit if name not in left_out)
    return replace(plan, search=replace(search, candidates=candidates, left_out=left_out))


def why_dropped(
    search: CandidateSearch, levels: Mapping[str, Iterable[str | None]]
) -> dict[str, str]:
    """Why candidates are none in the end, by the levels that all rows have; None: it was given up.

    Missing values are no level.
    """
    reasons = {}
    for name in search.candidates:
        known = {level for level in levels.get(name, ()) if level is not None}
        if name not in levels or len(known) > MOST_LEVELS:
            reasons[name] = f"{TOO_MANY}, though not in the first {FIRST_ROWS:,} rows"
        elif len(known) < 2:  # one level makes no condition
            reasons[name] = "one level alone" if known else "no value at all"
        elif UNKNOWN in known:
            reasons[name] = f"a level {UNKNOWN!r}, the name of those who are not known"
    return reasons


def choose_in_files(plan: Plan, ready: Sequence[CheckedFile]) -> Plan:
    """The plan with the candidates of its search, where it has one, by the first rows of files."""
    if plan.search is None:
        return plan
    sources = [checked.source for checked in ready]
    headers = [file.header for file in sources]
    if not plan.filter and all(file.layout is not None for file in sources):
        fit = _fitness(plan, plan.search, headers)
        names = [name for name, why in fit.items() if why is None]
        few = _of_few_levels(names, sources, plan.tokens)
        if few is not None:
            return _with_candidates(plan, plan.search, fit, few)
    from fairaudit.counting.sources.batches import batches

    return choose(batches(sources, plan.format.separator), plan, headers)


def choose(batches: Sequence[Batch], plan: Plan, headers: Sequence[Sequence[str]]) -> Plan:
    """The plan with the candidates of its search, by the first rows of the batches.

    `headers` are those of the files, in which a column may stand twice.
    """
    from fairaudit.counting.routes.polars_numbers import has_levels

    if plan.search is None:
        return plan
    fit = _fitness(plan, plan.search, headers)
    for name in [name for name, why in fit.items() if why is None]:
        kinds = [batch.schema[name] for batch in batches if not has_levels(batch.schema[name])]
        fit[name] = f"{kinds[0]} has no levels" if kinds else None
    names = [name for name, why in fit.items() if why is None]
    few = _with_few_levels(names, batches, plan.tokens)
    return _with_candidates(plan, plan.search, fit, few)


def _with_few_levels(
    names: Sequence[str], batches: Sequence[Batch], tokens: Sequence[str]
) -> list[str]:
    """The columns that have few levels in the first rows."""
    from fairaudit.counting.sources.batches import collect

    levels: dict[str, set[str]] = {name: set() for name in names}
    for batch in batches:
        remaining = [name for name in names if len(levels[name]) <= MOST_LEVELS]
        if remaining:
            first = collect(batch.frame.select(remaining).head(FIRST_ROWS), batch)
            for name in remaining:
                levels[name] |= _levels(first[name], tokens)
    return [name for name in names if len(levels[name]) <= MOST_LEVELS]


def _levels(column: pl.Series, tokens: Sequence[str]) -> set[str]:
    """The levels of a column, missing ones left out; of very many, some."""
    from fairaudit.counting.routes.polars_numbers import texts_of

    different = column.unique().head(MOST_LEVELS + len(tokens) + 3)
    return {level for level in texts_of(different, column.name).to_list() if level} - {*tokens}


def _of_few_levels(
    names: Sequence[str], sources: Sequence[SourceFile], tokens: Sequence[str]
) -> list[str] | None:
    """The columns that have few levels in the first rows; None where this cannot tell."""
    import pyarrow as pa

    missing = {"", *tokens}
    levels: dict[str, set[str]] = {name: set() for name in names}
    try:
        for file in sources:
            remaining = [name for name in names if len(levels[name]) <= MOST_LEVELS]
            for batch in _first(file, remaining):
                for name, column in zip(batch.schema.names, batch.columns, strict=True):
                    different = _different(column, MOST_LEVELS + len(missing))
                    if different is None:
                        return None
                    levels[name] |= different - missing
    except (pa.ArrowException, OSError, LookupError, UnicodeDecodeError):
        return None
    return [name for name in names if len(levels[name]) <= MOST_LEVELS]


def _different(column: pa.Array, most: int) -> set[str] | None:
    """The levels of a column without missing ones; of more than `most`, some.

    None where Polars writes them otherwise: dates, and numbers with decimals where they are few.
    """
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    is_decimal = pa.types.is_floating(kind)
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if not (is_text or is_decimal or pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
        return None
    different = column.unique().drop_null()
    if is_decimal and len(different) <= most + 1:  # NaN is missing, too
        return None
    return set(different.slice(0, most + 2).cast(pa.string()).to_pylist())


def _first(file: SourceFile, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The first rows of a file, in these columns."""
    import pyarrow.parquet as pq

    if not names:
        return
    remaining = FIRST_ROWS
    with pq.ParquetFile(file.path, pre_buffer=False) as opened:
        for batch in opened.iter_batches(FIRST_ROWS, columns=names, use_threads=False):
            yield batch.slice(0, remaining)
            remaining -= batch.num_rows
            if remaining <= 0:
                return

"""Which columns of Parquet files have few levels in their first rows, told by pyarrow alone.

Where that serves, the start of another library, a third of a small audit, is spared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from fairaudit.engine.codes import NotServed, different
from fairaudit.engine.search import FIRST_ROWS, MOST_LEVELS
from fairaudit.engine.sources import Source


def of_few_levels(
    names: Sequence[str], sources: Sequence[Source], tokens: Sequence[str]
) -> list[str] | None:
    """The columns that have few levels in the first rows; None where this cannot tell."""
    missing = {"", *tokens}
    found: dict[str, set[str]] = {name: set() for name in names}
    try:
        for one in sources:
            left = [name for name in names if len(found[name]) <= MOST_LEVELS]
            for batch in _first(one, left):
                for name, column in zip(batch.schema.names, batch.columns, strict=True):
                    found[name] |= different(column, MOST_LEVELS + len(missing)) - missing
    except (NotServed, pa.ArrowException, OSError, LookupError, UnicodeDecodeError):
        return None
    return [name for name in names if len(found[name]) <= MOST_LEVELS]


def _first(one: Source, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The first rows of a file, in these columns."""
    if not names:
        return
    left = FIRST_ROWS
    with pq.ParquetFile(one.path, read_dictionary=names, pre_buffer=False) as opened:
        for batch in opened.iter_batches(FIRST_ROWS, columns=names, use_threads=False):
            yield batch.slice(0, left)
            left -= batch.num_rows
            if left <= 0:
                return

"""Columns of one name: read as one where they are equal in every row, else refused with the row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from fairaudit.engine.columns import columns_read
from fairaudit.engine.sources import SourceFile
from fairaudit.errors import DataError
from fairaudit.names import quoted
from fairaudit.plan import Plan

_HINT = "rename one of them in the data"


def find_repeated(header: Sequence[str], needed: Iterable[str]) -> Mapping[str, list[int]]:
    """The places of each needed column whose name stands more than once in a header."""
    times = Counter(header)
    return {
        name: [place for place, other in enumerate(header) if other == name]
        for name in sorted({*needed})
        if times[name] > 1
    }


def check_repeated(plan: Plan, file: SourceFile, checked: SourceFile) -> None:
    """Refuses columns of one name in a CSV file that differ; `checked` is the copy that is read."""
    repeated = find_repeated(file.header, columns_read([plan], file.header))
    if not repeated or file.layout is not None:
        return
    names = [str(place) for place in range(len(file.header))]
    frame = pl.scan_csv(
        checked.path,
        separator=plan.format.separator,
        infer_schema=False,
        glob=False,
        with_column_names=lambda _: names,
    )
    for name, places in repeated.items():
        row = find_difference(frame.select(str(place) for place in places).fill_null(""))
        if row is not None:
            line = file.reader.find_line(file, plan.format, row)
            raise refuse(name, f"{file.file.path}:{line}")


def find_difference(frame: pl.LazyFrame) -> int | None:
    """The first row (from 1) whose values are not all equal; None where all are."""
    first, *others = frame.collect_schema().names()
    is_unequal = pl.any_horizontal(pl.col(first).ne_missing(pl.col(name)) for name in others)
    rows = frame.with_row_index("row", offset=1).filter(is_unequal).select("row").head(1)
    row = rows.collect()
    return int(row.item()) if row.height else None


def refuse(name: str, spot: str) -> DataError:
    """The error of columns of one name that differ; the values of a row are not told."""
    return DataError(
        f"{spot}: several columns are named {quoted(name)}, and differ in this row first",
        "rename one of them in the data",
    )

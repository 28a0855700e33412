"""The table of groups as Parquet, for programs: typed by its schema, texts as they are."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyarrow import parquet

from fairaudit.report import tables
from fairaudit.report.tables import Column, Kind
from fairaudit.result import Answer

_TYPES = {Kind.TEXT: pa.string(), Kind.WHOLE: pa.int64(), Kind.NUMBER: pa.float64()}


def render(answers: Sequence[Answer]) -> bytes:
    """The groups of all answers as a Parquet file; of errors alone, its schema and no row."""
    found = tables.columns(answers)
    schema = pa.schema([(_utf8(one.name), _TYPES[one.kind]) for one in found])
    arrays = [pa.array(_values(one), type=_TYPES[one.kind]) for one in found]
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.table(arrays, schema=schema), sink, compression="zstd")
    written: bytes = sink.getvalue().to_pybytes()
    return written


def _values(one: Column) -> Sequence[object]:
    if one.kind is not Kind.TEXT:
        return one.values
    return [_utf8(value) if isinstance(value, str) else None for value in one.values]


def _utf8(text: str) -> str:
    """The text; the name of a file may hold bytes that are no UTF-8, and they are spelled out."""
    return text.encode("utf-8", "backslashreplace").decode()

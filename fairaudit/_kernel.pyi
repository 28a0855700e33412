from collections.abc import Sequence
from typing import Any

from typing_extensions import Buffer

def first_header(content: Buffer, /) -> tuple[int | bool | None, ...]: ...
def check_pages(
    chunk: Buffer, values: int, width: int, repeats: bool, /
) -> list[tuple[int, int, int]] | None: ...
def value_pages(
    chunk: Buffer, is_optional: bool, is_packed: bool, /
) -> tuple[bytes, bytes, int] | None: ...
def thrift_struct(content: Buffer, /) -> dict[int, Any] | None: ...
def count_parquet(
    columns: Sequence[tuple[object, ...]],
    measure: tuple[object, ...] | None,
    rows: int,
    cells: Buffer,
    /,
) -> tuple[float, float] | None: ...
def csv_table(
    separator: int,
    fields: int,
    columns: tuple[int, ...],
    number: tuple[int, int, bool] | tuple[()],
    is_scalar: int,
    /,
) -> object: ...
def count_csv(table: object, buffer: Buffer, end: int, /) -> int | None: ...
def csv_counts(
    table: object, /
) -> tuple[list[list[bytes | None]], bytes, bytes, bytes, float, float]: ...

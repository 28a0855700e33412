"""Write files of invented mortgage applications, as large as one likes, in constant memory.

Equal arguments give equal rows however many files they are spread over, and the first rows of a
longer file are those of a shorter one.

    python generate.py --rows 1e6 --out loans.parquet
    python generate.py --rows 1e7 --format csv --compression gz --out loans.csv.gz
    python generate.py --rows 1e8 --files 50 --no-payload --out loans
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from applicants import CHUNK, Applicants


class Writer(Protocol):
    """What takes one table after the other."""

    def write_table(self, table: pa.Table) -> None:
        """Append a table."""

    def close(self) -> None:
        """Finish the file."""


def chunks(rows: int, make: Callable[[int], pa.Table], threads: int = 2) -> Iterator[pa.Table]:
    """All rows in order, a chunk at a time; the next ones are drawn meanwhile."""
    count = -(-rows // CHUNK)
    waiting: deque[Future[pa.Table]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for number in range(count):
            waiting.append(pool.submit(make, number))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while len(waiting) > 1:
            yield waiting.popleft().result()
        yield waiting.popleft().result().slice(0, rows - (count - 1) * CHUNK)


def write(tables: Iterator[pa.Table], ends: Sequence[int], opened: Callable[[int], Writer]) -> None:
    """Spread the rows over files; file `i` ends before row `ends[i]`."""
    start, table = 0, next(tables)
    for number, end in enumerate(ends):
        with contextlib.closing(opened(number)) as writer:
            while start < end:
                if not len(table):
                    table = next(tables)
                piece = table.slice(0, end - start)
                writer.write_table(piece)
                start += len(piece)
                table = table.slice(len(piece))


def parquet_writer(path: Path, schema: pa.Schema, compression: str) -> Writer:
    """A Parquet file of plain texts, stored by dictionary, a row group for each chunk."""
    keys = [field.name for field in schema if pa.types.is_dictionary(field.type)]
    writer: Writer = pa.parquet.ParquetWriter(
        path,
        schema,
        compression=compression,
        use_dictionary=[*keys, "weight"],
        # Without the Arrow schema the columns are texts to every reader, not categories.
        store_schema=False,
    )
    return writer


class _Csv:
    """A CSV file, packed on the way if asked."""

    def __init__(self, path: Path, schema: pa.Schema, compression: str, quotes: str) -> None:
        self._files = contextlib.ExitStack()
        stream = self._files.enter_context(path.open("wb"))
        packed = gzip.GzipFile("", "wb", 6, stream, mtime=0) if compression == "gz" else None
        sink = stream if packed is None else self._files.enter_context(packed)
        style = pa.csv.WriteOptions(quoting_style=quotes, quoting_header=quotes)
        writer = pa.csv.CSVWriter(sink, schema, write_options=style)
        self._writer = self._files.enter_context(writer)

    def write_table(self, table: pa.Table) -> None:
        """Append a table."""
        self._writer.write_table(table)

    def close(self) -> None:
        """Finish the file."""
        self._files.close()


def _whole(text: str) -> int:
    """A number of rows; 1e8 is one."""
    number = float(text)
    if number != int(number) or number < 1:
        raise argparse.ArgumentTypeError("expected a whole number from 1")
    return int(number)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Write invented mortgage applications.")
    parser.add_argument("--rows", type=_whole, required=True, help="such as 1e6")
    parser.add_argument("--seed", type=int, default=2022)
    parser.add_argument("--format", choices=("parquet", "csv"), default="parquet")
    parser.add_argument("--compression", choices=("zstd", "snappy", "gz", "none"))
    parser.add_argument("--files", type=int, choices=(1, 50), default=1)
    parser.add_argument("--payload", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--quoted", action="store_true", help="quote every text of a CSV file")
    parser.add_argument("--out", type=Path, required=True, help="a file, or a folder of 50")
    arguments = parser.parse_args()
    usual = {"parquet": ("zstd", "snappy"), "csv": ("none", "gz")}[arguments.format]
    arguments.compression = arguments.compression or usual[0]
    if arguments.compression not in usual:
        parser.error(f"{arguments.format} files are packed as {' or '.join(usual)}")
    return arguments


def _suffix(form: str, compression: str) -> str:
    return f".{form}.gz" if compression == "gz" else f".{form}"


def main() -> None:
    """Write the files that the command line asks for."""
    asked = _arguments()
    applicants = Applicants(asked.seed, payload=asked.payload)
    schema = applicants.chunk(0).schema
    if asked.files > 1:
        asked.out.mkdir(parents=True, exist_ok=True)

    def opened(number: int) -> Writer:
        suffix = _suffix(asked.format, asked.compression)
        path = asked.out if asked.files == 1 else asked.out / f"part-{number:02d}{suffix}"
        if asked.format == "parquet":
            return parquet_writer(path, schema, asked.compression)
        return _Csv(path, schema, asked.compression, "needed" if asked.quoted else "none")

    ends = [(number + 1) * asked.rows // asked.files for number in range(asked.files)]
    write(chunks(asked.rows, applicants.chunk), ends, opened)


if __name__ == "__main__":
    main()

"""Damaged Parquet files, audited by every reader of a column, in a process that may die of them.

Run as `python broken_parquet.py FOLDER FIRST LAST`: audits the tries FIRST to LAST, and prints the
number of each before it begins, so that who started it knows which file killed it.
"""

from __future__ import annotations

import io
import random
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import fairaudit
from fairaudit.base.errors import FairauditError
from fairaudit.counting.sources import parquet

ROWS = 240
SLOW = 20.0
"""So many seconds of processor time for one small file are as good as a death."""


def _columns(chance: random.Random) -> dict[str, list[Any]]:
    """Texts, numbers, truths and nothing, by chance."""
    return {
        "race": [chance.choice(["a", "b", "c", None]) for _ in range(ROWS)],
        "age": [chance.choice([20, 30, 40, None]) for _ in range(ROWS)],
        "y": [chance.choice(["yes", "no"]) for _ in range(ROWS)],
        "score": [chance.random() for _ in range(ROWS)],
        "n": [chance.randint(1, 9) for _ in range(ROWS)],
        "w": [chance.random() + 0.5 for _ in range(ROWS)],
        "site": [chance.choice(["north", "south"]) for _ in range(ROWS)],
        "flag": [chance.random() < 0.5 for _ in range(ROWS)],
    }


_KEY = {"protected": ["race"], "decision": {"column": "y", "positive": "yes"}}
READERS: dict[str, dict[str, Any]] = {
    "codes": {"columns": _KEY},
    "filter": {"columns": _KEY, "filter": "age > 20 and site = 'north'"},
    "count": {"columns": {**_KEY, "count": "n"}},
    "weight": {"columns": {**_KEY, "weight": "w"}},
    "cuts": {"columns": {**_KEY, "protected": {"age": {"bins": [25, 35]}}}},
    "score": {"columns": {**_KEY, "score": "score"}},
    "numbers": {"columns": {**_KEY, "numbers": {"points": "score"}}},
    "strata": {"columns": {**_KEY, "strata": ["site", "flag"]}},
    "quantiles": {"columns": {**_KEY, "strata": {"score": {"quantiles": 4}}}},
    "cluster": {"columns": {**_KEY, "cluster": "site"}},
}
"""A spec for each way that a column is read."""


def _written(table: pa.Table, **options: Any) -> bytes:
    stream = io.BytesIO()
    pq.write_table(table, stream, **options)
    return stream.getvalue()


@cache
def files() -> tuple[bytes, ...]:
    """Sound files of several writers, codecs, encodings, page versions and row groups."""
    table = pa.table(_columns(random.Random(0)))
    texts = ["race", "y", "site"]
    delta = {**dict.fromkeys(texts, "DELTA_BYTE_ARRAY"), "n": "DELTA_BINARY_PACKED"}
    split = {"score": "BYTE_STREAM_SPLIT", "site": "DELTA_LENGTH_BYTE_ARRAY"}
    made = [
        _written(table),
        _written(table, compression="none"),
        _written(table, compression="zstd", data_page_version="2.0", row_group_size=100),
        _written(table, compression="none", data_page_version="2.0", data_page_size=64),
        _written(table, compression="none", use_dictionary=False),
        _written(table, compression="none", use_dictionary=False, column_encoding=delta),
        _written(table, compression="gzip", use_dictionary=False, column_encoding=split),
        _written(table, write_page_checksum=True, write_page_index=True, row_group_size=60),
        _written(table, compression="none", write_page_checksum=True),
        _written(table.append_column("deep", pa.array([[1, 2], []] * (ROWS // 2)))),
    ]
    frame = pl.DataFrame(_columns(random.Random(0)))
    for rows in (None, 100):
        stream = io.BytesIO()
        frame.write_parquet(stream, compression="uncompressed", row_group_size=rows)
        made.append(stream.getvalue())
    return tuple(made)


@cache
def headers(content: bytes) -> tuple[tuple[int, int], ...]:
    """Where the headers of all pages of a sound file begin and end."""
    length = int.from_bytes(content[-8:-4], "little")
    footer: Any = parquet.read_struct(content[-8 - length : -8])[0]
    found = []
    for group in footer[4]:
        for column in group[1]:
            meta = column[3]
            at = meta.get(11) or meta[9]
            stop = at + meta[7]
            while at < stop:
                header: Any
                header, end = parquet.read_struct(content, at)
                found.append((at, end))
                at = end + header[3]
    return tuple(found)


def damaged(content: bytes, chance: random.Random) -> bytes:
    """One to four bits, bytes, numbers or runs of bytes otherwise; mostly in footer and headers."""
    found = bytearray(content)
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        size = len(found)
        first, last = chance.choice([(4, size), (footer, size), chance.choice(headers(content))])
        at = chance.randrange(min(first, size - 1), min(last, size))
        match chance.randrange(8):
            case 0 | 1 | 2:
                found[at] ^= 1 << chance.randrange(8)
            case 3:
                found[at] = chance.choice([0, 1, 0x7F, 0x80, 0xFE, 0xFF, chance.randrange(256)])
            case 4:
                _put(found, at, b"\xff\xff\xff\xff\x0f")
            case 5:
                _put(found, at, chance.randbytes(4))
            case 6:
                other = chance.randrange(4, size)
                _put(found, at, bytes(found[other : other + 6]))
            case _:
                run = found[at : at + chance.randint(1, 9)]
                found[at : at + len(run)] = b"" if chance.random() < 0.5 else run + run
    return bytes(found)


def _put(found: bytearray, at: int, some: bytes) -> None:
    """Puts bytes in the place of others, so that what stands behind keeps its own."""
    found[at : at + len(some)] = some[: len(found) - at]


def attempt(number: int) -> tuple[bytes, str]:
    """The file of a try, and who reads it."""
    chance = random.Random(number)
    return damaged(chance.choice(files()), chance), chance.choice([*READERS])


def outcome(content: bytes, reader: str, path: Path) -> str:
    """What comes of an audit: refused, counted, or what should not be."""
    path.write_bytes(content)
    started = time.process_time()
    spec = {"metrics": ["selection_rate"], **READERS[reader]}
    try:
        fairaudit.audit(spec, str(path))
    except FairauditError as error:
        found = "refused"
        if "internal error in fairaudit" in str(error):
            found = f"crashed: {error.__cause__!r}"
    except BaseException as error:  # noqa: BLE001  # whatever it is, it is told
        found = f"crashed: {type(error).__name__}: {str(error)[:200]}"
    else:
        found = "counted"
    finally:
        path.unlink()
    return found if time.process_time() - started < SLOW else f"slow: {found}"


def main(folder: str, first: int, last: int) -> None:
    """Goes through the tries, telling each and what came of it."""
    for number in range(first, last):
        _tell(f"{number} ")
        # A file of its own each time: a reader may still map the last one into memory.
        _tell(outcome(*attempt(number), Path(folder) / f"{number}.parquet") + "\n")


def _tell(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))

"""Fuzzes the kernel's Parquet in C, with sanitizers: python fuzz_parquet.py FOLDER TRIES SEED.

Seeds are the calls of the kernel for small files of every encoding, codec, version and pattern of
nulls; what ended the driver is left in FOLDER/last.
"""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fairaudit.engine import native_parquet
from fairaudit.engine.opening import begin_pass, open_file
from fairaudit.plan import Edge, Key, Plan
from fairaudit.progress import SILENT
from fairaudit.spec import CsvFormat

HERE = Path(__file__).parent
KERNEL = HERE.parents[1] / "fairaudit" / "kernel"
SOURCES = [
    HERE / "fuzz" / "driver.c",
    *(KERNEL / name for name in ("page_header.c", "runs.c", "counting.c")),
]
SANITIZED = [
    "-fsanitize=address,undefined,float-cast-overflow",
    "-fno-sanitize-recover=all",
    "-g",
    "-O1",
    "-std=c11",
]
"""What is read beyond an end, overflows or is undefined ends the process."""


TYPES = {
    "text": pa.string(),
    "number": pa.int32(),
    "truth": pa.bool_(),
    "decimal": pa.float64(),
    "weight": pa.float32(),
    "number of people": pa.int64(),
}


def build(folder: Path) -> Path:
    """The driver, compiled."""
    driver = folder / "driver"
    command = ["gcc", *SANITIZED, f"-I{KERNEL}", *map(str, SOURCES), "-o", str(driver)]
    subprocess.run(command, check=True)
    return driver


def as_input(columns: Sequence[tuple[Any, ...]], measure: Any, rows: int) -> bytes:
    """A call of `count_parquet` as the target reads it; a measure is the last column."""
    kind = 0 if measure is None else 1 + measure[2]
    parts = [bytes([1, len(columns), kind]), rows.to_bytes(2, "little")]
    if measure is not None:
        columns = [*columns, measure[0]]
    for pages, optional, terms, _null, plain_kind, base, plain, edges in columns:
        counts = min(len(terms) // 4, 255), min(len(plain) // 4, 255)
        cut = 0 if edges is None else 1 + len(edges) // 8
        parts.append(bytes([optional, *counts, plain_kind, base % 256, len(pages), cut]))
    for column in columns:
        for second, encoding, values, levels, body in column[0]:
            sizes = values, len(levels), len(body)
            parts.append(bytes([second, encoding]))
            parts += [size.to_bytes(2, "little") for size in sizes]
            parts += [bytes(levels), bytes(body)]
    return b"".join(parts)


def write_seeds(folder: Path) -> None:
    """A file of each kind, and what the kernel is given of it."""
    from fairaudit import _kernel  # noqa: PLC0415  # tests are collected where there is none, too

    folder.mkdir(exist_ok=True)
    inputs: list[bytes] = []

    def page_headers(content: bytes) -> object:
        inputs.append(b"\0" + content[:4000])
        return _kernel.page_headers(content)

    def count_parquet(
        columns: list[tuple[Any, ...]], measure: Any, rows: int, cells: Any
    ) -> object:
        small = [column for column in columns if len(column[0]) <= 4]
        if measure is None or len(measure[0][0]) <= 4:
            inputs.extend(as_input([column], measure, rows) for column in small)
            inputs.append(as_input(small[:2], measure, rows))
        return _kernel.count_parquet(columns, measure, rows, cells)

    spy = SimpleNamespace(
        page_headers=page_headers, count_parquet=count_parquet, first_header=_kernel.first_header
    )
    path = folder.parent / "seed.parquet"
    edges = tuple(map(Edge, map(Decimal, (0, 3))))
    keys = *map(Key, ("text", "number", "truth")), Key("decimal", edges)
    form = CsvFormat(",", ".", "utf-8", multiline=False)
    plans = [
        Plan(keys, (), (), form),
        Plan(keys, (), (), form, weight="weight"),
        Plan(keys, (), (), form, count="number of people"),
    ]
    kinds = itertools.product(
        ["1.0", "2.0"],
        ["none", "zstd"],
        [0, 0.1, 1],
        [1, 40],
        [True, ["text"], ["text", "weight"]],
        [60, 2**20],
    )
    for number, (version, codec, nulls, longest, coded, page) in enumerate(kinds):
        chance = random.Random(number)
        columns: dict[str, list[Any]] = {
            "text": [
                f"level {place}" for place in range(chance.choice([1, 2, 9, 30, 60, 120, 250]))
            ],
            "number": [-1, 0, 5],
            "truth": [True, False],
            "decimal": [-0.5, 1.25, 3.0, float("nan")],
        }
        rows = {
            name: [
                value
                for _ in range(400)
                for value in [None if chance.random() < nulls else chance.choice(values)]
                * chance.randint(1, longest)
            ][:400]
            for name, values in columns.items()
        }
        rows["weight"] = [chance.choice([0.5, 1.25, 700]) for _ in range(400)]
        rows["number of people"] = [chance.choice([0, 2, 1000]) for _ in range(400)]
        pq.write_table(
            pa.table({name: pa.array(rows[name], type=kind) for name, kind in TYPES.items()}),
            path,
            use_dictionary=coded,
            data_page_version=version,
            compression=codec,
            data_page_size=page,
            write_batch_size=16,
        )
        with begin_pass([path]) as copies:
            source = open_file(path, form, copies)
        for plan in plans:
            native_parquet.count(spy, {"seed": source}, plan, SILENT)  # type: ignore[arg-type]
    for number, content in enumerate(dict.fromkeys(inputs)):
        (folder / str(number)).write_bytes(content)


def main(folder: Path, tries: str, seed: str) -> str:
    """What the driver says at its end; raises an error where it had none."""
    write_seeds(folder / "seeds")
    command = [str(build(folder)), str(folder / "seeds"), tries, seed, str(folder / "last")]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.stdout.write(main(Path(sys.argv[1]), *sys.argv[2:]))

"""Fuzzes the kernel in C, under sanitizers: python tests/attacks/fuzz_kernel.py FOLDER.

`csv` and `parquet` name what is fuzzed, else both are; `--seconds` and `--tries` say how long.
Where there is clang it is by libFuzzer, which keeps its inputs in FOLDER, else by our own driver
and gcc. What ended a target is left in FOLDER.
"""

from __future__ import annotations

import argparse
import itertools
import random
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fairaudit.base.processes import SILENT
from fairaudit.counting.columns import CsvFormat
from fairaudit.counting.native import native_parquet
from fairaudit.counting.native.native_levels import NO_NULLS
from fairaudit.counting.plan import Edge, Key, Plan
from fairaudit.counting.sources import begin_pass, open_file

HERE = Path(__file__).parent
TREE = HERE.parents[1]
KERNEL = TREE / "fairaudit" / "kernel"
SANITIZERS = "address,undefined,float-cast-overflow"
COMMON = ["-fno-sanitize-recover=all", "-g", "-O1", "-std=c11", f"-I{KERNEL}"]
"""What is read beyond an end, overflows or is undefined ends the process."""

FOR_EVER = 10**18


@dataclass(frozen=True, slots=True)
class Target:
    """Which files of the kernel an input goes to, how they are built, and what writes its seeds."""

    sources: tuple[str, ...]
    options: tuple[str, ...]
    write_seeds: Callable[[Path], None]


TYPES = {
    "text": pa.string(),
    "number": pa.int32(),
    "truth": pa.bool_(),
    "decimal": pa.float64(),
    "weight": pa.float32(),
    "number of people": pa.int64(),
}


PLACE = struct.Struct("10q")


def pages_in(
    content: bytes, table: bytes, unpacked: Any
) -> Iterator[tuple[int, int, int, bytes, bytes]]:
    """The pages of a column: the version, encoding and values of each, its levels and its body."""
    for place in PLACE.iter_unpack(table):
        second, encoding, values, levels, levels_size, packed, body, size, *_ = place
        bodies = unpacked if packed else content
        yield (
            *(second, encoding, values),
            content[levels : levels + levels_size],
            bytes(bodies[body : body + size]),
        )


def as_input(columns: Sequence[tuple[Any, ...]], measure: Any, rows: int) -> bytes:
    """A call of `count_parquet` as the target reads it; a measure is the last column."""
    kind = 0 if measure is None else 1 + measure[2]
    parts = [bytes([1, len(columns), kind]), rows.to_bytes(2, "little")]
    if measure is not None:
        columns = [*columns, measure[0]]
    pages_of = [list(pages_in(*column[:3])) for column in columns]
    for pages, column in zip(pages_of, columns, strict=True):
        optional, terms, null, plain_kind, base, plain, edges = column[3:]
        counts = min(len(terms) // 4, 255), min(len(plain) // 4, 255)
        cut = 0 if edges is None else 1 + len(edges) // 8
        flags = optional | (null == NO_NULLS) << 1
        parts.append(bytes([flags, *counts, plain_kind, base % 256, len(pages), cut]))
    for second, encoding, values, levels, body in itertools.chain.from_iterable(pages_of):
        sizes = values, len(levels), len(body)
        parts.append(bytes([second, encoding]))
        parts += [size.to_bytes(2, "little") for size in sizes]
        parts += [levels, body]
    return b"".join(parts)


def write_parquet_seeds(folder: Path) -> None:
    """A file of each kind, and what the kernel is given of it."""
    from fairaudit import _kernel  # noqa: PLC0415  # tests are collected where there is none, too

    inputs: list[bytes] = []

    def value_pages(content: bytes, is_optional: bool, is_packed: bool) -> object:
        inputs.append(bytes([0, is_optional | is_packed << 1]) + content[:4000])
        return _kernel.value_pages(content, is_optional, is_packed)

    def count_parquet(
        columns: list[tuple[Any, ...]], measure: Any, rows: int, cells: Any
    ) -> object:
        few = 4 * PLACE.size
        small = [column for column in columns if len(column[1]) <= few]
        if measure is None or len(measure[0][1]) <= few:
            inputs.extend(as_input([column], measure, rows) for column in small)
            inputs.append(as_input(small[:2], measure, rows))
        return _kernel.count_parquet(columns, measure, rows, cells)

    spy = SimpleNamespace(
        value_pages=value_pages, count_parquet=count_parquet, first_header=_kernel.first_header
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


def write_csv_seeds(folder: Path) -> None:
    """The first lines of each sample in CSV, in one block or two, and records of a few kinds."""
    contents = [path.read_bytes() for path in sorted((TREE / "sample_data").glob("*.csv"))]
    contents += [b'a,b,c\nx,y,1\r\n"x, z","q""q",\n', b'"\xc3\xa4\xe2\x82\xac"\n\xf0\x9f\x98\x80\n']
    contents += [b"%d,%d\n" * 20 % (*range(40),), b"a long text of many words,z\n" * 9]
    contents += [b'1.5,a\n0.30000000000000004,b\n2e-5,"c"\n12345678901234567890,a\n3,b\n' * 3]
    for number, content in enumerate(contents):
        # Whole lines of the first fields: an input has no more than four.
        lines = [b",".join(line.split(b",")[:4]) for line in content[:600].split(b"\n")[:-1]]
        fields = min(content.partition(b"\n")[0].count(b","), 3)
        for middle, numbers in itertools.product((0, 60), range(4)):
            head = bytes([fields | (number % 2) << 4 | numbers << 5, middle])
            path = folder / f"{number}-{middle}-{numbers}"
            path.write_bytes(head + b"\n".join([*lines, b""]))


FEW = ("MOST_LEVELS=15", "LEVEL_SLOTS=32", "MOST_COMBINATIONS=60", "FIRST_SLOTS=8")
TARGETS = {
    "csv": Target(
        ("csv.c", "csv_fields.c", "numbers.c"),
        tuple(f"-D{limit}" for limit in FEW),
        write_csv_seeds,
    ),
    "parquet": Target(
        (
            "page_header.c",
            "pages.c",
            "runs.c",
            "columns.c",
            "bundles.c",
            "measures.c",
            "counting.c",
        ),
        (),
        write_parquet_seeds,
    ),
}


def fuzz(
    name: str, folder: Path, *, tries: int = FOR_EVER, seconds: int = 10**6, seed: int = 1
) -> tuple[str, int]:
    """How it was fuzzed, and how many inputs were tried; raises an error where one ended it."""
    target = TARGETS[name]
    seeds, kept, program = folder / f"{name}-seeds", folder / f"{name}-kept", folder / name
    for path in (seeds, kept):
        path.mkdir(parents=True, exist_ok=True)
    target.write_seeds(seeds)
    by_clang = shutil.which("clang") is not None
    sources: list[str | Path] = [
        HERE / "fuzz" / f"{name}.c",
        *(KERNEL / source for source in target.sources),
    ]
    if by_clang:
        build = ["clang", f"-fsanitize=fuzzer,{SANITIZERS}"]
        limits = [f"-runs={min(tries, 2**31 - 1)}", f"-max_total_time={seconds}", f"-seed={seed}"]
        kind = ["-max_len=4000", "-print_final_stats=1", f"-artifact_prefix={folder}/{name}-"]
        command: list[str | Path] = [program, *limits, *kind, kept, seeds]
    else:
        sources.append(HERE / "fuzz" / "driver.c")
        build = ["gcc", f"-fsanitize={SANITIZERS}"]
        command = [program, seeds, str(tries), str(seconds), str(seed), folder / f"{name}-last"]
    subprocess.run([*build, *COMMON, *target.options, *sources, "-o", program, "-lm"], check=True)
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    found = re.search(r"number_of_executed_units: (\d+)|^(\d+) inputs", done.stdout + done.stderr)
    assert found is not None
    return "libFuzzer" if by_clang else done.stdout.strip(), int(found[1] or found[2])


def main() -> None:
    """Fuzzes what the command line asks for, and prints how many inputs were tried."""
    parser = argparse.ArgumentParser(description="Fuzz the native kernel under sanitizers.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("targets", nargs="*", help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=int, default=60, help="for each target (default 60)")
    parser.add_argument("--tries", type=int, default=FOR_EVER)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    for name in asked.targets or TARGETS:
        limits = {"tries": asked.tries, "seconds": asked.seconds, "seed": asked.seed}
        how, tried = fuzz(name, asked.folder.resolve(), **limits)
        sys.stdout.write(f"{name}: {tried:,} inputs, no fault ({how})\n")


if __name__ == "__main__":
    main()

"""What a search for reversals costs: the same audit with `simpson: {search: true}` and without.

python search.py --pairs 9
python search.py --rows 1e6 --formats parquet

Three protected columns, a label, a prediction and forty candidates of 2 to 40 levels, thirty of
them texts and ten numbers. One candidate turns a gap, so that there is something to find. Whole
processes, in turn. The table goes to stdout as Markdown; the files are deleted at the end.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from measure import Command, in_turn, middle_seconds, peak_mib, run

HERE = Path(__file__).resolve().parent
CANDIDATES = 40
LEVELS = (2, 2, 3, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 40)
CHUNK = 500_000
"""Rows that are drawn at once, and those of a row group."""

SPEC = """
version: 1
columns:
  protected: [gender, race, age]
  label: {column: label, positive: "yes"}
  prediction: {column: prediction, positive: "yes"}
simpson: {search: SEARCH}
metrics:
  - {metric: demographic_parity_ratio, fail: {below: 0.8}}
METRICS
"""
METRICS = {"gate": "  - selection_rate", "every metric": ""}
"""A gate of two metrics; and those of specs/three.yaml, which the engine's benchmarks ask."""
HEADING = (
    "| data | audit | rows | with search s | without s | ratio | lowest–highest "
    "| with, processor s | without | ratio | with MiB | without MiB |\n"
    "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
)


def chunks(rows: int, seed: int) -> Iterator[pa.Table]:
    """Invented people, a chunk at a time."""
    random = np.random.default_rng(seed)
    for start in range(0, rows, CHUNK):
        yield _people(random, min(CHUNK, rows - start))


def _people(random: np.random.Generator, n: int) -> pa.Table:
    gender = random.integers(0, 2, n)
    # The first candidate: women apply where few are selected, and are selected more often there.
    first = (random.random(n) < np.where(gender == 1, 0.8, 0.2)).astype(np.int64)
    selected = random.random(n) < 0.6 - 0.3 * first + 0.05 * gender
    columns = {
        "gender": _texts(gender, ["men", "women"]),
        "race": _texts(random.integers(0, 5, n), [f"race {at}" for at in range(5)]),
        "age": _texts(random.integers(0, 4, n), ["18-29", "30-44", "45-59", "60+"]),
        "label": _texts(random.integers(0, 2, n), ["no", "yes"]),
        "prediction": _texts(selected.astype(np.int64), ["no", "yes"]),
        "c0": _texts(first, ["low", "high"]),
    }
    for at in range(1, CANDIDATES):
        codes = random.integers(0, LEVELS[at % len(LEVELS)], n)
        named = [f"level {code}" for code in range(LEVELS[at % len(LEVELS)])]
        columns[f"c{at}"] = pa.array(codes) if at % 4 == 0 else _texts(codes, named)
    return pa.table(columns)


def _texts(codes: np.ndarray, levels: list[str]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(codes.astype(np.int8), levels).cast(pa.string())


def write(path: Path, rows: int) -> None:
    """A file of so many rows, in the format of its name."""
    writer = None
    for table in chunks(rows, seed=1):
        if writer is None and path.suffix == ".csv":
            options = pa.csv.WriteOptions(quoting_style="none")
            writer = pa.csv.CSVWriter(path, table.schema, write_options=options)
        elif writer is None:
            writer = pa.parquet.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table)
    if writer is not None:
        writer.close()


def main() -> None:
    """Write the files, check that the reversal is found, time both audits."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--rows", type=float, default=1e7)
    asked.add_argument("--pairs", type=int, default=9)
    asked.add_argument("--formats", nargs="+", default=["parquet", "csv"])
    asked.add_argument("--write", type=Path, help="write a file, and nothing else")
    options = asked.parse_args()
    if options.write:
        write(options.write, int(options.rows))
        return
    print(HEADING, flush=True)
    with tempfile.TemporaryDirectory(prefix="fairaudit-bench-") as name:
        folder = Path(name)
        for kind in options.formats:
            path = folder / f"people.{kind}"
            # In a process of its own: a child's peak is never below its parent's.
            script = (sys.executable, str(HERE / "search.py"))
            run(Command((*script, "--rows", str(options.rows), "--write", str(path))), folder)
            for audit in METRICS:
                print(_line(folder, path, int(options.rows), options.pairs, audit), flush=True)
            path.unlink()


def _line(folder: Path, path: Path, rows: int, pairs: int, audit: str) -> str:
    with_search, without = (_command(folder, path, audit, search=one) for one in (True, False))
    for command in (with_search, without):
        run(command, folder)
    _check(json.loads((folder / "with.json").read_text("utf-8")))
    found = in_turn(with_search, without, pairs, folder)
    both = (f"{middle_seconds(runs):.2f}" for runs in (found.ours, found.theirs))
    ratios = f"{median(found.ratios):.2f} | {min(found.ratios):.2f}–{max(found.ratios):.2f}"
    ours, theirs = (median(run.busy for run in runs) for runs in (found.ours, found.theirs))
    busy = f"{ours:.2f} | {theirs:.2f} | {ours / theirs:.2f}"
    peaks = (f"{peak_mib(runs):,.0f}" for runs in (found.ours, found.theirs))
    cells = [path.suffix[1:], audit, f"{rows:,}", *both, ratios, busy, *peaks]
    return f"| {' | '.join(cells)} |"


def _command(folder: Path, path: Path, audit: str, *, search: bool) -> Command:
    name = "with" if search else "without"
    spec = folder / f"{name}.yaml"
    text = SPEC.replace("METRICS", METRICS[audit] or _every_metric())
    spec.write_text(text.replace("SEARCH", str(search).lower()), "utf-8")
    words = (sys.executable, "-m", "fairaudit", "run", str(spec), "--data", str(path))
    # The planted gap fails its limit.
    return Command((*words, "-o", str(folder / f"{name}.json")), (0, 1))


def _every_metric() -> str:
    """The metrics of the spec that the engine's benchmarks ask, but the one that is asked above."""
    _, listed = (HERE / "specs" / "three.yaml").read_text("utf-8").split("metrics:\n")
    lines = listed.split("\nsimpson", maxsplit=1)[0].splitlines()
    return "\n".join(one for one in lines if one.strip() != "- demographic_parity_ratio")


def _check(report: dict[str, object]) -> None:
    """Stop unless all candidates were searched and the planted reversal was found."""
    searched, reversals = report["searched"], report["reversals"]
    assert isinstance(searched, dict)
    assert isinstance(reversals, list)
    turned = {tuple(one["given"]) for one in reversals if one["kind"] == "every_stratum"}
    if len(searched["columns"]) != CANDIDATES or turned != {("c0",)}:
        raise SystemExit(f"searched {searched}, found {turned}")


if __name__ == "__main__":
    main()

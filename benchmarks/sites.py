"""What counts of parts cost: seconds and memory to count, merge and audit them, bytes of a file.

Processor seconds of whole processes, so that other programs of the machine do not count. The same
part is merged as often as `--parts` says: docs/scale.md reckons with what this prints.
"""

from __future__ import annotations

import argparse
import math
import shutil
import sys
import tempfile
from pathlib import Path

from measure import Command, Run, run

SPEC = """
version: 1
columns:
  protected: [{names}]
  label: {{column: y, positive: 1}}
  prediction: {{column: s, positive: {{at_least: 0.5}}}}
{more}
metrics:
{auc}  - {{metric: selection_rate, by: each}}
  - {{metric: impact_ratio, by: each, warn: {{below: 0.8}}}}
"""

AUC = "  - {metric: auc, by: each}\n"
KINDS = {"cells": "", "weighted": "  weight: w", "score": "  score: s"}


def write_rows(path: Path, rows: int, levels: list[int]) -> None:
    """Rows of as many columns as there are numbers of levels, with all their combinations.

    In a separate process: the peak of a child is never below that of its parent.
    """
    import numpy as np  # noqa: PLC0415  # the parent stays small
    import polars as pl  # noqa: PLC0415

    draw = np.random.default_rng(7)
    columns = {
        f"a{number}": draw.integers(0, size, rows).astype(str) for number, size in enumerate(levels)
    }
    columns["y"] = draw.integers(0, 2, rows).astype(str)
    frame = pl.DataFrame(columns).with_columns(
        s=pl.Series(draw.random(rows)), w=pl.Series(draw.random(rows) + 0.5)
    )
    frame.write_parquet(path)


def time_command(folder: Path, *words: str | Path) -> Run:
    """A run of the command in a folder."""
    texts = map(str, words)
    return run(Command((sys.executable, "-m", "fairaudit", *texts), exits=(0, 1)), folder)


def measure(folder: Path, kind: str, rows: int, levels: list[int], parts: int) -> str:
    """A line of the table."""
    names = ", ".join(f"a{number}" for number in range(len(levels)))
    spec, data = folder / "spec.yaml", folder / "part.parquet"
    auc = AUC if kind == "score" else ""
    spec.write_text(SPEC.format(names=names, more=KINDS[kind], auc=auc))
    sizes = map(str, levels)
    run(Command((sys.executable, __file__, "--write", str(data), str(rows), *sizes)), folder)
    first = folder / "0.counts"
    counted = time_command(folder, "count", spec, "--data", data, "-o", first)
    copies = [first]
    for number in range(1, parts):
        copies.append(folder / f"{number}.counts")
        shutil.copy(first, copies[-1])
    merged = time_command(folder, "merge", *copies, "--repeated", "-o", folder / "all.counts")
    audited = time_command(
        folder, "run", spec, "--data", folder / "all.counts", "-q", "-o", folder / "report.json"
    )
    cells = 4 * math.prod(levels)
    size = first.stat().st_size
    return (
        f"| {kind} | {rows:,} | {cells:,} | {counted.busy:.1f} s | {counted.peak_mib:,.0f} MiB "
        f"| {size:,} | {size / cells:.1f} | {merged.busy:.1f} s | {merged.peak_mib:,.0f} MiB "
        f"| {audited.busy:.1f} s | {audited.peak_mib:,.0f} MiB |"
    )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", type=int, default=20)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--write", nargs="+", help="a file, rows, and the levels of each column")
    options = parser.parse_args()
    if options.write:
        path, rows, *levels = options.write
        write_rows(Path(path), int(rows), [*map(int, levels)])
        return
    print(f"{options.parts} parts of {options.rows:,} rows; seconds are of the processor\n")
    print("| kind | rows | cells | count | peak | bytes | a cell | merge | peak | run | peak |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    shapes = [[2, 5], [4, 8, 8], [4, 8, 8, 10], [4, 8, 8, 10, 10]]
    wanted = [("cells", levels) for levels in shapes]
    wanted += [("weighted", shapes[2]), ("score", shapes[0]), ("score", shapes[1])]
    for kind, levels in wanted:
        with tempfile.TemporaryDirectory() as folder:
            print(measure(Path(folder), kind, options.rows, levels, options.parts), flush=True)


if __name__ == "__main__":
    main()

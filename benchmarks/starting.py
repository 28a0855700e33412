"""The cost of an audit besides its rows: the start, a gate on few rows, a page, a batch of files.

python benchmarks/starting.py [--runs 5] [--files 20]

Each command is a separate process, in turn with `import polars`; the time is processor time.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import numpy as np

ROOT = Path(__file__).parent.parent
SPECS = ROOT / "audit_specs"
POLARS = ("-c", "import polars")
ROWS_A_FILE = 5_000


def main() -> None:
    """Time each command next to `import polars`, and a batch a file."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--files", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        page, reports = folder / "loans.html", folder / "reports"
        loans, gate = str(SPECS / "loans.yaml"), str(SPECS / "florida_1976.yaml")
        write_files(folder, options.files)
        commands = {
            "fairaudit --help": ("--help",),
            "a gate on 8 rows": ("run", gate, "-q"),
            "the loans, with a page": ("run", loans, "-q", "-o", str(page)),
        }
        for words, arguments in commands.items():
            pairs = [
                (seconds("-m", "fairaudit", *arguments), seconds(*POLARS))
                for _ in range(options.runs + 1)
            ][1:]  # the first one compiles
            own, polars = (median(side) for side in zip(*pairs, strict=True))
            ratio = median(first / second for first, second in pairs)
            print(f"{words}: {own:.3f} s, import polars {polars:.3f} s: {ratio:.2f} ×")
        batch = ("run", loans, "-qq", "--data", str(folder / "*.csv"), "-o", f"{reports}/")
        total = seconds("-m", "fairaudit", *batch)
        each = total / options.files
        print(
            f"{options.files} files, a page and a JSON report each: {total:.1f} s, {each:.3f} each"
        )


def seconds(*arguments: str) -> float:
    """The processor time of a process of Python."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, check=False, env=environment
    )
    if done.returncode > 1:
        raise RuntimeError(done.stderr.decode())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def write_files(folder: Path, files: int) -> None:
    """Files of rows drawn from the loans, with replacement."""
    header, *rows = (ROOT / "sample_data" / "loans.csv").read_text().splitlines()
    for number in range(files):
        places = np.random.default_rng(number).integers(len(rows), size=ROWS_A_FILE)
        drawn = [rows[place] for place in places.tolist()]
        (folder / f"{number:03}.csv").write_text("\n".join([header, *drawn, ""]))


if __name__ == "__main__":
    main()

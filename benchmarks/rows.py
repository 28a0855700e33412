"""How long metrics of people one by one take, and how much memory: from 10^4 to 10^7 rows.

    python benchmarks/rows.py FOLDER [ROWS …]

Each row has ten features, six of them normal numbers and four categories of six levels, a group and
a prediction that depends on two of the numbers. Each measurement is a separate process.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl

import fairaudit

NUMBERS, CATEGORIES, LEVELS = 6, 4, 6
METRICS = {
    "counts alone": ["selection_rate"],
    "consistency": ["consistency"],
    "situation_testing": [{"metric": "situation_testing", "reference": "rest"}],
    "twin_test": [{"metric": "twin_test", "reference": "rest"}],
    "causal_discrimination": ["causal_discrimination"],
    "unawareness_violations": ["unawareness_violations"],
    "lipschitz_violations": ["lipschitz_violations"],
    "balanced_error_rate": ["balanced_error_rate"],
    "propensity_stratified_difference": [
        {"metric": "propensity_stratified_difference", "by": "g", "reference": "a"}
    ],
    "clusters": [{"metric": "selection_rate", "by": "g", "given": {"clusters": {"k": 5}}}],
}
_CHUNK = 1_000_000


def write_people(path: Path, rows: int) -> None:
    """A Parquet file with this many people, written a million at a time."""
    parts = []
    for start in range(0, rows, _CHUNK):
        draw, n = np.random.default_rng(start), min(_CHUNK, rows - start)
        numbers = {f"x{at}": draw.normal(size=n).round(3) for at in range(NUMBERS)}
        texts = {f"c{at}": draw.integers(0, LEVELS, n).astype(str) for at in range(CATEGORIES)}
        chance = 1 / (1 + np.exp(-numbers["x0"] - numbers["x1"]))
        people = {"g": draw.choice(["a", "b"], n), "p": (draw.random(n) < chance).astype(int)}
        parts.append(path.with_name(f"{path.stem}-{start}.parquet"))
        pl.DataFrame({**people, **numbers, **texts}).write_parquet(parts[-1])
    pl.scan_parquet(parts).sink_parquet(path)
    for part in parts:
        part.unlink()


def measure(path: Path, name: str) -> dict[str, object]:
    """Seconds and peak memory of one audit, in this process."""
    spec = {
        "columns": {
            "protected": ["g"],
            "prediction": {"column": "p", "positive": 1},
            "features": {
                "numeric": [f"x{at}" for at in range(NUMBERS)],
                "categorical": [f"c{at}" for at in range(CATEGORIES)],
            },
        },
        "metrics": METRICS[name],
    }
    begun = time.perf_counter()
    result = fairaudit.audit(spec, path)
    seconds = time.perf_counter() - begun
    usage = resource.getrusage(resource.RUSAGE_SELF)
    busy = usage.ru_utime + usage.ru_stime
    peak = usage.ru_maxrss / 2**20
    words = ("one by one", "looked up", "GiB", "sample of")
    told = [text for text in result.notices if any(word in text for word in words)]
    return {"seconds": seconds, "busy": busy, "gigabytes": peak, "told": told}


def main(folder: str, *sizes: str) -> None:
    """Prints a line for each size and each kind of metrics."""
    for rows in map(int, sizes or ("10000", "100000", "1000000", "10000000")):
        path = Path(folder) / f"people-{rows}.parquet"
        if not path.exists():
            write_people(path, rows)
        for name in METRICS:
            command = [sys.executable, __file__, "--one", str(path), name]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found = json.loads(done.stdout.splitlines()[-1])
            print(
                f"{rows:>10,}  {name:<32} {found['seconds']:6.1f} s, of one core "
                f"{found['busy']:6.1f} s  {found['gigabytes']:5.2f} GiB"
            )
            for text in found["told"]:
                print(f"            {text}")
            sys.stdout.flush()


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        print(json.dumps(measure(Path(sys.argv[2]), sys.argv[3])))
    else:
        print(f"{os.cpu_count()} cores")
        main(*sys.argv[1:])

"""The counts of every subset by Polars alone: one streaming pass, then roll-ups, answers as CSV.

python polars_cube.py FILE --keys sex race age [--weight weight] --out counts.csv
"""

from __future__ import annotations

import argparse
from itertools import combinations
from pathlib import Path

import polars as pl

OUTCOMES = ("label", "prediction")


def main() -> None:
    """Count and write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("--keys", nargs="+", required=True)
    parser.add_argument("--weight")
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    measures = [pl.len().cast(pl.Int64).alias("n")]
    if asked.weight:
        weight = pl.col(asked.weight)
        measures += [weight.sum().alias("w"), (weight * weight).sum().alias("w2")]
    finest = (
        _scan(asked.file).group_by(*asked.keys, *OUTCOMES).agg(measures).collect(engine="streaming")
    )
    sums = pl.exclude(*asked.keys, *OUTCOMES).sum()
    subsets = [
        finest.group_by(*subset, *OUTCOMES).agg(sums)
        for size in range(len(asked.keys) + 1)
        for subset in combinations(asked.keys, size)
    ]
    cube = pl.concat(subsets, how="diagonal").select(finest.columns)
    cube.write_csv(asked.out)


def _scan(file: Path) -> pl.LazyFrame:
    if file.suffix == ".parquet":
        return pl.scan_parquet(file)
    return pl.scan_csv(file, infer_schema=False)


if __name__ == "__main__":
    main()

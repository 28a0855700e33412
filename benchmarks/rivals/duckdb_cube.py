"""The counts of every subset by DuckDB: one `GROUP BY` of the rows, rolled up; all cores, as CSV.

python duckdb_cube.py FILE --keys sex race age [--weight weight] --out counts.csv
"""

from __future__ import annotations

import argparse
from pathlib import Path

import duckdb


def main() -> None:
    """Count and write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("--keys", nargs="+", required=True)
    parser.add_argument("--weight")
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    keys, weight = ", ".join(asked.keys), asked.weight
    sums = f", sum({weight}) AS w, sum({weight} * {weight}) AS w2" if weight else ""
    rolled_up = ", sum(w) AS w, sum(w2) AS w2" if weight else ""
    query = f"""
        WITH finest AS MATERIALIZED (
            SELECT {keys}, label, prediction, count(*) AS n{sums}
            FROM {_source(asked.file)}
            GROUP BY {keys}, label, prediction
        )
        SELECT {keys}, label, prediction, sum(n) AS n{rolled_up}
        FROM finest
        GROUP BY CUBE ({keys}), label, prediction
    """  # noqa: S608  # the names are our own
    duckdb.sql("SET enable_progress_bar = false")
    duckdb.sql(f"COPY ({query}) TO '{asked.out}' (HEADER)")


def _source(file: Path) -> str:
    """The file as a table; the texts of a CSV file stay texts, so nothing is converted in vain."""
    if file.suffix == ".parquet":
        return f"read_parquet('{file}')"
    return f"read_csv('{file}', header = true, all_varchar = true)"


if __name__ == "__main__":
    main()

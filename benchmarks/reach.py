"""The same rows as a file and as a table of a database: seconds, rows that leave it, the report.

python benchmarks/reach.py [--rows 1000000] [--postgres postgresql://me@127.0.0.1:5432/db]

Each audit is a process of its own; the last column is the report's hash, without its provenance.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
from adbc_driver_postgresql import dbapi

COLUMNS = {
    "protected": {"sex": {}, "race": {}, "age": {"bins": [30, 45, 60]}},
    "label": {"column": "y", "positive": 1},
    "prediction": {"column": "score", "positive": {"at_least": 0.5}},
}
SPEC = {
    "version": 1,
    "columns": COLUMNS,
    "metrics": ["selection_rate", "impact_ratio", "true_positive_rate", "differential_fairness"],
}
ROWS = """
SELECT CASE WHEN hash(i) % 2 = 0 THEN 'f' ELSE 'm' END AS sex,
  ['a', 'b', 'c', 'd', 'e'][1 + CAST(hash(i + 1) % 5 AS INT)] AS race,
  18 + hash(i + 2) % 60000 / 1000.0::DOUBLE AS age,
  CAST(hash(i + 3) % 3 = 0 AS INT) AS y,
  hash(i + 4) % 1000000 / 1000000.0::DOUBLE AS score
FROM range({rows}) t(i)
"""


def main() -> None:
    """Make the rows, put them where they are to be read, and audit them there."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--postgres")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "spec.yaml").write_text(json.dumps(SPEC))
        base, file = folder / "lake.duckdb", folder / "people.parquet"
        with duckdb.connect(str(base)) as link:
            link.execute(f"CREATE TABLE people AS {ROWS.format(rows=options.rows)}")
            link.execute(f"COPY people TO '{file}'")
        places = {"file": str(file), "duckdb": f"duckdb:///{base}?table=people"}
        if options.postgres:
            ingest(file, options.postgres)
            places["postgresql"] = f"{options.postgres}?table=fairaudit_reach"
        for place, data in places.items():
            seconds, digest = audit(folder, data)
            print(f"{place:<11} {options.rows:>13,} rows  {seconds:6.2f} s  {digest}")


def ingest(file: Path, address: str) -> None:
    """The rows of a file as a table of a server."""
    with dbapi.connect(address) as link, link.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS fairaudit_reach")
        for place, batch in enumerate(pq.ParquetFile(file).iter_batches()):
            cursor.adbc_ingest("fairaudit_reach", batch, mode="append" if place else "create")
        link.commit()


def audit(folder: Path, data: str) -> tuple[float, str]:
    """The seconds of an audit, and what its report says."""
    line = [sys.executable, "-m", "fairaudit", "run", "spec.yaml", "--data", data]
    started = time.perf_counter()
    done = subprocess.run(
        [*line, "--format", "json"], cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "SOURCE_DATE_EPOCH": "0"},
    )  # fmt: skip
    seconds = time.perf_counter() - started
    tree = json.loads(done.stdout)
    for member in ("files", "route"):
        tree["data"].pop(member)
    tree.pop("asked")
    return seconds, hashlib.sha256(json.dumps(tree).encode()).hexdigest()[:12]


if __name__ == "__main__":
    main()

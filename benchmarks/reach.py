"""The same rows as a file and as a table of a database: seconds, bytes that leave it, the report.

python benchmarks/reach.py [--rows 100000 10000000] [--postgres postgresql://me@127.0.0.1:5432/db]
    [--spark spark://127.0.0.1:7077]

Sail answers for Spark where `pysail` is installed. Each audit is a process of its own; the last
column is the report's hash, without its provenance.
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
from importlib.util import find_spec
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
AUDIT = """
import sys
from fairaudit import cli
from fairaudit.engine import databases

read, left = databases._read, []

def weigh(table):
    left.append(table.nbytes)
    return read(table)

databases._read = weigh
code = cli.main(sys.argv[1:], 0)
print(sum(left), file=sys.stderr)
"""


def main() -> None:
    """Audit so many rows wherever they can lie."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--postgres")
    parser.add_argument("--spark")
    options = parser.parse_args()
    servers = {"postgresql": options.postgres, "spark": options.spark}
    if find_spec("pysail"):
        from pysail.spark import SparkConnectServer  # noqa: PLC0415  # where there is one

        server = SparkConnectServer("127.0.0.1", 0)
        server.start(background=True)
        servers["sail"] = f"sc://127.0.0.1:{server.listening_address[1]}"
    print("| engine | rows | seconds | bytes to us | report |\n|---|--:|--:|--:|---|")
    for rows in options.rows:
        compare(rows, {name: address for name, address in servers.items() if address})


def compare(rows: int, servers: dict[str, str]) -> None:
    """Make the rows, put them where they are to be read, and audit them there."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # workers of a cluster may be other users
        (folder / "spec.yaml").write_text(json.dumps(SPEC))
        base, file = folder / "lake.duckdb", folder / "people.parquet"
        with duckdb.connect(str(base)) as link:
            link.execute(f"CREATE TABLE people AS {ROWS.format(rows=rows)}")
            link.execute(f"COPY people TO '{file}'")
        places = {"file": str(file), "duckdb": f"duckdb:///{base}?table=people"}
        for server, address in servers.items():
            places[server] = f"{address}?query=SELECT * FROM parquet.`{file}`"  # noqa: S608
        if "postgresql" in servers:
            ingest(file, servers["postgresql"])
            places["postgresql"] = f"{servers['postgresql']}?table=fairaudit_reach"
        for place, data in places.items():
            seconds, left, digest = audit(folder, data)
            print(f"| {place} | {rows:,} | {seconds:.1f} | {left:,} | {digest} |", flush=True)


def ingest(file: Path, address: str) -> None:
    """The rows of a file as a table of a server."""
    with dbapi.connect(address) as link, link.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS fairaudit_reach")
        for place, batch in enumerate(pq.ParquetFile(file).iter_batches()):
            cursor.adbc_ingest("fairaudit_reach", batch, mode="append" if place else "create")
        link.commit()


def audit(folder: Path, data: str) -> tuple[float, int, str]:
    """The seconds of an audit, the bytes that left a database, and what the report says."""
    line = [sys.executable, "-W", "ignore", "-c", AUDIT, "run", "spec.yaml", "--data", data]
    started = time.perf_counter()
    done = subprocess.run(
        [*line, "--format", "json"], cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "SOURCE_DATE_EPOCH": "0"},
    )  # fmt: skip
    seconds = time.perf_counter() - started
    left = int(done.stderr.splitlines()[-1])
    tree = json.loads(done.stdout)
    for member in ("files", "route"):
        tree["data"].pop(member)
    tree.pop("asked")
    return seconds, left, hashlib.sha256(json.dumps(tree).encode()).hexdigest()[:12]


if __name__ == "__main__":
    main()

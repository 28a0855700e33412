"""The same rows as a file and as a table of a database: seconds, bytes that leave it, the report.

python benchmarks/reach.py [--rows 100000 10000000] [--start postgresql sail spark]

A server of PostgreSQL, of Sail, or a Spark cluster of one master and two workers is started from
nothing (Spark by `pyspark` in place of `pyspark-client`, and JAVA_HOME). Each audit is a separate
process; the last column is the report's hash, without its provenance. Ends with 1 where two reports
of the same rows differ.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
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
from fairaudit.counting.sources import databases

read, left = databases._read, []

def weigh(table):
    left.append(table.nbytes)
    return read(table)

databases._read = weigh
code = cli.main(sys.argv[1:], 0)
print(sum(left), file=sys.stderr)
"""


def main() -> None:
    """Audit this many rows in every place that can hold them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--start", nargs="*", choices=[*SERVERS], default=[])
    options = parser.parse_args()
    with ExitStack() as stack:
        servers = {name: stack.enter_context(SERVERS[name]()) for name in options.start}
        print("| engine | rows | seconds | bytes to us | report |\n|---|--:|--:|--:|---|")
        reports = [compare(rows, servers) for rows in options.rows]
    sys.exit(any(len(of_rows) > 1 for of_rows in reports))


@contextmanager
def start_postgresql() -> Iterator[str]:
    """A server of PostgreSQL in a separate folder."""
    programs = max(Path("/usr/lib/postgresql").glob("*/bin"))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        user = "nobody" if os.geteuid() == 0 else None  # it will not be started by root
        if user:
            shutil.chown(name, user)
        port = free_port()

        def carry_out(program: str, *words: str) -> None:
            line = [programs / program, "-D", f"{name}/data", *words]
            subprocess.run(line, user=user, cwd=name, check=True, stdout=subprocess.DEVNULL)

        options = f"-p {port} -k {name} -c listen_addresses=127.0.0.1 -c fsync=off"
        carry_out("initdb", "-U", "me", "--auth=trust")
        carry_out("pg_ctl", "-o", options, "-w", "start", "-l", f"{name}/log")
        try:
            yield f"postgresql://me@127.0.0.1:{port}/postgres"
        finally:
            carry_out("pg_ctl", "-m", "immediate", "stop")


@contextmanager
def start_sail() -> Iterator[str]:
    """Sail, which answers Spark Connect."""
    from pysail.spark import SparkConnectServer  # noqa: PLC0415  # where it is asked for

    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    yield f"sc://127.0.0.1:{server.listening_address[1]}"
    server.stop()


@contextmanager
def start_spark() -> Iterator[str]:
    """A standalone cluster: a master and two workers, each in a separate Java process."""
    home = Path(import_module("pyspark").__file__ or "").parent
    port = free_port()
    address = f"spark://127.0.0.1:{port}"
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    master = "org.apache.spark.deploy.master.Master"
    worker = "org.apache.spark.deploy.worker.Worker"
    alone = ["--webui-port", "0"]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        lines = [[master, "--host", "127.0.0.1", "--port", str(port), *alone]]
        for number in ("1", "2"):
            folder = ["-d", f"{name}/{number}"]
            lines.append(
                [worker, "--host", "127.0.0.1", "-c", "1", "-m", "1g", *alone, *folder, address]
            )
        processes = []
        for line in lines:
            quiet = subprocess.DEVNULL
            program = [home / "bin" / "spark-class", *line]
            processes.append(subprocess.Popen(program, stdout=quiet, stderr=quiet))
            time.sleep(5)
        try:
            yield address
        finally:
            for process in reversed(processes):
                process.terminate()
                process.wait()


def free_port() -> int:
    """A free port of loopback."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


SERVERS = {"postgresql": start_postgresql, "sail": start_sail, "spark": start_spark}


def compare(rows: int, servers: dict[str, str]) -> set[str]:
    """Make the rows, put them where they are to be read, and audit them: the hashes of reports."""
    reports = set()
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
            reports.add(digest)
    return reports


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
        tree["provenance"].pop(member)
    tree.pop("asked")
    return seconds, left, hashlib.sha256(json.dumps(tree).encode()).hexdigest()[:12]


if __name__ == "__main__":
    main()

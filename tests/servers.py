"""Servers of databases on loopback, each with a folder of its own that goes with it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

_PATH = f"{os.environ['PATH']}:/usr/sbin"
_USER = "nobody" if os.geteuid() == 0 else None
"""Root starts neither of them."""
HANGS = 600.0
"""Seconds of waiting after which a process hangs: far more than any takes on a busy machine."""


def need(what: str, *, is_there: bool) -> None:
    """Skips a test where a program or a package is missing; with `ENGINES` set it fails instead."""
    if not is_there:
        if os.environ.get("ENGINES"):
            pytest.fail(f"{what} is missing, and ENGINES asks for it")
        pytest.skip(f"{what} is not installed here")


def need_package(name: str) -> None:
    """Skips a test where a package is missing."""
    need(name, is_there=find_spec(name) is not None)


@contextmanager
def _make_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="fairaudit-"))
    if _USER:
        shutil.chown(folder, _USER)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _find_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def start_postgres() -> Iterator[tuple[str, Callable[[], None]]]:
    """The address of a database of PostgreSQL, and what stops its server at once."""
    folders = [str(folder) for folder in Path("/usr/lib/postgresql").glob("*/bin")]
    found = shutil.which("initdb", path=":".join([*folders, _PATH]))
    need("PostgreSQL", is_there=found is not None)
    need_package("adbc_driver_postgresql")
    programs, port = Path(str(found)).parent, _find_port()
    with _make_folder() as folder:
        data = folder / "data"

        def carry_out(program: str, *arguments: str | Path) -> None:
            line = [programs / program, "-D", data, *arguments]
            subprocess.run(line, user=_USER, cwd=folder, check=True, stdout=subprocess.DEVNULL)

        def stop() -> None:
            carry_out("pg_ctl", "-m", "immediate", "stop")

        options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        carry_out("initdb", "-U", "me", "--auth=trust", "--no-sync")
        carry_out("pg_ctl", "-o", options, "-w", "start", "-l", folder / "log")
        try:
            yield f"postgresql://me@127.0.0.1:{port}/postgres", stop
        finally:
            if (data / "postmaster.pid").exists():
                stop()


@contextmanager
def start_mariadb() -> Iterator[str]:
    """The address of a database of MariaDB; `MYSQL_PWD` has the password of its user."""
    program = shutil.which("mariadbd", path=_PATH)
    need("MariaDB", is_there=program is not None)
    need_package("pymysql")
    port = _find_port()
    with _make_folder() as folder:
        place = ["--no-defaults", f"--datadir={folder}/data"]
        begin = ["mariadb-install-db", *place, "--auth-root-authentication-method=normal"]
        subprocess.run(begin, user=_USER, cwd=folder, check=True, capture_output=True)
        options = [f"--port={port}", "--bind-address=127.0.0.1", f"--socket={folder}/socket"]
        options += ["--innodb-flush-log-at-trx-commit=0", "--sql-mode="]
        line = [str(program), *place, *options]
        server = subprocess.Popen(line, user=_USER, cwd=folder, stderr=subprocess.DEVNULL)
        try:
            with _connect(folder / "socket").cursor() as cursor:
                cursor.execute("CREATE DATABASE lake CHARACTER SET utf8mb4")
                cursor.execute("CREATE USER me@'127.0.0.1' IDENTIFIED BY 'hush'")
                cursor.execute("GRANT ALL ON *.* TO me@'127.0.0.1' WITH GRANT OPTION")
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("MYSQL_PWD", "hush")
                yield f"mysql://me@127.0.0.1:{port}/lake"
        finally:
            server.kill()
            server.wait()


def _connect(socket_file: Path) -> Any:
    """A connection of the first user of MariaDB, once the server answers."""
    driver = import_module("pymysql")
    end = time.monotonic() + HANGS
    while True:
        try:
            return driver.connect(unix_socket=str(socket_file), user="root", autocommit=True)
        except driver.OperationalError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def connect_mysql(address: str) -> Any:
    """A connection of the user of an address of `start_mariadb`."""
    port = int(address.rpartition(":")[2].partition("/")[0])
    return import_module("pymysql").connect(
        host="127.0.0.1", port=port, user="me", password="hush", database="lake",  # noqa: S106
        charset="utf8mb4", autocommit=True,
    )  # fmt: skip


@contextmanager
def start_clickhouse() -> Iterator[tuple[str, Path]]:
    """The address of a database of ClickHouse, and the file with each statement it carried out."""
    for package in ("chdb", "clickhouse_connect"):
        need_package(package)
    script = Path(__file__).with_name("clickhouse_server.py")
    with _make_folder() as folder, (folder / "log").open("w") as log:
        line = [sys.executable, str(script), str(folder / "lake")]
        server = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            assert server.stdout is not None
            address = f"clickhouse://me@127.0.0.1:{server.stdout.readline().strip()}/default"
            yield address, folder / "log"
        finally:
            server.kill()
            server.communicate()


def connect_clickhouse(address: str) -> Any:
    """A client of an address of `start_clickhouse`."""
    port = int(address.rpartition(":")[2].partition("/")[0])
    driver = import_module("clickhouse_connect")
    return driver.get_client(host="127.0.0.1", port=port, username="me")


_SAIL = """
from pysail.spark import SparkConnectServer
server = SparkConnectServer("127.0.0.1", 0)
server.start(background=True)
print(server.listening_address[1], flush=True)
input()
"""


def start_sail() -> tuple[subprocess.Popen[str], str]:
    """A server of Spark Connect in a process of its own, with its address."""
    for package in ("pysail", "pyspark"):
        need_package(package)
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [sys.executable, "-c", _SAIL],
        stdin=pipe,
        stdout=pipe,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    port = next(line for line in process.stdout if line.strip().isdigit()).strip()
    return process, f"sc://127.0.0.1:{port}"

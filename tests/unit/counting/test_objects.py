"""Objects of a store: the same report as of the same bytes here, and no credential in any."""

from __future__ import annotations

import errno
import gzip
import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from commands import run
from pyarrow import fs
from servers import HANGS

import fairaudit
from fairaudit import AuditResult
from fairaudit.base import inputs
from fairaudit.base.errors import DataError, NothingToAudit, UsageError
from fairaudit.counting.sources import objects

KEY, SECRET, TOKEN = "AKIAMARKERMARKER1234", "markerOfASecretKey", "markerOfASessionToken"
SPEC: dict[str, Any] = {
    "columns": {"protected": ["race"], "decision": {"column": "y", "positive": 1, "negative": 0}},
    "metrics": [{"metric": "demographic_parity_ratio", "fail": {"below": 0.8}}],
}
TEXT = "race,y\na,1\na,0\nb,1\nb,1\nb,1\n"


@dataclass(frozen=True)
class Store:
    """A server of S3 on this machine, with a client that writes to it."""

    client: Any

    def put(self, key: str, content: bytes | str) -> str:
        """The address of an object that holds this."""
        body = content.encode() if isinstance(content, str) else content
        self.client.put_object(Bucket="lake", Key=key, Body=body)
        return f"s3://lake/{key}"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of the server, for all tests here."""
    reason = "S3 on loopback needs moto: pip install 'moto[s3,server]' boto3"
    pytest.importorskip("moto.server", reason=reason)
    # In a process of its own: a library that asks it may hold this one meanwhile.
    line = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p"]
    with serving(lambda port: [*line, str(port)]) as port:
        yield f"http://127.0.0.1:{port}"


@contextmanager
def serving(line_of: Callable[[int], list[str]]) -> Iterator[int]:
    """The port of loopback at which a server answers that is started by a command line."""
    silent = subprocess.DEVNULL
    for _ in range(5):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = int(free.getsockname()[1])
        with subprocess.Popen(line_of(port), stdout=silent, stderr=silent) as server:
            try:
                if _answers(port, server):
                    yield port
                    return
            finally:
                server.kill()
    pytest.fail(f"no server begins: {line_of(0)}")


def _answers(port: int, server: subprocess.Popen[bytes]) -> bool:
    """Whether a server answers; one that has ended does not, since another had its port."""
    end = time.monotonic() + HANGS
    while time.monotonic() < end and server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.05)
        else:
            return server.poll() is None
    return False


@pytest.fixture
def store(server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A bucket `lake`, empty, that the environment gives access to."""
    boto3 = pytest.importorskip("boto3", reason="pip install boto3")
    for name, value in {
        "AWS_ENDPOINT_URL": server,
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_SESSION_TOKEN": TOKEN,
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    client = boto3.client("s3")
    client.create_bucket(Bucket="lake")
    yield Store(client)
    for found in client.list_objects_v2(Bucket="lake").get("Contents", []):
        client.delete_object(Bucket="lake", Key=found["Key"])
    client.delete_bucket(Bucket="lake")
    inputs.forget_stdin()


def parquet(text: str) -> bytes:
    """The rows of a CSV text as Parquet."""
    held = BytesIO()
    pl.read_csv(StringIO(text)).write_parquet(held)
    return held.getvalue()


def render(result: AuditResult, place: str) -> str:
    """The report as JSON, but for where the data lies and when it was written."""
    text = result.to_json().replace(place, "PLACE")
    return re.sub(r'"(modified|created)": *"[^"]*"', "", text)


def search_reports(spec: Path, folder: Path, code: int) -> list[str]:
    """What of a run, in any format, has a credential: all of them hold the word `marker`."""
    folder.mkdir()
    files = [folder / f"r.{suffix}" for suffix in ("json", "md", "html", "xml", "csv")]
    outputs = [text for file in files for text in ("-o", str(file))]
    told: dict[str, str] = {}
    for form in ("terminal", "github"):
        done = run("run", spec, "--format", form, "-v", *outputs)
        assert done.returncode == code, done.stderr
        told |= {form: done.stdout, f"{form} stderr": done.stderr}
    told |= {file.name: file.read_text() for file in files if file.exists()}
    assert "r.json" in told
    return [name for name, text in told.items() if "marker" in text.lower()]


def people(data: str) -> int:
    """How many rows an audit counts."""
    rows = fairaudit.audit(SPEC, data).provenance.rows
    assert rows is not None
    return rows


@pytest.mark.long
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_report_is_that_of_the_file(store: Store, tmp_path: Path, suffix: str) -> None:
    content = TEXT.encode() if suffix == "csv" else parquet(TEXT)
    here = tmp_path / f"x.{suffix}"
    here.write_bytes(content)
    address = store.put(f"exports/x.{suffix}", content)
    there, local = fairaudit.audit(SPEC, address), fairaudit.audit(SPEC, str(here))
    (file,) = there.provenance.files
    assert (file.path, file.bytes) == (address, len(content))
    assert render(there, address) == render(local, str(here))
    assert there.provenance.cube_sha256 == local.provenance.cube_sha256
    assert there.provenance.route == local.provenance.route


def test_folders_globs_and_what_is_not_there(store: Store) -> None:
    keys = ("in/1.csv", "in/2.csv", "in/deep/3.csv", "in/.hidden.csv", "in/note.docx")
    for number, key in enumerate(keys):
        store.put(key, TEXT + "\n" * number)
    assert people("s3://lake/in/1.csv") == 5
    assert people("s3://lake/in/*.csv") == 10
    assert people("s3://lake/in/**/*.csv") == people("s3://lake/in/") == 15
    assert people("s3://lake/*/[12].csv") == 10
    with pytest.raises(NothingToAudit, match="matches no object"):
        people("s3://lake/in/*.parquet")
    with pytest.raises(DataError, match=r"the object s3://lake/in/4\.csv does not exist"):
        people("s3://lake/in/4.csv")
    with pytest.raises(DataError, match=r"note\.docx: unknown file format"):
        people("s3://lake/in/note.docx")
    with pytest.raises(DataError, match="does not exist"):
        people("s3://nowhere/in/4.csv")


def test_equal_objects_of_a_store_are_refused_by_their_addresses(store: Store) -> None:
    store.put("in/1.csv", TEXT)
    store.put("in/2.csv.gz", gzip.compress(TEXT.encode()))
    with pytest.raises(DataError, match=r"s3://lake/in/1\.csv and s3://lake/in/2\.csv\.gz have"):
        people("s3://lake/in/")


def test_folders_of_a_store_spell_partitions(store: Store) -> None:
    store.put("loans/race=a/x.parquet", parquet("y\n1\n0\n"))
    store.put("loans/race=b/x.parquet", parquet("y\n1\n1\n"))
    result = fairaudit.audit(SPEC, "s3://lake/loans")
    sizes = {row.group: row.estimate.numerator for row in result.rates if row.by}
    assert sizes == {(("race", "a"),): 1, (("race", "b"),): 2}


def test_another_object_of_that_name_is_fetched_again(store: Store) -> None:
    assert people(store.put("x.csv", TEXT)) == 5
    assert people(store.put("x.csv", TEXT + "b,0\n")) == 6


def test_what_was_fetched_does_not_stay(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    people(store.put("x.csv", TEXT))
    assert [*tmp_path.rglob("object.csv")]
    inputs.forget_stdin()
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    "address",
    [
        f"s3://{KEY}:{SECRET}@lake/x.csv",
        f"s3://{TOKEN}@lake/x.csv",
        f"s3://lake/x.csv?secret_key={SECRET}",
        f"s3://lake?access_key={KEY}&secret_key={SECRET}",
    ],
)
def test_an_address_with_a_secret_is_refused_and_not_repeated(address: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has a user, a password or parameters") as caught:
        people(address)
    assert "marker" not in f"{caught.value}".lower()
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps({"version": 1, **SPEC, "data": address}))
    assert not search_reports(spec, tmp_path / "out", 2)


@pytest.mark.parametrize("key", ["x.csv", "missing.csv"])
def test_no_format_has_a_credential(store: Store, key: str, tmp_path: Path) -> None:
    store.put("x.csv", TEXT)
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps({"version": 1, **SPEC, "data": f"s3://lake/{key}"}))
    assert not search_reports(spec, tmp_path / "out", 1 if key == "x.csv" else 2)
    spec.write_text(spec.read_text().replace("demographic_parity_ratio", SECRET))
    assert search_reports(spec, tmp_path / "more", 2), "the search finds what is there"


def test_a_store_that_does_not_answer(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    del store
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(
        DataError, match=r"does not return this file \(NETWORK_CONNECTION\)"
    ) as caught:
        people("s3://lake/x.csv")
    assert "marker" not in f"{caught.value}".lower()


def test_a_bucket_is_named() -> None:
    for address in ("s3://", "s3:///x.csv", "s3://*/x.csv"):
        with pytest.raises(UsageError, match="no bucket is named"):
            people(address)


def test_azure_needs_an_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    with pytest.raises(UsageError, match="name of the storage account"):
        people("az://lake/x.csv")


@pytest.mark.parametrize("log", ["_delta_log/0.json", "metadata/v1.metadata.json"])
def test_a_table_in_a_store_is_not_read_as_loose_files(store: Store, log: str) -> None:
    store.put(f"up/t/{log}", "{}")
    store.put("up/t/stale.csv", TEXT)
    with pytest.raises(DataError, match="the folder s3://lake/up holds a table of Delta or Ice"):
        people("s3://lake/up")
    for pattern in ("t/*.csv", "*/stale.csv", "**/*.csv"):
        with pytest.raises(DataError, match="finds files of a table of Delta or Iceberg"):
            people(f"s3://lake/up/{pattern}")
    with pytest.raises(DataError, match="cannot read this table of"):
        people("s3://lake/up/t")
    # What is named by itself is read.
    assert people("s3://lake/up/t/stale.csv") == 5


ROWS = pl.read_csv(StringIO(TEXT)).to_arrow()
MORE = ROWS.slice(0, 2)


def test_a_delta_table_in_a_store_is_its_snapshot(store: Store) -> None:
    library = pytest.importorskip("deltalake", reason="pip install deltalake")
    plain = {"allow_http": "true"}
    for rows, mode in ((ROWS, "append"), (MORE, "append")):
        library.write_deltalake("s3://lake/loans", rows, mode=mode, storage_options=plain)
    result = fairaudit.audit(SPEC, "s3://lake/loans")
    assert result.provenance.rows == 7
    assert [file.path for file in result.provenance.files] == [
        "s3://lake/loans (Delta, snapshot 1)"
    ]
    # The files of the versions before stay in the folder.
    library.write_deltalake("s3://lake/loans", MORE, mode="overwrite", storage_options=plain)
    keys = [found["Key"] for found in store.client.list_objects_v2(Bucket="lake")["Contents"]]
    assert len([key for key in keys if key.endswith(".parquet")]) == 3
    assert people("s3://lake/loans/") == 2


def test_an_iceberg_table_in_a_store_is_its_latest_snapshot(
    store: Store, server: str, tmp_path: Path
) -> None:
    pytest.importorskip("sqlalchemy", reason="pip install sqlalchemy")
    sql = pytest.importorskip("pyiceberg.catalog.sql", reason="pip install pyiceberg")
    place = {"warehouse": "s3://lake/warehouse", "s3.endpoint": server}
    catalog = sql.SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", **place)
    catalog.create_namespace("n")
    table = catalog.create_table("n.loans", schema=ROWS.schema)
    table.append(ROWS)
    table.append(MORE)
    now = table.current_snapshot().snapshot_id
    result = fairaudit.audit(SPEC, table.location())
    assert result.provenance.rows == 7
    (file,) = result.provenance.files
    assert file.path == f"{table.location()} (Iceberg, snapshot {now})"
    table.overwrite(MORE)
    assert people(table.location()) == 2
    below = table.location().removeprefix("s3://lake/") + "/metadata/"
    names = [
        path.rpartition("/")[2]
        for path in (log.metadata_file for log in table.metadata.metadata_log)
    ]
    store.put(f"{below}version-hint.text", names[-2].removesuffix(".metadata.json"))
    assert people(table.location()) == 5


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A bucket `lake` that is a folder here: what a store may do is done by hand."""
    bucket = tmp_path / "lake"
    bucket.mkdir()
    store = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    monkeypatch.setattr(objects, "_open_store", lambda *_: store)
    yield bucket
    inputs.forget_stdin()


def test_a_folder_without_a_known_format_holds_no_file(local: Path) -> None:
    (local / "month").mkdir()
    (local / "month" / "notes.docx").write_text("none")
    with pytest.raises(NothingToAudit, match="the folder s3://lake/month holds no file to audit"):
        fairaudit.audit(SPEC, "s3://lake/month")


def test_an_object_that_changes_under_way_is_told(
    local: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (local / "x.csv").write_text(TEXT)
    monkeypatch.setattr("shutil.copyfileobj", lambda source, to, _: to.write(source.read(9)))
    with pytest.raises(DataError, match=r"s3://lake/x.csv: it changed while it was downloaded"):
        fairaudit.audit(SPEC, "s3://lake/x.csv")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (PermissionError(errno.EACCES, "hush"), "s3://lake/x.csv: the cloud storage refuses"),
        (
            OSError(errno.ENOSPC, "No space left on device"),
            "the file cannot be saved on this computer: No space left",
        ),
    ],
)
def test_what_stops_a_fetch_is_told_by_its_kind(
    local: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, said: str
) -> None:
    (local / "x.csv").write_text(TEXT)

    def stop(*_: object) -> None:
        raise error

    monkeypatch.setattr("shutil.copyfileobj", stop)
    with pytest.raises(DataError) as raised:
        fairaudit.audit(SPEC, "s3://lake/x.csv")
    assert said in str(raised.value)
    assert "hush" not in str(raised.value)


@pytest.mark.long
def test_a_store_that_arrow_was_built_without_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(fs, "GcsFileSystem", raising=False)
    with pytest.raises(UsageError, match="this build of pyarrow cannot read gs://"):
        fairaudit.audit(SPEC, "gs://lake/x.csv")

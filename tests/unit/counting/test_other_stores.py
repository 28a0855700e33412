"""Google's and Azure's stores, by their emulators: the report of the same bytes here."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from pyarrow import fs
from test_objects import SPEC, TEXT, parquet, people, render, serving

import fairaudit
from fairaudit.base import inputs
from fairaudit.base.errors import DataError, NothingToAudit
from fairaudit.counting.sources import objects

ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""The account that every emulator of Azure has; it is no secret."""


@pytest.fixture(scope="module")
def google() -> Iterator[dict[str, str]]:
    """The environment that leads to a server of its own."""
    if find_spec("gcp_storage_emulator") is None:
        pytest.skip("gcp-storage-emulator is not installed")
    options = ["--host=127.0.0.1", "--in-memory", "--default-bucket=lake"]
    line = [sys.executable, "-m", "gcp_storage_emulator", "start", *options]
    with serving(lambda port: [*line, f"--port={port}"]) as port:
        yield {"STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{port}"}


@pytest.fixture(scope="module")
def azure() -> Iterator[dict[str, str]]:
    """The same of Azurite."""
    program = os.environ.get("AZURITE") or shutil.which("azurite-blob")
    if program is None or not Path(program).exists():
        pytest.skip("Azurite is not installed: npm install azurite, AZURITE=…/azurite-blob")
    # Arrow's client is newer than what it knows.
    line = [program, "--silent", "--skipApiVersionCheck", "--inMemoryPersistence", "--blobPort"]
    with serving(lambda port: [*line, str(port)]) as port:
        endpoint = f"http://127.0.0.1:{port}/{ACCOUNT}"
        text = f"AccountName={ACCOUNT};AccountKey={KEY};BlobEndpoint={endpoint};"
        yield {"AZURE_STORAGE_CONNECTION_STRING": text}


@pytest.fixture(params=["gs", "az"])
def put(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str, bytes], str]]:
    """Writes an object, and gives its address."""
    scheme = request.param
    environment = request.getfixturevalue({"gs": "google", "az": "azure"}[scheme])
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    store = objects._open_store(scheme)
    store.create_dir("lake")

    def write(key: str, content: bytes) -> str:
        with store.open_output_stream(f"lake/{key}") as stream:
            stream.write(content)
        return f"{scheme}://lake/{key}"

    yield write
    for info in store.get_file_info(fs.FileSelector("lake", recursive=True)):
        if info.type == fs.FileType.File:
            store.delete_file(info.path)
    inputs.forget_stdin()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_report_of_a_store_is_that_of_the_file(
    put: Callable[[str, bytes], str], tmp_path: Path, suffix: str
) -> None:
    content = TEXT.encode() if suffix == "csv" else parquet(TEXT)
    here = tmp_path / f"x.{suffix}"
    here.write_bytes(content)
    address = put(f"exports/x.{suffix}", content)
    there, local = fairaudit.audit(SPEC, address), fairaudit.audit(SPEC, str(here))
    (file,) = there.provenance.files
    assert (file.path, file.bytes) == (address, len(content))
    assert render(there, address) == render(local, str(here))
    assert KEY not in there.to_json()


def test_folders_globs_and_missing_objects_of_a_store(put: Callable[[str, bytes], str]) -> None:
    for number, key in enumerate(("in/1.csv", "in/2.csv", "in/deep/3.csv", "in/note.docx")):
        address = put(key, f"{TEXT}{number * chr(10)}".encode())
    lake = address.partition("lake")[0] + "lake"
    assert people(f"{lake}/in/*.csv") == 10
    assert people(f"{lake}/in") == 15
    with pytest.raises(NothingToAudit, match="matches no object"):
        people(f"{lake}/in/*.parquet")
    with pytest.raises(DataError, match=r"the object .*/in/4\.csv does not exist"):
        people(f"{lake}/in/4.csv")


def test_a_wrong_key_of_azure_is_told_without_it(
    azure: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (text,) = azure.values()
    wrong = text.replace(KEY, "bWFya2Vy" * 8)
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", wrong)
    with pytest.raises(DataError, match=r"the cloud storage (refuses|does not)") as raised:
        people("az://lake/x.csv")
    assert "bWFya2Vy" not in str(raised.value)


@pytest.mark.parametrize(
    ("environment", "options"),
    [
        ({"AZURE_STORAGE_ACCOUNT_NAME": "a"}, {"account_name": "a"}),
        (
            {"AZURE_STORAGE_ACCOUNT_NAME": "a", "AZURE_STORAGE_SAS_TOKEN": "s=1"},
            {"account_name": "a", "sas_token": "s=1"},
        ),
        (
            {"AZURE_STORAGE_CONNECTION_STRING": "AccountName=a;AccountKey=b==;EndpointSuffix=c"},
            {"account_name": "a", "account_key": "b=="},
        ),
        (
            {
                "AZURE_STORAGE_CONNECTION_STRING": "BlobEndpoint=https://a.blob.core.windows.net/;"
                "AccountName=a",
                "AZURE_STORAGE_ACCOUNT_KEY": "k",
            },
            {
                "account_name": "a",
                "account_key": "k",
                "blob_storage_authority": ".blob.core.windows.net",
                "blob_storage_scheme": "https",
                "dfs_storage_authority": ".blob.core.windows.net",
                "dfs_storage_scheme": "https",
            },
        ),
    ],
)
def test_who_may_read_azure_is_in_the_environment(
    environment: dict[str, str], options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ACCOUNT_NAME", "ACCOUNT_KEY", "SAS_TOKEN", "CONNECTION_STRING"):
        monkeypatch.delenv(f"AZURE_STORAGE_{name}", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert objects._find_azure() == options
    assert fs.AzureFileSystem(**options)


@pytest.mark.parametrize(
    ("entry", "parts"),
    [
        ("s3a://lake/a.csv", ("s3", "lake/a.csv", None)),
        ("GCS://lake/a.csv", ("gs", "lake/a.csv", None)),
        ("abfss://lake@me.dfs.core.windows.net/b/a.csv", ("az", "lake/b/a.csv", "me")),
        ("abfs://lake@me/a.csv", ("az", "lake/a.csv", "me")),
        ("abfss://lake/a.csv", ("az", "lake/a.csv", None)),
        ("s3://me@lake/a.csv", ("s3", "me@lake/a.csv", None)),
    ],
)
def test_other_spellings_are_of_the_same_store(entry: str, parts: tuple[str, ...]) -> None:
    assert objects._split(entry) == parts


def test_the_account_of_an_address_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_STORAGE_CONNECTION_STRING", raising=False)
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "other")
    assert objects._find_azure("me") == {"account_name": "me"}

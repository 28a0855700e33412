"""No Parquet file ends the command: it is refused by name, or counted, whoever reads it."""

from __future__ import annotations

import io
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import broken_parquet
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ATTACKS
from pyarrow.parquet import encryption

import fairaudit
from fairaudit.base.errors import DataError, FairauditError
from fairaudit.counting.sources import parquet

TRIES = round(200 * ATTACKS)
SPEC: dict[str, Any] = {
    "columns": {
        "protected": ["race"],
        "decision": {"column": "y", "positive": "yes", "negative": "no"},
    },
    "metrics": ["selection_rate"],
}
ROUTES = ["race <> 'c'", None]
"""With a filter Polars reads the file, without one Arrow does."""


def table() -> pa.Table:
    return pa.table({"race": ["a", "b", "b"] * 40, "y": ["yes", "no"] * 60})


def as_bytes(some: pa.Table, **options: Any) -> bytearray:
    stream = io.BytesIO()
    pq.write_table(some, stream, **options)
    return bytearray(stream.getvalue())


def encrypted(path: Path, *, plaintext_footer: bool) -> None:
    """Writes a file with one column encrypted."""

    class Keys(encryption.KmsClient):  # type: ignore[misc]
        def wrap_key(self, key_bytes: bytes, _master: str) -> bytes:
            return key_bytes.hex().encode()

        def unwrap_key(self, wrapped: bytes, _master: str) -> bytes:
            return bytes.fromhex(wrapped.decode())

    factory = encryption.CryptoFactory(lambda _config: Keys())
    asked = encryption.EncryptionConfiguration(
        footer_key="f", column_keys={"c": ["race"]}, plaintext_footer=plaintext_footer
    )
    made = factory.file_encryption_properties(encryption.KmsConnectionConfig(), asked)
    with pq.ParquetWriter(path, table().schema, encryption_properties=made) as writer:
        writer.write_table(table())


def spec(rule: str | None) -> dict[str, Any]:
    return SPEC if rule is None else {**SPEC, "filter": rule}


def headers(content: bytes | bytearray) -> list[tuple[int, int]]:
    """Where the pages of a file begin, and where their bytes do."""
    return [*broken_parquet.headers(bytes(content))]


@pytest.mark.long
def test_no_damaged_file_kills_a_reader(tmp_path: Path) -> None:
    script = Path(broken_parquet.__file__)
    first, told = 0, {"refused": 0, "counted": 0}
    while first < TRIES:
        command = [sys.executable, str(script), str(tmp_path), str(first), str(TRIES)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        for line in done.stdout.splitlines():
            number, _, found = line.partition(" ")
            assert found in told, f"try {number}: {found or 'died'}, {done.stderr[-500:]}"
            told[found] += 1
            first = int(number) + 1
        assert not done.returncode, done.stderr[-500:]
    assert told["refused"] > told["counted"] > 0


@pytest.mark.parametrize("rule", ROUTES)
@pytest.mark.parametrize("plaintext_footer", [True, False])
def test_an_encrypted_file_is_called_so(
    tmp_path: Path, rule: str | None, *, plaintext_footer: bool
) -> None:
    encrypted(tmp_path / "data.parquet", plaintext_footer=plaintext_footer)
    with pytest.raises(DataError, match=r"data\.parquet: the file is encrypted"):
        fairaudit.audit(spec(rule), tmp_path / "data.parquet")


@pytest.mark.parametrize("rule", ROUTES)
def test_a_file_that_would_kill_stops_no_other_of_its_batch(
    tmp_path: Path, rule: str | None
) -> None:
    encrypted(tmp_path / "b.parquet", plaintext_footer=True)
    for name in ("a", "c"):
        (tmp_path / f"{name}.parquet").write_bytes(as_bytes(table()))
    found = fairaudit.audit_each(spec(rule), tmp_path)
    kinds = {Path(name).stem: isinstance(one, FairauditError) for name, one in found.items()}
    assert kinds == {"a": False, "b": True, "c": False}


@pytest.mark.parametrize("rule", ROUTES)
@pytest.mark.parametrize("values", [b"\xff\xff\xff\xff\x0f", b"\xfe\xff\xff\xff\x0f", b"\xff\x01"])
def test_a_page_has_no_more_values_than_its_row_group(
    tmp_path: Path, rule: str | None, values: bytes
) -> None:
    # The header of a page of 120 values: field 5, a struct, and in it field 1, the number 240.
    content = as_bytes(table(), compression="none", use_dictionary=False, write_statistics=False)
    at = content.index(b"\x2c\x15\xf0\x01") + 2
    content[at : at + len(values)] = values
    path = tmp_path / "data.parquet"
    path.write_bytes(content)
    with pytest.raises(DataError, match="the column 'race' is damaged"):
        fairaudit.audit(spec(rule), path)


def test_a_row_group_of_too_many_rows_is_refused(tmp_path: Path) -> None:
    content = as_bytes(table())
    length = int.from_bytes(content[-8:-4], "little")
    footer = content[-8 - length : -8].replace(b"\xf0\x01", b"\xfe\xff\xff\xff\x0f")
    path = tmp_path / "data.parquet"
    path.write_bytes(content[: -8 - length] + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(DataError, match=r"2,147,483,647 rows, and at most 268,435,456"):
        fairaudit.audit(SPEC, path)


@pytest.mark.parametrize("rule", ROUTES)
def test_a_checksum_finds_every_flipped_bit_of_a_column_that_is_read(
    tmp_path: Path, rule: str | None
) -> None:
    content = as_bytes(table(), compression="none", write_page_checksum=True)
    chance = random.Random(0)
    used = headers(content)[:4]  # dictionary and data of both columns
    for number in range(round(40 * max(1, ATTACKS / 10))):
        broken = bytearray(content)
        at, start = chance.choice(used)
        header: Any = parquet.read_struct(bytes(content), at)[0]
        broken[chance.randrange(start, start + header[3])] ^= 1 << chance.randrange(8)
        path = tmp_path / f"{number}.parquet"
        path.write_bytes(broken)
        with pytest.raises(DataError, match="the checksum of a page is wrong"):
            fairaudit.audit(spec(rule), path)
    (tmp_path / "sound.parquet").write_bytes(content)
    assert fairaudit.audit(spec(rule), tmp_path / "sound.parquet").ledger.read == 120


@pytest.mark.long
def test_what_libraries_say_when_they_panic_is_not_told(tmp_path: Path) -> None:
    kinds = {"race": "DELTA_BYTE_ARRAY", "y": "PLAIN"}
    some = pa.table({"race": ["aa0", "aa1", "aa2"] * 80, "y": ["yes", "no"] * 120})
    content = as_bytes(some, compression="none", use_dictionary=False, column_encoding=kinds)
    content[headers(content)[0][1]] = 0xFF
    (tmp_path / "data.parquet").write_bytes(content)
    (tmp_path / "spec.yaml").write_text(
        "columns: {protected: [race], decision: {column: y, positive: 'yes'}}\n"
        "metrics: [selection_rate]\n"
    )
    command = [sys.executable, "-m", "fairaudit", "run", "spec.yaml", "--data", "data.parquet"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "panicked" not in done.stderr
    assert done.stderr.startswith("data.parquet: damaged, or not what its name says")
    shown = [*command, "--debug"]
    done = subprocess.run(shown, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "panicked" in done.stderr, "the file makes no library panic any more: take another"

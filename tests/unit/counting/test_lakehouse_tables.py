"""Tables of Delta and Iceberg: the rows of their snapshot, which the provenance names."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fairaudit
from fairaudit.base import inputs
from fairaudit.base.errors import DataError, UsageError
from fairaudit.result import AuditResult

SPEC: dict[str, Any] = {
    "columns": {"protected": ["race"], "decision": {"column": "y", "positive": 1, "negative": 0}},
    "metrics": ["selection_rate"],
}
FIRST = pa.table({"race": ["a", "a", "b"], "y": [1, 0, 1]})
SECOND = pa.table({"race": ["c", "b"], "y": [1, 0]})
SIZES = {"a": (1, 2), "b": (1, 2), "c": (1, 1)}


def sizes(result: AuditResult) -> dict[str, tuple[int | None, int | None]]:
    """Selected and people by group."""
    return {
        row.group[0][1]: (row.estimate.numerator, row.estimate.denominator)
        for row in result.rates
        if row.by
    }


def audit(folder: Path) -> AuditResult:
    return fairaudit.audit(SPEC, str(folder))


@pytest.fixture(autouse=True)
def _nothing_fetched_stays() -> Iterator[None]:
    yield
    inputs.forget_stdin()


def write_delta(folder: Path, rows: pa.Table, mode: str = "append", **more: Any) -> None:
    library = pytest.importorskip("deltalake", reason="pip install deltalake")
    library.write_deltalake(folder, rows, mode=mode, **more)


@pytest.fixture
def iceberg(tmp_path: Path) -> Callable[[], tuple[Any, Path]]:
    """A new Iceberg table, and its folder."""
    pytest.importorskip("sqlalchemy", reason="pip install sqlalchemy")
    sql = pytest.importorskip("pyiceberg.catalog.sql", reason="pip install pyiceberg")

    def create() -> tuple[Any, Path]:
        catalog = sql.SqlCatalog(
            "c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/lake"
        )
        catalog.create_namespace("n")
        table = catalog.create_table("n.loans", schema=FIRST.schema)
        return table, Path(table.location().removeprefix("file://"))

    return create


def test_a_delta_table_is_what_its_log_says(tmp_path: Path) -> None:
    lake = tmp_path / "loans"
    write_delta(lake, FIRST)
    write_delta(lake, SECOND)
    result = audit(lake)
    assert sizes(result) == SIZES
    assert [file.path for file in result.provenance.files] == [f"{lake} (Delta, snapshot 1)"]
    # The files of the first two versions stay in the folder, and are no rows of the third.
    write_delta(lake, SECOND, mode="overwrite")
    assert len([*lake.glob("*.parquet")]) == 3
    result = audit(lake)
    assert sizes(result) == {"b": (0, 1), "c": (1, 1)}
    assert result.provenance.files[0].path.endswith("(Delta, snapshot 2)")
    again = audit(lake)
    inputs.forget_stdin()
    assert again.provenance.files == audit(lake).provenance.files


def test_partitions_of_delta_are_columns(tmp_path: Path) -> None:
    write_delta(tmp_path / "t", FIRST, partition_by=["race"])
    assert sizes(audit(tmp_path / "t")) == {"a": (1, 2), "b": (1, 1)}


@pytest.mark.long
def test_an_iceberg_table_is_its_latest_snapshot(
    iceberg: Callable[[], tuple[Any, Path]],
) -> None:
    table, folder = iceberg()
    table.append(FIRST)
    table.append(SECOND)
    now = table.current_snapshot().snapshot_id
    result = audit(folder)
    assert sizes(result) == SIZES
    assert result.provenance.files[0].path == f"{folder} (Iceberg, snapshot {now})"
    table.overwrite(SECOND)
    assert len([*folder.rglob("*.parquet")]) == 3
    assert sizes(audit(folder)) == {"b": (0, 1), "c": (1, 1)}


def test_the_latest_metadata_of_iceberg_is_clear_or_refused(
    iceberg: Callable[[], tuple[Any, Path]],
) -> None:
    table, folder = iceberg()
    table.append(FIRST)
    table.append(SECOND)
    below = folder / "metadata"
    (before,) = below.glob("00001-*.metadata.json")
    (below / "version-hint.text").write_text(before.name.removesuffix(".metadata.json"))
    assert sizes(audit(folder)) == {"a": (1, 2), "b": (1, 1)}
    (below / "version-hint.text").write_text("9")
    with pytest.raises(DataError, match="is not clear"):
        audit(folder)
    (below / "version-hint.text").unlink()
    (below / "00002-orphan.metadata.json").write_text("{}")
    with pytest.raises(DataError, match="is not clear"):
        audit(folder)


def test_a_damaged_table_is_refused(tmp_path: Path) -> None:
    lake = tmp_path / "t"
    write_delta(lake, FIRST)
    (part,) = lake.glob("*.parquet")
    part.write_bytes(part.read_bytes()[:40])
    with pytest.raises(DataError, match="deltalake cannot read this table of Delta"):
        audit(lake)
    part.unlink()
    with pytest.raises(DataError, match="deltalake cannot read this table of Delta"):
        audit(lake)


@pytest.mark.parametrize(
    ("inside", "module", "extra"),
    [
        ("_delta_log/00000000000000000000.json", "deltalake", "delta"),
        ("metadata/00000-x.metadata.json", "pyiceberg", "iceberg"),
        ("metadata/v1.metadata.json", "pyiceberg", "iceberg"),
    ],
)
def test_a_library_that_is_missing_is_named_and_no_file_is_read_without_it(
    inside: str, module: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / inside).parent.mkdir()
    (tmp_path / inside).write_text("{}")
    pq.write_table(FIRST, tmp_path / "stale.parquet")
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UsageError, match=f"{module}, which reads") as caught:
        audit(tmp_path)
    assert caught.value.hint == f"pip install 'fairaudit-cli[{extra}]'"


def test_a_table_among_others_is_not_read_as_loose_files(tmp_path: Path) -> None:
    write_delta(tmp_path / "lake" / "loans", FIRST)
    with pytest.raises(DataError, match="holds a table of Delta or Iceberg"):
        audit(tmp_path / "lake")


@pytest.mark.parametrize("log", ["_delta_log/0.json", "metadata/v1.metadata.json"])
@pytest.mark.parametrize(
    ("part", "entry"),
    [
        ("x.parquet", "loans/*.parquet"),
        ("x.parquet", "*/*.parquet"),
        ("data/x.parquet", "loans/data"),
        ("data/month=05/x.parquet", "loans/data/month=05/*.parquet"),
        ("data/month=05/x.parquet", "**/*.parquet"),
    ],
)
def test_files_of_a_table_are_not_read_past_its_log(
    log: str, part: str, entry: str, tmp_path: Path
) -> None:
    """Those that the table no longer has lie beside the others."""
    table = tmp_path / "loans"
    (table / part).parent.mkdir(parents=True)
    pq.write_table(FIRST, table / part)
    assert sizes(audit(tmp_path / entry)) == {"a": (1, 2), "b": (1, 1)}
    (table / log).parent.mkdir()
    (table / log).write_text("{}")
    with pytest.raises(
        DataError, match="a table of Delta or Iceberg: its files also hold deleted rows"
    ):
        audit(tmp_path / entry)


def test_a_folder_called_metadata_makes_no_table(tmp_path: Path) -> None:
    (tmp_path / "metadata").mkdir()
    (tmp_path / "metadata" / "readme.txt.json").write_text("{}")
    pq.write_table(FIRST, tmp_path / "x.parquet")
    assert sizes(audit(tmp_path)) == {"a": (1, 2), "b": (1, 1)}

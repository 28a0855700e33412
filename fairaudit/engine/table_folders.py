"""Tables that are folders: Delta and Iceberg. A snapshot of one is written as one Parquet file.

Which files of such a folder are rows is known to its log alone, so it is read by its own library.
"""

from __future__ import annotations

import errno
import importlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from fairaudit.errors import DataError, FairauditError, UsageError
from fairaudit.inputs import keep_fetched
from fairaudit.memory import ran_out

_METADATA = re.compile(r"v?(\d+)(?:-.*)?\.metadata\.json")

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A state of a table: its id, when it was made in milliseconds since 1970, and its rows.

    `open_rows` gives the schema and batches of Arrow.
    """

    id: str
    made: int
    open_rows: Callable[[], tuple[Any, Iterator[Any]]]


@dataclass(frozen=True, slots=True)
class TableFormat:
    """A format of tables: its title, its extra with the module of its library, how it is opened."""

    title: str
    extra: str
    module: str
    open: Callable[[Path], Snapshot]


def find_table(folder: Path) -> TableFormat | None:
    """The format of the table that a folder is; None where it is none. Raises `OSError`."""
    if (folder / "_delta_log").is_dir():
        return _DELTA
    return _ICEBERG if _metadata_files(folder) else None


def marks_table(path: PurePath) -> bool:
    """Whether a file is of the log of a table."""
    is_metadata = path.parent.name == "metadata" and _METADATA.fullmatch(path.name) is not None
    return is_metadata or path.parent.name == "_delta_log"


def fetch_table(folder: Path, name: str, form: TableFormat) -> Path:
    """A file with the rows of the table as it is now, which reports name with the snapshot's id.

    Raises `UsageError` where the library is not installed, `DataError` where it cannot read it.
    """
    try:
        importlib.import_module(form.module)
    except ImportError as error:
        what = f"{name}: {form.module}, which reads tables of {form.title}, is not installed"
        raise UsageError(what, f"pip install 'fairaudit-cli[{form.extra}]'") from error
    with _told_of(name, form):
        snapshot = form.open(folder)
        origin = f"{name} ({form.title}, snapshot {snapshot.id})"
        state = f"{folder.resolve()} {snapshot.made}"
        return keep_fetched(origin, state, "table.parquet", lambda path: _write(path, snapshot))


def _write(path: Path, snapshot: Snapshot) -> None:
    """Writes the rows of a snapshot, a batch at a time."""
    import pyarrow.parquet as pq

    schema, batches = snapshot.open_rows()
    with pq.ParquetWriter(path, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    # The same snapshot gives the same report.
    os.utime(path, (snapshot.made / 1000, snapshot.made / 1000))


def _open_delta(folder: Path) -> Snapshot:
    from deltalake import DeltaTable

    table = DeltaTable(folder)

    def open_rows() -> tuple[Any, Iterator[Any]]:
        data = table.to_pyarrow_dataset()
        return data.schema, data.to_batches()

    return Snapshot(str(table.version()), table.history(1)[0]["timestamp"], open_rows)


def _open_iceberg(folder: Path) -> Snapshot:
    from pyiceberg.table import StaticTable

    table = StaticTable.from_metadata(str(_latest_metadata(folder).absolute()))
    now = table.current_snapshot()

    def open_rows() -> tuple[Any, Iterator[Any]]:
        reader = table.scan().to_arrow_batch_reader()
        return reader.schema, iter(reader)

    if now is None:
        return Snapshot("none", table.metadata.last_updated_ms, open_rows)
    return Snapshot(str(now.snapshot_id), now.timestamp_ms, open_rows)


def _metadata_files(folder: Path) -> list[Path]:
    """The descriptions of an Iceberg table, one for each change; none where it is no such table."""
    below = folder / "metadata"
    if not below.is_dir():
        return []
    return [path for path in below.iterdir() if marks_table(path)]


def _latest_metadata(folder: Path) -> Path:
    """The description that holds now: that of the hint, else of the highest number.

    Raises `DataError` where two have that number: which one a catalog took is not told here.
    """
    files = _metadata_files(folder)
    hint = folder / "metadata" / "version-hint.text"
    if hint.is_file():
        said = hint.read_text().strip()
        named = {said, f"{said}.metadata.json", f"v{said}.metadata.json"}
        latest = [path for path in files if path.name in named]
    else:
        numbers = {path: _read_number(path) for path in files}
        latest = [path for path in files if numbers[path] == max(numbers.values())]
    if len(latest) != 1:
        what = f"{folder}: which metadata of this table of Iceberg is the latest is not clear"
        raise DataError(what, "export the table as Parquet from its catalog")
    return latest[0]


def _read_number(path: Path) -> int:
    """The number of a description; they count up, with or without zeros before them."""
    found = _METADATA.fullmatch(path.name)
    assert found is not None
    return int(found[1])


@contextmanager
def _told_of(name: str, form: TableFormat) -> Iterator[None]:
    """Tells an error of a library by its kind alone: its words may quote a row."""
    try:
        yield
    except FairauditError:
        raise
    except Exception as error:
        if ran_out(error) or getattr(error, "errno", None) in _FULL:
            raise
        what = f"{name}: {form.module} cannot read this table of {form.title}"
        hint = f"{type(error).__name__}: is it whole, and of a version that {form.module} reads?"
        raise DataError(what, hint) from error


_DELTA = TableFormat("Delta", "delta", "deltalake", _open_delta)
_ICEBERG = TableFormat("Iceberg", "iceberg", "pyiceberg", _open_iceberg)

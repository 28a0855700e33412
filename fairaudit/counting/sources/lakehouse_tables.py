"""Delta and Iceberg tables: a snapshot, fetched as one Parquet file. Add a kind here.

Which files of such a folder are rows is known to its log alone, so it is read by its own library.
"""

from __future__ import annotations

import errno
import importlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from fairaudit.base.errors import DataError, FairauditError, UsageError
from fairaudit.base.frozen import Frozen
from fairaudit.base.inputs import keep_fetched
from fairaudit.base.memory import ran_out
from fairaudit.base.trust import refuse

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

_METADATA = re.compile(r"v?(\d+)(?:-.*)?\.metadata\.json")

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Snapshot(Frozen):
    """A state of a table: its id, when it was made in milliseconds since 1970, and its rows.

    `open_rows` gives the schema and batches of Arrow.
    """

    id: str
    made: int
    open_rows: Callable[[], tuple[Any, Iterator[Any]]]


class Place(Frozen):
    """The folder of a table, here or in a store.

    `path` is its path in the file system, `address` its address for a library. `endpoint` is the
    endpoint of a store that is not Amazon's.
    """

    path: str
    address: str
    store: FileSystem | None = None
    endpoint: str | None = None

    @classmethod
    def here(cls, folder: Path) -> Place:
        """A folder of this machine."""
        return cls(str(folder), str(folder.resolve()))


class TableFormat:
    """A format of tables: its title, and its extra with the module of its library."""

    title: str
    extra: str
    module: str

    def open(self, place: Place) -> Snapshot:
        """The table as it is now."""
        raise NotImplementedError


def find_table(folder: Path) -> TableFormat | None:
    """The format of the table in a folder; None for another folder. Raises `OSError`."""
    below = folder / "metadata"
    log = [folder / "_delta_log"] if (folder / "_delta_log").is_dir() else []
    return format_of_table([*log, *(below.iterdir() if below.is_dir() else [])])


def format_of_table(files: Iterable[PurePath]) -> TableFormat | None:
    """The format of the table whose folder holds these files; None for other files."""
    for path in files:
        if "_delta_log" in {path.name, path.parent.name}:
            return _DELTA
        if marks_table(path):
            return _ICEBERG
    return None


def marks_table(path: PurePath) -> bool:
    """Whether a file is of the log of a table."""
    is_metadata = path.parent.name == "metadata" and _METADATA.fullmatch(path.name) is not None
    return is_metadata or path.parent.name == "_delta_log"


def fetch_table(place: Place, name: str, form: TableFormat) -> Path:
    """A file with the rows of the table as it is now, which reports name with the snapshot's id.

    Raises `UsageError` if the library is not installed, `DataError` if it cannot read it.
    """
    refuse(name, f"a table of {form.title}, whose log may name files anywhere")
    try:
        importlib.import_module(form.module)
    except ImportError as error:
        what = f"{name}: {form.module}, which reads tables of {form.title}, is not installed"
        raise UsageError(what, f"pip install 'fairaudit-cli[{form.extra}]'") from error
    try:
        snapshot = form.open(place)
        origin = f"{name} ({form.title}, snapshot {snapshot.id})"
        state = f"{place.address} {snapshot.made}"

        def write(path: Path) -> None:
            import pyarrow.parquet as pq

            schema, batches = snapshot.open_rows()
            with pq.ParquetWriter(path, schema) as writer:
                for batch in batches:
                    writer.write_batch(batch)
            # The same snapshot gives the same report.
            os.utime(path, (snapshot.made / 1000, snapshot.made / 1000))

        return keep_fetched(origin, state, "table.parquet", write)
    except FairauditError:
        raise
    except Exception as error:
        if ran_out(error) or getattr(error, "errno", None) in _FULL:
            raise
        # The message has only the kind of a library's error, whose text may quote a row.
        what = f"{name}: {form.module} cannot read this table of {form.title}"
        hint = (
            f"{type(error).__name__}: check that the table is complete, and of a version that "
            f"{form.module} reads"
        )
        raise DataError(what, hint) from error


class _Delta(TableFormat):
    title, extra, module = "Delta", "delta", "deltalake"

    def open(self, place: Place) -> Snapshot:
        from deltalake import DeltaTable

        # The library reads all other settings from the environment.
        is_plain = place.endpoint is not None and place.endpoint.startswith("http://")
        table = DeltaTable(
            place.address, storage_options={"allow_http": "true"} if is_plain else None
        )

        def open_rows() -> tuple[Any, Iterator[Any]]:
            data = table.to_pyarrow_dataset()
            return data.schema, data.to_batches()

        return Snapshot(str(table.version()), table.history(1)[0]["timestamp"], open_rows)


class _Iceberg(TableFormat):
    title, extra, module = "Iceberg", "iceberg", "pyiceberg"

    def open(self, place: Place) -> Snapshot:
        """The snapshot by the current metadata: named by the hint, or else with the highest number.

        Raises `DataError` if two have this number: only the catalog knows which of them is valid.
        """
        from pyarrow.fs import FileSelector, LocalFileSystem
        from pyiceberg.table import StaticTable

        files, folder = place.store or LocalFileSystem(), f"{place.path}/metadata"
        below = files.get_file_info(FileSelector(folder, allow_not_found=True))
        names = [info.base_name for info in below]
        matches = filter(None, map(_METADATA.fullmatch, names))
        # With or without zeros before them.
        numbers = {match[0]: int(match[1]) for match in matches}
        if "version-hint.text" in names:
            with files.open_input_stream(f"{folder}/version-hint.text") as stream:
                said = stream.read().decode().strip()
            hinted = {said, *(f"{v}{said}.metadata.json" for v in ("", "v"))}
            latest = [name for name in numbers if name in hinted]
        else:
            latest = [name for name, number in numbers.items() if number == max(numbers.values())]
        if len(latest) != 1:
            what = (
                f"{place.path}: it is not clear which metadata of this Iceberg table is the latest"
            )
            raise DataError(what, "export the table as Parquet from its catalog")
        options = {} if place.endpoint is None else {"s3.endpoint": place.endpoint}
        table = StaticTable.from_metadata(f"{place.address}/metadata/{latest[0]}", options)
        now = table.current_snapshot()

        def open_rows() -> tuple[Any, Iterator[Any]]:
            reader = table.scan().to_arrow_batch_reader()
            return reader.schema, iter(reader)

        if now is None:
            return Snapshot("none", table.metadata.last_updated_ms, open_rows)
        return Snapshot(str(now.snapshot_id), now.timestamp_ms, open_rows)


_DELTA, _ICEBERG = _Delta(), _Iceberg()

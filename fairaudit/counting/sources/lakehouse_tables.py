"""Delta and Iceberg tables: the current rows (snapshot) are copied to one Parquet file.

Only the log of such a table says which files in its folder have current rows. So the library of the
format reads the table.
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
    """A state of a table: its id, and the time when it was `made` in milliseconds since 1970.

    `open_rows` returns the Arrow schema and the batches of rows.
    """

    id: str
    made: int
    open_rows: Callable[[], tuple[Any, Iterator[Any]]]


class Place(Frozen):
    """The folder of a table, on this machine (`store` is None) or in a cloud `store`.

    `path` is the path of the folder in the file system or store. `address` is the address of the
    folder for the library of the format. `endpoint` is the address of an S3 store that is not
    Amazon's.
    """

    path: str
    address: str
    store: FileSystem | None = None
    endpoint: str | None = None

    @classmethod
    def here(cls, folder: Path) -> Place:
        """A folder on this machine."""
        return cls(str(folder), str(folder.resolve()))


class TableFormat:
    """A table format: its title, the `module` of its library, and the `extra` that installs it."""

    title: str
    extra: str
    module: str

    def open(self, place: Place) -> Snapshot:
        """The current state of a table."""
        raise NotImplementedError


def find_table(folder: Path) -> TableFormat | None:
    """The format of the table in a folder, or None; `OSError` if the folder cannot be read."""
    below = folder / "metadata"
    log = [folder / "_delta_log"] if (folder / "_delta_log").is_dir() else []
    return format_of_table([*log, *(below.iterdir() if below.is_dir() else [])])


def format_of_table(files: Iterable[PurePath]) -> TableFormat | None:
    """The format of the table to which these files belong; None if no file belongs to a log."""
    for path in files:
        if "_delta_log" in {path.name, path.parent.name}:
            return _DELTA
        if marks_table(path):
            return _ICEBERG
    return None


def marks_table(path: PurePath) -> bool:
    """Whether a file belongs to the log of a table."""
    is_metadata = path.parent.name == "metadata" and _METADATA.fullmatch(path.name) is not None
    return is_metadata or path.parent.name == "_delta_log"


def fetch_table(place: Place, name: str, form: TableFormat) -> Path:
    """A file with the current rows of a table; its name in reports has the id of the snapshot.

    Raises `UsageError` if the library is not installed, `DataError` if it cannot read the table.
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
            # Reports show the time of the file, and must be the same for the same snapshot.
            os.utime(path, (snapshot.made / 1000, snapshot.made / 1000))

        return keep_fetched(origin, state, "table.parquet", write)
    except FairauditError:
        raise
    except Exception as error:
        if ran_out(error) or getattr(error, "errno", None) in _FULL:
            raise
        # The text of a library's error may quote a row, so the message has only its class.
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
        """The snapshot in the current metadata file.

        `version-hint.text` names the current file; otherwise, it is the file with the highest
        number. Raises `DataError` if two files have this number, because only the catalog knows
        which file is valid.
        """
        from pyarrow.fs import FileSelector, LocalFileSystem
        from pyiceberg.table import StaticTable

        files, folder = place.store or LocalFileSystem(), f"{place.path}/metadata"
        below = files.get_file_info(FileSelector(folder, allow_not_found=True))
        names = [info.base_name for info in below]
        matches = filter(None, map(_METADATA.fullmatch, names))
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

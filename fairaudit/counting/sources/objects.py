"""Files (objects) in cloud stores (`s3://`, `gs://`, `az://`): finds and downloads them.

The library of the store finds the credentials, for example in the environment; an address cannot
contain them. Messages do not repeat the text of a store's error, which may quote the request.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import re
import shutil
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fairaudit.base.disclosure_marks import Notice, Subjects
from fairaudit.base.errors import DataError, NothingToAudit, UsageError
from fairaudit.base.inputs import format_of, keep_fetched, list_formats
from fairaudit.base.masking import mask
from fairaudit.base.names import quoted
from fairaudit.base.trust import refuse
from fairaudit.counting.sources.lakehouse_tables import (
    Place,
    TableFormat,
    fetch_table,
    format_of_table,
    marks_table,
)

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo, FileSystem

SCHEMES = {"s3": "s3", "s3a": "s3", "s3n": "s3", "gs": "gs", "gcs": "gs", "az": "az"}
SCHEMES |= {"abfs": "az", "abfss": "az"}
"""The kind of store for each beginning of an address."""

_PATIENCE = timedelta(seconds=60)
_PIECE = 1 << 20
_MOST_NAMES = 5
_KIND = re.compile(r"AWS Error ([A-Z_]{2,40}) ")
_WHO = "set the credentials in the environment, for example AWS_PROFILE or AWS_ACCESS_KEY_ID"


def is_object(entry: str) -> bool:
    """Whether an entry of `data` names objects of a store."""
    scheme, sign, _ = entry.partition("://")
    return bool(sign) and scheme.lower() in SCHEMES


def fetch_objects(entry: str, notices: list[Notice]) -> list[Path]:
    """Local copies of the objects that an address names: one object, a folder or a glob.

    An object with the same size and time as its copy is not downloaded again. Raises
    `NothingToAudit` for a folder or glob without data, `DataError` if the store does not return the
    object, and `UsageError` if the address has more than a bucket and a path.
    """
    scheme, path, account = _split(entry)
    refuse(mask(entry), "a cloud store")
    bucket, _, key = path.partition("/")
    # The name of a bucket never has these characters, and parameters would be part of the path.
    if re.search("[@:?&#]", bucket) or re.search(r"[?&](?:[^/&=]*)=", key):
        what = "the address of an object has a user, a password or parameters, which reports print"
        raise UsageError(what, f"name the bucket and the path alone; {_WHO}")
    path = path.rstrip("/")
    if not bucket or glob.has_magic(bucket):
        raise UsageError(f"{entry}: no bucket is named", f"such as {scheme}://bucket/x.parquet")
    from pyarrow import ArrowException

    try:
        store = _open_store(scheme, account)
        table = _find_table(store, path)
        if table is not None:
            endpoint = _find_endpoint() if scheme == "s3" else None
            return [fetch_table(Place(path, f"{scheme}://{path}", store, endpoint), entry, table)]
        return [_fetch(store, scheme, found) for found in _find(store, entry, path, notices)]
    except PermissionError as error:
        raise DataError(f"{entry}: the cloud storage refuses access", _WHO) from error
    except (OSError, ArrowException) as error:
        kind = _KIND.search(str(error))
        if isinstance(error, OSError) and error.strerror and kind is None:
            hint = "free some space, or set TMPDIR to a folder on another disk"
            raise DataError(
                f"{entry}: the file cannot be saved on this computer: {error.strerror}", hint
            ) from error
        # The text of a store's error may quote the request, so the message has only its kind.
        why = f" ({kind[1]})" if kind else ""
        raise DataError(
            f"{entry}: the cloud storage does not return this file{why}", _WHO
        ) from error


def _split(entry: str) -> tuple[str, str, str | None]:
    """The kind of store, the path in it, and the account (after `@` in `abfss://`), if any."""
    scheme, _, path = entry.partition("://")
    named = re.fullmatch(r"([^/@:]+)@([\w-]+)(?:\.[\w.-]+)?(/.*)?", path)
    if named is None or not scheme.lower().startswith("abfs"):
        return SCHEMES[scheme.lower()], path, None
    return "az", named[1] + (named[3] or ""), named[2]


def _find_table(store: FileSystem, folder: str) -> TableFormat | None:
    """The format of the table in a folder of a store; None if it has no table."""
    from pyarrow.fs import FileType

    if glob.has_magic(folder) or store.get_file_info(folder).type != FileType.Directory:
        return None
    logs = (_list(store, f"{folder}/{name}") for name in ("_delta_log", "metadata"))
    return format_of_table(PurePosixPath(info.path) for log in logs for info in log)


def _refuse_table_files(store: FileSystem, what: str, files: Sequence[FileInfo]) -> None:
    """Raises `DataError` for objects of a Delta or Iceberg table, which may be out of date."""
    paths = [PurePosixPath(info.path) for info in files]
    above = {str(folder) for path in paths for folder in path.parents if folder.name}
    if any(map(marks_table, paths)) or any(_find_table(store, folder) for folder in sorted(above)):
        what = f"{what} a table of Delta or Iceberg: its files also hold deleted rows"
        raise DataError(what, "name the folder of the table itself")


def _find(store: FileSystem, entry: str, path: str, notices: list[Notice]) -> list[FileInfo]:
    """The objects that a path names: one object, data files of a folder, or matches of a glob."""
    from pyarrow.fs import FileType

    (found,) = store.get_file_info([path])
    if found.type == FileType.File:
        return [found]
    if found.type == FileType.Directory:
        everything = _list(store, path)
        _refuse_table_files(store, f"the folder {entry} holds", everything)
        inside = [info for info in everything if not info.base_name.startswith((".", "~"))]
        known = [info for info in inside if format_of(Path(info.base_name))]
        others = (info.path for info in inside if not format_of(Path(info.base_name)))
        notices += note_unread(entry, [other.removeprefix(path).lstrip("/") for other in others])
        if not known:
            raise NothingToAudit(f"the folder {entry} holds no file to audit", list_formats())
        return known
    if not glob.has_magic(path):
        raise DataError(f"the object {entry} does not exist", "check the bucket and the path")
    parts = path.split("/")
    fixed = next(place for place, part in enumerate(parts) if glob.has_magic(part))
    start = "/".join(parts[:fixed])
    matches = [
        info
        for info in _list(store, start)
        if _matches(info.path.split("/")[fixed:], parts[fixed:])
    ]
    if not matches:
        raise NothingToAudit(f"the glob {entry} matches no object", "check the pattern")
    _refuse_table_files(store, f"the glob {entry} finds files of", matches)
    return matches


def note_unread(entry: str, names: Sequence[str]) -> list[Notice]:
    """A notice on files and folders that are not read; the name of a folder ends with `/`."""
    if not names:
        return []
    shown = ", ".join([*map(quoted, names[:_MOST_NAMES]), *["…"] * (len(names) > _MOST_NAMES)])
    files = "files or folders" if any(name.endswith("/") for name in names) else "files"
    what = f"{len(names):,} other {files} in {entry} are not read: {shown}"
    if len(names) == 1:
        what = f"{shown} in {entry} is not read"
    return [Notice(what, Subjects.NOBODY)]


def _list(store: FileSystem, folder: str) -> list[FileInfo]:
    """All objects below a folder, sorted by path."""
    from pyarrow.fs import FileSelector, FileType

    found = store.get_file_info(FileSelector(folder, recursive=True, allow_not_found=True))
    return sorted((info for info in found if info.type == FileType.File), key=lambda i: i.path)


def _matches(names: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether the names in a path match the parts of a pattern (`**`: any number of folders)."""
    if not parts or not names:
        return not parts and not names
    if parts[0] == "**":
        return _matches(names, parts[1:]) or (len(names) > 1 and _matches(names[1:], parts))
    hidden = names[0].startswith(".") and not parts[0].startswith(".")
    fits = fnmatch.fnmatchcase(names[0], parts[0]) and not hidden
    return fits and _matches(names[1:], parts[1:])


def _fetch(store: FileSystem, scheme: str, found: FileInfo) -> Path:
    """A local copy of an object; raises `DataError` if it has another size than the object."""
    address = f"{scheme}://{found.path}"
    if format_of(Path(found.base_name)) is None:
        raise DataError(f"{address}: unknown file format", list_formats())

    def write(path: Path) -> None:
        with store.open_input_stream(found.path, compression=None) as stream, path.open("wb") as to:
            shutil.copyfileobj(stream, to, _PIECE)
        if path.stat().st_size != found.size:
            raise DataError(f"{address}: it changed while it was downloaded", "run again")
        os.utime(path, ns=(found.mtime_ns, found.mtime_ns))

    suffixes = PurePosixPath(found.base_name).suffixes[-2:]
    return keep_fetched(
        address, f"{found.size} {found.mtime_ns}", f"object{''.join(suffixes)}", write
    )


def _open_store(scheme: str, account: str | None = None) -> FileSystem:
    from pyarrow import fs

    if scheme == "s3":
        # Not every version of Arrow reads the endpoint from the environment.
        endpoint = _find_endpoint()
        return fs.S3FileSystem(**({"endpoint_override": endpoint} if endpoint else {}))
    try:
        if scheme == "gs":
            options: dict[str, Any] = {"retry_time_limit": _PATIENCE}
            if host := os.environ.get("STORAGE_EMULATOR_HOST"):
                protocol, _, authority = host.rpartition("://")
                options |= {"endpoint_override": authority, "scheme": protocol or "http"}
                options |= {"anonymous": True}
            return fs.GcsFileSystem(**options)
        return fs.AzureFileSystem(**_find_azure(account))
    except (ImportError, AttributeError) as error:
        what = f"this build of pyarrow cannot read {scheme}://"
        raise UsageError(what, "pip install 'fairaudit-cli[cloud]'") from error


def _find_azure(account: str | None = None) -> dict[str, str]:
    """The options of an Azure store: the storage account, and the credentials.

    A connection string takes precedence over the variables for its parts.
    """
    text = os.environ.get("AZURE_STORAGE_CONNECTION_STRING", "")
    parts = dict(part.split("=", 1) for part in text.split(";") if "=" in part)
    found = {
        "account_name": ("AccountName", "AZURE_STORAGE_ACCOUNT_NAME"),
        "account_key": ("AccountKey", "AZURE_STORAGE_ACCOUNT_KEY"),
        "sas_token": ("SharedAccessSignature", "AZURE_STORAGE_SAS_TOKEN"),
    }
    options = {
        option: value
        for option, (name, variable) in found.items()
        if (value := parts.get(name) or os.environ.get(variable))
    }
    options |= {"account_name": account} if account else {}
    if "account_name" not in options:
        what = "an Azure address needs the name of the storage account"
        hint = "set AZURE_STORAGE_ACCOUNT_NAME or AZURE_STORAGE_CONNECTION_STRING"
        raise UsageError(what, hint)
    if "BlobEndpoint" in parts:
        endpoint = urlsplit(parts["BlobEndpoint"])
        # If the authority begins with a dot, Arrow puts the account before it.
        authority = endpoint.netloc.removeprefix(options["account_name"])
        for kind in ("blob", "dfs"):
            options |= {f"{kind}_storage_authority": authority}
            options |= {f"{kind}_storage_scheme": endpoint.scheme}
    return options


def _find_endpoint() -> str | None:
    """The address of an S3 store that is not Amazon's, from the environment."""
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")

"""Refuses to add up counts of other plans, or of one file twice; hashes of files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from fairaudit.base.errors import DataError
from fairaudit.base.frozen import field_names
from fairaudit.base.names import copied
from fairaudit.counting.counts import CountedFile
from fairaudit.counting.plan import Plan
from fairaudit.counting.sources.sources import open_bytes


def refuse_other_plans(plan: Plan, other: Plan, path: Path, first: Path) -> None:
    """Raises `DataError` where the file at a path counts by another plan than the first one."""
    if not plan.counts_like(other):
        what = f"{copied(str(path))} and {copied(str(first))} count differently"
        raise DataError(f"{what}: {_differences(plan, other)}", "count both alike")


def refuse_twice(counted: Sequence[CountedFile], more: Sequence[CountedFile], path: Path) -> None:
    """Raises `DataError` where two parts are of files of the same content.

    Where small cells of one are hidden its hash is not that of the data; path and time tell it.
    """
    known = {source.sha256: source.file.path for source in counted if source.sha256}
    written = {(source.file.path, source.file.modified): source for source in counted}
    for source in more:
        same = written.get((source.file.path, source.file.modified))
        is_hidden = same is not None and None in {same.records, source.records}
        if source.sha256 in known or (is_hidden and source.file.modified is not None):
            other = known.get(source.sha256 or "", source.file.path)
            why = "the same content" if source.sha256 in known else "the same path and time"
            raise DataError(
                f"{copied(str(path))}: {source.file.path} is counted already, as {other}: {why}",
                "leave it out; if equal by chance: merge --repeated, or `repeated_files: allow`",
            )


def _differences(first: Plan, second: Plan) -> str:
    """Which parts of two plans are not the same."""
    own, other = first.counted(), second.counted()
    names = [
        name
        for name in field_names(Plan)
        if name != "search" and getattr(own, name) != getattr(other, name)
    ]
    return ", ".join(names)


def hash_file(path: Path) -> str:
    """The SHA-256 of what a file holds; of packed text, of the text, however it is packed."""
    with open_bytes(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def spell_without_digest(document: bytes) -> bytes:
    """A JSON object in one spelling, without its `digest`: for a fingerprint of what it says.

    By what was written: a set that is read again may have another order.
    """
    tree = json.loads(document)
    return json.dumps({**tree, "digest": None}, sort_keys=True).encode()

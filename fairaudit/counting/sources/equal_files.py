"""Refuses or reports data files that have the same rows, because their people would count twice."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TypeVar

from fairaudit.base.disclosure_marks import Notice, Subjects
from fairaudit.base.errors import DataError
from fairaudit.base.frozen import replace
from fairaudit.counting.sources import SourceFile

_FIRST_ROWS = 1000

Item = TypeVar("Item")


def compare_files(
    files: Sequence[SourceFile],
    checked: Sequence[SourceFile],
    separator: str,
    *,
    may_repeat: bool,
) -> list[Notice]:
    """Raises `DataError` if two files have the same rows; returns a notice if this is uncertain.

    Rows are equal if all columns have the same text; the order of columns, the encoding, the
    compression and the format do not matter. Two formats may write the same value differently. So
    two files of different formats give a notice if they have the same number of rows. Files without
    rows are skipped. Files in folders of different partitions are not compared. With `may_repeat`,
    equal files give a notice instead of an error.
    """
    pairs_read = zip(files, checked, strict=True)
    filled = [replace(file, records=read.records) for file, read in pairs_read if read.records]
    groups = [*_group(filled, lambda file: (file.records, *file.partitions.items()))]
    # Pairs of files with the same rows. Only files with the same number of rows are opened, and
    # only files with the same first rows are read to the end.
    pairs = [
        (first, other)
        for group in groups
        for members in _group(group, lambda file: hash_rows(file, separator, _FIRST_ROWS))
        for first, *others in _group(members, lambda file: hash_rows(file, separator))
        for other in others
    ]
    if not pairs:
        for group in groups:
            first, other = group[0], next((x for x in group if x.kind != group[0].kind), None)
            if other is not None:
                # The notice does not show the number of rows: it could reveal dropped rows.
                both = f"{first.file.path} and {other.file.path} have as many rows"
                doubt = f"{both}: if these are the same in two formats, every count is double"
                return [Notice(doubt, Subjects.NOBODY)]
        return []
    first, second = pairs[0]
    what = f"{first.file.path} and {second.file.path} have the same content"
    if len(pairs) > 1:
        copies = "is 1 more copy" if len(pairs) == 2 else f"are {len(pairs) - 1:,} more copies"
        what += f", and there {copies}"
    if may_repeat:
        notice = f"{what}; each is counted, as `repeated_files: allow` asks"
        return [Notice(notice, Subjects.NOBODY)]
    hint = "leave the copy out, or write `repeated_files: allow` in the spec to count both"
    raise DataError(f"{what}: their rows would count twice", hint)


def _group(items: Sequence[Item], key: Callable[[Item], Hashable]) -> Iterator[list[Item]]:
    """Lists of two or more items with the same key."""
    groups: dict[Hashable, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return (group for group in groups.values() if len(group) > 1)


def hash_rows(file: SourceFile, separator: str, most: int | None = None) -> str:
    """A hash of the names of the columns, and of the rows (with `most`, of the first rows).

    If a column cannot be read as text, the result is a hash of the bytes of the file.
    """
    import polars as pl  # not needed to count with the kernel

    from fairaudit.counting.sources.batches import batches, collect

    try:
        (batch,) = batches([file], separator)
        names = sorted(batch.schema)
        texts = batch.frame.select(pl.col(name).cast(pl.String) for name in names)
        rows = texts if most is None else texts.head(most)
        hashes = collect(rows.select(pl.struct(pl.all()).hash()), batch).to_series()
    except DataError:
        with file.path.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    return hashlib.sha256(repr(names).encode() + hashes.to_numpy().tobytes()).hexdigest()

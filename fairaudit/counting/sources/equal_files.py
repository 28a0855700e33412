"""Files of one audit with the same content, whose rows would count twice: refused, or reported."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TypeVar

from fairaudit.base.disclosure_marks import Subjects
from fairaudit.base.errors import DataError
from fairaudit.base.notice import Notice
from fairaudit.counting.sources.sources import CheckedFile, SourceFile, open_bytes

_BLOCK = 2**16

Item = TypeVar("Item")


def compare_files(
    files: Sequence[SourceFile], checked: Sequence[CheckedFile], *, may_repeat: bool
) -> list[Notice]:
    """A notice on files with the same content; raises `DataError` unless they `may_repeat`.

    Packed text is compared as it is unpacked. A file without rows repeats none.
    """
    pairs = [*_find_pairs([pair for pair in zip(files, checked, strict=True) if pair[1].records])]
    if not pairs:
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


def _find_pairs(
    files: Sequence[tuple[SourceFile, CheckedFile]],
) -> Iterator[tuple[SourceFile, SourceFile]]:
    """Each file with the same content as an earlier one, behind that one.

    Only files of as many rows, and of one size unless some are packed, are opened. What begins
    alike is read up to its first difference. Folders that spell columns make other rows of a file.
    """
    by_size = all(file.unpacked_size is not None for file, _ in files)
    for group in _group(
        files,
        lambda pair: (
            pair[1].records,
            by_size and pair[0].unpacked_size,
            *pair[0].partitions.items(),
        ),
    ):
        for members in _group([file for file, _ in group], _hash_start):
            different: list[SourceFile] = []
            for file in members:
                same = next((other for other in different if _are_equal(other, file)), None)
                if same is None:
                    different.append(file)
                else:
                    yield same, file


def _group(items: Sequence[Item], key: Callable[[Item], Hashable]) -> Iterator[list[Item]]:
    """The items of each key that several have."""
    groups: dict[Hashable, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return (group for group in groups.values() if len(group) > 1)


def _hash_start(file: SourceFile) -> bytes:
    with open_bytes(file.path) as text:
        return hashlib.sha256(text.read(_BLOCK)).digest()


def _are_equal(first: SourceFile, second: SourceFile) -> bool:
    sizes = {file.unpacked_size for file in (first, second)}
    if len(sizes) > 1 and None not in sizes:
        return False
    if first.path.samefile(second.path):
        return True
    with open_bytes(first.path) as text, open_bytes(second.path) as other:
        while (block := text.read(_BLOCK)) == other.read(_BLOCK):
            if not block:
                return True
    return False

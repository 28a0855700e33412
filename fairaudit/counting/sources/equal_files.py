"""Files of one audit with the same content, whose rows would count twice: refused, or reported."""

from __future__ import annotations

import codecs
import hashlib
import itertools
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TypeVar

from fairaudit.base.disclosure_marks import Notice, Subjects
from fairaudit.base.errors import DataError
from fairaudit.counting.sources.sources import CheckedFile, SourceFile, open_bytes

_BLOCK = 2**16

Item = TypeVar("Item")


def compare_files(
    files: Sequence[SourceFile], checked: Sequence[CheckedFile], *, may_repeat: bool
) -> list[Notice]:
    """A notice on files that may hold the same rows; raises `DataError` if their content is equal.

    Packed text is compared after it is unpacked, without its line ends and byte order mark. Files
    of two formats are not compared: equal numbers of rows give a notice. Files without rows are
    skipped. With `may_repeat` nothing is refused.
    """
    filled = [pair for pair in zip(files, checked, strict=True) if pair[1].records]
    pairs = [*_find_pairs(filled)]
    if not pairs:
        return _notice_formats(filled)
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


def _notice_formats(files: Sequence[tuple[SourceFile, CheckedFile]]) -> list[Notice]:
    """A notice where two files of other formats have as many rows, and so may have the same."""
    for group in _group(files, lambda pair: (pair[1].records, *pair[0].partitions.items())):
        first = group[0][0]
        other = next((file for file, _ in group if file.kind != first.kind), None)
        if other is not None:
            # Their number would reveal how many of them are dropped.
            both = f"{first.file.path} and {other.file.path} have as many rows"
            what = f"{both}: if these are the same in two formats, every count is double"
            return [Notice(what, Subjects.NOBODY)]
    return []


def _find_pairs(
    files: Sequence[tuple[SourceFile, CheckedFile]],
) -> Iterator[tuple[SourceFile, SourceFile]]:
    """Pairs of an earlier file and a file with the same content.

    Only files of the same format and number of rows are opened. Files with the same beginning are
    read up to their first difference. Files with other columns from their folders differ.
    """
    for group in _group(
        files, lambda pair: (pair[1].records, pair[0].kind, *pair[0].partitions.items())
    ):
        for members in _group(
            [file for file, _ in group],
            lambda file: hashlib.sha256(next(_read_blocks(file))).digest(),
        ):
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


def _are_equal(first: SourceFile, second: SourceFile) -> bool:
    pairs = itertools.zip_longest(_read_blocks(first), _read_blocks(second))
    return first.path.samefile(second.path) or all(one == other for one, other in pairs)


def _read_blocks(file: SourceFile) -> Iterator[bytes]:
    """The content in blocks; of text without a byte order mark, with one kind of line ends."""
    is_text = file.form is not None and file.form.is_text
    with open_bytes(file.path) as content:
        rest = content.read(len(codecs.BOM_UTF8))
        if is_text:
            rest = rest.removeprefix(codecs.BOM_UTF8)
        while block := content.read(_BLOCK):
            rest += block
            if is_text:
                rest = rest.replace(b"\r\n", b"\n")
            while len(rest) > _BLOCK + 2:  # what may be half a line end, or the last, stays
                yield rest[:_BLOCK]
                rest = rest[_BLOCK:]
    yield rest.removesuffix(b"\n") if is_text else rest

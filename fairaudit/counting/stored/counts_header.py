"""The header of a file of counts, as JSON; refusals to add up; hashes of files.

Counts of other plans, or of one file twice, do not add up; headers of other versions are refused.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec

from fairaudit.base.disclosure_marks import Subjects
from fairaudit.base.errors import DataError
from fairaudit.base.frozen import Frozen, field_names, replace
from fairaudit.base.names import copied
from fairaudit.base.notice import NoticeRate
from fairaudit.base.version import __version__
from fairaudit.counting.columns import Cut
from fairaudit.counting.counts import CountedFile, Counts, HiddenCells, Median
from fairaudit.counting.plan import Key, Plan
from fairaudit.counting.sources.sources import open_bytes


def refuse_other_plans(plan: Plan, other: Plan, path: Path, first: Path) -> None:
    """Raises `DataError` where the file at a path counts by another plan than the first one."""
    if not plan.counts_like(other):
        own, its = plan.counted(), other.counted()
        names = [name for name in field_names(Plan) if getattr(own, name) != getattr(its, name)]
        differences = ", ".join(name for name in names if name != "search")
        what = f"{copied(str(path))} and {copied(str(first))} count differently"
        hint = "count both parts with the same spec"
        if "cuts" in names:
            hint = "each part has its own quantiles: write the edges in the spec, `bins: [30, 50]`"
        raise DataError(f"{what}: {differences}", hint)


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
                "leave out one; if they are equal by chance, use merge --repeated, or "
                "`repeated_files: allow`",
            )


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


VERSION = 4
"""Of the file; any other is refused."""


class StoredNotice(Frozen):
    """A notice with what decides whether it is published."""

    text: str
    subjects: Subjects
    rates: tuple[NoticeRate, ...]


class SideHeader(Frozen):
    """What a header says of counts: those of the cells, or those beside a candidate."""

    read: int
    route: str
    sources: tuple[CountedFile, ...]
    notices: tuple[StoredNotice, ...]
    largest_weight: float = 0.0
    weight_errors: tuple[float, float] = (0.0, 0.0)


class Header(Frozen):
    """What stands in the file beside its columns; `digest` is of both.

    `shifts` are by how many bits the bins of each score were joined, `table_levels` the levels of
    each key that only tables beside the cells have.
    """

    version: int
    made_by: str
    plan: Plan
    cuts: tuple[tuple[str, Fraction, Cut], ...]
    side: SideHeader
    shifts: dict[str, int]
    medians: dict[str, Median]
    table_levels: tuple[tuple[Key, tuple[str | None, ...]], ...]
    candidates: dict[str, SideHeader]
    left_out: dict[str, str]
    hidden: tuple[HiddenCells, ...] = ()
    digest: str = ""


_SHARE = re.compile(r"\d{1,400}(/0*[1-9]\d{0,400})?", re.ASCII)


def spell_stored(value: Frozen) -> bytes:
    """What a file stores, as JSON."""
    return msgspec.json.encode(value, enc_hook=str)  # a fraction


def _read_fraction(cls: type, value: Any) -> Any:  # noqa: ANN401  # as msgspec asks
    """A share, as it is written: no power of ten, whose digits might fill the memory."""
    if not (isinstance(value, str) and _SHARE.fullmatch(value)):
        raise ValueError("no fraction")
    return cls(value)


def read_header(document: bytes, name: str) -> Header:
    """The header of the file `name`; `DataError` for that of another version."""
    found = json.loads(document).get("version")
    if found != VERSION:
        what = (
            f"{name} has version {found} of the counts format, and this program reads "
            f"version {VERSION}"
        )
        raise DataError(what, "count and audit with the same version")
    try:
        return msgspec.json.decode(document, type=Header, dec_hook=_read_fraction)
    except msgspec.MsgspecError as error:
        raise ValueError(f"no header: {error}") from error


def describe_counts(counts: Counts) -> Header:
    """The header of counts, without a digest."""
    searched = counts.searched
    return Header(
        version=VERSION,
        made_by=f"fairaudit {__version__}",
        plan=replace(counts.plan.counted(), cuts={}),
        cuts=tuple((*quantile, cut) for quantile, cut in counts.plan.cuts.items()),
        side=_describe_side(counts),
        shifts={column: scores.shift for column, scores in counts.scores.items()},
        medians={**counts.medians},
        table_levels=tuple(
            (key, levels)
            for key, levels in counts.table_levels.items()
            if key not in counts.plan.keys
        ),
        candidates={}
        if searched is None
        else {name: _describe_side(table) for name, table in searched.tables.items()},
        left_out={} if searched is None else {**searched.left_out},
        hidden=counts.hidden,
    )


def _describe_side(counts: Counts) -> SideHeader:
    weights = counts.weights
    return SideHeader(
        read=counts.read,
        route=counts.route,
        sources=counts.sources,
        notices=tuple(
            StoredNotice(str(notice), notice.subjects, notice.rates) for notice in counts.notices
        ),
        largest_weight=0.0 if weights is None else weights.largest,
        weight_errors=(0.0, 0.0) if weights is None else weights.errors,
    )

"""Where a result comes from: spec, data, options, and where every row went."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from fairaudit.cube import ExcludeBelow, ShareOf
from fairaudit.ledger import Ledger, LedgerLine, PublishedLedger, PublishedLine
from fairaudit.report.json.options import (
    read_inference,
    read_minimum,
    write_inference,
    write_minimum,
)
from fairaudit.report.json.reading import Member
from fairaudit.result import DataFile, FailOn, Provenance


def write_spec(made: Provenance) -> dict[str, Any]:
    """The spec that was asked."""
    return {
        "path": made.spec_path,
        "sha256": made.spec_sha256,
        "title": made.title,
        "context": dict(made.context),
    }


def write_data(made: Provenance) -> dict[str, Any]:
    """The data that were read, and how."""
    return {
        "files": [_file(one) for one in made.files],
        "rows": made.rows,
        "route": made.route,
        "cube_sha256": made.cube_sha256,
        "filter": made.filter,
        "count": made.count,
        "weight": made.weight,
        "weight_error": made.weight_error if made.weight else None,
        "cluster": made.cluster,
        "clusters": made.clusters,
    }


def write_options(made: Provenance, fail_on: FailOn) -> dict[str, Any]:
    """What the spec and the command set for the whole audit."""
    return {
        "fail_on": str(fail_on),
        **write_minimum(made.minimum),
        "exclude_below": made.exclude_below and _exclude_below(made.exclude_below),
        "inference": write_inference(made.inference),
        "suppress_below": made.suppress_below,
    }


def read_provenance(whole: Member) -> Provenance:
    """What was run on what; a file's time to the second, as it is written."""
    spec, data, options = whole["spec"], whole["data"], whole["options"]
    return Provenance(
        version=whole["tool"]["version"].text(),
        spec_path=spec["path"].text(),
        spec_sha256=spec["sha256"].text(),
        title=spec["title"].text(),
        context={name: one.text() for name, one in spec["context"].members()},
        files=data["files"].each(_read_file),
        rows=data["rows"].or_none(Member.count),
        route=data["route"].text(),
        cube_sha256=data["cube_sha256"].or_none(Member.text),
        filter=data["filter"].or_none(Member.text),
        count=data["count"].or_none(Member.text),
        weight=data["weight"].or_none(Member.text),
        weight_error=data["weight_error"].or_none(Member.number) or 0.0,
        minimum=read_minimum(options),
        exclude_below=options["exclude_below"].or_none(_read_exclude_below),
        inference=read_inference(options["inference"]),
        created=whole["created"].text(),
        suppress_below=options["suppress_below"].or_none(Member.integer),
        cluster=data["cluster"].or_none(Member.text) if "cluster" in data else None,
        clusters=data["clusters"].or_none(Member.count) if "clusters" in data else None,
    )


def _file(one: DataFile) -> dict[str, Any]:
    modified = None if one.modified is None else datetime.fromtimestamp(one.modified, UTC)
    return {
        "path": one.path,
        "bytes": one.bytes,
        "lines": one.lines,
        "modified": modified and modified.isoformat(timespec="seconds"),
    }


def _read_file(row: Member) -> DataFile:
    return DataFile(
        row["path"].text(),
        row["bytes"].count(),
        row["modified"].or_none(_read_moment),
        row["lines"].or_none(Member.count),
    )


def _read_moment(row: Member) -> float:
    """A time as seconds since 1970."""
    try:
        moment = datetime.fromisoformat(row.text())
    except ValueError:
        row.refuse("is no time")
    return moment.timestamp() if moment.tzinfo else row.refuse("names no time zone")


def _exclude_below(rule: ExcludeBelow) -> dict[str, Any]:
    return {
        "share": float(rule.share),
        "share_text": str(rule.share),
        "reason": rule.reason,
        "of": str(rule.of),
    }


def _read_exclude_below(row: Member) -> ExcludeBelow:
    share, reason = row["share_text"].fraction(), row["reason"].text()
    return ExcludeBelow(share, reason, row["of"].one_of(ShareOf))


def write_ledger(ledger: Ledger | PublishedLedger) -> dict[str, Any]:
    """Where every row went."""
    return {
        "read": ledger.read,
        "counted": ledger.counted,
        "people": ledger.people,
        "filtered": ledger.filtered,
        "undecided": ledger.undecided,
        "dropped": [_line(one) for one in ledger.dropped],
        "set_aside": [_line(one) for one in ledger.set_aside],
    }


def read_ledger(row: Member, *, published: bool) -> Ledger | PublishedLedger:
    """Where every row went; a published one may hide numbers, any other one has to close."""
    if published and _hides(row):
        return PublishedLedger(
            **{name: row[name].or_none(Member.count) for name in _NUMBERS},
            dropped=row["dropped"].each(_read_published_line),
            set_aside=row["set_aside"].each(_read_published_line),
        )
    try:
        return Ledger(
            **{name: row[name].count() for name in _NUMBERS},
            dropped=row["dropped"].each(_read_line),
            set_aside=row["set_aside"].each(_read_line),
        )
    except AssertionError:
        row["read"].refuse("is not the sum of what became of the rows")


def _hides(row: Member) -> bool:
    """Whether a number is null, so that it cannot be seen to close."""
    lines = (*row["dropped"].each(_same), *row["set_aside"].each(_same))
    numbers = [row[name] for name in _NUMBERS]
    numbers += [line[name] for line in lines for name in ("rows", "people")]
    return any(one.value is None for one in numbers)


def _same(row: Member) -> Member:
    return row


_NUMBERS = ("read", "counted", "people", "filtered", "undecided")


def _line(one: LedgerLine | PublishedLine) -> dict[str, Any]:
    """A line of the ledger."""
    return {"rows": one.rows, "people": one.people, "column": one.column, "reason": one.reason}


def _read_line(row: Member) -> LedgerLine:
    where = row["column"].text(), row["reason"].text()
    return LedgerLine(row["rows"].count(), row["people"].count(), *where)


def _read_published_line(row: Member) -> PublishedLine:
    where = row["column"].text(), row["reason"].text()
    return PublishedLine(
        row["rows"].or_none(Member.count), row["people"].or_none(Member.count), *where
    )

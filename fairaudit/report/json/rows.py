"""The flat tables: groups, rates and comparisons."""

from __future__ import annotations

from typing import Any

from fairaudit.metrics import Eligibility
from fairaudit.report.json.estimates import (
    read_estimate,
    read_part,
    read_uncounted,
    read_witness,
    write_compared,
    write_estimate,
    write_part,
    write_witness,
)
from fairaudit.report.json.reading import Member
from fairaudit.report.json.values import read_group, read_value, write_group, write_value
from fairaudit.result import ComparisonRow, GroupRow, RateRow


def write_group_row(row: GroupRow) -> dict[str, Any]:
    """A group, its people and their outcomes."""
    return {
        "of": row.of,
        "by": list(row.by),
        "given": write_group(row.stratum),
        "group": write_group(row.group),
        "n": row.n,
        "share": row.share,
        "counts": dict(row.counts),
        "standing": str(row.standing),
    }


def read_group_row(row: Member) -> GroupRow:
    """The group."""
    return GroupRow(
        of=row["of"].text(),
        by=row["by"].texts(),
        stratum=read_group(row["given"]),
        group=read_group(row["group"]),
        n=row["n"].or_none(Member.count),
        share=row["share"].or_none(Member.number),
        counts={name: one.or_none(Member.count) for name, one in row["counts"].members()},
        standing=row["standing"].one_of(Eligibility),
    )


def write_rate_row(row: RateRow) -> dict[str, Any]:
    """A rate of a group, and how it differs from the reference."""
    return {
        "metric": row.metric,
        "of": row.of,
        "by": list(row.by),
        "given": write_group(row.stratum),
        "group": write_group(row.group),
        **write_estimate(row.estimate),
        "standing": str(row.standing),
        "reference": write_group(row.reference),
        "difference": write_value(row.difference),
        "ratio": write_value(row.ratio),
        "parameters": dict(row.parameters),
        "averaged_over": list(row.averaged),
    }


def read_rate_row(row: Member, alpha: float) -> RateRow:
    """The rate; `alpha` is that of the audit, and so of every row."""
    return RateRow(
        metric=row["metric"].text(),
        of=row["of"].text(),
        by=row["by"].texts(),
        stratum=read_group(row["given"]),
        group=read_group(row["group"]),
        estimate=read_estimate(row),
        standing=row["standing"].one_of(Eligibility),
        reference=read_group(row["reference"]),
        difference=read_value(row["difference"]),
        ratio=read_value(row["ratio"]),
        parameters=_read_parameters(row["parameters"]),
        alpha=alpha,
        averaged=row["averaged_over"].texts() if "averaged_over" in row else (),
    )


def write_comparison_row(row: ComparisonRow) -> dict[str, Any]:
    """A comparison, who attains it, and both sides of each of its parts."""
    return {
        "metric": row.metric,
        "title": row.title,
        "compare": row.compare,
        "of": row.of,
        "by": list(row.by),
        "given": write_group(row.stratum),
        "group": None if row.group is None else write_group(row.group),
        "reference": row.reference,
        **write_compared(row.estimate),
        "parameters": dict(row.parameters),
        "averaged_over": list(row.averaged),
        "witness": write_witness(row, spread=row.group is None),
        "parts": [write_part(part) for part in row.parts],
        "groups_compared": row.takes_part,
    }


def read_comparison_row(row: Member) -> ComparisonRow:
    """The comparison."""
    group = row["group"].or_none(read_group)
    first, second, decided_by = read_witness(row["witness"], spread=group is None)
    return ComparisonRow(
        metric=row["metric"].text(),
        title=row["title"].text(),
        compare=row["compare"].or_none(Member.text),
        of=row["of"].text(),
        by=row["by"].texts(),
        stratum=read_group(row["given"]),
        group=group,
        reference=row["reference"].or_none(Member.text),
        parameters=_read_parameters(row["parameters"]),
        estimate=read_uncounted(row),
        parts=row["parts"].each(read_part),
        decided_by=decided_by,
        first=first,
        second=second,
        takes_part=row["groups_compared"].or_none(Member.count),
        averaged=row["averaged_over"].texts(),
    )


def _read_parameters(row: Member) -> dict[str, object]:
    """What an entry says beside its measure: texts, numbers, lists of texts, maps of numbers."""
    return {name: _read_parameter(one) for name, one in row.members()}


def _read_parameter(one: Member) -> object:
    match one.value:
        case str():
            return one.text()
        case dict():
            return {name: each.number() for name, each in one.members()}
        case list():
            return [*one.texts()]
        case _:
            return one.number()

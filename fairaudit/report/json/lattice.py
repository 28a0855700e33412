"""Every subset of the protected attributes, and how to read ε."""

from __future__ import annotations

import math
from typing import Any

from fairaudit.report.json.appearances import read_appearance, write_appearance
from fairaudit.report.json.estimates import (
    read_part,
    read_uncounted,
    read_witness,
    write_part,
    write_uncounted,
    write_witness,
)
from fairaudit.report.json.reading import Member
from fairaudit.report.json.values import read_end, read_value, write_end, write_value
from fairaudit.result import EpsilonReading, LatticeEntry, LatticeRow


def write_lattice_row(row: LatticeRow, alpha: float) -> dict[str, Any]:
    """A subset with the worst value of each measure, and where a gap first appears."""
    return {
        "by": list(row.by),
        "groups": row.groups,
        "smallest": row.smallest,
        "entries": [_entry(entry) for entry in row.entries],
        "tested": None if row.tested is None else dict(row.tested),
        "appears": [write_appearance(one, alpha) for one in row.appears],
    }


def read_lattice_row(row: Member) -> LatticeRow:
    """The subset."""
    return LatticeRow(
        by=row["by"].texts(),
        groups=row["groups"].count(),
        smallest=row["smallest"].or_none(Member.count),
        entries=row["entries"].each(_read_entry),
        appears=row["appears"].each(read_appearance),
        tested=row["tested"].or_none(_read_tested),
    )


def _read_tested(row: Member) -> dict[str, int]:
    return {name: one.count() for name, one in row.members()}


def _entry(one: LatticeEntry) -> dict[str, Any]:
    return {
        "metric": one.metric,
        "title": one.title,
        "of": one.of,
        **write_uncounted(one.estimate),
        "witness": write_witness(one, spread=one.spread),
        "spread": one.spread,
        "judged": one.judged,
        "limited": one.limited,
        "departure": write_value(one.departure),
        "parts": [write_part(part) for part in one.parts],
    }


def _read_entry(row: Member) -> LatticeEntry:
    """The worst value; its test and what bins hide are no part of the lattice."""
    spread, departure = row["spread"].flag(), read_value(row["departure"])
    first, second, decided_by = read_witness(row["witness"], spread=spread)
    return LatticeEntry(
        metric=row["metric"].text(),
        title=row["title"].text(),
        of=row["of"].text(),
        estimate=read_uncounted(row),
        first=first,
        second=second,
        parts=row["parts"].each(read_part),
        spread=spread,
        decided_by=decided_by,
        judged=row["judged"].flag(),
        limited=row["limited"].flag(),
        departure=math.nan if departure is None else departure,
    )


def write_epsilon(one: EpsilonReading) -> dict[str, Any]:
    """How to read ε."""
    return {
        "of": one.of,
        "by": list(one.by),
        "parameters": one.parameters,
        "epsilon": write_value(one.epsilon),
        "factor": write_value(one.factor),
        "twice": write_value(one.twice),
        "bounds_subsets": one.bounds_subsets,
        "regime": one.regime,
        **write_end("low", one.low),
        **write_end("high", one.high),
        "unbounded": one.unbounded or None,
    }


def read_epsilon(row: Member) -> EpsilonReading:
    """How to read ε."""
    return EpsilonReading(
        of=row["of"].text(),
        by=row["by"].texts(),
        parameters=row["parameters"].text(),
        epsilon=_told(row["epsilon"]),
        factor=_told(row["factor"]),
        twice=_told(row["twice"]),
        bounds_subsets=row["bounds_subsets"].flag(),
        regime=row["regime"].text(),
        low=read_end(row, "low") if "low" in row else None,
        high=read_end(row, "high") if "high" in row else None,
        unbounded=(row["unbounded"].or_none(Member.text) or "") if "unbounded" in row else "",
    )


def _told(row: Member) -> float:
    found = read_value(row)
    return row.refuse("is suppressed") if found is None else found

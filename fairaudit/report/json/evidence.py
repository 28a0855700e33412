"""What stands behind a finding: its gap in people, what a pass may miss, missing values."""

from __future__ import annotations

import math
from typing import Any

from fairaudit.evidence import MissingBounds
from fairaudit.evidence.missing_bounds import UncertainValue
from fairaudit.evidence.people_affected import DetectableGap, PeopleAffected
from fairaudit.report.json.reading import Member
from fairaudit.report.json.values import (
    finite,
    read_group,
    read_value,
    write_group,
    write_value,
)


def write_practice(one: PeopleAffected) -> dict[str, Any]:
    """A gap in people; a ratio to nothing at all is null."""
    return {
        "shortfall": one.shortfall,
        "people_to_parity": one.to_parity,
        "people_to_limit": one.to_limit,
        "limit": None if one.limit is None else float(one.limit),
        "limit_text": None if one.limit is None else str(one.limit),
        "limit_of": one.limit_of,
        "ratio": finite(one.ratio),
        "below": one.below,
        "flip_flop": one.flips,
        "large": one.large,
        "standard_deviations": one.deviations,
        "of_those_spared": one.burden,
    }


def read_practice(row: Member) -> PeopleAffected:
    """The gap in people."""
    return PeopleAffected(
        shortfall=row["shortfall"].number(),
        to_limit=row["people_to_limit"].or_none(Member.integer),
        limit=row["limit_text"].or_none(Member.fraction),
        ratio=_or_nan(row["ratio"]),
        below=row["below"].flag(),
        flips=row["flip_flop"].flag(),
        large=row["large"].flag(),
        deviations=row["standard_deviations"].number(),
        burden=row["of_those_spared"].flag(),
        limit_of=row["limit_of"].or_none(Member.text) if "limit_of" in row else "ratio",
        to_parity=row["people_to_parity"].or_none(Member.integer)
        if "people_to_parity" in row
        else None,
    )


def write_detectable(one: DetectableGap) -> dict[str, Any]:
    """What a pass may have missed; null where no gap of that side would be found."""
    return {
        "group": write_group(one.group),
        "given": write_group(one.stratum),
        "down": finite(one.down),
        "up": finite(one.up),
        "n": one.n,
        "reference_n": one.m,
        "power": one.power,
        "level": one.level,
    }


def read_detectable(row: Member) -> DetectableGap:
    """What a pass may have missed."""
    return DetectableGap(
        read_group(row["group"]),
        read_group(row["given"]),
        _or_nan(row["down"]),
        _or_nan(row["up"]),
        row["n"].count(),
        row["reference_n"].count(),
        row["power"].number(),
        row["level"].or_none(Member.number) if "level" in row else None,
    )


def write_missing(one: MissingBounds) -> dict[str, Any]:
    """Who is missing, and the bounds: each with its state, for a ratio may be infinite."""
    return {
        "outcome": one.missing_outcome,
        "group": one.missing_group,
        "anywhere": _bounds(one.low, one.high),
        "apart": _bounds(one.apart_low, one.apart_high),
        "proportional": _bounds(one.proportional_low, one.proportional_high),
        "turns": one.turns,
        "others": [
            {
                "group": write_group(other.group),
                "given": write_group(other.stratum),
                "low": write_value(other.low),
                "high": write_value(other.high),
            }
            for other in one.others
        ],
        "reason": one.reason,
    }


def read_missing(row: Member) -> MissingBounds:
    """Who is missing, and the bounds."""
    return MissingBounds(
        row["outcome"].count(),
        row["group"].count(),
        *_read_bounds(row["anywhere"]),
        *_read_bounds(row["apart"]),
        *_read_bounds(row["proportional"]),
        turns=row["turns"].flag(),
        others=row["others"].each(_read_swayed),
        reason=row["reason"].or_none(Member.text),
    )


def _bounds(low: float | None, high: float | None) -> dict[str, Any] | None:
    if low is None or high is None:
        return None
    return {"low": write_value(low), "high": write_value(high)}


def _read_bounds(row: Member) -> tuple[float | None, float | None]:
    if row.value is None:
        return None, None
    return _bound(row["low"]), _bound(row["high"])


def _read_swayed(row: Member) -> UncertainValue:
    groups = read_group(row["group"]), read_group(row["given"])
    return UncertainValue(*groups, _bound(row["low"]), _bound(row["high"]))


def _bound(row: Member) -> float:
    found = read_value(row)
    return row.refuse("is no bound") if found is None else found


def _or_nan(row: Member) -> float:
    found = row.or_none(Member.number)
    return math.nan if found is None else found

"""What stands behind a finding: its gap in people, what a pass may miss, missing values."""

from __future__ import annotations

from typing import Any

from fairaudit.evidence import MissingBounds
from fairaudit.evidence.practice import Detectable, Practice
from fairaudit.report.json.values import finite, write_group, write_value


def write_practice(one: Practice) -> dict[str, Any]:
    """A gap in people."""
    return {
        "shortfall": one.shortfall,
        "people_to_limit": one.to_limit,
        "limit": float(one.limit),
        "ratio": finite(one.ratio),
        "below": one.below,
        "flip_flop": one.flips,
        "large": one.large,
        "standard_deviations": one.deviations,
        "of_those_spared": one.burden,
    }


def write_detectable(one: Detectable) -> dict[str, Any]:
    """What a pass may have missed."""
    return {
        "group": write_group(one.group),
        "given": write_group(one.stratum),
        "down": finite(one.down),
        "up": finite(one.up),
        "n": one.n,
        "reference_n": one.m,
        "power": one.power,
    }


def write_missing(one: MissingBounds) -> dict[str, Any]:
    """Who is missing, and the bounds: each with its state, for a ratio may be infinite."""

    def bounds(low: float | None, high: float | None) -> dict[str, Any] | None:
        if low is None or high is None:
            return None
        return {"low": write_value(low), "high": write_value(high)}

    return {
        "outcome": one.missing_outcome,
        "group": one.missing_group,
        "anywhere": bounds(one.low, one.high),
        "apart": bounds(one.apart_low, one.apart_high),
        "proportional": bounds(one.proportional_low, one.proportional_high),
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

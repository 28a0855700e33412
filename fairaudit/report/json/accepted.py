"""Values beyond a limit, and what is accepted of them: by a waiver, or since a baseline."""

from __future__ import annotations

import math
from typing import Any

from fairaudit.report.json.values import write_exact, write_group, write_value
from fairaudit.simpson import Reversal
from fairaudit.verdict import (
    Before,
    Crossing,
    Waived,
)
from fairaudit.waivers import Told


def write_crossing(one: Crossing) -> dict[str, Any]:
    """A value beyond a limit."""
    return {
        "group": write_group(one.group),
        "given": write_group(one.stratum),
        "between": [write_group(group) for group in one.between],
        **write_value(one.value),
        "exact": write_exact(one.exact),
        "backing": str(one.backing),
        "lower": one.lower,
    }


def write_pair(one: Reversal) -> str:
    """A reversal in a few words."""
    return f"{one.attribute}: {one.pair[0]} / {one.pair[1]}"


def write_waived(one: Waived) -> dict[str, Any]:
    """What a waiver covers of a check."""
    return {
        "group": write_group(one.group) or "all",
        "reason": one.reason,
        "approved_by": one.approved_by,
        "expires": one.expires.isoformat(),
        "crossed": [write_crossing(crossing) for crossing in one.crossed],
    }


def write_told(one: Told) -> dict[str, Any]:
    """A waiver, and what became of it."""
    waiver = one.waiver
    return {
        "check": waiver.check,
        "group": write_group(waiver.group) or "all",
        "reason": waiver.reason,
        "approved_by": waiver.approved_by,
        "expires": waiver.expires.isoformat(),
        "state": str(one.state),
        "why": one.why,
        "place": waiver.place and {"file": waiver.place.file, "line": waiver.place.line},
    }


def write_before(one: Before) -> dict[str, Any]:
    """What a check said in the baseline."""
    value = math.nan if one.value is None else one.value
    return {
        "status": one.status,
        **write_value(value),
        "worse_by": one.worse_by,
        "worse": [write_crossing(crossing) for crossing in one.worse],
        "reversals": [write_pair(each) for each in one.reversals],
        "between": [write_group(group) for group in one.between],
    }

"""Values beyond a limit, and what is accepted of them: by a waiver, or since a baseline."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

from fairaudit.cube import Group
from fairaudit.report.json.reading import Member
from fairaudit.report.json.values import (
    read_group,
    read_place,
    read_value,
    write_exact,
    write_group,
    write_place,
    write_value,
)
from fairaudit.simpson import Reversal
from fairaudit.verdict import Backing, Before, Breach, Earlier, Waived
from fairaudit.waivers import Waiver, WaiverOutcome, WaiverState

Which: TypeAlias = tuple[str, str, str, tuple[str, ...], tuple[str, ...]]
"""Which reversal: its rate and outcome, attribute and pair, and what it is given."""

_EVERYBODY = "all"


def write_crossing(one: Breach) -> dict[str, Any]:
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


def read_crossing(row: Member) -> Breach:
    """The value beyond a limit; there is one."""
    value = read_value(row)
    if value is None or math.isnan(value):
        row["state"].refuse("is no state of a value beyond a limit")
    return Breach(
        read_group(row["group"]),
        read_group(row["given"]),
        value,
        row["exact"].or_none(Member.fraction),
        row["between"].each(read_group),
        row["backing"].one_of(Backing),
        row["lower"].flag(),
    )


def write_waived(one: Waived) -> dict[str, Any]:
    """What a waiver covers of a check."""
    return {
        "group": write_group(one.group) or _EVERYBODY,
        "reason": one.reason,
        "approved_by": one.approved_by,
        "expires": one.expires.isoformat(),
        "crossed": [write_crossing(crossing) for crossing in one.crossed],
    }


def read_waived(row: Member) -> Waived:
    """What a waiver covers of a check."""
    return Waived(
        _read_whose(row["group"]),
        row["reason"].text(),
        row["approved_by"].text(),
        row["expires"].date(),
        row["crossed"].each(read_crossing),
    )


def write_told(one: WaiverOutcome) -> dict[str, Any]:
    """A waiver, and what became of it."""
    waiver = one.waiver
    return {
        "check": waiver.check,
        "group": write_group(waiver.group) or _EVERYBODY,
        "reason": waiver.reason,
        "approved_by": waiver.approved_by,
        "expires": waiver.expires.isoformat(),
        "state": str(one.state),
        "why": one.why,
        "place": write_place(waiver.place),
    }


def read_told(row: Member) -> WaiverOutcome:
    """The waiver, and what became of it."""
    waiver = Waiver(
        row["check"].text(),
        _read_whose(row["group"]),
        row["reason"].text(),
        row["approved_by"].text(),
        row["expires"].date(),
        read_place(row["place"]),
    )
    return WaiverOutcome(waiver, row["state"].one_of(WaiverState), row["why"].text())


def _read_whose(row: Member) -> Group:
    return () if row.value == _EVERYBODY else read_group(row)


def write_earlier(one: Earlier) -> dict[str, Any]:
    """The result that was compared with."""
    return {
        "path": one.path,
        "created": one.created,
        "age_days": one.days,
        "tolerance": float(one.tolerance),
        "tolerance_text": str(one.tolerance),
    }


def read_earlier(row: Member) -> Earlier:
    """The result that was compared with."""
    return Earlier(
        row["path"].or_none(Member.text),
        row["created"].text(),
        row["age_days"].integer(),
        row["tolerance_text"].decimal(),
    )


def write_before(one: Before) -> dict[str, Any]:
    """What a check said in the baseline."""
    value = math.nan if one.value is None else one.value
    return {
        "status": one.status,
        **write_value(value),
        "worse_by": one.worse_by,
        "worse": [write_crossing(crossing) for crossing in one.worse],
        "reversals": [write_pair(each) for each in one.reversals],
        "reversals_listed": [write_which(each) for each in one.reversals],
        "between": [write_group(group) for group in one.between],
        "own": _write_own(one.own),
        "own_worse": [_write_own(own) for own in one.own_worse],
        "decided_by": [write_group(group) for group in one.decided_by],
        "stratum": write_group(one.stratum),
    }


def _write_own(value: float | None) -> dict[str, Any]:
    """What a group had then; undefined where the earlier result does not tell it."""
    return write_value(math.nan if value is None else value)


def _read_own(row: Member) -> float | None:
    value = read_value(row)
    return None if value is None or math.isnan(value) else value


def read_before(row: Member, earlier: Earlier, reversals: Mapping[Which, Reversal]) -> Before:
    """What the check said in the baseline, which the whole result names."""
    return Before(
        earlier,
        row["status"].text(),
        _read_own(row),
        row["worse_by"].or_none(Member.number),
        row["worse"].each(read_crossing),
        row["reversals_listed"].each(lambda one: read_listed(one, reversals)),
        row["between"].each(read_group),
        _read_own(row["own"]),
        row["own_worse"].each(_read_own),
        row["decided_by"].each(read_group),
        read_group(row["stratum"]),
    )


def write_pair(one: Reversal) -> str:
    """A reversal in a few words."""
    return f"{one.attribute}: {one.pair[0]} / {one.pair[1]}"


def write_which(one: Reversal) -> dict[str, Any]:
    """Which of the report's reversals is meant."""
    return {
        "rate": one.rate,
        "of": one.of,
        "attribute": one.attribute,
        "pair": list(one.pair),
        "given": list(one.given),
    }


def read_listed(row: Member, reversals: Mapping[Which, Reversal]) -> Reversal:
    """The reversal that is meant."""
    rate, of, attribute = (row[name].text() for name in ("rate", "of", "attribute"))
    found = reversals.get((rate, of, attribute, row["pair"].texts(), row["given"].texts()))
    return row.refuse("is not among the reversals") if found is None else found

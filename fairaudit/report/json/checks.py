"""Findings: a row for each check."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from fairaudit.estimate import Estimate, State
from fairaudit.metrics import Eligibility
from fairaudit.report import checks
from fairaudit.report.json.accepted import (
    Which,
    read_before,
    read_crossing,
    read_listed,
    read_waived,
    write_before,
    write_crossing,
    write_pair,
    write_waived,
    write_which,
)
from fairaudit.report.json.asked import read_check, write_check
from fairaudit.report.json.estimates import (
    read_estimate,
    read_part,
    read_witness,
    write_estimate,
    write_part,
    write_witness,
)
from fairaudit.report.json.evidence import (
    read_detectable,
    read_missing,
    read_practice,
    write_detectable,
    write_missing,
    write_practice,
)
from fairaudit.report.json.limits import read_limit, read_reversal_limit, write_limit
from fairaudit.report.json.reading import Member
from fairaudit.report.json.subgroups import read_subgroup, write_subgroup
from fairaudit.report.json.values import read_group, write_exact, write_group
from fairaudit.simpson import Reversal
from fairaudit.verdict import (
    AnyCheck,
    Backing,
    Check,
    Earlier,
    Finding,
    Limit,
    NotEvaluated,
    ReversalCheck,
    ReversalLimit,
    Status,
)


def write_finding(one: Finding) -> dict[str, Any]:
    """A check, and what came of it; without a value it is undefined.

    `reason` is that of the finding. A fraction is left out where its digits would fill pages.
    """
    return {
        "id": one.check.id,
        "status": str(one.status),
        **write_check(one.check),
        "limit": write_limit(one.limit),
        "sentence": checks.sentence(one),
        **write_estimate(one.estimate or Estimate(math.nan)),
        "reason": one.why or None,
        "exact": None if one.estimate is None else write_exact(one.estimate.exact),
        "group": write_group(one.first),
        "witness": write_witness(one, spread=one.spread),
        "spread": one.spread,
        "stratum": write_group(one.stratum),
        "worse_off": write_group(one.worse_off),
        "backing": str(one.backing),
        "not_cleared": one.not_cleared,
        "practice": one.practice and write_practice(one.practice),
        "detectable": one.detectable and write_detectable(one.detectable),
        "parts": [write_part(part) for part in one.parts],
        "crossed": [write_crossing(crossing) for crossing in one.crossed],
        "not_evaluated": [_left_out(who) for who in one.not_evaluated],
        "reversals": [write_pair(each) for each in one.reversals],
        "reversals_listed": [write_which(each) for each in one.reversals],
        "subgroup": one.subgroup and write_subgroup(one.subgroup),
        "waived": [write_waived(each) for each in one.waived],
        "baseline": one.before and write_before(one.before),
        "definition": one.definition,
        "missing": one.missing and write_missing(one.missing),
    }


def read_finding(
    row: Member, earlier: Earlier | None, reversals: Mapping[Which, Reversal]
) -> Finding:
    """The finding; `earlier` is the baseline of the whole result, `reversals` are all it lists."""
    check, spread = read_check(row), row["spread"].flag()
    first, second, decided_by = read_witness(row["witness"], spread=spread)
    before = row["baseline"]
    if before.value is not None and earlier is None:
        before.refuse("is set, but the result has no baseline")
    return Finding(
        check=check,
        status=row["status"].one_of(Status),
        estimate=_read_value(row, check),
        limit=_read_limit(row, check),
        why=row["reason"].or_none(Member.text) or "",
        stratum=read_group(row["stratum"]),
        first=first,
        second=second,
        worse_off=read_group(row["worse_off"]),
        spread=spread,
        decided_by=decided_by,
        parts=row["parts"].each(read_part),
        crossed=row["crossed"].each(read_crossing),
        not_evaluated=row["not_evaluated"].each(_read_left_out),
        reversals=row["reversals_listed"].each(lambda one: read_listed(one, reversals)),
        backing=row["backing"].one_of(Backing),
        practice=_of_a_value(row, "practice", check, read_practice),
        detectable=row["detectable"].or_none(read_detectable),
        waived=row["waived"].each(read_waived),
        before=None if earlier is None else before.or_none(_before(earlier, reversals)),
        definition=row["definition"].text(),
        missing=row["missing"].or_none(read_missing),
        subgroup=row["subgroup"].or_none(read_subgroup),
        not_cleared="not_cleared" in row and row["not_cleared"].flag(),
    )


def _before(earlier: Earlier, reversals: Mapping[Which, Reversal]) -> Callable[[Member], Any]:
    return lambda row: read_before(row, earlier, reversals)


def _read_value(row: Member, check: AnyCheck) -> Estimate | None:
    """The value with its fraction; None where the check has none."""
    if row["state"].one_of(State) is State.UNDEFINED:
        return None
    if isinstance(check, ReversalCheck):
        row["state"].refuse("is no state of a check on reversals")
    found, exact = read_estimate(row), row["exact"].or_none(Member.fraction)
    # The reason in the row is that of the finding; only where a value is hidden it is its own, too.
    return found if found.suppressed else replace(found, exact=exact, reason=None)


def _read_limit(row: Member, check: AnyCheck) -> Limit | ReversalLimit:
    """The limit that decided: one of both that the check sets."""
    limit = row["limit"]
    found: Limit | ReversalLimit
    found = read_reversal_limit(limit) if isinstance(check, ReversalCheck) else read_limit(limit)
    if found not in {check.fail, check.warn}:
        limit.refuse("is neither limit of the check")
    return found


def _of_a_value(row: Member, name: str, check: AnyCheck, read: Callable[[Member], Any]) -> Any:  # noqa: ANN401  # whatever `read` gives
    """What can only be said of a check on a measure that has a value; None where it is null."""
    if row[name].value is None:
        return None
    if not isinstance(check, Check) or row["state"].value == State.UNDEFINED.value:
        row[name].refuse("is said of a check without a value")
    return read(row[name])


def _left_out(one: NotEvaluated) -> dict[str, Any]:
    """Who could not be judged, and why."""
    return {
        "group": write_group(one.group),
        "given": write_group(one.stratum),
        "reason": one.reason,
        "blocks": one.blocks,
        "detail": one.detail,
        "standing": one.standing and str(one.standing),
        "tells_people": one.tells_people,
    }


def _read_left_out(row: Member) -> NotEvaluated:
    return NotEvaluated(
        read_group(row["group"]),
        read_group(row["given"]),
        row["reason"].text(),
        row["blocks"].flag(),
        row["detail"].text(),
        row["standing"].or_none(lambda one: one.one_of(Eligibility)),
        row["tells_people"].flag(),
    )

"""Findings: a row for each check."""

from __future__ import annotations

import math
from typing import Any

from fairaudit.estimate import Estimate
from fairaudit.report import sentences
from fairaudit.report.json.accepted import (
    write_before,
    write_crossing,
    write_pair,
    write_waived,
)
from fairaudit.report.json.asked import write_limit, write_metric
from fairaudit.report.json.estimates import (
    write_estimate,
    write_part,
    write_witness,
)
from fairaudit.report.json.evidence import write_detectable, write_missing, write_practice
from fairaudit.report.json.values import write_exact, write_group
from fairaudit.verdict import (
    Check,
    Finding,
)


def write_finding(one: Finding) -> dict[str, Any]:
    """A check, and what came of it."""
    check = one.check
    common = {
        "id": check.id,
        "status": str(one.status),
        "metric": write_metric(check),
        "of": check.of,
        "by": list(check.by) if isinstance(check, Check) else [],
        "given": list(check.given) if isinstance(check, Check) else [],
        "limit": write_limit(one.limit),
        "warn": write_limit(check.warn),
        "fail": write_limit(check.fail),
        "sentence": sentences.answer(one),
        "place": check.place and {"file": check.place.file, "line": check.place.line},
    }
    estimate = one.estimate
    return {
        **common,
        **write_estimate(estimate or Estimate(math.nan)),
        "reason": one.why or None,
        "exact": None if estimate is None else write_exact(estimate.exact),
        "group": write_group(one.first),
        "witness": write_witness(one.parts, one.decided_by, one, spread=one.spread),
        "stratum": write_group(one.stratum),
        "worse_off": write_group(one.worse_off),
        "backing": str(one.backing),
        "practice": None if one.practice is None else write_practice(one.practice),
        "detectable": None if one.detectable is None else write_detectable(one.detectable),
        "parts": [write_part(part) for part in one.parts],
        "crossed": [write_crossing(crossing) for crossing in one.crossed],
        "not_evaluated": [
            {
                "group": write_group(who.group),
                "given": write_group(who.stratum),
                "reason": who.reason,
                "blocks": who.blocks,
                "detail": who.detail,
            }
            for who in one.not_evaluated
        ],
        "reversals": [write_pair(each) for each in one.reversals],
        "waived": [write_waived(each) for each in one.waived],
        "baseline": one.before and write_before(one.before),
        "definition": one.definition,
        "missing": None if one.missing is None else write_missing(one.missing),
    }

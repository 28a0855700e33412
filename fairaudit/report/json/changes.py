"""A comparison of two results as one document, with a schema of its own."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from fairaudit.compare import (
    Change,
    Changes,
    CheckChange,
    ComparedResult,
    DifferentCheck,
    GroupChange,
    PeopleChange,
    RateChange,
    ReversalChange,
)
from fairaudit.report.json.accepted import write_crossing
from fairaudit.report.json.estimates import write_estimate, write_significance
from fairaudit.report.json.values import write_end, write_group, write_value
from fairaudit.result import DataFile
from fairaudit.verdict import Finding
from fairaudit.version import version

SCHEMA_VERSION = "1.0"
"""Of the document of a comparison."""


def changes_document(changes: Changes, exit_code: int) -> dict[str, Any]:
    """The comparison as plain data; `exit_code` is that of the command."""
    alpha = changes.alpha
    sure = [one.change for one in changes.rates if one.change.is_significant(alpha)]
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "fairaudit", "version": version()},
        "kind": "comparison",
        "before": _origin(changes.before),
        "after": _origin(changes.after),
        "sampling": str(changes.sampling),
        "inference": {
            "confidence": float(changes.inference.confidence),
            "correction": str(changes.inference.correction),
        },
        "summary": {
            "exit_code": exit_code,
            "checks": {
                "compared": len(changes.checks),
                "worse": len(changes.worse),
                "better": len(changes.better),
            },
            "rates": {
                "compared": len(changes.rates),
                "significant": len(sure),
                "worse": sum(one.way == "worse" for one in sure),
                "better": sum(one.way == "better" for one in sure),
            },
        },
        "checks": [_check(one, alpha) for one in changes.checks],
        "asked_otherwise": [_otherwise(one) for one in changes.otherwise],
        "only_before": [_alone(one) for one in changes.only_before],
        "only_after": [_alone(one) for one in changes.only_after],
        "rates": [_rate(one, alpha) for one in changes.rates],
        "people": [_people(one, alpha) for one in changes.people],
        "reversals": [_reversal(one) for one in changes.reversals],
        "conditions": list(changes.conditions),
        "new_notices": list(changes.new_notices),
        "gone_notices": list(changes.gone_notices),
    }


def changes_schema() -> dict[str, Any]:
    """The JSON Schema of the document."""
    text = files("fairaudit.report").joinpath("comparison.schema.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def _origin(one: ComparedResult) -> dict[str, Any]:
    made = one.provenance
    return {
        "of": one.of,
        "spec": {"path": made.spec_path, "sha256": made.spec_sha256, "title": made.title},
        "files": [_file(each) for each in made.files],
        "rows": made.rows,
        "created": made.created,
        "version": made.version,
        "verdict": str(one.verdict),
        "exit_code": one.exit_code,
        "checks": {str(status): count for status, count in one.tally.items()},
    }


def _file(one: DataFile) -> dict[str, Any]:
    return {"path": one.path, "bytes": one.bytes, "lines": one.lines}


def _check(one: CheckChange, alpha: float) -> dict[str, Any]:
    """A check with its two answers; `verdict` is the word for its change."""
    word = "unsure" if one.is_tested else "untested"
    if one.is_worse(alpha):
        word = "worse"
    elif one.is_better(alpha):
        word = "better"
    return {
        "id": one.check.id,
        "verdict": word,
        "status_before": str(one.before.status),
        "status_after": str(one.after.status),
        "group_before": write_group(one.before.first),
        "group_after": write_group(one.after.first),
        "recast": one.recast,
        "newly_beyond": [write_crossing(each) for each in one.newly_beyond],
        "lost": [write_group(each) for each in one.lost],
        **_change(one.change, alpha),
        "groups": [_group(each, alpha) for each in one.groups],
    }


def _group(one: GroupChange, alpha: float) -> dict[str, Any]:
    """A group that a check judged both times, beside itself."""
    return {
        "group": write_group(one.group),
        "given": write_group(one.stratum),
        "decided": one.decided,
        "decides": one.decides,
        **_change(one.change, alpha),
    }


def _otherwise(one: DifferentCheck) -> dict[str, Any]:
    return {
        "id": one.after.check.id,
        "changed": one.why,
        "status_before": str(one.before.status),
        "status_after": str(one.after.status),
    }


def _alone(one: Finding) -> dict[str, Any]:
    return {"id": one.check.id, "status": str(one.status)}


def _rate(one: RateChange, alpha: float) -> dict[str, Any]:
    return {
        "metric": one.metric,
        "of": one.of,
        "by": list(one.by),
        "given": write_group(one.stratum),
        "group": write_group(one.group),
        "parameters": dict(one.parameters),
        "averaged_over": list(one.averaged),
        "standing_before": str(one.standing_before),
        "standing_after": str(one.standing_after),
        **_change(one.change, alpha),
    }


def _change(one: Change, alpha: float) -> dict[str, Any]:
    """A change: both numbers, how far apart, how surely, for better or worse."""
    cells = one.cells
    return {
        "way": str(one.way),
        "significant": one.is_significant(alpha),
        "scale": str(one.scale),
        "change": write_value(one.value),
        **write_end("low", one.low),
        **write_end("high", one.high),
        "method": one.method,
        "significance": write_significance(one.significance),
        "reason": one.why or None,
        "turned": one.turned,
        "before": _number(write_estimate(one.before)),
        "after": _number(write_estimate(one.after)),
        "pairs": cells
        and {
            "both": cells.both,
            "first_only": cells.first_only,
            "second_only": cells.second_only,
            "neither": cells.neither,
        },
    }


_OF_NUMBER = ("state", "value", "n", "numerator", "denominator", "scale")


def _number(row: dict[str, Any]) -> dict[str, Any]:
    """A number as its result has it: its counts and its interval."""
    return {
        **{name: row[name] for name in _OF_NUMBER},
        **{name: row[name] for name in row if name.startswith(("low", "high"))},
    }


def _people(one: PeopleChange, alpha: float) -> dict[str, Any]:
    test = one.significance
    return {
        "by": list(one.by),
        "significant": test is not None and test.adjusted < alpha,
        "significance": write_significance(test),
        "reason": one.why or None,
        "new": [write_group(group) for group in one.new],
        "gone": [write_group(group) for group in one.gone],
        "groups": [
            {
                "group": write_group(row.group),
                "n_before": row.n_before,
                "n_after": row.n_after,
                "share_before": row.share_before,
                "share_after": row.share_after,
            }
            for row in one.groups
        ],
    }


def _reversal(one: ReversalChange) -> dict[str, Any]:
    return {
        "rate": one.rate,
        "of": one.of,
        "attribute": one.attribute,
        "pair": list(one.pair),
        "given": list(one.given),
        "before": None if one.before is None else str(one.before),
        "after": None if one.after is None else str(one.after),
        "significant": one.significant,
    }

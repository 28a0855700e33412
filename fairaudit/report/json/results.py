"""A whole result as one document."""

from __future__ import annotations

from typing import Any

from fairaudit.report.json import subgroups
from fairaudit.report.json.accepted import (
    write_told,
)
from fairaudit.report.json.checks import write_finding
from fairaudit.report.json.definitions import write_definition
from fairaudit.report.json.lattice import (
    write_epsilon,
    write_lattice_row,
)
from fairaudit.report.json.provenance import write_line, write_moment
from fairaudit.report.json.reversals import write_reversal
from fairaudit.report.json.rows import write_comparison_row, write_group_row, write_rate_row
from fairaudit.report.json.scores import write_curve, write_score_row
from fairaudit.result import (
    SCHEMA_VERSION,
    AuditResult,
)


def document(result: AuditResult) -> dict[str, Any]:
    """The result as plain data."""
    made = result.provenance
    ledger = result.ledger
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "fairaudit", "version": made.version},
        "created": made.created,
        "spec": {
            "path": made.spec_path,
            "sha256": made.spec_sha256,
            "title": made.title,
            "context": dict(made.context),
        },
        "data": {
            "files": [
                {
                    "path": one.path,
                    "bytes": one.bytes,
                    "lines": one.lines,
                    "modified": None if one.modified is None else write_moment(one.modified),
                }
                for one in made.files
            ],
            "rows": made.rows,
            "route": made.route,
            "cube_sha256": made.cube_sha256,
            "filter": made.filter,
            "count": made.count,
            "weight": made.weight,
            "weight_error": made.weight_error if made.weight else None,
        },
        "options": {
            "fail_on": str(result.fail_on),
            "min_size": made.minimum.size,
            "min_events": made.minimum.events,
            "exclude_below": made.exclude_below
            and {
                "share": float(made.exclude_below.share),
                "reason": made.exclude_below.reason,
            },
            "inference": {
                "confidence": float(made.inference.confidence),
                "correction": str(made.inference.correction),
                "ratio": str(made.inference.ratio),
                "z": str(made.inference.z),
                "t": str(made.inference.t),
                "fisher": str(made.inference.fisher),
            },
            "suppress_below": made.suppress_below,
        },
        "ledger": {
            "read": ledger.read,
            "counted": ledger.counted,
            "people": ledger.people,
            "filtered": ledger.filtered,
            "undecided": ledger.undecided,
            "dropped": [write_line(one) for one in ledger.dropped],
            "set_aside": [write_line(one) for one in ledger.set_aside],
        },
        "summary": {
            "verdict": str(result.verdict),
            "exit_code": result.exit_code,
            "checks": {str(status): count for status, count in result.tally.items()},
        },
        "groups": [write_group_row(row) for row in result.groups],
        "rates": [write_rate_row(row) for row in result.rates],
        "comparisons": [write_comparison_row(row) for row in result.comparisons],
        "checks": [write_finding(one) for one in result.findings],
        "reversals": [write_reversal(one, result.provenance.inference) for one in result.reversals],
        "reversal_comparisons": result.compared,
        "searched": result.searched
        and {
            "columns": list(result.searched.columns),
            "left_out": dict(result.searched.left_out),
        },
        "subgroups": [*subgroups.rows(result)],
        "subgroup_searches": [*subgroups.searches(result)],
        "lattice": [write_lattice_row(row, made.inference.alpha) for row in result.lattice],
        "epsilons": [write_epsilon(one) for one in result.epsilons],
        "scores": [write_score_row(row) for row in result.scores],
        "curves": [write_curve(one) for one in result.curves],
        "definitions": [write_definition(one) for one in result.definitions],
        "baseline": result.earlier
        and {
            "path": result.earlier.path,
            "created": result.earlier.created,
            "age_days": result.earlier.days,
            "tolerance": float(result.earlier.tolerance),
        },
        "waivers": [write_told(one) for one in result.waivers],
        "notices": list(result.notices),
    }

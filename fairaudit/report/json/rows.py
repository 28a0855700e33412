"""The flat tables: groups, rates and comparisons."""

from __future__ import annotations

from typing import Any

from fairaudit.report.json.estimates import (
    write_estimate,
    write_interval,
    write_part,
    write_significance,
    write_value_of,
    write_witness,
)
from fairaudit.report.json.values import finite, write_group, write_value
from fairaudit.result import (
    ComparisonRow,
    GroupRow,
    RateRow,
)


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
    }


def write_comparison_row(row: ComparisonRow) -> dict[str, Any]:
    """A comparison, who attains it, and both sides of each of its parts."""
    return {
        "metric": row.metric,
        "compare": row.compare,
        "of": row.of,
        "by": list(row.by),
        "given": write_group(row.stratum),
        "group": None if row.group is None else write_group(row.group),
        "reference": row.reference,
        **write_value_of(row.estimate),
        "reason": row.estimate.reason,
        **write_interval(row.estimate),
        "significance": write_significance(row.estimate.significance),
        **({"error": finite(row.estimate.error)} if row.estimate.error else {}),
        "parameters": dict(row.parameters),
        "averaged_over": list(row.averaged),
        "witness": write_witness(row.parts, row.decided_by, row, spread=row.group is None),
        "parts": [write_part(part) for part in row.parts],
        "groups_compared": row.takes_part,
    }

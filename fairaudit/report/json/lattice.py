"""Every subset of the protected attributes, where a gap first appears, and how to read ε."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fairaudit.estimate import Estimate
from fairaudit.evidence.appearances import Appearance
from fairaudit.evidence.crowds import Apart
from fairaudit.report import appearances
from fairaudit.report.json.estimates import (
    write_estimate,
    write_interval,
    write_part,
    write_value_of,
    write_witness,
)
from fairaudit.report.json.values import write_group, write_value
from fairaudit.result import (
    EpsilonReading,
    LatticeRow,
)


def write_lattice_row(row: LatticeRow, alpha: float) -> dict[str, Any]:
    """A subset with the worst value of each measure."""
    return {
        "by": list(row.by),
        "groups": row.groups,
        "smallest": row.smallest,
        "entries": [
            {
                "metric": entry.metric,
                "title": entry.title,
                "of": entry.of,
                **write_value_of(entry.estimate),
                "reason": entry.estimate.reason,
                **write_interval(entry.estimate),
                "witness": write_witness(entry.parts, entry.decided_by, entry, spread=entry.spread),
                "judged": entry.judged,
                "parts": [write_part(part) for part in entry.parts],
            }
            for entry in row.entries
        ],
        "tested": None if row.tested is None else dict(row.tested),
        "appears": [write_appearance(one, alpha) for one in row.appears],
    }


def write_appearance(one: Appearance, alpha: float) -> dict[str, Any]:
    """A group where a gap first appears."""
    return {
        "metric": one.metric,
        "of": one.of,
        "class": one.of_class,
        "group": write_group(one.group),
        **write_crowd(one.estimate),
        "everybody_else": write_apart(one.apart),
        "worse_off": one.worse_off,
        "significance": None if one.significance is None else asdict(one.significance),
        "parents": [
            {
                "group": write_group(parent.group),
                **write_crowd(parent.estimate),
                "everybody_else": None if parent.apart is None else write_apart(parent.apart),
                "rest": write_apart(parent.rest),
            }
            for parent in one.parents
        ],
        "sentence": appearances.sentence(one, alpha),
    }


def write_apart(one: Apart) -> dict[str, Any]:
    """How a crowd differs from another."""
    return {
        "other": write_crowd(one.other),
        "difference": one.difference,
        "low": one.low,
        "high": one.high,
        "p": one.p,
        "test": one.test,
    }


def write_crowd(one: Estimate) -> dict[str, Any]:
    """The share of a group or of a crowd; its test stands where it is compared."""
    return {name: value for name, value in write_estimate(one).items() if name != "significance"}


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
    }

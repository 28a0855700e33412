"""A comparison of two results as one document, which is not read back."""

from __future__ import annotations

from typing import Any

from fairaudit.codec.documents import head_schema, root, with_head
from fairaudit.codec.rows import Row
from fairaudit.codec.schema import Members
from fairaudit.codec.values import Schema, closed
from fairaudit.compare import (
    Change,
    Changes,
    CheckChange,
    Direction,
    GroupChange,
    PeopleChange,
    RateChange,
)
from fairaudit.version import version

_CHANGES = Row(Changes)
_ABOUT = (
    "What `fairaudit compare --format json` prints. Where there is no comparison it prints the "
    "error of the schema of results."
)
_SIGNIFICANT = {"type": "boolean", "description": "Whether chance hardly explains it."}
_WORDS = ("worse", "better", "unsure", "untested")


def write_changes(changes: Changes, exit_code: int) -> dict[str, Any]:
    """The comparison as plain data; `exit_code` is that of the command.

    What is significant depends on the confidence of the whole, so it is added to the rows here.
    """
    alpha = changes.alpha
    significant = [row.change for row in changes.rates if row.change.is_significant(alpha)]
    head: dict[str, Any] = {
        "tool": {"version": version()},
        "kind": "comparison",
        "summary": {
            "exit_code": exit_code,
            "checks": {
                "compared": len(changes.checks),
                "worse": len(changes.worse),
                "better": len(changes.better),
            },
            "rates": {
                "compared": len(changes.rates),
                "significant": len(significant),
                "worse": sum(change.way is Direction.WORSE for change in significant),
                "better": sum(change.way is Direction.BETTER for change in significant),
            },
        },
    }
    tree = with_head({**head, **_CHANGES.write(changes)})
    for row, check in zip(tree["checks"], changes.checks, strict=True):
        row["verdict"] = _verdict(check, alpha)
        _mark([row], [check.change], alpha)
        _mark(row["groups"], [group.change for group in check.groups], alpha)
    _mark(tree["rates"], [rate.change for rate in changes.rates], alpha)
    for row, people in zip(tree["people"], changes.people, strict=True):
        test = people.significance
        row["significant"] = test is not None and test.adjusted < alpha
    return tree


def _mark(rows: list[dict[str, Any]], changes: list[Change], alpha: float) -> None:
    for row, change in zip(rows, changes, strict=True):
        row["significant"] = change.is_significant(alpha)


def _verdict(check: CheckChange, alpha: float) -> str:
    """The word for how a check changed."""
    if check.is_worse(alpha):
        return "worse"
    if check.is_better(alpha):
        return "better"
    return "unsure" if check.is_tested else "untested"


def changes_schema() -> Schema:
    """The JSON Schema of the document."""
    count = {"type": "integer", "minimum": 0}
    of_checks = closed(dict.fromkeys(("compared", "worse", "better"), count))
    of_rates = closed(dict.fromkeys(("compared", "significant", "worse", "better"), count))
    summary = closed({"exit_code": count, "checks": of_checks, "rates": of_rates})
    head: Members = {
        "kind": ({"const": "comparison", "description": "What kind of document it is."}, True),
        "summary": ({**summary, "description": "How many got worse, or better."}, True),
    }
    schema = root("comparison", _ABOUT, {"comparison": head_schema({**head, **_CHANGES.members})})
    for cls in (CheckChange, GroupChange, RateChange, PeopleChange):
        definition = schema["$defs"][Row(cls).name]
        definition["properties"]["significant"] = _SIGNIFICANT
        definition["required"].append("significant")
    verdict = schema["$defs"][Row(CheckChange).name]
    verdict["properties"]["verdict"] = {"enum": [*_WORDS], "description": "How it changed."}
    return {**schema, "$ref": "#/$defs/comparison"}

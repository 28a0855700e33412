"""A comparison of two results as one document, which is not read back."""

from __future__ import annotations

from typing import Any

from fairaudit.codec.documents import root
from fairaudit.codec.rows import Row
from fairaudit.codec.schema import name_of, object_of
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
from fairaudit.result import SCHEMA_VERSION
from fairaudit.version import version

_CHANGES = Row(Changes)
_FLAG: Schema = {"type": "boolean", "description": "Whether chance hardly explains it."}
_WORDS = ("worse", "better", "unsure", "untested")


def write_changes(changes: Changes, exit_code: int) -> dict[str, Any]:
    """The comparison as plain data; `exit_code` is that of the command.

    What is significant depends on the confidence of the whole, so it is added to the rows here.
    """
    alpha = changes.alpha
    significant = [row.change for row in changes.rates if row.change.is_significant(alpha)]
    tree: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "fairaudit", "version": version()},
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
    _CHANGES.put(changes, tree)
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
    count: Schema = {"type": "integer", "minimum": 0}
    of_checks = dict.fromkeys(("compared", "worse", "better"), count)
    of_rates = {**of_checks, "significant": count}
    summary = {
        "exit_code": {"type": "integer", "description": "The exit code of the command."},
        "checks": closed(of_checks, [*of_checks]),
        "rates": closed(of_rates, [*of_rates]),
    }
    head = {
        "schema_version": {"const": SCHEMA_VERSION, "description": "Major and minor version."},
        "tool": closed({"name": {"const": "fairaudit"}, "version": {"type": "string"}}, ["name"]),
        "kind": {"const": "comparison"},
        "summary": closed(summary, [*summary]),
    }
    definitions: dict[str, Schema] = {}
    members = [(name, schema, True) for name, schema in head.items()]
    tree = object_of([*members, *_CHANGES.members(definitions)])
    for cls in (CheckChange, GroupChange, RateChange, PeopleChange):
        definitions[name_of(cls)]["properties"]["significant"] = _FLAG
        definitions[name_of(cls)]["required"].append("significant")
    verdict = {"enum": [*_WORDS], "description": "How the check changed, in a word."}
    definitions[name_of(CheckChange)]["properties"]["verdict"] = verdict
    definitions[name_of(CheckChange)]["required"].append("verdict")
    about = (
        "What `fairaudit compare --format json` prints. Where there is no comparison it prints the "
        "error of the schema of results."
    )
    return root("comparison", about, tree, definitions)

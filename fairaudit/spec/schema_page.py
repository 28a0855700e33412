"""The page of the spec's keys, printed from the JSON Schema: docs/spec.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from fairaudit.spec.editor_schema import json_schema

_HEAD = """# The spec

[The tutorial](tutorial.md#5-set-a-limit) shows a whole one. Each file of `audit_specs/` runs; those
in `audit_specs/recipes/` are for tables as they are published. This page is printed by
`fairaudit schema --format markdown`, from what editors show beside a key.
[The notes](spec_notes.md) tell what a table cannot hold: metrics to copy, evidence, rows that
belong together, people one by one, strata that a model makes, subgroups, waivers, and reports to
publish.

What is wrong in a spec is told with line, column and the nearest right word, all at once for each
stage: the text of the spec, then the columns of the data, then their levels. Keys that begin with
`x-` may hold what `<<: *name` repeats.
"""
_SECTIONS = {
    "Data": (
        "",
        (
            "version",
            "title",
            "context",
            "profile",
            "data",
            "filter",
            "format",
            "expect",
            "columns",
            "missing",
        ),
    ),
    "Files: `format`": ("FileFormat", ()),
    "What the data must hold: `expect`": ("Expected", ()),
    "`expect: {rows: …}`": ("ExpectedRows", ()),
    "Columns: `columns`": ("Columns", ()),
    "Attributes, strata and features: `columns.protected`, `strata`, `features`": (
        "ProtectedColumn",
        (),
    ),
    "Outcomes: `columns.label`, `prediction`, `decision`": ("OutcomeColumn", ()),
    "One of several models: `columns.models`": ("ModelColumns", ()),
    "What is asked": (
        "",
        ("metrics", "defaults", "simpson", "subgroups", "groups", "inference", "undefined"),
    ),
    "Metrics and checks: an entry of `metrics`": ("Metric", ()),
    "Limits: `warn` and `fail`": ("Bound", ()),
    "What entries share: `defaults`": ("Defaults", ()),
    "Strata made by a model, in `given` or in place of a column of `strata`": ("StrataModel", ()),
    "`propensity`": ("PropensityStrata", ()),
    "`clusters`": ("ClusterStrata", ()),
    "Simpson's reversals: `simpson`": ("Simpson", ()),
    "Subgroups: `subgroups`": ("Subgroups", ()),
    "Groups: `groups`": ("Groups", ()),
    "`groups: {exclude_below: …}`": ("Exclusion", ()),
    "How sure: `inference`": ("Inference", ()),
    "Missing values: `missing`": ("MissingRules", ()),
    "The rest": (
        "",
        ("waivers", "draws", "suppress_below", "flags", "describe"),
    ),
}
"""Each heading with the shape that it prints, or with keys of the spec itself."""


def markdown() -> str:
    """The keys of a spec, section by section: what each says, its default, an example."""
    tree = json_schema()
    parts = [_HEAD]
    for title, (shape, keys) in _SECTIONS.items():
        part = tree["$defs"][shape] if shape else tree
        members, required = part["properties"], part.get("required", ())
        shown = keys or tuple(sorted(members, key=lambda key: key not in required))
        parts.append(f"## {title}\n\n" + "\n".join(_rows(members, shown, tree)))
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _rows(
    members: Mapping[str, Any], keys: tuple[str, ...], tree: Mapping[str, Any]
) -> Iterator[str]:
    yield "| key | what it says | default | example |"
    yield "|---|---|---|---|"
    for key in keys:
        member = members[key]
        words = " ".join(filter(None, (member["description"], _choices(member, tree))))
        examples = ", ".join(f"`{_written(example)}`" for example in member["examples"])
        default = member.get("default")
        written = "" if default in (None, {}, []) or isinstance(default, dict) else default
        cell = f"`{_written(written)}`" if written != "" else ""
        yield f"| `{key}` | {words} | {cell} | {examples} |"
        yield from _inline(key, member)


def _inline(key: str, member: Mapping[str, Any]) -> Iterator[str]:
    """The keys of a mapping that a key may hold, where it has no section of its own."""
    for form in member.get("anyOf", ()):
        for mapping in (form, *form.get("anyOf", ())):
            for inner, part in mapping.get("properties", {}).items():
                (example,) = part["examples"]
                yield f"| `{key}.{inner}` | {part['description']} | | `{_written(example)}` |"


def _choices(member: Mapping[str, Any], tree: Mapping[str, Any]) -> str:
    """The words that a key takes, where they are few."""
    forms = [member, *member.get("anyOf", ())]
    for form in forms:
        name = form.get("$ref", "").removeprefix("#/$defs/")
        words = tree["$defs"].get(name, form).get("enum", ())
        if 1 < len(words) <= 20 and all(isinstance(word, str) for word in words):
            return "One of " + ", ".join(f"`{word}`" for word in words) + "."
    return ""


def _written(value: object) -> str:
    """A value as YAML has it, in one line."""
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=1000)
    return text.strip().removesuffix("...").strip().replace("|", "\\|").replace("'", '"')

"""The page docs/spec.md: the keys of a spec, from the JSON Schema that editors read."""

from __future__ import annotations

import yaml

from fairaudit.spec.editor_schema import json_schema

_HEAD = """# The spec

[The tutorial](tutorial.md#5-set-a-limit) shows a complete spec. Each file of `audit_specs/` runs;
the recipes are in `audit_specs/recipes/`. This page is made from the
descriptions that editors show for a key.
[The notes](spec_notes.md) explain what a table cannot show: metrics to copy, evidence, rows that
belong together, measures of individuals, strata from a model, subgroups, waivers, and reports to
publish.

Errors in a spec have line, column and the closest correct word. All errors of a stage are listed at
once: the text of the spec, then the columns of the data, then their levels. Keys that begin with
`x-` can hold values that `<<: *name` inserts elsewhere.
"""
_SECTIONS = {
    "Data": "version title context profile data repeated_files repeats filter dates format expect "
    "columns design missing",
    "Files: `format`": "FileFormat",
    "Required rows and levels: `expect`": "Expected",
    "`expect: {rows: …}`": "ExpectedRows",
    "Columns: `columns`": "Columns",
    "Several rows of a person: `repeats`": "RepeatedPeople",
    "The sample: `design`": "SampleDesign",
    "Attributes, strata and features: `columns.protected`, `strata`, `features`": "ProtectedColumn",
    "Outcomes: `columns.label`, `prediction`, `decision`": "OutcomeColumn",
    "One of several models: `columns.models`": "ModelColumns",
    "Stages of a process: `columns.stages`": "StageColumn",
    "Metrics, searches and evidence": (
        "metrics defaults simpson subgroups groups inference undefined"
    ),
    "Metrics and checks: an entry of `metrics`": "Metric",
    "Limits: `warn` and `fail`": "Bound",
    "Defaults of entries: `defaults`": "Defaults",
    "Strata from a model, in `given` or instead of a column of `strata`": "StrataModel",
    "`propensity`": "PropensityStrata",
    "`clusters`": "ClusterStrata",
    "Simpson's reversals: `simpson`": "Simpson",
    "Subgroups: `subgroups`": "Subgroups",
    "Groups: `groups`": "Groups",
    "`groups: {exclude_below: …}`": "Exclusion",
    "Intervals and tests: `inference`": "Inference",
    "Missing values: `missing`": "Missing",
    "Other keys": "waivers draws suppress_below flags describe",
}
"""Each heading of the page, with the record whose keys it lists, or with top-level keys."""


def render_page() -> str:
    """The page docs/spec.md: the meaning, the default and an example of each key, by section."""
    tree = json_schema()
    parts = [_HEAD]
    for title, words in _SECTIONS.items():
        shape = tree["$defs"].get(words)
        members = (shape or tree)["properties"]
        shown = words.split()
        if shape is not None:
            required = shape.get("required", ())
            shown = sorted(members, key=lambda key: key not in required)
        rows = ["| key | what it says | default | example |", "|---|---|---|---|"]
        for key in shown:
            member, says = members[key], members[key]["description"]
            # List the allowed words of a key if there are few.
            for form in (member, *member.get("anyOf", ())):
                name = form.get("$ref", "").removeprefix("#/$defs/")
                known = tree["$defs"].get(name, form).get("enum", ())
                if 1 < len(known) <= 20 and all(isinstance(word, str) for word in known):
                    says += f" One of {', '.join(f'`{word}`' for word in known)}."
                    break
            examples = ", ".join(f"`{_written(example)}`" for example in member["examples"])
            default = member.get("default")
            written = "" if default in (None, []) or isinstance(default, dict) else default
            cell = f"`{_written(written)}`" if written != "" else ""
            rows.append(f"| `{key}` | {says} | {cell} | {examples} |")
            # List the keys inside a key if they do not have a separate section.
            forms = member.get("anyOf", ())
            for inner in (inner for form in forms for inner in (form, *form.get("anyOf", ()))):
                for name, part in inner.get("properties", {}).items():
                    (example,) = part["examples"]
                    says = part["description"]
                    rows.append(f"| `{key}.{name}` | {says} | | `{_written(example)}` |")
        parts.append(f"## {title}\n\n" + "\n".join(rows))
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _written(value: object) -> str:
    """A value in YAML, in one line."""
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=1000)
    text = text.strip().removesuffix("...").strip().replace("|", "\\|")
    # Double quotes are better known than single quotes.
    return text if text == value or '"' in text else text.replace("'", '"')

"""JSON Schema of a spec for editors (`fairaudit schema`), and the page docs/spec.md.

The schema has the shape of a spec, its short forms, and the words of each key.

The words are what stands below a key where it is declared: sentences, then examples as they are
written in YAML. They are read when the schema is printed, so that a run does not wait for them.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import yaml

from fairaudit.spec import column_schema, metrics_schema, schema
from fairaudit.spec.fields import GIVEN_MODEL, LIMIT_TEXT, NUMERIC, SCALAR, TEXTS
from fairaudit.spec.shape import Reader, Shape, marks_of

_EXAMPLES = re.compile(r"\s+Examples?:\s+(?=`)")
_SIMILARITY = {
    "numeric": ("Columns of numbers in which people are alike.", ["income", "age"]),
    "categorical": ("Columns of categories in which people are alike.", ["job"]),
}

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
    "Data": "version title context profile data repeated_files filter dates format expect columns "
    "design missing",
    "Files: `format`": "FileFormat",
    "What the data must hold: `expect`": "Expected",
    "`expect: {rows: …}`": "ExpectedRows",
    "Columns: `columns`": "Columns",
    "The sample: `design`": "SampleDesign",
    "Attributes, strata and features: `columns.protected`, `strata`, `features`": "ProtectedColumn",
    "Outcomes: `columns.label`, `prediction`, `decision`": "OutcomeColumn",
    "One of several models: `columns.models`": "ModelColumns",
    "What is asked": "metrics defaults simpson subgroups groups inference undefined",
    "Metrics and checks: an entry of `metrics`": "Metric",
    "Limits: `warn` and `fail`": "Bound",
    "What entries share: `defaults`": "Defaults",
    "Strata made by a model, in `given` or in place of a column of `strata`": "StrataModel",
    "`propensity`": "PropensityStrata",
    "`clusters`": "ClusterStrata",
    "Simpson's reversals: `simpson`": "Simpson",
    "Subgroups: `subgroups`": "Subgroups",
    "Groups: `groups`": "Groups",
    "`groups: {exclude_below: …}`": "Exclusion",
    "How sure: `inference`": "Inference",
    "Missing values: `missing`": "MissingRules",
    "The rest": "waivers draws suppress_below flags describe",
}
"""Each heading with the shape that it prints, or with keys of the spec itself."""


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a spec, as editors read it (version 2020-12)."""
    shapes: dict[str, Any] = {}
    _describe_shape(schema.AuditSpec, shapes)
    tree = {"$defs": shapes, **shapes.pop(schema.AuditSpec.__name__)}
    _add_short_forms(tree)
    _add_words(tree)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "fairaudit spec",
        **tree,
    }


def _describe_shape(shape: type[Shape], shapes: dict[str, Any]) -> None:
    """Add what a mapping may hold, and every shape and enum below it."""
    fields = shape.declared
    required = [key for key, field in fields.items() if field.is_required]
    shapes[shape.__name__] = {
        "type": "object",
        "description": inspect.getdoc(shape),
        "additionalProperties": False,
        "properties": {
            key: _describe_type(field.annotation, shapes)
            | ({} if field.is_required else {"default": _plain(field.default)})
            for key, field in fields.items()
        },
        **({"required": required} if required else {}),
    }


def _describe_type(annotation: Any, shapes: dict[str, Any]) -> dict[str, Any]:  # noqa: ANN401  # whatever annotates
    """The JSON Schema of a value, as `shape.reader_of` reads it."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        for reader in marks_of(annotation, Reader):
            if reader.described is not None:
                return {**reader.described}
        return _describe_type(parts[0], shapes)
    if origin in {Union, UnionType}:
        forms = [_describe_type(part, shapes) for part in parts if part is not NoneType]
        (form,) = forms
        return {"anyOf": [*form.get("anyOf", [form]), {"type": "null"}]}
    if origin is Literal:
        return {"enum": [*parts]}
    if origin is list:
        return {"type": "array", "items": _describe_type(parts[0], shapes)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _describe_type(parts[1], shapes)}
    if annotation.__name__ not in shapes:
        if issubclass(annotation, Shape):
            _describe_shape(annotation, shapes)
        else:
            assert issubclass(annotation, Enum)
            words = [member.value for member in annotation]
            shapes[annotation.__name__] = {
                "description": inspect.getdoc(annotation),
                "enum": words,
            }
    return {"$ref": f"#/$defs/{annotation.__name__}"}


def _plain(value: object) -> object:
    """A default as a tree of JSON."""
    match value:
        case Shape():
            return {
                key: _plain(getattr(value, field.name)) for key, field in value.declared.items()
            }
        case Decimal():
            return float(value)
        case Enum():
            return value.value
    return value


def _add_short_forms(tree: dict[str, Any]) -> None:
    """Add the short forms, which are normalised before validation."""
    shapes = tree["$defs"]
    _add_short_columns(shapes)
    bound = shapes["Bound"]["properties"]
    bound["outside"] = {"type": "array", "items": NUMERIC, "minItems": 2, "maxItems": 2}
    shapes["Bound"]["minProperties"] = 1
    for shape in ("Metric", "Subgroups", "Defaults"):
        for side in ("warn", "fail"):
            shapes[shape]["properties"][side]["anyOf"].insert(0, LIMIT_TEXT)
    members = tree["properties"]
    members["simpson"] = {"anyOf": [{"const": False}, {"$ref": "#/$defs/Simpson"}]}
    entry = shapes["Metric"]["properties"]
    del entry[GIVEN_MODEL]
    entry["given"]["anyOf"].append({"$ref": "#/$defs/StrataModel"})
    members["version"] = {"enum": [int(schema.VERSION), schema.VERSION]}
    name = {"$ref": "#/$defs/_metric_name"}
    shapes["_metric_name"] = dict(entry["metric"])
    entry["metric"] = name
    forms = [name, {"$ref": "#/$defs/Metric"}]
    members["metrics"] = {"anyOf": [*forms, {"type": "array", "items": {"anyOf": forms}}]}
    tree["patternProperties"] = {"^x-": {}}
    # A profile may bring what a spec must have.
    tree["if"] = {"not": {"required": ["profile"]}}
    tree["then"] = {"required": tree.pop("required")}
    tree.pop("title", None)


def _add_short_columns(shapes: dict[str, Any]) -> None:
    """Add the short forms of `columns`: a name, a list of names, a mapping with empty bodies."""
    columns = shapes["Columns"]["properties"]
    outcome = {"anyOf": [SCALAR, {"$ref": "#/$defs/OutcomeColumn"}]}
    columns |= dict.fromkeys(("label", "prediction", "decision"), outcome)
    models = shapes["ModelColumns"]
    models["properties"]["prediction"] = outcome
    models["minProperties"] = 1
    reference = {"$ref": "#/$defs/ModelColumns"}
    columns["models"] = {"type": "object", "additionalProperties": reference, "minProperties": 1}
    bodies = {
        "protected": column_schema.ProtectedColumn,
        "strata": column_schema.FactorColumn,
        "features": column_schema.FeatureColumn,
    }
    names = {"type": "array", "items": SCALAR}
    for key, inner in bodies.items():
        body = {"anyOf": [{"type": "null"}, {"$ref": f"#/$defs/{inner.__name__}"}]}
        columns[key] = {"anyOf": [SCALAR, names, {"type": "object", "additionalProperties": body}]}
    columns["features"]["anyOf"][2]["properties"] = {
        key: {**TEXTS, "description": words, "examples": [example]}
        for key, (words, example) in _SIMILARITY.items()
    }
    del shapes["FeatureColumn"]["properties"]["names"]


def _add_words(tree: dict[str, Any]) -> None:
    """Add to each key its description and its examples."""
    shapes: dict[str, type[Shape]] = {
        name: shape
        for module in (column_schema, metrics_schema, schema)
        for name, shape in vars(module).items()
        if inspect.isclass(shape) and issubclass(shape, Shape)
    }
    _describe(tree["properties"], schema.AuditSpec)
    for name, part in tree["$defs"].items():
        if name in shapes:
            _describe(part["properties"], shapes[name])
    inline: dict[tuple[str, str], type[Shape]] = {
        ("OutcomeColumn", "positive"): column_schema.Positive,
        ("Simpson", "warn"): metrics_schema.Turned,
        ("Simpson", "fail"): metrics_schema.Turned,
    }
    for (name, key), shape in inline.items():
        for form in tree["$defs"][name]["properties"][key]["anyOf"]:
            for mapping in (form, *form.get("anyOf", ())):
                _describe(mapping.get("properties", {}), shape)


def _describe(members: dict[str, Any], shape: type[Shape]) -> None:
    words = dict(_words_of(shape))
    for key, member in members.items():
        description, examples = words[key]
        members[key] = {**member, "description": description, "examples": examples}


def _words_of(shape: type[Shape]) -> Iterator[tuple[str, tuple[str, list[Any]]]]:
    """Each key of a shape, inherited ones first, with its description and examples."""
    keys = {field.name: key for key, field in shape.declared.items()}
    for parent in reversed(shape.__mro__):
        if not issubclass(parent, Shape) or parent is Shape:
            continue
        (declaration,) = ast.parse(textwrap.dedent(inspect.getsource(parent))).body
        body = declaration.body if isinstance(declaration, ast.ClassDef) else []
        for field, below in itertools.pairwise(body):
            match field, below:
                case ast.AnnAssign(ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                    description, *examples = _EXAMPLES.split(inspect.cleandoc(text))
                    values = map(yaml.safe_load, re.findall(r"`([^`]+)`", "".join(examples)))
                    # As the loader reads it, a day is a text.
                    plain = [str(value) if isinstance(value, date) else value for value in values]
                    yield keys[name], (" ".join(description.split()), plain)


def markdown() -> str:
    """The keys of a spec, section by section: what each says, its default, an example."""
    tree = json_schema()
    parts = [_HEAD]
    for title, words in _SECTIONS.items():
        shape = tree["$defs"].get(words)
        members = (shape or tree)["properties"]
        shown = words.split()
        if shape is not None:
            required = shape.get("required", ())
            shown = sorted(members, key=lambda key: key not in required)
        parts.append(f"## {title}\n\n" + "\n".join(_rows(members, shown, tree)))
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _rows(
    members: Mapping[str, Any], keys: Sequence[str], tree: Mapping[str, Any]
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
    text = text.strip().removesuffix("...").strip().replace("|", "\\|")
    # Of a text in YAML's own quotes the double ones are better known.
    return text if text == value or '"' in text else text.replace("'", '"')

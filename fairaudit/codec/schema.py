"""JSON Schemas of records, by msgspec, with descriptions from the docstrings of the records."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from inspect import cleandoc
from typing import Any, get_args

import msgspec
from msgspec import NODEFAULT

from fairaudit.base.frozen import Frozen
from fairaudit.codec.records import FRACTION, OPTION, Tree, list_members, split_union
from fairaudit.metrics import MetricName
from fairaudit.metrics.estimate import State
from fairaudit.metrics.evaluation_record import MetricRecord

_SENTENCE = re.compile(r"(?<=[.:;])\s+(?=[A-Z`])|\n\n+")

GLOSSARY: Mapping[str, str] = {
    "of": "The outcome that is audited.",
    "by": "The columns whose combinations of levels are the groups.",
    "given": "The stratum: a level of each conditioning column; {} means all people.",
    "group": "The group: a level of each of its columns; {} means all people.",
    "metric": "The id of the metric.",
    "title": "A readable name.",
    "state": "Whether there is a number; if not, `value` is null.",
    "value": "The number, null if it is not finite.",
    "n": "The number of people.",
    "numerator": "The number of people that the rate counts, or the sum that is divided.",
    "denominator": "The divisor.",
    "reason": "The reason, as a sentence; empty or null without a reason.",
    "low": "The lower end of the interval, null if missing.",
    "high": "The upper end of the interval, null if missing.",
    "first": "The first group of the pair; for a gap or smallest ratio, the highest.",
    "second": "The second group of the pair: the reference; for a gap or smallest ratio, the "
    "lowest.",
    "decided_by": "The rate or outcome that determines the value.",
    "parameters": "The other keys that the spec sets for the metric.",
    "significance": "The test, null if missing.",
    "place": "The place in the spec.",
}
"""Descriptions of members, for records whose docstring does not describe the member itself."""


@cache
def sentences(cls: type) -> tuple[str, ...]:
    """The sentences of a class's docstring."""
    text = cleandoc(cls.__doc__ or "")
    return tuple(" ".join(sentence.split()) for sentence in _SENTENCE.split(text) if sentence)


def describe(hint: Any) -> tuple[Tree, dict[str, Tree]]:
    """The JSON Schema of a type, and the schemas of all records in it, by name."""
    records: dict[str, Any] = {}
    _add_records(hint, records)
    members = [(cls, one) for cls in records.values() for one in list_members(cls)]
    (refers, _, _, *schemas), definitions = msgspec.json.schema_components(
        [hint, MetricName, State, *(one.hint for _, one in members)],
        schema_hook=_describe_type,
        ref_template="#/$defs/{name}",
    )
    found = {
        (cls, one.field): _as_written(schema)
        for (cls, one), schema in zip(members, schemas, strict=True)
    }
    for name, cls in records.items():
        variants = [
            {"properties": properties, "required": required, "additionalProperties": False}
            for properties, required in _list_variants(cls, found)
        ]
        objects = variants[0] if len(variants) == 1 else {"anyOf": variants}
        definitions[name] = {"description": " ".join(sentences(cls)), "type": "object", **objects}
    for name, definition in definitions.items():
        definition.setdefault("description", f"{name}.")
    return refers, definitions


def _add_records(hint: Any, records: dict[str, Any]) -> None:
    """Adds all records in a type."""
    for part in get_args(hint):
        _add_records(part, records)
    is_new = isinstance(hint, type) and hint.__name__ not in records
    if hint is MetricRecord:
        _add_records(MetricName, records)
    elif is_new and issubclass(hint, Frozen):
        records[hint.__name__] = hint
        for one in list_members(hint):
            _add_records(one.hint, records)


def _list_variants(
    cls: Any, found: Mapping[tuple[Any, str], Tree]
) -> list[tuple[dict[str, Tree], list[str]]]:
    """The properties and the required properties of a record, for each type of flat members."""
    tag = cls.__struct_config__.tag
    about = {"const": tag, "description": "Which of the types of a result it is."}
    variants: list[tuple[dict[str, Tree], list[str]]] = [
        ({"type": about}, ["type"]) if tag else ({}, [])
    ]
    for one in list_members(cls):
        if one.is_flat:
            inner = [each for c in split_union(one.hint) for each in _list_variants(c, found)]
            variants = [({**a, **b}, [*c, *d]) for a, c in variants for b, d in inner]
            continue
        said = " ".join(text for text in sentences(cls) if f"`{one.field}`" in text)
        said = said or GLOSSARY.get(one.name) or f"{one.name.replace('_', ' ').capitalize()}."
        for properties, required in variants:
            properties[one.name] = {**found[cls, one.field], "description": said}
            if one.state:
                properties[one.name] |= {"type": ["number", "null"]}
                properties[one.name].pop("anyOf", None)
                properties.setdefault(one.state, {"$ref": "#/$defs/State"})
            if one.rare is NODEFAULT:
                required.append(one.name)
    return variants


def _describe_type(cls: Any) -> Tree:
    """The schema of a type for which msgspec has none."""
    if cls is MetricRecord:
        return {"$ref": "#/$defs/MetricName"}
    if cls is object:
        return msgspec.json.schema(OPTION)
    return {"type": "string", "pattern": FRACTION} if cls is Fraction else {"type": "string"}


def _as_written(schema: Any, *, is_listed: bool = False) -> Any:
    """The schema of the data from `records`: pairs are objects, numbers in lists may be words."""
    if isinstance(schema, list):
        return [_as_written(one, is_listed=is_listed) for one in schema]
    if not isinstance(schema, dict):
        return schema
    match schema:
        case {"type": "number"} if is_listed:
            return {"anyOf": [schema, {"$ref": "#/$defs/State"}]}
        case {"items": {"prefixItems": [{"type": "string"}, value], "maxItems": 2}} if (
            "maxItems" not in schema
        ):
            return {"type": "object", "additionalProperties": value}
    return {
        name: _as_written(one, is_listed=is_listed or name in {"items", "prefixItems"})
        for name, one in schema.items()
    }

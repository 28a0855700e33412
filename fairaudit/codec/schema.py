"""The JSON Schema of rows, described by the docstrings of their classes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from inspect import cleandoc
from typing import TypeAlias

from fairaudit.codec.values import Schema
from fairaudit.result import SCHEMA_VERSION

Members: TypeAlias = Mapping[str, tuple[Schema, bool]]
"""Of each member its schema, and whether it is always there."""

DEFINITIONS: dict[str, Schema] = {}
"""The schemas of rows by their names."""

_SENTENCE = re.compile(r"(?<=[.:;])\s+(?=[A-Z`])|\n\n+")

GLOSSARY: Mapping[str, str] = {
    "of": "The outcome that is audited.",
    "by": "The columns that are crossed.",
    "given": "The stratum: a level of each conditioning column; {} is everybody.",
    "group": "The group: a level of each of its columns; {} is everybody.",
    "metric": "The id of the metric.",
    "title": "A name for people.",
    "state": "Whether there is a number; else `value` is null.",
    "value": "The number, null where there is none that JSON has.",
    "n": "How many people.",
    "numerator": "How many of them, or the sum that is divided.",
    "denominator": "What is divided by.",
    "reason": "Why, in words; empty or null where there is nothing to say.",
    "low": "The lower end of the interval, null where there is none.",
    "high": "The upper end of the interval, null where there is none.",
    "first": "The first group of the pair that attains the value: of a spread the highest.",
    "second": "The second group of that pair: the reference, or of a spread the lowest.",
    "decided_by": "The rate or outcome that attains the value.",
    "parameters": "What the spec sets beside the metric.",
    "significance": "The test, null where there is none.",
    "place": "Where the spec says so.",
}
"""Members that mean the same wherever they stand, unless their class says more."""


@cache
def sentences(cls: type) -> tuple[str, ...]:
    """The sentences of a class's docstring."""
    text = cleandoc(cls.__doc__ or "")
    return tuple(" ".join(sentence.split()) for sentence in _SENTENCE.split(text) if sentence)


def describe(cls: type, field: str, members: Members) -> Members:
    """Members of a field with what the docstring of its class says of it."""
    said = " ".join(sentence for sentence in sentences(cls) if f"`{field}`" in sentence)
    return {
        name: (
            {"description": said or GLOSSARY.get(name) or f"{name.replace('_', ' ').capitalize()}."}
            | schema,
            always,
        )
        for name, (schema, always) in members.items()
    }


def object_of(members: Members, words: str = "") -> Schema:
    """The schema of an object of these members and no others."""
    schema = {
        "type": "object",
        "additionalProperties": False,
        "required": [name for name, (_, always) in members.items() if always],
        "properties": {name: member for name, (member, _) in members.items()},
    }
    return {"description": words, **schema} if words else schema


def define(cls: type, members: Members, package: str = "") -> Schema:
    """A reference to the schema of a class, which is added to the definitions."""
    name = f"{package or cls.__module__.split('.')[1]}.{cls.__name__}"
    DEFINITIONS[name] = object_of(members, " ".join(sentences(cls)))
    return {"$ref": f"#/$defs/{name}"}


def join(row: Members, other: Members, *, either: bool = False) -> Members:
    """The members of a row that has both, or of `either` of two rows."""
    joined = {**row, **other}
    for name in joined:
        if name in row and name in other:
            (first, is_first), (second, is_second) = row[name], other[name]
            always = is_first and is_second if either else is_first or is_second
            joined[name] = (_both(first, second, either=either), always)
        elif either:
            joined[name] = (joined[name][0], False)
    return joined


def _both(first: Schema, other: Schema, *, either: bool) -> Schema:
    """One of two schemas of a member; of objects the members of both."""
    if "properties" in first and "properties" in other:
        return {**first, **object_of(join(_members(first), _members(other), either=either))}
    if {**first, "description": ""} == {**other, "description": ""}:
        return first
    return {"anyOf": [*first.get("anyOf", [first]), *other.get("anyOf", [other])]}


def _members(schema: Schema) -> Members:
    properties, required = schema["properties"], schema["required"]
    return {name: (member, name in required) for name, member in properties.items()}


def root(name: str, about: str, documents: Schema) -> Schema:
    """A whole schema with all that its documents refer to: its dialect, its id, what it is of."""
    definitions: dict[str, Schema] = {}
    while missing := _references([documents, definitions]) - definitions.keys():
        definitions |= {name: DEFINITIONS[name] for name in sorted(missing)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:fairaudit:schema:{name}:{SCHEMA_VERSION}",
        "title": f"fairaudit {name}",
        "description": about,
        **documents,
        "$defs": definitions,
    }


def _references(schema: object) -> set[str]:
    """The definitions that a schema refers to."""
    return set(re.findall(r'"#/\$defs/([\w.]+)"', json.dumps(schema)))

"""The JSON Schema of rows, described by the docstrings of their classes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Mapping
from functools import cache
from inspect import cleandoc

from fairaudit.codec.values import Schema

_DEFINITIONS: dict[str, tuple[type, Callable[[], Schema]]] = {}
"""What describes the rows of a class, by the name of its schema."""

_REFERENCE = re.compile(r'"#/\$defs/([\w.]+)"')
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


def describe(cls: type, field: str, members: Schema) -> Schema:
    """The members of a field with what the docstring of its class says of it."""
    said = " ".join(sentence for sentence in sentences(cls) if f"`{field}`" in sentence)
    described = {
        name: {
            "description": said or GLOSSARY.get(name) or f"{name.replace('_', ' ').capitalize()}."
        }
        | member
        for name, member in members["properties"].items()
    }
    return object_of(described, members["required"])


def object_of(properties: Mapping[str, Schema], required: Container[str]) -> Schema:
    """The schema of an object of these members and no others."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [name for name in properties if name in required],
        "properties": dict(properties),
    }


def join(row: Schema, other: Schema, *, either: bool = False) -> Schema:
    """The schema of an object that has the members of both, or of `either`."""
    members, others = row["properties"], other["properties"]
    shared = members.keys() & others.keys()
    both = {name: _both(members[name], others[name], either=either) for name in shared}
    combine = set.intersection if either else set.union
    required = combine(set(row["required"]), set(other["required"]))
    return row | object_of(members | others | both, required)


def _both(member: Schema, other: Schema, *, either: bool) -> Schema:
    """One of two schemas of a member; of objects the members of both."""
    if "properties" in member and "properties" in other:
        return join(member, other, either=either)
    if {**member, "description": ""} == {**other, "description": ""}:
        return member
    return {"anyOf": [*member.get("anyOf", [member]), *other.get("anyOf", [other])]}


def define(name: str, cls: type, describe_row: Callable[[], Schema]) -> Schema:
    """Refers to the schema of a class, which is made where something that refers to it is."""
    known, _ = _DEFINITIONS.setdefault(
        name, (cls, lambda: {"description": " ".join(sentences(cls)), **describe_row()})
    )
    assert known is cls, f"two classes are called {name}"
    return {"$ref": f"#/$defs/{name}"}


def definitions_of(schema: Schema) -> dict[str, Schema]:
    """All that a schema refers to, by name."""
    known: dict[str, Schema] = {}
    while missing := {*_REFERENCE.findall(json.dumps([schema, known]))} - known.keys():
        known |= {name: _DEFINITIONS[name][1]() for name in sorted(missing)}
    return known

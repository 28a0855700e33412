"""The JSON Schema of the rows, described by the docstrings of their classes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from inspect import cleandoc
from itertools import chain
from typing import Any

from fairaudit.codec.values import Schema, closed

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
    "reason": "Why, in words; null where there is nothing to say.",
    "sentence": "The row in words, for people: the wording may change with any version.",
    "low": "The lower end of the interval, null where there is none.",
    "high": "The upper end of the interval, null where there is none.",
    "parameters": "What the spec sets beside the metric.",
    "significance": "The test, null where there is none.",
    "place": "Where the spec says so.",
}
"""Members that mean the same wherever they stand, unless their class says more."""


def name_of(cls: type) -> str:
    """The name of a class among the definitions, as `verdict.Finding`."""
    return f"{cls.__module__.split('.')[1]}.{cls.__name__}"


@cache
def sentences(cls: type) -> tuple[str, ...]:
    """The sentences of a class's docstring."""
    text = cleandoc(cls.__doc__ or "")
    return tuple(" ".join(sentence.split()) for sentence in _SENTENCE.split(text) if sentence)


def describe(cls: type, field: str, name: str, schema: Schema) -> Schema:
    """The schema of a member with what the docstring of its class says of the field."""
    if "description" in schema:
        return schema
    said = [sentence for sentence in sentences(cls) if f"`{field}`" in sentence]
    text = " ".join(said) or GLOSSARY.get(name)
    return {**schema, "description": text} if text else schema


def object_of(members: Iterable[tuple[str, Schema, bool]], about: str = "") -> Schema:
    """The schema of an object of these members, of which several fields may name the same."""
    properties, required = {}, []
    for name, schema, always in merged([members]):
        properties[name] = schema
        required += [name] if always else []
    return {**({"description": about} if about else {}), **closed(properties, required)}


def merged(
    rows: Iterable[Iterable[tuple[str, Schema, bool]]],
) -> Iterator[tuple[str, Schema, bool]]:
    """The members of several rows together: always there is what is so in each of them."""
    lists = [[*row] for row in rows]
    schemas: dict[str, Schema] = {}
    for name, schema, _ in chain.from_iterable(lists):
        is_new = name not in schemas
        schemas[name] = schema if is_new else _both(schemas[name], schema, one_row=len(lists) == 1)
    always = set.intersection(*({name for name, _, is_there in row if is_there} for row in lists))
    yield from ((name, schema, name in always) for name, schema in schemas.items())


def _both(one: Schema, other: Schema, *, one_row: bool) -> Schema:
    """Either of two schemas of a member; of objects the members of both."""
    if "properties" in one and "properties" in other:
        members = [[*_members(one)], [*_members(other)]]
        if one_row:
            members = [[*members[0], *members[1]]]
        return {**one, **object_of(merged(members))}
    if _bare(one) == _bare(other):
        return one
    return {"anyOf": [*one.get("anyOf", [one]), *other.get("anyOf", [other])]}


def _members(schema: Mapping[str, Any]) -> Iterator[tuple[str, Schema, bool]]:
    for name, member in schema["properties"].items():
        yield name, member, name in schema["required"]


def _bare(schema: Schema) -> Schema:
    return {name: value for name, value in schema.items() if name != "description"}

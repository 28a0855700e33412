"""Descriptions of rows and members in the JSON Schema, from docstrings and a glossary."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from inspect import cleandoc
from typing import Any

import msgspec

_SENTENCE = re.compile(r"(?<=[.:;])\s+(?=[A-Z`])|\n\n+")

GLOSSARY: Mapping[str, str] = {
    "of": "The outcome that is audited.",
    "by": "The columns that are crossed.",
    "given": "The stratum: a level of each conditioning column; {} is everybody.",
    "group": "The group: a level of each of its columns; {} is everybody.",
    "metric": "The id of the metric.",
    "title": "A name for people.",
    "state": "Whether there is a number; else `value` is null.",
    "value": "The number, null if it is not finite.",
    "n": "The number of people.",
    "numerator": "The number of these people, or the sum that is divided.",
    "denominator": "The divisor.",
    "reason": "The reason, as a sentence; empty or null without a reason.",
    "low": "The lower end of the interval, null if missing.",
    "high": "The upper end of the interval, null if missing.",
    "first": "The first group of the pair; for a spread the highest.",
    "second": "The second group of the pair: the reference, or for a spread the lowest.",
    "decided_by": "The rate or outcome that determines the value.",
    "parameters": "The other keys that the spec sets for the metric.",
    "significance": "The test, null if missing.",
    "place": "The place in the spec.",
}
"""Members with the same meaning everywhere, unless their class has a description."""


@cache
def sentences(cls: type) -> tuple[str, ...]:
    """The sentences of a class's docstring."""
    text = cleandoc(cls.__doc__ or "")
    return tuple(" ".join(sentence.split()) for sentence in _SENTENCE.split(text) if sentence)


def describe_class(cls: type) -> str:
    """The description of a class, from its docstring."""
    return " ".join(sentences(cls))


def describe_member(cls: type, field: str, member: str) -> str:
    """The sentences of a docstring about a field, or the glossary entry of a member."""
    said = " ".join(sentence for sentence in sentences(cls) if f"`{field}`" in sentence)
    return said or GLOSSARY.get(member) or f"{member.replace('_', ' ').capitalize()}."


def describe(hint: Any) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The JSON Schema of values of a type, and of all rows that it refers to, by their names."""
    (schema,), rows = msgspec.json.schema_components([hint], ref_template="#/$defs/{name}")
    for name, row in rows.items():
        row.setdefault("description", f"{name.rpartition('.')[2]}.")
        if "properties" in row:
            row["additionalProperties"] = False
            if "enum" in row["properties"].get("type", ()):
                row["properties"]["type"]["description"] = "Which of the types of a result it is."
    return schema, rows

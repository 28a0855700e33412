"""JSON Schema of a spec for editors (`fairaudit schema`).

The schema is made from the annotations of the records. Descriptions come from the text below each
key: sentences, then examples in YAML. These texts are read only when the schema is printed.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
import yaml

from fairaudit.base.frozen import Frozen, default_of, fields
from fairaudit.judge.checks import ReversalLimit
from fairaudit.spec import key_schema, schema
from fairaudit.spec.reading import ITEM, METRIC_NAME, METRIC_NAMES, SCALARS, Texts, forms_of
from fairaudit.spec.text import UNWRITTEN, LocatedText

_INLINE = (key_schema.Positive, ReversalLimit)
"""Records that are described inside their key, without a separate section."""
_PLAIN = msgspec.json.Encoder(decimal_format="number")
_EXAMPLES = re.compile(r"\s+Examples?:\s+(?=`)")
_SIMILARITY = {
    "numeric": ("Numeric columns that define similarity.", ["income", "age"]),
    "categorical": ("Categorical columns that define similarity.", ["job"]),
}


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a spec, as editors read it (version 2020-12)."""
    defined: dict[str, Any] = {}
    tree = _describe_record(schema.AuditSpec, defined)
    defined["Bound"]["minProperties"] = 1
    features = defined["Columns"]["properties"]["features"]["anyOf"][-1]
    features["properties"] = {
        key: {**_describe_type(Texts, {}), "description": words, "examples": [example]}
        for key, (words, example) in _SIMILARITY.items()
    }
    required = tree.pop("required")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "fairaudit spec",
        "$defs": {**defined, METRIC_NAME["$ref"].rpartition("/")[2]: METRIC_NAMES},
        **tree,
        "patternProperties": {"^x-": {}},
        # With a profile, no key is required, because the profile may have it.
        "if": {"not": {"required": ["profile"]}},
        "then": {"required": required},
    }


def _describe_record(record: type[Frozen], defined: dict[str, Any]) -> dict[str, Any]:
    """The schema of a mapping; adds every record and enum below it to `defined`."""
    words = dict(_words_of(record))
    members, required = {}, []
    for member in fields(record):
        if member.encode_name.startswith(UNWRITTEN):
            continue
        described = _describe_type(member.type, defined)
        if member.name == "given" and record is key_schema.Metric:
            described["anyOf"].append(_describe_type(key_schema.StrataModel, defined))
        if member.required:
            required.append(member.encode_name)
        elif record not in _INLINE:
            described["default"] = msgspec.json.decode(_PLAIN.encode(default_of(member)))
        description, examples = words[member.name]
        members[member.encode_name] = {
            **described,
            "description": description,
            "examples": examples,
        }
    return {
        "type": "object",
        "description": str(inspect.getdoc(record)).partition("\n\n")[0],
        "additionalProperties": False,
        "properties": members,
        **({"required": required} if required else {}),
    }


def _describe_type(annotation: Any, defined: dict[str, Any]) -> dict[str, Any]:  # noqa: ANN401  # any annotation
    """The JSON Schema of a value, as `reading.reader_of` reads it."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if annotation in SCALARS or annotation is LocatedText:
        return dict(SCALARS[str if annotation is LocatedText else annotation].described)
    if origin is Annotated:
        described = _describe_type(parts[0], defined)
        for form in forms_of(annotation):
            if form.described:
                described = dict(form.described)
            elif form.forms:
                forms = [described["items"] if part is ITEM else part for part in form.forms]
                described = _join_forms([*forms, described])
        return described
    if origin in {Union, UnionType}:
        null = {"type": "null"}
        return _join_forms(
            [_describe_type(part, defined) for part in parts if part is not NoneType] + [null]
        )
    if origin is Literal:
        return {"enum": [str(word) for word in parts]}
    if origin in {list, tuple}:
        return {"type": "array", "items": _describe_type(parts[0], defined)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _describe_type(parts[1], defined)}
    describe = _describe_record if annotation in _INLINE else _refer_to
    return describe(annotation, defined)


def _refer_to(annotation: type[Frozen | Enum], defined: dict[str, Any]) -> dict[str, Any]:
    """A reference to a record or an enum, which is added to `defined`."""
    name = annotation.__name__
    if name not in defined:
        if issubclass(annotation, Enum):
            words = [member.value for member in annotation]
            defined[name] = {"description": inspect.getdoc(annotation), "enum": words}
        else:
            defined[name] = {}  # keeps its place before the records below it
            defined[name] = _describe_record(annotation, defined)
    return {"$ref": f"#/$defs/{name}"}


def _join_forms(forms: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    return {"anyOf": [part for form in forms for part in form.get("anyOf", [form])]}


def _words_of(record: type[Frozen]) -> Iterator[tuple[str, tuple[str, list[Any]]]]:
    """Each field of a record, inherited ones first, with its description and examples."""
    for parent in reversed(record.__mro__):
        if not issubclass(parent, Frozen) or parent is Frozen:
            continue
        (declaration,) = ast.parse(textwrap.dedent(inspect.getsource(parent))).body
        body = declaration.body if isinstance(declaration, ast.ClassDef) else []
        for declared, below in itertools.pairwise(body):
            match declared, below:
                case ast.AnnAssign(ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                    description, *examples = _EXAMPLES.split(inspect.cleandoc(text))
                    values = map(yaml.safe_load, re.findall(r"`([^`]+)`", "".join(examples)))
                    # The reader of a spec reads a date as a text.
                    plain = [str(value) if isinstance(value, date) else value for value in values]
                    yield name, (" ".join(description.split()), plain)

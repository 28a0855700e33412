"""The schema of the JSON report, compiled once: a document is held against it."""

from __future__ import annotations

from functools import cache
from typing import Any

import jsonschema

from fairaudit.tools.compare import document_schema


@cache
def _validator() -> jsonschema.Draft202012Validator:
    schema = document_schema("result")
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def validate(document: Any) -> None:
    """Raise `jsonschema.ValidationError` unless it is a report as the schema tells."""
    _validator().validate(document)

"""The machine-readable report: the result copied field by field, under a schema version.

Full precision, integer numerators and denominators, no NaN and no Infinity: a value that does not
exist is null, and its `state` says why.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from pydantic_core import to_json

from fairaudit.report.json.answers import answers_document, error_document, of_answers, read_answers
from fairaudit.report.json.changes import changes_document, changes_schema
from fairaudit.report.json.reading import parse
from fairaudit.report.json.results import document, read
from fairaudit.result import Answer, AuditResult

__all__ = [
    "answers_document",
    "changes_document",
    "changes_schema",
    "document",
    "error_document",
    "of_answers",
    "parse",
    "read",
    "read_answers",
    "render",
    "render_answers",
    "schema",
    "spell",
    "written",
]


_SPELLED = re.compile(
    r"(?<=#)#|[\x7f-\x9f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)
"""The second `#` of `##vso[…]`, and signs that are not seen or turn the direction of writing."""


def render(result: AuditResult) -> str:
    """The result as one JSON document."""
    return written(document(result))


def render_answers(answers: Sequence[Answer], *, all_rows: bool = True) -> str:  # noqa: ARG001  # it always has all rows
    """The answers as one JSON document."""
    return written(of_answers(answers))


def spell(text: str, encoding: str) -> str:  # noqa: ARG001  # ASCII is in every encoding
    """A document in ASCII: all other signs are escapes of JSON."""
    return written(json.loads(text), ascii_only=True)


def written(tree: Mapping[str, Any], *, ascii_only: bool = False) -> str:
    """A document as text, one row of a list on each line: for people, for grep and for diffs.

    What a log would not show, or a build server would read as a command, is an escape of JSON.
    """

    def plain(value: object) -> str:
        if ascii_only:
            return json.dumps(value, allow_nan=False)
        try:
            return to_json(value, inf_nan_mode="null").decode()
        except ValueError:
            # A path that is no text has signs that UTF-8 has not.
            return json.dumps(value, allow_nan=False)

    members = []
    for name, value in tree.items():
        rows = ",\n  ".join(map(plain, value)) if isinstance(value, list) else ""
        members.append(f"{plain(name)}: " + (f"[\n  {rows}\n ]" if rows else plain(value)))
    text = "{\n " + ",\n ".join(members) + "\n}\n"
    # Such signs stand in strings alone.
    return _SPELLED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def schema() -> dict[str, Any]:
    """The JSON Schema of the document."""
    text = files("fairaudit.report").joinpath("result.schema.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    return found

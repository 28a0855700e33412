"""What SARIF 2.1.0 says of the objects that our reports have, and what GitHub's upload adds.

Written from the standard (OASIS, sections 3.13 to 3.58): each object with the members that it may
have, of those that we write. The standard's own schema, which is not ours to pass on, is held
against the same reports where `SARIF_SCHEMA` names it.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

Schema = dict[str, Any]

MOST_BYTES = 10_000_000
"""So many GitHub takes, packed; ours are held to it as they are."""


def _text(most: int | None = None) -> Schema:
    return {"type": "string", "minLength": 1} | ({} if most is None else {"maxLength": most})


def _object(required: str, **members: Any) -> Schema:
    return {
        "type": "object",
        "properties": members,
        "required": required.split(),
        "additionalProperties": False,
    }


def _list(of: Schema, most: int | None = None) -> Schema:
    return {"type": "array", "items": of} | ({} if most is None else {"maxItems": most})


_NUMBER = {"type": "integer", "minimum": 1}
_LEVEL = {"enum": ["none", "note", "warning", "error"]}
_BAG = {"type": "object"}
_MESSAGE = _object("text", text=_text(), markdown=_text())
_SHORT = _object("text", text=_text(1024))
_REGION = _object(
    "startLine startColumn endLine endColumn",
    startLine=_NUMBER,
    startColumn=_NUMBER,
    endLine=_NUMBER,
    endColumn=_NUMBER,
)
_ARTIFACT = _object("uri", uri={**_text(), "format": "uri-reference"}, uriBaseId=_text())
_PLACE = _object("artifactLocation region", artifactLocation=_ARTIFACT, region=_REGION)
_LOCATIONS = _list(_object("physicalLocation", physicalLocation=_PLACE), 10)
_TAGS = {"type": "object", "properties": {"tags": _list(_text(), 10)}}
_RULE = _object(
    "id shortDescription fullDescription help",
    id=_text(),
    shortDescription=_SHORT,
    fullDescription=_SHORT,
    help=_MESSAGE,
    properties=_TAGS,
)
_DRIVER = _object("name version rules", name=_text(), version=_text(), rules=_list(_RULE, 25_000))
_SUPPRESSION = _object(
    "kind",
    kind={"enum": ["inSource", "external"]},
    status={"enum": ["accepted", "underReview", "rejected"]},
    justification=_text(),
)
_RESULT = _object(
    "ruleId ruleIndex level message locations partialFingerprints",
    ruleId=_text(),
    ruleIndex={"type": "integer", "minimum": 0},
    level=_LEVEL,
    message=_MESSAGE,
    locations=_LOCATIONS,
    partialFingerprints={
        "type": "object",
        "required": ["primaryLocationLineHash"],
        "additionalProperties": {"type": "string"},
    },
    suppressions=_list(_SUPPRESSION),
    properties=_BAG,
)
_NOTIFICATION = _object("message", message=_MESSAGE, level=_LEVEL, locations=_LOCATIONS)
_TIME = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"
_INVOCATION = _object(
    "executionSuccessful",
    executionSuccessful={"type": "boolean"},
    exitCode={"type": "integer"},
    endTimeUtc={"type": "string", "pattern": _TIME},
    toolExecutionNotifications=_list(_NOTIFICATION),
    properties=_BAG,
)
_RUN = _object(
    "tool results",
    tool=_object("driver", driver=_DRIVER),
    automationDetails=_object("id", id=_text()),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    invocations=_list(_INVOCATION),
    results=_list(_RESULT, 5_000),
)
_LOG = _object(
    "$schema version runs",
    **{"$schema": {**_text(), "format": "uri"}},
    version={"const": "2.1.0"},
    runs={**_list(_RUN, 20), "minItems": 1},
)


@cache
def _validators() -> list[jsonschema.Draft202012Validator | jsonschema.Draft4Validator]:
    jsonschema.Draft202012Validator.check_schema(_LOG)
    of_standard = os.environ.get("SARIF_SCHEMA")
    official = (
        [jsonschema.Draft4Validator(json.loads(Path(of_standard).read_text()))]
        if (of_standard)
        else []
    )
    return [jsonschema.Draft202012Validator(_LOG), *official]


def read(text: str) -> dict[str, Any]:
    """The run in a report, which is valid by the standard and by GitHub's rules."""
    assert len(text.encode()) < MOST_BYTES
    document = json.loads(text)
    for validator in _validators():
        validator.validate(document)
    (run,) = document["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    hashes = [result["partialFingerprints"]["primaryLocationLineHash"] for result in run["results"]]
    assert len({*hashes}) == len(hashes)
    found: dict[str, Any] = run
    return found

"""The JSON Schemas of whole documents, and the document of a comparison."""

from __future__ import annotations

import re
from typing import Annotated

from fairaudit.base.frozen import FLAT, Member, field
from fairaudit.codec import Answers, Document, Failure, Preview, Result, Writer
from fairaudit.codec.descriptions import describe
from fairaudit.codec.records import Tree, kind_of_rows
from fairaudit.result import SCHEMA_VERSION
from fairaudit.tools.compare.records import Changes


class Comparison(Document):
    """A comparison of two results; `exit_code` is that of the command."""

    exit_code: Annotated[int, Member("summary.exit_code")]
    changes: Annotated[Changes, FLAT]
    writer: Annotated[Writer, FLAT] = field(default_factory=Writer)


_DOCUMENTS = {
    "result": (Result, Failure, Answers),
    "comparison": (Comparison,),
    "check": (Preview,),
}
_ABOUT = {
    "result": "The output of `fairaudit run --format json`: a result, an error, or several answers "
    "in one document. Within one major `schema_version` members are only added: a reader ignores "
    "the members it does not know. No number is NaN or infinite: it is null, and a `state` or "
    "`x_state` says why. `x_text` next to a number `x` is the same number exactly.",
    "comparison": "The output of `fairaudit compare --format json`. If the results cannot be "
    "compared, it is an error as in the schema of results.",
    "check": "The output of `fairaudit check --format json`. If the spec or the data have a fault, "
    "it is an error as in the schema of results.",
}
_SENTENCE = {"type": "string", "description": "The row in words: these may change at any time."}
_SPOKEN = ("Finding", "Reversal", "Appearance", "Subgroup")
"""The rows to which a report adds a `sentence`."""


def schema(of: str) -> Tree:
    """The JSON Schema of the documents of a "result", a "comparison" or a "check"."""
    refers, definitions = describe(kind_of_rows(_DOCUMENTS[of], tagged=True).hint())
    for name, row in definitions.items():
        if of == "result" and re.split("[.-]", name)[0] in _SPOKEN:
            row["properties"]["sentence"] = _SENTENCE
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:fairaudit:schema:{of}:{SCHEMA_VERSION}",
        "title": f"fairaudit {of}",
        "description": _ABOUT[of],
        **refers,
        "$defs": definitions,
    }

"""A comparison of two results as one document, which is not read back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fairaudit.codec.documents import HEAD, Head, write_document
from fairaudit.codec.rows import Tree, one_of, reference_to
from fairaudit.codec.schema import root
from fairaudit.codec.values import Schema
from fairaudit.compare import Changes
from fairaudit.json_marks import FLAT, Member
from fairaudit.version import version

_ABOUT = (
    "What `fairaudit compare --format json` prints. Where there is no comparison it prints the "
    "error of the schema of results."
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of two results; `exit_code` is that of the command."""

    head: Annotated[Head, FLAT]
    version: Annotated[str, Member("tool.version")]
    exit_code: Annotated[int, Member("summary.exit_code")]
    changes: Annotated[Changes, FLAT]


def write_changes(changes: Changes, exit_code: int) -> Tree:
    """The comparison as plain data; `exit_code` is that of the command."""
    return write_document(one_of(Comparison), Comparison(HEAD, version(), exit_code, changes))


def changes_schema() -> Schema:
    """The JSON Schema of the document."""
    return root("comparison", _ABOUT, reference_to(Comparison, typed=True).schema)

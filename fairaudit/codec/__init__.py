"""Results as JSON, and back: what is written follows from the types of the result."""

from fairaudit.codec.documents import (
    Comparison,
    Preview,
    Result,
    VerifiedTables,
    parse,
    read_answers,
    read_result,
    schema,
    write,
    write_answers,
)

__all__ = [
    "Comparison",
    "Preview",
    "Result",
    "VerifiedTables",
    "parse",
    "read_answers",
    "read_result",
    "schema",
    "write",
    "write_answers",
]

"""Results as JSON, and back: what is written follows from the types of the result."""

from fairaudit.codec.documents import (
    changes_schema,
    dry_run_schema,
    parse,
    read_answers,
    read_result,
    result_schema,
    write_answers,
    write_changes,
    write_dry_run,
    write_result,
    write_verification,
)

__all__ = [
    "changes_schema",
    "dry_run_schema",
    "parse",
    "read_answers",
    "read_result",
    "result_schema",
    "write_answers",
    "write_changes",
    "write_dry_run",
    "write_result",
    "write_verification",
]

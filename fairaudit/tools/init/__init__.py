"""`fairaudit init` without the prompts: column roles, choices, the text of a spec."""

from fairaudit.tools.init.choices import (
    OUTCOMES,
    Choices,
    Role,
    complete,
    describe,
    find_candidates,
    find_column,
    find_numbered,
    find_positive,
    is_like_count,
    pair_counts,
    refuse_ids,
)
from fairaudit.tools.init.writing import describe_columns, write_spec

__all__ = [
    "OUTCOMES",
    "Choices",
    "Role",
    "complete",
    "describe",
    "describe_columns",
    "find_candidates",
    "find_column",
    "find_numbered",
    "find_positive",
    "is_like_count",
    "pair_counts",
    "refuse_ids",
    "write_spec",
]

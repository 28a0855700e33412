"""`fairaudit init` without the prompts: column roles, choices, the text of a spec."""

from fairaudit.tools.init.choices import (
    OUTCOMES,
    Choices,
    are_free,
    complete,
    describe,
    find_column,
    find_numbered,
    find_positive,
    refuse_ids,
)
from fairaudit.tools.init.roles import Role, find_candidates, is_like_count, pair_counts
from fairaudit.tools.init.writing import describe_columns, write_spec

__all__ = [
    "OUTCOMES",
    "Choices",
    "Role",
    "are_free",
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

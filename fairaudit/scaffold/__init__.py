"""The first spec of a data file: what its columns may be, and the text that says so."""

from fairaudit.scaffold.choices import OUTCOMES, Choices, complete, describe, find_column
from fairaudit.scaffold.roles import Role, find_candidates, guess_positive, is_like_count
from fairaudit.scaffold.writing import write_spec

__all__ = [
    "OUTCOMES",
    "Choices",
    "Role",
    "complete",
    "describe",
    "find_candidates",
    "find_column",
    "guess_positive",
    "is_like_count",
    "write_spec",
]

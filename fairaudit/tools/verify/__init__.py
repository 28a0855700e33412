"""Verification of published tables: whether their numbers can be true."""

from fairaudit.tools.verify.rules import find_faults, is_any_held
from fairaudit.tools.verify.tables import ColumnNames, read_table

__all__ = ["ColumnNames", "find_faults", "is_any_held", "read_table"]

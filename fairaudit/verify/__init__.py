"""Whether a published table of counts can be true: what its own numbers say of each other."""

from fairaudit.verify.rules import find_faults
from fairaudit.verify.tables import ColumnNames, read_table

__all__ = ["ColumnNames", "find_faults", "read_table"]

"""The cube of counts by the intersections of audited columns, and its group tables.

A `Cube` holds one row (a cell) for every combination that occurs. Everything in it is an integer,
so counts add in any order to the same bits (`Counts`), and a coarser grouping is a sum of finer
cells, never a second scan. `Cube.table` cuts it down to what a metric reads: a `GroupTable`.
"""

from __future__ import annotations

from fairaudit.base.arrays import Floats, Group, Grouping, Ints, Marks
from fairaudit.cube.cells import Cube, find_excluded
from fairaudit.cube.group_table import (
    Amount,
    AmountName,
    ClusteredTable,
    Clusters,
    GroupTable,
    SampleStrata,
    Sum,
    Ungrouped,
    add_up,
)
from fairaudit.cube.keys import (
    MOST_ATTRIBUTES,
    NO_COUNTERPART,
    NO_LEVEL,
    UNKNOWN,
    ExcludeBelow,
    ExcludedGroups,
    KeyColumn,
    Role,
    ShareOf,
    distinct_rows,
    every_subset,
    known_groups,
    name_groups,
)
from fairaudit.cube.rows import NOWHERE, Rows, RowTable

__all__ = [
    "MOST_ATTRIBUTES",
    "NOWHERE",
    "NO_COUNTERPART",
    "NO_LEVEL",
    "UNKNOWN",
    "Amount",
    "AmountName",
    "ClusteredTable",
    "Clusters",
    "Cube",
    "ExcludeBelow",
    "ExcludedGroups",
    "Floats",
    "Group",
    "GroupTable",
    "Grouping",
    "Ints",
    "KeyColumn",
    "Marks",
    "Role",
    "RowTable",
    "Rows",
    "SampleStrata",
    "ShareOf",
    "Sum",
    "Ungrouped",
    "add_up",
    "distinct_rows",
    "every_subset",
    "find_excluded",
    "known_groups",
    "name_groups",
]

"""Comparing two results: two months, two models, data against a model."""

from fairaudit.tools.compare.checks import (
    JudgedValues,
    find_deciding_group,
    find_values,
    index_rows,
)
from fairaudit.tools.compare.comparing import compare, compare_models
from fairaudit.tools.compare.measuring import find_middle, find_parity
from fairaudit.tools.compare.records import (
    Change,
    Changes,
    CheckChange,
    ComparedResult,
    Direction,
    GroupChange,
    GroupKey,
    PeopleChange,
    RateChange,
    ReversalChange,
    Sampling,
    Scale,
)

__all__ = [
    "Change",
    "Changes",
    "CheckChange",
    "ComparedResult",
    "Direction",
    "GroupChange",
    "GroupKey",
    "JudgedValues",
    "PeopleChange",
    "RateChange",
    "ReversalChange",
    "Sampling",
    "Scale",
    "compare",
    "compare_models",
    "find_deciding_group",
    "find_middle",
    "find_parity",
    "find_values",
    "index_rows",
]

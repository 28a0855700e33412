"""Two results beside each other: two months, two models, data against a model."""

from fairaudit.compare.comparing import compare, compare_models
from fairaudit.compare.groups import Values, Who, deciding, listed, values_of
from fairaudit.compare.records import (
    Cells,
    Change,
    Changes,
    CheckChange,
    GroupChange,
    Origin,
    Otherwise,
    PeopleChange,
    RateChange,
    ReversalChange,
    Sampling,
    Scale,
    ShareChange,
    Way,
)

__all__ = [
    "Cells",
    "Change",
    "Changes",
    "CheckChange",
    "GroupChange",
    "Origin",
    "Otherwise",
    "PeopleChange",
    "RateChange",
    "ReversalChange",
    "Sampling",
    "Scale",
    "ShareChange",
    "Values",
    "Way",
    "Who",
    "compare",
    "compare_models",
    "deciding",
    "listed",
    "values_of",
]

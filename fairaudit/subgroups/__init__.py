"""Subgroup discovery: which people, by up to `depth` columns, a rate treats unlike everybody."""

from fairaudit.subgroups.asked import MOST_DEEP, Search
from fairaudit.subgroups.found import (
    Discovery,
    Part,
    Searched,
    Subgroup,
    Subgroups,
    Tested,
    discover,
)

__all__ = [
    "MOST_DEEP",
    "Discovery",
    "Part",
    "Search",
    "Searched",
    "Subgroup",
    "Subgroups",
    "Tested",
    "discover",
]

"""Subgroup discovery: which people, by up to `depth` columns, a rate treats unlike everybody."""

from fairaudit.subgroups.asked import MOST_DEEP, Search
from fairaudit.subgroups.found import Discovery, Tested, discover
from fairaudit.subgroups.records import Part, Searched, Subgroup, Subgroups

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

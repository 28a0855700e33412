"""Subgroup discovery: which people, by up to `depth` columns, a rate treats unlike everybody."""

from fairaudit.subgroups.asked import MOST_DEEP, SubgroupSearch
from fairaudit.subgroups.records import ParentGroup, SearchedRate, Subgroup, Subgroups
from fairaudit.subgroups.search import Discovery, TestedSubgroups, search_subgroups

__all__ = [
    "MOST_DEEP",
    "Discovery",
    "ParentGroup",
    "SearchedRate",
    "Subgroup",
    "SubgroupSearch",
    "Subgroups",
    "TestedSubgroups",
    "search_subgroups",
]

"""Subgroup discovery: which people, by up to `depth` columns, a rate treats unlike everybody."""

from fairaudit.subgroups.counting import MOST_DEEP, SubgroupSearch
from fairaudit.subgroups.search import (
    Discovery,
    ParentGroup,
    SearchedRate,
    Subgroup,
    Subgroups,
    TestedSubgroups,
    search_subgroups,
)

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

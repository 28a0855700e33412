"""Subgroup discovery: which people, by up to `depth` columns, a rate treats unlike everybody."""

from fairaudit.subgroups.counting import MOST_DEEP, SubgroupSearch
from fairaudit.subgroups.search import (
    Discovery,
    SearchedRate,
    Subgroup,
    Subgroups,
    TestedSubgroups,
    search_subgroups,
)

__all__ = [
    "MOST_DEEP",
    "Discovery",
    "SearchedRate",
    "Subgroup",
    "SubgroupSearch",
    "Subgroups",
    "TestedSubgroups",
    "search_subgroups",
]

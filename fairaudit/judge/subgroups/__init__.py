"""Subgroup discovery: combinations of levels in which a rate diverges."""

from fairaudit.judge.subgroups.counting import MOST_DEEP, SearchScope, SubgroupSearch
from fairaudit.judge.subgroups.search import (
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
    "SearchScope",
    "SearchedRate",
    "Subgroup",
    "SubgroupSearch",
    "Subgroups",
    "TestedSubgroups",
    "search_subgroups",
]

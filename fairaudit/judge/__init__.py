"""Verdicts: where a number becomes pass, warn or fail."""

from fairaudit.judge.checks import (
    About,
    AnyCheck,
    Check,
    OnUndefined,
    ReversalCheck,
    Status,
    SubgroupCheck,
    match_ids,
)
from fairaudit.judge.entries import collect_entries
from fairaudit.judge.findings import Before, Breach, Earlier, Finding, NotEvaluated, Waived
from fairaudit.judge.judging import compares_shares, judge, status_of_unevaluated, worst_status
from fairaudit.judge.limits import Backing, Limit, LimitQuotes, ReversalLimit
from fairaudit.judge.searches import judge_reversals, judge_subgroups

__all__ = [
    "About",
    "AnyCheck",
    "Backing",
    "Before",
    "Breach",
    "Check",
    "Earlier",
    "Finding",
    "Limit",
    "LimitQuotes",
    "NotEvaluated",
    "OnUndefined",
    "ReversalCheck",
    "ReversalLimit",
    "Status",
    "SubgroupCheck",
    "Waived",
    "collect_entries",
    "compares_shares",
    "judge",
    "judge_reversals",
    "judge_subgroups",
    "match_ids",
    "status_of_unevaluated",
    "worst_status",
]

"""Verdicts: where a number becomes pass, warn or fail."""

from fairaudit.judge.checks import (
    About,
    AnyCheck,
    Backing,
    Check,
    Limit,
    LimitQuotes,
    OnUndefined,
    ReversalCheck,
    ReversalLimit,
    Status,
    SubgroupCheck,
    find_bounds,
    match_ids,
)
from fairaudit.judge.entries import find_passed_over
from fairaudit.judge.findings import Before, Breach, Earlier, Finding, NotEvaluated, Waived
from fairaudit.judge.judging import (
    compares_shares,
    doubt_left_out,
    judge,
    status_of_unevaluated,
    worst_status,
)
from fairaudit.judge.left_out import LeftOutPeople, LeftOutReason, Outsiders, count_left_out
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
    "LeftOutPeople",
    "LeftOutReason",
    "Limit",
    "LimitQuotes",
    "NotEvaluated",
    "OnUndefined",
    "Outsiders",
    "ReversalCheck",
    "ReversalLimit",
    "Status",
    "SubgroupCheck",
    "Waived",
    "compares_shares",
    "count_left_out",
    "doubt_left_out",
    "find_bounds",
    "find_passed_over",
    "judge",
    "judge_reversals",
    "judge_subgroups",
    "match_ids",
    "status_of_unevaluated",
    "worst_status",
]

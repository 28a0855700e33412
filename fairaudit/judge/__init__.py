"""Verdicts: where a number becomes pass, warn or fail."""

from fairaudit.judge.checks import (
    About,
    AnyCheck,
    Check,
    EvidenceStatus,
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
from fairaudit.judge.findings import Before, Breach, Earlier, Finding, NotEvaluated, Waived
from fairaudit.judge.judging import (
    compares_shares,
    judge,
    status_of_unevaluated,
    worst_status,
)
from fairaudit.judge.left_out import LeftOutGroup, LeftOutPeople, LeftOutReason, Outsiders
from fairaudit.judge.searches import leave_open

__all__ = [
    "About",
    "AnyCheck",
    "Before",
    "Breach",
    "Check",
    "Earlier",
    "EvidenceStatus",
    "Finding",
    "LeftOutGroup",
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
    "find_bounds",
    "judge",
    "leave_open",
    "match_ids",
    "status_of_unevaluated",
    "worst_status",
]

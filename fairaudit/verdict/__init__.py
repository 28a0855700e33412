"""Where a number becomes pass, warn or fail: limits, checks and findings."""

from fairaudit.verdict.asked import (
    Backing,
    Check,
    Limit,
    OnUndefined,
    ReversalCheck,
    ReversalLimit,
    Status,
)
from fairaudit.verdict.findings import (
    Before,
    Crossing,
    Earlier,
    Finding,
    NotEvaluated,
    Waived,
)
from fairaudit.verdict.judging import judge, judge_reversals

__all__ = [
    "Backing",
    "Before",
    "Check",
    "Crossing",
    "Earlier",
    "Finding",
    "Limit",
    "NotEvaluated",
    "OnUndefined",
    "ReversalCheck",
    "ReversalLimit",
    "Status",
    "Waived",
    "judge",
    "judge_reversals",
]

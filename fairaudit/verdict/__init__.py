"""Where a number becomes pass, warn or fail: limits, checks and findings."""

from fairaudit.verdict.asked import (
    AnyCheck,
    Backing,
    Check,
    Limit,
    OnUndefined,
    ReversalCheck,
    ReversalLimit,
    Status,
    SubgroupCheck,
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
from fairaudit.verdict.subgroups import judge_subgroups

__all__ = [
    "AnyCheck",
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
    "SubgroupCheck",
    "Waived",
    "judge",
    "judge_reversals",
    "judge_subgroups",
]

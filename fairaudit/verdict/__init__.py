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
from fairaudit.verdict.leaving import COULD_TURN, could_cross, of_gone
from fairaudit.verdict.subgroups import judge_subgroups

__all__ = [
    "COULD_TURN",
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
    "could_cross",
    "judge",
    "judge_reversals",
    "judge_subgroups",
    "of_gone",
]

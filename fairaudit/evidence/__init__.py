"""Evidence behind values: intervals, tests, families, bounds of missing values."""

from fairaudit.evidence.families import (
    Evidence,
    correct_families,
    extend_family,
    find_significances,
)
from fairaudit.evidence.methods import explain_no_interval, explain_no_test
from fairaudit.evidence.missing_bounds import MissingBounds, find_missing_bounds, judge_missing
from fairaudit.evidence.pair_tests import Sample, bound_share_gap, compare_shares, name_share_test
from fairaudit.evidence.records import ComparisonPart, Side, build_estimate, find_parts, group_at
from fairaudit.evidence.value_intervals import SIDAK, UNPAIRED, Intervals, find_intervals
from fairaudit.evidence.value_tests import EQUAL_CHANGES, run_mcnemar

__all__ = [
    "EQUAL_CHANGES",
    "SIDAK",
    "UNPAIRED",
    "ComparisonPart",
    "Evidence",
    "Intervals",
    "MissingBounds",
    "Sample",
    "Side",
    "bound_share_gap",
    "build_estimate",
    "compare_shares",
    "correct_families",
    "explain_no_interval",
    "explain_no_test",
    "extend_family",
    "find_intervals",
    "find_missing_bounds",
    "find_parts",
    "find_significances",
    "group_at",
    "judge_missing",
    "name_share_test",
    "run_mcnemar",
]

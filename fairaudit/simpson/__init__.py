"""Simpson's reversals: a gap between two groups that turns when a third column is held fixed.

The kinds and their order are those of Foulds & Pan §3.1 ("for all, or most, of the third variable's
values") made exact: decided on complete cases and on the strata where both groups occur.
"""

from fairaudit.simpson.explaining import ExplainedShare
from fairaudit.simpson.kinds import Kind
from fairaudit.simpson.records import (
    Joined,
    Pairs,
    Reversal,
    Scan,
    Scanned,
    Share,
    Stratum,
)
from fairaudit.simpson.scanning import scan

__all__ = [
    "ExplainedShare",
    "Joined",
    "Kind",
    "Pairs",
    "Reversal",
    "Scan",
    "Scanned",
    "Share",
    "Stratum",
    "scan",
]

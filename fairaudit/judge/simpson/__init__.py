"""Simpson's reversals: gaps that change sign when a third column is held fixed.

The kinds and their order are those of Foulds & Pan §3.1 ("for all, or most, of the third variable's
values") made exact: decided on complete cases and on the strata where both groups occur.
"""

from fairaudit.judge.simpson.records import (
    DEFAULT_ODDS_RATIO,
    Compared,
    GroupRate,
    PairChoice,
    Reversal,
    ReversalKind,
    ReversalScan,
    Scanned,
    ScanResult,
    ScanScope,
)
from fairaudit.judge.simpson.scanning import MOST_SUSPECTS, list_apart, scan_reversals

__all__ = [
    "DEFAULT_ODDS_RATIO",
    "MOST_SUSPECTS",
    "Compared",
    "GroupRate",
    "PairChoice",
    "Reversal",
    "ReversalKind",
    "ReversalScan",
    "ScanResult",
    "ScanScope",
    "Scanned",
    "list_apart",
    "scan_reversals",
]

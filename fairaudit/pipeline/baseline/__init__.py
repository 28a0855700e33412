"""Baselines: an earlier JSON report, and which checks are worse than they were in it.

Fingerprints of all that a check asks decide whether the report is one of the same checks.
"""

from __future__ import annotations

from fairaudit.pipeline.baseline.earlier_report import (
    NO_TOLERANCE,
    Baseline,
    BaselineSource,
    compare,
    load,
    refuse_other,
)
from fairaudit.pipeline.baseline.fingerprints import compute_fingerprint, compute_fingerprints

__all__ = [
    "NO_TOLERANCE",
    "Baseline",
    "BaselineSource",
    "compare",
    "compute_fingerprint",
    "compute_fingerprints",
    "load",
    "refuse_other",
]

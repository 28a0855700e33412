"""What an audit found: its rows, its findings, its verdict and exit code."""

from fairaudit.result.audit import (
    SCHEMA_VERSION,
    Answer,
    AuditResult,
    DataFile,
    FailOn,
    Provenance,
    Verdict,
    exit_code,
)
from fairaudit.result.definitions import Definition, definition
from fairaudit.result.rows import (
    Calibration,
    ComparisonRow,
    Curve,
    EpsilonReading,
    FeatureRow,
    GroupRow,
    LatticeEntry,
    LatticeRow,
    ModelChange,
    RateRow,
    ScoreRow,
    Searched,
    Threshold,
)

__all__ = [
    "SCHEMA_VERSION",
    "Answer",
    "AuditResult",
    "Calibration",
    "ComparisonRow",
    "Curve",
    "DataFile",
    "Definition",
    "EpsilonReading",
    "FailOn",
    "FeatureRow",
    "GroupRow",
    "LatticeEntry",
    "LatticeRow",
    "ModelChange",
    "Provenance",
    "RateRow",
    "ScoreRow",
    "Searched",
    "Threshold",
    "Verdict",
    "definition",
    "exit_code",
]

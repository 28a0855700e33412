"""What stands behind a value: both sides, its interval, its test, what missing rows could do."""

from fairaudit.evidence.missing import MissingBounds, Swayed, could_turn, missing_at, missing_bounds
from fairaudit.evidence.parts import CONFIDENCE, Part, Side, estimate_at, parts_of

__all__ = [
    "CONFIDENCE",
    "MissingBounds",
    "Part",
    "Side",
    "Swayed",
    "could_turn",
    "estimate_at",
    "missing_at",
    "missing_bounds",
    "parts_of",
]

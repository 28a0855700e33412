"""What stands behind a value: both sides, its interval, its test, what missing rows could do."""

from fairaudit.evidence.parts import CONFIDENCE, Part, Side, estimate_at, parts_of

__all__ = ["CONFIDENCE", "Part", "Side", "estimate_at", "parts_of"]

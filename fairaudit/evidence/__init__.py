"""What stands behind a value: both sides, its interval, its test, what missing rows could do."""

from fairaudit.evidence.intervals import TOO_LITTLE, Band, band, lacks_interval
from fairaudit.evidence.missing import MissingBounds, Swayed, could_turn, missing_at, missing_bounds
from fairaudit.evidence.parts import Part, Side, estimate_at, parts_of
from fairaudit.evidence.proof import Proof, prove, prove_again, significances
from fairaudit.evidence.significance import Tests, lacks_test, tested

__all__ = [
    "TOO_LITTLE",
    "Band",
    "MissingBounds",
    "Part",
    "Proof",
    "Side",
    "Swayed",
    "Tests",
    "band",
    "could_turn",
    "estimate_at",
    "lacks_interval",
    "lacks_test",
    "missing_at",
    "missing_bounds",
    "parts_of",
    "prove",
    "prove_again",
    "significances",
    "tested",
]

"""What stands behind a value: both sides, its interval, its test, what missing rows could do."""

from fairaudit.evidence.intervals import Band, band, lacks_interval
from fairaudit.evidence.parts import Part, Side, estimate_at, parts_of
from fairaudit.evidence.proof import Proof, prove, prove_again, significances
from fairaudit.evidence.significance import Tests, lacks_test, tested

__all__ = [
    "Band",
    "Part",
    "Proof",
    "Side",
    "Tests",
    "band",
    "estimate_at",
    "lacks_interval",
    "lacks_test",
    "parts_of",
    "prove",
    "prove_again",
    "significances",
    "tested",
]

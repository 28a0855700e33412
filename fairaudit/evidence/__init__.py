"""What stands behind a value: both sides, its interval, its test, what missing rows could do."""

from fairaudit.evidence.intervals import TOO_LITTLE, Band, band, lacks_interval
from fairaudit.evidence.missing import MissingBounds, missing_at, missing_bounds
from fairaudit.evidence.parts import Part, Side, estimate_at, parts_of
from fairaudit.evidence.proof import (
    Proof,
    corrected,
    prove,
    prove_again,
    significance_at,
    significances,
)
from fairaudit.evidence.samples import Sample, name_of_test, two_samples
from fairaudit.evidence.significance import lacks_test, pairs_tested

__all__ = [
    "TOO_LITTLE",
    "Band",
    "MissingBounds",
    "Part",
    "Proof",
    "Sample",
    "Side",
    "band",
    "corrected",
    "estimate_at",
    "lacks_interval",
    "lacks_test",
    "missing_at",
    "missing_bounds",
    "name_of_test",
    "pairs_tested",
    "parts_of",
    "prove",
    "prove_again",
    "significance_at",
    "significances",
    "two_samples",
]

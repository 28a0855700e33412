"""What conditioning does to a gap: the kinds of Simpson's reversal and their mirror cases."""

from __future__ import annotations

from enum import StrEnum


class ReversalKind(StrEnum):
    """What conditioning does to a gap, strongest first; the last two are notes."""

    EVERY_STRATUM = "every_stratum"
    ADJUSTED = "adjusted"
    MOST_PEOPLE = "most_people"
    MASKED = "masked"
    EXPLAINED = "explained"

    @classmethod
    def _missing_(cls, value: object) -> ReversalKind | None:
        """A kind by the name it had in earlier versions."""
        return FORMER_NAMES.get(value) if isinstance(value, str) else None

    @property
    def strength(self) -> int:
        """How strong: the larger the stronger."""
        return -list(ReversalKind).index(self)

    @property
    def means(self) -> str:
        """What it means, in a sentence."""
        return _MEANS[self]

    @property
    def reverses(self) -> bool:
        """Whether it is a reversal, not a note."""
        return self not in {ReversalKind.MASKED, ReversalKind.EXPLAINED}


FORMER_NAMES = {"most_strata": ReversalKind.MOST_PEOPLE}
"""What kinds were called, in specs and reports that are still read."""
_MEANS = {
    ReversalKind.EVERY_STRATUM: "The gap points one way overall and the other way in every "
    "stratum.",
    ReversalKind.ADJUSTED: "The gap points the other way once both groups are given the same mix "
    "of strata, though not in every stratum.",
    ReversalKind.MOST_PEOPLE: "More than half of the people stand in strata where the gap points "
    "the other way, however many strata these are, but an equal mix of strata does not turn it, or "
    "by less than the floor.",
    ReversalKind.MASKED: "There is a gap at an equal mix of strata; overall it is below the floor, "
    "and at most half of it, or points the other way.",
    ReversalKind.EXPLAINED: "There is a gap overall; at an equal mix of strata at most half of it "
    "is left.",
}

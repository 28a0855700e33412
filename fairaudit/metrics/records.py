"""What every record of the catalogue says of itself: its words, its source, its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from types import MappingProxyType
from typing import Annotated, TypeAlias

from fairaudit.members import RARE, RARE_TEXT
from fairaudit.metrics.counts import ConfusionCounts

Bounds: TypeAlias = tuple[int | None, int | None]
"""The least and greatest value a measure can take; None where there is no bound."""


class Requirement(StrEnum):
    """What a measure needs of a spec."""

    LABEL = "label"
    PREDICTION = "prediction"
    CLASSES = "classes"
    SCORE = "score"
    DISTRIBUTION = "distribution of the score"
    NUMBER = "number"
    NUMERIC_LABEL = "numeric label"
    NUMERIC_ATTRIBUTE = "numeric attribute"


@dataclass(frozen=True, slots=True)
class Family:
    """Measures that ask the same question: what they compare, and when to use them."""

    compares: str
    use: str


FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "data": Family(
            "The label or the people themselves, whatever is decided.",
            "Before anything else: how the data describe the groups.",
        ),
        "independence": Family(
            "Who is selected, whatever the label says.",
            "Where groups should fare alike, or where the label cannot be trusted.",
        ),
        "separation": Family(
            "Decisions among people with the same label.",
            "Where the label is trusted and errors hurt: lending, hiring, diagnosis.",
        ),
        "sufficiency": Family(
            "Labels among people with the same decision or score.",
            "Where a score is to mean the same for everybody.",
        ),
        "accuracy": Family(
            "How often, or by how much, the prediction is wrong.",
            "Where the quality of a prediction is a good that groups should share.",
        ),
        "score": Family(
            "How scores and numbers are distributed.",
            "Where a number is shown, ranked by, or cut at thresholds yet to be chosen.",
        ),
        "inequality": Family(
            "How unequally benefit is spread over people.",
            "Where individuals, not only groups, should fare alike.",
        ),
        "conditional": Family(
            "People who are alike in a declared factor; whether it is legitimate is your "
            "judgement.",
            "Where part of a disparity corresponds to a factor that you judge legitimate.",
        ),
        "comparison": Family("Two values of one quantity.", "With any rate, mean or score."),
    }
)


@dataclass(frozen=True, slots=True)
class Citation:
    """Where a definition comes from."""

    authors: str
    year: int
    url: str = ""

    def __str__(self) -> str:
        return f"{self.authors} ({self.year})" + (f", {self.url}" if self.url else "")


@dataclass(frozen=True, slots=True)
class Example:
    """A worked example: the cells of one group and the value that comes out."""

    counts: ConfusionCounts
    value: Fraction


BIASED_BY_CHANCE = "chance alone lifts it, most of all near parity"
"""Why a measure that is never below parity has no interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueEntry:
    """The words of a record: what `explain` prints and every report cites.

    `elsewhere` says what others call it and where their number differs, `no_interval` why it has no
    interval, where it has none. `version` rises when the number changes for the same people, so
    that no baseline is held against another definition.
    """

    id: str
    title: str
    means: str
    caution: str
    source: Citation
    family: str
    aliases: tuple[str, ...] = ()
    short: str = ""
    elsewhere: str = ""
    no_interval: str = "its counts do not tell how it varies"
    version: int = 1


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of measures, as a spec writes them; None or empty where it does not.

    `smoothing` and `concentration` are pseudo-counts per outcome, or over all of them; `alpha` is
    the order of a generalized entropy; `utilities` are those of tp, fp, fn and tn; `controls` the
    columns that a regression holds fixed.
    """

    smoothing: Annotated[Decimal | None, RARE_TEXT] = None
    concentration: Annotated[Decimal | None, RARE_TEXT] = None
    alpha: Annotated[Decimal | None, RARE_TEXT] = None
    utilities: Annotated[tuple[tuple[str, Decimal], ...], RARE] = ()
    controls: Annotated[tuple[str, ...], RARE] = ()

    def per_outcome(self, outcomes: int) -> float:
        """The pseudo-count that Eq. 7 of Foulds & Pan adds to each outcome."""
        if self.concentration is not None:
            return float(self.concentration) / max(outcomes, 1)
        return float(self.smoothing or 0)

    def as_texts(self) -> dict[str, str]:
        """Those that are set, by name, as texts."""
        found = {
            name: format_decimal(value)
            for name in ("smoothing", "concentration", "alpha")
            if (value := getattr(self, name)) is not None
        }
        if self.utilities:
            found["utilities"] = ", ".join(f"{cell} {value}" for cell, value in self.utilities)
        if self.controls:
            found["controls"] = "+".join(self.controls)
        return found

    def as_values(self) -> dict[str, object]:
        """The same as numbers and lists."""
        found: dict[str, object] = {
            name: float(value)
            for name in ("smoothing", "concentration", "alpha")
            if (value := getattr(self, name)) is not None
        }
        if self.utilities:
            found["utilities"] = {cell: float(value) for cell, value in self.utilities}
        if self.controls:
            found["controls"] = [*self.controls]
        return found


def format_decimal(value: Decimal) -> str:
    """A decimal without zeros that say nothing: equal numbers are equal texts."""
    return format(value.normalize(), "f")


NO_PARAMETERS = Parameters()

"""`CatalogueEntry`, words of a metric; family; `Requirement`: what it needs; `BIASED_BY_CHANCE`."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import TypeAlias

from fairaudit.base.frozen import Frozen, force_setattr
from fairaudit.metrics.works import Citation

Bounds: TypeAlias = tuple[int | None, int | None]
"""The least and greatest value a metric can take; None where there is no bound."""


class Requirement(StrEnum):
    """What a metric requires of a spec."""

    LABEL = "label"
    PREDICTION = "prediction"
    CLASSES = "classes"
    SCORE = "score"
    DISTRIBUTION = "distribution of the score"
    NUMBER = "number"
    NUMERIC_LABEL = "numeric label"
    NUMERIC_ATTRIBUTE = "numeric attribute"
    FEATURES = "features"
    DRAWS = "draws"
    ORDER = "order of the classes"


class Family(Frozen):
    """Measures that ask the same question: what they compare, and when to use them."""

    compares: str
    use: str


FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "data": Family(
            "The label or the people themselves, independent of the decision.",
            "Use first: shows how the data describe the groups.",
        ),
        "independence": Family(
            "Who is selected, independent of the label.",
            "When groups should have equal outcomes, or when the label cannot be trusted.",
        ),
        "separation": Family(
            "Decisions among people with the same label.",
            "When the label is reliable and errors cause harm: lending, hiring, diagnosis.",
        ),
        "sufficiency": Family(
            "Labels among people with the same decision or score.",
            "When a score should mean the same for all people.",
        ),
        "accuracy": Family(
            "How often, or by how much, the prediction is wrong.",
            "When all groups should get predictions of the same quality.",
        ),
        "score": Family(
            "How scores and numbers are distributed.",
            "When a score is shown, used for ranking, or cut at a threshold that is not chosen "
            "yet.",
        ),
        "inequality": Family(
            "How unequally benefit is distributed over people.",
            "When individuals, not only groups, should have similar outcomes.",
        ),
        "individual": Family(
            "Individual people, compared by their features.",
            "When similar people should have similar outcomes; you decide which features count.",
        ),
        "conditional": Family(
            "People with the same value of a declared factor; you decide whether the factor is "
            "legitimate.",
            "When part of a disparity corresponds to a factor that you consider legitimate.",
        ),
        "comparison": Family("Two values of one quantity.", "With any rate, mean or score."),
    }
)


NARROW = 16
"""So many letters a short name has at most, to stand at the head of a column."""

NO_DISPARITY = "no disparity"
"""What nearly all tests test."""

IS_TEST = "it is the test itself"
"""The text in place of the name of a test, for a value that is a test statistic."""

IGNORES_THE_LABEL = "Does not consider who is qualified."
TRUSTS_THE_LABEL = "Relies on the label: if the label is biased, so is this measure."
"""What many records caution against."""

BIASED_BY_CHANCE = "biased away from parity by chance, most of all near parity"
"""Why a metric that is never below parity has no interval."""


class CatalogueEntry(Frozen, kw_only=True):
    """The words of a record: what `explain` prints and every report cites.

    The title is the id in words, unless it is another.
    `elsewhere` says what others call it and where their number differs, `no_interval` why it has no
    interval, where it has none, `hypothesis` what its test tests, in words behind "p of". `test`
    names the test of a value that has one of its own: of one group, without another to compare.
    `instead` says what to gate or to compare where this cannot be. Of fewer
    people than `least` no value has an interval. `has_outcome`: it is of a decision, a label or a
    score, and not of the features alone. `version`
    rises when the number changes for the same people, so that no baseline is held against another
    definition.
    """

    id: str
    source: Citation
    title: str = ""
    means: str = ""
    caution: str = ""
    family: str = ""
    aliases: tuple[str, ...] = ()
    short: str = ""
    elsewhere: str = ""
    no_interval: str = "the counts do not determine its variance"
    hypothesis: str = NO_DISPARITY
    test: str = ""
    instead: str = ""
    least: int = 0
    has_outcome: bool = True
    version: int = 1

    def __post_init__(self) -> None:
        """Takes the title from the id where none is given; refuses a record without its words."""
        if not self.title:
            force_setattr(self, "title", self.id.replace("_", " ").capitalize())
        for name in ("means", "caution", "family"):
            if not getattr(self, name):
                raise ValueError(f"{self.id}: a record says its {name}")

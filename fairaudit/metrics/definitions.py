"""`CatalogueEntry`, the words of a metric; families of metrics; `Better`: which way is better."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from fractions import Fraction
from types import MappingProxyType
from typing import TypeAlias

from fairaudit.frozen import Frozen, force_setattr
from fairaudit.metrics.confusion_counts import ConfusionCounts
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
        "individual": Family(
            "People one by one, by their features.",
            "Where people who are alike should fare alike; which features count is your judgement.",
        ),
        "conditional": Family(
            "People who are alike in a declared factor; whether it is legitimate is your "
            "judgement.",
            "Where part of a disparity corresponds to a factor that you judge legitimate.",
        ),
        "comparison": Family("Two values of one quantity.", "With any rate, mean or score."),
    }
)


class Example(Frozen):
    """A worked example: the cells of one group and the value that comes out."""

    counts: ConfusionCounts
    value: Fraction


NARROW = 16
"""So many letters a short name has at most, to stand at the head of a column."""

NO_DISPARITY = "no disparity"
"""What nearly all tests test."""

IGNORES_THE_LABEL = "Takes no account of who qualifies."
TRUSTS_THE_LABEL = "Trusts the label: if the label is biased, so is this."
"""What many records caution against."""

BIASED_BY_CHANCE = "biased away from parity by chance, most of all near parity"
"""Why a metric that is never below parity has no interval."""


class CatalogueEntry(Frozen, kw_only=True):
    """The words of a record: what `explain` prints and every report cites.

    The title is the id in words, unless it is another.
    `elsewhere` says what others call it and where their number differs, `no_interval` why it has no
    interval, where it has none, `hypothesis` what its test tests, in words behind "p of". Of fewer
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
    no_interval: str = "its counts do not tell how it varies"
    hypothesis: str = NO_DISPARITY
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


class Better(StrEnum):
    """Which way is better for the people counted.

    It may hang on what the positive is: a benefit, or a burden (`favourable: false` in the spec).
    `polarity` turns with it; an error rate has an answer only where its error harms the person.
    """

    HIGHER = "higher"
    LOWER = "lower"
    POLARITY = "polarity"
    HIGHER_OF_BENEFIT = "higher of a benefit"
    LOWER_OF_BENEFIT = "lower of a benefit"
    HIGHER_OF_BURDEN = "higher of a burden"
    LOWER_OF_BURDEN = "lower of a burden"
    NEITHER = "neither"

    def given(self, *, favourable: bool | None) -> Better:
        """`HIGHER`, `LOWER` or `NEITHER`, where the positive is a benefit, or a burden.

        With None nobody says what it is, as of one class of several.
        """
        direction = PREFERENCES[self]
        if favourable is None:
            same = direction.benefit is direction.burden
            return direction.benefit if same else Better.NEITHER
        return direction.benefit if favourable else direction.burden

    @property
    def of_classes(self) -> Better:
        """The same of a mean over classes: the errors of all classes together are of quality."""
        return _OF_CLASSES.get(self, self)


class Preference(Frozen):
    """Which way is better of a benefit and of a burden, and why."""

    benefit: Better
    burden: Better
    why: str

    @property
    def words(self) -> str:
        """Which way is better, in one sentence."""
        benefit, burden = _WORDS[self.benefit], _WORDS[self.burden]
        if self.benefit is self.burden:
            return f"{benefit} for the group" if self.benefit is not Better.NEITHER else (
                "neither way is better by itself"
            )  # fmt: skip
        return f"of a benefit {benefit}, of a burden (`favourable: false`) {burden}"


_WORDS: Mapping[Better, str] = MappingProxyType(
    {
        Better.HIGHER: "higher is better",
        Better.LOWER: "lower is better",
        Better.NEITHER: "neither way is",
    }
)

_OF_CLASSES: Mapping[Better, Better] = MappingProxyType(
    {
        Better.POLARITY: Better.NEITHER,
        Better.HIGHER_OF_BENEFIT: Better.HIGHER,
        Better.HIGHER_OF_BURDEN: Better.HIGHER,
        Better.LOWER_OF_BENEFIT: Better.LOWER,
        Better.LOWER_OF_BURDEN: Better.LOWER,
    }
)

PREFERENCES: Mapping[Better, Preference] = MappingProxyType(
    {
        Better.POLARITY: Preference(
            Better.HIGHER,
            Better.LOWER,
            "To be selected is what people want of a benefit, and want to be spared of a burden.",
        ),
        Better.HIGHER_OF_BENEFIT: Preference(
            Better.HIGHER,
            Better.NEITHER,
            "The harm of a benefit is to be denied it though qualified. Of a burden the rate tells "
            "who is rightly flagged; whoever is missed is not harmed by that.",
        ),
        Better.LOWER_OF_BENEFIT: Preference(
            Better.LOWER,
            Better.NEITHER,
            "The share that is denied a benefit though qualified. A burden that misses somebody "
            "does not harm the person.",
        ),
        Better.LOWER_OF_BURDEN: Preference(
            Better.NEITHER,
            Better.LOWER,
            "The share that bears a burden without cause. Whoever gets a benefit without "
            "qualifying is not harmed by that.",
        ),
        Better.HIGHER_OF_BURDEN: Preference(
            Better.NEITHER,
            Better.HIGHER,
            "The share that is rightly spared a burden. Of a benefit the rate tells who is rightly "
            "refused: no harm and no good to the person.",
        ),
        Better.HIGHER: Preference(
            Better.HIGHER,
            Better.HIGHER,
            "How good a prediction, or an outcome, is for the people it is about: whoever gets "
            "less of it is served worse, whichever way the errors go.",
        ),
        Better.LOWER: Preference(
            Better.LOWER,
            Better.LOWER,
            "How wrong a prediction is, how unequally the group's people fare, or how "
            "over-represented the group is among those who fare badly (a disparity whose sign is "
            "turned for a burden already).",
        ),
        Better.NEITHER: Preference(
            Better.NEITHER,
            Better.NEITHER,
            "It describes the people or their scores, mixes two kinds of error, or is a share of "
            "those with the same decision: a higher predictive value may come of a higher base "
            "rate or of a stricter cut, and does not tell who is harmed.",
        ),
    }
)
"""The rule, as `docs/metrics.md` prints it."""

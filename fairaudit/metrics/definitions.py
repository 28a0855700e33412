"""`CatalogueEntry`: words, family, `Requirement`; which way is better; reasons for no interval."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType
from typing import TypeAlias

from fairaudit.base.frozen import Frozen, force_setattr
from fairaudit.metrics.citations import Citation

Bounds: TypeAlias = tuple[int | Decimal | None, int | Decimal | None]
"""The least and the greatest value of a metric; None for unbounded."""


class Requirement(StrEnum):
    """A column, or property of columns, that a metric requires in a spec."""

    LABEL = "label"
    PREDICTION = "prediction"
    CLASSES = "an outcome with classes"
    SCORE = "score"
    DISTRIBUTION = "distribution of the score"
    NUMBER = "number"
    NUMERIC_LABEL = "numeric label"
    NUMERIC_ATTRIBUTE = "numeric protected column"
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
            "The composition of the data: how many people each group has, and which labels and "
            "decisions they have.",
            "Look at these numbers first: they show who is in the data.",
        ),
        "independence": Family(
            "Who is selected, regardless of the label.",
            "When groups should have equal outcomes, or when the label cannot be trusted.",
        ),
        "separation": Family(
            "Decisions or scores among people with the same label.",
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
            "How unequally the benefit of a decision (what it is worth to a person) is distributed "
            "over people.",
            "When individuals, not only groups, should have similar outcomes.",
        ),
        "individual": Family(
            "Individual people, compared by their features.",
            "When similar people should have similar outcomes; you decide which features count.",
        ),
        "conditional": Family(
            "People with the same value of a declared factor; you decide whether the factor is "
            "legitimate.",
            "When a factor that you consider legitimate, such as the department, may explain part "
            "of the gap.",
        ),
        "comparison": Family("Two values of the same measure.", "With any rate, mean or score."),
    }
)

NARROW = 16
"""Most letters of a short name, which is the header of a column."""

NO_DISPARITY = "no disparity"
"""The hypothesis of nearly all tests."""

IS_TEST = "it is the test itself"
"""The text in place of the name of a test, for a value that is a test statistic."""

IGNORES_THE_LABEL = "Does not consider who is qualified."
TRUSTS_THE_LABEL = "Relies on the label: if the label is biased, so is this measure."
FACTOR = "If the strata are a result of the disparity, comparing within strata hides the disparity."
"""Cautions of many records."""

BIASED_BY_CHANCE = (
    "even if the groups are equal, chance alone moves the value away from parity, and no interval "
    "here takes that into account"
)
"""The reason why a metric that is never below parity has no interval."""
HIGHER_POWERS = "its variance needs sums of higher powers, which fairaudit does not collect"
"""The reason why a measure of squares, or in standard deviations, has no interval."""


class CatalogueEntry(Frozen, kw_only=True):
    """The texts of a record, which `explain` prints and every report cites.

    The default title is the id in words. `other_tools` gives the names in other tools, and how
    their numbers differ. `no_interval` is the reason why the metric has no interval, `hypothesis`
    the hypothesis of its test, in words after "p of", `test` the name of a test of one group
    without another to compare. `instead` names other metrics for limits and comparisons. Values
    based on fewer than `min_people` people have no interval. `has_outcome` is false for metrics of
    the features alone. `version` is raised when the number changes for the same people, so that
    baselines of an older definition are not compared.
    """

    id: str
    source: Citation
    title: str = ""
    description: str = ""
    caution: str = ""
    family: str = ""
    aliases: tuple[str, ...] = ()
    short: str = ""
    other_tools: str = ""
    no_interval: str = "the counts do not determine its variance"
    hypothesis: str = NO_DISPARITY
    test: str = ""
    instead: str = ""
    min_people: int = 0
    has_outcome: bool = True
    version: int = 1

    def __post_init__(self) -> None:
        """Derives a missing title from the id; refuses a record without its texts."""
        if not self.title:
            force_setattr(self, "title", self.id.replace("_", " ").capitalize())
        for name in ("description", "caution", "family"):
            if not getattr(self, name):
                raise ValueError(f"{self.id}: a record says its {name}")


class Better(StrEnum):
    """Which way is better for the people counted.

    It may depend on whether the positive is a benefit or a burden (`favourable: false` in the
    spec). `polarity` reverses with it; an error rate has a direction only if its error harms the
    person.
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
        """`HIGHER`, `LOWER` or `NEITHER`, if the positive is a benefit, or a burden.

        None means unknown, as for a single class of several.
        """
        direction = PREFERENCES[self]
        if favourable is None:
            same = direction.benefit is direction.burden
            return direction.benefit if same else Better.NEITHER
        return direction.benefit if favourable else direction.burden

    @property
    def of_classes(self) -> Better:
        """Which way is better for a mean over classes: errors of all together are of quality."""
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
            return (
                f"{benefit} {'in general' if self.benefit is Better.NEITHER else 'for the group'}"
            )
        return f"for a benefit, {benefit}; for a burden (`favourable: false`), {burden}"


_WORDS: Mapping[Better, str] = MappingProxyType(
    {
        Better.HIGHER: "higher is better",
        Better.LOWER: "lower is better",
        Better.NEITHER: "neither direction is better",
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
            "People want to be selected for a benefit and not to be selected for a burden.",
        ),
        Better.HIGHER_OF_BENEFIT: Preference(
            Better.HIGHER,
            Better.NEITHER,
            "For a benefit, the harm is that a qualified person does not get it. For a burden, "
            "the rate shows who is correctly flagged; people who are missed are not harmed.",
        ),
        Better.LOWER_OF_BENEFIT: Preference(
            Better.LOWER,
            Better.NEITHER,
            "The share of qualified people who do not get a benefit. A burden that misses a "
            "person does not harm that person.",
        ),
        Better.LOWER_OF_BURDEN: Preference(
            Better.NEITHER,
            Better.LOWER,
            "The share of people who bear a burden without cause. People who get a benefit "
            "without qualifying are not harmed.",
        ),
        Better.HIGHER_OF_BURDEN: Preference(
            Better.NEITHER,
            Better.HIGHER,
            "The share of people who correctly do not bear a burden. For a benefit, the rate "
            "shows who is correctly refused, which neither harms nor helps them.",
        ),
        Better.HIGHER: Preference(
            Better.HIGHER,
            Better.HIGHER,
            "The quality of a prediction or an outcome for the people it concerns: a group with a "
            "lower value is served worse, regardless of the direction of the errors.",
        ),
        Better.LOWER: Preference(
            Better.LOWER,
            Better.LOWER,
            "The error of a prediction, the inequality within the group, or the "
            "over-representation of the group among people with a bad outcome (a disparity whose "
            "sign is already reversed for a burden).",
        ),
        Better.NEITHER: Preference(
            Better.NEITHER,
            Better.NEITHER,
            "The rate does not show who is harmed. It describes the people or their scores, mixes "
            "two kinds of error, or is a share of people with the same decision: a higher "
            "predictive value can result from a higher base rate or from a stricter threshold.",
        ),
    }
)
"""The rule, as `docs/metrics.md` prints it."""

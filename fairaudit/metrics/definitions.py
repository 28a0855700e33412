"""The texts of a metric (`CatalogueEntry`), its `Requirement`, and which direction is better."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType
from typing import TypeAlias

from fairaudit.base.frozen import Frozen, force_setattr
from fairaudit.metrics.citations import Citation

Bounds: TypeAlias = tuple[int | Decimal | None, int | Decimal | None]
"""The smallest and the largest possible value of a metric; None for a value without a limit."""


class Requirement(StrEnum):
    """A column, or a property of columns, that a spec must declare for a metric."""

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
    """Measures that answer the same question.

    `compares` says what the measures compare. `use` says when to use them.
    """

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
"""Maximum number of characters of a short name, which is the header of a column."""

NO_DISPARITY = "no disparity"
"""The hypothesis of most tests."""

IS_TEST = "it is the test itself"
"""The text in place of the name of a test, for a value that is itself a test statistic."""

IGNORES_THE_LABEL = "The measure does not consider who is qualified."
TRUSTS_THE_LABEL = "The measure relies on the label: if the label is biased, so is the measure."
FACTOR = "If the strata are a result of the disparity, comparing within strata hides the disparity."
"""Cautions that several records share."""

BIASED_BY_CHANCE = (
    "even if the groups are equal, chance alone moves the value away from parity, and no interval "
    "here takes that into account"
)
"""Why a metric whose smallest value is parity has no interval."""
HIGHER_POWERS = "its variance needs sums of higher powers, which fairaudit does not collect"
"""Why a measure that uses squares or standard deviations has no interval."""


class CatalogueEntry(Frozen, kw_only=True):
    """The texts of a record, which `explain` prints and every report cites.

    The default title is the id in words. `other_tools` says how other tools name the measure, and
    how their numbers differ. `no_interval` says why the value has no interval. `hypothesis` is the
    hypothesis of the test; reports print it after "p of". `test` is the name of a test of a single
    group. `instead` names the metric that a spec should use for limits and comparisons. Values
    based on fewer than `min_people` people have no interval. `has_outcome` is false for metrics
    that use only the features. `version` is raised if the number changes for the same people, so
    that baselines of an older definition are not compared.
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
        """Derives a missing title from the id; raises `ValueError` if another text is missing."""
        if not self.title:
            force_setattr(self, "title", self.id.replace("_", " ").capitalize())
        for name in ("description", "caution", "family"):
            if not getattr(self, name):
                raise ValueError(f"{self.id}: the record has no {name}")


class Better(StrEnum):
    """Which direction of a value is better for the people who are counted.

    The direction may depend on whether the positive outcome is a benefit or a burden (`favourable:
    false` in the spec). For `POLARITY`, the direction is reversed for a burden. For the four
    members whose names contain "OF", a rate has a direction only if the outcome is a benefit, or
    only if it is a burden.
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
        """The direction (`HIGHER`, `LOWER` or `NEITHER`) if the outcome is a benefit, or a burden.

        `favourable` is None if it is unknown whether the outcome is a benefit, for example if it is
        one class of several.
        """
        direction = PREFERENCES[self]
        if favourable is None:
            same = direction.benefit is direction.burden
            return direction.benefit if same else Better.NEITHER
        return direction.benefit if favourable else direction.burden

    @property
    def of_classes(self) -> Better:
        """The direction for a mean over classes, where no outcome is a benefit or a burden."""
        directions = {PREFERENCES[self].benefit, PREFERENCES[self].burden} - {Better.NEITHER}
        return directions.pop() if len(directions) == 1 else Better.NEITHER


class Preference(Frozen):
    """The better direction for a benefit and for a burden, and the reason."""

    benefit: Better
    burden: Better
    why: str

    @property
    def words(self) -> str:
        """The better directions in words."""
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
"""The better direction for each member of `Better`, as `docs/metrics.md` prints it."""

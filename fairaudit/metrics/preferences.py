"""Which way is better for the people counted (`Better`), of a benefit and of a burden, and why."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from fairaudit.base.frozen import Frozen


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

"""Which way is better for the people counted (`Better`), of a benefit and of a burden, and why."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from fairaudit.base.frozen import Frozen


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
            return f"{benefit} for the group" if self.benefit is not Better.NEITHER else (
                "neither direction is better in general"
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
            "It describes the people or their scores, mixes two kinds of error, or is a share of "
            "people with the same decision: a higher predictive value can result from a higher "
            "base rate or from a stricter threshold, and does not show who is harmed.",
        ),
    }
)
"""The rule, as `docs/metrics.md` prints it."""

"""What is told of a search for subgroups: those that stand out, and how many were looked at."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from fairaudit.cube import Group, Grouping
from fairaudit.disclosure import declare_subjects
from fairaudit.members import FLAT_STATE, Member, member


@declare_subjects(never="group over under divergence")
@dataclass(frozen=True, slots=True)
class ParentGroup:
    """A group that a subgroup is part of, with one condition less, and its own rate."""

    group: Group
    over: Annotated[int, Member("numerator")]
    under: Annotated[int, Member("denominator", least=1)]
    divergence: Annotated[float, Member("value")]

    @property
    def value(self) -> float:
        """Its rate."""
        return self.over / self.under


@declare_subjects(
    never="group over under everybody share divergence exact low high p adjusted test unfairness "
    "significant parts",
)
@dataclass(frozen=True, slots=True)
class Subgroup:
    """People who meet some conditions, and how far their rate lies from `everybody`'s.

    `divergence` is the one less the other, within [`low`, `high`]; `p` is that of the test
    against all others, `adjusted` among all subgroups looked at. `share` is theirs of everybody's
    denominator, `unfairness` Kearns' P(g)·|divergence|.
    """

    group: Group
    over: Annotated[int, Member("numerator")]
    under: Annotated[int, Member("denominator", least=1)]
    everybody: float
    share: float
    divergence: Annotated[float, FLAT_STATE]
    exact: Annotated[Fraction, Member(text=True)]
    low: float
    high: float
    p: float
    adjusted: float
    test: str
    unfairness: float
    significant: bool
    parts: tuple[ParentGroup, ...] = ()

    @property
    @member("rate")
    def value(self) -> float:
        """Their rate."""
        return self.over / self.under

    @property
    def ends(self) -> tuple[float, float]:
        """The interval of the size of the divergence, whichever way it points."""
        return (self.low, self.high) if self.divergence >= 0 else (-self.high, -self.low)


@declare_subjects(
    never="rate of over under n looked_at significant explained listed widest unfairest"
)
@dataclass(frozen=True, slots=True)
class SearchedRate:
    """What the search found of one rate.

    `over / under` is everybody's, `n` those whom Kearns' shares are of. Of so many subgroups
    `looked_at`, so many are `significant`, and of those so many `explained` by a larger group;
    of the rest the first are `listed`. `widest` diverges most, `unfairest` has the largest
    unfairness, whether or not chance explains them.
    """

    rate: Annotated[str, Member("metric")]
    of: str
    over: Annotated[int, Member("numerator")]
    under: Annotated[int, Member("denominator")]
    n: Annotated[int, Member("people")]
    looked_at: int
    significant: int
    explained: int
    listed: tuple[Subgroup, ...]
    widest: Subgroup | None
    unfairest: Subgroup | None

    @property
    def value(self) -> float:
        """Everybody's rate."""
        return self.over / self.under if self.under else float("nan")


@declare_subjects(never="over depth min_size top looked_at rates")
@dataclass(frozen=True, slots=True)
class Subgroups:
    """A whole search as it is told: what was asked, how many were looked at, and each rate."""

    over: Grouping
    depth: int
    min_size: int
    top: int
    looked_at: Annotated[int, Member("family")]
    rates: tuple[SearchedRate, ...]

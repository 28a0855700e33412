"""Outcomes of several classes: each class against the rest, and all classes together."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from fairaudit.cube import Floats, GroupTable, Ints
from fairaudit.metrics import sources as works
from fairaudit.metrics.comparisons import DIVERGENCE
from fairaudit.metrics.counts import GroupCounts, count_groups
from fairaudit.metrics.direction import Better
from fairaudit.metrics.disparities import Disparity, TableMetric, TableValue
from fairaudit.metrics.epsilon import class_counts
from fairaudit.metrics.group_metrics import Formula, GroupMetric, GroupValues
from fairaudit.metrics.minimum import Minimum, pooled_total
from fairaudit.metrics.records import BIASED_BY_CHANCE, NO_PARAMETERS, Parameters, Requirement

_MOST_CLASSES = 16
"""Up to so many classes every set of them is looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Macro(GroupMetric):
    """The plain mean over classes of a quantity, each class against the rest."""

    base: GroupMetric

    @property
    def requirements(self) -> frozenset[Requirement]:
        """What the quantity needs, but for a positive class."""
        return self.base.requirements

    @property
    def formula(self) -> str:
        """The formula in the id of the quantity."""
        return f"mean over classes of {self.base.id}"

    def compute(self, tally: GroupCounts, parameters: Parameters = NO_PARAMETERS) -> GroupValues:
        """Its value in every stratum and group; undefined where one class is."""
        readings = [self.base.compute(one, parameters) for one in tally.by_class]
        value = np.mean([one.value for one in readings], axis=0)
        n = np.min([one.n for one in readings], axis=0)
        return GroupValues(self, value, n, n.astype(np.float64))

    def exact(
        self, tally: GroupCounts, z: int, g: int, parameters: Parameters = NO_PARAMETERS
    ) -> Fraction | None:
        """Its value in one group as a fraction."""
        found = [self.base.exact(one, z, g, parameters) for one in tally.by_class]
        known = [one for one in found if one is not None]
        return sum(known, Fraction(0)) / len(found) if found and len(known) == len(found) else None


def macro_average(base: GroupMetric) -> Macro:
    """The macro mean of a quantity, under its own id."""
    words = {
        name: getattr(base, name)
        for name in ("caution", "source", "family", "elsewhere", "bounds", "takes")
    }
    return Macro(
        id=f"macro_{base.id}",
        title=f"{base.title}, macro mean",
        short=f"macro {base.short}",
        means=f"{base.means} Each class against the rest, and the plain mean over classes.",
        base=base,
        better=base.better.of_classes,
        no_interval="its classes are of the same people, and not independent",
        **words,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares(Formula):
    """The probabilities of all classes of an outcome."""

    def compute(self, tally: GroupCounts, parameters: Parameters = NO_PARAMETERS) -> GroupValues:
        """The people with a known outcome, and the probability of each class, [Z, P, G]."""
        with np.errstate(divide="ignore", invalid="ignore"):
            value, n = self.value_of(tally, parameters)
            shares = tally.classes / tally.classes.sum(axis=1, keepdims=True)
        return GroupValues(self, value, n, n.astype(np.float64), shares=shares)


def _known_outcomes(tally: GroupCounts, _: Parameters) -> tuple[Floats, Ints]:
    """1 where anybody has a known outcome, else undefined."""
    mass = tally.classes.sum(axis=1)
    return np.where(mass > 0, 1.0, np.nan), tally.answered


_SHARES = Shares(
    id="outcome_distribution",
    title="Outcome distribution",
    family="independence",
    means="The share of each class of the outcome.",
    caution="Read it class by class.",
    source=works.ZLIOBAITE,
    better=Better.NEITHER,
    formula="n(y, g) / n(g)",
    requirements=frozenset({Requirement.CLASSES}),
    listed=False,
    value_of=_known_outcomes,
)
KL_DIVERGENCE = Disparity(
    id="kl_divergence",
    title="Kullback–Leibler divergence",
    short="KL",
    aliases=("kullback_leibler_divergence",),
    family="independence",
    means="How far the group's distribution over outcomes is from the reference's, in nats.",
    caution="Directed: the reference's from the group's is another number. Infinite where the "
    "group has an outcome that the reference never has.",
    no_interval=BIASED_BY_CHANCE,
    source=works.KULLBACK,
    elsewhere="aif360.sklearn takes it from the other side.",
    parts=((_SHARES, DIVERGENCE),),
)


def _total_variation(table: GroupTable, minimum: Minimum, _: Parameters) -> TableValue:
    """The largest distance of two groups' distributions, by the set of classes that attains it.

    ½ Σ |p - q| is the largest difference of P(set) over sets of classes, so that each set asks for
    one highest and one lowest group, and no pair of groups is looked at.
    """
    tally = count_groups(table)
    mass = tally.classes
    n = mass.sum(axis=1)
    enough = minimum.admits(tally.answered, pooled_total(table, mass))
    takes_part = table.eligible & (table.n > 0) & enough
    strata, classes, _ = mass.shape
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = mass / n[:, None]
    best = np.full(strata, -1.0)
    high, low = (np.full(strata, -1, dtype=np.int64) for _ in range(2))
    at = np.arange(strata)
    for chosen in _sets(classes):
        held = shares[:, chosen].sum(axis=1)
        top = np.argmax(np.where(takes_part, held, -np.inf), axis=1)
        bottom = np.argmin(np.where(takes_part, held, np.inf), axis=1)
        apart = held[at, top] - held[at, bottom]
        better = apart > best + 1e-15
        best[better], high[better], low[better] = apart[better], top[better], bottom[better]
    defined = (takes_part.sum(axis=1) >= 2) & ~(takes_part & (n == 0)).any(axis=1) & (classes > 0)
    value = np.where(defined & (best >= 0), best, np.nan)
    high, low = (np.where(defined, end, -1) for end in (high, low))
    return TableValue.of(value, takes_part, tally.answered, high=high, low=low)


def _sets(classes: int) -> list[list[int]]:
    """Sets of classes to look at: all of them up to their complements, or each class alone."""
    if classes > _MOST_CLASSES:
        raise ValueError(f"the total variation of {classes} classes")
    chosen = product((False, True), repeat=max(classes - 1, 0))
    return [[0, *(at + 1 for at, is_in in enumerate(one) if is_in)] for one in chosen]


TOTAL_VARIATION = TableMetric(
    id="total_variation",
    title="Total variation distance",
    short="TV",
    family="independence",
    means="The largest share of one group's outcomes that would have to change to be distributed "
    "as another group's.",
    caution="Grows with the number of groups and of classes by chance alone.",
    no_interval=BIASED_BY_CHANCE,
    source=works.LEVIN,
    elsewhere="With two outcomes it is `demographic_parity_difference`. SageMaker Clarify's TVD is "
    "the same for two groups.",
    formula="max over groups g, h of ½ Σ over classes y of |P(y|g) - P(y|h)|",
    bounds=(0, 1),
    value_of=_total_variation,
    independence=class_counts,
)

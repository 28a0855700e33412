"""Types of columns in a `Spec` (`Protected`, `Outcome`), and the labels of bins."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

from fairaudit.base.frozen import Frozen, field
from fairaudit.counting.columns import CountColumns, Derivation, SimilarityColumns
from fairaudit.spec.text import LocatedText


class OutcomeKind(StrEnum):
    """What is known of an outcome: one of several classes, a number, or nothing but a score."""

    CLASSES = "classes"
    NUMBER = "number"
    SCORE = "score"


class OtherValues(StrEnum):
    """What becomes of an outcome that is neither positive nor negative."""

    ERROR = "error"
    DROP = "drop"


def value_of(text: LocatedText | None) -> str | None:
    """The text alone, where there is one."""
    return None if text is None else text.value


def format_edge(edge: Decimal) -> str:
    """A number as the spec writes it; one that needs an exponent as Python does."""
    text = repr(float(edge))
    return text.removesuffix(".0") if "E" in str(edge) or "e+" in text else str(edge)


class PropensityStrata(Frozen):
    """Bins of the probability of belonging to a `group` of the attribute `of`, by the features.

    Without a group it is everybody outside the reference, or one of two groups. Without `bins`
    there are as many as the people allow.
    """

    of: str
    group: LocatedText | None
    features: SimilarityColumns
    bins: int | None


class ClusterStrata(Frozen):
    """`k` clusters of people whose features are alike."""

    features: SimilarityColumns
    k: int
    seed: int


ModelledStrata: TypeAlias = PropensityStrata | ClusterStrata


class Protected(Frozen):
    """A protected attribute, or a stratum: where it is read and how it is recoded.

    `codebook` are the levels that may occur, `labels` the names of codes. An edge of `bins` belongs
    to the bin above it, with `is_over` to the one below. `quantiles` are so many bins of as many
    people each, whose edges are yet to be found. A stratum that a `model` makes is in no column of
    the data; a `derivation` makes its column of others. Of combined columns the first of `rules`
    that fits gives the level: it says which levels of which columns it fits.
    """

    name: str
    column: LocatedText
    trim: bool = False
    unknown: tuple[str, ...] = ()
    codebook: tuple[LocatedText, ...] | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    merge: Mapping[str, tuple[LocatedText, ...]] | None = None
    keep: tuple[LocatedText, ...] | None = None
    other: str = "other"
    bins: tuple[Decimal, ...] = ()
    is_over: bool = False
    quantiles: int | None = None
    reference: LocatedText | None = None
    model: ModelledStrata | None = None
    derivation: Derivation | None = None
    rules: Mapping[str, Mapping[str, tuple[LocatedText, ...]]] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the data that it is read from."""
        return (self.column.value,) if self.derivation is None else self.derivation.columns

    @property
    def is_cut(self) -> bool:
        """Whether its column is one of numbers, cut into bins."""
        return bool(self.bins or self.quantiles)

    def bin_labels(self) -> tuple[str, ...]:
        """The levels its bins make: `under 25`, `25 to 40`, `40 and over`, or what `labels` says.

        With `is_over` they are `25 and under`, `over 25 to 40`, `over 40`.
        """
        return tuple(self.labels.get(name, name) for name in self.bin_names())

    def bin_names(self) -> tuple[str, ...]:
        """The bins by their edges."""
        edges = [format_edge(edge) for edge in self.bins]
        if edges and self.is_over:
            between = [f"over {low} to {high}" for low, high in pairwise(edges)]
            return (f"{edges[0]} and under", *between, f"over {edges[-1]}")
        middle = [f"{low} to {high}" for low, high in pairwise(edges)]
        return (f"under {edges[0]}", *middle, f"{edges[-1]} and over") if edges else ()


class Threshold(Frozen):
    """A cut on a number: positive where every bound that is given holds.

    `beyond` is a share of the people: those above its quantile, which is yet to be found.
    """

    at_least: Decimal | None = None
    above: Decimal | None = None
    at_most: Decimal | None = None
    below: Decimal | None = None
    beyond: Fraction | None = None

    def edges(self) -> tuple[float, ...]:
        """Where it cuts: from each edge up, a number is on the other side."""
        from_here = [edge for edge in (self.at_least, self.below) if edge is not None]
        beyond = [edge for edge in (self.above, self.at_most) if edge is not None]
        return (*map(float, from_here), *(math.nextafter(float(edge), math.inf) for edge in beyond))


class Outcome(Frozen):
    """A label, prediction, decision or number: its column and which of its values are positive.

    Without `positive` only measures of all classes (differential fairness) can be asked of it. The
    column of an outcome that has nothing but a score is that score's. `order` names the classes of
    an ordinal outcome from the lowest to the highest. With `is_assumed` the spec does not say what
    is positive, though a measure needs it: the data must hold 0 and 1, or false and true. `counts`
    are columns of people, each of one of its levels.
    """

    name: str
    column: LocatedText
    positive: tuple[LocatedText, ...] = ()
    threshold: Threshold | None = None
    negative: tuple[LocatedText, ...] = ()
    others: OtherValues = OtherValues.ERROR
    favourable: bool = True
    kind: OutcomeKind = OutcomeKind.CLASSES
    score: LocatedText | None = None
    order: tuple[LocatedText, ...] = ()
    is_assumed: bool = False
    counts: CountColumns | None = None

    @property
    def has_classes(self) -> bool:
        """Whether it is one of several classes: an axis of the cube."""
        return self.kind is OutcomeKind.CLASSES

    @property
    def is_cut(self) -> bool:
        """Whether its classes are the two sides of a cut on a number."""
        return self.threshold is not None

    @property
    def binary(self) -> bool:
        """Whether it says what is positive."""
        return bool(self.positive) or self.threshold is not None

    @property
    def may_be_binary(self) -> bool:
        """Whether it is binary, or is where its values are 0 and 1."""
        return self.binary or (self.has_classes and not self.order)

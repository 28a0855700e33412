"""The types of a spec once it is read: plain values, every name resolved."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

from fairaudit.cube import ExcludeBelow, Grouping
from fairaudit.disclosure import Notice
from fairaudit.metrics import (
    Disparity,
    GroupMetric,
    Metric,
    Minimum,
    Reference,
    Requirement,
    TableMetric,
    Terms,
    list_requirements,
)
from fairaudit.metrics.terms import Inference
from fairaudit.simpson import ReversalScan
from fairaudit.spec.derivations import CountColumns, Derivation
from fairaudit.spec.text import Text
from fairaudit.subgroups import SubgroupSearch
from fairaudit.verdict import AnyCheck, Check
from fairaudit.waivers import Waiver

RESERVED = frozenset({"label", "prediction", "decision", "all", "each", "full"})
"""Words of a spec that name no column."""


class MissingPolicy(StrEnum):
    """What becomes of a row whose value is missing in a column."""

    SHOW = "show"
    GROUP = "group"
    ASIDE = "aside"
    DROP = "drop"
    ERROR = "error"


class OutcomeKind(StrEnum):
    """What is known of an outcome: one of several classes, a number, or nothing but a score."""

    CLASSES = "classes"
    NUMBER = "number"
    SCORE = "score"


class OtherValues(StrEnum):
    """What becomes of an outcome that is neither positive nor negative."""

    ERROR = "error"
    DROP = "drop"


def value_of(text: Text | None) -> str | None:
    """The text alone, where there is one."""
    return None if text is None else text.value


@dataclass(frozen=True, slots=True)
class CsvFormat:
    """How a CSV file is written; `header` names the columns of one whose first line is a row."""

    separator: str
    decimal: str
    encoding: str
    multiline: bool
    header: tuple[str, ...] = ()

    @property
    def first_row(self) -> int:
        """The line on which the first row stands."""
        return 1 if self.header else 2


@dataclass(frozen=True, slots=True)
class Missing:
    """What counts as missing, and what becomes of it by the role of the column.

    The defaults are those of `schema.MissingRules`: what equals them is no part of a fingerprint.
    """

    tokens: tuple[str, ...] = ("",)
    protected: MissingPolicy = MissingPolicy.SHOW
    strata: MissingPolicy = MissingPolicy.SHOW
    label: MissingPolicy = MissingPolicy.ASIDE
    prediction: MissingPolicy = MissingPolicy.ERROR
    score: MissingPolicy = MissingPolicy.ERROR
    numbers: MissingPolicy = MissingPolicy.ASIDE


def format_edge(edge: Decimal) -> str:
    """A number as the spec writes it; one that needs an exponent as Python does."""
    text = repr(float(edge))
    return text.removesuffix(".0") if "E" in str(edge) or "e+" in text else str(edge)


@dataclass(frozen=True, slots=True)
class SimilarityColumns:
    """The columns in which people are alike or not: numbers, and texts that match or do not."""

    numeric: tuple[Text, ...] = ()
    categorical: tuple[Text, ...] = ()

    @property
    def texts(self) -> tuple[Text, ...]:
        """All of them."""
        return (*self.numeric, *self.categorical)

    def only(self, names: Container[str]) -> SimilarityColumns:
        """Those of these names."""
        return SimilarityColumns(
            tuple(text for text in self.numeric if text.value in names),
            tuple(text for text in self.categorical if text.value in names),
        )


@dataclass(frozen=True, slots=True)
class PropensityStrata:
    """Bins of the probability of belonging to a `group` of the attribute `of`, by the features.

    Without a group it is everybody outside the reference, or one of two groups.
    """

    of: str
    group: Text | None
    features: SimilarityColumns
    bins: int


@dataclass(frozen=True, slots=True)
class ClusterStrata:
    """`k` clusters of people whose features are alike."""

    features: SimilarityColumns
    k: int
    seed: int


ModelledStrata: TypeAlias = PropensityStrata | ClusterStrata


@dataclass(frozen=True, slots=True)
class Protected:
    """A protected attribute, or a stratum: where it is read and how it is recoded.

    `codebook` are the levels that may occur, `labels` the names of codes. An edge of `bins` belongs
    to the bin above it, with `is_over` to the one below. `quantiles` are so many bins of as many
    people each, whose edges are yet to be found. A stratum that a `model` makes is in no column of
    the data; a `derivation` makes its column of others. Of combined columns the first of `rules`
    that fits gives the level: it says which levels of which columns it fits.
    """

    name: str
    column: Text
    trim: bool = False
    unknown: tuple[str, ...] = ()
    codebook: tuple[Text, ...] | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    merge: Mapping[str, tuple[Text, ...]] | None = None
    keep: tuple[Text, ...] | None = None
    other: str = "other"
    bins: tuple[Decimal, ...] = ()
    is_over: bool = False
    quantiles: int | None = None
    reference: Text | None = None
    model: ModelledStrata | None = None
    derivation: Derivation | None = None
    rules: Mapping[str, Mapping[str, tuple[Text, ...]]] = field(default_factory=dict)

    @property
    def texts(self) -> tuple[Text, ...]:
        """The columns of the data that it is read from."""
        return (self.column,) if self.derivation is None else self.derivation.texts

    @property
    def is_cut(self) -> bool:
        """Whether its column is one of numbers, cut into bins."""
        return bool(self.bins or self.quantiles)

    def bin_labels(self) -> tuple[str, ...]:
        """The levels its bins make: `under 25`, `25 to 40`, `40 and over`.

        With `is_over` they are `25 and under`, `over 25 to 40`, `over 40`.
        """
        edges = [format_edge(edge) for edge in self.bins]
        if edges and self.is_over:
            between = [f"over {low} to {high}" for low, high in pairwise(edges)]
            return (f"{edges[0]} and under", *between, f"over {edges[-1]}")
        middle = [f"{low} to {high}" for low, high in pairwise(edges)]
        return (f"under {edges[0]}", *middle, f"{edges[-1]} and over") if edges else ()


@dataclass(frozen=True, slots=True)
class Threshold:
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


@dataclass(frozen=True, slots=True)
class Outcome:
    """A label, prediction, decision or number: its column and which of its values are positive.

    Without `positive` only measures of all classes (differential fairness) can be asked of it. The
    column of an outcome that has nothing but a score is that score's. `order` names the classes of
    an ordinal outcome from the lowest to the highest. With `is_assumed` the spec does not say what
    is positive, though a measure needs it: the data must hold 0 and 1, or false and true. `counts`
    are columns of people, each of one of its levels.
    """

    name: str
    column: Text
    positive: tuple[Text, ...] = ()
    threshold: Threshold | None = None
    negative: tuple[Text, ...] = ()
    others: OtherValues = OtherValues.ERROR
    favourable: bool = True
    kind: OutcomeKind = OutcomeKind.CLASSES
    score: Text | None = None
    order: tuple[Text, ...] = ()
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

    def assume_positive(self) -> Outcome:
        """The outcome whose values are 0 and 1, or false and true, which are equal to them."""
        one, zero = replace(self.column, value="1"), replace(self.column, value="0")
        return replace(self, positive=(one,), negative=(zero,), is_assumed=True)


NO_SIMILARITY = SimilarityColumns()


@dataclass(frozen=True, slots=True)
class MetricRequest:
    """A metric to report: of which outcome, for which groupings, in which strata.

    The reference of its `terms` is as the spec writes it; `references` holds the resolved one for
    each grouping that has one, `declared` the one that the columns declare, whether or not the
    metric asks for it. `class_text` and `stratum_texts` are the class that counts as positive and
    the strata that an average gives a weight, as the spec writes them.
    """

    metric: Metric
    of: str
    by: tuple[Grouping, ...]
    given: tuple[Grouping, ...]
    terms: Terms
    references: Mapping[Grouping, Reference]
    declared: Mapping[Grouping, Reference]
    against: str | None = None
    class_text: Text | None = None
    stratum_texts: tuple[Text, ...] = ()

    def terms_for(self, by: Grouping) -> Terms:
        """The terms with the reference that a grouping has."""
        return replace(self.terms, reference=self.references.get(by))

    def is_of(self, outcome: Outcome) -> bool:
        """Whether it measures an outcome, be it to subtract it from another."""
        return outcome.name in {self.of, self.against}

    def uses(self, requirement: Requirement) -> bool:
        """Whether the metric is computed from that, where the spec has it."""
        by_threshold = self.terms.at is not None and requirement is Requirement.DISTRIBUTION
        return by_threshold or requirement in list_requirements(self.metric)

    @property
    def options(self) -> dict[str, object]:
        """What an entry says beside the measure, its outcome and its groups, by name."""
        terms = self.terms
        words: dict[str, object] = terms.parameters.as_values()
        if terms.average is not None:
            levels = {name: float(weight) for name, weight in terms.average.levels.items()}
            words["average"] = levels or str(terms.average)
        mean = isinstance(self.metric, Disparity) and self.metric.mean
        texts = {
            "class": terms.of_class,
            "against": self.against,
            "aggregate": "mean" if mean else None,
        }
        words |= {name: text for name, text in texts.items() if text is not None}
        return words if terms.at is None else {**words, "at": float(terms.at)}

    def options_of(self, part: GroupMetric | TableMetric) -> dict[str, object]:
        """The options that hold for one of its rates, as the rows of that rate repeat them."""
        parameters = {*self.terms.parameters.as_texts()} - {*part.takes}
        others = {"against", "aggregate", *parameters}
        return {name: value for name, value in self.options.items() if name not in others}


@dataclass(frozen=True, slots=True)
class Expected:
    """What the data must hold: how many rows, and levels that must occur."""

    at_least: int | None = None
    at_most: int | None = None
    levels: Mapping[str, tuple[Text, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Spec:
    """An audit spec, read and resolved.

    `predictions` are the prediction or decision, the models, or a score alone; `numbers` further
    numeric outcomes; `features` columns that `subgroups` alone are looked for in, and `similarity`
    those in which people are alike. `suppress_below` is the least count of people that may be
    published.
    """

    path: str
    sha256: str
    title: str
    context: Mapping[str, str]
    data: tuple[str, ...]
    protected: tuple[Protected, ...]
    strata: tuple[Protected, ...]
    label: Outcome | None
    predictions: tuple[Outcome, ...]
    numbers: tuple[Outcome, ...]
    count: Text | None
    weight: Text | None
    cluster: Text | None
    format: CsvFormat
    missing: Missing
    filter: Text | None
    minimum: Minimum
    exclude_below: ExcludeBelow | None
    expected: Expected
    inference: Inference
    requests: tuple[MetricRequest, ...]
    checks: tuple[AnyCheck, ...]
    simpson: ReversalScan | None
    subgroups: SubgroupSearch | None = None
    features: tuple[Protected, ...] = ()
    similarity: SimilarityColumns = NO_SIMILARITY
    suppress_below: int | None = None
    notices: tuple[Notice, ...] = ()
    waivers: tuple[Waiver, ...] = ()
    draws: str | None = None
    flags: str | None = None
    describe: bool = False

    @property
    def derivations(self) -> tuple[Derivation, ...]:
        """The columns that no file holds, each once."""
        derivations = [
            attribute.derivation
            for attribute in (*self.protected, *self.strata, *self.features)
            if attribute.derivation is not None
        ]
        return tuple({derivation.name: derivation for derivation in derivations}.values())

    @property
    def counts(self) -> CountColumns | None:
        """The counts that stand side by side, where an outcome is of such."""
        return next((o.counts for o in self.outcomes if o.counts is not None), None)

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """Label, predictions and numbers, those that are named."""
        label = () if self.label is None else (self.label,)
        return (*label, *self.predictions, *self.numbers)

    @property
    def score_columns(self) -> tuple[str, ...]:
        """The columns of scores, each once; none is summarised under survey weights."""
        scores = (
            []
            if self.weight
            else [prediction.score for prediction in self.predictions if prediction.score]
        )
        return tuple(dict.fromkeys(score.value for score in scores))

    @property
    def groupable(self) -> tuple[Protected, ...]:
        """The columns that people are grouped by: protected attributes and strata."""
        return (*self.protected, *self.strata)

    @property
    def modelled(self) -> tuple[Protected, ...]:
        """The strata that models make."""
        return tuple(stratum for stratum in self.strata if stratum.model is not None)

    @property
    def side_outcomes(self) -> tuple[Outcome, ...]:
        """The outcomes that side tables need: those of their rates, and those that drop rows."""
        if self.subgroups is None:
            return ()
        of = {self.subgroups.of}
        if any(Requirement.LABEL in rate.requirements for rate in self.subgroups.rates):
            of.add("label")
        return tuple(
            outcome
            for outcome in self.outcomes
            if outcome.has_classes and (outcome.name in of or self._may_drop(outcome))
        )

    def _may_drop(self, outcome: Outcome) -> bool:
        """Whether rows leave the audit for what they have as an outcome."""
        policy = self.missing.label if outcome is self.label else self.missing.prediction
        return outcome.others is OtherValues.DROP or policy is MissingPolicy.DROP

    @property
    def needs_rows(self) -> bool:
        """Whether a metric reads people one by one."""
        return any(request.uses(Requirement.FEATURES) for request in self.requests)

    @property
    def scores_of_rows(self) -> tuple[str, ...]:
        """The columns of the scores that such metrics read."""
        of = {request.of for request in self.requests if request.uses(Requirement.FEATURES)}
        columns = (
            outcome.score.value for outcome in self.outcomes if outcome.name in of and outcome.score
        )
        return tuple(dict.fromkeys(columns))

    def histograms_of(self, outcome: Outcome) -> list[Grouping]:
        """The groupings, strata among them, by which the score of an outcome gets histograms."""
        attributes = [attribute.name for attribute in self.protected]
        groupings = [{name} for name in attributes]
        if self.shows_histogram(outcome):
            # The lattice looks at every subset.
            groupings.append({*attributes})
        for request in self.requests:
            if request.is_of(outcome) and request.uses(Requirement.DISTRIBUTION):
                groupings += [{*by, *given} for given in request.given for by in ((), *request.by)]
        for check in self.checks:
            if isinstance(check, Check) and outcome.name in {check.of, check.against}:
                requirements = list_requirements(check.asked)
                if check.terms.at is not None or Requirement.DISTRIBUTION in requirements:
                    groupings.append({*check.by, *check.given})
        return [
            tuple(column.name for column in self.groupable if column.name in names)
            for names in groupings
        ]

    def shows_histogram(self, outcome: Outcome) -> bool:
        """Whether a metric asks for the histogram of the score of an outcome."""
        return self._uses(outcome, Requirement.DISTRIBUTION)

    def adds_score(self, outcome: Outcome) -> bool:
        """Whether the score of an outcome is added up: where a metric asks, and none has weight."""
        has_score = outcome.score is not None and self.weight is None
        return has_score and self._uses(outcome, Requirement.SCORE)

    def attributes_measured(self, outcome: Outcome) -> tuple[Protected, ...]:
        """The columns whose own numbers are added up for an outcome: those that have bins."""
        if self.weight is not None or not self._uses(outcome, Requirement.NUMERIC_ATTRIBUTE):
            return ()
        return tuple(column for column in self.groupable if column.is_cut)

    @property
    def smoothed(self) -> tuple[tuple[Outcome, Protected], ...]:
        """The outcomes of two classes, and the attributes along whose numbers they are drawn.

        None where small counts are hidden: a local rate is one of few people.
        """
        if self.suppress_below is not None:
            return ()
        return tuple(
            (outcome, attribute)
            for outcome in self.predictions
            if outcome.has_classes and outcome.binary
            for attribute in self.attributes_measured(outcome)
            if attribute in self.protected
        )

    def _uses(self, outcome: Outcome, requirement: Requirement) -> bool:
        """Whether a metric of an outcome is computed from that."""
        return any(
            request.is_of(outcome) and request.uses(requirement) for request in self.requests
        )

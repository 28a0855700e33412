"""`Spec`: an audit spec that was read, and the spec with cuts that are computed from the data.

A cut divides a column of numbers into bins or classes. The q-quantile is the smallest value such
that at least the share q of the people have this value or less. `top: 3%` selects values above the
97 % quantile, so it never selects more than 3 %. A bin begins at its lower quantile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from fairaudit.base.disclosure_marks import Notice, Subjects
from fairaudit.base.errors import FairauditError, Fault, PlanError, SpecError
from fairaudit.base.frozen import Frozen, field, replace
from fairaudit.counting.columns import (
    NO_SIMILARITY,
    CountColumns,
    CsvFormat,
    Cut,
    Derivation,
    MaskedCount,
    Quantile,
    Repeats,
    SimilarityColumns,
)
from fairaudit.cube import ExcludeBelow, Grouping
from fairaudit.judge import AnyCheck, Check
from fairaudit.judge.simpson import ReversalScan
from fairaudit.judge.subgroups import SubgroupSearch
from fairaudit.judge.waivers import Waiver
from fairaudit.metrics import (
    Disparity,
    GroupMetric,
    Metric,
    Requirement,
    TableMetric,
    list_requirements,
)
from fairaudit.metrics.terms import Inference, MetricOptions, Minimum, Reference
from fairaudit.result import Profile
from fairaudit.spec.column_model import Outcome, Protected, Threshold, format_edge, reference_faults
from fairaudit.spec.schema import Expected, Missing, MissingPolicy
from fairaudit.spec.text import LocatedText

RESERVED = frozenset({"label", "prediction", "decision", "all", "each", "full"})
"""Words that have a meaning in a spec, so columns and models cannot have these names."""


class MetricRequest(Frozen):
    """A metric to report: its outcome, groupings and strata.

    `terms` has the reference as the spec writes it. `references` has the resolved reference of each
    grouping. `declared` is the reference that the columns declare, even if the metric ignores it.
    `class_text` and `stratum_texts` are the positive class and the strata with a weight, as the
    spec writes them.
    """

    metric: Metric
    of: str
    by: tuple[Grouping, ...]
    given: tuple[Grouping, ...]
    terms: MetricOptions
    references: Mapping[Grouping, Reference]
    declared: Mapping[Grouping, Reference]
    against: str | None = None
    class_text: LocatedText | None = None
    stratum_texts: tuple[LocatedText, ...] = ()

    def terms_for(self, by: Grouping) -> MetricOptions:
        """The terms with the reference of a grouping."""
        return replace(self.terms, reference=self.references.get(by))

    def in_class(self, name: str | None) -> MetricRequest:
        """The request; if the metric is a mean over classes, the request for the class `name`."""
        if name is None or not isinstance(self.metric, Disparity) or self.metric.per_class is None:
            return self
        terms = replace(self.terms, of_class=name)
        return replace(self, metric=self.metric.per_class, terms=terms)

    def is_of(self, outcome: Outcome) -> bool:
        """Whether the request measures an outcome, or subtracts the outcome from another."""
        return outcome.name in {self.of, self.against}

    def uses(self, requirement: Requirement) -> bool:
        """Whether the metric needs something, such as a label, to be computed."""
        by_threshold = self.terms.at is not None and requirement is Requirement.DISTRIBUTION
        return by_threshold or requirement in list_requirements(self.metric)

    @property
    def options(self) -> dict[str, object]:
        """The options of an entry by name, except its measure, outcome and groups."""
        terms = self.terms
        words: dict[str, object] = terms.parameters.as_values()
        if terms.average is not None:
            levels = {name: float(weight) for name, weight in terms.average.levels.items()}
            words["average"] = levels or str(terms.average)
        aggregate, of_class = None, terms.of_class
        if isinstance(self.metric, Disparity):
            aggregate = self.metric.over_groups
            of_class = of_class if self.metric.per_class is None else "macro"
        texts = {
            "class": of_class,
            "against": self.against,
            "aggregate": aggregate and str(aggregate),
        }
        words |= {name: text for name, text in texts.items() if text is not None}
        return words if terms.at is None else {**words, "at": float(terms.at)}

    def options_of(self, part: GroupMetric | TableMetric) -> dict[str, object]:
        """The options that apply to one rate, for the rows of this rate in a report."""
        parameters = {*self.terms.parameters.as_texts()} - {*part.parameters}
        others = {"against", "aggregate", *parameters}
        return {name: value for name, value in self.options.items() if name not in others}


class Spec(Frozen):
    """An audit spec that was read, with all defaults.

    `predictions` are the prediction or decision, the models, or only a score; `numbers` are further
    numeric outcomes. `features` are columns for `subgroups`, and `similarity` the columns that
    define similar people. `suppress_below` is the minimum count of people in reports. `stages` are
    the stages of a process, in order. `may_repeat_files` allows files with identical content.
    `pooled` is the stratum whose small levels `--for-each` audits together. `is_level` is True if
    the filter selects a level of `--for-each`. `references` are the levels that entries name as
    references, each with the attributes that may have this level. `places` maps each column
    name to its places in the spec.
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
    count: LocatedText | None
    weight: LocatedText | None
    cluster: LocatedText | None
    sample_strata: LocatedText | None
    format: CsvFormat
    missing: Missing
    filter: LocatedText | None
    minimum: Minimum
    exclude_below: ExcludeBelow | None
    expected: Expected
    inference: Inference
    requests: tuple[MetricRequest, ...]
    checks: tuple[AnyCheck, ...]
    simpson: ReversalScan | None
    stages: tuple[str, ...] = ()
    subgroups: SubgroupSearch | None = None
    repeats: Repeats | None = None
    features: tuple[Protected, ...] = ()
    similarity: SimilarityColumns = NO_SIMILARITY
    suppress_below: int | None = None
    may_repeat_files: bool = False
    notices: tuple[Notice, ...] = ()
    waivers: tuple[Waiver, ...] = ()
    draws: str | None = None
    flags: str | None = None
    describe: bool = False
    profiles: tuple[Profile, ...] = ()
    references: tuple[tuple[tuple[str, ...], LocatedText], ...] = ()
    settings: tuple[str, ...] = ()
    pooled: str | None = None
    is_level: bool = False
    places: Mapping[str, tuple[LocatedText, ...]] = field(default_factory=dict)

    def locate(self, error: FairauditError) -> FairauditError:
        """The error; a `PlanError` becomes a `SpecError` whose faults have places in the spec."""
        if not isinstance(error, PlanError):
            return error
        faults: list[Fault] = []
        for fault in error.plan_faults:
            texts = (self.filter,) if fault.column is None else self.places.get(fault.column, ())
            placed = [text.fault(fault.message) for text in texts if text is not None]
            faults += placed or [Fault(fault.message)]
        located = SpecError(faults)
        located.__cause__ = error.__cause__
        return located

    @property
    def derivations(self) -> tuple[Derivation, ...]:
        """The columns that are computed from columns of the data, without repeats."""
        derivations = [
            attribute.derivation
            for attribute in (*self.protected, *self.strata, *self.features)
            if attribute.derivation is not None
        ]
        return tuple({derivation.name: derivation for derivation in derivations}.values())

    @property
    def counts(self) -> CountColumns | None:
        """The columns of counts, if an outcome has them."""
        return next((o.counts for o in self.outcomes if o.counts is not None), None)

    @property
    def masked(self) -> tuple[MaskedCount, ...]:
        """The texts that hide a count, with the bounds of this count."""
        return tuple(MaskedCount(text, *ends) for text, ends in self.missing.masked.items())

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """The label, the predictions and the numbers."""
        label = () if self.label is None else (self.label,)
        return (*label, *self.predictions, *self.numbers)

    @property
    def score_columns(self) -> tuple[str, ...]:
        """The columns of scores without repeats; empty with survey weights."""
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
        """The strata that a model makes."""
        return tuple(stratum for stratum in self.strata if stratum.model is not None)

    @property
    def side_outcomes(self) -> tuple[Outcome, ...]:
        """The outcomes for tables of subgroups: of their rates, and outcomes that drop rows."""
        if self.subgroups is None:
            return ()
        of = {self.subgroups.of}
        if any(Requirement.LABEL in rate.requirements for rate in self.subgroups.rates):
            of.add("label")
        rules = self.missing
        for outcome in self.outcomes:
            policy = rules.label if outcome is self.label else rules.prediction
            if outcome.others == "drop" or policy is MissingPolicy.DROP:
                of.add(outcome.name)
        return tuple(one for one in self.outcomes if one.has_classes and one.name in of)

    @property
    def needs_rows(self) -> bool:
        """Whether a metric reads people one by one."""
        return any(request.uses(Requirement.FEATURES) for request in self.requests)

    @property
    def scores_of_rows(self) -> tuple[str, ...]:
        """The columns of the scores that metrics of individual people read."""
        of = {request.of for request in self.requests if request.uses(Requirement.FEATURES)}
        columns = (
            outcome.score.value for outcome in self.outcomes if outcome.name in of and outcome.score
        )
        return tuple(dict.fromkeys(columns))

    def histograms_of(self, outcome: Outcome) -> list[Grouping]:
        """The groupings by which the score of an outcome is counted in histograms."""
        attributes = [attribute.name for attribute in self.protected]
        groupings = [{name} for name in attributes]
        if self.suppress_below is not None:
            # One table of all columns, since suppression does not cover several tables.
            return [tuple(column.name for column in self.groupable)]
        if self.uses_for(outcome, Requirement.DISTRIBUTION):
            # The lattice needs the groups by all attributes together.
            groupings.append({*attributes})
        for request in self.requests:
            if request.is_of(outcome) and request.uses(Requirement.DISTRIBUTION):
                groupings += [{*by, *given} for given in request.given for by in ((), *request.by)]
        for check in self.checks:
            if isinstance(check, Check) and outcome.name in {check.of, check.against}:
                requirements = list_requirements(check.metric)
                if check.terms.at is not None or Requirement.DISTRIBUTION in requirements:
                    groupings.append({*check.by, *check.given})
        return [
            tuple(column.name for column in self.groupable if column.name in names)
            for names in groupings
        ]

    def adds_score(self, outcome: Outcome) -> bool:
        """Whether scores of an outcome are added up: a metric needs sums, without weights."""
        has_score = outcome.score is not None and self.weight is None
        return has_score and self.uses_for(outcome, Requirement.SCORE)

    def attributes_measured(self, outcome: Outcome) -> tuple[Protected, ...]:
        """The binned columns whose numbers are added up for metrics of an outcome."""
        if self.weight is not None or not self.uses_for(outcome, Requirement.NUMERIC_ATTRIBUTE):
            return ()
        return tuple(column for column in self.groupable if column.is_cut)

    @property
    def smoothed(self) -> tuple[tuple[Outcome, Protected], ...]:
        """The outcomes whose rate is drawn as a curve, each with a numeric attribute (the x-axis).

        No curve is drawn if small counts are hidden, because its points describe few people.
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

    def uses_for(self, outcome: Outcome, requirement: Requirement) -> bool:
        """Whether a metric of an outcome needs something, such as a label."""
        return any(
            request.is_of(outcome) and request.uses(requirement) for request in self.requests
        )


def needed_quantiles(spec: Spec) -> tuple[Quantile, ...]:
    """The quantiles that must be found before the people can be counted."""
    quantiles = [
        (outcome.column.value, share)
        for outcome in spec.outcomes
        if (share := _share_of(outcome)) is not None
    ]
    quantiles += [
        (column.column.value, share) for column in _binnable(spec) for share in _shares(column)
    ]
    return tuple(dict.fromkeys(quantiles))


def apply_cuts(spec: Spec, cuts: Mapping[Quantile, Cut]) -> Spec:
    """The spec with cuts in place of shares, and with notices about the cuts.

    Raises `SpecError` if a reference is not one of the resulting bins.
    """

    def with_cut(outcome: Outcome) -> Outcome:
        share = _share_of(outcome)
        if share is None:
            return outcome
        return replace(outcome, threshold=Threshold(above=cuts[outcome.column.value, share].edge))

    def with_bins(column: Protected) -> Protected:
        if not column.quantiles:
            return column
        edges = {cuts[column.column.value, share].edge for share in _shares(column)}
        return replace(column, bins=tuple(sorted(edges)), quantiles=None)

    derived = replace(
        spec,
        label=spec.label and with_cut(spec.label),
        predictions=tuple(map(with_cut, spec.predictions)),
        protected=tuple(map(with_bins, spec.protected)),
        strata=tuple(map(with_bins, spec.strata)),
        features=tuple(map(with_bins, spec.features)),
        notices=(*spec.notices, *_notice_cuts(spec, cuts)),
    )
    faults = [fault for column in derived.protected for fault in reference_faults(column)]
    if faults:
        raise SpecError(faults)
    return derived


def _notice_cuts(spec: Spec, cuts: Mapping[Quantile, Cut]) -> Iterator[Notice]:
    """Notices of cuts, and of quantiles that make fewer bins than the spec asks for.

    A cut is never published, because it is the score of one person.
    """
    for outcome in spec.outcomes:
        share = _share_of(outcome)
        if share is not None:
            name, cut = outcome.column.value, cuts[outcome.column.value, share]
            top = f"for the top {float(100 * (1 - share)):g}%"
            what = "the median" if share == Fraction(1, 2) else top
            yield Notice(
                f"{outcome.name}: the cut is {format_edge(cut.edge)}, {what} of {name}: "
                f"{cut.above:,} above, {cut.at:,} at it, {cut.below:,} below",
                Subjects.NEVER,
            )
    for column in _binnable(spec):
        edges = {cuts[column.column.value, share] for share in _shares(column)}
        number = len(edges) + all(edge.below for edge in edges)
        if column.quantiles and number < column.quantiles:
            bins = "1 bin" if number == 1 else f"{number} bins"
            yield Notice(
                f"{column.name}: {column.quantiles} quantiles of {column.column.value} make only "
                f"{bins} with people: too many have the same number",
                Subjects.NOBODY,
            )


def _binnable(spec: Spec) -> tuple[Protected, ...]:
    return (*spec.groupable, *spec.features)


def _share_of(outcome: Outcome) -> Fraction | None:
    return None if outcome.threshold is None else outcome.threshold.beyond


def _shares(column: Protected) -> list[Fraction]:
    """The shares at which the quantiles of a column cut it."""
    parts = column.quantiles or 1
    return [Fraction(part, parts) for part in range(1, parts)]


def spec_to_fit(spec: Spec) -> Spec:
    """The spec for fitting models to all audited people; it has no metrics and no checks."""
    strata = tuple(stratum for stratum in spec.strata if stratum.model is None)
    return replace(
        spec, strata=strata, features=(), subgroups=None, requests=(), checks=(), simpson=None
    )

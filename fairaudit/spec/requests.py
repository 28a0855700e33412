"""Reads the options of an entry of `metrics`: groups, reference, average, class, parameters."""

from __future__ import annotations

from collections.abc import Sequence

from fairaudit.base.errors import did_you_mean, suggest_known
from fairaudit.base.frozen import field_names
from fairaudit.cube import MOST_ATTRIBUTES, Grouping, every_subset
from fairaudit.metrics import (
    Disparity,
    GroupMetric,
    PeopleCount,
    Requirement,
    TableMetric,
    find_metric,
)
from fairaudit.metrics.inequality import ATKINSON
from fairaudit.metrics.share_models import DIFFERENTIAL_FAIRNESS_CREDIBLE
from fairaudit.metrics.terms import (
    EXTREME_REFERENCES,
    INCLUDING_GROUP,
    NO_MINIMUM,
    OF_TWO_SIDES,
    Average,
    MetricOptions,
    Parameters,
    Reference,
    ReferencePolicy,
    Weights,
)
from fairaudit.spec.column_model import OutcomeKind, value_of
from fairaudit.spec.entries import MACRO, Entry, find_unmet
from fairaudit.spec.model import MetricRequest
from fairaudit.spec.text import UNWRITTEN, SpecReader

_MOST_THRESHOLDS = 100
_COMPARISONS = {"difference", "ratio", "gap", "min_ratio", "log_ratio"}
_COMBINED = ("compare", "average", "aggregate", "of_class", "against", "at")
"""Keys that measures of individuals do not support."""


def read_metric_request(entry: Entry, of: str, parameters: Parameters) -> MetricRequest:
    """The request of an entry for an outcome, with its groups, strata and options."""
    context = entry.context
    by = _read_by(entry)
    given: tuple[Grouping, ...] = ((),)
    if entry.shape.given is not None:
        given = context.columns.given(entry.shape.given, (), entry.reader_at("given"))
    reference = _read_reference(entry)
    subsets: Sequence[Grouping] = by
    if len(context.columns.attributes) <= MOST_ATTRIBUTES:
        subsets = every_subset(context.columns.attributes)
    average, class_text = _read_average(entry), None
    outcome, of_class = context.outcomes.get(of), entry.shape.of_class
    if of_class is not None and outcome is not None:
        if outcome.kind is OutcomeKind.NUMBER:
            entry.fault("class", f"{of} is a number and has no classes", key=True)
        if entry.shape.at is not None:
            entry.fault("class", "a score with a threshold has no classes", key=True)
        elif of_class != MACRO and outcome.threshold is not None:
            entry.fault("class", f"{of} has a threshold, so it has no classes", key=True)
        if of_class != MACRO or entry.shape.at is not None:
            class_text = context.reader.text((*entry.path, "class"), of_class)
    minimum = context.shape.groups.minimum
    if isinstance(entry.metric, PeopleCount):
        minimum = NO_MINIMUM  # small groups are judged, too
    return MetricRequest(
        metric=entry.metric,
        of=of,
        by=by,
        given=given,
        terms=MetricOptions(
            reference,
            minimum,
            parameters,
            average,
            value_of(class_text),
            inference=context.shape.inference,
        ),
        references=_resolve_each(entry, reference, subsets),
        declared=_resolve_each(entry, Reference(ReferencePolicy.DECLARED), subsets),
        against=_read_against(entry, of),
        class_text=class_text,
        stratum_texts=tuple(
            context.reader.text((*entry.path, "average", name), name, key=True)
            for name in entry.shape.average or ()
            if not name.startswith(UNWRITTEN)
        ),
    )


def _read_by(entry: Entry) -> tuple[Grouping, ...]:
    context, by = entry.context, entry.shape.by
    is_named = context.reader.is_written("groups", "by")
    at = context.reader.at(*(("groups", "by") if is_named else ("columns", "protected")))
    if by is not None:
        at = entry.reader_at("by")
    groupings = context.shape.groups.by if by is None else by
    if Requirement.NUMERIC_ATTRIBUTE in entry.metric.requirements:
        numeric = context.numeric_attributes
        if not numeric:
            what = f"{entry.metric.id} needs a protected column with `bins` or `quantiles`"
            entry.fault("metric", what)
        if by is not None and any(grouping not in numeric for grouping in by):
            entry.fault("by", f"{entry.metric.id} needs a single column of numbers")
        groupings = by or numeric
    return context.columns.by(groupings, at)


def _resolve_each(
    entry: Entry, reference: Reference | None, groupings: Sequence[Grouping]
) -> dict[Grouping, Reference]:
    resolved = {by: entry.context.resolve(reference, by) for by in groupings}
    return {by: group for by, group in resolved.items() if group is not None}


def _read_reference(entry: Entry) -> Reference | None:
    """The reference as the spec writes it; None if the metric does not use a reference."""
    metric, reference = entry.metric, entry.shape.reference
    takes = isinstance(metric, Disparity) and metric.to_reference
    fixed = isinstance(metric, Disparity) and metric.reference is not None
    if reference is None:
        return Reference(ReferencePolicy.DECLARED) if takes and not fixed else None
    if not takes:
        what = f"{metric.id} cannot have a reference"
        if isinstance(metric, Disparity) and entry.shape.compare is not None:
            what += f": {entry.shape.compare} compares the highest with the lowest group; only "
            what += "`difference` and `ratio` use a reference"
        elif isinstance(metric, GroupMetric):
            what += ": write `compare: difference` or `compare: ratio`, too"
        entry.fault("reference", what, key=True)
    elif fixed:
        entry.fault(
            "reference",
            f"{metric.id} always compares with the highest group: remove `reference`",
            key=True,
        )
    word = entry.reference_word
    if word is None:
        known = entry.context.columns.attributes
        for name in [name for name in reference if name not in known]:
            message = f"no protected column {name!r}{did_you_mean(name, known)}"
            entry.context.reader.fault((*entry.path, "reference", name), message, key=True)
        return Reference(ReferencePolicy.LEVEL, tuple(reference.items()))
    if entry.reference_policy is not None:
        return Reference(entry.reference_policy)
    return Reference(ReferencePolicy.LEVEL, (("", word),))


def _read_average(entry: Entry) -> Average | None:
    """How an entry is averaged over its strata; None if each stratum is judged separately."""
    metric, average = entry.metric, entry.shape.average
    if average is None:
        return None

    def fault(message: str) -> None:
        entry.fault("average", message, key=True)

    if entry.shape.given is None:
        fault("an average needs strata: add `given:`")
    if isinstance(metric, TableMetric):
        fault(f"{metric.id} is not a rate and cannot be averaged: remove `average`")
        return None
    if isinstance(metric, Disparity):
        if metric.comparison.exact_in_strata is not None:
            fault(f"{metric.id} already defines the weights of strata: remove `average`")
            return None
        contrasts = [comparison.id for _, comparison in metric.parts if comparison.contrast]
        if contrasts:
            what = f"{contrasts[0]} cannot be computed from averages over strata"
            fault(f"{what}: remove `average`")
        if len(metric.averages) > 1:
            fault(f"{metric.id} already defines its average: remove `average`")
    (word, *_), weights = average, average.values()
    if not word.startswith(UNWRITTEN):
        if any(weight < 0 for weight in weights) or not any(weights):
            entry.fault("average", "weights must not be negative, and at least one must be above 0")
        return Average(Weights.LEVELS, dict(average))
    rule = Weights(word[1:])
    if rule in OF_TWO_SIDES:
        _refuse_weights_of_two_sides(entry)
    return Average(rule)


def _refuse_weights_of_two_sides(entry: Entry) -> None:
    """Adds a fault if the weights depend on a reference that is not known in advance."""
    metric = entry.metric
    if not isinstance(metric, Disparity) or not metric.to_reference:
        what = f"{metric.id} has no reference to define the weights"
        entry.fault("average", f"{what}: use pooled or uniform")
        return
    policy = metric.reference or entry.reference_policy
    if policy in EXTREME_REFERENCES:
        what = f"the {policy} group depends on the averages, so it cannot define the weights"
        entry.fault("average", f"{what}: use pooled or uniform")


def _read_against(entry: Entry, of: str) -> str | None:
    """The outcome whose value is subtracted; None without `against`."""
    other, outcomes = entry.shape.against, entry.context.outcomes
    if other is None:
        return None
    if other not in outcomes:
        entry.fault("against", f"unknown outcome: {other!r}{suggest_known(other, outcomes)}")
        return None
    if other == of:
        entry.fault("against", "`against` must differ from `of`")
    elif why := find_unmet(entry.metric, other, outcomes):
        entry.fault("against", why)
    elif Requirement.SCORE in entry.requirements:
        scores = [outcomes[name].score for name in (of, other)]
        if (scores[0] is None) is not (scores[1] is None):
            what = f"{entry.metric.id} uses the score, but only one of the two models has a score"
            entry.fault("against", what)
    return other


def read_parameters(entry: Entry) -> Parameters:
    """The parameters of the metric; adds faults of parameters."""
    shape, metric = entry.shape, entry.metric
    own = {key: getattr(shape, key) for key in field_names(Parameters)}
    own["utilities"] = utilities = tuple((shape.utilities or {}).items())
    parameters = Parameters(**{**own, "controls": _read_controls(entry)})
    for key in parameters.as_texts():
        if key not in metric.parameters:
            entry.fault(key, f"{metric.id} has no parameter `{key}`: remove it", key=True)
    for key in ("smoothing", "concentration"):
        value = getattr(shape, key)
        if value is not None and value < 0:
            entry.fault(key, f"`{key}` must be 0 or more")
        elif value == 0 and metric is DIFFERENTIAL_FAIRNESS_CREDIBLE:
            entry.fault(key, f"a credible region needs `{key}` above 0")
    if metric is ATKINSON and shape.alpha is not None and shape.alpha < 0:
        entry.fault("alpha", "`alpha` must be 0 or more")
    if shape.at == []:
        entry.fault("at", "name at least one threshold")
    if shape.at and len(shape.at) > _MOST_THRESHOLDS:
        what = f"`at` has {len(shape.at):,} thresholds, and the maximum is {_MOST_THRESHOLDS}"
        entry.fault("at", f"{what}: use fewer; the report shows the whole curve of a score")
    if shape.smoothing is not None and shape.concentration is not None:
        entry.fault("concentration", "use either `smoothing` or `concentration`, not both")
    if parameters.towards and not parameters.per_outcome(1):
        entry.fault("towards", "`towards` needs the number of people to add: add `smoothing: 1`")
    if "utilities" in metric.parameters and {cell for cell, _ in utilities} != {
        "tp",
        "fp",
        "fn",
        "tn",
    }:
        what = f"{metric.id} needs four utilities: `utilities: {{tp: 1, fp: 0, fn: -1, tn: 0}}`"
        entry.fault("metric", what)
    return parameters


def _read_controls(entry: Entry) -> Grouping:
    """The columns that a regression holds fixed, in the order of the spec."""
    context, shape = entry.context, entry.shape
    known = (*context.columns.attributes, *context.columns.factors)
    controls, at = shape.controls or [], entry.reader_at("controls")
    # Other functions report the faults of `by`.
    groupings = context.columns.by(shape.by or [["each"]], SpecReader(context.reader.document))
    if shape.controls == []:
        entry.fault("controls", "name at least one column or remove the key")
    for number, name in enumerate(controls):
        if name in context.outcomes and context.outcomes[name].kind is OutcomeKind.NUMBER:
            what = f"{name!r} is a number: add it to columns.strata with `bins` or `quantiles`"
            at.fault((number,), what)
        elif name not in known:
            where = "`columns.protected` or `columns.strata`"
            at.fault((number,), f"{name!r} is not declared in {where}{suggest_known(name, known)}")
        elif controls.index(name) < number:
            at.fault((number,), f"{name!r} is listed twice")
        elif shape.by is not None and any(name in grouping for grouping in groupings):
            at.fault((number,), f"{name!r} is also in `by`: a controlled column is not compared")
    if shape.by is None and all(set(grouping) & set(controls) for grouping in groupings):
        what = "`controls` has all protected columns, so no column is left to compare"
        entry.fault("controls", f"{what}: remove one column")
    return tuple(name for name in known if name in controls)


def refuse_people_count(entry: Entry) -> None:
    """Adds the faults of an entry that counts people."""
    if not isinstance(find_metric(entry.shape.metric), PeopleCount):
        return
    shape, name = entry.shape, entry.metric.id
    if shape.compare is not None and shape.compare not in _COMPARISONS:
        what = f"{name} is a count, and {shape.compare} compares shares or means"
        entry.fault("compare", f"{what}: use difference, ratio, gap or min_ratio")
    if shape.average is not None:
        entry.fault("average", f"{name} is a count: remove `given` to count all strata", key=True)
    if shape.of_class == "macro":
        entry.fault(
            "class", f"{name} is a count and has no mean over classes: name one class", key=True
        )
    # A verdict could reveal a hidden count.
    fewest = entry.context.shape.suppress_below
    if fewest is None:
        return
    for side, limit in entry.shape.limits.items():
        bounds = [bound for bound in (limit.below, limit.above) if bound is not None]
        if not isinstance(entry.metric, PeopleCount) or entry.shape.against is not None:
            what = f"a limit on a comparison of {name} reveals counts that `suppress_below` hides"
            entry.fault(side, f"{what}: remove the limit")
        elif any(bound < fewest for bound in bounds):
            what = f"a limit below {fewest} people reveals counts that `suppress_below` hides"
            entry.fault(side, f"{what}: use at least {fewest}")


def refuse_row_measure(entry: Entry) -> None:
    """Adds the faults of an entry whose metric is a measure of individuals."""
    if Requirement.FEATURES not in entry.requirements:
        return
    shape, name = entry.context.shape, entry.metric.id
    if not entry.context.columns.similarity.columns:
        what = f"{name} compares people by features: add the features to `columns`"
        entry.fault("metric", f"{what}, `features: {{numeric: […], categorical: […]}}`")
    if shape.columns.weight is not None:
        what = f"{name} does not support survey weights"
        entry.fault("metric", f"{what}: remove `weight`, or the metric")
    if shape.columns.has_counts:
        key = "counts" if shape.columns.count is None else "count"
        what = f"{name} compares individuals, but each row of the data counts several people"
        entry.fault("metric", f"{what}: remove `{key}`, or the metric")
    if shape.suppress_below is not None:
        what = f"{name} is computed from individuals, so small counts cannot be hidden in it"
        entry.fault("metric", f"{what}: remove `suppress_below`, or the metric")
    for key in _COMBINED:
        if getattr(entry.shape, key) is not None:
            word = "class" if key == "of_class" else key
            what = f"{name} is a measure of individuals and cannot have `{word}`"
            entry.fault(word, what, key=True)
    if entry.reference_policy in INCLUDING_GROUP | EXTREME_REFERENCES:
        what = f"{name} compares with one group or with the `rest`: change the reference"
        entry.fault("reference", what, key=True)
    k, t, lipschitz = entry.shape.k, entry.shape.t, entry.shape.lipschitz
    if k is not None and k < 1:
        entry.fault("k", "`k`, the number of neighbours, must be at least 1")
    if t is not None and not 0 < t <= 1:
        entry.fault("t", "`t` must be above 0 and at most 1")
    if lipschitz is not None and lipschitz <= 0:
        entry.fault("lipschitz", "`lipschitz` must be above 0")

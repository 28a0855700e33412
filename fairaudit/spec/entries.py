"""`Entry` of `metrics`: its metric, its outcome, and faults if the spec lacks what it needs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from fairaudit.base.errors import suggest_known
from fairaudit.base.frozen import Frozen, replace
from fairaudit.cube import Grouping
from fairaudit.judge.checks import LimitQuotes
from fairaudit.metrics import (
    Disparity,
    GroupMetric,
    Metric,
    Rate,
    Requirement,
    average_classes,
    build_disparity,
    find_comparison,
    find_metric,
    list_requirements,
)
from fairaudit.metrics.comparisons import STANDARDIZED_DIFFERENCE, STANDARDIZED_DIFFERENCE_TOTAL
from fairaudit.metrics.conditional import PROPENSITY_STRATIFIED_DIFFERENCE
from fairaudit.metrics.means_and_errors import FirstOf
from fairaudit.metrics.pair_intervals import Scale
from fairaudit.metrics.share_models import MODELS, is_pooled
from fairaudit.metrics.terms import SINGLE_REFERENCES, Reference, ReferencePolicy
from fairaudit.spec import key_schema, schema
from fairaudit.spec.column_model import Outcome, OutcomeKind, PropensityStrata
from fairaudit.spec.columns import Columns
from fairaudit.spec.text import Document, Path, SpecReader

_OF_LABEL = {Requirement.LABEL, Requirement.NUMERIC_LABEL}
_FARTHEST = {"difference": "gap", "ratio": "min_ratio"}
_CLASSES = {Requirement.LABEL, Requirement.PREDICTION, Requirement.CLASSES}

MACRO = "macro"
"""The value of `class` that asks for the mean over all classes."""


class Context(Frozen, dict=True):
    """The parts of the spec that all entries of `metrics` share."""

    reader: SpecReader
    shape: schema.AuditSpec
    columns: Columns

    @cached_property
    def outcomes(self) -> Mapping[str, Outcome]:
        """The outcomes by name."""
        return self.columns.outcomes

    @property
    def has_numbers(self) -> bool:
        """Whether any outcome has a score or is a number."""
        return any(one.score or one.kind is OutcomeKind.NUMBER for one in self.outcomes.values())

    @property
    def is_weighted(self) -> bool:
        """Whether the rows are a weighted sample."""
        return self.shape.columns.weight is not None

    @property
    def numeric_attributes(self) -> list[list[str]]:
        """Each protected attribute that is a number, as a grouping."""
        return [[attribute.name] for attribute in self.columns.protected if attribute.is_cut]

    def resolve(self, reference: Reference | None, by: Grouping) -> Reference | None:
        """The reference for a grouping; None if it does not name a group of that grouping."""
        named_policies = {ReferencePolicy.DECLARED, ReferencePolicy.LEVEL}
        if reference is None or reference.policy not in named_policies:
            return reference
        if reference.policy is ReferencePolicy.DECLARED:
            levels = self.columns.references
        else:
            levels = dict(reference.group)
            if set(levels) == {""}:
                levels = {by[0]: levels[""]} if len(by) == 1 else {}
        if not set(by) <= set(levels):
            return None
        return replace(reference, group=tuple((name, levels[name]) for name in by))


class Entry(Frozen):
    """An entry of `metrics` with its path and its metric."""

    context: Context
    path: Path
    shape: key_schema.Metric
    metric: Metric

    def fault(self, name: str, message: str, *, key: bool = False) -> None:
        """Adds a fault of the key `name`. With `key`, it points at the key, not at the value."""
        self.reader_at().fault((name,), message, key=key)

    def reader_at(self, *steps: str) -> SpecReader:
        """The reader of a part of the entry."""
        return self.context.reader.at(*self.path, *steps)

    @property
    def requirements(self) -> frozenset[Requirement]:
        """The requirements of the metric and its parts."""
        return list_requirements(self.metric)

    @property
    def reference_word(self) -> str | None:
        """The word that names the reference (a policy or a level), if it is a single word."""
        return (self.shape.reference or {}).get("")

    @property
    def reference_policy(self) -> ReferencePolicy | None:
        """The policy of the reference, if the entry names a policy."""
        word = self.reference_word
        return ReferencePolicy(word) if word in key_schema.REFERENCES else None

    def explain_unmet(self, of: str) -> str | None:
        """Why the metric cannot be computed for an outcome; None if it can be computed."""
        context, metric = self.context, self.metric
        if self.shape.at is None:
            one_class = self.shape.of_class is not None
            return find_unmet(metric, of, context.outcomes, one_class=one_class)
        if not self.requirements <= _CLASSES:
            return f"{metric.id} cannot be computed at a threshold of the score: remove `at`"
        if context.outcomes[of].score is None:
            return f"{metric.id} at a threshold needs a score, and {of} does not have a score"
        if context.is_weighted:
            return f"{metric.id} at a threshold does not support weights: remove `weight` or `at`"
        if context.shape.columns.cluster is not None or context.shape.design is not None:
            return f"{metric.id} at a threshold does not support clusters: remove `cluster` or `at`"
        labels = metric.requirements & {Requirement.LABEL}
        if _unmet(labels, of, context.outcomes, one_class=False):
            return f"{metric.id} needs a label of two classes: name it in `columns`"
        return None


def read_entry(context: Context, path: Path, shape: key_schema.Metric) -> Entry | None:
    """An entry with its metric or comparison. If it has a fault, adds the fault; returns None."""
    reader, metric = context.reader.at(*path), find_metric(shape.metric)
    if metric is None:
        return None
    if shape.model is not None:
        modelled = MODELS[shape.model].get(metric.id)
        if modelled is None:
            what = f"{metric.id} has no {shape.model} model: remove `model`"
            reader.fault(("model",), what, key=True)
            return None
        metric = modelled
    if shape.sd is not None and shape.compare is None:
        reader.fault(("sd",), f"{metric.id} cannot be combined with `sd`", key=True)
    compared = metric if shape.compare is None else _read_disparity(reader, shape, metric)
    if compared is None:
        return None
    if shape.of_class == MACRO:
        mean = average_classes(compared)
        if mean is None:
            what = f"{metric.id} has no mean over classes: remove `class` or name one class"
            reader.fault(("class",), what, key=True)
        compared = mean or compared
    if shape.aggregate is not None:
        if not isinstance(compared, Disparity) or not compared.to_reference:
            what = f"{compared.id} already is a single value: remove `aggregate`"
            if isinstance(compared, GroupMetric):
                what = (
                    f"{compared.id} is not a comparison: add `compare: difference` or "
                    "`compare: ratio`"
                )
            reader.fault(("aggregate",), what, key=True)
            return None
        compared = replace(compared, over_groups=shape.aggregate)
    return Entry(context, path, shape, compared)


def _read_disparity(
    reader: SpecReader, shape: key_schema.Metric, metric: Metric
) -> Disparity | None:
    """The disparity that `compare` makes of a group metric; None after adding a fault."""
    comparison = find_comparison(shape.compare or "")
    if isinstance(metric, GroupMetric) and metric.conditional:
        what = f"{metric.id} describes the people of a stratum, so it cannot be compared"
        reader.fault(("compare",), f"{what}: remove `compare`")
        return None
    if isinstance(metric, GroupMetric) and metric.instead:
        what = f"{metric.id} grows with the size of a group, so groups cannot be compared by it"
        reader.fault(("compare",), f"{what}: compare {metric.instead}")
        return None
    if shape.sd is not None and comparison is not STANDARDIZED_DIFFERENCE:
        reader.fault(("sd",), f"{shape.compare} cannot be combined with `sd`", key=True)
    elif shape.sd == "total":
        comparison = STANDARDIZED_DIFFERENCE_TOTAL
    if not isinstance(metric, GroupMetric) or comparison is None:
        reader.fault(("compare",), f"{metric.id} is already a comparison: remove `compare`")
        return None
    if isinstance(metric, Rate) and metric.is_odds and comparison.scale is Scale.ODDS:
        what = f"{metric.id} gives odds, but {shape.compare} needs shares: write `ratio`"
        reader.fault(("compare",), what)
        return None
    return build_disparity(metric, comparison)


def choose_numeric(entry: Entry, of: str | None) -> Entry:
    """The entry; for a numeric outcome, with the variant of its metric for numbers."""
    metric = entry.metric
    is_number = of is not None and entry.context.outcomes[of].kind is OutcomeKind.NUMBER
    if not is_number or not isinstance(metric, Disparity) or not metric.of_numbers:
        return entry
    numeric = find_metric(metric.of_numbers)
    assert isinstance(numeric, Disparity)
    return replace(entry, metric=replace(numeric, over_groups=metric.over_groups))


def quote_limits(document: Document, path: Path) -> LimitQuotes:
    """The lines of an entry that set its limits, with the position of each bound."""
    keys = ("below", "above", "outside", "kind")
    warn, fail = (document.quote((*path, side), keys) for side in ("warn", "fail"))
    return LimitQuotes(warn, fail)


def refuse_unmet(entry: Entry, of: str | None) -> None:
    """Adds faults if the spec lacks something that the metric needs, or excludes the metric."""
    context, metric = entry.context, entry.metric
    if of is not None and (why := entry.explain_unmet(of)):
        entry.fault("metric", why)
    if of is not None and context.is_weighted and adds_up(entry, of):
        what = f"{metric.id} adds up numbers, which is not supported with survey weights"
        entry.fault("metric", f"{what}: remove `weight`, or the metric")
    if isinstance(metric, Disparity) and metric.fitted:
        for key in ("given", "average"):
            if getattr(entry.shape, key) is not None:
                what = f"{metric.id} uses `controls` instead of `{key}`: remove `{key}`"
                entry.fault(key, what, key=True)
        if entry.shape.of_class == MACRO:
            entry.fault("class", f"{metric.id} needs a single class, not `macro`", key=True)
        if context.is_weighted:
            what = f"{metric.id} has no standard error with survey weights"
            entry.fault("metric", f"{what}: remove `weight`, or the metric")
        if entry.reference_policy not in {None, *SINGLE_REFERENCES}:
            what = f"{metric.id} compares with one group: name a level, or use `largest`"
            entry.fault("reference", what)
    if Requirement.DRAWS in entry.requirements and entry.shape.given is not None:
        what = f"{metric.id}: posterior draws cannot be combined with strata: remove `given`"
        entry.fault("given", what, key=True)
    is_modelled = is_pooled(metric) or Requirement.DRAWS in entry.requirements
    if context.shape.suppress_below is not None and is_modelled:
        what = f"{metric.id} comes from a model of all groups, including hidden groups"
        entry.fault("metric", f"{what}: remove `suppress_below`, or the model")
    if metric.conditional and entry.shape.given is None:
        entry.fault("metric", f"{metric.id} compares within strata: add `given:`")


def refuse_reference(entry: Entry, by: Grouping) -> None:
    """Adds the fault of a comparison that has no reference for the groups by some columns."""
    name = " and ".join(by)
    if entry.shape.reference is not None:
        message = f"this reference is not a group by {name}: write `{{column: level, …}}`"
        entry.fault("reference", message)
        return
    protected = entry.context.columns.protected
    undeclared = {column.name for column in protected if column.reference is None}
    missing = next(column for column in by if column in undeclared)
    compare = entry.shape.compare
    ways = [
        f"declare `reference:` in columns.protected.{missing}",
        "write `reference: rest` in this entry (or largest, highest, overall …)",
    ]
    if compare in _FARTHEST:
        ways.insert(0, f"write `compare: {_FARTHEST[compare]}` for the two groups farthest apart")
    what = f"`{compare}`" if compare in _FARTHEST else entry.shape.metric
    entry.fault(
        "compare" if compare in _FARTHEST else "metric",
        f"{what} needs a reference for {name}: {', '.join(ways[:-1])}, or {ways[-1]}",
    )


def adds_up(entry: Entry, of: str) -> bool:
    """Whether the metric needs sums of numbers."""
    has_score = entry.context.outcomes[of].score is not None
    needs = entry.requirements
    adds_up = needs & {Requirement.NUMERIC_ATTRIBUTE, Requirement.ORDER}
    return bool(adds_up) or (Requirement.SCORE in needs and has_score)


def refuse_other_strata(entry: Entry) -> None:
    """Adds a fault if the metric needs strata of equal propensity and has other strata."""
    if entry.metric is not PROPENSITY_STRATIFIED_DIFFERENCE:
        return
    modelled = {
        stratum.name
        for stratum in entry.context.columns.strata
        if isinstance(stratum.model, PropensityStrata)
    }
    if any(len(names) != 1 or names[0] not in modelled for names in entry.shape.given or ()):
        message = "compares within strata of equal propensity: set `given: {propensity: {…}}`"
        entry.fault("given", f"{entry.metric.id} {message}")


def read_outcome(entry: Entry) -> str | None:
    """The outcome of an entry: `of`, or the first prediction, or the label.

    If there is only a score, metrics of classes use the label.
    """
    context, of = entry.context, entry.shape.of
    outcomes = context.outcomes
    if of is not None:
        if of in outcomes:
            return of
        entry.fault("of", f"unknown outcome: {of!r}{suggest_known(of, outcomes)}")
        return None
    if is_of_label(entry.metric):
        if "label" in outcomes:
            return "label"
        entry.fault("metric", f"{entry.metric.id} needs a label: name it in `columns`")
        return None
    first = context.columns.first
    is_score = outcomes[first].kind is OutcomeKind.SCORE and entry.shape.at is None
    if is_score and "label" in outcomes and find_unmet(entry.metric, first, outcomes):
        return "label"
    return first


def explain_score(context: Context) -> str | None:
    """The message about a limit on decisions if the model has only a score; None otherwise."""
    first = context.outcomes[context.columns.first]
    if first.kind is not OutcomeKind.SCORE or first.score is None:
        return None
    remedy = f"prediction: {{column: {first.score.value}, positive: {{at_least: …}}}}"
    what = f"a limit on decisions needs classes, but {first.name} has only a score"
    return f"{what}: add `{remedy}`, or write `of: label` to judge the label"


def is_of_label(metric: Metric) -> bool:
    """Whether a metric needs the label and no other outcome."""
    return bool(metric.requirements) and metric.requirements <= _OF_LABEL


def find_unmet(
    metric: Metric, of: str, outcomes: Mapping[str, Outcome], *, one_class: bool = False
) -> str | None:
    """Why a metric cannot be computed for an outcome; None if it can.

    With `one_class`, the entry names the class that counts as positive.
    """
    parts = [part for part, _ in metric.parts] if isinstance(metric, Disparity) else [metric]
    for part in parts:
        options = part.options if isinstance(part, FirstOf) else (part,)
        unmet = [
            _unmet(option.requirements, of, outcomes, one_class=one_class) for option in options
        ]
        if all(unmet):
            return f"{metric.id} {unmet[-1]}"
    return None


def _unmet(
    needs: frozenset[Requirement], of: str, outcomes: Mapping[str, Outcome], *, one_class: bool
) -> str | None:
    label = outcomes.get("label")
    if Requirement.ORDER in needs and not outcomes[of].order:
        return f"needs ordered classes: add `order: [lowest, …, highest]` to {_place_of(of)}"
    if {Requirement.LABEL, Requirement.PREDICTION} <= needs and (label is None or of == "label"):
        return "compares a prediction with a label: name both in `columns`"
    if needs & _OF_LABEL and label is None:
        return "needs a label: name it in `columns`"
    classified = {of} if needs & {Requirement.PREDICTION, Requirement.CLASSES} else set()
    classified |= {"label"} if Requirement.LABEL in needs else set()
    for name in sorted(classified):
        if outcomes[name].kind is not OutcomeKind.CLASSES:
            what = (
                "is a number" if outcomes[name].kind is OutcomeKind.NUMBER else "has only a score"
            )
            return f"needs classes, and {name} {what}"
        if not (outcomes[name].may_be_binary or one_class or Requirement.CLASSES in needs):
            return f"needs the positive value: add `positive:` to {_place_of(name)}"
    return _unmet_number(needs, of, outcomes)


def _unmet_number(
    needs: frozenset[Requirement], of: str, outcomes: Mapping[str, Outcome]
) -> str | None:
    outcome = outcomes.get(of)
    if Requirement.SCORE in needs and (outcome is None or outcome.score is None):
        return f"needs a score, and {of} does not have a score"
    if Requirement.NUMBER in needs and (outcome is None or outcome.kind is not OutcomeKind.NUMBER):
        return f"needs a number, and {of} has classes: set `number: true` for a number"
    if Requirement.NUMERIC_LABEL in needs and outcomes["label"].kind is not OutcomeKind.NUMBER:
        return "needs a numeric label: set `number: true`"
    if Requirement.NUMERIC_LABEL in needs and (Requirement.NUMBER in needs) is (of == "label"):
        return f"does not measure the {of}"
    return None


def _place_of(outcome: str) -> str:
    """The path of the key in a spec that describes the classes of an outcome."""
    plain = outcome in {"label", "prediction", "decision"}
    return f"columns.{outcome}" if plain else f"columns.models.{outcome}.prediction"

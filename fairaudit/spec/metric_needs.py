"""What a metric needs and a spec lacks: label, score, classes, reference; `weight`; its outcome."""

from __future__ import annotations

from collections.abc import Mapping

from fairaudit.base.arrays import Grouping
from fairaudit.base.errors import suggest_known
from fairaudit.metrics import Disparity, Metric, Requirement
from fairaudit.metrics.means_and_errors import FirstOf
from fairaudit.metrics.share_models import is_pooled
from fairaudit.metrics.terms import SINGLE_REFERENCES
from fairaudit.spec.column_model import Outcome, OutcomeKind
from fairaudit.spec.metric_lookup import MACRO, Context, Entry

_OF_LABEL = {Requirement.LABEL, Requirement.NUMERIC_LABEL}
_FARTHEST = {"difference": "gap", "ratio": "min_ratio"}
_CLASSES = {Requirement.LABEL, Requirement.PREDICTION, Requirement.CLASSES}


def refuse_unmet(entry: Entry, of: str | None) -> None:
    """Adds faults for what the metric needs and the spec does not give."""
    context, metric = entry.context, entry.metric
    if of is not None and (why := _unmet_by(entry, of)):
        entry.fault("metric", why)
    if of is not None and context.is_weighted and adds_up(entry, of):
        what = f"{metric.id}: sums are not supported with survey weights"
        entry.fault("metric", f"{what}: leave out the weight, or the metric")
    if isinstance(metric, Disparity) and metric.fitted:
        _refuse_fit(entry)
    if Requirement.DRAWS in entry.requirements and entry.shape.given is not None:
        entry.fault(
            "given", f"{metric.id}: posterior draws cannot be combined with strata", key_itself=True
        )
    is_modelled = is_pooled(metric) or Requirement.DRAWS in entry.requirements
    if context.shape.suppress_below is not None and is_modelled:
        what = "is of a model of all groups, hidden ones too"
        entry.fault("metric", f"{metric.id} {what}: leave out `suppress_below`, or the model")
    if metric.conditional and entry.shape.given is None:
        entry.fault("metric", f"{metric.id} compares within strata: add `given:`")


def refuse_reference(entry: Entry, by: Grouping) -> None:
    """Adds the fault of a metric that compares with a reference, of which there is none."""
    name = " and ".join(by)
    if entry.shape.reference is not None:
        message = f"this reference names no group of {name}: write {{attribute: level, …}}"
        entry.fault("reference", message)
        return
    protected = entry.context.columns.protected
    undeclared = {column.name for column in protected if column.reference is None}
    missing = next(column for column in by if column in undeclared)
    compare = entry.shape.compare
    ways = [
        f"declare `reference:` in columns.protected.{missing}",
        "say `reference: rest` here (or largest, highest, overall …)",
    ]
    if compare in _FARTHEST:
        ways.insert(0, f"say `compare: {_FARTHEST[compare]}` for the two groups farthest apart")
    what = f"`{compare}`" if compare in _FARTHEST else entry.shape.metric
    entry.fault(
        "compare" if compare in _FARTHEST else "metric",
        f"{what} needs a reference for {name}: {', '.join(ways[:-1])}, or {ways[-1]}",
    )


def adds_up(entry: Entry, of: str) -> bool:
    """Whether the metric adds up numbers of people."""
    has_score = entry.context.outcomes[of].score is not None
    needs = entry.requirements
    adds_up = needs & {Requirement.NUMERIC_ATTRIBUTE, Requirement.ORDER}
    return bool(adds_up) or (Requirement.SCORE in needs and has_score)


def _refuse_fit(entry: Entry) -> None:
    """The faults of a fit: what it cannot be combined with, and whom it cannot compare with."""
    name, shape = entry.metric.id, entry.shape
    for key in ("given", "average"):
        if getattr(shape, key) is not None:
            entry.fault(key, f"{name} takes `controls`, not `{key}`", key_itself=True)
    if shape.of_class == MACRO:
        entry.fault("class", f"{name} needs a single class", key_itself=True)
    if entry.context.is_weighted:
        what = f"{name} has no standard error under survey weights"
        entry.fault("metric", f"{what}: leave out the weight, or the metric")
    if entry.reference_policy is not None and entry.reference_policy not in SINGLE_REFERENCES:
        what = f"{name} is against one group: name a level, or say `largest`"
        entry.fault("reference", what)


def read_outcome(entry: Entry) -> str | None:
    """The audited outcome: the one that is named, else the first prediction, else the label.

    A score alone gives way to the label where the metric is one of classes.
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
    """Why a limit on decisions must not fall back to the label: the model has only a score."""
    first = context.outcomes[context.columns.first]
    if first.kind is not OutcomeKind.SCORE or first.score is None:
        return None
    remedy = f"prediction: {{column: {first.score.value}, positive: {{at_least: …}}}}"
    what = f"a limit on decisions needs classes, and {first.name} has only a score"
    return f"{what}: add `{remedy}`, or say `of: label` to judge the label"


def is_of_label(metric: Metric) -> bool:
    """Whether a metric is one of the label alone."""
    return bool(metric.requirements) and metric.requirements <= _OF_LABEL


def _unmet_by(entry: Entry, of: str) -> str | None:
    """What the spec lacks for an entry."""
    context, metric = entry.context, entry.metric
    if entry.shape.at is None:
        one_class = entry.shape.of_class is not None
        return find_unmet(metric, of, context.outcomes, one_class=one_class)
    if not entry.requirements <= _CLASSES:
        return f"{metric.id} takes no threshold of a score"
    if context.outcomes[of].score is None:
        return f"{metric.id} at a threshold needs a score, and {of} has none"
    counts = f"{metric.id} at a threshold counts the bins of a score"
    if context.is_weighted:
        return f"{counts}, which a weighted sample does not have yet: leave out the weight, or `at`"
    if context.shape.columns.cluster is not None or context.shape.design is not None:
        return f"{counts}, which are not counted by clusters: leave out the cluster, or `at`"
    labels = metric.requirements & {Requirement.LABEL}
    if _unmet(labels, of, context.outcomes, one_class=False):
        return f"{metric.id} needs a label of two classes: name it in `columns`"
    return None


def find_unmet(
    metric: Metric, of: str, outcomes: Mapping[str, Outcome], *, one_class: bool = False
) -> str | None:
    """What the spec lacks for a metric of that outcome; None where nothing does.

    With `one_class` the entry says which class counts as positive.
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
        return f"needs classes in order: `order: [lowest, …, highest]` in {_place_of(of)}"
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
            return f"needs to know what is positive: `positive:` in {_place_of(name)}"
    return _unmet_number(needs, of, outcomes)


def _unmet_number(
    needs: frozenset[Requirement], of: str, outcomes: Mapping[str, Outcome]
) -> str | None:
    outcome = outcomes.get(of)
    if Requirement.SCORE in needs and (outcome is None or outcome.score is None):
        return f"needs a score, and {of} has none"
    if Requirement.NUMBER in needs and (outcome is None or outcome.kind is not OutcomeKind.NUMBER):
        return f"needs a number, and {of} is not one: set `number: true`"
    if Requirement.NUMERIC_LABEL in needs and outcomes["label"].kind is not OutcomeKind.NUMBER:
        return "needs a numeric label: set `number: true`"
    if Requirement.NUMERIC_LABEL in needs and (Requirement.NUMBER in needs) is (of == "label"):
        return f"is not a measure of the {of}"
    return None


def _place_of(outcome: str) -> str:
    """Where in a spec an outcome with classes is described."""
    plain = outcome in {"label", "prediction", "decision"}
    return f"columns.{outcome}" if plain else f"columns.models.{outcome}.prediction"

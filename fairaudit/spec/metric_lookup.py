"""`Entry` of `metrics`: its metric, changed by `compare`, `class` …; its reference, or none."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from fairaudit.base.frozen import Frozen, replace
from fairaudit.cube import Grouping
from fairaudit.judge import LimitQuotes
from fairaudit.metrics import (
    MODELS,
    Disparity,
    GroupMetric,
    Metric,
    Reference,
    ReferencePolicy,
    Requirement,
    average_classes,
    build_disparity,
    find_comparison,
    find_metric,
    list_requirements,
)
from fairaudit.metrics.comparisons import STANDARDIZED_DIFFERENCE, STANDARDIZED_DIFFERENCE_TOTAL
from fairaudit.metrics.inference import Inference
from fairaudit.metrics.pair_intervals import Scale
from fairaudit.spec import metrics_schema, schema
from fairaudit.spec.column_model import Outcome, OutcomeKind
from fairaudit.spec.columns import Columns, Groupings
from fairaudit.spec.text import Document, Path, SpecReader

MACRO = "macro"
"""The class that stands for the mean over all of them."""


class Context(Frozen, dict=True):
    """What all entries of `metrics` share: the rest of the spec."""

    reader: SpecReader
    shape: schema.AuditSpec
    columns: Columns
    inference: Inference

    @cached_property
    def outcomes(self) -> Mapping[str, Outcome]:
        """The outcomes by their name."""
        return self.columns.outcomes

    @cached_property
    def groupings(self) -> Groupings:
        """The columns that groupings are made of."""
        return self.columns.groupings

    @property
    def is_weighted(self) -> bool:
        """Whether the rows are a weighted sample."""
        return self.shape.columns.weight is not None

    @property
    def numeric_attributes(self) -> list[list[str]]:
        """The protected attributes that are numbers, each as a grouping of its own."""
        return [[attribute.name] for attribute in self.columns.protected if attribute.is_cut]

    def resolve(self, reference: Reference | None, by: Grouping) -> Reference | None:
        """The reference for one grouping; None where it names no group of it."""
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
    """An entry of `metrics`, where it stands, and the metric that it names."""

    context: Context
    path: Path
    shape: metrics_schema.Metric
    metric: Metric

    def fault(self, key: str, message: str, *, key_itself: bool = False) -> None:
        """Adds a fault at a key of the entry; it points at its value, or at the key itself."""
        self.reader_at().fault((key,), message, key=key_itself)

    def reader_at(self, *steps: str) -> SpecReader:
        """The reader of the spec, at a part of the entry."""
        return self.context.reader.at(*self.path, *steps)

    @property
    def requirements(self) -> frozenset[Requirement]:
        """What the metric and its parts are computed from."""
        return list_requirements(self.metric)

    @property
    def reference_word(self) -> str | None:
        """The one word that names the reference: a policy or a level."""
        return (self.shape.reference or {}).get("")

    @property
    def reference_policy(self) -> ReferencePolicy | None:
        """The policy of the reference, where the entry names one."""
        word = self.reference_word
        return ReferencePolicy(word) if word in metrics_schema.REFERENCES else None


def read_entry(context: Context, path: Path, shape: metrics_schema.Metric) -> Entry | None:
    """An entry with the metric that it names and its `compare`; None with a fault."""
    reader, metric = context.reader.at(*path), find_metric(shape.metric)
    if metric is None:
        return None
    if shape.model is not None:
        modelled = MODELS[shape.model].get(metric.id)
        if modelled is None:
            reader.fault(("model",), f"{metric.id} takes no {shape.model} model", key=True)
            return None
        metric = modelled
    if shape.sd is not None and shape.compare is None:
        reader.fault(("sd",), f"{metric.id} cannot be combined with `deviation`", key=True)
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
            what = f"{compared.id} has one value already"
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
    reader: SpecReader, shape: metrics_schema.Metric, metric: Metric
) -> Disparity | None:
    """The disparity of a group metric that `compare` names; None with a fault."""
    comparison = find_comparison(shape.compare or "")
    if isinstance(metric, GroupMetric) and metric.conditional:
        what = f"{metric.id} is a composition, not a rate, and cannot be compared"
        reader.fault(("compare",), what)
        return None
    if isinstance(metric, GroupMetric) and metric.instead:
        what = f"{metric.id} grows with the size of a group, so it compares no groups"
        reader.fault(("compare",), f"{what}: compare {metric.instead}")
        return None
    if shape.sd is not None and comparison is not STANDARDIZED_DIFFERENCE:
        reader.fault(("sd",), f"{shape.compare} cannot be combined with `deviation`", key=True)
    elif shape.sd == "total":
        comparison = STANDARDIZED_DIFFERENCE_TOTAL
    if not isinstance(metric, GroupMetric) or comparison is None:
        reader.fault(("compare",), f"{metric.id} is already a comparison: remove `compare`")
        return None
    if metric.is_odds and comparison.scale is Scale.ODDS:
        what = f"{metric.id} is odds already, and {shape.compare} compares shares: say `ratio`"
        reader.fault(("compare",), what)
        return None
    return build_disparity(metric, comparison)


def of_numbers(entry: Entry, of: str | None) -> Entry:
    """The entry, or the same measure of numbers where its outcome is one."""
    metric = entry.metric
    is_number = of is not None and entry.context.outcomes[of].kind is OutcomeKind.NUMBER
    if not is_number or not isinstance(metric, Disparity) or not metric.of_numbers:
        return entry
    numeric = find_metric(metric.of_numbers)
    assert isinstance(numeric, Disparity)
    return replace(entry, metric=replace(numeric, over_groups=metric.over_groups))


def quote_limits(document: Document, path: Path) -> LimitQuotes:
    """The lines of an entry that set its limits, each with the bound itself."""
    keys = ("below", "above", "outside", "kind")
    warn, fail = (document.quote((*path, side), keys) for side in ("warn", "fail"))
    return LimitQuotes(warn, fail)

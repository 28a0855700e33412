"""Refuses metrics of people one by one where the spec cannot give them what they need."""

from __future__ import annotations

from fairaudit.metrics import Requirement
from fairaudit.metrics.terms import EXTREME_REFERENCES, INCLUDING_GROUP
from fairaudit.spec.entry import Entry

_COMBINED = ("compare", "average", "aggregate", "of_class", "against", "at")
"""What an entry may say of counts, and not of people one by one."""


def refuse_row_measure(entry: Entry) -> None:
    """Adds the faults of an entry that reads people one by one."""
    if Requirement.FEATURES not in entry.requirements:
        return
    shape, name = entry.context.shape, entry.metric.id
    if not entry.context.columns.similarity.texts:
        entry.fault(
            "metric",
            f"{name} compares people by their features: name them in `columns: {{features: "
            "{numeric: […], categorical: […]}}`",
        )
    if shape.columns.weight is not None:
        what = "takes each person once, and has no survey weights"
        entry.fault("metric", f"{name} {what}: leave out `weight`, or the metric")
    if shape.columns.has_counts:
        key = "counts" if shape.columns.count is None else "count"
        what = "looks at people one by one, and a row here stands for several"
        entry.fault("metric", f"{name} {what}: leave out `{key}`, or the metric")
    if shape.suppress_below is not None:
        what = "is made of single people, whom no small count of the report covers"
        entry.fault("metric", f"{name} {what}: leave out `suppress_below`, or the metric")
    for key in _COMBINED:
        if getattr(entry.shape, key) is not None:
            entry.fault(
                "class" if key == "of_class" else key,
                f"{name} is of people one by one, and takes no such key",
                key_itself=True,
            )
    if entry.reference_policy in INCLUDING_GROUP | EXTREME_REFERENCES:
        what = "compares with one group, or with the `rest`"
        entry.fault("reference", f"{name} {what}", key_itself=True)
    _refuse_parameters(entry)


def _refuse_parameters(entry: Entry) -> None:
    shape = entry.shape
    if shape.k is not None and shape.k < 1:
        entry.fault("k", "a person is compared with at least 1 neighbour")
    if shape.t is not None and not 0 < shape.t <= 1:
        entry.fault("t", "a gap of two rates lies above 0, up to 1")
    if shape.lipschitz is not None and shape.lipschitz <= 0:
        entry.fault("lipschitz", "a slope is a number above 0")

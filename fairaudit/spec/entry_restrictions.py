"""Options and comparisons that people counts or row metrics cannot have; ranges of `k`, `t`."""

from __future__ import annotations

from fairaudit.metrics import NO_MINIMUM, Minimum, PeopleCount, Requirement, find_metric
from fairaudit.metrics.terms import EXTREME_REFERENCES, INCLUDING_GROUP
from fairaudit.spec.metric_lookup import Entry

_COMPARISONS = {"difference", "ratio", "gap", "min_ratio", "log_ratio"}
_COMBINED = ("compare", "average", "aggregate", "of_class", "against", "at")
"""What an entry may say of counts, and not of people one by one."""


def find_minimum(entry: Entry) -> Minimum:
    """What a group must reach to be judged; a limit on its size is about small groups, too."""
    return (
        NO_MINIMUM if isinstance(entry.metric, PeopleCount) else entry.context.shape.groups.minimum
    )


def refuse_people_count(entry: Entry) -> None:
    """Adds the faults of an entry that counts people."""
    if not isinstance(find_metric(entry.shape.metric), PeopleCount):
        return
    shape, name = entry.shape, entry.metric.id
    if shape.compare is not None and shape.compare not in _COMPARISONS:
        what = f"{name} is a count, and {shape.compare} compares shares or means"
        entry.fault("compare", f"{what}: say difference, ratio, gap or min_ratio")
    if shape.average is not None:
        entry.fault(
            "average",
            f"{name} is a count: leave out `given` for that of all strata",
            key_itself=True,
        )
    if shape.of_class == "macro":
        entry.fault(
            "class",
            f"{name} is a count, and has no mean over classes: name one class",
            key_itself=True,
        )
    _refuse_telling_limits(entry)


def _refuse_telling_limits(entry: Entry) -> None:
    """Faults of limits whose verdict would tell a count that is not published."""
    fewest, name = entry.context.shape.suppress_below, entry.metric.id
    if fewest is None:
        return
    for side, limit in entry.shape.limits.items():
        bounds = [bound for bound in (limit.below, limit.above) if bound is not None]
        if not isinstance(entry.metric, PeopleCount) or entry.shape.against is not None:
            what = f"a verdict on {name} compared would tell counts that `suppress_below` hides"
            entry.fault(side, f"{what}: leave out the limit")
        elif any(bound < fewest for bound in bounds):
            what = (
                f"a verdict on fewer than {fewest} people tells counts that `suppress_below` hides"
            )
            entry.fault(side, f"{what}: say at least {fewest}")


def refuse_row_measure(entry: Entry) -> None:
    """Adds the faults of an entry that reads people one by one."""
    if Requirement.FEATURES not in entry.requirements:
        return
    shape, name = entry.context.shape, entry.metric.id
    if not entry.context.columns.similarity.columns:
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

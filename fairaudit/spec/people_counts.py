"""Refuses what counts of people cannot be asked: they are no shares, and a limit tells them."""

from __future__ import annotations

from fairaudit.metrics import NO_MINIMUM, Minimum, PeopleCount, find_metric
from fairaudit.spec.entry import Entry

_COMPARISONS = {"difference", "ratio", "gap", "min_ratio", "log_ratio"}


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
    for side in ("warn", "fail"):
        limit = getattr(entry.shape, side)
        if limit is None:
            continue
        bounds = [bound for bound in (limit.below, limit.above) if bound is not None]
        if not isinstance(entry.metric, PeopleCount) or entry.shape.against is not None:
            what = f"a verdict on {name} compared would tell counts that `suppress_below` hides"
            entry.fault(side, f"{what}: leave out the limit")
        elif any(bound < fewest for bound in bounds):
            what = (
                f"a verdict on fewer than {fewest} people tells counts that `suppress_below` hides"
            )
            entry.fault(side, f"{what}: say at least {fewest}")

"""What holds of this project's types alone: records of the catalogue, and what must be true."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from fairaudit.codec.values import (
    FLAG,
    TEXT,
    Kind,
    Maybe,
    Schema,
    Shared,
    Text,
    closed,
    read_member,
    refuse_member,
)
from fairaudit.disclosure import Notice, Subjects
from fairaudit.evidence.appearances import Appearance
from fairaudit.ledger import Ledger, PublishedLedger
from fairaudit.metrics import (
    Disparity,
    GroupMetric,
    Metric,
    build_disparity,
    find_comparison,
    find_metric,
    macro_average,
    suggest,
)
from fairaudit.metrics.formulas import Macro
from fairaudit.metrics.terms import Inference
from fairaudit.result import AuditResult
from fairaudit.verdict import Before, Breach, Check, Finding, Limit, ReversalCheck, SubgroupCheck


class Record(Kind):
    """A record of the catalogue, by its id, and what a spec made of it.

    It is found again by that id, whatever version it has.
    """

    def write(self, value: Any) -> dict[str, object]:
        if not isinstance(value, Disparity):
            base = value.base if isinstance(value, Macro) else value
            return {"metric": base.id, "compare": None, "macro": base is not value, "mean": False}
        quantity, how = value.parts[0]
        base = quantity.base if isinstance(quantity, Macro) else quantity
        of_rate = value.id == quantity.id
        known = None if of_rate else find_metric(value.id)
        return {
            "metric": base.id if of_rate else value.id,
            "compare": how.id if of_rate else None,
            "macro": base is not quantity,
            "mean": value.mean and not (isinstance(known, Disparity) and known.mean),
        }

    def put(self, value: object, tree: dict[str, Any], without: frozenset[str]) -> None:
        """Writes the members into an object."""
        tree.update(self.write(value))

    def read(self, tree: Any, shared: Shared) -> Any:
        name = read_member(tree, "metric", TEXT, shared)
        record = find_metric(name)
        if record is None:
            refuse_member(tree, "metric", f"is no metric of this version{suggest(name)}")
        if read_member(tree, "macro", FLAG, shared):
            record = _macro(record, tree)
        compare = read_member(tree, "compare", Maybe(TEXT), shared)
        if compare is not None:
            how = find_comparison(compare)
            if how is None or not isinstance(record, GroupMetric):
                refuse_member(tree, "compare", f"is no comparison of {name}")
            record = build_disparity(record, how)
        if read_member(tree, "mean", FLAG, shared):
            if not isinstance(record, Disparity):
                refuse_member(tree, "mean", f"cannot be said of {name}")
            record = replace(record, mean=True)
        return record

    def take(self, tree: dict[str, Any], shared: Shared, without: frozenset[str]) -> Any:
        """Reads the record from an object."""
        return self.read(tree, shared)

    def members(self, definitions: dict[str, Schema]) -> Any:
        """The members of a record."""
        yield "metric", {"type": "string", "description": "The id in the catalogue."}, True
        what = "How a rate is compared; null where the record is no compared rate."
        yield "compare", {"type": ["string", "null"], "description": what}, True
        what = "Whether it is the mean over the classes of the outcome."
        yield "macro", {"type": "boolean", "description": what}, True
        what = "Whether it is the mean over all groups."
        yield "mean", {"type": "boolean", "description": what}, True

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        members = {name: schema for name, schema, _ in self.members(definitions)}
        return closed(members, [*members])


def _macro(record: Metric, tree: Mapping[str, Any]) -> Metric:
    if isinstance(record, GroupMetric):
        return macro_average(record)
    if isinstance(record, Disparity):
        parts = tuple((macro_average(rate), how) for rate, how in record.parts)
        return replace(record, parts=parts)
    return refuse_member(tree, "macro", f"cannot be said of {record.id}")


class Sentence(Text):
    """A notice; read back it is of people whom a published report must not tell."""

    def read(self, tree: Any, shared: Shared) -> Any:
        return Notice(super().read(tree, shared), Subjects.NEVER)


SPECIAL: Mapping[Any, Kind] = {Metric: Record(), Notice: Sentence()}
"""The types that are written as no other is."""


def choose(rows: Mapping[type, Any], tree: Mapping[str, Any]) -> type:
    """The class of a row: of a ledger by what it hides, else by the members that it must have."""
    if Ledger in rows:
        return PublishedLedger if _hides(tree) else Ledger
    for cls, row in rows.items():
        if row.constants and all(tree.get(name) == word for name, word in row.constants.items()):
            return cls
    needed = {cls: row.needed for cls, row in rows.items() if not row.constants}
    fitting = [cls for cls, names in needed.items() if names <= tree.keys()]
    return max(fitting or needed, key=lambda cls: len(needed[cls]))


def _hides(tree: Mapping[str, Any]) -> bool:
    """Whether a number of a ledger is null, so that it cannot be seen to close."""
    lists = [value for value in tree.values() if isinstance(value, list)]
    lines = [line for lines in lists for line in lines if isinstance(line, dict)]
    return any(None in row.values() for row in (tree, *lines))


def _has_limit(check: Check | ReversalCheck | SubgroupCheck) -> bool:
    return check.warn is not None or check.fail is not None


def _is_between_sides(finding: Finding) -> bool:
    """Whether it has a value, and both of its sides."""
    has_value = isinstance(finding.check, Check) and finding.estimate is not None
    first = finding.parts[0] if finding.parts else None
    return has_value and first is not None and None not in {first.first, first.second}


_NOT_JUDGED = "and `warn` are both null, so nothing is judged"

INVARIANTS: Mapping[type, tuple[tuple[str, Callable[[Any], bool], str], ...]] = {
    Limit: (
        (
            "below",
            lambda row: (row.below, row.above) != (None, None),
            "and `above` are both missing",
        ),
    ),
    Inference: (
        (
            "confidence_text",
            lambda row: Decimal("0.5") <= row.confidence < 1,
            "does not lie from 0.5 to below 1",
        ),
    ),
    Appearance: (
        ("group", lambda row: len(row.group) > 1, "is of one attribute"),
        ("parents", lambda row: len(row.parents) > 1, "are too few"),
    ),
    Breach: (
        ("state", lambda row: not math.isnan(row.value), "is no state of a value beyond a limit"),
    ),
    Before: (
        (
            "own_worse",
            lambda row: len(row.own_worse) == len(row.worse),
            "is not one for each of `worse`",
        ),
    ),
    Check: (("fail", _has_limit, _NOT_JUDGED),),
    ReversalCheck: (("fail", _has_limit, _NOT_JUDGED),),
    SubgroupCheck: (("fail", _has_limit, _NOT_JUDGED),),
    Finding: (
        (
            "limit",
            lambda row: row.limit in {row.check.fail, row.check.warn} - {None},
            "is neither limit of the check",
        ),
        (
            "state",
            lambda row: row.estimate is None or not isinstance(row.check, ReversalCheck),
            "is no state of a check on reversals",
        ),
        (
            "practice",
            lambda row: row.practice is None or _is_between_sides(row),
            "is said of a check without a value and its sides",
        ),
    ),
    AuditResult: (
        (
            "ledger",
            lambda row: isinstance(row.ledger, Ledger) or row.provenance.suppress_below is not None,
            "hides numbers, and the result is not suppressed",
        ),
    ),
}
"""What must be true of a row that is read: the member that is at fault, and why."""

"""What holds of this project's types alone: records of the catalogue, witnesses, invariants."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any, ClassVar

from fairaudit.codec.schema import Members
from fairaudit.codec.values import (
    FLAG,
    GROUP,
    TEXT,
    Kind,
    Schema,
    Shared,
    closed,
    maybe,
    raw,
    read_member,
    refuse,
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
from fairaudit.verdict import (
    Before,
    Breach,
    Check,
    Finding,
    Limit,
    ReversalCheck,
    SubgroupCheck,
)

_TEXT_OR_NULL = maybe(TEXT)


class RecordRow:
    """A record of the catalogue by its id, and what a spec made of it.

    It is found again by that id, whatever version it has.
    """

    members: ClassVar[Members] = {
        "metric": ({**TEXT.schema, "description": "Its id in the catalogue."}, True),
        "compare": (
            {**_TEXT_OR_NULL.schema, "description": "How a rate is compared, null where none is."},
            True,
        ),
        "macro": ({**FLAG.schema, "description": "Whether it is the mean over classes."}, True),
        "mean": ({**FLAG.schema, "description": "Whether it is the mean over groups."}, True),
    }

    def write(self, value: Metric) -> dict[str, Any]:
        """The names that the record is found by."""
        disparity = value if isinstance(value, Disparity) else None
        rate = disparity.parts[0][0] if disparity else value
        base = rate.base if isinstance(rate, Macro) else rate
        is_compared = disparity is not None and disparity.id == rate.id
        known = None if is_compared else find_metric(value.id)
        return {
            "metric": value.id if disparity and not is_compared else base.id,
            "compare": disparity.comparison.id if disparity and is_compared else None,
            "macro": base is not rate,
            "mean": disparity is not None
            and disparity.mean
            and not (isinstance(known, Disparity) and known.mean),
        }

    def read(self, tree: Any, shared: Shared, _: frozenset[str] = frozenset()) -> Any:
        """The record of this version that the names mean."""
        name = read_member(tree, "metric", TEXT.read, shared)
        record: Any = find_metric(name)
        if record is None:
            refuse(name, f"is no metric of this version{suggest(name)}", "metric")
        compare = read_member(tree, "compare", _TEXT_OR_NULL.read, shared)
        how = None if compare is None else find_comparison(compare)
        if read_member(tree, "macro", FLAG.read, shared):
            record = _of_classes(record)
        if compare is not None and (how is None or not isinstance(record, GroupMetric)):
            refuse(compare, f"is no comparison of {name}", "compare")
        record = record if how is None else build_disparity(record, how)
        if read_member(tree, "mean", FLAG.read, shared):
            if not isinstance(record, Disparity):
                refuse(tree["mean"], f"cannot be said of {name}", "mean")
            record = replace(record, mean=True)
        return record


def _of_classes(record: Metric) -> Metric:
    """The mean of a record over the classes of its outcome."""
    if isinstance(record, GroupMetric):
        return macro_average(record)
    if isinstance(record, Disparity):
        parts = tuple((macro_average(rate), how) for rate, how in record.parts)
        return replace(record, parts=parts)
    return refuse(True, f"cannot be said of {record.id}", "macro")  # noqa: FBT003  # what it says


def _read_notice(tree: Any, shared: Shared) -> Notice:
    """A notice; read back it is of people whom a published report must not tell."""
    return Notice(TEXT.read(tree, shared), Subjects.NEVER)


SPECIAL: Mapping[Any, Kind] = {Notice: TEXT._replace(read=_read_notice)}
SPECIAL_ROWS: Mapping[Any, Any] = {Metric: RecordRow()}
"""The types that are written as no other is."""

_WITNESS = closed(
    {
        **dict.fromkeys(("outcome", "metric"), TEXT.schema),
        **dict.fromkeys(("high", "low", "group", "reference"), GROUP.schema),
    },
    (),
)
WITNESS: Schema = {
    "anyOf": [_WITNESS, {"type": "null"}],
    "description": "The pair that attains the value, and by which outcome or rate: of a spread the "
    "highest and the lowest group, else group and reference; null where no pair does.",
}


def write_witness(row: Any) -> dict[str, Any] | None:
    """The pair that attains the value of a row, and what decides."""
    if not row.first and not row.second:
        return None
    outcomes = {part.outcome for part in row.parts if part.outcome}
    by = "outcome" if row.decided_by in outcomes else "metric"
    names = ("high", "low") if row.spread else ("group", "reference")
    groups = dict(zip(names, map(GROUP.write, (row.first, row.second)), strict=True))
    return {**({by: row.decided_by} if row.decided_by else {}), **groups}


def read_witness(tree: dict[str, Any]) -> dict[str, Any]:
    """The fields that a witness is made of."""

    def read(witness: Any, shared: Shared) -> dict[str, Any]:
        is_spread = isinstance(witness, dict) and "high" in witness
        names = ("high", "low") if is_spread else ("group", "reference")
        first, second = (read_member(witness, name, GROUP.read, shared) for name in names)
        words = [name for name in ("outcome", "metric") if name in witness]
        decided_by = read_member(witness, words[0], TEXT.read, shared) if words else None
        return {"first": first, "second": second, "decided_by": decided_by}

    is_null = read_member(tree, "witness", raw, {}) is None
    nobody = {"first": (), "second": (), "decided_by": None}
    return nobody if is_null else read_member(tree, "witness", read, {})


def choose(rows: Mapping[type, Any], tree: Mapping[str, Any]) -> type:
    """The class of a row: of a ledger by what it hides, else by the members that it must have."""
    if Ledger in rows:
        lines = [line for lines in tree.values() if isinstance(lines, list) for line in lines]
        hides = any(None in row.values() for row in (tree, *lines) if isinstance(row, dict))
        return PublishedLedger if hides else Ledger
    for cls, row in rows.items():
        if row.constants and row.constants.items() <= tree.items():
            return cls
    needed = {
        cls: {name for name, (_, always) in row.members.items() if always}
        for cls, row in rows.items()
        if not row.constants
    }
    fitting = [cls for cls, names in needed.items() if names <= tree.keys()]
    return max(fitting or needed, key=lambda cls: len(needed[cls]))


def _is_between_sides(finding: Finding) -> bool:
    """Whether it has a value, and both of its sides."""
    has_value = isinstance(finding.check, Check) and finding.estimate is not None
    sides = [side for part in finding.parts[:1] for side in (part.first, part.second) if side]
    return has_value and len(sides) == 2


_Rule = tuple[str, Callable[[Any], bool], str]
_LIMITED: tuple[_Rule, ...] = (
    (
        "fail",
        lambda check: check.warn is not None or check.fail is not None,
        "and `warn` are both null, so nothing is judged",
    ),
)
INVARIANTS: Mapping[type, tuple[_Rule, ...]] = {
    Limit: (
        ("below", lambda row: (row.below, row.above) != (None, None), "and `above` are missing"),
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
    Breach: (("state", lambda row: not math.isnan(row.value), "is of no value beyond a limit"),),
    Before: (
        (
            "own_worse",
            lambda row: len(row.own_worse) == len(row.worse),
            "is not one for each",
        ),
    ),
    **dict.fromkeys((Check, ReversalCheck, SubgroupCheck), _LIMITED),
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

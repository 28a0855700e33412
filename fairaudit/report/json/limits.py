"""Limits: their bounds as numbers, and as the spec writes them."""

from __future__ import annotations

from typing import Any

from fairaudit.report.json.reading import Member
from fairaudit.simpson import ReversalKind
from fairaudit.verdict import Limit, ReversalLimit


def write_limit(limit: Limit | ReversalLimit | None) -> dict[str, Any] | None:
    """A limit: its bounds as numbers, and as they were written."""
    if limit is None:
        return None
    if isinstance(limit, ReversalLimit):
        said = {"significant": True} if limit.significant else {}
        return {"kind": str(limit.kind), **said}
    bounds = {"below": limit.below, "above": limit.above}
    asked = {"significant": limit.significant, "conclusive": limit.conclusive}
    set_ = {name: bound for name, bound in bounds.items() if bound is not None}
    return {
        **{name: float(bound) for name, bound in set_.items()},
        **{f"{name}_text": str(bound) for name, bound in set_.items()},
        **{name: True for name, is_asked in asked.items() if is_asked},
    }


def read_limit(row: Member) -> Limit:
    """The limit, as it was written."""
    below, above = (
        row[f"{name}_text"].decimal() if name in row else None for name in ("below", "above")
    )
    if below is None and above is None:
        row.refuse("has no bound")
    significant, conclusive = (
        name in row and row[name].flag() for name in ("significant", "conclusive")
    )
    return Limit(below, above, significant=significant, conclusive=conclusive)


def read_reversal_limit(row: Member) -> ReversalLimit:
    """The weakest kind of reversal that crosses."""
    significant = "significant" in row and row["significant"].flag()
    return ReversalLimit(row["kind"].one_of(ReversalKind), significant=significant)

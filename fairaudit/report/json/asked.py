"""What a check asks, and its limits."""

from __future__ import annotations

from typing import Any

from fairaudit.verdict import (
    AnyCheck,
    Check,
    Limit,
    ReversalLimit,
    SubgroupCheck,
)


def write_limit(limit: Limit | ReversalLimit | None) -> dict[str, Any] | None:
    """A limit as it was written: decimals stay text-exact as numbers."""
    if limit is None:
        return None
    if isinstance(limit, ReversalLimit):
        said = {"significant": True} if limit.significant else {}
        return {"kind": str(limit.kind), **said}
    bounds = {"below": limit.below, "above": limit.above}
    asked = {"significant": limit.significant, "conclusive": limit.conclusive}
    return {
        **{name: float(bound) for name, bound in bounds.items() if bound is not None},
        **{name: True for name, is_asked in asked.items() if is_asked},
    }


def write_metric(check: AnyCheck) -> str:
    """What a check asks for."""
    if isinstance(check, Check):
        return check.asked.id
    return "subgroup_divergence" if isinstance(check, SubgroupCheck) else "simpson_reversal"

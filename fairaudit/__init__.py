"""fairaudit: how a decision treats groups of people, counted once and judged exactly."""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` itself is slow to load
if TYPE_CHECKING:
    from typing import Any

    from fairaudit.metrics import epsilon
    from fairaudit.pipeline import audit, audit_each, audit_together

__all__ = ["audit", "audit_each", "audit_together", "epsilon"]


def __getattr__(name: str) -> Any:  # noqa: ANN401  # loads what is asked for, and only then
    """Imports the engine only when it is used, so that `fairaudit --help` is quick."""
    if name in {"audit", "audit_each", "audit_together"}:
        from fairaudit import pipeline

        return getattr(pipeline, name)
    if name == "epsilon":
        from fairaudit.metrics import epsilon

        return epsilon
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

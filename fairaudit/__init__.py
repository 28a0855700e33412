"""fairaudit: audits how decisions treat groups of people. The public names of the package."""

from __future__ import annotations

from fairaudit.base import __version__

TYPE_CHECKING = False  # `typing` itself is slow to load
if TYPE_CHECKING:
    from typing import Any

    from fairaudit.api.audits import (
        assert_audit,
        audit,
        audit_arrays,
        audit_each,
        audit_together,
    )
    from fairaudit.api.mlflow import log_to_mlflow
    from fairaudit.api.results import AuditResult, Finding, load
    from fairaudit.base.errors import (
        AuditFailed,
        DataError,
        FairauditError,
        NothingToAudit,
        OutOfMemory,
        SpecError,
        UsageError,
    )
    from fairaudit.judge import Status
    from fairaudit.metrics.differential_fairness import epsilon
    from fairaudit.result import Verdict

_MODULES = {
    "api.audits": ("assert_audit", "audit", "audit_arrays", "audit_each", "audit_together"),
    "api.results": ("AuditResult", "Finding", "load"),
    "base.errors": (
        "AuditFailed",
        "DataError",
        "FairauditError",
        "NothingToAudit",
        "OutOfMemory",
        "SpecError",
        "UsageError",
    ),
    "metrics.differential_fairness": ("epsilon",),
    "api.mlflow": ("log_to_mlflow",),
    "result": ("Verdict",),
    "judge": ("Status",),
}
"""Where each public name is: a module is loaded when its name is used for the first time."""

__all__ = [
    "AuditFailed",
    "AuditResult",
    "DataError",
    "FairauditError",
    "Finding",
    "NothingToAudit",
    "OutOfMemory",
    "SpecError",
    "Status",
    "UsageError",
    "Verdict",
    "__version__",
    "assert_audit",
    "audit",
    "audit_arrays",
    "audit_each",
    "audit_together",
    "epsilon",
    "load",
    "log_to_mlflow",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401  # loads what is asked for, and only then
    """Loads a public name when it is used, so that `fairaudit --help` is quick."""
    from importlib import import_module

    for module, names in _MODULES.items():
        if name in names:
            value = getattr(import_module(f"fairaudit.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names: a prompt completes them before they are loaded."""
    return [*__all__]

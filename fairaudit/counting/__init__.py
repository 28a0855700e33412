"""Counting: reads data and counts it for a plan, without specs, metrics or limits.

The native kernel counts if it is installed and the variable `FAIRAUDIT_ROUTE` allows the kernel.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

from fairaudit.base.errors import UsageError
from fairaudit.base.names import quoted

_ROUTE = "FAIRAUDIT_ROUTE"


def refuse_other_routes(names: Sequence[str]) -> None:
    """Raises `UsageError` if only the kernel may count, but cannot count the files in `names`."""
    if names and _forced_route() == "native":
        what = f"{_ROUTE} is set to native, but the compiled module cannot read {quoted(names[0])}"
        raise UsageError(what, f"unset {_ROUTE}")


def load_kernel() -> ModuleType | None:
    """The kernel; None if it is not installed, or if `FAIRAUDIT_ROUTE` forbids it."""
    if _forced_route() == "lazy":
        return None
    try:
        return import_module("fairaudit._kernel")  # a C module, which imports no other module
    except ImportError as error:
        if _forced_route() == "native":
            what = f"{_ROUTE} is set to native, but this installation has no compiled module"
            raise UsageError(what, "install with a C compiler, or unset FAIRAUDIT_ROUTE") from error
        return None


def _forced_route() -> str:
    route = os.environ.get(_ROUTE, "")
    if route not in {"", "lazy", "native"}:
        raise UsageError(
            f"{_ROUTE} is set to {quoted(route)}",
            "unset it, or set it to lazy or native",
        )
    return route

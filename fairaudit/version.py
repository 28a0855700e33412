"""The version of the tool."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as of_distribution


@cache
def version() -> str:
    """The version of the installed distribution."""
    try:
        return of_distribution("fairaudit-cli")
    except PackageNotFoundError:
        return "0+unknown"

"""The version of the tool."""

from __future__ import annotations

from functools import cache


@cache
def version() -> str:
    """The version of the installed distribution."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as of_distribution

    try:
        return of_distribution("fairaudit-cli")
    except PackageNotFoundError:
        return "0+unknown"

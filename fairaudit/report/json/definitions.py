"""The metrics of a report in words."""

from __future__ import annotations

from typing import Any

from fairaudit.result import (
    Definition,
)


def write_definition(one: Definition) -> dict[str, Any]:
    """A metric in words."""
    return {
        "id": one.id,
        "version": one.version,
        "title": one.title,
        "family": one.family,
        "means": one.means,
        "formula": one.formula,
        "direction": one.direction,
        "caution": one.caution,
        "elsewhere": one.elsewhere,
        "interval": one.interval,
        "test": one.test,
        "source": one.source,
        "aliases": list(one.aliases),
    }

"""Where a result comes from: spec, data, options, and where every row went."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from fairaudit.ledger import Line, PublishedLine


def write_moment(seconds: float) -> str:
    """Seconds since 1970 as a time in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def write_line(one: Line | PublishedLine) -> dict[str, Any]:
    """A line of the ledger."""
    return {"rows": one.rows, "people": one.people, "column": one.column, "reason": one.reason}

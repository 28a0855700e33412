"""The metrics of a report in words."""

from __future__ import annotations

from typing import Any

from fairaudit.report.json.reading import Member
from fairaudit.result import Definition


def write_definition(one: Definition) -> dict[str, Any]:
    """A metric in words."""
    return {
        "id": one.id,
        "version": one.version,
        "title": one.title,
        "family": one.family,
        "compares": one.compares,
        "use": one.use,
        "means": one.means,
        "formula": one.formula,
        "values": one.values,
        "direction": one.direction,
        "needs": one.needs,
        "takes": list(one.takes),
        "caution": one.caution,
        "elsewhere": one.elsewhere,
        "interval": one.interval,
        "test": one.test,
        "example": one.example,
        "source": one.source,
        "aliases": list(one.aliases),
    }


def read_definition(row: Member) -> Definition:
    """The metric in the words of the version that wrote them."""
    return Definition(
        id=row["id"].text(),
        version=row["version"].integer(),
        title=row["title"].text(),
        family=row["family"].text(),
        compares=row["compares"].text(),
        use=row["use"].text(),
        means=row["means"].text(),
        formula=row["formula"].text(),
        values=row["values"].text(),
        direction=row["direction"].text(),
        needs=row["needs"].text(),
        takes=row["takes"].texts(),
        caution=row["caution"].text(),
        elsewhere=row["elsewhere"].text(),
        interval=row["interval"].text(),
        test=row["test"].text(),
        example=row["example"].text(),
        source=row["source"].text(),
        aliases=row["aliases"].texts(),
    )

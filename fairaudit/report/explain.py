"""One page on a metric: what it says, how it is computed, when it misleads, where it comes from."""

from __future__ import annotations

from collections.abc import Sequence

from fairaudit.metrics.notions import NOTIONS, Notion
from fairaudit.report.blocks import Cell, Document, Facts, Heading, Paragraph, Table
from fairaudit.result import Definition


def page(one: Definition) -> Document:
    """The page of one metric."""
    return (Heading(one.title), Paragraph(one.means), Facts(facts(one)))


def facts(one: Definition) -> list[tuple[str, str]]:
    """What there is to say of a metric, by name."""
    facts = [
        ("id", one.id),
        ("also", ", ".join(one.aliases)),
        ("family", one.family),
        ("compares", one.compares),
        ("use", one.use),
        ("formula", one.formula),
        ("values", one.values),
        ("direction", one.direction),
        ("needs", one.needs),
        ("takes", ", ".join(one.takes)),
        ("interval", one.interval),
        ("test", one.test),
        ("example", one.example),
        ("caution", one.caution),
        ("elsewhere", one.elsewhere),
        ("source", one.source),
    ]
    return [(name, text) for name, text in facts if text]


def index(definitions: Sequence[Definition]) -> Document:
    """All metrics, a line each."""
    rows = [[Cell(one.id), Cell(one.family), Cell(one.means)] for one in definitions]
    return (
        Heading("Metrics"),
        Table("", ("id", "family", "what it says"), rows, (False, False, False)),
        Paragraph("fairaudit explain NAME prints one page on a metric."),
    )


def markdown(definitions: Sequence[Definition]) -> str:
    """The pages of all metrics in one Markdown document, as docs/metrics.md has them."""
    origin = (
        "Printed by `fairaudit metrics --format markdown` from the records that compute them; "
        "`fairaudit explain NAME` prints one of these pages."
    )
    lines = ["# The metrics", "", origin]
    for one in definitions:
        lines += ["", f"## {one.title}", "", one.means, ""]
        lines += [f"- **{name}**: {_as_code(name, text)}" for name, text in facts(one)]
    lines += ["", "## Not measured here", "", _NOT_HERE, ""]
    lines += [_notion(one) for one in NOTIONS]
    return "\n".join([*lines, ""])


_NOT_HERE = (
    "Well-known names that are no metric here, with the reason and the nearest measures; "
    "`fairaudit explain NAME` says so, too."
)


def _notion(one: Notion) -> str:
    """A line on a notion that is no metric here."""
    also = ", ".join(f"`{name}`" for name in one.names)
    return f"- {also}: not here, because {one.advice}. Source: {one.source}."


def _as_code(name: str, text: str) -> str:
    if name in {"id", "also", "takes"}:
        return ", ".join(f"`{word}`" for word in text.split(", "))
    return f"`{text}`" if name == "formula" else text.replace("<", "\\<").replace("|", "\\|")

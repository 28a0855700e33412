"""One page on a metric: what it says, how it is computed, when it misleads, where it comes from."""

from __future__ import annotations

from collections.abc import Sequence

from fairaudit.report.blocks import Cell, Document, Facts, Heading, Paragraph, Table
from fairaudit.result import Definition


def page(one: Definition) -> Document:
    """The page of one metric."""
    facts = [
        ("id", one.id),
        ("also", ", ".join(one.aliases)),
        ("family", one.family),
        ("formula", one.formula),
        ("direction", one.direction),
        ("example", one.example),
        ("caution", one.caution),
        ("elsewhere", one.elsewhere),
        ("source", one.source),
    ]
    return (
        Heading(one.title),
        Paragraph(one.means),
        Facts([(name, text) for name, text in facts if text]),
    )


def index(definitions: Sequence[Definition]) -> Document:
    """All metrics, a line each."""
    rows = [[Cell(one.id), Cell(one.family), Cell(one.means)] for one in definitions]
    return (
        Heading("Metrics"),
        Table("", ("id", "family", "what it says"), rows, (False, False, False)),
        Paragraph("fairaudit explain NAME prints one page on a metric."),
    )

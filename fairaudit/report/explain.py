"""One page on a metric: what it says, how it is computed, when it misleads, where it comes from."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fairaudit.evidence.methods import METHODS, Method, methods_in
from fairaudit.report.blocks import Cell, Document, Facts, Heading, Paragraph, Table
from fairaudit.result import Definition

_WITHOUT_REASON = re.compile(r"none: [^;]*")
"""Why there is no interval, or no test: no name of one."""


def page(one: Definition) -> Document:
    """The page of one metric, with a line on each interval and test that it is given by."""
    named = methods_in(_WITHOUT_REASON.sub("", f"{one.interval}; {one.test}"))
    lines = [(method.name, f"{method.means} Source: {method.source}.") for method in named]
    return (Heading(one.title), Paragraph(one.means), Facts([*facts(one), *lines]))


def method_page(one: Method) -> Document:
    """The page of an interval, a test or a correction."""
    said = [("also", ", ".join(one.also)), ("source", str(one.source))]
    return (Heading(one.name), Paragraph(one.means), Facts([each for each in said if each[1]]))


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
        Paragraph(
            "fairaudit explain NAME prints one page on a metric, or what the name of an interval, "
            "a test or a correction means."
        ),
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
    lines += ["", "## Intervals, tests and corrections", ""]
    lines += [f"- **{one.name}**: {one.means} Source: {one.source}." for one in METHODS]
    return "\n".join([*lines, ""])


def _as_code(name: str, text: str) -> str:
    if name in {"id", "also", "takes"}:
        return ", ".join(f"`{word}`" for word in text.split(", "))
    return f"`{text}`" if name == "formula" else text.replace("<", "\\<").replace("|", "\\|")

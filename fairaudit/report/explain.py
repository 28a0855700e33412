"""One page on a metric: what it says, how it is computed, when it misleads, where it comes from."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fairaudit.evidence.methods import METHODS, Method, find_methods
from fairaudit.metrics import GROUP_METRICS, PREFERENCES, Better
from fairaudit.metrics.unsupported import UNSUPPORTED_METRICS, UnsupportedMetric
from fairaudit.report.blocks import Cell, Document, Facts, Heading, Paragraph, Table
from fairaudit.result import Definition

_WITHOUT_REASON = re.compile(r"none: [^;]*")
"""Why there is no interval, or no test: no name of one."""


def page(one: Definition) -> Document:
    """The page of one metric, with a line on each interval and test that it is given by."""
    named = find_methods(_WITHOUT_REASON.sub("", f"{one.interval}; {one.test}"))
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
    lines = ["# The metrics", "", origin, "", *_aggregates(), *_directions()]
    for one in definitions:
        lines += ["", f"## {one.title}", "", one.means, ""]
        lines += [f"- **{name}**: {_as_code(name, text)}" for name, text in facts(one)]
    lines += ["", "## Intervals, tests and corrections", ""]
    lines += [f"- **{one.name}**: {one.means} Source: {one.source}." for one in METHODS]
    lines += ["", "## Not measured here", "", _NOT_HERE, ""]
    lines += [_notion(one) for one in UNSUPPORTED_METRICS]
    return "\n".join([*lines, ""])


_NOT_HERE = (
    "Well-known names that are no metric here, with the reason and the nearest measures; "
    "`fairaudit explain NAME` says so, too."
)


def _notion(one: UnsupportedMetric) -> str:
    """A line on a notion that is no metric here."""
    also = ", ".join(f"`{name}`" for name in one.names)
    return f"- {also}: not here, because {one.advice}. Source: {one.source}."


def _aggregates() -> list[str]:
    """What `aggregate: mean` makes of the values of all groups."""
    rule = (
        "`aggregate: mean` makes one value of a measure that compares each group with a reference. "
        "Of differences it is the mean of their absolute values over the groups other than the "
        "reference, weighted by people in the denominator (of a measure whose value at parity is "
        "another number, of the distances from that). Of ratios it is exp of the mean |ln ratio|, "
        "weighted alike: 1 at parity, never below, and 1.25 for groups that all have a ratio of "
        "0.8. Chance alone moves it away from parity, the more the smaller the groups."
    )
    return ["## One value over all groups", "", rule, ""]


def _directions() -> list[str]:
    """Which side of each rate is worse off, of a benefit and of a burden, as a table."""
    rule = (
        "A finding names the group that is worse off, tables put it first, and a comparison of two "
        "results calls a change better or worse, by this rule alone. It asks whom an outcome, or "
        "an error, harms. The positive is a benefit, or a burden where the spec says "
        "`favourable: false`. Where there is no answer the report names nobody. A measure follows "
        "the rate that decides it; a mean of several rates names nobody. Of one `class` of several "
        "nobody says whether it is a benefit: only rates that do not turn with it have an answer."
    )
    heads = ("rate", "of a benefit, worse off", "of a burden, worse off", "why")
    lines = [
        "## Which side is worse off",
        "",
        rule,
        "",
        f"| {' | '.join(heads)} |",
        "|---" * 4 + "|",
    ]
    for better, direction in PREFERENCES.items():
        rates = ", ".join(f"`{one.id}`" for one in GROUP_METRICS if one.better is better)
        sides = (_WORSE_OFF[direction.benefit], _WORSE_OFF[direction.burden])
        lines.append(f"| {' | '.join((rates, *sides, direction.why))} |")
    return lines


_WORSE_OFF = {
    Better.HIGHER: "the lower rate",
    Better.LOWER: "the higher rate",
    Better.NEITHER: "no answer",
}


def _as_code(name: str, text: str) -> str:
    if name in {"id", "also", "takes"}:
        return ", ".join(f"`{word}`" for word in text.split(", "))
    return f"`{text}`" if name == "formula" else text.replace("<", "\\<").replace("|", "\\|")

"""The pages of `fairaudit explain`: metric, method, preset; docs/metrics.md."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from fairaudit.evidence.methods import METHODS, Method, find_methods
from fairaudit.metrics import GROUP_METRICS, Better
from fairaudit.metrics.citations import Citation
from fairaudit.metrics.definitions import PREFERENCES
from fairaudit.metrics.other_names import (
    FAIR_RANGES,
    PRESETS,
    UNSUPPORTED_METRICS,
    Preset,
    UnsupportedMetric,
)
from fairaudit.report.blocks import (
    Column,
    Document,
    Facts,
    Heading,
    Paragraph,
    tabulate,
    text_column,
)
from fairaudit.report.latex import escape
from fairaudit.result.rows import Definition

_WITHOUT_REASON = re.compile(r"none: [^;]*")
"""The texts for no interval or no test; they contain a reason, not the name of a method."""
_FACTS = (
    "id", "also", "family", "compares", "use", "formula", "values", "direction", "needs", "takes",
    "interval", "test", "example", "caution", "elsewhere", "source",
)  # fmt: skip
_TITLES = {"takes": "options", "elsewhere": "notes"}
"""The titles of facts that differ from the name of the field."""


def page(definition: Definition) -> Document:
    """The page of one metric, with a line on each of its intervals and tests."""
    named = find_methods(_WITHOUT_REASON.sub("", f"{definition.interval}; {definition.test}"))
    lines = ((method.name, f"{method.means} Source: {method.source}.") for method in named)
    return _page(definition.title, definition.means, *facts(definition), *lines)


def method_page(method: Method) -> Document:
    """The page of an interval, a test or a correction."""
    pairs = (("also", ", ".join(method.also)), ("source", str(method.source)))
    return _page(method.name, method.means, *pairs)


def bibtex(source: Citation) -> str:
    """A source as a BibTeX entry."""
    text, title = source.authors, ""
    names_end = max(text.rfind(" & "), text.find(" et al."), 0)
    comma = text.find(", ", names_end)
    if comma >= 0:
        text, title = text[:comma], text[comma + 2 :]
    words = re.split(r", | & ", text.replace(" et al.", ", others"))
    authors = (word if word == "others" else f"{{{escape(word)}}}" for word in words)
    plain = unicodedata.normalize("NFKD", words[0]).lower()
    where, _, number = source.url.partition("doi.org/")
    fields = {
        "author": " and ".join(authors),
        "title": title and f"{{{escape(title)}}}",
        "year": str(source.year),
        **({"doi": number} if number else {"url": where}),
    }
    lines = [f"  {name} = {{{words}}}," for name, words in fields.items() if words]
    return "\n".join([f"@misc{{{re.sub('[^a-z]', '', plain)}{source.year},", *lines, "}"])


def preset_page(preset: Preset) -> Document:
    """The page of a preset: its measures, and why its source uses them."""
    return _page(
        f"Preset {preset.name}",
        "",
        ("use", f"metrics: {preset.name}"),
        ("measures", ", ".join(preset.metrics)),
        ("limit", f"on {preset.metrics[0]}"),
        ("why", f"{preset.why[0].upper()}{preset.why[1:]}."),
        ("source", str(preset.source)),
    )


def notion_page(notion: UnsupportedMetric) -> Document:
    """The page of a notion that is not a metric here: the reason, and what to use instead."""
    title, *others = (name.replace("_", " ") for name in notion.names)
    return _page(
        f"{title[0].upper()}{title[1:]}",
        f"Not a metric here, because {notion.why}.",
        ("also", ", ".join(others)),
        ("nearest", ", ".join(notion.nearest)),
        ("how", notion.how),
        ("source", notion.source),
    )


def _page(title: str, means: str, *pairs: tuple[str, str]) -> Document:
    """A heading, its meaning, and the facts that are not empty."""
    meaning = [Paragraph(means)] if means else []
    return (Heading(title), *meaning, Facts([pair for pair in pairs if pair[1]]))


def facts(definition: Definition) -> list[tuple[str, str]]:
    """The facts about a metric, by name."""
    joined = {"also": ", ".join(definition.aliases), "takes": ", ".join(definition.takes)}
    facts = [
        (_TITLES.get(name, name), joined[name] if name in joined else getattr(definition, name))
        for name in _FACTS
    ]
    return [fact for fact in facts if fact[1]]


def index(definitions: Sequence[Definition]) -> Document:
    """All metrics, a line each."""
    columns: tuple[Column[Definition], ...] = (
        text_column("id", lambda row: row.id),
        text_column("family", lambda row: row.family),
        text_column("what it says", lambda row: row.means),
    )
    return (
        Heading("Metrics"),
        tabulate("", columns, definitions),
        Paragraph("fairaudit explain NAME explains a metric, an interval, a test or a correction."),
    )


def markdown(definitions: Sequence[Definition]) -> str:
    """The pages of all metrics as one Markdown document, which is written to docs/metrics.md."""
    from fairaudit.report.html import environment

    directions = [
        (
            [metric.id for metric in GROUP_METRICS if metric.better is better],
            _WORSE_OFF[direction.benefit],
            _WORSE_OFF[direction.burden],
            direction.why,
        )
        for better, direction in PREFERENCES.items()
    ]
    return (
        environment()
        .get_template("metrics.md.jinja")
        .render(
            definitions=definitions,
            facts=facts,
            directions=directions,
            methods=METHODS,
            presets=PRESETS,
            ranges=FAIR_RANGES,
            unsupported=UNSUPPORTED_METRICS,
        )
    )


_WORSE_OFF = {
    Better.HIGHER: "the lower rate",
    Better.LOWER: "the higher rate",
    Better.NEITHER: "no answer",
}

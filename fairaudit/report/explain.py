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
from fairaudit.result import Definition

_WITHOUT_REASON = re.compile(r"none: [^;]*")
"""Texts without an interval or a test: they are reasons, not names of methods."""
_FACTS = (
    "id", "also", "family", "compares", "use", "formula", "values", "direction", "needs", "takes",
    "interval", "test", "example", "caution", "elsewhere", "source",
)  # fmt: skip
_TITLES = {"takes": "options", "elsewhere": "notes"}
"""Facts of a page whose title is not the name of the field."""


def page(definition: Definition) -> Document:
    """The page of one metric, with a line on each interval and test that it is given by."""
    named = find_methods(_WITHOUT_REASON.sub("", f"{definition.interval}; {definition.test}"))
    lines = ((method.name, f"{method.means} Source: {method.source}.") for method in named)
    return _page(definition.title, definition.means, *facts(definition), *lines)


def method_page(method: Method) -> Document:
    """The page of an interval, a test or a correction."""
    pairs = (("also", ", ".join(method.also)), ("source", str(method.source)))
    return _page(method.name, method.means, *pairs)


def bibtex(source: Citation) -> str:
    """A source as a BibTeX entry; of authors it has the names that the source gives."""
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
    """The page of a notion that is not a metric here: why, and what to ask instead."""
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
    """A heading, what it means, and the facts that say something."""
    meaning = [Paragraph(means)] if means else []
    return (Heading(title), *meaning, Facts([pair for pair in pairs if pair[1]]))


def facts(definition: Definition) -> list[tuple[str, str]]:
    """What there is to say of a metric, by name."""
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
    """The pages of all metrics in one Markdown document, as docs/metrics.md has them."""
    origin = (
        "This page is generated by `fairaudit metrics --format markdown`. `fairaudit explain "
        "NAME` prints one entry. Link to a metric by its id: `metrics.md#impact_ratio`."
    )
    lines = ["# The metrics", "", origin, ""]
    lines += ["## One value over all groups", "", _AGGREGATES, "", *_directions()]
    for definition in definitions:
        lines += ["", f'<a id="{definition.id}"></a>', ""]
        lines += [f"## {definition.title}", "", definition.means, ""]
        for name, text in facts(definition):
            shown = text.replace("<", "\\<").replace("|", "\\|")
            if name in {"id", "also", "options"}:
                shown = ", ".join(f"`{word}`" for word in text.split(", "))
            lines.append(f"- **{name}**: {f'`{text}`' if name == 'formula' else shown}")
    lines += ["", "## Intervals, tests and corrections", ""]
    lines += [f"- **{method.name}**: {method.means} Source: {method.source}." for method in METHODS]
    lines += ["", "## Presets and fair ranges", "", _PRESETS, ""]
    lines += [
        f"- `{preset.name}`: {', '.join(f'`{name}`' for name in preset.metrics)}. "
        f"Why: {preset.why}. Source: {preset.source}."
        for preset in PRESETS
    ]
    lines += [
        f"- `flags: {ranges.name}` marks ratios outside {ranges.ratio[0]} to {ranges.ratio[1]} "
        f"and differences of more than {ranges.part} of their possible range. Source: "
        f"{ranges.source}."
        for ranges in FAIR_RANGES
    ]
    lines += ["", "## Not measured here", "", _NOT_HERE, ""]
    for metric in UNSUPPORTED_METRICS:
        also = ", ".join(f"`{name}`" for name in metric.names)
        lines.append(f"- {also}: not here, because {metric.advice}. Source: {metric.source}.")
    return "\n".join([*lines, ""])


_AGGREGATES = (
    "`aggregate` combines the values of a measure that compares each group with a reference. For "
    "differences, `mean` is the mean of the absolute values over all groups except the "
    "reference, weighted by people in the denominator (if the value at parity is not 0, of the "
    "distances from it). For ratios, it is exp of the mean |ln ratio| with the same weights: 1 "
    "at parity, never below, and 1.25 if all groups have a ratio of 0.8. `sum` adds these "
    "distances, `max` is the largest and `min` the smallest of them; for ratios, `min` is the "
    "smallest of the ratios and their inverses. With `overall` as the reference, this and `max` "
    "of differences are what Fairlearn calls `to_overall`. Chance alone moves all of them away "
    "from parity, more so for small groups."
)
"""What `aggregate` makes of the values of all groups."""
_PRESETS = (
    "A preset is an entry of `metrics`, such as `metrics: survey`. It computes each of its "
    "measures for which the spec has the data, for every model unless `of` names one. A limit "
    "applies to its first measure. `flags` at the top of a spec marks values in the report and "
    "does not change the verdict."
)
_NOT_HERE = (
    "Well-known names that are not metrics here, with the reason and the closest measures. "
    "`fairaudit explain NAME` prints the same."
)


def _directions() -> list[str]:
    """Which side of each rate is worse off, of a benefit and of a burden, as a table."""
    rule = (
        "This rule decides which group is worse off. Findings name that group, tables list it "
        "first, and a comparison of two results uses the rule to call a change better or worse. "
        "The rule asks who is harmed by an outcome or an error. The positive outcome is a "
        "benefit, or a burden with `favourable: false`. If the rule has no answer, the report "
        "names no group. A measure follows the rate that determines it; a mean of several rates "
        "has no answer. If a metric counts a single `class`, the rule does not know whether this "
        "class is a benefit: only rates that do not depend on this have an answer."
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
        rates = ", ".join(f"`{metric.id}`" for metric in GROUP_METRICS if metric.better is better)
        sides = (_WORSE_OFF[direction.benefit], _WORSE_OFF[direction.burden])
        lines.append(f"| {' | '.join((rates, *sides, direction.why))} |")
    return lines


_WORSE_OFF = {
    Better.HIGHER: "the lower rate",
    Better.LOWER: "the higher rate",
    Better.NEITHER: "no answer",
}

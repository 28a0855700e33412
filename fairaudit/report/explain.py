"""The pages of `fairaudit explain`: metric, method, preset; docs/metrics.md."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fairaudit.evidence.methods import METHODS, Method, find_methods
from fairaudit.metrics import FAIR_RANGES, GROUP_METRICS, PREFERENCES, PRESETS, Better, Preset
from fairaudit.metrics.unsupported import UNSUPPORTED_METRICS, UnsupportedMetric
from fairaudit.report.blocks import (
    Column,
    Document,
    Facts,
    Heading,
    Paragraph,
    tabulate,
    text_column,
)
from fairaudit.result import Definition

_WITHOUT_REASON = re.compile(r"none: [^;]*")
"""Why there is no interval, or no test: no name of one."""
_FACTS = (
    "id", "also", "family", "compares", "use", "formula", "values", "direction", "needs", "takes",
    "interval", "test", "example", "caution", "elsewhere", "source",
)  # fmt: skip


def page(definition: Definition) -> Document:
    """The page of one metric, with a line on each interval and test that it is given by."""
    named = find_methods(_WITHOUT_REASON.sub("", f"{definition.interval}; {definition.test}"))
    lines = ((method.name, f"{method.means} Source: {method.source}.") for method in named)
    return _page(definition.title, definition.means, *facts(definition), *lines)


def method_page(method: Method) -> Document:
    """The page of an interval, a test or a correction."""
    pairs = (("also", ", ".join(method.also)), ("source", str(method.source)))
    return _page(method.name, method.means, *pairs)


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
    """The page of a notion that is no metric here: why, and what to ask in its place."""
    title, *others = (name.replace("_", " ") for name in notion.names)
    return _page(
        f"{title[0].upper()}{title[1:]}",
        f"No metric here, because {notion.why}.",
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
        (name, joined[name] if name in joined else getattr(definition, name)) for name in _FACTS
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
        Paragraph(
            "fairaudit explain NAME prints one page on a metric, or what the name of an interval, "
            "a test or a correction means."
        ),
    )


def markdown(definitions: Sequence[Definition]) -> str:
    """The pages of all metrics in one Markdown document, as docs/metrics.md has them."""
    origin = (
        "Printed by `fairaudit metrics --format markdown` from the records that compute them; "
        "`fairaudit explain NAME` prints one of these pages. A link may name a metric by its id: "
        "`metrics.md#impact_ratio`."
    )
    lines = ["# The metrics", "", origin, ""]
    lines += ["## One value over all groups", "", _AGGREGATES, "", *_directions()]
    for definition in definitions:
        lines += ["", f'<a id="{definition.id}"></a>', ""]
        lines += [f"## {definition.title}", "", definition.means, ""]
        lines += [f"- **{name}**: {_as_code(name, text)}" for name, text in facts(definition)]
    lines += ["", "## Intervals, tests and corrections", ""]
    lines += [f"- **{method.name}**: {method.means} Source: {method.source}." for method in METHODS]
    lines += ["", "## Presets and fair ranges", "", _PRESETS, ""]
    lines += [
        f"- `{preset.name}`: {', '.join(f'`{name}`' for name in preset.metrics)}. "
        f"Why: {preset.why}. Source: {preset.source}."
        for preset in PRESETS
    ]
    lines += [
        f"- `flags: {ranges.name}` marks ratios outside {ranges.ratio[0]} to {ranges.ratio[1]} and "
        f"differences of more than {ranges.part} of what they can be. Source: {ranges.source}."
        for ranges in FAIR_RANGES
    ]
    lines += ["", "## Not measured here", "", _NOT_HERE, ""]
    for metric in UNSUPPORTED_METRICS:
        also = ", ".join(f"`{name}`" for name in metric.names)
        lines.append(f"- {also}: not here, because {metric.advice}. Source: {metric.source}.")
    return "\n".join([*lines, ""])


_AGGREGATES = (
    "`aggregate` makes one value of a measure that compares each group with a reference. Of "
    "differences `mean` is the mean of their absolute values over the groups other than the "
    "reference, weighted by people in the denominator (of a measure whose value at parity is "
    "another number, of the distances from that). Of ratios it is exp of the mean |ln ratio|, "
    "weighted alike: 1 at parity, never below, and 1.25 for groups that all have a ratio of "
    "0.8. `sum` adds the same departures up, whoever has them; `max` is the largest of them; "
    "`min` the least, and of ratios the least of the ratios and their inverses: against "
    "`overall` that and `max` of differences are what Fairlearn calls `to_overall`. Chance "
    "alone moves all of them away from parity, the more the smaller the groups."
)
"""What `aggregate` makes of the values of all groups."""
_PRESETS = (
    "A preset is an entry of `metrics`, such as `metrics: survey`: each of its measures that the "
    "spec has the data for, of every model unless `of` names one. A limit is on its first "
    "measure. `flags` at the top of a spec marks values in the report: no limit, and no verdict."
)
_NOT_HERE = (
    "Well-known names that are no metric here, with the reason and the nearest measures; "
    "`fairaudit explain NAME` says so, too."
)


def _directions() -> list[str]:
    """Which side of each rate is worse off, of a benefit and of a burden, as a table."""
    rule = (
        "A finding names the group that is worse off, tables put it first, and a comparison of two "
        "results calls a change better or worse, by this rule alone. It asks whom an outcome, or "
        "an error, harms. The positive is a benefit, or a burden where the spec says "
        "`favourable: false`. Where there is no answer the report names nobody. A measure follows "
        "the rate that decides it; a mean of several rates names nobody. Of one `class` of "
        "several it is not known whether it is a benefit: only rates that do not depend on that "
        "have an answer."
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


def _as_code(name: str, text: str) -> str:
    if name in {"id", "also", "takes"}:
        return ", ".join(f"`{word}`" for word in text.split(", "))
    return f"`{text}`" if name == "formula" else text.replace("<", "\\<").replace("|", "\\|")

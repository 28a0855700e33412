"""Format `html` (entry point): one page that needs no network and no font."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import count

import jinja2
from markupsafe import Markup, escape

from fairaudit.base import __version__
from fairaudit.base.names import copied, printable
from fairaudit.report import checks, numbers, summary
from fairaudit.report.blocks import Cell, Document, Entries, Figure
from fairaudit.report.diagnostics import by_label
from fairaudit.report.html import plots
from fairaudit.report.html.outline import (
    Front,
    Names,
    Outline,
    front,
    is_long,
    is_quiet,
    is_short,
    outlined,
)
from fairaudit.report.markup import RIGHT_TO_LEFT
from fairaudit.report.provenance import link_to_metric
from fairaudit.result import Answer, AuditResult

_LETTERS = 22
"""The number of letters of a name that fit below an axis."""
_LONGEST_NAME = 120
_FRAGMENTS = count(1)
"""Numbers for the elements of a notebook, which need distinct ids."""
_PLOTS = (
    "axis_names", "dots", "flat_scale", "is_slanted", "legend", "line_scale", "looks",
    "panels", "row_scale", "shade", "shape", "strokes",
)  # fmt: skip
"""The functions that the macros of pictures call."""


def render(answers: Sequence[Answer], *, all_rows: bool = True, full: bool = False) -> str:
    """The page of one answer; of several their summary. With `full` all of it is printed."""
    if len(answers) > 1:
        return page(summary.document(answers, all_rows=all_rows, has_headlines=True))
    (answer,) = answers
    document = summary.report(answers, all_rows=all_rows)
    if not isinstance(answer.result, AuditResult):
        return page(document)
    # The top of the page has the verdict, also in place of a banner, and the result of each check.
    title, verdict, *others = document
    banner = verdict if isinstance(verdict, Entries) else Entries([(Cell(""), "")])
    below = (title, banner, *(b for b in others if not (isinstance(b, Entries) and b.is_titled)))
    outline = outlined(below)
    return _page(outline, front(answer.result, answer.data, outline), full=full)


def pictures(result: AuditResult) -> dict[str, Figure]:
    """The pictures of the page of a result by their names, those of checks first."""
    outline = outlined(summary.report([Answer("", None, result)], all_rows=True))
    top = front(result, None, outline)
    found = [
        (f"check {copied(line.diagnostic.finding.check.id)}", line.picture)
        for line in (*top.open, *top.passed)
        if line.picture is not None
    ]
    found += [(place.block.title, place) for place in outline.figures()]
    names = Names()
    return {names.name(words, _LONGEST_NAME): place.block for words, place in found}


def page(document: Document) -> str:
    """A page of any document."""
    return _page(outlined(document), None)


def fragment(result: AuditResult) -> str:
    """The top of the page of a result as an element with its style, for a notebook."""
    outline = outlined(summary.report([Answer("", None, result)]))
    template = _environment().get_template("fragment.html.jinja")
    return template.render(
        front=front(result, None, outline, f"audit-{next(_FRAGMENTS)}-"),
        style=Markup(_style("fragment.css.jinja")),  # noqa: S704  # our own file
    )


def _page(outline: Outline, top: Front | None, *, full: bool = True) -> str:
    style = _style("style.css.jinja")
    script = files(__name__).joinpath("sort.js").read_text(encoding="utf-8")
    template = _environment().get_template("page.html.jinja")
    return template.render(
        outline=outline,
        front=top,
        full=full,
        title=plain(outline.title),
        style=Markup(style),  # noqa: S704  # our own file
        script=Markup(script),  # noqa: S704  # the same
        style_hash=_hash(style),
        script_hash=_hash(script),
        version=__version__,
    )


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("fairaudit.report.html", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        signs=signs,
        plain=plain,
        titled=titled,
        linked=linked,
        # A name below an axis: of a long one the middle is left out.
        short_name=lambda name: plain(numbers.short(name, _LETTERS)),
        is_quiet=is_quiet,
        is_short=is_short,
        is_long=is_long,
        kind_of=lambda picture: type(picture).__name__.lower(),
        is_finite=math.isfinite,
        status_cell=checks.status_cell,
        subject=checks.title,
        copied=copied,
        by_label=by_label,
        link_to_metric=link_to_metric,
        **{name: getattr(plots, name) for name in _PLOTS},
    )
    environment.globals["shapes"] = plots.SHAPES
    return environment


@cache
def _style(template: str) -> str:
    """A style sheet, with the colours of the palette as variables and as those of pictures."""
    return _environment().get_template(template).render(colours=plots.COLOURS)


def _hash(text: str) -> str:
    """The hash by which a content security policy allows a style or a script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


_LONGEST = 160
"""A longer word is shortened, because the page may repeat it a hundred times."""
_KEPT = 60
_WORD = re.compile(rf"\S{{{_LONGEST + 1},}}")
_ADDRESS = re.compile(
    r"(https://[A-Za-z0-9][A-Za-z0-9./_~%#?=&+-]{0,150}[A-Za-z0-9/])(?![^\s.,;)])"
)
"""ASCII characters that need no quoting; the full stop of a sentence is excluded."""


def plain(words: str) -> str:
    """The words with control characters spelled out and overlong ones shortened."""
    return _WORD.sub(_shortened, printable(words.replace("\n", " ")))


@lru_cache(maxsize=4096)  # a page says the same names again and again
def signs(words: str) -> Markup:
    """The words as markup: line breaks are kept, text from right to left is isolated."""
    if words.isspace():
        return escape(repr(words))  # a blank level has a name, too
    lines = [_WORD.sub(_shortened, printable(line)) for line in words.split("\n")]
    return Markup("<br>").join(map(_isolated, lines))


def titled(words: str) -> Markup:
    """A statement with what it is about made strong: all before its first colon."""
    about, colon, rest = words.partition(": ")
    if not colon:
        return signs(words)
    return Markup("<strong>{}:</strong> {}").format(signs(about), signs(rest))


def linked(words: str) -> Markup:
    """The words as markup, with addresses as links that say where they lead."""
    parts = _ADDRESS.split(words)
    pieces = [
        Markup('<a href="{0}" rel="noreferrer">{0}</a>').format(part) if index % 2 else signs(part)
        for index, part in enumerate(parts)
        if part
    ]
    return Markup().join(pieces)


def _shortened(match: re.Match[str]) -> str:
    word = match[0]
    return f"{word[:_KEPT]}…{word[-_KEPT // 3 :]} ({len(word):,} characters)"


def _isolated(line: str) -> Markup:
    """The line with each run of right-to-left characters in a `bdi`."""
    runs = RIGHT_TO_LEFT.split(line)
    bdi = Markup("<bdi>{}</bdi>")
    parts = (bdi.format(run) if index % 2 else escape(run) for index, run in enumerate(runs))
    return Markup().join(parts)

"""Format `html` (entry point): one page that needs no network and no font."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from itertools import count

import jinja2
from markupsafe import Markup

from fairaudit.base.version import __version__
from fairaudit.report import summary
from fairaudit.report.blocks import Document, Entries
from fairaudit.report.html import escaping, plots
from fairaudit.report.html.outline import (
    Front,
    Outline,
    front,
    is_long,
    is_quiet,
    is_short,
    outlined,
)
from fairaudit.result import Answer, AuditResult

_FRAGMENTS = count(1)
"""Numbers for the elements of a notebook, whose ids may not be alike."""
_PLOTS = (
    "axis_names", "boxes", "dots", "flat_scale", "is_slanted", "legend", "line_scale", "looks",
    "panels", "row_scale", "shade", "shape", "short_name", "strokes",
)  # fmt: skip
"""The functions that the macros of pictures call."""


def render(answers: Sequence[Answer], *, all_rows: bool = True) -> str:
    """The page of one answer; of several their summary."""
    if len(answers) > 1:
        return page(summary.document(answers, all_rows=all_rows, has_headlines=True))
    (answer,) = answers
    document = summary.report(answers, all_rows=all_rows)
    if not isinstance(answer.result, AuditResult):
        return page(document)
    # What came of each check is told by the findings in front.
    below = tuple(b for b in document if not (isinstance(b, Entries) and b.is_titled))
    outline = outlined(below)
    return _page(outline, front(answer.result, answer.data, outline))


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


def _page(outline: Outline, top: Front | None) -> str:
    style = _style("style.css.jinja")
    script = files(__name__).joinpath("sort.js").read_text(encoding="utf-8")
    template = _environment().get_template("page.html.jinja")
    return template.render(
        outline=outline,
        front=top,
        title=escaping.plain(outline.title),
        style=Markup(style),  # noqa: S704  # our own file
        script=Markup(script),  # noqa: S704  # the same
        style_hash=_hash(style),
        script_hash=_hash(script),
        version=__version__,
    )


def spell(text: str, encoding: str) -> str:
    """A page in signs that an encoding has: all others are references to their numbers."""
    return text.encode(encoding, "xmlcharrefreplace").decode(encoding)


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
        signs=escaping.signs,
        plain=escaping.plain,
        titled=escaping.titled,
        linked=escaping.linked,
        is_quiet=is_quiet,
        is_short=is_short,
        is_long=is_long,
        kind_of=lambda picture: type(picture).__name__.lower(),
        is_finite=math.isfinite,
        **{name: getattr(plots, name) for name in _PLOTS},
    )
    environment.globals["shapes"] = plots.SHAPES
    return environment


@cache
def _style(template: str) -> str:
    """A style sheet, with the colours of the palette as variables and as those of pictures."""
    return _environment().get_template(template).render(colours=plots.COLOURS)


def _hash(text: str) -> str:
    """What a content security policy allows a style or a script by."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"

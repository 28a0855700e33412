"""`fairaudit explain`, `metrics` and `schema`: their options; metrics in words, JSON Schemas."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from fairaudit.base.errors import UsageError
from fairaudit.cli.app import ColorChoice, app
from fairaudit.cli.output import print_document
from fairaudit.cli.streams import Color

if TYPE_CHECKING:
    from fairaudit.result import Definition


class _Listing(StrEnum):
    TERMINAL = "terminal"
    MARKDOWN = "markdown"


class _Form(StrEnum):
    JSON = "json"
    MARKDOWN = "markdown"


class _Schema(StrEnum):
    SPEC = "spec"
    RESULT = "result"
    COMPARISON = "comparison"
    CHECK = "check"


@app.command()
def explain(
    name: Annotated[
        str | None,
        typer.Argument(help="A metric, preset, interval or test; without it, all metrics."),
    ] = None,
    bibtex: Annotated[
        bool, typer.Option("--bibtex", help="Print the source as a BibTeX entry.")
    ] = False,
    color: ColorChoice = Color.AUTO,
) -> None:
    """Explain a metric, an interval or a test: what it says, when it misleads, source."""
    from fairaudit import metrics as catalogue
    from fairaudit.evidence import methods
    from fairaudit.report import explain as pages
    from fairaudit.result import definition

    if name is None and bibtex:
        raise UsageError("--bibtex needs a name", "fairaudit explain NAME --bibtex")
    if name is None:
        print_document(pages.index(_definitions()), color)
        return
    record = (
        catalogue.find_metric(name)
        or catalogue.find_metric(catalogue.normalize_name(name))
        or catalogue.find_comparison(name)
    )
    preset = catalogue.find_preset(name)
    sourced = preset or record or methods.find_method(name)
    if bibtex and sourced is not None:
        sys.stdout.write(f"{pages.bibtex(sourced.source)}\n")
        return
    if preset is not None:
        print_document(pages.preset_page(preset), color)
        return
    if record is not None:
        print_document(pages.page(definition(record, worked=True)), color)
    elif (method := methods.find_method(name)) is not None:
        print_document(pages.method_page(method), color)
    elif (notion := catalogue.find_unsupported(name)) is not None and not bibtex:
        print_document(pages.notion_page(notion), color)
    else:
        close = catalogue.suggest(name) or methods.suggest_method(name)
        raise UsageError(f"unknown metric {name!r}{close}", "`fairaudit metrics` lists all metrics")


@app.command()
def metrics(
    form: Annotated[_Listing, typer.Option("--format", help="terminal or markdown")] = (
        _Listing.TERMINAL
    ),
    color: ColorChoice = Color.AUTO,
) -> None:
    """List all metrics, or print the page of each in Markdown."""
    from fairaudit.report import explain as pages

    if form is _Listing.MARKDOWN:
        sys.stdout.write(pages.markdown(_definitions()))
    else:
        print_document(pages.index(_definitions()), color)


def _definitions() -> list[Definition]:
    """The words of every metric and comparison."""
    from fairaudit import metrics as catalogue
    from fairaudit.result import definition

    every = (*catalogue.CATALOGUE, *catalogue.COMPARISONS)
    return [definition(record, worked=True) for record in every]


@app.command()
def schema(
    of: Annotated[_Schema, typer.Argument(help="spec, result, comparison or check")] = _Schema.SPEC,
    form: Annotated[_Form, typer.Option("--format", help="json, or markdown of the spec")] = (
        _Form.JSON
    ),
) -> None:
    """Print the JSON Schema of the spec, of a JSON report, a comparison or a check."""
    import json

    from fairaudit.spec import editor_schema
    from fairaudit.tools import document_schemas

    if form is _Form.MARKDOWN:
        if of is not _Schema.SPEC:
            raise UsageError(
                f"Markdown output exists only for the schema of a spec, not for {of}",
                "leave out --format",
            )
        sys.stdout.write(editor_schema.markdown())
        return
    tree = editor_schema.json_schema() if of is _Schema.SPEC else document_schemas.schema(of)
    sys.stdout.write(json.dumps(tree, indent=1) + "\n")

"""The commands `fairaudit init`, `explain`, `metrics` and `schema`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fairaudit.base import names
from fairaudit.base.errors import UsageError
from fairaudit.base.inputs import TITLES
from fairaudit.base.trust import refuse_path
from fairaudit.cli.app import (
    ColorChoice,
    Debug,
    Untrusted,
    app,
    column_option,
    show_examples,
    split_names,
)
from fairaudit.cli.files import Identity, Outputs
from fairaudit.cli.output import print_document
from fairaudit.cli.streams import silenced, write_line

if TYPE_CHECKING:
    from fairaudit.counting.columns import CsvFormat
    from fairaudit.counting.sources.profiles import FileProfile
    from fairaudit.result.rows import Definition
    from fairaudit.tools.init import Choices


_Columns = Annotated[
    list[str] | None,
    typer.Option(
        help="The protected columns, such as sex,race. Default: list candidates and stop."
    ),
]
_Label = Annotated[str | None, column_option("The column with the true outcome.")]
_Prediction = Annotated[str | None, column_option("The column with the prediction of a model.")]
_Decision = Annotated[str | None, column_option("The column with the decision.")]
_Score = Annotated[str | None, column_option("The column with the score of a model.")]
_Count = Annotated[str | None, column_option("The column with the number of people in a row.")]
_Weight = Annotated[str | None, column_option("The column with the survey weight of a row.")]
_Positives = Annotated[
    list[str] | None,
    typer.Option(
        "--positive", help="The positive value of an outcome, or a threshold such as '>=0.5'."
    ),
]
_Counts = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LEVEL=COLUMN",
        help="For a table of counts: the column with the count of a level, such as "
        "selected=n_selected. Repeat it for the total: total=n.",
    ),
]
_Strata = Annotated[
    list[str] | None,
    typer.Option(help="Also compare groups within each value of these columns, such as branch."),
]
_Output = Annotated[Path | None, typer.Option("-o", "--output", help="The spec file to write.")]
_Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing spec.")]
_Header = Annotated[
    str | None, typer.Option(help="The column names of a file without a header, such as a,b,c.")
]
_HasHeader = Annotated[
    bool | None,
    typer.Option("--has-header/--no-header", help="Whether the first line names the columns."),
]


@app.command(
    "init",
    epilog=show_examples(
        "init data.csv --protected group --decision y --positive 1 -o new.yaml",
        "init data.csv --protected group --label y --positive 1 --score n",
    ),
)
def scaffold(  # noqa: PLR0913, PLR0917  # the options of the command
    data: Annotated[Path, typer.Argument(help=f"A {TITLES} file.")],
    output: _Output = None,
    force: _Force = False,
    protected: _Columns = None,
    label: _Label = None,
    prediction: _Prediction = None,
    decision: _Decision = None,
    score: _Score = None,
    positive: _Positives = None,
    count: _Count = None,
    weight: _Weight = None,
    counts: _Counts = None,
    strata: _Strata = None,
    title: Annotated[str | None, typer.Option(help="The title of the report.")] = None,
    header: _Header = None,
    has_header: _HasHeader = None,
    separator: Annotated[str | None, typer.Option(help="The separator between values.")] = None,
    decimal: Annotated[str | None, typer.Option(help="The decimal separator.")] = None,
    thousands: Annotated[str | None, typer.Option(help="The thousands separator.")] = None,
    encoding: Annotated[str | None, typer.Option(help="The encoding, such as latin-1.")] = None,
    sheet: Annotated[str | None, typer.Option(help="The sheet of an Excel workbook.")] = None,
    untrusted: Untrusted = False,  # noqa: ARG001  # read before parsing
    debug: Debug = False,
) -> None:
    """Write a first spec for a data file, without limits.

    It proposes columns by their names and values. Name the protected columns with --protected.
    """
    from fairaudit.counting.sources import profiles
    from fairaudit.tools.init import Choices, Role, complete, is_like_count, pair_counts

    _refuse(data, output, force=force)
    named = (None, label, prediction, decision, score, count, weight)
    columns = {role: name for role, name in zip(Role, named, strict=True) if name is not None}
    pairs = [text.partition("=") for text in split_names(counts or ())]
    if any(not sign for _, sign, _ in pairs):
        hint = "for example: --counts selected=n --counts total=m"
        raise UsageError("--counts expects LEVEL=COLUMN", hint)
    choices = Choices(
        protected=split_names(protected or ()),
        columns=columns,
        counts={level: name for level, _, name in pairs},
        positives=tuple(positive or ()),
        strata=split_names(strata or ()),
    )
    with silenced(debug=debug):
        form = profiles.guess_format(
            data,
            separator=separator,
            decimal=decimal,
            thousands=thousands,
            encoding=encoding,
            header=split_names([header] if header else []),
            has_header=has_header,
            sheet=sheet,
        )
        profile = profiles.profile_file(data, form, is_like_count, pair_counts)
    _write(data, output, complete(choices, profile), (form, profile), title or data.name)


def _write(
    data: Path,
    output: Path | None,
    choices: Choices,
    file: tuple[CsvFormat, FileProfile],
    title: str,
) -> None:
    """Writes the spec after checking that a run can read it; prints the next commands."""
    from fairaudit.spec import parse
    from fairaudit.tools.init.writing import write_spec

    form, profile = file
    path = str(data)
    if not data.is_absolute():
        # In a spec, a path is relative to the folder of the spec.
        base = Path.cwd() if output is None else output.parent.absolute()
        path = os.path.relpath(data.absolute(), base)
    text = write_spec(profile, form, choices, data=path, title=title)
    parse(text, str(output or "spec.yaml"))
    if output is None:
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        Outputs((output,)).write(output, text)
    spec = names.copied(str(output)) if output else "SPEC"
    written = f"{spec} is written; " if output else ""
    write_line(f"{written}next: fairaudit check {spec}, then fairaudit run {spec}")


def _refuse(data: Path, output: Path | None, *, force: bool) -> None:
    """Raises `UsageError` for data that is not a single file, and for outputs that exist."""
    if data.parts[1:] and data.parts[0][2:].endswith(":"):  # longer than the letter of a drive
        hint = "export the rows as CSV or Parquet; the spec can then use the address in `data:`"
        raise UsageError(f"{data}: init reads files, not addresses", hint)
    try:
        refuse_path(data)
    except OSError as error:
        raise UsageError(f"{data}: {error.strerror}", "name another file") from error
    if data.is_dir():
        raise UsageError(
            f"{data} is a folder",
            "name one file of the folder; `data:` in the spec can name the folder",
        )
    if output is None:
        return
    if output.is_dir() or not output.parent.is_dir():
        raise UsageError(f"-o {output} is not a file", "name a file")
    if output.exists() and not force:
        raise UsageError(f"-o {output}: the file already exists", "--force overwrites it")
    if output.exists() and Identity.of(output) == Identity.of(data):
        raise UsageError(f"-o {output}: this is the data file", "name another file")


@app.command()
def explain(
    name: Annotated[
        str | None,
        typer.Argument(help="A metric, preset, interval or test; without it, all metrics."),
    ] = None,
    bibtex: Annotated[
        bool, typer.Option("--bibtex", help="Print the source as a BibTeX entry.")
    ] = False,
    color: ColorChoice = "auto",
) -> None:
    """Explain a metric, an interval or a test.

    The page says what it measures, when it misleads, and which source defines it.
    """
    from fairaudit import metrics as catalogue
    from fairaudit.evidence import methods
    from fairaudit.metrics.other_names import find_preset, normalize_name
    from fairaudit.report import explain as pages
    from fairaudit.result.rows import definition

    if name is None and bibtex:
        raise UsageError("--bibtex needs a name", "fairaudit explain NAME --bibtex")
    if name is None:
        print_document(pages.index(_definitions()), color)
        return
    record = (
        catalogue.find_metric(name)
        or catalogue.find_metric(normalize_name(name))
        or catalogue.find_comparison(name)
    )
    preset = find_preset(name)
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
    form: Annotated[
        Literal["terminal", "markdown"], typer.Option("--format", help="What to print.")
    ] = "terminal",
    color: ColorChoice = "auto",
) -> None:
    """List all metrics; with --format markdown, explain each metric."""
    from fairaudit.report import explain as pages

    if form == "markdown":
        sys.stdout.write(pages.markdown(_definitions()))
    else:
        print_document(pages.index(_definitions()), color)


def _definitions() -> list[Definition]:
    """The definition of every metric and comparison."""
    from fairaudit.metrics import CATALOGUE
    from fairaudit.metrics.comparisons import COMPARISONS
    from fairaudit.result.rows import definition

    return [definition(record, worked=True) for record in (*CATALOGUE, *COMPARISONS)]


@app.command()
def schema(
    of: Annotated[
        Literal["spec", "result", "comparison", "check"],
        typer.Argument(help="Which document: spec, result, comparison or check."),
    ] = "spec",
) -> None:
    """Print the JSON Schema of the spec or of a report."""
    import json

    from fairaudit.spec import editor_schema
    from fairaudit.tools.compare import document_schema

    tree = editor_schema.json_schema() if of == "spec" else document_schema(of)
    sys.stdout.write(json.dumps(tree, indent=1) + "\n")

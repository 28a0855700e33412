"""`fairaudit run`: audits the data of a spec and gates by the exit code."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairaudit.cli import folder
from fairaudit.cli.app import Debug, Quiet, Request, Verbose, app
from fairaudit.cli.ending import end_by_verdict
from fairaudit.cli.output import (
    FILE_HELP,
    check_outputs,
    clear_outputs,
    format_named,
    print_report,
    write_reports,
)
from fairaudit.cli.streams import silenced
from fairaudit.errors import FairauditError, UsageError
from fairaudit.report import FORMATS

if TYPE_CHECKING:
    from fairaudit.progress import Progress


class _FailOn(StrEnum):
    FAIL = "fail"
    WARN = "warn"
    NEVER = "never"


_Specs = Annotated[list[Path], typer.Argument(help="The audit spec, a YAML file.")]
_Data = Annotated[
    str | None, typer.Option(help="Audit this file, folder or glob in place of the spec's.")
]
_FOLDER_HELP = "FOLDER/: a page and a JSON report for each audit, and an index."
_Output = Annotated[
    list[str] | None, typer.Option("-o", "--output", help=f"{FILE_HELP} {_FOLDER_HELP}")
]
_FORMATS = ", ".join(form.name for form in FORMATS)
_Format = Annotated[str, typer.Option("--format", help=f"What to print: {_FORMATS}.")]
_FailFrom = Annotated[_FailOn, typer.Option(help="From which status on the exit code is 1.")]
_Only = Annotated[list[str] | None, typer.Option(help="Judge only the check of this id.")]
_Baseline = Annotated[
    str | None, typer.Option(help="Fail only where worse than in this JSON report.")
]
_Tolerance = Annotated[
    str | None, typer.Option(help="Tolerated worsening against the baseline: 0.01.")
]

_Draws = Annotated[
    str | None, typer.Option(help="Draws of a posterior, for `model: draws`: theta.parquet.")
]


@app.command()
def run(  # noqa: PLR0913, PLR0917  # the options of the command
    context: typer.Context,
    spec: _Specs,
    data: _Data = None,
    output: _Output = None,
    format_name: _Format = "terminal",
    fail_on: _FailFrom = _FailOn.FAIL,
    only: _Only = None,
    baseline: _Baseline = None,
    tolerance: _Tolerance = None,
    draws: _Draws = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    debug: Debug = False,
) -> None:
    """Audit the data of a spec and gate by the exit code."""
    started = time.monotonic()
    paths = check_outputs(format_name, output or [])
    from fairaudit import batch

    request: Request = context.obj
    if paths:
        request.outputs = clear_outputs(
            paths,
            lambda: batch.list_inputs(spec, data, baseline, draws),
            lambda path: folder.report_paths(path, batch.list_audits(spec, data)),
        )
    if tolerance is not None and baseline is None:
        what = "--tolerance needs a --baseline"
        raise UsageError(what, "name the JSON report to compare with")
    with silenced(debug=debug), _progress(quiet=quiet) as progress:
        answers = batch.answer(
            spec,
            data,
            fail_on=fail_on.value,
            only=only or (),
            baseline=baseline,
            tolerance="0" if tolerance is None else tolerance,
            draws=draws,
            progress=progress,
        )
    if len(answers) == 1 and isinstance(answers[0].found, FairauditError):
        raise answers[0].found
    seconds = time.monotonic() - started
    write_reports(answers, request.outputs, request.outputs.paths)
    print_report(answers, format_named(format_name), all_rows=verbose, quiet=quiet)
    raise typer.Exit(end_by_verdict(answers, request, seconds))


@contextlib.contextmanager
def _progress(*, quiet: bool) -> Iterator[Progress]:
    """Shows how far a pass is on stderr, on a terminal only."""
    from fairaudit.progress import SILENT

    if quiet or not sys.stderr.isatty():
        yield SILENT
        return
    from fairaudit.cli.progress_bar import Bar

    with Bar(sys.stderr) as bar:
        yield bar

"""`fairaudit run`: the audit itself."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairaudit.cli import folder, step_summary
from fairaudit.cli.app import app
from fairaudit.cli.files import Outputs, begin
from fairaudit.cli.libraries import silenced
from fairaudit.cli.output import (
    FILE_HELP,
    FORMAT_HELP,
    check_formats,
    errors_in,
    print_answers,
    write_files,
)
from fairaudit.cli.streams import tell
from fairaudit.errors import FairauditError, UsageError

if TYPE_CHECKING:
    from fairaudit.progress import Progress


class _FailOn(StrEnum):
    FAIL = "fail"
    WARN = "warn"
    NEVER = "never"


@app.command()
def run(  # noqa: PLR0913, PLR0917  # the options of the command
    spec: Annotated[list[Path], typer.Argument(help="The audit spec, a YAML file.")],
    data: Annotated[
        str | None, typer.Option(help="Audit this file, folder or glob in place of the spec's.")
    ] = None,
    output: Annotated[
        list[str] | None,
        typer.Option(
            "-o",
            "--output",
            help=f"{FILE_HELP} FOLDER/: a page and a JSON report for each audit, and an index.",
        ),
    ] = None,
    form: Annotated[str, typer.Option("--format", help=FORMAT_HELP)] = "terminal",
    fail_on: Annotated[
        _FailOn, typer.Option(help="From which status on the exit code is 1.")
    ] = _FailOn.FAIL,
    only: Annotated[list[str] | None, typer.Option(help="Judge only the check of this id.")] = None,
    baseline: Annotated[
        str | None, typer.Option(help="Fail only where worse than in this JSON report.")
    ] = None,
    tolerance: Annotated[
        str | None, typer.Option(help="How much worse than the baseline is no failure: 0.01.")
    ] = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print no terminal report.")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Print every row.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """Audit the data of a spec and gate by the exit code."""
    started = time.monotonic()
    paths = check_formats(form, output or [])
    from fairaudit import batch
    from fairaudit.cli.lines import last_line, line_of, line_of_all, named
    from fairaudit.result import exit_code

    outputs = Outputs(())
    if paths:
        asked = batch.asked(spec, data)
        pages = [one for path in paths if path.is_dir() for one in folder.files_of(path, asked)]
        outputs = begin(paths, lambda: batch.inputs(spec, data, baseline), pages)
    with (
        errors_in(outputs, str(spec[0]), data),
        silenced(debug=debug),
        _shown(quiet=quiet) as progress,
    ):
        if tolerance is not None and baseline is None:
            what = "--tolerance needs a --baseline"
            raise UsageError(what, "name the JSON report to compare with")
        found = batch.answers(
            spec,
            data,
            fail_on=fail_on.value,
            only=only or (),
            baseline=baseline,
            tolerance="0" if tolerance is None else tolerance,
            progress=progress,
        )
    seconds = time.monotonic() - started
    # An error is written, too: a report of an earlier run would stay, and be taken for this one's.
    write_files(found, outputs)
    step_summary.append(found, chain(outputs.paths, batch.inputs(spec, data, baseline)))
    print_answers(found, form, all_rows=verbose, quiet=quiet)
    if len(found) > 1:
        for one in found:
            tell(line_of(one, seconds))
        tell(line_of_all(found, seconds))
        raise typer.Exit(exit_code(found))
    result = found[0].found
    if isinstance(result, FairauditError):
        raise result
    tell(last_line(result, named("spec", spec[0].name), seconds))
    raise typer.Exit(result.exit_code)


@contextlib.contextmanager
def _shown(*, quiet: bool) -> Iterator[Progress]:
    """Shows how far a pass is on stderr, on a terminal only."""
    from fairaudit.progress import SILENT

    if quiet or not sys.stderr.isatty():
        yield SILENT
        return
    from fairaudit.report.bar import Bar

    with Bar(sys.stderr) as bar:
        yield bar

"""The commands `fairaudit check` (a dry run of a spec) and `verify` (of published tables)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairaudit.base.errors import WORST_FIRST, FairauditError, NothingToAudit, UsageError
from fairaudit.cli.app import (
    ColorChoice,
    Debug,
    Request,
    Settings,
    Timeout,
    Untrusted,
    Verbose,
    app,
    column_option,
    show_examples,
    split_names,
)
from fairaudit.cli.auditing import DataOption, DrawsOption, SpecsArgument, name_specs, show_progress
from fairaudit.cli.output import (
    PAGE_FORMATS,
    Page,
    PageFormat,
    check_outputs,
    error_text,
    name_subject,
    write_json,
)
from fairaudit.cli.streams import silenced, write_line
from fairaudit.report import format_named

if TYPE_CHECKING:
    from fairaudit.report import Format

_NoData = Annotated[
    bool, typer.Option("--no-data", help="Check the specs without data, as a pre-commit hook does.")
]
_Explain = Annotated[
    bool,
    typer.Option("--explain-plan", help="Print each SQL statement for a database to stderr."),
]


@app.command(epilog=show_examples("check spec.yaml", "check spec.yaml --no-data -v"))
def check(  # noqa: PLR0913, PLR0917  # the options of the command
    context: typer.Context,
    spec: SpecsArgument = None,
    data: DataOption = None,
    no_data: _NoData = False,
    draws: DrawsOption = None,
    settings: Settings = None,
    timeout: Timeout = None,
    untrusted: Untrusted = False,  # noqa: ARG001  # read before parsing
    explain_plan: _Explain = False,
    format_name: PageFormat = "terminal",
    verbose: Verbose = False,
    color: ColorChoice = "auto",
    debug: Debug = False,
) -> None:
    """Show groups and checks of a spec, without a verdict.

    It lists levels, groups, and whether each check can be evaluated. `run` accepts every spec that
    `check` accepts. The exit code is 0, or the exit code of `run` if there is an error.
    """
    from fairaudit import codec
    from fairaudit.pipeline import batch
    from fairaudit.pipeline.audit_task import RunOptions
    from fairaudit.report import dry_run as pages
    from fairaudit.tools import dry_run

    request: Request = context.obj
    check_outputs(format_name, [], "a dry run", PAGE_FORMATS)
    specs = name_specs(spec, data)
    request.arguments = tuple(map(str, specs))
    form = format_named(format_name)
    listed = _list_audits(specs, data, form, no_data=no_data, explain_plan=explain_plan)
    options = RunOptions(draws=draws, settings=settings or (), timeout=timeout)
    codes = []
    for path, file in listed:
        started = time.monotonic()
        with (
            silenced(debug=debug),
            _statements_printed() if explain_plan else nullcontext(),
            show_progress(quiet=0, color=color) as progress,
        ):
            preview = dry_run.preview(
                Path(path), file, options, reads_data=not no_data, progress=progress
            )
        if isinstance(preview, FairauditError) and len(listed) == 1:
            raise preview
        subject = name_subject(path, None if len(listed) == 1 else batch.name_data(file))
        codes.append(preview.exit_code)
        if isinstance(preview, FairauditError):
            write_line(f"{error_text(preview)}\n{preview.verdict.upper()}  {subject}")
            continue
        # With `--no-data`, the terminal shows only the last line.
        if form.name != "terminal" or not no_data or verbose:
            document = partial(pages.document, preview, all_rows=verbose)
            Page(document, partial(write_json, codec.Preview(preview))).show(form, color)
        ending = f"{'NOTHING' if preview.exit_code else 'OK'}  {pages.line(preview)}"
        write_line(f"{ending}  {subject}  {time.monotonic() - started:.1f}s")
    raise typer.Exit(min(codes, key=WORST_FIRST.index))


@contextmanager
def _statements_printed() -> Iterator[None]:
    """Prints to stderr each SQL statement that is sent to a database."""
    import logging

    class Printer(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            write_line(record.getMessage())

    log, printed = logging.getLogger("fairaudit.statements"), Printer()
    log.setLevel(logging.INFO)
    log.addHandler(printed)
    try:
        yield
    finally:
        log.removeHandler(printed)


def _list_audits(
    specs: Sequence[Path], data: str | None, form: Format, *, no_data: bool, explain_plan: bool
) -> Sequence[tuple[str, str | None]]:
    """The spec and the data of each dry run; raises `UsageError` for contradictory options."""
    from fairaudit.pipeline import batch

    if no_data and data is not None:
        raise UsageError("--no-data and --data contradict each other", "leave one of them out")
    listed = [(str(path), None) for path in specs] if no_data else batch.list_audits(specs, data)
    if form.name == "json" and len(listed) > 1:
        raise UsageError(
            "JSON output covers only one spec and one data set", "name one spec and one data set"
        )
    if explain_plan and no_data:
        raise UsageError(
            "--explain-plan needs the data, and --no-data does not read it", "leave one out"
        )
    return listed


_Tables = Annotated[
    list[str],
    typer.Argument(metavar="TABLE.csv", help="Tables of groups; all must have the same people."),
]
_N = Annotated[str | None, column_option("The column with the number of people.")]
_Selected = Annotated[str | None, column_option("The column with the number of selected people.")]
_Rate = Annotated[str | None, column_option("The column with the selection rate.")]
_Ratio = Annotated[str | None, column_option("The column with the ratio to the highest rate.")]
_By = Annotated[
    list[str] | None,
    typer.Option(
        help="The columns of the groups, such as sex,race. Default: all columns without "
        "people, rates or ratios."
    ),
]
_Excluded = Annotated[
    str | None,
    typer.Option(
        help="A group with less than this share of the people, such as 2%, needs no ratio. Every "
        "larger group without a ratio is reported."
    ),
]


@app.command()
def verify(  # noqa: PLR0913, PLR0917  # the options of the command
    tables: _Tables,
    n: _N = None,
    selected: _Selected = None,
    rate: _Rate = None,
    ratio: _Ratio = None,
    by: _By = None,
    excluded_below: _Excluded = None,
    format_name: PageFormat = "terminal",
    color: ColorChoice = "auto",
    debug: Debug = False,  # noqa: ARG001  # read before parsing
) -> None:
    """Find contradictions in published tables.

    It compares rates, ratios and totals. The exit code is 1 if numbers contradict each other, and 3
    if the tables have no numbers that can be compared. An empty cell, or "total", in a group column
    means all levels of the column.
    """
    check_outputs(format_name, [], "a verification", PAGE_FORMATS)
    from fairaudit import codec
    from fairaudit.report import dry_run as pages
    from fairaudit.result import Verification
    from fairaudit.spec.reading import read_share
    from fairaudit.tools import verify as verifying

    columns = verifying.ColumnNames(n, selected, rate, ratio, split_names(by or ()))
    rows = [row for path in tables for row in verifying.read_table(path, columns)]
    try:
        below = None if excluded_below is None else read_share(excluded_below)
    except ValueError as error:
        what = f"--excluded-below {excluded_below!r} is not a share"
        raise UsageError(what, "use a share such as 2% or 0.02") from error
    faults = verifying.find_faults(rows, below)
    if not faults and not verifying.can_be_verified(rows, below):
        what = "no numbers of the table could contradict each other, so nothing was verified"
        raise NothingToAudit(what, "name more columns, for example --n COLUMN --rate COLUMN")
    unread = tuple(cell for row in rows for cell in row.unread)
    verification = Verification(tuple(tables), len(rows), faults, unread)
    page = Page(
        lambda: pages.verification_document(verification),
        lambda: write_json(codec.VerifiedTables(verification)),
    )
    page.show(format_named(format_name), color)
    write_line(f"{'FAIL' if faults else 'OK'}  {pages.verification_line(verification)}")
    raise typer.Exit(verification.exit_code)

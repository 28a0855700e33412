"""`fairaudit show`, `render` and `publish`: their options; which stored result they print."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairaudit.base import inputs, names
from fairaudit.base.errors import FairauditError, UsageError, did_you_mean
from fairaudit.cli.app import ColorChoice, Debug, Full, Request, Verbose, app
from fairaudit.cli.output import (
    FILE_HELP,
    Page,
    PageFormat,
    check_outputs,
    check_page_outputs,
    clear_outputs,
    format_of_path,
    print_document,
    print_report,
    print_text,
    write_reports,
)
from fairaudit.cli.streams import Color
from fairaudit.report import format_named

if TYPE_CHECKING:
    from fairaudit.judge import Finding
    from fairaudit.result import Answer, AuditResult

_MOST = 10
_Result = Annotated[str, typer.Argument(metavar="RESULT.json", help="A JSON report, or - (stdin).")]
_Output = Annotated[list[str] | None, typer.Option("-o", "--output", help=FILE_HELP)]
_Check = Annotated[
    str | None, typer.Argument(help="An id, a part of one, or a number of the list.")
]
_Data = Annotated[str | None, typer.Option(help="Choose a result by data file or spec.")]
_Format = Annotated[
    str | None,
    typer.Option("--format", help="What to print; terminal, unless a file is written."),
]


@app.command()
def render(
    context: typer.Context,
    result: _Result,
    output: _Output = None,
    format_name: _Format = None,
    full: Full = False,
    verbose: Verbose = False,
    color: ColorChoice = Color.AUTO,
    debug: Debug = False,  # noqa: ARG001  # read before parsing
) -> None:
    """Write the reports of a run anew, from its JSON report.

    The exit code is 0 where they are written, whatever the verdict: nothing is judged here.
    """
    request: Request = context.obj
    paths = check_outputs(format_name or "terminal", output or [])
    request.outputs = clear_outputs(paths, lambda: _files_read(result))
    answers = read_answers(result)
    write_reports(answers, request.outputs, paths)
    if format_name is not None or not paths:
        form = format_named(format_name or "terminal")
        print_report(answers, form, all_rows=verbose, full=full, color=color)


@app.command()
def show(
    context: typer.Context,
    result: _Result,
    check: _Check = None,
    data: _Data = None,
    output: _Output = None,
    format_name: PageFormat = "terminal",
    color: ColorChoice = Color.AUTO,
    debug: Debug = False,  # noqa: ARG001  # read before parsing
) -> None:
    """Open one finding of a JSON report: its counts, its formula filled in, how sure it is.

    Without a check it lists them, the worst first.
    """
    from fairaudit.report import check_page

    request: Request = context.obj
    paths = check_page_outputs(format_name, output or [], "a single check")
    request.outputs = clear_outputs(paths, lambda: _files_read(result))
    audit = _chosen_result(read_answers(result), data)
    finding = None if check is None else check_page.find(audit, check)
    page = Page(
        lambda: check_page.document(audit, finding) if finding else check_page.listing(audit),
        lambda: _rows(audit, finding),
    )
    page.write(request.outputs)
    form = format_named(format_name)
    if form.name != "terminal" or not paths:
        page.show(form, color)


@app.command()
def publish(
    context: typer.Context,
    result: _Result,
    data: _Data = None,
    output: _Output = None,
    format_name: Annotated[
        str, typer.Option("--format", help="What to print: terminal, html, markdown, csv.")
    ] = "terminal",
    color: ColorChoice = Color.AUTO,
    debug: Debug = False,  # noqa: ARG001  # read before parsing
) -> None:
    """Print the tables of a JSON report that are to be published: people, rates, impact ratios.

    As CSV they are one table, which `fairaudit verify` reads.
    """
    from fairaudit.report import publication

    request: Request = context.obj
    paths = check_outputs(format_name, output or [], folders=False)
    forms = {path: format_of_path(path) for path in paths}
    form = format_named(format_name)
    for other in (form, *forms.values()):
        if other.page is None and other.name != "csv":
            hint = "there is terminal, html, markdown, csv"
            raise UsageError(f"{other.name} is not a format of `publish`", hint)
    request.outputs = clear_outputs(paths, lambda: _files_read(result))
    audit = _chosen_result(read_answers(result), data)
    for path in paths:
        request.outputs.write(path, publication.render(audit, forms[path]))
    if form.name != "terminal":
        print_text(publication.render(audit, form), form)
    elif not paths:
        print_document(publication.document(audit), color)


def read_answers(path: str) -> list[Answer]:
    """What a JSON report holds, `-` that of stdin; raises `UsageError` where it is none."""
    from fairaudit import codec

    try:
        text = inputs.read_named(path, inputs.REPORT)
    except OSError as error:
        what = f"the result {names.copied(path)} cannot be read: {error.strerror or error}"
        raise UsageError(what, "name a JSON report: fairaudit run SPEC -o report.json") from error
    try:
        return codec.read_answers(codec.parse(text))
    except UsageError as error:
        raise UsageError(f"{names.copied(path)}: {error.message}", error.hint) from error


def read_result(path: str) -> AuditResult:
    """The one result that a JSON report holds; raises the error that it holds instead."""
    answers = read_answers(path)
    if len(answers) > 1:
        what = f"{names.copied(path)} holds {len(answers)} results"
        raise UsageError(what, "name the report of one: fairaudit run SPEC -o FOLDER/ writes each")
    return _result_of(answers[0])


def _result_of(answer: Answer) -> AuditResult:
    if isinstance(answer.result, FairauditError):
        raise answer.result
    return answer.result


def _files_read(result: str) -> list[Path]:
    """The files that a stored result is read from: none where it comes from stdin."""
    return [] if result == inputs.STDIN else [Path(result)]


def _chosen_result(answers: Sequence[Answer], data: str | None) -> AuditResult:
    """The result of a data file or a spec; raises the error that there is in its place."""
    chosen = [answer for answer in answers if data is None or _is_of(answer, data)]
    if len(chosen) == 1:
        return _result_of(chosen[0])
    known = [answer.data or answer.spec for answer in (chosen or answers)]
    more = f", and {len(known) - _MOST} more" if len(known) > _MOST else ""
    there = f"there is {', '.join(map(names.copied, known[:_MOST]))}{more}"
    if data is None:
        raise UsageError(
            f"the document holds {len(answers)} results: select one with --data", there
        )
    if chosen:
        raise UsageError(f"{len(chosen)} results match {names.quoted(data)}", there)
    raise UsageError(f"no result of {names.quoted(data)}{did_you_mean(data, known)}", there)


def _is_of(answer: Answer, data: str) -> bool:
    """Whether an answer is that of a file, or of a spec: by its path, its name, or its stem."""
    paths = [path for path in (answer.data, answer.spec) if path is not None]
    short = {name for path in map(Path, paths) for name in (path.name, path.stem)}
    return answer.title == data or data in paths or data in short


def _rows(result: AuditResult, finding: Finding | None) -> str:
    """A finding, or the list of all, as rows of the JSON report."""
    from fairaudit.report import json as report_json
    from fairaudit.report import worked_formula

    rows = report_json.document(result)["checks"]
    if finding is None:
        return report_json.written({"checks": rows})
    (row,) = [row for row in rows if row["id"] == finding.check.id]
    return report_json.written({**row, "working": worked_formula.steps(result, finding)})

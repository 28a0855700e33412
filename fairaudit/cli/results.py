"""`fairaudit show` and `fairaudit render`: what a stored JSON report holds, without the data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairaudit.cli.app import app
from fairaudit.cli.files import begin
from fairaudit.cli.output import (
    FILE_HELP,
    PAGE_HELP,
    check_formats,
    errors_in,
    print_document,
    print_text,
    write_files,
)
from fairaudit.cli.stored import check_pages, format_of, read_answers, read_from
from fairaudit.errors import FairauditError, UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairaudit.report import Format
    from fairaudit.result import Answer, AuditResult
    from fairaudit.verdict import Finding

_MOST = 10
_Result = Annotated[str, typer.Argument(metavar="RESULT.json", help="A JSON report, or - (stdin).")]
_Output = Annotated[
    list[str] | None,
    typer.Option("-o", "--output", help=FILE_HELP),
]


@app.command()
def render(
    result: _Result,
    output: _Output = None,
    form: Annotated[
        str | None,
        typer.Option("--format", help="What to print; terminal, unless a file is written."),
    ] = None,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Print every row.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,  # noqa: ARG001  # read before parsing
) -> None:
    """Write the reports of a run anew, from its JSON report.

    The exit code is 0 where they are written, whatever the verdict: nothing is judged here.
    """
    outputs = begin(check_formats(form or "terminal", output or []), lambda: read_from(result))
    with errors_in(outputs, result):
        found = read_answers(result)
    write_files(found, outputs)
    if form is not None or not outputs.paths:
        _print_report(found, form or "terminal", all_rows=verbose)


@app.command()
def show(
    result: _Result,
    check: Annotated[
        str | None, typer.Argument(help="An id, a part of one, or a number of the list.")
    ] = None,
    data: Annotated[
        str | None, typer.Option(help="Of several results the one of this data, or spec.")
    ] = None,
    output: _Output = None,
    form: Annotated[str, typer.Option("--format", help=PAGE_HELP)] = "terminal",
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,  # noqa: ARG001  # read before parsing
) -> None:
    """Open one finding of a JSON report: its counts, its formula filled in, how sure it is.

    Without a check it lists them, the worst first.
    """
    from fairaudit.report import opened

    outputs = begin(check_pages(form, output or [], "a single check"), lambda: read_from(result))
    with errors_in(outputs, result):
        answer = _one_of(read_answers(result), data)
        finding = None if check is None else opened.find(answer, check)
    for path in outputs.paths:
        outputs.write(path, _page(format_of(path), answer, finding))
    if outputs.paths and form == "terminal":
        return
    if form == "terminal":
        print_document(
            opened.listing(answer) if finding is None else opened.document(answer, finding)
        )
    else:
        from fairaudit import report

        wanted = report.format_of(form)
        assert wanted is not None
        print_text(_page(wanted, answer, finding), wanted)


def _print_report(found: Sequence[Answer], form: str, *, all_rows: bool) -> None:
    """Prints the report as its run did; an error is a report here, too."""
    from fairaudit import report

    wanted = report.format_of(form)
    assert wanted is not None
    if form == "terminal":
        from fairaudit.report import summary

        print_document(summary.report(found, all_rows=all_rows))
    else:
        print_text(wanted.render(found, all_rows), wanted)


def _one_of(found: Sequence[Answer], data: str | None) -> AuditResult:
    """The result that is meant; raises what kept it from being one."""
    from fairaudit import names

    chosen = [one for one in found if data is None or _is_meant(one, data)]
    if len(chosen) == 1:
        if isinstance(chosen[0].found, FairauditError):
            raise chosen[0].found
        return chosen[0].found
    known = [one.data or one.spec for one in (chosen or found)]
    more = f", and {len(known) - _MOST} more" if len(known) > _MOST else ""
    there = f"there is {', '.join(map(names.copied, known[:_MOST]))}{more}"
    if data is None:
        raise UsageError(f"the document holds {len(found)} results: say which by --data", there)
    if chosen:
        raise UsageError(f"{len(chosen)} results are of {names.quoted(data)}", there)
    raise UsageError(f"no result of {names.quoted(data)}{did_you_mean(data, known)}", there)


def _is_meant(one: Answer, data: str) -> bool:
    """Whether a result is that of a file, or of a spec: by its path, its name, or its stem."""
    paths = [path for path in (one.data, one.spec) if path is not None]
    names = {name for path in map(Path, paths) for name in (path.name, path.stem)}
    return one.title == data or data in paths or data in names


def _page(wanted: Format, answer: AuditResult, finding: Finding | None) -> str:
    """A finding, or the list of all, in a format: of prose, or the rows of the JSON report."""
    from fairaudit.report import json as report_json
    from fairaudit.report import opened

    if wanted.page is not None:
        return wanted.page(
            opened.listing(answer) if finding is None else opened.document(answer, finding)
        )
    rows = report_json.document(answer)["checks"]
    if finding is None:
        return report_json.written({"checks": rows})
    (row,) = [one for one in rows if one["id"] == finding.check.id]
    return report_json.written({**row, "working": opened.steps(answer, finding)})

"""`fairaudit render`, `show`, `publish` and `compare`: the commands on stored results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fairaudit.base import names
from fairaudit.base.errors import (
    FairauditError,
    NothingToAudit,
    UsageError,
    did_you_mean,
    list_known,
)
from fairaudit.base.inputs import STDIN
from fairaudit.cli.app import ColorChoice, Debug, Full, Request, Verbose, app, show_examples
from fairaudit.cli.output import (
    FILE_HELP,
    PAGE_FORMATS,
    Page,
    PageFormat,
    PageOutput,
    check_outputs,
    clear_outputs,
    file_option,
    format_of_path,
    format_option,
    print_document,
    print_report,
    print_text,
    write_json,
    write_reports,
)
from fairaudit.cli.streams import write_line
from fairaudit.report import FORMATS, format_named

if TYPE_CHECKING:
    from fairaudit.report.blocks import Document
    from fairaudit.result import Answer, AuditResult
    from fairaudit.tools.compare.records import Changes

_MOST = 10
_Result = Annotated[str, typer.Argument(metavar="RESULT.json", help="A JSON report, or - (stdin).")]
_Output = Annotated[list[str] | None, typer.Option("-o", "--output", help=FILE_HELP)]
_TABLES = tuple(form for form in FORMATS if form.page_renderer or form.name == "csv")
"""The formats of `publish`."""
_Check = Annotated[
    str | None, typer.Argument(help="A check's id, a part of it, or its number in the list.")
]
_Data = Annotated[
    str | None,
    typer.Option(help="If the report has several audits: choose one by its data file or its spec."),
]
_Format = Annotated[
    str | None,
    typer.Option("--format", help="What to print; default: terminal, or nothing if `-o` is set."),
]


@app.command()
def render(
    context: typer.Context,
    result: _Result,
    output: _Output = None,
    format_name: _Format = None,
    full: Full = False,
    verbose: Verbose = False,
    color: ColorChoice = "auto",
    debug: Debug = False,  # noqa: ARG001  # read before parsing
) -> None:
    """Write any report format from a JSON report.

    The exit code is 0 if all reports are written, also for an audit that failed.
    """
    request: Request = context.obj
    paths = check_outputs(format_name or "terminal", output or [])
    answers = _open(request, paths, result)
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
    output: PageOutput = None,
    format_name: PageFormat = "terminal",
    color: ColorChoice = "auto",
    debug: Debug = False,  # noqa: ARG001  # read before parsing
) -> None:
    """Show one check of a JSON report, with its formula.

    It shows the counts, the formula with its numbers, and the evidence. If no check is named, it
    lists all checks, the worst first.
    """
    from fairaudit.report import check_page
    from fairaudit.report import json as report_json

    request: Request = context.obj
    paths = check_outputs(format_name, output or [], "a single check", PAGE_FORMATS)
    audit = _chosen_result(_open(request, paths, result), data)
    finding = None if check is None else check_page.find(audit, check)

    def json() -> str:
        rows = report_json.document(audit)["checks"]
        if finding is None:
            return report_json.written({"checks": rows})
        (row,) = [row for row in rows if row["id"] == finding.check.id]
        return report_json.written({**row, "working": check_page.steps(audit, finding)})

    page = Page(
        lambda: check_page.document(audit, finding) if finding else check_page.listing(audit), json
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
    output: Annotated[list[str] | None, file_option(_TABLES)] = None,
    format_name: Annotated[str, format_option(_TABLES)] = "terminal",
    color: ColorChoice = "auto",
    debug: Debug = False,  # noqa: ARG001  # read before parsing
) -> None:
    """Print tables for publication from a JSON report.

    The tables have people, rates and impact ratios. In CSV they are one table, which `fairaudit
    verify` reads.
    """
    from fairaudit.report import publication

    request: Request = context.obj
    paths = check_outputs(format_name, output or [], "tables for publication", _TABLES)
    form = format_named(format_name)
    audit = _chosen_result(_open(request, paths, result), data)
    for path in paths:
        request.outputs.write(path, publication.render(audit, format_of_path(path)))
    if form.name != "terminal":
        print_text(publication.render(audit, form), form)
    elif not paths:
        print_document(publication.document(audit), color)


def _open(request: Request, paths: Sequence[Path], result: str) -> list[Answer]:
    """Removes the outputs of an earlier run, and reads the answers in a JSON report."""
    request.outputs = clear_outputs(paths, lambda: [] if result == STDIN else [Path(result)])
    from fairaudit import codec

    return codec.load(result)


def read_result(path: str) -> AuditResult:
    """The only result in a JSON report; raises the error if the report holds an error."""
    from fairaudit import codec

    answers = codec.load(path)
    if len(answers) > 1:
        what = f"{names.copied(path)} holds {len(answers)} results"
        how = "fairaudit run SPEC -o FOLDER/ writes a file for each"
        raise UsageError(what, f"name a report with one result: {how}")
    return _result_of(answers[0])


def _result_of(answer: Answer) -> AuditResult:
    if isinstance(answer.result, FairauditError):
        raise answer.result
    return answer.result


def _chosen_result(answers: Sequence[Answer], data: str | None) -> AuditResult:
    """The result that `--data` selects, by data file or spec; raises its error if it has one."""
    chosen = []
    for answer in answers:
        paths = [path for path in (answer.data, answer.spec) if path is not None]
        short = {name for path in map(Path, paths) for name in (path.name, path.stem)}
        if data is None or data in {answer.title, *paths, *short}:
            chosen.append(answer)
    if len(chosen) == 1:
        return _result_of(chosen[0])
    known = [answer.data or answer.spec for answer in (chosen or answers)]
    more = f", and {len(known) - _MOST} more" if len(known) > _MOST else ""
    there = f"available: {', '.join(map(names.copied, known[:_MOST]))}{more}"
    if data is None:
        raise UsageError(
            f"the document holds {len(answers)} results: select one with --data", there
        )
    if chosen:
        raise UsageError(f"{len(chosen)} results match {names.quoted(data)}", there)
    raise UsageError(f"no result for {names.quoted(data)}{did_you_mean(data, known)}", there)


_Before = Annotated[Path, typer.Argument(help="The earlier JSON report.")]
_After = Annotated[
    Path | None,
    typer.Argument(
        help="The later JSON report. Without it, two models of the first report are compared."
    ),
]
_Models = Annotated[
    tuple[str, str] | None,
    typer.Option(
        metavar="FIRST SECOND",
        help="The two models (or other outcomes) to compare: the first is in the earlier report, "
        "the second in the later one.",
    ),
]
_FailWhen = Annotated[
    Literal["never", "worse"],
    typer.Option(
        help="With `worse`, the exit code is 1 if a check got worse, is missing, has a looser "
        "limit or another definition, leaves out more people, or has a worse value because of a "
        "new group. It is 3 if the two reports have no check in common. See docs/command.md."
    ),
]
_AcceptDropped = Annotated[
    bool,
    typer.Option(
        "--accept-dropped",
        help="With `--fail-on worse`: ignore each check that is missing in the later report, or "
        "that has a looser limit or another definition there.",
    ),
]
_Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print no terminal report.")]
_SamePeople = Annotated[
    bool | None,
    typer.Option(
        "--same-people/--different-people",
        help="Whether both reports have the same people; default: detected from files and groups.",
    ),
]


@app.command(
    epilog=show_examples(
        "compare main.json branch.json",
        "compare main.json branch.json --fail-on worse -o changes.html",
    ),
)
def compare(  # noqa: PLR0913, PLR0917  # the options of the command
    context: typer.Context,
    before: _Before,
    after: _After = None,
    models: _Models = None,
    output: PageOutput = None,
    format_name: PageFormat = "terminal",
    fail_on: _FailWhen = "never",
    accept_dropped: _AcceptDropped = False,
    same_people: _SamePeople = None,
    quiet: _Quiet = False,
    verbose: Verbose = False,
    color: ColorChoice = "auto",
    debug: Debug = False,  # noqa: ARG001  # read before parsing
) -> None:
    """Compare two JSON reports: what got better or worse."""
    from fairaudit.report import asked_comparisons
    from fairaudit.report.changes import summary

    request: Request = context.obj
    paths = check_outputs(format_name, output or [], "a comparison", PAGE_FORMATS)
    request.outputs = clear_outputs(paths, lambda: [before, *([] if after is None else [after])])
    first = read_result(str(before))
    # With a single result, a table compares the measures of all its models.
    grid = (
        () if after is not None else tuple(asked_comparisons.models(first, None if verbose else 1))
    )
    if grid and models is None and len(_pairs(first)) > 1 and fail_on == "never":
        # JSON has no such table, because a JSON comparison has exactly two models.
        page = Page(lambda: grid, _refuse_json_of_grid)
        page.write(request.outputs)
        page.show(format_named(format_name), color)
        return
    changes = _changes(first, before, after, models, same_people=same_people)
    if fail_on == "worse" and not changes.checks:
        raise NothingToAudit(
            "--fail-on worse cannot compare anything: the results have no check in common",
            _suggest_common_checks(changes, after),
        )
    # Values that are hidden, no longer judged, or of new groups may be worse.
    may_be_worse = bool(changes.worse or changes.hidden or changes.unjudged or changes.worse_by_new)
    if after is not None and fail_on == "worse" and changes.dropped and not accept_dropped:
        may_be_worse = True
        ids = ", ".join(finding.check.id for finding in changes.dropped)
        write_line(
            "these checks are missing in the later report, or have another definition or a looser "
            f"limit there: {ids}; use --accept-dropped to accept this"
        )
    code = int(fail_on == "worse" and may_be_worse)
    _page(changes, code, grid, all_rows=True).write(request.outputs)
    form = format_named(format_name)
    if form.name != "terminal" or not quiet:
        _page(changes, code, grid, all_rows=verbose).show(form, color)
    names = f"before={before.name}" + ("" if after is None else f" after={after.name}")
    is_better = changes.better and not code
    word = "WORSE" if changes.worse else "BETTER" if is_better else "UNSURE"
    write_line(f"{word if changes.checks else 'NONE'}  {summary(changes)}  {names}")
    raise typer.Exit(code)


def _refuse_json_of_grid() -> str:
    what = "a comparison of more than two models has no JSON format"
    raise UsageError(what, "name two models: --models FIRST SECOND")


def _suggest_common_checks(changes: Changes, after: Path | None) -> str:
    if changes.otherwise:
        whys = (f"{other.after.check.id}: {other.why} changed" for other in changes.otherwise)
        return f"compare results from the same spec; {'; '.join(whys)}"
    if after is None:
        return "set the same limits for both models with `of:` in a metric"
    return "compare results from specs with the same limits"


def _changes(
    first: AuditResult,
    before: Path,
    after: Path | None,
    models: tuple[str, str] | None,
    *,
    same_people: bool | None,
) -> Changes:
    """The changes from one result to the other, or between two models of one result."""
    from fairaudit.tools import compare as comparing

    if after is not None:
        return comparing.compare(
            first, read_result(str(after)), outcomes=models, same_people=same_people
        )
    if same_people is not None:
        what = "--same-people and --different-people need two results"
        raise UsageError(what, "two models in one result always describe the same people")
    pairs = [models] if models else _pairs(first)
    if len(pairs) == 1:
        return comparing.compare_models(first, *pairs[0])
    names = [*dict.fromkeys(name for pair in pairs for name in pair)]
    there = list_known(names) if names else "this report does not have two models"
    what = f"{before}: a comparison needs a second report, or two models in this report"
    raise UsageError(what, f"name a second report, or --models FIRST SECOND; {there}")


def _pairs(result: AuditResult) -> list[tuple[str, str]]:
    """The pairs of models that a result compares."""
    return [*dict.fromkeys((changes.first, changes.second) for changes in result.model_changes)]


def _page(changes: Changes, code: int, grid: Document, *, all_rows: bool) -> Page:
    """The page of the changes, followed by the table of all models (`grid`, may be empty)."""
    from fairaudit.report import changes as pages
    from fairaudit.tools.compare import Comparison

    return Page(
        lambda: (*pages.document(changes, all_rows=all_rows), *grid),
        lambda: write_json(Comparison.of(changes, code)),
    )

"""`fairaudit compare`: its options, exit code; compares two stored results, or models of one."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairaudit.base.errors import NothingToAudit, UsageError, list_known
from fairaudit.cli.app import ColorChoice, Debug, Request, Verbose, app, show_examples
from fairaudit.cli.output import Page, PageFormat, check_page_outputs, clear_outputs, write_json
from fairaudit.cli.results import read_result
from fairaudit.cli.streams import Color, write_line
from fairaudit.report import format_named

if TYPE_CHECKING:
    from fairaudit.report.blocks import Document
    from fairaudit.result import AuditResult
    from fairaudit.tools.compare import Changes


class _FailOn(StrEnum):
    NEVER = "never"
    WORSE = "worse"


_Before = Annotated[Path, typer.Argument(help="A JSON report: of an earlier month, say.")]
_After = Annotated[
    Path | None,
    typer.Argument(help="The later one; without it, two models of the first are compared."),
]
_Models = Annotated[
    tuple[str, str] | None,
    typer.Option(help="Which outcome of each to compare: current candidate."),
]
_Output = Annotated[
    list[str] | None,
    typer.Option("-o", "--output", help="Write a report; the suffix picks the format."),
]
_FailWhen = Annotated[
    _FailOn,
    typer.Option(
        help="With `worse` the exit code is 1 if a check that did not fail does now, fails for "
        "a group it did not fail for, no longer judges a group, or can no longer be evaluated, "
        "or if the value of one moved away from parity, or beyond its limit, more than chance "
        "explains (p corrected over all checks; of the same people, at all), if it leaves out "
        "over 10 points more of the people, or if a check is gone or has a looser limit; 3 if no "
        "check is in both."
    ),
]
_AcceptDropped = Annotated[
    bool,
    typer.Option(
        "--accept-dropped",
        help="With `--fail-on worse`: checks that only the earlier report has, or with a stricter "
        "limit, do not count.",
    ),
]
_Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print no terminal report.")]
_SamePeople = Annotated[
    bool | None,
    typer.Option(
        "--same-people/--different-people",
        help="Whether both are of the same people; found by files and groups if not said.",
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
    output: _Output = None,
    format_name: PageFormat = "terminal",
    fail_on: _FailWhen = _FailOn.NEVER,
    accept_dropped: _AcceptDropped = False,
    same_people: _SamePeople = None,
    quiet: _Quiet = False,
    verbose: Verbose = False,
    color: ColorChoice = Color.AUTO,
    debug: Debug = False,  # noqa: ARG001  # read before parsing
) -> None:
    """Compare two JSON reports: what got better or worse, and whether chance explains it."""
    from fairaudit.report.changes import summary

    request: Request = context.obj
    paths = check_page_outputs(format_name, output or [], "a comparison")
    request.outputs = clear_outputs(paths, lambda: [before, *([] if after is None else [after])])
    first = read_result(str(before))
    grid = _grid(first, all_rows=verbose) if after is None else ()
    if grid and models is None and len(_pairs(first)) > 1 and fail_on is _FailOn.NEVER:
        # In the formats for people; JSON is of two of the models.
        page = Page(lambda: grid, _refuse_json_of_grid)
        page.write(request.outputs)
        page.show(format_named(format_name), color)
        return
    changes = _changes(first, before, after, models, same_people=same_people)
    if fail_on is _FailOn.WORSE and not changes.checks:
        hint = "compare results from specs with the same limits"
        if after is None:
            hint = "set the same limits for both models with `of:` in a metric"
        raise NothingToAudit(
            "--fail-on worse cannot compare anything: the results have no check in common", hint
        )
    # What is hidden, or not judged any longer, may be worse than before.
    may_be_worse = bool(changes.worse or changes.hidden or changes.unjudged)
    if after is not None and fail_on is _FailOn.WORSE and changes.dropped and not accept_dropped:
        may_be_worse = True
        ids = ", ".join(finding.check.id for finding in changes.dropped)
        write_line(
            f"not in the later report, or not as strict there: {ids}; --accept-dropped accepts that"
        )
    code = int(fail_on is _FailOn.WORSE and may_be_worse)
    _page(changes, code, grid, all_rows=True).write(request.outputs)
    form = format_named(format_name)
    if form.name != "terminal" or not quiet:
        _page(changes, code, grid, all_rows=verbose).show(form, color)
    names = f"before={before.name}" + ("" if after is None else f" after={after.name}")
    word = "WORSE" if changes.worse else "BETTER" if changes.better else "UNSURE"
    write_line(f"{word if changes.checks else 'NONE'}  {summary(changes)}  {names}")
    raise typer.Exit(code)


def _grid(result: AuditResult, *, all_rows: bool) -> Document:
    """The measures of all models of a result beside each other."""
    from fairaudit.report import model_comparison

    return tuple(model_comparison.models(result, None if all_rows else 1))


def _refuse_json_of_grid() -> str:
    what = "a comparison of more than two models has no JSON format"
    raise UsageError(what, "name two models: --models FIRST SECOND")


def _changes(
    first: AuditResult,
    before: Path,
    after: Path | None,
    models: tuple[str, str] | None,
    *,
    same_people: bool | None,
) -> Changes:
    """The changes from one result to the other, or between two models of one."""
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
    there = list_known(names) if names else "it does not have two levels of them"
    what = f"{before}: name a second result or two models to compare"
    raise UsageError(what, f"name a second report, or --models FIRST SECOND: {there}")


def _pairs(result: AuditResult) -> list[tuple[str, str]]:
    """Every two models that a result sets beside each other."""
    return [*dict.fromkeys((changes.first, changes.second) for changes in result.model_changes)]


def _page(changes: Changes, code: int, grid: Document, *, all_rows: bool) -> Page:
    """The changes, and below them the measures of all models where there is a grid of them."""
    from fairaudit.report import changes as pages
    from fairaudit.tools.document_schemas import Comparison

    return Page(
        lambda: (*pages.document(changes, all_rows=all_rows), *grid),
        lambda: write_json(Comparison(code, changes)),
    )

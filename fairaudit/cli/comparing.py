"""`fairaudit compare`: two results beside each other, or two models of one."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairaudit.cli.app import app
from fairaudit.cli.files import Outputs, begin
from fairaudit.cli.output import PAGE_HELP, errors_in, print_document, print_text
from fairaudit.cli.stored import check_pages, format_of, read_result
from fairaudit.cli.streams import tell
from fairaudit.errors import NothingToAudit, UsageError

if TYPE_CHECKING:
    from fairaudit.compare import Changes
    from fairaudit.report import Format


class _FailOn(StrEnum):
    NEVER = "never"
    WORSE = "worse"


@app.command()
def compare(  # noqa: PLR0913, PLR0917  # the options of the command
    before: Annotated[Path, typer.Argument(help="A JSON report: of an earlier month, say.")],
    after: Annotated[
        Path | None,
        typer.Argument(help="The later one; without it, two models of the first are compared."),
    ] = None,
    models: Annotated[
        tuple[str, str] | None,
        typer.Option(help="Which outcome of each to compare: current candidate."),
    ] = None,
    output: Annotated[
        list[str] | None,
        typer.Option("-o", "--output", help="Write a report; the suffix picks the format."),
    ] = None,
    form: Annotated[str, typer.Option("--format", help=PAGE_HELP)] = "terminal",
    fail_on: Annotated[
        _FailOn,
        typer.Option(
            help="With `worse` the exit code is 1 if a check that did not fail does now, fails for "
            "a group it did not fail for, or can no longer be evaluated, or if the value of one "
            "moved away from parity, or beyond its limit, more than chance explains (p corrected "
            "over all checks); 3 if no check is in both."
        ),
    ] = _FailOn.NEVER,
    same_people: Annotated[
        bool | None,
        typer.Option(
            "--same-people/--different-people",
            help="Whether both are of the same people; found by files and groups if not said.",
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print no terminal report.")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Print every row.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,  # noqa: ARG001  # read before parsing
) -> None:
    """Compare two JSON reports: what got better or worse, and whether chance explains it."""
    paths = check_pages(form, output or [], "a comparison")
    outputs = begin(paths, lambda: [before, *([] if after is None else [after])])
    with errors_in(outputs, str(before)):
        changes = _changes(before, after, models, same_people=same_people)
        if fail_on is _FailOn.WORSE and not changes.checks:
            what = "--fail-on worse has nothing to judge: no check is in both"
            hint = "compare results of specs with the same limits"
            if after is None:
                hint = "ask the same limits of both models: `of:` in a metric names one"
            raise NothingToAudit(what, hint)
    code = int(fail_on is _FailOn.WORSE and bool(changes.worse))
    _tell(changes, code, form, outputs, (quiet, verbose))
    names = f"before={before.name}" + ("" if after is None else f" after={after.name}")
    tell(_last_line(changes, names))
    raise typer.Exit(code)


def _changes(
    before: Path, after: Path | None, models: tuple[str, str] | None, *, same_people: bool | None
) -> Changes:
    """What is compared with what."""
    from fairaudit import compare as comparing

    first = read_result(str(before))
    if after is not None:
        return comparing.compare(
            first, read_result(str(after)), outcomes=models, same_people=same_people
        )
    if same_people is not None:
        what = "--same-people and --different-people are about two results"
        raise UsageError(what, "two models of one result are of the same people")
    if models is None:
        pairs = [*dict.fromkeys((one.first, one.second) for one in first.model_changes)]
        if len(pairs) != 1:
            names = [*dict.fromkeys(name for pair in pairs for name in pair)]
            there = f"there is {', '.join(names)}" if names else "it has not two of them"
            what = f"{before}: which models, or which other result, to compare it with?"
            raise UsageError(what, f"name a second report, or --models FIRST SECOND: {there}")
        models = pairs[0]
    return comparing.compare_models(first, *models)


def _tell(changes: Changes, code: int, form: str, outputs: Outputs, how: tuple[bool, bool]) -> None:
    """Writes the files, and prints the report; `how` is whether quietly, and whether all rows."""
    from fairaudit import report

    quiet, all_rows = how
    for path in outputs.paths:
        outputs.write(path, _rendered(format_of(path), changes, code, all_rows=True))
    wanted = report.format_of(form)
    assert wanted is not None
    if wanted.name != "terminal":
        print_text(_rendered(wanted, changes, code, all_rows=all_rows), wanted)
    elif not quiet:
        from fairaudit.report import changes as pages

        print_document(pages.document(changes, all_rows=all_rows))


def _rendered(wanted: Format, changes: Changes, code: int, *, all_rows: bool) -> str:
    if wanted.page is None:
        from fairaudit.report import json

        return json.written(json.changes_document(changes, code))
    from fairaudit.report import changes as pages

    return wanted.page(pages.document(changes, all_rows=all_rows))


def _last_line(changes: Changes, names: str) -> str:
    """What came of it in one line, always of the same shape."""
    from fairaudit.report.changes import summary

    word = "WORSE" if changes.worse else "BETTER" if changes.better else "UNSURE"
    return f"{word if changes.checks else 'NONE'}  {summary(changes)}  {names}"

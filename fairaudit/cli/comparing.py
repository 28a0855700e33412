"""`fairaudit compare`: two results beside each other, or two models of one."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairaudit.cli.app import app
from fairaudit.cli.output import check_formats, print_content, print_document, write, write_files
from fairaudit.errors import FairauditError, NothingToAudit, UsageError

if TYPE_CHECKING:
    from fairaudit.compare import Changes
    from fairaudit.report import Format
    from fairaudit.result import AuditResult


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
        list[Path] | None,
        typer.Option("-o", "--output", help="Write a report; the suffix picks the format."),
    ] = None,
    form: Annotated[
        str, typer.Option("--format", help="What to print: terminal, json and others.")
    ] = "terminal",
    fail_on: Annotated[
        _FailOn,
        typer.Option(
            help="With `worse` the exit code is 1 if a check that did not fail does now, or can no "
            "longer be evaluated, or if the value of one moved away from parity, or beyond its "
            "limit, more than chance explains (p corrected over all checks); 3 if no check is in "
            "both."
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
    outputs = output or []
    check_formats(form, outputs)
    _refuse_formats(form, outputs)
    try:
        changes = _changes(before, after, models, same_people=same_people)
        if fail_on is _FailOn.WORSE and not changes.checks:
            what = "--fail-on worse has nothing to judge: no check is in both"
            raise NothingToAudit(what, "compare results of specs with the same limits")
    except FairauditError as error:
        from fairaudit.answers import Answer

        # A report of an earlier run would stay, and be taken for this one's.
        write_files([Answer(str(before), None, error)], outputs)
        raise
    code = int(fail_on is _FailOn.WORSE and bool(changes.worse))
    _tell(changes, code, form, outputs, (quiet, verbose))
    names = f"before={before.name}" + ("" if after is None else f" after={after.name}")
    typer.echo(_last_line(changes, names), err=True)
    raise typer.Exit(code)


def _refuse_formats(form: str, outputs: Sequence[Path]) -> None:
    """Refuses a format that has no page for a comparison, before anything is read."""
    from fairaudit import report

    known = [one.name for one in report.FORMATS if _serves(one)]
    for wanted in (
        report.format_of(form),
        *(report.format_of_suffix(one.suffix) for one in outputs),
    ):
        if wanted is not None and not _serves(wanted):
            what = f"{wanted.name} is no format of a comparison"
            raise UsageError(what, f"there is {', '.join(known)}")


def _serves(one: Format) -> bool:
    return one.page is not None or one.name == "json"


def _changes(
    before: Path, after: Path | None, models: tuple[str, str] | None, *, same_people: bool | None
) -> Changes:
    """What is compared with what."""
    from fairaudit import compare as comparing

    first = _read(before)
    if after is not None:
        return comparing.compare(first, _read(after), outcomes=models, same_people=same_people)
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


def _read(path: Path) -> AuditResult:
    """The result in a file; the error of what is none names the file."""
    from fairaudit.report import json

    try:
        return json.read(json.parse(path.read_bytes()))
    except OSError as error:
        why = error.strerror or str(error)
        raise UsageError(f"{path} cannot be read: {why}", "check the path") from error
    except UsageError as error:
        raise UsageError(f"{path}: {error.message}", error.hint) from error


def _tell(
    changes: Changes, code: int, form: str, outputs: Sequence[Path], how: tuple[bool, bool]
) -> None:
    """Writes the files, and prints the report; `how` is whether quietly, and whether all rows."""
    from fairaudit import report

    quiet, all_rows = how
    for path in outputs:
        wanted = report.format_of_suffix(path.suffix)
        assert wanted is not None
        write(path, _rendered(wanted, changes, code, all_rows=True))
    wanted = report.format_of(form)
    assert wanted is not None
    if wanted.name != "terminal":
        print_content(wanted, _rendered(wanted, changes, code, all_rows=all_rows))
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

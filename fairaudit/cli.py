"""The command: arguments in, a report on stdout, an exit code out.

0 every check passed, or nothing was judged; 1 a check failed or some could not be evaluated; 2 no
verdict; 3 nothing could be evaluated; 130 interrupted.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json as stdlib_json
import os
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TextIO

import typer

from fairaudit.errors import FairauditError, NothingToAudit, UsageError, did_you_mean

if TYPE_CHECKING:
    from fairaudit.batch import Answer
    from fairaudit.progress import Progress
    from fairaudit.report.blocks import Document
    from fairaudit.result import AuditResult, Definition

INTERRUPTED = 130
NO_VERDICT = 2

app = typer.Typer(
    name="fairaudit",
    help="Audits how a decision treats groups of people.",
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


class _FailOn(StrEnum):
    FAIL = "fail"
    WARN = "warn"
    NEVER = "never"


class _Listing(StrEnum):
    TERMINAL = "terminal"
    MARKDOWN = "markdown"


class _Schema(StrEnum):
    SPEC = "spec"
    RESULT = "result"


def main() -> NoReturn:
    """Runs the command and exits with its code; nothing but `--debug` shows a traceback."""
    _prepare()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    code = _run(sys.argv[1:])
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        code = _unwritten()
    if sys.stderr is not None:
        sys.stderr.flush()
    # All is written and closed: taking Polars and Arrow apart again would only cost time.
    os._exit(code)


def _prepare() -> None:
    """Makes a short life quicker: each of these is a twentieth of a small audit."""
    # Little of what is made here is ever garbage.
    gc.set_threshold(1_000_000, 50, 50)
    # No plugin of pydantic has a part in an audit, and no matrix is multiplied.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _run(arguments: list[str]) -> int:
    """The exit code of a command line."""
    try:
        command = typer.main.get_command(app)
        code = command.main(args=arguments, prog_name="fairaudit", standalone_mode=False)
    except (typer.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except OSError:
        # Only our own streams are left to fail here: all else is told as an error of its own.
        if "--debug" in arguments:
            traceback.print_exc()
        return _unwritten()
    except Exception as error:  # noqa: BLE001  # our own crash gives no verdict: Python's 1 would lie
        if "--debug" in arguments:
            traceback.print_exc()
        return _told(error, arguments)
    except BaseException as error:
        # Polars' panics are no `Exception`; a `SystemExit` is somebody else's business.
        if isinstance(error, SystemExit):
            raise
        return _told(RuntimeError(type(error).__name__), arguments)
    if code == INTERRUPTED:
        typer.echo("INTERRUPTED  no verdict", err=True)
    return code if isinstance(code, int) else 0


def _told(error: Exception, arguments: list[str]) -> int:
    """Tells an error on stderr, as JSON on stdout too if that was asked for; its exit code."""
    known: FairauditError
    if isinstance(error, FairauditError):
        known = error
    elif isinstance(error, typer.TyperException):
        known = UsageError(error.format_message(), "fairaudit --help, or fairaudit run --help")
    else:
        known = FairauditError.crashed(error)
    if _wants_json(arguments):
        from fairaudit.report import json as report_json

        try:
            _write_json(report_json.error_document(known, _version()))
        except OSError:
            _unwritten()
    typer.echo(str(known), err=True)
    typer.echo(_last_words(known, arguments), err=True)
    return known.exit_code


def _unwritten() -> int:
    """Whoever read the report has gone, or the disk is full: the verdict has not arrived."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    with contextlib.suppress(OSError):
        typer.echo("ERROR  no verdict: the report could not be written", err=True)
    return NO_VERDICT


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        typer.echo(f"fairaudit {_version()}")
        raise typer.Exit


@app.command()
def run(  # noqa: PLR0913, PLR0917  # the options of the command
    spec: Annotated[list[Path], typer.Argument(help="The audit spec, a YAML file.")],
    data: Annotated[
        str | None, typer.Option(help="Audit this file, folder or glob in place of the spec's.")
    ] = None,
    output: Annotated[
        list[Path] | None,
        typer.Option("-o", "--output", help="Write a report; the suffix picks the format."),
    ] = None,
    form: Annotated[
        str, typer.Option("--format", help="What to print: terminal or json.")
    ] = "terminal",
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
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,  # noqa: ARG001  # read before parsing
) -> None:
    """Audit the data of a spec and gate by the exit code."""
    started = time.monotonic()
    _check_formats(form, output or [])
    if tolerance is not None and baseline is None:
        raise UsageError("--tolerance needs a --baseline", "name the JSON report to compare with")
    from fairaudit import batch

    with _shown(quiet=quiet) as progress:
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
    if len(found) > 1:
        _tell_all(found, output or [], form, all_rows=verbose, quiet=quiet)
        for one in found:
            typer.echo(_line_of(one, seconds), err=True)
        raise typer.Exit(batch.exit_code(found))
    result = found[0].found
    if isinstance(result, FairauditError):
        raise result
    _tell(result, output or [], form, all_rows=verbose, quiet=quiet)
    typer.echo(_last_line(result, f"spec={spec[0].name}", seconds), err=True)
    raise typer.Exit(result.exit_code)


@app.command()
def explain(
    name: Annotated[str | None, typer.Argument(help="A metric; without it, all of them.")] = None,
) -> None:
    """Explain a metric: formula, direction, when it misleads, source."""
    from fairaudit import metrics as catalogue
    from fairaudit.report import explain as pages
    from fairaudit.result import definition

    if name is None:
        _print_document(pages.index(_definitions()))
        return
    record = catalogue.find(name) or catalogue.comparison(name)
    if record is None:
        raise UsageError(
            f"unknown metric {name!r}{catalogue.suggestion(name)}",
            "fairaudit metrics lists all of them",
        )
    _print_document(pages.page(definition(record, worked=True)))


@app.command()
def metrics(
    form: Annotated[_Listing, typer.Option("--format", help="terminal or markdown")] = (
        _Listing.TERMINAL
    ),
) -> None:
    """List all metrics, or print the page of each in Markdown."""
    from fairaudit.report import explain as pages

    if form is _Listing.MARKDOWN:
        _stdout().write(pages.markdown(_definitions()))
    else:
        _print_document(pages.index(_definitions()))


def _definitions() -> list[Definition]:
    """The words of every metric and comparison."""
    from fairaudit import metrics as catalogue
    from fairaudit.result import definition

    every = (*catalogue.CATALOGUE, *catalogue.COMPARISONS)
    return [definition(record, worked=True) for record in every]


@app.command()
def schema(
    of: Annotated[_Schema, typer.Argument(help="spec or result")] = _Schema.SPEC,
) -> None:
    """Print the JSON Schema of the spec, or of the JSON report."""
    from fairaudit.report import json as report_json
    from fairaudit.spec import json_schema

    tree = json_schema() if of is _Schema.SPEC else report_json.schema()
    _stdout().write(stdlib_json.dumps(tree, indent=1) + "\n")


def _check_formats(form: str, outputs: list[Path]) -> None:
    """Refuses an unknown format before anything is read."""
    from fairaudit import report

    known = [one.name for one in report.FORMATS]
    if report.format_of(form) is None:
        if form in report.LATER:
            raise UsageError(f"the format {form} is not yet supported", f"there is {known}")
        hint = did_you_mean(form, known)
        raise UsageError(f"no format {form!r}{hint}", f"there is {', '.join(known)}")
    for path in outputs:
        if report.format_of_suffix(path.suffix) is None:
            later = path.suffix.lower() in report.LATER.values() and path.suffix
            why = "is not yet supported" if later else "names no format"
            suffixes = ", ".join(suffix for one in report.FORMATS for suffix in one.suffixes)
            raise UsageError(f"-o {path}: the suffix {path.suffix!r} {why}", f"there is {suffixes}")
        if path.is_dir():
            raise UsageError(f"-o {path}: this is a folder", "name a file in it")
        if not path.parent.is_dir():
            raise UsageError(f"-o {path}: there is no folder {path.parent}", "make it first")


def _tell(
    result: AuditResult, outputs: list[Path], form: str, *, all_rows: bool, quiet: bool
) -> None:
    """Writes and prints one result."""
    from fairaudit import report

    for path in outputs:
        wanted = report.format_of_suffix(path.suffix)
        if wanted is not None:
            _write(path, wanted.render(result, True))
    if form == "json":
        from fairaudit.report import json as report_json

        _write_json(report_json.document(result))
    elif not quiet:
        from fairaudit.report import content

        _print_document(content.document(result, all_rows=all_rows))


def _tell_all(
    answers: list[Answer], outputs: list[Path], form: str, *, all_rows: bool, quiet: bool
) -> None:
    """Writes and prints several answers: a summary, with `-v` after all the reports."""
    from fairaudit import report
    from fairaudit.report import content, summary, terminal
    from fairaudit.report import json as report_json

    tree = report_json.answers_document([(a.spec, a.data, a.found) for a in answers], _version())
    overview = summary.document([(_title(one), one.found) for one in answers])
    results = [a.found for a in answers if not isinstance(a.found, FairauditError)]
    for path in outputs:
        wanted = report.format_of_suffix(path.suffix)
        if wanted is not None and wanted.name == "json":
            _write(path, report_json.written(tree))
        elif wanted is not None:
            reports = [wanted.render(result, True) for result in results]
            _write(path, "\n".join([*reports, terminal.render(overview)]))
    if form == "json":
        _write_json(tree)
    elif not quiet:
        for result in results if all_rows else []:
            _print_document(content.document(result, all_rows=True))
        _print_document(overview)


def _title(answer: Answer) -> str:
    return answer.spec if answer.data is None else f"{answer.spec} {answer.data}"


def _print_document(document: Document) -> None:
    from fairaudit.report import terminal

    terminal.print_document(document, _stdout())
    _stdout().flush()


def _write_json(tree: Mapping[str, Any]) -> None:
    """Writes one JSON document to stdout, in ASCII where the stream has no other signs."""
    from fairaudit.report.json import written

    stream = _stdout()
    is_utf8 = (stream.encoding or "").lower().startswith("utf")
    text = written(tree, ascii_only=not is_utf8)
    if is_utf8 and any(0xD800 <= ord(sign) <= 0xDFFF for sign in text):
        text = written(tree, ascii_only=True)
    stream.write(text)
    stream.flush()


def _stdout() -> TextIO:
    if sys.stdout is None:
        raise OSError("stdout is closed")
    return sys.stdout


def _write(path: Path, text: str) -> None:
    """Writes a file whole or not at all; a link is followed, not replaced."""
    target = path.resolve()
    if target.exists() and not target.is_file():
        # A pipe or a device is written to, never replaced.
        _write_to(target, path, text)
        return
    half = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        half.write_text(text, encoding="utf-8", errors="backslashreplace")
        half.replace(target)
    except OSError as error:
        half.unlink(missing_ok=True)
        raise UsageError(f"-o {path}: {error.strerror or error}", "check the folder") from error


def _write_to(target: Path, path: Path, text: str) -> None:
    try:
        target.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UsageError(f"-o {path}: {error.strerror or error}", "check where it leads") from error


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


def _last_line(result: AuditResult, asked: str, seconds: float) -> str:
    """The last line on stderr, always of the same shape."""
    from fairaudit.report.numbers import whole
    from fairaudit.report.sentences import tally

    rows = f"rows={whole(result.provenance.rows)}"
    return f"{result.verdict.upper()}  {tally(result)}  {asked} {rows} {seconds:.1f}s"


def _line_of(answer: Answer, seconds: float) -> str:
    """The same line for one of several answers; an error is told in its place."""
    asked = f"spec={Path(answer.spec).name}"
    if answer.data is not None:
        asked += f" data={answer.data}"
    if isinstance(answer.found, FairauditError):
        word = "NOTHING" if isinstance(answer.found, NothingToAudit) else "ERROR"
        return f"{answer.found}\n{word}  no verdict  {asked}"
    return _last_line(answer.found, asked, seconds)


def _last_words(error: FairauditError, arguments: list[str]) -> str:
    """The last line on stderr where there is no verdict."""
    word = "NOTHING" if isinstance(error, NothingToAudit) else "ERROR"
    specs = [Path(one).name for one in arguments if one.endswith((".yaml", ".yml"))]
    return f"{word}  no verdict{''.join(f'  spec={name}' for name in specs[:1])}"


def _wants_json(arguments: list[str]) -> bool:
    following = [*arguments[1:], ""]
    pairs = zip(arguments, following, strict=False)
    return any(one == "--format=json" or (one, two) == ("--format", "json") for one, two in pairs)


def _version() -> str:
    from importlib.metadata import version

    return version("fairaudit-cli")

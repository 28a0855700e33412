"""`-o`, `--format`, `-q`: checks and clears outputs, writes reports, errors and the last line.

Only this module writes errors (`FairauditError`): to each file in place of its report, to the
summary of a step on GitHub, to stdout if the format is for machines, and to stderr.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer.models import OptionInfo

from fairaudit.base import names
from fairaudit.base.errors import FairauditError, Unwritten, UsageError
from fairaudit.base.frozen import Frozen
from fairaudit.base.inputs import STDIN
from fairaudit.base.masking import mask
from fairaudit.base.processes import THIS_PROCESS, Workers
from fairaudit.cli import streams
from fairaudit.cli.app import Request
from fairaudit.cli.files import (
    FIXED,
    PICTURES,
    Identity,
    Outputs,
    clear,
    write_folder,
    write_pictures,
)
from fairaudit.cli.streams import Color, is_colored
from fairaudit.report import FORMATS, Format, format_named, format_of, format_of_suffix

if TYPE_CHECKING:
    from fairaudit.codec import Document as JsonDocument
    from fairaudit.report.blocks import Document
    from fairaudit.result import Answer


PAGE_FORMATS = tuple(form for form in FORMATS if form.shows_pages)
"""The formats that show a page other than an audit report."""


def list_suffixes(forms: Iterable[Format]) -> str:
    """The suffixes of these formats."""
    return ", ".join(suffix for form in forms for suffix in form.suffixes)


def list_names(forms: Iterable[Format]) -> str:
    """The names of these formats."""
    return ", ".join(form.name for form in forms)


FILE_HELP = f"Write a report; the suffix picks the format: {list_suffixes(FORMATS)}."


def file_option(forms: Iterable[Format]) -> OptionInfo:
    """The option `-o` of a command that writes a page in one of these formats."""
    text = f"Write a file; the suffix picks the format: {list_suffixes(forms)}."
    option: OptionInfo = typer.Option("-o", "--output", help=text)
    return option


def format_option(forms: Iterable[Format]) -> OptionInfo:
    """The option `--format` of a command that prints a page in one of these formats."""
    option: OptionInfo = typer.Option("--format", help=f"What to print: {list_names(forms)}.")
    return option


PageFormat = Annotated[str, format_option(PAGE_FORMATS)]
PageOutput = Annotated[list[str] | None, file_option(PAGE_FORMATS)]
"""The options of commands that show a page other than an audit report."""

_SLASHES = tuple({os.sep, os.altsep or os.sep})


class Page(Frozen):
    """The output of a command that is not an audit report: as a document, and as JSON."""

    document: Callable[[], Document]
    json: Callable[[], str]

    def render(self, form: Format) -> str:
        """The text in a format that shows pages."""
        return self.json() if form.page is None else form.page(self.document())

    def write(self, outputs: Outputs) -> None:
        """Writes the page to each output, in the format of the suffix."""
        for path in outputs.paths:
            outputs.write(path, self.render(format_of_path(path)))

    def show(self, form: Format, color: Color) -> None:
        """Prints the page in a format that shows pages."""
        if form.name == "terminal":
            print_document(self.document(), color)
        else:
            print_text(self.render(form), form)


def write_json(record: JsonDocument) -> str:
    """A record of the codec as the text of a JSON document."""
    from fairaudit import codec
    from fairaudit.report import json

    return json.written(codec.write(record))


def format_of_path(path: Path, forms: Sequence[Format] = FORMATS) -> Format:
    """The format of a file; raises `UsageError` if no format has its suffix.

    The error lists `forms`, the formats of the command.
    """
    form = format_of_suffix(path.suffix)
    if form is None and str(path) == STDIN:
        raise UsageError("-o does not accept -", "use --format to print to stdout")
    if form is None and path.suffix.lower() == ".pdf":
        hint = "write report.html, and print it from a browser (two pages; all pages with --full)"
        raise UsageError(f"-o {path}: PDF is not a format", hint)
    if form is None:
        what = f"-o {path}: the suffix {path.suffix!r} is not a known format"
        more = "; end the name of a folder with a slash" if forms is FORMATS else ""
        raise UsageError(what, f"available: {list_suffixes(forms)}{more}")
    return form


def check_outputs(
    format_name: str,
    names: Sequence[str],
    what: str = "a report",
    forms: Sequence[Format] = FORMATS,
) -> list[Path]:
    """The paths of the outputs; creates the folders among them.

    Raises `UsageError` for wrong paths, and for formats that are not in `forms`; the message calls
    the output `what`. If not all formats are allowed, folders are refused as well.
    """
    takes_folders, paths = forms is FORMATS, list[Path]()
    found = [format_named(format_name)]
    for name in names:
        if not name.strip():
            raise UsageError(f"-o {name!r}: the path is empty", "leave out -o, or name a file")
        path = Path(name)
        is_folder = name.endswith(_SLASHES) or (
            path.is_dir() and format_of_suffix(path.suffix) is None
        )
        if is_folder and path in paths and not path.is_dir():
            raise UsageError(
                f"-o {name}: another -o uses this path as a file", "name another folder"
            )
        if is_folder and takes_folders:
            try:
                path.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                why = error.strerror or str(error)
                hint = "name a folder that can be created"
                raise UsageError(f"-o {path}/: {why}", hint) from error
        elif is_folder or path.is_dir():
            hint = "name a file in it" + (", or end the path with a slash" if takes_folders else "")
            raise UsageError(f"-o {path}: this is a folder", hint)
        else:
            found.append(format_of_path(path, forms))
            if not path.parent.is_dir():
                raise UsageError(
                    f"-o {path}: the folder {path.parent} does not exist", "create the folder first"
                )
        paths.append(path)
    for form in found:
        if form not in forms:
            raise UsageError(f"{form.name} does not show {what}", f"use {list_names(forms)}")
    return paths


def clear_outputs(
    paths: Sequence[Path],
    inputs: Callable[[], Iterable[Path]],
    reports: Callable[[Path], Iterable[Path]] = lambda _: (),
) -> Outputs:
    """The outputs of a command, after the files of an earlier run were removed.

    Raises `UsageError` if an output is also an input; the other files are removed anyway, because
    the command will not write new reports. `inputs` lists the inputs, and is called only if an
    output exists. `reports` lists the reports that the command writes into a folder.
    """
    folders = [path for path in paths if path.is_dir()]
    files = [path for path in paths if path not in folders]
    listed = [path for path in folders if path.name != PICTURES]
    files += [path / name for path in listed for name in FIXED]
    known: dict[Identity, str] = {}
    if any(path.exists() for path in files) or any(any(path.iterdir()) for path in folders):
        known = {file: str(path) for path in inputs() if (file := Identity.of(path)) is not None}
    outputs = Outputs(tuple(paths), known, {*paths})
    refused = None
    for path in (*files, *chain.from_iterable(map(reports, folders))):
        try:
            outputs.refuse(path)
        except UsageError as error:
            refused = refused or error
        else:
            clear(path)
    if refused is not None:
        raise refused
    return outputs


def write_reports(
    answers: Sequence[Answer],
    outputs: Outputs,
    paths: Iterable[Path],
    workers: Workers = THIS_PROCESS,
    *,
    full: bool = False,
) -> None:
    """Writes a report with all rows to each path; a folder gets a report for each answer.

    With `full`, browsers also print the appendix of a page. The first error is raised after all
    other outputs are written, so that no older report stays.
    """
    errors: list[Exception] = []
    for path in paths:
        try:
            if path.is_dir():
                outputs.unwritten.discard(path)
                if path.name == PICTURES:
                    write_pictures(path, answers, outputs)
                else:
                    write_folder(path, answers, outputs, workers)
            else:
                form = format_of_path(path)
                outputs.write(path, form.render(answers, all_rows=True, full=full))
        except Exception as error:  # noqa: BLE001  # raised below
            errors.append(error)
    if errors:
        raise errors[0]


def print_report(
    answers: Sequence[Answer],
    form: Format,
    *,
    all_rows: bool,
    full: bool = False,
    quiet: int = 0,
    color: Color = "auto",
) -> None:
    """Prints the report in a format; for the terminal only its first screen, unless `full`.

    If `quiet` is 1, the format `terminal` has only the headlines of checks that did not pass.
    If `quiet` is 2, the format `terminal` prints nothing.
    """
    if form.name != "terminal":
        print_text(form.render(answers, all_rows=all_rows), form)
    elif quiet:
        from fairaudit.report import headlines
        from fairaudit.report.diagnostics import Level, diagnose
        from fairaudit.result import AuditResult

        lines = []
        for answer in answers if quiet == 1 else ():
            of = f"{names.copied(answer.title)}: " if len(answers) > 1 else ""
            found = diagnose(answer.result) if isinstance(answer.result, AuditResult) else ()
            for row in (row for row in found if row.level is not Level.PASS):
                # A headline that is about people without bounds needs no addition.
                told = not row.finding.people_without_bounds and headlines.turning([row.finding])
                text = f"{row.headline}; {told}" if told else row.headline
                lines.append(f"{of}{row.level}[{row.code}]: {text}\n")
        print_text("".join(lines), form)
    elif full or all_rows:
        from fairaudit.report import summary

        print_document(summary.report(answers, all_rows=all_rows), color)
    else:
        from fairaudit.report import terminal

        terminal.print_answers(answers, sys.stdout, color=is_colored(color))
        sys.stdout.flush()


def print_document(document: Document, color: Color) -> None:
    """Prints a document for people."""
    from fairaudit.report import terminal

    terminal.print_document(document, sys.stdout, color=is_colored(color))
    sys.stdout.flush()


def print_text(content: str | bytes, form: Format) -> None:
    """Prints a report in a format, with characters that the stream supports."""
    stream = sys.stdout
    if isinstance(content, bytes) and form.encoder:
        content = content.decode()
    if isinstance(content, bytes):
        if stream.isatty():
            raise UsageError(
                f"{form.name} is a binary format and cannot be printed to a terminal",
                "write it to a file with -o",
            )
        stream.flush()
        stream.buffer.write(content)
    else:
        encoding = stream.encoding or "ascii"
        try:
            content.encode(encoding)
        except UnicodeEncodeError:
            content = form.encode_for(content, encoding)
        stream.write(content)
    stream.flush()


_MOST_SUMMARY = 900_000
"""The maximum size of a summary in bytes; GitHub drops summaries of more than a MiB."""

_LONGEST = 2000
"""The maximum length of a line of an error. Longer lines (from a spec) are cut in the middle."""


def end_by_error(error: FairauditError, request: Request) -> int:
    """Writes an error to all outputs of the command; returns the exit code of the error."""
    from fairaudit.pipeline import batch
    from fairaudit.result import Answer

    answer = Answer(request.subject, batch.name_data(request.data), error)
    outputs = request.outputs
    # Files without a new report get the error, so that no report of an earlier run stays.
    paths = [
        path
        for path in outputs.paths
        if path in outputs.unwritten and _may_show_error(format_of_suffix(path.suffix), request)
    ]
    with contextlib.suppress(Exception):
        write_reports([answer], outputs, paths)
    if request.command == "run":
        told = Answer(answer.spec or "fairaudit run", answer.data, answer.result)
        append_summary([told], request.files())
    try:
        form = format_of(request.format_name)
        if form is not None and form.tells_errors and _may_show_error(form, request):
            print_report([answer], form, all_rows=False)
    except Unwritten as lost:
        streams.write_line(error_text(error))
        error = lost
    streams.write_line(error_text(error))
    specs = [name_subject(spec, None) for spec in request.specs[:1]]
    streams.write_line("  ".join([_verdict(error), *specs]))
    return error.exit_code


def _may_show_error(form: Format | None, request: Request) -> bool:
    """Whether an output may contain an error; a published CSV table contains only groups."""
    return request.command != "publish" or form is None or form.name != "csv"


def end_by_verdict(answers: Sequence[Answer], request: Request, seconds: float) -> int:
    """Writes the verdict of each answer, and of all answers together; returns the exit code."""
    from fairaudit.report.checks import tally, verdict_word
    from fairaudit.report.headlines import most_left_out, turning
    from fairaudit.report.numbers import counted, whole
    from fairaudit.result import exit_code, list_notices

    append_summary(answers, request.files())
    for answer in answers:
        result = answer.result
        subject = name_subject(answer.spec, None if len(answers) == 1 else answer.data)
        if isinstance(result, FairauditError):
            streams.write_line(f"{error_text(result)}\n{_verdict(result)}  {subject}")
            continue
        rows = f"rows={whole(result.provenance.rows)}"
        notices = counted(len(result.notices), "notice") if result.notices else ""
        doubts = [most_left_out(result.findings), turning(result.findings)]
        checks = "; ".join(filter(None, [tally(result), *doubts, notices]))
        verdict = verdict_word(result.verdict)
        streams.write_line(f"{verdict}  {checks}  {subject} {rows} {seconds:.1f}s")
    if len(answers) > 1:
        from fairaudit.report.summary import verdicts, worst_verdict

        for notice in list_notices(answers):
            streams.write_line(names.line(notice))
        worst = worst_verdict(answers).upper()
        streams.write_line(f"{worst}  {len(answers):,} audits: {verdicts(answers)}  {seconds:.1f}s")
    return exit_code(answers)


def append_summary(answers: Sequence[Answer], others: Iterable[Path] = ()) -> None:
    """Appends the report to the file that the variable `GITHUB_STEP_SUMMARY` names, if it is set.

    The file must not be one of `others`, the files that the run reads and writes. If the summary
    cannot be written, a message reports it, and the verdict does not change.
    """
    name = os.environ.get("GITHUB_STEP_SUMMARY")
    if not name:
        return
    from fairaudit.report import markdown

    path, why = Path(name), ""
    try:
        size = path.stat().st_size if path.exists() else 0
        # The existing text may end without a line break.
        start = b"\n\n" if size else b""
        room, identity = _MOST_SUMMARY - size - len(start), Identity.of(path)
        if path.exists() and not path.is_file():
            why = "this is not a file"
        elif identity is not None and identity in map(Identity.of, others):
            why = "the run reads or writes this file, too"
        elif room < markdown.LEAST:
            why = f"it already has {size:,} bytes, and GitHub shows at most 1 MiB"
        else:
            text = markdown.render(answers, most=room)
            with path.open("ab") as file:
                file.write(start + text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        why = error.strerror or str(error)
    if why:
        streams.write_line(f"the summary of the step was not written: {name}: {why}")


def error_text(error: FairauditError) -> str:
    """The text of an error in printable characters; long lines are shortened."""
    lines, half = names.printable(str(error), but="\n\t").split("\n"), _LONGEST // 2
    return "\n".join(
        line if len(line) <= _LONGEST else f"{line[:half]} … {line[-half:]}" for line in lines
    )


def name_subject(spec: str, data: str | None) -> str:
    """The spec, and the data if given, as the last line shows them: `spec=a.yaml data=b.csv`."""
    named = f"spec={names.copied(Path(mask(spec)).name)}"
    return named if data is None else f"{named} data={names.copied(data)}"


def _verdict(error: FairauditError) -> str:
    return f"{error.verdict.upper()}  no verdict"

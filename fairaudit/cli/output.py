"""`-o`, `--format`, `-q`: allowed outputs (folder must exist), what is deleted first, writing."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairaudit.base import names
from fairaudit.base.errors import UsageError
from fairaudit.base.frozen import Frozen
from fairaudit.base.inputs import STDIN
from fairaudit.base.processes import THIS_PROCESS, Workers
from fairaudit.cli import folder
from fairaudit.cli.files import Identity, Outputs, clear
from fairaudit.cli.streams import Color, is_colored, write_line
from fairaudit.report import FORMATS, Format, format_named, format_of_suffix

if TYPE_CHECKING:
    from fairaudit.codec import Document as JsonDocument
    from fairaudit.report.blocks import Document
    from fairaudit.result import Answer

_SUFFIXES = ", ".join(suffix for form in FORMATS for suffix in form.suffixes)
FILE_HELP = f"Write a report; the suffix picks the format: {_SUFFIXES}."

PageFormat = Annotated[
    str,
    typer.Option(
        "--format",
        help=f"What to print: {', '.join(form.name for form in FORMATS if form.shows_pages)}.",
    ),
]
"""The option of commands that print a page other than an audit report."""

_SLASHES = tuple({os.sep, os.altsep or os.sep})


class Page(Frozen):
    """The output of a command that is not an audit report: as a document, and as JSON."""

    document: Callable[[], Document]
    json: Callable[[], str]

    def render(self, form: Format) -> str:
        """The text in a format that shows pages."""
        return self.json() if form.page is None else form.page(self.document())

    def write(self, outputs: Outputs) -> None:
        """Writes it to each output, in the format of its suffix."""
        for path in outputs.paths:
            outputs.write(path, self.render(format_of_path(path)))

    def show(self, form: Format, color: Color) -> None:
        """Prints it in such a format."""
        if form.name == "terminal":
            print_document(self.document(), color)
        else:
            print_text(self.render(form), form)


def write_json(record: JsonDocument) -> str:
    """A record of the codec as the text of a JSON document."""
    from fairaudit import codec
    from fairaudit.report import json

    return json.written(codec.write(record))


def format_of_path(path: Path) -> Format:
    """The format of a report that is one file; raises `UsageError` where its suffix names none."""
    form = format_of_suffix(path.suffix)
    if form is None and str(path) == STDIN:
        raise UsageError("-o does not accept -", "use --format to print to stdout")
    if form is None:
        what = f"-o {path}: the suffix {path.suffix!r} is not a known format"
        raise UsageError(what, f"available: {_SUFFIXES}; a folder ends with a slash")
    return form


def check_outputs(format_name: str, names: Sequence[str], *, folders: bool = True) -> list[Path]:
    """Where to write; refuses an unknown format, and makes folders, before anything is read.

    Without `folders` it refuses them: one page is one file.
    """
    format_named(format_name)
    paths: list[Path] = []
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
        if is_folder and folders:
            folder.prepare(path)
        elif is_folder or path.is_dir():
            hint = "name a file in it" + (", or end the path with a slash" if folders else "")
            raise UsageError(f"-o {path}: this is a folder", hint)
        else:
            format_of_path(path)
            if not path.parent.is_dir():
                raise UsageError(
                    f"-o {path}: the folder {path.parent} does not exist", "create the folder first"
                )
        paths.append(path)
    return paths


def check_page_outputs(format_name: str, names: Sequence[str], what: str) -> list[Path]:
    """Where to write; refuses folders, and formats that cannot show `what` on one page."""
    paths = check_outputs(format_name, names, folders=False)
    for form in (format_named(format_name), *map(format_of_path, paths)):
        if not form.shows_pages:
            known = ", ".join(form.name for form in FORMATS if form.shows_pages)
            raise UsageError(f"{form.name} does not show {what}", f"use {known}")
    return paths


def clear_outputs(
    paths: Sequence[Path],
    inputs: Callable[[], Iterable[Path]],
    reports: Callable[[Path], Iterable[Path]] = lambda _: (),
) -> Outputs:
    """The outputs of a command, without the files of an earlier run; refuses to lose inputs.

    If one output is refused, the others are removed anyway, since there will be no new report.
    `inputs` is called only if a file exists that may be an input. `reports` gives the known files
    of a folder.
    """
    folders = [path for path in paths if path.is_dir()]
    files = [path for path in paths if path not in folders]
    files += [path / name for path in folders for name in folder.FIXED]
    known: dict[Identity, str] = {}
    if any(path.exists() for path in files) or any(any(path.iterdir()) for path in folders):
        known = {file: str(path) for path in inputs() if (file := Identity.of(path)) is not None}
    earlier = {path: folder.listed_in(path) for path in folders}
    outputs = Outputs(tuple(paths), known, earlier, {*paths})
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

    With `full` the appendix of a page is printed, too.
    The first error is raised after all other outputs are written, so that no older report stays.
    """
    errors: list[Exception] = []
    for path in paths:
        try:
            if path.is_dir():
                outputs.unwritten.discard(path)
                others = folder.write_folder(path, answers, outputs, workers)
                if others:
                    files = "1 file is" if others == 1 else f"{others:,} files are"
                    write_line(f"{path}: {files} of an earlier run, and not in the index")
            else:
                form = format_of_path(path)
                outputs.write(path, form.render(answers, all_rows=True, full=full))
        except Exception as error:  # noqa: BLE001  # raised below
            errors.append(error)
    if errors:
        raise errors[0]


def print_report(  # what the options of a command say
    answers: Sequence[Answer],
    form: Format,
    *,
    all_rows: bool,
    full: bool = False,
    quiet: int = 0,
    color: Color = Color.AUTO,
) -> None:
    """Prints the report in a format; of the one for people its first screen, unless `full`.

    `quiet` cuts that one: at 1 it has the headlines of what is not passed, at 2 nothing.
    """
    if form.name != "terminal":
        print_text(form.render(answers, all_rows=all_rows), form)
    elif quiet:
        lines = _headlines(answers) if quiet == 1 else ()
        print_text("".join(f"{line}\n" for line in lines), form)
    elif full or all_rows:
        from fairaudit.report import summary

        print_document(summary.report(answers, all_rows=all_rows), color)
    else:
        from fairaudit.report import terminal

        terminal.print_answers(answers, sys.stdout, color=is_colored(color))
        sys.stdout.flush()


def _headlines(answers: Sequence[Answer]) -> Iterator[str]:
    """A line for each check that is not passed; of several answers it says whose it is."""
    from fairaudit.report.diagnostics import Level, diagnose
    from fairaudit.result import AuditResult

    for answer in answers:
        of = f"{names.copied(answer.title)}: " if len(answers) > 1 else ""
        for row in diagnose(answer.result) if isinstance(answer.result, AuditResult) else ():
            if row.level is not Level.PASS:
                yield f"{of}{row.level}[{row.code}]: {row.headline}"


def print_document(document: Document, color: Color = Color.AUTO) -> None:
    """Prints a document for people."""
    from fairaudit.report import terminal

    terminal.print_document(document, sys.stdout, color=is_colored(color))
    sys.stdout.flush()


def print_text(content: str | bytes, form: Format) -> None:
    """Prints the text of a format, in characters that the stream supports."""
    stream = sys.stdout
    if isinstance(content, bytes) and form.speller:
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
            content = form.spell(content, encoding)
        stream.write(content)
    stream.flush()

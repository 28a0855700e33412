"""Where reports go: to stdout, and to files."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from fairaudit.cli.files import Outputs
from fairaudit.cli.streams import tell
from fairaudit.errors import FairauditError, UsageError, did_you_mean
from fairaudit.report import FORMATS

if TYPE_CHECKING:
    from fairaudit.report import Format
    from fairaudit.report.blocks import Document
    from fairaudit.result import Answer

FORMAT_HELP = f"What to print: {', '.join(one.name for one in FORMATS)}."
PAGE_HELP = f"What to print: {', '.join(one.name for one in FORMATS if one.shows_pages)}."
FILE_HELP = (
    "Write a report; the suffix picks the format: "
    f"{', '.join(suffix for one in FORMATS for suffix in one.suffixes)}."
)

_SLASHES = tuple({os.sep, os.altsep or os.sep})


def check_formats(form: str, outputs: Sequence[str], *, folders: bool = True) -> list[Path]:
    """Where to write; refuses an unknown format, and makes folders, before anything is read.

    Without `folders` it refuses them: one page is one file.
    """
    from fairaudit import report
    from fairaudit.cli import folder

    known = [one.name for one in report.FORMATS]
    if report.format_of(form) is None:
        hint = did_you_mean(form, known)
        raise UsageError(f"no format {form!r}{hint}", f"there is {', '.join(known)}")
    paths: list[Path] = []
    for name in outputs:
        if not name.strip():
            raise UsageError(f"-o {name!r}: this names no file", "leave it out, or name one")
        path = Path(name)
        is_format = report.format_of_suffix(path.suffix) is not None
        is_folder = name.endswith(_SLASHES) or (path.is_dir() and not is_format)
        if is_folder and path in paths and not path.is_dir():
            raise UsageError(f"-o {name}: this is to be a file, too", "name another folder")
        if is_folder and folders:
            folder.prepare(path)
        elif is_folder or path.is_dir():
            hint = "name a file in it" + (", or end it with a slash" if folders else "")
            raise UsageError(f"-o {path}: this is a folder", hint)
        elif not is_format:
            suffixes = ", ".join(suffix for one in report.FORMATS for suffix in one.suffixes)
            why = f"the suffix {path.suffix!r} names no format"
            raise UsageError(
                f"-o {path}: {why}", f"there is {suffixes}; a folder ends with a slash"
            )
        elif not path.parent.is_dir():
            raise UsageError(f"-o {path}: there is no folder {path.parent}", "make it first")
        paths.append(path)
    if sys.flags.optimize > 1 and any(map(_draws, [Path(f"x.{form}"), *paths])):
        what = "the pictures of a page need docstrings, which PYTHONOPTIMIZE=2 leaves out"
        raise UsageError(what, "unset it (or leave out `python -OO`), or ask for another format")
    return paths


def _draws(path: Path) -> bool:
    """Whether what is written there has pictures."""
    from fairaudit import report

    wanted = report.format_of_suffix(path.suffix)
    return path.is_dir() or (wanted is not None and wanted.name == "html")


@contextlib.contextmanager
def errors_in(outputs: Outputs, asked: str, data: str | None = None) -> Iterator[None]:
    """Writes the error that ends a command to its files, our own crash too.

    A report of an earlier run would stay, and be taken for this one's.
    """
    try:
        yield
    except (typer.Exit, typer.Abort, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        # Polars' panics are no `Exception`.
        from fairaudit.result import Answer

        known = error if isinstance(error, FairauditError) else FairauditError.crashed(error)
        with contextlib.suppress(FairauditError):
            write_files([Answer(asked, data, known)], outputs)
        raise


def write_files(answers: Sequence[Answer], outputs: Outputs) -> None:
    """Writes every file that was asked for, with all rows; a folder holds one for each answer.

    What cannot be written is told once all others are: none of them may stay as it was.
    """
    failed: list[Exception] = []
    for path in outputs.paths:
        try:
            _write_report(answers, path, outputs)
        except Exception as error:  # noqa: BLE001  # raised below
            failed.append(error)
    if failed:
        raise failed[0]


def _write_report(answers: Sequence[Answer], path: Path, outputs: Outputs) -> None:
    from fairaudit import report
    from fairaudit.cli import folder

    wanted = report.format_of_suffix(path.suffix)
    if path.is_dir():
        left = folder.write_folder(path, answers, outputs)
        if left:
            files = "1 file is" if left == 1 else f"{left:,} files are"
            tell(f"{path}: {files} of an earlier run, and not in the index")
    elif wanted is not None:
        try:
            content = wanted.render(answers, True)
        except Exception as error:
            from fairaudit.result import Answer

            crash = Answer(answers[0].spec, answers[0].data, FairauditError.crashed(error))
            outputs.write(path, wanted.render([crash], True))
            raise
        outputs.write(path, content)


def print_answers(answers: Sequence[Answer], form: str, *, all_rows: bool, quiet: bool) -> None:
    """Prints the report in a format; `quiet` silences the one for people, never one for machines.

    One error alone is not printed here: it is raised, and told on its way out.
    """
    from fairaudit import report

    wanted = report.format_of(form)
    if wanted is None or (len(answers) == 1 and isinstance(answers[0].found, FairauditError)):
        return
    if wanted.name != "terminal":
        _print(wanted, answers, all_rows=all_rows)
    elif not quiet:
        from fairaudit.report import summary

        print_document(summary.report(answers, all_rows=all_rows))


def print_error(error: FairauditError, arguments: Sequence[str]) -> None:
    """Prints an error on stdout, where a format was asked for that tells errors."""
    from fairaudit import report

    wanted = report.format_of(_format_in(arguments))
    if wanted is not None and wanted.tells_errors:
        from fairaudit.result import Answer

        specs = [one for one in arguments if one.endswith((".yaml", ".yml"))]
        _print(wanted, [Answer(specs[0] if specs else "", None, error)], all_rows=False)


def print_document(document: Document) -> None:
    """Prints a document for people."""
    from fairaudit.report import terminal

    terminal.print_document(document, sys.stdout)
    sys.stdout.flush()


def _print(wanted: Format, answers: Sequence[Answer], *, all_rows: bool) -> None:
    print_text(wanted.render(answers, all_rows), wanted)


def print_text(content: str | bytes, wanted: Format) -> None:
    """Prints what a format rendered, in signs that the stream has."""
    stream = sys.stdout
    if isinstance(content, bytes):
        if stream.isatty():
            raise UsageError(f"{wanted.name} is not for a terminal", "write it to a file with -o")
        stream.flush()
        stream.buffer.write(content)
    else:
        encoding = stream.encoding or "ascii"
        try:
            content.encode(encoding)
        except UnicodeEncodeError:
            content = wanted.spelled(content, encoding)
        stream.write(content)
    stream.flush()


def _format_in(arguments: Sequence[str]) -> str:
    """The format that a command line asks for last, whether or not it could be parsed."""
    found, following = "terminal", [*arguments[1:], ""]
    for one, two in zip(arguments, following, strict=False):
        if one == "--format":
            found = two
        elif one.startswith("--format="):
            found = one.removeprefix("--format=")
    return found

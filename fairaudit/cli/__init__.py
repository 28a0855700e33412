"""The command: arguments in, a report on stdout, an exit code out.

0 every check passed, or nothing was judged; 1 a check failed or some could not be evaluated; 2 no
verdict; 3 nothing could be evaluated; 130 interrupted.
"""

from __future__ import annotations

import gc
import io
import os
import sys
import traceback
from typing import Annotated, NoReturn

import typer

from fairaudit.cli import auditing, comparing, reference, results, step_summary
from fairaudit.cli.app import app
from fairaudit.cli.lines import last_words, told
from fairaudit.cli.output import print_error, unwritten
from fairaudit.errors import FairauditError, UsageError
from fairaudit.version import version

__all__ = ["auditing", "comparing", "main", "reference", "results"]

INTERRUPTED = 130


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
        code = unwritten()
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
    # Set to nothing it fixes no date, and NumPy trips over it.
    if not os.environ.get("SOURCE_DATE_EPOCH", "0").strip():
        del os.environ["SOURCE_DATE_EPOCH"]


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
        return unwritten()
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
    """Tells an error on stderr, on stdout too in a format that was asked for; its exit code."""
    known: FairauditError
    if isinstance(error, FairauditError):
        known = error
    elif isinstance(error, typer.TyperException):
        known = UsageError(error.format_message(), _where_help_is(arguments))
    else:
        known = FairauditError.crashed(error)
    try:
        print_error(known, arguments)
    except OSError:
        unwritten()
    step_summary.append_error(known, arguments)
    typer.echo(told(known), err=True)
    typer.echo(last_words(known, arguments), err=True)
    return known.exit_code


def _where_help_is(arguments: list[str]) -> str:
    """The help of the command that was called wrongly."""
    asked = next((one for one in arguments if not one.startswith("-")), "")
    called = [one.callback.__name__ for one in app.registered_commands if one.callback is not None]
    return f"fairaudit {asked} --help" if asked in called else "fairaudit --help"


@app.callback(invoke_without_command=True)
def _root(
    version_asked: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version_asked:
        typer.echo(f"fairaudit {version()}")
        raise typer.Exit

"""The command line: runs a command, catches errors, returns the exit code.

That of a result is its own (`result.AuditResult.exit_code`), that of an error its class's
(`errors`); here only an interrupt or a report that did not arrive takes the place of either.
0 every check passed, or nothing was judged; 1 a check failed or some could not be evaluated; 2 no
verdict; 3 nothing could be evaluated; 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer
from typer.completion import shell_complete

from fairaudit.base import inputs, interrupts, memory, trust
from fairaudit.base.errors import FairauditError, OutOfMemory, Unwritten, UsageError
from fairaudit.base.version import __version__
from fairaudit.cli import streams
from fairaudit.cli.app import Request, app
from fairaudit.cli.commands import command_line, read_request
from fairaudit.cli.exit_messages import end_by_error

_COMPLETION = "_FAIRAUDIT_COMPLETE"


def main(arguments: list[str], began: float) -> int:
    """Carries out a command line of this process; the code to exit with.

    `began` is when the process was ready to load this, by `time.perf_counter`.
    """
    if not memory.has_room_to_start():
        # The report of this would load NumPy, too.
        raise OutOfMemory
    memory.leave_by(OutOfMemory.exit_code)
    # No matrix is multiplied by several processors: that is a twentieth of a small audit.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Set to nothing it fixes no date, and NumPy trips over it.
    if not os.environ.get("SOURCE_DATE_EPOCH", "0").strip():
        del os.environ["SOURCE_DATE_EPOCH"]
    streams.open_all()
    return run_line(arguments, began)


def run_line(arguments: list[str], began: float | None = None) -> int:
    """The exit code of a command line; nothing but `--debug` shows a traceback.

    Once the report has left, an interrupt stands above all, a report that did not arrive is no
    verdict, and any error has its own code.
    """
    request = Request()
    if arguments[:1] == ["--debug"]:
        arguments = [*arguments[1:], "--debug"]  # it is an option of the commands
    with trust.untrusted(is_on=trust.OPTION in arguments):
        try:
            request = read_request(arguments)
            request.began = began or request.began
            code = _call(arguments, request)
            sys.stdout.flush()
        except BaseException as error:  # noqa: BLE001  # our own crash gives no verdict: Python's 1 would lie
            if request.debug:
                import traceback

                streams.write_line(traceback.format_exc())
            if interrupts.noticed() or isinstance(error, KeyboardInterrupt | typer.Abort):
                streams.write_line(interrupts.WORDS)
                return interrupts.CODE
            code = end_by_error(_as_ours(error, request), request)
        finally:
            inputs.forget_stdin()
    if interrupts.noticed():
        return interrupts.CODE
    return Unwritten.exit_code if streams.report_is_lost() else code


def _call(arguments: list[str], request: Request) -> int:
    """The exit code that a command gives itself.

    Typer's own `main` would make 1 of a broken pipe, and answer a shell that asks for completions
    whatever else stands on the line: an audit would exit with 0 without being done.
    """
    for name in request.repeated:
        hint = "a folder or a glob names several files" if name == "--data" else request.help
        raise UsageError(f"{name} is given more than once, and has one value", hint)
    command = command_line(*arguments[:1])
    instruction = os.environ.get(_COMPLETION, "")
    if instruction and not arguments:
        return shell_complete(command, {}, "fairaudit", _COMPLETION, instruction)
    try:
        with command.make_context("fairaudit", arguments, obj=request) as context:
            command.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    except SystemExit:  # how completions are installed and shown
        return 0
    return 0


def _as_ours(error: BaseException, request: Request) -> FairauditError:
    """An error as one of ours; Polars' panics are no `Exception`."""
    if isinstance(error, typer.TyperException):
        if request.command == "run":
            from fairaudit.cli.auditing import clear_earlier

            clear_earlier(request)
        return UsageError(error.format_message(), request.help)
    return FairauditError.crashed(error)


def _print_version(is_asked: bool) -> None:  # noqa: FBT001  # as Typer calls it
    if is_asked:
        typer.echo(f"fairaudit {__version__}")
        raise typer.Exit


_Version = Annotated[
    bool,
    typer.Option(
        "-V", "--version", callback=_print_version, is_eager=True, help="Print the version."
    ),
]


@app.callback(invoke_without_command=True)
def _root(context: typer.Context, _version: _Version = False) -> None:
    if context.invoked_subcommand is None:
        streams.write_line(context.get_help())
        raise typer.Exit(UsageError.exit_code)

"""The command line: runs a command, catches errors, returns the exit code.

Each result (`AuditResult.exit_code`) and each class of errors (`base.errors`) has an exit code. The
codes of Ctrl-C (130) and of a report that could not be printed (2) replace this code.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Sequence
from copy import copy
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import typer
import typer.core
from typer.completion import shell_complete

from fairaudit.base import __version__, inputs, interrupts, memory, trust
from fairaudit.base.errors import FairauditError, OutOfMemory, Unwritten, UsageError
from fairaudit.cli import streams
from fairaudit.cli.app import FORMAT_VARIABLE, HELP, Request, app
from fairaudit.cli.output import end_by_error

_COMPLETION = "_FAIRAUDIT_COMPLETE"


def main(arguments: list[str]) -> int:
    """Prepares the process and runs a command line; returns the exit code."""
    if not memory.has_room(memory.START, memory.START_WRITTEN):
        # NumPy does not fit into memory, and the usual report of an error would load NumPy.
        raise OutOfMemory
    memory.leave_by(OutOfMemory.exit_code)
    # Starting more threads would take 5 % of the time of a small audit.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # NumPy fails if this is set to an empty text.
    if not os.environ.get("SOURCE_DATE_EPOCH", "0").strip():
        del os.environ["SOURCE_DATE_EPOCH"]
    streams.open_all()
    return run_line(arguments)


def run_line(arguments: list[str]) -> int:
    """Runs a command line and returns its exit code; only `--debug` prints a traceback.

    The code for Ctrl-C replaces all other codes, and the code for a lost report replaces the
    codes of verdicts and errors.
    """
    request = Request()
    if arguments[:1] == ["--debug"]:
        arguments = [*arguments[1:], "--debug"]  # an option of the command that follows
    with trust.untrusted(is_on=trust.OPTION in arguments):
        try:
            request = read_request(arguments)
            code = _call(arguments, request)
            sys.stdout.flush()
        except BaseException as error:  # noqa: BLE001  # Python exits with 1 on a crash, which would mean a failed check
            if request.debug:
                import traceback

                streams.write_line(traceback.format_exc())
            if interrupts.noticed() or isinstance(error, KeyboardInterrupt | typer.Abort):
                streams.write_line(interrupts.WORDS)
                return interrupts.CODE
            if isinstance(error, typer.TyperException):
                if request.command == "run":
                    from fairaudit.cli.auditing import clear_earlier

                    clear_earlier(request)
                ours: FairauditError = UsageError(error.format_message(), request.help)
            else:  # also panics of Polars, which do not derive from `Exception`
                ours = FairauditError.crashed(error)
            code = end_by_error(ours, request)
        finally:
            inputs.forget_stdin()
    if interrupts.noticed():
        return interrupts.CODE
    return Unwritten.exit_code if streams.report_is_lost() else code


def _call(arguments: list[str], request: Request) -> int:
    """Runs a command and returns its exit code.

    `main` of Typer is not used, because it returns 1 for a broken pipe. It also returns 0 without
    an audit if the environment asks for shell completions, even if the line has arguments.
    """
    for name in request.repeated:
        hint = "use a folder or a glob for several files" if name == "--data" else request.help
        raise UsageError(f"{name} can be given only once", hint)
    command = command_line(*arguments[:1])
    instruction = os.environ.get(_COMPLETION, "")
    if instruction and not arguments:
        return shell_complete(command, {}, "fairaudit", _COMPLETION, instruction)
    try:
        with command.make_context("fairaudit", arguments, obj=request) as context:
            command.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    except SystemExit:  # Typer has installed or shown completions
        return 0
    return 0


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


_MODULES = {
    "run": "auditing",
    "check": "checking",
    "render": "results",
    "show": "results",
    "publish": "results",
    "compare": "results",
    "count": "counting",
    "merge": "counting",
    "explain": "scaffolding",
    "metrics": "scaffolding",
    "schema": "scaffolding",
    "init": "scaffolding",
    "verify": "checking",
}
"""The module of each command, in the order of `--help`. Only the needed module is loaded."""


@functools.cache
def command_line(first_word: str = "") -> typer.core.TyperGroup:
    """The group of all commands; if `first_word` is a command, only this command, to save time."""
    names = [first_word] if first_word in _MODULES else [*_MODULES]
    for name in names:
        import_module(f"fairaudit.cli.{_MODULES[name]}")
    # Typer names a command without a name after its function.
    registered = {
        info.name or (info.callback and info.callback.__name__): info
        for info in app.registered_commands
    }
    part = copy(app)
    part.registered_commands = [registered[name] for name in names]
    group = typer.main.get_command(part)
    assert isinstance(group, typer.core.TyperGroup)
    if len(names) == 1:
        _keep_plain_values(group)
        _keep_plain_values(group.commands[first_word])
    return group


def _keep_plain_values(command: Any) -> None:  # noqa: ANN401  # Typer's types leave this open
    """Makes Typer use `_Conversion`. Typer's conversion loads pydantic, which takes a long time."""
    context = command.context_class(command, help_option_names=HELP)
    for parameter in command.get_params(context):
        convert = getattr(parameter, "get_runtime_param", None)
        if convert is not None:
            parameter.get_runtime_param = functools.partial(_Conversion, convert)


class _Conversion:
    """Converts the value of a parameter; calls Typer's conversion only if necessary."""

    def __init__(self, convert: Callable[[], Any]) -> None:
        self._convert = convert

    def coerce(self, value: Any, param: Any, ctx: typer.Context) -> Any:  # noqa: ANN401  # of any type
        """The value in the type of its parameter."""
        annotation = param.type_descriptor.annotation
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        is_word = get_origin(annotation) is Literal and value in get_args(annotation)
        if is_word or (isinstance(annotation, type) and type(value) is annotation):
            return value
        if annotation in {list[str], list[Path]}:
            (kind,) = get_args(annotation)
            return [kind(item) for item in value]
        return self._convert().coerce(value, param=param, ctx=ctx)


def read_request(words: Sequence[str]) -> Request:
    """The parts of a command line; unknown parts are ignored.

    If no command is named, the options are read as those of `run`.
    """
    commands = command_line(*words[:1]).commands
    name = next((word for word in words if not word.startswith("-")), "")
    command = commands.get(name) or commands.get("run") or command_line("run").commands["run"]
    context = command.context_class(
        command, resilient_parsing=True, ignore_unknown_options=True, help_option_names=HELP
    )
    rest = list(words)
    if name in commands:
        rest.remove(name)
    options, rest, order = command.make_parser(context).parse_args(rest)
    arguments = [
        word
        for parameter in command.params
        if parameter.param_type_name == "argument"
        for word in _listed(options.get(parameter.name))
    ]
    single = [
        option
        for option in dict.fromkeys(order)
        if isinstance(option, typer.core.TyperOption)
        and not (option.multiple or option.count or option.is_flag)
    ]
    by_default = os.environ.get(FORMAT_VARIABLE) if name == "run" else None
    return Request(
        command=name if name in commands else "",
        arguments=tuple(word for word in (*arguments, *rest) if not word.startswith("-")),
        data=options.get("data"),
        baseline=options.get("baseline"),
        draws=options.get("draws"),
        format_name=options.get("format_name") or by_default or "terminal",
        written=tuple(_listed(options.get("output"))),
        repeated=tuple(option.opts[-1] for option in single if order.count(option) > 1),
        debug="--debug" in words,
    )


def _listed(value: str | Sequence[str] | None) -> Sequence[str]:
    """The values of an option or argument as a list: one, several or none."""
    return [value] if isinstance(value, str) else value or ()

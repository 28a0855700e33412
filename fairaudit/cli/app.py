"""The Typer application, and the options that commands share (`--verbose`, `--full`)."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Iterator, Sequence
from copy import copy
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core
from msgspec import Struct, field

from fairaudit.cli.files import Outputs
from fairaudit.cli.streams import Color

_HELP = ["-h", "--help"]

app = typer.Typer(
    name="fairaudit",
    help="Audits how a decision treats groups of people.",
    rich_markup_mode=None,
    context_settings={"help_option_names": _HELP},
    pretty_exceptions_enable=False,
)

FORMAT_VARIABLE = "FAIRAUDIT_FORMAT"
"""The environment variable with the default of `run --format`."""

Quiet = Annotated[
    int,
    typer.Option(
        "-q",
        "--quiet",
        count=True,
        show_default=False,
        help="Print the headlines only; -qq: nothing.",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Change the spec for this run: metrics[0].fail.below=0.75.",
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", help="How long a database may take to answer; then exit 2."),
]
ColorChoice = Annotated[
    Color, typer.Option("--color", envvar="FAIRAUDIT_COLOR", help="Whether to print in colours.")
]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Print every row.")]
Full = Annotated[bool, typer.Option("--full", help="Print the whole report, not its first screen.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks.")]


def show_examples(*commands: str) -> str:
    """Command lines as the help of a command shows them, below its options."""
    return "\n".join(["\b", "Examples:", *(f"  fairaudit {command}" for command in commands)])


class Request(Struct):
    """What a command line asks for, whether or not it can be carried out: where an error belongs.

    `arguments` are those without an option; `outputs` is set once the command may write there.
    `repeated` are options of one value that stand there more than once.
    `began` is when the process was ready to load the command, by `time.perf_counter`.
    """

    command: str = ""
    arguments: tuple[str, ...] = ()
    data: str | None = None
    baseline: str | None = None
    format_name: str = "terminal"
    written: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    debug: bool = False
    outputs: Outputs = field(default_factory=Outputs)
    began: float = field(default_factory=time.perf_counter)

    @property
    def specs(self) -> tuple[str, ...]:
        """The audit specs that are named."""
        return self.arguments if self.command in {"run", "check"} else ()

    @property
    def subject(self) -> str:
        """The file that the command is about: its first spec, or its stored report."""
        return "".join(self.arguments[:1]) if self.command else ""

    @property
    def help(self) -> str:
        """The command that explains how to ask."""
        return " ".join(filter(None, ("fairaudit", self.command, "--help")))

    def files(self) -> Iterator[Path]:
        """Every file that an audit reads or writes, as far as that is known."""
        from fairaudit import batch

        yield from map(Path, self.written)
        yield from batch.list_inputs([Path(spec) for spec in self.specs], self.data, self.baseline)


@functools.cache
def command_line(first_word: str = "") -> typer.core.TyperGroup:
    """The commands with their options; one alone where the first word of the line names it.

    Typer takes a hundredth of a second to make them all.
    """
    part = copy(app)
    named = [info for info in app.registered_commands if _name_of(info) == first_word]
    part.registered_commands = named or app.registered_commands
    group = typer.main.get_command(part)
    assert isinstance(group, typer.core.TyperGroup)
    return group


def _name_of(info: typer.models.CommandInfo) -> str | None:
    """The name of a command, as Typer would have it."""
    return info.name or (info.callback and info.callback.__name__.replace("_", "-"))


def read_request(words: Sequence[str]) -> Request:
    """What a command line asks for; what cannot be understood in it is passed over.

    Without the name of a command it is read as one of `run`.
    """
    commands = command_line(*words[:1]).commands
    name = next((word for word in words if not word.startswith("-")), "")
    command = commands.get(name) or command_line("run").commands["run"]
    context = command.context_class(
        command, resilient_parsing=True, ignore_unknown_options=True, help_option_names=_HELP
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
    return Request(
        command=name if name in commands else "",
        arguments=tuple(word for word in (*arguments, *rest) if not word.startswith("-")),
        data=options.get("data"),
        baseline=options.get("baseline"),
        format_name=options.get("format_name") or _format_of_environment(name),
        written=tuple(_listed(options.get("output"))),
        repeated=tuple(_list_repeated(order)),
        debug="--debug" in words,
    )


def _list_repeated(order: Sequence[Any]) -> Iterator[str]:
    """The options that take one value, and stand more than once among the parameters of a line."""
    for parameter in dict.fromkeys(order):
        is_option = isinstance(parameter, typer.core.TyperOption)
        may_repeat = is_option and (parameter.multiple or parameter.count or parameter.is_flag)
        if is_option and not may_repeat and order.count(parameter) > 1:
            yield parameter.opts[-1]


def _format_of_environment(command: str) -> str:
    """The format where the command line names none."""
    return (os.environ.get(FORMAT_VARIABLE) if command == "run" else None) or "terminal"


def _listed(value: str | Sequence[str] | None) -> Sequence[str]:
    """The words of an option, or of an argument, that may be repeated."""
    return [value] if isinstance(value, str) else value or ()

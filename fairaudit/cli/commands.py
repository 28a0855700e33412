"""The commands by name, and their options that name files. Add a command to `_MODULES` here."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import typer
import typer.core

from fairaudit.cli.app import FORMAT_VARIABLE, HELP, Request, app

_MODULES = {
    "run": "auditing",
    "check": "checking",
    "render": "results",
    "show": "results",
    "publish": "results",
    "compare": "comparing",
    "count": "counting",
    "merge": "counting",
    "explain": "explaining",
    "metrics": "explaining",
    "schema": "explaining",
    "init": "scaffolding",
    "verify": "verifying",
}
"""The module of each command, in the order of `--help`: it is loaded for its own commands alone."""


@functools.cache
def command_line(first_word: str = "") -> typer.core.TyperGroup:
    """The commands with their options; one alone where the first word of the line names it.

    To load them all, and Typer to make them, takes more than a hundredth of a second.
    """
    names = [first_word] if first_word in _MODULES else [*_MODULES]
    for name in names:
        import_module(f"fairaudit.cli.{_MODULES[name]}")
    # The name of a command, as Typer would have it.
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
    """Typer loads pydantic to make a text of a text, a fifth of a small audit: these stay."""
    context = command.context_class(command, help_option_names=HELP)
    for parameter in command.get_params(context):
        convert = getattr(parameter, "get_runtime_param", None)
        if convert is not None:
            parameter.get_runtime_param = functools.partial(_Conversion, convert)


class _Conversion:
    """How Typer gets the value of a parameter: by its own conversion, if it needs one."""

    def __init__(self, convert: Callable[[], Any]) -> None:
        self._convert = convert

    def coerce(self, value: Any, param: Any, ctx: typer.Context) -> Any:  # noqa: ANN401  # of any type
        """The value as the annotation of its parameter has it."""
        annotation = param.type_descriptor.annotation
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if isinstance(annotation, type) and type(value) is annotation:
            return value
        if annotation in {list[str], list[Path]}:
            (kind,) = get_args(annotation)
            return [kind(item) for item in value]
        return self._convert().coerce(value, param=param, ctx=ctx)


def read_request(words: Sequence[str]) -> Request:
    """What a command line asks for; what cannot be understood in it is passed over.

    Without the name of a command it is read as one of `run`.
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
    by_default = os.environ.get(FORMAT_VARIABLE) if name == "run" else None
    return Request(
        command=name if name in commands else "",
        arguments=tuple(word for word in (*arguments, *rest) if not word.startswith("-")),
        data=options.get("data"),
        baseline=options.get("baseline"),
        draws=options.get("draws"),
        format_name=options.get("format_name") or by_default or "terminal",
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


def _listed(value: str | Sequence[str] | None) -> Sequence[str]:
    """The words of an option, or of an argument, that may be repeated."""
    return [value] if isinstance(value, str) else value or ()

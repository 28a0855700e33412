"""The Typer application; what commands share: `FAIRAUDIT_FORMAT`; `--set`, `--color`, `--full`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct, field
from typer.models import OptionInfo

from fairaudit.base.errors import UsageError
from fairaudit.cli.files import Outputs
from fairaudit.cli.streams import Color

HELP = ["-h", "--help"]

app = typer.Typer(
    name="fairaudit",
    help="Audits how a decision treats groups of people.",
    rich_markup_mode=None,
    context_settings={"help_option_names": HELP},
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
        help="Print only the headlines; with -qq, only the last line (on stderr).",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Change the spec for this run, such as metrics[0].fail.below=0.75.",
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", help="End with exit code 2 if a database takes longer."),
]
ColorChoice = Annotated[
    Color, typer.Option("--color", envvar="FAIRAUDIT_COLOR", help="Whether to print in colours.")
]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Print every row of the tables.")]
Full = Annotated[bool, typer.Option("--full", help="Print the whole report, not its first screen.")]
Untrusted = Annotated[
    bool,
    typer.Option(
        "--untrusted",
        help="For a spec or data that you do not trust: read no files outside the repository of "
        "this folder (or outside this folder, without a repository).",
    ),
]


def column_option(text: str) -> OptionInfo:
    """An option that names a column, with its help."""
    option: OptionInfo = typer.Option(metavar="COLUMN", help=text)
    return option


Debug = Annotated[bool, typer.Option("--debug", help="Print the Python traceback of an error.")]


def split_names(texts: Iterable[str]) -> tuple[str, ...]:
    """Names separated by commas; quote a name that contains a comma."""
    import csv

    try:
        return tuple(name for row in csv.reader(texts, skipinitialspace=True) for name in row)
    except csv.Error as error:
        raise UsageError(
            f"cannot split the list of names: {error}",
            "quote a name that contains a comma or a quote",
        ) from error


def show_examples(*commands: str) -> str:
    """Command lines as the help of a command shows them, below its options."""
    return "\n".join(["\b", "Examples:", *(f"  fairaudit {command}" for command in commands)])


class Request(Struct):
    """The request of a command line, even if it is invalid: the place for its error.

    `arguments` are the words without an option; `outputs` is set when the command may write to
    them. `repeated` are options with a single value that the line repeats.
    """

    command: str = ""
    arguments: tuple[str, ...] = ()
    data: str | None = None
    baseline: str | None = None
    draws: str | None = None
    format_name: str = "terminal"
    written: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    debug: bool = False
    outputs: Outputs = field(default_factory=Outputs)

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
        from fairaudit.pipeline import batch

        yield from map(Path, self.written)
        specs = [Path(spec) for spec in self.specs]
        yield from batch.list_inputs(specs, self.data, self.baseline, self.draws)

"""The Typer application, options that several commands share, and the record of a command line."""

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
    typer.Option(metavar="SECONDS", help="Exit with code 2 if a database takes longer than this."),
]
ColorChoice = Annotated[
    Color, typer.Option("--color", envvar="FAIRAUDIT_COLOR", help="Whether to print in colours.")
]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Print every row of the tables.")]
Full = Annotated[bool, typer.Option("--full", help="Print the whole report, not only a summary.")]
Untrusted = Annotated[
    bool,
    typer.Option(
        "--untrusted",
        help="For a spec or data that you do not trust: read only files inside the repository that "
        "contains the current folder. Without a repository, read only files inside this folder.",
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
    """Examples for the end of the help of a command."""
    return "\n".join(["\b", "Examples:", *(f"  fairaudit {command}" for command in commands)])


class Request(Struct):
    """The parts of a command line, even of an invalid one. They decide where an error is written.

    `arguments` are the words that do not belong to an option. `outputs` is set as soon as the
    command may write to them. `repeated` are options that the line repeats, but that allow one
    value only.
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
        """The audit specs that the command line names."""
        return self.arguments if self.command in {"run", "check"} else ()

    @property
    def subject(self) -> str:
        """The file that the command is about: its first spec, or its stored report."""
        return "".join(self.arguments[:1]) if self.command else ""

    @property
    def help(self) -> str:
        """The command line that prints the help."""
        return " ".join(filter(None, ("fairaudit", self.command, "--help")))

    def files(self) -> Iterator[Path]:
        """All known files that the audit reads or writes."""
        from fairaudit.pipeline import batch

        yield from map(Path, self.written)
        specs = [Path(spec) for spec in self.specs]
        yield from batch.list_inputs(specs, self.data, self.baseline, self.draws)

"""The application that the commands register with."""

from __future__ import annotations

import typer

app = typer.Typer(
    name="fairaudit",
    help="Audits how a decision treats groups of people.",
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

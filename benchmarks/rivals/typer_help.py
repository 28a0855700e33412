"""The least that a typer command of two can be: what `--help` and `--version` cost at best."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,  # noqa: FBT002  # a flag
) -> None:
    """Say hello, or goodbye."""
    if version:
        typer.echo("1.0")


@app.command()
def hello(name: str) -> None:
    """Say hello."""
    typer.echo(f"Hello {name}")


@app.command()
def goodbye(name: str) -> None:
    """Say goodbye."""
    typer.echo(f"Goodbye {name}")


if __name__ == "__main__":
    app()

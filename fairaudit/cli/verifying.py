"""`fairaudit verify`: its options; whether published tables can be true."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Annotated

import typer

from fairaudit.base.errors import NothingToAudit, UsageError
from fairaudit.cli.app import ColorChoice, Debug, app
from fairaudit.cli.output import Page, PageFormat, check_page_outputs, write_json
from fairaudit.cli.streams import Color, write_line
from fairaudit.report import format_named

if TYPE_CHECKING:
    from fractions import Fraction

_Tables = Annotated[
    list[str],
    typer.Argument(metavar="TABLE.csv", help="Tables of groups, of the same people if several."),
]
_Column = Annotated[str | None, typer.Option(metavar="COLUMN")]
_By = Annotated[list[str] | None, typer.Option(help="A column of groups; else all that are left.")]
_Excluded = Annotated[
    str | None, typer.Option(help="Groups without a ratio must be below this share: 2%.")
]


@app.command()
def verify(  # noqa: PLR0913, PLR0917  # the options of the command
    tables: _Tables,
    n: _Column = None,
    selected: _Column = None,
    rate: _Column = None,
    ratio: _Column = None,
    by: _By = None,
    excluded_below: _Excluded = None,
    format_name: PageFormat = "terminal",
    color: ColorChoice = Color.AUTO,
    debug: Debug = False,  # noqa: ARG001  # read before parsing
) -> None:
    """Verify published tables: rates, ratios and totals that contradict each other.

    The exit code is 1 where something cannot be true, 3 where nothing could be contradicted. An
    empty group column, or a total, is a row of all its levels.
    """
    check_page_outputs(format_name, [], "a verification")
    from fairaudit import codec
    from fairaudit.report import verification as pages
    from fairaudit.result import Verification
    from fairaudit.tools import verify as verifying

    columns = verifying.ColumnNames(n, selected, rate, ratio, tuple(by or ()))
    rows = [row for path in tables for row in verifying.read_table(path, columns)]
    below = _read_share(excluded_below)
    faults = verifying.find_faults(rows, below)
    if not faults and not verifying.is_any_held(rows, below):
        if any(row.rate or row.ratio or row.unread for row in rows):
            what = (
                "the table has no two numbers that could contradict each other, so nothing "
                "was verified"
            )
            raise NothingToAudit(what, "name the columns: --n, --selected, --rate")
        what = "the table has no column of rates or ratios, so nothing was verified"
        raise NothingToAudit(what, "name the column: --rate COLUMN, --ratio COLUMN")
    unread = tuple(cell for row in rows for cell in row.unread)
    verification = Verification(tuple(tables), len(rows), faults, unread)
    page = Page(
        lambda: pages.document(verification), lambda: write_json(codec.VerifiedTables(verification))
    )
    page.show(format_named(format_name), color)
    write_line(f"{'FAIL' if faults else 'OK'}  {pages.line(verification)}")
    raise typer.Exit(verification.exit_code)


def _read_share(text: str | None) -> Fraction | None:
    """A share, `2%` or `0.02`; raises `UsageError` where it is none."""
    from fractions import Fraction

    if text is None:
        return None
    try:
        share = Fraction(Decimal(text.removesuffix("%"))) / (100 if text.endswith("%") else 1)
    except (InvalidOperation, ValueError, OverflowError):
        share = Fraction(-1)
    if not 0 < share < 1:
        raise UsageError(
            f"--excluded-below {text!r} is not a share", "use a share such as 2% or 0.02"
        )
    return share

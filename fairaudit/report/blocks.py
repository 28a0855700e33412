"""The blocks of a prose report (`Heading`, `Table`, `Figure`), which each format lays out.

Texts are not escaped: each format escapes them and shows invisible characters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Generic, TypeAlias, TypeVar

from fairaudit.base.frozen import Frozen
from fairaudit.report import numbers
from fairaudit.report.pictures import Picture, describe

Row = TypeVar("Row")
Key = TypeVar("Key")
FEW_ROWS = 12
"""Maximum number of rows of a table, unless the user asks for all rows."""


class Tone(StrEnum):
    """The meaning of a text, shown by a colour; the words of the text say the same."""

    PLAIN = "plain"
    GOOD = "good"
    WARN = "warn"
    BAD = "bad"
    MUTED = "muted"
    STRONG = "strong"


class Cell(Frozen):
    """A text in a table; `href` is a relative, percent-encoded address, for formats with links."""

    text: str
    tone: Tone = Tone.PLAIN
    href: str | None = None


class Heading(Frozen):
    """The title of a section; `is_record` is set if it contains provenance or definitions."""

    text: str
    is_record: bool = False


class Paragraph(Frozen):
    """Running text."""

    text: str
    tone: Tone = Tone.PLAIN


class Facts(Frozen):
    """Pairs of a name and a text."""

    pairs: Sequence[tuple[str, str]]


class Entries(Frozen):
    """Statements, each with one word in front, such as a status.

    With `is_titled`, the part of a statement before its first colon is its title.
    """

    rows: Sequence[tuple[Cell, str]]
    is_titled: bool = False


class Table(Frozen):
    """Rows under a caption; `numeric` columns are aligned to the right.

    With `slim` the first column takes at most a fifth of the page.
    """

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    numeric: Sequence[bool]
    more: str = ""
    slim: bool = False


class Column(Frozen, Generic[Row]):
    """A column of a table: its title, and the function that writes the cell of a row."""

    title: str
    write: Callable[[Row], str | Cell]
    numeric: bool = True


def text_column(title: str, write: Callable[[Row], str | Cell]) -> Column[Row]:
    """A column of words, aligned to the left."""
    return Column(title, write, numeric=False)


def tabulate(
    caption: str,
    columns: Sequence[Column[Row]],
    rows: Sequence[Row],
    *,
    tone: Callable[[Row], Tone] = lambda _: Tone.PLAIN,
    most: int | None = None,
    more: Callable[[int], str] = numbers.more_groups,
    notes: Sequence[str] = (),
    slim: bool = False,
) -> Table:
    """The table of these columns with at most `most` rows; a text has the tone of its row.

    `more` writes the number of omitted rows below the table, before the `notes`.
    """
    return Table(
        caption,
        [column.title for column in columns],
        [
            [
                written if isinstance(written, Cell) else Cell(written, tone(row))
                for written in (column.write(row) for column in columns)
            ]
            for row in rows[:most]
        ],
        [column.numeric for column in columns],
        "\n".join(filter(None, (more(len(rows) - len(rows[:most])), *notes))),
        slim,
    )


def cross_table(
    caption: str,
    who: Column[Row],
    titles: Mapping[Key, str],
    cells: Mapping[tuple[Row, Key], str | Cell],
    most: int | None = None,
    across: int = 4,
) -> Iterator[Table]:
    """Tables of the cells. Each has at most `across` columns, to fit into 80 characters.

    A table contains only rows with a cell in its columns.
    """
    keys = [*titles]
    for start in range(0, len(keys), across):
        few = keys[start : start + across]
        columns = [
            Column[Row](titles[key], lambda row, key=key: cells.get((row, key), ""))  # type: ignore[misc]
            for key in few
        ]
        rows = [*dict.fromkeys(row for row, key in cells if key in few)]
        yield tabulate(caption, (who, *columns), rows, most=most)


class Figure(Frozen):
    """A picture, which is left out if the format cannot draw it; `note` says how to read it.

    A table or a sentence contains the same values.
    """

    title: str
    picture: Picture
    note: str = ""

    @property
    def description(self) -> str:
        """The values of the picture in words."""
        return describe(self.picture)


Block: TypeAlias = Heading | Paragraph | Facts | Entries | Table | Figure
Document: TypeAlias = tuple[Block, ...]

"""Marks on the types of fields: their names in JSON, nested, flat or left out."""

from __future__ import annotations

from typing import Final

from fairaudit.base.frozen import Frozen


class Member(Frozen):
    """The JSON form of a field: `stratum: Annotated[Group, Member("given")]`.

    A property is also written if its return type has such a mark.

    - `name`: the name of the member; `spec.path` is the member `path` of an object `spec`.
    - `name` that ends with `*`: the members of its value are inserted, except those of `without`.
    - `rare`: the member is left out if the field has its default.
    - `stated`: a number always has its `state` next to it.
    - `text`: a decimal or a fraction is written as text only, without a number.
    - `least`: the smallest whole number that can be read; None without a limit.
    - `only`: no other fields and properties are written, in a row that is never read back.
    """

    name: str = ""
    without: str = ""
    rare: bool = False
    stated: bool = False
    text: bool = False
    least: int | None = 0
    only: str = ""


WRITTEN: Final = Member()
FLAT: Final = Member("*")
RARE: Final = Member(rare=True)
RARE_TEXT: Final = Member(rare=True, text=True)
STATED: Final = Member("value", stated=True)
SIGNED: Final = Member(least=None)
POSITIVE: Final = Member(least=1)


class Unreadable(Exception):  # it says what a member is
    """Why a document cannot be read or be true, and the path of the member that says so.

    A row that is read is asked for its `contradictions()`, where its class has such.
    """

    def __init__(self, why: str, *path: str | int) -> None:
        super().__init__(why)
        self.why = why
        self.path = path

    @property
    def place(self) -> str:
        """The path of the member in the document, such as `.checks[1].id`."""
        return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)

    def __str__(self) -> str:
        return f"{self.place.lstrip('.') or 'the document'} {self.why}"

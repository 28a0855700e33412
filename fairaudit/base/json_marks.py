"""Marks beside the types of fields: what they are called in JSON, nested, flat or left out."""

from __future__ import annotations

from typing import Final

from fairaudit.base.frozen import Frozen


class Member(Frozen):
    """How one field is written: `stratum: Annotated[Group, Member("given")]`.

    A property is written, too, where what it returns has such a mark.

    - `name`: what it is called; `spec.path` is the member `path` of an object `spec`.
    - `name` that ends with `*`: its own members stand there, but for the fields of `without`.
    - `rare`: it is left out where the field has its default.
    - `stated`: beside a number always stands its `state`.
    - `text`: a decimal or a fraction is text alone, without the number beside it.
    - `least`: the smallest whole number that can be read; None where any can.
    - `only`: of a row that is never read back, only these fields and properties are written.
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

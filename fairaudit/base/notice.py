"""`Notice`: a sentence next to the tables, marked with the people that its numbers describe."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from fairaudit.base.disclosure_marks import Subjects
from fairaudit.base.frozen import Frozen
from fairaudit.base.masking import mask


class NoticeRate(Frozen):
    """A rate whose numbers a notice states: its id, its outcome, and its groups."""

    rate: str
    of: str
    by: tuple[str, ...] = ()


class Notice(str):
    """A sentence next to the tables, and the people that its numbers are computed from.

    With `Subjects.ROW` these are the `rates`, which a published report has to prove.
    """

    __slots__ = ("rates", "subjects")

    subjects: Subjects
    rates: tuple[NoticeRate, ...]

    def __new__(cls, text: str, subjects: Subjects, rates: Iterable[NoticeRate] = ()) -> Self:
        """A sentence with its subjects."""
        self = super().__new__(cls, mask(text))
        self.subjects = subjects
        self.rates = tuple(rates)
        return self

    def __reduce__(self) -> tuple[type[Self], tuple[str, Subjects, tuple[NoticeRate, ...]]]:
        return type(self), (str(self), self.subjects, self.rates)

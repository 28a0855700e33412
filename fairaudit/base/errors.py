"""Errors and their exit codes (2, 3); those of a verdict (0, 1, 3): `result`; hints, near names.

FairauditError
├── UsageError          the command or call asks for something that cannot be      exit 2
│   └── InvalidArgument an argument of a function; a ValueError, too
├── SpecError           one or more located faults of an audit spec                exit 2
│   └── PlanError       the same, before the spec gives their places
├── DataError           the data cannot be read, or not counted as asked           exit 2
├── OutOfMemory         the machine, or a limit set on it, has no more memory      exit 2
├── Unwritten           stdout did not take the report                             exit 2
├── NothingToAudit      no file, no row: there is nothing to give a verdict on     exit 3
└── AuditFailed         raised by `raise_for_failure`; an AssertionError, too      exit 1
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Collection, Iterable
from enum import StrEnum
from itertools import islice
from types import UnionType
from typing import Self

from fairaudit.base.frozen import Frozen
from fairaudit.base.masking import mask, mask_all
from fairaudit.base.memory import ran_out
from fairaudit.base.names import MOST_COPIED, quoted

_NEAR = 0.65
"""The least similarity of two words that may be confused."""

_LONGEST_WORD = 100
_MOST_KNOWN = 1_000
"""Longest word, and most names that it is compared with, in a search for a similar name."""

MOST_FAULTS = 100
"""Most faults that one error lists."""


class Place(Frozen):
    """A spot in a text file; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Quote(Frozen):
    """A part of a line of a text file: from a column up to, and without, `end`, both from 1."""

    line: int
    column: int
    end: int
    text: str


class Fault(Frozen):
    """One fault of a spec: what is wrong, where, and the text of that line."""

    message: str
    path: str = ""
    place: Place | None = None
    source: str | None = None

    def __str__(self) -> str:
        head = ": ".join(str(part) for part in (self.place, self.path, self.message) if part)
        if self.place is None or self.source is None:
            return head
        if self.place.column > len(self.source) + 1:
            return head  # the line is too long to be shown up to there
        number = str(self.place.line)
        gutter = " " * len(number)
        caret = " " * (self.place.column - 1) + "^"
        return f"{head}\n  {number} | {self.source}\n  {gutter} | {caret}"


NOTHING_EVALUATED = 3
"""The exit code where no check could be evaluated; stored in reports with the version of JSON."""

WORST_FIRST = (2, 1, NOTHING_EVALUATED, 0)
"""The order of exit codes: an error beats a failure, a failure beats nothing at all."""


class FailOn(StrEnum):
    """From which status on a check turns the exit code."""

    FAIL = "fail"
    WARN = "warn"
    NEVER = "never"


class FairauditError(Exception):
    """The root of all errors that fairaudit raises on purpose.

    `uncounted` is the message without counts of people and line numbers, if it has some.
    `verdict` is printed in place of the verdict of a result.
    """

    exit_code = 2
    verdict = "error"

    def __init__(
        self, message: str, hint: str | None = None, *, uncounted: str | None = None
    ) -> None:
        self.message = mask(message)
        self.hint = hint and mask(hint)
        self.uncounted = uncounted and mask(uncounted)
        super().__init__(self.message)

    def published(self) -> FairauditError:
        """The error as the index of a folder of published reports shows it."""
        if self.uncounted is None:
            return self
        shown = "run without `suppress_below` to see counts and lines"
        published = type(self)(self.uncounted, "; ".join(filter(None, (self.hint, shown))))
        published.__cause__ = self.__cause__
        return published

    def __str__(self) -> str:
        return f"{self.message}\n  hint: {self.hint}" if self.hint else self.message

    @classmethod
    def crashed(cls, error: BaseException) -> FairauditError:
        """Our own crash, which gives no verdict either; one for want of memory is called so."""
        if isinstance(error, FairauditError):
            return error
        crash: FairauditError = OutOfMemory()
        if not ran_out(error):
            crash = FairauditError(
                f"internal error in fairaudit: {type(error).__name__}",
                "run again with --debug and report the output",
            )
        crash.__cause__ = error
        return crash


class UsageError(FairauditError):
    """The command or the call asks for something that cannot be."""


class InvalidArgument(UsageError, ValueError):
    """An argument is not what a function takes: a `ValueError`, too."""


class SpecError(FairauditError):
    """All the faults of one stage of reading a spec."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        masked = map(mask_all, dict.fromkeys(faults))
        self.faults = tuple(
            sorted(
                dict.fromkeys(masked),
                key=lambda fault: (fault.place.line, fault.place.column) if fault.place else (0, 0),
            )
        )
        super().__init__("\n".join(str(fault) for fault in self.faults))

    def __reduce__(self) -> tuple[type[SpecError], tuple[tuple[Fault, ...]]]:
        return type(self), (self.faults,)


class Faults(list[Fault]):
    """The faults that were found so far; raises `SpecError` at the hundredth.

    Many mistakes of one kind are one mistake, and a hint for each looks at every known name.
    """

    def append(self, fault: Fault) -> None:
        """Adds one."""
        super().append(fault)
        if len(self) == MOST_FAULTS:
            raise SpecError([Fault(f"{MOST_FAULTS} faults are listed: correct these first"), *self])

    def extend(self, faults: Iterable[Fault]) -> None:
        """Adds several, one after the other."""
        for fault in faults:
            self.append(fault)

    def __iadd__(self, faults: Iterable[Fault]) -> Self:  # type: ignore[misc, override]  # takes any
        self.extend(faults)
        return self


class PlanFault(Frozen):
    """A fault of what is asked of a column of the data; without a column, of the filter."""

    message: str
    column: str | None = None


class PlanError(SpecError):
    """Faults that counting finds. It does not know the spec, which then gives their places."""

    def __init__(self, faults: Iterable[PlanFault]) -> None:
        self.plan_faults = tuple(dict.fromkeys(faults))
        super().__init__(Fault(fault.message) for fault in self.plan_faults)

    def __reduce__(self) -> tuple[type[PlanError], tuple[tuple[PlanFault, ...]]]:  # type: ignore[override]  # takes other faults
        return type(self), (self.plan_faults,)


class DataError(FairauditError):
    """The data cannot be read, or cannot be counted as the spec asks."""

    def __init__(
        self,
        message: str,
        hint: str | None = None,
        seek: Seek | None = None,
        *,
        uncounted: str | None = None,
    ) -> None:
        super().__init__(message, hint, uncounted=uncounted)
        self.seek = seek

    def located(self, spot: str, hint: str | None = None) -> DataError:
        """The same error with the place of the first such row and a hint on what to do."""
        uncounted = self.message if self.uncounted is None else self.uncounted
        return DataError(f"{self.message}; first: {spot}", hint or self.hint, uncounted=uncounted)

    @classmethod
    def unreadable(cls, path: str, why: str) -> FairauditError:
        """The file is there but is not what its name says, unless memory ran out as it was read."""
        error = sys.exception()
        if error is not None and ran_out(error):
            return OutOfMemory()
        return cls(f"{path}: {why}", "check the file, and `format:` in the spec")


class OutOfMemory(FairauditError):
    """The machine, or a limit that is set on it, has no more memory."""

    def __init__(
        self,
        message: str = "out of memory",
        hint: str | None = "free some memory, or raise the limit (`ulimit -v`, `ulimit -d`)",
    ) -> None:
        super().__init__(message, hint)


class Unwritten(FairauditError):
    """stdout did not accept the report: its reader has ended, or the disk is full."""


class Seek(Frozen):
    """What to look for in the data to say where a fault first occurs: a column, and its values.

    `in_filter`: a value that the filter cannot compare, in any row; else rows that it keeps.
    """

    column: str
    values: tuple[str | None, ...] = (None,)
    numeric: bool = False
    in_filter: bool = False


class NothingToAudit(FairauditError):
    """No file, or no row left: there is nothing to give a verdict on."""

    exit_code = NOTHING_EVALUATED
    verdict = "nothing"


class AuditFailed(FairauditError, AssertionError):
    """An audit whose verdict is not a pass, raised on request: pytest shows it as a failure."""

    exit_code = 1


def check_type(value: object, types: UnionType | type, words: str, hint: str | None = None) -> None:
    """Raises `UsageError` if an argument is of another type: `{words}, not a int`."""
    if not isinstance(value, types):
        raise UsageError(f"{words}, not a {type(value).__name__}", hint)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a message: the nearest known words; empty if no word is near.

    Long words, and names beyond the first thousand, are not searched.
    """
    if len(word) > _LONGEST_WORD:
        return ""
    folded: dict[str, str] = {}
    for name in islice((name for name in known if len(name) <= _LONGEST_WORD), _MOST_KNOWN):
        folded.setdefault(name.strip().casefold(), name)
    near = difflib.get_close_matches(word.strip().casefold(), folded, n=3, cutoff=_NEAR)
    if not near:
        return ""
    return "; did you mean " + " or ".join(quoted(folded[name], MOST_COPIED) for name in near) + "?"


def suggest_known(word: str, known: Collection[str], listed: str | None = None) -> str:
    """The end of a message: the nearest known words, or all, as they are `listed`, if none is."""
    return did_you_mean(word, known) or f"; {list_known(known, listed)}"


def list_known(known: Collection[str], listed: str | None = None) -> str:
    """A hint after an unknown name: the names that exist; `listed` are the same, in words."""
    return f"available: {listed or ', '.join(known) or 'none'}"

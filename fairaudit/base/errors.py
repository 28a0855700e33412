"""Errors, their exit codes, and places in a spec; hints that suggest similar names.

FairauditError
├── UsageError          the command or the call asks for something impossible      exit 2
│   └── InvalidArgument an argument of a function; also a ValueError
├── SpecError           one or more faults of an audit spec, with their places     exit 2
│   └── PlanError       faults whose places in the spec are not known yet
├── DataError           the data cannot be read, or not counted as the spec asks   exit 2
├── OutOfMemory         memory ran out, or a limit on the memory was reached       exit 2
├── Unwritten           the report could not be written to stdout                  exit 2
├── NothingToAudit      no file or no row was found, so no verdict exists          exit 3
└── AuditFailed         raised by `raise_for_failure`; also an AssertionError      exit 1

`AuditResult.exit_code` is the exit code of a verdict (0, 1 or 3).
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
"""The minimum similarity (0 to 1) at which a word is suggested in place of another."""

_LONGEST_WORD = 100
_MOST_KNOWN = 1_000
"""The maximum length of a word, and the maximum number of names that it is compared with."""

MOST_FAULTS = 100
"""The maximum number of faults that one error lists."""


class Place(Frozen):
    """A position in a text file; lines and columns are counted from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Quote(Frozen):
    """A part of a line of a text file, from `column` up to (without) `end`; both count from 1."""

    line: int
    column: int
    end: int
    text: str


class Fault(Frozen):
    """One fault of a spec: its message, path and place, and the line of text at the place."""

    message: str
    path: str = ""
    place: Place | None = None
    source: str | None = None

    def __str__(self) -> str:
        head = ": ".join(str(part) for part in (self.place, self.path, self.message) if part)
        if self.place is None or self.source is None:
            return head
        if self.place.column > len(self.source) + 1:
            return head  # the place is beyond the part of the line that is kept
        number = str(self.place.line)
        gutter = " " * len(number)
        caret = " " * (self.place.column - 1) + "^"
        return f"{head}\n  {number} | {self.source}\n  {gutter} | {caret}"


NOTHING_EVALUATED = 3
"""The exit code if no check could be evaluated. JSON reports store this number."""

WORST_FIRST = (2, 1, NOTHING_EVALUATED, 0)
"""The exit codes from the worst to the best. The worst code of several results counts."""


class FailOn(StrEnum):
    """The mildest status of a check that makes the exit code 1."""

    FAIL = "fail"
    WARN = "warn"
    NEVER = "never"


class FairauditError(Exception):
    """The base class of all errors that fairaudit raises on purpose.

    `uncounted` is the message without counts of people and line numbers; None if the message
    contains neither. `verdict` is the word that is printed instead of a verdict.
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
        """The error without counts of people, as the index of published reports shows it."""
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
        """Any exception as a `FairauditError`: `OutOfMemory`, or an internal error."""
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
    """The command or the call asks for something impossible."""


class InvalidArgument(UsageError, ValueError):
    """An argument of a function is invalid; also a `ValueError`."""


class SpecError(FairauditError):
    """All faults that one stage of reading a spec found."""

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
    """The list of faults found so far; raises `SpecError` when it has 100 faults.

    Hundreds of faults usually have one cause, and the search for a hint takes time for each fault.
    """

    def append(self, fault: Fault) -> None:
        """Adds a fault."""
        super().append(fault)
        if len(self) == MOST_FAULTS:
            what = f"only the first {MOST_FAULTS} faults are listed: correct these first"
            raise SpecError([Fault(what), *self])

    def extend(self, faults: Iterable[Fault]) -> None:
        """Adds several faults."""
        for fault in faults:
            self.append(fault)

    def __iadd__(self, faults: Iterable[Fault]) -> Self:  # type: ignore[misc, override]  # takes any
        self.extend(faults)
        return self


class PlanFault(Frozen):
    """A fault in the use of a column of the data; if `column` is None, a fault of the filter."""

    message: str
    column: str | None = None


class PlanError(SpecError):
    """Faults that are found while counting. `Spec.locate` adds their places in the spec."""

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
        """The error with the place of the first faulty row, and with `hint` if it is given."""
        uncounted = self.message if self.uncounted is None else self.uncounted
        return DataError(f"{self.message}; first: {spot}", hint or self.hint, uncounted=uncounted)

    @classmethod
    def unreadable(cls, path: str, why: str) -> FairauditError:
        """The error for a file that cannot be read; `OutOfMemory` if memory ran out."""
        error = sys.exception()
        if error is not None and ran_out(error):
            return OutOfMemory()
        return cls(f"{path}: {why}", "check the file, and `format:` in the spec")


class OutOfMemory(FairauditError):
    """Memory ran out, or a limit on the memory of the process was reached."""

    def __init__(
        self,
        message: str = "out of memory",
        hint: str | None = "free some memory, or raise the limit (`ulimit -v`, `ulimit -d`)",
    ) -> None:
        super().__init__(message, hint)


class Unwritten(FairauditError):
    """The report could not be written to stdout: its reader has ended, or the disk is full."""


class Seek(Frozen):
    """Values of a column that are searched in the data, to report the first row with a fault.

    If `in_filter` is set, the filter cannot compare these values, so all rows are searched.
    Otherwise, only the rows that the filter keeps are searched.
    """

    column: str
    values: tuple[str | None, ...] = (None,)
    numeric: bool = False
    in_filter: bool = False


class NothingToAudit(FairauditError):
    """No file or no row was found, so no verdict exists."""

    exit_code = NOTHING_EVALUATED
    verdict = "nothing"


class AuditFailed(FairauditError, AssertionError):
    """The audit did not pass: raised by `raise_for_failure`; pytest shows it as a failure."""

    exit_code = 1


def check_type(value: object, types: UnionType | type, words: str, hint: str | None = None) -> None:
    """Raises `UsageError` (`{words}, not a int`) if a value does not have one of the types."""
    if not isinstance(value, types):
        raise UsageError(f"{words}, not a {type(value).__name__}", hint)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a message that suggests similar known words; empty if no word is similar.

    Long words get no suggestion. Only the first thousand known words are searched.
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
    """The end of a message that suggests similar known words, or else lists all known words.

    `listed` replaces the list of all known words.
    """
    return did_you_mean(word, known) or f"; {list_known(known, listed)}"


def list_known(known: Collection[str], listed: str | None = None) -> str:
    """A hint that lists the known names; `listed` replaces this list."""
    return f"available: {listed or ', '.join(known) or 'none'}"

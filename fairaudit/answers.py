"""What came of a spec on one set of data: a result, or the error that there is none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fairaudit.errors import WORST_FIRST, FairauditError
from fairaudit.result import AuditResult


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one spec on one set of data; `data` names the file where each has its own."""

    spec: str
    data: str | None
    found: AuditResult | FairauditError

    @property
    def exit_code(self) -> int:
        """The exit code of this answer alone."""
        return self.found.exit_code

    @property
    def title(self) -> str:
        """What was asked: the spec, and the file where each has its own."""
        return self.spec if self.data is None else f"{self.spec} {self.data}"


def exit_code(answers: Iterable[Answer]) -> int:
    """The worst exit code of several answers."""
    return min((one.exit_code for one in answers), key=WORST_FIRST.index)

"""`Progress`: the interface to which an audit reports progress; names of its phases."""

from __future__ import annotations

from enum import StrEnum


class Phase(StrEnum):
    """What an audit does, one phase after another; of several specs each comes again."""

    LOAD = "load modules"
    SPEC = "read specs"
    COUNT = "read and count the data"
    JUDGE = "compute and judge"
    REPORT = "write reports"


class Progress:
    """Receives the phases of an audit and the stages of a pass; this one ignores them.

    `advance` is called from any thread, some ten times a second at most for each of them.
    """

    silent = True

    def enter(self, phase: Phase) -> None:
        """A phase begins, which ends the one before it."""

    def start(self, stage: str, total: int | None, unit: str) -> None:
        """A stage begins: what it does, and how many `unit` there are, if that is known."""

    def advance(self, done: int, unit: str) -> None:
        """So many more are done of the stage of that unit; stages of two units may run at once."""


SILENT = Progress()

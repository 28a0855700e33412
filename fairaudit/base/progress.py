"""`Progress`: the interface to which a pass over the data reports how far it is."""

from __future__ import annotations


class Progress:
    """Receives the stages of a pass; this one ignores them.

    `advance` is called from any thread, some ten times a second at most for each of them.
    """

    silent = True

    def start(self, stage: str, total: int | None, unit: str) -> None:
        """A stage begins: what it does, and how many `unit` there are, if that is known."""

    def advance(self, done: int, unit: str) -> None:
        """Adds to the count of a stage, named by its unit; stages of two units may run at once."""


SILENT = Progress()

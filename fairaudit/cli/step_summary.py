"""The report in the summary of a step of GitHub Actions, where one is running."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairaudit.cli.streams import tell
from fairaudit.errors import FairauditError

if TYPE_CHECKING:
    from fairaudit.answers import Answer

MOST = 900_000
"""So many bytes the file may have afterwards: GitHub drops a summary of more than a MiB whole."""


def append(answers: Sequence[Answer]) -> None:
    """Appends the report to the file that `GITHUB_STEP_SUMMARY` names; nothing where it does not.

    One error alone is not told here: it is raised, and told on its way out. A summary that cannot
    be written is told on stderr, and changes no verdict.
    """
    if not (len(answers) == 1 and isinstance(answers[0].found, FairauditError)):
        _append(answers)


def append_error(error: FairauditError, arguments: Sequence[str]) -> None:
    """Appends an error that ends `fairaudit run`."""
    if list(arguments[:1]) == ["run"]:
        from fairaudit.answers import Answer

        specs = [one for one in arguments if one.endswith((".yaml", ".yml"))]
        _append([Answer(specs[0] if specs else "fairaudit run", None, error)])


def _append(answers: Sequence[Answer]) -> None:
    named = os.environ.get("GITHUB_STEP_SUMMARY")
    if not named:
        return
    try:
        why = _written(Path(named), answers)
    except OSError as error:
        why = error.strerror or str(error)
    if why:
        tell(f"the summary of the step was not written: {named}: {why}")


def _written(path: Path, answers: Sequence[Answer]) -> str:
    """Appends the report, and says why it could not."""
    from fairaudit.report import markdown

    if path.exists() and not path.is_file():
        return "this is no file"
    there = path.stat().st_size if path.exists() else 0
    # What is there may end within a line.
    start = b"\n\n" if there else b""
    room = MOST - there - len(start)
    if room < markdown.LEAST:
        return f"{there:,} bytes are in it, and GitHub shows no more than a MiB"
    text = markdown.render(answers, most=room)
    with path.open("ab") as file:
        file.write(start + text.encode("utf-8", "backslashreplace"))
    return ""

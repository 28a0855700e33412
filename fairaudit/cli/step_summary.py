"""The report in the summary of a step of GitHub Actions, where one is running."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairaudit.cli.files import Identity
from fairaudit.cli.streams import tell
from fairaudit.errors import FairauditError

if TYPE_CHECKING:
    from fairaudit.result import Answer

MOST = 900_000
"""So many bytes the file may have afterwards: GitHub drops a summary of more than a MiB whole."""


_SPECS = (".yaml", ".yml")


def append(answers: Sequence[Answer], others: Iterable[Path] = ()) -> None:
    """Appends the report to the file that `GITHUB_STEP_SUMMARY` names; nothing where it does not.

    `others` are the files that the run reads and writes: to none of them. One error alone is not
    told here: it is raised, and told on its way out. A summary that cannot be written is told on
    stderr, and changes no verdict.
    """
    if not (len(answers) == 1 and isinstance(answers[0].found, FairauditError)):
        _append(answers, others)


def append_error(error: FairauditError, arguments: Sequence[str]) -> None:
    """Appends an error that ends `fairaudit run`."""
    if list(arguments[:1]) == ["run"]:
        from fairaudit.result import Answer

        specs = [one for one in arguments if one.endswith(_SPECS)]
        answer = Answer(specs[0] if specs else "fairaudit run", None, error)
        _append([answer], _meant(arguments))


def _meant(arguments: Sequence[str]) -> Iterator[Path]:
    """The files that a command line may mean, which need not be one that can be understood."""
    from fairaudit import batch

    for one in arguments:
        for name in (one, one.partition("=")[2], one[2:]):
            with contextlib.suppress(FairauditError, ValueError):
                specs = [Path(name)] if name.endswith(_SPECS) else []
                yield from batch.inputs(specs, name, None)


def _append(answers: Sequence[Answer], others: Iterable[Path]) -> None:
    named = os.environ.get("GITHUB_STEP_SUMMARY")
    if not named:
        return
    try:
        why = _written(Path(named), answers, others)
    except OSError as error:
        why = error.strerror or str(error)
    if why:
        tell(f"the summary of the step was not written: {named}: {why}")


def _written(path: Path, answers: Sequence[Answer], others: Iterable[Path]) -> str:
    """Appends the report, and says why it could not."""
    from fairaudit.report import markdown

    if path.exists() and not path.is_file():
        return "this is no file"
    there_is = Identity.of(path)
    if there_is is not None and there_is in map(Identity.of, others):
        return "the run reads or writes another file there"
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

"""What the commands on stored results have in common: they read JSON reports, and write pages."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairaudit.cli.output import check_formats
from fairaudit.errors import UsageError

if TYPE_CHECKING:
    from fairaudit.report import Format
    from fairaudit.result import Answer, AuditResult


def read_answers(path: str) -> list[Answer]:
    """What a JSON report holds, `-` that of stdin; raises `UsageError` where it is none."""
    from fairaudit import inputs, names
    from fairaudit.report import json

    try:
        is_piped = path == "-"
        text = sys.stdin.buffer.read() if is_piped else inputs.read(Path(path), inputs.REPORT)
    except OSError as error:
        what = f"the result {names.copied(path)} cannot be read: {error.strerror or error}"
        raise UsageError(what, "name a JSON report: fairaudit run SPEC -o report.json") from error
    try:
        return json.read_answers(json.parse(text))
    except UsageError as error:
        raise UsageError(f"{names.copied(path)}: {error.message}", error.hint) from error


def read_result(path: str) -> AuditResult:
    """The one result that a JSON report holds; raises the error that it holds instead."""
    from fairaudit import names
    from fairaudit.result import AuditResult

    found = read_answers(path)
    if len(found) > 1:
        what = f"{names.copied(path)} holds {len(found)} results"
        raise UsageError(what, "name the report of one: fairaudit run SPEC -o FOLDER/ writes each")
    if not isinstance(found[0].found, AuditResult):
        raise found[0].found
    return found[0].found


def read_from(result: str) -> list[Path]:
    """The files that a stored result is read from: none where it comes from stdin."""
    return [] if result == "-" else [Path(result)]


def check_pages(form: str, outputs: Sequence[str], what: str) -> list[Path]:
    """Where to write; refuses folders, and formats that cannot show `what` on one page."""
    from fairaudit import report

    paths = check_formats(form, outputs, folders=False)
    for wanted in (report.format_of(form), *map(format_of, paths)):
        if wanted is not None and not wanted.shows_pages:
            known = ", ".join(one.name for one in report.FORMATS if one.shows_pages)
            raise UsageError(f"{wanted.name} does not show {what}", f"there is {known}")
    return paths


def format_of(path: Path) -> Format:
    """The format of a file, of those that `check_pages` let pass."""
    from fairaudit import report

    found = report.format_of_suffix(path.suffix)
    assert found is not None
    return found

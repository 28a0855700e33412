"""The reports: a result in, text out. To add a format, add a file and a line in `FORMATS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fairaudit.result import AuditResult


@dataclass(frozen=True, slots=True)
class Format:
    """A format: its name for `--format`, the suffixes that mean it, and how it is rendered."""

    name: str
    suffixes: tuple[str, ...]
    render: Callable[[AuditResult, bool], str]


def _terminal(result: AuditResult, all_rows: bool) -> str:  # noqa: FBT001  # the renderers' signature
    from fairaudit.report import content, terminal

    return terminal.render(content.document(result, all_rows=all_rows))


def _json(result: AuditResult, all_rows: bool) -> str:  # noqa: ARG001, FBT001  # JSON has all rows
    from fairaudit.report import json

    return json.render(result)


FORMATS = (
    Format("terminal", (".txt",), _terminal),
    Format("json", (".json",), _json),
)

LATER = {"markdown": ".md", "html": ".html", "junit": ".xml", "github": "", "csv": ".csv"}
"""Formats of the full tool that this version refuses as not yet supported."""


def format_of(name: str) -> Format | None:
    """The format of that name."""
    return next((one for one in FORMATS if one.name == name), None)


def format_of_suffix(suffix: str) -> Format | None:
    """The format that a file's suffix means."""
    return next((one for one in FORMATS if suffix.lower() in one.suffixes), None)

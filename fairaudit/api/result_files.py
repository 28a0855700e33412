"""Results in files: writes a report, reads a result back from JSON."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairaudit.base import inputs, names
from fairaudit.base.errors import UsageError, check_type
from fairaudit.codec import parse, read_result
from fairaudit.report import FORMATS, format_named, format_of_suffix
from fairaudit.result import Answer, AuditResult


def save(result: AuditResult, path: str | Path, format_name: str | None = None) -> None:
    """Writes a report with all rows, in the format of the file's suffix where none is named."""
    check_type(path, str | Path, "a report is at a path")
    target = Path(path)
    form = format_of_suffix(target.suffix) if format_name is None else format_named(format_name)
    if form is None:
        suffixes = ", ".join(suffix for known in FORMATS for suffix in known.suffixes)
        what = f"{names.copied(str(target))}: the suffix {target.suffix!r} is not a known format"
        raise UsageError(what, f"available: {suffixes}; or name a `format`")
    rendered = form.render([Answer(result.provenance.spec_path, None, result)], all_rows=True)
    content = (
        rendered if isinstance(rendered, bytes) else rendered.encode(errors="backslashreplace")
    )
    try:
        target.write_bytes(content)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        what = f"{names.copied(str(target))} cannot be written: {why}"
        raise UsageError(what, "check the folder") from error


def read(source: str | Path | Mapping[str, Any]) -> AuditResult:
    """The result in a JSON report; `fairaudit.load` says more."""
    if isinstance(source, Mapping):
        return read_result(source)
    if isinstance(source, str) and source.lstrip().startswith("{"):
        return read_result(parse(source))
    check_type(source, str | Path, "a report is at a path")
    path = Path(source)
    name = names.copied(str(path))
    try:
        content = inputs.read(path, inputs.REPORT)
    except OSError as error:
        what = f"the result {name} cannot be read: {error.strerror or error}"
        raise UsageError(what, "name a JSON report: result.save('result.json')") from error
    try:
        return read_result(parse(content))
    except UsageError as error:
        raise UsageError(f"{name}: {error.message}", error.hint) from error

"""Prints how a command ended: the verdict's last lines, or the error; GitHub's step summary.

An error is raised as a `FairauditError` and written here alone: to each file that should have held
a report, to the summary of a step on GitHub, to stdout in a format for machines, and to stderr.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairaudit.base import names
from fairaudit.base.errors import FairauditError, Unwritten
from fairaudit.base.masking import mask
from fairaudit.cli import streams
from fairaudit.cli.app import Request
from fairaudit.cli.files import Identity
from fairaudit.cli.output import print_report, write_reports
from fairaudit.report import Format, format_of, format_of_suffix

if TYPE_CHECKING:
    from fairaudit.result import Answer

_MOST_SUMMARY = 900_000
"""The maximum size of a summary in bytes; GitHub drops summaries of more than a MiB."""

_LONGEST = 2000
"""A line of an error is cut in its middle where it is longer: a line of a spec may have no end."""


def end_by_error(error: FairauditError, request: Request) -> int:
    """Writes an error wherever the command was to write its result; returns its exit code."""
    from fairaudit.pipeline import batch
    from fairaudit.result import Answer

    answer = Answer(request.subject, batch.name_data(request.data), error)
    outputs = request.outputs
    # The error is in the files without a report, so that none of an earlier run stays.
    paths = [
        path
        for path in outputs.paths
        if path in outputs.unwritten and _may_tell(format_of_suffix(path.suffix), request)
    ]
    with contextlib.suppress(Exception):
        write_reports([answer], outputs, paths)
    if request.command == "run":
        told = Answer(answer.spec or "fairaudit run", answer.data, answer.result)
        append_summary([told], request.files())
    try:
        form = format_of(request.format_name)
        if form is not None and form.tells_errors and _may_tell(form, request):
            print_report([answer], form, all_rows=False)
    except Unwritten as lost:
        streams.write_line(error_text(error))
        error = lost
    streams.write_line(error_text(error))
    specs = [name_subject(spec, None) for spec in request.specs[:1]]
    streams.write_line("  ".join([_verdict(error), *specs]))
    return error.exit_code


def _may_tell(form: Format | None, request: Request) -> bool:
    """Whether a format may report an error: a table to publish holds only groups and rates."""
    return request.command != "publish" or form is None or form.name != "csv"


def end_by_verdict(answers: Sequence[Answer], request: Request, seconds: float) -> int:
    """Writes the verdict on each answer, of several the worst too; returns the exit code."""
    from fairaudit.report.checks import tally, verdict_word
    from fairaudit.report.headlines import most_left_out
    from fairaudit.report.numbers import whole
    from fairaudit.result import exit_code, list_notices

    append_summary(answers, request.files())
    for answer in answers:
        result = answer.result
        subject = name_subject(answer.spec, None if len(answers) == 1 else answer.data)
        if isinstance(result, FairauditError):
            streams.write_line(f"{error_text(result)}\n{_verdict(result)}  {subject}")
            continue
        rows = f"rows={whole(result.provenance.rows)}"
        checks = [tally(result), most_left_out(result.findings)] if result.findings else []
        about = ["; ".join(filter(None, checks)), f"{subject} {rows} {seconds:.1f}s"]
        streams.write_line("  ".join([verdict_word(result.verdict), *filter(None, about)]))
    if len(answers) > 1:
        from fairaudit.report.summary import verdicts, worst_verdict

        for notice in list_notices(answers):
            streams.write_line(names.line(notice))
        worst = worst_verdict(answers).upper()
        streams.write_line(f"{worst}  {len(answers):,} audits: {verdicts(answers)}  {seconds:.1f}s")
    return exit_code(answers)


def append_summary(answers: Sequence[Answer], others: Iterable[Path] = ()) -> None:
    """Appends the report to the file of `GITHUB_STEP_SUMMARY`, if it is set.

    The summary is never one of `others`, the files that the run reads and writes. A message reports
    a summary that cannot be written; the verdict does not change.
    """
    name = os.environ.get("GITHUB_STEP_SUMMARY")
    if not name:
        return
    try:
        why = _append_to(Path(name), answers, others)
    except OSError as error:
        why = error.strerror or str(error)
    if why:
        streams.write_line(f"the summary of the step was not written: {name}: {why}")


def _append_to(path: Path, answers: Sequence[Answer], others: Iterable[Path]) -> str:
    """Appends the report, and says why it could not."""
    from fairaudit.report import markdown

    if path.exists() and not path.is_file():
        return "this is not a file"
    identity = Identity.of(path)
    if identity is not None and identity in map(Identity.of, others):
        return "the run reads or writes another file there"
    size = path.stat().st_size if path.exists() else 0
    # The existing text may end within a line.
    start = b"\n\n" if size else b""
    room = _MOST_SUMMARY - size - len(start)
    if room < markdown.LEAST:
        return f"{size:,} bytes are in it, and GitHub shows no more than a MiB"
    text = markdown.render(answers, most=room)
    with path.open("ab") as file:
        file.write(start + text.encode("utf-8", "backslashreplace"))
    return ""


def error_text(error: FairauditError) -> str:
    """An error in printable characters; long lines are shortened."""
    lines, half = names.printable(str(error), but="\n\t").split("\n"), _LONGEST // 2
    return "\n".join(
        line if len(line) <= _LONGEST else f"{line[:half]} … {line[-half:]}" for line in lines
    )


def name_subject(spec: str, data: str | None) -> str:
    """The subject of a last line, with the data if it is named: `spec=a.yaml data=b.csv`."""
    named = f"spec={names.copied(Path(mask(spec)).name)}"
    return named if data is None else f"{named} data={names.copied(data)}"


def _verdict(error: FairauditError) -> str:
    return f"{error.verdict.upper()}  no verdict"

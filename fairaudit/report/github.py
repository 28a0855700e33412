"""Format `github`: annotations of GitHub Actions on the lines of the spec.

GitHub shows ten of a kind for each step of a workflow, so there are never more; the last one then
says how many are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairaudit.base.errors import FairauditError, Place
from fairaudit.base.frozen import Frozen, replace
from fairaudit.base.inputs import is_file
from fairaudit.base.names import printable
from fairaudit.judge.waivers import WaiverState
from fairaudit.report import checks
from fairaudit.report.diagnostics import Level, diagnose_by_id, list_faults
from fairaudit.report.markup import shortened
from fairaudit.report.provenance import name_spec, path_in_repository
from fairaudit.result import Answer, AuditResult, Verdict

MOST = 10
"""The number of annotations of a kind that GitHub shows per step."""
LONGEST = 4_000
LONGEST_TITLE = 255
"""The number of characters that GitHub accepts for a title."""

_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = {**_DATA, **str.maketrans({":": "%3A", ",": "%2C"})}


_KIND: dict[Level | None, str] = {Level.WARN: "warning", Level.NOTE: "notice"}
_OLD = {
    WaiverState.EXPIRED: Level.WARN,
    WaiverState.UNUSED: Level.NOTE,
    WaiverState.NOT_JUDGED: Level.NOTE,
}


class _Annotation(Frozen):
    """A message, its urgency and its place; `file` if the line is unknown.

    No level means no verdict, which is worse than any level. `end_column` is the column of the
    first character after the place, 0 if unknown.
    """

    level: Level | None
    title: str
    message: str
    place: Place | None = None
    file: str = ""
    end_column: int = 0

    def __str__(self) -> str:
        properties = {}
        if self.place is not None and is_file(self.place.file):
            line, column = str(self.place.line), str(self.place.column)
            properties = {"file": path_in_repository(self.place.file)}
            properties |= {"line": line, "endLine": line, "col": column}
            properties |= {"endColumn": str(self.end_column)} if self.end_column else {}
        elif self.file:
            properties = {"file": path_in_repository(self.file)}
        properties["title"] = printable(shortened(self.title, LONGEST_TITLE))
        values = ",".join(
            f"{name}={text.translate(_PROPERTY)}" for name, text in properties.items()
        )
        message = printable(shortened(self.message, LONGEST), but="\n").translate(_DATA)
        return f"::{_KIND.get(self.level, 'error')} {values}::{message}"


def render(answers: Sequence[Answer], *, all_rows: bool = False) -> str:  # noqa: ARG001  # no tables
    """A line for each annotation, at most ten; nothing where all passed."""
    annotations = [annotation for answer in answers for annotation in _annotations(answer)]
    annotations.sort(key=lambda annotation: [None, *Level].index(annotation.level))
    if len(annotations) > MOST:
        left_out = annotations[MOST - 1 :]
        specs = " ".join(
            dict.fromkeys(
                # As `run` takes it, with what was set on the command line.
                name_spec(answer.result.provenance, answer.spec)
                if isinstance(answer.result, AuditResult)
                else answer.spec
                for answer in answers
            )
        )
        where = f"see the summary of this step, or run: fairaudit run {specs}"
        more = _Annotation(left_out[0].level, "more", f"{len(left_out):,} more: {where}")
        annotations = [*annotations[: MOST - 1], more]
    return "".join(f"{annotation}\n" for annotation in annotations)


def _annotations(answer: Answer) -> Iterator[_Annotation]:
    result = answer.result
    if isinstance(result, FairauditError):
        for text, place in list_faults(result):
            yield _Annotation(None, f"no verdict on {answer.title}", text, place)
        return
    annotations = [
        _Annotation(
            level,
            f"{row.finding.status.upper()} {row.finding.check.id}",
            "\n".join([row.headline, *row.labelled(", ")]),
            row.at,
            end_column=row.end or 0,
        )
        for row in diagnose_by_id(result).values()
        if (level := row.severity) is not None
    ]
    for outcome in result.waivers:
        # A waiver without effect: readers of the file should know.
        waiver, word = outcome.waiver, str(outcome.state).replace("_", " ")
        if (level := _OLD.get(outcome.state)) is not None:
            text = f"{outcome.why or word}; until {waiver.expires}: {waiver.reason}"
            title = f"waiver {word}: {waiver.check}"
            annotations.append(_Annotation(level, title, text, waiver.place))
    if answer.data is not None:
        annotations = [
            replace(annotation, title=f"{annotation.title} in {answer.data}")
            for annotation in annotations
        ]
    yield from annotations
    if result.verdict is Verdict.NONE:
        why = "the spec sets no limits"
        yield _Annotation(Level.NOTE, "NONE", why, file=answer.spec)
    elif result.exit_code and all(annotation.level in _KIND for annotation in annotations):
        why = f"nothing could be evaluated: {checks.tally(result)}"
        yield _Annotation(Level.INCONCLUSIVE, "INCONCLUSIVE", why, file=answer.spec)

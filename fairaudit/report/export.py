"""Formats `csv` and `parquet`, and `Export`: the rows of every flat file.

A missing number is empty and never 0, and the column of its state says why. Columns of attributes
begin with `group.` and columns of strata with `given.`, because an attribute may be called `n` or
`metric`. `people` and `share_of_known` describe the group; the share is of people whose group is
known. `n`, `numerator` and `denominator` describe the rate; a weighted sum is `numerator / scale`.

Parquet is for programs: it has a schema, and texts are unchanged. CSV is for spreadsheets: it has a
byte order mark, without which Excel would misread UTF-8. Texts that look like formulas get an
apostrophe. Each record is one line, because a line in the data could be a command to a program that
reads the log. Lines end with a line feed, which every program reads.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from fairaudit.base import __version__, names
from fairaudit.base.errors import FairauditError
from fairaudit.base.frozen import Frozen
from fairaudit.cube import Group
from fairaudit.judge import Check, Limit, Status
from fairaudit.metrics.estimate import Estimate, Significance, State, state_of
from fairaudit.report import asked_comparisons, diagnostics, metric_titles, numbers, summary
from fairaudit.result import (
    SCHEMA_VERSION,
    Answer,
    AuditResult,
    ComparisonRow,
    GroupRow,
    RateRow,
    exit_code,
    list_notices,
)

if TYPE_CHECKING:
    import pyarrow as pa

Value: TypeAlias = str | int | float | None
MARK = "\ufeff"
"""The byte order mark: this text is UTF-8."""

# The beginning of a text that a spreadsheet may take for a formula, in cells that are separated by
# commas or by semicolons. See OWASP, CSV Injection.
_FORMULA = re.compile(r"""(?:^|(?<=;))(?=[\s"']*[=+\-@＝＋－＠])""")
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")
_Key: TypeAlias = tuple[str, tuple[str, ...], Group, Group]

_WHOSE = ("title", "spec", "data", "metric", "compare", "of", "by", "given", "group")
_FOUND = (
    *("people", "share_of_known", "standing", "n", "numerator", "denominator", "scale"),
    *("value", "state", "reason", "error", "low", "low_state", "high", "high_state"),
    *("confidence", "method", "no_interval"),
    *("reference", "difference", "difference_state", "ratio", "ratio_state"),
    *("test", "p", "adjusted_p", "tests", "correction", "parameters", "averaged_over"),
)
_ESTIMATED = (
    *("value", "state", "reason", "low", "low_state", "high", "high_state", "error", "method"),
    *("no_interval", "n", "numerator", "denominator", "scale"),
    *("test", "p", "adjusted_p", "tests", "correction"),
)
_COMPARED = ("metric", "title", "compare", "of", "by", "given", "group", "reference")
_LATTICE = (
    *("by", "groups", "smallest", "metric", "title", "of", "group", "other", "decided_by"),
    *("judged", "set_aside", *_ESTIMATED),
)
_REVERSALS = (
    *("metric", "of", "attribute", "group", "other", "given", "kind"),
    *("crude", "crude_of_group", "crude_of_other"),
    *("adjusted", "adjusted_of_group", "adjusted_of_other", "difference", "low", "high"),
    *("opposite_strata", "opposite_people", "strata"),
    *("test", "p", "adjusted_p", "tests", "correction"),
)
_SUBGROUPS = (
    *("metric", "of", "group", "numerator", "denominator", "share", "value", "everybody"),
    *("difference", "low", "high", "unfairness", "test", "p", "adjusted_p", "significant"),
)
_WHOLE = frozenset(
    {
        *("people", "n", "numerator", "denominator", "scale", "tests"),
        *("groups", "smallest", "set_aside", "strata"),
    }
)
_NUMBERS = frozenset(
    {
        *("crude", "crude_of_group", "crude_of_other", "share", "everybody", "unfairness"),
        *("adjusted", "adjusted_of_group", "adjusted_of_other"),
        *("opposite_strata", "opposite_people"),
        *("share_of_known", "value", "error", "low", "high", "confidence", "difference", "ratio"),
        *("p", "adjusted_p", "warn_below", "warn_above", "fail_below", "fail_above"),
    }
)
_FLAGS = frozenset({"not_enough_evidence", "judged", "significant"})
"""Columns that do not hold texts: whole numbers, numbers, and yes or no."""


class Export(Frozen):
    """Rows of values, with a name for each column; None is a missing value."""

    names: Sequence[str]
    rows: Sequence[Sequence[Value]]

    @classmethod
    def of(cls, names: Iterable[str], rows: Iterable[Mapping[str, Value]]) -> Self:
        """Rows of named values; a name that a row lacks becomes None."""
        columns = [*names]
        return cls(columns, [[*map(row.get, columns)] for row in rows])

    def csv(self) -> str:
        """The rows as CSV with a header."""
        page = io.StringIO(newline="")
        # The module quotes a cell only if it contains a character of the line ends. So the lines
        # end with "\r\n" here, which is then replaced: no cell contains it.
        writer = csv.writer(page, lineterminator="\r\n")
        writer.writerow(map(safe, self.names))
        writer.writerows(map(_cell, row) for row in self.rows)
        return MARK + page.getvalue().replace("\r\n", "\n")

    def arrow(self) -> pa.Table:
        """The rows as a table of Arrow: whole numbers, numbers, yes or no, and all others texts."""
        import pyarrow as pa

        types = {
            **dict.fromkeys(_WHOLE, pa.int64()),
            **dict.fromkeys(_NUMBERS, pa.float64()),
            **dict.fromkeys(_FLAGS, pa.bool_()),
        }
        arrays = {
            _utf8(name): pa.array(
                [
                    _utf8(value) if isinstance(value, str) else value
                    for value in (row[at] for row in self.rows)
                ],
                type=types.get(name, pa.string()),
            )
            for at, name in enumerate(self.names)
        }
        return pa.table(arrays)


def encode_csv_for(text: str, encoding: str) -> str:
    """A page in the characters of an encoding other than UTF-8, without the byte order mark."""
    return text.removeprefix(MARK).encode(encoding, "backslashreplace").decode(encoding)


def safe(text: str) -> str:
    """A text of one line that is not a formula to a spreadsheet or a command to a build server.

    Invisible characters are spelled out (`names.escaped`). An apostrophe precedes a text that looks
    like a formula; numbers, also negative ones, stay as they are. To restore the text, remove such
    an apostrophe, then replace the escapes.
    """
    text = names.escaped(text)
    return text if _NUMBER.fullmatch(text) else _FORMULA.sub("'", text)


def _cell(value: Value) -> Value:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return safe(value) if isinstance(value, str) else value


def _utf8(text: str) -> str:
    """The text in valid UTF-8; invalid bytes, as in the name of a file, are spelled out."""
    return text.encode("utf-8", "backslashreplace").decode()


def groups(answers: Sequence[Answer]) -> Export:
    """The groups of all answers. An error has no groups."""
    return _with_levels(_WHOSE, [row for answer in answers for row in _rows(answer)], _FOUND)


def _with_levels(
    first: Sequence[str], rows: Sequence[Mapping[str, Value]], last: Sequence[str]
) -> Export:
    """Rows with a column for each attribute of their groups and of their strata."""
    levels = [
        dict.fromkeys(name for row in rows for name in row if name.startswith(whose))
        for whose in ("group.", "given.")
    ]
    return Export.of((*first, *levels[0], *levels[1], *last), rows)


def _rows(answer: Answer) -> Iterator[dict[str, Value]]:
    """The rows of one answer: rates in the order of the report, then groups without a rate."""
    result = answer.result
    if isinstance(result, FairauditError):
        return
    made = result.provenance
    files = ", ".join(file.path for file in made.files)
    question = {"title": made.title, "spec": made.spec_path, "data": answer.data or files}
    people: dict[_Key, dict[str, Value]] = {
        _key(row): {"people": row.n, "share_of_known": row.share} for row in result.groups
    }
    for rate in result.rates:
        yield {
            **question,
            **_whose(rate),
            **people.get(_key(rate), {}),
            **_found(rate),
            "standing": str(rate.standing),
            "confidence": float(1 - Decimal(repr(rate.alpha))),
            "reference": _group(rate.reference),
            **_beside(rate, "difference", rate.difference),
            **_beside(rate, "ratio", rate.ratio),
        }
    yield from ({**row, **question} for row in _comparisons(result))
    with_rates = {_key(rate) for rate in result.rates}
    for group in result.groups:
        if (key := _key(group)) not in with_rates:
            yield {**question, **_whose(group), **people[key], "standing": str(group.standing)}


def _comparisons(result: AuditResult) -> Iterator[dict[str, Value]]:
    for row in result.comparisons:
        yield {
            **_whose(row),
            **_found(row),
            "title": row.title,
            "compare": row.compare or row.metric,
            "reference": _group(row.second) or row.reference,
        }


def comparisons(result: AuditResult) -> Export:
    """The comparisons of groups, and of all groups together."""
    last = (*_ESTIMATED, "parameters", "averaged_over")
    return _with_levels(_COMPARED, [*_comparisons(result)], last)


def lattice(result: AuditResult) -> Export:
    """The worst value of each measure in every subset of the attributes."""
    rows = (
        {
            "by": numbers.subset(row.by),
            "groups": row.groups,
            "smallest": row.smallest,
            "metric": entry.metric,
            "title": entry.title,
            "of": entry.of,
            "group": _group(entry.first),
            "other": _group(entry.second),
            "decided_by": entry.decided_by,
            "judged": entry.judged,
            "set_aside": entry.set_aside,
            **estimated(entry.estimate),
        }
        for row in result.lattice
        for entry in row.entries
    )
    return Export.of(_LATTICE, rows)


def reversals(result: AuditResult) -> Export:
    """The pairs of groups whose gap changes within strata: the group minus the other group.

    `adjusted` is the gap with the same mix of strata for both groups. `difference` and its interval
    use Mantel and Haenszel's weights.
    """
    rows = (
        {
            "metric": row.rate,
            "of": row.of,
            "attribute": row.attribute,
            "group": row.pair[0],
            "other": row.pair[1],
            "given": numbers.subset(row.given),
            "kind": str(row.kind),
            "crude": _finite(row.crude),
            "adjusted": _finite(row.standardized),
            "crude_of_group": _finite(row.crude_pair[0].value),
            "crude_of_other": _finite(row.crude_pair[1].value),
            "adjusted_of_group": _finite(row.standardized_pair[0]),
            "adjusted_of_other": _finite(row.standardized_pair[1]),
            "difference": _finite(row.joined.difference if row.joined else None),
            "low": _finite(row.joined.difference_low if row.joined else None),
            "high": _finite(row.joined.difference_high if row.joined else None),
            "strata": row.estimable_strata,
            "opposite_strata": _finite(row.opposite_strata),
            "opposite_people": _finite(row.opposite_weight),
            **_tested(row.significance),
        }
        for row in result.reversals
    )
    return Export.of(_REVERSALS, rows)


def subgroups(result: AuditResult) -> Export:
    """The subgroups that a search lists, by rate; `difference` is to the rate of all people."""
    searched = [] if result.subgroups is None else result.subgroups.rates
    rows = (
        {
            "metric": rate.rate,
            "of": rate.of,
            "group": names.describe_group(row.group),
            "numerator": row.over,
            "denominator": row.under,
            "share": row.share,
            "value": row.value,
            "everybody": row.everybody,
            "difference": row.divergence,
            "low": _finite(row.low),
            "high": _finite(row.high),
            "unfairness": row.unfairness,
            "test": row.test,
            "p": _finite(row.p),
            "adjusted_p": _finite(row.adjusted),
            "significant": row.significant,
        }
        for rate in searched
        for row in rate.listed
    )
    return Export.of(_SUBGROUPS, rows)


def _group(group: Group) -> str | None:
    return names.describe_group(group) if group else None


def _key(row: GroupRow | RateRow) -> _Key:
    return row.of, row.by, row.stratum, row.group


def _whose(row: GroupRow | RateRow | ComparisonRow) -> dict[str, Value]:
    group = row.group or ()
    return {
        "of": row.of,
        "by": numbers.subset(row.by),
        "given": numbers.subset(tuple(name for name, _ in row.stratum)),
        "group": None if row.group is None else numbers.group(group),
        **{f"group.{name}": level for name, level in group},
        **{f"given.{name}": level for name, level in row.stratum},
    }


def _found(row: RateRow | ComparisonRow) -> dict[str, Value]:
    """The columns that rates and comparisons share: the value of a metric, and its definition."""
    return {
        "metric": row.metric,
        **estimated(row.estimate),
        "parameters": json.dumps(dict(row.parameters), ensure_ascii=False, separators=(",", ":"))
        if row.parameters
        else None,
        "averaged_over": numbers.subset(row.averaged) or None,
    }


def _beside(row: RateRow, name: str, value: float | None) -> dict[str, Value]:
    """The comparison of a rate with its reference; empty without a reference."""
    if not row.reference and value is not None and math.isnan(value):
        return {}
    return _number(name, value)


def estimated(estimate: Estimate) -> dict[str, Value]:
    """A value with its evidence; a missing value is undefined, never 0."""
    row: dict[str, Value] = {
        "n": estimate.n,
        "numerator": estimate.numerator,
        "denominator": estimate.denominator,
        "scale": None if estimate.numerator is None else estimate.scale,
        "value": None if estimate.suppressed else _finite(estimate.value),
        "state": str(estimate.state),
        "reason": estimate.reason,
        "error": _finite(estimate.error) or None,
        "method": estimate.method or None,
        "no_interval": estimate.no_interval or None,
    }
    for name, end in (("low", estimate.low), ("high", estimate.high)):
        row |= {} if end is None else _number(name, end)
    return row | _tested(estimate.significance)


def _tested(test: Significance | None) -> dict[str, Value]:
    if test is None:
        return {}
    numbers_of_test = {"p": _finite(test.p), "adjusted_p": _finite(test.adjusted)}
    return {
        "test": test.test, "tests": test.family, "correction": test.correction, **numbers_of_test
    }  # fmt: skip


def _number(name: str, value: float | None) -> dict[str, Value]:
    """A number, empty if it is not finite, and its state; None means suppressed."""
    state = State.SUPPRESSED if value is None else state_of(value)
    return {name: _finite(value), f"{name}_state": str(state)}


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value


def render_csv(answers: Sequence[Answer], *, all_rows: bool = True) -> str:  # noqa: ARG001  # it always has all rows
    """The groups of all answers as CSV with a header; only the header if all are errors."""
    return groups(answers).csv()


def render_parquet(answers: Sequence[Answer], *, all_rows: bool = True) -> bytes:  # noqa: ARG001  # the same
    """The groups of all answers as a Parquet file, without rows if all are errors."""
    import pyarrow as pa
    from pyarrow import parquet

    sink = pa.BufferOutputStream()
    parquet.write_table(groups(answers).arrow(), sink, compression="zstd")
    written: bytes = sink.getvalue().to_pybytes()
    return written


_SUMMARY = (
    *("spec", "data", "title", "verdict", "exit_code", "rows", "people"),
    *map(str, reversed(Status)),
    *("not_enough_evidence", "headline", "error", "hint", "report"),
)
_CHECK = (
    *("check", "status", "not_enough_evidence", "metric", "of", "by", "given"),
    *("value", "state", "low", "high", "n", "test", "p", "adjusted_p", "tests", "correction"),
    *("limit", "warn_below", "warn_above", "fail_below", "fail_above"),
    *("group", "other", "stratum", "worse_off", "headline", "sentence"),
)


class Listed(Frozen):
    """An answer, and the names of the files that hold its report, by their format."""

    answer: Answer
    files: Mapping[str, str]


def index(listed: Sequence[Listed]) -> dict[str, Any]:
    """The verdict and the report files of each audit as plain data, in the order of the specs."""
    answers = [audit.answer for audit in listed]
    words = [str(answer.result.verdict) for answer in answers]
    audits = []
    for audit in listed:
        row = _summary_row(audit)
        tally = {str(status): row.pop(str(status), None) for status in Status}
        is_error = isinstance(audit.answer.result, FairauditError)
        counted = {"checks": None if is_error else tally, "reports": dict(audit.files)}
        audits.append({**row, **counted})
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "fairaudit", "version": __version__},
        "summary": {
            "exit_code": exit_code(answers),
            "verdicts": {word: words.count(word) for word in sorted({*words})},
        },
        "notices": list_notices(answers),
        "audits": audits,
    }


def summary_csv(listed: Sequence[Listed]) -> str:
    """A row for each audit: its verdict, and the number of checks with each status."""
    rows = [{**_summary_row(audit), "report": audit.files.get("json")} for audit in listed]
    return Export.of(_SUMMARY, rows).csv()


def checks_csv(listed: Sequence[Listed]) -> str:
    """A row for each check of each audit, and for each value without a limit, in long form."""
    rows = [
        {
            "spec": audit.answer.spec,
            "data": audit.answer.data,
            **row,
            "report": audit.files.get("json"),
        }
        for audit in listed
        if isinstance(audit.answer.result, AuditResult)
        for row in _check_rows(audit.answer.result)
    ]
    return Export.of(("spec", "data", *_CHECK, "report"), rows).csv()


def _summary_row(audit: Listed) -> dict[str, Value]:
    answer = audit.answer
    result = answer.result
    question: dict[str, Value] = {"spec": answer.spec, "data": answer.data}
    verdict: dict[str, Value] = {
        "verdict": str(answer.result.verdict),
        "exit_code": answer.exit_code,
    }
    if isinstance(result, FairauditError):
        return {**question, **verdict, "error": result.message, "hint": result.hint}
    return {
        **question,
        "title": result.provenance.title,
        **verdict,
        "rows": result.provenance.rows,
        "people": result.ledger.people,
        **{str(status): count for status, count in result.tally.items()},
        "not_enough_evidence": result.not_enough_evidence,
        "headline": summary.headline(result),
    }


def checks(result: AuditResult) -> Export:
    """The checks of a result, and its values without a limit."""
    return Export.of(_CHECK, _check_rows(result))


def _check_rows(result: AuditResult) -> Iterator[dict[str, Value]]:
    """A row for each check, in the order of the spec, then one for each value without a limit."""
    explanations = diagnostics.diagnose_by_id(result)
    for finding in result.findings:
        check = finding.check
        # A check on reversals has kinds in place of a value.
        value = {"state": str(State.UNDEFINED)} if isinstance(check, Check) else {}
        limits = {"warn": finding.check.warn, "fail": finding.check.fail}
        yield {
            "check": check.id,
            "status": str(finding.status),
            "not_enough_evidence": finding.not_enough_evidence,
            "metric": check.metric_id,
            "of": check.of,
            "by": numbers.subset(check.by) or None,
            "given": numbers.subset(check.given) or None,
            **(value if finding.estimate is None else estimated(finding.estimate)),
            **{
                f"{name}_{side}": float(bound)
                for name, limit in limits.items()
                if isinstance(limit, Limit)
                for side, bound in (("below", limit.below), ("above", limit.above))
                if bound is not None
            },
            "limit": None if finding.limit is None else str(finding.limit),
            "group": _group(finding.first),
            "other": _group(finding.second),
            "stratum": _group(finding.stratum),
            "worse_off": _group(finding.worse_off),
            "headline": explanations[check.id].headline,
            "sentence": explanations[check.id].sentence,
        }

    for row in asked_comparisons.without_limit(result):
        given = tuple(name for name, _ in row.stratum) or row.averaged
        yield {
            "metric": row.metric,
            "of": row.of,
            "by": numbers.subset(row.by),
            "given": numbers.subset(given) or None,
            **estimated(row.estimate),
            "group": _group(row.group or row.first),
            "other": _group(row.second),
            "stratum": _group(row.stratum),
            "headline": f"{row.title}{metric_titles.options(row.parameters)}",
        }

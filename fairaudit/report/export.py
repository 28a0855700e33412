"""Formats `csv` and `parquet`, and `Export`: the rows of every flat file.

A missing number is empty and never 0, and the column of its state says why. Columns of attributes
begin with `group.` and columns of strata with `given.`, because an attribute may be called `n` or
`metric`. `people` and `share_of_known` describe the group; the share is of people whose group is
known. `n`, `numerator` and `denominator` describe the rate; a weighted sum is `numerator / scale`.
The first columns are group, metric, value, interval, p and people. The last ones describe the
comparison: data frame libraries print the first and the last columns of a wide frame.

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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Generic, Self, TypeAlias, TypeVar

from fairaudit.base import __version__, names
from fairaudit.base.errors import FairauditError
from fairaudit.base.frozen import Frozen
from fairaudit.cube import Group
from fairaudit.judge import Check, Limit, Status
from fairaudit.judge.simpson import Reversal
from fairaudit.judge.subgroups import SearchedRate, Subgroup
from fairaudit.metrics.estimate import MASKED_RANGE, Estimate, Significance, State, state_of
from fairaudit.report import asked_comparisons, diagnostics, metric_titles, numbers, summary
from fairaudit.report.checks import named_pair
from fairaudit.result import SCHEMA_VERSION, Answer, AuditResult, exit_code, list_notices
from fairaudit.result.rows import ComparisonRow, GroupRow, LatticeEntry, LatticeRow, RateRow

if TYPE_CHECKING:
    import pyarrow as pa

Value: TypeAlias = str | int | float | None
Row = TypeVar("Row")
Whole = TypeVar("Whole")
MARK = "\ufeff"
"""The byte order mark: this text is UTF-8."""

# The beginning of a text that a spreadsheet may read as a formula, if cells are separated by
# commas or by semicolons. See OWASP, CSV Injection.
_FORMULA = re.compile(r"""(?:^|(?<=;))(?=[\s"']*[=+\-@＝＋－＠])""")
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")
_Key: TypeAlias = tuple[str, tuple[str, ...], Group, Group]

_VALUE = ("value", "low", "high", "p", "adjusted_p", "n")
"""The first columns after the group and the metric."""
_REST = (
    *("numerator", "denominator", "scale", "state", "reason", "error", "low_state", "high_state"),
    *("method", "no_interval", "test", "tests", "correction", "parameters", "averaged_over"),
)
_GROUPS = ("group", "metric", *_VALUE, "of", "by", "given", "compare", "title", "spec", "data")
_OF_GROUPS = (
    *("people", "share_of_known", "confidence", *_REST, "difference_state", "ratio_state"),
    *("reference", "difference", "ratio", "standing"),
)
_COMPARED = (*_REST, "by", "title", "compare", "between", "reference")


class Field(Frozen, Generic[Row]):
    """A column of a flat file: its name, its value in a row, and the type of its values."""

    name: str
    value: Callable[[Row], Value]
    holds: type = str

    def of(self, part: Callable[[Whole], Row | None]) -> Field[Whole]:
        """This column for rows that contain such a row; `part` returns the inner row, or None."""

        def value(whole: Whole) -> Value:
            own = part(whole)
            return None if own is None else self.value(own)

        return Field(self.name, value, self.holds)


class Export(Frozen):
    """Rows of values, with a name for each column; None is a missing value."""

    names: Sequence[str]
    rows: Sequence[Sequence[Value]]

    @classmethod
    def of(cls, names: Iterable[str], rows: Iterable[Mapping[str, Value]]) -> Self:
        """Rows of named values; a value is None if its row does not have the name."""
        columns = [*names]
        return cls(columns, [[*map(row.get, columns)] for row in rows])

    @classmethod
    def tabulate(cls, fields: Sequence[Field[Row]], rows: Iterable[Row]) -> Self:
        """The values of rows by their columns."""
        names = [field.name for field in fields]
        return cls(names, [[field.value(row) for field in fields] for row in rows])

    def csv(self) -> str:
        """The rows as CSV with a header."""
        page = io.StringIO(newline="")
        # `csv` quotes a cell with "\r" or "\n" only if this character is part of the line ends.
        # So lines first end with "\r\n", which is then replaced; no cell contains "\r\n".
        writer = csv.writer(page, lineterminator="\r\n")
        writer.writerow(map(safe, self.names))
        writer.writerows(map(_cell, row) for row in self.rows)
        return MARK + page.getvalue().replace("\r\n", "\n")

    def arrow(self) -> pa.Table:
        """The rows as an Arrow table with columns of integers, floats, booleans or texts."""
        import pyarrow as pa

        types = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
        arrays = {
            _utf8(name): pa.array(
                [
                    _utf8(value) if isinstance(value, str) else value
                    for value in (row[at] for row in self.rows)
                ],
                type=types[_HOLDS.get(name, str)],
            )
            for at, name in enumerate(self.names)
        }
        return pa.table(arrays)


def encode_csv_for(text: str, encoding: str) -> str:
    """The CSV text for an encoding other than UTF-8, without the byte order mark."""
    return text.removeprefix(MARK).encode(encoding, "backslashreplace").decode(encoding)


def safe(text: str) -> str:
    """A text of one line that no spreadsheet reads as a formula and no build server as a command.

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
    rows = []
    for answer in answers:
        result = answer.result
        if isinstance(result, FairauditError):
            continue
        # Rates in the order of the report, comparisons, then groups without a rate.
        made = result.provenance
        files = ", ".join(file.path for file in made.files)
        question = {"title": made.title, "spec": made.spec_path, "data": answer.data or files}
        people: dict[_Key, dict[str, Value]] = {
            _key(row): {"people": row.n, "share_of_known": row.share} for row in result.groups
        }
        for rate in result.rates:
            is_range = rate.estimate.method == MASKED_RANGE
            rows.append(
                {
                    **question,
                    **_whose(rate),
                    **people.get(_key(rate), {}),
                    **_found(rate),
                    "standing": str(rate.standing),
                    "confidence": None if is_range else float(1 - Decimal(repr(rate.alpha))),
                    "reference": _group(rate.reference),
                    **_beside(rate, "difference", rate.difference),
                    **_beside(rate, "ratio", rate.ratio),
                }
            )
        rows += [{**row, **question} for row in _comparisons(result)]
        with_rates = {_key(rate) for rate in result.rates}
        for group in result.groups:
            if (key := _key(group)) not in with_rates:
                own = {**people[key], "standing": str(group.standing)}
                rows.append({**question, **_whose(group), **own})
    return _with_levels(_GROUPS, rows, _OF_GROUPS)


def _with_levels(
    first: Sequence[str], rows: Sequence[Mapping[str, Value]], last: Sequence[str]
) -> Export:
    """Rows with a column for each attribute of their groups and of their strata."""
    levels = [
        dict.fromkeys(name for row in rows for name in row if name.startswith(whose))
        for whose in ("group.", "given.")
    ]
    return Export.of((*first, *levels[0], *levels[1], *last), rows)


def _comparisons(result: AuditResult) -> Iterator[dict[str, Value]]:
    for row in result.comparisons:
        yield {
            **_whose(row),
            **_found(row),
            "title": row.title,
            "compare": row.compare or row.metric,
            # A value of all groups together may be about two of them; neither is a reference.
            "reference": (row.group and _group(named_pair(row)[1])) or row.reference,
            "between": None
            if row.group
            else " and ".join(filter(None, map(_group, named_pair(row)))) or None,
        }


def comparisons(result: AuditResult) -> Export:
    """The comparisons of groups, and of all groups together."""
    first = ("group", "metric", *_VALUE, "of", "given")
    return _with_levels(first, [*_comparisons(result)], _COMPARED)


def lattice(result: AuditResult) -> Export:
    """The worst value of each measure in every subset of the attributes."""
    rows = ((row, entry) for row in result.lattice for entry in row.entries)
    return Export.tabulate(_LATTICE, rows)


def reversals(result: AuditResult) -> Export:
    """The pairs of groups whose gap changes within strata: the group minus the other group.

    `adjusted` is the gap with the same mix of strata for both groups. `difference` and its interval
    use the weights of Mantel and Haenszel.
    """
    return Export.tabulate(_REVERSALS, result.reversals)


def subgroups(result: AuditResult) -> Export:
    """The listed subgroups by rate; `difference` is their rate minus the rate of all people."""
    searched = [] if result.subgroups is None else result.subgroups.rates
    return Export.tabulate(_SUBGROUPS, ((rate, row) for rate in searched for row in rate.listed))


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
    """The columns common to rates and comparisons: the value of a metric, and its definition."""
    return {
        "metric": row.metric,
        **estimated(row.estimate),
        "parameters": json.dumps(dict(row.parameters), ensure_ascii=False, separators=(",", ":"))
        if row.parameters
        else None,
        "averaged_over": numbers.subset(row.averaged) or None,
    }


def _beside(row: RateRow, name: str, value: float | None) -> dict[str, Value]:
    """A difference or ratio to the reference, with its state; empty without a reference."""
    if not row.reference and value is not None and math.isnan(value):
        return {}
    state = State.SUPPRESSED if value is None else state_of(value)
    return {name: _finite(value), f"{name}_state": str(state)}


def estimated(estimate: Estimate) -> dict[str, Value]:
    """The columns of an estimate: value, interval and test; a missing value is never 0."""
    return {field.name: field.value(estimate) for field in _ESTIMATED}


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value


_TESTED: tuple[Field[Significance], ...] = (
    Field("p", lambda test: _finite(test.p), float),
    Field("adjusted_p", lambda test: _finite(test.adjusted), float),
    Field("test", lambda test: test.test),
    Field("tests", lambda test: test.family, int),
    Field("correction", lambda test: test.correction),
)
_ESTIMATED: tuple[Field[Estimate], ...] = (
    Field("value", lambda row: None if row.suppressed else _finite(row.value), float),
    Field("low", lambda row: _finite(row.low), float),
    Field("high", lambda row: _finite(row.high), float),
    *(field.of(lambda row: row.significance) for field in _TESTED[:2]),
    Field("n", lambda row: row.n, int),
    Field("state", lambda row: str(row.state)),
    Field("reason", lambda row: row.reason),
    Field("low_state", lambda row: None if row.low is None else str(state_of(row.low))),
    Field("high_state", lambda row: None if row.high is None else str(state_of(row.high))),
    Field("error", lambda row: _finite(row.error) or None, float),
    Field("method", lambda row: row.method or None),
    Field("no_interval", lambda row: row.no_interval or None),
    Field("numerator", lambda row: row.numerator, int),
    Field("denominator", lambda row: row.denominator, int),
    Field("scale", lambda row: None if row.numerator is None else row.scale, int),
    *(field.of(lambda row: row.significance) for field in _TESTED[2:]),
)
_LATTICE: tuple[Field[tuple[LatticeRow, LatticeEntry]], ...] = (
    Field("by", lambda pair: numbers.subset(pair[0].by)),
    Field("metric", lambda pair: pair[1].metric),
    *(field.of(lambda pair: pair[1].estimate) for field in _ESTIMATED),
    Field("title", lambda pair: pair[1].title),
    Field("of", lambda pair: pair[1].of),
    Field("groups", lambda pair: pair[0].groups, int),
    Field("smallest", lambda pair: pair[0].smallest, int),
    Field("decided_by", lambda pair: pair[1].decided_by),
    Field("set_aside", lambda pair: pair[1].set_aside, int),
    Field("judged", lambda pair: pair[1].judged, bool),
    Field("group", lambda pair: _group(named_pair(pair[1])[0])),
    Field("other", lambda pair: _group(named_pair(pair[1])[1])),
)
_REVERSALS: tuple[Field[Reversal], ...] = (
    Field("group", lambda row: row.pair[0]),
    Field("other", lambda row: row.pair[1]),
    Field("metric", lambda row: row.rate),
    Field("crude", lambda row: _finite(row.crude), float),
    Field("adjusted", lambda row: _finite(row.standardized), float),
    Field("difference", lambda row: _finite(row.joined.difference if row.joined else None), float),
    Field("low", lambda row: _finite(row.joined.difference_low if row.joined else None), float),
    Field("high", lambda row: _finite(row.joined.difference_high if row.joined else None), float),
    *(field.of(lambda row: row.significance) for field in _TESTED),
    Field("of", lambda row: row.of),
    Field("attribute", lambda row: row.attribute),
    Field("crude_of_group", lambda row: _finite(row.crude_pair[0].value), float),
    Field("crude_of_other", lambda row: _finite(row.crude_pair[1].value), float),
    Field("adjusted_of_group", lambda row: _finite(row.standardized_pair[0]), float),
    Field("adjusted_of_other", lambda row: _finite(row.standardized_pair[1]), float),
    Field("opposite_strata", lambda row: _finite(row.opposite_strata), float),
    Field("opposite_people", lambda row: _finite(row.opposite_weight), float),
    Field("strata", lambda row: row.estimable_strata, int),
    Field("given", lambda row: numbers.subset(row.given)),
    Field("kind", lambda row: str(row.kind)),
)
_SUBGROUPS: tuple[Field[tuple[SearchedRate, Subgroup]], ...] = (
    Field("group", lambda pair: names.describe_group(pair[1].group)),
    Field("metric", lambda pair: pair[0].rate),
    Field("value", lambda pair: pair[1].value, float),
    Field("difference", lambda pair: pair[1].divergence, float),
    Field("low", lambda pair: _finite(pair[1].low), float),
    Field("high", lambda pair: _finite(pair[1].high), float),
    Field("p", lambda pair: _finite(pair[1].p), float),
    Field("adjusted_p", lambda pair: _finite(pair[1].adjusted), float),
    Field("denominator", lambda pair: pair[1].under, int),
    Field("numerator", lambda pair: pair[1].over, int),
    Field("of", lambda pair: pair[0].of),
    Field("share", lambda pair: pair[1].share, float),
    Field("everybody", lambda pair: pair[1].everybody, float),
    Field("unfairness", lambda pair: pair[1].unfairness, float),
    Field("test", lambda pair: pair[1].test),
    Field("significant", lambda pair: pair[1].significant, bool),
)
_TYPED: tuple[Field[Any], ...] = (*_LATTICE, *_REVERSALS, *_SUBGROUPS)
_HOLDS = {
    **{field.name: field.holds for field in _TYPED},
    "people": int,
    **dict.fromkeys(("not_enough_evidence", "could_change"), bool),
    **dict.fromkeys(("warn_below", "warn_above", "fail_below", "fail_above"), float),
    **dict.fromkeys(("share_of_known", "confidence", "ratio"), float),
}
"""The type of the values of a column by its name; other columns hold texts."""


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
    *("not_enough_evidence", "could_change", "headline", "error", "hint", "report"),
)
_CHECK = (
    *("check", "status", *_VALUE, "limit", "not_enough_evidence", "could_change", "metric", "of"),
    *("by", "given", "group", "other", "stratum", "worse_off", "state", "test", "tests"),
    *("correction", "warn_below", "warn_above", "fail_below", "fail_above", "headline", "sentence"),
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
        "could_change": sum(finding.could_change for finding in result.findings),
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
        # A check on reversals has kinds instead of a value.
        value = {"state": str(State.UNDEFINED)} if isinstance(check, Check) else {}
        limits = {"warn": finding.check.warn, "fail": finding.check.fail}
        yield {
            "check": check.id,
            "status": str(finding.status),
            "not_enough_evidence": finding.not_enough_evidence,
            "could_change": finding.could_change,
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
            "group": _group(named_pair(finding)[0]),
            "other": _group(named_pair(finding)[1]),
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
            "group": _group(row.group or named_pair(row)[0]),
            "other": _group(named_pair(row)[1]),
            "stratum": _group(row.stratum),
            "headline": f"{row.title}{metric_titles.options(row.parameters)}",
        }

"""`AuditResult` and `Finding` for Python users: the plain records, with reports, files and frames.

The pipeline, the reports and the commands use the plain records of `fairaudit.result` and
`fairaudit.judge`. `load` reads a result from a JSON report. Add new methods of a result here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from fairaudit import judge as verdict
from fairaudit import result as plain
from fairaudit.base import names
from fairaudit.base.errors import AuditFailed, UsageError, check_type
from fairaudit.base.frozen import Frozen, field_names

if TYPE_CHECKING:
    import polars as pl


class Picture(Frozen):
    """A picture of a page, which notebooks show: its name, title, description, and SVG text."""

    name: str
    title: str
    description: str
    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> None:
        """Writes the SVG to a file. Raises `UsageError` if that is not possible."""
        _write(Path(path), self.svg.encode())


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        name = names.copied(str(path))
        raise UsageError(f"{name} cannot be written: {why}", "check the folder") from error


class Finding(verdict.Finding):  # noqa: D101  # the docstring of the record
    __doc__ = verdict.Finding.__doc__

    @property
    def headline(self) -> str:
        """The finding in one sentence, as printed in reports."""
        from fairaudit.report import headlines

        return headlines.headline(self)


class AuditResult(plain.AuditResult):  # noqa: D101  # the docstring of the record
    __doc__ = plain.AuditResult.__doc__

    findings: tuple[Finding, ...]

    def _repr_html_(self) -> str:
        """The HTML for notebooks: the top of the page."""
        from fairaudit.report import html

        return html.fragment(self)

    def __eq__(self, other: object) -> bool:
        """Whether the JSON reports of both results are equal; NaN, such as 0/0, equals NaN."""
        return isinstance(other, AuditResult) and self.to_dict() == other.to_dict()

    def __ne__(self, other: object) -> bool:
        """The opposite of `==`; `!=` of the plain record would compare fields."""
        return not self == other

    def __bool__(self) -> bool:
        """Raises `TypeError`: `assert audit(…)` would also accept an audit that fails."""
        what = "the truth value of a result is not defined: use result.verdict == 'pass', or"
        raise TypeError(f"{what} result.raise_for_failure(), which raises if the audit fails")

    __hash__ = None  # type: ignore[assignment]  # it holds dictionaries

    def raise_for_failure(self) -> None:
        """Raises `AuditFailed`, with a line for each check, if the verdict is not a pass.

        These verdicts are fail and inconclusive, also after `fail_on="never"`. The error is an
        `AssertionError`, so pytest shows it as the failure of a test.
        """
        __tracebackhide__ = True  # pytest shows the line of the test, not this one
        if self.verdict in {plain.Verdict.FAIL, plain.Verdict.INCONCLUSIVE}:
            from fairaudit.report.remarks import describe_failure

            raise AuditFailed(describe_failure(self))

    def to_dict(self) -> dict[str, Any]:
        """The JSON report as plain data (docs/json.md): what `fairaudit.load` reads."""
        from fairaudit.report import json

        return json.document(self)

    def to_json(self) -> str:
        """The JSON report as text, the same as `fairaudit run --format json` prints."""
        from fairaudit.report import json

        return json.render(self)

    def save(self, path: str | Path, format: str | None = None) -> None:  # noqa: A002  # the command's own word
        """Writes a report with all rows to a file, in the format of its suffix, or in `format`.

        The formats are those of `fairaudit run -o`: `.html`, `.json`, `.md`, `.csv`, `.parquet`,
        `.tex`, `.txt`, `.xml`, and more. Raises `UsageError` for another suffix, and for a file
        that cannot be written.
        """
        from fairaudit.report import FORMATS, format_named, format_of_suffix

        check_type(path, str | Path, "the report must be a path")
        target = Path(path)
        name = names.copied(str(target))
        form = format_of_suffix(target.suffix) if format is None else format_named(format)
        if form is None:
            suffixes = ", ".join(suffix for known in FORMATS for suffix in known.suffixes)
            what = f"{name}: the suffix {target.suffix!r} is not a known format"
            raise UsageError(what, f"available: {suffixes}; or name a `format`")
        answer = plain.Answer(self.provenance.spec_path, None, self)
        content = form.render([answer], all_rows=True)
        if isinstance(content, str):
            content = content.encode(errors="backslashreplace")
        _write(target, content)

    def pictures(self) -> tuple[Picture, ...]:
        """The pictures of the page, first the pictures of checks. Notebooks show these objects."""
        from fairaudit.report import html
        from fairaudit.report.html import svg

        return tuple(
            Picture(name, figure.title, figure.description, svg.draw(figure))
            for name, figure in html.pictures(self).items()
        )

    @overload
    def checks(self, to: Literal["polars"] = "polars") -> pl.DataFrame: ...

    @overload
    def checks(self, to: Literal["pandas", "arrow"]) -> Any: ...  # noqa: ANN401  # ship no types

    def checks(self, to: str = "polars") -> Any:
        """A frame with one row for each check: its value, interval, p, people, limit and groups.

        Rows of entries without a limit follow; they have no `check` and no `status`. Rates and
        their differences are shares from 0 to 1. Missing numbers are null, and `state` gives the
        reason. `to` is `polars`, `pandas` or `arrow`.
        """
        from fairaudit.api import result_frames

        return result_frames.frame(self, "checks", to)

    @overload
    def group_rates(
        self, by: str | Sequence[str] | None = None, to: Literal["polars"] = "polars"
    ) -> pl.DataFrame: ...

    @overload
    def group_rates(
        self, by: str | Sequence[str] | None = None, *, to: Literal["pandas", "arrow"]
    ) -> Any: ...  # noqa: ANN401  # ship no types

    def group_rates(self, by: str | Sequence[str] | None = None, to: str = "polars") -> Any:
        """A frame with one row for each rate of each group, in one grouping or in all.

        `people` is the number of people of the group. `value` is `numerator / denominator`; in a
        weighted sample, these are sums of weights times `scale`. `low` and `high` are the ends of
        the interval of `value`. `difference` and `ratio` compare with the `reference`, and `p` is
        the p-value of no difference. Missing numbers are null, and `state` gives the reason. Raises
        `UsageError` for unknown groupings. `table` has a row for each group.
        """
        from fairaudit.api import result_frames

        return result_frames.group_rates(self, by, to)

    @overload
    def frame(self, of: str, to: Literal["polars"] = "polars") -> pl.DataFrame: ...

    @overload
    def frame(self, of: str, to: Literal["pandas", "arrow"]) -> Any: ...  # noqa: ANN401  # ship no types

    def frame(self, of: str, to: str = "polars") -> Any:
        """A frame of one kind of rows, each with its value, interval, test and p.

        `of` is `rates`, `comparisons`, `lattice`, `reversals`, `subgroups` or `checks`. A frame
        without rows still has its columns; it comes with a warning if nothing was searched. Raises
        `UsageError` for other kinds.
        """
        from fairaudit.api import result_frames

        return result_frames.frame(self, of, to)

    def table(self, by: str | Sequence[str]) -> pl.DataFrame:
        """One row for each group of a grouping: its levels, people, eligibility, and every rate.

        A rate of several outcomes, or with several parameters, has several columns, such as
        `selection_rate of current` or `selection_rate at=0.5`. If a column of the data is named
        like another column of the table, it gets a prefix, as in `group.n`. Undefined and
        suppressed values are null. Strata are not listed. Raises `UsageError` for unknown
        groupings.
        """
        from fairaudit.api import result_frames

        return result_frames.table(self, by)

    def group_min(self, by: str | Sequence[str]) -> dict[str, float | None]:
        """The lowest value of each rate over the compared groups of a grouping.

        The names are the columns of `table`. A rate has no value (None) if a group has no value.
        Raises `UsageError` for unknown groupings.
        """
        from fairaudit.api import result_frames

        return result_frames.find_extremes(self, by, min)

    def group_max(self, by: str | Sequence[str]) -> dict[str, float | None]:
        """The highest value of each rate; see `group_min`."""
        from fairaudit.api import result_frames

        return result_frames.find_extremes(self, by, max)


def make_public(result: plain.AuditResult) -> AuditResult:
    """The public result for a plain result of the pipeline."""
    findings = (
        Finding(*(getattr(finding, name) for name in field_names(Finding)))
        for finding in result.findings
    )
    fields = {name: getattr(result, name) for name in field_names(AuditResult)}
    return AuditResult(**fields | {"findings": tuple(findings)})


def load(source: str | Path | Mapping[str, Any]) -> AuditResult:
    """The result in a JSON report: a path, the text, or plain data (`AuditResult.to_dict`).

    The result is equal to the saved one and gives the same reports. Raises `UsageError` for other
    documents, several results, and other major versions of the schema.

    >>> import fairaudit
    >>> result = fairaudit.audit("audit_specs/kidney_admissions.yaml")
    >>> fairaudit.load(result.to_dict()).verdict == result.verdict
    True
    """
    from fairaudit import codec

    if isinstance(source, str) and source.lstrip().startswith("{"):
        source = codec.parse(source)
    check_type(source, str | Path | Mapping, "the report must be a path")
    return make_public(codec.choose_result(codec.load(source)))

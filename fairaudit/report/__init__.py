"""The reports: answers in, text out. To add a format, add a file and a line in `FORMATS`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairaudit.report.blocks import Document
    from fairaudit.result import Answer


def _backslashes(text: str, encoding: str) -> str:
    return text.encode(encoding, "backslashreplace").decode(encoding)


@dataclass(frozen=True, slots=True)
class Format:
    """A format: its name for `--format`, the suffixes that mean it, and how it is rendered.

    `render` takes the answers (one, or several that become one report) and whether all rows are
    told; it is text, or bytes. `page` renders any other document, None where the format is not for
    prose. `tells_errors`: where there is no verdict, stdout carries the error in this format.
    `spelled` gives a text that the encoding of a stream does not have in signs that it has.
    """

    name: str
    suffixes: tuple[str, ...]
    render: Callable[[Sequence[Answer], bool], str | bytes]
    page: Callable[[Document], str] | None = None
    tells_errors: bool = True
    spelled: Callable[[str, str], str] = _backslashes

    @property
    def shows_pages(self) -> bool:
        """Whether it can show what is no report of an audit: a comparison, a single check."""
        return self.page is not None or self.name == "json"


def _terminal(answers: Sequence[Answer], all_rows: bool) -> str:  # noqa: FBT001  # the renderers' signature
    from fairaudit.report import summary

    return _terminal_page(summary.report(answers, all_rows=all_rows))


def _terminal_page(document: Document) -> str:
    from fairaudit.report import terminal

    return terminal.render(document)


def _html(answers: Sequence[Answer], all_rows: bool) -> str:  # noqa: FBT001  # the renderers' signature
    from fairaudit.report import html

    return html.render(answers, all_rows=all_rows)


def _html_spelled(text: str, encoding: str) -> str:
    return text.encode(encoding, "xmlcharrefreplace").decode(encoding)


def _html_page(document: Document) -> str:
    from fairaudit.report import html

    return html.page(document)


def _json(answers: Sequence[Answer], all_rows: bool) -> str:  # noqa: ARG001, FBT001  # JSON has all rows
    from fairaudit.report import json

    return json.written(json.of_answers(answers))


def _json_spelled(text: str, encoding: str) -> str:  # noqa: ARG001  # ASCII is in every encoding
    import json as stdlib_json

    from fairaudit.report import json

    return json.written(stdlib_json.loads(text), ascii_only=True)


def _csv(answers: Sequence[Answer], all_rows: bool) -> str:  # noqa: ARG001, FBT001  # a table has all rows
    from fairaudit.report import csv

    return csv.render(answers)


def _csv_spelled(text: str, encoding: str) -> str:
    from fairaudit.report import csv

    return csv.spelled(text, encoding)


def _parquet(answers: Sequence[Answer], all_rows: bool) -> bytes:  # noqa: ARG001, FBT001  # the same
    from fairaudit.report import parquet

    return parquet.render(answers)


def _markdown(answers: Sequence[Answer], all_rows: bool) -> str:  # noqa: FBT001  # the renderers' signature
    from fairaudit.report import markdown

    return markdown.render(answers, all_rows=all_rows)


def _markdown_page(document: Document) -> str:
    from fairaudit.report import markdown

    return markdown.page(document)


def _github(answers: Sequence[Answer], all_rows: bool) -> str:  # noqa: ARG001, FBT001  # it has no rows
    from fairaudit.report import github

    return github.render(answers)


def _junit(answers: Sequence[Answer], all_rows: bool) -> str:  # noqa: ARG001, FBT001  # the same
    from fairaudit.report import junit

    return junit.render(answers)


FORMATS = (
    Format("terminal", (".txt",), _terminal, _terminal_page, tells_errors=False),
    Format("json", (".json",), _json, spelled=_json_spelled),
    Format("csv", (".csv",), _csv, spelled=_csv_spelled),
    Format("parquet", (".parquet",), _parquet, tells_errors=False),
    Format("html", (".html", ".htm"), _html, _html_page, spelled=_html_spelled),
    Format("markdown", (".md",), _markdown, _markdown_page),
    Format("github", (), _github),
    Format("junit", (".xml",), _junit),
)


def format_of(name: str) -> Format | None:
    """The format of that name."""
    return next((one for one in FORMATS if one.name == name), None)


def format_of_suffix(suffix: str) -> Format | None:
    """The format that a file's suffix means."""
    return next((one for one in FORMATS if suffix.lower() in one.suffixes), None)

"""Report formats: `FORMATS` lists them. A new format is a line there and a module here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from fairaudit.base.errors import UsageError, did_you_mean, list_known
from fairaudit.base.frozen import Frozen

if TYPE_CHECKING:
    from fairaudit.report.blocks import Document
    from fairaudit.result import Answer


class Format(Frozen):
    """A format: its name for `--format`, its suffixes, and the functions that write it.

    A function is named by its module in this folder, which is imported at its first call.
    `renderer` writes the report of answers (one, or several that become one report), as text or as
    bytes. `page_renderer` writes any other document; it is empty if the format cannot show prose.
    `encoder` replaces characters that the encoding of a stream lacks: a function, or an error
    handler of `str.encode`; bytes of a format with an `encoder` are UTF-8. `tells_errors`: if there
    is no result, stdout shows the error in this format. `has_appendix`: `--full` prints more.
    """

    name: str
    suffixes: tuple[str, ...]
    renderer: str
    page_renderer: str = ""
    encoder: str = ""
    tells_errors: bool = True
    has_appendix: bool = False

    @property
    def shows_pages(self) -> bool:
        """Whether it can show a document that is not an audit: a comparison, a single check."""
        return bool(self.page_renderer) or self.name == "json"

    def render(
        self, answers: Sequence[Answer], *, all_rows: bool, full: bool = False
    ) -> str | bytes:
        """The report of answers; `all_rows` prints long tables in full, `full` the appendix."""
        more = {"full": full} if self.has_appendix else {}
        rendered: str | bytes = _function(self.renderer)(answers, all_rows=all_rows, **more)
        return rendered

    @property
    def page(self) -> Callable[[Document], str] | None:
        """The renderer of documents other than audits; None if the format has none."""
        return _function(self.page_renderer) if self.page_renderer else None

    def encode_for(self, text: str, encoding: str) -> str:
        """A text in the characters of an encoding."""
        if "." not in self.encoder:
            return text.encode(encoding, self.encoder or "backslashreplace").decode(encoding)
        encoded: str = _function(self.encoder)(text, encoding)
        return encoded


FORMATS = (
    Format("terminal", (".txt",), "terminal.render_answers", "terminal.render", tells_errors=False),
    Format("json", (".json",), "json.render_answers", encoder="json.encode_for"),
    Format("csv", (".csv",), "export.render_csv", encoder="export.encode_csv_for"),
    Format("parquet", (".parquet",), "export.render_parquet", tells_errors=False),
    Format(
        *("html", (".html", ".htm"), "html.render", "html.page", "xmlcharrefreplace"),
        has_appendix=True,
    ),
    Format("markdown", (".md",), "markdown.render", "markdown.page"),
    Format("latex", (".tex",), "latex.render", encoder="replace", tells_errors=False),
    Format("github", (), "build_servers.render_github"),
    Format("junit", (".xml",), "build_servers.render_junit"),
    Format("sarif", (".sarif",), "build_servers.render_sarif", encoder="json.encode_for"),
)


def _function(name: str) -> Callable[..., Any]:
    """The function of this folder with the name `module.function`."""
    module, _, function = name.rpartition(".")
    loaded: Callable[..., Any] = getattr(import_module(f"{__name__}.{module}"), function)
    return loaded


def format_of(name: str) -> Format | None:
    """The format of that name."""
    return next((form for form in FORMATS if form.name == name), None)


def format_named(name: str) -> Format:
    """The format of that name; raises `UsageError` for an unknown name."""
    form = format_of(name)
    if form is None:
        known = [form.name for form in FORMATS]
        what = f"no format {name!r}{did_you_mean(str(name), known)}"
        raise UsageError(what, list_known(known))
    return form


def format_of_suffix(suffix: str) -> Format | None:
    """The format that a file's suffix means."""
    return next((form for form in FORMATS if suffix.lower() in form.suffixes), None)

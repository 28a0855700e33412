"""Report formats, listed in `FORMATS`. A new format needs a line in `FORMATS` and a module here."""

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

    A function is written as `module.function`. The module is in this folder, and is imported at
    the first call. `renderer` writes one report of all answers, as text or as bytes.
    `page_renderer` writes any other document; it is empty if the format cannot show prose.
    `encoder` replaces characters that an encoding does not have. It is a function, or an error
    handler of `str.encode`; bytes of a format with an `encoder` are UTF-8. If `tells_errors` is
    set, stdout shows errors in this format. If `has_appendix` is set, `--full` prints more.
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
        """Whether the format can show a document other than an audit, such as a comparison."""
        return bool(self.page_renderer) or self.name == "json"

    def render(
        self, answers: Sequence[Answer], *, all_rows: bool, full: bool = False
    ) -> str | bytes:
        """The report of answers; `all_rows` shows all rows of tables, `full` shows the appendix."""
        more = {"full": full} if self.has_appendix else {}
        rendered: str | bytes = _function(self.renderer)(answers, all_rows=all_rows, **more)
        return rendered

    @property
    def page(self) -> Callable[[Document], str] | None:
        """The renderer of documents other than audits; None if the format has none."""
        return _function(self.page_renderer) if self.page_renderer else None

    def encode_for(self, text: str, encoding: str) -> str:
        """The text; characters that the encoding does not have are replaced."""
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
    """The format with this name."""
    return next((form for form in FORMATS if form.name == name), None)


def format_named(name: str) -> Format:
    """The format with this name; raises `UsageError` for an unknown name."""
    form = format_of(name)
    if form is None:
        known = [form.name for form in FORMATS]
        what = f"no format {name!r}{did_you_mean(str(name), known)}"
        raise UsageError(what, list_known(known))
    return form


def format_of_suffix(suffix: str) -> Format | None:
    """The format for the suffix of a file name."""
    return next((form for form in FORMATS if suffix.lower() in form.suffixes), None)

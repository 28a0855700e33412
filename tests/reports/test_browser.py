"""The pages in a browser: silent, offline, accessible, in both schemes, wide and narrow."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pages import read, sample
from report_cases import EACH

from fairaudit import cli
from fairaudit.base.errors import NothingToAudit
from fairaudit.report import html
from fairaudit.report.blocks import Heading, Table
from fairaudit.report.diagnostics import diagnose_by_id
from fairaudit.result import Answer

pytestmark = pytest.mark.long

_MISSING = pytest.fail if os.environ.get("CI") else pytest.skip
"""In CI nothing is skipped."""
_RULES = """axe.configure({rules: [
    {id: 'color-contrast', selector: '*:not(svg):not(svg *)'}
]})"""
"""Axe cannot tell what lies behind the text of a picture: `test_html` computes its contrast."""
_RUN = "axe.run(document, {resultTypes: ['violations']})"
_WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
_WIDE, _NARROW = 1400, 400
_LOUD = {"error", "warning"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium of the system: none is ever downloaded."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        _MISSING("there is no chromium here: apt-get install chromium")
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415  # only where it is there
    except ImportError:
        _MISSING("playwright is not installed: pip install -e '.[test]'")
    with sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def axe() -> str:
    """The source of axe-core."""
    path = Path(os.environ.get("AXE_CORE", "axe.min.js"))
    if not path.is_file():
        _MISSING("AXE_CORE names no axe.min.js: npm install axe-core, and set it")
    return path.read_text("utf-8")


class Visit:
    """Opens pages from a file, and notes whatever they ask for or say."""

    def __init__(self, browser: Any, folder: Path) -> None:
        self.said: list[str] = []
        self._browser, self._folder = browser, folder
        self._contexts: list[Any] = []

    def __call__(self, page: str, width: int = _WIDE, scheme: str = "light", **more: Any) -> Any:
        """A tab with the page."""
        path = self._folder / "page.html"
        path.write_text(page, encoding="utf-8")
        return self.open(path, width, scheme, **more)

    def open(self, path: Path, width: int = _WIDE, scheme: str = "light", **more: Any) -> Any:
        """A tab with a page that is written already."""
        size = {"width": width, "height": 900}
        context = self._browser.new_context(
            viewport=size, color_scheme=scheme, offline=True, **more
        )
        self._contexts.append(context)
        tab = context.new_page()
        tab.route("**/*", self._refuse)
        tab.on("console", self._hear)
        tab.on("pageerror", lambda one: self.said.append(str(one)))
        tab.goto(path.as_uri())
        return tab

    def close(self) -> None:
        """Closes all tabs."""
        for context in self._contexts:
            context.close()

    def _hear(self, message: Any) -> None:
        if message.type in _LOUD:
            self.said.append(message.text)

    def _refuse(self, route: Any) -> None:
        if route.request.url.startswith("file:"):
            route.continue_()
        else:
            self.said.append(f"asked for {route.request.url}")
            route.abort()


@pytest.fixture
def visit(browser: Any, tmp_path: Path) -> Iterator[Visit]:
    """Opens pages; fails at the end if one asked for anything or said anything."""
    made = Visit(browser, tmp_path)
    yield made
    made.close()
    assert made.said == []


def _violations(tab: Any) -> list[str]:
    return [
        f"{one['id']}: {node['html'][:200]}"
        for one in tab.evaluate(_RUN)["violations"]
        for node in one["nodes"]
    ]


def _opened(tab: Any) -> str:
    """The text of a page with every fold open."""
    tab.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    return " ".join(tab.inner_text("body").split())


@pytest.mark.parametrize("name", EACH)
def test_a_page_is_accessible_wide_and_light_narrow_and_dark(
    name: str, visit: Visit, axe: str
) -> None:
    found = sample(name)
    tab = visit(found.page)
    tab.evaluate(axe)
    tab.evaluate(_RULES)
    assert _violations(tab) == []
    shown = _opened(tab)
    for finding in found.result.findings:
        assert finding.check.id in shown
        explanation = diagnose_by_id(found.result)[finding.check.id]
        for text in (explanation.headline, *(text for _, text in explanation.facts)):
            assert " ".join(text.split()) in shown
    tab.set_viewport_size({"width": _NARROW, "height": 900})
    tab.emulate_media(color_scheme="dark")
    assert tab.evaluate(_WIDER) == 0
    assert _violations(tab) == []


def test_the_other_widths_and_schemes_are_accessible_too(visit: Visit, axe: str) -> None:
    for width, scheme in ((_WIDE, "dark"), (_NARROW, "light")):
        tab = visit(sample("loans_subgroups").page, width, scheme)
        tab.evaluate(axe)
        tab.evaluate(_RULES)
        assert _violations(tab) == []


def test_the_page_of_an_error_is_accessible_and_its_carets_stand_below_what_they_mark(
    visit: Visit, axe: str
) -> None:
    told = "a.yaml:2:3: unknown\n  2 |   x: 1\n    |   ^"
    tab = visit(html.render([Answer("a.yaml", None, NothingToAudit(told))]), _NARROW, "dark")
    tab.evaluate(axe)
    tab.evaluate(_RULES)
    assert _violations(tab) == []
    assert tab.evaluate(_WIDER) == 0
    lines = tab.inner_text(".banner .verbatim").split("\n")
    assert lines[2].index("^") == lines[1].index("x")
    assert "mono" in tab.evaluate(
        "getComputedStyle(document.querySelector('.verbatim')).fontFamily"
    )


def test_what_a_page_asks_for_or_says_is_noticed(visit: Visit) -> None:
    page = sample("kidney_admissions").page
    link = '<link rel="stylesheet" href="https://example.org/x.css"></head>'
    visit(page.replace("</head>", link))
    assert visit.said.pop().startswith("Loading the stylesheet")  # its policy forbids it
    start = page.index("<meta http-equiv")
    visit((page[:start] + page[page.index(">", start) + 1 :]).replace("</head>", link))
    assert "asked for https://example.org/x.css" in visit.said
    visit.said.clear()


def test_axe_sees_what_is_wrong(visit: Visit, axe: str) -> None:
    tab = visit(sample("kidney_admissions").page.replace(' role="img"', "", 1))
    tab.evaluate("document.querySelector('h1').style.color = '#ddd'")
    tab.evaluate("document.querySelector('main').insertAdjacentHTML('beforeend', '<img>')")
    tab.evaluate(axe)
    tab.evaluate(_RULES)
    found = {one.split(":")[0] for one in _violations(tab)}
    assert {"color-contrast", "image-alt"} <= found


def test_a_page_is_all_there_without_scripts(visit: Visit) -> None:
    found = sample("loans")
    tab = visit(found.page, java_script_enabled=False)
    assert tab.locator("[role=img]").count() >= len(found.figures)
    assert tab.locator("main [role=img]").first.is_visible()
    assert tab.locator("thead button").count() == 0
    tab.locator("summary").first.click()
    assert tab.locator("details table").first.is_visible()
    shown = _opened(tab)
    assert all(finding.check.id in shown for finding in found.result.findings)


def test_the_colours_of_pictures_follow_the_scheme(visit: Visit) -> None:
    colour = "getComputedStyle(document.querySelector('svg text')).fill"
    page = sample("kidney_admissions").page
    light, dark = (visit(page, scheme=one).evaluate(colour) for one in ("light", "dark"))
    assert sum(map(int, light[4:-1].split(","))) < 300 < sum(map(int, dark[4:-1].split(",")))


def test_folded_tables_are_printed_and_paper_is_white(visit: Visit) -> None:
    tab = visit(sample("loans").page, scheme="dark")
    folded = tab.locator("main details table").first
    assert not folded.is_visible()
    tab.get_by_label("Print the appendix").check()
    tab.emulate_media(media="print", color_scheme="dark")
    assert folded.is_visible()
    assert tab.evaluate("getComputedStyle(document.documentElement).backgroundColor") == (
        "rgb(255, 255, 255)"
    )


def test_columns_are_sorted_by_key_and_numbers_as_numbers(visit: Visit) -> None:
    from fairaudit.report.blocks import Cell  # noqa: PLC0415  # beside what it makes

    rows = [[Cell(a), Cell(b)] for a, b in (("b", "1,000"), ("a", "20"), ("c", "undefined"))]
    tab = visit(html.page((Heading("x"), Table("t", ("name", "n"), rows, (False, True)))))
    column = tab.locator("thead th").nth(1)
    names = "[...document.querySelectorAll('tbody tr')].map((one) => one.cells[0].textContent)"
    column.locator("button").focus()
    tab.keyboard.press("Enter")
    assert tab.evaluate(names) == ["a", "b", "c"]
    assert column.get_attribute("aria-sort") == "ascending"
    tab.keyboard.press("Enter")
    assert tab.evaluate(names) == ["b", "a", "c"]


def test_rows_are_filtered_and_those_that_were_folded_are_among_them(visit: Visit) -> None:
    from fairaudit.report.blocks import Cell  # noqa: PLC0415  # beside what it makes

    rows = [[Cell(f"group {number}"), Cell(f"{number % 7}")] for number in range(40)]
    tab = visit(html.page((Heading("x"), Table("t", ("name", "n"), rows, (False, True)))))
    shown = tab.locator(".scroll").first.locator("tbody tr:visible")
    assert shown.count() == 12
    tab.get_by_role("searchbox").fill("GROUP 39")
    assert shown.all_inner_texts() == ["group 39\t4"]
    assert tab.locator("details").count() == 0
    tab.get_by_role("searchbox").fill("")
    assert shown.count() == 40


@pytest.mark.parametrize("name", [*EACH, "LL144"])
def test_a_page_is_printed_on_two_sheets_and_in_full_if_asked(name: str, visit: Visit) -> None:
    page = sample(name).page if name != "LL144" else _of_local_law_144()
    tab = visit(page)
    assert _sheets(tab) <= 2
    assert len(page.encode()) < 1_000_000
    if name == "loans":
        tab.get_by_label("Print the appendix").check()
        assert _sheets(tab) > 10
        assert _sheets(visit(page.replace("<body>", '<body class="full">', 1))) > 10


def _of_local_law_144() -> str:
    from fairaudit import audit  # noqa: PLC0415  # beside what it makes

    spec = Path("audit_specs/recipes/hiring_ll144.yaml")
    return html.render([Answer(str(spec), None, audit(spec))])


def _sheets(tab: Any) -> int:
    return len(re.findall(rb"/Type\s*/Page\b", tab.pdf(format="A4", prefer_css_page_size=True)))


def test_the_index_of_a_batch_leads_to_its_reports(
    visit: Visit, axe: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("exports").mkdir()
    for day, hired in enumerate(("1010", "1100", "1110", "0110")):
        rows = "".join(f"{'aabb'[at]},{one}\n" for at, one in enumerate(hired))
        Path(f"exports/day {day}.csv").write_text("who,hired\n" + 20 * rows)
    Path("exports/<b>bad.csv").write_text("who,hired\na\n")
    Path("spec.yaml").write_text(
        "columns: {protected: [who], decision: {column: hired, positive: 1}}\n"
        "metrics: [{metric: demographic_parity_difference, fail: {above: 0.9}}]\n"
    )
    assert cli.run_line(["run", "spec.yaml", "--data", "exports", "-o", "reports/", "-q"]) == 2
    tab = visit.open(tmp_path / "reports" / "index.html")
    tab.evaluate(axe)
    tab.evaluate(_RULES)
    assert _violations(tab) == []
    assert tab.locator("svg").count() >= 1
    links = tab.locator("td a, th a")
    assert links.all_inner_texts() == [
        "<b>bad.csv",
        "day 1.csv",
        *(f"day {at}.csv" for at in (0, 2, 3)),
    ]
    for at, verdict in ((0, "ERROR"), (1, "FAIL"), (2, "PASS")):
        links.nth(at).click()
        assert verdict in tab.inner_text("body").upper()
        tab.evaluate(axe)
        tab.evaluate(_RULES)
        assert _violations(tab) == []
        tab.go_back()


def test_a_page_without_sections_is_as_wide_as_it_may_be(visit: Visit) -> None:
    table = Table("One", ("a", "b"), [], (False, True))
    for document in ((Heading("x"), table), (Heading("x"), table, Heading("y"), table)):
        main = visit(html.page(document)).locator("main").bounding_box()
        assert main["width"] > _WIDE / 2


def test_a_hostile_page_runs_nothing_and_is_no_wider(visit: Visit) -> None:
    from test_html import hostile  # noqa: PLC0415  # the same levels

    tab = visit(hostile(), _NARROW)
    assert tab.evaluate(_WIDER) == 0
    assert tab.locator("img").count() == 0
    assert "<script>alert(1)</script>" in read(hostile()).text

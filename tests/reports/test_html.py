"""The page: well-formed, complete, inert, self-contained; pictures that agree with the counts."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import ROOT
from pages import Element, elements, read, sample, tree_of
from report_cases import EACH, GOLDEN, GOLDENS

import fairaudit
from fairaudit.base.errors import NothingToAudit
from fairaudit.report import FORMATS, checks, content, html, numbers
from fairaudit.report.blocks import (
    Cell,
    Entries,
    Facts,
    Figure,
    Heading,
    Paragraph,
    Table,
    Tone,
)
from fairaudit.report.diagnostics import diagnose, diagnose_by_id
from fairaudit.report.html import plots
from fairaudit.report.pictures import (
    MOST_ROWS,
    Intervals,
    Line,
    Lines,
    Point,
)
from fairaudit.result import Answer, AuditResult

_LOADS = ("src", "href", "xlink:href", "action", "data", "poster", "srcset")


def _page(result: AuditResult) -> str:
    return html.render([Answer("spec.yaml", None, result)])


def _plain(words: str) -> str:
    return " ".join(words.split())


@pytest.mark.parametrize("name", EACH)
def test_a_page_is_well_formed_small_and_needs_nothing_else(name: str) -> None:
    page = sample(name).page
    all_elements = elements(tree_of(name))
    ids = [one.attributes["id"] for one in all_elements if "id" in one.attributes]
    assert len(ids) == len(set(ids))
    for one in all_elements:
        for key in ("aria-labelledby", "aria-describedby"):
            assert set(one.attributes.get(key, "").split()) <= set(ids)
        for key in _LOADS:
            if one.tag == "a" and not one.attributes["href"].startswith("#"):
                _assert_leads_where_it_says(one)
                continue
            assert one.attributes.get(key, "#").startswith("#"), one.attributes
            if key == "href" and key in one.attributes:
                assert one.attributes[key][1:] in ids
        assert "style" not in one.attributes, "the policy of the page forbids it"
        assert not any(key.startswith("on") for key in one.attributes)
    (style,) = tree_of(name).all("style")
    assert "url(" not in style.words
    assert "@import" not in style.words
    assert not {one.tag for one in all_elements} & {"link", "img", "iframe", "object", "image"}
    assert len(page.encode()) < 1_500_000
    (script,) = tree_of(name).all("script")
    assert not re.search("NaN|Infinity", page.replace(script.words, ""))


def _assert_leads_where_it_says(link: Element) -> None:
    """A link is no load: it is followed by hand, to the address that is read, and tells nothing."""
    assert link.attributes == {"href": link.words, "rel": "noreferrer"}
    assert link.words.startswith("https://")


def test_sources_are_links_without_the_full_stop_behind_them() -> None:
    links = [one.words for one in tree_of("loans").all("a")]
    assert "https://arxiv.org/abs/1610.02413" in links
    addresses = [one for one in links if one.startswith("http")]
    assert not [one for one in addresses if one.endswith((".", ",", ")"))]


@pytest.mark.parametrize(
    "words",
    [
        "javascript:alert(1)",
        "http://plain.example/",
        'https://a.example/"onclick="x',
        "https://user@evil.example/",
        "https://",
        "https://раypal.example/",
    ],
)
def test_what_is_no_plain_address_is_no_link(words: str) -> None:
    assert "<a" not in html.linked(words)


@pytest.mark.long
@pytest.mark.parametrize("name", EACH)
def test_a_page_says_all_that_the_report_says(name: str) -> None:
    found = sample(name)
    text = tree_of(name).text
    for block in content.document(found.result, all_rows=True):
        match block:
            case Heading("Checks") | Entries(is_titled=True):
                continue  # the list of checks and the findings tell it in their form
            case Heading() | Paragraph():
                told = block.text.rstrip(".").split(". ")
            case Facts():
                told = [part for pair in block.pairs for part in pair]
            case Entries() if block.rows[0][0] == checks.verdict_cell(found.result):
                continue  # so does the banner
            case Entries():
                told = [part for cell, words in block.rows for part in (cell.text, words)]
            case Table():
                told = [*block.header, block.more, *(c.text for row in block.rows for c in row)]
            case Figure():
                told = [block.title, block.description, block.note]
        for words in told:
            assert _plain(words) in text
    for finding in found.result.findings:
        assert finding.check.id in text
        explanation = diagnose_by_id(found.result)[finding.check.id]
        for words in (explanation.headline, *(words for _, words in explanation.facts)):
            assert _plain(words) in text
    banner = next(one for one in tree_of(name).all("p") if "banner" in one.attributes["class"])
    verdict = checks.verdict_cell(found.result).text if found.result.findings else "No limits"
    assert banner.text.startswith(verdict)


@pytest.mark.parametrize("name", EACH)
def test_tables_have_captions_scopes_and_a_region_to_scroll_in(name: str) -> None:
    whole = elements(tree_of(name))
    regions = [one for one in whole if one.attributes.get("class") == "scroll"]
    assert len(regions) == len(tree_of(name).all("table")) > 0
    labels = [one.attributes["aria-label"] for one in regions]
    assert len(labels) == len(set(labels))
    for region in regions:
        assert region.attributes["tabindex"] == "0"
        (table,) = region.all("table")
        assert table.all("caption")[0].text
        assert all(one.attributes["scope"] in {"row", "col"} for one in table.all("th"))
        wide = {len(row.all("th") + row.all("td")) for row in table.all("tr")}
        assert len(wide) == 1
    levels = [int(one.tag[1]) for one in whole if re.fullmatch(r"h\d", one.tag)]
    assert levels[0] == 1
    assert {2} <= set(levels[1:]) <= {2, 3}
    assert levels[1] == 2


@pytest.mark.long
def test_equal_results_are_equal_bytes_in_another_process_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FAIRAUDIT_ROUTE", "lazy")  # as of the samples
    code = (
        "import sys, fairaudit; from fairaudit.result import Answer; "
        "from fairaudit.report import html; "
        "r = fairaudit.audit('audit_specs/kidney_admissions.yaml'); "
        "sys.stdout.buffer.write(html.render([Answer('x', None, r)]).encode())"
    )
    other = subprocess.run(
        [sys.executable, "-OO", "-c", code], cwd=ROOT, capture_output=True, check=True
    ).stdout
    assert other.decode() == sample("kidney_admissions").page


def _outline(name: str) -> str:
    """A page in a few lines: what it has in which order, and the data of its pictures."""
    lines: list[str] = []
    for one in elements(tree_of(name)):
        match one.tag:
            case "h1" | "h2":
                lines += ["", f"{one.tag} {one.text}"]
            case "summary":
                lines.append(f"  folded: {one.text}")
            case "caption":
                lines.append(f"  table: {one.text}")
            case "thead":
                lines.append(f"    {' | '.join(c.text for c in one.all('th'))}")
            case "tbody":
                rows = one.all("tr")
                lines += [f"    {len(rows)} rows, the first {rows[0].text}"] if rows else []
            case "figcaption":
                lines.append(f"  picture: {one.text}")
            case "dl":
                lines.append(f"  {len(one.all('dd'))} {one.attributes['class']}")
            case "div" if "picture" in one.attributes.get("class", "").split():
                lines += _drawn(one)
            case "p" if "hidden" in one.attributes:
                lines.append(f"    {one.text}")
            case "p":
                lines.append(f"  {one.attributes.get('class', 'p')}: {one.text[:70]}")
    return "\n".join(line.rstrip() for line in lines).strip() + "\n"


def _drawn(picture: Element) -> list[str]:
    """The texts of a picture, and where its points stand, in the order they are seen."""
    found = [f"    {picture.text}"[:400]]
    points = [
        f"{one.attributes['x']} {one.attributes['y']}"
        for one in picture.all("svg")
        if any(child.tag == "path" for child in one.children if isinstance(child, Element))
    ]
    return [*found, f"    points: {', '.join(points)}"[:400]] if points else found


@pytest.mark.parametrize("name", GOLDEN["html.txt"])
def test_pages_and_their_pictures_in_brief(name: str, golden: Callable[[Path, str], None]) -> None:
    text = _outline(name).replace(sample(name).result.provenance.version, "VERSION")
    golden(GOLDENS / f"{name}.html.txt", text)


def test_lines_of_an_error_stand_below_each_other_in_signs_of_one_width() -> None:
    told = "a.yaml:2:3: unknown\n  2 |   x: 1\n    |   ^"
    tree = read(html.render([Answer("a.yaml", None, NothingToAudit(told))]))
    (lines,) = [one for one in tree.all("span") if one.attributes.get("class") == "verbatim"]
    assert lines.words.replace("\n", "") == told.replace("\n", "")
    assert len(lines.all("br")) == 2


def test_a_statement_is_strong_up_to_its_first_colon() -> None:
    cell = Cell("FAIL", Tone.BAD)
    rows = [(cell, "Ratio, <by> sex: 0.7: < 0.8"), (cell, "no colon")]
    tree = read(html.page((Heading("x"), Paragraph("y"), Entries(rows, is_titled=True))))
    assert [one.words for one in tree.all("strong")] == ["Ratio, <by> sex:"]
    assert [one.words for one in tree.all("dd")] == [words for _, words in rows]


def _spec(**more: Any) -> dict[str, Any]:
    return {
        "columns": {
            "protected": ["group"],
            "decision": {"column": "y", "positive": "yes"},
            "count": "n",
        },
        "metrics": [{"metric": "demographic_parity_ratio", "fail": {"below": 0.8}}],
        **more,
    }


HOSTILE = (
    "<script>alert(1)</script>",
    "</title></style></svg><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "{{ 7 * 7 }} {% raw %}",
    "a.b[0]",
    "datum.x",
    "https://example.org/x.js",
    "javascript:alert(1)",
    "&lt;b&gt; &amp; ]]>",
    "\x1b[31mred\x1b[0m\x07",
    "one\ntwo",
    "\u202etfel ot thgir",
    "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd",
    "\u0645\u0631\u062d\u0628\u0627",
    "👩\u200d👩\u200d👧 🏳\ufe0f",
    "x" * 10_000,
    "'single' `back` \\d+ $1",
    "NaN",
    "null",
    "2020-01-01",
    " ",
)


@cache
def hostile() -> str:
    """A page of levels that would be markup, commands, expressions, or endless."""
    rows = [(level, y, 40 + 10 * i) for i, level in enumerate(HOSTILE) for y in ("yes", "no")]
    frame = pl.DataFrame(rows, schema=["group", "y", "n"], orient="row")
    return _page(fairaudit.audit(_spec(title="<b>bold</b> & {{ title }}"), frame))


def test_a_level_is_never_markup() -> None:
    hostile_page = hostile()
    tree = read(hostile_page)
    assert len(tree.all("script")) == 1
    assert len(tree.all("title")) == 1
    assert not tree.all("img")
    assert not tree.all("b")
    assert not [o for o in elements(tree) if any(key.startswith("on") for key in o.attributes)]
    assert tree.all("h1")[0].text == "Audit: <b>bold</b> & {{ title }}"
    assert "49" not in tree.all("h1")[0].text


def test_a_level_is_legible_whatever_is_in_it() -> None:
    hostile_page = hostile()
    tree = read(hostile_page)
    text = tree.text
    for level in HOSTILE[:9]:
        assert _plain(level) in text
    assert r"\x1b[31mred\x1b[0m\x07" in text
    assert "\x1b" not in hostile_page
    assert "\u202e" not in hostile_page
    assert r"\u202etfel ot thgir" in text
    assert re.search(r"x{20,}…x+#[0-9a-f]{6}", text)
    assert "y…yyy" in (endless := html.page((Heading("x"), Paragraph("y" * 10_000))))
    assert "(10,000 characters)" in endless
    assert "x" * 300 not in hostile_page
    told = {one.text for one in tree.all("bdi")}
    assert {HOSTILE[12], HOSTILE[13]} <= told
    assert HOSTILE[14] in text
    in_pictures = {
        span.text
        for one in tree.all("div")
        if one.attributes.get("role") == "img"
        for span in one.all("span")
    }
    assert {"a.b[0]", "datum.x", "javascript:alert(1)", "NaN", "null", "2020-01-01"} <= in_pictures
    assert len(hostile_page.encode()) < 1_500_000


def test_suppressed_counts_are_in_no_picture() -> None:
    rows = [
        (group, y, n) for group, n in (("a", 200), ("b", 5), ("c", 4), ("d", 300)) for y in "yn"
    ]
    frame = pl.DataFrame(rows, schema=["group", "y", "n"], orient="row")
    spec = _spec(suppress_below=11)
    spec["columns"]["decision"]["positive"] = "y"
    result = fairaudit.audit(spec, frame)
    figures = [b for b in content.document(result) if isinstance(b, Figure)]
    for figure in figures:
        if isinstance(figure.picture, Intervals):
            hidden = [row for row in figure.picture.rows if numbers.SUPPRESSED in row.text]
            assert hidden
            assert all(math.isnan(row.value) and row.low is None for row in hidden)
    assert numbers.SUPPRESSED in read(_page(result)).text


@pytest.mark.long
def test_many_groups_are_cut_and_counted() -> None:
    rows = [(f"g{i:04}", y, 50 + i) for i in range(3_000) for y in ("yes", "no")]
    frame = pl.DataFrame(rows, schema=["group", "y", "n"], orient="row")
    result = fairaudit.audit(_spec(), frame)
    figures = [b for b in content.document(result) if isinstance(b, Figure)]
    for figure in figures:
        assert isinstance(figure.picture, Intervals)
        assert len(figure.picture.rows) <= MOST_ROWS + 1
        words = [row.label for row in figure.picture.rows if row.label.endswith("more groups")]
        shown = len(figure.picture.rows) - 1
        assert words == [f"{3_000 - shown:,} more groups"]
    page = _page(result)
    assert "more rows are not on this page: -o report.json has them all" in page
    assert len(page.encode()) < 3_000_000


def test_a_long_table_shows_its_first_rows_and_folds_the_others() -> None:
    rows = [[Cell(f"row {i}"), Cell(str(i))] for i in range(30)]
    table = Table("Numbers", ("name", "number"), rows, (False, True))
    tree = read(html.page((Heading("Page"), table)))
    shown, folded = (len(one.all("tr")) - 1 for one in tree.all("table"))
    assert (shown, folded) == (12, 18)
    (details,) = tree.all("details")
    assert "open" not in details.attributes
    assert details.all("summary")[0].text == "18 more rows of “Numbers”"


def test_any_document_is_a_page() -> None:
    document = (
        Heading("A <page>"),
        Paragraph("Words.", Tone.MUTED),
        Heading("Same"),
        Facts([("", "and 3 files more"), ("name", "value")]),
        Heading("Same"),
        Entries([(Cell("ok", Tone.GOOD), "fine"), (Cell("no", Tone.BAD), "not fine")]),
        Table("", ("", "b"), [], (False, True)),
        Figure("Trend", Lines("run", "ε", [Line("a", [Point("1", 2), Point("2", 1)])])),
    )
    tree = read(html.page(document))
    assert [one.text for one in tree.all("h2")] == ["Same", "Same"]
    ids = [one.attributes["id"] for one in elements(tree) if "id" in one.attributes]
    assert len(ids) == len(set(ids))
    assert "Words." in tree.text
    assert len([one for one in tree.all("div") if one.attributes.get("role") == "img"]) == 1
    assert read(html.page(())).all("h1")[0].text == "fairaudit"


def test_an_error_is_a_page_and_several_answers_are_a_summary() -> None:
    error = Answer("broken.yaml", None, NothingToAudit("nobody <is> left", "look at the filter"))
    tree = read(html.render([error]))
    (banner,) = [one for one in tree.all("p") if "banner" in one.attributes.get("class", "")]
    assert banner.text.startswith("nothing nobody <is> left")
    answers = [Answer("kidney.yaml", None, sample("kidney_admissions").result), error]
    tree = read(html.render(answers))
    assert tree.all("h1")[0].text == "Summary"
    text = tree.text
    for words in ("kidney.yaml", "broken.yaml", "FAIL", "NOTHING", "nobody <is> left"):
        assert words in text


def test_the_suffix_means_the_format_and_stdout_takes_any_encoding() -> None:
    (form,) = [one for one in FORMATS if one.name == "html"]
    assert {".html", ".htm"} == set(form.suffixes)
    assert form.encode_for("ε é", "ascii") == "&#949; &#233;"


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    high, low = sorted(map(_luminance, (one, other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_colours_can_be_read_and_told_from_the_card(scheme: int) -> None:
    """WCAG 2.2: 4.5 for texts, 3 for what is drawn."""
    colours = {name: pair[scheme] for name, pair in plots.COLOURS.items()}
    for text in ("ink", "muted", "accent", "good", "warn", "bad"):
        assert _contrast(colours[text], colours["card"]) >= 4.5, text
        assert _contrast(colours[text], colours["page"]) >= 4.5, text
    for tone in ("good", "warn", "bad"):
        assert _contrast(colours[tone], colours[f"{tone}-back"]) >= 4.5, tone
        assert _contrast(colours["ink"], colours[f"{tone}-back"]) >= 4.5, tone
    for at in (*range(plots.SHADES), "none"):
        assert _contrast(colours[f"on-shade-{at}"], colours[f"shade-{at}"]) >= 4.5, at
    for drawn in ("accent", "aside", "reference", *(f"series-{at}" for at in range(plots.SERIES))):
        assert _contrast(colours[drawn], colours["card"]) >= 3, drawn


@pytest.mark.parametrize(("groups", "small", "drawn"), [(25, 0, 25), (26, 0, 24), (300, 40, 24)])
def test_a_picture_of_many_groups_shows_both_ends_and_counts_the_rest(
    groups: int, small: int, drawn: int
) -> None:
    """Of each group 400 people, of whom so many are selected as its number; small ones have 3."""
    counts = [(f"g{number:03}", 400, number + 1) for number in range(groups)]
    counts += [(f"s{number:03}", 3, 1) for number in range(small)]
    rows = [(name, y, n) for name, of, ones in counts for y, n in ((1, ones), (0, of - ones))]
    people = pl.DataFrame(rows, schema=["branch", "y", "people"], orient="row")
    spec = {
        "columns": {"protected": ["branch"], "decision": "y", "count": "people"},
        "groups": {"min_size": 100},
        "metrics": [{"metric": "demographic_parity_difference", "fail": {"above": 0.01}}],
    }
    figure = diagnose(fairaudit.audit(spec, people))[0].figure
    assert figure is not None
    assert isinstance(figure.picture, Intervals)
    labels = [row.label for row in figure.picture.rows]
    others = groups + small - drawn
    words = [f"{others} more groups"] if others else []
    names = [f"branch={name}" for name, _, _ in counts[:groups]]
    assert labels == names[: drawn - drawn // 2] + words + names[groups - drawn // 2 :]
    assert [row.label for row in figure.picture.rows if row.strong] == [names[0], names[-1]]
    assert all(word in figure.description for word in words)

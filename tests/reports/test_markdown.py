"""Markdown: what is said comes back from a parser, a name is only text, a page has an end."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from report_cases import (
    EACH,
    GOLDEN,
    GOLDENS,
    HOSTILE,
    KINDS,
    NAMES,
    hostile,
    kind,
    many,
    sample,
    stable,
)

from fairaudit.base.errors import DataError, Place
from fairaudit.base.frozen import replace
from fairaudit.judge import Status
from fairaudit.judge.checks import About
from fairaudit.metrics import CATALOGUE
from fairaudit.metrics.comparisons import COMPARISONS
from fairaudit.report import checks, content, markdown, markup
from fairaudit.report.blocks import (
    Cell,
    Document,
    Entries,
    Facts,
    Figure,
    Heading,
    Paragraph,
    Table,
    Tone,
)
from fairaudit.report.diagnostics import Level, diagnose
from fairaudit.report.markdown import Code, CommentBlock
from fairaudit.report.pictures import Intervals
from fairaudit.report.provenance import link_to_line
from fairaudit.result import Answer, AuditResult

ENDLESS = 10**9
OURS = re.compile(r"(<details( open)?>\n<summary>[^<]*</summary>|</details>)\n")
SOURCES = {one.source.url for one in (*CATALOGUE, *COMPARISONS)}


def commonmark() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("table")


def gfm() -> MarkdownIt:
    """GitHub's dialect: tables, strikethrough, and addresses that become links by themselves."""
    parser = MarkdownIt("gfm-like", {"html": True})
    assert parser.linkify is not None
    parser.linkify.set({"fuzzy_link": False})  # GitHub links no name without a scheme or www
    return parser


PARSERS = pytest.mark.parametrize("parser", [commonmark(), gfm()], ids=["commonmark", "gfm"])


def said(tokens: Iterable[Token]) -> Iterator[str]:
    """The text of inline tokens, as a reader sees it."""
    for one in tokens:
        is_break = one.type == "hardbreak" or one.content == "<br>"
        yield "\n" if is_break and one.type != "text" else one.content


def seen(inline: Token) -> str:
    """A text without the signs that nobody sees."""
    text = "".join(said(inline.children or ()))
    for sign in (markup.JOINER, markup.ISOLATE, markup.ISOLATED):
        text = text.replace(sign, "")
    return text.replace(markup.KEPT_SPACE, " ")


def read_back(text: str, parser: MarkdownIt) -> tuple[list[list[list[str]]], list[str]]:
    """The tables of a page, header first, and all other texts in their order."""
    tables: list[list[list[str]]] = []
    others = []
    within = False
    for one in parser.parse(text):
        within = one.type == "table_open" or (within and one.type != "table_close")
        if one.type == "table_open":
            tables.append([])
        elif one.type == "fence":
            others.append(one.content.removesuffix("\n"))
        elif one.type == "tr_open":
            tables[-1].append([])
        elif one.type == "inline" and within:
            tables[-1][-1].append(seen(one))
        elif one.type == "inline":
            others.append(seen(one))
        elif one.type == "html_block":
            others += re.findall(r"<summary>([^<]*)</summary>", one.content)
    return tables, others


def comment_of(result: AuditResult, *, all_rows: bool = False) -> list[CommentBlock]:
    """What a comment says of a result: its head, and the report in full behind it."""
    _, *full = content.document(result, all_rows=all_rows)
    return [*markdown.head(result), Heading(markdown.IN_SENTENCES), *full]


def expected(document: Iterable[CommentBlock]) -> tuple[list[list[list[str]]], list[str]]:
    """The same of the blocks, without what says how they look."""
    signs = {Tone.GOOD: "✓ ", Tone.WARN: "△ ", Tone.BAD: "✗ "}
    tables, others = [], []
    for block in document:
        match block:
            case Heading() | Paragraph():
                others.append(block.text)
            case Code():
                others.append(block.text)
            case Facts():
                others += [f"{name}: {text}" if name else text for name, text in block.pairs]
            case Entries():
                others += [f"{signs.get(w.tone, '')}{w.text} {text}" for w, text in block.rows]
            case Table():
                rows = [[cell.text for cell in row] for row in block.rows]
                tables.append([list(block.header), *rows])
                others += [block.caption] if block.caption else []
                others += [block.more] if block.more else []
    return tables, others


def rendered(result: AuditResult, most: int = markdown.MOST) -> str:
    return markdown.render([Answer("spec.yaml", None, result)], most=most)


@pytest.mark.parametrize("name", GOLDEN["md"])
def test_markdown_reports(name: str, golden: Callable[[Path, str], None]) -> None:
    golden(GOLDENS / f"{name}.md", stable(rendered(sample(name)), sample(name)))


@pytest.mark.long
@PARSERS
@pytest.mark.parametrize("name", EACH)
def test_every_table_and_every_statement_comes_back(name: str, parser: MarkdownIt) -> None:
    result = sample(name)
    assert read_back(rendered(result, ENDLESS), parser) == expected(comment_of(result))


@pytest.mark.parametrize("name", KINDS)
def test_whatever_the_verdict_the_report_says_what_the_result_does(name: str) -> None:
    result = kind(name)
    text = rendered(result)
    assert read_back(text, commonmark()) == expected(comment_of(result))
    _, others = read_back(text, commonmark())
    verdict = checks.verdict_cell(result).text if result.findings else "No limits are set"
    assert others[1].lstrip("✓✗△ ").startswith(verdict)
    marks = [one.upper() for one in result.tally if result.tally[one] and one is not Status.PASS]
    if "skipped" not in name:
        assert all(re.search(rf"^(✗|△) {mark} ", "\n".join(others), re.MULTILINE) for mark in marks)


def spans(text: str, parser: MarkdownIt) -> Iterator[Token]:
    for one in parser.parse(text):
        yield one
        yield from one.children or ()


@PARSERS
def test_a_level_is_never_markup(parser: MarkdownIt) -> None:
    text = rendered(hostile(), ENDLESS)
    allowed = {"text", "inline", "hardbreak", "strong_open", "strong_close", "html_block"}
    allowed |= {"html_inline", "fence"}
    allowed |= {"heading_open", "heading_close", "paragraph_open", "paragraph_close"}
    allowed |= {
        f"{part}_{end}" for part in ("bullet_list", "list_item") for end in ("open", "close")
    }
    parts = ("table", "thead", "tbody", "tr", "th", "td")
    allowed |= {f"{part}_{end}" for part in parts for end in ("open", "close")}
    found = list(spans(text, parser))
    links = [one.attrGet("href") for one in found if one.type == "link_open"]
    assert set(links) <= SOURCES
    assert {one.type for one in found} <= allowed | {"link_open", "link_close"}
    for one in found:
        if one.type == "html_block":
            assert OURS.fullmatch(one.content), one.content
        if one.type == "html_inline":
            assert one.content == "<br>"
    (title,) = [one for one in found if one.type == "heading_open"]
    assert title.tag == "h2"


@PARSERS
def test_what_github_reads_in_text_is_broken_in_it(parser: MarkdownIt) -> None:
    triggers = r"@\w|#\d|(?i:gh-\d)|:[\w+-]*[a-z][\w+-]*:|://|(?i:www)\.|\$\$?[^\s$]+\$"
    plain = []
    depth = 0
    text = rendered(hostile(), ENDLESS)
    for one in spans(text, parser):
        depth += (one.type == "link_open") - (one.type == "link_close")
        if one.type in {"text", "html_block"} and not depth:
            plain.append(one.content)
    broken = [one for one in plain for found in [re.search(triggers, one)] if found]
    # A dollar sign is math in the source of a page, not in its text.
    assert [one for one in broken if "$" not in one] == []
    assert "$" not in text
    assert re.search(triggers, "@all")  # the pattern finds what is not broken


@PARSERS
def test_a_hostile_name_stays_legible(parser: MarkdownIt) -> None:
    rows = [[Cell(name)] for name in HOSTILE]
    document = (
        Heading("[title](javascript:x)\n@all"),
        Table("", ("<b>name</b>",), rows, (False,)),
        Facts([("<b>by</b>", "@octocat, see #1\n# heading")]),
    )
    ((header, *cells),), others = read_back(markdown.page(document), parser)
    assert [header[0], *(cell for (cell,) in cells)] == [
        "<b>name</b>",
        *(shown.replace(r"\n", "\n") for shown in HOSTILE.values()),
    ]
    assert others == [r"[title](javascript:x)\n@all", "<b>by</b>: @octocat, see #1\n# heading"]


def test_a_long_name_keeps_its_ends() -> None:
    long = f"<{'x' * 10_000}>"
    (((shown,),),), _ = read_back(markdown.page((Table("", (long,), [], (False,)),)), commonmark())
    assert re.fullmatch("<x+ … 10,002 characters in all … x+>", shown)
    assert len(shown) <= markup.LONGEST_NAME


def test_writing_from_right_to_left_does_not_move_the_numbers_behind_it() -> None:
    text = markdown.page((Paragraph("race=שלום עולם 37.2 % (1/3), sex=אבא × b"),))
    assert text == "race=\u2068שלום עולם\u2069 37.2 % (1/3), sex=\u2068אבא\u2069 × b\n"


TEXTS = st.text(
    st.one_of(
        st.sampled_from("|`*_~#[]()<>&!\\-+=:.1$@ \"'/{}^aב"),
        st.characters(exclude_categories=["C", "Z"]),
    ),
    max_size=40,
)


@given(TEXTS, TEXTS)
@example("a\\", "|")
@example(" ", "**")
def test_any_text_comes_back_from_a_cell(first: str, second: str) -> None:
    table = Table("", (first, "n"), [[Cell(second, Tone.BAD), Cell("1")]], (False, True))
    for parser in (commonmark(), gfm()):
        tables, others = read_back(markdown.page((table,)), parser)
        assert tables == [[[first, "n"], [second, "1"]]]
        assert others == []


@given(st.lists(TEXTS, min_size=1, max_size=4), TEXTS)
@example(["a", "---"], "")
@example(["a", ":-"], "")
@example(["1. a", "", "> b", "    c"], "+ x")
def test_any_text_comes_back_from_a_statement(lines: list[str], word: str) -> None:
    text = "\n".join(lines)
    document = (Paragraph(text), Entries([(Cell(f"w{word}"), text)]), Facts([(f"n{word}", text)]))
    for parser in (commonmark(), gfm()):
        _, others = read_back(markdown.page(document), parser)
        assert others == [text, f"w{word} {text}", f"n{word}: {text}"]


def test_a_line_of_a_statement_is_no_rule_of_a_table_without_pipes() -> None:
    # GitHub's parser reads one; the parsers of these tests want a pipe.
    assert markdown.page((Paragraph("a\n:-"),)) == "a\\\n\\:-\n"


def test_columns_of_numbers_are_aligned_to_the_right() -> None:
    table = Table("", ("a", "b"), [[Cell("x"), Cell("1")]], (False, True))
    styles = [one.attrGet("style") for one in commonmark().parse(markdown.page((table,)))]
    assert [one for one in styles if one] == ["text-align:left", "text-align:right"] * 2


def test_pictures_are_left_to_formats_that_draw() -> None:
    picture = Figure("title", Intervals("unit", ()))
    assert markdown.page((Paragraph("a"), picture)) == "a\n"


def test_the_first_section_is_open_and_the_others_are_folded() -> None:
    document = (Heading("One"), Paragraph("a"), Heading("<Two>"), Paragraph("b"))
    assert markdown.page(document) == (
        "## One\n\na\n\n<details>\n<summary>&lt;Two&gt;</summary>\n\nb\n\n</details>\n"
    )


@pytest.mark.parametrize("name", EACH)
def test_a_report_fits_a_comment(name: str) -> None:
    answers = [Answer("spec.yaml", None, sample(name))]
    text = markdown.render(answers, all_rows=True)
    assert len(text) <= 65_536
    assert "Left out" not in text


def test_what_does_not_fit_is_named_and_no_failure_is_among_it() -> None:
    result = many(60)
    text = rendered(result)
    assert len(text.encode()) <= 65_536
    first, *_ = text.split("<details>")
    assert first.count("| **FAIL** |") == 60
    small = rendered(result, 24_000)
    assert len(small.encode()) <= 24_000
    assert small.split("<details>")[0] == first
    assert "Left out, as this page has room for 24,000 bytes: " in small
    assert f"<summary>{markdown.IN_SENTENCES}</summary>" not in small
    assert "<summary>Provenance</summary>" in small


@pytest.mark.long
def test_more_failures_than_fit_are_counted() -> None:
    text = rendered(many(500))
    assert len(text.encode()) <= 65_536
    assert "500 checks: 500 failed" in text
    first, *_ = text.split("<details>")
    shown = first.count("| **FAIL** |")
    left_out = re.search(r"^([\d,]+) more statements do not fit here", text, re.MULTILINE)
    assert left_out is not None
    assert shown > 100
    assert shown + int(left_out[1]) == 500
    # The table is whole as far as it goes, and what stands behind it is there.
    ((_, *rows),), _ = read_back(first, commonmark())
    assert len(rows) == shown
    assert "more:" in first


def test_rows_that_could_not_fit_are_not_written_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a million rows took a minute to write, to be thrown away."""
    result = sample("loans")
    most = 8 * len(result.rates) - 1
    short = markdown.render([Answer("spec", None, result)], all_rows=False, most=most)
    asked = []
    document = content.document

    def watched(found: AuditResult, *, all_rows: bool = False, data: str | None = None) -> Document:
        asked.append(all_rows)
        return document(found, all_rows=all_rows, data=data)

    monkeypatch.setattr(content, "document", watched)
    assert markdown.render([Answer("spec", None, result)], all_rows=True, most=most) == short
    assert asked == [False]
    markdown.render([Answer("spec", None, result)], all_rows=True, most=100 * most)
    assert asked == [False, True]


def test_several_answers_begin_with_the_worst() -> None:
    answers = [
        Answer("pass.yaml", None, kind("passed")),
        Answer("fail.yaml", "a|b.csv", kind("failed")),
        Answer("bad.yaml", None, DataError("no column `x`", "see *there*")),
    ]
    text = markdown.render(answers, all_rows=True)
    tables, others = read_back(text, commonmark())
    assert [row[:2] for row in tables[0][1:]] == [
        ["bad.yaml", "ERROR"],
        ["fail.yaml a|b.csv", "FAIL"],
        ["pass.yaml", "PASS"],
    ]
    assert "✗ error bad.yaml: no column `x`\n  hint: see *there*" in others
    heads = re.findall(r"<details( open)?>\n<summary>(\S+ \S+|\S+): spec</summary>", text)
    assert heads == [(" open", "fail.yaml a|b.csv"), ("", "pass.yaml")]
    assert text.count("<details") == text.count("</details>")
    parts = [expected(comment_of(one.result, all_rows=True)) for one in answers[1::-1]]  # type: ignore[arg-type]
    assert tables[1:] == [table for tables_of, _ in parts for table in tables_of]


def test_of_several_answers_no_whole_report_is_left_out_before_a_part_of_one() -> None:
    answers = [Answer(f"{at}.yaml", None, kind("failed")) for at in range(12)]
    text = markdown.render(answers, most=16_000)
    assert len(text.encode()) <= 16_000
    for at in range(12):
        assert f"<summary>{at}.yaml: spec</summary>" in text
    assert re.search(r"Left out, .*: .* and \d+ more\.", text)


def test_an_error_alone_is_a_page() -> None:
    text = markdown.render([Answer("s.yaml", None, DataError("no `x`", "y"))])
    assert read_back(text, commonmark()) == ([], ["Audit: s.yaml", "✗ error no `x`\n  hint: y"])


def test_equal_results_make_equal_pages() -> None:
    assert rendered(kind("failed")) == rendered(replace(kind("failed")))


def words_before_the_table(text: str) -> int:
    """Where there is no table, those of the title and the verdict."""
    before = text.partition("\n| ")[0] if "\n| " in text else "".join(text.split("\n\n")[:2])
    return len(re.findall(r"\w\S*", before))


def test_a_comment_says_what_to_do_next() -> None:
    texts = [getattr(block, "text", "") for block in markdown.head(sample("loans"))]
    (step,) = [text for text in texts if text.startswith("What to do next: ")]
    assert "Find the cause of each gap over a limit (2 checks)." in step
    assert sum("next" in text for text in texts) == 1
    (commands,) = [text for text in texts if "fairaudit show r.json 1" in text]
    assert "\nmore:     fairaudit run audit_specs/loans.yaml -o r.json\n" in commands


@pytest.mark.parametrize("name", [*EACH, *KINDS])
def test_few_words_stand_before_the_table(name: str) -> None:
    result = sample(name) if name in NAMES else kind(name)
    first, *_ = rendered(result).split("<details>")
    assert words_before_the_table(first) <= 60
    is_open = [one for one in result.findings if one.status is not Status.PASS]
    assert ("| status |" in first) or not is_open


@pytest.mark.parametrize("name", EACH)
def test_the_table_has_what_is_not_passed_and_links_to_its_line(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = sample(name)
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://github.example")
    monkeypatch.setenv("GITHUB_REPOSITORY", "o/r")
    monkeypatch.setenv("GITHUB_SHA", "0123abc")
    first, *_ = rendered(result).split("<details>")
    tables, _ = read_back(first, commonmark())
    rows = [row for row in diagnose(result) if row.level is not Level.PASS]
    shown = tables[0][1:] if tables and tables[0][0][0] == "status" else []
    assert [row[0] for row in shown] == [row.finding.status.upper() for row in rows]
    about = [(row.code, row.headline, dict(row.lines).get("outcome")) for row in rows]
    assert [row[1] for row in shown] == ["\n".join(filter(None, texts)) for texts in about]
    assert [row[3].split("\n")[0] for row in shown] == [row.value for row in rows]
    links = [
        one.attrGet("href")
        for one in spans(first, commonmark())
        if one.type == "link_open" and "github.example" in str(one.attrGet("href"))
    ]
    top = f"https://github.example/o/r/blob/0123abc/audit_specs/{name}.yaml"
    places = [row.at for row in rows]
    assert links == [f"{top}#L{place.line}" for place in places if place is not None]


@pytest.mark.parametrize(
    ("server", "file", "link"),
    [
        ("https://github.com", "a b/ä(1).yaml", "a%20b/%C3%A4%281%29.yaml#L3"),
        ("javascript:alert(1)//", "a.yaml", ""),
        ("http://github.com", "a.yaml", ""),
        ("https://me:hunter2@github.com", "a.yaml", ""),
        ("https://github.com", "../a.yaml", ""),
        ("https://github.com", "/etc/a.yaml", ""),
        ("https://github.com", "-", ""),
        ("", "a.yaml", ""),
    ],
)
def test_links_are_those_of_files_in_the_repository(
    server: str, file: str, link: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_SERVER_URL", server)
    monkeypatch.setenv("GITHUB_REPOSITORY", "o/r")
    monkeypatch.setenv("GITHUB_SHA", "0123abc")
    start = "https://github.com/o/r/blob/0123abc/"
    assert link_to_line(Place(file, 3, 1)) == (f"{start}{link}" if link else "")


def test_the_name_and_the_owner_of_a_check_stand_in_the_table() -> None:
    result = kind("failed")
    (finding,) = result.findings
    about = About("Nobody | under 45 %", "agreed *with* the union", "@people")
    named = replace(finding, check=replace(finding.check, about=about))
    text = rendered(replace(result, findings=(named,)))
    for parser in (commonmark(), gfm()):
        ((heads, row), *_), others = read_back(text, parser)
        assert heads[-1] == "owner"
        assert row[-1] == "@people"
        assert row[1].split("\n")[1].startswith("Nobody | under 45 %: ")
        assert any(re.search(r"why: +agreed \*with\* the union", other) for other in others)
    assert "owner" not in rendered(result).split("<details>")[0]


@given(TEXTS)
@example("```")
@example("````text\n~~~")
@example("</details>")
def test_any_text_comes_back_from_a_fence(text: str) -> None:
    for parser in (commonmark(), gfm()):
        (token,) = parser.parse(markup.code(text))
        assert (token.type, token.content) == ("fence", f"{text}\n")

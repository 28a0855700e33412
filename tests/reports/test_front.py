"""The top of a page: what decides, every check, the subsets; whatever was judged."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import polars as pl
import pytest
from pages import Element, elements, read, sample, tree_of
from report_cases import EACH
from test_pictures import drawings

import fairaudit
from fairaudit.judge import Status
from fairaudit.report import html, markdown, remarks, summary, terminal
from fairaudit.report.blocks import Table
from fairaudit.report.diagnostics import diagnose
from fairaudit.report.rate_figures import limit_rules
from fairaudit.result import Answer, AuditResult


def by_class(tree: Element, name: str) -> list[Element]:
    """The elements of a class."""
    return [one for one in elements(tree) if name in one.attributes.get("class", "").split()]


def page(result: AuditResult) -> Element:
    """The page of a result as a tree."""
    return read(html.render([Answer("spec.yaml", None, result)]))


def people(rates: dict[str, tuple[int, int]]) -> pl.DataFrame:
    """Groups with so many selected of so many people."""
    rows = [
        (group, word, n)
        for group, (selected, total) in rates.items()
        for word, n in (("yes", selected), ("no", total - selected))
    ]
    return pl.DataFrame(rows, schema=["group", "y", "n"], orient="row")


def audit(rates: dict[str, tuple[int, int]], metrics: list[Any], **more: Any) -> AuditResult:
    """An audit of such groups."""
    columns = {
        "protected": ["group"],
        "decision": {"column": "y", "positive": "yes"},
        "count": "n",
    }
    return fairaudit.audit({"columns": columns, "metrics": metrics, **more}, people(rates))


RATIO = {"metric": "demographic_parity_ratio", "fail": {"below": 0.8}}
UNEQUAL = {"a": (50, 100), "b": (20, 100)}


@cache
def failed() -> AuditResult:
    """Two groups of which one is selected less often."""
    return audit(UNEQUAL, [RATIO])


@pytest.mark.long
@pytest.mark.parametrize("name", EACH)
def test_the_headline_comes_before_all_else_and_every_check_is_in_the_list(name: str) -> None:
    result, tree = sample(name).result, tree_of(name)
    diagnostics = diagnose(result)
    lists = by_class(tree, "list")
    assert len(lists) == bool(diagnostics)
    for diagnostic in diagnostics:
        assert " ".join(diagnostic.limit.split()) in lists[0].text
    rows = [row for one in lists for body in one.all("tbody") for row in body.all("tr")]
    assert len(rows) == len(result.findings)
    if diagnostics:
        headline, *_ = by_class(tree, "headline")
        if result.verdict == "fail":
            assert headline.text == " ".join(diagnostics[0].headline.split())
    text = tree.all("body")[0].text
    verdict = result.verdict.upper() if diagnostics else "No limits are set"
    order = [text.index(word) for word in (verdict, "Provenance")]
    assert order == sorted(order)


@pytest.mark.parametrize("name", EACH)
def test_a_row_of_the_list_leads_to_its_finding(name: str) -> None:
    tree = tree_of(name)
    findings = {one.attributes["id"]: one for one in tree.all("article")}
    assert len(findings) == len(sample(name).result.findings)
    bodies = [body for one in by_class(tree, "list") for body in one.all("tbody")]
    for row in (row for body in bodies for row in body.all("tr")):
        (link,) = row.all("a")
        finding = findings[link.attributes["href"][1:]]
        assert row.all("td")[0].text in finding.all("h3")[0].text


def test_the_pair_that_is_compared_is_bold_and_the_limit_is_drawn() -> None:
    drawn = drawings(tree_of("loans"))[0]
    strong = [one.text for one in by_class(drawn, "name") if "strong" in one.attributes["class"]]
    assert strong == ["female × Black", "male × Black"]
    assert [one.text for one in by_class(drawn, "limit") if one.tag == "text"] == [
        "fail below 48.3 %",
        "warn below 54.3 %",
    ]


@pytest.mark.parametrize(
    ("entry", "label"),
    [
        ({"metric": "impact_ratio", "warn": {"below": 1}}, "warn below 13.3 %"),
        ({"metric": "demographic_parity_difference", "warn": {"above": 0}}, "warn below 13.3 %"),
        (
            {
                "metric": "selection_rate",
                "compare": "ratio",
                "reference": "M",
                "warn": {"above": 1},
            },
            "warn above 13.3 %",
        ),
        (
            {
                "metric": "selection_rate",
                "compare": "difference",
                "reference": "M",
                "warn": {"below": 0},
            },
            "warn below 13.3 %",
        ),
    ],
)
def test_a_limit_at_parity_is_drawn_on_the_side_of_worse_values(
    entry: dict[str, Any], label: str
) -> None:
    """13.3 % is 400 of 3,000: the rate that the others are compared with."""
    spec = {
        "columns": {
            "protected": ["sex"],
            "decision": {"column": "hired", "positive": "1"},
            "count": "n",
        },
        "metrics": [entry],
    }
    sizes = {"sex": [*"FFMM"], "hired": [*"1010"], "n": [300, 2700, 400, 2600]}
    (finding,) = fairaudit.audit(spec, sizes).findings
    assert [rule.label for rule in limit_rules(finding, "selection_rate")] == [label]


def test_what_passed_is_folded_and_what_did_not_is_seen() -> None:
    (box,) = by_class(tree_of("loans"), "list")
    (fold,) = box.all("details")
    assert "open" not in fold.attributes
    assert fold.all("summary")[0].text == "6 checks passed"
    shown = [one for one in box.children if isinstance(one, Element) and one.tag == "div"]
    assert [len(one.all("tbody")[0].all("tr")) for one in shown] == [4]


def test_a_spec_without_limits_shows_the_widest_gaps() -> None:
    tree = page(audit(UNEQUAL, ["selection_rate"]))
    (headline,) = by_class(tree, "headline")
    assert "b is selected 30.0 points less often than a" in headline.text.replace("group=", "")
    assert not tree.all("article")
    assert by_class(tree, "banner")[0].text.startswith("No limits are set")
    (front,) = by_class(tree, "answer")
    rows = [[cell.text for cell in row.all("td")] for row in front.all("tr")]
    assert rows[1][:3] == ["20/100", "20.0 %", "[13.3, 28.9]"]
    assert "NONE" not in tree.text


def test_a_page_has_what_failed_then_the_picture_then_what_to_do_then_curves() -> None:
    """COMPAS fails twice, and has curves of two scores."""
    tree, result = tree_of("compas_scores"), sample("compas_scores").result
    texts = [one.text for one in by_class(tree, "headline")]
    assert texts == [" ".join(one.headline.split()) for one in diagnose(result)]
    ids = {one.attributes.get("id"): one for one in tree.all("section")}
    inside = [*elements(tree)]
    curves, *_ = by_class(tree, "curves")
    order = [
        inside.index(one)
        for one in (
            by_class(tree, "banner")[0], *by_class(tree, "headline"), drawings(tree)[0],
            ids["next"], ids["notices"], curves,
        )
    ]  # fmt: skip
    assert order == sorted(order)


def test_every_mark_of_a_picture_is_explained_below_it_and_no_other_one() -> None:
    """Of loans two limits and people of unknown group; of COMPAS one limit."""
    notes = {
        name: by_class(by_class(tree_of(name), "front")[0], "note")[0].text
        for name in ("loans", "compas_scores")
    }
    fails, warns = "Dashed red line: beyond it the check fails", "the check warns"
    for text in notes.values():
        assert "Blue: a group and its 95 % interval. Bold: the groups that are compared." in text
        assert fails in text
    assert warns in notes["loans"]
    assert "hollow: not compared" in notes["loans"]
    assert warns not in notes["compas_scores"]
    assert "hollow" not in notes["compas_scores"]
    (strip,) = by_class(tree_of("loans"), "strip")
    assert "the stronger the colour, the farther from parity" in strip.text


def test_both_limits_differ_in_colour_and_dashes() -> None:
    tree = tree_of("loans")
    (style,) = tree.all("style")
    lines = re.findall(
        r"\.picture line\.(fail|warn)\{stroke:([^;]*);stroke-dasharray:([^}]*)\}", style.words
    )
    (fail, red, long), (warn, amber, mixed) = lines
    assert (fail, warn) == ("fail", "warn")
    assert red != amber
    assert long != mixed
    kinds = [one.attributes["class"] for one in drawings(tree)[0].all("line")]
    assert {"limit fail", "limit warn"} <= {*kinds}


def test_a_page_says_what_to_do_next_and_what_is_for_whom() -> None:
    tree = tree_of("loans")
    (steps,) = [one for one in tree.all("section") if one.attributes.get("id") == "next"]
    texts = [one.text for one in steps.all("li")]
    assert texts[0] == "Find the cause of each gap over a limit (2 checks)."
    assert texts[1].startswith("Before you act on gaps by age, compare people with the same branch")
    assert texts[2].startswith("Correct the cause, or record the reason as a waiver; then")
    # A gap that strata explain is first compared within them.
    sections = tree_of("berkeley_admissions").all("section")
    (steps,) = [one for one in sections if one.attributes.get("id") == "next"]
    first, *_ = steps.all("li")
    assert "compare people with the same department" in first.text
    heads = [one.text for one in tree.all("h2")]
    order = [heads.index(word) for word in ("For the auditor", "Findings", "For the record")]
    assert order == sorted(order)
    assert heads.index("Account of all rows") < order[-1] < heads.index("Definitions")


def test_what_to_do_next_follows_from_what_was_found() -> None:
    small = {"metric": "demographic_parity_ratio", "fail": {"below": 0.8, "significant": True}}
    for rates, metrics, more, words in (
        (UNEQUAL, ["selection_rate"], {}, "so the result has no verdict, and the exit code is 0"),
        ({"a": (5, 10), "b": (3, 10)}, [small], {}, "Collect more data: for 1 check"),
        (UNEQUAL, [RATIO], {}, "Find the cause of each gap over a limit (1 check)."),
        ({"a": (50, 100), "b": (0, 0)}, [RATIO], {}, "Read why 1 check could not be evaluated"),
    ):
        result = audit(rates, metrics, **more)
        assert words in " ".join(remarks.steps(result, diagnose(result)))


def test_the_comparison_with_new_data_is_on_the_page_of_a_pass_alone() -> None:
    """The first screen and the comment of a pass have nothing to do next."""
    result = audit({"a": (50, 100), "b": (49, 100)}, [RATIO])
    words = "Compare new data with this result"
    (steps,) = [one for one in page(result).all("section") if one.attributes.get("id") == "next"]
    assert words in steps.text
    screen = terminal.draw(result, 100)
    assert words not in " ".join(cell.text for line in screen for cell in line.cells)
    assert words not in "".join(getattr(block, "text", "") for block in markdown.head(result))


def test_the_top_explains_its_words_and_marks_no_box_by_the_sign_of_a_compared_group() -> None:
    limit = (
        "limit: the value beyond which a check fails or warns; spec line: the line of the spec "
        "(the file that defines this audit) that sets the limit"
    )
    for metrics in (
        [RATIO],
        ["selection_rate"],  # no limit is set
        [{"metric": "selection_rate", "fail": {"below": 0.01}}],
    ):
        top = page(audit(UNEQUAL, metrics))
        assert "selected: y = yes (good for people)" in by_class(top, "banner")[0].text
        is_explained = limit in [one.text for one in by_class(top, "place")]
        assert is_explained == (metrics != ["selection_rate"])
    (strip,) = by_class(tree_of("loans"), "strip")
    boxes = [box.text for box in strip.all("li")]
    assert [box for box in boxes if "checked" in box] == ["gender × race 0.616 (checked)"]
    assert "●" not in strip.text


def test_a_group_that_passes_is_not_to_be_reviewed() -> None:
    """16/20 against 18/20 passes at 0.89; 4 people whose group is missing could turn it."""
    rows = {"g": [*"aabb", None], "d": [1, 0, 1, 0, 0], "n": [16, 4, 18, 2, 4]}
    columns = {"protected": ["g"], "decision": {"column": "d", "positive": 1}, "count": "n"}
    spec = {"version": 1, "columns": columns, "metrics": [RATIO]}
    result = fairaudit.audit({**spec, "missing": {"protected": "aside"}}, rows)
    (finding,) = result.findings
    assert finding.status is Status.PASS
    assert finding.missing is not None
    assert finding.missing.turns
    text = " ".join(remarks.steps(result, diagnose(result)))
    assert "Review" not in text
    assert "Complete the missing groups and outcomes" in text


def test_a_pass_is_open_and_has_its_picture() -> None:
    tree = page(audit({"a": (50, 100), "b": (49, 100)}, [RATIO]))
    assert by_class(tree, "banner")[0].text.startswith("PASS")
    (fold,) = by_class(tree, "list")[0].all("details")
    assert "open" in fold.attributes
    assert by_class(drawings(tree)[0], "name")


def test_a_pass_leads_with_the_check_closest_to_its_limit() -> None:
    near = {"metric": "demographic_parity_difference", "fail": {"above": 0.011}}
    tree = page(audit({"a": (50, 100), "b": (49, 100)}, [RATIO, near]))
    (headline,) = by_class(tree, "headline")
    assert "fails above 1.1 points" in headline.text
    assert "the closest to its limit" in by_class(tree, "kicker")[0].text


def test_one_group_alone_is_a_page() -> None:
    tree = page(audit({"a": (50, 100)}, [RATIO]))
    assert by_class(tree, "word")[0].text != Status.PASS.upper()
    assert tree.all("article")


@pytest.mark.long
def test_200_checks_are_listed_eight_are_seen_and_few_are_drawn() -> None:
    limits = [0.8 - number / 1000 for number in range(200)]
    metrics = [
        {**RATIO, "id": f"c{number}", "fail": {"below": limit}}
        for number, limit in enumerate(limits)
    ]
    result = audit(UNEQUAL, metrics)
    assert len(result.findings) == 200
    text = html.render([Answer("spec.yaml", None, result)])
    tree = read(text)
    (box,) = by_class(tree, "list")
    assert [len(one.all("tr")) for one in box.all("tbody")] == [8, 192]
    assert box.all("summary")[0].text == "192 more to look at"
    in_findings = [one for one in tree.all("article") if drawings(one)]
    assert len(in_findings) == 23
    assert len(tree.all("article")) == 200
    assert len(text.encode()) < 1_500_000


def test_suppressed_numbers_are_not_at_the_top_either() -> None:
    rates = {"a": (90, 200), "b": (3, 5), "c": (1, 4), "d": (140, 300)}
    result = audit(rates, [RATIO], suppress_below=11)
    (front,) = by_class(page(result), "front")
    assert not {"3/5", "60.0", "1/4", "25.0"} & set(front.text.replace("%", " ").split())


def test_a_name_of_a_check_is_text() -> None:
    named = {**RATIO, "name": "<b>Hiring</b>", "why": "<i>law</i>", "owner": "R&D"}
    tree = page(audit(UNEQUAL, [named]))
    assert "<b>Hiring</b>" in by_class(tree, "headline")[0].text
    assert not tree.all("b")
    labels = [one.text for one in by_class(tree, "labelled")[0].all("dt")]
    assert {"why", "owner"} <= set(labels)


def test_definitions_are_folded_one_by_one() -> None:
    folds = by_class(tree_of("loans"), "definition")
    assert len(folds) >= 4
    assert all("open" not in one.attributes and one.all("p")[0].text for one in folds)


def test_a_fragment_needs_nothing_and_two_of_them_share_no_id() -> None:
    first, second = (html.fragment(failed()) for _ in range(2))
    trees = [read(text) for text in (first, second)]
    ids = [
        {one.attributes["id"] for one in elements(tree) if "id" in one.attributes} for tree in trees
    ]
    assert ids[0]
    assert not ids[0] & ids[1]
    for tree in trees:
        (style,) = tree.all("style")
        assert "url(" not in style.words
        assert style.words.strip().startswith(".fairaudit{")
        assert not tree.all("script") + tree.all("a") + tree.all("link")
        assert by_class(tree, "banner")[0].text.startswith("FAIL")
        for one in drawings(tree):
            assert one.attributes["aria-labelledby"] in ids[trees.index(tree)]


def test_the_index_says_what_is_worst_in_each_file() -> None:
    passed = audit({"a": (50, 100), "b": (49, 100)}, [RATIO])
    answers = [Answer("s.yaml", name, one) for name, one in (("x", failed()), ("y", passed))]
    (table,) = [
        block
        for block in summary.document(answers, links=["x.html", "y.html"], has_headlines=True)
        if isinstance(block, Table) and "verdict" in block.header
    ]
    assert tuple(table.header[:3]) == ("audit", "verdict", "what is worst")
    rows = [[cell.text for cell in row[:3]] for row in table.rows]
    assert rows == [["x", "FAIL", diagnose(failed())[0].headline], ["y", "PASS", ""]]
    assert [row[0].href for row in table.rows] == ["x.html", "y.html"]

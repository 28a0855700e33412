"""What reports say of numbers: no sentence claims more than the numbers beside it.

Numbers that sentences must hold are worked out by hand, or read from the papers.
"""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest
from evidence_specs import YES, Rate

import fairaudit
from fairaudit.answers import Answer
from fairaudit.report import content, format_of, listing, sentences, summary, terminal
from fairaudit.report import json as report_json
from fairaudit.result import AuditResult


def told(result: AuditResult, *, all_rows: bool = False) -> str:
    """The report in one line."""
    return " ".join(terminal.render(content.document(result, all_rows=all_rows)).split())


def audited(
    cells: dict[tuple[str, ...], Rate],
    protected: tuple[str, ...],
    *metrics: Any,
    **more: Any,
) -> AuditResult:
    """The audit of groups with so many selected of so many people; names beyond are strata."""
    given = [f"s{at}" for at in range(len(next(iter(cells))) - len(protected))]
    rows = [
        {**dict(zip((*protected, *given), levels, strict=True)), "d": selected, "n": count}
        for levels, (a, n) in cells.items()
        for selected, count in ((1, a), (0, n - a))
        if count
    ]
    columns: dict[str, Any] = {
        "protected": list(protected),
        "decision": {"column": "d", **YES},
        "count": "n",
    }
    if given:
        columns["strata"] = given
    columns |= more.pop("columns", {})
    spec = {"columns": columns, "metrics": list(metrics), **more}
    return fairaudit.audit(spec, pl.DataFrame(rows))


# Differential fairness -----------------------------------------------------------------------

CROSSED: dict[tuple[str, ...], Rate] = {
    ("f", "x"): (30, 100), ("f", "y"): (40, 100), ("m", "x"): (50, 100), ("m", "y"): (60, 100),
}  # fmt: skip
EPSILON = "differential_fairness"


def test_epsilon_has_its_interval_and_a_scale_and_is_no_promise() -> None:
    """ε = ln(.6 / .3) = 0.6931: four fifths are ln 1.25 = 0.22, a fair coin ln 3 = 1.10."""
    result = audited(CROSSED, ("sex", "team"), EPSILON)
    text = told(result)
    (entry,) = [row.entries[0] for row in result.lattice if len(row.by) == 2]
    low, high = entry.estimate.low, entry.estimate.high
    assert f"ε by sex × team is 0.6931 [{low:.4f}, {high:.4f}] (no smoothing)" in text
    assert "four fifths is 0.22, randomized response with a fair coin 1.10" in text
    assert "for every non-negative utility of the outcome alone (equation 5)" in text
    assert "no guarantee within strata" in text
    assert "high-privacy" not in text


def test_subsets_are_bounded_where_all_count_the_same_people() -> None:
    text = told(audited(CROSSED, ("sex", "team"), EPSILON))
    assert "Every subset is within 1.3863, twice as much (Theorem 3.2)" in text
    assert "none exceeds 0.6931 itself" in text


@pytest.mark.parametrize(
    ("cells", "metric", "more", "why"),
    [
        (CROSSED, {"metric": EPSILON, "smoothing": 1000}, {}, "the rates are smoothed"),
        ({**CROSSED, ("m", "tiny"): (0, 3)}, EPSILON, {"groups": {"min_size": 10}}, "not compared"),
        ({**CROSSED, ("m", "?"): (0, 90)}, EPSILON, {}, "some levels are not known"),
    ],
)
def test_theorem_3_2_is_told_only_where_it_holds(
    cells: dict[tuple[str, ...], Rate], metric: Any, more: dict[str, Any], why: str
) -> None:
    """Else a subset's rate is no average of the rates that ε is made of."""
    columns = {"protected": {"sex": {}, "team": {"unknown": ["?"]}}}
    result = audited(cells, ("sex", "team"), metric, columns=columns, **more)
    text = told(result)
    assert "Every subset is within" not in text
    assert "It bounds no subset's ε (Theorem 3.2 does not apply)" in text
    assert why in result.epsilons[0].unbounded
    assert not result.epsilons[0].bounds_subsets


# Beyond a limit without evidence -------------------------------------------------------------

THIN: dict[tuple[str, ...], Rate] = {("a",): (6, 20), ("b",): (11, 20)}
"""A gap of .25 with z = .25 / sqrt(.425 · .575 / 10) = 1.599, p = .1098."""
GAP = "demographic_parity_difference"


def unproven(on: str, **more: Any) -> AuditResult:
    """A gap beyond a limit that asks for significance, and has none."""
    return audited(THIN, ("g",), {"metric": GAP, on: {"above": 0.1, "significant": True}, **more})


@pytest.mark.parametrize(("on", "word"), [("warn", "passed"), ("fail", "warned")])
def test_a_value_beyond_its_limit_without_evidence_is_not_cleared(on: str, word: str) -> None:
    result = unproven(on)
    (finding,) = result.findings
    assert (str(finding.status), finding.not_cleared) == (word[:4], True)
    sentence = sentences.answer(finding)
    assert " > 0.1, p = .1098 (χ²)" in sentence
    assert "beyond the limit, not significant: not cleared" in sentence
    assert "these numbers cannot tell it from no difference" in sentence


@pytest.mark.parametrize("on", ["warn", "fail"])
@pytest.mark.parametrize("name", ["terminal", "markdown", "html", "junit", "github"])
def test_every_format_says_that_a_check_is_not_cleared(on: str, name: str) -> None:
    form = format_of(name)
    assert form is not None
    rendered = form.render([Answer("spec.yaml", None, unproven(on))], False)  # noqa: FBT003  # the signature of the renderers
    assert isinstance(rendered, str)
    text = " ".join(rendered.split())
    assert "beyond the limit, not significant: not cleared" in text
    assert "chance may explain" not in text
    if name in {"terminal", "markdown", "html"}:
        assert "; 1 not cleared" in text
    if name == "junit":
        assert '<property name="not_cleared" value="1"' in text


def test_every_summary_counts_the_checks_that_are_not_cleared() -> None:
    result = unproven("warn")
    assert result.not_cleared == 1
    assert sentences.tally(result).endswith("; 1 not cleared")
    tree = json.loads(report_json.render(result))
    assert tree["summary"]["not_cleared"] == 1
    assert [row["not_cleared"] for row in tree["checks"]] == [True]
    assert report_json.read(tree).not_cleared == 1
    answers = [Answer("one.yaml", None, result), Answer("two.yaml", None, cleared())]
    text = terminal.render(summary.document(answers))
    assert "not cleared" in text.splitlines()[4]
    listed = [listing.Listed(one, {}) for one in answers]
    assert [row["not_cleared"] for row in listing.index(listed)["audits"]] == [1, 0]
    assert ",not_cleared," in listing.summary_csv(listed)


def cleared() -> AuditResult:
    """A value within its limit."""
    return audited(THIN, ("g",), {"metric": GAP, "fail": {"above": 0.5, "significant": True}})


def test_a_limit_that_fails_in_doubt_is_told_beside_the_one_that_warns() -> None:
    (finding,) = unproven("fail", warn={"above": 0.05}).findings
    assert (str(finding.status), finding.not_cleared) == ("warn", True)
    said = "beyond the limit that fails (above 0.1, if significant), without that evidence"
    assert said in sentences.answer(finding)


def test_what_fails_or_lies_within_is_no_open_question() -> None:
    assert cleared().not_cleared == 0
    sure = audited({("a",): (60, 200), ("b",): (110, 200)}, ("g",),
                   {"metric": GAP, "fail": {"above": 0.1, "significant": True}})  # fmt: skip
    assert (str(sure.verdict), sure.not_cleared) == ("fail", 0)


# People --------------------------------------------------------------------------------------


def test_people_are_short_of_parity_and_of_the_limit_of_the_check_and_of_nothing_else() -> None:
    """12/40 and 48/80 are half of everybody: 20 - 12; a gap of .1 takes 20 of 40 selected."""
    cells: dict[tuple[str, ...], Rate] = {("a",): (12, 40), ("b",): (48, 80)}
    (finding,) = audited(cells, ("g",), {"metric": GAP, "fail": {"above": 0.1}}).findings
    (text,) = sentences.in_practice(finding)
    assert (
        text == "g=a: 8.0 people short of parity (the rate of both together), 8 short of the limit"
    )
    (finding,) = audited(cells, ("g",), {"metric": GAP, "fail": {"above": 0.2}}).findings
    (text,) = sentences.in_practice(finding)
    assert text.endswith(", 4 short of the limit"), ".4 of 40 are 16"

"""What reports say of numbers: no sentence claims more than the numbers beside it.

Numbers that sentences must hold are worked out by hand, or read from the papers.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from statistics import NormalDist
from typing import Any

import polars as pl
import pytest
from commands import run
from conftest import about, sentence_of
from evidence_specs import YES, Rate, of_rates

import fairaudit
from fairaudit import codec
from fairaudit.evidence import methods
from fairaudit.metrics import CATALOGUE
from fairaudit.report import (
    checks,
    content,
    explain,
    export,
    finding_facts,
    format_of,
    metric_titles,
    remarks,
    summary,
    terminal,
)
from fairaudit.report import json as report_json
from fairaudit.result import Answer, AuditResult
from fairaudit.result.rows import definition


def told(result: AuditResult, *, all_rows: bool = False) -> str:
    """The report in one line."""
    return " ".join(terminal.render(content.document(result, all_rows=all_rows)).split())


ABSENCE = re.compile(
    r"gone after|mostly gone|such gap|(?:gap|difference|disparity) (?:remains|vanishes|is left)|"
    r"\b(?:is|are) explained by|explains the|no gaps in strata are opposite|"
    r"seen only where|(?:rates|groups) are (?:equal|alike) \(p",
)
"""Words that take a large p-value for a proof that there is nothing."""


def test_no_sentence_takes_a_large_p_for_a_proof_that_there_is_no_gap() -> None:
    """Over every text of the modules that write sentences."""
    folders = [Path(fairaudit.__file__).parent / name for name in ("report", "judge", "evidence")]
    found, number = [], 0
    for path in sorted(file for folder in folders for file in folder.rglob("*.py")):
        nodes = [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
        documentation = [node.value for node in nodes if isinstance(node, ast.Expr)]
        for node in nodes:
            if not isinstance(node, ast.Constant) or node in documentation:
                continue
            number += 1
            found += ABSENCE.findall(" ".join(str(node.value).split()))
    assert not found
    assert number > 1000


def test_a_gap_with_a_large_p_after_adjustment_is_not_called_gone() -> None:
    """Rates of 39/92 against 109/209 and 0/8 against 30/1,791: 8.9 points lower, p = .1130."""
    cells: dict[tuple[str, ...], Rate] = {
        ("A", "1"): (109, 209), ("A", "2"): (30, 1791), ("B", "1"): (39, 92), ("B", "2"): (0, 8)
    }  # fmt: skip
    text = told(audited(cells, ("g",), "selection_rate"), all_rows=True)
    assert "overall gap not left g=A against g=B" in text
    assert "no clear gap: 8.9 points higher [-1.9, +19.6], p = .1130" in text


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
    """ε = ln(.6 / .3) = 0.6931: four fifths are ln 1.25 = 0.22, a third ln 3 = 1.10."""
    result = audited(CROSSED, ("sex", "team"), EPSILON)
    text = told(result)
    (entry,) = [row.entries[0] for row in result.lattice if len(row.by) == 2]
    low, high = entry.estimate.low, entry.estimate.high
    assert f"ε by sex × team is 0.6931 [{low:.4f}, {high:.4f}] (no smoothing)" in text
    assert "a ratio of four fifths gives ε = 0.22, a ratio of a third ε = 1.10" in text
    assert "depends on the outcome alone and is never negative" in text
    assert "not a guarantee within" in text
    assert "high-privacy" not in text


def test_subsets_are_bounded_where_all_count_the_same_people() -> None:
    text = told(audited(CROSSED, ("sex", "team"), EPSILON))
    assert "For groups by fewer columns, ε is at most twice as large (Theorem 3.2), 1.3863" in text
    assert "in this data it is at most 0.6931" in text


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
    assert "For groups by fewer columns, ε is at most" not in text
    assert "ε can be more than twice as large" in text
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
def test_a_value_beyond_its_limit_without_evidence_is_marked(on: str, word: str) -> None:
    result = unproven(on)
    (finding,) = result.findings
    assert (str(finding.status), finding.not_enough_evidence) == (word[:4], True)
    sentence = sentence_of(result, finding)
    assert "; value: 25.0 points, above 10 points (" in sentence
    assert "; sure: Is the gap more than chance? Unclear: p = .1098 (z), " in sentence
    assert "; test: z, χ²(1) = 2.56" in sentence
    assert "over the limit, but not enough evidence" in sentence
    assert "these numbers are compatible with no disparity" in sentence
    # Of 20 against 11 of 20: 5 more than 6 are 11; at 9 of 20 the gap to 11 is .1.
    assert (
        "; people: with 3 more people selected, g=a would be within the limit; with 5 more, "
        "both rates would be equal" in sentence
    )


@pytest.mark.parametrize("on", ["warn", "fail"])
@pytest.mark.parametrize("name", ["terminal", "markdown", "html", "junit", "github"])
def test_every_format_says_that_evidence_is_not_enough(on: str, name: str) -> None:
    form = format_of(name)
    assert form is not None
    rendered = form.render([Answer("spec.yaml", None, unproven(on))], all_rows=False)
    assert isinstance(rendered, str)
    text = " ".join(rendered.split())
    assert "not enough evidence: " in text
    assert "chance may explain" not in text
    if name in {"terminal", "markdown", "html"}:
        assert "; 1 over a limit without enough evidence" in text
    if name == "junit":
        assert '<property name="not_enough_evidence" value="1"' in text


def test_every_summary_counts_the_checks_without_enough_evidence() -> None:
    result = unproven("warn")
    assert result.not_enough_evidence == 1
    assert checks.tally(result).endswith("; 1 over a limit without enough evidence")
    tree = json.loads(report_json.render(result))
    assert tree["summary"]["not_enough_evidence"] == 1
    assert [row["not_enough_evidence"] for row in tree["checks"]] == [True]
    assert codec.read_result(tree).not_enough_evidence == 1
    answers = [Answer("one.yaml", None, result), Answer("two.yaml", None, cleared())]
    text = terminal.render(summary.document(answers))
    (header,) = (line for line in text.splitlines() if line.startswith("audit"))
    assert "not enough evidence" in header
    listed = [export.Listed(one, {}) for one in answers]
    assert [row["not_enough_evidence"] for row in export.index(listed)["audits"]] == [1, 0]
    assert ",not_enough_evidence," in export.summary_csv(listed)


def cleared() -> AuditResult:
    """A value within its limit."""
    return audited(THIN, ("g",), {"metric": GAP, "fail": {"above": 0.5, "significant": True}})


def test_a_limit_that_fails_in_doubt_is_told_beside_the_one_that_warns() -> None:
    result = unproven("fail", warn={"above": 0.05})
    (finding,) = result.findings
    assert (str(finding.status), finding.not_enough_evidence) == ("warn", True)
    said = "over the limit (above 10 points, if significant), but not enough evidence"
    assert said in sentence_of(result, finding)


def test_what_fails_or_lies_within_is_no_open_question() -> None:
    assert cleared().not_enough_evidence == 0
    sure = audited({("a",): (60, 200), ("b",): (110, 200)}, ("g",),
                   {"metric": GAP, "fail": {"above": 0.1, "significant": True}})  # fmt: skip
    assert (str(sure.verdict), sure.not_enough_evidence) == ("fail", 0)


# People --------------------------------------------------------------------------------------


def test_people_are_short_of_parity_and_of_the_limit_of_the_check_and_of_nothing_else() -> None:
    """48/80 of 40 are 24, 12 more than 12; a gap of .1 takes 20 of 40 selected."""
    cells: dict[tuple[str, ...], Rate] = {("a",): (12, 40), ("b",): (48, 80)}
    result = audited(cells, ("g",), {"metric": GAP, "fail": {"above": 0.1}})
    (finding,) = result.findings
    text = sentence_of(result, finding)
    assert (
        "; people: with 8 more people selected, g=a would be within the limit; with 12 more, "
        "both rates would be equal" in text
    )
    assert finding.practice is not None
    assert (finding.practice.shortfall, finding.practice.to_parity) == (8, 12)
    result = audited(cells, ("g",), {"metric": GAP, "fail": {"above": 0.2}})
    text = sentence_of(result, result.findings[0])
    assert "; people: with 4 more people selected, g=a would be within the limit; " in text, (
        ".4 of 40 are 16"
    )


# Signs, sides and levels ----------------------------------------------------------------------


def test_a_subgroup_below_everybody_is_told_with_its_sign() -> None:
    """10/100 against 160/400: .1 - .4; the value in JSON stays a size."""
    cells: dict[tuple[str, ...], Rate] = {("a",): (10, 100), ("b",): (150, 300)}
    more = {"over": ["g"], "rates": ["selection_rate"], "depth": 1, "min_size": 10}
    result = audited(cells, ("g",), "selection_rate", subgroups={**more, "fail": {"above": 0.1}})
    (finding,) = result.findings
    assert finding.estimate is not None
    assert finding.estimate.value == pytest.approx(0.3)
    text = sentence_of(result, finding)
    assert text.startswith(
        "selection rate of g=a is 30.0 points below that of all people; value: 30.0 points, "
    )
    assert "; who: g=a 10.0 % 10/100, everybody 40.0 %; " in text
    kept = audited(cells, ("g",), "selection_rate", subgroups={**more, "fail": {"above": 0.4}})
    assert "; value: 30.0 points (fails above 40 points); " in sentence_of(kept, kept.findings[0])


def test_the_side_on_top_of_a_quotient_comes_first_and_another_sign_is_told() -> None:
    cells: dict[tuple[str, ...], Rate] = {("a",): (60, 100), ("b",): (30, 100)}
    ratio = {"metric": "demographic_parity_ratio", "fail": {"below": 0.8}}
    turned = {"metric": "mean_difference", "reference": "a", "fail": {"above": 0.1}}
    result = audited(cells, ("g",), ratio, turned)
    of_ratio, of_difference = (sentence_of(result, finding) for finding in result.findings)
    both = "; who: g=b 30.0 % 30/100, g=a 60.0 % 60/100"
    assert "; value: 0.500, below 0.8 (fails below 0.8)" in of_ratio
    assert both in of_ratio
    assert (
        "; value: 30.0 points, above 10 points (fails above 10 points), computed as reference - "
        "group" in of_difference
    )
    assert both in of_difference


@pytest.mark.parametrize("confidence", ["0.9", "0.95", "0.999", "0.9999999", "0.99999999999"])
def test_a_confidence_has_all_its_digits(confidence: str) -> None:
    words = {"0.9": "90 %", "0.95": "95 %", "0.999": "99.9 %", "0.9999999": "99.99999 %"}
    level = words.get(confidence, "99.999999999 %")
    cells: dict[tuple[str, ...], Rate] = {("a",): (80, 100), ("b",): (50, 100)}
    metric = {"metric": "impact_ratio", "by": "g", "fail": {"below": 0.8, "significant": True}}
    result = audited(cells, ("g",), metric, inference={"confidence": confidence})
    assert f": {level} interval" in sentence_of(result, result.findings[0])
    assert "100 % interval" not in told(result)


@pytest.mark.parametrize(
    ("weight", "own", "other"),
    [
        ("0.001", "80.0/100.0 weighted, n = 100", "1.0/1.1 weighted, n = 100"),
        ("1e-25", "80/100 weighted, n = 100", "1/1 weighted, n = 100"),
        ("3", "80/100 weighted, n = 100", "1/298 weighted, n = 100"),
    ],
)
def test_weighted_counts_have_their_people_and_no_group_has_0(
    tmp_path: Path, weight: str, own: str, other: str
) -> None:
    """99 people of b weigh little, or 3 each, next to one of weight 1: 1 + 99 · 0.001 = 1.099."""
    rows = ["a,1,1"] * 80 + ["a,0,1"] * 20 + [f"b,0,{weight}"] * 99 + ["b,1,1"]
    (tmp_path / "d.csv").write_text("\n".join(["g,y,w", *rows, ""]))
    columns = {"protected": ["g"], "weight": "w", "decision": {"column": "y", "positive": 1}}
    metric = {"metric": "selection_rate", "compare": "min_ratio", "by": "g"}
    fail = {"below": "0.8" if weight != "3" else "0.001"}
    spec = {"columns": columns, "metrics": [{**metric, "fail": fail}], "groups": {"min_size": 30}}
    result = fairaudit.audit(spec, tmp_path / "d.csv")
    text = told(result)
    assert own in text
    assert other in text
    if weight == "1e-25":
        assert "of almost no weight" in text
    elif weight != "3":
        assert "test of g=a (100 against 1 person, effective sizes) may miss even" in text
    assert "against 0" not in text


@pytest.mark.parametrize(
    ("metric", "value", "pair"),
    [
        ({"metric": "selection_rate", "compare": "min_ratio"}, 40 / 80, ("x × c", "x × a")),
        ({"metric": "demographic_parity_ratio"}, 40 / 80, ("x × c", "x × a")),
        ({"metric": "selection_rate", "compare": "gap"}, 0.8 - 0.4, ("x × a", "x × c")),
    ],
)
def test_the_worst_pair_has_the_order_of_its_formula(
    metric: dict[str, Any], value: float, pair: tuple[str, str]
) -> None:
    """A ratio of the lowest to the highest names the lowest first, a difference the highest."""
    of_100 = {"x": {"a": 80, "b": 70, "c": 40}, "z": {"a": 79, "b": 70, "c": 45}}
    rows = [
        {"t": town, "g": group, "y": y, "n": n}
        for town, rates in of_100.items()
        for group, k in rates.items()
        for y, n in ((1, k), (0, 100 - k))
    ]
    columns = {"protected": ["t", "g"], "decision": {"column": "y", "positive": 1}, "count": "n"}
    limit = {"above": 0.9} if metric.get("compare") == "gap" else {"below": 0.1}
    spec = {"columns": columns, "metrics": [{**metric, "by": "each", "fail": limit}]}
    result = fairaudit.audit(spec, pl.DataFrame(rows))
    text, both = told(result), " / ".join(pair)
    against = " compared with ".join(f"t={one.replace('× ', '× g=')}" for one in pair)
    (remark,) = remarks.uncovered(result)
    assert remark.endswith(f" without a limit is {value:.3f}, by t × g: {against}")
    assert f"The worst value is {value:.4f}, by t × g: {against}" in text
    (row,) = (row for row in result.lattice if row.by == ("t", "g"))
    assert checks.worst_pair(row.entries[0]) == both
    assert (", the numerator first" in text) == ("ratio" in str(metric))
    assert "(100) / " in text


@pytest.mark.parametrize(
    ("metric", "of", "label"),
    [
        ("calibration_in_the_large", {"score": "s"}, YES),
        ("mean_residual", {"prediction": {"column": "s", "number": "true"}},
         {"number": "true"}),
    ],
)  # fmt: skip
def test_an_error_with_a_sign_has_the_farthest_from_0_first(
    metric: str, of: dict[str, Any], label: dict[str, Any]
) -> None:
    """By people: 1 - .75 and 0 - .5 of a, 1 - .5 of b, 0 of c: means of -.125, .5 and 0."""
    rows = [("a", 1, 0.75), ("a", 0, 0.5), ("b", 1, 0.5), ("c", 1, 1.0)]
    frame = pl.DataFrame(rows, ["g", "y", "s"], orient="row")
    columns = {"protected": ["g"], "label": {"column": "y", **label}, **of}
    spec = {"columns": columns, "metrics": [metric]}
    result = fairaudit.audit(spec, frame)
    found = [(row.group[0][1], row.estimate.value) for row in result.rates if row.by]
    assert found == [("b", 0.5), ("a", -0.125), ("c", 0)]
    assert "Rates, worst first" in told(result)


def test_rates_without_a_better_way_are_called_lowest_first() -> None:
    """A score by itself harms nobody; beside a selection rate its table alone is named so."""
    rows = [("a", 1, 0.75), ("b", 0, 0.25), ("b", 1, 0.5)]
    frame = pl.DataFrame(rows, ["g", "d", "s"], orient="row")
    columns = {"protected": ["g"], "decision": {"column": "d", **YES}, "score": "s"}
    alone = told(fairaudit.audit({"columns": columns, "metrics": ["mean_score"]}, frame))
    assert "Rates, lowest first" in alone
    assert "worst first" not in alone
    both = ["selection_rate", "mean_score"]
    text = told(fairaudit.audit({"columns": columns, "metrics": both}, frame))
    assert "Rates, worst first" in text
    assert text.count("by g, lowest first") == 1


def test_what_few_people_may_miss_is_a_share_of_samples_at_a_level() -> None:
    """Cohen's h of 24/40 against 48/80: -.2673 and .2386; of two comparisons each has half."""
    cells: dict[tuple[str, ...], Rate] = {("a",): (24, 40), ("b",): (48, 80)}
    ratio = {"metric": "disparate_impact_ratio", "reference": "b", "fail": {"below": 0.8}}
    (finding,) = audited(cells, ("g",), ratio).findings
    assert finding_facts.few_people(finding) == (
        "the test of g=a (40 against 80 people) may miss a rate that is less than 26.7 points "
        "below or less than 23.9 points above the other rate: it finds such a gap in fewer than "
        "80 % of samples of this size (test level .05)"
    )
    (finding,) = audited({**cells, ("c",): (48, 80)}, ("g",), ratio).findings
    assert str(finding_facts.few_people(finding)).endswith(
        " of samples of this size (test level .025)"
    )


# Words of the label, of missing people, of a turned model ------------------------------------


def of_label(**more: Any) -> AuditResult:
    """Incomes by sex and by school: what is audited is the label itself."""
    cells = {("f", "x"): (20, 100), ("f", "y"): (70, 100),
             ("m", "x"): (30, 300), ("m", "y"): (50, 90)}  # fmt: skip
    rows = [(*levels, y, n) for levels, (a, m) in cells.items() for y, n in ((1, a), (0, m - a))]
    columns = {"protected": ["sex", "school"], "label": {"column": "y", **YES}, "count": "n"}
    frame = pl.DataFrame(rows, ["sex", "school", "y", "n"], orient="row")
    spec = {"columns": columns, "metrics": [{"metric": GAP, "fail": {"above": 0.1}}], **more}
    return fairaudit.audit(spec, frame)


@pytest.mark.parametrize("name", ["terminal", "markdown", "html", "junit", "github", "json"])
def test_nobody_is_selected_by_a_label(name: str) -> None:
    """An income is a base rate, in the checks, the reversals, the subgroups and the tables."""
    result = of_label(subgroups={"min_size": 20}, simpson={"fail": True})
    form = format_of(name)
    assert form is not None
    rendered = form.render([Answer("spec.yaml", None, result)], all_rows=True)
    rendered = rendered if isinstance(rendered, str) else rendered.decode()
    text = " ".join(rendered.replace("&#160;", " ").split())
    assert "ase rate" in text
    told_of = text.partition("Definitions")[0] if name != "json" else " ".join(
        row["sentence"] for row in [*json.loads(text)["checks"], *json.loads(text)["reversals"]]
    )  # fmt: skip
    assert "election rate" not in told_of


def test_a_declared_factor_is_not_called_legitimate() -> None:
    cells: dict[tuple[str, ...], Rate] = {
        ("a", "x"): (6, 20), ("b", "x"): (11, 20), ("a", "y"): (6, 20), ("b", "y"): (11, 20),
    }  # fmt: skip
    metric = {"metric": GAP, "given": "s0"}
    text = told(audited(cells, ("g",), metric))
    assert "People with the same value of a declared factor" in text
    assert "the factor; you decide whether it is" in text


@pytest.mark.parametrize(("label", "turned"), [((70, 30), False), ((30, 70), True)])
def test_a_model_that_turns_the_gap_round_is_told_where_its_size_is_the_same(
    label: tuple[int, int], turned: bool
) -> None:
    """ε is ln(7/3) of the label and of the prediction: Δε = 0, though b is ahead now."""
    rows = []
    for g, predicted, positives in (("a", 70, label[0]), ("b", 30, label[1])):
        for y, p in ((1, 1), (1, 0), (0, 1), (0, 0)):
            n = positives if y else 100 - positives
            rows.append((g, y, p, n * (predicted if p else 100 - predicted)))
    columns = {"protected": ["g"], "label": {"column": "y", **YES}, "count": "n",
               "prediction": {"column": "p", **YES}}  # fmt: skip
    frame = pl.DataFrame(rows, ["g", "y", "p", "n"], orient="row")
    result = fairaudit.audit({"columns": columns, "metrics": ["bias_amplification"]}, frame)
    found = [text for text in result.notices if "changed its sign" in text]
    assert bool(found) == turned
    if turned:
        assert "Δε by g is 0.0000, but the gap changed its sign: by the label " in found[0]
        assert "a complete reversal of equal size" in found[0]


def test_who_lacks_a_value_cannot_make_a_check_fail_that_fails() -> None:
    """10/40 against 9/10 fails at .7; were the 60 of a all selected, 70/100 would not.

    Group c might be beyond the limit, were it known: that turns no verdict of a check that fails.
    """
    rows = [("a", 1, 10), ("a", 0, 30), ("a", None, 60), ("b", 1, 90), ("b", 0, 10), ("c", 1, 65),
            ("c", 0, 15), ("c", None, 30)]  # fmt: skip
    columns = {"protected": {"g": {"reference": "b"}}, "decision": {"column": "d", **YES},
               "count": "n"}  # fmt: skip
    metric = {"metric": "disparate_impact_ratio", "fail": {"below": 0.7}}
    frame = pl.DataFrame(rows, ["g", "d", "n"], orient="row")
    spec = {"columns": columns, "metrics": [metric], "missing": {"prediction": "aside"}}
    result = fairaudit.audit(spec, frame)
    (finding,) = result.findings
    assert str(finding.status) == "fail"
    assert finding.missing is not None
    assert finding.missing.others
    text = sentence_of(result, finding)
    assert (
        " people with unknown outcome, the value can be 0.111 to 0.778; the verdict could " in text
    )
    assert "could put" not in text


# Two entries, two families -------------------------------------------------------------------


def test_entries_of_one_measure_say_how_they_differ() -> None:
    """Numbers behind a name tell nobody which is which."""
    gap = {"metric": GAP, "by": [["sex"]], "fail": {"above": 0.3}}
    result = audited(CROSSED, ("sex", "team"), gap, {**gap, "by": [["team"]]})
    titles = [entry.title for entry in result.lattice[0].entries]
    assert [title.partition(" (")[2] for title in titles] == ["by sex)", "by team)"]
    assert "(2)" not in told(result)


def test_a_star_names_its_family() -> None:
    """Two tests of three groups: b against a has p = .0122, and .0243 by Holm over both."""
    cells: dict[tuple[str, ...], Rate] = {
        ("a",): (150, 400), ("b",): (185, 400), ("c",): (30, 80),
    }  # fmt: skip
    text = told(audited(cells, ("g",), "selection_rate"))
    z = (150 / 400 - 185 / 400) / ((335 / 800) * (465 / 800) * 2 / 400) ** 0.5
    p = 2 * NormalDist().cdf(-abs(z))
    assert 2 * p < 0.05
    assert "*: p is below 0.05 after correction (Holm) for the 2 tests of this table" in text
    assert "the p-value of a check is corrected for all tests of the checks that can fail" in text
    same: dict[tuple[str, ...], Rate] = {("a",): (150, 400), ("b",): (150, 400)}
    assert "tests of this table" not in told(audited(same, ("g",), "selection_rate"))


# Names of methods ----------------------------------------------------------------------------

ASKED_FOR = (
    "Wilson", "Newcombe", "Koopman", "Katz", "MOVER", "Welch", "DeLong", "MOVER of log odds",
    "exact if counts are small", "Student", "Fisher", "chi-square", "G", "McNemar",
    "Cochran-Mantel-Haenszel", "Mann-Whitney", "Sidak", "Holm", "Benjamini-Hochberg", "wilson",
    "χ²", "Cochran–Mantel–Haenszel", "ŠIDÁK",
)  # fmt: skip


@pytest.mark.parametrize("name", ASKED_FOR)
def test_each_name_has_a_short_text_and_its_source(name: str) -> None:
    method = methods.find_method(name)
    assert method is not None
    found = run("explain", name)
    assert found.returncode == 0
    text = " ".join(found.stdout.split())
    assert " ".join(method.means.split()) in text
    assert str(method.source.year) in text
    assert len(method.means.split()) <= 150, "a short paragraph"


def test_no_name_has_two_entries() -> None:
    owners: dict[str, set[str]] = {}
    for one in methods.METHODS:
        for word in (one.name, *one.also):
            owners.setdefault(methods._plain(word), set()).add(one.name)
    assert all(owners)
    assert {len(each) for each in owners.values()} == {1}


@pytest.mark.long
def test_the_page_of_a_metric_has_the_lines_of_the_names_on_it() -> None:
    for record in CATALOGUE:
        with about(record.id):
            check_names_on_page(record)


def check_names_on_page(record: Any) -> None:
    """Whatever is no reason and no plain word is a name, and has its line."""
    page = definition(record)
    text = terminal.render(explain.page(page))
    for said in (page.interval, page.test):
        if said.startswith(("none", "it is the test itself", "from the interval")) or not said:
            continue
        (first, *_) = methods.find_methods(said)
        assert first.name in text
        left = said
        for word in sorted(NAMES, key=len, reverse=True):
            left = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", "", left)
        # The first word of a sentence has a capital, too.
        assert not re.findall(r"(?<!\. )[A-ZŠ]\w+", left), f"a name without a line: {left}"


NAMES = [word for one in methods.METHODS for word in (one.name, *one.also)]


def test_a_longer_name_is_not_taken_for_a_shorter_one() -> None:
    said = "Welch's F; Newcombe, paired; Wilson, mapped"
    assert [one.name for one in methods.find_methods(said)] == [
        "Welch's F", "Newcombe, paired", "Wilson", "mapped",
    ]  # fmt: skip


def test_a_larger_group_may_differ_in_the_other_direction() -> None:
    """Of f x .2, of all others .733; but f is above m (.836, .65), and x above y (.745, .7)."""
    cells: dict[tuple[str, ...], Rate] = {
        ("f", "x"): (20, 100), ("f", "y"): (900, 1000),
        ("m", "x"): (800, 1000), ("m", "y"): (500, 1000),
    }  # fmt: skip
    result = audited(cells, ("sex", "team"), GAP)
    appears = [one.group for row in result.lattice for one in row.appears]
    assert (("sex", "f"), ("team", "x")) in appears
    words = "none of these larger groups has such a gap"
    assert words in told(result)


def test_a_formula_names_no_step_that_does_nothing() -> None:
    """The value that is compared already, and a difference of two differences, as they are."""
    formulas = {record.id: definition(record).formula for record in CATALOGUE}
    for name, start in (
        ("conditional_demographic_disparity", "demographic_disparity averaged (pooled); pooled: "),
        ("explained_difference", "shortfall(selection_rate averaged (own)) - shortfall("),
    ):
        assert formulas[name].startswith(start)
    assert not [one for one in formulas.values() if "itself(" in one or "remainder" in one]


def test_a_sentence_names_a_measure_in_full() -> None:
    metrics = [{"metric": "equal_opportunity_difference", "by": "sex", "fail": {"above": 0.9}}]
    frame = pl.DataFrame({"sex": ["f", "m"] * 20, "team": ["x", "x", "y", "y"] * 10,
                          "y": [1] * 40, "d": [1, 0, 0, 1] * 10})  # fmt: skip
    columns = {"protected": ["sex", "team"], "label": {"column": "y", "positive": 1, "negative": 0},
               "decision": {"column": "d", "positive": 1}}  # fmt: skip
    result = fairaudit.audit({"columns": columns, "metrics": metrics}, frame)
    text = told(result)
    assert "no limit equal opportunity difference by team, sex × team. The worst" in text
    assert (
        "The worst equal opportunity difference without a limit is 1.000, by sex × team"
        in " ".join(remarks.uncovered(result))
    )


def test_what_is_not_made_of_the_rates_beside_it_says_so() -> None:
    rates = {"a": (30, 100), "b": (60, 100)}
    gate = {"metric": "differential_fairness", "fail": {"above": 0.1}}
    (smoothed,) = of_rates(rates, gate | {"smoothing": 1})
    assert "the rates are not smoothed; the" in smoothed["sentence"]
    (plain,) = of_rates(rates, gate)
    assert "smoothing" not in plain["sentence"]


def test_what_reads_a_score_is_said_to_be_of_it() -> None:
    """An area under the curve is of no decision; of several models it is of a named one."""
    for of in ("decision", "prediction"):
        assert metric_titles.of_outcome("auc", of) == " of the score"
        assert metric_titles.of_outcome("hosmer_lemeshow", of) == " of the score"
        assert metric_titles.of_outcome("selection_rate", of) == f" of the {of}"
        assert metric_titles.of_outcome("balanced_error_rate", of) == ""
    assert metric_titles.of_outcome("auc", "violence") == " of violence"


# What strata make of a gap ----------------------------------------------------------------------


def of_departments(cells: dict[tuple[str, ...], Rate], **more: Any) -> str:
    """The finding on the gap of two groups whose people apply to two departments."""
    metric = {"metric": GAP, "fail": {"above": 0.1}}
    result = audited(cells, ("g",), metric, **more)
    return sentence_of(result, result.findings[0])


def test_a_finding_says_that_nothing_of_its_gap_is_left_at_the_same_mix() -> None:
    """Each department selects alike, 60 % and 20 %; most of f apply to the one that selects few."""
    mixed: dict[tuple[str, ...], Rate] = {
        ("f", "A"): (60, 100),
        ("f", "B"): (180, 900),
        ("m", "A"): (540, 900),
        ("m", "B"): (20, 100),
    }
    note = "note: g=f against g=m: after adjustment for s0 no clear gap: no gap"
    assert note in of_departments(mixed)
    assert note not in of_departments(mixed, simpson=False)


def test_a_gap_that_every_stratum_has_is_not_said_to_be_gone() -> None:
    """40 and 20 % against 60 and 40 %."""
    same: dict[tuple[str, ...], Rate] = {
        ("f", "A"): (40, 100),
        ("f", "B"): (180, 900),
        ("m", "A"): (540, 900),
        ("m", "B"): (40, 100),
    }
    text = of_departments(same)
    assert "points more often than" in text
    assert "after adjustment" not in text


@pytest.mark.parametrize(("size", "is_across"), [(1, True), (100, False)])
def test_an_interval_across_the_limit_is_told(size: int, is_across: bool) -> None:
    """60 against 40 % of 80 and 50: a gap of 20 points, surely above 10 only of many people."""
    cells: dict[tuple[str, ...], Rate] = {
        ("a",): (48 * size, 80 * size),
        ("b",): (20 * size, 50 * size),
    }
    result = audited(cells, ("g",), {"metric": GAP, "fail": {"above": 0.1}})
    (finding,) = result.findings
    assert finding.estimate is not None
    assert finding.estimate.low is not None
    assert (finding.estimate.low < 0.1) == is_across
    text = sentence_of(result, finding)
    assert ("includes the limit" in text) == is_across
    within = audited(cells, ("g",), {"metric": GAP, "fail": {"above": 0.25}})
    is_shown = "within the limit? Yes: " in sentence_of(within, within.findings[0])
    estimate = within.findings[0].estimate
    assert estimate is not None
    assert estimate.high is not None
    assert is_shown == (estimate.high < 0.25)

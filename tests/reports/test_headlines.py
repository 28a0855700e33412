"""The sentence of a finding: who is how far from whom, and never on the wrong side of a limit."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from statistics import NormalDist
from typing import Any

import polars as pl
import pytest
import yaml

import fairaudit
from fairaudit import audit, codec
from fairaudit.report import checks, content, numbers, remarks, reversals
from fairaudit.report import json as report_json
from fairaudit.report.blocks import Heading, Table
from fairaudit.report.checks import audit_headline
from fairaudit.report.diagnostics import Diagnostic, Level, diagnose
from fairaudit.result import AuditResult

SPECS = "audit_specs"
GAP = "demographic_parity_difference"


def spec_of(limit: str, metric: str = "demographic_parity_ratio") -> dict[str, object]:
    return {
        "version": 1,
        "columns": {
            "protected": {"group": {}},
            "prediction": {"column": "chosen", "positive": "y"},
        },
        "metrics": [{"metric": metric, "fail": limit}],
    }


def rows_of(selected: int, of: int, others: int, of_others: int) -> pl.DataFrame:
    """Two groups, so many selected of each."""
    groups = ["low"] * of + ["high"] * of_others
    chosen = ["y"] * selected + ["n"] * (of - selected)
    chosen += ["y"] * others + ["n"] * (of_others - others)
    return pl.DataFrame({"group": groups, "chosen": chosen})


@pytest.fixture(scope="module")
def loans() -> AuditResult:
    return audit(f"{SPECS}/loans.yaml")


def test_headline_of_a_ratio_names_both_groups(loans: AuditResult) -> None:
    worst = diagnose(loans)[0]
    assert worst.level is Level.ERROR
    assert worst.headline == "female × Black is selected 62 % as often as male × Black"
    assert worst.value == "0.616"
    assert worst.source is not None
    assert worst.source.limit == "below: 0.8"
    assert worst.place == "audit_specs/loans.yaml:28:77"
    assert worst.picture is not None
    assert {row.label for row in worst.picture.rows if row.strong} == {
        "female × Black",
        "male × Black",
    }


def test_most_urgent_is_first(loans: AuditResult) -> None:
    levels = [[*Level].index(diagnostic.level) for diagnostic in diagnose(loans)]
    assert levels == sorted(levels)
    head = audit_headline(loans)
    assert head.verdict is not None
    assert (head.verdict.text, head.rows) == (
        "FAIL",
        "20,000 of 20,000 rows; selected: score at least 0.5 (good for people)",
    )
    assert head.counts == "10 checks: 1 failed, 3 warned, 6 passed"


def test_the_first_screen_names_the_weight(audit_csv: Callable[..., Any]) -> None:
    columns = {"protected": ["g"], "decision": {"column": "d", "positive": "1"}, "weight": "w"}
    spec = {"columns": columns, "metrics": "selection_rate"}
    result = audit_csv("g,d,w\na,1,2\na,0,1\nb,1,1\nb,0,3\n", spec)
    assert audit_headline(result).rows == (
        "4 of 4 rows, weighted by w; selected: d = 1 (good for people)"
    )


@pytest.mark.parametrize(
    ("counts", "limit", "words"),
    [
        # 0.7999 rounds to 80 %, which is not below it.
        ((7999, 20000, 10000, 20000), "< 0.8", "79.99 %"),
        ((8000, 20000, 10000, 20000), "< 0.8", "80 %"),
        # Nearly equal is not equal.
        ((9990, 20000, 10000, 20000), "< 0.8", "99.9 %"),
    ],
)
def test_ratio_in_per_cent_lies_where_the_verdict_says(
    counts: tuple[int, int, int, int], limit: str, words: str
) -> None:
    result = audit(spec_of(limit), data=rows_of(*counts))
    headline = diagnose(result)[0].headline
    assert headline == f"low is selected {words} as often as high"


def test_difference_in_points_lies_where_the_verdict_says() -> None:
    spec = spec_of("> 0.1", "demographic_parity_difference")
    result = audit(spec, data=rows_of(7998, 20000, 10000, 20000))
    assert diagnose(result)[0].headline == "high is selected 10.01 points more often than low"


@pytest.mark.parametrize(
    ("metric", "headline"),
    [
        ("selection_rate", "women are selected 40.0 points less often than men"),
        ("impact_ratio", "women are selected 50 % as often as men"),
    ],
)
def test_a_gap_without_a_limit_has_the_plural_of_its_group(metric: str, headline: str) -> None:
    """40 of 100 women, 80 of 100 men."""
    people = pl.col("group").replace({"low": "women", "high": "men"})
    spec = {**spec_of("", metric), "metrics": [metric]}
    gaps = remarks.widest(audit(spec, data=rows_of(40, 100, 80, 100).with_columns(people)))
    assert [gap.headline for gap in gaps] == [headline]


def test_p_before_and_after_correction_are_in_one_line() -> None:
    """26 of 60 against 40 of 60, twice: z of the pooled rates, and twice its p by Holm."""
    spec = spec_of("> 0.1", GAP)
    spec["columns"] = {**spec["columns"], "protected": {"group": {}, "other": {}}}  # type: ignore[dict-item]
    data = rows_of(26, 60, 40, 60).with_columns(other=pl.col("group"))
    first, *_ = diagnose(audit({**spec, "defaults": {"by": "each"}}, data=data))
    pooled = 66 / 120
    p = 2 * NormalDist().cdf(-(14 / 60) / (pooled * (1 - pooled) * 2 / 60) ** 0.5)
    alone, corrected = (f"{number:.4f}"[1:] for number in (p, 2 * p))
    lines = [text for _, text in first.facts if alone in text or corrected in text]
    words = f"Is the gap more than chance? Yes: p = {corrected} (z; corrected for 2 tests, "
    words += f"method of Holm; before correction p = {alone})"
    assert lines == [words]


def test_names_of_groups_are_escaped() -> None:
    data = rows_of(1, 10, 9, 10).with_columns(pl.col("group").replace({"low": "a\nb", "high": "7"}))
    headline = diagnose(audit(spec_of("< 0.8"), data=data))[0].headline
    assert "\n" not in headline
    assert r"'a\nb'" in headline
    assert "group=7" in headline


def test_a_number_beside_a_bound_keeps_its_side() -> None:
    bounds = [Decimal("0.8"), Decimal(1)]
    assert numbers.number_beside(0.79996, bounds, digits=0, scale=100) == "79.996"
    assert numbers.number_beside(0.6158, bounds, digits=0, scale=100) == "62"


@pytest.mark.long
def test_a_reversal_whose_numbers_are_hidden_is_not_denied() -> None:
    spec = yaml.safe_load(Path(f"{SPECS}/loans.yaml").read_text("utf-8"))
    spec |= {"data": "sample_data/loans.csv", "suppress_below": 100, "metrics": ["selection_rate"]}
    rows = diagnose(audit(spec))
    warned = [row for row in rows if row.code == "simpson_reversal"]
    assert [row.level for row in warned] == [Level.WARN, Level.WARN]
    for row in warned:
        assert "is reversed by strata: its numbers are suppressed" in row.headline
        assert "no gap" not in row.headline


def _diagnostic(entry: dict[str, object]) -> Diagnostic:
    """Of 20 of `a`, who are all selected, 20 of `b`, of whom none is, and 20 of `c`, who are."""
    people = {"g": ["a"] * 20 + ["b"] * 20 + ["c"] * 20, "d": [1] * 20 + [0] * 20 + [1] * 20}
    columns = {"protected": {"g": {"reference": "a"}}, "decision": {"column": "d", "positive": 1}}
    (diagnostic,) = diagnose(audit({"columns": columns, "metrics": [entry]}, people))
    return diagnostic


@pytest.mark.parametrize("aggregate", ["sum", "max"])
def test_a_number_over_all_groups_is_told_with_the_farthest_group(aggregate: str) -> None:
    entry = {"metric": "selection_rate", "compare": "difference", "reference": "rest"}
    diagnostic = _diagnostic({**entry, "aggregate": aggregate, "fail": "> 0.5"})
    assert f"{aggregate} over groups" in diagnostic.headline
    assert "(farthest: " in diagnostic.headline
    assert "who" in dict(diagnostic.lines)


def test_what_only_one_group_has_is_told_by_its_name() -> None:
    diagnostic = _diagnostic({"metric": "differential_fairness", "fail": "> 1"})
    assert diagnostic.headline == "'0' occurs in g=b, never in g=a (ε ∞)"


def test_a_log_ratio_says_of_what_it_is_the_logarithm_and_rates_give_the_ratio() -> None:
    """60 of 100 against 30 of 100 have a 1; 40 against 70 a 0, which is less far apart."""
    people = {"g": [*"aabb"], "d": [1, 0, 1, 0], "n": [60, 40, 30, 70]}
    columns = {"protected": ["g"], "decision": {"column": "d", "positive": 1}, "count": "n"}
    metric = {"metric": "differential_fairness", "fail": "> 0.5"}
    (line,) = diagnose(audit({"columns": columns, "metrics": [metric]}, people))
    words = "'1' is 2.00 times as likely for g=a as for g=b (ε 0.693: 2.00 = e^ε)"
    assert line.headline == words  # ln 2 = 0.693
    # A cut gives its classes no names of their own.
    columns["decision"] = {"column": "d", "positive": {"at_least": 0.5}}
    (line,) = diagnose(audit({"columns": columns, "metrics": [metric]}, people))
    assert line.headline == "g=a is selected 2.00 times as often as g=b (ε 0.693: 2.00 = e^ε)"


@pytest.mark.parametrize(
    ("metric", "rates", "value"),
    [
        # 557/1,835 = 30.354 % and 1,198/2,691 = 44.519 % are 14.165 points apart.
        ("statistical_parity_difference", ("30.35 %", "44.52 %"), "14.2 points"),
        # Of 30.4 and 44.5 the quotient would be 0.683, and it is 0.682.
        ("disparate_impact_ratio", ("30.35 %", "44.52 %"), "0.682"),
    ],
)
def test_printed_rates_give_the_printed_difference_and_ratio(
    metric: str, rates: tuple[str, str], value: str
) -> None:
    rows = {"g": [*"wwmm"], "d": [1, 0, 1, 0], "n": [557, 1278, 1198, 1493]}
    columns = {"protected": {"g": {"reference": "m"}}, "count": "n",
               "decision": {"column": "d", "positive": 1}}  # fmt: skip
    entry = {"metric": metric, "fail": {"below": -0.1 if "difference" in metric else 0.9}}
    result = audit({"columns": columns, "metrics": [entry, "selection_rate"]}, rows)
    (line,) = diagnose(result)
    who = dict(line.facts)["who"]
    assert value in f"{line.headline} {line.value}"
    assert all(rate in who for rate in rates[:1])
    (table,) = [
        block
        for block in content.document(result)
        if isinstance(block, Table) and block.caption.startswith("Selection rate of the decision")
    ]
    assert [row[3].text for row in table.rows] == [*rates]
    assert line.picture is not None
    assert [row.text for row in line.picture.rows] == [*rates]


def test_rates_of_a_reversal_give_its_gaps() -> None:
    """By hand: 557/1,835 and 1,198/2,691, and the departments of Berkeley."""
    (told,) = audit(f"{SPECS}/berkeley_admissions.yaml").reversals
    assert reversals.shares(told.crude_pair) == ["30.35 % (557/1,835)", "44.52 % (1,198/2,691)"]


def test_a_number_that_is_hidden_is_not_called_the_closest_to_its_limit() -> None:
    people = {"g": ["a"] * 20 + ["b"] * 20 + ["c"] * 2, "d": [1, 0] * 20 + [0, 0]}
    columns = {"protected": ["g"], "decision": {"column": "d", "positive": 1}}
    metrics = [
        {"metric": "demographic_parity_difference", "fail": "> 0.9"},
        {"metric": "demographic_parity_ratio", "fail": "< 1"},
    ]
    spec = {"columns": columns, "metrics": metrics, "suppress_below": 11}
    every = diagnose(audit(spec, people))
    assert [row.level for row in every] == [Level.ERROR, Level.PASS]
    assert [*remarks.passes(every)] == ["1 check passed"]


ROWS = pl.DataFrame({"a": ["x", "y"] * 200, "y": [1, 0, 0, 0] * 100, "p": [1, 1, 0, 0] * 100})
OF_BOTH = {"protected": ["a"], "label": {"column": "y", "positive": 1},
           "prediction": {"column": "p", "positive": 1}}  # fmt: skip


@pytest.mark.parametrize(
    ("metrics", "words"),
    [
        ([{"metric": GAP, "warn": {"above": 0.1}}], "PASS, 1 warning"),
        ([{"metric": GAP, "warn": {"above": 0.1}}, {"metric": "accuracy", "fail": {"below": 0.1}}],
         "PASS, 1 warning"),
        ([{"metric": "accuracy", "fail": {"below": 0.1}}], "PASS"),
        ([{"metric": GAP, "fail": {"above": 0.1}}], "FAIL"),
    ],
)  # fmt: skip
def test_a_pass_with_warnings_is_not_headed_pass_alone(metrics: list[Any], words: str) -> None:
    rows = ROWS.with_columns(p=pl.when(pl.col("a") == "x").then(1).otherwise(pl.col("p")))
    result = fairaudit.audit({"columns": OF_BOTH, "metrics": metrics}, rows)
    assert checks.verdict_cell(result).text == words
    assert audit_headline(result).verdict == checks.verdict_cell(result)
    tree = json.loads(report_json.render(result))
    assert tree["summary"]["verdict"] == ("fail" if words == "FAIL" else "pass")
    assert result.exit_code == (1 if words == "FAIL" else 0)


def test_a_rate_of_errors_is_told_in_the_words_of_the_spec() -> None:
    metric = {"metric": "false_positive_rate", "fail": {"above": 0.1}}
    result = fairaudit.audit({"columns": OF_BOTH, "metrics": [metric]}, ROWS)
    (row,) = diagnose(result)
    assert dict(row.lines)["means"] == (
        "The share of people who get the benefit without qualifying: among people with a label "
        "other than y = 1, the share that the decision selects (selected: p = 1)"
    )
    chosen = {"metric": "selection_rate", "fail": {"above": 0.1}}
    (row,) = diagnose(fairaudit.audit({"columns": OF_BOTH, "metrics": [chosen]}, ROWS))
    assert "means" not in dict(row.lines), "everybody knows what it is to be selected"


REVERSED = pl.DataFrame(
    [("a", "u", 1, 900), ("a", "u", 0, 100), ("b", "u", 1, 95), ("b", "u", 0, 5),
     ("a", "v", 1, 20), ("a", "v", 0, 80), ("b", "v", 1, 300), ("b", "v", 0, 700)],
    ["g", "s", "d", "n"], orient="row",
)  # fmt: skip


@pytest.mark.parametrize(
    ("more", "is_told"),
    [({}, True), ({"simpson": {"fail": "every_stratum"}}, False), ({"simpson": "false"}, False)],
)
def test_an_evident_reversal_that_no_check_names_is_told(
    more: dict[str, Any], *, is_told: bool
) -> None:
    columns = {"protected": ["g"], "decision": {"column": "d", "positive": 1}, "count": "n",
               "strata": ["s"]}  # fmt: skip
    metric = {"metric": GAP, "fail": {"above": 0.9}}
    result = fairaudit.audit({"columns": columns, "metrics": [metric], **more}, REVERSED)
    told = [*remarks.ungated_reversals(result)]
    assert bool(told) == is_told
    if told:
        # 920/1,100 against 395/1,100; in u .9 against .95, in v .2 against .3.
        words = "selection rate of g=a is 47.7 points higher overall than that of g=b, but 5.0 to "
        assert f"{words}10.0 points lower within each value of s" in told[0]


@pytest.mark.parametrize("suppress", [{}, {"suppress_below": 5}])
def test_reversals_that_nobody_asked_for_have_no_section(suppress: dict[str, int]) -> None:
    columns = {"protected": ["g"], "decision": {"column": "d", "positive": 1}, "count": "n",
               "strata": ["s"]}  # fmt: skip
    spec = {"columns": columns, "metrics": ["selection_rate"], **suppress}
    for simpson in (True, False):
        more = {} if simpson else {"simpson": "false"}
        result = fairaudit.audit({**spec, **more}, REVERSED)
        titles = [b.text for b in content.document(result) if isinstance(b, Heading)]
        assert ("Simpson's reversals" in titles) == simpson
        assert result.reversals_off is not simpson
        again = codec.read_result(json.loads(report_json.render(result)))
        assert again.reversals_off is not simpson


def test_a_smoothed_gap_of_several_classes_names_the_class_that_decides() -> None:
    """B has high 3 times as often as a (5 and 15 of 100), medium and low nearly as often."""
    counts = [("a", "high", 5), ("a", "medium", 50), ("a", "low", 45),
              ("b", "high", 15), ("b", "medium", 45), ("b", "low", 40)]  # fmt: skip
    rows = pl.DataFrame(counts, ["g", "y", "n"], orient="row")
    columns = {"protected": ["g"], "decision": {"column": "y", "positive": ["high", "medium"]},
               "count": "n"}  # fmt: skip
    metric = {"metric": "differential_fairness", "smoothing": 1, "fail": "> 0.5"}
    (line,) = diagnose(audit({"columns": columns, "metrics": [metric]}, rows))
    assert line.headline == (
        "'high' is 2.67 times as likely for g=b as for g=a (ε 0.981: 2.67 = e^ε; without "
        "smoothing, 1.099), judged with smoothing 1"
    )

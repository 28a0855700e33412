"""A finding opened up: what is filled into its formula comes to what is printed."""

from __future__ import annotations

import csv
import math
import re
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from conftest import SAMPLES
from report_cases import EACH, sample

import fairaudit
from fairaudit.base.errors import UsageError
from fairaudit.base.frozen import replace
from fairaudit.judge import Check, Finding, Limit, Status
from fairaudit.metrics.estimate import State
from fairaudit.report import check_page, terminal
from fairaudit.result import AuditResult


def mean(*parts: Any) -> Any:
    return sum(parts) / len(parts)


_FUNCTIONS = {
    "mean of magnitudes(": "mean_magnitude(",
    "largest magnitude(": "largest(",
    "farthest from 1(": "farthest(",
    "ln(": "log(",
    "asin √(": "asin_root(",
}


def evaluated(text: str) -> Any:
    """What a filled-in formula comes to, read from its text alone; fractions where it can be."""
    text = re.sub(r"\|([^|]*)\|", r"abs(\1)", text.replace("·", "*"))
    for told, known in _FUNCTIONS.items():
        text = text.replace(told, known)
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text).replace(";", ",")
    text = text.replace("2 asin_root", "2 * asin_root")
    text = re.sub(r"(?<![\w.])(\d+(?:\.\d+)?(?:e-?\d+)?)", r'F("\1")', text)
    names: dict[str, object] = {
        "F": Fraction,
        "abs": abs,
        "max": max,
        "min": min,
        "mean": mean,
        "mean_magnitude": lambda *parts: mean(*map(abs, parts)),
        "largest": lambda *parts: max(parts, key=abs),
        "farthest": lambda *parts: max(parts, key=lambda one: abs(one - 1)),
        "log": lambda one: math.log(one) if one else -math.inf,
        "asin_root": lambda one: math.asin(math.sqrt(one)),
    }
    try:
        return eval(text, {"__builtins__": {}}, names)  # noqa: S307  # digits and the names above
    except ZeroDivisionError:
        return math.inf


def _checked(result: AuditResult, finding: Finding) -> bool:
    """Whether a finding has a working; each line of it comes to what it says, the last to all."""
    check, estimate = finding.check, finding.estimate
    if not isinstance(check, Check) or estimate is None or estimate.state is State.UNDEFINED:
        return False
    lines = check_page.working(finding, len({k for g in result.groups for k in g.counts}))
    for line in lines:
        assert float(evaluated(line.filled.text)) == pytest.approx(float(line.filled.value))
        shown = (
            float(str(line).rsplit(" = ", 1)[1].replace("∞", "inf"))
            if line.result
            else float(line.filled.value)
        )
        assert shown == pytest.approx(float(evaluated(line.filled.text)), abs=1e-6)
    if not lines:
        return False
    found = evaluated(lines[-1].filled.text)
    if estimate.exact is not None and isinstance(found, Fraction) and lines[-1].filled.exact:
        assert found == estimate.exact
    else:
        assert float(found) == pytest.approx(estimate.value, rel=1e-6)
    return True


@pytest.mark.long
@pytest.mark.parametrize("name", EACH)
def test_every_formula_of_the_samples_comes_to_its_finding(name: str) -> None:
    result = sample(name)
    of_checks = [one for one in result.findings if isinstance(one.check, Check)]
    told = [one for one in of_checks if _checked(result, one)]
    # The gap of two distributions is no formula of two counts, nor is what a model or draws tell.
    untold = {"score_parity_gap", "differential_fairness_pooled", "differential_fairness_draws"}
    assert told == [one for one in of_checks if one.check.id.partition("/")[0] not in untold]
    for one in result.findings:
        assert terminal.render(check_page.document(result, one)).startswith("\nCheck: ")


def _many() -> AuditResult:
    limit = {"fail": {"above": 0.9}}
    ratio = {"fail": {"above": 9}}
    both = {"fail": {"outside": [-0.9, 0.9]}}
    metrics = [
        {"metric": "selection_rate", **limit},
        {"metric": "f1", **limit},
        {"metric": "auc", **limit},
        {"metric": "demographic_parity_ratio", "by": [["gender", "race"]], "fail": {"below": 0.8}},
        {"metric": "equalized_odds_difference", **limit},
        {"metric": "equalized_odds_mean", **limit},
        {"metric": "equalized_odds_ratio", "fail": {"below": 0.1}},
        {"metric": "average_odds_difference", "reference": "rest", **both},
        {"metric": "average_odds_error", "reference": "rest", **limit},
        {"metric": "fairmlhealth_equal_odds_difference", "reference": "largest", **both},
        {"metric": "fairmlhealth_equal_odds_ratio", "reference": "largest", **ratio},
        {"metric": "selection_odds_ratio", "reference": "rest", **ratio},
        {"metric": "mean_difference", "reference": "rest", **both},
        {"metric": "between_group_auc", "reference": "rest", **limit},
        {"metric": "elift", **ratio},
        {"metric": "selection_rate", "compare": "log_ratio", "reference": "rest", **both},
        {"metric": "selection_rate", "compare": "cohens_h", "reference": "rest", **both},
        {"metric": "balanced_accuracy_difference", "reference": "rest", **both},
        {"metric": "differential_fairness", "smoothing": 0.5, **limit},
        {"metric": "differential_fairness", "concentration": 1, **limit},
        {"metric": "bias_amplification", **both},
        {"metric": "demographic_parity_difference", "against": "label", **both},
        {"metric": "mutual_information", **limit},
        {"metric": "selection_rate", "compare": "ratio", "reference": "rest", "given": "branch",
         **ratio},
        {"metric": "selection_rate", "compare": "ratio", "reference": "rest", "given": "branch",
         "average": "pooled", **ratio},
        {"metric": "true_positive_rate", "compare": "difference", "reference": "largest",
         "given": "branch", "average": "uniform", **both},
        {"metric": "false_positive_rate", "compare": "difference", "reference": "overall",
         "given": "branch", "average": "reference", **both},
    ]  # fmt: skip
    spec = {
        "data": str(SAMPLES / "loans.csv"),
        "columns": {
            "protected": {"gender": {}, "race": {}},
            "label": {"column": "repaid", "positive": "yes"},
            "prediction": {"column": "approved", "positive": "yes"},
            "score": "score",
            "strata": ["branch"],
        },
        "groups": {"min_size": 30},
        "metrics": metrics,
    }
    return fairaudit.audit(spec)


@pytest.fixture(scope="module")
def many() -> AuditResult:
    return _many()


@pytest.mark.long
def test_formulas_of_many_kinds_come_to_their_findings(many: AuditResult) -> None:
    without = set()
    for one in many.findings:
        assert isinstance(one.check, Check)
        if not _checked(many, one):
            without.add(one.check.metric.id)
        assert terminal.render(check_page.document(many, one))
    assert without <= {"mutual_information", "auc"}


@pytest.mark.long
def test_averages_over_strata_refer_to_the_counts_of_the_strata(many: AuditResult) -> None:
    averaged = [
        one for one in many.findings if isinstance(one.check, Check) and one.check.terms.average
    ]
    assert len(averaged) == 6
    for one in averaged:
        text = _text(many, one.check.id)
        assert "are averages over strata" in text
        # The entry of the selection rate within the branches lists their counts.
        is_listed = one.parts[0].metric == "selection_rate"
        caption = f"Selection rate of the prediction by {one.check.by[0]}, branch="
        assert (caption in text) is is_listed


def _rows() -> list[dict[str, str]]:
    with (SAMPLES / "loans.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_what_is_told_of_the_loans_is_what_the_rows_say() -> None:
    """Two checks counted from the rows in plain Python."""
    result = sample("loans")
    rows = _rows()

    def share(gender: str, race: str) -> str:
        those = [row for row in rows if (row["gender"], row["race"]) == (gender, race)]
        return f"{sum(float(row['score']) >= 0.5 for row in those):,}/{len(those):,}"

    text = _text(result, "impact_ratio")
    women, men = share("female", "Black"), share("male", "Black")
    assert f"= ({women}) / ({men}) = 0.615768" in text
    race = [row for row in rows if row["repaid"] == "no" and row["race"]]
    black = [row for row in race if row["race"] == "Black"]
    others = [row for row in race if row["race"] != "Black"]
    first, second = (
        f"{sum(float(row['score']) >= 0.5 for row in those):,}/{len(those):,}"
        for those in (black, others)
    )
    assert f"= {first} - {second} = 0.01" in _text(result, "false_positive_rate.difference")


def _text(result: AuditResult, wanted: str) -> str:
    page = check_page.document(result, check_page.find(result, wanted))
    return " ".join(terminal.render(page).split())


def test_a_check_is_found_by_id_number_and_part() -> None:
    result = sample("loans")
    (failed,) = [one for one in result.findings if one.status is Status.FAIL]
    for wanted in (failed.check.id, "1", "impact", "gender+race/"):
        assert check_page.find(result, wanted) is failed
    with pytest.raises(UsageError, match="2 checks contain 'simpson' in their id"):
        check_page.find(result, "simpson")
    with pytest.raises(UsageError, match=r"did you mean 'impact_ratio/gender\+race/prediction'"):
        check_page.find(result, "impact_ration/gender+race/prediction")
    for wanted in ("11", "0", "", "x"):
        with pytest.raises(UsageError):
            check_page.find(result, wanted)
    listed = terminal.render(check_page.listing(result))
    for at, one in enumerate(result.findings, 1):
        assert one.check.id in listed
        assert re.search(rf"^{at} ", listed, re.MULTILINE)


def test_everybody_beyond_and_everybody_left_out_is_told() -> None:
    result = sample("loans_subgroups")
    (first, _) = result.findings
    text = _text(result, first.check.id)
    assert "|62/205 - 10,080/20,000| = 0.201561" in text
    for one in first.crossed:
        assert ", ".join(f"{name}={level}" for name, level in one.group) in text
    loans = sample("loans")
    for finding in loans.findings:
        page = _text(loans, finding.check.id)
        for left in finding.not_evaluated:
            assert left.reason in page


def test_a_line_is_not_filled_where_it_does_not_come_to_the_value(many: AuditResult) -> None:
    """A working that does not lead to the value is no working: it is not shown."""
    one = next(f for f in many.findings if f.check.id.startswith("elift"))
    assert check_page.working(one)
    assert one.estimate is not None
    moved = replace(one, estimate=replace(one.estimate, value=one.estimate.value + 0.001))
    assert not check_page.working(moved)
    assert isinstance(one.limit, Limit)


def test_what_is_suppressed_is_not_shown() -> None:
    """No small count comes back through a formula, a table or a list."""
    rows = {"group": ["a", "a", "b", "b"], "y": [1, 0, 1, 0], "n": [7, 93, 40, 60]}
    limits = (
        {"metric": "demographic_parity_ratio", "fail": {"below": 0.8}},
        {"metric": "differential_fairness", "fail": {"above": 1}},
        {"metric": "selection_rate", "fail": {"below": 0.2}},
    )
    spec = {
        "columns": {
            "protected": ["group"],
            "decision": {"column": "y", "positive": 1},
            "count": "n",
        },
        "metrics": limits,
    }
    shown = fairaudit.audit({**spec, "suppress_below": 11}, pl.DataFrame(rows))
    plain = fairaudit.audit(spec, pl.DataFrame(rows))
    for one in plain.findings:
        assert "7/100" in _text(plain, one.check.id)
    for one in shown.findings:
        text = _text(shown, one.check.id).replace("(Eq. 7)", "")
        assert not re.search(r"\b(7|93)\b", text)
        assert "0.07" not in text
        assert "suppressed" in text
    assert "0.07" not in terminal.render(check_page.listing(shown))


def test_a_hidden_number_is_called_hidden() -> None:
    """No table below has what is suppressed."""
    spec = {
        "columns": {"protected": ["g"], "prediction": {"column": "p", "positive": 1}, "count": "n"},
        "metrics": [{"metric": "demographic_parity_difference", "fail": {"above": 0.1}}],
    }
    rows = [("a", 1, 60), ("a", 0, 60), ("b", 1, 3), ("b", 0, 2)]
    people = pl.DataFrame(rows, ["g", "p", "n"], orient="row")
    words = {}
    for threshold in (None, 11):
        result = fairaudit.audit(spec | ({"suppress_below": 11} if threshold else {}), people)
        words[threshold] = terminal.render(check_page.document(result, result.findings[0]))
    assert "The numbers are suppressed." in words[11]
    assert "the tables below have them" not in words[11]
    assert "suppressed" not in words[None]

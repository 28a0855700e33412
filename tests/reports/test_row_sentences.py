"""What is said of metrics whose sides, hypothesis or outcome are not those of two rates."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

import polars as pl
import pytest
from conftest import sentence_of

import fairaudit
from fairaudit.judge import Finding
from fairaudit.metrics import CATALOGUE
from fairaudit.metrics.definitions import NARROW
from fairaudit.report import check_page, checks
from fairaudit.report.terminal import render
from fairaudit.result import AuditResult

_ANYTHING = {"above": 0, "significant": True}


@dataclass(frozen=True, slots=True)
class One:
    """A person: group, features, label, decision, score."""

    g: str
    age: int
    job: str
    y: int
    d: int
    s: float


def people(n: int = 200) -> list[One]:
    """People of two groups whose decisions differ, from a fixed seed."""
    draw = random.Random(7)
    rows = []
    for _ in range(n):
        group = draw.choice("wm")
        chance = 0.3 if group == "w" else 0.6
        rows.append(
            One(
                group, draw.randrange(20, 28), draw.choice("abc"), draw.randrange(2),
                int(draw.random() < chance), round(draw.uniform(0.02, 0.98), 3),
            )
        )  # fmt: skip
    return rows


def audit(rows: list[One], *metrics: Any, **columns: Any) -> AuditResult:
    """The result of an audit of them."""
    spec = {
        "columns": {
            "protected": {"g": {"reference": "m"}},
            "label": {"column": "y", "positive": 1},
            "decision": {"column": "d", "positive": 1},
            "score": "s",
            "features": {"numeric": ["age"], "categorical": ["job"]},
            **columns,
        },
        "metrics": list(metrics),
    }
    names = ("g", "age", "job", "y", "d", "s")
    return fairaudit.audit(
        spec, pl.DataFrame({name: [getattr(row, name) for row in rows] for name in names})
    )


def finding_of(result: AuditResult, metric: str) -> Finding:
    """The one finding of a metric."""
    (found,) = [row for row in result.findings if row.check.metric_id == metric]
    return found


@pytest.fixture(scope="module")
def result() -> AuditResult:
    """An audit with a metric of each kind."""
    return audit(
        people(),
        {"metric": "twin_test", "fail": {"above": 0.01}},
        {"metric": "situation_testing", "fail": {"above": 0.01}},
        {"metric": "balanced_error_rate", "fail": {"below": 0.1}},
        {"metric": "hosmer_lemeshow", "fail": _ANYTHING},
        {"metric": "bias_amplification", "fail": _ANYTHING},
        {"metric": "statistical_parity_difference", "against": "label", "fail": _ANYTHING},
    )


def twin_rates(rows: list[One]) -> tuple[int, int, float]:
    """Of women with a twin: how many are selected, how many there are, their twins' mean rate."""
    men = defaultdict(list)
    for row in rows:
        if row.g == "m":
            men[row.age, row.job].append(row.d)
    women = [row for row in rows if row.g == "w" and men[row.age, row.job]]
    rates = [sum(men[row.age, row.job]) / len(men[row.age, row.job]) for row in women]
    return sum(row.d for row in women), len(women), sum(rates) / len(rates)


def test_the_sides_of_a_twin_test_are_those_with_a_twin(result: AuditResult) -> None:
    finding = finding_of(result, "twin_test")
    selected, n, twins = twin_rates(people())
    (part,) = finding.parts
    assert part.first is not None
    assert part.second is not None
    assert (part.first.estimate.numerator, part.first.estimate.denominator) == (selected, n)
    assert part.second.estimate.value == pytest.approx(twins)
    assert part.second.estimate.value - part.first.estimate.value == pytest.approx(part.value)
    assert f"; who: g=w {100 * selected / n:.1f} % {selected}/{n}, " in sentence_of(result, finding)


@pytest.mark.parametrize("favourable", [True, False])
def test_a_twin_test_is_worked_with_numbers(*, favourable: bool) -> None:
    decision = {"column": "d", "positive": 1, "favourable": favourable}
    found = audit(people(), {"metric": "twin_test", "fail": {"outside": [0, 0]}}, decision=decision)
    finding = finding_of(found, "twin_test")
    assert finding.estimate is not None
    *sides, last = check_page.working(finding)
    assert len(sides) == 2
    assert float(last.filled.value) == pytest.approx(finding.estimate.value, abs=1e-6)
    page = render(check_page.document(found, finding))
    assert "twins(" not in page
    assert "selection_rate_of_twins" not in page


def test_a_situation_is_told_in_people(result: AuditResult) -> None:
    finding = finding_of(result, "situation_testing")
    assert finding.estimate is not None
    (line,) = check_page.working(finding)
    share, _, total = line.filled.text.partition("/")
    assert int(share) / int(total) == pytest.approx(finding.estimate.value)
    assert total == str(sum(row.g == "w" for row in people()))
    page = render(check_page.document(result, finding))
    assert "worse_off(" not in page


@pytest.mark.parametrize(
    ("metric", "hypothesis"),
    [
        ("hosmer_lemeshow", "perfect calibration"),
        ("bias_amplification", "no amplification"),
        ("statistical_parity_difference", "no difference between decision and label"),
    ],
)
def test_a_test_says_what_it_tests(result: AuditResult, metric: str, hypothesis: str) -> None:
    finding = finding_of(result, metric)
    assert f"Is the departure from {hypothesis} more than chance? " in sentence_of(result, finding)


def test_an_open_test_of_calibration_speaks_of_calibration() -> None:
    calibrated = [One("wm"[n % 2], 20, "a", n // 2 % 2, 1, 0.5) for n in range(80)]
    rows = [*calibrated, One("w", 20, "a", 1, 1, 0.5)]
    metric = {"metric": "hosmer_lemeshow", "fail": {"above": -1, "significant": True}}
    found = audit(rows, metric)
    sentence = sentence_of(found, finding_of(found, "hosmer_lemeshow"))
    assert "disparity" not in sentence
    assert "no difference" not in sentence


def test_who_can_be_told_apart_is_of_no_outcome(result: AuditResult) -> None:
    finding = finding_of(result, "balanced_error_rate")
    assert "of the decision" not in checks.title(finding)
    page = " ".join(render(check_page.document(result, finding)).split())
    assert "telling the group apart of the" not in page
    assert "predicting the group, by g" in page


def test_too_few_people_are_the_reason_for_no_interval() -> None:
    rows = [One("m", 20 + n % 4, "a", n % 2, n % 3 % 2, 0.5) for n in range(60)]
    rows += [One("w", 20, "a", n % 2, n % 2, 0.5) for n in range(5)]
    limits = {"above": 0.99, "conclusive": True}
    found = audit(
        rows,
        {"metric": "consistency", "fail": {"below": 0.01, "conclusive": True}},
        {"metric": "twin_test", "fail": limits},
    )
    told = {
        row.metric: row.estimate.no_interval for row in found.comparisons if row.group is not None
    }
    assert told["twin_test"] == "none: fewer than 8 people"
    (own,) = [r for r in found.rates if r.metric == "consistency" and r.group == (("g", "w"),)]
    assert own.estimate.no_interval == "none: fewer than 8 people"
    for metric in ("consistency", "twin_test"):
        sentence = sentence_of(found, finding_of(found, metric))
        assert "fewer than 8 people" in sentence
        assert "variation" not in sentence


def test_every_metric_has_a_name_for_a_narrow_column() -> None:
    wide = [record.id for record in CATALOGUE if not 0 < len(record.short) <= NARROW]
    assert not wide


def test_sides_without_a_number_tell_none() -> None:
    rows = [One("m", 20, "a", 1, 1, 0.5)] * 9 + [One("w", 40, "b", 1, 1, 0.5)] * 9
    found = audit(rows, {"metric": "twin_test", "fail": {"above": 0}})
    finding = finding_of(found, "twin_test")
    assert str(finding.status) == "inconclusive"
    assert "one has a twin" in sentence_of(found, finding)
    assert all(math.isnan(part.value) for row in found.comparisons for part in row.parts)


def test_a_feature_that_nobody_has_is_not_told_of_nobody() -> None:
    rows = [One("wm"[n % 2], 20, "", 1, n % 3 % 2, 0.5) for n in range(20)]
    notices = [str(notice) for notice in audit(rows, "twin_test", "consistency").notices]
    assert not [text for text in notices if " 0 of 0 people" in text or "not vary" in text]
    told = [
        text
        for text in map(str, audit([replace(row, job="a") for row in rows], "consistency").notices)
        if "vary" in text
    ]
    assert "age and job do not vary and have no effect" in told[0]


def test_an_id_has_no_three_hundred_zeros() -> None:
    metric = {"metric": "lipschitz_violations", "lipschitz": 1e-300, "fail": {"above": 0.5}}
    assert finding_of(audit(people(40), metric), "lipschitz_violations").check.id == (
        "lipschitz_violations.lipschitz=1e-300/g/decision"
    )

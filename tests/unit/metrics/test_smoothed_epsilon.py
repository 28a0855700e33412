"""A smoothed ε: the raw one next to it, and pseudo-counts that are spread as everybody's outcomes.

Expected numbers come from a slow oracle in plain Python.
"""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from commands import run
from conftest import examples, sentence_of
from evidence_specs import Rate, document, of_cells, of_rates, people
from evidence_specs import spec as asking
from hypothesis import assume, given
from hypothesis import strategies as st

import fairaudit
from fairaudit.base.errors import SpecError
from fairaudit.report import FORMATS, content, terminal
from fairaudit.report import json as report_json
from fairaudit.result import Answer

CASE: dict[str, Rate] = {"a": (250, 5000), "b": (1, 20)}
"""Two groups of exactly 5 %."""


def epsilon_of(rates: dict[str, Rate], concentration: Fraction, *, towards: bool) -> float:
    """The largest log-ratio of an outcome of two groups, each with so many people added."""
    selected = sum(x for x, _ in rates.values())
    share = Fraction(selected, sum(n for _, n in rates.values())) if towards else Fraction(1, 2)
    logs: list[list[float]] = [[], []]
    for x, n in rates.values():
        p = (x + concentration * share) / (n + concentration)
        for outcome, chance in enumerate((p, 1 - p)):
            logs[outcome].append(math.log(chance) if chance else -math.inf)
    found = [max(of) - min(of) for of in logs if max(of) > -math.inf]
    return max(found)


def gate(**more: Any) -> dict[str, Any]:
    return {"metric": "differential_fairness", "fail": {"above": 0.5}, **more}


RATES = st.lists(
    st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    min_size=2,
    max_size=4,
)


@given(rates=RATES, smoothing=st.sampled_from([1, 11]), towards=st.booleans())
@examples(20)
def test_value_and_raw_value_are_those_of_the_oracle(
    rates: list[Rate], smoothing: int, towards: bool
) -> None:
    named = {f"g{at}": rate for at, rate in enumerate(rates)}
    more = {"towards": "overall"} if towards else {}
    (check,) = of_rates(named, gate(smoothing=smoothing, **more))
    expected = epsilon_of(named, Fraction(2 * smoothing), towards=towards)
    assert check["value"] == pytest.approx(expected, rel=1e-9, abs=1e-12)
    raw = epsilon_of(named, Fraction(0), towards=False)
    if math.isinf(raw):
        assert check["unsmoothed"] == {"value": None, "state": "infinite"}
    else:
        assert check["unsmoothed"]["value"] == pytest.approx(raw, rel=1e-9, abs=1e-12)
    assert check["low"] <= check["value"] <= check["high"]


@given(
    share=st.tuples(st.integers(0, 7), st.just(7)),
    sizes=st.lists(st.integers(1, 300), min_size=2, max_size=5),
    concentration=st.sampled_from(["0.5", "1", "22"]),
    metric=st.sampled_from(
        [
            "differential_fairness",
            "differential_equalized_odds",
            "differential_equal_opportunity",
            "bias_amplification",
        ]
    ),
)
@examples(20)
def test_equal_groups_are_equal_if_smoothed_towards_everybody(
    share: Rate, sizes: list[int], concentration: str, metric: str
) -> None:
    x, n = share
    cells = {f"g{at}": (x * k, k, (n - x) * k, 2 * k) for at, k in enumerate(sizes)}
    assume(x)
    asked = {"metric": metric, "concentration": concentration, "fail": {"above": 0.5}}
    (check,) = of_cells(cells, {**asked, "towards": "overall"})
    assert (check["value"], check["status"]) == (0.0, "pass")


def test_the_default_stays_that_of_the_paper() -> None:
    """Eq. 7: 12 of 42 against 261 of 5,022."""
    plain, towards = of_rates(CASE, gate(smoothing=11), gate(smoothing=11, towards="overall"))
    assert plain["value"] == pytest.approx(math.log(Fraction(12, 42) / Fraction(261, 5022)))
    assert (plain["status"], towards["value"], towards["status"]) == ("fail", 0.0, "pass")


def test_the_raw_value_is_next_to_the_smoothed_one_everywhere() -> None:
    result = fairaudit.audit(asking(gate(smoothing=11)), people(CASE))
    (finding,) = result.findings
    sentence = sentence_of(result, finding)
    assert "(ε 1.704: 5.50 = e^ε; without smoothing, 0.000), judged with smoothing" in sentence
    assert "95 % interval of the smoothed ε: 1.547 to 2.055" in sentence
    text = " ".join(terminal.render(content.document(result, all_rows=True)).split())
    assert "1.7043 (0.0000 without smoothing) b (20) / a (5,000)" in text
    assert "ε by g is 1.7043 [1.5467, 2.0548] (0.0000 without smoothing)" in text
    tree = document(asking(gate(smoothing=11)), people(CASE))
    raw = {"value": 0.0}
    (row,) = [row for row in tree["lattice"] if row["by"]]
    for found in (tree["checks"][0], tree["epsilons"][0], row["entries"][0]):
        assert found["unsmoothed"] == raw
    for form in FORMATS:
        if form.name in {"terminal", "html", "markdown", "github", "junit", "sarif"}:
            report = form.render([Answer("spec.yaml", None, result)], all_rows=True)
            assert "without smoothing" in str(report), form.name


def test_a_saved_result_and_show_have_the_raw_value(tmp_path: Path) -> None:
    result = fairaudit.audit(asking(gate(smoothing=11, towards="overall")), people(CASE))
    (tmp_path / "r.json").write_text(report_json.render(result))
    assert fairaudit.load(tmp_path / "r.json") == result
    done = run("show", "r.json", "1", folder=tmp_path)
    text = " ".join(done.stdout.split())
    assert "0.000 (0.000 without smoothing)" in text
    assert "95 % interval of the smoothed ε: 0.000 to" in text


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (gate(towards="overall"), "needs the number of people to add: add `smoothing: 1`"),
        (
            {"metric": "differential_fairness_credible", "smoothing": 1, "towards": "overall"},
            "differential_fairness_credible has no parameter `towards`",
        ),
        (gate(smoothing=1, towards="rest"), "overall"),
    ],
)
def test_towards_needs_pseudo_counts(entry: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        fairaudit.audit(asking(entry), people(CASE))

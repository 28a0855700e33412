"""Records are the one place where a metric is told: in YAML, pages, documents and reports."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import ROOT, about

import fairaudit
from fairaudit import metrics
from fairaudit.base.errors import SpecError
from fairaudit.base.frozen import replace
from fairaudit.cli import run_line
from fairaudit.cube import GroupTable
from fairaudit.metrics import CATALOGUE, GROUP_METRICS, Disparity, Rate, Requirement, evaluate
from fairaudit.metrics.comparisons import COMPARISONS
from fairaudit.metrics.formulas import Formula
from fairaudit.metrics.group_metrics import ValueKind
from fairaudit.metrics.means_and_errors import FirstOf
from fairaudit.metrics.other_names import UNSUPPORTED_METRICS, UnsupportedMetric
from fairaudit.metrics.rates import SELECTION_RATE
from fairaudit.metrics.scores import Ranked
from fairaudit.metrics.terms import MetricOptions, Parameters, Reference, ReferencePolicy
from fairaudit.report import content, explain, terminal
from fairaudit.report import json as report_json
from fairaudit.result.rows import definition
from fairaudit.spec import reading

ADDED = replace(
    SELECTION_RATE,
    id="share_of_true_positives",
    title="Share of true positives",
    short="tp share",
    aliases=("tp_share",),
    description="The share of the group that is rightly selected.",
    over=("tp",),
    under=("tp", "fp", "fn", "tn"),
)


@pytest.fixture
def one_record_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The catalogue with one record more: nothing else is told of it."""
    catalogue = (*CATALOGUE, ADDED)
    names = {name: one for one in catalogue for name in (one.id, *one.aliases)}
    monkeypatch.setattr(metrics, "CATALOGUE", catalogue)
    monkeypatch.setattr(metrics, "_BY_NAME", names)
    monkeypatch.setattr(reading, "CATALOGUE", catalogue)


DATA = pl.DataFrame(
    {"g": list("aaabbb"), "y": [1, 1, 0, 1, 0, 0], "p": [1, 0, 1, 1, 0, 0]},
)


def spec(*asked: Any) -> dict[str, Any]:
    outcome = {"positive": 1, "negative": 0}
    columns = {
        "protected": {"g": {"reference": "a"}},
        "label": {"column": "y", **outcome},
        "prediction": {"column": "p", **outcome},
    }
    return {"columns": columns, "metrics": list(asked)}


@pytest.mark.usefixtures("one_record_more")
def test_adding_a_rate_touches_one_record() -> None:
    ratio = {"metric": "share_of_true_positives", "compare": "ratio", "reference": "b"}
    found = fairaudit.audit(spec("tp_share", {**ratio, "fail": {"above": "1.5"}}), DATA)
    rates = {row.group: row.estimate.value for row in found.rates}
    assert rates == {(): 2 / 6, (("g", "a"),): 1 / 3, (("g", "b"),): 1 / 3}
    assert found.findings[0].check.id == "share_of_true_positives.ratio.b/g/prediction"
    tree = json.loads(report_json.written(report_json.document(found)))
    assert {row["metric"] for row in tree["rates"]} == {"share_of_true_positives"}
    assert "Share of true positives" in terminal.render(content.document(found))
    page = terminal.render(explain.page(definition(ADDED, worked=True)))
    assert "tp / (tp + fp + fn + tn)" in page
    assert "women 0.2, men 0.4" in page, "a worked example of its own"
    assert "share_of_true_positives" in explain.markdown([definition(ADDED)])
    with pytest.raises(SpecError, match="did you mean 'share_of_true_positives'"):
        fairaudit.audit(spec("share_of_true_positive"), DATA)


def test_docs_are_printed_from_the_records() -> None:
    every = [definition(one, worked=True) for one in (*CATALOGUE, *COMPARISONS)]
    shipped = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert shipped == explain.markdown(every), (
        "fairaudit metrics --format markdown > docs/metrics.md"
    )


@pytest.mark.long
def test_the_index_of_metrics_by_question_has_each_metric_once() -> None:
    page = (ROOT / "docs" / "which_metric.md").read_text("utf-8")
    named = re.findall(r"`(\w+)`", page.partition("## Metrics by question")[2])
    assert sorted(named) == sorted(record.id for record in CATALOGUE)


def test_every_metric_has_a_whole_page() -> None:
    for one in (*CATALOGUE, *COMPARISONS):
        page = definition(one, worked=True)
        words = (page.compares, page.use, page.formula, page.direction, page.source, page.example)
        with about(one.id):
            assert all(text.strip() for text in words)
            assert "nan" not in page.example
            assert page.example.count(" Result") == 1
            shown = terminal.render(explain.page(page))
            assert "".join(page.formula.split()) in "".join(shown.split())


@pytest.mark.long
def test_the_command_lists_all_of_them() -> None:
    command = [sys.executable, "-m", "fairaudit", "metrics"]
    # Wide enough that no name is broken, whatever the terminal that runs the tests.
    environment = {**os.environ, "COLUMNS": "200"}
    listed = subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", check=True, env=environment
    )
    for one in CATALOGUE:
        assert one.id in listed.stdout


@cache
def table_of(groups: int) -> GroupTable:
    """A table of so many groups, with random people."""
    joint = np.random.default_rng(groups).integers(1, 50, (1, 3, 3, groups))
    joint[:, 2] = joint[:, :, 2] = 0
    return GroupTable(
        by=("g",),
        given=(),
        of="prediction",
        groups=tuple((("g", f"{at:05}"),) for at in range(groups)),
        strata=((),),
        labels=("0", "1"),
        classes=("no", "yes"),
        positive_label=np.array([False, True, False]),
        positive=np.array([False, True, False]),
        favourable=True,
        people=joint,
        mass=joint,
        scale=1,
        squares=None,
        known=np.ones(groups, dtype=np.bool_),
        known_strata=np.ones(1, dtype=np.bool_),
    )


def calls(table: GroupTable, asked: Any) -> int:
    """How many functions of Python are entered while a measure is evaluated."""
    reference = None
    if isinstance(asked, Disparity) and asked.to_reference:
        reference = Reference(ReferencePolicy.LARGEST)
    utilities = tuple((cell, Decimal(1)) for cell in ("tp", "fp", "fn", "tn"))
    terms = MetricOptions(reference, parameters=Parameters(utilities=utilities))
    counted = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal counted
        counted += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        evaluate(asked, table, terms)
    finally:
        sys.setprofile(None)
    return counted


FROM_COUNTS = {Requirement.LABEL, Requirement.PREDICTION, Requirement.CLASSES}


@pytest.mark.long
def test_no_measure_loops_over_groups_in_python() -> None:
    for asked in (one for one in CATALOGUE if one.requirements <= FROM_COUNTS):
        few, many = (calls(table_of(groups), asked) for groups in (40, 400))
        with about(asked.id):
            # Ten times the groups; a few calls more or less are the collector's.
            assert many < 2 * few


def test_the_ladder_is_drawn_as_it_is_checked() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    blocks = (ROOT / "CONTRIBUTING.md").read_text().split("```")
    (drawn,) = (block for block in blocks if block.startswith("\n__main__ "))
    rungs = [" ".join(rung.split()) for rung in drawn.split(">")]
    assert rungs == contracts["contracts"][0]["layers"]


@pytest.mark.parametrize("notion", UNSUPPORTED_METRICS, ids=lambda one: one.names[0])
def test_a_notion_that_no_count_gives_says_so_and_names_measures_that_are_here(
    notion: UnsupportedMetric,
) -> None:
    """By each of its names, however they are written; none of them is a measure's."""
    for name in notion.names:
        assert metrics.find_metric(name) is None
        assert metrics.find_comparison(name) is None
        for written in (name, name.replace("_", " ").title(), name.replace("_", "-")):
            assert metrics.find_unsupported(written) is notion
            told = metrics.suggest(written)
            assert told.startswith(f": not a metric here, because {notion.why}; nearest: ")
            assert "did you mean" not in told
    assert all(metrics.find_metric(name) is not None for name in notion.nearest)
    assert notion.source


def test_a_spec_and_explain_say_why_a_notion_is_not_here(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Neither sends the reader to a measure that shares no more than the word fairness."""
    assert run_line(["explain", "counterfactual_fairness"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "requires a causal model" in told
    assert "nearest unexplained_difference" in told
    assert "test_fairness" not in told
    with pytest.raises(SpecError) as error:
        fairaudit.audit(spec({"metric": "individual_fairness", "fail": {"above": "0.1"}}), DATA)
    assert "nearest: consistency" in str(error.value)
    assert "differential_fairness" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("selecton_rate", "'selection_rate'"),
        ("equalised_odds_difference", "'equalized_odds_difference'"),
        ("equal_opportunity", "'equal_opportunity_difference'"),
        ("recal", "'recall'"),
        ("equalised odds ratio min", "'equalised_odds_ratio_min'"),
        ("roc curve", "nearest: auc"),
        ("propensity score matching", "nearest: propensity_stratified_difference"),
        ("k nearest neighbours", "nearest: consistency"),
        ("Blinder-Oaxaca", "nearest: explained_difference"),
        ("path-specific", "nearest: unexplained_difference"),
        ("minimax", "nearest: accuracy"),
        ("conditional independence", "nearest: unexplained_difference"),
        ("social_fairness", ""),
        ("utter_parity", ""),
    ],
)
def test_names_are_alike_in_more_than_their_common_words(name: str, near: str) -> None:
    """A slip of the pen is told; a name that shares only `fairness` or `parity` is not."""
    told = metrics.suggest(name)
    assert (near in told) if near else not told


@pytest.mark.parametrize(
    ("name", "title", "id_"),
    [
        # fairMLHealth, the table of definitions.
        ("Statistical Parity", "Demographic parity difference", "demographic_parity_difference"),
        ("equal_acceptance_rate", "Demographic parity", "demographic_parity_difference"),
        ("benchmarking", "Demographic parity", "demographic_parity_difference"),
        ("Predictive Equality", "Predictive equality", "predictive_equality"),
        ("conditional_procedure_accuracy_equality", "Equalized odds", "equalized_odds_difference"),
        ("Test-fairness", "Test fairness", "test_fairness"),
        ("positive_rate_difference", "Statistical parity", "statistical_parity_difference"),
        # Žliobaitė, §3.2.3, §3.2.7.
        ("slift", "Disparate impact ratio", "disparate_impact_ratio"),
        ("likelihood_ratio", "Likelihood ratio", "nearest disparate_impact_ratio"),
        ("normalized_prejudice_index", "Normalized mutual", "normalized_mutual_information"),
        ("independence", "Independence", "nearest demographic_parity_difference"),
    ],
)
def test_a_name_of_the_sources_is_explained(
    name: str, title: str, id_: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_line(["explain", name]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert told.startswith(title)
    assert id_ in told


def test_a_name_in_another_spelling_is_told_in_a_spec() -> None:
    for name, meant in (("Predictive Equality", "predictive_equality"), ("test-fairness", "test_")):
        with pytest.raises(SpecError, match=f"did you mean '{meant}"):
            fairaudit.audit(spec(name), DATA)


def test_the_kind_of_a_number_says_what_is_known_of_it() -> None:
    """Whoever declares a mean knows its deviations, whoever a share of a score its hits."""
    options = [
        option
        for metric in GROUP_METRICS
        for option in (metric.options if isinstance(metric, FirstOf) else (metric,))
    ]
    for metric in options:
        if isinstance(metric, Formula):
            is_mean = metric.kind in {ValueKind.MEAN, ValueKind.MEAN_OF_SHARES}
            assert (metric.deviation_of is not None) == is_mean, metric.id
            assert (metric.ends_of is not None) == bool(metric.method), metric.id
        if isinstance(metric, Ranked):
            assert (metric.counts_of is not None) == metric.is_proportion, metric.id
        if isinstance(metric, Rate):
            assert (metric.of_share is None) == metric.is_proportion, metric.id

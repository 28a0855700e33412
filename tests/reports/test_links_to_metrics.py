"""Findings link to what their metric measures, where the documentation has an address."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import fairaudit
from fairaudit.metrics import CATALOGUE
from fairaudit.report import format_named
from fairaudit.report.provenance import link_to_metric
from fairaudit.result import Answer

ROOT = Path(__file__).parents[2]
SITE = "https://docs.example/audits"
FORMATS = ("html", "markdown", "sarif")


@pytest.fixture(scope="module")
def result() -> fairaudit.AuditResult:
    """An audit with a check that fails."""
    rows = {"sex": ["f"] * 50 + ["m"] * 50, "d": [1] * 30 + [0] * 20 + [1] * 45 + [0] * 5}
    return fairaudit.audit(
        {
            "columns": {"protected": ["sex"], "decision": {"column": "d", "positive": 1}},
            "metrics": [{"metric": "impact_ratio", "fail": "< 0.8"}],
        },
        rows,
    )


def rendered(form: str, result: fairaudit.AuditResult) -> str:
    """The result in a format."""
    return str(format_named(form).render([Answer("spec.yaml", None, result)], all_rows=True))


@pytest.mark.parametrize("form", FORMATS)
def test_a_finding_links_to_its_metric(
    form: str, result: fairaudit.AuditResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"{SITE}/metrics.html#impact_ratio"
    monkeypatch.delenv("FAIRAUDIT_DOCS", raising=False)
    assert "docs.example" not in rendered(form, result)
    monkeypatch.setenv("FAIRAUDIT_DOCS", f"{SITE}/")
    text = rendered(form, result)
    assert address in text
    if form == "sarif":
        rules = json.loads(text)["runs"][0]["tool"]["driver"]["rules"]
        assert address in {rule.get("helpUri") for rule in rules}


@pytest.mark.parametrize(
    "site",
    ["javascript:alert(1)", "docs.example", "file:///docs", " ", "https://me:hunter2@docs.example",
     "https://ghp_token@docs.example/x", "https://docs.example/x?token=hunter2"],
)  # fmt: skip
def test_an_address_that_is_none_of_a_site_is_no_link(
    site: str, result: fairaudit.AuditResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = [rendered(form, result) for form in FORMATS]
    monkeypatch.setenv("FAIRAUDIT_DOCS", site)
    assert [rendered(form, result) for form in FORMATS] == bare


def test_quotes_in_the_address_stay_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRAUDIT_DOCS", 'https://docs.example/"><script>')
    assert link_to_metric("impact_ratio") == (
        "https://docs.example/%22%3E%3Cscript%3E/metrics.html#impact_ratio"
    )
    assert link_to_metric("no_metric") == ""


def test_every_metric_has_an_anchor_in_the_documentation() -> None:
    page = (ROOT / "docs" / "metrics.md").read_text("utf-8")
    lacking = [one.id for one in CATALOGUE if f'<a id="{one.id}"></a>' not in page]
    assert len(CATALOGUE) > 100
    assert not lacking

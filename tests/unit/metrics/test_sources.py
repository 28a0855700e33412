"""docs/coverage.md held against the catalogue, the schema of a spec and the tests."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

import pytest
from conftest import ROOT, about

import fairaudit
from fairaudit import metrics
from fairaudit.metrics import CATALOGUE
from fairaudit.metrics.comparisons import COMPARISONS
from fairaudit.spec.key_schema import REFERENCES

SOURCES = ("Fairlearn", "fairMLHealth", "Žliobaitė")
KINDS = {"measure", "test", "table", "figure", "caution", "procedure"}


@dataclass(frozen=True)
class Statement:
    """A row of docs/coverage.md."""

    section: str
    text: str
    kind: str
    here: str
    test: str

    @property
    def names(self) -> list[str]:
        """What stands in backticks: measures, keys of a spec, commands, documents."""
        return re.findall(r"`([^`]+)`", self.here)


def read_statements() -> list[Statement]:
    statements, section = [], ""
    for line in (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("|") and cells[0] != "statement" and not line.startswith("|---"):
            statements.append(Statement(section, *cells))
    return statements


STATEMENTS = read_statements()


def spec_keys() -> set[str]:
    """Every key and every word of a closed choice that a spec may have."""
    words = {*REFERENCES}

    def visit(node: object) -> None:
        if isinstance(node, dict):
            words.update(node.get("properties", {}))
            words.update(str(word) for word in node.get("enum", ()))
            for child in node.values():
                visit(child)
        elif isinstance(node, list):
            for child in node:
                visit(child)

    visit(json.loads((ROOT / "audit_specs" / "fairaudit.schema.json").read_text(encoding="utf-8")))
    return words


def is_known(name: str, keys: set[str]) -> bool:
    """Whether a measure, a key of a spec, a command, a function or a document is called that."""
    if name.startswith("fairaudit "):
        return name.split()[1] in (ROOT / "README.md").read_text(encoding="utf-8")
    if name.startswith("fairaudit."):
        return hasattr(fairaudit, name.removeprefix("fairaudit."))
    if "/" in name or name.endswith(".md"):
        return (ROOT / name.partition("#")[0]).is_file()
    key, _, value = name.partition(": ")
    if value:
        return key in keys
    notion = metrics.find_unsupported(name)
    record = metrics.find_metric(name) or metrics.find_comparison(name) or notion
    return key in keys or record is not None


def test_a_statement_names_what_is_there_and_a_test_that_exists() -> None:
    keys = spec_keys()
    for statement in STATEMENTS:
        with about(statement.text):
            check_statement(statement, keys)


def check_statement(statement: Statement, keys: set[str]) -> None:
    assert statement.kind in KINDS
    if statement.test == "–":
        assert statement.here.startswith("not here: ")
        assert len(statement.here.split()) > 5, "a reason is a sentence"
    else:
        path, _, name = statement.test.strip("`").partition("::")
        assert f"def {name}(" in (ROOT / "tests" / path).read_text(encoding="utf-8")
    unknown = [name for name in statement.names if not is_known(name, keys)]
    assert not unknown


def test_every_record_of_the_catalogue_has_a_row() -> None:
    named = {name for statement in STATEMENTS for name in statement.names}
    missing = {entry.id for entry in (*CATALOGUE, *COMPARISONS)} - named
    assert not missing


CAUTIONS = {
    "equal rates with careless selection": {"selection_rate": "careless selection"},
    "demographic parity fails where base rates": {"demographic_parity_difference": "base rates"},
    "overall accuracy where true negatives": {"overall_accuracy_equality": "a true negative"},
    "equal opportunity does not see": {"equal_opportunity_difference": "false positives"},
    "consistency depends on": {
        "consistency": "Irrelevant features, a large number of features, and missing values"
    },
    "that similar people have similar outcomes": {
        "consistency": "necessary for fairness, but not sufficient"
    },
    "consistency hides what": {
        "consistency": "all neighbours of a person belong to the same group"
    },
    "balanced residuals show nothing": {"balanced_residuals": "discrimination in the data"},
    "belift allows no explanation": {"belift": "correlates with the group explains nothing"},
    "mutual information has no sign": {
        "mutual_information": "no sign.*middle size has a small value"
    },
    "calibration does not reflect": {"calibration_slope": "not show what happens to people"},
    "ε does not say why": {"differential_fairness": "does not show why groups"},
    "the four-fifths rule is often misapplied": {"impact_ratio": "guidance for US employment"},
    "the rule of 80 %": {"impact_ratio": "four-fifths rule"},
    "unawareness does not always": {"fairness_through_unawareness": "not always reduce disparity"},
    "a causal link must be shown": {"counterfactual_fairness": "causal model"},
    "correlation does not show causation": {"causal_effect": "causal model"},
}
"""What a caution of docs/coverage.md promises: the words of the page of a measure, or a notion."""


def test_a_page_that_is_said_to_warn_has_the_words() -> None:
    claims = [
        statement
        for statement in STATEMENTS
        if statement.kind == "caution"
        and re.search("the caution of `|`fairaudit explain`|explained", statement.here)
    ]
    assert len(claims) > 10
    for statement in claims:
        assert any(statement.text.startswith(start) for start in CAUTIONS), statement.text
    for start, words in CAUTIONS.items():
        (row,) = (one for one in STATEMENTS if one.text.startswith(start))
        for name, pattern in words.items():
            assert name in row.names
            record, notion = metrics.find_metric(name), metrics.find_unsupported(name)
            page = record.caution if record else notion.advice if notion else ""
            assert re.search(pattern, page), name


@pytest.mark.parametrize("source", SOURCES)
def test_a_source_is_listed_with_its_cautions_and_procedures(source: str) -> None:
    """Not its measures alone; and no statement stands twice."""
    rows = [statement for statement in STATEMENTS if statement.section.startswith(source)]
    assert len({statement.text for statement in rows}) == len(rows)
    assert {"measure", "caution", "procedure"} <= {statement.kind for statement in rows}


def test_every_statement_of_the_sources_is_listed() -> None:
    """The five sources make 175 statements or more."""
    rows = [statement for statement in STATEMENTS if statement.section.startswith(SOURCES)]
    assert len(rows) >= 175

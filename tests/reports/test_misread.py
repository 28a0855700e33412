"""What readers took for something else: units, levels named Other, models, notices."""

from __future__ import annotations

import re

import pytest
from pages import elements, tree_of
from report_cases import sample

from fairaudit.report import markdown, remarks, terminal
from fairaudit.report.diagnostics import diagnose
from fairaudit.result import Answer, AuditResult

_RAW = re.compile(r"(?:above|below) -?0\.1|outside \[-?0\.1")
_OF_GAPS = ("berkeley_admissions", "compas_scores", "loans_subgroups")


def screen(result: AuditResult, width: int = 80) -> str:
    lines = terminal.draw(result, width)
    return "\n".join("".join(cell.text for cell in line.cells) for line in lines)


def comment(result: AuditResult) -> str:
    return markdown.render([Answer("s", None, result)]).partition("<details>")[0]


def listed(name: str) -> str:
    """The list of checks at the top of a page."""
    tree = elements(tree_of(name))
    return next(one.text for one in tree if one.attributes.get("class") == "list")


def test_the_limit_of_an_epsilon_is_told_once_as_a_ratio() -> None:
    """Of e to the power of 5, 148.4."""
    result, told = (
        sample("titanic"),
        "above 5: e^5 = 148 times as likely in one group as in another",
    )
    failed, passed = " ".join(screen(result).split()).split("1 check passed")
    assert failed.count(told) == 1
    assert passed.count(told) == 1
    assert comment(result).count(f"fails {told}") == 1
    assert listed("titanic").partition("1 check passed")[0].count(told) == 1


def test_a_level_named_other_is_marked() -> None:
    """It is one level of the data; all people outside a group are `everybody else`."""
    result = sample("compas_scores")
    for text in (screen(result), comment(result), diagnose(result)[0].sentence):
        assert "above that of race 'Other'" in text
        assert not re.search(r"race=Other|of Other\b", text)
    assert "by race: Hispanic compared with race 'Other'" in screen(sample("loans_theta"))


def test_the_reference_of_everybody_else_has_this_name() -> None:
    texts = comment(sample("loans")) + markdown.render([Answer("s", None, sample("loans"))])
    assert "difference to everybody else" in texts


def test_a_notice_on_small_groups_agrees_with_the_test_and_is_whole() -> None:
    text = " ".join(screen(sample("titanic")).split())
    assert "Is the gap more than chance? Yes" in text
    assert (
        "by class × sex × age, chance alone can put small groups over the limit (above 5): "
        "class=1st, sex=Female, age=Child (1 person)" in text
    )


@pytest.mark.parametrize("name", _OF_GAPS)
def test_a_gap_and_its_limit_have_one_unit(name: str) -> None:
    """Points, next to the sentence in points; the line of the spec is quoted as it is."""
    result = sample(name)
    for row in diagnose(result):
        assert re.fullmatch(r"-?[\d.]+ points", row.value)
        assert re.fullmatch(r"-?[\d.]+ to -?[\d.]+ points", row.interval)
        assert "10 points" in row.limit.replace("[-10, 10] points", "10 points")
        assert not _RAW.search(row.sentence)
    assert not _RAW.search(comment(result))
    assert not _RAW.search(listed(name))
    assert re.search(r"limit: (above 10|outside \[-10, 10\])\s+points", screen(result))


def test_each_model_says_its_label_and_its_decision() -> None:
    result = sample("compas_scores")
    first = "label: rearrested = 1; selected: decile at least 5"
    second = "label: rearrested = 1; selected: violent_decile at least 5"
    assert [dict(row.lines)["outcome"] for row in diagnose(result)] == [first, second]
    for text in (screen(result), comment(result), listed("compas_scores")):
        assert first in text
        assert second in text
    violence = screen(result).partition("violence: false positive rate")[2]
    assert "Is the true value above 10 points?" in violence


def test_measures_of_a_preset_are_no_checks() -> None:
    notices = [*remarks.first_notices(sample("compas_scores"))]
    assert notices[0].startswith("the preset fairmlhealth adds 21 measures without a limit: ")


def test_the_legend_of_two_limits_names_the_line_once_and_is_indented() -> None:
    lines = screen(sample("berkeley_admissions")).splitlines()
    start = next(index for index, line in enumerate(lines) if "● compared" in line)
    legend = "\n".join(lines[start : start + 2])
    assert legend.count("│") == 1
    assert lines[start + 1].startswith("   ")

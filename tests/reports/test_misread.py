"""What readers took for something else: units, levels named Other, models, notices."""

from __future__ import annotations

import re

import pytest
from pages import elements, tree_of
from report_cases import sample

from fairaudit.report import markdown, remarks, terminal
from fairaudit.report.diagnostics import by_label, diagnose
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
    label = "label of all models: rearrested = 1"
    first = f"{label}; selected: decile at least 5"
    second = f"{label}; selected: violent_decile at least 5"
    assert [dict(row.lines)["outcome"] for row in diagnose(result)] == [first, second]
    for text in (screen(result), comment(result), listed("compas_scores")):
        assert first in " ".join(text.split())
        assert second in " ".join(text.split())
    violence = screen(result).partition("violence: false positive rate")[2]
    assert "Is the true value above 10 points?" in violence


def test_measures_of_a_preset_are_no_checks() -> None:
    notices = [*remarks.first_notices(sample("compas_scores"))]
    assert notices[0].startswith(
        "the preset fairmlhealth adds 21 measures without a limit, such as "
    )
    assert "; the data has no columns for 7 others. From " in notices[0]


def test_the_legend_of_two_limits_names_the_line_once_and_is_indented() -> None:
    lines = screen(sample("berkeley_admissions")).splitlines()
    start = next(index for index, line in enumerate(lines) if "● compared" in line)
    legend = "\n".join(lines[start : start + 2])
    assert legend.count("│") == 1
    assert lines[start + 1].startswith("   ")


def test_the_top_says_whether_selection_is_good_for_people_and_whom_rows_count() -> None:
    tops = {name: " ".join(screen(sample(name)).split()) for name in ("titanic", "compas_scores")}
    assert (
        "rows that count 2,201 people; selected: fate = survived (good for people)"
        in (tops["titanic"])
    )
    assert (
        "selected: decile at least 5, violent_decile at least 5 (bad for people)"
        in (tops["compas_scores"])
    )


def test_a_picture_says_that_it_shows_the_opposite_of_the_outcome_of_its_headline() -> None:
    first, *_ = diagnose(sample("titanic"))
    assert first.headline.startswith("'died' occurs in ")
    assert first.picture is not None
    assert first.picture.axis == "selection rate (fate = survived, the opposite of 'died')"
    for row in diagnose(sample("loans")):
        assert row.picture is None or "opposite" not in row.picture.axis


def test_a_smoothed_epsilon_says_what_is_judged_and_why_it_is_finite() -> None:
    """(154 + 1)/(168 + 2) is 26.62 times (4 + 1)/(144 + 2); 154/168 is 33 times 4/144."""
    (row,) = (row for row in diagnose(sample("titanic")) if row.finding.estimate.unsmoothed)  # type: ignore[union-attr]
    assert row.headline == (
        "'died' is 26.62 times as likely for 2nd × Male × Adult as for 1st × Female × Adult "
        "(ε 3.282: 26.62 = e^ε; without smoothing, a rate of 0 makes it ∞), judged with smoothing 1"
    )


def test_rates_of_a_check_have_the_same_decimals_for_all_models_and_at_the_same_mix() -> None:
    for name, decimals in (("compas_scores", {2}), ("loans", {1, 2}), ("berkeley_admissions", {2})):
        found = set()
        for row in diagnose(sample(name)):
            who = " ".join(text for label, text in by_label(row.lines) if label == "who")
            digits = {len(one) for one in re.findall(r"\.(\d+) %", who)}
            assert len(digits) <= 1, who
            found |= digits
        assert found == decimals, name


def test_a_gap_within_its_limit_that_a_reversal_warns_of_says_so() -> None:
    text = " ".join(screen(sample("loans")).split())
    assert (
        "true positive rate of 'under 40' is 3.6 points above that of '40 and over' (fails above "
        "10 points; the check of Simpson's reversals looks at this gap within strata)" in text
    )


def test_results_without_a_limit_are_counted_in_plain_words() -> None:
    (remark,) = remarks.uncovered(sample("loans"))
    assert remark.startswith(
        "8 of 35 results have a limit (a result: one measure by one combination of columns). The "
        "worst impact ratio without a limit is "
    )

"""How levels are named, merged, kept, cut and declared; rates by counting rows in plain Python."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

import fairaudit
from fairaudit.base.errors import DataError, SpecError
from fairaudit.report import diagnostics
from fairaudit.result import AuditResult

CODES = ["A91", "A92", "A93", "A94"]
LABELS = {"A91": "male, divorced", "A92": "female", "A93": "male, single", "A94": "male, married"}
ROWS = [(CODES[row % 4], row % 7, row % 3 % 2) for row in range(84)]
DATA = pl.DataFrame(ROWS, schema=["status", "years", "d"], orient="row")
MEN = ["A91", "A93", "A94"]


def _rates(body: Mapping[str, Any], **columns: Any) -> dict[str, float]:
    described = {"protected": {"status": body}, "decision": "d", **columns}
    result = fairaudit.audit({"columns": described, "metrics": "selection_rate"}, DATA)
    return {row.group[0][1]: row.estimate.value for row in result.rates if row.group}


def _count(of: Mapping[str, list[str]]) -> dict[str, float]:
    """The share of positives of the rows with these codes."""
    chosen = {name: [d for code, _, d in ROWS if code in codes] for name, codes in of.items()}
    return {name: sum(found) / len(found) for name, found in chosen.items()}


@pytest.mark.parametrize(
    ("body", "groups"),
    [
        ({"labels": LABELS}, {label: [code] for code, label in LABELS.items()}),
        ({"labels": dict.fromkeys(MEN, "male")}, {"male": MEN, "A92": ["A92"]}),
        (
            {"labels": LABELS, "merge": {"male": ["A91", "male, single", "A94"]}},
            {"male": MEN, "female": ["A92"]},
        ),
        (
            {"merge": {"men": MEN}, "keep": ["men"], "other": "women"},
            {"men": MEN, "women": ["A92"]},
        ),
        ({"merge": {"men": MEN}, "keep": []}, {"men": MEN, "other": ["A92"]}),
        (
            {"merge": {"A91": ["A91", "A93"]}, "keep": ["A92", "A91"]},
            {"A91": ["A91", "A93"], "A92": ["A92"], "other": ["A94"]},
        ),
        (
            {"levels": [*CODES, "A95"], "merge": {"rare": ["A95", "A94"]}},
            {"rare": ["A94"], "A91": ["A91"], "A92": ["A92"], "A93": ["A93"]},
        ),
        ({"labels": LABELS, "reference": "A92"}, {label: [code] for code, label in LABELS.items()}),
    ],
    ids=str,
)
def test_levels_are_labelled_merged_and_kept(
    body: Mapping[str, Any], groups: Mapping[str, list[str]]
) -> None:
    assert _rates(body) == pytest.approx(_count(groups))


@pytest.mark.parametrize(
    ("cut", "bins"),
    [
        ({"over": [3]}, {"3 and under": range(4), "over 3": range(4, 7)}),
        ({"bins": [3]}, {"under 3": range(3), "3 and over": range(3, 7)}),
        (
            {"over": [1, 3]},
            {"1 and under": range(2), "over 1 to 3": range(2, 4), "over 3": range(4, 7)},
        ),
    ],
    ids=str,
)
def test_an_edge_belongs_to_the_bin_above_or_with_over_below(
    cut: Mapping[str, Any], bins: Mapping[str, range]
) -> None:
    counted = {
        name: [d for _, years, d in ROWS if years in inside] for name, inside in bins.items()
    }
    expected = {name: sum(hits) / len(hits) for name, hits in counted.items()}
    assert _rates({"column": "years", **cut}) == pytest.approx(expected)


def test_both_kinds_of_cut_may_stand_on_one_column() -> None:
    strata = {"half": {"column": "years", "bins": [3]}}
    rates = _rates({"column": "years", "over": [3]}, strata=strata)
    assert {*rates} == {"3 and under", "over 3"}


def test_strata_are_recoded_like_attributes() -> None:
    strata = {"s": {"column": "status", "labels": LABELS, "merge": {"male": MEN}}}
    columns = {"protected": {"years": {"bins": [3]}}, "decision": "d", "strata": strata}
    metrics = [{"metric": "selection_rate", "given": "s"}]
    result = fairaudit.audit({"columns": columns, "metrics": metrics}, DATA)
    strata_seen = {row.stratum[0][1] for row in result.rates if row.stratum}
    assert strata_seen == {"male", "female"}


@pytest.mark.parametrize("edges", ["bins", "over"])
def test_bins_are_called_what_labels_say(edges: str) -> None:
    first = "under 2" if edges == "bins" else "2 and under"
    body = {"column": "years", edges: [2, 4], "labels": {first: "new"}, "reference": first}
    found = _rates(body)
    few = [d for _, years, d in ROWS if (years < 2 if edges == "bins" else years <= 2)]
    between = "2 to 4" if edges == "bins" else "over 2 to 4"
    last = "4 and over" if edges == "bins" else "over 4"
    assert list(found) == ["new", between, last]
    assert found["new"] == sum(few) / len(few)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"merge": {"x": ["A95"]}}, "no level 'A95' in status; did you mean"),
        ({"merge": {"x": ["Zebra", "A91"]}}, "no level 'Zebra' in status; available: 'A91'"),
        ({"keep": ["Zebra"]}, "no level 'Zebra' in status; available: 'A91'"),
        ({"levels": CODES, "keep": ["A95"]}, "'A95' is not one of the `levels`; did you mean"),
        ({"levels": CODES, "labels": {"B": "b"}}, "'B' is not one of the `levels`"),
        ({"labels": {"A91": "(unknown)"}}, "is reserved for unknown values"),
        ({"over": [3], "bins": [3]}, "either `bins` or `over`, not both"),
        ({"over": [3], "levels": CODES}, "a column with bins cannot have"),
        ({"merge": {"x": ["A91"]}, "keep": ["A91"]}, "both merged and kept"),
        ({"labels": LABELS, "merge": {"x": ["A92"]}, "keep": ["female"]}, "both merged and kept"),
        ({"labels": LABELS, "merge": {"x": ["A92"], "y": ["female"]}}, "'female' is merged twice"),
        ({"keep": ["A91"], "other": "A91"}, "'A91' is a kept level: use another name for `other`"),
        ({"labels": {"A91": ""}}, "a label cannot be empty; use `unknown` for unknown values"),
        ({"bins": [3], "labels": {"under 4": "few"}}, "unknown bin; did you mean 'under 3'"),
        ({"bins": [3], "labels": {"few": "x"}}, "unknown bin; available: 'under 3', '3 and over'"),
        (
            {"bins": [3, 5], "labels": {"under 3": "x", "3 to 5": "x"}},
            "two bins have the label 'x'",
        ),
        (
            {"bins": [3], "labels": {"under 3": "3 and over"}},
            "two bins have the label '3 and over'",
        ),
        (
            {"quantiles": 2, "labels": {"x": "y"}},
            ("`quantiles` cannot have labels, because the edges depend on the data: use `bins`"),
        ),
    ],
    ids=str,
)
def test_a_level_that_a_recoding_needs_and_lacks_is_a_fault(
    body: Mapping[str, Any], message: str
) -> None:
    with pytest.raises(SpecError) as caught:
        _rates(body)
    assert message in str(caught.value)


def test_a_label_without_its_code_is_told_and_not_where_a_codebook_expects_it() -> None:
    body: dict[str, Any] = {"labels": {**LABELS, "A95": "female, single"}}
    columns = {"protected": {"status": body}, "decision": {"column": "d", "positive": 1}}
    spec = {"columns": columns, "metrics": "selection_rate"}
    (notice,) = fairaudit.audit(spec, DATA).notices
    assert notice == "status: 'A95' of `labels` does not occur"
    body["levels"] = [*CODES, "A95"]
    assert not fairaudit.audit(spec, DATA).notices


def test_a_level_that_is_not_declared_is_an_error_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    DATA.write_csv(path)
    body: dict[str, Any] = {"levels": ["A91", "A92", "A94"]}
    columns = {"protected": {"status": body}, "decision": "d"}
    spec = {"columns": columns, "metrics": "selection_rate"}
    with pytest.raises(DataError, match=r"21 rows have a status of 'A93'.*first: .*rows\.csv:4"):
        fairaudit.audit(spec, path)
    body["unknown"] = ["A93"]
    assert fairaudit.audit(spec, path).ledger.counted == len(ROWS)
    del body["unknown"]
    assert fairaudit.audit({**spec, "filter": "status <> 'A93'"}, path).ledger.counted == 63


def test_where_small_counts_are_hidden_an_undeclared_level_is_not_counted(tmp_path: Path) -> None:
    DATA.write_csv(tmp_path / "rows.csv")
    columns = {"protected": {"status": {"levels": ["A91", "A92", "A94"]}}, "decision": "d"}
    spec = {"columns": columns, "metrics": "selection_rate", "suppress_below": 30}
    (answer,) = fairaudit.audit_each(spec, tmp_path).values()
    assert str(answer).startswith("rows have a status of 'A93', which `levels` leaves out\n")


def test_people_who_are_not_known_are_named_by_their_label_too() -> None:
    body = {"labels": {"A94": "nobody knows"}, "unknown": ["nobody knows"]}
    assert _rates(body) == {**_count({code: [code] for code in CODES[:3]}), **_unknown("A94")}


def _unknown(code: str) -> dict[str, float]:
    return _count({"(unknown)": [code]})


@pytest.mark.parametrize(
    ("body", "notices"),
    [
        ({"labels": {"A91": "A92"}}, ["status: 'A91' joins the level 'A92' by its label"]),
        ({"labels": {"A91": "A92", "A92": "A91"}}, []),
        ({"labels": dict.fromkeys(MEN, "male")}, []),
        ({"labels": LABELS, "unknown": ["A94"]}, []),
    ],
    ids=str,
)
def test_a_label_that_is_another_level_is_told(body: Any, notices: list[str]) -> None:
    columns = {"protected": {"status": body}, "decision": {"column": "d", "positive": 1}}
    assert [*fairaudit.audit({"columns": columns, "metrics": "selection_rate"}, DATA).notices] == (
        notices
    )


def test_two_labels_of_one_level_are_a_fault() -> None:
    labels = {"3": "three", "3.0": "tree"}
    with pytest.raises(SpecError, match=r"'3', '3\.0' of `labels` are one level"):
        _rates({}, strata={"years": {"labels": labels}})


def test_a_level_of_a_rule_may_be_absent_where_levels_says_what_may_occur() -> None:
    """Of several files one may have nobody of it; without `levels` it is likely a typo."""
    rule = {"H": {"e": "Hispanic"}, "W": {"r": "White"}}
    combined: dict[str, Any] = {"combine": ["r", "e"], "rule": rule}
    data = pl.DataFrame({"r": ["White", "Black"] * 2, "e": ["Not"] * 4, "p": [1, 0, 1, 1]})
    spec = {"columns": {"protected": {"both": combined}, "decision": "p"},
            "metrics": ["selection_rate"]}  # fmt: skip
    with pytest.raises(SpecError, match=r"no level 'Hispanic' in e; .* may be absent"):
        fairaudit.audit(spec, data)
    combined["levels"] = ["H", "W", "other"]
    result = fairaudit.audit(spec, data)
    assert any("both: no level 'Hispanic' in e" in notice for notice in result.notices)
    sizes = {row.group[0][1]: row.n for row in result.groups if row.by}
    assert sizes == {"W": 2, "other": 2, "H": 0}


@pytest.mark.parametrize("reference", ["men", {"sex": "men"}])
def test_an_entry_compares_with_a_level_that_somebody_has(reference: Any, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("sex,race,d\nman,A,1\nwoman,B,0\nman,B,1\nwoman,A,0\n")
    entry: dict[str, Any] = {"metric": "selection_rate", "compare": "difference", "by": ["sex"]}
    spec = {
        "columns": {"protected": ["sex", "race"], "decision": "d"},
        "metrics": [{**entry, "reference": reference, "fail": {"below": -0.9}}],
    }
    with pytest.raises(
        SpecError, match=r"reference.*: the reference 'men' is not a level of sex.*'man'"
    ):
        fairaudit.audit(spec, tmp_path / "rows.csv")
    entry["reference"] = "man" if isinstance(reference, str) else {"sex": "man"}
    result = fairaudit.audit({**spec, "metrics": [entry]}, tmp_path / "rows.csv")
    assert {row.group[0][1] for row in result.comparisons if row.group} == {"woman"}


def test_a_word_for_unknown_that_looks_like_a_level_is_told() -> None:
    rows = pl.DataFrame({"race": ["Other", "White"] * 20, "d": [1, 0, 0, 1] * 10})

    def notices(*unknown: str) -> list[str]:
        columns = {"protected": {"race": {"unknown": list(unknown)}}, "decision": "d"}
        result = fairaudit.audit({"columns": columns, "metrics": ["selection_rate"]}, rows)
        return [notice for notice in result.notices if "of `unknown`" in notice]

    assert notices("Othr") == ["race: 'Othr' of `unknown` does not occur; did you mean 'Other'?"]
    assert notices("Other", "Refused to say") == []


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("status != 'A95'", ["'A95' of the filter does not occur; did you mean"]),
        ("status is distinct from 'A95'", ["'A95' of the filter does not occur; did you mean"]),
        ("\"status\" = 'A91' or status = 'B'", ["'B' of the filter does not occur"]),
        ("status in ('A91', 'Zebra', 'X')", ["'Zebra' of the filter", "'X' of the filter"]),
        ("status not in ('Zebra') and years > 2", ["'Zebra' of the filter"]),
        ("status in ('A91', 'A92') and years > 2", []),
        ("status <> 'A91'", []),
        ("lower(status) = 'a91'", []),
        ("status like 'Z%' or years > 2", []),
    ],
)
def test_a_value_of_the_filter_that_no_row_has_is_told(condition: str, told: list[str]) -> None:
    columns = {"protected": ["status"], "decision": {"column": "d", "positive": 1}}
    spec = {"columns": columns, "metrics": "selection_rate", "filter": condition}
    notices = [text for text in fairaudit.audit(spec, DATA).notices if "does not occur" in text]
    assert len(notices) == len(told)
    assert all(words in text for words, text in zip(told, notices, strict=True))


def test_under_suppression_silence_about_a_value_of_the_filter_tells_of_nobody() -> None:
    """One person has `rare`: that it occurs is not told by the lack of a notice."""
    rows = [*ROWS, ("rare", 1, 1)]
    people = pl.DataFrame(rows, schema=["status", "years", "d"], orient="row")
    columns = {"protected": ["status"], "decision": {"column": "d", "positive": 1}}
    spec: dict[str, Any] = {"columns": columns, "metrics": "selection_rate", "suppress_below": 11}
    for value in ("rare", "rarer"):
        notices = fairaudit.audit({**spec, "filter": f"status != '{value}'"}, people).notices
        assert not any("of the filter does not occur" in text for text in notices)


@pytest.mark.parametrize("labels", [{}, {"under 3": "few"}])
def test_an_entry_that_compares_with_a_bin_that_there_is_not_is_a_fault(
    labels: dict[str, str],
) -> None:
    columns = {
        "protected": {"years": {"bins": [3], "labels": labels}},
        "decision": {"column": "d", "positive": 1},
    }
    entry = {"metric": "disparate_impact_ratio", "fail": "< 0.8"}

    def audit(reference: str) -> fairaudit.AuditResult:
        metrics = [{**entry, "reference": {"years": reference}}]
        return fairaudit.audit({"columns": columns, "metrics": metrics}, DATA)

    assert audit(labels.get("under 3", "under 3")).exit_code in {0, 1}
    with pytest.raises(SpecError, match="the reference 'undr 3' is not a level of years"):
        audit("undr 3")


def test_a_filter_that_only_leaves_out_who_is_not_known_says_so() -> None:
    rows = [*ROWS, (None, 1, 1)]
    people = pl.DataFrame(rows, schema=["status", "years", "d"], orient="row")
    columns = {"protected": ["status"], "decision": {"column": "d", "positive": 1}}
    spec = {"columns": columns, "metrics": "selection_rate", "filter": "status != 'A95'"}
    words = "the filter removes no row but those that lack a value it needs: status != 'A95'"
    assert words in fairaudit.audit(spec, people).notices
    some = fairaudit.audit({**spec, "filter": "status != 'A91'"}, people).notices
    assert words not in some
    alike = "or has a value that looks like 'A91' and is written differently"
    ends = "; by status: (unknown) (1); not counted"
    assert some[0] == f"1 row lacks a value that the filter needs, {alike}{ends}"


_GATE = {"metric": "demographic_parity_ratio", "fail": {"below": 0.8}}


def _audit_people(
    body: Mapping[str, Any], people: Mapping[str, tuple[int, int]]
) -> tuple[AuditResult, list[str]]:
    """The audit of so many selected and others of each level; what its check says of look-alikes.

    Groups of fewer than 100 people are not compared.
    """
    rows = [
        (level, selected)
        for level, counts in people.items()
        for selected, n in zip((1, 0), counts, strict=True)
        for _ in range(n)
    ]
    data = pl.DataFrame(rows, schema=["x", "d"], orient="row")
    columns = {"protected": {"g": {"column": "x", **body}}, "decision": "d"}
    spec = {"columns": columns, "metrics": [_GATE], "groups": {"min_size": 100}}
    result = fairaudit.audit(spec, data)
    reasons = [part.reason for part in result.findings[0].not_evaluated]
    return result, [reason for reason in reasons if "similar spelling" in reason]


@pytest.mark.parametrize("spelt", [("F", "f"), ("2", "2.0"), ("F", "F\ufe0f"), ("F", "F\x01")])
@pytest.mark.parametrize(
    "body",
    [
        "{}",
        "labels: {M: men, %s: women}",
        "{labels: {M: men, %s: women}, reference: women}",
        "merge: {women: ['%s']}",
        "keep: [M, '%s']",
    ],
)
def test_levels_that_look_alike_are_told_where_one_of_them_is_renamed(
    body: str, spelt: tuple[str, str]
) -> None:
    usual, rare = spelt
    people = {"M": (300, 100), usual: (200, 100), rare: (0, 90)}
    assert (200 / 300) / (300 / 400) > 0.8 > (200 / 390) / (300 / 400)
    result, reasons = _audit_people(yaml.safe_load(body.replace("%s", usual)), people)
    assert result.findings[0].status == "inconclusive"
    apart = "levels with similar spelling are counted separately"
    told = f"{apart}: '{usual}', {rare!a} of 'g'; joined, "
    remedy = "`merge` or `trim` them, or give each a name in `labels`"
    assert reasons == [f"{told}the status would be fail, not pass: {remedy}"]
    (diagnostic,) = diagnostics.diagnose(result)
    assert ("note", reasons[0]) in diagnostic.lines
    assert f"g: the levels '{usual}', {rare!a} are counted apart" in " ".join(result.notices)


def test_levels_that_look_alike_and_have_a_name_each_are_different() -> None:
    people = {"M": (300, 100), "F": (200, 100), "f": (0, 90)}
    result, reasons = _audit_people({"labels": {"F": "women", "f": "firms"}}, people)
    assert (result.findings[0].status, reasons) == ("pass", [])
    assert not any("apart" in notice for notice in result.notices)
    result, reasons = _audit_people({"labels": {"F": "women", "f": "Women"}}, people)
    assert result.findings[0].status == "inconclusive"
    assert len(reasons) == 1


def test_levels_that_look_like_a_word_for_unknown_are_told() -> None:
    people = {"1": (300, 100), "2": (200, 100), "9": (0, 90), "9.0": (0, 150)}
    result, reasons = _audit_people({"unknown": "9"}, people)
    assert result.findings[0].status == "fail"  # of 9.0 nobody is selected
    told = "levels with similar spelling are counted separately: '9', '9.0' of 'g'; joined, "
    assert reasons == [f"{told}the status would be pass, not fail"]
    (notice,) = (notice for notice in result.notices if "'9.0'" in notice)
    assert "g: '9.0' counts as a level like any other" in notice


def test_a_recoding_that_joins_levels_that_look_alike_is_silent() -> None:
    people = {"M": (300, 100), "F": (200, 100), "f": (0, 90)}
    result, reasons = _audit_people({"merge": {"women": ["F", "f"], "men": ["M"]}}, people)
    assert result.findings[0].status == "fail"
    assert not reasons
    assert not any("apart" in notice for notice in result.notices)

"""Nulls, tokens, unexpected labels, unknown levels: the ledger closes and says where rows went."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from conftest import rate_of

import fairaudit
from fairaudit.base.errors import DataError, SpecError
from fairaudit.metrics import Eligibility
from fairaudit.result import AuditResult

Audit = Callable[..., AuditResult]

TEXT = """\
race,sex,site,label,approved
a,f,x,1,yes
a,m,x,0,yes
a,f,x,1,no
a,m,y,0,no
b,f,y,1,yes
b,m,y,0,no
?,f,x,1,yes
,m,x,0,no
NA,f,y,1,no
a,f,,0,yes
b,m,x,,no
b,f,x,,yes
"""


def spec(**missing: str) -> dict[str, Any]:
    """A spec of the text above with these policies."""
    return {
        "columns": {
            "protected": {"race": {"unknown": ["?"]}, "sex": {}},
            "label": {"column": "label", "positive": 1},
            "prediction": {"column": "approved", "positive": "yes"},
            "strata": ["site"],
        },
        "missing": {"tokens": ["", "NA"], **missing},
        "metrics": ["selection_rate", "base_rate", "true_positive_rate"],
    }


def sizes(result: AuditResult, *by: str) -> dict[str, int]:
    """People by level of one attribute."""
    return {
        row.group[0][1]: row.n or 0
        for row in result.groups
        if row.by == by and row.of == "prediction" and not row.stratum
    }


@pytest.mark.long
@pytest.mark.parametrize("policy", ["aside", "drop", "show", "group"])
@pytest.mark.parametrize(
    "rows", ["g,r,y\n,a,1\nF,,0\n", "g,r,y\n,a,1\n,b,0\n", "g,r,y\n,,1\n,,0\n"]
)
def test_attributes_that_nobody_is_known_in_are_no_crash(
    tmp_path: Path, policy: str, rows: str
) -> None:
    (tmp_path / "data.csv").write_text(rows)
    spec = {
        "columns": {"protected": ["g", "r"], "decision": {"column": "y", "positive": 1}},
        "metrics": [
            "selection_rate",
            {"metric": "demographic_parity_ratio", "by": "all", "fail": {"below": 0.8}},
            {"metric": "selection_rate", "compare": "ratio", "reference": "rest"},
            {"metric": "differential_fairness", "by": "all", "warn": {"above": 1}},
        ],
        "simpson": {"rates": ["selection_rate"], "warn": "every_stratum"},
        "missing": {"protected": policy},
    }
    result = fairaudit.audit(spec, tmp_path / "data.csv")
    assert result.exit_code in {1, 3}
    assert result.ledger.counted == 2


def test_shown_unknowns_are_listed_and_never_compared(audit_csv: Audit) -> None:
    result = audit_csv(TEXT, {**spec(), "metrics": ["selection_rate", "demographic_parity_ratio"]})
    assert sizes(result, "race") == {"a": 5, "b": 4, "(unknown)": 3}
    unknown = rate_of(result, "selection_rate", race="(unknown)")
    assert unknown.standing is Eligibility.UNKNOWN
    row = next(row for row in result.comparisons if row.by == ("race",))
    assert {row.first, row.second} == {(("race", "a"),), (("race", "b"),)}
    assert {(line.column, line.rows) for line in result.ledger.set_aside} == {
        ("race", 3),
        ("site", 1),
        ("label", 2),
    }


def test_shown_unknowns_are_in_no_rest(audit_csv: Audit) -> None:
    metrics = [{"metric": "selection_rate", "compare": "difference", "reference": "rest"}]
    result = audit_csv(TEXT, {**spec(), "metrics": metrics})
    row = next(r for r in result.comparisons if r.group == (("race", "a"),))
    (part,) = row.parts
    assert part.second is not None
    assert (part.second.estimate.numerator, part.second.estimate.denominator) == (2, 4)


def test_a_group_of_unknowns_is_compared(audit_csv: Audit) -> None:
    result = audit_csv(TEXT, spec(protected="group"))
    assert rate_of(result, "selection_rate", race="(unknown)").standing is Eligibility.ELIGIBLE


@pytest.mark.parametrize("policy", ["aside", "drop"])
def test_set_aside_leaves_only_the_subsets_with_that_column(audit_csv: Audit, policy: str) -> None:
    result = audit_csv(TEXT, spec(protected=policy))
    assert sizes(result, "race") == {"a": 5, "b": 4}
    assert sizes(result, "sex") == {"f": 7, "m": 5}
    assert result.ledger.counted == 12


@pytest.mark.parametrize(
    ("policy", "read", "counted", "dropped"),
    [("aside", 12, 12, []), ("drop", 12, 10, [("label", 2)])],
)
def test_labels(
    audit_csv: Audit, policy: str, read: int, counted: int, dropped: list[tuple[str, int]]
) -> None:
    result = audit_csv(TEXT, spec(label=policy))
    ledger = result.ledger
    assert (ledger.read, ledger.counted) == (read, counted)
    assert [(line.column, line.rows) for line in ledger.dropped] == dropped


def test_labels_known_only_for_the_selected_change_no_selection_rate(audit_csv: Audit) -> None:
    """The usual credit file: who was refused has no outcome."""
    known = TEXT.splitlines()
    refused = [
        line.rsplit(",", 2)[0] + ",," + "no" if line.endswith("no") else line for line in known
    ]
    before, after = (audit_csv("\n".join(t) + "\n", spec()) for t in (known, refused))
    for level in ("a", "b"):
        one, other = (rate_of(result, "selection_rate", race=level) for result in (before, after))
        assert one.estimate == other.estimate
    assert rate_of(after, "true_positive_rate", race="a").estimate.value == 1.0


@pytest.mark.parametrize(
    ("missing", "column", "line"),
    [
        ({"protected": "error"}, "race", 8),
        ({"label": "error"}, "label", 12),
        ({"strata": "error"}, "site", 11),
    ],
)
def test_error_names_column_count_file_and_line(
    audit_csv: Audit, missing: dict[str, str], column: str, line: int
) -> None:
    with pytest.raises(DataError) as caught:
        audit_csv(TEXT, spec(**missing))
    message = str(caught.value)
    assert repr(column) in message
    assert f"data.csv:{line}" in message
    assert "a,f" not in message


def test_a_missing_prediction_is_an_error_by_default(audit_csv: Audit) -> None:
    text = TEXT + "a,f,x,1,\n"
    with pytest.raises(DataError, match=r"1 row has no value in the prediction 'approved'.*csv:14"):
        audit_csv(text, spec())
    aside = audit_csv(text, spec(prediction="aside"))
    assert aside.ledger.counted == 13
    assert rate_of(aside, "selection_rate", race="a").estimate.denominator == 5
    assert rate_of(aside, "base_rate", race="a").estimate.denominator == 6
    dropped = audit_csv(text, spec(prediction="drop"))
    assert [(line.column, line.rows) for line in dropped.ledger.dropped] == [("approved", 1)]


def test_strata_unknown_are_shown_and_not_judged(audit_csv: Audit) -> None:
    metric = {"metric": "demographic_parity_difference", "given": "site", "fail": {"above": 0.9}}
    result = audit_csv(TEXT, {**spec(), "metrics": [metric]})
    reasons = [who.reason for one in result.findings for who in one.not_evaluated]
    assert "the stratum is not known (1 person)" in reasons
    gone = audit_csv(TEXT, {**spec(strata="drop"), "metrics": [metric]})
    assert [(line.column, line.rows) for line in gone.ledger.dropped] == [("site", 1)]


OTHERS = "race,y\na,yes\nb,no\na,withdrawn\nb,yes\n"


def others(**outcome: Any) -> dict[str, Any]:
    """A spec of the text above with this decision."""
    return {
        "columns": {
            "protected": ["race"],
            "decision": {"column": "y", "positive": "yes", **outcome},
        },
        "metrics": ["selection_rate", "differential_fairness"],
    }


def test_a_third_value_is_a_fault_that_lists_them(audit_csv: Audit) -> None:
    with pytest.raises(SpecError, match=r"more than two values.*'no', 'withdrawn'"):
        audit_csv(OTHERS, others())


def test_others_are_an_error_or_dropped_with_a_line_in_the_ledger(audit_csv: Audit) -> None:
    with pytest.raises(SpecError, match="neither positive nor negative: 'withdrawn'"):
        audit_csv(OTHERS, others(negative="no"))
    result = audit_csv(OTHERS, others(negative="no", others="drop"))
    ledger = result.ledger
    assert (ledger.read, ledger.counted) == (4, 3)
    assert [(line.column, line.rows) for line in ledger.dropped] == [("y", 1)]


def test_several_negatives_stay_classes_of_their_own_for_epsilon(audit_csv: Audit) -> None:
    text = "race,y\n" + "a,yes\na,no\na,withdrawn\na,withdrawn\nb,yes\nb,no\nb,no\nb,withdrawn\n"
    result = audit_csv(text, others(negative=["no", "withdrawn"]))
    (row,) = [row for row in result.comparisons if row.metric == "differential_fairness"]
    assert row.estimate.value == pytest.approx(0.6931471805599453)
    assert rate_of(result, "selection_rate", race="a").estimate.value == 0.25


def test_a_positive_that_never_occurs(audit_csv: Audit) -> None:
    text = "race,y\na,no\nb,no\n"
    with pytest.raises(SpecError, match="never occurs"):
        audit_csv(text, others())
    month = audit_csv(text, others(negative="no"))
    assert rate_of(month, "selection_rate", race="a").estimate.value == 0.0


@pytest.mark.parametrize(
    "column", [("1", "0"), ("1.0", "0.0"), ("true", "false"), ("True", "False"), ("01", "00")]
)
def test_values_match_by_the_type_of_the_column(audit_csv: Audit, column: tuple[str, str]) -> None:
    yes, no = column
    text = f"race,y\na,{yes}\na,{no}\nb,{yes}\nb,{yes}\n"
    result = audit_csv(text, others(positive=1))
    assert rate_of(result, "selection_rate", race="a").estimate.value == 0.5


def test_protected_levels_stay_text(audit_csv: Audit) -> None:
    text = "race,y\n01,yes\n1,no\n001,yes\n1,yes\n"
    assert sizes_of(audit_csv(text, others())) == {"001": 1, "01": 1, "1": 2}


def sizes_of(result: AuditResult) -> dict[str, int]:
    """People by level of the one attribute."""
    return {row.group[0][1]: row.n or 0 for row in result.groups if row.by}


def test_recoding_in_order(audit_csv: Audit) -> None:
    text = "race,y\n a ,yes\nb,no\nc,yes\nd,no\n?,yes\n"
    recode = {"trim": True, "unknown": "?", "merge": {"ab": ["a", "b"]}, "keep": ["c"]}
    spec_ = others()
    spec_["columns"]["protected"] = {"race": recode}
    assert sizes_of(audit_csv(text, spec_)) == {"ab": 2, "c": 1, "other": 1, "(unknown)": 1}


def test_bins_belong_above_their_edges(audit_csv: Audit) -> None:
    text = "race,y\n24.99,yes\n25,no\n39,yes\n40,no\n,yes\n120,no\n"
    spec_ = others()
    spec_["columns"]["protected"] = {"age": {"column": "race", "bins": [25, 40]}}
    assert sizes_of(audit_csv(text, spec_)) == {
        "under 25": 1,
        "25 to 40": 2,
        "40 and over": 2,
        "(unknown)": 1,
    }


LARGEST = 2**53 - 1
NUMBERS = [sign * (LARGEST + step) for step in range(-3, 30) for sign in (1, -1)]
"""Whole numbers up to the largest of a cut, and beyond, where doubles do not hold each."""


@pytest.mark.long
@pytest.mark.parametrize("route", ["", "lazy"])
@pytest.mark.parametrize("form", ["csv", "parquet", "frame"])
@pytest.mark.parametrize("edge", [LARGEST, LARGEST - 1, -LARGEST])
def test_whole_numbers_beyond_those_of_doubles_are_cut_exactly(
    form: str, route: str, edge: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRAUDIT_ROUTE", route)
    rows = pl.DataFrame({"g": "a", "s": NUMBERS})
    rows.write_csv(tmp_path / "rows.csv")
    rows.write_parquet(tmp_path / "rows.parquet")
    data = rows if form == "frame" else tmp_path / f"rows.{form}"
    protected = {"bin": {"column": "s", "bins": [edge]}}
    decision = {"column": "s", "positive": {"above": edge}}
    columns = {"protected": protected, "decision": decision}
    body: dict[str, Any] = {"columns": columns, "metrics": "selection_rate"}
    result = fairaudit.audit(body, data)
    above = sum(number > edge for number in NUMBERS)
    assert rate_of(result, "selection_rate").estimate.numerator == above
    assert sizes_of(result)[f"{edge} and over"] == sum(number >= edge for number in NUMBERS)
    assert fairaudit.audit({**body, "filter": f"s > {edge}"}, data).ledger.counted == above


@pytest.mark.parametrize("number", [LARGEST + 1, -LARGEST - 1, "9007199254740991.5", "1e16"])
@pytest.mark.parametrize("body", ["bins: [%s]", "positive: {above: %s}"])
def test_a_cut_beyond_the_largest_number_is_refused(
    audit_csv: Audit, number: int | str, body: str
) -> None:
    column = {"column": "s", **yaml.safe_load(body % number)}
    role = {"protected": {"g": column}} if "bins" in column else {"decision": column}
    spec_ = others()
    spec_["columns"] |= role
    with pytest.raises(SpecError, match="too large: the maximum is 9,007,199,254,740,991"):
        audit_csv("race,s,y\na,1,yes\nb,2,no\n", spec_)


@pytest.mark.parametrize(
    ("cut", "selected"),
    [
        ({"at_least": 0.5}, 3),
        ({"above": 0.5}, 2),
        ({"at_most": 0.5}, 2),
        ({"below": 0.5}, 1),
        ({"above": 0.1, "below": 0.9}, 2),
    ],
)
def test_thresholds(audit_csv: Audit, cut: dict[str, float], selected: int) -> None:
    text = "race,s\na,0.1\na,0.5\na,0.7\na,0.9\n"
    spec_ = others()
    spec_["columns"]["decision"] = {"column": "s", "positive": cut}
    result = audit_csv(text, spec_)
    assert rate_of(result, "selection_rate", race="a").estimate.numerator == selected


def test_one_column_may_be_a_label_a_stratum_and_an_attribute(audit_csv: Audit) -> None:
    text = "race,s\na,0.1\na,0.5\nb,0.7\nb,0.9\n"
    spec_ = others()
    spec_["columns"] = {
        "protected": {"race": {}, "band": {"column": "s", "bins": [0.5, 0.8]}},
        "prediction": {"column": "s", "positive": {"above": 0.5}},
        "strata": {"level": {"column": "s", "bins": [0.6]}},
    }
    result = audit_csv(text, spec_)
    bands = {r.group[0][1]: r.n for r in result.groups if r.by == ("band",)}
    assert bands == {"under 0.5": 1, "0.5 to 0.8": 2, "0.8 and over": 1}


def test_a_number_that_is_none_is_told_with_its_line(audit_csv: Audit) -> None:
    text = "race,s\na,0.1\na,high\nb,0.7\n"
    spec_ = others()
    spec_["columns"]["decision"] = {"column": "s", "positive": {"at_least": 0.5}}
    with pytest.raises(
        DataError, match=r"1 row hold.* no number in the column 's'.*csv:3"
    ) as caught:
        audit_csv(text, spec_)
    assert "high" not in str(caught.value)


def test_nan_is_missing_never_selected(audit_csv: Audit) -> None:
    text = "race,s\na,0.1\na,NaN\na,0.7\n"
    spec_ = others()
    spec_["columns"]["decision"] = {"column": "s", "positive": {"at_least": 0.5}}
    spec_["missing"] = {"prediction": "aside"}
    estimate = rate_of(audit_csv(text, spec_), "selection_rate", race="a").estimate
    assert (estimate.numerator, estimate.denominator) == (1, 2)


@pytest.mark.parametrize(
    ("rule", "counted", "filtered", "undecided"),
    [
        ("race = 'a'", 5, 4, 3),
        ("race is not null", 9, 3, 0),
        ("label >= 1 and sex = 'f'", 5, 6, 1),
        ("site in ('x')", 7, 4, 1),
        ("label = 1 or sex = 'm'", 10, 1, 1),
    ],
)
def test_filter_counts_what_it_removed(
    audit_csv: Audit, rule: str, counted: int, filtered: int, undecided: int
) -> None:
    text = TEXT.replace("?,", "NA,")
    ledger = audit_csv(text, {**spec(), "filter": rule}).ledger
    assert (ledger.counted, ledger.filtered, ledger.undecided) == (counted, filtered, undecided)
    assert ledger.read == 12


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("sum(label) > 3", "aggregates"),
        ("row_number() over (partition by sex) = 1", "windows"),
        ("label > (select 1)", "subqueries"),
        ("cast(label as int) > 0", "cast"),
        ("labl = 1", "no column 'labl'; did you mean 'label'"),
        ("label =", "this is not a SQL expression"),
        ("1 = 1", "a filter must contain a column"),
        ("label = 1 and label = 'x'", "compared with a number and with a text"),
        ("label + 1", "true or false"),
    ],
)
def test_filter_faults(audit_csv: Audit, rule: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        audit_csv(TEXT, {**spec(), "filter": rule})


def test_words_for_unknown_hold_in_binned_columns_too(audit_csv: Audit) -> None:
    text = "age,y\n20,yes\n30,no\n999,no\n 999 ,yes\n\t,no\n"
    spec_ = others()
    spec_["columns"]["protected"] = {"age": {"bins": [25], "unknown": [999]}}
    result = audit_csv(text, spec_)
    assert sizes_of(result) == {"under 25": 1, "25 and over": 1, "(unknown)": 3}
    assert [(line.column, line.rows) for line in result.ledger.set_aside] == [("age", 3)]


CODED = [("a", 30, "0.9"), ("a", 20, "0.1"), ("b", 10, "0.9"), ("b", 30, "0.1"), ("b", 20, "-9.0")]
"""Groups, people and numbers, of which -9.0 is the code of what is missing."""


def _coded(form: str, folder: Path) -> Any:
    """Those people as a CSV file, as Parquet, or as a frame of texts or numbers."""
    frame = pl.DataFrame(
        [(group, number) for group, people, number in CODED for _ in range(people)],
        schema=["g", "s"],
        orient="row",
    )
    numbers = frame.with_columns(pl.col("s").cast(pl.Float64))
    match form:
        case "csv":
            frame.write_csv(folder / "rows.csv")
            return folder / "rows.csv"
        case "parquet" | "whole":
            whole = numbers.with_columns(pl.col("s").round().cast(pl.Int64))
            (numbers if form == "parquet" else whole).write_parquet(folder / "rows.parquet")
            return folder / "rows.parquet"
        case _:
            return frame if form == "texts" else numbers


@pytest.mark.long
@pytest.mark.parametrize("route", ["", "lazy"])
@pytest.mark.parametrize("form", ["csv", "parquet", "whole", "texts", "numbers"])
@pytest.mark.parametrize("token", ["-9", "-9.00"])
def test_a_code_is_missing_however_the_number_is_written(
    form: str, route: str, token: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRAUDIT_ROUTE", route)
    cut = {"column": "s", "positive": {"below": 0.5}}
    result = fairaudit.audit(
        {
            "columns": {
                "protected": {"g": {}, "cut": {"column": "s", "bins": [0.5]}},
                "prediction": cut,
            },
            "missing": {"tokens": ["", token], "prediction": "aside"},
            "metrics": [{"metric": "selection_rate", "by": ["g", "cut"]}],
        },
        _coded(form, tmp_path),
    )
    known = [row for row in CODED if row[2] != "-9.0"]
    for group in "ab":
        low, everybody = (
            sum(people for name, people, number in known if name == group and float(number) < most)
            for most in (0.5, 2)
        )
        estimate = rate_of(result, "selection_rate", g=group).estimate
        assert (estimate.numerator, estimate.denominator) == (low, everybody)
    assert sizes(result, "cut") == {"under 0.5": 50, "0.5 and over": 40, "(unknown)": 20}


@pytest.mark.parametrize("form", ["csv", "parquet", "numbers"])
@pytest.mark.parametrize("column", ["weight", "count"])
def test_a_code_weighs_nothing_and_counts_nobody(form: str, column: str, tmp_path: Path) -> None:
    rows = pl.DataFrame({"g": ["a", "b"] * 20, "d": [1, 1, 0, 0] * 10, "n": [2, 999] * 20})
    rows.write_csv(tmp_path / "rows.csv")
    rows.write_parquet(tmp_path / "rows.parquet")
    data = rows if form == "numbers" else tmp_path / f"rows.{form}"
    described = {"protected": "g", "decision": "d", column: "n"}
    body = {"columns": described, "metrics": "selection_rate"}
    with pytest.raises(DataError, match=f"20 rows hold no {column}"):
        fairaudit.audit({**body, "missing": {"tokens": ["", "999.0"]}}, data)
    assert fairaudit.audit(body, data).exit_code == 0


def test_a_code_in_a_difference_is_missing_and_a_difference_is_no_code(tmp_path: Path) -> None:
    rows = pl.DataFrame({"a": [19, 12, 9, 4], "b": [10, 3, 1, 3], "y": ["yes", "no", "yes", "no"]})
    spec_ = {**others(), "missing": {"tokens": ["", "9"]}}
    spec_["columns"]["protected"] = {"less": {"column": "a", "minus": "b", "bins": [5]}}
    rows.with_columns(pl.col("a", "b").cast(pl.Float64)).write_csv(tmp_path / "rows.csv")
    for data in (rows, tmp_path / "rows.csv"):
        people = sizes_of(fairaudit.audit(spec_, data))
        assert people == {"under 5": 1, "5 and over": 2, "(unknown)": 1}


def test_a_level_of_the_value_of_a_token_is_told(audit_csv: Audit) -> None:
    text = "race,y\n1.0,yes\n9.0,no\n2.0,no\n9,no\n"
    by_unknown = others()
    by_unknown["columns"]["protected"] = {"race": {"unknown": "9"}}
    for spec_ in ({**others(), "missing": {"tokens": ["", "9"]}}, by_unknown):
        (notice,) = audit_csv(text, spec_).notices
        assert "race: '9.0' counts as a level like any other" in notice


def test_a_negative_that_never_occurs_is_likely_a_typo(audit_csv: Audit) -> None:
    with pytest.raises(
        SpecError, match=r"the negative value 'noo' never occurs.*did you mean 'no'"
    ):
        audit_csv(OTHERS.replace("withdrawn", "no"), others(negative="noo", others="drop"))
    with pytest.raises(SpecError, match="the negative value 'refused' never occurs"):
        audit_csv(OTHERS, others(negative="refused", others="drop"))
    all_good = audit_csv("race,y\na,yes\nb,yes\n", others(negative="no"))
    assert rate_of(all_good, "selection_rate", race="a").estimate.value == 1.0


def test_a_level_that_is_called_unknown_is_refused_unless_it_means_it(audit_csv: Audit) -> None:
    text = "race,y\na,yes\n(unknown),no\nb,no\n"
    with pytest.raises(SpecError, match="the name for unknown values"):
        audit_csv(text, others())
    spec_ = others()
    spec_["columns"]["protected"] = {"race": {"unknown": "(unknown)"}}
    assert sizes_of(audit_csv(text, spec_)) == {"a": 1, "b": 1, "(unknown)": 1}


def test_a_cut_that_nobody_reaches_is_told(audit_csv: Audit) -> None:
    spec_ = others()
    spec_["columns"]["decision"] = {"column": "s", "positive": {"at_least": 50}}
    result = audit_csv("race,s\na,0.1\nb,0.9\n", spec_)
    assert "decision: by its cut no row is positive" in result.notices


@pytest.mark.parametrize(
    ("rule", "counted"),
    [
        ("s > 0.25", 2),
        ("s * 2 >= 1.0", 2),
        ("n % 2 = 0", 1),
        ("n / 2 > 4", 2),
        ("n - s > 8", 2),
        ("s not in (0.5, 1)", 2),
        ("s between 0.2 and 0.6", 2),
        ("not (n = 9.0)", 2),
        ("g like 'a%'", 1),
    ],
)
def test_filters_read_numbers_as_numbers(audit_csv: Audit, rule: str, counted: int) -> None:
    text = "race,y,s,n,g\na,yes,0.25,8,ab\nb,no,0.5,9,ba\na,yes,0.75,11,cc\n"
    assert audit_csv(text, {**others(), "filter": rule}).ledger.counted == counted


def test_a_filter_never_orders_numbers_as_texts(audit_csv: Audit) -> None:
    text = "race,y,age,cap\na,yes,9,30\nb,no,30,100\n"
    with pytest.raises(
        SpecError,
        match="would be compared as text, and as text 9 is more than 10; to compare numbers",
    ):
        audit_csv(text, {**others(), "filter": "age < cap"})
    assert audit_csv(text, {**others(), "filter": "age - cap < 0"}).ledger.counted == 2


def test_a_bad_count_in_a_row_that_is_filtered_out_harms_nobody(audit_csv: Audit) -> None:
    spec_ = {**others(), "filter": "n is not null"}
    spec_["columns"]["count"] = "n"
    result = audit_csv("race,y,n\na,yes,2\nb,no,\nb,no,3\n", spec_)
    assert (result.ledger.counted, result.ledger.people, result.ledger.filtered) == (2, 5, 1)


def test_an_empty_text_is_missing_whatever_the_tokens(audit_csv: Audit) -> None:
    result = audit_csv(
        'race,y\n"",yes\n,yes\nNA,no\na,no\n', {**others(), "missing": {"tokens": "NA"}}
    )
    assert sizes_of(result) == {"a": 1, "(unknown)": 3}


def test_levels_that_are_likely_one_are_told_and_not_joined(audit_csv: Audit) -> None:
    text = "race,y\nBlack,yes\nblack ,no\nWhite,no\nN/A,yes\n"
    result = audit_csv(text, others())
    assert sizes_of(result) == {"Black": 1, "N/A": 1, "White": 1, "black ": 1}
    alike, blank = result.notices
    assert "'Black', 'black '" in alike
    assert "'N/A'" in blank
    spec_ = others()
    merge = {"Black": ["Black", "black "]}
    spec_["columns"]["protected"] = {"race": {"merge": merge, "unknown": "N/A"}}
    assert not audit_csv(text, spec_).notices


@pytest.mark.parametrize("word", ["NA", "None", "null", "N/A", "nan", "NULL", "?", "-"])
def test_a_level_that_likely_means_missing_is_told_with_the_line_to_add(
    audit_csv: Audit, word: str
) -> None:
    text = f"race,y\na,yes\n{word},no\nb,yes\n{word},no\n"
    for more in ({}, {"suppress_below": 11}):
        notices = [*audit_csv(text, {**others(), **more}).notices]
        (told,) = (notice for notice in notices if "means missing" in notice)
        line = f'missing: {{tokens: ["", "{word}"]}}'
        assert f"race: '{word}' counts as a level like any other" in told
        assert f"`{line}`" in told
    spec_ = {**others(), **yaml.safe_load(line)}
    assert sizes_of(audit_csv(text, spec_)) == {"a": 1, "b": 1, "(unknown)": 2}
    assert not audit_csv(text, spec_).notices


def test_an_empty_outcome_is_missing_whatever_the_tokens(audit_csv: Audit) -> None:
    text = 'race,y\na,yes\na,""\nb,yes\nb,yes\n'
    with pytest.raises(DataError, match="no value in the decision"):
        audit_csv(text, {**others(), "missing": {"tokens": ["NA"]}})
    aside = {"tokens": ["NA"], "decision": "aside"}
    result = audit_csv(text, {**others(), "missing": aside})
    assert rate_of(result, "selection_rate", race="a").estimate.denominator == 1


def test_a_fault_is_located_among_the_rows_that_the_filter_keeps(audit_csv: Audit) -> None:
    text = "race,y\nz,\na,yes\nb,no\na,\n"
    with pytest.raises(DataError, match=r"1 row has no value in the decision 'y'.*csv:5"):
        audit_csv(text, {**others(), "filter": "race <> 'z'"})


@pytest.mark.parametrize("policy", ["aside", "drop"])
def test_people_without_an_attribute_count_in_the_groups_of_others(policy: str) -> None:
    """Of six people, two have no g, and both are selected: x, 2 of 3; y, 1 of 3."""
    data = {
        "g": ["a", "a", "b", "b", None, None],
        "h": ["x", "y", "x", "y", "x", "y"],
        "d": [0, 0, 1, 0, 1, 1],
    }
    spec = {
        "version": 1,
        "columns": {"protected": ["g", "h"], "decision": {"column": "d", "positive": 1}},
        "missing": {"protected": policy},
        "metrics": ["selection_rate"],
    }
    result = fairaudit.audit(spec, data=data)
    people = {row.group: row.n for row in result.groups}
    rates = {row.group: row.estimate.value for row in result.rates}
    assert people[("h", "x"),] == people[("h", "y"),] == 3
    assert people[("g", "b"),] == 2
    assert rates[("h", "x"),] == pytest.approx(2 / 3)
    assert rates[("h", "y"),] == pytest.approx(1 / 3)
    assert rates[()] == pytest.approx(1 / 2)

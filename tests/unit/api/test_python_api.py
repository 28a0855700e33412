"""What a person meets at a prompt: names, one-line representations, frames, files, failures."""

from __future__ import annotations

import copy
import csv
import importlib.metadata
import io
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import polars as pl
import pytest
from conftest import SPECS
from fairlearn.metrics import MetricFrame, selection_rate
from servers import HANGS
from sklearn.metrics import accuracy_score

import fairaudit
from fairaudit import cli
from fairaudit.base.errors import UsageError
from fairaudit.pipeline.audit_task import SpecLike
from fairaudit.report import FORMATS, format_named
from fairaudit.result import Answer

NAMES = ("loans", "kidney_admissions", "titanic", "compas_scores")


@pytest.fixture(scope="module")
def loans() -> fairaudit.AuditResult:
    return fairaudit.audit(SPECS / "loans.yaml")


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=HANGS
    )
    return done.stdout


def test_a_prompt_completes_public_names_and_loads_none() -> None:
    loaded = "sorted(set(sys.modules) & {'numpy', 'polars', 'pydantic', 'typing', 'yaml'})"
    printed = run(f"import sys, fairaudit; print(dir(fairaudit), {loaded})")
    assert printed.strip() == f"{sorted(fairaudit.__all__)} []"


def test_every_public_name_is_there_and_documented() -> None:
    assert dir(fairaudit) == sorted(fairaudit.__all__)
    for name in fairaudit.__all__:
        value = getattr(fairaudit, name)
        assert value.__doc__, name
    assert fairaudit.__version__ == importlib.metadata.version("fairaudit-cli")
    with pytest.raises(AttributeError, match="has no attribute 'audits'"):
        getattr(fairaudit, "audits")  # noqa: B009  # mypy knows that it is not there


def test_representations_are_one_line(loans: fairaudit.AuditResult) -> None:
    assert repr(loans) == "AuditResult(verdict=fail, checks: 1 fail, 3 warn, 6 pass)"
    (failed,) = [finding for finding in loans.findings if finding.status == "fail"]
    assert repr(failed) == (
        "Finding(fail: impact_ratio/gender+race/prediction, value=0.6158 [0.5389, 0.7002], "
        "limit='below 0.8, if significant', "
        "of gender=female, race=Black and gender=male, race=Black)"
    )
    assert repr(loans.rates[0]).startswith("RateRow(selection_rate of prediction, everybody: ")
    rows: tuple[Any, ...] = (*loans.findings, *loans.rates, *loans.groups, *loans.comparisons)
    rows += (*loans.lattice, *loans.reversals, *loans.definitions)
    assert all(len(repr(row)) < 300 and "\n" not in repr(row) for row in rows)


def test_a_notebook_shows_the_top_of_the_page(loans: fairaudit.AuditResult) -> None:
    shown = loans._repr_html_()
    assert "female × Black is selected 62 % as often as male × Black" in shown
    assert "0.616" in shown
    assert "<html" not in shown
    assert "<script" not in shown


def test_a_finding_tells_its_numbers(loans: fairaudit.AuditResult) -> None:
    """Black women 497 of 1,337, Black men 1,115 of 1,847: counted by hand from the CSV file."""
    (failed,) = [finding for finding in loans.findings if finding.status == "fail"]
    assert failed.value == pytest.approx((497 / 1337) / (1115 / 1847))
    assert (failed.low, failed.high) == pytest.approx((0.5389, 0.7002), abs=1e-4)
    assert failed.p is not None
    assert failed.adjusted_p is not None
    assert failed.p <= failed.adjusted_p < 0.0001
    assert failed.group == (("gender", "female"), ("race", "Black"))
    assert failed.headline == "female × Black is selected 62 % as often as male × Black"
    assert str(failed.limit) == "below 0.8, if significant"


def test_a_finding_without_a_value_has_none() -> None:
    (reversal,) = fairaudit.audit(SPECS / "kidney_admissions.yaml").findings
    assert reversal.estimate is None
    numbers = (reversal.value, reversal.low, reversal.high, reversal.p, reversal.adjusted_p)
    assert numbers == (None,) * 5


def test_checks_as_a_frame(loans: fairaudit.AuditResult) -> None:
    every = loans.checks()
    frame, others = (every.filter(pl.col("check").is_null() == none) for none in (False, True))
    judged = {(finding.check.metric_id, finding.check.by) for finding in loans.findings}
    by = {row.by for row in loans.comparisons if (row.metric, row.by) not in judged}
    assert {*others["by"]} >= {" × ".join(columns) for columns in by}
    assert others["status"].null_count() == others.height > 0
    assert frame["check"].to_list() == [finding.check.id for finding in loans.findings]
    assert frame["value"].to_list() == [finding.value for finding in loans.findings]
    assert frame["low"].to_list() == [finding.low for finding in loans.findings]
    assert frame["p"].to_list() == [finding.p for finding in loans.findings]
    assert frame.schema["not_enough_evidence"] == pl.Boolean
    assert frame.schema["n"] == pl.Int64


def test_rates_of_groups_as_a_frame(loans: fairaudit.AuditResult) -> None:
    frame = loans.group_rates("gender").filter(pl.col("metric") == "selection_rate")
    assert frame.height == 2
    for row in frame.iter_rows(named=True):
        assert row["value"] == pytest.approx(row["numerator"] / row["denominator"])
        assert row["low"] < row["value"] < row["high"]
        assert row["group"] == row["group.gender"]
    other = loans.group_rates(["race", "gender"])
    assert set(other["by"]) == {"gender × race"}
    assert loans.group_rates().height == len(loans.rates)
    with pytest.raises(fairaudit.UsageError, match="no table for branch; it has: gender; race"):
        loans.group_rates("branch")
    with pytest.raises(fairaudit.UsageError, match="not a int"):
        loans.group_rates(5)  # type: ignore[call-overload]


def test_frames_of_other_libraries_hold_the_same(loans: fairaudit.AuditResult) -> None:
    rows = loans.group_rates().to_dicts()
    assert loans.group_rates(to="arrow").to_pylist() == rows
    pandas = loans.group_rates(to="pandas")
    assert str(pandas["n"].dtype) == "Int64"
    assert [*pandas["value"].dropna()] == [row["value"] for row in rows if row["value"] is not None]
    with pytest.raises(fairaudit.UsageError, match="polars, pandas, arrow, not 'panda'"):
        loans.checks(to="panda")  # type: ignore[call-overload]


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_results_are_saved_loaded_pickled_and_copied(name: str, tmp_path: Path) -> None:
    result = fairaudit.audit(SPECS / f"{name}.yaml")
    text = result.to_json()
    assert json.loads(text) == result.to_dict()
    result.save(tmp_path / "r.json")
    for again in (
        fairaudit.load(str(tmp_path / "r.json")),
        fairaudit.load(result.to_dict()),
        fairaudit.load(text),
        pickle.loads(pickle.dumps(result)),  # noqa: S301  # our own
        copy.deepcopy(result),
    ):
        assert isinstance(again, fairaudit.AuditResult)
        assert again.to_json() == text
        assert again == result
        assert not again != result  # noqa: SIM202  # a record has an operator of its own for it
        assert [finding.headline for finding in again.findings] == [
            finding.headline for finding in result.findings
        ]
        assert [finding.check for finding in again.findings] == [
            finding.check for finding in result.findings
        ]


@pytest.mark.long
def test_a_result_is_saved_in_every_format(loans: fairaudit.AuditResult, tmp_path: Path) -> None:
    for form in FORMATS:
        path = tmp_path / f"r{form.suffixes[0] if form.suffixes else '.out'}"
        loans.save(path, format=None if form.suffixes else form.name)
        assert path.stat().st_size > 0, form.name


@pytest.mark.parametrize(
    ("path", "form", "words"),
    [
        ("r.pdf", None, "the suffix '.pdf' is not a known format"),
        ("r", "htm", "no format 'htm'; did you mean"),
        ("nowhere/r.html", "json", "cannot be written: No such file or directory"),
        (5, None, "the report must be a path, not a int"),
    ],
)
def test_what_cannot_be_saved_is_told(
    loans: fairaudit.AuditResult, tmp_path: Path, path: Any, form: str | None, words: str
) -> None:
    target = tmp_path / path if isinstance(path, str) else path
    with pytest.raises(fairaudit.UsageError, match=words):
        loans.save(target, format=form)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot be read: No such file or directory"),
        ("{", "this is not JSON"),
        ("{}", "this is not a fairaudit result"),
    ],
)
def test_what_is_no_result_is_told(tmp_path: Path, content: str | None, words: str) -> None:
    path = tmp_path / "r.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(fairaudit.UsageError, match=words):
        fairaudit.load(path)


def test_a_failure_is_an_assertion_with_its_headlines(loans: fairaudit.AuditResult) -> None:
    with pytest.raises(AssertionError) as failure:
        loans.raise_for_failure()
    assert isinstance(failure.value, fairaudit.AuditFailed)
    lines = str(failure.value).splitlines()
    assert lines[0] == "the verdict is fail: 1 of 10 checks did not pass"
    assert lines[1].startswith("  fail: impact_ratio/gender+race/prediction: female × Black is")
    assert lines[2].startswith("    0.616 (0.539 to 0.700); fails below 0.8, if significant; warns")
    assert lines[2].endswith("loans.yaml:28:5") or "loans.yaml:28:" in lines[2]
    assert len(lines) == 3


def test_errors_are_pickled_with_their_words() -> None:
    errors = []
    specs: tuple[SpecLike, ...] = ({"columns": {}}, "nowhere.yaml")
    for spec in specs:
        with pytest.raises(fairaudit.FairauditError) as raised:
            fairaudit.audit(spec)
        errors.append(raised.value)
    for error in errors:
        again = pickle.loads(pickle.dumps(error))  # noqa: S301  # our own
        assert (type(again), str(again)) == (type(error), str(error))


LOANS = SPECS.parent / "sample_data" / "loans.csv"
GATED: dict[str, Any] = {
    "columns": {
        "protected": {"gender": {}},
        "prediction": {"column": "score", "positive": {"at_least": 0.5}},
    },
    "metrics": [{"metric": "demographic_parity_ratio", "fail": {"below": 0.8}}],
}


@pytest.mark.long
def test_an_audit_is_asserted_and_its_result_returned() -> None:
    result = fairaudit.assert_audit(GATED, LOANS)
    assert result.verdict is fairaudit.Verdict.PASS
    strict = {**GATED, "metrics": [{"metric": "demographic_parity_ratio", "fail": {"below": 0.99}}]}
    with pytest.raises(AssertionError, match=r"fails below 0\.99"):
        fairaudit.assert_audit(strict, pl.read_csv(LOANS))
    with pytest.raises(fairaudit.AuditFailed):
        fairaudit.assert_audit(SPECS / "loans.yaml")
    fairaudit.assert_audit(SPECS / "loans.yaml", fail_on="never")


def test_each_of_several_frames_has_a_result_or_its_error() -> None:
    rows = pl.read_csv(LOANS)
    results = fairaudit.audit_each(
        GATED, {"may": rows, "june": rows.to_pandas(), "july": rows.drop("score"), "file": LOANS}
    )
    assert [*results] == ["may", "june", "july", "file"]
    may, june, july, file = results.values()
    assert isinstance(may, fairaudit.AuditResult)
    assert isinstance(june, fairaudit.AuditResult)
    assert isinstance(file, fairaudit.AuditResult)
    assert may.findings == june.findings
    assert may.findings[0].value == file.findings[0].value
    assert isinstance(july, fairaudit.SpecError)
    with pytest.raises(fairaudit.NothingToAudit):
        fairaudit.audit_each(GATED, {})


def test_a_spec_is_a_path_a_text_or_a_mapping() -> None:
    path = SPECS / "kidney_admissions.yaml"
    text = path.read_text().replace("../sample_data", str(LOANS.parent))
    tree = {**GATED, "data": LOANS, "metrics": "selection_rate"}
    values = [fairaudit.audit(spec).verdict for spec in (path, str(path), text, tree)]
    assert values == ["fail", "fail", "fail", "none"]
    with pytest.raises(fairaudit.SpecError, match="metrcs"):
        fairaudit.audit("columns: {protected: [gender]}\nmetrcs: selection_rate\n", LOANS)
    with pytest.raises(fairaudit.UsageError, match="a spec is a path, a text or a mapping"):
        fairaudit.audit(5)  # type: ignore[arg-type]


def test_a_result_is_a_baseline() -> None:
    result = fairaudit.audit(GATED, LOANS)
    again = fairaudit.audit(GATED, LOANS, baseline=result)
    assert again.earlier is not None
    assert again.findings[0].before is not None


WRONG: dict[str, tuple[Callable[..., Any], str]] = {
    "only": (lambda: fairaudit.audit(GATED, LOANS, only=5), "only is an id or a list"),  # type: ignore[arg-type]
    "fail_on": (lambda: fairaudit.audit(GATED, LOANS, fail_on=[]), "fail_on must be fail"),  # type: ignore[arg-type]
    "baseline": (lambda: fairaudit.audit(GATED, baseline=5), "a baseline is a path"),  # type: ignore[arg-type]
    "each": (lambda: fairaudit.audit_each(GATED, 5), "data must be a path or a dict of frames"),  # type: ignore[arg-type]
    "together": (lambda: fairaudit.audit_together(5), "the specs must be a list"),  # type: ignore[arg-type]
    "load": (lambda: fairaudit.load(5), "the report must be a path, not a int"),  # type: ignore[arg-type]
    "a NUL": (lambda: fairaudit.audit(GATED, LOANS).save("\0.json"), "cannot be written: embedded"),
}


def test_frames_of_a_published_result_tell_no_small_count() -> None:
    """Four people of c: the numbers of b and c are hidden, and columns keep their types."""
    rows = {"g": ["a"] * 100 + ["b"] * 100 + ["c"] * 4, "y": [1, 0] * 102}
    columns = {"protected": ["g"], "decision": {"column": "y", "positive": 1}}
    spec = {"columns": columns, "metrics": "selection_rate", "suppress_below": 11}
    result = fairaudit.audit(spec, rows)
    small = result.group_rates("g").filter(pl.col("group") == "c").row(0, named=True)
    numbers = ("people", "n", "numerator", "denominator", "value", "low", "high", "p")
    assert {small[name] for name in numbers} == {None}
    assert small["state"] == "suppressed"
    assert "n=4" not in repr(result.groups)
    table = result.table("g")
    assert (table.schema["n"], table.schema["selection_rate"]) == (pl.Int64(), pl.Float64())
    assert pickle.loads(pickle.dumps(result)).to_json() == result.to_json()  # noqa: S301  # our own


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_type_is_told_in_words(name: str) -> None:
    call, words = WRONG[name]
    with pytest.raises(fairaudit.UsageError, match=words):
        call()


def test_the_lowest_and_the_highest_rate_are_those_of_a_metric_frame() -> None:
    y = [1, 1, 0, 0, 1, 0, 1, 0, 1]
    p = [1, 0, 1, 0, 1, 0, 1, 1, 0]
    groups = ["a", "a", "a", "b", "b", "b", "b", "c", "c"]
    frame = pl.DataFrame({"g": groups, "y": y, "p": p})
    columns = {"protected": ["g"], "label": "y", "prediction": "p"}
    metrics = {"selection_rate": selection_rate, "accuracy": accuracy_score}
    result = fairaudit.audit({"columns": columns, "metrics": [*metrics]}, frame)
    expected = MetricFrame(metrics=metrics, y_true=y, y_pred=p, sensitive_features=groups)
    assert result.group_min("g") == pytest.approx(expected.group_min().to_dict())
    assert result.group_max(["g"]) == pytest.approx(expected.group_max().to_dict())
    with pytest.raises(UsageError, match="no table for h"):
        result.group_min("h")
    unknown = fairaudit.audit(
        {"columns": columns, "metrics": ["true_positive_rate"]},
        frame.filter(pl.col("g") != "c").with_columns(
            y=pl.when(pl.col("g") == "a").then(0).otherwise(pl.col("y"))
        ),
    )
    assert unknown.group_max("g") == {"true_positive_rate": None}


@pytest.mark.parametrize(
    ("of", "first", "last"),
    [
        ("rates", "group metric value low high p", "reference difference ratio standing"),
        ("comparisons", "group metric value low high p", "title compare between reference"),
        ("lattice", "by metric value low high p", "judged group other"),
        ("reversals", "group other metric crude adjusted difference low high p", "given kind"),
        ("subgroups", "group metric value difference low high p", "significant"),
        ("checks", "check status value low high p", "headline sentence"),
    ],
)
@pytest.mark.filterwarnings("ignore:the audit did not search")
def test_a_frame_begins_with_who_what_value_interval_p_and_ends_with_the_comparison(
    loans: fairaudit.AuditResult, of: str, first: str, last: str
) -> None:
    """A library prints the first and the last columns of a wide frame."""
    columns = loans.frame(of).columns
    assert " ".join(columns).startswith(f"{first} adjusted_p ")
    assert columns[-len(last.split()) :] == last.split()
    assert len({*columns}) == len(columns)


@pytest.mark.filterwarnings("ignore:the audit did not search")
def test_frames_of_comparisons_subsets_reversals_and_subgroups(
    loans: fairaudit.AuditResult,
) -> None:
    """The numbers are those of the rows; a column has its kind of values without any row, too."""
    for name in ("comparisons", "lattice", "reversals", "subgroups", "rates", "checks"):
        frame = loans.frame(name)
        assert {"metric", "of", "value", "p"} - {*frame.columns} <= {"value"}
        assert frame.schema["p"] == pl.Float64
        assert loans.frame(name, "arrow").num_rows == frame.height
    comparisons = loans.frame("comparisons")
    assert comparisons["value"].to_list() == [row.estimate.known_value for row in loans.comparisons]
    whole = comparisons.filter(
        pl.col("group").is_null(), metric="demographic_parity_ratio", by="gender"
    )
    assert whole.select("between", "reference").rows() == [("gender=male and gender=female", None)]
    worst = (
        loans.frame("lattice").filter(metric="impact_ratio", by="gender × race").row(0, named=True)
    )
    assert (worst["group"], worst["other"]) == (
        "gender=female, race=Black", "gender=male, race=Black",
    )  # fmt: skip
    assert round(worst["value"], 3) == 0.616
    turned = loans.frame("reversals").filter(metric="selection_rate", attribute="age")
    first = turned.row(0, named=True)
    gap = first["crude_of_group"] - first["crude_of_other"]
    assert first["crude"] == pytest.approx(gap)
    assert first["low"] <= first["difference"] <= first["high"]
    (written,) = {row["title"] for row in csv.DictReader(io.StringIO(_csv(loans)))}
    assert written == "Loan approvals, 20,000 generated applications"
    with pytest.raises(UsageError, match="`of` must be one of rates, checks, comparisons"):
        loans.frame("groups")
    found = fairaudit.audit(SPECS / "loans_subgroups.yaml").frame("subgroups")
    row = found.row(0, named=True)
    assert row["value"] == row["numerator"] / row["denominator"]
    assert row["difference"] == pytest.approx(row["value"] - row["everybody"])
    assert row["low"] <= row["difference"] <= row["high"]


def test_a_frame_of_what_was_not_searched_is_empty_with_a_warning(
    loans: fairaudit.AuditResult,
) -> None:
    with pytest.warns(UserWarning, match="did not search for subgroups.*no `subgroups`"):
        assert loans.frame("subgroups").height == 0
    plain = {"columns": {"protected": ["g"], "decision": "y"}, "metrics": ["selection_rate"]}
    result = fairaudit.audit(plain, pl.DataFrame({"g": ["a", "b"] * 9, "y": [0, 1, 1] * 6}))
    with pytest.warns(UserWarning, match="did not search for reversals.*no `simpson`"):
        assert result.frame("reversals").height == 0


def _csv(result: fairaudit.AuditResult) -> str:
    text = format_named("csv").render([Answer("s", None, result)], all_rows=True)
    assert isinstance(text, str)
    return text.removeprefix("\ufeff")


def test_pictures_are_objects_and_files(loans: fairaudit.AuditResult, tmp_path: Path) -> None:
    drawn = loans.pictures()
    assert len(drawn) == len({one.name for one in drawn}) > 10
    first = drawn[0]
    assert first.name == "check-impact-ratio-gender-race-prediction"
    (failed,) = [one for one in loans.findings if one.status == "fail"]
    assert first.title == failed.headline
    for one in drawn:
        tree = ET.fromstring(one.svg)  # noqa: S314  # our own text
        assert tree.tag.endswith("svg")
        places = [element.attrib for element in tree.iter() if element.tag.endswith("}line")]
        assert all(0 <= float(place[end]) <= 760 for place in places for end in ("x1", "x2"))
    words = [element.text for element in ET.fromstring(first.svg).iter() if element.text]  # noqa: S314  # the same
    assert {"female × Black", "37.2 %", "fail below 48.3 %"} <= set(words)
    assert first._repr_svg_() == first._repr_html_() == first.svg
    first.save(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text("utf-8") == first.svg
    with pytest.raises(UsageError, match="cannot be written"):
        first.save(tmp_path / "no" / "a.svg")


def test_a_folder_of_pictures_has_pictures_alone(tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    spec = str(SPECS / "titanic.yaml")
    assert cli.run_line(["run", spec, "-qq", "-o", f"{folder}/"]) == 1
    names = {path.name for path in folder.iterdir()}
    assert names == {f"{one.name}.svg" for one in fairaudit.audit(spec).pictures()}
    assert (
        cli.run_line(
            ["run", spec, str(SPECS / "berkeley_admissions.yaml"), "-qq", "-o", f"{folder}/"]
        )
        == 1
    )
    assert any(path.name.startswith("berkeley_admissions-") for path in folder.iterdir())

"""A gate says what it did not judge: checks left out, changed specs, models, unknown groups."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from commands import run

import fairaudit
from fairaudit.base.errors import AuditFailed, FairauditError, SpecError, UsageError

_BELOW = {"fail": {"below": 0.8}}
_RATIO: dict[str, Any] = {"metric": "demographic_parity_ratio", **_BELOW}


def _rows(header: str, *lines: str) -> pl.DataFrame:
    """Rows written as `60×m,1`: so many equal lines."""
    rows: list[list[str]] = []
    for line in lines:
        count, values = line.split("×")
        rows += [values.split(",")] * int(count)
    return pl.DataFrame(rows, header.split(","), orient="row")


@pytest.fixture
def two_checks(tmp_path: Path) -> Path:
    """A spec with a check that fails, by sex, and one that passes, by race."""
    lines = ["60×m,W,1", "40×m,W,0", "20×f,W,1", "80×f,W,0"]
    lines += ["40×m,B,1", "60×m,B,0", "30×f,B,1", "70×f,B,0"]
    _rows("sex,race,hired", *lines).write_csv(tmp_path / "a.csv")
    spec = tmp_path / "a.yaml"
    spec.write_text(
        "version: 1\ndata: a.csv\ncolumns: {protected: {sex: {}, race: {}}, "
        "decision: {column: hired, positive: 1}}\n"
        "metrics: [{metric: impact_ratio, by: [sex, race], fail: {below: 0.8}}]\n"
    )
    return spec


_RACE = ("--only", "impact_ratio/race")
_LEFT = "impact_ratio/sex/decision"


def test_only_says_in_every_format_which_checks_were_not_run(two_checks: Path) -> None:
    result = run("run", two_checks, *_RACE)
    assert result.returncode == 0
    assert "1 of 2 checks (--only): 1 passed" in result.stdout
    assert "1 of 2 checks (--only): 1 passed" in result.stderr
    assert "--only impact_ratio/race --full" in " ".join(result.stdout.split())
    assert "2 of 3 results have a limit" in result.stdout  # the limit on sex is in the spec
    assert "covers sex;" not in run("run", two_checks, *_RACE, "--full").stdout
    for name in ("terminal", "markdown", "html", "json", "sarif", "junit"):
        assert _LEFT in run("run", two_checks, *_RACE, "--format", name).stdout, name
    tree = json.loads(run("run", two_checks, *_RACE, "--format", "json").stdout)
    assert tree["provenance"]["not_run"] == [_LEFT]
    assert tree["provenance"]["only"] == ["impact_ratio/race"]
    assert fairaudit.load(tree).provenance.not_run == (_LEFT,)
    xml = run("run", two_checks, *_RACE, "--format", "junit").stdout
    assert 'tests="2" failures="0" errors="0" skipped="1"' in xml


@pytest.mark.parametrize("only", [(), ("--only", "impact_ratio/*")])
def test_a_run_of_all_checks_speaks_of_no_option(two_checks: Path, only: tuple[str, ...]) -> None:
    result = run("run", two_checks, *only)
    assert "2 checks: 1 failed, 1 passed" in result.stdout
    assert "(--only)" not in result.stdout + result.stderr
    tree = json.loads(run("run", two_checks, *only, "--format", "json").stdout)
    assert "not_run" not in tree["provenance"]


_LOANS = _rows(
    "sex,repaid,score",
    *("50×m,1,0.9", "20×m,0,0.8", "30×m,0,0.2", "10×f,1,0.9", "40×f,1,0.3", "50×f,0,0.1"),
).cast({"score": pl.Float64})
_LABEL = {"label": {"column": "repaid", "positive": 1}}
_SCORED = {"protected": {"sex": {}}, **_LABEL, "score": "score"}
_CUT = {"prediction": {"column": "score", "positive": {"at_least": 0.5}}}


@pytest.mark.parametrize(
    "gate",
    [
        {"metrics": [_RATIO]},
        {"metrics": [{"metric": "impact_ratio", "warn": {"below": 0.8}}]},
        {"profile": "four-fifths"},
        {"columns": {"protected": {"sex": {}}, **_LABEL, "models": {"a": {"score": "score"}}}},
        {"metrics": ["base_rate"], "simpson": {"given": ["race"], "fail": {"significant": True}}},
        {"metrics": ["base_rate"], "subgroups": {"min_size": 5, "fail": {"above": 0.1}}},
    ],
)
def test_a_limit_on_decisions_does_not_fall_back_to_the_label(gate: dict[str, Any]) -> None:
    gate = {"metrics": [_RATIO], **gate} if "profile" not in gate else gate
    spec = {"version": 1, "columns": _SCORED, **gate}
    if "simpson" in gate:
        spec["columns"] = {**_SCORED, "protected": {"sex": {}, "race": {}}}
    with pytest.raises(SpecError, match=r"has only a score: add `prediction: \{column: score"):
        fairaudit.audit(spec, _LOANS.with_columns(race=pl.lit("x")))


@pytest.mark.parametrize(
    ("columns", "entry", "code"),
    [
        (_SCORED | _CUT, _RATIO, 1),
        (_SCORED, {**_RATIO, "of": "label"}, 0),
        ({"protected": {"sex": {}}, **_LABEL}, _RATIO, 0),
        (_SCORED, {"metric": "base_rate", "compare": "ratio", **_BELOW, "reference": "m"}, 0),
        (_SCORED, "demographic_parity_ratio", 0),
    ],
)
def test_a_limit_on_what_the_spec_names_is_judged(columns: Any, entry: Any, code: int) -> None:
    result = fairaudit.audit({"version": 1, "columns": columns, "metrics": [entry]}, _LOANS)
    assert result.exit_code == code


def test_arrays_with_a_score_and_no_decisions_take_no_limit_on_decisions() -> None:
    sex, truth = ["m"] * 200 + ["f"] * 200, ([1] * 100 + [0] * 100) * 2
    score = [0.7] * 120 + [0.3] * 80 + [0.7] * 60 + [0.3] * 140
    limits: dict[str, Any] = {
        "limits": {"demographic_parity_ratio": {"below": 0.8}},
        "sensitive_features": sex,
    }
    with pytest.raises(UsageError, match=r"y_pred = p >= 0\.5"):
        fairaudit.audit_arrays(truth, score, **limits)
    with pytest.raises(SpecError, match="a limit on decisions needs classes"):
        fairaudit.audit_arrays(truth, None, score=score, **limits)
    decided = [int(value >= 0.5) for value in score]
    assert fairaudit.audit_arrays(truth, decided, score=score, **limits).exit_code == 1


def test_a_model_with_only_a_score_that_no_limit_judges_has_a_notice() -> None:
    data = _LOANS.rename({"repaid": "a"})
    models = {
        "current": {"prediction": {"column": "a", "positive": 1}},
        "candidate": {"score": "score"},
    }
    columns = {"protected": {"sex": {}}, "models": models}
    spec = {"version": 1, "columns": columns, "metrics": [_RATIO]}
    told = "no limit judges candidate, which has only a score"
    assert told in "\n".join(map(str, fairaudit.audit(spec, data).notices))
    judged = {"metric": "mean_score", "of": "candidate", "fail": {"below": 0.01}}
    spec["metrics"] = [_RATIO, judged]
    assert told not in "\n".join(map(str, fairaudit.audit(spec, data).notices))
    spec["metrics"] = ["selection_rate"]
    assert told not in "\n".join(map(str, fairaudit.audit(spec, data).notices))


_RACES = _rows(
    "race,hired",
    *("60×White,1", "40×White,0", "55×Black,1", "45×Black,0", "3×Native,1", "30×Native,0"),
    "60×Prefer not to say,1",
)
_RULES = {"White": {"race": "White"}, "Black": {"race": "Black"}}


def _notices_of(protected: Any, data: pl.DataFrame = _RACES) -> str:
    columns = {"protected": protected, "decision": {"column": "hired", "positive": 1}}
    spec = {"version": 1, "columns": columns, "metrics": ["impact_ratio"]}
    return "\n".join(map(str, fairaudit.audit(spec, data).notices))


@pytest.mark.parametrize(
    "race",
    [
        {"keep": ["White", "Black"]},
        {"merge": {"Other": ["Native", "Prefer not to say"]}},
        {"combine": ["race", "e"], "rule": _RULES},
        {"combine": ["race", "e"], "rule": {**_RULES, "Mix": {"race": "Prefer not to say"}}},
        {"labels": {"Prefer not to say": "Not stated"}, "keep": ["White", "Black"]},
    ],
)
def test_unknown_people_who_become_part_of_a_level_have_a_notice(race: dict[str, Any]) -> None:
    told = _notices_of({"race": race}, _RACES.with_columns(e=pl.lit("no")))
    assert "counts as a part of" in told
    assert '{unknown: ["' in told


@pytest.mark.parametrize(
    "race",
    [
        {"keep": ["White", "Black"], "unknown": ["Prefer not to say"]},
        {"merge": {"Other": ["Native", "Black"]}, "unknown": ["Prefer not to say"]},
        {"merge": {"Unknown": ["Prefer not to say", "Native"]}},
        {"combine": ["race", "e"], "rule": _RULES, "unknown": ["Prefer not to say"]},
        {"combine": ["race", "e"], "rule": {"all": {"e": "no"}}},
        {},
    ],
)
def test_other_levels_that_are_folded_have_no_notice(race: dict[str, Any]) -> None:
    told = _notices_of({"race": race}, _RACES.with_columns(e=pl.lit("no")))
    assert "counts as a part of" not in told


_BLANKS = _rows("sex,hired", "60×m,Yes", "20×m,No", "20×m,Yes ", "55×f,Yes", "45×f,No")


def _hired(positive: list[str], **keys: Any) -> dict[str, Any]:
    decision = {"column": "hired", "positive": positive, **keys}
    columns = {"protected": {"sex": {}}, "decision": decision}
    return {"version": 1, "columns": columns, "metrics": [_RATIO]}


@pytest.mark.parametrize("keys", [{}, {"negative": ["No"]}, {"negative": ["No", "Yes "]}])
def test_an_error_names_the_outcomes_that_look_alike(keys: dict[str, Any]) -> None:
    with pytest.raises(FairauditError, match=r"'Yes ' looks like a positive") as told:
        fairaudit.audit(_hired(["Yes"], **keys), _BLANKS)
    assert 'write `positive: ["Yes", "Yes "]`' in str(told.value)
    assert "list the `negative` values" not in str(told.value)


def test_an_outcome_with_no_look_alike_is_judged_as_before() -> None:
    result = fairaudit.audit(_hired(["Yes", "Yes "]), _BLANKS)
    assert result.exit_code == 1
    third = _BLANKS.with_columns(pl.col("hired").replace("Yes ", "Maybe"))
    with pytest.raises(FairauditError, match="list the `negative` values"):
        fairaudit.audit(_hired(["Yes"]), third)
    assert fairaudit.audit(_hired(["Yes"], negative=["No", "Maybe"]), third).exit_code == 0
    ones = _BLANKS.with_columns(pl.col("hired").replace({"Yes": "1", "Yes ": "1.0", "No": "0"}))
    assert fairaudit.audit(_hired(["1", "1.0"], negative=["0"]), ones).exit_code == 1


_NEVER: dict[str, Any] = {"fail_on": "never"}


def test_a_saved_failure_raises_whatever_its_run_accepted(tmp_path: Path) -> None:
    failed = fairaudit.audit(_hired(["Yes", "Yes "]), _BLANKS, **_NEVER)
    assert failed.exit_code == 0
    failed.save(tmp_path / "r.json")
    for result in (failed, fairaudit.load(tmp_path / "r.json")):
        with pytest.raises(AuditFailed, match=r"1 of 1 checks did not pass\n.*demographic_parity"):
            result.raise_for_failure()


def test_a_saved_pass_does_not_raise(tmp_path: Path) -> None:
    spec = _hired(["Yes"], negative=["No", "Maybe"])
    data = _BLANKS.with_columns(pl.col("hired").replace("Yes ", "Maybe"))
    fairaudit.audit(spec, data, **_NEVER).save(tmp_path / "r.json")
    fairaudit.load(tmp_path / "r.json").raise_for_failure()
    fairaudit.assert_audit(_hired(["Yes", "Yes "]), _BLANKS, **_NEVER)


_DENIED = _rows("sex,denied", "20×m,1", "80×m,0", "60×f,1", "40×f,0")


def _denials(*, favourable: bool, **keys: Any) -> dict[str, Any]:
    decision = {"column": "denied", "positive": 1, "favourable": favourable}
    columns = {"protected": {"sex": {"reference": "m"}}, "decision": decision}
    return {"version": 1, "columns": columns, **keys}


_BY_REFERENCE = {"metric": "disparate_impact_ratio", **_BELOW}


@pytest.mark.parametrize("gate", [{"profile": "fair-lending"}, {"metrics": [_BY_REFERENCE]}])
def test_a_limit_that_no_harmed_group_can_cross_is_refused(gate: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match="cannot find groups that have this burden more often"):
        fairaudit.audit(_denials(favourable=False, **gate), _DENIED)


@pytest.mark.parametrize(
    "entry",
    [
        {"metric": "impact_ratio", **_BELOW},
        {"metric": "disparate_impact_ratio", "fail": {"outside": [0.8, 1.25]}},
        {"metric": "disparate_impact_ratio", "fail": {"above": 1.25}},
        {"metric": "demographic_parity_ratio", **_BELOW},
    ],
)
def test_a_limit_that_a_harmed_group_can_cross_fails(entry: dict[str, Any]) -> None:
    result = fairaudit.audit(_denials(favourable=False, metrics=[entry]), _DENIED)
    assert result.exit_code == 1
    assert fairaudit.audit(_denials(favourable=True, metrics=[_BY_REFERENCE]), _DENIED).findings


_LOOSER = ("--set", "metrics[0].fail.below=0.1")


def test_the_headline_and_the_last_line_say_that_the_spec_is_changed(two_checks: Path) -> None:
    result = run("run", two_checks, *_LOOSER)
    assert result.returncode == 0
    for text in (result.stdout, result.stderr):
        assert "the spec is changed by --set" in " ".join(text.split())
    assert "changed by --set" in run("run", two_checks, *_LOOSER, "-q").stderr
    plain = run("run", two_checks)
    assert "--set" not in plain.stdout + plain.stderr


def test_a_comparison_with_a_run_of_fewer_checks_fails(two_checks: Path) -> None:
    folder = two_checks.parent
    run("run", two_checks, "-o", folder / "all.json")
    run("run", two_checks, *_RACE, "-o", folder / "one.json")
    pair = (folder / "all.json", folder / "one.json", "--fail-on", "worse")
    result = run("compare", *pair)
    assert result.returncode == 1
    assert "missing in the later report, or have another definition" in result.stderr
    assert f"a looser limit there: {_LEFT}" in result.stderr
    assert run("compare", *pair, "--accept-dropped").returncode == 0

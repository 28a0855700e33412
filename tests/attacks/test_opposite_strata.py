"""One number for all strata does not pass if gaps within them have opposite directions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from commands import run

import fairaudit
from fairaudit import AuditResult, Finding

_LIMIT = {"fail": {"outside": [-0.1, 0.1]}}
_AVERAGE = {"compare": "difference", "given": "z", "average": "pooled", "reference": "m"}
_FITTED = {"metric": "regression_slope", "controls": ["z"], "reference": "m"}
_DECISION: dict[str, Any] = {"decision": {"column": "p", "positive": 1}}
_NUMBER: dict[str, Any] = {"label": {"column": "pay", "number": True}}
_SCORED: dict[str, Any] = {
    "label": {"column": "y", "positive": 1},
    "prediction": {"column": "p", "positive": 1},
    "score": "s",
}


def _people(of_v: tuple[int, int]) -> pl.DataFrame:
    """Of 100 people with either label in u: men 80 right decisions and women 20; in v `of_v`."""
    rows = []
    for z, rates in (("u", (80, 20)), ("v", of_v)):
        for g, right in zip("mf", rates, strict=True):
            for y, number in ((y, n) for y in (0, 1) for n in range(100)):
                p = y if number < right else 1 - y
                rows.append((g, z, y, p, 0.2 + 0.6 * p + 0.01 * (number % 7), 2.0 * (y == p)))
    return pl.DataFrame(rows, ["sex", "z", "y", "p", "s", "pay"], orient="row")


def _audit(people: pl.DataFrame, columns: dict[str, Any], entry: dict[str, Any]) -> AuditResult:
    columns = {"protected": ["sex"], "strata": ["z"], **columns}
    spec = {"version": 1, "columns": columns, "metrics": [{**_LIMIT, **entry}]}
    return fairaudit.audit(spec, people)


def _find(people: pl.DataFrame, columns: dict[str, Any], entry: dict[str, Any]) -> Finding:
    (finding,) = _audit(people, columns, entry).findings
    return finding


@pytest.mark.long
@pytest.mark.parametrize(
    ("columns", "entry", "which"),
    [
        (_DECISION, _FITTED, 1),
        (_DECISION, {**_FITTED, "aggregate": "max", "fail": {"above": 0.1}}, 1),
        (_NUMBER, _FITTED, None),
        (_NUMBER, {"metric": "mean_label", **_AVERAGE}, None),
        (_SCORED, {"metric": "mean_score_positives", **_AVERAGE}, None),
        (_SCORED, {"metric": "auc", **_AVERAGE}, None),
        (_SCORED, {"metric": "f1", **_AVERAGE}, None),
        (_SCORED, {"metric": "balanced_accuracy", **_AVERAGE}, None),
    ],
    ids=[
        "slope",
        "largest slope",
        "slope of a number",
        "mean",
        "mean score",
        "auc",
        "f1",
        "mean of rates",
    ],
)
def test_opposite_gaps_in_strata_leave_one_number_for_all_open(
    columns: dict[str, Any], entry: dict[str, Any], which: int | None
) -> None:
    people = _people((20, 80))
    if which is not None:  # decisions are right as often as not, unless the label is the same
        people = people.filter(pl.col("y") == which)
    finding = _find(people, columns, entry)
    assert finding.value == pytest.approx(0, abs=1e-9)
    assert str(finding.status) == "inconclusive"
    assert "sex=f and sex=m have opposite directions in z=" in finding.why
    equal = _people((80, 80)).filter(pl.col("z") == "v")
    equal = pl.concat([equal, equal.with_columns(z=pl.lit("u"))])
    if which is not None:
        equal = equal.filter(pl.col("y") == which)
    assert str(_find(equal, columns, entry).status) == "pass"


def test_a_few_people_do_not_leave_a_slope_open() -> None:
    rows = [
        (sex, z, (n < 3) == ((sex == "m") == (z == "u"))) for sex in "mf" for z in "uv"
        for n in range(5)
    ]  # fmt: skip
    people = pl.DataFrame(rows, ["sex", "z", "p"], orient="row").cast({"p": pl.Int64})
    finding = _find(people, _DECISION, _FITTED)
    assert finding.value == pytest.approx(0)
    assert str(finding.status) == "pass"


def test_a_measure_without_a_variance_says_that_its_strata_were_not_searched() -> None:
    result = _audit(_people((20, 80)), _SCORED, {"metric": "brier", **_AVERAGE})
    (finding,) = result.findings
    told = [item.reason for item in finding.not_evaluated]
    assert told == [
        (
            "not searched for opposite directions within z: the variance of brier in a stratum "
            "is not known"
        )
    ]
    assert f"'brier': {told[0]}" in map(str, result.notices)


_SIGNED = {"metric": "demographic_disparity", "given": "z", "average": "pooled"}
_ERRORS: dict[str, Any] = {
    "label": {"column": "y", "number": True},
    "prediction": {"column": "p", "number": True},
}


@pytest.mark.parametrize(
    "entry",
    [
        {"metric": "conditional_demographic_disparity", "given": "z"},
        {"metric": "conditional_demographic_disparity", "given": "z", "aggregate": "max"},
        _SIGNED,
    ],
    ids=["conditional", "largest", "bare average"],
)
@pytest.mark.parametrize(
    ("of_b", "status"), [((90, 10), "inconclusive"), ((52, 48), "pass"), ((50, 50), "pass")]
)
def test_signed_shares_do_not_cancel_over_strata(
    entry: dict[str, Any], of_b: tuple[int, int], status: str
) -> None:
    cells = [(g, z, k) for z, b in zip("uv", of_b, strict=True) for g, k in (("a", 50), ("b", b))]
    rows = [(g, z, int(number < k)) for g, z, k in cells for number in range(100)]
    people = pl.DataFrame(rows, ["g", "z", "p"], orient="row")
    columns = {"protected": ["g"], **_DECISION}
    finding = _find(people, columns, {"fail": {"above": 0.1}, **entry})
    assert finding.value == pytest.approx(0, abs=1e-9)
    assert str(finding.status) == status
    told = [
        f"the values of g={g} have opposite directions in {strata}"
        for g, strata in (("a", "z=u and z=v"), ("b", "z=v and z=u"))
    ]
    assert [text in finding.why for text in told] == [status == "inconclusive"] * 2


@pytest.mark.parametrize(("error", "status"), [(2, "inconclusive"), (0, "pass")])
def test_errors_of_a_group_do_not_cancel_over_strata(error: int, status: str) -> None:
    rows = [
        (sex, z, 5 + turn * error + number % 3 - 1, 5)
        for sex in "mf"
        for z, turn in (("u", 1), ("v", -1))
        for number in range(99)
    ]
    people = pl.DataFrame(rows, ["sex", "z", "y", "p"], orient="row")
    entry = {"metric": "mean_residual", "given": "z", "average": "pooled"}
    finding = _find(people, _ERRORS, entry)
    assert finding.value == pytest.approx(0)
    assert str(finding.status) == status
    assert ("the values of sex=m have opposite directions in z=" in finding.why) == bool(error)


def _audit_small_levels(
    path: Path, entry: dict[str, Any], *, has_blanks: bool
) -> tuple[dict[str, Any], str]:
    """The check on small levels of a job, in which the gaps of 9 and 9 people are opposite.

    Also what is printed.
    """
    jobs = {"Guard": (8, 1), "Pilot": (1, 8), "Guide": (8, 1), "Nurse": (1, 8)}
    rows = [
        (g, int(number < k), job, "2024")
        for job, both in jobs.items()
        for g, k in zip("ab", both, strict=True)
        for number in range(9)
    ]
    rows += [(g, d, "Clerk", "2024") for g in "ab" for d in (0, 1) for _ in range(50)]
    rows += [("b", 1, "Guard", "")] * (8 if has_blanks else 0)
    lines = ["g,d,job,year", *(",".join(map(str, row)) for row in rows), ""]
    (path / "data.csv").write_text("\n".join(lines))
    decision = {"column": "d", "positive": 1, "negative": 0}
    spec = {
        "version": 1,
        "columns": {
            "protected": {"g": {"reference": "a"}},
            "decision": decision,
            **({"strata": ["year"]} if "given" in entry else {}),
        },
        "filter": "year >= 2024",
        "groups": {"min_size": 30},
        "metrics": [{**entry, "fail": {"outside": [-0.1, 0.1]}}],
    }
    (path / "spec.yaml").write_text(json.dumps(spec))
    done = run("run", "spec.yaml", "--data", "data.csv", "--for-each", "job", "-o", "out/",
               folder=path)  # fmt: skip
    index = json.loads((path / "out" / "index.json").read_text())
    (small,) = (one for one in index["audits"] if one["data"] == "job: 4 small levels")
    report = json.loads((path / "out" / small["reports"]["json"]).read_text())
    (check,) = report["checks"]
    assert isinstance(check, dict)
    return check, " ".join(done.stdout.split())


_SEARCHED = {
    "difference": {"metric": "selection_rate", "compare": "difference"},
    "standardized": {"metric": "selection_rate", "compare": "standardized_difference"},
    "correlation": {"metric": "correlation"},
    "normalized": {"metric": "normalized_difference"},
    "slope": {"metric": "regression_slope"},
    "average": {"metric": "selection_rate", "compare": "difference", "given": "year",
                "average": "pooled"},
}  # fmt: skip
_UNSEARCHED = {
    "epsilon": ({"metric": "differential_fairness"}, "the measure is one number for all groups"),
    "divergence": ({"metric": "kl_divergence"}, "the variance of outcome_distribution"),
}


@pytest.mark.parametrize("has_blanks", [False, True])
@pytest.mark.parametrize("kind", _SEARCHED)
def test_levels_that_are_audited_together_are_searched(
    tmp_path: Path, kind: str, *, has_blanks: bool
) -> None:
    check, screen = _audit_small_levels(tmp_path, _SEARCHED[kind], has_blanks=has_blanks)
    assert "not searched" not in screen
    assert check["status"] == "inconclusive"
    told = " ".join(item["reason"] for item in check["not_evaluated"])
    assert "have opposite directions in " in told
    assert "job=" in told


@pytest.mark.parametrize("has_blanks", [False, True])
@pytest.mark.parametrize("kind", _UNSEARCHED)
def test_levels_that_are_not_searched_are_told(
    tmp_path: Path, kind: str, *, has_blanks: bool
) -> None:
    entry, why = _UNSEARCHED[kind]
    check, screen = _audit_small_levels(tmp_path, entry, has_blanks=has_blanks)
    told = " ".join(item["reason"] for item in check["not_evaluated"])
    assert f"not searched for opposite directions within job: {why}" in told
    # The remark does not hide that rows without a year could change the result.
    assert check["status"] == ("inconclusive" if has_blanks else "pass")
    notice = f"'{entry['metric']}': not searched for opposite directions within job: {why}"
    assert (notice in screen) is not has_blanks

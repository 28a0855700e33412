"""A gate does not pass by what is beside its limit: formats, baselines, filters, other sides."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from commands import run, start

import fairaudit
from fairaudit import AuditResult
from fairaudit.base.errors import DataError, UsageError
from fairaudit.report import build_servers
from fairaudit.result import Answer, Verdict

_RATIO: dict[str, Any] = {"metric": "demographic_parity_ratio", "fail": {"below": 0.8}}
_DECIDED = {"protected": {"sex": {}}, "decision": {"column": "hired", "positive": 1}}


def _frame(rates: dict[str, int], of: int = 100) -> pl.DataFrame:
    """People by sex: of so many each, so many are hired."""
    rows = [(sex, int(i < hired)) for sex, hired in rates.items() for i in range(of)]
    return pl.DataFrame(rows, ["sex", "hired"], orient="row")


def _spec(*entries: dict[str, Any], **keys: Any) -> dict[str, Any]:
    columns = _DECIDED | keys.pop("columns", {})
    return {"version": 1, "columns": columns, "metrics": [*(entries or (_RATIO,))], **keys}


def _audited(data: Any, *entries: dict[str, Any], **keys: Any) -> AuditResult:
    options = {name: keys.pop(name) for name in ("baseline", "tolerance") if name in keys}
    return fairaudit.audit(_spec(*entries, **keys), data, **options)


def _notices(result: AuditResult) -> str:
    return "\n".join(map(str, result.notices))


def _saved(folder: Path, name: str, result: AuditResult) -> Path:
    path = folder / f"{name}.json"
    result.save(path)
    return path


@pytest.mark.parametrize("now", [{"m": 30, "f": 60}, {"m": 60, "f": 60, "x": 36}])
def test_a_baseline_accepts_no_other_group_that_is_worse_off(now: dict[str, int]) -> None:
    before = _audited(_frame({"m": 60, "f": 30})).to_dict()
    assert _audited(_frame(now), baseline=before).exit_code == 1


@pytest.mark.parametrize("now", [{"m": 60, "f": 30}, {"m": 60, "f": 40}, {"m": 60, "f": 90}])
def test_a_baseline_accepts_the_same_group_that_is_no_worse(now: dict[str, int]) -> None:
    before = _audited(_frame({"m": 60, "f": 30})).to_dict()
    accepted = _audited(_frame(now), baseline=before)
    assert accepted.exit_code == (1 if now["f"] == 90 else 0)  # then m is worse off


def test_a_baseline_knows_who_was_worse_off_beside_the_worst() -> None:
    before = _audited(_frame({"m": 60, "f": 30, "x": 40})).to_dict()
    assert _audited(_frame({"m": 60, "f": 60, "x": 40}), baseline=before).exit_code == 0
    assert _audited(_frame({"m": 60, "f": 60, "x": 32}), baseline=before).exit_code == 1
    assert _audited(_frame({"m": 40, "f": 60, "x": 60}), baseline=before).exit_code == 1


@pytest.mark.parametrize("rates", [{"m": 60, "f": 0, "x": 58}, {"m": 60, "f": 58, "x": 0}])
def test_a_baseline_with_a_rate_of_0_is_read(rates: dict[str, int]) -> None:
    entry = {"metric": "impact_ratio", "fail": {"below": 0.8}}
    before = _audited(_frame(rates), entry).to_dict()
    assert _audited(_frame(rates), entry, baseline=before).exit_code == 0
    assert _audited(_frame({**rates, "m": 0}), entry, baseline=before).exit_code == 1


@pytest.mark.parametrize(
    ("entry", "tolerance"),
    [
        (_RATIO, 0.8),
        ({"metric": "demographic_parity_difference", "fail": {"above": 0.2}}, 0.8),
        ({"metric": "selection_rate", "fail": {"below": 0.4}}, 0.4),
    ],
)
def test_a_tolerance_that_accepts_every_value_is_refused(
    entry: dict[str, Any], tolerance: float
) -> None:
    before = _audited(_frame({"m": 60, "f": 30}), entry).to_dict()
    for wide in (tolerance, 1, 50):
        with pytest.raises(UsageError, match="accepts every value of"):
            _audited(_frame({"m": 60, "f": 30}), entry, baseline=before, tolerance=wide)


@pytest.mark.parametrize(
    ("entry", "end", "wide"),
    [
        # The ratio was 30/60, and no ratio is below 0; a tenth of the 0.8 below the limit is fine.
        (_RATIO, 30 / 60, 0.08),
        # Of a difference of 0.3 no value is more than 0.7 farther.
        ({"metric": "demographic_parity_difference", "fail": {"above": 0.2}}, 0.7, 0.08),
        ({"metric": "selection_rate", "fail": {"below": 0.4}}, 0.3, 0.04),
    ],
)
def test_a_tolerance_that_accepts_every_value_of_a_group_is_refused(
    entry: dict[str, Any], end: float, wide: float
) -> None:
    frame = _frame({"m": 60, "f": 30})
    before = _audited(frame, entry).to_dict()
    for tolerance in (end, 0.75):
        with pytest.raises(UsageError, match=r"accepts every value of .*f.* was at 0\.[35]\)"):
            _audited(frame, entry, baseline=before, tolerance=tolerance)
    for tolerance in (wide, end - 0.01):
        assert _audited(frame, entry, baseline=before, tolerance=tolerance).exit_code == 0


def test_a_small_tolerance_is_accepted_next_to_a_value_at_the_end_of_its_range() -> None:
    entry = {"metric": "selection_rate", "fail": {"below": 0.4}}
    before = _audited(_frame({"m": 60, "f": 0}), entry).to_dict()
    for tolerance in (0.01, 0.04):
        same = _audited(_frame({"m": 60, "f": 0}), entry, baseline=before, tolerance=tolerance)
        assert same.exit_code == 0


def test_a_tolerance_of_a_measure_without_an_end_is_accepted() -> None:
    entry = {
        "metric": "selection_rate", "compare": "ratio", "reference": "f", "fail": {"above": 1.2},
    }  # fmt: skip
    before = _audited(_frame({"m": 60, "f": 30}), entry).to_dict()
    data = _frame({"m": 90, "f": 30})
    assert _audited(data, entry, baseline=before, tolerance=1).exit_code == 0


def _of_two(*limits: Any) -> tuple[dict[str, Any], ...]:
    entries = ({"metric": "demographic_parity_ratio"}, {"metric": "selection_rate"})
    return tuple(
        entry | {"fail": limit}
        for entry, limit in zip(entries, limits, strict=True)
        if limit is not None
    )


@pytest.mark.parametrize(
    ("then", "now", "code"),
    [
        ({"below": 0.5}, None, 1),
        ({"below": 0.5}, {"below": 0.2}, 1),
        ({"below": 0.5}, {"below": 0.5, "conclusive": True}, 1),
        ({"below": 0.5}, {"below": 0.55}, 0),
        ({"below": 0.5, "conclusive": True}, {"below": 0.5}, 0),
        (None, {"below": 0.5}, 0),
    ],
)
def test_a_comparison_accepts_no_check_that_is_gone_or_looser(
    tmp_path: Path, then: Any, now: Any, code: int
) -> None:
    data = _frame({"m": 60, "f": 57})
    reports = [
        _saved(tmp_path, name, _audited(data, *_of_two({"below": 0.8}, limit)))
        for name, limit in (("then", then), ("now", now))
    ]
    done = run("compare", *reports, "--fail-on", "worse", "-q")
    assert done.returncode == code
    assert ("a looser limit there: selection_rate/sex/decision" in done.stderr) is bool(code)
    accepted = run("compare", *reports, "--fail-on", "worse", "-q", "--accept-dropped")
    assert accepted.returncode == 0


@pytest.mark.parametrize(
    "now",
    [
        {"columns": {"decision": {"column": "fair", "positive": 1}}},
        {"columns": {"decision": {"column": "hired", "positive": 0}}},
        {"columns": {"protected": {"sex": {"column": "other"}}}},
        {"filter": "fair = 1 or hired = 1"},
    ],
)
def test_a_comparison_accepts_no_check_of_other_columns_or_people(
    tmp_path: Path, now: dict[str, Any]
) -> None:
    """The rates 47 % and 50 % of one column say nothing about those of another."""
    data = _frame({"m": 50, "f": 47}).with_columns(
        other=pl.Series(["f", "m"] * 100), fair=pl.Series([0, 1, 0, 1] * 50)
    )
    reports = [
        _saved(tmp_path, name, _audited(data, **keys))
        for name, keys in (("then", {}), ("now", now))
    ]
    done = run("compare", *reports, "--fail-on", "worse", "-q")
    assert done.returncode == 1
    assert not done.stderr.startswith("BETTER")
    told = "another definition or a looser limit there: demographic_parity_ratio/sex/decision"
    assert told in done.stderr
    accepted = run("compare", *reports, "--fail-on", "worse", "-q", "--accept-dropped")
    assert accepted.returncode == 0
    same = run("compare", reports[0], reports[0], "--fail-on", "worse", "-q")
    assert same.returncode == 0


@pytest.mark.parametrize(("unknown", "code"), [(600, 1), (100, 0)])
def test_a_comparison_tells_that_more_people_are_left_out(
    tmp_path: Path, unknown: int, code: int
) -> None:
    missing = {"missing": {"tokens": [""], "protected": "aside"}}
    data = _frame({"m": 500, "f": 450}, 1000)
    more = pl.DataFrame({"sex": [None] * unknown, "hired": [0] * unknown})
    reports = [
        _saved(tmp_path, name, _audited(frame, **missing))
        for name, frame in (
            ("then", data),
            ("now", pl.concat([data, more], how="vertical_relaxed")),
        )
    ]
    done = run("compare", *reports, "--fail-on", "worse")
    assert done.returncode == code
    assert ("people left out: 0.0 % → 23.1 %" in " ".join(done.stdout.split())) is bool(code)


def test_sarif_says_that_nothing_could_be_evaluated() -> None:
    for rates in ({"m": 50}, {"m": 50, "f": 50}):
        result = _audited(_frame(rates), _RATIO, undefined="skip")
        (told,) = json.loads(build_servers.render_sarif([Answer("spec.yaml", None, result)]))[
            "runs"
        ]
        (invocation,) = told["invocations"]
        levels = [note["level"] for note in invocation["toolExecutionNotifications"]]
        assert invocation["executionSuccessful"]
        assert invocation["exitCode"] == (3 if len(rates) == 1 else 0)
        assert ("error" in levels) is (len(rates) == 1)


def test_columns_of_pandas_in_another_order_are_refused() -> None:
    frame = _frame({"m": 60, "f": 30}).to_pandas()
    shuffled = frame.sample(frac=1, random_state=1)
    for other in (shuffled["sex"], shuffled[["sex"]], {"sex": shuffled["sex"]}):
        with pytest.raises(DataError, match="same labels in another order"):
            fairaudit.audit_arrays(y_pred=frame["hired"], sensitive_features=other)
    with pytest.raises(DataError, match="same labels in another order"):
        _audited({"sex": shuffled["sex"], "hired": frame["hired"]})


def test_columns_of_pandas_in_one_order_and_arrays_are_read() -> None:
    frame = _frame({"m": 60, "f": 30}).to_pandas()
    moved = frame.set_axis(range(1000, 1200))
    for other in (frame["sex"], moved["sex"], frame["sex"].to_numpy(), [*frame["sex"]]):
        result = fairaudit.audit_arrays(
            y_pred=frame["hired"],
            sensitive_features=other,
            limits={"demographic_parity_ratio": {"below": 0.8}},
        )
        assert result.findings[0].value == pytest.approx(0.5)
    assert _audited({"sex": np.array(frame["sex"]), "hired": frame["hired"]}).exit_code == 1
    assert _audited({"sex": pd.Series(["m"]), "hired": pd.Series([1])}).exit_code == 3


def test_a_result_has_no_truth_value_and_a_verdict_is_true_where_it_passes() -> None:
    failed, passed = (_audited(_frame({"m": 60, "f": f})) for f in (30, 60))
    for result in (failed, passed):
        with pytest.raises(TypeError, match="raise_for_failure"):
            bool(result)
    assert passed.verdict
    assert not failed.verdict
    assert failed.verdict == "fail"
    assert not Verdict.INCONCLUSIVE


def test_two_specs_of_one_folder_are_a_usage_error(tmp_path: Path) -> None:
    _frame({"m": 60, "f": 40}).write_csv(tmp_path / "d.csv")
    spec = json.dumps(_spec(data="d.csv"))
    (tmp_path / "fairaudit.yml").write_text(spec)
    assert run("run", folder=tmp_path).returncode == 1
    (tmp_path / "fairaudit.yaml").write_text(spec)
    done = run("run", folder=tmp_path)
    assert done.returncode == 2
    assert "the current folder has both fairaudit.yaml and fairaudit.yml" in done.stderr
    assert run("run", "fairaudit.yaml", folder=tmp_path).returncode == 1


@pytest.mark.long
def test_times_with_a_zone_are_the_same_on_every_machine(tmp_path: Path) -> None:
    night = dt.datetime(2024, 1, 1, 2, 30, tzinfo=dt.UTC)
    day = dt.datetime(2023, 12, 31, 20, 30, tzinfo=dt.UTC)
    frame = _frame({"m": 60, "f": 50}).with_columns(  # noqa: F841  # DuckDB reads it
        a=pl.when(pl.int_range(pl.len()) < 170).then(pl.lit(night)).otherwise(pl.lit(day))
    )
    with duckdb.connect(tmp_path / "d.db") as link:
        link.execute("CREATE TABLE t AS SELECT * FROM frame")
    spec = tmp_path / "spec.yaml"
    spec.write_text(json.dumps(_spec(filter="a >= '2024-01-01'")))
    data = f"duckdb:///{tmp_path / 'd.db'}?table=t"
    for zone in ("UTC", "America/New_York", "Asia/Tokyo"):
        done = start("run", spec, "--data", data, "--format", "json", TZ=zone)
        (check,) = json.loads(done.stdout)["checks"]
        assert check["n"] == 170, zone


_ALIKE = [
    ("a = 'Yes'", "Yes", "yes"),
    ("a in ('Yes', 'Maybe')", "Yes", " Yes"),
    ("a = true", "true", "True"),
    ("a = '1'", "1", "1.0"),
    ("a = '1'", "1", "01"),
    ("a = 'Yes'", "Yes", "Y\u0435s"),  # a Cyrillic letter
    ("a = '\u00c4'", "\u00c4", "A\u0308"),
    ("a = 'x' or a = 'Yes'", "Yes", "YES"),
    # The column has a second use.
    ("a = 'Yes' and a is not null", "Yes", "yes"),
    ("a = 'Yes' or a is null", "Yes", "yes"),
    ("a is not null and a in ('Yes', 'Maybe')", "Yes", "yes"),
    ("a = 'Yes' and a <> 'No'", "Yes", "yes"),
    ("a = 'Yes' or a like 'Q%'", "Yes", "yes"),
    ("lower(a) = 'yes'", "Yes", "YES "),
    ("not (a is null or not (a = 'Yes'))", "Yes", "yes"),
    ("a is not distinct from 'Yes'", "Yes", "yes"),
    ("not ('Yes' is distinct from a)", "Yes", "Y\u0435s"),
    ("a is null or upper(a) is not distinct from 'YES'", "Yes", "yes "),
]
_ALIKE_LEFT_OUT = [
    ("a <> 'No'", "Yes", "no"),
    ("a not in ('No', 'Maybe')", "Yes", "No "),
    ("not (a = 'No')", "Yes", "N\u043e"),  # a Cyrillic letter
    ("a is distinct from 'No'", "Yes", "N\u043e"),
    ("not (lower(a) is not distinct from 'no')", "Yes", "no "),
    ("not (a = 'No' or a in ('x', 'y'))", "Yes", "NO"),
    ("(a = 'No') = false", "Yes", "no"),
    ("a is not null and not a = 'No'", "Yes", "no"),
    ("upper(a) <> 'NO'", "Yes", "no "),
]


@pytest.mark.long
@pytest.mark.parametrize("route", ["", "lazy"])
@pytest.mark.parametrize("form", ["frame", "csv", "parquet"])
@pytest.mark.parametrize(
    ("rule", "kept", "other", "decided"),
    [
        *((*case, "something else") for case in _ALIKE),
        *((*case, "No") for case in _ALIKE_LEFT_OUT),
    ],
)
def test_a_text_that_looks_like_one_of_the_filter_leaves_a_check_open(
    rule: str, kept: str, other: str, decided: str, form: str, route: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("FAIRAUDIT_ROUTE", route)
    rows = [(*row, kept) for row in _frame({"m": 60, "f": 55}).rows()]
    for alike, code in ((other, 3), (decided, 0)):
        data: Any = pl.DataFrame(
            [*rows, *[("f", 0, alike)] * 50], ["sex", "hired", "a"], orient="row"
        )
        if form != "frame":
            path = tmp_path / f"d.{form}"
            data.write_csv(path) if form == "csv" else data.write_parquet(path)
            data = path
        result = _audited(data, filter=rule)
        assert result.exit_code == code, alike
        told = "50 rows lack a value that the filter needs, or have a value that looks like"
        assert (told in _notices(result)) is (code == 3)


@pytest.mark.parametrize(
    ("rule", "kept"),
    [
        ("a in ('Yes', 'yes')", 250),
        ("lower(a) = 'yes'", 250),
        ("a like 'Y%'", 200),
        ("a <> 'No'", 250),
        ("a not in ('YES', 'yes', 'Yes', 'No') or a in ('Yes', 'yes')", 250),
        ("a = 'Yes' and a <> 'yes'", 200),
        ("a <> 'Yes' or a = 'Yes' or a = 'yes'", 250),
        ("a is not null and not (a = 'yes' and a <> 'Yes')", 200),
        ("lower(a) <> 'no'", 250),
        ("a > 'Z'", 50),
    ],
)
def test_a_filter_that_says_what_it_means_decides_every_row(rule: str, kept: int) -> None:
    data = pl.concat([_frame({"m": 60, "f": 55}), _frame({"f": 20}, 50)])
    data = data.with_columns(a=pl.Series(["Yes"] * 200 + ["yes"] * 50))
    result = _audited(data, filter=rule)
    assert sum(row.n or 0 for row in result.groups if not row.group) == kept
    assert "looks like" not in _notices(result)


@pytest.mark.parametrize(
    ("rule", "kept", "undecided"),
    [
        ("a is distinct from 'No'", 200 + 40, 10),
        ("a is not distinct from 'No'", 30, 10),
        ("not (a is distinct from 'No')", 30, 10),
        ("('No' is distinct from a) and a is not null", 200, 10),
        ("lower(a) is distinct from 'no'", 200 + 40, 0),
        ("a <> 'No'", 200, 50),
    ],
)
def test_a_distinction_decides_blanks_and_no_text_that_looks_alike(
    rule: str, kept: int, undecided: int
) -> None:
    """200 have "Yes", 40 no text, 30 "No", and 10 "no", which may be the same."""
    texts = ["Yes"] * 200 + [None] * 40 + ["No"] * 30 + ["no"] * 10
    data = pl.concat([_frame({"m": 60, "f": 55}), _frame({"f": 20}, 80)])
    data = data.with_columns(
        a=pl.Series(texts), sex=pl.Series(["m", "f"] * 140), hired=pl.Series([0, 0, 1, 1] * 70)
    )
    result = _audited(data, filter=rule)
    assert sum(row.n or 0 for row in result.groups if not row.group) == kept
    assert result.ledger.undecided == undecided


@pytest.mark.parametrize("form", ["frame", "csv", "parquet"])
def test_nan_is_missing_to_a_filter_that_asks_for_a_value(form: str, tmp_path: Path) -> None:
    """A CSV file kept the text, and dropped it where the filter compared the column."""
    data: Any = pl.concat([_frame({"m": 60, "f": 55}), _frame({"f": 0}, 50)])
    data = data.with_columns(a=pl.Series([1.0] * 200 + [float("nan")] * 50))
    if form != "frame":
        path = tmp_path / f"d.{form}"
        data.write_csv(path) if form == "csv" else data.write_parquet(path)
        data = path
    for rule in ("a is not null", "a is not null and a > 0", "not (a is null)"):
        assert _audited(data, filter=rule).exit_code == 0, rule
    assert _audited(data, filter="a is null or a > 0").exit_code == 1


def test_the_text_nan_is_a_level_where_a_filter_names_it(tmp_path: Path) -> None:
    data = _frame({"m": 60, "f": 55}).with_columns(a=pl.lit("NaN"))
    data.write_csv(tmp_path / "d.csv")
    assert _audited(tmp_path / "d.csv", filter="a = 'NaN'").exit_code == 0


@pytest.mark.parametrize(
    ("asked", "is_told"),
    [
        ({"situation_testing"}, True),
        ({"situation_testing_reversed"}, True),
        ({"situation_testing", "situation_testing_reversed"}, False),
        ({"demographic_parity_ratio"}, False),
    ],
)
def test_a_limit_on_situation_testing_says_which_side_it_looks_at(
    asked: set[str], is_told: bool
) -> None:
    data = _frame({"m": 60, "f": 55}).with_columns(x=pl.int_range(pl.len()) % 7)
    entries = [
        {"metric": name, "fail": {"above": 0.9} if "situation" in name else {"below": 0.2}}
        | ({"reference": {"sex": "f"}} if "situation" in name else {})
        for name in sorted(asked)
    ]
    result = _audited(data, *entries, columns={"features": {"numeric": ["x"]}})
    assert (
        "judges only one direction, people who are treated worse" in _notices(result)
    ) is is_told


@pytest.mark.parametrize(
    ("of", "limit", "is_told"),
    [
        ("current", {"above": 0.05}, True),
        ("current", {"outside": [-0.6, 0.6]}, False),
        ("candidate", {"above": 0.6}, False),
        ("current", {"above": 0.6}, False),
    ],
)
def test_a_change_on_the_other_side_of_its_limit_is_told(
    of: str, limit: dict[str, Any], is_told: bool
) -> None:
    data = _frame({"m": 60, "f": 60}).rename({"hired": "p1"})
    data = data.with_columns(p2=_frame({"m": 60, "f": 5})["hired"], y=pl.Series([1, 0] * 100))
    models = {
        name: {"prediction": {"column": column, "positive": 1}}
        for name, column in (("current", "p1"), ("candidate", "p2"))
    }
    (against,) = models.keys() - {of}
    result = fairaudit.audit(
        {
            "version": 1,
            "columns": {
                "protected": {"sex": {}}, "label": {"column": "y", "positive": 1},
                "models": models,
            },
            "metrics": [
                {"metric": "demographic_parity_difference", "of": of, "against": against,
                 "fail": limit},
            ],
        },
        data,
    )  # fmt: skip
    assert ("is -0.550, on the side that the limit does not look at" in _notices(result)) is is_told


@pytest.mark.parametrize("rates", [(60, 30), (60, 59), (30, 60)])
def test_a_dry_run_does_not_tell_which_side_of_the_limit_a_value_is_on(
    rates: tuple[int, int], tmp_path: Path
) -> None:
    """More than half are left out, and the clusters are too few, whatever the rates are."""
    known = _frame(dict(zip("mf", rates, strict=True)))
    unknown = pl.DataFrame({"sex": [""] * 300, "hired": [0] * 300})
    data = pl.concat([known, unknown]).with_columns(c=pl.int_range(pl.len()) % 2)
    data.write_csv(tmp_path / "d.csv")
    proven = {"metric": "demographic_parity_ratio", "fail": {"below": 0.8, "significant": True}}
    told = []
    for name, spec in (
        ("half", _spec(missing={"protected": "aside"})),
        ("cluster", _spec(proven, columns={"cluster": "c"}, filter="sex is not null")),
        ("whole", _spec(filter="sex is not null")),
    ):
        (tmp_path / f"{name}.yaml").write_text(json.dumps({**spec, "data": "d.csv"}))
        done = run("check", f"{name}.yaml", "--format", "json", folder=tmp_path)
        (check,) = json.loads(done.stdout)["checks"]
        told.append((done.returncode, check["is_evaluable"], check["reason"]))
    assert [code for code, _, _ in told] == [3, 3, 0]
    assert [is_evaluable for _, is_evaluable, _ in told] == [False, False, True]
    assert told[1][2].startswith("the required evidence is unavailable: fewer than 10 effective")


_ONE_OF_TWO: dict[str, Any] = {
    "version": 1,
    "columns": {
        "protected": ["sex"],
        "models": {"fair": {"prediction": "fair"}, "real": {"prediction": "hired"}},
    },
    "metrics": [_RATIO],
}


def _two_models() -> pl.DataFrame:
    return _frame({"m": 60, "f": 30}).with_columns(fair=pl.Series([0, 1] * 100))


def test_a_folder_of_passes_shows_the_notices_of_its_audits(tmp_path: Path) -> None:
    """The ratio of the model that no limit judges is 0.5 in each month."""
    for month, more in (("may", 0), ("june", 2)):
        rows = _two_models()
        pl.concat([rows, rows.tail(more)]).write_csv(tmp_path / f"{month}.csv")
    spec = tmp_path / "spec.yaml"
    spec.write_text(json.dumps(_ONE_OF_TWO))
    done = run("run", spec, "--data", tmp_path / "*.csv")
    told = " ".join(done.stdout.split())
    assert done.returncode == 0
    assert "no limit judges the decisions of real alone" in told
    assert "(in 2 of 2 passed audits)" in told
    run("run", spec, "--data", tmp_path / "*.csv", "-o", f"{tmp_path / 'out'}/")
    assert (
        "no limit judges the decisions of real alone" in (tmp_path / "out/index.html").read_text()
    )


@pytest.mark.parametrize("form", ["md", "html"])
def test_the_beginning_of_a_report_has_the_notices(tmp_path: Path, form: str) -> None:
    """A pull request shows what is not folded, and a page its first part."""
    path = tmp_path / f"report.{form}"
    fairaudit.audit(_ONE_OF_TWO, _two_models()).save(path)
    text = path.read_text(encoding="utf-8")
    beginning = text.partition("<details>" if form == "md" else "</header>")[0]
    assert "no limit judges the decisions of real alone" in beginning

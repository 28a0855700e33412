"""What a run must say of likely missing values, of weights, and of limits that see one side."""

from __future__ import annotations

import random
from datetime import datetime
from itertools import permutations
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
import pytest

import fairaudit
from fairaudit.base.errors import SpecError, UsageError
from fairaudit.result import AuditResult

_PEOPLE = 400
_SEX = ["f", "m"] * (_PEOPLE // 2)
_HIRED = [1, 0, 0, 1] * (_PEOPLE // 4)
_DECIDED = {"decision": {"column": "hired", "positive": 1}}
_RANDOM = random.Random(1)
_AGES = [_RANDOM.randint(18, 80) for _ in range(_PEOPLE)]
_PROBABILITIES = [_RANDOM.random() for _ in range(_PEOPLE)]
_AMOUNTS = [_RANDOM.gauss(50, 10) for _ in range(_PEOPLE)]
_INCOMES = [_RANDOM.lognormvariate(6, 1) for _ in range(_PEOPLE)]


def _audited(spec: dict[str, Any], values: list[Any], tmp_path: Path | None = None) -> AuditResult:
    data = pl.DataFrame({"sex": _SEX, "hired": _HIRED, "x": values}, strict=False)
    spec = {"version": 1, "metrics": ["selection_rate"], **spec}
    if tmp_path is None:
        return fairaudit.audit(spec, data)
    data.write_csv(tmp_path / "people.csv")
    return fairaudit.audit(spec, tmp_path / "people.csv")


def _told(result: AuditResult) -> list[str]:
    return [str(notice) for notice in result.notices if "may be missing values" in str(notice)]


_BINS = {"columns": {"protected": {"x": {"bins": [40, 60]}}, **_DECIDED}}
_FILTER_AND_SCORE = {
    "filter": "x >= 18",
    "columns": {"protected": ["sex"], **_DECIDED, "score": "hired"},
}
_FILTER = {"filter": "x >= 18", "columns": {"protected": ["sex"], **_DECIDED}}
_NUMBER = {
    "columns": {"protected": ["sex"], "label": {"column": "x", "number": True}},
    "metrics": [{"metric": "mean_difference", "reference": "largest"}],
}
_SCORE = {"columns": {"protected": ["sex"], **_DECIDED, "score": "x"}}
_CUT = {
    "columns": {"protected": ["sex"], "decision": {"column": "x", "positive": {"at_least": 40}}}
}


def _with(values: list[Any], *others: float) -> list[Any]:
    """The values, of which the first five are the first of the others, and so on."""
    return [number for number in others for _ in range(5)] + values[5 * len(others) :]


@pytest.mark.long
@pytest.mark.parametrize(
    ("spec", "values", "told"),
    [
        (_BINS, _with(_AGES, 999), "999 (5 rows)"),
        (_BINS, _with(_AGES, -1, 9999), "-1 (5 rows) and 9999 (5 rows)"),
        (_BINS, _with(_AGES, -8), "-8 (5 rows)"),
        (_BINS, [-2, *[-1] * 20, *_AGES[21:]], "-1 (20 rows)"),
        (_BINS, _with(_AGES, 999999), "999999 (5 rows)"),
        (_FILTER, _with(_AGES, 999), "999 (5 rows)"),
        (_FILTER, _with(_AGES, -9), "-9 (5 rows, 5 removed by the filter)"),
        (_NUMBER, _with(_AMOUNTS, 999), "999 (5 rows)"),
        (_NUMBER, _with(_AMOUNTS, -1), "-1 (5 rows)"),
        (_SCORE, _with(_PROBABILITIES, -1), "-1 (5 rows)"),
        (_SCORE, _with(_PROBABILITIES, 99), "99 (5 rows)"),
        (_SCORE, _with(_PROBABILITIES, 999999), "999999 (5 rows)"),
        (_FILTER_AND_SCORE, _with(_AGES, 9999999), "9999999 (5 rows)"),
        (_FILTER_AND_SCORE, _with(_AGES, -7), "-7 (5 rows, 5 removed by the filter)"),
        (_CUT, _with(_AGES, 999), "999 (5 rows)"),
    ],
)
def test_a_number_that_likely_means_missing_is_told(
    spec: dict[str, Any], values: list[Any], told: str, tmp_path: Path
) -> None:
    for result in (_audited(spec, values), _audited(spec, values, tmp_path)):
        (text,) = _told(result)
        assert text.startswith(f"x: {told} may be missing values; if so, write `missing: ")


@pytest.mark.parametrize(
    ("spec", "values"),
    [
        (_BINS, _AGES),
        (_BINS, _with(_AGES, -9, -30)),  # other negative numbers
        (_BINS, _with(_AGES, 999, 1500)),  # larger numbers
        ({**_BINS, "missing": {"tokens": ["", "999"]}}, _with(_AGES, 999)),
        ({**_FILTER, "filter": "x >= 180"}, [*_with(_AGES, 999)[:-5], *[500] * 5]),
        (_NUMBER, _AMOUNTS),
        (_NUMBER, _with(_INCOMES, 999)),  # an income like others
        (_SCORE, _PROBABILITIES),
        (_SCORE, [-1, 0, 1, 1] * (_PEOPLE // 4)),
        (_CUT, _with(_AGES, -9, -30)),
    ],
)
def test_numbers_like_the_others_are_not_told(spec: dict[str, Any], values: list[Any]) -> None:
    assert not _told(_audited(spec, values))


@pytest.mark.parametrize("spec", [_BINS, _CUT, _FILTER])
def test_looking_for_such_numbers_changes_no_count(spec: dict[str, Any]) -> None:
    with_codes, plain = _with(_AGES, 999, -1), _with(_AGES, 998, -2)
    (rates, others) = ([*map(repr, _audited(spec, ages).rates)] for ages in (with_codes, plain))
    assert rates == others


def test_a_published_report_tells_of_no_such_number() -> None:
    assert not _told(_audited({**_BINS, "suppress_below": 5}, _with(_AGES, 999)))


@pytest.mark.parametrize(("number", "said"), [("inf", "Infinity"), ("-1e400", "-Infinity")])
def test_an_infinite_number_has_a_notice(number: str, said: str, tmp_path: Path) -> None:
    values = _with([*map(float, _AGES)], float(number))
    for result in (_audited(_BINS, values), _audited(_BINS, values, tmp_path)):
        assert _told(result) == [
            f"x: {said} (5 rows) may be missing values; if so, leave them blank"
        ]


_DAYS = ["2024-02-03", "2021-12-31", "1958-07-01", "2099-12-31"] * (_PEOPLE // 4)
_AGE = {
    "columns": {"protected": {"age": {"from": "x", "at": "2100-01-01", "bins": [40]}}, **_DECIDED}
}
_WAIT = {
    "columns": {"protected": {"wait": {"column": "x", "minus": "y", "bins": [30]}}, **_DECIDED}
}
_SINCE = {"filter": "x >= '2020-01-01'", "columns": {"protected": ["sex"], **_DECIDED}}


def _dated(spec: dict[str, Any], odd: str, path: Path) -> list[str]:
    """The notices on dates, the same for text, dates and a CSV file; five dates are odd."""
    frame = pl.DataFrame({"sex": _SEX, "hired": _HIRED, "x": [odd] * 5 + _DAYS[5:], "y": _DAYS})
    frame.write_csv(path / "people.csv")
    spec = {"version": 1, "metrics": ["selection_rate"], **spec}
    typed = frame.with_columns(pl.col("x", "y").str.to_date())
    texts = [
        [str(one) for one in fairaudit.audit(spec, data).notices if str(one).startswith("x: ")]
        for data in (frame, typed, path / "people.csv")
    ]
    assert texts[0] == texts[1] == texts[2]
    return texts[0]


@pytest.mark.parametrize(
    ("spec", "odd", "said"),
    [
        (_AGE, "1900-01-01", "5 rows have a date before 1901 or after 2099; if"),
        (_WAIT, "9999-12-31", "5 rows have a date before 1901 or after 2099; if"),
        (_WAIT, "0001-01-01", "5 rows have a date before 1901 or after 2099; if"),
        (_SINCE, "9999-12-31", "5 rows have a date before 1901 or after 2099; if"),
        (_SINCE, "1900-01-01", "5 rows have a date before 1901 or after 2099 (5 removed by"),
    ],
)
def test_a_date_that_likely_means_missing_has_a_notice(
    spec: dict[str, Any], odd: str, said: str, tmp_path: Path
) -> None:
    (text,) = _dated(spec, odd, tmp_path)
    assert text.startswith(f"x: {said}")
    likely = "9999-12-31" if odd.startswith("9") else "1900-01-01"
    assert text.endswith(f'write `missing: {{tokens: ["", "{likely}"]}}`')


@pytest.mark.parametrize("spec", [_AGE, _WAIT, _SINCE])
def test_a_date_that_is_declared_as_missing_has_no_notice(
    spec: dict[str, Any], tmp_path: Path
) -> None:
    assert not _dated(spec, "2024-02-03", tmp_path)
    assert not _dated({**spec, "missing": {"tokens": ["", "1900-01-01"]}}, "1900-01-01", tmp_path)


_MOMENTS = [
    ("a", "2024-02-05T10:00:00-05:00", 80, 20),
    ("b", "2024-02-05 12:00+00:00", 70, 30),
    ("b", "2024-01-31T23:30:00.5-0500", 0, 100),  # 04:30 on the first of February in UTC
    ("b", "2024-02-29T21:00:00Z", 10, 0),
    ("b", "2024-02-29T21:00:00-05:00", 500, 0),  # in March
]


@pytest.mark.parametrize("zone", [None, "UTC", "America/New_York", "Asia/Tokyo"])
@pytest.mark.parametrize("bounds", ["2024-02-01|2024-03-01", "2024-02-01 00:00|2024-03-01 00:00"])
def test_moments_are_compared_in_utc(zone: str | None, bounds: str, tmp_path: Path) -> None:
    rows = [
        (group, moment, decision)
        for group, moment, *sides in _MOMENTS
        for decision, people in zip((1, 0), sides, strict=True)
        for _ in range(people)
    ]
    frame = pl.DataFrame(rows, schema=["sex", "x", "hired"], orient="row")
    if zone is not None:
        moments = [datetime.fromisoformat(text).astimezone(ZoneInfo(zone)) for text in frame["x"]]
        frame = frame.with_columns(x=pl.Series(moments, dtype=pl.Datetime("us", zone)))
    first, end = bounds.split("|")
    spec = {
        "version": 1,
        "filter": f"x >= '{first}' and x < '{end}'",
        "columns": {"protected": ["sex"], **_DECIDED},
        "metrics": ["selection_rate"],
    }
    frame.write_parquet(tmp_path / "moments.parquet")
    sources = [frame, tmp_path / "moments.parquet"]
    if zone is None:
        frame.write_csv(tmp_path / "moments.csv")
        sources.append(tmp_path / "moments.csv")
    for source in sources:
        rows_of_groups = [row for row in fairaudit.audit(spec, source).rates if row.group]
        rates = {row.group[0][1]: row.estimate for row in rows_of_groups}
        counts = {group: (rate.numerator, rate.denominator) for group, rate in rates.items()}
        assert counts == {"a": (80, 100), "b": (80, 210)}


@pytest.mark.parametrize("moment", ["2024-03-01T00:00", "2024-03-01 00:00:00Z"])
def test_a_moment_in_another_notation_is_refused_in_a_filter(moment: str) -> None:
    # A blank is below a T: 2024-03-01 02:00 would be before 2024-03-01T00:00.
    spec = {"filter": f"x < '{moment}'", "columns": {"protected": ["sex"], **_DECIDED}}
    with pytest.raises(SpecError, match="not as a date: declare"):
        _audited(spec, ["2024-03-01 02:00"] * _PEOPLE)


def test_a_difference_of_numbers_has_no_notice_on_dates() -> None:
    values = [str(number) for number in _AGES]
    frame = pl.DataFrame({"sex": _SEX, "hired": _HIRED, "x": values, "y": values[::-1]})
    result = fairaudit.audit({"version": 1, "metrics": ["selection_rate"], **_WAIT}, frame)
    assert not [one for one in result.notices if "date" in str(one)]


_ROWS = {"sex": ["f"] * 100 + ["m"] * 100, "hired": [1] * 10 + [0] * 90 + [1] * 60 + [0] * 40}


def _judged(metric: dict[str, Any], **columns: Any) -> AuditResult:
    columns = {"protected": ["sex"], **_DECIDED, **columns}
    return fairaudit.audit({"version": 1, "columns": columns, "metrics": [metric]}, _ROWS)


@pytest.mark.parametrize(
    ("metric", "limit"),
    [
        ("statistical_parity_difference", {"above": 0.1}),
        ("statistical_parity_difference", {"above": 0.1, "significant": True}),
        ("statistical_parity_difference", {"above": 0.1, "conclusive": True}),
        ("disparate_impact_ratio", {"above": 1.25}),
    ],
)
@pytest.mark.parametrize(("reference", "status"), [("m", "inconclusive"), ("f", "fail")])
def test_a_limit_on_one_side_does_not_pass_a_group_that_is_worse_off(
    metric: str, limit: dict[str, Any], reference: str, status: str
) -> None:
    (finding,) = _judged({"metric": metric, "reference": reference, "fail": limit}).findings
    assert str(finding.status) == status
    assert ("does not look at" in finding.why) is (status == "inconclusive")


@pytest.mark.parametrize(
    ("metric", "limit", "reference"),
    [
        # The reference is worse off: a check of adverse impact asks for no more.
        ("statistical_parity_difference", {"below": -0.1}, "f"),
        ("disparate_impact_ratio", {"below": 0.8}, "f"),
        ("statistical_parity_difference", {"above": 0.6}, "m"),
        ("statistical_parity_difference", {"outside": [-0.6, 0.1]}, "m"),
    ],
)
def test_a_limit_on_one_side_passes_where_no_group_is_so_much_worse_off(
    metric: str, limit: dict[str, Any], reference: str
) -> None:
    (finding,) = _judged({"metric": metric, "reference": reference, "fail": limit}).findings
    assert str(finding.status) == "pass"


def test_a_burden_has_its_other_side() -> None:
    burden = {"decision": {"column": "hired", "positive": 1, "favourable": False}}
    entry = {"metric": "statistical_parity_difference", "reference": "f", "fail": {"below": -0.1}}
    (finding,) = _judged(entry, **burden).findings
    assert str(finding.status) == "inconclusive"
    assert "sex=m is worse off, at 0.500" in finding.why


@pytest.mark.long
@pytest.mark.parametrize(
    ("metric", "limit", "accepted"),
    [
        # Women: mean score .2 against .7, true and false positive rate .1 against .6.
        ({"metric": "mean_score", "compare": "difference"}, {"above": 0.1}, [-0.6, 0.1]),
        ({"metric": "mean_score", "compare": "ratio"}, {"above": 1.25}, [0.2, 1.25]),
        ({"metric": "average_odds_difference"}, {"above": 0.1}, [-0.6, 0.1]),
        ({"metric": "fairmlhealth_equal_odds_ratio"}, {"above": 1.25}, [0.1, 1.25]),
        ({"metric": "between_group_auc_score"}, {"below": 0.4}, [0.4, 1]),
    ],
)
def test_a_limit_on_one_side_does_not_pass_what_is_not_known_to_be_harmless(
    metric: dict[str, Any], limit: dict[str, Any], accepted: list[float]
) -> None:
    rows = {
        "sex": ["f"] * 200 + ["m"] * 200,
        "hired": [1] * 20 + [0] * 180 + [1] * 120 + [0] * 80,
        "score": [0.2] * 200 + [0.7] * 200,
        "able": [1, 0] * 200,
    }
    columns = {
        "protected": {"sex": {"reference": "m"}},
        "prediction": {"column": "hired", "positive": 1},
        "label": {"column": "able", "positive": 1},
        "score": "score",
    }
    one_sided, stated = (
        fairaudit.audit(
            {"version": 1, "columns": columns, "metrics": [{**metric, "fail": one}]}, rows
        ).findings[0]
        for one in (limit, {"outside": accepted})
    )
    assert str(one_sided.status) == "inconclusive"
    assert "on the side that the limit" in one_sided.why
    assert str(stated.status) == "pass"


@pytest.mark.parametrize(("shares", "status"), [((0.9, 0.1), "inconclusive"), ((0.1, 0.9), "fail")])
def test_a_slope_has_its_other_side(shares: tuple[float, float], status: str) -> None:
    """The share of selected people falls, or rises, by .2 a year over five years."""
    low, high = shares
    year, hired = [], []
    for at in range(5):
        chosen = round(100 * (low + (high - low) * at / 4))
        year += [at] * 100
        hired += [1] * chosen + [0] * (100 - chosen)
    entry = {"metric": "slope", "by": "year", "fail": {"above": 0.05}}
    columns = {"protected": {"year": {"bins": [2]}}, **_DECIDED}
    spec = {"version": 1, "columns": columns, "metrics": [entry]}
    (finding,) = fairaudit.audit(spec, {"year": year, "hired": hired}).findings
    assert str(finding.status) == status


def test_a_limit_that_judges_the_label_says_so() -> None:
    limits = {"demographic_parity_ratio": {"below": 0.8}}
    result = fairaudit.audit_arrays(
        _ROWS["hired"], sensitive_features={"sex": _ROWS["sex"]}, limits=limits
    )
    assert result.exit_code == 1
    told = (
        "the limit on demographic_parity_ratio judges the label, because the spec has no prediction"
    )
    assert any(told in str(notice) for notice in result.notices)
    result = fairaudit.audit_arrays(
        None, _ROWS["hired"], sensitive_features={"sex": _ROWS["sex"]}, limits=limits
    )
    assert not any("judges the label" in str(notice) for notice in result.notices)


def test_an_assertion_of_a_spec_without_limits_is_an_error() -> None:
    columns = {"protected": ["sex"], **_DECIDED}
    spec = {"version": 1, "columns": columns, "metrics": ["selection_rate"]}
    with pytest.raises(UsageError, match="sets no limit, so nothing is asserted"):
        fairaudit.assert_audit(spec, _ROWS)


def test_rows_of_weight_0_are_people_and_are_told() -> None:
    rows = {
        "sex": ["m"] * 100 + ["f"] * 110 + ["x"] * 60,
        "hired": [1] * 60 + [0] * 40 + [1] * 70 + [0] * 40 + [1] * 60,
        "w": [1] * 100 + [1] * 10 + [0] * 60 + [1] * 40 + [0] * 60,
    }
    columns = {"protected": ["sex"], **_DECIDED, "weight": "w"}
    entry = {"metric": "demographic_parity_ratio", "fail": {"below": 0.8}}
    spec = {"columns": columns, "metrics": [entry], "groups": {"min_size": 60}}
    result = fairaudit.audit({"version": 1, **spec}, rows)
    assert str(result.findings[0].status) == "inconclusive"  # of x no rate is known
    (line,) = result.ledger.set_aside
    assert (line.rows, line.column) == (120, "w")
    (text,) = [str(notice) for notice in result.notices if "worth fewer people" in str(notice)]
    assert text.endswith("(60): sex=f (110 people, worth 50), sex=x (60 people, worth 0)")
    light = fairaudit.audit({"version": 1, **spec, "groups": {"min_size": 50}}, rows)
    assert not any("sex=f" in str(notice) for notice in light.notices)


def test_people_without_a_feature_are_not_said_to_lack_an_outcome() -> None:
    rows = {"sex": _SEX, "hired": _HIRED, "x": [None] * 150 + _PROBABILITIES[150:]}
    columns = {"protected": ["sex"], **_DECIDED, "features": {"numeric": ["x"]}}
    spec = {"columns": columns, "metrics": [{"metric": "consistency", "fail": {"below": 0.1}}]}
    (finding,) = fairaudit.audit({"version": 1, **spec}, rows).findings
    assert "are left out: without an outcome or a feature" in finding.headline


@pytest.mark.parametrize(
    "pseudo",
    [{"smoothing": 1000}, {"concentration": 100_000}, {"smoothing": 9000, "towards": "overall"}],
)
@pytest.mark.parametrize("hired", [20, 0])
def test_pseudo_counts_do_not_hide_a_gap_that_the_counts_show(
    pseudo: dict[str, Any], hired: int
) -> None:
    rows = _ROWS | {"hired": [1] * hired + [0] * (100 - hired) + [1] * 60 + [0] * 40}
    entry = {"metric": "differential_fairness", **pseudo, "fail": {"above": 0.5}}
    spec = {"columns": {"protected": ["sex"], **_DECIDED}, "metrics": [entry]}
    (finding,) = fairaudit.audit({"version": 1, **spec}, rows).findings
    assert str(finding.status) == "inconclusive"
    assert "the pseudo-counts hide it" in finding.why


def test_pseudo_counts_may_smooth_what_chance_explains() -> None:
    rows = {"sex": ["f"] * 8 + ["m"] * 200, "hired": [1] + [0] * 7 + [1] * 80 + [0] * 120}
    entry = {"metric": "differential_fairness", "smoothing": 1, "fail": {"above": 1.1}}
    spec = {"columns": {"protected": ["sex"], **_DECIDED}, "metrics": [entry]}
    (finding,) = fairaudit.audit({"version": 1, **spec}, rows).findings
    assert str(finding.status) == "pass"


_SMALL, _LARGE = [1] * 20 + [0] * 180, [1] * 120 + [0] * 80
_SEXES = ["f"] * 200 + ["m"] * 200


@pytest.mark.parametrize(
    ("before", "status"), [(_LARGE + _SMALL, "inconclusive"), (_SMALL + _LARGE, "pass")]
)
@pytest.mark.parametrize("metric", ["demographic_parity_difference", "bias_amplification"])
def test_two_gaps_of_one_size_and_opposite_directions_do_not_cancel(
    metric: str, before: list[int], status: str
) -> None:
    rows = {"sex": _SEXES, "now": _SMALL + _LARGE, "then": before}
    entry: dict[str, Any] = {"metric": metric, "fail": {"above": 0.1}}
    columns: dict[str, Any] = {"protected": ["sex"]}
    if metric == "bias_amplification":
        columns |= {"label": {"column": "then", "positive": 1}}
        columns |= {"prediction": {"column": "now", "positive": 1}}
    else:
        models = {name: {"prediction": {"column": name, "positive": 1}} for name in ("now", "then")}
        columns |= {"models": models}
        entry |= {"of": "now", "against": "then"}
    (finding,) = fairaudit.audit(
        {"version": 1, "columns": columns, "metrics": [entry]}, rows
    ).findings
    assert str(finding.status) == status
    assert ("the opposite direction in both" in finding.why) is (status == "inconclusive")


@pytest.mark.parametrize(
    "entry",
    [
        {"metric": "demographic_parity_difference"},
        {"metric": "differential_fairness"},
        {"metric": "equalized_odds_difference"},
        {"metric": "selection_rate", "compare": "difference", "reference": {"g": "a"}}
        | {"aggregate": "max"},
    ],
    ids=lambda entry: str(entry["metric"]),
)
@pytest.mark.parametrize(("now", "status"), [((20, 50), "inconclusive"), ((48, 22), "pass")])
def test_a_gap_that_moves_to_another_group_does_not_cancel(
    entry: dict[str, Any], now: tuple[int, int], status: str
) -> None:
    """Of 100 people with either label: a 50 both times, b 50 and c 20 before."""
    hits = {"a": (50, 50), "b": (50, now[0]), "c": (20, now[1])}
    rows = [
        (g, y, int(n < then), int(n < later))
        for g, (then, later) in hits.items()
        for y in (0, 1)
        for n in range(100)
    ]
    models = {name: {"prediction": {"column": name, "positive": 1}} for name in ("then", "now")}
    columns = {"protected": ["g"], "label": {"column": "y", "positive": 1}, "models": models}
    entry = {**entry, "of": "now", "against": "then", "fail": {"above": 0.1}}
    people = pl.DataFrame(rows, schema=["g", "y", "then", "now"], orient="row")
    spec = {"version": 1, "columns": columns, "metrics": [entry]}
    (finding,) = fairaudit.audit(spec, people).findings
    assert str(finding.status) == status
    # Of ε c falls behind as well: it has fewer rejections than the others.
    assert ("changes by" in finding.why) is (status == "inconclusive")


@pytest.mark.parametrize(("rejected", "status"), [(50, "inconclusive"), (90, "pass")])
def test_parts_of_a_mean_that_cancel_leave_a_check_open(rejected: int, status: str) -> None:
    """Of f 90 of 100 true and 10 of 100 false positives; of m 50 and 50, or 90 and 10."""
    rows = {
        "sex": _SEXES,
        "y": ([1] * 100 + [0] * 100) * 2,
        "hired": [1] * 90 + [0] * 10 + [1] * 10 + [0] * 90
        + [1] * rejected + [0] * (100 - rejected) + [1] * (100 - rejected) + [0] * rejected,
    }  # fmt: skip
    columns = {"protected": ["sex"], **_DECIDED, "label": {"column": "y", "positive": 1}}
    entry = {"metric": "average_odds_difference", "reference": "m"}
    spec = {"columns": columns, "metrics": [{**entry, "fail": {"outside": [-0.1, 0.1]}}]}
    (finding,) = fairaudit.audit({"version": 1, **spec}, rows).findings
    assert str(finding.status) == status
    assert ("the parts cancel each other" in finding.why) is (status == "inconclusive")


@pytest.mark.parametrize(
    ("metric", "limit"),
    [
        ("twin_test", {"outside": [-0.1, 0.1]}),
        ("causal_discrimination", {"above": 0.1}),
        ("unawareness_violations", {"above": 0.1}),
    ],
)
@pytest.mark.parametrize(
    ("equal", "status"), [(5, "inconclusive"), (40, "inconclusive"), (60, "pass")]
)
def test_people_without_an_equal_person_are_left_out(
    metric: str, limit: dict[str, Any], equal: int, status: str
) -> None:
    """Of 50 people of each sex everybody is unlike all others; the equal ones are as many more."""
    rows = [
        (sex, 2 * number + (sex == "f"), int(sex == "m")) for sex in "fm" for number in range(50)
    ]
    rows += [(sex, 500, 0) for sex in "fm" for _ in range(equal)]
    spec = {
        "version": 1,
        "columns": {
            "protected": {"sex": {"reference": "m"}},
            "features": {"numeric": ["x"]},
            **_DECIDED,
        },
        "metrics": [{"metric": metric, "by": "sex", "fail": limit}],
    }
    people = pl.DataFrame(rows, schema=["sex", "x", "hired"], orient="row")
    result = fairaudit.audit(spec, people)
    assert {str(one.status) for one in result.findings} == {status}
    assert all(one.estimate is not None and one.estimate.value == 0 for one in result.findings)


@pytest.mark.parametrize(
    ("column", "positive", "is_noted"),
    [
        ("rejected", "yes", True),
        ("decision", "denied", True),
        ("loan_default", 1, True),
        ("not_rejected", "yes", False),
        ("rejected", "no", False),
        ("approved", "yes", False),
    ],
)
def test_a_positive_that_names_a_burden_has_a_notice(
    column: str, positive: object, is_noted: bool
) -> None:
    other = 0 if positive == 1 else "other"
    rows = {"sex": _SEX, column: [positive, other, other, positive] * (_PEOPLE // 4)}
    for favourable in (True, False):
        outcome = {"column": column, "positive": positive, "favourable": favourable}
        columns = {"protected": ["sex"], "decision": outcome}
        spec = {"version": 1, "columns": columns, "metrics": ["selection_rate"]}
        notices = [str(one) for one in fairaudit.audit(spec, rows).notices]
        told = [one for one in notices if "is treated as a benefit: if it is a burden" in one]
        assert bool(told) is (is_noted and favourable)


@pytest.mark.parametrize(
    ("where", "is_noted"),
    [("hired = 1 or sex = 'm'", True), ("hired is not null", False), ("sex <> 'x'", False)],
)
def test_a_filter_that_selects_by_the_outcome_has_a_notice(where: str, is_noted: bool) -> None:
    result = _audited({"filter": where, "columns": {"protected": ["sex"], **_DECIDED}}, _AGES)
    told = [str(one) for one in result.notices if "people whose outcome it keeps" in str(one)]
    assert bool(told) is is_noted
    removed = "the filter uses the column of 'decision' and removes 100 rows"
    assert all(one.startswith(removed) for one in told)


@pytest.mark.parametrize(
    ("final", "told"),
    [
        # A copy of the outcome, and one with few differences.
        (_HIRED, "100.0 % of the people whom the filter keeps are positive, and 0.0 % of those"),
        ([0, *_HIRED[1:]], "100.0 % of the people whom the filter keeps are positive, and 0.5 %"),
        # Some of the rejected, and of the selected.
        ([int(y or i % 2) for i, y in enumerate(_HIRED)], "66.7 % of the people whom the filter"),
        ([int(y and i % 8 > 0) for i, y in enumerate(_HIRED)], "100.0 % of the people"),
        # As many of both, and too few to say.
        ([int(i % 3 > 0) for i in range(_PEOPLE)], ""),
        ([int(i > 8 or y) for i, y in enumerate(_HIRED)], ""),
    ],
)
def test_a_filter_that_selects_by_a_copy_of_the_outcome_has_a_notice(
    final: list[int], told: str
) -> None:
    spec = {"filter": "x = 1", "columns": {"protected": ["sex"], **_DECIDED}}
    notices = [str(one) for one in _audited(spec, final).notices]
    found = [one for one in notices if "people whose outcome it keeps" in one]
    assert [one.startswith(f"decision: {told}") for one in found] == [True] * bool(told)


def test_people_of_weight_0_are_left_out() -> None:
    rows = {
        "sex": ["f"] * 100 + ["m"] * 100,
        "hired": [1] * 20 + [0] * 80 + [1] * 80 + [0] * 20,
        "w": [1] * 20 + [0] * 80 + [1] * 100,
    }
    entry = {"metric": "demographic_parity_ratio", "fail": {"below": 0.8}}
    spec = {"columns": {"protected": ["sex"], "weight": "w", **_DECIDED}, "metrics": [entry]}
    (finding,) = fairaudit.audit({"version": 1, **spec}, rows).findings
    assert str(finding.status) == "inconclusive"
    assert finding.left_out is not None
    assert [(str(one.reason), one.people) for one in finding.left_out.reasons] == [
        ("weightless", 80)
    ]


def _weighted(rows: list[tuple[str, int, float, int]], **more: Any) -> fairaudit.AuditResult:
    """The audit of people: sex, outcome, weight and how many of them."""
    people = [(sex, hired, weight) for sex, hired, weight, n in rows for _ in range(n)]
    columns = {"protected": ["sex"], "weight": "w", **_DECIDED}
    entry = {"metric": "demographic_parity_ratio", "fail": {"below": 0.8}}
    spec = {"version": 1, "columns": columns, "metrics": [entry], **more}
    return fairaudit.audit(spec, pl.DataFrame(people, schema=["sex", "hired", "w"], orient="row"))


@pytest.mark.parametrize(
    ("without", "status", "is_told"),
    [(500, "inconclusive", True), (200, "pass", True), (40, "pass", False)],
)
def test_people_of_weight_0_beside_others_are_left_out(
    without: int, status: str, *, is_told: bool
) -> None:
    """Women who are rejected have weight 0 or 2, so that no combination has weight 0 alone."""
    weighted = [("m", 1, 1.5, 250), ("m", 0, 1.5, 250), ("f", 1, 2, 250), ("f", 0, 2, 250)]
    result = _weighted([*weighted, ("f", 0, 0, without)])
    (finding,) = result.findings
    assert str(finding.status) == status
    assert finding.left_out is not None
    (part,) = finding.left_out.reasons
    assert (str(part.reason), part.people) == ("weightless", without)
    assert part.groups == ((("sex", "f"),),)
    told = f"{without} of {500 + without:,} people of sex=f"
    assert (told in " ".join(finding.headline.split())) is is_told
    (line,) = result.ledger.set_aside
    assert (line.people, line.column) == (without, "w")


def test_weights_that_are_all_above_0_leave_nobody_out() -> None:
    rows = [(sex, hired, weight, 50) for sex in "fm" for hired in (0, 1) for weight in (0.01, 3)]
    entry = {"metric": "demographic_parity_difference", "fail": {"above": 0.1}}
    result = _weighted(rows, metrics=[entry], filter="w < 5 and w > 0")
    assert result.findings[0].left_out is None
    assert not result.ledger.set_aside


_OF_AVERAGES: list[dict[str, Any]] = [
    {"metric": "true_positive_rate", "compare": "difference", "fail": {"outside": [-0.1, 0.1]}},
    {"metric": "true_positive_rate", "compare": "min_ratio", "fail": {"below": 0.8}},
    {"metric": "true_positive_rate", "compare": "odds_ratio", "fail": {"outside": [0.8, 1.25]}},
    {"metric": "equal_opportunity_difference", "fail": {"above": 0.1}},
    {"metric": "equalized_odds_difference", "fail": {"above": 0.1}},
    {"metric": "true_positive_rate", "compare": "ratio", "reference": "highest", "fail": "< 0.8"},
]


def _in_strata(hits: dict[str, tuple[int, int]], entry: dict[str, Any]) -> tuple[str, str]:
    """The status of an averaged check, and why: the true positives of f and m in each stratum.

    Of 100 people with a positive and 100 with a negative label in each; a negative label is
    selected as rarely as a positive one is not.
    """
    rows = [
        (sex, stratum, label, int((number < selected) == (label == 1)))
        for stratum, sides in hits.items()
        for sex, selected in zip("fm", sides, strict=True)
        for label in (0, 1)
        for number in range(100)
    ]
    columns = {
        "protected": {"sex": {"reference": "m"}},
        "strata": ["s"],
        "label": {"column": "y", "positive": 1},
        "prediction": {"column": "d", "positive": 1},
    }
    entry = {**entry, "by": "sex", "given": "s", "average": "pooled"}
    spec = {"version": 1, "columns": columns, "metrics": [entry]}
    people = pl.DataFrame(rows, schema=["sex", "s", "y", "d"], orient="row")
    (finding,) = fairaudit.audit(spec, people).findings
    return str(finding.status), finding.why


@pytest.mark.parametrize("entry", _OF_AVERAGES, ids=lambda entry: str(entry["metric"]))
def test_opposite_gaps_in_the_strata_do_not_cancel_in_an_average(entry: dict[str, Any]) -> None:
    status, why = _in_strata({"x": (80, 20), "z": (20, 80)}, entry)
    assert status == "inconclusive"
    found = {
        f"{' and '.join(pair)} have opposite directions in {' and '.join(strata)}" in why
        for pair in permutations(["sex=f", "sex=m"])
        for strata in permutations(["s=x", "s=z"])
    }
    assert found == {True, False}


@pytest.mark.parametrize(("of_f", "status"), [((20, 80), "inconclusive"), ((78, 22), "pass")])
def test_a_common_odds_ratio_hides_no_opposite_strata(of_f: tuple[int, int], status: str) -> None:
    hits = {("f", "x"): of_f[0], ("m", "x"): 80, ("f", "z"): of_f[1], ("m", "z"): 20}
    rows = [(*cell, int(number < k)) for cell, k in hits.items() for number in range(100)]
    columns = {
        "protected": {"sex": {"reference": "m"}},
        "strata": ["s"],
        "decision": {"column": "d", "positive": 1},
    }
    entry: dict[str, Any] = {"metric": "mantel_haenszel_odds_ratio", "given": "s"}
    entry |= {"fail": {"outside": [0.8, 1.25]}}
    people = pl.DataFrame(rows, schema=["sex", "s", "d"], orient="row")
    spec = {"version": 1, "columns": columns, "metrics": [entry]}
    (finding,) = fairaudit.audit(spec, people).findings
    assert str(finding.status) == status
    assert ("have opposite directions" in finding.why) is (status == "inconclusive")


@pytest.mark.parametrize("entry", _OF_AVERAGES[:4], ids=lambda entry: str(entry["metric"]))
@pytest.mark.parametrize(
    "hits",
    [
        {"x": (52, 48), "z": (48, 52)},  # within the limit
        {"x": (57, 43), "z": (44, 55)},  # beyond it, as chance would have it: p = .05 and .12
        {"x": (50, 50), "z": (80, 80)},
    ],
)
def test_gaps_in_the_strata_that_chance_explains_leave_no_average_open(
    hits: dict[str, tuple[int, int]], entry: dict[str, Any]
) -> None:
    assert _in_strata(hits, entry)[0] == "pass"


@pytest.mark.parametrize(
    "positive", [{"at_least": -1}, {"at_least": 50}, {"top": "10%"}, {"above": "median"}]
)
@pytest.mark.parametrize(
    ("undefined", "status"), [("fail", "inconclusive"), ("warn", "warn"), ("skip", "pass")]
)
def test_a_cut_with_all_people_on_one_side_compares_nothing(
    positive: dict[str, Any], undefined: str, status: str
) -> None:
    rows = {"sex": _SEXES, "x": [0.2] * 200 + [0.8] * 200}
    if positive == {"above": "median"}:
        rows["x"] = [0.8] * 400
    columns = {"protected": ["sex"], "decision": {"column": "x", "positive": positive}}
    entry = {"metric": "demographic_parity_difference", "fail": {"above": 0.1}}
    spec = {"columns": columns, "metrics": [{**entry, "undefined": undefined}]}
    (finding,) = fairaudit.audit({"version": 1, **spec}, rows).findings
    assert str(finding.status) == status
    assert any("so there is nothing to compare" in one.reason for one in finding.not_evaluated)


@pytest.mark.parametrize(
    ("at", "status"), [(0.5, "fail"), (0.0, "inconclusive"), (5, "inconclusive")]
)
def test_a_threshold_with_all_people_on_one_side_compares_nothing(at: float, status: str) -> None:
    rows = {"sex": _SEXES, "x": [0.2] * 200 + [0.8] * 200}
    entry = {"metric": "demographic_parity_difference", "at": [at], "fail": {"above": 0.1}}
    spec = {"columns": {"protected": ["sex"], "score": "x"}, "metrics": [entry]}
    (finding,) = fairaudit.audit({"version": 1, **spec}, rows).findings
    assert str(finding.status) == status


def test_a_decision_that_everybody_gets_is_compared_where_no_cut_makes_it() -> None:
    rows = {"sex": _SEXES, "hired": [1] * 400}
    columns = {
        "protected": ["sex"],
        "decision": {"column": "hired", "positive": 1, "negative": 0},
    }
    entry = {"metric": "demographic_parity_ratio", "fail": {"below": 0.8}}
    (finding,) = fairaudit.audit(
        {"version": 1, "columns": columns, "metrics": [entry]}, rows
    ).findings
    assert str(finding.status) == "pass"


@pytest.mark.parametrize(("weight", "people"), [(0, 200), (1e-9, 200), (0.1, None)])
def test_people_of_a_stratum_that_hardly_counts_are_left_out(
    weight: float, people: int | None
) -> None:
    rows = {
        "sex": ["f", "m"] * 300,
        "job": ["a"] * 200 + ["b"] * 200 + ["c"] * 200,
        "hired": [0, 1] * 100 + [1] * 400,
    }
    entry = {
        "metric": "selection_rate", "compare": "difference", "reference": "m", "given": "job",
        "average": {"a": weight, "b": 0.5, "c": 0.5}, "fail": {"outside": [-0.1, 0.1]},
    }  # fmt: skip
    columns = {"protected": ["sex"], "strata": ["job"], **_DECIDED}
    (finding,) = fairaudit.audit(
        {"version": 1, "columns": columns, "metrics": [entry]}, rows
    ).findings
    assert (finding.left_out and finding.left_out.people) == people
    assert ("are left out" in finding.headline) is (people is not None)


def _told_equal(columns: dict[str, Any], rows: dict[str, Any]) -> list[str]:
    spec = {"version": 1, "columns": {"protected": ["sex"], **columns}, "metrics": ["accuracy"]}
    if "models" in columns:
        spec["metrics"] = ["selection_rate"]
    notices = map(str, fairaudit.audit(spec, {"sex": _SEX, **rows}).notices)
    return [one for one in notices if "are the same for all" in one]


def test_outcomes_that_are_copies_have_a_notice() -> None:
    copied: dict[str, list[Any]] = {
        "hired": _HIRED,
        "able": ["yes" if hired else "no" for hired in _HIRED],
    }
    label: dict[str, Any] = {"column": "able", "positive": "yes"}
    hired = {"column": "hired", "positive": 1}
    (told,) = _told_equal({"label": label, "prediction": hired}, copied)
    assert told.startswith("label and prediction are the same for all 400 people who have both")
    models = {"old": {"prediction": hired}, "new": {"prediction": hired}}
    (told,) = _told_equal({"models": models}, copied)
    assert told.startswith("old and new are the same")
    for other in (["no", *copied["able"][1:]], ["yes"] * _PEOPLE):
        label["negative"] = "no"
        assert not _told_equal({"label": label, "prediction": hired}, {**copied, "able": other})
    assert not _told_equal(
        {"label": label, "prediction": hired},
        {name: values[:20] for name, values in copied.items()} | {"sex": _SEX[:20]},
    )


@pytest.mark.long
@pytest.mark.parametrize(("of_hundred", "is_told"), [(2, True), (4, True), (30, False)])
def test_strata_that_are_almost_a_copy_of_the_decision_have_a_notice(
    of_hundred: int, is_told: bool
) -> None:
    """A gap of 30 points is one of 3 within strata that follow from the decision."""
    rows = []
    for g, selected in (("a", 240), ("b", 120)):
        for d, n in ((1, selected), (0, 400 - selected)):
            others = n * of_hundred // 100
            rows += [(g, d, str(1 - d))] * others + [(g, d, str(d))] * (n - others)
    entry = {"metric": "selection_rate", "compare": "gap", "given": "s", "average": "pooled"}
    result = fairaudit.audit(
        {
            "columns": {"protected": ["g"], "strata": ["s"], "decision": "d"},
            "metrics": [{**entry, "fail": "> 0.2"}],
        },
        pl.DataFrame(rows, schema=["g", "d", "s"], orient="row"),
    )
    share = sum(str(d) == s for _, d, s in rows) / len(rows)
    words = f"s almost determines the decision: {100 * share:.1f} % of the people"
    assert any(words in str(notice) for notice in result.notices) is is_told


@pytest.mark.parametrize("by", [["g"], ["g", "h"]])
def test_people_of_unknown_group_are_not_the_largest_reference(by: list[str]) -> None:
    """They are a group on request; a comparison with them says nothing about the others."""
    rows: list[tuple[str | None, str, int]] = [*[("a", "x", 1)] * 40, *[("a", "x", 0)] * 60]
    rows += [("b", "x", 1)] * 20
    rows += [("b", "x", 0)] * 60 + [(None, "x", 1)] * 75 + [(None, "x", 0)] * 225
    ratio = {"metric": "selection_rate", "compare": "ratio", "reference": "largest"}
    result = fairaudit.audit(
        {
            "columns": {"protected": by, "decision": "d"},
            "missing": {"protected": "group"},
            "metrics": [ratio | {"by": " * ".join(by)}],
        },
        pl.DataFrame(rows, schema=["g", "h", "d"], orient="row"),
    )
    rows_of = [row for row in result.comparisons if row.group]
    assert {dict(row.second)["g"] for row in rows_of} == {"a"}
    assert {dict(row.group)["g"]: row.estimate.value for row in rows_of if row.group} == {
        "b": pytest.approx(0.25 / 0.4),
        "(unknown)": pytest.approx(0.25 / 0.4),
    }

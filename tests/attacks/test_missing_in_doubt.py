"""Missing people that a pass must mention: waivers, baselines, values without bounds, searches.

Every case has a truth, the same data with the missing facts filled in, that fails.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import fairaudit
from fairaudit.judge import Status
from fairaudit.report import markdown
from fairaudit.result import Answer, AuditResult

_Row = dict[str, Any]


def _group(group: str | None, positives: int, people: int, **more: object) -> list[_Row]:
    one, other = ({"g": group, "y": decision, **more} for decision in (1, 0))
    return [one] * positives + [other] * (people - positives)


def _audit(spec: dict[str, Any], rows: list[_Row], **options: Any) -> AuditResult:
    names = dict.fromkeys(name for row in rows for name in row)
    return fairaudit.audit(
        spec, {name: [row.get(name) for row in rows] for name in names}, **options
    )


def _text(result: AuditResult) -> str:
    return " ".join(markdown.render([Answer("spec.yaml", None, result)]).split())


_RATIO: dict[str, Any] = {
    "columns": {"protected": ["g"], "decision": "y"},
    "metrics": [{"metric": "impact_ratio", "fail": "< 0.8"}],
    "missing": {"decision": "aside"},
}
_THREE = [*_group("a", 500, 1000), *_group("b", 300, 1000), *_group("c", 470, 1000)]
_WAIVER = """\
- check: impact_ratio/g/decision
  group: {g: b}
  reason: known
  approved_by: somebody
  expires: 2126-01-01
"""
# 470 of 1,200 are 0.392, which is 78 % of 0.5: beyond the limit, and neither waived nor accepted.
_TRUTH = _group("c", 0, 200)
_MISSING: dict[str, list[_Row]] = {
    "outcome": [{"g": "c", "y": None}] * 200,
    "group": [{"g": None, "y": 0}] * 200,
}


@pytest.mark.parametrize("accepted", ["waiver", "baseline"])
@pytest.mark.parametrize("kind", _MISSING)
def test_an_accepted_value_does_not_stand_for_groups_that_could_turn(
    kind: str, accepted: str, tmp_path: Path
) -> None:
    spec, options = dict(_RATIO), dict[str, Any]()
    if accepted == "waiver":
        (tmp_path / "waivers.yaml").write_text(_WAIVER, encoding="utf-8")
        spec["waivers"] = str(tmp_path / "waivers.yaml")
    else:
        options["baseline"] = _audit(spec, _THREE)
    assert _audit(spec, [*_THREE, *_TRUTH], **options).findings[0].status is Status.FAIL
    result = _audit(spec, [*_THREE, *_MISSING[kind]], **options)
    (finding,) = result.findings
    assert finding.is_in_doubt
    text = _text(result)
    assert "the verdict could change" in text
    assert "the verdict is the same" not in text
    assert finding.missing is not None
    assert {"g": "c"} in [dict(other.group) for other in finding.missing.others]
    plain = _audit(spec, _THREE, **options)
    assert not plain.findings[0].is_in_doubt


def test_a_waived_value_alone_could_not_turn(tmp_path: Path) -> None:
    """Whatever the missing decisions of b are, it is waived, and the others keep theirs."""
    (tmp_path / "waivers.yaml").write_text(_WAIVER, encoding="utf-8")
    spec = {**_RATIO, "waivers": str(tmp_path / "waivers.yaml")}
    result = _audit(spec, [*_THREE, *[{"g": "b", "y": None}] * 20])
    assert result.findings[0].status is Status.WAIVED
    assert "the verdict is the same" in _text(result)


@pytest.mark.parametrize("group", ["b", "d"])
def test_an_accepted_value_could_be_worse_than_before(group: str) -> None:
    """Both groups were accepted; 100 more rejected people of either fail."""
    rows = [*_THREE, *_group("d", 380, 1000)]
    baseline = _audit(_RATIO, rows)
    worse = _audit(_RATIO, [*rows, *_group(group, 0, 100)], baseline=baseline)
    assert worse.findings[0].status is Status.FAIL
    result = _audit(_RATIO, [*rows, *[{"g": group, "y": None}] * 100], baseline=baseline)
    assert result.findings[0].status is Status.WARN
    assert result.findings[0].is_in_doubt
    assert "could change" in _text(result)
    same = _audit(_RATIO, rows, baseline=baseline)
    assert same.findings[0].status is Status.WARN
    assert not same.findings[0].is_in_doubt


@pytest.mark.parametrize("group", [None, "b"])
def test_a_spread_that_a_baseline_accepts_could_be_wider(group: str | None) -> None:
    spec = {**_RATIO, "metrics": [{"metric": "demographic_parity_ratio", "fail": "< 0.8"}]}
    baseline = _audit(spec, _THREE)
    result = _audit(spec, [*_THREE, *[{"g": group, "y": None}] * 100], baseline=baseline)
    assert result.findings[0].status is Status.WARN
    assert "the verdict could change" in _text(result)
    assert not _audit(spec, _THREE, baseline=baseline).findings[0].is_in_doubt


_ADJUSTED: dict[str, Any] = {
    "columns": {"protected": {"g": {"reference": "a"}}, "decision": "y", "strata": ["s"]},
    "metrics": [
        {"metric": "mantel_haenszel_odds_ratio", "given": "s", "fail": "< 0.65"},
        {"metric": "conditional_demographic_disparity", "given": "s", "fail": "> 0.08"},
        {"metric": "regression_slope", "controls": ["s"], "fail": "outside -0.1..0.1"},
        {
            "metric": "selection_rate",
            "compare": "ratio",
            "given": "s",
            "average": "pooled",
            "fail": "< 0.8",
        },
    ],
    "missing": {"decision": "aside"},
}
_STRATA = [row for s in "uv" for row in (*_group("a", 250, 500, s=s), *_group("b", 235, 500, s=s))]
_REJECTED = [row for s in "uv" for row in _group("b", 0, 100, s=s)]


@pytest.mark.long
@pytest.mark.parametrize(
    ("missing", "says"),
    [
        (
            "y",
            "200 people with unknown outcome: their effect on the value is not calculated",
        ),
        ("s", "left out: with unknown stratum (g=b), and the verdict could change"),
    ],
)
def test_a_pass_without_bounds_is_in_doubt(missing: str, says: str) -> None:
    truth = _audit(_ADJUSTED, [*_STRATA, *_REJECTED])
    assert {finding.status for finding in truth.findings} == {Status.FAIL}
    incomplete = [{**row, missing: None} for row in _REJECTED]
    result = _audit(_ADJUSTED, [*_STRATA, *incomplete])
    assert [finding.status for finding in result.findings] == [Status.PASS] * 4
    assert all(finding.is_in_doubt for finding in result.findings)
    assert _text(result).count(says) >= 4
    assert not any(finding.is_in_doubt for finding in _audit(_ADJUSTED, _STRATA).findings)


def test_a_pass_without_bounds_is_in_doubt_by_any_group() -> None:
    """The missing people are of a group that does not decide, and that could fail."""
    rows = [*_STRATA, *[row for s in "uv" for row in _group("c", 240, 500, s=s)]]
    truth = _audit(_ADJUSTED, [*rows, *[row | {"g": "c"} for row in _REJECTED * 2]])
    missing = _audit(_ADJUSTED, [*rows, *[row | {"g": "c", "y": None} for row in _REJECTED * 2]])
    assert truth.findings[0].status is Status.FAIL
    assert missing.findings[0].status is Status.PASS
    assert missing.findings[0].is_in_doubt


_SUBGROUPS: dict[str, Any] = {
    "columns": {"protected": ["g"], "decision": "y"},
    "metrics": ["selection_rate"],
    "subgroups": {"fail": "> 0.05", "min_size": 100},
}
_REVERSALS: dict[str, Any] = {
    "columns": {"protected": ["g"], "decision": "y", "strata": ["s"]},
    "metrics": ["selection_rate"],
    "simpson": {"fail": "every_stratum"},
}
_TWO = [*_group("a", 500, 1000), *_group("b", 470, 1000)]
_OPPOSITE = [
    *_group("a", 90, 100, s="u"),
    *_group("b", 870, 1000, s="u"),
    *_group("a", 300, 1000, s="v"),
    *_group("b", 32, 100, s="v"),
]


@pytest.mark.parametrize(
    ("policy", "is_scan"),
    [
        ("aside", False),
        ("drop", False),
        ("aside", True),
        ("drop", True),
        ("group", True),
        ("stratum", True),
    ],
)
def test_a_search_says_how_many_people_are_missing(policy: str, *, is_scan: bool) -> None:
    spec, rows = (_REVERSALS, _OPPOSITE) if is_scan else (_SUBGROUPS, _TWO)
    lost = _group("b", 0, 20 if is_scan else 200, s="v")
    assert _audit(spec, [*rows, *lost]).findings[0].status is Status.FAIL
    gone = {"group": "g", "stratum": "s"}.get(policy, "y")
    if gone == "y":
        spec = {**spec, "missing": {"decision": policy}}
    result = _audit(spec, [*rows, *[{**row, gone: None} for row in lost]])
    (finding,) = result.findings
    assert finding.status is Status.PASS
    assert finding.is_in_doubt
    text = _text(result)
    assert f"{len(lost)} of {len(rows) + len(lost):,} people" in text
    assert "and the verdict could change" in text
    assert ("among people with known values no gap" in text) is is_scan
    plain = _audit(spec, rows)
    assert not plain.findings[0].is_in_doubt
    assert "among people with known values" not in _text(plain)


_GIVEN = {"by": "g", "given": "s"}
_OF_STRATA: dict[str, dict[str, Any]] = {
    "pooled": {
        "metric": "selection_rate", "compare": "ratio", "average": "pooled", "fail": "< 0.85",
    },
    "odds": {"metric": "mantel_haenszel_odds_ratio", "fail": "< 0.8"},
    "unexplained": {"metric": "unexplained_difference", "fail": "> 0.08"},
    "parity": {"metric": "conditional_statistical_parity", "fail": "> 0.08"},
    "ratio": {"metric": "impact_ratio", "fail": "< 0.8"},
    "slope": {"metric": "regression_slope", "controls": ["s"], "fail": "outside -0.08..0.08"},
}  # fmt: skip
_KNOWN = [
    {**row, "label": 1}
    for s in "nz"
    for row in (*_group("f", 45, 100, s=s), *_group("m", 50, 100, s=s))
]
_REFUSED = [{"g": "f", "y": 0, "s": "n", "label": 1}] * 30


def test_the_refused_people_of_unknown_stratum_matter() -> None:
    """By hand: with 30 refused, 45/130 of f against 50/100 of m in n, and 45/100 in z."""
    assert 50 / 100 - 45 / 130 > 0.08 > 50 / 100 - 45 / 100
    assert (45 / 130) / (50 / 100) < 0.8 < (45 / 100) / (50 / 100)
    odds = [
        (45 * 50 / (200 + n) + 45 * 50 / 200) / ((55 + n) * 50 / (200 + n) + 55 * 50 / 200)
        for n in (0, 30)
    ]
    assert odds[0] > 0.8 > odds[1]


@pytest.mark.parametrize("policy", ["aside", "drop"])
@pytest.mark.parametrize("small", [None, 20])
@pytest.mark.parametrize("name", _OF_STRATA)
def test_dropped_people_of_unknown_stratum_leave_a_pass_in_doubt(
    name: str, small: int | None, policy: str
) -> None:
    """The check needs no label, so `label: drop` hides no more of its people than `aside`."""
    columns = {"protected": {"g": {"reference": "m"}}, "label": "label", "prediction": "y"}
    about = {**_OF_STRATA[name], **({} if name == "slope" else _GIVEN)}
    spec = {"columns": {**columns, "strata": ["s"]}, "simpson": False, "metrics": [about]}
    spec |= {"missing": {"label": policy}, "groups": {"min_size": small} if small else {}}
    assert _audit(spec, [*_KNOWN, *_REFUSED]).findings[0].status is Status.FAIL
    lost = [{**row, "s": None, "label": None} for row in _REFUSED]
    result = _audit(spec, [*_KNOWN, *lost])
    assert result.findings[0].status is Status.PASS
    assert result.findings[0].is_in_doubt
    assert "with unknown stratum (g=f), and the verdict could change" in _text(result)
    # Dropped people of a known stratum are counted where the status is found again.
    known = _audit(spec, [*_KNOWN, *[{**row, "label": None} for row in _REFUSED]])
    assert known.findings[0].status is (Status.FAIL if policy == "aside" else Status.INCONCLUSIVE)
    assert not _audit(spec, _KNOWN).findings[0].is_in_doubt


def test_a_bound_at_the_limit_is_not_printed_beyond_it() -> None:
    """64 of 100 against 80 of 100 is .8, also where floats make .7999999999999999 of it."""
    lost = [{"g": "f", "y": None}] * 10
    result = _audit(_RATIO, [*_group("m", 80, 100), *_group("f", 64, 90), *lost])
    assert result.findings[0].status is Status.PASS
    assert "the value can be 0.800 to 0.925; the verdict is the same" in _text(result)


@pytest.mark.parametrize(("limit", "turns"), [("0.8", False), ("0.8000000005", True)])
def test_a_bound_just_beyond_the_limit_is_in_doubt(limit: str, *, turns: bool) -> None:
    """The least possible ratio is .64 / .8, exactly .8."""
    spec = {**_RATIO, "metrics": [{"metric": "impact_ratio", "fail": f"< {limit}"}]}
    lost = [{"g": "f", "y": None}] * 10
    (finding,) = _audit(spec, [*_group("m", 80, 100), *_group("f", 64, 90), *lost]).findings
    assert finding.missing is not None
    assert finding.missing.turns == turns


@pytest.mark.parametrize("policy", ["show", "aside"])
@pytest.mark.parametrize("missing", [0, 20, 200])
def test_people_without_a_feature_could_change_a_search(missing: int, policy: str) -> None:
    """Nobody without a feature is selected; all of them could be in one group of the feature."""
    rows: list[tuple[str, str | None, int]] = []
    rows += [(g, f, d) for g, f in (("a", "x"), ("b", "x"), ("a", "y")) for d in (0, 1)] * 50
    rows += [("b", None, 0)] * missing
    spec = {
        "columns": {
            "protected": ["g"], "features": ["f"],
            "decision": {"column": "d", "positive": 1, "negative": 0},
        },
        "simpson": False, "missing": {"strata": policy}, "metrics": ["selection_rate"],
        "subgroups": {"over": ["g", "f"], "min_size": 5, "fail": {"above": 0.4}},
    }  # fmt: skip
    data = dict(zip("gfd", map(list, zip(*rows, strict=True)), strict=True))
    (finding,) = fairaudit.audit(spec, data).findings
    assert finding.status is Status.PASS
    assert finding.could_change is bool(missing)
    share = f"{missing} of {300 + missing} people"
    for told in (share, "without a feature, and the verdict could change"):
        assert (told in finding.headline) is bool(missing)

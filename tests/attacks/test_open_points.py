"""Passes whose first screen must say what they rest on: draws, guesses, searches, limits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import run

import fairaudit
from fairaudit.base.errors import SpecError
from fairaudit.judge import Status
from fairaudit.report import changes as pages
from fairaudit.report import terminal
from fairaudit.report.diagnostics import diagnose
from fairaudit.result import AuditResult
from fairaudit.tools.compare import compare

Audit = Callable[..., AuditResult]
DECIDED: dict[str, Any] = {
    "protected": {"g": {"reference": "a"}},
    "decision": {"column": "y", "positive": 1},
}
LABELLED: dict[str, Any] = {
    "protected": {"g": {"reference": "a"}},
    "label": {"column": "t", "positive": 1},
    "prediction": {"column": "y", "positive": 1},
}


def table(header: str, *cells: tuple[str, int]) -> str:
    """CSV text: each row as often as the number beside it."""
    return "\n".join([header, *(row for row, n in cells for _ in range(n))]) + "\n"


def of_groups(**counts: tuple[int, int]) -> str:
    """CSV text: the selected and the rejected people of each group."""
    cells = [(f"{g},{y}", n) for g, pair in counts.items() for y, n in zip("10", pair, strict=True)]
    return table("g,y", *cells)


def notices_of(result: AuditResult) -> str:
    return "\n".join(map(str, result.notices))


def screen(result: AuditResult) -> str:
    """All texts of the checks, with single spaces."""
    rows = [(row.headline, *(text for _, text in row.facts)) for row in diagnose(result)]
    return " ".join(" ".join(text for row in rows for text in row).split())


# Draws ---------------------------------------------------------------------------------------


def by_draws(
    audit_csv: Audit, folder: Path, draws: list[dict[str, float]], limit: float
) -> AuditResult:
    """500/500 people of a, 100/900 of b, 450/550 of c, judged by draws of their shares."""
    lines = ["draw,g,probability"]
    for number, shares in enumerate(draws):
        lines += [f"{number},{group},{share}" for group, share in shares.items()]
    (folder / "theta.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    check = {
        "metric": "differential_fairness", "by": "g", "model": "draws",
        "fail": {"above": limit},
    }  # fmt: skip
    spec = {"columns": DECIDED, "metrics": [check], "draws": str(folder / "theta.csv")}
    return audit_csv(of_groups(a=(500, 500), b=(100, 900), c=(450, 550)), spec)


EVEN = {"a": 0.5, "b": 0.5, "c": 0.5}


def test_draws_that_contradict_the_data_do_not_pass(audit_csv: Audit, tmp_path: Path) -> None:
    result = by_draws(audit_csv, tmp_path, [EVEN], 0.3)
    (finding,) = result.findings
    assert finding.status is Status.INCONCLUSIVE
    assert finding.value == 0
    # ln(0.5 / 0.1) = 1.609
    assert "'0' is 90.0 % of g=b, and 50.0 % to 50.0 % in all draws" in finding.why
    assert "it is 1.609, over the limit" in finding.why
    assert f"1 draw of the shares in {tmp_path / 'theta.csv'}" in notices_of(result)


@pytest.mark.parametrize(
    ("draws", "limit"),
    [
        ([EVEN], 2),  # the counted shares are within the limit, too
        ([EVEN, {"a": 0.5, "b": 0.11, "c": 0.5}], 1.52),  # 0.1 is likely under 0.11
    ],
)
def test_draws_that_the_data_allow_pass(
    audit_csv: Audit, tmp_path: Path, draws: list[dict[str, float]], limit: float
) -> None:
    (finding,) = by_draws(audit_csv, tmp_path, draws, limit).findings
    assert finding.status is Status.PASS


def test_equal_groups_are_two_groups(audit_csv: Audit, tmp_path: Path) -> None:
    (drawn,) = by_draws(audit_csv, tmp_path, [EVEN], 2).findings
    columns = {"protected": {"g": {}}, "score": "s"}
    text = table("g,s", *((f"{g},0.{s}", 10) for g in "ab" for s in range(1, 9)))
    check = {"metric": "score_parity_gap", "fail": {"above": 0.3}}
    (scored,) = audit_csv(text, {"columns": columns, "metrics": [check]}).findings
    for finding in (drawn, scored):
        assert finding.value == 0
        assert finding.first
        assert finding.second
        assert finding.first != finding.second


# Comparisons of two results ------------------------------------------------------------------

RATIO: dict[str, Any] = {"metric": "impact_ratio", "fail": {"below": 0.8}}


def two_months(folder: Path, later: dict[str, Any], **keys: Any) -> tuple[Path, Path]:
    """Reports of 1,000 people of each group in each of two months."""
    paths = []
    for number, (selected, check) in enumerate(((450, RATIO), (410, later))):
        data = folder / f"{number}.csv"
        data.write_text(of_groups(a=(500, 500), b=(selected, 1000 - selected)), encoding="utf-8")
        more = keys if number else {}
        result = fairaudit.audit({"columns": DECIDED, "metrics": [check], **more}, data)
        paths.append(folder / f"{number}.json")
        result.save(paths[-1])
    return paths[0], paths[1]


def test_the_same_people_are_assumed_with_a_reason(tmp_path: Path) -> None:
    sides = [fairaudit.load(path) for path in two_months(tmp_path, RATIO)]
    changes = compare(*sides)
    text = " ".join(terminal.render(pages.document(changes)).split())
    why = "assumed from equal numbers of rows and equal sizes of all groups"
    assert f"in both results ({why}; otherwise use --different-people)" in text
    said = compare(*sides, same_people=True)
    assert said.sampling is changes.sampling
    text = " ".join(terminal.render(pages.document(said)).split())
    assert "the same in both results, so changes are not tested" in text
    assert not compare(*sides, same_people=False).assumed


@pytest.mark.parametrize(
    ("check", "keys", "why"),
    [
        ({**RATIO, "fail": {"below": 0.8, "significant": True}}, {}, "its `significant` changed"),
        (RATIO, {"inference": {"confidence": 0.99}}, "its `confidence` changed"),
        ({**RATIO, "fail": {"below": 0.7}}, {}, "its limit that fails changed"),
        (RATIO, {"groups": {"min_size": 5}}, "its smallest group changed"),
    ],
)
def test_the_hint_names_what_differs(
    tmp_path: Path, check: dict[str, Any], keys: dict[str, Any], why: str
) -> None:
    paths = two_months(tmp_path, check, **keys)
    result = run("compare", *paths, "--fail-on", "worse")
    assert result.returncode == 3
    assert f"impact_ratio/g/decision: {why}" in " ".join(result.stderr.split())
    assert "same limits" not in result.stderr


def test_a_stricter_limit_is_stricter_only_if_nothing_else_changed(tmp_path: Path) -> None:
    more = {"groups": {"min_size": 5}}
    for limit, keys, is_stricter in (
        ({"below": 0.9}, {}, True),
        ({"below": 0.9}, more, False),
        ({"below": 0.9, "significant": True}, {}, False),
    ):
        paths = two_months(tmp_path, {**RATIO, "fail": limit}, **keys)
        (other,) = compare(*map(fairaudit.load, paths)).otherwise
        assert other.is_stricter is is_stricter, limit


# Methods, searches, limits -------------------------------------------------------------------


def test_one_interval_has_one_name_in_clusters(audit_csv: Audit) -> None:
    """Each cluster has people of one group, so that the two rates are not correlated."""
    rows = [
        f"{g},{i // 4 % 2 if g == 'a' else int(i // 4 % 5 == 0)},{g}{i // 4}"
        for g in "ab"
        for i in range(120)
    ]
    spec = {
        "columns": {**DECIDED, "cluster": "c"},
        "metrics": [
            {"metric": "selection_rate", "compare": how, "by": "g", "fail": {"below": 0.1}}
            for how in ("ratio", "min_ratio")
        ],
    }
    result = audit_csv("\n".join(["g,y,c", *rows]) + "\n", spec)
    one, two = (finding.estimate for finding in result.findings)
    assert one is not None
    assert two is not None
    assert (one.low, one.high) == pytest.approx((two.low, two.high))
    assert one.method == two.method == "Koopman, exact if counts are small, cluster-robust"


def test_rates_that_the_scan_does_not_search_are_named(audit_csv: Audit) -> None:
    """In each stratum b has the lower true positive rate, and overall the higher one."""
    cells = []
    for g, m, tp, fn in (
        ("a", "x", 81, 6), ("b", "x", 234, 36), ("a", "y", 192, 71), ("b", "y", 55, 25),
    ):  # fmt: skip
        cells += [
            (f"{g},{m},1,1", tp),
            (f"{g},{m},1,0", fn),
            (f"{g},{m},0,1", fn),
            (f"{g},{m},0,0", tp),
        ]
    text = table("g,m,t,y", *cells)
    strata = {**LABELLED, "strata": ["m"]}
    odds = {"metric": "equal_opportunity_difference", "fail": {"above": 0.1}}

    def told(columns: dict[str, Any], *checks: dict[str, Any], **keys: Any) -> bool:
        result = audit_csv(text, {"columns": columns, "metrics": [*checks], **keys})
        return "searched in the selection rate only" in notices_of(result)

    wider = {"rates": ["selection_rate", "true_positive_rate"]}
    result = audit_csv(text, {"columns": strata, "metrics": [odds]})
    assert "simpson: {rates: [selection_rate, true_positive_rate]}" in notices_of(result)
    assert not told(LABELLED, odds)
    assert not told(strata, {"metric": "impact_ratio", "fail": {"below": 0.1}})
    assert not told(strata, odds, {**odds, "given": "m", "fail": {"above": 0.9}})
    assert not told(strata, odds, simpson=wider)
    assert not told(strata, odds, simpson={"rates": ["selection_rate"]})
    assert not told(strata, odds, simpson=False)
    searched = audit_csv(text, {"columns": strata, "metrics": [odds], "simpson": wider})
    assert any(row.rate == "true_positive_rate" for row in searched.reversals)


def test_a_slope_of_shares_has_no_limit_beyond_one(audit_csv: Audit) -> None:
    rows = [f"{g},{m},{int(i < 4)},{i}" for g in "ab" for m in "xy" for i in range(20)]
    text = "\n".join(["g,m,y,s", *rows]) + "\n"
    slope = {"metric": "regression_slope", "controls": ["m"], "fail": {"outside": [-5, 5]}}
    spec = {"columns": {**DECIDED, "strata": ["m"]}, "metrics": [slope]}
    with pytest.raises(SpecError, match="can cross this limit: regression_slope is within ±1"):
        audit_csv(text, spec)
    one_side = {**slope, "fail": {"above": 0.5}}
    assert audit_csv(text, {**spec, "metrics": [one_side]}).exit_code == 0
    numbers = {"protected": {"g": {"reference": "a"}}, "numbers": {"s": "s"}, "strata": ["m"]}
    assert audit_csv(text, {**spec, "columns": numbers}).exit_code == 0


@pytest.mark.parametrize("aggregate", ["mean", "max"])
def test_the_farthest_group_by_each_model_is_named(audit_csv: Audit, aggregate: str) -> None:
    """By the old model b is the farthest (20 points), by the new one c (50 points)."""
    text = table(
        "g,o,n",
        ("a,1,1", 50), ("a,0,0", 50), ("b,1,1", 30), ("b,0,1", 15), ("b,0,0", 55),
        ("c,1,0", 45), ("c,0,0", 55),
    )  # fmt: skip
    models = {name: {"prediction": {"column": name, "positive": 1}} for name in "on"}
    check = {
        "metric": "statistical_parity_difference", "aggregate": aggregate, "of": "n",
        "against": "o", "fail": {"outside": [-0.9, 0.9]},
    }  # fmt: skip
    columns = {"protected": {"g": {"reference": "a"}}, "models": models}
    headline = diagnose(audit_csv(text, {"columns": columns, "metrics": [check]}))[0].headline
    assert "(farthest: g=c against g=a by n, g=b against g=a by o)" in headline


def test_notices_on_repeats_are_of_the_columns_of_one_spec(tmp_path: Path) -> None:
    rows = [f"p{i},{'ab'[i % 2]},{'uv'[i // 2 % 2]},{i % 3 % 2}" for i in range(80)]
    rows += [f"p{i},a,v,0" for i in range(20)]
    data = tmp_path / "data.csv"
    data.write_text("\n".join(["id,g,h,y", *rows]) + "\n", encoding="utf-8")
    limit = {"metric": "selection_rate", "fail": {"below": 0.01}}
    for name in "gh":
        columns = f"{{protected: [{name}], decision: {{column: y, positive: 1}}, id: id}}"
        spec = (
            f"version: 1\ndata: data.csv\nrepeats: last\ncolumns: {columns}\nmetrics: [{limit}]\n"
        )
        (tmp_path / f"{name}.yaml").write_text(spec, encoding="utf-8")
    run("run", "g.yaml", "h.yaml", "-o", "out/", folder=tmp_path)
    for name, other in ("gh", "hg"):
        (path,) = (tmp_path / "out").rglob(f"*{name}*.json")
        notices = notices_of(fairaudit.load(path))
        assert f"{name}: " in notices
        assert f"{other}: " not in notices


def test_one_point_is_singular_and_a_tiny_value_is_not_zero(audit_csv: Audit) -> None:
    text = "g,y,n\na,1,500000000\na,0,500000000\nb,1,500000001\nb,0,499999999\n"
    check = {"metric": "demographic_parity_difference", "fail": {"above": 0.01}}
    columns = {**DECIDED, "count": "n"}
    result = audit_csv(text, {"columns": columns, "metrics": [check]})
    assert "0.0000001 points (fails above 1 point)" in screen(result)


# Passes that a number beside the limit contradicts ---------------------------------------------


@pytest.mark.parametrize(
    ("burdened", "of", "is_told"),
    [
        ((10, 60), 1000, True),  # 0.94 / 0.99 = 0.95 is within the limit, and 6 % is six times 1 %
        ((10, 12), 1000, False),
        ((0, 3), 50, False),  # may be chance
        ((100, 400), 1000, False),  # 0.6 / 0.9 fails
    ],
)
def test_a_burden_that_is_far_more_often_is_named(
    audit_csv: Audit, burdened: tuple[int, int], of: int, *, is_told: bool
) -> None:
    columns = {**DECIDED, "decision": {"column": "y", "positive": 1, "favourable": False}}
    pairs = {g: (n, of - n) for g, n in zip("ab", burdened, strict=True)}
    result = audit_csv(of_groups(**pairs), {"columns": columns, "metrics": [RATIO]})
    assert ("have the burden, which a ratio of the others hides" in notices_of(result)) == is_told
    assert not is_told or "6.0 % of a group and 1.0 % of another" in notices_of(result)
    benefit = audit_csv(of_groups(**pairs), {"columns": DECIDED, "metrics": [RATIO]})
    assert "burden" not in notices_of(benefit)


def test_a_reversed_score_is_named(audit_csv: Audit) -> None:
    columns = {**LABELLED, "score": "s"}
    del columns["prediction"]
    check = {"metric": "auc", "compare": "difference", "fail": {"outside": [-0.95, 0.95]}}
    for reversed_in, is_told in (("ab", True), ("b", False), ("", False)):
        cells = []
        for g in "ab":
            low, high = (0.2, 0.8) if g in reversed_in else (0.8, 0.2)
            cells += [(f"{g},1,{low}", 30), (f"{g},0,{high}", 30)]
            cells += [(f"{g},1,{high}", 3), (f"{g},0,{low}", 3)]
        result = audit_csv(table("g,t,s", *cells), {"columns": columns, "metrics": [check]})
        assert ("below 0.5" in notices_of(result)) == is_told, reversed_in


def test_reversals_of_a_weaker_kind_than_the_limit_are_named(audit_csv: Audit) -> None:
    """The kidney stones, and a third stratum of two people without a gap."""
    cells = []
    for g, m, yes, no in (
        ("a", "x", 81, 6), ("b", "x", 234, 36), ("a", "y", 192, 71), ("b", "y", 55, 25),
        ("a", "z", 0, 1), ("b", "z", 0, 1),
    ):  # fmt: skip
        cells += [(f"{g},{m},1", yes), (f"{g},{m},0", no)]
    columns = {**DECIDED, "strata": ["m"]}

    def told(simpson: Any, cells: list[tuple[str, int]]) -> str:
        spec = {"columns": columns, "metrics": ["selection_rate"], "simpson": simpson}
        return notices_of(audit_csv(table("g,m,y", *cells), spec))

    weaker = "1 of the reversals are of kinds that the limit ignores: 'adjusted'"
    assert weaker in told({"fail": "every_stratum"}, cells)
    assert "the limit ignores" not in told({"fail": "adjusted"}, cells)
    assert "the limit ignores" not in told({"warn": "adjusted", "fail": "every_stratum"}, cells)
    assert "the limit ignores" not in told({"fail": "every_stratum"}, cells[:-4])

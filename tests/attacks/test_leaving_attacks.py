"""Who leaves an audit by its rules, its spellings and its waivers: no check passes behind them.

What is expected is computed from the rows in plain Python, never with the code under test.
"""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import ATTACKS, examples
from hypothesis import given
from hypothesis import strategies as st

import fairaudit
from fairaudit.judge import Finding, Status
from fairaudit.report import checks
from fairaudit.result import AuditResult

Row = tuple[str, ...]

RATIO: dict[str, Any] = {"metric": "demographic_parity_ratio", "fail": {"below": 0.8}}
RATIO_ID = "demographic_parity_ratio/g/decision"
DECISION: dict[str, Any] = {"column": "d", "positive": "yes", "negative": "no"}


def audited(rows: Sequence[Row], names: str, metric: Any = None, **more: Any) -> AuditResult:
    """The audit of rows of texts, an empty text being missing."""
    texts = [[one or None for one in row] for row in rows]
    frame = pl.DataFrame(texts, schema=dict.fromkeys(names, pl.String), orient="row")
    columns = {"protected": ["g"], "decision": DECISION, **more.pop("columns", {})}
    metrics = [RATIO if metric is None else metric]
    return fairaudit.audit({"columns": columns, "metrics": metrics, **more}, frame)


def only(result: AuditResult) -> Finding:
    (found,) = result.findings
    return found


def dropping(**more: Any) -> dict[str, Any]:
    return {"decision": {**DECISION, "others": "drop", **more}}


DENIED = (
    [("a", "yes")] * 50 + [("a", "no")] * 50 + [("b", "yes")] * 20 + [("b", "no")] * 20
    + [("b", "No ")] * 60
)  # fmt: skip


def test_denials_of_another_spelling_leave_the_check_open_and_are_told() -> None:
    found = audited(DENIED, "gd", columns=dropping())
    assert (only(found).status, found.exit_code) == (Status.INCONCLUSIVE, 3)
    counted, alike = found.notices[:2]
    assert "`others: drop` leaves out rows with 'No ' (60); by g: b (60)" in counted
    assert "'No ' looks like the negative 'no'" in alike
    named = audited(DENIED, "gd", columns=dropping(negative=["no", "No "]))
    assert only(named).status is Status.FAIL
    assert not any(notice.startswith("decision") for notice in named.notices)
    # 'no' looks like 'No ', too: a filter that names both decides.
    alone, both = (
        audited(DENIED, "gd", columns=dropping(), filter=text)
        for text in ("d <> 'No '", "d <> 'No ' or d = 'no'")
    )
    assert (only(alone).status, only(both).status) == (Status.INCONCLUSIVE, Status.PASS)


def test_rows_that_one_model_leaves_out_are_left_out_for_all_and_the_notice_says_so() -> None:
    rows = [(g, "later" if d == "No " else d) for g, d in DENIED]
    first = {"prediction": {"column": "d", "positive": "yes", "negative": "no", "others": "drop"}}
    second = {"prediction": {"column": "d", "positive": "later", "negative": ["yes", "no"]}}
    spec = {"columns": {"protected": ["g"], "models": {"first": first, "second": second}}}
    frame = pl.DataFrame(rows, schema=["g", "d"], orient="row")
    rate = {"metric": "selection_rate", "of": "second"}
    result = fairaudit.audit(spec | {"metrics": [rate]}, frame)
    assert {row.estimate.numerator for row in result.rates} == {0}
    (notice,) = [str(one) for one in result.notices if "leaves out rows with 'later'" in str(one)]
    assert notice.endswith("the rates of all other outcomes leave them out, too")


def test_a_few_rows_that_cannot_turn_the_check_leave_it_a_pass() -> None:
    rows = [*DENIED[:140], ("a", "withdrawn"), ("b", "withdrawn")]
    found = audited(rows, "gd", columns=dropping())
    assert only(found).status is Status.PASS
    assert "rows with 'withdrawn' (2); by g: a (1), b (1)" in found.notices[0]


UNLABELLED = (
    [("a", "yes", "1")] * 50 + [("a", "no", "1")] * 10 + [("b", "yes", "1")] * 58
    + [("b", "no", "")] * 60
)  # fmt: skip
MOST = {"accept_left_out": 0.9}
"""Of group b 60 of 118 people lack the label."""
LABEL: dict[str, Any] = {"column": "y", "positive": 1, "negative": 0}


@pytest.mark.parametrize(
    ("policy", "metric", "status"),
    [
        ("drop", RATIO, Status.INCONCLUSIVE),  # 58/58 against 50/60; of all 58/118
        ("drop", RATIO | {"undefined": "skip"}, Status.INCONCLUSIVE),
        ("aside", RATIO, Status.FAIL),
        ("drop", RATIO | {"fail": {"below": 0.58}} | MOST, Status.PASS),  # 58/118 of 50/60: .5898
        ("drop", {"metric": "equal_opportunity_difference", "fail": {"above": 0.5}} | MOST,
         Status.PASS),
    ],
)  # fmt: skip
def test_decided_rows_dropped_for_another_column_leave_the_check_open(
    policy: str, metric: dict[str, Any], status: Status
) -> None:
    columns = {"label": LABEL}
    found = audited(UNLABELLED, "gdy", metric, columns=columns, missing={"label": policy})
    assert only(found).status is status
    told = "60 rows leave the audit, since 'y' is missing (label: drop); by g: b (60)"
    assert (told in found.notices) == (policy == "drop")


FEATURED = {"score": "s", "features": {"numeric": ["x"]}}
SCORED = (
    [("a", "yes", "1", ".9", "1")] * 50 + [("a", "no", "1", ".7", "2")] * 10
    + [("b", "yes", "1", ".9", "1")] * 58 + [("b", "no", "", ".1", "1")] * 60
)  # fmt: skip


@pytest.mark.parametrize(
    "metric",
    [
        {"metric": "mean_score", "fail": {"below": 0.6}},  # of b (58 * .9 + 60 * .1) / 118
        {**RATIO, "at": 0.5},  # 58/118 against 60/60
        {"metric": "score_parity_gap", "fail": {"above": 0.3}},
        {"metric": "twin_test", "reference": "a", "fail": {"outside": [-0.3, 0.3]}},
    ],
    ids=str,
)
def test_scores_and_features_of_dropped_rows_leave_a_check_open(metric: dict[str, Any]) -> None:
    columns = {"label": LABEL, **FEATURED}
    statuses = [
        only(audited(SCORED, "gdysx", metric, columns=columns, missing={"label": policy})).status
        for policy in ("drop", "aside")
    ]
    assert statuses == [Status.INCONCLUSIVE, Status.FAIL]


def test_scores_of_rows_without_a_class_leave_a_check_open_that_needs_no_label() -> None:
    classes = {".9": "1", ".7": "0", ".1": "later"}
    rows = [(g, d, classes[s], s, x) for g, d, _, s, x in SCORED]
    label = {**LABEL, "others": "drop"}
    columns = {"label": label, "score": "s"}
    found = audited(rows, "gdysx", {**RATIO, "at": 0.5}, columns=columns)
    assert only(found).status is Status.INCONCLUSIVE  # with them 58/118 against 60/60
    # Of the others every score is above the threshold, so that there is nothing to compare.
    entry = {**RATIO, "at": 0.5, "undefined": "skip"}
    assert only(audited(rows[:118], "gdysx", entry, columns=columns)).status is Status.PASS


def test_a_notice_names_the_key_that_drops_a_decision() -> None:
    rows = [("a", "yes"), ("a", "no"), ("b", "yes"), ("b", "no"), ("b", "")]
    found = audited(rows, "gd", missing={"decision": "drop"})
    assert (
        "1 row leaves the audit, since 'd' is missing (decision: drop); by g: b (1)"
        in found.notices
    )


def test_what_both_rules_leave_out_is_told_and_leaves_a_check_open() -> None:
    rows = [*UNLABELLED[:118], *[("b", "No ", "")] * 60]
    columns = {"label": LABEL, **dropping()}
    found = audited(rows, "gdy", columns=columns, missing={"label": "drop"})
    assert only(found).status is Status.INCONCLUSIVE
    told = "60 rows leave the audit, since 'y' is missing (label: drop); by g: b (60)"
    assert told in found.notices


def test_gates_on_searches_are_left_open_by_dropped_rows() -> None:
    even = [(g, d, "1") for g in "ab" for d in ("yes", "no")] * 100
    rows = [*even, *[("b", "no", "")] * 300]
    for policy, status in (("drop", Status.INCONCLUSIVE), ("aside", Status.FAIL)):
        search = {"over": ["g"], "min_size": 50, "fail": {"above": 0.1}}
        found = audited(
            rows, "gdy", "selection_rate", columns={"label": LABEL}, missing={"label": policy},
            subgroups=search,
        )  # fmt: skip
        assert only(found).status is status


def test_a_check_that_skips_what_is_undefined_is_left_open_by_dropped_rows() -> None:
    rows = [("a", "no", "1"), ("b", "no", "1")] * 30 + [("a", "yes", ""), ("b", "no", "")] * 60
    skipping = {**RATIO, "undefined": "skip"}
    columns = {"label": LABEL}
    found = audited(rows, "gdy", skipping, columns=columns, missing={"label": "drop"})
    assert only(found).status is Status.INCONCLUSIVE  # with them 0/90 against 60/90
    found = audited(rows[:60], "gdy", skipping, columns=columns, missing={"label": "drop"})
    assert only(found).status is Status.SKIPPED


@pytest.mark.parametrize(
    ("limit", "more", "status"),
    [
        # One denial more of 40 is no significant difference, and one selected more none at all.
        ({"fail": {"below": 0.8, "significant": True}}, ("b", "yes", ""), Status.WARN),
        ({"fail": {"below": 0.8, "significant": True}}, ("b", "no", ""), Status.WARN),
        # 30/40 against 23/40 warns with and without it; what can only warn does not fail.
        ({"warn": {"below": 0.8}}, ("b", "no", ""), Status.WARN),
        # 22/40 would be .733.
        ({"fail": {"below": 0.76}}, ("b", "no", ""), Status.INCONCLUSIVE),
        ({"warn": {"below": 0.76}}, ("b", "no", ""), Status.WARN),
        ({"fail": {"below": 0.7}}, ("b", "no", ""), Status.PASS),
    ],
)
def test_dropped_rows_make_no_check_worse_than_they_would(
    limit: dict[str, Any], more: Row, status: Status
) -> None:
    rows = [("a", "yes", "1")] * 30 + [("a", "no", "1")] * 10
    rows += [("b", "yes", "1")] * 23 + [("b", "no", "1")] * 17
    metric = {"metric": "demographic_parity_ratio", **limit}
    columns = {"label": LABEL}
    found = audited([*rows, more], "gdy", metric, columns=columns, missing={"label": "drop"})
    assert only(found).status is status


def test_a_waiver_and_a_baseline_hold_beside_dropped_rows(tmp_path: Path) -> None:
    rows = [("a", "yes", "1")] * 40 + [("b", "yes", "1"), ("b", "no", "1")] * 20
    spec = {
        "columns": {"protected": ["g"], "decision": DECISION, "label": LABEL},
        "metrics": [{"metric": "selection_rate", "by": "g", "fail": {"below": 0.6}}],
        "missing": {"label": "drop"},
    }

    def found(more: Sequence[Row], **options: Any) -> Status:
        texts = [[one or None for one in row] for row in (*rows, *more)]
        frame = pl.DataFrame(texts, schema=["g", "d", "y"], orient="row")
        return only(fairaudit.audit({**spec, **waivers}, frame, **options)).status

    waivers: dict[str, Any] = {}
    frame = pl.DataFrame(rows, schema=["g", "d", "y"], orient="row")
    before = fairaudit.audit(spec, frame)
    denied = [("b", "no", "")] * 30  # 20/70 in place of 20/40
    assert found([], baseline=before) is Status.WARN
    assert found(denied, baseline=before) is Status.INCONCLUSIVE
    waiver = {"check": "selection_rate/g/decision", "group": {"g": "b"}, "reason": "known"}
    waiver |= {"approved_by": "the board", "expires": "2099-01-01"}
    path = tmp_path / "waivers.yaml"
    path.write_text(json.dumps([waiver]), "utf-8")
    waivers["waivers"] = str(path)
    assert found(denied) is found([]) is Status.WAIVED


def test_what_a_check_needs_and_a_row_lacks_stays_out_of_its_weights_too() -> None:
    rows = [(g, "yes", "1", z) for g in "ab" for z in "xy"] * 20
    rows += [("b", "no", "1", "x")] * 20 + [("a", "no", "", "x")] * 400
    average = {
        "metric": "true_positive_rate", "compare": "difference", "reference": "a", "given": "z",
        "average": "reference_people", "fail": {"outside": [-0.3, 0.3]},
        "accept_left_out": 0.91,
    }  # fmt: skip
    columns = {"label": LABEL, "strata": ["z"]}
    for policy, status in (("drop", Status.PASS), ("aside", Status.FAIL)):
        found = audited(
            rows, "gdyz", average, columns=columns, missing={"label": policy}, simpson=False
        )
        assert only(found).status is status


@given(
    numbers=st.lists(st.integers(0, 12), min_size=8, max_size=8),
    limit=st.sampled_from([0.5, 0.8, 0.9]),
    kind=st.sampled_from(["fail", "warn"]),
)
@examples(150)
def test_dropped_rows_are_judged_as_a_sheet_of_paper_does(
    numbers: list[int], limit: float, kind: str
) -> None:
    places = [(g, d, y) for g in "ab" for d in ("yes", "no") for y in ("1", "")]
    rows = [place for place, n in zip(places, numbers, strict=True) for _ in range(n)]
    labelled = [row for row in rows if row[2]]
    if {row[0] for row in labelled} != {"a", "b"}:
        return

    def ratio(rows: Sequence[Row]) -> Fraction | None:
        of = {g: [row[1] == "yes" for row in rows if row[0] == g] for g in "ab"}
        rates = sorted(Fraction(sum(each), len(each)) for each in of.values())
        return rates[0] / rates[1] if rates[1] else None

    metric = {"metric": "demographic_parity_ratio", kind: {"below": limit}, "accept_left_out": 0.99}
    found = audited(rows, "gdy", metric, columns={"label": LABEL}, missing={"label": "drop"})
    told, seen, whole = only(found).status, ratio(labelled), ratio(rows)
    worse = Status.FAIL if kind == "fail" else Status.WARN
    if seen is None:
        expected = Status.INCONCLUSIVE
    elif seen < Fraction(str(limit)):
        expected = worse
    elif whole is not None and whole < Fraction(str(limit)):
        expected = Status.INCONCLUSIVE if kind == "fail" else Status.WARN
    else:
        expected = Status.PASS
    assert told is expected


def test_rows_dropped_for_a_stratum_leave_checks_without_it_open() -> None:
    columns = {"strata": ["y"]}
    found = audited(UNLABELLED, "gdy", columns=columns, missing={"strata": "drop"})
    assert only(found).status is Status.INCONCLUSIVE
    given = {**RATIO, "given": "y", **MOST}
    found = audited(UNLABELLED, "gdy", given, columns=columns, missing={"strata": "drop"})
    assert only(found).status is Status.PASS


def test_a_measure_of_scores_without_bounds_is_left_open() -> None:
    rows = [(g, y, s) for g in "ab" for y, s in (("1", "0.9"), ("0", "0.1"))] * 20
    label = {"column": "d", "positive": 1, "negative": 0, "others": "drop"}
    columns = {"protected": ["g"], "label": label, "score": "s"}
    metric = {"metric": "auc", "fail": {"below": 0.6}}
    for strays, status in (([], Status.PASS), ([("a", "later", "0.9")] * 9, Status.INCONCLUSIVE)):
        frame = pl.DataFrame([*rows, *strays], schema=["g", "d", "s"], orient="row")
        found = fairaudit.audit({"columns": columns, "metrics": [metric]}, frame)
        assert only(found).status is status


def test_numbers_stay_numbers_beside_a_stray() -> None:
    rows = [("a", "1")] * 50 + [("a", "0")] * 50 + [("b", "1")] * 40 + [("b", "0.0")] * 60
    number = {"positive": 1, "negative": 0, "others": "drop"}
    columns = {"decision": {**DECISION, **number}}
    for stray in ("n/a", "?", "x"):
        found = audited([*rows, ("a", stray)], "gd", columns=columns)
        assert found.ledger.counted == 200
        (estimate,) = [
            one.estimate for one in found.rates if dict(one.group) == {"g": "b"} and not one.stratum
        ]
        assert (estimate.numerator, estimate.denominator) == (40, 100)


SPELLED = {
    "1": ("1", "1.0", " 1", "01", "1e0", "+1", "true", "1.00"),
    "0": ("0", "0.0", "0 ", "00", "0e0", "-0", "false", ".0"),
}


def test_numbers_are_their_values_whatever_stands_beside_them() -> None:
    chance = random.Random(141)
    for _ in range(int(30 * ATTACKS)):
        rows: list[Row] = []
        hits: dict[str, list[int]] = {"a": [0, 0], "b": [0, 0]}
        for _ in range(chance.randint(20, 60)):
            group, value = chance.choice("ab"), chance.choice("01")
            rows.append((group, chance.choice(SPELLED[value])))
            hits[group][int(value)] += 1
        rows += [("a", "1"), ("b", "0")]
        hits["a"][1] += 1
        hits["b"][0] += 1
        strays = chance.sample(["n/a", "NA", "?", "maybe", "10", "-9"], 2)
        rows += [(chance.choice("ab"), stray) for stray in strays]
        chance.shuffle(rows)
        outcome = {**DECISION, "positive": 1, "negative": 0, "others": "drop"}
        missing = {"tokens": ["NA"], "prediction": "aside"}
        shown = {"metric": "selection_rate"}
        found = audited(rows, "gd", shown, columns={"decision": outcome}, missing=missing)
        for row in found.rates:
            no, yes = hits[dict(row.group)["g"]] if row.group else map(sum, zip(*hits.values()))  # noqa: B905
            assert (row.estimate.numerator, row.estimate.denominator) == (yes, yes + no)


def crosses(kind: str, rates: Sequence[float]) -> bool:
    """Whether rates of groups are beyond the limit of a kind of check."""
    if kind == "floor":
        return min(rates, default=1.0) < 0.3
    if len(rates) < 2 or not max(rates):
        return False
    if kind == "ratio":
        return min(rates) / max(rates) < 0.8 - 1e-12
    return max(rates) - min(rates) > 0.2 + 1e-12


KINDS: dict[str, dict[str, Any]] = {
    "floor": {"metric": "selection_rate", "fail": {"below": 0.3}},
    "ratio": RATIO,
    "gap": {"metric": "demographic_parity_difference", "fail": {"above": 0.2}},
}


def test_no_check_passes_that_the_rows_left_out_could_turn() -> None:
    chance = random.Random(142)
    seen = {Status.PASS: 0, Status.INCONCLUSIVE: 0}
    for _ in range(int(60 * ATTACKS)):
        kind, smallest = chance.choice([*KINDS]), chance.choice([0, 0, 12])
        rate = chance.uniform(0.3, 0.9)
        groups: dict[str, tuple[int, int, int]] = {}
        for name in "abc"[: chance.randint(2, 3)]:
            n = chance.randint(8, 40)
            yes = min(n - 1, max(1, round(n * chance.gauss(rate, 0.05))))
            groups[name] = yes, n - yes, chance.choice([0, 0, 1, 3, 9])
        rows = [
            (name, value)
            for name, counts in groups.items()
            for value, n in zip(("yes", "no", "later"), counts, strict=True)
            for _ in range(n)
        ]
        more = {"groups": {"min_size": smallest}} if smallest else {}
        found = audited(rows, "gd", KINDS[kind], columns=dropping(), **more)
        could = any(
            crosses(
                kind,
                [
                    (yes + extra) / (yes + no + left)
                    for (yes, no, left), extra in zip(groups.values(), given, strict=True)
                    if yes + no + left >= smallest
                ],
            )
            for given in itertools.product(*(range(left + 1) for _, _, left in groups.values()))
        )
        status = only(found).status
        if status is Status.PASS:
            assert not could, (kind, smallest, groups)
        if status is Status.INCONCLUSIVE and not smallest:
            assert could, (kind, groups)
        seen[status] = seen.get(status, 0) + 1
    assert min(seen[Status.PASS], seen[Status.INCONCLUSIVE]) > 2 * ATTACKS


GONE: dict[str, tuple[str, dict[str, Any]]] = {
    "prediction": ("", {"missing": {"prediction": "drop"}}),
    "others": ("later", {"columns": dropping()}),
    "label": ("no", {"missing": {"label": "drop"}, "columns": {"label": {"column": "y",
              "positive": 1, "negative": 0}}}),
    "count": ("no", {"columns": {"count": "n"}}),
    "strata": ("no", {"missing": {"strata": "drop"}, "columns": {"strata": ["z"]}}),
    "filter": ("no", {"filter": "z = 's'"}),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("rule", GONE)
@pytest.mark.parametrize("kind", KINDS)
def test_a_group_that_leaves_as_a_whole_leaves_its_checks_open(rule: str, kind: str) -> None:
    value, more = GONE[rule]
    gone = ("c", value, "" if rule == "label" else "1", "0" if rule == "count" else "1",
            "" if rule in {"strata", "filter"} else "s")  # fmt: skip
    rows = [(g, d, "1", "1", "s") for g in "ab" for d in ("yes", "no")] * 20 + [gone] * 20
    found = audited(rows, "gdynz", {**KINDS[kind], "by": ["g"]}, **more)
    assert (only(found).status, found.exit_code) == (Status.INCONCLUSIVE, 3)
    assert "g=c" in only(found).why
    assert any(one.startswith("g=c is in the data and not in the audit") for one in found.notices)
    by_name = {**more, "filter": " and ".join(["g <> 'c'", *filter(None, [more.get("filter")])])}
    left = audited(rows, "gdynz", {**KINDS[kind], "by": ["g"]}, **by_name)
    assert only(left).status is Status.PASS
    small = audited(rows, "gdynz", {**KINDS[kind], "by": ["g"]}, **more, groups={"min_size": 30})
    assert only(small).status is Status.PASS
    assert any(dict(one.group) == {"g": "c"} for one in only(small).not_evaluated)


def test_zeros_of_a_table_of_all_combinations_leave_nothing_open() -> None:
    cells = [(g, s, d, "0" if (g, s) == ("a", "x") else "30")
             for g in "ab" for s in "xy" for d in ("yes", "no")]  # fmt: skip
    columns = {"protected": ["g", "s"], "count": "n"}
    metric = {**RATIO, "by": "all"}
    found = audited(cells, "gsdn", metric, columns=columns)
    assert {one.status for one in found.findings} == {Status.PASS}
    cells = [(g, s, d, "0" if g == "a" else n) for g, s, d, n in cells]
    found = audited([*cells, ("c", "x", "yes", "30"), ("c", "y", "no", "30")], "gsdn", metric,
                    columns=columns)  # fmt: skip
    (both,) = [one for one in found.findings if "/g+s/" in one.check.id]
    assert both.status is not Status.PASS
    assert any(dict(one.group).get("g") == "a" for one in both.not_evaluated)


def test_no_group_is_lost_whoever_is_dropped() -> None:
    chance = random.Random(151)
    opened = 0
    for _ in range(int(40 * ATTACKS)):
        levels = [(g, s) for g in "abc" for s in "xy"]
        rows: list[Row] = []
        for g, s in levels:
            values = ["yes", "no"] * 8 if chance.random() < 0.85 else [""] * 8
            if chance.random() < 0.1:
                values = []
            rows += [(g, s, value) for value in values]
        if not any(d for *_, d in rows):
            continue
        asked: list[tuple[list[Any], str | None]] = [
            (["g"], None), ([["g", "s"]], None), (["g"], "s"),
        ]  # fmt: skip
        by, given = chance.choice(asked)
        metric = {**RATIO, "by": by, **({"given": given} if given else {})}
        columns = {"protected": ["g"] if given else ["g", "s"], "strata": [given] if given else []}
        missing = {"prediction": "drop"}
        found = audited(rows, "gsd", metric, columns=columns, missing=missing)
        wide = bool(given) or len(by[0]) > 1
        places = {(g, s if wide else "") for g, s, _ in rows}
        left = {(g, s if wide else "") for g, s, d in rows if d}
        if places - left:
            opened += 1
            assert only(found).status not in {Status.PASS, Status.WARN}, (by, given, places - left)
    assert opened > 5 * ATTACKS


@pytest.fixture
def waived(tmp_path: Path) -> Callable[..., AuditResult]:
    """Audits groups with such rates of a hundred people each under waivers of some of them."""

    def audit(
        rates: Mapping[str, int], groups: Sequence[Any], expires: str = "2999-12-31"
    ) -> AuditResult:
        said = {"check": RATIO_ID, "reason": "r", "approved_by": "me", "expires": expires}
        path = tmp_path / "waivers.yaml"
        path.write_text(json.dumps([{**said, "group": group} for group in groups]))
        rows = [
            (name, value, str(n))
            for name, k in rates.items()
            for value, n in (("yes", k), ("no", 100 - k))
        ]
        columns = {"count": "n"}
        return audited(rows, "gdn", columns=columns, waivers=str(path))

    return audit


def test_waivers_that_leave_one_group_alone_are_no_all_clear(
    waived: Callable[..., AuditResult],
) -> None:
    found = waived({"a": 80, "b": 50, "c": 20}, [{"g": "a"}, {"g": "c"}])
    assert (only(found).status, found.exit_code) == (Status.INCONCLUSIVE, 3)
    assert "fewer than two groups are left to compare" in only(found).why
    assert ", 1 inconclusive, 0 waived; a waiver applies to 1 check" in checks.tally(found)
    everybody = waived({"a": 80, "b": 50, "c": 20}, ["all"])
    assert (only(everybody).status, everybody.exit_code) == (Status.WAIVED, 0)


def test_a_used_waiver_is_counted_whatever_the_status(
    waived: Callable[..., AuditResult],
) -> None:
    found = waived({"a": 80, "b": 50, "c": 20}, [{"g": "c"}])
    assert only(found).status is Status.FAIL
    assert checks.tally(found).endswith(
        "1 failed, 0 inconclusive, 0 waived; a waiver applies to 1 check"
    )
    counts = [int(word) for word in re.findall(r"(\d+) [a-z]+(?:,|;)", checks.tally(found))]
    assert sum(counts) == 1


def test_waived_means_that_others_were_compared_and_hold(
    waived: Callable[..., AuditResult],
) -> None:
    chance = random.Random(161)
    seen = 0
    for _ in range(int(40 * ATTACKS)):
        rates = {name: chance.randint(10, 95) for name in "abcd"[: chance.randint(2, 4)]}
        some = [name for name in rates if chance.random() < 0.5]
        found = waived(rates, [{"g": name} for name in some])
        finding = only(found)
        if found.exit_code:
            continue
        used = {dict(one.group)["g"] for one in finding.waived}
        left = [rate for name, rate in rates.items() if name not in used]
        assert len(left) > 1, (rates, some)
        assert not crosses("ratio", left), (rates, some)
        seen += finding.status is Status.WAIVED
    assert seen > ATTACKS


def test_no_epoch_brings_an_expired_waiver_back(
    waived: Callable[..., AuditResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(162)
    today = datetime.now(UTC)
    for _ in range(int(5 * ATTACKS)):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", str(chance.randint(0, 2_000_000_000)))
        before = (today - timedelta(days=chance.randint(2, 3000))).date().isoformat()
        assert waived({"a": 80, "b": 20}, ["all"], before).exit_code == 1
        after = (today + timedelta(days=chance.randint(2, 3000))).date().isoformat()
        assert waived({"a": 80, "b": 20}, ["all"], after).exit_code == 0


ALIKE = ["Male", "male", "Male ", "MALE", "Ma\u200ble", "3", "3.0", "03", "b"]


def spelled_as_one(level: str) -> str:
    """The level that a person means."""
    plain = level.replace("\u200b", "").strip().lower()
    return "3" if plain in {"3", "3.0", "03"} else plain


def shuffled(chance: random.Random) -> Iterator[Row]:
    for level in chance.sample(ALIKE, chance.randint(2, 4)):
        n, rate = chance.choice([3, 20, 60, 200]), chance.uniform(0.3, 0.9)
        for at in range(n):
            yield level, "yes" if at < rate * n else "no"


def test_levels_that_look_alike_are_named_in_the_checks_they_could_turn() -> None:
    chance = random.Random(181)
    turned = 0
    for _ in range(int(40 * ATTACKS)):
        rows = [*shuffled(chance)]
        found = audited(rows, "gd")
        joined = audited([(spelled_as_one(g), d) for g, d in rows], "gd")
        named = [one for one in only(found).not_evaluated if "similar spelling" in one.reason]
        assert named or only(found).status is only(joined).status
        if named:
            turned += 1
            # Joined it passes, or else it is worse and leaves a pass open.
            is_worse = only(joined).status in {"fail", "inconclusive"}
            apart = only(found).status
            if is_worse and apart != "fail":
                assert apart == "inconclusive"
                apart = Status.PASS
            assert f"would be {only(joined).status}, not {apart}" in named[0].reason
            assert any("are counted apart" in one for one in found.notices)
    assert turned > 2 * ATTACKS


def test_a_file_without_a_row_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("g,d\n" + "a,yes\na,no\nb,yes\nb,no\n" * 20)
    (tmp_path / "b.csv").write_text("g,d\n")
    pl.DataFrame(schema={"g": pl.String, "d": pl.String}).write_parquet(tmp_path / "c.parquet")
    columns = {"protected": ["g"], "decision": DECISION}
    spec = {"columns": columns, "metrics": [RATIO]}
    for name, data in (("b.csv", "*.csv"), ("c.parquet", "?.*")):
        found = fairaudit.audit(spec, tmp_path / data)
        assert any(one.endswith(f"{name} holds no row") for one in found.notices)

"""Rows left out of a check that a baseline accepts, which they could make worse than before.

What is expected is computed from the rows in plain Python: each number of the rows counts, with
each decision, and the value is held against the one of before.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import polars as pl
import pytest

import fairaudit
from fairaudit.judge import Finding, Status
from fairaudit.result import AuditResult

Part = tuple[str, str, str, int]
"""A group, its decision, `k` (the filter keeps 1), and the number of such rows."""

BEFORE: list[Part] = [("f", "yes", "1", 30), ("f", "no", "1", 70)]
BEFORE += [("m", "yes", "1", 60), ("m", "no", "1", 40)]
RATIO = {"metrics": [{"metric": "impact_ratio", "fail": {"below": 0.8}}]}
DIFFERENCE = {"metrics": [{"metric": "demographic_parity_difference", "fail": {"above": 0.1}}]}
SUBGROUPS = {
    "metrics": ["selection_rate"],
    "subgroups": {"fail": {"above": 0.06}, "over": ["g"], "depth": 1},
}


def audit(parts: Sequence[Part], checks: dict[str, Any], kind: str, **options: Any) -> AuditResult:
    rows = [[one or None for one in part[:3]] for part in parts for _ in range(part[3])]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(["g", "ok", "k"], pl.String), orient="row")
    others = {"negative": "no", "others": "drop"} if kind == "others" else {}
    decision = {"column": "ok", "positive": "yes", **others}
    spec = {"columns": {"protected": ["g"], "decision": decision}, "simpson": False, **checks}
    spec |= {"filter": "k = '1'"} if kind == "filter" else {}
    spec |= {"missing": {"prediction": "aside"}} if kind == "aside" else {}
    return fairaudit.audit(spec, frame, **options)


def only(result: AuditResult) -> Finding:
    (found,) = result.findings
    return found


def left(group: str, decision: str, number: int, kind: str) -> Part:
    """Rows that the filter cannot decide, or whose decision is neither `yes` nor `no`."""
    return (group, decision, "", number) if kind == "filter" else (group, "maybe", "1", number)


def rates(parts: Sequence[Part]) -> dict[str, Fraction]:
    people = {g: sum(n for one, *_, n in parts if one == g) for g, *_ in parts}
    return {
        g: Fraction(sum(n for one, ok, _, n in parts if (one, ok) == (g, "yes")), of)
        for g, of in people.items()
    }


def completions(group: str, decision: str, number: int, kind: str) -> Iterator[list[Part]]:
    """All that rows left out may be: none of them counts, some do, with either decision."""
    decisions = [decision] if kind == "filter" else ["yes", "no"]
    counts = [range(number + 1)] * len(decisions)
    for many in itertools.product(*counts):
        if sum(many) <= number:
            yield [(group, ok, "1", n) for ok, n in zip(decisions, many, strict=True)]


def is_worse_by_ratio(now: dict[str, Fraction], before: dict[str, Fraction]) -> bool:
    ratios, former = (
        {g: one / max(all_.values()) for g, one in all_.items()} for all_ in (now, before)
    )
    limit = Fraction(8, 10)
    return any(one < limit and one < min(former.get(g, limit), limit) for g, one in ratios.items())


def is_worse_by_difference(now: dict[str, Fraction], before: dict[str, Fraction]) -> bool:
    gaps = [max(one.values()) - min(one.values()) for one in (now, before)]
    lowest = [min(one, key=lambda g: one[g]) for one in (now, before)]
    return gaps[0] > Fraction(1, 10) and (gaps[0] > gaps[1] or lowest[0] != lowest[1])


@pytest.mark.parametrize("kind", ["filter", "others"])
@pytest.mark.parametrize("checks", [RATIO, DIFFERENCE, SUBGROUPS])
def test_rows_left_out_could_make_an_accepted_value_worse(
    checks: dict[str, Any], kind: str
) -> None:
    """With 20 refusals f is at 30/120: it fails where they count."""
    baseline = audit(BEFORE, checks, kind)
    full = [*BEFORE, ("f", "no", "1", 20)]
    assert rates(full)["f"] == Fraction(1, 4) < rates(BEFORE)["f"]
    assert only(audit(full, checks, kind, baseline=baseline)).status is Status.FAIL
    found = audit([*BEFORE, left("f", "no", 20, kind)], checks, kind, baseline=baseline)
    assert (only(found).status, found.exit_code) == (Status.INCONCLUSIVE, 3)
    assert "could put it over the limit" in only(found).why
    assert only(audit(BEFORE, checks, kind, baseline=baseline)).status is Status.WARN


@pytest.mark.parametrize("kind", ["filter", "others"])
@pytest.mark.parametrize("decision", ["yes", "no"])
@pytest.mark.parametrize("group", ["f", "m"])
@pytest.mark.parametrize("is_ratio", [True, False])
def test_a_check_is_open_only_if_a_completion_is_worse(
    group: str, decision: str, kind: str, *, is_ratio: bool
) -> None:
    checks, is_worse = (
        (RATIO, is_worse_by_ratio) if is_ratio else (DIFFERENCE, is_worse_by_difference)
    )
    could = any(
        is_worse(rates([*BEFORE, *more]), rates(BEFORE))
        for more in completions(group, decision, 12, kind)
    )
    baseline = audit(BEFORE, checks, kind)
    found = only(audit([*BEFORE, left(group, decision, 12, kind)], checks, kind, baseline=baseline))
    assert found.status is (Status.INCONCLUSIVE if could else Status.WARN)


@pytest.mark.parametrize("kind", ["filter", "others"])
@pytest.mark.parametrize(("lost", "is_open"), [(40, True), (4, False)])
def test_rows_left_out_could_put_another_group_over_the_limit(
    lost: int, kind: str, *, is_open: bool
) -> None:
    """The new group is at 50/100 against 60/100; with 40 refusals at 50/140, with 4 at 50/104."""
    parts = [*BEFORE, ("x", "yes", "1", 50), ("x", "no", "1", 50)]
    full = [*parts, ("x", "no", "1", lost)]
    assert (rates(full)["x"] / rates(full)["m"] < Fraction(8, 10)) is is_open
    baseline = audit(parts, RATIO, kind)
    assert only(audit(full, RATIO, kind, baseline=baseline)).status is (
        Status.FAIL if is_open else Status.WARN
    )
    found = only(audit([*parts, left("x", "no", lost, kind)], RATIO, kind, baseline=baseline))
    assert found.status is (Status.INCONCLUSIVE if is_open else Status.WARN)


def test_a_search_that_a_baseline_accepts_counts_missing_decisions() -> None:
    baseline = audit(BEFORE, SUBGROUPS, "aside")
    full = [*BEFORE, ("f", "no", "1", 20)]
    assert only(audit(full, SUBGROUPS, "aside", baseline=baseline)).status is Status.FAIL
    parts = [*BEFORE, ("f", "", "1", 20)]
    found = only(audit(parts, SUBGROUPS, "aside", baseline=baseline))
    assert found.status is Status.WARN
    assert found.is_in_doubt
    assert not only(audit(BEFORE, SUBGROUPS, "aside", baseline=baseline)).is_in_doubt


def test_opposite_strata_of_a_group_that_no_baseline_accepts_are_told() -> None:
    """X is at 120/200 like m, but at 90 and 30 of 100 in the two strata, where m is at 60."""
    schema = dict.fromkeys(["g", "ok", "s"], pl.String)
    check = {"metric": "selection_rate", "compare": "ratio", "average": "pooled", "given": "s"}
    spec = {
        "columns": {
            "protected": {"g": {"reference": "m"}},
            "decision": {"column": "ok", "positive": "yes"},
            "strata": ["s"],
        },
        "simpson": False,
        "metrics": [{**check, "fail": {"below": 0.8}}],
    }

    def of(**selected: tuple[int, int]) -> pl.DataFrame:
        rows = [
            (g, "yes" if at < n else "no", s)
            for g, both in selected.items()
            for s, n in zip("ab", both, strict=True)
            for at in range(100)
        ]
        return pl.DataFrame(rows, schema=schema, orient="row")

    before = fairaudit.audit(spec, of(f=(30, 30), m=(60, 60), x=(60, 60)))
    assert only(before).status is Status.FAIL
    alone = fairaudit.audit(spec, of(m=(60, 60), x=(90, 30)))
    assert only(alone).status is Status.INCONCLUSIVE
    now = fairaudit.audit(spec, of(f=(30, 30), m=(60, 60), x=(90, 30)), baseline=before)
    assert only(now).status is Status.INCONCLUSIVE
    assert "opposite directions" in only(now).why
    same = fairaudit.audit(spec, of(f=(30, 30), m=(60, 60), x=(60, 60)), baseline=before)
    assert only(same).status is Status.WARN

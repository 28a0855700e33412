"""Random specs, published and open: each report is read back, and hiding counts passes no check.

`ATTACKS=25 pytest --all` tries 1,000 specs, 25 times as many.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from commands import run
from conftest import ATTACKS, seeds
from law_tables import COMPARING, entry
from numpy.random import Generator
from twins import sound

import fairaudit
from fairaudit import codec
from fairaudit.base.errors import FairauditError
from fairaudit.judge import Status
from fairaudit.metrics.share_models import is_pooled
from fairaudit.report import FORMATS
from fairaudit.report import json as report_json
from fairaudit.result import Answer, AuditResult

Row = tuple[str, str | None, str, int]

TRIES = round(40 * ATTACKS)
RECORDS = [one for one in COMPARING if not is_pooled(one)]
RATES = ["selection_rate", "base_rate", "true_positive_rate", "scoring_rate"]
KEEP_OR_DROP = ["aside", "drop", "drop"]


def people_of(random: Generator) -> pl.DataFrame:
    """People with a stratum, a label, a decision and a score, many of which are missing.

    Groups are most often alike among those of whom all is known, and one may have few people.
    """
    is_alike, few = random.random() < 0.7, [0, 1, 2, 3, 7, 12]
    rows = []
    for g in ["a", "b", "c", None][: random.integers(2, 5)]:
        chance = 0.5 if is_alike else random.uniform(0.2, 0.8)
        for h in "xy":
            size = int(random.choice(few if random.random() < 0.2 else [20, 40, 100, 300]))
            for s, y, p in [("u", "1", "1"), ("u", "0", "1"), ("v", "1", "0"), ("v", "0", "0"),
                            (None, "1", "0"), ("u", None, "1"), ("v", "0", None), (None, None, "0"),
                            ("u", "1", "?")]:  # fmt: skip
                if None in {s, y, p} or p == "?":
                    n = int(random.choice([0, 0, 1, 4, 30, 150]))
                else:
                    n = round(2 * size * (chance if p == "1" else 1 - chance))
                score = None if random.random() < 0.1 else float(random.choice([0.1, 0.4, 0.8]))
                if n:
                    rows.append((g, h, s, y, p, score, n, float(random.choice([0.5, 1, 2]))))
    return pl.DataFrame(rows, ["g", "h", "s", "y", "p", "x", "n", "w"], orient="row")


def metric_of(random: Generator) -> dict[str, Any]:
    """A measure of the catalogue, most often with a limit, or a rate whose groups are compared."""
    limits: list[dict[str, Any]] = [
        {"fail": {"above": 0.1}}, {"warn": {"above": 0.05}, "fail": {"above": 0.4}},
        {"warn": {"above": 0.05}}, {"fail": {"above": 0.2, "significant": True}}, {},
    ]  # fmt: skip
    metric: dict[str, Any] = {"metric": str(random.choice(RATES))}
    if random.random() < 0.5:
        metric = entry(RECORDS[random.integers(len(RECORDS))])
        metric |= {"reference": "largest"} if "reference" in metric else {}
        metric |= {"given": "s"} if "given" in metric else {}
    elif random.random() < 0.7:
        metric["compare"] = str(random.choice(["gap", "min_ratio"]))
    if random.random() < 0.3:
        metric["by"] = ["each", "all"][random.integers(2)]
    return metric | limits[random.integers(len(limits))]


def spec_of(random: Generator) -> dict[str, Any]:
    """A spec with any rules for missing values, groups and the exit code."""
    policies = {
        "protected": ["show", "group", *KEEP_OR_DROP],
        "strata": ["show", *KEEP_OR_DROP],
        "label": KEEP_OR_DROP,
        "prediction": KEEP_OR_DROP,
        "score": KEEP_OR_DROP,
    }
    groups: dict[str, Any] = {}
    if random.random() < 0.4:
        groups["min_size"] = int(random.choice([11, 20, 60]))
    if random.random() < 0.3:
        groups["min_events"] = 5
    if random.random() < 0.2:
        groups["exclude_below"] = {"share": 0.05, "reason": "too few"}
    others = {"others": "drop"} if random.random() < 0.7 else {"negative": ["0", "?"]}
    searches: list[dict[str, Any]] = [
        {}, {"simpson": {}}, {"simpson": {"fail": "every_stratum"}},
    ]  # fmt: skip
    amounts: list[dict[str, str]] = [{}, {"score": "x"}, {"weight": "w"}]
    metrics = [metric_of(random) for _ in range(random.integers(1, 4))]
    spec = {
        "columns": {
            "protected": ["g", "h"][: random.integers(1, 3)],
            "strata": ["s"],
            "label": {"column": "y", "positive": "1"},
            "prediction": {"column": "p", "positive": "1", "negative": "0"} | others,
            "count": "n",
            **amounts[random.integers(3)],
        },
        "missing": {name: str(random.choice(words)) for name, words in policies.items()},
        "metrics": [*{(one["metric"], one.get("compare")): one for one in metrics}.values()],
        "groups": groups,
        **({"filter": "y = '1' OR y = '0'"} if random.random() < 0.2 else {}),
        **searches[random.integers(3)],
        "suppress_below": int(random.choice([5, 11])),
    }
    return sound(spec)


def audit_both(
    random: Generator,
) -> tuple[AuditResult | FairauditError, AuditResult | FairauditError]:
    """The results of one spec, without suppression and with it."""
    people, spec = people_of(random), spec_of(random)
    fail_on = ["fail", "fail", "warn", "never"][random.integers(4)]
    whole = {name: value for name, value in spec.items() if name != "suppress_below"}
    outcomes: list[AuditResult | FairauditError] = []
    for asked in (whole, spec):
        try:
            outcomes.append(fairaudit.audit(asked, people, fail_on=fail_on))
        except FairauditError as error:
            outcomes.append(error)
    return outcomes[0], outcomes[1]


def pages_of(result: AuditResult, seed: int) -> tuple[str, str | bytes]:
    """A report in JSON, and in one of all formats."""
    answer = Answer("spec.yaml", None, result)
    form = FORMATS[seed % len(FORMATS)]
    return report_json.render(result), form.render([answer], all_rows=True)


@pytest.mark.long
@pytest.mark.parametrize("seed", seeds(TRIES, quick=5))
def test_every_report_is_read_back_and_hiding_counts_passes_no_check(seed: int) -> None:
    whole, published = audit_both(np.random.default_rng([40, 15 + seed]))
    assert isinstance(whole, FairauditError) == isinstance(published, FairauditError)
    if isinstance(whole, FairauditError) or isinstance(published, FairauditError):
        assert whole.exit_code == published.exit_code
        return
    for result in (whole, published):
        pages = pages_of(result, seed)
        assert pages_of(codec.read_result(codec.parse(pages[0])), seed) == pages
    order = [*Status]
    statuses = {finding.check.id: finding.status for finding in published.findings}
    for finding in whole.findings:
        assert order.index(statuses[finding.check.id]) >= order.index(finding.status), finding
    # "Nothing could be evaluated" (3) is no better than "not everything could be" (1).
    assert bool(published.exit_code) >= bool(whole.exit_code)
    if whole.verdict == "fail":
        assert published.exit_code == whole.exit_code


LEAVING: list[tuple[str | None, ...]] = [
    ("a", "x", None, "1", "1"), ("a", "x", "u", None, "0"), ("a", "y", "u", "1", None),
    ("a", "y", "u", "1", "?"), ("a", "y", "u", "2", "1"),
]  # fmt: skip
"""Rows that leave the audit: as missing, as neither positive nor negative, by the filter."""


@pytest.mark.parametrize("seed", seeds(TRIES // 5, quick=3))
def test_no_report_tells_how_few_rows_leave_the_audit(seed: int) -> None:
    """With two or seven of them the report is the same, verdicts included, whatever is accepted."""
    random = np.random.default_rng([41, 8 + seed])
    whole = people_of(random).drop("x", "w").drop_nulls().filter(pl.col("p") != "?")
    if random.random() < 0.5:  # no cell is small
        whole = whole.filter(pl.col("n") > 10)
    spec = spec_of(random)
    spec |= {"missing": dict.fromkeys(["strata", "label", "prediction"], "drop")}
    spec |= {"filter": "y = '1' OR y = '0'", "suppress_below": 11}
    spec["columns"] = {name: column for name, column in spec["columns"].items()
                       if name not in {"score", "weight"}}  # fmt: skip
    spec["columns"]["prediction"] |= {"negative": "0", "others": "drop"}
    left_out = float(random.choice([1e-6, 0.001, 0.01, random.uniform(0, 0.3)]))
    spec = sound({**spec, "defaults": {"accept_left_out": left_out}})
    leaving = LEAVING[random.integers(len(LEAVING))]
    outcomes = []
    for n in (2, 7):
        rows = [("a", "x", "u", "2", "1", 50), *[(*leaving, 1)] * n]
        few = pl.DataFrame(rows, whole.schema, orient="row")
        try:
            outcomes.append(report_json.render(fairaudit.audit(spec, pl.concat([whole, few]))))
        except FairauditError as error:
            outcomes.append(str(error.published()))
    assert outcomes[0] == outcomes[1]


@pytest.mark.long
@pytest.mark.parametrize("accepted", [0.0101, 0.012, 0.03, 0.04])
def test_the_weight_of_few_who_leave_the_audit_tells_no_status(accepted: float) -> None:
    """Each weighs as much as five others: 2 of them are 1 % of all weight, and 7 are 3.4 %."""
    people = [(g, p, 1.0) for g in "ab" for p in "10"] * 250
    columns = {"protected": ["g"], "prediction": {"column": "p", "positive": "1"}, "weight": "w"}
    metric: dict[str, Any] = {"metric": "demographic_parity_difference", "fail": {"above": 0.5}}
    metric |= {"accept_left_out": accepted}
    spec = {"columns": columns, "missing": {"prediction": "drop"}, "metrics": [metric]}

    def status(n: int) -> str:
        rows = pl.DataFrame([*people, *[("b", None, 5.0)] * n], ["g", "p", "w"], orient="row")
        (finding,) = fairaudit.audit({**spec, "suppress_below": 11}, rows).findings
        return finding.status

    assert status(0) == "pass"
    # Ten of them weigh 50 of 1,050, which is more than any of these limits accepts.
    assert {status(n) for n in (1, 2, 3, 6, 7, 10)} == {"inconclusive"}


DROPPING: dict[str, Any] = {
    "columns": {
        "protected": ["g"],
        "strata": ["s"],
        "decision": {"column": "p", "positive": "1", "negative": "0", "others": "drop"},
        "count": "n",
    },
    "metrics": [
        {"metric": "demographic_parity_difference", "fail": {"above": 0.1}},
        {"metric": "impact_ratio", "fail": {"below": 0.8}},
    ],
    "missing": {"decision": "drop"},
    "data": "d.csv",
    "suppress_below": 11,
}


def test_the_commands_read_a_published_report_whose_details_are_hidden(tmp_path: Path) -> None:
    """Few people of stratum v are selected, and rows that are dropped leave the checks open."""
    people = "a,u,1,90\na,u,0,90\nb,u,1,60\nb,u,0,60\nb,u,?,80\nb,u,,15\na,v,1,3\na,v,0,30\n"
    (tmp_path / "d.csv").write_text("g,s,p,n\n" + people, "utf-8")
    (tmp_path / "spec.yaml").write_text(json.dumps(DROPPING), "utf-8")
    assert run("run", "spec.yaml", "-qq", "-o", "r.json", folder=tmp_path).returncode == 3
    parts = json.loads((tmp_path / "r.json").read_text("utf-8"))["checks"][0]["not_evaluated"]
    assert [part["detail"] for part in parts if part["blocks"]] == [""]
    for line in (["render"], ["show"], ["publish"], ["compare", "r.json"]):
        done = run(*line, "r.json", folder=tmp_path)
        assert done.returncode == 0, (line, done.stderr)


def dropped(extra: Sequence[Row], **more: Any) -> AuditResult:
    """Two groups at parity, and some rows without a stratum, which no selection rate needs."""
    rows = [("a", "u", "1", 300), ("a", "u", "0", 300), ("b", "u", "1", 60), ("b", "u", "0", 60)]
    spec = {
        "columns": {
            "protected": ["g"],
            "strata": ["s"],
            "prediction": {"column": "p", "positive": "1"},
            "count": "n",
        },
        "missing": {"strata": "drop"},
        "metrics": [{"metric": "demographic_parity_difference", "fail": {"above": 0.1}}],
    }
    fail_on = more.pop("fail_on", "fail")
    people = pl.DataFrame([*rows, *extra], ["g", "s", "p", "n"], orient="row")
    return fairaudit.audit({**spec, **more}, people, fail_on=fail_on)


HUNDRED: list[Row] = [("b", None, "0", 100)]
"""With them 60 of 220 of group b are selected, and 300 of 600 of group a: a difference of 0.227."""


@pytest.mark.parametrize("hides_group", [False, True])
def test_dropped_rows_leave_a_published_check_open(*, hides_group: bool) -> None:
    few = [("c", "u", "1", 4), ("c", "u", "0", 3)] if hides_group else []
    assert dropped([*few, *HUNDRED], missing={"strata": "aside"}).exit_code == 1
    assert dropped([*few, *HUNDRED]).exit_code == 3
    for rows in (HUNDRED, [("b", None, "1", 1)]):  # however many there are, and of what outcome
        result = dropped([*few, *rows], suppress_below=11)
        assert result.exit_code == 3
        (finding,) = result.findings
        assert (finding.estimate is not None and finding.estimate.suppressed) is hides_group
        assert "write `aside` in place of `drop`" in finding.why
        (left_out,) = [part for part in finding.not_evaluated if part.blocks]
        assert left_out.reason in finding.why
    assert dropped(few, suppress_below=11).exit_code == 0
    assert dropped([*few, *HUNDRED], suppress_below=11, missing={"strata": "aside"}).exit_code == 1


@pytest.mark.parametrize("hiding", [{}, {"suppress_below": 11}])
def test_what_fails_the_run_does_so_beside_dropped_rows(hiding: dict[str, int]) -> None:
    """A difference of 0.5 - 60/180 = 0.167 warns; with the dropped rows 0.5 - 60/280 would fail."""
    apart: list[Row] = [("b", "u", "0", 60), *HUNDRED]
    limits = {"warn": {"above": 0.1}, "fail": {"above": 0.2}}
    metrics = [{"metric": "demographic_parity_difference", **limits}]
    for fail_on, code in (("warn", 1), ("fail", 3)):
        assert dropped(apart, metrics=metrics, fail_on=fail_on, **hiding).exit_code == code

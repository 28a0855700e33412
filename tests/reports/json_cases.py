"""Results of every kind that a report can have, small and made at once, and what shows it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

import fairaudit
from fairaudit.report import json as report_json
from fairaudit.result import AuditResult

Case = tuple[Callable[[Path], AuditResult], Callable[[AuditResult], object]]
"""How it is made in a folder, and what has to be true of it for the case to be one."""

HOSTILE = ['"quoted"', "two\nlines", "😀 é", "<script>alert('x')</script>", "a=b, c | d", " NaN"]
OUTCOMES: dict[str, Any] = {
    "label": {"column": "y", "positive": 1, "negative": 0},
    "prediction": {"column": "p", "positive": 1, "negative": 0},
}


def people(groups: Mapping[str, tuple[int, int, int, int]], **more: Any) -> pl.DataFrame:
    """Groups by their true and false positives, false and true negatives, and a second column."""
    rows = [
        {"g": g, "y": y, "p": p, "n": n, "h": "hk"[(at + g_at) % 2], **more}
        for g_at, (g, cells) in enumerate(groups.items())
        for at, ((y, p), n) in enumerate(zip(((1, 1), (0, 1), (1, 0), (0, 0)), cells, strict=True))
    ]
    return pl.DataFrame(rows)


FEW = {"a": (40, 10, 10, 40), "b": (20, 20, 30, 30), "c": (3, 1, 2, 4), "d": (0, 0, 25, 30)}


def asked(*metrics: Any, **more: Any) -> dict[str, Any]:
    """A spec on such people; `columns` adds to them."""
    columns = {"protected": ["g", "h"], **OUTCOMES, "count": "n", **more.pop("columns", {})}
    return {"columns": columns, "metrics": list(metrics), **more}


def of(spec: Mapping[str, Any], frame: pl.DataFrame | None = None, **options: Any) -> Case:
    """A case without files that has some check, or some row."""

    def make(_: Path) -> AuditResult:
        return fairaudit.audit(spec, people(FEW) if frame is None else frame, **options)

    return make, lambda found: found.findings or found.rates


def showing(case: Case, what: Callable[[AuditResult], object]) -> Case:
    """The same case, with what has to be true of it."""
    return case[0], what


GATES: tuple[Any, ...] = (
    {"metric": "selection_rate", "fail": {"below": "0.80"}},
    {"metric": "selection_rate", "compare": "ratio", "reference": "rest", "fail": {"below": "0.9"}},
    {"metric": "equalized_odds_difference", "warn": {"above": "1e-1"}, "fail": {"above": 0.5}},
    {"metric": "differential_fairness", "smoothing": "1.0", "fail": {"above": 2}},
    {"metric": "disparate_impact_ratio", "reference": {"g": "a"}, "by": "g",
     "fail": {"below": 0.8}},
    {"metric": "accuracy", "compare": "standardized_difference_total", "reference": "largest",
     "fail": {"outside": ["-0.50", "0.5"]}},
)  # fmt: skip
TERMS: tuple[Any, ...] = (
    {"metric": "statistical_parity_difference", "reference": "overall", "aggregate": "mean",
     "fail": {"above": 0.1}},
    {"metric": "precision", "class": "macro", "fail": {"below": 0.7}},
    {"metric": "precision", "compare": "gap", "warn": {"above": 0.7}},
    {"metric": "equalized_odds_difference", "fail": {"above": 0.2}},
    {"metric": "generalized_entropy", "alpha": "1.50", "fail": {"above": 0.01}},
    {"metric": "regression_slope", "reference": "largest", "controls": ["h"], "by": "g",
     "fail": {"outside": [-0.1, 0.1]}},
)  # fmt: skip
AVERAGES: tuple[Any, ...] = tuple(
    {"metric": "selection_rate", "compare": "difference", "reference": "largest", "by": "g",
     "given": "h", "average": average, "fail": {"outside": [-0.1, 0.1]}}
    for average in ("pooled", "uniform", {"h": "0.70", "k": "0.3"})
)  # fmt: skip


def _hostile() -> Case:
    groups = {name: (20 + at, 5, 9, 12) for at, name in enumerate(HOSTILE)}
    frame = people(groups).rename({"g": "<b>\"g'"})
    spec = asked(*GATES[:1], title="<script>\n😀", context={"owner\n": '"x"'},
                 columns={"protected": ["<b>\"g'"]})  # fmt: skip
    return of(spec, frame)


def _waived(folder: Path) -> AuditResult:
    said = {"reason": "a\nnew <form>", "approved_by": "J. Doe", "expires": "2999-12-31"}
    check = "selection_rate/g/prediction"
    waivers = [
        {"check": check, "group": {"g": "d"}, **said},
        {"check": check, "group": {"g": "b"}, **said, "expires": "2001-12-31"},
        {"check": check, "group": {"g": "a"}, **said},
        {"check": "gone", "group": "all", **said},
    ]
    (folder / "waivers.yaml").write_text(json.dumps(waivers))
    spec = asked(
        {"metric": "selection_rate", "by": "g", "fail": {"below": "0.45"}},
        waivers=str(folder / "waivers.yaml"),
    )
    return fairaudit.audit(spec, people(FEW))


def _compared(folder: Path) -> AuditResult:
    """The same gates as a month ago, when one group fared better and another worse."""
    spec = {**asked(*GATES), "simpson": {"fail": "every_stratum"}}
    then = fairaudit.audit(spec, people({**FEW, "b": (30, 20, 20, 30), "a": (30, 10, 20, 40)}))
    (folder / "then.json").write_text(report_json.render(then))
    return fairaudit.audit(spec, people(FEW), baseline=folder / "then.json", tolerance="0.010")


def _subgroups() -> Case:
    rates = {("a", "x"): (90, 100), ("a", "y"): (40, 100), ("b", "x"): (50, 100),
             ("b", "y"): (60, 100)}  # fmt: skip
    rows = [
        {"g": g, "z": z, "p": p, "n": n}
        for (g, z), (k, m) in rates.items()
        for p, n in ((1, k), (0, m - k))
    ]
    spec = {
        "columns": {"protected": ["g"], "features": ["z"], "prediction": OUTCOMES["prediction"],
                    "count": "n"},
        "metrics": ["selection_rate"],
        "subgroups": {"min_size": 10, "fail": {"above": "0.10", "significant": True}},
    }  # fmt: skip
    return showing(of(spec, pl.DataFrame(rows)), lambda one: one.findings[0].subgroup)


def _kidney(*strata: str, **more: Any) -> tuple[dict[str, Any], pl.DataFrame]:
    """Kidney stones of Charig et al.: the better treatment loses overall."""
    cells = {("A", "small"): (81, 87), ("A", "large"): (192, 263), ("B", "small"): (234, 270),
             ("B", "large"): (55, 80)}  # fmt: skip
    rows = [
        {"g": g, "size": z, "p": p, "n": n}
        for (g, z), (k, m) in cells.items()
        for p, n in ((1, k), (0, m - k))
    ]
    spec = {
        "columns": {"protected": ["g"], "strata": list(strata), "count": "n",
                    "prediction": OUTCOMES["prediction"]},
        "metrics": ["selection_rate"],
        "simpson": {"fail": {"kind": "adjusted", "significant": True}},
        **more,
    }  # fmt: skip
    return spec, pl.DataFrame(rows)


def _reversed(*strata: str, **more: Any) -> Case:
    return of(*_kidney(*strata, **more))


def _hidden_beside_a_baseline(folder: Path) -> AuditResult:
    """A reversal that was not there before, of people too few to be told how many they are."""
    asked = {"simpson": {"fail": "every_stratum"}, "groups": {"min_events": 5}}
    spec, now = _kidney("size", **asked)
    same = fairaudit.audit(spec, now.with_columns(n=100))
    assert not same.reversals
    (folder / "then.json").write_text(report_json.render(same))
    spec["suppress_below"] = 100
    return fairaudit.audit(spec, now, baseline=folder / "then.json")


def _models() -> Case:
    frame = people(FEW).with_columns(q=pl.Series([1, 1, 0, 0] * 4))
    columns = {
        "prediction": None,
        "models": {
            "old": {"prediction": OUTCOMES["prediction"]},
            "new": {"prediction": {"column": "q", "positive": 1}},
        },
    }
    gate = {"of": "new", "against": "old", "fail": {"above": 0.05}}
    spec = asked({"metric": "differential_fairness", "smoothing": 1, **gate},
                 {"metric": "demographic_parity_difference", **gate}, columns=columns)  # fmt: skip
    spec["columns"] = {name: one for name, one in spec["columns"].items() if one is not None}
    return showing(of(spec, frame), lambda one: all("-" in each.check.id for each in one.findings))


def _scored() -> Case:
    rows = [
        {"g": "abc"[at % 3], "h": "hk"[at % 2], "y": (at * 7 % 11) % 2, "s": (at * 37 % 101) / 100}
        for at in range(300)
    ]
    spec = {
        "columns": {"protected": ["g", "h"], "label": OUTCOMES["label"], "score": "s"},
        "metrics": [
            {"metric": "auc", "warn": {"below": "0.60"}},
            {"metric": "equal_opportunity_difference", "at": ["0.40", 0.5], "fail": {"above": 0.1}},
        ],
    }
    return showing(of(spec, pl.DataFrame(rows)), lambda one: one.curves and one.scores)


def _numeric() -> Case:
    rows = [
        {"g": "ab"[at % 2], "x": 10.0 + at % 7 + at % 2, "w": 1 + at % 3, "z": f"z{at % 3}"}
        for at in range(90)
    ]
    spec = {
        "columns": {"protected": ["g"], "strata": ["z"],
                    "label": {"column": "x", "number": True}},
        "metrics": [{"metric": "mean_label", "compare": "difference", "reference": "largest",
                     "fail": {"outside": ["-1.0", 1]}}],
    }  # fmt: skip
    return of(spec, pl.DataFrame(rows))


def _missing() -> Case:
    frame = people(FEW).with_columns(
        g=pl.when(pl.col("p") == 1).then("g"), p=pl.when(pl.col("g") != "c").then("p")
    )
    holes = {"missing": {"prediction": "aside", "protected": "show"}}
    gates = ({"metric": "selection_rate", "fail": {"below": 0.9}},
             {"metric": "demographic_parity_ratio", "fail": {"below": 0.1}})  # fmt: skip
    spec = asked(*gates, **holes)
    return showing(of(spec, frame), lambda one: any(each.missing for each in one.findings))


def _is_infinite(one: AuditResult) -> bool:
    return any(row.estimate.value == float("inf") for row in one.comparisons)


def _suppressed(*metrics: Any, **more: Any) -> Case:
    """Groups of which some are too small to be told."""
    case = of(asked(*metrics, suppress_below=11, **more))
    return showing(case, lambda one: any(row.n is None for row in one.groups))


CASES: dict[str, Case] = {
    "gates": of(asked(*GATES)),
    "terms": of(asked(*TERMS, "kl_divergence", "total_variation")),
    "averages over strata": of(asked(*AVERAGES, columns={"strata": ["h"], "protected": ["g"]})),
    "every stratum": of(asked({"metric": "demographic_parity_ratio", "by": "g", "given": "h",
                               "fail": {"below": 0.8}})),
    "undefined and infinite": showing(
        of(asked("differential_fairness", {"metric": "precision", "fail": {"below": 0.5}})),
        _is_infinite,
    ),
    "undefined warns": of(asked({"metric": "precision", "fail": {"below": 0.5}}, undefined="warn")),
    "undefined is skipped": of(asked({"metric": "recall", "fail": {"below": 0.5}},
                                     undefined="skip")),
    "small and excluded groups": showing(
        of(asked(*GATES, groups={"min_size": 20, "min_events": 5, "exclude_below":
                                 {"share": "4.00%", "reason": "a 'rule'"}})),
        lambda one: any(each.not_evaluated for each in one.findings),
    ),
    "never fails": showing(of(asked(*GATES), fail_on="never"), lambda one: one.exit_code == 0),
    "fails on warnings": of(asked(*GATES), fail_on="warn"),
    "other inference": of(asked(*GATES, inference={
        "confidence": "0.900", "correction": "none", "ratio": "katz", "fisher": "exact"})),
    "to require evidence, write ": of(asked(
        {"metric": "demographic_parity_difference", "by": "g",
         "fail": {"above": "0.30", "conclusive": True, "significant": True}})),
    "hostile names": _hostile(),
    "waivers": (_waived, lambda one: {each.state.value for each in one.waivers}
                >= {"applied", "expired", "unused"}),
    "a baseline": (_compared, lambda one: any(each.before and each.before.worse
                                              for each in one.findings)),
    "survey weights": showing(
        of(asked("selection_rate", *GATES[:3], columns={"weight": "w"}),
           people(FEW, w=1.25)),
        lambda one: any(row.estimate.scale > 1 for row in one.rates)),
    "subgroups": _subgroups(),
    "reversals": showing(_reversed("size"), lambda one: one.findings[0].reversals),
    "no reversals are looked for": _reversed(simpson={"rates": []}),
    "hidden reversals": showing(
        _reversed("size", suppress_below=100),
        lambda one: not one.reversals and one.compared is None
        and one.findings[0].why.startswith("suppressed")),
    "hidden reversals beside a baseline": (
        _hidden_beside_a_baseline,
        lambda one: one.findings[0].before and not one.findings[0].before.reversals
        and not one.reversals and one.exit_code),
    "models": _models(),
    "scores": _scored(),
    "numbers": _numeric(),
    "missing values": _missing(),
    "suppressed": _suppressed(*GATES[2:], groups={"min_size": 10}),
    "suppressed strata": _suppressed(*AVERAGES, columns={"strata": ["h"], "protected": ["g"]}),
}  # fmt: skip

"""Who is worse off, by rate and by what the positive is: one rule, wherever a report applies it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import polars as pl
import pytest
from conftest import about
from evidence_specs import YES, Cells, confused, spec

import fairaudit
from fairaudit.metrics import DISPARITIES, GROUP_METRICS
from fairaudit.report.explain import markdown
from fairaudit.result import AuditResult
from fairaudit.tools.compare import compare

LOW, HIGH, NOBODY = "the lower rate", "the higher rate", "no answer"
RULE: dict[str, tuple[str, str]] = {
    "base_rate": (NOBODY, NOBODY),
    "selection_rate": (LOW, HIGH),
    # Denied a benefit though qualified; a burden that misses somebody harms nobody.
    "true_positive_rate": (LOW, NOBODY),
    "false_negative_rate": (HIGH, NOBODY),
    # Burdened without cause; a benefit without qualifying harms nobody.
    "false_positive_rate": (NOBODY, HIGH),
    "true_negative_rate": (NOBODY, LOW),
    # A share of those with the same decision: base rates and cuts move it, too.
    "positive_predictive_value": (NOBODY, NOBODY),
    "false_discovery_rate": (NOBODY, NOBODY),
    "negative_predictive_value": (NOBODY, NOBODY),
    "false_omission_rate": (NOBODY, NOBODY),
    # The quality of the prediction, whichever way its errors go.
    "accuracy": (LOW, LOW),
    "error_rate": (HIGH, HIGH),
    "balanced_accuracy": (LOW, LOW),
    "f1": (LOW, LOW),
    "error_type_ratio": (NOBODY, NOBODY),
    "selected_share": (NOBODY, NOBODY),
}
"""Of each rate of cells: who is worse off of a benefit, and of a burden."""
ELSEWHERE = {
    "scoring_rate": (LOW, HIGH),
    "pooled_selection_rate": (LOW, HIGH),
    "auc": (LOW, LOW),
    "average_precision": (LOW, LOW),
    "r2": (LOW, LOW),
    "expected_utility": (LOW, LOW),
    "brier": (HIGH, HIGH),
    "calibration_error": (HIGH, HIGH),
    "mae": (HIGH, HIGH),
    "rmse": (HIGH, HIGH),
    "generalized_entropy": (HIGH, HIGH),
    "theil": (HIGH, HIGH),
    "coefficient_of_variation": (HIGH, HIGH),
    "atkinson": (HIGH, HIGH),
    "demographic_disparity": (HIGH, HIGH),
    "consistency": (LOW, LOW),
    "unawareness_violations": (HIGH, HIGH),
    "lipschitz_violations": (HIGH, HIGH),
    **dict.fromkeys(
        (
            "mean_score", "mean_score_positives", "mean_score_negatives", "mean_prediction",
            "mean_label", "mean_residual", "calibration_in_the_large", "stratum_share",
            "calibration_slope", "calibration_intercept", "hosmer_lemeshow",
            "stratum_share_of_positives", "stratum_share_of_negatives",
            "balanced_error_rate", "group_size", "true_positives", "false_positives",
            "false_negatives", "true_negatives",
        ),
        (NOBODY, NOBODY),
    ),
}  # fmt: skip
"""Of every other number of one group."""
GROUPS: dict[str, Cells] = {"a": (50, 30, 40, 80), "b": (80, 10, 20, 90)}
CASES = [(rate, burden) for rate in RULE for burden in (False, True)]
HOW = ("gap", "min_ratio", "difference", "ratio")


@cache
def audited(rate: str, *, burden: bool, turned: bool = False) -> AuditResult:
    """The rate in every comparison, each with a limit that anything crosses.

    `turned` is each group with the other's people.
    """
    groups = {"a": GROUPS["b"], "b": GROUPS["a"]} if turned else GROUPS
    limits = {"gap": {"above": 0}, "min_ratio": {"below": 1}, "difference": {"outside": [0, 0]},
              "ratio": {"outside": [1, 1]}}  # fmt: skip
    metrics: list[Any] = [rate]
    metrics += [{"metric": rate, "compare": how, "fail": limits[how]} for how in HOW]
    asking = spec(*metrics, labels=True)
    asking["columns"]["protected"] = {"g": {"reference": "b"}}
    asking["columns"]["prediction"] = {"column": "p", **YES, "favourable": not burden}
    return fairaudit.audit(asking, confused(groups))


def worse_of(rate: str, burden: bool, values: dict[str, float]) -> str | None:
    """The group that the rule names."""
    side = RULE[rate][burden]
    if side == NOBODY:
        return None
    return (min if side == LOW else max)(values, key=lambda group: values[group])


def values_of(result: AuditResult) -> dict[str, float]:
    return {row.group[0][1]: row.estimate.value for row in result.rates if row.group}


@pytest.mark.long
def test_a_finding_names_whom_the_outcome_or_the_error_harms() -> None:
    for rate, burden in CASES:
        with about((rate, burden)):
            result = audited(rate, burden=burden)
            worse = worse_of(rate, burden, values_of(result))
            expected = () if worse is None else (("g", worse),)
            assert [one.worse_off for one in result.findings] == [expected] * len(HOW)


@pytest.mark.long
def test_a_table_begins_with_who_is_worse_off() -> None:
    for rate, burden in CASES:
        with about((rate, burden)):
            result = audited(rate, burden=burden)
            values = values_of(result)
            worse = worse_of(rate, burden, values) or min(values, key=lambda group: values[group])
            assert next(iter(values)) == worse


def test_a_gap_is_told_in_people_only_where_somebody_falls_short() -> None:
    for rate, burden in CASES:
        with about((rate, burden)):
            found = audited(rate, burden=burden).findings[0].practice
            shares = {"base_rate", *(name for name in RULE if name.endswith(("_rate", "_value")))}
            if RULE[rate][burden] == NOBODY or rate not in {*shares, "accuracy"}:
                assert found is None
            else:
                assert found is not None
                assert found.burden is (RULE[rate][burden] == HIGH)


@pytest.mark.long
def test_a_change_is_better_or_worse_by_the_same_rule() -> None:
    for rate, burden in CASES:
        with about((rate, burden)):
            then = audited(rate, burden=burden)
            now = audited(rate, burden=burden, turned=True)
            values = values_of(then)
            (change,) = (
                one.change for one in compare(then, now).rates if one.group == (("g", "a"),)
            )
            worse, side = worse_of(rate, burden, values), RULE[rate][burden]
            if side == NOBODY:
                assert change.way in {"higher", "lower", "same"}
            elif values["a"] != values["b"]:
                # Each group has the other's people now.
                assert change.way == ("better" if worse == "a" else "worse")


def test_of_one_class_of_several_nobody_says_which_way_is_better() -> None:
    rows = [(g, y, p, n) for g, cells in (("a", (9, 5, 2, 8)), ("b", (5, 5, 9, 8)))
            for (y, p), n in zip((("x", "x"), ("y", "y"), ("z", "x"), ("z", "z")), cells,
                                 strict=True)]  # fmt: skip
    metrics = [
        {"metric": metric, "class": "x", "compare": "gap", "fail": {"above": 0}}
        for metric in ("selection_rate", "true_positive_rate", "positive_predictive_value",
                       "accuracy")
    ]  # fmt: skip
    columns = {"protected": ["g"], "label": "y", "prediction": "p", "count": "n"}
    asking = {"columns": columns, "metrics": metrics}
    found = fairaudit.audit(asking, pl.DataFrame(rows, ["g", "y", "p", "n"], orient="row")).findings
    assert [one.worse_off for one in found] == [(), (), (), (("g", "b"),)]


def table_rows() -> Iterator[tuple[list[str], list[str]]]:
    """Rates and cells of the rule in `docs/metrics.md`."""
    lines = markdown([]).splitlines()
    start = lines.index("| rate | of a benefit, worse off | of a burden, worse off | why |") + 2
    for line in lines[start:]:
        if not line.startswith("|"):
            return
        rates, *cells = (cell.strip() for cell in line.strip("|").split(" | "))
        yield [rate.strip("` ") for rate in rates.split(",")], cells


def test_the_rule_in_the_documents_is_this_one_and_no_record_is_forgotten() -> None:
    printed = {rate: (cells[0], cells[1]) for rates, cells in table_rows() for rate in rates}
    assert printed == {**RULE, **ELSEWHERE}
    assert set(printed) == {one.id for one in GROUP_METRICS}
    assert all(len(cells) == 3 and cells[2] for _, cells in table_rows())


def test_a_value_with_room_on_one_side_of_parity_has_no_other_side() -> None:
    for metric in DISPARITIES:
        low, high = metric.bounds
        has_room = (low is None or low < metric.ideal) and (high is None or high > metric.ideal)
        with about(metric.id):
            assert has_room or not metric.is_two_sided

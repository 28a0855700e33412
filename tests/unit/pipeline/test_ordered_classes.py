"""Ordinal outcomes: ranked as the spec orders them, and refused where it leaves a class out."""

from __future__ import annotations

from itertools import product
from typing import Any

import polars as pl
import pytest
from conftest import sentence_of
from scipy import stats
from scipy.stats import mannwhitneyu

import fairaudit
from fairaudit.base.errors import SpecError

ORDER = ["bronze", "silver", "golden"]
GIVEN = {
    "a": ["golden"] * 12 + ["silver"] * 9 + ["bronze"] * 4,
    "b": ["golden"] * 3 + ["silver"] * 10 + ["bronze"] * 11,
}
PEOPLE = pl.DataFrame(
    [(group, medal) for group, medals in GIVEN.items() for medal in medals],
    ["group", "medal"],
    orient="row",
)


def audit(outcome: dict[str, Any], people: pl.DataFrame = PEOPLE, **columns: str) -> Any:
    limit = {"above": "0.6", "significant": True}
    metric = {"metric": "between_group_auc_ordinal", "reference": "a", "fail": limit}
    protected = {"protected": ["group"], "decision": {"column": "medal", **outcome}, **columns}
    return fairaudit.audit({"columns": protected, "metrics": [metric]}, people)


def permuted(u: float) -> float:
    """The chance of a U as far from its mean, where 25 of the 49 medals are drawn for group a."""
    medals = stats.multivariate_hypergeom([15, 19, 15], 25)
    far = 0.0
    for bronze, silver in product(range(16), range(20)):
        if 0 <= (golden := 25 - bronze - silver) <= 15:
            lower = silver * (15 - bronze) + golden * (34 - bronze - silver)
            ties = bronze * (15 - bronze) + silver * (19 - silver) + golden * (15 - golden)
            if abs(lower + ties / 2 - 300) >= abs(u - 300) - 1e-9:
                far += medals.pmf([bronze, silver, golden])
    return far


def test_ranks_and_their_test_are_scipys() -> None:
    result = audit({"order": ORDER})
    (row,) = result.comparisons
    ranks = {group: [ORDER.index(medal) for medal in medals] for group, medals in GIVEN.items()}
    u = mannwhitneyu(ranks["a"], ranks["b"]).statistic
    assert row.estimate.value == pytest.approx(u / (25 * 24))
    (finding,) = result.findings
    assert finding.estimate.significance.p == pytest.approx(permuted(u))
    assert result.verdict == "fail"


def test_the_sentence_tells_people_and_no_rate() -> None:
    result = audit({"order": ORDER})
    (finding,) = result.findings
    sentence = sentence_of(result, finding)
    assert "who: group=b n = 24, group=a n = 25 the reference; " in sentence
    assert "%" not in sentence.partition("; sure: ")[0]


def test_two_classes_are_the_area_of_selection() -> None:
    merged = PEOPLE.with_columns(pl.col("medal").replace("silver", "bronze"))
    medal = {"column": "medal", "positive": "golden", "order": ["bronze", "golden"]}
    names = ["between_group_auc_ordinal", "between_group_auc"]
    spec = {
        "columns": {"protected": ["group"], "decision": medal},
        "metrics": [{"metric": name, "reference": "a"} for name in names],
    }
    ordinal, plain = fairaudit.audit(spec, merged).comparisons
    assert ordinal.estimate.value == pytest.approx(plain.estimate.value)


def test_a_class_that_nobody_has_changes_nothing() -> None:
    wider = audit({"order": ["none", *ORDER, "platinum"]})
    assert wider.comparisons[0].estimate == audit({"order": ORDER}).comparisons[0].estimate


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        ({"order": ORDER[:2]}, "holds classes that `order` does not name: 'golden'"),
        (
            {"order": ["bronze", "silver", "silver"]},
            ("list every class once, from the lowest to the highest"),
        ),
        ({"order": ORDER[:1]}, "list every class once, from the lowest to the highest"),
        ({}, "needs ordered classes: add `order: [lowest, …, highest]` to columns.decision"),
        ({"order": ORDER, "number": True}, "a number has no classes: remove `order`"),
        ({"order": ORDER, "positive": {"above": "1"}}, "a threshold already orders its two"),
    ],
)
def test_an_order_that_does_not_fit_is_a_fault(outcome: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError) as error:
        audit(outcome)
    assert message in str(error.value)


def test_one_person_alone_is_undefined_and_no_pass() -> None:
    result = audit({"order": ORDER}, PEOPLE.filter(pl.col("group") == "a"))
    assert result.verdict != "pass"


def test_weighted_ranks_are_refused() -> None:
    with pytest.raises(SpecError, match="not supported with survey weights"):
        audit({"order": ORDER}, PEOPLE.with_columns(w=pl.lit(1.5)), weight="w")

"""What an expert would remark: gates that exclude each other, repeated rows, small rates."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from conftest import sentence_of
from evidence_specs import document, people
from evidence_specs import spec as asking

from fairaudit.result import AuditResult

Audit = Callable[..., AuditResult]
LIMIT = {"above": 0.05}
TRIPLE = [
    {"metric": "predictive_parity", "fail": LIMIT},
    {"metric": "equalized_odds_difference", "fail": LIMIT},
]


def confusion(**groups: tuple[int, int, int, int]) -> str:
    """CSV text: for each group its tp, fp, fn, tn."""
    lines = ["race,label,y,n"]
    for group, cells in groups.items():
        for (label, y), n in zip(((1, 1), (0, 1), (1, 0), (0, 0)), cells, strict=True):
            lines.append(f"{group},{label},{y},{n}")
    return "\n".join(lines) + "\n"


def spec(*metrics: dict[str, Any], **columns: Any) -> dict[str, Any]:
    return {
        "columns": {
            "protected": ["race"],
            "label": {"column": "label", "positive": 1, "negative": 0},
            "prediction": {"column": "y", "positive": 1, "negative": 0},
            "count": "n",
            **columns,
        },
        "metrics": list(metrics),
    }


def tied(result: AuditResult) -> list[str]:
    return [one for one in result.notices if "cannot all be equal" in one]


def test_gates_that_base_rates_set_against_each_other_are_named(audit_csv: Audit) -> None:
    """COMPAS-like: base rates 1/3 and 1/2; the FPR that the larger group's PPV and TPR ask for."""
    text = confusion(a=(60, 30, 40, 171), b=(30, 15, 20, 35))
    (notice,) = tied(audit_csv(text, spec(*TRIPLE)))
    # p = 1/2, PPV = 60/90, TPR = 60/100: FPR = 1 · (1/3)/(2/3) · 3/5 = 30 %.
    needed = Fraction(1) * (Fraction(1, 3) / Fraction(2, 3)) * Fraction(3, 5)
    assert f"the FPR of race=b would be {100 * float(needed):.1f} %" in notice
    assert "(sufficiency and separation; race=a 33.2 %, race=b 50.0 %)" in notice
    assert "where that of race=a is 14.9 %" in notice
    assert "predictive_parity/race/prediction" in notice
    assert "equalized_odds_difference/race/prediction" in notice


def test_a_rate_over_one_is_said_to_be_none(audit_csv: Audit) -> None:
    text = confusion(a=(80, 80, 20, 820), b=(80, 5, 10, 5))
    (notice,) = tied(audit_csv(text, spec(*TRIPLE)))
    assert "would pass 100 %, which no rate can" in notice


PARITY = {"metric": "demographic_parity_difference", "fail": LIMIT}


@pytest.mark.parametrize(
    ("other", "criteria", "rates", "needed"),
    [
        # TPR = 60/100 and FPR = 30/201 of a, base rate 1/2 of b: (60/100 + 30/201) / 2.
        ("equalized_odds_difference", "independence and separation",
         "TPR, FPR and selection rate", (Fraction(60, 100) + Fraction(30, 201)) / 2),
        # PPV = 60/90 and NPV = 171/211 of a: s = (1/2 - 40/211) / (2/3 - 40/211).
        ("conditional_use_accuracy_equality", "independence and sufficiency",
         "PPV, NPV and selection rate",
         (Fraction(1, 2) - Fraction(40, 211)) / (Fraction(2, 3) - Fraction(40, 211))),
    ],
)  # fmt: skip
def test_independence_excludes_separation_and_sufficiency(
    audit_csv: Audit, other: str, criteria: str, rates: str, needed: Fraction
) -> None:
    text = confusion(a=(60, 30, 40, 171), b=(30, 15, 20, 35))
    (notice,) = tied(audit_csv(text, spec(PARITY, {"metric": other, "fail": LIMIT})))
    assert f"{rates} cannot all be equal" in notice
    assert f"({criteria}; race=a 33.2 %, race=b 50.0 %)" in notice
    assert f"the selection rate of race=b would be {100 * float(needed):.1f} %" in notice
    assert f"where that of race=a is {9000 / 301:.1f} %" in notice


def test_independence_has_its_exceptions_and_a_perfect_classifier_is_none(
    audit_csv: Audit,
) -> None:
    """Equal TPR and FPR tell nothing, and hold with equal selection rates at any base rates."""
    odds = {"metric": "equalized_odds_difference", "fail": LIMIT}
    useless = confusion(a=(50, 100, 50, 100), b=(50, 50, 50, 50))
    assert not tied(audit_csv(useless, spec(PARITY, odds)))
    perfect = confusion(a=(100, 0, 0, 200), b=(50, 0, 0, 50))
    assert len(tied(audit_csv(perfect, spec(PARITY, odds)))) == 1
    equal = confusion(a=(60, 30, 40, 170), b=(30, 15, 20, 85))
    assert not tied(audit_csv(equal, spec(PARITY, odds)))


@pytest.mark.parametrize(
    "metrics",
    [
        TRIPLE[:1],
        TRIPLE[1:],
        [{"metric": "predictive_parity", "warn": LIMIT}, TRIPLE[1]],
        [{"metric": "positive_predictive_value", "fail": {"below": 0.5}}, TRIPLE[1]],
    ],
)
def test_two_gates_of_the_three_can_hold(audit_csv: Audit, metrics: list[dict[str, Any]]) -> None:
    text = confusion(a=(60, 30, 40, 171), b=(30, 15, 20, 35))
    assert not tied(audit_csv(text, spec(*metrics)))


@pytest.mark.parametrize(
    "groups",
    [
        {"a": (60, 30, 40, 170), "b": (30, 15, 20, 85)},
        {"a": (600, 300, 400, 1700), "b": (30, 15, 21, 85)},
        {"a": (100, 0, 0, 200), "b": (50, 0, 0, 50)},
    ],
)
def test_equal_base_rates_and_perfect_models_are_silent(
    audit_csv: Audit, groups: dict[str, tuple[int, int, int, int]]
) -> None:
    assert not tied(audit_csv(confusion(**groups), spec(*TRIPLE)))


def cells(times: int, many: int = 10) -> str:
    return "race,label,y,n\n" + "".join(
        f"r{at},{at % 2},{y},{times * (at + 2 * y + 1)}\n" for at in range(many) for y in (0, 1)
    )


def multiples(result: AuditResult) -> list[str]:
    return [one for one in result.notices if "multiple" in one]


@pytest.mark.parametrize("times", [2, 9, 1000])
def test_people_who_occur_in_multiples_are_noticed(audit_csv: Audit, times: int) -> None:
    (notice,) = multiples(audit_csv(cells(times), spec({"metric": "selection_rate"})))
    assert f"a multiple of {times:,} times" in notice
    assert f"(√{times:,})" in notice


def test_rows_that_are_repeated_are_noticed(audit_csv: Audit) -> None:
    header, *rows = cells(1).splitlines()
    text = "\n".join([header, *rows, *rows, *rows]) + "\n"
    (notice,) = multiples(audit_csv(text, spec({"metric": "selection_rate"})))
    assert "1.73 times too narrow (√3)" in notice


@pytest.mark.parametrize("text", [cells(1), cells(2, many=9), cells(2) + "r0,0,1,1\n"])
def test_few_or_odd_counts_are_silent(audit_csv: Audit, text: str) -> None:
    assert not multiples(audit_csv(text, spec({"metric": "selection_rate"})))


@pytest.mark.parametrize(("selected", "told"), [((12, 2), True), ((30, 14), False)])
def test_a_ratio_to_everybody_at_a_small_rate_tells_the_points(
    audit_csv: Audit, selected: tuple[int, int], told: bool
) -> None:
    """12 % against everybody's 7 %: the reference rate is what makes a ratio mislead."""
    a, b = selected
    text = confusion(a=(a, 0, 0, 100 - a), b=(b, 0, 0, 100 - b))
    metric = {"metric": "elift", "fail": {"above": 1.5}}
    result = audit_csv(text, spec(metric))
    (finding,) = result.findings
    assert ("at rates this small" in sentence_of(result, finding)) is told


def test_models_that_select_unequally_are_noticed(audit_csv: Audit) -> None:
    text = "race,label,p,q\n" + "a,1,1,1\na,0,0,1\nb,1,1,0\nb,0,0,1\n"
    read: dict[str, Any] = spec({"metric": "selection_rate"})
    del read["columns"]["prediction"], read["columns"]["count"]
    one, two = ({"column": name, "positive": 1, "negative": 0} for name in ("p", "q"))
    read["columns"]["models"] = {"now": {"prediction": one}, "next": {"prediction": two}}
    assert any("now 50.0 %, next 75.0 %" in one for one in audit_csv(text, read).notices)
    read["columns"]["models"]["next"] = {"prediction": one}
    assert not any("equally many" in one for one in audit_csv(text, read).notices)


def sets(many: int, people: int) -> str:
    """So many strata, each of so many people of two groups in turn."""
    lines = ["race,label,y,n,ad"]
    for at in range(many):
        lines += [f"r{row % 2},{(at + row) % 2},{row % 2},1,ad{at}" for row in range(people)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("many", "people", "told"), [(60, 2, True), (30, 6, True), (29, 2, False), (40, 7, False)]
)
def test_strata_of_few_people_may_be_matched_sets(
    audit_csv: Audit, many: int, people: int, told: bool
) -> None:
    metric = {
        "metric": "selection_rate",
        "compare": "difference",
        "given": "ad",
        "average": "pooled",
    }
    read = spec({**metric, "reference": "largest"}, strata=["ad"])
    notices = [one for one in audit_csv(sets(many, people), read).notices if "cluster" in one]
    assert bool(notices) is told
    if told:
        assert f"ad: {many} strata, and the median stratum has {people} people" in notices[0]


def test_groups_of_too_few_people_to_show_the_limit_are_named() -> None:
    """At a rate of one half a gap of 0.1 takes 97 people beside many: 1.96² · 0.25 / 0.01.

    F is of 50, whose gap of 0.4 is 5.7 standard errors of √(0.25 / 50), and shown.
    """
    rates = {"A": (3000, 10_000), "B": (7000, 10_000), "C": (48, 95), "D": (50, 100), "E": (1, 1)}
    rates["F"] = (5, 50)
    metric = {"metric": "demographic_parity_difference", "fail": {"above": 0.1}}

    def named(asked: dict[str, Any], groups: str) -> list[str]:
        rows = people({g: rates[g] for g in groups})
        return [one for one in document(asked, rows)["notices"] if "small groups" in one]

    (notice,) = named(asking(metric), "ABCDEF")
    assert notice == (
        "by g, chance alone can put small groups over the limit (above 0.1): "
        "g=E (1 person), g=C (95 people)"
    )
    assert not named(asking(metric), "ABF")
    assert not named(asking(metric, groups={"min_size": 30}), "ABCDE")
    assert not named(asking(metric), "ABD")
    assert not named(asking(metric, suppress_below=11), "ABCDE")

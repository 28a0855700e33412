"""People without a score: thresholds, cuts at quantiles, and changes between models.

Every case has a truth: the same data with the missing values filled in, counted in plain Python.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from statistics import median_low
from typing import Any, NamedTuple

import polars as pl
import pytest

import fairaudit
from fairaudit.judge import Finding, Status


class _Person(NamedTuple):
    g: str | None
    s: float | None = None
    y: int | None = 1


def _audit(
    people: Sequence[_Person],
    columns: Mapping[str, object],
    entry: Mapping[str, object],
    missing: Mapping[str, str],
    **more: object,
) -> Finding:
    spec = {
        "columns": {"protected": {"g": {"reference": "m"}}, **columns},
        "metrics": [entry], "missing": dict(missing), "simpson": False, **more,
    }  # fmt: skip
    data = pl.DataFrame(people, schema={"g": pl.String, "s": pl.Float64, "y": pl.Int64},
                        orient="row")  # fmt: skip
    return fairaudit.audit(spec, data).findings[0]


def _is_plain(finding: Finding) -> bool:
    return finding.status is Status.PASS and not finding.is_in_doubt


def _rate(people: Sequence[_Person], group: str, cut: float, label: int | None = None) -> Fraction:
    """The share of a group with a score of at least the cut, in plain Python."""
    scores = [one.s for one in people if one.g == group and label in {None, one.y}]
    known = [score for score in scores if score is not None]
    return Fraction(sum(score >= cut for score in known), len(known))


# Thresholds of a score (`at`).

_KNOWN = [
    *[_Person("f", 0.9)] * 45, *[_Person("f", 0.1)] * 55,
    *[_Person("m", 0.9)] * 50, *[_Person("m", 0.1)] * 50,
    *[_Person("f", 0.1, 0)] * 20, *[_Person("m", 0.1, 0)] * 20,
]  # fmt: skip
_LABELLED = {"label": {"column": "y", "positive": 1, "negative": 0}, "score": "s"}

_AT: dict[str, tuple[dict[str, Any], Callable[[Sequence[_Person]], Fraction]]] = {
    "true positive rate": (
        {"metric": "true_positive_rate", "compare": "gap", "fail": {"above": 0.075}},
        lambda people: abs(_rate(people, "f", 0.5, 1) - _rate(people, "m", 0.5, 1)),
    ),
    "equalized odds": (
        {"metric": "equalized_odds_difference", "fail": {"above": 0.075}},
        lambda people: max(
            abs(_rate(people, "f", 0.5, label) - _rate(people, "m", 0.5, label)) for label in (0, 1)
        ),
    ),
    "selection rate": (
        {"metric": "selection_rate", "compare": "min_ratio", "fail": {"below": 0.85}},
        lambda people: Fraction(
            min(_rate(people, g, 0.5) for g in "fm"), max(_rate(people, g, 0.5) for g in "fm")
        ),
    ),
    "impact ratio": (
        {"metric": "impact_ratio", "fail": {"below": 0.85}},
        lambda people: _rate(people, "f", 0.5) / _rate(people, "m", 0.5),
    ),
}


@pytest.mark.parametrize("policy", ["aside", "drop"])
@pytest.mark.parametrize("name", _AT)
def test_a_missing_score_is_an_unknown_outcome_at_a_threshold(name: str, policy: str) -> None:
    """20 women of positive label have no score: none to all of them could reach the threshold."""
    entry, truth = _AT[name]
    values = [
        float(truth([*_KNOWN, *[_Person("f", 0.9)] * k, *[_Person("f", 0.1)] * (20 - k)]))
        for k in range(21)
    ]
    for at in ([0.5], [0.3, 0.5]):
        finding = _audit([*_KNOWN, *[_Person("f")] * 20], _LABELLED, {**entry, "at": at},
                         {"score": policy})  # fmt: skip
        assert finding.status is Status.PASS
        assert finding.value == pytest.approx(float(truth(_KNOWN)))
        assert finding.missing is not None
        assert finding.missing.turns
        assert finding.missing.missing_outcome == 20
        assert finding.missing.low == pytest.approx(min(values))
        assert finding.missing.high == pytest.approx(max(values), abs=0.01)
    filled = _audit([*_KNOWN, *[_Person("f", 0.1)] * 20], _LABELLED, {**entry, "at": [0.5]}, {})
    assert filled.status is Status.FAIL
    assert filled.value == pytest.approx(values[0])
    assert filled.missing is None


def test_nobody_in_question_without_a_score_leaves_a_threshold_alone() -> None:
    """20 women of negative label are not in the true positive rate."""
    entry = {**_AT["true positive rate"][0], "at": [0.5]}
    people = [*_KNOWN, *[_Person("f", None, 0)] * 20]
    assert _audit(people, _LABELLED, entry, {"score": "aside"}).missing is None


def test_scores_of_dropped_rows_do_not_stand_for_missing_scores() -> None:
    """30 women have a score and no decision, and leave the audit; 20 others have no score."""
    columns = {**_LABELLED, "prediction": {"column": "p", "positive": 1, "negative": 0}}
    known = pl.DataFrame(_KNOWN, orient="row", schema=["g", "s", "y"]).with_columns(p=pl.lit(1))
    schema = known.schema
    more = [("f", None, 1, 0)] * 20 + [("f", 0.1, 1, None)] * 30
    data = pl.concat([known, pl.DataFrame(more, orient="row", schema=schema)])
    spec = {
        "columns": {"protected": {"g": {"reference": "m"}}, **columns},
        "metrics": [{"metric": "impact_ratio", "at": [0.5], "fail": {"below": 0.68}}],
        "missing": {"score": "aside", "prediction": "drop"}, "simpson": False,
    }  # fmt: skip
    (finding,) = fairaudit.audit(spec, data).findings
    assert finding.value == pytest.approx((45 / 150) / (50 / 120))
    # None of the 20 may reach the threshold.
    assert (45 / 170) / (50 / 120) < 0.68
    assert finding.is_in_doubt


# Cuts at quantiles.

_MEDIAN: dict[str, Any] = {"above": "median"}
_TOP: dict[str, Any] = {"top": "50%"}
_TIED = [
    *[_Person("f", 0.6)] * 50, *[_Person("f", 0.2)] * 50,
    *[_Person("m", 0.8)] * 50, *[_Person("m", 0.2)] * 50,
]  # fmt: skip
_UNTIED = [
    _Person(g, base + n / 1000)
    for g, bases in {"f": (0.5, 0.1), "m": (0.7, 0.2)}.items()
    for base in bases
    for n in range(50)
]
_RATIO = {"metric": "impact_ratio", "fail": {"below": 0.8}}


def _decided(positive: Mapping[str, str]) -> dict[str, object]:
    return {"prediction": {"column": "s", "positive": positive}}


def _ratio_above_median(people: Sequence[_Person]) -> Fraction:
    scores = [one.s for one in people if one.s is not None]
    cut, rates = median_low(scores), dict[str, Fraction]()
    for group in "fm":
        own = [one.s for one in people if one.g == group and one.s is not None]
        rates[group] = Fraction(sum(score > cut for score in own), len(own))
    return min(rates.values()) / max(rates.values())


@pytest.mark.parametrize("policy", ["aside", "drop"])
@pytest.mark.parametrize("positive", [_MEDIAN, _TOP])
@pytest.mark.parametrize(("people", "missing", "score"), [(_TIED, 3, 0.9), (_UNTIED, 14, 0.95)])
def test_missing_scores_move_the_cut(
    positive: dict[str, Any], policy: str, people: list[_Person], missing: int, score: float
) -> None:
    """Men with a high score raise the median, and women below it are no longer selected."""
    truth = _ratio_above_median([*people, *[_Person("m", score)] * missing])
    assert truth < Fraction(4, 5)
    filled = _audit([*people, *[_Person("m", score)] * missing], _decided(positive), _RATIO, {})
    assert filled.status is Status.FAIL
    assert filled.value == pytest.approx(float(truth))
    finding = _audit([*people, *[_Person("m")] * missing], _decided(positive), _RATIO,
                     {"prediction": policy})  # fmt: skip
    assert finding.value == pytest.approx(float(_ratio_above_median(people)))
    assert finding.missing is not None
    assert finding.missing.may_turn
    assert finding.missing.missing_outcome == missing
    assert finding.missing.reason is not None
    assert _is_plain(_audit(people, _decided(positive), _RATIO, {"prediction": policy}))


@pytest.mark.parametrize("group", ["f", "m", None])
def test_ties_hold_a_cut_and_the_bounds_with_it(group: str | None) -> None:
    """The cut of 41 people with 21 ties stays, whatever the score of 2 more people is."""
    known = [*[_Person("f", 0.5)] * 11, *[_Person("m", 0.5)] * 10]
    known += [*[_Person("f", 0.9)] * 5, *[_Person("m", 0.9)] * 5]
    known += [*[_Person("f", 0.1)] * 5, *[_Person("m", 0.1)] * 5]
    entry = {"metric": "selection_rate", "compare": "gap", "fail": {"above": 0.5}}
    missing = {"prediction": "aside", "protected": "aside"}
    finding = _audit([*known, *[_Person(group)] * 2], _decided(_MEDIAN), entry, missing)
    gaps = []
    for scores in product((0.1, 0.5, 0.9), repeat=2):
        for groups in product("fm" if group is None else group, repeat=2):
            filled = [*known, *map(_Person, groups, scores)]
            cut = median_low([one.s for one in filled if one.s is not None])
            own = {g: [one.s for one in filled if one.g == g] for g in "fm"}
            f, m = (Fraction(sum((s or 0) > cut for s in own[g]), len(own[g])) for g in "fm")
            gaps.append(float(abs(f - m)))
    bounds = finding.missing
    assert bounds is not None
    assert not bounds.may_turn
    assert bounds.low is not None
    assert bounds.high is not None
    assert bounds.low <= min(gaps) + 1e-9
    # People of unknown group may also belong to none of the groups.
    assert max(gaps) - 1e-9 <= bounds.high <= max(gaps) + (1e-9 if group is not None else 0.03)


def test_people_out_of_question_move_the_cut() -> None:
    """14 men of negative label are not in the true positive rate, and move the median."""
    entry = {"metric": "true_positive_rate", "compare": "min_ratio", "fail": {"below": 0.8}}
    columns = {**_decided(_TOP), "label": _LABELLED["label"]}
    filled = [*_UNTIED, *[_Person("m", 0.95, 0)] * 14]
    cut = median_low([one.s for one in filled if one.s is not None])
    rates = {g: sum((one.s or 0) > cut for one in _UNTIED if one.g == g) for g in "fm"}
    truth = min(rates.values()) / max(rates.values())
    people = [*_UNTIED, *[_Person("m", None, 0)] * 14]
    assert _audit(filled, columns, entry, {}).value == pytest.approx(truth)
    finding = _audit(people, columns, entry, {"prediction": "aside"})
    assert finding.missing is not None
    assert finding.missing.may_turn
    assert finding.missing.missing_outcome == 14
    # A slope takes the first of a score, a number and the selection rate.
    slope = {"metric": "regression_slope", "fail": {"above": 0.9}}
    by_decision = _audit(people, columns, slope, {"prediction": "aside"})
    assert by_decision.missing is not None
    assert by_decision.missing.may_turn
    # The base rate does not depend on the cut.
    entry = {"metric": "base_rate", "compare": "gap", "fail": {"above": 0.2}}
    assert _audit(people, columns, entry, {"prediction": "aside"}).missing is None


def test_a_fixed_cut_does_not_move() -> None:
    """At least .5: none to 14 of the 14 men without a score may reach it."""
    columns = {
        "models": {
            "fixed": {"prediction": {"column": "s", "positive": {"at_least": 0.5}}},
            "top": {"prediction": {"column": "s", "positive": _TOP}},
        }
    }
    people = [*_UNTIED, *[_Person("m")] * 14]
    fixed = _audit(people, columns, {**_RATIO, "of": "fixed"}, {"prediction": "aside"})
    assert fixed.missing is not None
    rates = [(Fraction(50, 100), Fraction(50 + k, 114)) for k in range(15)]
    truth = min(float(min(pair) / max(pair)) for pair in rates)
    assert fixed.missing.low == pytest.approx(truth)
    assert not fixed.missing.may_turn
    top = _audit(people, columns, {**_RATIO, "of": "top"}, {"prediction": "aside"})
    change = {"metric": "demographic_parity_difference", "of": "fixed", "against": "top"}
    both = _audit(people, columns, {**change, "fail": {"above": 0.2}}, {"prediction": "aside"})
    for finding in (top, both):
        assert finding.missing is not None
        assert finding.missing.may_turn


@pytest.mark.parametrize("policy", ["aside", "drop", "show"])
def test_missing_numbers_move_the_bins_of_groups(policy: str) -> None:
    """The median of 180 people is 2, and with 30 more people at 3 it is 3."""
    known = [_Person("f", 1.0, n % 2) for n in range(80)] + [_Person("f", 2.0, 1)] * 20
    known += [_Person("f", 3.0, int(n < 30)) for n in range(80)]
    columns = {
        "protected": {"half": {"column": "s", "quantiles": 2}},
        "decision": {"column": "y", "positive": 1},
    }
    entry = {"metric": "selection_rate", "compare": "gap", "fail": {"above": 0.2}}

    def truth(people: Sequence[_Person]) -> float:
        cut = median_low([one.s for one in people if one.s is not None])
        low, high = (
            Fraction(sum(half), len(half))
            for half in (
                [one.y or 0 for one in people if ((one.s or 0) >= cut) is upper]
                for upper in (False, True)
            )
        )
        return float(abs(low - high))

    assert truth(known) < 0.2
    finding = _audit(known, columns, entry, {})
    assert finding.value == pytest.approx(truth(known))
    assert _is_plain(finding)
    filled = _audit([*known, *[_Person("f", 3.0, 0)] * 30], columns, entry, {})
    assert filled.status is Status.FAIL
    assert filled.value == pytest.approx(truth([*known, *[_Person("f", 3.0, 0)] * 30]))
    missing = [*known, *[_Person("f", None, 0)] * 30]
    finding = _audit(missing, columns, entry, {"protected": policy})
    assert finding.missing is not None
    assert finding.missing.may_turn


@pytest.mark.parametrize("policy", ["aside", "drop"])
def test_missing_numbers_move_the_bins_of_strata(policy: str) -> None:
    known = [_Person(g, n / 10, n % 2) for g in "fm" for n in range(100)]
    columns = {"strata": {"q": {"column": "s", "quantiles": 4}}, "decision": {"column": "y"}}
    entry = {"metric": "selection_rate", "compare": "gap", "given": "q", "fail": {"above": 0.2}}
    assert _is_plain(_audit(known, columns, entry, {}))
    people = [*known, *[_Person("f", None, 1)] * 10]
    assert not _is_plain(_audit(people, columns, entry, {"strata": policy}))


def test_a_plain_pass_holds_for_all_missing_scores() -> None:
    """Random scores of few values; the truth is the ratio for every way to fill the missing."""
    rng, plain, doubtful = random.Random(11), 0, 0
    for _ in range(60):
        values = rng.sample(range(9), rng.choice([2, 3, 5]))
        people = [_Person(g, float(rng.choice(values))) for g in "fm" for _ in range(15)]
        people += [_Person(rng.choice("fm")) for _ in range(rng.randint(0, 2))]
        share = rng.choice([Fraction(1, 4), Fraction(1, 2), Fraction(2, 3)])
        entry = {"metric": "selection_rate", "compare": "gap", "fail": {"above": 0.3}}
        positive = {"top": f"{float(100 * share):.10g}%"}
        finding = _audit(people, _decided(positive), entry, {"prediction": "aside"})
        if _is_plain(finding):
            plain += 1
            assert not any(_gap(filled, share) > 0.3 + 1e-9 for filled in _fill(people))
        else:
            doubtful += finding.status is Status.PASS
    assert plain > 5
    assert doubtful > 5


def _fill(people: Sequence[_Person]) -> list[list[_Person]]:
    known = [one for one in people if one.s is not None]
    lacking = [one for one in people if one.s is None]
    options = [-0.5, *(n / 2 for n in range(18)), 9.0]
    return [
        [*known, *(one._replace(s=s) for one, s in zip(lacking, scores, strict=True))]
        for scores in product(options, repeat=len(lacking))
    ]


def _gap(people: Sequence[_Person], share: Fraction) -> float:
    """The gap of the rates above the smallest score with 1 - share of the people at or below it."""
    scores = sorted(one.s for one in people if one.s is not None)
    cut = next(s for n, s in enumerate(scores, 1) if n >= (1 - share) * len(scores))
    rates = [
        Fraction(sum((one.s or 0) > cut for one in own), len(own))
        for own in ([one for one in people if one.g == g] for g in "fm")
    ]
    return float(abs(rates[0] - rates[1]))


# A change between two models.

_PAIRS = [
    *[("f", "yes", "yes", 1)] * 45, *[("f", "no", "no", 1)] * 55,
    *[("m", "yes", "yes", 1)] * 50, *[("m", "no", "no", 1)] * 50,
    *[("f", "no", "no", 0)] * 20, *[("m", "no", "no", 0)] * 20,
]  # fmt: skip
_CHANGES: dict[str, dict[str, Any]] = {
    "demographic_parity_difference": {"fail": {"above": 0.05}},
    "selection_rate": {"fail": {"outside": [-0.05, 0.05]}},
    "demographic_parity_ratio": {"fail": {"below": -0.05}},
    "differential_fairness": {"fail": {"above": 0.05}},
    "equal_opportunity_difference": {"fail": {"above": 0.05}},
    "accuracy": {"compare": "difference", "fail": {"outside": [-0.05, 0.05]}},
}


@pytest.mark.parametrize("policy", ["aside", "drop"])
@pytest.mark.parametrize(("ok", "q"), [(None, "yes"), (None, "no"), ("no", None), ("yes", None)])
@pytest.mark.parametrize("metric", _CHANGES)
def test_missing_decisions_of_either_model_are_in_doubt(
    metric: str, ok: str | None, q: str | None, policy: str
) -> None:
    """20 women whom one of the models has not decided: they could change the rate by 20 of 140."""
    models = {
        name: {"prediction": {"column": column, "positive": "yes", "negative": "no"}}
        for name, column in {"cand": "ok", "cur": "q"}.items()
    }
    spec = {
        "columns": {
            "protected": {"g": {"reference": "m"}}, "models": models,
            "label": {"column": "y", "positive": 1, "negative": 0},
        },
        "metrics": [{"metric": metric, "of": "cand", "against": "cur", **_CHANGES[metric]}],
        "missing": {"prediction": policy}, "simpson": False,
    }  # fmt: skip

    def audit(people: Sequence[tuple[object, ...]]) -> Finding:
        return fairaudit.audit(
            spec, pl.DataFrame(people, orient="row", schema=["g", "ok", "q", "y"])
        ).findings[0]

    assert not audit(_PAIRS).missing
    finding = audit([*_PAIRS, *[("f", ok, q, 1)] * 20])
    assert finding.status is Status.PASS
    assert finding.value == pytest.approx(0)
    ways = [audit([*_PAIRS, *[("f", ok or one, q or one, 1)] * 20]) for one in ("yes", "no")]
    assert Status.PASS in [way.status for way in ways]
    assert finding.missing is not None
    assert finding.missing.turns or Status.FAIL not in [way.status for way in ways]
    assert finding.missing.low is not None
    assert finding.missing.high is not None
    for value in (way.value for way in ways):
        assert value is not None
        assert finding.missing.low - 1e-9 <= value <= finding.missing.high + 1e-9


@pytest.mark.parametrize("policy", ["aside", "drop"])
def test_people_of_unknown_stratum_are_in_doubt(policy: str) -> None:
    """8 women of unknown stratum: 35 of 108 and 50 of 100 are more than .16 apart."""
    known = [_Person(g, s, int(n < k)) for g, k in (("f", 35), ("m", 50)) for s in (1.0, 2.0)
             for n in range(100)]  # fmt: skip
    columns = {"strata": {"q": {"column": "s"}}, "decision": {"column": "y"}}
    entry = {"metric": "selection_rate", "compare": "gap", "given": "q", "fail": {"above": 0.16}}
    assert _is_plain(_audit(known, columns, entry, {}))
    filled = _audit([*known, *[_Person("f", 1.0, 0)] * 8], columns, entry, {})
    assert filled.value == pytest.approx(50 / 100 - 35 / 108)
    assert filled.status is Status.FAIL
    finding = _audit([*known, *[_Person("f", None, 0)] * 8], columns, entry, {"strata": policy})
    assert finding.is_in_doubt
    assert finding.people_without_bounds == 8


def test_a_threshold_is_averaged_over_strata() -> None:
    """The gap is .1 among people of one label and .3 among the others, who are as many."""
    reaching = ("f", 0, 40), ("m", 0, 50), ("f", 1, 40), ("m", 1, 70)
    known = [
        _Person(g, s, y) for g, y, k in reaching for s in [0.9] * k + [0.1] * (100 - k)
    ]  # fmt: skip
    columns = {"strata": {"q": {"column": "y"}}, "score": "s"}
    entry = {
        "metric": "selection_rate", "compare": "gap", "at": [0.5], "given": "q",
        "average": "pooled", "fail": {"above": 0.15},
    }  # fmt: skip
    finding = _audit(known, columns, entry, {})
    assert finding.value == pytest.approx((0.1 + 0.3) / 2)
    assert finding.status is Status.FAIL
    limit = {**entry, "fail": {"above": 0.25}}
    assert _is_plain(_audit(known, columns, limit, {}))
    missing = _audit([*known, *[_Person("f", None, 1)] * 40], columns, limit, {"score": "aside"})
    assert missing.missing is not None
    assert missing.missing.may_turn


@pytest.mark.parametrize("lacking", [0, 20])
def test_total_variation_at_a_threshold(lacking: int) -> None:
    """45 of 120 women and 50 of 120 men reach the threshold, and none to 20 more women."""
    entry = {"metric": "total_variation", "at": [0.5], "fail": {"above": 0.1}}
    people = [*_KNOWN, *[_Person("f")] * lacking]
    finding = _audit(people, _LABELLED, entry, {"score": "aside"})
    assert finding.value == pytest.approx(5 / 120)
    assert _is_plain(finding)
    close = _audit(people, _LABELLED, {**entry, "fail": {"above": 0.09}}, {"score": "aside"})
    assert _is_plain(close) is (lacking == 0)
    if lacking:  # 45 of 140 are 9.5 points below 50 of 120
        assert close.missing is not None
        assert close.missing.high == pytest.approx(50 / 120 - 45 / 140)


_MODELS = {
    "columns": {
        "protected": {"g": {"reference": "m"}},
        "models": {"new": {"score": "s"}, "old": {"score": "t"}},
    },
    "simpson": False,
}
_TWO_SCORES: list[tuple[str, float | None, float | None]] = [
    *[("f", 0.5, 0.5)] * 100, *[("m", 0.5, 0.5)] * 100,
]  # fmt: skip


def _audit_scores(people: Sequence[tuple[object, ...]], **entry: object) -> Finding:
    metric = {"metric": "mean_score", "compare": "gap", "of": "new", "fail": {"above": 0.05}}
    spec = {**_MODELS, "metrics": [{**metric, **entry}], "missing": {"score": "drop"}}
    schema = {"g": pl.String, "s": pl.Float64, "t": pl.Float64}
    return fairaudit.audit(spec, pl.DataFrame(people, orient="row", schema=schema)).findings[0]


def test_scores_that_another_model_lacks_drop_no_one_silently() -> None:
    """20 women score 0 by the new model: .5 and .417. They have no score by the old one."""
    people = [*_TWO_SCORES, *[("f", 0.0, None)] * 20]
    filled = _audit_scores([*_TWO_SCORES, *[("f", 0.0, 0.0)] * 20])
    assert filled.value == pytest.approx(0.5 - 50 / 120)
    assert filled.status is Status.FAIL
    assert _audit_scores(people).status is Status.INCONCLUSIVE
    assert _is_plain(_audit_scores(_TWO_SCORES))


@pytest.mark.parametrize("scores", [(None, 0.5), (0.0, None), (None, None)])
def test_missing_scores_of_either_model_are_in_doubt(scores: tuple[float | None, ...]) -> None:
    """The means of 20 women may be 0 by the new model and .5 by the old one: .5 and .417."""
    filled = _audit_scores([*_TWO_SCORES, *[("f", 0.0, 0.5)] * 20], against="old")
    assert filled.value == pytest.approx(0.5 - 50 / 120)
    assert filled.status is Status.FAIL
    assert not _is_plain(_audit_scores([*_TWO_SCORES, *[("f", *scores)] * 20], against="old"))
    assert _is_plain(_audit_scores(_TWO_SCORES, against="old"))


@pytest.mark.parametrize("metric", [{"metric": "selection_rate", "at": 0.5}, {"metric": "auc"}])
def test_rows_that_another_column_drops_are_not_left_out_of_the_distribution(
    audit_csv: Any, metric: dict[str, Any]
) -> None:
    """Their score counts in the value, so the same report must not say that they are left out."""
    lines = ["g,t,s,y"]
    for at in range(50):
        lines.append(f"a,{at % 2},{0.9 if at < 30 else 0.1},1")
        lines.append(f"b,{at % 2},{0.9 if at < 10 else 0.1},{'' if at >= 10 else 1}")
    spec = {
        "columns": {
            "protected": {"g": {"reference": "a"}},
            "label": {"column": "t", "positive": 1},
            "prediction": {"column": "y", "positive": 1, "negative": 0},
            "score": "s",
        },
        "missing": {"prediction": "drop"},
        "metrics": [{**metric, "compare": "difference", "fail": {"outside": [-0.45, 0.45]}}],
    }
    (finding,) = audit_csv("\n".join(lines) + "\n", spec).findings
    assert finding.left_out is None
    spec["metrics"] = [
        {"metric": "mean_score", "compare": "difference", "fail": "outside -0.9..0.9"}
    ]
    (finding,) = audit_csv("\n".join(lines) + "\n", spec).findings
    assert finding.left_out is not None
    assert finding.left_out.people == 40

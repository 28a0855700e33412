"""The printed sentence says what the status says: no verdict from a rounded number, no other sign.

Limits are put where it hurts: on the value, on an end of the interval, at so many digits from them;
the confidence is put next to the p-value. Then the sentence is read back.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import evidence_oracle as oracle
import pytest
from conftest import examples
from evidence_specs import of_rates, people, spec
from hypothesis import assume, example, given
from hypothesis import strategies as st
from test_evidence_gates import (
    SAID,
    Case,
    Evidence,
    evidence,
    expected,
    is_worse_unseen,
    limit_of,
)

import fairaudit
from fairaudit.report import content
from fairaudit.report.numbers import probability
from fairaudit.report.terminal import render

NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|-?∞"
SENTENCE = re.compile(
    rf".*; value: (?P<value>{NUMBER})(?P<unit> points)?"
    r"(?:, (?P<sign>below|above) (?P<bound>\S+)(?: points)?)? "
    r"\((?P<word>fails|warns) .*; "
    r"who: g=a (?P<a>[\d.e+-]+) % (?P<x>[\d,]+)/(?P<n>[\d,]+), "
    r"g=b (?P<b>[\d.e+-]+) % (?P<y>[\d,]+)/(?P<m>[\d,]+) the reference; "
    r"sure: Is the gap more than chance\? (?P<surely>Yes|Unclear): "
    r"p (?P<p>[=<] \d*\.\d+(?:e-\d+)?) \((?P<test>[^)]*)\), "
    r"Is the true value (?P<side>within the limit|(?:below|above) [^\s?]+)(?: points)?\? "
    rf"(?P<shown>Yes|(?P<across>Unclear)): "
    rf"[\d.]+ % interval (?P<low>{NUMBER}) to (?P<high>{NUMBER})(?: points)?"
    r"(?(across), which includes the limit|)[,;:].*"
)
RATES = st.tuples(st.integers(4, 90), st.integers(4, 90)).map(lambda one: (one[0], sum(one)))
MANY = st.tuples(st.integers(4, 10**7), st.integers(4, 10**7)).map(lambda one: (one[0], sum(one)))
METRICS = ("disparate_impact_ratio", "statistical_parity_difference")


def exact(text: str) -> Fraction | float:
    """A printed number as it stands there."""
    return float(text.replace("∞", "inf")) if "∞" in text else Fraction(text)


def in_shares(said: re.Match[str]) -> dict[str, str]:
    """The parts of a sentence; numbers in points become shares with all their digits."""
    texts = {name: text or "" for name, text in said.groupdict().items()}
    texts["asked"] = f"{said['sign']} {said['bound']}" if said["sign"] else "within the limit"
    if texts["unit"]:
        for name in ("value", "bound", "low", "high"):
            if texts[name]:
                texts[name] = f"{Decimal(texts[name]).scaleb(-2):f}"
    return texts


def holds(case: Case, one: dict[str, Any], alpha: Fraction, rates: list[tuple[int, int]]) -> None:
    """The status follows from exact numbers, and the sentence from the status."""
    (x, n), (y, m) = rates
    ratio = case.metric == METRICS[0]
    value = Fraction(x * m, n * y) if ratio else Fraction(x, n) - Fraction(y, m)
    assert Fraction(one["exact"]) == value
    found = Evidence(value, one["low"], one["high"], one["significance"]["p"])
    status, backing, word = expected(case, found, float(alpha))
    if is_worse_unseen(case, found, float(alpha)):
        status = "inconclusive"
    assert (one["status"], one["backing"]) == (status, backing), (word, one["sentence"])
    match = SENTENCE.match(one["sentence"])
    assert match is not None, one["sentence"]
    said = in_shares(match)
    assert bool(said["unit"]) != ratio
    assert [int(said[name].replace(",", "")) for name in "xnym"] == [x, n, y, m]
    for name, (hits, size) in zip("ab", rates, strict=True):
        assert Fraction(said[name]) == pytest.approx(Fraction(100 * hits, size), rel=0.06, abs=0.05)
    low, high = (None if end is None else Fraction(end) for end in case.bounds)
    shown, ends = exact(said["value"]), (exact(said["low"]), exact(said["high"]))

    def beyond(number: Fraction | float) -> bool:
        return (low is not None and number < low) or (high is not None and number > high)

    wholly = (low is not None and one["high"] < low) or (high is not None and one["low"] > high)
    within = not any(map(beyond, (Fraction(one["low"]), Fraction(one["high"]))))
    # The interval answers the question that the value puts: beyond the limit, or within it?
    assert (said["side"], said["shown"] == "Yes") == (
        said["asked"],
        wholly if beyond(value) else within,
    )
    # The printed rates give the printed value, unless a limit is so near that it has many digits.
    first, second = (Fraction(said[name]) / 100 for name in "ab")
    result = first / second if ratio else first - second
    digits = len(said["value"].partition(".")[2])
    is_near = abs(result - Fraction(exact(said["value"]))) <= Fraction(101, 200 * 10**digits)
    assert is_near or digits > 5 or "e" in said["value"]
    # The numbers are those of the document, rounded.
    true: dict[str, Fraction] = {
        "value": value,
        "low": Fraction(found.low),
        "high": Fraction(found.high),
    }
    for name, number in true.items():
        text = said[name]
        digits = len(text.partition(".")[2])
        assert "e" in text or abs(Fraction(text) - number) <= Fraction(6, 10 ** (digits + 1))
    # The value as printed lies on the side that it is judged to lie on.
    crossed = word.startswith("crossed")
    assert beyond(shown) == crossed, one["sentence"]
    if said["sign"]:
        assert crossed
        bound = Fraction(said["bound"])
        assert bound in {low, high}
        assert shown < bound if said["sign"] == "below" else shown > bound
        assert one["status"] == case.on or backing in {"not_significant", "not_conclusive"}
    else:
        assert not crossed or status == "pass"
        assert said["word"] == {"fail": "fails", "warn": "warns"}[case.on]
    # The interval as printed lies as it is judged to lie.
    wholly = (low is not None and ends[1] < low) or (high is not None and ends[0] > high)
    within = not any(map(beyond, ends))
    assert ("beyond" if wholly else "within" if within else "across") == word.split()[-1]
    # The p-value as printed is on the side of the level that it is judged to be on.
    sign, level = said["p"].split()
    sure = word.split()[1] == "sure"
    assert (said["surely"] == "Yes") == (Fraction(one["significance"]["p"]) < alpha)
    assert (Fraction(level) < alpha) == sure if sign == "=" else sure, one["sentence"]
    for kind, text in SAID.items():
        assert (text in one["sentence"]) == (kind == backing)


@st.composite
def nearby(draw: st.DrawFn) -> tuple[Case, list[tuple[int, int]]]:
    """A limit near the value, or near an end of its interval, at any number of digits."""
    rates = [draw(st.one_of(RATES, MANY)) for _ in range(2)]
    metric = draw(st.sampled_from(METRICS))
    bare = Case(metric, ("0", None), significant=False, conclusive=False, on="fail")
    found = evidence(bare, dict(zip("ab", rates, strict=True)))
    target = draw(st.sampled_from([found.value, Fraction(found.low), Fraction(found.high)]))
    digits = draw(st.sampled_from([2, 3, 4, 6, 9, 12]))
    step = draw(st.sampled_from([-1, 0, 0, 1]))
    bound = Decimal(round(target * 10**digits) + step).scaleb(-digits)
    parity = 1 if metric == METRICS[0] else 0
    assume(bound != parity and (bound > 0 or not parity) and abs(bound) < (1 if not parity else 99))
    text = f"{bound:f}"
    bounds: tuple[str | None, str | None] = (text, None) if bound < parity else (None, text)
    if draw(st.booleans()):
        bounds = (text, "99" if parity else "0.999") if bound < parity else (
            "0.000001" if parity else "-0.999", text)  # fmt: skip
    flags = draw(st.tuples(st.booleans(), st.booleans(), st.sampled_from(["fail", "warn"])))
    return Case(metric, bounds, *flags), rates


@given(asked=nearby())
@examples(160)
def test_a_limit_next_to_a_number_is_told_as_it_is_judged(
    asked: tuple[Case, list[tuple[int, int]]],
) -> None:
    case, rates = asked
    metric = {"metric": case.metric, "reference": "b", case.on: limit_of(case)}
    (one,) = of_rates(dict(zip("ab", rates, strict=True)), metric)
    holds(case, one, Fraction(1, 20), rates)


@given(
    rates=st.tuples(RATES, RATES),
    digits=st.sampled_from([2, 3, 4, 6, 9]),
    step=st.sampled_from([-1, 0, 1]),
    conclusive=st.booleans(),
)
@example(rates=((12, 40), (48, 80)), digits=8, step=0, conclusive=False)
@examples(100)
def test_a_p_value_next_to_its_level_is_told_as_it_is_judged(
    rates: tuple[tuple[int, int], tuple[int, int]], digits: int, step: int, conclusive: bool
) -> None:
    _, p = oracle.two_groups(*rates)
    level = Decimal(round(p * 10**digits) + step).scaleb(-digits)
    assume(0 < level <= Decimal("0.5"))
    case = Case(METRICS[0], ("0.9", "1.1"), significant=True, conclusive=conclusive, on="fail")
    metric = {"metric": case.metric, "reference": "b", "fail": limit_of(case)}
    inference = {"confidence": f"{1 - level:f}"}
    (one,) = of_rates(dict(zip("ab", rates, strict=True)), metric, inference=inference)
    holds(case, one, Fraction(level), list(rates))


@pytest.mark.parametrize(("selected", "status"), [(48, "pass"), (47, "fail")])
def test_exactly_at_the_limit_is_not_beyond_it(selected: int, status: str) -> None:
    metric = {"metric": METRICS[0], "reference": "b", "fail": {"below": 0.8}}
    rates = {"a": (selected, 100), "b": (60, 100)}
    (one,) = of_rates(rates, metric)
    assert one["status"] == status
    shown = "0.800 (fails" if status == "pass" else "0.783, below 0.8 (fails"
    assert f"; value: {shown}" in one["sentence"]


@given(rates=st.lists(RATES, min_size=3, max_size=6), below=st.integers(30, 99), sure=st.booleans())
@examples(40)
def test_several_groups_are_told_as_they_are_judged(
    rates: list[tuple[int, int]], below: int, sure: bool
) -> None:
    """Adjusted p-values, crossings and words agree, group by group."""
    limit = {"below": below / 100, **({"significant": True} if sure else {})}
    groups = {f"g{at}": one for at, one in enumerate(rates)}
    metric = {"metric": METRICS[0], "reference": "g0", "fail": limit}
    (one,) = of_rates(groups, metric)
    (y, m), bound = rates[0], Fraction(below, 100)
    ratios = {g: Fraction(x * m, n * y) for g, (x, n) in groups.items() if g != "g0"}
    raw = {g: oracle.two_groups(groups[g], rates[0])[1] for g in ratios}
    adjusted = dict(zip(raw, oracle.holm(list(raw.values())), strict=True))
    crossed = {g for g, ratio in ratios.items() if ratio < bound}
    assert {each["group"]["g"] for each in one["crossed"]} == crossed
    proven = {g for g in crossed if adjusted[g] < 0.05} if sure else crossed
    assume(all(abs(adjusted[g] - 0.05) > 1e-9 for g in ratios))
    within = sure and any(adjusted[g] < 0.05 for g in ratios)
    doubt = "warn" if crossed or within else "pass"
    assert one["status"] == ("fail" if proven else doubt)
    told = one["group"]["g"]
    if proven:
        assert ratios[told] == min(ratios[g] for g in proven)
    assert one["significance"]["adjusted"] == pytest.approx(adjusted[told], rel=1e-7)
    size = len(ratios)
    answer = r"more than chance\? (?:Yes|Unclear): p (= |< )(\.\d+|1\.0+)"
    family = rf"{answer} \([^;]*; corrected for {size} tests, method of Holm[;)]"
    found = re.search(family, one["sentence"])
    assert found is not None, one["sentence"]
    if found[1] != "< ":
        assert float(found[2]) == pytest.approx(adjusted[told], abs=6e-5)
        assert (Fraction(found[2]) < Fraction(1, 20)) == (adjusted[told] < 0.05)
    also = one["sentence"].partition("; also: over the limit: ")[2].partition("; ")[0]
    assert {g for g in ratios if re.search(rf"g={g} -?\d", also)} == crossed - {told}


@pytest.mark.parametrize("alpha", ["0.05", "0.1", "0.01", "0.2", "0.001"])
def test_a_p_value_just_below_its_level_is_not_printed_as_the_level(alpha: str) -> None:
    """The float nearest to .05 lies above it, and so a rounded .0500 would seem to lie below."""
    level = float(1 - (1 - Decimal(alpha)))
    for off in (-3e-6, -4e-8, -1e-11, 1e-11, 4e-8, 3e-6):
        shown = probability(level + off, level)
        assert (Fraction(shown.removeprefix("= ")) < Fraction(alpha)) == (off < 0), shown


@pytest.mark.parametrize(
    ("correction", "named"),
    [
        ("holm", "Holm"),
        ("benjamini_hochberg", "Benjamini–Hochberg"),
        ("none", "uncorrected"),
    ],
)
def test_tables_name_the_correction_behind_their_marks(correction: str, named: str) -> None:
    asked = spec("selection_rate", inference={"correction": correction})
    result = fairaudit.audit(asked, people({"a": (18, 60), "b": (28, 60)}))
    text = render(content.document(result))
    assert f"after correction ({named}) for all tests of the same table;" in " ".join(text.split())
